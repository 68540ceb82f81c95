"""Little space for sessions: file systems that are full, small or read-only, and limits of the process."""
import os
import resource
import subprocess

import pytest

from harness import IS_ROOT, SANITIZER, plain, without_emulator, without_sanitizer, without_thread_sanitizer

TABLE_ON_STDERR = {"HOTPATH_OUTPUT_FORMAT": "table", "HOTPATH_OUTPUT_PATH": None}


def real_bytes(path):
    """Of a session: its file has its full length from the start, but only the used part takes space."""
    return path.stat().st_blocks * 512


@pytest.fixture
def mounted(box):
    """mounted("size=64k") is a fresh tmpfs."""
    if not IS_ROOT:
        pytest.skip("needs root to mount a tmpfs")
    places = []

    def mount(options, kind="tmpfs"):
        place = box.folder()
        done = subprocess.run(["mount", "-t", kind, "-o", f"mode=700,{options}", kind, str(place)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=False)


def check_workload(result, exact=True):
    """Everything that the workload does is in the report, or is reported as missing."""
    report = result.report
    if exact:
        assert report.row("work").calls == 5 and report.row("each").calls == 5 * 20 * 400
        assert report.row("fib").calls == 1973
        assert report.lost == {}
    else:
        assert report.lost != {}


def test_folder_that_cannot_be_written(box):
    result = box.same("workload", env={"HOTPATH_DIR": "/proc"})
    check_workload(result)
    result = box.same("workload", env={"HOTPATH_DIR": "/nonexistent/folder"})
    check_workload(result)
    assert "the directory '/nonexistent/folder' cannot be used" in result.stderr


def test_read_only_tmpfs(box, mounted):
    check_workload(box.same("workload", env={"HOTPATH_DIR": mounted("ro,size=1m")}))


@pytest.mark.parametrize("size", ["64k", "128k", "256k", "400k", "700k"])
def test_small_tmpfs(box, mounted, size):
    """Too small for a session, too small for a complete one: no SIGBUS, and what is missing is counted."""
    place = mounted(f"size={size}")
    result = box.same("workload", env={"HOTPATH_DIR": place, "HOTPATH_MAX_BYTES": "4M"})
    report = result.report
    missing = 5 * 20 * 400 - report.calls("each")
    assert missing == 0 or report.lost != {}


def test_full_tmpfs(box, mounted):
    place = mounted("size=2m")
    filler = os.open(place / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(filler, b"x" * 4096)
    except OSError:
        os.close(filler)
    result = box.same("workload", env={"HOTPATH_DIR": place})
    check_workload(result)  # memory replaces it


def test_tmpfs_of_64_megabytes(box, mounted):
    """As Docker's /dev/shm. A default session may take a quarter of it and must hold 400 sites and five threads."""
    place = mounted("size=64m")
    check_workload(box.same("workload", env={"HOTPATH_DIR": place}))
    used = sum(real_bytes(path) for path in place.glob("*.hotpath"))
    assert used <= 16 << 20


def test_file_system_without_fallocate(box, mounted):
    """Reserving means writing zeros, which must not overwrite data that another thread has already written."""
    place = mounted("size=64m", kind="ramfs")
    for _ in range(5):
        check_workload(box.same("workload", env={"HOTPATH_DIR": place, "HOTPATH_MAX_BYTES": "16M"}))


@without_thread_sanitizer("it does not know membarrier, by which a session ends")
def test_stop_while_threads_come_and_go(box):
    """Threads that register, take new paths and end while sessions do: late ones must not crash the host."""
    result = box.run("control", "late", 100 if not SANITIZER else 20)
    assert (result.status, result.stdout) == (0, "failures 0\n"), result.stderr


@plain
def test_tiny_session_with_2000_sites(box):
    result = box.same("sites", env={"HOTPATH_MAX_BYTES": "256K", "HOTPATH_REPORT": "timing"})
    assert result.report.lost.get("sites", 0) > 0
    assert 0 < len(result.report.rows()) < 2000
    for row in result.report.rows():
        if row.name.startswith("f_"):
            assert row.calls <= 3 * (int(row.name[2:]) % 4 + 1), row.name
    assert real_bytes(result.sessions()[0]) <= 256 << 10
    table = box.run("sites", env={"HOTPATH_MAX_BYTES": "256K", "HOTPATH_OUTPUT_FORMAT": "table"})
    assert "sites were not recorded" in table.report_path.read_text()


@pytest.mark.parametrize("case", ["fsize", "early-fsize", "address-space", "early-address-space", "descriptors",
                                  "early-descriptors"])
def test_limits(box, case):
    """Limits set by the program itself, before or after the session began. What is missing is counted."""
    if SANITIZER and "address-space" in case:
        pytest.skip("a sanitizer needs all of the address space")
    result = box.same("workload", case, "/tmp", env=TABLE_ON_STDERR)
    assert result.status == 42
    assert any(words in result.stderr for words in ("timing", "nothing is recorded", "no memory for the report"))
    if "timing" in result.stderr and "fib " in result.stderr:
        row = next(line for line in result.stderr.splitlines() if "| fib " in line)
        assert "1,973" in row or "1973" in row or "lost" not in result.stderr


@without_sanitizer("it needs all of the address space")
@pytest.mark.parametrize("megabytes", [6, 12, 24, 48, 100])
def test_address_space_limited_from_outside(box, megabytes):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    box.same("workload", env=TABLE_ON_STDERR, preexec_fn=limit)


@without_emulator("the signal of a file that may not grow is its own")
@pytest.mark.parametrize("kilobytes", [0, 4, 100, 128, 200])
def test_file_size_limited_from_outside(box, kilobytes):
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, kilobytes << 10))
    box.same("workload", env=TABLE_ON_STDERR, preexec_fn=limit)
