/* The stacks of a program without what says nothing. SPDX-License-Identifier: MIT */
#include "hot_stacks.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "function_role.h"
#include "sort.h"

#define NONE HP_NO_FOUND

static int by_library(const void *a, const void *b)
{
    const struct hp_found_function *x = a, *y = b;
    const int order = strcmp(x->library, y->library);
    return order != 0 ? order : x < y ? -1 : x > y;
}

/* Code without names tells no more than its library: all of it is one frame. */
static bool merge_nameless(struct hp_hot_stacks *stacks, uint32_t *frame_of)
{
    const struct hp_function_profile *profile = stacks->profile;
    const struct hp_found_function **nameless =
        hp_arena_take_array(stacks->arena, profile->count + 1, sizeof(void *));
    size_t count = 0;
    for (size_t at = 0; nameless != NULL && at < profile->count; at++)
        if (hp_hot_role(stacks, (uint32_t)at) == HP_ROLE_NAMELESS)
            nameless[count++] = &profile->all[at];
    if (nameless == NULL)
        return false;
    hp_sort(nameless, count, by_library);
    for (size_t at = 0, first = 0; at < count; at++) {
        if (strcmp(nameless[at]->library, nameless[first]->library) != 0)
            first = at;
        frame_of[nameless[at] - profile->all] = (uint32_t)(nameless[first] - profile->all);
    }
    return true;
}

static bool classify(struct hp_hot_stacks *stacks)
{
    const struct hp_function_profile *profile = stacks->profile;
    unsigned char *roles = hp_arena_take(stacks->arena, profile->count + 1);
    uint32_t *frame_of = hp_arena_take_array(stacks->arena, profile->count + 1, sizeof *frame_of);
    stacks->roles = roles;
    stacks->frame_of = frame_of;
    for (size_t at = 0; roles != NULL && frame_of != NULL && at < profile->count; at++) {
        roles[at] = (unsigned char)hp_function_role(profile->all[at].name, profile->all[at].library);
        frame_of[at] = (uint32_t)at;
    }
    return roles != NULL && frame_of != NULL && merge_nameless(stacks, frame_of);
}

/* Where a node of the tree went. */
struct cleaned {
    uint32_t frame; /* NONE: the root */
    uint32_t outer; /* the node whose frame is the caller's */
    uint32_t depth; /* frames up to here */
};

/* The call of a frame on the way to a node; 0: none. */
static uint32_t outer_call(const struct cleaned *cleaned, uint32_t node, uint32_t frame)
{
    while (node != 0 && cleaned[node].frame != frame)
        node = cleaned[node].outer;
    return node;
}

/*
 * The node that stands for node `at`: itself, or one outside of it. All of the kernel is one frame, and so is what
 * recursive calls have between them.
 */
static uint32_t clean_node(const struct hp_hot_stacks *stacks, struct cleaned *cleaned, uint32_t at, uint32_t below)
{
    const struct hp_found_node *node = &stacks->profile->nodes[at];
    if (node->function == HP_NO_FOUND)
        return below;
    const uint32_t frame = stacks->frame_of[node->function];
    const enum hp_function_role role = hp_hot_role(stacks, frame);
    const bool is_in_kernel = below != 0 && hp_hot_role(stacks, cleaned[below].frame) == HP_ROLE_KERNEL;
    if (role == HP_ROLE_START || (is_in_kernel && role == HP_ROLE_KERNEL))
        return below;
    const uint32_t outer =
        role == HP_ROLE_NAMELESS ? (cleaned[below].frame == frame ? below : 0) : outer_call(cleaned, below, frame);
    if (outer != 0)
        return outer;
    cleaned[at] = (struct cleaned){frame, below, cleaned[below].depth + 1};
    return at;
}

/*
 * Code without names is left out if a function with a name follows, and if it is the program itself, which says as
 * little as "main". Returns how many frames remain.
 */
