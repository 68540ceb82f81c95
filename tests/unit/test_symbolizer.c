/*
 * Names for addresses, in files compiled here by all available compilers, from a source with known functions and
 * lines. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector.h"
#include "demangle.h"
#include "elf_file.h"
#include "name_stacks.h"
#include "symbol_tables.h"
#include "symbolizer.h"

#define SOURCE TEST_PROGRAMS "/inlined.cc"
#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MOST 16u

static char folder[] = "/tmp/hotpath-symbols-XXXXXX";
static char file[100];
static struct hp_image_set images;
static struct hp_symbolizer symbolizer;

static int set_up(void **state)
{
    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(file, sizeof file, "%s/inlined", folder);
    return 0;
}

static void forget(void)
{
    hp_symbolizer_free(&symbolizer);
    hp_image_set_free(&images);
}

__attribute__((format(printf, 1, 2))) static bool run(const char *form, ...)
{
    char command[2000];
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(command, sizeof command, form, arguments);
    va_end(arguments);
    return system(command) == 0; /* NOLINT(cert-env33-c): the words are our own */
}

static int tear_down(void **state)
{
    (void)state;
    forget();
    symbolizer.sysroot = images.sysroot = NULL;
    return !run("rm -r %s", folder);
}

static bool compile(const char *compiler, const char *options)
{
    return run("command -v %s >/dev/null 2>&1 && cd %s && %s -w -shared -fPIC -nostdlib -Wl,--build-id -o %s %s %s "
               "2>/dev/null",
               compiler, folder, compiler, file, SOURCE, options);
}

/* ----------------------------------------------------------------------------------------------- looking */

static struct hp_image *image_of(const char *path)
{
    const struct hp_image_place place = {.path = path};
    struct hp_image *image = hp_image_set_find(&images, &place);
    assert_non_null(image);
    return image;
}

/* The address of a label, which no function is called by. */
static uint64_t label(const char *name)
{
    const struct hp_image_file *read = &image_of(file)->file;
    struct hp_elf_symbols all = {.count = 0};
    uint64_t address = 0;
    hp_elf_symbols_read(&all, &read->elf.header, read->fd);
    for (size_t at = 0; at < all.table.count; at++)
        if (strcmp(hp_elf_name(&all.table, &all.table.symbols[at]), name) == 0)
            address = all.table.symbols[at].st_value;
    hp_elf_symbols_free(&all);
    if (address == 0)
        fail_msg("there is no %s", name);
    return address;
}

/* The line of the source that ends in a mark. */
static uint32_t marked(const char *mark)
{
    char line[300], end[100];
    uint32_t number = 0;
    FILE *stream = fopen(SOURCE, "r");
    assert_non_null(stream);
    snprintf(end, sizeof end, "// line: %s\n", mark);
    while (fgets(line, sizeof line, stream) != NULL) {
        number++;
        if (strlen(line) > strlen(end) && strcmp(line + strlen(line) - strlen(end), end) == 0) {
            fclose(stream);
            return number;
        }
    }
    fail_msg("there is no line %s", mark);
    return 0;
}

struct expected {
    const char *function, *mark;
};

/* Without a demangler, names are those of the linker. */
static void assert_name(const char *what, const char *name, const char *expected)
{
    if (hp_demangle_library() != NULL && strcmp(name, expected) != 0)
        fail_msg("%s: %s; it should be %s", what, name, expected);
}

static void assert_places(const char *what, uint64_t address, const struct expected *expected, size_t count)
{
    struct hp_source_place places[MOST];
    const size_t found = hp_symbolizer_find(&symbolizer, image_of(file), address, places, MOST);
    if (found != count)
        fail_msg("%s: %zu functions instead of %zu; the first is %s", what, found, count, places[0].function);
    for (size_t at = 0; at < count; at++) {
        assert_name(what, places[at].function, expected[at].function);
        assert_int_equal(places[at].is_inlined, at + 1 < count);
        if (places[at].line != marked(expected[at].mark))
            fail_msg("%s: %s is in line %u instead of %u", what, expected[at].function, places[at].line,
                     marked(expected[at].mark));
        assert_string_equal(places[at].file, SOURCE);
    }
}

