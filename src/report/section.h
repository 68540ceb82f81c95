/*
 * The one row model: a section is a kind of table (timing, call tree, ...), described by its columns and filled by
 * one function from the sessions of a run. Renderers know columns and units, never sections; a new section is a new
 * file in this folder and one line in sections.def.
 *
 *   results ─▶ sections ─▶ columns (key, title, unit)
 *                       └▶ rows ─▶ cells, one per column
 *
 * All memory comes from an arena of mapped memory, so results can be built in a signal handler. Functions that
 * return a pointer return NULL if memory runs out. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_SECTION_H
#define HP_REPORT_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns.h"
#include "hotpath.h"
#include "labels.h"
#include "model.h"
#include "name_marks.h"
#include "object_profile.h"
#include "options.h"
#include "pattern_list.h"
#include "text.h"

struct hp_site_sums;

#define HP_MAX_NOTES 8u
#define HP_MAX_TOTALS 16u
#define HP_MAX_SECTIONS 40u
#define HP_MAX_WARNINGS 16u

struct hp_cell {
    bool has_value;
    uint64_t count;   /* COUNT, BYTES, INSTANT; SIGNED_COUNT, SIGNED_BYTES as an int64_t */
    double number;    /* NS, PERCENT, NUMBER, RATE, VALUE; an integer is also in `count`, as an int64_t */
    const char *text; /* TEXT, STATE; "file:line" for locations, "name tid" for threads */
    union {
        const struct hp_location *location;        /* HP_COLUMN_LOCATION */
        const struct hp_thread_label *thread;      /* HP_COLUMN_THREAD */
        const struct hotpath_histogram *histogram; /* HISTOGRAM */
        const struct hotpath_series *series;       /* SERIES */
    };
};

struct hp_row {
    struct hp_cell *cells; /* one per column */
    uint64_t id;           /* from its content (identity.h); 0: from its name; unique in the end */
    uint32_t parent;       /* in a tree, the row above it, from 1; 0: none. Set at the end */
    uint32_t depth;        /* in a tree; rows come parent first */
    bool is_open;          /* includes something that has not ended */
    bool is_rough;         /* measuring may be a large part of its numbers */
    bool is_main;          /* the row that shares refer to */
    bool is_sampled;       /* some of its calls, items or levels were not measured */
    bool is_self_sampled;  /* some inner calls were not, so its self time is an estimate */
};

/* The order of a section's rows, or of siblings in a tree (order.h). */
struct hp_order {
    size_t column;
    bool is_ascending;
    bool is_usual; /* the section's default */
    bool is_set;   /* false: the order is not that of a column */
};

/* A number about the whole section: an entry of its `totals` in JSON. */
struct hp_total {
    const char *key;
    uint32_t unit; /* enum hotpath_unit */
    struct hp_cell cell;
};

struct hotpath_section {
    const struct hp_section_type *type;
    const char *name;
    const char *group; /* its name in the title of the report */
    const char *description;
    const char *main;       /* name of the row that shares refer to, or NULL */
    const char *percent_of; /* what 100 % is: "main", "elapsed", "rows", "allocated" */
    const char *if_empty;   /* text instead of a table without rows */
    const char *summary;    /* a line above the table, or NULL */
    struct hp_total totals[HP_MAX_TOTALS];
    size_t total_count;
    const char *notes[HP_MAX_NOTES]; /* lines below the table */
    size_t note_count;
    bool is_tree;
    bool counts_instructions; /* its durations are counted in them */
    struct hp_column columns[HP_MAX_COLUMNS];
    size_t column_count;
    uint8_t places[HP_MAX_COLUMNS]; /* the column of each cell that the fields have; HP_MAX_COLUMNS: none */
    uint32_t facts;                 /* enum hp_fact, and those of the section */
    struct hp_order order;
    struct hp_row *rows;
    size_t row_count;
    size_t total_rows; /* before the limit */
};

