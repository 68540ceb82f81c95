#!/usr/bin/python3
"""Runs programs with and without hotpath, in alternation, and compares the true cost of measuring with what the
report says.

usage: trust.py [--spinners N] BUILD_FOLDER [TURNS [CASE ...]]

The true cost is the CPU time that runs use more than those without hotpath; the stated cost is what the report's
trust line says, at least and at most, of the elapsed or of the CPU time. The lower quartile of the turns counts,
since other processes only ever add to it. A case is missed if the true cost is at least 3 % of the CPU time and
outside the stated range by more than a factor of 1.5. Exit status 1 if a case is missed where every call is timed.

--spinners N: N processes that only compute compete for the CPUs.
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile

BOUND = 1.5
LEAST = 0.03
TURNS = 5

SMALL = ("chain", "wide", "memory", "words", "tiny")
MACROS = ("value", "count", "gauge", "channel", "channel_ids", "channel_bulk", "channel_waits", "stream", "task",
          "poll", "await", "loop")
REPEATS = {**{kind: 1000000 for kind in MACROS}, "chain": 2000000, "wide": 2000000, "memory": 2000000,
           "words": 300000, "tiny": 100000, "pairs": 500000, "one_pair": 2000000, "compute": 2000,
           "switches": 60000}

CPU = {"HOTPATH_CPU": "1"}

# mode: program, variables, kinds of work. Without hotpath it is trust_work_off or, for samples alone, the program
# without these variables: two builds of one loop may differ by more than samples cost.
MODES = {
    "timed": ("trust_work", {}, SMALL),
    "macros": ("trust_work", {}, MACROS),
    "compiler, all timed": ("trust_work_all", {"HOTPATH_MEASURING_BOUND": "0"}, SMALL),
    "allocations": ("trust_work", {"LD_PRELOAD": "libhotpath_alloc.so"}, ("pairs", "one_pair")),
    "run": ("trust_work_off", {}, ("pairs", "one_pair", "compute", "switches")),
    "run, timed": ("trust_work", {}, ("words", "pairs", "value", "channel")),
    "run, zone stacks": ("trust_work", {**CPU, "HOTPATH_CPU_RATE": "10000"}, ("compute",)),
    "CPU time": ("trust_work", CPU, ("compute", "switches")),
    "CPU time, timers": ("trust_work", {**CPU, "HOTPATH_CPU_ENGINE": "timers"}, ("compute",)),
    "CPU time, 10 kHz": ("trust_work", {**CPU, "HOTPATH_CPU_RATE": "10000"}, ("compute",)),
    "sampled": ("trust_work", {"HOTPATH_TIME_SAMPLING_RATE": "1/16"}, SMALL),
    "compiler": ("trust_work_all", {}, SMALL),
}
NOT_ALL_TIMED = ("sampled", "compiler")


def cpu_ns(command, variables):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=dict(os.environ, **variables), check=True)
    return int(done.stdout.split()[0])


def stated_ns(path, cpu):
    """At least, and at most."""
    with open(path) as file:
        report = json.load(file)
    whole = cpu if report["trust"]["overhead_of"] == "cpu" else report["elapsed_ns"]
    return [report["trust"][key] / 100 * whole for key in ("overhead_least_percent", "overhead_share_percent")]


@contextlib.contextmanager
def spinners(count):
    running = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in running:
            spinner.kill()
            spinner.wait()


def quiet(turns):
    """The turn that was disturbed little."""
    return sorted(turns)[len(turns) // 4]


def command_of(build, mode, kind, report):
    """A command, and its variables."""
    program, variables, _ = MODES[mode]
    variables = dict(variables, HOTPATH_KEEP="0", HOTPATH_DIR=os.path.dirname(report))
    words = [os.path.join(build, "bench", program), kind, str(REPEATS[kind])]
    if "LD_PRELOAD" in variables:
        variables["LD_PRELOAD"] = os.path.join(build, "lib", variables["LD_PRELOAD"])
    if mode.startswith("run"):
        del variables["HOTPATH_DIR"]
        run = [os.path.join(build, "bin", "hotpath"), "run", "--format", "json", "--output", report]
        run += ["--zone-stacks"] if "zone stacks" in mode else []
        return run + words, variables
    return words, dict(variables, HOTPATH_OUTPUT_PATH=report, HOTPATH_OUTPUT_FORMAT="json")


def compare(build, mode, kind, turns):
    """Nanoseconds of the run, what measuring truly took of it, and what the report says, at least and at most."""
    program, variables, _ = MODES[mode]
    is_samples_alone = "HOTPATH_CPU" in variables
    plain_words = [os.path.join(build, "bench", program if is_samples_alone else "trust_work_off"), kind,
                   str(REPEATS[kind])]
    measured, plain = [], []
    with tempfile.TemporaryDirectory(prefix="hotpath-bench-") as folder:
        plain_variables = {"HOTPATH_KEEP": "0", "HOTPATH_DIR": folder, "HOTPATH_OUTPUT_PATH": "/dev/null"}
        report = os.path.join(folder, "report")
        words, variables = command_of(build, mode, kind, report)
        for _ in range(turns):
            plain.append(cpu_ns(plain_words, plain_variables))
            used = cpu_ns(words, variables)
            measured.append((used, *stated_ns(report, used)))
    used, least, most = quiet(measured)
    return used, used - quiet(plain), least, most


def rows(build, turns, chosen=()):
    """(mode, work, parts of the run: true, stated at least, at most; whether that is right), for all modes and
    kinds or those chosen."""
    for mode, (_, _, kinds) in MODES.items():
        for kind in kinds:
            if chosen and mode not in chosen and kind not in chosen:
                continue
            run, true, least, most = compare(os.path.abspath(build), mode, kind, turns)
            is_near = true < LEAST * run or least / BOUND < true < most * BOUND
            yield mode, kind, true / run, least / run, most / run, is_near


def as_range(least, most):
    """As in the trust line."""
    return "%.1f %%" % (100 * most) if least * 1.3 >= most else "%.1f to %.1f %%" % (100 * least, 100 * most)


def main():
    words = sys.argv[1:]
    count = int(words[1]) if words[:1] == ["--spinners"] else 0
    words = words[2:] if count else words
    if not words:
        raise SystemExit(__doc__)
    missed = False
    turns = int(words[1]) if len(words) > 1 else TURNS
    print("%-20s %-14s %8s %16s   %s" % ("mode", "work", "true", "stated", "at most / true"))
    with spinners(count):
        for mode, kind, true, least, most, is_near in rows(words[0], turns, words[2:]):
            missed |= not is_near and mode not in NOT_ALL_TIMED
            print("%-20s %-14s %6.1f %% %16s   %5s%s" % (
                mode, kind, 100 * true, as_range(least, most), "%.2f" % (most / true) if true >= LEAST else "-",
                "" if is_near else "  missed"), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
