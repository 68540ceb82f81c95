"""Every process of a run is in its report: those that are forked, executed or started by a shell, by programs that
know nothing of hotpath; and processes that could not be followed are named."""
import os
import shutil
import signal
import stat
import subprocess
import sys

import pytest

import headlines
from command import Cli
from harness import (IS_ROOT, PROGRAMS, WITHOUT_PERF, between, full, needs_root, perf_is_allowed, with_glibc,
                     without_emulator, without_sanitizer)

pytestmark = [without_emulator("/proc shows the emulator"), with_glibc("the programs of this machine have it"),
              without_sanitizer("the library of such a build can be preloaded into nothing else")]

KIN = PROGRAMS / "kin"
STATIC = PROGRAMS / "kin_static"
MS = 1_000_000
told_by_the_kernel = pytest.mark.skipif(not perf_is_allowed(),
                                        reason="who is short is only seen where perf is allowed")


class Kin(Cli):
    """Knows what the programs of a run used by their own clocks."""

    def run(self, *args, **more):
        file = self.folder / "burned"
        file.write_text("")
        file.chmod(0o666)
        done = super().run(*args, **more)
        told = [line.split() for line in file.read_text().splitlines()]
        done.burned = {(int(pid), int(ms)): float(burned) * MS for pid, ms, burned in told}
        return done


@pytest.fixture
def cli(box):
    return Kin(box)


def rows(done, program=None):
    return [row for row in done.report.rows("processes") if program is None or
            str(program) in row.command.split()[:1]]


def pids(found):
    return {row.pid for row in found}


def total(done):
    return sum(row.cpu_ns for row in done.report.rows("cpu"))


def used(done, row, ms, is_told=perf_is_allowed()):
    """By its own clock. What it used before and after comes on top; without kernel events, the last of it is
    missed."""
    burned = done.burned.get((row.pid, ms), 0)
    return burned > 0 and between(burned * (0.85 if is_told else 0.3), row.cpu_ns, burned * 1.15 + 20 * MS)


def used_in_all(done, least_ms, slack_ms):
    """All of them, plus the shells and the starts and ends of programs."""
    burned = sum(done.burned.values())
    return burned >= least_ms * MS and between(burned * 0.85, total(done), burned + slack_ms * MS)


def processes(done):
    return done.report.values["meta"]["processes"]


def outside(done):
    return [row for row in rows(done) if row.state == "outside"]


# --------------------------------------------------------------------------------------------------------- followed

def test_forked_children_without_zones(cli):
    done = cli.run(KIN, "fork", 3, 100)
    assert processes(done) == 4 and len(rows(done, KIN)) == 4 and len(pids(rows(done))) == 4
    parent = min(rows(done), key=lambda row: row.started_ns)
    for row in rows(done):
        assert row.pid == parent.pid or (used(done, row, 100) and row.parent_pid == parent.pid and
                                         row.elapsed_ns >= 85 * MS)
    assert used_in_all(done, 300, 105)
    allocated = next(row for row in done.report.rows("alloc-bytes") if row.name == "<outside>")
    assert allocated.total_bytes >= 3 * 100 * 1000
    assert done.report.lost == {}


def test_program_after_exec_is_watched(cli):
    """Both sessions look alive, and the earlier one may be found last."""
    done = cli.run("sh", "-c", f"exec {KIN} burn 300")
    row, = rows(done, KIN)
    threads = [thread for thread in done.report.rows("threads") if thread.pid == row.pid and thread.lived_ns]
    assert row.unwatched is None and sum(thread.cpu_ns for thread in threads) >= 150 * MS


def test_time_in_which_anything_worked(cli):
    """A shell sleeps, two processes work at the same time, and it sleeps again."""
    done = cli.run("sh", "-c", f"sleep 0.3; {KIN} burn 200 & {KIN} burn 200; wait; sleep 0.3")
    work = done.report.values["work"]
    assert work["idle_ns"] >= 500 * MS and 200 * MS <= work["worked_ns"] + 20 * MS
    assert work["covered_ns"] == sum(work[part] for part in ("worked_ns", "blocked_ns", "socket_ns", "idle_ns"))
    assert between(work["covered_ns"] * 0.9, done.report.values["elapsed_ns"], work["covered_ns"] * 1.1)


