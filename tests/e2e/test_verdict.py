"""The verdict: functions of known behaviour get the right word.

A test cannot ensure that a program has the CPUs to itself, so programs report the kernel's account of their
time, and the word must be the one that docs/verdict.md gives for these numbers. Within MARGIN of a threshold,
both sides are right.
"""
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import (EMULATOR, EXAMPLES, IS_GLIBC, IS_OPTIMISED, PROGRAMS, SANITIZER, Box, full, pairs,
                     without_sanitizer, without_thread_sanitizer)
from test_views import follows_the_schema, table

pytestmark = pytest.mark.skipif(bool(EMULATOR),
                                reason="not under an emulator: it has other threads and other clocks")

NATURES = PROGRAMS / "natures"
MARGIN = 0.12

WAITING = {"sleep": "sleep", "pipe": "pipe: read", "lock": "lock: holder not recorded", "disk": "disk: "}
BUSY = {"busy": "cpu-bound", "alloc": "allocation-heavy", "starved": "cpu-bound"}


MANY_SAMPLES_NS = 500_000_000


def shares(truth):
    """On a CPU, waiting, and of that runnable: of the time in the function."""
    return truth["cpu"] / truth["wall"], 1 - truth["cpu"] / truth["wall"], truth["ready"] / truth["wall"]


def words(truth, busy, is_watched):
    """Its possible verdicts."""
    cpu, waiting, ready = shares(truth)
    found = set()
    if is_watched and ready > 0.25 - MARGIN and ready > (0.5 - MARGIN) * waiting:
        found.add("starved")
    if is_watched and ready > 0.25 + MARGIN and ready > (0.5 + MARGIN) * waiting:
        return found
    if waiting > 0.6 - MARGIN:
        found.add("waiting")
    if cpu > 0.6 - MARGIN:
        found.add(busy)
    if waiting < 0.6 + MARGIN and cpu < 0.6 + MARGIN:
        found |= {"mixed"} if busy == "cpu-bound" else {busy}
    return found


def is_sampled(report, row):
    """A function that shares a CPU can be missed by nearly all samples. Then CPU time is not reported."""
    totals = report.section("cpu")["totals"]
    if totals["samples"] >= 20 or totals["sampled_ns"] < 40e6:
        return True
    assert [row.percent_busy, row.cpu_ns, row.samples] == [None] * 3
    return False


def check_numbers(report, row, truth):
    follows_the_schema(report)
    if not is_sampled(report, row):
        return
    # As many rows as there are functions, and the first one takes the time.
    assert report.rows("bottlenecks")[0].name == row.name == "subject"
    # Its own time is divided completely, and none of it is counted twice.
    assert abs(row.percent_busy + row.percent_waiting - 100) < 1e-6
    assert abs(min(row.cpu_ns, row.self_ns) + row.waiting_ns - row.self_ns) <= 2
    assert abs(row.percent_busy - 100 * shares(truth)[0]) < 100 * MARGIN
    assert report.row("subject").self_ns == row.self_ns
    assert report.row("subject", "cpu").own_cpu_ns == row.cpu_ns
    assert row.location["function"] == "subject"


def run(cli, nature, *args, env=None):
    path = Path("/var/tmp") / f"hotpath-test-{nature}-{cli.folder.name}-{id(cli)}" if nature == "disk" else "-"
    try:
        done = cli.run(*args, "--", NATURES, nature, path, env=env)
    finally:
        if nature == "disk":
            path.unlink(missing_ok=True)
    return done.report, pairs(done.stderr)


def skip_other_malloc():
    if SANITIZER:
        pytest.skip("a sanitizer has malloc for itself")
    if os.environ.get("HOTPATH_IS_GLIBC", "1") == "":
        pytest.skip("another malloc takes longer than it is reckoned with")


def skip_quick_disk(nature, truth):
    if nature == "disk" and (shares(truth)[1] - shares(truth)[2] < 0.5 or truth["wall"] < MANY_SAMPLES_NS):
        pytest.skip("the disk is too quick to wait for")


@pytest.mark.parametrize("nature", WAITING)
def test_waiting_functions(cli, nature):
    report, truth = run(cli, nature)
    skip_quick_disk(nature, truth)
    row = report.row("subject", "bottlenecks")
    assert row.verdict in words(truth, "cpu-bound", True), (row, truth)
    assert row.verdict != "cpu-bound"
    if row.verdict == "waiting":
        assert row.waits_for.startswith(WAITING[nature])
        assert f" of that for {row.waits_for}" in row.why
        assert 0 < row.waits_for_ns <= row.waiting_ns and row.looks > 0
    check_numbers(report, row, truth)


