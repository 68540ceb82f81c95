"""Views of a report: its rows in another order, without small ones, by thread."""
import json
import subprocess

import pytest

from harness import EMULATOR, HOTPATH, SOURCE, TIMEOUT, without_emulator, without_thread_sanitizer


def names(report, section="timing"):
    return [row.name for row in report.rows(section)]


def order(report, section="timing"):
    return tuple(report.section(section)["order"].values())


def follows_the_schema(report):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SOURCE / "docs" / "report.schema.json").read_text())
    errors = list(jsonschema.validators.validator_for(schema)(schema).iter_errors(report.values))
    assert errors == [], errors[:3]


def table(box, session, *args, env=None):
    """`hotpath report` of a session as a table."""
    done = subprocess.run(EMULATOR + [str(HOTPATH), "report", *args, str(session)], capture_output=True, text=True,
                          timeout=TIMEOUT, env=box.environment(box.path, {
                              "HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_REPORT": None, "HOTPATH_OUTPUT_PATH": None,
                              **(env or {})}))
    assert done.returncode == 0, done.stderr
    return done.stdout


# ------------------------------------------------------------------------------------------------------ sorting

@pytest.mark.parametrize("column, key", [("calls", "calls"), ("self", "self_ns"), ("Avg", "avg_ns"),
                                         ("max", "max_ns"), ("p95", "p95_ns"), ("percent_total", "percent_total"),
                                         ("threads", "threads")])
def test_rows_in_order_of_any_number(box, column, key):
    [session] = box.run("times").sessions()
    for sign, is_falling in (("", True), ("-", False)):
        report = box.read(session, "--sort", sign + column)
        values = [row.values[key] for row in report.rows()]
        assert values == sorted(values, reverse=is_falling) and len(values) > 3
        follows_the_schema(report)
        if key != "percent_total":
            assert order(report) == (key, "descending" if is_falling else "ascending")
            assert "are sorted by" in table(box, session, "--sort", sign + column)


def test_rows_in_order_of_names(box):
    result = box.run("counts", env={"HOTPATH_SORT": "name"})
    assert names(result.report) == sorted(names(result.report)) and len(names(result.report)) > 3
    assert order(result.report) == order(result.report, "calltree") == ("name", "ascending")
    [session] = result.sessions()
    assert names(box.read(session, "--sort", "-name")) == sorted(names(result.report), reverse=True)
    usual = box.read(session)
    assert names(usual)[0] == "main" and order(usual) == ("total_ns", "descending")
    assert "are sorted by" not in table(box, session)


def test_siblings_in_the_same_order(box):
    def is_sorted(rows):
        calls = [row.calls for row in rows]
        return calls == sorted(calls, reverse=True) and all(is_sorted(row.children) for row in rows)

    [session] = box.run("tree").sessions()
    report = box.read(session, "--sort", "calls")
    assert is_sorted(report.rows("calltree"))
    assert not is_sorted(box.read(session, "--sort", "-calls").rows("calltree"))


def test_unknown_sort_column_is_reported(box):
    [session] = box.run("counts").sessions()
    report = box.read(session, "--section", "timing", "--sort", "tid")  # other sections have it
    assert names(report) == names(box.read(session))
    [warning] = report.values["warnings"]
    assert "'tid' to sort by" in warning
    assert "--sort: no column 'colour'" in box.read(session, "--sort", "colour", status=2).stderr
    assert "--sort 'a,b' is not a column" in box.read(session, "--sort", "a,b", status=2).stderr


# -------------------------------------------------------------------------------------------------- small shares

def paths(rows, percent=0.0, above=()):
    """Paths in a tree, without those on which one row has a smaller share."""
    found = []
    for row in rows:
        if row.percent_total >= percent:
            found += [(*above, row.name)] + paths(row.children, percent, (*above, row.name))
    return found


@pytest.mark.parametrize("program", ["times", "tree"])
def test_rows_with_a_small_share_are_left_out(box, program):
    [session] = box.run(program).sessions()
    every = box.read(session)
    assert "min_percent" not in every.values
    count = len(every.rows())
    for percent in (0.01, 1, 12.5, 100):
        report = box.read(session, "--min-percent", str(percent))
        assert names(report) == [row.name for row in every.rows() if row.percent_total >= percent or
                                 row.name == "main"]
        assert paths(report.rows("calltree")) == paths(every.rows("calltree"), percent)
        timing = report.section("timing")
        assert timing["total_rows"] == count and timing["shown_rows"] == len(timing["rows"])
        assert report.values["min_percent"] == percent
        follows_the_schema(report)
        if timing["shown_rows"] < count:
            assert f"({timing['shown_rows']}/{count})" in table(
                box, session, "--min-percent", str(percent), "--limit", "0")
    assert "--min-percent '101' is not a number from 0 to 100" in box.read(
        session, "--min-percent", "101", status=2).stderr


