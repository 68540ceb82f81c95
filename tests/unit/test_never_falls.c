/*
 * A live program is read again and again, while its threads compute, wait, allocate, recurse, start and exit: no
 * counter of any row ever falls, and the last reading equals a fresh one. SPDX-License-Identifier: MIT
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
#include <unistd.h>

#include <cmocka.h>

#include "hook_entries.h"
#include "reader.h"
#include "report.h"
#include "section.h"

/* --------------------------------------------------------------------------------------------- the program */

static int is_over; /* atomic */

static bool goes_on(void) { return !__atomic_load_n(&is_over, __ATOMIC_RELAXED); }

static void spin(unsigned steps)
{
    while (steps-- > 0)
        __asm__ volatile("" ::: "memory");
}

static void shortest(void) { HOTPATH_MEASURE(); }

static void compute(unsigned steps)
{
    HOTPATH_MEASURE();
    spin(steps);
    for (unsigned call = 0; call < 20; call++)
        shortest();
}

static void ask_kernel(int zeros)
{
    char bytes[16384];
    HOTPATH_MEASURE();
    for (unsigned call = 0; call < 4; call++)
        if (read(zeros, bytes, sizeof bytes) <= 0)
            return;
}

static void recurse(unsigned depth)
{
    HOTPATH_MEASURE();
    spin(200);
    if (depth > 0)
        recurse(depth - 1);
}

static void *compute_on(void *unused)
{
    const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    (void)unused;
    for (unsigned round = 0; goes_on(); round++) {
        HOTPATH_BLOCK("round");
        compute(2000 + round % 7 * 900);
        ask_kernel(zeros);
        recurse(round % 5);
    }
    close(zeros);
    return NULL;
}

/* Blocks are reported, not allocated: only the numbers matter. */
static void allocate(char *block, size_t bytes)
{
    HOTPATH_MEASURE();
    hotpath_v1_allocated(block, bytes, bytes + 8, 0);
    spin(3000);
    hotpath_v1_freed(block, bytes + 8, 0);
}

static void wait_a_little(unsigned us)
{
    HOTPATH_MEASURE();
    usleep(us);
}

static void *allocate_and_wait(void *unused)
{
    static char blocks[64][16];
    (void)unused;
    for (unsigned round = 0; goes_on(); round++) {
        HOTPATH_BLOCK("turn");
        allocate(blocks[round % 64], 100 + round % 1000);
        if (round % 16 == 0)
            wait_a_little(200 + round % 5000);
    }
    return NULL;
}

/* New threads with new paths. */
static void *live_shortly(void *context)
{
    const unsigned number = *(const unsigned *)context;
    HOTPATH_BLOCK("visitor");
    if (number % 2)
        compute(500);
    else
        recurse(number % 7);
    return NULL;
}

static void *bring_others(void *unused)
{
    (void)unused;
    for (unsigned round = 0; goes_on(); round++) {
        pthread_t visitors[3];
        unsigned numbers[3], count = 0;
        for (; count < 1 + round % 3; count++) {
            numbers[count] = round + count;
            if (pthread_create(&visitors[count], NULL, live_shortly, &numbers[count]) != 0)
                break;
        }
        while (count > 0)
            pthread_join(visitors[--count], NULL);
        wait_a_little(3000);
    }
    return NULL;
}

static void *(*const roles[])(void *) = {compute_on, allocate_and_wait, bring_others};
#define ROLES (sizeof roles / sizeof roles[0])

/*
 * ------------------------------------------------------------------------------------------------ earlier reports
 */

/* Counters only; others are averages, extremes, shares or levels. */
static const char *const counters[] = {
    "calls",           "total_ns",
    "self_ns",         "timed",
    "samples",         "cpu_ns",
    "user_ns",         "kernel_ns",
    "own_cpu_ns",      "all_cpu_ns",
    "looks",           "waited_ns",
    "beside_ns",       "own_bytes",
    "own_count",       "all_bytes",
    "all_count",       "allocations",
    "elapsed_ns",      "freed_blocks",
    "allocated_bytes", "freed_usable_bytes",
};

