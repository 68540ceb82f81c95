#!/usr/bin/env python3
"""What counting instructions costs: CPU time of a program natively, under QEMU alone, with the clock, with counts
of each block of code, too, and with callers. The least of some runs that take turns, so that all see the same
machine.

usage: instructions.py BUILD [RUNS] [--sqlite FOLDER]

FOLDER has sqlite3.c, sqlite3.h and shell.c, as 'make sqlite3.c shell.c' makes them of SQLite's source: then SQLite
is measured, too: unmodified, and compiled with -finstrument-functions, with hotpath and with hooks that do nothing.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.abspath(__file__))
QEMU = ["qemu-x86_64", "-cpu", "max,-erms"]
ROUNDS = {1: "10000", 4: "3000"}  # of bench/counted.c, by number of threads
SQL = ("create table t(a integer primary key, b text, c int); insert into t select value, 'text' || "
       "(value * 7919 % 10007), value % 97 from generate_series(1, {}); create index i on t(b); "
       "select c, count(*), max(b) from t group by c order by 2 desc limit 3;")
ROWS = ("30000", "200000")  # QEMU translates SQLite in 0.1 to 0.3 s: much of the first, little of the second
HOOKS = "void __cyg_profile_func_{0}(void *of, void *by) {{ (void)of, (void)by; }}\n"


def cpu_time(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least_of(ways, runs, folder):
    least = {}
    for _ in range(runs):
        for way, command in ways.items():
            least[way] = min(cpu_time(command), least.get(way, 1e9))
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
    return least


def counting(build, folder, arguments):
    """As hotpath run does it, without its own work before and after. The folder is one of a run: no report."""
    plugin = os.path.join(build, "lib", "hotpath", "hotpath_qemu.so")
    variables = {"HOTPATH": "1", "HOTPATH_CLOCK": "instructions", "HOTPATH_RUN": "1", "HOTPATH_DIR": folder}
    return [*QEMU, "-plugin", plugin + arguments,
            *(word for name, value in variables.items() for word in ("-E", f"{name}={value}"))]


def ways_of(build, folder, plain, measured, words):
    library = os.path.join(build, "lib", "libhotpath_preload.so")
    preload = ["-E", "LD_PRELOAD=" + library] if plain == measured else []
    return {"native": [plain, *words], "QEMU alone": [*QEMU, plain, *words],
            "clock": [*counting(build, folder, ""), *preload, measured, *words],
            "and counts": [*counting(build, folder, f",folder={folder},callers=no"), *preload, measured, *words],
            "and callers": [*counting(build, folder, f",folder={folder}"), *preload, measured, *words]}


def print_row(title, least):
    print(f"| {title} | {least['native']:.3f} s | " +
          " | ".join(f"× {least[way] / least['native']:.1f}" if way in least else "-"
                     for way in ("QEMU alone", "clock", "and counts", "and callers")) + " |", flush=True)


def compile_with_hotpath(build, sources, program, *options):
    lib = os.path.join(build, "lib")
    subprocess.run(["gcc", "-w", *options, f"-I{SOURCE}/../include", *sources, "-o", program, f"-L{lib}",
                    "-lhotpath", f"-Wl,-rpath,{lib}", "-pthread", "-lm"], check=True)


def measure_threads(build, runs, place, folder):
    plain, measured, source = f"{place}/plain", f"{place}/measured", f"{SOURCE}/counted.c"
    subprocess.run(["gcc", "-O2", f"-I{SOURCE}/../include", source, "-o", plain, "-pthread"], check=True)
    compile_with_hotpath(build, [source], measured, "-O2", "-DHOTPATH")
    for threads, rounds in ROUNDS.items():
        least = least_of(ways_of(build, folder, plain, measured, [str(threads), rounds]), runs, folder)
        print_row(f"twenty zones, {threads} thread{'s' if threads > 1 else ''}", least)


def measure_sqlite(build, runs, place, folder, sqlite):
    options = ["-O1", "-w", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", f"-I{sqlite}"]
    sources = [f"{sqlite}/sqlite3.c", f"{sqlite}/shell.c"]
    plain, measured, idle = (f"{place}/{name}" for name in ("sqlite", "sqlite_measured", "sqlite_idle"))
    with open(f"{place}/hooks.c", "w", encoding="utf-8") as hooks:
        hooks.write(HOOKS.format("enter") + HOOKS.format("exit"))
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", f"{place}/hooks.c", "-o", f"{place}/libhooks.so"], check=True)
    subprocess.run(["gcc", *options, *sources, "-o", plain, "-lm"], check=True)
    subprocess.run(["gcc", *options, "-finstrument-functions", *sources, "-o", idle, f"-L{place}", "-lhooks",
                    f"-Wl,-rpath,{place}", "-lm"], check=True)
    compile_with_hotpath(build, sources, measured, *options, "-finstrument-functions")
    for rows in ROWS:
        words = [":memory:", SQL.format(rows)]
        print_row(f"SQLite, {rows} rows, unmodified",
                  least_of(ways_of(build, folder, plain, plain, words), runs, folder))
        ways = ways_of(build, folder, plain, measured, words)
        print_row("measured by the compiler", least_of(ways, runs, folder))
        ways = {"native": [plain, *words], "QEMU alone": [*QEMU, idle, *words]}
        print_row("with hooks that do nothing", least_of(ways, runs, folder))


def main():
    words = sys.argv[1:]
    sqlite = words.pop(words.index("--sqlite") + 1) if "--sqlite" in words else None
    words = [word for word in words if word != "--sqlite"]
    build, runs = os.path.abspath(words[0]), int(words[1]) if len(words) > 1 else 3
    place = tempfile.mkdtemp()
    folder = tempfile.mkdtemp(dir="/dev/shm", suffix=".run")
    print(f"load before: {os.getloadavg()[0]:.1f}\n")
    print("| program | native | QEMU alone | clock | and counts | and callers |")
    print("| --- | --- | --- | --- | --- | --- |")
    try:
        measure_threads(build, runs, place, folder)
        if sqlite is not None:
            measure_sqlite(build, runs, place, folder, os.path.abspath(sqlite))
    finally:
        shutil.rmtree(place)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
