/*
 * Access to the bytes of a session, for code that reads its records (snapshot.h).
 *
 * Order. The writer fills a record with plain or relaxed stores and then links its offset with a release store. All
 * links are 32 bits wide, so every 32-bit word is loaded with acquire here and pairs with that store: a reader that
 * sees the link sees the record. The 64-bit counters are raised by a single writer and are loaded relaxed.
 *
 * Bounds. One function, hp_snapshot_is_within, decides whether a record lies inside the bytes and is aligned; every
 * load comes after it. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_SNAPSHOT_BYTES_H
#define HP_FORMAT_SNAPSHOT_BYTES_H

#include <string.h>

#include "snapshot.h"

static inline bool hp_snapshot_is_within(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes,
                                         size_t alignment)
{
    return offset >= HP_HEADER_BYTES && offset <= snapshot->size && bytes <= snapshot->size - offset &&
           offset % alignment == 0;
}

static inline bool hp_snapshot_has(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes,
                                   size_t alignment)
{
    return hp_snapshot_is_within(snapshot, offset, bytes, alignment) &&
           (snapshot->fetch == NULL || snapshot->fetch(snapshot->fetch_context, offset, bytes));
}

/* The bytes of numbers; the caller has made sure that they are loaded. */
static inline const unsigned char *hp_snapshot_number_bytes(const struct hp_snapshot *snapshot)
{
    return snapshot->numbers != NULL ? snapshot->numbers : snapshot->bytes;
}

/* Whether there is a record of numbers. */
static inline bool hp_snapshot_has_record(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes)
{
    return snapshot->numbers != NULL ? hp_snapshot_is_within(snapshot, offset, bytes, 8)
                                     : hp_snapshot_has(snapshot, offset, bytes, 8);
}

/* That record, or NULL. */
static inline const unsigned char *hp_snapshot_numbers_at(const struct hp_snapshot *snapshot, uint64_t offset,
                                                          size_t bytes)
{
    return hp_snapshot_has_record(snapshot, offset, bytes) ? hp_snapshot_number_bytes(snapshot) + offset : NULL;
}

/* Whether there is a record followed by this many bytes, which may be more than a size_t can hold. */
static inline bool hp_snapshot_has_many(const struct hp_snapshot *snapshot, uint64_t offset, size_t record,
                                        uint64_t bytes)
{
    return bytes <= snapshot->size && hp_snapshot_has_record(snapshot, offset, record + (size_t)bytes);
}

static inline uint32_t hp_load32(const unsigned char *at)
{
    return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static inline uint64_t hp_load64(const unsigned char *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
}

/* Copies a record of 32-bit words, except for the 64-bit words marked by `wide` (one bit per 8 bytes). */
static inline void hp_copy_words(void *to, const unsigned char *from, size_t bytes, uint64_t wide)
{
    unsigned char *out = to;
    for (size_t at = 0; at < bytes; at += 8) {
        if (wide >> (at / 8 % 64) & 1) {
            const uint64_t word = hp_load64(from + at);
            memcpy(out + at, &word, 8);
            continue;
        }
        const uint32_t low = hp_load32(from + at), high = hp_load32(from + at + 4);
        memcpy(out + at, &low, 4);
        memcpy(out + at + 4, &high, 4);
    }
}

#define HP_BIT_OF(type, field) (UINT64_C(1) << offsetof(type, field) / 8)

static inline uint32_t hp_snapshot_field32(const struct hp_snapshot *snapshot, uint32_t record, size_t field)
{
    return hp_load32(hp_snapshot_number_bytes(snapshot) + record + field);
}

/* The next frame of a stack, open or closed. */
bool hp_snapshot_next_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                            struct hp_walk *walk, struct hotpath_frame_ *ret_frame);

/* Adds the octaves of a histogram to `lines`. */
void hp_snapshot_add_octaves(const struct hp_snapshot *snapshot, const uint32_t octaves[HOTPATH_OCTAVES_],
                             hp_duration_line lines[HP_DURATION_LINES]);

#endif
