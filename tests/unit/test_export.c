/* Weighted stacks, and the writers shared by all formats. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "export.h"
#include "frame_table.h"
#include "gzip.h"
#include "json.h"
#include "page.h"
#include "protobuf.h"
#include "weight_sources.h"
#include "weighted.h"

#define MS UINT64_C(1000000)

/* ---------------------------------------------------------------------------------------------------- stacks */

/*
 *   main ─ work:20 ─ leaf          10 ms in leaf
 *        │ work:25 ─ leaf          20 ms in leaf, 5 ms in work
 *        └ work:25 with tail inlined   40 ms in tail
 */
static struct hp_named_image images[] = {{"/usr/bin/prog", "0123ab", ""}, {"/usr/lib/libx.so.1", "", ""}};
static struct hp_named_function functions[] = {
    {"main", "main.c", 0}, {"work", "work.c", 0}, {"leaf", "", 1}, {"tail", "work.c", 0}};
static struct hp_named_frame frames[] = {{0, 10}, {1, 20}, {2, 0}, {1, 25}, {3, 33}, {1, 25}};
static struct hp_named_node nodes[] = {
    {0},
    {.parent = 0, .first_frame = 0, .frame_count = 1},
    {.parent = 1, .first_frame = 1, .frame_count = 1},
    {.parent = 2, .first_frame = 2, .frame_count = 1, .weight = {10 * MS, 0, 10}},
    {.parent = 1, .first_frame = 3, .frame_count = 1, .weight = {4 * MS, 1 * MS, 5}},
    {.parent = 4, .first_frame = 2, .frame_count = 1, .weight = {20 * MS, 0, 20}},
    {.parent = 1, .first_frame = 4, .frame_count = 2, .weight = {40 * MS, 0, 40}},
};
static const struct hp_named_stacks example = {.images = images,
                                               .functions = functions,
                                               .frames = frames,
                                               .nodes = nodes,
                                               .image_count = 2,
                                               .function_count = 4,
                                               .frame_count = 6,
                                               .node_count = 7};

static struct hp_named_zone zones[] = {{"load"}, {"check"}};
static struct hp_zone_share shares[] = {{3, 0, {10 * MS, 0, 10}}, {5, 1, {15 * MS, 0, 15}}, {5, 0, {2 * MS, 0, 2}}};

static struct hp_named_stacks example_with_zones(void)
{
    struct hp_named_stacks stacks = example;
    stacks.zones = zones;
    stacks.shares = shares;
    stacks.zone_count = 2;
    stacks.share_count = 3;
    return stacks;
}

static char output[1 << 20];

/* What a writer writes, ended by a zero. */
static size_t write_example(const struct hp_weighted *weighted,
                            bool (*write)(const struct hp_export *export, struct hp_text *text))
{
    struct hp_text text;
    const struct hp_export export = {.weighted = weighted,
                                     .dimensions = {HP_OF_CPU},
                                     .dimension_count = 1,
                                     .command = "prog",
                                     .pid = 7,
                                     .period_ns = MS};
    hp_text_init(&text, output, sizeof output);
    assert_true(write(&export, &text));
    assert_false(text.is_cut);
    const size_t length = text.length;
    hp_text_end(&text);
    return length;
}

static void weights_of_stacks_are_kept(void **state)
{
    (void)state;
    struct hp_weighted weighted = {0};
    assert_true(hp_stack_weights_add(&weighted, &example));
    const struct hp_weights *cpu = &weighted.weights[HP_OF_CPU];
    assert_int_equal(cpu->total, 75 * MS);
    assert_int_equal(cpu->counted, 75);
    assert_true(hp_weighted_has(&weighted, HP_OF_CPU));
    assert_false(hp_weighted_has(&weighted, HP_OF_ZONES));
    write_example(&weighted, hp_format_folded.write);
    assert_string_equal(output, "main;work 5000000\nmain;work;leaf 30000000\nmain;work;tail 40000000\n");
    hp_weighted_free(&weighted);
}

