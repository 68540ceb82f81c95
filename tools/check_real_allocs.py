#!/usr/bin/env python3
"""Counts the allocations of third-party programs, and compares with valgrind.

    tools/check_real_allocs.py [--build FOLDER] [--keep] [PROGRAM...]      all without an argument

The programs are unmodified Debian packages. Each runs three times: by itself; with libhotpath_alloc.so of the
build in FOLDER (build/release) preloaded; and under memcheck, which prints the number of allocations and bytes
at its end. (redis-server asks for usable sizes and behaves differently with memcheck's, which are as requested;
heaptrack counts there, which does not report bytes.) For each program:

  - number of allocations and bytes are the same, to within 1 %;
  - output and exit status are the same as without us.

Allowed differences are listed below, with the reason. Takes two minutes, so it is not part of the other tests.
Programs that are not installed are skipped; exits with 77 if none can be tried. SPDX-License-Identifier: MIT
"""
import argparse
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_DIFFERENT = 0.01
PATIENCE = 120  # seconds, for one run


class Skip(Exception):
    pass


# ----------------------------------------------------------------------------------------------------- programs
# Work that is the same every time, with some ten thousand allocations in it.

SQL = """create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
  insert into t select x, printf('%d-%d', x * 7919 % 1000, x) from c;
create index i on t(b);
select count(*), sum(a), min(b), max(b) from t where b like '5%';
select substr(b, 1, 2) k, count(*) from t group by k order by 2 desc, 1 limit 5;
"""

PERL = """my %words; $words{$_ * 7919 % 10007} .= "x$_" for 1 .. 20000;
print join(",", map { length $words{$_} } (sort { $a <=> $b } keys %words)[0 .. 9]), "\\n";
"""

PYTHON = """import re
words = {}
for number in range(10000):
    words.setdefault(str(number * 7919 % 1009), []).append([number])
print(len(words), sum(len(re.findall("[13579]", word)) for word in words))
"""

CMAKE = """foreach(number RANGE 2000)
  math(EXPR square "${number} * ${number} % 1009")
  list(APPEND squares ${square})
endforeach()
list(REMOVE_DUPLICATES squares)
list(SORT squares COMPARE NATURAL)
list(LENGTH squares count)
message(STATUS "${count}")
"""

C = "#include <stdio.h>\n" + "".join(
    f"int f{number}(int x);\nint f{number}(int "
    f"x) {{ return x > {number} ? f{max(number - 1, 0)}(x - 1) : printf(\"%d\", x); }}\n"
    for number in range(100))

COMPRESSIBLE = "".join(f"{number * 7919 % 100003} " for number in range(600000))


def sqlite3(folder):
    (folder / "work.sql").write_text(SQL)
    return ["sqlite3", "-init", "/dev/null", ":memory:", ".read work.sql"]


def repository(folder):
    """A small repository, made by git itself."""
    def git(*words):
        subprocess.run(["git", *words], cwd=folder, env=environment(folder), check=True, stdout=subprocess.DEVNULL)
    if shutil.which("git") is None:
        raise Skip("git is not installed")
    git("init", "-q", "-b", "main", ".")
    for number in range(20):
        (folder / "file").write_text("".join(f"{line * (number + 7) % 997}\n" for line in range(400)))
        git("add", "-A")
        git("commit", "-q", "-m", f"change {number}")


def git_log(folder):
    repository(folder)
    return ["git", "--no-pager", "log", "--stat"]


def git_diff(folder):
    repository(folder)
    return ["git", "--no-pager", "diff", "HEAD~19", "HEAD"]


def perl(_):
    return ["perl", "-e", PERL]


def python3(_):
    return ["/usr/bin/python3", "-S", "-c", PYTHON]


def cmake(folder):
    """C++"""
    (folder / "work.cmake").write_text(CMAKE)
    return ["cmake", "-P", "work.cmake"]


