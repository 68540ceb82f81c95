"""The flame graph of the page in a browser: large ones, samples, differences of two runs, and single threads."""
import base64
import json
import random
import subprocess

import pytest

from harness import (EXAMPLES, PROGRAMS, TIMEOUT, perf_is_allowed, with_glibc, without_emulator,
                     without_sanitizer)
from page_in_browser import BROWSER, DRIVER, browser, cli  # noqa: F401 (fixtures)
from test_page import Page, numbers_of, page_of

pytestmark = [without_emulator("/proc shows the emulator"),
              without_sanitizer("nothing is preloaded then, so the page has no allocations and no samples"),
              pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromium-driver")]


MARK = "        sum = sum * 31 + at;"
CHANGED = f"""#include <stdio.h>
static volatile unsigned sum;
static __attribute__((noinline)) void unchanged(void)
{{
    for (unsigned at = 0; at < 100000; at++)
        sum = sum * 33 + at;
}}
static __attribute__((noinline)) void changed(void)
{{
    for (unsigned at = 0; at < 100000 * FACTOR; at++)
{MARK}
}}
int main(void)
{{
    for (int turn = 0; turn < 1000; turn++) {{
        changed();
        unchanged();
    }}
    return 0;
}}
"""


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
            "libraries": ["made_up.so"] * 20000, "system": column([0] * 20000),
            "lines": {"count": 0},
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


@pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")
@with_glibc("the program is compiled by cc")
def test_diff_shows_what_changed(cli, browser):
    """One function takes twice as long after a change, in two runs of each side: the flame graph has the mean of
    both, the function in orange and the other in blue, and the lines of the function can be seen."""
    source = cli.folder / "program.c"
    source.write_text(CHANGED)
    for side, factor in (("before", 1), ("after", 2)):
        subprocess.run(["cc", "-g", "-O1", f"-DFACTOR={factor}", "-o", cli.folder / "program", source], check=True,
                       timeout=TIMEOUT)
        for _ in range(2):
            cli("run", "--format", "none", "--dir", cli.folder / side, "--", cli.folder / "program")
    page = cli.folder / "page.html"
    cli("diff", cli.folder / "after", "--against", cli.folder / "before", "--format", "html", "--output", page)
    data = Page(page.read_text()).data["stacks"]
    assert (data["runs"], data["runs_before"]) == (2, 2)
    # Sums of all runs, as their reports have them.
    cpu = next(one for one in data["weights"] if one["key"] == "cpu")
    for which, side in (("own", "after"), ("before", "before")):
        runs = [json.loads(cli("report", run, "--section", "functions", "--format", "json").stdout)
                for run in (cli.folder / side).glob("*.run")]
        total = sum(run["sections"]["functions"]["totals"]["cpu_ns"] for run in runs)
        assert len(runs) == 2 and sum(numbers_of(cpu[which])) == pytest.approx(total / 2, rel=1e-3), which
    browser.open(page, "#theme=light&f=changed")
    frames = {}
    for x in range(3, 1300, 20):
        for y in (5, 27, 49, 71):
            told = told_at(browser, x, y)
            if told[0].endswith(" in program"):
                frames[told[0].split(" ")[0]] = told[1:3], (x, y)
    shares = {name: [float(line.split(", ")[1].split(" ")[0]) for line in told]
              for name, (told, _) in frames.items()}
    after, before = shares["changed"]
    assert after > before + 10 and shares["unchanged"][0] < shares["unchanged"][1] - 10, shares
    colour = lambda name: browser.run("""
        const [x, y] = arguments[0], drawn = document.createElement("canvas").getContext("2d");
        drawn.drawImage(document.getElementById("flame-canvas"), -x - 1, -y + 2);
        return [...drawn.getImageData(0, 0, 1, 1).data];""", frames[name][1])
    red, _, blue, _ = colour("changed")
    assert red > blue + 20, "orange"
    red, _, blue, _ = colour("unchanged")
    assert blue > red + 20, "blue"
    assert "means of 2 runs, and of 2 before" in browser.text("#flame-about")
    browser.run("""
        const canvas = document.getElementById("flame-canvas"), box = canvas.getBoundingClientRect();
        const [x, y] = arguments[0], at = {clientX: box.left + x, clientY: box.top + y, bubbles: true};
        for (const kind of ["pointerdown", "pointerup", "click"])
          canvas.dispatchEvent(new PointerEvent(kind, at));""",
                frames["changed"][1])
    assert browser.text("#panel-body .function-name") == "changed"
    lines = [int(line) for line in browser.texts("#panel-body .lines td:first-child")]
    at = CHANGED.splitlines().index(MARK) + 1
    assert lines and all(abs(line - at) <= 1 for line in lines), (lines, at)
    assert "program.c" in browser.run("""
        return document.querySelector("#panel-body .lines").previousElementSibling.textContent""")
    told = browser.text("#changes-lines").splitlines()
    assert told[0].startswith("2 runs of ") and told[1].startswith("total ") and "U+000A" not in "".join(told)
    assert browser.run("return document.getElementById('changes-lines').clientHeight") > 30
    browser.picture("page-diff.png")
    browser.check()


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
