/*
 * Writes the seeds of fuzz_session into a folder: small sessions of every shape the reader knows. Run it again when
 * the layout changes; a test (fuzz.corpus) says when that is due:
 *
 *     build/release/fuzz/make_corpus fuzz/corpus
 *     build/release/fuzz/make_corpus --check fuzz/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session_builder.h"

static struct session_builder builder;

static void begin(void)
{
    builder_init(&builder, 64u << 10);
    builder.sites_per_chunk = 8;
}

static bool is_check;

static bool is_same(FILE *file, size_t size)
{
    static unsigned char bytes[64u << 10];
    return fread(bytes, 1, sizeof bytes, file) == size && memcmp(bytes, builder.bytes, size) == 0;
}

static void write_seed(const char *folder, const char *name, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, is_check ? "rb" : "wb");
    if (file == NULL || (!is_check && fwrite(builder.bytes, 1, size, file) != size)) {
        perror(path);
        exit(1);
    }
    if (is_check && !is_same(file, size)) {
        fprintf(stderr, "%s is not what the layout makes of it: run make_corpus\n", path);
        exit(1);
    }
    if (fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    builder_free(&builder);
}

static void build_tree(void)
{
    const uint32_t main_site = builder_site(&builder, "main", "src/main.c", 3);
    const uint32_t parse = builder_site(&builder, "parse", "src/parse.c", 12);
    const uint32_t lex = builder_site(&builder, "parse", "src/lexer.c", 99);
    builder_header(&builder)->main_site = main_site;
    for (unsigned threads = 0; threads < 2; threads++) {
        const uint32_t thread = builder_thread(&builder);
        const uint32_t root = builder_node(&builder, thread, 0, main_site);
        const uint32_t child = builder_node(&builder, thread, root, parse);
        const uint32_t leaf = builder_node(&builder, thread, child, lex);
        for (uint64_t ticks = 5; ticks < 3000; ticks *= 7) {
            builder_call(&builder, thread, root, ticks * 3, ticks);
            builder_call(&builder, thread, child, ticks, ticks / 2);
            builder_nested_call(&builder, thread, leaf, ticks / 2, 0);
        }
    }
}

static void build_open(void)
{
    const uint32_t thread = builder_thread(&builder);
    const uint32_t outer = builder_node(&builder, thread, 0, builder_site(&builder, "größe", "a.c", 1));
    const uint32_t inner = builder_node(&builder, thread, outer, builder_site(&builder, "解析", "a.c", 2));
    builder_header(&builder)->state = HP_STATE_LIVE;
    builder_abandoned_call(&builder, inner);
    builder_missed_call(&builder, thread, inner, 77);
    builder_open(&builder, thread, outer, 100, 20);
    builder_open(&builder, thread, inner, 200, 0);
    builder_open(&builder, thread, outer, 300, 0);
    builder_call(&builder, thread, builder_node(&builder, thread, 0, HP_SITE_OTHER), 40, 0);
    builder_header(&builder)->metadata = builder_text(&builder, "branch=main,rev=1");
    builder_header(&builder)->label = builder_text(&builder, "nightly");
    builder_header(&builder)->zone_cost_ps = 40000;
    builder_header(&builder)->zone_inner_ps = 20000;
    builder_elapse(&builder, 100000, 0.5);
}

/* The latest calls on two threads, one of them once around, and slowest calls with rows and notes. */
static void build_kept(void)
{
    const uint32_t parse = builder_site(&builder, "parse", "src/parse.c", 12);
    const uint32_t lex = builder_site(&builder, "lex", "src/lexer.c", 99);
    const uint32_t eval = builder_site(&builder, "eval", "src/eval.c", 5);
    for (uint32_t threads = 0; threads < 2; threads++) {
        const uint32_t thread = builder_thread(&builder);
        const uint32_t node = builder_node(&builder, thread, 0, parse);
        const uint32_t inner = builder_node(&builder, thread, node, lex);
        const uint32_t innermost = builder_node(&builder, thread, inner, eval);
        strcpy(((struct hp_thread *)builder_at(&builder, thread))->name, threads ? "worker" : "demo");
        builder_call(&builder, thread, node, 4000 + threads, 3000);
        builder_call(&builder, thread, inner, 3000, 500);
        builder_call(&builder, thread, innermost, 500, 0);
        builder_log(&builder, thread, parse, 4 - threads);
        for (uint64_t call = 0; call < 4; call++)
            builder_logged_call(&builder, node, 5000 * call, 100 + call, 4242 + threads,
                                call % 2 ? "rows=12" : NULL);
        builder_slow_call(&builder, node, 100, 900, 900, 0, 0);
        const uint32_t slow = builder_slow_call(&builder, node, 10000, 4000 + threads, 1000, 2, 16);
        struct hp_slow_row *row = builder_slow_row(&builder, slow, inner, 3, 3000, 2500);
        builder_slow_row(&builder, slow, innermost, 2, 500, 500);
        builder_slow_note(&builder, slow, row, "id=\x1b[7m");
        builder_slow_note(&builder, slow, NULL, "größe");
        ((struct hp_slow_call *)builder_at(&builder, slow))->rows_left_out = 3;
        builder_slow_call(&builder, inner, 10, 2000, 2000, 0, 0);
    }
}

