"""The console on programs that know nothing of hotpath: functions, tree and flame graph are those of their stacks,
with the numbers of a report of the same time range."""
import csv
import json
import os
import platform
import re
import signal
import subprocess
import time
import urllib.request

import pytest

from command import Cli, cli, wait_until  # noqa: F401 (a fixture)
from console_desk import home
from harness import PROGRAMS, TIMEOUT, full, perf_is_allowed, with_glibc, without_emulator, without_sanitizer
from test_time_range import history

pytestmark = [without_emulator("/proc is that of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound")]


class Ended:
    """A run that has ended."""

    def __init__(self, *command):
        from harness import Box
        self.cli = Cli(Box())
        self.out = self.cli("run", "--format", "none", "--", *command).stdout
        self.name = command[0].name

    def screens(self, script, *args, size=(100, 30)):
        columns, rows = size
        out = self.cli("console", "--script", "-", "--size", f"{columns}x{rows}", self.name, *args, input=script,
                       env=home(self.cli)).stdout
        lines = out.split("\n")[:-1]
        assert len(lines) % rows == 0
        return [lines[at:at + rows] for at in range(0, len(lines), rows)]

    def written(self, keys, view, *args):
        """The rows of a view as it writes them: of the whole run, which is longer than a window on a busy
        machine."""
        path = self.cli.folder / f"hotpath-{view}.csv"
        path.unlink(missing_ok=True)
        self.screens(f"{keys} e", *(args or ["--totals"]), size=(220, 50))
        with path.open(newline="") as file:
            return list(csv.DictReader(file))

    def section(self, name, *args):
        out = self.cli("report", "--format", "json", "--section", name, "--limit", "0", *args).stdout
        return json.loads(out)


@pytest.fixture(scope="module")
def computing():
    """Two functions with half of the CPU time each, on one thread and on two."""
    ended = Ended(PROGRAMS / "alone_together", "1")
    yield ended
    ended.cli.box.remove()


@pytest.fixture(scope="module")
def waiting():
    ended = Ended(PROGRAMS / "waiters", "all", "900")
    yield ended
    ended.cli.box.remove()


def number(text):
    return float(text) if text else None


def assert_functions(ended, *args):
    report = ended.section("functions", *args)
    seconds = report["elapsed_ns"] / 1e9
    expected = {(row["name"], row["library"] or ""): row for row in report["sections"]["functions"]["rows"]}
    rows = {(row["name"], row["library"]): row for row in ended.written("2", "sampled", *args)}
    assert set(expected) <= set(rows)
    for name, of in expected.items():
        row = rows[name]
        assert number(row["own"]) == pytest.approx(of["work_ns"] / 1e9 / seconds, rel=1e-4, abs=1e-9)
        for key, mine in (("percent_self", "percent_self"), ("percent_total", "percent_total"),
                          ("percent_wall", "percent_wall"), ("samples", "samples")):
            if mine in row:
                assert number(row[mine]) == pytest.approx(of[key], rel=1e-4, abs=1e-9), (name, key)
        if "waiting" in row:
            blocked = (of["waiting_ns"] - of["idle_ns"]) / 1e9 / seconds
            assert number(row["waiting"]) == pytest.approx(blocked, rel=1e-4, abs=1e-9)
    return expected, rows


def test_functions_are_those_of_the_report(computing):
    _, rows = assert_functions(computing)
    alone = rows["alone", "alone_together"]
    assert 40 < number(alone["percent_total"]) < 60
    assert "percent_wall" not in alone or number(alone["percent_wall"]) > number(alone["percent_total"])


def test_waiting_functions_are_those_of_the_report(waiting):
    _, rows = assert_functions(waiting)
    on_mutex = rows["on_mutex", "waiters"]
    assert on_mutex["for"] == "lock" and number(on_mutex["waiting"]) > 0.5
    assert rows["on_condition", "waiters"]["for"] == ""  # it is idle


def test_columns_are_of_what_was_recorded(computing, waiting):
    """None of them is empty."""
    for ended, keys, view in ((computing, "2", "sampled"), (waiting, "2", "sampled"), (computing, "3", "stacktree"),
                              (waiting, "7", "waiters"), (waiting, "7 7", "waits"), (waiting, "6", "threads")):
        rows = ended.written(keys, view)
        for column in set(rows[0]) - {"what", "history"}:  # bars and lanes are not written
            assert any(row[column] for row in rows), (view, column)
    busy = computing.written("2", "sampled")[0]
    assert "percent_total" in busy and "waiting" not in busy and "calls_s" not in busy
    assert {"mostly", "waiting", "for"} <= set(waiting.written("2", "sampled")[0])


