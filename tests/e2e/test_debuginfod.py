"""Names from a server of debug files, and only if that was asked for. The server is a folder on this machine. Where debuginfod-find is not
installed, a script that speaks its protocol stands for it: what is tested is whether, whom and what hotpath asks."""
import functools
import http.server
import os
import platform
import re
import shutil
import subprocess
import sys
import threading

import pytest

from harness import PROGRAMS, perf_is_allowed, with_glibc, without_emulator, without_sanitizer
from test_cli import Cli

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(shutil.which("cc") is None or shutil.which("objcopy") is None, reason="there is no compiler"),
              pytest.mark.skipif(not perf_is_allowed() or platform.machine() not in ("x86_64", "aarch64"),
                                 reason="the kernel lets nobody take stacks here")]

SOURCE = """
static volatile unsigned long sum;
static __attribute__((noinline)) void hidden_work(void)
{
    for (unsigned long at = 0; at < 40000000; at++)
        sum += at;
}
int main(void)
{
    hidden_work();
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
    """A folder, and which paths of it were asked for."""

    def __init__(self, folder):
        self.asked = asked = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                asked.append(self.path)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def stripped(box):
    """A program without names, and a server that has them."""
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


def test_nobody_is_asked_without_it(stripped):
    report = stripped.run(stripped.hidden, env=stripped.variables).report
    assert "hidden_work" not in names(report) and any(name.startswith("hidden+0x") for name in names(report))
    assert stripped.server.asked == []


@pytest.mark.parametrize("options, variables", ((["--debuginfod"], {}), ([], {"HOTPATH_DEBUGINFOD": "1"})))
def test_names_come_from_a_server(stripped, options, variables):
    report = stripped.run(*options, stripped.hidden, env=stripped.variables | variables).report
    assert {"hidden_work", "main"} <= names(report)
    assert f"/buildid/{stripped.build_id}/debuginfo" in stripped.server.asked


def test_a_file_of_another_program_is_not_used(stripped):
    shutil.copy(PROGRAMS / "stacked", stripped.debug)
    report = stripped.run("--debuginfod", stripped.hidden, env=stripped.variables).report
    assert stripped.server.asked and "hidden_work" not in names(report) and "heavy" not in names(report)


def test_what_is_missing_is_said(stripped):
    done = stripped.run("--debuginfod", stripped.hidden, env=stripped.variables | {"DEBUGINFOD_URLS": " "})
    assert "DEBUGINFOD_URLS names none" in done.stderr and "hidden_work" not in names(done.report)
    done = stripped.run("--debuginfod", stripped.hidden, env=stripped.variables | {"PATH": "/nonexistent"})
    assert "debuginfod-find is not installed" in done.stderr and "hidden_work" not in names(done.report)
    assert stripped.server.asked == []
