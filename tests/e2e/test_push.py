"""Profiles pushed to collectors: what arrives adds up to what the runs have, and bad collectors do no harm."""
import contextlib
import http.server
import json
import os
import platform
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.request

import pytest

import exported
from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import (PROGRAMS, TIMEOUT, full, processes_may_be_read, with_glibc, without_emulator,
                     without_sanitizer)
from test_agent import agent  # noqa: F401 (a fixture)
from test_serve import serve  # noqa: F401 (a fixture)
from test_stacks_in_time import Acts

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

PATH = "/v1development/profiles"


class Collector:
    """A server that keeps what it is sent, and answers as it is told: by status, `headers`, or a function of the
    request."""

    def __init__(self, port=0, certificate=None):
        self.bodies, self.requests, self.moments = [], [], []
        self.status, self.headers, self.act = 200, {}, None
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                if collector.act and not collector.act(self):
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append((self.path, self.headers))
                collector.moments.append(time.monotonic())
                if collector.status == 200:
                    collector.bodies.append(body)
                self.send_response(collector.status)
                for name, value in ({"Content-Length": "0"} | collector.headers).items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, address):
                pass  # connections are cut

        self.server = Server(("127.0.0.1", port), Handler)
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self):
        return f"{self.scheme}://localhost:{self.port}"

    @property
    def got(self):
        return [exported.Otlp(body) for body in list(self.bodies)]

    def sums(self, service):
        """{type: {stack: weight}} of all that was sent for a service."""
        found = {}
        for push in self.got:
            for name, (_, stacks) in push.types.items() if push.resource["service.name"] == service else ():
                of_type = found.setdefault(name, {})
                for stack, weight in exported.sums_of(stacks).items():
                    of_type[stack] = of_type.get(stack, 0) + weight
        return found

    def end(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def collectors():
    started = []

    def start(*args, **options):
        started.append(Collector(*args, **options))
        return started[-1]
    yield start
    for collector in started:
        collector.end()


@pytest.fixture
def push(serve):
    """Starts servers that push every second."""
    def start(*targets, env=None):
        words = [target if isinstance(target, tuple) else ("--push", target) for target in targets]
        return serve("--push-every", 1, *sum(words, ()), env={"no_proxy": "localhost"} | (env or {}))
    return start


def metrics(server):
    """{(name, labels): number} of what is said about pushing."""
    found = {}
    for name, labels, number in re.findall(r"^(hotpath_agent_\w+)(\S*) (\S+)$", server.get("/metrics").text, re.M):
        found[(name, *sorted(re.findall(r'\w+="([^"]*)"', labels)))] = float(number)
    return found


def guests(cli, label="shop"):
    """A program with measured functions that calls one of them for each line that it gets."""
    env = cli.environment({"HOTPATH": "1", "HOTPATH_DIR": str(cli.folder), "HOTPATH_REPORT_LABEL": label,
                           "HOTPATH_WAITS": "1"})
    return subprocess.Popen([PROGRAMS / "guest", "copy"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env,
                            text=True)


@contextlib.contextmanager
def busy(cli):
    """A program that has something to push all the time: it waits."""
    program = guests(cli)
    try:
        program.stdin.write("x\n")
        program.stdin.flush()
        yield program
    finally:
        program.kill()
        program.communicate()


# ------------------------------------------------------------------------------------------------------- the sums

def assert_near(sums, truth):
    """What nothing had explained may be explained later: then a push has it elsewhere."""
    for name, stacks in truth.items():
        off = sum(abs(weight - sums[name].get(stack, 0)) for stack, weight in stacks.items())
        assert off <= 0.05 * sum(stacks.values()), name


@pytest.mark.skipif(not processes_may_be_read(), reason="processes of others may not be looked at here")
def test_stacks_add_up_to_those_of_the_run(cli, collectors, push):
    """In several pushes, to the nanosecond."""
    collector = collectors()
    push(f"otlp={collector.url}")
    acts = Acts(cli, "run", "--format", "none", "--")
    try:
        acts.do("one", 1)
        wait_until(lambda: collector.sums("acts_off").get("cpu"))
        acts.do("two", 1)
        acts.do("nap", 1)
    finally:
        acts.process.stdin.close()
        acts.process.wait(timeout=TIMEOUT)
    path = cli.folder / "all.pb.gz"
    cli("export", "-f", "pprof", "-o", path)
    types = exported.pprof(path.read_bytes())
    truth = {name: exported.sums_of(types[name][1]) for name in ("samples", "cpu", "times", "waits")}
    total = lambda sums: {name: sum(sums.get(name, {}).values()) for name in truth}
    wait_until(lambda: total(collector.sums("acts_off")) == total(truth))
    sums = collector.sums("acts_off")
    assert_near(sums, truth)
    assert any("two" in stack for stack in sums["cpu"]) and len(collector.got) >= 2
    run = collector.got[0]
    assert run.resource == {"service.name": "acts_off", "host.name": platform.node(),
                            "process.executable.name": "acts_off", "process.pid": run.resource["process.pid"]}
    assert exported.pprof_build_ids(path.read_bytes()).items() >= run.build_ids.items() and any(
        run.build_ids.values())
    assert "native" in run.frames.values() and run.types["cpu"][0] == "nanoseconds"
    assert run.periods["cpu"][0] == "cpu" and run.periods["cpu"][1] > 0
    time.sleep(1.5)  # nothing is sent twice
    assert total(collector.sums("acts_off")) == total(truth)


def test_measured_functions_add_up(cli, collectors, push):
    """Of a program that nobody observes, before and after it has ended."""
    collector = collectors()
    server = push(f"otlp={collector.url}")
    program = guests(cli)
    try:
        for _ in range(2):
            before = len(collector.bodies)
            program.stdin.write("x\n" * 1000)
            program.stdin.flush()
            wait_until(lambda: len(collector.bodies) > before)
        program.communicate("x\n" * 1000, timeout=TIMEOUT)
    finally:
        program.kill()
    path = cli.folder / "all.pb.gz"
    cli("export", "-f", "pprof", "-o", path)
    types = exported.pprof(path.read_bytes())
    truth = {name: exported.sums_of(stacks) for name, (_, stacks) in types.items()
             if name in ("zone-cpu-samples", "cpu-samples", "zone-cpu", "zone-waits")}
    assert "zone-waits" in truth
    wait_until(lambda: {name: sum(stacks.values()) for name, stacks in collector.sums("shop").items()
                        if name in truth} == {name: sum(stacks.values()) for name, stacks in truth.items()})
    assert_near(collector.sums("shop"), truth)
    assert metrics(server)[("hotpath_agent_push_total", f"http://localhost:{collector.port}", "sent")] == len(
        collector.bodies)


@pytest.mark.skipif(not processes_may_be_read(), reason="processes of others may not be looked at here")
def test_an_agent_pushes_without_folders(cli, collectors, agent):
    """By a process of its own, which reads the sessions."""
    collector = collectors()
    cli("run", "--format", "none", "--", "true")  # its reader has begun when it answers
    one = agent("--push-every", 1, "--push", f"otlp={collector.url}", "--push-header", "X-Agent: 1")
    wait_until(lambda: one.numbers("hotpath_agent_readers") == {"": 1})
    cli("run", "--format", "none", "--", PROGRAMS / "weights")
    path = cli.folder / "all.pb.gz"
    cli("export", "-f", "pprof", "-o", path)
    types = exported.pprof(path.read_bytes())
    total = lambda stacks: sum(weight for _, weight in stacks)
    truth = {name: total(types[name][1]) for name in ("samples", "cpu", "times", "waits") if name in types}
    sums = lambda: {name: sum(stacks.values()) for name, stacks in collector.sums("weights").items()}
    wait_until(lambda: sums() == truth)
    assert {file.rpartition("/")[2] for file in exported.pprof_build_ids(path.read_bytes())} >= set(
        collector.got[0].build_ids) and any(collector.got[0].build_ids.values())
    assert not any(text.startswith("/") for push in collector.got for text in push.texts)
    assert collector.requests[0][1]["X-Agent"] == "1"
    [sent] = one.numbers("hotpath_agent_push", target=collector.url, result="sent").values()
    assert sent == len(collector.bodies)


@full
def test_what_was_before_is_not_pushed(cli, collectors, push):
    with busy(cli) as program:
        program.stdin.write("x\n" * 1000)
        program.stdin.flush()
        wait_until(lambda: cli.sessions() and cli.read().rows("timing"))
        began = time.time_ns()
        collector = collectors()
        push(f"otlp={collector.url}")
        wait_until(lambda: len(collector.bodies) >= 2)
        got = collector.got
    assert all(push.began_ns >= began - 1e6 and push.ns > 0 for push in got)
    assert got[1].began_ns == got[0].began_ns + got[0].ns  # without a gap


# ------------------------------------------------------------------------------------------------------- requests

def test_requests(cli, collectors, push):
    """Path, type, headers: those of one collector are not for the other."""
    one, two = collectors(), collectors()
    secret = cli.folder / "headers"
    secret.write_text("Authorization: Bearer 123\n\nX-Scope-OrgID: shop\n")
    push(("--push", f"otlp={one.url}", "--push-header", f"@{secret}"),
         ("--push", f"otlp={two.url}/a/b?c=d", "--push-header", "X-Other: 1"))
    with busy(cli):
        wait_until(lambda: one.bodies and two.bodies)
    (path, headers), (other_path, others) = one.requests[0], two.requests[0]
    assert (path, other_path) == (PATH, "/a/b?c=d")
    for received in (headers, others):
        assert received["Content-Type"] == "application/x-protobuf" and received["Content-Encoding"] == "gzip"
        assert "Expect" not in received and received["User-Agent"] == "hotpath"
    assert headers["Authorization"] == "Bearer 123" and headers["X-Scope-OrgID"] == "shop"
    assert "Authorization" not in others and others["X-Other"] == "1" and "X-Other" not in headers
    assert one.bodies[0] == two.bodies[0]


@full
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed: there is no certificate")
def test_https(cli, collectors, push):
    """To a collector whose certificate is known, and not to one that is not."""
    pem = cli.folder / "pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", pem, "-out",
                    f"{pem}.crt"], check=True, capture_output=True, timeout=TIMEOUT)
    pem.write_text(pem.read_text() + (cli.folder / "pem.crt").read_text())
    collector, name = collectors(certificate=pem), "hotpath_agent_push_total"
    with busy(cli):
        stranger = push(f"otlp={collector.url}")
        wait_until(lambda: metrics(stranger)[(name, collector.url, "retried")] > 0)
        assert not collector.bodies
        push(f"otlp={collector.url}", env={"SSL_CERT_FILE": f"{pem}.crt"})
        wait_until(lambda: collector.bodies)
    assert "certificate" in stranger.end()[1]


