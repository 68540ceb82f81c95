/*
 * hotpath: profiler for C and C++ programs.
 *
 *     #include <hotpath.h>
 *
 *     int parse(const char *text)
 *     {
 *         HOTPATH_MEASURE();                    // measures each call of this function
 *         ...
 *     }
 *
 *     int main(void)
 *     {
 *         HOTPATH_MAIN();                       // prints a report when main returns or exit() is called
 *         return parse("...");
 *     }
 *
 *     cc -DHOTPATH main.c -lhotpath -pthread && ./a.out
 *
 * Without -DHOTPATH (or with -DHOTPATH=0) every macro below compiles to nothing: the object code is the
 * same as without the macros and there is nothing to link.
 *
 * Cost: two reads of the CPU's time stamp counter and a few stores to thread-private memory; see bench/RESULTS.md.
 * Threads: every macro may be used on any thread at any time. Only the first use of a macro takes a lock.
 * Signals: zones may be opened and closed in signal handlers; counts stay exact.
 * fork: the child gets its own session, which begins at its first zone.
 * Memory: hotpath does not use the program's heap. If the session file is full, the report shows what was lost.
 *
 * One header, so that users have one file to copy. Four parts: configuration, measuring, control, and the internals
 * that the macros expand to (not for direct use).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_H
#define HOTPATH_H

#if !defined(__cplusplus) && defined(__STRICT_ANSI__) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "hotpath.h needs inline functions: compile with -std=gnu89, or with -std=c99 or newer, not with -std=c89"
#else

/* ------------------------------------------------------------------ 1. configuration and version */

#define HOTPATH_VERSION_MAJOR 0
#define HOTPATH_VERSION_MINOR 1
#define HOTPATH_VERSION_PATCH 0
#define HOTPATH_VERSION "0.1.0"

/* -DHOTPATH and -DHOTPATH=1 turn measuring on; -DHOTPATH=0, or no such option, turns it off. */
#if defined(HOTPATH)
#if (HOTPATH + 0) != 0
#define HOTPATH_ON_ 1
#endif
#endif
#ifndef HOTPATH_ON_
#define HOTPATH_ON_ 0
#endif

#include <stddef.h>
#include <stdint.h>

/*
 * TLS model of measured code. glibc reserves static TLS space for libraries loaded by dlopen, so measured code uses
 * the fast initial-exec model there. Other libcs (musl) refuse to dlopen such a library, so there the compiler
 * chooses: the same code in programs, a call into the dynamic linker per access in shared libraries.
 * -DHOTPATH_TLS_DYNAMIC=1 or =0 overrides the choice.
 */
#ifndef HOTPATH_TLS_DYNAMIC
#if defined(__GLIBC__)
#define HOTPATH_TLS_DYNAMIC 0
#else
#define HOTPATH_TLS_DYNAMIC 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HOTPATH_API_ __attribute__((visibility("default")))
#else
#define HOTPATH_API_
#endif

/* ------------------------------------------------------------------------------- 3a. types for control */

/*
 * Options of a session. Zero the struct, set `size`, then set the fields you want: zero always means "the default".
 * HOTPATH_MAIN and HOTPATH_SESSION do this for you: HOTPATH_MAIN(.limit = 20, .focus = "parse") in C,
 * HOTPATH_MAIN(.limit(20).focus("parse")) in C++. The environment variable named beside each field overrides it;
 * `hotpath help environment` and docs/environment.md describe each one. hotpath_start copies the strings.
 */
/* clang-format off */
struct hotpath_options {
    size_t size;              /* sizeof(struct hotpath_options) */
    const char *percentiles;  /* HOTPATH_PERCENTILES     "95"; 0-100, fractions allowed, at most 10 */
    const char *format;       /* HOTPATH_OUTPUT_FORMAT   "table", "json", "json-pretty", "none" */
    const char *output_path;  /* HOTPATH_OUTPUT_PATH     a file instead of stderr; %p is the process id */
    const char *report;       /* HOTPATH_REPORT          sections: "auto", "all", "timing,calltree", "-timing" */
    const char *columns;      /* HOTPATH_COLUMNS         extra columns: "self,min,max,threads", "all" */
    const char *sort;         /* HOTPATH_SORT            order of the rows: a column, "calls" or "-calls" */
    const char *by;           /* HOTPATH_BY              one row per "function", or per function and "thread" */
    const char *focus;        /* HOTPATH_FOCUS           rows shown: a list such as "parse*,/^lex/,file:json.c" */
    const char *slowest;      /* HOTPATH_SLOWEST         function whose slowest call is shown: name, "/regex/" */
    const char *filter;       /* HOTPATH_FILTER          sites to record: such a list */
    const char *skip;         /* HOTPATH_SKIP            sites not to record: such a list */
    const char *log;          /* HOTPATH_LOG             sites whose latest calls are kept: such a list */
    const char *label;        /* HOTPATH_REPORT_LABEL    a name for this run */
    const char *metadata;     /* HOTPATH_USER_METADATA   "key=value,key=value", stored in the report */
    const char *dir;          /* HOTPATH_DIR             directory of the session file */
    const char *record;       /* HOTPATH                 what to record: "timing,alloc,cpu" */
    const char *cpu_engine;   /* HOTPATH_CPU_ENGINE      how CPU time is sampled: "auto", "timers" */
    const char *time_sampling_rate; /* HOTPATH_TIME_SAMPLING_RATE  fraction of calls to time: "1/16" */
    const char *alloc_metric; /* HOTPATH_ALLOC_METRIC    "bytes-total", "bytes-max", "count-total", "count-max" */
    uint64_t max_bytes;       /* HOTPATH_MAX_BYTES       maximum size of the session file */
    double min_percent;       /* HOTPATH_MIN_PERCENT     hide rows with a smaller share (default 0) */
    uint32_t limit;           /* HOTPATH_LIMIT           rows per section; HOTPATH_NO_LIMIT for all */
    uint32_t functions_limit; /* HOTPATH_FUNCTIONS_LIMIT rows in the function sections (default 15) */
    uint32_t calltree_limit;  /* HOTPATH_CALLTREE_LIMIT  rows in the call tree (default 50) */
    uint32_t logs_limit;      /* HOTPATH_LOGS_LIMIT      latest calls kept and shown per function (default 50) */
    uint32_t keys_limit;      /* HOTPATH_KEYS_LIMIT      distinct keys per HOTPATH_BLOCK_KEY (default 256) */
    uint32_t measuring_bound; /* HOTPATH_MEASURING_BOUND percent: if timing a compiler-instrumented function costs
                                                         more, only some calls are timed (default 50) */
    uint32_t shutdown_ms;     /* HOTPATH_SHUTDOWN_MS     report and exit after this many ms (HOTPATH_MAIN) */
    uint32_t cpu_rate;        /* HOTPATH_CPU_RATE        samples per second of CPU time (default 997) */
    uint32_t keep;            /* HOTPATH_KEEP            finished sessions kept in the directory (default 20) */
    uint8_t exclude_wrapper;  /* HOTPATH_EXCLUDE_WRAPPER leave out main; 100 % is the sum of the other rows */
    uint8_t time_exclusive;   /* HOTPATH_TIME_EXCLUSIVE  show self time instead of total, and sort by it */
    uint8_t leave_signals;    /* HOTPATH_LEAVE_SIGNALS   do not handle SIGINT and SIGTERM (HOTPATH_MAIN) */
    uint8_t reserve;          /* HOTPATH_RESERVE         one thread, no system calls after the start */
    uint8_t alloc_cumulative; /* HOTPATH_ALLOC_CUMULATIVE    include allocations of measured callees */
    uint8_t cpu;              /* HOTPATH_CPU             sample CPU time per function */
    uint8_t cpu_inclusive;    /* HOTPATH_CPU_INCLUSIVE   include CPU time of measured callees */
    uint8_t waits;            /* HOTPATH_WAITS           a library thread samples what threads wait for */
    uint8_t reserved[4];
};
/* clang-format on */

#define HOTPATH_NO_LIMIT UINT32_MAX

/* Control functions return 0 or one of these. hotpath_strerror gives the text. */
enum hotpath_status {
    HOTPATH_OK = 0,
    HOTPATH_E_ACTIVE = -1,   /* a session is already active */
    HOTPATH_E_INACTIVE = -2, /* no session is active */
    HOTPATH_E_OFF = -3,      /* recording is switched off (HOTPATH=0, setuid, or compiled out) */
    HOTPATH_E_OPTIONS = -4,  /* the size of a struct is unknown to this library, or there is no such cell */
    HOTPATH_E_SPACE = -5,    /* no file or memory available for the session */
    HOTPATH_E_OUTPUT = -6    /* the report could not be written */
};

/* A stack of open zones: a coroutine's, or 0 for the calling thread's own. See hotpath_switch. */
typedef uint64_t hotpath_lane;

/* A task: see HOTPATH_TASK. An opaque number; 0: none. */
typedef struct {
    uint64_t id_;
} hotpath_task;

/* Allocations and frees of the calling thread: see hotpath_read_allocs. */
struct hotpath_alloc_counts {
    uint64_t count;        /* allocations, including realloc */
    uint64_t bytes;        /* requested */
    uint64_t freed_count;  /* blocks freed or passed to realloc */
    uint64_t freed_usable; /* their usable bytes, by malloc_usable_size */
    uint64_t session;      /* session these belong to; 0: counted without a session */
};

/* A scope that allocated more often than HOTPATH_EXPECT_ALLOCS permits. */
struct hotpath_unexpected {
    const char *file;
    const char *function;
    uint32_t line;
    uint32_t is_counted; /* 0: allocations could not be counted, so the result is unknown */
    uint64_t expected;
    uint64_t count;
    uint64_t bytes;
};

/* Called instead of abort(), with no message on stderr. May return, or leave by longjmp. */
typedef void hotpath_on_unexpected(const struct hotpath_unexpected *unexpected, void *context);

/* The unit of the number in a cell. */
enum hotpath_unit {
    HOTPATH_UNIT_TEXT = 0,
    HOTPATH_UNIT_COUNT = 1,
    HOTPATH_UNIT_NS = 2,
    HOTPATH_UNIT_BYTES = 3,
    HOTPATH_UNIT_PERCENT = 4, /* 100.0 is the whole */
    HOTPATH_UNIT_NUMBER = 5,  /* a count with decimals: an average */
    HOTPATH_UNIT_SIGNED_COUNT = 6,
    HOTPATH_UNIT_SIGNED_BYTES = 7,
    HOTPATH_UNIT_RATE = 8,       /* per second */
    HOTPATH_UNIT_INSTANT = 9,    /* nanoseconds since 1970, in UTC */
    HOTPATH_UNIT_STATE = 10,     /* one of a few fixed words */
    HOTPATH_UNIT_HISTOGRAM = 11, /* see hotpath_section_histogram */
    HOTPATH_UNIT_SERIES = 12,    /* see hotpath_section_series */
    HOTPATH_UNIT_VALUE = 13      /* a number from the program: integer or not, of any sign */
};

struct hotpath_column {
    const char *key;   /* the key in JSON: "avg_ns" */
    const char *title; /* the heading in the table: "Avg" */
    uint32_t unit;     /* enum hotpath_unit */
    uint32_t visible;  /* in the table by default */
};

/* One cell. `has_value` is 0 if there is nothing to show (such as a percentile of a call that never ended). */
struct hotpath_cell {
    uint32_t unit; /* enum hotpath_unit */
    uint32_t has_value;
    uint64_t count;   /* COUNT, NS and NUMBER (rounded), BYTES, INSTANT; for SIGNED units cast it to int64_t */
    double number;    /* the same unrounded; also PERCENT, RATE and VALUE */
    const char *text; /* TEXT, STATE; otherwise NULL */
};

enum hotpath_row_flag {
    HOTPATH_ROW_OPEN = 1,        /* includes a call that has not ended */
    HOTPATH_ROW_MAIN = 2,        /* the row that is 100 % */
    HOTPATH_ROW_ROUGH = 4,       /* measuring overhead may be a large part of its numbers */
    HOTPATH_ROW_SCALED = 8,      /* its times are estimates: not all calls were timed */
    HOTPATH_ROW_SELF_SCALED = 16 /* its self time is an estimate */
};

/* A row without its cells. Set `size` before the call, here and in the two structs below. */
struct hotpath_row {
    size_t size;     /* sizeof(struct hotpath_row) */
    uint64_t id;     /* identifies the subject: the same in every report, in every process, after every refresh */
    uint64_t parent; /* in a tree, the id of the parent row; 0: none */
    uint32_t depth;  /* in a tree; parents come before children */
    uint32_t flags;  /* enum hotpath_row_flag */
};

/* Amounts per bar. Bars are ranges, as for durations, or have labels, as for causes. */
struct hotpath_histogram {
    size_t size;
    size_t bars;
    uint32_t unit;        /* unit of the bounds: enum hotpath_unit */
    uint32_t amount_unit; /* unit of the amounts */
    const double *from;   /* bar i covers from[i] <= x < to[i]; NULL if bars have labels */
    const double *to;
    const uint64_t *amounts;
    const char *const *labels; /* NULL if bars have bounds */
};

/* A number over time, oldest first. */
struct hotpath_series {
    size_t size;
    size_t points;
    uint32_t unit; /* unit of the values: enum hotpath_unit */
    uint32_t reserved;
    const uint64_t *times_ns; /* since the start of the run */
    const double *values;
};

typedef struct hotpath_results hotpath_results;
typedef struct hotpath_section hotpath_section;

/* Receives the rows instead of the built-in output. The results are valid until the callback returns. */
typedef void hotpath_reporter(const hotpath_results *results, void *context);

#ifdef __cplusplus
} /* extern "C" */

