/*
 * Decides which allocations are sampled. The bytes that a thread allocates form a line, with points on it at
 * exponential distances: a block with a point on it is sampled. So a block of s bytes is sampled with probability 1
 * - exp(-s / mean), independent of what was allocated before, and stands for the inverse of that many blocks.
 *
 * Programs that allocate fast get a larger mean. Only past samples decide this, and each sample records its own
 * mean, so sums stay unbiased. While the mean is larger than requested, the thread checks after some bytes whether
 * it still has to be, and draws the next point again: exponential distances have no memory, so this adds no bias.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_HEAP_SAMPLER_H
#define HP_ALLOC_HEAP_SAMPLER_H

#include <stdint.h>

/* Largest growth of the mean: with more it would take too long to notice the end of a burst. */
#define HP_HEAP_MOST_GROWTH 256u
#define HP_HEAP_MOST_PER_SECOND 1000u /* samples of a process; as many at once at first, or after a rest */
#define HP_HEAP_MOST_LIVE 16384u      /* limit on live sampled blocks; beyond it the rate drops */

/* Per process: the distance between samples. Any thread. */
struct hp_heap_pace {
    uint64_t least_mean; /* as requested */
    uint64_t mean;
    uint64_t since_ns;  /* time of the last check */
    uint64_t latest_ns; /* time of the latest sample */
    int64_t credit_ns;  /* unused time budget for samples */
    uint32_t count;     /* number of samples */
    uint32_t crowding;  /* factor on the least mean while the reader is too slow; 0: it keeps up */
};

/* Per thread. */
struct hp_heap_countdown {
    uint64_t due_at;    /* when this many bytes are allocated, take a sample or check for a new mean */
    uint64_t sample_at; /* byte position of the next sample */
    uint64_t mean;      /* mean with which it was drawn */
    uint64_t random;
};

void hp_heap_pace_begin(struct hp_heap_pace *pace, uint64_t mean, uint64_t now_ns);

/* Counts one more sample, with `live` sampled blocks alive. Sets the mean for the next ones. */
void hp_heap_pace_count(struct hp_heap_pace *pace, uint32_t live, uint64_t now_ns);

/* `used` of the ring's `room` is filled with samples not read yet. Sets the mean for the next ones. */
void hp_heap_pace_crowd(struct hp_heap_pace *pace, uint64_t used, uint64_t room);

/* The current mean. */
uint64_t hp_heap_pace_mean(const struct hp_heap_pace *pace);

/* For a thread that has allocated `bytes`. `seed` differs per thread. */
void hp_heap_countdown_begin(struct hp_heap_countdown *countdown, const struct hp_heap_pace *pace, uint64_t seed,
                             uint64_t bytes);

/* Draws the next sample, after a sample or a check for a new mean. `bytes`: all allocated so far. */
void hp_heap_countdown_next(struct hp_heap_countdown *countdown, const struct hp_heap_pace *pace, uint64_t bytes);

/* ---------------------------------------------------------------------------------------- exponential distances */

/* In integer arithmetic: the program's floating-point state must not be touched. */

/* The next random number of a sequence (xorshift64*). The state may be any number except 0, which is replaced. */
uint64_t hp_random_next(uint64_t *state);

/*
 * The distance to the next point of a Poisson process with mean distance `mean`: exponentially distributed, rounded
 * up, so at least 1. `random` is uniform in 64 bits. A `mean` above 2^40 counts as 2^40.
 */
uint64_t hp_exponential_distance(uint64_t random, uint64_t mean);

#endif