static const struct expected inner[] = {{"shapes::innermost(int)", "innermost"},
                                        {"shapes::box<int>::middle(int)", "middle"},
                                        {"shapes::outer(int)", "outer"}};
static const struct expected behind[] = {{"shapes::outer(int)", "behind"}};
static const struct expected entrance[] = {{"entrance", "entrance"}};

static void assert_all(const char *what, uint64_t at_inner, uint64_t at_behind, uint64_t at_entrance)
{
    assert_places(what, at_inner, inner, COUNT(inner));
    assert_places(what, at_behind, behind, COUNT(behind));
    assert_places(what, at_entrance, entrance, COUNT(entrance));
}

#define NEED_LINES()                                                                                               \
    (void)state;                                                                                                   \
    if (!hp_source_lines_can() || !compile("g++", "-O2 -g"))                                                       \
        skip();

/* ------------------------------------------------------------------------------------------------ lines */

static void inlined_functions_and_lines(void **state)
{
    NEED_LINES();
    static const char *const compilers[] = {"g++", "clang++"};
    static const char *const options[] = {"-O2 -g -gdwarf-5", "-O2 -g -gdwarf-4", "-O1 -g -ffunction-sections",
                                          "-O2 -g -gz",       "-O3 -g -flto",     "-O2 -g -gsplit-dwarf -gdwarf-5"};
    size_t compiled = 0;
    for (size_t compiler = 0; compiler < COUNT(compilers); compiler++)
        for (size_t option = 0; option < COUNT(options); option++) {
            char what[100];
            if (!compile(compilers[compiler], options[option]))
                continue;
            forget();
            snprintf(what, sizeof what, "%s %s", compilers[compiler], options[option]);
            assert_all(what, label("probe_inner"), label("probe_outer"), label("probe_entrance"));
            compiled++;
        }
    assert_true(compiled > 3);
}

/* Samples that ended at a label, and what is found there. */
struct seen_label {
    const char *name;
    uint64_t samples;
    uint32_t caller; /* the number of an earlier one, from 1; 0: none */
    size_t frames;
    bool has_line;
};

static void name_labels(struct seen_label *labels, size_t count, uint64_t period_ns)
{
    struct hp_stacks stacks = {.counts.samples = 1, .counts.period_ns = period_ns};
    struct hp_named_stacks named;
    const struct hp_image_place place = {.path = file};
    const struct hp_image *image = hp_image_set_find(&stacks.images, &place);
    assert_non_null(image);
    for (size_t at = 0; at < count; at++) {
        const uint32_t node =
            hp_stack_tree_below(&stacks.tree, labels[at].caller, image->number, label(labels[at].name));
        assert_int_equal(node, at + 1);
        stacks.tree.nodes[node].weight[HP_STACK_SAMPLES] = labels[at].samples;
    }
    assert_true(hp_name_stacks(&stacks, NULL, &named));
    for (size_t at = 0; at < count; at++) {
        labels[at].frames = named.nodes[at + 1].frame_count;
        labels[at].has_line = named.frames[named.nodes[at + 1].first_frame].line > 0;
    }
    hp_named_stacks_free(&named);
    hp_stack_tree_free(&stacks.tree);
    hp_image_set_free(&stacks.images);
}

/* Of a file that was seen for so long. */
static size_t frames_of(uint64_t seen_ns)
{
    struct seen_label inner_label = {.name = "probe_inner", .samples = 1};
    name_labels(&inner_label, 1, seen_ns);
    assert_int_equal(inner_label.has_line, inner_label.frames > 1);
    return inner_label.frames;
}

static uint64_t size_of_section(const char *section)
{
    const struct hp_image_file *read = &image_of(file)->file;
    for (size_t at = 0; at < read->section_count; at++)
        if (strcmp(read->section_names + read->sections[at].sh_name, section) == 0)
            return read->sections[at].sh_size;
    return 0;
}

