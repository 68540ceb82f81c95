"""What a program notices of being watched while it runs: by the console, and by a page that is served.

    watched.py BUILD [PAIRS, at least 2; 0: only what live stacks cost]

One run of the program with a watcher and one without make a pair; which of them comes first changes from pair to
pair. The ratio is taken within a pair, so that whatever else the machine does falls on both. The table has the
median of all pairs, the middle half, and the ratio of the fastest runs. The first row is two runs that nobody
watches: differences no larger than there are noise.

Live stacks of a program that knows nothing of hotpath, with some 5,000 nodes: the CPU time of `hotpath run` with a
console, minus that without one, as a share of a CPU; and how long the console takes to show a function."""
import contextlib
import http.client
import os
import statistics
import subprocess
import tempfile
import threading
import time
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


# ---------------------------------------------------------------------------------------------- live stacks

WARM_UP, STEADY = 12, 20  # seconds: until most paths have been seen, and those that are measured
NAMING_MUST, PICTURE_MUST = 1.0, 2.0


def used(pid):
    """Seconds of CPU time of a process."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_picture(hotpath, folder):
    """Seconds until a console that has just been started shows a function."""
    began = time.monotonic()
    viewer = subprocess.Popen([hotpath, "console", "--script", "-", "--size", "100x30", "many_paths"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=environment(folder))
    screen = ""
    while " parse " not in screen and time.monotonic() < began + 60:
        viewer.stdin.write("wait 20 refresh 1 screen\n" if screen else "2 screen\n")
        viewer.stdin.flush()
        screen = "".join(viewer.stdout.readline() for _ in range(30))
    return time.monotonic() - began, viewer


def observers_of(run):
    """`hotpath run` and its own processes, without the program."""
    with open(f"/proc/{run}/task/{run}/children") as file:
        return [run, *(pid for pid in map(int, file.read().split())
                       if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "hotpath")]


def nodes_of(hotpath, folder):
    """How many nodes the tree of its stacks has."""
    text = subprocess.run([hotpath, "export", "--format", "folded", "--of", "cpu", "many_paths"], check=True,
                          capture_output=True, text=True, env=environment(folder)).stdout
    stacks = [line.rsplit(" ", 1)[0].split(";") for line in text.splitlines()]
    return len({tuple(stack[:depth + 1]) for stack in stacks for depth in range(len(stack))})


def live_stacks(build):
    """(% of a CPU without a console, with one, seconds until the first picture, nodes)"""
    hotpath = os.path.join(build, "bin", "hotpath")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        program = subprocess.Popen([hotpath, "run", "--format", "none", "--",
                                    os.path.join(build, "bench", "many_paths"), str(WARM_UP + 2 * STEADY + 10)],
                                   stderr=subprocess.DEVNULL, env=environment(folder))
        time.sleep(WARM_UP)
        observers = observers_of(program.pid)

        def percent():
            before = sum(map(used, observers))
            time.sleep(STEADY)
            return 100 * (sum(map(used, observers)) - before) / STEADY
        alone = percent()
        took, viewer = first_picture(hotpath, folder)
        viewer.stdin.write("wait 600000\n")
        viewer.stdin.flush()
        watched = percent()
        viewer.kill()
        viewer.communicate()
        program.wait()
        return alone, watched, took, nodes_of(hotpath, folder)


def live_rows(build, gate):
    alone, watched, took, nodes = live_stacks(build)
    return [("live stacks of an unmodified program, %d nodes" % nodes, "measured", "must", "verdict"),
            ("naming, %% of a CPU (%.2f with a console, %.2f without)" % (watched, alone),
                    "%.2f" % (watched - alone),
             "%g" % NAMING_MUST, gate.verdict("watched: naming", watched - alone, NAMING_MUST, None)),
            ("until the console shows a function, s", "%.2f" % took, "%g" % PICTURE_MUST,
             gate.verdict("watched: first picture", took, PICTURE_MUST, None))]


def rows(build, gate, count=PAIRS):
    if count == 0:
        return live_rows(build, gate)
    return [("updated 10 times a second, relative to the same program without a viewer", "CPU time", "wall time",
             "CPU time must", "verdict"),
            row(build, None, "no viewer (noise of the machine)", nobody, count),
            row(build, gate, "hotpath console", console, count),
            row(build, gate, "hotpath serve, with one page", page, count)]


if __name__ == "__main__":
    standalone.main(__doc__, rows)
