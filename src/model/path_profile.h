/*
 * The critical path of a run: the chain of work and waits that decided when it ended. It is the path that leads to
 * the first thread of the process, at its end or now (src/record/paths/path_sums.h): which functions have the time
 * on it, whichever threads they ran on, and what was waited for along it. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_PATH_PROFILE_H
#define HP_MODEL_PATH_PROFILE_H

#include "profile.h"

struct hp_cpu;
struct hp_function_profile;
struct hp_lock_profile;
struct hp_lock_row;
struct hp_run_waits;

/* What the time of a function on the path is. */
enum hp_path_time {
    HP_PATH_RUNNING, /* or ready to run, or nothing else is known */
    HP_PATH_WAITING, /* for something that no thread of the process releases: a disk, a timer, another process */
    HP_PATH_UNKNOWN, /* for another thread: which one is not known */
    HP_PATH_WAKING,  /* between the release of something and the moment at which the woken thread ran */
    HP_PATH_QUEUED,  /* ready to run, without a CPU: estimated from probes */
    HP_PATH_REST,    /* functions beyond the number that is told apart */
    HP_PATH_IDLE,    /* the first thread waited for work from outside of the run: in no share */
    HP_PATH_TIMES
};

struct hp_path_function {
    const struct hp_site_sums *site;       /* NULL: outside of all measured functions, or none of them */
    const struct hp_found_function *found; /* the same of programs without measured functions; NULL: unknown */
    enum hp_path_time time;                /* what most of it is */
    const char *cause;                     /* what it waits for, if it is HP_PATH_WAITING; NULL: not known */
    uint64_t ticks;
    uint64_t unknown;              /* of that, waits whose waker is unknown */
    uint64_t by_child, by_message; /* of these: for children; for what other processes of the run send or receive */
};

/* Time on the path in which a thread further along it waited for that. */
struct hp_path_for {
    uint32_t kind;                     /* enum hp_path_kind */
    const char *name;                  /* "": unknown */
    const struct hp_lock_row *lock;    /* NULL: it is none with a row */
    const struct hp_site_sums *holder; /* where the waker was when it released it; NULL: outside */
    const char *caller;                /* ... and the function outside of all measured ones; NULL: unknown */
    uint64_t ticks;
    uint64_t count;
};

struct hp_run_path {
    bool is_followed;
    size_t session;   /* of the run */
    uint64_t ticks;   /* of all functions, in all, but not idle */
    uint64_t waking;  /* of that; without the run queue */
    uint64_t queued;  /* of that, in the run queue */
    uint64_t latency; /* of that, between releases and running, with the run queue */
    uint64_t idle;    /* the rest of the time from its start to its end, without work from outside */
    uint64_t known;   /* time along the path that was waited for, and with whose waker it goes on */
    uint64_t unknown;
    struct hp_path_function **functions; /* the longest first */
    size_t function_count;
    struct hp_path_for **waits; /* the longest first */
    size_t wait_count;
    uint64_t *node_ns;       /* by node of the function profile: time on the path; NULL: functions are measured */
    uint64_t end_waited;     /* how long the thread at its end waited for known wakers itself */
    uint32_t end_kind;       /* what it waited for when the path last came to it: enum hp_path_kind */
    uint32_t end_waker_tid;  /* from this thread; 0: it never did */
    const char *end_waker;   /* its name */
    const char *end_program; /* the process that it waited for most of the time instead; NULL: none */
    uint64_t lost;           /* hand-overs that were not recorded */
    uint32_t peer;           /* private: the process at the other end of most of by_message */
};

/* What else is known of the run. */
struct hp_path_sources {
    const struct hp_profile *profile;
    const struct hp_run_waits *waits;            /* NULL: not watched */
    const struct hp_function_profile *functions; /* NULL: no stacks */
    const struct hp_lock_profile *locks;         /* NULL: none */
    const struct hp_cpu *cpu;                    /* NULL: not sampled */
    double outside_cpu_ns;                       /* used outside of all measured functions */
};

/* That of one session of the run, by its number. False: no memory. */
bool hp_path_of_session(struct hp_arena *arena, const struct hp_path_sources *sources, size_t session,
                        struct hp_run_path *ret_path);
/* Sorts functions and waits. */
void hp_path_sort(struct hp_run_path *path);

/* Whether such a wait (enum hp_wait_cause) ends because another thread or process does something. */
bool hp_path_is_for_waker(uint32_t cause);
/* Whether it may be for a message of another process of the run: a wait at a pipe or a socket. */
bool hp_path_is_message(uint32_t cause);

bool hp_run_has_path(const struct hp_run *run);

/* The name of a function on the path: "<wake-up>" and the like if it is none. */
const char *hp_path_function_name(const struct hp_path_function *function);

/* "lock", "channel" */
const char *hp_path_kind_name(uint32_t kind);
#define HP_PATH_KIND_WORDS "thread|lock|condition|semaphore|barrier|channel"

/* A share of the path. */
static inline double hp_path_part(const struct hp_run_path *path, uint64_t ticks)
{
    return path->ticks > 0 ? (double)ticks / (double)path->ticks : 0;
}

/* Time on the path in which a thread further along it waited for that lock, whoever had it. */
uint64_t hp_path_ticks_for_lock(const struct hp_run_path *path, const struct hp_lock_row *lock);

/* The part of the path's waits whose wakers are known; 1 if there are no waits. */
double hp_path_known_part(const struct hp_run_path *path);

#endif
