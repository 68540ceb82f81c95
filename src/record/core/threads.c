/*
 * Threads come and go; their records stay. A thread gets a context with its first zone. When it exits, the context
 * is free with everything attached (record, call tree, index), and the next new thread reuses it: memory depends on
 * how many threads record at once, not on how many there ever were.
 *
 * SPDX-License-Identifier: MIT
 */
#include "threads.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "arith.h"
#include "block_owners.h"
#include "cpu.h"
#include "holding.h"
#include "memory.h"
#include "no_session.h"
#include "path_threads.h"
#include "process.h"
#include "raw_call.h"
#include "runtime.h"
#include "sampler.h"
#include "stacks.h"
#include "thread_context.h"
#include "zone_stack.h"

/* ------------------------------------------------------------------------------------------- what a thread used */

/*
 * What a thread used from start to exit. An outside observer samples it now and then, and its last sample is some
 * time before the exit; the thread itself has the exact numbers.
 */

#define PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* A thread takes over a record: allocations of earlier threads are not its own. Under the lock. */
static void life_begin(struct hp_thread_context *context)
{
    struct hp_thread_life *life = &context->record->life;
    const struct hp_alloc_thread *alloc =
        context->record->alloc != 0 ? hp_store_at(context->store, context->record->alloc) : NULL;
    PUT(life->bytes_before, alloc != NULL ? alloc->bytes : 0);
    PUT(life->usable_before, alloc != NULL ? alloc->usable : 0);
    PUT(life->freed_before, alloc != NULL ? alloc->freed : 0);
}

/* Release: a reader that sees the thread's identity sees its numbers. The readers are in other processes. */
/* The calling thread, owner of the context, used this much in total and is about to exit. Under the lock. */
static void life_end(struct hp_thread_context *context, const struct hp_cpu_time *used)
{
    if (context->record == NULL || context->hot.epoch != hp_epoch() || hp_runtime->gate == 0)
        return;
    struct hp_thread_life *life = &context->record->life;
    PUT(life->user_ns, hp_less(used->ns, used->kernel_ns));
    PUT(life->kernel_ns, used->kernel_ns);
    PUT(life->voluntary, used->waits);
    PUT(life->involuntary, hp_less(used->switches, used->waits));
    __atomic_store_n(&life->ended_generation, context->generation, __ATOMIC_RELEASE);
}

void hp_life_end_present(void)
{
    struct hp_thread_context *context = hp_thread_present();
    if (context == NULL || HOTPATH_GET_(hp_runtime->live_settings.is_watched) == 0)
        return;
    const struct hp_cpu_time used = hp_cpu_of_thread();
    life_end(context, &used);
}

/* ------------------------------------------------------------------------------------------ the end of a thread */

/*
 * How threads end: by a thread-exit destructor, or by a sandbox that forbids them to read the time stamp counter.
 * Open zones are closed then, and the context is free for the next thread.
 */

static pthread_key_t exit_key;
static bool has_exit_key;

static void close_zones(struct hp_thread_context *context, uint64_t now)
{
    hp_context_hold(&context->hot);
    hp_lane_end_thread(context, now);
    while (context->hot.top > hp_frame_zero(context))
        hp_zone_close_top(context, now);
}

/* Cancelled in the middle of a call: see channels.c. */
static void close_transfer(struct hp_thread_context *context, uint64_t now)
{
    struct hp_part *part = (struct hp_part *)(void *)(context->hot.base + context->transfer);
    if (context->transfer == 0 || part->last == 0)
        return;
    HOTPATH_ADD_(part->count[part->flags], now > part->last ? now - part->last : 0);
    HOTPATH_PUT_(part->last, 0);
    context->transfer = 0;
}

