"""hotpath stacks: what every thread of a process does now, with known threads."""
import collections
import json
import os
import pathlib
import platform
import pwd
import shutil
import signal
import socket
import subprocess
import time

import pytest

import exported
from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import (HOTPATH, IS_ROOT, PROGRAMS, SOURCE, TIMEOUT, WITHOUT_PERF, full, perf_is_allowed,
                     processes_may_be_read, with_glibc, without_emulator, without_sanitizer)

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                                 reason="stacks of this machine cannot be unwound"),
              pytest.mark.skipif(not processes_may_be_read(),
                                 reason="processes of others may not be looked at here")]
needs_perf = pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")

MEASURED, PLAIN = PROGRAMS / "standing", PROGRAMS / "standing_off"
SCHEMA = json.loads((SOURCE / "docs" / "stacks.schema.json").read_text())
CAUSES = {"on_lock": "lock", "on_condition": "condition", "on_sleep": "sleep", "on_poll": "poll", "on_read": "pipe"}


@pytest.fixture
def start(cli):
    """Starts a program that says when it is ready, and ends it."""
    started = []

    def run(*args, env=None, **popen):
        process = subprocess.Popen([str(arg) for arg in args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env=cli.environment(env), **popen)
        started.append(process)
        process.ready = process.stdout.readline().split()
        assert process.ready[:1] == ["ready"]
        return process
    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def settle(process, running=0):
    """All threads but so many are in a system call. -1 is none: a thread that waits for a page is not there yet."""
    def is_so():
        tasks = os.listdir(f"/proc/{process.pid}/task")
        calls = [pathlib.Path(f"/proc/{process.pid}/task/{task}/syscall").read_text() for task in tasks]
        return sum(call.startswith(("running", "-1")) for call in calls) <= running
    wait_until(is_so)


def follows_the_schema(values):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(values, SCHEMA)


def read(cli, *args, **how):
    done = cli("stacks", "--format", "json", *args, **how)
    values = json.loads(done.stdout)
    follows_the_schema(values)
    values["stderr"] = done.stderr
    for process in values["processes"]:
        count = collections.Counter()
        for group in process["groups"]:
            count[group["state"]] += len(group["threads"])
            group["functions"] = [frame["function"] for frame in group["stack"]]
        assert sum(count.values()) == process["thread_count"]
        assert (count["running"], count["waiting"]) == (process["running"], process["waiting"])
    return values


def groups_in(process, function):
    """Those that have it in their stacks, the largest first."""
    found = [group for group in process["groups"] if function in group["functions"]]
    return sorted(found, key=lambda group: -len(group["threads"]))


def test_what_each_thread_waits_for(cli, start):
    program = start(PLAIN, "each", 3)
    settle(program)
    values = read(cli, program.pid)
    process = values["processes"][0]
    assert len(values["processes"]) == 1 and process["name"] == "standing_off"
    assert (process["thread_count"], process["running"]) == (3 * len(CAUSES) + 3, 0)
    for function, cause in CAUSES.items():
        group = groups_in(process, function)[0]
        assert (group["cause"], len(group["threads"]), group["complete"]) == (cause, 3, True), group
        assert group["functions"].index("begin") == group["functions"].index(function) + 1
        assert group["zone"] is None and group["task"] is None
    assert process["command"] == f"{PLAIN} each 3"
    assert values["stderr"] == ""


def test_who_holds_what(cli, start):
    program = start(PLAIN, "each", 2)
    settle(program)
    process = read(cli, program.pid)["processes"][0]
    holder, = groups_in(process, "hold_lock")
    lock, = groups_in(process, "on_lock")
    assert lock["holder"] == {"tid": holder["threads"][0]["tid"], "name": "standing_off", "state": "waiting",
                              "cause": "sleep"}
    assert {group["other_end"]["pid"] for group in groups_in(process, "on_read")} == {program.pid}
    main, = groups_in(process, "main")
    assert main["cause"] == "pipe" and main["other_end"]["pid"] == os.getpid()
    assert [thread["tid"] for thread in main["threads"]] == [program.pid]
    text = cli("stacks", program.pid).stdout
    assert (f"waiting for a lock held by thread {holder['threads'][0]['tid']} standing_off, which is sleeping\n"
            in text)


def test_other_end_among_many_processes(cli, start):
    """All processes of the machine are searched: this one is older than those that sleep."""
    program = start(PLAIN, "each", 1)
    sleepers = [subprocess.Popen(["sleep", "600"]) for _ in range(80)]
    settle(program)
    main, = groups_in(read(cli, program.pid)["processes"][0], "main")
    for sleeper in sleepers:
        sleeper.kill()
        sleeper.wait()
    assert main["other_end"]["pid"] == os.getpid()


def test_recursion_is_one_line(cli, start):
    program = start(PLAIN, "each", 1)
    settle(program)
    process = read(cli, program.pid)["processes"][0]
    deep, = groups_in(process, "descend")
    frame, = [frame for frame in deep["stack"] if frame["function"] == "descend"]
    assert frame["times"] == 7 and deep["functions"][deep["functions"].index("descend") + 1] == "to_the_ground"
    assert "    descend (7 times) " in cli("stacks", program.pid).stdout


@needs_perf
def test_running_threads(cli, start):
    program = start(PLAIN, "busy", 1)
    settle(program, 2)
    values = {}

    def both_are_sampled():
        """On a busy machine a thread may get no CPU meanwhile."""
        values.update(read(cli, program.pid))
        assert values["running_stacks_by"] == "perf" and values["processes"][0]["running"] == 2
        return all(group["stack"] for group in values["processes"][0]["groups"])
    wait_until(both_are_sampled)
    process = values["processes"][0]
    for function in ("spin_here", "spin_there"):
        group, = groups_in(process, function)
        assert group["state"] == "running" and len(group["threads"]) == 1 and group["samples"] > 0
        assert group["functions"][:2] == ["compute", function]
    assert [group["state"] for group in process["groups"][:3]] == ["running", "running", "waiting"]
    assert groups_in(process, "on_lock") == [process["groups"][2]]  # a resource is missing


def test_zones_and_tasks(cli, start):
    program = start(MEASURED, "busy", 2, env={"HOTPATH": "1"})
    settle(program, 2)
    process = read(cli)["processes"][0]  # the newest measured program
    assert process["pid"] == program.pid
    for function, cause in CAUSES.items():
        assert groups_in(process, function)[0]["zone"] == function
    running = {(group["zone"], group["task"]) for group in process["groups"] if group["state"] == "running"}
    assert running == {("spin_here", None), ("turning", "turning")}
    text = cli("stacks", "standing").stdout
    assert "\n    in zone on_condition\n" in text and "\n    in task turning\n" in text


def test_perf_refused(cli, start):
    program = start(PLAIN, "busy", 1)
    settle(program, 2)
    cli.before = WITHOUT_PERF
    values = read(cli, program.pid)
    assert values["running_stacks_by"] is None
    assert values["stderr"].startswith("hotpath: running threads cannot be sampled: ")
    process = values["processes"][0]
    running, = [group for group in process["groups"] if group["state"] == "running"]
    assert len(running["threads"]) == 2 and running["stack"] == []
    assert running["why_no_stack"] == "running threads cannot be sampled"
    assert groups_in(process, "on_lock")[0]["cause"] == "lock"


def test_perf_refused_in_a_run(cli):
    """The run takes samples inside the program: they are read, too, and the run still has all of them."""
    cli.before = WITHOUT_PERF
    run = cli.start("run", "--format", "json", "--section", "functions", PLAIN, "busy", 1, stdin=subprocess.PIPE)
    program = []

    def has_begun():
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        program[:] = [child for child in children
                      if pathlib.Path(f"/proc/{child}/comm").read_text().startswith("standing") and
                      len(os.listdir(f"/proc/{child}/task")) >= 10]
        return program
    wait_until(has_begun)
    seen = set()

    def both_are_seen():
        values = read(cli, program[0])
        assert values["running_stacks_by"] == "program"
        for group in values["processes"][0]["groups"]:
            if group["state"] == "running" and "compute" in group["functions"]:
                seen.update({"spin_here", "spin_there"} & set(group["functions"]))
        return len(seen) == 2
    wait_until(both_are_seen)
    run.communicate("", timeout=TIMEOUT)
    assert run.returncode == 0
    # Of a few samples, the section `functions` lists only the functions that ran themselves, without their callers.
    stacks = exported.folded(cli("export", "--format", "folded", "--of", "cpu").stdout)
    assert {"spin_here", "spin_there"} <= {name for names, _ in stacks for name in names}


def test_children(cli, start):
    program = start(PLAIN, "parent")
    settle(program)
    child = int(program.ready[1])
    wait_until(lambda: pathlib.Path(f"/proc/{child}/syscall").read_text().startswith(("0 ", "63 ")))
    assert [process["pid"] for process in read(cli, program.pid)["processes"]] == [program.pid]
    processes = {process["pid"]: process for process in read(cli, "-r", program.pid)["processes"]}
    assert set(processes) == {program.pid, child}
    reader, = groups_in(processes[child], "on_read")
    assert reader["other_end"] == {"pid": program.pid, "name": "standing_off"}


def test_names_that_several_processes_have(cli, start):
    first, second = start(PLAIN, "each", 1), start(PLAIN, "each", 1)
    done = cli("stacks", "standing_off", status=2)
    assert done.stdout == "" and all(f"  {process.pid}  {PLAIN} each 1\n" in done.stderr
                                     for process in (first, second))
    second.kill()
    second.wait()
    settle(first)
    assert read(cli, "standing_off")["processes"][0]["pid"] == first.pid


@needs_perf
def test_threads_that_come_and_go(cli, start):
    program = start(PLAIN, "come")
    for _ in range(10):
        process = read(cli, program.pid)["processes"][0]
        assert process["thread_count"] >= 1
        assert any(thread["tid"] == program.pid for group in process["groups"] for thread in group["threads"])
    assert program.poll() is None


@pytest.mark.parametrize("way", ["plain", "measured"])
def test_killed_while_it_is_read(cli, start, way):
    for delay in range(0, 60, 6):
        program = start(*((PLAIN,) if way == "plain" else (MEASURED,)), "busy", 2, env={"HOTPATH": "1"})
        reading = cli.start("stacks", "-f", "json", program.pid)
        time.sleep(delay / 1000)
        program.kill()
        stdout, stderr = reading.communicate(timeout=TIMEOUT)
        assert reading.returncode in (0, 1), stderr
        if reading.returncode == 0:
            follows_the_schema(json.loads(stdout))
        else:
            assert stderr.startswith("hotpath: ") and str(program.pid) in stderr


def test_a_stopped_process(cli, start):
    program = start(PLAIN, "each", 1)
    settle(program)
    os.kill(program.pid, signal.SIGSTOP)
    wait_until(lambda: pathlib.Path(f"/proc/{program.pid}/stat").read_text().split()[2] == "T")
    process = read(cli, program.pid)["processes"][0]
    assert {group["cause"] for group in process["groups"]} == {"stopped"}
    os.kill(program.pid, signal.SIGCONT)


def test_it_is_not_changed(cli, start):
    """No thread is stopped, none gets a signal, and none runs because of it."""
    def switches(program):
        status = [pathlib.Path(f"/proc/{program.pid}/task/{task}/status").read_text()
                  for task in sorted(os.listdir(f"/proc/{program.pid}/task"))]
        return [[line for line in text.splitlines() if "ctxt" in line or line[:6] in ("SigPnd", "ShdPnd")]
                for text in status]
    program = start(PLAIN, "each", 4)
    settle(program)
    before = switches(program)
    read(cli, program.pid)
    assert switches(program) == before


def test_errors(cli):
    gone = subprocess.Popen(["true"])
    wait_until(lambda: pathlib.Path(f"/proc/{gone.pid}/stat").read_text().split()[2] == "Z")
    assert "is a zombie" in cli("stacks", gone.pid, status=1).stderr
    gone.wait()
    assert cli("stacks", gone.pid, status=1).stderr == f"hotpath: there is no process {gone.pid}\n"
    assert "there is no process 'no such'" in cli("stacks", "no such", status=1).stderr
    if pathlib.Path("/proc/2/comm").exists() and pathlib.Path("/proc/2/comm").read_text() == "kthreadd\n":
        assert "is a thread of the kernel" in cli("stacks", 2, status=1).stderr
    for args, word in (((), "no measured program runs"), (("0",), "is not a process id"),
                       (("--format", "xml", "1"), "is not text or json"), (("1", "2"), "unexpected argument '2'")):
        assert word in cli("stacks", *args, status=2).stderr


@pytest.mark.skipif(not IS_ROOT, reason="only root can be somebody else")
def test_a_process_of_another_user(cli, start):
    program = start(PLAIN, "each", 1)
    nobody = pwd.getpwnam("nobody").pw_uid
    cli.box.path.chmod(0o711)
    os.chown(cli.folder, nobody, -1)
    cli.program = cli.box.for_everyone(HOTPATH)
    done = cli("stacks", program.pid, status=1, user=nobody)
    assert done.stdout == ""
    assert done.stderr == (f"hotpath: its stacks cannot be read: process {program.pid} belongs to another user; "
                           "use sudo\n")


# ------------------------------------------------------------------------- programs that know nothing of hotpath

def need(program):
    return shutil.which(program, path="/usr/bin:/usr/local/bin:/bin") or pytest.skip(f"{program} is not installed")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def tasks_of(pid):
    return sorted(map(int, os.listdir(f"/proc/{pid}/task")))


def switches_of_waiting(process):
    """How often the threads of that report that wait were stopped or went to wait, until now."""
    counts = {}
    for group in process["groups"]:
        for thread in group["threads"] if group["state"] == "waiting" else []:
            text = pathlib.Path(f"/proc/{process['pid']}/task/{thread['tid']}/status").read_text()
            counts[thread["tid"]] = [line for line in text.splitlines() if "ctxt" in line or line[:6] == "SigPnd"]
    return counts


def look(cli, pid, enough, undisturbed=()):
    """What is seen of a program that goes on, once `enough`: with each of its threads, equal stacks
    together, and no
    thread in `undisturbed` ran because of it."""
    seen = {}

    def is_enough():
        before = tasks_of(pid)
        process = read(cli, pid)["processes"][0]
        if before != tasks_of(pid):
            return False  # threads came or went
        threads = [thread["tid"] for group in process["groups"] for thread in group["threads"]]
        assert sorted(threads) == before
        stacks = [json.dumps({**group, "threads": None, "samples": None}) for group in process["groups"]]
        assert len(set(stacks)) == len(stacks)
        seen.update(process=process)
        return enough(process)
    wait_until(is_enough)
    process = seen["process"]
    counted = switches_of_waiting(process)
    read(cli, pid)
    after = switches_of_waiting(process)
    for group in process["groups"]:
        if any(function in group["functions"] for function in undisturbed):
            assert all(counted[thread["tid"]] == after[thread["tid"]] for thread in group["threads"]), group
    return process


def states_of(process, function):
    """{(state, cause): threads} of all that have it in their stacks."""
    count = collections.Counter()
    for group in groups_in(process, function):
        count[group["state"], group.get("cause")] += len(group["threads"])
    return dict(count)


@full
@needs_perf
def test_redis_under_load(cli):
    server = need("redis-server")
    port = str(free_port())
    program = subprocess.Popen([server, "--port", port, "--save", "", "--io-threads", "2", "--dir",
            str(cli.folder)],
                               stdout=subprocess.DEVNULL)
    load = None
    try:
        wait_until(lambda: subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True,
                                          check=False).stdout == b"PONG\n")
        idle = look(cli, program.pid, lambda process: process["running"] == 0, ["bioProcessBackgroundJobs"])
        assert states_of(idle, "bioProcessBackgroundJobs") == {("waiting", "condition"): 3}
        assert states_of(idle, "IOThreadMain") == {("waiting", "lock"): 1}
        assert states_of(idle, "aeMain") == {("waiting", "poll"): 1}
        load = subprocess.Popen(["redis-benchmark", "-p", port, "-q", "-c", "20", "-n", "100000000", "-t",
                "set,get"],
                                stdout=subprocess.DEVNULL)
        busy = look(cli, program.pid, lambda process: any(
            group["state"] == "running" and "aeMain" in group["functions"] and
            {"beforeSleep", "readQueryFromClient", "processCommand"} & set(group["functions"])
            for group in process["groups"]), ["bioProcessBackgroundJobs"])
        assert states_of(busy, "bioProcessBackgroundJobs") == {("waiting", "condition"): 3}
        assert program.poll() is None
    finally:
        for process in filter(None, (load, program)):
            process.terminate()
            process.wait()


