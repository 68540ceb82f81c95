/* Decides which allocations are sampled. SPDX-License-Identifier: MIT */
#include "heap_sampler.h"

#include <stdbool.h>

/* ---------------------------------------------------------------------------------------- exponential distances */

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

/* --------------------------------------------------------------------------------------------------------- pace */

#define PER_LOOK 64u /* check the rate after this many samples */
#define LOOK_NS (PER_LOOK * UINT64_C(1000000000) / HP_HEAP_MOST_PER_SECOND)
#define REST_NS UINT64_C(100000000)
#define MOST_CREDIT_NS INT64_C(1000000000)
#define MOST_STEP 64u         /* largest factor by which the mean grows at once */
#define LEAST_MEANS_A_LOOK 4u /* bytes between checks for a new mean, in units of the least mean */

void hp_heap_pace_begin(struct hp_heap_pace *pace, uint64_t mean, uint64_t now_ns)
{
    pace->least_mean = mean;
    pace->mean = mean;
    pace->since_ns = now_ns;
    pace->latest_ns = now_ns;
    pace->credit_ns = MOST_CREDIT_NS;
    pace->count = 0;
    pace->crowding = 0;
}

static uint64_t most_mean(const struct hp_heap_pace *pace) { return HP_HEAP_MOST_GROWTH * pace->least_mean; }

static void set_mean(struct hp_heap_pace *pace, uint64_t mean)
{
    const uint64_t most = most_mean(pace), at_least = mean > pace->least_mean ? mean : pace->least_mean;
    __atomic_store_n(&pace->mean, at_least < most ? at_least : most, __ATOMIC_RELAXED);
}

/* Scales the mean so that the same number of samples would take LOOK_NS. */
static uint64_t larger(uint64_t mean, uint64_t elapsed_ns)
{
    const uint64_t ratio = LOOK_NS / (elapsed_ns + 1) + 1;
    return mean * (ratio < MOST_STEP ? ratio : MOST_STEP);
}

static int64_t credit_after(struct hp_heap_pace *pace, uint64_t elapsed_ns)
{
    const int64_t elapsed = elapsed_ns < (uint64_t)MOST_CREDIT_NS ? (int64_t)elapsed_ns : MOST_CREDIT_NS;
    int64_t credit = __atomic_load_n(&pace->credit_ns, __ATOMIC_RELAXED) + elapsed - (int64_t)LOOK_NS;
    if (credit > MOST_CREDIT_NS)
        credit = MOST_CREDIT_NS;
    if (credit < 0)
        credit = 0;
    __atomic_store_n(&pace->credit_ns, credit, __ATOMIC_RELAXED);
    return credit;
}

/*
 * Checks whether the last samples came too fast. If two threads check at once, one gets the right interval and the
 * other's error lasts until its next check.
 */
static void look(struct hp_heap_pace *pace, uint32_t live, uint64_t now_ns)
{
    const uint64_t elapsed = now_ns - __atomic_exchange_n(&pace->since_ns, now_ns, __ATOMIC_RELAXED);
    const uint64_t mean = __atomic_load_n(&pace->mean, __ATOMIC_RELAXED);
    const int64_t credit = credit_after(pace, elapsed);
    if (elapsed < LOOK_NS && credit == 0)
        set_mean(pace, larger(mean, elapsed));
    else if (live > HP_HEAP_MOST_LIVE)
        set_mean(pace, 2 * mean);
    else if (elapsed > 2 * LOOK_NS && live < HP_HEAP_MOST_LIVE / 4)
        set_mean(pace, mean / 2);
}

/*
 * Depends only on how full the ring is now, so samples after a moment in which the reader had no CPU are as exact
 * as before. (Doubling the mean with each sample meanwhile would leave a large mean behind, and few samples that
 * stand for much.)
 */
static uint32_t crowding_of(uint64_t used, uint64_t room)
{
    const uint64_t eighths = room > 0 ? 8 * used / room : 0;
    return eighths < 4 ? 0 : eighths == 4 ? 2 : eighths == 5 ? 4 : eighths == 6 ? 16 : HP_HEAP_MOST_GROWTH;
}

uint64_t hp_heap_pace_mean(const struct hp_heap_pace *pace)
{
    const uint64_t mean = __atomic_load_n(&pace->mean, __ATOMIC_RELAXED);
    const uint64_t crowded = __atomic_load_n(&pace->crowding, __ATOMIC_RELAXED) * pace->least_mean;
    return mean > crowded ? mean : crowded;
}

void hp_heap_pace_crowd(struct hp_heap_pace *pace, uint64_t used, uint64_t room)
{
    __atomic_store_n(&pace->crowding, crowding_of(used, room), __ATOMIC_RELAXED);
}

void hp_heap_pace_count(struct hp_heap_pace *pace, uint32_t live, uint64_t now_ns)
{
    const uint64_t gap = now_ns - __atomic_exchange_n(&pace->latest_ns, now_ns, __ATOMIC_RELAXED);
    const uint32_t count = __atomic_add_fetch(&pace->count, 1, __ATOMIC_RELAXED);
    if (gap > REST_NS && live < HP_HEAP_MOST_LIVE / 4)
        set_mean(pace, pace->least_mean); /* the burst is over */
    if (count % PER_LOOK == 0)
        look(pace, live, now_ns);
}

void hp_heap_countdown_next(struct hp_heap_countdown *countdown, const struct hp_heap_pace *pace, uint64_t bytes)
{
    countdown->mean = hp_heap_pace_mean(pace);
    countdown->sample_at = bytes + hp_exponential_distance(hp_random_next(&countdown->random), countdown->mean);
    const uint64_t look_at = bytes + LEAST_MEANS_A_LOOK * pace->least_mean;
    const bool is_look = countdown->mean > pace->least_mean && look_at < countdown->sample_at;
    countdown->due_at = is_look ? look_at : countdown->sample_at;
}

void hp_heap_countdown_begin(struct hp_heap_countdown *countdown, const struct hp_heap_pace *pace, uint64_t seed,
                             uint64_t bytes)
{
    countdown->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    hp_random_next(&countdown->random);
    hp_heap_countdown_next(countdown, pace, bytes);
}
