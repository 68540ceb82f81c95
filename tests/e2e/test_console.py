"""The console: its numbers are those of a report of the same window, and its screens are well-formed at every
size."""
import csv
import json
import os
import random
import re
import subprocess
import time

import pytest

from command import Cli, wait_until
from console_desk import TABS, UTF8, Desk, cli, desk, home  # noqa: F401 (fixtures)
from harness import (BUILD, IS_GLIBC, PROGRAMS, SANITIZER, TIMEOUT, full, needs_root, with_glibc,
                     without_emulator, without_sanitizer, without_thread_sanitizer)
from test_time_range import history

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too")]

SIZES = [(80, 24), (100, 30), (220, 50)]


@pytest.fixture(scope="module")
def ended():
    """One that has ended, for all tests that only read."""
    from harness import Box
    box = Box()
    cli = Cli(box)
    desk = Desk(cli)
    desk.end()
    yield cli
    box.remove()


def screens(cli, script, *args, size=(100, 30), env=None):
    """The output of a script, as one list of lines for each screen."""
    columns, rows = size
    out = cli("console", "--script", "-", "--size", f"{columns}x{rows}", "order_desk", *args, input=script,
              env={**home(cli), **(env or {})}).stdout
    lines = out.split("\n")[:-1]
    assert len(lines) % rows == 0
    return [lines[at:at + rows] for at in range(0, len(lines), rows)]


def table(screen):
    """From the line above the headings on: the verdict before it has one line or two."""
    return next(screen[at:] for at in (3, 4) if screen[at].startswith(" timing  cpu"))


def exact(cli, *args):
    """The numbers in the list of functions, before formatting."""
    path = cli.folder / "hotpath-timing.csv"
    path.unlink(missing_ok=True)
    screen = screens(cli, "2 e screen", *args)[0]
    assert "Written: hotpath-timing.csv" in screen[2]
    with path.open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def written(cli, keys, view, *args):
    """The rows of another view as it writes them."""
    path = cli.folder / f"hotpath-{view}.csv"
    path.unlink(missing_ok=True)
    screens(cli, f"{keys} e screen", *args, size=(200, 50))
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def reported(cli, *args):
    out = cli("report", "--format", "json", "--section", "timing,bottlenecks", "--limit", "0", *args).stdout
    return json.loads(out)


def assert_same(cli, *stretch):
    """Compares every number of every function in the console and in the report."""
    report, rows = reported(cli, *stretch), exact(cli, *stretch)
    seconds = report["elapsed_ns"] / 1e9
    timing = {row["name"]: row for row in report["sections"]["timing"]["rows"]}
    verdicts = {row["name"]: row for row in report["sections"]["bottlenecks"]["rows"]}
    assert set(rows) == set(timing) and len(rows) >= 5
    for name, row in rows.items():
        of = timing[name]
        assert float(row["own"]) == pytest.approx(of["self_ns"] / 1e9 / seconds, rel=1e-4, abs=1e-9)
        assert float(row["total"]) == pytest.approx(of["total_ns"] / 1e9 / seconds, rel=1e-4, abs=1e-9)
        assert float(row["calls"]) == of["calls"]
        assert float(row["calls_s"]) == pytest.approx(of["calls"] / seconds, rel=1e-4)
        if of["avg_ns"] is not None and not stretch == ():
            assert float(row["avg"]) == pytest.approx(of["avg_ns"], rel=1e-3)
        if of.get("own_bytes"):
            assert float(row["alloc_s"]) == pytest.approx(of["own_bytes"] / seconds, rel=1e-4)
        share = verdicts[name]["percent_own"]
        if row["share"]:
            assert float(row["share"]) == pytest.approx(share, rel=1e-4, abs=1e-6)
        else:
            assert verdicts[name]["verdict"] == "idle"
    return report


# --- numbers

def test_window_has_the_numbers_of_the_report(ended):
    for stretch in (("--from", "300ms", "--to", "1s"), ("--from", "50%"), ("--from", "0s", "--to", "731ms")):
        report = assert_same(ended, *stretch)
        headline = report["meta"]["headline"].removeprefix("The bottleneck is ").split(". ")[0]
        assert headline[:40] in screens(ended, "screen", *stretch, size=(300, 40))[0][2]


