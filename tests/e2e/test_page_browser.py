"""The page of a report in a browser: it shows the data of the report, every key works, and names of the program
stay text.

HOTPATH_PAGE_PICTURES=FOLDER saves screenshots of the page there.
"""
import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command import wait_until
from harness import EXAMPLES, PROGRAMS, SOURCE, without_emulator, without_sanitizer
from page_in_browser import BROWSER, DRIVER, browser, cli  # noqa: F401 (fixtures)
from test_page import ON_REQUEST, page_of, record_on_request
from test_page_flame import told_at
from test_page_samples import shown_time
from test_serve import Server
from test_time_range import history

pytestmark = [without_emulator("/proc shows the emulator"),
              without_sanitizer("nothing is preloaded then, so the page has no allocations and no samples"),
              pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromium-driver")]

NONE = "\u2013"


def exact_rows(browser):
    """Of the table of functions: exact values, from the tooltips."""
    return browser.run("""
        return Object.fromEntries([...document.querySelectorAll("#functions-rows tr")].map(row => [row.dataset.name,
            [2, 5, 7, 8, 9].map(at => {
                const titled = row.cells[at].querySelector("[title]");
                return titled ? titled.title : row.cells[at].textContent;
            })]));""")


def number(text):
    return None if text == NONE else float(text.split()[0].replace(",", ""))


def test_what_was_lost_is_said_at_the_top(cli, browser):
    cli("run", "--format", "none", "--", EXAMPLES / "basic")
    page_of(cli)
    path = cli.folder / "page.html"
    browser.open(path, "")
    assert browser.run("return document.getElementById('lost').textContent") == "lost 0"
    path.write_text(re.sub(r'"lost":\{"zones":0', '"lost":{"zones":17', path.read_text()))
    browser.open(path, "")
    said = browser.run("const lost = document.getElementById('lost'); return [lost.textContent, lost.title]")
    assert said[0] == "lost 17" and "Lost: 17 zones" in said[1]


def cells_of(browser, section, name):
    """Of a row, as the page shows them, by the title of the column."""
    return browser.run("""
        const table = document.querySelector(`[data-section='${arguments[0]}'] table`);
        const titles = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
        const row = [...table.tBodies[0].rows].find(row => row.cells[0].textContent === arguments[1]);
        return Object.fromEntries(titles.map((title, at) => [title, row.cells[at].textContent]));""", section, name)


def test_estimates_are_marked(cli, browser):
    cli("run", "--format", "none", "--", PROGRAMS / "allocating", "plain")
    page_of(cli)
    browser.open(cli.folder / "page.html", "")
    churn, main = (cells_of(browser, "alloc-functions", name) for name in ("churn_small", "main"))
    assert re.fullmatch(r"about \d+ k", churn["Blocks"]) and churn["Never Freed"] == NONE
    assert main["Self"] == main["Blocks"] == main["At Peak"] == NONE
    cli("run", "--format", "none", "--", PROGRAMS / "channels", "crowd")
    page_of(cli)
    browser.open(cli.folder / "page.html", "")
    assert cells_of(browser, "channels", "crowd")["Delay P95"].startswith("^")
    assert not cells_of(browser, "channels", "single")["Delay P95"].startswith("^")
    browser.check()


def test_sampled_times_are_marked_in_the_panel(cli, browser):
    """As in the tables below it: the times of a function if only some calls were timed, and what that means."""
    cli("run", "--format", "none", "--", EXAMPLES / "basic", env={"HOTPATH_TIME_SAMPLING_RATE": "1/2"})
    page = page_of(cli)
    notes = [note for note in page.data["sections"]["timing"]["notes"] if note.startswith("^ ")]
    browser.open(cli.folder / "page.html", "#f=sync_function")
    quantiles = browser.texts("#panel-body .quantiles > span")
    assert quantiles[-1].startswith("max ^") and all(NONE in one or " ^" in one for one in quantiles)
    assert all(text.startswith("^") for text in browser.texts("#panel-body .parts td.number:nth-child(2)"))
    assert browser.texts("#panel-body .plain-list li span.second")[0].startswith("^")
    said = browser.texts("#panel-body .note")
    assert notes and said[:len(notes)] == notes
    assert browser.texts("#functions-rows tr.selected td.number .amount")[0].startswith("^")
    cli("run", "--format", "none", "--", EXAMPLES / "basic")
    page_of(cli)
    browser.open(cli.folder / "page.html", "#f=sync_function")
    assert "^" not in browser.text("#panel-body")
    browser.check()


def test_estimated_bytes_are_marked_in_the_panel(cli, browser):
    """Of functions that samples found, allocated bytes are estimates, and are no times."""
    cli("run", "--format", "none", "--", PROGRAMS / "allocating", "plain")
    page_of(cli)
    browser.open(cli.folder / "page.html", "#f=churn_small")
    assert re.fullmatch(r"Allocated [0-9.]+ .B.* \(estimated from samples\)", browser.text("#panel-body .estimate"))
    browser.check()


def test_tables_of_what_is_recorded_on_request(cli, browser):
    """Locks, the critical path, I/O and single records: each has its panel with its rows and exact values."""
    page = record_on_request(cli)
    browser.open(cli.folder / "page.html", "#theme=light")
    panels = {"locks": "locks", "blocked-by": "locks", "critical-path": "path", "path-waits": "path", "io": "files",
              "io-by": "files", "recent": "flow"}
    assert set(panels) == set(ON_REQUEST)
    for name, panel in panels.items():
        columns = [column for column in page.data["sections"][name]["columns"] if column["shown"]]
        rows = page.section(name)["rows"][:50]
        browser.run("document.getElementById(arguments[0]).scrollIntoView()", panel)
        cells = browser.run("""
            return [...document.querySelectorAll(`#${arguments[0]} [data-section='${arguments[1]}'] tbody tr`)]
                .map(row => [...row.cells].map(cell => [cell.textContent, cell.title]))""", panel, name)
        assert len(cells) == len(rows) and len(cells[0]) == len(columns), name
        for shown, row in zip(cells, rows):
            for (text, exact), column in zip(shown, columns):
                value = row[column["key"]]
                if value is None:
                    assert text == NONE, (name, column["key"])
                elif column["unit"] == "ns" and "is_estimate" not in column:
                    assert exact == f"{value:.15g} ns" or float(exact.split()[0]) == value, (name, column["key"])
                elif column["unit"] == "text" and len(value) <= 44:
                    assert text == value, (name, column["key"])
        browser.picture(f"page-request-{name}.png")
    sentences = [f"{row['name']}: {row['why']}" for row in page.section("bottlenecks")["rows"][:50] if row["why"]]
    assert browser.texts("[data-section='bottlenecks'] [data-of]") == sentences != []  # as below the table
    links = browser.texts("#links button")
    assert {"Locks", "Critical path", "Files and peers", "Data flow"} <= set(links)
    browser.check()


def test_tasks_in_a_time_range(cli, browser):
    """Calls are tasks, and in a time range only their polls are known."""
    cli("run", "--format", "none", "--", PROGRAMS / "tasks", "served")
    page_of(cli)
    browser.open(cli.folder / "page.html", "")
    cells = """
        const titles = [...document.querySelectorAll("#functions-head th")].map(cell => cell.textContent.trim());
        const row = [...document.querySelectorAll("#functions-rows tr")].find(
            row => row.dataset.name === arguments[0]);
        return ["Calls", "Polls"].map(title => row.cells[titles.indexOf(title)].textContent);"""
    assert browser.run(cells, "request") == ["200", "800"] and browser.run(cells, "serve") == ["200", NONE]
    browser.stretch(100, 600)
    calls, polls = browser.run(cells, "request")
    assert calls == NONE and 0 < number(polls) < 800
    assert 0 < number(browser.run(cells, "serve")[0]) < 200
    browser.run("document.querySelector('#functions-rows tr[data-name=request]').click()")
    assert re.search(rf"{polls} polls", browser.text("#panel-body"))
    browser.check()


@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="needs qemu-user")
@pytest.mark.parametrize("program", [PROGRAMS / "instructions", PROGRAMS / "stacked"], ids=["zones", "functions"])
def test_counted_instructions_are_no_times(cli, browser, program):
    cli("run", "--clock", "instructions", "--format", "none", "--", program, *(["split", "1"] if program.stem ==
                                                                           "stacked" else []), status=None)
    page = page_of(cli)
    total = page.data["elapsed_instructions"]
    is_measured = program.stem == "instructions"
    name = "encode" if is_measured else "heavy"
    browser.open(cli.folder / "page.html", f"#theme=light&f={name}")
    assert f"{total:,} instructions" in browser.text("#about") or total >= 99_999.5
    titles = browser.texts("#functions-head th")
    assert titles[1 if is_measured else 2].startswith("Own instructions") and not {"CPU %", "Samples"} & set(titles)
    row = next(row for row in page.section("timing" if is_measured else "functions")["rows"] if row["name"] == name)
    own = browser.run("return document.querySelector('#functions-rows tr.selected .amount').title")
    assert own == f"{row['self_ns']:,} instructions"
    for hash in ("", "&tree=samples", "&tree=zones&flame=wall", "&time=all"):
        browser.run("location.hash = arguments[0]", f"#theme=light&f={name}{hash}")
        browser.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
        assert told_at(browser, 3, 5)[1].split(",")[0].endswith(("instructions", "k", "M"))
        said = browser.run("""
            const shown = [...document.querySelectorAll("[title], [aria-label]")]
                .filter(one => one.checkVisibility() && !one.closest("[data-section=processes]"));
            return [document.body.innerText, ...shown.map(one => one.title + " " + one.getAttribute("aria-label"))]
                .join("\\n");""")
        assert re.findall(r".*[0-9.]\s?(?:ns|\u00b5s|ms|s)\b.*", said) == []
        for part in ("verdict", "functions", "panel", "flame"):
            assert not re.search("time", browser.text(f"#{part}"), re.I), part
    browser.picture(f"page-instructions-{program.stem}.png")
    browser.check()


