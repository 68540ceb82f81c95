"""Sessions by functions of hotpath.h: start, stop, report, reporters and scopes."""
import json

import pytest

from harness import SANITIZER, SOURCE, without_thread_sanitizer


def test_second_start_is_refused(box):
    result = box.run("control", "twice")
    assert result.stdout == ("first 0\nsecond -1\nwords a session is already active\nstop 0\nagain -2\n")
    assert len(result.lines) == 1 and "already active" in result.lines[0]
    assert result.calls("work") == 2


def test_main_scope_that_begins_again_says_so_once_with_its_place(box):
    result = box.run("control", "main_again")
    source = (SOURCE / "tests/programs/control.c").read_text().splitlines()
    line = 1 + next(at for at, text in enumerate(source) if text.startswith("static void again(void)"))
    assert len(result.lines) == 1, result.stderr
    assert result.lines[0].startswith("hotpath: HOTPATH_MAIN() in again (")
    assert f"control.c:{line}) begins no session" in result.lines[0]
    assert result.calls("again") == 3 and result.calls("main_again") == 1


def test_one_of_many_concurrent_starts_succeeds(box):
    """One of them starts the session; each of the others prints one line."""
    for _ in range(20):
        result = box.run("control", "at_once")
        assert result.stdout == "started 1 refused 7\nstop 0\n"
        assert len(result.lines) == 7 and all("already active" in line for line in result.lines)
        assert result.calls("work") == 1


@without_thread_sanitizer("it does not know membarrier, by which a session ends")
def test_start_and_stop_200_times_with_threads(box):
    result = box.run("control", "restart", 200 if not SANITIZER else 50)
    assert result.stdout == "failures 0\nstart 0\nstop 0\n"
    assert result.calls("work") == 5 and result.report.names() == ["work"]
    assert len(result.sessions()) <= 22


@without_thread_sanitizer("it does not know membarrier, by which a session ends")
@pytest.mark.parametrize("case", ["note", "function", "again", "end"])
def test_restart_with_thread_records_of_the_previous_session(box, case):
    assert box.run("restarts", case).calls("dive") == 2


def test_report_while_recording(box):
    result = box.run("control", "middle", env={"HOTPATH_OUTPUT_PATH": None})
    first, last = (json.loads(line) for line in result.stderr.splitlines())
    calls = [{row["name"]: row["calls"] for row in report["sections"]["timing"]["rows"]}
             for report in (first, last)]
    assert calls == [{"middle": 1, "work": 2}, {"middle": 1, "work": 3}]
    assert result.stdout == "report 0\n"


def test_reporter_gets_the_rows(box):
    result = box.run("control", "reporter", env={"HOTPATH_REPORT": None})
    assert result.stdout == ("start 0\ncontext mine\nsection timing\nname work\ncalls 9\nout of range 1\nelapsed "
                             "1\n"
                             "stop 0\n")
    assert result.stderr == "" and not result.report_path.exists()


def test_session_in_a_scope(box):
    result = box.run("control", "scope")
    assert {row.name: row.calls for row in result.report.rows()} == {"measured_scope": 1, "work": 1, "in scope": 1}
    assert result.row("measured_scope").percent_total == pytest.approx(100)
    assert result.stdout == "path ''\n"


def test_control_without_a_session(box):
    result = box.run("control", "unstarted")
    assert result.stdout == "stop -2\nreport -2\npath ''\nversion 0\n" and result.stderr == ""


def test_options_of_unknown_size_are_refused(box):
    result = box.run("control", "options")
    assert result.stdout == "no size -4\nhuge -4\n"
    assert len(result.lines) == 2 and not result.report_path.exists()


def test_off_at_run_time(box):
    result = box.same("workload", env={"HOTPATH": "0"})
    assert result.stderr == "" and result.sessions() == [] and not result.report_path.exists()
