/*
 * A run added up: every tree of every thread of every session merged into one, and every site's numbers over all of
 * them. The sections are views of this. All times are in ticks; hp_run_ns converts.
 *
 * On request sites are kept apart by thread: then there is one for every thread that called it, with the numbers of that
 * thread alone.
 *
 * Zones that are open at the moment of their session's snapshot count as calls that end there.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SECTIONS_PROFILE_H
#define HP_SECTIONS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run.h"
#include "section.h"

/* Sums that sites and places in the tree have in common. */
struct hp_sums {
    uint64_t calls;   /* all: ended, abandoned and open */
    uint64_t open;    /* of which are open */
    uint64_t untimed; /* of which have no duration, because of sampling: the times below are scaled up for them */
    uint64_t total;   /* ticks of outermost calls */
    uint64_t nested;  /* ticks of calls inside another call of the same node (recursion) */
    uint64_t self;    /* ticks outside of zones inside; wraps while adding, read it with hp_sums_self */
};

uint64_t hp_sums_self(const struct hp_sums *sums);

/* A stat of a site, in one thread record of one session. */
struct hp_stat_link {
    struct hp_stat_link *next;
    const struct hp_snapshot *session;
    uint32_t offset;
};

/* What a call that is open has allocated up to now. */
struct hp_open_allocs {
    uint64_t measures[HP_ALLOC_MEASURES];
    int64_t net_bytes; /* usable bytes that it has left behind so far */
    int64_t net_blocks;
};

/* A call of a site that is open. */
struct hp_open_link {
    struct hp_open_link *next;
    struct hp_open_link *around; /* the zone that it is in */
    uint64_t ticks;
    uint32_t index; /* of its frame */
    bool is_timed;
    bool is_inner;   /* within another call of the site */
    bool has_allocs; /* it has allocated or freed something */
    struct hp_open_allocs allocs;
};

/* A site, over all sessions, all threads and all places it was called from. */
struct hp_site_sums {
    struct hp_sums sums;
    const char *name; /* as shown: alone among all sites */
    struct hp_location location;
    uint32_t session; /* index of the first session that has it ... */
    uint32_t id;      /* ... and the number it has there */
    uint32_t kind;
    bool is_by_compiler;                  /* a function that the compiler measures */
    bool is_self_scaled;                  /* its self time comes from calls of which not all were timed */
    bool is_limited;                      /* calls were too short to be timed all: see HOTPATH_MEASURING_BOUND */
    const struct hp_thread_label *thread; /* NULL: all threads */
    bool is_main;                         /* the main function of a process */
    uint32_t threads;                     /* threads that called it */
    uint64_t min;                         /* ticks; UINT64_MAX: no call was timed */
    uint64_t max;
    uint64_t calls_inside;  /* zones of others that ran inside its calls */
    const char *plain_name; /* the name alone, which others may have, too */
    const char *signature;  /* the whole of a name that was made readable, or NULL; private from here on */
    uint32_t name_level;
    char *name_room; /* of names above level 0 */
    bool is_named;
    struct hp_site_sums *next;
    struct hp_site_sums *same; /* the one that counts for it; by thread, the one that names it */
    struct hp_stat_link *stats;
    uint32_t open_in; /* number of the last thread in which it was open */
    struct hp_open_link *opens;
};

/* Unlike that of any other site of the run; for those of the first session, their id. */
static inline uint64_t hp_site_number(const struct hp_site_sums *site)
{
    return (uint64_t)site->session << 32 | site->id;
}

static inline uint32_t hp_thread_number(const struct hp_site_sums *site)
{
    return site->thread != NULL ? site->thread->number : 0;
}

/* A place in the merged call tree. */
struct hp_tree_node {
    struct hp_sums sums;
    struct hp_site_sums *site;
    struct hp_tree_node *parent;
    struct hp_tree_node *first_child;
    struct hp_tree_node *next_sibling;
    struct hp_tree_node *folded; /* the outermost node from here up that calls were folded onto, or NULL */
    uint64_t calls_inside;
    bool is_self_scaled; /* as of sites */
    uint32_t depth;
    uint32_t index; /* in the profile's nodes */
};

