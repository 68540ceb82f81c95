"""Callers of functions whose instructions are counted: programs without hotpath, of known work and known calls."""
import os
import re
import shutil
import subprocess

import pytest

from command import cli  # noqa: F401
from harness import EMULATOR, PROGRAMS, SANITIZER, SOURCE, full, with_glibc

pytestmark = [pytest.mark.skipif(bool(SANITIZER or EMULATOR) or shutil.which("qemu-x86_64") is None,
                                 reason="needs qemu-user, and a program that it can run"),
              with_glibc("the plugin needs the C library of this machine's QEMU")]

UNIT = 1000  # instructions
PLAIN = {"outer": 10, "outer inner": 20, "outer inner leaf": 30, "outer leaf": 30}

# Units of each path in a round, or in all, from the first of these functions on.
TRUTHS = {
    "calls": (20, {f"call_plainly {path}": units for path, units in PLAIN.items()}),
    "tail": (20, {"call_tail replaces_itself": 10, "call_tail replaced_by": 40, "call_tail leaf": 30}),
    "longjmp": (20, {"jump_back" + depth * " deeper": 5 for depth in range(1, 5)} |
                {"jump_back": 10, "jump_back after_jump": 50}),
    # Both are resumed in different orders; the first 23 times.
    "coroutines": (1, {"drive resume": 80, "first step_of_first": 230, "first step_of_first yield": 23,
                       "second step_of_second": 510, "second step_of_second yield": 17}),
    "signals": (20, {"interrupted": 10, "interrupted leaf": 30, "interrupted handle": 10,
                     "interrupted handle in_handler": 20}),
    "threads": (60, {f"job call_plainly {path}": units for path, units in PLAIN.items()}),
    "fork": (20, {f"run_child call_plainly {path}": units for path, units in PLAIN.items()}),
}
TRUTHS["other stack"] = TRUTHS["signals"]


def paths_of(cli, *command):
    """{path: instructions}, exact, with a blank between functions."""
    cli.run("--clock", "instructions", *command)
    lines = cli("export", "--format", "folded", "--of", "instructions").stdout.splitlines()
    return {path.replace(";", " "): int(count) for path, count in (line.rsplit(" ", 1) for line in lines)}


def below(paths, first):
    """Of paths with this function: what is from it on."""
    found = {}
    for path, count in paths.items():
        words = path.split()
        if first in words:
            key = " ".join(words[words.index(first):])
            found[key] = found.get(key, 0) + count
    return found


@pytest.mark.parametrize("mode", ["calls", "tail", "longjmp", "coroutines", "signals",
                                  *(pytest.param(mode, marks=full) for mode in ("other stack", "threads", "fork"))])
def test_known_paths(cli, mode):
    rounds, truth = TRUTHS[mode]
    paths = paths_of(cli, PROGRAMS / "callers", mode)
    found = {}
    for first in {path.split()[0] for path in truth}:
        found |= below(paths, first)
    for path, units in truth.items():
        known = units * UNIT * rounds
        assert known <= found.get(path, 0) < known * 1.03 + 1000, (path, found)
    # Nothing else executed much: not the same functions in other places.
    assert {path for path, count in found.items() if count > 5000} <= truth.keys(), found


def test_totals_are_those_of_callees(cli):
    """In the table; and without callers it has none, for half of the cost."""
    def rows_with(*flags):
        report = cli.run("--clock", "instructions", *flags, PROGRAMS / "callers", "calls").report.values
        return {row["name"]: row for row in report["sections"]["functions"]["rows"]}

    rows, without = rows_with(), rows_with("--no-stacks")
    total = {name: rows[name]["total_instructions"] for name in ("call_plainly", "outer", "inner", "leaf")}
    assert total["leaf"] == rows["leaf"]["self_instructions"] == pytest.approx(60 * UNIT * 20, rel=0.001)
    assert total["outer"] == pytest.approx(90 * UNIT * 20, rel=0.001)
    assert total["inner"] == pytest.approx(50 * UNIT * 20, rel=0.001)
    assert total["call_plainly"] > total["outer"] and rows["main"]["total_instructions"] > total["call_plainly"]
    assert all(row["total_instructions"] == row["self_instructions"] for row in without.values())
    assert all(without[name]["self_instructions"] == rows[name]["self_instructions"] for name in total)


