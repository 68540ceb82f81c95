/* Prints one report from one or several session files, to a stream or a file. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_REPORT_OUTPUT_H
#define HP_CLI_REPORT_OUTPUT_H

#include <stdio.h>

#include "io_names.h"
#include "lock_names.h"
#include "options.h"
#include "reader.h"
#include "run_stacks.h"
#include "sessions.h"
#include "text.h"
#include "timestamp.h"

/* ---------------------------------------------------------------------------------------------- output files */

/* Output files that users name. */

/*
 * Opens a file for writing and creates the folders above it. A FIFO without a reader is an error, not a wait; with
 * a reader, writing may block, as for any output. NULL, with one line on stderr: it cannot be written.
 * What the file has is replaced by what is written, and stays if nothing is.
 */
FILE *hp_output_open(const char *path);

/* Closes it. Returns `status`, or EXIT_FAILED with one line on stderr: not everything could be written. */
int hp_output_close(FILE *stream, const char *path, int status);

/* Puts something; false, after a line on stderr: it is not complete. */
typedef bool hp_output_writer(void *context, struct hp_text *text);

/* False, with one line on stderr: "cannot write WHAT". */
bool hp_output_put(FILE *stream, const char *what, hp_output_writer *put, void *context);
/* The same to a file, or to standard output if the path is NULL. */
bool hp_output_put_to(const char *path, const char *what, hp_output_writer *put, void *context);

/* Creates a page in the temporary folder, which only we can read. NULL: see errno. */
FILE *hp_output_temporary(const char *program, char *path, size_t size);

/* --------------------------------------------------------------------------------------------------- reports */

/* The sessions of a run, or a part of it, open: all that a report is made of. */
struct hp_opened_run {
    struct hp_reader reader;
    struct hp_run_stacks stacks;
    struct hp_named_locks locks;
    struct hp_named_io io;
    struct hp_program_facts facts;
};

/*
 * Opens them; `range` may be NULL. Close it in either case. False, with one line on stderr: they cannot be read, or
 * there is no such part.
 */
bool hp_opened_run_open(struct hp_opened_run *run, const struct hp_sessions *sessions,
                        const struct hp_time_limits *range);
void hp_opened_run_close(struct hp_opened_run *run);

/* What a page has besides the report. */
struct hp_show_page {
    bool has_sources;    /* source text of measured functions */
    bool is_flame;       /* the flame graph comes first; a run without stacks and zones is an error */
    bool is_by_zone;     /* each stack begins with the zone that it was in */
    const char *against; /* the run to compare the flame graph with, as the user named it; NULL: none */
    /* Further runs of both sides, those of before first: the flame graph is the mean of all. */
    const char *const *further;
    size_t further_before, further_now;
    const char *changes; /* what a comparison of all runs says; NULL: there was none */
};

/*
 * Shows all `sessions` as one run; the first is the primary one. Writes to the file that the settings name, else
 * to `stream`. If `is_named`, the program is named above a table. Returns an exit status; an error costs one line
 * on stderr.
 */
int hp_show(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream, bool is_named);

/* The same as a page, regardless of the format in the settings. */
int hp_show_page(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream,
                 const struct hp_show_page *page);

/* The same for a part of the run. */
int hp_show_range(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream,
                  const struct hp_time_limits *range);

/* What the console and the server can show. The settings must outlive it. */
struct hp_program_source hp_program_source_of(const struct hp_settings *settings);

#endif
