/* Sums stacks by function. SPDX-License-Identifier: MIT */
#include "function_sums.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "function_profile.h"
#include "function_role.h"
#include "growing_array.h"
#include "languages.h"
#include "lock_sums.h"
#include "named_stacks.h"
#include "text.h"
#include "wait_cause.h"

/* ---------------------------------------------------------------------------------------------------- heap sums */

/*
 * Finds the functions that allocate. The direct caller of malloc may be in the C library or in a C++ container, on
 * behalf of its own caller: that one is the allocating function.
 */

/*
 * Templates are compiled into the program, and their names may begin with the return type: "void
 * std::vector<int>::push_back(int)".
 */
static bool is_standard(const char *name)
{
    const char *found = strstr(name, "std::"), *arguments = strpbrk(name, "(<");
    if (hp_text_begins(name, "__gnu_cxx::"))
        return true;
    return found == name || (found != NULL && found[-1] == ' ' && (arguments == NULL || found < arguments));
}

/*
 * Functions that allocate for their callers, by name; the C library is recognised by its file, unless it is linked
 * statically.
 */
static bool allocates_for_others(const char *name)
{
    static const char *const names[] = {"malloc",        "calloc",   "realloc", "reallocarray",  "posix_memalign",
                                        "aligned_alloc", "strdup",   "strndup", "asprintf",      "vasprintf",
                                        "getline",       "getdelim", "fopen",   "fdopen",        "opendir",
                                        "realpath",      "qsort",    "setenv",  "open_memstream"};
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        if (strcmp(name, names[at]) == 0)
            return true;
    return hp_text_begins(name, "operator new") || hp_text_begins(name, "_IO_") ||
           hp_text_begins(name, "__libc_") || is_standard(name);
}

/* The allocating function of the stack that ends with a node. HP_NO_FUNCTION: nothing of the stack is known. */
static uint32_t allocating_function(const struct hp_named_stacks *stacks, uint32_t node)
{
    uint32_t innermost = HP_NO_FUNCTION;
    for (uint32_t at = node; at != HP_STACK_ROOT; at = stacks->nodes[at].parent) {
        const struct hp_named_node *named = &stacks->nodes[at];
        if (named->image == HP_STACK_INCOMPLETE && innermost != HP_NO_FUNCTION)
            break;
        const bool is_library = hp_is_system_library(stacks, named->image);
        for (uint32_t frame = 0; frame < named->frame_count; frame++) {
            const uint32_t function = stacks->frames[named->first_frame + frame].function;
            if (innermost == HP_NO_FUNCTION)
                innermost = function;
            if (!is_library && !allocates_for_others(stacks->functions[function].name))
                return function;
        }
    }
    return innermost;
}

static void add(struct hp_found_heap *heap, const struct hp_named_node *node)
{
    heap->bytes += node->weight[HP_STACK_ALLOC_BYTES];
    heap->blocks += node->weight[HP_STACK_ALLOC_BLOCKS];
    heap->peak_bytes += node->weight[HP_STACK_PEAK_BYTES];
    heap->peak_blocks += node->weight[HP_STACK_PEAK_BLOCKS];
    heap->left_bytes += node->weight[HP_STACK_LEFT_BYTES];
    heap->left_blocks += node->weight[HP_STACK_LEFT_BLOCKS];
}

/* Adds what functions allocated themselves; `functions` is indexed as in `stacks`. */
static void heap_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                          struct hp_function_profile *profile)
{
    for (uint32_t at = 1; at < stacks->node_count; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        if (node->weight[HP_STACK_ALLOC_SAMPLES] == 0)
            continue;
        add(&profile->heap, node);
        const uint32_t function = allocating_function(stacks, at);
        if (function == HP_NO_FUNCTION)
            continue;
        add(&functions[function].heap, node);
        functions[function].alloc_samples += node->weight[HP_STACK_ALLOC_SAMPLES];
    }
}

/* ------------------------------------------------------------------------------------------------- waiting sums */

/* Sums the waits of each function, from waiting stacks. */

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
    functions[wait->waiter].blocked_ns[hp_part_of_cause(wait->cause)] += blocked_of(wait);
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

/* Adds each function's own waits, indexed as in the stacks, and their totals. False: no memory. */
static bool waiting_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
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

/* ---------------------------------------------------------------------------------------------------- zone sums */

/* Sums functions by the zones in which they were found. */