def test_bad_words(cli):
    for words, said in ((["--push", "http://h"], "--push: 'http://h' is not otlp=URL"),
                        (["--push", "otlp=ftp://h"], "no URL that begins with http:// or https://"),
                        (["--push-header", "A: secret"], "there is none"),
                        (["--push", "otlp=http://h", "--push-header", "secret"], "not 'Name: value'"),
                        (["--push-every", "0"], "not between 1 and 3600")):
        done = cli("serve", *words, status=2)
        assert said in done.stderr and "secret" not in done.stderr and len(done.lines) == 1


@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="only root can hide libraries")
def test_without_libcurl(cli):
    hidden = " && ".join(f"mount --bind /dev/null {path}" for path in map(str, find_libraries("libcurl")))
    command = ["unshare", "-m", "sh", "-c", f'{hidden} && exec "$@"', "sh", cli.program, "serve", "--push",
               "otlp=http://localhost:1"]
    done = subprocess.run(command, env=cli.environment(), capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == "hotpath: libcurl is missing, which pushes profiles: install libcurl4\n"


def find_libraries(name):
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, timeout=TIMEOUT).stdout
    return sorted({os.path.realpath(path) for path in re.findall(rf"{name}\S*\.so\.\S* .*=> (\S+)", listed)})


# ------------------------------------------------------------------------------------------------- bad collectors