def test_functions_that_wait(waiting):
    """By their stacks: what threads wait for as places of the program says nothing there."""
    rows = {(row["name"], row["cause"]): row for row in waiting.written("7", "waiters")}
    functions = {row["name"]: row for row in waiting.section("functions")["sections"]["functions"]["rows"]}
    seconds = waiting.section("functions")["elapsed_ns"] / 1e9
    for name, cause in (("on_mutex", "lock"), ("on_pipe", "pipe"), ("on_condition", "condition")):
        row, of = rows[name, cause], functions[name]
        waited = number(row["waiting"]) + (number(row["idle"]) or 0)
        assert waited == pytest.approx(of["waiting_ns"] / 1e9 / seconds, rel=1e-3)
        assert (number(row["idle"]) or 0) == pytest.approx(of["idle_ns"] / 1e9 / seconds, rel=1e-3, abs=1e-9)
    assert rows["on_condition", "condition"]["share"] == ""
    assert sum(number(row["share"]) or 0 for row in rows.values()) == pytest.approx(100)


def test_overview_lists_sampled_functions(computing, waiting):
    screen = "\n".join(computing.screens("1 screen")[0])
    assert re.search(r"^   (alone|together) +█+ .* cpu 100 %$", screen, re.M), screen
    assert "calls/s" not in screen
    screen = "\n".join(waiting.screens("1 screen")[0])
    assert re.search(r"^   on_mutex +▒+ .* lock 100 %$", screen, re.M), screen
    assert re.search(r"^   .*idle: .*on_condition", screen, re.M), screen


def test_overview_is_sorted_by_own_time(computing):
    """Whatever the table of functions is sorted by, and whichever key is pressed."""
    def names(screen):
        listed = screen[next(at for at, line in enumerate(screen) if "Where the time goes" in line) + 1:-1]
        return [line.split()[0] for line in listed if re.search(r"%  cpu 100 %$", line)][:2]
    before, reversed_, pressed = (computing.screens(keys)[-1]
                                  for keys in ("1 screen", "2 S 1 screen 2 S", "1 s screen"))
    assert len(names(before)) == 2 and names(before) == names(reversed_) == names(pressed)
    assert "The overview is sorted by own time" in "\n".join(pressed)


def test_tree_is_that_of_stacks(computing):
    report = computing.section("stacktree")["sections"]["stacktree"]
    rows = []

    def add(row, depth):
        rows.append((row["name"], row["percent_total"]))
        for child in row.get("children", []):
            add(child, depth + 1)
    for row in report["rows"]:
        add(row, 0)
    written = [(row["name"], number(row["percent_total"])) for row in computing.written("3 *", "stacktree")]
    assert [name for name, _ in written] == [name for name, _ in rows]
    for (_, shown), (_, expected) in zip(written, rows):
        assert shown == pytest.approx(expected, rel=1e-4, abs=1e-9)
    turned, = computing.screens("3 u * screen", size=(120, 40))
    at = next(at for at, line in enumerate(turned) if re.match(r" [› ] . alone ", line))
    assert re.match(r"     . main ", turned[at + 1]) and "CPU %" in "".join(turned)


def test_flame_graph_of_one_function(computing):
    """The zoomed frame is all of the width, and says its share of the whole."""
    rows = computing.section("functions")["sections"]["functions"]["rows"]
    total = {row["name"]: row["percent_total"] for row in rows}
    whole, zoomed = computing.screens("4 t screen / type together\n Enter Enter screen", size=(140, 40))
    assert any(re.match(r" ▏all  100 %", line) for line in whole)
    share = next(int(found.group(1)) for line in whole
                 for found in [re.search(r"▏together  (\d+) %", line)] if found)
    assert any(re.search(rf" together: {total['together']:.0f} % of all CPU time", line) for line in zoomed)
    assert any(line.startswith(" ▏together  100 %") for line in zoomed) and 0 < share < 100


def phases(computing):
    """In seconds since the run began, about: when `alone` ended, and when `together` did."""
    alone, together = (int(line.split()[1]) / 1e9 for line in computing.out.splitlines()[-2:])
    return alone, alone + together


