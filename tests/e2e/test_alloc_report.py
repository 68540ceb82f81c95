"""What a report says of allocations: the program alloc_events reports blocks of known sizes to the library."""
import signal

import pytest

from test_views import follows_the_schema, table

# Bytes and blocks that each function requests itself, and the number of its calls.
OWN = {"main": (300, 1, 1), "fill": (55 * 1000, 55, 55), "recurse": (400, 4, 4), "idle": (0, 0, 20),
       "make": (5000, 1, 1), "take": (0, 0, 1), "first": (0, 0, 1), "<outside>": (100, 2, None)}
ALL_BYTES = sum(own for own, _, _ in OWN.values())
ALL_COUNT = sum(count for _, count, _ in OWN.values())
FREED = 55 * 1008 + 4 * 108 + 5008


def rows(report, section="alloc-bytes"):
    return {row.name: row for row in report.rows(section)}


def test_exclusive_totals_add_up(box):
    report = box.run("alloc_events").report
    follows_the_schema(report)
    found = rows(report)
    assert set(found) == set(OWN)
    for name, (own, count, calls) in OWN.items():
        row = found[name]
        assert (row.total_bytes, row.own_bytes, row.own_count, row.calls) == (own, own, count, calls), name
        assert row.avg_bytes == (None if calls is None else round(own / calls)), name
    totals = report.section("alloc-bytes")["totals"]
    assert totals == report.section("alloc-count")["totals"]
    assert totals["requested_bytes"] == ALL_BYTES and totals["allocations"] == ALL_COUNT
    assert totals["freed_usable_bytes"] == FREED and totals["freed_blocks"] == 60
    assert totals["live_usable_bytes"] == ALL_BYTES + 8 * ALL_COUNT - FREED
    assert totals["live_blocks"] == ALL_COUNT - 60
    assert totals["foreign_freed_blocks"] == 1 and totals["foreign_freed_usable_bytes"] == 5008
    assert 0 < totals["peak_error_bytes"] <= 2 * 32768 and "peak_blocks" not in totals
    assert abs(totals["peak_usable_bytes"] - (48 + 308 + 5008 + 68)) <= totals["peak_error_bytes"]
    assert report.values["alloc"] == "exclusive" and report.values["alloc_metric"] == "bytes-total"


def test_peaks_and_net_bytes(box):
    found = rows(box.run("alloc_events").report)
    fill = found["fill"]
    assert (fill.p95_bytes, fill.peak_usable_bytes, fill.net_usable_bytes) == (1000, 1008, 0)
    assert (found["recurse"].peak_usable_bytes, found["recurse"].peak_blocks) == (4 * 108, 4)
    assert (found["recurse"].net_usable_bytes, found["recurse"].all_bytes) == (0, 400)
    assert (found["make"].net_usable_bytes, found["make"].net_blocks) == (5008, 1)
    assert (found["take"].net_usable_bytes, found["take"].net_blocks, found["take"].all_bytes) == (-5008, -1, 5000)
    assert found["main"].net_usable_bytes == 308 + 5008 and found["main"].peak_usable_bytes == 308 + 5008
    assert found["idle"].p95_bytes == found["idle"].peak_usable_bytes == found["idle"].net_usable_bytes == 0
    assert found["<outside>"].peak_usable_bytes is None and found["<outside>"].net_usable_bytes is None


def test_inclusive_bytes(box):
    report = box.run("alloc_events", env={"HOTPATH_ALLOC_CUMULATIVE": "1"}).report
    follows_the_schema(report)
    found = rows(report)
    assert found["main"].total_bytes == 300 + 50 * 1000 + 400 + 5000
    assert found["take"].total_bytes == 5000 and found["recurse"].total_bytes == 400
    assert found["<outside>"].total_bytes == 100
    assert report.values["alloc"] == "cumulative"


