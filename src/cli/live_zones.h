/*
 * Which measured zone and which task each thread of a live process is in now, by its session.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_LIVE_ZONES_H
#define HP_CLI_LIVE_ZONES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "reader.h"

/* Of one thread. */
struct hp_live_zone {
    uint32_t tid;
    const char *zone; /* the innermost one that is open; NULL: none */
    const char *task; /* the class of the task that it runs; NULL: none */
};

/* Of one process. */
struct hp_live_zones {
    uint32_t pid;
    char path[2048]; /* of its session; "": it has none */
    struct hp_reader reader;
    struct hp_live_zone *all;
    size_t count, room;
};

/* Finds the session of the process. False: it has none. */
bool hp_live_zones_open(struct hp_live_zones *zones, const struct hp_settings *settings, uint32_t pid);

/* Reads them. What was read before is void. */
void hp_live_zones_read(struct hp_live_zones *zones);

/* NULL: the session does not know the thread. */
const struct hp_live_zone *hp_live_zone_of(const struct hp_live_zones *zones, uint32_t tid);

void hp_live_zones_close(struct hp_live_zones *zones);

#endif
