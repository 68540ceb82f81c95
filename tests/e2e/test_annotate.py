"""`hotpath annotate`: lines and instructions of a function have the time that the report gives to it and its
callees."""
import os
import platform
import re
import shutil
import subprocess

import pytest

from command import Cli
from exported import Run
from harness import PROGRAMS, SOURCE, WITHOUT_PERF, perf_is_allowed, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(not perf_is_allowed() or platform.machine() not in ("x86_64", "aarch64"),
                                 reason="the kernel lets nobody take stacks here")]

STACKED = SOURCE / "tests/programs/stacked.c"
needs_objdump = pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")


@pytest.fixture(scope="module")
def stacked():
    run = Run(PROGRAMS / "stacked", "split", 300)
    yield run
    run.box.remove()


def lines_of(output):
    """[(self, total, where, text)], percentages 0 if there are none."""
    found = []
    for line in output.splitlines()[4:]:
        match = re.fullmatch(r"(.{8})(.{8})  +([0-9a-f]+)  (.*)", line)
        if match:
            own, total = (float(part.strip(" %") or 0) for part in match.groups()[:2])
            found.append((own, total, match[3], match[4]))
    return found


def function(run, name):
    return next(row for row in run.report.rows("functions") if row.name == name and row.library == "stacked")


def test_lines_include_time_of_callees(stacked):
    """Each with its text, and with the share of the function called there."""
    done = stacked.cli("annotate", "outer")
    outer, heavy, light = (function(stacked, name) for name in ("outer", "heavy", "light"))
    called = {text.strip(): total for _, total, _, text in lines_of(done.stdout) if total}
    assert called["heavy(rounds);"] == pytest.approx(100 * heavy.total_ns / outer.total_ns, abs=0.02)
    assert called["light(rounds);"] == pytest.approx(100 * light.total_ns / outer.total_ns, abs=0.02)
    source = STACKED.read_text().splitlines()
    for _, _, where, text in lines_of(done.stdout):
        assert source[int(where) - 1] == text
    assert STACKED.samefile(re.match(r"outer \((.*), stacked\): ", done.stdout)[1]) and done.stderr == ""


PARTS = """
#include <time.h>
static volatile double sum;
static clock_t now(void) { return clock(); }
__attribute__((noinline)) void first(void) __asm__("spin.part.0");
__attribute__((noinline)) void second(void) __asm__("spin.constprop.0.cold");
void first(void) { for (clock_t end = now() + CLOCKS_PER_SEC / 10; now() < end;) sum += 1; }
void second(void) { for (clock_t end = now() + CLOCKS_PER_SEC / 10; now() < end;) sum += 1; }
__attribute__((noinline))
void dot_avx2(void) { for (clock_t end = now() + CLOCKS_PER_SEC / 10; now() < end;) sum += 1; }
int main(void) { first(); second(); dot_avx2(); }
"""


def test_parts_and_clones_are_one_function(box):
    """Found by its name, and by the symbols of its parts; a program's own variants have the names it gave them."""
    cli = Cli(box)
    (cli.folder / "parts.c").write_text(PARTS)
    subprocess.run(["gcc", "-O1", "parts.c", "-o", "parts"], cwd=cli.folder, check=True)
    done = cli.run("--", cli.folder / "parts")
    ns = {row.name: row.total_ns for row in done.report.rows("functions") if row.library == "parts"}
    assert {name for name in ns if "spin" in name or "dot" in name} == {"spin", "dot_avx2"}
    assert ns["spin"] > ns["dot_avx2"] > 0
    found = {cli("annotate", name, "--assembly").stdout.splitlines()[0]
             for name in ("spin", "spin.part.0", "spin.constprop.0.cold")}
    assert len(found) == 1 and found.pop().startswith("spin (parts): ")
    assert ";spin" in cli("export", "-f", "folded").stdout and "part.0" not in cli("export", "-f", "folded").stdout


def test_own_time_of_lines_adds_up_to_the_function(stacked):
    """Inlined functions have their own lines."""
    done = stacked.cli("annotate", "compute")
    compute = function(stacked, "compute")
    own = sum(line[0] for line in lines_of(done.stdout))
    assert own == pytest.approx(100 * (compute.user_ns + compute.kernel_ns) / compute.total_ns, abs=0.1)


@needs_objdump
def test_instructions(stacked):
    """All instructions, in order; callers are at the call instruction."""
    lines = lines_of(stacked.cli("annotate", "outer", "--assembly").stdout)
    outer, heavy = function(stacked, "outer"), function(stacked, "heavy")
    addresses = [int(where, 16) for _, _, where, _ in lines]
    assert addresses == sorted(addresses)
    calls = {text: total for _, total, _, text in lines if re.search(r"\b(call|bl)\b.*<heavy", text)}
    assert len(calls) == 1
    assert list(calls.values())[0] == pytest.approx(100 * heavy.total_ns / outer.total_ns, abs=0.02)


