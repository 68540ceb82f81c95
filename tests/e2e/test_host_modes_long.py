"""The same as test_host_modes.py with all programs."""
from harness import without_emulator, without_sanitizer
from host_modes import all_cases, check

pytestmark = [without_emulator("/proc and timers are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else")]


def test_programs_notice_nothing(box, capsys):
    check(box, capsys, all_cases())
