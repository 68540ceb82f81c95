/* The life of a session, for the code that starts and ends it: see lifecycle.c. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_LIFECYCLE_H
#define HP_CORE_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

struct hotpath_options;

/* Additional settings of HOTPATH_MAIN. */
struct hp_manners {
    bool leaves_signals;
    uint32_t shutdown_ms;
};

/* As hotpath_start. Fills in `*ret_manners` if it returns HOTPATH_OK. */
int hp_lifecycle_start(const struct hotpath_options *options, struct hp_manners *ret_manners);
/* The process exits: writes the report and leaves everything mapped, since other threads may still run. */
void hp_lifecycle_finish(bool is_in_handler);

#endif
