"""What the program `hotpath` opens, preloads, prints and removes: nothing that others could have put there."""
import os
import pwd
import shutil
import signal
import subprocess

import pytest

from harness import BUILD, EMULATOR, HOTPATH, PROGRAMS, TIMEOUT, needs_root, without_sanitizer
from test_cli import GUEST, cli  # noqa: F401 (a fixture)

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
    assert was_preloaded != ("is not counted" in done.stderr)
    return "" if was_preloaded else done.stderr


@without_sanitizer("it is not preloaded")
def test_a_library_of_ours_is_preloaded(cli, library):
    """Also below a folder like /tmp, in which each can only touch his own."""
    assert preload(cli, library) == ""
    library.parent.parent.chmod(0o1777)
    assert preload(cli, library) == ""


@pytest.mark.parametrize("which", ["file", "partner", "folder", "above"])
@pytest.mark.parametrize("mode", [0o002, 0o020])
@without_sanitizer("it is not preloaded")
def test_a_library_others_can_write_to(cli, library, which, mode):
    path = {"file": library, "partner": library.parent / "libhotpath.so.0", "folder": library.parent,
            "above": library.parent.parent}[which]
    if mode == 0o020 and os.geteuid() == 0:
        shutil.chown(path, group="nogroup")
    path.chmod(path.stat().st_mode & 0o777 | mode)
    if mode == 0o020 and os.geteuid() != 0:
        pytest.skip("the group may be the user's own")
    assert f"'{path}' cannot be trusted: others can write to it" in preload(cli, library)


@without_sanitizer("it is not preloaded")
def test_a_file_in_a_folder_like_tmp(cli, library):
    """The folder is no excuse for the file."""
    library.parent.chmod(0o1777)
    assert preload(cli, library) == ""
    library.chmod(0o666)
    assert f"'{library}' cannot be trusted" in preload(cli, library)


@pytest.mark.parametrize("which", ["file", "partner", "folder", "above"])
@needs_root
@without_sanitizer("it is not preloaded")
def test_a_library_of_somebody_else(cli, library, which):
    path = {"file": library, "partner": library.parent / "libhotpath.so.0", "folder": library.parent,
            "above": library.parent.parent}[which]
    os.chown(path, pwd.getpwnam("nobody").pw_uid, -1)
    assert f"'{path}' cannot be trusted: it belongs to another user" in preload(cli, library)


@without_sanitizer("it is not preloaded")
def test_where_a_link_leads_counts(cli, library):
    link = cli.box.folder() / "link.so"
    link.symlink_to(library)
    assert preload(cli, link) == ""
    library.parent.chmod(0o777)
    assert f"'{library.parent}' cannot be trusted" in preload(cli, link)
