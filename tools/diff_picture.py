#!/usr/bin/python3
"""What `hotpath diff` says of stored runs, as a terminal shows it: docs/diff.png.

usage: diff_picture.py RUNS

RUNS is what `hotpath bench --save RUNS --against COMMAND ...` has kept. Needs tmux and chromium.
"""
import os
import sys
import time
from pathlib import Path

from terminal_picture import Terminal, draw

SOURCE = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 142, 10
LINE = "hotpath diff runs/now --against runs/before"


def main():
    runs = Path(sys.argv[1]).resolve()
    path = "%s:%s" % (SOURCE / "build/release/bin", os.environ["PATH"])
    script = f"cd '{runs.parent}'; echo '$ {LINE}'; PATH='{path}' {LINE}; sleep 60"
    with Terminal(COLUMNS, ROWS, "sh", "-c", script) as terminal:
        time.sleep(3)
        draw(terminal.screen("-e").rstrip("\n"), COLUMNS, ROWS, SOURCE / "docs/diff.png")


main()
