"""The program `hotpath`: its commands on real programs, files and terminals."""
import contextlib
import ctypes
import fcntl
import json
import os
import pty
import pwd
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest

from harness import (EMULATOR, EXAMPLES, HOTPATH, PROGRAMS, SANITIZER, SOURCE, TIMEOUT, Report, end, needs_root,
                     with_glibc, without_sanitizer)
from terminal import Terminal, plain

pytestmark = pytest.mark.skipif(bool(EMULATOR), reason="not under an emulator: it would have to start another")

COMMANDS = sorted(page.stem[len("hotpath-"):] for page in (SOURCE / "man").glob("hotpath-*.1"))
GUEST = str(PROGRAMS / "guest")


class Done:
    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr

    @property
    def lines(self):
        return [line for line in self.stderr.splitlines() if line.startswith("hotpath:")]


class Cli:
    """The program with its own folder of sessions."""

    def __init__(self, box):
        self.box = box
        self.folder = box.folder()
        self.program = HOTPATH

    def environment(self, env=None):
        plain = dict.fromkeys(("HOTPATH_OUTPUT_FORMAT", "HOTPATH_LIMIT", "HOTPATH_OUTPUT_PATH", "HOTPATH_REPORT"))
        return self.box.environment(self.folder, plain | (env or {}))

    def start(self, *args, env=None, **popen):
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("cwd", self.folder)
        return subprocess.Popen([str(self.program), *map(str, args)], env=self.environment(env),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                **popen)

    def __call__(self, *args, env=None, status=0, input=None, **popen):
        if input is not None:
            popen["stdin"] = subprocess.PIPE
        process = self.start(*args, env=env, **popen)
        try:
            done = Done(None, *process.communicate(input, timeout=TIMEOUT))
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"hotpath {args} hung: {process.communicate()}")
        done.status = process.returncode
        if status is not None:
            assert done.status == status, f"hotpath {args}: {end(done.status)}\n{done.stdout}\n{done.stderr}"
        return done

    def run(self, *args, env=None, status=0, **popen):
        """hotpath run, with a report in JSON."""
        path = self.folder / "run.json"
        path.unlink(missing_ok=True)
        done = self("run", "--format", "json", "--output", path, "--section", "all", "--limit", "0", *args, env=env,
                    status=status, **popen)
        done.report = Report(json.loads(path.read_text())) if path.exists() else None
        return done

    def sessions(self, *args):
        return json.loads(self("ls", "--json", *args).stdout)

    def read(self, *args):
        return Report(json.loads(self("report", "--format", "json", "--section", "all", "--limit", "0",
                                      *args).stdout))


@pytest.fixture
def cli(box):
    return Cli(box)


