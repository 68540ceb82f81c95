/*
 * Logged calls, read while a writer goes on. In one mode it writes step by step, as the recorder does: then calls
 * that are read must be whole, never halves of two. In the other it writes arbitrary bytes: then reads must stay in
 * bounds.
 *
 * The session is the memory that is written to, as in a process's report about itself; or a copy of it, with single
 * calls read again, as in `hotpath report`. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "between_loads.h"
#include "reports.h"

/* Every field of a call follows from its number, so that a reader can tell whether it is whole. */
#define LOGGED 3u

struct written {
    uint64_t number; /* of the call being written */
    size_t at;       /* words of it already written */
};

static struct session_builder builder;
static struct written logged, slow;
static struct hp_log *call_log;
static struct hp_slowest *slowest;

static uint64_t ticks_of(uint64_t number) { return number * 7 + 1; }
static uint32_t note_length_of(uint64_t number) { return (uint32_t)(number % 3 * 16); }
static char letter_of(uint64_t number) { return (char)('a' + number % 26); }

static struct hp_call call_of(uint64_t number)
{
    return (struct hp_call){.start = number,
                            .ticks = ticks_of(number),
                            .node = 8,
                            .tid = (uint32_t)number,
                            .alloc_bytes = number * 3,
                            .alloc_count = number * 5};
}

/* As it is before its number is set. */
static struct hp_log_record record_of(uint64_t number)
{
    return (struct hp_log_record){.tick = number + ticks_of(number),
                                  .ticks = ticks_of(number),
                                  .bytes = number * 3,
                                  .count = number * 5,
                                  .node = 8,
                                  .tid = (uint32_t)number,
                                  .what = HP_RECORD_CALL,
                                  .text_length = note_length_of(number)};
}

static void put_word(void *to, const void *from, size_t word)
{
    memcpy((char *)to + 8 * word, (const char *)from + 8 * word, 8);
}

/* The place is marked, then the text, the record, its number, and the count, as in src/record/core/logs.c. */
static void write_logged(void)
{
    const struct hp_log_record record = record_of(logged.number);
    const uint64_t place = logged.number % call_log->capacity, number = logged.number + 1;
    const size_t text_words = record.text_length / 8, words = text_words + sizeof record / 8;
    char text[HP_LOG_TEXT];
    memset(text, letter_of(logged.number), sizeof text);
    if (logged.at == 0)
        call_log->records[place].number = 0;
    else if (logged.at <= text_words)
        put_word((char *)builder_at(&builder, call_log->texts) + place * HP_LOG_TEXT, text, logged.at - 1);
    else if (logged.at < words)
        put_word(&call_log->records[place], &record, logged.at - text_words);
    else if (logged.at == words)
        call_log->records[place].number = number;
    else
        call_log->count = number;
    logged.at++;
    if (logged.at > words + 1)
        logged = (struct written){number, 0};
}

/* A slow call with rows and a note, all of which follow from its number. */
struct slow_image {
    struct hp_slow_call head;
    struct hp_slow_row rows[3];
    char notes[16];
};

/* In the order of the file: notes come right after the used rows. */
static size_t make_slow(uint64_t number, struct slow_image *ret_image)
{
    const uint32_t rows = (uint32_t)(number % 4);
    memset(ret_image, 0, sizeof *ret_image);
    ret_image->head.call = call_of(number);
    ret_image->head.call.note_length = ret_image->head.note_bytes = 16;
    ret_image->head.self = number;
    ret_image->head.row_count = rows;
    for (uint32_t at = 0; at < rows; at++)
        ret_image->rows[at] = (struct hp_slow_row){.node = at, .calls = number, .total = number + at, .self = at};
    memset((char *)(ret_image->rows + rows), letter_of(number), 16);
    return (sizeof ret_image->head + rows * sizeof ret_image->rows[0] + 16) / 8;
}

/* The inactive slot, then the number. */
static void write_slow(void)
{
    struct slow_image image;
    const size_t words = make_slow(slow.number, &image);
    if (slow.at < words)
        put_word(builder_at(&builder, slowest->calls[slow.number % 2]), &image, slow.at);
    else
        slowest->number = (uint32_t)slow.number;
    slow.at++;
    if (slow.at > words)
        slow = (struct written){slow.number + 1, 0};
}

static void go_on(void)
{
    const uint8_t what = fuzz_byte(&fuzz_between.input);
    for (unsigned steps = what % 64; steps > 0; steps--)
        (what & 64 ? write_slow : write_logged)();
    fuzz_between.calm = what & 128 ? 3 : 0;
}

/* Arbitrary bytes, but only where calls are stored: from there to the end of the session. */
static bool is_hostile;

static void scribble(void)
{
    const size_t kept = (size_t)((unsigned char *)call_log - builder.bytes);
    struct fuzz_session part = {builder.bytes + kept, builder_size(&builder) - kept};
    fuzz_session_change(&part, &fuzz_between.input);
    fuzz_between.calm = fuzz_byte(&fuzz_between.input) % 32;
}