def test_a_time_range_has_its_own_functions(computing):
    """First there is one function, then the other; the window before says what has changed."""
    between, end = phases(computing)
    first = ["--from", "0s", "--to", f"{between * 0.8:.2f}s"]
    second = ["--from", f"{between + 0.05:.2f}s", "--to", f"{between + 0.8 * (end - between):.2f}s"]
    for stretch, name, other in ((first, "alone", "together"), (second, "together", "alone")):
        rows = {row["name"]: row for row in computing.written("2", "sampled", *stretch)}
        assert number(rows[name]["percent_self"]) > 80
        assert other not in rows or number(rows[other]["percent_self"]) < 10
        screen, flame = computing.screens("2 screen 4 screen", *stretch, size=(120, 30))
        assert any(re.search(rf"▏{name}  \d+ %", line) for line in flame)
        headings = next(line for line in screen if line.startswith("   Function "))
        assert (" Change " in headings) == (stretch is second)
    assert number(rows["together"]["change"]) > 50


def test_changes_are_in_the_sentence_and_the_flame_graph(computing):
    between, end = phases(computing)
    half = (end - between) / 2
    stretch = ["--from", f"{between + 0.2:.2f}s", "--to", f"{between + 0.2 + half:.2f}s"]
    screen, flame = computing.screens("2 screen 4 d screen", *stretch, size=(160, 40))
    text = " ".join(line.strip() for line in screen[2:4])
    assert re.search(r"\. In the \S+ s before, (together|alone) had \d\.\d\d threads, not \d\.\d\d", text), text
    assert any("changes since the " in line for line in flame)
    assert any(re.search(r"▏together  \d+ %  \+\d+", line) for line in flame), "\n".join(flame)


def test_page_about_a_sampled_function(computing):
    (page,) = computing.screens("2 / type alone\n Enter Enter screen", "--totals")
    text = "\n".join(page)
    assert "┌ alone  in alone_together" in text
    assert re.search(r"CPU time +\d+ % itself, \d+ % with what it calls", text)
    assert re.search(r"called by +main 100 %", text)
    assert "w slowest call" not in text


# --- while it runs

class Watching:
    """A scripted console on a program that runs."""

    def __init__(self, cli, name):
        self.console = cli.start("console", "--script", "-", "--size", "120x30", name, stdin=subprocess.PIPE,
                                 env=home(cli))

    def play(self, script):
        """The screen that it ends with."""
        self.console.stdin.write(script + " screen\n")
        self.console.stdin.flush()
        return "".join(self.console.stdout.readline() for _ in range(30))

    def wait_for(self, pattern, keys=""):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            screen = self.play(f"{keys} refresh 1 wait 100")
            keys = ""  # a digit again would be another view
            if re.search(pattern, screen, re.M):
                return screen
        return pytest.fail(f"'{pattern}' never came; the screen:\n{screen}")

    def end(self):
        out, err = self.console.communicate(timeout=TIMEOUT)
        assert self.console.returncode == 0, err


def wait_for_history(cli):
    """Until the console has something to read."""
    wait_until(lambda: history(cli)[0] >= 2)


def test_functions_while_the_program_runs(cli):
    """In the list, the tree, the flame graph and the first sentence; and at the end those of the report."""
    program = cli.start("run", "--format", "none", "--", PROGRAMS / "alone_together", "1.5")
    wait_for_history(cli)
    watching = Watching(cli, "alone_together")
    screen = watching.wait_for(r"^ (›| ) alone +0\.\d\d ", "2")
    assert "● live" in screen
    watching.wait_for(r"^ (›| ).* alone +0\.\d\d ", "3")
    watching.wait_for(r"^ +▏main  \d+ %.*\n +▏alone  \d+ %", "4")
    watching.wait_for(r"^ .*alone takes \d+ % of the CPU time", "1")
    program.communicate(timeout=TIMEOUT)
    watching.wait_for(r"■ ended after .*exit 0", "2 t")
    report = json.loads(cli("report", "--format", "json", "--section", "functions").stdout)
    row = next(row for row in report["sections"]["functions"]["rows"] if row["name"] == "alone")
    watching.wait_for(rf" alone +\S+ +█+ +{row['percent_self']:.0f} % ", "2")
    watching.end()


