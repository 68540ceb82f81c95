"""The page of a report, as a file: it has the data of the report, and nothing in it can do harm.
test_page_browser.py tests how it looks."""
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import (BUILD, EXAMPLES, PROGRAMS, SOURCE, TIMEOUT, with_glibc, without_emulator, without_sanitizer,
                     without_thread_sanitizer)

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too")]

SECTIONS = ("--section", "all,-timeline,-cold", "--limit", "0", "--percentiles", "50,95,99")


class Page:
    """The parts of a page."""

    def __init__(self, text):
        self.text = text
        self.head, rest = text.split('<script id="data" type="application/json">')
        self.raw, self.tail = rest.split("</script>", 1)
        self.data = json.loads(self.raw)

    def section(self, name):
        """As in the report: rows as objects, those of a tree nested."""
        section = dict(self.data["sections"][name])
        columns, cells_of = section.pop("columns"), section.pop("rows")
        is_tree = section.pop("is_tree")
        for key in ("summary", "if_empty", "notes", "marks"):
            section.pop(key, None)
        section["rows"], made = [], []
        for cells in cells_of:
            row = {"id": cells[0]}
            above = made[cells[1] - 1] if is_tree and cells[1] > 0 else None
            if is_tree:
                row["parent"] = above["id"] if above else None
            row |= dict(zip((column["key"] for column in columns), cells[2 if is_tree else 1:], strict=True))
            if is_tree:
                row["children"] = []
            made.append(row)
            (above["children"] if above else section["rows"]).append(row)
        return section

    def line(self, kind, name):
        found = [line for line in self.data["history"]["lines"] if line["kind"] == kind and
                 line.get("name") == name]
        assert len(found) == 1, f"{len(found)} lines {kind} {name}"
        return found[0]

    def gain(self, kind, name, from_ns, to_ns):
        """The increase of a line in a stretch: the rule of the page and of the report."""
        moments, steps = self.data["history"]["moments_ns"], self.line(kind, name)["steps"]
        def up_to(ns):
            total = 0
            for at, (begin, end) in enumerate(zip(moments, moments[1:])):
                step = steps[at] if at < len(steps) else 0
                if ns >= end or ns >= self.data["elapsed_ns"]:
                    total += step
                elif ns > begin:
                    total += int(step * (ns - begin) / (end - begin) + 0.5)
            return total
        return up_to(to_ns) - up_to(from_ns)


def page_of(cli, *args):
    path = cli.folder / "page.html"
    done = cli("report", "--format", "html", "--output", path, *args)
    assert done.stdout == ""
    return Page(path.read_text())


def test_a_file_is_replaced_by_a_page_only(cli):
    """Not by nothing, if the other session is missing; and a shorter page leaves nothing of a longer one."""
    cli("run", "--format", "none", "--", PROGRAMS / "counts")
    path = cli.folder / "page.html"
    path.write_text("kept " * 1_000_000)
    done = cli("open", "--no-open", "--output", path, "--against", "missing", status=1)
    assert "missing" in done.stderr and path.read_text() == "kept " * 1_000_000
    assert "kept " * 3 not in page_of(cli).text


def test_cells_match_the_report(cli):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "2")
    page = page_of(cli)
    report = json.loads(cli("report", "--format", "json", *SECTIONS).stdout)
    assert list(page.data["sections"]) == list(report["sections"])
    for name, section in report["sections"].items():
        assert page.section(name) == section, name
    about = {key: value for key, value in report.items() if key != "sections"}
    assert {key: value for key, value in page.data.items() if key in about} == about
    assert len(page.section("timing")["rows"]) > 10 and page.section("calltree")["rows"][0]["children"] is not None


ON_REQUEST = ("locks", "blocked-by", "critical-path", "path-waits", "io", "io-by", "recent")


def record_on_request(cli):
    """The page of a run with everything that is recorded on request only. Where the threads of the program begin
    after its end has come, they wait for nothing: then it runs again."""
    for _ in range(20):
        cli("run", "--locks", "--path", "--io", "--format", "none", "--", PROGRAMS / "order_desk", input="end\n",
            env={"HOTPATH_LOG": "*"})
        page = page_of(cli)
        if all(page.data["sections"].get(name, {}).get("rows") for name in ON_REQUEST):
            return page
    raise AssertionError({name: page.data["sections"].get(name, {}).get("rows") for name in ON_REQUEST})


@without_sanitizer("nothing is preloaded then, and that sees locks and I/O")
@with_glibc("I/O of other C libraries is not counted")
def test_what_is_recorded_on_request(cli):
    page = record_on_request(cli)
    report = json.loads(cli("report", "--format", "json", *SECTIONS).stdout)
    for name in ON_REQUEST:
        assert page.section(name) == report["sections"][name], name
    names = {name: {row["name"] for row in page.section(name)["rows"]} for name in ON_REQUEST}
    assert "queue" in names["locks"] and "pop" in names["blocked-by"] and "pop" in names["recent"]
    assert "main" in names["critical-path"] and "say" in names["io-by"]


