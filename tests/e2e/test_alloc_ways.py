"""The ways to count allocations: the malloc family in front of the program's allocator, linked, in archives, by
--wrap, preloaded. Each counts the same, with any allocator behind it, and the program does not notice."""
import ctypes.util
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from alloc_truth import check_counts, counted, truth
from harness import (BUILD, HOTPATH, PROGRAMS, SOURCE, Report, end, needs_root, with_glibc, without_emulator,
                     without_sanitizer)

pytestmark = [without_sanitizer("it has malloc for itself"),
              without_emulator("the variables are the emulator's, too")]

LIBRARY = BUILD / "lib" / "libhotpath_alloc.so"
RECORD = {"HOTPATH": "1"}
IS_GLIBC = os.environ.get("HOTPATH_IS_GLIBC", "1") != ""
TRUE = PROGRAMS / "alloc_host_off"  # does little without arguments

NEW = [("new", 3, 408, 3), ("containers", 4, 4000 + 501 + 32 + 501, 4)]


def preload(*below):
    return {**RECORD, "LD_PRELOAD": ":".join([str(LIBRARY), *map(str, below)])}


WHOLE = {**RECORD, "LD_PRELOAD": str(BUILD / "lib" / "libhotpath_preload.so")}  # as hotpath run does
WAYS = {"shared": ("_shared", RECORD), "archive": ("_archive", RECORD), "preload": ("_off", preload()),
        "archive and preload": ("_archive", preload()), "shared and preload": ("_shared", preload()),
        "one file": ("_off", WHOLE), "archive and one file": ("_archive", WHOLE),
        "shared and one file": ("_shared", WHOLE)}


def own_lines(stderr):
    return [line for line in stderr.splitlines() if line.startswith("hotpath:")]


@pytest.fixture
def folder():
    """Where programs can be executed, and may have rights."""
    with tempfile.TemporaryDirectory(prefix="hotpath-alloc-") as path:
        Path(path).chmod(0o755)
        yield Path(path)


# ----------------------------------------------------------------------------------------------------- exact counts

