"""The console in a terminal: keys, signals, colours, sizes, and the demo; the terminal is restored at the end."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from command import wait_until
from console_desk import TABS, Desk, cli, desk, home  # noqa: F401 (fixtures)
from harness import (BUILD, HOTPATH, PROGRAMS, SANITIZER, full, perf_is_allowed, without_emulator,
                     without_thread_sanitizer)
from terminal import Terminal, plain
from test_time_range import history

# Where ncurses has no headers, as for musl, there is no screen to wait for.
HAS_SCREEN = b"was built without ncurses" not in HOTPATH.read_bytes()

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too"),
              pytest.mark.skipif(not HAS_SCREEN, reason="built without ncurses")]



class Shell:
    """A shell in a terminal, in which the console is started; `rest` are the terminal's settings."""

    def __init__(self, cli, columns=100, rows=30, env=None):
        self.terminal = Terminal(cli.box, columns, rows, env={**cli.environment(), **home(cli), **(env or {})})
        self.cli = cli
        self.settings = self.ask("stty -g")

    def ask(self, command):
        self.count = getattr(self, "count", 0) + 1
        self.terminal.type(f"{command}; echo end{self.count}", "Enter")
        screen = plain(self.terminal.wait_for(rf"^end{self.count}$"))
        return re.search(rf"^(.*)\nend{self.count}$", screen, re.M).group(1)

    def console(self, *args):
        self.terminal.type(" ".join([str(self.cli.program), "console", *args]), "Enter")

    def assert_as_before(self):
        """The modes of the terminal are restored, and so is its screen."""
        assert self.ask("stty -g") == self.settings
        text = plain(self.terminal.screen())
        assert "1 Overview" not in text and "stty -g" in text

    def close(self):
        self.terminal.close()


@pytest.fixture
def shell(desk):
    started = Shell(desk.cli)
    yield started
    started.close()


def console_pid(folder):
    """Of the console that was started in a shell."""
    for entry in os.listdir("/proc"):
        try:
            words = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0") if entry.isdigit() else []
            environment = open(f"/proc/{entry}/environ", "rb").read() if b"console" in words else b""
        except OSError:
            continue
        if str(folder).encode() in environment:
            return int(entry)
    return pytest.fail("there is no console")


def test_quitting(shell):
    shell.console("order_desk")
    shell.terminal.wait_for(r"\[1 Overview\]")
    for tab, name in enumerate(TABS):
        shell.terminal.type(str(tab + 1))
        shell.terminal.wait_for(rf"\[{tab + 1} {name}\]")
    shell.terminal.type("q")
    shell.terminal.wait_for(r"^ready\$$")
    shell.assert_as_before()


def test_bytes_of_a_key_arrive_one_by_one(desk):
    """In either form of the key; ESCDELAY says for how long the rest is waited for."""
    shell = Shell(desk.cli, env={"ESCDELAY": "10000"})
    try:
        shell.console("--tab", "2", "order_desk")
        shell.terminal.wait_for(r"\[2 Functions\]")
        for line, form in enumerate(("5b", "4f"), 1):
            for byte in ("1b", form, "42"):
                shell.terminal.type("-H", byte)
            shell.terminal.wait_for(r"\A" + r"(?:(?! ›).*\n)*? +Function.*\n" + r"   .*\n" * line + " › ")
        shell.terminal.type("q")
        shell.terminal.wait_for(r"^ready\$$")
    finally:
        shell.close()


def test_a_paused_screen_says_how_old_it_is(shell):
    shell.console("order_desk")
    shell.terminal.wait_for(r"● live")
    shell.terminal.type("space")
    shell.terminal.wait_for(r"‖ paused  ")
    shell.terminal.wait_for(r"‖ paused, [1-9]\d* s behind")
    shell.terminal.type("space")
    shell.terminal.wait_for(r"● live")
    shell.terminal.type("q")
    shell.terminal.wait_for(r"^ready\$$")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=str)
def test_ending_by_a_signal(shell, number):
    shell.console("order_desk")
    shell.terminal.wait_for(r"\[1 Overview\]")
    os.kill(console_pid(shell.cli.folder), number)
    shell.terminal.wait_for(r"^ready\$$|Terminated|Hangup")
    assert shell.ask("echo status $?") is not None
    shell.assert_as_before()


