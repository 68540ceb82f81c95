/*
 * hotpath: profiler for C and C++ programs.
 *
 *     #include <hotpath.h>
 *
 *     int parse(const char *text) { HOTPATH_MEASURE(); ... }       // measures each call of this function
 *     int main(void) { HOTPATH_MAIN(); return parse("..."); }      // prints a report at the end
 *
 *     cc -DHOTPATH main.c -lhotpath -pthread && ./a.out
 *
 * The macros. Each is the same kind of syntax with and without -DHOTPATH:
 *
 * Functions and blocks
 *   HOTPATH_MAIN(options)                           declaration starts the session; this function is the 100 % row
 *   HOTPATH_SESSION(options)                        declaration the same for any scope; reports when the scope ends
 *   HOTPATH_MEASURE()                               declaration measures this function from here until it returns
 *   HOTPATH_MEASURE_AS("label")                     declaration the same under another name
 *   HOTPATH_BLOCK("label")                          declaration measures from here to the end of the braces
 *   HOTPATH_BLOCK_KEY("label", key)                 declaration the same, with one row per distinct text of `key`
 *   HOTPATH_BEGIN(z, "label")                       declaration opens a zone named z ...
 *   HOTPATH_END(z)                                  expression  ... and closes it, in the same function and thread
 *   HOTPATH_EXPR("label", expr)                     expression  measures one expression and yields its value
 *   HOTPATH_NOTE("format", ...)                     expression  attaches printf-style text to the innermost zone
 *   HOTPATH_EXPECT_ALLOCS(most)                     declaration allocation limit from here to the end of the braces
 *   HOTPATH_EXPECT_CALLS("name", most)              declaration limit of calls from here to the end of the braces
 *   HOTPATH_EXPECT_INSTRUCTIONS(most)               declaration limit of instructions from here to their end
 *   HOTPATH_NO_MEASURE                              attribute   keeps a function out of -finstrument-functions
 * Values
 *   HOTPATH_VALUE("key", x)                         expression  records a number, bool, pointer or text
 *   HOTPATH_GAUGE_SET("key", n)                     expression  sets a gauge to n ...
 *   HOTPATH_GAUGE_ADD("key", n)                     expression  ... or adds n to it, on any thread
 *   HOTPATH_COUNT("key", n)                         expression  adds n to a counter
 *   HOTPATH_DEBUG(expr)                             expression  records the value of an expression and yields it
 * Channels: queues, pipes, rings
 *   HOTPATH_CHANNEL_SENT("label", channel, ...)     expression  items were put into the queue ...
 *   HOTPATH_CHANNEL_RECEIVED("label", channel, ...) expression  ... or taken out of it
 *   HOTPATH_CHANNEL_REFUSED("label", channel, n)    expression  n items not accepted: the queue is full or closed
 *   HOTPATH_CHANNEL_DROPPED("label", channel, n)    expression  n items in the queue were discarded
 *   HOTPATH_CHANNEL_CAPACITY("label", channel, n)   expression  n items fit into the queue
 *   HOTPATH_CHANNEL_TEXT("label", channel, ...)     expression  describes an item, if HOTPATH_LOG selects the label
 *   HOTPATH_CHANNEL_FULL("label", channel)          declaration waits to the end of the braces: it is full ...
 *   HOTPATH_CHANNEL_EMPTY("label", channel)         declaration ... or empty
 *   HOTPATH_CHANNEL_END("label", channel)           expression  the queue was destroyed
 * Streams: generators, iterators, readers
 *   HOTPATH_STREAM_NEXT("label", stream)            declaration the producer works to the end of the braces ...
 *   HOTPATH_STREAM_ITEM("label", stream, ...)       expression  ... and yields items
 *   HOTPATH_STREAM_TEXT("label", stream, ...)       expression  describes an item, if HOTPATH_LOG selects the label
 *   HOTPATH_STREAM_END("label", stream)             expression  the stream was destroyed
 * Locks, with `hotpath run --locks`
 *   HOTPATH_LOCK_NAME(lock, "name")                 expression  names a lock of any kind, of pthread, too
 *   HOTPATH_LOCK_WAIT(lock, "name")                 expression  a the program's own lock is busy: it waits ...
 *   HOTPATH_LOCK_TAKEN(lock)                        expression  ... and has it ...
 *   HOTPATH_LOCK_RELEASED(lock)                     expression  ... and is about to give it up
 *
 * I/O, with `hotpath run --io`
 *   HOTPATH_IO_NAME(fd, "label")                    expression  names a descriptor
 *   HOTPATH_IO_OP("label", "kind", bytes)           expression  counts an operation that cannot be seen
 * Tasks: operations that begin at one place and end at another
 *   HOTPATH_JOB, HOTPATH_RUN_JOB                    of hotpath/pool.h: a callback or job, by any address
 *   HOTPATH_FIELD(hotpath_task, task)               declaration last member of a struct; no bytes without -DHOTPATH
 *   HOTPATH_TASK(task, "label"[, .lane = 1])        expression  the task begins
 *   HOTPATH_TASK_POLL(task)                         declaration it runs from here to the end of the braces
 *   HOTPATH_TASK_RUN(task)                          declaration the same, and it ends there
 *   HOTPATH_TASK_READY(task)                        expression  it has ended ...
 *   HOTPATH_TASK_RESULT(task, "format", ...)        expression  ... with a printf-style result, kept if logged
 *   HOTPATH_TASK_CANCEL(task)                       expression  it has ended without a result
 * Event loops
 *   HOTPATH_LOOP_WAIT("label")                      declaration the loop waits from here to the end of the braces
 *   HOTPATH_LOOP_END("label")                       expression  the loop, and its last turn, has ended
 *
 * Without -DHOTPATH, or with -DHOTPATH=0, the object code is the same as without the macros, and there is nothing
 * to link.
 *
 * Cost: two reads of the CPU's time stamp counter and a few stores to thread-private memory; see bench/RESULTS.md.
 * Threads: every macro may be used on any thread at any time. Only the first use of a macro takes a lock.
 * Signals: zones may be opened and closed in signal handlers; counts stay exact.
 * fork: the child gets its own session, which begins at its first zone.
 * Memory: hotpath does not use the program's heap. If the session file is full, the report shows what was lost.
 *
 * This file has what users write: the macros, then control functions, then options. Its other parts are in
 * hotpath/: results.h (reading reports), inline.h (what the macros expand to), off.h (all of it without -DHOTPATH).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_H
#define HOTPATH_H

#if !defined(__cplusplus) && defined(__STRICT_ANSI__) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "hotpath.h needs inline functions: compile with -std=gnu89, or with -std=c99 or newer, not with -std=c89"
#else

/* ------------------------------------------------------------------------------ configuration and version */

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

