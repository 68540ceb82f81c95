"""CPU time divided by the threads that ran at that time: alone_together.c has half of its CPU time in either
function, and two thirds of its time in the one that runs alone. unit.test_running_threads has the rules; here is
what a real run gives. Other load may leave the program one CPU: then the shares are others."""
import os
import platform

import pytest

from command import Cli
from harness import (PROGRAMS, WITHOUT_PERF, pairs, perf_is_allowed, with_glibc, without_emulator,
                     without_sanitizer)

pytestmark = [without_emulator("perf and timers are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

SECONDS, TRIES = 0.6, 2
HALF_NS = SECONDS * 1e9 / 2


def run(cli):
    """The rows and totals of a run, and how long its parts took; the quietest of some."""
    best = None
    for _ in range(TRIES):
        done = cli.run(PROGRAMS / "alone_together", SECONDS)
        found = {row.name: row for row in done.report.rows("functions")}
        told = pairs(done.stdout)
        if best is None or told["together"] < best[2]["together"]:
            best = found, done.report.values["sections"]["functions"]["totals"], told
        if best[2]["together"] < 1.1 * HALF_NS:
            break
    return best


def check(cli):
    found, of, took = run(cli)
    alone, together = found["alone"], found["together"]
    assert abs(alone.percent_total - 50) < 3 and abs(together.percent_total - 50) < 3
    assert alone.total_wall_ns > 0.95 * alone.total_ns, "nothing ran beside it"
    assert 0.48 * together.total_ns < together.total_wall_ns <= together.total_ns
    assert sum(row.self_wall_ns for row in found.values()) <= of["wall_ns"] <= of["cpu_ns"]
    assert of["wall_ns"] < 1.05 * (took["alone"] + took["together"]), "more time than there was"
    if took["together"] < 1.1 * HALF_NS and os.cpu_count() > 1:
        assert abs(alone.percent_wall - 200 / 3) < 3 and abs(together.percent_wall - 100 / 3) < 3
    elif took["together"] > 1.9 * HALF_NS and os.cpu_count() == 1:
        assert abs(alone.percent_wall - 50) < 3


@pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")
def test_by_the_switches_of_the_kernel(box):
    check(Cli(box))


def test_by_the_samples_of_timers(box):
    cli = Cli(box)
    cli.before = WITHOUT_PERF
    check(cli)
