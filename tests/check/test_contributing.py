"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the tree, and its commands. Run by pytest."""
import os
import re
import shlex
import sys
from pathlib import Path

from tree import SOURCE, Tree, do

BUILD = Path(os.environ.get("HOTPATH_BUILD_DIR", SOURCE / "build" / "release")).resolve()
TEXT = (SOURCE / "CONTRIBUTING.md").read_text()
COMMANDS = [line for block in re.findall(r"^```sh\n(.*?)^```$", TEXT, re.M | re.S) for line in block.splitlines()]


# ------------------------------------------------------------------------------------------------------ commands

def test_named_dev_commands_exist():
    usage = do("./dev", "help", cwd=SOURCE)
    named = [line.split("#")[0].split() for line in COMMANDS if line.startswith("./dev ")]
    assert len(named) > 5
    for _, command, *more in named:
        words = " ".join([command, *(word for word in more if word.startswith("-"))])
        assert re.search(rf"^  {words}\b", usage, re.M), words


def test_single_tests_are_found():
    [ctest] = [shlex.split(line) for line in COMMANDS if line.startswith("ctest ")]
    pattern = ctest[ctest.index("-R") + 1]
    assert "Total Tests: 1" in do("ctest", "--test-dir", BUILD, "-N", "-R", pattern, cwd=SOURCE)
    [pytest_line] = [shlex.split(line) for line in COMMANDS if " -m pytest " in line]
    variable, *command = pytest_line
    assert variable.startswith("HOTPATH_BUILD_DIR=build/")
    found = do(*command, "--collect-only", "-p", "no:cacheprovider", cwd=SOURCE,
               env={"HOTPATH_BUILD_DIR": str(BUILD)})
    assert "test_truth.py" in found


def test_named_files_exist():
    for name in re.findall(r"`((?:src|tests|tools|docs|include|cmake|examples|man)/[\w./-]+)`", TEXT):
        if "NAME" not in name:
            assert (SOURCE / name).exists(), name


# ------------------------------------------------------------------------------------------------------- recipes

SECTION = """/* How many rows there are. SPDX-License-Identifier: MIT */
#include "profile.h"
#include "section.h"

static void fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct hp_profile *profile = entry;
    (void)view;
    HP_FIELD(to, "called", "name", "What", TEXT, HP_COLUMN_FIRST);
    HP_FIELD(to, profile->site_count, "functions_count", "Functions", COUNT, HP_COLUMN_SHOWN, "That were called.");
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    section->description = "How many functions were called.";
    section->total_rows = 1;
    return hp_section_describe(results, section, NULL, 0) && hp_section_make_rows(results, section, 1) &&
           hp_section_fill_row(results, section, &section->rows[0], NULL, results->model->profile);
}

const struct hp_section_type hp_section_headcount = {
    .name = "headcount", .is_on_request = true, .fill = fill, .fields = fields};
"""
COLUMN = """    HP_FIELD(to, 2 * node->sums.calls, "double_count", "Double", COUNT, 0, "Twice its calls.");"""
KIND = """/* HOTPATH_DOOR: who goes through, and how wide they are. SPDX-License-Identifier: MIT */
#include "objects.h"

static const struct hp_kind_type door = {
    .name = "door",
    .title = "Door",
    .flags = HP_KIND_BY_NAME,
    .counters = {{"passed", "Passed", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 {"widest_bytes", "Widest", HOTPATH_UNIT_BYTES, HP_MERGE_MOST}},
    .histograms = {{"width", "Width", HOTPATH_UNIT_VALUE, HP_MERGE_SUM}},
};

void hotpath_v1_door(struct hotpath_site *site, uint64_t width)
{
    struct hp_object_use use;
    if (!hp_object_begin(site, &door, &use))
        return;
    HOTPATH_ADD_(use.part->count[0], 1);
    if (width > use.part->count[1])
        HOTPATH_PUT_(use.part->count[1], width);
    hp_object_distribute(&use, 0, (double)width);
    hp_object_end(&use);
}
"""
KIND_MACRO = """#define HOTPATH_DOOR(label, width) \\
    hotpath_v1_door(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), width)
"""
OPTION = """    {"HOTPATH_BRIEF", "brief", FLAG("brief", 0, SHOW), "0|1", "0", "", "Say less.", HP_OPTION_FLAG,
     AT_BOTH(show, brief), hp_option_parse_flag},"""
