"""Which functions allocate, in programs that know nothing of hotpath: by sampled allocations with their stacks."""
import json
import math
import platform
import re
import shutil

import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import (HOTPATH, PROGRAMS, WITHOUT_PERF, full, pairs, with_glibc, without_emulator,
                     without_sanitizer)
from test_page import page_of
from test_views import follows_the_schema

pytestmark = [without_emulator("/proc is that of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

ALLOCATING = PROGRAMS / "allocating"
LARGE = ("leak_large", "hold_large", "grow_large")
SMALL = ("churn_small", "keep_small", "hand_over", "copy_text")


def functions(report):
    return {row.name: row for row in report.rows("alloc-functions") if row.library == ALLOCATING.name}


def totals(report):
    return report.values["sections"]["alloc-functions"]["totals"]


def check(done):
    """Blocks that are certain to be sampled are exact. For the others the statistical error of the samples is
    allowed."""
    found, told, of = functions(done.report), pairs(done.stdout), totals(done.report)
    assert of["lost"] == 0 and of["whole"] >= 0.98 * of["samples"], of
    for name in LARGE:
        row = found[name]
        assert (row.self_bytes, row.blocks, row.left_bytes) == (
            told[name], told[name + "_blocks"], told[name + "_left"] or None), name
    for name in SMALL:
        row = found[name]
        bound = 5 / math.sqrt(row.samples)
        assert row.samples > 40 and row.self_bytes == pytest.approx(told[name], rel=bound), (name, row.samples)
        assert row.blocks == pytest.approx(told[name + "_blocks"], rel=bound), name
        # Whether a sampled block is live is known exactly.
        assert row.left_bytes == (row.self_bytes if told[name + "_left"] else None), name
    assert sum(row.self_bytes or 0 for row in done.report.rows("alloc-functions")) == of["bytes"]
    return found, of


def checked(cli, case, status=0):
    """If hotpath gets no CPU for a while, the sampling distance grows, and nothing is certain: then try again."""
    for attempt in range(3):
        try:
            return check(cli.run("--alloc-stacks", "64KB", ALLOCATING, case, status=status))
        except AssertionError:
            if attempt == 2:
                raise
    return None


@pytest.mark.parametrize("case", [pytest.param("plain", marks=full), "threads", "forked", "executed"])
def test_bytes_per_function_match_the_program(cli, case):
    """Also if another thread frees, if a child frees what it inherited, and in an executed program."""
    found, of = checked(cli, case)
    assert found["hold_large"].peak_bytes == found["hold_large"].self_bytes
    assert found["keep_small"].peak_bytes == found["keep_small"].self_bytes
    assert of["peak_bytes"] == pytest.approx(found["hold_large"].peak_bytes + found["keep_small"].peak_bytes,
                                             rel=0.02)
    # What the C library allocated for threads is sampled once in fifty runs.
    threads = found.get("begin_thread")
    below = sum(found[name].self_bytes for name in LARGE + SMALL if case != "threads" or name != "churn_small")
    below += threads.total_bytes if threads else 0
    assert found["work"].self_bytes is None and found["work"].total_bytes == below
    left = found["keep_small"].left_bytes + found["leak_large"].left_bytes + (
        threads.total_left_bytes or 0 if threads else 0)
    assert found["main"].total_left_bytes == left
    assert not list(cli.folder.rglob("*.heap")), "no file of the ring is left"


def test_bytes_per_function_of_a_killed_program(cli):
    checked(cli, "killed", status=-9)


def test_exact_counts_do_not_change(cli):
    """Sampled or not: the same program, the same counts."""
    def counted(*flags):
        return cli.run(*flags, ALLOCATING, "plain").report.values["sections"]["alloc-bytes"]["totals"]
    sampled, not_sampled = counted(), counted("--no-alloc-stacks")
    del sampled["peak_error_bytes"], not_sampled["peak_error_bytes"]
    assert sampled == not_sampled and sampled["requested_bytes"] > 200 << 20


@pytest.mark.parametrize("flags, env", [(["--no-alloc-stacks"], {}), ([], {"HOTPATH_ALLOC_STACKS": "0"}), *(
    pytest.param(flags, {}, marks=full) for flags in (["--alloc-stacks", "0"], ["--no-stacks"], ["--no-preload"]))])
def test_switched_off(cli, flags, env):
    report = cli.run(*flags, ALLOCATING, "plain", env=env).report
    assert "alloc-functions" not in report.values["sections"]


def test_without_perf(cli):
    """Then the mappings are read from /proc; the samples are the same."""
    cli.before = WITHOUT_PERF
    checked(cli, "plain")


def test_report_and_export_show_the_same(cli):
    done = cli.run("--alloc-stacks", "64KB", ALLOCATING, "plain")
    found, of = functions(done.report), totals(done.report)
    assert cli.read().values["sections"]["alloc-functions"] == done.report.values["sections"]["alloc-functions"]
    for what, total in (("alloc", "bytes"), ("alloc-peak", "peak_bytes"), ("alloc-left", "left_bytes")):
        file = json.loads(cli("export", "--format", "dhat", "--of", what).stdout)
        assert sum(point["tb"] for point in file["pps"]) == of[total]
    # The innermost function is the first one of a stack.
    left = {}
    for point in file["pps"]:
        name = file["ftbl"][point["fs"][0]].split(": ")[1].split(" ")[0]
        left[name] = left.get(name, 0) + point["tb"]
    assert left["keep_small"] == found["keep_small"].left_bytes
    assert left["leak_large"] == found["leak_large"].left_bytes
    assert left == {row.name: row.left_bytes for row in done.report.rows("alloc-functions") if row.left_bytes}
    assert "alloc" in cli("export", "--format", "folded", "--of", "nothing", status=2).stderr


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not installed")
def test_sqlite3(cli):
    """Its sum is close to the counted bytes."""
    # Few enough samples that the ring has room for all of them, in case hotpath gets no CPU meanwhile.
    sql = "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) " \
          "insert into t select i, hex(randomblob(40)) from n; create index x on t(b); select count(*) from t;"
    done = cli.run("--alloc-stacks", "128KB", "sqlite3", ":memory:", sql)
    of, counted = totals(done.report), done.report.values["sections"]["alloc-bytes"]["totals"]
    assert done.stdout == "60000\n" and of["samples"] > 100
    assert of["bytes"] == pytest.approx(counted["requested_bytes"], rel=8 / math.sqrt(of["samples"]))


@pytest.mark.parametrize("how", [pytest.param("", marks=full), "silent"])
def test_a_peak_before_the_second_thread(cli, how):
    """The first thread reports it when it is no longer alone; if it reports nothing more, the reader of its
    counters finds it."""
    report = cli.run(PROGRAMS / "early_peak", how).report
    totals = report.section("alloc-bytes")["totals"]
    assert 64 << 20 <= totals["peak_usable_bytes"] <= 65 << 20
    assert totals["live_usable_bytes"] < 1 << 20


def test_estimates_are_rounded_and_marked(box):
    """The number of allocations is not that of other sections, which are exact, so it does not look like one. What
    no sample has found is unknown, not nothing."""
    run = box.run(HOTPATH, "run", "--section", "alloc-functions", "--", ALLOCATING, "plain",
                  env={"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None, "HOTPATH_REPORT": None})
    assert re.search(r"^Estimated: \S+ \S+ in about \d+(\.\d)?( [kMGT])? allocations, ", run.stderr, re.M)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in run.stderr.split("\n")
            if line.startswith("| ")]
    titles, table = rows[0], {row[0]: row for row in rows[1:]}
    blocks, self_, peak, left = (titles.index(title) for title in ("Blocks", "Self", "At Peak", "Never Freed"))
    assert re.fullmatch(r"about \d+ k", table["churn_small"][blocks]), table
    assert table["main"][self_] == table["main"][blocks] == table["hold_large"][left] == "-"
    assert not any("0 B" == cell for row in table.values() for cell in row)


def test_estimates_in_json_console_and_page(cli):
    done = cli.run(ALLOCATING, "plain")
    section, main = done.report.section("alloc-functions"), functions(done.report)["main"]
    assert {"self_bytes", "blocks", "peak_bytes", "left_bytes"} < set(section["estimated"]["columns"])
    assert section["estimated"]["totals"] == ["bytes", "blocks", "peak_bytes", "left_bytes"]
    assert (main.self_bytes, main.percent_self, main.blocks, main.peak_bytes) == (None, None, None, None)
    assert {"alloc_bytes", "total_alloc_bytes"} == set(done.report.section("functions")["estimated"]["columns"])
    follows_the_schema(done.report)
    # The flame graph of the CPU time is above the list, as high as the deepest stack that was sampled.
    screen = cli("console", "--script", "-", "--size", "160x150", "allocating", input="4 4 screen",
                 env={"LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": str(cli.folder)}).stdout
    assert re.search(r"^[ ›]+churn_small .* about \d+ k ", screen, re.M), screen
    assert re.search(r"^ +main +allocating +– +– +– ", screen, re.M) and " 0 B" not in screen, screen
    page = page_of(cli).data["sections"]["alloc-functions"]
    assert [column["key"] for column in page["columns"] if column.get("is_estimate")] == (
        section["estimated"]["columns"])
