"""hotpath record: running processes that know nothing of it."""
import json
import os
import pathlib
import platform
import pwd
import re
import signal
import subprocess
import sys
import time

import pytest

from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import (HOTPATH, IS_ROOT, PROGRAMS, TIMEOUT, WITHOUT_PERF, Report, full, perf_is_allowed,
                     processes_may_be_read, with_glibc, without_emulator, without_sanitizer)

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]
needs_perf = pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")

WAITERS, STACKED = PROGRAMS / "waiters", PROGRAMS / "stacked"


@pytest.fixture
def start():
    """Starts a foreign program, and ends it."""
    started = []

    def run(*args, **popen):
        popen.setdefault("stdout", subprocess.DEVNULL)
        process = subprocess.Popen([str(arg) for arg in args], stdin=subprocess.PIPE, **popen)
        started.append(process)
        return process
    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()


def threads_wait(process, count):
    """All of them are there, and are in a system call."""
    def is_so():
        tasks = os.listdir(f"/proc/{process.pid}/task")
        calls = [open(f"/proc/{process.pid}/task/{task}/syscall").read() for task in tasks]
        return len(tasks) == count and not any(call.startswith("running") for call in calls)
    wait_until(is_so)


def record(cli, *args, **how):
    path = cli.folder / "record.json"
    done = cli("record", "--format", "json", "--output", path, "--section", "all", "--limit", "0", *args, **how)
    done.report = Report(json.loads(path.read_text()))
    return done


def rows(report, program):
    return {row.name: row for row in report.rows("functions") if row.library == program.name}


def test_waiting_threads(cli, start):
    process = start(WAITERS, "all", 600_000)
    if not processes_may_be_read():
        pytest.skip("processes of others may not be looked at here")
    threads_wait(process, 4)
    report = record(cli, "-p", process.pid, "--for", "500ms").report
    found = rows(report, WAITERS)
    for name, cause, waits_for in (("on_pipe", "pipe", "pipe"), ("on_mutex", "lock", "lock held in on_sleep"),
                                   ("on_condition", "condition", "condition"), ("on_sleep", "sleep", "sleep")):
        assert found[name].waits_for == waits_for
        assert found[name].waiting_ns == sum(row.waited_ns for row in report.rows("waits")
                                             if row.cause == cause) > 0
    assert process.poll() is None  # and has noticed nothing
    assert cli.read().values["sections"]["functions"] == report.values["sections"]["functions"]


@needs_perf
def test_computing_threads(cli, start):
    """Threads that exist already, until the process ends."""
    process = start(STACKED, "threads", 300)
    wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) > 1)
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
    if not processes_may_be_read():
        pytest.skip("processes of others may not be looked at here")
    wait_until(lambda: used_ns(process) > 2 * ms * 1_000_000)
    begin, used = time.monotonic_ns(), used_ns(process)
    report = record(cli, "-p", process.pid, "--for", "2s").report
    work = report.values["work"]  # the looks at the session of the process must not undo each other
    assert 0.5 * report.values["elapsed_ns"] < work["covered_ns"] <= report.values["elapsed_ns"]
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


def test_what_it_did_before_does_not_count(cli, start):
    """Of a process that has used CPU time, threads and history have only what it used while it was recorded."""
    process = start(WAITERS, "idle", 150)
    if not processes_may_be_read():
        pytest.skip("processes of others may not be looked at here")
    wait_until(lambda: used_ns(process) > 500_000_000)
    before = used_ns(process)
    report = record(cli, "-p", process.pid, "--for", "800ms").report
    most = used_ns(process) - before
    cpu = [row for row in report.rows("threads") if row.tid == process.pid]
    assert 0 < cpu[0].cpu_ns <= most
    shares = [row for row in report.rows("timeline") if row.tid == process.pid and row.what == "cpu"]
    assert 0 < shares[0].max <= 110  # percent of one CPU



def test_without_perf(cli, start):
    """The report says so, with a remedy, and the rest is recorded."""
    process = start(WAITERS, "input")
    if not processes_may_be_read():
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
    wait_until(lambda: list(cli.folder.rglob(f"{process.pid}-*")))
    recording.send_signal(signal.SIGINT)
    stdout, stderr = recording.communicate(timeout=TIMEOUT)
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
    wait_until(lambda: [path for path in cli.folder.rglob(f"{process.pid}-*") if path.stat().st_size > 0])
    assert "● recording" in first_line()
    recording.kill()
    recording.communicate(timeout=TIMEOUT)
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


