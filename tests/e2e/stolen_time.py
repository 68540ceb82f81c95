"""The host of a virtual machine can take CPU time away, up to half of it for a minute. That looks like waiting
(docs/verdict.md), or like CPU time of the running thread: no program can be compared with its own clock then. So
tests that fail meanwhile are run again, once the host is calm, and the end of the output says so. Failures
without stolen time are real."""
import time
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

TRIES = 4
MOST_STOLEN = 0.01  # part of the time of all CPUs
LONGEST_WAIT_S = 120

tried_again = pytest.StashKey[list]()


def machine_time():
    """The kernel's account of all CPUs: their total time, and what the host took."""
    times = [int(number) for number in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(times), times[7]


def stolen_since(before):
    whole, stolen = (after - first for after, first in zip(machine_time(), before))
    return stolen / max(whole, 1)


def wait_for_a_calm_host():
    """Stolen time shows only while a CPU is wanted."""
    until = time.monotonic() + LONGEST_WAIT_S
    while time.monotonic() < until:
        before, second = machine_time(), time.monotonic() + 1
        while time.monotonic() < second:
            pass
        if stolen_since(before) <= MOST_STOLEN:
            return


def run(item, nextitem):
    """The reports of a test's last try. Each has new fixtures."""
    for attempt in range(TRIES):
        before = machine_time()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failures = [report for report in reports if report.failed]
        stolen = stolen_since(before)
        if not failures or attempt == TRIES - 1 or stolen <= MOST_STOLEN:
            break
        why = str(getattr(failures[0].longrepr, "reprcrash", None) or failures[0].when)
        item.config.stash.setdefault(tried_again,
                                     []).append(f"{item.nodeid}: the host took {100 * stolen:.1f} %: {why}")
        wait_for_a_calm_host()
        item.session._setupstate.teardown_exact(None)  # shared fixtures were made meanwhile, too
        item._initrequest()
    return reports