def cc1(folder):
    """The compiler proper: gcc only starts it."""
    (folder / "work.c").write_text(C)
    if shutil.which("gcc") is None:
        raise Skip("gcc is not installed")
    said = subprocess.run(["gcc", "-###", "-O1", "-S", "-o", "-", "work.c"], cwd=folder, capture_output=True,
                          text=True).stderr
    line = next(line for line in said.splitlines() if "cc1 " in line)
    return [word.strip('"') for word in line.split() if word not in ('"-o"', '"-"', "-o", "-")] + ["-o", "work.s"]


def xz(folder):
    """Threads: one frees blocks that another has allocated."""
    (folder / "work").write_text(COMPRESSIBLE)
    return ["xz", "-1", "-T2", "--block-size=100KiB", "--keep", "--stdout", "work"]


def sort(folder):
    (folder / "work").write_text(COMPRESSIBLE.replace(" ", "\n"))
    return ["sort", "--parallel=2", "-n", "-S", "1M", "-T", ".", "work"]


def redis_server(_):
    """With jemalloc after us. ask_redis sends its requests."""
    return ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--hz", "1", "--daemonize", "no"]


PROGRAMS = {"sqlite3": sqlite3, "git log": git_log, "git diff": git_diff, "perl": perl, "python3": python3,
            "cmake": cmake, "cc1": cc1, "xz": xz, "sort": sort, "redis-server": redis_server}


EXCUSES = {"cmake": "constructors of its libraries allocate before ours"}


def ask_redis(folder):
    """As redis-benchmark does, but the same every time: one client, one request after the other."""
    path, connection = str(folder / "socket"), socket.socket(socket.AF_UNIX)
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.connect(path)
            break
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
    with connection, connection.makefile("rb") as answers:
        for number in range(5000):
            connection.sendall(f"SET key{number % 1000} {'x' * (number % 200)}\r\n"
                               f"LPUSH list{number % 10} {number}\r\n"
                               f"INCR counter\r\nHSET hash field{number} {number}\r\n".encode())
            for _ in range(4):
                answers.readline()
        connection.sendall(b"SHUTDOWN NOSAVE\r\n")
        answers.read()


# ------------------------------------------------------------------------------------------------------ running

