/*
 * The slow path of zones: everything that hotpath_enter_ and hotpath_leave_ (hotpath/inline.h) leave out. A thread
 * gets here with its first zone, at the first use of a call path, when a duration needs a new octave, when the
 * stack of zones grows, when something odd happened to the host's stack, for calls that keep more than numbers, and
 * from signal handlers that interrupted the inline code.
 *
 * The life of a zone:  enter: find the node of (innermost open node, site), push a frame, read the clock
 *                      leave: read the clock, add to the node, the site's stat and the parent's frame, pop
 *
 * SPDX-License-Identifier: MIT
 */
#include "zone_stack.h"

#include <errno.h>

#include "holding.h"
#include "no_session.h"
#include "sampler.h"
#include "sites.h"
#include "stacks.h"
#include "thread_context.h"
#include "threads.h"
#include "tree.h"

/* The frame of a guard among the `reach` innermost ones, or NULL. Frame 0 is the thread's own and has no guard. */
static struct hotpath_frame_ *find_frame(const struct hp_thread_context *context, const struct hotpath_zone *zone,
                                         size_t reach)
{
    struct hotpath_frame_ *frame = context->hot.top;
    for (; frame > hp_frame_zero(context) && reach > 0; frame--, reach--)
        if (frame->zone == (uintptr_t)zone)
            return frame;
    return NULL;
}

/*
 * Two live guards cannot have the same address: if this one is on the stack already, all frames from there up are
 * dead. What longjmp has just left is near the top; further down there may be thousands of suspended coroutines.
 * Searching them all with every zone would cost more than noticing a stale guard later, when a zone around it ends.
 */
#define STALE_REACH 64u

static void drop_stale(struct hp_thread_context *context, const struct hotpath_zone *zone)
{
    const struct hotpath_frame_ *stale = find_frame(context, zone, STALE_REACH);
    while (stale != NULL && context->hot.top >= stale)
        hp_zone_abandon_top(context);
}

/* -------------------------------------------------------------------------------------- entering, leaving */

static uintptr_t enter(struct hp_thread_context *context, struct hotpath_zone *zone, uint32_t site)
{
    struct hotpath_context_ *hot = &context->hot;
    if ((uintptr_t)zone >= hot->top->zone)
        drop_stale(context, zone);
    if (hot->top == hot->last && !hp_zone_make_room(context)) {
        hp_lose(context, HP_LOSS_DEPTH);
        return HOTPATH_SKIPPED_;
    }
    struct hotpath_slot_ spare;
    const struct hotpath_slot_ *slot = hp_tree_slot(context, hot->top->node, site, &spare);
    struct hotpath_frame_ *frame = hot->top + 1;
    HOTPATH_PUT_(frame->start, hp_now());
    hotpath_push_(hot, frame, slot, zone);
    struct hotpath_node_ *node = hp_node_at(context, slot->node);
    const bool is_timed =
        !(slot->key & HOTPATH_SAMPLED_KEY_) || hotpath_is_timed_(hp_stat_at(context, node->stat), node, slot->stat);
    if (slot->stat & HOTPATH_RECURSIVE_)
        hotpath_open_call_(hot, frame);
    if (!is_timed)
        return (uintptr_t)hot | HOTPATH_BY_COUNT_;
    HOTPATH_PUT_(frame->stat, slot->stat & ~HOTPATH_UNTIMED_);
    HOTPATH_PUT_(frame->start, hp_now());
    return (uintptr_t)hot;
}

/* The first free context of this thread: we may be in a handler that interrupted the recorder. */
static struct hp_thread_context *context_at_rest(struct hp_thread_context *context)
{
    for (int depth = 0; hp_context_is_held(&context->hot); depth++) {
        if (hp_thread_is_shared(context))
            return NULL;
        context = depth < HP_HANDLER_DEPTH ? hp_thread_handler_context(context) : NULL;
        if (context == NULL) {
            hp_session_lose(depth < HP_HANDLER_DEPTH ? HP_LOSS_ZONES : HP_LOSS_DEPTH);
            return NULL;
        }
    }
    return context;
}

/* The innermost guard around a stack address: those below were left by a jump. UINT64_MAX: none. */
static uint64_t guard_around(const struct hp_thread_context *context, uintptr_t place)
{
    const struct hotpath_frame_ *frame = context->hot.top;
    while (frame > hp_frame_zero(context) && frame->zone <= place)
        frame--;
    return frame->zone;
}

static bool is_on_own_stack(const struct hp_thread_context *context, uintptr_t address, struct hp_stack *ret_own)
{
    return hp_stack_is_own(address, hp_context_is_of_first_thread(context), hp_is_child(), ret_own);
}

