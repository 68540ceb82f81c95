/*
 * Numbers as people write them: with units (1.23 µs, 1.0 KB, 75.42%, 2.10 GHz), and parsed.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_UNITS_H
#define HP_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

void hp_units_ns(struct hp_text *text, double ns);               /* two decimals: "1.23 µs" */
void hp_units_bytes(struct hp_text *text, uint64_t bytes);       /* one decimal, powers of 1024: "1.0 KB", "12 B" */
void hp_units_signed_bytes(struct hp_text *text, int64_t bytes); /* the same, with a minus if negative */
void hp_units_percent(struct hp_text *text, double percent);     /* "75.42%" */
void hp_units_about(struct hp_text *text, uint64_t count);       /* an estimate, two digits: "about 15 k" */
void hp_units_hz(struct hp_text *text, double hz);               /* "2.10 GHz" */

/* The same as a value, for hp_text_format: hp_text_format(&text, "took %s", hp_ns_text(ns).bytes). */
struct hp_unit_text {
    char bytes[32];
};
struct hp_unit_text hp_ns_text(double ns);
struct hp_unit_text hp_bytes_text(uint64_t bytes);
struct hp_unit_text hp_signed_bytes_text(int64_t bytes);
struct hp_unit_text hp_percent_text(double percent);
struct hp_unit_text hp_about_text(uint64_t count);

/* A time as RFC 3339 in UTC with milliseconds: "2026-10-02T08:15:30.123Z". */
void hp_units_timestamp(struct hp_text *text, uint64_t unix_ns);

/* The nearest integer; negative numbers and NaN give 0, too large ones UINT64_MAX. */
uint64_t hp_units_round(double number);

/* ------------------------------------------------------------------------------------------------------ parsing */

/*
 * Parses numbers and flags, independent of the locale. The text is `length` bytes long, needs no final zero and
 * must be the value as a whole: no blanks, no signs, nothing after it. Every function returns false if it is not,
 * or if the value is too large, and writes its result on success only. May be used in a signal handler.
 */

/* Decimal digits: "15". */
bool hp_number_unsigned(const char *text, size_t length, uint64_t most, uint64_t *ret_number);

/* A size: digits and a unit of any case, in powers of 1024: "4096", "64MB", "512K", "1GiB". */
bool hp_number_bytes(const char *text, size_t length, uint64_t most, uint64_t *ret_bytes);

/* Digits with an optional fraction: "95", "99.9", ".5". Up to 15 digits count; the result is the nearest double. */
bool hp_number_decimal(const char *text, size_t length, double *ret_number);

/* 1, true, yes, on or 0, false, no, off, in any case. */
bool hp_number_flag(const char *text, size_t length, bool *ret_flag);

#endif