def test_columns_have_units(cli):
    cli("run", "--format", "none", "--", EXAMPLES / "overview")
    columns = {column["key"]: column for column in page_of(cli).data["sections"]["timing"]["columns"]}
    units = [columns[key]["unit"] for key in ("total_ns", "calls", "location")]
    assert units == ["ns", "count", "location"]
    assert columns["name"]["shown"] and not columns["min_ns"]["shown"]


def test_history_matches_reports_of_stretches(cli):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "4")
    page = page_of(cli)
    elapsed = page.data["elapsed_ns"]
    for first, last in ((0, 1), (0.25, 0.5), (0.3, 0.9)):
        from_ms, to_ms = int(first * elapsed / 1e6), int(last * elapsed / 1e6) if last < 1 else None
        moments = ("--from", f"{from_ms}ms") + (("--to", f"{to_ms}ms") if to_ms else ())
        report = json.loads(cli("report", "--format", "json", "--section", "timing", "--limit", "0",
                                *moments).stdout)
        stretch = report["stretch"]
        rows = [row for row in report["sections"]["timing"]["rows"] if (row["calls"] or 0) > 0]  # not tasks
        assert len(rows) > 5
        for row in rows:
            for key in ("calls", "total_ns", "self_ns"):
                mine = page.gain(key, row["name"], stretch["from_ns"], stretch["to_ns"])
                margin = 0 if key == "calls" else 2000
                assert mine == pytest.approx(row[key], rel=1e-6, abs=margin), (row["name"], key, first, last)


def test_policy_allows_only_its_own_script_and_style(cli):
    cli("run", "--format", "none", "--", EXAMPLES / "basic")
    page = page_of(cli)
    policy = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"', page.head).group(1)
    policy = " ".join(policy.split())
    style = re.search(r"<style>(.*)</style>", page.head, re.S).group(1)
    script = re.search(r'<script type="module">(.*)</script>', page.tail, re.S).group(1)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert policy == (f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
                      "base-uri 'none'; form-action 'none'")
    assert "@" + "DATA@" not in page.text and "import " not in script
    assert len(re.findall(r"</?script", page.text)) == 4
    for word in (" src=", " href=", "http:", "https:", "innerHTML", "eval("):
        assert word not in page.head + page.tail, word
    # What a served page does, the policy of a file forbids.
    assert re.findall(r"(?:fetch|EventSource)\(\S*", script) == [
        'fetch("page.json?"', 'fetch("restarted.json?"', 'EventSource("events?"']
    assert "connect-src" not in policy
    assert len((page.head + page.tail).encode()) <= 200_000


def test_names_cannot_end_the_data_script(cli):
    cli("run", "--format", "none", "--", PROGRAMS / "odd_names", "20", "3", "700")
    page = page_of(cli)
    assert "<" not in page.raw
    names = [row["name"] for row in page.section("timing")["rows"]]
    assert "</script><script>document.title='taken'</script>" in names and "a'b\"c\\d&amp;e" in names


def column(text):
    """Numbers of seven bits in a byte, in base64."""
    numbers, number, shift = [], 0, 0
    for byte in base64.b64decode(text):
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number = shift = 0
    return numbers


def numbers_of(text):
    """A column: seven bits in each byte, the lowest first."""
    numbers, number, scale = [], 0, 1
    for byte in base64.b64decode(text):
        number, scale = number + (byte & 127) * scale, scale * 128
        if byte < 128:
            numbers.append(number)
            number, scale = 0, 1
    return numbers


@without_sanitizer("threads have other times then")
def test_what_threads_did_over_time(cli):
    """Each of these threads does one thing. The time that it waited for a CPU depends on the machine."""
    cli("run", "--format", "none", "--", PROGRAMS / "crew")
    history = page_of(cli).data["history"]
    about = {"session", "tid", "name"}
    did = {one["name"]: {role: sum(numbers_of(one[role])) for role in one.keys() - about - {"queue"}}
           for one in history["activities"]}
    for name, role in (("burner", "user"), ("kernel", "kernel")):
        assert max(did[name], key=did[name].get) == role, did[name]
    steps = len(history["moments_ns"]) - 1
    for one in history["activities"]:
        assert all(len(numbers_of(one[role])) == steps for role in one.keys() - about)