/* A report may be using the context of a thread while the host's reporter reads it there. */
static bool is_reporting(void)
{
    return __atomic_load_n(&hp_runtime->allocates_for_us, __ATOMIC_RELAXED) == (uintptr_t)&hotpath_v1_context;
}

/*
 * Whether a busy context was abandoned: by siglongjmp out of a handler that had interrupted the recorder. If we are
 * in such a handler ourselves, its signal frame lies between our guard and the innermost one around the interrupted
 * code. Nothing is known about stacks other than the thread's own.
 */
static bool was_left(const struct hp_thread_context *context, uintptr_t zone)
{
    uint64_t bytes;
    struct hp_stack own, guards;
    if (hp_is_sealed() || !hp_is_own_process() || is_reporting() ||
        hp_alternate_present(&bytes) == HP_ALTERNATE_IN_USE || !is_on_own_stack(context, zone, &own))
        return false;
    const uint64_t guard = guard_around(context, zone);
    const bool is_any = guard != UINT64_MAX;
    if (is_any && !is_on_own_stack(context, (uintptr_t)guard, &guards))
        return false;
    return !hp_stack_may_have_signal(zone, is_any ? (uintptr_t)guard : own.high);
}

/* Checks the gate with the context held, by us or by the code that we have interrupted. */
static bool is_found_on(struct hp_thread_context *context)
{
    const uint32_t before = hp_context_hold_too(&context->hot);
    const bool is = hp_context_is_recording(&context->hot);
    hp_context_put_back(&context->hot, before);
    return is;
}

/* The thread was working on the innermost zone, which may or may not be counted as open, or as ended. */
static void recover(struct hp_thread_context *context)
{
    struct hotpath_frame_ *top = context->hot.top;
    if (top == hp_frame_zero(context))
        return;
    if (top->zone == 0)
        hp_zone_pop(context, top);
    hp_tree_recount(context, top);
}

/* Recovers the contexts of handlers that interrupted this one and were abandoned with it. */
static void recover_handlers(struct hp_thread_context *context)
{
    for (struct hp_thread_context *at = context->handler; at != NULL; at = at->handler) {
        if (at->record == NULL || at->hot.epoch != context->hot.epoch)
            continue;
        if (hp_context_is_held(&at->hot))
            recover(at);
        hp_context_hold(&at->hot);
        while (at->hot.top > hp_frame_zero(at))
            hp_zone_abandon_top(at);
        hp_context_let_go(&at->hot);
    }
}

static void recover_all(struct hp_thread_context *context)
{
    recover_handlers(context);
    recover(context);
    hp_context_let_go(&context->hot);
}

/* One context is left for another handler: handlers are nested, or some were left by jumps. */
static bool are_nearly_all_busy(const struct hp_thread_context *context)
{
    unsigned busy = 0;
    for (const struct hp_thread_context *at = context; at != NULL && hp_context_is_held(&at->hot); at = at->handler)
        busy++;
    return busy >= HP_HANDLER_DEPTH;
}

/* The check is expensive, so in a storm of signals it is made less and less often. */
static bool is_time_to_ask(struct hp_thread_context *context)
{
    const uint32_t asked = context->asked_if_left++;
    return (asked & (asked + 1)) == 0;
}

static void take_up_what_was_left(struct hp_thread_context *context, uintptr_t zone)
{
    if (hp_context_is_held(&context->hot)) {
        if (!are_nearly_all_busy(context) || !is_time_to_ask(context) || !was_left(context, zone))
            return;
        recover_all(context);
    }
    context->asked_if_left = 0;
}

static uintptr_t enter_out_of_line(struct hotpath_zone *zone, struct hotpath_site *site)
{
    hp_unrecorded_meet(site);
    struct hp_thread_context *context = hp_page() ? hp_thread_context_of() : NULL;
    if (context == NULL || (hp_context_is_held(&context->hot) && hp_thread_is_shared(context)) ||
        !is_found_on(context))
        return HOTPATH_SKIPPED_;
    hp_sampler_meet_zone(context);
    const uint32_t id = hp_site_id(site);
    if (id >= HOTPATH_IDS_)
        return HOTPATH_SKIPPED_;
    take_up_what_was_left(context, (uintptr_t)zone);
    context = context_at_rest(context);
    if (context == NULL)
        return HOTPATH_SKIPPED_;
    hp_context_hold(&context->hot);
    uintptr_t state = HOTPATH_SKIPPED_;
    if (hp_context_is_recording(&context->hot))
        state = enter(context, zone, id);
    hp_context_let_go(&context->hot);
    return state;
}

