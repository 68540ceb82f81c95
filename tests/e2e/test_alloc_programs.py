"""Third-party programs under hotpath run, with counted allocations: they write the same and end the same way."""
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harness import HOTPATH, TIMEOUT, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_sanitizer("it has malloc for itself"), without_emulator("they are programs of this machine"),
              with_glibc("they are programs of this machine")]

SQL = """create table t(a integer primary key, b text);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 20000)
insert into t select x, hex(x * 7919) from n;
create index i on t(b);
select count(*), sum(length(b)), min(b), max(b) from t where b like '3%';
select b, count(*) from t group by substr(b, 1, 2) order by 2 desc, 1 limit 20;
select nosuch from t;
"""

PYTHON = """
import json, re, subprocess, sys, threading, zlib
words = {str(i): [i, {"x": i * 0.5}] for i in range(20000)}
text = json.dumps(words)
print(len(text), zlib.crc32(text.encode()), len(re.findall("9+", text)))
threads = [threading.Thread(target=lambda: sorted(range(20000), key=str)) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(subprocess.run(["sh", "-c", "echo $LD_PRELOAD-; exit 4"], capture_output=True))
sys.exit(3)
"""

PERL = r"""my %h; $h{$_ % 977} .= "x$_" for 1 .. 200000;
my @k = sort { length $h{$a} <=> length $h{$b} or $a <=> $b } keys %h;
print "$k[0] $k[-1] ", scalar(@k), "\n"; my $out = `echo child`; print $out;
if (my $p = fork) { waitpid $p, 0; print $? >> 8, "\n" }
else { my @copy = map { $_ . "y" } values %h; exit @copy % 200 } die "the end\n";"""

C = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct list { struct list *next; char text[32]; };
int main(void) { struct list *first = NULL; for (int i = 0; i < 1000; i++) { struct list *one = malloc(sizeof *one);
one->next = first; snprintf(one->text, sizeof one->text, "%d", i); first = one; } size_t n = 0;
for (; first; first = first->next) n += strlen(first->text); return printf("%zu\\n", n) < 0; }
"""


class Bench:
    """Runs a command by itself and under hotpath run, in separate folders."""

    def __init__(self, box):
        self.box = box

    def run(self, folder, command, stdin, measured, options):
        report = self.box.path / "report.json"
        report.unlink(missing_ok=True)
        before = [HOTPATH, "run", "--format", "json", "--output", report, *options, "--"] if measured else []
        env = self.box.environment(self.box.path, {"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None,
                                                   "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"})
        done = subprocess.run([str(part) for part in [*before, *command]], cwd=folder, env=env, input=stdin,
                              text=True, capture_output=True, timeout=TIMEOUT * 3)
        return done, json.loads(report.read_text()) if report.exists() else None

    def same(self, *command, stdin="", files=None, options=()):
        """Both wrote the same, and the same files; the counts are plausible. Yields the report."""
        seen = []
        for measured in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                for name, content in (files or {}).items():
                    (Path(folder) / name).write_text(content)
                done, report = self.run(Path(folder), command, stdin, measured, options)
                left = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*"))
                        if path.is_file() and not path.is_symlink() and ".git/" not in str(path)}
                errors = re.sub(r"^hotpath: \d+ samples a second take .*\n", "", done.stderr)  # for a high rate
                seen.append((done.returncode, done.stdout.replace(folder, "FOLDER"),
                             errors.replace(folder, "FOLDER"), left))
        assert seen[0] == seen[1] and (seen[0][1] or seen[0][3])
        return report


@pytest.fixture
def bench(box):
    return Bench(box)


def need(program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def check(report, at_least):
    """More was allocated than these programs need at least, and what was freed had been allocated."""
    totals = report["sections"]["alloc-bytes"]["totals"]
    assert totals["allocations"] >= at_least and totals["requested_bytes"] >= totals["allocations"]
    assert 0 < totals["freed_blocks"] <= totals["allocations"] + 100  # those from before the session are freed, too
    return report


def test_sqlite3(bench):
    need("sqlite3")
    check(bench.same("sqlite3", "file.db", stdin=SQL), 10000)


def test_python(bench):
    check(bench.same(sys.executable, "-c", PYTHON, options=["--no-children"]), 1000)


def test_perl(bench):
    need("perl")
    check(bench.same("perl", "-e", PERL, options=["--no-children"]), 1000)


def test_git(bench):
    """With all its children."""
    need("git")
    script = """set -e
        git init -q -b main . && git config user.name A && git config user.email a@example.org
        export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
        for i in 1 2 3 4 5; do seq $i 3000 > file$i; git add . && git commit -qm "commit $i"; done
        git repack -adq && git gc -q && git fsck && git log --stat | cat &&
        git diff HEAD~3 | wc && git blame file2 | tail -3
        git nosuch"""
    check(bench.same("sh", "-c", script), 10000)


def test_gcc(bench):
    """Its work is done by child processes."""
    report = bench.same("gcc", "-O2", "-Wall", "-o", "program", "file.c", files={"file.c": C})
    commands = [row["command"].split()[0].rsplit("/", 1)[-1]
                for row in check(report, 1000)["sections"]["processes"]["rows"]]
    assert {"gcc", "cc1", "as"} <= set(commands)
    check(bench.same("gcc", "-c", "file.c", files={"file.c": C}), 10)


# ------------------------------------------------------------------------------------------------------------ redis

def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Redis:
    """A server, with a prefix for its command, that answers requests and must end normally."""

    def __init__(self, box, before):
        need("redis-server")
        self.port = str(free_port())
        command = [*before, "redis-server", "--port", self.port, "--save", "", "--dir", box.path]
        self.server = subprocess.Popen([str(part) for part in command],
                                       env=box.environment(box.path, {
                                           "HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None}),
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def ask(self, *arguments):
        return subprocess.run(["redis-cli", "-p", self.port, *arguments], capture_output=True, text=True,
                              timeout=TIMEOUT).stdout

    def benchmark(self, tests):
        for _ in range(500):
            if self.ask("ping") == "PONG\n":
                break
            time.sleep(0.02)
        done = subprocess.run(["redis-benchmark", "-p", self.port, "-q", "-n", "5000", "-c", "20", "-t", tests],
                              check=True, capture_output=True, text=True, timeout=TIMEOUT * 2)
        assert self.ask("set", "a", "b") == "OK\n" and self.ask("get", "a") == "b\n"
        return done.stdout + done.stderr

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.ask("shutdown", "nosave")
        output, _ = self.server.communicate(timeout=TIMEOUT)
        if kind is None:
            assert self.server.returncode == 0 and "crash" not in output.lower()


@pytest.mark.parametrize("measured", [False, True])
def test_redis(box, measured):
    """It has its own allocator, jemalloc, in a library, and its own threads."""
    report = box.path / "report.json"
    with Redis(box, [HOTPATH, "run", "--format", "json", "--output", report, "--"] if measured else []) as redis:
        redis.benchmark("set,get,lpush,lrange_100,mset")
        assert redis.ask("eval", "local t = {} for i = 1, 10000 do t[i] = tostring(i) end return #table.concat(t)",
                         "0") == "38894\n"
        assert "OK" in redis.ask("flushall")
    if measured:
        check(json.loads(report.read_text()), 20000)
