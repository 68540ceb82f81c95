"""The page of a report in a browser: it shows the data of the report, every key works, and names of the program
stay text.

Needs chromium, chromedriver and selenium for Python. HOTPATH_PAGE_PICTURES=FOLDER saves screenshots of the page
there.
"""
import base64
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from command import Cli, wait_until
from harness import EXAMPLES, PROGRAMS, SOURCE, without_emulator, without_thread_sanitizer
from test_page import page_of
from test_serve import Server
from test_stretch import history

webdriver = pytest.importorskip("selenium.webdriver", reason="needs python3-selenium")
service = pytest.importorskip("selenium.webdriver.chrome.service", reason="needs python3-selenium")
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too"),
              pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromium-driver")]

NONE = "\u2013"


class Browser:
    """The page in its own window."""

    def __init__(self, folder):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--disable-dev-shm-usage", f"--user-data-dir={folder / 'browser'}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=service.Service(DRIVER))
        self.driver.set_script_timeout(60)
        self.size(1440, 900)

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def open(self, path, address=""):
        self.driver.get("about:blank")
        self.driver.get(f"file://{path}{address}")
        self.ready()

    def ready(self):
        self.driver.execute_async_script("""
            const done = arguments[0], page = document.documentElement;
            const look = () => page.dataset.ready ? done() : setTimeout(look, 20);
            look();""")

    def run(self, script, *args):
        return self.driver.execute_script(script, *args)

    def key(self, *keys):
        for key in keys:
            self.run("(document.activeElement || document.body).dispatchEvent("
                     "new KeyboardEvent('keydown', {key: arguments[0], bubbles: true, cancelable: true}))", key)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(one => one.textContent)", selector)

    def sentence(self):
        return self.run("return document.getElementById('verdict').dataset.sentence")

    def stretch(self, from_ms, to_ms):
        self.run("location.hash = arguments[0]", f"#t={from_ms}-{to_ms}")
        self.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
        return self.sentence()

    def check(self):
        """There were no errors, and nothing was requested but the page itself."""
        assert [entry["message"] for entry in self.driver.get_log("browser")] == []
        asked = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [one["params"] for one in asked if one["method"] == "Network.requestWillBeSent"]
        urls = {one["request"]["url"].split("#")[0] for one in asked if one["documentURL"].startswith("file:")}
        assert len(urls) == 1 and urls.pop().endswith("/page.html")

    def picture(self, name):
        if folder := os.environ.get("HOTPATH_PAGE_PICTURES"):
            self.driver.save_screenshot(str(Path(folder) / name))


@pytest.fixture
def cli(box):
    return Cli(box)


@pytest.fixture
def browser(tmp_path):
    browser = Browser(tmp_path)
    yield browser
    browser.driver.quit()


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
        assert said == report["meta"]["headline"]
        sentences.add(said)
        shares = browser.run("return Object.fromEntries([...document.querySelectorAll('#functions-rows tr')]"
                             ".map(row => [row.dataset.name, row.cells[2].querySelector('[title]').title]))")
        for row in report["sections"]["bottlenecks"]["rows"][:5]:
            if row["name"] in shares:
                assert number(shares[row["name"]]) == pytest.approx(row["work_ns"], rel=1e-3, abs=1e5), row["name"]
        assert browser.run("return !document.querySelector('.whole-run').hidden")
    assert sentences
    browser.check()


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
            assert browser.stretch(from_ms, to_ms) == (report["meta"]["headline"] or browser.sentence())
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
    assert browser.run("return document.getElementById('verdict').dataset.sentence") == (page.data["meta"]["headline"] or "Only time was measured, so there is no verdict.")
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


def column(numbers):
    """As src/export/page_stacks.c writes it."""
    made = bytearray()
    for number in numbers:
        while number >= 0x80:
            made.append(number & 0x7f | 0x80)
            number >>= 7
        made.append(number)
    return base64.b64encode(bytes(made)).decode()


def made_up_stacks(count):
    """A tree of this many nodes with twenty thousand names, and its sums: by name of the nodes right below the
    root."""
    chance, parents, functions, own, depths = random.Random(3), [0], [0], [0], [0]
    for node in range(1, count + 1):
        # Mostly below one of the latest, down to sixty functions deep; sometimes anywhere.
        above = 0
        if node > 40:
            above = node - chance.randrange(1, 40) if chance.random() < 0.9 else chance.randrange(1, node)
        parents.append(above if depths[above] < 60 else chance.randrange(1, 41))
        depths.append(depths[parents[-1]] + 1)
        functions.append(chance.randrange(20000))
        own.append(chance.randrange(1, 200000) if chance.random() < 0.4 else 0)
    sums = list(own)
    for node in range(count, 0, -1):
        sums[parents[node]] += sums[node]
    return {"compared_with": None, "count": count, "names": [f"function_{at}" for at in range(20000)],
            "libraries": ["made_up.so"] * 20000,
            "parents": column(node - parents[node] for node in range(1, count + 1)),
            "functions": column(functions[1:]),
            "weights": [{"key": "cpu", "own": column(own[1:])}]}, sums, parents, functions


