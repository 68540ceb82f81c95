"""The two files in ways that take longer to compile, and hotpath as a part of a CMake project."""
import pytest

from harness import SOURCE
from test_consumers import QUICKLY
from test_two_files import STRICT, WRAP, build_and_count, with_glibc
from workshop import CONSUMER, HERE, SINGLE, do, need


@pytest.mark.parametrize("flags", [
    "-O0", "-O1 -std=c17", "-O2 -std=gnu11", "-O3 -std=c11 -pedantic", "-Os", "-O2 -fno-pic -no-pie",
    "-O2 -D_FORTIFY_SOURCE=2", "-O2 -flto", "-O1 -fsanitize=address,undefined",
])
def test_any_options(workshop, compiler, flags):
    workshop.fetch(SINGLE / "hotpath.c", SINGLE / "hotpath.h", HERE / "consumer.c")
    more = {"gcc": ["-flto=auto"], "clang": ["-fuse-ld=lld"]}[compiler] if "lto" in flags else []
    workshop.do(compiler, *flags.split(), *more, "-Wall", "-Wextra", "-Werror", "-DHOTPATH", "-I.", "consumer.c",
                "hotpath.c", "-pthread", "-o", "it")
    assert workshop.calls("it") == CONSUMER


def test_built_in_parallel_by_make(workshop):
    """Each archive alone, since one that does not wait for its objects may find them made by others; then
    everything."""
    need("make")
    workshop.do("cmake", "-S", SOURCE, "-B", "out", "-G", "Unix Makefiles", "-DHOTPATH_BUILD_TESTS=OFF",
                "-DHOTPATH_BUILD_BENCH=OFF", "-DHOTPATH_BUILD_EXAMPLES=OFF", *QUICKLY)
    for target in ("hotpath_static", "hotpath_alloc_static", "hotpath_alloc_wrap_static"):
        workshop.do("cmake", "--build", "out", "--target", target, "-j2")
    workshop.do("cmake", "--build", "out", "-j2")
    assert len(list(workshop.folder.glob("out/lib/lib*.a"))) == 3
    assert "hotpath " in workshop.do("out/bin/hotpath", "--version")


SANITIZED = """#include <stdlib.h>
#include "hotpath.h"
static char *work(void)
{
    HOTPATH_MEASURE();
    return malloc(7);
}
int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    char *block = work();
    free(block);
    return argc > 1 ? *(volatile char *)block : argv == 0;
}
"""


@with_glibc
@pytest.mark.parametrize("sanitizer", ["address", "thread", "leak"])
@pytest.mark.parametrize("is_mixed", [False, True])
def test_sanitizers_keep_malloc(workshop, compiler, objects, sanitizer, is_mixed):
    """Whether or not hotpath.c is compiled with it: the sanitizer keeps malloc, and one line says that allocations
    are not counted."""
    workshop.fetch(SINGLE / "hotpath.h")
    workshop.write("it.c", SANITIZED)
    with_it = f"-fsanitize={sanitizer}"
    library = objects(compiler, "-w", "-DHOTPATH_ALLOC", *([] if is_mixed else [with_it]))
    workshop.do(compiler, "-w", "-DHOTPATH", with_it, "it.c", library, "-pthread", "-o", "it")
    for env in ({}, {"HOTPATH": "1"}):
        result = workshop.box.run(workshop.folder / "it", env={"ASAN_OPTIONS": "detect_leaks=0", **env},
                                  before=["setarch", "-R"])
        assert result.calls("work") == 1 and "alloc-bytes" not in result.report.values["sections"]
        assert result.lines == ["hotpath: the program contains a sanitizer, which replaces malloc; allocations are "
                                "not counted"]
    if sanitizer == "address" and not is_mixed:
        found = workshop.box.run(workshop.folder / "it", "wrongly", status=None, before=["setarch", "-R"])
        assert "heap-use-after-free" in found.stderr


def test_musl(workshop):
    """In a program, and in a library that an unmeasured program opens."""
    need("musl-gcc")
    machine = do("gcc", "-dumpmachine").strip()
    kernel_headers = ["-idirafter", "/usr/include", "-idirafter", f"/usr/include/{machine}"]
    musl = ["musl-gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-DHOTPATH", f"-I{SINGLE}", *kernel_headers]
    workshop.do(*musl, HERE / "consumer.c", SINGLE / "hotpath.c", "-o", "it")
    assert workshop.calls("it") == CONSUMER
    workshop.do(*musl, HERE / "consumer.c", SINGLE / "hotpath.c", "-static", "-o", "it")
    assert workshop.calls("it") == CONSUMER
    workshop.do(*musl, "-fPIC", "-shared", SOURCE / "tests/programs/plugin.c", SINGLE / "hotpath.c", "-o",
                "plugin.so")
    workshop.do(*musl, HERE / "crowded.c", "-o", "crowded")
    expected = {"plugin_work": 2000, "plugin_inner": 4000}
    assert workshop.calls("crowded", workshop.folder / "plugin.so", env={"HOTPATH": "1"}) == expected


def test_part_of_a_cmake_project(workshop):
    workshop.fetch(HERE / "CMakeLists.txt", HERE / "consumer.c", SOURCE / "tests/programs/alloc_calls.c",
                   SOURCE / "tests/programs/alloc_counts.h")
    workshop.do("cmake", "-S", ".", "-B", "out", "-G", "Ninja", f"-DHOTPATH_FROM={SOURCE}")
    workshop.do("cmake", "--build", "out")
    for program in ("hotpath_c", "hotpath_cxx", "static_c", "static_cxx", "whole"):
        assert workshop.calls(f"out/{program}") == CONSUMER, program


@pytest.mark.parametrize("macro", ["HOTPATH", "HOTPATH_ALLOC", "HOTPATH_ALLOC_WRAP"])
def test_no_warnings_when_optimized(workshop, compiler, macro):
    workshop.fetch(SINGLE / "hotpath.c", SINGLE / "hotpath.h")
    workshop.do(compiler, "-O2", *STRICT, f"-D{macro}", "-c", "hotpath.c")


@with_glibc
@pytest.mark.parametrize("flags", [["-DHOTPATH_ALLOC"], ["-DHOTPATH_ALLOC", "-O2"],
                                   ["-DHOTPATH_ALLOC_WRAP", "-DALLOC_CALLS_STATIC", "-static", *WRAP]])
def test_allocations_by_both_compilers(workshop, compiler, flags):
    build_and_count(workshop, compiler, *flags)
