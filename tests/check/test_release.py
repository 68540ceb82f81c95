"""./dev release: makes a release of a copy of the tree, unpacks it as a user does, and compiles a program with it.
Run by pytest."""
import re
import shutil
import subprocess
import tarfile

import pytest

from tree import SOURCE, Tree, do

VERSION = re.search(r'^#define HOTPATH_VERSION "(.*)"', (SOURCE / "include/hotpath.h").read_text(), re.M).group(1)
NAME = f"hotpath-{VERSION}"
QUIET = {"DEV_NO_INSTALL": "1"}
COMMITTER = {f"GIT_{role}_{field}": value for role in ("AUTHOR", "COMMITTER")
             for field, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", "2001-02-03T04:05:06Z"))}


# In the place of tools/binary_archive.py, which takes minutes; test_archives.py tests it.
ARCHIVE = f"""#!/bin/sh -e
echo "$1" > "$2/note" && tar --format=ustar --mtime="@$SOURCE_DATE_EPOCH" -C "$2" -cf - note | gzip -n \\
    > "$2/{NAME}-linux-$1.tar.gz" && rm "$2/note"
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A repository with one commit: the tree as it is now, but for what makes archives of programs."""
    if not all(map(shutil.which, ("dpkg-deb", "dpkg-shlibdeps", "file"))):
        pytest.skip("dpkg-dev or file is not installed")
    tree = Tree(tmp_path_factory.mktemp("release") / "clone")
    (tree.folder / "tools/binary_archive.py").write_text(ARCHIVE)
    tree.do("git", "init", "--quiet")
    tree.do("git", "add", "--all")
    tree.do("git", "commit", "--quiet", "-m", "all", env=COMMITTER)
    return tree


@pytest.fixture(scope="module")
def release(clone):
    """The folder of the release."""
    assert f"\n{NAME}, commit " in clone.do("./dev", "release", env=QUIET)
    return clone.folder / "build/dist"


def refusal(folder):
    """What ./dev release says when it refuses. It makes nothing then."""
    done = subprocess.run(["./dev", "release"], cwd=folder, capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(folder.parent), **QUIET})
    assert done.returncode == 1 and done.stdout == "" and not (folder / "build").exists()
    return done.stderr


def unpack(archive, folder):
    with tarfile.open(archive) as tar:
        assert {name.split("/")[0] for name in tar.getnames()} == {archive.name[:-len(".tar.gz")]}
    do("tar", "-xzf", archive, cwd=folder)
    return folder / archive.name[:-len(".tar.gz")]


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_hello(folder):
    """The README's program, with the two files beside it, by the command at the top of hotpath.c."""
    [source] = re.findall(r"^```c\n(/\* hello\.c \*/\n.*?)^```$", (SOURCE / "README.md").read_text(), re.M | re.S)
    (folder / "hello.c").write_text(source)
    command = re.search(r"cc -DHOTPATH main\.c hotpath\.c .*", (folder / "hotpath.c").read_text()).group().split()
    do(*[word.replace("main.c", "hello.c") for word in command], "-I.", "-o", "hello", cwd=folder)
    done = subprocess.run(["./hello"], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={"HOTPATH_DIR": str(folder), "HOTPATH_REPORT": "timing"})
    assert (done.returncode, done.stdout) == (0, "3.1416\n")
    for name, calls in (("main", 1), ("leibniz", 100), ("print", 1)):
        assert re.search(rf"^\| {name} +\| +{calls} \|", done.stderr, re.M), done.stderr


def test_refuses_uncommitted_changes(clone, tmp_path):
    folder = tmp_path / "clone"
    do("git", "clone", "--quiet", clone.folder, folder, cwd=tmp_path)
    (folder / "LICENSE").write_text("none\n")
    (folder / "src/new.c").write_text("int x;\n")
    told = refusal(folder)
    assert "commit" in told and " M LICENSE\n" in told and "?? src/new.c\n" in told
    do("git", "checkout", "--quiet", "LICENSE", cwd=folder)
    assert "?? src/new.c\n" in refusal(folder)


def test_refuses_a_tree_without_git(tmp_path):
    folder = tmp_path / "unpacked"
    folder.mkdir()
    shutil.copy(SOURCE / "dev", folder)
    assert "A release is made in a git clone" in refusal(folder)


def test_checksums_match(release, tmp_path):
    copy = shutil.copytree(release, tmp_path / "copy")
    listed = re.findall(r"^[0-9a-f]{64}  (\S+)$", (copy / "SHA256SUMS").read_text(), re.M)
    assert sorted([*listed, "SHA256SUMS"]) == sorted(path.name for path in copy.iterdir())
    parts = ("", "-single", "-recipes", "-linux-x86_64", "-linux-aarch64", "-linux-musl")
    assert {"CONTENTS", *(f"{NAME}{part}.tar.gz" for part in parts)} < set(listed) and len(listed) == 8
    do("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=copy)
    with open(copy / f"{NAME}.tar.gz", "ab") as file:
        file.write(b"more")
    assert subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=copy, capture_output=True).returncode == 1


def test_source_archive(clone, release, tmp_path):
    """It has every file of the commit and no other; the two files come from it by one command."""
    tree = unpack(release / f"{NAME}.tar.gz", tmp_path)
    names = clone.do("git", "ls-files").splitlines()
    assert contents(tree) == {name: (clone.folder / name).read_bytes() for name in names}
    program = tmp_path / "program"
    program.mkdir()
    do(tree / "dev", "single", "program", cwd=tmp_path, env=QUIET)
    assert sorted(contents(program)) == ["hotpath.c", "hotpath.h"]
    check_hello(program)


def test_two_files(clone, release, tmp_path):
    """The archive of the two files has what the build of the commit has tested, and so has the package."""
    folder = unpack(release / f"{NAME}-single.tar.gz", tmp_path)
    built = clone.folder / "build/package/single"
    assert contents(folder) == contents(built) and len(contents(built)) == 2
    [package] = release.glob("hotpath_*.deb")
    do("dpkg-deb", "--extract", package, tmp_path / "root", cwd=tmp_path)
    assert contents(tmp_path / "root/usr/share/hotpath") == contents(built)
    check_hello(folder)


def test_contents(release):
    listed = re.findall(r"^  \d+ (\S+)", (release / "CONTENTS").read_text(), re.M)
    packed = []
    for archive in release.glob("*.tar.gz"):
        with tarfile.open(archive) as tar:
            packed += [item.name for item in tar if not item.isdir()]
    assert sorted(listed) == sorted(packed) and len(packed) > 1000


def test_same_commit_gives_same_archives(clone, release):
    sums = (release / "SHA256SUMS").read_text()
    for name in ("LICENSE", "README.md", "man/hotpath.1", "tools/amalgamate.py"):
        (clone.folder / name).touch()
    clone.do("./dev", "release", env={**QUIET, "TZ": "Asia/Tokyo"})
    assert (release / "SHA256SUMS").read_text() == sums
