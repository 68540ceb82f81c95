/* Stacks of functions that waited for locks, and of those that held them. SPDX-License-Identifier: MIT */
#include "lock_stacks.h"

#include <string.h>

#include "arena.h"
#include "function_role.h"
#include "layout.h"
#include "lock_causes.h"
#include "text.h"
#include "utf8.h"

#define MOST_FRAMES 64u /* functions of a stack */

static bool has_function(const struct hp_function_profile *profile, uint32_t node, const char *name)
{
    for (uint32_t at = node; at != 0; at = profile->nodes[at].parent)
        if (profile->nodes[at].function != HP_NO_FOUND &&
            hp_lock_is_function(name, profile->all[profile->nodes[at].function].name))
            return true;
    return false;
}

static const char *stack_text(struct hp_fields *to, const struct hp_function_profile *profile, uint32_t node)
{
    uint32_t path[MOST_FRAMES], count = 0;
    char bytes[2048];
    struct hp_text text;
    for (uint32_t at = node; at != 0 && count < MOST_FRAMES; at = profile->nodes[at].parent)
        if (profile->nodes[at].function != HP_NO_FOUND)
            path[count++] = profile->nodes[at].function;
    hp_text_init(&text, bytes, sizeof bytes);
    for (uint32_t at = count; at-- > 0;) {
        const char *name = profile->all[path[at]].shown;
        hp_utf8_put_safe(&text, name, strlen(name));
        hp_text_string(&text, at > 0 ? ";" : "");
    }
    return count > 0 ? hp_fields_copy(to, bytes, text.length) : NULL;
}

/* The first hold of those that a function waited for; they are sorted. */
static const struct hp_found_hold *first_hold(const struct hp_function_profile *profile, uint32_t function)
{
    size_t from = 0, to = profile->hold_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const bool is_before = profile->holds[middle].function < function;
        *(is_before ? &from : &to) = is_before ? middle + 1 : middle;
    }
    return profile->holds + from;
}

/* 0: there is no such stack. */
static uint32_t node_of_holder(const struct hp_function_profile *profile, uint32_t function, const char *holder)
{
    const struct hp_found_hold *longest = NULL, *end = profile->holds + profile->hold_count;
    for (const struct hp_found_hold *hold = first_hold(profile, function); hold < end && hold->function == function;
         hold++)
        if ((longest == NULL || hold->ns > longest->ns) &&
            (holder == NULL || has_function(profile, hold->node, holder)))
            longest = hold;
    return longest != NULL ? longest->node : 0;
}

const char *hp_held_stack(struct hp_fields *to, const struct hp_function_profile *profile, uint32_t function,
                          const char *holder)
{
    return stack_text(to, profile, node_of_holder(profile, function, holder));
}

/* ------------------------------------------------------------------------------------------ stacks of functions */

/* By what a thread in a stack did: the first ones waited for such things. */
enum { OF_LOCK, OF_CONDITION, OF_SEMAPHORE, OF_BARRIER, OF_FUTEX, WAYS_TO_WAIT, OF_ANY = WAYS_TO_WAIT, WAYS };
static const uint32_t causes[WAYS_TO_WAIT] = {[OF_LOCK] = HP_WAIT_LOCK,
                                              [OF_CONDITION] = HP_WAIT_CONDITION,
                                              [OF_SEMAPHORE] = HP_WAIT_SEMAPHORE,
                                              [OF_BARRIER] = HP_WAIT_BARRIER,
                                              [OF_FUTEX] = HP_WAIT_FUTEX};

struct best {
    uint32_t node; /* 0: none */
    uint64_t ns;
};

struct hp_lock_stacks {
    const struct hp_function_profile *profile; /* NULL: there are no stacks */
    struct best (*of)[WAYS];                   /* of each function: the node with it that has most, with callees */
    struct best *held;                         /* where it was longest while others waited for locks */
};

static void raise_to(struct best *best, uint32_t node, uint64_t ns)
{
    if (ns > best->ns)
        *best = (struct best){node, ns};
}

static void add_own(const struct hp_found_node *node, uint64_t sums[WAYS])
{
    sums[OF_ANY] += node->user_ns + node->kernel_ns + node->waited_ns;
    for (unsigned way = 0; way < WAYS_TO_WAIT && node->waits.text != NULL; way++)
        sums[way] += node->cause == causes[way] ? node->waited_ns : 0;
}

/* Parents come first, so from the end each is complete when its parent is reached. */
static void find_best(struct hp_lock_stacks *stacks, uint64_t (*sums)[WAYS])
{
    const struct hp_function_profile *profile = stacks->profile;
    for (uint32_t at = (uint32_t)profile->node_count; at-- > 1;) {
        const struct hp_found_node *node = &profile->nodes[at];
        add_own(node, sums[at]);
        for (unsigned way = 0; way < WAYS; way++) {
            sums[node->parent][way] += sums[at][way];
            if (node->function != HP_NO_FOUND)
                raise_to(&stacks->of[node->function][way], at, sums[at][way]);
        }
    }
    for (size_t at = 0; at < profile->hold_count; at++)
        for (uint32_t node = profile->holds[at].node; node != 0; node = profile->nodes[node].parent)
            if (profile->nodes[node].function != HP_NO_FOUND)
                raise_to(&stacks->held[profile->nodes[node].function], profile->holds[at].node,
                         profile->holds[at].ns);
}

