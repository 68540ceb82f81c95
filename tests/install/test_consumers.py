"""An installed hotpath can be used: with a compiler alone, pkg-config, CMake, Meson and make; shared, static and in
programs that are static as a whole; C and C++; gcc and clang; from a prefix that has been moved. The recipes are
those of docs/building.md."""
import json
import re
import shutil

import pytest

from alloc_truth import COUNTED, check_counts
from harness import BUILD, SOURCE, full
from workshop import CONSUMER, CXX, HERE, SINGLE, do, need, recipe

ALLOC_CALLS = SOURCE / "tests/programs/alloc_calls.c"
LINKS = ["shared", "archive", "static"]


def language(compiler, suffix):
    return CXX[compiler] if suffix == "cc" else compiler


@pytest.fixture(params=["c", "cc"])
def source(request, workshop):
    path = workshop.folder / f"consumer.{request.param}"
    path.write_text((HERE / "consumer.c").read_text())
    return path


# -------------------------------------------------------------------------------------------------- installed files

def test_everything_is_installed(installed):
    files = {str(path.relative_to(installed.prefix)) for path in installed.prefix.rglob("*") if not path.is_dir()}
    expected = {"bin/hotpath", "include/hotpath.h", "share/hotpath/hotpath.c", "share/hotpath/hotpath.h",
                "share/doc/hotpath/copyright", "share/doc/hotpath/agents.md",
                "share/doc/hotpath/prometheus/dashboard.json", "share/doc/hotpath/prometheus/alerts.yml",
                "lib/systemd/system/hotpath-agent.service"}
    expected |= {f"include/hotpath/{header.name}" for header in (SOURCE / "include/hotpath").iterdir()}
    expected |= {f"share/man/man{page.suffix[1:]}/{page.name}" for page in (SOURCE / "man").glob("*.[1357]")}
    for name, place in (("hotpath.bash", "share/bash-completion/completions/hotpath"),
                        ("_hotpath", "share/zsh/site-functions/_hotpath"),
                        ("hotpath.fish", "share/fish/vendor_completions.d/hotpath.fish")):
        if (SOURCE / "completions" / name).exists():
            expected.add(place)
    version = installed.pkg_config("--modversion")[0]
    libraries = installed.libraries.relative_to(installed.prefix)
    expected |= {f"{libraries}/{name}" for name in (
        "hotpath/orders", "hotpath/hotpath_qemu.so",
        "libhotpath.a", "libhotpath.so", "libhotpath.so.0", f"libhotpath.so.{version}",
        "libhotpath_alloc.a", "libhotpath_alloc.so", "libhotpath_alloc.so.0", f"libhotpath_alloc.so.{version}",
        "libhotpath_alloc_wrap.a", "libhotpath_locks_wrap.a",
        "libhotpath_preload.so.0", f"libhotpath_preload.so.{version}",
        "libhotpath_locks.so", "libhotpath_locks.so.0", f"libhotpath_locks.so.{version}",
        "libhotpath_io.so.0", f"libhotpath_io.so.{version}",
        "libhotpath_locks_io.so.0", f"libhotpath_locks_io.so.{version}",
        "pkgconfig/hotpath.pc", "pkgconfig/hotpath_alloc.pc", "pkgconfig/hotpath_alloc_wrap.pc",
        "pkgconfig/hotpath_locks.pc", "pkgconfig/hotpath_locks_wrap.pc",
        "cmake/hotpath/hotpath-config.cmake", "cmake/hotpath/hotpath-config-version.cmake",
        "cmake/hotpath/hotpath-targets.cmake")}
    by_build_type = {name for name in files if re.search(r"/hotpath-targets-\w+\.cmake$", name)}
    assert files - by_build_type == expected and len(by_build_type) == 1
    assert version in do(installed.prefix / "bin/hotpath", "--version")


def test_demo(workshop, installed):
    """Its program is found from where hotpath is, and finds its library from where it is."""
    shown = workshop.do(installed.prefix / "bin/hotpath", "demo", "--once", "--seconds", "0.5")
    assert "| main " in shown and "[hotpath] " in shown


