"""Calls with more detail than sums, and calls with less: the latest calls with their notes, the slowest call with
its contents, rows per key, sampling, and functions too small to be timed.

The truth is known by construction: running numbers in notes, calls that the programs count, and sleeps that are
a hundred times as long as everything around them.
"""
import random
import re
import shutil
import signal
import struct
import subprocess
import time

import pytest

from harness import (EMULATOR, HOTPATH, SANITIZER, SOURCE, TIMEOUT, between, near, without_emulator,
                     without_sanitizer)
from sampled_calls import Countdown, timed_of

ON = {"HOTPATH": "1"}


def in_one_of_three(check):
    """A busy machine can stop a program at a bad time: between its own clock and a zone's, or in a call that should
    be quick. A real error fails every time."""
    for attempt in range(3):
        try:
            return check()
        except AssertionError:
            if attempt == 2:
                raise


def table(box, session, *args):
    """`hotpath report` of a session as a table."""
    done = subprocess.run(EMULATOR + [str(HOTPATH), "report", *args, str(session)], capture_output=True, text=True,
                          timeout=TIMEOUT, env=box.environment(box.path, {
                              "HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_REPORT": None,
                                                                          "HOTPATH_OUTPUT_PATH": None}))
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept_calls(report, name):
    """The calls of a function in the section `calls`, in its order."""
    return [row for row in report.rows("calls") if row.name == name]


def notes(report, name):
    return [row.values.get("note") for row in kept_calls(report, name)]


# ------------------------------------------------------------------------------------------------ the latest calls

@pytest.mark.parametrize("limit, calls", [(1, 7), (5, 3), (5, 5), (5, 6), (50, 49), (50, 1234)])
def test_the_last_so_many_calls(box, limit, calls):
    result = box.run("notes", "many", calls, env={"HOTPATH_LOGS_LIMIT": limit})
    assert notes(result.report, "step") == [str(number) for number in reversed(range(calls))][:limit]
    assert result.calls("step") == calls and result.report.lost == {}
    ages = [row.ago_ns for row in kept_calls(result.report, "step")]
    assert ages == sorted(ages)
    assert {row.tid for row in kept_calls(result.report, "step")} == {result.pid}


def test_the_usual_limit_and_none(box):
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
def test_chosen_from_outside(box, chosen, names):
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


def test_notes_that_nobody_keeps_cost_nothing(box):
    """While calls are sampled the slowest ones are not followed, so only a log wants notes."""
    result = box.same("notes", "nowhere", env={"HOTPATH_TIME_SAMPLING_RATE": "1/2"})
    assert result.aside["evaluated_nowhere"] == 0 and result.aside["evaluated"] == 1
    assert notes(result.report, "kept") == ["1"] and notes(result.report, "inside") == [None]
    assert box.run("notes_off", "nowhere").aside["evaluated"] == 0
    assert box.run("notes", "nowhere", env={"HOTPATH": "0"}).aside["evaluated"] == 0


def test_notes_leave_errno_alone(box):
    result = box.run("notes", "errno")
    assert result.aside["errno"] == 4711 and notes(result.report, "keeps_errno") == ["fine"]


def test_notes_of_calls_that_longjmp_left(box):
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


@pytest.mark.parametrize("limit", [1, 3, 50])
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
    """The slowest call must be the same in the program's own report and when read afterwards. Tries again if the
    machine is so busy that a quick call lasts longer than a sleep of 60 ms, or the slow one much longer than its
    sleep."""
    return with_other_chances(lambda: slowest_once(box, *args, name=name, status=status, env=env))


def with_other_chances(run):
    for _ in range(3):
        result, row = run()
        if any(found.name == "load" and is_in(found, row) for found in result_rows(row)):
            break
    return result, row


def result_rows(row):
    """A row and all below it."""
    return [row] + [found for child in row.children for found in result_rows(child)]


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


def test_a_slower_call_takes_its_place(box):
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
def test_calls_too_short_to_be_followed(box):
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
    result, row = with_other_chances(run)
    assert inside(row) == {"step": 6, "load": 1} and row.pid == row.tid == result.told["child"]


def test_the_slowest_call_survives_sigkill(box):
    _, row = slowest(box, "killed", status=-signal.SIGKILL)
    assert inside(row) == {"step": 7, "load": 1} and row.note == "7 steps" and is_in(row.child("load"), row)


# ----------------------------------------------------------------------------------------------------------- keys

def by_name(report):
    return {row.name: row.calls for row in report.rows()}


