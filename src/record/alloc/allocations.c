/*
 * Allocations: who allocates, how much, and how much is live.
 *
 * Each thread has one set of counters (struct hp_alloc_thread), to which malloc and free add. The allocations of a
 * call are the difference between its end and its start. Zones do not read the counters when they start, so zones
 * without allocations cost nothing extra. Instead, the first allocation or free inside a zone marks its frame and
 * all enclosing frames without a mark: nothing was counted since they started, so the counters still have the
 * values from their start. A marked frame ends on the slow path (HOTPATH_ALLOCATES_), where its call is counted.
 *
 * The peak of a call: `peak_live` is the maximum since the innermost marked zone started. A mark saves the current
 * peak for the enclosing zone and starts a new one; when the zone ends, the enclosing zone gets the higher of the
 * two.
 *
 * The context is held as for zones (holding.h). Events that arrive while it is held, or on a thread that has no
 * context and cannot get one now, are added to the header by atomic operations ("late"): they are in the totals of
 * the process, but in no row. SPDX-License-Identifier: MIT
 */
#include "allocations.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "block_owners.h"
#include "guards.h"
#include "heap_samples.h"
#include "holding.h"
#include "hook_entries.h"
#include "images.h"
#include "marks.h"
#include "no_session.h"
#include "runtime.h"
#include "text.h"
#include "thread_context.h"
#include "threads.h"
#include "zone_stack.h"

/* An allocation, a free, or both at once. */
struct event {
    const void *allocated; /* NULL: no block */
    uint64_t asked;
    uint64_t usable;
    const void *freed; /* NULL: no block */
    uint64_t freed_bytes;
};

static inline int64_t more_live(const struct event *event) { return (int64_t)(event->usable - event->freed_bytes); }

static inline int64_t more_blocks(const struct event *event)
{
    return (event->allocated != NULL) - (event->freed != NULL);
}

/* ---------------------------------------------------------------- without a session, or without a context in it */

/*
 * Counters of the calling thread outside of sessions. Only differences matter, so counting starts at the first
 * reading.
 */
struct idle_counts {
    uint64_t count, bytes, freed_count, freed_bytes;
};
static __thread struct idle_counts idle_counts HOTPATH_TLS_;

static inline void count_idle(const void *allocated, uint64_t asked, const void *freed, uint64_t freed_bytes)
{
    idle_counts.count += allocated != NULL;
    idle_counts.bytes += asked;
    idle_counts.freed_count += freed != NULL;
    idle_counts.freed_bytes += freed_bytes;
}

static void publish(struct hp_header *header, int64_t change)
{
    hp_raise(&header->alloc_peak, __atomic_add_fetch(&header->alloc_live, change, __ATOMIC_RELAXED));
}

/* What the process allocates while its session is deferred (no_session.h). Only totals: there are no rows yet. */
static __attribute__((noinline, cold)) void count_early(const void *allocated, uint64_t asked, uint64_t usable,
                                                        const void *freed, uint64_t freed_bytes)
{
    struct hp_early_allocs *early = &hp_runtime->early;
    __atomic_fetch_add(&early->count, allocated != NULL, __ATOMIC_RELAXED);
    __atomic_fetch_add(&early->bytes, asked, __ATOMIC_RELAXED);
    __atomic_fetch_add(&early->usable, usable, __ATOMIC_RELAXED);
    __atomic_fetch_add(&early->frees, freed != NULL, __ATOMIC_RELAXED);
    __atomic_fetch_add(&early->freed, freed_bytes, __ATOMIC_RELAXED);
    hp_deferral_look();
}

void hp_allocations_forget_early(void) { memset(&hp_runtime->early, 0, sizeof hp_runtime->early); }

void hp_allocations_keep_early(void)
{
    struct hp_session *session = hp_records_allocations() ? hp_session_hold() : NULL;
    if (session == NULL)
        return;
    const struct hp_early_allocs *early = &hp_runtime->early;
    struct hp_header *header = hp_store_header(&session->store);
    hp_alloc_declare(header);
    __atomic_fetch_add(&header->late_count, early->count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&header->late_bytes, early->bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&header->late_usable, early->usable, __ATOMIC_RELAXED);
    __atomic_fetch_add(&header->late_frees, early->frees, __ATOMIC_RELAXED);
    __atomic_fetch_add(&header->late_freed, early->freed, __ATOMIC_RELAXED);
    publish(header, (int64_t)(early->usable - early->freed));
    hp_session_let_go(session);
}