@pytest.mark.parametrize("name", ["hotpath", "hotpath_alloc"])
def test_shared_library_has_a_name_and_stays(installed, name):
    dynamic = do("readelf", "-d", installed.libraries / f"lib{name}.so")
    assert f"Library soname: [lib{name}.so.0]" in dynamic
    assert "NODELETE" in dynamic


def test_little_room_for_thread_local_storage(installed):
    """The C library has little room for that of libraries which are opened later."""
    size = 0
    for name in ("hotpath", "hotpath_alloc"):
        for line in do("readelf", "-lW", installed.libraries / f"lib{name}.so").splitlines():
            if line.split()[:1] == ["TLS"]:
                size += int(line.split()[5], 16)
    assert 0 < size <= 256


def test_destdir(workshop):
    workshop.do("cmake", "--install", BUILD, env={"DESTDIR": str(workshop.folder / "stage")})
    staged = next((workshop.folder / "stage").rglob("hotpath.pc")).read_text()
    assert str(workshop.folder) not in staged


# ---------------------------------------------------------------------------------------------------- compilers

@pytest.mark.parametrize("link", LINKS)
def test_compiler_alone(workshop, installed, compiler, source, link):
    how = {"shared": [f"-L{installed.libraries}", "-lhotpath", f"-Wl,-rpath,{installed.libraries}"],
           "archive": [installed.libraries / "libhotpath.a", "-pthread"],
           "static": ["-static", f"-L{installed.libraries}", "-lhotpath", "-pthread"]}[link]
    workshop.do(language(compiler, source.suffix[1:]), "-DHOTPATH", f"-I{installed.prefix}/include", source, *how,
                "-o", "it")
    assert workshop.calls("it") == CONSUMER


def test_compiled_out(workshop, installed, compiler, source):
    workshop.do(language(compiler, source.suffix[1:]), f"-I{installed.prefix}/include", source, "-o", "it")
    result = workshop.box.run(workshop.folder / "it")
    assert (result.stderr, result.sessions()) == ("", [])


@pytest.mark.parametrize("link", LINKS)
def test_pkg_config(workshop, installed, compiler, source, link):
    need("pkg-config")
    options = installed.pkg_config("--cflags", "--libs", *(["--static"] if link == "static" else []))
    if link == "archive":
        options = [option.replace("-lhotpath", "-l:libhotpath.a") for option in options] + ["-pthread"]
    if link == "static":
        assert "-pthread" in options
        options.append("-static")
    workshop.do(language(compiler, source.suffix[1:]), "-DHOTPATH", source, *options, "-o", "it")
    assert workshop.calls("it", env=installed.env) == CONSUMER


def test_adapters_are_found(workshop, installed, compiler):
    need("pkg-config")
    source = SOURCE / "tests/programs/adapter_pool.c"
    workshop.do(compiler, "-std=gnu11", "-DHOTPATH", source, *installed.pkg_config("--cflags", "--libs"),
                "-pthread", "-o", "it")
    calls = workshop.calls("it", env=installed.env)
    assert (calls["job"], calls["job, queued"]) == (5, 5)


# ------------------------------------------------------------------------------------------------ allocations

@pytest.mark.parametrize("module, flags", [("hotpath_alloc", []),
                                           ("hotpath_alloc_wrap", ["-static", "-DALLOC_CALLS_STATIC"])])
def test_allocations(workshop, installed, compiler, module, flags):
    need("pkg-config")
    workshop.fetch(ALLOC_CALLS, ALLOC_CALLS.parent / "alloc_counts.h")
    options = do("pkg-config", "--cflags", "--libs", *(["--static"] if flags else []), module,
                 env=installed.env).split()
    workshop.do(compiler, "-fno-builtin", "-DALLOC_COUNTS_LINKED", *flags, "alloc_calls.c", *options, "-o", "it")
    result = workshop.box.run(workshop.folder / "it", env={**installed.env, "HOTPATH": "1"})
    check_counts(result.stderr, COUNTED)