# ----------------------------------------------------------------------------------------------- thread by thread

def by_thread(report, name="work"):
    """Calls of a function: {(thread's name, pid, tid, number of threads): calls}."""
    found = {}
    for row in report.rows():
        if row.name == name:
            key = tuple(row.thread[part] for part in ("name", "pid", "tid", "threads"))
            assert key not in found
            found[key] = row.calls
    return found


def adds_up(split, merged):
    """The sum over threads is what the row of all of them has."""
    assert split.values["by"] == "thread" and merged.values["by"] == "function"
    assert {row.name for row in split.rows()} == {row.name for row in merged.rows()}
    for row in merged.rows():
        parts = [part for part in split.rows() if part.name == row.name]
        assert row.calls == sum(part.calls for part in parts)
        assert row.threads == sum(part.threads for part in parts)
        assert row.min_ns == min(part.min_ns for part in parts) and row.max_ns == max(part.max_ns for part in parts)
        for key in ("total_ns", "self_ns", "percent_total"):
            assert row.values[key] == pytest.approx(sum(part.values[key] for part in parts), rel=1e-6,
                                                     abs=0.001 * (len(parts) + 1))  # three decimals each
        assert all(part.min_ns <= part.p95_ns <= part.max_ns for part in parts)
        assert all("thread" not in other.values for other in merged.rows())


@without_emulator("the main thread has its name")
def test_threads_at_the_same_time(box):
    result = box.run("by_thread", "crowd")
    [session] = result.sessions()
    split = box.read(session, "--by", "thread")
    tid, pid = result.told, result.told["main_tid"]
    assert by_thread(split) == {("by_thread", pid, pid, 1): 5, ("alpha", pid, tid["alpha_tid"], 1): 10,
                                ("beta", pid, tid["beta_tid"], 1): 20, ("gamma", pid, tid["gamma_tid"], 1): 30}
    assert by_thread(split, "inner") == by_thread(split)
    adds_up(split, box.read(session))
    follows_the_schema(split)
    slow = [row for row in split.rows() if row.name == "work" and row.thread["name"] == "beta"]
    assert slow[0].min_ns >= 20000 and slow[0].total_ns >= 20 * 20000
    assert names(split)[0] == "main" and split.section("timing")["percent_of"] == "main"
    assert split.rows("calltree")[0].values == box.read(session).rows("calltree")[0].values
    text = table(box, session, "--by", "thread")
    assert "| Thread" in text and f"| beta {tid['beta_tid']} " in text and "one after the other" not in text


def test_threads_one_after_the_other(box):
    result = box.run("by_thread", "one_by_one", env={"HOTPATH_BY": "thread"})
    pid = result.told["main_tid"]
    assert by_thread(result.report) == {("worker", pid, result.told["worker_tid"], 3): 6}
    [row] = [row for row in result.report.rows() if row.name == "work"]
    assert row.threads == 3
    [session] = result.sessions()
    adds_up(result.report, box.read(session))
    text = table(box, session, "--by", "thread")
    assert f"worker {result.told['worker_tid']} (3 threads)" in text and "one after another" in text


@without_emulator("the main thread has its name")
def test_threads_of_several_processes(box):
    result = box.run("by_thread", "processes")
    parent, child = result.told["main_tid"], result.told["child"]
    split = box.read(result.folder, "--by", "thread")
    assert by_thread(split) == {("by_thread", parent, parent, 1): 4, ("by_thread", child, child, 1): 6}
    adds_up(split, box.read(result.folder))
    assert f"by_thread {child}/{child}" in table(box, result.folder, "--by", "thread")


@without_emulator("the main thread has its name")
@without_thread_sanitizer("timers that fast starve it")
def test_handlers_belong_to_the_thread_they_interrupt(box):
    """Handlers that interrupt the recorder have their own record, of the same thread."""
    result = box.run("signals", "storm", 3000)
    [session] = result.sessions()
    split = box.read(session, "--by", "thread")
    for row in split.rows():
        assert row.thread["tid"] == row.thread["pid"] and row.thread["name"] == "signals"
    adds_up(split, box.read(session))


def test_columns_of_every_section(box):
    """All of them, by each of their names."""
    result = box.run("by_thread", "crowd")
    [session] = result.sessions()
    sections = {"timing": ["Thread", "Self", "Min", "Max", "Threads", "Location", "Open", "Overhead"],
                "calltree": ["Open"], "processes": ["PID", "Parent", "Command"]}
    for section, titles in sections.items():
        args = ("--section", section, "--by", "thread")
        for title in titles:
            text = table(box, session, *args, "--columns", title)
            assert f"| {title}" in text or f" {title} |" in text
            assert "unknown column" not in text
        every = table(box, session, *args, "--columns", "all")
        head = next(line for line in every.splitlines() if line.startswith("|"))
        assert all(title in head for title in titles)
