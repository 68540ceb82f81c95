/*
 * Which allocations are sampled. The bytes that a thread allocates are a line, on which points lie at exponential distances: a block that has
 * a point on it is a sample. So a block of s bytes is one with probability 1 - exp(-s / mean), whatever was allocated before it, and stands
 * for the inverse of that number of blocks.
 *
 * Programs that allocate quickly get a larger mean, which is decided by samples that are past: those that follow say which one was
 * theirs, so sums stay unbiased. Where the mean is larger than the one that was asked for, it is looked again after some bytes whether it still has
 * to be, and the next point is drawn anew: exponential distances have no memory, so that biases nothing. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_HEAP_SAMPLER_H
#define HP_RECORD_HEAP_SAMPLER_H

#include <stdint.h>

#define HP_HEAP_USUAL_MEAN (UINT64_C(512) << 10)
#define HP_HEAP_MOST_GROWTH                                                                                        \
    256u /* of the mean: with more, it would take too long until it is noticed that haste is over */
#define HP_HEAP_MOST_PER_SECOND                                                                                    \
    1000u                        /* samples of a process, but for as many that are free at first, or after a rest */
#define HP_HEAP_MOST_LIVE 16384u /* sampled blocks; beyond that there are fewer samples */

/* Of a process: how far apart samples are. Any thread. */
struct hp_heap_pace {
    uint64_t least_mean; /* as it was asked for */
    uint64_t mean;
    uint64_t since_ns;  /* it was looked last */
    uint64_t latest_ns; /* the latest sample was */
    int64_t credit_ns;  /* time for which no sample was taken that could have been */
    uint32_t count;     /* of samples */
    uint32_t
        crowding; /* how many times the least mean it takes, as long as samples are not taken away quickly enough; 0: they are */
};

/* Of a thread. */
struct hp_heap_countdown {
    uint64_t
        due_at; /* when it has allocated that many bytes, there is a sample to take or a new mean to look for */
    uint64_t sample_at; /* there is a sample */
    uint64_t mean;      /* by which that was drawn */
    uint64_t random;
};

void hp_heap_pace_begin(struct hp_heap_pace *pace, uint64_t mean, uint64_t now_ns);

/* One sample more; so many sampled blocks live. Sets the mean for those that follow. */
void hp_heap_pace_count(struct hp_heap_pace *pace, uint32_t live, uint64_t now_ns);

/* So much of the room is used for samples that nobody has taken away yet. Sets the mean for those that follow. */
void hp_heap_pace_crowd(struct hp_heap_pace *pace, uint64_t used, uint64_t room);

/* As it is now. */
uint64_t hp_heap_pace_mean(const struct hp_heap_pace *pace);

/* A thread that has allocated `bytes`. `seed` is different for each. */
void hp_heap_countdown_begin(struct hp_heap_countdown *countdown, const struct hp_heap_pace *pace, uint64_t seed,
                             uint64_t bytes);

/* After a sample, or a look for a new mean: the next sample. `bytes` are all that was allocated so far. */
void hp_heap_countdown_next(struct hp_heap_countdown *countdown, const struct hp_heap_pace *pace, uint64_t bytes);

#endif