/* Sums do not change: time outside zones has its own place. */
static void stacks_by_zone(void **state)
{
    (void)state;
    struct hp_weighted weighted = {.is_by_zone = true};
    const struct hp_named_stacks stacks = example_with_zones();
    assert_true(hp_stack_weights_add(&weighted, &stacks));
    assert_int_equal(weighted.weights[HP_OF_CPU].total, 75 * MS);
    assert_int_equal(weighted.weights[HP_OF_CPU].counted, 75);
    assert_int_equal(weighted.share_count, 3);
    write_example(&weighted, hp_format_folded.write);
    assert_string_equal(output, "[in no zone];main;work 5000000\n[in no zone];main;work;leaf 3000000\n"
                                "[in no zone];main;work;tail 40000000\n[zone: load];main;work;leaf 12000000\n"
                                "[zone: check];main;work;leaf 15000000\n");
    hp_weighted_free(&weighted);
}

/* Two processes of one program, one of another, and what is known of none. */
static void stacks_begin_with_their_program(void **state)
{
    static struct hp_named_program programs[] = {{"prog", "/usr/bin/prog"}, {"sort", "/usr/bin/sort"}};
    struct hp_named_node processes[] = {
        {0},
        {.image = HP_STACK_PROCESS, .place = UINT64_C(1) << 32 | 11},
        {.parent = 1, .first_frame = 0, .frame_count = 1, .weight = {1 * MS, 0, 1}},
        {.image = HP_STACK_PROCESS, .place = UINT64_C(1) << 32 | 12},
        {.parent = 3, .first_frame = 0, .frame_count = 1, .weight = {2 * MS, 0, 2}},
        {.image = HP_STACK_PROCESS, .place = UINT64_C(2) << 32 | 12},
        {.parent = 5, .first_frame = 2, .frame_count = 1, .weight = {4 * MS, 0, 4}},
        {.parent = 0, .first_frame = 4, .frame_count = 1, .weight = {8 * MS, 0, 8}},
    };
    struct hp_named_stacks stacks = example;
    static const char *const expected[] = {
        [HP_FRAMES_ALL_MERGED] = "main 3000000\nleaf 4000000\ntail 8000000\n",
        [HP_FRAMES_BY_PROGRAM] = "prog;main 3000000\nsort;leaf 4000000\ntail 8000000\n",
        [HP_FRAMES_BY_PROCESS] = "prog 11;main 1000000\nprog 12;main 2000000\nsort 12;leaf 4000000\ntail 8000000\n",
        [HP_FRAMES_BY_BOTH] =
            "prog;prog 11;main 1000000\nprog;prog 12;main 2000000\nsort;leaf 4000000\ntail 8000000\n"};
    (void)state;
    stacks.programs = programs;
    stacks.program_count = 2;
    stacks.nodes = processes;
    stacks.node_count = sizeof processes / sizeof processes[0];
    for (enum hp_process_frames how = HP_FRAMES_ALL_MERGED; how <= HP_FRAMES_BY_BOTH; how++) {
        struct hp_weighted weighted = {.processes = how};
        assert_true(hp_stack_weights_add(&weighted, &stacks));
        write_example(&weighted, hp_format_folded.write);
        assert_string_equal(output, expected[how]);
        hp_weighted_free(&weighted);
    }
    processes[5].place = UINT64_C(1) << 32 | 12; /* one program alone is not named */
    struct hp_weighted weighted = {.processes = HP_FRAMES_BY_PROGRAM};
    assert_true(hp_stack_weights_add(&weighted, &stacks));
    write_example(&weighted, hp_format_folded.write);
    assert_string_equal(output, expected[HP_FRAMES_ALL_MERGED]);
    hp_weighted_free(&weighted);
}

/*
 * Starts of programs are hidden, with or without a name, but not functions of the program that are called the same;
 * code without names that calls such code is one frame.
 */
