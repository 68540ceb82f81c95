#!/usr/bin/env python3
"""What locks cost with `hotpath run --locks`, beside the same program without it: the least of several runs that
take turns, so that all see the same machine.

usage: locks.py BUILD [RUNS]
"""

import os
import subprocess
import sys

CASES = {"one": "lock and unlock, one thread", "two": "two threads, two locks", "many": "a million locks, in order"}


def run(command):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HOTPATH")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return {name: float(ns) for name, ns in (line.split() for line in done.stdout.splitlines())}


def least_of(ways, runs):
    """The least of each way and case; and of two reads of the counter."""
    least = {}
    for _ in range(runs):
        for way, command in ways.items():
            for case, ns in run(command).items():
                least[way, case] = min(ns, least.get((way, case), ns))
    reads = min(least[way, "reads"] for way in ways)
    print(f"two reads of the counter: {reads:.1f} ns")
    return least, reads


def main():
    build, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    program, hotpath = os.path.join(build, "bench", "lock_cost"), os.path.join(build, "bin", "hotpath")
    ways = {"plain": [program], "--locks": [hotpath, "run", "-f", "none", "--locks", "--", program],
            "--lock-holds": [hotpath, "run", "-f", "none", "--locks", "--lock-holds", "--", program]}
    least, reads = least_of(ways, runs)
    print("| | plain | --locks | more | --lock-holds | more | of two reads |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case, title in CASES.items():
        plain, counted, timed = (least[way, case] for way in ways)
        print(f"| {title} | {plain:.1f} ns | {counted:.1f} ns | +{counted - plain:.1f} ns | {timed:.1f} ns | "
              f"+{timed - plain:.1f} ns | {(timed - plain) / reads:.2f} |")


if __name__ == "__main__":
    main()