def test_other_end_of_a_pipe(cli):
    done = cli.run("sh", "-c", f"{KIN} burn 300 | cat")
    row = max((row for row in done.report.rows("waits") if row.cause == "pipe"), key=lambda row: row.waited_ns)
    kin, = rows(done, KIN)
    assert (row.other_end, row.other_end_pid) == ("from kin", kin.pid)


SHIMS = {
    "shell": ["sh", "-c", "{0} burn 100; {0} burn 100"],
    "shell that becomes it": ["sh", "-c", "{0} burn 100; exec {0} burn 100"],
    "pipeline": ["sh", "-c", "{0} burn 100 | {0} burn 100"],
    "env": ["env", "A=B", "sh", "-c", "{0} burn 100 && {0} burn 100"],
    "nohup": ["nohup", "sh", "-c", "{0} burn 100; {0} burn 100"],
    "shell in shell": ["sh", "-c", "sh -c '{0} burn 100'; sh -c '{0} burn 100'; true"],
}


@pytest.mark.parametrize("shim", [
    pytest.param(shim, marks=full if shim in ("shell", "nohup", "shell in shell") else []) for shim in SHIMS])
def test_processes_started_through_wrappers(cli, shim):
    done = cli.run(*(word.format(KIN) for word in SHIMS[shim]))
    found = rows(done, KIN)
    told = [(row.pid, row.cpu_ns, done.burned) for row in found]
    assert len(found) == 2 and all(used(done, row, 100) for row in found), told
    assert used_in_all(done, 200, 100) and done.report.lost == {}


