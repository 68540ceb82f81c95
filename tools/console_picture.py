#!/usr/bin/python3
"""A picture of the console on `hotpath demo`, as a terminal shows it: docs/console.png.

usage: console_picture.py BUILD_DIR FILE.png [SECONDS [KEYS...]]

The program runs for SECONDS (default 58), gets the keys (as tmux names them), then the picture is taken. Needs tmux
and chromium.
"""
import os
import sys
import time

from terminal_picture import Terminal, draw

COLUMNS, ROWS = 100, 30


def main():
    build, picture = sys.argv[1:3]
    program = os.path.join(os.path.abspath(build), "bin/hotpath")
    with Terminal(COLUMNS, ROWS, program, "demo", "--seconds", "600") as terminal:
        time.sleep(float(sys.argv[3]) if len(sys.argv) > 3 else 58)
        for key in sys.argv[4:]:
            terminal.send(key)
            time.sleep(0.5)
        time.sleep(2)
        screen = terminal.screen("-e", "-N")
    draw(screen, COLUMNS, ROWS, picture)


main()
