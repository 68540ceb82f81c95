/*
 * What the files beside a session have in common: those of locks (lock_layout.h) and of I/O (io_layout.h). Each is
 * "PID-NANOSECONDS" and a suffix, in the folder of the run: a header, and tables of fixed capacity, filled from the
 * front. The header has how many items are in use. The file is as long as all of them together, but takes space
 * only as far as they are used. An item that is still being filled in has a key of 0. Written by hooks
 * (src/preload), also while others read it; readers trust nothing.
 *
 * The first two tables are the same in all of them: places in the code, and what names these.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_SIDE_LAYOUT_H
#define HP_FORMAT_SIDE_LAYOUT_H

#include <stdint.h>

#define HP_SIDE_MOST_TABLES 6u
#define HP_SIDE_MOST_LOSSES 4u
#define HP_SIDE_MOST_NUMBERS 8u

struct hp_side_header {
    char magic[8];
    uint32_t byte_order; /* as in sessions */
    uint32_t version;
    uint32_t pid;
    uint32_t flag; /* of its kind */
    uint64_t process_start;
    uint64_t first_ticks, first_ns; /* one moment, by the counter and by CLOCK_MONOTONIC */
    uint64_t latest_ticks, latest_ns;
    uint64_t ticks_per_ms;    /* as the recorder knows it; 0: not yet */
    uint32_t latest_sequence; /* odd while these are written */
    uint32_t counts[HP_SIDE_MOST_TABLES];
    uint64_t losses[HP_SIDE_MOST_LOSSES];   /* what had no room; of its kind */
    uint64_t numbers[HP_SIDE_MOST_NUMBERS]; /* of its kind */
};
#define HP_SIDE_HEADER_BYTES 4096u

/* A place in the code, with up to two callers. */
#define HP_CALL_FRAMES 3u
struct hp_call_site {
    uint64_t pc[HP_CALL_FRAMES]; /* return addresses, the innermost first; 0: unknown */
    uint64_t unused;
};

/* A part of a program or library that is mapped as code: names sites. */
struct hp_call_image {
    uint64_t start, end, offset; /* of the mapping; the offset is that in the file */
    uint64_t inode;
    char path[288]; /* with a final zero */
};

enum hp_side_table_number { HP_SIDE_SITES, HP_SIDE_IMAGES, HP_SIDE_FIRST_OWN };

#define HP_SIDE_MOST_SITES 4096u
#define HP_SIDE_MOST_IMAGES 256u
#define HP_SIDE_SITES_AT HP_SIDE_HEADER_BYTES
#define HP_SIDE_IMAGES_AT (HP_SIDE_SITES_AT + HP_SIDE_MOST_SITES * 32u)
#define HP_SIDE_OWN_AT (HP_SIDE_IMAGES_AT + HP_SIDE_MOST_IMAGES * 320u)

_Static_assert(sizeof(struct hp_side_header) <= HP_SIDE_HEADER_BYTES && sizeof(struct hp_call_site) == 32 &&
                   sizeof(struct hp_call_image) == 320,
               "part of the file");

/*
 * Histograms with 2^bits steps per octave: a value below that is its own step, and step 2^bits * n + s has the
 * values [2^n * (1 + s / 2^bits), 2^n * (1 + (s + 1) / 2^bits)). What is beyond the last octave is in the last
 * step.
 */
__attribute__((unused)) static inline uint32_t hp_step_of(uint64_t value, uint32_t bits, uint32_t octaves)
{
    if (__builtin_expect(value >> bits == 0, 0))
        return (uint32_t)value;
    const uint32_t octave = 63 ^ (uint32_t)__builtin_clzll(value); /* of that form it is one instruction */
    const uint32_t step = (uint32_t)(value >> (octave - bits)) & ((1u << bits) - 1);
    return __builtin_expect(octave < octaves, 1) ? (octave << bits) + step : (octaves << bits) - 1;
}

/* Where a step begins. */
__attribute__((unused)) static inline double hp_step_from(uint32_t step, uint32_t bits)
{
    const uint32_t octave = step >> bits, part = step & ((1u << bits) - 1);
    return octave == 0 ? (double)step : (double)(UINT64_C(1) << octave) * (1 + (double)part / (double)(1u << bits));
}

/* Its middle. */
__attribute__((unused)) static inline double hp_step_middle(uint32_t step, uint32_t bits)
{
    const uint32_t octave = step >> bits;
    return octave == 0 ? (double)step
                       : hp_step_from(step, bits) + (double)(UINT64_C(1) << octave) / (double)(2u << bits);
}

#endif
