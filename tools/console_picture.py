#!/usr/bin/python3
"""A picture of the console on `hotpath demo`, as a terminal shows it: docs/console.png.

usage: console_picture.py BUILD_DIR FILE.png [SECONDS [KEYS...]]

The program runs so long before the picture is taken, and gets the keys (as tmux names them) before that. Needs tmux and chromium.
"""
import html
import os
import re
import subprocess
import sys
import tempfile
import time

COLUMNS, ROWS = 100, 30
USUAL = {0: "#000000", 1: "#cc5555", 2: "#5fa35f", 3: "#c9a227", 4: "#5f87d7", 5: "#b05fb0", 6: "#3fafaf", 7: "#d0d0d0"}
INK, PAPER, DIM = "#d8dee4", "#0f1419", "#7d8790"
STYLE = f"""body {{ margin: 0; background: {PAPER}; }}
pre {{ margin: 14px 16px; color: {INK}; font: 15px/18px "DejaVu Sans Mono", monospace; }}
pre span {{ display: inline-block; height: 18px; vertical-align: top; }}"""


def colour(number):
    if number < 8:
        return USUAL[number]
    if number < 16:
        return USUAL[number - 8]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    steps = (0, 95, 135, 175, 215, 255)
    number -= 16
    return "#%02x%02x%02x" % (steps[number // 36], steps[number // 6 % 6], steps[number % 6])


class Look:
    def __init__(self):
        self.ink, self.is_bold, self.is_dim, self.is_reverse = None, False, False, False

    def take(self, numbers):
        numbers = [int(number or 0) for number in numbers]
        while numbers:
            code = numbers.pop(0)
            if code == 0:
                self.__init__()
            elif code in (1, 2, 7):
                setattr(self, {1: "is_bold", 2: "is_dim", 7: "is_reverse"}[code], True)
            elif code == 22:
                self.is_bold = self.is_dim = False
            elif code == 27:
                self.is_reverse = False
            elif code == 38:
                self.ink = colour(numbers[1])
                del numbers[:2]
            elif 30 <= code <= 37:
                self.ink = colour(code - 30)
            elif 90 <= code <= 97:
                self.ink = colour(code - 82)
            elif code == 39:
                self.ink = None

    def style(self):
        ink = self.ink or (DIM if self.is_dim else INK)
        colours = f"color: {PAPER}; background: {ink};" if self.is_reverse else f"color: {ink};"
        return colours + (" font-weight: bold;" if self.is_bold else "")


def page(screen):
    look, lines = Look(), []
    for line in screen.split("\n")[:ROWS]:
        parts, width = [], 0
        for numbers, text in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", line):
            if numbers or "\x1b" in line:
                look.take(numbers.split(";")) if numbers else None
            if text:
                parts.append(f'<span style="{look.style()}">{html.escape(text)}</span>')
                width += len(text)
        if look.is_reverse and width < COLUMNS:
            parts.append(f'<span style="{look.style()}">{" " * (COLUMNS - width)}</span>')
        lines.append("".join(parts))
    return f"<!DOCTYPE html><meta charset='utf-8'><style>{STYLE}</style><pre>" + "\n".join(lines) + "</pre>"


def capture(build, seconds, keys):
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "tmux")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "XDG_CONFIG_HOME": folder}
        tmux = ["tmux", "-u", "-S", socket, "-f", "/dev/null"]
        subprocess.run([*tmux, "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS),
                        os.path.join(os.path.abspath(build), "bin/hotpath"), "demo", "--seconds", "600"], env=environment, check=True)
        try:
            subprocess.run([*tmux, "resize-window", "-x", str(COLUMNS), "-y", str(ROWS)], check=True)
            time.sleep(seconds)
            for key in keys:
                subprocess.run([*tmux, "send-keys", key], check=True)
                time.sleep(0.5)
            time.sleep(2)
            return subprocess.run([*tmux, "capture-pane", "-p", "-e"], check=True, capture_output=True, text=True).stdout
        finally:
            subprocess.run([*tmux, "send-keys", "q"])
            time.sleep(1)
            subprocess.run([*tmux, "kill-server"], capture_output=True)


def main():
    build, picture = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 58
    screen = capture(build, seconds, sys.argv[4:])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "screen.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(screen))
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1",
                        f"--window-size={32 + 903},{28 + 18 * ROWS}", f"--screenshot={os.path.abspath(picture)}", f"file://{path}"],
                       check=True, capture_output=True)


main()
