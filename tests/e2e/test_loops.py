"""Event loops of programs that know nothing of hotpath, under `hotpath run`: the report is compared with what each
program knows.

Each event of these programs is created by the previous callback (tests/programs/loop_truth.h), so there are as
many waits as events. A loop that a library runs has one more turn in each run: what it does before its first
wait.
"""
import json
import re
import shutil
import subprocess

import pytest
from harness import (HOTPATH, IS_OPTIMISED, PROGRAMS, TIMEOUT, Report, with_cxx, with_glibc, without_emulator,
                     without_sanitizer)
from test_alloc_programs import Redis
from test_views import follows_the_schema

BY_HAND = ["epoll_wait", "epoll_pwait", "poll", "ppoll", "select", "pselect"]
PACKAGES = {"libuv": "libuv1-dev", "libevent": "libevent-dev", "libev": "libev-dev", "glib": "libglib2.0-dev"}
NAMES = {"libuv": "libuv: uv_run", "libevent": "libevent: event_base_loop", "libev": "libev: ev_run",
         "glib": "glib: g_main_loop"}

preloaded = [without_sanitizer("the library is not preloaded"), without_emulator("the library is not preloaded"),
             with_glibc("programs are preloaded into")]


def of_preload(test):
    for mark in preloaded:
        test = mark(test)
    return test


