"""The time axis of a session: its final values are what the program says, and it is removed with the session."""
import re
import struct
import subprocess

import pytest

from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import PROGRAMS, TIMEOUT, with_glibc, without_emulator, without_sanitizer, without_thread_sanitizer
from test_threads_section import told

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too")]

CREW = PROGRAMS / "crew"
SLOTS, SERIES = 512, 960
CPU, KERNEL, RESIDENT, LIVE, ALLOCATED, THREAD, WAIT, CALLS, TICKS = range(1, 10)
CAUSE = 19


class Axis:
    """The file, as described in docs/session-format.md."""

    def __init__(self, path):
        data = path.read_bytes()
        (magic, self.pid, slots, series, self.used, generation, self.slot_ns) = struct.unpack_from(
            "=8s8x5I4x16xQ", data)
        assert magic == b"hotaxis\0" and slots == SLOTS and series == SERIES and generation % 2 == 0
        self.series = {}
        for place in range(SERIES):
            kind, id_, first = struct.unpack_from("=3I", data, 128 + 32 * place)
            at = 128 + 32 * SERIES + 8 * SLOTS * place
            if kind:
                self.series[kind, id_] = list(struct.unpack_from(f"={self.used}Q", data, at))[first:]


def axes(cli):
    return [Axis(path) for path in cli.folder.glob("**/*.axis") if path.stat().st_size > 128 + 32 * SERIES]


def axis_of(cli):
    paths = list(cli.folder.glob("**/*.axis"))
    assert len(paths) == 1 and paths[0].with_suffix(".hotpath").exists()
    return Axis(paths[0])


@without_sanitizer("it uses time of its own")
def test_history_matches_the_program(cli):
    done = cli.run("--", CREW)
    truth, axis = told(done.stdout), axis_of(cli)
    used = axis.series[CPU, 0][-1]
    workers = ("burner", "kernel", "stranger")
    # All of them were sampled after their work, and once more after their ends.
    assert sum(truth[name]["worked_ns"] for name in workers) <= used <= truth["process"]["cpu_ns"] + 2_000_000
    for name in workers:
        assert truth[name]["worked_ns"] <= axis.series[THREAD,
                                                       truth[name]["tid"]][-1] <= truth[name]["cpu_ns"] + 2_000_000
        tid = truth[name]["tid"]
        did = [axis.series.get((CAUSE, 8 * tid + part), [0])[-1] for part in range(8)]
        assert did[0] + did[1] == axis.series[THREAD, tid][-1]
        assert (name == "kernel") == (did[1] > did[0])
    assert 1 < max(axis.series[LIVE, 0]) <= 6  # those found by the same sample
    for (kind, _), values in axis.series.items():
        assert kind in (RESIDENT, LIVE, ALLOCATED) or values == sorted(values)
    assert (WAIT, 3) in axis.series  # sleep


@without_sanitizer("it uses time of its own")
def test_section(cli):
    done = cli.run("--", CREW)
    truth = told(done.stdout)
    rows = {(row.name, row.what): row for row in done.report.rows("timeline")}
    assert 1 < rows["<process>", "threads"].max <= 6
    assert rows["burner", "cpu"].tid == truth["burner"]["tid"] and 0 < rows["burner", "cpu"].max <= 110
    calls, time = rows["burn", "calls"], rows["burn", "time"]
    assert calls.unit == "per second" and calls.max > 0 and time.max > calls.last
    assert rows["<process>", "memory"].max > 100_000
    assert len(rows["<process>", "cpu"].line) <= 40
    # The value at each moment, up to the last.
    totals = done.report.section("timeline")["totals"]
    for row in rows.values():
        times, values = zip(*row.series)
        assert max(values) == pytest.approx(row.max) and values[-1] == pytest.approx(row.last)
        assert times[0] == row.from_ns and times[-1] == (totals["slots"] - 1) * totals["slot_ns"]
        assert all(after - before == totals["slot_ns"] for before, after in zip(times, times[1:]))


KEEPER = """
import sys
block = bytearray(100_000_000)
sys.stdin.readline()
"""


@with_glibc("nothing of ours is in Debian's programs else")
@without_sanitizer("programs of others cannot be preloaded")
def test_live_memory_of_a_single_thread(cli):
    """A thread that is alone adds nothing to the sum of the process: the observer reads its counters."""
    process = cli.start("run", "--format", "none", "--", "/usr/bin/python3", "-c", KEEPER, stdin=subprocess.PIPE)
    # The last of them is of a time when the block was there: it is allocated before the program waits.
    wait_until(lambda: any(max(axis.series.get((ALLOCATED, 0), [0])) > 100_000_000 for axis in axes(cli)) or
               any(axis.used > 8 for axis in axes(cli)))
    screen = cli("console", "--once", "python3", env={"LC_ALL": "C.UTF-8"}).stdout
    process.communicate("\n", timeout=TIMEOUT)
    values = axis_of(cli).series[ALLOCATED, 0]
    assert 100_000_000 <= max(values) < 130_000_000
    assert re.search(r"live memory +9\d\.\d MB", screen), screen


def test_heat_map_has_all_calls(cli):
    """The file as docs/session-format.md describes it."""
    done = cli.run("--", CREW)
    data = next(cli.folder.glob("**/*.heat")).read_bytes()
    magic, slots, sites, cells, used, generation = struct.unpack_from("=8s12x5I", data)
    assert (magic, slots, sites, cells, generation % 2) == (b"hotheat\0", 512, 96, 12, 0)
    found = []
    for place in range(sites):
        counts = {}
        for slot in range(used):
            for cell in struct.unpack_from("=12I", data, 128 + 8 * sites + (place * slots + slot) * 48):
                counts[cell & 127] = counts.get(cell & 127, 0) + ((cell >> 12) << (cell >> 7 & 31))
        found.append({bucket: count for bucket, count in counts.items() if count})
    row = next(row for row in done.report.rows("timing") if row.name == "burn")
    assert row.calls in [sum(counts.values()) for counts in found]


def test_short_runs_have_no_history(cli):
    """A run of a program that ends before the second sample, and its report."""
    cli.run("--", PROGRAMS / "counts")
    assert not list(cli.folder.glob("**/*.axis"))
    assert "no history" in cli("report", "--section", "timeline").stdout


def test_history_is_removed_with_its_session(cli):
    cli.run("--", CREW, "memory")
    for kind in ("axis", "heat"):
        assert len(list(cli.folder.glob(f"**/*.{kind}"))) == 1
    cli("clean")
    assert not [path for kind in ("axis", "heat", "run") for path in cli.folder.glob(f"**/*.{kind}")]
