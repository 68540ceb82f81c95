"""`hotpath serve`: its answers match the report, and only authorised requests get one, whatever their form."""
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import urllib.parse

import pytest

from command import Cli, cli, wait_until  # noqa: F401 (a fixture)
from harness import (EXAMPLES, IS_LONG, PROGRAMS, TIMEOUT, Box, without_emulator, without_sanitizer,
                     without_thread_sanitizer)
from test_page import Page, page_of

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too")]


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode()


class Server:
    """A running server."""

    def __init__(self, cli, *args, env=None):
        self.process = cli.start("serve", "--port", "0", *args, env=env)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            said = self.process.communicate(timeout=TIMEOUT)[1]
            if "libmicrohttpd" in said or "libcurl is missing" in said:
                pytest.skip(said.strip())
            pytest.fail(said)
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port = parts.hostname, parts.port
        self.token = urllib.parse.parse_qs(parts.query)["token"][0]

    def target(self, path, **query):
        return path + "?" + urllib.parse.urlencode({"token": self.token} | query)

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)

    def ask(self, target, method="GET", headers=(), body=None):
        connection = self.connect()
        connection.request(method, target, headers=dict(headers), body=body)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        return answer

    def get(self, path, headers=(), **query):
        return self.ask(self.target(path, **query), headers=headers)

    def socket(self):
        return socket.create_connection((self.host, self.port), timeout=TIMEOUT)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def works(self):
        assert self.process.poll() is None
        assert self.get("/").status == 200

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, said


@pytest.fixture
def serve(cli):
    """Starts servers, and ends them after the test."""
    servers = []

    def start(*args, **options):
        servers.append(Server(cli, *args, **options))
        return servers[-1]
    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


@pytest.fixture(scope="module")
def second_of_orders():
    """A folder with the sessions of a run that has ended."""
    box = Box()
    cli = Cli(box)
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    yield cli.folder
    box.remove()


@pytest.fixture
def finished(cli, second_of_orders):
    """A copy: tests add sessions and change files."""
    shutil.copytree(second_of_orders, cli.folder, dirs_exist_ok=True)


class Events:
    """A client of /events."""

    def __init__(self, server, **query):
        self.connection = server.connect()
        self.connection.request("GET", server.target("/events", **query))
        self.response = self.connection.getresponse()
        assert self.response.status == 200 and self.response.headers["Content-Type"] == "text/event-stream"

    def next(self):
        """(event, data); None: it has ended. Comments are left out."""
        event = data = None
        for line in iter(self.response.readline, b""):
            key, _, value = line.decode().rstrip("\n").partition(": ")
            if key == "event":
                event = value
            elif key == "data":
                data = json.loads(value)
            elif key == "" and not value and event:
                return event, data
        return None


# ---------------------------------------------------------------------------------------------------------- answers

def test_reports_match_the_command(cli, serve, finished):
    server = serve()
    for section in (None, "timing", "bottlenecks,waits", "all,-timeline", "calltree"):
        told = server.get("/report.json", **({"section": section} if section else {}))
        assert told.status == 200 and told.headers["Content-Type"] == "application/json"
        said = cli("report", "--format", "json", *(["--section", section] if section else [])).stdout
        assert json.loads(told.text) == json.loads(said), section
    # Options set the form of reports, as there.
    few = serve("--limit", "2", "--section", "timing")
    assert json.loads(few.get("/report.json").text) == json.loads(
        cli("report", "--format", "json", "-n", "2", "--section", "timing").stdout)
    # By name, by the operand, and by a header instead of the URL.
    name = next(path.name for path in cli.folder.iterdir() if path.suffix == ".run")
    report = json.loads(server.get("/report.json", section="timing", session=name).text)
    assert report == json.loads(server.ask("/report.json?section=timing",
                                           headers={"Authorization": f"Bearer {server.token}"}).text)
    chosen = serve(name)
    assert "/page?token=" in chosen.address
    assert report == json.loads(chosen.get("/report.json", section="timing").text)