def test_durations_over_time(cli):
    """All timed calls, in buckets between the shortest and the longest one."""
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "2")
    page = page_of(cli)
    heat, rows = page.data["heat"], {row["name"]: row for row in page.section("timing")["rows"]}
    edges = heat["buckets_ns"]
    assert len(edges) == 129 and edges == sorted(edges)
    maps = {one["name"]: one for one in heat["functions"]}
    assert {"handle", "reserve_stock", "render"} <= set(maps)
    for name in ("handle", "reserve_stock", "render"):
        places, calls, row = numbers_of(maps[name]["places"]), numbers_of(maps[name]["calls"]), rows[name]
        assert len(places) == len(calls) == maps[name]["count"]
        # A slot that is in two steps is divided between them, and each part is rounded.
        assert abs(sum(calls) - row["calls"]) <= 0.5 * len(calls) + 1, name
        place = 0
        for distance in places:
            place += distance
            assert place // 128 < heat["steps"]
            assert edges[place % 128 + 1] >= row["min_ns"] * 0.999, name
            assert edges[place % 128] <= row["max_ns"] * 1.001, name


def test_call_tree_by_thread_matches_the_report(cli):
    cli("run", "--format", "none", "--", PROGRAMS / "crew")
    page = page_of(cli)
    cells = page.data["sections"]["calltree"]["rows"]
    names = [dict(zip((column["key"] for column in page.data["sections"]["calltree"]["columns"]), row[2:]))["name"]
             for row in cells]
    found, totals = {}, {}
    for thread in page.data["tree_threads"]:
        rows, own, cpu = column(thread["rows"]), column(thread["own"]), column(thread["cpu"])
        assert thread["count"] == len(rows) == len(own) == len(cpu)
        assert all(len(column(text)) == len(rows) for text in thread["waits"].values())
        row = 0
        for step, ns in zip(rows, own):
            row += step
            found[thread["name"], thread["tid"], names[row - 1]] = ns
            totals[row] = totals.get(row, 0) + ns
    report = json.loads(cli("report", "--format", "json", "--by", "thread", "--section", "timing", "--limit",
                            "0").stdout)
    said = {(row["thread"]["name"], row["thread"]["tid"], row["name"]): row["self_ns"]
            for row in report["sections"]["timing"]["rows"]}
    assert {name for name, _, _ in said} >= {"burner", "kernel", "sleeper", "allocator"}
    assert found == {key: pytest.approx(ns, abs=1) for key, ns in said.items() if ns >= 1}
    at = next(at for at, entry in enumerate(page.data["sections"]["calltree"]["columns"])
              if entry["key"] == "self_ns")
    assert totals == {number: pytest.approx(row[2 + at], abs=5) for number, row in enumerate(cells, 1)
                      if row[2 + at] >= 1}
    burner = next(thread for thread in page.data["tree_threads"] if thread["name"] == "burner")
    sleeper = next(thread for thread in page.data["tree_threads"] if thread["name"] == "sleeper")
    assert sum(column(burner["cpu"])) > 0.5 * 400e6 > sum(column(sleeper["cpu"]))
    assert sum(column(sleeper["waits"]["sleep"])) > 0 and "sleep" not in burner["waits"]


def test_waits_in_the_call_tree_of_a_thread_are_its_own(cli):
    """Each worker waits for the lock: threads share what is recorded about a function, and still none gets the
    waits of another. What a thread waited for outside of all functions, such as one that begins and waits for
    another that begins, is in no call tree; it is not known of which thread that was."""
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "2")
    page = page_of(cli)
    waited = {row["tid"]: row["waits_ns"] or {} for row in page.section("threads")["rows"]}
    outside = sum(row["waited_ns"] for row in page.section("waits")["rows"]
                  if row["cause"] == "lock" and row["name"] == "<outside>")
    for thread in page.data["tree_threads"]:
        of_thread = waited[thread["tid"]]
        for cause, text in thread["waits"].items():
            assert sum(column(text)) <= of_thread.get(cause, 0) * 1.001 + 1000, (thread["name"], cause)
        if thread["name"] == "worker":
            inside = sum(column(thread["waits"].get("lock", "")))
            assert inside >= 0.95 * (of_thread.get("lock", 0) - outside), thread["tid"]


def test_run_writes_a_page(cli):
    path = cli.folder / "run.html"
    done = cli("run", "--format", "html", "--output", path, "--", EXAMPLES / "basic")
    assert Page(path.read_text()).data["meta"]["command"].endswith("basic")
    assert "flame" not in done.stderr


def test_program_without_run_writes_a_table(box):
    done = box.run("counts", env={"HOTPATH_OUTPUT_PATH": None, "HOTPATH_OUTPUT_FORMAT": "html"})
    assert "+----" in done.stderr and "<html" not in done.stderr


def test_short_runs_have_no_history(cli):
    cli("run", "--format", "none", "--", EXAMPLES / "basic")
    assert page_of(cli).data["history"] is None