def test_totals_have_the_numbers_of_the_report(ended):
    report, rows = reported(ended), exact(ended, "--totals")
    for of in report["sections"]["timing"]["rows"]:
        row = rows[of["name"]]
        assert float(row["calls"]) == of["calls"]
        assert float(row["own"]) == pytest.approx(of["self_ns"] / report["elapsed_ns"], rel=1e-4, abs=1e-9)
        for percentile in ("p95", "max"):
            assert float(row[percentile]) == pytest.approx(of[percentile + "_ns"], rel=1e-4)


def test_window_has_the_numbers_of_the_report_while_the_program_runs(desk):
    assert_same(desk.cli, "--from", "250ms", "--to", "1s")


def test_figures_are_rounded_numbers(ended):
    """The figures on the screen are the numbers, with three digits."""
    stretch = ("--from", "300ms", "--to", "1s")
    rows = exact(ended, *stretch)
    screen = screens(ended, "2 screen", *stretch)[0]
    for line in table(screen)[2:2 + len(rows)]:
        name, own = line[1:].replace("›", "").split()[:2]
        assert float(own) == pytest.approx(float(rows[name]["own"]), abs=0.00501)


def test_waits_tab_has_the_rows_of_the_report(ended):
    """Idle time is apart, and in no share."""
    stretch = ("--from", "300ms", "--to", "1s")
    out = ended("report", "--format", "json", "--section", "waits", "--limit", "0", *stretch).stdout
    waits = json.loads(out)["sections"]["waits"]["rows"]
    rows = [row for row in written(ended, "7", "waits", *stretch) if float(row["waiting"]) or row["idle"]]
    assert len(rows) == len(waits)
    key = lambda row: (row["name"], row["cause"], row["call"] or "", row.get("what") or "")
    by_key = {key({**row, "what": row.get("what", "")}): row for row in rows}
    for of in waits:
        row = by_key[key(of)]
        waiting, idle = float(row["waiting"]), float(row["idle"] or 0)
        assert waiting + idle == pytest.approx(of["waited_ns"] / 1e9 / 0.7, rel=1e-4)
        assert bool(row["share"]) == (waiting > 0) and int(row["looks"]) == of["looks"]
    assert sum(float(row["share"] or 0) for row in rows) == pytest.approx(100)
    assert any(row["idle"] and not row["share"] for row in rows)  # queue_pop waits for work
    lock = next(row for row in rows if row["name"] == "reserve_stock" and row["cause"] == "lock")
    if IS_GLIBC:  # a plain mutex of musl does not say who has it
        assert lock["what"] == "held in reserve_stock" and re.match(r"worker \d+, \w+", lock["held_by"])
    screen = "\n".join(screens(ended, "7 screen", *stretch, size=(160, 50))[0])
    assert re.search(r"waits +\d+ rows", screen)


# --- screens

@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_tab_at_every_size(ended, size):
    columns, rows = size
    shown = screens(ended, "".join(f"{tab + 1} screen\n" for tab in range(8)), "--from", "300ms", "--to", "1s",
                    size=size)
    assert len(shown) == 8
    for tab, screen in enumerate(shown):
        assert f"[{tab + 1} {TABS[tab]}]" in screen[1]
        assert all(f"{other + 1} {name}" in screen[1] for other, name in enumerate(TABS))
        assert screen[0].startswith(" order_desk ") and len(screen[2]) > 20
        assert "? help  q quit" in screen[-1]
        assert all(len(line) <= columns for line in screen)
    assert any("reserve_stock" in line and "lock" in line for line in shown[1])
    assert any(line[3:].strip().startswith("▾ handle") for line in shown[2])
    assert any("jobs" in line for line in shown[4])
    assert sum("worker" in line for line in shown[5]) >= 3
    assert any("handle" in line for line in shown[7])


@pytest.mark.parametrize("columns", [60, 70, 90, 120, 140, 179, 180])
def test_names_and_numbers_at_every_width(ended, columns):
    screen = screens(ended, "2 screen", "--from", "300ms", "--to", "1s", size=(columns, 40))[0]
    text = "\n".join(screen)
    for name in ("push", "pop", "handle", "render", "db_lookup", "main"):
        assert re.search(rf"^...{name} .*\d", text, re.M), name
    assert re.search(r"^.(›| ).(reserve_stock|rese.*…)", text, re.M)
    assert "…" not in "".join(line[20:] for line in screen[6:12]) or columns < 80
    if columns <= 100:
        assert ("hidden:" in text or "more columns" in text) == (columns < 100)


