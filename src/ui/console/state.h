/*
 * What the console watches and its view of it: one struct, which views read, keys change and ticks update
 * (console.h). SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_STATE_H
#define HP_CONSOLE_STATE_H

#include "arena.h"
#include "choices.h"
#include "flame.h"
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

/* The overlay on top of the view. */
enum hp_overlay { HP_OVERLAY_NONE, HP_OVERLAY_INSPECT, HP_OVERLAY_HELP, HP_OVERLAY_COLUMNS };

/* What the page about a function shows besides its numbers. */
enum hp_inspected { HP_INSPECTED_PAGE, HP_INSPECTED_SLOWEST, HP_INSPECTED_CALLS };

struct hp_console {
    const struct hp_settings *settings;
    const struct hp_program_source *source;
    struct hp_choices choices;
    struct hp_sessions programs; /* for the list */
    uint64_t programs_now_ns;    /* wall-clock time when it was made */
    char path[2048];             /* of the watched session or run; "": the list is shown */
    uint64_t lasts_ns;           /* after which time since its beginning the program ends by itself; 0: unknown */
    char restarted[2048];        /* a later session of the same program; "": none */
    uint32_t restarted_pid;
    bool is_recorded_again; /* it is a later recording of the same process */
    char ending[32];        /* how the program has ended: "exit 0", "SIGSEGV"; "": unknown */
    struct hp_watched watched;

    uint64_t now_ns, key_ns, refreshed_ns, listed_ns, begun_ns;
    uint64_t spent_ns; /* CPU time of the latest reading */
    struct hp_window window;

    enum hp_tab tab;
    unsigned sub[HP_CONSOLE_TABS];
    const char *subs[HP_CONSOLE_SUBS]; /* names of the sub-views of the tab */
    unsigned sub_count;
    bool tab_has_data[HP_CONSOLE_TABS];
    struct hp_table_view views[HP_CONSOLE_VIEWS];
    size_t view_count;
    struct hp_table_view *view; /* of the current table */

    enum hp_overlay overlay;
    enum hp_inspected inspected;
    uint64_t inspected_id;
    size_t chosen_column;
    unsigned help_top;    /* the first line of the help on the screen */
    unsigned page_top;    /* that of the page about a row ... */
    uint64_t page_of;     /* ... with this identity */
    bool page_has_more;   /* than there is room for */
    size_t ended_threads; /* that are not shown */
    enum hp_measure measure;
    char message[300]; /* shown until the next key */
    char slowest[300]; /* pattern for the slowest call */

    struct hp_recent_durations recent;
    struct hp_flame flame;
    uint64_t flame_version; /* of the stacks that it was made of */

    /* Of this drawing. */
    struct hp_arena arena;
    struct hp_table table;
    struct hp_shown_rows shown;
    struct hp_area area;
    unsigned columns, rows;
    unsigned verdict_lines; /* of line 3: stays 2 once needed, so that the rows below do not move */
    unsigned verdict_about; /* on which tab, at which size */
    char copied[400];       /* for the terminal's clipboard (OSC 52); "": nothing */
    char edited[1024];      /* a file to open in the user's editor; "": none */
    uint32_t edited_line;   /* and the line in it */

    bool is_watching;
    bool is_over;    /* the user wants to quit */
    bool is_due;     /* to be read again at once */
    bool sorts_anew; /* another view: rows are sorted at once, also when it has been read */
    bool is_paused;
    bool is_filtering;
    bool is_other_view;
    bool groups_threads;             /* threads of one name are one row */
    bool has_ended;                  /* ended threads are shown, too */
    bool shows_changes;              /* a flame graph shows what has changed since the window before */
    bool is_turned[HP_CONSOLE_TABS]; /* callers below functions; an inverted flame graph */
};

/* Reads the watched sessions again at once. */
void hp_console_refresh(struct hp_console *console);
/* Back to the list of programs. */
void hp_console_open_list(struct hp_console *console);
/* Makes the table of the view, and sorts its rows (views.c). */
void hp_console_prepare(struct hp_console *console);
/* Writes the visible table to the current folder, as CSV or as JSON (write_table.c). */
void hp_console_write_table(struct hp_console *console, bool is_json);
/* Names the sub-views of the tab, depending on the data. */
void hp_console_find_subs(struct hp_console *console);
const char *hp_console_sub(const struct hp_console *console);
/* Sections that the view needs: of the whole run, and of the window. */
void hp_console_sections(const struct hp_console *console, char *whole, char *range, size_t size);
/* The view of the table with that key. */
struct hp_table_view *hp_console_view_of(struct hp_console *console, const char *table);
/* The functions of the table: sampled ones, if it shows these; else those that were measured. */
const struct hp_watched_functions *hp_console_functions(const struct hp_console *console);
/* The function at the cursor, or the inspected one; NULL: none. */
const struct hp_watched_function *hp_console_function(const struct hp_console *console);
/* Whether a function is idle, and its share, by the user's choices. */
bool hp_console_is_idle(const struct hp_console *console, const struct hp_watched_function *function);
double hp_console_share(const struct hp_console *console, const struct hp_watched_function *function);
/* "lock 79 %"; NULL: unknown. */
const char *hp_console_mostly(struct hp_arena *arena, const struct hp_watched_function *function);
/* Durations of its calls in the window. False: unknown; then those since the start are used. */
bool hp_console_durations(struct hp_console *console, const struct hp_watched_function *function,
                          struct hp_durations *ret_durations);
/* Whether the clock of the run counts instructions: then there are no times and no rates. */
bool hp_console_counts_instructions(const struct hp_console *console);
/* "last 10 s" */
void hp_console_name_window(const struct hp_console *console, char *text, size_t size);
/* The same of what stacks say, which may be known of the whole run only. */
void hp_console_name_stacks(const struct hp_console *console, char *text, size_t size);
/* Makes the flame graph again if the stacks have changed; changes the measure (stacks_view.c). */
void hp_console_make_flame(struct hp_console *console);
/* How many measures there are to choose from. */
unsigned hp_console_measures(const struct hp_console *console);
void hp_console_next_measure(struct hp_console *console);
/* The sentence on line 3. */
void hp_console_verdict(const struct hp_console *console, char *text, size_t size, bool is_narrow);

#endif
