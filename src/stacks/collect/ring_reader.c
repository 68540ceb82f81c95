/* Reads stack rings, and counts those that could not be made. SPDX-License-Identifier: MIT */
#include "ring_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "growing_array.h"
#include "stack_ring.h"

#define MOST_CAPACITY (UINT64_C(1) << 28)
#define SKIPPED_HEADER 16u /* of a record that fills the rest of the file */
#define PATIENCE_NS UINT64_C(1000000000)
#define STEP 65536u /* bytes that are searched at a time */

static off_t place_of(const struct hp_ring_reader *reader, uint64_t position)
{
    return (off_t)(HP_STACK_RING_HEADER_BYTES + (position & (reader->header.capacity - 1)));
}

/* A short read counts as none. */
static bool read_at(const struct hp_ring_reader *reader, uint64_t position, void *to, size_t bytes)
{
    return pread(reader->fd, to, bytes, place_of(reader, position)) == (ssize_t)bytes;
}

static uint64_t to_end(const struct hp_ring_reader *reader, uint64_t position)
{
    return reader->header.capacity - (position & (reader->header.capacity - 1));
}

/* ------------------------------------------------------------------------------------------------------ opening */

static bool is_sound_ring(const struct hp_stack_ring_header *header)
{
    return header->record_header_bytes == sizeof(struct hp_stack_record) &&
           header->capacity >= HP_STACK_RING_LEAST && header->capacity <= MOST_CAPACITY &&
           (header->capacity & (header->capacity - 1)) == 0;
}

bool hp_ring_reader_open(struct hp_ring_reader *reader, const char *path)
{
    *reader = (struct hp_ring_reader){.fd = hp_regular_open(AT_FDCWD, path, O_RDWR)};
    if (reader->fd < 0)
        return false;
    const bool is_there =
        pread(reader->fd, &reader->header, sizeof reader->header, 0) == (ssize_t)sizeof reader->header &&
        reader->header.magic == HP_STACK_RING_MAGIC;
    /* The magic is written last: a header read together with it may be older, so it is read again. */
    if (is_there && pread(reader->fd, &reader->header, sizeof reader->header, 0) > 0 &&
        is_sound_ring(&reader->header)) {
        reader->at = reader->header.tail;
        return true;
    }
    close(reader->fd);
    reader->fd = -1;
    errno = is_there ? EINVAL : EAGAIN;
    return false;
}

void hp_ring_reader_close(struct hp_ring_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->buffer);
    *reader = (struct hp_ring_reader){.fd = -1};
}

/* Writes only over existing bytes: a truncated file stays as it is. */
static void write_word(const struct hp_ring_reader *reader, size_t offset, uint64_t word)
{
    const off_t size = reader->is_guest ? 0 : lseek(reader->fd, 0, SEEK_END);
    if (size >= (off_t)HP_STACK_RING_HEADER_BYTES)
        (void)!pwrite(reader->fd, &word, sizeof word, (off_t)offset);
}

void hp_ring_reader_tell(struct hp_ring_reader *reader, enum hp_stack_ring_end end)
{
    write_word(reader, offsetof(struct hp_stack_ring_header, is_closed), end);
}

/* ------------------------------------------------------------------------------------------------------ records */

static bool has_room(struct hp_ring_reader *reader, size_t bytes)
{
    return HP_MAKE_ROOM(reader->buffer, bytes, reader->room);
}

/* Whether the parts fit into what was read: the record in the file may have changed since. */
static bool is_sound(const struct hp_stack_record *head, uint32_t bytes)
{
    const uint64_t registers = head->known >> HP_STACK_REGISTERS == 0 ? (uint64_t)__builtin_popcountll(head->known)
                                                                      : HP_STACK_REGISTERS + 1;
    return registers <= HP_STACK_REGISTERS && head->words <= HP_STACK_MOST_WORDS &&
           sizeof *head + 8 * (head->words + registers) + head->stack_bytes <= bytes;
}

static void hand_over(const struct hp_ring_reader *reader, hp_ring_take *take, void *context)
{
    const struct hp_stack_record *head = (const struct hp_stack_record *)(const void *)reader->buffer;
    const uint64_t *words = (const uint64_t *)(const void *)(head + 1), *registers = words + head->words;
    const struct hp_ring_record record = {head, words, registers, registers + __builtin_popcountll(head->known)};
    take(context, &record);
}

/* The length of the record at a position; 0: not published. */
static uint32_t length_at(const struct hp_ring_reader *reader, uint64_t position, uint64_t head, uint16_t *ret_kind)
{
    struct hp_stack_record record;
    if (!read_at(reader, position, &record, SKIPPED_HEADER))
        return 0;
    /* Acquire pairs with the writer's publish: later reads see what it has written. */
    if (__atomic_load_n(&record.mark, __ATOMIC_ACQUIRE) != hp_stack_mark(position))
        return 0;
    *ret_kind = record.kind;
    const uint64_t most = to_end(reader, position) < head - position ? to_end(reader, position) : head - position;
    const bool is_possible = record.bytes >= SKIPPED_HEADER && record.bytes % HP_STACK_RECORD_ALIGN == 0 &&
                             record.bytes <= most &&
                             (record.kind == HP_STACK_SKIPPED || record.bytes >= sizeof record);
    return is_possible ? record.bytes : 0;
}

