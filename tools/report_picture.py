#!/usr/bin/python3
"""The README's hello.c and its report, as a terminal shows them: docs/report.png, and docs/report.txt, the same
text, which tests/e2e/test_readme.py compares with what hello.c reports.

usage: report_picture.py [FOLDER]

Compiles hello.c with the README's own command and writes both files into FOLDER (default docs). Needs tmux and
chromium. Where it may, it runs hello at real-time priority, so that what else the machine does is not in the
picture.
"""
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from terminal_picture import Terminal, draw

SOURCE = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 112, 40


def block(language, containing):
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.M | re.S)
    return next(block for block in blocks if containing in block)


def build(folder):
    (folder / "hello.c").write_text(block("c", "/* hello.c */"))
    subprocess.run([SOURCE / "tools/amalgamate.py", folder / "build/single"], check=True)
    command, _, run = block("sh", "single/hotpath.c").splitlines()[-1].partition(" && ")
    subprocess.run(command, shell=True, cwd=folder, check=True)
    return run


def capture(folder, run):
    calm = "chrt -f 1 true 2> /dev/null && calmly='chrt -f 1'"
    with Terminal(COLUMNS, ROWS, "sh", "-c",
                  f"cd '{folder}'; {calm}; echo '$ {run}'; $calmly {run}; sleep 60") as terminal:
        time.sleep(3)
        return terminal.screen("-e").rstrip("\n"), terminal.screen().rstrip("\n")


def main():
    target = Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "docs")
    with tempfile.TemporaryDirectory() as folder:
        coloured, plain = capture(folder, build(Path(folder)))
    (target / "report.txt").write_text(plain + "\n")
    draw(coloured, COLUMNS, ROWS, target / "report.png")


main()