def free_port():
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_collector_that_comes_later(cli, collectors, push):
    """Nothing is lost: not to it, and not to the other."""
    port, other = free_port(), collectors()
    name = f"http://localhost:{port}"
    server = push(f"otlp={name}", f"otlp={other.url}")
    with busy(cli):
        wait_until(lambda: len(other.bodies) >= 2 and metrics(server)[
            ("hotpath_agent_push_total", name, "retried")] >= 1)
        assert metrics(server)[("hotpath_agent_spool_bytes",)] > 0
        late = collectors(port)
        wait_until(lambda: len(late.bodies) >= 3)
    assert other.bodies[:3] == late.bodies[:3]
    assert not any(number for (kind, *_), number in metrics(server).items() if "dropped" in kind)
    said = server.end()[1]
    assert said.count(f"profiles cannot be pushed to {name}, and wait: ") == 1


@pytest.mark.parametrize("status, headers, result", [
    pytest.param(429, {"Retry-After": "2"}, "retried", id="busy"), pytest.param(500, {}, "refused", id="broken"),
    pytest.param(503, {}, "retried", id="ill", marks=full),
    pytest.param(404, {}, "refused", id="missing", marks=full),
    pytest.param(302, {"Location": "http://localhost:1/"}, "refused", id="elsewhere", marks=full)])
