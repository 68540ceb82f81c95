"""`hotpath agent`: the numbers of a host for collectors, read with the rights of those they belong to."""
import base64
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import exported
from command import Done, cli, wait_until  # noqa: F401 (a fixture)
from harness import (EXAMPLES, HOTPATH, PROGRAMS, SOURCE, TIMEOUT, needs_root, without_emulator, without_sanitizer,
                     without_thread_sanitizer)
from test_metrics import labels_of
from test_serve import OPENMETRICS, Answer, read_metrics, serve  # noqa: F401 (a fixture)

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too")]

NOBODY = 65534


class Agent:
    """A running agent."""

    def __init__(self, process):
        self.process = process
        address = process.stdout.readline().strip()
        if not address:
            said = process.communicate(timeout=TIMEOUT)[1]
            if "libmicrohttpd" in said:
                pytest.skip(said.strip())
            pytest.fail(said)
        self.host, port = address.removeprefix("http://").rsplit(":", 1)
        self.port = int(port)
        self.token = process.stdout.readline().strip().removeprefix("token: ")

    def ask(self, target, method="GET", **headers):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        connection.request(method, target, headers=headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        return answer

    def get(self, target, **headers):
        return self.ask(target, Authorization=f"Bearer {self.token}", **headers)

    def metrics(self):
        answer = self.get("/metrics", **OPENMETRICS)
        assert answer.status == 200, answer.text
        return read_metrics(answer.text)

    def numbers(self, family, **labels):
        """{labels: number} of the samples with these labels."""
        return {sample: number for sample, number in self.metrics().get(family, {"samples": {}})["samples"].items()
                if labels.items() <= labels_of(sample).items()}

    def calls(self, service, function):
        """None: there are none."""
        found = self.numbers("hotpath_function_calls", service=service, function=function)
        return next(iter(found.values()), None)

    def reads_again(self):
        """It does so a second after the last time at the earliest."""
        time.sleep(1.1)

    def readers(self):
        return [int(pid) for pid in subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True,
                                                   text=True).stdout.split()]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, said


@pytest.fixture
def agent(cli):
    """Starts agents, and ends them after the test."""
    agents = []

    def start(*args):
        agents.append(Agent(cli.start("agent", "--port", "0", *args)))
        return agents[-1]
    yield start
    for one in agents:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


@pytest.fixture
def finished(cli):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")


def counters(families):
    """Of sessions, not of the agent."""
    return {name: family["samples"] for name, family in families.items()
            if family["TYPE"] in ("counter", "histogram") and not name.startswith("hotpath_agent")}


# ---------------------------------------------------------------------------------------------------------- answers

def test_answers_are_those_of_serve(cli, agent, serve, finished):
    server, one = serve(), agent()
    expected, found = read_metrics(server.get("/metrics", headers=OPENMETRICS).text), one.metrics()
    own = {name: family for name, family in found.items() if name.startswith("hotpath_agent")}
    assert {name: family for name, family in found.items() if name not in own} == expected
    assert len(counters(expected)) > 15
    # They are described.
    fleet = (SOURCE / "docs/fleet.md").read_text()
    rows = re.findall(r"^\| `(hotpath_agent\w+)` \| (\w+) \| ([^|]*) \|$", fleet, re.M)
    assert {(name + ("_total" if family["TYPE"] == "counter" else ""), family["TYPE"], family["HELP"])
            for name, family in own.items()} == set(rows)
    # In the other formats, and for one service.
    protobuf = {"Accept": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
                          "encoding=delimited"}
    assert set(server.get("/metrics", headers=protobuf).body) and one.get("/metrics", **protobuf).body.startswith(
        server.get("/metrics", headers=protobuf).body[:100])
    assert one.get("/metrics?service=orders").status == 200 and one.get("/metrics?service=none").status == 404
    [target] = json.loads(one.get("/targets").text)
    assert target == {"targets": [f"{one.host}:{one.port}"], "labels": {
        "__param_service": "orders", "instance": f"{one.host}:{one.port}/orders"}}


def test_every_request_needs_the_token_in_a_header(agent):
    one = agent()
    basic = "Basic " + base64.b64encode(f"x:{one.token}".encode()).decode()
    for path in ("/metrics", "/targets", "/debug/pprof/profile?seconds=1", "/", "/nothing"):
        for headers in ({}, {"Authorization": "Bearer " + "0" * 32}, {"Authorization": "Bearer"}):
            assert one.ask(path, **headers).status == 403, path
        mark = "&" if "?" in path else "?"
        assert one.ask(f"{path}{mark}token={one.token}").status == 403, "URLs are logged"
    assert one.get("/metrics").status == one.ask("/metrics", Authorization=basic).status == 200
    # By whatever name: a page of another site cannot send this header.
    assert one.get("/metrics", Host="metrics.example.com").status == 200
    for path in ("/", "/page", "/page.json", "/events", "/report.json", "/restarted.json", "/nothing"):
        assert one.get(path).status == 404, path
    assert one.ask("/metrics", "POST", Authorization=basic).status == 405
    assert one.get("/metrics?session=x").status == 400


