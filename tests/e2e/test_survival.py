"""A session outlives its process: if it is killed at any moment, everything that was finished is there."""
import random
import signal
import struct
import time

import pytest

from harness import SANITIZER, without_emulator

THREADS = 3


def progress_of(path):
    """Per thread: calls begun and ended, as the program wrote them into its own shared file."""
    data = path.read_bytes()
    return [struct.unpack_from("QQ", data, 128 * thread) for thread in range(THREADS)]


def check(box, result, progress):
    report = box.read(result.sessions()[0])
    for thread, (begun, ended) in enumerate(progress_of(progress)):
        calls = report.calls(f"step_{thread}")
        # Every finished call is there, one that was in flight may be, none is there twice.
        assert ended <= calls <= begun, (thread, begun, ended, calls)
    nested = report.calls("nested")
    assert abs(nested - report.calls("step_1")) <= 1
    return report


def kill_at_random_moments(box, times, seed):
    """Some before the first zone, some in the middle of first uses, most in full run."""
    chance = random.Random(seed)
    with_calls = 0
    for _ in range(times):
        folder = box.folder()
        progress = folder / "progress"
        process = box.start("killed", progress, "run", folder=folder)
        while not progress.exists() or progress.stat().st_size == 0:
            assert process.poll() is None
            time.sleep(0.0005)
        # A slow build has done nothing yet after so short a time: mostly wait for the end of the first call.
        waits_for_call = chance.random() < 0.9
        while waits_for_call and progress_of(progress)[0][1] == 0:
            time.sleep(0.0005)
        time.sleep(chance.choice([0, 0.0003, 0.001, 0.003, 0.01, 0.02]) * chance.random() * 2)
        process.send_signal(signal.SIGKILL)
        result = box.finish(process)
        assert result.status == -signal.SIGKILL
        report = check(box, result, progress)
        assert report.values["state"] == "ended"
        assert report.row("main").open == 1
        with_calls += report.calls("step_0") > 0
    assert with_calls > times / 5


@without_emulator("its own memory is shared with the program's")
def test_sigkill_at_50_random_moments(box):
    kill_at_random_moments(box, 50 if not SANITIZER else 10, seed=1)


@pytest.mark.parametrize("how, status", [("abort", -signal.SIGABRT), ("_exit", 33), ("segv", -signal.SIGSEGV)])
def test_sudden_ends(box, how, status):
    if SANITIZER and how == "segv":
        status = None  # the sanitizer catches it and ends in its own way
    progress = box.path / "progress"
    result = box.run("killed", progress, how, status=status)
    report = check(box, result, progress)
    assert report.row("last").open == 1
    assert not result.report_path.exists()


@without_emulator("it makes up /proc/self/stat, so nobody knows when the process began")
def test_a_running_session_can_be_read(box):
    folder = box.folder()
    progress = folder / "progress"
    process = box.start("killed", progress, "run", folder=folder)
    while not progress.exists() or progress.stat().st_size == 0 or progress_of(progress)[0][1] == 0:
        time.sleep(0.001)
    session = next(folder.glob("*.hotpath"))
    last = 0
    for _ in range(10):
        before = progress_of(progress)
        report = box.read(session)
        after = progress_of(progress)
        for thread in range(THREADS):
            assert before[thread][1] <= report.calls(f"step_{thread}") <= after[thread][0] + 1
        assert report.values["state"] == "running"
        assert report.values["elapsed_ns"] > last
        last = report.values["elapsed_ns"]
    process.kill()
    box.finish(process)
