"""hotpath run does not disturb the program: its signals, descriptors, parent and terminal stay as they are."""
import contextlib
import ctypes
import fcntl
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import time

import pytest

from command import GUEST, cli, wait_until  # noqa: F401 (a fixture)
from harness import EMULATOR, HOTPATH, PROGRAMS, TIMEOUT, perf_is_allowed, with_glibc, without_sanitizer
from terminal import Terminal, plain

pytestmark = pytest.mark.skipif(bool(EMULATOR), reason="not under an emulator: it would have to start another")


def test_signals_sent_to_hotpath_reach_the_program(cli):
    process = cli.start("run", "--format", "none", GUEST, "hears")
    assert process.stdout.readline() == "listening\n"
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1):
        process.send_signal(number)
        assert process.stdout.readline() == f"signal {int(number):02}\n"
    process.send_signal(signal.SIGUSR2)
    assert process.stdout.readline() == "signal 12\n"
    assert process.wait(TIMEOUT) == 5


def test_every_signal_reaches_the_program(cli):
    """Every signal that ends the program by default ends it, and not only us."""
    for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGXCPU, signal.SIGPIPE,
                   signal.SIGABRT, signal.SIGRTMIN, signal.SIGRTMAX):
        process = cli.start("run", "--format", "none", GUEST, "hears")
        assert process.stdout.readline() == "listening\n"
        process.send_signal(number)
        assert process.wait(TIMEOUT) == -number
    # In its own process group: a process whose group has no parent in the session does not stop.
    process = cli.start("run", "--format", "none", GUEST, "hears", preexec_fn=os.setpgrp)
    process.stdout.readline()
    process.send_signal(signal.SIGTSTP)  # only to us: the program stops, and so do we
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGUSR2)
    assert process.wait(TIMEOUT) == 5


def test_inherited_alarm_reaches_the_program(cli):
    done = subprocess.run(["perl", "-e", "alarm 1; exec @ARGV", str(HOTPATH), "run", "--format", "none",
                           "sleep", "60"], env=cli.environment(), timeout=TIMEOUT, capture_output=True)
    assert done.returncode == -signal.SIGALRM


def test_inherited_ignored_and_blocked_signals(cli):
    """The status of the program is known although SIGCHLD is ignored."""
    ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    assert cli("run", "sh", "-c", "exit 3", preexec_fn=ignore, status=3)
    done = cli("run", "grep", "SigIgn", "/proc/self/status", preexec_fn=ignore)
    assert int(done.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1
    block = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGALRM])
    cli("run", "--timeout", "100", "sleep", "60", preexec_fn=block, status=-signal.SIGKILL)