PERCENT = re.compile(r"(\d+) %")


def check_same(said, reported):
    """One sentence. Page and report add up the same times in another order, so a share may be rounded the other
    way."""
    assert PERCENT.sub("N %", said) == PERCENT.sub("N %", reported)
    shares = zip(PERCENT.findall(said), PERCENT.findall(reported))
    assert all(abs(int(one) - int(other)) <= 1 for one, other in shares), (said, reported)


def check_what_rows_wait_for(cli, browser):
    """What the report calls waiting is not mostly CPU time in the page: a task waits between its polls. It may be
    idle for the longest time, as the report has it."""
    mostly = browser.run("""
        const titles = [...document.querySelectorAll("#functions-head th")].map(cell => cell.textContent.trim());
        return Object.fromEntries([...document.querySelectorAll("#functions-rows tr")].map(
            row => [row.dataset.name, row.cells[titles.indexOf("Mostly")].textContent]));""")
    report = json.loads(cli("report", "--format", "json", "--section", "bottlenecks").stdout)
    for row in report["sections"]["bottlenecks"]["rows"]:
        if row["verdict"] == "waiting" and row["name"] in mostly:
            said = mostly[row["name"]]
            assert not re.match(r"CPU (100|[5-9]\d) %", said), (row["name"], mostly)
            if idle := re.match(r"idle (\d+) %", said):
                assert abs(int(idle[1]) - 100 * row["idle_ns"] / row["self_ns"]) < 5, (said, row)


