"""docs/production.md names every hook of the preloaded library and every variable of a run; and safe mode leaves a
program as it is."""
import json
import re
import subprocess

import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import (BUILD, PROGRAMS, SOURCE, WITHOUT_PERF, perf_is_allowed, with_glibc, without_emulator,
                     without_sanitizer)

pytestmark = [without_emulator("/proc shows the emulator"), with_glibc("the programs of this machine have it"),
              without_sanitizer("the library of such a build can be preloaded into nothing else")]

PAGE = (SOURCE / "docs/production.md").read_text()


def exported():
    text = subprocess.run(["nm", "-D", "--defined-only", BUILD / "lib/libhotpath_preload.so"], capture_output=True,
                          text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line.split()[-2] != "A"}  # no versions


def test_all_hooks_are_listed():
    hooks = {name for name in exported() if not re.match("_Z(n|d)|hotpath_|__cyg_", name)}
    rows = PAGE.split("| what for | functions |")[1].split("\n\n")[0]
    listed = set(re.findall(r"`(\w+)`", rows)) - {"new", "delete"}
    assert listed == hooks, listed ^ hooks
    assert any(name.startswith("_Zn") for name in exported()) and "`new` and `delete`" in rows


def test_secrets_are_in_no_file(cli):
    """Of the program, of what it executes, and of a process that is observed from outside."""
    program = PROGRAMS / "stacked"
    words = "--password=hunter2", "--token", "hunter2", "https://me:hunter2@example.org/"
    script = '"$@"; env PGPASSWORD=hunter2 "$@"'
    done = cli.run("sh", "-c", script, "--password=hunter2", program, "split", "50", *words)
    safe = cli.run("--safe", program, "split", "50", *words)
    shown = cli("report", "-v").stdout + cli("ls").stdout + cli("export", "-f", "firefox").stdout
    page = cli.folder / "page.html"
    cli("open", "--no-open", "--output", page)
    reports = json.dumps([done.report.values, safe.report.values])
    for text in (done.stderr, safe.stderr, reports, shown, page.read_text()):
        assert "hunter2" not in text
    assert "--password=*** --token *** https://me:***@example.org/" in safe.report.values["meta"]["command"]
    files = [file for file in cli.folder.rglob("*") if file.is_file()]
    assert files and [file for file in files if b"hunter2" in file.read_bytes()] == []


def variables(text):
    return {line.split("=")[0] for line in text.splitlines() if "=" in line}


def test_all_variables_are_listed(cli):
    plain = variables(subprocess.run(["env"], env=cli.environment(), capture_output=True, text=True).stdout)
    found = variables(cli("run", "--format", "none", "--no-cpu", "--no-alloc-stacks", "env").stdout) - plain
    listed = set(re.findall("`([A-Z_]+)`", PAGE.split("**Environment.**")[1].split("\n\n")[0]))
    assert {"LD_PRELOAD", "HOTPATH_RUN", "HOTPATH_RUN_LENDER"} <= found and found <= listed, found - listed


def test_safe_mode_changes_nothing(cli):
    """Neither the environment nor what is loaded."""
    show = ["sh", "-c", "env | grep -v '^_=' | sort; grep -c hotpath /proc/self/maps; true"]
    plain = subprocess.run(show, env=cli.environment(), cwd=cli.folder, capture_output=True, text=True)
    done = cli("run", "--safe", "--format", "none", *show)
    assert done.stdout == plain.stdout and plain.stdout.endswith("\n0\n")


@pytest.mark.skipif(not perf_is_allowed(), reason="it samples by perf only")
def test_safe_mode_shows_functions(cli):
    """Also of a program with measured functions, which records nothing itself."""
    done = cli.run("--safe", "sh", "-c", f"{PROGRAMS / 'stacked'} split 100; true")
    names = {row.name for row in done.report.rows("functions")}
    assert len(names) > 1 and {row.state for row in done.report.rows("processes")} == {"outside"}
    assert "the kernel refuses it" not in done.stderr


@pytest.mark.parametrize("command", ["echo hi", "sleep 0.3; echo hi"])
def test_safe_mode_without_perf(cli, command):
    """It says so, whether or not the program was there long enough to be found in /proc."""
    cli.before = WITHOUT_PERF
    done = cli("run", "--safe", "sh", "-c", command)
    assert done.stdout == "hi\n" and len(done.lines) == 1 and "perf" in done.lines[0]
