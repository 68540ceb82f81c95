"""Processes of a run that give up their user or their root directory: they are recorded as before, their stderr is
their own, and limits of the machine keep no program from running."""
import os
import resource
import shutil
import subprocess

import pytest

from command import Cli
from harness import (BUILD, HOTPATH, PROGRAMS, TIMEOUT, WITHOUT_PERF, needs_root, with_glibc, without_emulator,
                     without_sanitizer)

pytestmark = [without_emulator("/proc shows the emulator"), with_glibc("the programs of this machine have it"),
              without_sanitizer("the library of such a build can be preloaded into nothing else")]

BLOCKS, BLOCK_BYTES = 40000, 4096
NOBODY = 65534


class Open(Cli):
    """With a library that every user can load."""

    def __init__(self, box):
        super().__init__(box)
        self.other_user = box.for_everyone(PROGRAMS / "other_user")
        self.library = self.other_user.parent / "libhotpath_alloc.so.0"

    def run(self, *args, **more):
        return super().run("--alloc-library", self.library, *args, **more)


@pytest.fixture
def cli(box):
    return Open(box)


def allocations(done):
    return {row.name: row for row in done.report.rows("alloc-functions")}


def count(done):
    return done.report.values["sections"]["alloc-count"]["totals"]["allocations"]


def states(done):
    return sorted(row.state for row in done.report.rows("processes"))


def is_all_there(done, blocks):
    """What C library and program allocate besides is some thousand bytes."""
    found = allocations(done)
    return (blocks <= count(done) < blocks + 200 and done.report.lost == {} and
            abs(found["allocate_as_other"].self_bytes - BLOCKS * BLOCK_BYTES) < 0.3 * BLOCKS * BLOCK_BYTES)


# -------------------------------------------------------------------------------------------------------- recorded

@needs_root
@pytest.mark.parametrize("way", ["setuid", "fork", "exec", "late"])
def test_sessions_and_stacks_of_another_user(cli, way):
    done = cli.run(cli.other_user, way, BLOCKS)
    assert done.stdout == f"{'plain' if way == 'exec' else way}: user {NOBODY}\n" and done.stderr == ""
    assert is_all_there(done, 2 * BLOCKS if way == "late" else BLOCKS), (count(done), done.report.lost)
    assert "outside" not in states(done)


@needs_root
def test_sessions_and_stacks_in_another_root(cli):
    """Where neither the folder of the run nor the library is."""
    root = cli.box.folder()
    done = cli.run(cli.other_user, "chroot", BLOCKS, root)
    assert done.stdout == "chroot: user 0\n" and done.stderr == "" and list(root.iterdir()) == []
    assert is_all_there(done, BLOCKS) and "outside" not in states(done)


@needs_root
def test_the_files_stay(cli):
    """They belong to the user of the run, who can read them afterwards. No link is left."""
    done = cli.run(cli.other_user, "fork", BLOCKS)
    [folder] = cli.folder.glob("*.run")
    files = [path for path in folder.iterdir() if path.name.endswith(".hotpath")]
    assert len(files) == 2 and not any(path.is_symlink() for path in folder.iterdir())
    assert {(path.stat().st_uid, path.stat().st_mode & 0o777) for path in files} == {(0, 0o600)}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert cli.read(folder).values["sections"]["alloc-count"]["totals"]["allocations"] == count(done)


@needs_root
def test_stacks_by_timers(cli):
    """Where perf is refused, each process samples itself; its ring is lent, too."""
    cli.before = WITHOUT_PERF
    done = cli.run(cli.other_user, "exec", 40 * BLOCKS)
    rows = {row.name: row for row in done.report.rows("functions")}
    assert done.stderr == "" and any(row.samples > 0 for row in rows.values())


