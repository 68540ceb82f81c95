/* Arithmetic on unsigned numbers. SPDX-License-Identifier: MIT */
#ifndef HP_BASE_ARITH_H
#define HP_BASE_ARITH_H

#include <stdint.h>

/* Saturating difference: 0 instead of a negative result. */
static inline uint64_t hp_less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* A sum that wraps while numbers are added and subtracted: 0 if it is below 0. */
static inline uint64_t hp_not_negative(uint64_t sum) { return (int64_t)sum < 0 ? 0 : sum; }

/* `part` (0 to 1) of a number, rounded down; all of it if `part` is above 1 or NaN. */
static inline uint64_t hp_reduced(uint64_t number, double part)
{
    const double found = (double)number * part;
    return found >= 0 && found < (double)number ? (uint64_t)found : found < 0 ? 0 : number;
}

/* For hp_sort: negative, zero or positive; smaller numbers first. */
static inline int hp_by_number(uint64_t x, uint64_t y) { return x == y ? 0 : x < y ? -1 : 1; }

/* The finaliser of splitmix64: each bit of the number changes half of those of the result. */
static inline uint64_t hp_mixed(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

/* Square root without libm: each step doubles the number of correct digits. */
static inline double hp_root(double number)
{
    double root = number > 1 ? number : 1;
    for (int step = 0; number > 0 && step < 2000; step++) {
        const double next = (root + number / root) / 2;
        if (next >= root)
            break;
        root = next;
    }
    return number > 0 ? root : 0;
}

#endif
