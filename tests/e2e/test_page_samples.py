"""The page of programs without macros in a browser: what stack samples found of their functions, by process, and of
the code around a function."""
import json
import platform
import re

import pytest

from harness import EXAMPLES, PROGRAMS, perf_is_allowed, with_glibc, without_emulator, without_sanitizer
from page_in_browser import BROWSER, DRIVER, browser, cli  # noqa: F401 (fixtures)
from test_page import page_of
from test_page_flame import column, told_at
from test_stacks_in_time import SLOT_NS, Acts

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound"),
              pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromium-driver")]

STACKED = PROGRAMS / "stacked"


def found_functions(cli):
    out = cli("report", "--format", "json", "--section", "functions", "--limit", "0").stdout
    return {row["name"]: row for row in json.loads(out)["sections"]["functions"]["rows"]}


def shown_time(browser, ns):
    """As the page writes it."""
    return browser.run("""
        const size = arguments[0], digits = value => value.toFixed(value >= 99.95 || value === 0 ? 0
            : value >= 9.995 ? 1 : 2);
        const [least, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]]
            .find(([least]) => size >= least * 0.9995) || [1, "ns"];
        return (least === 1 ? String(Math.round(size)) : digits(size / least)) + " " + unit;""", ns)


def listed(browser):
    """The lists of the panel: {title: {name: value}}."""
    return browser.run("""
        const lists = {};
        for (const list of document.querySelectorAll("#panel-body ul"))
          lists[list.previousElementSibling.textContent] = Object.fromEntries([...list.children].map(item =>
            [item.firstChild.textContent, item.lastChild.textContent]));
        return lists;""")


def paths(browser):
    """Of all nodes of the sampled tree: ";main;work"."""
    return browser.run("""
        const data = JSON.parse(document.getElementById("data").textContent).stacks;
        const numbers = text => { const list = []; let number = 0, scale = 1;
          for (const sign of atob(text)) { const byte = sign.charCodeAt(0); number += (byte & 127) * scale;
            scale *= 128; if (byte < 128) { list.push(number); number = 0; scale = 1; } } return list; };
        const parents = numbers(data.parents), functions = numbers(data.functions), paths = [""];
        parents.forEach((steps, at) => paths.push(paths[at + 1 - steps] + ";" + data.names[functions[at]]));
        return paths;""")


def test_the_table_has_what_samples_know(cli, browser):
    cli("run", "--format", "none", "--", STACKED, "split", 400)
    page_of(cli)
    rows = found_functions(cli)
    browser.open(cli.folder / "page.html", "#theme=light")
    titles = [title.strip(" \u25be") for title in browser.texts("#functions-head th")]
    assert {"Function", "Library", "Own time", "CPU %", "Samples"} <= set(titles)
    assert not {"Calls", "p50", "p99", "Mostly"} & set(titles)
    cells = browser.run("""
        return Object.fromEntries([...document.querySelectorAll("#functions-rows tr")].map(row =>
            [row.dataset.name, [...row.cells].map(cell => cell.textContent)]));""")
    hottest = max((row for row in rows.values() if row["library"] == "stacked"), key=lambda row: row["self_ns"])
    shown = dict(zip(titles, cells[hottest["name"]]))
    assert shown["Library"] == "stacked" and shown["Samples"].replace(",", "") == str(hottest["samples"])
    share = hottest["percent_self"]
    assert shown["CPU %"] == (f"{share:.0f} %" if share >= 9.95 else f"{share:.1f} %")
    # The flame graph is that of CPU time, and begins with the program's own code.
    assert browser.texts("#flame-measures [aria-pressed=true]") == ["CPU"]
    assert told_at(browser, 3, 27)[0] == "main in stacked"
    tops = {path.split(";")[1] for path in paths(browser) if path}
    assert "main" in tops and not tops & {"_start", "__libc_start_main", "__libc_start_call_main", "clone3"}
    # The panel has callers and callees, with the sums of the report.
    browser.run("location.hash = '#f=outer'")
    browser.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
    lists = listed(browser)
    callees = lists["Calls (CPU time)"]
    assert {"heavy", "light"} <= set(callees)
    for name in ("heavy", "light"):
        assert callees[name] == shown_time(browser, rows[name]["total_ns"]), name
    assert next(iter(callees)) == "heavy"
    browser.picture("samples.png")
    browser.check()


