/*
 * Zones out of line: everything hotpath_enter_ and hotpath_leave_ (hotpath.h) leave out. A thread comes here with its
 * first zone, the first time a path of calls is taken, when a duration needs a new octave, when the stack of zones grows,
 * when something odd happened to the host's stack, with calls of which more is kept than numbers, and from signal handlers
 * that interrupted the inline part.
 *
 * The life of a zone:  enter: find the node of (innermost open node, site), push a frame, read the clock
 *                      leave: read the clock, add to the node, the site's stat and the parent's frame, pop
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "holders.h"
#include "lanes.h"
#include "runtime.h"
#include "sampler.h"
#include "stacks.h"
#include "sys.h"

/* ------------------------------------------------------------------------------------- the stack of zones */

static void use_frames(struct hp_head *head, uint32_t offset, uint32_t capacity, uint32_t depth)
{
    struct hotpath_frame_ *frames = hp_store_at(head->store, offset);
    head->hot.top = frames + depth;
    head->hot.last = frames + capacity - 1;
    __atomic_store_n(&head->record->frames, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&head->record->frame_capacity, capacity, __ATOMIC_RELAXED);
}

bool hp_zone_make_room(struct hp_head *head)
{
    const uint32_t capacity = head->record->frame_capacity;
    const uint32_t size = (uint32_t)sizeof(struct hotpath_frame_);
    if (capacity >= HP_MAX_FRAMES)
        return false;
    const uint32_t offset = hp_thread_allocate(head, capacity * 2 * size, 64);
    if (offset == 0 || !hp_alloc_grow(head, capacity * 2, hp_store_at(head->store, offset)))
        return false;
    memcpy(hp_store_at(head->store, offset), hp_frame_zero(head), (size_t)capacity * size);
    use_frames(head, offset, capacity * 2, (uint32_t)(head->hot.top - hp_frame_zero(head)));
    hp_lane_use_frames(head, offset, capacity * 2);
    return true;
}

/* The frame of a guard among the `reach` innermost, or NULL. Frame 0 is the thread's own and has no guard. */
static struct hotpath_frame_ *find_frame(const struct hp_head *head, const struct hotpath_zone *zone, size_t reach)
{
    struct hotpath_frame_ *frame = head->hot.top;
    for (; frame > hp_frame_zero(head) && reach > 0; frame--, reach--)
        if (frame->zone == (uintptr_t)zone)
            return frame;
    return NULL;
}

static void pop(struct hp_head *head, struct hotpath_frame_ *frame) { head->hot.top = frame - 1; }

/* A call that is longer, or shorter, than all before it. */
static void reconsider(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks, bool is_nested)
{
    hp_tree_review(head, frame->node, ticks);
    if (!is_nested)
        hp_kept_reconsider(head, frame);
}

static void close_untimed(struct hp_head *head, struct hotpath_frame_ *frame, const struct hotpath_stat_ *stat)
{
    const bool is_nested = (frame->stat & HOTPATH_RECURSIVE_) && stat->open > 1;
    const uint32_t flags = frame->stat;
    hotpath_count_untimed_(&head->hot, frame);
    if (flags & HOTPATH_ALLOCATES_)
        hp_alloc_close(head, frame, is_nested);
}

void hp_zone_close_top(struct hp_head *head, uint64_t now)
{
    struct hotpath_frame_ *frame = head->hot.top;
    struct hotpath_node_ *node = hp_node_at(head, frame->node);
    struct hotpath_stat_ *stat = hp_stat_at(head, node->stat);
    if (frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_)) {
        close_untimed(head, frame, stat);
        return;
    }
    uint64_t ticks = now - frame->start;
    if ((int64_t)ticks < 0) {
        hp_lose(head, HP_LOSS_CLOCK);
        ticks = 0;
    }
    const bool is_longer = stat->octaves[hotpath_octave_(ticks)] == 0;
    uint64_t *counter = hp_tree_counter(head, stat->octaves, ticks);
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    if (counter != NULL) {
        HOTPATH_ADD_(*counter, 1);
    } else {
        HOTPATH_ADD_(stat->missed, 1);
        hp_lose(head, HP_LOSS_BUCKETS);
    }
    const bool is_nested = hp_zone_count(frame, node, stat, ticks);
    if (frame->stat & HOTPATH_ALLOCATES_)
        hp_alloc_close(head, frame, is_nested);
    if (frame->stat & HOTPATH_KEPT_)
        hp_kept_call(head, frame, ticks, is_nested);
    else if (is_longer)
        reconsider(head, frame, ticks, is_nested);
    HOTPATH_PUT_(frame->child, now);
    pop(head, frame);
}