static void what_says_nothing_is_left_out_for_people(void **state)
{
    static struct hp_named_image its_images[] = {{"/usr/bin/prog", "", ""}, {"/usr/lib/libc.so.6", "", ""}};
    static struct hp_named_function its_functions[] = {{"_start", "", 0},      {"libc.so.6+0x27249", "", 1},
                                                       {"main", "", 0},        {"prog+0x10", "", 0},
                                                       {"prog+0x20", "", 0},   {"memcpy", "", 1},
                                                       {"start_thread", "", 1}};
    static struct hp_named_frame its_frames[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}};
    struct hp_named_node its_nodes[] = {
        {0},
        {.parent = 0, .first_frame = 0, .frame_count = 1},
        {.parent = 1, .first_frame = 1, .frame_count = 1, .weight = {1 * MS, 0, 1}},
        {.parent = 2, .first_frame = 2, .frame_count = 1, .weight = {2 * MS, 0, 2}},
        {.parent = 3, .first_frame = 3, .frame_count = 1, .weight = {4 * MS, 0, 4}},
        {.parent = 4, .first_frame = 4, .frame_count = 1, .weight = {8 * MS, 0, 8}},
        {.parent = 5, .first_frame = 5, .frame_count = 1, .weight = {16 * MS, 0, 16}},
        {.parent = 5, .first_frame = 6, .frame_count = 1, .weight = {32 * MS, 0, 32}},
    };
    const struct hp_named_stacks stacks = {.images = its_images,
                                           .functions = its_functions,
                                           .frames = its_frames,
                                           .nodes = its_nodes,
                                           .image_count = 2,
                                           .function_count = 7,
                                           .frame_count = 7,
                                           .node_count = 8};
    struct hp_weighted weighted = hp_page_weighted();
    (void)state;
    assert_true(hp_stack_weights_add(&weighted, &stacks));
    write_example(&weighted, hp_format_folded.write);
    assert_string_equal(output, "main 2000000\nmain;prog [no symbols] 12000000\n"
                                "main;prog [no symbols];memcpy 16000000\n"
                                "main;prog [no symbols];start_thread 32000000\n");
    assert_int_equal(weighted.place_count, 8);
    assert_int_equal(weighted.places[1], HP_WEIGHTED_ROOT);
    assert_int_equal(weighted.places[4], weighted.places[5]);
    hp_weighted_free(&weighted);
}

/* Two nodes in the same line are one; the longest comes first. */
static void lines_of_a_page(void **state)
{
    struct hp_named_node with_line[sizeof nodes / sizeof nodes[0]];
    struct hp_named_stacks stacks = example;
    struct hp_weighted weighted = hp_page_weighted();
    struct hp_text page;
    struct hp_json json;
    (void)state;
    memcpy(with_line, nodes, sizeof nodes);
    with_line[2].weight[HP_STACK_USER_NS] = 9;
    with_line[4].weight[HP_STACK_USER_NS] = 3;
    with_line[4].weight[HP_STACK_KERNEL_NS] = 1;
    with_line[6].weight[HP_STACK_USER_NS] = 2;
    stacks.nodes = with_line;
    assert_true(hp_stack_weights_add(&weighted, &stacks));
    hp_text_init(&page, output, sizeof output);
    hp_json_init(&json, &page, false);
    assert_true(hp_page_put_stacks(&json, &(struct hp_page_content){.weighted = &weighted, .named = &stacks}));
    hp_text_end(&page);
    /* Bytes 1 1 3, 20 25 33, 9 4 2 and 0 5 40. */
    assert_non_null(strstr(output, "\"lines\":{\"count\":3,\"functions\":\"AQED\",\"lines\":\"FBkh\","
                                   "\"ns\":\"CQQC\",\"samples\":\"AAUo\"}"));
    hp_weighted_free(&weighted);
}

/* It is a dimension of its own where threads ran at once. */
static void wall_share_is_new_if_threads_ran_at_once(void **state)
{
    struct hp_named_node with_wall[sizeof nodes / sizeof nodes[0]];
    struct hp_named_stacks stacks = example;
    (void)state;
    memcpy(with_wall, nodes, sizeof nodes);
    for (size_t at = 1; at < stacks.node_count; at++)
        with_wall[at].weight[HP_STACK_WALL_NS] =
            with_wall[at].weight[HP_STACK_USER_NS] + with_wall[at].weight[HP_STACK_KERNEL_NS];
    stacks.nodes = with_wall;
    for (int is_alone = 1; is_alone >= 0; is_alone--) {
        struct hp_weighted weighted = {0};
        assert_true(hp_stack_weights_add(&weighted, &stacks));
        assert_true(hp_weighted_has(&weighted, HP_OF_WALL));
        assert_int_equal(hp_weighted_is_new(&weighted, HP_OF_WALL), !is_alone);
        assert_int_equal(weighted.weights[HP_OF_WALL].total, (is_alone ? 75 : 55) * MS);
        hp_weighted_free(&weighted);
        with_wall[6].weight[HP_STACK_WALL_NS] = 20 * MS;
    }
}

