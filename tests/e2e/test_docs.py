"""Every command that the pages in docs/ show works: shell lines, and commands of `hotpath export` in the text.
(The README and the pages it begins with have test_readme.py; tests/install has the recipes for build systems.)

The commands run in a folder with what they speak of: ./program and ./server, a database and queries for it.
"""
import re
import signal
import subprocess

import pytest

from harness import BUILD, HOTPATH, SOURCE, TIMEOUT
from terminal import Terminal
from test_readme import PAGES, blocks

REST = sorted(page for page in (str(path.relative_to(SOURCE)) for path in SOURCE.glob("docs/*.md"))
              if page not in PAGES and blocks("sh", page))
COMMANDS = sorted({command for path in SOURCE.glob("docs/*.md")
                   for command in re.findall(r"`(hotpath export -f [^`]* -o [^`]*)`", path.read_text())})

# Serves for a second, or for as many seconds as $SECONDS says.
SERVER = r"""
#include <hotpath.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void parse_request(char *text) { HOTPATH_MEASURE(); memset(text, 'x', 1000000); }
static void read_request(void)
{
    HOTPATH_MEASURE();
    char *text = malloc(1000000);
    parse_request(text);
    free(text);
    usleep(1000);
}
int main(void)
{
    HOTPATH_MAIN();
    const char *seconds = getenv("SECONDS");
    for (time_t end = time(NULL) + (seconds != NULL ? atoi(seconds) : 1); time(NULL) < end;)
        read_request();
}
"""
# What stands for something on the reader's machine.
STAND_INS = {"4711": "$(cat server.pid)", "$(pidof -s postgres) --for 10s": "$(cat server.pid) --for 0.2s",
             "hotpath bench -n 5": "SECONDS=0 hotpath bench -n 1",
             "HOTPATH_SHUTDOWN_MS=10000": "HOTPATH_SHUTDOWN_MS=300",
             # sqlite3 frees everything at its end, and perl nothing.
             "hotpath export --format pprof --of alloc-left":
                 """hotpath run --format none perl -e '@x = map { "x" x 1000 } 1 .. 5000';"""
                 "hotpath export --format pprof --of alloc-left"}


class Desk:
    def __init__(self, box):
        self.folder = box.folder()
        (self.folder / "server.c").write_text(SERVER)
        subprocess.run(["cc", "-O1", "-DHOTPATH", f"-I{SOURCE}/include", "server.c", f"{BUILD}/lib/libhotpath.a",
                        "-pthread", "-o", "server"], cwd=self.folder, check=True)
        (self.folder / "program").symlink_to("server")
        (self.folder / "queries.sql").write_text(
            "create table t(a); with recursive c(x) as (values(1) union all select x+1 from c where x<30000) "
            "insert into t select x from c; "
            "select length(group_concat(a || hex(zeroblob(100)))) from t, (select 1 union select 2);")
        (self.folder / "boring.txt").write_text("parse_request\n")
        (self.folder / "bin").mkdir()
        (self.folder / "bin/hotpath").symlink_to(HOTPATH)
        (self.folder / "bin/browser").write_text("#!/bin/sh\n")
        (self.folder / "bin/browser").chmod(0o755)
        sessions = self.folder / "sessions"
        sessions.mkdir(mode=0o700)
        unset = ("HOTPATH_OUTPUT_FORMAT", "HOTPATH_OUTPUT_PATH", "HOTPATH_REPORT", "HOTPATH_LIMIT")
        env = box.environment(sessions, {**dict.fromkeys(unset), "HOME": self.folder, "BROWSER": "browser"})
        self.env = {**env, "PATH": f"{self.folder}/bin:{env['PATH']}"}
        self.box = box
        self.servers = []

    def shell(self, command):
        done = subprocess.run(["sh", "-e", "-c", command], cwd=self.folder, env=self.env, capture_output=True,
                              text=True, timeout=TIMEOUT)
        assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        assert not re.search(r"hotpath: (?!wrote|\S+ is served)", done.stderr), f"{command}: {done.stderr}"
        return done

    def keep_a_run(self):
        self.shell("hotpath run --format none ./server")
        run, = (self.folder / "sessions").glob("*.run")
        run.rename(self.folder / "before.run")

    def start_server(self):
        """One that runs until the end of the test."""
        server = subprocess.Popen(["hotpath", "run", "--format", "none", "./server"], cwd=self.folder,
                                  env={**self.env, "SECONDS": "600"}, stdout=subprocess.PIPE, text=True)
        self.servers.append(server)
        self.shell("until hotpath ls | grep -q 'running.*server$'; do sleep 0.1; done")
        self.shell(f"pgrep -P {server.pid} -x server > server.pid")

    def serve(self, command):
        """A server says where it listens, and goes on until it is interrupted."""
        server = subprocess.Popen(["sh", "-c", f"exec {command}"], cwd=self.folder, env=self.env,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = server.stdout.readline()
        server.send_signal(signal.SIGINT)
        rest, _ = server.communicate(timeout=TIMEOUT)
        assert "http://" in said + rest and server.returncode == 0, f"{command}: {said}{rest}"

    def console(self, command):
        terminal = Terminal(self.box, 100, 30, env=self.env)
        try:
            terminal.type(f"cd {self.folder}; clear", "Enter")
            terminal.type(f"{command}; echo it ended with $?", "Enter")
            terminal.wait_for(r"quit|help")
            terminal.type("q")
            terminal.wait_for("^it ended with 0")
        finally:
            terminal.close()

    def close(self):
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=TIMEOUT)


@pytest.fixture
def desk(box):
    desk = Desk(box)
    yield desk
    desk.close()


def with_stand_ins(line):
    for text, other in STAND_INS.items():
        line = line.replace(text, other)
    return re.sub(r"\s+#.*", "", line)


@pytest.mark.parametrize("page", REST)
def test_shell_lines_work_in_order(desk, page):
    commands = [with_stand_ins(line) for line in "".join(blocks("sh", page)).splitlines()]
    if any("before.run" in command for command in commands):
        desk.keep_a_run()
    if any(re.search(r"server\.pid|hotpath console", command) for command in commands):
        desk.start_server()
    for command in commands:
        if command.startswith("hotpath serve"):
            desk.serve(command)
        elif command.startswith("hotpath console") and "--once" not in command:
            desk.console(command)
        else:
            desk.shell(command)


def test_exports_in_the_text_work(desk):
    desk.shell("hotpath run --format none sqlite3 my.db < queries.sql")
    assert len(COMMANDS) > 5
    for command in COMMANDS:
        desk.shell(command)
        written = desk.folder / command.split()[-1]
        assert written.stat().st_size > 0, command
