"""Hosts that are sampled as often as possible, and notice nothing: their signals, threads, stacks and children are
as without us."""
import pytest

from harness import (HOTPATH, PROGRAMS, SANITIZER, crossed, full, perf_is_allowed, with_glibc,
                     without_emulator, without_sanitizer)

pytestmark = [without_emulator("it has clocks and signals of its own")]

OFTEN = {"HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "10000"}
ENGINES = ["auto", "timers"]
AT_ONCE = {"LD_BIND_NOW": "1"}  # lazy binding of a function by the dynamic linker takes more than 2 KB


def same(box, *arguments, engine="auto", **more):
    return box.same("sampled_host", *arguments, env={**OFTEN, "HOTPATH_CPU_ENGINE": engine, **more.pop("env", {})},
                    **more)


def totals(result):
    return result.report.section("cpu")["totals"]


def is_sampled(result):
    return totals(result)["samples"] > 0


# ---------------------------------------------------------------------------------------------------------- signals

@pytest.mark.parametrize("case, engine", crossed(["see_nothing", "directed_ones", "set_user"], ENGINES))
def test_signals_of_the_program_are_unchanged(box, case, engine):
    assert is_sampled(same(box, case, engine=engine))


@without_sanitizer("it catches signals itself")
def test_ignored_signals_interrupt_nothing(box):
    result = same(box, "ignored_ones")
    assert "Interrupted" not in result.stdout and is_sampled(result)


def test_masks_through_exec(box):
    result = same(box, "masks_through_exec")
    assert "SigIgn" in result.stdout


@pytest.mark.parametrize("engine", ["auto", pytest.param("timers", marks=full)])
def test_cancellation(box, engine):
    result = same(box, "cancel", engine=engine)
    assert result.told == {"cancelled": 600, "cleaned": 600} and is_sampled(result)


@without_sanitizer("it reports how a program ends")
@with_glibc("which signal it is")
def test_killed_by_the_signal_of_the_c_library(box):
    ends = [box.run(program, "killed_by_private", env=OFTEN, status=None).status
            for program in ("sampled_host", "sampled_host_off")]
    assert ends == [-32, -32]


@without_sanitizer("it stands in front itself")
@pytest.mark.parametrize("program", ["sampled_host", "sampled_host_static"])
def test_interposers_see_only_calls_of_the_program(box, program):
    result = box.run(program, "interposed", env={**OFTEN, "LD_PRELOAD": PROGRAMS / "interposer.so"})
    assert result.stdout.splitlines() == ["sigaction", "pthread_sigmask", "end 1"]


@without_sanitizer("it has handlers of its own")
def test_no_handler_is_set_without_zones(box):
    """Where perf is refused, a program without zones samples its own stacks, unless --no-stacks is given."""
    how = [] if perf_is_allowed() else ["--no-stacks"]
    plain = box.run("sampled_host_off", "tell_handlers")
    run = box.run(HOTPATH, "run", "--cpu", *how, "--", str(PROGRAMS / "sampled_host_off"), "tell_handlers",
                  env={"HOTPATH_OUTPUT_PATH": "/dev/null"})
    assert "SigCgt" in plain.stdout and run.stdout == plain.stdout


# ----------------------------------------------------------------------------------------------------------- stacks

@without_sanitizer("it has alternate stacks itself")
@pytest.mark.parametrize("when, engine", crossed([[], ["before"]], ENGINES))
@pytest.mark.parametrize("size", [2048, 4096])
def test_small_alternate_stacks(box, size, when, engine):
    assert is_sampled(same(box, "alternate", size, *when, engine=engine))


@without_sanitizer("it has alternate stacks itself")
@pytest.mark.parametrize("case, engine", crossed(["busy_alternate", "busy_alternate_at_once"], ENGINES))
def test_handler_on_an_alternate_stack(box, case, engine):
    """It may be interrupted there, if there is room; else there are no samples, and the report says so."""
    result = same(box, case, engine=engine)
    assert is_sampled(result) or result.report.lost == {"stacks": 1}


@without_sanitizer("it has alternate stacks itself")
@pytest.mark.parametrize("program", ["sampled_host", "sampled_host_static", "sampled_host_off"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_knows_of_small_alternate_stacks(box, program, engine):
    """Not even the first sample may come to a handler there."""
    result = box.run(HOTPATH, "run", "--", str(PROGRAMS / program), "little_alternate",
                     env={**OFTEN, **AT_ONCE, "HOTPATH_CPU_ENGINE": engine})
    assert result.told == {"survived": 1}


@without_sanitizer("it has alternate stacks itself")
def test_freed_alternate_stack(box):
    assert is_sampled(same(box, "freed_alternate"))


@without_sanitizer("its frames are larger")
@with_glibc("others have no ucontext")
@pytest.mark.parametrize("size, engine", crossed([2048, 16384], ENGINES))
def test_small_coroutines(box, size, engine):
    result = same(box, "coroutines", size, engine=engine, env=AT_ONCE)
    assert result.row("small_work", "cpu").samples > 0


@without_sanitizer("its frames are larger")
@with_glibc("others have no ucontext")
def test_coroutines_and_an_alternate_stack(box):
    """There is no room for the handler, so there are no samples, and the report says so."""
    result = same(box, "coroutines", 2048, "alternate", env=AT_ONCE)
    assert result.report.lost == {"stacks": 3}


@without_sanitizer("its frames are larger")
@with_glibc("others have no ucontext")
@pytest.mark.parametrize("what", ["later", "away"])
def test_the_alternate_stack_is_replaced(box, what):
    """By one with little room, or by none: sampling ends with the first that reports it."""
    result = same(box, "coroutines", 16384, what, env=AT_ONCE)
    assert result.row("small_work", "cpu").samples > 0 and result.report.lost == {"stacks": 3}


# --------------------------------------------------------------------------------------------------------- children

def check_execs(box, count, program, blocked):
    result = same(box, "execs", count, PROGRAMS / program, *blocked, env={"HOTPATH_KEEP": 1}, timeout=1500)
    assert result.stdout == f"ended well {count}\n"


@without_sanitizer("a child that is forked takes too long")
@pytest.mark.parametrize("program, blocked", crossed(["ends_dynamic", "ends_static"], [[], ["blocked"]]))
def test_no_sampling_signal_after_exec(box, program, blocked):
    check_execs(box, 200, program, blocked)


def test_vfork(box):
    same(box, "vforks")


# -------------------------------------------------------------------------------------------------------- resources

@full
def test_no_signal_can_be_queued(box):
    """SIGIO, which the kernel sends instead, does no harm; perf, which has lost its last signal, is restarted."""
    result = same(box, "no_queue")
    if totals(result)["perf_samples"] == 0:
        pytest.skip("perf is refused here")
    assert result.row("after", "cpu").samples > 2000 or SANITIZER


@pytest.mark.parametrize("case", ["no_queue_with_own_io", "no_queue_with_late_io"])
def test_no_signal_can_be_queued_and_io_is_the_programs(box, case):
    assert is_sampled(same(box, case))


def test_few_signals_can_be_queued(box):
    same(box, "small_queue")


def test_real_time(box):
    same(box, "real_time")

