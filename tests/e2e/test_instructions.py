"""The clock that counts instructions: equal in every run, and a change of one percent is found with one run."""
import ctypes
import gzip
import json
import os
import platform
import re
import resource
import shutil
import signal
import struct
import subprocess

import jsonschema
import pytest

import exported
from command import Cli, cli  # noqa: F401
from harness import BUILD, EMULATOR, EXAMPLES, PROGRAMS, SANITIZER, SOURCE, Report, full, with_glibc

pytestmark = [pytest.mark.skipif(bool(SANITIZER or EMULATOR) or shutil.which("qemu-x86_64") is None,
                                 reason="needs qemu-user, and a program that it can run"),
              with_glibc("the plugin needs the C library of this machine's QEMU")]

GO = shutil.which("go") or next((path for path in ("/usr/local/go/bin/go", "/usr/lib/go/bin/go")
                                 if os.path.exists(path)), None)
QUERY = ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) "
         "select count(*), max(i * 7 % 13) from n where i % 3 = 1")

ZONES = {"main", "encode", "tiny", "allocate", "fibonacci"}


def counted(cli, *args, status=3, env=None, program="instructions"):
    """{name: row} of the table of functions, under the clock."""
    done = cli.run("--clock", "instructions", PROGRAMS / program, *args, status=status, env=env)
    report = done.report.values
    assert report["meta"]["clock"]["kind"].startswith("instructions (qemu ")
    assert report["meta"]["clock"]["hz"] is None and "elapsed_instructions" in report
    rows = report["sections"]["timing"]["rows"]
    assert not [key for row in rows for key in row if key.endswith("_ns")]
    return {row["name"]: row for row in rows}


def numbers(rows):
    keys = ("calls", "total_instructions", "self_instructions", "min_instructions", "max_instructions")
    return {name: [row[key] for key in keys] for name, row in rows.items()}


def test_every_row_is_equal_in_every_run(cli):
    runs = [numbers(counted(cli)) for _ in range(3)]
    assert runs[0].keys() == ZONES and runs[1] == runs[0] and runs[2] == runs[0]
    assert runs[0]["encode"][0] == 20 and runs[0]["fibonacci"][0] == 177
    assert runs[0]["tiny"][1] / 20 < 60  # of the call; those of the library are not counted


def test_console_counts_instructions(cli):
    """No time, rate or number of threads is on its screens, and its numbers are those of the report."""
    rows = counted(cli)
    script = ("size 140 40\n1 screen 2 screen / type encode\n Enter Enter screen "
              "Esc Esc 3 screen u screen 8 8 screen\n")
    out = cli("console", "--script", "-", "instructions", input=script, env={"LC_ALL": "C.UTF-8"}).stdout
    assert not re.search(r"\d (ns|µs|ms|s|m|h)\b|/s\b| threads|\d:\d\d", re.sub(r" every 1 s$", "", out,
            flags=re.M))
    lines = out.split("\n")
    overview, functions, page, tree, *_ = ["\n".join(lines[at:at + 40]) for at in range(0, len(lines) - 1, 40)]
    assert re.search(r" ended after \S+ [kM] instructions, exit 3 ", overview) and ", in instructions" in functions
    tiny, each = rows["tiny"]["total_instructions"], rows["tiny"]["max_instructions"]  # 800, 40 by gcc
    assert tiny == 20 * each and re.search(rf"^ [ ›] tiny +{tiny} .* {each} +{each} +20( |$)", functions, re.M)
    assert re.search(rf"^ +encode +{rows['encode']['total_instructions'] / 1e6:.2f} M +", overview, re.M)
    assert "Instructions per call" in page and "called by  main 20 calls" in page
    assert re.search(r" p50 \d+\.\d k ", page) and re.search(rf"^ +tiny +{tiny} +{tiny} ", tree, re.M)


@full
@pytest.mark.parametrize("name", ["basic", "profile_cpu", "recursion", "early_returns"])
def test_rows_of_examples_are_equal_in_five_runs(cli, name):
    runs = [numbers(counted(cli, program=EXAMPLES / name, status=0)) for _ in range(5)]
    assert runs[0] and runs == [runs[0]] * 5


