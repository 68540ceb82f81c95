"""Programs with zones but without a session print one line at their end, and no others do."""
from pathlib import Path

import pytest

from harness import HOTPATH, PROGRAMS, without_emulator, without_sanitizer

LINE = ("hotpath: the program has measured functions, but nothing was recorded: put HOTPATH_MAIN() first in main "
        "and compile that file with -DHOTPATH, set HOTPATH=1, or run the program with "
        "'hotpath run'; HOTPATH=0 silences this message\n")
UNRECORDED = ["unrecorded", "unrecorded_static"]


def stderr_of(box, *command, **how):
    done = box.run(*command, status=42, **how)
    assert done.sessions() == [] and not done.report_path.exists()
    return done.stderr


@pytest.mark.parametrize("program", UNRECORDED)
@pytest.mark.parametrize("case", ["zone", "key", "parent"])
def test_warning_is_printed_once(box, program, case):
    assert stderr_of(box, program, case) == LINE
    assert stderr_of(box, program, case, env={"HOTPATH": ""}) == LINE


@pytest.mark.parametrize("program", UNRECORDED)
@pytest.mark.parametrize("case", ["none", "off", "child"])
def test_other_programs_print_nothing(box, program, case):
    assert stderr_of(box, program, case) == ""


@pytest.mark.parametrize("program", UNRECORDED)
def test_late_session_silences_the_warning(box, program):
    assert box.run(program, "late", status=42).stderr == ""


def test_switched_off_is_silent(box):
    assert stderr_of(box, "unrecorded", "zone", env={"HOTPATH": "0"}) == ""


def test_recorded_from_outside_is_silent(box):
    done = box.run("unrecorded", "zone", env={"HOTPATH": "1"}, status=42)
    assert done.stderr == "" and done.calls("meet") == 1


@without_emulator("it cannot run the programs that hotpath starts")
def test_hotpath_run_is_silent(box):
    assert "zones were met" not in box.run(HOTPATH, "run", PROGRAMS / "unrecorded", "zone", status=42).stderr


@pytest.mark.parametrize("program", UNRECORDED)
@pytest.mark.parametrize("plugin", ["plugin.so", "plugin_static.so"])
def test_zones_of_plugins_do_not_hide_the_programs(box, program, plugin):
    assert stderr_of(box, program, "plugin", PROGRAMS / plugin) == LINE


def test_nothing_is_written_to_a_reused_stderr(box, tmp_path):
    file = tmp_path / "data"
    assert stderr_of(box, "unrecorded", "reused", file) == ""
    assert file.read_bytes() == b""


def is_confined():
    return "\nSeccomp:\t0\n" not in Path("/proc/self/status").read_text()


@without_emulator("it has no seccomp")
@without_sanitizer("it asks about files when the program ends")
@pytest.mark.skipif(is_confined(), reason="one filter more cannot be told from those around the tests")
def test_no_warning_inside_a_sandbox(box):
    assert stderr_of(box, "unrecorded", "shut-in") == ""