def test_source_text_only_on_request(cli):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    page = page_of(cli)
    source = (SOURCE / "examples" / "orders.c").read_text().splitlines()
    assert "sources" not in page.data and source[40] not in page.text
    told = page_of(cli, "--source").data["sources"]
    rows = {(row["location"]["file"], row["location"]["line"]): row["name"]
            for row in page.section("timing")["rows"]}
    assert {(one["file"], one["line"]) for one in told} == set(rows) and len(told) > 10
    for one in told:
        assert one["lines"] == source[one["first"] - 1:one["first"] - 1 + len(one["lines"])]
        assert any(rows[one["file"], one["line"]] in line for line in one["lines"])
        assert (one["lines"][-1].startswith("}") or len(one["lines"]) == 120)
    assert "--against and --source require" in cli("report", "--source", status=2).stderr


@with_glibc("the program is compiled by cc")
@without_sanitizer("the program is compiled without")
def test_session_cannot_put_other_files_into_a_page(cli):
    """A session may name any path as a source: only sources are read."""
    secret = cli.folder / "secret"
    secret.write_text("line 1 of a secret\n" * 20)
    program = cli.folder / "program.c"
    for name in (str(secret), "/dev/zero", "/dev/stdin", str(cli.folder / "folder.c"), str(cli.folder / "link.c")):
        (cli.folder / "folder.c").mkdir(exist_ok=True)
        program.write_text(f'#include "hotpath.h"\n#line 5 "{name}"\nstatic void '
                           f'work(void) {{ HOTPATH_MEASURE(); }}\nint '
                           f'main(void) {{ HOTPATH_MAIN(); work(); return 0; }}\n')
        subprocess.run(["cc", "-DHOTPATH", f"-I{SOURCE / 'include'}", "-o", cli.folder / "program", program,
                        f"-L{BUILD / 'lib'}", f"-Wl,-rpath,{BUILD / 'lib'}", "-lhotpath"],
                       check=True, timeout=TIMEOUT)
        cli.box.run(cli.folder / "program", folder=cli.folder, env={"HOTPATH_OUTPUT_FORMAT": "none"})
        assert page_of(cli, "--source").data["sources"] == [], name


EXAMPLE = SOURCE / "docs" / "example-page.html"


def make_example(cli):
    """The page of examples/orders, without machine-specific data."""
    shutil.copy(EXAMPLES / "orders", cli.folder / "orders")
    cli("run", "--format", "none", "--", "./orders", "5", env={"LD_LIBRARY_PATH": BUILD / "lib"})
    page = page_of(cli, "--source")
    meta = page.data["meta"]
    page.data["sources"] = page.data["sources"] or [
        {"file": row["location"]["file"], "line": row["location"]["line"], **orders_lines(row["location"]["line"])}
        for row in page.section("timing")["rows"]]
    text = json.dumps(page.data, separators=(",", ":"), ensure_ascii=False)
    for secret, shown in ((str(cli.folder), "/home/me/shop"), (f'"{meta["host"]}"', '"example"'),
                          (str(SOURCE), "/home/me/hotpath")):
        text = text.replace(secret, shown)
    text = re.sub(r'"/[^"\s]*/(examples|include|src)/', r'"/home/me/hotpath/\1/', text)  # as in debug information
    data = text.replace("<", "\\u003c")
    return f'{page.head}<script id="data" type="application/json">{data}</script>{page.tail}'


def orders_lines(line):
    source = (SOURCE / "examples" / "orders.c").read_text().splitlines()
    last = next(at for at in range(line - 1, len(source)) if source[at].startswith("}"))
    return {"first": line - 3, "lines": source[line - 4:last + 1]}


@without_sanitizer("allocations are not counted then")
def test_the_example_in_the_documentation(cli):
    """HOTPATH_MAKE_EXAMPLE=1 makes it again: when the page has changed so much that the old one misleads."""
    if os.environ.get("HOTPATH_MAKE_EXAMPLE"):
        EXAMPLE.write_text(make_example(cli))
    page = Page(EXAMPLE.read_text())
    assert len(page.text.encode()) < 400_000
    # It is still readable as a current one: the same version, sections and columns.
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    today = page_of(cli)
    assert page.data["page_version"] == today.data["page_version"]
    assert set(page.data) - {"sources"} == set(today.data)
    assert {"timing", "bottlenecks", "waits", "calltree", "threads", "channels"} <= set(page.data["sections"])
    assert page.data["meta"]["host"] == "example" and page.data["history"]["moments_ns"]
    assert len(page.data["sources"]) > 10
    assert {path.split("/")[1] for path in re.findall(r'"(/\w[^"]*\.[ch])"', page.raw)} == {"home"}