@full
@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not installed")
def test_functions_of_an_unmodified_program_are_equal_in_five_runs(cli):
    """Several functions of a library may have one name, so rows are compared as a whole."""
    def functions():
        report = cli.run("--clock", "instructions", "sqlite3", ":memory:", QUERY).report
        rows = report.values["sections"]["functions"]["rows"]
        return sorted((str(row["library"]), row["name"], row["self_instructions"]) for row in rows)

    runs = [functions() for _ in range(5)]
    assert len(runs[0]) > 50 and runs == [runs[0]] * 5


@full
def test_a_program_measured_by_the_compiler(cli, tmp_path):
    """Equal in five runs, and one percent more is found with one."""
    program = tmp_path / "measured"
    subprocess.run(["gcc", "-O2", "-finstrument-functions", SOURCE / "tests/programs/unmodified.c", "-o", program,
                    f"-L{BUILD / 'lib'}", "-lhotpath", f"-Wl,-rpath,{BUILD / 'lib'}", "-pthread"], check=True)

    def run(percent):
        return numbers(counted(cli, percent, status=0, program=program, env={"HOTPATH": "1"}))

    runs, after = [run(0) for _ in range(5)], run(1)
    assert runs[0]["hash"][0] > 0 and runs == [runs[0]] * 5
    change = {name: after[name][2] - row[2] for name, row in runs[0].items()}
    assert max(change, key=change.get) == "hash" and 0.009 < change["hash"] / runs[0]["hash"][2] < 0.011


def test_a_larger_environment_changes_nothing_but_startup(cli):
    plain, larger = (numbers(counted(cli, env=env)) for env in ({}, {"LARGER": "x" * 3000}))
    assert plain.keys() == larger.keys()
    for name, row in plain.items():
        assert row[0] == larger[name][0] and abs(row[2] - larger[name][2]) <= 20, name


def test_the_environment_moves_no_argument(cli, tmp_path):
    """Within its page: functions of the C library take other paths at the end of one."""
    program = tmp_path / "where"
    code = ('#include <stdio.h>\n'
            'int main(int n, char **a) { return n < 2 || printf("%ld", (long)a[1] % 4096) < 0; }\n')
    subprocess.run(["gcc", "-x", "c", "-", "-o", program], input=code, text=True, check=True)
    places = {cli("run", "--clock", "instructions", "-f", "none", program, "word", env=env).stdout
              for env in ({}, {"LARGER": ""}, {"LARGER": "x" * 3001})}
    assert len(places) == 1 and 0 < int(places.pop()) < 4096


def test_one_percent_is_found_with_one_run_a_side(cli):
    before, after = numbers(counted(cli)), numbers(counted(cli, "1"))
    change = {name: after[name][2] / before[name][2] - 1 for name in ZONES - {"main"}}
    assert 0.0095 < change["encode"] < 0.0105
    assert (after["encode"][1] - before["encode"][1]) % (20 * 100) == 0  # steps of some instructions
    assert [name for name in change if change[name] != 0] == ["encode"]


def test_a_library_in_the_program_is_not_counted_either(cli):
    rows, shared = numbers(counted(cli, program="instructions_static")), numbers(counted(cli))
    assert rows["tiny"][1] / 20 < 60
    assert all(abs(rows[name][1] - shared[name][1]) < 100 * shared[name][0]
               for name in ("encode", "tiny", "fibonacci"))


@full
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_two_files_are_not_counted_either(cli, tmp_path, compiler):
    program = tmp_path / "instructions"
    subprocess.run([compiler, "-O2", "-DHOTPATH", f"-I{BUILD / 'single'}", SOURCE / "tests/programs/instructions.c",
                    BUILD / "single/hotpath.c", "-pthread", "-o", program], check=True)
    rows = numbers(counted(cli, program=program))
    assert rows["tiny"][1] / 20 < 60 and rows["fibonacci"][1] < 200 * 177


