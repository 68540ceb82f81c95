"""Profiles that collectors fetch from `hotpath serve`: what happened in the seconds after they asked."""
import base64
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time

import pytest

import exported
from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import (EXAMPLES, PROGRAMS, TIMEOUT, full, processes_may_be_read, with_glibc, without_emulator,
                     without_sanitizer)
from test_serve import serve  # noqa: F401 (a fixture)
from test_stacks_in_time import Acts

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

GO = shutil.which("go") or next((path for path in ("/usr/local/go/bin/go",) if os.path.exists(path)), None)


def pull(server, path, **query):
    answer = server.get("/debug/pprof/" + path, **query)
    assert answer.status == 200, answer.text
    assert answer.headers["Content-Type"] == "application/octet-stream"
    return exported.pprof(answer.body)


def weight_in(stacks, name):
    return sum(weight for stack, weight in stacks if name in stack)


@pytest.fixture
def orders(cli):
    """It runs."""
    run = cli.start("run", "--format", "none", "--", EXAMPLES / "orders", "600")
    wait_until(lambda: any(row["state"] == "live" for row in cli.sessions()))
    yield run
    run.terminate()
    run.communicate(timeout=TIMEOUT)


@pytest.mark.skipif(not processes_may_be_read(), reason="processes of others may not be looked at here")
def test_stacks_are_those_of_the_seconds(cli, serve):
    """Neither what the program did before, nor more CPU time than it took meanwhile."""
    acts = Acts(cli, "run", "--format", "none", "--")
    try:
        server = serve()
        acts.do("one")
        acts.do("two", 2)
        before = acts.cpu_s()
        stacks = pull(server, "profile", seconds=2, service="acts_off")["cpu"][1]
        slots_s = 2 * 0.25
        assert 0 < weight_in(stacks, "two") * 1e-9 <= acts.cpu_s() - before + slots_s
        assert weight_in(stacks, "one") == 0
        acts.do("nap", 2)
        types = pull(server, "waits", seconds=1)
        assert next(iter(types)) == "times" and types["waits"][0] == "nanoseconds"
        assert 0 < weight_in(types["waits"][1], "nap") * 1e-9 <= 1 + slots_s
        assert weight_in(types.get("cpu", (0, []))[1], "two") == 0
    finally:
        acts.kill()


def test_measured_functions_are_the_difference_of_two_readings(cli, serve, orders):
    server = serve()

    def counts():
        answer = server.get("/report.json", section="timing")
        rows = json.loads(answer.text)["sections"]["timing"]["rows"] if answer.status == 200 else []
        return {row["name"]: row["polls"] or row["calls"] for row in rows}  # a new session cannot be read yet

    wait_until(lambda: counts().get("accept_order", 0) > 50)
    before = counts()
    types = pull(server, "zones", seconds=1, service="orders")
    after = counts()
    assert list(types)[:2] == ["calls", "zones"] and types["zones"][0] == "nanoseconds"
    pulled = exported.own(types["calls"][1])
    assert pulled["accept_order"] > 0
    assert set(pulled) & set(after) >= {"accept_order", "handle"}
    for name in set(pulled) & set(after):
        count = pulled[name]
        assert count <= after[name] - before.get(name, 0), name
    assert pulled["accept_order"] < after["accept_order"]


HOLDS = """import time
held = [bytearray(10_000) for _ in range(5_000)]
print("held", flush=True)
while True:
    freed = [bytearray(1_000) for _ in range(5_000)]
    time.sleep(0.2)
"""


