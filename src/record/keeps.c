/* What is kept of the calls of a site: the rules. SPDX-License-Identifier: MIT */
#include "keeps.h"

#include "lane_state.h"
#include "sites.h"

static bool is_place(uint32_t site)
{
    return site != HP_SITE_ROOT && site != HP_SITE_OTHER && !hp_lane_is_suspended_site(site);
}

/* Handlers are to be over soon, and where clocks are read for some calls only, trees of single calls have holes. */
bool hp_keeps_may_follow(const struct hp_head *head, uint32_t site)
{
    return is_place(site) && !head->is_handler && HOTPATH_GET_(hp_runtime->wishes.time_period) <= 1 &&
           !hp_is_sealed();
}

uint32_t hp_keeps_from_start(const struct hp_head *head, uint32_t site)
{
    if (!is_place(site))
        return 0;
    return (hp_site_is_logged(site) ? HP_KEEPS_LOG : 0) | (hp_keeps_may_follow(head, site) ? HP_KEEPS_SLOWEST : 0);
}
