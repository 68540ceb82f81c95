"""Ownership of a session: reports, ends and starts on several threads, children that share the memory, jumps."""
import platform

import pytest

from harness import EMULATOR, SANITIZER, when_optimised, with_glibc, without_emulator, without_sanitizer

TO_NOWHERE = {"HOTPATH_OUTPUT_PATH": "/dev/null"}


@pytest.mark.parametrize("format", ["json", "table"])
def test_everything_at_once(box, format):
    """Report, stop, start, pools, keys, notes and threads that come and go. A sanitizer, if there is one, finds
    nothing."""
    result = box.run("owners", "storm", 60 if not SANITIZER else 16,
                     env=TO_NOWHERE | {"HOTPATH_OUTPUT_FORMAT": format, "HOTPATH_KEEP": "5"})
    assert result.stdout == "begun some\n"
    assert "Sanitizer" not in result.stderr


@without_sanitizer("it would take long")
@pytest.mark.parametrize("more", [{"HOTPATH_MAX_BYTES": "262144"}, {"HOTPATH_WAITS": "1"}],
                         ids=["small", "watched"])
def test_everything_at_once_while_samples_come(box, more):
    """Sessions without space for all threads, and threads of our own that start."""
    result = box.run("owners", "storm", 60, env=TO_NOWHERE | more | {
        "HOTPATH_KEEP": "5", "HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "10000"})
    assert result.stdout == "begun some\n"


def test_session_starts_while_another_thread_stops_one(box):
    """The report of the session that ends reads it while the next one is created."""
    result = box.run("owners", "apart", 20 if not SANITIZER else 4, env=TO_NOWHERE)
    assert result.stdout == "survived\n"


@without_emulator("its own memory is among it")
def test_200_sessions_leak_nothing(box):
    result = box.run("owners", "leak", 200)
    assert result.told["left_kb"] <= 1024


def test_reporter_leaves_by_longjmp(box):
    """From any depth of the stack: the next one is called as well, and the end has its report."""
    result = box.run("owners", "jump")
    assert result.stdout == "jumped 6\nreport 0\nstop 0\nreports 7\n"
    assert result.calls("work") == 1


def test_reporter_requests_a_report(box):
    """It gets some, but recursion is limited."""
    result = box.run("owners", "inside")
    assert result.stdout == "report 0\ninside -1\nended 1\n"


def test_reporter_and_context_are_a_pair(box):
    assert box.run("owners", "pair", 2000 if not SANITIZER else 200).told == {"mismatches": 0}


@without_sanitizer("it needs addresses itself")
@without_emulator("it has the address space")
def test_report_without_memory(box):
    result = box.run("owners", "nothing")
    assert result.stdout == "report -5\nstop 0\n"
    assert result.lines == [f"hotpath: no memory for the report; to see it: hotpath report {result.sessions()[0]}"]
    assert result.calls("work") == 1


def test_reporter_that_forks(box):
    """In the child the report goes on and another session has begun: they are separate."""
    assert box.run("owners", "forking", timeout=60).stdout == "child 0\n"


@pytest.mark.parametrize("case, told", [("term", "signal 15\n"), pytest.param(
    "exit", "exit 3\n", marks=with_glibc("musl's own exit waits for ever for the one of the child"))])
def test_child_of_vfork_ends(box, case, told):
    """The session is the parent's, which goes on. After exit() the C library believes that its destructors have
    run."""
    result = box.same("vforked", case)
    assert result.stdout == told
    report = box.read(result.sessions()[0])
    assert report.calls("work") == 101 and len(result.sessions()) == 1
    assert case == "exit" or result.calls("work") == 101


@without_emulator("it forks instead of vfork, while other threads hold locks")
@without_sanitizer("ThreadSanitizer has its own idea of threads after vfork")
def test_children_of_vfork_in_threads_without_zones(box):
    """They are not threads of the process, so they get no record, which would be shared with the next one."""
    result = box.same("vforked", "threads")
    assert result.stdout == "done\n"
    assert result.calls("dive") == 32 * sum(i % 40 + 1 for i in range(2000))
    assert result.calls("work") == 0 and result.report.lost == {"zones": 16}


@pytest.mark.parametrize("case", ["jumps", pytest.param("thread", marks=when_optimised(
    "the program finds the place to jump from in optimised code only"))])
@pytest.mark.skipif(platform.machine() != "x86_64" or bool(EMULATOR),
                    reason="the frame of a signal is known on x86-64 only")
@without_sanitizer("AddressSanitizer has guards in memory of its own")
def test_jumps_out_of_the_middle_of_the_recorder(box, case):
    """Nothing uses the thread's context any more, and the next zone notices that, in any function. If the frame of
    a finished signal is still on the stack, a zone may be lost, and the next one notices."""
    result = box.run("left_midway", case)
    assert result.status == 0, result.stdout
    recorded = {name: result.calls(name) for name in ("leaf", "in_handler", "dive")}
    deep = result.report.lost.get("depth", 0)
    assert sum(recorded.values()) + deep == (1 + 1 + 2 * 100 + 1000) + 100 + 50 * 21
    assert result.report.lost.keys() <= {"abandoned", "depth"} and deep <= (0 if result.told["optimised"] else 10)


@without_sanitizer("AddressSanitizer has guards in memory of its own")
def test_handlers_that_return_to_the_middle_of_the_recorder(box):
    result = box.run("left_midway", "returns")
    assert result.status == 0, result.stdout
    assert result.calls("leaf") == 4 and result.calls("in_handler") == 6 and result.report.lost == {}
    assert result.calls("dive") == 3 * (21 + 1)


@without_sanitizer("it takes longer for a zone than the storm leaves")
def test_recursion_is_counted_after_a_storm_of_jumps(box):
    told = box.run("jump_storm").told
    assert told["jumps"] > 0
    assert told["total_ns"] >= 0.9 * told["took_ns"]
