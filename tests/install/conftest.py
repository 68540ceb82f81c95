"""Fixtures of the tests that use hotpath as an outsider does: from an installation, or as two files in another
tree."""
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

from harness import BUILD, box, full, pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401
from workshop import SINGLE, Installation, Workshop, do  # noqa: E402


@pytest.fixture
def workshop(box):
    """A folder outside the tree to build in, and to run what was built. (Boxes may be where nothing can be
    executed.)"""
    with tempfile.TemporaryDirectory(prefix="hotpath-workshop-") as folder:
        yield Workshop(box, Path(folder))


@pytest.fixture(scope="session")
def scratch():
    """A folder for what several tests use."""
    path = Path(tempfile.mkdtemp(prefix="hotpath-install-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def installed(scratch):
    """What this build installs, at another place than it was installed to."""
    do("cmake", "--install", BUILD, "--prefix", scratch / "first")
    (scratch / "first").rename(scratch / "moved")
    return Installation(scratch / "moved")


@pytest.fixture(scope="session")
def objects(scratch):
    """objects("gcc", "-fPIC") is hotpath.c of the two files, compiled so; each kind once, and quickly rather than
    well."""
    def compiled(compiler, *flags):
        path = scratch / ("-".join([compiler, *flags]).replace("/", "_") + ".o")
        if not path.exists():
            do(compiler, *flags, "-c", SINGLE / "hotpath.c", "-o", path)
        return path
    return compiled


def compiler_of(request):
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.fixture(params=["gcc", pytest.param("clang", marks=full)])
def compiler(request):
    return compiler_of(request)


@pytest.fixture(params=[pytest.param("gcc", marks=full), "clang"])
def quick_compiler(request):
    """clang compiles hotpath.c in half the time: for tests that each need one of their own."""
    return compiler_of(request)
