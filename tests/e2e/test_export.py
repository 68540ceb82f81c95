"""`hotpath export` and `hotpath open --view flame`: their files have the numbers of the report.
test_export_readers.py runs the readers of these formats."""
import contextlib
import json
import os
import platform
import pty
import re
import subprocess
import sys

import pytest

import exported
from command import cli  # noqa: F401 (a fixture)
from exported import Run, own_of_functions
from harness import HOTPATH, PROGRAMS, TIMEOUT, perf_is_allowed, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it")]

needs_stacks = pytest.mark.skipif(not perf_is_allowed() or platform.machine() not in ("x86_64", "aarch64"),
                                  reason="the kernel lets nobody take stacks here")
STACKED = PROGRAMS / "stacked"
CPU, ZONES, ZONE_CPU, ZONE_WAITS, ZONE_ALLOC = ("CPU time", "Zones: time", "Zones: CPU time", "Zones: waiting",
                                                "Zones: bytes allocated")


@pytest.fixture(scope="module")
def stacked():
    """Only stacks: nothing is measured in it."""
    run = Run(STACKED, "split", 300)
    yield run
    run.box.remove()


@pytest.fixture(scope="module")
def zones():
    """Measured functions that compute, wait and allocate, called from several places."""
    run = Run("--no-stacks", PROGRAMS / "weights")
    yield run
    run.box.remove()


def tree_rows(rows):
    for row in rows:
        yield row
        yield from tree_rows(row.children)


# ----------------------------------------------------------------------------------------------------- programs

@needs_stacks
def test_stacks_begin_with_their_program_if_there_are_several(cli):
    """A shell that starts a program, and then executes another: its process has run both."""
    python = f"exec {sys.executable} -c 'for at in range(3000000): pass'"
    report = cli.run("bash", "-c", f"for at in {{1..100000}}; do :; done; {STACKED} split 100; {python}").report
    merged = exported.folded(cli("export", "-f", "folded", "--merge-programs").stdout)
    by_program = exported.folded(cli("export", "-f", "folded").stdout)
    by_process = exported.folded(cli("export", "-f", "folded", "--by-process").stdout)
    total = sum(weight for _, weight in merged)
    assert total == sum(weight for _, weight in by_program) == sum(weight for _, weight in by_process)
    used = {}
    for names, weight in by_program:
        used[names[0]] = used.get(names[0], 0) + weight
    python = next(name for name in used if name.startswith("python"))
    seen = {name for name in used if not name.startswith("<not sampled")}
    assert seen == {"bash", "stacked", python}
    assert all(used[name] > 0.05 * total for name in ("bash", "stacked", python)), used
    assert any(names[:1] == ("stacked",) and "heavy" in names for names, _ in by_program)
    assert not any(names[:1] != ("stacked",) and "heavy" in names for names, _ in by_program)
    pids = {}
    for names, _ in by_process:
        name, _, pid = names[0].rpartition(" ")
        if pid.isdigit():
            pids.setdefault(name, set()).add(pid)
    assert pids[python] <= pids["bash"] and not pids["stacked"] & pids[python]
    rows = {row.name: row for row in report.rows("functions")}
    assert rows["heavy"].program == "stacked" and rows["heavy"].program_ns == rows["heavy"].total_ns


# ------------------------------------------------------------------------------------------------- the same numbers

@needs_stacks
def test_every_format_has_the_numbers_of_the_report(stacked):
    """The own and total weight of each function."""
    truth = own_of_functions(stacked.report)
    totals = stacked.report.section("functions")["totals"]
    assert sum(truth.values()) == totals["cpu_ns"] > 0
    types = exported.pprof(stacked.export("pprof"))
    found = {"folded": exported.folded(stacked.text("folded")),
             "speedscope": exported.speedscope(stacked.text("speedscope"))[CPU],
             "firefox": exported.firefox(stacked.text("firefox"))[CPU],
             "pprof": types["cpu"][1],
             "perfetto": exported.perfetto(stacked.export("perfetto"))[CPU],
             "flame": exported.flame(stacked.page())[0]["cpu"]}
    for form, stacks in found.items():
        assert exported.own(stacks) == truth, form
    assert types["cpu"][0] == "nanoseconds" and types["samples"][0] == "count"
    assert sum(weight for _, weight in types["samples"][1]) == totals["samples"]


@needs_stacks
def test_stacks_have_callers_and_inlined_functions(stacked):
    """Callers and callees, with inlined functions."""
    for stacks in (exported.folded(stacked.text("folded")), exported.pprof(stacked.export("pprof"))["cpu"][1],
                   exported.firefox(stacked.text("firefox"))[CPU]):
        heavy = [names for names, weight in stacks if names[-2:] == ("heavy", "compute")]
        assert heavy and all("outer" in names and names.index("main") < names.index("outer") for names in heavy)
        total = {name: sum(weight for names, weight in stacks if name in names)
                 for name in ("heavy", "light", "outer")}
        for row in stacked.report.rows("functions"):
            if row.library == "stacked" and row.name in total:
                assert total[row.name] == round(row.total_ns)


