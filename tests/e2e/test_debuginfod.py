"""Names from a debuginfod server, and only if requested. The server is a folder on this machine. If debuginfod-find
is not installed, a script with the same interface replaces it: the test is whether, whom and what hotpath asks."""
import functools
import http.server
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from command import Cli, wait_until
from harness import PROGRAMS, Report, perf_is_allowed, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(shutil.which("cc") is None or shutil.which("objcopy") is None,
                                 reason="there is no compiler"),
              pytest.mark.skipif(not perf_is_allowed() or platform.machine() not in ("x86_64", "aarch64"),
                                 reason="the kernel lets nobody take stacks here")]

SOURCE = """
static volatile unsigned long sum;
static __attribute__((noinline)) void hidden_work(void)
{
    for (unsigned long at = 0; at < 40000000; at++)
        sum += at;
}
int main(int argc, char **argv)
{
    (void)argv;
    do
        hidden_work();
    while (argc > 1); /* until somebody ends it */
    return 0;
}
"""
FINDER = """#!{python}
import os, sys, urllib.request
kind, build_id = sys.argv[1:]
path = os.path.join(os.environ["DEBUGINFOD_CACHE_PATH"], build_id)
for url in os.environ["DEBUGINFOD_URLS"].split():
    try:
        data = urllib.request.urlopen(f"{{url}}/buildid/{{build_id}}/{{kind}}").read()
    except OSError:
        continue
    open(path, "wb").write(data)
    print(path)
    sys.exit(0)
sys.exit(1)
"""


class Server:
    """A folder, and which of its paths were requested."""

    def __init__(self, folder):
        self.asked = asked = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                asked.append(self.path)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      functools.partial(Handler, directory=str(folder)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def stripped(box):
    """A stripped program, and a server that has its names."""
    cli = Cli(box)
    source, program = cli.folder / "hidden.c", cli.folder / "hidden"
    source.write_text(SOURCE)
    call = functools.partial(subprocess.run, check=True, capture_output=True, text=True)
    call(["cc", "-O1", "-g", "-Wl,--build-id", source, "-o", program])
    build_id = re.search(r"Build ID: ([0-9a-f]+)", call(["readelf", "-n", program]).stdout).group(1)
    cli.debug = cli.folder / "server" / "buildid" / build_id / "debuginfo"
    cli.debug.parent.mkdir(parents=True)
    call(["objcopy", "--only-keep-debug", program, cli.debug])
    call(["strip", program])
    (cli.folder / "cache").mkdir()
    (cli.folder / "bin").mkdir()
    if shutil.which("debuginfod-find") is None:
        finder = cli.folder / "bin" / "debuginfod-find"
        finder.write_text(FINDER.format(python=sys.executable))
        finder.chmod(0o755)
    cli.hidden, cli.build_id, cli.server = program, build_id, Server(cli.folder / "server")
    cli.variables = {"DEBUGINFOD_URLS": cli.server.url, "DEBUGINFOD_CACHE_PATH": str(cli.folder / "cache"),
                     "PATH": f"{cli.folder / 'bin'}:{os.environ['PATH']}"}
    yield cli
    cli.server.server.shutdown()


def names(report):
    return {row.name for row in report.rows("functions") if row.library == "hidden"}


def test_no_server_is_asked_without_the_option(stripped):
    report = stripped.run(stripped.hidden, env=stripped.variables).report
    assert "hidden_work" not in names(report) and any(name.startswith("hidden+0x") for name in names(report))
    assert stripped.server.asked == []


WAYS = pytest.mark.parametrize("options, variables", ((["--debuginfod"], {}), ([], {"HOTPATH_DEBUGINFOD": "1"}),
                                                      ([], {"HOTPATH_DEBUGINFOD": "yes"})))


def is_asked(stripped):
    return f"/buildid/{stripped.build_id}/debuginfo" in stripped.server.asked


@WAYS
def test_names_come_from_a_server(stripped, options, variables):
    done = stripped.run(*options, stripped.hidden, env=stripped.variables | variables)
    assert {"hidden_work", "main"} <= names(done.report) and is_asked(stripped)
    assert done.stderr == ""


@WAYS
def test_names_of_a_process_that_runs(stripped, options, variables):
    process = subprocess.Popen([stripped.hidden, "for ever"])
    path = stripped.folder / "record.json"
    try:
        arguments = ["record", "-p", process.pid, "--for", "300ms", "--format", "json", "--output", path,
                     "--section", "all", "--limit", 0]
        for more, environment in (([], {}), (options, variables)):
            assert stripped.server.asked == []
            stripped(*arguments, *more, env=stripped.variables | environment)
            is_named = "hidden_work" in names(Report(json.loads(path.read_text())))
            assert is_named == bool(more or environment)
        assert is_asked(stripped)
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
@WAYS
def test_function_starts_come_from_a_server(stripped, options, variables):
    """Its name is known since the run; its instructions are complete, from the first one on."""
    stripped.run("--debuginfod", stripped.hidden, env=stripped.variables)
    shutil.rmtree(stripped.folder / "cache")
    (stripped.folder / "cache").mkdir()
    stripped.server.asked.clear()
    stripped("annotate", "--assembly", "hidden_work", env=stripped.variables)
    assert stripped.server.asked == []
    done = stripped("annotate", "--assembly", "hidden_work", *options, env=stripped.variables | variables)
    assert is_asked(stripped) and done.stdout.startswith("hidden_work (") and done.stderr == ""


def test_a_file_of_another_program_is_not_used(stripped):
    shutil.copy(PROGRAMS / "stacked", stripped.debug)
    report = stripped.run("--debuginfod", stripped.hidden, env=stripped.variables).report
    assert stripped.server.asked and "hidden_work" not in names(report) and "heavy" not in names(report)


def test_missing_server_or_tool_is_reported(stripped):
    done = stripped.run("--debuginfod", stripped.hidden, env=stripped.variables | {"DEBUGINFOD_URLS": " "})
    assert "DEBUGINFOD_URLS is not set" in done.stderr and "hidden_work" not in names(done.report)
    done = stripped.run("--debuginfod", stripped.hidden, env=stripped.variables | {"PATH": "/nonexistent"})
    assert "debuginfod-find is not installed" in done.stderr and "hidden_work" not in names(done.report)
    assert stripped.server.asked == []


def test_ctrl_c_ends_only_the_download(stripped):
    """The server never answers. Ctrl-C goes to the whole foreground group, as from a terminal; the report is still
    made."""
    (stripped.folder / "bin").mkdir(exist_ok=True)
    finder, asked = stripped.folder / "bin" / "debuginfod-find", stripped.folder / "asked"
    finder.write_text(f"#!/bin/sh\ntrap '' INT\necho $$ >> {asked}\nexec sleep 1000\n")
    finder.chmod(0o755)
    process = stripped.start("run", "--debuginfod", stripped.hidden, env=stripped.variables, start_new_session=True)
    wait_until(lambda: asked.exists() and asked.read_text().endswith("\n"))
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and "functions - " in said and "hidden+0x" in said
    assert "interrupted while asking debug servers" in said
    assert len(asked.read_text().split()) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(asked.read_text()), 0)
