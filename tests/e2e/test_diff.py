"""`hotpath diff`: made-up reports of known numbers, and real runs. tests/unit/test_compare.c has the statistics."""
import copy
import json
import re
import resource

import jsonschema
import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import PROGRAMS, SOURCE, WITHOUT_PERF, full, perf_is_allowed, with_glibc, without_emulator, \
    without_sanitizer
from made_reports import ENGINE, NS, large_folders, large_report, maker  # noqa: F401 (a fixture)

pytestmark = without_emulator("commands are started without it")
SCHEMA = json.loads((SOURCE / "docs" / "diff.schema.json").read_text())
OLD_REPORT = SOURCE / "fuzz" / "corpus" / "read_json" / "report"  # without typical calls and a call tree
UNLIKE = [("system", "Linux 7.0 aarch64"), ("cores", 64), ("clock", {"kind": "monotonic", "hz": 1000000000}),
          ("clock", {"kind": "tsc", "hz": 3100000000}), ("library", "hotpath 0.1.0, clang 19.1.0"),
          ("clock", {"kind": ENGINE, "hz": None})]


def diff(cli, now, before, **how):
    found = json.loads(cli("diff", *now, "--against", *before, "--format", "json", **how).stdout)
    jsonschema.validate(found, SCHEMA)
    assert found["exit"] == how.get("status", 0)
    return found


def told(found):
    return [(row["name"], row["time"]["verdict"]) for row in found["rows"]
            if row["time"] and row["time"]["verdict"] in ("slower", "faster")]


# ------------------------------------------------------------------------------------------------ what is found

@pytest.mark.parametrize("percent, is_found", [(1, False), (5, True), (10, True), (-10, True)])
def test_a_planted_change_is_found_and_nothing_else(cli, maker, percent, is_found):
    before, now = maker.folder(), maker.folder(ns={"encode": NS["encode"] * (1 + percent / 100)})
    found = diff(cli, [now], [before])
    assert told(found) == ([("encode", "slower" if percent > 0 else "faster")] if is_found else [])
    encode = next(row for row in found["rows"] if row["name"] == "encode")
    assert encode["time"]["low_percent"] < percent < encode["time"]["high_percent"]
    assert encode["time"]["by"] == "typical"


def test_no_change_raises_no_alarm(cli, maker):
    """Also of functions whose calls differ in what they do, as their callers then do."""
    alarms = []
    for _ in range(20):
        alarms += told(diff(cli, [maker.folder(varying=("parse", "pack"))],
                            [maker.folder(varying=("parse", "pack"))]))
    assert len(alarms) <= 1, alarms


def test_a_function_whose_calls_vary_is_judged_by_its_self_time(cli, maker):
    found = diff(cli, [maker.folder(varying=("pack",), slow=1.25)], [maker.folder(varying=("pack",))])
    assert told(found) == [("pack", "slower")]
    pack = found["rows"][0]
    assert pack["time"]["by"] == "self" and pack["time"]["low_percent"] < 25 < pack["time"]["high_percent"]


def test_what_all_have_in_common_is_judged_by_itself(cli, maker):
    now = maker.folder(ns={name: 2 * ns for name, ns in NS.items()})
    found = diff(cli, [now], [maker.folder()])
    assert told(found) == [] and found["common"]["verdict"] == "slower"
    assert 80 < found["common"]["change_percent"] < 120


def test_the_verdict_of_the_whole(cli, maker):
    before = maker.folder()
    assert diff(cli, [maker.folder()], [before])["verdict"] == "fine"
    assert diff(cli, [maker.folder(ns={"encode": 72000})], [before])["verdict"] == "regression"
    assert diff(cli, [maker.folder(ns={"encode": 48000})], [before])["verdict"] == "fine"
    twice = maker.folder(ns={name: 2 * ns for name, ns in NS.items()})
    assert diff(cli, [twice], [before])["verdict"] == "regression"
    one, more = (maker.file(maker.report(calls=calls)) for calls in (1000, 1001))
    assert [diff(cli, [now], [than])["verdict"] for now, than in ((one, one), (more, one), (one, more))] == [
        "unjudged", "regression", "unjudged"]


def test_a_callee_comes_before_its_caller(cli, maker):
    """Both have changed, the caller a little more. One that has changed much less stays below."""
    def folder(percent_of_callee, percent_of_caller):
        ns = {"parse": NS["parse"] * (1 + percent_of_callee / 100), "step": 30000 * (1 + percent_of_caller / 100)}
        return maker.folder(ns=ns)
    before = folder(0, 0)
    assert told(diff(cli, [folder(30, 30)], [before])) == [("parse", "slower"), ("step", "slower")]
    assert told(diff(cli, [folder(8, 60)], [before])) == [("step", "slower"), ("parse", "slower")]


