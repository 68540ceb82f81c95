/*
 * Gives arbitrary bytes to everything that reads a session, alone and together with others: the snapshot, all
 * sections, both renderers. Nothing may crash, hang or read out of bounds, and JSON must be valid; the numbers do
 * not matter. SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "reports.h"
#include "shapes.h"
#include "snapshot.h"

#define LARGEST_INPUT (1u << 20)

static void render(const struct hp_snapshot *const *sessions, size_t count)
{
    static struct hp_settings settings;
    static struct fuzz_output output;
    fuzz_choose(&settings, HP_FORMAT_JSON_PRETTY, false);
    fuzz_render(sessions, count, &settings, 0, &output);
    fuzz_require_json(&output);
    fuzz_choose(&settings, HP_FORMAT_TABLE, true);
    fuzz_render(sessions, count, &settings, 72, &output);
}

/* A valid session, which has sites in common with those of the corpus. */
static const struct hp_snapshot *good_session(void)
{
    static struct session_builder builder;
    static struct hp_snapshot snapshot;
    if (builder.bytes != NULL)
        return &snapshot;
    fuzz_shape_begin(&builder);
    const uint32_t thread = builder_thread(&builder);
    const uint32_t parse = builder_site(&builder, "parse", "src/parse.c", 12);
    const uint32_t main_site = builder_site(&builder, "main", "src/main.c", 3);
    const uint32_t main_node = builder_node(&builder, thread, 0, main_site);
    builder_header(&builder)->main_site = main_site;
    builder_call(&builder, thread, builder_node(&builder, thread, main_node, parse), 70, 0);
    builder_open(&builder, thread, main_node, 100, 70);
    hp_snapshot_open(&snapshot, builder.bytes, builder_size(&builder), NULL);
    return &snapshot;
}

/* No section shows single samples. */
static uint64_t walk_samples(const struct hp_snapshot *session)
{
    struct hp_walk threads = {0};
    struct hp_thread thread;
    struct hp_cpu_thread cpu;
    struct hp_sample one;
    uint64_t sum = 0;
    while (hp_snapshot_next_thread(session, &threads, &thread)) {
        struct hp_walk samples = {0};
        if (!hp_snapshot_cpu_thread(session, &thread, &cpu))
            continue;
        while (hp_snapshot_next_sample(session, &cpu, &samples, &one))
            sum += one.ticks + one.node + samples.number;
    }
    return sum;
}

/* Global, so that the compiler does not drop the walk. */
extern volatile uint64_t fuzz_event;
volatile uint64_t fuzz_event;

/* Alone, and as one process of several: in the middle and as the first. */
static void render_all(const struct hp_snapshot *session)
{
    const struct hp_snapshot *const good = good_session();
    fuzz_event = walk_samples(session);
    render((const struct hp_snapshot *const[]){session}, 1);
    render((const struct hp_snapshot *const[]){good, session, good}, 3);
    render((const struct hp_snapshot *const[]){session, good, session}, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct hp_snapshot snapshot;
    if (size > LARGEST_INPUT)
        return 0;
    /* A copy: aligned, and of exactly that size, so that a sanitizer sees the first byte read beyond it. */
    unsigned char *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        return 0;
    memcpy(copy, bytes, size);
    if (hp_snapshot_open(&snapshot, copy, size, NULL) == NULL)
        render_all(&snapshot);
    if (hp_snapshot_open(&snapshot, copy, size, &fuzz_now) == NULL)
        render_all(&snapshot);
    free(copy);
    return 0;
}
