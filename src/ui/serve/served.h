/*
 * The sessions being served: each is read when first requested, and again while it goes on. A few are kept open. A
 * name is only looked up in the list of sessions, so a request cannot name a file. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_SERVED_H
#define HP_SERVE_SERVED_H

#include <stdbool.h>
#include <stdint.h>

#include "body.h"
#include "function_profile.h"
#include "metric_text.h"
#include "metrics.h"
#include "named_stacks.h"
#include "options.h"
#include "programs.h"
#include "reader.h"
#include "side_watch.h"
#include "stack_watch.h"
#include "weighted.h"
#include <stddef.h>

#define HP_SERVED_MOST 8u /* sessions open at a time */

struct hp_served {
    bool is_open;
    char path[2048]; /* of a session file, or of the folder of a run */
    struct hp_reader reader;
    struct hp_stack_watch watch;
    struct hp_named_stacks named;
    struct hp_function_profile functions;
    struct hp_weighted weighted; /* the same, for the page */
    bool has_stacks;
    struct hp_side_watch sides;
    struct hp_program_facts facts;
    bool is_live;
    uint64_t generation;               /* 0: not read yet; changes when there are new data */
    uint64_t ended_ns;                 /* when its end was noticed; 0: it runs, or had ended before */
    uint64_t used_ns;                  /* time of the last request */
    uint64_t round;                    /* in which it was read for watchers */
    struct hp_body data;               /* of the page ... */
    uint64_t data_generation;          /* ... of this generation */
    struct hp_metric_sums metric_sums; /* what has metrics keeps them */
    struct hp_metric_points metric_points;
};

struct hp_serving {
    const struct hp_program_source *source;
    const struct hp_settings *settings; /* how a report looks */
    const char *usual;                  /* path of the session used if none is named; NULL: the newest */
    struct hp_served *served[HP_SERVED_MOST];
    struct hp_host_metrics host_metrics; /* of all sessions; whether it hides texts is for profiles, too */
    struct hp_metric_more more;          /* on its page of metrics */
};

/* The session of that name ("": the default one), up to date. NULL: *ret_problem says why. */
struct hp_served *hp_serving_find(struct hp_serving *serving, const char *name, const char **ret_problem);

/* Reads it again if it is live, or has new parts. False: *ret_problem says why. */
bool hp_served_refresh(struct hp_serving *serving, struct hp_served *served, const char **ret_problem);

/*
 * The session at a path that was found before, read once per round for all watchers. NULL: it cannot be read, now
 * or ever.
 */
struct hp_served *hp_serving_watch(struct hp_serving *serving, const char *path, uint64_t round);

/*
 * The session of the same program that was started again after this one has ended (hp_sessions_restarted). False:
 * none.
 */
bool hp_serving_restarted(struct hp_serving *serving, struct hp_served *served,
                          struct hp_stored_session *ret_session);

/* Reads the sessions at a path once. False: they cannot be read. Close the reader in either case. */
bool hp_serving_read(const struct hp_serving *serving, const char *path, struct hp_reader *ret_reader);

/* The data of its page, as JSON; made once for all requests. NULL: no memory. */
const struct hp_body *hp_served_page_data(struct hp_serving *serving, struct hp_served *served);

void hp_serving_free(struct hp_serving *serving);

#endif
