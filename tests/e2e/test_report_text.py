"""What the report for people says, and what it leaves out."""
import fcntl
import pty
import re
import signal
import struct
import subprocess
import termios

import pytest

from command import Cli, cli  # noqa: F401 (a fixture)
from harness import BUILD, HOTPATH, PROGRAMS, Box, with_glibc, without_emulator, without_sanitizer
from terminal import plain

pytestmark = [without_emulator("programs of this machine are run, too"),
              without_sanitizer("they are not built with it"), with_glibc("the programs of this machine have it")]


# ---------------------------------------------------------------------------------------------- how processes ended

UNFINISHED = ("killed", "measured calls", "_exit", "without finishing")


@pytest.mark.parametrize("program", [
    ["sh", "-c", "true; ls"],
    ["sh", "-c", "(exit 3); ls"],
    ["sh", "-c", "exec ls"],
    [PROGRAMS / "children", "fork"],  # some of them leave by _exit
    [PROGRAMS / "children", "exec"],
], ids=["sh", "subshell", "exec", "_exit", "children-exec"])
def test_normal_exits_are_not_mentioned(cli, program):
    done = cli("run", "--no-stacks", *program, status=None)
    assert "[hotpath] " in done.stderr
    assert not any(word in done.stderr.partition("processes - ")[0] for word in UNFINISHED), done.stderr


def test_a_signal_that_ended_the_program_is_named(cli):
    done = cli("run", "sh", "-c", "kill -9 $$", status=-signal.SIGKILL)
    assert "\nthe program was killed by SIGKILL\n" in done.stderr
    assert "\nthe program was killed by SIGKILL\n" in cli("report").stdout


def test_children_of_a_killed_program_are_not_called_killed(cli):
    cli("run", "--no-stacks", "sh", "-c", f"{PROGRAMS / 'counts'} > /dev/null; kill -9 $$", status=-signal.SIGKILL)
    child = next(row for row in cli.read().rows("processes") if "counts" in row.command and
                 "kill" not in row.command)
    assert "killed" in cli("report").stdout
    assert "killed" not in cli("report", str(child.pid)).stdout


@pytest.mark.parametrize("how, text", [
    ("segv", "the program was killed by SIGSEGV; it was in the middle of measured calls, which"),
    ("_exit", "the process was killed, or ended by _exit, in the middle of measured calls, which"),
])
def test_calls_cut_short_are_mentioned(cli, how, text):
    done = cli("run", PROGRAMS / "killed", cli.folder / "progress", how, status=None)
    assert f"\n{text} are counted up to their last recorded time\n" in done.stderr


# ------------------------------------------------------------------------------------------------- the short report

ORDERS = BUILD / "examples" / "orders"
TOLD = re.compile(r"[~^*] \S")


def in_terminal(cli, columns, *args):
    """What `hotpath` writes to a terminal of that width, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    with open(theirs, "wb", buffering=0) as terminal:
        process = subprocess.Popen([HOTPATH, *map(str, args)], stdin=subprocess.DEVNULL, stdout=terminal,
                                   stderr=terminal, env=cli.environment(), cwd=cli.folder)
    text = b""
    with open(ours, "rb", buffering=0) as terminal:
        try:
            while piece := terminal.read(65536):
                text += piece
        except OSError:  # nobody holds the other end
            pass
    assert process.wait() == 0
    return plain(text.decode().replace("\r\n", "\n"))


@pytest.fixture(scope="module")
def orders():
    """A run with everything: many functions, flows, allocations, waiting, CPU time."""
    box = Box()
    cli = Cli(box)
    cli("run", "--format", "none", ORDERS, "2")
    yield cli
    box.remove()


def test_short_report_fits_on_a_screen(orders):
    lines = in_terminal(orders, 80, "report", "-n", "12").splitlines()
    assert len(lines) <= 45 and max(map(len, lines)) <= 80
    functions = [line for line in lines if line.startswith("| ")][1:13]
    assert len(functions) == 12 and functions[0].startswith("| main ")
    for section in ("alloc-bytes", "cpu", "waits", "tasks", "values", "channels", "streams", "loops"):
        assert any(line.startswith((f"{section}: ", f"{section} - ")) for line in lines), section
    assert "channels: jobs, replies, pipe" in lines


def test_tables_are_shown_where_they_fit(orders):
    text = in_terminal(orders, 80, "report", "-n", "2")
    assert len(text.splitlines()) <= 45
    assert "\ntasks - " in text and "\n| mail " in text


def sections_of(text):
    return re.findall(r"^([a-z-]+) - ", text, re.M)


def test_verbose_does_not_add_to_named_sections(orders):
    """It is instead of the short report."""
    assert sections_of(orders("report", "-v", "--section", "calltree").stdout) == ["calltree"]
    assert sections_of(orders("report", "-v", "-t", "--section", "waits").stdout) == ["waits", "calltree"]
    every = sections_of(orders("report", "-v").stdout)
    assert {"timing", "waits", "cpu"} <= set(every)
    assert sections_of(orders("report", "-v", "--section", "short").stdout) == every
    assert sections_of(orders("report", "-v", env={"HOTPATH_SECTIONS": "waits"}).stdout) == every


def tables_of(text):
    """Rows, and the notes below them."""
    for part in re.split(r"\n\n", text):
        rows = [line for line in part.splitlines() if line.startswith("|")]
        if rows:
            yield rows, part[part.rindex("+\n") + 2:] if part.rstrip()[-1] != "+" else ""


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_notes_are_relevant_and_unique(orders, columns):
    text = in_terminal(orders, columns, "report", "-v")
    notes = [line for _, below in tables_of(text) for line in below.splitlines() if TOLD.match(line)]
    assert len(notes) == len(set(notes)), notes
    for rows, below in tables_of(text):
        for line in below.splitlines():
            if TOLD.match(line):
                assert any(re.search(rf"\| +[~^]*{re.escape(line[0])}|\{line[0]} +\|", row)
                           for row in rows), (line, rows)
            if line.startswith("% Total is"):
                assert "% Total" in rows[0]


def test_no_table_without_functions(cli):
    done = cli("run", "--section", "alloc-bytes,cpu", "sh", "-c", "true")
    assert "\nalloc-bytes - " in done.stderr and "allocation" in done.stderr
    assert "<outside>" not in done.stderr and "<startup>" not in done.stderr and "| Function" not in done.stderr


def test_empty_sections_are_not_mentioned(cli):
    """It waits for nothing."""
    done = cli("run", "sh", "-c", "true")
    assert "\ncpu: " in done.stderr and "waits: Threads waited 0 " not in done.stderr
