/*
 * Threads come and go; their records stay. A thread gets a head with its first zone. When it exits, the head is
 * free with everything attached (record, call tree, index), and the next new thread reuses it: memory depends on
 * how many threads record at once, not on how many there ever were. How threads end: thread_ends.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "threads.h"

#include <string.h>

#include "holding.h"
#include "lives.h"
#include "memory.h"
#include "object_parts.h"
#include "owners.h"
#include "process.h"
#include "pruning.h"
#include "sampler.h"
#include "slow_ways.h"
#include "sys.h"
#include "thread_ends.h"
#include "thread_head.h"
#include "thread_space.h"
#include "zone_stack.h"

#define HEADS_BYTES 65536u

/* ---------------------------------------------------------------------------------------------- heads */

/* A head with nothing attached. Heads are spaced so that threads do not share cache lines. */
static struct hp_head *new_head(void)
{
    struct hp_fork_page *page = hp_page();
    const size_t stride = (sizeof(struct hp_head) + HP_APART - 1) / HP_APART * HP_APART;
    if (page->spare_count == 0) {
        page->spare = hp_more_memory(HEADS_BYTES);
        if (page->spare == NULL)
            return NULL;
        hp_memory_wipe_on_fork(page->spare, HEADS_BYTES);
        page->spare_count = (uint32_t)(HEADS_BYTES / stride);
    }
    struct hp_head *head = page->spare;
    page->spare = (struct hp_head *)(void *)((char *)head + stride);
    page->spare_count--;
    head->next = page->heads;
    __atomic_store_n(&page->heads, head, __ATOMIC_RELEASE); /* the sampling handler walks them without the lock */
    return head;
}

/* Threads that began to record after their last destructor, or ended by a raw system call. */
static bool is_dead(const struct hp_head *head)
{
    return head->thread_id != 0 && !head->is_handler && !hp_process_has_thread(head->thread_id);
}

/*
 * Frees the heads of threads that exited unnoticed. Asking the kernel costs a system call per head, so this is done
 * only when the number of heads would grow past a power of two.
 */
static struct hp_head *bury_dead(void)
{
    struct hp_head *freed = NULL;
    uint32_t count = 0;
    for (struct hp_head *head = hp_page()->heads; head != NULL; head = head->next)
        count++;
    if (count < 8 || (count & (count - 1)) != 0)
        return NULL;
    for (struct hp_head *head = hp_page()->heads; head != NULL; head = head->next)
        if (is_dead(head)) {
            hp_thread_release(head);
            freed = head;
        }
    return freed;
}

/* This thread's head if another copy of the library made one, else a free one, preferably with a record. */
static struct hp_head *find_head(uint32_t thread_id)
{
    struct hp_head *free_head = NULL;
    for (struct hp_head *head = hp_page()->heads; head != NULL; head = head->next) {
        if (head->is_handler)
            continue;
        if (head->thread_id == thread_id)
            return head;
        if (head->thread_id == 0 && (free_head == NULL || free_head->hot.epoch != hp_epoch()))
            free_head = head;
    }
    return free_head;
}

struct hp_head *hp_thread_of_any_copy(void)
{
    const uint32_t thread_id = hp_sys_thread_id();
    struct hp_head *head = find_head(thread_id);
    return head != NULL && head->thread_id == thread_id && head->hot.epoch == hp_epoch() ? head : NULL;
}

/* ---------------------------------------------------------------------------------------------- records */

/* Links a new record in front of the others. Under the lock; release pairs with the reader's walk. */
static void link_record(struct hp_head *head)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    head->record->next = header->threads;
    __atomic_store_n(&header->threads, head->record_offset, __ATOMIC_RELEASE);
    __atomic_store_n(&header->thread_count, header->thread_count + 1, __ATOMIC_RELAXED);
}

static bool new_record(struct hp_head *head)
{
    head->store = hp_runtime->store;
    head->space = head->space_end = 0;
    head->record = NULL;
    head->alloc = NULL;
    hp_parts_forget(head);
    head->generation = 0;
    head->record_offset = hp_thread_allocate(head, sizeof(struct hp_thread), 64);
    if (head->record_offset == 0)
        return false;
    head->record = hp_store_at(head->store, head->record_offset);
    if (!hp_zones_begin(head))
        return false;
    link_record(head);
    return true;
}

/* Word by word, since a reader may be active. */
static void name_record(struct hp_thread *record, const char *name)
{
    uint32_t words[sizeof record->name / sizeof(uint32_t)];
    memcpy(words, name, sizeof words);
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        __atomic_store_n((uint32_t *)(void *)record->name + at, words[at], __ATOMIC_RELAXED);
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
    if (HOTPATH_GET_(hp_runtime->wishes.record) & HP_RECORD_CPU)
        self->used = hp_cpu_of_thread();
}

static void sign_record(struct hp_head *head, uint32_t thread_id, const char *name)
{
    struct hp_thread *record = head->record;
    hp_life_begin(head);
    head->generation = record->generation + 1;
    __atomic_store_n(&record->generation, head->generation, __ATOMIC_RELAXED);
    __atomic_store_n(&record->tid, thread_id, __ATOMIC_RELAXED);
    __atomic_store_n(&record->first_tick, hp_now(), __ATOMIC_RELAXED);
    if (name != NULL)
        name_record(record, name);
    __atomic_store_n(&record->state, HP_THREAD_LIVE, __ATOMIC_RELAXED);
    struct hp_header *header = hp_store_header(hp_runtime->store);
    if (!head->is_handler)
        __atomic_store_n(&header->threads_seen, header->threads_seen + 1, __ATOMIC_RELAXED);
}

