/* Names code that is in no file. SPDX-License-Identifier: MIT */
#include "fileless_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "system_calls.h"

/* ------------------------------------------------------------------------------------------------ the kernel */

#define KERNEL_PART 20u /* one part in this many */
#define KERNEL_LEAST_NS UINT64_C(20000000)

bool hp_kernel_names_pay(const struct hp_stacks *stacks)
{
    uint64_t kernel_ns = 0, all_ns = 0;
    bool has_functions = false;
    for (size_t at = 1; at < stacks->tree.count; at++) {
        const struct hp_stack_node *node = &stacks->tree.nodes[at];
        has_functions |= node->image == HP_STACK_KERNEL_CODE;
        kernel_ns += node->weight[HP_STACK_KERNEL_NS];
        all_ns += node->weight[HP_STACK_KERNEL_NS] + node->weight[HP_STACK_USER_NS];
    }
    return has_functions && kernel_ns >= KERNEL_LEAST_NS && kernel_ns >= all_ns / KERNEL_PART;
}

size_t hp_kernel_function_of(const struct hp_stacks *stacks, const struct hp_stack_node *node)
{
    return stacks->kernel != NULL ? hp_kernel_names_find(stacks->kernel, node->place) : HP_NO_KERNEL_FUNCTION;
}

static bool is_known_call(uint64_t place) { return place > HP_KERNEL_UNKNOWN && place < HP_KERNEL_INTERRUPT; }

uint64_t hp_kernel_reason(const struct hp_kernel_names *names, size_t function, uint64_t place)
{
    if (is_known_call(place))
        return place;
    switch (hp_kernel_entry_of(hp_kernel_name(names, function))) {
    case HP_ENTRY_FAULT:
        return HP_KERNEL_FAULT;
    case HP_ENTRY_INTERRUPT:
        return HP_KERNEL_INTERRUPT;
    case HP_ENTRY_CALL:
        return HP_KERNEL_UNKNOWN;
    default:
        return place;
    }
}

void hp_kernel_reason_name(uint64_t place, char *name, size_t size)
{
    const char *call = is_known_call(place) ? hp_system_call_name((int32_t)(place - 1)) : NULL;
    if (call != NULL)
        snprintf(name, size, "[kernel: %s]", call);
    else
        snprintf(name, size, "%s",
                 place == HP_KERNEL_FAULT       ? "[kernel: page fault]"
                 : place == HP_KERNEL_INTERRUPT ? "[kernel: interrupt]"
                 : place == HP_KERNEL_NO_CALL   ? "[kernel: page faults and interrupts]"
                                                : "[kernel]");
}

/* ------------------------------------------------------------------------------------------------ not sampled */

static void put_forbidden(char *name, size_t size)
{
    char text[16];
    const bool is_read = hp_file_read_text("/proc/sys/kernel/perf_event_paranoid", text, sizeof text);
    if (is_read && atoi(text) > 1)
        snprintf(name, size, HP_NOT_SAMPLED ": in the kernel, perf_event_paranoid %d>", atoi(text));
    else
        snprintf(name, size, HP_NOT_SAMPLED ": in the kernel, not allowed>");
}

void hp_not_sampled_name(const struct hp_stack_counts *counts, char *name, size_t size)
{
    if (counts->source == HP_STACKS_BY_PERF && !counts->has_kernel)
        put_forbidden(name, size);
    else if (counts->source == HP_STACKS_BY_PERF)
        snprintf(name, size, HP_NOT_SAMPLED ": %s>", counts->lost > 0 ? "samples were lost" : "ended too soon");
    else
        snprintf(name, size, HP_NOT_SAMPLED ">");
}

/* --------------------------------------------------------------------------------------------- generated code */

#define LONGEST_NAME 1000u
#define MOST_PARENTS 8u

/* A node of code in no file. */
struct place {
    uint64_t address;
    uint32_t pid, node;
};

static int by_process(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

/* Those of one process, in order. */
struct looking {
    const struct hp_perf_maps *maps;
    struct hp_generated_code *codes;
    size_t count;
};

/* Of its programs the last one counts first. Returns the process that forked it, or 0: unknown. */
static uint32_t look_up(const struct looking *looking, uint32_t pid)
{
    uint32_t parent = 0;
    for (size_t at = looking->maps->count; at-- > 0;) {
        const struct hp_perf_map *map = &looking->maps->all[at];
        if (map->pid != pid)
            continue;
        if (!hp_perf_map_find(map->text, map->bytes, looking->codes, looking->count))
            return 0;
        parent = map->parent;
    }
    return parent;
}

/* A forked child runs code that its parent has named. */
static void look_up_all(const struct looking *looking, uint32_t pid)
{
    for (unsigned parents = 0; pid != 0 && parents < MOST_PARENTS; parents++)
        pid = look_up(looking, pid);
}

static bool keep_names(struct hp_generated_names *names, const struct looking *looking, const struct place *places)
{
    for (size_t at = 0; at < looking->count; at++) {
        const struct hp_generated_code *code = &looking->codes[at];
        const size_t length = code->length < LONGEST_NAME ? code->length : LONGEST_NAME;
        if (code->name == NULL)
            continue;
        const char *name = hp_arena_copy(&names->arena, code->name, strnlen(code->name, length));
        if (name == NULL)
            return false;
        names->by_node[places[at].node] = name;
        names->count++;
    }
    return true;
}

static bool name_places(const struct hp_stacks *stacks, const struct place *places, size_t count,
                        struct hp_generated_names *names)
{
    struct hp_generated_code *codes = calloc(count + 1, sizeof *codes);
    bool is_done = codes != NULL;
    for (size_t from = 0, to; is_done && from < count; from = to) {
        for (to = from; to < count && places[to].pid == places[from].pid; to++)
            codes[to].address = places[to].address;
        const struct looking looking = {&stacks->maps, codes + from, to - from};
        look_up_all(&looking, places[from].pid);
        is_done = keep_names(names, &looking, places + from);
    }
    free(codes);
    return is_done;
}

/* All nodes of code in no file, with their processes. */
static size_t find_places(const struct hp_stacks *stacks, uint32_t *pids, struct place *places)
{
    size_t count = 0;
    for (size_t at = 1; at < stacks->tree.count; at++) {
        const struct hp_stack_node *node = &stacks->tree.nodes[at];
        pids[at] = node->image == HP_STACK_PROCESS ? (uint32_t)node->place : pids[node->parent];
        if (node->image == HP_STACK_NO_IMAGE)
            places[count++] = (struct place){node->place, pids[at], (uint32_t)at};
    }
    qsort(places, count, sizeof *places, by_process);
    return count;
}

bool hp_generated_names_make(const struct hp_stacks *stacks, struct hp_generated_names *ret_names)
{
    const size_t nodes = stacks->tree.count + 1;
    uint32_t *pids = calloc(nodes, sizeof *pids);
    struct place *places = calloc(nodes, sizeof *places);
    *ret_names = (struct hp_generated_names){.by_node = calloc(nodes, sizeof *ret_names->by_node)};
    bool is_done = pids != NULL && places != NULL && ret_names->by_node != NULL;
    if (is_done && stacks->maps.count > 0)
        is_done = name_places(stacks, places, find_places(stacks, pids, places), ret_names);
    free(pids);
    free(places);
    if (!is_done)
        hp_generated_names_free(ret_names);
    return is_done;
}

void hp_generated_names_free(struct hp_generated_names *names)
{
    free(names->by_node);
    hp_arena_release(&names->arena);
    *names = (struct hp_generated_names){.count = 0};
}
