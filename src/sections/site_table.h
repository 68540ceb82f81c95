/*
 * The sites of a session: found by their ids while it is read, and named so that no two rows look alike.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SECTIONS_SITE_TABLE_H
#define HP_SECTIONS_SITE_TABLE_H

#include "profile.h"

struct hp_site_table {
    struct hp_arena *arena;
    const struct hp_snapshot *snapshot;
    struct hp_site_sums **chunks[HP_SITE_CHUNKS]; /* by id */
    struct hp_site_sums *other;
    struct hp_site_sums *all; /* by `next` */
    size_t count;
};

/* Whether a node or a stat can have this number. */
bool hp_site_table_has_room_for(uint32_t id);

/* The site with that id, made when it comes up for the first time. NULL: no memory. */
struct hp_site_sums *hp_site_table_find(struct hp_site_table *table, uint32_t id);

/* Gives each of these sites the shortest name that it alone has; their order is lost. False: no memory. */
bool hp_site_table_name(const struct hp_site_table *table, struct hp_site_sums **sites, size_t count);

#endif