def test_processes_of_a_script(cli):
    """The program that the script executes is in the report, not only the script, which uses nothing."""
    script = cli.folder / "script"
    script.write_text(f"#!/bin/sh\nexec {KIN} burn 200\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    done = cli.run(script)
    assert processes(done) == 1 and len(rows(done, KIN)) == 1 and used(done, rows(done, KIN)[0], 200)
    assert len(rows(done)) == 2 and used_in_all(done, 200, 60)
    assert cli("run", script).stderr.startswith("[hotpath] ")


@told_by_the_kernel
def test_process_that_execs(cli):
    """Without fork: one process, both programs, each with its own CPU time."""
    done = cli.run(KIN, "become", 100, KIN, "burn", 200)
    first, second = sorted(rows(done), key=lambda row: row.started_ns)
    assert processes(done) == 1 and first.pid == second.pid
    assert used(done, first, 100) and used(done, second, 200) and first.state == "ended"


@told_by_the_kernel
def test_what_comes_after_exec_is_not_in_the_session_before(cli):
    """The same file is executed again, and takes a while until it has a session."""
    done = cli.run(KIN, "become", 100, KIN, "burn", 100, env={"KIN_BEGINS_MS": "300"})
    first, second = sorted(rows(done), key=lambda row: row.started_ns)
    assert second.started_ns - (first.started_ns + first.elapsed_ns) >= 300 * MS
    assert used(done, first, 100) and used(done, second, 100)
    assert done.report.values.get("warnings", []) == []


# What a run executes: its processes, those that could not be followed, and at most so many that were too brief.
ONCE = {
    "brief": (["sh", "-c", "/bin/true; env true; env env true; true"], 4, 0, 3),
    "static": (["sh", "-c", "{1} become 20 {1} burn 20; true"], 2, 1, 0),
    "followed, brief, static": (["env", "-i", "sh", "-c", "exec {1} burn 50"], 1, 1, 0),
    "followed, then brief": (["sh", "-c", "{0} become 20 /bin/true; true"], 2, 0, 0),
    "brief, then followed": (["sh", "-c", "env {0} burn 20; true"], 2, 0, 0),
    "followed twice": (["sh", "-c", "{0} become 100 {0} burn 100; true"], 2, 0, 0),
    "static, then followed": (["sh", "-c", "{1} become 20 {0} burn 20; true"], 2, 1, 0),
}


@told_by_the_kernel
@pytest.mark.parametrize("case", ONCE)
def test_process_that_execs_counts_once(cli, case):
    """In the first line, in the rows, in the last line and in the list of sessions."""
    words, count, lost, brief = ONCE[case]
    done = cli.run(*(word.format(KIN, STATIC) for word in words))
    assert processes(done) == sum(row.processes for row in rows(done)) == count, rows(done)
    assert done.report.lost.get("processes", 0) == lost
    assert done.report.trust.get("brief_processes", 0) <= brief  # on a busy machine some are not that brief
    assert [run["processes"] for run in cli.sessions()] == [count]
    for section in ("waits", "threads"):  # not there if the run was too short to watch it
        totals = done.report.values["sections"].get(section, {}).get("totals", {})
        assert totals.get("watched_processes", 0) <= count


def test_survivor_that_execed_is_one(cli):
    """It waits for its input, and the shell for both of its programs."""
    reader, writer = os.pipe()
    done = cli.run("sh", "-c", f"exec 3<&0; {KIN} become 20 {KIN} thread 20 0 <&3 > /dev/null 2>&1 & "
                               "until [ $(wc -l < burned) -ge 2 ]; do sleep 0.01; done", stdin=reader)
    assert len(rows(done, KIN)) == 2 and "1 process is still running" in done.stderr
    os.close(writer)
    os.close(reader)


def test_orphans_and_children_that_close_all_descriptors(cli):
    done = cli.run("sh", "-c", f"{KIN} orphan 100; {KIN} bare 100")
    assert sorted(used(done, row, 100) for row in rows(done, KIN)) == [False, False, True, True], rows(done)
    assert processes(done) == 5 and done.report.lost == {}


def test_no_children(cli):
    done = cli.run("--no-children", KIN, "fork", 3, 50)
    assert processes(done) == 1 and total(done) < 100 * MS
    done = cli.run("--no-children", "sh", "-c", f"{KIN} burn 100; true")
    assert processes(done) == 1 and not rows(done, KIN) and total(done) < 85 * MS


def test_processes_that_outlive_the_run_are_reported(cli):
    reader, writer = os.pipe()
    done = cli.run(KIN, "stay", stdin=reader)
    assert processes(done) == 2 and "1 process is still running" in done.stderr
    os.close(writer)
    os.close(reader)


def test_many_processes(cli):
    """A row for each program, and every process counted."""
    done = cli.run("sh", "-c", f"i=0; while [ $i -lt 150 ]; do {KIN} burn 0; i=$((i+1)); done")
    assert processes(done) == 151
    found = [row for row in rows(done) if str(KIN) in row.name]
    assert len(found) == 1 and found[0].processes == 150 and len(rows(done)) <= 3
    assert done.report.lost == {}


def test_a_zone_in_a_child(cli):
    """The program's own zones, and a child that has none."""
    done = cli.run("sh", "-c", f"{PROGRAMS}/counts; {KIN} burn 50")
    assert done.report.rows("timing") and len(rows(done, KIN)) == 1


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_sanitized_child_starts(cli):
    """gcc's AddressSanitizer must be the first library."""
    source = cli.folder / "sane.c"
    source.write_text("#include <stdlib.h>\nint main(void) { free(malloc(10)); return 7; }\n")
    built = subprocess.run(["gcc", "-fsanitize=address", "-o", cli.folder / "sane", source], capture_output=True)
    if built.returncode != 0:
        pytest.skip("no AddressSanitizer here")
    cli.run("sh", "-c", f"{cli.folder}/sane; exit $?", status=7)
    cli.run("sh", "-c", f"ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=1 {cli.folder}/sane; exit $?", status=7)


@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="no musl")
def test_another_c_library(cli):
    """Its dynamic linker would end the program if it were given our library."""
    source = cli.folder / "other.c"
    source.write_text("int main(void) { for (volatile long i = 0; i < 100000000; i++); return 7; }\n")
    subprocess.run(["musl-gcc", "-o", cli.folder / "other", source], check=True)
    done = cli.run("sh", "-c", f"{cli.folder}/other; exit $?", status=7)
    assert [row.command for row in outside(done)] == [f"{cli.folder}/other"]
    assert "C library" in outside(done)[0].reason
    assert done.stderr == ""


# ----------------------------------------------------------------------------------------------------- not followed

def test_static_program(cli):
    done = cli.run(STATIC, "burn", 200)
    assert [row.state for row in rows(done)] == ["outside"] and used(done, rows(done)[0], 200)
    assert "static" in rows(done)[0].reason and done.report.lost == {"processes": 1}
    table = cli("run", STATIC, "burn", 50).stderr
    assert "nothing was lost" not in table and "could not be followed: it is statically linked" in table


def test_static_child(cli):
    done = cli.run("sh", "-c", f"{STATIC} burn 200; {KIN} burn 100")
    assert [used(done, row, 200) for row in outside(done)] == [True]
    assert [used(done, row, 100) for row in rows(done, KIN)] == [True]
    assert done.report.lost == {"processes": 1} and processes(done) == 3
    assert used_in_all(done, 300, 120)


