"""The archives of programs (tools/binary_archive.py) run where they are unpacked, without a compiler, on old and
new systems. Run by pytest; ./dev release makes them."""
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import tarfile

import pytest

from harness import BUILD, HOTPATH, needs_root
from tree import SOURCE, do

HEADER = (SOURCE / "include/hotpath.h").read_text()
VERSION = re.search(r'^#define HOTPATH_VERSION "(.*)"', HEADER, re.M).group(1)
MACHINE = platform.machine()
EMULATORS = {"aarch64": ["qemu-aarch64-static", "-cpu", "cortex-a72"], "x86_64": ["qemu-x86_64-static"]}
OURS = ("libhotpath", "libhotpath_alloc", "libhotpath_preload", "libhotpath_locks", "libhotpath_io",
        "libhotpath_locks_io")
spec = importlib.util.spec_from_file_location("binary_archive", SOURCE / "tools/binary_archive.py")
binary_archive = importlib.util.module_from_spec(spec)
spec.loader.exec_module(binary_archive)


def environment(folder, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOTPATH")}
    return {**kept, "HOTPATH_DIR": str(folder), **more}


class Archive:
    """An unpacked archive."""

    def __init__(self, target, folder):
        self.target, self.folder = target, folder
        done = subprocess.run([SOURCE / "tools/binary_archive.py", target, folder], capture_output=True, text=True,
                              env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        if done.returncode == 77:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stdout + done.stderr
        [self.file] = folder.glob("*.tar.gz")
        do("tar", "-xzf", self.file, cwd=folder)
        self.tree = folder / self.file.name[:-len(".tar.gz")]


made = {}


def archive_of(target, factory):
    if target not in made:
        made[target] = Archive(target, factory.mktemp(target))
    return made[target]


@pytest.fixture(params=["x86_64", "aarch64", "musl"])
def archive(request, tmp_path_factory):
    return archive_of(request.param, tmp_path_factory)


def test_contents(archive):
    names = {str(path.relative_to(archive.tree)) for path in archive.tree.rglob("*") if not path.is_dir()}
    expected = {"bin/hotpath", "LICENSE", "README.md", "include/hotpath.h", "include/hotpath/inline.h",
                "lib/libhotpath.a", "lib/libhotpath.so", "lib/libhotpath_alloc.a", "lib/hotpath/orders",
                "lib/hotpath/hotpath_qemu.so", "lib/pkgconfig/hotpath.pc", "lib/cmake/hotpath/hotpath-config.cmake",
                "share/hotpath/hotpath.c", "share/hotpath/hotpath.h", "share/man/man1/hotpath.1",
                "share/doc/hotpath/hello.c", *(f"lib/{name}.so.0" for name in OURS)}
    assert not expected - names
    assert not [name for name in names if str(BUILD) in (archive.tree / name).read_bytes().decode("latin-1")]
    text = (archive.tree / "README.md").read_text()
    assert VERSION in text and "@" not in text and not re.search(r"^(glibc|musl): ", text, re.M)
    bundled = {name for name in names if re.match(r"lib/hotpath/lib", name)}
    assert bool(bundled) == (archive.target != "musl")
    for name in bundled:  # each with its version and its licence
        assert os.path.basename(name) in text
    licences = list((archive.tree / "share/doc/hotpath/libraries").glob("*/copyright"))
    assert len(licences) == text.count("source package") and all(path.stat().st_size > 500 for path in licences)


def test_can_be_made_again(archive, tmp_path):
    """The same files are the same bytes."""
    again = Archive(archive.target, tmp_path)
    assert again.file.read_bytes() == archive.file.read_bytes()


def test_old_enough_and_complete(archive, tmp_path):
    """What a newer glibc or other libraries would be needed for is found in what this machine has built."""
    assert list(binary_archive.problems(archive.tree)) == []
    (tmp_path / "bin").mkdir()
    shutil.copy(HOTPATH, tmp_path / "bin/hotpath")
    found = "\n".join(binary_archive.problems(tmp_path))
    assert "which is not in the archive" in found
    if os.confstr("CS_GNU_LIBC_VERSION") >= "glibc 2.34":
        assert re.search(r"bin/hotpath: needs glibc 2\.\d+", found)


@needs_root
@pytest.mark.parametrize("suite", ["bullseye", "bookworm", "trixie"])
def test_on_a_fresh_debian(tmp_path_factory, suite):
    """By root in /opt and by a user in his home, by the commands of its README.md (tests/install/unpacked.sh)."""
    file = archive_of(MACHINE, tmp_path_factory).file
    done = subprocess.run([SOURCE / "tools/check_fresh.sh", "--archive", file, suite], capture_output=True,
                          text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nok: ") == 6


RUNS = """mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" && exec chroot "$1" $2"""


@needs_root
def test_musl_with_nothing_else(tmp_path_factory):
    """A machine that has musl's dynamic linker, and not one other file."""
    archive = archive_of("musl", tmp_path_factory)
    root = tmp_path_factory.mktemp("root")
    for name in ("proc", "dev/shm", "lib", "tmp"):
        (root / name).mkdir(parents=True)
    loader = f"lib/ld-musl-{MACHINE}.so.1"
    shutil.copy(f"/{loader}", root / loader)
    shutil.copytree(archive.tree, root / "hotpath", symlinks=True)
    def run(command):
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-ec", RUNS, "sh", root, command],
                              capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, timeout=300)
        if "unshare failed" in done.stderr:
            pytest.skip("no namespaces here")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr
    assert VERSION in run("/hotpath/bin/hotpath --version")
    report = run("/hotpath/bin/hotpath run --locks --section timing,locks,functions /hotpath/lib/hotpath/orders 1")
    assert "| main " in report and "all orders are done" in report
    assert re.search(r"^\| \w+ +\| orders +\|", report, re.M) and "| orders+0x" not in report
    assert re.search(r"^\| \S+ +\| mutex +\|", report, re.M)


def test_other_machine(tmp_path_factory, tmp_path):
    """By an emulator, with nothing but Debian 11's C library for that machine."""
    target = "x86_64" if MACHINE == "aarch64" else "aarch64"
    archive = archive_of(target, tmp_path_factory)
    emulator = EMULATORS[target]
    if not shutil.which(emulator[0]):
        pytest.skip(f"{emulator[0]} is not installed")
    before = [*emulator, "-L", SOURCE / f"build/archive/bullseye-{target}/root"]
    def run(*command, **env):
        done = subprocess.run([*before, *command], capture_output=True, text=True, timeout=300,
                              env=environment(tmp_path, **env))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr
    hotpath = archive.tree / "bin/hotpath"
    assert VERSION in run(hotpath, "--version")
    assert "names are demangled (libstdc++.so.6)" in run(hotpath, "doctor")
    run(archive.tree / "lib/hotpath/orders", "1", HOTPATH="1")
    assert "| main " in run(hotpath, "report")
    assert b"\x1f\x8b" == exported(run, hotpath, tmp_path)


def exported(run, hotpath, folder):
    run(hotpath, "export", "-f", "pprof", "-o", folder / "it.pb.gz")
    return (folder / "it.pb.gz").read_bytes()[:2]


def test_hardened(archive):
    """Our own files; Debian's are as Debian has made them. Its C library for aarch64 has no branch protection in
    what every program begins with, so the linker does not mark programs as protected."""
    if archive.target == "musl":
        pytest.skip("musl has no FORTIFY")
    tree = archive.folder / "ours"
    shutil.copytree(archive.tree, tree, symlinks=True)
    for file in (tree / "lib/hotpath").glob("lib*"):
        file.unlink()
    said = subprocess.run([SOURCE / "tools/check_hardened.py", tree], capture_output=True, text=True).stdout
    shutil.rmtree(tree)
    missing = set(re.findall(r": lacks (.*)", said)) - ({"BTI", "PAC"} if archive.target == "aarch64" else set())
    assert "hotpath" in said and not missing, said


def test_archive_has_no_links_out_of_it(archive):
    with tarfile.open(archive.file) as tar:
        for item in tar:
            assert item.name.startswith(f"{archive.tree.name}") and ".." not in item.name.split("/")
            assert not item.issym() or "/" not in item.linkname
