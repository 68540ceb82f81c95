/*
 * The page: a report for the browser, as one file. It has the sections of the report as JSON, each with its columns
 * and rows, and the history of the run. The script (src/ui/page) does the rest. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_PAGE_H
#define HP_EXPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "model.h"
#include "named_stacks.h"
#include "options.h"
#include "text.h"
#include "weighted.h"

struct hp_page_content {
    bool is_served;                      /* by `hotpath serve`: the page asks it for newer data */
    const struct hp_weighted *weighted;  /* stacks, as hp_page_weighted begins them; NULL: none */
    const struct hp_named_stacks *named; /* those of the run, which were added last; NULL: none */
    const char *session;                 /* its name, where it is served; NULL: it is not */
    bool has_sources;                    /* source text of measured functions, which may be private */
    bool is_flame;                       /* the flame graph comes first: `hotpath open --view flame` */
    const char *compared_with;           /* the command of the run that they are compared with; NULL: none */
    size_t runs_now, runs_before;        /* how many runs are in the stacks of both sides; 0 is 1 */
    const char *changes;                 /* since that run, in lines (src/compare/diff_output.h); NULL: not told */
};

/* Writes the page of a run. `settings` say how a report would look; the page has all rows. False: no memory. */
bool hp_page_write(struct hp_model *model, const struct hp_settings *settings,
                   const struct hp_page_content *content, struct hp_text *out);

/* Only its data, as JSON that is safe inside a script element. */
bool hp_page_write_data(struct hp_model *model, const struct hp_settings *settings,
                        const struct hp_page_content *content, struct hp_text *out);

/* What comes before the data and after it. A served page may connect to its own server, and nowhere else. */
void hp_page_write_head(bool is_served, struct hp_text *out);
void hp_page_write_tail(struct hp_text *out);

/*
 * Source text of the functions in the section timing, as a JSON value, as far as files can be read
 *.
 */
void hp_page_put_sources(struct hp_json *json, const hotpath_results *results);

/* The numbers over time, as a JSON value; null: no history (page_history.c). False: no memory. */
bool hp_page_put_history(struct hp_json *json, struct hp_model *model);

/* Durations of calls over time, as a JSON value; null: unknown (page_heat.c). False: no memory. */
bool hp_page_put_heat(struct hp_json *json, struct hp_model *model);

/* The stacks, as a JSON value; null: none (page_stacks.c). False: no memory. */
bool hp_page_put_stacks(struct hp_json *json, const struct hp_page_content *content);

/* When they had their weights, as a member of that; null: unknown (page_slots.c). False: no memory. */
bool hp_page_put_slots(struct hp_json *json, const struct hp_page_content *content);

/* Weighted stacks as a page has them, still empty: by program and process, without what says nothing to people. */
struct hp_weighted hp_page_weighted(void);

/*
 * The call tree thread by thread, as an array of JSON; it is empty where that would take too long (page_threads.c).
 * False: no memory.
 */
bool hp_page_put_threads(struct hp_json *json, const hotpath_results *results, bool is_served);

/* ---------------------------------------------------------------------------------------------------- page data */

/* Data inside a page. */

/* A sink that adds JSON to the text `page`: nothing in it can end the script element around it. */
bool hp_page_put_data(void *page, const char *bytes, size_t length);

/* -------------------------------------------------------------------------------------------------- page column */

/*
 * A column of numbers for the page, as text: seven bits in each byte, the lowest first, and the eighth bit says
 * that more follow; all of it in base64. A browser reads that ten times as fast as numbers in JSON.
 *
 *     struct hp_page_column column;
 *     if (!hp_page_column_begin(&column, most_numbers)) ...
 *     hp_page_column_add(&column, 1000);
 *     hp_page_column_put(&column, json, "own");   which empties it
 *     hp_page_column_free(&column);
 */

struct hp_page_column {
    unsigned char *bytes;
    size_t length;
};

/* Room for so many numbers. False: no memory. */
bool hp_page_column_begin(struct hp_page_column *column, size_t most_numbers);
void hp_page_column_add(struct hp_page_column *column, uint64_t number);

/* Writes the column as a member of an object, and empties it. False: no memory. */
bool hp_page_column_put(struct hp_page_column *column, struct hp_json *json, const char *key);
void hp_page_column_free(struct hp_page_column *column);

/* -------------------------------------------------------------------------------------------- embedded pages */

/* The page of a report, before and after the data: src/ui/page, converted to C by cmake/embed_page.cmake. */
extern const unsigned char hp_report_page_head[], hp_report_page_tail[];
extern const size_t hp_report_page_head_size, hp_report_page_tail_size;

/* The page of the list of sessions, without the list. */
extern const unsigned char hp_sessions_page_head[];
extern const size_t hp_sessions_page_head_size;
extern const unsigned char hp_sessions_page_tail[];
extern const size_t hp_sessions_page_tail_size;

#endif
