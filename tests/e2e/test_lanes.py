"""Coroutines that keep zones open while others run. tests/programs/lanes.c defines how often each zone runs."""
import json

import pytest

from harness import EMULATOR, SANITIZER, between, with_glibc, without_emulator, without_sanitizer

pytestmark = with_glibc("musl has no ucontext")

WAYS = pytest.mark.parametrize("way", ["ucontext", "asm"])


def timing_rows(result):
    return {row.name: row for row in result.report.rows()}


def walk(rows):
    for row in rows:
        yield row
        yield from walk(row.children)


# ---------------------------------------------------------------------------------------------------- counts

@WAYS
@pytest.mark.parametrize("threads, coroutines", [(1, 5), (4, 64)])
def test_tasks_that_requeue_themselves(box, way, threads, coroutines):
    """Each continues on any free thread. Counts and bytes are exact; nothing is foreign or abandoned."""
    steps = 100 if not SANITIZER and not EMULATOR else 10
    result = box.same("lanes", "pool", way, steps, threads, coroutines)
    rows = timing_rows(result)
    all_steps = coroutines * steps
    assert rows["task"].calls == coroutines
    assert rows["step"].calls == rows["before"].calls == rows["after"].calls == all_steps
    assert rows["descend"].calls == 3 * all_steps
    assert rows["work"].calls == threads
    assert rows["poll"].calls == result.told["resumed"] == 2 * all_steps + 2 * coroutines
    # One for each time that it was suspended, except before it began.
    assert rows["<suspended>"].calls == result.told["resumed"] - coroutines
    assert all(row.open == 0 for row in rows.values())
    assert result.report.lost == {}


@without_sanitizer("they have malloc for themselves")
@WAYS
@pytest.mark.parametrize("threads, coroutines", [(1, 5), (4, 64)])
def test_bytes_of_tasks_that_requeue_themselves(box, way, threads, coroutines):
    steps = 100
    report = box.run("lanes", "pool", way, steps, threads, coroutines).report
    all_steps = coroutines * steps
    rows = {row.name: row for row in report.rows("alloc-bytes")}
    assert rows["step"].own_bytes == 1000 * all_steps and rows["step"].own_count == all_steps
    assert rows["before"].own_bytes == 300 * all_steps and rows["before"].own_count == all_steps
    assert rows["step"].all_bytes == 1300 * all_steps
    assert rows["task"].all_bytes == 1300 * all_steps and rows["task"].own_bytes == 0
    for name in ("work", "poll", "descend", "after", "<suspended>"):
        assert rows[name].all_bytes == 0, name
    # A step has the kept and the temporary block at once, and a task no more than that, on any thread.
    assert 1300 <= rows["step"].peak_usable_bytes == rows["task"].peak_usable_bytes < 1400
    assert rows["task"].net_usable_bytes == rows["step"].net_usable_bytes == 0


def test_the_tree_has_coroutines_below_their_own_calls(box):
    """Not below their resumers, and their suspensions where they happen."""
    result = box.run("lanes", "pool", "ucontext", 10, 1, 5)
    roots = {row.name: row for row in result.report.rows("calltree")}
    assert set(roots) == {"main", "work", "task"}
    assert {row.name for row in roots["work"].children} == {"poll"}
    assert roots["work"].child("poll").children == []
    task = roots["task"]
    step = task.child("step")
    assert task.child("<suspended>").calls == 5
    assert step.child("before").child("<suspended>").calls == 50
    assert step.child("descend").child("<suspended>").calls == 50
    # Callees make up all of a call, except for its own time.
    for row in walk([task]):
        if row.name != "descend":
            inside = sum(child.total_ns for child in row.children)
            assert abs(row.total_ns - row.self_ns - inside) <= 1 + len(row.children)
    # Recursive calls: only the outermost ones are the total.
    assert step.child("descend").calls == 150
    assert step.child("descend").total_ns <= step.total_ns


def test_switches_from_one_to_the_next(box):
    """As with libco: control never returns to the previous coroutine, and everything around them is the thread's
    own."""
    result = box.same("lanes", "libco", "asm")
    rows = timing_rows(result)
    assert rows["turn"].calls == 3000 and rows["in ring"].calls == 3 and rows["around"].calls == 1
    # The last three did not go on: their lanes ended with two zones open each.
    assert rows["<suspended>"].calls == 2997
    assert result.report.lost == {"abandoned": 6}


def test_no_suspended_row_without_a_switch(box):
    assert "<suspended>" not in box.run("counts").report.names()


# ----------------------------------------------------------------------------------------------------- times

@WAYS
def test_times(box, way):
    """The program's inner time is within hotpath's, and that is within the program's outer time."""
    result = box.run("lanes", "times", way)
    busy, away, everything = (result.aside[key] for key in ("busy_ns", "away_ns", "all_ns"))
    rows = timing_rows(result)
    timed, suspended, loop = rows["timed"], rows["<suspended>"], rows["loop"]
    assert suspended.calls == 5 and timed.calls == loop.calls == 1
    assert between(away, suspended.total_ns, everything - busy)
    assert between(busy, timed.self_ns, everything - away)
    assert abs(timed.total_ns - timed.self_ns - suspended.total_ns) <= 2
    # For the resumer, the coroutine's time is that of a callee.
    assert between(away, loop.self_ns, everything - busy)
    assert between(busy + away, loop.total_ns, everything)