@full
@needs_perf
@pytest.mark.skipif(not IS_ROOT, reason="it must not be root, and its data belong to its user")
def test_postgres_under_load(cli):
    """The server, and with -r all its processes; each waits for what it is known to wait for."""
    folder = pathlib.Path(need("postgres")).resolve().parent
    nobody = pwd.getpwnam("nobody")
    data = cli.box.folder()
    cli.box.path.chmod(0o711)
    os.chown(data, nobody.pw_uid, -1)
    as_user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": data,
               "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": {"PATH":
               f"{folder}:/usr/bin:/bin"}}
    subprocess.run([folder / "initdb", "-N", "-A", "trust", "-D", data / "db"], check=True, **as_user)
    port = str(free_port())
    server = subprocess.Popen([folder / "postgres", "-D", data / "db", "-p", port, "-k", data, "-h", ""], **as_user)
    load = None
    try:
        psql = [folder / "psql", "-h", data, "-p", port, "-d", "postgres", "-c"]
        wait_until(lambda: subprocess.run([*psql, "select 1"], check=False, **as_user).returncode == 0)
        load = subprocess.Popen([*psql, "select sum(a * b % 7) from generate_series(1, 20000) a, "
                                 "generate_series(1, 20000) b"], **as_user)
        values = {}

        def is_at_work():
            values.update({process["pid"]: process for process in read(cli, "-r", server.pid)["processes"]})
            return any(groups_in(process, "ExecutePlan") or groups_in(process, "standard_ExecutorRun")
                       for process in values.values() if process["running"])
        wait_until(is_at_work)
        assert all(process["thread_count"] <= 1 for process in values.values()) and len(values) >= 6
        main, = groups_in(values[server.pid], "PostmasterMain")
        assert main["cause"] == "poll"
        writer, = [group for process in values.values() for group in groups_in(process, "WalWriterMain")]
        assert (writer["cause"], writer["functions"][0]) == ("poll", "epoll_wait")
        backend = next(process for process in values.values()
                       if process["running"] and groups_in(process, "PostgresMain"))
        assert backend["groups"][0]["functions"][-1] == "_start" and server.poll() is None
    finally:
        if load is not None:
            load.kill()
            load.wait()
        server.send_signal(signal.SIGINT)
        server.wait()


