"""Tasks of real programs: threads, children, a program that is killed. The expected values are known from the
programs."""
import csv
import json
import re
import signal

import pytest

from command import Cli
from harness import PROGRAMS, SANITIZER, with_cxx, without_emulator, without_sanitizer
from test_views import follows_the_schema


def tasks_of(report):
    return {row["name"]: row for row in report.section("tasks")["rows"]}


def rows_of(report, section):
    return {row["name"]: row for row in report.section(section)["rows"]}


def test_polls_on_any_thread(box):
    result = box.run("tasks", "hop")
    hopping = tasks_of(result.report)["hopping"]
    assert (hopping["calls"], hopping["polls"], hopping["open"], hopping["misused"]) == (1000, 8000, 0, 0)
    assert (hopping["cancelled"], hopping["state"]) == (0, "ended")
    assert abs(hopping["busy_ns"] + hopping["waiting_ns"] - hopping["total_ns"]) <= 1  # each is rounded
    assert 0 < hopping["in_flight"] <= 1000 and 64 <= hopping["max_open"] <= 1000
    timing = rows_of(result.report, "timing")
    assert timing["hopping"]["calls"] == 1000 and timing["compute"]["calls"] == 8000
    assert timing["hopping"]["total_ns"] == hopping["total_ns"]
    assert timing["hopping"]["self_ns"] <= hopping["busy_ns"]
    assert result.report.lost == {}
    follows_the_schema(result.report)


def test_contents_of_a_long_poll(box):
    """For a task whose polls are too short to be followed one by one, so that a long one is unexpected."""
    for _ in range(20):
        result = box.run("tasks", "long", env={"HOTPATH_SLOWEST": "slow"})
        if result.told["others"] < result.told["first"]:
            break
    else:
        pytest.fail("in none of 20 runs the processor was there for the short ones")
    slow, timing = tasks_of(result.report)["slow"], rows_of(result.report, "timing")
    assert slow["polls"] == 100000 and slow["long_polls"] >= 2
    assert slow["slowest_poll"].startswith("chew ") and "itself " in slow["slowest_poll"]
    kept = rows_of(result.report, "slowest")["slow"]
    inside = {row["name"]: row for row in kept["children"]}
    assert (inside["chew"]["calls"], inside["pick"]["calls"]) == (1, 3)
    assert inside["chew"]["total_ns"] == timing["chew"]["max_ns"]
    assert kept["total_ns"] == slow["max_poll_ns"] >= inside["chew"]["total_ns"]
    follows_the_schema(result.report)


@pytest.mark.skipif(bool(SANITIZER), reason=f"not with -fsanitize={SANITIZER}: malloc is the sanitizer's")
def test_allocations_are_exact_on_any_number_of_threads(box):
    hopping = tasks_of(box.run("tasks", "hop").report)["hopping"]
    polls, sizes = 8000, 8 * sum(range(1, 1001))
    assert (hopping["allocations"], hopping["allocated_bytes"]) == (2 * polls, 10 * polls + sizes)
    assert hopping["bytes_per_poll"] == (10 * polls + sizes) / polls
    assert hopping["bytes_per_call"] == (10 * polls + sizes) / 1000
    assert (hopping["allocations_per_poll"], hopping["allocations_per_call"]) == (2, 16)


def test_open_tasks_of_a_killed_program(box):
    result = box.run("tasks", "killed", status=-signal.SIGKILL)
    report = box.read(result.sessions()[0])
    open_ones = rows_of(report, "open-tasks")
    assert {name: row["state"] for name, row in open_ones.items()} == {"waiting": "waiting", "running": "running"}
    # An age counts up to the last record of the task.
    assert open_ones["waiting"]["age_ns"] >= open_ones["running"]["age_ns"] >= 2e6
    assert open_ones["waiting"]["busy_ns"] == 0
    tasks = tasks_of(report)
    assert {name: row["open"] for name, row in tasks.items()} == {"waiting": 1, "running": 1, "ended": 0}
    assert tasks["ended"]["total_ns"] >= 2e6 and tasks["ended"]["polls"] == 1