def test_page_matches_the_report(cli, serve, finished):
    server = serve()
    page, file = Page(server.get("/page").text), page_of(cli)
    session = page.data.pop("session")
    assert (page.data.pop("is_served"), file.data.pop("is_served")) == (True, False)
    assert page.data == file.data and session in server.get("/").text
    # It may connect to its own server; a file may not connect at all.
    assert "connect-src 'self'; base-uri" in page.head
    assert "connect-src" not in file.head.split("</head>")[0].split("<style>")[0]
    data = json.loads(server.get("/page.json").text)
    assert data.pop("is_served") and data.pop("session") == session and data == file.data


def test_the_list_names_every_session(cli, serve):
    cli("run", "--format", "none", "--", EXAMPLES / "basic")
    cli.box.run(EXAMPLES / "blocks", folder=cli.folder)
    server = serve()
    listed = server.get("/").text
    links = re.findall(r'<a href="(page\?session=[^"]*)">([^<]*)</a>', listed)
    assert len(links) == 2 and "/blocks" in links[0][1] and "/basic" in links[1][1]
    for link, _ in links:
        assert server.ask("/" + link.replace("&amp;", "&")).status == 200
    assert "<script" not in listed
    empty = Cli(cli.box)
    alone = Server(empty)
    assert "No session yet" in alone.get("/").text
    assert alone.get("/report.json").status == 404
    assert alone.end()[0] == 0


def test_hostile_commands_are_escaped(cli, serve):
    path = cli.folder / '<b title="x">&amp;'
    shutil.copy(EXAMPLES / "basic", path)
    cli.box.run(path, folder=cli.folder, env={"LD_LIBRARY_PATH": EXAMPLES.parent / "lib"})
    listed = serve().get("/").text
    assert "&lt;b title=&quot;x&quot;&gt;&amp;amp;" in listed and "<b title" not in listed


def test_head_has_no_body(serve, finished):
    server = serve()
    for path in ("/", "/page", "/page.json", "/report.json", "/metrics", "/events"):
        answer = server.ask(server.target(path), method="HEAD")
        assert (answer.status, answer.body) == (200, b""), path


# -------------------------------------------------------------------------------------------------------- metrics

OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\}})? (\S+)')


PARTS = {"counter": {"_total"}, "gauge": {""}, "info": {"_info"}, "histogram": {"_bucket", "_sum", "_count"}}


def read_metrics(text):
    """
    Checks the rules of OpenMetrics 1.0: {family: {"TYPE": type, "samples": {labels: value}}}. Samples of a
    histogram have their part before the labels, as in _count{...}.
    """
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""] and "" not in lines[:-1]
    families, name = {}, None
    for line in lines[:-2]:
        if line.startswith("# "):
            _, key, named, rest = line.split(" ", 3)
            if named != name:
                assert named not in families, f"{named} comes twice"
                name, families[named] = named, {"samples": {}}
            assert key in ("HELP", "TYPE", "UNIT") and key not in families[name] and not families[name]["samples"]
            families[name][key] = rest
            if key == "UNIT":
                assert named.endswith("_" + rest)
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        family = families[name]
        part = match[1].removeprefix(name)
        assert match[1].startswith(name) and part in PARTS[family["TYPE"]], line
        labels = match[2] or ""
        if family["TYPE"] == "histogram":
            labels = f"{part}{{{labels}}}"
        assert labels not in family["samples"], line
        family["samples"][labels] = float(match[3])
        if family["TYPE"] == "counter":
            assert float(match[3]) >= 0
    assert all({"HELP", "TYPE"} <= set(family) and family["samples"] for family in families.values())
    return families


