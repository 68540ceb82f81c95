/*
 * Made-up stacks for tests of reports: a profile of functions with its tree, stack by stack.
 *
 *     tree_begin(&tree);
 *     tree_process(&tree, 100, "cc", "/usr/bin/cc1");
 *     tree_add(&tree, "main;parse;memcpy@libc.so.6", 300);         300 samples of a millisecond
 *     tree_wait(&tree, "main;save", HP_WAIT_DISK, "disk: /x", 500); 500 ms
 *     tree_end(&tree);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FOUND_TREE_H
#define FOUND_TREE_H

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "function_profile.h"
#include "wait_cause.h"

#define TREE_MS UINT64_C(1000000)

struct found_tree {
    struct hp_function_profile profile;
    struct hp_found_function functions[100];
    struct hp_found_node nodes[1000];
    struct hp_found_process processes[8];
    struct hp_found_hold holds[8];
    char texts[20000];
    size_t used;
    uint32_t process; /* the node of the current one */
};

static inline void tree_begin(struct found_tree *tree)
{
    memset(tree, 0, sizeof *tree);
    tree->nodes[0] = (struct hp_found_node){.function = HP_NO_FOUND, .process = HP_NO_FOUND};
    tree->profile = (struct hp_function_profile){.all = tree->functions,
                                                 .nodes = tree->nodes,
                                                 .node_count = 1,
                                                 .processes = tree->processes,
                                                 .holds = tree->holds};
}

static inline const char *tree_text(struct found_tree *tree, const char *text, size_t length)
{
    char *copy = tree->texts + tree->used;
    assert(tree->used + length < sizeof tree->texts);
    memcpy(copy, text, length);
    tree->used += length + 1;
    return copy;
}

static inline uint32_t tree_function(struct found_tree *tree, const char *text, size_t length)
{
    const char *at = memchr(text, '@', length);
    const size_t name_length = at != NULL ? (size_t)(at - text) : length;
    const char *name = tree_text(tree, text, name_length);
    const char *library = at != NULL ? tree_text(tree, at + 1, length - name_length - 1) : "demo";
    uint32_t number = 0;
    while (number < tree->profile.count && (strcmp(tree->functions[number].name, name) != 0 ||
                                            strcmp(tree->functions[number].library, library) != 0))
        number++;
    if (number == tree->profile.count) {
        assert(number < sizeof tree->functions / sizeof *tree->functions);
        tree->functions[tree->profile.count++] =
            (struct hp_found_function){.name = name, .shown = name, .library = library, .file = ""};
    }
    return number;
}

static inline struct hp_found_node *tree_node(struct found_tree *tree, uint32_t parent, uint32_t function)
{
    assert(tree->profile.node_count < sizeof tree->nodes / sizeof *tree->nodes);
    struct hp_found_node *node = &tree->nodes[tree->profile.node_count++];
    *node = (struct hp_found_node){.parent = parent, .function = function, .process = tree->nodes[parent].process};
    for (uint32_t at = parent; at != 0; at = tree->nodes[at].parent)
        node->is_inner |= function != HP_NO_FOUND && tree->nodes[at].function == function;
    return node;
}

/* The process of the stacks that follow. */
static inline void tree_process(struct found_tree *tree, uint32_t pid, const char *program, const char *file)
{
    struct hp_found_node *node = tree_node(tree, 0, HP_NO_FOUND);
    node->process = (uint32_t)tree->profile.process_count;
    tree->processes[tree->profile.process_count++] =
        (struct hp_found_process){.pid = pid, .program = program, .file = file};
    tree->process = (uint32_t)(node - tree->nodes);
}

/* The node of a stack: functions from the outermost to the innermost, "name" or "name@library". */
static inline uint32_t tree_stack(struct found_tree *tree, const char *stack)
{
    uint32_t node = tree->process;
    while (stack[0] != '\0') {
        const size_t length = strcspn(stack, ";");
        node = (uint32_t)(tree_node(tree, node, tree_function(tree, stack, length)) - tree->nodes);
        stack += length + (stack[length] == ';');
    }
    return node;
}

static inline void tree_add(struct found_tree *tree, const char *stack, uint64_t samples)
{
    struct hp_found_node *node = &tree->nodes[tree_stack(tree, stack)];
    node->user_ns = samples * TREE_MS;
    node->samples = samples;
    tree->functions[node->function].user_ns += node->user_ns;
    tree->profile.cpu_ns += node->user_ns;
    tree->profile.counts.samples += samples;
    tree->profile.counts.whole += samples;
    if (strcmp(tree->functions[node->function].name, "<hotpath>") == 0)
        tree->profile.own_ns += node->user_ns;
}

static inline void tree_wait(struct found_tree *tree, const char *stack, uint32_t cause, const char *what,
                             uint64_t ms)
{
    struct hp_found_node *node = tree_node(tree, tree_stack(tree, stack), HP_NO_FOUND);
    node->waited_ns = ms * TREE_MS;
    node->cause = cause;
    node->waits = (struct hp_found_cause){what, strlen(what)};
}

/* While that function waited for a lock, its holder had that stack. Of several functions, the first comes first. */
static inline void tree_hold(struct found_tree *tree, const char *waiter, const char *stack, uint64_t ms,
                             uint64_t samples)
{
    const uint32_t number = tree_function(tree, waiter, strlen(waiter)), node = tree_stack(tree, stack);
    assert(tree->profile.hold_count < sizeof tree->holds / sizeof *tree->holds);
    tree->holds[tree->profile.hold_count++] = (struct hp_found_hold){number, node, ms * TREE_MS, samples};
    tree->functions[number].held_ns += ms * TREE_MS;
    tree->functions[number].held_samples += samples;
}

#endif
