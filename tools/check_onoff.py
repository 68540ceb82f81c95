#!/usr/bin/env python3
"""Compares what hotpath.h offers when measuring is on with what it offers when it is compiled out.

usage: check_onoff.py [ROOT]

include/hotpath/off.h must have the public macros of include/hotpath.h with the same number of parameters, and the
functions of it and of include/hotpath/results.h with the same signatures. Names that end in an underscore or
contain v1 are private.
"""

import re
import sys
from pathlib import Path


def measured(text):
    """What stands between `#if HOTPATH_ON_` and its `#endif`."""
    return "".join(re.findall(r"^#if HOTPATH_ON_\b[^\n]*\n(.*?)^#endif /\* HOTPATH_ON_ \*/$", text, re.M | re.S))


def is_public(name):
    return not name.endswith(("_", "_H")) and "v1" not in name


def macros(text):
    """{name: number of parameters, or None for a macro without parentheses}"""
    found = {}
    for name, parameters in re.findall(r"^\s*#\s*define\s+(HOTPATH_\w+)(\([^)]*\))?", text, re.M):
        if is_public(name):
            found[name] = len([p for p in parameters[1:-1].split(",") if p.strip()]) if parameters else None
    return found


def functions(text):
    """{name: signature in one line}"""
    found = {}
    for match in re.finditer(r"^HOTPATH_API_ ([^;{}]*?\b(hotpath_\w+)\([^)]*\))", text, re.M):
        if is_public(match.group(2)):
            found[match.group(2)] = re.sub(r"\s+", " ", match.group(1))
    return found


def compare(kind, on, off):
    for name in sorted(on.keys() | off.keys()):
        if name not in off:
            yield f"{kind} {name}: missing when off"
        elif name not in on:
            yield f"{kind} {name}: missing when on"
        elif on[name] != off[name]:
            yield f"{kind} {name}: {on[name]} when on, {off[name]} when off"


def main():
    include = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent) / "include"
    on = (include / "hotpath.h").read_text() + (include / "hotpath/results.h").read_text()
    off = (include / "hotpath/off.h").read_text()
    problems = [*compare("macro", macros(measured(on)), macros(off)),
                *compare("function", functions(on), functions(off))]
    print("\n".join(problems) or f"on and off: {len(macros(off))} macros and {len(functions(off))} functions alike")
    return bool(problems) or not macros(off) or not functions(off)


if __name__ == "__main__":
    sys.exit(main())
