/* Shares of the whole, and the meaning of row marks. SPDX-License-Identifier: MIT */
#include "shares.h"

#include <string.h>

void hp_share_note_scaled(const struct hp_profile *profile, struct hotpath_section *section)
{
    if (profile->has_sampled)
        hp_section_note(section, "^ sampled: all calls are counted, some are timed; times are extrapolated");
    if (profile->has_limited)
        hp_section_note(section,
                        "^ one call in 256 is timed, because measuring would take longer than the function");
}

const char *hp_share_scaled_name(bool is_sampled, bool is_self_scaled)
{
    return is_sampled ? "all" : is_self_scaled ? "self" : "none";
}

const char *hp_share_open_note(const struct hp_profile *profile)
{
    bool has_ended = false, has_others = false;
    for (size_t at = 0; at < profile->run->count; at++) {
        const struct hp_session_sums *session = &profile->sessions[at];
        const bool is_ended = hp_snapshot_state(session->snapshot) == HP_SNAPSHOT_ENDED;
        has_ended |= session->open > 0 && is_ended;
        has_others |= session->open > 0 && !is_ended;
    }
    if (has_ended && has_others)
        return "* still running at the time of the report, or when its process ended: counted up to then, or "
               "up to its last recorded time";
    return has_ended ? "* still running when the process ended: counted up to its last recorded time"
                     : "* still running at the time of the report: counted up to then";
}

static uint64_t sum_of_rows(const struct hp_profile *profile, const struct hp_tasks *tasks, bool is_exclusive)
{
    uint64_t ticks = 0;
    for (size_t at = 0; at < profile->site_count; at++) {
        const struct hp_site_sums *site = profile->sites[at];
        const bool is_by_wall = tasks != NULL && site->task != NULL && !is_exclusive;
        if (!site->is_main && !is_by_wall)
            ticks += is_exclusive ? hp_sums_self(&site->sums) : site->sums.total;
    }
    for (size_t at = 0; tasks != NULL && !is_exclusive && at < tasks->count; at++)
        ticks += tasks->all[at].wall;
    return ticks;
}

uint64_t hp_share_whole(const struct hp_profile *profile, const struct hp_tasks *tasks,
                        const struct hp_show_settings *show, const char **ret_percent_of)
{
    if (show->exclude_wrapper) {
        *ret_percent_of = "rows";
        return sum_of_rows(profile, tasks, show->time_exclusive);
    }
    if (profile->main != NULL && profile->main->sums.total > 0) {
        *ret_percent_of = "main";
        return profile->main->sums.total;
    }
    *ret_percent_of = "elapsed";
    return profile->run->elapsed_ticks;
}

bool hp_share_is_small(uint64_t ticks, uint64_t whole, const struct hp_show_settings *show)
{
    return whole > 0 && 100 * (double)ticks / (double)whole < show->min_percent;
}

static bool has_every_session_main(const struct hp_profile *profile)
{
    size_t at = 0;
    while (at < profile->run->count && profile->sessions[at].main == profile->main)
        at++;
    return at == profile->run->count;
}

/* Several processes may run at the same time, so shares can add up to more than 100 %. */
const char *hp_share_note(const struct hp_profile *profile, const char *percent_of)
{
    if (strcmp(percent_of, "rows") == 0)
        return "% Total is the share of the sum of all rows, without the main function";
    if (strcmp(percent_of, "main") == 0)
        return has_every_session_main(profile)
                   ? NULL
                   : "% Total is the share of the main row, but not every process ran it: rows can exceed 100 %";
    if (profile->run->range != NULL)
        return "% Total is the share of the time range";
    if (profile->run->count == 1)
        return "% Total is the share of the session time, because there was no HOTPATH_MAIN()";
    return profile->has_different_mains
               ? "% Total is the share of the time from the first start to the last end, because "
                 "the processes have different main functions: rows can exceed 100 %"
               : "% Total is the share of the time from the first start to the last end, because no "
                 "process had a HOTPATH_MAIN(): rows can exceed 100 %";
}