def test_threads_have_counts_of_their_own(cli):
    runs = [numbers(counted(cli, "0", "threads")) for _ in range(2)]
    assert runs[0]["job"] == runs[1]["job"]
    calls, total, _, least, most = runs[0]["job"]
    alone = numbers(counted(cli))
    assert calls == 3 and most - least < 1000 and runs[0]["encode"][1] == pytest.approx(alone["encode"][1], abs=20)
    assert total / 3 == pytest.approx(20 * 2 * alone["encode"][1] / 20, rel=0.01)


def test_blocks_are_counted_in_all_threads(cli):
    """Each thread counts in its own lane: together they have what the clocks of the threads say."""
    report = cli.run("--clock", "instructions", PROGRAMS / "instructions", "0", "threads", status=3).report.values
    zones = numbers({row["name"]: row for row in report["sections"]["timing"]["rows"]})
    spin = [row["self_instructions"] for row in report["sections"]["functions"]["rows"]
            if (row["library"], row["name"]) == ("instructions", "spin")]
    assert spin == [pytest.approx(zones["job"][1] + zones["encode"][1], rel=0.005)]


@full
def test_rows_of_workers_are_equal_in_five_runs(cli):
    """By zone and by function; main waits for them, which can take more or fewer instructions."""
    def run():
        done = cli.run("--clock", "instructions", PROGRAMS / "instructions", "0", "threads", status=3)
        report = done.report.values
        zones = numbers({row["name"]: row for row in report["sections"]["timing"]["rows"]})
        functions = {row["name"]: row["self_instructions"] for row in report["sections"]["functions"]["rows"]
                     if row["library"] == "instructions" and row["name"] != "main"}
        return {name: row for name, row in zones.items() if name != "main"}, functions

    runs = [run() for _ in range(5)]
    assert "job" in runs[0][0] and "spin" in runs[0][1] and runs == [runs[0]] * 5


def test_a_forked_child_has_its_own_count(cli):
    alone, rows = numbers(counted(cli)), numbers(counted(cli, "0", "fork"))
    assert rows["encode"][0] == 21 and rows["encode"][3] == pytest.approx(alone["encode"][3], abs=20)
    assert rows["encode"][4] == pytest.approx(alone["encode"][4], abs=200)


def test_scope_above_its_limit_of_instructions_is_reported(cli):
    """In the program: equal numbers, a limit that holds, one that does not, and another thread."""
    done = cli("run", "--clock", "instructions", "-f", "none", PROGRAMS / "expects", "instructions")
    assert 0 < int(done.stdout.split("around")[1].split()[0].strip(":=")) < 30
    broken = cli("run", "--clock", "instructions", "-f", "none", PROGRAMS / "expects", "instructions_broken",
                 status=-signal.SIGABRT)
    lines = [line for line in broken.stderr.splitlines() if "exceeded" in line]
    assert len(lines) == 1
    assert "scope_of_instructions exceeded its limit of 100 instructions: there were " in lines[0]


def test_the_example_of_a_limit(cli):
    done = cli("run", "--clock", "instructions", "-f", "none", EXAMPLES / "instruction_limit")
    assert done.stdout == ("ok: 14 words, 0 complaints\nnot ok: too_slowly may execute 3000 instructions\n"
                           "slowly: 14 words\n")


def test_bench_counts_instructions(cli):
    """Two pairs without a warm-up; the function that has changed, and nothing else."""
    commands = [f"{PROGRAMS / 'instructions'} {percent}" for percent in (0, 1)]
    done = cli("bench", "--instructions", "-i", "-f", "json", "--against", commands[0], *commands[1].split())
    diff = json.loads(done.stdout)
    counts = {row["name"]: row["metrics"]["self_instructions"] for row in diff["rows"]}
    changed = [name for name, count in counts.items() if count["exact"] != "equal" and name != "main"]
    assert diff["pairs"] == 2 and changed == ["encode"]
    assert 1.0095 < counts["encode"]["now"] / counts["encode"]["before"] < 1.0105


def test_bench_says_that_instructions_cannot_be_counted(cli, tmp_path):
    done = cli("bench", "--instructions", "-i", PROGRAMS / "instructions", env={"PATH": str(tmp_path)}, status=2)
    assert "were not counted" in done.stderr and "qemu-x86_64 is not installed" in done.stderr