struct hotpath_results {
    struct hp_model *model;
    const struct hp_settings *settings;
    const struct hp_trust *trust;
    struct hp_pattern_list *focus;
    const char *label;
    const char *metadata;
    const char *headline;                               /* the bottleneck, in a sentence; NULL: not requested */
    struct hp_name_place headline_names[HP_NAME_MARKS]; /* texts of the program in it */
    size_t headline_name_count;
    const char *headline_function; /* that the headline is about, if nothing is measured; NULL: unknown */
    /* Functions by the verdict's order, the most time of their own first; in the short report only. */
    const struct hp_site_sums **by_work;
    size_t by_work_count;
    struct hotpath_section *sections[HP_MAX_SECTIONS];
    size_t section_count;
    const char *warnings[HP_MAX_WARNINGS];
    size_t warning_count;
};

/* Its form in the short report. */
enum hp_brief_role {
    HP_BRIEF_TABLE,      /* its own table, of a few rows */
    HP_BRIEF_WHOLE,      /* its own table, with all rows: it is only there on request */
    HP_BRIEF_FUNCTIONS,  /* the table of functions ... */
    HP_BRIEF_VERDICTS,   /* ... with columns of this one */
    HP_BRIEF_LINE,       /* only its line above the table */
    HP_BRIEF_UNMEASURED, /* a table if no function was measured, else a line */
};

/* A kind of section. */
struct hp_section_type {
    const char *name;
    const char *alias;   /* an alternative name, or NULL */
    const char *group;   /* a name that it shares with others, or NULL */
    bool is_on_request;  /* "auto" leaves it out */
    bool has_history;    /* it can show a time range of the run (time_range.h) ... */
    bool is_of_stacks;   /* ... if stacks are known by time: it is made of them alone */
    bool is_of_measured; /* "auto" leaves it out if no function was measured and stacks say more */
    bool (*is_usual)(const struct hp_settings *settings); /* NULL: "auto" takes it */
    bool is_of_ticks;           /* its times are durations by the run's clock: maybe instructions */
    bool is_left_out_empty;     /* "all" leaves it out if it has no data */
    bool (*is_available)(void); /* NULL: always; "all" leaves it out if not */
    const char *elsewhere;      /* where it is available, if not here */
    bool (*has_data)(const struct hotpath_results *results); /* NULL: "auto" always takes it */
    bool (*fill)(struct hotpath_results *results, struct hotpath_section *section); /* false: no memory */
    hp_put_fields *fields;                                                          /* its columns */
    hp_put_fields *totals; /* numbers about the whole, without titles; NULL: none */
    enum hp_brief_role in_brief;
    bool is_tree;
    bool has_own_columns;  /* in addition to those of the table: columns that sessions describe */
    const char *about;     /* for the schema: what the section is, or NULL ... */
    const char *about_row; /* ... and what a row is */
    const char *always;    /* keys of the section in JSON that are always present, "order|totals"; NULL: none */
};

/* Whether it has columns of estimates. */
bool hp_section_has_estimates(const struct hp_section_type *type);

/* All sections, in the order of the report. */
#define HP_SECTION(type, source) extern const struct hp_section_type type;
#include "sections.def"
#undef HP_SECTION
extern const struct hp_section_type *const hp_section_types[];
extern const size_t hp_section_type_count;

/*
 * Builds the requested sections from all snapshots together. What belongs to one process (its label, its command)
 * is that of the first. All arguments must outlive the results. NULL: the arena has no memory.
 */
const hotpath_results *hp_results_build(struct hp_arena *arena, const struct hp_snapshots *snapshots,
                                        const struct hp_settings *settings);

/* The same from an existing model, with memory of its arena. */
const hotpath_results *hp_results_of_model(struct hp_model *model, const struct hp_settings *settings);

/* Whether the short report was requested. */
bool hp_results_is_short(const struct hotpath_results *results);

/* For sections: describing and filling (section.c). */

