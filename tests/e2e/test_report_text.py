"""What the report for people says, and what it leaves out."""
import signal

import pytest

from harness import BUILD, PROGRAMS, with_glibc, without_emulator, without_sanitizer
from test_cli import Cli

pytestmark = [without_emulator("programs of this machine are run, too"), without_sanitizer("they are not built with it"),
              with_glibc("the programs of this machine have it")]


@pytest.fixture
def cli(box):
    return Cli(box)


# ---------------------------------------------------------------------------------------------- how processes ended

UNFINISHED = ("killed", "measured calls", "_exit", "without finishing")


@pytest.mark.parametrize("program", [
    ["sh", "-c", "true; ls"],
    ["sh", "-c", "(exit 3); ls"],
    ["sh", "-c", "exec ls"],
    [PROGRAMS / "children", "fork"],  # some of them leave by _exit
    [PROGRAMS / "children", "exec"],
], ids=["sh", "subshell", "exec", "_exit", "children-exec"])
def test_a_process_that_simply_left_is_not_worth_a_word(cli, program):
    done = cli("run", "--no-stacks", *program, status=None)
    assert "[hotpath] " in done.stderr
    assert not any(word in done.stderr.partition("processes - ")[0] for word in UNFINISHED), done.stderr


def test_a_signal_that_ended_the_program_is_named(cli):
    done = cli("run", "sh", "-c", "kill -9 $$", status=-signal.SIGKILL)
    assert "\nthe program was killed by SIGKILL\n" in done.stderr
    assert "\nthe program was killed by SIGKILL\n" in cli("report").stdout


@pytest.mark.parametrize("how, text", [
    ("segv", "the program was killed by SIGSEGV; it was in the middle of measured calls, which"),
    ("_exit", "the process was killed, or left by _exit, in the middle of measured calls, which"),
])
def test_a_program_that_was_cut_short_is_told(cli, how, text):
    done = cli("run", PROGRAMS / "killed", cli.folder / "progress", how, status=None)
    assert f"\n{text} are counted up to their last sign\n" in done.stderr
