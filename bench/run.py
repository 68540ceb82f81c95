#!/usr/bin/python3
"""Measures what hotpath costs on this machine, prints it next to its budgets and writes bench/RESULTS.md.

usage: run.py BUILD_FOLDER [--long | --very-long] [--no-peers]

Exit status 1 if a mandatory budget is missed by more than 10 %. One function per table, in the order of RESULTS.md;
tables that need much code have their own file (console.py, live_stacks.py, locks.py, profilers.py, short.py,
stacks.py, trust.py, watched.py).
"""
import datetime
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "peers"), HERE]
import console  # noqa: E402
import cpu_peers  # noqa: E402
import heap_peers  # noqa: E402
import live_stacks  # noqa: E402
import locks  # noqa: E402
import peers  # noqa: E402
import profilers  # noqa: E402
import short  # noqa: E402
import stacks  # noqa: E402
import trust  # noqa: E402
import watched  # noqa: E402

TOLERANCE = 1.10
ENOUGH_ROUNDS = 100  # on a busy machine two threads seldom run at once
FLAT_SESSION_BYTES = 256 << 10  # how much a session may grow with calls or threads and still count as flat
CLOCK_SOURCES = "/sys/devices/system/clocksource/clocksource0/available_clocksource"

# case of zone_cost, title, mandatory budget, goal; ratios to the base that zone_cost names
ZONE_BUDGETS = (
    ("zone", "zone, empty body", 1.3, 1.10),
    ("zone_2_threads", "the same on two threads at once, relative to one", 1.10, 1.02),
    ("floor_2_threads", "(the floor on two threads at once, relative to one)", None, None),
    ("siblings_64", "64 siblings in turn", None, 1.3),
    ("sites_1024", "1024 sites in turn", None, 1.8),
    ("floor_1024", "(the floor in 1024 functions in turn)", None, None),
    ("shared_child", "a child shared by two parents", None, 1.3),
    ("nested_8", "eight nested zones", None, None),
    ("recursion_8", "recursion, eight calls deep", None, None),
    ("by_key", "a block with a key known at run time (HOTPATH_BLOCK_KEY)", None, None),
    ("note_not_kept", "zone with a note (HOTPATH_NOTE) in a function that is not logged", None, None),
    ("logged", "zone of a logged function (.log = 1)", None, None),
    ("value", "an integer (HOTPATH_VALUE)", 1.2, None),
    ("value_real", "a double (HOTPATH_VALUE)", 1.2, None),
    ("gauge_set", "setting a gauge (HOTPATH_GAUGE_SET)", 1.2, None),
    ("gauge_add", "adding to a gauge, one thread (HOTPATH_GAUGE_ADD)", None, None),
    ("channel", "sending an item to one of eight channels (HOTPATH_CHANNEL_SENT)", None, None),
    ("channel_pair", "sending and receiving an item", 1.6, None),
    ("channel_ids", "the same with an id", 1.6, None),
    ("stream", "an item of a stream (HOTPATH_STREAM_NEXT and _ITEM)", 1.4, None),
    ("poll", "a poll of a task (HOTPATH_TASK_POLL)", 1.4, None),
    ("task", "creating and ending a task (HOTPATH_TASK, HOTPATH_TASK_READY)", 3, None),
    ("task_2_threads", "the same on two threads at once, relative to one", 1.2, None),
    ("by_compiler", "a function measured by the compiler (-finstrument-functions)", 1.6, None),
)


def run(command, **variables):
    environment = dict(os.environ, **variables)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                          universal_newlines=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr)
        raise SystemExit("%s failed with status %d" % (" ".join(command), done.returncode))
    return done.stdout