struct hp_lock_stacks *hp_lock_stacks_make(struct hp_arena *arena, const struct hp_function_profile *profile)
{
    struct hp_lock_stacks *stacks = hp_arena_take(arena, sizeof *stacks);
    if (stacks == NULL || profile == NULL || profile->node_count == 0)
        return stacks;
    uint64_t(*sums)[WAYS] = hp_arena_take_array(arena, profile->node_count, sizeof *sums);
    stacks->of = hp_arena_take_array(arena, profile->count + 1, sizeof *stacks->of);
    stacks->held = hp_arena_take_array(arena, profile->count + 1, sizeof *stacks->held);
    if (sums == NULL || stacks->of == NULL || stacks->held == NULL)
        return NULL;
    stacks->profile = profile;
    find_best(stacks, sums);
    return stacks;
}

/* -------------------------------------------------------------------------------------------- those of a block */

/* Functions of several files may have one name. */
static struct best best_of(const struct hp_lock_stacks *stacks, const char *name, const struct hp_lock_block *block)
{
    struct best best = {0};
    for (size_t at = 0; at < stacks->profile->count; at++) {
        if (!hp_lock_is_function(name, stacks->profile->all[at].name))
            continue;
        for (unsigned way = 0; way < WAYS_TO_WAIT && block != NULL; way++)
            if (hp_lock_is_for(block->lock->kind, causes[way]))
                raise_to(&best, stacks->of[at][way].node, stacks->of[at][way].ns);
        if (block == NULL)
            raise_to(&best, stacks->of[at][OF_ANY].node, stacks->of[at][OF_ANY].ns);
    }
    return best;
}

static uint32_t waiter_node(const struct hp_lock_stacks *stacks, const struct hp_lock_block *block)
{
    return stacks->profile != NULL && block->waiter != NULL ? best_of(stacks, block->waiter, block).node : 0;
}

/* While somebody waited for a lock. */
static uint32_t held_node(const struct hp_lock_stacks *stacks, const struct hp_lock_block *block)
{
    const struct hp_function_profile *profile = stacks->profile;
    struct best best = {0};
    for (uint32_t at = 0; at < profile->count; at++) {
        const uint32_t of_waiter =
            block->waiter != NULL && hp_lock_is_function(block->waiter, profile->all[at].name)
                ? node_of_holder(profile, at, block->holder)
                : 0;
        if (of_waiter != 0)
            return of_waiter;
        if (hp_lock_is_function(block->holder, profile->all[at].name))
            raise_to(&best, stacks->held[at].node, stacks->held[at].ns);
    }
    return best.node;
}

static uint32_t holder_node(const struct hp_lock_stacks *stacks, const struct hp_lock_block *block)
{
    if (stacks->profile == NULL || block->holder == NULL)
        return 0;
    const uint32_t held = hp_lock_is_for(block->lock->kind, HP_WAIT_LOCK) ? held_node(stacks, block) : 0;
    return held != 0 ? held : best_of(stacks, block->holder, NULL).node;
}

const char *hp_lock_waiter_stack(struct hp_fields *to, const struct hp_lock_stacks *stacks,
                                 const struct hp_lock_block *block)
{
    return stack_text(to, stacks->profile, waiter_node(stacks, block));
}

const char *hp_lock_holder_stack(struct hp_fields *to, const struct hp_lock_stacks *stacks,
                                 const struct hp_lock_block *block)
{
    return stack_text(to, stacks->profile, holder_node(stacks, block));
}

/* ------------------------------------------------------------------------------------------------- a sentence */

#define MOST_SHOWN 5u

/* "main > serve > find"; ".. > " before it if there are more. False: none is the program's. */
static bool put_stack(struct hp_text *text, const struct hp_function_profile *profile, uint32_t node,
                      const char *before)
{
    const char *names[MOST_SHOWN + 1];
    uint32_t count = 0;
    for (uint32_t at = node; at != 0 && count <= MOST_SHOWN; at = profile->nodes[at].parent) {
        const struct hp_found_function *function =
            profile->nodes[at].function != HP_NO_FOUND ? &profile->all[profile->nodes[at].function] : NULL;
        if (function != NULL && hp_function_role(function->name, function->library) == HP_ROLE_CODE)
            names[count++] = function->shown;
    }
    if (count == 0)
        return false;
    hp_text_string(text, before);
    hp_text_string(text, count > MOST_SHOWN ? ".. > " : "");
    for (uint32_t at = count < MOST_SHOWN ? count : MOST_SHOWN; at-- > 0;) {
        hp_utf8_put_safe(text, names[at], strlen(names[at]));
        hp_text_string(text, at > 0 ? " > " : "");
    }
    return true;
}

const char *hp_lock_stacks_sentence(struct hp_fields *to, const struct hp_lock_stacks *stacks,
                                    const struct hp_lock_block *block)
{
    const uint32_t waiter = waiter_node(stacks, block), holder = holder_node(stacks, block);
    char bytes[2048];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    const bool has_waiter = waiter != 0 && put_stack(&text, stacks->profile, waiter, "waits in ");
    hp_text_string(&text, has_waiter && holder != 0 ? "; " : "");
    const bool has_holder =
        holder != 0 && put_stack(&text, stacks->profile, holder, hp_lock_held_words(block->lock->kind));
    if (has_waiter && holder != 0 && !has_holder)
        text.length -= 2;
    return has_waiter || has_holder ? hp_fields_copy(to, bytes, text.length) : NULL;
}