/* For a thread without a usable context. Holds the session, which nothing else keeps mapped. */
static void count_late(const struct event *event)
{
    struct hp_session *session = hp_session_hold();
    if (session == NULL)
        return;
    struct hp_header *header = hp_store_header(&session->store);
    hp_alloc_declare(header);
    if (event->allocated != NULL) {
        __atomic_fetch_add(&header->late_count, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&header->late_bytes, event->asked, __ATOMIC_RELAXED);
        __atomic_fetch_add(&header->late_usable, event->usable, __ATOMIC_RELAXED);
        /* Else the block would belong to the previous owner of this memory. */
        hp_block_owner_disown(event->allocated);
    }
    if (event->freed != NULL) {
        hp_heap_forget(event->freed);
        __atomic_fetch_add(&header->late_frees, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&header->late_freed, event->freed_bytes, __ATOMIC_RELAXED);
    }
    publish(header, more_live(event));
    hp_session_let_go(session);
}

/* ----------------------------------------------------------------------------------------------------- counting */

/*
 * The caller holds the context, and its innermost zone is marked. free is the cheapest: it only adds and cannot
 * raise a peak.
 */
static inline __attribute__((always_inline)) void count(struct hp_alloc_thread *thread, const struct event *event)
{
    if (event->freed != NULL) {
        HOTPATH_ADD_(thread->freed_count, 1);
        HOTPATH_ADD_(thread->freed, event->freed_bytes);
    }
    if (event->allocated != NULL) {
        const uint64_t usable = thread->usable + event->usable, number = thread->count + 1;
        HOTPATH_PUT_(thread->usable, usable);
        HOTPATH_PUT_(thread->count, number);
        HOTPATH_ADD_(thread->bytes, event->asked);
        const int64_t live = (int64_t)(usable - thread->freed), blocks = (int64_t)(number - thread->freed_count);
        /* Store unconditionally: in short calls the branch is unpredictable, and a misprediction costs more. */
        const int64_t peak = thread->peak_live;
        HOTPATH_PUT_(thread->peak_live, live > peak ? live : peak);
        if (__builtin_expect(blocks > thread->peak_blocks, 0))
            HOTPATH_PUT_(thread->peak_blocks, blocks);
    }
}

static inline bool has_to_publish(const struct hp_alloc_thread *thread)
{
    const int64_t drift = hp_alloc_live(thread) - HOTPATH_GET_(thread->published);
    return __builtin_expect((uint64_t)(drift + HP_ALLOC_UNPUBLISHED) > 2 * (uint64_t)HP_ALLOC_UNPUBLISHED, 0);
}

static __attribute__((noinline)) void publish_live(const struct hp_thread_context *context)
{
    struct hp_alloc_thread *thread = context->alloc;
    struct hp_header *header = hp_store_header(context->store);
    if (HOTPATH_GET_(thread->published) == HP_ALLOC_NEVER_TOLD)
        hp_raise(&header->alloc_peak, hp_alloc_peak_of_thread(context));
    publish(header, hp_alloc_live(thread) - hp_alloc_published(thread));
    HOTPATH_PUT_(thread->published, hp_alloc_live(thread));
}

/*
 * Stand-ins for a block that realloc has freed. Another thread may own its memory by now, so the owner is looked up
 * before (hotpath_v1_reallocating).
 */
static const char own_block, foreign_block;

static inline bool is_foreign(const struct hp_thread_context *context, const void *freed)
{
    return freed != &own_block && (freed == &foreign_block || hp_block_owner_is_other(context, freed));
}

/* Bookkeeping that matters only with more than one thread. The caller holds the context, which has counters. */
static inline __attribute__((always_inline)) void
tell_others(struct hp_thread_context *context, const void *allocated, const void *freed, uint64_t freed_bytes)
{
    struct hp_alloc_thread *thread = context->alloc;
    if (freed != NULL && is_foreign(context, freed)) {
        HOTPATH_ADD_(thread->foreign_count, 1);
        HOTPATH_ADD_(thread->foreign_bytes, freed_bytes);
    }
    if (allocated != NULL)
        hp_block_owner_write(context, allocated);
    if (has_to_publish(thread))
        publish_live(context);
}