#if HOTPATH_ON_ && !defined(__GNUC__)
#error "hotpath needs gcc or clang; leave HOTPATH undefined to compile it out"
#endif

#include <stddef.h>
#include <stdint.h>

/* ---------------------------------------------------------------------------------------------- measuring */

#if HOTPATH_ON_ /* otherwise hotpath/off.h has them */

/*
 * Functions and blocks.
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
#define HOTPATH_MAIN(...)                                                                                          \
    HOTPATH_SITE_(hotpath_main_site_, HOTPATH_KIND_MAIN_, HOTPATH_FUNCTION_, );                                    \
    HOTPATH_SCOPE_ struct hotpath_zone hotpath_main_zone_ HOTPATH_AT_END_(hotpath_close_) = {hotpath_v1_main(      \
        &hotpath_main_zone_, &hotpath_main_site_, HOTPATH_POINTER_(HOTPATH_OPTIONS_(__VA_ARGS__)))}

#define HOTPATH_SESSION(...)                                                                                       \
    HOTPATH_SITE_(hotpath_session_site_, HOTPATH_KIND_MAIN_, HOTPATH_FUNCTION_, );                                 \
    HOTPATH_SCOPE_ struct hotpath_zone hotpath_session_zone_ HOTPATH_AT_END_(hotpath_v1_session_end) = {           \
        hotpath_v1_session(&hotpath_session_zone_, &hotpath_session_site_,                                         \
                           HOTPATH_POINTER_(HOTPATH_OPTIONS_(__VA_ARGS__)))}

#define HOTPATH_MEASURE(...)                                                                                       \
    HOTPATH_ZONE_(HOTPATH_NAME_(__COUNTER__), HOTPATH_KIND_FUNCTION_, HOTPATH_FUNCTION_, __VA_ARGS__)
#define HOTPATH_MEASURE_AS(...) HOTPATH_LABELLED_(HOTPATH_KIND_LABEL_, __VA_ARGS__)
#define HOTPATH_BLOCK(...) HOTPATH_LABELLED_(HOTPATH_KIND_BLOCK_, __VA_ARGS__)
#define HOTPATH_BLOCK_KEY(label, key) HOTPATH_KEYED_(HOTPATH_NAME_(__COUNTER__), "" label "", key)
#define HOTPATH_BEGIN(zone, label)                                                                                 \
    HOTPATH_SITE_(hotpath_site_of_##zone, HOTPATH_KIND_BLOCK_, "" label "", );                                     \
    struct hotpath_zone zone = {hotpath_open_(&zone, &hotpath_site_of_##zone)}
#define HOTPATH_END(zone) hotpath_close_(&(zone))
#define HOTPATH_EXPR(label, ...) HOTPATH_EXPR_("" label "", (__VA_ARGS__))
#define HOTPATH_NOTE(...) (hotpath_takes_note_() ? hotpath_v1_note(__VA_ARGS__) : (void)0)
#define HOTPATH_NO_MEASURE __attribute__((no_instrument_function))

/*
 * Allocation limit for a scope, for tests: this thread may allocate at most `most` times (a realloc counts). If it
 * exceeds the limit, or allocations are not counted (-lhotpath_alloc counts them), the library writes one line to
 * stderr and calls abort(), or calls the function set by hotpath_set_on_unexpected. Needs no session.
 */