/*
 * A zone whose end nobody announced. It ran at least until its last sign: when it began, or when the last zone inside it
 * ended, which stands in the frame above. So much is counted; what it did after that is the parent's.
 */
void hp_zone_abandon_top(struct hp_head *head)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    uint64_t last_sign = frame->start;
    if (frame != head->hot.last && frame[1].zone == 0 && (int64_t)(frame[1].child - last_sign) > 0)
        last_sign = frame[1].child;
    hp_zone_close_top(head, last_sign);
    hp_lose(head, HP_LOSS_ABANDONED);
}

/*
 * Two live guards cannot have one address: if this one is on the stack already, all from there up are dead. What
 * longjmp has just left is near the top; further down there may be thousands of suspended coroutines, and to look
 * through them all with every zone would cost more than a guard that is noticed later, when a zone around it ends.
 */
#define STALE_REACH 64u

static void drop_stale(struct hp_head *head, const struct hotpath_zone *zone)
{
    const struct hotpath_frame_ *stale = find_frame(head, zone, STALE_REACH);
    while (stale != NULL && head->hot.top >= stale)
        hp_zone_abandon_top(head);
}

void hp_zones_close_all(struct hp_head *head, uint64_t now)
{
    head->hot.ready = 0;
    HOTPATH_ORDER_();
    hp_lane_end_thread(head, now);
    while (head->hot.top > hp_frame_zero(head))
        hp_zone_close_top(head, now);
}

/* -------------------------------------------------------------------------------- beginning and resuming */

static void set_frame_zero(struct hp_head *head)
{
    struct hotpath_frame_ *zero = hp_frame_zero(head);
    zero->zone = UINT64_MAX; /* every guard is below it */
    zero->start = hp_now();
    zero->child = 0;
    zero->node = head->record->root;
    head->hot.top = zero;
    head->skip_runs = 0;
}

bool hp_zones_begin(struct hp_head *head)
{
    head->hot.base = head->store->range.base;
    const uint32_t frames = hp_thread_allocate(head, HP_FIRST_FRAMES * (uint32_t)sizeof(struct hotpath_frame_), 64);
    if (frames == 0)
        return false;
    use_frames(head, frames, HP_FIRST_FRAMES, 0);
    hp_lane_forget(head);
    hp_kept_begin(head);
    if (!hp_tree_begin(head))
        return false;
    set_frame_zero(head);
    return true;
}

bool hp_zones_resume(struct hp_head *head)
{
    if (!hp_tree_resume(head))
        return false;
    set_frame_zero(head);
    return true;
}

/* -------------------------------------------------------------------------------------- entering, leaving */

static bool is_on(const struct hp_head *head)
{
    return (HOTPATH_GATE_OF_(&head->hot) & ~HP_GATE_OUT_OF_LINE) == head->hot.epoch;
}

/* Zones that were open when recording was paused still end. */
static bool is_on_or_paused(const struct hp_head *head)
{
    return (HOTPATH_GATE_OF_(&head->hot) & ~(HP_GATE_OUT_OF_LINE | HP_GATE_PAUSED)) == head->hot.epoch;
}

static uintptr_t enter(struct hp_head *head, struct hotpath_zone *zone, uint32_t site)
{
    struct hotpath_head_ *hot = &head->hot;
    if ((uintptr_t)zone >= hot->top->zone)
        drop_stale(head, zone);
    if (hot->top == hot->last && !hp_zone_make_room(head)) {
        hp_lose(head, HP_LOSS_DEPTH);
        return HOTPATH_SKIPPED_;
    }
    struct hotpath_slot_ spare;
    const struct hotpath_slot_ *slot = hp_tree_slot(head, hot->top->node, site, &spare);
    struct hotpath_frame_ *frame = hot->top + 1;
    HOTPATH_PUT_(frame->start, hp_now());
    hotpath_push_(hot, frame, slot, zone);
    struct hotpath_node_ *node = hp_node_at(head, slot->node);
    const bool is_timed =
        !(slot->key & HOTPATH_SAMPLED_KEY_) || hotpath_is_timed_(hp_stat_at(head, node->stat), node, slot->stat);
    if (slot->stat & HOTPATH_RECURSIVE_)
        hotpath_open_call_(hot, frame);
    if (!is_timed)
        return (uintptr_t)hot | HOTPATH_BY_COUNT_;
    HOTPATH_PUT_(frame->stat, slot->stat & ~HOTPATH_UNTIMED_);
    HOTPATH_PUT_(frame->start, hp_now());
    return (uintptr_t)hot;
}