def test_the_sentence_needs_no_allocations(cli):
    done = cli("run", "--clock", "instructions", "--no-preload", PROGRAMS / "instructions", status=3)
    assert "Most instructions are executed in encode" in done.stderr


def test_the_report_names_unit_and_clock(cli):
    done = cli("run", "--clock", "instructions", PROGRAMS / "instructions", status=3)
    assert "Most instructions are executed in encode" in done.stderr and " instructions\n" in done.stderr
    assert "clock instructions (qemu " in done.stderr and " ns " not in done.stderr and " ms " not in done.stderr


def test_texts_and_the_page_name_the_unit(cli):
    """No text of any section has a time in it, and the columns of the page that are durations say so."""
    report = cli.run("--clock", "instructions", "--section", "all", "--limit", "0", EXAMPLES / "orders", "1").report
    sections = report.values["sections"]
    assert sections["tasks"]["rows"] and sections["loops"]["rows"]
    texts = [value for section in sections.values() for row in section["rows"] for value in row.values()
             if isinstance(value, str)]
    texts += [note for section in sections.values() for note in section.get("notes", [])]
    assert any(re.search(r"\d instructions", text) for text in texts)
    assert [text for text in texts if re.search(r"\d (ns|\u00b5s|ms|s)\b", text)] == []
    cli("run", "--clock", "instructions", "--format", "none", PROGRAMS / "instructions", status=3)
    path = cli.folder / "page.html"
    cli("report", "--format", "html", "--output", path)
    data = json.loads(path.read_text().split('<script id="data" type="application/json">')[1].split("</script>")[0])
    for name, keys in (("timing", {"total_ns", "self_ns", "p50_ns"}), ("stacktree", {"total_ns", "self_ns"}),
                       ("calltree", {"total_ns", "self_ns"})):
        units = {column["key"]: column["unit"] for column in data["sections"][name]["columns"]}
        assert {units[key] for key in keys} == {"instructions"} and "ns" not in units.values(), name


# Times that are times: when a process began is no number of instructions.
TIMES = {"started_ns"}


def durations(values, path=""):
    """Paths to keys of nanoseconds that have a value, but for TIMES."""
    if isinstance(values, list):
        return [found for value in values for found in durations(value, path)]
    if not isinstance(values, dict):
        return []
    own = [f"{path}.{key}" for key, value in values.items()
           if re.search(r"(^|_)ns$", key) and value is not None and key not in TIMES]
    return own + [found for key, value in values.items() for found in durations(value, f"{path}.{key}")]


@pytest.mark.parametrize("command", [(PROGRAMS / "loops", "poll"),
                                     pytest.param((EXAMPLES / "orders", "1"), marks=full),
                                     pytest.param((PROGRAMS / "channels",), marks=full),
                                     pytest.param((PROGRAMS / "values",), marks=full)])
def test_no_number_of_a_report_is_in_nanoseconds(cli, command):
    values = cli.run("--clock", "instructions", *command, status=None).report.values
    assert len(values["sections"]) > 10 and durations(values) == []
    assert durations({"a": [{"b_ns": 1, "started_ns": 2, "c_ns": None}]}) == [".a.b_ns"]
    jsonschema.validate(values, json.loads((SOURCE / "docs/report.schema.json").read_text()))
    assert {row["blocked_turns"] for row in values["sections"]["loops"]["rows"]} <= {None}
    assert values["trust"]["overhead_cpu_instructions"] == 0 and values["trust"]["overhead_share_percent"] == 0


def test_a_run_without_times_has_no_time_range(cli):
    cli("run", "--clock", "instructions", "-f", "none", PROGRAMS / "instructions", status=3)
    for command in (("report",), ("export", "--format", "folded")):
        done = cli(*command, "--from", "20%", status=None)
        assert done.status != 0
        assert "counted instructions, so --from and --to, which are times, do not work" in done.stderr