def test_slow_calls_of_a_callee_are_named_before_its_caller(cli, maker):
    """The typical call of load is that of its fast half; what the others take more is left in its caller."""
    def folder(slow_ns):
        path = maker.folder(runs=0)
        for run in range(10):
            report = maker.report(ns={"step": 20000})
            rows = {row["name"]: row for row in report["sections"]["timing"]["rows"]}
            rows["load"]["p95_ns"] += slow_ns * maker.random.gauss(1, 0.01)
            for key in ("typical_ns", "quarter_ns"):
                rows["step"][key] += 0.2 * slow_ns
            (path / f"{run}.json").write_text(json.dumps(report))
        return path
    before, now = folder(0), folder(60000)
    row, = (row for row in diff(cli, [now], [before])["rows"] if row["name"] == "step")
    assert row["time"]["verdict"] == "slower" and row["time"]["slow_callee"] == "load"
    text = cli("diff", now, "--against", before).stdout
    callee, caller = (line for line in text.splitlines() if line.startswith("slower"))
    assert callee.startswith("slower   load   only its slow calls: P95 ") and "may be the change of step" in callee
    assert caller.startswith("slower   step   own time +")


def test_sides_may_have_different_numbers_of_runs(cli, maker):
    found = diff(cli, [maker.folder(runs=6, ns={"encode": 72000})], [maker.folder(runs=12)])
    assert told(found) == [("encode", "slower")]
    assert (found["before"]["runs"], found["now"]["runs"]) == (12, 6)


def test_small_functions_are_judged_together(cli, maker):
    """Each of twenty has 0.3 % of the time."""
    small = {f"small{number}": 450 for number in range(20)}
    slower = {name: 1.1 * ns for name, ns in small.items()}
    found = diff(cli, [maker.folder(ns=slower)], [maker.folder(ns=small)])
    assert told(found) == [] and found["rest"]["verdict"] == "slower" and found["rest"]["functions"] >= 20
    assert found["rest"]["low_percent"] < 10 < found["rest"]["high_percent"]
    assert 4 < found["rest"]["share_percent"] < 8
    assert diff(cli, [maker.folder(ns=small)], [maker.folder(ns=small)])["rest"]["verdict"] == "same"
    text = cli("diff", maker.folder(ns=slower), "--against", maker.folder(ns=small)).stdout
    assert "slower   rest   own time +" in text and "functions that are not judged by themselves" in text


def test_locks(cli, maker):
    """Waiting is judged, how often they are locked is exact."""
    def folder(slow, locked):
        path = maker.folder(runs=0)
        for run in range(8):
            rows = [{"name": name, "locked": count, "contended": 10, "wait_ns": wait * maker.random.gauss(1, 0.1)}
                    for name, count, wait in (("store.c:12 table", locked, 1e7 * slow), ("queue", 500, 2e7),
                                              (f"lock {run}", run, 1e5))]
            report = maker.report()
            report["sections"]["locks"] = {"total_rows": 3, "shown_rows": 3, "rows": rows}
            (path / f"{run}.json").write_text(json.dumps(report))
        return path
    now, before = folder(2, 1010), folder(1, 1000)
    locks = {lock["name"]: lock for lock in diff(cli, [now], [before])["locks"]}
    assert locks["store.c table"]["waiting"]["verdict"] == "slower"
    assert locks["queue"]["waiting"]["verdict"] == "same" and locks["queue"]["locked"]["exact"] == "equal"
    assert locks["lock 3"]["waiting"] is None and locks["lock 3"]["locked"]["exact"] == "unknown"
    line, = (line for line in cli("diff", now, "--against", before).stdout.splitlines() if line.startswith("lock"))
    assert "locked 1000 -> 1010, waiting +" in line