# ------------------------------------------------------------------------------------------------ several processes

class Brood:
    """brood with a recording of it: two children exist before, three come later."""

    def __init__(self, cli, start, *options):
        self.program = start(PROGRAMS / "brood", WORK_MS, stdout=subprocess.PIPE, text=True)
        self.existing = [int(pid) for pid in self.program.stdout.readline().split()[1:]]
        self.path = cli.folder / "record.json"
        self.recording = cli.start("record", "--format", "json", "--output", self.path, "--section", "all",
                                   "--limit", "0", "-p", self.program.pid, *options)
        expected = 1 if "--no-children" in options else 3
        wait_until(lambda: len([path for path in cli.folder.rglob("*.hotpath")
                           if path.stat().st_size > 0]) >= expected)

    def work(self):
        self.program.stdin.write("go\n")
        self.program.stdin.flush()
        self.later, self.executing, self.brief = map(int, self.program.stdout.readline().split())
        pids = [*self.existing, self.later, self.executing]
        self.used = {}
        wait_until(lambda: all(clock_ns(pid) >= 1e6 * WORK_MS and waits(pid) for pid in pids))
        time.sleep(0.5)  # for the observer, whose samples may be 200 ms apart

    def end(self):
        self.recording.send_signal(signal.SIGINT)
        stdout, self.stderr = self.recording.communicate(timeout=TIMEOUT)
        assert self.recording.returncode == 0, self.stderr
        self.report = Report(json.loads(self.path.read_text()))
        self.program.stdin.close()
        for line in self.program.stdout:
            pid, microseconds = map(int, line.split())
            self.used[pid] = 1000 * microseconds
        return self.report


WORK_MS = 300


