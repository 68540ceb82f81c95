#!/usr/bin/env python3
"""Checks that binaries are hardened as distributions require.

usage: check_hardened.py FOLDER with bin and lib in it: a build of the preset `package`, or an unpacked package

Programs and libraries: position independent, full RELRO, no executable stack, CET on x86-64 and branch
protection on arm64, stack protector and FORTIFY. In libhotpath_alloc.so there is no stack protector: malloc is
called before there is a canary.
"""

import re
import subprocess
import sys
from pathlib import Path

FEATURES = {"X86-64": ("IBT", "SHSTK"), "AArch64": ("BTI", "PAC")}


def readelf(option, file):
    return subprocess.run(["readelf", "-W", option, file], check=True, capture_output=True, text=True).stdout


def missing(file):
    """What a file lacks."""
    header, segments, dynamic = readelf("-h", file), readelf("-l", file), readelf("-d", file)
    needed = set(re.findall(r"UND (\w+)", readelf("--dyn-syms", file)))
    if not re.search(r"Type:\s+DYN", header):
        yield "position independent code"
    if "INTERP" in segments and not re.search(r"FLAGS_1.*\bPIE\b", dynamic):
        yield "PIE"
    if "GNU_RELRO" not in segments:
        yield "RELRO"
    if not re.search(r"\(FLAGS\).*\bBIND_NOW\b|FLAGS_1.*\bNOW\b", dynamic):
        yield "BIND_NOW"
    if not re.search(r"GNU_STACK(?:\s+0x\w+){5}\s+RW\s", segments):
        yield "a stack that is not executable"
    notes = readelf("-n", file)
    for machine, features in FEATURES.items():
        if machine in header:
            yield from (feature for feature in features if not re.search(rf"feature:.*\b{feature}\b", notes))
    if "__stack_chk_fail" not in needed and "libhotpath_alloc" not in file.name:
        yield "a stack protector"
    if not any(name.endswith("_chk") for name in needed):
        yield "FORTIFY"


def main():
    folder = Path(sys.argv[1])
    found = [file for part in ("bin", "lib") for file in sorted((folder / part).rglob("*"))
             if file.is_file() and not file.is_symlink() and file.read_bytes()[:4] == b"\x7fELF"]
    problems = [f"{file}: lacks {what}" for file in found for what in missing(file)]
    print("\n".join(problems) or f"hardened: {', '.join(file.name for file in found)}")
    return bool(problems) or len(found) < 3


if __name__ == "__main__":
    sys.exit(main())
