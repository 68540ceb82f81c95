/*
 * A site of a run: what is known of it, and where its records are. profile.h makes them, site_table.h names them.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_SITE_SUMS_H
#define HP_MODEL_SITE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labels.h"
#include "snapshot.h"

/* Sums that sites and places in the tree have in common. */
struct hp_sums {
    uint64_t calls;   /* all: ended, abandoned and open */
    uint64_t open;    /* of which are open */
    uint64_t untimed; /* of which have no duration, because of sampling: the times below are scaled up for them */
    uint64_t total;   /* ticks of outermost calls */
    uint64_t nested;  /* ticks of calls inside another call of the same node (recursion) */
    uint64_t self;    /* ticks outside of zones inside; wraps while adding, read it with hp_sums_self */
};

static inline uint64_t hp_sums_self(const struct hp_sums *sums) { return (int64_t)sums->self < 0 ? 0 : sums->self; }

struct hp_floors;
struct hp_task_sums;

/* The numbers do not fall below what was said before. */
void hp_sums_keep(struct hp_sums *now, struct hp_sums *before);

/* A stat of a site, in one thread record of one session. */
struct hp_stat_link {
    struct hp_stat_link *next;
    const struct hp_snapshot *session;
    uint32_t thread; /* offset of the record of the thread */
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
    struct hp_sums read; /* the same as sessions have it: nothing is settled in it */
    const char *name;    /* as shown: alone among all sites */
    struct hp_location location;
    uint32_t session; /* index of the first session that has it ... */
    uint32_t id;      /* ... and the number it has there */
    uint32_t kind;
    bool is_by_compiler;     /* a function that the compiler measures */
    bool is_self_scaled;     /* its self time comes from calls of which not all were timed */
    bool is_limited;         /* calls were too short to be timed all: see HOTPATH_MEASURING_BOUND */
    bool has_history;        /* in a stretch of a run: of this, too */
    uint64_t stretch_cpu_ns; /* of the stretch: on a processor, in the function itself */
    uint64_t found_cpu_ns;   /* where samples found it, in all of the run */
    uint64_t stretch_bytes;  /* likewise: that its calls asked for themselves */
    const struct hp_task_sums
        *task; /* whose polls its zones are, once somebody has asked for tasks; NULL: it is none */
    const struct hp_thread_label *thread; /* NULL: all threads */
    bool is_main;                         /* the main function of a process */
    uint64_t calls_inside;                /* zones of others that ran inside its calls */
    const char *plain_name;               /* the name alone, which others may have, too */
    const char *recorded_name;            /* the same as the session has it: that of the linker, say */
    const char *signature; /* the whole of a name that was made readable, or NULL; private from here on */
    uint32_t name_level;
    char *name_room; /* of names above level 0 */
    bool is_named;
    struct hp_site_sums *next;
    struct hp_site_sums *same; /* the one that counts for it; by thread, the one that names it */
    struct hp_stat_link *stats;
    uint32_t
        cpu_place;    /* among the sites of the profile, from 1, when processor time was shared out last; 0: none */
    uint32_t open_in; /* number of the last thread in which it was open */
    struct hp_open_link *opens;
    struct hp_site_said *said; /* NULL: it is read once */
};

/* What was said of a site before: see floors.h. */
struct hp_site_said {
    struct hp_sums sums;
    uint64_t timed;
    uint64_t alloc_calls, alloc_own[2], alloc_all[2], alloc_max[HP_ALLOC_MEASURES];
};

/* The same for all readings. `kind` is of enum hp_floor_kind. */
uint64_t hp_site_key(uint64_t kind, const struct hp_site_sums *site);

/* What is known of a site from its stats alone, of which each thread has its own. */
struct hp_site_details {
    uint64_t min; /* ticks of a call, open ones included; UINT64_MAX: none was timed */
    uint64_t max;
    uint32_t threads; /* that called it */
};

/* Read when it is asked for, since that takes a look at all threads. */
void hp_site_details(const struct hp_site_sums *site, struct hp_site_details *ret_details);

/* The same in steps, for those who read the stats anyway: all stats of the site come between beginning and end. */
void hp_site_details_begin(struct hp_site_details *details);
void hp_site_details_add(struct hp_site_details *details, const struct hotpath_stat_ *stat);
void hp_site_details_end(struct hp_site_details *details, const struct hp_site_sums *site);

/* Unlike that of any other site of the run; for those of the first session, their id. */
static inline uint64_t hp_site_number(const struct hp_site_sums *site)
{
    return (uint64_t)site->session << 32 | site->id;
}

static inline uint32_t hp_thread_number(const struct hp_site_sums *site)
{
    return site->thread != NULL ? site->thread->number : 0;
}

#endif