def test_processes_come_first(cli, browser):
    """Two processes of one program, and a shell: the program, then its processes."""
    cli("run", "--format", "none", "sh", "-c", f"{STACKED} kernel 200 & {STACKED} split 200; wait")
    page_of(cli)
    pids = {words[1]: session["pid"] for session in cli.sessions("-a")
            if (words := session["command"].split())[0] == str(STACKED)}
    browser.open(cli.folder / "page.html", "#theme=light")
    frames = paths(browser)
    for case, function in (("kernel", "read_on"), ("split", "heavy")):
        assert any(path.startswith(f";stacked;stacked {pids[case]};main;") and path.endswith(";" + function)
                   for path in frames), case
    browser.run("location.hash = '#f=heavy'")
    browser.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
    assert set(listed(browser)["In processes (CPU time)"]) == {f"stacked {pids['split']}"}
    browser.picture("processes.png")
    browser.check()


def axis_cpu_s(browser):
    """CPU time on the time axis: the threads that its tooltip tells for each step, times its length."""
    return browser.run("""
        const canvas = document.getElementById("time-canvas"), box = canvas.getBoundingClientRect();
        const data = JSON.parse(document.getElementById("data").textContent), moments = data.history.moments_ns;
        const left = 134, wide = box.width - left - 13;
        let ns = 0;
        for (let at = 0; at + 1 < moments.length; at++) {
          const middle = (moments[at] + moments[at + 1]) / 2;
          canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + left + wide * middle /
            data.elapsed_ns, clientY: box.top + 20, bubbles: true}));
          for (const [, threads] of canvas.title.matchAll(/CPU, (?:user|kernel): ([0-9.]+)/g))
            ns += Number(threads) * (moments[at + 1] - moments[at]);
        }
        return ns / 1e9;""")


def test_the_axis_has_processes_without_a_history(cli, browser):
    """A shell that waits for one short process after the other."""
    cli("run", "--format", "none", "sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10; do {STACKED} split 100; done")
    shell = min(cli.sessions("-a"), key=lambda session: session["began_unix_ns"])["pid"]
    for axis in cli.folder.glob("**/*.axis"):  # on a slow machine, they are not short
        if not axis.name.startswith(f"{shell}-"):
            axis.unlink()
    page_of(cli)
    cpu_s = sum(row["self_ns"] for row in found_functions(cli).values()) / 1e9
    browser.open(cli.folder / "page.html", "#theme=light")
    assert cpu_s > 0.8
    assert abs(axis_cpu_s(browser) - cpu_s) < 0.1 * cpu_s
    browser.picture("short.png")
    browser.check()


