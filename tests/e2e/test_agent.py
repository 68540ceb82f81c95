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
from harness import (EXAMPLES, HOTPATH, PROGRAMS, SOURCE, TIMEOUT, full, needs_root, without_emulator,
                     without_sanitizer, without_thread_sanitizer)
from test_metrics import labels_of
from test_prometheus import Prometheus
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


@full
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="this needs Debian's package prometheus")
def test_prometheus_finds_the_services_and_collects_them(cli, agent, finished):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1", env={"HOTPATH_REPORT_LABEL": "again"})
    one = agent()
    prometheus = Prometheus(cli.folder / "prometheus", one)
    try:
        wait_until(lambda: {row["service"] for row, _ in prometheus.rows("hotpath_process_starts_total")}
                   == {"orders", "again"})
        targets = prometheus.ask("targets", state="active")["activeTargets"]
        assert {target["health"] for target in targets} == {"up"} and len(targets) == 2
        [(_, calls)] = prometheus.rows('hotpath_function_calls_total{service="orders",function="accept_order"}')
        assert calls == one.calls("orders", "accept_order")
    finally:
        prometheus.end()


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


@full
def test_what_is_settled_is_not_counted_again(cli, agent, finished):
    """Three seconds after its end a session is not read any more; then nothing but its sums is kept."""
    one = agent()
    before = counters(one.metrics())
    time.sleep(3.5)
    one.metrics()
    one.end()
    again = agent()
    for _ in range(2):
        assert counters(again.metrics()) == before
        again.reads_again()


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
    said = cli("agent", "--print-config", "--push", "otlp=http://collector:4318/x").stdout.splitlines()
    assert said[-1] == "profiles are pushed to: http://collector:4318"
    assert f"folder {cli.folder}, of user {os.getuid()}: read" in said
    assert any(re.fullmatch(r"user \w+: 1 sessions, 0 of them live, 0 left out: they cannot be read", line)
               for line in said)
    assert "service orders" in said and "texts: left out" in said
    assert not (cli.folder / "agent").exists() or not list((cli.folder / "agent").iterdir()), "it keeps nothing"
    cli.folder.chmod(0o777)
    said = cli("agent", "--print-config").stdout.splitlines()
    assert f"folder {cli.folder}, of user {os.getuid()}: left out: others can write to it" in said


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this needs systemd")
def test_the_unit_is_valid_and_confined(tmp_path):
    text = (SOURCE / "docs/systemd/hotpath-agent.service").read_text()
    assert text.count("\nExecStart=hotpath agent ") == 1
    unit = tmp_path / "hotpath-agent.service"
    unit.write_text(text.replace("ExecStart=hotpath", f"ExecStart={HOTPATH}"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert done.returncode == 0 and str(unit.name) not in done.stderr, done.stderr
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=35", unit],
                          capture_output=True, text=True, timeout=TIMEOUT)
    if "unrecognized option" in done.stderr or "Unknown" in done.stderr:
        pytest.skip("this systemd cannot analyse files")
    assert done.returncode == 0, done.stdout[-200:] + done.stderr


# ------------------------------------------------------------------------------------------- users and containers

class Host:
    """A machine of its own: with its own processes and folders of sessions, of which the agent sees all."""

    def __init__(self, cli, root_of=None):
        inside = ("mount -t tmpfs -o mode=1777 none /dev/shm && mkdir -p /run/user "
                  "&& mount -t tmpfs none /run/user && for folder in /tmp/hotpath-[0-9]*; do "
                  "[ ! -d $folder ] || mount -t tmpfs -o mode=777 none $folder; done "
                  "&& echo ready && exec sleep infinity")
        before = root_of.command if root_of else []
        self.cli, self.first = cli, None
        self.keeper = subprocess.Popen([*before, "unshare", "--mount", "--pid", "--fork", "--kill-child",
                                        "--mount-proc", "sh", "-c", inside], stdout=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline() != "ready\n":
            self.end()
            pytest.skip("namespaces cannot be made here")
        [self.first] = (int(pid) for pid in subprocess.run(
            ["pgrep", "-P", str(self._last(self.keeper.pid))], capture_output=True, text=True).stdout.split())
        self.command = ["nsenter", "--target", str(self.first), "--mount", "--pid"]

    @staticmethod
    def _last(pid):
        """nsenter has become unshare, or has started it."""
        name = open(f"/proc/{pid}/comm").read().strip()
        children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
        return pid if name == "unshare" else Host._last(int(children[0]))

    def start(self, *args, user=None, **more):
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        env = {key: value for key, value in self.cli.environment().items() if not key.startswith("HOTPATH_")}
        return subprocess.Popen([*self.command, *become, *map(str, args)], env=env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                **{"cwd": "/", **more})

    def run(self, *args, user=None):
        process = self.start(*args, user=user)
        out, err = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0, err
        return out

    def folder(self, path, user, mode="700"):
        self.run("install", "-d", "-m", mode, "-o", user, "-g", user, path)

    def end(self):
        """With all that runs there."""
        if self.first:
            os.kill(self.first, signal.SIGKILL)
        self.first = None
        self.keeper.communicate(timeout=TIMEOUT)


@pytest.fixture
def hosts(cli):
    made = []

    def make(root_of=None):
        made.append(Host(cli, root_of))
        return made[-1]
    yield make
    for host in reversed(made):
        host.end()


@pytest.fixture
def tools(box):
    """Where every user can run them: {name: path}."""
    hotpath = box.for_everyone(HOTPATH)
    return {"hotpath": hotpath, "guest": shutil.copy(PROGRAMS / "guest", hotpath.parent / "guest")}


@pytest.fixture
def on_host(hosts, tools):
    """Starts agents on a host."""
    agents = []

    def start(host, *args, **more):
        agents.append(Agent(host.start(tools["hotpath"], "agent", "--port", "0", "--state",
                                       tools["hotpath"].parent / "state", *args, **more)))
        return agents[-1]
    yield start
    for one in agents:
        if one.process.poll() is None:
            os.kill(agent_of(one), signal.SIGKILL)
        one.process.communicate(timeout=TIMEOUT)


def status_of(pid):
    return dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status").read().splitlines() if ":\t" in line)


def agent_of(one):
    """Its own process: nsenter has started it."""
    [pid] = subprocess.run(["pgrep", "-P", str(one.process.pid)], capture_output=True, text=True).stdout.split()
    return int(pid)


def readers_of(one):
    """{user: pid}"""
    found = subprocess.run(["pgrep", "-P", str(agent_of(one))], capture_output=True, text=True).stdout.split()
    live = [pid for pid in found if os.path.exists(f"/proc/{pid}/status")]  # one may end meanwhile
    return {int(status_of(pid)["Uid"].split()[0]): int(pid) for pid in live}


def services(one):
    return {label for sample in one.numbers("hotpath_process_starts") for label in [labels_of(sample)["service"]]}


def record(host, tools, service, user=None, **environment):
    host.run("env", f"HOTPATH_REPORT_LABEL={service}", *(f"{name}={value}" for name, value in environment.items()),
             tools["hotpath"], "run", "--format", "none", "--", tools["guest"], "copy", user=user)


@needs_root
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_each_user_has_a_reader(hosts, tools, on_host, tmp_path):
    host = hosts()
    record(host, tools, "of root")
    record(host, tools, "of nobody", NOBODY)
    inherited = tmp_path / "of a library"
    with open(inherited, "w") as file:
        one = on_host(host, pass_fds=[file.fileno()], cwd=tmp_path)
    assert services(one) == {"of root", "of nobody"}
    readers = readers_of(one)
    assert set(readers) == {0, NOBODY}
    for user, pid in readers.items():
        status = status_of(pid)
        assert status["Uid"].split() == [str(user)] * 4 and status["NoNewPrivs"] == "1"
        assert status["Gid"].split() == ["0" if user == 0 else str(NOBODY)] * 4 and status["Groups"].strip() == ""
        assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
        # Nothing of the agent: neither its token nor its files and sockets.
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        assert sum(link.startswith("socket:") for link in links) == 1
        assert str(inherited) not in links
        # A user may change the own reader: it has neither the agent's terminal nor its folder.
        stat = open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()
        assert (int(stat[3]), stat[4]) == (pid, "0") and os.readlink(f"/proc/{pid}/cwd") == "/"
        assert one.token.encode() not in open(f"/proc/{pid}/environ", "rb").read()
    own = status_of(agent_of(one))
    capabilities = {int(own[name], 16) for name in ("CapPrm", "CapEff")}
    assert capabilities == {1 << 6 | 1 << 7 | 1 << 19} and int(own["CapInh"], 16) == int(own["CapAmb"], 16) == 0
    assert own["NoNewPrivs"] == "1"
    # The agent opens no session.
    links = [os.readlink(f"/proc/{agent_of(one)}/fd/{fd}") for fd in os.listdir(f"/proc/{agent_of(one)}/fd")]
    assert not any(".hotpath" in link for link in links)


@needs_root
@full
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_a_reader_that_hangs_harms_no_other_user(hosts, tools, on_host):
    """What it had counted stays."""
    host = hosts()
    record(host, tools, "of root")
    record(host, tools, "of nobody", NOBODY)
    one = on_host(host)
    assert services(one) == {"of root", "of nobody"}
    readers = readers_of(one)
    os.kill(readers[NOBODY], signal.SIGSTOP)
    one.reads_again()
    record(host, tools, "of root, too")
    wait_until(lambda: "of root, too" in services(one))
    assert services(one) == {"of root", "of nobody", "of root, too"}
    os.kill(readers[NOBODY], signal.SIGKILL)
    wait_until(lambda: readers_of(one).get(NOBODY, readers[NOBODY]) != readers[NOBODY])
    one.reads_again()
    wait_until(lambda: services(one) == {"of root", "of nobody", "of root, too"})


@needs_root
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_only_those_users(hosts, tools, on_host):
    host = hosts()
    record(host, tools, "of root")
    record(host, tools, "of nobody", NOBODY)
    assert services(on_host(host, "--users", "nobody,4711")) == {"of nobody"}
    assert services(on_host(host, "--users", "0")) == {"of root"}
    said = host.run(tools["hotpath"], "agent", "--print-config", "--users", str(NOBODY))
    assert "folder /dev/shm/hotpath-0, of user 0: left out: its user is not in --users\n" in said
    assert f"folder /dev/shm/hotpath-{NOBODY}, of user {NOBODY}: read\n" in said
    # Another user has no more than what is that user's.
    said = host.run(tools["hotpath"], "agent", "--print-config", user=NOBODY)
    assert "folder /dev/shm/hotpath-0, of user 0: left out: it belongs to another user\n" in said
    assert "service of nobody\n" in said and "service of root\n" not in said


@needs_root
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_folders_that_are_closed_to_others(hosts, tools, on_host):
    """Where a session of a user who has logged in is: nobody else can look into that folder, not even the agent."""
    host = hosts()
    container = hosts(host)
    for user, where, service in ((NOBODY, host, "outside"), (4711, container, "inside")):
        where.folder(f"/run/user/{user}", user)
        record(where, tools, service, user, XDG_RUNTIME_DIR=f"/run/user/{user}")
    one = on_host(host)
    assert services(one) == {"outside", "inside"} and set(readers_of(one)) == {NOBODY, 4711}
    own = status_of(agent_of(one))
    assert own["Uid"].split() == ["0"] * 4, "it was that user for a moment"
    said = host.run(tools["hotpath"], "agent", "--print-config")
    assert f"folder /run/user/{NOBODY}/hotpath, of user {NOBODY}: read\n" in said


@needs_root
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_a_user_takes_no_room_of_others(hosts, tools, on_host):
    """By folders and links with the names of others, and by very many files."""
    host = hosts()
    record(host, tools, "of root")
    host.run("sh", "-c", """cd /dev/shm && seq 5000 | xargs touch
for number in $(seq 100 199); do
    mkdir -m 700 hotpath-7$number && mkdir -m 777 hotpath-8$number && ln -s / hotpath-9$number
done""", user=NOBODY)
    one = on_host(host)
    assert services(one) == {"of root"}
    record(host, tools, "of another", 4711)
    wait_until(lambda: services(one) == {"of root", "of another"})
    assert next(iter(one.numbers("hotpath_agent_folders_left_out").values())) >= 290


@needs_root
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_containers(hosts, tools, on_host):
    host = hosts()
    container = hosts(host)
    record(host, tools, "outside")
    record(container, tools, "inside", NOBODY)
    one = on_host(host)
    assert services(one) == {"outside", "inside"}
    said = host.run(tools["hotpath"], "agent", "--print-config")
    assert re.search(rf"^folder /proc/\d+/root/dev/shm/hotpath-{NOBODY}, of user {NOBODY}, in the mount namespace "
                     r"\d+: read$", said, re.M)
    # One that begins later is found, and what it had counted stays when it ends.
    later = hosts(host)
    record(later, tools, "later", NOBODY)
    wait_until(lambda: services(one) == {"outside", "inside", "later"})
    before = counters(one.metrics())
    later.end()
    wait_until(lambda: one.numbers("hotpath_agent_folders") == {"": 2})
    assert counters(one.metrics()) == before


@needs_root
@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_hostile_containers(hosts, tools, on_host):
    """Links, FIFOs, files that are huge or change, and names with anything in them: refused or made safe."""
    host = hosts()
    container = hosts(host)
    record(host, tools, "secret", NOBODY)
    record(container, tools, "good", NOBODY)
    shm, own = "/dev/shm", f"/dev/shm/hotpath-{NOBODY}"
    inside = container.run("sh", "-c", f"cd {own} && ls -d *.run").strip()
    container.run("python3", "-c", f"""
import os
os.symlink("{own}", "{shm}/hotpath-1")                      # to a folder here, ...
os.symlink("/proc/1/root/dev/shm/hotpath-{NOBODY}", "{shm}/hotpath-2")   # ... and maybe elsewhere
os.mkfifo("{shm}/hotpath-3")
os.mkdir("{shm}/hotpath-4"); os.chmod("{shm}/hotpath-4", 0o777)
open("{shm}/hotpath-5", "w").close()
os.mkdir("{shm}/hotpath-6"); os.chown("{shm}/hotpath-6", {NOBODY}, {NOBODY}); os.chmod("{shm}/hotpath-6", 0o700)
os.chdir("{own}")
os.mkfifo("1-1-0.hotpath")
os.symlink("/etc/shadow", "2-1-0.hotpath")
os.symlink("/etc", "3-1.run")
with open("4-1-0.hotpath", "wb") as huge:
    huge.truncate(1 << 40)
with open("5-1-0.hotpath", "wb") as noise:
    noise.write(os.urandom(100000))
os.mkdir("6-1\\n\\x1b[31m.run")
os.mkdir("7-1.run")
os.mkfifo("7-1.run/7-1-0.hotpath")
for name in os.listdir("."):
    os.lchown(name, {NOBODY}, {NOBODY})
""")
    changing = container.start("sh", "-c", f"cd {own}/{inside} && f=$(echo *-0.hotpath) && cp $f copy && "
                                           "while :; do truncate -s 100 $f; cat copy > $f; done", user=NOBODY)
    record(container, tools, 'evil"}\\ 1\n\x1b[31m{', NOBODY)
    try:
        one = on_host(host)
        for _ in range(2):
            text = one.get("/metrics").text
            assert "\x1b" not in text and 'service="secret"' in text
            one.reads_again()
        assert "secret" in services(one) and any("evil" in service for service in services(one))
        assert one.process.poll() is None and one.numbers("hotpath_agent_reader_failures") == {"": 0}
        assert list(one.numbers("hotpath_sessions_without_metrics").values())[0] <= 3
        said = host.run(tools["hotpath"], "agent", "--print-config")
    finally:
        container.end()
        changing.communicate(timeout=TIMEOUT)
    assert "\x1b" not in said
    link = "it is a symbolic link or not a directory"
    for name, reason in ((1, link), (2, link), (3, link), (4, "others can write to it"), (5, link)):
        assert re.search(rf"/root{shm}/hotpath-{name}\b.*: left out: {reason}$", said, re.M), said
    assert re.search(rf"/root{shm}/hotpath-6, of user {NOBODY}, .*: read$", said, re.M)