namespace hotpath
{
/* Options for C++ without designated initialisers: HOTPATH_MAIN(.limit(20).focus("parse")). */
class options : public hotpath_options
{
  public:
    options() : hotpath_options() { hotpath_options::size = sizeof(hotpath_options); }
#define HOTPATH_OPTION_(type, name)                                                                                \
    options &name(type value)                                                                                      \
    {                                                                                                              \
        hotpath_options::name = value;                                                                             \
        return *this;                                                                                              \
    }
    HOTPATH_OPTION_(const char *, percentiles)
    HOTPATH_OPTION_(const char *, format)
    HOTPATH_OPTION_(const char *, output_path)
    HOTPATH_OPTION_(const char *, report)
    HOTPATH_OPTION_(const char *, columns)
    HOTPATH_OPTION_(const char *, sort)
    HOTPATH_OPTION_(const char *, by)
    HOTPATH_OPTION_(const char *, focus)
    HOTPATH_OPTION_(const char *, slowest)
    HOTPATH_OPTION_(const char *, filter)
    HOTPATH_OPTION_(const char *, log)
    HOTPATH_OPTION_(const char *, skip)
    HOTPATH_OPTION_(const char *, label)
    HOTPATH_OPTION_(const char *, metadata)
    HOTPATH_OPTION_(const char *, dir)
    HOTPATH_OPTION_(const char *, record)
    HOTPATH_OPTION_(const char *, cpu_engine)
    HOTPATH_OPTION_(const char *, time_sampling_rate)
    HOTPATH_OPTION_(const char *, alloc_metric)
    HOTPATH_OPTION_(uint64_t, max_bytes)
    HOTPATH_OPTION_(double, min_percent)
    HOTPATH_OPTION_(uint32_t, limit)
    HOTPATH_OPTION_(uint32_t, functions_limit)
    HOTPATH_OPTION_(uint32_t, calltree_limit)
    HOTPATH_OPTION_(uint32_t, logs_limit)
    HOTPATH_OPTION_(uint32_t, shutdown_ms)
    HOTPATH_OPTION_(uint32_t, cpu_rate)
    HOTPATH_OPTION_(uint32_t, keep)
    HOTPATH_OPTION_(uint32_t, keys_limit)
    HOTPATH_OPTION_(uint32_t, measuring_bound)
    HOTPATH_OPTION_(bool, exclude_wrapper)
    HOTPATH_OPTION_(bool, time_exclusive)
    HOTPATH_OPTION_(bool, leave_signals)
    HOTPATH_OPTION_(bool, reserve)
    HOTPATH_OPTION_(bool, alloc_cumulative)
    HOTPATH_OPTION_(bool, cpu)
    HOTPATH_OPTION_(bool, cpu_inclusive)
    HOTPATH_OPTION_(bool, waits)
#undef HOTPATH_OPTION_
};

/* Arguments of a macro about its site: HOTPATH_MEASURE(.log(1)). */
struct site_traits {
    uint32_t is_logged;
    constexpr explicit site_traits(uint32_t is_logged_ = 0) : is_logged(is_logged_) {}
    constexpr site_traits log(bool value) const { return site_traits(value); }
};

/* Arguments of a macro about its task: HOTPATH_TASK(task, "label", .lane(1)). */
struct task_traits {
    int has_lane;
    constexpr explicit task_traits(int has_lane_ = 0) : has_lane(has_lane_) {}
    constexpr task_traits lane(bool value) const { return task_traits(value); }
};

inline const hotpath_options *address(const hotpath_options &value) { return &value; }
} // namespace hotpath

