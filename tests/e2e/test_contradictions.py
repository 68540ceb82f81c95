"""One run has the same numbers in its report, in JSON, on its page and in the console, and none of them contradicts
another. (Every report in JSON that any test reads is checked by contradictions.py.)"""
import itertools
import json
import re
import sys

import pytest

import contradictions
from command import Cli
from harness import (EXAMPLES, PROGRAMS, SOURCE, full, near, pairs, with_glibc, without_emulator, without_sanitizer,
                     without_thread_sanitizer)
from test_page import page_of

sys.path.append(str(SOURCE / "bench"))
from trust import spinners  # noqa: E402

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

    def found(headline="The bottleneck is f: 40 % of the time, cpu-bound", rows=(row,), thread=thread, count=1,
              covered=1_000_000_000):
        return contradictions.in_report({
            "meta": {"headline": headline, "processes": count}, "elapsed_ns": 1_000_000_000,
            "work": {"covered_ns": covered, "worked_ns": 600_000_000, "idle_ns": covered - 600_000_000},
            "trust": {"brief_processes": 1}, "sections": {
                "timing": {"percent_of": "rows", "order": order, "rows": list(rows)},
                "threads": {"rows": [thread]},
                "functions": {"shown_rows": 1, "total_rows": 1, "rows": [
                    {"name": "copy.part.0", "library": "libz.so.1", "percent_total": 61.7, "percent_self": 10}]},
                "processes": {"total_rows": 2, "shown_rows": 2, "rows": [
                    {"name": "1 a", "processes": 0}, {"name": "1 b", "processes": 1}]}}})

    assert found() == []
    assert len(found(rows=[row | {"percent_total": 101}])) == 1
    assert len(found(rows=[row | {"self_ns": 20}])) == 1
    assert len(found(rows=[row | {"max_ns": 2}])) == 1
    assert len(found(rows=[row, row | {"total_ns": 20}])) == 1
    assert len(found(thread=thread | {"waited_ns": 500_000_000})) == 1
    assert len(found(thread=thread | {"waits_ns": {"lock": 400_000_000}})) == 1
    assert len(found(thread=thread | {"percent_max": 30})) == 1
    assert len(found(count=2)) == 1 and len(found(count=0)) == 2  # rows, and brief ones
    assert len(found(headline="The bottleneck is g: 40 % of the time, cpu-bound")) == 1
    assert len(found(headline="The bottleneck is f: 140 % of the time, cpu-bound")) == 1
    assert found(headline="CPU-bound on one CPU: copy in libz takes 62 % of the CPU time, called by f") == []
    assert len(found(headline="CPU-bound on one CPU: copy in libz takes 64 % of the CPU time, called by f")) == 1
    assert len(found(headline="CPU-bound on one CPU: paste takes 62 % of the CPU time, called by f")) == 1
    assert len(found(covered=2_000_000_000)) == 1
    assert len(found(headline="Idle for 80 % of 1.00 s: f waits (poll)")) == 1
    assert len(found(headline="The program is idle for 80 % of the time. The bottleneck is f: 40 % of it")) == 1


# ------------------------------------------------------------------------------- a program that knows its costs

LEDGER = PROGRAMS / "ledger"
COMPUTE = ("heavy", "light", "alternate")
WAIT = {"feed": "sleep", "take_lock": "lock", "read_pipe": "pipe", "await_turn": "condition", "alternate": "sleep"}
CPU_PERCENT, WAIT_POINTS = 5, 5


class Ledger:
    """A run of the program, its truth, and what the views show of the run."""

    def __init__(self, box, form, rivals):
        self.cli = cli = Cli(box)
        self.is_measured, self.is_run = form != "unmodified", form != "measured alone"
        times = 4 if rivals else 1  # the observer is late as well
        with spinners(rivals):
            if self.is_run:
                done = cli("run", "--format", "none", "--", LEDGER if self.is_measured else f"{LEDGER}_off", times)
            else:
                done = box.run("ledger", times, folder=cli.folder,
                               env={"HOTPATH_OUTPUT_FORMAT": "none", "HOTPATH_CPU": 1, "HOTPATH_WAITS": 1})
        self.told = pairs(done.stdout)
        self.page = page_of(cli)
        self.sections = {name: self.page.section(name)["rows"] for name in self.page.data["sections"]}
        self.pid = str(cli.sessions()[0]["pid"])

    def truth(self, name, what):
        return self.told[f"{name}.{what}"]

    def row(self, section, name):
        found = [row for row in self.sections[section] if row["name"] == name]
        assert len(found) == 1, (section, name, self.sections[section])
        return found[0]

    def waited(self, name):
        """For what it is known to wait for, by the section that knows functions."""
        if not self.is_measured:
            return self.row("functions", name)["total_waiting_ns"]
        return sum(row["waited_ns"] for row in self.sections["waits"]
                   if row["name"] == name and row["cause"] == WAIT[name])

    def console(self, tab):
        """All rows: idle ones come last, behind functions of the kernel, of which there may be many."""
        return self.cli("console", "--once", "--totals", "--tab", tab, "--size", "400x500", self.pid,
                        env={"LC_ALL": "C.UTF-8"}).stdout


