"""Single messages, items, tasks and values in the section `recent`: the truth is what the program says it did, and
every message follows from its id."""
import random
import signal
import time

import pytest

from harness import SANITIZER, full, without_emulator
from test_views import follows_the_schema

LOGGED = {"HOTPATH_LOG": "messages,lines,level,job"}


def records(report, name):
    return [row for row in report.rows("recent") if row.name == name]


def is_whole(row):
    """Size and text follow from the id. A message that was just sent may not have its text yet."""
    text = f"m{row.message_id} {row.message_id * 2654435761 % 2 ** 32}"
    return row.size_bytes == row.message_id % 1000 + 1 and row.text in (text, None)


def by_thread(rows):
    found = {}
    for row in rows:
        found.setdefault(row.tid, []).append(row)
    return found


def told_messages(result):
    """{thread: [(what, index, id, least delay, most delay), ...]}, the latest first."""
    told = {}
    for line in result.stdout.splitlines():
        tid, what, *numbers = line.split()
        told.setdefault(int(tid), []).append((what, *map(int, numbers)))
    return told


@without_emulator("its threads have other ids")
@pytest.mark.parametrize("count", [40, 20000, pytest.param(1000000, marks=full)])
def test_messages_of_four_threads_after_sigkill(box, count):
    result = box.run("logged", "messages", count, 1, status=-signal.SIGKILL, env=LOGGED)
    [session] = result.sessions()
    report = box.read(session, "--section", "recent", "--logs-limit", "0")
    told, found = told_messages(result), by_thread(records(report, "messages"))
    assert found.keys() == told.keys()
    for tid, rows in found.items():
        assert [(row.what, row.index, row.message_id) for row in rows] == [message[:3] for message in told[tid]]
        for row, (what, _, _, least, most) in zip(rows, told[tid]):
            assert is_whole(row) and (row.text is not None) == (what == "sent")
            if what == "received":
                assert 0.999 * least <= row.duration_ns <= 1.001 * most + 1000  # two clocks
    ages = [row.ago_ns for row in report.rows("recent")]
    assert ages == sorted(ages) and report.lost == {}
    follows_the_schema(report)


@without_emulator("its own memory is shared with the program's")
def test_sigkill_at_any_moment(box):
    chance = random.Random(3)
    for _ in range(20 if not SANITIZER else 4):
        process = box.start("logged", "storm", env=dict(LOGGED, HOTPATH_LOGS_LIMIT=chance.choice([1, 3, 50])))
        time.sleep(0.05 + 0.05 * chance.random())
        process.send_signal(signal.SIGKILL)
        result = box.finish(process)
        for session in result.sessions():
            report = box.read(session, "--section", "recent", "--logs-limit", "0")
            for rows in by_thread(records(report, "messages")).values():
                assert all(is_whole(row) for row in rows)
                assert [row.index for row in rows] == list(range(rows[0].index, rows[0].index - len(rows), -1))


@pytest.mark.parametrize("limit", [1, pytest.param(3, marks=full), pytest.param(50, marks=full)])
def test_messages_are_read_while_they_are_logged(box, limit):
    result = box.run("logged", "read", 1000 if not SANITIZER else 50,
                     env=dict(LOGGED, HOTPATH_REPORT="recent", HOTPATH_LOGS_LIMIT=limit))
    assert result.told["seen"] > 0 and result.told["broken"] == 0


def test_items_values_and_tasks(box):
    report = box.run("logged", "things", env=dict(LOGGED, HOTPATH_REPORT="recent")).report
    lines = records(report, "lines")
    assert [(row.what, row.index, row.size_bytes, row.text) for row in lines] == [
        ("item", at, 10 + at, f"line {at}") for at in (4, 3, 2, 1, 0)]
    assert lines[-1].duration_ns is None and all(row.duration_ns > 0 for row in lines[:-1])
    assert [(row.what, row.text) for row in records(report, "level")] == [
        ("value", text) for text in ("6", "4.5", "3", "1.5", "0")]
    tasks = [row for row in records(report, "job") if row.what != "poll"]
    assert [(row.what, row.polls, row.text) for row in tasks] == [
        ("cancelled", 3, None), ("ready", 2, "result 2"), ("ready", 1, "result 1")]
    for row in tasks:
        if not SANITIZER:  # which has malloc for itself
            assert row.alloc_count == row.polls and row.alloc_bytes == 100 * row.polls ** 2
        assert row.busy_ns >= 2e6 * row.polls and row.waiting_ns >= 4e6 * row.polls
        assert abs(row.busy_ns + row.waiting_ns - row.duration_ns) <= 2
    assert len([row for row in records(report, "job") if row.what == "poll"]) == 6
    assert [(row.what, row.items, row.text) for row in records(report, "messages")] == [
        ("text", None, "alone"), ("refused", 3, "too many")]
    follows_the_schema(report)


@pytest.mark.parametrize("limit, kept", [(2, 2), (0, 20)])
def test_the_limit_holds_for_all_kinds(box, limit, kept):
    report = box.run("logged", "messages", 20, env=dict(LOGGED, HOTPATH_REPORT="recent",
                                                        HOTPATH_LOGS_LIMIT=limit)).report
    assert len(records(report, "messages")) == (kept if limit else 2 * kept)
    report = box.run("logged", "things", env=dict(LOGGED, HOTPATH_REPORT="recent", HOTPATH_LOGS_LIMIT=limit)).report
    for name in ("lines", "level"):
        assert len(records(report, name)) == min(kept, 5)


def test_focus_and_nothing_logged(box):
    report = box.run("logged", "things", env=dict(LOGGED, HOTPATH_REPORT="recent", HOTPATH_FOCUS="level")).report
    assert {row.name for row in report.rows("recent")} == {"level"}
    report = box.run("logged", "things", env={"HOTPATH_REPORT": "recent"}).report
    assert report.rows("recent") == []
