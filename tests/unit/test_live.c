/*
 * Sessions that are read while threads record: single calls are read intact, and counts only go up. The file is
 * read where it is mapped, as in a process's own report, and as a copy from which single calls are read again, as
 * in `hotpath report`. SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "hotpath.h"
#include "object_snapshot.h"
#include "process.h"
#include "report.h"
#include "snapshot.h"

#define WRITERS 2u
#define FEWEST_CALLS 20000u
#define SNAPSHOTS 40u

static uint32_t read_so_far; /* snapshots; writers go on until there are enough */
static uint64_t begun;       /* calls of all writers */

/* --------------------------------------------------------------------------------------------- recording */

/* A note that only a whole one agrees with. */
static void inner(uint32_t number)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("%08x %08x", number, ~number);
}

/* Longer and longer, so that there is a new slowest one again and again. */
static void outer(uint32_t number)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("%08x %08x, of those outside", number, ~number);
    HOTPATH_CHANNEL_SENT("messages", NULL, number, ~number, -1, number + UINT64_C(1));
    HOTPATH_CHANNEL_TEXT("messages", NULL, "%08x %08x", number, ~number);
    for (uint32_t calls = 0; calls < 1 + number / 4096 % 8; calls++)
        inner(number);
}

static void *record(void *unused)
{
    (void)unused;
    for (uint32_t number = 0; number < FEWEST_CALLS || __atomic_load_n(&read_so_far, __ATOMIC_RELAXED) < SNAPSHOTS;
         number++) {
        __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
        outer(number);
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------- reading */

struct file {
    int fd;
    unsigned char *mapped;
    size_t size;
};

static struct file open_session(void)
{
    struct stat status;
    struct file file = {.fd = open(hotpath_session_path(), O_RDONLY | O_CLOEXEC)};
    assert_true(file.fd >= 0 && fstat(file.fd, &status) == 0);
    file.size = (size_t)status.st_size;
    file.mapped = mmap(NULL, file.size, PROT_READ, MAP_SHARED, file.fd, 0);
    assert_true(file.mapped != MAP_FAILED);
    return file;
}

static void close_session(const struct file *file)
{
    munmap(file->mapped, file->size);
    close(file->fd);
}

static bool read_file(void *context, uint32_t offset, void *to, size_t bytes)
{
    const struct file *file = context;
    return pread(file->fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

static void open_snapshot(struct hp_snapshot *snapshot, const void *bytes, size_t size)
{
    const struct hp_header *header = bytes;
    const enum hp_counter counter = header->clock_kind == HP_CLOCK_MONOTONIC ? HP_COUNTER_NONE : hp_clock_counter();
    struct hp_clock_pair now;
    hp_clock_pair(counter, &now.ticks, &now.ns);
    assert_null(hp_snapshot_open(snapshot, bytes, size, &now));
}

static void check_note(const struct hp_logged_call *call)
{
    unsigned number, inverse;
    assert_int_equal(strlen(call->note), call->note_length);
    assert_int_equal(sscanf(call->note, "%8x %8x", &number, &inverse), 2);
    assert_int_equal(number, (unsigned)~inverse);
}

static void check_calls(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat)
{
    struct hp_walk walk = {0};
    struct hp_logged_call call;
    struct hp_node node;
    uint64_t later = UINT64_MAX;
    while (hp_snapshot_next_call(snapshot, stat, &walk, &call)) {
        check_note(&call);
        assert_true(call.start <= later && call.start >= snapshot->header.clock_start.ticks);
        assert_true(hp_snapshot_node(snapshot, call.node, &node) && node.site == stat->site);
        later = call.start;
    }
}

/* All of a message follows from its number, which is in its items; it may not have its text yet. */
static void check_message(const struct hp_log_copy *copy, uint64_t index)
{
    const struct hp_log_record *record = &copy->record;
    const uint32_t number = (uint32_t)record->count;
    char text[32];
    snprintf(text, sizeof text, "%08x %08x", number, ~number);
    assert_int_equal(record->what, HP_RECORD_SENT);
    assert_true(record->id == number + UINT64_C(1) && record->bytes == (uint32_t)~number);
    assert_int_equal(number, index); /* the writer's only log */
    if (record->text_length > 0)
        assert_string_equal(copy->text, text);
}

static void check_messages(const struct hp_snapshot *snapshot)
{
    struct hp_walk objects = {0}, parts = {0}, records = {0};
    struct hp_object object;
    struct hp_instance_part part;
    struct hp_log_copy copy;
    while (hp_snapshot_next_object(snapshot, &objects, &object)) {
        hp_walk_rewind(&parts);
        while (hp_snapshot_next_part(snapshot, &object, &parts, &part))
            for (unsigned round = 0; round < 200; round++) { /* again and again: it is written all the time */
                hp_walk_rewind(&records);
                while (hp_snapshot_next_record(snapshot, part.part.log, &records, &copy))
                    check_message(&copy, records.number);
            }
    }
}

static void check_slowest(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat)
{
    static _Alignas(8) unsigned char memory[1 << 16];
    struct hp_slow_copy copy;
    if (hp_snapshot_slowest_bytes(snapshot, stat) > sizeof memory ||
        !hp_snapshot_copy_slowest(snapshot, stat, memory, sizeof memory, &copy))
        return;
    if (copy.call.note_length > 0)
        check_note(&copy.call);
    assert_true(copy.self <= copy.call.ticks);
    for (uint32_t at = 0; at < copy.row_count; at++)
        assert_true(copy.rows[at].calls <= 8 && copy.rows[at].self <= copy.rows[at].total);
}

/* How many calls of `outer` there are, which is the only child of the roots. */
static uint64_t check_snapshot(const struct hp_snapshot *snapshot)
{
    struct hp_walk threads = {0}, nodes = {0}, stats = {0};
    struct hp_thread thread;
    struct hp_node node;
    struct hotpath_stat_ stat;
    uint64_t calls = 0;
    check_messages(snapshot);
    while (hp_snapshot_next_thread(snapshot, &threads, &thread)) {
        hp_walk_rewind(&nodes);
        while (hp_snapshot_next_node(snapshot, &thread, &nodes, &node))
            calls += node.parent == thread.root && node.site != HP_SITE_ROOT ? node.calls : 0;
        hp_walk_rewind(&stats);
        while (hp_snapshot_next_stat(snapshot, &thread, &stats, &stat)) {
            check_calls(snapshot, &stat);
            check_slowest(snapshot, &stat);
        }
    }
    return calls;
}

static bool count_bytes(void *context, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)context += length;
    return true;
}

static void check_report(const struct hp_snapshot *snapshot)
{
    static struct hp_settings settings;
    size_t length = 0;
    const struct hp_snapshots all = {.all = &snapshot, .count = 1};
    const struct hp_report_target target = {.sink = count_bytes, .context = &length};
    memset(&settings, 0, sizeof settings);
    settings.output.format = HP_FORMAT_JSON;
    settings.show.functions_limit = settings.show.calltree_limit = settings.record.logs_limit = HOTPATH_NO_LIMIT;
    strcpy(settings.show.report, "all");
    strcpy(settings.show.slowest, "outer");
    assert_int_equal(hp_report_render(&all, &settings, &target), HOTPATH_OK);
    assert_true(length > 0);
}

/* Counts only go up, and none is there before its call. */
static uint64_t check_where_it_is(const struct file *file, uint64_t before)
{
    struct hp_snapshot snapshot;
    open_snapshot(&snapshot, file->mapped, file->size);
    const uint64_t calls = check_snapshot(&snapshot);
    assert_true(calls >= before && calls <= __atomic_load_n(&begun, __ATOMIC_RELAXED));
    check_report(&snapshot);
    return calls;
}

static uint64_t check_copy(struct file *file, uint64_t before)
{
    struct hp_snapshot snapshot;
    unsigned char *copy = malloc(file->size);
    assert_true(copy != NULL && pread(file->fd, copy, file->size, 0) == (ssize_t)file->size);
    open_snapshot(&snapshot, copy, file->size);
    snapshot.read_anew = read_file;
    snapshot.read_context = file;
    const uint64_t calls = check_snapshot(&snapshot);
    assert_true(calls >= before && calls <= __atomic_load_n(&begun, __ATOMIC_RELAXED));
    check_report(&snapshot);
    free(copy);
    return calls;
}

static void live_session_is_read_consistently(void **state)
{
    (void)state;
    char folder[] = "/tmp/hotpath-live-XXXXXX";
    pthread_t writers[WRITERS];
    uint64_t calls = 0;
    assert_non_null(mkdtemp(folder));
    const struct hotpath_options options = {.size = sizeof options,
                                            .format = "none",
                                            .dir = folder,
                                            .max_bytes = 4u << 20,
                                            .logs_limit = 10,
                                            .log = "messages",
                                            .keep = 1};
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
    for (size_t at = 0; at < WRITERS; at++)
        assert_int_equal(pthread_create(&writers[at], NULL, record, NULL), 0);
    struct file file = open_session();
    for (unsigned at = 0; at < SNAPSHOTS; at++) {
        calls = at % 2 ? check_copy(&file, calls) : check_where_it_is(&file, calls);
        __atomic_fetch_add(&read_so_far, 1, __ATOMIC_RELAXED);
    }
    for (size_t at = 0; at < WRITERS; at++)
        assert_int_equal(pthread_join(writers[at], NULL), 0);
    assert_int_equal(check_where_it_is(&file, calls), __atomic_load_n(&begun, __ATOMIC_RELAXED));
    char path[256];
    snprintf(path, sizeof path, "%s", hotpath_session_path());
    assert_int_equal(hotpath_stop(), HOTPATH_OK);
    close_session(&file);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(live_session_is_read_consistently)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
