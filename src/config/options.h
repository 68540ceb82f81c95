/*
 * Options: one table describes each of them; help, documentation and the environment are derived from it.
 *
 * Two forms. `struct hotpath_options` (hotpath.h) is what a program passes: pointers, zero is default. `struct
 * hp_settings` is what the rest of hotpath uses: parsed, bounded, copied, without pointers, so that it can be kept
 * across fork and read in a signal handler. hp_settings_resolve converts the one to the other: defaults, then the
 * program's options, then the environment. An empty variable counts as not set. An invalid value causes one warning
 * and counts as not given: the program's value is used instead of the environment's, the default instead of the
 * program's.
 *
 * A list of patterns may name files (@PATH); they are read here, and the settings hold their contents.
 *
 * Nothing here uses the heap. The settings are large: keep them off small stacks. SPDX-License-Identifier: MIT
 */
#ifndef HP_CONFIG_OPTIONS_H
#define HP_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hotpath.h"
#include "pattern_list.h"

#define HP_MAX_PERCENTILES 10

enum hp_format {
    HP_FORMAT_TABLE,
    HP_FORMAT_JSON,
    HP_FORMAT_JSON_PRETTY,
    HP_FORMAT_CSV,
    HP_FORMAT_MARKDOWN,
    HP_FORMAT_HTML,
    HP_FORMAT_NONE
};

enum hp_by { HP_BY_FUNCTION, HP_BY_THREAD };

/* The main column of allocation tables: bytes or counts; everything allocated, or the maximum live at once. */
enum hp_alloc_metric { HP_ALLOC_BYTES_TOTAL, HP_ALLOC_BYTES_MAX, HP_ALLOC_COUNT_TOTAL, HP_ALLOC_COUNT_MAX };

/* As users write it: "bytes-total". */
const char *hp_alloc_metric_name(uint32_t metric);

/* How CPU time is sampled: the best available way, or timers alone. */
enum hp_clock_choice {
    HP_CLOCK_OF_TIME,
    HP_CLOCK_OF_INSTRUCTIONS,      /* counted by QEMU; `hotpath run` chooses the CPU if there is none */
    HP_CLOCK_OF_QEMU_INSTRUCTIONS, /* no other engine will do */
    HP_CLOCK_OF_CPU_INSTRUCTIONS
};
enum hp_cpu_engine_choice { HP_CPU_ENGINE_AUTO, HP_CPU_ENGINE_TIMERS };

/* What is recorded. Allocations are counted if malloc is interposed (src/record/alloc/allocations.h). */
#define HP_RECORD_TIMING 1u
#define HP_RECORD_ALLOC 2u
#define HP_RECORD_CPU 4u
#define HP_RECORD_USUAL (HP_RECORD_TIMING | HP_RECORD_ALLOC) /* with HOTPATH=1; CPU time only if it is named */

#define HP_MIN_BYTES (256u << 10) /* the smallest useful session */
#define HP_MAX_CPU_RATE 10000u

/*
 * Set by `hotpath run` if it learns of every process from the kernel: the pid of the program itself. All others
 * begin their sessions late (src/record/core/no_session.h).
 */
#define HP_RUN_PROGRAM "HOTPATH_RUN_PROGRAM"

/*
 * Set by `hotpath run`: which pipes and sockets its own standard streams are, "INODE,INODE,INODE". They lead out of
 * the run. Or "off": channels are not detected.
 */
#define HP_RUN_STREAMS "HOTPATH_RUN_STREAMS"

/* What is recorded, and where. */
struct hp_record_settings {
    uint32_t kinds;           /* HP_RECORD_... bits; 0: record nothing */
    uint32_t cpu_engine;      /* enum hp_cpu_engine_choice */
    uint32_t clock;           /* enum hp_clock_choice */
    uint32_t cpu_rate;        /* from 1 to HP_MAX_CPU_RATE */
    uint32_t time_period;     /* one call in this many is timed; 1: all */
    uint32_t measuring_bound; /* percent; 0: none */
    uint32_t keys_limit;
    uint32_t logs_limit;  /* latest calls of a function; not a limit on rows, so HOTPATH_LIMIT does not apply */
    uint32_t shutdown_ms; /* 0: never */
    uint32_t keep;
    uint32_t alloc_stacks; /* bytes between allocations sampled with their stacks; 0: none */
    uint32_t stack_period; /* HOTPATH_RUN_STACK_PERIOD: not 0 if another process takes stacks of samples */
    bool is_set;           /* HOTPATH is set in the environment, and not 0: record without HOTPATH_MAIN */
    /* HOTPATH=0: record nothing, whatever the program says; also set if the program says so. */
    bool is_off;
    bool is_list;        /* the effective value is a list of names */
    bool is_run;         /* HOTPATH_RUN: another process writes the report */
    bool alloc_is_asked; /* the program or the environment names allocations in such a list */
    bool cpu;            /* as given; the effective value is in `kinds` */
    bool leave_signals;
    bool reserve;
    bool waits;
    bool path; /* the critical path is followed */
    bool locks;
    bool lock_holds;
    bool io;
    uint64_t max_bytes; /* 0: derived from free space */
    char dir[1024];
    char label[256];
    char metadata[1024]; /* "key=value,key=value", no blanks around the pairs, no empty key */
    /* Lists are last here and first in the next struct: hp_settings_copy. */
    char filter[HP_PATTERN_LIST_BYTES]; /* accepted by hp_pattern_list_compile; contents of files are included */
    char skip[HP_PATTERN_LIST_BYTES];   /* likewise */
    char log[HP_PATTERN_LIST_BYTES];    /* likewise */
};

