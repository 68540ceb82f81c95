"""The screen of a terminal as a picture: runs a command in tmux, draws what `tmux capture-pane -e` gives as HTML,
and lets chromium take the screenshot. For console_picture.py and report_picture.py.
"""
import html
import os
import re
import subprocess
import tempfile
import time

CELL_WIDTH, CELL_HEIGHT = 9.03, 18
USUAL = {0: "#000000", 1: "#cc5555", 2: "#5fa35f", 3: "#c9a227", 4: "#5f87d7", 5: "#b05fb0", 6: "#3fafaf",
         7: "#d0d0d0"}
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


class Style:
    def __init__(self):
        self.ink, self.paper, self.is_bold, self.is_dim, self.is_reverse = None, None, False, False, False

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
            elif code == 48:
                self.paper = colour(numbers[1])
                del numbers[:2]
            elif 40 <= code <= 47:
                self.paper = colour(code - 40)
            elif code == 49:
                self.paper = None
            elif 30 <= code <= 37:
                self.ink = colour(code - 30)
            elif 90 <= code <= 97:
                self.ink = colour(code - 82)
            elif code == 39:
                self.ink = None

    def css(self):
        ink = self.ink or (DIM if self.is_dim else INK)
        paper = self.paper or PAPER
        if self.is_reverse:
            ink, paper = paper, ink
        colours = f"color: {ink};" if paper == PAPER else f"color: {ink}; background: {paper};"
        return colours + (" font-weight: bold;" if self.is_bold else "")


def page(screen, columns):
    style, lines = Style(), []
    for line in screen.split("\n"):
        parts, width = [], 0
        for numbers, text in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", line):
            if numbers or "\x1b" in line:
                style.take(numbers.split(";")) if numbers else None
            if text:
                parts.append(f'<span style="{style.css()}">{html.escape(text)}</span>')
                width += len(text)
        if style.is_reverse and width < columns:
            parts.append(f'<span style="{style.css()}">{" " * (columns - width)}</span>')
        lines.append("".join(parts))
    return f"<!DOCTYPE html><meta charset='utf-8'><style>{STYLE}</style><pre>" + "\n".join(lines) + "</pre>"


class Terminal:
    """A command in a terminal of its own. Used as a context, which ends it."""

    def __init__(self, columns, rows, *command):
        self.columns, self.rows, self.command = columns, rows, command

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tmux = ["tmux", "-u", "-S", os.path.join(self.folder.name, "tmux"), "-f", "/dev/null"]
        size = ["-x", str(self.columns), "-y", str(self.rows)]
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color",
                       "XDG_CONFIG_HOME": self.folder.name}
        subprocess.run([*self.tmux, "new-session", "-d", *size, *self.command], env=environment, check=True)
        subprocess.run([*self.tmux, "resize-window", *size], check=True)
        return self

    def send(self, key):
        subprocess.run([*self.tmux, "send-keys", key], check=True)

    def screen(self, *options):
        return subprocess.run([*self.tmux, "capture-pane", "-p", *options], check=True, capture_output=True,
                              text=True).stdout

    def __exit__(self, *_):
        subprocess.run([*self.tmux, "send-keys", "q"], capture_output=True)
        time.sleep(1)
        subprocess.run([*self.tmux, "kill-server"], capture_output=True)
        self.folder.cleanup()


def draw(screen, columns, rows, picture):
    """Writes the picture of a screen that was captured with -e."""
    lines = screen.split("\n")[:rows]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "screen.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(page("\n".join(lines), columns))
        size = f"{32 + round(CELL_WIDTH * columns)},{28 + CELL_HEIGHT * len(lines)}"
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--hide-scrollbars",
                        "--force-device-scale-factor=1", f"--window-size={size}",
                        f"--screenshot={os.path.abspath(picture)}", f"file://{path}"],
                       check=True, capture_output=True)