static void close_records(struct hp_thread_context *context)
{
    hp_sampler_end_thread(context);
    if (context->record == NULL || context->hot.epoch != hp_epoch() || hp_runtime->gate == 0)
        return;
    const uint64_t now = hp_now();
    hp_session_note_doubts(hp_runtime->store);
    for (struct hp_thread_context *at = context; at != NULL; at = at->handler) {
        if (at->record == NULL || at->hot.epoch != hp_epoch())
            continue; /* a handler's context that had no space for a record */
        close_zones(at, now);
        close_transfer(at, now);
        __atomic_store_n(&at->record->state, HP_THREAD_FREE, __ATOMIC_RELAXED);
    }
}

/* The context's thread has exited: closes its zones and frees the context. Under the lock. */
static void thread_release(struct hp_thread_context *context)
{
    close_records(context);
    __atomic_store_n(&context->thread_id, 0, __ATOMIC_RELAXED);
}

/* What this thread used, if an observer wants to know; nothing if the kernel may not be asked. */
static struct hp_cpu_time used_by_now(void)
{
    struct hp_cpu_time used = {0};
    if (HOTPATH_GET_(hp_runtime->live_settings.is_watched) != 0 && hp_calls_begin()) {
        used = hp_cpu_of_thread();
        hp_calls_end();
    }
    return used;
}

/* Before its record is free. */
static void end_path(struct hp_thread_context *context, const struct hp_cpu_time *used)
{
    if (hp_paths_are_on() && context->hot.epoch == hp_epoch() && hp_runtime->gate != 0)
        hp_path_end_thread(context, used, hp_now());
}

/* The last of the copies of the library that know the thread ends it. */
static void end_exit_rounds(struct hp_thread_context *context)
{
    struct hp_signals held;
    struct hp_cpu_time used = {0};
    const bool is_last = context->copies == 1;
    if (is_last) {
        hp_sampler_part(context);
        used = used_by_now();
    }
    if (!hp_lock(&held))
        return;
    hotpath_v1_context = &hp_no_context;
    hp_thread_is_over = 1;
    if (context->thread_id != 0 && --context->copies == 0) {
        if (used.ns != 0)
            life_end(context, &used);
        end_path(context, &used);
        thread_release(context);
    }
    if (is_last)
        hp_instruction_clock_end_thread();
    hp_unlock(&held);
}

/*
 * Destructors of other keys may contain zones: stay for all rounds but the last. The last one belongs to tools that
 * must outlive everything, such as ThreadSanitizer, which no longer tracks the thread after it.
 */
HP_REALIGNED static void at_thread_exit(void *value)
{
    const int saved = errno;
    struct hp_thread_context *context = value;
    if (++context->exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1)
        pthread_setspecific(exit_key, context);
    else
        end_exit_rounds(context);
    errno = saved;
}

/*
 * Makes open guards find nothing to close. The memory of guards that longjmp has left may be anything by now, so
 * each must look like a guard.
 */
static void close_guards(struct hp_thread_context *context, uintptr_t here)
{
    struct hp_stack own;
    if (!hp_stack_is_own(here, hp_context_is_of_first_thread(context), hp_is_child(), &own))
        return;
    for (const struct hotpath_frame_ *frame = context->hot.top; frame > hp_frame_zero(context); frame--) {
        struct hotpath_zone *zone = (struct hotpath_zone *)(uintptr_t)frame->zone;
        if (hp_stack_has(&own, (uintptr_t)zone) && (uintptr_t)zone > here &&
            (uintptr_t)zone % sizeof zone->state == 0 &&
            (zone->state & ~(uintptr_t)HOTPATH_BY_COUNT_) == (uintptr_t)context)
            zone->state = HOTPATH_SKIPPED_;
    }
}

void hp_thread_blind(struct hp_thread_context *context)
{
    close_guards(context, (uintptr_t)__builtin_frame_address(0));
    close_records(context);
    context->is_blind = true;
    for (struct hp_thread_context *at = context; at != NULL; at = at->handler)
        at->hot.epoch = 0; /* from now on every zone has to go through register_thread */
}

bool hp_thread_exit_hook(void)
{
    if (!has_exit_key)
        has_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
    return has_exit_key;
}

