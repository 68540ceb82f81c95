"""Which functions use CPU time, in programs that know nothing of hotpath: by stacks that the kernel copies, and
that the program `hotpath` unwinds and names."""
import json
import math
import platform
import re

import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import (PROGRAMS, WITHOUT_PERF, full, pairs, perf_is_allowed, with_glibc, without_emulator,
                     without_sanitizer)

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

STACKED = PROGRAMS / "stacked"
MS = 1_000_000


def functions(report):
    """By name, of the program itself."""
    return {row.name: row for row in report.rows("functions") if row.library == STACKED.name}


def totals(report):
    return report.values["sections"]["functions"]["totals"]


def check_split(done):
    """As the program's own clocks have it, except for the error of a count, and what a hypervisor took away, which
    can be anywhere. The kernel counts that as well, so there is never less than the program knows of, however
    many samples came late or were lost."""
    found, told, of = functions(done.report), pairs(done.stdout), totals(done.report)
    whole = told["heavy"] + told["light"]
    truth = told["heavy"] / whole
    both = found["heavy"].total_ns + found["light"].total_ns
    samples = found["heavy"].samples + found["light"].samples + sum(
        row.samples for row in found.values() if row.name == "compute")
    lost = abs(1 - both / whole)
    share = found["heavy"].total_ns / both
    assert abs(share - truth) < 4 * math.sqrt(truth * (1 - truth) / samples) + lost, (share, truth, samples, lost)
    unseen = sum(row.total_ns for row in done.report.rows("functions") if row.name.startswith("<not sampled"))
    assert both + unseen > 0.97 * whole and of["cpu_ns"] >= both + unseen, (both, unseen, whole, of)
    return found


def test_rate_of_samples(cli):
    """Four times as many; what that costs is said before the program starts."""
    counts = {}
    for rate in (997, 4000):
        done = cli.run("--cpu-rate", rate, STACKED, "split", 300)
        counts[rate] = totals(done.report)["samples"] * 1e9 / totals(done.report)["cpu_ns"]
        assert any("4000 samples a second take about 2.8 %" in line for line in done.lines) == (rate == 4000)
    assert 0.5 < counts[997] / 997 < 1.2 and 2.5 < counts[4000] / counts[997] < 5, counts


def test_call_tree_of_stacks(cli):
    """Of a program without measured functions; sums over all paths of a function are those of the table."""
    done = cli.run(STACKED, "split", 300)
    found, paths = functions(done.report), {}
    for row in done.report.rows("stacktree"):
        stack = [row]
        while stack:
            at = stack.pop()
            paths.setdefault(at.name, []).append(at)
            stack += at.children
            assert at.total_ns >= at.self_ns + sum(child.total_ns for child in at.children) - 1
    outer = done.report.row("main", "stacktree").child("outer")
    assert {"heavy", "light"} <= {child.name for child in outer.children}
    for name in ("heavy", "light", "main"):
        assert sum(row.total_ns for row in paths[name]) == found[name].total_ns
        assert sum(row.self_ns for row in paths[name]) == found[name].self_ns
    assert not {"_start", "__libc_start_call_main"} & paths.keys()
    text = cli("report", "-t", "--section", "bottlenecks", "--columns", "self").stdout
    assert "stacktree - " in text and "calltree - " not in text and "\n|     heavy " in text


def test_stacks_of_one_process(cli):
    """By its id: of all processes of the run, only its own functions, in reports and in the console."""
    both = f"{STACKED} kernel 150 & {STACKED} split 150; wait"
    cli("run", "--format", "none", "sh", "-c", both)
    pids = {words[1]: session["pid"] for session in cli.sessions("-a")
            if (words := session["command"].split())[0] == str(STACKED)}

    def functions(*args):
        out = cli("report", "--format", "json", "--section", "functions", "--limit", "0", *map(str, args)).stdout
        section = json.loads(out)["sections"]["functions"]
        return {row["name"] for row in section["rows"]}, section["totals"]["samples"]
    everything, samples = functions()
    kernel, of_kernel = functions(pids["kernel"])
    split, of_split = functions(pids["split"])
    assert {"read_on", "outer"} <= everything
    assert "read_on" in kernel - split and "outer" in split - kernel
    assert 0 < of_kernel < samples and 0 < of_split < samples and of_kernel + of_split <= samples
    screen = cli("console", "--once", "--tab", "4", str(pids["split"]), env={"LC_ALL": "C.UTF-8"}).stdout
    assert "outer" in screen and "read_on" not in screen


