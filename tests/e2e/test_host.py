"""The host comes first: whatever happens, it behaves as if it were not measured.

`box.same` runs a program measured and unmeasured (compiled with -DHOTPATH=0) and requires the same output and
the same end. Then the report is checked: what could be recorded is right, what could not is counted.
"""
import os
import platform
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

from harness import (BUILD, EMULATOR, HOTPATH, PROGRAMS, SANITIZER, end, full, needs_root, with_cxx, with_glibc,
                     without_emulator, without_sanitizer, without_thread_sanitizer)
from test_space import TABLE_ON_STDERR, check_workload, real_bytes


# -------------------------------------------------------------------------------- jumps, exceptions, coroutines

def test_longjmp_over_zones(box):
    result = box.same("longjmp", "over")
    report = result.report
    for name in ("first", "second", "third", "in third", "after"):
        assert report.row(name).calls == 1000 and report.row(name).open == 0, name
    assert report.row("around").calls == 1
    assert report.lost == {"abandoned": 3000}


def test_100000_longjmps_without_an_outer_zone(box):
    """Each leaves up to seven zones behind. They must not pile up: neither in the session nor in time."""
    # AddressSanitizer gives every frame its own address, so stale guards cannot be recognised by theirs.
    count = 100000 if not SANITIZER else 2000
    result = box.same("longjmp", "loop", count)
    dives = sum(jumps % 7 + 1 for jumps in range(count))
    assert abs(result.calls("dive") - dives) <= 7
    assert result.calls("after") == 1
    sizes = [real_bytes(path) for path in result.sessions()]
    assert SANITIZER or max(sizes) <= 256 << 10


def test_siglongjmp_out_of_a_handler(box):
    result = box.same("longjmp", "handler")
    for name in ("raises", "on_signal", "after"):
        assert result.calls(name) == 5000, name


@without_emulator("timers that fast starve an emulator")
@without_sanitizer("siglongjmp out of the middle of its runtime")
def test_siglongjmp_out_of_the_middle_of_the_recorder(box):
    result = box.same("alarm_jump")
    assert result.calls("round") == 3000 and result.calls("after") == 1000
    assert result.row("after").open == 0
    # A jump out of the very beginning of a handler's zone can cost one count.
    assert 3000 - 30 <= result.calls("on_alarm") <= 3000


def test_exceptions(box):
    if not (PROGRAMS / "exceptions").exists():
        pytest.skip("no C++ in this build")
    report = box.same("exceptions").report
    assert report.row("attempt").calls == 200
    assert report.row("app::Parser::parse").calls == sum(i % 5 + 1 for i in range(200))
    assert report.row("inside parse").calls == sum(i % 5 for i in range(200))
    assert report.row("Closer::~Closer").calls == 200
    assert report.row("lambda").calls == 1 and report.row("expression").calls == 1
    assert any(name.startswith("app::twice") for name in report.names())
    assert report.lost == {}


def test_measured_expressions(box):
    """Values, types and lifetimes as without, each evaluated once, and each zone around only its own expression."""
    report = box.same("expressions").report
    assert {name: report.row(name).calls for name in ("literal", "given away", "outer", "comma", "no value",
                                                      "by value")} == {
        "literal": 1, "given away": 1, "outer": 10, "comma": 10, "no value": 10, "by value": 10}
    main = report.row("main", "calltree")
    outer = main.child("outer")
    assert outer.child("once").calls == 10 and outer.child("middle").child("inner").child("once").calls == 10
    assert main.child("given away").child("keep").calls == 1
    assert main.child("statements").child("inside").calls == 10
    assert main.child("no value").child("once").calls == 10
    assert report.lost == {}


@with_cxx
def test_measured_expressions_of_cxx(box):
    report = box.same("expressions_cxx").report
    main = report.row("main", "calltree")
    for name in ("temporary", "extended", "kept", "dropped", "left", "right"):
        assert [child.name.split("::")[-1] for child in main.child(name).children] == ["make"], name
    assert main.child("throws").calls == 10 and main.child("no value").calls == 10 and main.child("last").calls == 2
    assert main.child("in a template").child("and inside").calls == 10
    assert "never reached" not in report.names() and "value" not in report.names()
    assert report.lost == {}