/* Ended and open zones that allocate, a recursion, a thread that frees what another has allocated, pools. */
static void build_allocations(void)
{
    const uint32_t parse = builder_site(&builder, "parse", "src/parse.c", 12);
    const uint32_t lex = builder_site(&builder, "lex", "src/lexer.c", 99);
    for (int64_t threads = 0; threads < 2; threads++) {
        const uint32_t thread = builder_thread(&builder);
        const uint32_t node = builder_node(&builder, thread, 0, parse);
        const uint32_t inner = builder_node(&builder, thread, node, lex);
        builder_call(&builder, thread, inner, 500, 0);
        builder_nested_call(&builder, thread, inner, 200, 0);
        for (int nested = 0; nested < 2; nested++) {
            const struct builder_allocs allocs = {
                .measures = {60, 2, 3000, 20, 2048, 9}, .net_bytes = 64, .net_blocks = 1, .is_nested = nested};
            builder_alloc_call(&builder, inner, &allocs);
        }
        builder_open(&builder, thread, node, 100, 500);
        builder_open(&builder, thread, inner, 700, 0);
        struct hp_alloc_thread *alloc = builder_alloc_thread(&builder, thread);
        *alloc = (struct hp_alloc_thread){.count = 90,
                                          .bytes = 9000,
                                          .usable = threads ? 7700 : 9200,
                                          .freed_count = threads ? 97 : 82,
                                          .peak_live = 900,
                                          .peak_blocks = 9,
                                          .freed = 8400,
                                          .foreign_count = threads ? 5 : 0,
                                          .foreign_bytes = threads ? 500 : 0,
                                          .frames = alloc->frames};
        *builder_alloc_frame(&builder, thread, 0) = (struct hp_alloc_frame){.inner_count = 20, .inner_bytes = 3000};
        *builder_alloc_frame(&builder, thread, 1) = (struct hp_alloc_frame){
            .count = 30, .bytes = 3500, .live = 100, .peak_live = 1000, .inner_count = 10, .inner_bytes = 100};
        *builder_alloc_frame(&builder, thread, 2) =
            (struct hp_alloc_frame){.count = 80, .bytes = 8000, .live = 400};
    }
    struct hp_header *header = builder_header(&builder);
    header->state = HP_STATE_LIVE;
    header->late_count = 3;
    header->late_bytes = 100;
    header->late_usable = 120;
    header->alloc_peak = 5000;
    builder_pool(&builder, "arena")->bytes = 4000;
    builder_pool(&builder, "größe")->live = -5;
    builder_pool(&builder, "arena")->peak_live = 12;
}