@full
def test_paths_are_equal_in_five_runs(cli):
    runs = [below(paths_of(cli, PROGRAMS / "unmodified", "0"), "main") for _ in range(5)]
    assert len(runs[0]) > 10 and runs == [runs[0]] * 5


@full
@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")
def test_a_real_program_that_leaves_calls_is_below_main(cli):
    """Each `die` is a longjmp through many functions of perl, and whatever follows is where it belongs."""
    script = "for (1..3000) { eval { die 1 if $_ % 3 == 0; $h{$_ % 100} .= $_ } } print length $h{7}"
    paths = paths_of(cli, "perl", "-e", script)
    program = {path: count for path, count in paths.items() if path.startswith("_start ")}
    assert sum(program.values()) > 0.9 * sum(paths.values())
    assert sum(count for path, count in program.items() if "main" in path.split()) > 0.999 * sum(program.values())


THROWS = """
struct guard { ~guard() { __asm__ volatile("" ::: "memory"); } };
static void work(unsigned long units)
{
    unsigned long left = units * 500;
    __asm__ volatile("1: dec %0\\n jnz 1b" : "+r"(left)::"cc");
}
__attribute__((noinline)) static void thrower(int depth)
{
    guard one;
    work(10);
    if (depth > 2)
        throw depth;
    thrower(depth + 1);
}
__attribute__((noinline)) static void handler() { work(20); }
__attribute__((noinline)) static void catcher()
{
    try {
        thrower(0);
    } catch (int) {
        handler();
    }
    work(40);
}
int main()
{
    for (int round = 0; round < 20; round++)
        catcher();
}
"""


@full
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_exceptions(cli, tmp_path):
    program = tmp_path / "throws"
    subprocess.run(["g++", "-O1", "-fno-inline", "-x", "c++", "-", "-o", program], input=THROWS, text=True,
                   check=True)
    found = below(paths_of(cli, program), "catcher()")
    own = {}
    for path, count in found.items():
        words = [re.sub(r"\(.*", "", word) for word in path.split() if "(" in word]
        if words[-1] == "work":
            own[" ".join(words)] = count
    known = {"catcher" + depth * " thrower" + " work": 10 for depth in range(1, 5)}
    known |= {"catcher handler work": 20, "catcher work": 40}
    for path, units in known.items():
        assert own[path] == pytest.approx(units * UNIT * 20, rel=0.01), found
    assert own.keys() == known.keys()


# Valgrind's CPU lacks what it cannot emulate. Without these, the C library chooses the same functions on both.
SAME_CPU = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-BMI1,-BMI2,-LZCNT,-MOVBE,-ERMS,"
                              "-FSRM,-RTM,-SSE4_2,-SSSE3"}


def inclusive_of_callgrind(program, folder):
    out = folder / "callgrind.out"
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program], check=True,
                   capture_output=True, env=os.environ | SAME_CPU)
    text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out], capture_output=True,
                          text=True, check=True).stdout
    lines = re.findall(r"^\s*([\d,]+) \(\s*[\d.]+%\)\s+\S*?:([^\s\[]+) \[", text, re.M)
    counts = {}
    for count, name in lines:  # recursive calls: "name'2"
        name = name.partition("'")[0]
        counts[name] = max(counts.get(name, 0), int(count.replace(",", "")))
    return counts


@full
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_totals_are_those_of_callgrind(cli, tmp_path):
    theirs = inclusive_of_callgrind(PROGRAMS / "unmodified", tmp_path)
    report = cli.run("--clock", "instructions", PROGRAMS / "unmodified", env=SAME_CPU).report.values
    ours = {row["name"]: row["total_instructions"] for row in report["sections"]["functions"]["rows"]}
    for name in ("main", "hash", "sort", "compare"):
        counts = [count for their, count in theirs.items() if their.partition(".")[0] == name]
        assert counts and ours[name] == pytest.approx(counts[0], rel=0.01)
