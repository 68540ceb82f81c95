"""What a program notices of being watched while it runs: by the console, and by a page that is served.

    watched.py BUILD [PAIRS, at least 2]

One run of the program with a watcher and one without make a pair; which of them comes first changes from pair to
pair. The ratio is taken within a pair, so that whatever else the machine does falls on both. The table has the
median of all pairs, the middle half, and the ratio of the fastest runs. The first row is two runs that nobody
watches: differences no larger than there are noise."""
import contextlib
import http.client
import os
import statistics
import subprocess
import tempfile
import threading
import urllib.parse

import standalone

PAIRS = 11
REPEATS = "20000000"  # two or three seconds
MUST = 1.005
EVERY = "0.1"


def environment(folder, **variables):
    return dict(os.environ, HOTPATH_DIR=folder, HOTPATH_MAX_BYTES="1g", XDG_CONFIG_HOME=folder, LC_ALL="C.UTF-8",
                **variables)


# ------------------------------------------------------------------------------------------------ watchers

@contextlib.contextmanager
def nobody(hotpath, folder):
    yield lambda work: None


@contextlib.contextmanager
def console(hotpath, folder):
    """A console on the table of functions, as soon as there is a session to look at."""
    script = os.path.join(folder, "script")
    with open(script, "w") as file:
        file.write("2 wait 600000\n")
    started = []

    def start(work):
        while work.poll() is None:
            started.append(subprocess.Popen([hotpath, "console", "--every", EVERY, "--script", script,
                                             "trust_work"], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            env=environment(folder)))
            try:
                started[-1].wait(0.2)  # it came too early
            except subprocess.TimeoutExpired:
                return
    yield start
    if started[-1].poll() is not None:
        raise SystemExit("the console ended before the program")
    started[-1].kill()
    started[-1].wait()


class Page(threading.Thread):
    """What the script of a page does: it fetches the data whenever the server says that there is something new."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.parts = urllib.parse.urlsplit(address)
        self.fetched = self.size = 0

    def ask(self, path):
        connection = http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=60)
        connection.request("GET", f"{path}?{self.parts.query}")
        return connection.getresponse()

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException):  # the server has ended
            while True:
                for line in self.ask("/events"):
                    if line.startswith(b"event: report"):
                        self.size = len(self.ask("/page.json").read())
                        self.fetched += 1


@contextlib.contextmanager
def page(hotpath, folder):
    """A server and one page that it serves; the newest session is the program's."""
    server = subprocess.Popen([hotpath, "serve", "--port", "0", "--every", EVERY], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, env=environment(folder))
    reader = Page(server.stdout.readline().strip())
    yield lambda work: reader.start()
    server.kill()
    server.wait()
    server.stdout.close()
    if reader.fetched < 5:
        raise SystemExit(f"the page was fetched {reader.fetched} times")


# -------------------------------------------------------------------------------------------------- pairs

def run(build, watcher):
    """Nanoseconds of a program under `hotpath run`: processor time, and time that has passed."""
    hotpath = os.path.join(build, "bin", "hotpath")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, watcher(hotpath, folder) as start:
        work = subprocess.Popen([hotpath, "run", "--format", "none", "--",
                                 os.path.join(build, "bench", "trust_work"), "chain", REPEATS],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                env=environment(folder))
        start(work)
        return [float(number) for number in work.communicate()[0].split()]


def pairs(build, watcher, count):
    """[(plain, watched), ...], each of them as run() returns it."""
    found = []
    for turn in range(count):
        if turn % 2 == 0:
            plain = run(build, nobody)
        watched = run(build, watcher)
        if turn % 2 == 1:
            plain = run(build, nobody)
        found.append((plain, watched))
    return found


def row(build, gate, title, watcher, count):
    found = pairs(build, watcher, count)
    cells = []
    for at in range(2):
        ratios = [watched[at] / plain[at] for plain, watched in found]
        low, middle, high = statistics.quantiles(ratios, n=4)
        least = min(watched[at] for _, watched in found) / min(plain[at] for plain, _ in found)
        cells.append((middle, "%.4f (%.4f .. %.4f), least %.4f" % (middle, low, high, least)))
    if gate is None:
        return (title, cells[0][1], cells[1][1], "", "")
    return (title, cells[0][1], cells[1][1], "%g" % MUST,
            gate.verdict("watched: " + title, cells[0][0] - 1, MUST - 1, None))


def rows(build, gate, count=PAIRS):
    return [("updated 10 times a second, relative to the same program without a viewer", "CPU time", "wall time",
             "CPU time must", "verdict"),
            row(build, None, "no viewer (noise of the machine)", nobody, count),
            row(build, gate, "hotpath console", console, count),
            row(build, gate, "hotpath serve, with one page", page, count)]


if __name__ == "__main__":
    standalone.main(__doc__, rows)
