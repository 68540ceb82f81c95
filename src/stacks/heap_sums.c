/* Finds the functions that allocate. SPDX-License-Identifier: MIT */
#include "heap_sums.h"

#include <string.h>

#include "waiters.h"

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/*
 * Templates are compiled into the program, and their names may begin with the return type: "void
 * std::vector<int>::push_back(int)".
 */
static bool is_standard(const char *name)
{
    const char *found = strstr(name, "std::"), *arguments = strpbrk(name, "(<");
    if (begins(name, "__gnu_cxx::"))
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
    return begins(name, "operator new") || begins(name, "_IO_") || begins(name, "__libc_") || is_standard(name);
}

uint32_t hp_allocating_function(const struct hp_named_stacks *stacks, uint32_t node)
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

void hp_heap_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                      struct hp_function_profile *profile)
{
    for (uint32_t at = 1; at < stacks->node_count; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        if (node->weight[HP_STACK_ALLOC_SAMPLES] == 0)
            continue;
        add(&profile->heap, node);
        const uint32_t function = hp_allocating_function(stacks, at);
        if (function == HP_NO_FUNCTION)
            continue;
        add(&functions[function].heap, node);
        functions[function].alloc_samples += node->weight[HP_STACK_ALLOC_SAMPLES];
    }
}