def test_pages(ended):
    script = "2 / type reserve\n Enter screen\n Enter screen Esc Esc ? screen PageDown screen Esc c screen"
    filtered, page, keys, help_, columns = screens(ended, script, "--from", "300ms", "--to", "1s")
    filtered, page = table(filtered), next(page[at:] for at in (3, 4) if page[at].startswith("┌"))
    assert "filter: reserve" in filtered[0] and "reserve_stock" in filtered[2] and filtered[3].strip() == ""
    assert page[0].startswith("┌ reserve_stock  order_desk.c:") and "Esc closes" in page[0]
    assert any("called by  handle" in line for line in page) and any("p50" in line for line in page)
    assert any("Own" in line and "Threads in the function" in line for line in help_)
    assert any("select a tab" in line for line in keys) and any("quit" in line for line in keys + help_)
    assert any("[x] Own" in line for line in columns)
    (page,) = screens(ended, "2 / type main\n Enter Enter screen", "--totals")
    assert any("called by  no measured function" in line for line in page)


def test_a_slowest_call_and_recent_calls(ended):
    slowest, calls = screens(ended, "2 / type handle\n Enter w screen Esc o screen")
    assert any("slowest call" in line for line in slowest) and any("reserve_stock" in line for line in slowest)
    assert any("Recent calls" in line for line in calls) and sum("handle" in line for line in calls) > 3


def play(cli, script, name, columns=120, rows=40):
    out = cli("console", "--script", "-", "--size", f"{columns}x{rows}", name, input=script, env=home(cli)).stdout
    lines = out.split("\n")[:-1]
    return ["\n".join(lines[at:at + rows]) for at in range(0, len(lines), rows)]


def test_latest_messages(cli):
    """On the page of a channel, and all of them in the view `recent`, with what each thread or task has to say."""
    cli("run", "--format", "none", "--", PROGRAMS / "logged", "things",
        env={"HOTPATH_LOG": "messages,lines,level,job"})
    page, recent = play(cli, "5 Enter screen Esc 8 8 screen", "logged")
    assert re.search(r"│ Latest, newest first .*\n│ messages  text .* alone .*\n"
                     r"│ messages  refused .* too many ", page)
    assert re.search(r"^   Name +What .*", recent, re.M)
    for name, results in (("job", ("result 2", "result 1")), ("lines", [f"line {at}" for at in (4, 3, 2, 1, 0)])):
        rows = [line for line in recent.split("\n") if re.match(rf"^ [ ›] {name} ", line)]
        at = [next(at for at, row in enumerate(rows) if result in row) for result in results]
        assert at == sorted(at), rows
    threads = {str(row.tid) for row in cli.read("logged").rows("recent") if row.tid}
    (wide,) = play(cli, "8 8 screen", "logged", 220, 40)
    assert threads and all(re.search(rf" {tid}( |$)", wide, re.M) for tid in threads)


@without_sanitizer("the library of such a build can be preloaded into nothing else")
@with_glibc("locks of other C libraries are not counted")
def test_locks_and_the_critical_path_are_views(cli):
    """With the rows of the report: who waits for whom at which lock, and what the run waited for."""
    cli("run", "--path", "--locks", "--format", "none", "--", PROGRAMS / "critical_off", "convoy", "sleep")
    report = cli.read("critical_off").values["sections"]
    script = "7 " + "screen 7 " * 6
    names = set()
    for screen in play(cli, script, "critical_off", 220, 40):
        listed = re.search(r"^ (waiters .*?)   ", screen, re.M).group(1).split()
        names |= set(listed)
        heading = next(line for line in screen.split("\n")
                       if re.match(r"^   (Function|Lock|Waits In|Waited For) ", line))
        section = {"Lock": "locks", "Waits In": "blocked-by", "Waited For": "path-waits"}.get(
            heading[3:20].split("  ")[0].strip())
        if section:
            for row in report[section]["rows"]:
                assert re.search(rf"^ [ ›] {re.escape(row['name'])} ", screen, re.M), (section, row["name"])
    assert {"locks", "blocked-by", "critical-path", "path-waits"} <= names


