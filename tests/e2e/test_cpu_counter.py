"""Instructions that the CPU counts. Few machines that run tests have such a counter: most of these have nanoseconds
of CPU time in its place (tests/programs/counted_by_cpu.c), by the same calls."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import jsonschema
import pytest

from command import Cli, cli  # noqa: F401
from harness import BUILD, EMULATOR, PROGRAMS, SOURCE, needs_root, perf_is_allowed

pytestmark = pytest.mark.skipif(bool(EMULATOR) or not perf_is_allowed(), reason="the kernel gives nobody a counter")

BY_CPU = {"HOTPATH": "1", "HOTPATH_CLOCK": "instructions:pmu"}


def counted(cli, *words, status=3, env=None):
    """What the program prints, and the report of all its processes."""
    done = subprocess.run([PROGRAMS / "counted_by_cpu", *words], env=cli.environment(BY_CPU | (env or {})),
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    return done.stderr, cli.read(cli.folder).values


def rows_of(values):
    return {row["name"]: row for row in values["sections"]["timing"]["rows"]}


def test_all_that_a_thread_does_is_counted(cli):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, values = counted(cli)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_ns = sum(getattr(after, key) - getattr(before, key) for key in ("ru_utime", "ru_stime")) * 1e9
    rows = rows_of(values)
    assert {name: row["calls"] for name, row in rows.items()} == {
        "main": 1, "encode": 20, "tiny": 20, "allocate": 20, "fibonacci": 177}
    kind = values["meta"]["clock"]["kind"]
    assert re.fullmatch(r"instructions \(pmu, .+, (glibc [0-9.]+|another C library)\)", kind)
    assert 0 < sum(row["self_instructions"] for row in rows.values()) <= used_ns + 1e7  # as the kernel rounds them
    assert rows["encode"]["min_instructions"] > 50 * rows["tiny"]["min_instructions"] / 20
    assert values["trust"]["zone_cost_instructions"] > values["trust"]["zone_inner_instructions"] > 0
    jsonschema.validate(values, json.loads((SOURCE / "docs/report.schema.json").read_text()))


def test_a_report_says_who_counted_and_what_that_is_worth(cli):
    said, values = counted(cli)
    line = next(line for line in said.splitlines() if line.startswith("clock "))
    assert "; counted by the CPU, which was not tested by the authors: interrupts and page faults add some" in line
    assert re.search(r"; those of hotpath are included, about \d+ for a zone, \d+ of them in its own number", line)
    assert "not exact" not in line and "has no counter" not in line
    assert not re.search(r"\d (ns|µs|ms|s)\b", said)


def test_each_thread_and_each_child_has_its_own_counter(cli):
    _, values = counted(cli, "0", "threads")
    job = rows_of(values)["job"]
    assert job["calls"] == 3 and job["min_instructions"] > 0
    assert job["total_instructions"] > 3 * rows_of(values)["encode"]["min_instructions"]
    other = Cli(cli.box)
    _, values = counted(other, "0", "fork")
    assert values["meta"]["processes"] == 2 and rows_of(values)["encode"]["calls"] == 21
    assert "missing_counter" not in values["trust"]


def test_cpu_time_is_not_sampled_beside_instructions(cli):
    _, values = counted(cli, env={"HOTPATH_CPU": "1", "HOTPATH": "timing,cpu"})
    assert "cpu" not in values["trust"] and rows_of(values)["encode"]["calls"] == 20


def test_a_limit_of_instructions(cli):
    assert "exceeded" not in counted(cli, "0", "limit", "1000000000000")[0]
    said, _ = counted(Cli(cli.box), "0", "limit", "1", status=-signal.SIGABRT)
    assert "run_limited exceeded its limit of 1 instructions: there were " in said


@needs_root
def test_programs_with_the_rights_of_others_are_not_counted(box):
    """The environment is that of the user, who may have it end what exceeds a limit."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        folder.chmod(0o755)
        program = Path(shutil.copy(PROGRAMS / "counted_by_cpu", folder))
        for mode, status in ((0o755, -signal.SIGABRT), (0o4755, 3)):
            program.chmod(mode)
            if mode != 0o755 and os.statvfs(folder).f_flag & os.ST_NOSUID:
                pytest.skip("/tmp is mounted nosuid")
            done = box.run(program, "0", "limit", "1", env=BY_CPU | {"HOTPATH": None}, status=status, user=65534)
            assert ("exceeded its limit" in done.stderr) == (status != 3)
    finally:
        shutil.rmtree(folder)


def test_without_descriptors_a_thread_is_not_counted_and_the_report_says_so(cli):
    """The first thread has its counter before the limit is set."""
    said, values = counted(cli, "0", "threads", env={"COUNTED_DESCRIPTORS": "3"})
    assert rows_of(values)["job"]["total_instructions"] == 0 and rows_of(values)["encode"]["total_instructions"] > 0
    assert values["trust"]["missing_counter"] is True and "; a thread has no counter" in said


def test_counts_of_unlike_engines_are_not_compared(cli, tmp_path):
    """In one line, also if only instructions are judged."""
    _, values = counted(cli)
    other = json.loads(json.dumps(values))
    other["meta"]["clock"]["kind"] = "instructions (qemu 7.2.22, cpu max,-erms, glibc 2.36)"
    for name, report in (("by_cpu", values), ("by_qemu", other)):
        (tmp_path / name).write_text(json.dumps(report))
    refused = cli("check", "--baseline", tmp_path / "by_qemu", tmp_path / "by_cpu", status=2)
    assert len(refused.lines) == 1 and "was measured by another clock (instructions (pmu, " in refused.lines[0]
    exact = cli("check", "--exact-only", "--baseline", tmp_path / "by_qemu", tmp_path / "by_cpu", status=2)
    assert "were counted by another clock, so they were not judged" in exact.stdout + exact.stderr
    assert cli("check", "--exact-only", "--baseline", tmp_path / "by_cpu", tmp_path / "by_cpu").status == 0


def test_check_has_a_limit_of_one_percent(cli, tmp_path):
    _, values = counted(cli)
    for name, factor in (("before", 1), ("more", 1.02), ("little_more", 1.005)):
        report = json.loads(json.dumps(values))
        for row in report["sections"]["timing"]["rows"]:
            if row["name"] == "encode":
                for key in ("self_instructions", "total_instructions"):
                    row[key] = round(row[key] * factor)
        (tmp_path / name).write_text(json.dumps(report))
    assert cli("check", "--baseline", tmp_path / "before", tmp_path / "little_more").status == 0
    broken = cli("check", "--baseline", tmp_path / "before", tmp_path / "more", status=1)
    assert "encode" in broken.stdout


def test_bench_wants_exact_counts(cli):
    done = cli("bench", "--clock", "instructions:pmu", "true", status=2)
    assert "the counts of a CPU differ from run to run: use --instructions" in done.stderr


def test_where_there_is_none_time_is_measured(cli):
    """Or there is one."""
    done = cli.run("--clock", "instructions:pmu", PROGRAMS / "instructions", status=3)
    kind = done.report.values["meta"]["clock"]["kind"]
    lines = [line for line in done.lines if "are not counted, but its time: " in line]
    assert len(lines) == (not kind.startswith("instructions (pmu, "))
    plain = subprocess.run([PROGRAMS / "instructions"], env=cli.environment(BY_CPU), capture_output=True, text=True)
    assert plain.returncode == 3
    assert ("the kernel gives this process no counter of the CPU" in plain.stderr) == bool(lines)