#define HOTPATH_EXPECT_ALLOCS(most) HOTPATH_EXPECTED_(HOTPATH_NAME_(__COUNTER__), most)

/*
 * The same for calls of a measured function, or runs of a block, of that name or label: in the scope, this thread
 * may finish at most `most` of them. Needs a session. A name that is never measured has no calls.
 */
#define HOTPATH_EXPECT_CALLS(name, most) HOTPATH_EXPECTED_CALLS_(HOTPATH_NAME_(__COUNTER__), name, most)

/*
 * The same for the instructions that this thread executes in the scope, under `hotpath run --clock instructions`;
 * those of hotpath do not count. Elsewhere nothing is checked, and the first such scope says so on stderr. Needs no
 * session.
 */
#define HOTPATH_EXPECT_INSTRUCTIONS(most) HOTPATH_EXPECTED_INSTRUCTIONS_(HOTPATH_NAME_(__COUNTER__), most)

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
 * each one by its address (NULL: the label is one channel).
 *
 * HOTPATH_CHANNEL_SENT("label", channel, items, bytes, length[, id]), and RECEIVED likewise: `items` is the number
 * of items sent or received, `bytes` their size (0: not relevant), `length` the number of items now in the channel
 * (-1: unknown). Use SENT before others can receive the item and RECEIVED after receiving it, so that the count of
 * items inside never goes below 0. If sender and receiver identify the item by an `id` (its address, its position
 * in a ring; 0: none), the report shows percentiles of the time that items spend inside; the mean needs no id.
 */
#define HOTPATH_CHANNEL_SENT(label, channel, ...)                                                                  \
    HOTPATH_PASSED_(hotpath_sent_, HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel, __VA_ARGS__,  \
                    0, )
#define HOTPATH_CHANNEL_RECEIVED(label, channel, ...)                                                              \
    HOTPATH_PASSED_(hotpath_received_, HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel,           \
                    __VA_ARGS__, 0, )
#define HOTPATH_CHANNEL_REFUSED(label, channel, items)                                                             \
    hotpath_lost_(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel, HOTPATH_AS_(uint64_t, items), 0)
#define HOTPATH_CHANNEL_DROPPED(label, channel, items)                                                             \
    hotpath_lost_(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel, HOTPATH_AS_(uint64_t, items), 1)
#define HOTPATH_CHANNEL_CAPACITY(label, channel, items)                                                            \
    hotpath_v1_channel_capacity(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), channel,                  \
                                HOTPATH_AS_(uint64_t, items))
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
    hotpath_yielded_(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), stream,                              \
                     HOTPATH_AS_(uint64_t, items), HOTPATH_AS_(uint64_t, bytes))
#define HOTPATH_STREAM_TEXT(label, stream, ...)                                                                    \
    (HOTPATH_GET_(hotpath_v1_context->skip) == 0                                                                   \
         ? hotpath_v1_stream_text(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), stream, __VA_ARGS__)    \
         : (void)0)
#define HOTPATH_STREAM_END(label, stream)                                                                          \
    hotpath_v1_stream_end(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""), stream)

/*
 * Locks. `hotpath run --locks` knows those of pthread, C11 and C++; these macros name them, and tell it of others,
 * made of atomics or futexes. `lock` is an address that identifies the lock.
 *
 * HOTPATH_LOCK_NAME comes after the function that makes the lock, if there is one, and before its first use. Locks
 * of one name and kind share a row. HOTPATH_LOCK_WAIT is for a thread that finds the lock busy, before it waits; if
 * it goes on without the lock, HOTPATH_LOCK_RELEASED ends the wait. HOTPATH_LOCK_TAKEN comes after each
 * acquisition, also without waiting; HOTPATH_LOCK_RELEASED before the lock is free for others, since it charges the
 * caller with their waits.
 */
