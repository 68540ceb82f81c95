"""Channels of real programs: threads, children, a program that is killed. What they should be is known from the programs."""
import signal

from harness import with_cxx
from test_views import follows_the_schema


def objects_of(report):
    return {(row["name"], row["instance"]): row for row in report.section("objects")["rows"]}


def test_threads(box):
    result = box.run("channels", "threads", env={"HOTPATH_PERCENTILES": "50,100"})
    rows = objects_of(result.report)
    jobs = rows["jobs", None]
    items = 2 * 2000 + 8
    assert (jobs["sent"], jobs["received"], jobs["inside"]) == (items, items, 0)
    assert jobs["sent_bytes"] == jobs["received_bytes"] == 4 * items
    assert jobs["max_length"] == jobs["length_max"] == 8
    assert (jobs["instances"], jobs["live"]) == (1, 0)
    assert len(rows) == 1 and result.report.lost == {}
    assert jobs["full_ns"] > 0 and jobs["empty_ns"] >= 0
    follows_the_schema(result.report)


def test_both_ends_of_a_pipe_are_one_channel(box):
    result = box.run("channels", "forks")
    pipe = objects_of(box.read(result.folder))["pipe", None]
    assert (pipe["sent"], pipe["received"], pipe["inside"]) == (101, 101, 0)
    assert (pipe["sent_bytes"], pipe["received_bytes"]) == (1000, 1000)


def test_a_killed_program_says_what_was_inside(box):
    result = box.run("channels", "killed", status=-signal.SIGKILL)
    rows = objects_of(box.read(result.sessions()[0]))
    assert rows["left", None]["inside"] == 6 and rows["left", None]["location"]["function"] == "until_killed"
    ended = {row["state"]: (row["sent"], row["received"], row["inside"]) for (_, where), row in rows.items() if where}
    assert ended == {"live": (7, 2, 5), "ended": (1, 0, 1)}


@with_cxx
def test_cxx(box):
    rows = objects_of(box.run("channels_cxx").report)
    typed = rows.pop(("typed", None))
    assert (typed["sent"], typed["received"], typed["inside"], typed["sent_bytes"]) == (4, 4, 0, 3 * 4 + 8)
    assert sorted((row["sent"], row["state"]) for row in rows.values()) == [(1, "ended"), (3, "live")]


def test_the_table(box):
    text = box.run("channels", "forks", env={"HOTPATH_OUTPUT_FORMAT": "table", "HOTPATH_REPORT": "objects"}).report_path.read_text()
    assert "objects - " in text and "| Object | Kind    |" in text and "| pipe   | channel |" in text


def test_off_at_run_time(box):
    result = box.run("channels", "threads", env={"HOTPATH": "0"})
    assert result.stderr == "" and result.stdout == ""
