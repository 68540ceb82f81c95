/*
 * The shape of a run: every node of every thread of every session, and the tree that they form together. It has no
 * numbers; profile.h reads those, repeatedly, while the shape stays the same.
 *
 * Nothing in a session file is trusted, and n nodes take at most n log n steps: an attacker may have chosen the
 * offsets. So parents are found by bisection, and hashes use an unpredictable seed. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_FOREST_H
#define HP_MODEL_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run.h"
#include "site_table.h"

struct hp_arena;

/*
 * Where a node is. A thread is identified by the offset of its record, which does not change when threads are
 * added.
 */
struct hp_session_dir {
    uint32_t session; /* its index */
    uint32_t thread;
    uint32_t offset;
};

/* A place in the merged call tree. */
struct hp_tree_node {
    struct hp_sums sums;
    struct hp_sums read; /* as read from the sessions, before settling */
    struct hp_site_sums *site;
    struct hp_tree_node *parent;
    struct hp_tree_node *first_child;
    struct hp_tree_node *next_sibling;
    struct hp_tree_node *folded; /* the outermost node from here up that calls were folded onto, or NULL */
    uint64_t calls_inside;
    bool is_self_scaled; /* as for sites */
    uint32_t depth;
    uint32_t index; /* in the forest's nodes */
    uint64_t key;   /* of its path: see floors.h */
    struct hp_sums *said;
};

/* One node of one thread's tree. There may be very many, and each reading visits all of them: keep it small. */
struct hp_record {
    union {
        struct hp_sums sums; /* as added to all sums that it is part of */
        struct {             /* while the shape is built */
            struct hp_site_sums *site;
            uint32_t parent; /* offset */
        } made_of;
    };
    struct hp_tree_node *merged; /* NULL: the thread's root */
    uint32_t offset;
};

/* The calls of a thread record, by what they cost. */
struct hp_thread_calls {
    uint32_t session; /* its index */
    uint32_t thread;  /* offset of the record */
    uint64_t timed, counted;
    uint64_t functions_timed, functions_counted; /* compiler-instrumented functions */
};

/* The tree of a thread. */
struct hp_thread_tree {
    struct hp_record *records; /* sorted by offset, so parents come before their children */
    size_t count;
    struct hp_thread_calls calls;
};

/* What the shape was built from, per session: if it is unchanged, so is the shape. */
struct hp_shape {
    uint64_t node_count;
    uint32_t threads; /* offset of the newest */
    uint32_t thread_count;
};

struct hp_forest {
    struct hp_arena *arena;
    const struct hp_run *run;
    bool is_by_thread;
    uint32_t label_count;
    struct hp_site_table sites;
    const struct hp_snapshot **sessions; /* those it was built from */
    size_t session_count;
    struct hp_shape *shapes;       /* one per session */
    struct hp_site_sums **mains;   /* one per session: its main function, or NULL */
    struct hp_thread_tree **trees; /* by session and thread */
    size_t tree_count;
    struct hp_tree_node **nodes; /* all, parents before their children */
    size_t node_count;
    struct hp_tree_node *first_root;
};

/*
 * By thread, the tree keeps the paths of each thread apart. `arena` is for the result, `passing` for temporary
 * data. False: no memory.
 */
bool hp_forest_build(struct hp_forest *forest, struct hp_arena *arena, struct hp_arena *passing,
                     const struct hp_run *run, bool is_by_thread);

/* Whether the sessions of `run`, read again, still have this shape. */
bool hp_forest_is_of(const struct hp_forest *forest, const struct hp_run *run);

/* The tree of a thread, or NULL. */
struct hp_thread_tree *hp_forest_tree(const struct hp_forest *forest, uint32_t session, uint32_t thread);

/* The record at an offset, or NULL. */
struct hp_record *hp_thread_tree_find(const struct hp_thread_tree *tree, uint32_t offset);

/*
 * The merged node for a record of any thread of a session, or NULL: a wait has its node, but not its thread. Each
 * tree that is searched takes one from `*trees_left`, as a broken file may have many waits and many threads.
 */
const struct hp_tree_node *hp_forest_find(const struct hp_forest *forest, uint32_t session, uint32_t offset,
                                          uint64_t *trees_left);

#endif
