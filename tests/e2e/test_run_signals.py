"""Signals under `hotpath run`: each reaches the program once, with its value, from any sender to any target."""
import contextlib
import ctypes
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest

from harness import EMULATOR, HOTPATH, PROGRAMS, SANITIZER, TIMEOUT

pytestmark = [pytest.mark.skipif(bool(EMULATOR), reason="not under an emulator: it would have to start another"),
              pytest.mark.skipif("thread" in SANITIZER,
                                 reason="not with ThreadSanitizer: it puts signals off, also those of hotpath")]

MARK = 64  # the last one: everything sent before it is passed on before it
END = 0
ALL = [number for number in range(1, MARK) if number not in (signal.SIGKILL, signal.SIGSTOP)]


def queue(pid, number, value):
    """sigqueue, which Python lacks."""
    assert ctypes.CDLL(None, use_errno=True).sigqueue(pid, number, ctypes.c_void_p(value)) == 0


class Job:
    """The program under hotpath, in its own process group, and the signals that it received."""

    def __init__(self, box, before=None, words=(), **popen):
        self.values = 0
        folder = box.folder()
        env = box.environment(folder, {"HOTPATH_OUTPUT_PATH": None})

        def prepare():
            os.setpgid(0, 0)
            if before:
                before()
        popen.setdefault("preexec_fn", prepare)
        popen.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen([str(HOTPATH), "run", "--no-preload", "--format", "none",
                                         str(PROGRAMS / "heard_off"), *words],
                                        env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        **popen)
        self.pid = self.process.pid
        self.program = int(self.process.stdout.readline().split()[1])
        self.patience = threading.Timer(TIMEOUT, self.kill)  # a failure is better than a test that hangs
        self.patience.start()

    def kill(self):
        """Both; one may have ended."""
        for pid in (self.pid, self.program):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def heard(self):
        """The signals since the last call: a list of (number, value)."""
        self.values += 1
        queue(self.pid, MARK, self.values)
        found = []
        while line := self.process.stdout.readline():
            words = line.split()
            number, value = int(words[1]), int(words[3])
            if (number, value) == (MARK, self.values):
                return found
            found.append((number, value))
        return pytest.fail(f"it has ended after {found}")

    def heard_at_last(self):
        """The same for signals that may arrive after the mark, since they do not pass through hotpath."""
        while not (found := self.heard()):
            pass
        return found + self.heard()

    def wait_for_stop(self):
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def end(self):
        queue(self.pid, MARK, END)
        assert self.process.wait(TIMEOUT) == 3
        self.process.stdout.close()


@pytest.fixture
def start(box):
    jobs = []

    def start_one(*args, **named):
        jobs.append(Job(box, *args, **named))
        return jobs[-1]
    yield start_one
    for job in jobs:
        job.patience.cancel()
        job.patience.join()  # a thread that is still there takes signals that a later test blocks in its own
        if not job.process.stdout.closed:
            job.kill()
            job.process.communicate()


def ignore_all():
    for number in range(1, MARK):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33):
            signal.signal(number, signal.SIG_IGN)


@pytest.mark.parametrize("before", [None, ignore_all], ids=["usual", "ignored"])
@pytest.mark.parametrize("whom", ["hotpath", "group", "program"])
def test_each_signal_arrives_once(start, before, whom):
    """One by one; also those that hotpath inherited as ignored, since the program may want them."""
    job = start(before)
    to = {"hotpath": job.pid, "group": -job.pid, "program": job.program}[whom]
    for number in ALL:
        os.kill(to, number)
        assert (job.heard_at_last() if whom == "program" else job.heard()) == [(number, -1)]
    job.end()


def test_many_signals_at_once(start):
    """SIGCONT discards pending stop signals, so it is not among them."""
    job = start()
    for to in (job.pid, -job.pid):
        wanted = [number for number in ALL if number != signal.SIGCONT]
        for number in wanted:
            os.kill(to, number)
        assert sorted(job.heard()) == [(number, -1) for number in wanted]
    job.end()


def test_values_and_their_order(start):
    job = start()
    numbers = [signal.SIGHUP, signal.SIGUSR1, signal.SIGCHLD, signal.SIGWINCH, signal.SIGSEGV, 32, 33, 34, 63]
    for number in numbers:
        queue(job.pid, number, 1000 + number)
        assert job.heard() == [(number, 1000 + number)]
    for value in range(100, 200):
        queue(job.pid, 40, value)
    for _ in range(5):
        os.kill(-job.pid, 41)
    heard = job.heard()  # those to the group do not wait for us
    assert [one for one in heard if one[0] == 40] == [(40, value) for value in range(100, 200)]
    assert [one for one in heard if one[0] != 40] == [(41, -1)] * 5
    job.end()


def test_sender_of_a_queued_signal_is_kept(start):
    job = start()
    queue(job.pid, 40, 7)
    assert job.process.stdout.readline().split() == ["signal", "40", "value", "7", "of", "another"]
    job.end()


