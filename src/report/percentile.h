/* Names of percentile columns. SPDX-License-Identifier: MIT */
#ifndef HP_REPORT_PERCENTILE_H
#define HP_REPORT_PERCENTILE_H

#include <stdbool.h>

struct hp_arena;

struct hp_percentile_names {
    const char *title; /* "P99.9", "Min", "Max" */
    const char *key;   /* "p99_9_ns" */
};

/* Prefixes: "delay" for "delay_p99_ns", "Delay" for "Delay P99"; NULL: none. */
struct hp_percentile_family {
    const char *before_key, *before_title;
    const char *after_key, *after_title;
};

/* 0 is the minimum, 100 the maximum. False: no memory. */
bool hp_percentile_name(struct hp_arena *arena, double percentile, const struct hp_percentile_family *family,
                        struct hp_percentile_names *ret_names);

#endif
