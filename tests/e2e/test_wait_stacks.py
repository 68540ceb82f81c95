"""Which functions wait, and for what, in programs that know nothing of hotpath: by stacks that are read from
outside."""
import json
import platform
import re
import subprocess

import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import PROGRAMS, WITHOUT_PERF, Report, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_emulator("/proc is that of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

WAITERS = PROGRAMS / "waiters"
MS = 1_000_000
# What each waits for, and whether that is idle; None: while others work.
CAUSES = {"on_pipe": ("pipe", None), "on_mutex": ("lock", False), "on_condition": ("condition", True),
          "on_sleep": ("sleep", None)}


def functions(report):
    """By name, of the program itself."""
    return {row.name: row for row in report.rows("functions") if row.library == WAITERS.name}


def totals(report):
    return report.values["sections"]["functions"]["totals"]


def watched(report, cause):
    """The section `waits`, which knows nothing of stacks."""
    return sum(row.waited_ns for row in report.rows("waits") if row.cause == cause)


def is_held_in(row, name):
    return (row.held_in == name and row.waits_for == f"lock held in {name}" and
            name in row.held_stack.split(";") and row.held_samples >= 5 and 0 < row.held_ns <= row.waiting_ns)


def check_all(report):
    found = functions(report)
    for name, (cause, is_idle) in CAUSES.items():
        row = found[name]
        assert row.waits_for == cause or name == "on_mutex" and is_held_in(row, "on_sleep")
        assert row.waits >= 1
        assert row.waiting_ns == watched(report, cause) > 0, (name, report.rows("waits"))
        assert row.total_waiting_ns == row.waiting_ns
        assert is_idle is None or row.idle_ns == (row.waiting_ns if is_idle else 0)
        assert row.work_ns == row.self_ns + row.waiting_ns - row.idle_ns
    below = sum(found[name].waiting_ns for name in ("on_pipe", "on_mutex", "on_condition"))
    assert found["in_thread"].total_waiting_ns == below and found["in_thread"].waiting_ns == 0
    assert found["main"].total_waiting_ns >= found["on_sleep"].waiting_ns
    of = totals(report)
    assert of["waited_ns"] == sum(watched(report, cause) for cause in {row.cause for row in report.rows("waits")} -
                                  {"run queue"})
    assert of["waits_whole"] >= 0.9 * of["waits"] > 0
    return found


def test_causes_of_waiting_functions(cli):
    check_all(cli.run(WAITERS, "all", 600).report)


def test_waits_in_the_stack_file(cli):
    done = cli.run(WAITERS, "all", 300)
    assert cli.read().values["sections"]["functions"] == done.report.values["sections"]["functions"]


def test_without_perf(cli):
    """Waiting needs no perf: mappings are in /proc."""
    cli.before = WITHOUT_PERF
    report = cli.run(WAITERS, "all", 600).report
    assert totals(report)["samples"] == 0
    check_all(report)


def test_verdict_names_the_waiting_function(cli):
    line = cli.run(WAITERS, "mutex", 1000).report.values["meta"]["headline"]
    assert re.match(r"Lock contention: one thread waits \d+ % of its time for a lock in on_mutex_for; ", line), line


def check_holders(measure, is_sleeping):
    """Threads that wait for a lock know where it is held, and never where its holder is at other times. A busy
    machine has few samples: it takes longer there."""
    for factor in (1, 2, 4, 8):
        report = measure(factor)
        row, = [row for row in report.rows("functions") if row.name == "take_it"]
        if row.held_samples >= 5:
            break
    assert is_held_in(row, "with_it"), row
    assert "without_it" not in row.held_stack
    state, = {row.held_state for row in report.rows("waits") if row.cause == "lock" and row.held_by}
    assert state == ("sleep" if is_sleeping else "running")
    line = report.values["meta"]["headline"]
    if line.startswith("Lock contention"):
        does = r"waits meanwhile \(sleep\)" if is_sleeping else "works meanwhile"
        held = rf"a lock in take_it; its holder .*{does}: with_it takes (9\d|100) % of that time"
        assert re.search(held, line), line


@pytest.mark.parametrize("does", ["running", "sleeping"])
@pytest.mark.parametrize("before", [pytest.param([], id="perf"), pytest.param(WITHOUT_PERF, id="timers")])
def test_holders_of_locks(cli, before, does):
    cli.before = before
    check_holders(lambda factor: cli.run(PROGRAMS / "lock_holders", does, 10, 25 * factor).report,
                  does == "sleeping")


def test_holders_of_locks_of_a_running_process(cli):
    path = cli.folder / "recorded.json"

    def record(factor):
        cli("record", "--format", "json", "--output", path, "--section", "all", "--limit", "0",
            "--for", f"{factor}s", "-p", process.pid)
        return Report(json.loads(path.read_text()))

    with subprocess.Popen([PROGRAMS / "lock_holders", "sleeping", "10", "100000"]) as process:
        try:
            check_holders(record, True)
        finally:
            process.kill()


def test_idle_program(cli):
    """Nothing of the run works, and what all wait for comes from outside."""
    line = cli.run(WAITERS, "poll", 1000).report.values["meta"]["headline"]
    assert re.match(r"Idle: \S+ ms of CPU time in \S+ s; on_poll waits \(poll: (p)?poll\) for \d+ % of the run",
                    line), \
        line


def test_table_of_waits(cli):
    done = cli("run", WAITERS, "mutex", 400)
    assert "functions - CPU time and waiting by function, from stacks." in done.stderr
    assert any(re.match(r"\| on_mutex_for .* waiters .* lock ", line)
               for line in done.stderr.splitlines()), done.stderr
    assert not any("[waiting" in line for line in done.stderr.splitlines())


def test_no_stacks_option(cli):
    for flag in ("--no-stacks", "--no-waits"):
        report = cli.run(flag, WAITERS, "mutex", 100).report
        section = report.values["sections"].get("functions")
        assert section is None or section["totals"]["waits"] == 0
