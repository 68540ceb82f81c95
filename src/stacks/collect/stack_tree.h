/*
 * Stacks as a tree: common outer parts are stored once. A stack is the number of its innermost node.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_STACK_TREE_H
#define HP_COLLECT_STACK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash_index.h"

#define HP_STACK_ROOT 0u
#define HP_STACK_NO_IMAGE UINT32_MAX     /* code in no file; the place is its address */
#define HP_STACK_KERNEL (UINT32_MAX - 1) /* on top of its caller; the place is the system call plus 1, or below */
#define HP_STACK_INCOMPLETE (UINT32_MAX - 2)  /* below what could be unwound */
#define HP_STACK_WAITING (UINT32_MAX - 3)     /* on top of what waits; the place has the cause in its upper half */
#define HP_STACK_NOT_SAMPLED (UINT32_MAX - 4) /* CPU time without a sample; below the root */
#define HP_STACK_OWN (UINT32_MAX - 5)         /* what hotpath does in the program; below its process */
#define HP_STACK_PROCESS (UINT32_MAX - 6)
/* below the root, on top of what a process did in one program; the place is its pid, the upper half the program */

#define HP_STACK_THREAD                                                                                            \
    (UINT32_MAX - 8) /* below its process, on top of what one thread did; the place is its tid */
#define HP_STACK_KERNEL_CODE (UINT32_MAX - 7) /* on top of those; the place is its address, later its number */

/* Why a thread was in the kernel, where it is not a known system call. */
#define HP_KERNEL_UNKNOWN UINT64_C(0)            /* it may be a call */
#define HP_KERNEL_NO_CALL UINT64_C(0xffffffff)   /* one of the following */
#define HP_KERNEL_FAULT UINT64_C(0xfffffffe)     /* a page fault */
#define HP_KERNEL_INTERRUPT UINT64_C(0xfffffffd) /* nothing that the thread did */

/*
 * What stacks measure. These are separate dimensions; none is part of another, unless noted. CPU time and waits
 * were sampled; waiting stacks end with a node of HP_STACK_WAITING.
 */
enum hp_stack_weight {
    HP_STACK_USER_NS,   /* CPU time */
    HP_STACK_KERNEL_NS, /* CPU time in kernel mode, not part of the former */
    HP_STACK_SAMPLES,   /* of both */
    HP_STACK_WALL_NS, /* of both, each sample divided by the threads of the run that ran then: time on the clock */
    HP_STACK_WAITED_NS, /* time neither running nor runnable */
    HP_STACK_IDLE_NS,   /* of that, idle */
    HP_STACK_WAITS,     /* number of waits that were found */
    /* Of the heap, estimated by samples; stacks end with the caller of malloc. */
    HP_STACK_ALLOC_BYTES, /* requested */
    HP_STACK_ALLOC_BLOCKS,
    HP_STACK_ALLOC_SAMPLES,
    HP_STACK_PEAK_BYTES, /* of these, live at the peak of its process's heap */
    HP_STACK_PEAK_BLOCKS,
    HP_STACK_LEFT_BYTES, /* and never freed */
    HP_STACK_LEFT_BLOCKS,
    HP_STACK_WEIGHTS
};

/* How a node was found. */
#define HP_STACK_RECOVERED 1u /* by scanning the stack, at least once */

struct hp_stack_node {
    uint32_t parent; /* always a lower number */
    uint32_t image;
    uint64_t place; /* link-time address in the image; for callers, inside the call instruction */
    uint32_t flags; /* HP_STACK_RECOVERED */
    uint64_t weight[HP_STACK_WEIGHTS]; /* of stacks that end here */
};

struct hp_stack_tree {
    struct hp_stack_node *nodes; /* the first is the root */
    size_t count, room;
    struct hp_hash_index index; /* by parent, image and place */
};

/*
 * The node of that place below another one, created on first use. Without memory, or if there are too many, the
 * parent.
 */
uint32_t hp_stack_tree_below(struct hp_stack_tree *tree, uint32_t parent, uint32_t image, uint64_t place);
void hp_stack_tree_free(struct hp_stack_tree *tree);

/* ------------------------------------------------------------------------------------------ the shares of zones */

/*
 * The parts of each stack's weights that were found in each zone. A stack has one sum in the tree for all zones;
 * here it is divided among them. What is in no zone has no share.
 */

/* Of a node of a tree, in one zone. */
struct hp_zone_share {
    uint32_t node, zone;
    uint64_t weight[HP_STACK_WEIGHTS];
};

struct hp_zone_shares {
    struct hp_zone_share *all;
    size_t count;
    /* Private from here on. */
    struct hp_pair_table pairs;
    size_t room;
};

/* That of a node and a zone, created on first use. NULL: no memory. */
struct hp_zone_share *hp_zone_shares_at(struct hp_zone_shares *shares, uint32_t node, uint32_t zone);
void hp_zone_shares_free(struct hp_zone_shares *shares);

#endif
