/*
 * The runs that are compared: reports in JSON, sessions, runs, and folders of these. A session is compared by the
 * report that it would write. Errors cost one line on stderr. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_COMPARED_RUNS_H
#define HP_CLI_COMPARED_RUNS_H

#include "arguments.h"
#include "comparison.h"
#include "timestamp.h"

#define EXIT_UNJUDGED 2 /* nothing could be compared */

struct hp_compared_runs {
    struct hp_settings settings;  /* of reports that are made here */
    struct hp_time_limits limits; /* the part of each run that counts; reports have no parts */
    struct hp_measured_run *all;
    size_t count, room;
};

/* All that a comparison needs, whatever the environment says about reports for people. */
void hp_compared_runs_begin(struct hp_compared_runs *runs, const struct hp_arguments *arguments);

/* Adds what each name means. False: it cannot be read. */
bool hp_compared_runs_add(struct hp_compared_runs *runs, char **names, int count);

/* Adds one report from a file. */
bool hp_compared_runs_add_report(struct hp_compared_runs *runs, const char *path);

/* Writes the report of a run, by which it is compared, to a file. */
bool hp_compared_runs_write(struct hp_compared_runs *runs, const char *run, const char *path);

/*
 * A comparison of the first `before_count` runs of one and the first `now_count` of another, which may be the same;
 * free its `runs`. False, with a line on stderr: no memory.
 */
bool hp_compared_runs_join(struct hp_comparison *ret_comparison, const struct hp_measured_run *before,
                           size_t before_count, const struct hp_measured_run *now, size_t now_count);

void hp_compared_runs_free(struct hp_compared_runs *runs);

#endif
