"""Profiles that collectors fetch from `hotpath serve`: what happened in the seconds after they asked."""
import base64
import json
import os
import platform
import shutil
import subprocess
import threading

import pytest

import exported
from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import (EXAMPLES, TIMEOUT, full, processes_may_be_read, with_glibc, without_emulator,
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
    url = f"http://x:{server.token}@{server.host}:{server.port}/debug/pprof/zones?service=orders&seconds=1"

    def ask(*args):
        return subprocess.run([GO, "tool", "pprof", "-top", *args], capture_output=True, text=True,
                              timeout=BUILD_TIMEOUT, env=os.environ | {"PPROF_TMPDIR": str(cli.folder)})
    told = ask("-sample_index=calls", url)
    assert told.returncode == 0 and "Type: calls" in told.stdout and "accept_order" in told.stdout, told.stderr
    assert "no service or session of that name" in ask(url.replace("=orders", "=nothing")).stderr