/* Makes this copy notice the exit of the calling thread, which owns the context. Needs the hook and the lock. */
static void thread_await_end(struct hp_thread_context *context)
{
    if (pthread_getspecific(exit_key) == context)
        return;
    context->copies++;
    context->exit_rounds = 0;
    pthread_setspecific(exit_key, context);
}

/* ------------------------------------------------------------------------------------------------------ pruning */

/*
 * Scanning the directory takes longer than everything else. A program that forks makes many sessions quickly; it is
 * enough if one in sixteen scans.
 */
static bool is_turn_to_prune(void) { return !hp_is_child() || hp_sys_process_id() % 16 == 0; }

/* Sessions of a run stay until its report is made; `hotpath run` removes them. */
void hp_prune(struct hp_session *session)
{
    if (session->store.path[0] != '\0' && !session->settings.record.is_run && is_turn_to_prune())
        hp_store_prune(&session->store, session->settings.record.keep);
}

/* Does this once for a child's session that was started under the lock. Call after unlocking. */
static void prune_if_due(void)
{
    if (!__atomic_load_n(&hp_runtime->has_to_prune, __ATOMIC_RELAXED) ||
        !__atomic_exchange_n(&hp_runtime->has_to_prune, false, __ATOMIC_RELAXED))
        return;
    struct hp_session *session = hp_session_hold();
    if (session == NULL)
        return;
    hp_prune(session);
    hp_session_let_go(session);
}

/* ---------------------------------------------------------------------------------------------- contexts */

#define HEADS_BYTES 65536u

/* A context with nothing attached. Contexts are spaced so that threads do not share cache lines. */
static struct hp_thread_context *new_context(void)
{
    struct hp_fork_page *page = hp_page();
    const size_t stride = (sizeof(struct hp_thread_context) + HP_APART - 1) / HP_APART * HP_APART;
    if (page->spare_count == 0) {
        page->spare = hp_more_memory(HEADS_BYTES);
        if (page->spare == NULL)
            return NULL;
        hp_memory_wipe_on_fork(page->spare, HEADS_BYTES);
        page->spare_count = (uint32_t)(HEADS_BYTES / stride);
    }
    struct hp_thread_context *context = page->spare;
    page->spare = (struct hp_thread_context *)(void *)((char *)context + stride);
    page->spare_count--;
    context->next = page->contexts;
    __atomic_store_n(&page->contexts, context,
                     __ATOMIC_RELEASE); /* the sampling handler walks them without the lock */
    return context;
}

/* Threads that began to record after their last destructor, or ended by a raw system call. */
static bool is_dead(const struct hp_thread_context *context)
{
    return context->thread_id != 0 && !context->is_handler && !hp_process_has_thread(context->thread_id);
}

/*
 * Frees the contexts of threads that exited unnoticed. Asking the kernel costs a system call per context, so this
 * is done only when the number of contexts would grow past a power of two.
 */
static struct hp_thread_context *reap_threads(void)
{
    struct hp_thread_context *freed = NULL;
    uint32_t count = 0;
    for (struct hp_thread_context *context = hp_page()->contexts; context != NULL; context = context->next)
        count++;
    if (count < 8 || (count & (count - 1)) != 0)
        return NULL;
    for (struct hp_thread_context *context = hp_page()->contexts; context != NULL; context = context->next)
        if (is_dead(context)) {
            thread_release(context);
            freed = context;
        }
    return freed;
}

/* This thread's context if another copy of the library made one, else a free one, preferably with a record. */
static struct hp_thread_context *find_context(uint32_t thread_id)
{
    struct hp_thread_context *free_context = NULL;
    for (struct hp_thread_context *context = hp_page()->contexts; context != NULL; context = context->next) {
        if (context->is_handler)
            continue;
        if (context->thread_id == thread_id)
            return context;
        if (context->thread_id == 0 && (free_context == NULL || free_context->hot.epoch != hp_epoch()))
            free_context = context;
    }
    return free_context;
}

struct hp_thread_context *hp_thread_of_any_copy(void)
{
    const uint32_t thread_id = hp_sys_thread_id();
    struct hp_thread_context *context = find_context(thread_id);
    return context != NULL && context->thread_id == thread_id && context->hot.epoch == hp_epoch() ? context : NULL;
}

