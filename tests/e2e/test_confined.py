"""Hosts that confine themselves, and other obstacles to a session or its report."""
import fcntl
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import PROGRAMS, needs_root, without_emulator, without_sanitizer

ON_STDERR = {"HOTPATH_OUTPUT_PATH": None}
THREADS, CALLS = 32, 100


def report_on_stderr(result):
    lines = [line for line in result.stderr.splitlines() if line.startswith("{")]
    assert len(lines) == 1, result.stderr
    return json.loads(lines[0])


def check_all_is_there(result):
    report = report_on_stderr(result)
    calls = {row["name"]: row["calls"] for row in report["sections"]["timing"]["rows"]}
    assert calls == {"main": 1, "one": THREADS * CALLS + 2, "use_threads": THREADS}
    assert not any(report["trust"]["lost"].values()), report["trust"]


# ------------------------------------------------------------------------------------------------------- limits

@without_sanitizer("it needs addresses and files itself")
@without_emulator("it has limits of its own")
@pytest.mark.parametrize("case", [("as", 100, 60), ("fsize", 200000), ("nofile",), ("sigpending",)],
                         ids=lambda case: case[0])
def test_limits_of_the_process(box, case):
    """The limits count only used space, and the session can still grow."""
    check_all_is_there(box.same("confined", *case, env=ON_STDERR))


@needs_root
@without_sanitizer("it needs addresses and files itself")
@without_emulator("it has limits of its own")
@pytest.mark.parametrize("case", ["mlock", "setuid", "chroot"])
def test_other_user_or_root(box, case):
    """Growing opens no file, so a daemon that drops its privileges keeps its session."""
    check_all_is_there(box.same("confined", case, env=ON_STDERR))


# --------------------------------------------------------------------------------------------------- blocking files

def full_pipe():
    """Both ends of a full pipe."""
    reader, writer = os.pipe()
    flags = fcntl.fcntl(writer, fcntl.F_GETFL)
    fcntl.fcntl(writer, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        pass
    fcntl.fcntl(writer, fcntl.F_SETFL, flags)
    return reader, writer


def end_by(process, number):
    """Sends the signal repeatedly, as a user would who wants the program to end."""
    until = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < until:
        process.send_signal(number)
        time.sleep(0.05)
    if process.poll() is None:
        process.kill()
        process.wait()
        pytest.fail("only SIGKILL ends it")
    return process.returncode


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("program", [("lifetimes",), ("interrupts", "default")], ids=lambda program: program[0])
def test_blocked_report_can_be_interrupted(box, program, number):
    """At the end of main, and in the handler of the first signal."""
    reader, writer = full_pipe()
    process = box.start(*program, env=ON_STDERR, stderr=writer)
    os.close(writer)
    assert process.stdout.readline() != b""
    status = end_by(process, number)
    os.close(reader)
    process.stdout.close()
    assert status == -number


def test_fifo_in_the_session_folder(box):
    """Under the name of an old session: pruning opens those."""
    folder = box.folder()
    for at in range(3):
        os.mkfifo(folder / f"1-{at}-0.hotpath")
    result = box.run("counts", folder=folder, env={"HOTPATH_KEEP": "1"})
    assert result.report.rows()


def test_fifo_as_output_without_a_reader(box):
    folder = box.folder()
    os.mkfifo(folder / "report.json")
    result = box.run("counts", folder=folder)
    assert result.lines == [f"hotpath: cannot write '{folder}/report.json': no reader; the report follows here"]
    assert report_on_stderr(result)["sections"]["timing"]["rows"]


def test_fifo_as_output_with_a_reader(box):
    folder = box.folder()
    os.mkfifo(folder / "report.json")
    reader = subprocess.Popen(["cat", folder / "report.json"], stdout=subprocess.PIPE)
    keeper = os.open(folder / "report.json", os.O_WRONLY)  # returns once the reader is there
    result = box.run("counts", folder=folder)
    os.close(keeper)
    text, _ = reader.communicate(timeout=30)
    assert result.lines == []
    assert json.loads(text)["sections"]["timing"]["rows"]


# ------------------------------------------------------------------------------------------- folders of other users

@pytest.fixture
def stranger():
    """A user whose session folders belong to another user."""
    uid = 100000 + os.getpid()  # another test may run at the same time
    places = [Path(f"{base}/hotpath-{uid}") for base in ("/dev/shm", "/tmp")]
    for place in places:
        place.mkdir(mode=0o700)
    yield uid
    for place in places:
        place.rmdir()


@needs_root
@without_sanitizer("it looks for its files as root")
@pytest.mark.parametrize("format", ["json", "table"])
def test_folder_of_another_user(box, stranger, format):
    """The session is in memory, and both a line and the report say why."""
    program = box.for_everyone(PROGRAMS / "counts")
    result = box.run(program, env=ON_STDERR | {"HOTPATH_DIR": None, "HOTPATH_OUTPUT_FORMAT": format,
                                               "LD_LIBRARY_PATH": program.parent}, user=stranger, cwd="/")
    assert len(result.lines) == 1 and "belongs to another user" in result.lines[0]
    assert "kept in memory" in result.lines[0]
    line = result.stderr.replace("\n", " ")
    assert "kept in memory, because a directory for sessions belongs to another user" in line
