#!/usr/bin/env python3
"""What locks cost with `hotpath run --locks`, beside the same program without it: the least of several runs that
take turns, so that all see the same machine.

    locks.py BUILD [RUNS]

The exit status is 1 if a mandatory budget is missed."""
import os
import subprocess

import standalone

RUNS = 5
# Case of lock_cost, title; what --locks may add in nanoseconds, goal; what timing every hold may add to the plain
# program, in times of two reads of the counter.
CASES = (
    ("one", "lock and unlock, one thread", 8, None, 2.7),
    ("two", "two threads, two locks", 14, 10, 2.7),
    ("many", "a million locks, one after another", 60, 25, 2.7),
)


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
    return least, min(least[way, "reads"] for way in ways)


def rows(build, gate, runs=RUNS):
    program, hotpath = os.path.join(build, "bench", "lock_cost"), os.path.join(build, "bin", "hotpath")
    ways = {"plain": [program], "--locks": [hotpath, "run", "-f", "none", "--locks", "--", program],
            "--lock-holds": [hotpath, "run", "-f", "none", "--locks", "--lock-holds", "--", program]}
    least, reads = least_of(ways, runs)
    found = [("what", "plain", "with", "more", "must", "goal", "verdict")]
    for case, title, must, goal, must_reads in CASES:
        plain, counted, timed = (least[way, case] for way in ways)
        found.append((title + ", --locks", "%.1f ns" % plain, "%.1f ns" % counted, "+%.1f ns" % (counted - plain),
                      "+%g ns" % must, "" if goal is None else "+%g ns" % goal,
                      gate.verdict(title, counted - plain, must, goal)))
        ratio = (timed - plain) / reads
        found.append((title + ", every hold", "%.1f ns" % plain, "%.1f ns" % timed,
                      "+%.1f ns, %.2f x two reads" % (timed - plain, ratio),
                      "%g x" % must_reads, "",
                      gate.verdict(title + ", every hold", ratio, must_reads, None)))
    return found + [("(two reads of the counter)", "%.1f ns" % reads, "", "", "", "", "")]


if __name__ == "__main__":
    standalone.main(__doc__, rows)
