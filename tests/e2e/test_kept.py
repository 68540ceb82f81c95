"""Calls with more detail than sums: the latest calls with their notes, and the slowest call with its contents.

The truth is known by construction: running numbers in notes, calls that the programs count, and sleeps that are a
hundred times as long as everything around them.
"""
import random
import re
import shutil
import signal
import struct
import subprocess
import time

import pytest

from harness import SANITIZER, SOURCE, full, near, without_emulator
from test_views import table


def kept_calls(report, name):
    """The calls of a function in the section `calls`, in its order."""
    return [row for row in report.rows("calls") if row.name == name]


def notes(report, name):
    return [row.values.get("note") for row in kept_calls(report, name)]


# ------------------------------------------------------------------------------------------------ the latest calls

@pytest.mark.parametrize("limit, calls", [(1, 7), (5, 3), (5, 5), (5, 6), (50, 49), (50, 1234)])
def test_log_keeps_the_latest_calls(box, limit, calls):
    result = box.run("notes", "many", calls, env={"HOTPATH_LOGS_LIMIT": limit})
    assert notes(result.report, "step") == [str(number) for number in reversed(range(calls))][:limit]
    assert result.calls("step") == calls and result.report.lost == {}
    ages = [row.ago_ns for row in kept_calls(result.report, "step")]
    assert ages == sorted(ages)
    assert {row.tid for row in kept_calls(result.report, "step")} == {result.pid}


def test_default_log_limit_and_no_limit(box):
    for limit, kept in ((None, 50), ("0", 300)):
        result = box.run("notes", "many", 300, env={"HOTPATH_LOGS_LIMIT": limit})
        assert notes(result.report, "step") == [str(number) for number in reversed(range(300))][:kept]


@pytest.mark.parametrize("how", ["same_time", "one_by_one"])
def test_calls_of_several_threads(box, how):
    """One list, newest first, each with the thread that made it, even if the thread has ended and its record was
    reused."""
    result = box.run("notes", how, 40, env={"HOTPATH_LOGS_LIMIT": 100})
    rows = kept_calls(result.report, "step")
    assert [row.note for row in rows] == [str(number) for number in reversed(range(120))][:100]
    for row in rows:
        assert row.tid == result.told[f"turn_{row.note}"]
    assert len({row.tid for row in rows}) == 3


@pytest.mark.parametrize("chosen, names", [
    ("parse_head", {"parse_head"}),
    ("parse_*", {"parse_head", "parse_body"}),
    ("/^(send|parse_body)$/", {"send", "parse_body"}),
    ("parse*,-parse_h*", {"parse_body"}),
    ("file:notes.c", {"parse_head", "parse_body", "send"}),
    ("file:notes.c,-send", {"parse_head", "parse_body"}),
    ("nobody,file:other.c", set()),
], ids=lambda value: value if isinstance(value, str) else "")
def test_log_variable_chooses_functions(box, chosen, names):
    report = box.run("notes", "chosen", env={"HOTPATH_LOG": chosen}).report
    assert {row.name for row in report.rows("calls")} == names
    texts = {"parse_head": "head", "parse_body": "body", "send": "sent"}
    for name in names:
        assert notes(report, name) == [f"{texts[name]} {number}" for number in (2, 1, 0)]


def test_notes_stay_with_their_calls(box):
    report = box.run("notes", "nested").report
    assert notes(report, "outer") == [f"before {number}, after {number}" for number in (2, 1, 0)]
    assert notes(report, "outer_late") == [f"late {number}" for number in (2, 1, 0)]
    assert notes(report, "outer_silent") == [None] * 3
    assert notes(report, "inner") == [f"inner {number}" for number in (202, 102, 2, 201, 101, 1, 200, 100, 0)]


@without_emulator("its clock is too coarse to tell these calls apart")
def test_notes_of_recursion(box):
    report = box.run("notes", "recursion").report
    assert notes(report, "descend") == [f"down {level}" + (f", up {level}" if level % 2 else "")
                                        for level in range(9, -1, -1)]


def test_texts_of_notes(box):
    report = box.run("notes", "texts").report
    letters = "abcdefghijklmnopqrstuvwxyz" * 20
    cut = lambda text: text if len(text) <= 200 else text[:197] + "..."
    assert notes(report, "of_length") == [cut(letters[:length]) for length in (399, 201, 200, 199, 1)]
    assert notes(report, "in_two") == [cut(f"{letters[:first]}, {letters[:second]}") for first, second in (
        (200, 1), (199, 1), (198, 1), (100, 99), (100, 98), (10, 10))]
    assert notes(report, "formatted") == ["text|   42|7   |-5000000000|9|0xff|0.500|c|%|ab"]
    assert notes(report, "odd") == ["tab\there \"quoted\" back\\slash new\nline \x1b[31m"]
    assert notes(report, "nothing_in_it") == [None]