extern "C" {
#endif

#if HOTPATH_ON_

#if !defined(__GNUC__)
#error "hotpath needs gcc or clang; leave HOTPATH undefined to compile it out"
#endif

/* ---------------------------------------------------------------------------------------- 2. measuring */

/*
 * The macros. With and without -DHOTPATH, each is the same kind of syntax:
 *
 *   HOTPATH_MAIN(options)        declaration   starts the session, measures this function as the 100 % row
 *   HOTPATH_SESSION(options)     declaration   the same for any scope: reports when the scope ends
 *   HOTPATH_MEASURE()            declaration   measures this function from here until it returns
 *   HOTPATH_MEASURE_AS("label")  declaration   the same under another name
 *   HOTPATH_BLOCK("label")       declaration   measures from here to the end of the enclosing braces
 *   HOTPATH_BEGIN(z, "label")    declaration   opens a zone named z ...
 *   HOTPATH_END(z)               expression    ... and closes it, in the same function and thread
 *   HOTPATH_EXPR("label", expr)  expression    measures one expression and yields its value
 *   HOTPATH_BLOCK_KEY("label", key) declaration  HOTPATH_BLOCK with one row per distinct text of `key`
 *   HOTPATH_NOTE("format", ...)  expression    attaches printf-formatted text to the innermost open zone
 *   HOTPATH_EXPECT_ALLOCS(most)  declaration   allocation limit from here to the end of the braces
 *   HOTPATH_VALUE("key", x)      expression    records a number, bool, pointer or text: see below
 *   HOTPATH_GAUGE_SET("key", n)  expression    sets a gauge to n ...
 *   HOTPATH_GAUGE_ADD("key", n)  expression    ... or adds n to it, on any thread
 *   HOTPATH_COUNT("key", n)      expression    adds n to a counter
 *   HOTPATH_DEBUG(expr)          expression    records the value of the expression and yields it
 *   HOTPATH_CHANNEL_SENT("label", channel, items, bytes, length[, id])  expression
 *                                              items were put into a queue ...
 *   HOTPATH_CHANNEL_RECEIVED("label", channel, items, bytes, length[, id])  expression
 *                                              ... and taken out of it: see below
 *   HOTPATH_CHANNEL_REFUSED("label", channel, items)  expression  the queue was full or closed: items not accepted
 *   HOTPATH_CHANNEL_DROPPED("label", channel, items)  expression  items in the queue were discarded
 *   HOTPATH_CHANNEL_CAPACITY("label", channel, items)  expression  how many items fit into the queue
 *   HOTPATH_CHANNEL_TEXT("label", channel, "format", ...)  expression
 *                                              describes an item, if HOTPATH_LOG selects the label
 *   HOTPATH_CHANNEL_FULL("label", channel)  declaration
 *                                              waits to the end of the braces because the queue is full ...
 *   HOTPATH_CHANNEL_EMPTY("label", channel)  declaration  ... or because it is empty
 *   HOTPATH_CHANNEL_END("label", channel)  expression  the queue was destroyed
 *   HOTPATH_STREAM_NEXT("label", stream)  declaration  a producer works from here to the end of the braces ...
 *   HOTPATH_STREAM_ITEM("label", stream, items, bytes)  expression  ... and yields items: see below
 *   HOTPATH_STREAM_TEXT("label", stream, "format", ...)  expression
 *                                              describes an item, if HOTPATH_LOG selects the label
 *   HOTPATH_STREAM_END("label", stream)  expression  the stream was destroyed
 *   HOTPATH_FIELD(hotpath_task, task)  declaration  last member of a struct: a task; no bytes without -DHOTPATH
 *   HOTPATH_TASK(task, "label"[, .lane = 1])  expression
 *                                              starts an operation that may end elsewhere, on any thread: see below
 *   HOTPATH_POLL(task)           declaration   the task runs from here to the end of the braces
 *   HOTPATH_RUN(task)            declaration   the same, and the task is ready at the end
 *   HOTPATH_READY(task)          expression    the task has ended ...
 *   HOTPATH_RESULT(task, "format", ...)  expression  ... with a printf-formatted result, kept if logged
 *   HOTPATH_CANCEL(task)         expression    the task has ended without a result
 *   HOTPATH_LOOP_WAIT("label")   declaration   an event loop waits from here to the end of the braces: see below
 *   HOTPATH_LOOP_END("label")    expression    the loop, and its last turn, has ended
 *   HOTPATH_SKIP                 attribute     keeps a function out of -finstrument-functions
 *
 * Labels are string literals; a key is any text and is copied. HOTPATH_MEASURE(.log = 1),
 * HOTPATH_MEASURE_AS("label", .log = 1) and HOTPATH_BLOCK("label", .log = 1) keep the latest calls and their notes,
 * as HOTPATH_LOG does from the environment; in C++ write .log(1). The arguments of a note are evaluated only if its
 * call may be kept: at logged sites, and at sites whose slowest call is recorded. Do not use notes in signal
 * handlers.
 *
 * HOTPATH_EXPR preserves the type of its expression, the lifetime of temporaries and, in C++, the value category.
 * Where it cannot, it does not compile: hotpath(3), "The language".
 *
 * A zone that longjmp skipped, or that was never closed, is detected when an enclosing zone ends or when its stack
 * space is reused. It is then counted, with the time up to the end of the last zone inside it.
 */
#define HOTPATH_MEASURE(...)                                                                                       \
    HOTPATH_ZONE_(HOTPATH_NAME_(__COUNTER__), HOTPATH_KIND_FUNCTION_, HOTPATH_FUNCTION_, __VA_ARGS__)
#define HOTPATH_MEASURE_AS(...) HOTPATH_LABELLED_(HOTPATH_KIND_LABEL_, __VA_ARGS__)
#define HOTPATH_BLOCK(...) HOTPATH_LABELLED_(HOTPATH_KIND_BLOCK_, __VA_ARGS__)

#define HOTPATH_BLOCK_KEY(label, key) HOTPATH_KEYED_(HOTPATH_NAME_(__COUNTER__), "" label "", key)
#define HOTPATH_NOTE(...) (hotpath_takes_note_() ? hotpath_v1_note(__VA_ARGS__) : (void)0)

#define HOTPATH_BEGIN(zone, label)                                                                                 \
    HOTPATH_SITE_(hotpath_site_of_##zone, HOTPATH_KIND_BLOCK_, "" label "", );                                     \
    struct hotpath_zone zone = {hotpath_open_(&zone, &hotpath_site_of_##zone)}
#define HOTPATH_END(zone) hotpath_close_(&(zone))

#define HOTPATH_EXPR(label, ...) HOTPATH_EXPR_("" label "", (__VA_ARGS__))

#define HOTPATH_SKIP __attribute__((no_instrument_function))

/*
 * Values: for each key the report shows the last, minimum, maximum and mean value, percentiles, the count, and the
 * latest values. Keys are string literals; uses with the same key share one row. For keys known only at run time,
 * HOTPATH_VALUE_KEY("label", key, x) and its siblings make a row label[key] for each text, up to
 * HOTPATH_KEYS_LIMIT. Gauges and counts take numbers only. Each HOTPATH_DEBUG in the source has its own row; it
 * yields a value of the same type (in C, an array becomes a pointer).
 */
#define HOTPATH_VALUE(key, value) HOTPATH_UPDATE_(hotpath_update_, VALUE, key, HOTPATH_SCALAR_(value))
#define HOTPATH_GAUGE_SET(key, number) HOTPATH_UPDATE_(hotpath_update_, GAUGE, key, HOTPATH_NUMBER_(number))
#define HOTPATH_GAUGE_ADD(key, number) HOTPATH_UPDATE_(hotpath_raise_, GAUGE, key, HOTPATH_NUMBER_(number))
#define HOTPATH_COUNT(key, number) HOTPATH_UPDATE_(hotpath_update_, COUNT, key, HOTPATH_NUMBER_(number))
#define HOTPATH_VALUE_KEY(label, key, value)                                                                       \
    HOTPATH_UPDATE_KEY_(hotpath_update_, VALUE, label, key, HOTPATH_SCALAR_(value))
#define HOTPATH_GAUGE_SET_KEY(label, key, number)                                                                  \
    HOTPATH_UPDATE_KEY_(hotpath_update_, GAUGE, label, key, HOTPATH_NUMBER_(number))
#define HOTPATH_GAUGE_ADD_KEY(label, key, number)                                                                  \
    HOTPATH_UPDATE_KEY_(hotpath_raise_, GAUGE, label, key, HOTPATH_NUMBER_(number))
#define HOTPATH_COUNT_KEY(label, key, number)                                                                      \
    HOTPATH_UPDATE_KEY_(hotpath_update_, COUNT, label, key, HOTPATH_NUMBER_(number))
#define HOTPATH_DEBUG(...) HOTPATH_DEBUG_(#__VA_ARGS__, (__VA_ARGS__))

/*
 * Channels: queues, pipes and rings of any implementation. The report shows all channels of a label together, and
 * each one by its address (NULL: the label is one channel). `items` is the number of items sent or received,
 * `bytes` their size (0: not relevant), `length` the number of items now in the channel (-1: unknown). Use SENT
 * before others can receive the item and RECEIVED after receiving it, so that the count of items inside never goes
 * below 0. If sender and receiver identify the item by an `id` (its address, its position in a ring; 0: none), the
 * report shows percentiles of the time that items spend inside; the mean needs no id.
 */
#define HOTPATH_CHANNEL_SENT(label, channel, ...)                                                                  \
    HOTPATH_PASSED_(hotpath_sent_, HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel, __VA_ARGS__,  \
                    0, )
#define HOTPATH_CHANNEL_RECEIVED(label, channel, ...)                                                              \
    HOTPATH_PASSED_(hotpath_received_, HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel,           \
                    __VA_ARGS__, 0, )
#define HOTPATH_PASSED_(tell, site, channel, items, bytes, length, id, ...)                                        \
    tell(site, channel, (uint64_t)(items), (uint64_t)(bytes), (int64_t)(length), (uint64_t)(id))
#define HOTPATH_CHANNEL_REFUSED(label, channel, items)                                                             \
    hotpath_lost_(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel, (uint64_t)(items), 0)
#define HOTPATH_CHANNEL_DROPPED(label, channel, items)                                                             \
    hotpath_lost_(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel, (uint64_t)(items), 1)
#define HOTPATH_CHANNEL_CAPACITY(label, channel, items)                                                            \
    hotpath_v1_channel_capacity(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel, (uint64_t)(items))
#define HOTPATH_CHANNEL_TEXT(label, channel, ...)                                                                  \
    (HOTPATH_GET_(hotpath_v1_context->skip) == 0                                                                   \
         ? hotpath_v1_channel_text(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel, __VA_ARGS__)  \
         : (void)0)
#define HOTPATH_CHANNEL_FULL(label, channel) HOTPATH_WAIT_(HOTPATH_NAME_(__COUNTER__), "" label "", channel, 1)
#define HOTPATH_CHANNEL_EMPTY(label, channel) HOTPATH_WAIT_(HOTPATH_NAME_(__COUNTER__), "" label "", channel, 0)
#define HOTPATH_CHANNEL_END(label, channel)                                                                        \
    hotpath_v1_channel_end(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel)

/*
 * Streams: generators, iterators, readers, anything that yields one item after another. The report shows the rate
 * of items, and the time that producer and consumer take. `stream` is any address that identifies the stream
 * (NULL: at most one stream per label at a time). A stream may move between threads, but only one thread uses it at
 * a time.
 */
#define HOTPATH_STREAM_NEXT(label, stream) HOTPATH_NEXT_(HOTPATH_NAME_(__COUNTER__), "" label "", stream)
#define HOTPATH_STREAM_ITEM(label, stream, items, bytes)                                                           \
    hotpath_yielded_(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), stream, (uint64_t)(items),           \
                     (uint64_t)(bytes))
#define HOTPATH_STREAM_TEXT(label, stream, ...)                                                                    \
    (HOTPATH_GET_(hotpath_v1_context->skip) == 0                                                                   \
         ? hotpath_v1_stream_text(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), stream, __VA_ARGS__)    \
         : (void)0)
#define HOTPATH_STREAM_END(label, stream)                                                                          \
    hotpath_v1_stream_end(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), stream)

/*
 * Tasks: operations that begin at one place and end at another: a request, a pending callback, a coroutine, a
 * queued job. `task` is the address of a hotpath_task, such as a member of the program's own struct declared by
 * HOTPATH_FIELD. It holds a number and may be copied and freed at any time. It need not be initialised before
 * HOTPATH_TASK. HOTPATH_POLL marks the time in which the task runs; without it, only the wall time is known. All
 * tasks of a label share one row, beside functions and in the section `futures`. Using a task after its end is
 * harmless and counted as misuse.
 *
 * A coroutine with its own stack that keeps zones open while others run needs a lane (see hotpath_switch).
 * HOTPATH_TASK(task, "label", .lane = 1), in C++ .lane(1), creates one. HOTPATH_POLL switches to it, and switches
 * back at the end of the braces, which must enclose only the stack switch. The lane ends with the task.
 */
#define HOTPATH_FIELD(type, name) type name[1]
#define HOTPATH_TASK(task, ...)                                                                                    \
    HOTPATH_PICK_(__VA_ARGS__, HOTPATH_TASK_WITH_, HOTPATH_TASK_ALONE_, )(task, __VA_ARGS__)
#define HOTPATH_POLL(task) HOTPATH_POLL_(HOTPATH_NAME_(__COUNTER__), task, 0)
#define HOTPATH_RUN(task) HOTPATH_POLL_(HOTPATH_NAME_(__COUNTER__), task, HOTPATH_LAST_POLL_)
#define HOTPATH_READY(task) hotpath_v1_task_end(task, 0)
#define HOTPATH_RESULT(task, ...) HOTPATH_RESULT_(task, __VA_ARGS__)
#define HOTPATH_CANCEL(task) hotpath_v1_task_end(task, 1)

/*
 * Event loops: a thread waits, handles events, and waits again. The time between two waits is a turn, in which the
 * loop notices no new event. The report shows how long turns were and how long events waited for a turn to end. A
 * label stands for one loop per thread. `hotpath run` detects loops over epoll, poll and select by itself; these
 * macros are for all others, and for static programs.
 */
#define HOTPATH_LOOP_WAIT(label) HOTPATH_LOOP_WAIT_(HOTPATH_NAME_(__COUNTER__), "" label "")
#define HOTPATH_LOOP_END(label) hotpath_loop_end_(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""))

/*
 * Allocation limit for a scope, for tests: this thread may allocate at most `most` times (a realloc counts). If it
 * exceeds the limit, or allocations are not counted (-lhotpath_alloc counts them), the library writes one line to
 * stderr and calls abort(), or calls the function set by hotpath_set_on_unexpected. Needs no session.
 */
#define HOTPATH_EXPECT_ALLOCS(most) HOTPATH_EXPECTED_(HOTPATH_NAME_(__COUNTER__), most)

#ifdef __cplusplus
#define HOTPATH_OPTIONS_(...) (hotpath::options() __VA_ARGS__)
#else
#define HOTPATH_OPTIONS_(...) ((struct hotpath_options){.size = sizeof(struct hotpath_options), __VA_ARGS__})
#endif

#define HOTPATH_MAIN(...)                                                                                          \
    HOTPATH_SITE_(hotpath_main_site_, HOTPATH_KIND_MAIN_, HOTPATH_FUNCTION_, );                                    \
    HOTPATH_SCOPE_ struct hotpath_zone hotpath_main_zone_ HOTPATH_AT_END_(hotpath_close_) = {hotpath_v1_main(      \
        &hotpath_main_zone_, &hotpath_main_site_, HOTPATH_POINTER_(HOTPATH_OPTIONS_(__VA_ARGS__)))}

#define HOTPATH_SESSION(...)                                                                                       \
    HOTPATH_SITE_(hotpath_session_site_, HOTPATH_KIND_MAIN_, HOTPATH_FUNCTION_, );                                 \
    HOTPATH_SCOPE_ struct hotpath_zone hotpath_session_zone_ HOTPATH_AT_END_(hotpath_v1_session_end) = {           \
        hotpath_v1_session(&hotpath_session_zone_, &hotpath_session_site_,                                         \
                           HOTPATH_POINTER_(HOTPATH_OPTIONS_(__VA_ARGS__)))}

/* ------------------------------------------------------------------------------------------ 3b. control */

/*
 * Starts a session. NULL means all defaults; the environment overrides these options. Returns 0, HOTPATH_E_ACTIVE
 * (with one line on stderr; the running session continues), HOTPATH_E_OFF, HOTPATH_E_OPTIONS or HOTPATH_E_SPACE.
 * Any thread; not in a signal handler.
 */
HOTPATH_API_ int hotpath_start(const struct hotpath_options *options);

/*
 * Writes the report and ends the session. HOTPATH_E_INACTIVE if there is none. Any thread; not in a signal handler.
 */
HOTPATH_API_ int hotpath_stop(void);

/* Writes a report of everything so far; recording continues. Any thread; not in a signal handler. */
HOTPATH_API_ int hotpath_report(void);

/*
 * From now on `reporter` receives every report of this process instead of the built-in output; NULL restores that.
 * The report on SIGINT or SIGTERM stays built-in, because a signal handler must not call `reporter`.
 */
HOTPATH_API_ void hotpath_set_reporter(hotpath_reporter *reporter, void *context);

/* The text for an enum hotpath_status; never NULL. */
HOTPATH_API_ const char *hotpath_strerror(int status);

/* The version of the running library; HOTPATH_VERSION is that of the header. */
HOTPATH_API_ const char *hotpath_version(void);

/* The path of the running session's file; "" if there is no session or its file has no name. */
HOTPATH_API_ const char *hotpath_session_path(void);

/*
 * Allocations of the calling thread so far; subtract two readings. HOTPATH_E_OFF if malloc is not counted. Readings
 * from different sessions cannot be compared. Any thread, any time.
 */
HOTPATH_API_ int hotpath_read_allocs(struct hotpath_alloc_counts *ret_counts);

/* Sets the function that HOTPATH_EXPECT_ALLOCS calls when a limit is exceeded; NULL restores the default. */
HOTPATH_API_ void hotpath_set_on_unexpected(hotpath_on_unexpected *on_unexpected, void *context);

/*
 * Custom allocators: memory that the program hands out itself (arenas, pools, its own heap), shown under its own
 * label beside malloc. Blocks are identified by their address until they are freed, one by one or all of a label at
 * once. Nothing is counted without a session. Any thread; not in a signal handler.
 */
HOTPATH_API_ void hotpath_alloc_event(const char *label, const void *block, size_t size);
HOTPATH_API_ void hotpath_free_event(const char *label, const void *block);
HOTPATH_API_ void hotpath_free_all_event(const char *label);

/* The task of the innermost poll on the calling thread, or none; for adapters. Any thread, any time. */
HOTPATH_API_ hotpath_task hotpath_current(void);

/*
 * The task of an object that cannot hold one itself, such as a library's request. `of` returns a slot in which
 * HOTPATH_TASK can start a task; NULL: there are too many, and the task counts as lost. `at` returns NULL if there
 * is none. All macros take NULL for no task. The slot is free again when the task has ended.
 */
HOTPATH_API_ hotpath_task *hotpath_task_of(const void *object);
HOTPATH_API_ hotpath_task *hotpath_task_at(const void *object);

/*
 * Coroutines that switch stacks while zones are open: see docs/coroutines.md. A lane is the stack of open zones of
 * one coroutine; 0 is the calling thread's own. hotpath_switch moves the calling thread to another lane and returns
 * the previous one; call it right before each stack switch. A lane is on one thread at a time, but may move between
 * threads. A lane that does not exist or has ended means the thread's own. Zones that are still open when a lane
 * ends are counted as left by longjmp. Any thread; not in a signal handler.
 */
HOTPATH_API_ hotpath_lane hotpath_lane_begin(void);
HOTPATH_API_ hotpath_lane hotpath_switch(hotpath_lane to);
HOTPATH_API_ void hotpath_lane_end(hotpath_lane lane);

/* Reading results: sections, their columns, their rows. An index out of range gives NULL or 0. */
HOTPATH_API_ uint64_t hotpath_results_elapsed_ns(const hotpath_results *results);
HOTPATH_API_ const char *hotpath_results_label(const hotpath_results *results);
/* The bottleneck in one sentence, if the section `bottlenecks` is present and found one; otherwise "". */
HOTPATH_API_ const char *hotpath_results_headline(const hotpath_results *results);
HOTPATH_API_ size_t hotpath_results_sections(const hotpath_results *results);
HOTPATH_API_ const hotpath_section *hotpath_results_section(const hotpath_results *results, size_t index);
HOTPATH_API_ const char *hotpath_section_name(const hotpath_section *section);
HOTPATH_API_ const char *hotpath_section_description(const hotpath_section *section);
HOTPATH_API_ size_t hotpath_section_columns(const hotpath_section *section);
HOTPATH_API_ const struct hotpath_column *hotpath_section_column(const hotpath_section *section, size_t index);
HOTPATH_API_ size_t hotpath_section_rows(const hotpath_section *section);
HOTPATH_API_ size_t hotpath_section_total_rows(const hotpath_section *section);
HOTPATH_API_ int hotpath_section_cell(const hotpath_section *section, size_t row, size_t column,
                                      struct hotpath_cell *ret_cell);
HOTPATH_API_ int hotpath_section_row(const hotpath_section *section, size_t row, struct hotpath_row *ret_row);
/* For columns with the unit HISTOGRAM or SERIES. A cell without a value has no bars and no points. */
HOTPATH_API_ int hotpath_section_histogram(const hotpath_section *section, size_t row, size_t column,
                                           struct hotpath_histogram *ret_histogram);
HOTPATH_API_ int hotpath_section_series(const hotpath_section *section, size_t row, size_t column,
                                        struct hotpath_series *ret_series);

/* ------------------------------------------------------ 4. internals of the macros: not for direct use */

/*
 * Names that end in an underscore or contain v1 are private. v1 is the version of the layouts below, so that a
 * program and a library that disagree do not link.
 *
 * These structs are both the thread's working memory and part of the session file (docs/session-format.md). Each
 * has one writer thread, which uses relaxed atomic stores, so anyone may read them at any time.
 */

/* A place in code. One static object per use of a macro; the library sets `id` at the first call. */
struct hotpath_site {
    uint32_t id;
    uint32_t kind;
    uint32_t line;
    uint32_t log; /* 1: keep the latest calls; for values and other objects, the object's number, 0: none yet */
    const char *name;
    const char *function;
    const char *file;
};

#define HOTPATH_ID_NEW_ UINT32_MAX            /* not registered yet */
#define HOTPATH_ID_EXCLUDED_ (UINT32_MAX - 1) /* excluded by HOTPATH_FILTER, or no space left */
#define HOTPATH_IDS_ ((uint32_t)1 << 24)      /* all ids are below this */

#define HOTPATH_KIND_FUNCTION_ 0u
#define HOTPATH_KIND_LABEL_ 1u
#define HOTPATH_KIND_BLOCK_ 2u
#define HOTPATH_KIND_MAIN_ 3u
#define HOTPATH_KIND_KEY_ 4u       /* one key of a block */
#define HOTPATH_KIND_SUSPENDED_ 5u /* not a place in code: time in which a coroutine is suspended */
#define HOTPATH_KIND_VALUE_ 6u
#define HOTPATH_KIND_GAUGE_ 7u
#define HOTPATH_KIND_COUNT_ 8u
#define HOTPATH_KIND_DEBUG_ 9u
#define HOTPATH_KIND_OBJECT_ 10u /* any other kind, known to the file that records it */
#define HOTPATH_KIND_TASK_ 11u   /* an object whose polls are zones */
#define HOTPATH_KIND_LAST_ 11u
#define HOTPATH_KIND_CXX_ 16u /* `name` is a C++ signature to be shortened */

/* The sites of a HOTPATH_BLOCK_KEY, one per key; the library looks them up and creates missing ones. */
struct hotpath_keys_ {
    struct hotpath_site site; /* what all keys share */
    void *table;
};

/*
 * The guard in the caller's stack frame. Its address identifies the zone; the library trusts none of its contents:
 * `goto` may have skipped its initialiser, `longjmp` its end.
 */
struct hotpath_zone {
    uintptr_t state; /* HOTPATH_SKIPPED_, or the address of the context that opened it, plus HOTPATH_BY_COUNT_ */
};
#define HOTPATH_SKIPPED_ 0u
#define HOTPATH_BY_COUNT_ 1u /* in `state`: the zone is counted but not timed */

/* An open zone on the thread's stack of zones. Frame 0 is the thread itself. */
struct hotpath_frame_ {
    uint64_t zone;  /* address of the guard; 0 marks the end of the stack */
    uint64_t start; /* ticks */
    uint64_t child; /* ticks spent in direct child zones; after the zone closed, the time of closing */
    uint32_t node;  /* its node: offset in the session */
    uint32_t stat;  /* its stat: offset in the session, with flags: see HOTPATH_FLAGS_ */
};

/* A node of the thread's call tree: this site below that parent. */
struct hotpath_node_ {
    uint32_t site;
    uint32_t parent;    /* offset of a node, 0 for the thread's root */
    uint32_t stat;      /* offset of the hotpath_stat_ of this site and thread */
    uint32_t is_folded; /* 1: deeper calls were folded onto this node; or HOTPATH_INSIDE_ITSELF_ */
    uint32_t first_child;
    uint32_t next_sibling;
    uint64_t calls;
    uint64_t total;   /* ticks in all calls */
    uint64_t nested;  /* part of total: calls inside another call of this site (recursion) */
    uint64_t self;    /* ticks outside child zones; may wrap, but sums are right */
    uint64_t untimed; /* calls counted without reading the clock; not in any of the times */
};

/*
 * What one thread records per site, besides its nodes: extremes and a histogram of durations in ticks. Octave 0
 * counts 0..127 in 128 counters, one per tick; octave o >= 1 counts [64 << o, 128 << o) in 64 counters, each 1 << o
 * wide. Octaves are allocated at first use. The counter of a duration is counter (ticks >> o) from the octave's
 * origin; for o >= 1 the origin lies 64 counters before the first allocated one.
 */
#define HOTPATH_OCTAVES_ 58
struct hotpath_stat_ {
    uint32_t site;
    uint32_t next; /* offset of the thread's next stat */
    uint64_t min;
    uint64_t max;
    uint32_t countdown; /* sampling: calls until the next timed one, inclusive */
    uint32_t period;    /* sampling: one call in `period` is timed */
    uint32_t threads;   /* number of threads that have used this record, one after another */
    uint32_t generation;
    uint32_t octaves[HOTPATH_OCTAVES_]; /* offsets of the octaves' origins */
    uint32_t open;                      /* open calls; maintained only if the site recurses */
    uint32_t keeps;                     /* reasons for the slow path: private to the library */
    uint32_t log;                       /* offset of the latest calls; 0: not kept */
    uint32_t slowest;                   /* offset of the slowest call with everything inside it, or 0 */
    uint32_t typical;    /* too short to time every call: duration when this was found, in 1/256 ticks; else 0 */
    uint64_t missed;     /* durations lost because there was no space for their octave */
    uint32_t long_calls; /* with `typical`: long timed calls in a row; private to the library */
    uint32_t alloc;      /* offset of the allocations of its calls, or 0 */
};

/*
 * Flags in the low bits of the offset of a stat, which is a multiple of 64.
 *
 * RECURSIVE: open calls of the site are counted. This is needed only after a call was folded onto one of the site's
 * nodes or onto an ancestor of one: before that, no site can be open twice. From then on all slots and frames below
 * that ancestor have this bit.
 *
 * UNTIMED, in frames: sampling skipped this call, it is only counted. In slots it goes with HOTPATH_SAMPLED_KEY_,
 * where most calls are untimed. CHOSEN: this call was picked to be timed.
 *
 * KEPT: the call keeps more than numbers (its note, its place among the latest calls). The offset is not that of
 * its stat but of a dummy stat that never gets an octave; so these calls end on the slow path, and other calls pay
 * for no check.
 *
 * ALLOCATES, in frames: the call has allocated or freed. It ends on the slow path by the same trick; a sampled call
 * that is not timed has COUNTED instead of UNTIMED.
 */
#define HOTPATH_RECURSIVE_ 1u
#define HOTPATH_UNTIMED_ 2u
#define HOTPATH_KEPT_ 4u
#define HOTPATH_CHOSEN_ 8u
#define HOTPATH_ALLOCATES_ 16u
#define HOTPATH_COUNTED_ 32u
#define HOTPATH_FLAGS_ 63u

#define HOTPATH_INSIDE_ITSELF_ 2u /* nothing was folded, but a call of the site ran inside another call of it */

/* Set beside the site id in a slot's key, so that zones unaware of sampling do not find the slot. */
#define HOTPATH_SAMPLED_KEY_ ((uint64_t)1 << 31)

/* Maps (parent node, site) to a node. A table of slots is the thread's index into its call tree. */
struct hotpath_slot_ {
    uint64_t key; /* parent offset << 32 | site id, with HOTPATH_SAMPLED_KEY_ if not all calls are timed */
    uint32_t node;
    uint32_t stat; /* as in hotpath_frame_ */
};

/*
 * The thread's working state, in private memory that is zero in a forked child. It is busy while the thread is
 * inside the recorder. Then, as for a thread that is not registered, no id is below the limit: a signal handler
 * takes the slow path. So one comparison tells that the site has an id and that the context is idle.
 */
struct hotpath_context_ {
    uint32_t id_limit;           /* HOTPATH_IDS_ when idle, 0 when busy */
    uint32_t epoch;              /* the session this context belongs to */
    struct hotpath_frame_ *top;  /* innermost open zone */
    struct hotpath_frame_ *last; /* last usable frame */
    struct hotpath_slot_ *slots;
    char *base;    /* the session in memory; its gate is at offset HOTPATH_GATE_ */
    uint32_t mask; /* size of the slot table in bytes, minus 16 */
    uint32_t skip; /* 1 while nothing is recorded */
};

#if HOTPATH_TLS_DYNAMIC /* TLS model of the context: see part 1 */
#define HOTPATH_TLS_
#else
#define HOTPATH_TLS_ __attribute__((tls_model("initial-exec")))
#endif

extern HOTPATH_API_ __thread struct hotpath_context_ *hotpath_v1_context HOTPATH_TLS_;

HOTPATH_API_ uintptr_t hotpath_v1_enter(struct hotpath_zone *zone, struct hotpath_site *site);
HOTPATH_API_ void hotpath_v1_leave(struct hotpath_zone *zone, uint64_t now);
HOTPATH_API_ uintptr_t hotpath_v1_main(struct hotpath_zone *zone, struct hotpath_site *site,
                                       const struct hotpath_options *options);
HOTPATH_API_ uintptr_t hotpath_v1_session(struct hotpath_zone *zone, struct hotpath_site *site,
                                          const struct hotpath_options *options);
HOTPATH_API_ void hotpath_v1_session_end(struct hotpath_zone *zone);
HOTPATH_API_ uint64_t hotpath_v1_clock(void);
HOTPATH_API_ struct hotpath_site *hotpath_v1_key(struct hotpath_keys_ *keys, const char *key);
HOTPATH_API_ void hotpath_v1_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A value of any type: see enum hp_value_type. */
struct hotpath_scalar_ {
    uint32_t type;
    uint64_t bits; /* the address, if it is text */
};
#define HOTPATH_SIGNED_ 1u
#define HOTPATH_UNSIGNED_ 2u
#define HOTPATH_REAL_ 3u
#define HOTPATH_BOOL_ 4u
#define HOTPATH_ADDRESS_ 5u
#define HOTPATH_STRING_ 6u
/* A new value for the site's key: sets the gauge, or adds to it. */
HOTPATH_API_ void hotpath_v1_value(struct hotpath_site *site, struct hotpath_scalar_ value);
HOTPATH_API_ void hotpath_v1_gauge_add(struct hotpath_site *site, struct hotpath_scalar_ value);

/*
 * Events of channels. A wait belongs to the thread that began it; a wait left by longjmp is not counted.
 *
 * Here and below, a guard that is larger than a word is filled in place. Its cleanup gets its address, and the
 * library uses its contents only if it knows from its own memory that the guard at this address has begun: `goto`
 * may have skipped the beginning.
 */
struct hotpath_channel_wait_ {
    struct hotpath_site *site;
    const void *channel;
    uint64_t since; /* ticks; 0: not recorded */
    uint32_t side;
};
HOTPATH_API_ void hotpath_v1_channel_sent(struct hotpath_site *site, const void *channel, uint64_t items,
                                          uint64_t bytes, int64_t length, uint64_t id);
HOTPATH_API_ void hotpath_v1_channel_received(struct hotpath_site *site, const void *channel, uint64_t items,
                                              uint64_t bytes, int64_t length, uint64_t id);
HOTPATH_API_ void hotpath_v1_channel_lost(struct hotpath_site *site, const void *channel, uint64_t items,
                                          int was_inside);
HOTPATH_API_ void hotpath_v1_channel_capacity(struct hotpath_site *site, const void *channel, uint64_t capacity);
HOTPATH_API_ void hotpath_v1_channel_text(struct hotpath_site *site, const void *channel, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
HOTPATH_API_ void hotpath_v1_channel_wait(struct hotpath_channel_wait_ *ret_wait, struct hotpath_site *site,
                                          const void *channel, int is_full);
HOTPATH_API_ void hotpath_v1_channel_waited(const struct hotpath_channel_wait_ *wait);
/* Events of streams. */
struct hotpath_stream_next_ {
    uint64_t place; /* the stream's offset and its session; 0: not recorded */
};
HOTPATH_API_ uint64_t hotpath_v1_stream_next(struct hotpath_stream_next_ *next, struct hotpath_site *site,
                                             const void *stream);
HOTPATH_API_ void hotpath_v1_stream_nexted(const struct hotpath_stream_next_ *next);
HOTPATH_API_ void hotpath_v1_stream_item(struct hotpath_site *site, const void *stream, uint64_t items,
                                         uint64_t bytes);
HOTPATH_API_ void hotpath_v1_stream_text(struct hotpath_site *site, const void *stream, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
HOTPATH_API_ void hotpath_v1_stream_end(struct hotpath_site *site, const void *stream);
HOTPATH_API_ void hotpath_v1_channel_end(struct hotpath_site *site, const void *channel);

/*
 * A poll: a task runs. The library fills it in place, word by word: a copy would cost as much as everything else.
 */
struct hotpath_poll_ {
    struct hotpath_zone zone;
    uint64_t id;              /* 0: not recorded */
    uint64_t before;          /* the task that ran before; HOTPATH_NO_POLL_: only a zone, or nothing */
    hotpath_lane lane, below; /* with HOTPATH_ON_LANE_: the task's lane, and the poller's lane */
    uint64_t mark;            /* of a poll that is not known by its zone: private to the library */
    int how;
};
#define HOTPATH_NO_POLL_ UINT64_MAX
HOTPATH_API_ uint64_t hotpath_v1_task(struct hotpath_site *site);
/*
 * A task with a lane, or a task that another one waits for, as adapters report it: the reason why the other does
 * not run.
 */
HOTPATH_API_ uint64_t hotpath_v1_task_with(struct hotpath_site *site, hotpath_task waiting, int has_lane);
#define HOTPATH_LAST_POLL_ 1   /* the task ends with this poll */
#define HOTPATH_MAY_BE_OVER_ 2 /* a poll of a task that has ended is ignored, not misuse: adapters cannot know */
#define HOTPATH_ON_LANE_ 4     /* the task has a lane; set by the library */
#define HOTPATH_CANCELLED_ 8   /* with HOTPATH_LAST_POLL_: the task ends without a result */
HOTPATH_API_ void hotpath_v1_poll(struct hotpath_poll_ *ret_poll, uint64_t id, int how);
HOTPATH_API_ void hotpath_v1_poll_end(struct hotpath_poll_ *poll);
HOTPATH_API_ void hotpath_v1_task_end(hotpath_task *task, int is_cancelled);
HOTPATH_API_ int hotpath_v1_task_is_logged(const hotpath_task *task);
/* For adapters: an operation has no task, because there is no memory for what belongs to it. */
HOTPATH_API_ void hotpath_v1_task_lost(void);
HOTPATH_API_ void hotpath_v1_task_result(hotpath_task *task, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Events of loops. A wait left by longjmp is not counted. */
struct hotpath_loop_wait_ {
    struct hotpath_site *site;
    uint64_t since; /* ticks; 0: not recorded */
};
HOTPATH_API_ void hotpath_v1_loop_wait(struct hotpath_loop_wait_ *ret_wait, struct hotpath_site *site);
HOTPATH_API_ void hotpath_v1_loop_waited(const struct hotpath_loop_wait_ *wait);
HOTPATH_API_ void hotpath_v1_loop_end(struct hotpath_site *site, const void *loop);
/*
 * The same for interposed wait functions. `loop` tells loops of one site and thread apart (NULL: there is one). A
 * wait that is not recorded (0) needs no end. Preserves errno.
 */
struct hotpath_loop_ {
    struct hotpath_site *site;
    const void *loop;
    void *context; /* private to the library from here on: the thread's counters for this loop; all 0 at first */
    uint32_t epoch, part;
    uint32_t is_missed; /* its last wait was not recorded */
};
HOTPATH_API_ int hotpath_v1_loop_waits(struct hotpath_loop_ *loop);
HOTPATH_API_ void hotpath_v1_loop_woke(struct hotpath_loop_ *loop, uint64_t events);
/* The loop does work before its first wait. */
HOTPATH_API_ void hotpath_v1_loop_begin(struct hotpath_site *site, const void *loop);
/* The site of a place in code that calls the function `wait`, which is always the same string. NULL: none. */
HOTPATH_API_ struct hotpath_site *hotpath_v1_loop_site(const char *wait, const void *caller);
/* A library was closed: what is known by addresses in it is forgotten. Preserves errno. */
HOTPATH_API_ void hotpath_v1_closed(void);

/*
 * Called by interposed read, write and similar functions around a call that moves data through a channel that the
 * program does not report itself. `channel` tells the channels of one site apart. Preserves errno.
 */
#define HOTPATH_QUEUE_ 0       /* carries messages, identified by its address */
#define HOTPATH_PIPE_ 1        /* carries bytes; its identity is the same in all processes */
#define HOTPATH_MESSAGES_ 2    /* as HOTPATH_PIPE_, carries messages */
struct hotpath_transfer_ {
    struct hotpath_site *site;
    const void *channel;
    uint16_t kind;
    uint8_t is_sending, never_waits; /* the latter: the call returns at once, even if it cannot move anything */
    uint32_t epoch, part; /* private to the library from here on: the thread's counters for this channel */
    void *context;
    uint64_t since; /* 0: not recorded, call no end function */
};
HOTPATH_API_ void hotpath_v1_transfer(struct hotpath_transfer_ *transfer);
HOTPATH_API_ void hotpath_v1_transferred(const struct hotpath_transfer_ *transfer, uint64_t items, uint64_t bytes,
                                         int is_refused);
/* Makes the records that a thread's transfers need, so that the first makes no system call, if anything is ... */
HOTPATH_API_ void hotpath_v1_transfer_prepare(const struct hotpath_transfer_ *transfer);
/* ... recorded now: a session that begins late has not begun yet. */
HOTPATH_API_ int hotpath_v1_transfer_has_session(void);
/* The process has closed its last end of the channel, at that hotpath_v1_clock. */
HOTPATH_API_ void hotpath_v1_transfer_over(struct hotpath_site *site, const void *channel, int kind, uint64_t ns);
/* Whether this process records, and may make system calls to find out what a descriptor is. */
HOTPATH_API_ int hotpath_v1_transfer_may_look(void);

/*
 * Calls `work` on a stack of the library, since that of an interposed function may be small, with signals blocked.
 * 0: not called, since there is no memory or no system call may be made. The work must return.
 */
HOTPATH_API_ int hotpath_v1_aside(void (*work)(void *context), void *context);

/*
 * Called by interposed malloc functions. `asked` is the requested size, `usable` the size by malloc_usable_size,
 * `stack` the stack address at the call of malloc. Any thread, any time: before constructors, after destructors, in
 * a forked child, in signal handlers. Preserves errno.
 */
/* Each interposing library calls this once; from then on allocations are counted. */
HOTPATH_API_ void hotpath_v1_alloc_is_watched(void);
/*
 * For a library that can stop reporting. `pass_on` is called with 1 when allocations are not counted; the library
 * then only forwards to the allocator. After a call with 0, and before the first call, it reports every allocation.
 * `pass_on` may be called at any time, by any thread, and by several at once.
 */
HOTPATH_API_ void hotpath_v1_alloc_switch(void (*pass_on)(int is_on));
/* For a library that cannot count. The reason is printed at once or when a session begins. */
HOTPATH_API_ void hotpath_v1_alloc_is_not_watched(const char *reason, int at_once);
#define HOTPATH_ALLOC_SANITIZED_                                                                                   \
    "hotpath: the program contains a sanitizer, which replaces malloc; allocations are not counted"
/* After a successful allocation; and before a free, while no other thread can get the same address. */
HOTPATH_API_ void hotpath_v1_allocated(const void *block, size_t asked, size_t usable, uintptr_t stack);
HOTPATH_API_ void hotpath_v1_freed(const void *block, size_t usable, uintptr_t stack);
/*
 * Before and after a realloc, also one in place: one free plus one allocation. The first function returns whether
 * another thread had allocated the block; pass that to the second. `block` is NULL if a realloc to size 0 has freed
 * it.
 */
HOTPATH_API_ int hotpath_v1_reallocating(const void *block);
HOTPATH_API_ void hotpath_v1_reallocated(int was_foreign, size_t old_usable, const void *block, size_t asked,
                                         size_t usable, uintptr_t stack);
/* After an allocation that failed. */
HOTPATH_API_ void hotpath_v1_alloc_failed(void);

/*
 * Called by interposed prctl and syscall: the calling thread is about to sandbox itself, or (negative) the kernel
 * has just refused. If system calls would then kill the process, the library makes no more of them; if reading the
 * time stamp counter would, the thread is no longer measured. 0: not noted, since the caller is a vfork child,
 * whose memory is its parent's.
 */
#define HOTPATH_CONFINES_CALLS_ 1
#define HOTPATH_CONFINES_COUNTER_ 2
HOTPATH_API_ int hotpath_v1_confine(int what);
/* Whether the process is in a sandbox: one that was announced, or that an observer outside has noticed. */
HOTPATH_API_ int hotpath_v1_is_confined(void);

/*
 * Called by interposed functions after which a session could not begin, or would begin too late: under `hotpath
 * run` most processes begin theirs only when there is something to record. Begins it now.
 */
HOTPATH_API_ void hotpath_v1_begin(void);

/*
 * Called by the library that samples stacks for `hotpath run`. `leave_thread` is called, with signals blocked, in a
 * thread that has zones and is from now on sampled by this library instead.
 */
HOTPATH_API_ void hotpath_v1_stacks_switch(void (*leave_thread)(void));

/* A scope of HOTPATH_EXPECT_ALLOCS. */
struct hotpath_expected_ {
    struct hotpath_alloc_counts begin;
    const char *file;
    const char *function;
    uint64_t most;
    uint64_t mark; /* private to the library */
    uint32_t line;
    int32_t status; /* result of the reading at its start */
};
HOTPATH_API_ struct hotpath_expected_ *hotpath_v1_expect(struct hotpath_expected_ *ret_expected, uint64_t most,
                                                         const char *file, uint32_t line, const char *function);
HOTPATH_API_ void hotpath_v1_expect_end(struct hotpath_expected_ *expected);

/* The gate of a session. 0: recording is off; equal to the context's epoch: on; otherwise: take the slow path. */
#define HOTPATH_GATE_ 48
#define HOTPATH_EPOCH_ 0x7fffffffu /* without the bit by which the library requests the slow path */
#define HOTPATH_GATE_OF_(context) HOTPATH_GET_(*(const uint32_t *)(const void *)((context)->base + HOTPATH_GATE_))

#define HOTPATH_GET_(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define HOTPATH_PUT_(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
/* Adds to memory that only this thread writes. One instruction on x86-64: compilers do not merge load and store. */
#if defined(__x86_64__)
#define HOTPATH_ADD_(place, value)                                                                                 \
    __asm__("{addq %1, %0|add qword ptr %0, %1}" : "+m"(place) : "er"((uint64_t)(value)) : "cc")
#else
#define HOTPATH_ADD_(place, value) HOTPATH_PUT_(place, HOTPATH_GET_(place) + (value))
#endif
/* Compiler barrier for stores. Signal handlers run on the same thread, so no CPU barrier is needed. */
#define HOTPATH_ORDER_() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define HOTPATH_LIKELY_(condition) __builtin_expect(!!(condition), 1)

#define HOTPATH_IS_BUSY_(context) (HOTPATH_GET_((context)->id_limit) == 0)
static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_set_busy_(struct hotpath_context_ *context)
{
    HOTPATH_PUT_(context->id_limit, 0);
    HOTPATH_ORDER_();
}
static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_set_idle_(struct hotpath_context_ *context)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(context->id_limit, HOTPATH_IDS_);
}

/* Reads the time stamp counter. If it is unreliable, the library keeps the gate on the slow path. */
static inline __attribute__((always_inline, unused, no_instrument_function)) uint64_t hotpath_ticks_(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#elif defined(__riscv) && __riscv_xlen == 64
    uint64_t ticks;
    __asm__ volatile("rdtime %0" : "=r"(ticks));
    return ticks;
#else
    return hotpath_v1_clock();
#endif
}

/* The octave of a duration; see hotpath_stat_. */
static inline __attribute__((always_inline, unused, no_instrument_function)) uint32_t
hotpath_octave_(uint64_t ticks)
{
    return ((uint32_t)__builtin_clzll(ticks | 127) ^ 63u) - 6u;
}

/*
 * The slot to look in for (parent, site). First the row in which the children of a parent lie side by side: fast to
 * compute and good for the cache. Then, if rows of several parents overlap, a second slot by hash. A node that is
 * in neither is found on the slow path.
 */
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_slot_ *
hotpath_slot_of_(const struct hotpath_context_ *context, uint32_t parent, uint32_t site)
{
    return (struct hotpath_slot_ *)(void *)((char *)context->slots + ((parent + site * 16u) & context->mask));
}

static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_slot_ *
hotpath_second_slot_of_(const struct hotpath_context_ *context, uint64_t key)
{
    const uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);
    return (struct hotpath_slot_ *)(void *)((char *)context->slots + ((uint32_t)(mixed >> 32) & context->mask));
}

/*
 * One copy of these functions per translation unit, called directly. Inlining them into every zone gains 2 % and
 * costs ten times the compile time and eight times the code.
 */
#define HOTPATH_PER_UNIT_ static inline __attribute__((noinline, unused, no_instrument_function))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes" /* "inline" with "noinline": units without zones get no copy */

/* Pushes a frame for a zone that was found; the caller sets its start time. */
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_frame_ *
hotpath_push_(struct hotpath_context_ *context, struct hotpath_frame_ *frame, const struct hotpath_slot_ *slot,
              const struct hotpath_zone *zone)
{
    HOTPATH_PUT_(frame->child, 0);
    HOTPATH_PUT_(frame->node, slot->node);
    HOTPATH_PUT_(frame->stat, slot->stat);
    HOTPATH_PUT_(frame->zone, (uint64_t)(uintptr_t)zone);
    context->top = frame;
    return frame;
}

/*
 * The same for an untimed call. It does not set `start`, which is never read, nor `child`: any old value is valid,
 * because it is never later than now.
 */
static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_push_untimed_(struct hotpath_context_ *context, struct hotpath_frame_ *frame,
                      const struct hotpath_slot_ *slot, uintptr_t zone)
{
    const uint32_t node = slot->node, stat = slot->stat;
    HOTPATH_PUT_(frame->node, node);
    HOTPATH_PUT_(frame->stat, stat);
    HOTPATH_PUT_(frame->zone, (uint64_t)zone);
    context->top = frame;
}

/* Recursion: counts one more open call of the site. */
static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_open_call_(const struct hotpath_context_ *context, const struct hotpath_frame_ *frame)
{
    uint32_t offset = frame->stat & ~HOTPATH_FLAGS_;
    if (__builtin_expect(frame->stat & HOTPATH_KEPT_, 0))
        offset = ((const struct hotpath_node_ *)(const void *)(context->base + frame->node))->stat;
    struct hotpath_stat_ *stat = (struct hotpath_stat_ *)(void *)(context->base + offset);
    HOTPATH_PUT_(stat->open, stat->open + 1);
}

/*
 * Sampling: calls until the next timed one, inclusive: `period` on average, randomly up to half as many more or
 * less. With a fixed step, a program whose calls repeat in the same rhythm would always have the same calls timed.
 * Derived from the number of calls so far, so it needs no state.
 */
static inline __attribute__((always_inline, unused, no_instrument_function)) uint32_t
hotpath_until_timed_(uint64_t calls, uint32_t period)
{
    uint32_t mixed = (uint32_t)calls * 0x9e3779b1u;
    mixed = (mixed ^ mixed >> 15) * 0x85ebca77u;
    mixed ^= mixed >> 13;
    const uint32_t half = period >> 31 != 0 ? 0 : period / 2; /* the longest period means never */
    return period - half + (uint32_t)(mixed * (half * UINT64_C(2) + 1) >> 32);
}

/*
 * Sampling: whether to time the next zone here. The outermost calls of a recursion are always timed: they are few,
 * and unlike the inner ones.
 */
static inline __attribute__((always_inline, unused, no_instrument_function)) int
hotpath_is_timed_(struct hotpath_stat_ *stat, struct hotpath_node_ *node, uint32_t flags)
{
    if (flags & HOTPATH_RECURSIVE_) {
        if (stat->open == 0 && node->is_folded)
            return 1;
        if (stat->open != 0 && !node->is_folded)
            HOTPATH_PUT_(node->is_folded, HOTPATH_INSIDE_ITSELF_);
    }
    const uint32_t left = stat->countdown - 1;
    HOTPATH_PUT_(stat->countdown, left != 0 ? left : hotpath_until_timed_(node->calls, stat->period));
    return left == 0;
}

/* Sampling: opens a zone that may be timed, or that recurses. The caller holds the context. */
HOTPATH_PER_UNIT_ uintptr_t hotpath_enter_by_chance_(struct hotpath_context_ *context, struct hotpath_zone *zone,
                                                     const struct hotpath_slot_ *slot)
{
    struct hotpath_node_ *node = (struct hotpath_node_ *)(void *)(context->base + slot->node);
    struct hotpath_stat_ *stat = (struct hotpath_stat_ *)(void *)(context->base + (slot->stat & ~HOTPATH_FLAGS_));
    struct hotpath_frame_ *frame = hotpath_push_(context, context->top + 1, slot, zone);
    uintptr_t state = (uintptr_t)context;
    if (hotpath_is_timed_(stat, node, slot->stat)) {
        HOTPATH_PUT_(frame->stat, (slot->stat & ~HOTPATH_UNTIMED_) | HOTPATH_CHOSEN_);
        HOTPATH_PUT_(frame->start, hotpath_ticks_());
    } else {
        state |= HOTPATH_BY_COUNT_;
    }
    if (slot->stat & HOTPATH_RECURSIVE_)
        HOTPATH_PUT_(stat->open, stat->open + 1);
    hotpath_set_idle_(context);
    return state;
}

/*
 * Opens a zone of a sampled site. The context is busy, the session is on, and `slot` is where
 * the site was found.
 *
 * An untimed call gets a frame, too: its callees and notes must be found below it.
 */
HOTPATH_PER_UNIT_ uintptr_t hotpath_enter_sampled_(struct hotpath_context_ *context, struct hotpath_zone *zone,
                                                   struct hotpath_site *site, const struct hotpath_slot_ *slot)
{
    struct hotpath_frame_ *frame = context->top;
    if (HOTPATH_LIKELY_((uintptr_t)zone < frame->zone && frame != context->last)) {
        const uint32_t flags = slot->stat;
        struct hotpath_stat_ *stat = (struct hotpath_stat_ *)(void *)(context->base + (flags & ~HOTPATH_FLAGS_));
        const uint32_t left = stat->countdown - 1;
        if (__builtin_expect(left == 0 || flags & HOTPATH_RECURSIVE_, 0))
            return hotpath_enter_by_chance_(context, zone, slot);
        hotpath_push_untimed_(context, frame + 1, slot, (uintptr_t)zone);
        HOTPATH_PUT_(stat->countdown, left);
        hotpath_set_idle_(context);
        return (uintptr_t)context | HOTPATH_BY_COUNT_;
    }
    hotpath_set_idle_(context);
    return hotpath_v1_enter(zone, site);
}

/*
 * Opens a zone that was not in the slot it was last looked for. It may be stored as a sampled one; everything else
 * takes the slow path.
 */
HOTPATH_PER_UNIT_ uintptr_t hotpath_enter_held_(struct hotpath_context_ *context, struct hotpath_zone *zone,
                                                struct hotpath_site *site, const struct hotpath_slot_ *slot)
{
    const uint64_t key = (uint64_t)context->top->node << 32 | HOTPATH_GET_(site->id);
    if (slot->key == (key | HOTPATH_SAMPLED_KEY_))
        return hotpath_enter_sampled_(context, zone, site, slot);
    hotpath_set_idle_(context);
    return hotpath_v1_enter(zone, site);
}

/* Opens a timed zone whose slot was found, and releases the context. */
static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_open_timed_(struct hotpath_context_ *context, struct hotpath_frame_ *frame,
                    const struct hotpath_slot_ *slot, const struct hotpath_zone *zone)
{
    hotpath_push_(context, frame, slot, zone);
    HOTPATH_PUT_(frame->start, hotpath_ticks_());
    if (__builtin_expect(slot->stat & HOTPATH_RECURSIVE_, 0))
        hotpath_open_call_(context, frame);
    hotpath_set_idle_(context);
}

/* Opens a zone. Fast path; everything unusual is in hotpath_v1_enter. */
HOTPATH_PER_UNIT_ uintptr_t hotpath_enter_(struct hotpath_zone *zone, struct hotpath_site *site)
{
    struct hotpath_context_ *context = hotpath_v1_context;
    const uint32_t id = HOTPATH_GET_(site->id);
    if (HOTPATH_LIKELY_(id < HOTPATH_GET_(context->id_limit))) {
        hotpath_set_busy_(context);
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(context) == context->epoch)) {
            struct hotpath_frame_ *frame = context->top;
            const uint32_t parent = frame->node;
            const uint64_t key = (uint64_t)parent << 32 | id;
            const struct hotpath_slot_ *slot = hotpath_slot_of_(context, parent, id);
            if (__builtin_expect(slot->key != key, 0)) {
                if (slot->key == (key | HOTPATH_SAMPLED_KEY_))
                    return hotpath_enter_sampled_(context, zone, site, slot);
                slot = hotpath_second_slot_of_(context, key);
            }
            /* A guard that is not below the innermost one may be a leftover of longjmp. */
            if (HOTPATH_LIKELY_(slot->key == key && (uintptr_t)zone < frame->zone && frame != context->last)) {
                hotpath_open_timed_(context, frame + 1, slot, zone);
                return (uintptr_t)context;
            }
            return hotpath_enter_held_(context, zone, site, slot);
        }
        hotpath_set_idle_(context);
    }
    return id == HOTPATH_ID_EXCLUDED_ ? HOTPATH_SKIPPED_ : hotpath_v1_enter(zone, site);
}

