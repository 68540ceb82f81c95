/*
 * How the zones of a run are called that stacks were in: as its reports call them, by what its sessions say. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_ZONE_NAMES_H
#define HP_CLI_ZONE_NAMES_H

#include "named_stacks.h"

/* Of the sessions in a folder. NULL: no memory. To be freed when all are named. */
struct hp_zone_namer *hp_zone_names_of(const char *folder);
void hp_zone_names_free(struct hp_zone_namer *namer);

#endif