PAIR_NS = 25  # what docs/verdict.md assumes for an allocation and its free


def allocating(part):
    """What a busy function is that allocates for such a part of its CPU time. A slow machine makes it smaller."""
    return ({"allocation-heavy"} if part > 1 / 3 - MARGIN else set()) | \
        ({"cpu-bound"} if part < 1 / 3 + MARGIN else set())


@pytest.mark.parametrize("nature", BUSY)
def test_busy_functions(cli, nature):
    if nature == "alloc":
        skip_other_malloc()
    report, truth = run(cli, nature)
    row = report.row("subject", "bottlenecks")
    if nature == "starved":
        assert shares(truth)[2] > 0.5, "four have one processor"
    busy = {BUSY[nature]}
    if nature == "alloc":
        assert row.own_count >= 8 * 50000 * 64 and row.percent_alloc > 99
        busy = allocating(row.own_count * PAIR_NS / truth["cpu"])
    assert any(row.verdict in words(truth, word, True) for word in busy), (row, truth)
    if row.verdict == "starved":
        assert row.waits_for == "run queue" and row.run_queue_ns > 0
    check_numbers(report, row, truth)


@pytest.mark.parametrize("nature", ["sleep", "pipe", "lock", "busy", pytest.param("starved", marks=full)])
def test_verdict_from_cpu_time_alone(box, nature):
    """A function that is not busy waits, but the cause is unknown, or is ready to run: the kernel counts that."""
    measured = box.run("natures", nature, env={"HOTPATH_CPU": "1"})
    truth = measured.aside
    row = measured.row("subject", "bottlenecks")
    if not is_sampled(measured.report, row):
        assert row.verdict == "unknown"
        return
    assert row.verdict in words(truth, "cpu-bound", True), (row, truth)
    if nature == "starved":
        assert row.verdict == "starved"
    assert abs(row.run_queue_ns - truth["ready"]) < MARGIN * row.self_ns
    assert row.waits_for in (None, "run queue") and row.looks is None
    if row.verdict == "waiting":
        assert row.why.endswith("; cause unknown: use 'hotpath run'")
    check_numbers(measured.report, row, truth)


@pytest.mark.parametrize("nature", ["sleep", pytest.param("starved", marks=full)])
def test_verdict_from_waits_alone(cli, nature):
    """A function that is not found waiting is busy."""
    report, truth = run(cli, nature, env={"HOTPATH_CPU": "0"})
    row = report.row("subject", "bottlenecks")
    totals = report.section("waits")["totals"]
    if totals["looks"] * row.self_ns < 20 * totals["watched_ns"]:
        assert row.verdict == "too-short"
        return
    assert row.verdict in words(truth, "cpu-bound", True)
    assert row.verdict == ("waiting" if nature == "sleep" else "starved")
    assert [row.percent_busy, row.cpu_ns, row.samples] == [None] * 3
    assert 0 < row.waiting_ns <= row.self_ns
    follows_the_schema(report)


@without_sanitizer("it has malloc for itself")
def test_verdict_from_allocations_alone(box):
    measured = box.run(EXAMPLES / "alloc_modes")
    rows = measured.report.rows("bottlenecks")
    assert {row.verdict for row in rows} <= {"unknown", "allocation-heavy"}
    assert sum(row.percent_alloc for row in rows) <= 100.001
    for row in rows:
        allocs = measured.row(row.name, "alloc-bytes")
        assert (row.own_bytes, row.own_count) == (allocs.own_bytes, allocs.own_count)
        # The rule, only from what was counted and timed.
        assert (row.verdict == "allocation-heavy") == (3 * 25 * row.own_count >= row.self_ns)
        assert [row.percent_busy, row.percent_waiting, row.waiting_ns] == [None] * 3
    follows_the_schema(measured.report)


# Typical programs, and how the first line must begin. A busy function may be starved by others on the machine.
BUSY_WORDS = r": \d+ % of the time( that is not idle)?, (cpu-bound|starved for CPU time|busy and waiting)"
# The child sleeps as long as its parent waits for it: either may be said first.
CHILD_SLEEPS = (r"The bottleneck is (outside of all measured functions: threads waited there [\d.]+ ms, "
                r"mainly for sleep\. Among measured functions it is )?")