/* Functions take the place of nodes, and their total in each zone, with callees, is the first weight. */
#define AMOUNT 0

struct summing {
    const struct hp_named_stacks *stacks;
    enum hp_zone_part part;
    struct hp_zone_shares sums;
    size_t *latest; /* by function: its last share, plus 1; it may be on a stack more than once */
};

static uint64_t amount_of(const struct hp_zone_share *share, enum hp_zone_part part)
{
    switch (part) {
    case HP_ZONES_OF_CPU:
        return share->weight[HP_STACK_USER_NS] + share->weight[HP_STACK_KERNEL_NS];
    case HP_ZONES_OF_WAITING:
        return share->weight[HP_STACK_WAITED_NS];
    default:
        return share->weight[HP_STACK_ALLOC_BYTES];
    }
}

/* Adds to all functions of one place on a stack. */
static bool add_to_frames(struct summing *summing, const struct hp_named_node *node, size_t number, uint64_t amount)
{
    const struct hp_zone_share *share = &summing->stacks->shares[number];
    for (uint32_t at = 0; at < node->frame_count; at++) {
        const uint32_t function = summing->stacks->frames[node->first_frame + at].function;
        if (summing->latest[function] == number + 1)
            continue;
        struct hp_zone_share *sum = hp_zone_shares_at(&summing->sums, function, share->zone);
        if (sum == NULL)
            return false;
        sum->weight[AMOUNT] += amount;
        summing->latest[function] = number + 1;
    }
    return true;
}

static bool sum_zone_samples(struct summing *summing)
{
    const struct hp_named_stacks *stacks = summing->stacks;
    for (size_t number = 0; number < stacks->share_count; number++) {
        const uint64_t amount = amount_of(&stacks->shares[number], summing->part);
        const uint32_t node = amount > 0 ? stacks->shares[number].node : HP_STACK_ROOT;
        for (uint32_t at = node; at != HP_STACK_ROOT; at = stacks->nodes[at].parent)
            if (!add_to_frames(summing, &stacks->nodes[at], number, amount))
                return false;
    }
    return true;
}

static int by_function(const void *a, const void *b)
{
    const struct hp_zone_share *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->weight[AMOUNT] != y->weight[AMOUNT])
        return x->weight[AMOUNT] < y->weight[AMOUNT] ? 1 : -1;
    return x->zone < y->zone ? -1 : x->zone > y->zone;
}

static void hand_out(const struct summing *summing, struct hp_found_zone *zones,
                     struct hp_found_function *functions)
{
    for (size_t at = 0; at < summing->sums.count; at++) {
        const struct hp_zone_share *sum = &summing->sums.all[at];
        struct hp_found_zones *found = &functions[sum->node].zones[summing->part];
        zones[at] = (struct hp_found_zone){summing->stacks->zones[sum->zone].name, sum->weight[AMOUNT]};
        if (found->count++ == 0)
            found->all = &zones[at];
    }
}

static bool add_part(const struct hp_named_stacks *stacks, enum hp_zone_part part,
                     struct hp_found_function *functions, struct hp_function_profile *profile)
{
    struct summing summing = {
        .stacks = stacks, .part = part, .latest = calloc(stacks->function_count + 1, sizeof *summing.latest)};
    struct hp_zone_shares *sums = &summing.sums;
    struct hp_found_zone *zones = NULL;
    if (summing.latest != NULL && sum_zone_samples(&summing))
        zones = calloc(sums->count + 1, sizeof *zones);
    if (zones != NULL) {
        if (sums->count > 0)
            qsort(sums->all, sums->count, sizeof *sums->all, by_function);
        hand_out(&summing, zones, functions);
        profile->zones[part] = (struct hp_found_zones){zones, sums->count};
    }
    hp_zone_shares_free(sums);
    free(summing.latest);
    return zones != NULL;
}

/* Adds the zones of each function, indexed as in the stacks. The profile owns their lists. False: no memory. */
static bool zone_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                          struct hp_function_profile *profile)
{
    for (size_t part = 0; part < HP_ZONE_PARTS; part++)
        if (!add_part(stacks, (enum hp_zone_part)part, functions, profile)) {
            while (part-- > 0) {
                free((void *)(uintptr_t)profile->zones[part].all);
                profile->zones[part] = (struct hp_found_zones){0};
            }
            return false;
        }
    return true;
}