/* The first head of this thread that nobody is working on: we may be in a handler that interrupted its owner. */
static struct hp_head *head_at_rest(struct hp_head *head)
{
    for (int depth = 0; HOTPATH_GET_(head->hot.ready) == 0; depth++) {
        head = depth < HP_HANDLER_DEPTH ? hp_thread_handler_head(head) : NULL;
        if (head == NULL) {
            hp_session_lose(depth < HP_HANDLER_DEPTH ? HP_LOSS_ZONES : HP_LOSS_DEPTH);
            return NULL;
        }
    }
    return head;
}

/* The innermost that is around a place on the stack: those below were left by a jump. UINT64_MAX: there is none. */
static uint64_t guard_around(const struct hp_head *head, uintptr_t place)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    while (frame > hp_frame_zero(head) && frame->zone <= place)
        frame--;
    return frame->zone;
}

static bool is_on_own_stack(const struct hp_head *head, uintptr_t address, struct hp_stack *ret_own)
{
    return hp_stack_is_own(address, head->thread_id == hp_sys_process_id(), hp_is_child(), ret_own);
}

/* A report may be at work on the head of a thread while a function of the host's reads it there. */
static bool is_reporting(void)
{
    return __atomic_load_n(&hp_runtime->allocates_for_us, __ATOMIC_RELAXED) == (uintptr_t)&hotpath_v1_head;
}

/*
 * Whether a head on which somebody works was left so, by siglongjmp out of a handler that had interrupted him. If we are in such a
 * handler ourselves, the frame of its signal is between our guard and the innermost one around what it has interrupted. Of other stacks than
 * the thread's own nothing is known.
 */
static bool was_left(const struct hp_head *head, uintptr_t zone)
{
    uint64_t bytes;
    struct hp_stack own, guards;
    if (hp_is_sealed() || !hp_is_own_process() || is_reporting() ||
        hp_alternate_present(&bytes) == HP_ALTERNATE_IN_USE || !is_on_own_stack(head, zone, &own))
        return false;
    const uint64_t guard = guard_around(head, zone);
    const bool is_any = guard != UINT64_MAX;
    if (is_any && !is_on_own_stack(head, (uintptr_t)guard, &guards))
        return false;
    return !hp_stack_may_have_signal(zone, is_any ? (uintptr_t)guard : own.high);
}

/* Asks the gate with the head held. Where it is already, we have interrupted who holds it, and the session stays as well. */
static bool is_found_on(struct hp_head *head)
{
    const uint32_t before = HOTPATH_GET_(head->hot.ready);
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    const bool is = is_on(head);
    HOTPATH_ORDER_();
    HOTPATH_PUT_(head->hot.ready, before);
    return is;
}

/* The innermost zone may be counted as open or not, and be counted or not: it is what the thread was at. */
static void recover(struct hp_head *head)
{
    struct hotpath_frame_ *top = head->hot.top;
    if (top == hp_frame_zero(head))
        return;
    if (top->zone == 0)
        pop(head, top);
    hp_tree_recount(head, top);
}

/* Heads of handlers that have interrupted this one, and were left with it. */
static void recover_handlers(struct hp_head *head)
{
    for (struct hp_head *at = head->handler; at != NULL; at = at->handler) {
        if (at->record == NULL || at->hot.epoch != head->hot.epoch)
            continue;
        if (HOTPATH_GET_(at->hot.ready) == 0)
            recover(at);
        HOTPATH_PUT_(at->hot.ready, 0);
        HOTPATH_ORDER_();
        while (at->hot.top > hp_frame_zero(at))
            hp_zone_abandon_top(at);
        hp_let_go(&at->hot);
    }
}

static void recover_all(struct hp_head *head)
{
    recover_handlers(head);
    recover(head);
    hp_let_go(&head->hot);
}