def test_child_of_a_static_program(cli):
    """Its children still have the library."""
    done = cli.run(STATIC, "become", 50, KIN, "burn", 100)
    assert [row.state for row in rows(done, KIN)] == ["ended"] and used(done, rows(done, KIN)[0], 100)
    assert len(outside(done)) == 1 and "statically" in outside(done)[0].reason


@told_by_the_kernel
def test_cleared_environment(cli):
    done = cli.run(KIN, "clear", KIN, "burn", 100)
    assert len(outside(done)) == 1 and used(done, outside(done)[0], 100)
    assert "environment" in outside(done)[0].reason
    assert done.report.lost == {"processes": 1}


@told_by_the_kernel
def test_many_short_processes(cli):
    """However short they are; summed up by program if there are many."""
    done = cli.run("sh", "-c", f"i=0; while [ $i -lt 120 ]; do {STATIC} burn 0; i=$((i+1)); done")
    assert processes(done) == 121 and done.report.lost == {"processes": 120}
    assert sum(row.processes for row in outside(done)) == 120


@pytest.mark.skipif(not IS_ROOT, reason="who is not root cannot make such a program")
def test_setuid_child(cli, box):
    """By another user: a program that gets root's rights loads no library."""
    program = cli.folder / "setuid"
    shutil.copy(KIN, program)
    os.chown(program, 1, 1)
    program.chmod(0o6755)
    cli.folder.chmod(0o711)
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        pytest.skip("no such programs here")
    done = cli.run("sh", "-c", f"{program} burn 100; true")
    assert [row.name.split()[1] for row in outside(done)] == [str(program)] and done.report.lost == {"processes": 1}
    # The kernel tells even its parent nothing of such a program.
    assert "privileges" in outside(done)[0].reason and used(done, outside(done)[0], 100, is_told=False)


@needs_root
@told_by_the_kernel
def test_another_pid_namespace(cli):
    """Its pids are not ours, and other processes may have these numbers."""
    if subprocess.run(["unshare", "-pf", "true"], capture_output=True).returncode != 0:
        pytest.skip("no pid namespaces here")
    done = cli.run("unshare", "-pf", "sh", "-c",
                   f"{KIN} burn 50 & {KIN} burn 50; wait; {KIN} fork 3 50; {STATIC} burn 50")
    assert len(rows(done, KIN)) == 6 and [row.command.split()[0] for row in outside(done)] == [str(STATIC)]
    assert done.report.lost == {"processes": 1}


@pytest.mark.parametrize("program", [STATIC, KIN], ids=["static", "followed"])
def test_exit_of_a_thread_does_not_end_its_process(cli, program):
    """CPU time after exec is its own, not that of a process that sleeps."""
    done = cli.run("sh", "-c", f"{program} thread 0 300 | {program} thread 100 0")
    found = {row.command.split(maxsplit=2)[2]: row for row in rows(done, program)}
    assert found["0 300"].cpu_ns > found["100 0"].cpu_ns > 0, rows(done)


def test_program_with_generated_code(cli):
    """The kernel reports each piece, more than fit into the ring. No process is missing for that."""
    done = cli.run(KIN, "maps", 100000)
    assert len(rows(done)) == 1 and done.report.lost == {}


@told_by_the_kernel
def test_command_of_a_process_that_execs_at_once(cli):
    """When it is read it is already that of the other."""
    done = cli.run("env", "-i", "sh", "-c", f"exec {KIN} burn 20")
    commands = [row.command.split()[0] for row in sorted(rows(done), key=lambda row: row.started_ns)]
    assert len(commands) == 3 and commands[2] == str(KIN) and str(KIN) not in commands[:2]


@pytest.mark.parametrize("way", ["killed", "left"])
def test_cpu_time_of_killed_and_ended_processes(cli, way):
    """A process that is killed has its time up to that."""
    script = f"{KIN} burn 200"
    if way == "killed":
        # It is killed once it has used 50 ms, by the kernel's count in hundredths of a second.
        script = (f"{KIN} burn 60000 & p=$!; {KIN} burn 200; until read -r stat < /proc/$p/stat; set -- $stat; "
                  "[ $((${14} + ${15})) -ge 5 ]; do :; done; kill -9 $p; wait $p; true")
    done = cli.run("sh", "-c", script, status=None)
    for row in rows(done, KIN):
        assert row.state == "ended" and row.cpu_ns > 20 * MS and row.elapsed_ns >= row.cpu_ns * 0.9
    assert done.status in (0, -signal.SIGKILL, 137)


