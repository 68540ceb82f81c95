/* Numbers with units for people: 1.23 µs, 1.0 KB, 75.42%, 2.10 GHz. SPDX-License-Identifier: MIT */
#ifndef HP_BASE_UNITS_H
#define HP_BASE_UNITS_H

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

#endif
