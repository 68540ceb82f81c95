"""For benchmarks of bench/run.py that can be started alone: BENCHMARK.py BUILD [PAIRS]"""
import sys


class Gate:
    """Says what run.py would, without its tolerance."""

    def __init__(self):
        self.has_missed = False

    def verdict(self, _title, value, must, goal):
        self.has_missed |= must is not None and value > must
        if must is None and goal is None:
            return ""
        return "over" if must is not None and value > must else "goal" if goal and value <= goal else "ok"


def main(usage, rows):
    """Prints the rows. The exit status is 1 if a mandatory budget is missed."""
    if len(sys.argv) not in (2, 3):
        raise SystemExit(usage)
    gate = Gate()
    for row in rows(sys.argv[1], gate, *map(int, sys.argv[2:])):
        print(" | ".join(row))
    sys.exit(1 if gate.has_missed else 0)
