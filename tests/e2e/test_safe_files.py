"""What the program `hotpath` opens, preloads, prints and removes: nothing that others could have planted."""
import ctypes
import os
import pwd
import shutil
import signal
import subprocess

import pytest

from command import GUEST, cli  # noqa: F401 (a fixture)
from harness import BUILD, EMULATOR, HOTPATH, PROGRAMS, TIMEOUT, needs_root, with_glibc, without_sanitizer

pytestmark = pytest.mark.skipif(bool(EMULATOR), reason="not under an emulator: it would have to start another")


# ------------------------------------------------------------------------------------------------------- preload

@pytest.fixture
def library(box):
    """A copy of the library that counts allocations, two folders below one of the test's own."""
    folder = box.folder() / "above" / "lib"
    folder.mkdir(parents=True)
    for name in ("libhotpath_alloc.so.0", "libhotpath.so.0"):
        shutil.copy(BUILD / "lib" / name, folder / name)
        (folder / name).chmod(0o644)
    for path in (folder, folder.parent):
        path.chmod(0o755)
    return folder / "libhotpath_alloc.so.0"


def preload(cli, library):
    """What stderr says if the library was not preloaded; "" if it was."""
    done = cli("run", "--format", "none", "--alloc-library", library, "cat", "/proc/self/maps")
    was_preloaded = str(library.resolve()) in done.stdout
    assert was_preloaded != ("are not counted" in done.stderr)
    return "" if was_preloaded else done.stderr


@with_glibc("Debian's programs have no other library preloaded")
@without_sanitizer("it is not preloaded")
def test_own_library_is_preloaded(cli, library):
    """Also below a folder like /tmp, in which users can only touch their own files."""
    assert preload(cli, library) == ""
    library.parent.parent.chmod(0o1777)
    assert preload(cli, library) == ""


@pytest.mark.parametrize("which", ["file", "partner", "folder", "above"])
@pytest.mark.parametrize("mode", [0o002, 0o020])
@with_glibc("Debian's programs have no other library preloaded")
@without_sanitizer("it is not preloaded")
def test_library_writable_by_others_is_refused(cli, library, which, mode):
    path = {"file": library, "partner": library.parent / "libhotpath.so.0", "folder": library.parent,
            "above": library.parent.parent}[which]
    if mode == 0o020 and os.geteuid() == 0:
        shutil.chown(path, group="nogroup")
    path.chmod(path.stat().st_mode & 0o777 | mode)
    if mode == 0o020 and os.geteuid() != 0:
        pytest.skip("the group may be the user's own")
    assert f"'{path}' cannot be trusted: others can write to it" in preload(cli, library)


@with_glibc("Debian's programs have no other library preloaded")
@without_sanitizer("it is not preloaded")
def test_library_in_a_sticky_folder(cli, library):
    """The folder does not excuse the file."""
    library.parent.chmod(0o1777)
    assert preload(cli, library) == ""
    library.chmod(0o666)
    assert f"'{library}' cannot be trusted" in preload(cli, library)


@pytest.mark.parametrize("which", ["file", "partner", "folder", "above"])
@needs_root
@with_glibc("Debian's programs have no other library preloaded")
@without_sanitizer("it is not preloaded")
def test_library_of_another_user_is_refused(cli, library, which):
    path = {"file": library, "partner": library.parent / "libhotpath.so.0", "folder": library.parent,
            "above": library.parent.parent}[which]
    os.chown(path, pwd.getpwnam("nobody").pw_uid, -1)
    assert f"'{path}' cannot be trusted: it belongs to another user" in preload(cli, library)


@with_glibc("Debian's programs have no other library preloaded")
@without_sanitizer("it is not preloaded")
def test_link_to_a_library_is_resolved(cli, library):
    link = cli.box.folder() / "link.so"
    link.symlink_to(library)
    assert preload(cli, link) == ""
    library.parent.chmod(0o777)
    assert f"'{library.parent}' cannot be trusted" in preload(cli, link)


# --------------------------------------------------------------------------------------------------------- files

class Opened:
    """Whether a file was opened, by inotify."""

    IN_OPEN = 0x20

    def __init__(self, path):
        libc = ctypes.CDLL(None)
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(self.fd, os.fsencode(path), self.IN_OPEN) >= 0

    def __bool__(self):
        try:
            return bool(os.read(self.fd, 4096))
        except BlockingIOError:
            return False


def test_only_regular_files_are_opened(cli):
    """Not even if it would do no harm: it is checked first."""
    fifo = cli.folder / "1-1-0.hotpath"
    os.mkfifo(fifo)
    opened = Opened(fifo)
    assert "not a regular file" in cli("report", fifo, status=1).stderr
    assert cli.sessions() == [] and cli("clean").stdout.startswith("removed 0")
    assert not opened
    assert "not a regular file" in cli("report", "/dev/tty", status=1).stderr


def test_cold_opens_no_device(cli):
    """The program that a session names is a FIFO by now."""
    program = cli.box.folder() / "program"
    shutil.copy(PROGRAMS / "everything", program)
    cli.box.run(program, folder=cli.folder, env={"HOTPATH": "1"})
    program.unlink()
    os.mkfifo(program)
    opened = Opened(program)
    cli("report", "--cold")
    assert not opened