/* One head is left for another handler: they interrupt one another, or some were left by jumps. */
static bool are_nearly_all_busy(const struct hp_head *head)
{
    unsigned busy = 0;
    for (const struct hp_head *at = head; at != NULL && HOTPATH_GET_(at->hot.ready) == 0; at = at->handler)
        busy++;
    return busy >= HP_HANDLER_DEPTH;
}

/* To find out takes long, so in a storm of signals it is asked less and less often. */
static bool is_time_to_ask(struct hp_head *head)
{
    const uint32_t asked = head->asked_if_left++;
    return (asked & (asked + 1)) == 0;
}

static void take_up_what_was_left(struct hp_head *head, uintptr_t zone)
{
    if (HOTPATH_GET_(head->hot.ready) == 0) {
        if (!are_nearly_all_busy(head) || !is_time_to_ask(head) || !was_left(head, zone))
            return;
        recover_all(head);
    }
    head->asked_if_left = 0;
}

static uintptr_t enter_out_of_line(struct hotpath_zone *zone, struct hotpath_site *site)
{
    hp_unrecorded_meet(site);
    struct hp_head *head = hp_page() ? hp_thread_head() : NULL;
    if (head == NULL || !is_found_on(head))
        return HOTPATH_SKIPPED_;
    hp_sampler_meet_zone(head);
    const uint32_t id = hp_site_id(site);
    if (id >= HOTPATH_READY_)
        return HOTPATH_SKIPPED_;
    take_up_what_was_left(head, (uintptr_t)zone);
    head = head_at_rest(head);
    if (head == NULL)
        return HOTPATH_SKIPPED_;
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    uintptr_t state = HOTPATH_SKIPPED_;
    if (is_on(head))
        state = enter(head, zone, id);
    hp_let_go(&head->hot);
    return state;
}

uintptr_t hotpath_v1_enter(struct hotpath_zone *zone, struct hotpath_site *site)
{
    const int saved = errno;
    const uintptr_t state = enter_out_of_line(zone, site);
    errno = saved;
    return state;
}

/* A guard of the thread's own lane ends while another one is on it: that was left by longjmp, without a switch. */
static const struct hotpath_frame_ *find_frame_below(struct hp_head *head, const struct hotpath_zone *zone,
                                                     uint64_t now)
{
    const struct hotpath_frame_ *frame = find_frame(head, zone, SIZE_MAX), *own, *zero;
    if (frame != NULL || !hp_lane_is_other(head))
        return frame;
    zero = hp_lane_own_frames(head, &own);
    while (own > zero && own->zone != (uintptr_t)zone)
        own--;
    if (own > zero)
        hp_lane_return(head, now);
    return own > zero ? own : NULL;
}

/*
 * Closes the zone if it is on this head's stack. A head that is being worked on is not ours to touch, with one
 * exception: a guard that is on its stack belongs to the code the handler interrupted, so whoever closes it is past the
 * handler, which must have been left by siglongjmp. Then nobody is working on the head any more.
 */
static bool leave(struct hp_head *head, const struct hotpath_zone *zone, uint64_t now)
{
    const uint32_t before = HOTPATH_GET_(head->hot.ready);
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    /* Asked again, now that the head is held: the session may have ended, and its frames with it. */
    const struct hotpath_frame_ *frame = is_on_or_paused(head) ? find_frame_below(head, zone, now) : NULL;
    if (frame != NULL) {
        if (before == 0) {
            recover_handlers(head);
            recover(head);
        }
        const uint64_t from = hp_slow_way_begin(head);
        while (head->hot.top > frame)
            hp_zone_abandon_top(head);
        hp_zone_close_top(head, now);
        hp_slow_way_end(head, from);
    }
    HOTPATH_ORDER_();
    HOTPATH_PUT_(head->hot.ready, frame != NULL ? HOTPATH_READY_ : before);
    return frame != NULL;
}

static void leave_out_of_line(const struct hotpath_zone *zone, uint64_t now)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    /* A guard of another session, of the parent before fork, or never initialised: nothing to close here. */
    if (&head->hot == &hp_idle_head || head->thread_id == 0 || head->hot.epoch != hp_epoch() ||
        __atomic_load_n(&hp_runtime->gate, __ATOMIC_RELAXED) == 0)
        return;
    for (struct hp_head *at = head; at != NULL; at = at->handler)
        if (at->record != NULL && at->hot.epoch == hp_epoch() && leave(at, zone, now))
            return;
    /* Ended before, left by longjmp, which was noticed, or jumped over by goto, so that the guard has what was there before it. */
    if (hp_thread_is_open_elsewhere(zone->state & ~(uintptr_t)HOTPATH_BY_COUNT_, zone))
        hp_session_lose(HP_LOSS_FOREIGN);
}