/* Gives a head a record of the running session and makes it usable. A handler's head has no name. */
static bool attach(struct hp_head *head, uint32_t thread_id, const char *name)
{
    const bool has_record = head->record != NULL && head->hot.epoch == hp_epoch();
    hp_head_hold(&head->hot);
    head->sampler.cpu = NULL; /* of a session that may be gone; hp_sampler_begin_thread sets the new one */
    if (!(has_record ? hp_zones_resume(head) : new_record(head))) {
        head->record = NULL;
        return false;
    }
    sign_record(head, thread_id, name);
    if (head->slow_ways_left == 0)
        head->slow_ways_left = HP_SLOW_PERIOD;
    head->hot.epoch = hp_epoch();
    head->hot.base = hp_runtime->store->range.base;
    __atomic_store_n(&head->thread_id, thread_id, __ATOMIC_RELEASE); /* as above */
    hp_head_let_go(&head->hot);
    return true;
}

static bool attach_with_handlers(struct hp_head *head, const struct newcomer *self)
{
    if (!attach(head, self->thread_id, self->name))
        return false;
    for (struct hp_head *handler = head->handler; handler != NULL; handler = handler->handler)
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
static struct hp_head *register_thread(struct newcomer *self, uint64_t losses)
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
        hotpath_v1_head = &hp_idle_head;
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
    struct hp_head *head = find_head(self->thread_id);
    if (head == NULL)
        head = bury_dead();
    if (head == NULL)
        head = new_head();
    const bool is_shared = head != NULL && head->thread_id == self->thread_id;
    const bool is_current = is_shared && head->hot.epoch == hp_epoch();
    /* We may be in a handler that interrupted the thread inside the recorder, in a session that has ended since. */
    const bool is_busy = is_shared && !is_current && head->record != NULL && hp_head_is_held(&head->hot);
    if (head == NULL || is_busy || (is_shared && head->is_blind) ||
        (!is_current && !attach_with_handlers(head, self))) {
        hp_store_lose(hp_runtime->store, HP_LOSS_ZONES, losses);
        return NULL;
    }
    if (!is_shared) {
        head->copies = 0;
        head->is_blind = false;
        hp_owner_begin(head);
    }
    if (!is_current)
        hp_sampler_begin_thread(head, &self->used);
    hp_thread_await_end(head);
    hotpath_v1_head = &head->hot;
    return head;
}

typedef bool take_lock(struct hp_signals *held);

/* This thread's head, registered now if needed. */
static struct hp_head *head_by(take_lock *take, uint64_t losses)
{
    struct hp_head *head = hp_thread_present();
    struct newcomer self = {0};
    struct hp_signals held;
    if (head == NULL && !hp_thread_is_over && hp_calls_begin()) {
        introduce(&self);
        hp_calls_end();
    }
    if (head != NULL || !take(&held))
        return head;
    head = register_thread(&self, losses);
    hp_unlock(&held);
    hp_prune_if_due();
    return head;
}

struct hp_head *hp_thread_head(void) { return head_by(hp_lock, 1); }

struct hp_head *hp_thread_head_for_pools(void) { return head_by(hp_lock, 0); }

struct hp_head *hp_thread_head_if_free(void)
{
    struct hp_head *head = hp_thread_present();
    const bool is_all = head != NULL || hp_thread_is_over || hp_is_sealed() || !hp_clock_may_be_read();
    return is_all ? head : head_by(hp_lock_soon, 0);
}

bool hp_thread_is_ours(void) { return !hp_is_forked_child() || hp_thread_head() != NULL; }

/* Under the lock. */
static struct hp_head *add_handler_head(struct hp_head *head)
{
    struct hp_head *handler = hp_runtime->gate != 0 ? new_head() : NULL;
    if (handler == NULL)
        return NULL;
    handler->is_handler = true;
    if (!attach(handler, head->thread_id, NULL))
        return NULL;
    head->handler = handler;
    return handler;
}

struct hp_head *hp_thread_handler_head(struct hp_head *head)
{
    struct hp_signals held;
    if (head->handler != NULL)
        return head->handler;
    if (!hp_lock(&held))
        return NULL;
    struct hp_head *handler = add_handler_head(head);
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
    struct hp_head *head = register_thread(&self, 1);
    if (head != NULL && head->handler == NULL)
        add_handler_head(head);
    for (; head != NULL; head = head->handler)
        hp_parts_reserve(head);
}

/* Reads it like a reader of a session: the thread keeps running. A closed frame ends the stack. */
static bool has_open(const struct hp_head *head, const struct hotpath_zone *zone)
{
    const uint32_t capacity = __atomic_load_n(&head->record->frame_capacity, __ATOMIC_RELAXED);
    const struct hotpath_frame_ *frames =
        hp_store_at(head->store, __atomic_load_n(&head->record->frames, __ATOMIC_ACQUIRE));
    for (uint32_t at = 1; at < capacity && HOTPATH_GET_(frames[at].zone) != 0; at++)
        if (HOTPATH_GET_(frames[at].zone) == (uintptr_t)zone)
            return true;
    return false;
}

bool hp_thread_is_open_elsewhere(uintptr_t state, const struct hotpath_zone *zone)
{
    const struct hp_head *own = hp_thread_present();
    struct hp_signals held;
    bool is_open = false;
    if (!hp_lock(&held))
        return false;
    for (const struct hp_head *head = hp_page()->heads; head != NULL; head = head->next)
        if ((uintptr_t)head == state && head->hot.epoch == hp_epoch() && head->record != NULL &&
            (own == NULL || head->thread_id != own->thread_id))
            is_open = has_open(head, zone);
    hp_unlock(&held);
    return is_open;
}
