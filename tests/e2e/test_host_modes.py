"""Programs that use the system in difficult ways notice nothing of hotpath, however it is part of the process."""
from harness import without_emulator, without_sanitizer
from host_modes import FAST, all_cases, check

pytestmark = [without_emulator("/proc and timers are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else")]


def test_programs_notice_nothing(box, capsys):
    cases = [case for case in all_cases() if case.name in FAST]
    assert len(cases) == len(FAST)
    check(box, capsys, cases)