#define HOTPATH_LOCK_NAME(lock, name) hotpath_v1_lock_name(lock, "" name "")
#define HOTPATH_LOCK_WAIT(lock, name) hotpath_v1_lock_wait(lock, "" name "")
#define HOTPATH_LOCK_TAKEN(lock) hotpath_v1_lock_taken(lock)
#define HOTPATH_LOCK_RELEASED(lock) hotpath_v1_lock_released(lock)

/*
 * I/O. `hotpath run --io` counts what is read and written through the C library; these macros name a descriptor,
 * and tell of what it cannot see: memory-mapped files, io_uring and the like.
 *
 * HOTPATH_IO_NAME gives a descriptor's row a label instead of a path or address, until it is closed; descriptors of
 * one label share a row. HOTPATH_IO_OP counts one operation with these bytes for a label. Its kind is "read",
 * "write", "sync" or one of the others that the section io has.
 */
#define HOTPATH_IO_NAME(fd, label) hotpath_v1_io_name(fd, "" label "")
#define HOTPATH_IO_OP(label, kind, bytes) hotpath_v1_io_op("" label "", "" kind "", bytes)

/*
 * Tasks: operations that begin at one place and end at another: a request, a pending callback, a coroutine, a
 * queued job. `task` is the address of a hotpath_task, such as a member of the program's own struct declared by
 * HOTPATH_FIELD. It holds a number and may be copied and freed at any time. It need not be initialised before
 * HOTPATH_TASK. HOTPATH_TASK_POLL marks the time in which the task runs; without it, only the wall time is known.
 * All tasks of a label share one row, beside functions and in the section `tasks`. Using a task after its end is
 * harmless and counted as misuse. For a callback or job that runs once, HOTPATH_JOB and HOTPATH_RUN_JOB of
 * hotpath/pool.h need no hotpath_task: both take any address.
 *
 * A coroutine with its own stack that keeps zones open while others run needs a lane (see hotpath_switch).
 * HOTPATH_TASK(task, "label", .lane = 1), in C++ .lane(1), creates one. HOTPATH_TASK_POLL switches to it, and
 * switches back at the end of the braces, which must enclose only the stack switch. The lane ends with the task.
 */
#define HOTPATH_FIELD(type, name) type name[1]
#define HOTPATH_TASK(task, ...)                                                                                    \
    HOTPATH_PICK_(__VA_ARGS__, HOTPATH_TASK_WITH_, HOTPATH_TASK_ALONE_, )(task, __VA_ARGS__)
#define HOTPATH_TASK_POLL(task) HOTPATH_POLL_(HOTPATH_NAME_(__COUNTER__), task, 0)
#define HOTPATH_TASK_RUN(task) HOTPATH_POLL_(HOTPATH_NAME_(__COUNTER__), task, HOTPATH_LAST_POLL_)
#define HOTPATH_TASK_READY(task) hotpath_v1_task_end(task, 0)
#define HOTPATH_TASK_RESULT(task, ...) HOTPATH_RESULT_(task, __VA_ARGS__)
#define HOTPATH_TASK_CANCEL(task) hotpath_v1_task_end(task, 1)

/*
 * Event loops: a thread waits, handles events, and waits again. The time between two waits is a turn, in which the
 * loop notices no new event. The report shows how long turns were and how long events waited for a turn to end. A
 * label stands for one loop per thread. `hotpath run` detects loops over epoll, poll and select by itself; these
 * macros are for all others, and for static programs.
 */
#define HOTPATH_LOOP_WAIT(label) HOTPATH_LOOP_WAIT_(HOTPATH_NAME_(__COUNTER__), "" label "")
#define HOTPATH_LOOP_END(label) hotpath_loop_end_(HOTPATH_STATIC_SITE_(HOTPATH_KIND_OBJECT_, "" label ""))

#endif /* HOTPATH_ON_ */

/* ------------------------------------------------------------------------------------------------ control */