static uint64_t sum_of(const char *bytes, size_t length)
{
    uint64_t sum = 0;
    while (length > 0)
        sum = sum * 31 + (unsigned char)bytes[--length];
    return sum;
}

/* Global, so that the compiler does not drop the sums. */
extern volatile uint64_t fuzz_event;
volatile uint64_t fuzz_event;

static void require_bounded(const struct hp_logged_call *call)
{
    REQUIRE(call->note_length <= HP_NOTE_BYTES && call->note[call->note_length] == '\0');
    fuzz_event = sum_of(call->note, call->note_length);
}

static void require_whole(const struct hp_logged_call *call, uint32_t note_length)
{
    const uint64_t number = call->start;
    REQUIRE(call->ticks == ticks_of(number) && call->tid == (uint32_t)number);
    REQUIRE(call->alloc_bytes == number * 3 && call->alloc_count == number * 5);
    REQUIRE(call->note_length == note_length);
    for (uint32_t at = 0; at < call->note_length; at++)
        REQUIRE(call->note[at] == letter_of(number));
}

static void read_logged(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat)
{
    struct hp_walk walk = {0};
    struct hp_logged_call call;
    uint64_t before = UINT64_MAX;
    unsigned count = 0;
    while (hp_snapshot_next_call(snapshot, stat, &walk, &call)) {
        require_bounded(&call);
        if (is_hostile)
            continue;
        REQUIRE(call.start == walk.number && call.start < before);
        require_whole(&call, note_length_of(call.start));
        before = call.start;
        count++;
    }
    REQUIRE(count <= LOGGED);
}

static void require_slow_bounded(const struct hp_slow_copy *copy)
{
    require_bounded(&copy->call);
    for (uint32_t at = 0; at < copy->row_count; at++)
        fuzz_event = sum_of(copy->notes + copy->rows[at].note, copy->rows[at].note_length);
}

static void require_slow_whole(const struct hp_slow_copy *copy)
{
    const uint64_t number = copy->call.start;
    require_whole(&copy->call, 16);
    REQUIRE(copy->self == number && copy->row_count == number % 4);
    for (uint32_t at = 0; at < copy->row_count; at++)
        REQUIRE(copy->rows[at].node == at && copy->rows[at].calls == number && copy->rows[at].total == number + at);
}

/* Into memory of exactly the requested size. */
static void read_slow(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat)
{
    struct hp_slow_copy copy;
    uint64_t ticks;
    const size_t size = hp_snapshot_slowest_bytes(snapshot, stat);
    void *memory = malloc(size + (size == 0));
    REQUIRE(memory != NULL && size <= snapshot->size);
    if (hp_snapshot_slowest_ticks(snapshot, stat, &ticks))
        REQUIRE(is_hostile || ticks % 7 == 1);
    if (hp_snapshot_copy_slowest(snapshot, stat, memory, size, &copy)) {
        require_slow_bounded(&copy);
        if (!is_hostile)
            require_slow_whole(&copy);
    }
    free(memory);
}

/* One site with logged calls, some already written. */
static struct hotpath_stat_ *build_kept(void)
{
    fuzz_shape_begin(&builder);
    const uint32_t thread = builder_thread(&builder), site = builder_site(&builder, "parse", "parse.c", 1);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    call_log = builder_at(&builder, builder_log(&builder, thread, site, LOGGED));
    builder_logged_call(&builder, node, 0, 0, 0, ""); /* makes the space of texts */
    memset(call_log->records, 0, sizeof call_log->records[0]);
    call_log->count = 0;
    for (int place = 0; place < 2; place++)
        builder_slow_call(&builder, node, 0, 0, 0, 3, 16);
    struct hotpath_stat_ *stat = builder_stat(&builder, thread, site);
    slowest = builder_at(&builder, stat->slowest);
    slowest->number = 0;
    logged = (struct written){0, 0};
    slow = (struct written){1, 0};
    return stat;
}

static void read_written(uint8_t how)
{
    struct hp_snapshot snapshot;
    const struct hotpath_stat_ stat = *build_kept();
    fuzz_between.live = (struct fuzz_session){builder.bytes, builder_size(&builder)};
    fuzz_between.calm = 0;
    fuzz_between.is_cut = false;
    go_on();
    REQUIRE(hp_snapshot_open(&snapshot, fuzz_between.live.bytes, fuzz_between.live.size, &fuzz_now) == NULL);
    struct fuzz_session copy = {NULL, fuzz_between.live.size};
    if (how & 1) {
        copy = fuzz_copy_of(&fuzz_between.live);
        snapshot.bytes = copy.bytes;
        snapshot.read_anew = fuzz_read_live;
    }
    is_hostile = how & 2;
    fuzz_between.happen = is_hostile ? scribble : go_on;
    for (unsigned rounds = 0; rounds < 4; rounds++) {
        read_logged(&snapshot, &stat);
        read_slow(&snapshot, &stat);
    }
    fuzz_between.happen = NULL;
    fuzz_session_free(&copy);
    builder_free(&builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_between.input = (struct fuzz_input){bytes, size};
    read_written(fuzz_byte(&fuzz_between.input));
    return 0;
}