def test_answers(cli, collectors, push, status, headers, result):
    """What may be taken later is sent again, the same; all other is dropped and counted."""
    collector = collectors()
    collector.status, collector.headers = status, headers
    server = push(f"otlp={collector.url}")
    kind = ("hotpath_agent_push_total", collector.url, result)
    with busy(cli):
        wait_until(lambda: metrics(server)[kind] >= 2)
        collector.status = 200
        wait_until(lambda: len(collector.bodies) >= 2)
        found = metrics(server)
    got = collector.got
    times = [(push.began_ns, push.ns) for push in got]
    assert all(end[0] == begin[0] + begin[1] for begin, end in zip(times, times[1:]))
    assert collector.moments[1] - collector.moments[0] >= int(headers.get("Retry-After", 0))
    refused = found[("hotpath_agent_push_dropped_total", "refused")]
    assert refused == (0 if result == "retried" else found[kind])
    said = server.end()[1]
    assert said.count(f"{collector.url} answered {status} to profiles: they ") == 1


def cut_at_once(handler):
    return False


def cut_in_the_body(handler):
    handler.rfile.read(10)
    return False


def answer_without_end(handler):
    handler.rfile.read(int(handler.headers["Content-Length"]))
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b"x" * 65536)
    return False


def say_nonsense(handler):
    handler.wfile.write(b"\0\xff" * 1000)
    return False


@pytest.mark.parametrize("act, result", [
    pytest.param(cut_in_the_body, "retried"), pytest.param(cut_at_once, "retried", marks=full),
    pytest.param(say_nonsense, "retried", marks=full), pytest.param(answer_without_end, "sent", marks=full)])
def test_cut_and_endless(cli, collectors, push, act, result):
    collector = collectors()
    collector.act = act
    server = push(f"otlp={collector.url}")
    with busy(cli):
        wait_until(lambda: metrics(server)[("hotpath_agent_push_total", collector.url, result)] >= 1)
        collector.act = None
        wait_until(lambda: collector.bodies)
    server.works()


