/* What the column of a percentile is called. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_PERCENTILE_H
#define HP_SECTIONS_PERCENTILE_H

#include <stdbool.h>

struct hp_arena;

struct hp_percentile_names {
    const char *title; /* "P99.9", "Min", "Max" */
    const char *key;   /* "p99_9_ns" */
};

/* 0 is the minimum, 100 the maximum. `after_key` and `after_title` are put behind them. False: no memory. */
bool hp_percentile_name(struct hp_arena *arena, double percentile, const char *after_key, const char *after_title,
                        struct hp_percentile_names *ret_names);

#endif
