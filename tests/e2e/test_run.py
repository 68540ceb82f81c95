"""hotpath run: options, exit status, timeouts, and runs of many processes."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from command import GUEST, cli, plain_run, wait_until  # noqa: F401 (a fixture)
from harness import (EMULATOR, EXAMPLES, HOTPATH, PROGRAMS, SANITIZER, TIMEOUT, Report, needs_root, with_glibc,
                     without_sanitizer)

pytestmark = pytest.mark.skipif(bool(EMULATOR), reason="not under an emulator: it would have to start another")


# ---------------------------------------------------------------------------------------------------------- run

@pytest.mark.parametrize("how, status", [("return", 7), ("exit", 7), ("_exit", 7), ("abort", -signal.SIGABRT),
                                         ("segv", -signal.SIGSEGV), ("kill", -signal.SIGKILL)])
@without_sanitizer("it catches signals")
def test_exit_status_is_that_of_the_program(cli, how, status):
    done = cli.run(GUEST, "ends", how, status=status)
    assert done.stdout == plain_run(cli, "ends", how).stdout == f"ends by {how}\n"
    assert done.report.calls("work") == 3 and done.report.calls("main") == 1
    assert done.stderr == ""


@without_sanitizer("it has a malloc of its own")
def test_nothing_is_freed_before_the_program_is_ready(cli):
    """Looking functions up made libc free the text of an error, with a free of the program."""
    done = cli.run(PROGRAMS / "late_malloc")
    assert (done.status, done.stdout, done.stderr) == (0, "prepared\n", "")


def test_run_prints_one_report(cli):
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
    (["--section", "alocs"], "--section: no section 'alocs' (did you mean 'alloc'?)"),
    (["--section", "zzzzzz"], "--section: no section 'zzzzzz'; 'all' shows all sections"),
    (["--columns", "slf"], "--columns: no column 'slf' (did you mean 'self'?)"),
    (["--columns", "self,zzzzzz"], "--columns: no column 'zzzzzz'; 'all' shows all columns"),
    (["--sort", "-totl"], "--sort: no column 'totl' (did you mean 'total'?)"),
])
def test_unknown_sections_and_columns_are_refused_before_the_run(cli, args, said):
    done = cli("run", *args, GUEST, "five", status=2)
    assert done.stdout == "" and said in done.stderr and cli.sessions() == []
    assert said in cli("report", *args, status=2).stderr


@pytest.mark.parametrize("args", [["--section", "all,-timing,ALLOC"],
                                  ["--columns", "self,MIN,p95,thread,looks,why,size_bytes"],
                                  ["--sort", "thread", "--by", "thread"], ["--sort", "-calls"],
                                  ["--columns", "p99.9", "--percentiles", "99.9"]])
def test_known_sections_and_columns_are_accepted(cli, args):
    cli("run", "--format", "none", *args, GUEST, "five")


def test_commands_are_suggested_where_there_is_a_command(cli):
    """By programs themselves: the library may be in them, and nothing else installed."""
    folder = cli.folder / "bin"
    folder.mkdir()
    env = cli.environment({"HOTPATH_CPU": "1", "PATH": f"/nonexistent::{folder}"})
    for name in ("other", "hotpath"):
        (folder / name).symlink_to(HOTPATH)
        said = subprocess.run([GUEST, "five"], capture_output=True, text=True, env=env).stderr
        assert "[hotpath]" in said
        assert ("All tables: hotpath report -v" in said) == (name == "hotpath"), said


def test_misspelt_variables_are_named(cli):
    """Printed once, by the process that reports."""
    line = "hotpath: unknown variable HOTPATH_LIMITS; did you mean HOTPATH_LIMIT?"
    done = cli("run", GUEST, "five", env={"HOTPATH_LIMITS": "3", "HOTPATH_COLUMNS": "slf"})
    assert done.lines == ["hotpath: HOTPATH_COLUMNS: no column 'slf' (did you mean 'self'?)", line]
    alone = subprocess.run([GUEST, "five"], capture_output=True, text=True,
                           env=cli.environment({"HOTPATH_LIMITS": "3"}))
    assert alone.stderr.count(line) == 1
    alone = subprocess.run([GUEST, "five"], capture_output=True, text=True,
                           env=cli.environment({"HOTPATH_OUTPUT": "file"}))
    assert "unknown variable HOTPATH_OUTPUT; did you mean HOTPATH_OUTPUT_PATH?" in alone.stderr
    off = subprocess.run([GUEST, "five"], capture_output=True, text=True,
                         env=cli.environment({"HOTPATH_LIMITS": "3", "HOTPATH": "0"}))
    assert off.stderr == ""


def test_filter_without_matches_is_reported(cli):
    done = cli.run("--filter", "nosuch", GUEST, "five")
    assert done.report.values["warnings"] == ["no called function matches the filter 'nosuch'"]
    assert cli.run("--filter", "work", GUEST, "five").report.values["warnings"] == []


@with_glibc("nothing of ours is in Debian's programs else")
@without_sanitizer("nothing of ours is in the program then")
def test_report_without_measured_functions_says_how_to_measure(cli):
    assert "Compile with -DHOTPATH and put HOTPATH_MEASURE() into functions" in cli("run", "ls", "/").stderr


def test_options_after_the_program_belong_to_it(cli):
    assert cli("run", "echo", "--help", "-n", "--format").stdout == "--help -n --format\n"
    assert cli("run", "--", "echo", "-x").stdout == "-x\n"


def test_programs_that_cannot_be_run(cli):
    # A folder of PATH that may not be entered might have it.
    assert "cannot run 'nosuch': No such file" in cli("run", "nosuch", env={"PATH": "/usr/bin:/bin"},
                                                      status=127).stderr
    script = cli.folder / "script"
    script.write_text("#! /nonexistent/interpreter -x\n")
    script.chmod(0o755)
    assert (f"cannot run '{script}': its interpreter '/nonexistent/interpreter' does not exist"
            in cli("run", script, status=127).stderr)
    assert "cannot run '/etc/passwd': Permission" in cli("run", "/etc/passwd", status=126).stderr
    assert cli.sessions() == []


@with_glibc("nothing of ours is in Debian's programs else")
@without_sanitizer("a child of ours takes long there until it executes the program")
def test_a_run_of_a_millisecond_is_as_long_as_its_cpu_time(cli):
    """What the kernel and the dynamic linker do before the session begins is in both."""
    for _ in range(3):
        report = json.loads(cli("run", "--format", "json", "--section", "cpu", "true").stderr)
        assert 0 < report["sections"]["cpu"]["totals"]["cpu_ns"] <= report["elapsed_ns"]


def test_program_without_a_session_is_reported(cli):
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


def test_many_short_lived_children(cli):
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
    # Its own three, and five of a child that it forks afterwards, which cannot reach our folder.
    assert done.report.calls("work") == 8 and done.report.lost == {} and done.stderr == ""
    assert "outside" not in {row.state for row in done.report.rows("processes")}


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


def test_process_started_after_the_run_is_not_recorded(cli):
    """No other process reports about it any more, so it does if it would by itself."""
    assert "| work" in after_the_run(cli, f"{GUEST} five")


@with_glibc("the shell of this machine has it")
@without_sanitizer("the library of such a build can be preloaded into nothing else")
@pytest.mark.parametrize("command", ["perl -e 1", "(perl -e 1 & wait)", "rm -r $HOTPATH_DIR; perl -e 1"],
                         ids=["executed", "forked", "folder gone"])
def test_process_after_the_run_prints_nothing(cli, command):
    """Neither by a process that outlives the run nor by its children; and those are not recorded."""
    assert after_the_run(cli, command) == ""
    folders = list(cli.folder.glob("*.run"))
    assert len(folders) == ("rm " not in command)
    program = os.path.realpath(shutil.which("perl")).encode()
    assert not [path for folder in folders for path in folder.iterdir() if program in path.read_bytes()]


def test_child_with_its_own_session_folder_reports_by_itself(cli):
    """A process with its own folder reports from there."""
    other = cli.box.folder()
    done = cli("run", "--no-preload", "--no-stacks", "--format", "none", "sh", "-c",
               f"HOTPATH_DIR={other} {GUEST} five")
    assert "| work" in done.stderr and list(other.glob("*.hotpath"))


def test_process_that_outlives_the_run_prints_nothing(cli):
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


def test_old_runs_are_removed(cli):
    for _ in range(5):
        cli("run", "--keep", "3", "--format", "none", GUEST, "five")
    assert len(cli.sessions()) == 3


@needs_root
def test_no_usable_folder_for_sessions(cli):
    """The program runs as without us: if it reports on itself, it does so now."""
    line = ("hotpath: nothing was recorded: no directory for sessions can be used (No space left on device); give "
            "one with --dir\n")
    done = cli("run", GUEST, "ends", "exit", env={"HOTPATH_DIR": "/proc"}, status=7)
    assert done.stdout == "ends by exit\n" and done.stderr.endswith(line) and "[hotpath]" in done.stderr
    silent = cli("run", "bash", "-c", "ls / | head -1 > /dev/null; echo mine >&2", env={"HOTPATH_DIR": "/proc"})
    assert silent.stderr == "mine\n" + line
