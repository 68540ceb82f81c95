"""What threads used: programs whose threads use known amounts of everything, measured by their own clocks."""
import json
import subprocess

import pytest

from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import PROGRAMS, Report, without_emulator, without_sanitizer, without_thread_sanitizer

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too")]

CREW = PROGRAMS / "crew"
END_NS = 2_000_000  # CPU time a thread may use after its exit record


def told(text):
    """{'burner': {'cpu_ns': 400943217, ...}, ...}"""
    truth = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        name, dot, what = key.partition(".")
        if dot and value.isdigit():
            truth.setdefault(name, {})[what] = int(value)
    return truth


def row_of(report, truth, name):
    found = [row for row in report.rows("threads") if row.tid == truth[name]["tid"]]
    assert len(found) == 1, f"{len(found)} rows of {name}: {report.rows('threads')}"
    assert found[0].name.startswith(name + " ")
    return found[0]


def check_recorded(report, truth, name):
    """The exit record of a thread has its CPU time up to the end."""
    row, known = row_of(report, truth, name), truth[name]
    assert row.state == "ended"
    assert row.user_ns + row.kernel_ns == pytest.approx(row.cpu_ns, abs=2)
    assert known["cpu_ns"] <= row.cpu_ns <= known["cpu_ns"] + END_NS
    assert known["voluntary"] <= row.voluntary_switches <= known["voluntary"] + 5
    assert known["involuntary"] <= row.involuntary_switches
    return row


def check_all(report, truth):
    for name in ("burner", "kernel", "sleeper", "allocator"):
        check_recorded(report, truth, name)
    sleeper = row_of(report, truth, "sleeper")
    assert sleeper.voluntary_switches >= 40
    # It waits by sleeping; how long it then waits for a CPU depends on what else the machine does.
    own = {cause: ns for cause, ns in sleeper.waits_ns.items() if cause != "run queue"}
    assert max(own, key=own.get) == "sleep" and own["sleep"] >= 40_000_000
    # No thread runs and waits for longer than it lives.
    for row in report.rows("threads"):
        if row.waits_ns is not None:
            assert sum(row.waits_ns.values()) == row.waited_ns
            assert row.cpu_ns + row.waited_ns <= row.lived_ns
    # All of them together waited as long as the functions that they were in.
    if "waits" in report.values["sections"]:
        asleep = sum((row.waits_ns or {}).get("sleep", 0) for row in report.rows("threads"))
        assert asleep >= sum(row.waited_ns for row in report.rows("waits") if row.cause == "sleep") * 0.99
    kernel, burner = row_of(report, truth, "kernel"), row_of(report, truth, "burner")
    for name, row in (("kernel", kernel), ("burner", burner)):
        assert row.kernel_ns == pytest.approx(truth[name]["kernel_ns"], rel=0.02, abs=END_NS)
    assert kernel.kernel_ns > 2 * burner.kernel_ns
    assert 0 < burner.percent_average <= burner.percent_max <= 100
    # The session has no record of it; everything up to the last sample is there, and no more than it had used at
    # its end.
    stranger = row_of(report, truth, "stranger")
    assert truth["stranger"]["worked_ns"] <= stranger.cpu_ns <= truth["stranger"]["cpu_ns"] + END_NS


def sum_of(report):
    return sum(row.cpu_ns for row in report.rows("threads"))


def check_process(report, truth):
    """All rows together are what the process used."""
    whole = truth["process"]["cpu_ns"]
    assert whole * 0.98 <= sum_of(report) <= whole * 1.02 + END_NS


@without_sanitizer("it uses time of its own")
@pytest.mark.parametrize("case", ["brief", "killed"])
def test_threads_of_a_run(cli, case):
    done = cli.run("--", CREW, case, status=None)
    truth = told(done.stdout)
    check_all(done.report, truth)
    check_process(done.report, truth)
    totals = done.report.section("threads")["totals"]
    assert totals["threads"] == 0 and 1 < totals["most_threads"] <= 6 and totals["watched_processes"] == 1


@without_sanitizer("it has an allocator of its own")
def test_allocations(cli):
    done = cli.run("--", CREW)
    row = row_of(done.report, told(done.stdout), "allocator")
    assert row.allocated_bytes == 1000 * 1000
    assert 400 * 1000 <= row.freed_usable_bytes < 420 * 1000
    assert 600 * 1000 <= row.live_usable_bytes < 630 * 1000


@without_sanitizer("it uses time of its own")
def test_by_the_library(box):
    """A thread of the library watches, and leaves itself out."""
    result = box.run("crew", env={"HOTPATH_WAITS": "1", "HOTPATH_REPORT": "threads", "HOTPATH_CPU": "1",
                                  "HOTPATH_LIMIT": "0"})
    truth = told(result.stdout)
    check_all(result.report, truth)
    assert not [row for row in result.report.rows("threads") if row.name.startswith("hotpath")]


def test_threads_without_an_observer(box):
    """What the records know is there: names, and allocations."""
    result = box.run("crew", env={"HOTPATH_REPORT": "threads", "HOTPATH_LIMIT": "0"})
    rows = result.report.rows("threads")
    assert [row for row in rows if row.name.startswith("burner ")]
    assert all(row.percent_average is None and row.state == "ended" for row in rows)


@without_sanitizer("it has memory of its own")
def test_memory(cli):
    totals = cli.run("--", CREW, "memory").report.section("threads")["totals"]
    assert 64 << 20 <= totals["rss_peak_bytes"] < 96 << 20


def test_current_place_of_threads(cli):
    process = cli.start("run", "--", CREW, "stay", stdin=subprocess.PIPE)
    try:
        def stayer():
            read = cli("report", "--format", "json", "--section", "threads", "--limit", 0, status=None)
            seen = Report(json.loads(read.stdout)) if read.status == 0 else None  # no session yet
            rows = seen.rows("threads") if seen and "threads" in seen.values["sections"] else []
            return next((row for row in rows if row.name.startswith("stayer ")), None)

        wait_until(lambda: stayer() is not None and stayer().current == "stay_in")
        row = stayer()
        assert row.state == "waiting" and row.threads == 1 and row.percent_now is not None
    finally:
        process.communicate(timeout=60)
