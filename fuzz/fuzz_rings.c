/*
 * Stack rings and allocation rings, written by a hostile process: it makes records, writes anything anywhere,
 * truncates the file, and does so before each of our reads. Records that are delivered must be complete in our
 * memory; reading must end and never go back; if all blocks are freed, nothing may remain.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memfd_create */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "event_queue.h"
#include "heap_live.h"
#include "input.h"
#include "sources.h"

static ssize_t pread_of_changing(int fd, void *to, size_t bytes, off_t offset);

#define pread pread_of_changing
#include "ring_reader.c"
#undef pread

#define MOST_STEPS 256u
#define STACKS 5u
#define MOST_BLOCKS 256u

/* The writer, which goes on during reads. */
static struct {
    struct fuzz_input input;
    int fd;
    uint64_t capacity, head, latest; /* where the next record goes, and where the last one is */
    bool is_reading;
} writer;

static char folder[64], path[128];

static void put_at(uint64_t offset, const void *bytes, size_t size)
{
    REQUIRE(pwrite(writer.fd, bytes, size, (off_t)offset) == (ssize_t)size);
}

static void put_word(uint64_t offset, uint64_t word) { put_at(offset, &word, sizeof word); }

static uint64_t place_in_file(uint64_t position)
{
    return HP_STACK_RING_HEADER_BYTES + (position & (writer.capacity - 1));
}

/* ------------------------------------------------------------------------------------------------------ writing */

/* As a correct program writes it, or nearly so. */
static void put_record(void)
{
    struct fuzz_input *input = &writer.input;
    struct hp_stack_record record = {.mark = hp_stack_mark(writer.head), .kind = fuzz_byte(input) % 5};
    const uint8_t shape = fuzz_byte(input);
    record.words = shape & 1 ? fuzz_byte(input) : record.kind == HP_STACK_ALLOCATION ? 6 : 2;
    record.known = shape & 2 ? fuzz_number(input, 8) : 0x10080;
    record.stack_bytes = (uint32_t)fuzz_number(input, shape & 4 ? 4 : 1);
    record.ns = fuzz_number(input, shape & 8 ? 8 : 1);
    const uint64_t parts =
        sizeof record + 8 * (record.words + (uint64_t)__builtin_popcountll(record.known)) + record.stack_bytes;
    record.bytes = (uint32_t)((parts + HP_STACK_RECORD_ALIGN - 1) / HP_STACK_RECORD_ALIGN * HP_STACK_RECORD_ALIGN);
    record.bytes += shape & 16 ? (uint32_t)fuzz_number(input, 2) : 0;
    writer.latest = writer.head;
    put_at(place_in_file(writer.head), &record, sizeof record);
    for (unsigned at = 0; at < record.words && at < HP_STACK_MOST_WORDS; at++)
        put_word(place_in_file(writer.head) + sizeof record + 8 * at, fuzz_number(input, shape & 32 ? 8 : 1));
    writer.head += record.bytes;
    put_word(offsetof(struct hp_stack_ring_header, head), writer.head);
}

static void put_rest_of_file(void)
{
    const uint64_t rest = writer.capacity - (writer.head & (writer.capacity - 1));
    const struct hp_stack_record record = {.mark = hp_stack_mark(writer.head), .bytes = (uint32_t)rest};
    put_at(place_in_file(writer.head), &record, SKIPPED_HEADER);
    writer.head += rest;
    put_word(offsetof(struct hp_stack_ring_header, head), writer.head);
}

static void put_anything(void)
{
    struct fuzz_input *input = &writer.input;
    const uint8_t what = fuzz_byte(input);
    const uint64_t where = fuzz_number(input, what & 8 ? 3 : 1);
    const uint64_t word = fuzz_number(input, what & 16 ? 8 : 4);
    switch (what % 4) {
    case 0: /* in the last record */
        put_at(place_in_file(writer.latest) + where % 64 / 4 * 4, &word, 4);
        break;
    case 1: /* in the header */
        put_word(where % 24 * 8, word);
        break;
    case 2: /* a mark somewhere */
        put_word(place_in_file(where * 16), hp_stack_mark(where * 16));
        break;
    default:
        put_word(place_in_file(where * 8), word);
    }
}

static void cut_off(void)
{
    const uint64_t length = fuzz_number(&writer.input, 3);
    REQUIRE(ftruncate(writer.fd, (off_t)(length % (2 * writer.capacity))) == 0);
}

static void go_on(void)
{
    const uint8_t what = fuzz_byte(&writer.input) % 16;
    if (what < 6)
        put_record();
    else if (what < 14)
        put_anything();
    else if (what < 15)
        put_rest_of_file();
    else
        cut_off();
}

static ssize_t pread_of_changing(int fd, void *to, size_t bytes, off_t offset)
{
    if (writer.input.left > 0 && fuzz_byte(&writer.input) % 4 == 0)
        go_on();
    return pread(fd, to, bytes, offset);
}