def test_without_the_emulator_time_is_measured(cli, tmp_path):
    done = cli.run("--clock", "instructions", PROGRAMS / "instructions", status=3, env={"PATH": str(tmp_path)})
    lines = [line for line in done.stderr.splitlines() if "instructions" in line]
    assert len(lines) == 1 and "qemu-x86_64 is not installed (package qemu-user)" in lines[0]
    assert not done.report.values["meta"]["clock"]["kind"].startswith("instructions")


@pytest.mark.parametrize("complaint", ["qemu: unknown option 'plugin'",
                                       pytest.param("Could not load plugin", marks=full),
                                       pytest.param("", marks=full)])
def test_with_an_emulator_without_our_plugins_time_is_measured(cli, tmp_path, complaint):
    fake = tmp_path / "qemu-x86_64"
    fake.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo qemu-x86_64 version 10.0.13 && exit\n'
                    f'echo "{complaint}" >&2\nexit 1\n')
    fake.chmod(0o755)
    done = cli.run("--clock", "instructions", PROGRAMS / "instructions", status=3,
                   env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    lines = [line for line in done.stderr.splitlines() if "instructions" in line]
    assert len(lines) == 1 and lines[0].endswith(complaint or "it does not say why")
    assert not done.report.values["meta"]["clock"]["kind"].startswith("instructions")


def test_an_emulator_that_is_too_old_is_refused(cli, tmp_path):
    """QEMU 6.2 stands still where a plugin is reset, as for the second thread."""
    fake = tmp_path / "qemu-x86_64"
    fake.write_text("#!/bin/sh\necho qemu-x86_64 version 6.2.0\n")
    fake.chmod(0o755)
    done = cli.run("--clock", "instructions", PROGRAMS / "instructions", status=3,
                   env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert "qemu-x86_64 6.2.0 is too old: it must be 7 or newer" in done.stderr
    assert not done.report.values["meta"]["clock"]["kind"].startswith("instructions")


def test_without_hotpath_run_one_line_says_so():
    env = {**os.environ, "HOTPATH": "1", "HOTPATH_CLOCK": "instructions"}
    done = subprocess.run([PROGRAMS / "instructions"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert [line for line in done.stderr.splitlines() if "instructions" in line] == [
        "hotpath: instructions are not counted, but time: HOTPATH_CLOCK=instructions needs "
        "hotpath run --clock instructions"]
    assert "clock instructions (" not in done.stderr


def refuse(*calls):
    """From now on these system calls fail with EPERM, in this process and its children."""
    code = [(0x20, 0, 0, 0)]  # the number of the call
    code += [(0x15, len(calls) - at, 0, number) for at, number in enumerate(calls)]
    code += [(0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x00050001)]
    filters = b"".join(struct.pack("HBBI", *instruction) for instruction in code)
    memory = ctypes.create_string_buffer(filters)
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0


PROCESS_VM, READV = (310, 311), (19,)  # process_vm_readv and process_vm_writev


def sandboxed(tmp_path, calls):
    """Rows of the table of functions, the clock, and what was said, where these calls are refused."""
    out = tmp_path / "report.json"
    done = subprocess.run([BUILD / "bin/hotpath", "run", "--clock", "instructions", "-f", "json", "-o", out,
                           PROGRAMS / "instructions"], capture_output=True, text=True, timeout=120,
                          preexec_fn=lambda: refuse(*calls))
    assert done.returncode == 3, done.stderr
    report = json.loads(out.read_text())
    rows = {row["name"]: row for row in report["sections"]["timing"]["rows"]}
    return rows, report["meta"]["clock"]["kind"], done.stderr


def test_a_sandbox_does_not_hide_the_counts(cli, tmp_path):
    rows, clock, said = sandboxed(tmp_path, PROCESS_VM)
    assert clock.startswith("instructions (qemu ") and "not counted" not in said
    assert numbers(rows)["encode"] == numbers(counted(cli))["encode"]


def test_a_sandbox_that_does_is_named(tmp_path):
    _, clock, said = sandboxed(tmp_path, PROCESS_VM + READV)
    assert not clock.startswith("instructions")
    assert len([line for line in said.splitlines() if "instructions are not counted everywhere" in line]) == 1


@full
def test_the_c_library_is_that_of_the_program(cli):
    done = cli.run("--clock", "instructions", PROGRAMS / "instructions_static", status=3)
    version = platform.libc_ver()[1]
    assert done.report.values["meta"]["clock"]["kind"].endswith(f", glibc {version})")


@pytest.mark.parametrize("byte, value, why", [(4, 1, "another architecture"),
                                              pytest.param(18, 183, "another architecture", marks=full),
                                              (None, None, "rights of another user")])
def test_programs_that_are_executed_natively_are_named(cli, tmp_path, byte, value, why):
    """32-bit, of another machine, and with the rights of its owner. The first program keeps its status."""
    other = tmp_path / "other"
    code = bytearray((PROGRAMS / "unmodified").read_bytes())
    if byte is not None:
        code[byte] = value
    other.write_bytes(code)
    other.chmod(0o755 if byte is not None else 0o4755)
    done = cli.run("--clock", "instructions", "sh", "-c", f"{other} 0; {other} 0; exit 4", status=4)
    lines = [line for line in done.stderr.splitlines() if "which the program executed" in line]
    assert len(lines) == 1 and str(other) in lines[0] and why in lines[0]
    assert hashed(done.report) == []
    named = done.report.values["meta"]["uncounted"]
    assert [(one["program"], why in one["reason"]) for one in named] == [(str(other), True)]
    again = cli.read().values  # also later, and to people
    assert again["meta"]["uncounted"] == named
    assert [warning for warning in again["warnings"] if str(other) in warning and why in warning]
    shown = cli("run", "--clock", "instructions", "sh", "-c", f"{other} 0; exit 4", status=4).stderr
    assert len([line for line in shown.splitlines() if str(other) in line and "are not counted" in line]) == 1


def test_more_programs_than_are_named_are_summed(cli, tmp_path):
    code = bytearray((PROGRAMS / "unmodified").read_bytes())
    code[4] = 1
    for name in "abcdef":
        (tmp_path / name).write_bytes(code)
        (tmp_path / name).chmod(0o755)
    report = cli.run("--clock", "instructions", "sh", "-c", " ; ".join(f"{tmp_path}/{name}" for name in "abcdef"),
                     status=None).report.values
    named = {one["program"] for one in report["meta"]["uncounted"]}
    assert len(named) == 4 and named < {f"{tmp_path}/{name}" for name in "abcdef"}
    assert [line for line in report["warnings"] if "nor those of other programs, executed '2' times" in line]


@full
def test_a_first_program_of_another_machine_runs_as_without_us(cli, tmp_path):
    other = tmp_path / "other"
    code = bytearray((PROGRAMS / "unmodified").read_bytes())
    code[18] = 183
    other.write_bytes(code)
    other.chmod(0o755)
    plain = cli("run", "-f", "none", "--no-stacks", other, status=None)
    done = cli("run", "--clock", "instructions", "-f", "none", other, status=None)
    assert done.returncode == plain.returncode and "not counted, but its time: it is built for" in done.stderr


EXECUTES = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words)
{
    const int file = count > 3 ? open(words[2], O_RDONLY | O_CLOEXEC) : -1;
    if (count > 3 && words[1][0] == 'f')
        fexecve(file, words + 2, environ);
    if (count > 3 && words[1][0] == 's')
        execve("/proc/self/exe", (char *[]){words[0], words[2], NULL}, environ);
    return count == 2 ? 6 : 7;
}
"""


def test_programs_that_are_executed_by_descriptor_are_counted(cli, tmp_path):
    source, program = tmp_path / "executes.c", tmp_path / "executes"
    source.write_text(EXECUTES)
    subprocess.run(["gcc", source, "-o", program], check=True)
    alone = hashed(cli.run("--clock", "instructions", PROGRAMS / "unmodified", "0").report)
    done = cli.run("--clock", "instructions", program, "f", PROGRAMS / "unmodified", "0")
    assert len(alone) == 1 and hashed(done.report) == alone
    again = cli.run("--clock", "instructions", program, "s", "itself", "0", status=6)
    assert "not counted" not in again.stderr


@pytest.fixture
def whole(tmp_path):
    """A statically linked program."""
    program = tmp_path / "whole"
    subprocess.run(["gcc", "-O2", "-static", SOURCE / "tests/programs/unmodified.c", "-o", program, "-pthread"],
                   check=True)
    return program


def test_a_child_without_our_library_has_a_row_that_says_so(cli, whole):
    """Its functions are counted, so its clock is no other one; it has no time that would be the emulator's."""
    values = cli.run("--clock", "instructions", "sh", "-c", f"{whole} 0; {PROGRAMS / 'instructions'}; exit 5",
                     status=5).report.values
    row, = [row for row in values["sections"]["processes"]["rows"] if row["state"] == "outside"]
    assert row["name"].endswith(f"{whole} 0") and row["command"] == f"{whole} 0"
    assert row["reason"].startswith("no library of hotpath is in it: its instructions are in the table of ")
    assert row["elapsed_instructions"] == 0 and row["cpu_ns"] is None
    assert [warning for warning in values["warnings"] if "left out" in warning] == []
    assert ("whole", "hash") in [(row["library"], row["name"]) for row in values["sections"]["functions"]["rows"]]
    assert values["elapsed_instructions"] > 1000000  # that of the programs with the library


@full
def test_statically_linked_programs_that_are_executed_are_counted(cli, whole):
    done = cli.run("--clock", "instructions", "sh", "-c", f"{whole} 0; exit 5", status=5)
    rows = done.report.values["sections"]["functions"]["rows"]
    found = [row["self_instructions"] for row in rows if (row["library"], row["name"]) == ("whole", "hash")]
    assert found and found[0] == pytest.approx(
        hashed(cli.run("--clock", "instructions", PROGRAMS / "unmodified", "0").report)[0], rel=0.1)


def test_a_program_that_is_not_there_is_an_error_as_ever(cli, tmp_path):
    done = cli("run", "--clock", "instructions", tmp_path / "none", status=127)
    assert "cannot run" in done.stderr


def test_a_script_is_named(cli, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 5\n")
    script.chmod(0o755)
    done = cli.run("--clock", "instructions", script, status=5)
    assert "it is a script; run its interpreter" in done.stderr


def test_descriptors_and_limits_are_those_of_the_program(cli, tmp_path):
    """Whichever it uses, also in children; and a limit on files ends nothing."""
    log = tmp_path / "log"
    script = f"exec 3>{log}; (echo one >&3; echo two >&3); ls -l /proc/self/fd"
    done = cli("run", "--clock", "instructions", "--format", "none", "--", "sh", "-c", script)
    plain = subprocess.run(["sh", "-c", script], capture_output=True, text=True).stdout
    numbers_of = lambda text: re.findall(r" (\d+) -> ", text)
    assert log.read_text() == "one\ntwo\n" and numbers_of(done.stdout) == numbers_of(plain)
    limited = cli("run", "--clock", "instructions", "--format", "none", "--", "echo", "hi",
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50 << 20, 50 << 20)))
    assert limited.stdout == "hi\n"


def test_a_program_that_dies_keeps_its_status(cli):
    done = cli.run("--clock", "instructions", PROGRAMS / "instructions", "0", "abort", status=-signal.SIGABRT)
    rows = numbers({row["name"]: row for row in done.report.values["sections"]["timing"]["rows"]})
    assert rows["encode"][0] == 20


def test_a_report_says_which_rows_can_differ(cli):
    sentence = "functions that wait for other threads, such as main, can differ between runs"
    alone, threads = (cli("run", "--clock", "instructions", PROGRAMS / "instructions", *words, status=3).stderr
                      for words in ((), ("0", "threads")))
    assert sentence not in alone and sentence in threads


def test_exports_and_annotate_have_instructions(cli):
    """The sum of a folded export is that of the table, and no format speaks of time."""
    report = cli.run("--clock", "instructions", PROGRAMS / "unmodified", "0").report.values
    rows = report["sections"]["functions"]["rows"]
    folded = cli("export", "--format", "folded", "--of", "instructions").stdout.splitlines()
    counts = {}
    for line in folded:
        path, count = line.rsplit(" ", 1)
        name = path.rpartition(";")[2]
        counts[name] = counts.get(name, 0) + int(count)
    assert counts["hash"] == hashed(Report(report))[0]
    assert sum(counts.values()) == sum(row["self_instructions"] for row in rows)
    speedscope = json.loads(cli("export", "--format", "speedscope", "--of", "instructions").stdout)
    assert [(one["name"], one["unit"]) for one in speedscope["profiles"]] == [("Instructions", "none")]
    firefox = json.loads(cli("export", "--format", "firefox").stdout)
    assert "samples" in {thread["samples"]["weightType"] for thread in firefox["threads"]}
    cli("export", "--format", "perfetto", "--output", "trace")
    trace = exported.perfetto((cli.folder / "trace").read_bytes())["Instructions (1 ns stands for one instruction)"]
    assert sum(weight for _, weight in trace) == sum(counts.values())
    picture = cli("export", "--format", "flamegraph").stdout
    assert ">Instructions<" in picture and f"{counts['hash']} instructions" in picture and " ms" not in picture
    cli("export", "--format", "pprof", "--output", "pprof")
    pprof = gzip.decompress((cli.folder / "pprof").read_bytes())
    assert b"instructions" in pprof and b"executions" in pprof and b"nanoseconds" not in pprof
    if GO is not None:
        asked = subprocess.run([GO, "tool", "pprof", "-top", "pprof"], cwd=cli.folder, capture_output=True,
                               text=True, env=os.environ | {"PPROF_TMPDIR": str(cli.folder)}, check=True).stdout
        assert "Type: instructions\n" in asked and "Duration" not in asked
        assert re.search(rf" of {sum(counts.values())} total", asked)
    refused = cli("export", "--format", "folded", "--of", "cpu", status=None)
    assert refused.status != 0 and "available: instructions" in refused.stderr
    annotated = cli("annotate", "hash", "--assembly", status=None).stdout
    assert f"{counts['hash']} of " in annotated and " instructions, " in annotated and " ms" not in annotated


def hashed(report):
    rows = report.values["sections"]["functions"]["rows"]
    return [row["self_instructions"] for row in rows if (row["library"], row["name"]) == ("unmodified", "hash")]


def test_programs_that_are_executed_are_counted(cli, tmp_path):
    """By a shell, through a script with an argument for its interpreter, and in place of itself."""
    alone = hashed(cli.run("--clock", "instructions", PROGRAMS / "unmodified", "0").report)
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text(f"#! /bin/sh -u\n{PROGRAMS / 'unmodified'} $1\nexec {PROGRAMS / 'instructions'} 0\n")
    outer.write_text(f"{inner} 0\necho status $?\n/nowhere\nexit $?\n")
    inner.chmod(0o755)
    done = cli.run("--clock", "instructions", "sh", outer, status=127)
    assert done.stdout.endswith("status 3\n") and len(alone) == 1 and hashed(done.report) == alone
    rows = {row["name"]: row for row in done.report.values["sections"]["timing"]["rows"]}
    assert numbers(rows)["encode"] == numbers(counted(cli))["encode"]


def test_functions_of_an_unmodified_program_are_counted(cli):
    def functions(percent):
        report = cli.run("--clock", "instructions", PROGRAMS / "unmodified", percent).report.values
        section = report["sections"]["functions"]
        assert "Instructions by function" in section["description"]
        return {(row["library"], row["name"]): row["self_instructions"] for row in section["rows"]}

    before, again, after = functions(0), functions(0), functions(1)
    mine = {key: number for key, number in before.items() if key[0] == "unmodified"}
    assert mine and mine == {key: number for key, number in again.items() if key in mine}
    change = {key: after[key] - number for key, number in mine.items() if after[key] != number}
    hashed = ("unmodified", "hash")
    assert max(change, key=change.get) == hashed
    assert 0.0095 < change[hashed] / before[hashed] < 0.0105
    assert 0 < before["unmodified", "compare"]