/* The same if one memory access is enough; false: it is not. */
static inline __attribute__((always_inline)) bool told_quickly(const struct hp_thread_context *context,
                                                               const struct event *event)
{
    const bool is_realloc = event->allocated != NULL && event->freed != NULL;
    const bool asks_for_owner = event->freed != NULL && !(is_realloc && event->freed == &own_block);
    return (!asks_for_owner || hp_block_owner_is_near_own(context, event->freed)) &&
           (event->allocated == NULL || hp_block_owner_write_near(context, event->allocated)) &&
           !has_to_publish(context->alloc);
}

static bool is_one_of_many(const struct hp_thread_context *context)
{
    return __atomic_load_n(&context->is_one_of_many, __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------------------------------------------------- marks */

static inline __attribute__((always_inline)) void mark(struct hp_thread_context *context,
                                                       struct hotpath_frame_ *frame)
{
    struct hp_alloc_thread *thread = context->alloc;
    const uint32_t flags = frame->stat & HOTPATH_FLAGS_ & ~HOTPATH_UNTIMED_;
    *hp_frame_marks(context, frame) = (struct hp_alloc_frame){.count = thread->count,
                                                              .bytes = thread->bytes,
                                                              .live = hp_alloc_live(thread),
                                                              .blocks = hp_alloc_live_blocks(thread),
                                                              .peak_live = thread->peak_live,
                                                              .peak_blocks = thread->peak_blocks};
    HOTPATH_PUT_(thread->peak_live, hp_alloc_live(thread));
    HOTPATH_PUT_(thread->peak_blocks, hp_alloc_live_blocks(thread));
    HOTPATH_ORDER_();
    HOTPATH_PUT_(frame->stat, context->record->blank_stat | flags | HOTPATH_ALLOCATES_ |
                                  (frame->stat & HOTPATH_UNTIMED_ ? HOTPATH_COUNTED_ : 0));
}

/* Marks the innermost zone and all enclosing ones up to a marked one, at the latest frame 0. */
static inline __attribute__((always_inline)) void mark_all(struct hp_thread_context *context)
{
    struct hotpath_frame_ *const top = context->hot.top, *frame = top;
    while (!hp_frame_is_marked(frame - 1))
        frame--;
    for (; frame <= top; frame++)
        mark(context, frame);
}

/* ------------------------------------------------------------------------------- zones that are no longer there */

/*
 * Zones whose guards lie below the stack address of the call of malloc were left by longjmp, or wait on another
 * stack. The event is not theirs, so their start values move along with it, and the peak that may rise is the one
 * saved for the zone around them.
 */
static void count_around(struct hp_thread_context *context, const struct event *event, uintptr_t stack)
{
    struct hotpath_frame_ *const top = context->hot.top, *frame = top;
    while (!hp_zone_is_there(frame, stack))
        frame--;
    struct hp_alloc_thread *thread = context->alloc;
    if (frame == top) {
        count(thread, event);
        return;
    }
    const int64_t live = more_live(event), blocks = more_blocks(event);
    const int64_t peak_live = thread->peak_live + live, peak_blocks = thread->peak_blocks + blocks;
    count(thread, event);
    HOTPATH_PUT_(thread->peak_live, peak_live);
    HOTPATH_PUT_(thread->peak_blocks, peak_blocks);
    for (struct hotpath_frame_ *absent = frame + 1; absent <= top; absent++) {
        struct hp_alloc_frame *at = hp_frame_marks(context, absent);
        HOTPATH_ADD_(at->count, event->allocated != NULL);
        HOTPATH_ADD_(at->bytes, event->asked);
        HOTPATH_PUT_(at->live, at->live + live);
        HOTPATH_PUT_(at->blocks, at->blocks + blocks);
        if (absent > frame + 1) {
            HOTPATH_PUT_(at->peak_live, at->peak_live + live);
            HOTPATH_PUT_(at->peak_blocks, at->peak_blocks + blocks);
        }
    }
    struct hp_alloc_frame *first = hp_frame_marks(context, frame + 1);
    if (hp_alloc_live(thread) > first->peak_live)
        HOTPATH_PUT_(first->peak_live, hp_alloc_live(thread));
    if (hp_alloc_live_blocks(thread) > first->peak_blocks)
        HOTPATH_PUT_(first->peak_blocks, hp_alloc_live_blocks(thread));
}

/* ------------------------------------------------------------------------------------------------ the slow path */

/* A forked child without a session does not count: an allocation does not start one. */
static inline __attribute__((always_inline)) bool is_recorded(void)
{
    return hp_records_allocations() && !hp_is_forked_child();
}

/* The recorder itself runs on this thread. What it makes the C library allocate is not counted. */
static bool is_our_own(void)
{
    const uintptr_t self = (uintptr_t)&hotpath_v1_context;
    return __atomic_load_n(&hp_page()->lock_holder, __ATOMIC_RELAXED) == self ||
           __atomic_load_n(&hp_runtime->allocates_for_us, __ATOMIC_RELAXED) == self;
}

/* While the context is held, all allocations take the slow path, which checks for this. */
struct hotpath_context_ *hp_allocations_take_over(void)
{
    struct hotpath_context_ *context = hotpath_v1_context;
    __atomic_store_n(&hp_runtime->allocates_for_us, (uintptr_t)&hotpath_v1_context, __ATOMIC_RELAXED);
    if (hp_context_is_held(context))
        return NULL;
    hp_context_hold(context);
    return context;
}

void hp_allocations_give_back(struct hotpath_context_ *held)
{
    __atomic_store_n(&hp_runtime->allocates_for_us, 0, __ATOMIC_RELAXED);
    if (held != NULL)
        hp_context_let_go(held);
}

static bool count_held(struct hp_thread_context *context, const struct event *event, uintptr_t stack)
{
    const uint32_t gate = HOTPATH_GATE_OF_(&context->hot) & ~HP_GATE_OUT_OF_LINE;
    if (gate == (context->hot.epoch | HP_GATE_PAUSED)) {
        if (event->freed != NULL)
            hp_heap_forget(event->freed);
        return true; /* recording is paused */
    }
    if (gate != context->hot.epoch)
        return false;
    const uint64_t from = hp_slow_way_begin(context);
    if (context->alloc == NULL && !hp_alloc_begin(context)) {
        hp_lose(context, HP_LOSS_ALLOCS);
        return false;
    }
    if (!hp_frame_is_marked(context->hot.top))
        mark_all(context);
    count_around(context, event, stack);
    if (hp_heap_is_due(context, event->allocated, event->freed))
        hp_heap_take(context, event->allocated, event->asked, event->freed, event->freed_bytes, stack);
    hp_slow_way_end(context, from);
    if (is_one_of_many(context))
        tell_others(context, event->allocated, event->freed, event->freed_bytes);
    return true;
}

static bool count_in_context(const struct event *event, uintptr_t stack)
{
    struct hp_thread_context *context = hp_thread_context_of_if_free();
    if (context == NULL || hp_context_is_held(&context->hot))
        return false;
    hp_context_hold(&context->hot);
    const bool is_done = count_held(context, event, stack);
    hp_context_let_go(&context->hot);
    return is_done;
}

/*
 * These functions take their arguments in registers and tail-call each other, so neither the fast path nor an
 * unrecorded program needs stack space.
 */
static __attribute__((noinline, cold)) void count_with_care(const void *allocated, uint64_t asked, uint64_t usable,
                                                            const void *freed, uint64_t freed_bytes,
                                                            uintptr_t stack)
{
    const int saved = errno;
    const struct event event = {allocated, asked, usable, freed, freed_bytes};
    if (!is_our_own() && !count_in_context(&event, stack))
        count_late(&event);
    errno = saved;
}

static __attribute__((noinline)) void count_slowly(const void *allocated, uint64_t asked, uint64_t usable,
                                                   const void *freed, uint64_t freed_bytes, uintptr_t stack)
{
    if (is_recorded()) {
        count_with_care(allocated, asked, usable, freed, freed_bytes, stack);
        return;
    }
    count_idle(allocated, asked, freed, freed_bytes);
    if (hp_is_deferred())
        count_early(allocated, asked, usable, freed, freed_bytes);
}

/* The same for a block that is, or was, sampled. */
static __attribute__((noinline, cold)) void end_with_sample(struct hp_thread_context *context,
                                                            const void *allocated, uint64_t asked,
                                                            const void *freed, uint64_t freed_bytes,
                                                            uintptr_t stack)
{
    const int saved = errno;
    const uint64_t from = hp_slow_way_begin(context);
    hp_heap_take(context, allocated, asked, freed, freed_bytes, stack);
    hp_slow_way_end(context, from);
    if (is_one_of_many(context))
        tell_others(context, allocated, freed, freed_bytes);
    hp_context_let_go(&context->hot);
    errno = saved;
}

static __attribute__((noinline)) void end_among_many(struct hp_thread_context *context, const void *allocated,
                                                     const void *freed, uint64_t freed_bytes)
{
    tell_others(context, allocated, freed, freed_bytes);
    hp_context_let_go(&context->hot);
}

/* ------------------------------------------------------------------------------------------------ the fast path */

/* Tells the compiler that `block` is never NULL, so that it omits the check. */
#define IS_BLOCK(block) ((block) != NULL ? (void)0 : __builtin_unreachable())

/* The context is held; its innermost zone is marked and still there. Releases the context. */
static inline __attribute__((always_inline)) void count_and_let_go(struct hp_thread_context *context,
                                                                   const struct event *event, uintptr_t stack)
{
    count(context->alloc, event);
    if (__builtin_expect(hp_heap_is_due(context, event->allocated, event->freed), 0)) {
        end_with_sample(context, event->allocated, event->asked, event->freed, event->freed_bytes, stack);
        return;
    }
    if (__builtin_expect(is_one_of_many(context), 0) && __builtin_expect(!told_quickly(context, event), 0)) {
        end_among_many(context, event->allocated, event->freed, event->freed_bytes);
        return;
    }
    hp_context_let_go(&context->hot);
}

/* The first event in a call, on a thread that has counters. */
static inline __attribute__((always_inline)) void mark_and_count(struct hp_thread_context *context,
                                                                 const struct event *event, uintptr_t stack)
{
    const uint64_t from = hp_slow_way_begin(context);
    mark_all(context);
    hp_slow_way_end(context, from);
    count_and_let_go(context, event, stack);
}

static __attribute__((noinline)) void mark_and_count_allocated(struct hp_thread_context *context, const void *block,
                                                               uint64_t asked, uint64_t usable, uintptr_t stack)
{
    IS_BLOCK(block);
    mark_and_count(context, &(struct event){.allocated = block, .asked = asked, .usable = usable}, stack);
}

static __attribute__((noinline)) void mark_and_count_freed(struct hp_thread_context *context, const void *block,
                                                           uint64_t usable, uintptr_t stack)
{
    IS_BLOCK(block);
    mark_and_count(context, &(struct event){.freed = block, .freed_bytes = usable}, stack);
}

static inline __attribute__((always_inline)) void tell(const struct event *event, uintptr_t stack)
{
    struct hotpath_context_ *hot = hotpath_v1_context;
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hot;
    if (HOTPATH_LIKELY_(!hp_context_is_held(hot))) {
        hp_context_hold(hot);
        const struct hotpath_frame_ *top = hot->top;
        /* Zones of compiler hooks lie up to 3 bytes lower; see hp_zone_is_there. */
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(hot) == hot->epoch && top->zone > stack - 4)) {
            if (HOTPATH_LIKELY_(hp_frame_is_marked(top))) {
                count_and_let_go(context, event, stack);
                return;
            }
            if (HOTPATH_LIKELY_(context->alloc != NULL)) {
                if (event->freed == NULL) {
                    mark_and_count_allocated(context, event->allocated, event->asked, event->usable, stack);
                    return;
                }
                if (event->allocated == NULL) {
                    mark_and_count_freed(context, event->freed, event->freed_bytes, stack);
                    return;
                }
            }
        }
        hp_context_let_go(hot);
    }
    count_slowly(event->allocated, event->asked, event->usable, event->freed, event->freed_bytes, stack);
}