/* False: no memory. */
static bool zone_times_add(const struct hp_named_stacks *stacks, struct hp_function_profile *profile)
{
    profile->zone_times = calloc(stacks->zone_count + 1, sizeof *profile->zone_times);
    if (profile->zone_times == NULL)
        return false;
    profile->zone_time_count = stacks->zone_count;
    for (size_t at = 0; at < stacks->zone_count; at++)
        profile->zone_times[at].name = stacks->zones[at].name;
    for (size_t at = 0; at < stacks->share_count; at++) {
        struct hp_zone_time *time = &profile->zone_times[stacks->shares[at].zone];
        time->cpu_ns += amount_of(&stacks->shares[at], HP_ZONES_OF_CPU);
        time->wall_ns += stacks->shares[at].weight[HP_STACK_WALL_NS];
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------- program sums */

/* The weights of each stack, in the program that it was in. Programs take the place of zones. NULL: no memory. */
static struct hp_zone_share *shares_of_programs(const struct hp_named_stacks *stacks, size_t *ret_count)
{
    struct hp_zone_share *shares = calloc(stacks->node_count + 1, sizeof *shares);
    uint32_t *program = calloc(stacks->node_count + 1, sizeof *program);
    size_t count = 0;
    if (program != NULL)
        program[HP_STACK_ROOT] = HP_NO_PROGRAM;
    for (uint32_t at = 1; shares != NULL && program != NULL && at < stacks->node_count; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        program[at] = hp_is_process(node) ? hp_process_program(node) : program[node->parent];
        if (program[at] >= stacks->program_count)
            continue;
        shares[count] = (struct hp_zone_share){.node = at, .zone = program[at]};
        memcpy(shares[count++].weight, node->weight, sizeof node->weight);
    }
    if (program == NULL) {
        free(shares);
        shares = NULL;
    }
    free(program);
    *ret_count = count;
    return shares;
}

/* Names the program of each function that has none yet, indexed as in the stacks. False: no memory. */
static bool programs_by(enum hp_zone_part part, const struct hp_named_stacks *by_program,
                        struct hp_found_function *functions)
{
    struct summing summing = {.stacks = by_program,
                              .part = part,
                              .latest = calloc(by_program->function_count + 1, sizeof *summing.latest)};
    const bool is_done = summing.latest != NULL && sum_zone_samples(&summing);
    if (is_done && summing.sums.count > 0)
        qsort(summing.sums.all, summing.sums.count, sizeof *summing.sums.all, by_function);
    for (size_t at = summing.sums.count; is_done && at-- > 0;) { /* the largest comes last */
        const struct hp_zone_share *sum = &summing.sums.all[at];
        struct hp_found_function *function = &functions[sum->node];
        if (part != HP_ZONES_OF_CPU && function->program_ns > 0)
            continue;
        function->program = by_program->programs[sum->zone].name;
        function->program_ns = part == HP_ZONES_OF_CPU ? sum->weight[AMOUNT] : 0;
    }
    hp_zone_shares_free(&summing.sums);
    free(summing.latest);
    return is_done;
}

/* By CPU time; by waiting, if it used none. */
static bool program_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions)
{
    struct hp_named_stacks by_program = *stacks;
    by_program.shares = shares_of_programs(stacks, &by_program.share_count);
    const bool is_done = by_program.shares != NULL && programs_by(HP_ZONES_OF_CPU, &by_program, functions) &&
                         programs_by(HP_ZONES_OF_WAITING, &by_program, functions);
    free(by_program.shares);
    return is_done;
}

/* ------------------------------------------------------------------------------------------------ function sums */

/* Totals of functions with callees: the weights they are made of, and where they are stored. */
#define NO_WEIGHT HP_STACK_WEIGHTS
#define TOTAL(field) offsetof(struct hp_found_function, field)
static const struct {
    enum hp_stack_weight weight, more;
    size_t total;
} measures[] = {
    {HP_STACK_USER_NS, HP_STACK_KERNEL_NS, TOTAL(total_ns)},
    {HP_STACK_WALL_NS, NO_WEIGHT, TOTAL(total_wall_ns)},
    {HP_STACK_WAITED_NS, NO_WEIGHT, TOTAL(total_waiting_ns)},
    {HP_STACK_ALLOC_BYTES, NO_WEIGHT, TOTAL(total_heap.bytes)},
    {HP_STACK_ALLOC_BLOCKS, NO_WEIGHT, TOTAL(total_heap.blocks)},
    {HP_STACK_PEAK_BYTES, NO_WEIGHT, TOTAL(total_heap.peak_bytes)},
    {HP_STACK_PEAK_BLOCKS, NO_WEIGHT, TOTAL(total_heap.peak_blocks)},
    {HP_STACK_LEFT_BYTES, NO_WEIGHT, TOTAL(total_heap.left_bytes)},
    {HP_STACK_LEFT_BLOCKS, NO_WEIGHT, TOTAL(total_heap.left_blocks)},
};
#define SUMS (sizeof measures / sizeof measures[0])
enum { CPU_SUM, WALL_SUM, WAITING_SUM }; /* the first ones */

/* State of the walk through the tree. */
struct walk {
    const struct hp_named_stacks *stacks;
    struct hp_found_function *functions;
    uint64_t (*inside)[SUMS];        /* by node: its sum with all nodes below it */
    uint32_t *first_child, *sibling; /* by node; 0: none */
    uint32_t *open;                  /* by function: how often it is on the path from the root */
    uint32_t *found;                 /* by node: the last one of its functions in the tree of functions */
    struct hp_function_profile *profile;
};

static uint64_t weight_of(const struct hp_named_node *node, size_t sum)
{
    const enum hp_stack_weight more = measures[sum].more;
    return node->weight[measures[sum].weight] + (more != NO_WEIGHT ? node->weight[more] : 0);
}

/* Children have higher numbers than their parents. */
static void sum_up(struct walk *walk)
{
    const struct hp_named_node *nodes = walk->stacks->nodes;
    for (size_t at = walk->stacks->node_count; at-- > 1;) {
        const uint32_t parent = nodes[at].parent;
        for (size_t sum = 0; sum < SUMS; sum++) {
            walk->inside[at][sum] += weight_of(&nodes[at], sum);
            walk->inside[parent][sum] += walk->inside[at][sum];
        }
        walk->sibling[at] = walk->first_child[parent];
        walk->first_child[parent] = (uint32_t)at;
    }
}

static const struct hp_named_frame *frames_of(const struct walk *walk, uint32_t number, uint32_t *ret_count)
{
    const struct hp_named_node *node = &walk->stacks->nodes[number];
    *ret_count = node->frame_count;
    return walk->stacks->frames + node->first_frame;
}

static void add_totals(struct hp_found_function *function, const uint64_t *inside)
{
    for (size_t sum = 0; sum < SUMS; sum++)
        *(uint64_t *)(void *)((char *)function + measures[sum].total) += inside[sum];
}

/* A node that is new in the tree of functions, below that of its parent. */
static struct hp_found_node *add_found(struct walk *walk, uint32_t node, uint32_t parent, uint32_t function)
{
    struct hp_function_profile *profile = walk->profile;
    struct hp_found_node *found = &profile->nodes[profile->node_count];
    *found = (struct hp_found_node){.parent = parent,
                                    .function = function,
                                    .process = profile->nodes[parent].process,
                                    .is_inner = function != HP_NO_FOUND && walk->open[function] > 0};
    walk->found[node] = (uint32_t)profile->node_count++;
    return found;
}

static void add_process(struct walk *walk, uint32_t number)
{
    struct hp_function_profile *profile = walk->profile;
    const struct hp_named_node *node = &walk->stacks->nodes[number];
    const uint32_t program = hp_process_program(node);
    add_found(walk, number, 0, HP_NO_FOUND)->process = (uint32_t)profile->process_count;
    profile->processes[profile->process_count++] = (struct hp_found_process){
        .pid = hp_process_pid(node),
        .program = hp_process_program_name(walk->stacks, node),
        .file = program < walk->stacks->program_count ? walk->stacks->programs[program].file : "",
        .cpu_ns = walk->inside[number][CPU_SUM]};
}

static void add_wait(struct walk *walk, uint32_t number, uint32_t parent)
{
    const struct hp_named_node *node = &walk->stacks->nodes[number];
    const uint64_t ns = node->weight[HP_STACK_WAITED_NS], idle_ns = node->weight[HP_STACK_IDLE_NS];
    struct hp_found_node *found = add_found(walk, number, parent, HP_NO_FOUND);
    found->cause = cause_of(node);
    found->waits = cause_named(walk->functions[walk->stacks->frames[node->first_frame].function].name);
    found->waited_ns = ns;
    found->idle_ns = idle_ns < ns ? idle_ns : ns;
}

/* Whether the tree of functions has a node of the stacks. */
static bool is_found(const struct walk *walk, uint32_t number)
{
    return walk->inside[number][CPU_SUM] > 0 || walk->inside[number][WAITING_SUM] > 0;
}

/* A node of the stacks has one for each function that was inlined there. */
static void add_to_tree(struct walk *walk, uint32_t number)
{
    const struct hp_named_node *node = &walk->stacks->nodes[number];
    uint32_t count, parent = walk->found[node->parent];
    const struct hp_named_frame *frames = frames_of(walk, number, &count);
    walk->found[number] = parent;
    if (!is_found(walk, number))
        return;
    if (is_waiting(node)) {
        add_wait(walk, number, parent);
        return;
    }
    if (count == 0)
        add_process(walk, number);
    for (uint32_t at = count; at-- > 0;) {
        struct hp_found_node *found = add_found(walk, number, parent, frames[at].function);
        for (uint32_t outer = at + 1; outer < count; outer++) /* inlined into itself */
            found->is_inner |= frames[outer].function == frames[at].function;
        parent = walk->found[number];
        if (at > 0)
            continue;
        found->user_ns = node->weight[HP_STACK_USER_NS];
        found->kernel_ns = node->weight[HP_STACK_KERNEL_NS];
        found->samples = node->weight[HP_STACK_SAMPLES];
        found->wall_ns = node->weight[HP_STACK_WALL_NS];
    }
}

/* The outermost call of a function has the total; inner ones are part of it. */
static void enter(struct walk *walk, uint32_t node)
{
    uint32_t count;
    const struct hp_named_frame *frames = frames_of(walk, node, &count);
    add_to_tree(walk, node);
    for (uint32_t at = count; at-- > 0;)
        if (walk->open[frames[at].function]++ == 0)
            add_totals(&walk->functions[frames[at].function], walk->inside[node]);
}

static void leave(struct walk *walk, uint32_t node)
{
    uint32_t count;
    const struct hp_named_frame *frames = frames_of(walk, node, &count);
    for (uint32_t at = 0; at < count; at++)
        walk->open[frames[at].function]--;
}

static void add_own(struct walk *walk, uint32_t number)
{
    const struct hp_named_node *node = &walk->stacks->nodes[number];
    uint32_t count;
    const struct hp_named_frame *frames = frames_of(walk, number, &count);
    if (count == 0)
        return;
    struct hp_found_function *function = &walk->functions[frames[0].function];
    function->samples += node->weight[HP_STACK_SAMPLES];
    function->user_ns += node->weight[HP_STACK_USER_NS];
    function->kernel_ns += node->weight[HP_STACK_KERNEL_NS];
    function->wall_ns += node->weight[HP_STACK_WALL_NS];
}

/* Without recursion, since stacks may be deep: nodes know their parents. */
static void walk_through(struct walk *walk)
{
    const struct hp_named_node *nodes = walk->stacks->nodes;
    uint32_t at = walk->first_child[HP_STACK_ROOT];
    while (at != 0) {
        enter(walk, at);
        add_own(walk, at);
        if (walk->first_child[at] != 0) {
            at = walk->first_child[at];
            continue;
        }
        leave(walk, at);
        while (walk->sibling[at] == 0 && nodes[at].parent != HP_STACK_ROOT) {
            at = nodes[at].parent;
            leave(walk, at);
        }
        at = walk->sibling[at];
    }
}

static int by_own_time(const void *a, const void *b)
{
    const struct hp_found_function *x = a, *y = b;
    const uint64_t of_x = hp_found_work_ns(x), of_y = hp_found_work_ns(y);
    if (of_x != of_y)
        return of_x < of_y ? 1 : -1;
    if (x->waiting_ns != y->waiting_ns)
        return x->waiting_ns < y->waiting_ns ? 1 : -1;
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    if (x->total_waiting_ns != y->total_waiting_ns)
        return x->total_waiting_ns < y->total_waiting_ns ? 1 : -1;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->library, y->library);
}

