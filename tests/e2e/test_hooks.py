"""Hooks of the preloaded library pass calls on to the function that the caller would have got without them."""
import collections
import json
import re
import shutil
import subprocess

import pytest

from harness import BUILD, HOTPATH, SOURCE, TIMEOUT, Report, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_sanitizer("the library is not preloaded"), without_emulator("the library is not preloaded"),
              with_glibc("programs are preloaded into")]

PRELOADED = BUILD / "lib" / "libhotpath_alloc.so"
ROUNDS, TURNS = 4, 3  # of library_host.c and library_copy.c
FIRST_VERSION = "LIBURING_2.0 { global: io_uring_wait_cqes; };\n"


class Builder:
    """Compiles a host and copies of a library in a folder of the test."""

    def __init__(self, box):
        self.box, self.folder = box, box.folder()

    def build(self, output, source, *options):
        subprocess.run(["cc", "-g", SOURCE / "tests" / "programs" / source, "-o", self.folder / output, *options],
                       check=True, cwd=self.folder, timeout=TIMEOUT)
        return self.folder / output

    def library(self, name, *options):
        return self.build(f"{name}.so", "library_copy.c", "-shared", "-fPIC", f'-DCOPY="{name}"', *options)

    def host(self, *options):
        return self.build("host", "library_host.c", *options, "-ldl")

    def run(self, program, *arguments, env=None):
        """What the program prints, the same alone and under hotpath run; and the waits of loops, by name."""
        alone = self.box.run(program, *arguments, env=env)
        path = self.folder / "run.json"
        under = self.box.run(HOTPATH, "run", "--format", "json", "--output", path, "--section", "loops", "--",
                             program, *arguments,
                             env={"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None} | (env or {}))
        assert under.stdout == alone.stdout
        loops = collections.Counter()
        for loop in Report(json.loads(path.read_text())).rows("loops"):
            loops[loop.name] += loop.waits
        return under.stdout, loops


@pytest.fixture
def builder(box):
    return Builder(box)


def library_hooks():
    lines = subprocess.run(["nm", "-D", "--defined-only", PRELOADED], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    return {match.group(1) for match in (re.search(r" T (\w+)@", line) for line in lines) if match}


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])  # -O2: they are called by a jump, from no known image
def test_two_plugins_with_copies_of_their_own(builder, optimised):
    plugins = [builder.library(name, "-DLIBRARY", "-DPLUGIN", optimised) for name in ("one", "two", "three")]
    stdout, loops = builder.run(builder.host(), *plugins)
    assert stdout.count("uv_run of three, loop of three\n") == ROUNDS
    assert loops["libuv: uv_run"] == 3 * ROUNDS * TURNS


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_two_plugins_with_dependencies_of_their_own(builder, optimised):
    plugins = []
    for name in ("one", "two"):
        builder.library(f"lib{name}", "-DLIBRARY", f"-Wl,-soname,lib{name}.so")
        plugins.append(builder.library(name, "-DPLUGIN", optimised, f"-L{builder.folder}", f"-l{name}",
                                       f"-Wl,-rpath,{builder.folder}"))
    stdout, _ = builder.run(builder.host(), *plugins)
    assert stdout.count("uv_run of libtwo, loop of libtwo\n") == ROUNDS


def test_a_library_in_the_place_of_a_closed_one(builder):
    plugins = [builder.library(name, "-DLIBRARY", "-DPLUGIN", "-O2") for name in ("one", "two")]
    stdout, loops = builder.run(builder.host(), *plugins, *plugins, env={"CLOSE": "1"})
    assert stdout.count("uv_run of two, loop of two\n") == 2 * ROUNDS
    assert loops["libuv: uv_run"] == 4 * ROUNDS * TURNS


@pytest.mark.parametrize("linker", ["bfd", "lld"])
@pytest.mark.parametrize("binding", ["lazy", "now"])
@pytest.mark.parametrize("way", ["linked", "opened"])
def test_every_way_to_bind_a_call_is_seen(builder, linker, binding, way):
    """A call with a version, too: its library defines io_uring_wait_cqes as LIBURING_2.0."""
    if not shutil.which(f"ld.{linker}"):
        pytest.skip(f"no ld.{linker}")
    link = [f"-fuse-ld={linker}", f"-Wl,-z,{binding}", f"-L{builder.folder}", f"-Wl,-rpath,{builder.folder}"]
    (builder.folder / "versions").write_text(FIRST_VERSION)
    builder.library("libloop", "-DLIBRARY", *link, "-Wl,--version-script=versions")
    plugin = builder.library("libplugin", "-DPLUGIN", *link, "-lloop")
    if way == "linked":
        stdout, loops = builder.run(builder.host("-DLINKED", *link, "-lplugin", "-lloop"))
    else:
        stdout, loops = builder.run(builder.host(), plugin, env={"LAZY": "1"} if binding == "lazy" else None)
    assert stdout.count("uv_run of libloop, loop of libloop\n") == ROUNDS
    assert loops["libuv: uv_run"] == ROUNDS * TURNS
    assert loops["io_uring_wait_cqes in wait_for_it"] == ROUNDS


def test_dlsym_finds_no_hook_of_a_library(builder):
    names = sorted(library_hooks())
    assert {"uv_run", "event_base_loop", "g_async_queue_push", "io_uring_wait_cqes"} <= set(names)
    stdout, _ = builder.run(builder.host(), "names", *names)
    assert stdout == "".join(f"{name} 0\n" for name in names)
