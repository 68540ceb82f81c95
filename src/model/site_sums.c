/* What is known of a site from its stats. SPDX-License-Identifier: MIT */
#include "site_sums.h"

static void add_extremes(struct hp_site_details *details, uint64_t least, uint64_t most)
{
    details->min = least < details->min ? least : details->min;
    details->max = most > details->max ? most : details->max;
}

void hp_site_details(const struct hp_site_sums *site, struct hp_site_details *ret_details)
{
    struct hotpath_stat_ stat;
    *ret_details = (struct hp_site_details){.min = UINT64_MAX};
    for (const struct hp_stat_link *link = site->stats; link != NULL; link = link->next) {
        if (!hp_snapshot_stat(link->session, link->offset, &stat))
            continue;
        ret_details->threads += stat.threads;
        if (stat.min <= stat.max)
            add_extremes(ret_details, stat.min, stat.max);
    }
    for (const struct hp_open_link *link = site->opens; link != NULL; link = link->next)
        if (link->is_timed)
            add_extremes(ret_details, link->ticks, link->ticks);
}