def table(title, rows):
    """Rows of equal length, the first of them the head, as Markdown that is also readable as plain text."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(["## " + title, ""] + lines + [""])


class Gate:
    """Compares with budgets and remembers whether a mandatory one was missed by more than the tolerance."""

    def __init__(self):
        self.missed = []

    def verdict(self, name, value, must, goal):
        if must is not None and value > must * TOLERANCE:
            self.missed.append(name)
        if must is not None and value > must:
            return "over"
        if goal is not None and value > goal:
            return "ok, above goal" if must is not None else "above goal"
        return "ok" if must is not None or goal is not None else ""


# ------------------------------------------------------------------------------------------------ zones

def parse_cases(text):
    """{name: (ns, ratio, low, high, rounds)} from lines of zone_cost."""
    pattern = r"^(\w+) +([\d.]+) ns +([\d.]+) x \w+ +\(([\d.]+) \.\. ([\d.]+), (\d+) rounds\)$"
    return {found[0]: tuple(map(float, found[1:])) for found in re.findall(pattern, text, re.M)}


def budget(value, unit):
    return "" if value is None else "%g%s" % (value, unit)


def off_cost(program):
    """Nanoseconds per zone while recording is off: the median of a few processes."""
    values = []
    for _ in range(5):
        text = run([program, "--off"], HOTPATH="0")
        values.append(float(re.search(r"minus empty_call: (-?[\d.]+) ns", text).group(1)))
    return sorted(values)[2]


def slow_clock_cost(program):
    """Zone against the floor with an untrusted CPU counter, faked in a mount namespace. Or None."""
    if not os.path.exists(CLOCK_SOURCES) or shutil.which("unshare") is None:
        return None
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("none\n")
        file.flush()
        script = 'mount --bind "$1" "$2" && exec "$3" --short'
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", file.name, CLOCK_SOURCES, program],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
    return parse_cases(done.stdout).get("zone")


def body_row(cases, name, title):
    """What measuring adds to a function that works, compared with what two reads of the counter add to it."""
    plain, floor, measured = cases[name], cases[name + "_floor"], cases[name + "_zone"]
    return (title, "%.0f -> %.0f" % (plain[0], measured[0]),
            "+%.1f %% (floor +%.1f %%)" % (100 * (measured[1] - 1), 100 * (floor[1] - 1)), "", "", "")


COUNTED_BUDGET = 0.35  # most calls are not timed


def counted_row(title, case, gate):
    return (title, "%.1f" % case[0], "%.3f (%.3f .. %.3f)" % case[1:4], budget(COUNTED_BUDGET, " x"), "",
            gate.verdict(title, case[1], COUNTED_BUDGET, None))


def zones(folder, gate):
    program = os.path.join(folder, "zone_cost")
    text = run([program], HOTPATH_MEASURING_BOUND="0")  # or small functions would not be timed
    print(text)
    cases = parse_cases(text)
    rows = [("what", "ns per zone", "ratio (middle half of rounds)", "must", "goal", "verdict")]
    rows.append(("floor: two reads of the CPU's counter", "%.1f" % cases["floor"][0], "1", "", "", ""))
    for name, title, must, goal in ZONE_BUDGETS:
        ns, ratio, low, high, rounds = cases[name]
        if rounds < ENOUGH_ROUNDS:
            rows.append((title, "-", "not measured: only %d rounds counted" % rounds, budget(must, " x"),
                         budget(goal, " x"), "unknown"))
            continue
        rows.append((title, "%.1f" % ns, "%.3f (%.3f .. %.3f)" % (ratio, low, high), budget(must, " x"),
                     budget(goal, " x"), gate.verdict(title, ratio, must, goal)))
    limited = parse_cases(run([program, "--short"]))["by_compiler"]
    rows.append(counted_row("the same if it is too small to time on every call (default)", limited, gate))
    sampled = parse_cases(run([program, "--short"], HOTPATH_TIME_SAMPLING_RATE="1/16"))["zone"]
    rows.append(counted_row("zone, one call in 16 is timed", sampled, gate))
    off = off_cost(program)
    rows.append(("zone, switched off at run time (HOTPATH=0)", "%.2f" % off, "", "1 ns", "0.6 ns",
                 gate.verdict("off at run time", off, 1.0, 0.6)))
    slow = slow_clock_cost(program)
    if slow is not None:
        rows.append(("zone with the kernel's clock, if the counter cannot be trusted", "%.1f" % slow[0],
                     "%.3f" % slow[1], "", "", ""))
    rows.append(body_row(cases, "body_100ns", "a function of about 100 ns, not measured -> measured"))
    rows.append(body_row(cases, "body_1us", "a function of about 1 us"))
    return cases, table("Zones", rows)


# ------------------------------------------------------------------------------------------------ lanes

def lanes(build, gate):
    """A coroutine is resumed and yields: two switches."""
    program = os.path.join(build, "bench", "lane_cost")
    plain = parse_cases(run([program]))
    watched = parse_cases(run([program], HOTPATH="1",
                              LD_PRELOAD=os.path.abspath(os.path.join(build, "lib", "libhotpath_alloc.so"))))
    rows = [("what", "ns per switch and switch back", "ratio (middle half of rounds)", "must", "verdict")]
    rows.append(("floor: two reads of the CPU's counter", "%.1f" % plain["floor"][0], "1", "", ""))
    for title, case, must in (("no zone open in the lane", plain["bare"], 1.8),
                              ("three zones open: a suspension is counted", plain["suspended"], 2.2),
                              ("the same, with counted allocations in the zones", watched["allocating"], 2.7)):
        rows.append((title, "%.1f" % case[0], "%.3f (%.3f .. %.3f)" % case[1:4], budget(must, " x"),
                     gate.verdict(title, case[1], must, None)))
    return table("Switching lanes", rows)


# ------------------------------------------------------------------------------------------ allocations

ALLOC_TURNS = 7  # processes of each kind, in alternation
PAIR_BUDGET_NS = 8.0
OFF_PAIR_BUDGET_NS = 1.0
ZONE_PAIR_BUDGET_NS = 25.0
TWO_THREADS_BUDGET = 1.05  # how a counted pair scales to two threads at once, relative to a pair of the C library
HEAPTRACK_BUDGET = 30  # what heaptrack adds, relative to what we add
ALLOC_NOTE = """\
A pair frees one of 512 blocks, chosen at random, and allocates 16 to 271 bytes. Times are CPU time of the
thread: the lower quartile of the rounds of a process, and of these the lower quartile of %d processes.
Processes of all rows take turns. Other profilers run the same binary, and the same thread is timed; work in
processes of theirs is not included.
""" % ALLOC_TURNS


class Watched:
    """One way to run alloc_cost, and the results of its processes: {case: nanoseconds}, one for each."""

    def __init__(self, command, **variables):
        self.command, self.variables, self.found = command, variables, []

    def take_turn(self):
        done = subprocess.run(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                              env=dict(os.environ, HOTPATH_OUTPUT_FORMAT="none", **self.variables), timeout=300)
        cases = {name: case[0] for name, case in parse_cases(done.stdout).items() if case[4] >= ENOUGH_ROUNDS}
        if done.returncode != 0:
            raise peers.Missing("it ended with status %d: %s" % (done.returncode, done.stderr.strip()[-200:]))
        self.found.append(cases)

    def ns(self, case):
        values = sorted(cases[case] for cases in self.found if case in cases)
        return values[len(values) // 4] if values else float("nan")

    def added(self, case="pair", base="base"):
        return self.ns(case) - self.ns(base)


def watch_peers(program, folder):
    """{name: Watched, or why not}"""
    found = {}
    for name, peer in heap_peers.PEERS:
        try:
            command, variables = peer(folder)
            found[name] = Watched(command + [program, "--pairs"], HOTPATH="0", **variables)
        except peers.Missing as problem:
            found[name] = str(problem)
    return found


def take_turns(ours, others):
    for _ in range(ALLOC_TURNS):
        for watched in ours.values():
            watched.take_turn()
        for name, watched in others.items():
            try:
                if isinstance(watched, Watched):
                    watched.take_turn()
            except (peers.Missing, OSError, subprocess.TimeoutExpired) as problem:
                others[name] = str(problem)


def added_row(title, ns, added, base, must="", verdict=""):
    return (title, "%.1f" % ns, "%+.1f ns" % added, "%.2f" % (ns / base), must, verdict)


def two_threads_row(one, two, gate):
    must, title = "%g x that" % TWO_THREADS_BUDGET, "pair, counted, on two threads at once"
    if math.isnan(two.added()):
        return (title, "-", "not measured: they seldom ran at once", "", must, "unknown")
    slower = two.ns("pair") / one.ns("pair")
    without = two.ns("base") / one.ns("base")
    return added_row("%s: %.2f x one thread (C library alone: %.2f x)" % (title, slower, without), two.ns("pair"),
                     two.added(), two.ns("base"), must,
                     gate.verdict(title, slower / without, TWO_THREADS_BUDGET, None))


def pair_rows(ours, gate):
    on, off, plain = ours["on"], ours["off"], ours["plain"]
    added = on.added()
    return [
        ("pair, C library alone", "%.1f" % on.ns("base"), "", "1", "", ""),
        added_row("(no library in front of malloc)", plain.ns("pair"), plain.added(), plain.ns("base")),
        added_row("pair, counted", on.ns("pair"), added, on.ns("base"), "+%g ns" % PAIR_BUDGET_NS,
                  gate.verdict("pair, counted", added, PAIR_BUDGET_NS, None)),
        added_row("pair, counted, inside a zone", on.ns("pair_in_zone"), on.added("pair_in_zone", "base_in_zone"),
                  on.ns("base_in_zone"), "+%g ns" % PAIR_BUDGET_NS,
                  gate.verdict("pair, counted, inside a zone", on.added("pair_in_zone", "base_in_zone"),
                               PAIR_BUDGET_NS, None)),
        two_threads_row(on, ours["two"], gate),
        added_row("pair, switched off at run time (HOTPATH=0)", off.ns("pair"), off.added(), off.ns("base"),
                  "+%g ns" % OFF_PAIR_BUDGET_NS,
                  gate.verdict("pair, switched off", off.added(), OFF_PAIR_BUDGET_NS, None)),
    ]


def zone_rows(ours, gate):
    on, timing = ours["on"], ours["timing"]
    added = on.added("zone_pair", "zone_base")
    return [
        added_row("zone without allocations, relative to one while malloc is not counted", on.ns("zone"),
                  on.ns("zone") - timing.ns("zone"), timing.ns("zone")),
        added_row("zone with one pair inside, relative to one while it is not counted", on.ns("zone_pair"),
                  added, on.ns("zone_base"), "+%g ns" % ZONE_PAIR_BUDGET_NS,
                  gate.verdict("zone with one pair inside", added, ZONE_PAIR_BUDGET_NS, None)),
    ]


def peer_row(name, watched, ours, gate):
    if not isinstance(watched, Watched):
        return (name, "-", "skipped: " + watched, "", "", "")
    added_by_us, base = ours["on"].added(), ours["plain"].ns("base")
    added = watched.ns("pair") - base
    title = "%s: %.0f x what counting adds" % (name, added / added_by_us)
    if name != heap_peers.HEAPTRACK:
        return added_row(title, watched.ns("pair"), added, base)
    return added_row(title, watched.ns("pair"), added, base, "%d x" % HEAPTRACK_BUDGET,
                     gate.verdict("counting against heaptrack", added_by_us, added / HEAPTRACK_BUDGET, None))


def allocations(build, gate, has_peers):
    program = os.path.join(build, "bench", "alloc_cost")
    library = os.path.join(os.path.abspath(build), "lib", "libhotpath_alloc.so")
    if subprocess.run([program, "--pairs"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 77:
        return "Allocations: skipped, as this C library has no __libc_malloc to compare with.\n"
    ours = {"on": Watched([program], HOTPATH="1", LD_PRELOAD=library),
            "two": Watched([program, "--threads"], HOTPATH="1", LD_PRELOAD=library),
            "off": Watched([program, "--pairs"], HOTPATH="0", LD_PRELOAD=library),
            "timing": Watched([program], HOTPATH="1"),
            "plain": Watched([program, "--pairs"], HOTPATH="0")}
    with tempfile.TemporaryDirectory(prefix="hotpath-bench-") as folder:
        others = watch_peers(program, folder) if has_peers else {}
        take_turns(ours, others)
    rows = [("what", "ns", "added", "ratio", "must", "verdict")] + pair_rows(ours, gate) + zone_rows(ours, gate)
    rows += [peer_row(name, watched, ours, gate) for name, watched in others.items()]
    return table("Allocations", rows) + "\n" + ALLOC_NOTE


# ---------------------------------------------------------------------------------------------- CPU time

CPU_PAIRS = 80
CPU_TURNS = 15  # processes of each peer, in alternation
CPU_STRETCHES = 8  # of a tenth of a second, in each of these
CPU_SLOWDOWN = 1.01
CPU_KEPT = 0.99
SWITCH_TURNS = 7
SWITCH_ROUNDS = 60000
SWITCHES_SLOWDOWN = 1.3
CPU_NOTE = """\
The program computes, in intervals of about a tenth of a second of its thread's CPU time. hotpath: the median
ratio of %d pairs of intervals, one with samples and one without, in one process. Other profilers: the median of
%d processes, relative to the same program without a profiler, in turns; work in processes of theirs is not
included.
Switches: two threads send a byte back and forth %d times, under `hotpath run` and alone; wall time.
""" % (CPU_PAIRS, CPU_TURNS, SWITCH_ROUNDS)


def sampled_pairs(program, rate, pairs, **variables):
    """(ratio, nanoseconds of a sample, samples a second)"""
    text = run([program, str(pairs), str(rate)], **variables)
    found = re.search(r"ratio ([\d.]+) pairs \d+ cost (-?\d+) ns rate (\d+) of", text)
    return tuple(map(float, found.groups()))


def stretch_ns(command, **variables):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          env=dict(os.environ, HOTPATH="0", **variables), timeout=300)
    found = re.search(r"work (\d+) ns", done.stdout)
    if done.returncode != 0 or found is None:
        raise peers.Missing("it ended with status %d: %s" % (done.returncode, done.stderr.strip()[-200:]))
    return float(found.group(1))


def middle(values):
    return sorted(values)[len(values) // 2]


def cpu_peer_row(name, peer, program, folder):
    try:
        command, variables = peer(folder)
        plain, watched = [], []
        for _ in range(CPU_TURNS):
            plain.append(stretch_ns([program, "--work", str(CPU_STRETCHES)]))
            watched.append(stretch_ns(command + [program, "--work", str(CPU_STRETCHES)], **variables))
    except (peers.Missing, OSError, subprocess.TimeoutExpired) as problem:
        return (name, "skipped: %s" % problem, "", "", "", "")
    return (name, "%.4f" % (middle(watched) / middle(plain)), "", "", "", "")


def cpu_row(title, found, rate, gate, must=None):
    ratio, cost, achieved = found
    kept = "%.0f of %d" % (achieved, rate)
    if must is None:
        return (title, "%.4f" % ratio, "%.1f us" % (cost / 1000), kept, "", "")
    return (title, "%.4f" % ratio, "%.1f us" % (cost / 1000), kept, "%g" % must,
            gate.verdict(title, ratio - 1, must - 1, None))


def wall_s(*command, **variables):
    start = time.monotonic()
    run(list(command), **variables)
    return time.monotonic() - start


def switches_row(build, gate):
    """Two threads that wait for each other, under `hotpath run` and without, in alternation: the median of each."""
    program, rounds = os.path.join(build, "bench", "switches"), str(SWITCH_ROUNDS)
    plain, watched = [], []
    for _ in range(SWITCH_TURNS):
        plain.append(wall_s(program + "_off", rounds))
        watched.append(wall_s(os.path.join(build, "bin", "hotpath"), "run", "--output", os.devnull, "--", program,
                              rounds))
    ratio = middle(watched) / middle(plain)
    return ("two threads that switch, under hotpath run", "%.4f" % ratio, "", "", "%g" % SWITCHES_SLOWDOWN,
            gate.verdict("switches", ratio - 1, SWITCHES_SLOWDOWN - 1, None))


def processor_time(build, gate, has_peers):
    program = os.path.join(build, "bench", "cpu_cost")
    usual = sampled_pairs(program, 997, CPU_PAIRS)
    rows = [("what", "time, relative to no sampling", "cost of a sample", "samples per second", "must", "verdict"),
            cpu_row("sampled at 997 Hz", usual, 997, gate, CPU_SLOWDOWN),
            cpu_row("sampled at 10,000 Hz", sampled_pairs(program, 10000, CPU_PAIRS // 2), 10000, gate),
            cpu_row("sampled by timers alone",
                    sampled_pairs(program, 997, CPU_PAIRS // 2, HOTPATH_CPU_ENGINE="timers"), 997, gate),
            switches_row(build, gate)]
    gate.verdict("samples kept", CPU_KEPT / min(usual[2] / 997, 1), 1, None)
    if has_peers:
        with tempfile.TemporaryDirectory(prefix="hotpath-bench-") as folder:
            rows += [cpu_peer_row(name, peer, program, folder) for name, peer in cpu_peers.PEERS]
    return table("CPU time", rows) + "\n" + CPU_NOTE


# ------------------------------------------------------------------------------------------- the trust line

TRUST_NOTE = """\
True: the share of the CPU time that measuring took, from CPU time with and without hotpath. Stated: the share that
the trust line of the report gives. `missed`: the true share is at least %g %% and outside the stated range by more
than a factor of %g. Where calls are only counted (sampled, compiler), the line gives a range.
Work: dependent arithmetic (chain), independent arithmetic (wide), cache misses (memory), counting the words of
a text (words), calls of a few instructions (tiny), eight pairs of malloc and free in a call (pairs), one pair
in a call (one_pair), long computation (compute), two threads that send a byte back and forth (switches); one event
of a macro beside 25 ns of dependent arithmetic (value to loop; a channel has a send and a receive, channel_bulk
of 100 items each).
""" % (100 * trust.LEAST, trust.BOUND)


def trust_rows(build, spinners):
    rows = [("mode", "work", "true", "stated", "at most / true", "verdict")]
    with trust.spinners(spinners):
        rows += [(mode, kind, "%.1f %%" % (100 * true), trust.as_range(least, most),
                  "%.2f" % (most / true) if true >= trust.LEAST else "-", "" if is_near else "missed")
                 for mode, kind, true, least, most, is_near in trust.rows(build, trust.TURNS)]
    return rows


def trust_line(build):
    """What measuring actually cost, compared with what reports say: alone, and while others take the CPUs."""
    return (table("What the trust line says", trust_rows(build, 0)) + "\n" +
            table("The same beside four processes that compute", trust_rows(build, 4)) + "\n" + TRUST_NOTE)


# ----------------------------------------------------------------------------------------------- memory

def points(folder, *arguments):
    text = run([os.path.join(folder, "memory")] + list(arguments))
    return [tuple(map(int, line.split()[1:])) for line in text.splitlines()]


def memory(folder, gate, extent):
    calls = ["1000000", "10000000"] + ["100000000"] * (extent >= 1) + ["1000000000"] * (extent >= 2)
    threads = ["10", "1000", "20000"] + ["200000"] * (extent >= 1)
    rows = [("after", "session", "resident", "verdict")]
    messages = ["1000000", "100000000"] + ["1000000000"] * (extent >= 2)
    for what, numbers in (("calls", calls), ("messages through one channel", messages),
                          ("threads in sequence", threads)):
        series = points(folder, re.match(r"\w+", what).group(), *numbers)
        for count, session, resident in series:
            growth = session - series[0][1]
            is_last = count == series[-1][0]
            if is_last and growth > FLAT_SESSION_BYTES:
                gate.missed.append("memory against " + what)
            rows.append(("%s %s" % (format(count, ","), what), "%.0f KiB" % (session / 1024),
                         "%.0f KiB" % (resident / 1024),
                         "" if not is_last else "flat" if growth <= FLAT_SESSION_BYTES else "grows"))
    before, after = points(folder, "together", "200")
    rows.append(("200 threads at once", "%.0f KiB" % (after[1] / 1024), "%.0f KiB" % (after[2] / 1024),
                 "%.1f KiB of session per thread" % ((after[1] - before[1]) / 200 / 1024)))
    return table("Memory", rows)


# ------------------------------------------------------------------------------------- one-time costs

SCALE = {
    "session": "start and stop a session (no report)",
    "thread": "start and join a thread that does nothing",
    "thread_with_zone": "the same with one zone in it",
    "first_call": "first call of a new site (average of 10,000)",
    "first_call_again": "the same in the next session",
    "report_json": "report of 10,000 sites as JSON",
    "report_table": "report of 10,000 sites as a table",
}


RUN_PAIRS = 40
RUN_MUST_MS = 10


def lasts_ms(command):
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1e3


def cost_of_run(build):
    """What `hotpath run` adds to a program that does nothing: the median over pairs, one run of each in turn."""
    program = os.path.join(build, "bin", "hotpath")
    added = sorted(lasts_ms([program, "run", "true"]) - lasts_ms(["true"]) for _ in range(RUN_PAIRS))
    return added[len(added) // 2]


EXECS = 200
EXEC_TURNS = 7
EXEC_MUST_MS = 0.7


def cost_of_exec(build):
    """What it adds to a program that another one starts: the median over pairs of a loop, with and without."""
    loop = [os.path.join(build, "bench", "execs_off"), str(EXECS), shutil.which("true")]
    followed = [os.path.join(build, "bin", "hotpath"), "run", "--format", "none", "--", *loop]
    return middle([(float(run(followed)) - float(run(loop))) / 1e6 for _ in range(EXEC_TURNS)])


def scale(build, folder, gate):
    found = dict(re.findall(r"^(\w+) +([\d.]+) us$", run([os.path.join(folder, "scale")]), re.M))
    times = [(title, float(found[name]), "", "") for name, title in SCALE.items()]
    added = cost_of_run(build)
    times.append(("fixed cost of `hotpath run`: `hotpath run true` minus `true`", added * 1e3,
                  "%d ms" % RUN_MUST_MS, gate.verdict("fixed cost of run", added, RUN_MUST_MS, None)))
    followed = cost_of_exec(build)
    times.append(("starting a program inside a run", followed * 1e3, "%g ms" % EXEC_MUST_MS,
                  gate.verdict("a followed exec", followed, EXEC_MUST_MS, None)))
    return table("One-time costs", [("what", "time", "must", "verdict")] + [
        (title, "%.1f us" % us if us < 1000 else "%.1f ms" % (us / 1000), must, verdict)
        for title, us, must, verdict in times])


# ------------------------------------------------------------------------------------------------- reading

CROWD_THREADS = 200
CROWD_CALLS = 20
OPEN_MUST_MS = 80
REFRESH_MUST_MS = 20
REPORT_MUST_MS = 200


def reading(build, gate):
    """A live session of 1,024 functions on 200 threads: read, read again, and reported."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        crowd = subprocess.Popen([os.path.join(build, "bench", "crowd"), str(CROWD_THREADS), str(CROWD_CALLS)],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 text=True, env=dict(os.environ, HOTPATH_DIR=folder, HOTPATH_MAX_BYTES="1g"))
        crowd.stdout.readline()
        session = os.path.join(folder, os.listdir(folder)[0])
        text = run([os.path.join(build, "bench", "reading"), "50", session])
        report = min(lasts_ms([os.path.join(build, "bin", "hotpath"), "report", session]) for _ in range(5))
        megabytes = os.stat(session).st_blocks * 512 / 1e6
        crowd.communicate("")
    found = {name: float(ms) for name, ms in re.findall(r"^(\w+) +([\d.]+) ms", text, re.M)}
    rows = [("what", "time", "must", "verdict")]
    for title, ms, must in (("open, with percentiles of 30 functions", found["open"], OPEN_MUST_MS),
                            ("read it again", found["refresh"], REFRESH_MUST_MS),
                            ("`hotpath report`, wall time", report, REPORT_MUST_MS)):
        rows.append((title, "%.1f ms" % ms, "%d ms" % must, gate.verdict(title, ms, must, None)))
    return table("Reading a session of %d threads and 1,024 functions (%d MB)" % (CROWD_THREADS, megabytes), rows)


