/*
 * The reader's side of a ring of stacks (stack_ring.h). The file is read and written by offset, never mapped: somebody could cut it off
 * meanwhile. Nothing in it is believed.
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
#ifndef HP_STACKS_RING_READER_H
#define HP_STACKS_RING_READER_H

#include "stack_ring.h"

struct hp_ring_reader {
    int fd;
    struct hp_stack_ring_header header; /* as it was when it was opened */
    uint64_t at;                        /* everything before it was read */
    uint64_t lost;                      /* of the writers, as it was told already */
    uint64_t skipped;                   /* records that were lost here, and not told yet */
    uint64_t stuck_ns;     /* since when the next record is not published; 0: it is, or there is none */
    unsigned char *buffer; /* one record */
    size_t room;
};

/* A record that is sound: its parts are all there. They lie in the reader's memory until the next one is read. */
struct hp_ring_record {
    const struct hp_stack_record *head;
    const uint64_t *words;
    const uint64_t *registers; /* those that are known, one after the other */
    const void *stack;
};

typedef void hp_ring_take(void *context, const struct hp_ring_record *record);

/* False: it is no ring, or not ready yet (errno EAGAIN). */
bool hp_ring_reader_open(struct hp_ring_reader *reader, const char *path);

/*
 * Takes all that was published, and gives its room back. A record that is not published is waited for; `is_last`, or when it holds up a
 * full ring for a second, it is skipped and counted as lost. Returns how many were lost since it was last asked.
 */
uint64_t hp_ring_reader_read(struct hp_ring_reader *reader, bool is_last, hp_ring_take *take, void *context);

/* Tells the writers that they had better not. */
void hp_ring_reader_tell(struct hp_ring_reader *reader, enum hp_stack_ring_end end);

void hp_ring_reader_close(struct hp_ring_reader *reader);

#endif