/* The record is published, so it is complete. */
static void take_record(struct hp_ring_reader *reader, uint32_t bytes, hp_ring_take *take, void *context)
{
    if (has_room(reader, bytes) && read_at(reader, reader->at, reader->buffer, bytes) &&
        is_sound((const struct hp_stack_record *)(const void *)reader->buffer, bytes))
        hand_over(reader, take, context);
    else
        reader->skipped++;
}

/* The next published record after the current position, or `head`. */
static uint64_t next_published(const struct hp_ring_reader *reader, uint64_t head)
{
    static unsigned char bytes[STEP]; /* one thread reads */
    uint16_t kind;
    for (uint64_t from = reader->at + HP_STACK_RECORD_ALIGN; from < head;) {
        const uint64_t left = head - from < to_end(reader, from) ? head - from : to_end(reader, from);
        const size_t length = (size_t)(left < STEP ? left : STEP);
        if (!read_at(reader, from, bytes, length))
            return head;
        for (size_t at = 0; at + SKIPPED_HEADER <= length; at += HP_STACK_RECORD_ALIGN) {
            uint64_t mark;
            memcpy(&mark, bytes + at, sizeof mark);
            if (mark == hp_stack_mark(from + at) && length_at(reader, from + at, head, &kind) > 0)
                return from + at;
        }
        from += length;
    }
    return head;
}

/* ------------------------------------------------------------------------------------------------------ reading */

static bool is_full(const struct hp_ring_reader *reader, uint64_t head)
{
    return head - reader->at > reader->header.capacity - HP_STACK_MOST_BYTES - 4096;
}

/* A writer may be preempted; but it never returns if it was killed, or left by longjmp. */
static bool is_hopeless(struct hp_ring_reader *reader, uint64_t head, bool is_last)
{
    const uint64_t now = hp_clock_monotonic_ns();
    if (reader->stuck_ns == 0)
        reader->stuck_ns = now;
    return is_last || (is_full(reader, head) && now - reader->stuck_ns > PATIENCE_NS);
}

/* By us, and by the writers. */
static uint64_t lost_since(struct hp_ring_reader *reader)
{
    const uint64_t before = reader->lost, skipped = reader->skipped;
    uint64_t lost;
    reader->skipped = 0;
    if (pread(reader->fd, &lost, sizeof lost, (off_t)offsetof(struct hp_stack_ring_header, lost)) !=
            (ssize_t)sizeof lost ||
        lost < before)
        return skipped;
    reader->lost = lost;
    return lost - before + skipped;
}

static uint64_t read_head(const struct hp_ring_reader *reader)
{
    uint64_t head;
    if (pread(reader->fd, &head, sizeof head, (off_t)offsetof(struct hp_stack_ring_header, head)) !=
            (ssize_t)sizeof head ||
        head < reader->at || head - reader->at > reader->header.capacity)
        return reader->at;
    return head;
}

void hp_ring_reader_visit(struct hp_ring_reader *reader)
{
    reader->is_guest = true;
    reader->at = read_head(reader);
}

uint64_t hp_ring_reader_read(struct hp_ring_reader *reader, bool is_last, hp_ring_take *take, void *context)
{
    const uint64_t began = reader->at, head = read_head(reader);
    while (reader->at < head) {
        uint16_t kind = HP_STACK_SKIPPED;
        const uint32_t bytes = length_at(reader, reader->at, head, &kind);
        if (bytes == 0) {
            if (!is_hopeless(reader, head, is_last))
                break;
            reader->skipped++;
            reader->at = next_published(reader, head);
            continue;
        }
        reader->stuck_ns = 0;
        if (kind != HP_STACK_SKIPPED)
            take_record(reader, bytes, take, context);
        reader->at += bytes;
    }
    if (reader->at != began)
        write_word(reader, offsetof(struct hp_stack_ring_header, tail), reader->at);
    return lost_since(reader);
}

/* ------------------------------------------------------------------------------------- rings that were not made */

static struct list {
    uint32_t *pids;
    size_t count, room;
    int error; /* of the first */
} lists[HP_RING_KINDS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_known(const struct list *list, uint32_t pid)
{
    for (size_t at = 0; at < list->count; at++)
        if (list->pids[at] == pid)
            return true;
    return false;
}

static void add(struct list *list, uint32_t pid, int error)
{
    if (is_known(list, pid) || !HP_MAKE_ROOM(list->pids, list->count + 1, list->room))
        return;
    list->pids[list->count++] = pid;
    if (list->error == 0)
        list->error = error;
}

void hp_failed_ring_count(enum hp_ring_kind kind, uint32_t pid, int error)
{
    pthread_mutex_lock(&lock);
    add(&lists[kind], pid, error);
    pthread_mutex_unlock(&lock);
}

bool hp_failed_ring_take(enum hp_ring_kind kind, const char *path)
{
    char text[64];
    unsigned pid;
    int error;
    const ssize_t length = readlink(path, text, sizeof text - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    if (sscanf(text, HP_RING_FAILED "%u-%d", &pid, &error) != 2)
        return false;
    hp_failed_ring_count(kind, pid, error);
    unlink(path);
    return true;
}

struct hp_failed hp_failed_rings(void)
{
    const struct list *samples = &lists[HP_RING_OF_SAMPLES], *heap = &lists[HP_RING_OF_HEAP];
    return (struct hp_failed){.samples = (uint32_t)samples->count,
                              .heaps = (uint32_t)heap->count,
                              .error = samples->error != 0 ? samples->error : heap->error};
}

void hp_failed_rings_free(void)
{
    for (size_t kind = 0; kind < HP_RING_KINDS; kind++)
        free(lists[kind].pids);
    memset(lists, 0, sizeof lists);
}
