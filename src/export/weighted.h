/*
 * Weighted stacks: the one form from which all foreign formats are written. A tree of functions, and for each node
 * its own weight, in one or more dimensions: CPU time, exact time of zones, bytes. A dimension is a row in a table.
 *
 *     struct hp_weighted weighted = {.has_lines = true};
 *     const uint32_t function = hp_weighted_function(&weighted, "main", "main.c", HP_NO_LIBRARY);
 *     const uint32_t node = hp_weighted_below(&weighted, HP_WEIGHTED_ROOT, function, 12, false);
 *     hp_weighted_add(&weighted, HP_OF_CPU, node, 1000000, 1);
 *     if (!weighted.lacks_memory) ...
 *     hp_weighted_free(&weighted);
 *
 * Texts are not copied; the caller keeps them. Texts that could harm a viewer are replaced by safe copies here,
 * once for all formats: see hp_utf8_put_safe. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_WEIGHTED_H
#define HP_EXPORT_WEIGHTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "hash_index.h"

#define HP_WEIGHTED_ROOT 0u
#define HP_NO_LIBRARY UINT32_MAX

enum hp_weight_unit { HP_WEIGHT_NS, HP_WEIGHT_BYTES, HP_WEIGHT_INSTRUCTIONS };

/* What stacks can be weighted by. */
enum hp_dimension {
    HP_OF_CPU,
    HP_OF_WALL, /* of CPU time: see HP_STACK_WALL_NS */
    HP_OF_WAITS,
    HP_OF_ZONES,
    HP_OF_ZONE_CPU,
    HP_OF_ZONE_WAITS,
    HP_OF_ZONE_ALLOC, /* exact, so it comes before the estimates */
    HP_OF_ALLOC,
    HP_OF_ALLOC_PEAK,
    HP_OF_ALLOC_LEFT,
    HP_OF_PATH, /* time on the critical path */
    HP_DIMENSIONS
};

struct hp_dimension_type {
    const char *key;   /* its name for --of */
    const char *title; /* "Processor time" */
    enum hp_weight_unit unit;
    const char *counted; /* what the counts count: "samples"; NULL: there are none */
};

extern const struct hp_dimension_type hp_dimension_types[HP_DIMENSIONS];
/* That of a run whose clock counts instructions, or of another one. */
const struct hp_dimension_type *hp_dimension_type_of(enum hp_dimension dimension, bool counts_instructions);

/* As profiles name it. */
static inline const char *hp_dimension_unit(const struct hp_dimension_type *type)
{
    return type->unit == HP_WEIGHT_BYTES ? "bytes" : type->unit == HP_WEIGHT_NS ? "nanoseconds" : "count";
}

struct hp_weights {
    uint64_t *own;           /* per node, without those below it: read it with hp_weight_own */
    uint64_t *counts;        /* likewise */
    uint64_t *before;        /* own, of the run that this one is compared with */
    size_t room;             /* of each array; nodes beyond it have 0 */
    uint64_t total, counted; /* of all nodes */
    uint64_t total_before;
};

static inline uint64_t hp_weight_own(const struct hp_weights *weights, size_t node)
{
    return node < weights->room ? weights->own[node] : 0;
}

static inline uint64_t hp_weight_count(const struct hp_weights *weights, size_t node)
{
    return node < weights->room ? weights->counts[node] : 0;
}

static inline uint64_t hp_weight_before(const struct hp_weights *weights, size_t node)
{
    return node < weights->room ? weights->before[node] : 0;
}

struct hp_weighted_library {
    const char *path, *build_id; /* "": unknown */
};

struct hp_weighted_function {
    const char *name, *file; /* its source; "": unknown */
    uint32_t library;        /* HP_NO_LIBRARY: none */
};

struct hp_weighted_node {
    uint32_t parent; /* always a lower number */
    uint32_t function;
    uint32_t line;   /* 0: unknown */
    bool is_inlined; /* into its parent */
};

/* The part of a node's own weight, in a dimension, that was in a zone. */
struct hp_weighted_share {
    enum hp_dimension dimension;
    uint32_t node;
    const char *zone;
    uint64_t weight, count;
};

/* What stacks begin with. */
enum hp_process_frames {
    HP_FRAMES_ALL_MERGED,
    HP_FRAMES_BY_PROGRAM, /* if the run has several programs */
    HP_FRAMES_BY_PROCESS,
    HP_FRAMES_BY_BOTH /* the program, if there are several; then its process, if it ran in several */
};