/* ------------------------------------------------------------------------------------------------------- events */

void hotpath_v1_alloc_is_watched(void)
{
    hp_library_join();
    __atomic_store_n(&hp_runtime->alloc_is_watched, true, __ATOMIC_RELAXED);
    struct hp_session *session = hp_session_hold(); /* HOTPATH=1 may have started one before */
    if (session == NULL)
        return;
    __atomic_fetch_or(&hp_store_header(&session->store)->features, HP_FEATURE_COUNTED, __ATOMIC_RELAXED);
    hp_session_let_go(session);
}

/* Whether anyone has ever read the counters outside of sessions. */
enum reading { NEVER_READ, ABOUT_TO_READ, WAS_READ };

static bool is_not_counted(void)
{
    return !hp_records_allocations() &&
           __atomic_load_n(&hp_runtime->deferral, __ATOMIC_RELAXED) == HP_NOT_DEFERRED &&
           __atomic_load_n(&hp_runtime->alloc_reading, __ATOMIC_RELAXED) == NEVER_READ;
}

/*
 * Called after each change of that condition. If two threads race, the one with the outdated value notices and
 * repeats.
 */
void hp_allocations_switch(void)
{
    bool is_off;
    do {
        is_off = is_not_counted();
        for (size_t at = 0; at < HP_COPIES; at++) {
            void (*const pass_on)(int) = __atomic_load_n(&hp_runtime->alloc_switches[at], __ATOMIC_ACQUIRE);
            if (pass_on != NULL)
                pass_on(is_off);
        }
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } while (is_not_counted() != is_off);
}