/* Adds a column by hand, or returns the index of the one with this key. HP_MAX_COLUMNS: no room. */
size_t hp_section_add_column(struct hotpath_section *section, const struct hp_column *column);
/* Makes the columns visible that the settings request. */
void hp_section_show_columns(struct hotpath_results *results, struct hotpath_section *section);
/*
 * Adds the columns for which the facts hold, common ones and `facts`, and makes those visible that the settings
 * request. False: no memory.
 */
bool hp_section_describe(struct hotpath_results *results, struct hotpath_section *section, void *view,
                         uint32_t facts);
/* Calls the section's functions of fields: for a row, and for its totals. False: no memory. */
bool hp_section_fill_row(struct hotpath_results *results, struct hotpath_section *section, struct hp_row *row,
                         void *view, const void *entry);
void hp_section_add_totals(struct hotpath_results *results, struct hotpath_section *section, const void *about);
/* By key or title, in any case, with or without the unit: "self", "self_ns". */
bool hp_section_has_column(const struct hotpath_section *section, const char *name, size_t length);

/* The column with the names of rows; `column_count` where there is none. */
size_t hp_section_name_column(const struct hotpath_section *section);
/* Its index, or how many there are: by its key, and by any of its names. */
size_t hp_section_column(const struct hotpath_section *section, const char *key);
size_t hp_section_find_column(const struct hotpath_section *section, const char *name, size_t length);
bool hp_section_make_rows(struct hotpath_results *results, struct hotpath_section *section, size_t count);
/* The text instead of a table without rows, if `total_rows` existed before small ones were left out. */
const char *hp_section_why_empty(const struct hotpath_section *section, size_t site_count, const char *otherwise);
/* False: there is no line, for lack of memory. */
bool hp_section_note(struct hotpath_section *section, const char *line);
/* Copies a line for a section. NULL: no memory. */
const char *hp_results_keep(const struct hotpath_results *results, const struct hp_text *line);
/* The marks that any of its rows has. */
struct hp_row hp_section_marks_of_rows(const struct hotpath_section *section);
/*
 * Adds the notes of tables of sites: that calls are still open, and with the line `outside` that there is a row
 * without a site, which is empty in the column `of_sites`.
 */
void hp_section_note_sites(const struct hotpath_results *results, struct hotpath_section *section,
                           const char *of_sites, const char *outside);
/* The marks before the number of a cell: "~" and "^", or "". */
const char *hp_section_marks(const struct hp_column *column, const struct hp_row *row);
/* The profile whose sites are rows: with HOTPATH_BY=thread one that keeps threads apart. NULL: no memory. */
const struct hp_profile *hp_results_profile_of_rows(struct hotpath_results *results);

/* Whether HOTPATH_FOCUS includes the rows of a site. */
bool hp_results_show(const struct hotpath_results *results, const struct hp_site_sums *site);
bool hp_results_show_subject(const struct hotpath_results *results, const struct hp_pattern_subject *subject);
bool hp_results_show_object(const struct hotpath_results *results, const struct hp_object_record *object);

/* Whether a cell of that unit has its value in `count`, or in `text`; and as a number. */
bool hp_unit_is_whole(uint32_t unit);
bool hp_unit_is_text(uint32_t unit);
double hp_cell_number(const struct hp_cell *cell, uint32_t unit);
/* A VALUE: shown as an integer if it is one. */
struct hp_cell hp_cell_of_value(double number);
/* Whether a VALUE is an integer, which is in `count`. */
bool hp_cell_is_whole_value(const struct hp_cell *cell);

/* Adds a line for the reader of the report, as it is. */
void hp_results_warn_line(struct hotpath_results *results, const char *line);

/* Adds a line for the reader of the report: `before`, then 'text' in quotes, then `after`. */
void hp_results_warn(struct hotpath_results *results, const char *before, const char *text, size_t length,
                     const char *after);

#endif
