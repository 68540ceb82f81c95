/*
 * What the macros expand to; not for direct use. Part of hotpath.h.
 *
 * In this order: the structs, the functions of the library, the inline functions (hotpath_enter_ and hotpath_leave_
 * are what a measured call executes), the helpers of the macros, and what differs between C and C++.
 *
 * Names that end in an underscore or contain v1 are private. v1 is the version of the layouts below, so that a
 * program and a library that disagree do not link. The structs are both the thread's working memory and part of the
 * session file (docs/session-format.md). Each has one writer thread, which uses relaxed atomic stores, so they may
 * be read at any time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_INLINE_H
#define HOTPATH_INLINE_H

#ifdef __cplusplus /* C, not C++ as some like it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#ifndef HOTPATH_H
#error "include <hotpath.h>, which includes this"
#endif

#ifdef __cplusplus
extern "C" {
#endif

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

#if HOTPATH_TLS_DYNAMIC
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
/* Locks: recorded by `hotpath run --locks`; else these do nothing. */
HOTPATH_API_ void hotpath_v1_lock_name(const volatile void *lock, const char *name);
HOTPATH_API_ void hotpath_v1_lock_wait(const volatile void *lock, const char *name);
HOTPATH_API_ void hotpath_v1_lock_taken(const volatile void *lock);
HOTPATH_API_ void hotpath_v1_lock_released(const volatile void *lock);
/* I/O: recorded by `hotpath run --io`; else these do nothing. */
HOTPATH_API_ void hotpath_v1_io_name(int descriptor, const char *label);
HOTPATH_API_ void hotpath_v1_io_op(const char *label, const char *kind, uint64_t bytes);

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
#define HOTPATH_LAST_POLL_ 1    /* the task ends with this poll */
#define HOTPATH_MAY_BE_OVER_ 2  /* a poll of a task that has ended is ignored, not misuse: adapters cannot know */
#define HOTPATH_ON_LANE_ 4      /* the task has a lane; set by the library */
#define HOTPATH_CANCELLED_ 8    /* with HOTPATH_LAST_POLL_: the task ends without a result */
#define HOTPATH_LOGGED_POLL_ 16 /* the task is logged; set by the library */
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

/* A scope with a limit. */
enum hotpath_limited_ { HOTPATH_LIMITED_ALLOCS_, HOTPATH_LIMITED_CALLS_, HOTPATH_LIMITED_INSTRUCTIONS_ };
struct hotpath_expected_ {
    struct hotpath_alloc_counts begin;
    const char *file;
    const char *function;
    const char *called; /* whose calls are limited */
    uint64_t before;    /* calls of it, or instructions */
    uint64_t most;
    uint64_t mark; /* private to the library */
    uint32_t line;
    int32_t status; /* result of the reading at its start */
    uint32_t session;
    uint32_t limited; /* one of enum hotpath_limited_ */
};
HOTPATH_API_ struct hotpath_expected_ *hotpath_v1_expect(struct hotpath_expected_ *ret_expected, uint64_t most,
                                                         const char *file, uint32_t line, const char *function);
HOTPATH_API_ struct hotpath_expected_ *hotpath_v1_expect_calls(struct hotpath_expected_ *ret_expected,
                                                               const char *called, uint64_t most, const char *file,
                                                               uint32_t line, const char *function);
HOTPATH_API_ struct hotpath_expected_ *hotpath_v1_expect_instructions(struct hotpath_expected_ *ret_expected,
                                                                      uint64_t most, const char *file,
                                                                      uint32_t line, const char *function);
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
    /* Not trusted, either. */
    struct hotpath_context_ *context = (struct hotpath_context_ *)(zone->state ^ HOTPATH_BY_COUNT_);
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
    hotpath_task none;
    none.id_ = 0;
    hotpath_task_with_(task, site, none, has_lane);
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

/* A conversion in code of the program, which may be compiled with -Wold-style-cast. */
#ifdef __cplusplus
#define HOTPATH_AS_(type, value) type(value)
#else
#define HOTPATH_AS_(type, value) ((type)(value))
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

#ifdef __cplusplus
#define HOTPATH_OPTIONS_(...) (hotpath::options() __VA_ARGS__)
#else
#define HOTPATH_OPTIONS_(...) ((struct hotpath_options){.size = sizeof(struct hotpath_options), __VA_ARGS__})
#endif

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
        hotpath_v1_expect(&scope, HOTPATH_AS_(uint64_t, most), __FILE__, __LINE__, __func__)

#define HOTPATH_EXPECTED_CALLS_(scope, name, most) HOTPATH_EXPECTED_CALLS_NAMED_(scope, name, most)
#define HOTPATH_EXPECTED_CALLS_NAMED_(scope, name, most)                                                           \
    HOTPATH_GUARD_(struct hotpath_expected_, scope, hotpath_v1_expect_end) =                                       \
        hotpath_v1_expect_calls(&scope, "" name "", HOTPATH_AS_(uint64_t, most), __FILE__, __LINE__, __func__)

#define HOTPATH_EXPECTED_INSTRUCTIONS_(scope, most) HOTPATH_EXPECTED_INSTRUCTIONS_NAMED_(scope, most)
#define HOTPATH_EXPECTED_INSTRUCTIONS_NAMED_(scope, most)                                                          \
    HOTPATH_GUARD_(struct hotpath_expected_, scope, hotpath_v1_expect_end) =                                       \
        hotpath_v1_expect_instructions(&scope, HOTPATH_AS_(uint64_t, most), __FILE__, __LINE__, __func__)

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
#define HOTPATH_PASSED_(tell, site, channel, items, bytes, length, id, ...)                                        \
    tell(site, channel, HOTPATH_AS_(uint64_t, items), HOTPATH_AS_(uint64_t, bytes), HOTPATH_AS_(int64_t, length),  \
         HOTPATH_AS_(uint64_t, id))
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

#ifdef __cplusplus
} /* extern "C" */
#endif

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif /* HOTPATH_INLINE_H */