def test_a_process_of_a_run_that_is_started_again(cli):
    """Its successor is in the same run: Enter follows it."""
    program = PROGRAMS / "waiters"
    run = cli.start("run", "--format", "none", "--", "sh", "-c",
                    f"{program} mutex 500; {program} mutex 60000; exit 0")

    def first():
        """The session of the first of them; the shell has both in its command."""
        return [path for path in cli.folder.glob("*.run/*.hotpath")
                if b"waiters mutex 500" in path.read_bytes() and b"exit 0" not in path.read_bytes()]
    wait_until(first)
    watching = Watching(cli, str(first()[0]))
    screen = watching.wait_for(r"^ Restarted as \d+: Enter follows it")
    pid = int(re.search(r"Restarted as (\d+)", screen).group(1))
    assert re.search(rf"^ waiters {pid} +● live", watching.play("Enter refresh 1"), re.M)
    watching.end()
    os.kill(pid, signal.SIGTERM)
    run.communicate(timeout=TIMEOUT)


def test_a_recording_says_so(cli):
    """While it goes on and afterwards; whether the program has ended is not known."""
    program = subprocess.Popen([PROGRAMS / "alone_together", "60"], stdout=subprocess.DEVNULL)
    try:
        recording = cli.start("record", "--for", "3s", "--format", "none", "-p", str(program.pid))
        wait_for_history(cli)
        watching = Watching(cli, str(program.pid))
        watching.wait_for(r"^ alone_together \d+ +● recording \d:\d\d  1 thread ")
        watching.wait_for(r"^ (›| ) alone +0\.\d\d ", "2")
        recording.communicate(timeout=TIMEOUT)
        watching.wait_for(r"^ alone_together \d+ +■ recorded for \d:\d\d ")
        watching.end()
    finally:
        program.kill()
        program.wait()


def test_the_share_of_the_busiest_program_is_that_of_the_report(cli):
    """Of short processes, most CPU time is used before and after what their sessions see."""
    cli("run", "--format", "none", "--", "sh", "-c", "for each in 1 2 3 4 5 6 7 8 9; do /bin/true; done; exit 0")
    rows = json.loads(cli("report", "--format", "json", "--section", "processes", "--limit", "0",
                          "sh").stdout)["sections"]["processes"]["rows"]
    used = {}
    for row in rows:
        program = re.sub(r"^\d+ ", "", row["name"]).split()[0].split("/")[-1]
        used[program] = used.get(program, 0) + row["cpu_ns"]
    assert set(used) == {"sh", "true"}
    busiest = max(used, key=used.get)
    share = 100 * used[busiest] / sum(used.values())
    line = cli("console", "--once", "--size", "100x30", "sh").stdout.splitlines()[0]
    said = re.match(rf" sh \d+: {busiest} (\d+) %  ", line)
    assert said and abs(int(said[1]) - share) <= 0.51, (line, used)


def test_the_busiest_program_is_named(cli):
    """Of a run with several: the flame graph begins with them, and the list says which one a function is of."""
    cli("run", "--format", "none", "--", "sh", "-c",
        f"{PROGRAMS}/alone_together 1; {PROGRAMS}/waiters all 200; exit 0")
    watching = Watching(cli, "sh")
    watching.wait_for(r"^ sh \d+: alone_together \d+ %  ■ ended after \S+ exit 0  3 processes ", "2")
    watching.wait_for(r"▏alone_together  \d+ %", "4")
    screen = watching.wait_for(r"^   Function .* Program ", "2")
    assert re.search(r"^ (›| ) alone .* alone_together +alone_together", screen, re.M)
    watching.end()


# --- watching does not touch the program

COMPUTES = """
#include <pthread.h>
#include <unistd.h>
static volatile unsigned long sink[4096];
__attribute__((noinline)) static void *spin(void *unused)
{
    for (unsigned long at = 0;; at++)
        sink[at % 4096] += at;
    return unused;
}
int main(void)
{
    pthread_t other;
    for (int at = 0; at < 4096; at++)
        sink[at] = 1;
    if (write(1, "ready\\n", 6) != 6 || pthread_create(&other, NULL, spin, NULL) != 0)
        return 1;
    spin(NULL);
}
"""
SENDS = ("kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "ptrace",
         "process_vm_writev", "process_madvise", "pidfd_getfd")
VIEWERS = {"nobody": None,
           "console": ("console", "--every", "0.1", "--script", "-", "--size", "120x30", "computes"),
           "report": ("report", "--section", "all"), "stacks": ("stacks",), "serve": ("serve", "--port", "0")}