# --------------------------------------------------------------------------------------- peers, process

def other_profilers(cases):
    rows = [("profiler", "ns per call", "ratio to the floor of the same run")]
    rows.append(("hotpath", "%.1f" % cases["zone"][0], "%.2f" % cases["zone"][1]))
    for name, values, problem in peers.measure():
        rows.append((name, "%.1f" % values[0], "%.2f" % values[1]) if values
                    else (name, "-", "skipped: " + problem))
    return table("Other profilers, on an empty function", rows)


def hyperfine(program, **variables):
    with tempfile.NamedTemporaryFile() as file:
        run(["hyperfine", "-N", "--warmup", "3", "--style", "none", "--export-json", file.name, program],
            **variables)
        return json.load(open(file.name))["results"][0]


def whole_program(examples):
    program = os.path.join(examples, "benchmark")
    if shutil.which("hyperfine") is None or not os.path.exists(program):
        return "Whole program: skipped, as hyperfine or examples/benchmark is not there.\n"
    rows = [("examples/benchmark: 1,000,000 empty calls, by hyperfine", "mean", "deviation")]
    for title, path, variables in (("measured", program, {}),
                                   ("switched off at run time", program, {"HOTPATH": "0"}),
                                   ("compiled out", program + "_off", {})):
        if os.path.exists(path):
            times = hyperfine(path, **variables)
            rows.append((title, "%.1f ms" % (times["mean"] * 1e3), "%.1f ms" % ((times["stddev"] or 0) * 1e3)))
    return table("A whole program", rows)


