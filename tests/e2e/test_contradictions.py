"""One run has the same numbers in its report, in JSON, on its page and in the console, and none of them contradicts
another. (Every report in JSON that any test reads is checked by contradictions.py.)"""
import json
import re

import pytest

import contradictions
from command import Cli
from harness import EXAMPLES, PROGRAMS, without_emulator, without_thread_sanitizer
from test_page import page_of

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too")]

RUNS = {"orders": [EXAMPLES / "orders", "1"], "overview": [EXAMPLES / "overview"],
        "unmodified": [PROGRAMS / "stacked", "split", "200"]}


@pytest.fixture(params=RUNS)
def run(box, request):
    cli = Cli(box)
    cli("run", "--format", "none", "--", *RUNS[request.param])
    cli.session = str(cli.sessions()[0]["pid"])
    cli.report = json.loads(cli("report", "--format", "json", "--section", "all,-timeline,-cold", "--limit", "0",
                                "--percentiles", "50,95,99").stdout)
    return cli


def cells(text):
    """{first cell: other cells} of all tables in a text."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return {row[0]: row[1:] for row in rows}


def screen(run, tab):
    return run("console", "--once", "--totals", "--tab", tab, "--size", "240x60", run.session,
               env={"LC_ALL": "C.UTF-8"}).stdout


def test_texts_have_no_contradictions(run):
    assert contradictions.in_report(run.report) == []
    for text in (run("report").stdout, run("report", "-v").stdout):
        assert contradictions.in_text(text, run.report) == []
    if run.report["sections"].get("timing", {"rows": []})["rows"]:
        assert contradictions.in_text(screen(run, 1), run.report) == []


def test_all_views_have_the_same_numbers(run):
    timing = run.report["sections"].get("timing", {"rows": []})["rows"]
    table = cells(run("report", "--section", "timing", "--limit", "0").stdout)
    console = {line.split()[0]: line for line in screen(run, 2).replace("›", " ").splitlines() if line.split()}
    page = page_of(run)
    assert page.data["meta"]["headline"] == run.report["meta"]["headline"]
    for row in timing:
        assert table[row["name"]][0].replace(",", "") == str(row["calls"]), row
        if row["name"] in console:  # not if it has no time, or if the screen is full
            words = re.split(r"  +", console[row["name"]].strip())
            assert f"{row['calls']:,}" in words or str(row["calls"]) in words, console[row["name"]]
    if timing:
        assert {row["name"]: row["calls"] for row in page.section("timing")["rows"]} == {
            row["name"]: row["calls"] for row in timing}


def test_the_checker_finds_contradictions():
    """Each rule, by one number or sentence that is wrong."""
    row = {"name": "f", "calls": 2, "total_ns": 10, "self_ns": 4, "min_ns": 4, "avg_ns": 5, "max_ns": 6,
           "percent_total": 40}
    thread = {"name": "t", "cpu_ns": 600_000_000, "waited_ns": 300_000_000, "lived_ns": 1_000_000_000,
              "percent_average": 60, "percent_max": 80, "threads": 1, "waits_ns": {"lock": 300_000_000}}
    order = {"column": "total_ns", "direction": "descending"}

    def found(headline="The bottleneck is f: 40 % of the time, cpu-bound", rows=(row,), thread=thread):
        return contradictions.in_report({
            "meta": {"headline": headline}, "elapsed_ns": 1_000_000_000, "sections": {
                "timing": {"percent_of": "rows", "order": order, "rows": list(rows)},
                "threads": {"rows": [thread]}}})

    assert found() == []
    assert len(found(rows=[row | {"percent_total": 101}])) == 1
    assert len(found(rows=[row | {"self_ns": 20}])) == 1
    assert len(found(rows=[row | {"max_ns": 2}])) == 1
    assert len(found(rows=[row, row | {"total_ns": 20}])) == 1
    assert len(found(thread=thread | {"waited_ns": 500_000_000})) == 1
    assert len(found(thread=thread | {"waits_ns": {"lock": 400_000_000}})) == 1
    assert len(found(thread=thread | {"percent_max": 30})) == 1
    assert len(found(headline="The bottleneck is g: 40 % of the time, cpu-bound")) == 1
    assert len(found(headline="The bottleneck is f: 140 % of the time, cpu-bound")) == 1
    assert len(found(headline="The program is idle for 80 % of the time. The bottleneck is f: 40 % of it")) == 1
