"""`hotpath bench`: runs in turns, and what becomes of commands that fail, hang, or talk."""
import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import jsonschema
import pytest

from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import HOTPATH, PROGRAMS, SOURCE, TIMEOUT, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_emulator("commands are started without it"),
              without_sanitizer("the library of such a build can be preloaded into nothing else")]
SCHEMA = json.loads((SOURCE / "docs" / "diff.schema.json").read_text())
COUNTS = PROGRAMS / "counts"
WEIGHTS = PROGRAMS / "weights"


def left_behind(cli):
    return [path.name for path in cli.folder.iterdir() if path.name.startswith("bench-")]


def test_pairs_are_compared_and_their_reports_kept(cli):
    done = cli("bench", "-n", "2", "--save", "kept", "--format", "json", "--against", f"'{COUNTS}'", "--", COUNTS)
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert (found["pairs"], found["order"], found["now"]["runs"], found["before"]["runs"]) == (2, "random", 2, 2)
    calls = [row["metrics"]["calls"] for row in found["rows"]]
    assert len(calls) > 3 and all(row["exact"] == "equal" for row in calls)
    assert "2 pairs of runs" in done.stderr and left_behind(cli) == [] and list(cli.folder.glob("*.run")) == []
    again = json.loads(cli("diff", "kept/now", "--against", "kept/before", "--format", "json").stdout)
    assert again["rows"] == found["rows"] and len(list((cli.folder / "kept").glob("*/*.json"))) == 4
    assert "has reports already" in cli("bench", "-n", "2", "--save", "kept", "--against", COUNTS, COUNTS,
                                        status=2).stderr


def test_order_is_random_and_warm_up_does_not_count(cli):
    note = cli.folder / "order"
    say = [f"sh -c 'echo {letter} >>{note}'" for letter in "ab"]
    done = cli("bench", "-n", "12", "--against", say[1], "--", "sh", "-c", f"echo a >>{note}")
    letters = note.read_text().split()
    pairs = ["".join(letters[at:at + 2]) for at in range(0, len(letters), 2)]
    assert len(pairs) == 13 and set(pairs) == {"ab", "ba"}, pairs  # by chance alike: once in 4096 times
    assert done.stdout.startswith("12 runs of ")