@without_sanitizer("the library of such a build can be preloaded into nothing else")
@with_glibc("other C libraries have no hooks")
def test_files_are_a_view(cli):
    cli("run", "--io", "--format", "none", "--", "cat", "/proc/self/status", "/etc/passwd")
    screen, = play(cli, "5 screen", "cat")
    assert re.search(r"^ [ ›] /etc/passwd +", screen, re.M), screen


def test_time_goes_back_and_forth(ended):
    first, past, live = screens(ended, "2 screen [ screen End screen")
    assert "ended after" in first[0] and "◂" in past[0] and "◂" not in live[0]
    assert " to " in table(past)[0] and "since the start" in table(live)[0]  # it is shorter than a window


def test_key_x_marks_a_function_as_idle(ended):
    shown = screens(ended, "2 / type reserve\n Enter x Esc screen / type reserve\n Enter x Esc screen", "--from",
                    "300ms", "--to", "1s")
    idle, busy = ("\n".join(screen) for screen in shown)
    row = re.search(r"^.{3}reserve_stock.*$", idle, re.M).group(0)
    assert " – " in row and "reserve_stock" not in idle.split("\n")[2]
    assert re.search(r"^.{3}reserve_stock +\S+ +\d+ %", busy, re.M)
    # It is remembered.
    config = ended.folder / "config" / "hotpath" / "console"
    assert "idle" not in config.read_text()


def test_choices_are_remembered(cli, desk):
    screens(cli, "2 s s")
    assert re.search(r"^sort\ttiming\t", (cli.folder / "config/hotpath/console").read_text(), re.M)
    assert "Mostly ▲" in table(screens(cli, "2 screen")[0])[1]


def test_ascii_alone(ended):
    for locale in ["C", "en_US.ISO-8859-1"] if IS_GLIBC else ["C"]:  # musl takes any other for UTF-8
        for screen in screens(ended, "1 screen 2 screen 3 screen Enter screen", env={"LC_ALL": locale}):
            assert "\n".join(screen).isascii()
    assert "#" in "\n".join(screens(ended, "1 screen", "--ascii")[0])


def test_a_long_verdict_has_two_lines(ended):
    """It is not cut if there is room for all of it, and no name in it is broken."""
    whole = screens(ended, "2 screen", "--from", "300ms", "--to", "1s", size=(300, 40))[0][2].strip()
    for columns in (100, 80):
        for tab in "12":
            shown = screens(ended, f"{tab} screen", "--from", "300ms", "--to", "1s", size=(columns, 30))[0]
            text = " ".join(line.strip()
                            for line in shown[2:4 if not shown[3].startswith(" timing  cpu") else 3]).strip()
            assert "…" not in text
            assert text.split(": ", 1)[-1] in whole or columns == 80


def test_screen_too_small(ended):
    assert screens(ended, "screen", size=(59, 20))[0][0].startswith("The console needs 60 columns")


def test_the_table_as_json(ended):
    stretch = ("--from", "300ms", "--to", "1s")
    rows = exact(ended, *stretch)
    path = ended.folder / "hotpath-timing.json"
    path.unlink(missing_ok=True)
    assert "Written: hotpath-timing.json" in screens(ended, "2 E screen", *stretch)[0][2]
    written = json.loads(path.read_text())
    assert written["program"] == "order_desk" and (written["from_ns"], written["to_ns"]) == (300000000, 1000000000)
    assert {row["name"] for row in written["rows"]} == set(rows)
    for row in written["rows"]:
        for key in ("own", "calls", "share"):
            assert row[key] == (pytest.approx(float(rows[row["name"]][key])) if rows[row["name"]][key] else None)


def test_the_report_as_a_page(ended):
    screen = screens(ended, "2 f screen", "--from", "300ms", "--to", "1s", size=(200, 40),
                     env={"TMPDIR": str(ended.folder)})[0]
    path, stretch = re.search(r"Page: file://(\S+\.html)#t=(\S+)", screen[2]).groups()
    assert path.startswith(str(ended.folder)) and stretch == "300-1000"
    text = open(path).read()
    assert text.startswith("<!DOCTYPE html>") and "reserve_stock" in text
    assert os.stat(path).st_mode & 0o077 == 0
    os.unlink(path)


