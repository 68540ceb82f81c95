/* Sums of the lines of a function. Collects the lines first, then adds their times. SPDX-License-Identifier: MIT */
#include "line_sums.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

static const struct hp_named_frame *frames_of(const struct hp_named_stacks *stacks,
                                              const struct hp_named_node *node)
{
    return stacks->frames + node->first_frame;
}

/* ------------------------------------------------------------------------------------------------- lines */

static bool add_place(struct hp_line_table *table, size_t *room, uint64_t at)
{
    if (!HP_MAKE_ROOM(table->all, table->count + 1, *room))
        return false;
    table->all[table->count++] = (struct hp_line_sum){.at = at};
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct hp_line_sum *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Sorts them and removes duplicates. */
static void settle(struct hp_line_table *table)
{
    size_t kept = 0;
    if (table->count > 1)
        qsort(table->all, table->count, sizeof *table->all, compare);
    for (size_t at = 0; at < table->count; at++)
        if (kept == 0 || table->all[kept - 1].at != table->all[at].at)
            table->all[kept++] = table->all[at];
    table->count = kept;
}

static bool find_places(const struct hp_named_stacks *stacks, uint32_t function, struct hp_line_sums *sums)
{
    size_t line_room = 0, place_room = 0;
    for (size_t at = 1; at < stacks->node_count; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        const struct hp_named_frame *frames = frames_of(stacks, node);
        for (size_t frame = 0; frame < node->frame_count; frame++)
            if (frames[frame].function == function && !(add_place(&sums->lines, &line_room, frames[frame].line) &&
                                                        add_place(&sums->places, &place_room, node->place)))
                return false;
    }
    settle(&sums->lines);
    settle(&sums->places);
    return true;
}

/* ------------------------------------------------------------------------------------------------- times */

/* The line is in the table. */
static void add_to(const struct hp_line_table *table, uint64_t at, uint32_t stack, uint64_t ns, bool is_own)
{
    const struct hp_line_sum wanted = {.at = at};
    struct hp_line_sum *sum = bsearch(&wanted, table->all, table->count, sizeof *table->all, compare);
    if (is_own)
        sum->own_ns += ns;
    if (sum->last_stack != stack)
        sum->all_ns += ns;
    sum->last_stack = stack;
}

/* Adds a stack where it passes through the function. The last node of a waiting stack is the cause, not code. */
static void add_stack(const struct hp_named_stacks *stacks, uint32_t stack, uint32_t function, uint64_t ns,
                      struct hp_line_sums *sums)
{
    bool is_met = false;
    for (uint32_t at = stack; at != HP_STACK_ROOT; at = stacks->nodes[at].parent) {
        const struct hp_named_node *node = &stacks->nodes[at];
        const struct hp_named_frame *frames = frames_of(stacks, node);
        for (size_t frame = 0; frame < node->frame_count; frame++) {
            const bool is_own = at == stack && frame == 0;
            if (frames[frame].function != function)
                continue;
            add_to(&sums->lines, frames[frame].line, stack, ns, is_own);
            add_to(&sums->places, node->place, stack, ns, is_own);
            sums->own_ns += is_own ? ns : 0;
            is_met = true;
        }
    }
    if (is_met)
        sums->all_ns += ns;
}

static uint64_t weight_of(const struct hp_named_node *node, enum hp_line_measure measure)
{
    return measure == HP_LINES_CPU ? node->weight[HP_STACK_USER_NS] + node->weight[HP_STACK_KERNEL_NS]
                                   : node->weight[HP_STACK_WAITED_NS];
}

bool hp_line_sums_make(const struct hp_named_stacks *stacks, uint32_t function, enum hp_line_measure measure,
                       struct hp_line_sums *ret_sums)
{
    memset(ret_sums, 0, sizeof *ret_sums);
    if (!find_places(stacks, function, ret_sums)) {
        hp_line_sums_free(ret_sums);
        return false;
    }
    for (uint32_t at = 1; at < stacks->node_count; at++) {
        const uint64_t ns = weight_of(&stacks->nodes[at], measure);
        ret_sums->run_ns += ns;
        if (ns > 0)
            add_stack(stacks, at, function, ns, ret_sums);
    }
    return true;
}

void hp_line_sums_free(struct hp_line_sums *sums)
{
    free(sums->lines.all);
    free(sums->places.all);
    memset(sums, 0, sizeof *sums);
}