/* HOTPATH_SKIPPED_: not the usual case. */
static uintptr_t enter_off_line(struct hotpath_zone *zone, const struct hotpath_site *site)
{
    struct hotpath_context_ *hot = hotpath_v1_context;
    const uint32_t id = HOTPATH_GET_(site->id);
    if (id >= HOTPATH_GET_(hot->id_limit))
        return HOTPATH_SKIPPED_;
    hp_context_hold(hot);
    const bool is_open = hp_zone_open_off_line(hot, id, (uintptr_t)zone);
    hp_context_let_go(hot);
    return is_open ? (uintptr_t)hot : HOTPATH_SKIPPED_;
}

HP_REALIGNED uintptr_t hotpath_v1_enter(struct hotpath_zone *zone, struct hotpath_site *site)
{
    const int saved = errno;
    uintptr_t state = HOTPATH_SKIPPED_;
    if (!hp_counter_is_inline(hp_runtime->counter))
        state = enter_off_line(zone, site);
    if (state == HOTPATH_SKIPPED_)
        state = enter_out_of_line(zone, site);
    errno = saved;
    return state;
}

/* The frame of a guard on the thread's own lane, while another lane runs. */
static const struct hotpath_frame_ *find_own_frame(const struct hp_thread_context *context,
                                                   const struct hotpath_zone *zone)
{
    const struct hotpath_frame_ *own, *zero = hp_lane_own_frames(context, &own);
    while (own > zero && own->zone != (uintptr_t)zone)
        own--;
    return own > zero ? own : NULL;
}

/* A guard of the thread's own lane ends while it is on another lane: longjmp left that lane without a switch. */
static const struct hotpath_frame_ *find_frame_below(struct hp_thread_context *context,
                                                     const struct hotpath_zone *zone, uint64_t now)
{
    const struct hotpath_frame_ *frame = find_frame(context, zone, SIZE_MAX);
    if (frame != NULL || !hp_lane_is_other(context))
        return frame;
    frame = find_own_frame(context, zone);
    if (frame != NULL)
        hp_lane_return(context, now);
    return frame;
}

static bool has_open(struct hp_thread_context *context, const struct hotpath_zone *zone)
{
    const uint32_t before = hp_context_hold_too(&context->hot);
    const bool is_open = hp_context_has_session(&context->hot) &&
                         (find_frame(context, zone, SIZE_MAX) != NULL ||
                          (hp_lane_is_other(context) && find_own_frame(context, zone) != NULL));
    hp_context_put_back(&context->hot, before);
    return is_open;
}

bool hp_zone_is_open(const struct hotpath_zone *zone)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (&context->hot == &hp_no_context || context->thread_id == 0)
        return false;
    for (; context != NULL; context = context->handler)
        if (context->record != NULL && context->hot.epoch == hp_epoch() && has_open(context, zone))
            return true;
    return false;
}

/*
 * Closes the zone if it is on this context's stack. A busy context must not be touched, with one exception: a guard
 * on its stack belongs to the code that a handler interrupted. If that guard is being closed, the handler is gone,
 * so it was left by siglongjmp, and the context is free.
 */
static bool leave(struct hp_thread_context *context, const struct hotpath_zone *zone, uint64_t now)
{
    if (hp_context_is_held(&context->hot) && hp_thread_is_shared(context))
        return true;
    const uint32_t before = hp_context_hold_too(&context->hot);
    /* Checked again with the context held: the session may have ended, and its frames with it. */
    const struct hotpath_frame_ *frame =
        hp_context_has_session(&context->hot) ? find_frame_below(context, zone, now) : NULL;
    if (frame != NULL) {
        if (before == 0) {
            recover_handlers(context);
            recover(context);
        }
        const uint64_t from = hp_slow_way_begin(context);
        while (context->hot.top > frame)
            hp_zone_abandon_top(context);
        hp_zone_close_top(context, now);
        hp_slow_way_end(context, from);
    }
    hp_context_put_back(&context->hot, frame != NULL ? HOTPATH_IDS_ : before);
    return frame != NULL;
}

/* False: not the usual case. */
static bool leave_off_line(const struct hotpath_zone *zone, uint64_t now)
{
    struct hotpath_context_ *hot = hotpath_v1_context;
    if (hp_context_is_held(hot))
        return false;
    hp_context_hold(hot);
    const bool is_top = hp_zone_is_off_line(hot) && hot->top->zone == (uintptr_t)zone;
    if (is_top)
        hp_zone_close_quickly((struct hp_thread_context *)(void *)hot, hot->top, now);
    hp_context_let_go(hot);
    return is_top;
}