/* Waiting in zones and outside, a name without an end, and what can only be a mistake. */
/* Credited and waiting time, a recursion folded beside the tree, a ring of samples once around. */
static void build_processor_time(void)
{
    const uint32_t parse = builder_site(&builder, "parse", "src/parse.c", 12);
    const uint32_t lex = builder_site(&builder, "lex", "src/lexer.c", 99);
    for (uint32_t threads = 0; threads < 2; threads++) {
        const uint32_t thread = builder_thread(&builder);
        const uint32_t node = builder_node(&builder, thread, 0, parse);
        const uint32_t inner = builder_node(&builder, thread, node, lex);
        builder_call(&builder, thread, inner, 500, 0);
        builder_call(&builder, thread, node, 900, 500);
        struct hp_cpu_thread *cpu = builder_cpu_thread(&builder, thread, 8);
        builder_cpu(&builder, thread, ((struct hp_thread *)builder_at(&builder, thread))->root, 1, 10, 0);
        builder_cpu(&builder, thread, inner, 3, 400, 20 + threads);
        struct hp_cpu_node *folded = builder_cpu(&builder, thread, node, 2, 300, 0);
        folded->also_samples = 1;
        folded->also_ns = 100;
        cpu->waiting_user_ns = 7;
        cpu->skipped_ns = 50;
        cpu->skipped_kernel_ns = 5;
        const uint32_t older = builder_samples(&builder, 4, 4, 4, node);
        const uint32_t newer = builder_samples(&builder, 4, 3, 8, inner);
        ((struct hp_sample_chunk *)builder_at(&builder, older))->next = newer;
        ((struct hp_sample_chunk *)builder_at(&builder, newer))->next = older;
        cpu->chunk = newer;
        cpu->chunk_count = 2;
        cpu->recorded = 11;
    }
    builder_header(&builder)->cpu_refusal = 13;
}

static void build_waits(void)
{
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, "parse", "src/parse.c", 12));
    const uint32_t root = ((struct hp_thread *)builder_at(&builder, thread))->root;
    builder_call(&builder, thread, node, 500, 0);
    struct hp_waits *waits = builder_waits(&builder, 8);
    waits->watched_ns = 9000;
    waits->looks = 40;
    waits->left_out_ns = 3;
    waits->watcher_ns = 100;
    waits->period_us = 10000;
    builder_wait(&builder, node, HP_WAIT_DISK, 0, "/data/größe", 4000);
    builder_wait(&builder, node, HP_WAIT_DISK, 0, "/data/other", 100);
    builder_wait(&builder, node, HP_WAIT_RUN_QUEUE, -1, "", 50);
    builder_wait(&builder, root, HP_WAIT_SOCKET, 1, "tcp 127.0.0.1:6379", 70);
    builder_wait(&builder, 0, HP_WAIT_OTHER, -1, "do_wait", 7);
    memset(builder_wait(&builder, 4104, 77, 99999, "", 1)->what, 0xff, sizeof((struct hp_wait *)0)->what);
}

int main(int argc, char **argv)
{
    is_check = argc == 3 && strcmp(argv[1], "--check") == 0;
    argv += is_check;
    if (argc - is_check != 2) {
        fprintf(stderr, "usage: make_corpus [--check] FOLDER\n");
        return 2;
    }
    begin();
    build_allocations();
    write_seed(argv[1], "allocations", builder_size(&builder));
    begin();
    build_processor_time();
    write_seed(argv[1], "processor-time", builder_size(&builder));
    begin();
    build_waits();
    write_seed(argv[1], "waits", builder_size(&builder));
    begin();
    write_seed(argv[1], "empty-session", builder_size(&builder));
    begin();
    build_tree();
    write_seed(argv[1], "tree", builder_size(&builder));
    begin();
    build_open();
    write_seed(argv[1], "open-zones", builder_size(&builder));
    begin();
    build_kept();
    write_seed(argv[1], "kept-calls", builder_size(&builder));
    begin();
    build_tree();
    write_seed(argv[1], "cut-off", builder_size(&builder) / 2 & ~(size_t)7);
    begin();
    write_seed(argv[1], "cut-header", 100);
    begin();
    builder_header(&builder)->version = HP_LAYOUT_VERSION + 1;
    write_seed(argv[1], "other-version", HP_HEADER_BYTES);
    return 0;
}
