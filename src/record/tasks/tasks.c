/*
 * HOTPATH_TASK and its siblings: operations that begin in one function and end in another, on any thread, and run
 * in stretches (polls) in between.
 *
 * The host keeps only an id of a task (task_slots.h). So the library never touches host memory, a stale copy is
 * harmless, and use after the end is only counted. A poll is a zone of the task's class, so its allocations, its
 * CPU time and everything inside it are known as for functions, per thread and exact.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arith.h"
#include "call_log.h"
#include "guards.h"
#include "logs.h"
#include "memory.h"
#include "objects.h"
#include "sites.h"
#include "task_slots.h"
#include "thread_context.h"
#include "zone_stack.h"

#define LOOKS_AT_OPEN 64u /* tasks created between two counts of open tasks, ... */
#define ALWAYS_LOOKS 64u  /* ... but for the first ones they are always counted */

static const struct hp_kind_type task_kind = {
    .name = "task",
    .title = "Task",
    .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE,
    .goes_on = true,
    .counters = {[HP_TASK_CREATED] = {"created", "Created", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_TASK_READY] = {"ready", "Ready", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_TASK_CANCELLED] = {"cancelled", "Cancelled", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_TASK_BORN_TICKS] = {"born_ticks", "Born", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [HP_TASK_ENDED_TICKS] = {"ended_ticks", "Ended", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [HP_TASK_LONG_POLLS] = {"long_polls", "Long Polls", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_TASK_MISUSED] = {"misused", "Misused", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_TASK_WITHOUT_SLOT] = {"without_slot", "Without Slot", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_TASK_MOST_OPEN] = {"max_open", "Max Open", HOTPATH_UNIT_COUNT, HP_MERGE_MOST}},
    .histograms = {[HP_TASK_WALLS] = {"wall", "Wall", HOTPATH_UNIT_NS, HP_MERGE_SUM}},
};

/* ------------------------------------------------------------------------------------------------------ classes */

#define SITES_PER_PAGE (4096u / sizeof(struct hotpath_site))

/* A copy of the site, for polls: the host's own site goes away with its library. Under the lock. */
static struct hotpath_site *copy_site(uint32_t id)
{
    struct hp_recorder *recorder = hp_runtime;
    if (recorder->task_sites_left == 0) {
        recorder->task_sites = hp_more_memory(SITES_PER_PAGE * sizeof(struct hotpath_site));
        recorder->task_sites_left = recorder->task_sites != NULL ? SITES_PER_PAGE : 0;
    }
    if (recorder->task_sites_left == 0)
        return NULL;
    const struct hp_known_site *known = hp_site_known(id);
    struct hotpath_site *site = &recorder->task_sites[--recorder->task_sites_left];
    *site = (struct hotpath_site){.id = id,
                                  .kind = known->kind,
                                  .line = known->line,
                                  .name = known->name,
                                  .function = known->function,
                                  .file = known->file};
    return site;
}

/* `site` is one of the class's sites; makes it if missing. */
static void need_site(uint32_t number, struct hotpath_site **site)
{
    struct hp_signals held;
    if (__atomic_load_n(site, __ATOMIC_ACQUIRE) != NULL || !hp_lock(&held))
        return;
    if (*site == NULL)
        __atomic_store_n(site, copy_site(hp_object_known(number)->site), __ATOMIC_RELEASE);
    hp_unlock(&held);
}

/* ----------------------------------------------------------------------------------------------------- counting */

/* Open tasks of the class, by the parts of all threads. */
static uint64_t count_open(const struct hp_object_use *use)
{
    uint64_t open = 0;
    uint32_t offset = __atomic_load_n(&hp_object_of(use)->parts, __ATOMIC_ACQUIRE);
    for (uint32_t steps = 0; offset != 0 && steps < 1024; steps++) {
        const struct hp_part *part = (const struct hp_part *)(const void *)(use->context->hot.base + offset);
        open += HOTPATH_GET_(part->count[HP_TASK_CREATED]) - HOTPATH_GET_(part->count[HP_TASK_READY]) -
                HOTPATH_GET_(part->count[HP_TASK_CANCELLED]);
        offset = __atomic_load_n(&part->sibling, __ATOMIC_ACQUIRE);
    }
    return (int64_t)open > 0 ? open : 0;
}

static void count_created(const struct hp_object_use *use, uint64_t born, bool has_slot)
{
    struct hp_part *part = use->part;
    const uint32_t sequence = hp_part_change(part);
    hp_part_meet(part, use->now);
    HOTPATH_ADD_(part->count[HP_TASK_CREATED], 1);
    HOTPATH_ADD_(part->count[HP_TASK_BORN_TICKS], born);
    if (!has_slot)
        HOTPATH_ADD_(part->count[HP_TASK_WITHOUT_SLOT], 1);
    hp_part_changed(part, sequence);
    if (part->count[HP_TASK_CREATED] <= ALWAYS_LOOKS || part->count[HP_TASK_CREATED] % LOOKS_AT_OPEN == 0) {
        const uint64_t open = count_open(use);
        if (open > part->count[HP_TASK_MOST_OPEN])
            HOTPATH_PUT_(part->count[HP_TASK_MOST_OPEN], open);
    }
}

static void count_ended(const struct hp_object_use *use, uint64_t born, bool is_cancelled)
{
    struct hp_part *part = use->part;
    const uint32_t sequence = hp_part_change(part);
    hp_part_meet(part, use->now);
    HOTPATH_ADD_(part->count[is_cancelled ? HP_TASK_CANCELLED : HP_TASK_READY], 1);
    HOTPATH_ADD_(part->count[HP_TASK_ENDED_TICKS], use->now);
    hp_part_changed(part, sequence);
    const uint64_t wall = use->now > born ? use->now - born : 0;
    uint64_t *step = hp_object_step(use, HP_TASK_WALLS, wall);
    if (HOTPATH_LIKELY_(step != NULL))
        HOTPATH_ADD_(*step, 1);
    else
        hp_object_distribute(use, HP_TASK_WALLS, (double)wall);
}

/* ----------------------------------------------------------------------------------------------------- logging */

static struct hp_task_allocs *allocs_of(const struct hp_thread_context *context, const struct hp_task_slot *slot)
{
    return (struct hp_task_allocs *)(void *)(context->hot.base + slot->allocs);
}

/*
 * A logged task has no site in its slot, so its polls take the slow path; it notes what the thread had allocated
 * when a poll began.
 */
static __attribute__((noinline)) void begin_logging(struct hp_thread_context *context, struct hp_task_slot *slot)
{
    if (slot->allocs == 0)
        HOTPATH_PUT_(slot->allocs, hp_log_space(context, sizeof(struct hp_task_allocs), 8));
    struct hp_task_allocs *allocs = slot->allocs != 0 ? allocs_of(context, slot) : NULL;
    if (allocs == NULL) {
        hp_lose(context, HP_LOSS_CALLS);
        return;
    }
    *allocs = (struct hp_task_allocs){0};
    HOTPATH_PUT_(slot->extras, slot->extras | HP_TASK_IS_LOGGED);
    HOTPATH_PUT_(slot->next, HOTPATH_ID_NEW_);
}

static void begin_logged_poll(const struct hp_thread_context *context, const struct hp_task_slot *slot)
{
    struct hp_task_allocs *allocs = allocs_of(context, slot);
    allocs->begun_bytes = context->alloc != NULL ? context->alloc->bytes : 0;
    allocs->begun_count = context->alloc != NULL ? context->alloc->count : 0;
}

static void add_allocs(const struct hp_thread_context *context, const struct hp_task_slot *slot)
{
    struct hp_task_allocs *allocs = allocs_of(context, slot);
    if (context->alloc == NULL)
        return;
    allocs->bytes += context->alloc->bytes - allocs->begun_bytes;
    allocs->count += context->alloc->count - allocs->begun_count;
}

/* The poll has just ended on this thread, not its task. */
static void end_logged_poll(uint64_t id)
{
    struct hp_thread_context *context = hp_objects_hold();
    struct hp_task_slot *slot;
    if (context == NULL)
        return;
    if (hp_task_slot_find(context, id, &slot) && slot->extras & HP_TASK_IS_LOGGED)
        add_allocs(context, slot);
    hp_context_let_go(&context->hot);
}

/* What the log will say of a task that ends now; `poll_ticks`: of the poll in which it ends, 0: it does not run. */
static struct hp_log_record draft_record(const struct hp_object_use *use, const struct hp_task_slot *slot,
                                         uint64_t poll_ticks, bool is_cancelled)
{
    const struct hp_task_allocs *allocs = allocs_of(use->context, slot);
    return (struct hp_log_record){.what = is_cancelled ? HP_RECORD_CANCELLED : HP_RECORD_READY,
                                  .tick = use->now,
                                  .ticks = hp_less(use->now, HOTPATH_GET_(slot->born)),
                                  .busy = HOTPATH_GET_(slot->busy) + poll_ticks,
                                  .polls = HOTPATH_GET_(slot->polls) + (poll_ticks != 0),
                                  .bytes = allocs->bytes,
                                  .count = allocs->count,
                                  .node = use->context->hot.top->node};
}

static __attribute__((noinline)) void log_task(const struct hp_object_use *use, const struct hp_log_record *record,
                                               const char *result)
{
    struct hp_log *log = hp_log_chosen(use->context, &use->part->log);
    if (log != NULL)
        hp_log_put(use->context, log, record, result, result != NULL ? strnlen(result, HP_LOG_TEXT) : 0);
}

/* ---------------------------------------------------------------------------------------------------- beginning */

uint64_t hotpath_v1_task(struct hotpath_site *site)
{
    struct hp_object_use use;
    if (!hp_object_begin(site, &task_kind, &use))
        return 0;
    const uint32_t number = HOTPATH_GET_(site->log);
    const struct hp_known_object *known = hp_object_known(number);
    const bool has_site = __atomic_load_n(&known->poll_site, __ATOMIC_ACQUIRE) != NULL;
    uint64_t id, born = use.now;
    struct hp_task_slot *slot = hp_task_slot_take(&use, number, &id);
    const bool has_slot = slot != NULL;
    if (__builtin_expect(!has_slot, 0))
        id = hp_task_slotless(&use, number, &born);
    else if (__builtin_expect(__atomic_load_n(&known->is_logged, __ATOMIC_RELAXED), 0))
        begin_logging(use.context, slot);
    if (id != 0)
        count_created(&use, born, has_slot);
    else
        hp_lose(use.context, HP_LOSS_VALUES);
    hp_object_end(&use);
    if (__builtin_expect(!has_site, 0)) {
        const int saved = errno;
        need_site(number, &hp_object_known(number)->poll_site);
        errno = saved;
    }
    return id;
}

/* For the few tasks that need it. A task without a slot has no lane and no waiter. */
static void add_extras(struct hp_thread_context *context, uint64_t id, hotpath_task waiting, hotpath_lane lane)
{
    struct hp_task_slot *slot;
    if (!hp_task_slot_find(context, id, &slot)) {
        if (lane != 0)
            hp_lose(context, HP_LOSS_LANES);
        return;
    }
    if (waiting.id_ != 0)
        hp_task_wait_begin(context, slot, waiting.id_, HOTPATH_GET_(slot->born));
    if (lane != 0) {
        HOTPATH_PUT_(slot->lane, lane);
        HOTPATH_PUT_(slot->extras, slot->extras | HP_TASK_HAS_LANE);
        HOTPATH_PUT_(slot->next, HOTPATH_ID_NEW_); /* no site: its polls take the slow path */
    }
}

uint64_t hotpath_v1_task_with(struct hotpath_site *site, hotpath_task waiting, int has_lane)
{
    const uint64_t id = hotpath_v1_task(site);
    const int saved = errno;
    if (id == 0)
        return 0;
    if (waiting.id_ != 0)
        need_site(HOTPATH_GET_(site->log), &hp_object_known(HOTPATH_GET_(site->log))->await_site);
    const hotpath_lane lane = has_lane ? hotpath_lane_begin() : 0;
    struct hp_thread_context *context = hp_objects_hold();
    if (context != NULL) {
        add_extras(context, id, waiting, lane);
        hp_context_let_go(&context->hot);
    }
    errno = saved;
    return id;
}

/* ------------------------------------------------------------------------------------------------------- misuse */

/*
 * For a task that was open once. One that was created while nothing was recorded is no misuse. The caller holds the
 * context.
 */
static void count_misuse(struct hp_thread_context *context, uint64_t id)
{
    struct hp_object_use use;
    const uint32_t number = id != 0 ? hp_task_former_class(context, id) : 0;
    if (number != 0 && hp_object_use_known(context, number, &use))
        HOTPATH_ADD_(use.part->count[HP_TASK_MISUSED], 1);
}

/* ------------------------------------------------------------------------------------------ what polls contain */

/*
 * If polls are followed like calls of functions (call_log.c), what ran inside a long poll is known; but that is not
 * worth its cost if most polls are short. Then an ending poll is examined only now and then, and what a long one
 * has inside is what has accumulated since the last examination.
 */
#define LOOKS_PER_MS 8u
#define WORTH 64u /* at most 1/WORTH of the time is spent on that */

static void look_into(struct hp_thread_context *context, uint32_t node, uint64_t now)
{
    const uint64_t cost = hp_call_log_look(context, node, now);
    context->poll_look = now + hp_ticks_per_ms(context) / LOOKS_PER_MS + WORTH * cost;
}

/* The zone of the poll, `frame`, was just closed. */
static void examine(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks,
                    uint64_t now, bool is_long)
{
    if (is_long)
        hp_call_log_look_at_long(context, frame, ticks);
    else if (now > context->poll_look)
        look_into(context, frame->node, now);
}

/* ------------------------------------------------------------------------------------------------------- ending */

/* What is left to do, with nothing held, after a task has ended. */
struct after_end {
    struct hp_task_wait wait;
    hotpath_lane lane;
};

/* The lane of a running task ends when it stops running. */
static __attribute__((noinline)) struct after_end extras_of(const struct hp_thread_context *context,
                                                            const struct hp_task_slot *slot, uint64_t now)
{
    struct after_end after = {.lane = 0};
    if (slot->extras & HP_TASK_IS_AWAITED)
        after.wait = hp_task_wait_end(context, slot, now);
    if (slot->extras & HP_TASK_HAS_LANE && HOTPATH_GET_(slot->poll_start) == 0)
        after.lane = HOTPATH_GET_(slot->lane);
    return after;
}

/* A poll that is open when its task ends. */
struct running {
    uint64_t id, start; /* start 0: the task does not run */
    uint64_t inside;    /* the task whose poll is around this one, or 0 */
    uint32_t site;
    bool is_here; /* on this thread */
};

static struct running running_of(const struct hp_thread_context *context, const struct hp_task_slot *slot)
{
    const uint64_t start = HOTPATH_GET_(slot->poll_start);
    return (struct running){.id = HOTPATH_GET_(slot->id),
                            .start = start,
                            .inside = HOTPATH_GET_(slot->inside_since) == start ? HOTPATH_GET_(slot->inside) : 0,
                            .site = HOTPATH_GET_(slot->next),
                            .is_here = HOTPATH_GET_(slot->thread) == context->record_offset};
}

#define POLL_REACH 256u
#define NOT_TIMED (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_)

/* Its zone. A zone that is not timed has no start, and is known only as the innermost one of the running task. */
static struct hotpath_frame_ *frame_of(const struct hp_thread_context *context, const struct running *poll)
{
    struct hotpath_frame_ *frame = context->hot.top;
    const struct hotpath_frame_ *zero = hp_frame_zero(context);
    for (uint32_t reach = POLL_REACH; frame > zero && reach > 0; frame--, reach--)
        if (hp_node_at(context, frame->node)->site == poll->site &&
            (frame->stat & NOT_TIMED ? context->task == poll->id : HOTPATH_GET_(frame->start) == poll->start))
            return frame;
    return NULL;
}

/* Zones inside it are still open, so its own cannot be closed yet. */
static void cut_poll(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t now)
{
    if (frame->stat & NOT_TIMED)
        return;
    const uint64_t in_open_zone = frame[1].stat & NOT_TIMED ? 0 : now - HOTPATH_GET_(frame[1].start);
    context->cut_polls[context->cut_poll++ % HP_CUT_POLLS] = (struct hp_cut_poll){
        .zone = frame->zone, .start = HOTPATH_GET_(frame->start), .end = now, .child = frame->child + in_open_zone};
}

/* Another thread may begin the poll after the clock was read here: it is then over when it begins. */
static uint64_t end_of_poll(const struct running *poll, uint64_t now)
{
    return now > poll->start ? now : poll->start;
}

/* The task has ended, and what follows in its poll is not the task's any more. */
static __attribute__((noinline)) void end_running(const struct hp_object_use *use, const struct running *poll)
{
    struct hp_thread_context *context = use->context;
    const uint64_t ticks = end_of_poll(poll, use->now) - poll->start;
    const bool is_long = ticks > HP_LONG_POLL_MS * hp_ticks_per_ms(context);
    if (is_long)
        HOTPATH_ADD_(use->part->count[HP_TASK_LONG_POLLS], 1);
    struct hotpath_frame_ *frame = poll->is_here ? frame_of(context, poll) : NULL;
    if (frame == NULL)
        return;
    if (context->task == poll->id)
        context->task = poll->inside;
    if (frame != context->hot.top) {
        cut_poll(context, frame, use->now);
        return;
    }
    context->ended_poll = (uintptr_t)frame->zone;
    hp_zone_close_quickly(context, frame, use->now);
    examine(context, frame, ticks, use->now, is_long);
}

/* A logged task, which has no site in its slot. */
static __attribute__((noinline)) struct hp_log_record begin_log_of_end(const struct hp_object_use *use,
                                                                       const struct hp_task_slot *slot,
                                                                       struct running *poll, bool is_cancelled)
{
    poll->site = hp_object_known(HOTPATH_GET_(slot->number))->site;
    if (poll->is_here && poll->start != 0)
        add_allocs(use->context, slot);
    return draft_record(use, slot, poll->start != 0 ? end_of_poll(poll, use->now) - poll->start : 0, is_cancelled);
}

/* If two threads end it at once, only one does. */
static void end_slot(struct hp_thread_context *context, struct hp_task_slot *slot, bool is_cancelled,
                     const char *result, struct after_end *ret_after)
{
    const uint64_t born = HOTPATH_GET_(slot->born);
    struct hp_object_use use;
    if (!hp_object_use_known(context, HOTPATH_GET_(slot->number), &use)) {
        hp_lose(context, HP_LOSS_VALUES);
        return;
    }
    struct running poll = running_of(context, slot);
    const uint32_t extras = HOTPATH_GET_(slot->extras);
    struct hp_log_record record;
    if (__builtin_expect(extras != 0, 0)) {
        *ret_after = extras_of(context, slot, use.now);
        if (extras & HP_TASK_IS_LOGGED)
            record = begin_log_of_end(&use, slot, &poll, is_cancelled);
    }
    if (!hp_task_slot_end(context, slot, poll.start != 0 && !poll.is_here ? end_of_poll(&poll, use.now) : 0)) {
        HOTPATH_ADD_(use.part->count[HP_TASK_MISUSED], 1);
        *ret_after = (struct after_end){.lane = 0};
        return;
    }
    count_ended(&use, born, is_cancelled);
    if (__builtin_expect(extras & HP_TASK_IS_LOGGED, 0))
        log_task(&use, &record, result);
    if (poll.start != 0)
        end_running(&use, &poll);
}

static void end_task(uint64_t id, bool is_cancelled, const char *result)
{
    struct hp_thread_context *context = id != 0 ? hp_objects_hold() : NULL;
    if (context == NULL)
        return;
    struct hp_task_slot *slot;
    struct after_end after; /* only the fields that are read are set */
    struct hp_object_use use;
    uint32_t class_;
    uint64_t born;
    after.wait.site = NULL;
    after.lane = 0;
    if (hp_task_slot_find(context, id, &slot)) {
        end_slot(context, slot, is_cancelled, result, &after);
    } else if (hp_task_is_slotless(context, id, &class_, &born)) {
        if (hp_object_use_known(context, class_, &use))
            count_ended(&use, born, is_cancelled);
    } else {
        count_misuse(context, id);
    }
    hp_context_let_go(&context->hot);
    if (__builtin_expect(after.wait.site != NULL, 0))
        hp_task_wait_count(&after.wait);
    if (__builtin_expect(after.lane != 0, 0))
        hotpath_lane_end(after.lane);
}

/*
 * The id stays, so that a second end is noticed, except where nothing else tells that the task is over.
 */
static uint64_t take_id(hotpath_task *task)
{
    const uint64_t id = HOTPATH_GET_(task->id_);
    if (hp_task_has_no_slot(id) || hp_task_is_placed(task))
        __atomic_store_n(&task->id_, 0, __ATOMIC_RELEASE); /* pairs with hotpath_task_of */
    return id;
}

void hotpath_v1_task_end(hotpath_task *task, int is_cancelled)
{
    if (task == NULL)
        return;
    end_task(take_id(task), is_cancelled != 0, NULL);
}

void hotpath_v1_task_result(hotpath_task *task, const char *format, ...)
{
    const uint64_t id = take_id(task);
    char text[HP_LOG_TEXT + 1];
    va_list arguments;
    const int saved = errno;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    end_task(id, false, text);
    errno = saved;
}

/* Whether its result is to be kept. */
int hotpath_v1_task_is_logged(const hotpath_task *task)
{
    struct hp_thread_context *context = task != NULL && task->id_ != 0 ? hp_objects_hold() : NULL;
    if (context == NULL)
        return 0;
    struct hp_task_slot *slot;
    const uint32_t number = hp_task_slot_find(context, task->id_, &slot) ? HOTPATH_GET_(slot->number) : 0;
    hp_context_let_go(&context->hot);
    return number != 0 && hp_site_is_logged(hp_object_known(number)->site);
}

/* -------------------------------------------------------------------------------------------------------- polls */

/*
 * A poll is a zone with a task. Usually it is a zone that inline code would open and close, of a task with a slot;
 * then both are done here together, reading the clock once at each end. Everything else takes the slow path.
 */

#define RUNS_ALREADY UINT32_MAX

/*
 * The class whose zone the poll is. 0: no such task, which is misuse, unless it `may_be_over`. If the task runs
 * already, this poll is not recorded: inside the other one it adds nothing, on another thread it is misuse as well.
 * The caller holds the context.
 */
static uint32_t class_for_poll(struct hp_thread_context *context, uint64_t id, bool may_be_over)
{
    struct hp_task_slot *slot;
    uint32_t class_ = 0;
    uint64_t born;
    if (hp_task_slot_find(context, id, &slot)) {
        if (HOTPATH_GET_(slot->poll_start) == 0)
            return HOTPATH_GET_(slot->number);
        if (HOTPATH_GET_(slot->thread) != context->record_offset && !may_be_over)
            count_misuse(context, id);
        return RUNS_ALREADY;
    }
    if (hp_task_is_slotless(context, id, &class_, &born))
        return class_;
    if (!may_be_over)
        count_misuse(context, id);
    return 0;
}

/* The time of the frame; now if there is none. */
static uint64_t start_of_zone(const struct hp_thread_context *context, const struct hotpath_zone *zone)
{
    const struct hotpath_frame_ *top = context->hot.top;
    return top->zone == (uintptr_t)zone && !(top->stat & HOTPATH_UNTIMED_) ? HOTPATH_GET_(top->start) : hp_now();
}

static inline void begin_in_slot(const struct hp_thread_context *context, struct hp_task_slot *slot, uint64_t start)
{
    if (__builtin_expect(context->task != 0, 0)) {
        HOTPATH_PUT_(slot->inside_since, start);
        HOTPATH_PUT_(slot->inside, context->task);
    }
    HOTPATH_PUT_(slot->poll_start, start);
    HOTPATH_PUT_(slot->thread, context->record_offset);
}

/* The zone is open. */
static void begin_poll(struct hp_thread_context *context, struct hotpath_poll_ *poll, uint64_t start)
{
    struct hp_task_slot *slot;
    if (hp_task_slot_find(context, poll->id, &slot)) {
        begin_in_slot(context, slot, start);
        if (slot->extras & HP_TASK_IS_LOGGED) {
            poll->how |= HOTPATH_LOGGED_POLL_;
            begin_logged_poll(context, slot);
        }
        if (slot->extras & HP_TASK_HAS_LANE) {
            poll->lane = HOTPATH_GET_(slot->lane);
            poll->how |= HOTPATH_ON_LANE_;
        }
    }
    poll->before = context->task;
    context->task = poll->id;
    context->ended_poll = 0;
}

static uint32_t find_class(uint64_t id, bool may_be_over)
{
    struct hp_thread_context *context = hp_objects_hold();
    if (context == NULL)
        return 0;
    const uint32_t class_ = class_for_poll(context, id, may_be_over);
    hp_context_let_go(&context->hot);
    return class_;
}

static __attribute__((noinline)) void poll_out_of_line(struct hotpath_poll_ *ret_poll, uint64_t id, int how)
{
    *ret_poll =
        (struct hotpath_poll_){.zone = {HOTPATH_SKIPPED_}, .id = id, .before = HOTPATH_NO_POLL_, .how = how};
    const uint32_t class_ = find_class(id, (how & HOTPATH_MAY_BE_OVER_) != 0);
    if (class_ == RUNS_ALREADY && how & HOTPATH_LAST_POLL_) /* it ends here all the same */
        hp_guard_open(ret_poll, ret_poll->mark = hp_now());
    struct hotpath_site *site = class_ != 0 && class_ != RUNS_ALREADY
                                    ? __atomic_load_n(&hp_object_known(class_)->poll_site, __ATOMIC_ACQUIRE)
                                    : NULL;
    if (site == NULL)
        return;
    ret_poll->zone.state = hotpath_open_(&ret_poll->zone, site);
    struct hp_thread_context *context = hp_objects_hold();
    if (context == NULL)
        return;
    const uint64_t start = start_of_zone(context, &ret_poll->zone);
    begin_poll(context, ret_poll, start);
    hp_context_let_go(&context->hot);
    if (ret_poll->zone.state == HOTPATH_SKIPPED_ || ret_poll->how & HOTPATH_ON_LANE_)
        hp_guard_open(ret_poll, ret_poll->mark = start);
    if (ret_poll->how & HOTPATH_ON_LANE_) /* from here on zones belong to the coroutine */
        ret_poll->below = hotpath_switch(ret_poll->lane);
}

/* As hotpath_enter_, with the context held. False: take the slow path. */
static inline __attribute__((always_inline)) bool
open_quickly(struct hotpath_context_ *hot, const struct hotpath_zone *zone, uint32_t site, uint64_t *ret_start)
{
    struct hotpath_frame_ *frame = hot->top;
    const uint64_t key = (uint64_t)frame->node << 32 | site;
    const struct hotpath_slot_ *slot = hotpath_slot_of_(hot, frame->node, site);
    if (__builtin_expect(slot->key != key, 0))
        slot = hotpath_second_slot_of_(hot, key);
    if (__builtin_expect(slot->key != key || (uintptr_t)zone >= frame->zone || frame == hot->last, 0))
        return false;
    hotpath_push_(hot, ++frame, slot, zone);
    HOTPATH_PUT_(frame->start, *ret_start = hotpath_ticks_());
    if (__builtin_expect(slot->stat & HOTPATH_RECURSIVE_, 0))
        hotpath_open_call_(hot, frame);
    return true;
}

static inline __attribute__((always_inline)) bool
begin_quickly(struct hp_thread_context *context, struct hotpath_poll_ *ret_poll, uint64_t id, int how)
{
    struct hp_task_slot *slot;
    uint64_t start;
    if (!HOTPATH_LIKELY_(hp_task_slot_find(context, id, &slot) && HOTPATH_GET_(slot->poll_start) == 0) ||
        !open_quickly(&context->hot, &ret_poll->zone, HOTPATH_GET_(slot->next), &start))
        return false;
    begin_in_slot(context, slot, start);
    HOTPATH_PUT_(ret_poll->zone.state,
                 (uintptr_t)context); /* not two at once through a vector register, which takes longer */
    HOTPATH_PUT_(ret_poll->id, id);
    HOTPATH_PUT_(ret_poll->before, context->task);
    HOTPATH_PUT_(ret_poll->how, how);
    context->task = id;
    context->ended_poll = 0;
    return true;
}

void hotpath_v1_poll(struct hotpath_poll_ *ret_poll, uint64_t id, int how)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (HOTPATH_LIKELY_(!hp_context_is_held(&context->hot))) {
        hp_context_hold(&context->hot);
        const bool is_begun =
            HOTPATH_GATE_OF_(&context->hot) == context->hot.epoch && begin_quickly(context, ret_poll, id, how);
        hp_context_let_go(&context->hot);
        if (HOTPATH_LIKELY_(is_begun))
            return;
    }
    poll_out_of_line(ret_poll, id, how);
}

/* The frame of a poll that was just closed; NULL: it was reused by now. */
static const struct hotpath_frame_ *closed_frame(const struct hp_thread_context *context, uint64_t start)
{
    const struct hotpath_frame_ *frame = context->hot.top + 1;
    return frame <= context->hot.last && frame->zone == 0 && HOTPATH_GET_(frame->start) == start ? frame : NULL;
}

#define SURELY_SHORT_BITS 16u /* polls of fewer ticks are not long, whatever the rate of ticks per ms */

/* Returns its ticks; 0: the task has ended, or a poll of it on another thread ended at the same time. */
static inline uint64_t end_in_slot(struct hp_task_slot *slot, uint64_t now)
{
    const uint64_t start = HOTPATH_GET_(slot->poll_start);
    if (__builtin_expect(start == 0, 0))
        return 0;
    HOTPATH_ADD_(slot->busy, now - start);
    HOTPATH_PUT_(slot->polls, slot->polls + 1);
    __atomic_store_n(&slot->poll_start, 0, __ATOMIC_RELEASE);
    return now - start;
}

static void count_long(struct hp_thread_context *context, uint64_t id)
{
    struct hp_object_use use;
    struct hp_task_slot *slot;
    if (hp_task_slot_find(context, id, &slot) && hp_object_use_known(context, HOTPATH_GET_(slot->number), &use))
        HOTPATH_ADD_(use.part->count[HP_TASK_LONG_POLLS], 1);
}

static void look_at_ended(uint64_t id, uint64_t ticks, uint64_t now)
{
    struct hp_thread_context *context = hp_objects_hold();
    if (context == NULL)
        return;
    const struct hotpath_frame_ *frame = closed_frame(context, now - ticks);
    const bool is_long = ticks > HP_LONG_POLL_MS * hp_ticks_per_ms(context);
    if (is_long)
        count_long(context, id);
    if (frame != NULL)
        examine(context, frame, ticks, now, is_long);
    hp_context_let_go(&context->hot);
}

/* For a poll that has ended: it may have been long, due for examination, or the last one. */
static __attribute__((noinline)) void end_specially(const struct hotpath_poll_ *poll, uint64_t ticks, uint64_t now)
{
    if (ticks != 0)
        look_at_ended(poll->id, ticks, now);
    if (poll->how & HOTPATH_LOGGED_POLL_)
        end_logged_poll(poll->id);
    if (poll->how & HOTPATH_LAST_POLL_)
        end_task(poll->id, (poll->how & HOTPATH_CANCELLED_) != 0, NULL);
}

/* The task has ended while it ran. */
static void end_lane_of_ended(const struct hotpath_poll_ *poll)
{
    struct hp_thread_context *context = hp_objects_hold();
    struct hp_task_slot *slot;
    const bool is_open = context != NULL && hp_task_slot_find(context, poll->id, &slot);
    if (context != NULL)
        hp_context_let_go(&context->hot);
    if (!is_open)
        hotpath_lane_end(poll->lane);
}

/* The task's running time is what its zone counted. */
static uint64_t end_of_zone(const struct hp_thread_context *context, const struct hp_task_slot *slot)
{
    const struct hotpath_frame_ *frame = closed_frame(context, HOTPATH_GET_(slot->poll_start));
    return frame != NULL ? frame->child : hp_now();
}

/*
 * Whether the guard has begun, and not ended: `goto` may have jumped over it, and then it contains anything. It is
 * known by its zone, if it has one, else by its mark. The lane to leave is known by the mark alone.
 */
static bool is_begun(const struct hotpath_poll_ *poll, bool *ret_is_on_lane)
{
    *ret_is_on_lane = poll->how & HOTPATH_ON_LANE_ && hp_guard_close(poll, poll->mark);
    if (*ret_is_on_lane || hp_zone_is_open(&poll->zone))
        return true;
    return poll->zone.state == HOTPATH_SKIPPED_ && hp_guard_close(poll, poll->mark);
}

/* What cut_poll left for the poll whose zone is `frame`; NULL: nothing. */
static struct hp_cut_poll *find_cut(struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    for (struct hp_cut_poll *cut = context->cut_polls; cut < context->cut_polls + HP_CUT_POLLS; cut++)
        if (cut->zone == frame->zone && cut->start == HOTPATH_GET_(frame->start))
            return cut;
    return NULL;
}

/* Closes the zone `frame` as of the past. The time of zones inside it after that is its caller's. */
static void close_cut(struct hp_thread_context *context, struct hotpath_frame_ *frame, uint64_t child, uint64_t end)
{
    HOTPATH_ADD_(frame[-1].child, frame->child - child);
    HOTPATH_PUT_(frame->child, child);
    hp_zone_close_top(context, end);
}

/*
 * Another thread ended the task. What zones inside the poll used after that is not known: not more than there was.
 */
static bool end_cut_elsewhere(struct hp_thread_context *context, struct hotpath_frame_ *frame, uint64_t id)
{
    const uint64_t start = HOTPATH_GET_(frame->start);
    uint64_t end;
    if (frame->stat & NOT_TIMED || !hp_task_was_cut(context, id, &end) || end < start)
        return false;
    close_cut(context, frame, frame->child < end - start ? frame->child : end - start, end);
    return true;
}

enum cut { NOT_CUT, CUT_HERE, CUT_ELSEWHERE };

/* Closes the zone of a poll whose task ended before it: while zones inside it were open, or on another thread. */
static enum cut end_cut(const struct hotpath_poll_ *poll)
{
    struct hp_thread_context *context = hp_objects_hold();
    enum cut how = NOT_CUT;
    if (context == NULL)
        return NOT_CUT;
    struct hotpath_frame_ *frame = context->hot.top;
    struct hp_cut_poll *cut = frame->zone == (uintptr_t)&poll->zone ? find_cut(context, frame) : NULL;
    if (cut != NULL) {
        close_cut(context, frame, cut->child, cut->end);
        cut->zone = 0;
        how = CUT_HERE;
    } else if (frame->zone == (uintptr_t)&poll->zone && end_cut_elsewhere(context, frame, poll->id)) {
        how = CUT_ELSEWHERE;
    }
    if (how != NOT_CUT)
        context->task = poll->before;
    hp_context_let_go(&context->hot);
    return how;
}

/* Handles any zone. `now` is when the zone ended, or 0 if unknown. */
static __attribute__((noinline)) void end_out_of_line(struct hotpath_poll_ *poll, uint64_t now)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    bool is_on_lane;
    if (&context->hot != &hp_no_context && context->ended_poll == (uintptr_t)&poll->zone) {
        context->ended_poll = 0;
        return;
    }
    if (!is_begun(poll, &is_on_lane))
        return;
    if (is_on_lane)
        hotpath_switch(poll->below);
    const enum cut cut = end_cut(poll);
    if (cut == CUT_HERE)
        return;
    if (cut == CUT_ELSEWHERE) {
        end_specially(poll, 0, now);
        if (is_on_lane)
            end_lane_of_ended(poll);
        return;
    }
    if (now != 0)
        hotpath_v1_leave(&poll->zone, now);
    else
        hotpath_close_(&poll->zone);
    if (poll->before == HOTPATH_NO_POLL_) {
        end_specially(poll, 0, now);
        return;
    }
    uint64_t ticks = 0;
    context = hp_objects_hold();
    if (context != NULL) {
        struct hp_task_slot *slot;
        context->task = poll->before;
        if (hp_task_slot_find(context, poll->id, &slot)) {
            now = now != 0 ? now : end_of_zone(context, slot);
            ticks = end_in_slot(slot, now);
        }
        hp_context_let_go(&context->hot);
    }
    end_specially(poll, ticks, now);
    if (is_on_lane)
        end_lane_of_ended(poll);
}

