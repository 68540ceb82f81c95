/*
 * Sessions that claim more than they contain: records shared by many others, and counts beyond all bounds. Work on
 * them is bounded by their size: each record is visited as often as there could be such records, not as often as it
 * is referenced. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

#define SITES 500u
#define SHARED 2000u /* entries of the shared list */

static uint32_t thread;
static uint32_t nodes[SITES];

static int set_up(void **state)
{
    fixture_set_up(state);
    settings.show.functions_limit = settings.show.calltree_limit = settings.record.logs_limit = HOTPATH_NO_LIMIT;
    thread = builder_thread(&builder);
    for (uint32_t at = 0; at < SITES; at++) {
        char name[16];
        snprintf(name, sizeof name, "site%u", (unsigned)at);
        nodes[at] = builder_node(&builder, thread, 0, builder_site(&builder, name, "f.c", at));
        builder_call(&builder, thread, nodes[at], 10, 0);
    }
    return 0;
}

static struct hotpath_stat_ *stat_at(uint32_t at)
{
    return builder_stat(&builder, thread, ((struct hotpath_node_ *)builder_at(&builder, nodes[at]))->site);
}

static size_t rows_of(const char *section) { return hotpath_section_total_rows(section_named(section)); }

static void many_sites_with_one_log(void **state)
{
    (void)state;
    const uint32_t log =
        builder_log(&builder, thread, ((struct hotpath_node_ *)builder_at(&builder, nodes[0]))->site, SHARED);
    for (uint32_t call = 0; call < SHARED; call++)
        builder_logged_call(&builder, nodes[0], call, 5, 4242, NULL);
    for (uint32_t at = 0; at < SITES; at++)
        stat_at(at)->log = log;
    strcpy(settings.show.report, "calls");
    fixture_build();
    assert_true(rows_of("calls") >= SHARED &&
                rows_of("calls") <= builder_size(&builder) / sizeof(struct hp_log_record));
}

static void many_sites_with_one_slow_call(void **state)
{
    (void)state;
    const uint32_t slow = builder_slow_call(&builder, nodes[0], 5, 100, 50, SHARED, 0);
    for (uint32_t row = 0; row < SHARED; row++)
        builder_slow_row(&builder, slow, nodes[row % SITES], 1, 5, 5);
    for (uint32_t at = 0; at < SITES; at++)
        stat_at(at)->slowest = stat_at(0)->slowest;
    strcpy(settings.show.report, "slowest");
    strcpy(settings.show.slowest, "/./");
    fixture_build();
    assert_true(rows_of("slowest") <= 2 * SITES + builder_size(&builder) / sizeof(struct hp_slow_row));
}

/* Threads that name the nodes, zones and CPU time of another one. */
static void many_threads_with_one_tree(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < 60; at++)
        builder_cpu(&builder, thread, nodes[at], 1, 10, 0);
    for (uint32_t threads = 0; threads < SHARED; threads++) {
        struct hp_thread *other = builder_at(&builder, builder_thread(&builder));
        const struct hp_thread *real = builder_at(&builder, thread);
        other->node_chunks = real->node_chunks;
        other->stats = real->stats;
        other->frames = real->frames;
        other->frame_capacity = UINT32_MAX;
        other->cpu = real->cpu;
    }
    strcpy(settings.show.report, "timing,calltree,cpu");
    fixture_build();
    assert_true(rows_of("timing") <= SITES && rows_of("calltree") <= SITES);
    for (size_t row = 0; row < rows_of("timing"); row++)
        assert_true(cell_of(section_named("timing"), row, "calls").count <=
                    builder_size(&builder) / sizeof(struct hotpath_node_));
}

/* Every count and capacity there is. */
static void counts_out_of_bounds(void **state)
{
    (void)state;
    struct hp_header *header = builder_header(&builder);
    struct hp_thread *record = builder_at(&builder, thread);
    builder_waits(&builder, 4);
    builder_wait(&builder, nodes[0], HP_WAIT_DISK, 0, "file", 5);
    struct hp_thread_usage *usage = builder_thread_usage(&builder, 4);
    builder_thread_usage_row(&builder, "a", 1)->record = UINT32_MAX - 7;
    usage->used = usage->capacity = UINT32_MAX;
    builder_cpu(&builder, thread, nodes[0], 1, 10, 0);
    builder_log(&builder, thread, ((struct hotpath_node_ *)builder_at(&builder, nodes[0]))->site, 2);
    builder_slow_call(&builder, nodes[0], 5, 100, 50, 1, 8);
    header->site_count = header->thread_count = header->threads_seen = UINT32_MAX;
    header->used = header->backed = header->capacity = UINT64_MAX;
    record->node_count = record->stat_count = record->frame_capacity = UINT32_MAX;
    struct hp_waits *waits = builder_at(&builder, header->waits);
    waits->used = waits->capacity = UINT32_MAX;
    struct hp_node_chunk *chunk = builder_at(&builder, record->node_chunks);
    chunk->used = chunk->capacity = UINT32_MAX;
    struct hp_log *log = builder_at(&builder, stat_at(0)->log);
    log->capacity = UINT32_MAX;
    log->count = UINT64_MAX;
    struct hp_slowest *slowest = builder_at(&builder, stat_at(0)->slowest);
    slowest->bytes[0] = slowest->bytes[1] = UINT32_MAX;
    ((struct hp_slow_call *)builder_at(&builder, slowest->calls[1]))->row_count = UINT32_MAX;
    struct hp_cpu_thread *cpu = builder_at(&builder, record->cpu);
    ((struct hp_cpu_table *)builder_at(&builder, cpu->table))->capacity = UINT32_MAX;
    strcpy(settings.show.report, "all");
    strcpy(settings.show.slowest, "/./");
    fixture_build();
    assert_true(rows_of("timing") <= SITES + 1);
    assert_true(rows_of("waits") <= builder_size(&builder) / sizeof(struct hp_wait));
    assert_true(rows_of("threads") <= builder_size(&builder) / sizeof(struct hp_thread_usage_row) + 1);
    assert_true(rows_of("calls") <= builder_size(&builder) / sizeof(struct hp_log_record));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_sites_with_one_log, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(many_sites_with_one_slow_call, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(many_threads_with_one_tree, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(counts_out_of_bounds, set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
