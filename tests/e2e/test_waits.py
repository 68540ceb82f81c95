"""What threads waited for: programs that wait for a known thing, in a known function, for a time they know."""
import json
import os
import pwd
import signal
import subprocess
import threading
import time

import pytest

from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import (BUILD, HOTPATH, IS_ROOT, PROGRAMS, Report, between, with_glibc, without_emulator,
                     without_sanitizer, without_thread_sanitizer)

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which waits, too")]

WAITS = PROGRAMS / "waits"
THREAD = PROGRAMS / "waits_thread"
MANY_LOOKS_NS = 200_000_000


def told(done):
    """What the program reported on stderr."""
    pairs = (line.split(" ") for line in done.stderr.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def rows_of(report, name=None, cause=None):
    return [row for row in report.rows("waits")
            if (name is None or row.name == name) and (cause is None or row.cause == cause)]


def sum_of(rows):
    return sum(row.waited_ns for row in rows)


def queued(report):
    return sum_of(rows_of(report, cause="run queue"))


CASES = {
    "sleep": ("sleep", ("nanosleep", "clock_nanosleep"), ""),
    "poll": ("poll", ("poll", "ppoll", "ppoll_time64"), ""),
    "signal": ("signal", ("rt_sigtimedwait", "rt_sigtimedwait_time64"), ""),
    "child": ("child", ("wait4", "waitid", "waitpid"), ""),
    "pipe": ("pipe", ("read",), "pipe:["),
    "fifo": ("pipe", ("open", "openat"), "/tmp/hotpath-waits-"),
    "socket": ("socket", ("read",), "unix socket"),
    "tcp": ("socket", ("read",), "tcp 127.0.0.1:"),
    "udp": ("socket", ("read",), "udp at 127.0.0.1:"),
    "terminal": ("terminal", ("read",), "/dev/pts/"),
    "lock": ("lock", ("futex", "futex_time64"), ""),
    "busy": ("child", ("wait4", "waitid", "waitpid"), "waits (busy)"),
}


def check_waited(report, name, cause, truth):
    """All waiting lies between two samples, so the sums are those of the program, less its CPU time in between."""
    found = rows_of(report, name, cause)
    assert found, f"{name} did not wait for {cause}: {report.rows('waits')}"
    # Only the main thread; others are outside all measured functions. The run queue is another matter.
    in_main = [row for row in rows_of(report) if row.name != "<outside>" and row.cause != "run queue"]
    longest = max(in_main, key=lambda row: row.waited_ns)
    waited = sum_of(found)
    assert longest.name == name and longest.cause == cause
    assert between(truth["inside"] - truth["cpu"] - truth["ready"], sum_of(in_main), truth["around"])
    assert waited <= truth["around"]
    assert 2 * waited > truth["inside"] - truth["cpu"] - truth["ready"]
    return longest


@pytest.mark.parametrize("case", CASES)
def test_cause(cli, case):
    cause, calls, what = CASES[case]
    done = cli.run("--no-children", "--", WAITS, case)  # they have their own waits
    longest = check_waited(done.report, f"in_{case}", cause, told(done))
    assert longest.call in calls
    assert (longest.what or "").startswith(what)
    assert longest.looks > 0
    assert longest.location["file"].endswith("waits.c")
    totals = done.report.section("waits")["totals"]
    assert totals["left_out_ns"] == 0 and totals["watched_processes"] == 1 and totals["unwatched_threads"] == 0
    assert 0 <= totals["waited_ns"] - totals["misplaced_ns"] - sum_of(rows_of(done.report)) < 1000
    assert totals["waited_ns"] <= totals["watched_ns"]


# Waits for a resource that another thread holds or provides, and where that thread is reported to be.
KINDS = {"mutex": ("lock", True), "recursive": ("lock", True), "robust": ("lock", True),
         "inheriting": ("lock", True), "timed_mutex": ("lock", True), "read": ("lock", True),
         "write": ("lock", True), "condition": ("condition", False),
         "timed_condition": ("condition", False), "semaphore": ("semaphore", False),
         "timed_semaphore": ("semaphore", False), "barrier": ("barrier", False), "thread": ("thread", True),
         "client": ("client", False)}
UNOWNED = {"mutex", "timed_mutex", "read", "write"}  # with musl, which does not record the owner


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_waiting(cli, kind):
    """Ways to wait for another thread are distinguished, and followed to that thread if memory tells which it
    is."""
    cause, is_followed = KINDS[kind]
    done = cli.run("--", PROGRAMS / "futexes", kind)
    found = [row for row in rows_of(done.report, "waiter") if row.cause != "run queue"]
    longest = max(found, key=lambda row: row.waited_ns)
    assert longest.cause == cause, found
    assert 2 * longest.waited_ns > sum_of(found)
    if os.environ.get("HOTPATH_IS_GLIBC", "1") == "" and kind in UNOWNED:
        is_followed = False
    if is_followed:
        assert longest.other == "holder"
        assert longest.what == ("held in holder" if cause == "lock" else "in holder")
    else:
        assert longest.other is None


def test_page_fault(cli):
    """Pages that another thread has to provide, so that it is known how long that takes."""
    done = cli.run("--", WAITS, "fault")
    truth = told(done)
    if "refused" in truth:
        pytest.skip(f"no userfaultfd here: {os.strerror(truth['refused'])}")
    longest = check_waited(done.report, "in_fault", "page fault", truth)
    assert longest.call is None and not longest.what


CROWD = """mkfifo gate; exec 3<>gate
for n in $(seq {count}); do {program} crowd unwatched <gate 3>&- & done
while test $(ls "$HOTPATH_DIR" | grep -c 'hotpath$') -lt {count}; do sleep 0.05; done
while ! test -e open; do sleep 0.05; done
exec 3>&-; wait"""


def open_gate(cli, places, enough_ns):
    """Once so many have been seen waiting for so long, and others were found to have no place."""
    def is_seen():
        values = cli("report", "--format", "json", "--section", "waits", "--limit", "0", status=None).stdout
        report = Report(json.loads(values)) if values else None
        totals = report.section("waits")["totals"] if report and report.rows("waits") else None
        return (totals is not None and totals["watched_processes"] >= places and totals["unwatched_threads"] > 0
                and sum_of(rows_of(report, "in_crowd", "pipe")) > enough_ns)
    try:
        wait_until(is_seen)
    finally:
        (cli.folder / "open").touch()


def test_more_processes_than_are_watched(cli):
    """All of them wait at the same time. Some have no place, which is reported, and nothing else is wrong with
    them."""
    count, places = 140, 128
    gate = threading.Thread(target=open_gate, args=(cli, places, places * MANY_LOOKS_NS))
    gate.start()
    done = cli.run("--no-preload", "--", "sh", "-c", CROWD.format(count=count, program=WAITS),
                   env={"HOTPATH_KEEP": "200"})
    gate.join()
    assert done.stdout == "done crowd\n" * count
    assert sum(row.processes for row in done.report.rows("processes")) == count
    assert done.report.row("in_crowd").calls == count
    totals = done.report.section("waits")["totals"]
    assert places <= totals["watched_processes"] <= count
    assert 0 < totals["unwatched_threads"] <= count - places
    found = rows_of(done.report, "in_crowd", "pipe")
    assert sum_of(found) > places * MANY_LOOKS_NS


def file_system(path):
    return subprocess.run(["stat", "-f", "-c", "%T", str(path)], capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(file_system(BUILD) in ("tmpfs", "ramfs", ""), reason="no disk to wait for")
def test_disk(cli):
    path = BUILD / "waits-disk.tmp"
    try:
        done = cli.run("--", WAITS, "disk", path)
    finally:
        path.unlink(missing_ok=True)
    truth = told(done)
    waited = truth["inside"] - truth["cpu"] - truth["ready"]
    if waited < MANY_LOOKS_NS or truth["waits"] < 20 or waited / truth["waits"] < 1e6:
        pytest.skip("this disk answers too fast to be waited for, or to be seen: a look takes a part of a "
                    "millisecond")
    longest = check_waited(done.report, "in_disk", "disk", truth)
    assert longest.call == "fsync"
    assert str(path).endswith(longest.what)


def test_run_queue(cli):
    """Two others on the same CPU: what the kernel says was spent runnable is in the right function."""
    done = cli.run("--no-children", "--", WAITS, "queue")
    truth = told(done)
    assert truth["inside"] > 0
    found = sum_of(rows_of(done.report, "in_queue", "run queue"))
    assert between(truth["inside"], queued(done.report), truth["ready"] + truth["around"] - truth["cpu"])
    assert 2 * found > truth["inside"]
    assert found <= queued(done.report)


def test_stopped(cli):
    """hotpath stops with the program, and samples before that."""
    done = cli.run("--", WAITS, "stop")
    check_waited(done.report, "in_stop", "stopped", told(done))


def test_computing_is_not_waiting(cli):
    """A thread that always runs does not wait: only preemption is left."""
    done = cli.run("--", WAITS, "work", status=3)
    truth = told(done)
    found = rows_of(done.report, "in_work")
    assert all(row.cause in ("run queue", "page fault") for row in found), found
    waited = sum_of(row for row in rows_of(done.report) if row.cause != "run queue")
    assert waited <= truth["around"] - truth["cpu"]


def test_unreadable_system_calls(cli):
    """The kernel hides the system calls of such a process; the time and place of its waits are still known."""
    program, more = WAITS, {}
    if IS_ROOT:
        nobody = pwd.getpwnam("nobody").pw_uid
        cli.box.path.chmod(0o711)
        os.chown(cli.folder, nobody, -1)
        cli.program, program = cli.box.for_everyone(HOTPATH), cli.box.for_everyone(WAITS)
        more = {"user": nobody, "env": {"LD_LIBRARY_PATH": program.parent}}
    done = cli.run("--no-preload", "--", program, "hiding", **more)
    longest = check_waited(done.report, "in_sleep", "other", told(done))
    assert longest.call is None


@pytest.mark.parametrize("case,status", [("none", 0), ("sleep", 0), ("work", 3)])
def test_program_behaves_the_same(cli, case, status):
    plain = subprocess.run([str(PROGRAMS / "waits_off"), case], capture_output=True, text=True)
    watched = cli.run("--", WAITS, case, status=status)
    unwatched = cli.run("--no-waits", "--", WAITS, case, "unwatched", status=status)
    assert plain.returncode == status
    assert plain.stdout == watched.stdout == unwatched.stdout
    assert "waits" not in unwatched.report.values["sections"]


def test_killed(cli):
    done = cli.run("--", WAITS, "kill", status=-signal.SIGKILL)
    row = max(rows_of(done.report, "in_kill"), key=lambda row: row.waited_ns)
    inside = int(done.stdout.split()[1])
    assert row.cause == "sleep"
    # It is killed before another sample: all but what follows the last one is there, and what was unseen before the
    # first.
    assert inside < 2 * row.waited_ns and row.waited_ns <= done.report.values["elapsed_ns"]
    # The function in which it was killed has that time, although the process recorded nothing since it came there.
    assert 2 * done.report.row("in_kill").total_ns > row.waited_ns


@with_glibc("elsewhere nothing is preloaded into the shell")
@without_sanitizer("nothing is preloaded then")
def test_killed_without_functions(cli):
    """Only the observer knows how long it was there."""
    script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; kill -9 $$"
    done = cli.run("--", "sh", "-c", script, status=-signal.SIGKILL)
    assert done.report.values["elapsed_ns"] >= max(done.report.section("waits")["totals"]["watched_ns"], 1)


@with_glibc("elsewhere nothing is preloaded into sleep")
@without_sanitizer("nothing is preloaded then")
def test_table_has_causes_without_functions(cli):
    """All rows are <outside>, but each has a cause."""
    done = cli("run", "--section", "waits", "--", "sleep", "0.5")
    assert "| <outside> | sleep " in done.stderr


def test_many_short_processes(cli):
    script = "for n in $(seq 200); do {} none || exit 9; done".format(WAITS)
    done = cli.run("--no-preload", "--", "sh", "-c", script)
    assert done.stdout == "done none\n" * 200
    assert sum(row.processes for row in done.report.rows("processes")) == 200


def test_children_are_watched(cli):
    """Three processes at once, each with its own session."""
    script = "{0} sleep & {0} poll & {0} signal & wait".format(WAITS)
    done = cli.run("--no-preload", "--", "sh", "-c", script)
    for case in ("sleep", "poll", "signal"):
        assert rows_of(done.report, f"in_{case}", case), f"nothing of {case}"
    assert done.report.section("waits")["totals"]["watched_processes"] == 3


@pytest.mark.parametrize("when", ["later", "unwatched"])
def test_waits_after_exec_are_not_recorded(cli, when):
    """After exec the process has no session any more, and the old one gets nothing of what the next program does,
    whether or not it was sampled before."""
    done = cli.run("--no-preload", "--", WAITS, "exec", when)
    assert done.report.calls("in_exec") == 1
    is_watched = "waits" in done.report.values["sections"]
    assert is_watched or when == "unwatched"
    assert not is_watched or not rows_of(done.report, cause="sleep")


@without_sanitizer("the program may end by a signal that it would explain")
def test_truncated_session_file(cli):
    process = cli.start("run", "--", WAITS, "kill")
    session = None
    until = time.monotonic() + 20
    while session is None and time.monotonic() < until:
        found = list(cli.folder.glob("*.run/*.hotpath"))
        session = found[0] if found else None
    time.sleep(0.2)  # it sleeps by now
    os.truncate(session, 4096)
    time.sleep(0.1)
    size = session.stat().st_size
    process.communicate(timeout=60)
    assert size == 4096, "what was cut off came back"
    assert process.returncode in (-signal.SIGKILL, -signal.SIGBUS)


# --- a thread of the library

def run_thread(box, *args, env=None, **more):
    return box.run("waits_thread", *args, env={"HOTPATH_WAITS": "1", "HOTPATH_REPORT": "all"} | (env or {}), **more)


def test_observer_thread_records_waits(box):
    result = run_thread(box, "naps")
    naps = sum_of(rows_of(result.report, "nap", "sleep"))
    ready = sum_of(rows_of(result.report, "nap", "run queue"))  # after each, longer than it on a busy machine
    assert naps > sum_of(rows_of(result.report, "nap")) - naps - ready
    assert naps <= result.row("nap").total_ns + 1e9 * 0.01
    # It is not a thread of the program.
    assert result.report.values["meta"]["threads"] == 1
    assert [row.name for row in rows_of(result.report) if row.name == "<outside>"] == []


def test_observer_thread_matches_the_program(box):
    result = box.run("waits", "sleep", env={"HOTPATH_WAITS": "1"})
    check_waited(result.report, "in_sleep", "sleep", result.aside)


@pytest.mark.parametrize("case,says", [("restart", ("left", 1)), ("fork", ("children", 20)),
                                       ("user", ("changed", 20)), ("signals", ("caught", 50))])
def test_observer_thread_survives_changes_of_the_process(box, case, says):
    result = run_thread(box, case)
    assert result.told[says[0]] == says[1]


def has_close_range():
    release = os.uname().release.split(".")
    return (int(release[0]), int(release[1].split("-")[0])) >= (5, 9)


@pytest.mark.skipif(not has_close_range(), reason="this kernel gives no thread descriptors of its own")
def test_observer_thread_has_its_own_descriptors(box):
    result = run_thread(box, "files")
    assert result.told["watchers"] == 1
    assert result.told["sharing"] == 0


def test_no_observer_thread_under_run(cli):
    done = cli.run("--", WAITS, "sleep", env={"HOTPATH_WAITS": "1"})
    check_waited(done.report, "in_sleep", "sleep", told(done))
    assert done.report.values["meta"]["threads"] == 1


def test_no_observer_thread_with_reserve(box):
    result = run_thread(box, "naps", env={"HOTPATH_RESERVE": "1"})
    assert "waits" not in result.report.values["sections"]
