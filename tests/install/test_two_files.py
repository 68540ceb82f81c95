"""The two files, hotpath.c and hotpath.h, dropped into another tree: they compile by themselves without a warning,
show no names but those of the header, and measure in programs, in shared libraries, and in several of these at
once."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from alloc_truth import COUNTED, FAMILY, check_counts
from harness import BUILD, SOURCE, crossed, full
from workshop import CONSUMER, CXX, HERE, SINGLE, do, need

PROGRAMS = SOURCE / "tests/programs"
STRICT = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wundef", "-Wcast-qual",
          "-Werror"]

with_glibc = pytest.mark.skipif(not os.confstr("CS_GNU_LIBC_VERSION"), reason="about glibc")


# --------------------------------------------------------------------------------------------------- the files

def test_no_warnings(objects, quick_compiler):
    """Those of gcc also depend on what it optimizes: every build has them for each source, and
    test_two_files_long.py for the whole. The object is that of most tests here."""
    objects(quick_compiler, *STRICT, "-fPIC")


@full  # check.exports looks at hotpath.c, too
def test_only_names_of_the_header_are_exported(objects, quick_compiler):
    """And those of the entry points for hooks, which the library declares for itself."""
    library = (SINGLE / "hotpath.c").read_text()
    hooks = library[library.index("/* ---- src/record/core/hook_entries.h "):]
    texts = (SINGLE / "hotpath.h").read_text(), hooks[:hooks.index("\n/* ---- ")]
    declared = {name for text in texts for name in re.findall(
        r"^(?:extern )?HOTPATH_API_ [^;{}]*?\b(hotpath_\w+)(?:\(| HOTPATH_TLS_)", text, re.M)}
    shown, kept = set(), set()
    for line in do("readelf", "-sW", objects(quick_compiler, *STRICT, "-fPIC")).splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[4] == "GLOBAL" and fields[6] != "UND":
            (shown if fields[5] == "DEFAULT" else kept).add(fields[7])
    assert shown == declared | {"__cyg_profile_func_enter", "__cyg_profile_func_exit"}  # what compilers call
    assert {name for name in kept if not name.startswith("hotpath_")} == set()


def test_cxx_compiler_gets_a_clear_error(workshop):
    workshop.fetch(SINGLE / "hotpath.c", SINGLE / "hotpath.h")
    done = subprocess.run(["g++", "-c", "hotpath.c"], cwd=workshop.folder, capture_output=True, text=True)
    assert done.returncode != 0 and "hotpath.c is C" in done.stderr
    assert done.stderr.count("error:") == 1, done.stderr


@pytest.mark.parametrize("measured", [[], ["-DHOTPATH"]])
def test_c89_gets_one_clear_error(workshop, measured):
    """Old C with the compiler's extensions is enough."""
    workshop.fetch(SINGLE / "hotpath.h")
    (workshop.folder / "old.c").write_text('#include "hotpath.h"\nint main(void) { return 0; }\n')
    command = ["gcc", "-c", "old.c", *measured]
    done = subprocess.run([*command, "-std=c89"], cwd=workshop.folder, capture_output=True, text=True)
    assert done.returncode != 0 and "compile with -std=gnu89" in done.stderr
    assert done.stderr.count("error:") == 1 and "warning:" not in done.stderr, done.stderr
    for standard in ("gnu89", "c99"):
        done = subprocess.run([*command, "-std=" + standard], cwd=workshop.folder, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", (standard, done.stderr)


# -------------------------------------------------------------------------------------------------- programs

@pytest.mark.parametrize("suffix", ["c", "cc"])
def test_program(workshop, objects, quick_compiler, suffix):
    workshop.fetch(SINGLE / "hotpath.h")
    workshop.write(f"consumer.{suffix}", (HERE / "consumer.c").read_text())
    language = CXX[quick_compiler] if suffix == "cc" else quick_compiler
    library = objects(quick_compiler, *STRICT, "-fPIC")
    workshop.do(language, "-DHOTPATH", "-I.", f"consumer.{suffix}", library, "-pthread", "-o", "on")
    assert workshop.calls("on") == CONSUMER
    workshop.do(language, "-I.", f"consumer.{suffix}", library, "-pthread", "-o", "off")
    result = workshop.box.run(workshop.folder / "off")
    assert (result.stderr, result.sessions()) == ("", [])


@full  # the README has such a command
@with_glibc
def test_one_command(workshop, quick_compiler):
    """As the top of hotpath.c has it; glibc from 2.34 on needs no -pthread."""
    version = tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")))
    workshop.fetch(SINGLE / "hotpath.c", SINGLE / "hotpath.h", HERE / "consumer.c")
    needed = [] if version >= (2, 34) else ["-pthread"]
    workshop.do(quick_compiler, "-DHOTPATH", "-I.", "consumer.c", "hotpath.c", *needed, "-o", "it")
    assert workshop.calls("it") == CONSUMER


# ------------------------------------------------------------------------------------------------ allocations

WRAP = [f"-Wl,--wrap={name}" for name in FAMILY]


def build_and_count(workshop, compiler, *flags):
    """Every function of the malloc family, by one command."""
    workshop.fetch(SINGLE / "hotpath.c", SINGLE / "hotpath.h", PROGRAMS / "alloc_calls.c",
                   PROGRAMS / "alloc_counts.h")
    workshop.do(compiler, "-fno-builtin", "-DHOTPATH", "-DALLOC_COUNTS_LINKED", *flags, "alloc_calls.c",
                "hotpath.c", "-pthread", "-o", "it")
    for env in ({"HOTPATH": "1"}, {}):
        check_counts(workshop.box.run(workshop.folder / "it", env=env).stderr, COUNTED)


@with_glibc
@pytest.mark.parametrize("flags", [["-DHOTPATH_ALLOC"],
                                   pytest.param(["-DHOTPATH_ALLOC_WRAP", "-DALLOC_CALLS_STATIC", "-static", *WRAP],
                                                marks=full)])
def test_allocations(workshop, quick_compiler, flags):
    build_and_count(workshop, quick_compiler, *flags)


# ------------------------------------------------------------------------------------------- libraries, and several

class Kit:
    """Builds libraries and programs, each with hotpath in one of these ways: `files` has the two files in it,
    `shared` is linked to libhotpath.so, `archive` has libhotpath.a in it, `borrowed` has nothing and takes what the
    others show, `off` is not measured."""

    def __init__(self, workshop, objects, compiler):
        self.workshop = workshop
        self.objects = objects
        self.compiler = compiler

    def flags(self, way):
        on = ["-DHOTPATH", f"-I{SINGLE}"]
        return {"files": [*on, self.objects(self.compiler, *STRICT, "-fPIC")],
                "shared": [*on, f"-L{BUILD}/lib", "-lhotpath", f"-Wl,-rpath,{BUILD}/lib"],
                "archive": [*on, BUILD / "lib/libhotpath.a"],
                "borrowed": on,
                "off": [f"-I{SINGLE}"]}[way]

    def library(self, source, way):
        name = f"lib{source}_{way}.so"
        self.workshop.do(self.compiler, "-O1", "-fPIC", "-shared", PROGRAMS / f"{source}.c", *self.flags(way),
                         "-pthread", "-o", name)
        return self.workshop.folder / name

    def program(self, source, way, libraries=()):
        self.workshop.do(self.compiler, "-O1", f"-I{PROGRAMS}", source, *libraries, *self.flags(way), "-pthread",
                         "-ldl", f"-Wl,-rpath,{self.workshop.folder}", "-o", way)
        return way


@pytest.fixture
def kit(workshop, objects, quick_compiler):
    return Kit(workshop, objects, quick_compiler)


def check_nesting(result, way, roots):
    """The calls of linked.c and copies.c: `roots` calls of across, a thousand of everything below each."""
    below = 1000 * roots
    calls = {row.name: row.calls for row in result.report.rows()}
    if way == "off":
        assert calls == {"plugin_call": below, "second_call": below}
        chain = [row for row in result.report.rows("calltree") if row.name == "plugin_call"]
        assert sum(row.child("second_call").calls for row in chain) == below
        return
    assert calls == {"main": 1, "across": roots, "plugin_call": below, "between": below, "second_call": below,
                     "innermost": below}
    across = result.report.row("main", "calltree").child("across")
    assert across.child("plugin_call").child("between").child("second_call").child("innermost").calls > 0


@pytest.mark.parametrize("way, both", crossed(
    ["off", "files", "shared", "archive", "borrowed"],
    [("files", "files"), ("files", "shared"), ("shared", "files"), ("archive", "files")]))
def test_linked_libraries(kit, way, both):
    first, second = both
    libraries = [kit.library("plugin", first), kit.library("plugin_two", second)]
    for order in (libraries, libraries[::-1]):
        result = kit.workshop.result(kit.program(HERE / "linked.c", way, order), env={"HOTPATH": "1"})
        check_nesting(result, way, 4)


@pytest.mark.parametrize("way, both", crossed(["off", "files", "shared"], [("files", "files"), ("files", "shared"),
                                                                          ("shared", "files")]))
def test_opened_libraries(kit, way, both):
    first, second = both
    program = kit.program(PROGRAMS / "copies.c", way)
    libraries = kit.library("plugin", first), kit.library("plugin_two", second)
    check_nesting(kit.workshop.result(program, *libraries, env={"HOTPATH": "1"}), way, 8)


@full
def test_libraries_of_two_compilers(kit):
    first = kit.library("plugin", "files")
    kit.compiler = {"gcc": "clang", "clang": "gcc"}[kit.compiler]
    need(kit.compiler)
    second = kit.library("plugin_two", "files")
    for way in ("off", "files"):
        result = kit.workshop.result(kit.program(HERE / "linked.c", way, (first, second)), env={"HOTPATH": "1"})
        check_nesting(result, way, 4)


STRANGERS = """#include <dlfcn.h>
#include <hotpath.h>
#include <stdio.h>

static void own(void) { HOTPATH_MEASURE(); }

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    union {
        void *object;
        int (*function)(int);
    } work = {NULL};
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL || (work.object = dlsym(library, "plugin_work")) == NULL)
        return 1;
    for (int i = 0; i < 1000; i++) {
        own();
        work.function(i);
    }
    return 0;
}
"""


def calls_of(text):
    reports = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert not any(count for report in reports for count in report["trust"]["lost"].values())
    return [{row["name"]: row["calls"] for row in report["sections"]["timing"]["rows"]} for report in reports]


@full
def test_copies_of_different_layouts_stay_apart(workshop, objects, quick_compiler):
    """Two members that have changed places: all sizes are the same. Each copy has a recorder and a report of its
    own."""
    tree = workshop.folder / "tree"
    for part in ("include", "src", "LICENSE"):
        place = SOURCE / part
        (shutil.copytree if place.is_dir() else shutil.copy)(place, tree / part)
    header = tree / "src/record/core/runtime.h"
    first, second = re.findall(r"^    uint32_t (?:gate|epoch);.*\n", header.read_text(), re.M)
    header.write_text(header.read_text().replace(first + second, second + first))
    do(sys.executable, SOURCE / "tools/shared_layout.py", tree)
    do(sys.executable, SOURCE / "tools/amalgamate.py", "--root", tree, tree / "single")
    workshop.write("main.c", STRANGERS)
    workshop.do("gcc", "-DHOTPATH", f"-I{SINGLE}", "main.c", objects("gcc", "-fPIC"), "-pthread", "-ldl", "-o",
                "it")
    workshop.do(quick_compiler, "-fPIC", "-shared", "-DHOTPATH", f"-I{tree / 'single'}", PROGRAMS / "plugin.c",
                tree / "single/hotpath.c", "-pthread", "-o", "plugin.so")
    result = workshop.box.run(workshop.folder / "it", workshop.folder / "plugin.so",
                              env={"HOTPATH": "1", "HOTPATH_OUTPUT_PATH": None})
    main, plugin = {"main": 1, "own": 1000}, {"plugin_work": 1000, "plugin_inner": 2000}
    assert len(result.sessions()) == 2
    assert sorted(calls_of(result.stderr), key=list) == sorted([main, plugin], key=list)


@full
def test_copies_with_different_layouts(workshop, objects, quick_compiler):
    """Two copies that share nothing: neither passes signals in a circle, and threads are cancelled as ever."""
    text = (SINGLE / "hotpath.c").read_text()
    number = "#define HP_COPIES 16"
    assert len(re.findall(rf"{number}\b", text)) == 1
    workshop.fetch(SINGLE / "hotpath.h")
    workshop.write("strange.c", re.sub(rf"{number}\b", "#define HP_COPIES 24", text))
    source, include = HERE / "strangers.c", f"-I{workshop.folder}"
    workshop.do("gcc", "-DHOTPATH", include, source, objects("gcc", "-fPIC"), "-o", "host", "-lpthread", "-ldl")
    workshop.do(quick_compiler, "-DHOTPATH", "-DPLUGIN", include, "-fPIC", "-shared", "-Wl,-Bsymbolic", source,
                "strange.c", "-o", "strange.so", "-lpthread")
    result = workshop.box.run(workshop.folder / "host", workshop.folder / "strange.so", env={
        "HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "10000"})
    assert result.stdout == "begun 0\ncancelled 60\n"
    assert len(result.sessions()) == 2


# --------------------------------------------------------------------------------------- thread-local storage

@with_glibc
@full
def test_library_without_room_for_thread_local_storage(workshop, objects, quick_compiler):
    """Others have taken all the room that glibc has for it; a library with HOTPATH_TLS_DYNAMIC needs none."""
    rooms = []
    for size in (1024, 512, 256, 128, 64, 32, 16, 8):
        workshop.do(quick_compiler, "-fPIC", "-shared", f"-DBYTES={size}", HERE / "room.c", "-o", f"room{size}.so")
        rooms += [workshop.folder / f"room{size}.so"]
    workshop.do(quick_compiler, HERE / "crowded.c", "-pthread", "-ldl", "-o", "crowded")
    for name, *flags in (["fixed"], ["dynamic", "-DHOTPATH_TLS_DYNAMIC"]):
        workshop.do(quick_compiler, "-O1", "-fPIC", "-shared", "-DHOTPATH", *flags, f"-I{SINGLE}",
                    PROGRAMS / "plugin.c", objects(quick_compiler, "-fPIC", *flags), "-pthread", "-o", f"{name}.so")
    expected = {"plugin_work": 2000, "plugin_inner": 4000}
    assert workshop.calls("crowded", workshop.folder / "fixed.so", env={"HOTPATH": "1"}) == expected
    assert workshop.calls("crowded", workshop.folder / "dynamic.so", *rooms, env={"HOTPATH": "1"}) == expected
    refused = workshop.box.run(workshop.folder / "crowded", workshop.folder / "fixed.so", *rooms, status=1)
    assert "static TLS" in refused.stdout


# -------------------------------------------------------------------------------------------------- the tool

SOURCES = {
    "LICENSE": "MIT License\n",
    "include/hotpath.h": '#define HOTPATH_VERSION "1.2.3"\n#define HOTPATH_API_\nHOTPATH_API_ int '
                         'hotpath_total(void);\n',
    "src/CMakeLists.txt": """set(base
  base/one.c
  base/two.c
  )
set(record
  record/two.c
  )
hotpath_objects(hotpath_common ${base})
hotpath_objects(hotpath_record ${record})
""",
    "src/base/one.h": """#ifndef HP_ONE_H
#define HP_ONE_H
#include <stddef.h>
struct hp_pair {
    int count, view;
    int (*total)(const struct hp_pair *pair);
};
extern const int hp_limits[];
int hp_one(int n);
static inline int hp_twice(int n) { return 2 * n; }
#endif
""",
    # Everything that can go wrong: one name as function, member, tag, macro parameter and part of a text.
    "src/base/one.c": """/* One. SPDX-License-Identifier: MIT */
#include "one.h"

#include <string.h>

#define COUNT 3
#define OF(type, view) (offsetof(type, view) + sizeof(((type *)0)->view))
#ifndef SYSTEM_NAME
#define SYSTEM_NAME 1
#endif

const int hp_limits[] = {1, 2, COUNT};

enum level { LOW = 1, HIGH = LOW + COUNT };
struct view {
    int view, string;
    struct view *next;
    enum level (*total)(int view);
    enum { LEFT, RIGHT = COUNT } side;
    int (*const table[COUNT])(int n);
};
typedef int total_of(const struct hp_pair *pair);

static int total(const struct hp_pair *pair) { return pair->count + pair->view; }
static int count = 1, string[COUNT] = {[1] = 5};
static enum level view(int count_of) { return count_of > LOW ? HIGH : LOW; }
static total_of *const totals[] = {total};
static int (*pointer)(const struct hp_pair *pair) = total;
static int (*const table[COUNT])(const struct hp_pair *pair) = {total, total};

int hp_one(int n)
{
    const struct hp_pair pair = {.count = count, .view = n, .total = total};
    struct view local = {.view = n, .string = string[1], .total = view};
    local.next = &local;
    local.side = local.table[0] == NULL && table[1] == total ? RIGHT : LEFT;
    if (OF(struct hp_pair, view) != OF(struct hp_pair, count) + sizeof(int) || strlen("count view") != 10)
        return -1;
    return pair.total(&pair) + totals[0](&pair) + pointer(&pair) + (int)local.next->total(n) + local.string +
           (int)local.side + SYSTEM_NAME;
}
""",
    "src/base/two.c": """/*
 * Two.
 *
 * SPDX-License-Identifier: MIT
 */
#include "one.h"
#define COUNT 4
static int count(int view) { return view + COUNT; }
static int total(int n) { return count(n) + hp_limits[2]; }
int hp_two(int n);
int hp_two(int n) { return total(hp_twice(n)); }
""",
    "src/record/two.c": """#include "hotpath.h"
#include "one.h"
int hp_two(int n);
static int total(int n) { return hp_one(n) + hp_two(n); }
int hotpath_total(void) { return total(7); }
""",
}


def test_tool_writes_only_into_its_folder(workshop):
    """The two files belong to no source tree: nothing appears there, and without a folder there is only an
    error."""
    tree = workshop.folder / "tree"
    for name, text in SOURCES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    (tree / "tools").mkdir()
    shutil.copy(SOURCE / "tools/amalgamate.py", tree / "tools")
    before = sorted(tree.rglob("*"))
    refused = subprocess.run([sys.executable, tree / "tools/amalgamate.py"], cwd=tree, capture_output=True,
                             text=True)
    assert refused.returncode == 2 and "FOLDER" in refused.stderr
    do(sys.executable, tree / "tools/amalgamate.py", workshop.folder / "made", cwd=tree)
    assert sorted(tree.rglob("*")) == before
    assert sorted(path.name for path in (workshop.folder / "made").iterdir()) == ["hotpath.c", "hotpath.h"]


def test_names_that_several_files_use(workshop, compiler):
    for name, text in SOURCES.items():
        path = workshop.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    do(sys.executable, SOURCE / "tools/amalgamate.py", "--root", workshop.folder, workshop.folder / "single")
    single = (workshop.folder / "single/hotpath.c").read_text()
    assert single.count("SPDX-License-Identifier") == 1
    workshop.write("main.c", '#include "hotpath.h"\nint main(void) { return hotpath_total(); }\n')
    workshop.do(compiler, *STRICT, "-Iinclude", "main.c", "single/hotpath.c", "-o", "it")
    # (1 + 7) three times, HIGH, string[1], RIGHT, SYSTEM_NAME; twice 7, COUNT of two.c, hp_limits[2]
    assert subprocess.run([workshop.folder / "it"]).returncode == 3 * 8 + 4 + 5 + 3 + 1 + 14 + 4 + 3
