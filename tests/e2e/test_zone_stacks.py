"""Stacks of programs with measured functions: each knows its zone, nothing is counted twice, and the program does
not notice."""
import functools
import math
import platform
import re

import pytest

import exported
from command import Cli
from harness import (PROGRAMS, WITHOUT_PERF, crossed, full, near, perf_is_allowed, with_glibc, without_emulator,
                     without_sanitizer)

pytestmark = [without_emulator("/proc and timers are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

MS = 1_000_000
PARTS = {("first", "heavy"): "first_heavy", ("first", "light"): "first_light", ("second", "heavy"): "second_heavy",
         ("second", "light"): "second_light", (None, "heavy"): "outside"}


# Both ways of sampling only where a test asks for them; else the one that this kernel allows.
@pytest.fixture(params=[pytest.param(way, marks=[] if (way == "perf") == perf_is_allowed() else full)
                        for way in ("perf", "no-perf")])
def cli(box, request):
    cli = Cli(box)
    if request.param == "no-perf":
        cli.before = WITHOUT_PERF
    elif not perf_is_allowed():
        pytest.skip("the kernel refuses perf")
    return cli


ways = pytest.mark.parametrize("cli, variant", crossed(["perf", "no-perf"], ["zoned", "zoned_static"]),
                               indirect=["cli"])


def truth(text):
    """What the program reports; a child that executes another program reports more than once."""
    told = {}
    for name, value in re.findall(r"^(\w+)=(\d+)$", text, re.M):
        told[name] = told.get(name, 0) + int(value)
    return told


def rows(report):
    return {row.name: row for row in report.rows("functions")}


def totals(report):
    return report.values["sections"]["functions"]["totals"]


def by_zone(cli, of="cpu"):
    """{(zone, function): nanoseconds or bytes}, and the total; None is what is in no zone."""
    found, whole = {}, 0
    for names, weight in exported.folded(cli("export", "-f", "folded", "--of", of, "--by-zone").stdout):
        zone = re.fullmatch(r"\[zone: (.*)\]", names[0])
        assert zone is not None or names[0] == "[in no zone]", names
        for function in set(names):
            key = (zone and zone.group(1), function)
            found[key] = found.get(key, 0) + weight
        whole += weight
    return found, whole


def assert_shares(found, told, samples):
    """Under load only some ticks find a thread, and stand for very different times: three times the error of their
    number."""
    whole, both = sum(told[name] for name in PARTS.values()), sum(found.get(part, 0) for part in PARTS)
    for part, name in PARTS.items():
        share, is_so = found.get(part, 0) / both, told[name] / whole
        assert abs(share - is_so) < 3 * 3 * math.sqrt(is_so * (1 - is_so) / samples) + 0.02, (
            part, share, is_so, samples)


def by_chance(test):
    """With ticks alone, samples are few: a real error fails in all of three runs."""
    @functools.wraps(test)
    def thrice(*args, **named):
        for attempt in range(3):
            try:
                return test(*args, **named)
            except AssertionError:
                if attempt == 2:
                    raise
    return thrice


def run(cli, *arguments):
    for _ in range(4):
        done = cli.run(*arguments)
        if totals(done.report)["samples"] >= 100:
            break
    assert not list(cli.folder.rglob("*.ring"))
    return done


@pytest.mark.parametrize("cli, variant, case", crossed(
    ["perf", "no-perf"], ["zoned", "zoned_static", "zoned"], ["split", "threads", "forked", "childless"]),
    indirect=["cli"])
@by_chance
def test_functions_below_their_zones(cli, variant, case):
    done = run(cli, PROGRAMS / variant, case, 350)
    told, of = truth(done.stdout), totals(done.report)
    found, exported_ns = by_zone(cli)
    assert of["by_program"] == 1 and of["by_timers"] == 0
    assert_shares(found, told, of["samples"])
    # Nothing twice, and nothing missing: rows add up to what the processes have used.
    whole = sum(told.values())
    assert 0.97 * whole < of["cpu_ns"] < 1.1 * whole + 30 * MS, (of["cpu_ns"], whole)
    assert exported_ns == of["cpu_ns"] == sum(row.self_ns for row in done.report.rows("functions"))
    missing = rows(done.report).get("<not sampled>")
    assert missing is None or missing.self_ns < 0.2 * whole
    # Threads and processes without zones still have stacks.
    assert ("first", "bare") not in found and ("second", "bare") not in found
    assert told["bare"] == 0 or found[None, "bare"] > 0.6 * told["bare"]
    assert of["whole"] >= 0.98 * of["samples"]


@by_chance
def test_functions_by_zone_in_the_report(cli):
    done = run(cli, PROGRAMS / "zoned", "split", 500)
    found, told = rows(done.report), truth(done.stdout)
    heavy, light = found["heavy"], found["light"]
    assert heavy.zone == "first" and light.zone == "second"
    assert re.fullmatch(r"first \d+ %, second \d+ %", heavy.zones) and heavy.zones.startswith("first ")
    assert heavy.zone_ns < heavy.total_ns and found["main"].zone == "first"
    whole = sum(told[name] for name in ("first_heavy", "second_heavy", "outside"))
    assert abs(heavy.zone_ns / heavy.total_ns - told["first_heavy"] / whole) < 0.2
    # With the names and numbers of the section cpu.
    cpu = {row.name: row for row in done.report.rows("cpu")}
    assert {"first", "second"} <= set(cpu)
    by_name, _ = by_zone(cli)
    for zone in ("first", "second"):
        assert abs(by_name[zone, "main"] / cpu[zone].cpu_ns - 1) < 0.25
    assert "with their zones" in cli("report", "-v").stdout and "first " in cli("report").stdout


@pytest.mark.parametrize("cli", ["perf"], indirect=True)
def test_program_linked_with_the_library_that_is_preloaded(cli):
    """Both copies have a sampler of stacks; only one of them samples, and sees no alternate stack of the other."""
    report = run(cli, PROGRAMS / "costs", "pairs", 10000000).report
    assert totals(report)["refused"] == 0
    assert near(totals(report)["cpu_ns"], report.section("cpu")["totals"]["cpu_ns"], 10)


def test_labels_of_pprof(cli):
    run(cli, PROGRAMS / "zoned", "split", 500)
    path = cli.folder / "zones.pb.gz"
    cli("export", "-f", "pprof", "-o", path)
    plain = exported.folded(cli("export", "-f", "folded", "--of", "cpu").stdout)
    found, _ = by_zone(cli)
    labelled = exported.pprof_labels(path.read_bytes(), "cpu")
    for zone in ("first", "second", None):
        mine = sum(weight for label, weight in labelled if label == zone)
        assert mine == sum(weight for (of, name), weight in found.items() if of == zone and
                           name in (f"[zone: {zone}]", "[in no zone]"))
    assert sum(weight for _, weight in labelled) == sum(weight for _, weight in plain)


def assert_labels(cli, of, found):
    path = cli.folder / "zones.pb.gz"
    cli("export", "-f", "pprof", "-o", path)
    labelled = exported.pprof_labels(path.read_bytes(), of)
    for zone in ("first", "second", None):
        assert sum(weight for label, weight in labelled if label == zone) == found[
            zone, f"[zone: {zone}]" if zone else "[in no zone]"]


@ways
def test_waits_below_their_zones(cli, variant):
    done = cli.run(PROGRAMS / variant, "waits", 1500)
    told, rest = truth(done.stdout), rows(done.report)["rest"]
    found, exported_ns = by_zone(cli, "waits")
    parts = {"first": told["first_heavy"], "second": told["second_heavy"], None: told["outside"]}
    # Which zone waited is exact; how much of its last piece was seen is not.
    for zone, ns in parts.items():
        assert abs(found[zone, "rest"] - ns) < 0.1 * sum(parts.values()), (zone, found, parts)
    assert exported_ns == totals(done.report)["waited_ns"]
    assert rest.waiting_zone == "first" and rest.waiting_zone_ns == found["first", "rest"]
    assert re.fullmatch(r"first \d+ %, second \d+ %", rest.waiting_zones)
    assert_labels(cli, "waits", found)


@pytest.mark.parametrize("variant", ["zoned", "zoned_static"])
def test_allocations_below_their_zones(cli, variant):
    done = cli.run(PROGRAMS / variant, "heap", 400)
    table = done.report.values["sections"].get("alloc-functions")
    if variant == "zoned_static" and table is None:
        pytest.skip("nobody watches malloc of a static program")
    take = {row.name: row for row in done.report.rows("alloc-functions")}["take"]
    told, samples = truth(done.stdout), table["totals"]["samples"]
    found, exported_bytes = by_zone(cli, "alloc")
    parts = {"first": told["first_heavy"], "second": told["second_heavy"], None: told["outside"]}
    whole = sum(parts.values())
    for zone, size in parts.items():
        share = size / whole
        assert abs(found[zone, "take"] / whole - share) < 5 * math.sqrt(share / samples), (zone, found, parts)
    assert exported_bytes == table["totals"]["bytes"]
    assert take.zone == "first" and take.zone_bytes == found["first", "take"] and take.zones.startswith("first ")
    # What is kept belongs to one zone; plus a few bytes of the C library's that are in none.
    left, left_bytes = by_zone(cli, "alloc-left")
    assert left["second", "take"] > 0.97 * left_bytes and ("first", "take") not in left
    assert_labels(cli, "alloc", found)


def test_no_stacks_option(cli):
    for flag in ("--no-stacks", "--no-cpu"):
        done = cli("run", flag, PROGRAMS / "zoned", "split", 50)
        assert "functions -" not in done.stderr and not list(cli.folder.rglob("*.ring"))


@pytest.mark.skipif(not perf_is_allowed(), reason="the kernel refuses perf")
def test_perf_on_request(box):
    """As for any other program, without the zones."""
    of = totals(Cli(box).run("--stacks", PROGRAMS / "zoned", "split", 300).report)
    assert of["by_program"] == of["by_timers"] == 0 and of["samples"] > 0


def test_no_ring_without_run(box):
    done = box.run(PROGRAMS / "zoned", "split", 100, env={
        "HOTPATH": "1", "HOTPATH_CPU": "1", "HOTPATH_RUN_STACK_PERIOD": "1003009"})
    assert done.status == 0 and not list(box.path.rglob("*.ring*"))


def test_output_of_the_program_is_unchanged(cli):
    names = [line.split("=")[0] for line in cli("run", "--format", "none", PROGRAMS / "zoned_off", "threads",
                                                50).stdout.splitlines()]
    done = cli("run", "--format", "none", PROGRAMS / "zoned", "threads", 50)
    assert [line.split("=")[0] for line in done.stdout.splitlines()] == names


@pytest.mark.skipif(not perf_is_allowed(), reason="the kernel refuses perf")
@by_chance
def test_a_program_that_a_shell_starts(box):
    """By perf, which knows no zones, and the last line says so; unless all programs are to sample themselves."""
    cli = Cli(box)
    command = ("sh", "-c", f"{PROGRAMS / 'zoned'} split 300; true")
    of = totals(cli.run(*command).report)
    assert of["by_program"] == 0 and "stacks are sampled by perf, without zones" in cli("report").stdout
    done = run(cli, "--zone-stacks", *command)
    assert totals(done.report)["by_program"] == 1 and "knows no zones" not in cli("report").stdout
    found, _ = by_zone(cli)
    assert_shares(found, truth(done.stdout), totals(done.report)["samples"])


@pytest.mark.parametrize("limit, reason", [("size", "file too large"), ("files", "too many open files")])
def test_ring_creation_fails(cli, limit, reason):
    """The session exists before the limit; the ring comes with the first sample."""
    cli("run", PROGRAMS / "zoned", "limited", 300, limit)
    last = cli("report").stdout.strip().splitlines()[-1]
    assert f"stacks of 1 process could not be recorded: {reason}" in last and "nothing was lost" not in last
    assert not [path for path in cli.folder.rglob("*") if path.suffix in (".ring", ".heap")]