@pytest.mark.parametrize("whom", ["hotpath", "group"])
def test_a_program_that_leaves_the_group(start, whom):
    """It would lead our group in our place, and could not leave it: signals to the job are for it."""
    job = start(words=["leaves"])
    assert os.getpgid(job.program) == job.program != os.getpgid(job.pid)
    for number in ALL:
        os.kill({"hotpath": job.pid, "group": -job.pid}[whom], number)
        assert job.heard() == [(number, -1)]
    os.kill(job.program, signal.SIGSTOP)
    job.wait_for_stop()
    os.kill(-job.pid, signal.SIGCONT)
    assert job.heard() == [(signal.SIGCONT, -1)]
    job.end()


def test_program_that_leaves_a_group_led_by_another_process(box, start):
    """Another process leads it, so the program could leave without us, too."""
    leader = subprocess.Popen(["sleep", "600"], preexec_fn=lambda: os.setpgid(0, 0))
    try:
        job = start(words=["leaves"], preexec_fn=lambda: os.setpgid(0, leader.pid))
        os.kill(-leader.pid, signal.SIGUSR1)
        assert job.heard() == []
        job.end()
    finally:
        leader.kill()
        leader.wait()


def test_signals_from_the_program_to_its_parent(box):
    """Without us that is our parent."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        env = box.environment(box.folder(), {"HOTPATH_OUTPUT_PATH": None})
        subprocess.run([str(HOTPATH), "run", "--no-preload", "--format", "none", "sh", "-c", "kill -USR1 $PPID"],
                       env=env, check=True, timeout=TIMEOUT)
        assert signal.sigtimedwait([signal.SIGUSR1], 0)
    finally:
        signal.sigtimedwait([signal.SIGUSR1], 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


# ------------------------------------------------------------------------------------------------------ stopping

@pytest.mark.parametrize("whom", ["hotpath", "group", "program"])
def test_continued_once(start, whom):
    """Whether the whole job is continued, as shells do, or hotpath, or the program alone."""
    job = start()
    to = {"hotpath": job.pid, "group": -job.pid, "program": job.program}[whom]
    for _ in range(3):
        os.kill(job.program, signal.SIGSTOP)
        job.wait_for_stop()
        os.kill(to, signal.SIGCONT)
        assert job.heard() == [(signal.SIGCONT, -1)]
    job.end()


def test_a_stopped_program_stays_stopped(start):
    """SIGHUP waits, as all other signals."""
    job = start()
    os.kill(job.program, signal.SIGSTOP)
    job.wait_for_stop()
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1):
        os.kill(job.pid, number)
        os.kill(job.program, number)
    for pid in (job.pid, job.program):
        with open(f"/proc/{pid}/stat") as stat:
            assert stat.read().rpartition(")")[2].split()[0] == "T"
    os.kill(-job.pid, signal.SIGCONT)
    heard = set(job.heard())
    assert heard == {(number, -1) for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGCONT)}
    job.end()


def test_the_group_is_stopped_and_hotpath_alone_continued(start):
    """All of it goes on, though the signal probe was stopped with the group."""
    job = start()
    os.kill(-job.pid, signal.SIGSTOP)
    job.wait_for_stop()
    os.kill(job.pid, signal.SIGCONT)
    assert (signal.SIGCONT, -1) in job.heard()
    job.end()


def test_hotpath_is_stopped_alone(start):
    job = start()
    os.kill(job.pid, signal.SIGSTOP)
    job.wait_for_stop()
    os.kill(job.pid, signal.SIGCONT)
    assert job.heard() == [(signal.SIGCONT, -1)]
    job.end()


# ------------------------------------------------------------------------------------------------------ terminal

def test_keys_of_a_terminal(start):
    """Signals of the terminal go to the group, which has both; nothing stops, since the program blocks SIGTSTP."""
    master, slave = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    job = start(stdin=slave, preexec_fn=take_terminal)
    for key, number in ((b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT), (b"\x1a", signal.SIGTSTP)):
        os.write(master, key)
        assert job.heard_at_last() == [(number, -1)]
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 70, 0, 0))
    assert job.heard() == [(signal.SIGWINCH, -1)]
    os.close(slave)
    os.close(master)  # the terminal hangs up: the kernel signals the session leader, and continues it
    assert job.heard() == [(signal.SIGHUP, -1), (signal.SIGCONT, -1)]
    job.end()


# ---------------------------------------------------------------------------------------------------- signal probe

def children(pid):
    return [int(child) for child in open(f"/proc/{pid}/task/{pid}/children").read().split()]


def test_no_process_stays_behind(start):
    """Neither when the program ends nor when hotpath is killed."""
    for how in ("end", "kill"):
        job = start()
        others = [child for child in children(job.pid) if child != job.program]
        assert len(others) == 1
        if how == "end":
            job.end()
        else:
            job.kill()
            job.process.communicate()
        end = time.monotonic() + TIMEOUT
        while os.path.exists(f"/proc/{others[0]}") and time.monotonic() < end:
            time.sleep(0.01)
        assert not os.path.exists(f"/proc/{others[0]}")


def test_without_the_witness_process(start):
    """The signal probe was killed: signals to us still arrive."""
    job = start()
    [probe] = [child for child in children(job.pid) if child != job.program]
    os.kill(probe, signal.SIGKILL)
    os.kill(job.pid, signal.SIGUSR1)
    assert job.heard() == [(signal.SIGUSR1, -1)]
    job.end()
