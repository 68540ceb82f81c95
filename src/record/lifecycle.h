/* The life of a session, for those who begin and end it: see lifecycle.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_LIFECYCLE_H
#define HP_RECORD_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

struct hotpath_options;

/* What HOTPATH_MAIN does beyond. */
struct hp_manners {
    bool leaves_signals;
    uint32_t shutdown_ms;
};

/* As hotpath_start. `*ret_manners` are filled in with HOTPATH_OK. */
int hp_lifecycle_start(const struct hotpath_options *options, struct hp_manners *ret_manners);
/* The process ends: report, and leave everything in place, since other threads may still run. */
void hp_lifecycle_finish(bool is_in_handler);

#endif