@needs_stacks
def test_the_time_axis_as_counters():
    """In Perfetto, each as in the section."""
    run = Run("--section", "functions,timeline", STACKED, "split", 1200)
    found = exported.perfetto_counters(run.export("perfetto"))
    rows = run.report.rows("timeline")
    assert {row.what for row in rows} >= {"cpu", "memory", "threads"}
    for row in rows:
        unit, values = found.pop(f"{row.what} of {row.name}")
        assert unit == row.unit
        assert [value for _, value in values] == pytest.approx([point[1] for point in row.series])
        assert [when for when, _ in values] == [point[0] for point in row.series]
    assert found == {}
    run.box.remove()


def test_markers_and_counters_for_the_firefox_profiler():
    """Counters add up to what the report says, and exactly the recorded calls are there, with their times."""
    run = Run("--no-stacks", "--slowest", "/.*/", PROGRAMS / "cpu", "split", 400, env={"HOTPATH_LOG": "heavy"})
    markers, counters = exported.firefox_moments(run.text("firefox"))
    report = run.report
    timing = {row.name: row for row in report.rows("timing")}
    rows = report.rows("timeline")
    assert {f"{row.what} of {row.name}" for row in rows} == counters.keys()
    assert {row.what for row in rows} >= {"cpu", "memory", "calls"}
    for row in rows:
        display, samples = counters[f"{row.what} of {row.name}"]
        values, total = [point[1] for point in row.series], sum(count for _, count in samples)
        assert (display["graphType"] == "line-accumulated") is (row.unit in ("bytes", "threads"))
        if display["graphType"] == "line-accumulated":
            levels = [sum(count for _, count in samples[:at + 1]) for at in range(1, len(samples))]
            assert levels == pytest.approx(values)
            assert [when for when, _ in samples[1:]] == [point[0] for point in row.series]
        elif row.what in ("calls",
                          "time") and row.name in timing and samples[0][0] == 0:  # it was seen from the start
            truth = timing[row.name].calls if row.what == "calls" else timing[row.name].total_ns / 1e6
            assert total == pytest.approx(truth, rel=1e-6)
        assert all(when <= report.values["elapsed_ns"] * 1.01 + 1e7 for when, _ in samples)
    latest = [marker for marker in markers if marker[3]["kept"] == "recent call"]
    in_session = report.rows("processes")[0].elapsed_ns  # without the start of the process
    truth = [(row.name, in_session - row.ago_ns - row.duration_ns, row.duration_ns)
             for row in report.rows("calls")]
    assert truth and {name for name, _, _, _ in latest} == {"heavy"}
    for (name, start, took, _), (row, began, lasted) in zip(
        latest, sorted(truth, key=lambda call: call[1]), strict=True):
        assert (name, took) == (row, pytest.approx(lasted, abs=1)) and start == pytest.approx(began, abs=1000)
    slowest = {name: (start, took) for name, start, took, data in markers if data["kept"] == "slowest call"}
    tops = {row.name: (row.started_ns, row.total_ns) for row in report.rows("slowest")
            if row.started_ns is not None}
    assert tops.keys() - {"heavy"} == slowest.keys() - {"heavy"} and "split" in slowest
    for name, (start, took) in slowest.items():
        assert (start, took) == (pytest.approx(tops[name][0], abs=1000), pytest.approx(tops[name][1], abs=1))
    run.box.remove()


@pytest.mark.parametrize("measured", ["zones", pytest.param("stacked", marks=needs_stacks)])
def test_otlp_is_pprof_for_collectors(request, measured):
    """Types with their units, stacks and build ids; the format's own messages are in test_export_readers.py."""
    run = request.getfixturevalue(measured)
    types, push = exported.pprof(run.export("pprof")), exported.Otlp(run.export("otlp"))
    assert list(push.types) == [name for name in types]
    for name, (unit, stacks) in types.items():
        assert push.types[name][0] == unit
        assert exported.sums_of(push.types[name][1]) == exported.sums_of(stacks), name
    build_ids = exported.pprof_build_ids(run.export("pprof"))
    used = {path: build_ids[path] for path in push.build_ids}
    assert push.build_ids == used and (measured == "zones" or any(used.values()))
    program = "weights" if measured == "zones" else "stacked"
    assert push.resource == {"service.name": program, "process.executable.name": program,
                             "process.pid": push.resource["process.pid"]}
    assert set(push.frames.values()) <= {"native", "kernel"} and push.frames
    [session] = run.cli.sessions()
    assert push.resource["process.pid"] == session["pid"] and 0 < push.ns < 1e12


