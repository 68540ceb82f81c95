"""Hooks of the preloaded library pass calls on to the function that the caller would have got without them."""
import collections
import json
import re
import shutil
import subprocess

import pytest

from harness import (BUILD, HOTPATH, SOURCE, TIMEOUT, Report, when_optimised, with_glibc, without_emulator,
                     without_sanitizer)

pytestmark = [without_sanitizer("the library is not preloaded"), without_emulator("the library is not preloaded"),
              with_glibc("programs are preloaded into")]

PRELOADED = BUILD / "lib" / "libhotpath_preload.so"
WITH_ALL = BUILD / "lib" / "libhotpath_locks_io.so"
ROUNDS, TURNS = 4, 3  # of library_host.c and library_copy.c
FIRST_VERSION = "LIBURING_2.0 { global: io_uring_wait_cqes; };\n"


class Builder:
    """Compiles a host and copies of a library in a folder of the test."""

    def __init__(self, box):
        self.box, self.folder = box, box.folder()

    def build(self, output, source, *options):
        subprocess.run(["cc", SOURCE / "tests" / "programs" / source, "-o", self.folder / output, *options],
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
        options = ["--format", "json", "--output", path, "--section", "loops", "--"]
        plain = {"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None}
        under = self.box.run(HOTPATH, "run", *options, program, *arguments, env=plain | (env or {}))
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


@pytest.mark.parametrize("way, binding, linker", [("linked", "lazy", "bfd"), ("linked", "now", "lld"),
                                                  ("opened", "lazy", "lld"), ("opened", "now", "bfd")])
def test_every_way_to_bind_a_call_is_seen(builder, way, binding, linker):
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


# --------------------------------------------------------------------------------------------------------- stack

MOST_STACK = 512  # more than the plain function: docs/host-rules.md, "Stack"


@pytest.fixture(scope="module")
def hook_stack(tmp_path_factory):
    """The program hook_stack, and the names that it knows."""
    folder, source = tmp_path_factory.mktemp("hook_stack"), SOURCE / "tests" / "programs"
    library, program = folder / "libhooked.so", folder / "hook_stack"
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", source / "hook_stack_library.c", "-o", library], check=True)
    subprocess.run(["cc", "-O2", "-fno-builtin", "-U_FORTIFY_SOURCE", "-w", source / "hook_stack.c", "-o", program,
                    library, f"-Wl,-rpath,{folder},--no-as-needed", "-l:libstdc++.so.6", "-ldl", "-lrt",
                    "-pthread"], check=True)
    return program, subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()


def test_the_stack_of_every_hook_is_measured(hook_stack):
    lines = subprocess.run(["nm", "-D", "--defined-only", WITH_ALL], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    hooks = {line.split()[2].split("@")[0] for line in lines if line.split()[1] in "TWi"}
    missing = {name for name in hooks - set(hook_stack[1]) if not name.startswith(("hotpath_", "__cyg_profile_"))}
    assert {"malloc", "uv_run", "mtx_lock"} <= hooks
    assert not missing, f"add to tests/programs/hook_stack.c: {sorted(missing)}"


@when_optimised("frames are larger there")
@pytest.mark.parametrize("flags", [["--locks", "--io"], ["--locks", "--io", "--path"]], ids=["locks-io", "path"])
@pytest.mark.parametrize("way", ["thread", "handler", "child", "fork"])
def test_hooks_need_little_stack(box, hook_stack, way, flags):
    """All functions are bound at the start: to do that at the first call takes 3 KB, with and without hooks."""
    program, names = hook_stack
    env = {"LD_BIND_NOW": "1", "HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None}
    measured = [dict(line.split() for line in box.run(*command, way, *names, env=env).stdout.splitlines())
                for command in ([program], [HOTPATH, "run", "--format", "none", *flags, "--", program])]
    plain, hooked = ({name: int(used) for name, used in those.items() if int(used) >= 0} for those in measured)
    assert len(plain) > 100 and plain.keys() <= hooked.keys()
    excess = {name: hooked[name] - used for name, used in plain.items() if hooked[name] - used > MOST_STACK}
    assert not excess


# ------------------------------------------------------------------------------------- libraries that are closed

def test_functions_of_a_library_in_the_place_of_a_closed_one(builder):
    """Measured by the compiler. Only hotpath run notices that a library is closed."""
    host = builder.build("closed", "closed_library.c", "-ldl")
    libraries = BUILD / "lib"
    linked = builder.build("linked", "closed_library.c", "-ldl", "-Wl,--no-as-needed", f"-L{libraries}",
                           "-lhotpath", f"-Wl,-rpath,{libraries}")
    arguments = []
    for name, calls in (("alpha_work", 3), ("omega_work", 7)):
        arguments += [builder.build(f"{name}.so", "closed_library.c", "-shared", "-fPIC", "-finstrument-functions",
                                    f"-DWORK={name}"), name, calls]
    path = builder.folder / "run.json"
    under = builder.box.run(HOTPATH, "run", "--format", "json", "--output", path, "--section", "timing", "--", host,
                            *arguments, env={"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None})
    assert under.stdout.count("same_place 1") == 2, "the second one was not loaded where the first one was"
    told_apart = Report(json.loads(path.read_text()))
    assert (told_apart.calls("alpha_work"), told_apart.calls("omega_work"), told_apart.lost) == (3, 7, {})
    alone = builder.box.run(linked, *arguments, env={"HOTPATH": "1"})
    assert alone.stdout == under.stdout
    assert (alone.calls("alpha_work"), alone.report.lost) == (10, {"closed": 1})
