/*
 * A thread's context and what it refers to: nodes, stats and frames in the session, its space there, its parts of
 * objects, its lane. Protocol of use: holding.h. SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_THREAD_CONTEXT_H
#define HP_CORE_THREAD_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "raw_call.h"
#include "runtime.h"
#include "store.h"

/*
 * Of functions that cleanup handlers and destructors of a thread may call: musl cancels it wherever it is, and
 * calls those with the stack as it was there.
 */
#if defined(__x86_64__) || defined(__i386__)
#define HP_REALIGNED __attribute__((force_align_arg_pointer))
#else
#define HP_REALIGNED
#endif

/* The context of the calling thread if it has one for the running session, or NULL. */
static inline struct hp_thread_context *hp_thread_present(void)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    const bool is_there =
        &context->hot != &hp_no_context && context->thread_id != 0 && context->hot.epoch == hp_epoch();
    return is_there ? context : NULL;
}
/* Whether the calling thread must not read the time stamp counter, or that cannot be found out. */
bool hp_thread_is_blind(void);

/* Whether its thread is the process's first, which lives as long as the process. */
static inline bool hp_context_is_of_first_thread(const struct hp_thread_context *context)
{
    return context->thread_id == hp_sys_process_id();
}

/* --- with the context held: until it is released the session stays mapped, even if it has ended meanwhile */

static inline struct hotpath_node_ *hp_node_at(const struct hp_thread_context *context, uint32_t offset)
{
    return (struct hotpath_node_ *)(void *)(context->hot.base + offset);
}
static inline struct hotpath_stat_ *hp_stat_at(const struct hp_thread_context *context, uint32_t offset)
{
    return (struct hotpath_stat_ *)(void *)(context->hot.base + offset);
}
static inline struct hotpath_frame_ *hp_frame_zero(const struct hp_thread_context *context)
{
    return (struct hotpath_frame_ *)(void *)(context->hot.base + context->record->frames);
}
static inline void hp_lose(const struct hp_thread_context *context, enum hp_loss loss)
{
    hp_store_lose(context->store, loss, 1);
}

/*
 * Whether the zone's call is around the code whose stack pointer is `stack`. A macro's guard is in its function's
 * frame, above that address. A hook has no guard: its zone is a few bytes below, one per inlined function, and not
 * at a multiple of 4 (functions.c). Zones of callees lie at least two words further down, since frames are that
 * large.
 */
#define HP_HOOK_REACH (2 * sizeof(void *))
static inline bool hp_zone_is_there(const struct hotpath_frame_ *frame, uintptr_t stack)
{
    return frame->zone >= stack || (frame->zone % 4 != 0 && stack - frame->zone < HP_HOOK_REACH);
}

/*
 * Its name, as the kernel has it now, into its record. A thread that is registered before it has a zone may get its
 * name only after that: then `is_named_early` is set, until its first zone.
 */
void hp_thread_note_name(struct hp_thread_context *context);
/* Word by word, since a reader may be active. */
void hp_thread_set_name(struct hp_thread *record, const char *name);

/* ------------------------------------------------------------------------------------- its space in the session */

/* Session space of one thread: it takes chunks of the file and allocates from them without synchronization. */

#define HP_APART 128u /* two cache lines: data of neighbouring threads must not share a prefetched pair */

/* The offset of `size` zeroed bytes; 0: no space. The caller holds the context, or no other thread knows it yet. */
uint32_t hp_thread_allocate(struct hp_thread_context *context, uint32_t size, uint32_t align);

/* --------------------------------------------------------------------------------------- the cost of slow paths */

/*
 * Brackets work beyond the usual entry and exit of a zone. Now and then it is timed: then this returns the start
 * time, else 0. The caller holds the context.
 */
static inline uint64_t hp_slow_way_begin(struct hp_thread_context *context)
{
    return __builtin_expect(--context->slow_ways_left == 0, 0) ? hp_now() : 0;
}
void hp_slow_way_timed(struct hp_thread_context *context, uint64_t from);
static inline void hp_slow_way_end(struct hp_thread_context *context, uint64_t from)
{
    if (__builtin_expect(from != 0, 0))
        hp_slow_way_timed(context, from);
}

/* ----------------------------------------------------------------------------------------- its parts of objects */

/* A table from object numbers to the thread's parts of them. */
struct hp_part;

#define HP_CACHED_INSTANCES 64u

/*
 * An instance that the thread used lately, with the thread's parts of it and of its class. NULL as address stands
 * for the class.
 */
struct hp_cached_instance {
    uintptr_t address;
    struct hp_part *part, *class_part;
    uint32_t class_; /* UINT32_MAX: empty entry */
    uint32_t reserved;
};

/* Allocates the cache, all empty. False: no memory. The caller holds the context. */
bool hp_parts_make_cache(struct hp_thread_context *context);
/* The context starts a new record and has no parts yet. */
void hp_parts_forget(struct hp_thread_context *context);
/* Makes room for this number. False: no memory. The caller holds the context. */
bool hp_parts_make_places(struct hp_thread_context *context, uint32_t number);
/* Allocates room for as many objects as fit into a chunk. Under the lock. */
void hp_parts_reserve(struct hp_thread_context *context);

/* --------------------------------------------------------------------------------------- the lane that it is on */

/* What lanes are, and how threads switch: lanes.c. */

/*
 * The target of a hotpath_lane: memory of the process, which outlives sessions. Written by the thread that the lane
 * is on, or, if it is on none, by the thread that takes it. A forked child inherits it as it was, with a session
 * that is not the child's.
 */
struct hp_lane_place {
    uint32_t busy;       /* atomic: session in which a thread is on it; 0: no thread is */
    uint32_t generation; /* atomic: generation of valid handles; odd while one exists */
    uint32_t epoch;      /* the session of the fields below */
    uint32_t number;     /* of this slot, from 1 */
    struct hp_lane *lane;
    uint32_t next_free; /* atomic: number of a slot */
    uint32_t skip_runs; /* of the context it was on: see struct hp_skip_run */
    struct hp_skip_run skips[HP_SKIP_RUNS];
    uint32_t apart[8]; /* padding to two cache lines, as for contexts */
};

/* Whether a site stands for suspended lanes. */
static inline bool hp_lane_is_suspended_site(uint32_t site)
{
    return site + 1 == __atomic_load_n(&hp_runtime->suspended_site, __ATOMIC_RELAXED);
}

/* Whether the thread is on a lane other than its own. The caller holds the context. */
static inline bool hp_lane_is_other(const struct hp_thread_context *context) { return context->lane != NULL; }

/* ------------------------------------------------------------------------------------- the clock of its session */

/* The latest time that the session knows, and ticks per millisecond. */

/*
 * Stores the current time as the session's latest, and what the process has used so far. The caller holds the
 * session.
 */
struct hp_clock_pair hp_session_touch(struct hp_store *store);
/* Tells readers why the CPU may have miscounted. */
void hp_session_note_doubts(struct hp_store *store);

/*
 * Converts times to ticks, for decisions while the program runs. Readers know the rate better: they have the whole
 * run to compare clocks. Measured once the session is old enough, a guess before. The caller holds the context; not
 * if system calls are fatal.
 */
uint64_t hp_tick_rate_measure(const struct hp_thread_context *context);

static inline uint64_t hp_ticks_per_ms(const struct hp_thread_context *context)
{
    const uint64_t known = HOTPATH_GET_(hp_runtime->ticks_per_ms);
    return HOTPATH_LIKELY_(known != 0) ? known : hp_tick_rate_measure(context);
}

#endif
