#!/usr/bin/env python3
"""How many test cases passed, failed and were skipped in a run of CTest.

usage: tools/count_cases.py CTEST_OUTPUT LAST_TEST_LOG

A case is a function of a unit test (cmocka), a case of pytest, or else a CTest test, so each is counted once. A
test that fails has at least one failed case, whatever it printed before. CTEST_OUTPUT has the results of tests
(LastTest.log lists those that were not run as passed), LAST_TEST_LOG their output. Prints three numbers.
"""
import re
import sys
from collections import Counter
from pathlib import Path

END = re.compile(r"^ *\d+/\d+ Test +#\d+: (?P<name>\S+) (?P<word>.*)$", re.M)
BLOCK = re.compile(r"^\d+/\d+ Testing: (?P<name>.*?)$(?P<output>.*?)^<end of output>$", re.M | re.S)
CMOCKA = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (?=\S+$)", re.M)
PYTEST = re.compile(r"^=*\s*((?:\d+ \w+, )*\d+ \w+) in [\d.]+s\b", re.M)
WORDS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped", "passed": "passed", "failed": "failed",
         "error": "failed", "errors": "failed", "skipped": "skipped"}


def end_of(word):
    if "Passed" in word:
        return "passed"
    return "skipped" if "Skipped" in word or "Disabled" in word else "failed"


def cases(output):
    """The cases of a test by result."""
    # cmocka lists failed ones again at its end.
    found = Counter(WORDS[word] for word in CMOCKA.findall(output.partition(" test(s) run.\n")[0]))
    if not found:
        for line in PYTEST.findall(output):
            for count, word in (part.split(" ") for part in line.split(", ")):
                if word in WORDS:
                    found[WORDS[word]] += int(count)
    return found


def count(ends, log):
    outputs = {block["name"]: block["output"] for block in BLOCK.finditer(log)}
    sums = Counter()
    for test in END.finditer(ends):
        end = end_of(test["word"])
        found = cases(outputs.get(test["name"], "")) if end != "skipped" else None
        found = found or Counter({end: 1})
        if end == "failed" and not found["failed"]:
            found["failed"] = 1
        sums += found
    return sums["passed"], sums["failed"], sums["skipped"]


if __name__ == "__main__":
    print(*count(*(Path(path).read_text(errors="replace") for path in sys.argv[1:3])))