def test_a_slow_collector_blocks_nobody(cli, collectors, push):
    """It takes what it is sent and never answers: the other gets all, and the server answers."""
    slow, other, release = collectors(), collectors(), threading.Event()
    slow.act = lambda handler: release.wait(TIMEOUT) and False
    server = push(f"otlp={slow.url}", f"otlp={other.url}")
    try:
        with busy(cli):
            wait_until(lambda: len(other.bodies) >= 3)
            server.works()
            found = metrics(server)
        assert found[("hotpath_agent_push_total", slow.url, "sent")] == 0
        assert found[("hotpath_agent_spool_bytes",)] > 0
    finally:
        release.set()
    assert server.end() == (0, "hotpath: press Ctrl-C to stop\n")


def test_a_name_that_is_never_found_blocks_nobody(cli, push, tmp_path):
    """Neither the answers nor the end."""
    asked, library = tmp_path / "asked", tmp_path / "names.so"
    (tmp_path / "names.c").write_text(f"""#include <fcntl.h>
#include <netdb.h>
#include <unistd.h>
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{{
    open("{asked}", O_CREAT | O_WRONLY, 0600);
    for (;;)
        pause();
}}
""")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "names.c"], check=True)
    server = push("otlp=http://collector.example:4318", env={"LD_PRELOAD": str(library)})
    with busy(cli):
        wait_until(asked.exists)
        assert server.get("/metrics").status == 200
    assert server.end()[0] == 0


@full
def test_nothing_grows(cli, collectors, push):
    """Neither memory nor descriptors, while collectors are gone, slow and angry, and sessions come and go."""
    angry, cutting = collectors(), collectors()
    angry.status, cutting.act = 500, cut_in_the_body
    server = push(f"otlp=http://localhost:{free_port()}", f"otlp={angry.url}", f"otlp={cutting.url}")
    resident = lambda: int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{server.process.pid}/status").read())[1])
    seen = []
    for _ in range(12):
        with contextlib.ExitStack() as stack:
            for _ in range(8):
                stack.enter_context(busy(cli))
            time.sleep(2)
        seen.append((resident(), server.descriptors()))
    server.works()
    assert max(kb for kb, _ in seen) < seen[2][0] + 16 * 1024, seen
    assert max(count for _, count in seen) < seen[2][1] + 8, seen
    assert metrics(server)[("hotpath_agent_spool_bytes",)] <= 16 << 20


# ------------------------------------------------------------------------------------------------ a real collector

VERSION = "v0.161.0"
GO = shutil.which("go") or next((path for path in ("/usr/local/go/bin/go", "/usr/lib/go/bin/go")
                                 if os.path.exists(path)), None)
PARTS = f"""dist: {{name: collector, output_path: ./collector, module: example.com/collector}}
receivers: [{{gomod: go.opentelemetry.io/collector/receiver/otlpreceiver {VERSION}}}]
exporters: [{{gomod: github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter {VERSION}}}]
providers: [{{gomod: go.opentelemetry.io/collector/confmap/provider/fileprovider v1.67.0}},
            {{gomod: go.opentelemetry.io/collector/confmap/provider/envprovider v1.67.0}}]
"""
CONFIGURATION = """receivers: {otlp: {protocols: {http: {endpoint: "localhost:%d"}}}}
exporters: {file: {path: "%s"}}
service: {telemetry: {metrics: {level: none}}, pipelines: {profiles: {receivers: [otlp], exporters: [file]}}}
"""