def test_key_opens_the_source_in_an_editor(desk):
    """The editor has the terminal meanwhile, and the console gets it back."""
    editor = desk.cli.folder / "editor"
    editor.write_text(f'stty -g\nread -p "edits $* " answer\necho "$answer" > {desk.cli.folder}/answered\n')
    shell = Shell(desk.cli, env={"EDITOR": f"bash {editor} -x"})
    try:
        shell.ask(f"cd {BUILD}; pwd")  # where relative paths of sources are valid
        shell.console("order_desk", "--tab", "2")
        shell.terminal.wait_for(r"^...reserve_stock")
        shell.terminal.type("/", "reserve", "Enter", "v")
        screen = plain(shell.terminal.wait_for(r"edits -x \+\d+ \S*order_desk.c"))
        assert shell.settings in screen
        shell.terminal.type("seen", "Enter")
        shell.terminal.wait_for(r"\[2 Functions\]")
        wait_until(lambda: (desk.cli.folder / "answered").exists())
        assert (desk.cli.folder / "answered").read_text() == "seen\n"
        shell.terminal.type("Escape")
        shell.terminal.type("1")
        shell.terminal.wait_for(r"\[1 Overview\]")
        shell.terminal.type("q")
        shell.terminal.wait_for(r"^ready\$$")
        assert shell.ask("stty -g") == shell.settings
    finally:
        shell.close()


def test_stop_and_continue_restore_the_terminal(desk):
    shell = Shell.__new__(Shell)
    shell.cli = desk.cli
    shell.terminal = Terminal(desk.cli.box, 100, 30, env={**desk.cli.environment(), **home(desk.cli)},
                              command=("bash", "--norc", "-i"))
    shell.settings = shell.ask("stty -g")
    try:
        shell.console("order_desk")
        shell.terminal.wait_for(r"\[1 Overview\]")
        shell.terminal.type("C-z")
        shell.terminal.wait_for(r"Stopped")
        assert shell.ask("stty -g") == shell.settings
        shell.terminal.type("fg", "Enter")
        shell.terminal.wait_for(r"\[1 Overview\]")
        shell.terminal.type("2")
        shell.terminal.wait_for(r"\[2 Functions\]")
        shell.terminal.type("q")
        shell.terminal.wait_for(r"^ready\$$")
        shell.assert_as_before()
    finally:
        shell.close()


def test_the_terminal_changes_its_size(shell):
    shell.console("order_desk")
    shell.terminal.wait_for(r"\[1 Overview\]")
    shell.terminal.type("2")
    for columns, rows in ((80, 24), (60, 15), (220, 50), (40, 10), (100, 30)):
        shell.terminal.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        shell.terminal.wait_for(r"needs 60 columns" if columns < 60 else r"q quit *$")
        lines = plain(shell.terminal.screen()).split("\n")
        assert max(map(len, lines)) <= columns
    shell.terminal.wait_for(r"^...reserve_stock")


def test_colours(desk):
    for env, has_colors in (({}, True), ({"NO_COLOR": "1"}, False)):
        shell = Shell(desk.cli, env=env)
        try:
            shell.console("order_desk")
            shell.terminal.wait_for(r"\[1 Overview\]")
            shell.terminal.wait_for(r"lock .*\d")
            assert bool(re.search(r"\x1b\[(\d+;)*3[1-68]", shell.terminal.screen())) == has_colors
        finally:
            shell.close()


def test_linux_console(desk):
    shell = Shell(desk.cli)
    try:
        shell.terminal.type(f"TERM=linux LC_ALL=C {desk.cli.program} console order_desk", "Enter")
        shell.terminal.wait_for(r"\[1 Overview\]")
        assert plain(shell.terminal.screen()).isascii()
        shell.terminal.type("q")
        shell.terminal.wait_for(r"^ready\$$")
        assert shell.ask("stty -g") == shell.settings
        shell.terminal.type(f"TERM=nonsense {desk.cli.program} console order_desk", "Enter")
        shell.terminal.wait_for(r"terminal type in TERM is unknown")
    finally:
        shell.close()


def test_waiting_for_a_program(cli):
    shell = Shell(cli)
    try:
        shell.console("--every", "0.2")
        shell.terminal.wait_for(r"No program is being measured")
        desk = Desk(cli)
        shell.terminal.wait_for(r"order_desk +● live")
        shell.terminal.type("Enter")
        shell.terminal.wait_for(r"\[1 Overview\]")
        desk.end()
        shell.terminal.wait_for(r"■ ended after")
        # The same program once more.
        again = Desk(cli)
        shell.terminal.wait_for(r"Restarted as \d+: Enter follows it")
        shell.terminal.type("Enter")
        shell.terminal.wait_for(r"● live")
        again.end()
    finally:
        shell.close()


