/*
 * The program that is watched: its sessions, and what is known of the stretch of time that is shown. All numbers are those of the
 * model and its sections, so `hotpath report --from --to` of the same stretch has the same ones.
 *
 * Everything that a refresh gives is void after the next one. SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_WATCHED_H
#define HP_CONSOLE_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history.h"
#include "options.h"
#include "reader.h"
#include "section.h"
#include "wait_profile.h"

/* What threads do with their time, as far as it has a fill of its own. */
enum hp_activity {
    HP_PART_USER, /* also where nobody knows which of the two */
    HP_PART_KERNEL,
    HP_PART_QUEUE,
    HP_PART_DISK,
    HP_PART_LOCK,
    HP_PART_NETWORK,
    HP_PART_SLEEP, /* and whatever else */
    HP_PARTS
};

enum hp_activity hp_part_of_cause(uint32_t cause);

/* A measured function in the stretch that is shown. Times are threads: how many were in it on average. */
struct hp_watched_function {
    uint64_t id;
    const struct hp_site_sums *site;
    const char *name;
    double own;   /* in itself */
    double work;  /* the same without what is idle */
    double total; /* with what it called */
    double share; /* percent of all work */
    double calls;
    double calls_per_second;
    double average_ns;
    double bytes_per_second;
    double parts[HP_PARTS];
    const char *mostly; /* "lock"; NULL: not known */
    double mostly_percent;
    const char *verdict; /* "waiting" */
    const char *cause;   /* "lock held in update"; NULL: none */
    const char *why;     /* a sentence; NULL: none */
    bool has_share;
    bool has_average;
    bool has_bytes;
    bool knows_parts;
    bool is_idle;
};

enum hp_window_kind {
    HP_WINDOW_LAST,   /* the latest seconds */
    HP_WINDOW_TOTALS, /* since the start */
    HP_WINDOW_SINCE,  /* since a moment */
    HP_WINDOW_PAST    /* between two */
};

struct hp_window {
    enum hp_window_kind kind;
    uint64_t length_ns;      /* of HP_WINDOW_LAST */
    uint64_t from_ns, to_ns; /* of the others, since the run began */
};

/* What a refresh is asked for. */
struct hp_wish {
    struct hp_window window;
    const char *whole;    /* sections of all of the run, "threads,calltree"; "": none */
    const char *stretch;  /* and of the stretch, if they have a history; "": none */
    const char *slowest;  /* pattern of the function whose slowest call is wanted; "": none */
    unsigned percentiles; /* that sections show */
};

struct hp_watched {
    bool is_open;
    char problem[400]; /* why it is not, or what went wrong last; "": nothing */
    struct hp_reader reader;
    struct hp_settings whole_settings, stretch_settings;
    /* What the latest refresh gave. */
    bool has_data;
    bool is_live;
    bool has_history; /* so stretches are known */
    bool is_whole;    /* what is shown is all of the run */
    bool has_cpus;    /* how many processors were busy is known */
    bool knows_waits; /* somebody watched */
    enum hp_snapshot_state state;
    uint32_t pid;
    const char *program; /* the last part of its path */
    const char *command;
    size_t processes;
    uint64_t elapsed_ns;
    uint64_t from_ns, to_ns; /* the stretch */
    uint64_t threads;        /* that live */
    uint64_t rss_bytes;      /* 0: not known */
    double cpus;             /* processors that were busy with it */
    uint64_t lost;           /* what could not be recorded */
    double parts[HP_PARTS];  /* threads, of all of it, idle ones not */
    double idle;             /* threads */
    const char *headline;    /* the verdict of the report; "": none */
    struct hp_history history;
    struct hp_watched_function *functions;
    size_t function_count;
    size_t unknown;                   /* functions that have no history, and so are not there in a stretch */
    double work;                      /* of all functions */
    const hotpath_results *whole;     /* NULL: none were asked for */
    const hotpath_results *stretch;   /* of the stretch; always with bottlenecks */
    const struct hp_run_waits *waits; /* of the stretch; NULL: nobody watched */
};

/* `settings` is how a report would look. */
void hp_watched_init(struct hp_watched *watched, const struct hp_settings *settings);

/* Sessions to be read; more can come later. False: `problem` says why. */
bool hp_watched_add(struct hp_watched *watched, const char *path);

/* Whether that one is read already. */
bool hp_watched_has(const struct hp_watched *watched, const char *path);

/* Reads all of it anew. False: `problem` says why, and there is nothing to show. */
bool hp_watched_refresh(struct hp_watched *watched, const struct hp_wish *wish);

void hp_watched_close(struct hp_watched *watched);

/* NULL: it is not there. */
const struct hotpath_section *hp_watched_section(const hotpath_results *results, const char *name);
const struct hp_watched_function *hp_watched_function(const struct hp_watched *watched, uint64_t id);

/* Adds threads of each step of the history to values[part], of which there are HP_PARTS and one for idle ones. */
void hp_watched_parts_history(const struct hp_watched *watched, double (*values)[HP_HISTORY_COLUMNS]);

#endif
