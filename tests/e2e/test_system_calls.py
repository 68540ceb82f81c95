"""The system calls that hotpath(7) says a sandbox must allow are those that the library makes: strace shows each
call with its stack."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import BUILD, HOTPATH, PROGRAMS, SOURCE, TIMEOUT, WITHOUT_PERF
from test_loops import of_preload

RUN = [HOTPATH, "run", "-f", "none", "--"]
OWN = {"HOTPATH": "1", "HOTPATH_CPU": "1", "HOTPATH_WAITS": "1", "HOTPATH_KEEP": "1"}
PROGRAMS_TO_TRACE = [  # what is in front of strace, the program, its environment
    *((RUN, ["plain_channels", case], {}) for case in ("ways", "counts", "queue", "handed_on", "streams")),
    ([*WITHOUT_PERF, *RUN], ["shut_in_off", "probe"], {}),
    ([], ["recursion"], OWN),
    ([], ["futexes"], OWN),
    ([], ["recursion"], OWN),  # removes older sessions
]

# Functions that pass a call of the program on, beside the hooks themselves.
FORWARDING = re.compile(r"(through|count|first|on|pass)_\w+")
# Done when the library is loaded, before any sandbox: a try of the allocator.
BY_THE_ALLOCATOR = {"brk", "getrandom"}
# The library never ends the process; strace may show the stack of a thread that dies with it.
BY_THE_PROGRAM = {"exit_group"}
# Listed, and not seen in every run.
RARE = {
    "membarrier": "hotpath_stop on several threads",
    "nanosleep": "waiting for a thread that is in the recorder",
    "rt_sigreturn": "seen only if the signal interrupted the library",
    "futex": "a lock that another thread has",
    "sched_yield": "the same",
    "tgkill": "whether a thread of the session still exists",
    "statx": "naming the file that a thread waits for",
    "ppoll": "a report to a pipe that is full, a session lent by hotpath run",
}


def hooks():
    names = set()
    for library in BUILD.glob("lib/libhotpath*.so"):
        symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                                 text=True).stdout
        names |= {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    return {name for name in names if not name.startswith("hotpath_")}


def calls_of_library(trace, forwarding):
    """{system call: function of the library that makes it}"""
    found, call = {}, None
    for line in trace.splitlines():
        if begin := re.match(r"(\w+)\(", line):
            call = begin[1]
        elif call and (frame := re.match(r" > (\S+?)\((\w*)", line)):
            path, function = frame.groups()
            if "libhotpath" in path and function not in forwarding and not FORWARDING.fullmatch(function):
                found[call], call = function, None
            elif "libhotpath" not in path and not re.search(r"/libc[.-]|/ld-|/libpthread", path):
                call = None  # the program's own
    return found


def listed():
    text = (Path(SOURCE) / "man/hotpath.7").read_text()
    part = text[text.index("Let the filter allow the system calls"):]
    part = part[:part.index("\n.RE")]
    lines = [line[4:] for line in part.splitlines() if re.match(r'\.BR [a-z_0-9]+[ ,"]', line + " ")]
    return set(re.findall(r"\b([a-z_0-9]+)\b", re.sub(r'[",]', " ", " ".join(lines))))


@of_preload
def test_list_of_needed_system_calls(box):
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    if subprocess.run(["strace", "-k", "true"], capture_output=True).returncode != 0:
        pytest.skip("strace may not trace here, or shows no stacks")
    found, forwarding, folder = {}, hooks(), box.folder()
    for number, (before, program, env) in enumerate(PROGRAMS_TO_TRACE):
        trace = ["strace", "-ff", "-k", "-o", box.path / f"trace{number}"]
        done = subprocess.run(list(map(str, [*before, *trace, PROGRAMS / program[0], *program[1:]])),
                              capture_output=True, timeout=TIMEOUT, env=box.environment(folder, env))
        assert done.returncode == 0, (program, done.stderr)
        for file in box.path.glob(f"trace{number}.*"):
            found.update(calls_of_library(file.read_text(errors="replace"), forwarding))
    expected = listed() | BY_THE_ALLOCATOR | BY_THE_PROGRAM
    missing = {call: function for call, function in found.items() if call not in expected}
    assert not missing, "add to the list in man/hotpath.7"
    assert listed() - found.keys() - RARE.keys() == set(), "no longer made: remove from man/hotpath.7"
