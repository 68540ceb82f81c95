/*
 * Calls too short to be timed each time. If measuring takes more than the bound's share of a function's calls, they
 * are counted, and one is timed now and then; if these get long, all calls are timed again.
 * SPDX-License-Identifier: MIT
 */
#include "tree.h"

#include "call_log_state.h"
#include "thread_context.h"

/* One call in this many is timed, so that the report has a basis. */
#define LIMITED_PERIOD 256u
/*
 * If a call appears longer than this many short ones, too little would remain after subtracting the cost of
 * measuring to be sure.
 */
#define MOST_MEASURING 5u

static const uint64_t *counters_of(const struct hp_thread_context *context, const struct hotpath_stat_ *stat,
                                   uint32_t octave)
{
    return (const uint64_t *)(const void *)(context->hot.base + stat->octaves[octave]);
}

static uint64_t duration_count(const struct hp_thread_context *context, const struct hotpath_stat_ *stat)
{
    uint64_t count = 0;
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        for (uint32_t at = octave == 0 ? 0 : 64; stat->octaves[octave] != 0 && at < 128; at++)
            count += counters_of(context, stat, octave)[at];
    return count;
}

/*
 * The mean duration of the site's calls, in 1/256 ticks, as timed by this thread. Leaves out the longest in 64: a
 * few calls during which the thread was preempted would make all of them long.
 */
#define LEFT_OUT 64u
static uint64_t usual_call(const struct hp_thread_context *context, const struct hotpath_stat_ *stat)
{
    const uint64_t all = duration_count(context, stat), most = all - all / LEFT_OUT;
    uint64_t count = 0, ticks = 0;
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        for (uint64_t at = octave == 0 ? 0 : 64; stat->octaves[octave] != 0 && at < 128; at++) {
            const uint64_t here = counters_of(context, stat, octave)[at],
                           taken = here < most - count ? here : most - count;
            count += taken;
            ticks += taken * ((at << octave) + (UINT64_C(1) << octave) / 2);
        }
    return count > 0 ? ticks * 256 / count : UINT64_MAX;
}

/*
 * The cost of measuring inside a call, in 1/256 ticks: so far, and the part of it that is saved from now on, since
 * less is timed.
 */
struct inside {
    uint64_t cost, saved;
};

static uint64_t function_price(uint64_t ps)
{
    const struct hp_zone_cost *cost = &hp_runtime->zone_cost;
    return HOTPATH_GET_(cost->ps) > 0 ? ps * 256 * HOTPATH_GET_(cost->ticks) / HOTPATH_GET_(cost->ps) : 0;
}

static uint32_t next_below(const struct hp_thread_context *context, uint32_t top, uint32_t at)
{
    if (hp_node_at(context, at)->first_child != 0)
        return hp_node_at(context, at)->first_child;
    while (at != top && hp_node_at(context, at)->next_sibling == 0)
        at = hp_node_at(context, at)->parent;
    return at != top ? hp_node_at(context, at)->next_sibling : 0;
}

/*
 * A short call has little inside. If there may be more, the cost inside counts as zero, and the call as long as it
 * appears.
 */
#define NODES_INSIDE 64u
static struct inside look_inside(const struct hp_thread_context *context, uint32_t top)
{
    const uint64_t timed_price = function_price(HOTPATH_GET_(hp_runtime->zone_cost.function_ps));
    const uint64_t price = function_price(HOTPATH_GET_(hp_runtime->zone_cost.function_counted_ps));
    const uint64_t calls = hp_node_at(context, top)->calls;
    struct inside sum = {0, 0};
    uint32_t nodes = 0;
    for (uint32_t at = next_below(context, top, top); at != 0; at = next_below(context, top, at)) {
        const struct hotpath_node_ *node = hp_node_at(context, at);
        const uint64_t timed = node->calls - node->untimed;
        if (++nodes > NODES_INSIDE || node->is_folded)
            return (struct inside){0, 0};
        sum.cost += timed * timed_price + node->untimed * price;
        if (hp_stat_at(context, node->stat)->period > 1 && timed_price > price)
            sum.saved += timed * (timed_price - price);
    }
    return (struct inside){sum.cost / calls, sum.saved / calls};
}

/*
 * Compares the cost of measuring with the duration of a call without the cost inside it, which may be most of it.
 * From then on untimed calls count as `typical`.
 */
void hp_tree_limit(struct hp_thread_context *context, uint32_t parent, uint32_t node)
{
    const struct hotpath_node_ *counted = hp_node_at(context, node);
    struct hotpath_stat_ *stat = hp_stat_at(context, counted->stat);
    const struct hp_live_settings *live_settings = &hp_runtime->live_settings;
    const bool is_bound =
        HOTPATH_GET_(live_settings->measuring_bound) != 0 && HOTPATH_GET_(live_settings->time_period) <= 1;
    if (!is_bound || hp_stat_log(stat) != 0 || !hp_tree_is_short_path(counted))
        return;
    if (stat->period <= 1) {
        const uint64_t usual = usual_call(context, stat), most = hp_tree_longest_short_call() * 256;
        if (usual > MOST_MEASURING * most)
            return;
        const struct inside inside = counted->is_folded ? (struct inside){0, 0} : look_inside(context, node);
        if (usual > most + inside.cost)
            return;
        HOTPATH_PUT_(stat->typical, (uint32_t)(usual > inside.saved ? usual - inside.saved : 0) + 1);
        HOTPATH_PUT_(stat->period, LIMITED_PERIOD);
        HOTPATH_PUT_(stat->countdown, hotpath_until_timed_(counted->calls, LIMITED_PERIOD));
    }
    hp_tree_refresh(context, parent, node);
}

/*
 * One long call may be an accident, so the next one is timed, too; three in a row are not. A call is long if it
 * takes many zones' cost more than a call did when it was found to be short, including the measuring inside it.
 */
#define LONG_CALLS 3u
#define LONG_ZONES 8u

void hp_tree_review(struct hp_thread_context *context, uint32_t node, uint64_t ticks)
{
    struct hotpath_stat_ *stat = hp_stat_at(context, hp_node_at(context, node)->stat);
    if (stat->typical == 0 || stat->period <= 1)
        return;
    const uint64_t most = LONG_ZONES * hp_zone_ticks() + stat->typical / 256;
    stat->long_calls = ticks > most ? stat->long_calls + 1 : 0;
    if (stat->long_calls > 0)
        HOTPATH_PUT_(stat->countdown, 1);
    if (stat->long_calls >= LONG_CALLS)
        HOTPATH_PUT_(stat->period, 1);
}
