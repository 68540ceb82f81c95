"""What the console costs itself: a refresh of a large session. What the watched program notices is in
watched.py."""
import os
import resource
import subprocess
import tempfile

from watched import environment

THREADS, CALLS = 200, 20
REFRESHES = 40
REFRESH_MUST_MS = 30


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def play(build, folder, script, program):
    """Seconds of CPU time."""
    before = children_s()
    subprocess.run([os.path.join(build, "bin", "hotpath"), "console", "--script", "-", program], input=script,
                   text=True, stdout=subprocess.DEVNULL, check=True, env=environment(folder))
    return children_s() - before


def refresh_ms(build, tab):
    """A live session of 1,024 functions on 200 threads whose CPU time is sampled."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        crowd = subprocess.Popen([os.path.join(build, "bin", "hotpath"), "run", "--format", "none", "--",
                                  os.path.join(build, "bench", "crowd"), str(THREADS), str(CALLS)],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 text=True, env=environment(folder))
        crowd.stdout.readline()
        few = play(build, folder, f"{tab} refresh 1", "crowd")
        many = play(build, folder, f"{tab} refresh {1 + REFRESHES}", "crowd")
        crowd.communicate("")
        return (many - few) / REFRESHES * 1e3


def rows(build, gate):
    found = [("what", "measured", "must", "verdict")]
    for tab, title in ((1, "overview"), (2, "functions")):
        ms = refresh_ms(build, tab)
        found.append((f"a refresh of 1,024 functions on {THREADS} threads, {title}", "%.1f ms" % ms,
                      "%d ms" % REFRESH_MUST_MS, gate.verdict("console: " + title, ms, REFRESH_MUST_MS, None)))
    return found