def test_values_match_the_report(cli, browser):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "6")
    page = page_of(cli)
    path = cli.folder / "page.html"
    browser.open(path, "#theme=light")
    browser.run("document.querySelector('#functions-foot button').click()")
    shown = exact_rows(browser)
    rows = {row["name"]: row for row in page.section("timing")["rows"]}
    judged = {row["name"]: row for row in page.section("bottlenecks")["rows"]}
    allocated = {row["name"]: row for row in page.section("alloc-bytes")["rows"]}
    assert set(shown) == set(rows)
    for name, (own, calls, p50, p99, size) in shown.items():
        row = rows[name]
        assert number(own) == pytest.approx(judged[name]["work_ns"], abs=1)
        assert number(calls) == row["calls"]
        for said, key in ((p50, "p50_ns"), (p99, "p99_ns")):
            assert number(said) == (pytest.approx(row[key], abs=1) if row["calls"] >= 20 else None), (name, key)
        assert number(size) == (allocated[name]["own_bytes"] or None), name
    assert browser.sentence() == page.data["meta"]["headline"]
    check_what_rows_wait_for(cli, browser)
    # Every section is there, with all its rows or the first of them, and with the values of the report.
    for name in page.data["sections"]:
        section = page.section(name)
        if name == "threads" or not section["rows"]:
            continue
        ids = browser.run("return [...document.querySelectorAll(`[data-section='${arguments[0]}'] tbody tr`)]"
                          ".map(row => row.dataset.id)", name)
        flat = [cells[0] for cells in page.data["sections"][name]["rows"]]
        assert ids == flat[:50], name
    # The verdict of a stretch is that of the report.
    elapsed_ms = int(page.data["elapsed_ns"] / 1e6)
    sentences = set()
    for first, last in ((0, 0.3), (0.1, 0.6), (0.4, 0.95), (0.7, 0.9), (0.2, 0.25)):
        from_ms, to_ms = int(first * elapsed_ms), int(last * elapsed_ms)
        report = json.loads(cli("report", "--format", "json", "--section", "bottlenecks", "--limit", "0",
                                "--from", f"{from_ms}ms", "--to", f"{to_ms}ms").stdout)
        said = browser.stretch(from_ms, to_ms)
        check_same(said, report["meta"]["headline"])
        sentences.add(said)
        shares = browser.run("return Object.fromEntries([...document.querySelectorAll('#functions-rows tr')]"
                             ".map(row => [row.dataset.name, row.cells[2].querySelector('[title]').title]))")
        for row in report["sections"]["bottlenecks"]["rows"][:5]:
            if row["name"] in shares:
                assert number(shares[row["name"]]) == pytest.approx(row["work_ns"], rel=1e-3, abs=1e5), row["name"]
        assert browser.run("return !document.querySelector('.whole-run').hidden")
    assert sentences
    browser.check()
    # However short a stretch is, its functions have numbers.
    for from_ms in range(0, elapsed_ms - 20, elapsed_ms // 60):
        assert ": 0 % of the time" not in browser.stretch(from_ms, from_ms + 20), from_ms


@pytest.mark.parametrize("example", ["bottleneck_cpu", "bottleneck_lock", "bottleneck_sleep", "bottleneck_disk",
                                     "overview", "multithreaded"])
def test_verdicts_of_examples(cli, browser, example):
    cli("run", "--format", "none", "--", EXAMPLES / example)
    page = page_of(cli)
    browser.open(cli.folder / "page.html")
    said = browser.sentence()
    assert page.data["meta"]["headline"] in (said, None)
    if page.data["history"] is not None:
        elapsed_ms = int(page.data["elapsed_ns"] / 1e6)
        for first, last in ((0, 0.5), (0.25, 1)):
            from_ms, to_ms = int(first * elapsed_ms), int(last * elapsed_ms)
            report = json.loads(cli("report", "--format", "json", "--section", "bottlenecks", "--from",
                                    f"{from_ms}ms", "--to", f"{to_ms}ms").stdout)
            check_same(browser.stretch(from_ms, to_ms), report["meta"]["headline"] or browser.sentence())
    browser.check()


def test_keys(cli, browser):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "4")
    page_of(cli)
    browser.open(cli.folder / "page.html", "#theme=light")
    selected = lambda: browser.run("return document.querySelector('#functions-rows tr.selected')?.dataset.name")
    address = lambda: browser.run("return location.hash")
    first = selected()
    assert first == browser.texts("#functions-rows .name")[0]
    browser.key("j")
    second = selected()
    assert second != first and f"f={second}" in address() and browser.text("#panel-body h3") == second
    browser.key("k")
    assert selected() == first
    browser.key("x")
    assert f"aside={first}" in address()
    assert "idle" in browser.run("return document.querySelector('#functions-rows tr.selected').className")
    assert first not in browser.sentence().split(":")[0]
    browser.key("x")
    assert "aside" not in address()
    for measure in ("cpu", "waiting", "allocated"):
        browser.key("f")
        assert f"flame={measure}" in address()
    browser.key("f")
    browser.key("]")
    moved = address()
    assert "t=" in moved and "whole run" in browser.text("#stretch")
    browser.key("]", "+")
    assert address() != moved
    browser.key("Escape")
    assert "t=" not in address() and browser.text("#stretch").startswith("Whole run")
    browser.key("z")
    assert first in browser.text("#crumbs")
    browser.key("Escape")
    assert browser.text("#crumbs") == ""
    browser.key("o")
    assert "time=all" in address()
    browser.key("o", "/")
    assert browser.run("return document.activeElement.id") == "search"
    browser.run("const search = document.getElementById('search'); search.value = 'queue'; "
                "search.dispatchEvent(new Event('input'));")
    assert set(browser.texts("#functions-rows .name")) == {"queue_pop", "queue_push"}
    assert browser.text("#found").startswith("2 ")
    browser.key("Escape")
    assert len(browser.texts("#functions-rows .name")) > 5
    dark = browser.run("return document.documentElement.dataset.theme")
    browser.key("d")
    assert browser.run("return document.documentElement.dataset.theme") != dark
    browser.key("?")
    assert browser.run("return document.getElementById('keys').open")
    browser.run("document.getElementById('keys').close()")
    for letter, place in (("l", "locks"), ("m", "memory"), ("d", "flow"), ("p", "processes"), ("f", "functions")):
        browser.key("g", letter)
        assert browser.run("return document.activeElement.id") == place
    browser.key("t")
    assert browser.run("return document.activeElement.id") == "threads"
    # What can be pressed is a button, sorted columns are marked, and scrolling areas can be reached by keyboard.
    assert browser.run("return [...document.querySelectorAll('button')].every(one => one.textContent.trim() || "
                       "one.getAttribute('aria-label'))")
    browser.run("[...document.querySelectorAll('#functions-head button')]"
                ".find(one => one.textContent.startsWith('Calls')).click()")
    sorted_by = browser.run("return document.querySelector('#functions-head [aria-sort]').textContent")
    assert sorted_by.startswith("Calls")
    assert browser.run("return document.querySelectorAll('#functions-head [aria-sort=descending]').length") == 1
    browser.check()


