/*
 * The function that owns the critical path. The tree of stacks is walked from the outside in; all nodes of one
 * function at one level are one step. SPDX-License-Identifier: MIT
 */
#include "path_owner.h"

#include <string.h>

#include "arena.h"
#include "bottleneck.h"
#include "function_profile.h"
#include "function_role.h"
#include "wait_profile.h"

struct walk {
    const struct hp_function_profile *functions;
    uint64_t *path_ns, *all_ns; /* by node, with what is below it: on the path; in the whole run */
    unsigned char *is_here;     /* by node: of the present step */
    uint64_t *tally;            /* by function */
};

static bool begin(struct walk *walk, struct hp_arena *arena, const struct hp_run_path *path)
{
    const struct hp_function_profile *functions = walk->functions;
    const size_t nodes = functions->node_count + 1;
    walk->path_ns = hp_arena_take_array(arena, nodes, sizeof *walk->path_ns);
    walk->all_ns = hp_arena_take_array(arena, nodes, sizeof *walk->all_ns);
    walk->tally = hp_arena_take_array(arena, functions->count + 1, sizeof *walk->tally);
    walk->is_here = hp_arena_take(arena, nodes);
    if (walk->path_ns == NULL || walk->all_ns == NULL || walk->tally == NULL || walk->is_here == NULL)
        return false;
    for (size_t at = functions->node_count; at-- > 0;) {
        const struct hp_found_node *node = &functions->nodes[at];
        walk->path_ns[at] += path->node_ns[at];
        walk->all_ns[at] += node->user_ns + node->kernel_ns;
        if (!hp_path_is_for_waker(node->cause))
            walk->all_ns[at] += node->waited_ns;
        if (at > 0) {
            walk->path_ns[node->parent] += walk->path_ns[at];
            walk->all_ns[node->parent] += walk->all_ns[at];
        }
    }
    memset(walk->is_here, 0, nodes);
    walk->is_here[0] = 1;
    return true;
}

static enum hp_function_role role_of(const struct walk *walk, uint32_t function)
{
    return hp_function_role(walk->functions->all[function].name, walk->functions->all[function].library);
}

/* Processes, and what starts threads, are no step. */
static bool is_passed(const struct walk *walk, const struct hp_found_node *node)
{
    return node->function == HP_NO_FOUND ? node->waits.text == NULL
                                         : role_of(walk, node->function) == HP_ROLE_START;
}

/* The function with most of the path among those called here; HP_NO_FOUND: none. */
static uint32_t next_function(const struct walk *walk, uint64_t *ret_ns)
{
    const struct hp_function_profile *functions = walk->functions;
    uint32_t next = HP_NO_FOUND;
    memset(walk->tally, 0, (functions->count + 1) * sizeof *walk->tally);
    *ret_ns = 0;
    for (size_t at = 1; at < functions->node_count; at++) {
        const struct hp_found_node *node = &functions->nodes[at];
        if (walk->is_here[at] || !walk->is_here[node->parent])
            continue;
        if (is_passed(walk, node))
            walk->is_here[at] = 1;
        else if (node->function != HP_NO_FOUND)
            walk->tally[node->function] += walk->path_ns[at];
    }
    for (uint32_t at = 0; at < functions->count; at++)
        if (walk->tally[at] > *ret_ns) {
            next = at;
            *ret_ns = walk->tally[at];
        }
    return next;
}

/* Of an incomplete stack it is not known who calls it. */
static bool has_caller(const struct walk *walk, const struct hp_found_node *node)
{
    return walk->functions->nodes[node->parent].function != HP_NO_FOUND || walk->is_here[node->parent];
}

/* Whether others than the present step call it for a part of its time that matters. */
static bool is_helper(const struct walk *walk, uint32_t function)
{
    uint64_t here_ns = 0, all_ns = 0;
    for (size_t at = 1; at < walk->functions->node_count; at++) {
        const struct hp_found_node *node = &walk->functions->nodes[at];
        if (node->function != function || node->is_inner || !has_caller(walk, node))
            continue;
        all_ns += walk->all_ns[at];
        here_ns += walk->is_here[node->parent] ? walk->all_ns[at] : 0;
    }
    return (double)(all_ns - here_ns) > HP_OWNER_SHARED * (double)all_ns;
}

/* From the highest number down, since a parent has a lower one. */
static void step_into(const struct walk *walk, uint32_t function)
{
    for (size_t at = walk->functions->node_count; at-- > 1;) {
        const struct hp_found_node *node = &walk->functions->nodes[at];
        walk->is_here[at] = !walk->is_here[at] && walk->is_here[node->parent] && node->function == function;
    }
    walk->is_here[0] = 0;
}

/* What the present step waits for below it, if that is most of its time. */
static const char *cause_here(const struct walk *walk, const struct hp_run_path *path, uint64_t here_ns)
{
    uint64_t by_cause[HP_WAIT_CAUSES] = {0};
    uint32_t longest = 0;
    for (size_t at = 1; at < walk->functions->node_count; at++) {
        const struct hp_found_node *node = &walk->functions->nodes[at];
        uint32_t outer = (uint32_t)at;
        if (node->waits.text == NULL || node->cause >= HP_WAIT_CAUSES || path->node_ns[at] == 0)
            continue;
        while (outer != 0 && !walk->is_here[outer])
            outer = walk->functions->nodes[outer].parent;
        by_cause[node->cause] += outer != 0 ? path->node_ns[at] : 0;
    }
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        if (by_cause[cause] > by_cause[longest])
            longest = cause;
    return 2 * by_cause[longest] > here_ns ? hp_wait_cause_name(longest) : NULL;
}

bool hp_path_find_owner(struct hp_arena *arena, const struct hp_function_profile *functions,
                        const struct hp_run_path *path, struct hp_path_owner *ret_owner)
{
    struct walk walk = {.functions = functions};
    uint64_t ns;
    *ret_owner = (struct hp_path_owner){0};
    if (!begin(&walk, arena, path))
        return false;
    const double whole = (double)walk.path_ns[0];
    uint32_t next = next_function(&walk, &ns);
    while (next != HP_NO_FOUND && role_of(&walk, next) == HP_ROLE_CODE && (double)ns >= HP_OWNER_PART * whole &&
           !is_helper(&walk, next)) {
        ret_owner->caller = ret_owner->function;
        ret_owner->function = &functions->all[next];
        ret_owner->ns = ns;
        step_into(&walk, next);
        next = next_function(&walk, &ns);
    }
    if (ret_owner->function != NULL)
        ret_owner->waits_for = cause_here(&walk, path, ret_owner->ns);
    while (ret_owner->function != NULL && next != HP_NO_FOUND && role_of(&walk, next) == HP_ROLE_CODE &&
           (double)ns >= HP_OWNER_INNER * (double)ret_owner->ns) {
        ret_owner->inner = &functions->all[next];
        step_into(&walk, next);
        next = next_function(&walk, &ns);
    }
    return true;
}