def clock_ns(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    except FileNotFoundError:
        return 0


def waits(pid):
    return not pathlib.Path(f"/proc/{pid}/syscall").read_text().startswith("running")


def processor_times(report):
    times = {}
    for row in report.rows("processes"):
        times[row.pid] = times.get(row.pid, 0) + row.cpu_ns
    return times


@pytest.mark.parametrize("way", [
    pytest.param("perf", marks=needs_perf), pytest.param("refused", marks=full if perf_is_allowed() else [])])
def test_children_that_exist_and_that_come(cli, start, way):
    if not processes_may_be_read():
        pytest.skip("processes of others may not be looked at here")
    if way == "refused":
        cli.before = WITHOUT_PERF
    brood = Brood(cli, start)
    brood.work()
    report = brood.end()
    times = processor_times(report)
    working = [*brood.existing, brood.later, brood.executing]
    assert set(working) | {brood.program.pid} <= set(times)
    for pid in working:
        assert abs(times[pid] - brood.used[pid]) <= 0.02 * brood.used[pid] + 5e6, (pid, times, brood.used)
    assert times[brood.program.pid] < 0.1 * sum(brood.used.values())
    if way == "perf":
        total = rows(report, PROGRAMS / "brood")["work_here"].total_ns
        assert abs(total - 1e6 * WORK_MS * len(working)) <= 0.1e6 * WORK_MS * len(working)
    assert re.search(r"\bbrood\b", report.values["meta"]["headline"])
    assert len({row.pid for row in report.rows("processes")}) == report.values["meta"]["processes"]


@needs_perf
def test_without_children(cli, start):
    brood = Brood(cli, start, "--no-children")
    brood.work()
    report = brood.end()
    assert {row.pid for row in report.rows("processes")} <= {brood.program.pid}
    assert "work_here" not in rows(report, PROGRAMS / "brood")


def test_a_live_recording_can_be_read(cli, start):
    if not processes_may_be_read():
        pytest.skip("processes of others may not be looked at here")
    brood = Brood(cli, start)
    brood.work()
    for name in (str(brood.program.pid), "brood"):
        report = Report(json.loads(cli("report", "--format", "json", "--section", "all", name).stdout))
        assert {*brood.existing, brood.later, brood.executing} <= set(processor_times(report))
    assert "● recording" in cli("console", "--once", str(brood.program.pid),
                           env={"LC_ALL": "C.UTF-8"}).stdout.split("\n")[0]
    brood.end()
    assert "■ recorded for 0:" in cli("console", "--once", str(brood.program.pid),
                                      env={"LC_ALL": "C.UTF-8"}).stdout.split("\n")[0]


def test_a_process_that_executes_another_program(cli, start):
    """It is one process, with a session for each program, and the recording goes on."""
    program = start("sh", "-c", f"read line; exec {WAITERS} input")
    wait_until(lambda: pathlib.Path(f"/proc/{program.pid}/comm").read_text() in ("sh\n", "dash\n", "bash\n"))
    path = cli.folder / "record.json"
    recording = cli.start("record", "--format", "json", "--output", path, "--section", "all", "-p", program.pid)

    def sessions():
        return [path for path in cli.folder.rglob(f"{program.pid}-*.hotpath") if path.stat().st_size > 0]
    wait_until(lambda: len(sessions()) == 1)
    program.stdin.write(b"go\n")
    program.stdin.flush()
    wait_until(lambda: len(sessions()) == 2)
    recording.send_signal(signal.SIGINT)
    recording.communicate(timeout=TIMEOUT)
    report = json.loads(path.read_text())
    assert report["meta"].get("processes", 1) == 1
    assert program.poll() is None


LAST_PID = pathlib.Path("/proc/sys/kernel/ns_last_pid")


@pytest.mark.skipif(not IS_ROOT or not os.access(LAST_PID, os.W_OK), reason="nobody may choose process ids here")
def test_a_process_id_that_is_used_again(cli, start):
    """Another process has the number of one that was recorded: it is not part of the recording."""
    shell = start("sh", "-c", "read line; sleep 0.3; read line; read line")
    recording = cli.start("record", "--format", "none", "-p", shell.pid)
    wait_until(lambda: list(cli.folder.rglob(f"{shell.pid}-*.hotpath")))
    shell.stdin.write(b"go\n")
    shell.stdin.flush()
    children = pathlib.Path(f"/proc/{shell.pid}/task/{shell.pid}/children")
    wait_until(children.read_text)
    child = int(children.read_text())
    wait_until(lambda: list(cli.folder.rglob(f"{child}-*.hotpath")))
    wait_until(lambda: not children.read_text())
    for _ in range(100):  # others take numbers, too
        LAST_PID.write_text(str(child - 1))
        other = subprocess.Popen(["sleep", "60"])
        if other.pid == child:
            break
        other.kill()
        other.wait()
    time.sleep(0.5)
    recording.send_signal(signal.SIGINT)
    recording.communicate(timeout=TIMEOUT)
    starts = {path.name.split("-")[1] for path in cli.folder.rglob(f"{child}-*.hotpath")}
    is_same, start_time = other.pid == child, pathlib.Path(f"/proc/{other.pid}/stat").read_text().split()[21]
    other.kill()
    other.wait()
    if not is_same:
        pytest.skip("the number was taken by others")
    assert len(starts) == 1 and start_time not in starts


MIXED = """
import os, time
if os.fork() == 0:
    time.sleep(60)
os.setuid(%d)
os.execvp("sh", ["sh", "-c", "read line"])
"""


@pytest.mark.skipif(not IS_ROOT, reason="only root can be somebody else")
def test_a_child_of_another_user_is_named(cli, start):
    """The recording and the process belong to nobody, its child to root."""
    nobody = pwd.getpwnam("nobody").pw_uid
    cli.box.path.chmod(0o711)
    os.chown(cli.folder, nobody, -1)
    cli.program = cli.box.for_everyone(HOTPATH)
    parent = start(sys.executable, "-c", MIXED % nobody)
    wait_until(lambda: pathlib.Path(f"/proc/{parent.pid}/cmdline").read_bytes().startswith(b"sh\0-c\0"))
    child = int(pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text())
    done = cli("record", "-p", parent.pid, "--for", "300ms", user=nobody)
    comm = pathlib.Path(f"/proc/{child}/comm").read_text().strip()
    assert (f"hotpath: process {child} ({comm}) is not recorded: it belongs to another user; use sudo\n"
            in done.stderr)
    assert not list(cli.folder.rglob(f"{child}-*.hotpath")) and list(cli.folder.rglob(f"{parent.pid}-*.hotpath"))
    os.kill(child, signal.SIGKILL)
