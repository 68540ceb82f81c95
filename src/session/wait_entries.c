/* Entries of a session's table of waits. SPDX-License-Identifier: MIT */
#include "wait_entries.h"

#include <string.h>

#define MOST_WHATS 24u /* per call and place; further ones share an entry */

static bool is_entry(const struct hp_proc_sampler *sampler, uint32_t at, const struct hp_watched *thread,
                     const struct hp_wait_found *finding, struct hp_wait_place other)
{
    const struct hp_wait *entry = &sampler->entries[at];
    const bool is_there =
        thread->node == 0 ? entry->node == 0 : entry->node != 0 && sampler->sites[at] == thread->site;
    const bool is_for =
        other.node == 0 ? entry->other == 0 : entry->other != 0 && sampler->other_sites[at] == other.site;
    return is_there && is_for && entry->cause == finding->cause && entry->call == finding->call;
}

/* Beyond a number of files they share one. */
int32_t hp_wait_entry_for(struct hp_proc_sampler *sampler, const struct hp_watched *thread,
                          const struct hp_wait_found *finding, struct hp_wait_place other)
{
    static const char others[sizeof finding->what] = "(others)";
    const char *what = finding->what;
    uint32_t whats = 0;
    for (uint32_t at = 0; at < sampler->sums.used; at++) {
        const struct hp_wait *entry = &sampler->entries[at];
        if (!is_entry(sampler, at, thread, finding, other))
            continue;
        if (memcmp(entry->what, what, sizeof entry->what) == 0)
            return (int32_t)at;
        if (++whats >= MOST_WHATS && memcmp(entry->what, others, sizeof entry->what) == 0)
            return (int32_t)at;
    }
    if (whats >= MOST_WHATS)
        what = others;
    if (sampler->sums.used >= sampler->capacity)
        return HP_NO_ROOM;
    struct hp_wait *entry = &sampler->entries[sampler->sums.used];
    *entry =
        (struct hp_wait){.node = thread->node, .cause = finding->cause, .call = finding->call, .other = other.node};
    memcpy(entry->what, what, sizeof entry->what);
    sampler->sites[sampler->sums.used] = thread->site;
    sampler->other_sites[sampler->sums.used] = other.site;
    sampler->is_changed[sampler->sums.used] = true;
    return (int32_t)sampler->sums.used++;
}

void hp_wait_add(uint64_t *sum, int64_t ns) { *sum = ns < 0 && (uint64_t)-ns > *sum ? 0 : *sum + (uint64_t)ns; }

void hp_wait_credit(struct hp_proc_sampler *sampler, struct hp_watched *thread, int32_t at, int64_t ns,
                    uint32_t probes)
{
    if (at == HP_NO_ROOM)
        hp_wait_add(&sampler->sums.left_out_ns, ns);
    if (at < 0)
        return;
    struct hp_wait *entry = &sampler->entries[at];
    hp_wait_add(&entry->ns, ns);
    entry->probes += probes;
    if (entry->beside_ns > entry->ns)
        entry->beside_ns = entry->ns;
    sampler->is_changed[at] = true;
    hp_crew_wait(&thread->crew, entry->cause, ns);
}