@pytest.mark.parametrize("session", ["with a session", "without"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_counts_the_same(box, way, session):
    suffix, env = WAYS[way]
    plain = box.run("alloc_calls_off")
    result = box.run(f"alloc_calls{suffix}", env=env if session != "without" else {**env, "HOTPATH": None})
    check_counts(result.stderr, truth(plain.stdout))
    assert result.stdout == plain.stdout
    assert own_lines(result.stderr) == []


@pytest.mark.parametrize("way", WAYS)
def test_calls_are_passed_on_without_a_session(box, way):
    """Without a session and without readers, calls are passed on: the program sees no difference."""
    suffix, env = WAYS[way]
    plain = box.run("alloc_calls_off")
    result = box.run(f"alloc_calls{suffix}", env={**env, "HOTPATH": "0", "ALLOC_COUNTS_UNREAD": "1"})
    assert result.stdout == plain.stdout
    assert own_lines(result.stderr) == []


def test_static_by_wrap(box):
    result = box.run("alloc_calls_wrap", env=RECORD)
    check_counts(result.stderr, truth(result.stdout))
    assert result.stdout == box.run("alloc_calls_off").stdout


@pytest.mark.skipif(not (PROGRAMS / "alloc_cxx_off").exists(), reason="built without C++")
@pytest.mark.parametrize("way", WAYS)
def test_new_and_delete(box, way):
    suffix, env = WAYS[way]
    result = box.run(f"alloc_cxx{suffix}", env=env)
    assert counted(result.stderr)[0][:2] == NEW
    assert counted(result.stderr)[0][-1] == ("after", 2, 14, 2)
    assert result.stdout == box.run("alloc_cxx_off").stdout


# ------------------------------------------------------------------------------------------------- other allocators

ALLOCATORS = {"jemalloc": "libjemalloc2", "tcmalloc_minimal": "libtcmalloc-minimal4", "mimalloc": "libmimalloc2.0"}


@pytest.fixture(params=ALLOCATORS)
def allocator(request):
    if not IS_GLIBC:
        pytest.skip("the packages are for glibc")
    name = ctypes.util.find_library(request.param)
    if name is None:
        pytest.skip(f"the package {ALLOCATORS[request.param]} is not installed")
    return name


def check_with_allocator(result, plain):
    assert result.stdout == plain.stdout
    check_counts(result.stderr, truth(plain.stdout))


def test_allocator_preloaded(box, allocator):
    plain = box.run("alloc_calls_off", 0, "no_pvalloc", env={"LD_PRELOAD": allocator})
    check_with_allocator(box.run("alloc_calls_off", 0, "no_pvalloc", env=preload(allocator)), plain)
    archive = box.run("alloc_calls_archive", 0, "no_pvalloc", env={**RECORD, "LD_PRELOAD": allocator})
    check_with_allocator(archive, plain)


@pytest.mark.skipif(not (PROGRAMS / "alloc_cxx_off").exists(), reason="built without C++")
def test_allocator_with_its_own_new(box, allocator):
    """Its new does not call malloc, or its delete does not call free."""
    for suffix, env in (("off", preload(allocator)), ("archive", {**RECORD, "LD_PRELOAD": allocator})):
        result = box.run(f"alloc_cxx_{suffix}", "no_bad_alloc", env=env)
        assert counted(result.stderr)[0][:2] == NEW
        assert counted(result.stderr)[0][-1] == ("after", 2, 14, 2)
        assert result.stdout == box.run("alloc_cxx_off", "no_bad_alloc").stdout


@pytest.mark.parametrize("libraries", [[], ["-lhotpath_alloc", "-lhotpath"]])
def test_allocator_linked(box, folder, allocator, libraries):
    """In the order in which the program names them."""
    program = folder / "program"
    subprocess.run(["cc", "-fno-builtin", "-o", program, SOURCE / "tests/programs/alloc_calls.c",
                    f"-L{LIBRARY.parent}", *libraries, f"-l:{allocator}", f"-Wl,-rpath,{LIBRARY.parent}"],
                   check=True)
    plain = box.run("alloc_calls_off", 0, "no_pvalloc", env={"LD_PRELOAD": allocator})
    check_with_allocator(box.run(program, 0, "no_pvalloc", env=RECORD if libraries else preload()), plain)


def test_allocator_in_front(box, allocator):
    """Ours is never called: nothing is counted, and one line says so, if counts were requested."""
    plain = box.run("alloc_calls_off", 0, "no_pvalloc", env={"LD_PRELOAD": allocator})
    for wish, lines in (("1", 1), ("alloc", 1), ("timing", 0), ("0", 0), (None, 0)):
        result = box.run("alloc_calls_shared", 0, "no_pvalloc", env={"HOTPATH": wish, "LD_PRELOAD": allocator})
        assert result.stdout == plain.stdout
        assert len(own_lines(result.stderr)) == lines
        assert not any(counts[1] for counts in counted(result.stderr)[0])


@with_glibc("pvalloc is its")
def test_functions_missing_in_the_allocator(box, allocator):
    """If pvalloc is left to the C library its block is not the allocator's, and its size cannot be asked for."""
    plain = box.run("alloc_calls_off", env={"LD_PRELOAD": allocator}, status=None)
    result = box.run("alloc_calls_off", env=preload(allocator), status=None)
    assert (result.stdout, end(result.status)) == (plain.stdout, end(plain.status))


@with_glibc("gcc builds for it")
def test_allocator_without_malloc_usable_size(box, folder):
    """Blocks in its own area, unknown to the C library: it must not be asked for their sizes."""
    allocator, program = folder / "allocator.so", folder / "program"
    subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", "-o", allocator, "-xc", "-"], text=True, check=True,
                   input="""
        #include <stddef.h>
        #include <string.h>
        #include <sys/mman.h>
        static char *at, *end;
        static void *take(size_t size)
        {
            size = (size + 15) & ~(size_t)15;
            if (at == NULL || size > (size_t)(end - at)) {
                at = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                end = at + (1 << 24);
            }
            at += size;
            return at - size;
        }
        void *malloc(size_t size) { return take(size); }
        void *calloc(size_t count, size_t size) { return take(count * size); }
        void *realloc(void *block, size_t size)
        {
            void *more = take(size);
            if (block)
                memcpy(more, block, size);
            return more;
        }
        void free(void *block) { (void)block; }""")
    subprocess.run(["cc", "-fno-builtin", f"-I{SOURCE}/tests/programs", "-o", program, "-xc", "-"], text=True,
                   check=True, input="""
        #include "alloc_counts.h"
        #include <stdlib.h>
        int main(void)
        {
            setvbuf(stderr, NULL, _IONBF, 0);
            const struct counts since = read_counts();
            for (int i = 0; i < 1000; i++)
                free(realloc(calloc(1, 4096), 2000));
            tell_counts("all", since);
            return 0;
        }""")
    result = box.run(program, env=preload(allocator))
    assert "counted all 2000 6096000 2000 0" in result.stderr


@with_glibc("gcc compiles for it")
def test_realloc_to_nothing_and_another_thread(box, folder):
    """An allocator in which realloc(p, 0) frees p, and returns when another thread has the same block. Each thread
    frees only what it has allocated itself."""
    allocator, program = folder / "contested.so", folder / "program"
    subprocess.run(["gcc", "-shared", "-fPIC", "-fno-builtin", "-pthread", "-o", allocator, "-xc", "-"], text=True,
                   check=True, input="""
        #include <sched.h>
        #include <stddef.h>
        #include <string.h>
        int stage;
        static char contested[2048] __attribute__((aligned(16))), pool[1 << 24] __attribute__((aligned(16)));
        static int is_taken;
        static size_t used;
        void *malloc(size_t size)
        {
            if (size == 2000 && !__atomic_exchange_n(&is_taken, 1, __ATOMIC_SEQ_CST))
                return contested;
            return pool + __atomic_fetch_add(&used, (size + 15) & ~(size_t)15, __ATOMIC_SEQ_CST);
        }
        void *calloc(size_t count, size_t size) { return malloc(count * size); }
        void free(void *block)
        {
            if (block == contested)
                __atomic_store_n(&is_taken, 0, __ATOMIC_SEQ_CST);
        }
        void *realloc(void *block, size_t size)
        {
            if (block != contested || size != 0) {
                void *more = malloc(size);
                return block ? memcpy(more, block, size) : more;
            }
            free(block);
            __atomic_store_n(&stage, 1, __ATOMIC_SEQ_CST);
            while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 2)
                sched_yield();
            return NULL;
        }
        size_t malloc_usable_size(void *block) { return block == contested ? 2000 : 0; }""")
    subprocess.run(["gcc", "-fno-builtin", "-pthread", "-o", program, "-xc", "-", "-xnone", allocator], text=True,
                   check=True, input="""
        #include <pthread.h>
        #include <sched.h>
        #include <stdlib.h>
        extern int stage;
        static void *take(void *none)
        {
            while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 1)
                sched_yield();
            void *volatile block = malloc(2000);
            __atomic_store_n(&stage, 2, __ATOMIC_SEQ_CST);
            free(block);
            return none;
        }
        int main(void)
        {
            pthread_t thread;
            pthread_create(&thread, NULL, take, NULL);
            void *volatile block = malloc(2000);
            void *volatile none = realloc(block, 0);
            pthread_join(thread, NULL);
            return none != NULL;
        }""")
    result = box.run(program, env=preload(allocator))
    totals = result.report.section("alloc-bytes")["totals"]
    assert (totals["foreign_freed_blocks"], totals["foreign_freed_usable_bytes"]) == (0, 0)
    assert totals["freed_blocks"] >= 2


# ------------------------------------------------------------------------------------------------------ host safety

def test_failing_allocations(box):
    """An allocator whose nth call fails, and whose functions call each other, for every n."""
    inject = PROGRAMS / "inject.so"
    calls = box.run("alloc_calls_off", env={"LD_PRELOAD": inject}).told["calls"]
    assert calls > 10
    for n in range(calls + 1):
        plain = box.run("alloc_calls_off", n, env={"LD_PRELOAD": inject})
        result = box.run("alloc_calls_off", n, env=preload(inject))
        assert result.stdout == plain.stdout, f"call {n}"
        assert n == 0 or plain.stdout.count("none") > 5
    result = box.run("alloc_calls_off", env=preload(inject))
    check_counts(result.stderr, truth(result.stdout))


@with_glibc("the C library of others does not allocate there")
def test_dynamic_linker_that_allocates(box, folder):
    """As older ones do: dlsym uses every function of the family while we resolve them, and such early blocks are
    kept, passed to realloc and freed later."""
    library = folder / "dlsym.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-fno-builtin", "-o", library, "-xc", "-"], text=True, check=True,
                   input="""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <malloc.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        static char *kept[4];
        static int calls;
        static void *check(void *block, size_t alignment)
        {
            if (block == NULL || (size_t)block % alignment != 0)
                abort();
            return block;
        }
        static void allocate(void)
        {
            for (size_t at = 0; at < 4; at++)
                if (calls > 0 && strcmp(kept[at], "kept") != 0)
                    abort();
            void *aligned = NULL;
            if (posix_memalign(&aligned, 256, 10) != 0)
                abort();
            free(check(aligned, 256));
            free(check(realloc(check(malloc(20), 16), 30), 16));
            kept[0] = strcpy(check(realloc(kept[0], 10 + calls), 16), "kept");
            free(kept[1]);
            kept[1] = strcpy(check(calloc(5, 1), 16), "kept");
            kept[2] = strcpy(check(memalign(64, 5), 64), "kept");
            kept[3] = strcpy(check(malloc(5), 16), "kept");
            calls++;
        }
        void *dlsym(void *handle, const char *name)
        {
            static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27"};
            void *(*real)(void *, const char *) = NULL;
            for (size_t at = 0; at < 4 && real == NULL; at++)
                real = dlvsym(RTLD_NEXT, "dlsym", versions[at]);
            allocate();
            void *found = real(handle, name);
            return found;
        }
        __attribute__((destructor)) static void end(void)
        {
            for (size_t at = 0; at < 4; at++)
                free(kept[at]);
            fprintf(stderr, "dlsym %d\\n", calls);
        }""")
    plain = box.run("alloc_calls_off")
    result = box.run("alloc_calls_off", env=preload(library))
    assert result.stdout == plain.stdout and result.aside["dlsym"] > 10
    check_counts(result.stderr, truth(plain.stdout))
    uncounted = box.run("alloc_calls_off", env={**preload(library), "HOTPATH": "0", "ALLOC_COUNTS_UNREAD": "1"})
    assert uncounted.stdout == plain.stdout and uncounted.aside["dlsym"] > 10


