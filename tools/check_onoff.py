#!/usr/bin/env python3
"""Compares what hotpath.h offers when measuring is on with what it offers when it is compiled out.

usage: check_onoff.py [HEADER]

Both halves must have the same public macros with the same number of parameters, and the same functions with the
same signatures. Names that end in an underscore or contain v1 are private.
"""

import re
import sys
from pathlib import Path


def halves(text):
    """The lines between `#if HOTPATH_ON_`, its `#else` and its `#endif`."""
    on, off, depth, half = [], [], 0, None
    for line in text.splitlines():
        directive = re.match(r"\s*#\s*(if|else|elif|endif)", line)
        kind = directive.group(1) if directive else None
        if half is None:
            half = on if re.match(r"#if HOTPATH_ON_$", line) else None
            continue
        if kind == "if":
            depth += 1
        elif kind == "else" and depth == 0:
            half = off
        elif kind == "endif":
            if depth == 0:
                return "\n".join(on), "\n".join(off)
            depth -= 1
        half.append(line)
    raise SystemExit("check_onoff.py: no #if HOTPATH_ON_ ... #else ... #endif")


def is_public(name):
    return not name.endswith("_") and "v1" not in name


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
    for match in re.finditer(r"^HOTPATH_(?:API|OFF)_ ([^;{}]*?\b(hotpath_\w+)\([^)]*\))", text, re.M):
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
    header = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "include/hotpath.h")
    on, off = halves(header.read_text())
    problems = [*compare("macro", macros(on), macros(off)), *compare("function", functions(on), functions(off))]
    print("\n".join(problems) or f"on and off: {len(macros(on))} macros and {len(functions(on))} functions alike")
    return bool(problems) or not macros(on) or not functions(on)


if __name__ == "__main__":
    sys.exit(main())
