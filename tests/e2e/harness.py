"""Runs measured programs and reads what they report.

A test requests the fixture `box` (conftest.py), which has its own folder for sessions and output:

    result = box.run("counts")                    # the program <build>/programs/counts
    assert result.row("parse").calls == 3         # a row of its JSON report

    result = box.same("longjmp", "loop")          # run measured and unmeasured (counts_off): same output and end
"""
import ctypes
import itertools
import json
import os
import platform
import shutil
import signal
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

import contradictions

SOURCE = Path(os.environ.get("HOTPATH_SOURCE_DIR", Path(__file__).parents[2])).resolve()
BUILD = Path(os.environ.get("HOTPATH_BUILD_DIR", SOURCE / "build" / "release")).resolve()
PROGRAMS = BUILD / "programs"
EXAMPLES = BUILD / "examples"
HOTPATH = BUILD / "bin" / "hotpath"
SANITIZER = os.environ.get("HOTPATH_SANITIZER", "")
EMULATOR = os.environ.get("HOTPATH_EMULATOR", "").split()
IS_ROOT = os.geteuid() == 0
WITHOUT_PERF = [str(PROGRAMS / "without_perf")]  # before a command: the kernel refuses it perf_event_open

TIMEOUT = 60 if not SANITIZER and not EMULATOR else 300


# Some cases run in ./dev test --full only, or in ./dev test only without sanitizers: @full, @plain, or
# pytest.param(..., marks=full). To run one of them by hand, set HOTPATH_TEST_LONG=1.
full, plain = pytest.mark.full, pytest.mark.plain
IS_LONG = "HOTPATH_TEST_LONG" in os.environ


def pytest_configure(config):
    config.addinivalue_line("markers", "full: only ./dev test --full runs it")
    config.addinivalue_line("markers", "plain: ./dev test runs it without sanitizers only")


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if not IS_LONG and (
        item.get_closest_marker("full") or SANITIZER and item.get_closest_marker("plain"))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def crossed(*lists):
    """Parameters for every combination of values. Without --full only as many as show each value once. A value that
    is there twice is shown more often."""
    longest = max(map(len, lists))
    shown = [tuple(values[at % len(values)] for values in lists) for at in range(longest)]
    every = list(itertools.product(*lists))
    return [pytest.param(*some, marks=[] if some in shown else full)
            for at, some in enumerate(every) if some not in every[:at]]


def without_sanitizer(reason):
    """The case is about memory or signals that a sanitizer uses itself."""
    return pytest.mark.skipif(bool(SANITIZER), reason=f"not with -fsanitize={SANITIZER}: {reason}")


def without_thread_sanitizer(reason):
    return pytest.mark.skipif("thread" in SANITIZER, reason=f"not with ThreadSanitizer: {reason}")


# values_cxx, because ./dev test --quick builds it, too
with_cxx = pytest.mark.skipif(not (PROGRAMS / "values_cxx").exists(), reason="built without a C++ compiler")


def without_emulator(reason):
    return pytest.mark.skipif(bool(EMULATOR), reason=f"not under an emulator: {reason}")


IS_GLIBC = os.environ.get("HOTPATH_IS_GLIBC", "1") != ""


IS_OPTIMISED = os.environ.get("HOTPATH_IS_OPTIMISED", "1") != ""


def when_optimised(reason):
    """The case is about the code that compilers make with -O1 and more."""
    return pytest.mark.skipif(not IS_OPTIMISED, reason=f"not with -O0: {reason}")


def with_glibc(reason):
    return pytest.mark.skipif(not IS_GLIBC, reason=f"only with glibc: {reason}")


needs_root = pytest.mark.skipif(not IS_ROOT, reason="needs root (mount, chown, chroot)")


def processes_may_be_read():
    """If Yama restricts ptrace, only their parents may observe processes."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return IS_ROOT or not scope.exists() or scope.read_text().strip() == "0"


def perf_is_allowed():
    """Whether the kernel gives this user perf's software clock for his own threads, opened as the library does."""
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
    if number is None or EMULATOR:
        return False
    software, cpu_clock, exclude_kernel_and_hv = 1, 0, 3 << 5
    event = struct.pack("=IIQQQQQ", software, 112, cpu_clock, 1_000_000, 0, 0,
                        exclude_kernel_and_hv).ljust(112, b"\0")
    fd = ctypes.CDLL(None).syscall(number, event, 0, -1, -1, ctypes.c_ulong(8))
    if fd >= 0:
        os.close(fd)
    return fd >= 0