def test_metrics_are_valid_and_match_the_report(cli, serve, finished):
    server = serve("orders")
    answer = server.get("/metrics", headers=OPENMETRICS)
    assert answer.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    families = read_metrics(answer.text)
    report = json.loads(cli("report", "--format", "json", "--limit", "0", "--section",
                            "timing,cpu,alloc-bytes,waits").stdout)
    rows = {name: {row["name"]: row for row in section["rows"]} for name, section in report["sections"].items()}
    for family, section, key, scale in (("calls", "timing", "calls", 1), ("seconds", "timing", "total_ns", 1e-9),
                                        ("self_seconds", "timing", "self_ns", 1e-9),
                                        ("cpu_user_seconds", "cpu", "user_ns", 1e-9),
                                        ("allocated_bytes", "alloc-bytes", "own_bytes", 1)):
        if not rows.get(section):  # a sanitizer's allocations are not watched
            assert section == "alloc-bytes" and "hotpath_function_" + family not in families
            continue
        samples = families["hotpath_function_" + family]["samples"]
        assert samples == pytest.approx({f'function="{name}"': row[key] * scale for name, row in
                                         rows[section].items()}, rel=1e-6, abs=1e-8), family
    waited = {}
    for row in report["sections"]["waits"]["rows"]:
        waited[f'cause="{row["cause"]}"'] = waited.get(f'cause="{row["cause"]}"', 0) + row["waited_ns"] * 1e-9
    assert families["hotpath_waiting_seconds"]["samples"] == pytest.approx(waited, rel=1e-6)
    assert families["hotpath_running"]["samples"] == {"": 0}
    assert families["hotpath_elapsed_seconds"]["samples"][""] == pytest.approx(report["elapsed_ns"] * 1e-9)


@without_sanitizer("locks are not counted there")
def test_metrics_of_locks(cli, serve):
    """The numbers of the section `locks`, in both formats; a condition has waits alone."""
    cli("run", "--locks", "--format", "none", "--", PROGRAMS / "lock_truth")
    server = serve("lock_truth")
    families = read_metrics(server.get("/metrics", headers=OPENMETRICS).text)
    report = json.loads(cli("report", "--format", "json", "--limit", "0", "--section", "locks").stdout)
    rows = {f'lock="{row["name"]}",kind="{row["kind"]}"': row for row in report["sections"]["locks"]["rows"]}
    assert len(rows) > 10 and 'lock="ready",kind="condition"' in rows
    for family, key in (("acquisitions", "locked"), ("contended", "contended"), ("waits", "waits"),
                        ("wait_seconds", "wait_ns"), ("blocked_seconds", "blocked_ns"),
                        ("wakeup_seconds", "wakeup_ns")):
        assert families["hotpath_lock_" + family]["samples"] == pytest.approx(
            {labels: row[key] * (1e-9 if key.endswith("_ns") else 1) for labels, row in rows.items()
             if row[key] is not None}, rel=1e-6), family
    forced = 'lock="forced",kind="mutex"'
    for family, count, mean in (("wait", "waits", "wait_mean_ns"), ("hold", "holds", "hold_mean_ns")):
        samples, row = families[f"hotpath_lock_{family}_duration_seconds"]["samples"], rows[forced]
        assert samples[f"_count{{{forced}}}"] == row[count] > 0
        assert samples[f"_sum{{{forced}}}"] == pytest.approx(row[mean] * row[count] * 1e-9)
    assert families["hotpath_locks_without_metrics"]["samples"] == {"": 0}
    older = server.get("/metrics").text
    assert "# TYPE hotpath_lock_acquisitions_total counter" in older
    if PROMTOOL:
        check_by_prometheus(older)


@without_sanitizer("locks are not counted there")
def test_metrics_of_the_critical_path(cli, serve):
    """They are gauges, so only those of one session are there after its end."""
    cli("run", "--locks", "--path", "--format", "none", "--", PROGRAMS / "critical", "convoy", "sleep")
    server = serve("critical")
    families = read_metrics(server.get("/metrics", headers=OPENMETRICS).text)
    sections = json.loads(cli("report", "--format", "json", "--limit", "0", "--section",
                              "critical-path,path-waits").stdout)["sections"]
    for family, label, section, key in (("path_seconds", "function", "critical-path", "path_ns"),
                                        ("path_waited_seconds", "awaited", "path-waits", "waited_ns")):
        expected = {}
        for row in sections[section]["rows"]:
            labels = f'{label}="{row["name"]}",kind="{row["kind"]}"'
            expected[labels] = expected.get(labels, 0) + row[key] * 1e-9
        assert len(expected) > 1 and families["hotpath_" + family]["TYPE"] == "gauge"
        assert families["hotpath_" + family]["samples"] == pytest.approx(expected, rel=1e-6), family
    assert families["hotpath_path_waited_seconds"]["samples"]['awaited="cache_lock",kind="lock"'] > 0