def test_kept_reports_say_where_they_come_from(cli):
    """Of a worktree, whose branch is packed; in CI as the job knows it. The other command is of other sources."""
    said = {}

    def facts(folder, name="now", **env):
        done = cli("bench", "-n", "1", "--save", cli.folder / name, "--against", COUNTS, COUNTS, cwd=folder,
                   env=env)
        said[name] = done.stdout.splitlines()[1]
        return [json.loads((cli.folder / name / side / "1.json").read_text())["meta"].get("source")
                for side in ("now", "before")]
    quiet = dict.fromkeys(("CI", "GITHUB_ACTIONS", "GITLAB_CI"))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", cli.folder / "one"]
    subprocess.run(["git", "init", "-q", "-b", "some/branch", cli.folder / "one"], check=True)
    (cli.folder / "one" / "file").write_text("1")
    for words in (["add", "file"], ["commit", "-q", "-m", "x"], ["pack-refs", "--all"],
                  ["worktree", "add", "-q", "-b", "two", cli.folder / "two"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    known = {"commit": commit, "branch": "some/branch", "dirty": False}
    assert facts(cli.folder / "one", "a", **quiet) == [known, None]
    assert said["a"] == f"commit   {commit[:10]} (some/branch) against unknown"
    (cli.folder / "two" / "file").write_text("22")
    assert facts(cli.folder / "two", "b", **quiet)[0] == {"commit": commit, "branch": "two", "dirty": True}
    assert said["b"] == f"commit   {commit[:10]} (two, with changes) against unknown"
    job = {"GITHUB_ACTIONS": "true", "GITHUB_SHA": "5" * 40, "GITHUB_REF_NAME": "a,b", "GITHUB_RUN_ID": "77"}
    assert facts(cli.folder / "one", "c", **quiet | job)[0] == {"commit": "5" * 40, "branch": "a_b", "ci": "github",
                                                                "job": "77", "dirty": False}


def test_one_command_tells_how_its_runs_scatter(cli):
    done = cli("bench", "-n", "5", COUNTS)
    assert done.stdout.startswith(f"5 runs of {COUNTS}\ntotal ")
    assert re.search(r"exact +calls, allocations, bytes, peak: [1-9]\d* equal in all runs, 0 not repeatable",
                     done.stdout)
    assert "requires --against" in cli("bench", "-f", "json", COUNTS, status=2).stderr


def test_several_commands(cli):
    done = cli("bench", "-n", "1", "--against", COUNTS, "--against", f"{COUNTS} x", "--save", "kept", "--", COUNTS)
    assert done.stdout.count("1 run of") == 4 and "time is judged from 5 on" in done.stderr
    assert sorted(path.name for path in (cli.folder / "kept").iterdir()) == ["before", "before-2", "now"]


def test_other_programs_cannot_be_compared(cli):
    """One has measured functions, the other has none: told after one pair, not after all."""
    done = cli("bench", "-n", "900", "--against", "/bin/true", "--", COUNTS, status=2)
    assert done.stdout == "" and "cannot compare with '/bin/true'" in done.stderr


@with_glibc("the shell of this machine has it")
@pytest.mark.parametrize("script, words", [
    ("echo one; echo two >&2; exit 3", "failed with exit status 3"),
    ("echo one; echo two >&2; kill -9 $$", "was ended by signal 9"),
    ("echo one; echo two >&2; sleep 1000 & sleep 1000", "did not end within 1.00 s")],
    ids=["fails", "killed", "hangs"])
def test_commands_that_fail(cli, script, words):
    done = cli("bench", "--timeout", "1000", "--", "sh", "-c", script, status=2)
    assert done.stdout == "" and words in done.stderr
    assert "its output ends with:\n  one\n  two\n" in done.stderr and left_behind(cli) == []


@with_glibc("the shell of this machine has it")
def test_failures_in_the_middle_keep_what_was_saved(cli):
    """The shell counts its runs in a file; the first is the warm-up."""
    script = "echo >>count; test $(wc -l <count) -lt 4"
    done = cli("bench", "-n", "6", "--save", "kept", "--", "sh", "-c", script, status=2)
    assert "in run 3" in done.stderr and len(list((cli.folder / "kept").iterdir())) == 2
    assert "cannot run './nothere'" in cli("bench", "./nothere", status=2).stderr
    assert cli("bench", "-i", "-n", "1", "--", "sh", "-c", "exit 3").stdout.startswith("1 run of sh -c exit 3")


def test_an_interruption_reports_what_there_is(cli):
    bench = cli.start("bench", "-n", "900", "--save", "kept", "--against", COUNTS, "--", COUNTS)
    wait_until(lambda: (cli.folder / "kept" / "now" / "3.json").exists() or bench.poll() is not None)
    bench.send_signal(signal.SIGINT)
    stdout, stderr = bench.communicate(timeout=TIMEOUT)
    assert bench.returncode == 130, stderr
    pairs = int(re.search(r"interrupted after (\d+) pairs", stderr)[1])
    assert pairs >= 2 and stdout.startswith(f"{pairs} runs of ") and left_behind(cli) == []


@pytest.mark.parametrize("pairs, plan, rest", [
    ("auto", r"as many pairs of runs, .* a run, at most \d+ s in all\r\n10 pairs can show \d.* % in \w+ ",
     r"pair 3, at most \d+ s remain"),
    ("900", r"900 pairs of runs, .* a run, about \d+ s in all\r\n900 pairs can show \d.* % in \w+ ",
     r"pair 3 of 900, \d+ s remain")])
def test_a_terminal_shows_what_remains(cli, pairs, plan, rest):
    """In one line that changes, after what the benchmark can show."""
    screen, terminal = pty.openpty()
    with subprocess.Popen([HOTPATH, "bench", "-n", pairs, "--against", COUNTS, "--", COUNTS], cwd=cli.folder,
                          env=cli.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal,
                          text=True) as bench:
        os.close(terminal)
        shown = ""
        while not re.search(rest, shown):
            shown += os.read(screen, 4096).decode()  # an error if it ends
        bench.send_signal(signal.SIGINT)
        assert bench.communicate(timeout=TIMEOUT)[0].count(" runs of ") and bench.returncode == 130
    os.close(screen)
    assert re.search(plan, shown) and "\r\x1b[Kpair 2" in shown and "remain\r\n" not in shown, shown


def is_over(pid):
    try:
        return (Path("/proc") / pid / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_an_interrupted_command_does_not_go_on(cli):
    """It heeds no signal, and neither do its children."""
    pids = cli.folder / "pids"
    script = f"trap '' TERM INT; sleep 1000 & echo $$ $! >{pids}; wait"
    bench = cli.start("bench", "-n", "1", "--", "sh", "-c", script)
    wait_until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    bench.send_signal(signal.SIGTERM)
    stdout, stderr = bench.communicate(timeout=TIMEOUT)
    assert bench.returncode == 143 and stdout == "" and "interrupted after 0 runs" in stderr
    wait_until(lambda: all(is_over(pid) for pid in pids.read_text().split()))
    assert left_behind(cli) == []


def test_misuse(cli):
    for words, problem in ((["-n", "0", COUNTS], "is not a number from 1"), ([], "missing command"),
                           (["--against", "'x", COUNTS], "a quote has no end"),
                           (["--against", " ", COUNTS], "a command is missing"),
                           (["-f", "xml", COUNTS], "is not text, json or markdown")):
        assert problem in cli("bench", *words, status=2).stderr
    assert "cannot write" in cli("bench", "--save", "/proc/no", COUNTS, status=2).stderr