static void libraries_of_functions_are_named_if_requested(void **state)
{
    (void)state;
    struct hp_weighted weighted = {.has_library_names = true};
    assert_true(hp_stack_weights_add(&weighted, &example));
    write_example(&weighted, hp_format_folded.write);
    assert_string_equal(output, "main (prog);work (prog) 5000000\n"
                                "main (prog);work (prog);leaf (libx.so.1) 30000000\n"
                                "main (prog);work (prog);tail (prog) 40000000\n");
    hp_weighted_free(&weighted);
}

/* The root; main; work at two lines, one of them the line into which tail is inlined; their leaves; tail. */
static void lines_are_separate_if_requested(void **state)
{
    (void)state;
    struct hp_weighted weighted = {.has_lines = true};
    struct hp_frame_table table;
    assert_true(hp_stack_weights_add(&weighted, &example));
    assert_int_equal(weighted.node_count, 7);
    assert_true(hp_frame_table_make(&table, &weighted));
    assert_int_equal(table.count, 1 + 5); /* main, work:20, leaf, work:25, tail in work:25 */
    size_t inlined = 0;
    for (size_t at = 1; at < table.count; at++)
        if (table.frames[at].outer != 0) {
            inlined++;
            assert_string_equal(weighted.functions[table.frames[at].function].name, "tail");
            assert_int_equal(table.frames[table.frames[at].outer].line, 25);
            assert_int_equal(table.frames[at].depth, 1);
        }
    assert_int_equal(inlined, 1);
    hp_frame_table_free(&table);
    hp_weighted_free(&weighted);
}

static void two_runs_are_compared(void **state)
{
    (void)state;
    struct hp_weighted weighted = {.is_compared = true, .is_before = true};
    static struct hp_named_image moved[] = {{"/elsewhere/prog", "", ""}, {"/usr/lib/libx.so.1", "", ""}};
    struct hp_named_stacks other = example;
    other.images = moved;
    assert_true(hp_stack_weights_add(&weighted, &other));
    weighted.is_before = false;
    assert_true(hp_stack_weights_add(&weighted, &example));
    const struct hp_weights *cpu = &weighted.weights[HP_OF_CPU];
    assert_int_equal(cpu->total, 75 * MS);
    assert_int_equal(cpu->total_before, 75 * MS);
    assert_int_equal(weighted.node_count, 5); /* the same functions, though the program lies elsewhere */
    for (size_t at = 0; at < weighted.node_count; at++)
        assert_int_equal(hp_weight_own(cpu, at), hp_weight_before(cpu, at));
    hp_weighted_free(&weighted);
}

static void hostile_names_are_escaped(void **state)
{
    (void)state;
    struct hp_weighted weighted = {0};
    static const char reversed[] = "\xe2\x80\xae"
                                   "evil";
    static const char *const names[] = {"a;b\n\x1b[31m", "\xff\xfe", reversed, "</script><b>&\"", ""};
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        const uint32_t function = hp_weighted_function(&weighted, names[at], "", HP_NO_LIBRARY);
        hp_weighted_add(&weighted, HP_OF_CPU, hp_weighted_below(&weighted, 0, function, 0, false), at + 1, 1);
    }
    write_example(&weighted, hp_format_folded.write);
    assert_string_equal(output, "a:b\\n\\x1b[31m 1\n"
                                "\xef\xbf\xbd\xef\xbf\xbd 2\n"
                                "\\u202e"
                                "evil 3\n"
                                "</script><b>&\" 4\n"
                                "? 5\n");
    write_example(&weighted, hp_format_flamegraph.write);
    assert_null(strstr(output, "<b>"));
    assert_non_null(strstr(output, "&lt;/script&gt;&lt;b&gt;&amp;&quot;"));
    write_example(&weighted, hp_format_speedscope.write);
    assert_non_null(strstr(output, "\"</script><b>&\\\"\""));
    hp_weighted_free(&weighted);
}