def test_the_brush_by_mouse(cli, browser):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "4")
    page_of(cli)
    browser.open(cli.folder / "page.html")
    browser.run("""
        const canvas = document.getElementById("time-canvas"), box = canvas.getBoundingClientRect();
        canvas.setPointerCapture = () => {};
        const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type,
            {clientX: box.left + x, clientY: box.top + 40, bubbles: true, button: 0, pointerId: 1}));
        send("pointerdown", 400); send("pointermove", 500); send("pointermove", 800); send("pointerup", 800);""")
    assert browser.run("return /t=\\d+-\\d+/.test(location.hash)")
    browser.check()


def test_threads_of_a_function(cli, browser):
    """Each with its own time and that with callees, the longest first; a click shows its flame graph."""
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "3")
    page_of(cli)
    report = json.loads(cli("report", "--format", "json", "--by", "thread", "--section", "timing", "--limit",
                            "0").stdout)
    rows = [row for row in report["sections"]["timing"]["rows"] if row["name"] == "handle"]
    assert 2 <= len(rows) <= 8
    rows.sort(key=lambda row: -row["total_ns"])
    browser.open(cli.folder / "page.html", "#theme=light&f=handle")
    cells = browser.run("return [...document.querySelectorAll('#panel-body .of-threads tr')]"
                        ".map(row => [...row.cells].map(cell => cell.textContent))")
    assert cells == [[f"{row['thread']['name']} {row['thread']['tid']}", shown_time(browser, row["self_ns"]),
                      shown_time(browser, row["total_ns"])] for row in rows]
    browser.run("document.querySelector('#panel-body .of-threads button').click()")
    assert browser.text("#flame-about").endswith(f"of {rows[0]['thread']['name']} {rows[0]['thread']['tid']}; the "
                                                 "strip below a name shows CPU time and causes of waiting")
    browser.picture("page-threads-of.png")
    browser.check()


