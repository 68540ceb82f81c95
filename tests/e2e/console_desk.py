"""Programs to be watched by the console, for its tests."""
import subprocess

import pytest

from command import Cli, wait_until
from harness import PROGRAMS, TIMEOUT
from test_time_range import history

TABS = ["Overview", "Functions", "Tree", "Stacks", "Flow", "Threads", "Waits", "Calls"]
UTF8 = {"LC_ALL": "C.UTF-8"}


class Desk:
    """A server that runs under `hotpath run` until it is told to end."""

    def __init__(self, cli, *args):
        self.cli = cli
        self.process = cli.start("run", "--format", "none", "--", PROGRAMS / "order_desk", *args,
                                 stdin=subprocess.PIPE)
        wait_until(lambda: history(cli)[0] >= 6)

    def end(self):
        self.process.communicate("\n", timeout=TIMEOUT)


@pytest.fixture
def cli(box):
    return Cli(box)


@pytest.fixture
def desk(cli):
    started = Desk(cli)
    yield started
    if started.process.poll() is None:
        started.end()


def home(cli):
    """Choices are remembered below it."""
    return {**UTF8, "XDG_CONFIG_HOME": str(cli.folder / "config")}
