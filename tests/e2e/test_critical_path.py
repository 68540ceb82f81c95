"""The critical path of programs of which it is known what decides how long they take: tests/programs/critical.c."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import (BUILD, EXAMPLES, IS_GLIBC, PROGRAMS, Report, crossed, full, with_glibc, without_emulator,
                     without_sanitizer, without_thread_sanitizer)

pytestmark = [without_emulator("hotpath run preloads a library of the host"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              without_thread_sanitizer("it has a thread of its own")]

CRITICAL = PROGRAMS / "critical"

# What the first sentence names: as in docs/critical-path.md.
TRUTH = {"fork_join": "long_job", "pipeline2": "produce", "pipeline5": "stage_c", "server": "query_database"}


def headline(report):
    return report.values["meta"]["headline"]


def check_has_all_of(report, name):
    """All calls of the function are on the path, but for time in the run queue, which is estimated."""
    functions, total_ns = path_ns(report), report.row(name).total_ns
    assert functions[name] <= total_ns <= functions[name] + functions.get("<run queue>", 0) + 1000, functions


def path_ns(report):
    return {row.name: row.path_ns for row in report.rows("critical-path")}


# With wakers of locks.
TRUTH_WITH_LOCKS = {**TRUTH, "convoy": "rebuild", "readers": "write_all"}


def check_first_sentence(report, truth):
    assert headline(report).startswith("main waits for "), headline(report)
    first = headline(report).split(". The function with")[0]
    assert re.search(rf"\b{truth}\b", first), headline(report)
    functions = path_ns(report)
    waking = ("<wake-up>", "<run queue>")
    assert max((ns, name) for name, ns in functions.items() if name not in waking)[1] == truth, functions


@pytest.mark.parametrize("program, work", crossed(list(TRUTH), ["sleep", "compute"]))
def test_the_first_sentence_names_what_decides(cli, program, work):
    check_first_sentence(cli.run("--path", "--", CRITICAL, program, work).report, TRUTH[program])


# Closer to real programs. The lock of `log` is held while the disk is waited for.
REAL = {"handover": "scan_table", "housekeeper": "compress", "pool": "fetch",
        "dependency": "look_up_price", "log": "flush_log"}
CRITICAL_OFF = PROGRAMS / "critical_off"
unmodified = with_glibc("stacks end in Debian's musl, which cannot be unwound")


def check_names(report, truth):
    """Of an unmodified program: names the function, and none that is beside the path."""
    first = headline(report).split(". The function with")[0]
    assert re.search(rf"\b({truth})\b", first), first
    beside = r"housekeeper|short_job|prepare|look_up\b|open_table|use_table|sweep|render\b"
    assert not re.search(beside, first), first


@unmodified
@pytest.mark.parametrize("program, work", crossed(list(TRUTH_WITH_LOCKS), ["sleep", "compute"]))
def test_the_first_sentence_of_an_unmodified_program_names_it(cli, program, work):
    report = cli.run("--path", "--locks", "--", CRITICAL_OFF, program, work).report
    assert headline(report).startswith("main waits for "), headline(report)
    check_names(report, TRUTH_WITH_LOCKS[program])
    assert program != "convoy" or "for cache_lock, held by rebuild" in headline(report)


@pytest.mark.parametrize("program, work, command",
                         crossed(list(REAL), ["compute", "sleep"], [CRITICAL_OFF, CRITICAL]))
def test_programs_closer_to_real_ones(cli, program, work, command):
    if command == CRITICAL_OFF and not IS_GLIBC:
        pytest.skip("only with glibc: stacks end in Debian's musl, which cannot be unwound")
    check_names(cli.run("--path", "--locks", "--", command, program, work).report, REAL[program])


@pytest.mark.parametrize("program, work", [
    pytest.param(program, work,
                 marks=[] if (program, work) in (("convoy", "compute"), ("server", "sleep")) else full)
    for program in TRUTH_WITH_LOCKS for work in ("compute", "sleep")])
def test_the_same_where_locks_are_followed(cli, program, work):
    report = cli.run("--path", "--locks", "--", CRITICAL, program, work).report
    check_first_sentence(report, TRUTH_WITH_LOCKS[program])
    kinds = {row.kind for row in report.rows("path-waits")}
    assert program not in ("convoy", "server") or {"lock", "condition"} & kinds


@full  # test_locks.py has it, too, with every hold timed
def test_locks_behave_as_without_it(cli):
    """tests/programs/lock_rules prints what every function of locks returns."""
    rules = PROGRAMS / "lock_rules"
    assert cli("run", "--path", "--locks", "--format", "none", "--", rules).stdout == cli(
        "run", "--no-preload", "--format", "none", "--", rules).stdout


def test_the_path_is_exact(cli):
    """The long job is called once, on the path: its time there is that of the call. Short jobs are beside it."""
    report = cli.run("--path", "--", CRITICAL, "fork_join", "sleep").report
    functions = path_ns(report)
    check_has_all_of(report, "long_job")
    assert "short_job" not in functions or functions["short_job"] <= report.row("short_job").max_ns
    assert sum(functions.values()) >= report.row("main").total_ns
    [wait] = [row for row in report.rows("path-waits") if row.kind == "thread"]
    assert wait.waits >= 1 and wait.waited_ns <= report.row("long_job").total_ns


@with_glibc("the shell of this machine has it")
@pytest.mark.parametrize("shell", ["exec {0} fork_join sleep",
                                   pytest.param("{0} fork_join sleep; true", marks=full),
                                   "env {0} fork_join sleep & wait"])
def test_the_path_goes_on_in_the_program_that_is_waited_for(cli, shell):
    """After exec, in a child, and in one that executes another program, while the shell waits for SIGCHLD. If the
    observer had no CPU at the end of a wait, who ended it is unknown; a wrong rule is wrong every time."""
    for attempt in range(3):
        report = cli.run("--path", "--locks", "--", "sh", "-c", shell.format(CRITICAL_OFF)).report
        assert re.search(r"main waits for .*is in long_job", headline(report)), headline(report)
        rows = report.rows("critical-path")
        assert sum(row.path_ns for row in rows) >= 400e6
        assert len({(row.name, row.kind) for row in rows}) == len(rows)
        unknown_ns = sum(row.unknown_ns for row in rows)
        if unknown_ns <= 50e6:
            return
    assert unknown_ns <= 50e6, rows


def test_the_path_goes_on_in_the_process_that_is_asked(cli):
    """By a socket, 40 times for 12 ms."""
    report = cli.run("--path", "--locks", "--", CRITICAL, "dependency", "sleep").report
    functions = path_ns(report)
    assert functions["look_up_price"] >= 0.7 * report.row("look_up_price").total_ns, functions
    assert functions["ask_price"] <= 0.5 * report.row("ask_price").total_ns, functions
    assert sum(functions.values()) <= report.values["elapsed_ns"] * 1.01, functions


@with_glibc("taskset of this machine has it")
def test_time_in_the_run_queue_is_told_apart(cli):
    """On one CPU the long job, 400 ms, waits for three others, of 50 ms each. Samples alone explain 520 ms."""
    cpu = min(os.sched_getaffinity(0))
    report = cli.run("--path", "--locks", "--", "taskset", "-c", cpu, CRITICAL_OFF, "fork_join", "compute").report
    functions = path_ns(report)
    assert functions["<run queue>"] >= 0.15 * sum(functions.values()), functions


@pytest.mark.parametrize("program", [CRITICAL, pytest.param(CRITICAL_OFF, marks=[full, unmodified])])
def test_it_is_a_flame_graph(cli, program):
    """Of the page and of exports: all of the path, and most of it below the function that decides."""
    report = cli.run("--path", "--locks", "--", program, "server", "sleep").report
    stacks = [line.rsplit(" ", 1) for line in cli("export", "-f", "folded", "--of", "path").stdout.splitlines()]
    all_ns, path = sum(int(ns) for _, ns in stacks), sum(path_ns(report).values())
    assert abs(all_ns - path) <= 0.01 * path, (all_ns, path)
    assert sum(int(ns) for names, ns in stacks if "query_database" in names) >= 0.5 * all_ns, stacks
    assert '"key":"path"' in re.sub(r"\s", "", cli("report", "--format", "html").stdout)


def test_the_example(cli):
    """Most time is in compile, but generate_large and link_all decide; the latter is called after the last wait."""
    report = cli.run("--path", "--", EXAMPLES / "critical_path").report
    assert headline(report).startswith("main waits for ") and "is in generate_large" in headline(report)
    functions = path_ns(report)
    assert functions["generate_large"] >= 100e6 and functions["link_all"] > 0, functions
    assert functions.get("compile", 0) <= report.row("compile").total_ns / 2, functions
    assert "<other>" not in functions, functions


def test_nothing_changes_without_it(cli):
    report = cli.run("--", CRITICAL, "fork_join", "sleep").report
    assert "critical-path" not in report.values["sections"] and "path-waits" not in report.values["sections"]
    assert "critical path" not in headline(report)


def test_threads_have_the_names_that_the_program_gives_them(cli):
    """It names them after they have begun, and were registered."""
    report = cli.run("--path", "--by", "thread", "--", CRITICAL, "pipeline5", "sleep").report
    names = {row.name: row.thread["name"] for row in report.rows() if row.name.startswith("stage")}
    assert names == {f"stage_{letter}": f"stage {at}" for at, letter in enumerate("abcde")}


def test_other_sections_are_those_without_it(cli):
    """examples/orders has a bit of everything."""
    command = ["--timeout", "1000", "--", BUILD / "examples/orders"]
    plain, found = cli.run(*command).report, cli.run("--path", *command).report
    sections = {name for name, section in found.values["sections"].items() if section["rows"]}
    assert sections - {"critical-path", "path-waits"} >= {
        name for name, section in plain.values["sections"].items() if section["rows"]} >= {"tasks", "channels"}
    assert {row.name.split()[0] for row in found.rows("threads")} == {
        row.name.split()[0] for row in plain.rows("threads")}
    outside, = (row for row in found.rows("critical-path") if row.name == "<outside>")
    assert outside.kind == "waiting" and outside.waits_for == "sleep", outside  # between two compactions


@pytest.mark.parametrize("program", ["path_server", pytest.param("path_server_off", marks=unmodified)])
def test_of_a_server_only_busy_stretches_count(cli, program):
    """40 requests, and 6 ms of work for each; between them nothing comes for 30 ms."""
    server = cli.start("run", "--path", "--locks", "--format", "json", "--output", "server.json", "--section",
                       "all", "--limit", "0", "--", PROGRAMS / program, stdin=subprocess.PIPE)
    for _ in range(40):
        server.stdin.write("x")
        server.stdin.flush()
        assert server.stdout.read(1) == "x"
        time.sleep(0.03)
    waited_ns, worker_ready_ns = map(int, server.communicate()[0].split())
    assert server.returncode == 0
    report = Report(json.loads((cli.folder / "server.json").read_text()))
    expected = r"main waits for answerer, which .*answer_came.*look_up"
    assert re.search(expected, headline(report)), headline(report)
    [idle] = [row for row in report.rows("critical-path") if row.kind == "idle"]
    idle_part = idle.path_ns / sum(row.path_ns for row in report.rows("critical-path"))
    if abs(idle_part - 0.25) > 0.01:  # on a busy machine answers take longer than nothing comes
        says_busy = re.match(r"Busy for \d+ % of ", headline(report)) is not None
        assert says_busy == (idle_part > 0.25), (idle_part, headline(report))
    assert idle.name == "<idle>" and idle.percent_path is None
    assert 0.9 * waited_ns - worker_ready_ns <= idle.path_ns <= 1.05 * waited_ns
    functions = [row for row in report.rows("critical-path") if row.kind != "idle"]
    assert abs(sum(row.percent_path for row in functions) - 100) < 0.1
    assert "over 41 busy stretches of " in cli("report", "--section", "critical-path").stdout
    waits = {row.name: row.waited_ns for row in report.rows("path-waits")}
    assert waits["request_came"] <= 0.5 * waits["answer_came"], waits  # the worker's wait for work is not that long
    check_order_of_locks(report)


def check_order_of_locks(report):
    """By their share of the path, although a thread waited for each request for 30 ms and more."""
    rows = report.rows("locks")
    assert [row.name for row in rows][0] == "answer_came"
    assert next(row for row in rows if row.name == "request_came").wait_ns >= 40 * 30e6 * 0.9
    assert report.values["sections"]["locks"]["order"]["column"] == "percent_path"
    for row in rows:
        waits = [wait.percent_path for wait in report.rows("path-waits") if wait.name == row.name]
        assert abs(row.percent_path - sum(waits)) < 0.1, (row, waits)


def test_without_paths_locks_are_sorted_by_waiting(cli):
    report = cli.run("--locks", "--", CRITICAL, "convoy", "sleep").report
    assert report.values["sections"]["locks"]["order"]["column"] == "wait_ns"
    assert "percent_path" not in report.section("locks")["rows"][0]


def test_the_path_survives_the_program(cli):
    """main kills the process halfway, after 20 of 40 requests."""
    done = cli.run("--path", "--", CRITICAL, "server", "sleep", "killed", status=-signal.SIGKILL)
    check_has_all_of(done.report, "query_database")
    assert done.report.row("query_database").calls == 20