@without_sanitizer("the guard is not initialised by design")
def test_goto_and_switch_over_the_macro(box):
    report = box.same("jumps").report
    assert report.row("after").calls == 100
    assert report.row("again").calls == 30 and report.row("left by goto").calls == 30
    for row in report.rows():
        if row.name == "jumped over":
            assert row.calls == 10000
        if row.name == "in a switch":
            assert row.calls == 5000
    assert report.row("block").calls == 5000 and report.row("keyed[key]").calls == 5000
    polled, run = report.row("polled", "tasks"), report.row("run", "tasks")
    assert (polled.polls, polled.misused) == (5000, 0)
    assert (run.polls, run.calls, run.open, run.misused) == (5000, 5000, 0, 0)
    channel = report.row("channel", "channels")
    assert (channel.full_waits, channel.empty_waits) == (5000, 5000)
    assert report.row("loop", "loops").waits == 5000
    assert report.row("stream", "streams").produced_ns > 0
    assert report.lost == {}


@with_glibc("musl has no ucontext")
@pytest.mark.parametrize("case", ["turn", "elsewhere", "abandoned", "reused"])
def test_coroutines(box, case):
    """No crash, the same sums, and everything that runs to its end on its own thread is counted."""
    report = box.same("coroutines", case).report
    assert report.row("after").calls == 50
    name = {"turn": "in_turn", "elsewhere": "elsewhere", "abandoned": "abandoned", "reused": "reused"}[case]
    assert report.row(name).calls == 100 and report.row(name).open == 0
    steps = {"turn": 600, "elsewhere": 300, "abandoned": 100, "reused": 1000}[case]
    assert report.row("before the switch").calls == steps


# -------------------------------------------------------------------------------------------------- signals

@without_emulator("timers that fast starve an emulator")
@pytest.mark.parametrize("case, count", [
    *(pytest.param("storm", count, marks=[*more, without_thread_sanitizer("timers that fast starve it")])
      for count, more in ((4000, []), (20000, [full]))),
    pytest.param("nested", 2000, marks=without_thread_sanitizer(
        "now and then it leaves all signals blocked after handlers that raise others, unmeasured too"))])
def test_zones_in_signal_handlers(contradictory, box, case, count):
    if SANITIZER:
        count //= 10
    result = box.run("signals", case, count)
    told = result.told
    assert told["handled"] >= count
    if case == "storm":
        assert result.calls("on_signal") == result.calls("in_handler") == told["handled"]
    else:
        assert result.calls("on_first") == told["handled"]
        assert result.calls("on_second") == told["nested"] == told["handled"]
        assert result.calls("on_third") == told["inner"] == told["handled"]
    assert result.calls("tiny") == told["tiny"]
    assert result.calls("nest") == told["nest"]
    assert result.report.lost == {}


def interrupted(box, program, case, number, env=None, **popen):
    process = box.start(program, case, env=env, **popen)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    return box.finish(process)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("case", ["default", "busy"])
def test_report_and_death_by_signal(box, case, number):
    plain = interrupted(box, "interrupts_off", case, number)
    result = interrupted(box, "interrupts", case, number)
    assert result.status == plain.status == -number
    if case == "default":
        assert result.calls("work") == 12
    assert result.row("wait_for_signal").open == 1
    assert result.row("main").percent_total == pytest.approx(100)


@pytest.mark.parametrize("case", ["before", "after"])
def test_own_handlers_are_left_alone(box, case):
    plain = interrupted(box, "interrupts_off", case, signal.SIGINT)
    result = interrupted(box, "interrupts", case, signal.SIGINT)
    assert (result.status, result.stdout) == (plain.status, plain.stdout) == (11, "caught 2\n")
    assert result.row("wait_for_signal").open == 0


def test_ignored_signals_stay_ignored(box):
    result = interrupted(box, "interrupts", "ignored", signal.SIGINT)
    assert (result.status, result.stdout) == (11, "caught 0\n")
    assert result.calls("work") == 12


def test_leave_signals(box):
    result = interrupted(box, "interrupts", "default", signal.SIGINT, env={"HOTPATH_LEAVE_SIGNALS": "1"})
    assert result.status == -signal.SIGINT
    assert not result.report_path.exists()
    assert box.read(result.sessions()[0]).row("work").calls == 12


def test_shutdown_ms(box):
    begun = time.monotonic()
    result = box.run("interrupts", "default", env={"HOTPATH_SHUTDOWN_MS": "300"})
    assert time.monotonic() - begun < 6  # the program alone waits eight seconds
    assert result.calls("work") == 12 and result.row("wait_for_signal").open == 1


# --------------------------------------------------------------------------------------------- cancellation

