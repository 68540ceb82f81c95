"""Which functions use CPU time, if the kernel refuses perf: by timers in the program, which does not notice."""
import math
import platform
import shutil

import pytest

from command import Cli
from harness import (IS_LONG, PROGRAMS, WITHOUT_PERF, full, pairs, perf_is_allowed, with_glibc, without_emulator,
                     without_sanitizer)

pytestmark = [without_emulator("/proc and timers are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

STACKED, HARD = PROGRAMS / "stacked", PROGRAMS / "self_sampled"
MS = 1_000_000


@pytest.fixture
def cli(box):
    cli = Cli(box)
    cli.before = WITHOUT_PERF
    return cli


def rows(report):
    return {row.name: row for row in report.rows("functions")}


def totals(report):
    return report.values["sections"]["functions"]["totals"]


def run(cli, *arguments, **more):
    """Its results, all from timers, without leftover rings. A run with hardly any samples is repeated: with so few,
    callers are not shown."""
    for _ in range(4):
        done = cli.run(*arguments, **more)
        if totals(done.report)["samples"] >= 25:
            break
    assert totals(done.report)["by_timers"] == 1
    assert not list(cli.folder.rglob("*.ring"))
    return done, rows(done.report)


def used(found, name):
    return found[name].total_ns / MS if name in found else 0


# ------------------------------------------------------------------------------------------------------- the truth


@pytest.mark.parametrize("case", [pytest.param("split", marks=full), pytest.param("threads", marks=full), "deep",
                                  "forked"])
def test_cpu_time_matches_the_clocks_of_functions(cli, case):
    done, found = run(cli, STACKED, case, 400)
    told, of = pairs(done.stdout), totals(done.report)
    whole = told["heavy"] + told["light"]
    both = found["heavy"].total_ns + found["light"].total_ns
    # Each sample stands for what the thread's clock says: only what came after the last one, and before the first,
    # is missing.
    assert 0.8 * whole < both < 1.05 * whole, (both, whole)
    assert sum(row.self_ns for row in done.report.rows("functions")) == of["cpu_ns"] > 0.97 * whole
    # Samples come on ticks, and under load stand for very different times: three times the error of their number.
    truth, samples = told["heavy"] / whole, of["samples"]
    share = found["heavy"].total_ns / both
    assert abs(share - truth) < 3 * 3 * math.sqrt(truth * (1 - truth) / samples) + 0.02, (share, truth, samples)
    assert both <= found["outer"].total_ns <= of["cpu_ns"] and found["outer"].self_ns < both / 4
    assert case == "handler" or of["whole"] >= 0.98 * of["samples"]


@pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")
@pytest.mark.parametrize("case", [pytest.param("threads", marks=full), "deep"])
def test_same_shares_as_by_perf(cli, box, case):
    """The same functions in the same libraries, with the same callers."""
    _, inside = run(cli, STACKED, case, 300)
    outside = rows(Cli(box).run(STACKED, case, 300).report)
    for name in ("main", "outer", "heavy", "light", "compute", "in_thread", "dive", "start_thread", "_start"):
        assert (name in inside) == (name in outside), name
        if name not in inside:
            continue
        assert inside[name].library == outside[name].library and inside[name].file == outside[name].file
        assert abs(inside[name].percent_total - outside[name].percent_total) < 25, name
        assert abs(inside[name].percent_self - outside[name].percent_self) < 25, name


def test_threads_shorter_than_a_period_are_counted(cli):
    done, found = run(cli, STACKED, "brief", 150)
    told = pairs(done.stdout)
    assert found["<not sampled>"].self_ns > 0.5 * told["brief"] and found["<not sampled>"].samples == 0
    assert totals(done.report)["cpu_ns"] > 0.97 * (told["brief"] + told["heavy"] + told["light"])


def test_the_kernel_by_system_call(cli):
    _, found = run(cli, STACKED, "kernel", 300)
    assert found["[kernel: read]"].user_ns == 0 and found["[kernel: read]"].kernel_ns > 30 * MS
    assert found["read_on"].total_ns >= found["[kernel: read]"].self_ns
    named = sum(row.self_ns for name, row in found.items() if name.startswith("[kernel: "))
    assert named > 4 * (found["[kernel]"].self_ns if "[kernel]" in found else 0)


def test_table_of_functions(cli):
    done = cli("run", STACKED, "split", 400)
    assert ", taken by timers in the program, because perf is not allowed" in done.stderr
    assert any(line.startswith("| heavy ") and " stacked " in line
               for line in done.stderr.splitlines()), done.stderr
    assert "by timers in the program" in cli("report").stdout


def test_no_stacks_option(cli):
    for flag in ("--no-stacks", "--no-cpu"):
        assert "functions" not in cli.run(flag, STACKED, "split", 50).report.values["sections"]


# --------------------------------------------------------------------------------------------- third-party programs


SUMS = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700000) "
        "SELECT sum(i * i % 7) FROM n;")


@pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")
@pytest.mark.parametrize("command", [
    pytest.param(["bzip2", "-9c"], id="bzip2", marks=full),
    pytest.param(["sqlite3", ":memory:", SUMS], id="sqlite3"),
    pytest.param(["perl", "-e", "$x = $x * 3 % 1001 + $_ for 1 .. 9e6"], id="perl", marks=full)])
