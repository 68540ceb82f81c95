"""What hotpath itself takes in a program: in no row of its functions, and in the last line of the report."""
import platform

import pytest

from command import Cli
from harness import PROGRAMS, WITHOUT_PERF, perf_is_allowed, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_emulator("/proc and timers are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

needs_perf = pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")
MS = 1_000_000
OWN = "<hotpath>"
# By way: the function of the program, and what it asks the C library for.
WAYS = {"a": ("allocates", {"malloc", "free", "cfree", "_int_free", "_int_malloc"}),
        "w": ("writes", {"write", "read", "__write", "__read"}),
        "p": ("prints", {"fputc", "putc", "_IO_putc"})}


@pytest.fixture(params=[pytest.param("perf", marks=needs_perf), "timers"])
def cli(box, request):
    cli = Cli(box)
    cli.before = WITHOUT_PERF if request.param == "timers" else []
    return cli


def stacks(cli):
    """Frames from the outermost, and nanoseconds."""
    for line in cli("export", "--format", "folded", "--of", "cpu").stdout.splitlines():
        frames, _, ns = line.rpartition(" ")
        yield frames.split(";"), int(ns)


def plain(name):
    return name.partition("@")[0]


def test_own_code_is_in_no_row_of_the_program(cli):
    """The functions are on threads, which a hook begins. Most of their time is in hooks and what these call."""
    done = cli.run(PROGRAMS / "own_time", "".join(WAYS), 200)
    rows = {row.name: row for row in done.report.rows("functions")}
    assert not [row.name for row in rows.values() if (row.library or "").startswith("libhotpath")]
    assert rows[OWN].samples > 0 and rows[OWN].library is None
    used = sum(row.self_ns for row in rows.values())
    assert used == done.report.values["sections"]["functions"]["totals"]["cpu_ns"]
    for function, callees in WAYS.values():
        assert rows[function].total_ns > 10 * MS
    found = list(stacks(cli))
    for frames, _ in found:
        assert OWN not in frames or frames == [OWN]
    for function, callees in WAYS.values():
        below = [frames[frames.index(function) + 1:] for frames, _ in found if function in frames]
        assert any(frames and plain(frames[0]) in callees for frames in below), below


def test_own_code_is_in_the_last_line(cli):
    """At least what stacks found, on a program of one thread."""
    done = cli.run(PROGRAMS / "own_time", "a", 400)
    own = next(row for row in done.report.rows("functions") if row.name == OWN)
    stated = done.report.trust["overhead_share_percent"] / 100 * done.report.values["elapsed_ns"]
    assert own.samples > 0 and stated > 0.99 * own.self_ns


@needs_perf
def test_loading_the_library_is_measured(box):
    """In each of many processes, loading takes 4 ms of CPU time; at most as many run at once as there are CPUs."""
    cli, count, slow = Cli(box), 100, PROGRAMS / "slow_to_load.so"
    done = cli.run("--alloc-library", slow, PROGRAMS / "brief", "execute", count)
    assert done.report.trust["brief_processes"] == count
    stated = done.report.trust["overhead_share_percent"] / 100 * done.report.values["elapsed_ns"]
    assert stated > count * 4 * MS / done.report.values["meta"]["cores"]
