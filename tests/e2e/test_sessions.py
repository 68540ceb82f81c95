"""The commands that read and manage sessions: report, ls, clean, on and off; and folders that are hostile."""
import json
import os
import pwd
import re
import resource
import signal
import subprocess
import time

import pytest

from command import GUEST, cli, wait_until  # noqa: F401 (a fixture)
from harness import (EMULATOR, HOTPATH, PROGRAMS, SANITIZER, SOURCE, TIMEOUT, Report, needs_root,
                     perf_is_allowed, without_sanitizer)
from test_page import Page

pytestmark = pytest.mark.skipif(bool(EMULATOR), reason="not under an emulator: it would have to start another")

BALANCES = PROGRAMS / "balances"


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


def test_latest_calls_are_shown_if_logged(cli):
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
        assert {"timing", "calltree", "calls", "recent", "slowest", "processes", "cold"} == set(values["sections"])
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


def test_name_of_a_program(cli):
    """It stands for its latest run, by its name as it was started, also where a file of that name is."""
    cli.run(GUEST, "five")
    link = cli.folder / "visitor"
    link.symlink_to(GUEST)
    cli.run(link, "ends", "exit", status=7)
    assert cli.read("guest").calls("work") == 5
    assert cli.read("visitor").calls("work") == 3
    assert cli("report", "visitor", cwd=cli.folder).stderr == ""
    assert "work" in cli("export", "--format", "folded", "guest").stdout
    for name, calls in (("guest", 5), ("visitor", 3)):
        page = cli("open", "--no-open", "-o", cli.folder / f"{name}.html", name).stdout.strip()
        timing = Page(open(page).read()).section("timing")["rows"]
        assert [row["calls"] for row in timing if row["name"] == "work"] == [calls]
    assert "no session, process, program or file 'host'" in cli("open", "--no-open", "host", status=1).stderr
    assert "no session, process, program or file 'host'" in cli("report", "host", status=1).stderr


@without_sanitizer("the library of such a build is not preloaded into a shell")
def test_program_of_a_script(cli):
    """A run has the name of the program that it started, and of the one that used most CPU time."""
    cli.run("sh", "-c", f"{PROGRAMS / 'crew'}; true")
    [run] = cli.sessions()
    assert run["program"] == "crew" and " and 1 more, mostly crew " in cli("ls").stdout
    assert cli.read("sh").calls("burn") == cli.read("crew").calls("burn") > 0


def test_processes_without_zones(cli):
    """Where nothing is measured, the table has no columns about zones."""
    cli.run("sh", "-c", "ls; true")
    table = cli("report", "--section", "processes").stdout
    assert "processes - CPU time per process." in table and " CPU Time |" in table and "Calls" not in table


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
    assert re.fullmatch(r"pid \d+ and 1 more(, mostly ls)?", lines[3][4])
    assert re.fullmatch(r"pid \d+", lines[4][4])  # a program that executed another is still one process
    lives.unlink()
    running.communicate(timeout=TIMEOUT)
    running.communicate()


@pytest.mark.skipif(not perf_is_allowed(), reason="nothing tells of a program into which nothing was loaded")
def test_ls_has_programs_too_short_for_a_sample(cli):
    """Into which nothing was loaded: they are known from outside, and not only by chance."""
    for _ in range(6):
        cli("run", "--format", "none", "--no-preload", "sh", "-c", "kill -9 $$", status=-signal.SIGKILL)
    assert [fields(line)[1] for line in cli("ls").stdout.splitlines()[1:]] == 6 * ["killed: SIGKILL"]


def test_process_whose_first_thread_has_exited_is_live(cli):
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


def test_newest_session_skips_empty_ones(cli):
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


def test_off_and_on_by_program(cli):
    """All processes of its latest run; if several runs live, a line says which one it is."""
    lives = cli.folder / "lives"
    lives.touch()
    script = f"{GUEST} waits {lives} & {GUEST} waits {lives}; wait"
    first = cli.start("run", "--format", "none", GUEST, "waits", lives)
    first.stdout.readline()
    second = cli.start("run", "--no-preload", "--format", "none", "sh", "-c", script)
    wait_until(lambda: len([one for one in cli.sessions("-a") if one["kind"] == "session"]) == 3)
    done = cli("off", "guest")
    assert done.stdout.count("is now off") == 2
    assert "2 live programs are called 'guest'; this is the newest" in done.stderr
    assert [one["recording"] for one in cli.sessions()] == [False, True]
    assert "no process or program 'host'" in cli("off", "host", status=1).stderr
    lives.unlink()
    first.communicate(timeout=TIMEOUT)
    second.communicate(timeout=TIMEOUT)
    assert "no program 'guest' is live" in cli("on", "guest", status=1).stderr


def test_switching_off_with_open_zones(cli):
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


def test_what_ends_while_recording_is_off(cli):
    """Tasks, items in queues and levels: what began before the pause ends in it, and what began in it ends
    later."""
    path = cli.folder / "run.json"
    process = cli.start("run", "--format", "json", "--output", path, "--section", "all", BALANCES,
                        stdin=subprocess.PIPE)
    pid = None
    for switch in ("off", "on", "off", "on"):
        assert process.stdout.readline() == "next\n"
        pid = pid or cli.sessions("-a")[0]["pid"]
        cli(switch, pid)
        process.stdin.write("go\n")
        process.stdin.flush()
    process.communicate(timeout=TIMEOUT)
    report = Report(json.loads(path.read_text()))
    request = report.row("request", "tasks")
    assert (request.calls, request.open, request.misused) == (400, 0, 0)
    queue, others = report.row("queue", "channels"), report.row("between processes", "channels")
    assert (queue.sent, queue.received, queue.queue) == (400, 400, 0)
    assert (others.sent, others.received, others.queue) == (100, 100, 0)
    level = report.row("level", "values")
    assert (level.last, level.updates) == ("1", 301) and report.lost == {}


def test_switching_off_one_of_several_processes(cli):
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


def test_unrelated_files_in_the_folder_are_ignored(cli, finished):
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


def test_folder_writable_by_others_is_refused(cli, finished):
    cli.folder.chmod(0o777)
    done = cli("ls")
    assert "others can write to it" in done.stderr and done.stdout == ""
    assert "others can write" in cli("report", status=1).stderr


def test_linked_folder_is_refused(cli, finished):
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


def test_escape_sequences_in_names_are_shown_safely(cli):
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