class Untouched:
    """A program that computes on two threads, and never calls the system, under `hotpath run`."""

    def __init__(self, cli):
        source, program = cli.folder / "computes.c", cli.folder / "computes"
        source.write_text(COMPUTES)
        subprocess.run(["gcc", "-O1", "-pthread", "-o", program, source], check=True)
        self.cli = cli
        self.run = cli.start("run", "--format", "none", "--", program)
        wait_for_history(cli)
        children = f"/proc/{self.run.pid}/task/{self.run.pid}/children"
        self.pid = next(int(child) for child in open(children).read().split()
                        if open(f"/proc/{child}/comm").read() == "computes\n")

    def state(self):
        """Faults, reads, writes and signals of the process and of each of its threads, so far."""
        counts = {}
        for task in (f"{self.pid}", *(f"{self.pid}/task/{tid}" for tid in os.listdir(f"/proc/{self.pid}/task"))):
            stat = open(f"/proc/{task}/stat").read().rsplit(")", 1)[1].split()
            status = open(f"/proc/{task}/status").read()
            counts[task] = {"minor, major faults": stat[7:11], "io": open(f"/proc/{task}/io").read(),
                            "signals": re.findall(r"^(?:Sig[PBIC]|Shd).*", status, re.M), "state": stat[0]}
        return counts

    def traced(self, work):
        """What strace sees of it while the work is done: its system calls, signals and stops."""
        path = self.cli.folder / "calls"
        strace = subprocess.Popen(["strace", "-f", "-tt", "-o", path, "-p", str(self.pid)], stderr=subprocess.PIPE,
                                  text=True)
        if "attached with 2 threads" not in strace.stderr.readline():
            strace.communicate(timeout=TIMEOUT)
            pytest.skip("strace may not trace here")
        work()
        strace.send_signal(signal.SIGINT)
        strace.communicate(timeout=TIMEOUT)
        return [line for line in path.read_text().splitlines() if "<detached" not in line]

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        self.run.communicate(timeout=TIMEOUT)


def watch(cli, viewer, pid, seen):
    """Looks at the program for some seconds, under strace: what it does to others is kept in a file."""
    before, command = cli.before, VIEWERS[viewer]
    if command is None:
        time.sleep(2)
        return
    cli.before = ["strace", "-D", "-f", "-o", str(seen), "-e", f"trace=openat,{','.join(SENDS)}"]
    try:
        if viewer == "console":
            out = cli(*command, input="2 wait 1500 screen 4 refresh 5 screen 3 6 7 wait 500 screen\n",
                    env=home(cli)).stdout
            assert re.search(r" spin +\d", out), out
        elif viewer == "serve":
            server = cli.start(*command)
            address = server.stdout.readline().strip()
            for _ in range(5):
                page, key = re.match(r"(http://[^/]+)/[^?]*(\?\S+)?", address).groups()
                body = urllib.request.urlopen(f"{page}/page.json{key or ''}", timeout=TIMEOUT).read()
                time.sleep(0.3)
            assert b"spin" in body
            server.terminate()
            server.communicate(timeout=TIMEOUT)
        else:
            assert "spin" in cli(*command, pid).stdout
    finally:
        cli.before = before


@full
def test_watching_does_not_touch_the_program(cli):
    """It makes no system call and has no fault, signal or stop, whoever looks at it."""
    if not perf_is_allowed():
        pytest.skip("samples are taken by signals here")
    program = Untouched(cli)
    try:
        for viewer in VIEWERS:
            seen = cli.folder / f"{viewer}.strace"
            before = program.state()
            watch(cli, viewer, program.pid, seen)
            changed = [(viewer, task, key, value, before[task][key]) for task, now in program.state().items()
                       for key, value in now.items() if value != before[task][key]]
            assert not changed
            assert program.traced(lambda: watch(cli, viewer, program.pid, seen)) == [], viewer
            if viewer != "nobody":  # strace runs beside it
                wait_until(lambda: "+++ exited" in seen.read_text().splitlines()[-1])
            opened = seen.read_text().splitlines() if viewer != "nobody" else []
            assert not [line for line in opened if any(f" {call}(" in line for call in SENDS) and
                        not re.search(r"kill\(\d+, 0\)", line)], viewer  # 0: whether it is there
            assert not [line for line in opened if re.search(r"\.hotpath\"|/proc/\d+/(task/\d+/)?mem", line) and
                        ("O_RDWR" in line or "O_WRONLY" in line)], viewer
            assert viewer == "nobody" or len(opened) > 5
    finally:
        program.end()