COMMAND = """/* hotpath greet. SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "arguments.h"
#include "command.h"

static int run(const struct hp_arguments *arguments)
{
    (void)arguments;
    puts("hello");
    return EXIT_DONE;
}

const struct hp_command hp_command_greet = {
    .name = "greet", .operands = "", .summary = "Says hello.", .details = "", .run = run};
"""
EXAMPLE = """/* Greets. SPDX-License-Identifier: MIT */
#include <hotpath.h>
#include <stdio.h>

static void greet(void)
{
    HOTPATH_MEASURE();
    DOORS
    puts("hello");
}

int main(void)
{
    HOTPATH_MAIN();
    greet();
    return 0;
}
"""
UNIT_TEST = """/* The new option. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "options.h"

static const char *lookup(const char *name, void *context)
{
    (void)name, (void)context;
    return NULL;
}

static void it_is_off(void **state)
{
    static struct hp_settings settings;
    (void)state;
    hp_settings_resolve(&settings, NULL, lookup, NULL, NULL, NULL);
    assert_false(settings.show.brief);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_off)};
    return cmocka_run_group_tests_name("brief", tests, NULL, NULL);
}
"""
ROWS_TEST = """/* The new section. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

static void one_function_is_called(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, "load", "a.c", 7));
    builder_call(&builder, thread, node, 10, 0);
    strcpy(settings.show.report, "headcount");
    fixture_build();
    assert_int_equal(cell_of(section_named("headcount"), 0, "functions_count").count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_function_is_called, fixture_set_up, fixture_tear_down)};
    return cmocka_run_group_tests_name("headcount", tests, NULL, NULL);
}
"""
FORMAT = """#include "export.h"

static bool write(const struct hp_export *export, struct hp_text *text)
{
    hp_text_u64(text, export->weighted->function_count);
    return true;
}

const struct hp_export_format hp_format_counted = {.name = "counted", .write = write};
"""
E2E_TEST = """from harness import SOURCE

def test_greeting(box):
    result = box.run("greeting", env={"HOTPATH_REPORT": "headcount"})
    assert result.row("called", "headcount").functions_count == 2
    assert len(result.row("called", "headcount").id) == 16

def test_column(box):
    result = box.run("greeting", env={"HOTPATH_REPORT": "calltree"})
    assert result.row("main", "calltree").double_count == 2

def test_door(box):
    result = box.run("greeting", env={"HOTPATH_REPORT": "objects", "HOTPATH_PERCENTILES": "50"})
    door = result.row("front", "objects")
    assert (door.kind, door.passed, door.widest_bytes, door.width_p50) == ("door", 3, 70, 60)
"""


