"""Names of code that is in no file: functions of the kernel, where it gives samples and addresses, and code that
programs generate and name in perf maps."""
import math
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from command import cli  # noqa: F401 (a fixture)
from exported import folded
from harness import PROGRAMS, full, pairs, perf_is_allowed, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

GENERATED, KERNEL_TIME = PROGRAMS / "generated", PROGRAMS / "kernel_time"
FEW_SAMPLES = 100


@pytest.fixture
def maps():
    """Maps that programs leave behind, as they should: it is hotpath that reads them afterwards."""
    before = set(Path("/tmp").glob("perf-*.map"))
    yield
    for left in set(Path("/tmp").glob("perf-*.map")) - before:
        if is_of_no_process(left):
            left.unlink(missing_ok=True)


def is_of_no_process(path):
    return not Path("/proc", path.stem.rpartition("-")[2]).exists()


def rows(report):
    return {row.name: row for row in report.rows("functions")}


def tolerance(truth, samples):
    return 4 * math.sqrt(truth * (1 - truth) / samples) + 0.03


def assert_split(done, names=("first of two", "second")):
    found, told = rows(done.report), pairs(done.stdout)
    first, second = (found[name] for name in names)
    assert {first.library, second.library} == {"[JIT]"}
    truth, samples = told["first"] / (told["first"] + told["second"]), first.samples + second.samples
    share = first.total_ns / (first.total_ns + second.total_ns)
    assert samples > FEW_SAMPLES and abs(share - truth) < tolerance(truth, samples), (share, truth, samples)
    return found


# ------------------------------------------------------------------------------------------------ generated code


def test_names_of_generated_code(cli, maps):
    done = cli.run(GENERATED, "named", 250)
    found = assert_split(done)
    assert found["main"].total_ns >= found["first of two"].total_ns + found["second"].total_ns
    totals = done.report.values["sections"]["functions"]["totals"]
    assert totals["whole"] > 0.95 * totals["samples"]
    assert "[code in no file]" not in found
    assert cli("annotate", "second", status=1).stderr == "hotpath: second has no source file\n"
    assert "second is not in a file" in cli("annotate", "second", "--assembly", status=1).stderr
    assert cli.read().values["sections"]["functions"] == done.report.values["sections"]["functions"]


def test_the_last_line_counts(cli, maps):
    found = assert_split(cli.run(GENERATED, "renamed", 250))
    assert not {"old", "older"} & set(found)


def test_a_forked_child_runs_what_its_parent_named(cli, maps):
    assert_split(cli.run(GENERATED, "forked", 250))


def test_generated_code_without_names(cli):
    found = rows(cli.run(GENERATED, "nameless", 150).report)
    assert found["[code in no file]"].samples > FEW_SAMPLES and not found["[code in no file]"].library


def test_two_processes_with_code_at_other_places(cli, maps):
    """A place is a process and an address: two programs may have their code where the other has something else."""
    cli.run("sh", "-c", f"{GENERATED} named 120 & {GENERATED} renamed 120 & wait")
    found = rows(cli.read())
    assert found["first of two"].samples > found["second"].samples > 0