def plain_run(cli, *args, **popen):
    """The same program without hotpath run and without recording."""
    return subprocess.run([GUEST, *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT,
                          env=cli.environment({"HOTPATH": "0"}), **popen)


def wait_until(condition):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("it never happened")
        time.sleep(0.01)


# ---------------------------------------------------------------------------------------------- words and errors

def test_overview_names_every_command(cli):
    text = cli("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\w", text, re.M), command
    assert cli("help").stdout == text
    assert re.fullmatch(r"hotpath \d+\.\d+\.\d+\n", cli("--version").stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(cli, command):
    text = cli(command, "--help").stdout
    assert text.startswith(f"usage: hotpath {command}") and "-h, --help" in text
    assert cli("help", command).stdout == text == cli(command, "-h").stdout
    assert max(len(line) for line in text.splitlines()) <= 90


def test_help_names_only_variables_that_the_command_reads(cli):
    assert "(HOTPATH_OUTPUT_PATH)" in cli("run", "--help").stdout
    text = cli("report", "--help").stdout
    assert "(HOTPATH_OUTPUT_FORMAT)" in text and "(HOTPATH_OUTPUT_PATH)" not in text


def test_help_of_the_environment(cli):
    text = cli("help", "environment").stdout
    assert "HOTPATH_LIMIT=N" in text and "HOTPATH_RUN=" in text


@pytest.mark.parametrize("args, words", [
    ([], "missing command"),
    (["--nonsense"], "unknown option '--nonsense'"),
    (["rpeort"], "did you mean 'report'"),
    (["cleam"], "did you mean 'clean'"),
    (["of"], "did you mean 'o"),
    ([""], "missing command"),
    (["report", "--f", "3"], "'--f' is ambiguous"),
    (["report", "--help=1"], "'--help=1' takes no value"),
    (["no-such-program-anywhere"], "no command and no program 'no-such-program-anywhere'"),
    (["help", "nonsense"], "no command 'nonsense'"),
    (["report", "--nonsense"], "'--nonsense' is unknown"),
    (["report", "-x"], "'-x' is unknown"),
    (["report", "--limit"], "'--limit' needs a value"),
    (["report", "-n"], "'-n' needs a value"),
    (["report", "--limit", "many"], "--limit 'many' is not a number"),
    (["report", "--format", "xml"], "--format 'xml' is not one of table, json"),
    (["report", "--focus", "/(/"], "--focus '/(/' is not a list of texts, globs and /regex/"),
    (["report", "a", "b"], "unexpected argument 'b'"),
    (["run"], "missing program"),
    (["run", "--timeout", "soon", "true"], "--timeout 'soon' is not a number"),
    (["on"], "missing process id"),
    (["off", "me"], "'me' is not a process id"),
    (["ls", "much"], "unexpected argument 'much'"),
    (["clean", "--keep", "-1"], "--keep '-1' is not a number"),
])
def test_wrong_use(cli, args, words):
    done = cli(*args, status=2)
    assert words in done.stderr and "--help'" in done.stderr
    assert done.stderr.startswith("hotpath: ") and done.stderr.count("\n") == 1 and done.stdout == ""


@pytest.mark.parametrize("args, words", [
    (["report"], "no session yet"),
    (["report", "1"], "no session of process 1"),
    (["report", "nonsense"], "no session, process or file 'nonsense'"),
    (["report", "/dev/null"], "not a regular file"),
    (["report", "/etc/passwd"], "cannot read '/etc/passwd'"),
    (["off", "1"], "you have no live session of process 1"),
])
def test_failures(cli, args, words):
    done = cli(*args, status=1)
    assert words in done.stderr and done.stderr.startswith("hotpath: ") and done.stderr.count("\n") == 1


def test_output_that_cannot_be_written(cli):
    cli.run(GUEST, "five")
    with open("/dev/full", "w") as full:
        for args in (["report"], ["help"], ["ls"]):
            done = subprocess.run([str(HOTPATH), *args], stdout=full, stderr=subprocess.PIPE, text=True,
                                  env=cli.environment())
            assert done.returncode == 1 and "cannot write" in done.stderr, args
    assert "cannot write '/dev/null/no'" in cli("report", "-o", "/dev/null/no", status=1).stderr
    cli("report", "-o", cli.folder / "new" / "folder" / "file")
    assert "| work" in (cli.folder / "new" / "folder" / "file").read_text()
    done = cli("run", "-o", "/dev/full", GUEST, "five")
    assert "cannot write" in done.stderr and "| work" in done.stderr  # better here than nowhere


def test_nobody_reads_the_report(cli):
    """The exit status is the program's, whatever happens to the report."""
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run([str(HOTPATH), "run", GUEST, "ends", "exit"], stderr=write, env=cli.environment(),
                             stdout=subprocess.DEVNULL)
    os.close(write)
    assert process.returncode == 7


def test_a_report_that_blocks_can_be_interrupted(cli):
    read, write = os.pipe()
    os.set_blocking(write, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    process = subprocess.Popen([str(HOTPATH), "run", GUEST, "ends", "exit"], stderr=write, stdout=subprocess.PIPE,
                               env=cli.environment(), text=True)
    assert process.stdout.readline() == "ends by exit\n"
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT) == -signal.SIGTERM
    os.close(read)
    os.close(write)


# ---------------------------------------------------------------------------------------------------------- run

@pytest.mark.parametrize("how, status", [("return", 7), ("exit", 7), ("_exit", 7), ("abort", -signal.SIGABRT),
                                         ("segv", -signal.SIGSEGV), ("kill", -signal.SIGKILL)])
@without_sanitizer("it catches signals")
def test_however_it_ends(cli, how, status):
    done = cli.run(GUEST, "ends", how, status=status)
    assert done.stdout == plain_run(cli, "ends", how).stdout == f"ends by {how}\n"
    assert done.report.calls("work") == 3 and done.report.calls("main") == 1
    assert done.stderr == ""


def test_one_report_and_it_is_ours(cli):
    done = cli("run", GUEST, "five", env={"HOTPATH_PERCENTILES": "50"})
    assert done.stdout == "" and done.stderr.count("[hotpath]") == 1
    assert "P50" in done.stderr and "| work" in done.stderr and "\x1b" not in done.stderr
    assert "P99" in cli("run", "--percentiles", "99", GUEST, "five", env={"HOTPATH_PERCENTILES": "50"}).stderr


def test_a_report_that_the_program_asks_for_is_still_made(cli):
    done = cli("run", GUEST, "reports")
    assert done.stdout == "report 0\n" and done.stderr.count("[hotpath]") == 2


def test_a_path_is_short_for_run(cli):
    done = cli(GUEST, "ends", "exit", status=7)
    assert done.stdout == "ends by exit\n" and "| work" in done.stderr


def test_a_program_in_path_is_run(cli):
    done = cli("printf", "%s", "hello")
    said = ("left a session", "functions - ") if SANITIZER else ("alloc", )  # with a sample, there is a report
    assert done.stdout == "hello" and any(word in done.stderr for word in said)


@pytest.mark.parametrize("args, said", [
    (["--section", "timng"], "--section: no section 'timng' (did you mean 'timing'?)"),
    (["--section", "timing,-calltre"], "--section: no section 'calltre' (did you mean 'calltree'?)"),
    (["--section", "zzzzzz"], "--section: no section 'zzzzzz'; see hotpath(7)"),
    (["--columns", "slf"], "--columns: no column 'slf' (did you mean 'self'?)"),
    (["--columns", "self,zzzzzz"], "--columns: no column 'zzzzzz'; 'all' shows all columns"),
    (["--sort", "-totl"], "--sort: no column 'totl' (did you mean 'total'?)"),
])
def test_what_is_not_there_is_refused_before_the_run(cli, args, said):
    done = cli("run", *args, GUEST, "five", status=2)
    assert done.stdout == "" and said in done.stderr and cli.sessions() == []
    assert said in cli("report", *args, status=2).stderr


@pytest.mark.parametrize("args", [["--section", "all,-timing,ALLOC"],
                                  ["--columns", "self,MIN,p95,thread,looks,why,size_bytes"],
                                  ["--sort", "thread", "--by", "thread"], ["--sort", "-calls"],
                                  ["--columns", "p99.9", "--percentiles", "99.9"]])
def test_what_is_there_is_not_refused(cli, args):
    cli("run", "--format", "none", *args, GUEST, "five")


def test_misspelt_variables(cli):
    """Printed once, by the process that reports."""
    line = "hotpath: unknown variable HOTPATH_LIMITS; did you mean HOTPATH_LIMIT?"
    done = cli("run", GUEST, "five", env={"HOTPATH_LIMITS": "3", "HOTPATH_COLUMNS": "slf"})
    assert done.lines == ["hotpath: HOTPATH_COLUMNS: no column 'slf' (did you mean 'self'?)", line]
    alone = subprocess.run([GUEST, "five"], capture_output=True, text=True,
                           env=cli.environment({"HOTPATH_LIMITS": "3"}))
    assert alone.stderr.count(line) == 1
    off = subprocess.run([GUEST, "five"], capture_output=True, text=True,
                         env=cli.environment({"HOTPATH_LIMITS": "3", "HOTPATH": "0"}))
    assert off.stderr == ""


def test_a_filter_that_matches_nothing(cli):
    done = cli.run("--filter", "nosuch", GUEST, "five")
    assert done.report.values["warnings"] == ["no called function matches the filter 'nosuch'"]
    assert cli.run("--filter", "work", GUEST, "five").report.values["warnings"] == []


@with_glibc("nothing of ours is in Debian's programs else")
@without_sanitizer("nothing of ours is in the program then")
def test_programs_in_which_nothing_is_measured(cli):
    assert "Was the program compiled with -DHOTPATH?" in cli("run", "ls", "/").stderr


def test_options_after_the_program_are_its_own(cli):
    assert cli("run", "echo", "--help", "-n", "--format").stdout == "--help -n --format\n"
    assert cli("run", "--", "echo", "-x").stdout == "-x\n"


def test_programs_that_cannot_be_run(cli):
    # A folder of PATH that may not be entered might have it.
    assert "cannot run 'nosuch': No such file" in cli("run", "nosuch", env={"PATH": "/usr/bin:/bin"},
                                                      status=127).stderr
    assert "cannot run '/etc/passwd': Permission" in cli("run", "/etc/passwd", status=126).stderr
    assert cli.sessions() == []


def test_a_program_that_is_not_measured(cli):
    done = cli("run", "--no-preload", "--no-stacks", "sh", "-c", "echo out; exit 3", status=3)
    assert done.stdout == "out\n" and done.lines == [
        "hotpath: nothing was recorded: no process of 'sh' left a session. Compile the program with -DHOTPATH and "
        "link it with -lhotpath to measure its functions; see hotpath-run(1)"]
    assert cli.sessions() == []


def test_input_passes_through(cli):
    done = cli.run(GUEST, "copy", input="one\ntwo\nthree\n")
    assert done.stdout == "one\ntwo\nthree\n" and done.report.calls("work") == 3


def test_flags_about_recording_reach_the_program(cli):
    assert cli.run("--filter", "nothing-like-it", GUEST, "five").report.names() == ["main"]  # it is always there
    assert cli.run("--only", "timing", GUEST, "five").report.calls("work") == 5
    assert cli.run(GUEST, "five", env={"HOTPATH": "0"}).report.calls("work") == 5  # it was requested
    assert cli.run("--only", "0", GUEST, "five").report is None


def test_label_and_metadata(cli):
    report = cli.run("--label", "night", "--metadata", "a=b", GUEST, "five").report.values
    assert report["label"] == "night" and report["user_metadata"] == {"a": "b"}


def test_format_none_records_only(cli):
    done = cli("run", "--format", "none", GUEST, "five")
    assert done.stderr == "" and cli.read().calls("work") == 5


def test_timeout(cli):
    started = time.monotonic()
    done = cli("run", "--timeout", "200", "sleep", "60", status=-signal.SIGTERM)
    assert "'sleep' was ended after 200 ms" in done.stderr and time.monotonic() - started < 30
    done = cli("run", "--timeout", "200", "sh", "-c", "trap '' TERM; while :; do sleep 0.05; done",
               status=-signal.SIGKILL)
    assert time.monotonic() - started < 50
    assert cli.run("--timeout", "2000", GUEST, "hears", status=None).report.calls("work") == 1


def test_short_timeouts_are_not_missed(cli):
    for milliseconds in range(1, 12):
        cli("run", "--timeout", milliseconds, "sleep", "60", status=-signal.SIGTERM)


def test_timeout_of_a_stopped_program(cli):
    process = cli.start("run", "--timeout", "300", "sh", "-c", "kill -STOP $$; sleep 60")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    time.sleep(0.4)
    process.send_signal(signal.SIGCONT)
    assert process.wait(TIMEOUT) == -signal.SIGTERM


# ------------------------------------------------------------------------------------------------- many processes

def test_children_are_part_of_the_report(cli):
    report = cli.run(GUEST, "family", 4).report
    assert report.calls("work") == 1 + (1 + 2 + 3 + 4) + 5
    assert report.calls("main") == 2  # forked children do not start it, the spawned one does
    rows = report.rows("processes")
    assert sorted(row.calls for row in rows) == [1, 2, 2, 3, 4, 6]
    assert report.values["state"] == "finished"


def test_the_prefork_example(cli):
    report = cli.run(EXAMPLES / "prefork").report
    assert {row.name: row.calls for row in report.rows()} == {
        "main": 1, "accept_requests": 1, "wait for workers": 1, "handle": 200, "parse": 200, "database": 200}
    assert sum(row.calls for row in report.rows("processes")) == 603
    assert len(report.rows("processes")) == 5


def test_one_process_of_many(cli):
    cli.run(GUEST, "family", 3)
    [run] = cli.sessions()
    parts = [one for one in cli.sessions("-a") if one["kind"] == "session"]
    assert run["kind"] == "run" and run["processes"] == len(parts) == 5
    calls = sorted(cli.read(str(part["pid"])).calls("work") for part in parts)
    assert calls == [1, 1, 2, 3, 5]
    assert cli.read(run["path"]).calls("work") == sum(calls)


def test_a_crowd_of_short_lived_children(cli):
    size = 200 if not SANITIZER else 20
    report = cli.run(GUEST, "crowd", size).report
    assert report.calls("work") == size
    # main itself does not call work, but has a session; this many processes of one program share a row
    assert report.values["meta"]["processes"] == size + 1
    assert sum(row.processes for row in report.rows("processes")) == size + 1


def test_report_shows_the_same_rows_later(cli):
    mine = cli.run(GUEST, "family", 3).report
    theirs = cli.read()
    assert {row.name: (row.calls, row.total_ns) for row in mine.rows()} == {
        row.name: (row.calls, row.total_ns) for row in theirs.rows()}


def test_a_daemon_is_named_and_can_be_read_later(cli):
    lives = cli.folder / "lives"
    lives.touch()
    done = cli.run(GUEST, "daemon", lives)
    assert "1 process is still running; to see the results later: hotpath report" in done.stderr
    assert done.report.calls("work") == 2 and done.report.values["state"] == "running"
    assert cli.sessions()[0]["state"] == "live"
    folder = done.stderr.split("hotpath report ")[1].strip()
    lives.unlink()
    wait_until(lambda: cli.sessions()[0]["state"] != "live")
    assert cli.read(folder).calls("work") == 3


def test_descriptors_closed_by_the_program(cli):
    done = cli.run(GUEST, "closes")
    assert done.stdout == plain_run(cli, "closes").stdout and done.report.calls("work") == 4


@needs_root
@pytest.mark.parametrize("args", [["jails"], ["drops", 65534]])
def test_root_and_user_changed(cli, args):
    args = args if args != ["jails"] else ["jails", cli.box.folder()]
    done = cli.run(GUEST, *args)
    assert done.stdout == "done\n"
    assert done.report.calls("work") == 3  # the child's five cannot be written to our folder
    assert done.report.lost == {"children": 1}
    child = next(row for row in done.report.rows("processes") if row.state == "outside")
    assert "could not write a session file" in child.reason


def test_a_pipeline_is_not_disturbed(cli):
    text = subprocess.run(f"{HOTPATH} run --format none {GUEST} copy | sort -r | {HOTPATH} run --format "
                          f"none {GUEST} copy",
                          shell=True, input="a\nb\nc\n", capture_output=True, text=True, env=cli.environment())
    assert text.stdout == "c\nb\na\n" and text.stderr == ""
    assert len(cli.sessions()) == 2


def test_a_run_within_a_run(cli):
    """Each reports for itself, and both can be found and removed."""
    script = (f"{GUEST} five; {HOTPATH} run --format json -o inner.json {GUEST} ends exit; {GUEST} five; "
              f"{HOTPATH} ls")
    done = cli.run("--no-preload", "sh", "-c", script)
    assert done.report.calls("work") == 10
    assert Report(json.loads((cli.folder / "inner.json").read_text())).calls("work") == 3
    assert len(done.stdout.splitlines()) == 4  # a heading, and both runs; the guest's output
    assert [one["processes"] for one in cli.sessions()] in ([1, 2], [2, 1])
    assert cli("clean").stdout.startswith("removed 2 sessions, ") and cli.sessions() == []


def after_the_run(cli, command):
    """A script that runs `command` after the run is over. Returns what it wrote to stderr."""
    said, lives, is_over = cli.folder / "said.txt", cli.folder / "lives", cli.folder / "over"
    for path in (said, is_over):
        path.unlink(missing_ok=True)
    lives.touch()
    script = f"while [ -e {lives} ]; do sleep 0.01; done; {command}; : > {is_over}"
    cli("run", "--format", "none", "setsid", "-f", "sh", "-c", f"exec > /dev/null 2> {said}; {script}")
    lives.unlink()
    wait_until(is_over.exists)
    return said.read_text()


def test_a_process_that_begins_when_the_run_is_over(cli):
    """No other process reports about it any more, so it does if it would by itself."""
    assert "| work" in after_the_run(cli, f"{GUEST} five")


@with_glibc("the shell of this machine has it")
@without_sanitizer("the library of such a build can be preloaded into nothing else")
@pytest.mark.parametrize("command", ["perl -e 1", "(perl -e 1 & wait)", "rm -r $HOTPATH_DIR; perl -e 1"],
                         ids=["executed", "forked", "folder gone"])
def test_nothing_is_said_when_the_run_is_over(cli, command):
    """Neither by a process that outlives the run nor by its children; and those are not recorded."""
    assert after_the_run(cli, command) == ""
    folders = list(cli.folder.glob("*.run"))
    assert len(folders) == ("rm " not in command)
    program = os.path.realpath(shutil.which("perl")).encode()
    assert not [path for folder in folders for path in folder.iterdir() if program in path.read_bytes()]


def test_a_folder_of_its_own_within_a_run(cli):
    """A process with its own folder reports from there."""
    other = cli.box.folder()
    done = cli("run", "--no-preload", "--no-stacks", "--format", "none", "sh", "-c",
               f"HOTPATH_DIR={other} {GUEST} five")
    assert "| work" in done.stderr and list(other.glob("*.hotpath"))


def test_who_outlives_the_run_says_nothing(cli):
    """Although it has measured something, and would report by itself: its session is for that."""
    lives, said = cli.folder / "lives", cli.folder / "said.txt"
    lives.touch()
    script = f"setsid {GUEST} waits {lives} > out 2> {said} & until grep -q waiting out; do sleep 0.01; done"
    done = cli("run", "--format", "none", "sh", "-c", script)
    assert "still running" in done.stderr
    lives.unlink()
    wait_until(lambda: cli.sessions()[0]["state"] != "live")
    wait_until(lambda: subprocess.run(["pgrep", "-f", f"^{GUEST} waits {lives}"],
                                      capture_output=True).returncode == 1)
    assert said.read_text() == ""


@needs_root
def test_pid_namespaces(cli):
    """By pid, a run in a container looks dead; nothing of it may be removed."""
    lives = cli.folder / "lives"
    lives.touch()
    inside = ["unshare", "-pf", "--mount-proc", str(HOTPATH), "run", "--format", "none", GUEST, "waits", str(lives)]
    if subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode != 0:
        pytest.skip("no pid namespaces here")
    process = subprocess.Popen(inside, stdout=subprocess.PIPE, env=cli.environment(), text=True)
    assert process.stdout.readline() == "waiting\n"
    assert [one["state"] for one in cli.sessions()] == ["live"]  # its runner holds a lock
    assert "1 live skipped" in cli("clean").stdout
    cli("run", "--keep", "1", "--format", "none", GUEST, "five")
    assert len(cli.sessions()) == 2
    lives.unlink()
    process.communicate(timeout=TIMEOUT)
    assert sorted(one["state"] for one in cli.sessions()) == ["finished", "finished"]
    # A single session of the container has the state elsewhere.
    lives.touch()
    process = subprocess.Popen(["unshare", "-pf", "--mount-proc", GUEST, "waits", str(lives)],
                               stdout=subprocess.PIPE, env=cli.environment(), text=True)
    assert process.stdout.readline() == "waiting\n"
    assert cli.sessions()[0]["state"] == "elsewhere"
    assert "1 of other pid namespaces skipped" in cli("clean").stdout
    lives.unlink()
    process.communicate(timeout=TIMEOUT)
    assert cli("clean", "--elsewhere").stdout.startswith("removed 1 session, ")


@needs_root
def test_a_process_in_a_container(cli):
    """It has its own folders and its own pid: its mappings lead to its session, which is known to be live."""
    lives, hidden = cli.folder / "lives", cli.folder / "hidden"
    lives.touch()
    hidden.mkdir()
    inside = f"mount -t tmpfs -o mode=700 tmpfs {hidden} && exec {GUEST} waits {lives}"
    if subprocess.run(["unshare", "-pfm", "--mount-proc", "mount", "-t", "tmpfs", "tmpfs", hidden],
                      capture_output=True).returncode != 0:
        pytest.skip("no containers here")
    process = subprocess.Popen(["unshare", "-pfm", "--mount-proc", "sh", "-c", inside], stdout=subprocess.PIPE,
                               env={**cli.environment(), "HOTPATH_DIR": str(hidden)}, text=True)
    assert process.stdout.readline() == "waiting\n"
    pid = subprocess.run(["pgrep", "-f", f"^{GUEST} waits {lives}"], capture_output=True,
                         text=True).stdout.split()[0]
    assert cli.sessions() == [] and not list(hidden.iterdir())
    live = cli.read(pid)
    assert live.values["state"] == "running" and live.calls("work") > 0
    assert "● live" in cli("console", "--once", pid, env={"LC_ALL": "C.UTF-8"}).stdout.splitlines()[0]
    lives.unlink()
    process.communicate(timeout=TIMEOUT)
    assert "no session of process" in cli("report", pid, status=1).stderr


def test_a_relative_folder(cli):
    done = cli("run", "--no-preload", "--dir", "here", "sh", "-c", f"cd / && {GUEST} five")
    assert "| work" in done.stderr
    assert cli("report", "--dir", "here", "--section", "timing").stdout.count("| work") == 1


def test_old_runs_are_forgotten(cli):
    for _ in range(5):
        cli("run", "--keep", "3", "--format", "none", GUEST, "five")
    assert len(cli.sessions()) == 3


@needs_root
def test_no_folder_for_sessions(cli):
    """The program runs all the same."""
    done = cli("run", GUEST, "ends", "exit", env={"HOTPATH_DIR": "/proc"}, status=7)
    assert done.stdout == "ends by exit\n"
    assert "no directory for sessions can be used (No space left on device)" in done.stderr and "[hotpath]" in done.stderr


# -------------------------------------------------------------------------------------------------------- signals

def test_signals_sent_to_hotpath_reach_the_program(cli):
    process = cli.start("run", "--format", "none", GUEST, "hears")
    assert process.stdout.readline() == "listening\n"
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1):
        process.send_signal(number)
        assert process.stdout.readline() == f"signal {int(number):02}\n"
    process.send_signal(signal.SIGUSR2)
    assert process.stdout.readline() == "signal 12\n"
    assert process.wait(TIMEOUT) == 5


def test_every_signal_reaches_the_program(cli):
    """Every signal that ends the program by default ends it, and not only us."""
    for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGXCPU, signal.SIGPIPE,
                   signal.SIGABRT, signal.SIGRTMIN, signal.SIGRTMAX):
        process = cli.start("run", "--format", "none", GUEST, "hears")
        assert process.stdout.readline() == "listening\n"
        process.send_signal(number)
        assert process.wait(TIMEOUT) == -number
    # In its own process group: a process whose group has no parent in the session does not stop.
    process = cli.start("run", "--format", "none", GUEST, "hears", preexec_fn=os.setpgrp)
    process.stdout.readline()
    process.send_signal(signal.SIGTSTP)  # only to us: the program stops, and so do we
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGUSR2)
    assert process.wait(TIMEOUT) == 5


