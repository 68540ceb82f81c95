"""The system calls that hotpath(7) says a sandbox must allow are those that the library makes: strace shows each
call with its stack, and the sources name those that are too rare to be seen."""
import os
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
    ([*WITHOUT_PERF, *RUN], ["sandboxed_off", "probe"], {}),
    ([], ["recursion"], OWN),
    ([], ["futexes"], OWN),
    ([], ["recursion"], OWN),  # removes older sessions
]

# Functions that pass a call of the program on, beside the hooks themselves.
FORWARDING = re.compile(r"(through|count|first|on|pass)_\w+|(find_and_)?execute\w*")
# Done when the library is loaded, before any sandbox: a try of the allocator.
BY_THE_ALLOCATOR = {"brk", "getrandom"}
# The library never ends the process; strace may show the stack of a thread that dies with it.
BY_THE_PROGRAM = {"exit_group"}
# By the kernel after a handler. Its stack is that of the code that was interrupted.
AFTER_HANDLERS = {"rt_sigreturn"}

OF_USERS = ("setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups")

# Named in the sources or imported, but not made by the library.
NOT_MADE = {
    **dict.fromkeys((*OF_USERS, "chroot", "pivot_root", "unshare", "setns"), "asked for by the program"),
    "execve": "asked for by the program", "execveat": "the same", "seccomp": "the same",
    "exit": "asked for by HOTPATH_SHUTDOWN_MS",
    "pwrite64": "src/format/axis_writer.c: by hotpath run",
}
ON_32_BITS = {"clock_gettime32", "clock_gettime64", "fcntl64", "mmap2", "timer_settime32", "timer_settime64",
              *(name + "32" for name in OF_USERS)}
INSIDE_THE_C_LIBRARY = {"open": "openat", "stat": "newfstatat", "lstat": "newfstatat", "getrlimit": "prlimit64"}


def named_in_sources():
    """By number. system_calls.c has names of what other threads wait for."""
    names = set()
    for folder in ("os", "elf", "config", "format", "observe", "record", "preload"):
        for path in (Path(SOURCE) / "src" / folder).rglob("*.[ch]"):
            if path.name != "system_calls.c":
                names |= set(re.findall(r"\bSYS_(\w+)", path.read_text()))
    return names - {"name"} - ON_32_BITS  # a parameter of a macro


def imported():
    """Functions of the C library that have the name of a system call, with or without `64`."""
    header = subprocess.run(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", os.devnull], check=True,
                            capture_output=True, text=True).stdout
    calls = {name.removesuffix("64"): name for name in re.findall(r"#define SYS_(\w+)", header)}
    names = {name.removesuffix("64") for name in symbols("--undefined-only")}
    return {INSIDE_THE_C_LIBRARY.get(name, calls[name]) for name in names & calls.keys()}


def symbols(which):
    names = set()
    for library in BUILD.glob("lib/libhotpath*.so"):
        text = subprocess.run(["nm", "-D", which, library], check=True, capture_output=True, text=True).stdout
        names |= {line.split()[-1].split("@")[0] for line in text.splitlines()}
    return names


def hooks():
    return {name for name in symbols("--defined-only") if not name.startswith("hotpath_")}


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
    missing = {call: function for call, function in found.items()
               if call not in listed() | BY_THE_ALLOCATOR | BY_THE_PROGRAM}
    assert not missing, "add to the list in man/hotpath.7"
    assert listed() - found.keys() - named_in_sources() - imported() - AFTER_HANDLERS == set(), \
        "no longer made: remove from man/hotpath.7"


@of_preload
def test_list_of_system_calls_that_are_rarely_made():
    named = named_in_sources() | imported()
    assert named - NOT_MADE.keys() - listed() == set(), "add to the list in man/hotpath.7"
    assert NOT_MADE.keys() <= named