def test_flow_tab_shows_all_kinds(cli):
    """Channels, tasks, streams, loops and values of the demo's program: each has its headings and its row."""
    cli("run", "--format", "none", "--", BUILD / "lib/hotpath/orders", "1")
    out = cli("console", "--once", "--tab", "5", "--size", "120x40", "orders", env=home(cli)).stdout
    for heading, row in (("Channel", "jobs"), ("Task", "mail"), ("Stream", "segments"), ("Loop", "mailer"),
                         ("Value", "orders")):
        assert re.search(rf"^...{heading} .*\n(.*\n)?...{row} +\S", out, re.M), heading
    assert re.search(r"^ tasks$", out, re.M)


def test_callers_below_functions(ended):
    """Each function's own time is divided among its callers."""
    tree, turned = screens(ended, "3 * screen u * screen", size=(120, 60))
    own = {}
    for line in tree:
        found = re.match(r" ?›? *[▾▸]? *(\w+) +\d+\.\d+ +(\d+\.\d+) ", line)
        if found:
            own[found.group(1)] = own.get(found.group(1), 0) + float(found.group(2))
    rows = [(len(found.group(1)), found.group(2), float(found.group(3)))
            for found in (re.match(r" [› ]( +[▾▸ ] )(\w+) +(\d+\.\d+) +\d", line) for line in turned) if found]
    roots = {name: time for depth, name, time in rows if depth == min(row[0] for row in rows)}
    assert set(own) == set(roots) and len(roots) >= 5
    for name, time in roots.items():
        assert time == pytest.approx(own[name], abs=0.011)
    at = next(at for at, row in enumerate(rows) if row[1] == "reserve_stock")
    assert rows[at + 1][0] > rows[at][0] and rows[at + 1][1] == "handle"
    assert rows[at + 1][2] == pytest.approx(rows[at][2], abs=0.011)
    assert list(roots.values()) == sorted(roots.values(), reverse=True)


def test_threads_have_what_they_did_over_time(ended):
    """By cause, in words for the time range and as a lane; the page of a thread has each cause."""
    (screen,) = screens(ended, "6 screen", "--from", "300ms", "--to", "1s", size=(160, 50))
    headings = next(line for line in screen if line.startswith("   Thread "))
    at = headings.index("Last 60 s")
    workers = [line for line in screen if re.match(r" . worker ", line)]
    assert len(workers) == 3
    for line in workers:
        assert re.search(r" (lock|sleep|cpu|run queue|idle) \d+ % ", line)
        assert re.fullmatch(r"[ ]*[█▓▒░·]+ *", line[at:]), line
    (page,) = screens(ended, "6 / type worker\n Enter Enter screen")
    assert any(re.match(r"│ ▒ lock +[▁-█]+ +\d", line) for line in page)


def test_a_page_that_is_longer_than_the_screen_scrolls(ended):
    """What a thread did, and all columns with what they mean, in a few lines; another row begins at its top."""
    script = "6 / type worker\n Enter Enter screen PageDown screen PageUp screen PageDown Down screen"
    first, further, back, other = screens(ended, script, size=(100, 18))
    assert any(re.search(r"┌ worker \d+ ─+ 1 to \d+ of \d+, PgDn scrolls, Esc closes ┐", line) for line in first)
    assert any(line.startswith("│ Last 60 s") for line in first) and first == back
    assert not any(line.startswith("│ Last 60 s") for line in further)
    assert any(line.startswith("│ Last 60 s") for line in other) and other != first
    (all_of_it,) = screens(ended, "6 / type worker\n Enter Enter screen", size=(100, 60))
    assert any("─ Esc closes ┐" in line for line in all_of_it) and not any("…" in line for line in all_of_it)