static void make_ring(void)
{
    struct fuzz_input *input = &writer.input;
    const uint8_t shape = fuzz_byte(input);
    writer.capacity = HP_STACK_RING_LEAST;
    writer.head = shape & 1 ? fuzz_number(input, 8) / 16 * 16 : 0;
    struct hp_stack_ring_header header = {.magic = HP_STACK_RING_MAGIC,
                                          .capacity = shape & 2 ? fuzz_number(input, 8) : writer.capacity,
                                          .pid = (uint32_t)fuzz_number(input, shape & 4 ? 4 : 0),
                                          .record_header_bytes = sizeof(struct hp_stack_record),
                                          .head = writer.head,
                                          .tail = writer.head};
    writer.latest = writer.head;
    writer.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(writer.fd >= 0 && ftruncate(writer.fd, (off_t)(HP_STACK_RING_HEADER_BYTES + writer.capacity)) == 0);
    put_at(0, &header, sizeof header);
}

/* ------------------------------------------------------------------------------------------------------ reading */

/* Reads every byte, so that a sanitizer sees the first invalid one. */
static void look_at(void *context, const struct hp_ring_record *record)
{
    const unsigned char *stack = record->stack;
    uint64_t sum = 0;
    for (unsigned at = 0; at < record->head->words; at++)
        sum += record->words[at];
    for (int at = 0; at < __builtin_popcountll(record->head->known); at++)
        sum += record->registers[at];
    for (uint32_t at = 0; at < record->head->stack_bytes; at++)
        sum += stack[at];
    *(uint64_t *)context += sum;
}

static void read_stacks(void)
{
    struct hp_ring_reader reader;
    uint64_t sum = 0;
    if (!hp_ring_reader_open(&reader, path))
        return;
    for (unsigned step = 0; writer.input.left > 0 && step < MOST_STEPS; step++) {
        const uint64_t before = reader.at;
        if (fuzz_byte(&writer.input) % 4 != 0)
            go_on();
        else
            hp_ring_reader_read(&reader, fuzz_byte(&writer.input) % 8 == 0, look_at, &sum);
        REQUIRE(reader.at >= before && reader.at - before <= reader.header.capacity);
    }
    hp_ring_reader_read(&reader, true, look_at, &sum);
    hp_ring_reader_close(&reader);
    __asm__ volatile("" : : "r"(sum));
}

/* ------------------------------------------------------------------------------------------------- allocations */

static void take_seen(struct hp_heap_live *heap, const struct hp_event *event)
{
    const uint32_t block = event->block % MOST_BLOCKS;
    if (event->kind == HP_EVENT_FREED)
        hp_heap_live_remove(heap, block, event->live_bytes);
    if (event->kind != HP_EVENT_ALLOCATED)
        return;
    const unsigned char *stack = event->stack;
    uint64_t sum = 0;
    for (size_t at = 0; at < event->stack_bytes; at++)
        sum += stack[at];
    __asm__ volatile("" : : "r"(sum));
    const struct hp_heap_worth worth = hp_heap_worth(heap, event->bytes_asked, event->mean);
    hp_heap_live_look(heap, event->live_bytes);
    REQUIRE(hp_heap_live_add(heap, block, (uint32_t)(event->place % STACKS), event->bytes_asked, &worth) ||
            block == 0);
}

static void take_all_seen(struct hp_heap_live *heap)
{
    for (struct hp_event *event = hp_event_take(UINT64_MAX), *next; event != NULL; event = next) {
        next = event->next;
        take_seen(heap, event);
        free(event);
    }
}

static void require_nothing_left(struct hp_heap_live *heap)
{
    for (uint32_t block = 1; block < MOST_BLOCKS; block++)
        hp_heap_live_remove(heap, block, 0);
    for (size_t at = 0; at < heap->stack_count; at++)
        REQUIRE(heap->stacks[at].live.bytes == 0 && heap->stacks[at].live.blocks == 0);
}

static void read_heap(void)
{
    struct hp_heap_live heap = {0};
    hp_heap_source_begin(folder);
    for (unsigned step = 0; writer.input.left > 0 && step < MOST_STEPS; step++) {
        if (fuzz_byte(&writer.input) % 4 != 0)
            go_on();
        else
            hp_heap_source_read(false);
        take_all_seen(&heap);
    }
    hp_heap_source_read(true);
    take_all_seen(&heap);
    require_nothing_left(&heap);
    hp_heap_live_free(&heap);
    REQUIRE(access(path, F_OK) != 0 || unlink(path) == 0);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0] != '\0')
        return;
    snprintf(folder, sizeof folder, "%s/hotpath-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/1%s", folder, HP_HEAP_RING_SUFFIX);
    atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    make_folder();
    writer.input = (struct fuzz_input){bytes, size};
    const bool is_heap = fuzz_byte(&writer.input) & 1;
    make_ring();
    if (is_heap)
        read_heap();
    else
        read_stacks();
    close(writer.fd);
    unlink(path);
    return 0;
}