@needs_objdump
def test_instructions_of_a_program_that_was_replaced(box):
    copy = box.folder() / "copy"
    shutil.copy(PROGRAMS / "stacked", copy)
    run = Run(copy, "split", 50)
    shutil.copy(PROGRAMS / "weights", copy)
    done = run.cli("annotate", "outer", "-a", status=1)
    assert f"'{copy}' has been replaced since the run" in done.stderr
    copy.unlink()
    assert f"cannot read '{copy}'" in run.cli("annotate", "outer", "-a", status=1).stderr
    run.box.remove()


def test_without_objdump(stacked):
    done = stacked.cli("annotate", "outer", "--assembly", env={"PATH": "/nowhere"}, status=1)
    assert "objdump is not installed" in done.stderr and "binutils" in done.stderr


@pytest.mark.parametrize("version", (4, 5))
def test_source_with_a_relative_path(box, version):
    """As with make: "cc -c ../src/program.c". It is found from any folder."""
    folder = box.folder()
    for name in ("src", "build"):
        (folder / name).mkdir()
    shutil.copy(STACKED, folder / "src" / "program.c")
    subprocess.run(["cc", "-g", f"-gdwarf-{version}", "-O2", "-pthread", "-I", STACKED.parent, "../src/program.c",
                    "-o", folder / "program"],
                   check=True, cwd=folder / "build", env=os.environ | {"PWD": str(folder / "build")})
    run = Run(folder / "program", "split", 100)
    done = run.cli("annotate", "outer")
    assert done.stdout.startswith(f"outer ({folder}/build/../src/program.c, program): ") and done.stderr == ""
    assert any(total and text.strip() == "heavy(rounds);" for _, total, _, text in lines_of(done.stdout))
    run.box.remove()


def test_source_changed_or_missing(box):
    folder = box.folder()
    source = folder / "program.c"
    source.write_text(STACKED.read_text())
    subprocess.run(["cc", "-g", "-O2", "-pthread", "-I", STACKED.parent, source, "-o", folder / "program"],
                   check=True)
    run = Run(folder / "program", "split", 100)
    source.write_text("first\n" + source.read_text())
    assert "has changed since the run began; line numbers may be off" in run.cli("annotate", "outer").stderr
    source.unlink()
    done = run.cli("annotate", "outer")
    assert f"cannot read the source '{source}'" in done.stderr
    assert lines_of(done.stdout) and all(text == "" for _, _, _, text in lines_of(done.stdout))
    run.box.remove()


def test_names(stacked):
    """A part of a name is enough if it is unique."""
    assert stacked.cli("annotate", "heav").stdout.startswith("heavy (")
    several = stacked.cli("annotate", "e", status=1).stderr
    assert "functions match 'e': " in several and "compute" in several
    assert "did you mean 'heavy'?" in stacked.cli("annotate", "haevy", status=1).stderr
    assert "no function 'nothing_like_it' in the samples" in stacked.cli(
        "annotate", "nothing_like_it", status=1).stderr
    assert "missing function name" in stacked.cli("annotate", status=2).stderr
    assert "has no waiting in this run" in stacked.cli("annotate", "light", "--waiting", status=1).stderr


def test_no_lines(box):
    """The message says what to do."""
    bare = box.folder() / "bare"
    subprocess.run(["strip", PROGRAMS / "stacked", "-o", bare], check=True)
    run = Run(bare, "split", 100)
    row = max((row for row in run.report.rows("functions") if row.library == "bare"), key=lambda row: row.total_ns)
    told = run.cli("annotate", row.name, status=1).stderr
    assert f"no line numbers for {row.name}: bare has no debug information, or" in told
    assert "-g" in told and "--debuginfod" in told and "--assembly" in told
    run.box.remove()


def test_code_without_a_name_is_called_by_its_program(box):
    """A program that is known by a link to its file: one name everywhere."""
    folder = box.folder()
    subprocess.run(["strip", PROGRAMS / "stacked", "-o", folder / "check-file"], check=True)
    (folder / "server").symlink_to("check-file")
    run = Run(folder / "server", "split", 100)
    row = max((row for row in run.report.rows("functions") if row.library == "server"),
              key=lambda row: row.total_ns)
    assert row.name.startswith("server+0x")
    assert run.cli("annotate", row.name, status=1).stderr.startswith(f"hotpath: no line numbers for {row.name}: ")
    for command in (("report", "--section", "all", "--format", "json"), ("report", "--format", "html"),
                    ("export", "--format", "folded"), ("export", "--format", "flamegraph")):
        text = run.cli(*command).stdout
        assert "server" in text and "check-file+0x" not in text and "check-file [no symbols]" not in text, command
    run.box.remove()


def test_no_lines_of_the_kernel(box):
    cli = Cli(box)
    cli.before = WITHOUT_PERF  # with timers, every user sees its time
    report = cli.run("dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=500000").report
    kernel = next(row.name for row in report.rows("functions") if row.name.startswith("[kernel: ") and row.total_ns)
    assert cli("annotate", kernel, status=1).stderr == f"hotpath: {kernel} has no source file\n"


def test_a_run_without_stacks(box):
    run = Run("--no-stacks", PROGRAMS / "weights")
    assert "this session has no stacks" in run.cli("annotate", "main", status=1).stderr
    run.box.remove()