/*
 * Counts the innermost zone, which ends now, and pops it. Returns 0 and changes nothing if its octave does not
 * exist yet. The caller then counts it on the slow path with the same time: a later one might fall into another
 * octave, and this one would never be allocated.
 */
static inline __attribute__((always_inline, unused, no_instrument_function)) int
hotpath_count_(struct hotpath_context_ *context, struct hotpath_frame_ *frame, uint64_t *ret_now)
{
    struct hotpath_node_ *node = (struct hotpath_node_ *)(void *)(context->base + frame->node);
    struct hotpath_stat_ *stat = (struct hotpath_stat_ *)(void *)(context->base + (frame->stat & ~HOTPATH_FLAGS_));
    const uint64_t now = *ret_now = hotpath_ticks_();
    const uint64_t ticks = now - frame->start;
    const uint32_t octave = hotpath_octave_(ticks);
    /* If the clock went backwards, the duration is huge, and its octave is never allocated. */
    if (__builtin_expect(stat->octaves[octave] == 0, 0))
        return 0;
    uint64_t *buckets = (uint64_t *)(void *)(context->base + stat->octaves[octave]);
    /* Close first, then count: a process killed in between must not count it twice. */
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    HOTPATH_ADD_(buckets[ticks >> octave], 1);
    HOTPATH_ADD_(node->calls, 1);
    HOTPATH_ADD_(node->total, ticks);
    HOTPATH_ADD_(node->self, ticks - frame->child);
    HOTPATH_ADD_(frame[-1].child, ticks);
    if (__builtin_expect(frame->stat & HOTPATH_RECURSIVE_, 0)) {
        HOTPATH_PUT_(stat->open, stat->open - 1);
        if (stat->open != 0)
            HOTPATH_ADD_(node->nested, ticks);
    }
    if (__builtin_expect(ticks < stat->min, 0))
        HOTPATH_PUT_(stat->min, ticks);
    if (__builtin_expect(ticks > stat->max, 0))
        HOTPATH_PUT_(stat->max, ticks);
    HOTPATH_PUT_(frame->child, now);
    context->top = frame - 1;
    return 1;
}

