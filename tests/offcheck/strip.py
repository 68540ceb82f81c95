#!/usr/bin/env python3
"""Takes every use of hotpath out of a C or C++ source, as a person would, keeping the line numbers.

usage: strip.py [--keep-include] < with.c > without.c

Statements go with their semicolon. Where something has to stay, the least does: HOTPATH_EXPR("label", expr) becomes
(expr), and a HOTPATH_END or HOTPATH_NOTE that is the whole body of an `if` becomes (void)0.
"""

import re
import sys

USE = re.compile(r"\bHOTPATH_(MAIN|SESSION|MEASURE_AS|MEASURE|BLOCK_KEY|BLOCK|BEGIN|END|EXPR|NOTE|NO_MEASURE)\b")
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[(),]')


def arguments(text, start):
    """The end of the parentheses that open at `start`, and where the first comma at their level is."""
    depth, comma = 0, None
    for token in TOKEN.finditer(text, start):
        if token.group() == "(":
            depth += 1
        elif token.group() == ")":
            depth -= 1
            if depth == 0:
                return token.end(), comma
        elif token.group() == "," and depth == 1 and comma is None:
            comma = token.start()
    raise SystemExit("strip.py: parentheses without end")


def strip(text):
    while use := USE.search(text):
        name, start, end = use.group(1), use.start(), use.end()
        kept = ""
        if name != "NO_MEASURE":
            end, comma = arguments(text, end)
            if name == "EXPR":
                kept = "(" + text[comma + 1 : end - 1] + ")"
            elif name in ("END", "NOTE") and text[:start].rstrip()[-1] not in ";{}":
                kept = "(void)0"
            else:
                end = text.index(";", end) + 1
        lines = text.count("\n", start, end) - kept.count("\n")
        text = text[:start] + kept + "\n" * lines + text[end:]
    return text


if __name__ == "__main__":
    source = sys.stdin.read()
    if sys.argv[1:] != ["--keep-include"]:
        source = re.sub(r"^#include <hotpath\.h>$", "", source, flags=re.M)
    sys.stdout.write(strip(source))
