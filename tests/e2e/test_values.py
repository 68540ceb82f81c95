"""Values of real programs: threads, children, handlers, libraries that are loaded and unloaded. The expected values
are known from the programs."""
import signal

import pytest

from harness import PROGRAMS, with_cxx
from test_views import follows_the_schema


def values_of(report):
    return {row["name"]: row for row in report.section("values")["rows"]}


def values(result):
    return values_of(result.report)


def test_threads_that_come_and_go(box):
    rows = values(box.run("values", "threads", env={"HOTPATH_PERCENTILES": "50,99"}))
    index, work, level = rows["index"], rows["work"], rows["open"]
    assert (index["updates"], index["min"], index["max"], index["mean"]) == (80000, 0, 9999, 4999.5)
    assert abs(index["p50"] - 4999) <= 4999 * 0.008 and abs(index["p99"] - 9899) <= 9899 * 0.008
    assert (work["updates"], work["total"], work["min"], work["max"]) == (80000, 10000 * sum(range(8)), 0, 7)
    # Two at a time, so as many records; each thread leaves half of what it added.
    assert level["last_number"] == 100 + 8 * 5000 and level["sampled"] == "yes"
    assert level["updates"] == 1 + 8 * 15000


def test_children_are_added_up(box):
    result = box.run("values", "forks")
    assert len(result.sessions()) == 4
    rows = values_of(box.read(result.folder))
    assert (rows["children"]["total"], rows["children"]["updates"]) == (3, 4)
    assert rows["child[first]"]["total"] == 1 and rows["child[other]"]["total"] == 2
    assert (rows["index"]["updates"], rows["index"]["min"], rows["index"]["max"]) == (300, 0, 299)
    assert rows["moved"]["last_number"] == 0 and rows["set last"]["last"] == "7"
    assert rows["index"]["recent"].startswith("299, 298, 297")


def test_values_set_in_signal_handlers_are_counted(box):
    result = box.run("values", "signals")
    made, handled = map(int, result.stdout.split())
    rows = values(result)
    assert rows["both"]["total"] == made + handled
    assert rows["handled"]["total"] == handled and rows["level"]["last_number"] == handled - made
    assert result.report.lost == {}


def test_reopened_library_continues_its_rows(box):
    rows = values(box.run("values", "plugin", PROGRAMS / "values_plugin.so"))
    assert (rows["of the plugin"]["updates"], rows["of the plugin"]["recent"]) == (3, "2, 1, 0")
    assert rows["of both"]["last_number"] == 8 and rows["of both"]["updates"] == 4


def test_keys_beyond_the_limit_share_a_row(box):
    rows = values(box.run("values", "keys"))
    assert len(rows) == 257 and sum(row["total"] for row in rows.values()) == 4 * 4 * 300
    assert all(row["total"] == 16 for name, row in rows.items() if name != "keys[<other>]")
    assert rows["keys[<other>]"]["total"] == 16 * (300 - 256)


def test_values_without_space_are_counted_as_lost(box):
    result = box.run("values", "keys", env={"HOTPATH_MAX_BYTES": "256k"})
    lost = result.report.lost
    counted = sum(row["total"] for row in values(result).values())
    assert sum(lost.values()) > 0
    assert counted + sum(lost.values()) >= 4 * 4 * 300 >= counted


@with_cxx
def test_cxx(box):
    result = box.run("values_cxx")
    rows = values(result)
    assert result.stdout == "42\n"
    assert {name: rows[name]["last"] for name in ("text", "bool", "char", "float", "size", "plain", "scoped",
                                                  "null")} == {
        "text": "first", "bool": "true", "char": "97", "float": "2.5", "size": "5", "plain": "1", "scoped": "200",
        "null": "0x0"}
    assert rows["level"]["last"] == "-2.5" and rows["bytes"]["total"] == 10 and rows["by key[first]"]["total"] == 2
    assert rows["in a template"]["recent"] == "2.5, 1"
    assert rows["counted()"]["last"] == "1" and rows["counted() + 1"]["last"] == "42"
    assert rows['"abc"']["last"] == "abc"


def test_a_killed_program_leaves_its_values(box):
    result = box.run("values", "killed", status=-signal.SIGKILL)
    rows = values_of(box.read(result.sessions()[0]))
    assert (rows["state"]["last"], rows["index"]["updates"], rows["index"]["last"]) == (
        "about to end", 10000, "9999")
    assert rows["state"]["location"]["file"].endswith("values.c")
    assert rows["state"]["location"]["function"] == "until_killed"


def test_off_at_run_time(box):
    result = box.run("values", "threads", env={"HOTPATH": "0"})
    assert result.stderr == "" and result.stdout == ""


@pytest.mark.parametrize("program, what", [("values", "threads"), pytest.param("values_cxx", "", marks=with_cxx)])
def test_rows_follow_the_schema(box, program, what):
    follows_the_schema(box.run(program, what).report)
