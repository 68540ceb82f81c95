/*
 * Stacks as a flame graph: a tree of functions, in which each function below a caller is one frame. What starts
 * threads and programs is left out, and so are direct calls of a function by itself. The stacks of several
 * processes begin with their programs.
 *
 *     hp_flame_make(&flame, now, before);        again after each change; what was chosen stays
 *     for (frame = flame.nodes[hp_flame_root(&flame)].first; frame != 0; frame = flame.nodes[frame].next)
 *         ... flame.nodes[frame].now[HP_MEASURE_CPU] ...
 *     hp_flame_free(&flame);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_FLAME_H
#define HP_CONSOLE_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "found.h"
#include "hash_index.h"

/* What a flame graph measures. */
enum hp_measure { HP_MEASURE_CPU, HP_MEASURE_WALL, HP_MEASURE_WAITING, HP_MEASURE_ALLOCATED, HP_MEASURES };

/* What a frame is: decides on its colour. */
enum hp_flame_kind {
    HP_FLAME_CODE,    /* of the program */
    HP_FLAME_LIBRARY, /* of a library */
    HP_FLAME_KERNEL,
    HP_FLAME_WAITING,
    HP_FLAME_OTHER /* a program, hotpath, time without a stack */
};

/* A function or a program. */
struct hp_flame_name {
    uint64_t id; /* identity.h */
    const char *text, *library;
    enum hp_flame_kind kind;
};

struct hp_flame_node {
    uint32_t caller; /* a lower number; the first node is the root */
    uint32_t name;   /* index; of the root: none */
    uint32_t depth;
    uint32_t first, next; /* its first callee, and the next one of its caller, by their names; 0: none */
    uint64_t now[HP_MEASURES], before[HP_MEASURES]; /* with callees; before: in as much time as now */
};

#define HP_FLAME_DEEPEST 256u /* frames below that are left out */

/* The names on the way to a frame, which it is found by when the graph is made again. */
struct hp_flame_path {
    uint64_t ids[HP_FLAME_DEEPEST];
    uint32_t count; /* 0: the root */
};

struct hp_flame {
    struct hp_flame_name *names;
    size_t name_count, name_room;
    struct hp_hash_index name_index;
    struct hp_pair_table calls; /* node N is pair N - 1: its caller, and a name */
    struct hp_flame_node *nodes;
    size_t node_count; /* 0: it is not made */
    bool has_before;   /* changes since the window before are known */
    uint64_t only;     /* identity of the function whose stacks these are, from any caller; 0: all */
    uint64_t whole[HP_MEASURES], whole_before[HP_MEASURES]; /* of all stacks */
    uint32_t zoomed;                                        /* the frame that has the whole width */
    uint32_t cursor;                                        /* the marked frame; 0: none */
};

/* Makes it of the stacks of the window, and of those before it (NULL: unknown). False: no memory, or no stacks. */
bool hp_flame_make(struct hp_flame *flame, const struct hp_found_part *now, const struct hp_found_part *before);
/* The same of the stacks of one function, from all its callers; 0: of all. */
bool hp_flame_make_only(struct hp_flame *flame, const struct hp_found_part *now, const struct hp_found_part *before,
                        uint64_t only);
void hp_flame_free(struct hp_flame *flame);

/* The frame that is drawn first. */
uint32_t hp_flame_root(const struct hp_flame *flame);
static inline bool hp_flame_is_zoomed(const struct hp_flame *flame) { return hp_flame_root(flame) != 0; }

/* The name of a frame; of the root "all". */
const struct hp_flame_name *hp_flame_name(const struct hp_flame *flame, uint32_t node);

/* The frame before or after another one, among those below the first one with at least this much; 0: none. */
uint32_t hp_flame_neighbour(const struct hp_flame *flame, uint32_t node, enum hp_measure measure, uint64_t least,
                            bool is_back);

/*
 * The change of a frame since the window before, as a share of all stacks, from -1 to 1; 0 if it may be chance.
 * `period_ns` is that of samples.
 */
double hp_flame_change(const struct hp_flame *flame, uint32_t node, enum hp_measure measure, double period_ns);

/*
 * The innermost frame with a name that has most of what has changed; 0: nothing has changed by more than chance. Of
 * frames that are not there any more, too.
 */
uint32_t hp_flame_changed(const struct hp_flame *flame, enum hp_measure measure, double period_ns);

#endif