@pytest.mark.parametrize("limit", [None, 100])
def test_keys_of_eight_threads_at_once(box, limit):
    """Also if there is room for exactly as many keys as there are."""
    result = box.same("keys", "threads", env={"HOTPATH_KEYS_LIMIT": limit})
    assert len(result.told) == 100 and sum(result.told.values()) == 8 * (100 + 5000)
    assert by_name(result.report) == {"measured": 1, **result.told}
    assert result.row("many[k0]").threads == 8 and result.report.lost == {}


@pytest.mark.parametrize("limit, keys", [(10, 30), (1, 3), (30, 30), (None, 300)])
def test_more_keys_than_are_told_apart(box, limit, keys):
    result = box.run("keys", "rising", keys, env={"HOTPATH_KEYS_LIMIT": limit})
    told_apart = min(limit or 256, keys)
    expected = {f"many[k{key}]": key + 1 for key in range(told_apart)}
    if keys > told_apart:
        expected["many[<other>]"] = sum(key + 1 for key in range(told_apart, keys))
    assert by_name(result.report) == {"measured": 1, **expected} and result.report.lost == {}


def test_odd_keys(box):
    """Keys that differ only beyond the cut are one."""
    result = box.run("keys", "odd")
    rows = by_name(result.report)
    [broken] = [name for name in rows if "\ufffd" in name or "xff" in name]
    assert rows.pop(broken) == 1
    assert rows == {"measured": 1, "odd[(null)]": 2, "odd[]": 1, "odd[a\tb\nc\x1b[31m]": 1, "odd[grün €]": 1,
                    "odd[]]": 1, f"odd[{'l' * 120}]": 2, f"odd[{'l' * 119}]": 1}
    shown = table(box, *result.sessions())
    assert "odd[a\\tb\\nc\\x1b[31m]" in shown and "\x1b" not in shown


def test_one_key_at_several_places(box):
    rows = {row.name: row for row in box.run("keys", "places").report.rows()}
    same = [row for name, row in rows.items() if name.endswith("place[same]")]
    assert sorted(row.calls for row in same) == [3, 5] and rows["elsewhere[same]"].calls == 7
    source = (SOURCE / "tests" / "programs" / "keys.c").read_text().splitlines()
    for row in same:
        assert 'HOTPATH_BLOCK_KEY("place"' in source[row.location["line"] - 1]
        assert row.name == f"keys.c:{row.location['line']} place[same]"


def test_keys_after_fork(box):
    result = box.run("keys", "forked")
    assert by_name(result.report) == {"measured": 1, "odd[parent]": 2, "odd[both]": 2}
    [child] = [session for session in result.sessions() if str(result.told["child"]) in session.name]
    rows = by_name(box.read(child))
    rows.pop("measured", None)
    assert rows == {"odd[both]": 3, "odd[child]": 3}


def test_keys_in_blocks_with_keys(box):
    measured = box.run("keys", "nested").row("measured", "calltree")
    assert inside(measured) == {
        "request[GET]": 4, "request[GET] query[users]": 4, "request[GET] again[GET]": 4,
        "request[SET]": 2, "request[SET] query[users]": 2, "request[SET] query[log]": 2,
        "request[SET] again[SET]": 2, "request[SET] again[SET] request[GET]": 2,
        "request[SET] again[SET] request[GET] query[users]": 2,
        "request[SET] again[SET] request[GET] again[GET]": 2}


def test_keys_of_sessions_that_follow_on_one_another(box):
    """The program reports twice; the second report replaces the first."""
    result = box.run("keys", "sessions")
    assert by_name(result.report) == {"odd[kept]": 3, "odd[second]": 1}


def test_keys_are_evaluated_once_or_not_at_all(box):
    assert box.run("keys", "evaluation").aside["evaluated"] == 1
    assert box.run("keys_off", "evaluation").aside["evaluated"] == 0


# ------------------------------------------------------------------------------------------------------- sampling

def timed_in_threads(period):
    """How many calls are timed in `sampled threads`: one thread after the other, each starting from the counts of
    the last."""
    countdown = Countdown(period)
    for count in (1000, 17, 1, 33):
        countdown.left = 1
        for _ in range(count):
            countdown.call()
    return countdown.timed


RATES = [("1/2", 2), ("0.5", 2), ("1/16", 16), ("0.0625", 16), ("1/1000", 1000), ("0", 2 ** 32 - 1), ("1", 1)]