/* --- calls that hooks could not record: see struct hp_skip_run */

/* Forgets those that longjmp has left. */
static uint32_t settled_depth(struct hp_head *head)
{
    const uint32_t depth = (uint32_t)(head->hot.top - hp_frame_zero(head));
    while (head->skip_runs > 0 && head->skips[head->skip_runs - 1].depth > depth)
        head->skip_runs--;
    return depth;
}

void hp_zone_skip(void)
{
    struct hp_head *head = hp_thread_hold();
    if (head == NULL)
        return;
    const uint32_t depth = settled_depth(head);
    if (head->skip_runs > 0 && head->skips[head->skip_runs - 1].depth == depth)
        head->skips[head->skip_runs - 1].count++;
    else if (head->skip_runs < HP_SKIP_RUNS)
        head->skips[head->skip_runs++] = (struct hp_skip_run){depth, 1};
    if (head->hot.top->stat &
        HOTPATH_UNTIMED_) /* an exit hook must not take the end of what is skipped for that of the zone */
        HOTPATH_PUT_(head->hot.top->start, 0);
    hp_let_go(&head->hot);
}

bool hp_zone_was_skipped(void)
{
    struct hp_head *head = hp_thread_hold();
    if (head == NULL)
        return false;
    const uint32_t depth = settled_depth(head);
    const bool was_skipped = head->skip_runs > 0 && head->skips[head->skip_runs - 1].depth == depth;
    if (was_skipped && --head->skips[head->skip_runs - 1].count == 0)
        head->skip_runs--;
    hp_let_go(&head->hot);
    return was_skipped;
}

/* A call that found no place at all is counted at <other>, which is nobody's. */
static const struct hotpath_frame_ *find_frame_of(const struct hp_head *head, uint32_t site,
                                                  const struct hotpath_frame_ *zero,
                                                  const struct hotpath_frame_ *frame)
{
    while (frame > zero && hp_node_at(head, frame->node)->site != site && frame->node != head->record->other)
        frame--;
    return frame > zero ? frame : NULL;
}

/* As find_frame_below. */
static const struct hotpath_frame_ *find_site_below(struct hp_head *head, uint32_t site, uint64_t now)
{
    const struct hotpath_frame_ *frame = find_frame_of(head, site, hp_frame_zero(head), head->hot.top), *own, *zero;
    if (frame != NULL || !hp_lane_is_other(head))
        return frame;
    zero = hp_lane_own_frames(head, &own);
    frame = find_frame_of(head, site, zero, own);
    if (frame != NULL)
        hp_lane_return(head, now);
    return frame;
}

static bool leave_site(struct hp_head *head, uint32_t site, uint64_t now)
{
    if (HOTPATH_GET_(head->hot.ready) == 0)
        return false;
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    const struct hotpath_frame_ *frame = is_on_or_paused(head) ? find_site_below(head, site, now) : NULL;
    if (frame != NULL) {
        const uint64_t from = hp_slow_way_begin(head);
        while (head->hot.top > frame)
            hp_zone_abandon_top(head);
        hp_zone_close_top(head, now);
        hp_slow_way_end(head, from);
    }
    hp_let_go(&head->hot);
    return frame != NULL;
}

void hp_zone_leave_site(uint32_t site, uint64_t now)
{
    if (hp_alloc_leave_site(site, now))
        return;
    const int saved = errno;
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    if (&head->hot != &hp_idle_head && head->thread_id != 0)
        for (struct hp_head *at = head; at != NULL; at = at->handler)
            if (at->record != NULL && at->hot.epoch == hp_epoch() && leave_site(at, site, now))
                break;
    errno = saved;
}

void hp_zone_leave(struct hotpath_zone *zone, uint64_t now)
{
    const int saved = errno;
    if (hp_runtime->counter == HP_COUNTER_NONE)
        now = hp_now();
    leave_out_of_line(zone, now);
    errno = saved;
}

void hotpath_v1_leave(struct hotpath_zone *zone, uint64_t now) { hp_alloc_leave(zone, now); }