/* Nothing ends the script but its own end. */
static void a_page_cannot_be_broken_out_of(void **state)
{
    (void)state;
    struct hp_weighted weighted = {0};
    const uint32_t function = hp_weighted_function(&weighted, "</script><script>x", "<!--", HP_NO_LIBRARY);
    hp_weighted_add(&weighted, HP_OF_CPU, hp_weighted_below(&weighted, 0, function, 0, false), 5, 1);
    char buffer[64];
    struct hp_text page, data;
    struct hp_json json;
    hp_text_init(&page, output, sizeof output);
    hp_text_init_stream(&data, buffer, sizeof buffer, hp_page_put_data, &page);
    hp_json_init(&json, &data, false);
    assert_true(hp_page_put_stacks(
        &json, &(struct hp_page_content){.weighted = &weighted, .compared_with = "<!-- before"}));
    assert_true(hp_text_finish(&data));
    hp_text_end(&page);
    assert_non_null(strstr(output, "\"\\u003c/script>\\u003cscript>x\""));
    assert_non_null(strstr(output, "\\u003c!-- before"));
    assert_null(strchr(output, '<'));
    hp_weighted_free(&weighted);
}

/* ------------------------------------------------------------------------------------------------------ walk */

struct trace {
    char text[500];
    uint64_t latest;
    size_t depth;
};

static void note(struct trace *trace, const char *sign, const struct hp_weighted *weighted, uint32_t node,
                 uint64_t where)
{
    const size_t used = strlen(trace->text);
    snprintf(trace->text + used, sizeof trace->text - used, "%s%s@%u ", sign,
             weighted->functions[weighted->nodes[node].function].name, (unsigned)(where / MS));
    assert_true(where >= trace->latest);
    trace->latest = where;
}

static struct hp_weighted walked;

static void enter(void *trace, uint32_t node, uint64_t where, size_t depth)
{
    assert_int_equal(depth, ((struct trace *)trace)->depth++);
    note(trace, "+", &walked, node, where);
}

static void leave(void *trace, uint32_t node, uint64_t where, size_t depth)
{
    assert_int_equal(depth, --((struct trace *)trace)->depth);
    note(trace, "-", &walked, node, where);
}

static void walk_visits_every_node(void **state)
{
    (void)state;
    struct hp_weight_walk walk;
    struct trace trace = {0};
    assert_true(hp_stack_weights_add(&walked, &example));
    const uint32_t never = hp_weighted_function(&walked, "never", "", HP_NO_LIBRARY);
    hp_weighted_below(&walked, 1, never, 0, false); /* in which nothing was found */
    assert_true(hp_walk_begin(&walk, &walked, &walked.weights[HP_OF_CPU]));
    assert_int_equal(walk.inside[0], 75 * MS);
    hp_walk_through(&walk, enter, leave, &trace);
    assert_string_equal(trace.text, "+main@0 +work@0 +tail@0 -tail@40 +leaf@40 -leaf@70 -work@75 -main@75 ");
    assert_int_equal(trace.depth, 0);
    hp_walk_end(&walk);
    hp_weighted_free(&walked);
}

/* ------------------------------------------------------------------------------------------------------ many */

static void count_node(void *count, uint32_t node, uint64_t where, size_t depth)
{
    (void)node;
    (void)where;
    (void)depth;
    ++*(size_t *)count;
}

/* A deep chain with a branch at each node; everything is found again, in linear time. */
static void many_stacks(void **state)
{
    (void)state;
    enum { MANY = 300000, FUNCTIONS = 1000 };
    struct hp_weighted weighted = {0};
    struct hp_weight_walk walk;
    static char names[FUNCTIONS][8];
    size_t visits = 0;
    for (unsigned at = 0; at < FUNCTIONS; at++) {
        snprintf(names[at], sizeof names[at], "f%u", at);
        assert_int_equal(hp_weighted_function(&weighted, names[at], "", HP_NO_LIBRARY), at);
    }
    for (int round = 0; round < 2; round++)
        for (uint32_t at = 0, chain = HP_WEIGHTED_ROOT; at < MANY; at++) {
            const uint32_t branch = hp_weighted_below(&weighted, chain, at % FUNCTIONS, 0, false);
            chain = hp_weighted_below(&weighted, chain, (at + 1) % FUNCTIONS, 0, false);
            hp_weighted_add(&weighted, HP_OF_CPU, branch, 1, 1);
        }
    assert_false(weighted.lacks_memory);
    assert_int_equal(weighted.node_count, 1 + 2 * MANY);
    assert_true(hp_walk_begin(&walk, &weighted, &weighted.weights[HP_OF_CPU]));
    assert_int_equal(walk.inside[HP_WEIGHTED_ROOT], 2 * MANY);
    hp_walk_through(&walk, count_node, count_node, &visits);
    assert_int_equal(visits, 2 * (2 * MANY - 1)); /* the end of the chain has nothing */
    hp_walk_end(&walk);
    hp_weighted_free(&weighted);
}