def test_waiting_for_locks_and_peaks(cli, maker):
    """Waiting of one function has a row for each cause; that for a CPU is the machine's."""
    def report(lock_ns, peak):
        made = maker.report()
        waits = [{"name": "encode", "cause": cause, "waited_ns": ns}
                 for cause, ns in (("lock", lock_ns), ("sleep", 500), ("run queue", 9000))]
        made["sections"]["waits"] = {"total_rows": 3, "shown_rows": 3, "rows": waits}
        made["alloc"] = "exclusive"
        allocations = [{"name": "encode", "own_count": 3, "own_bytes": 300, "peak_usable_bytes": peak}]
        made["sections"]["alloc-bytes"] = {"total_rows": 1, "shown_rows": 1, "rows": allocations}
        return maker.file(made)
    found = diff(cli, [report(4000, 320)], [report(1000, 300)])
    encode = next(row for row in found["rows"] if row["name"] == "encode")["metrics"]
    assert encode["lock_ns"] == {"before": 1000, "now": 4000}
    assert encode["waited_ns"] == {"before": 1500, "now": 4500}
    assert encode["peak_usable_bytes"] == {"before": 300, "now": 320, "exact": "changed"}
    assert encode["own_bytes"]["exact"] == "equal" and found["verdict"] == "regression"
    text = cli("diff", report(1000, 320), "--against", report(1000, 300)).stdout
    assert re.search(r"exact +encode +peak 300 B -> 320 B \(\+6\.7 %\)", text), text


def test_exact_numbers_need_one_run(cli, maker):
    before, now = maker.report(), maker.report(calls=1001)
    done = cli("diff", maker.file(now), "--against", maker.file(before))
    assert "calls 1000 -> 1001 (+0.1 %)" in done.stdout
    assert "not judged: this needs 5 runs on each side" in done.stdout


def test_numbers_that_differ_among_runs_of_a_side_are_not_judged(cli, maker):
    before = [maker.file(maker.report(calls=calls)) for calls in (1000, 1001)]
    rows = diff(cli, [maker.file(maker.report(calls=1005))], before)["rows"]
    assert {row["metrics"]["calls"]["exact"] for row in rows if row["name"] != "main"} == {"not_repeatable"}


def test_new_and_gone(cli, maker):
    now, before = maker.report(ns={"added": 5000}), maker.report(ns={"removed": 5000})
    found = diff(cli, [maker.file(now)], [maker.file(before)])
    assert {row["name"]: row["state"] for row in found["rows"] if row["state"] != "both"} == {
        "added": "new", "removed": "gone"}
    # A report that leaves functions out does not say which are gone.
    now["sections"]["timing"]["total_rows"] += 5
    done = cli("diff", maker.file(now), "--against", maker.file(before))
    assert "gone" not in done.stdout and "leaves functions out" in done.stdout


def test_a_run_that_goes_on_is_named_but_not_one_without_an_end(cli, maker):
    """As one has that executed another program, or left by _exit."""
    report = maker.file(maker.report())
    for state, is_named in (("ended", False), ("running", True), ("finished", False)):
        done = cli("diff", maker.file(dict(maker.report(), state=state)), "--against", report)
        assert ("1 run was still running" in done.stdout) == is_named


def test_lines_do_not_matter(cli, maker):
    before, now = maker.report(), maker.report()
    for row in now["sections"]["timing"]["rows"]:
        row["location"] = {"file": "/other/made.c", "line": 99, "function": row["name"]}
    assert {row["state"] for row in diff(cli, [maker.file(now)], [maker.file(before)])["rows"]} == {"both"}


def test_output(cli, maker):
    before, now = maker.folder(), maker.folder(ns={"encode": 66000})
    lines = cli("diff", now, "--against", before).stdout.splitlines()
    assert lines[0] == "10 runs of ./made against 10 runs of ./made"
    assert [line.split()[0] for line in lines[1:]] == ["total", "alike", "slower", "typical", "all", "exact"]
    assert lines[3].startswith("slower   encode   own time +") and "calls unchanged" in lines[3]
    assert lines[4].strip().startswith("typical call ") and ", P95 " in lines[4] and lines[4].count(" -> ") == 2
    assert " % or more in encode (" in lines[5] and lines[5].endswith(" would have shown")
    cli("diff", now, "--against", before, "--format", "markdown", "--output", "out.md")
    table = (cli.folder / "out.md").read_text().splitlines()
    assert table[2] == "| | function | change |" and all(line.count("|") == 4 for line in table[2:])
    assert "| slower | `encode` | own time" in table[6]