def test_threads_of_one_name_are_one_row(ended):
    single, grouped = screens(ended, "6 screen b screen", size=(160, 50))
    workers = [line for line in single if "worker" in line]
    groups = [line for line in grouped if "worker" in line]
    assert len(workers) == 3 and len(groups) == 1 and "worker × 3" in groups[0]
    rows = written(ended, "6 b", "threads")
    assert [float(row["cpu_ns"]) for row in rows] == sorted((float(row["cpu_ns"]) for row in rows), reverse=True)
    for row in rows:
        if row["percent_average"]:
            assert float(row["percent_max"]) >= float(row["percent_average"])


@without_sanitizer("CPU time is not sampled there")
def test_user_and_kernel_time_of_a_window(ended):
    rows = [row for row in written(ended, "2 2", "cpu", "--from", "300ms", "--to", "1s") if float(row["cpu"]) > 0]
    assert rows
    for row in rows:
        assert float(row["user"]) + float(row["kernel"]) == pytest.approx(float(row["cpu"]), rel=1e-3, abs=1e-9)


@with_glibc("stacks end in Debian's musl, which cannot be unwound")
def test_stacks_of_one_function(ended):
    whole, only, again = screens(ended, "4 m screen / type reserve_stock\n Enter Enter screen Backspace screen")
    if "No stacks" in "\n".join(whole):
        pytest.skip("no stacks can be had here")
    assert any(re.match(r" .*\[wall\].* reserve_stock: \d+ % of all time", line) for line in only), "\n".join(only)
    assert any(line.startswith(" ▏reserve_stock  100 %") for line in only)
    assert any("samples, " in line for line in again) and any(line.startswith(" ▏all  100 %") for line in again)


# --- errors

def test_misuse(cli):
    reason = "needs a terminal" if IS_GLIBC else "built without ncurses"  # Debian has none for musl
    assert reason in cli("console", status=1).stderr
    assert "no session, process or program 'nobody'" in cli("console", "--once", "nobody", status=1).stderr
    assert "is not a size" in cli("console", "--once", "--size", "big", status=2).stderr
    assert "0.1 and 10" in cli("console", "--once", "--every", "0", status=2).stderr
    assert "line 2 of the script: 'nonsense'" in cli(
        "console", "--script", "-", input="screen\nnonsense\n", status=1).stderr
    assert "--to '1e3s' is not a time" in cli("console", "--once", "--to", "1e3s", status=2).stderr
    assert "No program is being measured" in cli("console", "--once", env=UTF8).stdout


@needs_root
def test_process_of_another_user_is_refused(cli):
    other = subprocess.Popen(["sleep", "60"], user=65534)
    try:
        assert f"cannot read process {other.pid}: it belongs to" in cli(
            "console", "--once", str(other.pid), status=1).stderr
    finally:
        other.kill()
        other.wait()


def test_program_ends_while_watched(desk):
    watching = desk.cli.start("console", "--script", "-", "order_desk", stdin=subprocess.PIPE, env=home(desk.cli))
    watching.stdin.write("2 screen\n")
    watching.stdin.flush()
    before = [watching.stdout.readline() for _ in range(30)]
    assert "● live" in before[0]
    desk.end()
    after, err = watching.communicate("wait 300 Down t wait 1500 screen\n", timeout=TIMEOUT)
    assert watching.returncode == 0 and re.search(r"■ ended after \d+:\d+, exit 0 ", after.split("\n")[0]), err


def test_crashed_program_shows_its_signal(cli):
    crashing = Desk(cli, "crash")
    crashing.end()
    screen = screens(cli, "2 screen")[0]
    assert re.search(r"■ killed after \d+:\d+ by SIG[A-Z]+ ", screen[0])
    assert any("reserve_stock" in line for line in screen)


@without_sanitizer("the library of such a build can be preloaded into nothing else, so the shell is not seen")
@with_glibc("the shell has a session only then")
def test_processes_of_a_run_share_one_view(cli):
    cli("run", "--format", "none", "--", "sh", "-c", f"{PROGRAMS}/counts >&2 & {PROGRAMS}/counts >&2; wait")
    out = cli("console", "--once", "--tab", "2", "--totals", "--size", "120x90", "sh", env=UTF8).stdout
    assert " 3 processes " in out.split("\n")[0]
    calls = {row["name"]: row["calls"] for row in reported(cli)["sections"]["timing"]["rows"]}
    assert all(f"   {name} " in out.replace("›", " ") for name in calls)