@pytest.fixture
def run(box):
    """hotpath run OPTIONS -- PROGRAM, with its report in JSON."""
    def do(*arguments, options=(), **popen):
        path = box.path / "run.json"
        path.unlink(missing_ok=True)
        result = box.run(HOTPATH, "run", "--format", "json", "--output", path, "--section", "loops", *options, "--",
                         *arguments, env={"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None}, **popen)
        result.loops = Report(json.loads(path.read_text())).rows("loops")
        return result
    return do


def the_loop(result):
    assert len(result.loops) == 1, result.loops
    return result.loops[0]


def check_longest(loop, truth):
    """Longer than the callback, and shorter than the time from the previous callback to the next."""
    grain = 1000  # two clocks
    assert truth["callback_ns"] - grain <= loop.longest_turn_ns <= truth["turn_ns"] + grain
    assert 1 <= loop.blocked_turns < loop.turns
    assert loop.busy_ns >= loop.longest_turn_ns and 0 < loop.percent_busy <= 100
    elapsed = loop.busy_ns + loop.waited_ns
    least, most = loop.longest_turn_ns**2 / (2 * elapsed), loop.busy_ns * loop.longest_turn_ns / (2 * elapsed)
    assert least * 0.99 <= loop.mean_delay_ns <= most * 1.01


@of_preload
@pytest.mark.parametrize("wait", BY_HAND)
def test_loops_over_poll_select_and_epoll(run, wait):
    """The last turn has no end: the program goes on with something else."""
    result = run(PROGRAMS / "loop_by_hand", wait)
    loop = the_loop(result)
    assert loop.name == f"{wait} in by_{wait}" and loop.place == "loop_by_hand"
    assert loop.events == result.told["events"] == loop.waits and loop.turns == loop.events - 1
    assert loop.events_per_turn == pytest.approx(loop.events / loop.turns)
    check_longest(loop, result.told)


@of_preload
@pytest.mark.parametrize("library", list(PACKAGES))
def test_loops_of_libraries(run, library):
    """Two runs of 20 events each, with 300 ms between them that are no turn."""
    program = PROGRAMS / f"loop_{library}"
    if not program.exists():
        pytest.skip(f"built without {library}: install {PACKAGES[library]}")
    result = run(program)
    loop = the_loop(result)
    assert loop.name == NAMES[library]
    assert loop.waits == result.told["events"] and loop.turns == loop.waits + 2
    # glib also counts events of its own descriptor.
    assert loop.events == loop.waits or library == "glib" and loop.waits <= loop.events <= 2 * loop.waits
    check_longest(loop, result.told)


@of_preload
@pytest.mark.parametrize("library", [name for name in PACKAGES if name != "libev"])
def test_the_callback_of_the_longest_turn(run, library):
    """The same with measured callbacks: one of them is the slow one."""
    program = PROGRAMS / f"measured_{library}"
    if not program.exists():
        pytest.skip(f"built without {library}: install {PACKAGES[library]}")
    result = run(program)
    loop = the_loop(result)
    assert loop.name == NAMES[library] and loop.callback == "on_event"
    assert result.told["callback_ns"] - 1000 <= loop.callback_ns <= loop.longest_turn_ns
    check_longest(loop, result.told)


@of_preload
def test_unmeasured_callbacks_have_no_name(run):
    loop = the_loop(run(PROGRAMS / "loop_by_hand", "poll"))
    assert (loop.callback, loop.callback_ns) == (None, None)


@of_preload
@pytest.mark.parametrize("wait", ["io_uring_wait_cqe", "io_uring_wait_cqes", "io_uring_wait_cqe_timeout",
                                  "io_uring_submit_and_wait", "io_uring_submit_and_wait_timeout"])
def test_io_uring(run, wait):
    """One of these calls another, and all but the first wait in it: there is one loop, and the last turn has no
    end."""
    if not (PROGRAMS / "loop_liburing").exists():
        pytest.skip("built without liburing: install liburing-dev")
    result = run(PROGRAMS / "loop_liburing", wait)
    if "none" in result.told:
        pytest.skip("the kernel has no io_uring")
    loop = the_loop(result)
    caller = "wait_for_one" if IS_OPTIMISED else r"\w+"  # functions of liburing.h are not inlined there
    assert re.fullmatch(f"{wait} in {caller}", loop.name) and loop.place == "loop_liburing"
    assert loop.events == loop.waits == result.told["events"] and loop.turns == loop.waits - 1
    check_longest(loop, result.told)


@of_preload
def test_glib_turn_by_turn(run):
    if not (PROGRAMS / "loop_glib").exists():
        pytest.skip(f"built without GLib: install {PACKAGES['glib']}")
    result = run(PROGRAMS / "loop_glib", "turns")
    loop = the_loop(result)
    assert loop.name == "glib: g_main_context_iteration"
    assert loop.waits == result.told["events"] == loop.turns
    check_longest(loop, result.told)


@of_preload
@pytest.mark.parametrize("library", ["libuv", "libevent", "glib"])
def test_libraries_that_are_opened_later(run, library):
    """And closed again: a search of the dynamic linker that starts at the preloaded library does not find them."""
    plugin = PROGRAMS / f"loop_{library}.so"
    if not plugin.exists():
        pytest.skip(f"built without {library}: install {PACKAGES[library]}")
    result = run(PROGRAMS / "loop_opened", plugin)
    assert result.stdout.count("events 40") == 2
    assert {loop.name for loop in result.loops} == {NAMES[library]}
    assert sum(loop.waits for loop in result.loops) == 80


@of_preload
def test_threads_have_loops_of_their_own(run):
    result = run(PROGRAMS / "loop_by_hand", "threads")
    assert [loop.name for loop in result.loops] == ["epoll_wait in by_epoll_wait"] * 2
    assert sum(loop.events for loop in result.loops) == result.told["events"]
    assert len({loop.thread["tid"] for loop in result.loops}) == 2


@of_preload
def test_a_child_has_a_loop_of_its_own(run):
    result = run(PROGRAMS / "loop_by_hand", "forks")
    assert result.told == {"child": 0}
    assert sorted(loop.waits for loop in result.loops) == [20, 20]
    assert len({loop.thread["pid"] for loop in result.loops}) == 2


@of_preload
@pytest.mark.parametrize("case", ["interrupted", "jumps", "cancelled", "once", "forks", "confined"])
def test_program_behaves_the_same(box, run, case):
    alone = box.run("loop_by_hand", case)
    assert run(PROGRAMS / "loop_by_hand", case).stdout == alone.stdout


@of_preload
def test_single_wait_is_not_a_loop(run):
    assert run(PROGRAMS / "loop_by_hand", "once").loops == []


@of_preload
def test_off(run):
    assert run(PROGRAMS / "loop_by_hand", "poll", options=["--no-preload"]).loops == []


@of_preload
def test_the_table(box):
    done = subprocess.run([HOTPATH, "run", "--section", "loops", "--", PROGRAMS / "loop_by_hand", "poll"],
                          capture_output=True, text=True, timeout=TIMEOUT,
                          env=box.environment(box.folder(), {
                              "HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None}))
    assert "loops - " in done.stderr and "| poll in by_poll |" in done.stderr
    assert "poll in by_poll was blocked for " in done.stderr


@of_preload
@pytest.mark.parametrize("has_symbols", [True, False], ids=["symbols", "stripped"])
def test_a_program_that_is_started_by_a_link_has_its_name(box, run, has_symbols):
    """As redis-server, which is a link to redis-check-rdb. Another program's link or a script is not its name."""
    folder = box.folder()
    program, link, script = folder / "check", folder / "served", folder / "script"
    shutil.copy(PROGRAMS / "loop_by_hand", program)
    if not has_symbols:
        subprocess.run(["strip", program], check=True)
    link.symlink_to("check")
    script.write_text(f"#!{program} poll\n")
    script.chmod(0o755)
    for started, name in ((link, "served"), (program, "check"), (script, "check")):
        loop = the_loop(run(started, *([] if started == script else ["poll"])))
        assert loop.place == name, started
        assert loop.name == "poll in by_poll" if has_symbols else loop.name.startswith(f"poll in {name}+0x"), loop


@of_preload
def test_redis(box):
    """A third-party server, with symbols in its dynamic table, under load."""
    if shutil.which("redis-benchmark") is None:
        pytest.skip("redis-benchmark is missing: install redis-tools")
    report = box.path / "report.json"
    with Redis(box, [HOTPATH, "run", "--format", "json", "--output", report, "--section", "loops", "--"]) as redis:
        redis.benchmark("set,get")
    loops = [row for row in Report(json.loads(report.read_text())).rows("loops")
             if row.name.startswith("epoll_wait in ")]
    busiest = max(loops, key=lambda row: row.events)
    assert busiest.place == "redis-server" and busiest.events >= 10000
    assert busiest.waits - busiest.turns in (0, 1)


# -------------------------------------------------------------------------------------------------------- the macro

def check_told(loop, truth):
    assert loop.turns == loop.waits == truth["events"] and loop.events is None and loop.events_per_turn is None
    assert "loops.c:" in loop.place
    check_longest(loop, truth)


@pytest.mark.parametrize("program", ["loops", "loops_static"])
def test_loop_macros(box, program):
    result = box.run(program)
    check_told(result.report.row("main loop", "loops"), result.told)
    follows_the_schema(result.report)


@of_preload
def test_loop_macros_and_preload_count_once(run):
    result = run(PROGRAMS / "loops")
    check_told(the_loop(result), result.told)


@with_cxx
def test_cxx(box):
    typed = box.run("loops_cxx").report.row("typed", "loops")
    assert typed.turns == typed.waits == 5


def test_compiled_out(box):
    assert set(box.run("loops_off").told) == {"events", "callback_ns", "turn_ns"}


def test_off_at_run_time(box):
    assert box.run("loops", env={"HOTPATH": "0"}).stderr == ""