class Row:
    """A row of a section: row.calls, row.total_ns, ..., and row.children in a tree."""

    def __init__(self, values):
        self.values = values
        self.children = [Row(child) for child in values.get("children", [])]

    def __getattr__(self, key):
        try:
            return self.values[key]
        except KeyError:
            message = f"row {self.values.get('name')!r} has no {key!r}, only {sorted(self.values)}"
            raise AttributeError(message) from None

    def child(self, name):
        found = [child for child in self.children if child.name == name]
        assert len(found) == 1, f"{len(found)} children {name!r} in {[c.name for c in self.children]}"
        return found[0]

    def __repr__(self):
        return f"Row({self.values})"


class Report:
    is_checked = True  # the fixture `contradictory` changes it

    def __init__(self, values):
        self.values = values
        found = contradictions.in_report(values) if self.is_checked else []
        assert not found, "\n".join(found)

    def section(self, name):
        assert name in self.values["sections"], f"no section {name!r} in {list(self.values['sections'])}"
        return self.values["sections"][name]

    def rows(self, section="timing"):
        return [Row(row) for row in self.section(section)["rows"]]

    def row(self, name, section="timing"):
        found = [row for row in self.rows(section) if row.name == name]
        assert len(found) == 1, f"{len(found)} rows {name!r} among {[r.name for r in self.rows(section)]}"
        return found[0]

    def calls(self, name):
        """Calls of a row; 0 if there is no such row."""
        found = [row.calls for row in self.rows() if row.name == name]
        assert len(found) <= 1, f"{len(found)} rows {name!r}"
        return found[0] if found else 0

    def names(self):
        return [row.name for row in self.rows()]

    @property
    def trust(self):
        return self.values["trust"]

    @property
    def lost(self):
        return {key: count for key, count in self.values["trust"]["lost"].items() if count}


class Result:
    """How a program ended (`status`: as in subprocess, negative for a signal) and what it wrote."""

    def __init__(self, status, stdout, stderr, report_path, folder, pid):
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.report_path = report_path
        self.folder = folder
        self.pid = pid
        self._report = None

    @property
    def report(self):
        if self._report is None:
            assert self.report_path.exists(), f"no report was written; status {self.status}, stderr:\n{self.stderr}"
            text = self.report_path.read_text()
            self._report = Report(json.loads(text))
        return self._report

    def row(self, name, section="timing"):
        return self.report.row(name, section)

    def calls(self, name):
        return self.report.calls(name)

    @property
    def told(self):
        """What the program itself printed as lines 'key value': its own truth, as numbers."""
        return pairs(self.stdout)

    @property
    def aside(self):
        """The same from stderr: numbers that differ from run to run."""
        return pairs(self.stderr)

    @property
    def lines(self):
        """Lines of the library on stderr."""
        return [line for line in self.stderr.splitlines() if line.startswith("hotpath:")]

    def sessions(self):
        return sorted(self.folder.glob("*.hotpath"))