@pytest.mark.parametrize("module, flags", [("hotpath_alloc", []), ("hotpath_alloc_wrap", ["-static"])])
def test_allocations_of_libraries_alone(workshop, installed, compiler, module, flags):
    """The program itself does not call malloc, so the linker may leave our library out."""
    need("pkg-config")
    workshop.write("strdup.c", """#include <stdio.h>
        #include <string.h>
        #include <hotpath.h>
        int main(void)
        {
            struct hotpath_alloc_counts before, after;
            hotpath_read_allocs(&before);
            puts(strdup("a text"));
            return hotpath_read_allocs(&after) != HOTPATH_OK || after.count == before.count;
        }""")
    options = do("pkg-config", "--cflags", "--libs", *(["--static"] if flags else []), module,
                 env=installed.env).split()
    workshop.do(compiler, "-fno-builtin", "-DHOTPATH", "-Wl,--as-needed", *flags, "strdup.c", *options, "-o", "it")
    workshop.box.run(workshop.folder / "it", env=installed.env)


LOCKS = """#include <hotpath.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void work(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
int main(void)
{
    HOTPATH_MAIN();
    for (int turn = 0; turn < 70; turn++)
        work();
    free(malloc(1));
    return 0;
}"""


@pytest.mark.parametrize("modules", [["hotpath_locks_wrap"], ["hotpath_locks_wrap", "hotpath_alloc_wrap"]])
def test_locks_of_a_static_program(workshop, installed, compiler, modules):
    """With zones, and with allocations counted, too."""
    need("pkg-config")
    workshop.write("locks.c", LOCKS)
    options = do("pkg-config", "--cflags", "--libs", "--static", *modules, env=installed.env).split()
    workshop.do(compiler, "-O1", "-DHOTPATH", "-static", "locks.c", *options, "-o", "it")
    report = workshop.folder / "report.json"
    said = workshop.box.run(installed.prefix / "bin/hotpath", "run", "--locks", "-f", "json", "-o", report, "--",
                            workshop.folder / "it", env=installed.env).stderr
    sections = json.loads(report.read_text())["sections"]
    assert ("lock", 70) in [(row["name"], row["locked"]) for row in sections["locks"]["rows"]]  # libgcc has others
    assert next(row for row in sections["timing"]["rows"] if row["name"] == "work")["calls"] == 70
    assert "locks of" not in said and ("allocations of" in said) == (len(modules) == 1)


def test_locks_of_a_program_that_is_linked_with_the_hooks(workshop, installed, compiler):
    """Without `hotpath run`; allocations are counted, too."""
    need("pkg-config")
    workshop.write("locks.c", LOCKS)
    options = do("pkg-config", "--cflags", "--libs", "hotpath_locks", env=installed.env).split()
    workshop.do(compiler, "-O1", "-fno-builtin", "-DHOTPATH", "-Wl,--as-needed", "locks.c", *options, "-o", "it")
    folder = workshop.box.folder()
    wishes = {"HOTPATH_LOCKS": "1", "HOTPATH_DIR": str(folder)}
    workshop.box.run(workshop.folder / "it", env={**installed.env, **wishes})
    [session] = folder.glob("*.hotpath")
    sections = json.loads(do(installed.prefix / "bin/hotpath", "report", "-f", "json", "--section",
                             "locks,alloc-bytes", session))["sections"]
    assert [(row["name"], row["locked"]) for row in sections["locks"]["rows"]] == [("lock", 70)]
    assert sections["alloc-bytes"]["totals"]["allocations"] > 0


# -------------------------------------------------------------------------------------------------- build systems

def test_cmake(workshop, installed, compiler):
    workshop.fetch(HERE / "CMakeLists.txt", HERE / "consumer.c", ALLOC_CALLS, ALLOC_CALLS.parent / "alloc_counts.h")
    workshop.do("cmake", "-S", ".", "-B", "out", "-G", "Ninja", f"-DCMAKE_C_COMPILER={compiler}",
                f"-DCMAKE_CXX_COMPILER={CXX[compiler]}", env=installed.env)
    workshop.do("cmake", "--build", "out")
    for program in ("hotpath_c", "hotpath_cxx", "static_c", "static_cxx", "whole"):
        assert workshop.calls(f"out/{program}") == CONSUMER, program
    for program in ("alloc", "alloc_static", "alloc_wrap"):
        check_counts(workshop.box.run(workshop.folder / f"out/{program}", env={"HOTPATH": "1"}).stderr, COUNTED)