static uint32_t leave_out(const struct hp_hot_stacks *stacks, uint32_t *frames, uint32_t count)
{
    uint32_t last = 0, kept = 0;
    for (uint32_t at = 0; at < count; at++)
        if (hp_hot_role(stacks, frames[at]) == HP_ROLE_CODE)
            last = at;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t outer = 0;
        if (hp_hot_role(stacks, frames[at]) == HP_ROLE_NAMELESS) {
            const bool is_program = hp_is_program_file(hp_hot_found(stacks, frames[at])->library);
            if (at < last || (at + 1 < count && is_program))
                continue;
            while (outer < kept && frames[outer] != frames[at])
                outer++;
            kept = outer;
        }
        frames[kept++] = frames[at];
    }
    return kept;
}

static uint64_t weight_of(const struct hp_hot_stacks *stacks, const struct hp_found_node *node)
{
    const uint64_t cpu_ns = node->user_ns + node->kernel_ns;
    if (stacks->held_ns != NULL)
        return stacks->held_ns[node - stacks->profile->nodes];
    return stacks->is_outside ? hp_less(cpu_ns, node->zoned_ns) : stacks->is_wall ? node->wall_ns : cpu_ns;
}

static void add_stack(struct hp_hot_stacks *stacks, const struct cleaned *cleaned, uint32_t node, uint64_t ns,
                      size_t *used)
{
    uint32_t *frames = stacks->frames + *used;
    uint32_t count = cleaned[node].depth;
    for (uint32_t at = node, place = count; at != 0; at = cleaned[at].outer)
        frames[--place] = cleaned[at].frame;
    count = leave_out(stacks, frames, count);
    stacks->ns += ns;
    if (count == 0)
        return;
    stacks->all[stacks->count++] = (struct hp_hot_stack){ns, *used, count};
    *used += count;
    stacks->own_ns[frames[count - 1]] += ns;
    for (uint32_t at = 0; at < count; at++) {
        stacks->depths[frames[at]] += (double)ns * at;
        stacks->seen_ns[frames[at]] += ns;
    }
}

/* The sums by frame; those of functions with names are as in the table of functions. */
static bool add_totals(struct hp_hot_stacks *stacks, hp_is_of_program *is_of_program, const void *context)
{
    const struct hp_function_profile *profile = stacks->profile;
    uint64_t *inside = hp_arena_take_array(stacks->arena, profile->node_count + 1, sizeof *inside);
    if (inside == NULL)
        return false;
    for (size_t at = profile->node_count; at-- > 1;) {
        const struct hp_found_node *node = &profile->nodes[at];
        if (is_of_program(context, node->process))
            inside[at] += weight_of(stacks, node);
        inside[node->parent] += inside[at];
        if (node->function != HP_NO_FOUND && !node->is_inner)
            stacks->total_ns[node->function] += inside[at];
    }
    for (size_t at = 0; at < profile->count; at++) {
        const uint64_t seen_ns = stacks->seen_ns[at];
        stacks->depths[at] = seen_ns > 0 ? stacks->depths[at] / (double)seen_ns : 0;
        if (hp_hot_role(stacks, (uint32_t)at) == HP_ROLE_NAMELESS || seen_ns == 0)
            stacks->total_ns[at] = seen_ns;
    }
    return true;
}