/* ---------------------------------------------------------------------------------------------- records */

/* Links a new record in front of the others. Under the lock; release pairs with the reader's walk. */
static void link_record(struct hp_thread_context *context)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    context->record->next = header->threads;
    __atomic_store_n(&header->threads, context->record_offset, __ATOMIC_RELEASE);
    __atomic_store_n(&header->thread_count, header->thread_count + 1, __ATOMIC_RELAXED);
}

static bool new_record(struct hp_thread_context *context)
{
    context->store = hp_runtime->store;
    context->space = context->space_end = 0;
    context->record = NULL;
    context->alloc = NULL;
    hp_parts_forget(context);
    context->generation = 0;
    context->record_offset = hp_thread_allocate(context, sizeof(struct hp_thread), 64);
    if (context->record_offset == 0)
        return false;
    context->record = hp_store_at(context->store, context->record_offset);
    if (!hp_zones_begin(context))
        return false;
    link_record(context);
    return true;
}

/*
 * What the kernel must be asked about a thread. This is done before the lock is taken: its owner may be preempted,
 * and all others would wait.
 */
struct newcomer {
    uint32_t process_id, thread_id;
    char name[sizeof((struct hp_thread *)NULL)->name];
    struct hp_cpu_time used;
};

static void introduce(struct newcomer *self)
{
    self->process_id = hp_sys_process_id();
    self->thread_id = hp_sys_thread_id();
    hp_process_thread_name(self->name);
    self->used = (struct hp_cpu_time){0};
    if (HOTPATH_GET_(hp_runtime->live_settings.record) & HP_RECORD_CPU)
        self->used = hp_cpu_of_thread();
}

static void sign_record(struct hp_thread_context *context, uint32_t thread_id, const char *name)
{
    struct hp_thread *record = context->record;
    life_begin(context);
    context->generation = record->generation + 1;
    __atomic_store_n(&record->generation, context->generation, __ATOMIC_RELAXED);
    __atomic_store_n(&record->tid, thread_id, __ATOMIC_RELAXED);
    __atomic_store_n(&record->first_tick, hp_now(), __ATOMIC_RELAXED);
    if (name != NULL)
        hp_thread_set_name(record, name);
    __atomic_store_n(&record->state, HP_THREAD_LIVE, __ATOMIC_RELAXED);
    struct hp_header *header = hp_store_header(hp_runtime->store);
    if (!context->is_handler)
        __atomic_store_n(&header->threads_seen, header->threads_seen + 1, __ATOMIC_RELAXED);
}

/* Gives a context a record of the running session and makes it usable. A handler's context has no name. */
static bool attach(struct hp_thread_context *context, uint32_t thread_id, const char *name)
{
    const bool has_record = context->record != NULL && context->hot.epoch == hp_epoch();
    hp_context_hold(&context->hot);
    context->sampler.cpu = NULL; /* of a session that may be gone; hp_sampler_begin_thread sets the new one */
    if (!(has_record ? hp_zones_resume(context) : new_record(context))) {
        context->record = NULL;
        return false;
    }
    sign_record(context, thread_id, name);
    if (context->slow_ways_left == 0)
        context->slow_ways_left = HP_SLOW_PERIOD;
    context->hot.epoch = hp_epoch();
    context->hot.base = hp_runtime->store->range.base;
    __atomic_store_n(&context->thread_id, thread_id, __ATOMIC_RELEASE); /* as above */
    if (hp_paths_are_on())
        hp_path_begin_thread(context, hp_now());
    hp_context_let_go(&context->hot);
    return true;
}

static bool attach_with_handlers(struct hp_thread_context *context, const struct newcomer *self)
{
    if (!attach(context, self->thread_id, self->name))
        return false;
    for (struct hp_thread_context *handler = context->handler; handler != NULL; handler = handler->handler)
        if (!attach(handler, self->thread_id, NULL))
            return false;
    return true;
}