def test_notes_are_not_evaluated_unless_kept(box):
    """While calls are sampled the slowest ones are not followed, so only a log wants notes."""
    result = box.same("notes", "nowhere", env={"HOTPATH_TIME_SAMPLING_RATE": "1/2"})
    assert result.aside["evaluated_nowhere"] == 0 and result.aside["evaluated"] == 1
    assert notes(result.report, "kept") == ["1"] and notes(result.report, "inside") == [None]
    assert box.run("notes_off", "nowhere").aside["evaluated"] == 0
    assert box.run("notes", "nowhere", env={"HOTPATH": "0"}).aside["evaluated"] == 0


def test_notes_leave_errno_alone(box):
    result = box.run("notes", "errno")
    assert result.aside["errno"] == 4711 and notes(result.report, "keeps_errno") == ["fine"]


def test_notes_of_calls_left_by_longjmp(box):
    result = box.run("notes", "jumps")
    assert notes(result.report, "leaves") == [f"left {number}" for number in range(5, -1, -1)]
    assert notes(result.report, "follows") == [f"followed {number}" if number % 2 == 0 else None
                                               for number in range(5, -1, -1)]


@without_emulator("it is compiled by the compilers of this machine")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("mode", ["-DHOTPATH=1", "-DHOTPATH=0"])
def test_the_compiler_checks_formats(box, compiler, mode):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    def messages(note):
        source = box.path / "note.c"
        source.write_text("#include <hotpath.h>\nvoid f(long n);\n"
                          f"void f(long n)\n{{\n    HOTPATH_MEASURE(.log = 1);\n    (void)n;\n    {note};\n}}\n")
        done = subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", mode, f"-I{SOURCE}/include", "-c", "-o",
                               box.path / "note.o", source], capture_output=True, text=True)
        assert done.returncode == 0
        return done.stderr
    assert messages('HOTPATH_NOTE("%ld", n)') == "" and messages('HOTPATH_NOTE("plain")') == ""
    for wrong in ('HOTPATH_NOTE("%d", n)', 'HOTPATH_NOTE("%s", n)', 'HOTPATH_NOTE("%ld")',
                  'HOTPATH_NOTE("%ld", n, n)'):
        assert "-Wformat" in messages(wrong), wrong


# ---------------------------------------------------------------------- read while it runs, and after it was killed

THREADS = 3


def progress_of(path):
    """Per thread: calls begun and ended, as the program wrote them into its own shared file."""
    data = path.read_bytes()
    return [struct.unpack_from("QQ", data, 128 * thread) for thread in range(THREADS)]


def number_of(note):
    """The number in a note of the storm, which must be the note that belongs to it."""
    number = int(note.split()[0])
    assert note == f"{number} {'abcdefghijklmnopqrstuvwxyz'[:number % 26]} {number * 2654435761 % 2 ** 32:08x}"
    return number


def numbers_by_thread(report):
    """The calls of each thread are its latest, one after the other."""
    found = {}
    for row in kept_calls(report, "quick"):
        found.setdefault(row.tid, []).append(number_of(row.note))
    for numbers in found.values():
        assert numbers == list(range(numbers[0], numbers[0] - len(numbers), -1))
    return found


def start_storm(box, env=None):
    folder = box.folder()
    progress = folder / "progress"
    process = box.start("notes", "storm", progress, folder=folder, env=env)
    while not progress.exists() or progress.stat().st_size == 0:
        assert process.poll() is None
        time.sleep(0.0005)
    return process, progress


@without_emulator("its own memory is shared with the program's")
def test_sigkill_while_calls_are_logged(box):
    """Each thread's list ends with its latest call: ended calls are there, the current one may be."""
    chance = random.Random(2)
    with_calls = 0
    times = 50 if not SANITIZER else 10
    for at in range(times):
        process, progress = start_storm(box, env={"HOTPATH_LOGS_LIMIT": chance.choice([1, 3, 50])})
        # Every other time not before a call has ended, however slow the machine is; else at any moment.
        while progress_of(progress)[0][1] == 0 and (at % 2 == 0 or chance.random() < 0.9):
            assert process.poll() is None
            time.sleep(0.0005)
        time.sleep(chance.choice([0, 0.0003, 0.001, 0.003, 0.01, 0.02]) * chance.random())
        process.send_signal(signal.SIGKILL)
        result = box.finish(process)
        assert result.status == -signal.SIGKILL
        [session] = result.sessions()
        report = box.read(session, "--logs-limit", "0")
        latest = sorted(numbers[0] for numbers in numbers_by_thread(report).values())
        calls = sorted((begun, ended) for begun, ended in progress_of(progress))
        # A thread that was killed within its very first call may have none.
        for (begun, ended), number in zip(calls, [-1] * (THREADS - len(latest)) + latest):
            assert ended <= number + 1 <= begun, (calls, latest)
        with_calls += len(latest) > 0
    assert with_calls >= times / 2


