/* One report from one or several session files, to a stream or a file. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_SHOW_H
#define HP_CLI_SHOW_H

#include <stdio.h>

#include "moment.h"
#include "options.h"
#include "sessions.h"

/* The stretch of the run that is shown, where moments are given; without, it begins and ends with the run. */
struct hp_show_stretch {
    struct hp_moment from, to;
};

/* What a page is to have beside the report. */
struct hp_show_page {
    bool has_sources;    /* source text of measured functions */
    const char *against; /* the run that the flame graph is compared with, as it was typed; NULL: none */
};

/*
 * Shows all of `sessions` as one, the first as the principal one. To the file of the settings if they name one, else to
 * `stream`; above a table stands which program it is when `is_named`. Returns an exit status; what is wrong is said in one line.
 */
int hp_show(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream, bool is_named);

/* The same as a page, whatever the format of the settings. */
int hp_show_page(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream,
                 const struct hp_show_page *page);

/* The same of a stretch of the run. */
int hp_show_stretch(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream,
                    const struct hp_show_stretch *stretch);

#endif
