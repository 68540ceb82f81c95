"""Options, environment variables and all forms of a report."""
import json
import os
import re
import shutil
import unicodedata

import pytest

from harness import EMULATOR, PROGRAMS, SOURCE, Report, end
from terminal import Terminal, plain

TABLE = {"HOTPATH_OUTPUT_FORMAT": "table", "HOTPATH_OUTPUT_PATH": None, "HOTPATH_REPORT": None,
         "HOTPATH_LIMIT": None}


def table_of(box, program, *args, env=None, status=0):
    return box.run(program, *args, env={**TABLE, **(env or {})}, status=status).stderr


def rows_of(table):
    """Cells of the first table, without its head."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


# ------------------------------------------------------------------------------------------------ bad values

BAD = {
    "HOTPATH": "maybe",
    "HOTPATH_FILTER": "/(/",
    "HOTPATH_REPORT": "!!",
    "HOTPATH_FOCUS": "/[a-/",
    "HOTPATH_SLOWEST": "/*/",
    "HOTPATH_COLUMNS": "?",
    "HOTPATH_SORT": "calls,self",
    "HOTPATH_BY": "process",
    "HOTPATH_MIN_PERCENT": "5%",
    "HOTPATH_PERCENTILES": "50,101",
    "HOTPATH_LIMIT": "many",
    "HOTPATH_FUNCTIONS_LIMIT": "-1",
    "HOTPATH_CALLTREE_LIMIT": "1.5",
    "HOTPATH_LOGS_LIMIT": "1e3",
    "HOTPATH_TIME_EXCLUSIVE": "perhaps",
    "HOTPATH_ALLOC_CUMULATIVE": "some",
    "HOTPATH_ALLOC_METRIC": "peak",
    "HOTPATH_EXCLUDE_WRAPPER": "2",
    "HOTPATH_OUTPUT_FORMAT": "xml",
    "HOTPATH_USER_METADATA": "no pair",
    "HOTPATH_SHUTDOWN_MS": "soon",
    "HOTPATH_LEAVE_SIGNALS": "yep",
    "HOTPATH_MAX_BYTES": "12",
    "HOTPATH_RESERVE": "all",
    "HOTPATH_KEEP": "none",
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_value_gives_one_warning_and_the_default(box, name):
    usual = box.run("counts", env={**TABLE, "HOTPATH_OUTPUT_FORMAT": None})
    result = box.run("counts", env={**TABLE, "HOTPATH_OUTPUT_FORMAT": None, name: BAD[name]})
    assert result.stdout == usual.stdout
    assert len(result.lines) == 1, result.lines
    line = result.lines[0]
    assert f"{name}='{BAD[name]}'" in line and "using" in line
    assert len(rows_of(result.stderr)) == len(rows_of(usual.stderr))
    assert {row[0] for row in rows_of(result.stderr)} & {"main"} == {"main"}


def test_each_invalid_value_gives_one_warning(box):
    result = box.run("counts", env={**TABLE, "HOTPATH_LIMIT": "x", "HOTPATH_KEEP": "y", "HOTPATH_PERCENTILES": "z"})
    assert len(result.lines) == 3


def test_hostile_values_are_shown_safely(box):
    for value in ("x" * 5000, "\x1b[31m", "%s%s%n", "/" + "(a*)*" * 50 + "/", "=,=,="):
        for name in BAD:
            result = box.run("counts", env={**TABLE, name: value}, status=None)
            assert result.status == 0, (name, value, end(result.status))
            assert "\x1b" not in result.stderr
            assert all(len(line) < 600 for line in result.lines)


# -------------------------------------------------------------------------------------------------- formats

def test_json(box):
    text = box.run("counts", env={"HOTPATH_OUTPUT_PATH": None}).stderr
    assert text.count("\n") == 1
    assert Report(json.loads(text)).row("early").calls == 100


def test_json_pretty(box):
    text = box.run("counts", env={"HOTPATH_OUTPUT_PATH": None, "HOTPATH_OUTPUT_FORMAT": "json-pretty"}).stderr
    assert text.count("\n") > 50
    assert Report(json.loads(text)).row("early").calls == 100


def test_format_none(box):
    result = box.run("counts", env={"HOTPATH_OUTPUT_PATH": None, "HOTPATH_OUTPUT_FORMAT": "none"})
    assert result.stderr == ""
    assert box.read(result.sessions()[0]).row("early").calls == 100


def test_table(box):
    text = table_of(box, "counts")
    lines = text.splitlines()
    assert re.match(r"\[hotpath\] [\d.]+ ?(ns|µs|ms|s) \| timing", lines[0])
    assert any(re.match(r"timing - .*\(\d+/\d+\)$", line) for line in lines)
    head = next(line for line in lines if line.startswith("|"))
    assert [cell.strip() for cell in head.strip("|").split("|")] == [
        "Function", "Calls", "Avg", "P95", "Total", "% Total"]
    assert rows_of(text)[0][0] == "main" and rows_of(text)[0][-1] == "100.00%"
    assert lines[-1].startswith("clock ") and "one zone costs" in lines[-1] and "nothing was lost" in lines[-1]
    assert "\x1b" not in text
    bars = {line.index("|", 1) for line in lines if line.startswith("|")}
    assert len(bars) == 1


@pytest.mark.parametrize("program, args, status", [("counts", [], 0), ("times", [], 0), ("recursion", [], 0),
                                                   ("open_zones", [], 3), ("tree", [], 0), ("wide", [], 0),
                                                   ("names", [], 0), ("control", ["unstarted"], 0)])
def test_json_follows_the_schema(box, program, args, status):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SOURCE / "docs" / "report.schema.json").read_text())
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    variants = [{}, {"HOTPATH_PERCENTILES": "0,0.1,50,99.99,100"}, {"HOTPATH_TIME_EXCLUSIVE": "1"},
                {"HOTPATH_EXCLUDE_WRAPPER": "1"}, {"HOTPATH_FOCUS": "nothing has this name"},
                {"HOTPATH_LIMIT": "2"}, {"HOTPATH_REPORT_LABEL": "label", "HOTPATH_USER_METADATA": "a=1,b=x y"},
                {"HOTPATH": "1"}]
    for env in variants:
        result = box.run(program, *args, env=env, status=status)
        if not result.report_path.exists():
            assert program == "control" and "HOTPATH" not in env
            continue
        errors = list(validator(schema).iter_errors(result.report.values))
        assert errors == [], (env, errors[:3])
        # The schema is strict: a report without its sections, or with a number as text, is rejected.
        broken = json.loads(json.dumps(result.report.values))
        del broken["sections"]
        assert not validator(schema).is_valid(broken)
        broken = json.loads(json.dumps(result.report.values))
        broken["elapsed_ns"] = "1.5 s"
        assert not validator(schema).is_valid(broken)


# ----------------------------------------------------------------------------------------------- destination

def test_output_path_with_pid_and_missing_folders(box):
    folder = box.folder()
    result = box.run("counts", env={"HOTPATH_OUTPUT_PATH": f"{folder}/a/b/run-%p.json"})
    written = folder / "a" / "b" / f"run-{result.pid}.json"
    if EMULATOR:
        written = next((folder / "a" / "b").iterdir())
    assert Report(json.loads(written.read_text())).row("early").calls == 100
    assert result.stderr == ""


@pytest.mark.parametrize("path", ["/proc/cannot/be/written", "/dev/full", "/"])
def test_output_path_that_cannot_be_written(box, path):
    result = box.run("counts", env={"HOTPATH_OUTPUT_PATH": path})
    line, rest = result.stderr.split("\n", 1)
    assert line.startswith("hotpath: cannot write") and path in line
    assert Report(json.loads(rest)).row("early").calls == 100


def test_relative_output_path(box):
    result = box.run("counts", env={"HOTPATH_OUTPUT_PATH": "here.json"})
    assert Report(json.loads((result.folder / "here.json").read_text())).row("early").calls == 100


def test_children_report_only_into_files_of_their_own(box):
    """A forked child's report would otherwise replace its parent's."""
    quiet = box.run("children", "fork", status=4)
    assert quiet.row("one").calls == 20
    folder = box.folder()
    box.run("children", "fork", env={"HOTPATH_OUTPUT_PATH": f"{folder}/%p.json"}, status=4)
    reports = [Report(json.loads(path.read_text())) for path in folder.iterdir()]
    assert len(reports) == 11  # the parent and the ten children that end by exit()
    assert sorted(report.calls("in_child") for report in reports) == [0] + [7] * 10


# ------------------------------------------------------------------------------------------------ contents

def test_focus(box):
    whole = box.run("counts").report
    result = box.run("counts", env={"HOTPATH_FOCUS": "le"}).report
    assert result.names() and all("le" in name for name in result.names())
    assert "leaf" in result.names() and "early" not in result.names()
    regex = box.run("counts", env={"HOTPATH_FOCUS": "/^(top|MIDDLE)$/i"}).report
    assert sorted(regex.names()) == ["middle", "top"]
    # Shares stay those of the whole run.
    assert 0 < regex.row("top").percent_total < 100 and whole.row("top").calls == regex.row("top").calls
    assert result.values["focus"] == "le"
    assert sorted(box.run("counts", env={"HOTPATH_FOCUS": "to?,m*,-main"}).report.names()) == ["middle", "top"]


def test_filter_by_source_file(box):
    def names(variable, chosen):
        return sorted(box.run("names", env={variable: chosen}).report.names())

    assert names("HOTPATH_FOCUS", "file:names_other.c,file:*.h") == ["names_other:helper", "shared_inline"]
    assert names("HOTPATH_FOCUS", "help*") == ["names:helper", "names_other:helper"]  # whatever is put before it
    assert names("HOTPATH_FILTER", "file:programs/names_*.c") == ["helper", "main"]  # it is always there
    assert names("HOTPATH_SKIP", "file:names.?") == ["helper", "main"]


def test_filter(box):
    result = box.run("counts", env={"HOTPATH_FILTER": "/^(top|leaf)$/"})
    assert sorted(result.report.names()) == ["leaf", "main", "top"]
    assert result.calls("leaf") == 70
    top = result.row("main", "calltree").child("top")
    assert top.child("leaf").calls == 70  # the path through middle is not seen
    assert box.read(result.sessions()[0]).names() == result.report.names()


def left_out(box, program, **env):
    """What the last line says of it."""
    table = table_of(box, program, env=env)
    return re.findall(r"; (HOTPATH_\w+(?: and HOTPATH_\w+)? left out \d+ functions?);", table)


def test_the_last_line_says_how_much_was_left_out(box):
    assert left_out(box, "names", HOTPATH_SKIP="nothing like this") == []
    # In two units, and one function.
    assert left_out(box, "names", HOTPATH_SKIP="shared_inline") == ["HOTPATH_SKIP left out 1 function"]
    assert left_out(box, "names", HOTPATH_SKIP="shared_inline", HOTPATH_FILTER="-*helper") == \
        ["HOTPATH_FILTER and HOTPATH_SKIP left out 3 functions"]


def test_limit(box):
    everything = box.run("counts").report.section("timing")
    total = everything["total_rows"]
    assert everything["shown_rows"] == total == len(everything["rows"])
    timing = box.run("counts", env={"HOTPATH_LIMIT": "3"}).report.section("timing")
    assert timing["shown_rows"] == len(timing["rows"]) == 3  # the main row is one of them
    assert timing["total_rows"] == total
    assert f"(3/{total})" in table_of(box, "counts", env={"HOTPATH_LIMIT": "3"})
    assert "/" not in next(line for line in table_of(box, "counts", env={"HOTPATH_LIMIT": "0"}).splitlines()
                           if line.startswith("timing -"))


def test_limits_of_sections(box):
    env = {"HOTPATH_LIMIT": "2", "HOTPATH_FUNCTIONS_LIMIT": "5", "HOTPATH_REPORT": "timing,calltree"}
    report = box.run("counts", env=env).report
    assert report.section("timing")["shown_rows"] == 5
    assert report.section("calltree")["shown_rows"] == 2


def test_variables_choose_sections(box):
    """HOTPATH_SECTIONS overrides HOTPATH_REPORT, which box.run sets to all."""
    def sections(value, variable="HOTPATH_SECTIONS"):
        return list(box.run("counts", env={variable: value}).report.values["sections"])
    assert sections("timing") == sections("timing", "HOTPATH_REPORT") == ["timing"]
    assert sections("calltree") == ["calltree"]
    assert set(sections("timing,calltree")) == {"timing", "calltree"}
    assert "timing" in sections("auto")
    assert set(sections("all")) >= {"timing", "calltree"}
    assert "timing" not in sections("all,-timing")


def test_processes(box):
    """One row on request; by default only with several processes."""
    assert "processes" not in box.run("times", env={"HOTPATH_REPORT": "auto"}).report.values["sections"]
    result = box.run("times", env={"HOTPATH_REPORT": "timing,processes"})
    [row] = result.report.rows("processes")
    assert EMULATOR or row.pid == result.pid
    assert row.name.startswith(f"{row.pid} ") and "times" in row.name
    assert row.started_ns == 0 and row.percent_total == 100
    assert row.calls == sum(function.calls for function in result.report.rows())
    assert row.total_ns == pytest.approx(sum(function.self_ns for function in result.report.rows()), rel=1e-6)
    assert result.report.values["meta"]["processes"] == 1


def test_columns(box):
    text = table_of(box, "counts", env={"HOTPATH_COLUMNS": "self,min,max,threads"})
    head = next(line for line in text.splitlines() if line.startswith("|"))
    for title in ("Self", "Min", "Max", "Threads"):
        assert title in head


def test_label_and_metadata(box):
    env = {"HOTPATH_REPORT_LABEL": "nightly größe", "HOTPATH_USER_METADATA": "commit=abc123, branch=main"}
    report = box.run("counts", env=env).report.values
    assert report["label"] == "nightly größe"
    assert report["user_metadata"] == {"commit": "abc123", "branch": "main"}
    assert "nightly größe" in table_of(box, "counts", env=env)


def test_time_exclusive(box):
    usual = box.run("times").report
    result = box.run("times", env={"HOTPATH_TIME_EXCLUSIVE": "1"}).report
    assert result.values["time"] == "exclusive" and usual.values["time"] == "inclusive"
    assert all(row.total_ns == row.self_ns for row in result.rows())
    times = [row.total_ns for row in result.rows()]
    assert times == sorted(times, reverse=True)
    assert result.names()[-1] == "run"  # it does next to nothing itself
    assert sum(row.percent_total for row in result.rows()) == pytest.approx(100, abs=0.5)


def test_exclude_wrapper(box):
    result = box.run("times", env={"HOTPATH_EXCLUDE_WRAPPER": "1"}).report
    assert "run" not in result.names()
    assert sum(row.percent_total for row in result.rows()) == pytest.approx(100)


def test_environment_overrides_the_program(box):
    """control reporter sets .report and .label in the program."""
    result = box.run("control", "reporter", env={"HOTPATH_REPORT": "calltree"})
    assert "section calltree" in result.stdout and "section timing" not in result.stdout


def test_report_command_agrees_with_the_exit_report(box):
    result = box.run("tree")
    again = box.read(result.sessions()[0])
    assert again.values["state"] == "finished"
    mine, theirs = result.report.values["sections"], again.values["sections"]
    for section in mine:
        for one, other in zip(mine[section]["rows"], theirs[section]["rows"]):
            assert one["name"] == other["name"] and one.get("calls") == other.get("calls")
            assert one.get("total_ns") == pytest.approx(other.get("total_ns"), rel=1e-4)
    assert all("total_ns" in row for row in mine["timing"]["rows"])


def test_old_sessions_are_removed(box):
    folder = box.folder()
    for _ in range(8):
        box.run("names", folder=folder, env={"HOTPATH_KEEP": "3"})
    assert len(list(folder.glob("*.hotpath"))) == 4  # three finished ones and the newest


# --------------------------------------------------------------------------------------------- on a terminal

class Screen(Terminal):
    def show(self, program, env=None):
        """The screen after the program ran, with colours as escape sequences."""
        words = {"HOTPATH_DIR": str(self.box.folder()), **(env or {})}
        assignments = " ".join(f"{key}='{value}'" for key, value in words.items())
        self.type(f"clear; {assignments} {PROGRAMS / program} > /dev/null; echo 'the' end", "Enter")
        return self.wait_for(r"^the end$")

    def __init__(self, box, columns):
        self.box = box
        super().__init__(box, columns, env=os.environ)


@pytest.fixture
def terminal(box):
    if not shutil.which("tmux"):
        pytest.skip("no tmux here")
    if EMULATOR:
        pytest.skip("the shell in tmux runs programs without the emulator")
    terminals = []

    def make(columns):
        terminals.append(Screen(box, columns))
        return terminals[-1]

    yield make
    for one in terminals:
        one.close()


def columns_of(text):
    """The width of text on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def test_width_and_colour_on_a_terminal(box, terminal):
    screen = terminal(60).show("counts", {"HOTPATH_LIMIT": "5"})
    assert re.search(r"\x1b\[[\d;]*[1-9]", screen.split("the end")[0])
    lines = [line for line in plain(screen).splitlines() if line.startswith(("|", "+"))]
    assert lines and {columns_of(line) for line in lines} == {len(lines[0])}
    assert len(lines[0]) <= 60
    assert all(line.endswith(("|", "+")) for line in lines)  # nothing was wrapped