SCENES = {
    "log": "The bottleneck is parse_line" + BUSY_WORDS,
    "pages": "The bottleneck is render_page" + BUSY_WORDS,
    "transform": "The bottleneck is transform" + BUSY_WORDS,
    "store": r"The bottleneck is store: \d+ % of the time that is not idle, "
             r"(waiting \(sleep\)|starved for CPU time)",
    "shop": r"The bottleneck is reserve_stock: \d+ % of the time that is not idle, waiting "
            # musl records no owner
            + (r"\(lock held in ask_warehouse\)" if IS_GLIBC else r"\(lock: holder not recorded\)"),
    "idle": r"The program is idle for \d+ % of the time: wait_for_request waits \(poll: p?poll",
    "build": r"The program waits for a child for \d+ % of the time: compile waits \(child: \w+ \(busy\)\)"
             r"|The bottleneck is outside of all measured functions, in "
             + ("child processes" if SANITIZER else "the processes of (sh|dash)")  # into which it is not preloaded
             + r", with \d+ % of the CPU time",
    "batch": "The bottleneck is resize in a child process" + BUSY_WORDS,
    "client": CHILD_SLEEPS + r"fetch: \d+ % of the time(?: that is not idle)?, waiting \(socket: unix socket\)",
    "filter": CHILD_SLEEPS + r"read_line: \d+ % of the time(?: that is not idle)?, waiting \(pipe: read\)",
    "simulation": "The bottleneck is move_particles" + BUSY_WORDS,
    "downloads": r"The bottleneck is download: \d+ % of the time that is not idle, waiting \(sleep\)",
    "ticker": "The bottleneck is compute" + BUSY_WORDS,
    "unmeasured": r"The bottleneck is outside of all measured functions, with \d+ % of the CPU time"
                  r"(: work_us takes \d+ % of that, [^.]*)?\. "
                  r"Among measured functions it is note",
}


def first_line(cli, scene):
    done = cli.start("run", "--", PROGRAMS / "scenes", scene)
    lines = done.communicate(timeout=120)[1].splitlines()
    assert done.returncode == 0, lines
    title = next(line for line in lines if line.startswith("[hotpath] "))
    return lines[lines.index("", lines.index(title)) + 1]


def check_first_line(cli, scene):
    if scene == "idle" and not IS_OPTIMISED:
        pytest.skip("not with -O0: measuring takes most of its CPU time, which is said first")
    line = first_line(cli, scene)
    assert re.match(SCENES[scene], line), line


@without_thread_sanitizer("it has a thread of its own, which waits, too")
@pytest.mark.parametrize("scene", SCENES)
def test_the_first_line_is_right(cli, scene):
    check_first_line(cli, scene)


def test_no_verdict_from_timing_alone(box):
    measured = box.run("counts", env={"HOTPATH_REPORT": "all"})
    assert "bottlenecks" not in measured.report.values["sections"]
    [session] = measured.sessions()
    assert "bottleneck" not in table(box, session)
    asked = box.read(session, "--section", "bottlenecks")
    assert asked.rows("bottlenecks") == []
    follows_the_schema(asked)
    assert "\nonly time was measured: HOTPATH_CPU=1 " in table(box, session, "--section", "bottlenecks")


@pytest.fixture(scope="module")
def sleeper():
    """A session of a program that sleeps, sampled."""
    box = Box()
    measured = box.run("natures", "sleep", env={"HOTPATH_CPU": "1"})
    yield box, measured.sessions()[0]
    box.remove()


def test_verdict_is_the_first_section(sleeper):
    box, session = sleeper
    lines = table(box, session, "-v").splitlines()
    title = next(line for line in lines if line.startswith("[hotpath]"))
    assert " | bottlenecks, timing, cpu" in title
    first = lines.index("bottlenecks - Where the time goes, and why.")
    assert not any(" - " in line for line in lines[:first])
    assert re.match(r"The bottleneck is subject: \d+ % of the time, waiting", lines[first + 1])
    assert list(box.read(session).values["sections"])[0] == "bottlenecks"


def cells(line):
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_the_short_report(box):
    """Functions are in one table, in which each row has its verdict; other sections are a line each, and -v has
    them all."""
    measured = box.run(EXAMPLES / "overview", env={"HOTPATH_REPORT": None})
    [session] = measured.sessions()
    report = box.read(session, "--section", "auto").values
    sections = report["sections"]
    lines = table(box, session).splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("[hotpath] "))
    assert lines[first].count("|") == 0 and lines[first + 1] == ""
    assert lines[first + 2] == report["meta"]["headline"]
    titles = cells(lines[first + 4])
    rows = [dict(zip(titles, cells(line))) for line in lines[first + 6:first + 6 + len(sections["timing"]["rows"])]]
    verdicts = {row["name"]: row["verdict"] for row in sections["bottlenecks"]["rows"]}
    assert [(row["Function"].rstrip("*"), int(row["Calls"]), row["Verdict"]) for row in rows] == [
        (row["name"], row["calls"], verdicts[row["name"]] or "-") for row in sections["timing"]["rows"]]
    assert re.match(r"The bottleneck is async_sleep: \d+ % of the time( that is not idle)?, waiting \(timer\)",
                    report["meta"]["headline"])
    said = {line.split(":")[0] for line in lines}
    assert {"cpu", "waits"} <= said
    assert not any(line.startswith(("timing - ", "cpu - ", "waits - ")) for line in lines)
    assert any(line.startswith("tasks - ") for line in lines) and len(lines) <= 45
    whole = table(box, session, "-v").splitlines()
    assert {line.split(" - ")[0] for line in whole if " - " in line} >= set(sections)
    assert whole[-1] == report["meta"]["headline"]