void hotpath_v1_alloc_switch(void (*pass_on)(int is_on))
{
    hp_library_join();
    hp_image_stay_loaded((const void *)(uintptr_t)pass_on);
    for (size_t at = 0; at < HP_COPIES; at++) {
        void (*none)(int) = NULL;
        if (__atomic_compare_exchange_n(&hp_runtime->alloc_switches[at], &none, pass_on, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            break;
    }
    hp_allocations_switch();
}

/* The reason to print, once. */
static const char *why_not_watched;

void hotpath_v1_alloc_is_not_watched(const char *reason, int at_once)
{
    hp_library_join();
    __atomic_store_n(&why_not_watched, reason, __ATOMIC_RELAXED);
    if (at_once)
        hp_allocations_explain();
}

void hp_allocations_explain(void)
{
    const char *const reason = __atomic_exchange_n(&why_not_watched, NULL, __ATOMIC_RELAXED);
    if (reason != NULL)
        hp_say(reason);
}

void hotpath_v1_allocated(const void *block, size_t asked, size_t usable, uintptr_t stack)
{
    IS_BLOCK(block);
    tell(&(struct event){.allocated = block, .asked = asked, .usable = usable}, stack);
}

void hotpath_v1_freed(const void *block, size_t usable, uintptr_t stack)
{
    IS_BLOCK(block);
    tell(&(struct event){.freed = block, .freed_bytes = usable}, stack);
}

/* Needs no hold on the context: its number does not change, and the block keeps its owner until it is freed. */
int hotpath_v1_reallocating(const void *block)
{
    hp_heap_forget(block);
    const struct hp_thread_context *context = (const struct hp_thread_context *)(const void *)hotpath_v1_context;
    return &context->hot != &hp_no_context && is_one_of_many(context) && hp_block_owner_is_other(context, block);
}

void hotpath_v1_reallocated(int was_foreign, size_t old_usable, const void *block, size_t asked, size_t usable,
                            uintptr_t stack)
{
    const void *const freed = was_foreign ? &foreign_block : &own_block;
    if (__builtin_expect(block == NULL, 0))
        hotpath_v1_freed(freed, old_usable, stack);
    else
        tell(&(struct event){block, asked, usable, freed, old_usable}, stack);
}

void hotpath_v1_alloc_failed(void)
{
    const int saved = errno;
    struct hp_session *session = is_recorded() && !is_our_own() ? hp_session_hold() : NULL;
    if (session != NULL) {
        __atomic_fetch_add(&hp_store_header(&session->store)->alloc_failed, 1, __ATOMIC_RELAXED);
        hp_session_let_go(session);
    }
    errno = saved;
}

/* Starts counting, on all threads. WAS_READ implies that counting is on. */
static struct hotpath_alloc_counts read_idle_counts(void)
{
    uint32_t *const reading = &hp_runtime->alloc_reading;
    if (__atomic_load_n(reading, __ATOMIC_ACQUIRE) != WAS_READ) {
        __atomic_store_n(reading, ABOUT_TO_READ, __ATOMIC_SEQ_CST);
        hp_allocations_switch();
        __atomic_store_n(reading, WAS_READ, __ATOMIC_RELEASE);
    }
    return (struct hotpath_alloc_counts){idle_counts.count, idle_counts.bytes, idle_counts.freed_count,
                                         idle_counts.freed_bytes, 0};
}

/* The caller holds the context, or passes NULL if the thread has none for the running session. */
static struct hotpath_alloc_counts read_counts(const struct hp_thread_context *context)
{
    const struct hp_alloc_thread *thread = context != NULL ? context->alloc : NULL;
    if (context == NULL)
        return read_idle_counts();
    if (thread == NULL)
        return (struct hotpath_alloc_counts){.session = context->hot.epoch};
    return (struct hotpath_alloc_counts){thread->count, thread->bytes, thread->freed_count, thread->freed,
                                         context->hot.epoch};
}

int hotpath_read_allocs(struct hotpath_alloc_counts *ret_counts)
{
    const int saved = errno;
    if (!__atomic_load_n(&hp_runtime->alloc_is_watched, __ATOMIC_RELAXED))
        return HOTPATH_E_OFF;
    struct hp_thread_context *context = is_recorded() ? hp_thread_context_of_if_free() : NULL;
    uint32_t before = 0;
    if (context != NULL)
        before = hp_context_hold_too(&context->hot);
    const uint32_t gate = context != NULL ? HOTPATH_GATE_OF_(&context->hot) & HOTPATH_EPOCH_ & ~HP_GATE_PAUSED : 0;
    *ret_counts = read_counts(gate != 0 && gate == context->hot.epoch ? context : NULL);
    if (context != NULL)
        hp_context_put_back(&context->hot, before);
    errno = saved;
    return HOTPATH_OK;
}

/* ------------------------------------------------------------------------------------------------ ends of zones */

/*
 * The slow-path end of a zone, in the common case: the innermost zone, of a timed call that has allocated. In
 * programs that allocate everywhere most zones end here, so it is as short as possible: one leaf function, used if
 * all counters exist. All other ends are in zones.c.
 */

/* The innermost zone, of a timed call that has all its counters. The caller holds the context. */
static HP_ALLOC_INLINED void close_top(struct hp_thread_context *context, struct hotpath_node_ *node,
                                       struct hotpath_stat_ *site, uint64_t now)
{
    struct hotpath_frame_ *frame = context->hot.top;
    const uint64_t ticks = now - frame->start;
    const uint32_t octave = hotpath_octave_(ticks);
    char *const base = context->hot.base;
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    HOTPATH_ADD_(((uint64_t *)(void *)(base + site->octaves[octave]))[ticks >> octave], 1);
    const bool is_nested = hp_zone_count(frame, node, site, ticks);
    HOTPATH_PUT_(frame->child, now);
    context->hot.top = frame - 1;
    hp_alloc_close_call(context, frame, (struct hp_alloc_stat *)(void *)(base + site->alloc), is_nested);
}

/* Untimed calls, and calls of which more is kept, take the other path. */
#define FLAGS (HOTPATH_ALLOCATES_ | HOTPATH_UNTIMED_ | HOTPATH_COUNTED_ | HOTPATH_KEPT_)

/* False: nothing was changed. */
static HP_ALLOC_INLINED bool is_closed_as_usual(struct hp_thread_context *context, uint64_t now)
{
    const struct hotpath_frame_ *frame = context->hot.top;
    struct hotpath_node_ *node = hp_node_at(context, frame->node);
    struct hotpath_stat_ *site = hp_stat_at(context, node->stat);
    if (HP_RARELY((frame->stat & FLAGS) != HOTPATH_ALLOCATES_) || HP_RARELY(site->alloc == 0) ||
        HP_RARELY(site->octaves[hotpath_octave_(now - frame->start)] == 0))
        return false;
    const uint64_t from = hp_slow_way_begin(context);
    close_top(context, node, site, now);
    hp_slow_way_end(context, from);
    return true;
}

bool hp_alloc_leave_site(uint32_t site, uint64_t now)
{
    struct hotpath_context_ *hot = hotpath_v1_context;
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hot;
    bool is_done = false;
    if (!hp_context_is_held(hot)) {
        hp_context_hold(hot);
        if (HOTPATH_GATE_OF_(hot) == hot->epoch && hp_node_at(context, hot->top->node)->site == site)
            is_done = is_closed_as_usual(context, now);
        hp_context_let_go(hot);
    }
    return is_done;
}

void hotpath_v1_leave(struct hotpath_zone *zone, uint64_t now)
{
    struct hotpath_context_ *hot = hotpath_v1_context;
    bool is_done = false;
    if (HOTPATH_LIKELY_(!hp_context_is_held(hot))) {
        hp_context_hold(hot);
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(hot) == hot->epoch && hot->top->zone == (uintptr_t)zone))
            is_done = is_closed_as_usual((struct hp_thread_context *)(void *)hot, now);
        hp_context_let_go(hot);
    }
    if (HP_RARELY(!is_done))
        hp_zone_leave(zone, now);
}
