"""What the last line of a report says of measuring: its whole cost, and every loss by name.

Costs are compared with what the timed zones alone would have cost, by the price of the same run.
"""
import pytest

from harness import without_emulator, without_sanitizer, without_thread_sanitizer


def stated_ns(report):
    return report.values["trust"]["overhead_share_percent"] / 100 * report.values["elapsed_ns"]


def timed_zones_ns(report):
    return sum(row.timed for row in report.rows()) * report.values["trust"]["zone_cost_ns"]


def test_overhead_includes_untimed_calls(box):
    report = box.run("rarely", "calls", env={"HOTPATH_TIME_SAMPLING_RATE": "1/1000"}).report
    assert report.row("step").timed < 100
    assert stated_ns(report) > 3 * timed_zones_ns(report)


@without_emulator("there reading the clock costs as much as all the rest")
def test_overhead_includes_tiny_functions(box):
    report = box.run("rarely", "misses").report
    assert report.row("fetch").sampling == "limited"
    # How many are timed depends on how busy the machine is. Each of the others costs at least a nanosecond.
    counted = sum(row.calls - row.timed for row in report.rows())
    assert stated_ns(report) > timed_zones_ns(report) + counted


@without_sanitizer("it has malloc for itself")
@pytest.mark.parametrize("case, count, times", [("pairs", 100000, 100), ("calls", 20000, 1.05)])
def test_overhead_includes_allocations(box, case, count, times):
    report = box.run("costs", case, str(count)).report
    assert report.section("alloc-count")["totals"]["allocations"] >= count
    assert stated_ns(report) > times * timed_zones_ns(report)


@pytest.mark.parametrize("case", ["values", "gauges", "channels", "streams", "tasks", "loops"])
def test_overhead_includes_objects(box, case):
    """100,000 events, of which the cheapest costs half a zone. Their number is exact, so is what they are said to
    cost: at least a third of the price of a zone each, of which a part is hidden, and at most four."""
    report = box.run("costs", case, "100000").report
    zone = report.values["trust"]["zone_cost_ns"]
    whole = report.values["trust"]["overhead_cpu_ns"]
    assert 100000 * zone / 3 < whole < 400000 * zone


@without_thread_sanitizer("there are no samples")
@without_emulator("timers on processor time come late or never")
def test_overhead_includes_samples(box):
    report = box.run("cpu", "calls", "300", env={"HOTPATH_CPU": "1"}).report
    samples = report.section("cpu")["totals"]["samples"]
    assert samples > 5
    assert stated_ns(report) > timed_zones_ns(report) + 1000 * samples


# -------------------------------------------------------------------------------------------------- losses by name

@without_thread_sanitizer("it no longer follows a thread that late")
def test_zones_after_thread_exit_are_named(box):
    """The library is gone before the last round of destructors, which has two zones."""
    result = box.same("thread_ends", "after")
    assert result.calls("work") == 20
    assert result.report.lost == {"ended": 40}


def test_threads_beyond_the_reserved_space_are_named(box):
    lost = box.run("guards", "elsewhere", env={"HOTPATH_RESERVE": "1"}).report.lost
    assert lost == {"sealed": 1}


@without_sanitizer("the guard is not initialised by design")
def test_longjmp_over_a_guard_is_not_a_loss(box):
    """Not even if the guard holds what its last beginning left there."""
    result = box.run("guards", "jump")
    assert result.calls("jumped over") == 1 and result.calls("work") == 10
    assert result.report.lost == {}


def test_a_zone_without_its_end_is_named(box):
    """They are found when main ends, from the innermost; only one of them is named."""
    result = box.run("guards", "unclosed", env={"HOTPATH_OUTPUT_FORMAT": "table"})
    last = result.report_path.read_text().splitlines()[-1]
    assert "2 zones were left by longjmp or similar: timed up to their last recorded time" in last
    assert "; the first was unclosed, too (" in last
    assert last.endswith("): is its HOTPATH_END missing?")


def test_ending_a_zone_twice_is_not_a_loss(box):
    result = box.run("guards", "twice")
    assert result.calls("ended twice") == 1
    assert result.report.lost == {}


def test_ending_a_zone_on_another_thread_is_a_loss(box):
    result = box.run("guards", "elsewhere")
    assert result.calls("ended elsewhere") == 1
    assert result.report.lost == {"foreign": 1}
