/*
 * A run as weighted stacks, from its sessions and its stack samples, for `hotpath export` and flame graphs.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_RUN_STACKS_H
#define HP_CLI_RUN_STACKS_H

#include <stdio.h>

#include "export.h"
#include "function_sums.h"
#include "io_names.h"
#include "lock_names.h"
#include "named_stacks.h"
#include "reader.h"
#include "sessions.h"
#include "timestamp.h"

/* ---------------------------------------------------------------------------------------------------- stacks */

/* The stacks stored with the sessions of a run. */

struct hp_run_stacks {
    struct hp_named_stacks named;
    struct hp_function_profile functions;
    struct hp_named_stacks range; /* of a time range, once it is cut */
    struct hp_function_profile range_functions;
};

/* False: there are none; one that exists but cannot be read costs one line on stderr. Free them in either case. */
bool hp_run_stacks_read(const struct hp_sessions *sessions, struct hp_run_stacks *ret_stacks);
void hp_run_stacks_free(struct hp_run_stacks *stacks);

/* The locks stored with the sessions of a run, of these processes only. False: there are none. Free them anyway. */
bool hp_run_locks_read(const struct hp_sessions *sessions, struct hp_named_locks *ret_locks);
/* The same for their I/O. */
bool hp_run_io_read(const struct hp_sessions *sessions, struct hp_named_io *ret_io);

/*
 * Cuts out the stacks between two moments of the run; `to_ns` may be its end. False: they are not known by time, or
 * there is no memory.
 */
bool hp_run_stacks_cut(struct hp_run_stacks *stacks, const struct hp_run *run, uint64_t from_ns, uint64_t to_ns);

/* Both moments of a part of the run. False, with one line on stderr: there is nothing between them. */
bool hp_run_limits(const struct hp_run *run, const struct hp_time_limits *limits, uint64_t *ret_from_ns,
                   uint64_t *ret_to_ns);

/* --------------------------------------------------------------------------------------------------- weights */

struct hp_run_weights {
    struct hp_sessions sessions;
    struct hp_reader reader;
    struct hp_run_stacks stacks;
    char command[512];
    bool has_range; /* these are about a part of the run */
    uint64_t from_ns, to_ns;
};

/*
 * Adds a run, named as in sessions.h, or a part of it, which has only what stacks say. False, with one line on
 * stderr: it cannot be read. The weighted stacks are valid until it is closed; close it in either case.
 */
bool hp_run_weights_open(struct hp_run_weights *run, const struct hp_settings *settings, const char *name,
                         const struct hp_time_limits *limits, struct hp_weighted *weighted);
void hp_run_weights_close(struct hp_run_weights *run);

/* Sets which program it was, and when. */
void hp_run_weights_describe(struct hp_run_weights *run, struct hp_export *export);

/* Takes all dimensions that the run has and the format supports. */
void hp_export_take_all(struct hp_export *export, const struct hp_export_format *format);

/* Writes it to an open file; `path` is that file's. Returns an exit status; an error costs one line on stderr. */
int hp_export_to(const struct hp_export *export,
                 bool (*write)(const struct hp_export *export, struct hp_text *text), FILE *stream,
                 const char *path);

#endif