static bool make_room(struct hp_hot_stacks *stacks, const struct cleaned *cleaned, const uint32_t *into)
{
    const size_t functions = stacks->profile->count + 1;
    size_t count = 0, frames = 0;
    for (size_t at = 0; at < stacks->profile->node_count; at++)
        if (weight_of(stacks, &stacks->profile->nodes[at]) > 0) {
            count++;
            frames += cleaned[into[at]].depth;
        }
    stacks->all = hp_arena_take_array(stacks->arena, count + 1, sizeof *stacks->all);
    stacks->frames = hp_arena_take_array(stacks->arena, frames + 1, sizeof *stacks->frames);
    stacks->total_ns = hp_arena_take_array(stacks->arena, functions, sizeof *stacks->total_ns);
    stacks->seen_ns = hp_arena_take_array(stacks->arena, functions, sizeof *stacks->seen_ns);
    stacks->own_ns = hp_arena_take_array(stacks->arena, functions, sizeof *stacks->own_ns);
    stacks->depths = hp_arena_take_array(stacks->arena, functions, sizeof *stacks->depths);
    stacks->tally = hp_arena_take_array(stacks->arena, functions, sizeof *stacks->tally);
    return stacks->all != NULL && stacks->frames != NULL && stacks->total_ns != NULL && stacks->seen_ns != NULL &&
           stacks->own_ns != NULL && stacks->depths != NULL && stacks->tally != NULL;
}

#define WHOLE_PART 0.6 /* of the samples have complete stacks: else callers are not told */

static bool clean(struct hp_hot_stacks *stacks, hp_is_of_program *is_of_program, const void *context)
{
    const struct hp_function_profile *profile = stacks->profile;
    struct hp_arena *arena = stacks->arena;
    size_t used = 0;
    stacks->knows_callers = (double)profile->counts.whole >= WHOLE_PART * (double)profile->counts.samples;
    struct cleaned *cleaned = hp_arena_take_array(arena, profile->node_count + 1, sizeof *cleaned);
    uint32_t *into = hp_arena_take_array(arena, profile->node_count + 1, sizeof *into);
    if (cleaned == NULL || into == NULL || !classify(stacks))
        return false;
    cleaned[0].frame = NONE;
    for (uint32_t at = 1; at < profile->node_count; at++)
        into[at] = clean_node(stacks, cleaned, at, into[profile->nodes[at].parent]);
    if (!make_room(stacks, cleaned, into))
        return false;
    for (uint32_t at = 1; at < profile->node_count; at++) {
        const struct hp_found_node *node = &profile->nodes[at];
        if (weight_of(stacks, node) > 0 && is_of_program(context, node->process))
            add_stack(stacks, cleaned, into[at], weight_of(stacks, node), &used);
    }
    return add_totals(stacks, is_of_program, context);
}

static bool is_any(const void *context, uint32_t process)
{
    (void)context;
    (void)process;
    return true;
}

bool hp_hot_stacks_make(struct hp_hot_stacks *stacks, struct hp_arena *arena,
                        const struct hp_function_profile *profile, hp_is_of_program *is_of_program,
                        const void *context)
{
    *stacks = (struct hp_hot_stacks){
        .profile = profile, .arena = arena, .program = "", .shown = "", .is_wall = hp_found_has_wall(profile)};
    return clean(stacks, is_of_program != NULL ? is_of_program : is_any, context);
}

bool hp_hot_stacks_make_outside(struct hp_hot_stacks *stacks, struct hp_arena *arena,
                                const struct hp_function_profile *profile)
{
    *stacks =
        (struct hp_hot_stacks){.profile = profile, .arena = arena, .program = "", .shown = "", .is_outside = true};
    return clean(stacks, is_any, NULL);
}

bool hp_hot_stacks_make_held(struct hp_hot_stacks *stacks, struct hp_arena *arena,
                             const struct hp_function_profile *profile, const struct hp_found_function *waiter)
{
    uint64_t *held_ns = hp_arena_take_array(arena, profile->node_count + 1, sizeof *held_ns);
    *stacks =
        (struct hp_hot_stacks){.profile = profile, .arena = arena, .program = "", .shown = "", .held_ns = held_ns};
    for (size_t at = 0; held_ns != NULL && at < profile->hold_count; at++)
        if (&profile->all[profile->holds[at].function] == waiter)
            held_ns[profile->holds[at].node] += profile->holds[at].ns;
    return held_ns != NULL && clean(stacks, is_any, NULL);
}
