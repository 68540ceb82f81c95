"""hotpath record: running processes that know nothing of it."""
import json
import os
import pathlib
import platform
import pwd
import re
import signal
import subprocess
import time

import pytest

from command import Cli
from harness import (HOTPATH, IS_ROOT, PROGRAMS, WITHOUT_PERF, Report, perf_is_allowed, with_glibc,
                     without_emulator, without_sanitizer)

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]
needs_perf = pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")

WAITERS, STACKED = PROGRAMS / "waiters", PROGRAMS / "stacked"
PATIENCE = 60


def may_be_read():
    """If Yama restricts ptrace, only their parents may observe processes."""
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    return IS_ROOT or not scope.exists() or scope.read_text().strip() == "0"


@pytest.fixture
def cli(box):
    return Cli(box)


@pytest.fixture
def start():
    """Starts a foreign program, and ends it."""
    started = []

    def run(*args, **popen):
        process = subprocess.Popen([str(arg) for arg in args], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   **popen)
        started.append(process)
        return process
    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()


def until(is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def threads_wait(process, count):
    """All of them are there, and are in a system call."""
    def is_so():
        tasks = os.listdir(f"/proc/{process.pid}/task")
        calls = [open(f"/proc/{process.pid}/task/{task}/syscall").read() for task in tasks]
        return len(tasks) == count and not any(call.startswith("running") for call in calls)
    until(is_so)


def record(cli, *args, **how):
    path = cli.folder / "record.json"
    done = cli("record", "--format", "json", "--output", path, "--section", "all", "--limit", "0", *args, **how)
    done.report = Report(json.loads(path.read_text()))
    return done


def rows(report, program):
    return {row.name: row for row in report.rows("functions") if row.library == program.name}


def test_waiting_threads(cli, start):
    process = start(WAITERS, "all", 600_000)
    if not may_be_read():
        pytest.skip("processes of others may not be looked at here")
    threads_wait(process, 4)
    report = record(cli, "-p", process.pid, "--for", "500ms").report
    found = rows(report, WAITERS)
    for name, cause in (("on_pipe", "pipe"), ("on_mutex", "lock"), ("on_condition", "condition"),
                        ("on_sleep", "sleep")):
        assert found[name].waits_for == cause
        assert found[name].waiting_ns == sum(row.waited_ns for row in report.rows("waits")
                                             if row.cause == cause) > 0
    assert process.poll() is None  # and has noticed nothing
    assert cli.read().values["sections"]["functions"] == report.values["sections"]["functions"]


@needs_perf
def test_computing_threads(cli, start):
    """Threads that exist already, until the process ends."""
    process = start(STACKED, "threads", 500)
    until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) > 1)
    report = record(cli, "--pid", process.pid).report
    process.wait()
    found = rows(report, STACKED)
    assert found["outer"].total_ns >= found["heavy"].total_ns + found["light"].total_ns > 0
    assert found["heavy"].total_ns > found["light"].total_ns
    assert found["in_thread"].total_ns >= found["outer"].total_ns
    of = report.values["sections"]["functions"]["totals"]
    assert of["whole"] >= 0.98 * of["samples"] > 0


def used_ns(process):
    """CPU time of its main thread, by the kernel."""
    return int(pathlib.Path(f"/proc/{process.pid}/schedstat").read_text().split()[0])


