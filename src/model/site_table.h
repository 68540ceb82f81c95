/*
 * The sites of all sessions of a run: found by their ids while a session is read, merged if they are the same place
 * in code, and named so that no two rows have the same name.
 *
 *     hp_site_table_read for each session (by thread: and set `thread` for each of them),
 *         then hp_site_table_find for every id in it
 *     hp_site_table_unify: from then on site->same counts
 *     hp_site_table_name for those that are to be shown
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_SITE_TABLE_H
#define HP_MODEL_SITE_TABLE_H

#include "site_sums.h"

struct hp_arena;

struct hp_site_table {
    struct hp_arena *arena;
    hp_read_name *read_name;           /* demangles the linker's names, or NULL */
    const struct hp_snapshot *session; /* the one being read */
    uint32_t session_index;
    const struct hp_thread_label *thread;         /* whose sites are created; NULL: those of all threads */
    struct hp_site_sums **chunks[HP_SITE_CHUNKS]; /* its sites by id; those of earlier sessions are invalid */
    struct hp_site_sums *other;                   /* the same for HP_SITE_OTHER */
    struct hp_site_sums *all;                     /* those of all sessions, linked by `next` */
    size_t count;
};

/* From now on ids are those of the `index`th session. */
void hp_site_table_read(struct hp_site_table *table, const struct hp_snapshot *session, uint32_t index);

/* Whether a node or a stat can have this id. */
bool hp_site_table_has_room_for(uint32_t id);

/* The site with that id, created on first use. NULL: no memory. */
struct hp_site_sums *hp_site_table_find(struct hp_site_table *table, uint32_t id);

/*
 * Merges sites of different sessions if name, function, file, line and kind are equal; ids differ, since they are
 * assigned in the order of first use. Sets `same` of all. False: no memory.
 */
bool hp_site_table_unify(struct hp_site_table *table);

/*
 * Gives each of these sites the shortest unique name; changes their order. The linker's names are demangled first,
 * if possible. False: no memory.
 */
bool hp_site_table_name(const struct hp_site_table *table, struct hp_site_sums **sites, size_t count);

#endif