def confined():
    """A command before one that gives it its own processes and its own /tmp."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return None
    before = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]
    can = subprocess.run([*before, "sh", "-c", "mount -t tmpfs tmpfs /tmp"], capture_output=True, check=False)
    return before if can.returncode == 0 else None


@pytest.fixture
def tmp_shm():
    with tempfile.TemporaryDirectory(prefix="hotpath-test-", dir="/dev/shm") as folder:
        yield folder


def test_in_a_container(cli, tmp_shm):
    """Its pid and its /tmp are its own, and both are gone when it has ended."""
    before = confined()
    if before is None:
        pytest.skip("this needs root, unshare and the right to mount")
    program = shutil.copy(GENERATED, tmp_shm)  # the build folder may be below /tmp
    assert_split(cli.run(*before, "sh", "-c", f"mount -t tmpfs tmpfs /tmp && {program} named 250"))


# ------------------------------------------------------------------------------------------------ real programs

FIB_JS = "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }\nfib(35)\n"
FIB_JAVA = """public class Fib {
    static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] words) { System.out.println(fib(41)); }
}
"""
LOOP_PHP = """<?php
function mixed($n) { for ($at = 0, $sum = 0; $at < $n; $at++) $sum = ($sum + $at * $at) % 1000003; return $sum; }
for ($round = 0; $round < 300; $round++) $all = mixed(100000);
"""
JAVA_OPTIONS = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer"]
PHP_SETTINGS = ("file_update_protection=0", "jit_debug=16", "enable_cli=1", "jit=tracing", "jit_buffer_size=64M")
PHP_OPTIONS = [word for option in PHP_SETTINGS
               for word in ("-d", f"opcache.{option}")]


def need(program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def share_of(report, is_wanted):
    """Of the CPU time, in functions of generated code with such names."""
    totals = report.values["sections"]["functions"]["totals"]
    wanted = [row.self_ns for row in report.rows("functions") if row.library == "[JIT]" and is_wanted(row.name)]
    return sum(wanted) / totals["cpu_ns"]


def test_functions_of_node(cli, maps, tmp_path):
    need("node")
    (tmp_path / "fib.js").write_text(FIB_JS)
    report = cli.run("node", "--perf-basic-prof", tmp_path / "fib.js").report
    assert share_of(report, lambda name: "fib " in name and "fib.js" in name) > 0.3


@full  # node has such a table, too
def test_functions_of_java(cli, maps, tmp_path):
    need("java")
    need("javac")
    (tmp_path / "Fib.java").write_text(FIB_JAVA)
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "Fib.java"], check=True)
    report = cli.run("java", "-Xshare:auto", *JAVA_OPTIONS, "-cp", tmp_path, "Fib").report
    assert share_of(report, lambda name: "Fib" in name and "fib" in name) > 0.3


def test_functions_of_php(cli, maps, tmp_path):
    need("php")
    (tmp_path / "loop.php").write_text(LOOP_PHP)
    report = cli.run("php", *PHP_OPTIONS, tmp_path / "loop.php").report
    assert share_of(report, lambda name: "mixed" in name) > 0.3


@pytest.mark.parametrize("program, words, option", [
    ("node", ["-e", "for (let at = 0, sum = 0; at < 1e8; at++) sum = (sum * 31 + at) | 0"], "--perf-basic-prof")])
def test_the_option_that_gives_names_is_said(cli, program, words, option):
    need(program)
    done = cli("run", "--section", "functions", program, *words)
    assert f"[code in no file] is generated by {program}, which names it with {option}" in done.stderr


# ------------------------------------------------------------------------------------------------ the kernel


def need_kernel(report):
    if report.values["sections"]["functions"]["totals"]["kernel_ns"] == 0:
        pytest.skip("the kernel gives no samples of its own time here")
    if not any(row.library == "[kernel]" for row in report.rows("functions")):
        pytest.skip("the kernel does not tell the addresses of its functions here")


def callers(cli, callee):
    """By the functions that call it, the weights of its stacks; and the weight of all."""
    found, everything = {}, 0
    for names, weight in folded(cli("export", "--format", "folded").stdout):
        everything += weight
        if callee in names:
            caller = names[names.index(callee) - 1]
            found[caller] = found.get(caller, 0) + weight
    return found, everything


def test_page_faults_are_below_what_touched_the_memory(cli):
    done = cli.run(KERNEL_TIME, "faults", 300)
    need_kernel(done.report)
    found, told = rows(done.report), pairs(done.stdout)
    fault, touch = found["[kernel: page fault]"], found["touch"]
    # The way into the kernel and back is part of this, and in samples of the instruction that takes the fault.
    truth = told["kernel"] / told["all"]
    assert abs(fault.total_ns / touch.total_ns - truth) < 0.2, (fault.total_ns, touch.total_ns, truth)
    assert fault.total_ns > 0.9 * (fault.total_ns + sum(
        row.self_ns for name, row in found.items() if name.startswith("[kernel: page faults and")))
    of, _ = callers(cli, "[kernel: page fault]")
    assert of["touch"] > 0.95 * sum(of.values())


def test_functions_of_the_kernel_are_below_system_calls(cli):
    done = cli.run(KERNEL_TIME, "bytes", 300)
    need_kernel(done.report)
    found, told = rows(done.report), pairs(done.stdout)
    call = found["[kernel: pwrite64]"]
    assert call.self_ns < 0.1 * call.total_ns and call.user_ns == 0
    assert call.total_ns <= found["write_bytes"].total_ns
    assert 0.9 < found["write_bytes"].total_ns / told["all"] < 1.2
    below = [row for row in found.values() if row.library == "[kernel]"]
    assert sum(row.self_ns for row in below) > 0.9 * call.total_ns > 0.3 * told["all"]
    assert {row.user_ns for row in below} == {0}
    of, everything = callers(cli, "vfs_write")
    assert sum(of.values()) > 0.2 * everything


def test_without_the_names_of_the_kernel(cli):
    """Little of it is not worth reading them: then its time is that of the system call, as ever."""
    done = cli.run(PROGRAMS / "stacked", "split", 200)
    assert not any(row.library == "[kernel]" for row in done.report.rows("functions"))
