/* Reads open zones and running tasks. SPDX-License-Identifier: MIT */
#include "live_zones.h"

#include <stdio.h>
#include <string.h>

#include "demangle.h"
#include "growing_array.h"
#include "model.h"
#include "object_snapshot.h"
#include "profile.h"
#include "sessions.h"

bool hp_live_zones_open(struct hp_live_zones *zones, const struct hp_settings *settings, uint32_t pid)
{
    char name[16];
    struct hp_stored_session session;
    *zones = (struct hp_live_zones){.pid = pid};
    snprintf(name, sizeof name, "%u", (unsigned)pid);
    hp_reader_open(&zones->reader, hp_demangle);
    if (!hp_session_of_live_process(&session, settings, name) || !hp_reader_add(&zones->reader, session.path))
        return false;
    memcpy(zones->path, session.path, strlen(session.path) + 1);
    return true;
}

/* ---------------------------------------------------------------------------------------------------- threads */

/* The innermost open zone of a thread. NULL: none. */
static const char *zone_in(const struct hp_profile *profile, const struct hp_snapshot *session,
                           const struct hp_thread *record, struct hp_walk *opens)
{
    struct hotpath_frame_ frame;
    struct hp_node node;
    uint32_t innermost = 0;
    hp_walk_rewind(opens);
    while (hp_snapshot_next_open(session, record, opens, &frame))
        innermost = frame.node;
    if (innermost == 0 || !hp_snapshot_node(session, innermost, &node) || node.site == HP_SITE_ROOT)
        return NULL;
    const struct hp_site_sums *site = hp_profile_site(profile, 0, node.site);
    return site != NULL ? site->name : NULL;
}

/* A task that runs names its class by the site of its polls. */
static const char *task_on(const struct hp_profile *profile, const struct hp_snapshot *session, uint32_t record)
{
    struct hp_walk walk = {0};
    struct hp_task_slot slot;
    while (hp_snapshot_next_task(session, &walk, &slot))
        if (slot.thread == record && slot.poll_start != 0) {
            const struct hp_site_sums *site = hp_profile_site(profile, 0, slot.next);
            return site != NULL ? site->name : NULL;
        }
    return NULL;
}

/* The oldest record of a thread is its own: newer ones are of its signal handlers, and come first. */
static void put_zone(struct hp_live_zones *zones, const struct hp_live_zone *zone)
{
    for (size_t at = 0; at < zones->count; at++)
        if (zones->all[at].tid == zone->tid) {
            zones->all[at] = *zone;
            return;
        }
    if (HP_MAKE_ROOM(zones->all, zones->count + 1, zones->room))
        zones->all[zones->count++] = *zone;
}

void hp_live_zones_read(struct hp_live_zones *zones)
{
    struct hp_walk threads = {0}, opens = {0};
    struct hp_thread record;
    zones->count = 0;
    if (zones->path[0] == '\0' || !hp_reader_refresh(&zones->reader) || zones->reader.count == 0)
        return;
    const struct hp_profile *profile = hp_reader_model(&zones->reader)->profile;
    const struct hp_snapshot *session = &zones->reader.sessions[0]->file.snapshot;
    while (hp_snapshot_next_thread(session, &threads, &record))
        if (record.state == HP_THREAD_LIVE)
            put_zone(zones, &(struct hp_live_zone){record.tid, zone_in(profile, session, &record, &opens),
                                                   task_on(profile, session, threads.offset)});
}

const struct hp_live_zone *hp_live_zone_of(const struct hp_live_zones *zones, uint32_t tid)
{
    for (size_t at = 0; at < zones->count; at++)
        if (zones->all[at].tid == tid)
            return &zones->all[at];
    return NULL;
}

void hp_live_zones_close(struct hp_live_zones *zones)
{
    free(zones->all);
    hp_reader_close(&zones->reader);
    *zones = (struct hp_live_zones){.pid = 0};
}
