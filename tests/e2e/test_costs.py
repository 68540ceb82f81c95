"""The costs that the README and docs/overhead.md state are those of bench/RESULTS.md, rounded.

If you commit new results of `./dev bench`, update these pages, too.
"""
import re

import pytest

from harness import SOURCE

README, OVERHEAD = "README.md", "docs/overhead.md"
ZONE, FLOOR = "zone, empty body", "floor: two reads of the CPU's counter"
COMPILER = "a function measured by the compiler (-finstrument-functions)"
SMALL = "the same if it is too small to time on every call (default)"
ALLOCATION, COUNTED = "pair, C library alone", "pair, counted"
OFF = "pair, switched off at run time (HOTPATH=0)"

# Page, the text around a number, the row, and its column: 1 is the time, 2 what follows it.
CLAIMS = [
    (README, r"costs about (\S+) times two reads", ZONE, 2),
    (README, r"counter: (\d+) ns where", ZONE, 1),
    (README, r"the reads take (\d+) ns", FLOOR, 1),
    (README, r"and its `free` adds (\d+) ns", COUNTED, 2),
    (OVERHEAD, r"time stamp counter take (\d+) ns", FLOOR, 1),
    (OVERHEAD, r"`HOTPATH=0` \| (\S+) ns per zone", "zone, switched off at run time (HOTPATH=0)", 1),
    (OVERHEAD, r"\(`HOTPATH_MEASURE`\) \| (\d+) ns per call", ZONE, 1),
    (OVERHEAD, r"\(`HOTPATH_TIME_SAMPLING_RATE=1/16`\) \| (\d+) ns per call", "zone, one call in 16 is timed", 1),
    (OVERHEAD, r"\(`-finstrument-functions`\) \| (\d+) ns per call", COMPILER, 1),
    (OVERHEAD, r"ns per call; (\d+) ns if the function is too small", SMALL, 1),
    (OVERHEAD, r"\(`HOTPATH_VALUE`\) \| (\d+) ns per update", "an integer (HOTPATH_VALUE)", 1),
    (OVERHEAD, r"`hotpath run`\) \| (\d+) ns per malloc and free", COUNTED, 2),
    (OVERHEAD, r"\| empty \| (\S+) \|", ZONE, 2),
    (OVERHEAD, r"\| eight nested zones \| (\S+) \|", "eight nested zones", 2),
    (OVERHEAD, r"\(`HOTPATH_BLOCK_KEY`\) \| (\S+) \|",
     "a block with a key known at run time (HOTPATH_BLOCK_KEY)", 2),
    (OVERHEAD, r"\(`.log = 1`\) \| (\S+) \|", "zone of a logged function (.log = 1)", 2),
    (OVERHEAD, r"\| a function measured by the compiler \| (\S+) \|", COMPILER, 2),
    (OVERHEAD, r"\| 1024 functions in turn, limited by the caches \| (\S+) \|", "1024 sites in turn", 2),
    (OVERHEAD, r"so the kernel's clock is read \| (\S+) \|",
     "zone with the kernel's clock, if the counter cannot be trusted", 2),
    (OVERHEAD, r"costs (\S+) times the floor\. On another machine", "zone, one call in 16 is timed", 2),
    (OVERHEAD, r"`HOTPATH_MEASURING_BOUND`\): (\S+) times the floor", SMALL, 2),
    (OVERHEAD, r"under uftrace and (\S+) times with LTTng", "LTTng-UST, two tracepoints", 2),
    (OVERHEAD, r"costs (\S+) times the floor under uftrace", "uftrace, -pg", 2),
    (OVERHEAD, r"\| nothing \| (\S+) \| \|", ALLOCATION, 1),
    (OVERHEAD, r"\| hotpath, counting \| (\S+) \|", COUNTED, 1),
    (OVERHEAD, r"\| hotpath, counting \| \S+ \| (\S+) ns \|", COUNTED, 2),
    (OVERHEAD, r"\| hotpath, switched off by `HOTPATH=0` \| (\S+) \|", OFF, 1),
    (OVERHEAD, r"\| hotpath, switched off by `HOTPATH=0` \| \S+ \| (\S+) ns \|", OFF, 2),
]


def rows_of_results():
    rows = {}
    for line in (SOURCE / "bench/RESULTS.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) > 2:
            rows.setdefault(cells[0], cells)
    return rows


def is_rounded(text, value):
    """Whether a number is the value, to as many digits as it has."""
    decimals = len(text.partition(".")[2])
    return abs(float(text) - value) <= 0.5001 * 10 ** -decimals


@pytest.mark.parametrize("page, around, row, column", CLAIMS, ids=[claim[1] for claim in CLAIMS])
def test_costs_are_those_of_the_benchmark(page, around, row, column):
    stated = re.search(around, re.sub(r"\s+", " ", (SOURCE / page).read_text())).group(1)
    cells = rows_of_results()[row]
    measured = float(re.search(r"-?[\d.]+", cells[column]).group())
    assert is_rounded(stated, measured), f"{page} says {stated}, bench/RESULTS.md {cells[column]}: update the page"


def test_costs_are_of_the_same_day():
    day = re.search(r"- date: (\S+)", (SOURCE / "bench/RESULTS.md").read_text()).group(1)
    assert f"bench/RESULTS.md of {day}" in (SOURCE / OVERHEAD).read_text()