def test_no_color_on_a_terminal(box, terminal):
    screen = terminal(100).show("counts", {"HOTPATH_LIMIT": "5", "NO_COLOR": "1"})
    report = screen[screen.index("[hotpath]"):screen.index("the end")]
    assert "\x1b" not in report
    assert "early" in screen or "blocks" in screen


@pytest.mark.parametrize("columns", [30, 40, 80, 200])
def test_any_width(box, terminal, columns):
    screen = plain(terminal(columns).show("wide", {"HOTPATH_LIMIT": "20"}))
    lines = [line for line in screen.splitlines() if line.startswith(("|", "+"))]
    assert len(lines) >= 5
    assert len({columns_of(line) for line in lines}) == 1 and columns_of(lines[0]) <= columns
    assert all(line.endswith(("|", "+")) for line in lines)


def test_wide_characters_are_aligned(box):
    text = table_of(box, "wide")
    lines = [line for line in text.splitlines() if line.startswith(("|", "+"))]
    widths = {columns_of(line.replace("\ufffd", "?")) for line in lines}
    assert len(widths) == 1, text
    names = [row[0] for row in rows_of(text)]
    assert "計算する" in names and "größe" in names and "한국어" in names
    assert "\x1b" not in text and "\t" not in text
    assert len(lines) == len(names) + 4  # a label with a newline stays one row


def test_odd_labels_are_valid_json(box):
    names = box.run("wide").report.names()
    assert "計算する" in names and any("\x1b[31m" in name and "\n" in name for name in names)
    assert len(names) == 10
