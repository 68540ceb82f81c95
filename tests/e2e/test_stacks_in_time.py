"""Stacks by time: those of a run that goes on, and those of a part of it. The program does one thing after the
other, as it is told. A run takes seconds, since the history has slots of a quarter of one: so most tests look at
the same one, of which is kept what was to be seen while it went on."""
import json
import os
import pathlib
import platform
import struct
import subprocess
import time

import pytest

from command import Cli, wait_until
from harness import (PROGRAMS, TIMEOUT, WITHOUT_PERF, Box, Report, full, perf_is_allowed, processes_may_be_read,
                     with_glibc, without_emulator, without_sanitizer)
from test_serve import Server

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]

ACTS = PROGRAMS / "acts_off"
SLOT_NS = 250_000_000
ENOUGH_S = 0.3
WAYS = [pytest.param([], id="perf", marks=pytest.mark.skipif(not perf_is_allowed(), reason="perf is not allowed")),
        pytest.param(WITHOUT_PERF, id="timers", marks=full if perf_is_allowed() else [])]


class Acts:
    """A run of the program, or the program alone."""

    def __init__(self, cli, *words):
        self.cli = cli
        command = [*map(str, words), str(ACTS)]
        self.process = cli.start(*command, stdin=subprocess.PIPE)
        self.moments = {}

    @property
    def folder(self):
        return next(iter(self.cli.folder.glob("**/*.run")))

    def axis(self):
        """The start of the run's history, the time of the latest moment, and how many slots there are."""
        for path in self.cli.folder.glob("**/*.axis"):
            data = path.read_bytes()[:80]
            if len(data) == 80:
                used, start_ns, slot_ns, latest_ns = struct.unpack_from("=28xI16xQQQ", data)
                if used > 0:
                    return start_ns, latest_ns, used
        return 0, 0, 0

    def cpu_s(self):
        """CPU time of the program."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ticks = [sum(map(int, pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
                 for child in children]
        return max(ticks) / os.sysconf("SC_CLK_TCK")

    def do(self, what, slots=4):
        """Until the history has so many slots of it."""
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == what + "\n"
        begin = self.axis()[2]
        self.moments.setdefault(what, time.monotonic_ns())
        if what in ("one", "two") and slots > 1:  # on a busy machine, time alone is not enough
            wait_until(lambda: self.axis()[2] > begin + 2)
            before = self.cpu_s()
            wait_until(lambda: self.cpu_s() > before + ENOUGH_S)
            slots = max(slots, self.axis()[2] - begin + 3)
        wait_until(lambda: self.axis()[2] > begin + slots)
        self.moments["after " + what] = time.monotonic_ns()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=TIMEOUT) == 0, self.process.stderr.read()


    def kill(self):
        self.process.kill()
        self.process.wait()


def rows(report):
    return {row.name: row for row in report.rows("functions")}


def cpu(report, name):
    row = rows(report).get(name)
    return row.total_ns if row is not None else 0


def waiting(report, name):
    row = rows(report).get(name)
    return row.total_waiting_ns if row is not None else 0


def ms(ns):
    return f"{ns // 1_000_000}ms"


def names_in(folder):
    return {path.name for path in folder.iterdir()}


class Run:
    """A run of "one", "nap" and "two", and what is seen in each of them."""

    def __init__(self, cli):
        self.cli = cli
        self.limits = {}  # moments well inside of each
        self.report_path = cli.folder / "reported.json"
        self.acts = Acts(cli, "run", "--format", "json", "--section", "functions", "--limit", 0, "--output",
                         self.report_path, "--")

    def do(self, what, slots):
        self.acts.do(what, slots)
        live = self.cli.read()
        moments, began_ns = self.acts.moments, self.acts.axis()[0]
        self.limits[what] = [ms(moments[what] - began_ns + SLOT_NS),
                             ms(moments["after " + what] - began_ns - 2 * SLOT_NS)]
        return live

    def all(self):
        self.acts.do("one", 5)
        self.names_unread = names_in(self.acts.folder)
        self.in_one = self.do("one", 1)
        self.names_read = names_in(self.acts.folder)
        self.in_nap = self.do("nap", 6)
        self.in_two = self.do("two", 5)
        self.acts.do("rest", 0)
        self.acts.end()
        self.names_after = names_in(self.acts.folder)


@pytest.fixture(scope="module", params=WAYS)
def run(request):
    box = Box()
    cli = Cli(box)
    cli.before = request.param
    run = Run(cli)
    try:
        run.all()
        yield run
    finally:
        run.acts.kill()
        box.remove()


@pytest.fixture
def cli(run):
    return run.cli


def test_functions_while_it_runs(run):
    first, second, last = run.in_one, run.in_two, run.cli.read()
    assert cpu(first, "one") > 0 and cpu(first, "two") == 0
    assert "one" in first.values["meta"]["headline"]
    assert cpu(second, "two") > 0 and cpu(second, "one") >= cpu(first, "one")
    assert cpu(last, "two") >= cpu(second, "two")


def test_waits_that_have_not_ended(run):
    assert waiting(run.in_nap, "nap") > SLOT_NS
    last = run.cli.read()
    assert waiting(last, "nap") >= waiting(run.in_nap, "nap")
    assert rows(last)["nap"].program == ACTS.name  # it used no CPU time


def test_nothing_is_written_unless_it_is_wanted(run):
    assert "stacks.wanted" in run.names_unread and not run.names_unread & {"stacks", "stacks.slots"}
    assert "stacks" in run.names_read
    assert "stacks" in run.names_after
    assert not run.names_after & {"stacks.wanted", "stacks.slots", "stacks.new", "stacks.slots.new"}


def test_the_end_is_the_report(run):
    """Whoever watched: what is there afterwards is what the run has reported."""
    reported = json.loads(run.report_path.read_text())["sections"]["functions"]["rows"]
    stored = json.loads(run.cli("report", "--format", "json", "--section", "functions", "--limit", 0).stdout)
    assert stored["sections"]["functions"]["rows"] == reported
    assert {"one", "two"} <= {row["name"] for row in reported}


def tree_names(rows):
    """Of all rows, also below others."""
    return {name for row in rows for name in (row["name"], *tree_names(row.get("children", [])))}


def folded(text):
    """By function, what stacks that have it weigh."""
    sums = {}
    for line in text.splitlines():
        stack, number = line.rsplit(" ", 1)
        for name in set(stack.split(";")):
            sums[name] = sums.get(name, 0) + int(number)
    return sums


def test_reports_of_a_part(cli, run):
    for what in ("one", "two"):
        begin, end = run.limits[what]
        report = cli.read("--from", begin, "--to", end)
        found = rows(report)
        others = {"one", "two", "nap"} - {what}
        assert cpu(report, what) > 0.9 * sum(row.self_ns for row in found.values())
        assert all(cpu(report, other) == 0 for other in others & set(found))
        assert what in report.values["meta"]["headline"], report.values["meta"]["headline"]
        assert what in tree_names(report.values["sections"]["stacktree"]["rows"])
    begin, end = run.limits["nap"]
    report = cli.read("--from", begin, "--to", end)
    length = int(end[:-2]) * 1_000_000 - int(begin[:-2]) * 1_000_000
    assert 0.9 * length <= waiting(report, "nap") <= length
    headline = report.values["meta"]["headline"]
    assert "nap" in headline and headline.endswith(" of that time"), headline


def test_parts_are_the_whole(cli, run):
    whole = cli.read()
    moments = ["0", run.limits["one"][1], run.limits["nap"][1], run.limits["two"][1], "100%"]
    parts = [cli.read("--from", begin, "--to", end) for begin, end in zip(moments, moments[1:])]
    for key in ("self_ns", "waiting_ns", "self_wall_ns"):
        def sums(report):
            return sum(getattr(row, key) for row in report.rows("functions"))
        assert sum(map(sums, parts)) == pytest.approx(sums(whole), rel=1e-6)
    stacks = [folded(cli("export", "--format", "folded", "--from", begin, "--to", end).stdout)
              for begin, end in zip(moments, moments[1:])]
    for name in ("one", "two"):
        assert sum(part.get(name, 0) for part in stacks) == pytest.approx(cpu(whole, name), abs=100)
    everything = cli.read("--from", "0")
    assert everything.values["sections"]["functions"]["rows"] == whole.values["sections"]["functions"]["rows"]


def test_exports_of_a_part(cli, run):
    begin, end = run.limits["two"]
    sums = folded(cli("export", "--format", "folded", "--from", begin, "--to", end).stdout)
    report = cli.read("--from", begin, "--to", end)
    assert sums["two"] == pytest.approx(cpu(report, "two"), abs=10) and "one" not in sums
    begin, end = run.limits["nap"]
    sums = folded(cli("export", "--format", "folded", "--of", "waits", "--from", begin, "--to", end).stdout)
    assert sums["nap"] == pytest.approx(waiting(cli.read("--from", begin, "--to", end), "nap"), abs=10)
    done = cli("export", "--format", "folded", "--from", "5s", "--to", "1s", status=None)
    assert done.status == 1 and "the time range is empty" in done.stderr
    assert not cli("export", "--format", "folded", "--of", "zones", "--from", begin, status=None).stdout


def test_the_server_has_them_while_it_runs(box):
    cli = Cli(box)
    acts = Acts(cli, "run", "--format", "none", "--")
    server = None
    try:
        acts.do("one")
        server = Server(cli, "--limit", 0)

        def functions():
            data = json.loads(server.get("/page.json").text)
            found = {row["name"]: row for row in json.loads(server.get("/report.json", section="functions").text)
                     ["sections"]["functions"]["rows"]}
            return found if data["stacks"] is not None and data["stacks"]["slots"]["cpu"]["count"] > 0 else {}
        wait_until(lambda: "one" in functions())
        acts.do("two")
        wait_until(lambda: functions().get("two", {"total_ns": 0})["total_ns"] > SLOT_NS // 10)
        acts.end()
        wait_until(lambda: functions().get("two") == {row.name: row for row in cli.read().rows("functions")}["two"]
                   .values)
    finally:
        acts.kill()
        if server is not None:
            server.end()


@pytest.mark.skipif(not processes_may_be_read(), reason="processes of others may not be looked at here")
@pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")
def test_a_recording(box):
    """Of a process that hotpath has not started, while the recording goes on."""
    cli = Cli(box)
    # The functions of the kernel may be more than are shown.
    functions = "--format", "json", "--section", "functions", "--limit", 0
    program = subprocess.Popen([str(ACTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    recorder = None
    try:
        program.stdin.write("one\n")
        program.stdin.flush()
        program.stdout.readline()
        recorder = cli.start("record", "-p", program.pid, *functions)

        def is_seen():
            done = cli("report", *functions, program.pid, status=None)
            return done.status == 0 and cpu(Report(json.loads(done.stdout)), "one") > SLOT_NS
        wait_until(is_seen)
    finally:
        program.kill()
        program.wait()
        program.stdin.close()
        program.stdout.close()
        if recorder is not None:
            out, err = recorder.communicate(timeout=TIMEOUT)
    assert recorder.returncode == 0, err
    assert cpu(Report(json.loads(out)), "one") > 0