@pytest.mark.parametrize("case", [pytest.param("split", marks=full), "threads", "deep", "forked", "handler"])
def test_cpu_time_matches_the_clocks_of_functions(cli, case):
    done = cli.run(STACKED, case, 400)
    found = check_split(done)
    below = found["heavy"].total_ns + found["light"].total_ns
    assert below <= found["outer"].total_ns <= totals(done.report)["cpu_ns"]
    assert found["outer"].self_ns < below / 4
    assert case == "handler" or totals(done.report)["whole"] >= 0.98 * totals(done.report)["samples"]


def test_inlined_functions_have_their_own_rows(cli):
    """The program has debug information: `compute` is part of both."""
    found = functions(cli.run(STACKED, "split", 200).report)
    assert found["compute"].self_ns >= 0.9 * found["compute"].total_ns
    assert found["heavy"].self_ns + found["light"].self_ns < found["compute"].self_ns / 2


def test_recursion_counts_once(cli):
    done = cli.run(STACKED, "deep", 300)
    found = functions(done.report)
    assert found["dive"].percent_total <= 100 and found["dive"].self_ns < found["dive"].total_ns / 10
    assert found["dive"].total_ns == pytest.approx(found["outer"].total_ns, rel=0.05)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the functions are written for it")
def test_callers_of_assembly_without_frames(cli):
    """It has neither call frame information nor a frame pointer: the return address is found on the stack."""
    done = cli.run(STACKED, "assembly", 300)
    found, of = functions(done.report), totals(done.report)
    leaf, frame, caller = found["bare_leaf"], found["bare_frame"], found["in_assembly"]
    assert leaf.samples > 50 and frame.samples > 50
    assert of["whole"] > 0.95 * of["samples"]
    assert caller.total_ns >= leaf.total_ns + frame.total_ns and found["main"].total_ns >= caller.total_ns


def test_stack_of_interrupted_code_below_a_handler(cli):
    """The kernel copies the stack of the handler, and not the interrupted one: the report says so."""
    done = cli.run(STACKED, "handler", 300)
    found, of = functions(done.report), totals(done.report)
    rest = next(row for row in done.report.rows("functions") if row.name == "[rest of the stack unknown]")
    assert found["on_signal"].total_ns >= found["outer"].total_ns > 200 * MS
    assert rest.total_ns >= found["on_signal"].total_ns and of["whole"] < of["samples"] / 2


def test_unsampled_threads_have_a_row(cli):
    """Threads shorter than a period: their CPU time is a row, and rows add up to what the program used."""
    done = cli.run(STACKED, "brief", 150)
    told, of = pairs(done.stdout), totals(done.report)
    unseen = next(row for row in done.report.rows("functions") if row.name.startswith("<not sampled"))
    assert unseen.self_ns > 0 and unseen.samples == 0
    assert of["cpu_ns"] > 0.97 * (told["brief"] + told["heavy"] + told["light"])
    assert sum(row.self_ns for row in done.report.rows("functions")) == of["cpu_ns"]
    # Samples after threads have ended are named as before.
    found = functions(done.report)
    assert found["main"].total_ns >= found["outer"].total_ns >= found["heavy"].total_ns > 0
    assert not any(row.name == "[code in no file]" for row in done.report.rows("functions"))


def test_much_unsampled_time_is_explained(cli):
    """And no share of the kernel is named that only the sampled part has."""
    explained = "\n<not sampled> is mainly "
    brief, long = (cli("run", "--section", "functions", STACKED, how, 150).stderr for how in ("brief", "split"))
    assert explained in brief and " of it in the kernel; " not in brief
    assert explained not in long


def test_unsampled_time_with_few_samples(cli):
    """A sample stands for up to four periods, so a few of them may cover everything; but not every time."""
    unseen = None
    for _ in range(10):
        done = cli.run(STACKED, "brief", 6)
        assert totals(done.report)["samples"] < 20
        rows = done.report.rows("functions")
        assert sum(row.self_ns for row in rows) == totals(done.report)["cpu_ns"]
        unseen = unseen or next((row for row in rows if row.name.startswith("<not sampled")), None)
    assert unseen.self_ns > 0 and unseen.samples == 0


