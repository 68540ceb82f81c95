/* Reports of very many sessions, of hostile ones, and with too little memory. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ----------------------------------------------------------------------------------------------- many */

static void a_hundred_sessions_add_up(void **state)
{
    (void)state;
    strcpy(settings.show.report, "timing,calltree");
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    settings.show.calltree_limit = HOTPATH_NO_LIMIT;
    /* Session n calls function k (n + k) times, if k divides n + 1; functions are met in an order of its own. */
    uint64_t calls[10] = {0}, sites = 0;
    for (uint64_t session = 0; session < 100; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        const uint32_t thread = builder_thread(to);
        for (uint32_t turn = 0; turn < 10; turn++) {
            const uint32_t which = (turn * 7 + (uint32_t)session) % 10;
            char name[] = {'f', (char)('0' + which), '\0'};
            if ((session + 1) % (which + 1) != 0)
                continue;
            const uint32_t node = builder_node(to, thread, 0, builder_site(to, name, "f.c", which));
            for (uint64_t call = 0; call < session + which; call++)
                builder_call(to, thread, node, 100, 0);
            calls[which] += session + which;
        }
    }
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), 10);
    assert_int_equal(hotpath_section_rows(section_named("calltree")), 10);
    for (size_t row = 0; row < 10; row++) {
        const size_t which = (size_t)(cell_of(timing, row, "name").text[1] - '0');
        sites |= UINT64_C(1) << which;
        assert_int_equal(cell_of(timing, row, "calls").count, calls[which]);
        assert_number(row, "total_ns", 100 * (double)calls[which]);
        assert_number(row, "p95_ns", 100);
    }
    assert_int_equal(sites, 0x3ff);
    assert_int_equal(results->model->run.count, 100);
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    strcpy(settings.show.report, "all");
    build_parser(&builder, true);
    build_parser(fixture_add_session(), false);
    build_parser(fixture_add_session(), true);
    assert_true(fixture_builds_that_fail() > 100);
}

/* -------------------------------------------------------------------------------------------- hostile */

static bool swallow(void *context, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)context += length;
    return true;
}

static void render(const struct hp_snapshot *first, const struct hp_snapshot *second)
{
    size_t written = 0;
    const struct hp_report_target target = {.sink = swallow, .context = &written, .width = 80};
    const struct hp_snapshot *const both[] = {first, second};
    const struct hp_snapshots snapshots = {.all = both, .count = 2};
    settings.output.format = HP_FORMAT_TABLE;
    settings.show.by = HP_BY_FUNCTION;
    assert_int_equal(hp_report_render(&snapshots, &settings, &target), HOTPATH_OK);
    settings.output.format = HP_FORMAT_JSON;
    settings.show.by = HP_BY_THREAD;
    assert_int_equal(hp_report_render(&snapshots, &settings, &target), HOTPATH_OK);
    assert_true(written > 0);
}

/* A copy that is exactly as large as it says, together with a good session, as the second and as the first. */
static void render_beside(const unsigned char *bytes, size_t size)
{
    static struct hp_snapshot good, bad;
    unsigned char *copy = malloc(size);
    memcpy(copy, bytes, size);
    assert_null(hp_snapshot_open(&good, builder.bytes, builder_size(&builder), NULL));
    if (hp_snapshot_open(&bad, copy, size, NULL) == NULL) {
        render(&good, &bad);
        render(&bad, &good);
    }
    free(copy);
}

static void hostile_sessions_are_survived(void **state)
{
    (void)state;
    strcpy(settings.show.report, "all");
    settings.show.functions_limit = settings.show.calltree_limit = HOTPATH_NO_LIMIT;
    build_parser(&builder, true);
    struct session_builder *hostile = fixture_add_session();
    hostile->sites_per_chunk = 4; /* few unused bytes */
    build_parser(hostile, false);
    const uint32_t thread = builder_thread(hostile), node = builder_node(hostile, thread, 0, 0);
    builder_open(hostile, thread, node, 10, 0);
    builder_open(hostile, thread, builder_node(hostile, thread, node, 1), 20, 0);
    const size_t size = builder_size(hostile);
    uint64_t seed = 11;
    const unsigned rounds = getenv("HOTPATH_TEST_LONG") != NULL ? 3000 : 300;
    for (unsigned round = 0; round < rounds; round++) {
        struct undo {
            size_t at;
            uint64_t word;
        } undo[8];
        /* Words that are offsets, counts or times, and huge. The opening of the file stays, or it is refused. */
        for (size_t at = 0; at < COUNT(undo); at++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const uint64_t random = seed >> 20;
            undo[at].at = 24 + (size_t)(random % (size - 32)) / 4 * 4;
            memcpy(&undo[at].word, hostile->bytes + undo[at].at, 8);
            const uint64_t word = random % 3 == 0 ? UINT64_MAX - random % 64 : random % 3 == 1 ? random % size : 0;
            memcpy(hostile->bytes + undo[at].at, &word, random & 64 ? 8 : 4);
        }
        render_beside(hostile->bytes, round % 4 == 0 ? size - 8 * (round % 100) : size);
        for (size_t at = COUNT(undo); at-- > 0;)
            memcpy(hostile->bytes + undo[at].at, &undo[at].word, 8);
    }
}

/* A thousand sites with the same texts, of which there are two copies: neither address nor id tells them apart. */
static void shared_texts_take_little_memory(void **state)
{
    (void)state;
    static char text[4001];
    memset(text, 'x', sizeof text - 1);
    for (unsigned session = 0; session < 2; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        const uint32_t thread = builder_thread(to);
        uint32_t copies[2] = {builder_text(to, text), builder_text(to, text)};
        for (uint32_t at = 0; at < 1000; at++) {
            const uint32_t id = builder_site(to, "", "", 1);
            struct hp_site *site = (struct hp_site *)builder_at(to, builder_header(to)->site_chunks[0]) + id;
            site->name = site->function = site->file = copies[at % 2];
            builder_call(to, thread, builder_node(to, thread, 0, id), 100, 0);
        }
    }
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 1000);
    assert_int_equal(cell_of(section_named("timing"), 999, "calls").count, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_hundred_sessions_add_up),
        TEST(running_out_of_memory_is_reported),
        TEST(hostile_sessions_are_survived),
        TEST(shared_texts_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
