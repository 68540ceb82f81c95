/*
 * The stacks of a run with the names of their functions: all that reports, flame graphs and exports need. Made when
 * the run ends (hp_name_stacks), stored in a file (stack_file.h). SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_NAMED_STACKS_H
#define HP_NAMES_NAMED_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "function_profile.h"
#include "lock_holds.h"
#include "path_shares.h"
#include "stack_slots.h"
#include "stack_tree.h"

#define HP_OWN_NAME "<hotpath>"      /* what hotpath itself does in the program */
#define HP_WAITING_NAME "[waiting: " /* prefix of functions that are wait causes; they end with a bracket */

struct hp_named_image {
    const char *path, *build_id; /* in hexadecimal; "": none */
    const char *package;         /* that has its symbols, if much of its time has no names; "" or NULL: unknown */
};

struct hp_named_function {
    const char *name;
    const char *file; /* its source; "": unknown */
    uint32_t image;   /* HP_STACK_NO_IMAGE: none */
};

/* One function at one address, which may be inlined into the next. */
struct hp_named_frame {
    uint32_t function;
    uint32_t line; /* 0: unknown */
};

struct hp_named_node {
    uint32_t parent; /* always a lower number; the first node is the root */
    uint32_t image;
    uint64_t place;
    uint32_t first_frame;
    uint16_t frame_count; /* the functions there, the innermost first; 0: the root, a process or a thread */
    uint16_t flags;       /* HP_STACK_RECOVERED */
    uint64_t weight[HP_STACK_WEIGHTS]; /* of stacks that end here */
};

/* A zone in which something was found: a measured function or block. */
struct hp_named_zone {
    const char *name;
};

/* A program that processes of the run executed; processes that ran the same file have the same one. */
struct hp_named_program {
    const char *name; /* as the user knows it: "gcc", "python3"; "": unknown */
    const char *file; /* "": unknown */
};

struct hp_named_stacks {
    struct hp_stack_counts counts;
    struct hp_named_image *images;
    struct hp_named_function *functions;
    struct hp_named_frame *frames;
    struct hp_named_node *nodes;
    size_t image_count, function_count, frame_count, node_count;
    struct hp_named_zone *zones;
    struct hp_zone_share *shares; /* of weights, by these zones */
    size_t zone_count, share_count;
    struct hp_lock_hold *holds; /* of waits for locks: nodes that end a waiting stack, and any others */
    size_t hold_count;
    struct hp_path_share *paths; /* what stacks had in segments of critical paths */
    size_t path_count;
    struct hp_named_program *programs;
    size_t program_count;
    char *texts; /* storage of all of them */
    size_t text_bytes;
    /* Their weights by time, for ranges of it (stack_range.h). */
    const struct hp_stack_slots *slots; /* NULL: unknown */
    struct hp_stack_slots *own_slots;   /* the same, if they are freed with this */
    uint32_t *slot_nodes; /* by the number that a node has in them: that of a node here, or HP_NO_NODE */
    size_t slot_node_count;
    uint64_t began_ns; /* when the run began, by CLOCK_MONOTONIC: times in it count from there */
    bool is_live;      /* the run went on then */
    bool is_range;     /* everything but nodes, shares and holds belongs to others */
};

#define HP_NO_NODE UINT32_MAX

void hp_named_stacks_free(struct hp_named_stacks *named);

/*
 * Leaves only what these processes did; if there are no others, also what is known of none. Losses remain those of
 * the run. False: no memory, nothing is changed.
 */
bool hp_named_stacks_keep(struct hp_named_stacks *named, const uint32_t *pids, size_t count);

/* Counts samples, waits and sampled allocations again, by the weights of the nodes. False: no memory. */
bool hp_named_stacks_count(struct hp_named_stacks *named);

/* --------------------------------------------------------------------------------------------------- processes */

/*
 * A node of HP_STACK_PROCESS is below the root and on top of what one process did in one program: a process that
 * executed several has one such node for each. What is known of no process is directly below the root.
 */

#define HP_NO_PROGRAM UINT32_MAX

static inline bool hp_is_process(const struct hp_named_node *node)
{
    return node->image == HP_STACK_PROCESS && node->frame_count == 0;
}

/* Of a node of HP_STACK_PROCESS. */
static inline uint32_t hp_process_pid(const struct hp_named_node *node) { return (uint32_t)node->place; }

/* The number of its program, or HP_NO_PROGRAM. */
static inline uint32_t hp_process_program(const struct hp_named_node *node)
{
    return (uint32_t)(node->place >> 32) - 1;
}

/* Its name; "": unknown. */
static inline const char *hp_process_program_name(const struct hp_named_stacks *stacks,
                                                  const struct hp_named_node *node)
{
    const uint32_t program = hp_process_program(node);
    return program < stacks->program_count ? stacks->programs[program].name : "";
}

/*
 * The name of a program, from the kernel's name for it and its file: "python3" for "python3.11", "as" for
 * "x86_64-linux-gnu-as", "redis-server" where that is a link to redis-check-rdb, but "bash" for a script, or for a
 * process that calls itself something else.
 */
const char *hp_program_name(const char *comm, const char *file);

/*
 * What an image is called: the file without its folder, or the name of the program, if all processes that executed
 * the file have one. "": it is none.
 */
const char *hp_library_name(const struct hp_named_stacks *stacks, uint32_t image);

/* ------------------------------------------------------------------------------------------ functions that wait */

/*
 * The innermost function of a waiting stack is in the C library, on behalf of its
 * caller: that one is the waiter.
 */

#define HP_NO_FUNCTION UINT32_MAX

/* Whether an image is of the C library, or one of the compiler's libraries. */
bool hp_is_system_library(const struct hp_named_stacks *stacks, uint32_t image);

/*
 * The waiter on the stack that ends with a node of HP_STACK_WAITING. HP_NO_FUNCTION: nothing of the stack is known.
 */
uint32_t hp_waiter_of(const struct hp_named_stacks *stacks, uint32_t node);
/* The same of any stack, whether it waits or runs: what the kernel does is done by its caller. */
uint32_t hp_user_of(const struct hp_named_stacks *stacks, uint32_t node);

/* ------------------------------------------------------------------------------------------------ names to show */

/*
 * Names of functions as reports show them. Those of C++ are known by their whole signatures ("char
 * Box<int>::as<char>() const"), of which a reader needs the name ("Box<int>::as<char>"); where several functions
 * have that name, the types of their parameters as well. What is no signature stays as it is.
 */

struct hp_shown_names {
    const char **all; /* in the order of the full ones: those themselves, or texts */
    char *texts;
};

/* False: no memory. */
bool hp_shown_names_make(const char *const *full, size_t count, struct hp_shown_names *ret_names);
void hp_shown_names_free(struct hp_shown_names *names);

#endif