def test_suspensions_are_not_a_bottleneck(box):
    report = box.run("lanes", "times", "ucontext", env={"HOTPATH_CPU": 1}).report
    assert "<suspended>" not in [row.name for row in report.rows("bottlenecks")]
    assert "<suspended>" not in report.section("bottlenecks").get("summary", "")


# ------------------------------------------------------------------------------------------- unusual endings

@WAYS
def test_ended_with_zones_open(box, way):
    result = box.same("lanes", "dropped", way, 100)
    rows = timing_rows(result)
    assert rows["outer"].calls == rows["inner"].calls == rows["next"].calls == 100
    assert rows["outer"].open == rows["inner"].open == 0
    assert result.report.lost == {"abandoned": 200}
    # Up to when it stopped, not to when it was ended; its suspension belongs to no function.
    assert "<suspended>" not in rows
    assert rows["outer"].total_ns < rows["dropped"].total_ns


@WAYS
def test_ended_by_another_coroutine(box, way):
    result = box.same("lanes", "dropped_inside", way, 100)
    rows = timing_rows(result)
    for name in ("outer", "inner", "dropper", "in dropper", "<suspended>"):
        assert rows[name].calls == 100 and rows[name].open == 0, name
    assert result.report.lost == {"abandoned": 200}


@WAYS
def test_left_by_longjmp(box, way):
    if SANITIZER:
        pytest.skip("sanitizers do not know of jumps between stacks")
    result = box.same("lanes", "jumped", way, 100)
    rows = timing_rows(result)
    assert rows["jumper"].calls == rows["catcher"].calls == rows["next"].calls == 100
    assert all(row.open == 0 for row in rows.values())
    assert result.report.lost == {"abandoned": 100}


@without_sanitizer("a thread that ends on another stack is none that they know")
@WAYS
def test_a_thread_that_ends_on_a_coroutine(box, way):
    result = box.run("lanes", "thread", way, 50)
    rows = timing_rows(result)
    assert rows["thread"].calls == rows["outer"].calls == rows["inner"].calls == 50
    assert all(row.open == 0 for row in rows.values())
    assert result.report.lost == {}


@without_emulator("it is the emulator that is killed")
@pytest.mark.parametrize("case, opens", [
    ("killed", {"main": 1, "outer": 10, "inner": 10, "<suspended>": 10, "at the end": 1}),
    ("killed_inside", {"main": 1, "around": 1, "outer": 1, "inner": 1, "<suspended>": 1, "last": 1}),
])
def test_killed(box, case, opens):
    """Suspended zones are in the session, and so are the thread's own open zones below a running coroutine."""
    result = box.run("lanes", case, "ucontext", status=-9)
    session, = result.sessions()
    report = box.read(session, "-s", "all")
    rows = report.rows()
    assert {row.name: row.open for row in rows} == {row.name: row.calls for row in rows} == opens
    if not SANITIZER:
        assert report.row("inner", "alloc-bytes").own_bytes == 500 * opens["inner"]


# --------------------------------------------------------------------------------- sessions, processes, misuse

def test_lanes_outlive_sessions(box):
    """Zones that are open when a session ends belong to it; in the next one their coroutines begin anew."""
    result = box.run("lanes", "sessions", env={"HOTPATH_OUTPUT_FORMAT": "json", "HOTPATH_OUTPUT_PATH": None})
    reports = []
    for line in result.stderr.splitlines():
        if not line.startswith("{"):
            continue # a sanitizer's
        report = json.loads(line)
        reports.append({row["name"]: row for row in report["sections"]["timing"]["rows"]})
        assert not any(report["trust"]["lost"].values())
    assert len(reports) == 5
    for rows in reports[:4]:
        assert rows["part"]["calls"] == rows["part"]["open"] == 4
        assert rows["<suspended>"]["open"] == 4 and rows["round"]["calls"] == 1
    assert set(reports[4]) == {"round"}


def test_forked_child_continues_lanes(box):
    result = box.run("lanes", "forked", "ucontext")
    assert result.calls("part") == 4 and result.report.lost == {}
    child, = [path for path in result.sessions() if str(result.pid) not in path.name]
    report = box.read(child)
    # Three parts of the one that its parent had begun, in the first of which it was forked, and four of its own.
    assert report.row("part").calls == 7 and report.row("part").open == 0
    assert report.lost == {}


def test_misuse_is_counted_and_harmless(box):
    result = box.same("lanes", "misused")
    rows = timing_rows(result)
    assert rows["first"].calls == rows["second"].calls == rows["own"].calls == 1
    # On another thread; ended; invalid, twice.
    assert result.report.lost == {"lanes": 4}
