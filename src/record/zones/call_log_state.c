/* What is kept of a site's calls: the rules. SPDX-License-Identifier: MIT */
#include "call_log_state.h"

#include "runtime.h"
#include "sites.h"
#include "thread_context.h"

static bool is_place(uint32_t site)
{
    return site != HP_SITE_ROOT && site != HP_SITE_OTHER && !hp_lane_is_suspended_site(site);
}

/* Not in handlers, which must be short. Not with time sampling: the trees of single calls would have holes. */
bool hp_call_log_may_follow(const struct hp_thread_context *context, uint32_t site)
{
    return is_place(site) && !context->is_handler && HOTPATH_GET_(hp_runtime->live_settings.time_period) <= 1 &&
           !hp_is_sealed();
}

uint32_t hp_call_log_from_start(const struct hp_thread_context *context, uint32_t site)
{
    if (!is_place(site))
        return 0;
    return (hp_site_is_logged(site) ? HP_KEEPS_LOG : 0) |
           (hp_call_log_may_follow(context, site) ? HP_KEEPS_SLOWEST : 0);
}

struct hp_call_notes *hp_call_log_memory(struct hp_thread_context *context)
{
    if (context->kept == NULL) {
        context->kept = hp_more_memory(sizeof *context->kept);
        if (context->kept != NULL)
            context->kept->least_cost = UINT64_MAX;
    }
    return context->kept;
}
