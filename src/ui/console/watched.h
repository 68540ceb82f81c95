/*
 * The watched program: its sessions, and its numbers in the current window. All numbers come from the model and its
 * sections, so `hotpath report --from --to` of the same window shows the same.
 *
 * All results of a refresh are invalid after the next one. SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_WATCHED_H
#define HP_CONSOLE_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "found.h"
#include "history.h"
#include "options.h"
#include "reader.h"
#include "section.h"
#include "side_watch.h"
#include "wait_profile.h"

/* A function in the window, measured or sampled. Times are in threads: how many were in it on average. */
struct hp_watched_function {
    uint64_t id;
    const struct hp_site_sums *site;       /* NULL: it was sampled */
    const struct hp_found_function *found; /* NULL: it was measured */
    const char *name;
    const char *file; /* its source; "": unknown */
    uint32_t line;    /* 0: unknown */
    double own;       /* own time; of a sampled one, without idle time */
    double work;      /* the same without idle time */
    double total;     /* with callees */
    double idle;      /* of a sampled one */
    double share;     /* percent of all work */
    double before;    /* `own` in the window before */
    double change;    /* since then, in percentage points of the work of all of them; 0: it may be chance */
    double calls;     /* of tasks, how many there were; unknown in a window */
    double calls_per_second;
    double polls_per_second; /* of tasks */
    double average_ns;
    double bytes_per_second;
    double parts[HP_PARTS];
    const char *mostly; /* "lock"; NULL: unknown */
    double mostly_percent;
    const char *verdict; /* "waiting" */
    const char *cause;   /* "lock held in update"; NULL: none */
    const char *why;     /* a sentence; NULL: none */
    bool is_task;
    bool has_calls;
    bool has_share;
    bool has_before;
    bool has_change;
    bool has_average;
    bool has_bytes;
    bool knows_parts;
    bool is_idle;
};

struct hp_watched_functions {
    struct hp_watched_function *all;
    size_t count;
    double work; /* of all of them */
};

enum hp_window_kind {
    HP_WINDOW_LAST,   /* the latest seconds */
    HP_WINDOW_TOTALS, /* since the start */
    HP_WINDOW_SINCE,  /* since a moment */
    HP_WINDOW_PAST    /* between two moments */
};

struct hp_window {
    enum hp_window_kind kind;
    uint64_t length_ns;      /* of HP_WINDOW_LAST */
    uint64_t from_ns, to_ns; /* of the others, since the run began */
};

/* What a refresh should provide. */
struct hp_request {
    struct hp_window window;
    const char *whole;    /* sections of the whole run, "threads,calltree"; "": none */
    const char *range;    /* and of the window, if they have a history; "": none */
    const char *slowest;  /* pattern of the function whose slowest call is wanted; "": none */
    unsigned percentiles; /* that sections show */
};

struct hp_watched {
    bool is_open;
    char problem[400]; /* why there are no data, or the last error; "": none */
    struct hp_reader reader;
    struct hp_found found; /* sampled functions */
    struct hp_side_watch side_watch;
    const struct hp_lock_profile *locks; /* of the whole run; NULL: not counted */
    struct hp_settings whole_settings, range_settings;
    /* Results of the latest refresh. */
    bool has_data;
    bool is_live;
    bool is_recorded;  /* by `hotpath record`: whether the process has ended is not known */
    bool has_history;  /* so windows are possible */
    bool has_measured; /* functions are measured, in the window or not */
    bool is_whole;     /* the window is the whole run */
    bool has_cpus;     /* the number of busy CPUs is known */
    bool knows_waits;  /* waits were watched */
    enum hp_snapshot_state state;
    uint32_t pid;
    const char *program; /* the last part of its path */
    const char *command;
    const char *busiest;    /* of several programs, the one with most of the CPU time; NULL: there is one */
    double busiest_percent; /* of the CPU time of all */
    size_t processes;
    uint64_t elapsed_ns;
    uint64_t from_ns, to_ns; /* the window */
    uint64_t before_ns;      /* where the window before it begins; `from_ns`: there is none */
    uint64_t threads;        /* live threads */
    uint64_t rss_bytes;      /* 0: unknown */
    double cpus;             /* CPUs that it kept busy */
    uint64_t lost;           /* records that were lost */
    double parts[HP_PARTS];  /* threads, over the whole program, without idle ones */
    double idle;             /* threads */
    const char *headline;    /* the verdict of the report; "": none */
    struct hp_history history;
    struct hp_watched_functions measured, sampled;
    size_t unknown;                   /* measured functions without history, which are missing in a window */
    const hotpath_results *whole;     /* NULL: none were requested */
    const hotpath_results *range;     /* of the window; always has bottlenecks */
    const struct hp_run_waits *waits; /* of the window; NULL: not watched */
};

/* A session or the folder of a run; `settings` say how a report would look. */
void hp_watched_init(struct hp_watched *watched, const struct hp_settings *settings, const char *path);

/* Adds a session to read; more can be added later. False: `problem` says why. */
bool hp_watched_add(struct hp_watched *watched, const char *path);

/* Whether that one is read already. */
bool hp_watched_has(const struct hp_watched *watched, const char *path);

/* Reads everything again. False: `problem` says why, and there is nothing to show. */
bool hp_watched_refresh(struct hp_watched *watched, const struct hp_request *request);

void hp_watched_close(struct hp_watched *watched);

/* Compares with the window before. */
void hp_watched_find_changes(struct hp_watched_functions *functions);

/* Makes the list of sampled functions (sampled.c). False: no memory. */
bool hp_watched_add_sampled(struct hp_watched *watched);

/* The part of the run that sampled functions are of, in nanoseconds. */
double hp_watched_sampled_ns(const struct hp_watched *watched);

/* NULL: it is not there. */
const struct hotpath_section *hp_watched_section(const hotpath_results *results, const char *name);
const struct hp_watched_function *hp_watched_function(const struct hp_watched_functions *functions, uint64_t id);

/* Adds the threads in each step of the history to values[part]; HP_PARTS parts and one for idle threads. */
void hp_watched_parts_history(const struct hp_watched *watched, double (*values)[HP_HISTORY_COLUMNS]);

#endif