static uint64_t size_of_debug_information(void)
{
    static const char *const sections[] = {".debug_info",     ".debug_abbrev",   ".debug_line",   ".debug_str",
                                           ".debug_loclists", ".debug_rnglists", ".debug_aranges"};
    uint64_t bytes = 0;
    for (size_t at = 0; at < COUNT(sections); at++)
        bytes += size_of_section(sections[at]);
    return bytes;
}

/* In nanoseconds: an eighth per byte to find units, 70 per byte of lines; reading may take a 33rd of the time. */
static uint64_t least_time(void)
{
    return 33 * (size_of_debug_information() / 8 + 70 * size_of_section(".debug_line"));
}

static void lines_are_read_only_for_enough_time(void **state)
{
    NEED_LINES();
    const uint64_t least_ns = least_time();
    assert_int_equal(frames_of(least_ns * 9 / 10), 1);
    assert_int_equal(frames_of(least_ns * 11 / 10), COUNT(inner));
    if (!compile("g++", "-O2 -g -gz"))
        return;
    forget();
    assert_int_equal(frames_of(least_ns * 11 / 10), 1);
    assert_int_equal(frames_of(least_ns * 20), COUNT(inner));
}

/* Two source files; the second is long, and begins with a label. */
static bool compile_two(void)
{
    char path[150];
    snprintf(path, sizeof path, "%s/long.cc", folder);
    FILE *source = fopen(path, "w");
    if (source == NULL)
        return false;
    fputs("extern \"C\" int lengthy(int x)\n{\n"
          "    __asm__ volatile(\".globl probe_long\\nprobe_long:\\n nop\");\n",
          source);
    for (int line = 0; line < 300; line++)
        fputs("    __asm__ volatile(\"nop\");\n", source);
    fputs("    return x;\n}\n", source);
    fclose(source);
    return compile("g++", "-O2 -g long.cc");
}

/* A unit is read if it was seen for long enough, however long others were. */
static void units_pay_for_themselves(void **state)
{
    NEED_LINES();
    if (!compile_two())
        skip();
    forget();
    struct seen_label labels[] = {{.name = "probe_inner", .samples = 1000}, {.name = "probe_long", .samples = 1}};
    const uint64_t period_ns = least_time() / 100;
    name_labels(labels, COUNT(labels), period_ns);
    assert_int_equal(labels[0].frames, COUNT(inner));
    assert_false(labels[1].has_line);
    labels[1].samples = 110;
    name_labels(labels, COUNT(labels), period_ns);
    assert_true(labels[1].has_line);
}

/* If both were seen for long enough, but cannot be read both, the code that took longer itself is. */
static void hottest_unit_is_read_first(void **state)
{
    NEED_LINES();
    if (!compile_two())
        skip();
    forget();
    struct seen_label labels[] = {{.name = "probe_long", .samples = 520},
                                  {.name = "probe_inner", .samples = 480, .caller = 1}};
    const uint64_t period_ns = least_time() * 19 / 20 / 1000;
    name_labels(labels, COUNT(labels), period_ns);
    assert_true(labels[0].has_line);
    assert_false(labels[1].has_line);
    labels[0].samples = 480;
    labels[1].samples = 520;
    name_labels(labels, COUNT(labels), period_ns);
    assert_false(labels[0].has_line);
    assert_true(labels[1].has_line);
}

static void names_without_lines(void **state)
{
    (void)state;
    struct hp_source_place places[MOST];
    if (!compile("g++", "-O2"))
        skip();
    assert_int_equal(hp_symbolizer_find(&symbolizer, image_of(file), label("probe_inner"), places, MOST), 1);
    assert_name("no lines", places[0].function, "shapes::outer(int)");
    assert_int_equal(places[0].line, 0);
    assert_string_equal(places[0].file, "");
}

/* ----------------------------------------------------------------------------------------- separate files */

/* Moves what can be stripped off into another file. */
static bool strip_into(const char *debug)
{
    return run("cd %s && objcopy --only-keep-debug inlined %s && objcopy --strip-all inlined", folder, debug);
}

struct addresses {
    uint64_t inner, behind, entrance;
};

static struct addresses all_labels(void)
{
    const struct addresses addresses = {label("probe_inner"), label("probe_outer"), label("probe_entrance")};
    forget();
    return addresses;
}