QUICKLY = ("-DCMAKE_BUILD_TYPE=", "-DCMAKE_C_FLAGS=-O0", "-DHOTPATH_WERROR=ON")


def test_configured_as_a_subdirectory(workshop):
    """It brings the targets that the project around it uses, and neither tests nor examples."""
    workshop.fetch(HERE / "CMakeLists.txt", HERE / "consumer.c", ALLOC_CALLS, ALLOC_CALLS.parent / "alloc_counts.h")
    workshop.do("cmake", "-S", ".", "-B", "out", "-G", "Ninja", f"-DHOTPATH_FROM={SOURCE}", *QUICKLY)
    targets = workshop.do("ninja", "-C", "out", "-t", "targets", "all")
    assert "libhotpath.a" in targets and "alloc_wrap: phony" in targets
    assert "unit_test" not in targets and "examples_basic" not in targets and "quick: phony" not in targets


@full
def test_as_a_subdirectory_by_make(workshop):
    """A program of the project around it needs an archive that is not there yet."""
    need("make")
    workshop.fetch(HERE / "CMakeLists.txt", HERE / "consumer.c", ALLOC_CALLS, ALLOC_CALLS.parent / "alloc_counts.h")
    workshop.do("cmake", "-S", ".", "-B", "out", "-G", "Unix Makefiles", f"-DHOTPATH_FROM={SOURCE}", *QUICKLY)
    measured = ["static_c", "static_cxx", "whole", "hotpath_c", "hotpath_cxx"]
    counted = ["alloc", "alloc_static", "alloc_wrap"]
    workshop.do("cmake", "--build", "out", "--target", "static_c", "-j2")
    workshop.do("cmake", "--build", "out", "--target", *measured, *counted, "-j2")
    for program in measured:
        assert workshop.calls(f"out/{program}") == CONSUMER, program
    for program in counted:
        check_counts(workshop.box.run(workshop.folder / f"out/{program}", env={"HOTPATH": "1"}).stderr, COUNTED)


@full
def test_meson(workshop, installed, compiler):
    need("meson")
    workshop.fetch(HERE / "meson.build", HERE / "consumer.c")
    env = {**installed.env, "CC": compiler, "CXX": CXX[compiler]}
    workshop.do("meson", "setup", "out", env=env)
    workshop.do("ninja", "-C", "out", env=env)
    for program in ("shared_c", "shared_cxx", "static_c", "static_cxx"):
        assert workshop.calls(f"out/{program}", env=installed.env) == CONSUMER, program


# ------------------------------------------------------------------------------------- the recipes of
# docs/building.md

HELLO = {"main": 1, "leibniz": 100, "print": 1}


@pytest.fixture
def hello(workshop):
    workshop.write("hello.c", recipe("c", "/* hello.c */", "README.md"))
    return workshop


@pytest.mark.parametrize("libraries", ["LDLIBS = $(shell", "LDFLAGS = "])
def test_recipe_for_make(hello, installed, libraries):
    """The program finds its library without LD_LIBRARY_PATH."""
    need("make")
    hello.write("Makefile", recipe("make", libraries))
    hello.do("make", env=installed.env)
    assert hello.calls("hello") == HELLO


def test_recipe_for_make_with_two_files(hello):
    need("make")
    hello.fetch(SINGLE / "hotpath.c", SINGLE / "hotpath.h")
    # The compiler that is quicker, and quickly: -O2 takes ten seconds.
    hello.write("Makefile", recipe("make", "hotpath.c").replace("-O2", "-O0"))
    hello.do("make", *(["CC=clang"] if shutil.which("clang") else []))
    assert hello.calls("hello") == HELLO


def test_recipe_for_cmake(hello, installed):
    hello.write("CMakeLists.txt", recipe("cmake"))
    hello.do("cmake", "-S", ".", "-B", "out", env=installed.env)
    hello.do("cmake", "--build", "out")
    assert hello.calls("out/hello") == HELLO


def test_recipe_for_meson(hello, installed):
    need("meson")
    hello.write("meson.build", recipe("meson"))
    hello.do("meson", "setup", "out", env=installed.env)
    hello.do("ninja", "-C", "out", env=installed.env)
    assert hello.calls("out/hello", env=installed.env) == HELLO
