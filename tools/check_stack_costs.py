#!/usr/bin/env python3
"""What stacks cost a program under `hotpath run`; needs a quiet machine: a program that computes, two threads that
pass a byte back and forth, on one CPU and on two, samples lost with two busy threads, and the memory of hotpath.

    tools/check_stack_costs.py [--build FOLDER] [--rounds N]

Each is run by itself and under hotpath in alternation, and the least of the rounds counts, since other processes
can only add to it. Takes some minutes; exits with 1 if a bound does not hold.

The round trip of a byte is mostly scheduling latency, which says little on a machine with other work. So the CPU
time of the program itself decides, by the kernel's accounting of that one process, which others hardly change:
many short turns, and the least of each. On a quiet machine, that is the time of an exchange on one CPU. On two
it is the sum of both threads, so that the same part is added to both. SPDX-License-Identifier: MIT
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPUTES = ["perl", "-e", "my $s = 0; for (my $i = 0; $i < 40_000_000; $i++) { $s += $i * 7 % 13 } print $s"]
BURNS = ["perl", "-e", "my $end = time + shift; fork; while (time < $end) { $s += $_ for 1 .. 10000 }"]
PASSES = 20000
EXCHANGES = 25  # turns of that many passes
# Reports the resources of the program that it starts, however that is watched: CPU seconds, seconds, switches.
USED = """import json, os, subprocess, sys, time
begin = time.monotonic()
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
wall = time.monotonic() - begin
open(sys.argv[1], "w").write(json.dumps([usage.ru_utime + usage.ru_stime, wall, usage.ru_nvcsw + usage.ru_nivcsw]))
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Run:
    """How long a run took, and its CPU time."""

    def __init__(self, command, env):
        begin = time.monotonic()
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall, self.cpu, self.kib = time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed with status {process.returncode}")


def ratio(command, hotpath, rounds, env, what):
    least = {}
    for _ in range(rounds):
        for who, before in (("alone", []), ("ours", [hotpath, "run", "--format", "none", "--"])):
            least[who] = min(least.get(who, 1e9), getattr(Run([*before, *command], env), what))
    return least["ours"] / least["alone"]


def exchanges(hotpath, switches, cpus, env, folder):
    """Microseconds of one exchange, the least of all turns, alone and under hotpath: CPU time, and elapsed; and
    switches."""
    told, least = folder / "used.json", {}
    command = [sys.executable, "-c", USED, str(told), "taskset", "-c", cpus, switches, str(PASSES)]
    for _ in range(EXCHANGES):
        for who, before in (("alone", []), ("ours", [hotpath, "run", "--format", "none", "--"])):
            Run([*before, *command], env)
            values = [value / PASSES for value in json.loads(told.read_text())]
            least[who] = [min(pair) for pair in zip(least.get(who, values), values)]
    return {who: (1e6 * cpu, 1e6 * wall, switched) for who, (cpu, wall, switched) in least.items()}


def lost(hotpath, env, folder):
    report = folder / "report.json"
    Run([hotpath, "run", "--format", "json", "--output", str(report), "--", *BURNS, "10"], env)
    totals = json.loads(report.read_text())["sections"]["functions"]["totals"]
    return 100 * totals["lost"] / (totals["samples"] + totals["lost"]), totals["samples"]


def memory(hotpath, env):
    """Peak KiB of hotpath itself, after this many samples at ten thousand a second."""
    return [(seconds * 2 * 10000, Run([hotpath, "run", "--format", "none", "--cpu-rate", "10000", "--", *BURNS,
                                       str(seconds)], env).kib)
            for seconds in (5, 20)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", default=str(HERE.parent / "build" / "release"))
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    hotpath, switches = f"{given.build}/bin/hotpath", f"{given.build}/bench/switches_off"
    is_good = True

    def show(title, value, unit, most):
        nonlocal is_good
        is_good &= value <= most
        print(f"{title:58} {value:9.3f} {unit}  at most {most:g}  {'ok' if value <= most else 'NOT MET'}",
              flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = dict(os.environ, HOTPATH_DIR=str(folder / "sessions"))
        (folder / "sessions").mkdir(mode=0o700)
        show("a program that computes, 997 samples a second, wall time",
             ratio(COMPUTES, hotpath, given.rounds, env, "wall"), "x", 1.01)
        if os.path.exists(switches):
            for title, cpus, most in (("a byte to and fro, on one processor", "0", 1.2),
                                      ("the same on two", "0,1", 1.4)):
                least = exchanges(hotpath, switches, cpus, env, folder)
                for who, (cpu, wall, switched) in least.items():
                    print(f"  {title}, {who}: {cpu:.2f} us of processors, {wall:.2f} us, {switched:.2f} switches "
                          f"each")
                show(title, least["ours"][0] / least["alone"][0], "x", most)
        percent, samples = lost(hotpath, env, folder)
        show(f"lost with two that compute, of {samples} samples", percent, "%", 0.1)
        (early, before), (late, after) = memory(hotpath, env)
        grown = before + (after - before) / (late - early) * (10 ** 7 - early)
        print(f"memory of hotpath and what it runs: {before / 1024:.1f} MiB at {early} samples, {after / 1024:.1f} "
              f"at {late}")
        show("the same at ten million samples, if it goes on like that", max(grown, after) / 1024, "MiB", 256)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
