"""A real terminal, with tmux."""
import re
import subprocess
import time

import pytest

from harness import TIMEOUT


class Terminal:
    """A shell in a terminal of a given size. `env` is its whole environment."""

    def __init__(self, box, columns, rows=60, env=None, command=("sh",)):
        self.socket = str(box.folder() / "tmux")
        env = {**(env or {}), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        # The prompt is set after the shell that tmux starts in between.
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "env", "PS1=ready$ ",
                  *command, env=env)
        # tmux 3.2 ignores -x and -y while no client is attached.
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        self.wait_for(r"^ready\$")

    def tmux(self, *arguments, env=None):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *arguments], capture_output=True, text=True,
                              env=env, timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        """With colours as escape sequences."""
        return self.tmux("capture-pane", "-p", "-e")

    def wait_for(self, pattern):
        """The screen, once it matches `pattern` (without colours, `.` is any character but a newline)."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            screen = self.screen()
            if re.search(pattern, plain(screen), re.M):
                return screen
            time.sleep(0.02)
        return pytest.fail(f"'{pattern}' never came; the screen:\n{screen}")

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)


def plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)