@pytest.mark.parametrize("rate, period", RATES)
def test_all_calls_are_counted_and_some_are_timed(box, rate, period):
    a, b, leaf = Countdown(period), Countdown(period), Countdown(period)
    for _ in range(100):
        a.call()
        for _ in range(3):
            leaf.call("a")
        b.call()
        for _ in range(5):
            leaf.call("b")
    for _ in range(7):
        leaf.call("main")
    result = box.run("sampled", "paths", rate)
    rows = {row.name: (row.calls, row.timed) for row in result.report.rows()}
    assert rows == {"main": (1, 1), "a": (100, a.timed), "b": (100, b.timed), "leaf": (807, leaf.timed)}
    assert {row.name: row.sampling for row in result.report.rows()} == {
        name: "sampled" if calls > timed else "none" for name, (calls, timed) in rows.items()}
    assert inside(result.row("main", "calltree")) == {"a": 100, "a leaf": 300, "b": 100, "b leaf": 500, "leaf": 7}
    assert result.report.lost == {} and result.lines == []


def test_threads_count_down_for_themselves(box):
    result = box.run("sampled", "threads", "1/16")
    row = result.row("leaf")
    assert (row.calls, row.timed, row.threads) == (1051, timed_in_threads(16), 4)


@pytest.mark.parametrize("rate, period", [("1/2", 2), ("1/16", 16), ("0.03", 33), ("1", 1)])
def test_times_are_scaled_up(box, rate, period):
    """Timed calls stand for all, but cannot exceed the time around them. Which calls are timed is known; their
    length lies between what the program saw just inside the zone and around it."""
    result = box.run("sampled", "durations", rate)
    own = {"parent": [], "child": []}
    for line in result.stdout.splitlines():
        name, inside_ns, around_ns = line.split()
        own[name].append((int(inside_ns), int(around_ns)))
    parent, child = result.row("parent"), result.row("child")
    for row, most_ns in ((parent, result.row("main").total_ns), (child, parent.total_ns)):
        inside_ns, around_ns = zip(*[own[row.name][at] for at in timed_of(row.calls, period)])
        assert (row.calls, row.timed) == (len(own[row.name]), len(inside_ns))
        scale = row.calls / row.timed
        is_bounded = near(row.total_ns, most_ns, 0.001) and sum(around_ns) * scale >= row.total_ns
        assert is_bounded or between(sum(inside_ns) * scale, row.total_ns, sum(around_ns) * scale)
        assert between(max(inside_ns), row.max_ns, max(around_ns))
        assert between(min(inside_ns), row.min_ns, min(around_ns))
        assert near(row.avg_ns, row.total_ns / row.calls, 0.001, plus=1)
        assert row.min_ns <= row.p95_ns <= row.max_ns
    assert child.self_ns == child.total_ns
    assert near(parent.self_ns, max(0, parent.total_ns - child.total_ns), 0.001, plus=3)


@pytest.mark.parametrize("rate", ["1/2", "1/16", "0"])
def test_recursion_is_sampled_within(box, rate):
    """The outermost calls are all timed, so their total is not an estimate, and the self time is all of it."""
    result = box.run("sampled", "recursion", rate)
    row = result.row("fib")
    assert row.calls == result.told["fib"] == 20 * 465 and 20 <= row.timed < row.calls
    assert between(result.told["inside_ns"], row.total_ns, result.told["around_ns"])
    assert near(row.self_ns, row.total_ns, 0.001, plus=3)


def test_which_rate_holds(box):
    """The environment overrides the program, and the rate of the section overrides the general one."""
    def period_of(env):
        return box.run("sampled", "threads", "1/4", env=env).row("leaf").timed
    general, own = "HOTPATH_TIME_SAMPLING_RATE", "HOTPATH_FUNCTIONS_TIME_SAMPLING_RATE"
    assert period_of({}) == timed_in_threads(4)
    assert period_of({general: "1/8"}) == timed_in_threads(8)
    assert period_of({general: "1/8", own: "1/2"}) == timed_in_threads(2)
    assert period_of({own: "1/10"}) == timed_in_threads(10)


@pytest.mark.parametrize("value", ["2", "1/0", "-1", "often", "1/x", "1/"])
def test_rates_that_are_none(box, value):
    for name in ("HOTPATH_TIME_SAMPLING_RATE", "HOTPATH_FUNCTIONS_TIME_SAMPLING_RATE"):
        result = box.run("sampled", "paths", env={name: value})
        [line] = result.lines
        assert f"{name}='{value}' is not a fraction such as 1/16 or 0.0625" in line
        assert result.row("leaf").timed == result.row("leaf").calls == 807


def test_sampled_rows_are_marked(box):
    def shown(rate):
        [session] = box.run("sampled", "paths", rate).sessions()
        return table(box, session)
    note = "^ sampled: all calls are counted, some are timed; times are extrapolated"
    lines = [line for line in shown("1/16").splitlines() if line.startswith("|")]
    assert note in shown("1/16") and "^" not in shown("1")
    assert any(line.startswith("| leaf ") and "^" in line for line in lines)
    assert not any(line.startswith("| main ") and "^" in line for line in lines)


