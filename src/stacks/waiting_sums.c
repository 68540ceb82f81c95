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
static struct hp_found_cause cause_named(const char *name)
{
    const size_t before = strlen(HP_WAITING_NAME), length = strlen(name);
    return length > before ? (struct hp_found_cause){name + before, length - before - 1}
                           : (struct hp_found_cause){0};
}

/* The longest cause so far, and of its waits the longest text, by one of the measures of a wait. */
struct longest {
    uint64_t cause_ns, text_ns;
    uint32_t text;
};

static uint64_t all_of(const struct wait *wait) { return wait->ns; }
static uint64_t blocked_of(const struct wait *wait) { return wait->ns - wait->idle_ns; }

/* Of all waits of a function with the same cause, the longest text names it. */
static void weigh_cause(const struct wait *waits, size_t count, uint64_t (*measure)(const struct wait *),
                        struct longest *longest)
{
    struct longest its = {0};
    uint64_t text_ns = 0;
    for (size_t at = 0; at < count; at++) {
        const bool is_same = at > 0 && waits[at].text == waits[at - 1].text;
        text_ns = (is_same ? text_ns : 0) + measure(&waits[at]);
        its.cause_ns += measure(&waits[at]);
        if (text_ns > its.text_ns) {
            its.text_ns = text_ns;
            its.text = waits[at].text;
        }
    }
    if (its.cause_ns > longest->cause_ns)
        *longest = its;
}

static size_t count_alike(const struct wait *waits, size_t count)
{
    size_t alike = 1;
    while (alike < count && waits[alike].waiter == waits[0].waiter && waits[alike].cause == waits[0].cause)
        alike++;
    return alike;
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
        struct hp_found_function *function = &functions[waits[at].waiter];
        const uint32_t waiter = waits[at].waiter;
        struct longest all = {0}, blocked = {0};
        for (size_t alike; at < count && waits[at].waiter == waiter; at += alike) {
            alike = count_alike(&waits[at], count - at);
            weigh_cause(&waits[at], alike, all_of, &all);
            weigh_cause(&waits[at], alike, blocked_of, &blocked);
        }
        if (all.cause_ns > 0)
            function->waits_for = cause_named(stacks->functions[all.text].name);
        if (blocked.cause_ns > 0)
            function->blocked_for = cause_named(stacks->functions[blocked.text].name);
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