PYTHON = """
import threading, time
lock = threading.Lock()
lock.acquire()
def compute():
    while True: sum(range(1000))
for wait in (lock.acquire, lock.acquire, lambda: time.sleep(600)): threading.Thread(target=wait,
        daemon=True).start()
print("ready", flush=True)
compute()
"""


@full
@needs_perf
def test_python(cli, start):
    program = start(need("python3"), "-c", PYTHON)
    process = look(cli, program.pid, lambda process: process["running"] == 1 and process["groups"][0]["stack"],
                   ["PyThread_acquire_lock_timed", "clock_nanosleep"])
    assert process["thread_count"] == 4 and "_PyEval_EvalFrameDefault" in process["groups"][0]["functions"]
    assert process["groups"][0]["functions"][-1] == "_start"
    assert states_of(process, "PyThread_acquire_lock_timed") == {("waiting", "semaphore"): 2}
    assert states_of(process, "clock_nanosleep") == {("waiting", "sleep"): 1}


NODE = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
console.log("ready");
setTimeout(() => { for (;;) fib(25); }, 1);
"""


@full
@needs_perf
def test_node(cli, start):
    """Functions of JavaScript by the map that node writes for perf."""
    script = cli.folder / "spin.js"
    script.write_text(NODE)
    program = start(need("node"), "--perf-basic-prof", script, cwd=cli.folder)
    try:
        process = look(cli, program.pid, lambda process: any(
            "fib " in function for group in process["groups"] for function in group["functions"]),
            ["uv_cond_wait", "uv_sem_wait"])
        main = process["groups"][0]
        assert (main["state"], main["threads"][0]["tid"]) == ("running", program.pid)
        fib, = [frame for frame in main["stack"] if "fib " in frame["function"]]
        assert fib["function"].startswith("JS:") and f"{script}:2:" in fib["function"] and fib["times"] > 5
        assert {"uv_run", "node::Start(int, char**)", "_start"} & set(main["functions"])
        assert states_of(process, "uv_cond_wait") == {("waiting", "condition"): 4}
        assert ("waiting", "semaphore") in states_of(process, "uv_sem_wait")
    finally:
        pathlib.Path(f"/tmp/perf-{program.pid}.map").unlink(missing_ok=True)


JAVA = """
public class Spin {
    static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] args) throws Exception {
        final Object lock = new Object();
        for (int i = 0; i < 3; i++) {
            Thread waiter = new Thread(() -> {
                synchronized (lock) { try { lock.wait(); } catch (InterruptedException e) { } } }, "waiter");
            waiter.setDaemon(true);
            waiter.start();
        }
        System.out.println("ready");
        for (;;) fib(25);
    }
}
"""


@full
@needs_perf
def test_java(cli, start):
    """Its threads by name; functions of Java by the map that it writes for perf when it is asked."""
    source = cli.folder / "Spin.java"
    source.write_text(JAVA)
    program = start(need("java"), "-XX:+PreserveFramePointer", source, cwd=cli.folder)
    try:
        process = look(cli, program.pid, lambda process: process["running"] >= 1 and
                       process["groups"][0]["stack"] and
                       states_of(process, "JVM_MonitorWait").get(("waiting", "condition"), 0) >= 3,
                       ["GangWorker::loop"])
        waiters = [thread for group in groups_in(process, "JVM_MonitorWait") for thread in group["threads"]
                   if thread["name"] == "waiter"]
        assert len(waiters) == 3 and states_of(process, "GangWorker::loop").keys() == {("waiting", "semaphore")}
        main = next(group for group in process["groups"]
                    if program.pid in [thread["tid"] for thread in group["threads"]])
        assert main["cause"] == "thread" and main["holder"]["tid"] in tasks_of(program.pid)
        if not shutil.which("jcmd"):
            pytest.skip("the rest needs jcmd, of a JDK")
        subprocess.run(["jcmd", str(program.pid), "Compiler.perfmap"], check=True, stdout=subprocess.DEVNULL,
                       timeout=TIMEOUT)
        look(cli, program.pid, lambda process: any("fib" in function for group in process["groups"]
                                                   for function in group["functions"]))
    finally:
        pathlib.Path(f"/tmp/perf-{program.pid}.map").unlink(missing_ok=True)