TABS = ((4, "functions"), (5, "channels"), (6, "threads"))  # of the console


def check_times(ledger):
    for name in COMPUTE:
        row = ledger.row("cpu", name)["cpu_ns"] if ledger.is_measured else ledger.row("functions", name)["total_ns"]
        assert near(row, ledger.truth(name, "cpu_ns"), CPU_PERCENT), (name, row, ledger.truth(name, "cpu_ns"))
    for name in WAIT:
        missed = abs(ledger.waited(name) - ledger.truth(name, "waited_ns")) / ledger.truth(name, "wall_ns")
        assert 100 * missed <= WAIT_POINTS, (name, ledger.waited(name), ledger.truth(name, "waited_ns"))
    mixer = [row for row in ledger.sections["threads"] if row["name"].split()[0] == "mixer"]
    assert len(mixer) == 1 and near(mixer[0]["cpu_ns"], ledger.truth("alternate", "cpu_ns"), CPU_PERCENT)
    for row in ledger.sections["bottlenecks"] if ledger.is_measured else ():
        if row["name"] in COMPUTE + tuple(WAIT) and row["percent_busy"] is not None:
            share = 100 * ledger.truth(row["name"], "cpu_ns") / ledger.truth(row["name"], "wall_ns")
            assert abs(row["percent_busy"] - share) <= WAIT_POINTS, (row, share)


def check_counts(ledger):
    told = ledger.told
    if ledger.is_measured:
        for name in (*COMPUTE, *WAIT, "allocate"):
            assert ledger.row("timing", name)["calls"] == ledger.truth(name, "calls"), name
        assert ledger.row("alloc-count", "allocate")["total_count"] == told["allocate.allocations"]
        assert ledger.row("alloc-bytes", "allocate")["total_bytes"] == told["allocate.bytes"]
        items = ledger.row("channels", "items")
        assert (items["sent"], items["received"]) == (told["items"], told["items"])
        assert ledger.row("values", "number")["updates"] == told["items"]
        assert ledger.row("tasks", "errand")["calls"] == told["items"]
    if ledger.is_run:
        pipe = ledger.row("channels", "pipe")
        assert (pipe["sent"], pipe["received"]) == (told["messages"], told["messages"])
        assert pipe["sent_bytes"] == pipe["received_bytes"] == told["message_bytes"]


UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "B": 1, "KB": 2 ** 10, "MB": 2 ** 20, "GB": 2 ** 30,
         "%": 1, "k": 1e3, "M": 1e6, "G": 1e9, "": 1}
FIGURE = re.compile(r"(?:^|\s)(?:about |~)?(-?[\d,]+(?:\.\d+)?)\s?(ns|µs|ms|s|min|B|KB|MB|GB|%|k|M|G|)\^?$")


def shows(text, value):
    """Whether the text at the end of a cell is this number, as far as it is precise."""
    if value is None:
        return re.search(r"(?:^|\s)[-–]$", text) is not None
    found = FIGURE.search(text)
    if found is None:
        return False
    digits, unit = found.group(1).replace(",", ""), UNITS[found.group(2)]
    last = 10.0 ** -len(digits.partition(".")[2]) * unit
    if "about " in text:  # two digits
        last = max(last, value / 10)
    return abs(float(digits) * unit - value) <= last / 2 * 1.001 + 1e-9 or (0 < value < last and float(digits) == 0)


def flat(rows):
    return [one for row in rows for one in (row, *flat(row.get("children", [])))]


def check_text(ledger, name):
    """All numbers of the table of a section."""
    columns = {column["title"]: column for column in ledger.page.data["sections"][name]["columns"]}
    text = ledger.cli("report", "--section", name, "--limit", "0", "--percentiles", "50,95,99").stdout
    lines = [line for line in text.splitlines() if line[:1] == "|"]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rows = flat(ledger.sections[name])
    assert not table or len(table) == len(rows) + 1, text
    compared = 0
    for cells, row in zip(table[1:], rows):
        for title, cell in zip(table[0], cells, strict=True):
            if columns[title]["unit"] in ("ns", "count", "bytes", "percent", "number"):
                assert shows(cell, row[columns[title]["key"]]), (name, title, cell, row)
                compared += 1
    return compared


