/*
 * Moments of a run, as people write them: "2s", "1m30s", "250ms" since it began, "80%" of it, "-10s" before its end.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_MOMENT_H
#define HP_CLI_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

struct hp_moment {
    bool is_given;
    bool is_part;     /* then `number` is of 100, else nanoseconds */
    bool is_from_end; /* counted back from there */
    double number;
};

/* False: it is none. */
bool hp_moment_read(const char *text, struct hp_moment *ret_moment);

/* Since the beginning of a run that took so long; never after its end. */
uint64_t hp_moment_in(const struct hp_moment *moment, uint64_t elapsed_ns);

#endif