/* The same for an untimed zone. */
static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_count_untimed_(struct hotpath_context_ *context, struct hotpath_frame_ *frame)
{
    struct hotpath_node_ *node = (struct hotpath_node_ *)(void *)(context->base + frame->node);
    const uint32_t flags = frame->stat;
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    HOTPATH_ADD_(node->calls, 1);
    HOTPATH_ADD_(node->untimed, 1);
    if (__builtin_expect(flags & HOTPATH_RECURSIVE_, 0)) {
        struct hotpath_stat_ *stat = (struct hotpath_stat_ *)(void *)(context->base + node->stat);
        HOTPATH_PUT_(stat->open, stat->open - 1);
    }
    context->top = frame - 1;
}

/* Closes a zone that was counted only; all others go to the slow path. */
HOTPATH_PER_UNIT_ void hotpath_leave_otherwise_(struct hotpath_zone *zone)
{
    struct hotpath_context_ *context =
        (struct hotpath_context_ *)(zone->state ^ HOTPATH_BY_COUNT_); /* not trusted, either */
    if (HOTPATH_LIKELY_(context == hotpath_v1_context && !HOTPATH_IS_BUSY_(context))) {
        hotpath_set_busy_(context);
        struct hotpath_frame_ *frame = context->top;
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(context) == context->epoch && frame->zone == (uintptr_t)zone &&
                            (frame->stat & HOTPATH_UNTIMED_))) {
            hotpath_count_untimed_(context, frame);
            hotpath_set_idle_(context);
            return;
        }
        hotpath_set_idle_(context);
    }
    hotpath_v1_leave(zone, hotpath_ticks_());
}