def test_the_token_is_in_a_file(cli, agent, tmp_path):
    (tmp_path / "token").write_text("0123456789abcdef\n")
    process = cli.start("agent", "--port", "0", "--token-file", tmp_path / "token")
    address = process.stdout.readline().strip()
    if address:
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=TIMEOUT)
        connection.request("GET", "/metrics", headers={"Authorization": "Bearer 0123456789abcdef"})
        assert connection.getresponse().status == 200
    process.terminate()
    out, said = process.communicate(timeout=TIMEOUT)
    if "libmicrohttpd" not in said:
        assert address and out == "", "it is printed nowhere"


def test_profiles_of_the_seconds(cli, agent):
    run = cli.start("run", "--format", "none", "--", EXAMPLES / "orders", "600")
    try:
        wait_until(lambda: any(row["state"] == "live" for row in cli.sessions()))
        one = agent()
        wait_until(lambda: (one.calls("orders", "accept_order") or 0) > 20)
        answer = one.get("/debug/pprof/zones?seconds=1&service=orders")
        assert answer.status == 200 and answer.headers["Content-Type"] == "application/octet-stream"
        types = exported.pprof(answer.body)
        assert list(types)[:2] == ["calls", "zones"]
        assert exported.own(types["calls"][1])["accept_order"] > 0
        one.reads_again()
        assert one.get("/debug/pprof/zones?seconds=1&service=none").status == 404
        assert one.get("/debug/pprof/zones?seconds=0&service=orders").status == 400
    finally:
        run.terminate()
        run.communicate(timeout=TIMEOUT)


def test_texts_stay_here(cli, agent):
    """Keys that are known only when a program runs are in no name; their sum is right."""
    cli("run", "--format", "none", "--", PROGRAMS / "keys", "rising", "30")
    names = {labels_of(sample)["function"]: number
             for sample, number in agent().numbers("hotpath_function_calls").items()}
    assert names == {"measured": 1, "many[text]": sum(range(1, 31))}
    other = agent("--with-texts")
    with_texts = {labels_of(sample)["function"] for sample in other.numbers("hotpath_function_calls")}
    assert with_texts == {"measured", *(f"many[k{key}]" for key in range(30))}


# --------------------------------------------------------------------------------------------------------- restarts

def test_counters_outlive_the_agent(cli, agent, finished):
    """Also those of sessions that are removed meanwhile, and whatever ends it."""
    states = cli.folder / "agent"
    one = agent()
    before = counters(one.metrics())
    assert before["hotpath_function_calls"] and len(list(states.iterdir())) == 1
    assert one.end() == (0, "")
    again = agent()
    assert counters(again.metrics()) == before, "and nothing twice"
    again.end(signal.SIGKILL)
    for run in cli.folder.glob("*.run"):
        shutil.rmtree(run)
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    third = agent()
    after = counters(third.metrics())
    assert all(after[family][sample] >= number for family, samples in before.items()
               for sample, number in samples.items())
    name = 'service="orders",function="accept_order"'
    report = json.loads(cli("report", "--format", "json", "--section", "timing").stdout)
    calls = next(row["calls"] for row in report["sections"]["timing"]["rows"] if row["name"] == "accept_order")
    assert after["hotpath_function_calls"][name] == before["hotpath_function_calls"][name] + calls
    third.end()
    # What is damaged is said, and no reason to end.
    [state] = states.glob("*.state")
    data = bytearray(state.read_bytes())
    data[len(data) // 2] ^= 1
    state.write_bytes(data)
    fourth = agent()
    assert fourth.calls("orders", "accept_order") == calls
    status, said = fourth.end()
    assert status == 0 and f"'{state}' is damaged" in said


def test_a_reader_that_is_killed_is_replaced(cli, agent, finished):
    one = agent()
    before = counters(one.metrics())
    [reader] = one.readers()
    for run in cli.folder.glob("*.run"):
        shutil.rmtree(run)
    os.kill(reader, signal.SIGKILL)

    def is_replaced():
        assert counters(one.metrics()) == before, "what it had counted stays"
        return one.readers() not in ([], [reader])
    wait_until(is_replaced)
    assert one.numbers("hotpath_agent_reader_failures") == {"": 1}
    one.reads_again()
    assert counters(one.metrics()) == before


def test_it_ends_with_its_readers(cli, agent, finished):
    one = agent()
    one.metrics()
    readers = one.readers()
    assert len(readers) == 1
    assert one.end() == (0, "")
    assert not any(os.path.exists(f"/proc/{pid}") for pid in readers)
    # Readers end, too, if it cannot end them.
    other = agent()
    other.metrics()
    readers = other.readers()
    other.end(signal.SIGKILL)
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in readers))


def test_what_is_printed(cli, finished):
    said = cli("agent", "--print-config").stdout.splitlines()
    assert f"folder {cli.folder}, of user {os.getuid()}: read" in said
    assert any(re.fullmatch(r"user \w+: 1 sessions, 0 of them live, 0 left out: they cannot be read", line)
               for line in said)
    assert "service orders" in said and "texts: left out" in said
    assert not (cli.folder / "agent").exists() or not list((cli.folder / "agent").iterdir()), "it keeps nothing"
    cli.folder.chmod(0o777)
    said = cli("agent", "--print-config").stdout.splitlines()
    assert f"folder {cli.folder}, of user {os.getuid()}: left out: others can write to it" in said