/* A session of the run, over all its threads. */
struct hp_session_sums {
    const struct hp_snapshot *snapshot;
    struct hp_site_sums *main; /* its own 100 % row, or NULL */
    uint64_t calls;
    uint64_t open;
    bool is_scaled;   /* not all calls were timed of which the following is the time */
    uint64_t total;   /* ticks of zones that are not inside other zones */
    uint64_t in_main; /* self time of main functions, a part of it; wraps as hp_sums.self does */
};

/* How many calls a thread record has, by what they cost. */
struct hp_thread_calls {
    uint32_t session; /* its index */
    uint32_t thread;  /* offset of the record */
    uint64_t timed, counted;
    uint64_t functions_timed, functions_counted; /* of functions that the compiler measures */
};

struct hp_profile {
    const struct hp_run *run;
    struct hp_session_sums *sessions;     /* as many as the run has, in the same order */
    struct hp_thread_calls *thread_calls; /* by session and thread */
    size_t thread_calls_count;
    struct hp_site_sums **sites; /* those that have calls, in no order */
    size_t site_count;
    struct hp_tree_node *first_root;
    struct hp_tree_node **nodes; /* all, parents before their children */
    size_t node_count;
    const struct hp_site_sums *main; /* the 100 % row, or NULL */
    bool has_sampled;                /* not all calls were timed, since sampling was asked for */
    bool has_limited;                /* ... since they were too short */
    struct hp_site_sums **known;     /* of every session, with calls or without, by session and id */
    size_t known_count;
    bool has_different_mains; /* the processes have different main functions: there is no such row */
    void **records;           /* of every node of every thread, by place; private */
    size_t record_count;
};

/* By thread, the tree has the paths of each thread by themselves, and there is no main row. NULL: no memory. */
struct hp_profile *hp_profile_build(struct hp_arena *arena, const struct hp_run *run, bool is_by_thread);

/* The site that has this id in a session of the run, or NULL. */
const struct hp_site_sums *hp_profile_site(const struct hp_profile *profile, uint32_t session, uint32_t id);

/*
 * Ticks that one thread spent in one node by itself, up to now where it is open. Both are known by their offsets. False: not exactly
 * known, since calls were not timed.
 */
bool hp_profile_node_self(const struct hp_profile *profile, uint32_t session, uint32_t thread, uint32_t node,
                          uint64_t *ret_ticks);

/* What the mark of open zones means. */
const char *hp_profile_open_note(const struct hp_profile *profile);

/* What the mark of times means that are scaled up from those of some calls; for a section that shows it. */
void hp_profile_note_scaled(const struct hp_profile *profile, struct hotpath_section *section);
/* Which times of a row are: "none", "self", "all". */
const char *hp_profile_scaled_name(bool is_sampled, bool is_self_scaled);

/*
 * What 100 % is, in ticks, and what that is called: the main row's total ("main"), without one the time of the
 * run ("elapsed"), and when the main row is to be left out the sum of all others ("rows").
 */
uint64_t hp_profile_whole(const struct hp_profile *profile, const struct hp_settings *settings,
                          const char **ret_percent_of);

/* Whether that share of the whole is too small to be shown. */
bool hp_profile_is_small(uint64_t ticks, uint64_t whole, const struct hp_settings *settings);

/* What has to be said about shares of that, or NULL. */
const char *hp_profile_share_note(const struct hp_profile *profile, const char *percent_of);

/* The distribution of a site's call durations, added up. Large: keep one and use it again. */
struct hp_durations {
    hp_duration_line lines[HP_DURATION_LINES];
    uint64_t timed;   /* calls with a duration, in the buckets or not */
    uint64_t counted; /* calls in the buckets */
    uint64_t min;
    uint64_t max;
};

void hp_profile_durations(const struct hp_site_sums *site, struct hp_durations *ret_durations);

/* The nearest-rank percentile in ticks, within 0.8 %; 0 and 100 are exact. False: no call was timed. */
bool hp_durations_percentile(const struct hp_durations *durations, double percentile, double *ret_ticks);

/*
 * For distributions of other numbers than ticks, which are counted alike. `min` of these is found afterwards, from the
 * counters, and so is the mean: both within 0.8 %, and exact below 128.
 */
void hp_durations_add(struct hp_durations *durations, uint64_t ticks);
void hp_durations_find_min(struct hp_durations *durations);
double hp_durations_mean(const struct hp_durations *durations);

/* What measuring may have added to the times of a site, at most, in nanoseconds. */
double hp_profile_overhead_ns(const struct hp_profile *profile, const struct hp_site_sums *site);

#endif
