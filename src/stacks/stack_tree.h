/*
 * Stacks as a tree: what they have in common at their outer ends is there once. A stack is the number of its innermost node.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_STACK_TREE_H
#define HP_STACKS_STACK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_STACK_ROOT 0u
#define HP_STACK_NO_IMAGE UINT32_MAX /* code that is in no file; the place is its address */
#define HP_STACK_KERNEL                                                                                            \
    (UINT32_MAX - 1) /* on top of what called it; the place is 1 more than the call, 0: not known */
#define HP_STACK_INCOMPLETE (UINT32_MAX - 2)  /* below what could be unwound */
#define HP_STACK_WAITING (UINT32_MAX - 3)     /* on top of what waits; the place has the cause in its upper half */
#define HP_STACK_NOT_SAMPLED (UINT32_MAX - 4) /* processor time that no sample has seen; below the root */

/*
 * What can be found on a stack, in dimensions that say different things of it: none is a part of another, but where it says so.
 * Processor time was sampled, waiting was looked at; stacks that wait end with a node of HP_STACK_WAITING.
 */
enum hp_stack_weight {
    HP_STACK_USER_NS,   /* processor time */
    HP_STACK_KERNEL_NS, /* processor time in the kernel, beside that */
    HP_STACK_SAMPLES,   /* of both */
    HP_STACK_WAITED_NS, /* time neither running nor ready to run */
    HP_STACK_IDLE_NS,   /* a part of that: nobody's work */
    HP_STACK_WAITS,     /* times that a thread was found there that had not been before */
    /* Of the heap, estimated by samples; stacks end with who called malloc. */
    HP_STACK_ALLOC_BYTES, /* asked for */
    HP_STACK_ALLOC_BLOCKS,
    HP_STACK_ALLOC_SAMPLES,
    HP_STACK_PEAK_BYTES, /* of these, what lived when most of its process's heap did */
    HP_STACK_PEAK_BLOCKS,
    HP_STACK_LEFT_BYTES, /* and what was never freed */
    HP_STACK_LEFT_BLOCKS,
    HP_STACK_WEIGHTS
};

/* How a node was found. */
#define HP_STACK_RECOVERED 1u /* by a search of the stack, at least once */

struct hp_stack_node {
    uint32_t parent; /* always a lower number */
    uint32_t image;
    uint64_t place; /* as the linker numbers addresses in the image; of callers, within the call */
    uint32_t flags; /* HP_STACK_RECOVERED */
    uint64_t weight[HP_STACK_WEIGHTS]; /* of stacks that end here */
};

struct hp_stack_tree {
    struct hp_stack_node *nodes; /* the first is the root */
    size_t count, room;
    uint32_t *index; /* by hash of parent, image and place; 0: free */
    size_t index_size;
};

/* The node of that place below another one, made if it is new. Where there is no memory, or there are too many, it is the parent. */
uint32_t hp_stack_tree_below(struct hp_stack_tree *tree, uint32_t parent, uint32_t image, uint64_t place);
void hp_stack_tree_free(struct hp_stack_tree *tree);

#endif