@pytest.mark.parametrize("case", ["threads", "fork", "vfork", "plugin"])
@pytest.mark.parametrize("way", WAYS)
def test_hosts(box, way, case):
    suffix, env = WAYS[way]
    arguments = [case, PROGRAMS / "alloc_plugin.so"]
    plain = box.run("alloc_host_off", *arguments)
    result = box.run(f"alloc_host{suffix}", *arguments, env=env)
    assert result.stdout == plain.stdout
    assert own_lines(result.stderr) == []


@with_glibc("the programs of this machine have it")
def test_sanitizers_keep_malloc(box, folder):
    """Linked into a program that has one: it works as without us, and one line says that nothing is counted."""
    for sanitizer in ("address", "thread"):
        program = folder / sanitizer
        built = subprocess.run(["gcc", f"-fsanitize={sanitizer}", "-fno-builtin", "-o", program,
                                SOURCE / "tests/programs/alloc_plugin.c", "-xc", "-", f"-L{LIBRARY.parent}",
                                "-Wl,--no-as-needed", "-lhotpath_alloc", "-lhotpath",
                                f"-Wl,-rpath,{LIBRARY.parent}"],
                               input="int alloc_plugin_is_fine(void); int main(void) { return "
                                     "!alloc_plugin_is_fine(); }",
                               text=True, capture_output=True)
        if built.returncode != 0:
            pytest.skip(f"gcc cannot link with -fsanitize={sanitizer}")
        result = box.run(program, env=RECORD, before=["setarch", "-R"])
        assert result.stderr.count("the program contains a sanitizer") == 1
        assert own_lines(box.run(program, before=["setarch", "-R"]).stderr) == []


