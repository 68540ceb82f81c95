"""What `hotpath stacks` costs: how long it takes for 100 waiting and 2 running threads, and what they notice.

    live_stacks.py BUILD [PAIRS, at least 2]

One run of the program that is looked at five times a second and one that is left alone make a pair. Standing still
is as the program sees it (bench/pauses.c): the longest time between two readings of the clock, and all of more than
0.1 ms together. It has other causes, too; so only the difference within a pair counts."""
import os
import statistics
import subprocess
import tempfile
import time

import standalone

PAIRS = 9
WAITING, MS = 100, 3000
EVERY = 0.2
MUST_TAKE = 0.3


def run(build, is_watched):
    """(longest, all) in microseconds, and the seconds that each look took."""
    takes = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        program = subprocess.Popen([os.path.join(build, "bench", "pauses"), str(WAITING), str(MS)],
                                   stdout=subprocess.PIPE, text=True)
        while is_watched and program.poll() is None:
            time.sleep(EVERY)
            begin = time.monotonic()
            done = subprocess.run([os.path.join(build, "bin", "hotpath"), "stacks", str(program.pid)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                                  env=dict(os.environ, HOTPATH_DIR=folder))
            if done.returncode == 0:
                takes.append(time.monotonic() - begin)
        return [int(word) for word in program.communicate()[0].split()], takes


def rows(build, gate, count=PAIRS):
    alone, watched, takes = [], [], []
    for turn in range(count):
        for is_watched in (False, True) if turn % 2 == 0 else (True, False):
            found, taken = run(build, is_watched)
            (watched if is_watched else alone).append(found)
            takes += taken
    looks = len(takes) / count
    middle = statistics.median(takes)
    title = "hotpath stacks, of %d waiting and 2 running threads" % WAITING
    found = [(title, "median", "middle half", "must", "verdict")]
    low, _, high = statistics.quantiles(takes, n=4)
    found.append(("time until it is printed, s", "%.3f" % middle, "%.3f .. %.3f" % (low, high), "%g" % MUST_TAKE,
                  gate.verdict("live stacks: time", middle, MUST_TAKE, None)))
    for at, title in ((0, "longest standstill, left alone / looked at %.0f times, ms" % looks),
                      (1, "all standstills above 0.1 ms, left alone / looked at, ms")):
        cells = [[numbers[at] / 1000 for numbers in runs] for runs in (alone, watched)]
        halves = [statistics.quantiles(cell, n=4) for cell in cells]
        found.append((title, " / ".join("%.2f" % half[1] for half in halves),
                      " / ".join("%.2f .. %.2f" % (half[0], half[2]) for half in halves), "", ""))
    return found


if __name__ == "__main__":
    standalone.main(__doc__, rows)