@needs_perf
@pytest.mark.parametrize("ms, is_idle", [(10, True), (150, False)])
def test_idle_and_busy_shares(cli, start, ms, is_idle):
    """Computing is not idle, although the program waits for events again and again."""
    process = start(WAITERS, "idle", ms)
    if not may_be_read():
        pytest.skip("processes of others may not be looked at here")
    until(lambda: used_ns(process) > 2 * ms * 1_000_000)
    begin, used = time.monotonic_ns(), used_ns(process)
    report = record(cli, "-p", process.pid, "--for", "2s").report
    busy = 100 * (used_ns(process) - used) / (time.monotonic_ns() - begin)
    functions = report.values["sections"]["functions"]["totals"]
    elapsed = report.values["elapsed_ns"]
    assert abs(100 * functions["cpu_ns"] / elapsed - busy) <= 5
    assert abs(100 * rows(report, WAITERS)["answer"].total_ns / elapsed - busy) <= 5
    idle = re.match(r"Idle for (\d+) %", report.values["meta"]["headline"])
    assert bool(idle) == is_idle, report.values["meta"]["headline"]
    polls = 100 * rows(report, WAITERS)["on_poll"].waiting_ns / elapsed
    starved = 100 * sum(row.waited_ns for row in report.rows("waits") if row.cause == "run queue") / elapsed
    for share in [polls, int(idle.group(1))] if is_idle else [polls]:  # idle: time without a CPU after that, too
        assert 95 - busy - starved <= share <= 105 - busy, (share, busy, starved)


def test_without_perf(cli, start):
    """The report says so, with a remedy, and the rest is recorded."""
    process = start(WAITERS, "input")
    if not may_be_read():
        pytest.skip("processes of others may not be looked at here")
    threads_wait(process, 1)
    cli.before = WITHOUT_PERF
    done = record(cli, "-p", process.pid, "--for", "300ms")
    assert done.stderr.startswith("hotpath: CPU time is not sampled: ")
    assert rows(done.report, WAITERS)["on_input"].waits_for == "pipe"


def test_records_until_interrupted(cli, start):
    process = start(WAITERS, "input")
    threads_wait(process, 1)
    recording = cli.start("record", "-p", process.pid)
    until(lambda: list(cli.folder.rglob(f"{process.pid}-*")))
    recording.send_signal(signal.SIGINT)
    stdout, stderr = recording.communicate(timeout=PATIENCE)
    assert recording.returncode == 0, stderr
    assert stdout.startswith(f"pid {process.pid}: {WAITERS} input, started ")
    assert process.poll() is None


def test_the_console_shows_it_as_live(cli, start):
    """The process does not know of its session: the one that records it holds a lock on it."""
    process = start(WAITERS, "input")
    threads_wait(process, 1)
    recording = cli.start("record", "-p", process.pid)

    def first_line():
        return cli("console", "--once", str(process.pid), env={"LC_ALL": "C.UTF-8"}).stdout.split("\n")[0]
    until(lambda: [path for path in cli.folder.rglob(f"{process.pid}-*") if path.stat().st_size > 0])
    assert "● live" in first_line()
    recording.kill()
    recording.communicate(timeout=PATIENCE)
    assert "■ recording broken off after 0:" in first_line()  # the process goes on
    assert process.poll() is None
    cli("record", "-p", process.pid, "--for", "100ms")
    assert "■ recorded for 0:00" in first_line()


def test_invalid_targets(cli, start):
    process = start("true")
    process.wait()
    assert "no process" in cli("record", "-p", process.pid, status=1).stderr
    for args, word in (((), "missing"), (("-p", "x"), "not a process id"),
                       (("-p", "1", "--for", "soon"), "is not a time"),
                       (("-p", "1", "ls"), "unexpected argument 'ls'")):
        assert word in cli("record", *args, status=2).stderr


@pytest.mark.skipif(not IS_ROOT, reason="only root can be somebody else")
def test_process_of_another_user_is_refused(cli, start):
    process = start(WAITERS, "input")
    nobody = pwd.getpwnam("nobody").pw_uid
    cli.box.path.chmod(0o711)
    os.chown(cli.folder, nobody, -1)
    cli.program = cli.box.for_everyone(HOTPATH)
    done = cli("record", "-p", process.pid, "--for", "100ms", status=1, user=nobody)
    assert done.stderr == f"hotpath: process {process.pid} belongs to another user: use sudo\n"
    assert not list(cli.folder.glob("*.run"))
