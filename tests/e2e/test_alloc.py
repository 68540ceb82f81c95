"""Allocations against what is known by construction: programs whose number and sizes of allocations follow from
their source, and usable sizes that the program itself asked the allocator for."""
import subprocess

import pytest

from harness import BUILD, SANITIZER, SOURCE, nearest_rank, with_glibc, without_emulator

pytestmark = pytest.mark.skipif(bool(SANITIZER),
                                reason=f"not with -fsanitize={SANITIZER}: malloc is the sanitizer's")

KEYS = ("own_bytes", "own_count", "all_bytes", "all_count", "peak_usable_bytes", "peak_blocks", "net_usable_bytes",
        "net_blocks")


def run(box, case, **options):
    return box.run("allocs", case, **options)


def row(result, name):
    return result.row(name, "alloc-bytes")


def measures(result, name):
    """What is known of a function, in the order of KEYS."""
    found = row(result, name)
    return tuple(getattr(found, key) for key in KEYS)


def totals(result):
    return result.report.section("alloc-bytes")["totals"]


def own(result):
    """{name: (bytes, count)} of rows that allocated themselves."""
    return {found.name: (found.own_bytes, found.own_count) for found in result.report.rows("alloc-bytes")
            if found.own_count}


def usable(result, size):
    return result.told[f"usable_{size}"]


def test_nested_calls(box):
    result = run(box, "nested")
    small, large = usable(result, 100), usable(result, 1000)
    assert own(result) == {"outer": (1000, 10), "inner": (30000, 30)}
    assert measures(result, "inner") == (30000, 30, 30000, 30, large, 1, 0, 0)
    assert measures(result, "outer") == (1000, 10, 31000, 40, small + large, 2, 0, 0)
    assert measures(result, "nested") == (0, 0, 31000, 40, small + large, 2, 0, 0)
    assert measures(result, "quiet") == (0,) * 8 and row(result, "quiet").calls == 10
    assert {found.name: found.calls for found in result.report.rows("alloc-bytes") if found.calls} == {
        "main": 1, "nested": 1, "outer": 10, "inner": 30, "quiet": 10}
    found = totals(result)
    assert (found["requested_bytes"], found["allocations"]) == (31000, 40)
    assert (found["freed_usable_bytes"], found["freed_blocks"]) == (10 * small + 30 * large, 40)
    assert (found["live_usable_bytes"], found["live_blocks"]) == (0, 0)
    assert (found["peak_usable_bytes"], found["peak_blocks"]) == (small + large, 2)
    assert (found["foreign_freed_usable_bytes"], found["foreign_freed_blocks"]) == (0, 0)
    assert result.report.lost == {}


def test_recursion(box):
    result = run(box, "recursion")
    each = usable(result, 64)
    assert measures(result, "recurse") == (24 * 64, 24, 24 * 64, 24, 6 * each, 6, 0, 0)
    assert row(result, "recurse").calls == 24


def test_mutual_recursion(box):
    """Of recursive calls only the outermost has what all of them allocated."""
    result = run(box, "mutual")
    ping, pong = usable(result, 50), usable(result, 70)
    assert measures(result, "ping") == (150, 3, 360, 6, 3 * ping + 3 * pong, 6, 0, 0)
    assert measures(result, "pong") == (210, 3, 310, 5, 2 * ping + 3 * pong, 5, 0, 0)


def test_leading_columns_follow_metric_and_mode(box):
    """Exclusive or inclusive, by total or by peak."""
    def column(key, **env):
        return getattr(row(run(box, "nested", env=env), "outer"), key)
    assert column("total_bytes") == 1000 and column("avg_bytes") == 100
    assert column("total_bytes", HOTPATH_ALLOC_CUMULATIVE="1") == 31000
    assert column("avg_bytes", HOTPATH_ALLOC_CUMULATIVE="1") == 3100


@pytest.mark.parametrize("percentile", [1, 50, 95, 99.9])
def test_percentiles_of_calls(box, percentile):
    result = run(box, "sizes", env={"HOTPATH_PERCENTILES": percentile})
    counts = list(range(1, 101))
    key = f"p{percentile}".replace(".", "_")
    exact = nearest_rank(counts, percentile)
    [by_count] = [found for found in result.report.rows("alloc-count") if found.name == "some"]
    assert (by_count.own_count, by_count.own_bytes) == (5050, 8 * 5050)
    assert by_count.values[f"{key}_count"] == exact
    assert abs(row(result, "some").values[f"{key}_bytes"] - 8 * exact) <= 8 * exact / 100
    assert row(result, "some").peak_blocks == 100