/* ------------------------------------------------------------------------------------------------- encodings */

static void messages(void **state)
{
    (void)state;
    struct hp_proto proto = {0};
    struct hp_text text;
    char bytes[1000];
    const size_t outer = hp_proto_begin(&proto, 1);
    hp_proto_u64(&proto, 2, 300);
    const size_t inner = hp_proto_begin(&proto, 16);
    hp_proto_string(&proto, 1, "hi");
    hp_proto_packed(&proto, UINT64_MAX);
    hp_proto_end(&proto, inner);
    hp_proto_end(&proto, outer);
    hp_text_init(&text, bytes, sizeof bytes);
    hp_proto_flush(&proto, &text);
    static const unsigned char expected[] = {0x0a, 20,   0x10, 0xac, 0x02, 0x82, 0x01, 14,   0x0a, 2,    'h',
                                             'i',  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    assert_int_equal(text.length, sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    hp_proto_free(&proto);
}

/* A message that is longer than 127 bytes has a length of two. */
static void long_messages(void **state)
{
    (void)state;
    struct hp_proto proto = {0};
    const size_t begun = hp_proto_begin(&proto, 1);
    for (int at = 0; at < 20000; at++)
        hp_proto_packed(&proto, 1);
    hp_proto_end(&proto, begun);
    assert_int_equal(proto.length, 1 + 3 + 20000);
    assert_memory_equal(proto.bytes, "\x0a\xa0\x9c\x01\x01", 5);
    assert_int_equal(proto.bytes[20003], 1);
    hp_proto_free(&proto);
}

static void stored_in_gzip(void **state)
{
    (void)state;
    static struct hp_gzip gzip;
    struct hp_text text;
    hp_text_init(&text, output, sizeof output);
    hp_gzip_begin(&gzip, HP_GZIP_STORE, &text);
    hp_text_string(&gzip.in, "123456789");
    hp_gzip_end(&gzip);
    static const unsigned char expected[] = {0x1f, 0x8b, 8,    0,    0,    0,    0,    0,   0,   255, 0,   9, 0,
                                             0xf6, 0xff, '1',  '2',  '3',  '4',  '5',  '6', '7', '8', '9', 1, 0,
                                             0,    0xff, 0xff, 0x26, 0x39, 0xf4, 0xcb, 9,   0,   0,   0};
    assert_int_equal(text.length, sizeof expected);
    assert_memory_equal(output, expected, sizeof expected);
}

static size_t unzipped(const char *bytes, size_t length, char *copy, size_t size)
{
    char file[] = "/tmp/hotpath-gzip-XXXXXX", command[64];
    const int fd = mkstemp(file);
    assert_int_equal(write(fd, bytes, length), length);
    close(fd);
    snprintf(command, sizeof command, "gzip -dc < %s", file);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    const size_t found = fread(copy, 1, size, pipe);
    assert_int_equal(pclose(pipe), 0);
    unlink(file);
    return found;
}

/* Much text, in several blocks; what it is compressed to is up to zlib, so it is decompressed by gzip. */
static void compressed_by_zlib(void **state)
{
    static struct hp_gzip gzip;
    static char copy[300000];
    struct hp_text text;
    (void)state;
    hp_text_init(&text, output, sizeof output);
    hp_gzip_begin(&gzip, HP_GZIP_FAST, &text);
    if (gzip.deflate == NULL)
        skip(); /* it is not installed */
    for (unsigned line = 0; line < 20000; line++)
        hp_text_format(&gzip.in, "line %u\n", line);
    hp_gzip_end(&gzip);
    assert_in_range(text.length, 18, 100000);
    const size_t length = unzipped(output, text.length, copy, sizeof copy);
    const char *at = copy;
    for (unsigned line = 0; line < 20000; line++) {
        char expected[32];
        const int size = snprintf(expected, sizeof expected, "line %u\n", line);
        assert_memory_equal(at, expected, (size_t)size);
        at += size;
    }
    assert_ptr_equal(at, copy + length);
}

static bool has_bytes(const char *bytes, size_t length, const void *part, size_t size)
{
    for (size_t at = 0; at + size <= length; at++)
        if (memcmp(bytes + at, part, size) == 0)
            return true;
    return false;
}

/* Two stacks of four, and the rest as one; names are made safe. */
static void otlp_has_the_heaviest_stacks(void **state)
{
    static char message[4096];
    struct hp_weighted weighted = {.has_lines = true};
    struct hp_text text;
    (void)state;
    assert_true(hp_stack_weights_add(&weighted, &example));
    const struct hp_export export = {.weighted = &weighted,
                                     .dimensions = {HP_OF_CPU},
                                     .dimension_count = 1,
                                     .command = "/bin/prog a b",
                                     .service = "shop\x1b",
                                     .host = "\xff",
                                     .stacks_limit = 2,
                                     .pid = 7};
    hp_text_init(&text, output, sizeof output);
    assert_true(hp_format_otlp.write(&export, &text));
    const size_t length = unzipped(output, text.length, message, sizeof message);
    static const unsigned char times[] = {0x12, 8, 8, 1, 0x22, 4, 0x80, 0xda, 0xc4, 0x09,  /* 20 ms */
                                          0x12, 8, 8, 2, 0x22, 4, 0x80, 0xb4, 0x89, 0x13,  /* 40 ms */
                                          0x12, 8, 8, 3, 0x22, 4, 0xc0, 0xc3, 0x93, 0x07}, /* 10 and 5 ms */
        samples[] = {0x12, 5, 8, 1, 0x22, 1, 20, 0x12, 5, 8, 2, 0x22, 1, 40, 0x12, 5, 8, 3, 0x22, 1, 15},
                               stacks[] = {0x3a, 0,                   /* none */
                                           0x3a, 5, 0x0a, 3, 1, 2, 3, /* leaf, work at line 25, main */
                                           0x3a, 4, 0x0a, 2, 4, 3,    /* tail in work, main */
                                           0x3a, 3, 0x0a, 1, 5};      /* the rest */
    assert_true(has_bytes(message, length, times, sizeof times));
    assert_true(has_bytes(message, length, samples, sizeof samples));
    assert_true(has_bytes(message, length, stacks, sizeof stacks));
    static const char *const names[] = {"[other]",   "shop\\x1b", "\xef\xbf\xbd", "prog",
                                        "libx.so.1", "0123ab",    "tail",         "work.c"};
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        assert_true(has_bytes(message, length, names[at], strlen(names[at])));
    assert_false(has_bytes(message, length, "a b", 3)); /* arguments are not told */
    hp_weighted_free(&weighted);
}

static void texts_are_stored_once(void **state)
{
    (void)state;
    struct hp_text_table table = {0};
    static char texts[500][8];
    for (int round = 0; round < 2; round++)
        for (unsigned at = 0; at < 500; at++) {
            snprintf(texts[at], sizeof texts[at], "%u", at);
            assert_int_equal(hp_text_table_put(&table, texts[at]), at);
        }
    assert_int_equal(table.count, 500);
    hp_text_table_free(&table);
}

static void formats_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(hp_export_format_find("pprof"), &hp_format_pprof);
    assert_null(hp_export_format_find("pprofs"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_stacks_are_kept),
        cmocka_unit_test(stacks_by_zone),
        cmocka_unit_test(stacks_begin_with_their_program),
        cmocka_unit_test(what_says_nothing_is_left_out_for_people),
        cmocka_unit_test(lines_of_a_page),
        cmocka_unit_test(wall_share_is_new_if_threads_ran_at_once),
        cmocka_unit_test(libraries_of_functions_are_named_if_requested),
        cmocka_unit_test(lines_are_separate_if_requested),
        cmocka_unit_test(two_runs_are_compared),
        cmocka_unit_test(hostile_names_are_escaped),
        cmocka_unit_test(a_page_cannot_be_broken_out_of),
        cmocka_unit_test(walk_visits_every_node),
        cmocka_unit_test(many_stacks),
        cmocka_unit_test(messages),
        cmocka_unit_test(long_messages),
        cmocka_unit_test(stored_in_gzip),
        cmocka_unit_test(compressed_by_zlib),
        cmocka_unit_test(otlp_has_the_heaviest_stacks),
        cmocka_unit_test(texts_are_stored_once),
        cmocka_unit_test(formats_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