def test_tasks_of_a_child_are_the_childs(box):
    result = box.run("tasks", "forks")
    either = tasks_of(box.read(result.folder))["either"]
    assert (either["calls"], either["open"], either["polls"]) == (9, 0, 5)


def test_tasks_in_an_event_loop(box):
    report = box.run("tasks", "event").report
    tasks = tasks_of(report)
    assert (tasks["one"]["polls"], tasks["one"]["cancelled"]) == (10, 0)
    assert (tasks["other"]["polls"], tasks["other"]["cancelled"]) == (10, 1)
    main = box.run("tasks", "event").row("main", "calltree")
    assert {row.name: (row.calls, row.polls, [(child.name, child.calls) for child in row.children])
            for row in main.children} == {
        "one": (None, 10, [("compute", 10)]), "other": (None, 10, [("compute", 20)])}


@pytest.mark.skipif(bool(SANITIZER), reason=f"not with -fsanitize={SANITIZER}: malloc is the sanitizer's")
def test_calls_are_tasks_in_every_table(box):
    report = box.run("tasks", "hop", env={"HOTPATH_LOG": "hopping"}).report
    alloc = rows_of(report, "alloc-bytes")["hopping"]
    assert (alloc["calls"], alloc["open"], alloc["total_bytes"]) == (1000, 0, 80000)
    assert alloc["avg_bytes"] == 80 and alloc["p95_bytes"] is None
    assert rows_of(report, "timing")["hopping"]["polls"] == 8000
    assert {row["what"] for row in report.section("calls")["rows"]} == {"poll"}
    follows_the_schema(report)
    by_thread = box.run("tasks", "hop", env={"HOTPATH_BY": "thread"}).report
    rows = [row for row in by_thread.section("timing")["rows"] if row["name"] == "hopping"]
    assert {(row["calls"], row["avg_ns"]) for row in rows} == {(None, None)}
    assert sum(row["polls"] for row in rows) == 8000


def console_rows(cli, view, keys, *args):
    """A table of the console, as it writes it, by name."""
    path = cli.folder / f"hotpath-{view}.csv"
    path.unlink(missing_ok=True)
    cli("console", "--script", "-", "--size", "200x50", "tasks", *args, input=f"{keys} e screen",
        env={"LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": str(cli.folder)})
    with path.open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def json_report(cli, *args):
    return json.loads(cli("report", "--format", "json", "--limit", "0", *args).stdout)


@without_emulator("/proc is that of the machine below")
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_calls_are_tasks_in_windows_and_ranges(box):
    """The history has the polls of tasks, not how many there were: they are not called calls."""
    cli, stretch = Cli(box), ("--from", "10%", "--to", "90%")
    cli("run", "--format", "none", "--", PROGRAMS / "tasks", "served")
    report = json_report(cli, "--section", "timing,timeline,tasks,processes", *stretch)
    row = next(row for row in report["sections"]["timing"]["rows"] if row["name"] == "request")
    assert row["calls"] is None and 0 < row["polls"] < 800
    shown = console_rows(cli, "timing", "2", *stretch)
    seconds = report["elapsed_ns"] / 1e9
    assert (shown["request"]["calls"], shown["request"]["calls_s"], shown["request"]["avg"]) == ("", "", "")
    assert float(shown["request"]["polls_s"]) == pytest.approx(row["polls"] / seconds, rel=1e-3)
    assert float(shown["serve"]["calls"]) > 0 and shown["serve"]["polls_s"] == ""
    whole = json_report(cli, "--section", "timing,timeline,tasks,processes")
    task, = whole["sections"]["tasks"]["rows"]
    formerly = json_report(cli, "--section", "futures,open-futures,awaits")
    assert list(formerly["sections"]) == ["tasks", "open-tasks", "task-waits"]
    shown = console_rows(cli, "timing", "2", "--totals")
    assert (float(shown["request"]["calls"]), task["calls"], task["polls"]) == (200, 200, 800)
    assert float(shown["request"]["p95"]) == pytest.approx(task["p95_ns"], rel=1e-3)
    seconds = whole["elapsed_ns"] / 1e9
    for view, keys in (("calltree", "3 *"), ("callers", "3 u *")):
        tree = console_rows(cli, view, keys)
        assert tree["request"]["calls_s"] == "" and tree["serve"]["polls_s"] == ""
        assert float(tree["request"]["polls_s"]) == pytest.approx(800 / seconds, rel=1e-3)
        assert float(tree["serve"]["calls_s"]) == pytest.approx(200 / seconds, rel=1e-3)
    assert {row["what"] for row in whole["sections"]["timeline"]["rows"] if row["name"] == "request"} == {
        "polls", "time"}
    process, = whole["sections"]["processes"]["rows"]
    assert (process["calls"], process["polls"]) == (201, 800)  # main, and serve
    page = cli("console", "--script", "-", "--size", "120x40", "tasks", input="2 enter screen",
               env={"LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": str(cli.folder)}).stdout
    assert re.search(r"^\W*polls/s ", page, re.M) and "Poll durations" in page, page
    screen = cli("console", "--once", "--size", "120x40", "tasks", env={"LC_ALL": "C.UTF-8"}).stdout
    calls, polls = (re.search(rf"^ +{what}/s +([\d.,]+) ", screen, re.M) for what in ("calls", "polls"))
    assert float(polls[1].replace(",", "")) > 3 * float(calls[1].replace(",", "")), screen


