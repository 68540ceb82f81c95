"""The dashboard and the alert rules against a real Prometheus, which scrapes real programs by hotpath serve."""
import contextlib
import json
import math
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import EXAMPLES, SOURCE, TIMEOUT, full, without_emulator, without_sanitizer
from test_serve import serve  # noqa: F401 (a fixture)

RULES = SOURCE / "docs/prometheus/alerts.yml"
DASHBOARD = json.loads((SOURCE / "docs/prometheus/dashboard.json").read_text())

pytestmark = [without_emulator("/proc shows the emulator"),
              without_sanitizer("programs of such a build are too slow, and it is another test of the server"),
              pytest.mark.skipif(shutil.which("prometheus") is None or shutil.which("promtool") is None,
                                 reason="this needs Debian's package prometheus")]


def expressions():
    """[(title, expression, labels of its legend)] of the dashboard."""
    return [(panel["title"], target["expr"], set(re.findall(r"{{(\w+)}}", target["legendFormat"])))
            for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]


def test_rules_fire_when_they_should():
    for args in (("check", "rules", RULES), ("test", "rules", SOURCE / "tests/e2e/prometheus_alerts.yml")):
        done = subprocess.run(["promtool", *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0, done.stdout + done.stderr
    tested = (SOURCE / "tests/e2e/prometheus_alerts.yml").read_text()
    assert all(f"alertname: {name}" in tested for name in re.findall(r"alert: (\w+)", RULES.read_text()))


def test_panels_do_not_overlap():
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken and max(cells)[0] < 24, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


class Prometheus:
    """It scrapes the services of a server once a second, as docs/metrics.md shows."""

    def __init__(self, folder, server, *options):
        with contextlib.closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        folder.mkdir()
        (folder / "token").write_text(server.token)
        access = {"type": "Bearer", "credentials_file": str(folder / "token")}
        (folder / "prometheus.yml").write_text(json.dumps({  # JSON is YAML, too
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "hotpath", "authorization": access, "http_sd_configs": [
                {"url": f"http://{server.host}:{server.port}/targets", "refresh_interval": "1s",
                 "authorization": access}]}]}))
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={folder / 'prometheus.yml'}",
                 f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={self.address}", *options],
                stdout=log, stderr=log)
        wait_until(lambda: self.process.poll() is not None or self.is_ready())
        assert self.process.poll() is None, self.log.read_text()

    def is_ready(self):
        try:
            return urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=TIMEOUT).status == 200
        except (urllib.error.URLError, ConnectionError):
            return False

    def ask(self, path, **query):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            pytest.fail(f"{query}: {error.read().decode()}")

    def rows(self, expression):
        """[(labels, number)]; a histogram is no number."""
        return [(row["metric"], float(row.get("value", (0, "nan"))[1]))
                for row in self.ask("query", query=expression)["result"]]

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=TIMEOUT)


@pytest.fixture
def prometheus(cli, serve):
    """Starts one that scrapes programs of which every family has something."""
    started = []

    def start(*options):
        for program, *args in (("orders", "600"), ("profile_async_io", "1")):
            run = cli.start("run", "--io", "--locks", "--format", "none", "--", EXAMPLES / program, *args)
            started.append(run)
            if program != "orders":
                run.communicate(timeout=TIMEOUT)
        server = serve()
        made = Prometheus(cli.folder / "prometheus", server, *options)
        started.append(made.process)
        return server, made
    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=TIMEOUT)


def evaluated(expression):
    for name, value in {"$job": ".*", "$instance": ".*", "$service": ".*", "$__rate_interval": "1m"}.items():
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


def lacks(prometheus, title, expression, labels):
    """What is wrong with the rows of an expression now; None: nothing."""
    rows = prometheus.rows(evaluated(expression))
    if not rows:
        return f"{title}: no rows: {expression}"
    if any(labels - set(row) for row, _ in rows):
        return f"{title}: no {labels} in {rows[0][0]}"
    # Quotients and quantiles of what has not happened in this minute are no numbers.
    return None if any(math.isfinite(number) for _, number in rows) else f"{title}: no number: {expression}"


def all_have_rows(prometheus):
    problems = []

    def ask():
        problems[:] = filter(None, (lacks(prometheus, *what) for what in expressions()))
        return not problems
    try:
        wait_until(ask)
    except pytest.fail.Exception:
        pytest.fail("\n".join(problems))


@full
@pytest.mark.parametrize("options", [[], ["--enable-feature=native-histograms"]], ids=["classic", "native"])
def test_every_expression_gives_rows(cli, prometheus, options):
    server, prometheus = prometheus(*options)
    all_have_rows(prometheus)
    # What rules are about is collected, and they can be evaluated.
    for name, selector in re.findall(r"\b(hotpath_\w+|up)(\{[^}]*\})?", re.sub(r"#.*|summary: .*|alert: .*", "",
                                                                            RULES.read_text())):
        if name not in ("hotpath_loop",):
            assert prometheus.rows(name + re.sub(r'kind!?="[^"]*"', "", selector)), (name, selector)
    wait_until(lambda: all(rule["health"] != "unknown" for group in prometheus.ask("rules")["groups"]
                           for rule in group["rules"]))
    assert [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]
            if rule["health"] != "ok"] == []
    # A target for each service, none of which takes another's series.
    targets = prometheus.ask("targets", state="active")["activeTargets"]
    assert {target["health"] for target in targets} == {"up"}
    assert {target["labels"]["instance"] for target in targets} == {
        f"{server.host}:{server.port}/{service}" for service in ("orders", "profile_async_io")}
    assert len(prometheus.rows("up")) == len(targets) == 2
    # Counts and quantiles are those of the program that has ended.
    report = json.loads(cli("report", "--format", "json", "--section", "timing,tasks,loops,locks", "--limit", "0",
                            "--percentiles", "50", "profile_async_io").stdout)["sections"]
    for section, family, column, median in (
            ("timing", "hotpath_function_duration_seconds{function=", "histogram_ns", "p50_ns"),
            ("tasks", "hotpath_task_duration_seconds{task=", "histogram_ns", "p50_ns"),
            ("loops", "hotpath_loop_turn_duration_seconds{loop=", "turn_histogram_ns", None),
            ("locks", "hotpath_lock_wait_duration_seconds{lock=", "wait_histogram_ns", "wait_p50_ns")):
        name = family.split("{")[0]
        assert bool(prometheus.rows(name)) == bool(options), "native histograms only where they are asked for"
        assert bool(prometheus.rows(name + "_bucket")) != bool(options)
        counts = {}
        for row in report[section]["rows"]:
            if row[column]:
                counts[row["name"]] = counts.get(row["name"], 0) + sum(bar[2] for bar in row[column])
        assert counts, section
        for row in (row for row in report[section]["rows"] if row["name"] in counts):
            of = f'{family}"{row["name"]}", service="profile_async_io"}}'
            count = prometheus.rows(f"sum(histogram_count({of}))" if options else
                                    f"sum({of.replace('{', '_count{')})")
            assert [number for _, number in count] == [counts[row["name"]]], row["name"]
            if options and median and counts[row["name"]] == sum(bar[2] for bar in row[column]) >= 10:
                quantile = prometheus.rows(f"histogram_quantile(0.5, sum({of}))")[0][1]
                assert quantile == pytest.approx(row[median] * 1e-9, rel=0.1), row["name"]
