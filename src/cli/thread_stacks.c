/* Finds the stack of each thread, and groups them. SPDX-License-Identifier: MIT */
#include "thread_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

/* ---------------------------------------------------------------------------------------------- leaves */

/* Where a stack of a thread ends. */
struct leaf {
    uint32_t pid, tid;
    uint32_t node;
    uint32_t samples; /* 0: it waits */
};

struct leaves {
    struct leaf *all;
    size_t count, room;
};

static int by_thread(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Of a node, by that above it. */
struct owner {
    uint32_t pid, tid;
};

static struct owner owner_of(const struct hp_named_node *node, const struct owner *above)
{
    if (hp_is_process(node))
        return (struct owner){hp_process_pid(node), 0};
    if (node->image == HP_STACK_THREAD)
        return (struct owner){above->pid, (uint32_t)node->place};
    return *above;
}

/* A wait that counts has a time: live_threads.c. */
static bool find_leaves(const struct hp_named_stacks *named, struct leaves *leaves)
{
    struct owner *owners = calloc(named->node_count + 1, sizeof *owners);
    bool is_done = owners != NULL;
    for (size_t at = 1; is_done && at < named->node_count; at++) {
        const struct hp_named_node *node = &named->nodes[at];
        owners[at] = owner_of(node, &owners[node->parent]);
        const bool is_wait = node->image == HP_STACK_WAITING && node->weight[HP_STACK_WAITED_NS] > 0;
        const uint32_t samples = (uint32_t)node->weight[HP_STACK_SAMPLES];
        if (!is_wait && samples == 0)
            continue;
        is_done = HP_MAKE_ROOM(leaves->all, leaves->count + 1, leaves->room);
        if (is_done)
            leaves->all[leaves->count++] = (struct leaf){
                owners[at].pid, owners[at].tid, is_wait ? node->parent : (uint32_t)at, is_wait ? 0 : samples};
    }
    free(owners);
    if (leaves->count > 0)
        qsort(leaves->all, leaves->count, sizeof *leaves->all, by_thread);
    return is_done;
}

static struct leaf *leaves_of(const struct leaves *leaves, const struct hp_live_thread *thread, size_t *ret_count)
{
    size_t from = 0;
    while (from < leaves->count && (leaves->all[from].pid != thread->pid || leaves->all[from].tid != thread->tid))
        from++;
    size_t to = from;
    while (to < leaves->count && leaves->all[to].pid == thread->pid && leaves->all[to].tid == thread->tid)
        to++;
    *ret_count = to - from;
    return leaves->all + from;
}

/* ---------------------------------------------------------------------------------------------- frames */

/* The frames of a stack, the innermost first. */
struct frames {
    const struct hp_named_frame **all;
    size_t count, room;
    bool is_whole;
};

static bool read_frames(const struct hp_named_stacks *named, uint32_t node, struct frames *frames)
{
    frames->count = 0;
    frames->is_whole = true;
    for (uint32_t at = node; at != HP_STACK_ROOT; at = named->nodes[at].parent) {
        const struct hp_named_node *here = &named->nodes[at];
        frames->is_whole &= here->image != HP_STACK_INCOMPLETE;
        if (!HP_MAKE_ROOM(frames->all, frames->count + here->frame_count, frames->room))
            return false;
        for (size_t frame = 0; frame < here->frame_count && here->image != HP_STACK_INCOMPLETE; frame++)
            frames->all[frames->count++] = &named->frames[here->first_frame + frame];
    }
    return true;
}

/* From the outside: the function at that depth. */
static uint32_t function_at(const struct frames *frames, size_t depth)
{
    return frames->all[frames->count - 1 - depth]->function;
}

/* A sampled stack that still agrees with what most samples have. */
struct candidate {
    struct frames frames;
    uint32_t samples;
    bool is_out;
};

static uint32_t samples_in(const struct candidate *all, size_t count, size_t depth, uint32_t function)
{
    uint32_t samples = 0;
    for (size_t at = 0; at < count; at++)
        if (!all[at].is_out && all[at].frames.count > depth && function_at(&all[at].frames, depth) == function)
            samples += all[at].samples;
    return samples;
}

/* The function in which most samples are at that depth; how many; and how many end before it. */
static uint32_t most_common(const struct candidate *all, size_t count, size_t depth, uint32_t *ret_most,
                            uint32_t *ret_ended)
{
    uint32_t best = HP_NO_FUNCTION;
    *ret_most = *ret_ended = 0;
    for (size_t at = 0; at < count; at++) {
        if (all[at].is_out)
            continue;
        if (all[at].frames.count <= depth) {
            *ret_ended += all[at].samples;
            continue;
        }
        const uint32_t function = function_at(&all[at].frames, depth);
        const uint32_t samples = function == best ? *ret_most : samples_in(all, count, depth, function);
        if (samples > *ret_most) {
            *ret_most = samples;
            best = function;
        }
    }
    return best;
}

/*
 * Function by function from the outside, the one that most samples are in; it ends where most of those that are
 * left do. Of the stacks that end there, the most common one has the lines.
 */
static const struct candidate *choose(struct candidate *all, size_t count)
{
    uint32_t most, ended;
    size_t depth = 0;
    const struct candidate *best = NULL;
    for (;; depth++) {
        const uint32_t function = most_common(all, count, depth, &most, &ended);
        if (most == 0 || ended >= most)
            break;
        for (size_t at = 0; at < count; at++)
            all[at].is_out |= all[at].frames.count <= depth || function_at(&all[at].frames, depth) != function;
    }
    for (size_t at = 0; at < count; at++)
        if (!all[at].is_out && all[at].frames.count == depth && (best == NULL || all[at].samples > best->samples))
            best = &all[at];
    return best;
}

/* Functions that call themselves are one line. */
static bool put_lines(struct hp_thread_stack *stack, const struct frames *frames)
{
    stack->lines = calloc(frames->count + 1, sizeof *stack->lines);
    if (stack->lines == NULL)
        return false;
    stack->is_whole = frames->is_whole;
    for (size_t at = 0; at < frames->count; at++) {
        const struct hp_named_frame *frame = frames->all[at];
        if (stack->line_count > 0 && stack->lines[stack->line_count - 1].function == frame->function)
            stack->lines[stack->line_count - 1].times++;
        else
            stack->lines[stack->line_count++] = (struct hp_stack_line){frame->function, frame->line, 1};
    }
    return true;
}

static bool put_waiting(const struct hp_named_stacks *named, const struct leaf *leaf, struct hp_thread_stack *stack)
{
    struct frames frames = {0};
    const bool is_done = read_frames(named, leaf->node, &frames) && put_lines(stack, &frames);
    free(frames.all);
    return is_done;
}

static bool put_running(const struct hp_named_stacks *named, const struct leaf *leaves, size_t count,
                        struct hp_thread_stack *stack)
{
    struct candidate *all = calloc(count + 1, sizeof *all);
    bool is_done = all != NULL;
    for (size_t at = 0; is_done && at < count; at++) {
        all[at].samples = leaves[at].samples;
        stack->samples += leaves[at].samples;
        is_done = read_frames(named, leaves[at].node, &all[at].frames);
    }
    const struct candidate *chosen = is_done ? choose(all, count) : NULL;
    is_done = is_done && (chosen == NULL || put_lines(stack, &chosen->frames));
    for (size_t at = 0; all != NULL && at < count; at++)
        free(all[at].frames.all);
    free(all);
    return is_done;
}

/* A thread that was found waiting, but ran each time before its stack was copied, is shown as it ran. */
static bool put_stack(const struct hp_named_stacks *named, const struct leaves *leaves,
                      struct hp_thread_stack *stack)
{
    size_t count, waiting = 0, running;
    struct leaf *all = leaves_of(leaves, stack->thread, &count);
    struct leaf *sampled = calloc(count + 1, sizeof *sampled);
    if (sampled == NULL)
        return false;
    running = 0;
    for (size_t at = 0; at < count; at++)
        if (all[at].samples > 0)
            sampled[running++] = all[at];
        else
            waiting = at + 1;
    stack->is_waiting = stack->thread->is_waiting && (stack->thread->has_stack || running == 0);
    bool is_done = true;
    if (stack->is_waiting && waiting > 0)
        is_done = put_waiting(named, &all[waiting - 1], stack);
    else if (!stack->is_waiting && running > 0)
        is_done = put_running(named, sampled, running, stack);
    free(sampled);
    return is_done;
}

bool hp_thread_stacks_make(struct hp_thread_stacks *stacks, const struct hp_live_threads *threads)
{
    struct leaves leaves = {0};
    const size_t functions = stacks->named.function_count;
    const char **full = calloc(functions + 1, sizeof *full);
    stacks->all = calloc(threads->count + 1, sizeof *stacks->all);
    bool is_done = stacks->all != NULL && full != NULL && find_leaves(&stacks->named, &leaves);
    for (size_t at = 0; is_done && at < functions; at++)
        full[at] = stacks->named.functions[at].name;
    is_done = is_done && hp_shown_names_make(full, functions, &stacks->names);
    for (size_t at = 0; is_done && at < threads->count; at++) {
        if (threads->all[at].state == 'X' || threads->all[at].state == 'Z')
            continue;
        struct hp_thread_stack *stack = &stacks->all[stacks->count++];
        stack->thread = &threads->all[at];
        is_done = put_stack(&stacks->named, &leaves, stack);
    }
    free(full);
    free(leaves.all);
    return is_done;
}

/* ---------------------------------------------------------------------------------------------- groups */

static int compare_texts(const char *a, const char *b) { return strcmp(a != NULL ? a : "", b != NULL ? b : ""); }

static int compare_numbers(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int compare_waits(const struct hp_thread_stack *a, const struct hp_thread_stack *b)
{
    const struct hp_wait_found *x = &a->thread->wait, *y = &b->thread->wait;
    if (!a->is_waiting)
        return 0;
    if (x->cause != y->cause)
        return compare_numbers(x->cause, y->cause);
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    if (x->thread != y->thread)
        return compare_numbers(x->thread, y->thread);
    if (x->peer != y->peer)
        return compare_numbers(x->peer, y->peer);
    /* The number of a pipe or socket without a name says nothing. */
    return strstr(x->what, ":[") != NULL && strstr(y->what, ":[") != NULL ? 0 : strcmp(x->what, y->what);
}

static int compare_lines(const struct hp_thread_stack *a, const struct hp_thread_stack *b)
{
    if (a->line_count != b->line_count)
        return compare_numbers(a->line_count, b->line_count);
    for (size_t at = 0; at < a->line_count; at++) {
        if (a->lines[at].function != b->lines[at].function)
            return compare_numbers(a->lines[at].function, b->lines[at].function);
        if (a->lines[at].times != b->lines[at].times)
            return compare_numbers(a->lines[at].times, b->lines[at].times);
    }
    return compare_numbers(a->is_whole, b->is_whole);
}

/* 0: they are equal to a reader. */
static int compare(const struct hp_thread_stack *a, const struct hp_thread_stack *b)
{
    int order = compare_numbers(a->thread->pid, b->thread->pid);
    order = order != 0 ? order : compare_numbers(a->is_waiting, b->is_waiting);
    order = order != 0 ? order : compare_waits(a, b);
    order = order != 0 ? order : compare_texts(a->zone, b->zone);
    order = order != 0 ? order : compare_texts(a->task, b->task);
    return order != 0 ? order : compare_lines(a, b);
}

static int by_likeness(const void *a, const void *b)
{
    const struct hp_thread_stack *x = a, *y = b;
    const int order = compare(x, y);
    return order != 0 ? order : compare_numbers(x->thread->tid, y->thread->tid);
}

/* Of a group: what it is sorted by. */
struct rank {
    size_t group, process, threads;
    uint32_t first; /* the lowest thread id */
    unsigned urgency;
};

/* Running threads come first, then those that wait for a resource, then those that wait for work. */
static unsigned urgency_of(const struct hp_thread_stack *stack)
{
    return !stack->is_waiting ? 0 : hp_wait_idleness(stack->thread->wait.cause) == HP_IDLE_NEVER ? 1 : 2;
}

static int by_rank(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->process != y->process)
        return compare_numbers(x->process, y->process);
    if (x->urgency != y->urgency)
        return compare_numbers(x->urgency, y->urgency);
    if (x->threads != y->threads)
        return -compare_numbers(x->threads, y->threads);
    return compare_numbers(x->first, y->first);
}

static int by_group(const void *a, const void *b)
{
    const struct hp_thread_stack *x = a, *y = b;
    return x->group != y->group ? compare_numbers(x->group, y->group)
                                : compare_numbers(x->thread->tid, y->thread->tid);
}

/* Numbers the groups as they come; processes as they came first. Returns how many. */
static size_t number_groups(struct hp_thread_stacks *stacks, struct rank *ranks)
{
    size_t count = 0;
    for (size_t at = 0; at < stacks->count; at++) {
        struct hp_thread_stack *stack = &stacks->all[at];
        if (at == 0 || compare(stack - 1, stack) != 0) {
            ranks[count] = (struct rank){.group = count,
                                         .process = stack->thread->pid,
                                         .first = stack->thread->tid,
                                         .urgency = urgency_of(stack)};
            count++;
        }
        stack->group = count - 1;
        ranks[count - 1].threads++;
    }
    return count;
}

void hp_thread_stacks_group(struct hp_thread_stacks *stacks)
{
    struct rank *ranks = calloc(stacks->count + 1, sizeof *ranks);
    size_t *place = calloc(stacks->count + 1, sizeof *place);
    if (stacks->count > 0)
        qsort(stacks->all, stacks->count, sizeof *stacks->all, by_likeness);
    if (ranks != NULL && place != NULL && stacks->count > 0) {
        const size_t count = number_groups(stacks, ranks);
        qsort(ranks, count, sizeof *ranks, by_rank);
        for (size_t at = 0; at < count; at++)
            place[ranks[at].group] = at;
        for (size_t at = 0; at < stacks->count; at++)
            stacks->all[at].group = place[stacks->all[at].group];
        qsort(stacks->all, stacks->count, sizeof *stacks->all, by_group);
    }
    free(ranks);
    free(place);
}

void hp_thread_stacks_free(struct hp_thread_stacks *stacks)
{
    for (size_t at = 0; stacks->all != NULL && at < stacks->count; at++)
        free(stacks->all[at].lines);
    free(stacks->all);
    hp_shown_names_free(&stacks->names);
    hp_named_stacks_free(&stacks->named);
    *stacks = (struct hp_thread_stacks){.count = 0};
}
