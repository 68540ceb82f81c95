"""What the last line of a report says of measuring: all of what it cost, and every loss by its name.

Costs are compared with what the zones that were timed would have cost alone, by the price of the same run.
"""
import pytest

from harness import without_emulator, without_sanitizer, without_thread_sanitizer


def stated_ns(report):
    return report.values["trust"]["overhead_share_percent"] / 100 * report.values["elapsed_ns"]


def timed_zones_ns(report):
    return sum(row.timed for row in report.rows()) * report.values["trust"]["zone_cost_ns"]


def test_calls_that_are_only_counted_cost_something(box):
    report = box.run("rarely", "calls", env={"HOTPATH_TIME_SAMPLING_RATE": "1/1000"}).report
    assert report.row("step").timed < 100
    assert stated_ns(report) > 3 * timed_zones_ns(report)


def test_so_do_functions_that_are_too_short_to_be_timed(box):
    report = box.run("rarely", "misses").report
    row = report.row("fetch")
    if row.sampling == "limited":
        assert stated_ns(report) > 3 * timed_zones_ns(report)


@without_sanitizer("it has malloc for itself")
@pytest.mark.parametrize("case, count, times", [("pairs", 100000, 100), ("calls", 20000, 1.05)])
def test_so_do_allocations(box, case, count, times):
    report = box.run("costs", case, str(count)).report
    assert report.section("alloc-count")["totals"]["allocations"] >= count
    assert stated_ns(report) > times * timed_zones_ns(report)


@without_thread_sanitizer("there are no samples")
@without_emulator("timers on processor time come late or never")
def test_so_do_samples(box):
    report = box.run("cpu", "calls", "100", env={"HOTPATH_CPU": "1"}).report
    samples = report.section("cpu")["totals"]["samples"]
    assert samples > 5
    assert stated_ns(report) > timed_zones_ns(report) + 1000 * samples
