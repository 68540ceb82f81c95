/* Has the stacks of threads read that are found waiting: the listener of hp_watch, for the collector. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_WAIT_STACKS_H
#define HP_CLI_WAIT_STACKS_H

#include "watch.h"

/* Its context is the number of the session (session_numbers.h) that its threads have their zones in, a uint32_t. */
extern const struct hp_wait_listener hp_wait_stacks;

#endif