static void leave_out_of_line(const struct hotpath_zone *zone, uint64_t now)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    /* A guard of another session, of the parent before fork, or never initialised: nothing to close here. */
    if (&context->hot == &hp_no_context || context->thread_id == 0 || context->hot.epoch != hp_epoch() ||
        __atomic_load_n(&hp_runtime->gate, __ATOMIC_RELAXED) == 0)
        return;
    for (struct hp_thread_context *at = context; at != NULL; at = at->handler)
        if (at->record != NULL && at->hot.epoch == hp_epoch() && leave(at, zone, now))
            return;
    /*
     * It has ended before, was left by longjmp, which was noticed, or goto skipped it, so that the guard contains
     * garbage.
     */
    if (hp_thread_is_open_elsewhere(zone->state & ~(uintptr_t)HOTPATH_BY_COUNT_, zone))
        /* Or its own context is another's since now, which is noticed there first: then no thread is wrong. */
        hp_session_lose(hp_thread_is_over == HP_THREAD_IS_SHARED ? HP_LOSS_ZONES : HP_LOSS_FOREIGN);
}

/* --- calls that hooks could not record: see struct hp_skip_run */

/* Drops runs that longjmp has left. */
static uint32_t settled_depth(struct hp_thread_context *context)
{
    const uint32_t depth = (uint32_t)(context->hot.top - hp_frame_zero(context));
    while (context->skip_runs > 0 && context->skips[context->skip_runs - 1].depth > depth)
        context->skip_runs--;
    return depth;
}

void hp_zone_skip(void)
{
    struct hp_thread_context *context = hp_thread_hold();
    if (context == NULL)
        return;
    const uint32_t depth = settled_depth(context);
    if (context->skip_runs > 0 && context->skips[context->skip_runs - 1].depth == depth)
        context->skips[context->skip_runs - 1].count++;
    else if (context->skip_runs < HP_SKIP_RUNS)
        context->skips[context->skip_runs++] = (struct hp_skip_run){depth, 1};
    /* An exit hook must not take the end of a skipped call for that of the zone. */
    if (context->hot.top->stat & HOTPATH_UNTIMED_)
        HOTPATH_PUT_(context->hot.top->start, 0);
    hp_context_let_go(&context->hot);
}

bool hp_zone_was_skipped(void)
{
    struct hp_thread_context *context = hp_thread_hold();
    if (context == NULL)
        return false;
    const uint32_t depth = settled_depth(context);
    const bool was_skipped = context->skip_runs > 0 && context->skips[context->skip_runs - 1].depth == depth;
    if (was_skipped && --context->skips[context->skip_runs - 1].count == 0)
        context->skip_runs--;
    hp_context_let_go(&context->hot);
    return was_skipped;
}

/* A call that got no node at all is counted at <other>, which belongs to no site. */
static const struct hotpath_frame_ *find_frame_of(const struct hp_thread_context *context, uint32_t site,
                                                  const struct hotpath_frame_ *zero,
                                                  const struct hotpath_frame_ *frame)
{
    while (frame > zero && hp_node_at(context, frame->node)->site != site && frame->node != context->record->other)
        frame--;
    return frame > zero ? frame : NULL;
}

/* As find_frame_below. */
static const struct hotpath_frame_ *find_site_below(struct hp_thread_context *context, uint32_t site, uint64_t now)
{
    const struct hotpath_frame_ *frame = find_frame_of(context, site, hp_frame_zero(context), context->hot.top),
                                *own, *zero;
    if (frame != NULL || !hp_lane_is_other(context))
        return frame;
    zero = hp_lane_own_frames(context, &own);
    frame = find_frame_of(context, site, zero, own);
    if (frame != NULL)
        hp_lane_return(context, now);
    return frame;
}

static bool leave_site(struct hp_thread_context *context, uint32_t site, uint64_t now)
{
    if (hp_context_is_held(&context->hot))
        return false;
    hp_context_hold(&context->hot);
    const struct hotpath_frame_ *frame =
        hp_context_has_session(&context->hot) ? find_site_below(context, site, now) : NULL;
    if (frame != NULL) {
        const uint64_t from = hp_slow_way_begin(context);
        while (context->hot.top > frame)
            hp_zone_abandon_top(context);
        hp_zone_close_top(context, now);
        hp_slow_way_end(context, from);
    }
    hp_context_let_go(&context->hot);
    return frame != NULL;
}

HP_REALIGNED void hp_zone_leave_site(uint32_t site, uint64_t now)
{
    const int saved = errno;
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (&context->hot != &hp_no_context && context->thread_id != 0)
        for (struct hp_thread_context *at = context; at != NULL; at = at->handler)
            if (at->record != NULL && at->hot.epoch == hp_epoch() && leave_site(at, site, now))
                break;
    errno = saved;
}

HP_REALIGNED void hp_zone_leave(struct hotpath_zone *zone, uint64_t now)
{
    const int saved = errno;
    const bool is_off_line = !hp_counter_is_inline(hp_runtime->counter);
    if (is_off_line)
        now = hp_zone_now_off_line();
    if (!is_off_line || !leave_off_line(zone, now))
        leave_out_of_line(zone, now);
    errno = saved;
}
