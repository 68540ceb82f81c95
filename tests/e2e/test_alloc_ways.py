"""The ways in: malloc and its kin in front of the program's allocator, linked, in archives, by --wrap, preloaded. Each counts
the same, with any allocator behind it, and the program does not notice."""
import ctypes.util
import re
import subprocess

import pytest

from alloc_truth import COUNTED, check_counts, counted
from harness import BUILD, PROGRAMS, SOURCE, end, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_sanitizer("it has malloc for itself"),
              without_emulator("the variables are the emulator's, too")]

LIBRARY = BUILD / "lib" / "libhotpath_alloc.so"
RECORD = {"HOTPATH": "1"}

NEW = [("new", 3, 408, 3), ("containers", 4, 4000 + 501 + 32 + 501, 4)]


def preload(*below):
    return {**RECORD, "LD_PRELOAD": ":".join([str(LIBRARY), *map(str, below)])}


WAYS = {"shared": ("_shared", RECORD), "archive": ("_archive", RECORD), "preload": ("_off", preload()),
        "archive and preload": ("_archive", preload()), "shared and preload": ("_shared", preload())}


def own_lines(stderr):
    return [line for line in stderr.splitlines() if line.startswith("hotpath:")]


# ------------------------------------------------------------------------------------------------------- exact counts

@with_glibc("realloc to nothing frees there")
@pytest.mark.parametrize("session", ["with a session", "without"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_counts_the_same(box, way, session):
    suffix, env = WAYS[way]
    plain = box.run("alloc_calls_off")
    result = box.run(f"alloc_calls{suffix}", env=env if session != "without" else {**env, "HOTPATH": None})
    check_counts(result.stderr, COUNTED)
    assert result.stdout == plain.stdout
    assert own_lines(result.stderr) == []


@with_glibc("realloc to nothing frees there")
def test_static_by_wrap(box):
    result = box.run("alloc_calls_wrap", env=RECORD)
    check_counts(result.stderr, COUNTED)
    assert result.stdout == box.run("alloc_calls_off").stdout


@pytest.mark.skipif(not (PROGRAMS / "alloc_cxx_off").exists(), reason="built without C++")
@pytest.mark.parametrize("way", WAYS)
def test_new_and_delete(box, way):
    suffix, env = WAYS[way]
    result = box.run(f"alloc_cxx{suffix}", env=env)
    assert counted(result.stderr)[0][:2] == NEW
    assert counted(result.stderr)[0][-1] == ("after", 2, 14, 2)
    assert result.stdout == box.run("alloc_cxx_off").stdout


# --------------------------------------------------------------------------------------------------- other allocators

ALLOCATORS = {"jemalloc": "libjemalloc2", "tcmalloc_minimal": "libtcmalloc-minimal4", "mimalloc": "libmimalloc2.0"}


@pytest.fixture(params=ALLOCATORS)
def allocator(request):
    name = ctypes.util.find_library(request.param)
    if name is None:
        pytest.skip(f"the package {ALLOCATORS[request.param]} is not installed")
    return name


def check_with_allocator(result, plain):
    """What realloc to nothing does differs; pvalloc is not for all of them."""
    assert result.stdout == plain.stdout
    keeps = "realloc_none: memory" in plain.stdout
    check_counts(result.stderr, [("realloc_none", 1, 0, 1) if row[0] == "realloc_none" and keeps else row
                                 for row in COUNTED[:-4] + COUNTED[-2:]])


def test_allocator_preloaded(box, allocator):
    plain = box.run("alloc_calls_off", 0, "no_pvalloc", env={"LD_PRELOAD": allocator})
    check_with_allocator(box.run("alloc_calls_off", 0, "no_pvalloc", env=preload(allocator)), plain)
    archive = box.run("alloc_calls_archive", 0, "no_pvalloc", env={**RECORD, "LD_PRELOAD": allocator})
    check_with_allocator(archive, plain)


@pytest.mark.parametrize("libraries", [[], ["-lhotpath_alloc", "-lhotpath"]])
def test_allocator_linked(box, allocator, libraries):
    """In the order in which the program names them."""
    program = box.path / "program"
    subprocess.run(["cc", "-fno-builtin", "-o", program, SOURCE / "tests/programs/alloc_calls.c", f"-L{LIBRARY.parent}",
                    *libraries, f"-l:{allocator}", f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
    plain = box.run("alloc_calls_off", 0, "no_pvalloc", env={"LD_PRELOAD": allocator})
    check_with_allocator(box.run(program, 0, "no_pvalloc", env=RECORD if libraries else preload()), plain)


def test_allocator_in_front(box, allocator):
    """It never asks ours: nothing is counted, and one line says so, if somebody wanted to know."""
    plain = box.run("alloc_calls_off", 0, "no_pvalloc", env={"LD_PRELOAD": allocator})
    for wish, lines in (("1", 1), ("alloc", 1), ("timing", 0), ("0", 0), (None, 0)):
        result = box.run("alloc_calls_shared", 0, "no_pvalloc", env={"HOTPATH": wish, "LD_PRELOAD": allocator})
        assert result.stdout == plain.stdout
        assert len(own_lines(result.stderr)) == lines
        assert not any(counts[1] for counts in counted(result.stderr)[0])


@with_glibc("pvalloc is its")
def test_what_the_allocator_does_not_have(box, allocator):
    """Where pvalloc is left to the C library its block is not the allocator's, and cannot be asked for its size."""
    plain = box.run("alloc_calls_off", env={"LD_PRELOAD": allocator}, status=None)
    result = box.run("alloc_calls_off", env=preload(allocator), status=None)
    assert (result.stdout, end(result.status)) == (plain.stdout, end(plain.status))


# ------------------------------------------------------------------------------------------------------ harm to none

def test_failing_allocations(box):
    """An allocator whose n-th call fails, and whose functions call one another, for every n."""
    inject = PROGRAMS / "inject.so"
    calls = box.run("alloc_calls_off", env={"LD_PRELOAD": inject}).told["calls"]
    assert calls > 10
    for n in range(calls + 1):
        plain = box.run("alloc_calls_off", n, env={"LD_PRELOAD": inject})
        result = box.run("alloc_calls_off", n, env=preload(inject))
        assert result.stdout == plain.stdout, f"call {n}"
        assert n == 0 or plain.stdout.count("none") > 5
    truth = [("realloc_none", 1, 0, 1) if row[0] == "realloc_none" else row for row in COUNTED]
    check_counts(box.run("alloc_calls_off", env=preload(inject)).stderr, truth)


@pytest.mark.parametrize("case", ["threads", "fork", "vfork", "plugin"])
@pytest.mark.parametrize("way", WAYS)
def test_hosts(box, way, case):
    suffix, env = WAYS[way]
    arguments = [case, PROGRAMS / "alloc_plugin.so"]
    plain = box.run("alloc_host_off", *arguments)
    result = box.run(f"alloc_host{suffix}", *arguments, env=env)
    assert result.stdout == plain.stdout
    assert own_lines(result.stderr) == []
