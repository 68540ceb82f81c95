/*
 * Moments of a run, as users write them: "2s", "1m30s", "250ms" from its beginning, "80%" of it, "-10s" before its
 * end. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_TIMESTAMP_H
#define HP_CLI_TIMESTAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------------------ ages */

/* How long ago something was, in words. */

/* "12s ago", "5m ago", "3h ago", "2d ago": since that moment of CLOCK_REALTIME. */
void hp_put_age(char *text, size_t size, uint64_t began_ns);

/* ------------------------------------------------------------------------------------------------ timestamps */

struct hp_timestamp {
    bool is_given;
    bool is_part;     /* `number` is in percent, else in nanoseconds */
    bool is_from_end; /* counted back from the end */
    double number;
};

/* False: not a moment. */
bool hp_timestamp_read(const char *text, struct hp_timestamp *ret_timestamp);

/* Nanoseconds from the beginning of a run that took `elapsed_ns`; never after its end. */
uint64_t hp_timestamp_in(const struct hp_timestamp *timestamp, uint64_t elapsed_ns);

/* A part of a run; a moment that is not given is its beginning or its end. */
struct hp_time_limits {
    struct hp_timestamp from, to;
};

static inline bool hp_has_time_limits(const struct hp_time_limits *limits)
{
    return limits->from.is_given || limits->to.is_given;
}

#endif