PROMTOOL = shutil.which("promtool")


def check_by_prometheus(text):
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("accepted", [None, "*/*", "text/html,*/*;q=0.8",
                                      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"])
def test_metrics_in_the_older_text_format(serve, finished, accepted):
    """It is for everyone who does not ask for OpenMetrics: curl, browsers, older collectors."""
    answer = serve().get("/metrics", headers={"Accept": accepted} if accepted else {})
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE hotpath_function_calls_total counter" in answer.text and "# EOF" not in answer.text
    if not PROMTOOL:
        pytest.skip("the rest needs promtool, of Debian's package prometheus")
    check_by_prometheus(answer.text)


def test_labels_are_limited(cli, serve):
    """A thousand functions have only two hundred series, those with the most time, and one for all the others."""
    cli("run", "--format", "none", "--", PROGRAMS / "odd_names", "1000", "50", "1500",
        env={"HOTPATH_MEASURING_BOUND": "0"})
    server = serve("odd_names")
    first, second = (read_metrics(server.get("/metrics", headers=OPENMETRICS).text) for _ in range(2))
    functions = set(first["hotpath_function_calls"]["samples"])
    assert len(functions) == 201 and functions == set(second["hotpath_function_calls"]["samples"])
    rows = json.loads(cli("report", "--format", "json", "--section", "timing", "--limit",
                          "0").stdout)["sections"]["timing"]["rows"]
    assert len(rows) > 250 and first["hotpath_functions_without_metrics"]["samples"][""] == len(rows) - 200
    assert sum(first["hotpath_function_calls"]["samples"].values()) == sum(row["calls"] for row in rows)
    # Those without a series have less time than all that have one; names are distinguished by what needs no escape.
    least = min(seconds for function, seconds in first["hotpath_function_self_seconds"]["samples"].items()
                if function != 'function="[other]"')
    left_out = [row for row in rows if row["name"].startswith("function ") and
                f'function="{row["name"]}"' not in functions]
    assert len(left_out) > 40 and all(row["self_ns"] * 1e-9 <= least * (1 + 1e-6) for row in left_out)


# --------------------------------------------------------------------------------------------------- access control

def test_unauthorized_requests_are_refused(serve, finished):
    server = serve()
    good = server.target("/report.json")
    own = f"{server.host}:{server.port}"
    wrong = [server.token[:-1] + ("0" if server.token[-1] != "0" else "1"), "", server.token[:-1], server.token +
             "0", "x" * 5000]
    for token in wrong:
        assert server.ask("/report.json?token=" + token).status in (400, 403, 414), token
        assert server.ask("/report.json", headers={"Authorization": f"Bearer {token}"}).status in (403, 431), token
    assert server.ask("/report.json").status == 403
    assert server.ask("/nothing").status == 403, "who has no token learns nothing"
    for host in ("evil.example", "localhost.evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example",
                 "[::2]", "8.8.8.8", "localhost:", "", "[::1", "localhost:80x", "a@localhost"):
        assert server.ask(good, headers={"Host": host}).status in (400, 403), host
    for host in (own, f"localhost:{server.port}", "LOCALHOST", "127.0.0.1:9", "[::1]:9", "127.1.2.3"):
        assert server.ask(good, headers={"Host": host}).status == 200, host
    for origin in ("http://evil.example", "null", f"https://{own}", "http://localhost:1", "", f"http://{own}/",
                   "file://"):
        assert server.ask(good, headers={"Origin": origin}).status == 403, origin
    assert server.ask(good, headers={"Origin": f"http://{own}"}).status == 200
    for site in ("cross-site", "same-site", "anything"):
        assert server.ask(good, headers={"Sec-Fetch-Site": site}).status == 403, site
    for site in ("same-origin", "none"):
        assert server.ask(good, headers={"Sec-Fetch-Site": site}).status == 200, site
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "get"):
        answer = server.ask(good, method=method)
        assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD", method
    assert server.ask(good, body=b"something").status == 413
    for path in ("/x", "//", "/page/", "/../etc/passwd", "/page.json/..", "/%2e%2e/"):
        assert server.ask(server.target(path)).status == 404, path
    for query in ("session", "x=1", "session=a&session=b", "section=%zz", "section=%", "section=%00",
                  "section=a%0ab", "section=" + "a" * 300, "section=UPPER"):
        assert server.ask(good + "&" + query).status == 400, query
    for session in ("nothing", "../x", "/etc/passwd", ".", "x.run/../y", "%2e%2e"):
        assert server.ask(server.target("/report.json", session=session)).status == 404, session
    answer = server.ask(good)
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in answer.headers


def bad_request(server, chance):
    """Bytes of an invalid request, of some kind."""
    host = f"Host: {server.host}:{server.port}\r\n"
    good = server.target("/report.json", section="timing")
    zero = chr(0)
    kinds = (
        lambda: chance.randbytes(chance.randrange(1, 3000)),
        lambda: (f"{chance.choice(['POST', 'PUT', 'X' * 300, 'GE' + zero + 'T', ''])} {good} HTTP/1.1\r\n"
                 f"{host}\r\n").encode(),
        lambda: f"GET /{'a' * chance.randrange(1, 40000)} HTTP/1.1\r\n{host}\r\n".encode(),
        lambda: f"GET {good} HTTP/1.1\r\n{host}X: {'a' * chance.randrange(1, 60000)}\r\n\r\n".encode(),
        lambda: (f"GET {good} HTTP/1.1\r\n{host}"
                 f"Content-Length: {chance.choice(['-1', '99999999999999999999', 'x', '5'])}\r\n\r\nabc").encode(),
        lambda: f"GET {good} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n"
                f"\r\n{chance.choice(['zz', '5', 'ffffffffffffffffff'])}\r\n".encode(),
        lambda: (f"GET {good}&{chance.randbytes(8).hex()}=%{chance.randbytes(3).hex()} HTTP/1.1\r\n"
                 f"{host}\r\n").encode(),
        lambda: f"GET /report.json?token={chance.randbytes(16).hex()} HTTP/1.1\r\n{host}\r\n".encode(),
        lambda: f"GET {good} HTTP/1.1\r\nHost: {chance.randbytes(6).hex()}.example\r\n\r\n".encode(),
        lambda: f"GET {good} HTTP/{chance.choice(['0.9', '2.0', '1.1' + zero, 'x'])}\r\n\r\n".encode(),
        lambda: b"\r\n" * chance.randrange(1, 2000),
        lambda: f"GET {good} HTTP/1.1\r\n{host}".encode()[:chance.randrange(1, 60)],  # never ends
    )
    return chance.choice(kinds)()


def test_server_survives_bad_requests(serve, finished):
    server = serve()
    expected = server.get("/report.json", section="timing").body
    at_rest = server.descriptors()
    chance, slow = random.Random(7), []
    for number in range(1000 if IS_LONG else 300):
        one = server.socket()
        request = bad_request(server, chance)
        try:
            one.sendall(request)
            if number % 3 == 0:
                one.shutdown(socket.SHUT_WR)
                one.settimeout(0.2)
                while one.recv(65536):
                    pass
        except OSError:
            pass  # it may close, or wait for the rest
        if len(slow) < 60 and number % 10 == 1:
            slow.append(one)  # neither reads nor ends
        else:
            one.close()
        if number % 100 == 99:
            assert server.get("/report.json", section="timing").body == expected
    server.works()
    # Slow clients do not disturb others, and are dropped after a while without activity.
    wait_until(lambda: server.descriptors() <= at_rest)
    for one in slow:
        one.close()
    assert server.get("/report.json", section="timing").body == expected
    assert server.end()[0] == 0


def test_clients_that_do_not_read_block_nobody_else(serve, finished):
    server = serve()
    stuck = []
    for _ in range(40):
        one = server.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.sendall(f"GET {server.target('/page')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        stuck.append(one)
    server.works()
    for one in stuck:
        one.close()


def test_fifty_clients_at_once(serve, finished):
    server = serve()
    expected = {path: server.get(path).body for path in ("/page.json", "/metrics", "/report.json")}
    watching = [Events(server) for _ in range(50)]
    problems = []

    def visit(number):
        try:
            for path in list(expected) * 2:
                if server.get(path).body != expected[path]:
                    problems.append(path)
        except Exception as problem:  # noqa: BLE001 whatever it is, the test says so
            problems.append(repr(problem))
    threads = [threading.Thread(target=visit, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert all(events.next()[0] == "report" for events in watching)
    assert server.end(signal.SIGINT)[0] == 0


# ------------------------------------------------------------------------------------------------------------- live

def test_numbers_rise_while_the_program_runs(cli, serve):
    in_ci = {"CI": "true", "GITHUB_ACTIONS": None, "GITLAB_CI": None}
    run = cli.start("run", "--format", "none", "--", EXAMPLES / "orders", "600", env=in_ci)
    wait_until(lambda: list(cli.folder.glob("*.run/*.hotpath")))
    server = serve("--every", "0.1")
    wait_until(lambda: server.get("/report.json").status == 200)  # a new session cannot be read yet
    events = Events(server)
    event, data = events.next()
    assert event == "report" and data["is_live"]
    assert json.loads(server.get("/report.json").text)["meta"]["source"]["ci"] == "other"
    timing = lambda: json.loads(server.get("/report.json", section="timing").text)["sections"]["timing"]
    calls = lambda: sum(row["calls"] for row in timing()["rows"])
    before, generations = calls(), [data["generation"]]
    while len(generations) < 5:
        event, data = events.next()
        assert event == "report"
        generations.append(data["generation"])
    assert generations == sorted(set(generations))
    wait_until(lambda: calls() > before)
    counted = [read_metrics(server.get("/metrics", headers=OPENMETRICS, session=next(cli.folder.glob("*.run")).name)
                            .text)["hotpath_function_calls"]["samples"]
               for _ in range(3)]
    for early, late in zip(counted, counted[1:]):
        assert all(early[label] <= late[label] for label in early)
    assert json.loads(server.get("/page.json").text)["state"] == "running"
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=TIMEOUT)
    while (told := events.next()) is not None and told[0] != "end":
        assert told[0] == "report"
    assert told == ("end", {"generation": told[1]["generation"], "is_live": False})
    assert events.next() is None
    assert json.loads(server.get("/report.json").text) == json.loads(cli("report", "--format", "json").stdout)


def test_a_restarted_program_is_found(cli, serve, finished):
    """By the first word of its command, once it runs: neither another program nor one that has ended."""
    runs = lambda: {path.name for path in cli.folder.glob("*.run")}
    first = runs()
    server = serve()
    restarted = lambda: json.loads(server.get("/restarted.json", session=next(iter(first))).text)
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    started = []
    try:
        started.append(cli.start("run", "--format", "none", "--", "sleep", "600"))
        wait_until(lambda: any(row["state"] == "live" for row in cli.sessions("-a")))
        assert restarted() is None
        others = runs()
        started.append(cli.start("run", "--format", "none", "--", EXAMPLES / "orders", "600"))
        wait_until(lambda: restarted() is not None)
        assert {restarted()["session"]} == runs() - others
        assert json.loads(server.get("/restarted.json", session=restarted()["session"]).text) is None
    finally:
        for run in started:
            run.terminate()
            run.communicate(timeout=TIMEOUT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_server_ends_with_open_event_streams(serve, finished, number):
    server = serve()
    watching = [Events(server) for _ in range(3)]
    assert all(events.next()[0] == "report" for events in watching)
    status, said = server.end(number)
    assert (status, said) == (0, "hotpath: press Ctrl-C to stop\n")
    for events in watching:
        assert events.next() is None


def test_server_never_writes_to_sessions(cli, serve, finished):
    def everything():
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(cli.folder.rglob("*"))}
    before = everything()
    server = serve()
    for path in ("/", "/page", "/page.json", "/report.json", "/metrics"):
        assert server.get(path).status == 200
    assert server.end()[0] == 0
    assert everything() == before


# ------------------------------------------------------------------------------------------------- the command line

def test_startup_errors(cli, serve, finished):
    server = serve()
    taken = cli("serve", "--port", server.port, status=1).stderr
    assert taken == (f"hotpath: cannot listen on 127.0.0.1, port {server.port}: the port is in use; "
                     "choose another with --port\n")
    assert cli("serve", "--address", "nowhere",
               status=1).stderr == "hotpath: 'nowhere' is not an address such as 127.0.0.1 or ::1\n"
    assert "this machine does not have that address" in cli("serve", "--address", "203.0.113.7", status=1).stderr
    for args, words in ((("--port", "65536"), "--port '65536'"), (("--port", "-1"), "--port"),
                        (("--every", "0"), "--every '0'"), (("a", "b"), "unexpected argument 'b'")):
        assert words in cli("serve", *args, status=2).stderr
    assert "no session, process or program 'nothing'" in cli("serve", "nothing", status=1).stderr
    token = cli.folder / "token"
    assert "cannot read the token" in cli("serve", "--token-file", token, status=1).stderr
    for text in ("short\n", "", "x" * 129 + "\n", "with blanks in it here\n"):
        token.write_text(text)
        assert "is not a token" in cli("serve", "--token-file", token, status=1).stderr, text
    for text in ("a-token-of-my-own\nand more", "b" * 128, "c" * 128 + "\n"):
        token.write_text(text)
        own = serve("--token-file", token)
        assert own.token == text.split("\n")[0]
        own.works()


def test_remote_access_only_on_request(serve, finished):
    server = serve("--address", "0.0.0.0")
    server.works()
    good = server.target("/report.json")
    name = socket.gethostname()
    for host in ("192.0.2.1:80", name, f"{name}:1", "localhost"):
        assert server.ask(good, headers={"Host": host}).status == 200, host
    for host in ("evil.example", name + ".evil.example"):
        assert server.ask(good, headers={"Host": host}).status == 403, host
    assert "other machines can connect to this address" in server.end()[1]


# ------------------------------------------------------------------------------------------------------------- open

def test_open_writes_the_page_and_shows_it(cli, finished):
    viewer = cli.folder / "viewer"
    shown = cli.folder / "shown"
    viewer.write_text(f'#!/bin/sh\necho noise\nprintf %s "$1" > {shown}.new\nmv {shown}.new {shown}\n')
    viewer.chmod(0o755)
    temporary = cli.folder / "tmp"
    temporary.mkdir()
    done = cli("open", env={"BROWSER": f"/nonexistent:{viewer}", "TMPDIR": temporary})
    path = done.stdout.strip()
    assert re.fullmatch(re.escape(str(temporary)) + r"/hotpath-\w{6}\.html", path) and done.stderr == ""
    assert os.stat(path).st_mode & 0o777 == 0o600
    wait_until(shown.exists)
    assert shown.read_text() == path
    assert Page(open(path).read()).data == page_of(cli).data
    # Without a browser it prints the path of the page.
    bare = cli.folder / "bare"
    bare.mkdir()
    named = cli("open", "-o", cli.folder / "here.html", env={"BROWSER": None, "PATH": bare})
    assert named.stdout.strip() == str(cli.folder / "here.html") and (cli.folder / "here.html").exists()
    assert named.stderr == "hotpath: no browser was found (BROWSER, xdg-open); open the file yourself\n"
    shown.unlink()
    cli("open", "--no-open", env={"BROWSER": viewer, "TMPDIR": temporary})
    assert len(list(temporary.iterdir())) == 2
    assert "no session" in cli("open", "nothing", status=1).stderr
    assert len(list(temporary.iterdir())) == 2, "a page that could not be made leaves no file"
    assert not shown.exists()
