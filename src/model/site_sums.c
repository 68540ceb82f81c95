/* What is known of a site from its stats. SPDX-License-Identifier: MIT */
#include "site_sums.h"

#include "floors.h"

/* A value that wrapped while it was added is negative. */
void hp_sums_keep(struct hp_sums *now, struct hp_sums *before)
{
    now->self = hp_sums_self(now);
    hp_floor(&now->calls, &before->calls);
    hp_floor(&now->untimed, &before->untimed);
    hp_floor(&now->total, &before->total);
    hp_floor(&now->nested, &before->nested);
    hp_floor(&now->self, &before->self);
}

uint64_t hp_site_key(uint64_t kind, const struct hp_site_sums *site)
{
    const uint64_t thread =
        site->thread != NULL ? hp_floors_mix(site->thread->pid, (uint64_t)site->thread->tid + 1) : 0;
    return hp_floors_mix(hp_floors_mix(kind, hp_site_number(site)), thread);
}

static void add_extremes(struct hp_site_details *details, uint64_t least, uint64_t most)
{
    details->min = least < details->min ? least : details->min;
    details->max = most > details->max ? most : details->max;
}

void hp_site_details_begin(struct hp_site_details *details)
{
    *details = (struct hp_site_details){.min = UINT64_MAX};
}

void hp_site_details_add(struct hp_site_details *details, const struct hotpath_stat_ *stat)
{
    details->threads += stat->threads;
    if (stat->min <= stat->max)
        add_extremes(details, stat->min, stat->max);
}

void hp_site_details_end(struct hp_site_details *details, const struct hp_site_sums *site)
{
    for (const struct hp_open_link *link = site->opens; link != NULL; link = link->next)
        if (link->is_timed)
            add_extremes(details, link->ticks, link->ticks);
}

void hp_site_details(const struct hp_site_sums *site, struct hp_site_details *ret_details)
{
    struct hotpath_stat_ stat;
    hp_site_details_begin(ret_details);
    for (const struct hp_stat_link *link = site->stats; link != NULL; link = link->next)
        if (hp_snapshot_stat(link->session, link->offset, &stat))
            hp_site_details_add(ret_details, &stat);
    hp_site_details_end(ret_details, site);
}
