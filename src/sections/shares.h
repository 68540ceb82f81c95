/*
 * What sections about functions have in common: what 100 % is, which rows are too small to be shown, and what the marks of rows
 * mean. SPDX-License-Identifier: MIT
 */
#ifndef HP_SECTIONS_SHARES_H
#define HP_SECTIONS_SHARES_H

#include "profile.h"
#include "section.h"

/*
 * What 100 % is, in ticks, and what that is called: the main row's total ("main"), without one the time of the
 * run ("elapsed"), and when the main row is to be left out the sum of all others ("rows").
 */
uint64_t hp_share_whole(const struct hp_profile *profile, const struct hp_show_settings *show,
                        const char **ret_percent_of);

/* Whether that share of the whole is too small to be shown. */
bool hp_share_is_small(uint64_t ticks, uint64_t whole, const struct hp_show_settings *show);

/* What has to be said about shares of that, or NULL. */
const char *hp_share_note(const struct hp_profile *profile, const char *percent_of);

/* What the mark of open zones means. */
const char *hp_share_open_note(const struct hp_profile *profile);

/* What the mark of times means that are scaled up from those of some calls; for a section that shows it. */
void hp_share_note_scaled(const struct hp_profile *profile, struct hotpath_section *section);
/* The column that says so. */
#define HP_ABOUT_SCALED                                                                                            \
    "Which times of the row are estimates, scaled up from calls of which not all were timed: none, self (of "      \
    "functions "                                                                                                   \
    "inside not all calls were), all."
#define HP_SCALED_WORDS "none|self|all"
/* Which times of a row are: "none", "self", "all". */
const char *hp_share_scaled_name(bool is_sampled, bool is_self_scaled);

#endif
