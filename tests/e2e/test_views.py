"""What readers ask of a report: its rows in another order, the small ones left out, thread by thread."""
import json
import subprocess

import pytest

from harness import EMULATOR, HOTPATH, SOURCE, TIMEOUT


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
                          timeout=TIMEOUT, env=box.environment(box.path, {"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_REPORT": None,
                                                                          "HOTPATH_OUTPUT_PATH": None, **(env or {})}))
    assert done.returncode == 0, done.stderr
    return done.stdout


# ------------------------------------------------------------------------------------------------------ sorting

@pytest.mark.parametrize("column, key", [("calls", "calls"), ("self", "self_ns"), ("Avg", "avg_ns"), ("max", "max_ns"),
                                         ("p95", "p95_ns"), ("percent_total", "percent_total"), ("threads", "threads")])
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
    assert is_sorted(report.rows("calltree")) and not is_sorted(box.read(session, "--sort", "-calls").rows("calltree"))


def test_an_order_that_there_is_not(box):
    [session] = box.run("counts").sessions()
    report = box.read(session, "--sort", "colour")
    assert names(report) == names(box.read(session))
    [warning] = report.values["warnings"]
    assert "'colour' to sort by" in warning
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
        assert names(report) == [row.name for row in every.rows() if row.percent_total >= percent or row.name == "main"]
        assert paths(report.rows("calltree")) == paths(every.rows("calltree"), percent)
        timing = report.section("timing")
        assert timing["total_rows"] == count and timing["shown_rows"] == len(timing["rows"])
        assert report.values["min_percent"] == percent
        follows_the_schema(report)
        if timing["shown_rows"] < count:
            assert f"({timing['shown_rows']}/{count})" in table(box, session, "--min-percent", str(percent), "--limit", "0")
    assert "--min-percent '101' is not a number from 0 to 100" in box.read(session, "--min-percent", "101", status=2).stderr
