/*
 * Which callback a turn of an event loop was spent in.
 *
 * Zones tell, by what their nodes of the call tree have gained. Callbacks are the outermost zones of a turn: nodes
 * directly below those that were open when it began, or that are open when it ends. Their totals at the last check
 * are kept per thread. Checking every turn would cost more than everything else, so ending turns are checked eight
 * times per millisecond, and whenever one is the longest so far. Then what does not belong to the turn is short
 * compared with it, or is seen not to be.
 *
 * Zones that were open when the turn began were open during the wait, too, and do not count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "turn_samples.h"

#include "thread_context.h"
#include "tick_rate.h"
#include "tree.h"

#define LOOKS_PER_MS 8u
#define WORTH 64u       /* at most 1/WORTH of the time is spent on that */
#define MOST_NODES 128u /* nodes to check */
#define DEEPEST 32u     /* nesting depth of open zones */
#define OTHERS 16u      /* at most 1/OTHERS of the turn may be time of other turns */

struct sum {
    uint32_t node;
    uint64_t total;
};

struct table {
    uint32_t epoch; /* session it belongs to */
    uint32_t count;
    bool is_full; /* there were more nodes than fit */
    struct sum sums[MOST_NODES];
};

/* The open nodes. */
struct path {
    uint32_t nodes[2 * DEEPEST];
    uint32_t count;
};

struct hp_turn_sums {
    uint32_t latest; /* index of the table of the last check; the other is for the next */
    struct table tables[2];
    struct path path; /* of this check; here, since the program's stack may be small */
};

static bool is_on(const struct path *path, uint32_t node)
{
    for (uint32_t at = 0; at < path->count; at++)
        if (path->nodes[at] == node)
            return true;
    return false;
}

static void add_path(const struct hp_thread_context *context, struct path *path, uint32_t node)
{
    for (uint32_t steps = 0; node != 0 && steps < DEEPEST; steps++, node = hp_node_at(context, node)->parent)
        if (!is_on(path, node))
            path->nodes[path->count++] = node;
}

/* A node's total at the last check. False: unknown. A node that did not exist then had zero. */
static bool had(const struct table *before, uint32_t hint, uint32_t node, uint64_t *ret_total)
{
    *ret_total = 0;
    if (hint < before->count && before->sums[hint].node == node) {
        *ret_total = before->sums[hint].total;
        return true;
    }
    for (uint32_t at = 0; at < before->count; at++)
        if (before->sums[at].node == node) {
            *ret_total = before->sums[at].total;
            return true;
        }
    return !before->is_full;
}

static void look_at(const struct hp_thread_context *context, const struct table *before, uint32_t node,
                    struct table *after, struct hp_turn_callback *most)
{
    const struct hotpath_node_ *its = hp_node_at(context, node);
    const uint64_t total = its->total - its->nested;
    uint64_t then;
    if (had(before, after->count, node, &then) && total - then > most->ticks)
        *most = (struct hp_turn_callback){node, total - then};
    if (after->count == MOST_NODES)
        after->is_full = true;
    else
        after->sums[after->count++] = (struct sum){node, total};
}

static __attribute__((noinline)) struct hp_turn_callback look(const struct hp_thread_context *context,
                                                              uint32_t began_at, struct hp_turn_sums *sums)
{
    const struct table *before = &sums->tables[sums->latest];
    struct table *after = &sums->tables[1 - sums->latest];
    struct hp_turn_callback most = {0};
    struct path *path = &sums->path;
    path->count = 0;
    after->epoch = context->hot.epoch;
    after->count = 0;
    after->is_full = false;
    add_path(context, path, context->hot.top->node);
    add_path(context, path, began_at);
    for (uint32_t at = 0; at < path->count; at++)
        for (uint32_t node = hp_node_at(context, path->nodes[at])->first_child; node != 0 && !after->is_full;
             node = hp_node_at(context, node)->next_sibling)
            if (!is_on(path, node))
                look_at(context, before, node, after, &most);
    sums->latest = 1 - sums->latest;
    return before->epoch == context->hot.epoch ? most : (struct hp_turn_callback){0};
}

struct hp_turn_callback hp_turn_look(struct hp_thread_context *context, uint32_t began_at, uint64_t turn,
                                     uint64_t now)
{
    if (context->turn_sums == NULL)
        context->turn_sums = hp_more_memory(sizeof(struct hp_turn_sums));
    if (context->turn_sums == NULL)
        return (struct hp_turn_callback){0};
    struct hp_turn_callback callback = look(context, began_at, context->turn_sums);
    context->turn_look = now + hp_ticks_per_ms(context) / LOOKS_PER_MS + WORTH * (hp_now() - now);
    if (callback.ticks > turn + turn / OTHERS)
        return (struct hp_turn_callback){0};
    callback.ticks = callback.ticks < turn ? callback.ticks : turn;
    return callback;
}
