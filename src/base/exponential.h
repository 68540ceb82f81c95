/*
 * Exponential distances, by whole numbers alone: whoever asks may be in a program whose floating point is not to be touched.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_EXPONENTIAL_H
#define HP_BASE_EXPONENTIAL_H

#include <stdint.h>

/* The next of a row of random numbers (xorshift64*). The state is any number but 0, which is made one. */
uint64_t hp_random_next(uint64_t *state);

/*
 * How far it is to the next point where points lie `mean` apart on average, and wherever one stands: exponentially distributed, rounded up,
 * so at least 1. `random` is uniform in 64 bits. A `mean` above 2^40 is taken for that.
 */
uint64_t hp_exponential_distance(uint64_t random, uint64_t mean);

#endif
