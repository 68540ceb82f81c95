/*
 * Shared by sections about functions: what 100 % is, which rows are too small to be shown, and the meaning of row
 * marks. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_SHARES_H
#define HP_REPORT_SHARES_H

#include "profile.h"
#include "section.h"
#include "task_profile.h"

/*
 * What 100 % is, in ticks, and its name: the main row's total ("main"), without one the time of the run
 * ("elapsed"), and if the main row is left out the sum of all others ("rows"). With `tasks`, rows of tasks have
 * their wall time.
 */
uint64_t hp_share_whole(const struct hp_profile *profile, const struct hp_tasks *tasks,
                        const struct hp_show_settings *show, const char **ret_percent_of);

/* Whether that share of the whole is too small to be shown. */
bool hp_share_is_small(uint64_t ticks, uint64_t whole, const struct hp_show_settings *show);

/* A note on such shares, or NULL. */
const char *hp_share_note(const struct hp_profile *profile, const char *percent_of);

/* The meaning of the mark of open zones. */
const char *hp_share_open_note(const struct hp_profile *profile);

/* Adds the meaning of the mark of scaled-up times, to a section that shows it. */
void hp_share_note_scaled(const struct hp_profile *profile, struct hotpath_section *section);
/* The column for it. */
#define HP_ABOUT_SCALED                                                                                            \
    "Which times of the row are extrapolated, because not all calls were timed: none, self (not all calls of "     \
    "callees were timed), all."
#define HP_SCALED_WORDS "none|self|all"
/* Which times of a row are scaled up: "none", "self", "all". */
const char *hp_share_scaled_name(bool is_sampled, bool is_self_scaled);

#endif