def test_flame_graph_with_a_million_nodes(cli, browser):
    cli("run", "--format", "none", "--", EXAMPLES / "basic")
    page = page_of(cli)
    stacks, sums, parents, functions = made_up_stacks(10 ** 6)
    page.data["stacks"] = stacks
    path = cli.folder / "page.html"
    path.write_text(page.head + '<script id="data" type="application/json">' +
                    json.dumps(page.data).replace("<", "\\u003c") + "</script>" + page.tail)
    browser.open(path, "#tree=samples&theme=light")
    opened = browser.run("return performance.getEntriesByName('ready')[0].startTime")
    # The widest node right below the root is drawn first, with its name and share.
    first = max((node for node in range(1, len(parents)) if parents[node] == 0), key=lambda node: sums[node])
    browser.run("""
        const canvas = document.getElementById("flame-canvas"), box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent("pointermove",
            {clientX: box.left + 3, clientY: box.top + 25, bubbles: true}));""")
    told = browser.run("return document.getElementById('flame-canvas').title").split("\n")
    assert told[0] == f"function_{functions[first]} in made_up.so"
    assert told[1].endswith(f", {100 * sums[first] / sums[0]:.1f} %" if 100 * sums[first] / sums[0] < 9.95
                            else f", {100 * sums[first] / sums[0]:.0f} %")
    # Only the rows that can be seen are drawn: scrolled by ten rows, the one on top is the tenth of the heaviest
    # callees.
    heaviest = {}
    for node in range(1, len(parents)):
        if parents[node] not in heaviest or sums[node] > sums[heaviest[parents[node]]]:
            heaviest[parents[node]] = node
    tenth = 0
    for _ in range(10):
        tenth = heaviest[tenth]
    browser.run("document.getElementById('flame-scroller').scrollTop = 220")
    browser.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    browser.run("""
        const canvas = document.getElementById("flame-canvas");
        const box = document.getElementById("flame-scroller").getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent("pointermove",
            {clientX: box.left + 3, clientY: box.top + 5, bubbles: true}));""")
    title = browser.run("return document.getElementById('flame-canvas').title")
    assert title.split("\n")[0] == f"function_{functions[tenth]} in made_up.so"
    browser.run("document.getElementById('flame-scroller').scrollTop = 0")
    # A part of the width, moved along: each step is another picture.
    browser.key("{", "{", "{", "{")
    frames = browser.driver.execute_async_script("""
        const done = arguments[0], canvas = document.getElementById("flame-canvas");
        const pictures = [canvas.toDataURL()], begun = performance.now();
        const move = (steps, then) => {
          if (steps === 0)
            return then();
          document.body.dispatchEvent(new KeyboardEvent("keydown", {key: steps > 30 ? ">" : "<", bubbles: true}));
          requestAnimationFrame(() => move(steps - 1, then));
        };
        move(60, () => {
          const seconds = (performance.now() - begun) / 1000;
          move(10, () => requestAnimationFrame(() =>
            done([60 / seconds, new Set([...pictures, canvas.toDataURL()]).size])));
        });""")
    assert frames[1] == 2 and "of the width" in browser.text("#crumbs")
    browser.picture("page-million.png")
    print(f"\n10^6 places: open after {opened:.0f} ms, moved at {frames[0]:.0f} frames a second; the file "
          f"has {path.stat().st_size / 1e6:.1f} MB")
    browser.key("Escape")
    assert browser.text("#crumbs") == ""
    browser.check()


