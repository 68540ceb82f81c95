"""Calls that are counted but not all timed: sampling, and functions too small to be timed."""
import pytest

from harness import EMULATOR, SANITIZER, between, near, without_emulator, without_sanitizer
from sampled_calls import Countdown, timed_of
from test_kept import inside, notes
from test_keys import by_name
from test_views import table

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


def test_precedence_of_sampling_rates(box):
    """The environment overrides the program."""
    def period_of(env):
        return box.run("sampled", "threads", "1/4", env=env).row("leaf").timed
    assert period_of({}) == timed_in_threads(4)
    assert period_of({"HOTPATH_TIME_SAMPLING_RATE": "1/8"}) == timed_in_threads(8)


@pytest.mark.parametrize("value", ["2", "1/0", "-1", "often", "1/x", "1/"])
def test_invalid_sampling_rates(box, value):
    result = box.run("sampled", "paths", env={"HOTPATH_TIME_SAMPLING_RATE": value})
    [line] = result.lines
    assert f"HOTPATH_TIME_SAMPLING_RATE='{value}' is not a fraction such as 1/16 or 0.0625" in line
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
def test_only_tiny_functions_are_limited(box):
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
def test_measuring_cost_of_callees_does_not_hide_small_functions(box):
    """Untimed calls are taken to be like the timed ones."""
    def check():
        result = box.run("limited", "layers", env={**ON, "HOTPATH_PERCENTILES": "50"})
        middle, layers = result.row("middle"), result.row("layers")
        assert (middle.calls, result.calls("tiny"), layers.calls) == (400000, 1600000, 1)
        assert result.row("tiny").sampling == middle.sampling == "limited" and middle.timed < 200000
        assert 0.5 * middle.p50_ns <= middle.avg_ns <= 2 * middle.p50_ns and middle.total_ns <= layers.total_ns
    in_one_of_three(check)


@without_emulator("no function is small then")
@without_sanitizer("no function is small then")
def test_functions_with_some_long_calls_are_not_limited(box):
    """Each long one counts: 2,500 of 5 us, which are nearly all of the time."""
    def check():
        result = box.run("limited", "rows", env=ON)
        uneven = result.row("uneven")
        assert (uneven.calls, uneven.timed, uneven.sampling) == (40000, 40000, "none")
        assert uneven.total_ns >= 2500 * 5000
    in_one_of_three(check)


def test_bound_switched_off(box):
    result = box.run("limited", "mixed", env={**ON, "HOTPATH_MEASURING_BOUND": "0"})
    assert (result.row("tiny").sampling, result.row("tiny").timed) == ("none", 1000000)
    assert result.calls("hundred") == 10000


def test_invalid_bound(box):
    result = box.run("limited", "jumps", env={**ON, "HOTPATH_MEASURING_BOUND": "101"})
    assert "HOTPATH_MEASURING_BOUND='101' is not a percentage from 0 to 100" in result.lines[0]


@without_emulator("no function is small then")
@without_sanitizer("no function is small then")
def test_limited_function_that_becomes_slow_is_timed_again(box):
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