/* What is shown. */
struct hp_show_settings {
    char focus[HP_PATTERN_LIST_BYTES];      /* as the lists above */
    double percentiles[HP_MAX_PERCENTILES]; /* ascending, no duplicates */
    double min_percent;                     /* rows with a smaller share are hidden; 0: none */
    uint32_t percentile_count;
    uint32_t by;              /* enum hp_by: what a row of the function sections stands for */
    uint32_t alloc_metric;    /* enum hp_alloc_metric */
    uint32_t functions_limit; /* HOTPATH_NO_LIMIT for all rows; HOTPATH_LIMIT is applied already */
    uint32_t calltree_limit;
    bool functions_limit_is_given; /* not the default */
    bool exclude_wrapper;
    bool time_exclusive;
    bool alloc_cumulative;
    bool cpu_inclusive;
    bool fine_histograms; /* 64 bars per power of two instead of four: for metrics, no option */
    bool debuginfod;      /* names may be fetched from servers */
    char report[512];     /* as in hotpath.h, without blanks; not checked against existing sections */
    char columns[256];    /* likewise; empty: the default ones */
    char sort[64];        /* likewise one column, with an optional minus; empty: the default order */
    char slowest[256];    /* accepted by hp_pattern_compile; empty: no slowest call is shown */
};

/* Output format and destination. */
struct hp_output_settings {
    uint32_t format;         /* enum hp_format */
    bool no_color;           /* NO_COLOR is set and not empty */
    bool is_session_removed; /* after the report, or there is no `hotpath`: the report names no commands then */
    char output_path[1024];
};

struct hp_settings {
    struct hp_record_settings record;
    struct hp_show_settings show;
    struct hp_output_settings output;
};

/* Same as an assignment, but does not touch memory after the ends of lists, which are long and mostly empty. */
void hp_settings_copy(struct hp_settings *to, const struct hp_settings *from);

/* Looks up a variable: getenv, or a replacement for tests. */
typedef const char *hp_lookup(const char *name, void *context);
/* Receives one warning: a line without newline. */
typedef void hp_warn(const char *line, void *context);

/*
 * Fills in `settings`. `options` may be NULL, and is read only up to its size: check it with hp_options_are_known
 * before. `warn` may be NULL; its arguments are valid only during the call.
 */
void hp_settings_resolve(struct hp_settings *settings, const struct hotpath_options *options, hp_lookup *lookup,
                         void *lookup_context, hp_warn *warn, void *warn_context);

/*
 * Whether this library understands every byte of `options`: its size is at least that of the first version, and
 * everything beyond the fields known here, which a newer program may have set, is zero. NULL is known.
 */
bool hp_options_are_known(const struct hotpath_options *options);

/* Types of values, for help and the command line. The type determines the field in the program's struct. */
enum hp_option_type {
    HP_OPTION_TEXT,   /* const char * */
    HP_OPTION_CHOICE, /* const char *, one of a few words */
    HP_OPTION_COUNT,  /* uint32_t */
    HP_OPTION_LIMIT,  /* uint32_t: a program uses HOTPATH_NO_LIMIT where the environment uses 0 */
    HP_OPTION_BYTES,  /* uint64_t */
    HP_OPTION_NUMBER, /* double */
    HP_OPTION_FLAG    /* uint8_t */
};

/* Scope of an option: which commands of the program take it as a flag. */
enum hp_option_scope {
    HP_SCOPE_RECORD = 1, /* what is recorded, and where */
    HP_SCOPE_SHOW = 2,   /* what is shown */
    HP_SCOPE_OUTPUT = 4, /* output format and destination */
    HP_SCOPE_FOLDER = 8, /* where sessions are */
    HP_SCOPE_NAMES = 16  /* where names come from */
};

/*
 * Warns about variables in `environment` that begin like ours but are unknown: they have no effect, and users would
 * not notice. Some of ours are not read by the library but by others.
 */
void hp_options_warn_unknown(char *const *environment, hp_warn *warn, void *context);

struct hp_text;

struct hp_option {
    const char *variable;       /* HOTPATH_LIMIT */
    const char *field;          /* limit: field of struct hotpath_options; NULL: none (NO_COLOR) */
    const char *flag;           /* limit: --limit on the command line; NULL: none */
    char letter;                /* n: -n; 0: none */
    uint32_t scope;             /* enum hp_option_scope; one or several */
    const char *other_variable; /* read if `variable` is not set; NULL: none */
    const char *value;          /* name of the value in help: "N", "PATH", "table|json|none" */
    const char *initial;        /* the default, as a user would write it; "": none */
    const char *unset;          /* what applies without a default, in the form that follows "using": "stderr" */
    const char *help;           /* one sentence */
    enum hp_option_type type;
    /* private to this folder from here on */
    size_t options_offset;
    size_t settings_offset;
    size_t settings_size;
    bool (*parse)(const struct hp_option *option, const char *text, struct hp_settings *settings,
                  struct hp_text *ret_problem);
};

#define HP_MAX_OPTIONS 64u

extern const struct hp_option hp_options[];
extern const size_t hp_option_count;

/* Whether a value is valid. If not, `problem` gets the end of a sentence that begins with the value. */
bool hp_option_accepts(const struct hp_option *option, const char *value, char *problem, size_t size);

#endif