#ifdef __cplusplus
extern "C" {
#endif

/* Functions of the library. Without -DHOTPATH they do nothing (hotpath/off.h). */
#if HOTPATH_ON_
#define HOTPATH_API_ __attribute__((visibility("default")))
#else
#define HOTPATH_API_ static inline
#endif

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

struct hotpath_options; /* see below */

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

typedef struct hotpath_results hotpath_results;

/* Receives the rows instead of the built-in output. The results are valid until the callback returns. */
typedef void hotpath_reporter(const hotpath_results *results, void *context);

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

/* Allocations and frees of the calling thread: see hotpath_read_allocs. */
struct hotpath_alloc_counts {
    uint64_t count;        /* allocations, including realloc */
    uint64_t bytes;        /* requested */
    uint64_t freed_count;  /* blocks freed or passed to realloc */
    uint64_t freed_usable; /* their usable bytes, by malloc_usable_size */
    uint64_t session;      /* session these belong to; 0: counted without a session */
};

/*
 * Allocations of the calling thread so far; subtract two readings. HOTPATH_E_OFF if malloc is not counted. Readings
 * from different sessions cannot be compared. Any thread, any time.
 */
HOTPATH_API_ int hotpath_read_allocs(struct hotpath_alloc_counts *ret_counts);

/* A scope that did more than a macro HOTPATH_EXPECT_... permits. */
struct hotpath_unexpected {
    const char *file;
    const char *function;
    uint32_t line;
    uint32_t is_counted; /* 0: they could not be counted, so the result is unknown */
    uint64_t expected;
    uint64_t count;     /* of `what` */
    uint64_t bytes;     /* of allocations */
    const char *called; /* the name in HOTPATH_EXPECT_CALLS, else NULL */
    const char *what;   /* "allocations", "calls" or "instructions" */
};

/* Called instead of abort(), with no message on stderr. May return, or leave by longjmp. */
typedef void hotpath_on_unexpected(const struct hotpath_unexpected *unexpected, void *context);

/* Sets the function that these macros call when a limit is exceeded; NULL restores the default. */
HOTPATH_API_ void hotpath_set_on_unexpected(hotpath_on_unexpected *on_unexpected, void *context);

/*
 * Custom allocators: memory that the program hands out itself (arenas, pools, its own heap), shown under its own
 * label beside malloc. Blocks are identified by their address until they are freed, one by one or all of a label at
 * once. Nothing is counted without a session. Any thread; not in a signal handler.
 */
HOTPATH_API_ void hotpath_alloc_event(const char *label, const void *block, size_t size);
HOTPATH_API_ void hotpath_free_event(const char *label, const void *block);
HOTPATH_API_ void hotpath_free_all_event(const char *label);

/* A task: see HOTPATH_TASK. An opaque number; 0: none. */
typedef struct {
    uint64_t id_;
} hotpath_task;

/* The task of the innermost poll on the calling thread, or none; for adapters. Any thread, any time. */
HOTPATH_API_ hotpath_task hotpath_current(void);

/*
 * The task of an object that cannot hold one itself, such as a library's request. `of` returns a slot in which
 * HOTPATH_TASK can start a task; NULL: there are too many, and the task counts as lost. `at` returns NULL if there
 * is none. All macros take NULL for no task. The slot is free again when the task has ended.
 */
HOTPATH_API_ hotpath_task *hotpath_task_of(const void *object);
HOTPATH_API_ hotpath_task *hotpath_task_at(const void *object);

/* A stack of open zones: a coroutine's, or 0 for the calling thread's own. See hotpath_switch. */
typedef uint64_t hotpath_lane;

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

/* ------------------------------------------------------------------------------------------------ options */

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
    const char *report;       /* HOTPATH_SECTIONS        sections: "auto", "all", "timing,calltree", "-timing" */
    const char *columns;      /* HOTPATH_COLUMNS         extra columns: "self,min,max,threads", "all" */
    const char *sort;         /* HOTPATH_SORT            order of the rows: a column, "calls" or "-calls" */
    const char *by;           /* HOTPATH_BY              one row per "function", or per function and "thread" */
    const char *focus;        /* HOTPATH_FOCUS           rows shown: a list such as "parse*,/^lex/,file:json.c" */
    const char *slowest;      /* HOTPATH_SLOWEST         function whose slowest call is shown: name, "/regex/" */
    const char *filter;       /* HOTPATH_FILTER          sites to record: such a list */
    const char *skip;         /* HOTPATH_SKIP            sites not to record: such a list */
    const char *log;          /* HOTPATH_LOG             what is kept one by one: such a list */
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
    uint32_t logs_limit;      /* HOTPATH_LOGS_LIMIT      latest calls, messages ... kept of each (default 50) */
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
    uint8_t path;             /* HOTPATH_PATH            follow the critical path: who waits for whom */
    uint8_t reserved[3];
};
/* clang-format on */

#define HOTPATH_NO_LIMIT UINT32_MAX

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
    HOTPATH_OPTION_(bool, path)
#undef HOTPATH_OPTION_
};
} // namespace hotpath
#endif

#include "hotpath/results.h"
#if HOTPATH_ON_
#include "hotpath/inline.h"
#else
#include "hotpath/off.h"
#endif

#endif /* not C89 */
#endif /* HOTPATH_H */
