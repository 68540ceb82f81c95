"""Functions that the preloaded library interposes behave as without it: results, errno, effects; interrupted,
cancelled, in children, on several threads at once. The program `hooked` prints a line for each function and
situation."""
import re
import subprocess

import pytest

from harness import (BUILD, HOTPATH, IS_GLIBC, PROGRAMS, SANITIZER, SOURCE, TIMEOUT, WITHOUT_PERF, full,
                     without_emulator, without_sanitizer)

pytestmark = [without_emulator("it has signals of its own")]
preloaded = without_sanitizer("the library of such a build can be preloaded into nothing else")

# Functions that `hooked` cannot call, and the test that has programs with them.
ELSEWHERE = {
    r"_Z(nw|na|dl|da).*": "test_alloc_ways",  # new and delete
    r"uv_run|ev_run|event_base_.*|g_main_.*|io_uring_.*|__io_uring_.*": "test_loops",
    r"g_async_queue_.*": "test_found_channels",
    r"free_sized|free_aligned_sized": "test_alloc_ways",  # glibc 2.36 has none
    r"__isoc23_v?f?scanf": "",  # glibc 2.38 has them; the hooks are those of __isoc99_
}
if not IS_GLIBC:  # which has no such functions
    ELSEWHERE[r"close_range|closefrom|epoll_pwait2|sendfile64|fcntl64"] = ""


def run(box, *before, arguments=(), ignored="(?!)"):
    folder = box.folder()
    plain = dict.fromkeys(("HOTPATH_OUTPUT_FORMAT", "HOTPATH_LIMIT", "HOTPATH_OUTPUT_PATH", "HOTPATH_REPORT"))
    done = subprocess.run([*map(str, before), str(PROGRAMS / "hooked"), *arguments], capture_output=True, text=True,
                          cwd=folder, timeout=TIMEOUT, env=box.environment(folder, plain))
    stderr = re.sub(ignored, "", done.stderr)
    assert (done.returncode, stderr) == (0, ""), f"{before}: {done.returncode} {stderr}"
    return done.stdout.splitlines()


def preloaded_libraries(box):
    """Of this build, as the program has them in its memory."""
    maps = run(box, HOTPATH, "run", "-f", "none", "--", arguments=["maps"])
    return {path for path in re.findall(r"/.*", "\n".join(maps)) if path.startswith(str(BUILD / "lib"))}


def interposed_functions(library):
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                             check=True).stdout
    names = {line.split()[2].split("@")[0] for line in symbols.splitlines() if line.split()[1] in "TWi"}
    return {name for name in names if not name.startswith(("hotpath_", "__cyg_profile_", "_init", "_fini"))}


@preloaded
def test_every_interposed_function_is_called(box):
    libraries = preloaded_libraries(box)
    called = {line.split(",")[0] for line in run(box)}
    interposed = set().union(*map(interposed_functions, libraries))
    assert {"malloc", "read", "poll"} <= interposed
    missing = {name for name in interposed - called if not any(re.fullmatch(rule, name) for rule in ELSEWHERE)}
    assert not missing, f"add lines to tests/programs/hooked*.c for: {', '.join(sorted(missing))}"


@preloaded
@pytest.mark.parametrize("before, options", [
    ([], []), (WITHOUT_PERF, []), ([], ["--io"]), pytest.param(WITHOUT_PERF, ["--io"], marks=full),
    pytest.param([], ["--io", "--locks"], marks=full)],
    ids=["perf", "refused", "io", "io_refused", "io_locks"])
def test_same_as_the_plain_function(box, before, options):
    plain, found = run(box), run(box, *before, HOTPATH, "run", *options, "-f", "none", "--")
    differences = [f"{b}, without hotpath: {a}" for a, b in zip(plain, found) if a != b]
    assert len(plain) > 500 and not differences and len(plain) == len(found), "\n".join(differences)


@pytest.mark.skipif("thread" not in SANITIZER, reason="for ThreadSanitizer")
def test_no_race_inside(box):
    """The sanitizer's own functions come first and call ours, which are built with it; so it sees what they do."""
    options = f"halt_on_error=1:print_suppressions=0:suppressions={SOURCE / 'tests' / 'tsan.supp'}"
    linked = subprocess.run(["ldd", PROGRAMS / "hooked"], capture_output=True, text=True, check=True).stdout
    libraries = [*re.findall(r"=> (\S*libtsan\S*)", linked), str(BUILD / "lib" / "libhotpath_alloc.so.0")]
    report = box.path / "run.txt"
    found = run(box, HOTPATH, "run", "--output", report, "--section", "channels", "--", "env",
                f"LD_PRELOAD={' '.join(libraries)}", f"TSAN_OPTIONS={options}",
                arguments=["crowd"], ignored=r"hotpath: .*sanitizer.*\n")
    assert found == run(box, arguments=["crowd"]) and len(found) > 50
    assert "| pipe " in report.read_text()  # they were recorded