def test_names_are_text(cli, browser):
    cli("run", "--format", "none", "--", PROGRAMS / "odd_names", "20", "3", "1500")
    page_of(cli)
    browser.open(cli.folder / "page.html")
    browser.run("document.querySelector('#functions-foot button')?.click()")
    names = browser.texts("#functions-rows .name")
    titles = browser.run("return [...document.querySelectorAll('#functions-rows .name')].map(one => one.title)")
    assert "</script><script>document.title='taken'</script>" in titles
    assert "turned <U+202E>round<U+2066> here" in names and "a'b\"c\\d&amp;e" in names
    assert not any("\u202e" in text for text in browser.texts("body *"))
    for name in titles:
        browser.run("[...document.querySelectorAll('#functions-rows tr')]"
                    ".find(row => row.querySelector('.name').title === arguments[0]).click()", name)
    assert browser.run("return document.title") != "taken"
    assert browser.run("return document.querySelectorAll('img, iframe, object, embed').length + "
                       "document.querySelectorAll('script').length") == 2
    browser.check()


def test_many_functions_and_threads(cli, browser):
    cli("run", "--format", "none", "--", PROGRAMS / "odd_names", "1000", "200", "2500",
        env={"HOTPATH_MEASURING_BOUND": "0"})
    page = page_of(cli)
    browser.open(cli.folder / "page.html")
    assert len(browser.texts("#functions-rows tr")) == 11
    browser.run("document.querySelector('#functions-foot button').click()")
    assert len(browser.texts("#functions-rows tr")) == min(200, len(page.section("timing")["rows"]))
    browser.key("j", "f", "]", "Escape")
    browser.check()


