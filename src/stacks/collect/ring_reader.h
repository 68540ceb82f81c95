/*
 * The reader of a stack ring (stack_ring.h). The file is read and written by offset, never mapped: another process
 * could truncate it. Its contents are not trusted.
 *
 *     struct hp_ring_reader reader;
 *     if (hp_ring_reader_open(&reader, path)) {
 *         hp_ring_reader_read(&reader, false, take, context);      now and then
 *         hp_ring_reader_read(&reader, true, take, context);       when its process has ended
 *         hp_ring_reader_close(&reader);
 *     }
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_RING_READER_H
#define HP_COLLECT_RING_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "function_profile.h"
#include "stack_ring.h"

struct hp_ring_reader {
    int fd;
    struct hp_stack_ring_header header; /* as read when it was opened */
    uint64_t at;                        /* everything before it was read */
    uint64_t lost;                      /* by the writers, as already reported */
    uint64_t skipped;                   /* records lost here, not reported yet */
    uint64_t stuck_ns;     /* time since the next record is not published; 0: it is, or there is none */
    bool is_guest;         /* the ring has another reader: nothing is written */
    unsigned char *buffer; /* one record */
    size_t room;
};

/* A checked record: all its parts are complete. They are in the reader's memory until the next one is read. */
struct hp_ring_record {
    const struct hp_stack_record *head;
    const uint64_t *words;
    const uint64_t *registers; /* the known ones, one after the other */
    const void *stack;
};

typedef void hp_ring_take(void *context, const struct hp_ring_record *record);

/* False: not a ring, or not ready yet (errno EAGAIN). */
bool hp_ring_reader_open(struct hp_ring_reader *reader, const char *path);

/* Leaves the ring to its other reader: sees what is written from now on, unless that is overwritten before. */
void hp_ring_reader_visit(struct hp_ring_reader *reader);

/*
 * Takes all published records, and returns their space. It waits for an unpublished record; if `is_last`, or if
 * that blocks a full ring for a second, it is skipped and counted as lost. Returns how many were lost since the
 * last call.
 */
uint64_t hp_ring_reader_read(struct hp_ring_reader *reader, bool is_last, hp_ring_take *take, void *context);

/* Tells the writers to stop. */
void hp_ring_reader_tell(struct hp_ring_reader *reader, enum hp_stack_ring_end end);

void hp_ring_reader_close(struct hp_ring_reader *reader);

/* ------------------------------------------------------------------------------------- rings that were not made */

/*
 * Processes that could not make a ring leave a link in its place, which names the process and the
 * reason. Threads that look for rings find it, one kind per thread.
 */

enum hp_ring_kind { HP_RING_OF_SAMPLES, HP_RING_OF_HEAP, HP_RING_KINDS };

/* True: it was such a link. Its process is counted, once per kind, and the link is removed. */
bool hp_failed_ring_take(enum hp_ring_kind kind, const char *path);

/* The same for a process that could not even leave a link. From any thread. */
void hp_failed_ring_count(enum hp_ring_kind kind, uint32_t pid, int error);

/* All of them. Call it when no thread looks for rings any more. */
struct hp_failed hp_failed_rings(void);
void hp_failed_rings_free(void);

#endif