def follow(tree):
    tree.write("src/report/headcount.c", SECTION)
    tree.insert("src/report/README.md", "- `timing.c`", "- `headcount.c`: the section `headcount`")
    tree.insert("src/report/sections.def", "HP_SECTION(hp_section_cold",
                "HP_SECTION(hp_section_headcount, headcount.c) /* on request */")

    tree.insert("src/report/calltree.c", 'node->sums.total), "total_ns"', COLUMN)

    tree.write("src/record/objects/doors.c", KIND)
    tree.insert("src/CMakeLists.txt", "record/objects/channels.c", "  record/objects/doors.c")
    tree.insert("src/record/README.md", "- `core/keys.c`", "- `objects/doors.c`: doors")
    tree.insert("include/hotpath/inline.h", "/* Events of streams.",
                "HOTPATH_API_ void hotpath_v1_door(struct hotpath_site *site, uint64_t width);")
    tree.insert("include/hotpath.h", "#define HOTPATH_CHANNEL_SENT(", KIND_MACRO)
    tree.insert("include/hotpath/off.h", "#define HOTPATH_PASSED_(label, ",
                "#define HOTPATH_DOOR(label, width) HOTPATH_UNUSED_(label, width)")

    tree.replace("include/hotpath.h", "    uint8_t reserved[3];", "    uint8_t brief;\n    uint8_t reserved[2];")
    tree.insert("include/hotpath.h", "HOTPATH_OPTION_(bool, waits)", "    HOTPATH_OPTION_(bool, brief)")
    tree.insert("src/config/options.h", "    bool exclude_wrapper;", "    bool brief;")
    tree.insert("src/config/option_table.c", '{"HOTPATH_FOCUS"', OPTION)

    tree.write("src/cli/cmd_greet.c", COMMAND)
    tree.insert("src/cli/command.h", "    COMMAND(run)", "    COMMAND(greet) \\")
    tree.write("src/export/counted.c", FORMAT)
    tree.insert("src/export/export.h", "    FORMAT(folded,", '    FORMAT(counted, "a number") \\')
    tree.insert("src/export/README.md", "- `folded.c`", "- `counted.c`: how many functions there are")
    tree.insert("src/cli/README.md", "- `cmd_ls.c`", "- `cmd_greet.c`: hotpath greet: says hello")
    page = (tree.folder / "man/hotpath-on.1").read_text().replace("ON 1", "GREET 1").replace("\\-on", "\\-greet")
    tree.write("man/hotpath-greet.1", page)

    tree.write("examples/greeting.c", EXAMPLE.replace("    DOORS\n", ""))
    tree.insert("examples/CMakeLists.txt", "  notes", "  greeting")
    tree.insert("tests/e2e/test_examples.py", '    "multithreaded":', '    "greeting": {"main": 1, "greet": 1},')

    tree.write("tests/unit/test_brief.c", UNIT_TEST)
    tree.insert("tests/unit/CMakeLists.txt", "hotpath_add_unit_test(test_calls)",
                "hotpath_add_unit_test(test_brief)")
    tree.write("tests/unit/test_headcount.c", ROWS_TEST)
    tree.insert("tests/unit/CMakeLists.txt", "hotpath_add_unit_test(test_hostile)",
                "hotpath_add_unit_test(test_headcount)")
    doors = " ".join(f'HOTPATH_DOOR("front", {width});' for width in (70, 50, 60))
    tree.write("tests/programs/greeting.c", EXAMPLE.replace("DOORS", doors))
    tree.insert("tests/programs/CMakeLists.txt", "hotpath_add_program(counts", "hotpath_add_program(greeting)")
    tree.write("tests/e2e/test_greeting.py", E2E_TEST)
    tree.insert("tests/e2e/CMakeLists.txt", "hotpath_add_e2e_test(test_host", "hotpath_add_e2e_test(test_greeting)")


def test_recipes(tmp_path):
    tree = Tree(tmp_path / "tree")
    follow(tree)
    quickly = "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O0"
    [line] = [line for line in COMMANDS if "gen_docs --write" in line]
    tree.do("sh", "-ec", line.replace("--preset release", f"--preset release {quickly}"))
    for file, word in (("docs/environment.md", "HOTPATH_BRIEF"), ("man/hotpath-report.1", "brief"),
                       ("completions/hotpath.bash", "greet"), ("man/hotpath.1", "greet"),
                       ("completions/hotpath.bash", "--brief"),
                       ("docs/report.schema.json", "functions_count"),
                       ("docs/report.schema.json", "double_count")):
        assert word in (tree.folder / file).read_text(), (file, word)
    tree.do("tools/shared_layout.py")
    tree.do("cmake", "--build", "build/release", "--target", "hotpath_program", "hotpath_single",
            "examples_greeting", "examples_greeting_off", "unit_test_brief", "unit_test_headcount",
            "unit_test_options", "unit_test_table", "programs_greeting")
    tree.do("build/release/bin/gen_docs", "--check", ".")
    tree.do("tools/check_layers.py")
    tree.do("tools/check_onoff.py")
    assert tree.do("build/release/bin/hotpath", "greet") == "hello\n"
    tested = tree.do("ctest", "--test-dir", "build/release", "--no-tests=error", "-R",
                     "^(unit.test_brief|unit.test_headcount|unit.test_options|unit.test_table|"
                     "e2e.test_greeting)$",
                     env={"HOTPATH_SOURCE_DIR": "", "HOTPATH_BUILD_DIR": ""})
    assert "100% tests passed, 0 tests failed out of 5" in tested
    here = {"HOTPATH_SOURCE_DIR": str(tree.folder), "HOTPATH_BUILD_DIR": str(tree.folder / "build/release")}
    tested = tree.do(sys.executable, "-m", "pytest", "-q", "tests/e2e/test_examples.py", "-k", "greeting", env=here)
    assert "1 passed" in tested
