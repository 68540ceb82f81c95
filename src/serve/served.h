/*
 * The sessions that are being served: each is read when it is first asked for, and again while it goes on. A few are kept open; which one is meant
 * is only ever looked up in the list of sessions, so a request cannot name a file. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_SERVED_H
#define HP_SERVE_SERVED_H

#include <stdbool.h>
#include <stdint.h>

#include "body.h"
#include "function_profile.h"
#include "named_stacks.h"
#include "options.h"
#include "programs.h"
#include "reader.h"
#include "weighted.h"

#define HP_SERVED_MOST 8u           /* sessions that are open at a time */
#define HP_SERVED_METRIC_NAMES 200u /* functions of a session that have metrics */

struct hp_served {
    bool is_open;
    char path[2048]; /* of a session file, or of the folder of a run */
    struct hp_reader reader;
    struct hp_named_stacks named;
    struct hp_function_profile functions;
    struct hp_weighted weighted; /* the same, for the page */
    bool has_stacks;
    bool is_live;
    uint64_t generation;      /* 0: not read yet; another number says that there is something new */
    uint64_t ended_ns;        /* when it was found to have ended; 0: it runs, or had ended before */
    uint64_t used_ns;         /* when it was asked for last */
    uint64_t round;           /* in which it was read for those who watch */
    struct hp_body data;      /* of the page ... */
    uint64_t data_generation; /* ... of this generation */
    /* The functions that have metrics, by the hash of their names: once one has, it stays. */
    uint64_t metric_names[HP_SERVED_METRIC_NAMES];
    size_t metric_name_count;
};

struct hp_serving {
    const struct hp_program_source *source;
    const struct hp_settings *settings; /* how a report looks */
    const char *usual; /* path of the session that is meant where none is named; NULL: the newest */
    struct hp_served *served[HP_SERVED_MOST];
};

/* The session of that name, "" is the usual one, as it is now. NULL: *ret_problem says why. */
struct hp_served *hp_serving_find(struct hp_serving *serving, const char *name, const char **ret_problem);

/* Reads it anew if it goes on, or has become more. False: *ret_problem says why. */
bool hp_served_refresh(struct hp_serving *serving, struct hp_served *served, const char **ret_problem);

/*
 * The session at a path that was found before, read once in each round however many ask for it. NULL: it cannot be read, for the moment or
 * for ever.
 */
struct hp_served *hp_serving_watch(struct hp_serving *serving, const char *path, uint64_t round);

/* The data of its page, as JSON; made once for all who ask. NULL: no memory. */
const struct hp_body *hp_served_page_data(struct hp_serving *serving, struct hp_served *served);

void hp_serving_free(struct hp_serving *serving);

#endif
