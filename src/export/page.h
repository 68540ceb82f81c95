/*
 * The page: a report for the browser, as one file. It has the sections of the report as JSON, each with its columns
 * and rows, and the history of the run. The script (src/page) does the rest. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_PAGE_H
#define HP_EXPORT_PAGE_H

#include <stdbool.h>

#include "json.h"
#include "model.h"
#include "options.h"
#include "text.h"
#include "weighted.h"

struct hp_page_wishes {
    bool is_served;                     /* by `hotpath serve`: the page asks it for newer data */
    const struct hp_weighted *weighted; /* stacks; NULL: none */
    bool has_sources;                   /* source text of measured functions, which may be private */
    const char *compared_with;          /* the command of the run that they are compared with; NULL: none */
};

/* Writes the page of a run. `settings` say how a report would look; the page has all rows. False: no memory. */
bool hp_page_write(struct hp_model *model, const struct hp_settings *settings, const struct hp_page_wishes *wishes,
                   struct hp_text *out);

/* Only its data, as JSON that is safe inside a script element. */
bool hp_page_write_data(struct hp_model *model, const struct hp_settings *settings,
                        const struct hp_page_wishes *wishes, struct hp_text *out);

/* What comes before the data and after it. A served page may connect to its own server, and nowhere else. */
void hp_page_write_head(bool is_served, struct hp_text *out);
void hp_page_write_tail(struct hp_text *out);

/*
 * Source text of the functions in the section timing, as a JSON value, as far as files can be read
 * (page_sources.c).
 */
void hp_page_put_sources(struct hp_json *json, const hotpath_results *results);

/* The numbers over time, as a JSON value; null: no history (page_history.c). False: no memory. */
bool hp_page_put_history(struct hp_json *json, struct hp_model *model);

/* The stacks, as a JSON value; null: none (page_stacks.c). False: no memory. */
bool hp_page_put_stacks(struct hp_json *json, const struct hp_weighted *weighted, const char *compared_with);

/*
 * The call tree thread by thread, as an array of JSON; it is empty where that would take too long (page_threads.c).
 * False: no memory.
 */
bool hp_page_put_threads(struct hp_json *json, const hotpath_results *results, bool is_served);

#endif
