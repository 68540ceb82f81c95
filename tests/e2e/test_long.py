"""The long versions of tests whose short versions are among the others."""
import os
import subprocess

import pytest

from command import Cli
from harness import PROGRAMS, SANITIZER, TIMEOUT, without_emulator, without_sanitizer, without_thread_sanitizer
from test_cpu import check_even, check_split, kill_at_random
from test_survival import kill_at_random_moments
from test_truth import check_many_sites, check_short_lives
from test_verdict import SCENES, check_first_line


@without_emulator("it would take hours")
def test_200000_short_lived_threads(box):
    check_short_lives(box, 2000, 200000)


@without_emulator("it would take hours")
@without_sanitizer("it would take long")
def test_200000_sites(box):
    check_many_sites(box, 200000)


@without_emulator("its own memory is shared with the program's")
def test_sigkill_at_500_random_moments(box):
    kill_at_random_moments(box, 500, seed=2)


@without_emulator("timers that fast starve an emulator")
@without_thread_sanitizer("it puts handlers off and takes a quarter of an hour; the short version runs")
def test_a_million_calls_under_200000_signals(box):
    result = box.run("signals", "storm", 200000, timeout=900)
    told = result.told
    assert result.calls("on_signal") == result.calls("in_handler") == told["handled"]
    assert result.calls("tiny") == told["tiny"] and result.calls("nest") == told["nest"]


@without_emulator("it has clocks of its own")
@without_sanitizer("what it costs is not in the program's truth")
def test_split_of_processor_time_within_1_5_points(box):
    assert check_split(box, 12000, 997, points=1.5) > 10000


@without_emulator("it has clocks of its own")
@without_sanitizer("it takes more threads than cores")
def test_eight_threads_for_long(box):
    check_even(box, 1300)


@without_emulator("its own memory is shared with the program's")
@without_thread_sanitizer("it puts signals off")
def test_sigkill_of_sampled_programs(box):
    kill_at_random(box, 100, seed=2)


@without_emulator("timers that fast starve an emulator")
@without_thread_sanitizer("it puts signals off")
def test_1000_sessions_while_threads_are_sampled(box):
    result = box.run("cpu", "restarts", 1000, env={"HOTPATH_OUTPUT_PATH": "/dev/null"}, timeout=600)
    assert result.told["sessions"] == 1000


@pytest.fixture
def burners():
    """Other processes that keep the machine busy during a test."""
    all_of_them = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(3)]
    yield
    for burner in all_of_them:
        burner.kill()
        burner.wait()


@without_emulator("/proc shows the emulator")
@without_thread_sanitizer("it has a thread of its own, which waits, too")
@pytest.mark.parametrize("scene", SCENES)
def test_the_first_line_is_right_10_times(box, scene):
    for _ in range(10):
        check_first_line(Cli(box), scene)


@without_emulator("/proc shows the emulator")
@without_thread_sanitizer("it has a thread of its own, which waits, too")
@pytest.mark.parametrize("scene", SCENES)
def test_the_first_line_is_right_10_times_on_a_busy_machine(box, burners, scene):
    for _ in range(10):
        check_first_line(Cli(box), scene)

def test_1000_sessions_leave_nothing_behind(box):
    assert box.run("owners", "leak", 1000, timeout=600).told["left_kb"] <= 1024


def test_everything_at_once_for_long(box):
    """As in test_owners.py."""
    result = box.run("owners", "storm", 1000 if not SANITIZER else 200, timeout=1200,
                     env={"HOTPATH_OUTPUT_PATH": "/dev/null", "HOTPATH_KEEP": "5"})
    assert result.stdout == "begun some\n"


def test_report_that_nobody_reads_does_not_keep_a_process(box):
    """Its stderr is a pipe that is full: after ten seconds it ends without its report."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    environment = box.environment(box.folder(), {"HOTPATH": "1", "HOTPATH_OUTPUT_PATH": None})
    done = subprocess.run([PROGRAMS / "recursion"], env=environment, stdout=subprocess.DEVNULL, stderr=writer,
                          timeout=TIMEOUT)
    assert done.returncode == 0
    os.close(reader)
    os.close(writer)