/* Texts that tell rows apart. */
static const char *const names[] = {"name", "thread", "cause", "call", "what", "other", "pid"};
#define NAMES (sizeof names / sizeof names[0])

/* By their places in `counters`: which columns a section has can change while a program goes on. */
#define COUNTERS (sizeof counters / sizeof counters[0])
struct said {
    char *row;
    double values[COUNTERS];
    struct said *next;
};

static struct said *known[1024];
static unsigned falls, compared;

/* Its place in the list, or `count`. */
static size_t place_among(const char *key, const char *const *list, size_t count)
{
    size_t at = 0;
    while (at < count && strcmp(key, list[at]) != 0)
        at++;
    return at;
}

static struct said *said_of(const char *row)
{
    uint32_t hash = 2166136261u;
    for (const char *at = row; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    struct said **place = &known[hash % 1024];
    while (*place != NULL && strcmp((*place)->row, row) != 0)
        place = &(*place)->next;
    if (*place == NULL) {
        *place = calloc(1, sizeof **place);
        assert_non_null(*place);
        (*place)->row = strdup(row);
    }
    return *place;
}

static void forget_all(void)
{
    for (size_t at = 0; at < sizeof known / sizeof known[0]; at++)
        while (known[at] != NULL) {
            struct said *said = known[at];
            known[at] = said->next;
            free(said->row);
            free(said);
        }
}

static double value_of(const struct hp_column *column, const struct hp_cell *cell)
{
    const bool is_count = column->shown.unit == HOTPATH_UNIT_COUNT || column->shown.unit == HOTPATH_UNIT_BYTES;
    return is_count ? (double)cell->count : cell->number;
}

static void compare_cell(const struct hotpath_section *section, struct said *said, const char *key, double value)
{
    const size_t at = place_among(key, counters, COUNTERS);
    if (at == COUNTERS)
        return;
    compared++;
    if (value < said->values[at]) {
        falls++;
        print_message("%s: %s of '%s' fell from %.1f to %.1f\n", section->name, key, said->row, said->values[at],
                      value);
    }
    said->values[at] = value;
}

/* A row of a tree has the names of all rows above it. Where names are the same, it is known by its identity. */
static void name_row(const struct hotpath_section *section, const struct hp_row *row, char *path, size_t *ends)
{
    size_t length = row->depth > 0 ? ends[row->depth - 1] : (size_t)sprintf(path, "%s", section->name);
    for (size_t at = 0; at < section->column_count; at++)
        if (place_among(section->columns[at].shown.key, names, NAMES) < NAMES) {
            if (section->columns[at].shown.unit == HOTPATH_UNIT_TEXT)
                length += (size_t)sprintf(path + length, "/%s", row->cells[at].text ? row->cells[at].text : "");
            else
                length += (size_t)sprintf(path + length, "/%llu", (unsigned long long)row->cells[at].count);
        }
    ends[row->depth] = length;
    sprintf(path + length, "/%llx", (unsigned long long)row->id);
}

static void compare_section(const struct hotpath_section *section)
{
    static char path[65536];
    static size_t ends[256];
    for (size_t at = 0; at < section->row_count; at++) {
        const struct hp_row *row = &section->rows[at];
        name_row(section, row, path, ends);
        struct said *said = said_of(path);
        for (size_t column = 0; column < section->column_count; column++)
            if (row->cells[column].has_value)
                compare_cell(section, said, section->columns[column].shown.key,
                             value_of(&section->columns[column], &row->cells[column]));
    }
}

/* -------------------------------------------------------------------------------------------------- reading */

static const char *look_up(const char *name, void *context)
{
    (void)context;
    return strcmp(name, "HOTPATH_REPORT") == 0
               ? "timing,calltree,cpu,waits,alloc-bytes,alloc-count,alloc-threads,processes"
           : strcmp(name, "HOTPATH_LIMIT") == 0 ? "0"
                                                : NULL;
}

static void compare_all(struct hp_reader *reader, const struct hp_settings *settings)
{
    const hotpath_results *results = hp_results_of_model(hp_reader_model(reader), settings);
    assert_non_null(results);
    assert_true(results->section_count >= 7);
    for (size_t at = 0; at < results->section_count; at++)
        compare_section(results->sections[at]);
}

/* In its first moments, the rate of the clock of a program is known roughly, and all times with it. */
static void wait_for_the_rate(struct hp_reader *reader)
{
    do
        assert_true(hp_reader_refresh(reader));
    while (reader->floors.ns_per_tick == 0);
}

struct output {
    char *bytes;
    size_t length;
};

static bool collect(void *context, const char *bytes, size_t length)
{
    struct output *output = context;
    output->bytes = realloc(output->bytes, output->length + length + 1);
    assert_non_null(output->bytes);
    memcpy(output->bytes + output->length, bytes, length);
    output->length += length;
    output->bytes[output->length] = '\0';
    return true;
}

static struct output render(struct hp_reader *reader, const struct hp_settings *settings)
{
    struct output output = {.length = 0};
    const struct hp_report_target target = {.sink = collect, .context = &output};
    assert_true(hp_reader_refresh(reader));
    assert_int_equal(hp_report_render_model(hp_reader_model(reader), settings, &target), HOTPATH_OK);
    return output;
}

/* Once all threads have ended, numbers no longer change. */
static void compare_with_new(struct hp_reader *reader, struct hp_settings *settings, const char *path)
{
    static struct hp_reader new_reader;
    settings->output.format = HP_FORMAT_JSON_PRETTY;
    hp_reader_open(&new_reader, NULL);
    assert_true(hp_reader_add(&new_reader, path));
    struct output old = render(reader, settings), new = render(&new_reader, settings);
    assert_string_equal(old.bytes, new.bytes);
    free(old.bytes);
    free(new.bytes);
    hp_reader_close(&new_reader);
}

static void no_counter_falls(void **state)
{
    (void)state;
    static struct hp_settings settings;
    static struct hp_reader reader;
    char folder[] = "/tmp/hotpath-falls-XXXXXX";
    pthread_t threads[ROLES];
    assert_non_null(mkdtemp(folder));
    const struct hotpath_options options = {.size = sizeof options,
                                            .format = "none",
                                            .dir = folder,
                                            .record = "timing,alloc,cpu",
                                            .cpu = 1,
                                            .waits = 1,
                                            .keep = 1};
    hp_settings_resolve(&settings, NULL, look_up, NULL, NULL, NULL);
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
    for (size_t at = 0; at < ROLES; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, roles[at], NULL), 0);
    hp_reader_open(&reader, NULL);
    assert_true(hp_reader_add(&reader, hotpath_session_path()));
    wait_for_the_rate(&reader);
    const unsigned readings = getenv("HOTPATH_TEST_LONG") != NULL ? 1000 : 300;
    for (unsigned reading = 0; reading < readings; reading++) {
        assert_true(hp_reader_refresh(&reader));
        compare_all(&reader, &settings);
        usleep(500);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (size_t at = 0; at < ROLES; at++)
        pthread_join(threads[at], NULL);
    char path[256];
    snprintf(path, sizeof path, "%s", hotpath_session_path());
    assert_int_equal(hotpath_stop(), HOTPATH_OK);
    compare_with_new(&reader, &settings, path);
    hp_reader_close(&reader);
    unlink(path);
    rmdir(folder);
    forget_all();
    assert_true(compared > 50 * readings);
    assert_int_equal(falls, 0);
}

/* The CPU time of one function was once taken for the calls of another. */
static void kinds_are_different(void **state)
{
    enum { KINDS = 10, NUMBERS = 200 };
    static uint64_t keys[KINDS * NUMBERS];
    (void)state;
    for (uint64_t at = 0; at < KINDS * NUMBERS; at++) {
        keys[at] = hp_floors_mix(1 + at / NUMBERS, at % NUMBERS);
        for (uint64_t before = 0; before < at; before++)
            assert_int_not_equal(keys[before], keys[at]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_are_different), cmocka_unit_test(no_counter_falls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
