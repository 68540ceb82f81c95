#!/usr/bin/env python3
"""What I/O costs with `hotpath run --io`, beside the same program without it: the least of several runs that take
turns, so that all see the same machine.

usage: io.py BUILD [RUNS]
"""

import os
import sys

from locks import least_of

CASES = {"write": "write of a byte", "read": "read of a byte", "two": "write of a byte, two threads",
         "unbuffered": "fputc without a buffer", "buffered": "fputc with a buffer"}


def main():
    build, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    program, hotpath = os.path.join(build, "bench", "io_cost"), os.path.join(build, "bin", "hotpath")
    ways = {"plain": [program], "run": [hotpath, "run", "-f", "none", "--", program],
            "--io": [hotpath, "run", "-f", "none", "--io", "--", program]}
    least, reads = least_of(ways, runs)
    print("| | plain | run | --io | more than run | of two reads |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case, title in CASES.items():
        plain, without, counted = (least[way, case] for way in ways)
        print(f"| {title} | {plain:.1f} ns | {without:.1f} ns | {counted:.1f} ns | +{counted - without:.1f} ns | "
              f"{(counted - without) / reads:.2f} |")


if __name__ == "__main__":
    main()