def test_callees_of_callees_and_functions_that_call_each_other(cli, maker):
    """f0 calls f1, that calls f2, that calls f1 and f3: all but f1 have changed, f0 most. f5 calls none of them."""
    def folder(**slower):
        path = maker.folder(runs=0)
        ns = {f"f{number}": 10000 * slower.get(f"f{number}", 1) for number in range(30)}
        report = json.loads(large_report(0, functions=30, ns=ns))
        node = [maker.node(name, 100, []) for name in ("f0", "f1", "f2", "f1", "f3")]
        for caller, callee in zip(node, node[1:4]):
            caller["children"] = [callee]
        node[2]["children"].append(node[4])
        report["sections"]["calltree"] = {"rows": node[:1]}
        for run in range(10):
            (path / f"{run}.json").write_text(json.dumps(report))
        return path
    before = folder()
    names = [name for name, _ in told(diff(cli, [folder(f0=2, f2=1.9, f3=1.8, f5=1.95)], [before]))]
    assert names == ["f3", "f2", "f0", "f5"]
    names = [name for name, _ in told(diff(cli, [folder(f0=2, f3=1.1)], [before]))]
    assert names == ["f0", "f3"]


@full
@without_sanitizer("it needs all of the address space")
def test_a_million_nodes_in_a_gigabyte(cli):
    """Which call each other in every way; bench/compared.py --large measures how long it takes."""
    now, before = large_folders(cli.folder, 1_000_000)
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    for sides in ((now / "0.json", before / "0.json"), (now, before)):
        found = json.loads(cli("diff", sides[0], "--against", sides[1], "-f", "json", preexec_fn=limit).stdout)
        assert len(found["rows"]) == 2000
    assert sorted(told(found)) == sorted((f"f{number}", "slower") for number in range(0, 70, 3))


# ---------------------------------------------------------------------------------------------------- refusals

@pytest.mark.parametrize("key, value", UNLIKE, ids=lambda value: str(value)[:20])
def test_unlike_runs_are_refused(cli, maker, key, value):
    now = maker.report()
    now["meta"][key] = value
    done = cli("diff", maker.file(now), "--against", maker.file(maker.report()), status=2)
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert "cannot compare with" in done.stderr
    found = diff(cli, [maker.file(now)], [maker.file(maker.report())], status=2)
    assert (found["verdict"], found["exit"]) == ("unjudged", 2) and "cannot compare with" in found["problem"]


def test_an_upgrade_loses_no_baseline(cli, maker):
    now = maker.report(calls=1001)
    now["meta"]["library"] = "hotpath 0.2.0, gcc 14.2.1 20250110"
    calls = {row["metrics"]["calls"]["exact"] for row in
             diff(cli, [maker.file(now)], [maker.file(maker.report())])["rows"] if row["name"] != "main"}
    assert calls == {"changed"}


@pytest.mark.parametrize("part, other", [("7.2.22", "9.1.0"), ("-erms", "+erms"), ("glibc 2.36", "glibc 2.41")])
def test_counts_of_other_engines_are_refused(cli, maker, part, other):
    """By a line in which both names are whole: they may differ in the last word only."""
    engine = ENGINE.replace(part, other)
    done = cli("diff", maker.file(maker.counted(engine, encode=100)), "--against",
               maker.file(maker.counted(encode=100)), status=2)
    assert f"({engine}, not {ENGINE})" in done.stderr and len(done.stderr.splitlines()) == 1


def change(report, **keys):
    return dict(copy.deepcopy(report), **keys)


