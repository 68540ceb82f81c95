"""Which session `hotpath report` shows when none is named: the newest of this terminal, or else the newest of
all."""
import re

import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import HOTPATH, PROGRAMS, without_emulator
from terminal import Terminal

pytestmark = without_emulator("it would have to start another")

GUEST = PROGRAMS / "guest"


@pytest.fixture
def terminals(cli):
    """Two terminals, with a folder of sessions in common."""
    both = [Terminal(cli.box, 200, env=cli.environment(), command=("bash", "--norc", "-i")) for _ in range(2)]
    yield both
    for terminal in both:
        terminal.close()


def enter(terminal, command, mark):
    """Types a command and waits until it is done; what it wrote goes away with the screen."""
    terminal.type("clear", "Enter")
    terminal.type(f"{command}; echo {mark[0]}''{mark[1:]}", "Enter")
    return terminal.wait_for(f"^{mark}")


def origin(terminal, mark):
    screen = enter(terminal, f"{HOTPATH} report | head -1", mark)
    return re.search(r"^pid (\d+): (.*), started \d+[smh] ago$", screen, re.M)[2]


def test_runs_of_this_terminal_come_first(cli, terminals):
    one, other = terminals
    enter(one, f"{HOTPATH} run --format none {GUEST} five one", "done1")
    enter(other, f"{HOTPATH} run --format none {GUEST} five other", "done2")
    assert origin(one, "done3") == f"{GUEST} five one"
    assert origin(other, "done4") == f"{GUEST} five other"
    assert f": {GUEST} five other, started " in cli("report").stdout.splitlines()[0]


def test_single_sessions_of_this_terminal_come_first(cli, terminals):
    one, other = terminals
    enter(one, f"HOTPATH_OUTPUT_FORMAT=none {GUEST} five one", "done1")
    enter(other, f"HOTPATH_OUTPUT_FORMAT=none {GUEST} five other", "done2")
    assert origin(one, "done3") == f"{GUEST} five one"
    assert origin(other, "done4") == f"{GUEST} five other"


def test_the_newest_of_a_terminal_is_shown(cli, terminals):
    one, other = terminals
    enter(one, f"{HOTPATH} run --format none {GUEST} five first", "done1")
    enter(one, f"HOTPATH_OUTPUT_FORMAT=none {GUEST} five second", "done2")
    enter(other, f"{HOTPATH} run --format none {GUEST} five third", "done3")
    assert origin(one, "done4") == f"{GUEST} five second"


def test_a_terminal_without_sessions_shows_the_newest_of_all(cli, terminals):
    one, other = terminals
    enter(one, f"{HOTPATH} run --format none {GUEST} five one", "done1")
    assert origin(other, "done2") == f"{GUEST} five one"


def test_names_mean_the_same_in_every_terminal(cli, terminals):
    one, other = terminals
    enter(one, f"{HOTPATH} run --format none {GUEST} five one", "done1")
    enter(other, f"{HOTPATH} run --format none {GUEST} five other", "done2")
    name = cli.sessions()[1]["path"]
    screen = enter(other, f"{HOTPATH} report {name} | head -1", "done3")
    assert re.search(rf"^pid \d+: {re.escape(str(GUEST))} five one, started", screen, re.M)