def test_pictures(cli, browser):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "8")
    page_of(cli)
    path = cli.folder / "page.html"
    browser.open(path, "#theme=light")
    # The answer is in the first view, and nothing is wider than the window.
    bottoms = browser.run("return ['verdict', 'time', 'functions', 'flame']"
                          ".map(id => document.getElementById(id).getBoundingClientRect().bottom)")
    assert max(bottoms) <= 900, bottoms
    browser.picture("light.png")
    browser.open(path, "#theme=dark")
    browser.picture("dark.png")
    for width in (1440, 1000, 800):
        browser.size(width, 1000)
        browser.open(path, "#theme=light")
        assert browser.run("return document.documentElement.scrollWidth") <= width
        browser.picture(f"{width}.png")
    browser.size(1440, 900)
    browser.open(path, "#theme=dark")
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert len(printed) > 20000
    if folder := os.environ.get("HOTPATH_PAGE_PICTURES"):
        import base64
        (Path(folder) / "print.pdf").write_bytes(base64.b64decode(printed))
    assert browser.run("return document.documentElement.dataset.theme") == "dark"
    browser.check()


@pytest.mark.parametrize("what", ["nothing measured", "time alone", "processes", "still running", "instrumented"])
def test_page_opens_for_every_kind_of_run(cli, browser, what):
    process = None
    if what == "nothing measured":
        cli("run", "--format", "none", "--", "/bin/sh", "-c",
            "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 0.7")
    elif what == "time alone":
        subprocess.run([PROGRAMS / "counts"], env=cli.environment({"HOTPATH_OUTPUT_FORMAT": "none"}), check=True,
                       timeout=60, stdout=subprocess.DEVNULL)
    elif what == "processes":
        cli("run", "--format", "none", "--", "/bin/sh", "-c",
            f"{EXAMPLES / 'basic'} & {EXAMPLES / 'overview'}; wait")
    elif what == "instrumented":
        cli("run", "--format", "none", "--", EXAMPLES / "measure_all")
    else:
        process = cli.start("run", "--format", "none", "--", EXAMPLES / "orders", "60")
        wait_until(lambda: history(cli)[0] >= 4)
    page = page_of(cli)
    if process:
        process.terminate()
        process.communicate()
    browser.open(cli.folder / "page.html", "#theme=light")
    assert browser.sentence() == (page.data["meta"]["headline"] or
                                  "Only time was measured, so there is no verdict.")
    found = any(page.data["sections"].get(name, {}).get("rows") for name in ("timing", "functions"))
    assert (len(browser.texts("#functions-rows tr")) > 0) == found
    browser.key("j", "x", "f", "]", "z", "Escape", "Escape", "o", "d")
    browser.picture(what.replace(" ", "-") + ".png")
    browser.check()