class Watched:
    """A scripted console on a scripted program."""

    def __init__(self, cli, program):
        self.cli = cli
        self.program = cli.start("run", "--format", "none", "--", PROGRAMS / program, stdin=subprocess.PIPE)
        wait_until(lambda: history(cli)[0] >= 2)
        self.console = cli.start("console", "--script", "-", "--size", "120x40", program, stdin=subprocess.PIPE,
                                 env=home(cli))

    def tell(self, line):
        self.program.stdin.write(line + "\n")
        self.program.stdin.flush()

    def play(self, script):
        """The screen that it ends with."""
        self.console.stdin.write(script + " screen\n")
        self.console.stdin.flush()
        return "".join(self.console.stdout.readline() for _ in range(40))

    def wait_for(self, pattern, keys=""):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            screen = self.play(f"{keys} refresh 1 wait 50")
            if re.search(pattern, screen, re.M):
                return screen
        return pytest.fail(f"'{pattern}' never came; the screen:\n{screen}")

    def end(self):
        self.program.communicate(timeout=TIMEOUT)
        out, err = self.console.communicate(timeout=TIMEOUT)
        assert self.console.returncode == 0, err


@full
@without_sanitizer("so many threads take very long with one")
def test_500_threads_start_while_watched(cli):
    watched = Watched(cli, "changing")
    watched.wait_for(r"^...work +\d", "2")
    watched.tell("threads")
    watched.wait_for(r"^ changing \d+ +● live \S+ +50\d threads")
    watched.wait_for(r"^...work_in_thread +\d")
    watched.wait_for(r"crowd", "6 G")
    watched.end()


def test_program_forks_and_execs_while_watched(cli):
    """Later processes of a run are in the same view."""
    watched = Watched(cli, "changing")
    watched.wait_for(r"^...work +\d", "2 t")
    watched.tell("fork")
    screen = watched.wait_for(r"^...work_in_child +\d")
    assert re.search(r"^ changing \d+ .* 2 processes ", screen, re.M)
    watched.tell("exec")
    watched.tell("fork")  # only the new one can hear it
    screen = watched.wait_for(r"^ changing \d+ .* 3 processes ")
    assert "● live" in screen and re.search(r"^...work +\d", screen, re.M)
    watched.end()


def resident(process):
    return int(re.search(r"VmRSS:\s+(\d+) kB", open(f"/proc/{process.pid}/status").read()).group(1))


@full
def test_memory_does_not_grow_with_refreshes(cli):
    """HOTPATH_REFRESHES=10000 makes more of them, which takes minutes."""
    count = int(os.environ.get("HOTPATH_REFRESHES", 300 if SANITIZER else 1000))
    first, others = count // 10, count - count // 10
    watched = Watched(cli, "changing")
    watched.play(f"1 refresh {first // 2} 2 refresh {first // 2}")
    before = resident(watched.console)
    watched.play(f"1 refresh {others // 2} 2 refresh {others // 2}")
    after = resident(watched.console)
    assert after - before < (20000 if SANITIZER else 1000), (before, after)
    watched.end()


KEYS = (list("12345678jkgGihl/nNsSctzp[]xwo*+mubavdy?L") +
        ["Enter", "Esc", "Tab", "BackTab", "Backspace", "Up", "Down", "Left", "Right", "PageUp", "PageDown", "Home",
         "End", "space", "WheelUp", "WheelDown"])


def random_script(count, seed):
    chosen = random.Random(seed)
    lines = []
    for _ in range(count // 10):
        if chosen.random() < 0.2:
            lines.append(f"size {chosen.randint(1, 250)} {chosen.randint(1, 70)}")
        if chosen.random() < 0.1:
            lines.append(f"click:{chosen.randint(0, 60)},{chosen.randint(0, 220)}")
        lines.append(" ".join(chosen.choice(KEYS) for _ in range(10)))
    return "\n".join([*lines, "size 100 30", "Esc Esc Esc Esc", "screen"])


def test_random_keys(ended):
    count = int(os.environ.get("HOTPATH_RANDOM_KEYS", 400 if SANITIZER else 1000))
    out = ended("console", "--script", "-", "order_desk", input=random_script(count, 7), env=home(ended)).stdout
    assert len(out.split("\n")) == 31
