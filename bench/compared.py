#!/usr/bin/python3
"""Lets `hotpath bench` compare programs with themselves while other processes use the machine.

usage: compared.py [--spinners N] [-n PAIRS] [--minutes MINUTES] [--large] BUILD_FOLDER [BENCHES [CASE ...]]

How often does it name a function of a program that has not changed? And a function that was made 5 % slower: is it
found, is it named first, and is anything else named? N processes that only compute compete for the CPUs (default:
2). Each case is benched BENCHES times (default: 20) in turns, or as often as MINUTES allow; words of their names
select cases. --large compares reports with a million nodes in their call trees instead. Exit status 0 if all that
must hold does, 1 if something does not, 2 if there were too few benches to tell.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from trust import spinners

SQL = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 250000) "
       "SELECT count(*), max(hex(x)), sum(length(printf('%d-%s', x, x % 7))) FROM c")

# name: the command, the function that is made slower
CASES = {
    "calls of different cost": (["compared", "varied", "2500"], None),
    "three threads": (["compared", "threads", "2000"], None),
    "unmodified sqlite3": (["sqlite3", ":memory:", SQL], None),
    "5 % in a function that SQLite calls": (["compared", "database", "700"], "rate"),
}
PLANTED_PERCENT = 5
ENOUGH = {False: 20, True: 10}  # benches to tell, of a case without and with a slower function


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
    return [(row["name"], row["time"]) for row in found["rows"] if is_told(row["time"])]


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

    def musts(self):
        """(what must hold, whether it does, whether there were enough benches to tell)"""
        is_told_enough = self.benches >= ENOUGH[bool(self.planted)]
        most = max(1, self.benches // 20)
        counts = "%d of %d" % (self.alarms, self.benches)
        yield ("at most one in twenty names a function that has not changed: " + counts,
               self.alarms <= most, is_told_enough)
        if self.planted:
            yield ("nine of ten find %s: %d of %d" % (self.planted, self.found, self.benches),
                   10 * self.found >= 9 * self.benches, is_told_enough)

    def line(self, name):
        middle = sorted(self.least)[len(self.least) // 2] if self.least else float("nan")
        alarms = "%d" % self.alarms + (" (%s)" % ", ".join(self.names) if self.names else "")
        words = [name, self.benches, alarms, self.totals, self.commons, "%.1f %%" % middle, "-", "-"]
        if self.planted:
            words[-2:] = ["%d / %d" % (self.found, self.first),
                          "%.1f to %.1f %%" % (min(self.estimates), max(self.estimates))]
        return "| " + " | ".join(map(str, words)) + " |"


def bench_cases(chosen, scores):
    end = time.monotonic() + 60 * chosen.minutes
    for _ in range(chosen.benches):
        for name, score in scores.items():
            if time.monotonic() >= end:
                return
            command, planted = CASES[name]
            score.add(bench(os.path.abspath(chosen.build), command, planted, chosen.pairs))
            print(score.line(name), file=sys.stderr, flush=True)  # as far as it is


def conclude(scores):
    status = 0
    print("load average %s\n\n| program | benches | name a function that has not changed | the total | "
          "all functions | would have shown in the largest function | found / first | seen as |\n" %
          open("/proc/loadavg", encoding="ascii").read() + "| --- " * 8 + "|")
    for name, score in scores.items():
        if score.benches > 0:
            print(score.line(name))
    for name, score in scores.items():
        for what, holds, is_told_enough in score.musts():
            verdict = "too few benches" if not is_told_enough else "holds" if holds else "DOES NOT HOLD"
            print("%s: %s: %s" % (verdict, name, what))
            status = 1 if is_told_enough and not holds else status or 2 * (not is_told_enough)
    return status


def compare_large(build):
    """Two reports; and ten on each side, in which 24 functions have changed that call each other."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
    from made_reports import large_folders  # pylint: disable=import-outside-toplevel,import-error
    with tempfile.TemporaryDirectory(prefix="hotpath-bench-") as folder:
        now, before = large_folders(folder, 1000000)
        is_right = True
        for what, sides in (("two reports", [f"{now}/0.json", f"{before}/0.json"]), ("24 changes", [now, before])):
            words = [os.path.join(build, "bin", "hotpath"), "diff", sides[0], "--against", sides[1], "-o",
                     os.path.join(folder, "diff")]
            _, status, used = os.wait4(os.spawnv(os.P_NOWAIT, words[0], words), 0)
            seconds = used.ru_utime + used.ru_stime
            print("%s: exit status %d, %.2f s of CPU time, %d MB" % (
                what, os.waitstatus_to_exitcode(status), seconds, used.ru_maxrss >> 10), flush=True)
            is_right = is_right and status == 0 and seconds <= 5 and used.ru_maxrss <= 1 << 20
        return 0 if is_right else 1


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--spinners", type=int, default=2)
    options.add_argument("-n", "--pairs", type=int, default=10)
    options.add_argument("--minutes", type=float, default=1e6)
    options.add_argument("--large", action="store_true")
    options.add_argument("build")
    options.add_argument("benches", type=int, nargs="?", default=20)
    options.add_argument("cases", nargs="*")
    chosen = options.parse_args()
    if chosen.large:
        return compare_large(chosen.build)
    scores = {name: Score(planted) for name, (_, planted) in CASES.items()
              if not chosen.cases or any(case in name for case in chosen.cases)}
    with spinners(chosen.spinners):
        bench_cases(chosen, scores)
    return conclude(scores)


if __name__ == "__main__":
    sys.exit(main())