static bool begin(struct walk *walk)
{
    const size_t nodes = walk->stacks->node_count + 1, functions = walk->stacks->function_count + 1;
    walk->inside = calloc(nodes, sizeof *walk->inside);
    walk->first_child = calloc(nodes, sizeof *walk->first_child);
    walk->sibling = calloc(nodes, sizeof *walk->sibling);
    walk->open = calloc(functions, sizeof *walk->open);
    walk->found = calloc(nodes, sizeof *walk->found);
    walk->functions = calloc(functions, sizeof *walk->functions);
    if (walk->found == NULL || walk->inside == NULL || walk->first_child == NULL || walk->sibling == NULL ||
        walk->open == NULL || walk->functions == NULL)
        return false;
    for (size_t at = 0; at < walk->stacks->function_count; at++) {
        const struct hp_named_function *named = &walk->stacks->functions[at];
        walk->functions[at] = (struct hp_found_function){.name = named->name,
                                                         .library = hp_library_name(walk->stacks, named->image),
                                                         .file = named->file,
                                                         .program = "",
                                                         .number = (uint32_t)at};
    }
    return true;
}

static void end(struct walk *walk)
{
    free(walk->inside);
    free(walk->first_child);
    free(walk->sibling);
    free(walk->open);
    free(walk->found);
    free(walk->functions);
}

