"""Other profilers on the same loop (calls.c). Each is built and run here; reports which are not installed."""
import os
import re
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """Something that a peer needs is not installed."""


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Missing(program + " is not installed")


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          timeout=300, **options)
    if done.returncode != 0:
        raise Missing("%s failed: %s" % (command[0], done.stdout.strip().splitlines()[-1:]))
    return done.stdout


def build(folder, name, *flags):
    program = os.path.join(folder, name)
    include = os.path.join(HERE, "..", "..", "include")
    run([os.environ.get("CC", "cc"), "-O2", "-g", "-DHOTPATH", "-I" + include, "-I" + HERE,
         os.path.join(HERE, "calls.c"), "-o", program, *flags])
    return program


def result(text):
    """(nanoseconds per call, ratio to the floor) from the output of calls.c."""
    found = re.search(r"^call ([\d.]+) ns ([\d.]+)", text, re.M)
    if found is None:
        raise Missing("no result")
    return float(found.group(1)), float(found.group(2))


def gprof(folder):
    return result(run([build(folder, "calls_gprof", "-pg")], cwd=folder))


def uftrace(folder, flag):
    need("uftrace")
    program = build(folder, "calls_uftrace", flag)
    data = os.path.join(folder, "uftrace" + flag)
    return result(run(["uftrace", "record", "--no-pager", "--no-libcall", "-d", data, program], cwd=folder))


def lttng_daemon(environment):
    """Our own session daemon. Root's daemon uses a folder shared by all of root's processes: an existing one is not
    ours."""
    if os.geteuid() == 0 and os.path.exists("/var/run/lttng/client-lttng-sessiond"):
        if subprocess.run(["lttng", "list"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            raise Missing("another lttng-sessiond is running")
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    for _ in range(50):
        time.sleep(0.1)
        if subprocess.run(["lttng", "--no-sessiond", "list"], env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0:
            return daemon
    stop(daemon)
    raise Missing("lttng-sessiond does not answer")


def stop(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def lttng(folder):
    need("lttng", "lttng-sessiond")
    program = build(folder, "calls_lttng", "-DLTTNG", "-llttng-ust", "-ldl")
    home = os.path.join(folder, "lttng")
    os.mkdir(home)
    environment = dict(os.environ, LTTNG_HOME=home, LTTNG_UST_REGISTER_TIMEOUT="3000")
    daemon = lttng_daemon(environment)
    try:
        for command in (["create", "hotpath-bench", "--output=" + os.path.join(home, "trace")],
                        ["enable-event", "--userspace", "hotpath_bench:*"], ["start"]):
            run(["lttng", "--no-sessiond"] + command, env=environment)
        text = run([program], env=environment)
        run(["lttng", "--no-sessiond", "destroy", "hotpath-bench"], env=environment)
        return result(text)
    finally:
        stop(daemon)


PEERS = (
    ("gprof (-pg): counts calls, no time per call", gprof),
    ("uftrace, -pg", lambda folder: uftrace(folder, "-pg")),
    ("uftrace, -finstrument-functions", lambda folder: uftrace(folder, "-finstrument-functions")),
    ("LTTng-UST, two tracepoints", lttng),
)


def measure():
    """Yields (name, (ns, ratio) or None, why not)."""
    for name, peer in PEERS:
        with tempfile.TemporaryDirectory(prefix="hotpath-bench-") as folder:
            try:
                yield name, peer(folder), ""
            except (Missing, OSError, subprocess.TimeoutExpired) as problem:
                yield name, None, str(problem)