def test_what_cannot_be_read_is_named(cli, maker):
    good = maker.report()
    text = json.dumps(good)
    for number, (bad, words) in enumerate((
            (json.dumps(change(good, type="other")), "is not a report"),
            (json.dumps(change(good, version=9)),
             "version 9, by hotpath 0.1.0; this hotpath reads version 2: use the newer"),
            (json.dumps(change(good, version=1)), "reads version 2: record the run again"),
            (json.dumps(change(good, by="thread")), "by thread"),
            (json.dumps(change(good, focus="x")), "part of the functions"),
            (text[:len(text) // 2], "not JSON"), (text + "x", "not JSON"), ("", "not JSON"))):
        path = cli.folder / f"bad{number}.json"
        path.write_text(bad)
        done = cli("diff", maker.file(good), "--against", path, status=2)
        assert done.stdout == "" and len(done.stderr.splitlines()) == 1
        assert path.name in done.stderr and words in done.stderr
    (cli.folder / "empty").mkdir()
    assert "has no reports" in cli("diff", "empty", "--against", maker.file(good), status=2).stderr
    assert "nothere" in cli("diff", "nothere", "--against", maker.file(good), status=2).stderr


def test_misuse(cli, maker):
    report = maker.file(maker.report())
    assert "--against is missing" in cli("diff", report, status=2).stderr
    assert "before --against" in cli("diff", "--against", report, status=2).stderr
    assert "not text, json, markdown" in cli("diff", report, "--against", report, "-f", "x", status=2).stderr
    cli("diff", report, "--against", report, "--output", "/dev/full", status=2)
    assert "--from 'x' is not a time" in cli("diff", report, "--against", report, "--from", "x", status=2).stderr
    assert "which reports do not have" in cli("diff", report, "--against", report, "-f", "html", status=2).stderr
    assert "has no history" in cli("diff", report, "--against", report, "--to", "50%", status=2).stderr


FROZEN = sorted((SOURCE / "tests" / "e2e" / "frozen").glob("report-*.json"))


@pytest.mark.parametrize("path", FROZEN, ids=lambda path: path.stem)
def test_frozen_reports_are_baselines(cli, path):
    """Of each version that was released, as it was written then: an upgrade does not lose a baseline."""
    found = {row["name"]: row for row in diff(cli, [path], [path])["rows"]}
    calls = {name: row["metrics"]["calls"] for name, row in found.items()}
    assert calls["encode"] == {"before": 30, "now": 30, "exact": "equal"} and calls["lookup"]["now"] == 90
    assert found["encode"]["time"]["by"] == "typical" and found["encode"]["file"] == "zones.c"
    assert cli("check", "--baseline", path, path).stdout.startswith("fine")


def test_reports_of_before_are_read(cli, maker):
    path = cli.folder / "old.json"
    path.write_bytes(OLD_REPORT.read_bytes())
    found = diff(cli, [path], [path])
    assert {row["state"] for row in found["rows"]} == {"both"} and len(found["rows"]) == 15
    assert {row["time"]["by"] for row in found["rows"] if row["time"]} == {"self"}


# -------------------------------------------------------------------------------------------------------- real runs

@without_emulator("hotpath run starts programs of the machine below")
@without_sanitizer("the library of such a build can be preloaded into nothing else")
@pytest.mark.parametrize("before", [[], WITHOUT_PERF], ids=["perf", "noperf"])
def test_a_run_is_compared_as_its_report(cli, before):
    cli.before = before
    for program in ("counts", "weights"):
        cli("run", "--format", "none", PROGRAMS / program)
    runs = sorted(cli.folder.glob("*.run"))
    assert len(runs) == 2
    full = []
    for run in runs:
        path = cli.folder / f"{run.name}.json"
        cli("report", run, "--section", "all", "--limit", "0", "--format", "json", "--output", path)
        full.append(path)
    assert diff(cli, [runs[0]], [runs[1]]) == diff(cli, [full[0]], [full[1]])
    same = diff(cli, [runs[0]], [runs[0]])
    assert {row["state"] for row in same["rows"]} == {"both"} and told(same) == []


@without_emulator("hotpath run starts programs of the machine below")
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_measured_functions_in_a_part_of_the_run(cli):
    """Times are those of the part, and how often a function is called there is the machine's doing."""
    cli("run", "--format", "none", PROGRAMS / "weights")
    run, = cli.folder.glob("*.run")
    whole = diff(cli, [run], [run])
    part = diff(cli, [run, "--from", "20%", "--to", "70%"], [run])
    assert {row["metrics"]["calls"]["exact"] for row in whole["rows"]} == {"equal"}
    assert {row["metrics"]["calls"]["exact"] for row in part["rows"] if "calls" in row["metrics"]} == {"unknown"}
    of_part, of_whole = (sum(row["metrics"]["self_ns"]["now"] or 0 for row in found["rows"])
                         for found in (part, whole))
    assert 0 < of_part < of_whole, (of_part, of_whole)


@without_emulator("perf is that of the machine below")
@without_sanitizer("the library of such a build can be preloaded into nothing else")
@with_glibc("the programs of this machine have it")
@pytest.mark.skipif(not perf_is_allowed(), reason="the kernel refuses samples here")
def test_unmodified_programs_are_compared_by_samples(cli):
    cli("run", "--format", "none", PROGRAMS / "stacked", "split", "300")
    run, = cli.folder.glob("*.run")
    found = diff(cli, [run], [run])
    assert found["of"] == "samples" and found["common"] is None
    assert any(row["time"]["by"] == "samples" for row in found["rows"] if row["time"])
    part = diff(cli, [run, "--from", "30%", "--to", "60%"], [run])
    whole, within = (sum(row["metrics"]["samples"]["now"] for row in of["rows"]) for of in (found, part))
    assert 0 < within < 0.6 * whole, (whole, within)  # others may take the CPU in any part
    done = cli("diff", run, "--against", run, "--format", "html", "--output", "page.html")
    page = (cli.folder / "page.html").read_text()
    assert page.lower().startswith("<!doctype html>") and '"changes":"1 run of ' in page
    assert done.stdout == "" and done.stderr.startswith("1 run of ")