def environment(folder):
    """Nothing of ours in it, and nothing that makes programs differ from one run to the next."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "0",
            "PYTHONMALLOC": "malloc", "PERL_HASH_SEED": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_AUTHOR_DATE": "1600000000 +0000",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_COMMITTER_DATE": "1600000000 +0000",
            "GIT_TEST_INDEX_VERSION": "2"}


class Result:
    """How a run ended, and what it counted."""

    def __init__(self, name, command, env, folder):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err)
            try:
                if name == "redis-server":
                    ask_redis(folder)
                self.status = process.wait(PATIENCE)
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
            self.process = process.pid
            self.output, self.said = (file.seek(0) or file.read() for file in (out, err))
        self.has_log = name == "redis-server"  # contains the time and the process

    def ended_like(self, other):
        return self.status == other.status and (self.has_log or
                                                (self.output, self.said) == (other.output, other.said))


def memcheck(folder):
    return ["valgrind", "--tool=memcheck", "--leak-check=no", "--undef-value-errors=no", "--run-libc-freeres=no",
            "--run-cxx-freeres=no", f"--log-file={folder}/memcheck-%p"]


def heaptrack(folder):
    if shutil.which("heaptrack") is None:
        raise Skip("heaptrack is not installed")
    return ["heaptrack", "-o", f"{folder}/heaptrack"]


def seen_under_valgrind(env, folder):
    """The environment as a program sees it under valgrind. perl and python allocate for each variable, so our runs
    get the same ones."""
    said = subprocess.run([*memcheck(folder), "env"], env=env, cwd=folder, capture_output=True, text=True,
                          check=True).stdout
    return dict(line.split("=", 1) for line in said.splitlines())


def number_in(pattern, text):
    found = re.search(pattern, text)
    if found is None:
        raise Skip(f"nothing is said about the heap: {text[-200:]}")
    return int(found.group(1).replace(",", ""))


def count_of_memcheck(result, folder):
    said = (folder / f"memcheck-{result.process}").read_text()
    return number_in(r"heap usage: ([\d,]+) allocs", said), number_in(r"frees, ([\d,]+) bytes allocated", said)


def count_of_heaptrack(result, _):
    return number_in(r"allocations:\s+(\d+)", result.said.decode()), None


def count_of_hotpath(path):
    totals = json.loads(path.read_text())["sections"]["alloc-bytes"]["totals"]
    return totals["allocations"], totals["requested_bytes"]


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


# ------------------------------------------------------------------------------------------------------ checking

def difference(ours, theirs):
    """As a part of theirs; empty if they do not know."""
    return 0.0 if theirs is None else (ours - theirs) / theirs


def compared(ours, theirs):
    """Three cells."""
    if theirs is None:
        return f"{ours:,}", "-", ""
    return f"{ours:,}", f"{theirs:,}", f"{100 * difference(ours, theirs):+.3f} %"


def verdict_on(name, is_right, is_alike):
    counts = "same counts" if is_right else f"different: {EXCUSES[name]}" if name in EXCUSES else "DIFFERENT COUNTS"
    return counts + ("" if is_alike else ", ENDED DIFFERENTLY")


def check(name, library, folder):
    """A row of the table, and whether all is well. The working folder has the same path each time: programs
    allocate for that, too."""
    work = folder / "work"
    command = PROGRAMS[name](fresh(work))
    if shutil.which(command[0], path="/usr/bin:/bin") is None:
        raise Skip(f"{command[0]} is not installed")
    counter, count_there = (heaptrack, count_of_heaptrack) if name == "redis-server" else (
        memcheck, count_of_memcheck)
    env = environment(work) | {"HOTPATH_OUTPUT_FORMAT": "json",
                               "HOTPATH_OUTPUT_PATH": str(folder / "report-%p.json"),
                               "HOTPATH_DIR": str(folder), "HOTPATH": "0"}

    def result(before, env):
        PROGRAMS[name](fresh(work))
        return Result(name, [*before, *command], env, work)

    alone = result([], env)
    theirs = result(counter(folder), env)
    ours = result([], seen_under_valgrind(env, folder) | {"LD_PRELOAD": str(library), "HOTPATH": "1"})
    here, there = count_of_hotpath(folder / f"report-{ours.process}.json"), count_there(theirs, folder)
    is_right = all(abs(difference(*pair)) <= MOST_DIFFERENT for pair in zip(here, there))
    is_alike = ours.ended_like(alone)
    row = (name, *compared(here[0], there[0]), *compared(here[1], there[1]), verdict_on(name, is_right, is_alike))
    return row, (is_right or name in EXCUSES) and is_alike


def print_table(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) if at in (0, len(row) - 1) else cell.rjust(width)
                        for at, (cell, width) in enumerate(zip(row, widths))).rstrip())


def check_all(names, library, folder):
    rows = [("program", "allocations", "theirs", "", "bytes", "theirs", "", "")]
    results = []
    for name in names:
        try:
            row, is_good = check(name, library, fresh(folder / name.replace(" ", "-")))
            rows.append(row)
            results.append(is_good)
        except Skip as reason:
            print(f"{name}: skipped: {reason}")
    print_table(rows)
    if not results:
        raise Skip("no program could be tried")
    return all(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    arguments = parser.parse_args()
    unknown = set(arguments.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    folder = Path(tempfile.mkdtemp(prefix="hotpath-allocs-"))
    try:
        library = (arguments.build / "lib" / "libhotpath_alloc.so").resolve()
        if shutil.which("valgrind") is None:
            raise Skip("not installed: valgrind")
        if not library.exists():
            raise Skip(f"there is no build in {arguments.build}; make one with ./dev build")
        return 0 if check_all(arguments.programs or PROGRAMS, library, folder) else 1
    except Skip as reason:
        print(f"skipped: {reason}")
        return 77
    finally:
        if arguments.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