@pytest.fixture(scope="module")
def collector_program(tmp_path_factory):
    """A Collector of OpenTelemetry: HOTPATH_COLLECTOR, or one that is built of its sources, which takes minutes."""
    if "HOTPATH_COLLECTOR" in os.environ:
        return os.environ["HOTPATH_COLLECTOR"]
    if GO is None:
        pytest.skip("go is not installed: no Collector can be built; HOTPATH_COLLECTOR may name one")
    folder = tmp_path_factory.mktemp("collector")
    (folder / "parts.yaml").write_text(PARTS)
    env = os.environ | {"GOPATH": str(folder / "go"), "GOCACHE": str(folder / "cache"), "GOFLAGS": "-modcacherw",
                        "CGO_ENABLED": "0", "PATH": f"{os.path.dirname(GO)}:{os.environ['PATH']}"}
    for command in ([GO, "install", f"go.opentelemetry.io/collector/cmd/builder@{VERSION}"],
                    [folder / "go/bin/builder", "--config", "parts.yaml"]):
        try:
            subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=900, check=True)
        except subprocess.SubprocessError as error:
            pytest.skip(f"the Collector {VERSION} cannot be built here: {error} {(error.stderr or '')[-200:]}")
    shutil.rmtree(folder / "cache")
    return folder / "collector/collector"


def read_written(path, since=0):
    """{type: {stack: weight}}, and build ids, of what the Collector has written: a line of JSON per request."""
    sums, build_ids = {}, {}
    for line in path.read_text()[since:].split("\n")[:-1] if path.exists() else ():
        request = json.loads(line)
        tables = request["dictionary"]
        texts = tables["stringTable"]
        lines = [[texts[tables["functionTable"][line["functionIndex"]]["nameStrindex"]]
                  for line in location.get("lines", [])] for location in tables["locationTable"]]
        stacks = [tuple(name for at in reversed(stack.get("locationIndices", [])) for name in reversed(lines[at]))
                  for stack in tables["stackTable"]]
        attributes = [(texts[entry.get("keyStrindex", 0)], entry.get("value", {}).get("stringValue"))
                      for entry in tables["attributeTable"]]
        for mapping in tables["mappingTable"][1:]:
            its = dict(attributes[at] for at in mapping.get("attributeIndices", []))
            build_ids[texts[mapping["filenameStrindex"]]] = its.get("process.executable.build_id.gnu", "")
        for profile in request["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]:
            of_type = sums.setdefault(texts[profile["sampleType"]["typeStrindex"]], {})
            for sample in profile["samples"]:
                stack = stacks[sample["stackIndex"]]
                of_type[stack] = of_type.get(stack, 0) + sum(map(int, sample["values"]))
    return sums, build_ids


@full
def test_a_real_collector(cli, push, collector_program):
    """It takes pushes, and a file of `hotpath export`, and writes what they have."""
    path, port = cli.folder / "written.json", free_port()
    (cli.folder / "collector.yaml").write_text(CONFIGURATION % (port, path))
    with open(cli.folder / "log", "w") as log:
        collector = subprocess.Popen([collector_program, "--config", cli.folder / "collector.yaml",
                                      "--feature-gates", "service.profilesSupport"], stdout=log, stderr=log)
    try:
        server = push(f"otlp=http://localhost:{port}")
        cli("run", "--format", "none", "--", PROGRAMS / "weights")
        for form in ("pprof", "otlp"):
            cli("export", "-f", form, "-o", cli.folder / form)
        profile = (cli.folder / "pprof").read_bytes()
        truth = {name: exported.sums_of(stacks) for name, (_, stacks) in exported.pprof(profile).items()}
        pushed = [name for name in ("samples", "cpu", "times", "waits") if name in truth]
        totals = lambda sums: {name: sum(sums.get(name, {}).values()) for name in pushed}
        wait_until(lambda: collector.poll() is not None or totals(read_written(path)[0]) == totals(truth))
        assert collector.poll() is None, (cli.folder / "log").read_text()
        server.end()
        before, body = len(path.read_text()), (cli.folder / "otlp").read_bytes()
        request = urllib.request.Request(f"http://localhost:{port}{PATH}", body, {
            "Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"})
        assert urllib.request.urlopen(request, timeout=TIMEOUT).status == 200
        wait_until(lambda: read_written(path, before)[0])
        sums, build_ids = read_written(path, before)
        assert sums == truth and len(truth) > 6
        known = exported.pprof_build_ids(profile)
        assert build_ids == {name: known[name] for name in build_ids} and any(build_ids.values())
    finally:
        collector.kill()
        collector.wait()