# --- a real program that knows nothing of hotpath

@contextlib.contextmanager
def redis_under_load(cli):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    ask = ["redis-cli", "-p", port]
    run = cli.start("run", "--format", "none", "--", "redis-server", "--port", port, "--save", "",
            "--io-threads", "2")
    wait_until(lambda: subprocess.run([*ask, "ping"], capture_output=True, check=False).stdout == b"PONG\n")
    load = subprocess.Popen(["redis-benchmark", "-p", port, "-q", "-l", "-c", "20", "-t", "set,get"],
                            stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        load.kill()
        load.wait()
        subprocess.run([*ask, "shutdown", "nosave"], check=False)
        run.communicate(timeout=60)


class Driven:
    """The console in a terminal, key by key."""

    OTHERS = ["Enter", "Escape", "Tab", "BTab", "BSpace", "Left", "Right", "Down", "Up", "NPage", "PPage",
            "Home", "End"]
    KEYS = [*"jkgGihl/nNsSctz[]xwo*+mubavdyeEfLA0?-", *OTHERS]
    MOVES = {*"jkgG", "Down", "Up", "NPage", "PPage", "Home"}  # at an end, a move stays there
    OPENS = {*"/iwoc?", "Enter"}

    def __init__(self, cli, columns, rows):
        self.shell = Shell(cli, columns, rows, env={"TMPDIR": str(cli.folder)})
        self.terminal, self.size = self.shell.terminal, (columns, rows)
        self.shell.ask(f"cd {cli.folder}; pwd")
        self.shell.console("--every", "0.5", "redis-server")
        self.terminal.wait_for(r"\[1 Overview\]")

    def lines(self):
        """As they are when two captures in succession are equal, and whether line 3 is a message."""
        last = None
        for _ in range(100):
            screen = self.terminal.screen()
            if screen == last:
                break
            last = screen
            time.sleep(0.03)
        is_message = bool(re.match(r"(\x1b\[[\d;]*m)*\x1b\[(\d+;)*7(;\d+)*m", screen.split("\n")[2]))
        return [line.rstrip() for line in plain(screen).split("\n")[:self.size[1]]], is_message

    def is_well_formed(self, lines):
        text = "\n".join(lines)
        columns, rows = self.size
        assert len(lines) == rows and max(map(len, lines)) <= columns, text
        assert lines[0].startswith(" redis-server ") and re.search(r"\d s$", lines[0]), text
        assert lines[-1].endswith("? help  q quit") and "nan" not in text and "-0.00" not in text, text

    def press(self, tab, key):
        """It does something, or says why it does not."""
        before, _ = self.lines()
        self.terminal.type(key)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            after, is_message = self.lines()
            is_changed = after[1:] != before[1:] or (key in "+-" and after[0][-12:] != before[0][-12:])
            if is_changed or is_message or key in self.MOVES:
                break
        else:
            pytest.fail(f"{key} does nothing on tab {tab} at {self.size}:\n" + "\n".join(after))
        text = "\n".join(after)
        assert "…" not in after[2] or key in "fy", text  # a message is not cut
        if key in self.OPENS and not is_message:
            self.terminal.type("Escape")
            self.lines()
        if key == "L":
            self.terminal.wait_for(r"hotpath console  programs")
            self.terminal.type("Enter")
            self.terminal.wait_for(r"^ redis-server \d+ +●")
            self.terminal.type("space")  # another program would not be paused
            self.terminal.wait_for("‖ paused")
        if key in ("Tab", "BTab"):
            self.terminal.type(tab)
        self.lines()

    def end(self):
        self.terminal.type("q")
        self.terminal.wait_for(r"^ready\$ *$")
        self.shell.assert_as_before()
        self.shell.close()


def seen_rows(lines):
    """{name: the first number} of a table, by what is on the screen; of names that are not shortened."""
    found = (re.match(r" [ ›] (\S.*?)  +(\d+\.\d\d) ", line) for line in lines)
    return {row.group(1): row.group(2) for row in found if row and "…" not in row.group(1)}


def assert_as_in_report(cli, driven):
    """Functions of a past time range, on the screen and as written, and of `hotpath report`."""
    lines, _ = driven.lines()
    path = cli.folder / "hotpath-sampled.json"
    path.unlink(missing_ok=True)
    driven.terminal.type("E")
    driven.terminal.wait_for("Written: hotpath-sampled.json")
    written = json.loads(path.read_text())
    rows = {(row["name"], row["library"] or ""): row for row in written["rows"]}
    shown = seen_rows(lines)
    assert len(shown) >= 3
    for name, own in shown.items():
        assert own in {f"{row['own']:.2f}" for (its, _), row in rows.items() if its == name}, (name, own)
    stretch = ["--from", f"{written['from_ns'] / 1e9:.9f}s", "--to", f"{written['to_ns'] / 1e9:.9f}s"]

    def compare():
        report = json.loads(cli("report", "--format", "json", "--section", "functions", "--limit", "0", *stretch,
                                "redis-server").stdout)
        seconds = (written["to_ns"] - written["from_ns"]) / 1e9
        for of in report["sections"]["functions"]["rows"]:
            row = rows.get((of["name"], of["library"] or ""), {"own": 0, "percent_self": 0, "percent_total": 0})
            assert row["own"] == pytest.approx(of["work_ns"] / 1e9 / seconds, rel=0.01, abs=0.01), of
            for key in ("percent_self", "percent_total"):
                assert row[key] == pytest.approx(of[key], rel=0.01, abs=0.5), (key, of)
    compare()
    return compare


@full
@pytest.mark.skipif(bool(SANITIZER), reason="the library of such a build can be preloaded into nothing else")
@pytest.mark.skipif(not perf_is_allowed() or not shutil.which("redis-benchmark"), reason="needs redis, and stacks")
def test_all_keys_on_an_unmodified_server_under_load(cli):
    """In a terminal: every tab and view is well-formed, no key is silent, and numbers are those of the
    report of the same
    range, while the server runs and when it has ended."""
    compare = []
    with redis_under_load(cli):
        wait_until(lambda: history(cli)[0] >= 4)
        for size in ((80, 24), (100, 30), (220, 50)):
            driven = Driven(cli, *size)
            driven.terminal.type("2")
            driven.terminal.wait_for(r"^ [ ›] \S.* +\d\.\d\d ")
            keys = list(enumerate(Driven.KEYS))
            for tab, name in enumerate(TABS, 1):
                driven.terminal.type("1" if tab != 1 else "2", str(tab))
                driven.terminal.wait_for(rf"\[{tab} {name}\]")
                for _ in range(6):  # each of its views; all keys in all of them: the next test
                    lines, _ = driven.lines()
                    driven.is_well_formed(lines)
                    driven.terminal.type(str(tab))
                driven.terminal.type("space")
                driven.terminal.wait_for("‖ paused")
                for at, key in keys:
                    if at % len(TABS) == tab - 1:
                        driven.press(str(tab), key)
                driven.terminal.type("space")
                driven.terminal.wait_for("● live|◂")
            driven.terminal.type("2", "End", "[", "[", "[")
            driven.terminal.wait_for("◂")
            compare.append(assert_as_in_report(cli, driven))
            driven.end()
    for one in compare:
        one()


def silent_keys(cli, tab, views, columns, rows):
    """Keys that neither change the screen nor say why, in some view of a tab."""
    names = {"Escape": "Esc", "BTab": "BackTab", "BSpace": "Backspace", "NPage": "PageDown", "PPage": "PageUp"}
    undo = {"/": "Esc", "i": "Esc", "w": "Esc", "o": "Esc", "c": "c", "?": "Esc", "Enter": "Esc",
            "L": "Enter space"}
    keys = [key for key in Driven.KEYS if key not in Driven.MOVES and key not in "fv"]  # a page, an editor
    script = [f"2 wait 2500 space {tab if tab != 2 else ''}"]
    for _ in range(views):
        for key in keys:
            back = str(tab) if key in ("Tab", "BTab") else undo.get(key, "")
            script.append(f"Home screen {names.get(key, key)} screen {back}")
        script.append(str(tab))
    out = cli("console", "--script", "-", "--size", f"{columns}x{rows}", "redis-server", input="\n".join(script),
              env=home(cli)).stdout
    lines = out.split("\n")[:-1]
    screens = [lines[at:at + rows] for at in range(0, len(lines), rows)]
    assert len(screens) == 2 * len(keys) * views
    found = set()
    for at, key in enumerate(keys * views):
        before, after = screens[2 * at], screens[2 * at + 1]
        first = 0 if key in "+-" else 1  # line 0 has the interval, and how old the screen is
        if before[first:] == after[first:] and "There are no rows here" not in after[2]:
            found.add(key)
        assert len(after) == rows and max(map(len, after)) <= columns
        assert not re.search(r"\bnan\b|-0\.00|\binf\b", "\n".join(after))
    return found


@full
@pytest.mark.skipif(bool(SANITIZER), reason="the library of such a build can be preloaded into nothing else")
@pytest.mark.skipif(not perf_is_allowed() or not shutil.which("redis-benchmark"), reason="needs redis, and stacks")
@pytest.mark.parametrize("size", [(80, 24), (100, 30), (220, 50)], ids=str)
def test_no_key_is_silent_in_any_view(cli, size):
    with redis_under_load(cli):
        wait_until(lambda: history(cli)[0] >= 4)
        found = {tab: silent_keys(cli, tab, views, *size) for tab, views in enumerate((1, 1, 1, 2, 2, 3, 2, 4), 1)}
    assert not any(found.values()), found


# --- the demo

def processes_of(folder):
    """Those that have it in their environment."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if str(folder).encode() in open(f"/proc/{entry}/environ", "rb").read():
                found.append(open(f"/proc/{entry}/comm").read().strip())
        except OSError:
            continue
    return found


def test_demo_without_a_terminal(cli):
    before = set(cli.folder.iterdir())
    done = cli("demo", "--seconds", "1")
    assert "runs for 1 s" in done.stderr and "in a terminal" in done.stderr
    for section in ("cpu", "waits", *([] if SANITIZER else ["alloc-bytes"])):
        assert f"\n{section}: " in done.stdout  # the short report
    assert re.search(r"^\| Function .*\| % Total \| Verdict ", done.stdout, re.M)
    assert "| main " in done.stdout and "hotpath run --console ./program" in done.stdout
    assert "hotpath report" not in done.stdout  # its session is removed
    assert set(cli.folder.iterdir()) == before and cli.sessions("-a") == []
    assert "--seconds 'soon'" in cli("demo", "--seconds", "soon", status=2).stderr


def test_demo(cli):
    """All kinds of rows are there, q ends the program, and nothing of it is left."""
    shell = Shell(cli)
    before = set(cli.folder.iterdir())
    try:
        shell.terminal.type(f"{cli.program} demo --seconds 600; echo status $?", "Enter")
        shell.terminal.wait_for(r"^ orders \d+ +● live \d:\d\d, ends at 10:00 ")
        for tab, row in ((2, r"reserve_stock +\d"), (3, r"handle +\d"), (5, r"jobs|mail"), (6, r"worker.*\d"),
                         (7, r"reserve_stock|queue_pop")):
            shell.terminal.type(str(tab))
            shell.terminal.wait_for(rf"\[{tab} ")
            shell.terminal.wait_for(row)
        assert "orders" in processes_of(cli.folder)
        shell.terminal.type("q")
        shell.terminal.wait_for(r"^status 0$")
        text = plain(shell.terminal.tmux("capture-pane", "-p", "-S", "-200"))
        assert "all orders are done" in text and "bottlenecks - " in text and "its session has been removed" in text
        shell.assert_as_before()
        assert "orders" not in processes_of(cli.folder)
        assert set(cli.folder.iterdir()) - before <= {cli.folder / "config"}
    finally:
        shell.close()


def test_run_with_the_console(cli):
    """The program and the console in one command: the program's output is printed when the console is quit, and its
    exit status is that of the run."""
    shell = Shell(cli)
    try:
        program = PROGRAMS / "order_desk"
        shell.terminal.type(f"{cli.program} run --console --format none -- sh -c 'echo said; sleep 4 | {program}; "
                            f"exit 3'; echo status $?",
                            "Enter")
        shell.terminal.wait_for(r"\[1 Overview\]")
        assert "said" not in plain(shell.terminal.screen())
        shell.terminal.type("q")
        shell.terminal.wait_for(r"^status 3$")
        assert re.search(r"^said\norders \d+$", plain(shell.terminal.screen()), re.M)
        shell.assert_as_before()
        assert "needs a terminal" in cli("run", "--console", "--", "true", status=1).stderr
    finally:
        shell.close()