def slots_of(entries, nodes, elapsed_ns, key):
    """Slots of half the run each: {node: ns} for each slot, as src/export/page_slots.c writes them."""
    flat = [(node, ns) for slot in entries for node, ns in sorted(slot.items())]
    distances = [node - (before if at > 0 else 0) for slot in entries
                 for at, (before, node) in enumerate(zip([0, *sorted(slot)], sorted(slot)))]
    return {"unit": 1000, "slot_ns": elapsed_ns // 2, "count": 2, "counts": column(len(slot) for slot in entries),
            "nodes": column(distances), "amounts": column(ns // 1000 for _, ns in flat),
            "parts": column(255 for _ in flat)}


def test_a_time_range_has_its_own_functions(cli, browser):
    """Half of the run in one function, then half of it in another, below the same callers."""
    cli("run", "--format", "none", "--", STACKED, "split", 1600)
    page = page_of(cli)
    elapsed = page.data["elapsed_ns"]
    browser.open(cli.folder / "page.html", "#theme=light")
    nodes = paths(browser)
    heavy, light = (next(at for at, path in enumerate(nodes) if path.endswith(";" + name))
                    for name in ("heavy", "light"))
    caller = nodes[heavy].split(";")[-2]
    none = {"unit": 1000, "slot_ns": elapsed // 2, "count": 2, "counts": column([0, 0]), "nodes": "", "amounts": "",
            "parts": ""}
    page.data["stacks"]["slots"] = {
        "from_ns": 0, "to_ns": elapsed, "waits": none, "alloc": none,
        "cpu": slots_of([{heavy: 400_000_000}, {heavy: 100_000_000, light: 300_000_000}], nodes, elapsed, "cpu")}
    path = cli.folder / "page.html"
    path.write_text(page.head + '<script id="data" type="application/json">' +
                    json.dumps(page.data).replace("<", "\\u003c") + "</script>" + page.tail)
    ms = elapsed // 10 ** 6
    browser.open(path, f"#theme=light&t={ms // 2}-{ms}&f=light")
    browser.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
    cells = lambda name: browser.run("""
        const titles = [...document.querySelectorAll("#functions-head th")].map(cell =>
            cell.textContent.replace(/ \u25be/, ""));
        const row = [...document.querySelectorAll("#functions-rows tr")].find(row =>
            row.dataset.name === arguments[0]);
        return Object.fromEntries(titles.map((title, at) => [title, row.cells[at].textContent]));""", name)
    assert cells("light")["CPU %"] == "75 %" and cells("heavy")["CPU %"] == "25 %"
    assert told_at(browser, 3, 5)[1].startswith("400 ms") or told_at(browser, 3, 5)[1].startswith("399 ms")
    assert "estimated for the time range" in browser.text("#flame-about")
    assert f"{caller} takes 100 % of the CPU time" in browser.sentence() or "light takes 75 %" in browser.sentence()
    # A quarter of the run is half of what its slot has.
    browser.stretch(0, ms // 4)
    assert told_at(browser, 3, 5)[1].split(",")[0] in ("200 ms", "199 ms")
    assert "heavy takes 100 % of the CPU time" in browser.sentence()
    # Against the first half: what changed, in the table and in words; the flame graph has both shares.
    browser.run("location.hash = arguments[0]", f"#theme=light&t={ms // 2 + 20}-{ms}&before=0-{ms // 2 - 20}")
    browser.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
    said = browser.text("#second-line")
    assert "light +75 points (0.0 % \u2192 75 %)" in said and "heavy \u221275 points (100 % \u2192 25 %)" in said
    assert cells("light")["Change"] == "+75.0 pts" and cells("heavy")["Change"] == "\u221275.0 pts"
    assert "blue: less, orange: more than in" in browser.text("#flame-about")
    browser.picture("ranges.png")
    browser.check()


def with_cpu_by_halves(cli, page, halves):
    """The page again, with this CPU time of nodes in the two halves of the run."""
    elapsed = page.data["elapsed_ns"]
    none = {"unit": 1000, "slot_ns": elapsed // 2, "count": 2, "counts": column([0, 0]), "nodes": "", "amounts": "",
            "parts": ""}
    page.data["stacks"]["slots"] = {"from_ns": 0, "to_ns": elapsed, "waits": none, "alloc": none,
                                    "cpu": slots_of(halves, None, elapsed, "cpu")}
    path = cli.folder / "page.html"
    path.write_text(page.head + '<script id="data" type="application/json">' +
                    json.dumps(page.data).replace("<", "\\u003c") + "</script>" + page.tail)
    return path, elapsed // 10 ** 6


@pytest.mark.parametrize("others", ["", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; "],
                         ids=["one program", "several"])
def test_ranges_with_other_processes_are_compared_by_program(cli, browser, others):
    """Two processes of a program, one after the other: in the flame graph of both ranges they are one frame."""
    cli("run", "--format", "none", "sh", "-c", f"{others}{STACKED} split 400; exec {STACKED} split 400")
    page = page_of(cli)
    browser.open(cli.folder / "page.html", "#theme=light")
    nodes = paths(browser)
    first, second = (at for at, path in enumerate(nodes) if re.search(r";stacked \d+;main;.*;heavy$", path))
    path, ms = with_cpu_by_halves(cli, page, [{first: 400_000_000}, {second: 400_000_000}])
    browser.open(path, f"#theme=light&t={ms // 2 + 20}-{ms}&before=20-{ms // 2}")
    browser.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
    depth = len(nodes[first].split(";")) - 2  # without the process
    frames = [told_at(browser, 3, 5 + 22 * (at + 1)) for at in range(depth)]
    assert [frame[0].split(" ")[0] for frame in frames[:2]] == ["stacked", "main"], frames
    for frame in frames:
        assert frame[1].endswith(", 100 %") and frame[2].startswith("before: ") and frame[2].endswith(", 100 %")
    # Of one range, processes are told apart.
    browser.run("location.hash = arguments[0]", f"#theme=light&t={ms // 2 + 20}-{ms}")
    browser.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
    assert any(told_at(browser, 3, 5 + 22 * at)[0] == nodes[second].split(";")[-depth] for at in (1, 2))
    browser.check()


def tree_rows(browser):
    """Of the call tree of samples: the path of each row, its CPU time and its waiting as the tooltips tell them."""
    return browser.run("""
        const table = document.querySelector("[data-section='stacktree'] table"), path = [], rows = [];
        const titles = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
        const ns = (row, title) => parseInt(row.cells[titles.indexOf(title)]?.title || "0");
        for (const row of table.tBodies[0].rows) {
          path.length = (parseInt(row.cells[0].style.paddingLeft) - 10) / 14;
          path.push(row.cells[0].firstChild.title);
          rows.push([path.join(";"), [ns(row, "Total"), ns(row, "Self"), ns(row, "Waiting"),
            row.cells[titles.indexOf("For")]?.textContent]]);
        }
        return rows;""")


def told_rows(rows, made, has_groups, above=""):
    """The same of a report. In a range, functions without names of a library are one function, and those of the C
    library do not begin a stack."""
    for row in rows:
        name = re.sub(r"(.+)\+0x[0-9a-f]+", r"\1 [no symbols]", row["name"]) if has_groups else row["name"]
        is_first = above == "" or " process" in above.split(";")[-2]
        is_inner = name != row["name"] and (above.endswith(f"{name};") or (
            is_first and re.match(r"ld-linux|libc\.so", name) is not None))
        path = above.rstrip(";") if is_inner else above + name
        sums = made.setdefault(path, [0, 0, 0, row["waits_for"] or "\u2013"])
        for at, key in enumerate(("total_ns", "self_ns", "total_waiting_ns")):
            sums[at] += row[key] if key == "self_ns" or not is_inner else 0
        told_rows(row["children"], made, has_groups, path + ";")
    return made


def check_tree(cli, browser, *limits):
    """The call tree of samples is that of the report about the range, or about the run. Returns its paths."""
    done = cli("report", "--tree", "--section", "stacktree", "--limit", "0", "--format", "json", *limits)
    told = told_rows(json.loads(done.stdout)["sections"]["stacktree"]["rows"], {}, len(limits) > 0)
    told.pop("", None)
    shown = dict(tree_rows(browser))
    assert shown.keys() <= told.keys() and list(shown)[:1] == list(told)[:1]
    missing = told.keys() - shown.keys()
    assert len(shown) == min(50, len(told)) or all(max(told[path][:3]) < 1000 for path in missing), missing
    for path, numbers in shown.items():
        assert numbers[:3] == pytest.approx(told[path][:3], rel=1e-4, abs=300_000), path
        if told[path][2] > 10 ** 6:
            assert numbers[3] == told[path][3], path
    return list(shown)


def test_a_part_of_a_real_run(cli, browser):
    """The functions and the call tree of a brushed range are those of the report about it."""
    acts = Acts(cli, "run", "--format", "none", "--")
    try:
        acts.do("one", 5)
        acts.do("nap", 5)
        acts.do("two", 5)
        acts.end()
    finally:
        acts.process.kill()
    page = page_of(cli)
    began_ns = acts.axis()[0]
    slots = page.data["stacks"]["slots"]
    assert slots["from_ns"] <= 0 < slots["to_ns"] and slots["cpu"]["count"] >= 15
    browser.open(cli.folder / "page.html", "#theme=light")
    check_tree(cli, browser)
    about = lambda: browser.run("""
        return [...document.querySelectorAll("[data-section='stacktree'] .about")].map(one => one.textContent)""")
    assert about() == []

    def brush(what):
        begin, end = acts.moments[what] - began_ns, acts.moments["after " + what] - began_ns
        limits = [(begin + SLOT_NS) // 10 ** 6, (end - 2 * SLOT_NS) // 10 ** 6]
        sentence, moments = browser.stretch(*limits), ("--from", f"{limits[0]}ms", "--to", f"{limits[1]}ms")
        browser.picture(f"part_{what}.png")
        paths = check_tree(cli, browser, *moments)
        assert any(path.split(";")[-1] == what for path in paths) and about() == ["time range, estimated"]
        return sentence, cli.read(*moments)
    def found(name):
        """Of the functions with that in their names, those that are in the table of the range."""
        browser.run("location.hash += '&q=' + arguments[0]", name)
        browser.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
        return browser.run("""
            return [...document.querySelectorAll("#functions-rows tr")].map(row => row.dataset.name);""")
    for what, other in (("one", "two"), ("two", "one")):
        sentence, report = brush(what)
        assert "of the CPU time" in sentence
        cpu_ns = report.values["sections"]["functions"]["totals"]["cpu_ns"]
        assert told_at(browser, 3, 5)[1].split(",")[0] in {shown_time(browser, cpu_ns + ns)
                                                          for ns in (-500_000, 0, 500_000)}
        assert what in found(what) and other not in found(other)
    sentence, report = brush("nap")
    assert sentence.startswith("Idle") and "nap" in sentence
    browser.key("Escape")
    assert about() == []
    check_tree(cli, browser)
    browser.check()


def test_call_trees_of_processes_in_a_range(cli, browser):
    """Programs are rows where several processes did something in the range; else they are not."""
    cli("run", "--format", "none", "sh", "-c",
        f"{STACKED} split 500; {STACKED} kernel 300 & {STACKED} split 300; wait; sleep 0.3")
    page = page_of(cli)
    browser.open(cli.folder / "page.html", "#theme=light")
    check_tree(cli, browser)
    ms = page.data["elapsed_ns"] // 10 ** 6
    seen = set()
    for first, last in ((0, 0.25), (0.3, 0.6), (0.5, 0.9), (0.75, 1)):
        limits = int(first * ms), int(last * ms)
        browser.stretch(*limits)
        seen |= {path for path in check_tree(cli, browser, "--from", f"{limits[0]}ms", "--to", f"{limits[1]}ms")
                 if ";" not in path}
    assert any(re.fullmatch(r"stacked, \d processes", path) for path in seen), seen
    browser.picture("tree.png")
    browser.check()


def test_the_call_tree_of_zones_says_that_it_is_of_the_run(cli, browser):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "2")
    page_of(cli)
    browser.open(cli.folder / "page.html", "#theme=light")
    about = "return document.querySelector(`[data-section='calltree'] .about`)?.textContent"
    before = browser.texts("[data-section='calltree'] tbody td")
    assert browser.run(about) is None
    browser.stretch(200, 900)
    assert browser.run(about) == "whole run: call paths of measured functions have no history"
    assert browser.texts("[data-section='calltree'] tbody td") == before
    check_tree(cli, browser, "--from", "200ms", "--to", "900ms")
    browser.check()


def test_only_marked_names_of_the_sentence_are_links(cli, browser):
    """There is a function `free`, and a sentence about a free CPU."""
    cli("run", "--format", "none", "--", STACKED, "split", 300)
    page = page_of(cli)
    meta = page.data["meta"]
    names = {row["name"] for row in page.section("functions")["rows"]}
    for place in meta["headline_functions"]:
        assert meta["headline"][place["at"]:place["at"] + place["length"]] in names
    assert meta["headline_functions"]
    row = page.data["sections"]["functions"]["rows"][0]
    keys = [column["key"] for column in page.data["sections"]["functions"]["columns"]]
    page.data["sections"]["functions"]["rows"].append(
        [row[0], *["free" if key == "name" else value for key, value in zip(keys, row[1:])]])
    meta["headline"] = "\u20ac: outer waits for a free CPU. Of what runs, heavy is free"
    meta["headline_functions"] = [{"at": meta["headline"].index(name), "length": len(name)}
                                  for name in ("outer", "heavy")]
    path = cli.folder / "page.html"
    path.write_text(page.head + '<script id="data" type="application/json">' +
                    json.dumps(page.data).replace("<", "\\u003c") + "</script>" + page.tail)
    browser.open(path, "#theme=light")
    assert browser.sentence() == meta["headline"]
    assert browser.texts("#sentence button") == ["outer"] and browser.texts("#second-line button") == ["heavy"]
    browser.run("document.querySelector('#second-line button').click()")
    assert browser.text("#panel-body .function-name") == "heavy"
    browser.check()
