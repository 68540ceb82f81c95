/*
 * A file beside the session that hooks write (side_layout.h): how it is made, mapped and filled. Nothing here takes
 * a lock, allocates from the heap or waits.
 *
 *     static struct hp_side_kind kind = {...};                  once, also for forked children
 *     if (hp_side_prepare(&kind, "HOTPATH_LOCKS", bytes)) ...   at process start: whether it is wanted
 *     if (hp_side_on(&file) || hp_side_begin(&file, &kind)) ... the first call makes it
 *     number = hp_side_claim(&file, TABLE);                     a new item, whose memory is zero
 *
 * The struct is in memory that the kernel wipes in a forked child, where the first call makes a new file.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_SIDE_FILE_H
#define HP_PRELOAD_SIDE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "runtime.h"
#include "side_layout.h"

enum hp_side_state { HP_SIDE_NONE, HP_SIDE_IN_THE_MAKING, HP_SIDE_ON, HP_SIDE_REFUSED };

struct hp_side_file {
    uint32_t state; /* enum hp_side_state; atomic */
    uint32_t pid;   /* whose it is; 0: nobody's yet */
    char *base;
    enum hp_counter counter;
    const struct hp_side_kind *kind;
    uint32_t backed[HP_SIDE_MOST_TABLES]; /* atomic: items that have memory */
};

struct hp_side_table {
    uint32_t at, bytes, most;
};

struct hp_side_kind {
    const char *suffix, *magic;
    uint32_t version, bytes;
    uint32_t table_count;
    struct hp_side_table tables[HP_SIDE_MOST_TABLES];
    bool (*fill)(struct hp_side_file *file); /* the first items; false: it is not used */
    uint32_t flag;                           /* of the header */
    bool is_for_sessions;                    /* also without a run: then the file is beside the session */
    char *mapped;                            /* the file that is mapped; in a forked child the parent's */
};
#define HP_SIDE_COMMON_TABLES                                                                                      \
    [HP_SIDE_SITES] = {HP_SIDE_SITES_AT, sizeof(struct hp_call_site), HP_SIDE_MOST_SITES},                         \
    [HP_SIDE_IMAGES] = {HP_SIDE_IMAGES_AT, sizeof(struct hp_call_image), HP_SIDE_MOST_IMAGES}

/*
 * At process start: whether this is a run that wants such files, by a variable that is "1", and they can be made.
 * `memory`: what the caller needs besides. Without a run they are made when there is a session.
 */
bool hp_side_prepare(const struct hp_side_kind *kind, const char *variable, size_t memory);
bool hp_side_is_set(const char *variable);

/* Makes the file. One thread does; false for others meanwhile, or if it is not possible. */
bool hp_side_begin(struct hp_side_file *file, struct hp_side_kind *kind);

static inline bool hp_side_on(const struct hp_side_file *file)
{
    return __builtin_expect(__atomic_load_n(&file->state, __ATOMIC_ACQUIRE) == HP_SIDE_ON, 1);
}

static inline struct hp_side_header *hp_side_header(const struct hp_side_file *file)
{
    return (struct hp_side_header *)(void *)file->base;
}

static inline void *hp_side_item(const struct hp_side_file *file, uint32_t table, uint32_t number)
{
    const struct hp_side_table *its = &file->kind->tables[table];
    return file->base + its->at + (size_t)number * its->bytes;
}

#define HP_SIDE_NO_ITEM UINT32_MAX
/* HP_SIDE_NO_ITEM: no room. */
uint32_t hp_side_claim(struct hp_side_file *file, uint32_t table);
void hp_side_lose(const struct hp_side_file *file, uint32_t loss);

/* So that ticks are converted by the whole time of the process. */
void hp_side_note_time(const struct hp_side_file *file);
/* The same at its end. */
void hp_side_note_end(const struct hp_side_file *file);

static inline uint64_t hp_side_now(const struct hp_side_file *file)
{
    if (__builtin_expect(hp_runtime->is_blinded, 0))
        return 0; /* some thread must not read the counter, perhaps this one */
    return __builtin_expect(file->counter != HP_COUNTER_NONE, 1) ? hotpath_ticks_() : hp_clock_monotonic_ns();
}

/* ------------------------------------------------------------------------------------------------------ indexes */

typedef bool hp_side_is_item(uint32_t number, const void *wanted);
/*
 * An index is a table of numbers, found by a hash and searched from there. Numbers are only added. Two threads
 * that add the same item at once: the second takes that of the first, and its own stays unused.
 *
 * The number of an item, from 1; 0: it is not in the index. Then `ret_free` is where to put it; NULL: no room.
 * Inline: takes less stack.
 */
static inline __attribute__((always_inline)) uint32_t hp_side_find(uint32_t *index, uint32_t size, uint64_t hash,
                                                                   hp_side_is_item *is_item, const void *wanted,
                                                                   uint32_t **ret_free)
{
    *ret_free = NULL;
    for (uint32_t step = 0; step < 32; step++) {
        uint32_t *at = &index[(hash + step) % size];
        const uint32_t number = __atomic_load_n(at, __ATOMIC_ACQUIRE);
        if (number == 0) {
            *ret_free = at;
            return 0;
        }
        if (is_item(number, wanted))
            return number;
    }
    return 0;
}

static inline uint64_t hp_side_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t hash = a * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ b) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 32 ^ c) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

/* Atomic maximum. */
void hp_side_raise(uint64_t *highest, uint64_t value);

#endif
