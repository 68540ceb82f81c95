#!/usr/bin/env python3
"""Compares the numbers in src/observe/system_calls.c with the headers of this machine, and of others whose
compilers are installed. SPDX-License-Identifier: MIT"""
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).parent.parent / "src/observe/system_calls.c"
COMPILERS = ("x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc", "riscv64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc",
             *sys.argv[1:])


def preprocess(compiler, text):
    done = subprocess.run([*compiler.split(), "-E", "-P", "-x", "c", "-"], input=text, capture_output=True,
                          text=True, check=True)
    return done.stdout


def problems(compiler):
    """What the table says of this machine's calls, and what the headers say: "read 0 0", "open NO SYS_open"."""
    names = dict(line.split(" ", 1) for line in re.findall(r"^    CALL\((\w+, .*)\),$", SOURCE.read_text(), re.M))
    choose = re.search(r"^#if defined\(__x86_64__\).*?^#endif\n", SOURCE.read_text(), re.M | re.S)[0]
    lines = [f"@{name[:-1]};NUMBER({', '.join(rest.split(', ')[:3])});SYS_{name[:-1]}"
             for name, rest in names.items()]
    for line in preprocess(compiler, "#include <sys/syscall.h>\n" + choose + "\n".join(lines)).split("@")[1:]:
        name, said, known = (part.strip() for part in line.split(";"))
        if known != "SYS_" + name and (said == "NO" or int(said) != eval(known)):  # "(0+240)" on arm
            yield f"{compiler}: {name} is {known}, not {said}"


found = [problem for compiler in COMPILERS if shutil.which(compiler.split()[0]) for problem in problems(compiler)]
print("\n".join(found) or "system calls: as in the headers")
sys.exit(bool(found))