def test_a_hang_up_reaches_the_program(cli):
    """The kernel sends it to the session leader, which is us."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(HOTPATH, [str(HOTPATH), "run", "--format", "none", "sleep", "60"], cli.environment())
    wait_until(lambda: subprocess.run(["pgrep", "-P", str(pid), "sleep"], capture_output=True).stdout)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGHUP


def test_nohup_stays_nohup(cli):
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    done = cli("run", "--format", "none", "grep", "SigIgn", "/proc/self/status", preexec_fn=ignore)
    assert int(done.stdout.split()[1], 16) & 1


def test_program_inherits_the_signal_state(cli):
    """No mask, no ignored signal and no descriptor is left behind. Only a signal that the C library reserves for
    itself (33) is caught: it makes a session begin, or, where perf is refused, takes samples."""
    script = ("sed -nE '/Sig(Blk|Ign)/p; s/(SigCgt:.{8})[01](.*)/\\1-\\2/p' /proc/self/status; "
              "ls -l /proc/self/fd | wc -l")
    how = [] if perf_is_allowed() else ["--no-stacks"]
    alone = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=cli.environment(),
                           stdin=subprocess.DEVNULL)
    assert cli("run", *how, "sh", "-c", script).stdout == alone.stdout


def ends_soon(fd):
    """Whether it can be read to its end."""
    return bool(select.select([fd], [], [], TIMEOUT)[0]) and os.read(fd, 1) == b""


def test_run_keeps_no_descriptors_of_the_program_open(cli):
    """When the program closes them, the other end notices."""
    go_on, tell = os.pipe()
    heard, ready = os.pipe()
    script = f"import os; [os.close(fd) for fd in (0, 1, {ready})]; os.read({go_on}, 1)"
    process = cli.start("run", "--format", "none", sys.executable, "-c", script, stdin=subprocess.PIPE,
                        pass_fds=[go_on, ready])
    os.close(ready)
    try:
        assert ends_soon(heard) and ends_soon(process.stdout.fileno())
        writer = select.poll()
        writer.register(process.stdin, 0)
        assert writer.poll(TIMEOUT * 1000)[0][1] & select.POLLERR
        assert process.poll() is None
    finally:
        os.write(tell, b"x")
    assert process.wait(TIMEOUT) == 0


def test_report_to_an_inherited_descriptor(cli):
    """It is kept open for that."""
    assert "| work" in cli("run", "--section", "timing", "--output", "/dev/stdout", GUEST, "five").stdout


def test_inherited_file_lock(cli):
    """It belongs to the process that was started, which is us."""
    lives = cli.folder / "lives"
    lives.touch()
    with open(cli.folder / "lock", "w") as lock:
        process = cli.start("run", "--format", "none", GUEST, "waits", lives, pass_fds=[lock.fileno()],
                            preexec_fn=lambda: fcntl.lockf(lock, fcntl.LOCK_EX))
        assert process.stdout.readline() == "waiting\n"
        with pytest.raises(OSError):
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lives.unlink()
    process.communicate(timeout=TIMEOUT)


def limit_files(most):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@pytest.mark.parametrize("most", [4, 5, 6, 8])
@without_sanitizer("it needs descriptors itself")
def test_very_low_limit_of_descriptors(cli, most):
    """The program runs, and has its own exit status."""
    plain = subprocess.run([GUEST, "ends", "return"], preexec_fn=limit_files(most), env=cli.environment(),
                           capture_output=True)
    assert plain.returncode == 7
    done = cli("run", GUEST, "ends", "return", preexec_fn=limit_files(most), status=7)
    assert done.stdout == plain.stdout.decode()


def test_the_limit_of_descriptors_is_the_same(cli):
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (123, 234))
    assert cli("run", "sh", "-c", "ulimit -Sn; ulimit -Hn", preexec_fn=limit).stdout == "123\n234\n"


def test_parent_death_signal_reaches_the_program(cli):
    """PR_SET_PDEATHSIG survives exec, but not fork."""
    kill_me = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"
    start = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    parent = subprocess.Popen([sys.executable, "-c", start, kill_me, str(HOTPATH), "run", "--format", "none", "sh",
                               "-c", "echo $$; exec sleep 600"], stdout=subprocess.PIPE, env=cli.environment())
    program = int(parent.stdout.readline())
    parent.kill()
    try:
        assert ends_soon(parent.stdout.fileno())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(program, signal.SIGKILL)
        parent.communicate()


@with_glibc("musl has no such threshold")
@without_sanitizer("its malloc never returns memory")
def test_the_heap_is_returned_as_without_us(cli):
    """A block of ours would raise the size from which on glibc returns the heap to the kernel: hundreds of page
    faults less for each time that it is full."""
    def faults(text):
        return int(re.search(r"^faults (\d+)$", text, re.M)[1])

    alone = faults(subprocess.run([PROGRAMS / "heap_trim"], env=os.environ, capture_output=True, text=True,
                                  check=True, timeout=TIMEOUT).stdout)
    assert alone > 50 * 900, "the heap is not returned at all"
    for options in ([], ["--no-stacks"]):
        with_us = faults(cli("run", "--format", "none", *options, PROGRAMS / "heap_trim").stdout)
        assert alone - 50 < with_us < 1.1 * alone, (alone, with_us, options)


def test_orphans_are_reaped(cli):
    """They are reparented to us if we are the first process of a container, or a subreaper for another reason."""
    look_after_orphans = lambda: ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    script = ("p=$(sh -c 'sh -c : > /dev/null & echo $!'); "
              "for i in $(seq 1000); do [ -e /proc/$p ] || exit 0; sleep 0.01; done; exit 1")
    cli("run", "--format", "none", "sh", "-c", script, preexec_fn=look_after_orphans)


def test_stopping(cli):
    """hotpath stops with its program and continues it, as a shell expects of a job."""
    process = cli.start("run", "--format", "none", GUEST, "stops")
    assert process.stdout.readline() == "stopping\n"
    pid, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    assert process.stdout.readline() == "going on\n"
    assert process.wait(TIMEOUT) == 0


@pytest.fixture
def shell(cli):
    shell = Terminal(cli.box, 500, env=cli.environment(), command=("bash", "--norc", "-i"))
    yield shell
    shell.close()


def test_program_stopped_and_continued_by_another_process(cli):
    """The process that continues the program does not know of hotpath."""
    for _ in range(5):
        done = cli("run", "--format", "none", "sh", "-c", "(sleep 0.1; kill -CONT $$) & kill -STOP $$; echo done")
        assert done.stdout == "done\n"


def test_ctrl_z_with_a_program_that_ignores_it(cli, shell):
    """The shell must not take the terminal away from it."""
    shell.type(f"{HOTPATH} run --section timing sh -c \"trap '' TSTP; echo begin; read line; echo got \\$line\"",
               "Enter")
    shell.wait_for("^begin")
    shell.type("C-z")
    time.sleep(0.2)
    shell.type("hello", "Enter")
    screen = shell.wait_for("^got hello")
    assert "Stopped" not in screen


def test_terminal_and_ctrl_c(cli, shell):
    shell.type(f"{HOTPATH} run --format none {GUEST} terminal", "Enter")
    shell.wait_for("terminal 1 1, foreground 1, leader of session 0")
    shell.type("hello", "Enter")
    shell.wait_for("read hello")
    shell.type(f"clear; {HOTPATH} run --section timing {GUEST} hears", "Enter")
    shell.wait_for("listening")
    shell.type("C-c")
    screen = shell.wait_for("signal 02")
    assert screen.count("signal 02") == 1  # not passed on a second time
    shell.type("C-\\")
    shell.wait_for("signal 03")
    subprocess.run(["pkill", "-USR2", "-f", f"^{GUEST} hears"], check=True)
    shell.wait_for(r"(?s)signal 12.*\[hotpath\].*\| work.*ready\$$")
    shell.type("echo status $?", "Enter")
    shell.wait_for("status 5")


CLEAR = r"printf '\e[H\e[2J'"  # by the shell itself: `clear` would be a job, and a late key would stop it


def stop_job(shell):
    """A key is lost if it comes before the shell has given the terminal to its job, and so is what a slow `clear`
    erases; so it is typed again, and the shell asked for its jobs."""
    for _ in range(60):
        shell.type("C-z")
        time.sleep(0.5)
        if re.search(r"Stopped.*hotpath run", plain(shell.screen())):
            return
        shell.type("jobs", "Enter")
        time.sleep(0.5)
        if re.search(r"Stopped.*hotpath run", plain(shell.screen())):
            return
    shell.wait_for(r"Stopped.*hotpath run")


def test_job_control(cli, shell):
    lives = cli.folder / "lives"
    lives.touch()
    shell.type(f"{HOTPATH} run --section timing {GUEST} waits {lives}", "Enter")  # all of it must fit on the screen
    shell.wait_for("waiting")
    for _ in range(3):
        stop_job(shell)
        shell.type(CLEAR, "Enter", "fg", "Enter")
        shell.wait_for(r"^ready\$ fg *\n.*hotpath run .*waits")
    stop_job(shell)
    shell.type(CLEAR, "Enter", "bg", "Enter")
    shell.wait_for(r"^ready\$ bg *\n.*hotpath run .*waits .*&")
    lives.unlink()
    shell.wait_for(r"(?s)calls \d+.*\[hotpath\]")
    for _ in range(60):  # the shell tells of jobs that have ended before a prompt, so it may need another one
        shell.type("Enter")
        if re.search(r"Done.*hotpath run", plain(shell.screen())):
            break
        time.sleep(0.5)
    shell.wait_for(r"Done.*hotpath run")


def test_a_shell_in_a_shell(cli, shell):
    """It has its own process group, and the terminal; both are restored when it is continued."""
    shell.type(f"clear; PS1='inner$ ' {HOTPATH} run --format none bash --norc -i", "Enter")
    shell.wait_for(r"^inner\$")
    shell.type("suspend -f", "Enter")
    shell.wait_for(r"Stopped.*hotpath run")
    shell.type("clear; fg", "Enter")
    shell.wait_for(r"^inner\$")
    shell.type("sh -c 'echo begin; read line; echo got $line'", "Enter")
    shell.wait_for("^begin")
    shell.type("hello", "Enter")
    shell.wait_for("^got hello")
    shell.type("exit 5", "Enter")
    shell.wait_for(r"^exit\n(.*\n)*ready\$")
    shell.type("echo status $?", "Enter")
    shell.wait_for("status 5")
