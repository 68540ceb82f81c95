"""For benchmarks of bench/run.py that can be started alone: BENCHMARK.py BUILD [PAIRS]"""
import sys


class NoGate:
    """Says what run.py would, and fails nothing."""

    def verdict(self, _title, value, must, goal):
        return "goal" if goal and value <= goal else "ok" if value <= must else "over"


def main(usage, rows):
    """Prints the rows."""
    if len(sys.argv) not in (2, 3):
        raise SystemExit(usage)
    for row in rows(sys.argv[1], NoGate(), *map(int, sys.argv[2:])):
        print(" | ".join(row))