static void assert_image_and_offset(uint64_t address, uint64_t offset)
{
    struct hp_source_place places[MOST];
    char place[100];
    assert_int_equal(hp_symbolizer_find(&symbolizer, image_of(file), address, places, MOST), 1);
    snprintf(place, sizeof place, "inlined+0x%llx", (unsigned long long)offset);
    assert_string_equal(places[0].function, place);
    assert_int_equal(places[0].line, 0);
}

static void separate_debug_file_is_found_by_its_link(void **state)
{
    NEED_LINES();
    const struct addresses at = all_labels();
    if (!strip_into("inlined.debug"))
        skip();
    /* Without a link there are only the symbols that are exported. */
    struct hp_source_place places[MOST];
    assert_int_equal(hp_symbolizer_find(&symbolizer, image_of(file), at.entrance, places, MOST), 1);
    assert_string_equal(places[0].function, "entrance");
    forget();
    assert_true(run("cd %s && objcopy --add-gnu-debuglink=inlined.debug inlined", folder));
    assert_all("link", at.inner, at.behind, at.entrance);
    forget();
    assert_true(run("cd %s && mkdir .debug && mv inlined.debug .debug", folder));
    assert_all("link to .debug", at.inner, at.behind, at.entrance);
}

/* A file of the same name that belongs to something else: the same code, but compiled with other options. */
static void debug_file_of_another_build_is_not_used(void **state)
{
    NEED_LINES();
    static const char *const ids[] = {"-Wl,--build-id", "-Wl,--build-id=none"};
    for (size_t id = 0; id < COUNT(ids); id++) {
        char options[100];
        snprintf(options, sizeof options, "-O2 -g -fvisibility=hidden %s", ids[id]);
        forget();
        assert_true(compile("g++", options));
        const uint64_t start = label("_ZN6shapes5outerEi");
        const struct addresses at = all_labels();
        if (!strip_into("inlined.debug") ||
            !run("cd %s && objcopy --add-gnu-debuglink=inlined.debug inlined", folder))
            skip();
        assert_all(ids[id], at.inner, at.behind, at.entrance);
        forget();
        assert_true(run("cd %s && mv inlined right && mv inlined.debug right.debug", folder));
        snprintf(options, sizeof options, "-O2 -g -fvisibility=hidden -fno-math-errno %s", ids[id]);
        assert_true(compile("g++", options) && strip_into("inlined.debug") &&
                    run("cd %s && mv right inlined", folder));
        assert_image_and_offset(at.inner, start);
    }
}

static void separate_debug_file_is_found_by_build_id(void **state)
{
    NEED_LINES();
    const struct addresses at = all_labels();
    char id[2 * HP_BUILD_ID_MOST + 1] = "";
    const struct hp_build_id *build_id = &image_of(file)->file.build_id;
    for (size_t byte = 0; byte < build_id->size; byte++)
        snprintf(id + 2 * byte, 3, "%02x", build_id->bytes[byte]);
    forget();
    if (!strip_into("separate"))
        skip();
    assert_true(run("cd %s && mkdir -p root/usr/lib/debug/.build-id/%.2s root%s && mv separate "
                    "root/usr/lib/debug/.build-id/%.2s/%s.debug "
                    "&& mv inlined root%s",
                    folder, id, folder, id, id + 2, folder));
    char root[100];
    snprintf(root, sizeof root, "%s/root", folder);
    symbolizer.sysroot = images.sysroot = root;
    assert_all("build-id", at.inner, at.behind, at.entrance);
}

static void unreadable_image_gives_image_and_offset(void **state)
{
    (void)state;
    assert_false(image_of(file)->is_readable);
    assert_image_and_offset(0x1234, 0x1234);
}

static void addresses_of_an_unnamed_function_share_a_name(void **state)
{
    (void)state;
    if (!compile("g++", "-O2 -fvisibility=hidden"))
        skip();
    const uint64_t outer = label("_ZN6shapes5outerEi");
    const struct addresses at = all_labels();
    assert_true(run("cd %s && objcopy --strip-all inlined", folder));
    assert_image_and_offset(at.inner, outer);
    assert_image_and_offset(at.behind, outer);
    assert_image_and_offset(outer, outer);
    assert_image_and_offset(1, 1);
}