def test_without_perf_proc_is_polled(cli, box):
    """Without perf /proc is polled: processes that live long enough are found, and missing ones are noticed."""
    cli.before = WITHOUT_PERF
    done = cli.run(STATIC, "burn", 500)
    assert [row.state for row in rows(done)] == ["outside"] and between(100 * MS, rows(done)[0].cpu_ns, 600 * MS)
    done = cli.run("sh", "-c", f"{STATIC} burn 500; {KIN} burn 100")
    assert len(rows(done, KIN)) == 1 and [str(STATIC) in row.name for row in outside(done)] == [True], rows(done)
    done = cli.run("sh", "-c", f"i=0; while [ $i -lt 100 ]; do {STATIC} burn 1; i=$((i+1)); done")
    assert done.report.lost["processes"] > 0


def test_program_that_execs_at_once_without_perf(cli):
    """It was not seen in /proc, but left a session: the CPU time of the next program is not its own, too."""
    cli.before = WITHOUT_PERF
    done = cli.run("env", KIN, "burn", 200)
    burned = sum(done.burned.values())
    assert between(burned, sum(row.cpu_ns for row in rows(done)), burned * 1.15 + 20 * MS), rows(done)


def test_functions_need_perf_or_the_library(cli):
    """Without both there is CPU time only, and the run says why."""
    cli.before = WITHOUT_PERF
    done = cli("run", "--no-preload", KIN, "burn", 200)
    assert len(done.lines) == 1 and "no functions were found: the kernel refuses perf" in done.lines[0], done.stderr
    assert "no functions were found" not in cli("run", KIN, "burn", 200).stderr


@told_by_the_kernel
def test_short_processes_are_the_cost_without_stacks(cli):
    """How long brief processes were ready without a CPU is unknown: beside others they seem to be waited for."""
    with headlines.Neighbours() as neighbours:
        done = cli.run("--no-stacks", "sh", "-c", "for i in $(seq 40); do expr $i + 1; done")
    line = done.report.values["meta"]["headline"]
    assert "Starting processes is the cost: " in line or neighbours.are_busy and "(child: expr (busy))" in line


def test_process_that_ran_between_two_polls(cli):
    """The runner gets no CPU for a while. The CPU time of such a process is its own, not that of others."""
    cli.before = WITHOUT_PERF
    done = cli.run("sh", "-c", f"sleep 0.3; kill -STOP $PPID; {KIN} burn 200; kill -CONT $PPID; sleep 0.3")
    row, = rows(done, KIN)
    burned = done.burned[row.pid, 200]
    assert outside(done) == [] and between(burned / 2, row.cpu_ns, burned + 50 * MS), rows(done)


def test_process_whose_first_thread_has_exited(cli):
    """The kernel shows such a process as a zombie, but it goes on, and is one process."""
    cli.before = WITHOUT_PERF
    for program in (STATIC, KIN):
        done = cli.run("sh", "-c", f"{program} lone 500; true")
        assert processes(done) == 2, rows(done)
        assert [str(program) in row.command for row in rows(done)].count(True) <= 2, rows(done)
        assert len(outside(done)) == (program == STATIC)
        assert done.report.lost == ({"processes": 1} if program == STATIC else {})


def test_process_without_counted_malloc(cli):
    """A measured program without our malloc, next to others that have it: its allocations are unknown, not zero."""
    done = cli.run("env", "LD_PRELOAD=", PROGRAMS / "counts")
    assert done.report.trust["uncounted_processes"] == 1 and done.report.calls("main") == 1
    for section in ("alloc-bytes", "alloc-count"):
        assert [row.name for row in done.report.rows(section)] == ["<outside>"]
    table = cli("run", "env", "LD_PRELOAD=", PROGRAMS / "counts").stderr
    assert "allocations of 1 process were not counted" in table and "nothing was lost" not in table
    for other in ([KIN, "burn", 1], ["sh", "-c", f"{KIN} fork 3 1; {PROGRAMS}/counts"]):  # some allocate nothing
        assert "uncounted_processes" not in cli.run(*other).report.trust


# ---------------------------------------------------------------------------------------------------- real programs