def test_verdict_can_be_left_out(sleeper):
    box, session = sleeper
    assert "bottlenecks" not in table(box, session, env={"HOTPATH_REPORT": "-bottlenecks"})
    assert "timing, cpu" in table(box, session, env={"HOTPATH_REPORT": "-bottlenecks"})
    alone = table(box, session, env={"HOTPATH_REPORT": "bottlenecks"})
    assert "\ntiming - " not in alone and "| subject" in alone


def test_reporters_get_the_verdict(box):
    done = box.run(EXAMPLES / "csv_reporter", env={"HOTPATH_CPU": "1"})
    assert re.findall(r"^# (\S+)$", done.stdout, re.M)[:2] == ["bottlenecks", "timing"]


def test_rows_and_limits(box):
    """Five, unless another number is requested."""
    [session] = box.run("wide", env={"HOTPATH_CPU": "1"}).sessions()
    all_rows = box.read(session, "--limit", "0").section("bottlenecks")
    assert all_rows["total_rows"] == len(all_rows["rows"]) > 5
    assert [row["self_ns"] for row in all_rows["rows"]] == sorted(
        (row["self_ns"] for row in all_rows["rows"]), reverse=True)
    for limit, count in ((None, 5), ("2", 2), ("7", 7)):
        args = ("--limit", limit) if limit else ()
        text = table(box, session, "--section", "bottlenecks", *args, env={"HOTPATH_LIMIT": None})
        assert len(re.findall(r"^\| (?!Function)", text, re.M)) == count, text
        assert f"({count}/{all_rows['total_rows']})" in text


# Example, its function, its verdict on a machine with idle CPUs.
EXAMPLE_VERDICTS = {"cpu": ("add_up", "cpu-bound"), "sleep": ("pause_a_little", "waiting"),
                    "lock": ("take_turn", "waiting"), "disk": ("save_record", "waiting"),
                    "alloc": ("sum_of_list", "allocation-heavy"), "starved": ("work", "starved")}


def waits_for_the_disk(program):
    """Whether it waits for the disk itself most of its time, and long enough to be seen: by the kernel."""
    start = time.monotonic_ns()
    with subprocess.Popen([str(program)], stdout=subprocess.DEVNULL, env={"HOTPATH": "0"}) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall = time.monotonic_ns() - start
        ran, was_ready = map(int, Path(f"/proc/{process.pid}/schedstat").read_text().split()[:2])
    return wall - ran - was_ready > max((0.6 + MARGIN) * wall, MANY_SAMPLES_NS / 2)


@pytest.mark.parametrize("name", [  # those that compute are like the natures above
    pytest.param(name, marks=full if name in ("cpu", "alloc", "starved") else []) for name in EXAMPLE_VERDICTS])
def test_examples(cli, name):
    if name == "alloc":
        skip_other_malloc()
        if not IS_OPTIMISED:
            pytest.skip("not with -O0: what the program does with its blocks takes longer than malloc")
    if name == "disk" and not waits_for_the_disk(EXAMPLES / "bottleneck_disk"):
        pytest.skip("the disk is too quick to wait for")
    function, verdict = EXAMPLE_VERDICTS[name]
    report = cli.run("--", EXAMPLES / f"bottleneck_{name}").report
    row = report.rows("bottlenecks")[0]
    assert row.name == function
    # On a busy machine others may be starved, too: then the run queue time says so.
    others = {"starved"} if row.run_queue_ns > 0.25 * row.self_ns else set()
    # Where its 10,000,000 allocations, at 25 ns each, are less than a third of its time, the rule says so.
    if name == "alloc" and row.cpu_ns > 3 * 25 * 10_000_000:
        others.add("cpu-bound")
    assert row.verdict in {verdict} | others, row
    if name in ("sleep", "lock", "disk") and row.verdict == "waiting":
        assert row.waits_for.startswith(name)
