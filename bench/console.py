"""What the console costs: its own CPU time for a refresh of a large session, and the slowdown of the watched
program."""
import os
import re
import resource
import subprocess
import tempfile

THREADS, CALLS = 200, 20
REFRESHES = 40
REFRESH_MUST_MS = 30
TURNS = 7
REPEATS = "20000000"  # two or three seconds
WATCHED_MUST = 1.005


def environment(folder, **variables):
    return dict(os.environ, HOTPATH_DIR=folder, HOTPATH_MAX_BYTES="1g", XDG_CONFIG_HOME=folder, LC_ALL="C.UTF-8", **variables)


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def play(build, folder, script, program):
    """Seconds of CPU time."""
    before = children_s()
    subprocess.run([os.path.join(build, "bin", "hotpath"), "console", "--script", "-", program], input=script, text=True,
                   stdout=subprocess.DEVNULL, check=True, env=environment(folder))
    return children_s() - before


def refresh_ms(build, tab):
    """A live session of 1,024 functions on 200 threads whose CPU time is sampled."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        crowd = subprocess.Popen([os.path.join(build, "bin", "hotpath"), "run", "--format", "none", "--",
                                  os.path.join(build, "bench", "crowd"), str(THREADS), str(CALLS)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(folder))
        crowd.stdout.readline()
        few = play(build, folder, f"{tab} refresh 1", "crowd")
        many = play(build, folder, f"{tab} refresh {1 + REFRESHES}", "crowd")
        crowd.communicate("")
        return (many - few) / REFRESHES * 1e3


def work_ns(build, is_watched):
    """CPU time of a program under `hotpath run`, with a console that reads it ten times a second, or without."""
    hotpath = os.path.join(build, "bin", "hotpath")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        script = os.path.join(folder, "script")
        with open(script, "w") as file:
            file.write("2 wait 600000\n")
        work = subprocess.Popen([hotpath, "run", "--format", "none", "--", os.path.join(build, "bench", "trust_work"), "chain", REPEATS],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(folder))
        console = None
        while is_watched and console is None and work.poll() is None:
            console = subprocess.Popen([hotpath, "console", "--every", "0.1", "--script", script, "trust_work"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(folder))
            try:
                console.wait(0.2)
                console = None  # it started too early
            except subprocess.TimeoutExpired:
                pass
        text = work.communicate()[0]
        if console is not None:
            console.kill()
            console.wait()
    return float(re.findall(r"\d+", text)[0])


def rows(build, gate):
    found = [("what", "measured", "must", "verdict")]
    for tab, title in ((1, "overview"), (2, "functions")):
        ms = refresh_ms(build, tab)
        found.append((f"a refresh of 1,024 functions on {THREADS} threads, {title}", "%.1f ms" % ms, "%d ms" % REFRESH_MUST_MS,
                      gate.verdict("console: " + title, ms, REFRESH_MUST_MS, None)))
    plain, watched = [], []
    for _ in range(TURNS):
        plain.append(work_ns(build, False))
        watched.append(work_ns(build, True))
    ratio = sorted(watched)[TURNS // 2] / sorted(plain)[TURNS // 2]
    found.append(("a program that is watched, 10 refreshes a second", "%.4f" % ratio, "%g" % WATCHED_MUST,
                  gate.verdict("console: watched", ratio - 1, WATCHED_MUST - 1, None)))
    return found
