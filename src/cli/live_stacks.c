/* Shows the stacks of a run while it goes on. SPDX-License-Identifier: MIT */
#include "live_stacks.h"

#include <limits.h>
#include <stdio.h>

#include "clock.h"
#include "collector.h"
#include "stack_file.h"
#include "stack_watch.h"
#include "zone_names.h"

#define LOOK_NS UINT64_C(100000000)   /* between two looks whether they are wanted */
#define PREPARE_NS UINT64_C(10000000) /* of work before events are taken again */

static struct {
    char folder[PATH_MAX]; /* "": not begun */
    uint32_t pid;
    struct hp_stack_namer namer;
    struct hp_slot_log log;
    struct hp_zone_namer *zones;
    size_t zone_count; /* when they were named */
    uint64_t looked_ns, due_ns;
    bool is_wanted;
} live;

/* Zones are named again when there are more of them. */
static const struct hp_zone_namer *zones_of(const struct hp_stacks *found)
{
    if (found->zones.count == live.zone_count)
        return live.zones;
    hp_zone_names_free(live.zones);
    live.zones = hp_zone_names_of(live.folder);
    live.zone_count = found->zones.count;
    return live.zones;
}

static void show(const struct hp_stacks *found)
{
    struct hp_named_stacks named;
    if (!hp_stack_namer_name(&live.namer, found, zones_of(found), &named))
        return;
    named.is_live = true;
    if (live.pid == 0 || hp_named_stacks_keep(&named, &live.pid, 1))
        hp_stack_file_write_live(live.folder, &named, &live.log);
    hp_named_stacks_free(&named);
}

static bool is_wanted(uint64_t now_ns)
{
    if (now_ns - live.looked_ns >= LOOK_NS) {
        live.looked_ns = now_ns;
        live.is_wanted = hp_stacks_are_wanted(live.folder);
    }
    return live.is_wanted;
}

/* What takes long the first time is done in pieces. */
static void view(void *unused)
{
    const uint64_t now_ns = hp_clock_monotonic_ns(), before_ns = hp_clock_thread_ns();
    (void)unused;
    if (now_ns < live.due_ns || !is_wanted(now_ns))
        return;
    const struct hp_stacks *found = hp_collector_look();
    if (!hp_stack_namer_prepare(&live.namer, found, PREPARE_NS))
        return;
    show(found);
    live.due_ns = now_ns + hp_stacks_pause_ns(hp_clock_thread_ns() - before_ns);
}

void hp_live_stacks_begin(const char *folder, uint32_t pid)
{
    snprintf(live.folder, sizeof live.folder, "%s", folder);
    live.pid = pid;
    hp_stacks_offer(folder);
    hp_collector_show_to(view, NULL);
}

bool hp_live_stacks_finish(const struct hp_stacks *found, const struct hp_zone_namer *zones,
                           struct hp_named_stacks *ret_named)
{
    return hp_stack_namer_finish(&live.namer, found, zones, ret_named);
}

void hp_live_stacks_free(void)
{
    if (live.folder[0] != '\0')
        hp_stacks_withdraw(live.folder);
    hp_zone_names_free(live.zones);
    hp_stack_namer_free(&live.namer);
    live.zones = NULL;
    live.folder[0] = '\0';
}