@pytest.mark.parametrize("limit", [1, pytest.param(3, marks=full), pytest.param(50, marks=full)])
def test_calls_are_read_while_they_are_logged(box, limit):
    """By the process itself, which reads what its other threads are writing. The shorter the list, the more often a
    call is read while its slot is reused."""
    result = box.run("notes", "report_storm", box.path / "progress", 3000 if not SANITIZER else 100,
                     env={"HOTPATH_REPORT": "calls", "HOTPATH_LOGS_LIMIT": limit})
    assert result.told["seen"] > 0 and result.told["broken"] == 0


# ------------------------------------------------------------------------------------------------ the slowest call

def inside(row):
    """{path of names: calls} of what was inside a call."""
    found = {}
    for child in row.children:
        found[child.name] = child.calls
        found.update({f"{child.name} {path}": calls for path, calls in inside(child).items()})
    return found


def slowest(box, *args, name="handle", status=0, env=None):
    """The slowest call must be the same in the program's own report and when read afterwards."""
    return undisturbed(lambda: slowest_once(box, *args, name=name, status=status, env=env))


def undisturbed(run):
    """Tries again while the machine is so busy that, by the program's own clock, a quick call lasted longer than
    the sleep of the slow one, or the slow one much longer than its sleep."""
    for _ in range(20):
        result, row = run()
        if "disturbed" not in result.told:
            break
    return result, row


def slowest_once(box, *args, name, status=0, env=None):
    result = box.run("slow", *args, status=status, env={"HOTPATH_SLOWEST": name, **(env or {})})
    row = box.read(result.sessions()[0], "--slowest", name).row(name, "slowest")
    if status == 0:
        assert result.row(name, "slowest").values["calls"] == row.calls
        assert inside(result.row(name, "slowest")) == inside(row)
    return result, row


def is_in(part, row, percent=90):
    """Nearly all of a call is in this part of it."""
    return part.total_ns <= row.total_ns <= part.total_ns * 100 / percent


def test_the_slowest_call_of_many(box):
    result, row = slowest(box, "one")
    assert inside(row) == {"step": 7, "load": 1} and row.calls == 1 and row.note == "7 steps"
    assert is_in(row.child("load"), row) and row.total_ns >= 60e6
    assert row.total_ns == pytest.approx(result.row("handle").max_ns, abs=1)
    assert near(row.self_ns, row.total_ns - sum(child.total_ns for child in row.children), 0.001, plus=3)
    assert {name: result.calls(name) for name in ("handle", "step", "load")} == {
        "handle": 101, "step": 307, "load": 1}


def test_slower_call_replaces_the_slowest(box):
    _, row = slowest(box, "later")
    assert inside(row) == {"step": 40, "load": 1} and row.note == "40 steps" and is_in(row.child("load"), row)


def test_the_slowest_of_all_threads(box):
    result, row = slowest(box, "threads")
    assert inside(row) == {"step": 5, "load": 1} and row.note == "5 steps" and row.total_ns >= 100e6
    assert row.tid != result.pid and result.row("handle").threads == 3


def test_the_slowest_call_of_a_recursion(box):
    """The outermost call, with everything inside at any depth."""
    result, row = slowest(box, "recursion", name="descend")
    assert inside(row) == {"step": 6, "load": 1} and is_in(row.child("load"), row)
    assert result.calls("descend") == 20 * 3 + 6 + 20 * 2


def test_the_slowest_call_of_a_deeper_tree(box):
    _, row = slowest(box, "deep", name="top")
    assert inside(row) == {"middle": 2, "middle handle": 2, "middle step": 4, "middle handle step": 5,
                           "middle handle load": 1}
    assert is_in(row.child("middle").child("handle").child("load"), row, 80)
    _, row = slowest(box, "deep")
    assert inside(row) == {"step": 4, "load": 1} and row.note == "4 steps"
    _, row = slowest(box, "deep", name="middle")
    assert inside(row) == {"step": 2, "handle": 1, "handle step": 4, "handle load": 1}


TOO_SHORT_NS = 3000 # on average, sanitizers included; calls of 6 us and more are followed


@without_emulator("calls are not short then")
def test_calls_too_short_for_details(box):
    """The slow one was not followed: only its duration is known, and a line says that it is not the one shown."""
    for _ in range(5):
        result, row = slowest_once(box, "short", name="tiny")
        if result.told["short_ns"] < 20000 * TOO_SHORT_NS:
            break
    assert result.row("tiny").max_ns >= 60e6 and "load" not in inside(row)
    assert re.search(r"a call of tiny took longer, [\d.]+ ms, but has not ended or was not recorded in detail",
                     table(box, *result.sessions(), "--slowest", "tiny"))


def test_the_slowest_call_of_all_processes(box):
    def run():
        result = box.run("slow", "forked")
        return result, box.read(result.folder, "--slowest", "handle").row("handle", "slowest")
    result, row = undisturbed(run)
    assert inside(row) == {"step": 6, "load": 1} and row.pid == row.tid == result.told["child"]


def test_the_slowest_call_survives_sigkill(box):
    _, row = slowest(box, "killed", status=-signal.SIGKILL)
    assert inside(row) == {"step": 7, "load": 1} and row.note == "7 steps" and is_in(row.child("load"), row)