def test_served_page_is_updated_while_the_program_runs(cli, browser):
    run = cli.start("run", "--format", "none", "--", EXAMPLES / "orders", "600")
    wait_until(lambda: list(cli.folder.glob("*.run/*.hotpath")))
    server = Server(cli, "--every", "0.2")
    try:
        wait_until(lambda: server.get("/page").status == 200)  # a session that is being created cannot be read yet
        browser.driver.get(f"http://{server.host}:{server.port}{server.target('/')}")
        browser.run("document.querySelector('a').click()")
        wait_until(lambda: browser.run("return document.documentElement.dataset.ready === 'yes'"))
        updates = lambda: int(browser.run("return document.documentElement.dataset.updates || 0"))
        calls = lambda: {name: number(values[1]) for name, values in exact_rows(browser).items()}
        # A program that has just started may have no function and no history yet: both appear.
        wait_until(lambda: len(exact_rows(browser)) > 5 and
                   browser.run("return !document.getElementById('time-canvas').hidden"))
        before, seen = calls(), updates()
        wait_until(lambda: updates() > seen + 1)
        after = calls()
        assert all(after[name] >= before[name] for name in before if name in after)
        assert sum(after.values()) > sum(before.values())
        assert browser.text("#live") == "live"
        # The view is kept: selection, search, focus, the stretch, the zoom, a section's columns.
        browser.run("document.querySelector(`#functions-rows tr[data-name='handle']`).click()")
        browser.run("document.querySelector('#functions-head th:nth-child(6) button').focus()")
        browser.key("z")
        browser.run("document.querySelector(`[data-section='calltree'] .section-head button`).click()")
        browser.run("document.querySelector('#functions-head th:nth-child(6) button').focus()")
        crumbs, seen = browser.text("#crumbs"), updates()
        assert "handle" in crumbs
        wait_until(lambda: updates() > seen + 1)
        assert browser.text("#crumbs") == crumbs and browser.text("#panel-body .function-name") == "handle"
        assert browser.run("return document.activeElement.closest('th') && "
                           "document.activeElement.textContent.trim()") == "Calls"
        assert browser.run("return document.querySelector(`[data-section='calltree'] .section-head button`)"
                           ".getAttribute('aria-pressed')") == "true"
        browser.picture("page-live.png")
        # A pause freezes it, and it continues afterwards with the current data.
        browser.key("p")
        wait_until(lambda: browser.text("#live") == "paused")
        browser.driver.execute_async_script("setTimeout(arguments[0], 700)")  # one request may have been under way
        held = updates()
        browser.driver.execute_async_script("setTimeout(arguments[0], 1000)")
        assert updates() == held
        browser.key("p")
        wait_until(lambda: updates() > held)
        # The end is noticed, and the numbers are those of the report.
        run.terminate()
        run.communicate()
        wait_until(lambda: browser.text("#live") == "ended" and
                   browser.run("return document.getElementById('pause').hidden"))
        rows = json.loads(cli("report", "--format", "json", "--section", "timing", "--limit",
                              "0").stdout)["sections"]["timing"]["rows"]
        browser.run("for (const button of document.querySelectorAll('#functions-foot button')) "
                    "if (button.textContent.includes('more')) button.click()")
        wait_until(lambda: calls() == {row["name"]: row["calls"] for row in rows})
        assert [entry["message"] for entry in browser.driver.get_log("browser")] == []
        # Only the server was contacted, and with the token.
        asked = [json.loads(entry["message"])["message"] for entry in browser.driver.get_log("performance")]
        urls = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
        assert all(url.startswith(f"http://{server.host}:{server.port}/") and server.token in url
                   for url in urls if not url.startswith(("about:", "data:", "chrome")))
        run = None
    finally:
        if run:
            run.terminate()
            run.communicate()
        server.end()


