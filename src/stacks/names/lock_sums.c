/* Sums holders of locks by the functions that wait for them. SPDX-License-Identifier: MIT */
#include "lock_sums.h"

#include <stdlib.h>
#include <string.h>

#include "function_role.h"
#include "growing_array.h"
#include "text.h"

/* A function on the stacks of holders. */
struct met {
    uint64_t ns;
    double depth;      /* times ns */
    uint32_t met_last; /* number of the hold, plus 1: a recursive function counts once */
};

struct summing {
    const struct hp_named_stacks *stacks;
    struct met *met; /* by function */
    uint32_t *touched;
    size_t touched_count, touched_room;
};

static bool is_code(const struct hp_named_stacks *stacks, uint32_t number)
{
    const struct hp_named_function *function = &stacks->functions[number];
    const char *path = function->image < stacks->image_count ? stacks->images[function->image].path : "";
    return strcmp(function->name, "main") != 0 && !hp_text_begins(function->name, HP_WAITING_NAME) &&
           hp_function_role(function->name, hp_text_base_name(path)) == HP_ROLE_CODE;
}

static bool touch(struct summing *summing, uint32_t function)
{
    if (summing->met[function].met_last != 0)
        return true;
    if (!HP_MAKE_ROOM(summing->touched, summing->touched_count + 1, summing->touched_room))
        return false;
    summing->touched[summing->touched_count++] = function;
    return true;
}

/* All functions of the holder's stack; of one that waits, without those that wait for it. False: no memory. */
static bool add_stack(struct summing *summing, size_t number, const struct hp_lock_hold *hold)
{
    const struct hp_named_stacks *stacks = summing->stacks;
    const bool is_waiting = stacks->nodes[hold->holder].image == HP_STACK_WAITING;
    const uint32_t waiter = is_waiting ? hp_waiter_of(stacks, hold->holder) : HP_NO_FUNCTION;
    bool is_below = waiter != HP_NO_FUNCTION;
    uint32_t height = 0;
    for (uint32_t at = hold->holder; at != HP_STACK_ROOT; at = stacks->nodes[at].parent) {
        const struct hp_named_node *node = &stacks->nodes[at];
        for (uint32_t frame = 0; frame < node->frame_count; frame++) {
            const uint32_t function = stacks->frames[node->first_frame + frame].function;
            is_below &= function != waiter;
            if (is_below)
                continue;
            if (!touch(summing, function))
                return false;
            height++;
            if (summing->met[function].met_last == number + 1)
                continue;
            summing->met[function].met_last = (uint32_t)number + 1;
            summing->met[function].ns += hold->ns;
            summing->met[function].depth -= (double)hold->ns * height;
        }
    }
    return true;
}

/* The innermost function that is on half of the stacks; HP_NO_FUNCTION: none. Forgets all of them. */
static uint32_t take_innermost(struct summing *summing, uint64_t whole_ns)
{
    uint32_t best = HP_NO_FUNCTION;
    double deepest = 0;
    for (size_t at = 0; at < summing->touched_count; at++) {
        const uint32_t function = summing->touched[at];
        const struct met *met = &summing->met[function];
        const double depth = met->ns > 0 ? met->depth / (double)met->ns : 0;
        if (2 * met->ns >= whole_ns && is_code(summing->stacks, function) &&
            (best == HP_NO_FUNCTION || depth > deepest)) {
            best = function;
            deepest = depth;
        }
    }
    for (size_t at = 0; at < summing->touched_count; at++)
        summing->met[summing->touched[at]] = (struct met){0};
    summing->touched_count = 0;
    return best;
}

struct waiter_hold {
    uint32_t waiter;
    const struct hp_lock_hold *hold;
};

static int by_waiter(const void *a, const void *b)
{
    const struct waiter_hold *x = a, *y = b;
    if (x->waiter != y->waiter)
        return x->waiter < y->waiter ? -1 : 1;
    return x->hold < y->hold ? -1 : x->hold > y->hold;
}

/* Sorted by the function that waits. Returns their number. */
static size_t sort_holds(const struct hp_named_stacks *stacks, struct waiter_hold *sorted)
{
    size_t count = 0;
    for (size_t at = 0; at < stacks->hold_count; at++) {
        const uint32_t waiter = hp_waiter_of(stacks, stacks->holds[at].waiter);
        if (waiter != HP_NO_FUNCTION)
            sorted[count++] = (struct waiter_hold){waiter, &stacks->holds[at]};
    }
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, by_waiter);
    return count;
}

/* Those of one function that waits. */
static bool add_waiter(struct summing *summing, const struct waiter_hold *holds, size_t count,
                       struct hp_found_function *functions)
{
    struct hp_found_function *waiter = &functions[holds[0].waiter];
    uint64_t ns = 0, samples = 0;
    for (size_t at = 0; at < count; at++) {
        if (!add_stack(summing, at, holds[at].hold))
            return false;
        ns += holds[at].hold->ns;
        samples += holds[at].hold->samples;
    }
    const uint32_t holder = take_innermost(summing, ns);
    waiter->held_ns = ns < waiter->waiting_ns ? ns : waiter->waiting_ns; /* some of that was taken back */
    waiter->held_samples = samples;
    if (holder != HP_NO_FUNCTION && samples >= HP_LEAST_HOLDS)
        waiter->held_in = functions[holder].shown;
    return true;
}

static bool add_all(struct summing *summing, struct waiter_hold *sorted, const uint32_t *found,
                    struct hp_found_function *functions, struct hp_function_profile *profile)
{
    const size_t count = sort_holds(summing->stacks, sorted);
    for (size_t first = 0, alike; first < count; first += alike) {
        for (alike = 1; first + alike < count && sorted[first + alike].waiter == sorted[first].waiter; alike++)
            ;
        if (!add_waiter(summing, &sorted[first], alike, functions))
            return false;
    }
    for (size_t at = 0; at < count; at++)
        profile->holds[profile->hold_count++] = (struct hp_found_hold){.function = sorted[at].waiter,
                                                                       .node = found[sorted[at].hold->holder],
                                                                       .ns = sorted[at].hold->ns,
                                                                       .samples = sorted[at].hold->samples};
    return true;
}

bool hp_lock_sums_add(const struct hp_named_stacks *stacks, const uint32_t *found,
                      struct hp_found_function *functions, struct hp_function_profile *profile)
{
    struct summing summing = {.stacks = stacks, .met = calloc(stacks->function_count + 1, sizeof *summing.met)};
    struct waiter_hold *sorted = calloc(stacks->hold_count + 1, sizeof *sorted);
    profile->holds = calloc(stacks->hold_count + 1, sizeof *profile->holds);
    const bool is_done = summing.met != NULL && sorted != NULL && profile->holds != NULL &&
                         add_all(&summing, sorted, found, functions, profile);
    free(summing.met);
    free(summing.touched);
    free(sorted);
    return is_done;
}
