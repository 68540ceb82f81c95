/*
 * Exponential distances in integer arithmetic: the caller may be in a program whose floating-point state must not
 * be touched. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_EXPONENTIAL_H
#define HP_BASE_EXPONENTIAL_H

#include <stdint.h>

/* The next random number of a sequence (xorshift64*). The state may be any number except 0, which is replaced. */
uint64_t hp_random_next(uint64_t *state);

/*
 * The distance to the next point of a Poisson process with mean distance `mean`: exponentially distributed, rounded
 * up, so at least 1. `random` is uniform in 64 bits. A `mean` above 2^40 counts as 2^40.
 */
uint64_t hp_exponential_distance(uint64_t random, uint64_t mean);

#endif