@with_glibc("the C++ library of this machine is for it")
def test_plugin_in_cxx(box, folder):
    """The C++ library is loaded only with the plugin; its exceptions are caught there."""
    plugin, host = folder / "plugin.so", folder / "host"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", plugin, "-xc++", "-"], text=True, check=True, input="""
        #include <new>
        #include <string>
        #include <vector>
        static void *volatile hold;
        extern "C" int work() {
            std::vector<std::string> texts(100, std::string(100, 'x'));
            try {
                hold = new char[static_cast<size_t>(-1) / 4];
            } catch (const std::bad_alloc &) {
                return static_cast<int>(texts.size());
            }
            return 0;
        }""")
    subprocess.run(["gcc", "-o", host, "-xc", "-", "-ldl"], text=True, check=True, input="""
        #include <dlfcn.h>
        int main(int argc, char **argv) {
            void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
            int (*work)(void) = (int (*)(void))dlsym(plugin, "work");
            return work() != 100 || work() != 100;
        }""")
    box.run(host, plugin)
    box.run(host, plugin, env=preload())


# ------------------------------------------------------------------------------------------------------ hotpath run

@pytest.fixture
def run(box):
    """hotpath run OPTIONS -- PROGRAM, with its report in JSON."""
    def do(*arguments, env=None, **popen):
        path = box.path / "run.json"
        path.unlink(missing_ok=True)
        result = box.run(HOTPATH, "run", "--format", "json", "--output", path, *arguments, env=env, **popen)
        result._report = Report(json.loads(path.read_text())) if path.exists() else None
        return result
    return do


def counts_allocations(result):
    return result._report is not None and "alloc-bytes" in result._report.values["sections"]


@pytest.mark.parametrize("program", ["alloc_calls_off", "alloc_calls_shared", "alloc_calls_archive",
                                     "alloc_calls_wrap"])
def test_run_counts(box, run, program):
    """Whether the program was linked for it or not."""
    result = run(PROGRAMS / program)
    check_counts(result.stderr, truth(result.stdout))
    assert result.stdout == box.run("alloc_calls_off").stdout
    assert own_lines(result.stderr) == [] and counts_allocations(result)


def environment(stdout):
    own = stdout.splitlines()[-2]
    child = next(line for line in stdout.splitlines() if line.startswith("preload"))
    return own, child, [line for line in stdout.splitlines() if line.startswith("LD_PRELOAD")]


def test_children_are_not_preloaded(run):
    result = run("--no-children", PROGRAMS / "alloc_host_off", "environment")
    assert environment(result.stdout) == ("own <unset>", "preload <> <unset>", [])
    assert "HOTPATH_RUN=1" in result.stdout  # they are recorded, if they are built with hotpath


@with_glibc("the programs of this machine have it")
def test_other_preloaded_libraries_stay(run):
    other = str(PROGRAMS / "inject.so")
    result = run("--no-children", PROGRAMS / "alloc_host_off", "environment",
                 env={"LD_PRELOAD": f"{other}: {other}"})
    assert environment(result.stdout)[0] == f"own <{other}: {other}>"
    result = run(PROGRAMS / "alloc_calls_off", env={"LD_PRELOAD": other})
    assert result.told["calls"] > 10 and counts_allocations(result)


@with_glibc("the programs of this machine have it")
def test_children(run):
    result = run(PROGRAMS / "alloc_host_off", "environment")
    (line,) = environment(result.stdout)[2]
    assert line.endswith(str((LIBRARY.parent / "libhotpath_preload.so").resolve())) and ":" not in line
    names = {Path(row.command.split()[0]).name for row in result._report.rows("processes")}
    assert "env" in names and names & {"sh", "dash", "bash"}  # the names of files, if they were too brief for more
    result = run("sh", "-c", f"HOTPATH=0 {PROGRAMS}/alloc_host_off environment")
    assert environment(result.stdout) == ("own <unset>", "preload <> <unset>", [])


@pytest.mark.parametrize("options", [["--no-preload"], ["--only", "timing"], ["--only", "0"]])
def test_not_preloaded_unless_allocations_are_recorded(run, options):
    result = run(*options, PROGRAMS / "alloc_host_off", "environment")
    assert environment(result.stdout) == ("own <unset>", "preload <> <unset>", [])
    assert not counts_allocations(result) and "are not counted" not in result.stderr


def test_preloaded_if_allocations_are_recorded(run):
    assert counts_allocations(run("--only", "alloc", TRUE))
    assert counts_allocations(run(TRUE, env={"HOTPATH": "timing,alloc"}))
    assert counts_allocations(run(TRUE, env={"HOTPATH": "0"}))  # it does not apply to a run


def test_alloc_library_option(run):
    assert counts_allocations(run("--alloc-library", LIBRARY, TRUE))
    result = run("--alloc-library", "/nowhere/libhotpath_alloc.so", TRUE)
    assert result.stdout.endswith("end\n")
    assert "/nowhere/libhotpath_alloc.so was not found" in own_lines(result.stderr)[0]


def build(folder, *flags):
    program = folder / "program"
    subprocess.run(["gcc", "-o", program, "-xc", "-", *flags], text=True, check=True,
                   input='#include <stdio.h>\n#include <stdlib.h>\nint main(void) { free(malloc(9)); puts("out"); '
                         'return 5; }')
    return program


@with_glibc("gcc builds for it")
@pytest.mark.parametrize("flags, reason", [(["-static"], "statically linked"),
                                           (["-static-pie"], "statically linked"),
                                           (["-fsanitize=address"], "it contains a sanitizer"),
                                           (["-fsanitize=thread"], "it contains a sanitizer"),
                                           (["-fsanitize=leak"], "it contains a sanitizer")])
def test_programs_that_cannot_be_preloaded(run, folder, flags, reason):
    result = run(build(folder, *flags), status=5)
    assert result.stdout == "out\n"
    assert f"are not counted: {reason}" in own_lines(result.stderr)[0].replace("it is ", "")


@needs_root
@with_glibc("the programs of this machine have it")
def test_setuid_programs(run, folder):
    program = build(folder)
    shutil.chown(program, "nobody")
    program.chmod(0o4755)
    result = run(program, status=5)
    assert result.stdout == "out\n" and "it runs with privileges" in own_lines(result.stderr)[0]


@with_glibc("the programs of this machine have it")
def test_scripts(run, folder):
    script = folder / "script"
    script.write_text("#! /bin/sh -e\necho out\n")
    script.chmod(0o755)
    result = run(script)
    assert result.stdout == "out\n" and counts_allocations(result) and own_lines(result.stderr) == []


def test_another_c_library(run, folder):
    """The library of one would keep a program of another from starting."""
    program = folder / "program"
    compiler = "musl-gcc" if IS_GLIBC else "gcc"
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    subprocess.run([compiler, "-o", program, "-xc", "-"], text=True, check=True,
                   input="int main(void) { return 6; }")
    result = run(program, status=6)
    assert "a different C library" in own_lines(result.stderr)[0]