# ------------------------------------------------------------------------------------------------ results

def cpu_model():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"^(?:model name|CPU part)\s*: (.*)$", file.read(), re.M)
    return found.group(1) if found else platform.machine()


def compiler(build):
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        path = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", file.read(), re.M).group(1)
    return run([path, "--version"]).splitlines()[0]


def introduction(build, load_before, load_after):
    return """# What hotpath costs

Written by `./dev bench`; do not edit.

- date: %s
- CPU: %s, %d cores%s
- kernel: %s
- compiler: %s
- load average before and after: %s, %s

Unless a table says otherwise, all its ratios come from one process. It runs many short rounds; each round runs
every case once, in random order. A ratio is taken within a round. The table has the median of all rounds and, in
brackets, the middle half. If the middle half is wide, other work disturbed the run. Nanoseconds differ from
machine to machine: compare ratios. `must` is the limit, `goal` the target; `over` means above the limit.
""" % (datetime.date.today().isoformat(), cpu_model(), os.cpu_count(),
       ", virtual machine" if " hypervisor " in open("/proc/cpuinfo").read() else "",
       platform.release(), compiler(build), load_before, load_after)


def load():
    return "%.1f" % os.getloadavg()[0]


def main():
    arguments = sys.argv[1:]
    extent = 2 if "--very-long" in arguments else 1 if "--long" in arguments else 0
    folders = [argument for argument in arguments if not argument.startswith("-")]
    if len(folders) != 1:
        raise SystemExit(__doc__)
    build, bench = folders[0], os.path.join(folders[0], "bench")
    gate, load_before = Gate(), load()
    cases, zone_table = zones(bench, gate)
    has_peers = "--no-peers" not in arguments
    parts = [zone_table, lanes(build, gate), allocations(build, gate, has_peers),
             processor_time(build, gate, has_peers), trust_line(build), memory(bench, gate, extent),
             scale(build, bench, gate), reading(build, gate),
             table("Locks, under `hotpath run --locks`", locks.rows(build, gate)),
             table("Stacks and names", stacks.rows(build, gate, has_peers)),
             table("Programs that end soon, under `hotpath run`", short.rows(build, gate)),
             table("The console", console.rows(build, gate)),
             table("A program while it is displayed live", watched.rows(build, gate)),
             table("Live stacks of an unmodified program", watched.live_rows(build, gate)),
             table("All threads at one moment", live_stacks.rows(build, gate))]
    if has_peers:
        parts.append(other_profilers(cases))
        parts.append(table("Three real programs under profilers", list(profilers.rows(build))))
    parts.append(whole_program(os.path.join(build, "examples")))
    text = "\n".join([introduction(build, load_before, load())] + parts)
    with open(os.path.join(HERE, "RESULTS.md"), "w") as file:
        file.write(text)
    print(text)
    for name in gate.missed:
        print("missed by more than 10 %: " + name)
    return 1 if gate.missed else 0


if __name__ == "__main__":
    sys.exit(main())
