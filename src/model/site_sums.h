/*
 * A site of a run: what is known of it, and where its records are. profile.h makes them, site_table.h names them.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_SITE_SUMS_H
#define HP_MODEL_SITE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arith.h"
#include "labels.h"
#include "snapshot.h"

/* Sums of sites and of tree nodes. */
struct hp_sums {
    uint64_t calls;   /* all: ended, abandoned and open */
    uint64_t open;    /* open calls among them */
    uint64_t untimed; /* untimed calls among them, because of sampling: the times below are scaled up for them */
    uint64_t total;   /* ticks of outermost calls */
    uint64_t nested;  /* ticks of calls inside another call of the same node (recursion) */
    uint64_t self;    /* ticks outside inner zones; wraps while adding, read it with hp_sums_self */
};

/*
 * Never more than `total`: a signal handler may interrupt the end of another call of the same handler, after its
 * time was read. Then it is nested, and yet outside of that time.
 */
static inline uint64_t hp_sums_self(const struct hp_sums *sums)
{
    const uint64_t self = hp_not_negative(sums->self);
    return self < sums->total ? self : sums->total;
}

struct hp_floors;
struct hp_task_sums;

/* Raises the numbers to those of earlier readings. */
void hp_sums_keep(struct hp_sums *now, struct hp_sums *before);

/* A stat of a site, in one thread record of one session. */
struct hp_stat_link {
    struct hp_stat_link *next;
    const struct hp_snapshot *session;
    uint32_t thread; /* offset of the record of the thread */
    uint32_t offset;
};

/* What an open call has allocated so far. */
struct hp_open_allocs {
    uint64_t measures[HP_ALLOC_MEASURES];
    int64_t net_bytes; /* usable bytes that it has not freed */
    int64_t net_blocks;
};

/* An open call of a site. */
struct hp_open_link {
    struct hp_open_link *next;
    struct hp_open_link *around; /* the enclosing zone */
    uint64_t ticks;
    uint32_t index; /* of its frame */
    bool is_timed;
    bool is_inner;   /* inside another call of the site */
    bool has_allocs; /* it has allocated or freed something */
    struct hp_open_allocs allocs;
};

/* A site, over all sessions, all threads and all callers. */
struct hp_site_sums {
    struct hp_sums sums;
    struct hp_sums read; /* as read from the sessions, before settling */
    const char *name;    /* as shown: unique among all sites */
    struct hp_location location;
    uint32_t session; /* index of the first session that has it ... */
    uint32_t id;      /* ... and its id there */
    uint32_t kind;
    bool is_by_compiler;      /* a compiler-instrumented function */
    bool is_self_scaled;      /* its self time includes untimed calls */
    bool is_limited;          /* calls were too short to time all of them: see HOTPATH_MEASURING_BOUND */
    bool has_history;         /* in a time range of a run: whether its history is known */
    uint64_t range_cpu_ns;    /* of the time range: CPU time in the function itself */
    uint64_t range_kernel_ns; /* of that, in the kernel */
    uint64_t found_cpu_ns, found_kernel_ns; /* the same as found by samples, in the whole run */
    uint64_t range_bytes;                   /* of the time range: requested by its calls themselves */
    const struct hp_task_sums
        *task; /* the task class whose polls its zones are, once tasks were requested; NULL: none */
    const struct hp_thread_label *thread; /* NULL: all threads */
    bool is_main;                         /* the main function of a process */
    uint64_t calls_inside;                /* zones of others that ran inside its calls */
    const char *plain_name;               /* the bare name, which others may share */
    const char *recorded_name;            /* as recorded: the linker's name, for instance */
    const char *signature;                /* full text of a demangled name, or NULL; private from here on */
    uint32_t name_level;
    char *name_room; /* storage for names above level 0 */
    bool is_named;
    struct hp_site_sums *next;
    struct hp_site_sums *same; /* the site that holds the sums; by thread, the one that names it */
    struct hp_stat_link *stats;
    uint32_t cpu_place; /* index + 1 in the profile's sites when CPU time was last divided; 0: none */
    uint32_t open_in;   /* number of the last thread in which it was open */
    struct hp_open_link *opens;
    struct hp_site_said *said; /* NULL: it is read once */
};

/* Whether its zones are polls of tasks: then `sums.calls` are polls, and only `task` knows how many tasks ran. */
static inline bool hp_site_is_task(const struct hp_site_sums *site)
{
    return (site->kind & ~HOTPATH_KIND_CXX_) == HOTPATH_KIND_TASK_;
}

/* Values of earlier readings of a site: see floors.h. */
struct hp_site_said {
    struct hp_sums sums;
    uint64_t timed;
    uint64_t alloc_calls, alloc_own[2], alloc_all[2], alloc_max[HP_ALLOC_MEASURES];
};

/* Stable over all readings. `kind` is an enum hp_floor_kind. */
uint64_t hp_site_key(uint64_t kind, const struct hp_site_sums *site);

/* What is only known from a site's stats, of which each thread has its own. */
struct hp_site_details {
    uint64_t min; /* ticks of a call, open ones included; UINT64_MAX: none was timed */
    uint64_t max;
    uint32_t threads; /* threads that called it */
};

/* Read on demand, because it visits all threads. */
void hp_site_details(const struct hp_site_sums *site, struct hp_site_details *ret_details);

/* The same in steps, for callers that read the stats anyway: add all stats of the site between begin and end. */
void hp_site_details_begin(struct hp_site_details *details);
void hp_site_details_add(struct hp_site_details *details, const struct hotpath_stat_ *stat);
void hp_site_details_end(struct hp_site_details *details, const struct hp_site_sums *site);

/* Unique among the sites of the run; for those of the first session, their id. */
static inline uint64_t hp_site_number(const struct hp_site_sums *site)
{
    return (uint64_t)site->session << 32 | site->id;
}

static inline uint32_t hp_thread_number(const struct hp_site_sums *site)
{
    return site->thread != NULL ? site->thread->number : 0;
}

#endif
