/*
 * Stacks of a run that goes on: while a viewer asks for them (stack_watch.h), the collector's thread names what was
 * found so far and writes it into the run's folder. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_LIVE_STACKS_H
#define HP_CLI_LIVE_STACKS_H

#include <stdint.h>

#include "name_stacks.h"

/* Before the collector begins. `pid`: only stacks of this process; 0: all. */
void hp_live_stacks_begin(const char *folder, uint32_t pid);

/* After the collector has ended: names what was found, with the numbers that nodes have had so far. */
bool hp_live_stacks_finish(const struct hp_stacks *found, const struct hp_zone_namer *zones,
                           struct hp_named_stacks *ret_named);
void hp_live_stacks_free(void);

#endif
