/*
 * What the console watches and how one looks at it: one struct, which views read, keys change and time brings up to date (console.h).
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_STATE_H
#define HP_CONSOLE_STATE_H

#include "arena.h"
#include "choices.h"
#include "named_stacks.h"
#include "programs.h"
#include "recent_durations.h"
#include "screen.h"
#include "screen_table.h"
#include "watched.h"

#define HP_CONSOLE_TABS 8u
#define HP_CONSOLE_SUBS 12u
#define HP_CONSOLE_VIEWS 32u

enum hp_tab {
    HP_TAB_OVERVIEW,
    HP_TAB_FUNCTIONS,
    HP_TAB_TREE,
    HP_TAB_STACKS,
    HP_TAB_FLOW,
    HP_TAB_THREADS,
    HP_TAB_WAITS,
    HP_TAB_CALLS
};

/* What lies on top of the view. */
enum hp_overlay { HP_OVERLAY_NONE, HP_OVERLAY_INSPECT, HP_OVERLAY_HELP, HP_OVERLAY_COLUMNS };

/* What the page about a function shows beside its numbers. */
enum hp_inspected { HP_INSPECTED_PAGE, HP_INSPECTED_SLOWEST, HP_INSPECTED_CALLS };

/* What a flame measures. */
enum hp_measure { HP_MEASURE_WALL, HP_MEASURE_CPU, HP_MEASURE_WAITING, HP_MEASURE_ALLOCATED, HP_MEASURES };

struct hp_console {
    const struct hp_settings *settings;
    const struct hp_program_source *source;
    struct hp_choices choices;
    struct hp_programs programs; /* for the list */
    uint64_t programs_now_ns;    /* by the clock on the wall, when it was made */
    char path[2048];             /* of the session or run that is watched; "": the list is shown */
    char restarted[2048];        /* the same program, begun later; "": none */
    uint32_t restarted_pid;
    char ending[32]; /* how the program has ended: "exit 0", "SIGSEGV"; "": not known */
    struct hp_watched watched;

    uint64_t now_ns, key_ns, refreshed_ns, listed_ns, begun_ns;
    uint64_t spent_ns; /* processor time that the latest reading took */
    uint64_t paused_ns;
    struct hp_window window;

    enum hp_tab tab;
    unsigned sub[HP_CONSOLE_TABS];
    const char *subs[HP_CONSOLE_SUBS]; /* names of the sub-views of the tab */
    unsigned sub_count;
    bool tab_has_data[HP_CONSOLE_TABS];
    struct hp_table_view views[HP_CONSOLE_VIEWS];
    size_t view_count;
    struct hp_table_view *view; /* of the table at hand */

    enum hp_overlay overlay;
    enum hp_inspected inspected;
    uint64_t inspected_id;
    size_t chosen_column;
    size_t ended_threads; /* that are not shown */
    enum hp_measure measure;
    uint32_t zoomed;   /* node of the stacks */
    char message[300]; /* said once, until the next key */
    char slowest[300]; /* pattern for it */

    struct hp_recent_durations recent;
    struct hp_named_stacks stacks;
    struct hp_function_profile found;
    char stacks_of[2048]; /* path of what they are of; "": nothing was looked for yet */

    /* Of this drawing. */
    struct hp_arena arena;
    struct hp_table table;
    struct hp_shown_rows shown;
    struct hp_area area;
    unsigned columns, rows;
    unsigned verdict_lines; /* of line 3: it has two once it needed them, so that rows below stand still */
    unsigned verdict_about; /* on which tab, of which size */
    char copied[400];       /* to be copied by the terminal (OSC 52); "": nothing */
    char edited[1024];      /* a file that is to be opened in the editor of the user; "": none */
    uint32_t edited_line;   /* and where in it */

    bool is_watching;
    bool is_over; /* somebody wants to leave */
    bool is_due;  /* to be read anew, whatever the time */
    bool is_paused;
    bool is_filtering;
    bool is_other_view;
    bool groups_threads; /* those of one name are one row */
    bool has_ended;      /* threads that have ended are shown, too */
    bool has_stacks;
    bool is_turned[HP_CONSOLE_TABS]; /* callers below functions; a flame upside down */
};

/* Reads what is watched anew, whatever the time. */
void hp_console_refresh(struct hp_console *console);
/* Back to the list of programs. */
void hp_console_open_list(struct hp_console *console);
/* Makes the table of the view, and puts its rows in order (views.c). */
void hp_console_prepare(struct hp_console *console);
/* Names of the sub-views that the tab has, by what there is. */
void hp_console_find_subs(struct hp_console *console);
const char *hp_console_sub(const struct hp_console *console);
/* Sections that the view is made of: of all of the run, and of the stretch. */
void hp_console_wish(const struct hp_console *console, char *whole, char *stretch, size_t size);
/* How one looks at the table of that key. */
struct hp_table_view *hp_console_view_of(struct hp_console *console, const char *table);
/* The function that the cursor is on, or that is inspected; NULL: none. */
const struct hp_watched_function *hp_console_function(const struct hp_console *console);
/* Whether a function is idle, and what its share is, as the user wants it. */
bool hp_console_is_idle(const struct hp_console *console, const struct hp_watched_function *function);
double hp_console_share(const struct hp_console *console, const struct hp_watched_function *function);
/* How long its calls took in what is shown. False: that is not known, and what it is since the start is there instead. */
bool hp_console_durations(struct hp_console *console, const struct hp_watched_function *function,
                          struct hp_durations *ret_durations);
/* "last 10 s" */
void hp_console_name_window(const struct hp_console *console, char *text, size_t size);
/* The sentence on line 3. */
void hp_console_verdict(const struct hp_console *console, char *text, size_t size, bool is_narrow);

#endif