class Box:
    """A folder for one test."""

    def __init__(self):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = Path(tempfile.mkdtemp(prefix="hotpath-test-", dir=base))
        self.count = 0
        self.copies = []

    def remove(self):
        for path in [self.path, *self.copies]:
            shutil.rmtree(path, ignore_errors=True)

    def for_everyone(self, program):
        """A copy that every user can run, with the libraries of this build next to it: the tree may be in a home
        that only its owner can enter, and boxes where nothing can be executed."""
        folder = Path(tempfile.mkdtemp(prefix="hotpath-test-", dir="/tmp"))
        self.copies.append(folder)
        copy = folder / Path(program).name
        shutil.copy(program, copy)
        for library in (BUILD / "lib").glob("*.so.?"):
            shutil.copy(library, folder)
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)
        return copy

    def folder(self):
        """A new empty folder."""
        self.count += 1
        path = self.path / str(self.count)
        path.mkdir(mode=0o700)
        return path

    def environment(self, folder, env=None):
        """The environment of this process without hotpath's variables, plus ours. A value of None removes one."""
        result = {key: value for key, value in os.environ.items() if not key.startswith("HOTPATH")}
        for key in ("XDG_RUNTIME_DIR", "NO_COLOR"):
            result.pop(key, None)
        result.update(HOTPATH_DIR=str(folder), HOTPATH_OUTPUT_FORMAT="json", HOTPATH_LIMIT="0",
                      HOTPATH_OUTPUT_PATH=str(folder / "report.json"), HOTPATH_REPORT="all")
        # Leak checking needs descriptors and rights that some cases take away; the library has no heap to leak.
        if SANITIZER:
            result["ASAN_OPTIONS"] = result.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        for key, value in (env or {}).items():
            if value is None:
                result.pop(key, None)
            else:
                result[key] = str(value)
        return result

    def start(self, program, *args, env=None, folder=None, **popen):
        """A running program, as subprocess.Popen with .folder and .report_path."""
        folder = folder or self.folder()
        path = program if isinstance(program, Path) else PROGRAMS / program
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        popen.setdefault("cwd", folder)
        command = popen.pop("before", []) + EMULATOR + [str(path)] + [str(arg) for arg in args]
        process = subprocess.Popen(command, env=self.environment(folder, env), **popen)
        process.folder = folder
        process.report_path = folder / "report.json"
        return process

    def finish(self, process, stdin=None, timeout=TIMEOUT):
        try:
            stdout, stderr = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            pytest.fail(f"{process.args} hung; stdout {stdout!r}, stderr {stderr!r}")
        decode = lambda text: (text or b"").decode(errors="replace")
        return Result(process.returncode, decode(stdout), decode(stderr), process.report_path, process.folder,
                      process.pid)

    def run(self, program, *args, env=None, timeout=TIMEOUT, status=0, **popen):
        """Runs a program to its end; `status` None accepts any."""
        result = self.finish(self.start(program, *args, env=env, **popen), timeout=timeout)
        if status is not None:
            assert result.status == status, (f"{program} {args} ended with {end(result.status)}:\n"
                                             f"{result.stdout}\n{result.stderr}")
        return result

    def same(self, program, *args, env=None, **popen):
        """Host safety: the program compiled without hotpath writes the same and ends the same way."""
        plain = self.run(f"{program}_off", *args, env=env, status=None, **popen)
        measured = self.run(program, *args, env=env, status=None, **popen)
        ends = end(plain.status), end(measured.status)
        assert ends[0] == ends[1], f"ends {ends}; measured stderr:\n{measured.stderr}"
        assert plain.stdout == measured.stdout
        return measured

    def read(self, session, *args, status=0):
        """`hotpath report` of a session file, as a Report."""
        done = subprocess.run(EMULATOR + [str(HOTPATH), "report", "--format", "json", *args, str(session)],
                              capture_output=True, text=True, timeout=TIMEOUT,
                              env=self.environment(self.path, {"HOTPATH_OUTPUT_FORMAT": None,
                                                               "HOTPATH_OUTPUT_PATH": None}))
        assert done.returncode == status, f"hotpath report: {end(done.returncode)}: {done.stderr}"
        return Report(json.loads(done.stdout)) if status == 0 else done


@pytest.fixture
def box():
    """A folder for each test, for sessions, reports and whatever the test makes."""
    box = Box()
    yield box
    box.remove()


def pairs(text):
    found = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if value.isdigit():
            found[key] = int(value)
    return found


def end(status):
    """An exit status in words."""
    return signal.Signals(-status).name if status < 0 else f"exit {status}"


def near(value, truth, percent=1.0, plus=0):
    """True if value is within `percent` of the truth, plus `plus` for what the two cannot measure alike."""
    return abs(value - truth) <= truth * percent / 100 + plus


def between(least, value, most, grain=50):
    """A duration that the program bounded with its own clock, inside a zone and around it. Two clocks that were
    compared at the start of a run drift by some millionths until its end, emulated ones by more; `grain` is for
    the resolution of the clocks."""
    part = 0.02 if EMULATOR else 0.0005
    return least * (1 - part) - grain <= value <= most * (1 + part) + grain


def nearest_rank(sorted_values, percentile):
    """The exact percentile: the smallest value such that at least this part of all values is not above it."""
    count = len(sorted_values)
    rank = -(-percentile * count // 100)
    return sorted_values[max(0, min(count - 1, int(rank) - 1))]
