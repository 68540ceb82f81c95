/* A run as weighted stacks: what its sessions and its stacks say, for `hotpath export` and `hotpath flame`. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_RUN_WEIGHTS_H
#define HP_CLI_RUN_WEIGHTS_H

#include <stdio.h>

#include "export.h"
#include "reader.h"
#include "run_stacks.h"
#include "sessions.h"

struct hp_run_weights {
    struct hp_sessions sessions;
    struct hp_reader reader;
    struct hp_run_stacks stacks;
    char command[512];
};

/*
 * Adds a run, by what was typed as in session_choice.h. False, with one line on stderr: it cannot be read. The weighted stacks are
 * valid as long as it is not closed, which is to be done in either case.
 */
bool hp_run_weights_open(struct hp_run_weights *run, const struct hp_settings *settings, const char *name,
                         struct hp_weighted *weighted);
void hp_run_weights_close(struct hp_run_weights *run);

/* Which program it was, and when. */
void hp_run_weights_describe(struct hp_run_weights *run, struct hp_export *export);

/* All dimensions that a run has, and that a format can have. */
void hp_export_take_all(struct hp_export *export, const struct hp_export_format *format);

/* Writes it. `path` is that of an open file. Returns an exit status; what is wrong is said in one line. */
int hp_export_to(const struct hp_export *export,
                 bool (*write)(const struct hp_export *export, struct hp_text *text), FILE *stream,
                 const char *path);

#endif