@pytest.mark.parametrize("where", ["function", "zone", "report", "restart"])
@pytest.mark.parametrize("way", ["alone", "in a run"])
def test_cancelled_in_the_recorder(box, where, way):
    """A thread that was cancelled ends in the program, never inside the recorder, which others would wait for."""
    if way == "in a run" and SANITIZER:
        pytest.skip("what is preloaded has no sanitizer")
    if way == "in a run" and EMULATOR:
        pytest.skip("hotpath run starts programs of the machine below")
    command = [PROGRAMS / "cancelled", where]
    if way == "in a run":
        command = [HOTPATH, "run", "--format", "none", "--", *command]
    result = box.run(*command, env={"HOTPATH": "1", "HOTPATH_OUTPUT_PATH": "/dev/null"})
    assert result.stdout == "done, cancelled\ndone again\n"


# ------------------------------------------------------------------------------------------------- children

@without_sanitizer("it has thread-local storage of its own")
@without_emulator("it does not make such processes")
def test_processes_that_share_thread_local_storage(contradictory, box):
    """If they were noticed, zones are lost, and counted, as is a zone that the other has begun later than this one
    ended it; if not, they never met."""
    for _ in range(5):
        report = box.same("clone_vm").report
        assert set(report.lost) <= {"zones", "abandoned", "clock"}
        assert report.row("main").calls == 1


@pytest.mark.parametrize("way", ["fork", "_Fork", "clone", "spawn", "vfork", "daemon"])
def test_children_of_a_threaded_process(box, way):
    if "thread" in SANITIZER and way in ("_Fork", "clone"):
        pytest.skip("not with ThreadSanitizer: it does not survive a fork that it does not see")
    if EMULATOR and way in ("_Fork", "clone"):
        pytest.skip("not under an emulator: it only pretends to empty pages in a child")
    if EMULATOR and way in ("spawn", "vfork"):
        pytest.skip("not under an emulator: what is executed would need one as well")
    result = box.same("children", way, env={"HOTPATH_KEEP": "1000"})
    assert "died" not in result.stdout
    assert result.status == 4
    report = result.report
    assert report.row("busy").calls == result.aside["busy"]
    assert report.row("one").calls == 20
    assert "in_child" not in report.names()
    assert report.lost == {}
    sessions = {path: box.read(path) for path in result.sessions() if not path.name.startswith(f"{result.pid}-")}
    per_child = {"spawn": [3], "vfork": [3], "daemon": [1, 1]}.get(way, [7])
    assert sorted(report.calls("in_child") for report in sessions.values()) == sorted(per_child * 20)
    for child in sessions.values():
        assert child.calls("busy") == 0
        assert child.values["meta"]["parent_pid"] != child.values["meta"]["pid"]


@pytest.mark.parametrize("case, in_child, in_parent", [("key", "keyed[child]", "keyed[parent]"),
                                                       ("function", "only_in_child", "only_in_parent")])
def test_new_sites_of_a_child_are_not_in_the_parent(box, case, in_child, in_parent):
    result = box.run("late_sites", case)
    report = result.report
    assert report.row(in_parent).calls == 2 and in_child not in report.names()
    children = [box.read(path) for path in result.sessions() if not path.name.startswith(f"{result.pid}-")]
    assert [child.calls(in_child) for child in children] == [1]
    assert in_parent not in children[0].names()


@without_emulator("what is executed would need one as well")
def test_exec_of_itself(box):
    result = box.same("children", "exec")
    assert result.calls("in_child") == 3
    counts = [box.read(path).calls("in_child") for path in result.sessions()]
    assert sorted(counts) == [2, 3]


# --------------------------------------------------------------------------------------------- dlopen and dlclose

@pytest.mark.parametrize("plugin", ["plugin.so", "plugin_static.so"])
def test_reopened_plugin(box, plugin):
    result = box.same("host", PROGRAMS / plugin)
    report = result.report
    assert (report.row("plugin_work").calls, report.row("plugin_inner").calls) == (200, 400)
    assert report.row("use").calls == 100
    use = report.row("main", "calltree").child("use")
    assert use.child("plugin_work").child("plugin_inner").calls == 400
    assert report.lost == {}


@pytest.mark.parametrize("plugin", ["plugin.so", "plugin_static.so"])
def test_measured_library_in_an_unmeasured_program(box, plugin):
    quiet = box.run("host_off", PROGRAMS / plugin)
    assert quiet.stderr == "" and not quiet.report_path.exists() and quiet.sessions() == []
    result = box.run("host_off", PROGRAMS / plugin, env={"HOTPATH": "1"})
    assert result.stdout == quiet.stdout
    assert (result.row("plugin_work").calls, result.row("plugin_inner").calls) == (200, 400)
    assert len(result.sessions()) == 1


