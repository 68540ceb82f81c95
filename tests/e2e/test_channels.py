"""Channels of real programs: threads, children, a program that is killed. The expected values are known from the
programs."""
import re
import signal

import pytest

from command import Cli
from harness import PROGRAMS, with_cxx, without_emulator, without_sanitizer
from test_page import page_of
from test_views import follows_the_schema


def channels_of(report):
    return {(row["name"], row["instance"]): row for row in report.section("channels")["rows"]}


def test_threads(box):
    result = box.run("channels", "threads")
    rows = channels_of(result.report)
    jobs = rows["jobs", None]
    items = 2 * 2000 + 8
    assert (jobs["sent"], jobs["received"], jobs["queue"], jobs["dropped"]) == (items, items, 0, 0)
    assert jobs["sent_bytes"] == jobs["received_bytes"] == 4 * items
    assert jobs["queue_max"] == 8 and 0 < jobs["queue_mean"] <= 8
    assert (jobs["instances"], jobs["live"], jobs["state"]) == (1, 0, "closed")
    assert len(rows) == 1 and result.report.lost == {}
    assert jobs["full_ns"] > 0 and jobs["full_waits"] > 0 and jobs["empty_ns"] >= 0
    assert 0 < jobs["percent_full"] <= 100
    follows_the_schema(result.report)


def test_a_slow_consumer(box):
    """How long items waited and the producer was blocked, as the program measured it with its own clock."""
    result = box.run("channels", "slow", env={"HOTPATH_PERCENTILES": "0,50,100"})
    least_ns, most_ns, blocked_ns = map(int, result.stdout.split())
    row = channels_of(result.report)["slow", None]
    assert (row["sent"], row["received"], row["queue"], row["capacity"], row["queue_max"]) == (60, 60, 0, 3, 3)
    assert 0.999 * least_ns <= 60 * row["delay_mean_ns"] <= 1.001 * most_ns  # two clocks
    assert row["full_ns"] == pytest.approx(blocked_ns, rel=0.02)
    # Little's law: items inside equal the throughput times the time each is inside.
    active_s = row["full_ns"] / row["percent_full"] / 1e7
    assert row["queue_mean"] == pytest.approx(60 / active_s * row["delay_mean_ns"] / 1e9, rel=0.01)
    assert row["delay_min_ns"] <= row["delay_p50_ns"] <= row["delay_max_ns"]
    assert row["delay_min_ns"] * 0.99 <= row["delay_mean_ns"] <= row["delay_max_ns"] * 1.01
    assert row["percent_full"] > 50 > row["percent_empty"]
    assert row["rate"] == pytest.approx(60 / active_s, rel=0.25)
    assert (row["senders"], row["receivers"]) == ("produce", "consume")
    follows_the_schema(result.report)


def test_percentiles_of_some_items_are_marked(box):
    """The table of time stamps has 64 places, so the delays of the rest are not known."""
    report = box.run("channels", "crowd").report
    row = channels_of(report)["crowd", None]
    assert (row["received"], row["sampled"]) == (200, "yes") and 0 < row["delays"] <= 64
    assert row["delay_p95_ns"] is not None
    follows_the_schema(report)
    row = channels_of(report)["single", None]
    assert (row["received"], row["delays"], row["sampled"]) == (1, 1, "no")
    text = box.run("channels", "crowd", env={"HOTPATH_OUTPUT_FORMAT": "table",
                                             "HOTPATH_REPORT": "channels"}).report_path.read_text()
    assert re.search(r"^\| crowd .*\| +\^\d\S* \S+ \|", text, re.M), text
    assert re.search(r"^\| single [^^]*$", text, re.M), text
    assert "\n^ delays were measured for only some of the items, and percentiles are about these\n" in text


@without_emulator("/proc is that of the machine below")
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_marks_of_percentiles_on_screen_and_page(box):
    """In the console and in the page as in the report."""
    cli = Cli(box)
    cli("run", "--format", "none", "--", PROGRAMS / "channels", "crowd")
    screen = cli("console", "--once", "--tab", "5", "--size", "220x40", "channels",
                 env={"LC_ALL": "C.UTF-8"}).stdout
    assert re.search(r"^[ ›]+crowd .* \^\d\S* \S+ ", screen, re.M), screen
    section = page_of(cli).data["sections"]["channels"]
    assert section["marks"] == {"0": {f"delay_p{percent}_ns": "^" for percent in (50, 95, 99)}}
    assert any(note.startswith("^ ") for note in section["notes"])


def test_a_slow_child(box):
    """One end of the pipe is in another process: timestamps of both have the same clock."""
    result = box.run("channels", "slow_fork")
    least_ns, most_ns, _ = map(int, result.stdout.split())
    row = channels_of(box.read(result.folder))["slow", None]
    assert (row["sent"], row["received"], row["queue"], row["state"]) == (60, 60, 0, "empty")
    assert 0.999 * least_ns <= 60 * row["delay_mean_ns"] <= 1.001 * most_ns  # two clocks
    assert row["receivers"] == "consume_pipe"


def test_both_ends_of_a_pipe_are_one_channel(box):
    result = box.run("channels", "forks")
    pipe = channels_of(box.read(result.folder))["pipe", None]
    assert (pipe["sent"], pipe["received"], pipe["queue"]) == (101, 101, 0)
    assert (pipe["sent_bytes"], pipe["received_bytes"]) == (1000, 1000)


def test_queue_of_a_killed_program(box):
    result = box.run("channels", "killed", status=-signal.SIGKILL)
    rows = channels_of(box.read(result.sessions()[0]))
    assert rows["left", None]["queue"] == 6 and rows["left", None]["location"]["function"] == "until_killed"
    ended = {row["state"]: (row["sent"], row["received"], row["queue"]) for (_, where), row in rows.items()
             if where}
    assert ended == {"open": (7, 2, 5), "closed": (1, 0, 1)}


@with_cxx
def test_cxx(box):
    report = box.run("channels_cxx", env={"HOTPATH_LOG": "typed,counted"}).report
    rows = channels_of(report)
    assert rows["typed", None]["recent"] == "3 numbers" and rows["typed", None]["capacity"] == 10
    counted = report.row("counted", "streams")
    assert (counted.items, counted.item_bytes, counted.state) == (5, 20, "ended")
    assert counted.recent == "number 4, number 3, number 2, number 1, number 0"
    follows_the_schema(report)
    typed = rows.pop(("typed", None))
    assert (typed["sent"], typed["received"], typed["queue"], typed["sent_bytes"]) == (4, 4, 0, 3 * 4 + 8)
    assert sorted((row["sent"], row["state"]) for row in rows.values()) == [(1, "closed"), (3, "empty")]


def test_the_table(box):
    text = box.run("channels", "threads", env={"HOTPATH_OUTPUT_FORMAT": "table",
                                               "HOTPATH_REPORT": "channels"}).report_path.read_text()
    assert "channels - " in text and "| Channel |" in text and "| jobs    |" in text


def test_off_at_run_time(box):
    result = box.run("channels", "threads", env={"HOTPATH": "0"})
    assert result.stderr == "" and result.stdout == ""


def test_the_first_line_names_the_consumer(box):
    report = box.run("channels", "slow", env={"HOTPATH_CPU": "1"}).report
    assert re.search(r"Senders of slow were blocked \d+ % of their time: the consumer consume is the bottleneck",
                     report.values["meta"]["headline"])