@pytest.mark.parametrize("rate", ["1/16", "0"])
def test_logged_calls_are_all_timed(box, rate):
    result = box.run("sampled", "logged", rate)
    assert (result.row("kept").calls, result.row("kept").timed, result.row("kept").sampling) == (40, 40, "none")
    assert result.row("leaf").calls == 40 and result.row("leaf").timed == (3 if rate == "1/16" else 1)
    assert notes(result.report, "kept") == [str(number) for number in range(39, -1, -1)]


# ---------------------------------------------------------------------------------- functions too small to be timed

@without_emulator("no function is small then")
@without_sanitizer("no function is small then")
def test_tiny_functions_are_limited_and_others_are_not(box):
    def check():
        result = box.run("limited", "mixed", env=ON)
        assert by_name(result.report) == {"main": 1, "mixed": 1, "hundred": 10000, "tiny": 1000000, "medium": 10000}
        tiny, medium = result.row("tiny"), result.row("medium")
        assert medium.sampling == result.row("hundred").sampling == "none" and medium.timed == 10000
        assert inside(result.row("main", "calltree"))["mixed hundred tiny"] == 1000000
        # A call that the kernel interrupts looks slow, so all calls are timed for a while.
        assert tiny.sampling == "limited" and 4096 <= tiny.timed < 500000
        [session] = result.sessions()
        assert "one call in 256 is timed" in table(box, session)
    in_one_of_three(check)


@without_emulator("no function is small then")
@without_sanitizer("no function is small then")
def test_functions_are_small_without_the_measuring_inside_them(box):
    """Untimed calls are taken to be like the timed ones."""
    def check():
        result = box.run("limited", "layers", env={**ON, "HOTPATH_PERCENTILES": "50"})
        middle, layers = result.row("middle"), result.row("layers")
        assert (middle.calls, result.calls("tiny"), layers.calls) == (400000, 4800000, 1)
        assert result.row("tiny").sampling == middle.sampling == "limited" and middle.timed < 200000
        assert 0.5 * middle.p50_ns <= middle.avg_ns <= 2 * middle.p50_ns and middle.total_ns <= layers.total_ns
    in_one_of_three(check)


@without_emulator("no function is small then")
@without_sanitizer("no function is small then")
def test_functions_of_which_some_calls_are_long_are_not_small(box):
    """Each long one counts: 2,500 of 5 us, which are nearly all of the time."""
    def check():
        result = box.run("limited", "rows", env=ON)
        uneven = result.row("uneven")
        assert (uneven.calls, uneven.timed, uneven.sampling) == (40000, 40000, "none")
        assert uneven.total_ns >= 2500 * 5000
    in_one_of_three(check)


def test_no_bound(box):
    result = box.run("limited", "mixed", env={**ON, "HOTPATH_MEASURING_BOUND": "0"})
    assert (result.row("tiny").sampling, result.row("tiny").timed) == ("none", 1000000)
    assert result.calls("hundred") == 10000


def test_wrong_bound(box):
    result = box.run("limited", "jumps", env={**ON, "HOTPATH_MEASURING_BOUND": "101"})
    assert "HOTPATH_MEASURING_BOUND='101' is not a percentage from 0 to 100" in result.lines[0]


@without_emulator("no function is small then")
@without_sanitizer("no function is small then")
def test_a_limited_function_that_becomes_slow(box):
    """It is noticed within 384 calls, and then each of the other 216 is timed."""
    def check():
        row = box.run("limited", "moods", env=ON).row("moody")
        assert row.calls == 100600 and 4096 + 216 <= row.timed < 100000 and row.sampling == "limited"
        assert row.max_ns >= 100e3 and row.total_ns >= 216 * 100e3
    in_one_of_three(check)


@pytest.mark.parametrize("case, calls", [
    ("recursion", {"recursion": 1, "fib": 50 * 8361}),
    ("threads", {"threads": 1, "thread": 4, "hundred": 3501, "tiny": 350100}),
    ("jumps", {"jumps": 1, "attempt": 40000, "maybe": 40000, "thrower": 4000, "tiny": 4000}),
])
@pytest.mark.parametrize("bound", [None, "0", "1", "100"])
def test_counts_are_exact_with_limited_functions(box, case, calls, bound):
    def check():
        result = box.run("limited", case, env={**ON, "HOTPATH_MEASURING_BOUND": bound})
        assert by_name(result.report) == {"main": 1, **calls}
        assert case != "jumps" or result.report.lost["abandoned"] >= 1000 * 4
        if bound is None and not SANITIZER and not EMULATOR:
            for name in {"recursion": [], "threads": ["tiny"], "jumps": ["maybe"]}[case]:
                assert result.row(name).sampling == "limited"
    in_one_of_three(check)
