/* What functions wait for. SPDX-License-Identifier: MIT */
#include "waiting_sums.h"

#include <stdlib.h>
#include <string.h>

#include "waiters.h"

/* One kind of wait of one function. */
struct wait {
    uint32_t waiter, cause, text; /* text: the function whose name it is */
    uint64_t ns, idle_ns, times;
};

static uint32_t cause_of(const struct hp_named_node *node) { return (uint32_t)(node->place >> 32); }

static int by_waiter(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;
    if (x->waiter != y->waiter)
        return x->waiter < y->waiter ? -1 : 1;
    if (x->cause != y->cause)
        return x->cause < y->cause ? -1 : 1;
    return x->text < y->text ? -1 : x->text > y->text;
}

static bool is_waiting(const struct hp_named_node *node)
{
    return node->image == HP_STACK_WAITING && node->frame_count > 0;
}

/* All of them, to be freed. NULL: no memory. */
static struct wait *find_all(const struct hp_named_stacks *stacks, size_t *ret_count)
{
    size_t count = 0;
    for (size_t at = 1; at < stacks->node_count; at++)
        count += is_waiting(&stacks->nodes[at]);
    struct wait *waits = calloc(count + 1, sizeof *waits);
    *ret_count = 0;
    for (uint32_t at = 1; waits != NULL && at < stacks->node_count; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        const uint64_t ns = node->weight[HP_STACK_WAITED_NS], idle_ns = node->weight[HP_STACK_IDLE_NS];
        if (is_waiting(node))
            waits[(*ret_count)++] = (struct wait){hp_waiter_of(stacks, at),
                                                  cause_of(node),
                                                  stacks->frames[node->first_frame].function,
                                                  ns,
                                                  idle_ns < ns ? idle_ns : ns,
                                                  node->weight[HP_STACK_WAITS]};
    }
    return waits;
}

/* "[waiting: pipe]" gives "pipe". */
static void name_cause(struct hp_found_function *function, const char *name, uint64_t ns)
{
    const size_t before = strlen(HP_WAITING_NAME), length = strlen(name);
    if (length <= before)
        return;
    function->waits_for = name + before;
    function->waits_for_length = length - before - 1;
    function->waits_for_ns = ns;
}

/* Time that could be saved counts first; an idle function has a cause, too. */
static uint64_t importance(const struct wait *wait, bool is_idle)
{
    return is_idle ? wait->idle_ns : wait->ns - wait->idle_ns;
}

/* Of all waits with the same cause the longest names it. Returns where the next cause begins. */
static size_t add_cause(const struct hp_named_stacks *stacks, struct hp_found_function *function,
                        const struct wait *waits, size_t count, size_t from, uint64_t *best)
{
    const bool is_idle = function->waiting_ns == function->idle_ns;
    uint64_t sum = 0, longest = 0, text_sum = 0, all = 0;
    uint32_t text = waits[from].text;
    size_t at = from;
    for (; at < count && waits[at].waiter == waits[from].waiter && waits[at].cause == waits[from].cause; at++) {
        const bool is_same = at > from && waits[at].text == waits[at - 1].text;
        text_sum = (is_same ? text_sum : 0) + importance(&waits[at], is_idle);
        if (text_sum > longest) {
            longest = text_sum;
            text = waits[at].text;
        }
        sum += importance(&waits[at], is_idle);
        all += waits[at].ns;
    }
    if (sum > *best) {
        *best = sum;
        name_cause(function, stacks->functions[text].name, all);
    }
    return at;
}

static void add_sums(struct hp_found_function *functions, const struct wait *wait)
{
    if (wait->waiter == HP_NO_FUNCTION)
        return;
    functions[wait->waiter].waiting_ns += wait->ns;
    functions[wait->waiter].idle_ns += wait->idle_ns;
    functions[wait->waiter].waits += wait->times;
}

static void name_causes(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                        const struct wait *waits, size_t count)
{
    for (size_t at = 0; at < count && waits[at].waiter != HP_NO_FUNCTION;) {
        const uint32_t waiter = waits[at].waiter;
        uint64_t best = 0;
        while (at < count && waits[at].waiter == waiter)
            at = add_cause(stacks, &functions[waiter], waits, count, at, &best);
    }
}

bool hp_waiting_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                         struct hp_function_profile *profile)
{
    size_t count;
    struct wait *waits = find_all(stacks, &count);
    if (waits == NULL)
        return false;
    qsort(waits, count, sizeof *waits, by_waiter);
    for (size_t at = 0; at < count; at++) {
        add_sums(functions, &waits[at]);
        profile->waited_ns += waits[at].ns;
        profile->idle_ns += waits[at].idle_ns;
    }
    name_causes(stacks, functions, waits, count);
    free(waits);
    return true;
}