/* Room for the tree of functions, which begins with its root. */
static bool begin_tree(struct walk *walk, struct hp_function_profile *profile)
{
    size_t nodes = 1, processes = 0;
    for (uint32_t at = 1; at < walk->stacks->node_count; at++) {
        const struct hp_named_node *node = &walk->stacks->nodes[at];
        nodes += !is_found(walk, at) ? 0 : node->frame_count > 0 ? node->frame_count : 1;
        processes += node->frame_count == 0;
    }
    walk->profile = profile;
    profile->nodes = calloc(nodes, sizeof *profile->nodes);
    profile->processes = calloc(processes + 1, sizeof *profile->processes);
    if (profile->nodes == NULL || profile->processes == NULL)
        return false;
    profile->nodes[profile->node_count++] = (struct hp_found_node){.function = HP_NO_FOUND, .process = HP_NO_FOUND};
    return true;
}

/* What was in zones is known by node of the stacks. */
static void add_zones(const struct walk *walk, struct hp_function_profile *profile)
{
    for (size_t at = 0; at < walk->stacks->share_count; at++) {
        const struct hp_zone_share *share = &walk->stacks->shares[at];
        profile->nodes[walk->found[share->node]].zoned_ns += amount_of(share, HP_ZONES_OF_CPU);
    }
}

