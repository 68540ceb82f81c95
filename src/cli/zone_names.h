/*
 * Names of the zones in stacks, as the reports of the run name them. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_ZONE_NAMES_H
#define HP_CLI_ZONE_NAMES_H

#include "name_stacks.h"

/* For the sessions in a folder. NULL: no memory. Free it after all zones are named. */
struct hp_zone_namer *hp_zone_names_of(const char *folder);
void hp_zone_names_free(struct hp_zone_namer *namer);

#endif
