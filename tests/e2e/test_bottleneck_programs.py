"""The first sentence about programs with one bottleneck each, which is known by construction: without any change to
them, and measured by macros. The programs are in tests/programs/bottlenecks."""
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

import headlines
from harness import BUILD, HOTPATH, full, with_glibc, without_emulator, without_sanitizer

pytestmark = without_emulator("hotpath run starts programs of the machine below")

SHORT = ["recursion", "one_byte_writes", "periodic_pauses"]  # those of ./dev test

# What a person says first: the state of the run, and who has the time. With macros the first sentence is about the
# measured functions (docs/verdict.md): if that makes a difference, the third is its state.
TRUTH = {
    # name: (state, names, measured state)
    "bandwidth": ("all", ["add_arrays"]),  # two threads, all memory they read is in no cache
    "blocking_lookup": ("cpu", ["find_row"]),  # in the child; look_up waits for it
    "busy_polling": ("cpu", ["wait_for_answer"]),  # computes nothing, but has all of the CPU time
    "convoy": ("lock", ["next_ticket"]),  # holds the lock, and waits for it
    "false_sharing": ("all", ["count_events"]),  # in two threads
    "first_touch": ("cpu", ["fill_table"]),  # page faults there
    "fsync": ("disk", ["save_record"]),
    "many_blocks": ("cpu", ["add_word", "forget_words", "malloc", "free"]),
    "many_commands": ("processes", None, "processes"),  # run_command waits for their ends
    "one_byte_writes": ("cpu", ["emit_char"]),  # most of it in the system call write: see MORE
    "periodic_pauses": ("idle", ["wait_for_tick"], "sleep"),
    "recursion": ("cpu", ["count_ways"], "cpu"),  # thirty levels, which count once
    "slow_callback": ("cpu", ["handle_report"]),  # and not hash_bytes, which others call, too
    "slow_consumer": ("cpu", ["encode_record"], "consumer"),  # send_record waits for it
    "starved_pool": ("lock", ["update_index"]),  # holds the lock; take_index waits for it
    "unequal_workers": ("cpu", ["draw_part"]),  # in one of four children
}
MORE = {"one_byte_writes": "; a write is of 1 byte on average"}  # of what the kernel counts for unmodified programs
MEASURED_NAMES = {"recursion": ["all_ways"]}  # count_ways is not measured


@pytest.fixture
def disk():
    """A folder that is on a disk as often as the build is; that of the box is in memory."""
    folder = Path(tempfile.mkdtemp(prefix="bottleneck-", dir=BUILD))
    yield folder
    shutil.rmtree(folder)


def waits_for_disk(disk):
    """Some file systems, and some disks, have written everything before anyone can wait for it."""
    with open(disk / "tried", "wb") as file:
        begin = time.monotonic(), time.process_time()
        for _ in range(30):
            os.write(file.fileno(), b"x" * 4096)
            os.fdatasync(file.fileno())
        elapsed, used = time.monotonic() - begin[0], time.process_time() - begin[1]
    return elapsed > 5 * used


def headline(box, name, disk):
    """And whether other programs ran."""
    with headlines.Neighbours() as neighbours:
        result = box.run(HOTPATH, "run", "--", BUILD / "bottlenecks" / name, disk / "file")
    return result.report.values["meta"]["headline"], neighbours.are_busy


@without_sanitizer("it has functions of its own, which take long to load")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in SHORT else full) for name in TRUTH])
@pytest.mark.parametrize("is_measured", [
    pytest.param(False, marks=with_glibc("stacks end in Debian's musl, which cannot be unwound"), id="unmodified"),
    pytest.param(True, id="macros")])
def test_the_first_sentence(box, disk, name, is_measured):
    if name == "fsync" and not waits_for_disk(disk):
        pytest.skip("fdatasync does not wait for a disk here")
    if TRUTH[name][0] == "all" and len(os.sched_getaffinity(0)) == 1:
        pytest.skip("there is one CPU")
    state, names, *measured_state = TRUTH[name]
    if is_measured:
        state, names = (measured_state or [state])[0], MEASURED_NAMES.get(name, names)
    line, is_busy = headline(box, name if is_measured else f"{name}_off", disk)
    verdict, why = headlines.judge(line, state, names, is_busy=is_busy)
    assert verdict == "right", f"{verdict}: {why}: {line}"
    if "system call" in line:  # which needs samples in the kernel
        assert is_measured or MORE.get(name, "") in line, line


@pytest.mark.parametrize("line, state, names, verdict", [
    ("CPU-bound on one CPU: draw takes 92 % of the CPU time", "cpu", ["draw"], "right"),
    ("CPU-bound on one CPU: draw takes 92 % of the CPU time", "all", ["draw"], "wrong"),
    ("CPU-bound on all 2 CPUs: draw takes 92 % of the CPU time", "all", ["draw"], "right"),
    ("CPU-bound on one CPU: burn takes 92 % of the CPU time", "cpu", ["draw"], "wrong"),
    ("CPU-bound on one CPU: no single function is hot: CPU time is spread over libz (54 %)", "cpu", ["draw"],
     "vague"),
    ("Idle for 80 % of 1.2 s: tick waits (sleep)", "cpu|idle", ["tick"], "right"),
    ("Lock contention: 6 threads wait 52 % of their time for a lock in take", "lock", ["put"], "vague"),
    ("CPU-bound on one CPU: x takes 92 %. Install debug symbols for libz", "cpu", ["libz"], "wrong"),
    ("Ran 2.60 s of 3.20 s: draw takes 92 % of the CPU time", "cpu", ["draw"], "right"),
    ("Ran 2.60 s of 13.20 s, waits not seen: draw takes 92 % of the CPU time", "cpu", ["draw"], "wrong"),
    ("Busy for 40 % of 1.2 s: draw takes 92 % of the CPU time", "cpu", ["draw"], "wrong"),
    ("The bottleneck is ask: 56 %, waiting (socket); of the CPU time, 89 % is in draw", "cpu", ["draw"], "wrong"),
    (None, "cpu", None, "wrong"),
])
def test_sentences_are_judged(line, state, names, verdict):
    assert headlines.judge(line, state, names)[0] == verdict


@pytest.mark.parametrize("line", ["Short of CPU (ran 1.10 s, queued 3.90 s): draw takes 92 % of the CPU time",
                                  "The bottleneck is draw: 92 % of the time, starved for CPU time"])
@pytest.mark.parametrize("state", ["cpu", "all"])
def test_a_quiet_machine_is_not_short_of_cpu(line, state):
    assert headlines.judge(line, state, ["draw"])[0] == "wrong"
    assert headlines.judge(line, state, ["draw"], is_busy=True)[0] == "right"