static int by_segment(const void *a, const void *b)
{
    const struct hp_found_path *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* As what waits: the nearest function outside of the C library. */
static bool add_paths(const struct walk *walk, struct hp_function_profile *profile)
{
    const struct hp_named_stacks *stacks = walk->stacks;
    profile->paths = calloc(stacks->path_count + 1, sizeof *profile->paths);
    if (profile->paths == NULL)
        return false;
    for (size_t at = 0; at < stacks->path_count; at++) {
        const struct hp_path_share *share = &stacks->paths[at];
        profile->paths[profile->path_count++] =
            (struct hp_found_path){.node = walk->found[share->node],
                                   .function = hp_user_of(stacks, share->node),
                                   .pid = share->pid,
                                   .key = share->key,
                                   .cpu_ns = share->cpu_ns > 0 ? (uint64_t)share->cpu_ns : 0,
                                   .waited_ns = share->waited_ns > 0 ? (uint64_t)share->waited_ns : 0};
    }
    if (profile->path_count > 1)
        qsort(profile->paths, profile->path_count, sizeof *profile->paths, by_segment);
    return true;
}

/* Functions have got other places since the tree was made. */
static bool renumber_tree(const struct walk *walk, struct hp_function_profile *profile)
{
    uint32_t *place_of = calloc(walk->stacks->function_count + 1, sizeof *place_of);
    if (place_of == NULL)
        return false;
    for (size_t at = 0; at < profile->count; at++)
        place_of[profile->all[at].number] = (uint32_t)at;
    for (size_t at = 0; at < profile->node_count; at++)
        if (profile->nodes[at].function != HP_NO_FOUND)
            profile->nodes[at].function = place_of[profile->nodes[at].function];
    for (size_t at = 0; at < profile->hold_count; at++)
        profile->holds[at].function = place_of[profile->holds[at].function];
    for (size_t at = 0; at < profile->path_count; at++)
        if (profile->paths[at].function != HP_NO_FUNCTION)
            profile->paths[at].function = place_of[profile->paths[at].function];
    free(place_of);
    return true;
}

/* Of another process than those that were kept. */
static bool has_nothing(const struct hp_found_function *function)
{
    return function->samples == 0 && function->waits == 0 && function->alloc_samples == 0 &&
           function->total_ns == 0 && function->total_waiting_ns == 0 && function->total_heap.bytes == 0;
}

/* Wait causes are not functions, though stacks end with them. Returns how many functions remain. */
static size_t leave_causes_out(struct walk *walk)
{
    size_t count = 0;
    for (size_t at = 0; at < walk->stacks->function_count; at++)
        if (!hp_text_begins(walk->functions[at].name, HP_WAITING_NAME) && !has_nothing(&walk->functions[at]))
            walk->functions[count++] = walk->functions[at];
    return count;
}

static bool show_names(struct walk *walk, struct hp_function_profile *profile)
{
    const size_t count = walk->stacks->function_count;
    struct hp_shown_names shown;
    const char **full = malloc((count + 1) * sizeof *full);
    for (size_t at = 0; full != NULL && at < count; at++)
        full[at] = walk->functions[at].name;
    const bool is_done = full != NULL && hp_shown_names_make(full, count, &shown);
    free(full);
    if (!is_done)
        return false;
    for (size_t at = 0; at < count; at++)
        walk->functions[at].shown = shown.all[at];
    profile->shown_names = shown.texts;
    free(shown.all);
    return true;
}

/* ------------------------------------------------------------------------------------------------ without names */

/* Code that programs generate, which only they can name. */

/* By node, of a process: its program. Files of its stacks say which. */
struct generating {
    const struct hp_named_stacks *stacks;
    uint32_t *process;       /* by node: the node of its process */
    unsigned char *of_image; /* by image: its generator */
    unsigned char *program;  /* by node of a process: its generator */
};

static bool is_generated(const struct hp_named_stacks *stacks, const struct hp_named_node *node)
{
    return node->image == HP_STACK_NO_IMAGE && node->frame_count > 0 &&
           stacks->functions[stacks->frames[node->first_frame].function].image == HP_STACK_NO_IMAGE;
}

static void find_programs(struct generating *generating)
{
    const struct hp_named_stacks *stacks = generating->stacks;
    for (size_t at = 0; at < stacks->image_count; at++)
        generating->of_image[at] = (unsigned char)hp_language_generating(stacks->images[at].path);
    for (uint32_t at = 1; at < stacks->node_count; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        generating->process[at] = node->image == HP_STACK_PROCESS ? at : generating->process[node->parent];
        if (node->image < stacks->image_count && generating->of_image[node->image] != 0)
            generating->program[generating->process[at]] = generating->of_image[node->image];
    }
}

static void find_generator(const struct generating *generating, struct hp_nameless *nameless)
{
    const struct hp_named_stacks *stacks = generating->stacks;
    uint64_t ns[UCHAR_MAX + 1] = {0};
    size_t most = 0;
    for (size_t at = 1; at < stacks->node_count; at++)
        if (is_generated(stacks, &stacks->nodes[at]))
            ns[generating->program[generating->process[at]]] +=
                stacks->nodes[at].weight[HP_STACK_USER_NS] + stacks->nodes[at].weight[HP_STACK_KERNEL_NS];
    for (size_t at = 1; at <= hp_language_count; at++)
        most = ns[at] > (most > 0 ? ns[most] : 0) ? at : most;
    if (most == 0)
        return;
    nameless->generator = hp_languages[most - 1].generator;
    nameless->map_option = hp_languages[most - 1].map_option;
    nameless->generated_ns = ns[most];
}

/* The file with the most time in functions without a name. */
static bool find_nameless_library(const struct walk *walk, struct hp_nameless *nameless)
{
    const struct hp_named_stacks *stacks = walk->stacks;
    uint64_t *ns = calloc(stacks->image_count + 1, sizeof *ns);
    if (ns == NULL)
        return false;
    for (size_t at = 0; at < stacks->function_count; at++) {
        const struct hp_named_function *function = &stacks->functions[at];
        if (function->image >= stacks->image_count || !hp_is_nameless(function->name))
            continue;
        const struct hp_named_image *image = &stacks->images[function->image];
        ns[function->image] += walk->functions[at].user_ns + walk->functions[at].kernel_ns;
        if (ns[function->image] <= nameless->library_ns)
            continue;
        nameless->library = hp_library_name(stacks, function->image);
        nameless->library_ns = ns[function->image];
        nameless->debug_package = image->package != NULL && image->package[0] != '\0' ? image->package : NULL;
    }
    free(ns);
    return true;
}

static bool find_nameless(const struct walk *walk, struct hp_nameless *nameless)
{
    const struct hp_named_stacks *stacks = walk->stacks;
    struct generating generating = {.stacks = stacks,
                                    .process = calloc(stacks->node_count + 1, sizeof *generating.process),
                                    .of_image = calloc(stacks->image_count + 1, 1),
                                    .program = calloc(stacks->node_count + 1, 1)};
    const bool has_memory = generating.process != NULL && generating.of_image != NULL && generating.program != NULL;
    if (has_memory) {
        find_programs(&generating);
        find_generator(&generating, nameless);
    }
    free(generating.process);
    free(generating.of_image);
    free(generating.program);
    return has_memory && find_nameless_library(walk, nameless);
}

/* ------------------------------------------------------------------------------------------------ all functions */

bool hp_function_sums_make(const struct hp_named_stacks *stacks, struct hp_function_profile *ret_profile)
{
    struct walk walk = {.stacks = stacks};
    *ret_profile = (struct hp_function_profile){.counts = stacks->counts};
    if (!begin(&walk) || !show_names(&walk, ret_profile)) {
        end(&walk);
        return false;
    }
    sum_up(&walk);
    const bool has_tree = begin_tree(&walk, ret_profile);
    if (has_tree) {
        walk_through(&walk);
        add_zones(&walk, ret_profile);
    }
    if (!has_tree || !find_nameless(&walk, &ret_profile->nameless) ||
        !waiting_sums_add(stacks, walk.functions, ret_profile) || !add_paths(&walk, ret_profile) ||
        !hp_lock_sums_add(stacks, walk.found, walk.functions, ret_profile) ||
        !zone_sums_add(stacks, walk.functions, ret_profile) || !zone_times_add(stacks, ret_profile) ||
        !program_sums_add(stacks, walk.functions)) {
        hp_function_sums_free(ret_profile);
        end(&walk);
        return false;
    }
    heap_sums_add(stacks, walk.functions, ret_profile);
    for (size_t at = 0; at < stacks->function_count; at++) {
        ret_profile->kernel_ns += walk.functions[at].kernel_ns;
        ret_profile->cpu_ns += walk.functions[at].user_ns + walk.functions[at].kernel_ns;
        ret_profile->wall_ns += walk.functions[at].wall_ns;
        if (strcmp(stacks->functions[at].name, HP_OWN_NAME) == 0)
            ret_profile->own_ns += walk.functions[at].user_ns + walk.functions[at].kernel_ns;
    }
    ret_profile->count = leave_causes_out(&walk);
    qsort(walk.functions, ret_profile->count, sizeof *walk.functions, by_own_time);
    ret_profile->all = walk.functions;
    walk.functions = NULL;
    const bool is_done = renumber_tree(&walk, ret_profile);
    if (!is_done)
        hp_function_sums_free(ret_profile);
    end(&walk);
    return is_done;
}

void hp_function_sums_free(struct hp_function_profile *profile)
{
    free((void *)(uintptr_t)profile->all);
    free(profile->nodes);
    free(profile->holds);
    free(profile->paths);
    free(profile->processes);
    free(profile->zone_times);
    free(profile->shown_names);
    for (size_t part = 0; part < HP_ZONE_PARTS; part++)
        free((void *)(uintptr_t)profile->zones[part].all);
    *profile = (struct hp_function_profile){0};
}

/* ------------------------------------------------------------------------------------------ lines of a function */

/* Collects the lines first, then adds their times. */

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
        const struct hp_named_frame *frames = stacks->frames + node->first_frame;
        for (size_t frame = 0; frame < node->frame_count; frame++)
            if (frames[frame].function == function && !(add_place(&sums->lines, &line_room, frames[frame].line) &&
                                                        add_place(&sums->places, &place_room, node->place)))
                return false;
    }
    settle(&sums->lines);
    settle(&sums->places);
    return true;
}

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
        const struct hp_named_frame *frames = stacks->frames + node->first_frame;
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

static uint64_t measured_ns(const struct hp_named_node *node, enum hp_line_measure measure)
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
        const uint64_t ns = measured_ns(&stacks->nodes[at], measure);
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
