#!/usr/bin/env python3
"""What `hotpath run` costs programs that end soon: CPU time of hotpath, the program and all its processes, by
wait4, against that of the program alone.

usage: short.py BUILD [PAIRS]

Runs with and without hotpath alternate; each pair gives a ratio. The table has the median of all pairs and, in
brackets, its interval of 95 %, by resampling.
"""
import os
import random
import statistics
import sys

import standalone

FORKS = "for i in {1..400}; do /bin/true; done"
COUNT = "n = %d\nwhile n: n -= 1"
PYTHON = os.path.realpath(sys.executable)  # what is in PATH may be a script that starts it
# What is run, how often without --pairs, the limit and the goal.
CASES = (("a script of 400 forks, by bash", ["bash", "-c", FORKS], 20, 2.4, 1.6),
         ("python3, 0.3 s", [PYTHON, "-S", "-c", COUNT % 6_000_000], 80, 1.10, None),
         ("python3, 1 s", [PYTHON, "-S", "-c", COUNT % 22_000_000], 80, 1.05, None))


def cpu_seconds(command):
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.execvp(command[0], command)
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit("short.py: '%s' ended with status %d" % (" ".join(command), status))
    return used.ru_utime + used.ru_stime


def ratios(hotpath, command, pairs):
    """Also the median time without hotpath. The first pair fills the caches."""
    found, alone = [], []
    watched = [hotpath, "run", "--format", "none", *command]
    for pair in range(pairs + 1):
        order = (command, watched) if pair % 2 else (watched, command)
        spent = {id(words): cpu_seconds(words) for words in order}
        if pair > 0:
            found.append(spent[id(watched)] / spent[id(command)])
            alone.append(spent[id(command)])
    return found, statistics.median(alone)


def interval(values):
    medians = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def rows(build, gate, pairs=None):
    hotpath = os.path.abspath(os.path.join(build, "bin", "hotpath"))
    found = [("program", "alone", "ratio of CPU time", "must", "goal", "verdict")]
    for title, command, usual, must, goal in CASES:
        values, alone = ratios(hotpath, command, pairs or usual)
        ratio = statistics.median(values)
        found.append((title, "%.0f ms" % (alone * 1e3), "%.2f [%.2f, %.2f]" % (ratio, *interval(values)),
                      "%.2f" % must, "%.2f" % goal if goal else "", gate.verdict(title, ratio, must, goal)))
    return found


if __name__ == "__main__":
    standalone.main(__doc__, rows)