@without_sanitizer("two copies of the library are two of each instrumented variable")
@pytest.mark.parametrize("program, first, second", [
    ("copies", "plugin.so", "plugin_two.so"),
    ("copies", "plugin_static.so", "plugin_two_static.so"),
    ("copies_static", "plugin.so", "plugin_two.so"),
    ("copies_static", "plugin_static.so", "plugin_two.so"),
    ("copies_static", "plugin_static.so", "plugin_two_static.so"),
])
@pytest.mark.parametrize("preloaded", [None, "libhotpath_preload.so"])
def test_copies_of_the_library_share_one_session(box, program, first, second, preloaded):
    """Also with one more in front, as under hotpath run."""
    result = box.run(program, PROGRAMS / first, PROGRAMS / second,
                     env={"LD_PRELOAD": preloaded and str(BUILD / "lib" / preloaded)})
    report = result.report
    calls = {name: report.row(name).calls for name in report.names()}
    assert calls == {"main": 1, "across": 8, "plugin_call": 8000, "between": 8000, "second_call": 8000,
                     "innermost": 8000}
    assert len(result.sessions()) == 1
    # Nested zones find their parents in any copy of the library.
    across = report.row("main", "calltree").child("across")
    chain = across.child("plugin_call").child("between").child("second_call").child("innermost")
    assert chain.calls == 2000
    assert report.row("across").threads == 7
    assert report.lost == {}


# ------------------------------------------------------------------------------------------- before and after main

@pytest.mark.parametrize("case, status", [("return", 7), ("exit", 6), ("quick_exit", 8), ("_exit", 9)])
def test_constructors_destructors_atexit(box, case, status):
    result = box.same("lifetimes", case)
    assert result.status == status
    if case in ("return", "exit"):
        for name in ("work", "at_exit", "after_main", "long_after_main"):
            assert result.calls(name) == 1, name
        assert result.row("main").open == (case == "exit")
        assert result.calls("before_main") == 0  # there was no session yet
    else:
        assert box.read(result.sessions()[0]).row("work").calls == 1


def test_constructors_are_recorded_on_request(box):
    result = box.same("lifetimes", "return", env={"HOTPATH": "1"})
    assert result.calls("before_main") == 1 and result.calls("work") == 1
    assert result.row("main").percent_total == pytest.approx(100)
    assert len(result.sessions()) == 1


# --------------------------------------------------------------------------------------------- threads that end

@without_thread_sanitizer("pthread_exit in main hangs there, unmeasured too")
def test_pthread_exit_in_main(box):
    result = box.same("thread_ends", "main")
    assert result.calls("work") == 150 and result.row("slow_worker").threads == 3


def test_detached_threads_at_exit(box):
    result = box.same("thread_ends", "detached")
    assert result.row("endless").open == 4 and result.calls("work") > 0


@without_sanitizer("cancellation in the middle of its runtime")
@pytest.mark.parametrize("case", ["deferred", "asynchronous"])
def test_cancellation(box, case):
    result = box.same("thread_ends", case)
    assert result.calls("work") >= 50
    for row in result.report.rows():
        if row.name != "main":
            assert row.open == 0, row


@without_thread_sanitizer("it no longer follows a thread that late")
def test_zones_in_destructors_of_thread_data(box):
    result = box.same("thread_ends", "destructors")
    assert result.calls("on_thread_end") == 200 and result.calls("work") == 250
    assert result.row("on_thread_end").threads == 100
    assert result.report.lost == {}


@without_thread_sanitizer("it no longer follows a thread that late")
def test_first_zone_of_a_thread_in_a_late_destructor(box):
    """Too late for a thread to report its end; its record must still be found free."""
    result = box.same("thread_ends", "late")
    assert result.calls("work") + result.report.lost.get("zones", 0) >= 1000
    assert real_bytes(result.sessions()[0]) <= 256 << 10


# ------------------------------------------------------------------------------------------------ space and limits

# ------------------------------------------------------------------------------------------------- descriptors

@pytest.mark.parametrize("case", ["closefrom", "early-closefrom"])
def test_closefrom_and_own_files(box, case):
    own = box.folder()
    result = box.same("workload", case, own)
    check_workload(result)
    assert [path.read_text() for path in sorted(own.iterdir())] == ["mine\n"] * 3