@needs_stacks
def test_waiting():
    """The cause is on top of the waiting function. How much of it is found depends on the machine."""
    run = Run("--stacks", PROGRAMS / "weights")
    totals = run.report.section("functions")["totals"]
    types = exported.pprof(run.export("pprof"))
    stacks = types.get("waits", ("nanoseconds", []))[1]
    assert sum(weight for _, weight in stacks) == totals["waited_ns"]
    assert sum(weight for _, weight in types.get("times", ("count", []))[1]) == totals["waits"]
    assert all(re.match(r"\[waiting", names[-1]) for names, _ in stacks)
    assert exported.own(types["cpu"][1]) == own_of_functions(run.report)
    if totals["waited_ns"] > 0:
        assert exported.own(exported.folded(run.text("folded", "--of", "waits"))) == exported.own(stacks)
    run.box.remove()


@needs_stacks
def test_svg_flame_graph(stacked):
    """Shares are those of the report, and boxes are as wide as they say."""
    truth = stacked.report.section("functions")["totals"]["cpu_ns"]
    drawn = exported.flamegraph(stacked.text("flamegraph"))
    heavy = sum(percent for name, percent, _ in drawn if name == "heavy")
    row = next(row for row in stacked.report.rows("functions") if row.name == "heavy" and row.library == "stacked")
    assert heavy == pytest.approx(100 * row.total_ns / truth, abs=0.02)
    assert all(width == pytest.approx(percent * 11.8, abs=0.7) for _, percent, width in drawn)


def test_measured_functions(zones):
    """Exact times by the call tree, and what else is known of it; also functions called from several places."""
    rows = list(tree_rows(zones.report.rows("calltree")))
    truth = {}
    for row in rows:
        truth[row.name] = truth.get(row.name, 0) + round(row.self_ns)
    truth = {name: weight for name, weight in truth.items() if weight}
    calls = sum(row.calls for row in rows)
    types = exported.pprof(zones.export("pprof"))
    scope, fox, trace = (exported.speedscope(zones.text("speedscope")), exported.firefox(zones.text("firefox")),
                         exported.perfetto(zones.export("perfetto")))
    page = exported.flame(zones.page())[0]
    for stacks in (types["zones"][1], scope[ZONES], fox[ZONES], trace[ZONES], page["zones"],
                   exported.folded(zones.text("folded", "--of", "zones"))):
        assert exported.own(stacks) == truth
    assert sum(weight for _, weight in types["calls"][1]) == calls
    assert {names for names, _ in exported.folded(zones.text("folded", "--of", "zones"))} == {
        names for names, _ in paths(zones.report.rows("calltree"))}


def paths(rows, above=()):
    for row in rows:
        if round(row.self_ns) > 0:
            yield above + (row.name,), round(row.self_ns)
        yield from paths(row.children, above + (row.name,))


def test_allocations_of_measured_functions(zones):
    truth = {row.name: row.total_bytes for row in zones.report.rows("alloc-bytes") if row.total_bytes}
    blocks = zones.report.section("alloc-bytes")["totals"]["allocations"]
    stacks, counted = exported.dhat(zones.text("dhat"))
    assert exported.own(stacks) == truth and counted == blocks
    assert exported.own(exported.pprof(zones.export("pprof"))["zone-alloc"][1]) == truth
    assert exported.own(exported.speedscope(zones.text("speedscope"))[ZONE_ALLOC]) == truth
    assert ZONE_ALLOC not in exported.perfetto(zones.export("perfetto"))  # its slices are time


def test_cpu_time_and_waiting_of_measured_functions(zones):
    types = exported.pprof(zones.export("pprof"))
    cpu = {row.name: round(row.user_ns) + round(row.kernel_ns) for row in zones.report.rows("cpu")}
    assert exported.own(types["zone-cpu"][1]) == {name: weight for name, weight in cpu.items() if weight}
    waits = {}
    for row in zones.report.rows("waits"):
        waits[row.name, f"[waiting: {row.cause}]"] = waits.get(
            (row.name, f"[waiting: {row.cause}]"), 0) + round(row.waited_ns)
    found = {}
    for names, weight in types["zone-waits"][1]:
        found[names[-2:]] = found.get(names[-2:], 0) + weight
    assert found == waits


# --------------------------------------------------------------------------------------------------------- two runs

