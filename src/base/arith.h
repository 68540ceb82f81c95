/* Arithmetic that many need, of numbers without a sign. SPDX-License-Identifier: MIT */
#ifndef HP_BASE_ARITH_H
#define HP_BASE_ARITH_H

#include <stdint.h>

/* The difference, or 0 where it would be below. */
static inline uint64_t hp_less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* That part of a number, from 0 to 1, rounded down; above 1, or where it is no number, all of it. */
static inline uint64_t hp_reduced(uint64_t number, double part)
{
    const double found = (double)number * part;
    return found >= 0 && found < (double)number ? (uint64_t)found : found < 0 ? 0 : number;
}

/* Below, at or above zero, as hp_sort wants it: the smaller one comes first. */
static inline int hp_by_number(uint64_t x, uint64_t y) { return x == y ? 0 : x < y ? -1 : 1; }

/* The square root, without the library of mathematics: each step doubles the digits that are right. */
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