def check_screen(ledger, tab, name, key="name"):
    """The numbers of the console's table of a section, by the places of its headings."""
    columns = [column for column in ledger.page.data["sections"][name]["columns"]
               if column["unit"] in ("ns", "count", "bytes", "percent", "number")]
    lines = ledger.console(tab).splitlines()
    first = {"functions": "Function", "channels": "Channel", "threads": "Thread"}[name]
    head = next(at for at, line in enumerate(lines) if re.match(rf"   {first}  ", line))
    places, left = {}, lines[head]
    for column in sorted(columns, key=lambda column: -len(column["title"])):  # "Queue Bytes" before "Queue"
        found = re.search(rf"(?<=\s){re.escape(column['title'])}\s?[▼▲]?(?=\s\s|\s*$)", left)
        if found:
            places[column["key"]] = found.end()
            left = left[:found.start()] + "#" * len(found.group()) + left[found.end():]
    compared = 0
    rows, shown = ledger.sections[name], lines[head + 1:]
    if name == "functions":  # those without any time are in another order
        by_name = {line[3:].split("  ")[0].strip(): line for line in shown}
        rows = [row for row in rows if row["work_ns"] > 0 or row["idle_ns"] > 0]
        shown = [by_name[row["name"]] for row in rows]
    for row, line in zip(rows, shown):
        assert line[3:].startswith(str(row[key])[:10]), (name, row, line)
        for at, end in places.items():
            value = row[at]
            if name == "functions" and at.endswith("_ns") and value is not None:
                value -= row["idle_ns"] if at == "waiting_ns" else 0
                value /= ledger.page.data["elapsed_ns"]  # threads, on average
            assert shows(line[:end].rstrip(), value), (name, at, line, row)
            compared += 1
    return compared


def check_waits(ledger):
    """The console has threads, and idle waiting apart: by function and cause, all of it is there."""
    lines = ledger.console(7).splitlines()
    head = next(at for at, line in enumerate(lines) if re.match("   Function  ", line))
    ends = {title: re.search(rf"\s{title}[▼▲]?(?=\s|$)", lines[head]).end()
            for title in ("Waiting", "Idle", "Samples")}
    causes = lines[head].index("Waits for")
    shown, known = {}, {}
    for line in itertools.takewhile(lambda line: line[3:4].strip(), lines[head + 1:]):
        place = shown.setdefault((line[3:causes].strip(), re.split(r"\s\s+|\s[\d–]", line[causes:])[0]), [0, 0, 0])
        numbers = [FIGURE.search(line[:ends[title]].rstrip()) for title in ends]
        place[0] += sum(float(number.group(1)) for number in numbers[:2] if number)
        place[1] += 0.01  # two numbers of two digits
        place[2] += int(numbers[2].group(1).replace(",", ""))
    for row in ledger.sections["waits"]:
        place = known.setdefault((row["name"], row["cause"]), [0, 0])
        place[0] += row["waited_ns"] / ledger.page.data["elapsed_ns"]
        place[1] += row["looks"]
    assert set(shown) == set(known), (shown, known)
    for key, (threads, off, probes) in shown.items():
        assert abs(threads - known[key][0]) <= off and probes == known[key][1], (key, shown[key], known[key])
    return 2 * len(shown)


def check_truth(ledger):
    check_counts(ledger)
    check_times(ledger)


def check_views(ledger):
    report = json.loads(ledger.cli("report", "--format", "json", "--section", "all,-timeline,-cold", "--limit", "0",
                                   "--percentiles", "50,95,99").stdout)
    assert contradictions.in_report(report) == []
    for name, section in report["sections"].items():
        assert section["rows"] == ledger.sections[name], name
        check_text(ledger, name)
    compared = {name: check_screen(ledger, tab, name) for tab, name in TABS if name in report["sections"]}
    compared["waits"] = check_waits(ledger) if ledger.is_measured else 20  # waiters: test_console_samples.py
    assert compared["threads"] > 30 and compared["waits"] > 10, compared


@without_sanitizer("it has malloc for itself")
@pytest.mark.parametrize("form, rivals", [
    pytest.param(form, rivals, marks=[
        *([] if rivals == 0 and form != "measured alone" else [full]),
        *([with_glibc("stacks end in Debian's musl, which cannot be unwound")] if form == "unmodified" else [])])
    for form in ("measured", "unmodified", "measured alone") for rivals in (0, 4)])
def test_truth_in_all_views(box, form, rivals):
    """If the observer had no CPU when a wait ended, its time is wrong; a wrong rule is wrong every time."""
    for attempt in range(3):
        ledger = Ledger(box, form, rivals)
        check_views(ledger)
        try:
            check_truth(ledger)
            return
        except AssertionError as error:
            print(error)
            if attempt == 2:
                raise