def test_net_bytes_and_peaks_of_calls(box):
    result = run(box, "left")
    kept, passing = usable(result, 200), usable(result, 300)
    assert measures(result, "keep") == (5 * 900, 20, 5 * 900, 20, 3 * kept + passing, 4, 15 * kept, 15)
    assert measures(result, "drop_all") == (0, 0, 0, 0, 0, 0, -15 * kept, -15)
    assert row(result, "main").net_usable_bytes == 0
    assert totals(result)["live_usable_bytes"] == 0


def test_every_function_of_the_family(box):
    result = run(box, "family")
    sizes = [77, 100, 101, 1000000, 10, 221, 333, 256, 45, 19, 13, 0]
    found = row(result, "family")
    is_glibc = found.own_count == len(sizes) + 1
    sizes += [23] * is_glibc
    assert (found.own_bytes, found.own_count) == (sum(sizes), len(sizes))
    assert found.net_blocks == 0 and found.net_usable_bytes == 0
    assert found.peak_blocks == 1 and found.peak_usable_bytes >= 1000000
    assert totals(result)["failed"] == 0


def test_failures(box):
    result = run(box, "failures")
    assert measures(result, "failures") == (40, 1, 40, 1, measures(result, "failures")[4], 1, 0, 0)
    assert totals(result)["failed"] == 5


def test_threads_that_come_and_go(box):
    result = run(box, "threads")
    each = usable(result, 48)
    assert row(result, "worker").calls == 100
    assert (row(result, "worker").own_bytes, row(result, "worker").own_count) == (100 * 480, 1000)
    assert (row(result, "worker").net_blocks, row(result, "worker").net_usable_bytes) == (600, 600 * each)
    assert (row(result, "worker").peak_blocks, row(result, "worker").peak_usable_bytes) == (10, 10 * each)
    assert (row(result, "free_handed").net_blocks, row(result, "free_handed").own_count) == (-600, 0)
    found = totals(result)
    assert (found["foreign_freed_blocks"], found["foreign_freed_usable_bytes"]) == (600, 600 * each)
    by_thread = result.report.rows("alloc-threads")
    assert sum(thread.foreign_freed_blocks for thread in by_thread) == 600
    assert sum(thread.foreign_freed_blocks for thread in by_thread if thread.foreign_freed_blocks) == 600
    assert result.report.lost == {}


def test_threads_at_once(box):
    result = run(box, "at_once")
    each = usable(result, 32)
    assert measures(result, "busy") == (8 * 20000 * 32, 8 * 20000, 8 * 20000 * 32, 8 * 20000, each, 1, 0, 0)
    assert totals(result)["foreign_freed_blocks"] == 0 or row(result, "busy").net_blocks == 0
    assert result.report.lost == {}


def test_destructors_of_threads(box):
    result = run(box, "ends")
    assert (row(result, "at_end").own_bytes, row(result, "at_end").own_count) == (5 * 88, 5)
    assert row(result, "at_end").net_blocks == -5
    assert totals(result)["foreign_freed_blocks"] == 0


def test_allocations_in_the_last_destructors_of_threads(box):
    """What a thread does after its record is closed is in the totals, and outside."""
    result = run(box, "very_end")
    before = run(box, "ends")
    rounds = result.told["rounds"]
    started = totals(before)["allocations"] - 5 * 2  # what the C library allocates to start threads
    assert totals(result)["allocations"] - started == 5 * (1 + rounds)
    assert totals(result)["requested_bytes"] - (totals(before)["requested_bytes"] -
                                                5 * (77 + 88)) == 5 * (11 + rounds * 99)


def test_longjmp_over_zones(box):
    """Three zones are left at once; what follows belongs to the one that goes on."""
    result = run(box, "jumps")
    assert own(result) == {"catcher": (3 * (30 + 7 * 500), 24), "thrower": (9 * 20, 9)}
    assert (row(result, "catcher").net_blocks, row(result, "thrower").net_blocks) == (12, 9)
    assert row(result, "thrower").net_usable_bytes == 9 * usable(result, 20)
    peak = 3 * usable(result, 20) + usable(result, 30) + usable(result, 500)
    assert row(result, "catcher").peak_usable_bytes == peak
    assert row(result, "thrower").peak_usable_bytes == 3 * usable(result, 20)