@pytest.mark.skipif(not processes_may_be_read(), reason="processes of others may not be looked at here")
def test_allocations_and_what_is_left_of_them(cli, serve):
    """50 MB are held all the time, 5 MB allocated and freed at most five times a second; stacks are samples."""
    run = cli.start("run", "--format", "none", "--", os.path.realpath(sys.executable), "-c", HOLDS)
    try:
        assert run.stdout.readline() == "held\n"
        server = serve()
        wait_until(lambda: "alloc" in pull(server, "allocs", seconds=1))
        allocs, heap = pull(server, "allocs", seconds=2), pull(server, "heap", seconds=1)
    finally:
        run.terminate()
        run.communicate(timeout=TIMEOUT)
    assert list(allocs)[:2] == ["alloc-blocks", "alloc"] and list(heap)[:2] == ["alloc-left-blocks", "alloc-left"]
    total = lambda types, name: sum(weight for _, weight in types[name][1])
    assert allocs["alloc"][0] == heap["alloc-left"][0] == "bytes"
    assert 0 < total(allocs, "alloc") < 5.6e6 * 5 * 3 * 1.5
    assert 30e6 < total(heap, "alloc-left") < 90e6
    assert total(heap, "alloc") > total(allocs, "alloc")


class Copiers:
    """Programs that call `work` once for each line they get."""

    def __init__(self, cli, count, label):
        env = cli.environment({"HOTPATH": "1", "HOTPATH_DIR": str(cli.folder), "HOTPATH_REPORT_LABEL": label})
        self.all = [subprocess.Popen([PROGRAMS / "guest", "copy"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                     env=env, text=True) for _ in range(count)]

    def write(self, lines):
        for program in self.all:
            program.stdin.write("x\n" * lines)
            program.stdin.flush()

    def end(self):
        for program in self.all:
            program.kill()
            program.communicate()


def have_worked(server, service, programs, calls):
    """All of them run, and have called `work` so often, together."""
    told = server.get("/metrics", service=service)
    found = [re.search(rf"^{what} (\d+)", told.text, re.M) for what in (
        r"hotpath_running\S*", r'hotpath_function_calls_total\S*function="work"\S*')]
    return [int(number[1]) for number in found if number] == [programs, calls]


def work_in(stacks):
    return exported.own(stacks).get("work", 0)


@pytest.mark.parametrize("count", [pytest.param(8, marks=full), 10])
def test_what_is_left_out_is_said(cli, serve, count):
    server, programs, answers = serve(), Copiers(cli, count, "many"), []
    try:
        programs.write(1)
        wait_until(lambda: have_worked(server, "many", count, count))
        thread = threading.Thread(target=lambda: answers.append(
            server.get("/debug/pprof/zones", seconds=2, service="many")))
        thread.start()
        time.sleep(0.3)
        server.works()  # it has one thread: the profile was begun before this answer
        programs.write(3)
        thread.join()
    finally:
        programs.end()
    remarks = exported.pprof_comments(answers[0].body)[1:]
    assert remarks == ([] if count == 8 else
                       ["2 further sessions of the service are left out: 8 are collected at most"])
    assert work_in(exported.pprof(answers[0].body)["calls"][1]) == 8 * 3


def test_sessions_that_begin_meanwhile_are_in_the_profile(cli, serve):
    """All of them, also of programs that end meanwhile; of the others what they did in these seconds."""
    server, early, answers = serve(), Copiers(cli, 1, "both"), []
    late = None
    try:
        early.write(100)
        wait_until(lambda: have_worked(server, "both", 1, 100))
        thread = threading.Thread(target=lambda: answers.append(
            server.get("/debug/pprof/zones", seconds=5, service="both")))
        thread.start()
        time.sleep(0.3)
        server.works()  # it has one thread: the profile was begun before this answer
        early.write(7)
        late = Copiers(cli, 1, "both")
        late.write(20)
        cli.box.run("guest", "five", folder=cli.folder, env={"HOTPATH_REPORT_LABEL": "both"})
        thread.join()
    finally:
        early.end()
        if late:
            late.end()
    assert work_in(exported.pprof(answers[0].body)["calls"][1]) == 7 + 20 + 5
    assert exported.pprof_comments(answers[0].body)[1:] == []


def test_what_cannot_be_fetched_is_explained(cli, serve, orders):
    cli("run", "--format", "none", "--", EXAMPLES / "basic")
    server = serve()
    for query, status, words in (({"seconds": "0"}, 400, "1 to 120"), ({"seconds": "121"}, 400, "1 to 120"),
                                 ({"seconds": "x"}, 400, "1 to 120"), ({"service": "nothing"}, 404, "no service"),
                                 ({"service": "basic"}, 404, "no running session")):
        answer = server.get("/debug/pprof/profile", **query)
        assert answer.status == status and words in answer.text and answer.headers["X-Go-Pprof"] == "1", query
    assert server.ask("/debug/pprof/profile").status == 403
    assert server.get("/debug/pprof/trace").status == 404
    # Four at a time: the others are told to come again.
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(
        server.get("/debug/pprof/zones", seconds=2, service="orders"))) for _ in range(5)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(answers) == 1)
    assert answers[0].status == 503 and answers[0].headers["Retry-After"]
    server.works()
    for thread in threads:
        thread.join()
    assert [answer.status for answer in answers] == [503, 200, 200, 200, 200]
    # One that nobody waits for any more, and one that the server does not wait for.
    with server.socket() as gone:
        target = server.target("/debug/pprof/zones", seconds=1, service="orders")
        gone.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    thread = threading.Thread(target=lambda: answers.append(server.get("/debug/pprof/zones", seconds=100,
                                                                            service="orders")))
    thread.start()
    wait_until(lambda: server.get("/debug/pprof/zones", seconds=1, service="orders").status == 200)
    assert server.end()[0] == 0
    thread.join()
    assert answers[-1].status == 503