/* As hotpath_leave_, together with the poll. Makes no call except a tail call, so everything stays in registers. */
void hotpath_v1_poll_end(struct hotpath_poll_ *poll)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    struct hotpath_context_ *hot = &context->hot;
    uint64_t now = 0;
    if (HOTPATH_LIKELY_(poll->zone.state == (uintptr_t)hot && !HOTPATH_IS_BUSY_(hot) &&
                        poll->before != HOTPATH_NO_POLL_)) {
        hp_context_hold(hot);
        struct hotpath_frame_ *frame = hot->top;
        struct hp_task_slot *slot; /* a task that has none may have ended */
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(hot) == hot->epoch && frame->zone == (uintptr_t)&poll->zone &&
                            !(frame->stat & HOTPATH_UNTIMED_) && hp_task_slot_find(context, poll->id, &slot) &&
                            hotpath_count_(hot, frame, &now))) {
            const uint64_t ticks = end_in_slot(slot, now);
            context->task = poll->before;
            hp_context_let_go(hot);
            if (__builtin_expect(ticks >> SURELY_SHORT_BITS != 0 || now > context->poll_look ||
                                     (poll->how & (HOTPATH_LAST_POLL_ | HOTPATH_LOGGED_POLL_)),
                                 0))
                end_specially(poll, ticks, now);
            return;
        }
        hp_context_let_go(hot);
    }
    end_out_of_line(poll, now);
}

hotpath_task hotpath_current(void)
{
    const struct hp_thread_context *context = (const struct hp_thread_context *)(const void *)hotpath_v1_context;
    return (hotpath_task){HOTPATH_GET_(context->hot.skip) == 0 ? context->task : 0};
}
