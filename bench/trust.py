#!/usr/bin/python3
"""Runs programs with and without hotpath, in alternation, and compares the true cost of measuring with what the
report says.

usage: trust.py BUILD_FOLDER [TURNS [CASE ...]]

The true cost is the CPU time that runs use more than those without hotpath; the stated cost is what the report's
trust line says, at least and at most. The lower quartile of the turns counts, since other processes only ever
add to it. Exit status 1 if the true cost is outside the stated range by more than a factor of 1.3.
"""
import json
import os
import subprocess
import sys
import tempfile

BOUND = 1.3
TURNS = 5

SMALL = ("chain", "wide", "memory", "words", "tiny")
REPEATS = {"chain": 2000000, "wide": 2000000, "memory": 2000000, "words": 300000, "tiny": 300000, "pairs": 500000,
           "one_pair": 2000000, "compute": 3000, "switches": 60000}

# mode: program, variables, kinds of work
MODES = {
    "timed": ("trust_work", {}, SMALL),
    "sampled": ("trust_work", {"HOTPATH_TIME_SAMPLING_RATE": "1/16"}, SMALL),
    "compiler": ("trust_work_all", {}, SMALL),
    "compiler, all timed": ("trust_work_all", {"HOTPATH_MEASURING_BOUND": "0"}, SMALL),
    "allocations": ("trust_work", {"LD_PRELOAD": "libhotpath_alloc.so"}, ("pairs", "one_pair")),
    "CPU time": ("trust_work", {"HOTPATH_CPU": "1"}, ("compute", "switches")),
    "CPU time, timers": ("trust_work", {"HOTPATH_CPU": "1", "HOTPATH_CPU_ENGINE": "timers"}, ("compute",)),
    "CPU time, 10 kHz": ("trust_work", {"HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "10000"}, ("compute",)),
}


def cpu_ns(command, variables):
    done = subprocess.run(command, stdout=subprocess.PIPE, env=dict(os.environ, **variables), check=True)
    return int(done.stdout.split()[0])


def stated_ns(path):
    """At least, and at most."""
    with open(path) as file:
        report = json.load(file)
    return [report["trust"][key] / 100 * report["elapsed_ns"]
            for key in ("overhead_least_percent", "overhead_share_percent")]


def quiet(values):
    return sorted(values)[len(values) // 4]


def compare(build, mode, kind, turns):
    """Nanoseconds of the run, what measuring truly took of it, and what the report says, at least and at most."""
    program, variables, _ = MODES[mode]
    variables = dict(variables, HOTPATH_KEEP="0")
    if "LD_PRELOAD" in variables:
        variables["LD_PRELOAD"] = os.path.join(build, "lib", variables["LD_PRELOAD"])
    arguments = [kind, str(REPEATS[kind])]
    all_ns, plain, stated = [], [], []
    with tempfile.TemporaryDirectory(prefix="hotpath-bench-") as folder:
        variables.update(HOTPATH_OUTPUT_PATH=os.path.join(folder, "report"), HOTPATH_OUTPUT_FORMAT="json",
                         HOTPATH_DIR=folder)
        for _ in range(turns):
            plain.append(cpu_ns([os.path.join(build, "bench", "trust_work_off")] + arguments, {}))
            all_ns.append(cpu_ns([os.path.join(build, "bench", program)] + arguments, variables))
            stated.append(stated_ns(variables["HOTPATH_OUTPUT_PATH"]))
    least, most = (quiet(of) for of in zip(*stated))
    return quiet(all_ns), quiet(all_ns) - quiet(plain), least, most


def rows(build, turns, chosen=()):
    """(mode, work, parts of the run: true, stated at least, at most; whether that is right), for all modes and
    kinds or those chosen."""
    for mode, (_, _, kinds) in MODES.items():
        for kind in kinds:
            if chosen and mode not in chosen and kind not in chosen:
                continue
            run, true, least, most = compare(os.path.abspath(build), mode, kind, turns)
            is_near = least / BOUND - run / 200 < true < most * BOUND + run / 200
            yield mode, kind, true / run, least / run, most / run, is_near


def as_range(least, most):
    """As in the trust line."""
    return "%.1f %%" % (100 * most) if least * BOUND >= most else "%.1f to %.1f %%" % (100 * least, 100 * most)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    missed = False
    print("%-24s %-10s %9s %16s   %s" % ("mode", "work", "true", "stated", "at most / true"))
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else TURNS
    for mode, kind, true, least, most, is_near in rows(sys.argv[1], turns, sys.argv[3:]):
        missed |= not is_near
        print("%-24s %-10s %7.1f %% %16s   %5.2f%s" % (
            mode, kind, 100 * true, as_range(least, most), most / true if true else 0,
            "" if is_near else "  missed"), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
