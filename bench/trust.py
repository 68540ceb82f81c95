#!/usr/bin/python3
"""Runs programs with and without hotpath, in turns, and compares what measuring truly cost with what the report says.

usage: trust.py BUILD_FOLDER [TURNS [CASE ...]]

True is the processor time that runs use more than those without hotpath, stated what the report's trust line says. Of all of
them the lower quartile of the turns is taken, since neighbours only ever add. Exit status 1 when one is more than 1.3 times
the other.
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
    "processor time": ("trust_work", {"HOTPATH_CPU": "1"}, ("compute", "switches")),
    "processor time, timers": ("trust_work", {"HOTPATH_CPU": "1", "HOTPATH_CPU_ENGINE": "timers"}, ("compute",)),
    "processor time, 10 kHz": ("trust_work", {"HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "10000"}, ("compute",)),
}


def cpu_ns(command, variables):
    done = subprocess.run(command, stdout=subprocess.PIPE, env=dict(os.environ, **variables), check=True)
    return int(done.stdout.split()[0])


def stated_ns(path):
    with open(path) as file:
        report = json.load(file)
    return report["trust"]["overhead_share_percent"] / 100 * report["elapsed_ns"]


def quiet(values):
    return sorted(values)[len(values) // 4]


def compare(build, mode, kind, turns):
    """Nanoseconds of the run, what measuring truly took of it, and what the report says."""
    program, variables, _ = MODES[mode]
    variables = dict(variables, HOTPATH_KEEP="0")
    if "LD_PRELOAD" in variables:
        variables["LD_PRELOAD"] = os.path.join(build, "lib", variables["LD_PRELOAD"])
    arguments = [kind, str(REPEATS[kind])]
    all_ns, plain, stated = [], [], []
    with tempfile.TemporaryDirectory(prefix="hotpath-bench-") as folder:
        variables.update(HOTPATH_OUTPUT_PATH=os.path.join(folder, "report"), HOTPATH_OUTPUT_FORMAT="json", HOTPATH_DIR=folder)
        for _ in range(turns):
            plain.append(cpu_ns([os.path.join(build, "bench", "trust_work_off")] + arguments, {}))
            all_ns.append(cpu_ns([os.path.join(build, "bench", program)] + arguments, variables))
            stated.append(stated_ns(variables["HOTPATH_OUTPUT_PATH"]))
    return quiet(all_ns), quiet(all_ns) - quiet(plain), quiet(stated)


def rows(build, turns, chosen=()):
    """(mode, work, part of the run that is true, and stated, whether they are near), for all modes and kinds or those chosen."""
    for mode, (_, _, kinds) in MODES.items():
        for kind in kinds:
            if chosen and mode not in chosen and kind not in chosen:
                continue
            run, true, stated = compare(os.path.abspath(build), mode, kind, turns)
            is_near = true / BOUND <= stated <= true * BOUND or abs(stated - true) < run / 200
            yield mode, kind, true / run, stated / run, is_near


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    missed = False
    print("%-24s %-10s %9s %9s   %s" % ("mode", "work", "true", "stated", "stated / true"))
    for mode, kind, true, stated, is_near in rows(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else TURNS, sys.argv[3:]):
        missed |= not is_near
        print("%-24s %-10s %7.1f %% %7.1f %%   %5.2f%s" % (mode, kind, 100 * true, 100 * stated, stated / true if true else 0,
                                                        "" if is_near else "  missed"), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
