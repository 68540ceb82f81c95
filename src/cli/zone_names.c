/* Names zones. SPDX-License-Identifier: MIT */
#include "zone_names.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "demangle.h"
#include "event_queue.h"
#include "reader.h"
#include "sessions.h"
#include "site_table.h"
#include "text.h"

/* All sites of all sessions, named as in reports: a site without samples may still share its name with another. */
struct names {
    struct hp_zone_namer namer; /* must be first */
    struct hp_sessions sessions;
    struct hp_reader reader;
    struct hp_arena arena;
    struct hp_site_sums ***sites; /* by session and id */
};

/* The counts in a session file may be wrong. */
static uint32_t sites_of(const struct hp_snapshot *session)
{
    return session->header.site_count < HP_MAX_SITES ? session->header.site_count : HP_MAX_SITES;
}

/* Adds the sites of one session. False: no memory. */
static bool take_sites(struct names *names, struct hp_site_table *table, uint32_t at)
{
    const struct hp_snapshot *session = &names->reader.sessions[at]->file.snapshot;
    const uint32_t count = sites_of(session);
    names->sites[at] = hp_arena_take_array(&names->arena, (size_t)count + 1, sizeof(void *));
    if (names->sites[at] == NULL)
        return false;
    hp_site_table_read(table, session, at);
    for (uint32_t id = 0; id < count; id++)
        if ((names->sites[at][id] = hp_site_table_find(table, id)) == NULL)
            return false;
    return true;
}

static bool name_sites(struct names *names, struct hp_site_table *table)
{
    size_t count = 0;
    struct hp_site_sums **shown = hp_arena_take_array(&names->arena, table->count + 1, sizeof(void *));
    if (shown == NULL || !hp_site_table_unify(table))
        return false;
    for (struct hp_site_sums *site = table->all; site != NULL; site = site->next)
        if (site->same == site)
            shown[count++] = site;
    return hp_site_table_name(table, shown, count);
}

static bool find_names(struct names *names)
{
    struct hp_site_table *table = hp_arena_take(&names->arena, sizeof *table);
    names->sites = hp_arena_take_array(&names->arena, names->reader.count + 1, sizeof *names->sites);
    if (table == NULL || names->sites == NULL)
        return false;
    *table = (struct hp_site_table){.arena = &names->arena, .read_name = hp_demangle};
    for (size_t at = 0; at < names->reader.count; at++)
        if (!take_sites(names, table, (uint32_t)at))
            return false;
    return name_sites(names, table);
}

static const char *name_of(void *context, uint32_t number, uint32_t site)
{
    const struct names *names = context;
    const char *session = hp_session_of_number(number);
    for (size_t at = 0; session != NULL && names->sites != NULL && at < names->reader.count; at++) {
        const struct hp_read_session *read = names->reader.sessions[at];
        if (strcmp(hp_text_base_name(read->path), session) == 0)
            return site < sites_of(&read->file.snapshot) ? names->sites[at][site]->same->name : NULL;
    }
    return NULL;
}

struct hp_zone_namer *hp_zone_names_of(const char *folder)
{
    struct names *names = calloc(1, sizeof *names);
    if (names == NULL)
        return NULL;
    names->namer = (struct hp_zone_namer){name_of, names};
    hp_reader_open(&names->reader, hp_demangle);
    if (hp_sessions_in(&names->sessions, folder))
        for (size_t at = 0; at < names->sessions.count; at++)
            hp_reader_add(&names->reader, names->sessions.all[at].path);
    if (!find_names(names))
        names->sites = NULL;
    return &names->namer;
}

void hp_zone_names_free(struct hp_zone_namer *namer)
{
    if (namer == NULL)
        return;
    struct names *names = namer->context;
    hp_reader_close(&names->reader);
    hp_arena_release(&names->arena);
    hp_sessions_free(&names->sessions);
    free(names);
}
