"""Reports of a stretch of a run. The program changes its work when it is told to, after the history has moments of
each kind."""
import struct
import subprocess
import time

import pytest

from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import PROGRAMS, TIMEOUT, pairs, without_emulator, without_thread_sanitizer
from test_views import follows_the_schema

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too")]

SLOT_MS = 250


def history(cli):
    """How many moments there are, and the time of the latest."""
    for path in cli.folder.glob("**/*.axis"):
        data = path.read_bytes()[:80]
        if len(data) == 80:
            used, slot_ns, latest_ns = struct.unpack_from("=28xI24xQQ", data)
            assert slot_ns in (0, SLOT_MS * 1_000_000)
            return used, latest_ns
    return 0, 0


class Phases:
    """A run whose moments before `first_end` are all of the first phase, and those from `second_begin` on of the
    second."""

    def __init__(self, cli):
        self.process = cli.start("run", "--format", "none", "--", PROGRAMS / "phases", stdin=subprocess.PIPE)
        self.cli = cli

    def turn(self):
        wait_until(lambda: history(self.cli)[0] >= 4)
        self.first_end = history(self.cli)[0] - 1
        self.tell()
        told = time.monotonic_ns()
        wait_until(lambda: history(self.cli)[1] > told)
        self.second_begin = history(self.cli)[0]
        wait_until(lambda: history(self.cli)[0] >= self.second_begin + 3)

    def tell(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        self.tell()
        out, err = self.process.communicate(timeout=TIMEOUT)
        assert self.process.returncode == 0, err
        self.calls = pairs(out)["first"]


@pytest.fixture
def phases(cli):
    started = Phases(cli)
    yield started
    started.process.kill()


def at(slot):
    return f"{slot * SLOT_MS}ms"


def test_phases(cli, phases):
    phases.turn()
    # While it runs: the second phase so far.
    live = cli.read("--from", at(phases.second_begin))
    assert live.row("second").total_ns > 0 and "first" not in live.names()
    phases.end()
    whole = cli.read()
    before, after = cli.read("--to", at(phases.first_end)), cli.read("--from", at(phases.second_begin))
    follows_the_schema(after)
    assert "second" not in before.names() and "first" not in after.names()
    assert before.values["stretch"]["from_ns"] == 0
    first_end_ns = phases.first_end * SLOT_MS * 1_000_000
    assert before.values["stretch"]["to_ns"] == before.values["elapsed_ns"] == first_end_ns
    assert before.values["stretch"]["whole_ns"] == whole.values["elapsed_ns"] and "stretch" not in whole.values
    first, second = before.row("first"), after.row("second")
    assert 0 < first.calls <= phases.calls and first.avg_ns >= 900_000 and first.percent_total <= 100
    if "own_bytes" in first.values:  # the library of a sanitizer build cannot be preloaded
        assert first.own_bytes == pytest.approx(1000 * first.calls, abs=2000) and second.own_bytes == 0
    assert 0.2 * first.calls * 1_000_000 < first.own_cpu_ns <= 1.01 * first.total_ns
    assert second.own_cpu_ns < 0.1 * first.own_cpu_ns
    assert first.p95_ns is None and first.open is None and first.threads is None
    # A call that is open all the time, from before the stretch to nearly its end.
    assert second.calls == 1 and second.total_ns < whole.row("second").total_ns and 50 < second.percent_total <= 100
    verdicts = {row.name: row for row in after.rows("bottlenecks")}
    if verdicts["second"].verdict != "too-short":  # the observer may have sampled too seldom
        assert verdicts["second"].verdict == "waiting" and verdicts["second"].waits_for.startswith("pipe")
    assert "first" not in verdicts and "second" in after.values["meta"]["headline"]
    waits = {(row.name, row.cause): row.waited_ns for row in after.rows("waits")}
    assert 0 < waits["second", "pipe"] <= whole.row("second").total_ns and ("first", "pipe") not in waits
    # One line names all sections without a history.
    assert "calltree" not in after.values["sections"]
    lines = [line for line in after.values["warnings"] if line.startswith("no history for '")]
    assert len(lines) == 1 and "calltree" in lines[0] and "threads" in lines[0]


def test_stretches_add_up(cli, phases):
    phases.turn()
    phases.end()
    bounds = ["0s", at(1), at(phases.first_end), at(phases.second_begin), "100%"]
    parts = [cli.read("--from", begin, "--to", end) for begin, end in zip(bounds, bounds[1:])]
    whole = cli.read()
    calls = sum(part.row("first").calls for part in parts if "first" in part.names())
    assert calls == whole.calls("first") == phases.calls
    for name in ("first", "second", "main"):
        total = sum(part.row(name).total_ns for part in parts if name in part.names())
        assert total == pytest.approx(whole.row(name).total_ns, rel=0.001)
    allocated = [part.row("first").values.get("own_bytes") for part in parts if "first" in part.names()]
    assert None in allocated or sum(allocated) == 1000 * phases.calls
    slots = [part.section("timeline")["totals"]["slots"] for part in parts]
    assert slots[:3] == [1, phases.first_end - 1, phases.second_begin - phases.first_end]
    assert sum(slots) == whole.section("timeline")["totals"]["slots"]


def test_table(cli, phases):
    phases.turn()
    phases.end()
    text = cli("report", "--from", "-1s", "--by", "thread", "--columns", "max")
    title = text.stdout.splitlines()[1]
    assert ", from " in title and " of " in title and "P95" not in text.stdout
    assert "history is not kept per thread" in text.stderr
    # Less than a sample: what came between two of them is taken for even.
    short = cli.read("--from", "260ms", "--to", "300ms")
    assert short.values["stretch"]["from_ns"] == 260_000_000 and short.row("first").total_ns > 0


def test_invalid_stretches_are_refused(cli):
    for wrong in ("", "x", "2x", "1s1m", "--5s", "101%", "%", "1e3s"):
        assert "is not a time such as" in cli("report", f"--from={wrong}", status=2).stderr
    cli.run("--", PROGRAMS / "counts")
    assert "this run has no history" in cli("report", "--to", "50%", status=1).stderr
    assert "the time range is empty" in cli("report", "--from", "80%", "--to", "-50%", status=1).stderr