def test_services_are_discovered(cli, serve, orders):
    server = serve()
    address = f"{server.host}:{server.port}"
    targets = [{"targets": [address], "labels": {"__param_service": "orders", "instance": f"{address}/orders"}}]
    wait_until(lambda: json.loads(server.get("/targets").text) == targets)  # at its next look at the sessions
    basic = lambda token: {"Authorization": "Basic " + base64.b64encode(f"x:{token}".encode()).decode()}
    assert json.loads(server.ask("/targets", headers=basic(server.token)).text) == targets
    for wrong in (server.token[:-1], server.token + "0", "", "x" * 300):
        assert server.ask("/targets", headers=basic(wrong)).status == 403
    for header in ("Basic", "Basic ", "Basic x:y", "Basic !!!!", "Basic " + base64.b64encode(b"nocolon").decode()):
        assert server.ask("/targets", headers={"Authorization": header}).status == 403, header


BUILD_TIMEOUT = 600  # go compiles the tool when it is first used


@full
@pytest.mark.skipif(GO is None, reason="go is not installed: its pprof cannot be asked")
def test_go_tool_pprof(cli, serve, orders):
    server = serve()
    url = f"http://x:{server.token}@{server.host}:{server.port}/debug/pprof/PATH?service=orders&seconds=1"

    def ask(*args):
        return subprocess.run([GO, "tool", "pprof", "-top", *args], capture_output=True, text=True,
                              timeout=BUILD_TIMEOUT, env=os.environ | {"PPROF_TMPDIR": str(cli.folder)})
    for path, kinds in {"profile": ("cpu", "zone-cpu"), "waits": ("waits", "zone-waits"), "zones": ("zones",),
                        "allocs": ("alloc", "zone-alloc"), "heap": ("alloc-left",)}.items():
        told = ask(url.replace("PATH", path))
        assert told.returncode == 0 and any(f"Type: {kind}\n" in told.stdout for kind in kinds), (path, told)
        assert len(told.stdout.splitlines()) > 6, told.stdout
    told = ask("-sample_index=calls", url.replace("PATH", "zones"))
    assert told.returncode == 0 and "Type: calls" in told.stdout and "accept_order" in told.stdout, told.stderr
    assert "no service or session of that name" in ask(url.replace("PATH", "zones").replace("=orders",
                                                                                               "=nothing")).stderr