/* -------------------------------------------------------------------------------------------- registering */

static bool no_session(void) { return false; }
static hp_child_session *begin_child_session = no_session;

void hp_threads_set_child_session(hp_child_session *begin)
{
    __atomic_store_n(&begin_child_session, begin, __ATOMIC_RELAXED);
}

/* Under the lock. If it fails, counts `losses`: zones, or nothing if the caller counts its own losses. */
static struct hp_thread_context *register_thread(struct newcomer *self, uint64_t losses)
{
    if (hp_thread_is_blind()) {
        if (hp_runtime->gate != 0 && !hp_is_forked_child())
            hp_store_lose(hp_runtime->store, HP_LOSS_ZONES, losses);
        return NULL;
    }
    const bool is_child = hp_is_forked_child();
    const bool is_parents =
        is_child && (hp_is_sandboxed() || !__atomic_load_n(&begin_child_session, __ATOMIC_RELAXED)());
    if (is_parents || hp_runtime->gate == 0 || !hp_thread_exit_hook()) {
        hotpath_v1_context = &hp_no_context;
        return NULL;
    }
    if (hp_is_sealed()) { /* finding out which thread this is would take a system call */
        hp_store_lose(hp_runtime->store, HP_LOSS_SEALED, losses);
        return NULL;
    }
    if (hp_thread_is_over) {
        hp_store_lose(hp_runtime->store, HP_LOSS_ENDED, losses);
        return NULL;
    }
    /* A vfork child has its parent's thread-local variables, but is another process. */
    if (self->process_id != hp_page()->pid) {
        hp_store_lose(hp_runtime->store, HP_LOSS_ZONES, losses);
        return NULL;
    }
    if (is_child)
        introduce(self); /* again: starting the session was not the thread's own work */
    struct hp_thread_context *context = find_context(self->thread_id);
    if (context == NULL)
        context = reap_threads();
    if (context == NULL)
        context = new_context();
    const bool is_shared = context != NULL && context->thread_id == self->thread_id;
    const bool is_current = is_shared && context->hot.epoch == hp_epoch();
    /* We may be in a handler that interrupted the thread inside the recorder, in a session that has ended since. */
    const bool is_busy = is_shared && !is_current && context->record != NULL && hp_context_is_held(&context->hot);
    if (context == NULL || is_busy || (is_shared && context->is_blind) ||
        (!is_current && !attach_with_handlers(context, self))) {
        hp_store_lose(hp_runtime->store, HP_LOSS_ZONES, losses);
        return NULL;
    }
    if (!is_shared) {
        context->copies = 0;
        context->is_blind = false;
        hp_block_owner_begin(context);
    }
    if (!is_current)
        hp_sampler_begin_thread(context, &self->used);
    thread_await_end(context);
    hotpath_v1_context = &context->hot;
    return context;
}

typedef bool take_lock(struct hp_signals *held);

struct registration {
    take_lock *take;
    uint64_t losses;
    struct hp_thread_context *context; /* the result */
};

static void register_now(void *context)
{
    struct registration *registration = context;
    struct newcomer self = {0};
    struct hp_signals held;
    if (!hp_thread_is_over && hp_calls_begin()) {
        introduce(&self);
        hp_calls_end();
    }
    if (!registration->take(&held))
        return;
    registration->context = register_thread(&self, registration->losses);
    hp_unlock(&held);
    prune_if_due();
}

/* The host's stack may be small, and this may begin a session. */
static __attribute__((noinline)) struct hp_thread_context *register_aside(take_lock *take, uint64_t losses)
{
    struct registration registration = {.take = take, .losses = losses};
    if (!hp_aside(register_now, &registration) && losses != 0)
        hp_session_lose(HP_LOSS_ZONES);
    return registration.context;
}

/* This thread's context, registered now if needed. */
static struct hp_thread_context *context_by(take_lock *take, uint64_t losses)
{
    if (hp_is_deferred())
        hp_deferral_begin();
    struct hp_thread_context *context = hp_thread_present();
    if (__builtin_expect(context == NULL && hp_thread_is_over == HP_THREAD_IS_SHARED, 0)) {
        if (losses != 0)
            hp_session_lose(HP_LOSS_ZONES);
        return NULL;
    }
    return context != NULL ? context : register_aside(take, losses);
}