def test_the_last_seconds_and_a_restart_are_followed(cli, browser):
    def start():
        before = set(cli.folder.glob("*.run/*.hotpath"))
        run = cli.start("run", "--format", "none", "--", EXAMPLES / "orders", "600")
        wait_until(lambda: set(cli.folder.glob("*.run/*.hotpath")) - before)
        return run
    run = start()
    server = Server(cli, "--every", "0.2")
    try:
        wait_until(lambda: server.get("/page").status == 200)
        browser.driver.get(f"http://{server.host}:{server.port}{server.target('/page')}")
        ready = lambda: browser.run("return document.documentElement.dataset.ready === 'yes'")
        wait_until(ready)
        elapsed = lambda: float(re.search(r"of ([\d.]+) s;", browser.text("#stretch"))[1])
        # While it is shorter than that, the last ten seconds are all of it.
        browser.run("document.getElementById('latest').click()")
        assert browser.text("#stretch").startswith("Whole run")
        assert browser.run("return location.hash").startswith("#t=latest")
        wait_until(lambda: not browser.text("#stretch").startswith("Whole run"))
        first = elapsed()
        wait_until(lambda: elapsed() > first)
        begin, end = map(float, re.match(r"([\d.]+) s \u2013 ([\d.]+) s", browser.text("#stretch")).groups())
        assert end - begin == pytest.approx(10, abs=0.15)
        browser.picture("page-latest.png")
        # A range that is chosen by hand stays where it is.
        browser.key("-")
        assert browser.run("return document.getElementById('latest').getAttribute('aria-pressed')") == "false"
        # Its next process is one click away.
        run.terminate()
        run.communicate()
        wait_until(lambda: browser.text("#live") == "ended")
        run = start()
        wait_until(lambda: browser.run("return document.querySelector('#live a') !== null"))
        pid = re.fullmatch(r"ended; restarted as (\d+), follow", browser.text("#live"))[1]
        browser.run("document.querySelector('#live a').click()")
        wait_until(lambda: ready() and browser.text("#live") == "live")
        shown = json.loads(server.get("/page.json").text)["meta"]["pid"]
        assert browser.run("return JSON.parse(document.getElementById('data').textContent).meta.pid") == shown
        assert str(shown) == pid
    finally:
        run.terminate()
        run.communicate()
        server.end()


def axe():
    """The script of axe-core: at HOTPATH_AXE, or where `npm install -g axe-core` puts it. Nothing is downloaded."""
    if path := os.environ.get("HOTPATH_AXE"):
        return Path(path)
    npm = shutil.which("npm")
    root = subprocess.run([npm, "root", "-g"], capture_output=True, text=True,
                          timeout=60).stdout.strip() if npm else ""
    path = Path(root) / "axe-core" / "axe.min.js"
    return path if root and path.exists() else None


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessibility(cli, browser, theme):
    script = axe()
    if script is None:
        pytest.skip("needs axe-core: npm install -g axe-core, or HOTPATH_AXE=path/to/axe.min.js")
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "2")
    page_of(cli, "--source")
    browser.open(cli.folder / "page.html", f"#theme={theme}")
    # The policy of the page blocks it, so the driver injects it.
    browser.driver.set_script_timeout(600)
    browser.run(script.read_text())
    found = browser.driver.execute_async_script("axe.run(document, {resultTypes: ['violations']})"
                                                ".then(result => arguments[0](result.violations))")
    serious = [(one["id"], one["impact"], [node["html"][:120] for node in one["nodes"]][:3])
               for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


def test_the_example_in_the_documentation_opens(cli, browser):
    shutil.copy(SOURCE / "docs" / "example-page.html", cli.folder / "page.html")
    browser.open(cli.folder / "page.html", "#f=reserve_stock&tree=samples&theme=light")
    assert browser.text("#panel-body .function-name") == "reserve_stock"
    assert "reserve_stock" in browser.text("#panel-body .source .here") + browser.text("#panel-body .source")
    assert "U+" not in browser.text("#panel-body .source") and len(browser.texts("#panel-body .source > span")) > 5
    assert browser.texts("#flame-trees button") == ["zones", "samples"]
    browser.picture("page-example.png")
    browser.size(800, 1000)
    browser.picture("page-example-narrow.png")
    browser.check()