def test_samples_and_differences_in_the_flame_graph(cli, browser):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    before = next(path.name for path in cli.folder.iterdir() if path.suffix == ".run")
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "2")
    page = page_of(cli, "--against", before)
    assert page.data["stacks"]["compared_with"].endswith("orders 1")
    weights = {column["key"]: column for column in page.data["stacks"]["weights"]}
    assert {"own", "before"} <= set(weights["zones"])
    browser.open(cli.folder / "page.html", "#theme=light")
    kinds = browser.texts("#flame-trees button")
    assert kinds[0] == "zones" and kinds[-1] == "zones, compared"
    browser.run("[...document.querySelectorAll('#flame-trees button')].at(-1).click()")
    assert "blue: less, orange: more than in ./orders 1" in browser.text("#flame-about")
    assert "tree=zones%2C%20compared" in browser.run("return location.hash")
    # The whole tree, before and now, is what both runs have.
    def total(key, which):
        data, sum_, number, scale = base64.b64decode(weights[key][which]), 0, 0, 1
        for byte in data:
            number += (byte & 127) * scale
            scale = scale * 128 if byte > 127 else 1
            if scale == 1:
                sum_, number = sum_ + number, 0
        return sum_
    def measured(*session):
        rows = json.loads(cli("report", "--format", "json", "--section", "timing", "--limit", "0",
                              *session).stdout)["sections"]["timing"]["rows"]
        return sum(row["self_ns"] for row in rows)
    assert total("zones", "own") == pytest.approx(measured(), rel=1e-3)
    assert total("zones", "before") == pytest.approx(measured(before), rel=1e-3)
    browser.picture("page-compared.png")
    browser.check()
    # Another run that is not there is said, and only pages can compare.
    assert "no session" in cli("report", "--format", "html", "--against", "nothing", status=1).stderr
    assert "--against and --source require" in cli("report", "--against", before, status=2).stderr


def told_at(browser, x, y):
    """What the tooltip says at a place of the flame graph."""
    return browser.run("""
        const canvas = document.getElementById("flame-canvas"), box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent("pointermove",
            {clientX: box.left + arguments[0], clientY: box.top + arguments[1], bubbles: true}));
        return canvas.title;""", x, y).split("\n")


def test_the_flame_graph_of_one_thread(cli, browser):
    cli("run", "--format", "none", "--", PROGRAMS / "crew")
    page_of(cli)
    rows = json.loads(cli("report", "--format", "json", "--by", "thread", "--section", "timing", "--limit",
                          "0").stdout)["sections"]["timing"]["rows"]
    browser.open(cli.folder / "page.html", "#theme=light")
    choices = browser.run("return [...document.getElementById('flame-thread').options].map(one => one.textContent)")
    assert choices[0] == "all threads" and set(choices[1:]) == {row["thread"]["name"] for row in rows}
    choose = """
        const select = document.getElementById("flame-thread");
        select.value = arguments[0];
        select.dispatchEvent(new Event("change"));
        return select.value;"""
    address = lambda: browser.run("return location.hash")
    assert told_at(browser, 3, 5)[0] == "all threads"
    # Each of these threads has one function, and so has its flame graph.
    for thread, function in (("burner", "burn"), ("kernel", "call_kernel"), ("sleeper", "doze")):
        assert browser.run(choose, thread) == thread and f"thread={thread}" in address()
        whole, own = told_at(browser, 3, 5), told_at(browser, 3, 27)
        assert (whole[0], own[0]) == (thread, function) and whole[1] == own[1] and own[1].endswith(", 100 %")
        ns = next(row["self_ns"] for row in rows if (row["thread"]["name"], row["name"]) == (thread, function))
        assert own[1].split(",")[0] == browser.run("""
            const ns = arguments[0];
            return ns >= 999.5e6 ? `${(ns / 1e9).toFixed(2)} s`
                                 : `${(ns / 1e6).toFixed(ns >= 99.95e6 ? 0 : 1)} ms`;""", ns)
        assert thread in browser.text("#flame-about") and "allocated" not in browser.texts("#flame-measures button")
    assert any(line.startswith("sleep, other: ") for line in told_at(browser, 3, 27))
    # The address says it; a name that is not there is as if it were not said.
    browser.open(cli.folder / "page.html", "#theme=light&thread=burner")
    assert told_at(browser, 3, 5)[0] == "burner"
    assert browser.run("return document.getElementById('flame-thread').value") == "burner"
    browser.picture("page-thread.png")
    browser.open(cli.folder / "page.html", "#theme=light&thread=nobody")
    assert told_at(browser, 3, 5)[0] == "all threads"
    # By keys: the next one, and all of them after the last. Letters in the list are the list's.
    seen = []
    for _ in choices:
        browser.key("T")
        seen.append(told_at(browser, 3, 5)[0])
    assert seen == choices[1:] + ["all threads"]
    browser.run("document.getElementById('flame-thread').focus()")
    browser.key("T", "d")
    assert "thread=" not in address() and browser.run("return document.documentElement.dataset.theme") == "light"
    browser.run("document.activeElement.blur()")
    # From the table of threads.
    browser.run("[...document.querySelectorAll('#threads-table button')]"
                ".find(one => one.textContent === 'sleeper').click()")
    assert told_at(browser, 3, 27)[0] == "doze"
    # Samples are not known by thread.
    browser.key("s")
    assert "tree=samples" in address() and browser.run("return document.getElementById('flame-thread').hidden")
    browser.check()


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