/* Closes a zone; the counterpart of hotpath_enter_. */
HOTPATH_PER_UNIT_ void hotpath_leave_(struct hotpath_zone *zone)
{
    /* The guard has the context closer at hand than thread-local storage, but it is not trusted. */
    struct hotpath_context_ *context = (struct hotpath_context_ *)zone->state;
    if (HOTPATH_LIKELY_(context == hotpath_v1_context && !HOTPATH_IS_BUSY_(context))) {
        hotpath_set_busy_(context);
        struct hotpath_frame_ *frame = context->top;
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(context) == context->epoch && frame->zone == (uintptr_t)zone)) {
            uint64_t now;
            if (HOTPATH_LIKELY_(hotpath_count_(context, frame, &now))) {
                hotpath_set_idle_(context);
                return;
            }
            hotpath_set_idle_(context);
            hotpath_v1_leave(zone, now);
            return;
        }
        hotpath_set_idle_(context);
    }
    hotpath_leave_otherwise_(zone);
}

/* Whether the innermost zone may keep a note. Its frame lives as long as its session, so the context is held. */
HOTPATH_PER_UNIT_ int hotpath_takes_note_(void)
{
    struct hotpath_context_ *context = hotpath_v1_context;
    int is_kept = 0;
    if (!HOTPATH_IS_BUSY_(context)) {
        hotpath_set_busy_(context);
        if ((HOTPATH_GATE_OF_(context) & HOTPATH_EPOCH_) == context->epoch)
            is_kept = (HOTPATH_GET_(context->top->stat) & HOTPATH_KEPT_) != 0;
        hotpath_set_idle_(context);
    }
    return is_kept;
}

/*
 * The functions below read thread-local storage inside the caller's function, where a coroutine may resume on
 * another thread. x86 computes the address each time; on other machines compilers keep it, even after the thread
 * has ended, so there these are not inlined.
 */
#if (defined(__x86_64__) || defined(__i386__)) && !HOTPATH_TLS_DYNAMIC
#define HOTPATH_OPENING_ static inline __attribute__((always_inline, unused, no_instrument_function))
#else
#define HOTPATH_OPENING_ HOTPATH_PER_UNIT_
#endif