def test_an_alarm_from_before(cli):
    done = subprocess.run(["perl", "-e", "alarm 1; exec @ARGV", str(HOTPATH), "run", "--format", "none",
                           "sleep", "60"], env=cli.environment(), timeout=TIMEOUT, capture_output=True)
    assert done.returncode == -signal.SIGALRM


def test_signals_ignored_and_blocked_before(cli):
    """The status of the program is known although SIGCHLD is ignored."""
    ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    assert cli("run", "sh", "-c", "exit 3", preexec_fn=ignore, status=3)
    done = cli("run", "grep", "SigIgn", "/proc/self/status", preexec_fn=ignore)
    assert int(done.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1
    block = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGALRM])
    cli("run", "--timeout", "100", "sleep", "60", preexec_fn=block, status=-signal.SIGKILL)


def test_a_hang_up_reaches_the_program(cli):
    """The kernel sends it to the session leader, which is us."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(HOTPATH, [str(HOTPATH), "run", "--format", "none", "sleep", "60"], cli.environment())
    wait_until(lambda: subprocess.run(["pgrep", "-P", str(pid), "sleep"], capture_output=True).stdout)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGHUP


def test_nohup_stays_nohup(cli):
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    done = cli("run", "--format", "none", "grep", "SigIgn", "/proc/self/status", preexec_fn=ignore)
    assert int(done.stdout.split()[1], 16) & 1


def test_the_program_finds_signals_as_hotpath_did(cli):
    """No mask, no ignored signal and no descriptor is left behind."""
    script = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status; ls -l /proc/self/fd | wc -l"
    alone = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=cli.environment(),
                           stdin=subprocess.DEVNULL)
    assert cli("run", "sh", "-c", script).stdout == alone.stdout


def ends_soon(fd):
    """Whether it can be read to its end."""
    return bool(select.select([fd], [], [], TIMEOUT)[0]) and os.read(fd, 1) == b""


def test_descriptors_are_the_programs_alone(cli):
    """When the program closes them, the other end notices."""
    go_on, tell = os.pipe()
    heard, ready = os.pipe()
    script = f"import os; [os.close(fd) for fd in (0, 1, {ready})]; os.read({go_on}, 1)"
    process = cli.start("run", "--format", "none", sys.executable, "-c", script, stdin=subprocess.PIPE,
                        pass_fds=[go_on, ready])
    os.close(ready)
    try:
        assert ends_soon(heard) and ends_soon(process.stdout.fileno())
        writer = select.poll()
        writer.register(process.stdin, 0)
        assert writer.poll(TIMEOUT * 1000)[0][1] & select.POLLERR
        assert process.poll() is None
    finally:
        os.write(tell, b"x")
    assert process.wait(TIMEOUT) == 0


def test_a_report_to_a_descriptor(cli):
    """It is kept open for that."""
    assert "| work" in cli("run", "--section", "timing", "--output", "/dev/stdout", GUEST, "five").stdout


def test_a_lock_from_before(cli):
    """It belongs to the process that was started, which is us."""
    lives = cli.folder / "lives"
    lives.touch()
    with open(cli.folder / "lock", "w") as lock:
        process = cli.start("run", "--format", "none", GUEST, "waits", lives, pass_fds=[lock.fileno()],
                            preexec_fn=lambda: fcntl.lockf(lock, fcntl.LOCK_EX))
        assert process.stdout.readline() == "waiting\n"
        with pytest.raises(OSError):
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lives.unlink()
    process.communicate(timeout=TIMEOUT)


def limit_files(most):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@pytest.mark.parametrize("most", [4, 5, 6, 8])
@without_sanitizer("it needs descriptors itself")
def test_hardly_any_descriptors(cli, most):
    """The program runs, and has its own exit status."""
    plain = subprocess.run([GUEST, "ends", "return"], preexec_fn=limit_files(most), env=cli.environment(),
                           capture_output=True)
    assert plain.returncode == 7
    done = cli("run", GUEST, "ends", "return", preexec_fn=limit_files(most), status=7)
    assert done.stdout == plain.stdout.decode()


def test_the_limit_of_descriptors_is_the_same(cli):
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (123, 234))
    assert cli("run", "sh", "-c", "ulimit -Sn; ulimit -Hn", preexec_fn=limit).stdout == "123\n234\n"


def test_who_dies_with_its_parent(cli):
    """PR_SET_PDEATHSIG survives exec, but not fork."""
    kill_me = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"
    start = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    parent = subprocess.Popen([sys.executable, "-c", start, kill_me, str(HOTPATH), "run", "--format", "none", "sh",
                               "-c", "echo $$; exec sleep 600"], stdout=subprocess.PIPE, env=cli.environment())
    program = int(parent.stdout.readline())
    parent.kill()
    try:
        assert ends_soon(parent.stdout.fileno())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(program, signal.SIGKILL)
        parent.communicate()


def test_orphans_do_not_stay_as_zombies(cli):
    """They are reparented to us if we are the first process of a container, or a subreaper for another reason."""
    look_after_orphans = lambda: ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    script = ("p=$(sh -c 'sh -c : > /dev/null & echo $!'); "
              "for i in $(seq 1000); do [ -e /proc/$p ] || exit 0; sleep 0.01; done; exit 1")
    cli("run", "--format", "none", "sh", "-c", script, preexec_fn=look_after_orphans)


def test_stopping(cli):
    """hotpath stops with its program and continues it, as a shell expects of a job."""
    process = cli.start("run", "--format", "none", GUEST, "stops")
    assert process.stdout.readline() == "stopping\n"
    pid, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    assert process.stdout.readline() == "going on\n"
    assert process.wait(TIMEOUT) == 0


@pytest.fixture
def shell(cli):
    shell = Terminal(cli.box, 500, env=cli.environment(), command=("bash", "--norc", "-i"))
    yield shell
    shell.close()


def test_stopped_and_continued_by_others(cli):
    """Those who continue the program do not know of us."""
    for _ in range(5):
        done = cli("run", "--format", "none", "sh", "-c", "(sleep 0.1; kill -CONT $$) & kill -STOP $$; echo done")
        assert done.stdout == "done\n"


def test_ctrl_z_of_a_program_that_does_not_stop(cli, shell):
    """The shell must not take the terminal away from it."""
    shell.type(f"{HOTPATH} run --section timing sh -c \"trap '' TSTP; echo begin; read line; echo got \\$line\"",
               "Enter")
    shell.wait_for("^begin")
    shell.type("C-z")
    time.sleep(0.2)
    shell.type("hello", "Enter")
    screen = shell.wait_for("^got hello")
    assert "Stopped" not in screen


def test_terminal_and_ctrl_c(cli, shell):
    shell.type(f"{HOTPATH} run --format none {GUEST} terminal", "Enter")
    shell.wait_for("terminal 1 1, foreground 1, leader of session 0")
    shell.type("hello", "Enter")
    shell.wait_for("read hello")
    shell.type(f"clear; {HOTPATH} run --section timing {GUEST} hears", "Enter")
    shell.wait_for("listening")
    shell.type("C-c")
    screen = shell.wait_for("signal 02")
    assert screen.count("signal 02") == 1  # not passed on a second time
    shell.type("C-\\")
    shell.wait_for("signal 03")
    subprocess.run(["pkill", "-USR2", "-f", f"^{GUEST} hears"], check=True)
    shell.wait_for(r"(?s)signal 12.*\[hotpath\].*\| work.*ready\$$")
    shell.type("echo status $?", "Enter")
    shell.wait_for("status 5")


CLEAR = r"printf '\e[H\e[2J'"  # by the shell itself: `clear` would be a job, and a late key would stop it


def stop_job(shell):
    """A key is lost if it comes before the shell has given the terminal to its job, and so is what a slow `clear`
    erases; so it is typed again, and the shell asked for its jobs."""
    for _ in range(60):
        shell.type("C-z")
        time.sleep(0.5)
        if re.search(r"Stopped.*hotpath run", plain(shell.screen())):
            return
        shell.type("jobs", "Enter")
        time.sleep(0.5)
        if re.search(r"Stopped.*hotpath run", plain(shell.screen())):
            return
    shell.wait_for(r"Stopped.*hotpath run")


def test_job_control(cli, shell):
    lives = cli.folder / "lives"
    lives.touch()
    shell.type(f"{HOTPATH} run --section timing {GUEST} waits {lives}", "Enter")  # all of it must fit on the screen
    shell.wait_for("waiting")
    for _ in range(3):
        stop_job(shell)
        shell.type(CLEAR, "Enter", "fg", "Enter")
        shell.wait_for(r"^ready\$ fg *\n.*hotpath run .*waits")
    stop_job(shell)
    shell.type(CLEAR, "Enter", "bg", "Enter")
    shell.wait_for(r"^ready\$ bg *\n.*hotpath run .*waits .*&")
    lives.unlink()
    shell.wait_for(r"(?s)calls \d+.*\[hotpath\]")
    shell.type("Enter")
    shell.wait_for(r"Done.*hotpath run")


def test_a_shell_in_a_shell(cli, shell):
    """It has its own process group, and the terminal; both are restored when it is continued."""
    shell.type(f"clear; PS1='inner$ ' {HOTPATH} run --format none bash --norc -i", "Enter")
    shell.wait_for(r"^inner\$")
    shell.type("suspend -f", "Enter")
    shell.wait_for(r"Stopped.*hotpath run")
    shell.type("clear; fg", "Enter")
    shell.wait_for(r"^inner\$")
    shell.type("sh -c 'echo begin; read line; echo got $line'", "Enter")
    shell.wait_for("^begin")
    shell.type("hello", "Enter")
    shell.wait_for("^got hello")
    shell.type("exit 5", "Enter")
    shell.wait_for(r"^exit\n(.*\n)*ready\$")
    shell.type("echo status $?", "Enter")
    shell.wait_for("status 5")


# ------------------------------------------------------------------------------------------- report, ls, clean

def test_report_of_a_live_process(cli):
    lives = cli.folder / "lives"
    lives.touch()
    process = cli.start("run", "--format", "none", GUEST, "waits", lives)
    assert process.stdout.readline() == "waiting\n"
    pid = str(cli.sessions("-a")[0]["pid"])
    first = cli.read(pid)
    wait_until(lambda: cli.read(pid).calls("work") > first.calls("work"))
    assert first.values["state"] == "running" and first.row("main").open == 1
    lives.unlink()
    stdout, _ = process.communicate(timeout=TIMEOUT)
    assert cli.read(pid).calls("work") == int(stdout.split()[-1])


def test_tree(cli):
    cli.run(GUEST, "five")
    assert "calltree" not in cli("report").stdout
    assert "calltree - " in cli("report", "--tree").stdout and "timing - " in cli("report", "-t").stdout
    assert "timing - " not in cli("report", "--section", "calltree").stdout


# A session with logs and slowest calls; all numbers are known.
KEPT = SOURCE / "fuzz" / "corpus" / "session" / "kept-calls"


def test_the_latest_calls_are_shown_where_there_are_some(cli):
    text = cli("report", KEPT).stdout
    assert "| timing, calls\n" in text and "\ncalls - " in text and "slowest" not in text
    assert "calls - " not in cli("report", KEPT, "--section=-calls").stdout
    rows = json.loads(cli("report", KEPT, "--format", "json").stdout)["sections"]["calls"]["rows"]
    assert [(row["name"], row["duration_ns"], row["tid"], row["thread"], row["note"]) for row in rows] == [
        ("parse", 100 + call, 4242 + worker, "worker" if worker else "demo", "rows=12" if call % 2 else None)
        for call in (3, 2, 1, 0) for worker in (0, 1) if (call, worker) != (0, 1)]
    assert [row["ago_ns"] for row in rows] == [10**6 - 5000 * call - 100 - call for call in (3, 3, 2, 2, 1, 1, 0)]
    one = json.loads(cli("report", KEPT, "--format", "json", "--logs-limit", "1").stdout)["sections"]["calls"]
    assert one["rows"] == rows[:1] and one["total_rows"] == 7


def test_the_slowest_call_is_shown_on_request(cli):
    text = cli("report", KEPT, "--slowest", "parse").stdout
    assert "| timing, calls, slowest\n" in text
    assert "slowest - The slowest call of parse: 10.00 µs after the start" in text
    assert r"id=\x1b[7m" in text and "\x1b" not in text
    assert "3 more call paths were not kept" in text
    section = json.loads(cli("report", KEPT, "--slowest", "parse", "-f", "json").stdout)["sections"]["slowest"]
    [call] = section["rows"]
    assert (call["name"], call["calls"], call["total_ns"], call["self_ns"]) == ("parse", 1, 4001, 1000)
    [lex] = call["children"]
    [inner] = lex["children"]
    assert (lex["calls"], lex["total_ns"], lex["note"]) == (3, 3000, "id=\x1b[7m")
    assert (inner["name"], inner["calls"], inner["children"]) == ("eval", 2, [])
    assert "no called function matches 'nobody'" in cli("report", KEPT, "--slowest", "nobody").stdout
    assert "needs a value" in cli("report", KEPT, "--slowest", status=2).stderr
    assert "--slowest '/(/'" in cli("report", KEPT, "--slowest", "/(/", status=2).stderr


def test_single_calls_follow_the_schema(cli):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SOURCE / "docs" / "report.schema.json").read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    for name in ("parse", "eval", "/./", "nobody"):
        values = json.loads(cli("report", KEPT, "--slowest", name, "--section", "all", "-f", "json").stdout)
        assert {"timing", "calltree", "calls", "slowest", "processes", "cold"} == set(values["sections"])
        assert list(validator.iter_errors(values)) == []
    values = json.loads(cli("report", KEPT, "--slowest", "parse", "-f", "json").stdout)
    for section, key in (("calls", "ago_ns"), ("slowest", "percent_call")):
        broken = json.loads(json.dumps(values))
        del broken["sections"][section]["rows"][0][key]
        assert not validator.is_valid(broken)


def test_names_that_report_takes(cli):
    cli.run(GUEST, "five")
    cli.run(GUEST, "ends", "exit", status=7)
    newest, oldest = cli.sessions()
    assert cli.read().calls("work") == 3
    name = os.path.basename(oldest["path"])
    for given in (oldest["path"], name, name.split(".")[0], str(oldest["pid"])):
        assert cli.read(given).calls("work") == 5, given
    [file] = [file for file in os.listdir(oldest["path"]) if file.endswith(".hotpath")]
    for given in (os.path.join(oldest["path"], file), file, file.split(".")[0]):
        assert cli.read(given).calls("work") == 5, given


def test_output_of_report(cli):
    cli.run(GUEST, "five")
    environment = {"HOTPATH_OUTPUT_PATH": str(cli.folder / "of-the-program.json"), "HOTPATH_OUTPUT_FORMAT": "none"}
    assert "| work" in cli("report", env=environment).stdout
    assert not (cli.folder / "of-the-program.json").exists()
    assert cli("report", "-o", cli.folder / "%p.txt").stdout == ""
    [file] = cli.folder.glob("*.txt")
    assert file.stem == str(cli.sessions()[0]["pid"]) and "| work" in file.read_text()


def test_ls(cli):
    assert cli("ls").stderr == "no sessions\n"
    cli.run(GUEST, "five")
    cli.run(GUEST, "ends", "_exit", status=7)
    cli.box.run("guest", "five", folder=cli.folder)
    lines = cli("ls").stdout.splitlines()
    assert lines[0].split() == ["NAME", "STATE", "STARTED", "DISK", "PROCESSES", "COMMAND"] and len(lines) == 4
    assert [fields(line)[1] for line in lines[1:]] == ["finished", "exit 7", "finished"]
    assert lines[1].endswith(f"{GUEST} five")
    assert all(re.fullmatch(r"\d+s ago", fields(line)[2]) and re.fullmatch(r"pid \d+", fields(line)[4])
               for line in lines[1:])
    assert len(cli("ls", "--all").stdout.splitlines()) == 6
    assert [session["state"] for session in cli.sessions()] == ["finished", "crashed", "finished"]


def fields(line):
    """Of a line of hotpath ls: columns are two blanks apart."""
    return re.split(r" {2,}", line)


def test_ls_says_how_programs_ended(cli):
    """Of a run, what its program said; of a single session, whether it was finished."""
    cli.run("sh", "-c", "exec ls")
    cli.run("sh", "-c", "ls; true")
    cli.run("sh", "-c", "kill -9 $$", status=-signal.SIGKILL)
    cli.box.run("guest", "ends", "_exit", folder=cli.folder, status=7)
    lives = cli.folder / "lives"
    lives.touch()
    running = cli.start("run", "--format", "none", GUEST, "waits", lives)
    wait_until(lambda: any(session["state"] == "live" and session["processes"] for session in cli.sessions()))
    lines = [fields(line) for line in cli("ls").stdout.splitlines()[1:]]
    assert [line[1] for line in lines] == ["running", "unfinished", "killed: SIGKILL", "finished", "finished"]
    assert lines[0][5] == f"{GUEST} waits {lives}"
    assert re.fullmatch(r"pid \d+ and 1 more", lines[3][4])
    assert re.fullmatch(r"pid \d+", lines[4][4])  # a program that executed another is still one process
    lives.unlink()
    running.communicate(timeout=TIMEOUT)
    running.communicate()


def test_the_first_thread_has_ended(cli):
    """The kernel shows nothing of such a process, but it goes on."""
    lives = cli.folder / "lives"
    lives.touch()
    process = cli.box.start("guest", "lone", lives, folder=cli.folder)
    assert process.stdout.readline() == b"waiting\n"
    wait_until(lambda: open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()[0] == "Z")
    assert [one["state"] for one in cli.sessions()] == ["live"]
    assert "1 live skipped" in cli("clean").stdout
    lives.unlink()
    cli.box.finish(process)
    assert [one["state"] for one in cli.sessions()] == ["finished"]


def test_clean(cli):
    lives = cli.folder / "lives"
    lives.touch()
    live = cli.start("run", "--format", "none", GUEST, "waits", lives)
    live.stdout.readline()
    for _ in range(3):
        cli.run(GUEST, "family", 2)
    (cli.folder / "somebody's.txt").write_text("stays")
    for run in cli.folder.glob("*.run"):
        (run / "stacks.new").touch()  # hotpath was killed while it wrote them
    assert "would remove 3 sessions" in cli("clean", "-n").stdout
    assert cli("clean", "--keep", "2").stdout.startswith("removed 1 session, ")
    assert re.fullmatch(r"removed 2 sessions, .*; 1 live skipped\n", cli("clean").stdout)
    assert [one["state"] for one in cli.sessions()] == ["live"]
    lives.unlink()
    live.communicate(timeout=TIMEOUT)
    assert cli("clean").stdout.startswith("removed 1 session, ") and cli.sessions() == []
    assert (cli.folder / "somebody's.txt").read_text() == "stays"


def test_the_newest_session_is_one_that_has_something(cli):
    cli.run(GUEST, "five")
    time.sleep(0.1)  # folders are dated by the kernel's ticks, sessions by its clock
    process = cli.start("run", "--no-preload", "--no-stacks", "sleep", "60")
    wait_until(lambda: len(cli.sessions()) == 2)
    assert cli.sessions()[0]["processes"] == 0
    assert cli.read().calls("work") == 5
    process.terminate()
    process.communicate(timeout=TIMEOUT)


# -------------------------------------------------------------------------------------------------------- on, off

def test_off_and_on(cli):
    lives = cli.folder / "lives"
    lives.touch()
    process = cli.start("run", "--format", "none", GUEST, "waits", lives)
    process.stdout.readline()
    pid = str(cli.sessions("-a")[0]["pid"])
    work = lambda: cli.read(pid).calls("work")
    wait_until(lambda: work() > 10)
    assert cli("off", pid).stdout == f"recording in process {pid} is now off\n"
    assert cli("off", pid).stdout == f"recording in process {pid} was already off\n"
    assert [one["recording"] for one in cli.sessions("-a")] == [False, False]
    stopped_at = work()
    time.sleep(0.2)
    assert work() - stopped_at <= 1  # the one that was open
    assert cli("on", pid).stdout == f"recording in process {pid} is now on\n"
    wait_until(lambda: work() > stopped_at + 10)
    lives.unlink()
    process.communicate(timeout=TIMEOUT)
    report = cli.read(pid)
    assert report.lost == {} and report.row("main").open == 0
    assert "you have no live session" in cli("off", pid, status=1).stderr


def test_off_while_zones_are_open(cli):
    """Open zones end as usual: main is switched off in its middle and still has its whole time."""
    lives = cli.folder / "lives"
    lives.touch()
    process = cli.start("run", "--format", "none", GUEST, "waits", lives)
    process.stdout.readline()
    pid = str(cli.sessions("-a")[0]["pid"])
    cli("off", pid)
    lives.unlink()
    process.communicate(timeout=TIMEOUT)
    report = cli.read(pid)
    assert report.calls("main") == 1 and report.row("main").open == 0 and report.lost == {}
    assert report.values["state"] == "finished"


def test_one_of_several_is_off(cli):
    lives = cli.folder / "lives"
    lives.touch()
    process = cli.start("run", "--no-preload", "--format", "none", "sh", "-c",
                        f"{GUEST} waits {lives} & {GUEST} waits {lives}; wait")
    wait_until(lambda: len(cli.sessions("-a")) == 3)
    cli("off", cli.sessions("-a")[-1]["pid"])
    assert cli.sessions()[0]["recording"] is True
    cli("off", *(one["pid"] for one in cli.sessions("-a")))
    assert cli.sessions()[0]["recording"] is False and " paused " in cli("ls").stdout
    lives.unlink()
    process.communicate(timeout=TIMEOUT)


# ----------------------------------------------------------------------------------------------- hostile folders

@pytest.fixture
def finished(cli):
    """A folder with one valid session, and its path."""
    cli.box.run("guest", "five", folder=cli.folder)
    [session] = cli.folder.glob("*.hotpath")
    return session


def test_links_in_the_folder_are_not_followed(cli, finished):
    elsewhere = cli.box.folder() / finished.name
    finished.rename(elsewhere)
    finished.symlink_to(elsewhere)
    assert cli.sessions() == []
    (cli.folder / "1-1.run").symlink_to(elsewhere.parent)
    done = cli("ls")
    assert "1-1.run': it is a symbolic link or not a directory" in done.stderr and done.stdout == ""


def test_odd_files_in_the_folder(cli, finished):
    os.mkfifo(cli.folder / "1-1-0.hotpath")
    (cli.folder / "2-2-0.hotpath").mkdir()
    (cli.folder / "3-3-0.hotpath").write_bytes(b"")
    (cli.folder / "4-4-0.hotpath").write_bytes(os.urandom(70000))
    (cli.folder / "5-5-0.hotpath").write_bytes(finished.read_bytes()[:5000])
    (cli.folder / "6-6.run").write_bytes(b"")
    done = cli("ls")
    assert len(done.stdout.splitlines()) in (2, 3)  # the truncated one has a complete header
    assert cli.read(str(finished)).calls("work") == 5


def test_large_files_are_not_read_whole(cli, finished):
    """Neither a file that is not a session, nor one whose header gives a smaller size."""
    for name, expected in (("zeros", 1), (finished, 0)):
        os.truncate(os.open(cli.folder / name, os.O_CREAT | os.O_RDWR), 4 << 30)
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
        done = cli("report", cli.folder / name, status=expected, preexec_fn=None if SANITIZER else limit)
        assert expected == 0 or "cannot read" in done.stderr


def test_a_folder_others_can_write_to(cli, finished):
    cli.folder.chmod(0o777)
    done = cli("ls")
    assert "others can write to it" in done.stderr and done.stdout == ""
    assert "others can write" in cli("report", status=1).stderr


def test_a_folder_that_is_a_link(cli, finished):
    link = cli.box.folder() / "link"
    link.symlink_to(cli.folder)
    done = cli("ls", env={"HOTPATH_DIR": str(link)})
    assert "it is a symbolic link or not a directory" in done.stderr and done.stdout == ""


@needs_root
def test_sessions_of_another_user(cli, finished):
    nobody = pwd.getpwnam("nobody").pw_uid
    os.chown(cli.folder, nobody, -1)
    done = cli("ls")
    assert "it belongs to nobody" in done.stderr and done.stdout == ""
    os.chown(cli.folder, 0, -1)
    finished.chmod(0o644)
    for folder in (cli.box.path, cli.folder):
        folder.chmod(0o755)
    cli.program = cli.box.for_everyone(HOTPATH)
    assert "it belongs to user root (0)" in cli("report", finished, user=nobody, status=1).stderr
    finished.chmod(0o600)
    assert "Permission denied" in cli("report", finished, user=nobody, status=1).stderr


def test_escapes_in_names(cli):
    odd = cli.folder / "\x1b[31mred\u009b\nline"
    odd.symlink_to(GUEST)
    done = cli("run", odd, "family", 2)
    assert "\x1b" not in done.stderr
    for args in (["ls", "-a"], ["report"], ["report", "--section", "all"]):
        text = cli(*args).stdout
        assert "\x1b" not in text and "\u009b" not in text and "red" in text
    assert len(cli("ls").stdout.splitlines()) == 2
    [session] = [one for one in cli.sessions("-a") if "family" in one["command"] and one["kind"] == "session"][:1]
    os.link(session["path"], cli.folder / "1\x1b[31m\n-1-1.hotpath")
    assert "\x1b" not in cli("ls").stdout and len(cli("ls").stdout.splitlines()) == 3
    assert "\x1b" not in cli("report", cli.folder / "\x1b[31m", status=1).stderr


# --------------------------------------------------------------------------------------------------------- doctor

def test_doctor(cli):
    text = cli("doctor", env={"HOTPATH_LIMITS": "3"}).stdout
    for name in ("system", "clock", "sessions", "library", "threads", "cpu", "waits", "limits", "proc",
                 "environment"):
        assert re.search(rf"^(ok|note|BAD) +{name} ", text, re.M), name
    assert "unknown variables: HOTPATH_LIMITS" in text
    assert "2 hotpath variables are set" in cli("doctor", env={"HOTPATH": "1"}).stdout  # and HOTPATH_DIR


@needs_root
def test_doctor_finds_a_bad_folder(cli):
    text = cli("doctor", env={"HOTPATH_DIR": "/proc"}, status=1).stdout
    assert re.search(r"^BAD +sessions ", text, re.M) and "fix: mkdir" in text


# ---------------------------------------------------------------------------------------------------- completions

def completions(cli, *words):
    script = f"""
        PATH={HOTPATH.parent}:$PATH
        source "$1"
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _hotpath
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    file = str(SOURCE / "completions" / "hotpath.bash")
    return subprocess.run(["bash", "-c", script, "bash", file, "hotpath", *words], capture_output=True, text=True,
                          check=True, env=cli.environment(), cwd=cli.folder).stdout.split()


def test_bash_completions(cli):
    assert completions(cli, "rep") == ["report"]
    assert set(completions(cli, "o")) == {"on", "off", "open"}
    assert "--percentiles" in completions(cli, "run", "--p")
    assert completions(cli, "report", "--format", "j") == ["json", "json-pretty"]
    assert set(completions(cli, "help", "")) >= {"run", "environment"}
    cli.run(GUEST, "five")
    name = os.path.basename(cli.sessions()[0]["path"]).split(".")[0]
    assert name in completions(cli, "report", name[:3])


@pytest.mark.parametrize("shell, file", [("zsh", "_hotpath"), ("fish", "hotpath.fish")])
def test_completions_of_other_shells(cli, shell, file):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    path = SOURCE / "completions" / file
    subprocess.run([shell, "-n", path], check=True)
    if shell == "fish":
        words = subprocess.run([shell, "-c",
                                f'source {path}; complete -C "hotpath o"; complete -C "hotpath ls --"'],
                               capture_output=True, text=True, check=True, cwd=cli.folder).stdout
        assert {line.split("\t")[0] for line in words.splitlines()} == {
            "on", "off", "--all", "--json", "--dir", "--help"}