def test_output_into_a_fifo(cli):
    cli.run(GUEST, "five")
    fifo = cli.folder / "fifo"
    os.mkfifo(fifo)
    assert f"cannot write '{fifo}': it has no reader" in cli("report", "-o", fifo, status=1).stderr
    done = cli("run", "-o", fifo, GUEST, "five")
    assert "it has no reader" in done.stderr and "| work" in done.stderr
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    cli("report", "-o", fifo)
    assert b"| work" in os.read(reader, 1 << 16)
    os.close(reader)


def test_output_into_devices(cli):
    cli.run(GUEST, "five")
    assert "| work" in cli("report", "-o", "/dev/stdout").stdout
    assert cli("report", "-o", "/dev/null").stdout == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["run", "report"])
@pytest.mark.parametrize("where", ["pipe", "fifo"])
def test_blocked_report_can_be_interrupted(cli, number, command, where):
    """When it is blocked in the middle of writing."""
    cli.run(GUEST, "five")
    fifo = cli.folder / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    output = ["-o", str(fifo)] if where == "fifo" else []
    program = [GUEST, "five"] if command == "run" else []
    streams = {"stdout": writer, "stderr": writer} if where == "pipe" else {}
    process = subprocess.Popen([str(HOTPATH), command, *output, *program], env=cli.environment(),
                               **(streams or {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}))
    while "pipe_w" not in open(f"/proc/{process.pid}/wchan").read() and not is_writing(process.pid):
        assert process.poll() is None
    process.send_signal(number)
    assert process.wait(TIMEOUT) == -number
    os.close(reader)
    os.close(writer)


def test_blocked_stderr_does_not_block_the_program(cli):
    """A line of ours must not make the program wait for a reader of its stderr."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    environment = cli.environment({"HOTPATH_NO_SUCH": "1", "HOTPATH_OUTPUT_FORMAT": "none"})
    done = subprocess.run([GUEST, "five"], env=environment, stdout=subprocess.PIPE, stderr=writer, timeout=TIMEOUT)
    assert done.returncode == 0
    os.close(reader)
    os.close(writer)


def is_writing(pid):
    """Blocked in write (1 on x86-64, 64 on aarch64), if the kernel does not tell the function."""
    words = open(f"/proc/{pid}/syscall").read().split()
    return words[0] in ("1", "64")


# ---------------------------------------------------------------------------------------------------- ls and clean

def test_clean_prints_no_raw_names(cli):
    cli.box.run("guest", "five", folder=cli.folder)
    [session] = cli.folder.glob("*.hotpath")
    session.rename(cli.folder / "1\x1b[31m\n\u202e-1-1.hotpath")
    text = cli("clean", "-n").stdout
    assert "\x1b" not in text and "\u202e" not in text and len(text.splitlines()) == 2
    assert text.splitlines()[1].startswith("would remove 1 session, ")


def test_clean_removes_unreadable_leftovers(cli):
    """Those with the name of a session whose process has ended, and that are old."""
    cli.box.run("guest", "five", folder=cli.folder)
    [session] = cli.folder.glob("*.hotpath")
    whole = session.read_bytes()
    session.unlink()
    own_start = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
    files = {"2000000-1-0.hotpath": b"", "2000000-1-1.hotpath": os.urandom(5000),
             "2000000-1-2.hotpath": whole[:100],
             f"{os.getpid()}-1-0.hotpath": b"of an earlier process with that number"}
    others = {f"{os.getpid()}-{own_start}-0.hotpath": b"of a process that lives", "notes.hotpath": b"of somebody",
              "2000000-1.hotpath": b"", "2000000-1-1.txt": b""}
    for name, content in {**files, **others}.items():
        (cli.folder / name).write_bytes(content)
    assert "removed 0 sessions" in cli("clean").stdout  # too new
    for name in {**files, **others}:
        os.utime(cli.folder / name, (1, 1))
    (cli.folder / "2000000-1-9.hotpath").symlink_to("/etc/passwd")
    os.utime(cli.folder / "2000000-1-9.hotpath", (1, 1), follow_symlinks=False)
    assert "would remove 5 sessions" in cli("clean", "-n").stdout
    assert "removed 5 sessions" in cli("clean").stdout
    left = {path.name for path in cli.folder.iterdir()}
    assert set(others) <= left and not left & (set(files) | {"2000000-1-9.hotpath"})
    assert os.path.exists("/etc/passwd")


def test_off_does_not_map_the_session(cli):
    """A file that is truncated meanwhile causes at most an error: nothing of it is mapped."""
    lives = cli.folder / "lives"
    lives.touch()
    process = cli.start("run", "--format", "none", GUEST, "waits", lives)
    process.stdout.readline()
    pid = str(cli.sessions("-a")[0]["pid"])
    trace = cli.box.folder() / "trace"
    if shutil.which("strace"):
        done = subprocess.run(["strace", "-f", "-o", trace, str(HOTPATH), "off", pid], env=cli.environment(),
                              capture_output=True, text=True)
        if "recording in process" in done.stdout:
            assert "MAP_SHARED" not in trace.read_text()
    else:
        cli("off", pid)
    assert [one["recording"] for one in cli.sessions("-a")] == [False, False]
    lives.unlink()
    process.communicate(timeout=TIMEOUT)