/* Called by the macros. With recording off, this is the whole cost. */
HOTPATH_OPENING_ uintptr_t hotpath_open_(struct hotpath_zone *zone, struct hotpath_site *site)
{
    if (__builtin_expect(HOTPATH_GET_(hotpath_v1_context->skip) != 0, 0))
        return HOTPATH_SKIPPED_;
    return hotpath_enter_(zone, site);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_close_(struct hotpath_zone *zone)
{
    if (zone->state != HOTPATH_SKIPPED_)
        hotpath_leave_(zone);
}

/* Opens a zone of the key's site. */
HOTPATH_OPENING_ uintptr_t hotpath_open_key_(struct hotpath_zone *zone, struct hotpath_keys_ *keys, const char *key)
{
    if (__builtin_expect(HOTPATH_GET_(hotpath_v1_context->skip) != 0, 0))
        return HOTPATH_SKIPPED_;
    struct hotpath_site *site = hotpath_v1_key(keys, key);
    return site != NULL ? hotpath_enter_(zone, site) : HOTPATH_SKIPPED_;
}

#pragma GCC diagnostic pop

/* The site of a key, or NULL. */
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_site *
hotpath_site_of_key_(struct hotpath_keys_ *keys, const char *key)
{
    return HOTPATH_GET_(hotpath_v1_context->skip) == 0 ? hotpath_v1_key(keys, key) : NULL;
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_update_(struct hotpath_site *site, struct hotpath_scalar_ value)
{
    if (site != NULL && HOTPATH_GET_(hotpath_v1_context->skip) == 0)
        hotpath_v1_value(site, value);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_raise_(struct hotpath_site *site, struct hotpath_scalar_ value)
{
    if (site != NULL && HOTPATH_GET_(hotpath_v1_context->skip) == 0)
        hotpath_v1_gauge_add(site, value);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_sent_(struct hotpath_site *site, const void *channel, uint64_t items, uint64_t bytes, int64_t length,
              uint64_t id)
{
    if (HOTPATH_GET_(hotpath_v1_context->skip) == 0)
        hotpath_v1_channel_sent(site, channel, items, bytes, length, id);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_received_(struct hotpath_site *site, const void *channel, uint64_t items, uint64_t bytes, int64_t length,
                  uint64_t id)
{
    if (HOTPATH_GET_(hotpath_v1_context->skip) == 0)
        hotpath_v1_channel_received(site, channel, items, bytes, length, id);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_yielded_(struct hotpath_site *site, const void *stream, uint64_t items, uint64_t bytes)
{
    if (HOTPATH_GET_(hotpath_v1_context->skip) == 0)
        hotpath_v1_stream_item(site, stream, items, bytes);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_lost_(struct hotpath_site *site, const void *channel, uint64_t items, int was_inside)
{
    if (HOTPATH_GET_(hotpath_v1_context->skip) == 0)
        hotpath_v1_channel_lost(site, channel, items, was_inside);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_task_(hotpath_task *task, struct hotpath_site *site)
{
    if (task != NULL)
        task->id_ = HOTPATH_GET_(hotpath_v1_context->skip) == 0 ? hotpath_v1_task(site) : 0;
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_task_with_(hotpath_task *task, struct hotpath_site *site, hotpath_task waiting, int has_lane)
{
    if (task != NULL)
        task->id_ = HOTPATH_GET_(hotpath_v1_context->skip) == 0 ? hotpath_v1_task_with(site, waiting, has_lane) : 0;
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_laned_task_(hotpath_task *task, struct hotpath_site *site, int has_lane)
{
    hotpath_task nobody;
    nobody.id_ = 0;
    hotpath_task_with_(task, site, nobody, has_lane);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_poll_ *
hotpath_begin_poll_(struct hotpath_poll_ *ret_poll, const hotpath_task *task, int how)
{
    const uint64_t id = task != NULL && HOTPATH_GET_(hotpath_v1_context->skip) == 0 ? HOTPATH_GET_(task->id_) : 0;
    if (id != 0)
        hotpath_v1_poll(ret_poll, id, how);
    else
        ret_poll->id = 0;
    return ret_poll;
}

/* Whether the task exists. */
static inline __attribute__((always_inline, unused, no_instrument_function)) int
hotpath_is_polled_(const struct hotpath_poll_ *poll)
{
    return poll->id != 0 && (poll->before != HOTPATH_NO_POLL_ || poll->zone.state != HOTPATH_SKIPPED_);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_end_poll_(struct hotpath_poll_ *poll)
{
    if (poll->id != 0)
        hotpath_v1_poll_end(poll);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) uint64_t
hotpath_begin_next_(struct hotpath_stream_next_ *next, struct hotpath_site *site, const void *stream)
{
    return HOTPATH_GET_(hotpath_v1_context->skip) == 0 ? hotpath_v1_stream_next(next, site, stream) : 0;
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_end_next_(const struct hotpath_stream_next_ *next)
{
    if (next->place != 0)
        hotpath_v1_stream_nexted(next);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_channel_wait_ *
hotpath_begin_wait_(struct hotpath_channel_wait_ *ret_wait, struct hotpath_site *site, const void *channel,
                    int is_full)
{
    ret_wait->since = 0;
    if (HOTPATH_GET_(hotpath_v1_context->skip) == 0)
        hotpath_v1_channel_wait(ret_wait, site, channel, is_full);
    return ret_wait;
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_end_wait_(const struct hotpath_channel_wait_ *wait)
{
    if (wait->since != 0)
        hotpath_v1_channel_waited(wait);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_loop_wait_ *
hotpath_begin_loop_wait_(struct hotpath_loop_wait_ *ret_wait, struct hotpath_site *site)
{
    ret_wait->since = 0;
    if (HOTPATH_GET_(hotpath_v1_context->skip) == 0)
        hotpath_v1_loop_wait(ret_wait, site);
    return ret_wait;
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_end_loop_wait_(const struct hotpath_loop_wait_ *wait)
{
    if (wait->since != 0)
        hotpath_v1_loop_waited(wait);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) void
hotpath_loop_end_(struct hotpath_site *site)
{
    if (HOTPATH_GET_(hotpath_v1_context->skip) == 0)
        hotpath_v1_loop_end(site, NULL);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_scalar_of_(uint32_t type, uint64_t bits)
{
    struct hotpath_scalar_ value;
    value.type = type;
    value.bits = bits;
    return value;
}

static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_of_double_(double real)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &real, sizeof bits);
    return hotpath_scalar_of_(HOTPATH_REAL_, bits);
}

#ifdef __cplusplus
#define HOTPATH_POINTER_(options) hotpath::address(options)
#define HOTPATH_FUNCTION_ __PRETTY_FUNCTION__
#define HOTPATH_LANGUAGE_ HOTPATH_KIND_CXX_
#else
#define HOTPATH_POINTER_(options) (&options)
#define HOTPATH_FUNCTION_ __func__
#define HOTPATH_LANGUAGE_ 0u
#endif

#define HOTPATH_PASTE_(a, b) a##b
#define HOTPATH_NAME_(counter) HOTPATH_PASTE_(hotpath_zone_, counter)
#define HOTPATH_SCOPE_ __attribute__((unused))
#define HOTPATH_AT_END_(function) __attribute__((cleanup(function)))
/* A guard that is filled in place, by the function that initialises the pointer beside it. */
#define HOTPATH_GUARD_(type, guard, end)                                                                           \
    HOTPATH_SCOPE_ type guard HOTPATH_AT_END_(end), *const guard##_begun HOTPATH_SCOPE_

/* Site arguments of a macro besides its name: .log = 1, in C++ .log(1). */
#ifdef __cplusplus
#define HOTPATH_SITE_VALUE_(kind, label, ...)                                                                      \
    {                                                                                                              \
        HOTPATH_ID_NEW_, (kind) | HOTPATH_LANGUAGE_, __LINE__, (hotpath::site_traits() __VA_ARGS__).is_logged,     \
            label, HOTPATH_FUNCTION_, __FILE__                                                                     \
    }
#else
#define HOTPATH_SITE_VALUE_(kind_, label, ...)                                                                     \
    {                                                                                                              \
        .id = HOTPATH_ID_NEW_, .kind = (kind_) | HOTPATH_LANGUAGE_, .line = __LINE__, .name = label,               \
        .function = HOTPATH_FUNCTION_, .file = __FILE__, __VA_ARGS__                                               \
    }
#endif

#define HOTPATH_SITE_(site, kind, label, ...)                                                                      \
    static struct hotpath_site site = HOTPATH_SITE_VALUE_(kind, label, __VA_ARGS__)
#define HOTPATH_ZONE_(zone, kind, label, ...) HOTPATH_ZONE_NAMED_(zone, kind, label, __VA_ARGS__)
#define HOTPATH_ZONE_NAMED_(zone, kind, label, ...)                                                                \
    HOTPATH_SITE_(zone##_site, kind, label, __VA_ARGS__);                                                          \
    HOTPATH_SCOPE_ struct hotpath_zone zone HOTPATH_AT_END_(hotpath_close_) = {hotpath_open_(&zone, &zone##_site)}

/* A label, or a label and one argument. */
#define HOTPATH_LABELLED_(kind, ...)                                                                               \
    HOTPATH_PICK_(__VA_ARGS__, HOTPATH_WITH_TRAIT_, HOTPATH_WITHOUT_TRAIT_, )(kind, __VA_ARGS__)
#define HOTPATH_PICK_(label, trait, picked, ...) picked
#define HOTPATH_WITHOUT_TRAIT_(kind, label) HOTPATH_ZONE_(HOTPATH_NAME_(__COUNTER__), kind, "" label "", )
#define HOTPATH_WITH_TRAIT_(kind, label, ...)                                                                      \
    HOTPATH_ZONE_(HOTPATH_NAME_(__COUNTER__), kind, "" label "", __VA_ARGS__)

#define HOTPATH_EXPECTED_(scope, most) HOTPATH_EXPECTED_NAMED_(scope, most)
#define HOTPATH_EXPECTED_NAMED_(scope, most)                                                                       \
    HOTPATH_GUARD_(struct hotpath_expected_, scope, hotpath_v1_expect_end) =                                       \
        hotpath_v1_expect(&scope, (uint64_t)(most), __FILE__, __LINE__, __func__)

#define HOTPATH_KEYED_(zone, label, key) HOTPATH_KEYED_NAMED_(zone, label, key)
#define HOTPATH_KEYED_NAMED_(zone, label, key)                                                                     \
    static struct hotpath_keys_ zone##_keys = {HOTPATH_SITE_VALUE_(HOTPATH_KIND_KEY_, label, ), 0};                \
    HOTPATH_SCOPE_ struct hotpath_zone zone HOTPATH_AT_END_(hotpath_close_) = {                                    \
        hotpath_open_key_(&zone, &zone##_keys, key)}

#define HOTPATH_NEXT_(next, label, stream) HOTPATH_NEXT_NAMED_(next, label, stream)
#define HOTPATH_NEXT_NAMED_(next, label, stream)                                                                   \
    HOTPATH_SITE_(next##_site, HOTPATH_KIND_OBJECT_, label, );                                                     \
    HOTPATH_SCOPE_ struct hotpath_stream_next_ next HOTPATH_AT_END_(hotpath_end_next_) = {                         \
        hotpath_begin_next_(&next, &next##_site, stream)}
#define HOTPATH_WAIT_(wait, label, channel, is_full) HOTPATH_WAIT_NAMED_(wait, label, channel, is_full)
#define HOTPATH_WAIT_NAMED_(wait, label, channel, is_full)                                                         \
    HOTPATH_SITE_(wait##_site, HOTPATH_KIND_OBJECT_, label, );                                                     \
    HOTPATH_GUARD_(struct hotpath_channel_wait_, wait, hotpath_end_wait_) =                                        \
        hotpath_begin_wait_(&wait, &wait##_site, channel, is_full)

#define HOTPATH_TASK_ALONE_(task, label) hotpath_task_(task, HOTPATH_STATIC_SITE_(HOTPATH_KIND_TASK_, "" label ""))
#ifdef __cplusplus
#define HOTPATH_HAS_LANE_(...) (hotpath::task_traits() __VA_ARGS__).has_lane
#else
struct hotpath_task_traits_ {
    int lane;
};
#define HOTPATH_HAS_LANE_(...) ((struct hotpath_task_traits_){__VA_ARGS__}).lane
#endif
#define HOTPATH_TASK_WITH_(task, label, ...)                                                                       \
    hotpath_laned_task_(task, HOTPATH_STATIC_SITE_(HOTPATH_KIND_TASK_, "" label ""), HOTPATH_HAS_LANE_(__VA_ARGS__))
#define HOTPATH_POLL_(poll, task, how) HOTPATH_POLL_NAMED_(poll, task, how)
#define HOTPATH_POLL_NAMED_(poll, task, how)                                                                       \
    HOTPATH_GUARD_(struct hotpath_poll_, poll, hotpath_end_poll_) = hotpath_begin_poll_(&poll, task, how)
#define HOTPATH_RESULT_(task, ...)                                                                                 \
    __extension__({                                                                                                \
        hotpath_task *const hotpath_task_of_ = (task);                                                             \
        if (hotpath_v1_task_is_logged(hotpath_task_of_))                                                           \
            hotpath_v1_task_result(hotpath_task_of_, __VA_ARGS__);                                                 \
        else                                                                                                       \
            hotpath_v1_task_end(hotpath_task_of_, 0);                                                              \
    })

#define HOTPATH_LOOP_WAIT_(wait, label) HOTPATH_LOOP_WAIT_NAMED_(wait, label)
#define HOTPATH_LOOP_WAIT_NAMED_(wait, label)                                                                      \
    HOTPATH_SITE_(wait##_site, HOTPATH_KIND_OBJECT_, label, );                                                     \
    HOTPATH_GUARD_(struct hotpath_loop_wait_, wait, hotpath_end_loop_wait_) =                                      \
        hotpath_begin_loop_wait_(&wait, &wait##_site)

/*
 * A measured expression. It cannot be wrapped in a statement expression: compound literals and C++ temporaries
 * would end at the closing brace, arrays would become pointers, and references copies. So it stays an operand of
 * the surrounding expression, and operands beside it open and close the zone.
 */
#define HOTPATH_EXPR_SITE_(label) HOTPATH_STATIC_SITE_(HOTPATH_KIND_BLOCK_, label)
#define HOTPATH_STATIC_SITE_(kind, label)                                                                          \
    __extension__({                                                                                                \
        HOTPATH_SITE_(hotpath_expr_site_, kind, label, );                                                          \
        &hotpath_expr_site_;                                                                                       \
    })
#define HOTPATH_STATIC_KEYS_(kind, label)                                                                          \
    __extension__({                                                                                                \
        static struct hotpath_keys_ hotpath_static_keys_ = {HOTPATH_SITE_VALUE_(kind, label, ), 0};                \
        &hotpath_static_keys_;                                                                                     \
    })

#define HOTPATH_UPDATE_(update, kind, key, value)                                                                  \
    update(HOTPATH_STATIC_SITE_(HOTPATH_KIND_##kind##_, "" key ""), value)
#define HOTPATH_UPDATE_KEY_(update, kind, label, key, value)                                                       \
    update(hotpath_site_of_key_(HOTPATH_STATIC_KEYS_(HOTPATH_KIND_##kind##_, "" label ""), key), value)

#ifdef __cplusplus
} /* extern "C" */

namespace hotpath
{
struct end_of_expr_ {
};

/*
 * The guard: a temporary, closed as soon as the value exists. Its destructor, at the end of the full expression,
 * handles exceptions.
 */
class expr_
{
  public:
    __attribute__((always_inline, no_instrument_function)) explicit expr_(hotpath_site *site) : zone_()
    {
        zone_.state = hotpath_open_(&zone_, site);
    }
    __attribute__((always_inline, no_instrument_function)) ~expr_() noexcept(false) { close(); }
    expr_(const expr_ &) = delete;
    expr_ &operator=(const expr_ &) = delete;
    __attribute__((always_inline, no_instrument_function)) void close()
    {
        hotpath_close_(&zone_);
        zone_.state = HOTPATH_SKIPPED_;
    }

  private:
    hotpath_zone zone_;
};

/*
 * guard ->* (expression, end): the comma operator handles void expressions, for which only the built-in comma
 * works; everything else passes through. Compilers evaluate the left side of ->* first; since C++17 they must.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Weffc++" /* an overloaded comma */
template <typename T>
inline __attribute__((always_inline, no_instrument_function)) T &&operator,(T &&value, end_of_expr_)
{
    return static_cast<T &&>(value);
}
#pragma GCC diagnostic pop

template <typename T>
inline __attribute__((always_inline, no_instrument_function)) T &&operator->*(expr_ &&guard, T &&value)
{
    guard.close();
    return static_cast<T &&>(value);
}

template <typename T> struct is_expiring_ {
    static constexpr bool value = false;
};
template <typename T> struct is_expiring_<T &&> {
    static constexpr bool value = true;
};

/* The expression as the result of a function: references stay references, values are moved out once. */
template <typename Result, typename T>
inline __attribute__((always_inline, no_instrument_function)) Result yield_(Result (*)(), T &&value)
{
    static_assert(!is_expiring_<Result>::value,
                  "HOTPATH_EXPR: an expression that is an rvalue reference cannot be measured: measure a block");
    static_assert(__is_constructible(Result, T &&),
                  "HOTPATH_EXPR: a value that can be neither moved nor copied cannot be measured: measure a block");
    return static_cast<Result>(static_cast<T &&>(value));
}

inline __attribute__((always_inline, no_instrument_function)) void yield_(void (*)(), end_of_expr_) {}

#define HOTPATH_SCALAR_TYPE_(type_, code, value)                                                                   \
    inline __attribute__((always_inline, no_instrument_function)) hotpath_scalar_ number_(type_ x)                 \
    {                                                                                                              \
        return hotpath_scalar_of_(code, static_cast<uint64_t>(value));                                             \
    }
HOTPATH_SCALAR_TYPE_(bool, HOTPATH_BOOL_, x ? 1 : 0)
HOTPATH_SCALAR_TYPE_(char, HOTPATH_SIGNED_, static_cast<int64_t>(x))
HOTPATH_SCALAR_TYPE_(signed char, HOTPATH_SIGNED_, static_cast<int64_t>(x))
HOTPATH_SCALAR_TYPE_(short, HOTPATH_SIGNED_, static_cast<int64_t>(x))
HOTPATH_SCALAR_TYPE_(int, HOTPATH_SIGNED_, static_cast<int64_t>(x))
HOTPATH_SCALAR_TYPE_(long, HOTPATH_SIGNED_, static_cast<int64_t>(x))
HOTPATH_SCALAR_TYPE_(long long, HOTPATH_SIGNED_, static_cast<int64_t>(x))
HOTPATH_SCALAR_TYPE_(unsigned char, HOTPATH_UNSIGNED_, x)
HOTPATH_SCALAR_TYPE_(unsigned short, HOTPATH_UNSIGNED_, x)
HOTPATH_SCALAR_TYPE_(unsigned int, HOTPATH_UNSIGNED_, x)
HOTPATH_SCALAR_TYPE_(unsigned long, HOTPATH_UNSIGNED_, x)
HOTPATH_SCALAR_TYPE_(unsigned long long, HOTPATH_UNSIGNED_, x)
#undef HOTPATH_SCALAR_TYPE_
#define HOTPATH_SCALAR_TYPE_(type_)                                                                                \
    inline __attribute__((always_inline, no_instrument_function)) hotpath_scalar_ number_(type_ x)                 \
    {                                                                                                              \
        return hotpath_of_double_(static_cast<double>(x));                                                         \
    }
HOTPATH_SCALAR_TYPE_(float)
HOTPATH_SCALAR_TYPE_(double)
HOTPATH_SCALAR_TYPE_(long double)
#undef HOTPATH_SCALAR_TYPE_

template <typename T, bool IsEnum> struct scalar_as_ {
    static __attribute__((no_instrument_function)) hotpath_scalar_ of(T x) { return number_(x); }
};
template <typename T> struct scalar_as_<T, true> {
    static __attribute__((no_instrument_function)) hotpath_scalar_ of(T x)
    {
        return number_(static_cast<__underlying_type(T)>(x));
    }
};
/* Numbers, including both kinds of enumerations. */
template <typename T> inline __attribute__((always_inline, no_instrument_function)) hotpath_scalar_ scalar_(T x)
{
    return scalar_as_<T, __is_enum(T)>::of(x);
}
inline __attribute__((always_inline, no_instrument_function)) hotpath_scalar_ scalar_(const char *x)
{
    return hotpath_scalar_of_(HOTPATH_STRING_, reinterpret_cast<uintptr_t>(x));
}
inline __attribute__((always_inline, no_instrument_function)) hotpath_scalar_ scalar_(char *x)
{
    return hotpath_scalar_of_(HOTPATH_STRING_, reinterpret_cast<uintptr_t>(x));
}
template <typename T> inline __attribute__((always_inline, no_instrument_function)) hotpath_scalar_ scalar_(T *x)
{
    return hotpath_scalar_of_(HOTPATH_ADDRESS_, reinterpret_cast<uintptr_t>(x));
}
inline __attribute__((always_inline, no_instrument_function)) hotpath_scalar_ scalar_(decltype(nullptr))
{
    return hotpath_scalar_of_(HOTPATH_ADDRESS_, 0);
}

/* References stay references, values are moved out. */
template <typename T>
inline __attribute__((always_inline, no_instrument_function)) T debug_(hotpath_site *site, T &&value)
{
    hotpath_update_(site, scalar_(value));
    return static_cast<T &&>(value);
}
} // namespace hotpath

extern "C" {

#ifdef __clang__ /* clang warns about i++ in decltype */
#define HOTPATH_TYPE_OF_(expr)                                                                                     \
    _Pragma("clang diagnostic push") _Pragma(                                                                      \
        "clang diagnostic ignored \"-Wunevaluated-expression\"") decltype(expr) _Pragma("clang diagnostic pop")
#else
#define HOTPATH_TYPE_OF_(expr) decltype(expr)
#endif
#define HOTPATH_EXPR_(label, expr)                                                                                 \
    hotpath::yield_(static_cast<HOTPATH_TYPE_OF_(expr) (*)()>(nullptr),                                            \
                    hotpath::expr_(HOTPATH_EXPR_SITE_(label))->*(expr, hotpath::end_of_expr_()))

#define HOTPATH_SCALAR_(value) hotpath::scalar_(value)
#define HOTPATH_NUMBER_(value) hotpath::number_(value)
#define HOTPATH_DEBUG_(text, expr) hotpath::debug_(HOTPATH_STATIC_SITE_(HOTPATH_KIND_DEBUG_, text), expr)

#else /* C */

/*
 * The guard and the address of the value. Both compilers evaluate initialisers in order, so the zone opens first.
 */
struct hotpath_measured_ {
    struct hotpath_zone *zone;
    const volatile void *value;
};

static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_zone *
hotpath_begin_expr_(struct hotpath_zone *zone, struct hotpath_site *site)
{
    zone->state = hotpath_open_(zone, site);
    return zone;
}

static inline __attribute__((always_inline, unused, no_instrument_function)) const volatile void *
hotpath_end_expr_(const struct hotpath_measured_ *measured)
{
    hotpath_close_(measured->zone);
    return measured->value;
}

#define HOTPATH_IS_VOID_(expr) __builtin_types_compatible_p(__typeof__(expr), void)
#define HOTPATH_OR_ZERO_(expr) __builtin_choose_expr(HOTPATH_IS_VOID_(expr), 0, expr)

/*
 * Rejects variably modified types, with which typeof would evaluate the expression: jumping over their declaration
 * is an error.
 */
#define HOTPATH_CHECK_EXPR_(expr)                                                                                  \
    ({                                                                                                             \
        _Static_assert(__builtin_types_compatible_p(__typeof__(expr), __typeof__((void)0, expr)),                  \
                       "HOTPATH_EXPR: an array or a function would become a pointer: measure a block");            \
        switch (0) {                                                                                               \
            HOTPATH_SCOPE_ __typeof__(expr) *hotpath_expr_cannot_have_a_variably_modified_type_;                   \
        case 0:;                                                                                                   \
        }                                                                                                          \
    })

#define HOTPATH_MEASURED_(label, ...)                                                                              \
    hotpath_end_expr_(&(struct hotpath_measured_){                                                                 \
        hotpath_begin_expr_(&(struct hotpath_zone){0}, HOTPATH_EXPR_SITE_(label)), __VA_ARGS__})
#define HOTPATH_MEASURED_VOID_(label, expr) (void)HOTPATH_MEASURED_(label, ((void)expr, (void *)0))
/* Read as a volatile object, so that no compiler warns if it is unused. */
#define HOTPATH_MEASURED_VALUE_(label, expr)                                                                       \
    *(const volatile __typeof__(expr) *)HOTPATH_MEASURED_(label, (__typeof__(expr)[1]){expr})
#define HOTPATH_EXPR_(label, expr)                                                                                 \
    (__extension__ __builtin_choose_expr(                                                                          \
        HOTPATH_IS_VOID_(expr), HOTPATH_MEASURED_VOID_(label, expr),                                               \
        (HOTPATH_CHECK_EXPR_(expr), HOTPATH_MEASURED_VALUE_(label, HOTPATH_OR_ZERO_(expr)))))

/* Converts a value of any type to a scalar that can be passed on: one function per group of types. */
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_of_bool_(_Bool is)
{
    return hotpath_scalar_of_(HOTPATH_BOOL_, is ? 1 : 0);
}
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_of_signed_(long long number)
{
    return hotpath_scalar_of_(HOTPATH_SIGNED_, (uint64_t)number);
}
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_of_unsigned_(unsigned long long number)
{
    return hotpath_scalar_of_(HOTPATH_UNSIGNED_, number);
}
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_of_float_(float real)
{
    return hotpath_of_double_((double)real);
}
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_of_long_double_(long double real)
{
    return hotpath_of_double_((double)real);
}
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_of_text_(const char *text)
{
    return hotpath_scalar_of_(HOTPATH_STRING_, (uintptr_t)text);
}
static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_of_address_(const volatile void *address)
{
    return hotpath_scalar_of_(HOTPATH_ADDRESS_, (uintptr_t)address);
}

/* clang-format off */
#define HOTPATH_NUMBER_TYPES_                                                                                      \
    _Bool: hotpath_of_bool_, char: hotpath_of_signed_, signed char: hotpath_of_signed_,                            \
    short: hotpath_of_signed_, int: hotpath_of_signed_, long: hotpath_of_signed_,                                  \
    long long: hotpath_of_signed_, unsigned char: hotpath_of_unsigned_, unsigned short: hotpath_of_unsigned_,      \
    unsigned int: hotpath_of_unsigned_, unsigned long: hotpath_of_unsigned_,                                       \
    unsigned long long: hotpath_of_unsigned_, float: hotpath_of_float_, double: hotpath_of_double_,                \
    long double: hotpath_of_long_double_
#define HOTPATH_NUMBER_(value) _Generic((value), HOTPATH_NUMBER_TYPES_)(value)
#define HOTPATH_SCALAR_(value)                                                                                     \
    _Generic((value), HOTPATH_NUMBER_TYPES_, char *: hotpath_of_text_, const char *: hotpath_of_text_,             \
             default: hotpath_of_address_)(value)
/* clang-format on */

/*
 * Like a measured expression: no braces of its own, so that temporaries live on. The value is stored in an array of
 * one element, recorded from there and read again.
 */
#define HOTPATH_DECAYED_(expr) __typeof__((void)0, expr)

/* An integer or address of the given size in bytes. */
static inline __attribute__((always_inline, unused, no_instrument_function)) uint64_t
hotpath_whole_at_(const void *at, size_t size, int is_signed)
{
    uint64_t whole = 0;
    uint32_t half;
    unsigned short quarter;
    unsigned char byte;
    if (size == sizeof whole)
        __builtin_memcpy(&whole, at, sizeof whole);
    else if (size == sizeof half)
        whole = (__builtin_memcpy(&half, at, sizeof half), is_signed ? (uint64_t)(int64_t)(int32_t)half : half);
    else if (size == sizeof quarter)
        whole = (__builtin_memcpy(&quarter, at, sizeof quarter), is_signed ? (uint64_t)(short)quarter : quarter);
    else
        whole = (__builtin_memcpy(&byte, at, sizeof byte), is_signed ? (uint64_t)(signed char)byte : byte);
    return whole;
}

static inline __attribute__((always_inline, unused, no_instrument_function)) struct hotpath_scalar_
hotpath_real_at_(const void *at, size_t size)
{
    float single;
    double real;
    long double longer;
    if (size == sizeof single)
        return __builtin_memcpy(&single, at, sizeof single), hotpath_of_double_((double)single);
    if (size == sizeof real)
        return __builtin_memcpy(&real, at, sizeof real), hotpath_of_double_(real);
    return __builtin_memcpy(&longer, at, sizeof longer), hotpath_of_double_((double)longer);
}

static inline __attribute__((always_inline, unused, no_instrument_function)) const volatile void *
hotpath_debugged_(struct hotpath_site *site, uint32_t type, size_t size, const void *value)
{
    hotpath_update_(site, type == HOTPATH_REAL_
                              ? hotpath_real_at_(value, size)
                              : hotpath_scalar_of_(type, hotpath_whole_at_(value, size, type == HOTPATH_SIGNED_)));
    return value;
}

/* clang-format off */
#define HOTPATH_SORT_OF_(value)                                                                                    \
    _Generic((value), _Bool: HOTPATH_BOOL_, float: HOTPATH_REAL_, double: HOTPATH_REAL_,                           \
             long double: HOTPATH_REAL_, unsigned char: HOTPATH_UNSIGNED_, unsigned short: HOTPATH_UNSIGNED_,      \
             unsigned int: HOTPATH_UNSIGNED_, unsigned long: HOTPATH_UNSIGNED_,                                    \
             unsigned long long: HOTPATH_UNSIGNED_, char: HOTPATH_SIGNED_, signed char: HOTPATH_SIGNED_,           \
             short: HOTPATH_SIGNED_, int: HOTPATH_SIGNED_, long: HOTPATH_SIGNED_, long long: HOTPATH_SIGNED_,      \
             char *: HOTPATH_STRING_, const char *: HOTPATH_STRING_, default: HOTPATH_ADDRESS_)
/* clang-format on */
#define HOTPATH_DEBUG_(text, expr)                                                                                 \
    (__extension__ * (const volatile HOTPATH_DECAYED_(expr) *)hotpath_debugged_(                                   \
                         HOTPATH_STATIC_SITE_(HOTPATH_KIND_DEBUG_, text), HOTPATH_SORT_OF_(expr),                  \
                         sizeof(HOTPATH_DECAYED_(expr)) + 0 * sizeof(HOTPATH_SCALAR_(expr)),                       \
                         (HOTPATH_DECAYED_(expr)[1]){expr}))

#endif

#else /* !HOTPATH_ON_: declarations stay declarations, expressions stay expressions, no code is generated */

#ifdef __cplusplus
#define HOTPATH_NOTHING_(check) static_assert(check, "hotpath is compiled out")
#define HOTPATH_TEXT_(key) key
#elif defined(__GNUC__)
#define HOTPATH_NOTHING_(check) __extension__ _Static_assert(check, "hotpath is compiled out")
#else
#define HOTPATH_NOTHING_(check) _Static_assert(check, "hotpath is compiled out")
#endif

#ifndef HOTPATH_TEXT_ /* an array of variable length has no constant size; as one side of this it is a pointer */
#define HOTPATH_TEXT_(key) (1 ? (key) : (const char *)0)
#endif

#define HOTPATH_MAIN(...) HOTPATH_NOTHING_(1)
#define HOTPATH_SESSION(...) HOTPATH_NOTHING_(1)
#define HOTPATH_MEASURE(...) HOTPATH_NOTHING_(1)
#define HOTPATH_MEASURE_AS(...) HOTPATH_NOTHING_(HOTPATH_IS_LABEL_(__VA_ARGS__, ))
#define HOTPATH_BLOCK(...) HOTPATH_NOTHING_(HOTPATH_IS_LABEL_(__VA_ARGS__, ))
#define HOTPATH_IS_LABEL_(label, ...) sizeof("" label "") > 0
#define HOTPATH_BLOCK_KEY(label, key) HOTPATH_NOTHING_(sizeof("" label "") > 0 && sizeof(HOTPATH_TEXT_(key)) > 0)
#define HOTPATH_NOTE(...) ((void)sizeof(hotpath_note_nowhere_(__VA_ARGS__)))
#define HOTPATH_BEGIN(zone, label) HOTPATH_NOTHING_(sizeof("" label "") > 0)
#define HOTPATH_END(zone) ((void)0)
#define HOTPATH_EXPR(label, ...) (__VA_ARGS__)
#define HOTPATH_SKIP
#define HOTPATH_EXPECT_ALLOCS(most) HOTPATH_NOTHING_(sizeof((uint64_t)(most)) > 0)
#define HOTPATH_FIELD(type, name) __extension__ type name[0]
#define HOTPATH_TASK(task, ...) HOTPATH_TASK_(task, __VA_ARGS__, )
#define HOTPATH_TASK_(task, label, ...) HOTPATH_UNUSED_(label, task)
#define HOTPATH_POLL(task) HOTPATH_NOTHING_(sizeof(task) + 1 > 0)
#define HOTPATH_RUN(task) HOTPATH_NOTHING_(sizeof(task) + 1 > 0)
#define HOTPATH_READY(task) HOTPATH_UNUSED_("", task)
#define HOTPATH_RESULT(task, ...) HOTPATH_UNUSED_("", ((void)(task), HOTPATH_NOTE(__VA_ARGS__)))
#define HOTPATH_CANCEL(task) HOTPATH_UNUSED_("", task)
/* Compiled, so that nothing is unused, but never evaluated. */
#define HOTPATH_UNUSED_(key, value) ((void)sizeof("" key ""), 0 ? (void)(value) : (void)0)
#define HOTPATH_UNUSED_KEY_(label, key, value)                                                                     \
    ((void)sizeof("" label ""), 0 ? ((void)HOTPATH_TEXT_(key), (void)(value)) : (void)0)
#define HOTPATH_VALUE(key, value) HOTPATH_UNUSED_(key, value)
#define HOTPATH_GAUGE_SET(key, number) HOTPATH_UNUSED_(key, number)
#define HOTPATH_GAUGE_ADD(key, number) HOTPATH_UNUSED_(key, number)
#define HOTPATH_COUNT(key, number) HOTPATH_UNUSED_(key, number)
#define HOTPATH_VALUE_KEY(label, key, value) HOTPATH_UNUSED_KEY_(label, key, value)
#define HOTPATH_GAUGE_SET_KEY(label, key, number) HOTPATH_UNUSED_KEY_(label, key, number)
#define HOTPATH_GAUGE_ADD_KEY(label, key, number) HOTPATH_UNUSED_KEY_(label, key, number)
#define HOTPATH_COUNT_KEY(label, key, number) HOTPATH_UNUSED_KEY_(label, key, number)
#define HOTPATH_DEBUG(...) (__VA_ARGS__)
#define HOTPATH_CHANNEL_SENT(label, channel, ...) HOTPATH_PASSED_(label, channel, __VA_ARGS__, 0, )
#define HOTPATH_CHANNEL_RECEIVED(label, channel, ...) HOTPATH_PASSED_(label, channel, __VA_ARGS__, 0, )
#define HOTPATH_PASSED_(label, channel, items, bytes, length, id, ...)                                             \
    HOTPATH_UNUSED_(label, ((void)(channel), (void)(items), (void)(bytes), (void)(length), (id)))
#define HOTPATH_CHANNEL_REFUSED(label, channel, items) HOTPATH_UNUSED_(label, ((void)(channel), (items)))
#define HOTPATH_CHANNEL_DROPPED(label, channel, items) HOTPATH_UNUSED_(label, ((void)(channel), (items)))
#define HOTPATH_CHANNEL_CAPACITY(label, channel, items) HOTPATH_UNUSED_(label, ((void)(channel), (items)))
#define HOTPATH_CHANNEL_TEXT(label, channel, ...)                                                                  \
    ((void)sizeof(hotpath_note_nowhere_(__VA_ARGS__)), HOTPATH_UNUSED_(label, channel))
#define HOTPATH_CHANNEL_FULL(label, channel) HOTPATH_NOTHING_(sizeof("" label "") > 0 && sizeof(channel) > 0)
#define HOTPATH_CHANNEL_EMPTY(label, channel) HOTPATH_NOTHING_(sizeof("" label "") > 0 && sizeof(channel) > 0)
#define HOTPATH_CHANNEL_END(label, channel) HOTPATH_UNUSED_(label, channel)
#define HOTPATH_STREAM_NEXT(label, stream) HOTPATH_NOTHING_(sizeof("" label "") > 0 && sizeof(stream) > 0)
#define HOTPATH_STREAM_ITEM(label, stream, items, bytes)                                                           \
    HOTPATH_UNUSED_(label, ((void)(stream), (void)(items), (bytes)))
#define HOTPATH_STREAM_TEXT(label, stream, ...)                                                                    \
    ((void)sizeof(hotpath_note_nowhere_(__VA_ARGS__)), HOTPATH_UNUSED_(label, stream))
#define HOTPATH_STREAM_END(label, stream) HOTPATH_UNUSED_(label, stream)
#define HOTPATH_LOOP_WAIT(label) HOTPATH_NOTHING_(sizeof("" label "") > 0)
#define HOTPATH_LOOP_END(label) ((void)sizeof("" label ""))

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int hotpath_note_nowhere_(const char *format, ...); /* never called: lets the compiler check the arguments */

#define HOTPATH_OFF_ static inline
HOTPATH_OFF_ int hotpath_start(const struct hotpath_options *options)
{
    (void)options;
    return HOTPATH_E_OFF;
}
HOTPATH_OFF_ int hotpath_stop(void) { return HOTPATH_E_OFF; }
HOTPATH_OFF_ int hotpath_report(void) { return HOTPATH_E_OFF; }
HOTPATH_OFF_ void hotpath_set_reporter(hotpath_reporter *reporter, void *context)
{
    (void)reporter;
    (void)context;
}
HOTPATH_OFF_ const char *hotpath_strerror(int status)
{
    return status == HOTPATH_OK ? "done" : "hotpath is compiled out";
}
HOTPATH_OFF_ const char *hotpath_version(void) { return HOTPATH_VERSION; }
HOTPATH_OFF_ const char *hotpath_session_path(void) { return ""; }
HOTPATH_OFF_ int hotpath_read_allocs(struct hotpath_alloc_counts *ret_counts)
{
    (void)ret_counts;
    return HOTPATH_E_OFF;
}
HOTPATH_OFF_ void hotpath_set_on_unexpected(hotpath_on_unexpected *on_unexpected, void *context)
{
    (void)on_unexpected;
    (void)context;
}
HOTPATH_OFF_ void hotpath_alloc_event(const char *label, const void *block, size_t size)
{
    (void)label;
    (void)block;
    (void)size;
}
HOTPATH_OFF_ void hotpath_free_event(const char *label, const void *block)
{
    (void)label;
    (void)block;
}
HOTPATH_OFF_ void hotpath_free_all_event(const char *label) { (void)label; }
HOTPATH_OFF_ hotpath_lane hotpath_lane_begin(void) { return 0; }
HOTPATH_OFF_ hotpath_task *hotpath_task_of(const void *object)
{
    (void)object;
    return NULL;
}
HOTPATH_OFF_ hotpath_task *hotpath_task_at(const void *object)
{
    (void)object;
    return NULL;
}
HOTPATH_OFF_ hotpath_task hotpath_current(void)
{
    hotpath_task none = {0};
    return none;
}
HOTPATH_OFF_ hotpath_lane hotpath_switch(hotpath_lane to)
{
    (void)to;
    return 0;
}
HOTPATH_OFF_ void hotpath_lane_end(hotpath_lane lane) { (void)lane; }
HOTPATH_OFF_ uint64_t hotpath_results_elapsed_ns(const hotpath_results *results)
{
    return (void)results, UINT64_C(0);
}
HOTPATH_OFF_ const char *hotpath_results_label(const hotpath_results *results) { return (void)results, ""; }
HOTPATH_OFF_ const char *hotpath_results_headline(const hotpath_results *results) { return (void)results, ""; }
HOTPATH_OFF_ size_t hotpath_results_sections(const hotpath_results *results) { return (void)results, (size_t)0; }
HOTPATH_OFF_ const hotpath_section *hotpath_results_section(const hotpath_results *results, size_t index)
{
    (void)results;
    (void)index;
    return NULL;
}
HOTPATH_OFF_ const char *hotpath_section_name(const hotpath_section *section) { return (void)section, ""; }
HOTPATH_OFF_ const char *hotpath_section_description(const hotpath_section *section) { return (void)section, ""; }
HOTPATH_OFF_ size_t hotpath_section_columns(const hotpath_section *section) { return (void)section, (size_t)0; }
HOTPATH_OFF_ const struct hotpath_column *hotpath_section_column(const hotpath_section *section, size_t index)
{
    (void)section;
    (void)index;
    return NULL;
}
HOTPATH_OFF_ size_t hotpath_section_rows(const hotpath_section *section) { return (void)section, (size_t)0; }
HOTPATH_OFF_ size_t hotpath_section_total_rows(const hotpath_section *section) { return (void)section, (size_t)0; }
HOTPATH_OFF_ int hotpath_section_cell(const hotpath_section *section, size_t row, size_t column,
                                      struct hotpath_cell *ret_cell)
{
    (void)section;
    (void)row;
    (void)column;
    (void)ret_cell;
    return HOTPATH_E_OFF;
}
HOTPATH_OFF_ int hotpath_section_row(const hotpath_section *section, size_t row, struct hotpath_row *ret_row)
{
    (void)section;
    (void)row;
    (void)ret_row;
    return HOTPATH_E_OFF;
}
HOTPATH_OFF_ int hotpath_section_histogram(const hotpath_section *section, size_t row, size_t column,
                                           struct hotpath_histogram *ret_histogram)
{
    (void)section;
    (void)row;
    (void)column;
    (void)ret_histogram;
    return HOTPATH_E_OFF;
}
HOTPATH_OFF_ int hotpath_section_series(const hotpath_section *section, size_t row, size_t column,
                                        struct hotpath_series *ret_series)
{
    (void)section;
    (void)row;
    (void)column;
    (void)ret_series;
    return HOTPATH_E_OFF;
}

#endif /* HOTPATH_ON_ */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* not C89 */
#endif /* HOTPATH_H */
