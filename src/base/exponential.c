/* Exponential distances. SPDX-License-Identifier: MIT */
#include "exponential.h"

#define MOST_MEAN (UINT64_C(1) << 40)
#define LOG_BITS 24u             /* bits of the fraction */
#define LN_2 UINT64_C(186065279) /* ln 2, with 28 bits of fraction */
#define SOME_STATE UINT64_C(0x9e3779b97f4a7c15)

uint64_t hp_random_next(uint64_t *state)
{
    uint64_t x = *state != 0 ? *state : SOME_STATE;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* Bit by bit: squaring a number doubles its logarithm. `mantissa` is 2^31 up to 2^32, meaning 1 up to 2. */
static uint64_t fraction_of_log(uint64_t mantissa)
{
    uint64_t fraction = 0;
    for (unsigned bit = 0; bit < LOG_BITS; bit++) {
        mantissa = mantissa * mantissa >> 31;
        fraction <<= 1;
        if (mantissa >> 32 != 0) {
            mantissa >>= 1;
            fraction |= 1;
        }
    }
    return fraction;
}

/*
 * -ln(random / 2^64) = -log2(random / 2^64) * ln 2; the integer part of the logarithm is the position of the
 * highest bit.
 */
uint64_t hp_exponential_distance(uint64_t random, uint64_t mean)
{
    const uint64_t some = random | 1; /* 0 has no logarithm */
    const unsigned zeros = (unsigned)__builtin_clzll(some);
    const uint64_t mantissa = some << zeros >> 32;
    const uint64_t log = ((uint64_t)(zeros + 1) << LOG_BITS) - fraction_of_log(mantissa);
    const uint64_t natural = log * LN_2 >> 28; /* with LOG_BITS of fraction; at most 44: 30 bits */
    const uint64_t used = mean < MOST_MEAN ? mean : MOST_MEAN;
    const uint64_t whole = (used >> LOG_BITS) * natural;
    const uint64_t rest = (used & ((UINT64_C(1) << LOG_BITS) - 1)) * natural >> LOG_BITS;
    return whole + rest + 1;
}