struct hp_weighted {
    bool has_lines;   /* nodes with different lines are different; set it at first */
    bool is_compared; /* libraries and sources are matched by name, without folders; set it at first */
    bool is_by_zone;  /* stacks begin with their zone, where it is known; set it at first */
    /* Stacks begin with their program, if there are several; or with their process. Set it at first. */
    enum hp_process_frames processes;
    bool has_library_names; /* names of functions end with their library; set it at first */
    bool hides_texts;       /* keys known at run time and folders are left out; set it at first */
    /*
     * What says nothing to people is left out, or put together: functions that start threads and programs, and
     * code without names, which is one function for each library. Set it at first.
     */
    bool is_for_people;
    bool has_places; /* `places` is wanted; set it at first */
    bool is_before;  /* what is added belongs to the run that this one is compared with */
    bool lacks_memory;
    struct hp_weighted_library *libraries;
    struct hp_weighted_function *functions;
    struct hp_weighted_node *nodes; /* the first is the root */
    size_t library_count, function_count, node_count;
    struct hp_weights weights[HP_DIMENSIONS];
    struct hp_weighted_share *shares; /* unsorted; of one run */
    size_t share_count;
    uint32_t *places; /* the node of each node of the stacks that were added last; NULL: none, or not wanted */
    size_t place_count;
    /* Private from here on. */
    struct hp_arena texts;
    size_t library_room, function_room, node_room, share_room;
    struct hp_hash_index library_index, function_index, node_index;
};

/* Existing entries are found again. Without memory they return a valid number, and set `lacks_memory`. */
uint32_t hp_weighted_library(struct hp_weighted *weighted, const char *path, const char *build_id);
uint32_t hp_weighted_function(struct hp_weighted *weighted, const char *name, const char *file, uint32_t library);
uint32_t hp_weighted_below(struct hp_weighted *weighted, uint32_t parent, uint32_t function, uint32_t line,
                           bool is_inlined);
void hp_weighted_add(struct hp_weighted *weighted, enum hp_dimension dimension, uint32_t node, uint64_t weight,
                     uint64_t count);

/* Assigns a part of what was added to a node to a zone. */
void hp_weighted_share(struct hp_weighted *weighted, enum hp_dimension dimension, uint32_t node, const char *zone,
                       uint64_t weight, uint64_t count);

void hp_weighted_free(struct hp_weighted *weighted);

/* Whether that dimension has any weight. */
bool hp_weighted_has(const struct hp_weighted *weighted, enum hp_dimension dimension);

/* The same, and it says more than another one: the wall share is CPU time if threads ran one at a time. */
bool hp_weighted_is_new(const struct hp_weighted *weighted, enum hp_dimension dimension);

/* The node of the caller: an inlined function is part of the location of the enclosing one. */
static inline uint32_t hp_weighted_caller(const struct hp_weighted *weighted, uint32_t node)
{
    while (weighted->nodes[node].is_inlined)
        node = weighted->nodes[node].parent;
    return weighted->nodes[node].parent;
}

/* A path without its folders. */
const char *hp_weighted_short_path(const char *path);

/* The name of a function's library, without its folders; "": none. */
const char *hp_weighted_library_name(const struct hp_weighted *weighted, uint32_t function);

/* ----------------------------------------------------------------------------------------------------- walks */

/*
 * Walks through weighted stacks in one dimension, for flame graphs and traces: each node is entered and left, the
 * heaviest sibling first; nodes without weight in or below them are left out. Does not recurse, since stacks may be
 * deep.
 */

struct hp_weight_walk {
    const struct hp_weighted *weighted;
    const struct hp_weights *weights;
    uint64_t *inside; /* per node: its weight with all below it */
    /* Private from here on. */
    uint32_t *first_child, *sibling; /* 0: none */
};

/* False: no memory. End it in either case. */
bool hp_walk_begin(struct hp_weight_walk *walk, const struct hp_weighted *weighted,
                   const struct hp_weights *weights);
void hp_walk_end(struct hp_weight_walk *walk);

/* `where` it begins or ends, if all weights are laid out in one line. */
typedef void hp_walk_visit(void *context, uint32_t node, uint64_t where, size_t depth);
void hp_walk_through(const struct hp_weight_walk *walk, hp_walk_visit *enter, hp_walk_visit *leave, void *context);

#endif
