"""Fixtures of the end-to-end tests; see harness.py for what they can do."""
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import stolen_time  # noqa: E402
from harness import Report, box, pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401

# A shell without job control starts what it runs in the background with SIGINT ignored, which programs inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in stolen_time.run(item, nextitem):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash.get(stolen_time.tried_again, []):
        terminalreporter.write_line(f"tried again: {line}")


@pytest.fixture
def contradictory(monkeypatch):
    """For tests that break what is recorded: reports may contradict themselves (contradictions.py)."""
    monkeypatch.setattr(Report, "is_checked", False)