@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_make(cli):
    (cli.folder / "Makefile").write_text(f"all:\n\t@$(MAKE) --no-print-directory one\n\t@{KIN} burn 50\none:\n"
                                         f"\t@{KIN} burn 50; true\n")
    done = cli.run("make")
    assert len(rows(done, KIN)) == 2 and len([row for row in rows(done) if row.command.startswith("make")]) >= 2
    assert done.report.lost == {}


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_git_with_a_pager(cli):
    environment = {"GIT_PAGER": "cat", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a",
                   "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    for words in (["init", "-q", "."], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], cwd=cli.folder, env=os.environ | environment, check=True)
    done = cli.run("git", "--paginate", "log", env=environment)
    assert "first" in done.stdout and done.report.lost == {}
    assert any(row.command.startswith("git") for row in rows(done))


# ------------------------------------------------------------------------------------- sessions that begin late

BRIEF = PROGRAMS / "brief"
BLOCKS = 700


def brief(done):
    return done.report.trust.get("brief_processes", 0)


def blocks(done):
    """All of the run, in rows and outside of them."""
    return sum(row.total_count for row in done.report.rows("alloc-count"))


def files(cli):
    """Sessions in the folder of the run."""
    return len(list(cli.folder.glob("*.run/*.hotpath")))


@told_by_the_kernel
@pytest.mark.parametrize("how", ["execute", "end"])
def test_brief_processes_are_counted(cli, how):
    """They have no session: only the program has one, and a row for all of them is made from outside."""
    done = cli.run(BRIEF, how, 40)
    assert processes(done) == 41 and brief(done) == 40 and done.report.lost == {}
    assert [row.processes for row in outside(done)] == [40] and files(cli) == 2
    shown = cli("report", "-v", "--section", "processes").stdout
    assert "40 brief processes were only counted; nothing else was lost" in shown
    assert "could not be followed" not in shown


SHORT_PROCESSES = """import os, resource, sys
for n in range(40):
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", "expr 1 + 1 | sed s/2/3/; (:); exec true"], os.environ), 0)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    file.write(str(used.ru_utime + used.ru_stime))
"""


@told_by_the_kernel
def test_cpu_time_of_short_processes(cli):
    """Their rows have all of it, as the process that waits for them knows it: also what starting and ending takes,
    before and after their sessions."""
    script = cli.folder / "short.py"
    script.write_text(SHORT_PROCESSES)
    done = cli.run(sys.executable, "-S", script, cli.folder / "used")
    used_ns = float((cli.folder / "used").read_text()) * 1e9
    found_ns = sum(row.cpu_ns for row in rows(done) if str(script) not in row.command)
    assert between(used_ns * 0.95, found_ns, used_ns * 1.05), (used_ns, found_ns, rows(done))


@told_by_the_kernel
def test_allocations_before_a_late_session(cli):
    """They are in the totals."""
    few, many = (cli.run(BRIEF, "allocate", count, BLOCKS) for count in (1, 4))
    assert blocks(many) - blocks(few) == 3 * 2 * BLOCKS
    assert brief(many) == 0 and outside(many) == [] and processes(many) == 5


@told_by_the_kernel
def test_children_that_only_compute(cli):
    done = cli.run(BRIEF, "compute", 2)
    children = [row for row in rows(done) if row.parent_pid in pids(rows(done))]
    assert len(children) == 2 and outside(done) == [] and brief(done) == 0
    assert all(between(55 * MS, row.cpu_ns, 90 * MS) and row.threads == 1 for row in children)


@needs_root
@told_by_the_kernel
def test_child_that_drops_its_user_at_once(cli):
    none, some = (cli.run(BRIEF, "drop", count) for count in (0, BLOCKS))
    assert blocks(some) - blocks(none) == BLOCKS
    assert outside(some) == [] and brief(some) == 0 and some.report.lost == {}


@told_by_the_kernel
def test_brief_child_with_one_transfer(cli):
    done = cli.run(BRIEF, "send")
    sent = [row for row in done.report.rows("channels") if row.name == "pipe" and row.instance is None]
    assert [(row.sent_bytes, row.received_bytes) for row in sent] == [(1, 1)]
    assert outside(done) == [] and brief(done) == 0 and files(cli) == 2


@told_by_the_kernel
def test_sleeping_program(cli):
    """It calls nothing of ours while it sleeps. From outside, or by a session that begins at its end: the time is
    that of the process."""
    done = cli.run("sh", "-c", "sleep 0.3; true")
    slept = [row for row in rows(done) if row.command.startswith("sleep 0.3")]
    assert len(slept) == 1 and slept[0].elapsed_ns >= 290 * MS and done.report.lost == {}