def test_functions_measured_by_the_compiler(box):
    result = box.run("alloc_hooks", env={"HOTPATH": "1"})
    expected = {"outer": (10 * 4000, 20), "leaf": (1000, 10), "first": (20, 20), "second": (40, 20),
                "third": (30, 10), "catcher": (3 * 7 * 5000, 21), "thrower": (60, 3)}
    assert {name: sums for name, sums in own(result).items() if name in expected} == expected
    assert row(result, "main").own_count == 0


def test_open_zones(box):
    result = run(box, "open")
    assert measures(result, "never_ends") == (1500, 2, 1500, 2, usable(result, 600) + usable(result, 900), 2,
                                              usable(result, 600), 1)


@pytest.mark.parametrize("rate", ["1", "1/16", "0"])
def test_calls_that_are_not_timed_or_kept(box, rate):
    result = run(box, "kinds", env={"HOTPATH_TIME_SAMPLING_RATE": rate})
    assert (row(result, "sampled").own_bytes, row(result, "sampled").own_count) == (2400, 100)
    assert row(result, "sampled").calls == 100
    assert result.row("sampled").timed == {"1": 100, "1/16": 7, "0": 1}[rate]
    assert (row(result, "logged").own_bytes, row(result, "logged").own_count) == (100, 10)
    calls = [call for call in result.report.rows("calls") if call.name == "logged"]
    assert [(call.note, call.alloc_count, call.alloc_bytes) for call in calls] == [
        (str(number), number, 10 * number) for number in range(4, -1, -1)]


def test_allocations_while_the_zone_stack_grows(box):
    result = run(box, "depth", env={"HOTPATH_PERCENTILES": "0,100"})
    each = usable(result, 16)
    assert row(result, "deep").min_bytes == row(result, "deep").max_bytes == 16
    assert measures(result, "deep") == (16000, 1000, 16000, 1000, 1000 * each, 1000, 0, 0)
    assert result.report.lost == {}


def test_before_and_after_main(box):
    result = run(box, "edges", env={"EDGES": "1", "HOTPATH": "1"})
    assert (row(result, "early").own_bytes, row(result, "late").own_bytes) == (1111, 2222)


def test_own_memory_of_the_profiler_is_not_counted(box):
    """Ten thousand paths, and nothing but what the program allocates."""
    result = run(box, "nested", env={"HOTPATH_LOG": "*", "HOTPATH_PERCENTILES": "50,95"})
    assert totals(result)["allocations"] == 40


def test_rows_add_up(box):
    for case in ("nested", "threads", "ends", "edges"):
        result = run(box, case, env={"HOTPATH": "1", "EDGES": "1"})
        rows = result.report.rows("alloc-bytes")
        assert sum(found.own_bytes for found in rows) == totals(result)["requested_bytes"]
        assert sum(found.own_count for found in rows) == totals(result)["allocations"]


def test_not_recorded_if_only_timing_is_requested(box):
    result = run(box, "nested", env={"HOTPATH": "timing"})
    assert "alloc-bytes" not in result.report.values["sections"] and result.calls("outer") == 10


def test_a_session_that_was_killed(box):
    process = box.start("allocs", "nested")
    result = box.finish(process)
    [session] = result.sessions()
    read = box.read(session)
    assert {found.name: found.own_bytes for found in read.rows("alloc-bytes") if found.own_bytes} == {
        "outer": 1000, "inner": 30000}


@pytest.mark.parametrize("arenas", ["1", None], ids=["one arena", "as many as there are"])
def test_blocks_freed_by_another_thread(box, arenas):
    """Freed or reallocated by any thread: exactly as many as the program saw are another thread's. Also if memory
    of one thread becomes that of others again and again."""
    for _ in range(3):
        result = box.run("alloc_storm", "exchange", env={"MALLOC_ARENA_MAX": arenas})
        found = totals(result)
        assert (found["foreign_freed_blocks"], found["foreign_freed_usable_bytes"]) == (
            result.told["foreign"], result.told["foreign_bytes"])
        in_threads = row(result, "<outside>").own_count + row(result, "handle").own_count
        assert found["allocations"] == in_threads >= result.told["allocations"]
        assert result.report.lost == {}


