#!/usr/bin/python3
"""Lets `hotpath bench` compare programs with themselves while other processes use the machine.

usage: compared.py [--spinners N] [-n PAIRS] BUILD_FOLDER [BENCHES [CASE ...]]

How often does it name a function of a program that has not changed? And a function that was made 5 % slower: is it
found, is it named first, and is anything else named? N processes that only compute compete for the CPUs (default:
2). Exit status 1 if more than one bench in twenty is wrong, or fewer than nine of ten find what was planted.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from trust import spinners

SQL = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 250000) "
       "SELECT count(*), max(hex(x)), sum(length(printf('%d-%s', x, x % 7))) FROM c")

# name: the command, the function that is made slower, by how much
CASES = {
    "calls of different cost": (["compared", "varied", "2500"], None),
    "three threads": (["compared", "threads", "2000"], None),
    "unmodified sqlite3": (["sqlite3", ":memory:", SQL], None),
    "SQLite with measured functions": (["compared", "database", "700"], None),
    "5 % in a function that SQLite calls": (["compared", "database", "700"], "rate"),
}
PLANTED_PERCENT = 5


def quoted(words):
    return " ".join("'%s'" % word.replace("'", "'\\''") for word in words)


def bench(build, command, planted, pairs):
    """What one bench found, as JSON."""
    if command[0] == "compared":
        command = [os.path.join(build, "bench", "compared"), *command[1:]]
    now = command + (["%s:%d" % (planted, PLANTED_PERCENT)] if planted else [])
    with tempfile.TemporaryDirectory(prefix="hotpath-bench-") as folder:
        words = ["bench", "-n", str(pairs), "--dir", folder, "--format", "json", "--against"]
        words += [quoted(command), "--", *now]
        done = subprocess.run([os.path.join(build, "bin", "hotpath"), *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)


def named(found):
    """Rows with a change, the heaviest first."""
    return [(row["name"], row["time"]) for row in found["rows"]
            if row["time"] and row["time"]["verdict"] in ("slower", "faster")]


def is_told(change):
    return change is not None and change["verdict"] in ("slower", "faster")


class Score:
    def __init__(self, planted):
        self.planted = planted
        self.benches = self.alarms = self.found = self.first = self.totals = self.commons = 0
        self.least, self.estimates, self.names = [], [], []

    def add(self, found):
        rows = named(found)
        others = [name for name, _ in rows if name != self.planted]
        self.benches += 1
        self.alarms += bool(others)
        self.names += others
        self.found += any(name == self.planted and time["verdict"] == "slower" for name, time in rows)
        self.first += bool(rows) and rows[0][0] == self.planted
        self.totals += is_told(found["total"])
        self.commons += is_told(found["common"])
        judged = [row for row in found["rows"] if row["time"]]
        if judged:
            self.least.append(max(judged, key=lambda row: row["share_percent"])["time"]["least_percent"])
        self.estimates += [row["time"]["change_percent"] for row in judged if row["name"] == self.planted]

    def is_right(self):
        return 20 * self.alarms <= self.benches and (not self.planted or 10 * self.found >= 9 * self.benches)

    def line(self, name):
        middle = sorted(self.least)[len(self.least) // 2] if self.least else float("nan")
        alarms = "%d" % self.alarms + (" (%s)" % ", ".join(self.names) if self.names else "")
        words = [name, self.benches, alarms, self.totals, self.commons, "%.1f %%" % middle, "-", "-"]
        if self.planted:
            words[-2:] = ["%d / %d" % (self.found, self.first),
                          "%.1f to %.1f %%" % (min(self.estimates), max(self.estimates))]
        return "| " + " | ".join(map(str, words)) + " |"


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--spinners", type=int, default=2)
    options.add_argument("-n", "--pairs", type=int, default=10)
    options.add_argument("build")
    options.add_argument("benches", type=int, nargs="?", default=20)
    options.add_argument("cases", nargs="*")
    chosen = options.parse_args()
    is_right = True
    print("| program | benches | name a function that has not changed | the total | all functions | would have "
          "shown in the largest function | found / first | seen as |\n" + "| --- " * 8 + "|", flush=True)
    with spinners(chosen.spinners):
        for name, (command, planted) in CASES.items():
            if chosen.cases and not any(case in name for case in chosen.cases):
                continue
            score = Score(planted)
            for _ in range(chosen.benches):
                score.add(bench(os.path.abspath(chosen.build), command, planted, chosen.pairs))
                print(score.line(name), file=sys.stderr, flush=True)  # as far as it is
            is_right = is_right and score.is_right()
            print(score.line(name), flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