def test_slowest_call_around_polls(box):
    report = box.run("tasks", "served", env={"HOTPATH_SLOWEST": "serve"}).report
    top, = report.section("slowest")["rows"]
    assert (top["calls"], top["polls"]) == (1, None)
    assert [(row["name"], row["calls"], row["polls"]) for row in top["children"]] == [("request", None, 4)]
    follows_the_schema(report)
    report = box.run("tasks", "served", env={"HOTPATH_SLOWEST": "request"}).report
    top, = report.section("slowest")["rows"]
    assert (top["name"], top["calls"], top["polls"]) == ("request", None, 1)
    assert report.section("slowest")["description"].startswith("The slowest poll of request: ")


def test_shares_without_the_main_row(box):
    """Tasks count by their wall time, as in their rows."""
    report = box.run("tasks", "event", env={"HOTPATH_EXCLUDE_WRAPPER": "1"}).report
    rows = report.section("timing")["rows"]
    assert {row["name"] for row in rows} == {"one", "other", "compute"}
    assert abs(sum(row["percent_total"] for row in rows) - 100) < 0.1


@pytest.mark.parametrize("option, value", [("FOCUS", "wanted*"), ("FILTER", "wanted*"), ("SKIP", "other*")])
def test_patterns_choose_objects(box, option, value):
    report = box.run("tasks", "kinds", env={f"HOTPATH_{option}": value}).report
    for section, name in (("tasks", "task"), ("values", "value"), ("channels", "channel"), ("streams", "stream"),
                          ("loops", "loop")):
        assert set(rows_of(report, section)) == {f"wanted {name}"}, section
    assert report.lost == {}


def test_patterns_choose_tasks(box):
    for env in ({"HOTPATH_FOCUS": "one"}, {"HOTPATH_FILTER": "one"}, {"HOTPATH_SKIP": "oth*,compute"}):
        report = box.run("tasks", "event", env=env).report
        assert set(tasks_of(report)) == {"one"}, env
        assert set(rows_of(report, "timing")) - {"main"} == {"one"}, env
        assert report.lost == {}


@with_cxx
def test_cxx(box):
    result = box.run("tasks_cxx", env={"HOTPATH_LOG": "request"})
    row = tasks_of(result.report)["request"]
    assert (row["calls"], row["polls"], row["cancelled"], row["open"], row["misused"]) == (10, 29, 1, 0, 0)
    assert row["recent"].startswith("request 9, request 8, request 7")


def test_the_table(box):
    text = box.run("tasks", "event", env={"HOTPATH_OUTPUT_FORMAT": "table",
                                          "HOTPATH_REPORT": "tasks"}).report_path.read_text()
    assert "tasks - Tasks, from creation to end." in text and "| Task  | Calls | Polls |" in text


def test_off_at_run_time(box):
    result = box.run("tasks", "hop", env={"HOTPATH": "0"})
    assert result.stderr == "" and result.stdout == ""