@pytest.mark.parametrize("case", ["closeall", "early-closeall", "stderr-to-file"])
def test_nothing_is_written_to_a_reused_stderr(box, case):
    """The descriptor that was stderr at the start is now the host's own file."""
    own = box.folder()
    result = box.same("workload", case, own, env=TABLE_ON_STDERR)
    files = [path.read_text() for path in sorted(own.iterdir())]
    if case == "early-closeall":
        files[0] = files[0][:5]  # when the session began, this file was the stderr
    assert files == ["mine\n"] * 3
    assert result.stderr == ""


@pytest.mark.parametrize("case", ["stderr-closed", "early-stderr-closed"])
def test_closed_stderr(box, case):
    assert box.same("workload", case, "/tmp", env=TABLE_ON_STDERR).status == 42


def test_broken_pipe(box):
    for restore in (True, False):  # SIGPIPE at default, and ignored
        reader, writer = os.pipe()
        os.close(reader)
        result = box.same("workload", env=TABLE_ON_STDERR, stderr=writer, restore_signals=restore)
        os.close(writer)
        assert result.status == 42


@pytest.mark.parametrize("case", ["stderr-nonblocking", "early-stderr-nonblocking"])
def test_full_pipe_that_does_not_block(box, case):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        pass
    assert box.same("workload", case, "/tmp", env=TABLE_ON_STDERR, stderr=writer, timeout=30).status == 42
    os.close(reader)
    os.close(writer)


def test_errno_descriptors_and_signal_mask_are_kept(box):
    result = box.same("keeps")
    assert result.stdout.startswith("changes 0\ndescriptors as before\n")


# --------------------------------------------------------------------------------------------- rights and sandboxes

@needs_root
@without_emulator("binfmt has its own idea of setuid")
def test_setuid_programs_are_not_recorded(box):
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        folder.chmod(0o755)
        program = folder / "workload"
        shutil.copy(PROGRAMS / "workload_static", program)
        program.chmod(0o4755)  # root's rights for every user
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip("/tmp is mounted nosuid")
        result = box.run(program, env={"HOTPATH": "1", "HOTPATH_OUTPUT_FORMAT": "table"}, status=42, user=65534)
        assert result.stdout == box.run("workload_off", status=42).stdout
        assert result.sessions() == [] and result.stderr == "" and not result.report_path.exists()
        program.chmod(0o755)
        assert box.run(program, env={"HOTPATH_OUTPUT_PATH": None}, status=42, user=65534).stderr != ""
    finally:
        shutil.rmtree(folder)


@needs_root
def test_chroot_after_start(box):
    """The session's path means another place now: nothing may be created there, and the numbers stay right."""
    root = box.folder()
    result = box.same("workload", "chroot", root, env=TABLE_ON_STDERR)
    assert list(root.iterdir()) == []
    assert "timing" in result.stderr


@without_emulator("seccomp would sandbox the emulator")
@without_sanitizer("its runtime makes system calls of its own")
@pytest.mark.parametrize("mode", ["filter", "new", "strict"])
def test_seccomp(box, mode):
    if mode == "strict" and platform.machine() in ("x86_64", "i686"):
        pytest.skip("strict seccomp on x86 forbids reading any clock, the host's too")
    result = box.same("sandbox", mode, env={"HOTPATH_RESERVE": "1", "HOTPATH_MAX_BYTES": "8M"})
    if result.status == 77:
        pytest.skip("no seccomp here")
    assert result.status == 23, end(result.status)
    report = box.read(result.sessions()[0])
    assert report.row("fib").calls == 15 + 1973
    before = 0 if mode == "new" else 4
    assert report.row("dive").calls == 301 + before and report.row("diving").calls == 300 + max(0, before - 1)
    assert report.lost == {}


# --------------------------------------------------------------------------------------------------------- heap

@without_sanitizer("it has a malloc of its own")
@pytest.mark.parametrize("program", ["heap", "heap_static"])
def test_no_malloc(box, program):
    result = box.run(program, "count", env=TABLE_ON_STDERR, status=17)
    assert result.stdout == "inside 0\nend\n"
    assert "work" in result.stderr and "calltree" in result.stderr


@without_sanitizer("it has a malloc of its own")
def test_malloc_failing_at_the_nth_call_for_all_n(box):
    for n in range(12):
        box.same("heap", "fail", n, env=TABLE_ON_STDERR)
