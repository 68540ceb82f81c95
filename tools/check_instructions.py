#!/usr/bin/env python3
"""Checks what `hotpath run --clock instructions` promises with SQLite: rows repeat exactly, one percent more in one
function is named first with one run, and counts are those of callgrind, with and without callees.

    tools/check_instructions.py [--build FOLDER] [--sqlite FOLDER]

The source comes from Debian's archive, or is in FOLDER: sqlite3.c, sqlite3.h and shell.c, as `make sqlite3.c
shell.c` makes them. Takes some minutes. Needs qemu-user, valgrind, gcc and setarch, for the source also make and
tclsh; exits with 77 if something is missing. SPDX-License-Identifier: MIT
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from check_real_code import Skip, download, run, unpack

NEEDED = ["qemu-x86_64", "valgrind", "gcc", "setarch"]
OPTIONS = ["-O1", "-w", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"]
SQL = ("create table t(a integer primary key, b text, c int); insert into t select value, 'text' || "
       "(value * 7919 % 10007), value % 97 from generate_series(1, 3000); create index i on t(b); "
       "select c, count(*), max(b) from t group by c order by 2 desc limit 3;")
WORDS = [":memory:", SQL]
PLANTED = "balance_nonroot"
# Valgrind's CPU lacks what it cannot emulate. Without these, the C library chooses the same functions on both.
SAME_CPU = ("glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-BMI1,-BMI2,-LZCNT,-MOVBE,-ERMS,-FSRM,-RTM,"
            "-SSE4_2,-SSSE3")
MOST_NOISE = 20  # instructions
MOST_BINDING = 2000  # where a library is preloaded, first calls take longer
IN_BOTH = ("sqlite", "libc.so.6")  # the dynamic linker has more to do with a preloaded library
failures = []


def expect(holds, text):
    print(("ok: " if holds else "FAILED: ") + text, flush=True)
    if not holds:
        failures.append(text)


# ----------------------------------------------------------------------------------------------------- programs

def sources_in(folder):
    top = unpack(download("sqlite3", folder), folder / "source")
    built = folder / "built"
    built.mkdir()
    run([top / "configure"], cwd=built)
    run(["make", "sqlite3.c", "shell.c"], cwd=built)
    return built


def plant(source, to):
    """A loop of some rounds in one function. They are a variable, so that the code stays the same."""
    loop = '  { unsigned n, most = how_often; for(n=0; n<most; n++) __asm__ volatile("":"+r"(n)); }\n'
    text, count = re.subn(rf"(\n(?:static )?int {PLANTED}\([^;{{]*\)\{{\n)", rf"\1{loop}", source.read_text(),
                          count=1)
    if count != 1:
        sys.exit(f"{PLANTED} was not found in SQLite's source")
    to.write_text("extern volatile unsigned how_often;\n" + text)


class Sqlite:
    def __init__(self, build, folder, sources):
        self.build, self.folder, self.sources = build, folder, sources
        plant(sources / "sqlite3.c", folder / "planted.c")

    def compile(self, name, is_measured):
        program = self.folder / name / "sqlite.o"
        program.parent.mkdir()
        measured = ["-finstrument-functions"] if is_measured else []
        run(["gcc", *OPTIONS, *measured, f"-I{self.sources}", "-r", self.folder / "planted.c",
             self.sources / "shell.c", "-o", program])
        return program

    def link(self, code, how_often):
        lib = self.build / "lib"
        program = code.parent / str(how_often) / "sqlite"
        program.parent.mkdir()
        (program.parent / "often.c").write_text(f"volatile unsigned how_often = {how_often};\n")
        run(["gcc", code, program.parent / "often.c", "-o", program, f"-L{lib}", f"-Wl,-rpath,{lib}", "-lhotpath",
             "-lm", "-pthread"])
        return program

    def report(self, program, section, env=None, before=()):
        out = self.folder / "report.json"
        run([*before, self.build / "bin/hotpath", "run", "--dir", self.folder, "--clock", "instructions", "-f",
             "json", "-o", out, "--section", section, "--limit", "0", program, *WORDS],
            env=os.environ | (env or {}))
        return json.loads(out.read_text())

    def rows(self, program, section="timing", **how):
        rows = self.report(program, section, **how)["sections"][section]["rows"]
        return {(row.get("library"), row["name"]): (row.get("calls"), row["self_instructions"]) for row in rows}


# ------------------------------------------------------------------------------------------------------- checks

def check_repeats(sqlite, program):
    runs = [sqlite.rows(program) for _ in range(5)]
    expect(len(runs[0]) > 300 and runs == [runs[0]] * 5, f"{len(runs[0])} rows are equal in five runs")
    for title, how in (("3,000 bytes more in the environment", {"env": {"LARGER": "x" * 3000}}),
                       ("setarch -R", {"before": ("setarch", "-R")})):
        other = sqlite.rows(program, **how)
        most = max((abs(other[name][1] - row[1]), name[1]) for name, row in runs[0].items())
        expect(other.keys() == runs[0].keys() and most[0] <= MOST_NOISE,
               f"{title}: no row differs by more than {MOST_NOISE} instructions (at most {most[0]}, in {most[1]})")
    return runs[0]


def check_planted(sqlite, plain, program, rows, section):
    after = sqlite.rows(program, section)
    change = {key: after[key][1] - row[1] for key, row in rows.items() if key in after}
    first = max(change, key=lambda key: abs(change[key]))
    percent = 100 * change[first] / rows[first][1]
    others = sum(abs(number) > MOST_NOISE for number in change.values()) - 1
    expect(first[1] == PLANTED and 0.9 < percent < 1.1,
           f"{section}: one percent more is in {first[1]}: {percent:.2f} %; {others} other rows differ")
    if section == "timing":
        (sqlite.folder / "work.sql").write_text(SQL)
        words = [":memory:", f".read {sqlite.folder}/work.sql"]
        done = subprocess.run([sqlite.build / "bin/hotpath", "bench", "--instructions", "-i", "-n", "1", "--dir",
                               sqlite.folder, "--against", f"{plain} {words[0]} '{words[1]}'", program, *words],
                              capture_output=True, text=True)
        known = {name[1] for name in rows}
        named = [word for word in re.findall(r"\w+", done.stdout.partition("total ")[2]) if word in known]
        expect(named[:1] == [PLANTED], f"bench --instructions names {named[:1]} first")


def counts_of_callgrind(out, is_inclusive):
    """{name: counts}, one for each function of that name; deeper calls of recursive functions are left out."""
    counts = {}
    for line in run(["callgrind_annotate", "--threshold=100", "--auto=no",
                     f"--inclusive={'yes' if is_inclusive else 'no'}", out]).splitlines():
        found = re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+\S*?:([^\s\[]+) \[(?:.*/)?([^/\]]+)\]", line)
        if found and found[3] in IN_BOTH and not (is_inclusive and "'" in found[2]):
            counts.setdefault(found[2].partition("'")[0], []).append(int(found[1].replace(",", "")))
    return counts


def compare(theirs, ours, slack, what):
    both = [name for name in theirs if name in ours and theirs[name] >= 30000]
    worse = {name: f"{theirs[name]} there, {ours[name]} here" for name in both
             if abs(ours[name] - theirs[name]) > max(theirs[name] / 100, slack)}
    expect(len(both) > 50 and not worse,
           f"{what} of {len(both)} functions are within 1 % of callgrind's, but for {worse}")


def check_against_callgrind(sqlite, program):
    out = sqlite.folder / "callgrind.out"
    run(["valgrind", "--tool=callgrind", "--skip-plt=no", f"--callgrind-out-file={out}", program, *WORDS],
        env=os.environ | {"GLIBC_TUNABLES": SAME_CPU})
    own, totals = {}, {}
    report = sqlite.report(program, "functions", env={"GLIBC_TUNABLES": SAME_CPU})
    for row in report["sections"]["functions"]["rows"]:
        if row["library"] in IN_BOTH:
            own[row["name"]] = own.get(row["name"], 0) + row["self_instructions"]
            totals.setdefault(row["name"], []).append(row["total_instructions"])
    compare({name: sum(counts) for name, counts in counts_of_callgrind(out, False).items()}, own, 0,
            "own instructions")
    # Those that are not the only ones of their name have sums of different calls.
    single = {name: counts[0] for name, counts in counts_of_callgrind(out, True).items() if len(counts) == 1}
    ours = {name: counts[0] for name, counts in totals.items() if len(counts) == 1}
    compare(single, ours, MOST_BINDING, "totals")


def check(build, folder, sources):
    sqlite = Sqlite(build, folder, sources)
    code = sqlite.compile("measured", True)
    measured = sqlite.link(code, 0)
    rows = check_repeats(sqlite, measured)
    calls, own = next(row for name, row in rows.items() if name[1] == PLANTED)
    often = round(0.01 * own / calls / 3)  # a round is three instructions
    check_planted(sqlite, measured, sqlite.link(code, often), rows, "timing")
    code = sqlite.compile("plain", False)
    plain = sqlite.link(code, 0)
    functions = sqlite.rows(plain, "functions")
    more = round(0.01 * next(row[1] for name, row in functions.items() if name[1] == PLANTED) / calls / 3)
    check_planted(sqlite, plain, sqlite.link(code, more), functions, "functions")
    check_against_callgrind(sqlite, plain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--sqlite", type=Path)
    given = parser.parse_args()
    missing = [name for name in NEEDED if shutil.which(name) is None]
    folder = Path(tempfile.mkdtemp())
    try:
        if missing:
            raise Skip(f"these programs are missing: {' '.join(missing)}")
        check(given.build.resolve(), folder, given.sqlite.resolve() if given.sqlite else sources_in(folder))
    except Skip as reason:
        print(f"skipped: {reason}")
        return 77
    finally:
        shutil.rmtree(folder)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
