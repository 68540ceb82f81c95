/*
 * Event loops: HOTPATH_LOOP_WAIT, and loops that the library preloaded by `hotpath run` detects in unmodified
 * programs.
 *
 * A turn is what a thread does from the end of a wait to the next wait of the same loop; until then it notices no
 * new event. An event at a random time falls into a turn in proportion to the turn's length, and waits half of it
 * on average. So the sum of the squares of turns gives the mean waiting time of events; it is kept here without
 * loss.
 *
 * SPDX-License-Identifier: MIT
 */
#include "deferral.h"
#include "guards.h"
#include "hook_entries.h"
#include "instances.h"
#include "loop_layout.h"
#include "stack_place.h"
#include "turn_samples.h"

static const struct hp_kind_type loop_kind = {
    .name = "loop",
    .title = "Loop",
    .flags = HP_KIND_OWN_TABLE | HP_KIND_BY_NAME,
    .goes_on = true, /* only to end what began before: see next_state */
    .counters = {[HP_LOOP_TURNS] = {"turns", "Turns", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_LOOP_EVENTS] = {"events", "Events", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_LOOP_WAITS] = {"waits", "Waits", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_LOOP_BUSY] = {"busy_ns", "Busy", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [HP_LOOP_WAITED] = {"waited_ns", "Waited", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [HP_LOOP_LONGEST] = {"longest_ns", "Longest", HOTPATH_UNIT_NS, HP_MERGE_MOST},
                 [HP_LOOP_LONGEST_SINCE] = {"longest_since", "Longest At", HOTPATH_UNIT_NS, HP_MERGE_NONE},
                 [HP_LOOP_SQUARES_LOW] = {"squares_low", "Squares", HOTPATH_UNIT_NUMBER, HP_MERGE_NONE},
                 [HP_LOOP_SQUARES_HIGH] = {"squares_high", "Squares", HOTPATH_UNIT_NUMBER, HP_MERGE_NONE},
                 [HP_LOOP_LONGEST_INSIDE] = {"longest_inside", "Callback", HOTPATH_UNIT_NS, HP_MERGE_NONE}},
    .histograms = {[HP_LOOP_TURN_TICKS] = {"turn", "Turn", HOTPATH_UNIT_NS, HP_MERGE_SUM}},
};

/* ------------------------------------------------------------------------------------------------- counting */

static inline uint64_t since(const struct hp_part *part, uint64_t now)
{
    return now > part->last ? now - part->last : 0;
}

static inline void add_to_squares(struct hp_part *part, uint64_t low, uint64_t high)
{
    uint64_t sum;
    high += __builtin_add_overflow(part->count[HP_LOOP_SQUARES_LOW], low, &sum);
    HOTPATH_PUT_(part->count[HP_LOOP_SQUARES_LOW], sum);
    if (high != 0)
        HOTPATH_ADD_(part->count[HP_LOOP_SQUARES_HIGH], high);
}

/* (a * 2^32 + b)^2 in halves, since not all machines have 128-bit integers. */
static inline void add_square(struct hp_part *part, uint64_t turn)
{
    const uint64_t high = turn >> 32, low = turn & UINT32_MAX;
    add_to_squares(part, low * low, 0);
    if (__builtin_expect(high != 0, 0)) {
        const uint64_t middle = high * low; /* times 2^33 */
        add_to_squares(part, middle << 33, (middle >> 31) + high * high);
    }
}

static inline void add_turn(struct hp_part *part, uint64_t now, uint64_t turn,
                            const struct hp_turn_callback *callback)
{
    HOTPATH_ADD_(part->count[HP_LOOP_TURNS], 1);
    HOTPATH_ADD_(part->count[HP_LOOP_BUSY], turn);
    add_square(part, turn);
    if (turn > part->count[HP_LOOP_LONGEST]) {
        HOTPATH_PUT_(part->count[HP_LOOP_LONGEST], turn);
        HOTPATH_PUT_(part->count[HP_LOOP_LONGEST_SINCE], now - turn);
        HOTPATH_PUT_(part->count[HP_LOOP_LONGEST_INSIDE], callback->ticks);
        HOTPATH_PUT_(part->node, callback->node);
    }
}

static inline void enter(struct hp_part *part, enum hp_loop_state state, uint64_t now)
{
    hp_part_meet(part, now);
    HOTPATH_PUT_(part->flags, state);
    HOTPATH_PUT_(part->last, now);
}

/* Ends a turn, if there is one: a wait that was left by a jump is not counted. */
static void leave_turn(const struct hp_object_use *use, enum hp_loop_state next)
{
    struct hp_part *part = use->part;
    const uint64_t now = use->now, turn = since(part, now);
    const bool is_turn = part->flags == HP_LOOP_TURNING;
    struct hp_turn_callback callback = {0};
    if (__builtin_expect((is_turn && turn > part->count[HP_LOOP_LONGEST]) || hp_turn_look_is_due(use->context, now),
                         0))
        callback = hp_turn_look(use->context, (uint32_t)part->own, turn, now);
    const uint32_t sequence = hp_part_change(part);
    if (is_turn)
        add_turn(part, now, turn, &callback);
    enter(part, next, now);
    hp_part_changed(part, sequence);
    if (is_turn)
        hp_object_distribute(use, HP_LOOP_TURN_TICKS, (double)(int64_t)turn);
}

/* While recording is paused, the turn or wait that began before ends, and none begins. */
static inline enum hp_loop_state next_state(const struct hp_object_use *use, enum hp_loop_state next)
{
    return HOTPATH_LIKELY_(!hp_object_is_paused(use)) ? next : HP_LOOP_OUT;
}

static inline void leave_wait(const struct hp_object_use *use, uint64_t events)
{
    struct hp_part *part = use->part;
    const uint64_t now = use->now;
    part->own = use->context->hot.top->node; /* where the turn begins */
    const uint32_t sequence = hp_part_change(part);
    if (part->flags == HP_LOOP_WAITING) {
        HOTPATH_ADD_(part->count[HP_LOOP_WAITS], 1);
        HOTPATH_ADD_(part->count[HP_LOOP_WAITED], since(part, now));
        HOTPATH_ADD_(part->count[HP_LOOP_EVENTS], events);
    }
    enter(part, next_state(use, HP_LOOP_TURNING), now);
    hp_part_changed(part, sequence);
}

/* ------------------------------------------------------------------------------------- entry points of macros */

/*
 * A wait inside a wait is not another loop: a wait that the program reports is often detected as well, one wait
 * function may call another, and a handler may interrupt both. The stack address tells whether it is inside, since
 * a jump may have left the outer wait.
 */
void hotpath_v1_loop_wait(struct hotpath_loop_wait_ *ret_wait, struct hotpath_site *site)
{
    struct hp_object_use use;
    if (!hp_object_begin(site, &loop_kind, &use))
        return;
    const enum hp_loop_state next = next_state(&use, HP_LOOP_WAITING);
    leave_turn(&use, next);
    if (HOTPATH_LIKELY_(next == HP_LOOP_WAITING)) {
        *ret_wait = (struct hotpath_loop_wait_){site, use.now};
        hp_guard_open(ret_wait, use.now);
        use.context->loop_wait = HP_STACK_PLACE();
    }
    hp_object_end(&use);
}

void hotpath_v1_loop_waited(const struct hotpath_loop_wait_ *wait)
{
    struct hp_object_use use;
    if (!hp_guard_close(wait, wait->since) || !hp_object_begin(wait->site, &loop_kind, &use))
        return;
    use.context->loop_wait = 0;
    leave_wait(&use, 0);
    hp_object_end(&use);
}

/* ----------------------------------------------------------------------- entry points of the preloaded library */

/* Only while recording: a detected loop must not count as an unrecorded zone (unrecorded.c). */
static inline bool begin(struct hotpath_site *site, const void *loop, struct hp_instance_use *ret_use)
{
    return hp_has_session() && hp_instance_begin(site, &loop_kind, loop, ret_use);
}

static __attribute__((noinline)) bool begin_anew(struct hotpath_loop_ *loop, struct hp_object_use *ret_use)
{
    struct hp_instance_use use;
    if (!begin(loop->site, loop->loop, &use))
        return false;
    *ret_use = (struct hp_object_use){use.class_.context, use.part, use.class_.now};
    loop->context = ret_use->context;
    loop->epoch = ret_use->context->hot.epoch;
    loop->part = (uint32_t)((const char *)use.part - ret_use->context->hot.base);
    return true;
}

/*
 * The part that the thread used last: parts stay valid as long as the session, and instances of loops do not end.
 */
static inline bool begin_again(struct hotpath_loop_ *loop, struct hp_object_use *ret_use)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (HOTPATH_LIKELY_(context == loop->context && !hp_context_is_held(&context->hot))) {
        hp_context_hold(&context->hot);
        if (HOTPATH_LIKELY_(hp_context_has_session(&context->hot) && context->hot.epoch == loop->epoch)) {
            const uint64_t now = hp_object_now();
            *ret_use =
                (struct hp_object_use){context, (struct hp_part *)(void *)(context->hot.base + loop->part), now};
            return true;
        }
        hp_context_let_go(&context->hot);
    }
    return begin_anew(loop, ret_use);
}

int hotpath_v1_loop_waits(struct hotpath_loop_ *loop)
{
    struct hp_object_use use;
    if (!begin_again(loop, &use)) {
        loop->is_missed = 1;
        return 0;
    }
    if (__builtin_expect(loop->is_missed != 0,
                         0)) { /* recording was off for a while: what began before is not a turn */
        HOTPATH_PUT_(use.part->flags, HP_LOOP_OUT);
        loop->is_missed = 0;
    }
    const bool is_inside = HP_STACK_PLACE() < use.context->loop_wait;
    const enum hp_loop_state next = next_state(&use, HP_LOOP_WAITING);
    if (!is_inside) {
        use.context->loop_wait = next == HP_LOOP_WAITING ? HP_STACK_PLACE() : 0;
        leave_turn(&use, next);
    }
    hp_object_end(&use);
    return !is_inside && next == HP_LOOP_WAITING;
}

void hotpath_v1_loop_woke(struct hotpath_loop_ *loop, uint64_t events)
{
    struct hp_object_use use;
    if (!begin_again(loop, &use))
        return;
    use.context->loop_wait = 0;
    leave_wait(&use, events);
    hp_object_end(&use);
}

/* --- when loops begin and end */

void hotpath_v1_loop_begin(struct hotpath_site *site, const void *loop)
{
    struct hp_instance_use use;
    if (!begin(site, loop, &use))
        return;
    use.part->own = use.class_.context->hot.top->node;
    const uint32_t sequence = hp_part_change(use.part);
    enter(use.part, next_state(&use.class_, HP_LOOP_TURNING), use.class_.now);
    hp_part_changed(use.part, sequence);
    hp_object_end(&use.class_);
}

void hotpath_v1_loop_end(struct hotpath_site *site, const void *loop)
{
    struct hp_instance_use use;
    if (!begin(site, loop, &use))
        return;
    leave_turn(&(struct hp_object_use){use.class_.context, use.part, use.class_.now}, HP_LOOP_OUT);
    hp_object_end(&use.class_);
}