@needs_root
def test_another_network(cli):
    """The socket of `hotpath run` is not there: the process is named as not followed, and prints nothing."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        pytest.skip("no network namespaces here")
    done = cli.run("unshare", "-n", cli.other_user, "exec", 40 * BLOCKS)
    assert done.stdout == f"plain: user {NOBODY}\n" and done.stderr == ""
    assert done.report.lost == {"processes": 1} and "outside" in states(done)


# ---------------------------------------------------------------------------------------------------------- stderr

@needs_root
@pytest.mark.parametrize("network", [[], ["unshare", "-n"]], ids=["lent", "in memory"])
def test_stderr_is_the_programs(cli, network):
    if network and subprocess.run([*network, "true"], capture_output=True).returncode != 0:
        pytest.skip("no network namespaces here")
    command = [*network, "bash", "-c",
               f"{cli.other_user} exec 1 2>&1; runuser -u nobody -- bash -c 'ls / | head -1; true' 2>&1"]
    plain = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    done = cli("run", "--alloc-library", cli.library, "--format", "none", *command)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr) and len(plain.stdout.splitlines()) == 2


@pytest.fixture
def closed(cli):
    """A library that only its owner can reach, as in a home."""
    folder = cli.box.folder()
    shutil.copy(cli.library.parent / "libhotpath.so.0", folder)
    shutil.copy(cli.library, folder)
    cli.library = folder / cli.library.name
    return cli


@needs_root
@pytest.mark.parametrize("way", ["exec", "raw", "shell"])
def test_library_that_the_other_user_cannot_read(closed, way):
    """The dynamic linker of the next program would print an error: it runs without the library."""
    done = closed.run(closed.other_user, way, 40 * BLOCKS)
    assert done.stdout == f"{'shell' if way == 'shell' else 'plain'}: user {NOBODY}\n" and done.stderr == ""
    assert done.report.lost == ({} if way == "shell" else {"processes": 1})


def copy_with_libraries(program, root):
    """A program that can be executed with another root."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for path in [str(program), *(word for word in said.split() if word.startswith("/"))]:
        copy = root / path.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)


@needs_root
def test_program_of_another_root(cli):
    """Where the library is not."""
    root = cli.box.folder()
    copy_with_libraries("/usr/bin/env", root)
    done = cli("run", "--alloc-library", cli.library, "--format", "none", "chroot", root, "/usr/bin/env", "env")
    assert done.stderr == "" and done.status == 0
    assert "HOTPATH=" in done.stdout and "LD_PRELOAD" not in done.stdout


# ---------------------------------------------------------------------------------------------------------- limits

LIMITS = {"fsize 0": (resource.RLIMIT_FSIZE, 0), "fsize 4096": (resource.RLIMIT_FSIZE, 4096),
          "fsize 64K": (resource.RLIMIT_FSIZE, 65536), "memlock 0": (resource.RLIMIT_MEMLOCK, 0),
          "descriptors 4": (resource.RLIMIT_NOFILE, 4), "descriptors 6": (resource.RLIMIT_NOFILE, 6)}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
def test_the_program_runs_within_limits(cli, limit):
    kind, most = limit
    done = cli("run", "echo", "hi", preexec_fn=lambda: resource.setrlimit(kind, (most, most)))
    assert done.stdout == "hi\n"


@pytest.mark.parametrize("before", [[], WITHOUT_PERF], ids=["perf", "refused"])
@pytest.mark.parametrize("blocks", [300, 3000, 30000])
def test_the_program_runs_in_little_more_address_space(cli, blocks, before):
    """With 3 MB more than it needs without hotpath; only part of that is the preloaded library."""
    cli.before = before
    need = int(subprocess.run([cli.other_user, "space", str(blocks)], capture_output=True, check=True).stdout)
    done = cli("run", "prlimit", f"--as={(need + 3072) << 10}", cli.other_user, "space", blocks)
    assert need < int(done.stdout) <= need + 3072
    assert "allocation stacks of 1 process could not be recorded: not enough memory" in done.stderr
