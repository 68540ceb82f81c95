"""Three real programs under `hotpath run` and under other profilers: time, memory, disk, and what each says first.

    profilers.py BUILD [--runs N]

Each profiler runs as its manual proposes for a first look, then its own command prints the result; both are timed.
All ways take turns, N times (5); the table has medians. Time is elapsed, relative to the program alone; CPU time is
that of the program and its profiler. Memory is the largest process. The answer is the first row that is no title.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 5
WORDS = "0123456789abcdef" * 4
INSERTS = "".join("insert into visits values(%d, 'page %d');\n" % (i, i) for i in range(400))
MATCH = """
my ($found, $text) = (0, join(' ', map { $_ * 7919 % 104729 } 1 .. 40000));
for my $digit (0 .. 9) { for (1 .. 4) { $found++ while $text =~ /\\b(\\d*$digit\\d)\\b/g } }
print "$found\\n";
"""
# What is run, its standard input, what the answer is.
PROGRAMS = (
    ("sqlite3, 400 inserts", ["sqlite3", "app.db"], INSERTS, "it waits for the disk"),
    ("perl, regular expressions", ["perl", "match.pl"], "", "it computes"),
    ("xz -T2 of 24 MB", ["xz", "-T2", "-1", "-k", "-f", "text"], "", "two threads compute"),
)


class Profiler:
    """How a profiler is started, how it prints its result, and how its answer is found in that."""

    def __init__(self, name, record, report, answer, files):
        self.name, self.record, self.report, self.answer, self.files = name, record, report, answer, files

    def is_there(self):
        return not self.record or shutil.which(self.record[0]) is not None


def first_row(pattern):
    """The named groups of the first line that matches, joined."""
    def find(text):
        found = re.search(pattern, text, re.M)
        return " ".join(word.strip() for word in found.groups()) if found else "nothing"
    return find


def verdict(text):
    """The first sentence below the title."""
    lines = [line for line in text.splitlines()[1:] if line]
    return lines[0] if lines else "nothing"


def profilers(hotpath):
    return (
        Profiler("alone", [], None, None, []),
        Profiler("hotpath run", [hotpath, "run", "--output", "hotpath.txt"], ["cat", "hotpath.txt"], verdict,
                 ["hotpath.txt"]),
        Profiler("perf record -g", ["perf", "record", "-q", "-g", "-o", "perf.data", "--"],
                 ["perf", "report", "-i", "perf.data", "--stdio", "--no-children", "-g", "none"],
                 first_row(r"^ +(\d+\.\d+%) +\S+ +\S+ +\[.\] (\S+)"), ["perf.data"]),
        Profiler("uftrace record", ["uftrace", "record", "--force", "-d", "uftrace.data"],
                 ["uftrace", "report", "-d", "uftrace.data", "-s", "self"],
                 first_row(r"^ +[\d.]+ +[a-z]+ +([\d.]+ +[a-z]+) +\d+ +(.*)$"), ["uftrace.data"]),
        Profiler("heaptrack", ["heaptrack", "-o", "heaptrack"],
                 ["heaptrack_print", "-p", "0", "-T", "0", "-l", "0", "heaptrack.zst"],
                 first_row(r"^MOST CALLS TO .*\n(\d+ calls to allocation functions) with .*\n(\S+)"),
                 ["heaptrack.zst"]),
        Profiler("valgrind --tool=callgrind",
                 ["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=callgrind.out"],
                 ["callgrind_annotate", "callgrind.out"],
                 first_row(r"^ *[\d,]+ \( ?([\d.]+%)\) +\S+?:(\S+) \["), ["callgrind.out"]),
    )


def on_disk(path):
    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(path) for name in names)
    return os.path.getsize(path) if os.path.exists(path) else 0


def run(command, text, folder):
    """(seconds elapsed, seconds of CPU time, bytes of the largest process, what it wrote)"""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as written:
        given.write(text.encode())
        given.seek(0)
        begin = time.monotonic()
        child = subprocess.Popen(command, cwd=folder, stdin=given, stdout=written, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        took = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit("profilers.py: '%s' ended with status %d" % (" ".join(command), child.returncode))
        written.seek(0)
        return took, used.ru_utime + used.ru_stime, used.ru_maxrss << 10, written.read().decode(errors="replace")


def prepare(folder):
    """The data of all programs, the same for each run."""
    for name in ("app.db", "app.db-journal", "text.xz"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    subprocess.run(["sqlite3", "app.db", "create table visits(id, page)"], cwd=folder, check=True)
    if os.path.exists(os.path.join(folder, "text")):
        return
    with open(os.path.join(folder, "match.pl"), "w") as file:
        file.write(MATCH)
    with open(os.path.join(folder, "text"), "w") as file:
        for number in range(1 << 19):
            file.write("%-16d%s\n" % (number * 2654435761 % 4294967296, WORDS[number % 31:][:29]))


def measure(profiler, command, text, folder):
    """One run: what it took, what its report took, what the answer is."""
    prepare(folder)
    for name in profiler.files:
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)
    took, cpu, memory, _ = run(profiler.record + command, text, folder)
    written = sum(on_disk(os.path.join(folder, name)) for name in profiler.files)
    if profiler.report is None:
        return took, cpu, memory, written, 0.0, ""
    looked, _, _, report = run(profiler.report, "", folder)
    return took, cpu, memory, written, looked, profiler.answer(report)


def program_rows(ways, title, command, text, truth, runs):
    found = {way.name: [] for way in ways}
    with tempfile.TemporaryDirectory(prefix="hotpath-bench-", dir="/var/tmp") as folder:
        for _ in range(runs):
            for way in ways:
                found[way.name].append(measure(way, command, text, folder))
    alone = [statistics.median(values) for values in list(zip(*found["alone"]))[:3]]
    yield ("%s: %s" % (title, truth), "%.2f s" % alone[0], "%.2f s" % alone[1], "%.0f MB" % (alone[2] / 1e6),
           "", "", "")
    for way in ways[1:]:
        numbers = list(zip(*found[way.name]))[:5]
        took, cpu, memory, written, looked = (statistics.median(values) for values in numbers)
        yield (way.name, "%.2f x" % (took / alone[0]), "%.2f x" % (cpu / alone[1]), "%.0f MB" % (memory / 1e6),
               "%.1f MB" % (written / 1e6), "%.1f s" % looked, found[way.name][-1][5].replace("|", "\\|"))


def rows(build, runs=RUNS):
    hotpath = os.path.abspath(os.path.join(build, "bin", "hotpath"))
    ways = [way for way in profilers(hotpath) if way.is_there()]
    yield ("program", "elapsed", "CPU time", "largest process", "on disk", "to look at it", "what it says first")
    for title, command, text, truth in PROGRAMS:
        if shutil.which(command[0]) is None:
            yield (title, "skipped: %s is not installed" % command[0], "", "", "", "", "")
        else:
            yield from program_rows(ways, title, command, text, truth, runs)
    for way in profilers(hotpath):
        if not way.is_there():
            yield (way.name, "skipped: it is not installed", "", "", "", "", "")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4):
        raise SystemExit(__doc__)
    for row in rows(sys.argv[1], *map(int, sys.argv[3:])):
        print("| " + " | ".join(row) + " |", flush=True)