def test_debian_programs(cli, box, command):
    """Their busiest function has the same share by both, as far as so few samples can tell; and their output is the
    same."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]}")
    data = {"input": "".join(f"{i * i % 9973} line {i % 17}\n"
                             for i in range(400000))} if command[0] == "bzip2" else {}
    inside = run(cli, *command, **data)
    outside = Cli(box).run(*command, **data)
    assert inside[0].stdout == outside.stdout and inside[0].status == 0
    first = max(outside.report.rows("functions"), key=lambda row: row.self_ns)
    mine = inside[1][first.name]
    assert mine.library == first.library
    share, samples = first.self_ns / totals(outside.report)["cpu_ns"], totals(inside[0].report)["samples"]
    told = (first.name, share, mine.samples, samples)
    assert abs(mine.samples / samples - share) < 5 * math.sqrt(share * (1 - share) / samples), told
    assert totals(inside[0].report)["whole"] > 0.9 * totals(inside[0].report)["samples"]


# ------------------------------------------------------------------------------------------------------- hard cases

# ms: under load few ticks find a thread running, and with a handful of samples callers are not shown
LONG = 800 if IS_LONG else 500


@full
def test_alternate_stack_of_the_program(cli):
    """It is too small for a sample: none comes as long as the thread has it."""
    done, found = run(cli, HARD, "alternate", LONG)
    assert 0.8 * LONG < used(found, "without_one") < 1.05 * LONG
    assert "with_small_one" not in found and "with_small_one_by_syscall" not in found
    assert found["<not sampled>"].self_ns > 1.9 * LONG * MS and totals(done.report)["refused"] == 1
    assert "1 thread was not sampled: it has its own alternate signal stack" in cli("report").stdout


@pytest.mark.parametrize("case, name", [("handler", "on_signal"), ("unmapped", "with_unmapped_one"),
                                        pytest.param("reused", "with_reused_one", marks=full)])
def test_memory_of_an_alternate_stack_is_the_programs(cli, case, name):
    """A large one is left alone, too: the program may have unmapped it, or use its memory for something else."""
    done = cli.run(HARD, case, LONG)
    assert name not in rows(done.report) and totals(done.report)["refused"] == 1
    assert totals(done.report)["cpu_ns"] > 0.95 * LONG * MS


def test_changing_the_alternate_stack_takes_little_stack(cli, box):
    """It may be done on a small one; lazy binding of functions would take more."""
    at_once = {"LD_BIND_NOW": "1"}
    plain = box.run(HARD, "changes", 1, env=at_once).told
    sampled = pairs(cli("run", "-f", "none", HARD, "changes", 1, env=at_once).stdout)
    assert len(sampled) == 3 and all(size <= plain[when] + 512 for when, size in sampled.items()), (sampled, plain)


@pytest.mark.parametrize("case, name", [("restored", "with_former_one"), ("kept", "with_kept_one")])
def test_samples_go_on_after_the_program_has_restored_the_alternate_stack(cli, case, name):
    """It may have been hotpath's, which must be there as long as the thread is."""
    _, found = run(cli, HARD, case, LONG)
    assert used(found, name) > 0.8 * LONG


@pytest.mark.parametrize("case, name", [("coroutine", "on_small_stack"), ("thrd", "in_thrd"),
                                        ("cancel", "until_cancelled"), ("ended", "in_short_thread"),
                                        ("killed", "before_kill")])
def test_difficult_stacks_and_threads(cli, case, name):
    """On a stack without room for a signal; in C11 threads, cancelled threads, ending threads; before SIGKILL."""
    ms = 800 if case == "cancel" else LONG  # which is wall time there, and the CPU may be with others
    done, found = run(cli, HARD, case, ms, status=-9 if case == "killed" else 0)
    all_ns = totals(done.report)["cpu_ns"]
    assert found[name].total_ns > (0.3 if case in ("ended", "cancel") else 0.8) * all_ns
    if case == "ended":
        assert pairs(done.stdout)["timers"] <= 1  # that of the first thread


def test_a_forked_child_has_a_ring_of_its_own(cli):
    _, found = run(cli, HARD, "forked", LONG)
    for name in ("in_parent", "in_child"):
        assert 0.8 * LONG < used(found, name) < 1.05 * LONG


def test_a_process_that_becomes_another_program(cli):
    """Samples before exec are named by the old program."""
    _, found = run(cli, HARD, "becoming", LONG, STACKED, "split", LONG)
    for name in ("before_exec", "outer"):
        assert 0.8 * LONG < used(found, name) < 1.05 * LONG
    assert found["before_exec"].library == HARD.name and found["outer"].library == STACKED.name


def test_a_sandbox(cli):
    """In which the handler could not even return."""
    done = cli.run(HARD, "sandbox", 200)
    assert (done.status, done.stdout) == (0, "survived\n")


@pytest.mark.parametrize("how", ["at_once", "syscall", "listener", "twice", "early", "strict", "probe"])
def test_programs_that_enter_a_sandbox(cli, how):
    done = cli.run(PROGRAMS / "sandboxed_off", how, status=None)
    if done.status == 77:
        pytest.skip("no such thing here")
    assert (done.status, done.stdout) == (0, "survived\n")


def test_a_program_whose_path_has_a_newline(cli):
    """The kernel writes it as \\012 in /proc/PID/maps."""
    folder = cli.folder / "two\nlines"
    folder.mkdir()
    program = folder / "stacked"
    shutil.copy(STACKED, program)
    found = {row.name: row for row in cli.run(program, "split", 300).report.rows("functions")}
    assert found["heavy"].library == "stacked" and found["heavy"].total_ns > found["light"].total_ns > 0