@pytest.mark.parametrize("metric", ["bytes-total", "bytes-max", "count-total", "count-max", "bytes", "count"])
def test_metric_chooses_the_leading_column(box, metric):
    [session] = box.run("alloc_events").sessions()
    report = box.read(session, "--alloc-metric", metric)
    follows_the_schema(report)
    section = "alloc-bytes" if "bytes" in metric else "alloc-count"
    text = table(box, session, "-v", "--alloc-metric", metric)
    assert text.splitlines()[1].endswith("| bottlenecks, timing, alloc, calls")
    assert f"\n{section} - " in text and ("alloc-count" if "bytes" in metric else "alloc-bytes") not in text
    first = report.rows(section)[0].name
    assert first == ("main" if "max" in metric else "fill")
    assert text.count("Avg Peak") == ("max" in metric)


def test_threads_and_kept_calls(box):
    report = box.run("alloc_events", env={"HOTPATH_SLOWEST": "take"}).report
    first, second = report.rows("alloc-threads")
    assert (first.allocations, first.allocated_bytes) == (57, 40 + 300 + 50000 + 400 + 5000)
    assert (first.foreign_freed_blocks, first.outside_bytes) == (0, 40)
    assert (second.allocations, second.allocated_bytes, second.outside_bytes) == (6, 5060, 60)
    assert second.live_usable_bytes == 68 - 5008 and second.peak_usable_bytes == 68
    assert (second.foreign_freed_blocks, second.foreign_freed_usable_bytes) == (1, 5008)
    assert {(call.alloc_bytes, call.alloc_count) for call in report.rows("calls")} == {(1000, 1)}
    assert (report.rows("slowest")[0].alloc_bytes, report.rows("slowest")[0].alloc_count) == (5000, 5)


def test_function_by_thread(box):
    report = box.run("alloc_events", env={"HOTPATH_BY": "thread"}).report
    follows_the_schema(report)
    fills = sorted(row.total_bytes for row in report.rows("alloc-bytes") if row.name == "fill")
    outside = sorted(row.total_bytes for row in report.rows("alloc-bytes") if row.name == "<outside>")
    assert fills == [5000, 50000] and outside == [40, 60]


def test_zones_that_are_open_when_the_process_is_killed(box):
    [session] = box.run("alloc_events", "killed", status=-signal.SIGKILL).sessions()
    report = box.read(session)
    found = rows(report)
    assert (found["stuck"].own_bytes, found["stuck"].all_bytes, found["stuck"].open) == (77, 1077, 1)
    assert (found["stuck"].net_usable_bytes, found["stuck"].peak_usable_bytes) == (85, 85 + 1008)
    assert found["main"].own_bytes == 300 and found["main"].all_bytes == 300 + 50000 + 400 + 5000 + 1077
    assert sum(row.own_bytes for row in found.values()) == ALL_BYTES + 1077
    assert report.section("alloc-bytes")["totals"]["requested_bytes"] == ALL_BYTES + 1077


def test_processes_are_added_up(box):
    result = box.run("alloc_events", "fork")
    report = box.read(result.folder)
    found = rows(report)
    assert report.values["meta"]["processes"] == 2
    assert found["fill"].calls == 56 and found["fill"].own_bytes == 56000
    assert report.section("alloc-bytes")["totals"]["requested_bytes"] == ALL_BYTES + 1000
    assert sum(row.own_bytes for row in found.values()) == ALL_BYTES + 1000


def test_warns_if_requested_allocations_are_not_counted(box):
    for asked, lines in (("timing,alloc", 1), ("timing", 0), ("1", 0)):
        result = box.run("alloc_events", "unwatched", env={"HOTPATH": asked})
        assert len(result.report.values["warnings"]) == lines
        assert "alloc-bytes" not in result.report.values["sections"] and "alloc" not in result.report.values
    assert "-lhotpath_alloc" in box.run("alloc_events", "unwatched",
                                        env={"HOTPATH": "alloc"}).report.values["warnings"][0]