@needs_stacks
def test_two_runs(cli):
    """The same program did other things: the page has the numbers of both runs, and functions in both are there
    once."""
    cli.run(STACKED, "split", 100)
    first = cli.read()
    old = cli.sessions()[0]["path"]
    cli.run(STACKED, "deep", 100)
    second = cli.read()
    cli("open", "--no-open", "--view", "flame", "--against", old, "-o", "diff.html")
    stacks, values = exported.flame((cli.folder / "diff.html").read_text())
    cpu = values["stacks"]["weights"][0]
    assert exported.own(stacks["cpu"]) == own_of_functions(second)
    assert cpu["key"] == "cpu" and sum(cpu["before"]) == first.section("functions")["totals"]["cpu_ns"]
    assert "split 100" in values["stacks"]["compared_with"] and "deep 100" in values["meta"]["command"]
    names = list(zip(values["stacks"]["names"], values["stacks"]["libraries"]))
    assert len(set(names)) == len(names)


# ------------------------------------------------------------------------------------------------- the command line

@needs_stacks
def test_the_report_names_the_command(cli):
    """The last line of `hotpath run` is the command for this very run, and it works."""
    done = cli("run", STACKED, "split", 50)
    line = done.stderr.splitlines()[-1]
    command = re.fullmatch(r"Flame graph: hotpath open --view flame (\S+)", line).group(1)
    cli("run", STACKED, "deep", 50)
    cli("open", "--no-open", "--view", "flame", command, "-o", "page.html")
    assert exported.flame((cli.folder / "page.html").read_text())[1]["meta"]["command"].endswith("stacked split 50")


def test_without_stacks_no_command_is_named(cli):
    assert "hotpath open --view flame" not in cli("run", "--no-stacks", PROGRAMS / "cpu", "split", 20).stderr
    done = cli("run", "--format", "json", PROGRAMS / "cpu", "split", 20)
    json.loads(done.stderr)


def test_usage_errors(cli):
    cli("run", "--no-stacks", PROGRAMS / "cpu", "split", 20)
    for args, words in ((["export"], "missing --format"), (["export", "-f", "png"], "unknown format 'png'"),
                        (["export", "-f", "folded", "--of", "money"], "'money' is not one of"),
                        (["export", "-f", "folded", "a", "b"], "only one session"),
                        (["open", "a", "b"], "--against"), (["open", "--view", "fire"], "report or flame"),
                        (["flame"], "hotpath open --view flame")):
        assert words in cli(*args, status=2).stderr
    for args, words in ((["export", "-f", "folded", "--of", "cpu"], "this session has no 'cpu'"),
                        (["export", "-f", "folded", "nobody"], "no session"),
                        (["export", "-f", "folded", "-o", "/dev/full"], "No space left"),
                        (["export", "-f", "folded", "-o", cli.folder], "Is a directory"),
                        (["open", "--view", "flame", "-o", "/proc/nothing/page.html"], "cannot write"),
                        (["open", "--view", "flame", "--against", "nobody"], "no session")):
        done = cli(*args, status=1)
        assert words in done.stderr and len(done.lines) == 1 and done.stdout == ""


def test_fifo_without_a_reader_is_an_error(cli):
    cli("run", "--no-stacks", PROGRAMS / "cpu", "split", 20)
    os.mkfifo(cli.folder / "fifo")
    for command in (["export", "-f", "folded"], ["open", "--view", "flame"]):
        assert "it has no reader" in cli(*command, "-o", "fifo", status=1).stderr


def on_terminal(cli, *args):
    """What a terminal shows of it: stdout and stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([str(HOTPATH), *args], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env=cli.environment(), cwd=cli.folder)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while part := os.read(ours, 4096):
            shown += part
    process.wait(timeout=TIMEOUT)
    os.close(ours)
    return shown.decode(errors="replace")


def test_nothing_binary_goes_to_a_terminal(cli):
    cli("run", "--no-stacks", PROGRAMS / "cpu", "split", 20)
    for form, is_text in (("pprof", False), ("perfetto", False), ("folded", True)):
        shown = on_terminal(cli, "export", "-f", form)
        assert ("heavy" in shown) is is_text and ("cannot be written to a terminal" in shown) is not is_text


def test_default_page_is_a_new_file(cli):
    cli("run", "--no-stacks", PROGRAMS / "cpu", "split", 20)
    pages = [cli("open", "--no-open", "--view", "flame", env={"TMPDIR": str(cli.folder)}).stdout.strip()
             for _ in range(2)]
    assert pages[0] != pages[1]
    for page in pages:
        assert os.path.dirname(page) == str(cli.folder) and exported.flame(open(page).read())[0]["zones"]


def test_run_without_stacks_and_functions(cli):
    """No stacks, no measured function."""
    cli("run", "--no-stacks", STACKED, "split", 20)
    for command in (["export", "-f", "folded"], ["open", "--view", "flame"]):
        assert "this session has no stacks" in cli(*command, status=1).stderr
    assert "this session has no allocations" in cli("export", "-f", "dhat", status=1).stderr