/* Any byte may be anything; nothing may happen but a wrong answer. */
static void broken_files_are_survived(void **state)
{
    NEED_LINES();
    static unsigned char good[1 << 17], bad[1 << 17];
    struct hp_source_place places[MOST];
    const struct addresses at = all_labels();
    FILE *stream = fopen(file, "rb");
    const size_t size = fread(good, 1, sizeof good, stream);
    fclose(stream);
    uint32_t random = 1;
    for (int round = 0; round < 300; round++) {
        memcpy(bad, good, size);
        for (int change = 0; change < 10; change++) {
            random = random * 1664525 + 1013904223;
            bad[16 + (random >> 8) % (size - 16)] = (unsigned char)(random >> 24);
        }
        stream = fopen(file, "wb");
        fwrite(bad, 1, size, stream);
        fclose(stream);
        for (uint64_t address = at.inner & ~UINT64_C(63); address < at.entrance + 64; address += 3)
            assert_true(hp_symbolizer_find(&symbolizer, image_of(file), address, places, MOST) > 0);
        forget();
    }
}

/* ----------------------------------------------------------------------------------------------- ranges */

/* Against a search through all of them. */
static void ranges_within_ranges(void **state)
{
    (void)state;
    uint32_t random = 7;
    for (int round = 0; round < 300; round++) {
        struct hp_ranges ranges = {.count = 0};
        struct hp_range_index index;
        for (uint32_t at = 0; at < (uint32_t)round % 40; at++) {
            uint64_t bounds[2];
            for (int bound = 0; bound < 2; bound++) {
                random = random * 1664525 + 1013904223;
                bounds[bound] = random >> 24;
            }
            assert_true(hp_ranges_add(&ranges, &(struct hp_range){bounds[0], bounds[0] + bounds[1] % 50, at, at}));
        }
        assert_true(hp_range_index_make(&index, &ranges));
        for (uint64_t address = 0; address < 320; address++) {
            const struct hp_range *best = NULL;
            for (size_t at = 0; at < ranges.count; at++) {
                const struct hp_range *range = &ranges.all[at];
                if (address >= range->start && address < range->end &&
                    (best == NULL || range->start > best->start ||
                     (range->start == best->start && range->rank > best->rank)))
                    best = range;
            }
            assert_int_equal(hp_range_index_find(&index, address), best != NULL ? best->value : HP_RANGE_NONE);
        }
        hp_range_index_free(&index);
        free(ranges.all);
    }
}

static void names_of_rust(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
        {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
         "<Test + 'static as foo::Bar<Test>>::bar"},
        {"_ZN3foo17h05af221e174051e9E.llvm.123", "foo"},
        {"_ZN3fooE", NULL},
        {"_ZN3foo17h05af221e174051e", NULL},
        {"_ZN99foo17h05af221e174051e9E", NULL},
        {"_ZN", NULL},
        {"_RNvCs1234_7mycrate3foo", NULL},
        {"main", NULL},
    };
    for (size_t at = 0; at < COUNT(names); at++) {
        char name[100];
        assert_int_equal(hp_rust_name(names[at][0], name, sizeof name), names[at][1] != NULL);
        if (names[at][1] != NULL)
            assert_string_equal(name, names[at][1]);
        assert_false(hp_rust_name(names[at][0], name, 3));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(inlined_functions_and_lines),
        TEST(lines_are_read_only_for_enough_time),
        TEST(units_pay_for_themselves),
        TEST(hottest_unit_is_read_first),
        TEST(names_without_lines),
        TEST(separate_debug_file_is_found_by_its_link),
        TEST(debug_file_of_another_build_is_not_used),
        TEST(separate_debug_file_is_found_by_build_id),
        TEST(unreadable_image_gives_image_and_offset),
        TEST(addresses_of_an_unnamed_function_share_a_name),
        TEST(broken_files_are_survived),
        cmocka_unit_test(ranges_within_ranges),
        cmocka_unit_test(names_of_rust),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