def test_the_kernel_by_system_call(cli):
    done = cli.run(STACKED, "kernel", 200)
    if totals(done.report)["kernel_ns"] == 0:
        pytest.skip("the kernel gives no samples of its own time here")
    rows = {row.name: row for row in done.report.rows("functions")}
    known = ("[kernel: read]", "[kernel: clock_gettime]")  # the latter now and then, to know when to end
    others = sum(row.total_ns for name, row in rows.items() if name.startswith("[kernel") and name not in known)
    assert rows["[kernel: read]"].total_ns > 4 * others
    assert known[1] not in rows or rows["[kernel: read]"].total_ns > 2 * rows[known[1]].total_ns
    assert rows["read_on"].total_ns >= rows["[kernel: read]"].total_ns  # nothing else reads as long
    assert rows["[kernel: read]"].user_ns == 0


def test_static_programs(cli):
    """No library can be preloaded there, and none is needed."""
    done = cli.run(PROGRAMS / "kin_static", "burn", 200)
    rows = {row.name: row for row in done.report.rows("functions") if row.library == "kin_static"}
    unseen = sum(row.self_ns for row in done.report.rows("functions")  # only root has kernel samples
                 if row.name.startswith("<not sampled"))
    assert rows["burn"].total_ns + unseen > 100 * MS and rows["main"].total_ns >= rows["burn"].total_ns > 0


def test_trust_line_names_the_source_of_samples(cli):
    done = cli("run", STACKED, "split", 200)
    assert re.search(r"; CPU time from stacks, \d+ samples by perf; ",
                     done.stderr)  # losses are tested in test_trust.c
    assert re.search(r"Total: .*; (\d+) samples,", done.stderr)[1] == re.search(
        r"from stacks, (\d+) samples", done.stderr)[1]


def test_report_shows_the_same_later(cli):
    """The stacks are stored with the run; the program need not exist any more."""
    done = cli.run(STACKED, "split", 200)
    assert cli.read().values["sections"]["functions"] == done.report.values["sections"]["functions"]


def test_table_of_functions(cli):
    done = cli("run", STACKED, "split", 200)
    assert re.search(r"^functions - CPU time( and waiting)? by function, from stacks\.", done.stderr, re.M)
    assert any(line.startswith("| heavy ") and " stacked " in line
               for line in done.stderr.splitlines()), done.stderr


def test_no_stacks_option(cli):
    for flag in ("--no-stacks", "--no-cpu"):
        assert "functions" not in cli.run(flag, STACKED, "split", 50).report.values["sections"]


def test_perf_refused_by_the_kernel(cli):
    """The program samples itself (test_stack_timers.py), unless our library may not be in it."""
    cli.before = WITHOUT_PERF
    report = cli.run("--no-preload", STACKED, "split", 50).report
    section = report and report.values["sections"].get("functions")
    assert section is None or section["totals"]["samples"] == 0  # it may have been found waiting


def test_broken_stack_file_is_reported(cli):
    """One line says so, and the rest is reported."""
    cli.run(STACKED, "split", 100)
    for path in cli.folder.rglob("stacks"):
        path.write_bytes(b"hpstacks" + b"\xff" * 100)
    done = cli("report", "-v")
    assert "stacks in" in done.stderr and "another version" in done.stderr and "cpu - " in done.stdout


def test_programs_with_measured_functions(cli):
    """They are sampled from inside, and their stacks know zones (test_zone_stacks.py); or by perf, on request."""
    for flags in ([], ["--stacks"]):
        report = cli.run(*flags, PROGRAMS / "cpu", "split", 200).report
        assert {"heavy", "light", "split"} <= {row.name for row in report.rows("functions") if row.library == "cpu"}
        assert {"heavy", "light"} <= {row.name for row in report.rows("cpu")}
        assert report.values["sections"]["functions"]["totals"]["by_program"] == (not flags)


def test_stacks_without_preload(cli):
    """Stacks need no library; the report says that the rest is unknown."""
    done = cli.run("--no-preload", STACKED, "split", 200)
    check_split(done)
    assert [row.reason for row in done.report.rows("processes")] == [
        "hotpath was not loaded into it; only its stacks are known"]