#define LOOKS 256u /* longer than the usual path of a zone holds a context */

bool hp_thread_is_shared(const struct hp_thread_context *context)
{
    for (uint32_t look = 0; look < LOOKS; look++)
        if (!hp_context_is_held(&context->hot)) {
            hp_thread_is_over = HP_THREAD_IS_SHARED;
            hotpath_v1_context = &hp_no_context;
            hp_session_lose(HP_LOSS_ZONES);
            return true;
        }
    if (hp_is_sealed() || hp_sys_thread_id() == context->thread_id)
        return false;
    hp_session_lose(HP_LOSS_ZONES);
    return true;
}

struct hp_thread_context *hp_thread_context_of(void) { return context_by(hp_lock, 1); }

struct hp_thread_context *hp_thread_context_of_for_pools(void) { return context_by(hp_lock, 0); }

struct hp_thread_context *hp_thread_context_of_if_free(void)
{
    struct hp_thread_context *context = hp_thread_present();
    const bool is_all = context != NULL || hp_thread_is_over || hp_is_sealed() || !hp_clock_may_be_read();
    return is_all ? context : context_by(hp_lock_soon, 0);
}

bool hp_thread_is_ours(void) { return !hp_is_forked_child() || hp_thread_context_of() != NULL; }

/* Under the lock. */
static struct hp_thread_context *add_handler_context(struct hp_thread_context *context)
{
    struct hp_thread_context *handler = hp_runtime->gate != 0 ? new_context() : NULL;
    if (handler == NULL)
        return NULL;
    handler->is_handler = true;
    if (!attach(handler, context->thread_id, NULL))
        return NULL;
    context->handler = handler;
    return handler;
}

struct hp_thread_context *hp_thread_handler_context(struct hp_thread_context *context)
{
    struct hp_signals held;
    if (context->handler != NULL)
        return context->handler;
    if (!hp_lock(&held))
        return NULL;
    struct hp_thread_context *handler = add_handler_context(context);
    hp_unlock(&held);
    return handler;
}

void hp_thread_begin(void)
{
    struct newcomer self;
    introduce(&self);
    register_thread(&self, 0);
}

void hp_thread_reserve(void)
{
    struct newcomer self;
    introduce(&self);
    struct hp_thread_context *context = register_thread(&self, 1);
    if (context != NULL && context->handler == NULL)
        add_handler_context(context);
    for (; context != NULL; context = context->handler)
        hp_parts_reserve(context);
}

/* Reads it like a reader of a session: the thread keeps running. A closed frame ends the stack. */
static bool has_open(const struct hp_thread_context *context, const struct hotpath_zone *zone)
{
    const uint32_t capacity = __atomic_load_n(&context->record->frame_capacity, __ATOMIC_RELAXED);
    const struct hotpath_frame_ *frames =
        hp_store_at(context->store, __atomic_load_n(&context->record->frames, __ATOMIC_ACQUIRE));
    for (uint32_t at = 1; at < capacity && HOTPATH_GET_(frames[at].zone) != 0; at++)
        if (HOTPATH_GET_(frames[at].zone) == (uintptr_t)zone)
            return true;
    return false;
}

bool hp_thread_is_open_elsewhere(uintptr_t state, const struct hotpath_zone *zone)
{
    const struct hp_thread_context *own = hp_thread_present();
    struct hp_signals held;
    bool is_open = false;
    if (!hp_lock(&held))
        return false;
    for (const struct hp_thread_context *context = hp_page()->contexts; context != NULL; context = context->next)
        if ((uintptr_t)context == state && context->hot.epoch == hp_epoch() && context->record != NULL &&
            (own == NULL || context->thread_id != own->thread_id))
            is_open = has_open(context, zone);
    hp_unlock(&held);
    return is_open;
}
