/*
 * Parses numbers and flags, independent of the locale. The text is `length` bytes long, needs no final zero and
 * must be the value as a whole: no blanks, no signs, nothing after it. Every function returns false if it is not,
 * or if the value is too large, and writes its result on success only.
 *
 * May be used in a signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_NUMBER_H
#define HP_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits: "15". */
bool hp_number_unsigned(const char *text, size_t length, uint64_t most, uint64_t *ret_number);

/* A size: digits and a unit of any case, in powers of 1024: "4096", "64MB", "512K", "1GiB". */
bool hp_number_bytes(const char *text, size_t length, uint64_t most, uint64_t *ret_bytes);

/* Digits with an optional fraction: "95", "99.9", ".5". Up to 15 digits count; the result is the nearest double. */
bool hp_number_decimal(const char *text, size_t length, double *ret_number);

/* 1, true, yes, on or 0, false, no, off, in any case. */
bool hp_number_flag(const char *text, size_t length, bool *ret_flag);

#endif