def test_pools_of_several_threads(box):
    result = box.run("alloc_storm", "pools")
    pool = result.row("cells", "alloc-pools")
    assert pool.allocations == pool.freed_blocks == result.told["pooled"] == 80000
    assert (pool.allocated_bytes, pool.live_bytes, pool.live_blocks) == (240000, 0, 0)
    assert 1 <= pool.peak_blocks <= 4 and result.report.lost == {}


def test_sessions_come_and_go_under_threads_that_allocate(box):
    """The rows of each session are complete: everything that ended in it is counted."""
    assert box.run("alloc_storm", "sessions", 150, env={"HOTPATH_OUTPUT_FORMAT": "none"},
                   timeout=120).told == {"sessions": 150}


# ------------------------------------------------------------------------------------------------ allocation limits

@pytest.mark.parametrize("case", ["told", "measured_told"])
def test_scope_above_its_allocation_limit_is_reported(box, case):
    """With and without a session."""
    result = box.run("expects", case)
    assert result.told == {"counted": 1, "expected": 3, "count": 5, "bytes": 50}


def test_exceeded_limit_aborts_the_program(box):
    assert box.run("expects", "kept").stderr == ""
    broken = box.run("expects", "broken", status=-6)
    assert [line.split(": ", 2)[2]
            for line in broken.lines] == ["scope exceeded its allocation limit of 1: it allocated 2 times, 20 "
                                          "bytes"]
    begun = box.run("expects", "session", status=-6)
    assert "session_inside: allocations cannot be counted here" in begun.lines[0]


def test_scope_above_its_limit_of_calls_is_reported(box):
    quiet = {"HOTPATH_OUTPUT_FORMAT": "none"}
    assert box.run("expects", "calls", env=quiet).told == {"called": 3, "part": 9}
    for case, words in (("calls_broken", "scope_of_calls exceeded its limit of 0 calls of 'called': there were 1"),
                        ("calls_nowhere", "scope_of_calls: calls of 'called' cannot be counted here"),
                        ("calls_session", "session_ends_inside: calls of 'called' cannot be counted here")):
        assert words in box.run("expects", case, env=quiet, status=-6).lines[0]


def test_limit_of_instructions_is_not_checked_where_they_are_not_counted(box):
    """Once for all of them, and the program goes on."""
    lines = box.run("expects", "instructions_nowhere", env={"HOTPATH_OUTPUT_FORMAT": "none"}).lines
    assert len(lines) == 1 and "scope_of_instructions: instructions are not counted here" in lines[0]


def test_counters_of_a_thread(box):
    for case, session in (("readings", 0), ("measured", 1)):
        assert box.run("expects", case).told == {"status": 0, "count": 4, "bytes": 40, "freed": 4,
                                                 "session": session}


@pytest.mark.parametrize("env", [{}, {"HOTPATH": "0"}], ids=["no session", "switched off"])
def test_reading_counters_starts_counting(box, env):
    """Also by threads other than the one that read first, and where nothing was counted before."""
    box.run("expects", "aside", env=env)
    assert box.run("expects", "told", env=env).told == {"counted": 1, "expected": 3, "count": 5, "bytes": 50}
    assert box.run("expects", "readings", env=env).told["count"] == 4


def test_malloc_is_passed_on_while_nothing_counts(box):
    box.run("expects", "switched", env={"HOTPATH_OUTPUT_FORMAT": "none"})


@with_glibc("the compiler here builds for that")
@without_emulator("the compiler here builds for this machine")
def test_limit_without_counted_malloc_is_an_error(box):
    """A check that counts nothing must not pass."""
    plain = box.path / "plain"
    folders = [f"-I{SOURCE / folder}" for folder in ("include", "tests/programs", "src/record/core")]
    subprocess.run(["cc", "-DHOTPATH", "-fno-builtin-malloc", *folders, str(SOURCE / "tests/programs/expects.c"),
                    "-o", str(plain), "-L", str(BUILD / "lib"), "-lhotpath", f"-Wl,-rpath,{BUILD / 'lib'}",
                    "-pthread"], check=True)
    assert "link the program with -lhotpath_alloc" in box.run(plain, "kept", status=-6).lines[0]
    assert box.run(plain, "readings").told == {"status": 3}
