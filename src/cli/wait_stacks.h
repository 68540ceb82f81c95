/* Has the stacks of threads read that are found waiting: the listener of hp_watch, for the collector. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_WAIT_STACKS_H
#define HP_CLI_WAIT_STACKS_H

#include "watch.h"

extern const struct hp_wait_listener hp_wait_stacks;

#endif
