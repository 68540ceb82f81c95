/*
 * The shape of a run: every node of every thread of every session, and the tree that they make together. It has no numbers;
 * profile.h reads those, as often as somebody asks, while the shape is the same.
 *
 * Nothing of a session is believed, and what is done with n nodes takes n log n steps at most: offsets may have been chosen by
 * an enemy. So parents are found by bisection, and what is hashed is hashed with a number that nobody knows beforehand.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_FOREST_H
#define HP_MODEL_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run.h"
#include "site_table.h"

struct hp_arena;

/* Where a node is. Threads are known by the offset of their record, which stays when other threads appear. */
struct hp_place {
    uint32_t session; /* its index */
    uint32_t thread;
    uint32_t offset;
};

/* A place in the merged call tree. */
struct hp_tree_node {
    struct hp_sums sums;
    struct hp_site_sums *site;
    struct hp_tree_node *parent;
    struct hp_tree_node *first_child;
    struct hp_tree_node *next_sibling;
    struct hp_tree_node *folded; /* the outermost node from here up that calls were folded onto, or NULL */
    uint64_t calls_inside;
    bool is_self_scaled; /* as of sites */
    uint32_t depth;
    uint32_t index; /* in the forest's nodes */
};

/* One node of one thread's tree. */
struct hp_record {
    struct hp_sums sums;
    struct hp_site_sums *site; /* NULL: the thread's root */
    struct hp_record *parent;  /* NULL: the root, or none */
    struct hp_tree_node *merged;
    struct hp_place place;
    uint32_t parent_offset;
    uint32_t depth;   /* 0: not known yet; 1: below the root */
    uint32_t visited; /* the last search that came by */
};

/* What of a session the shape was made from: if it is the same, so is the shape. */
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
    const struct hp_snapshot **sessions; /* those it was made from */
    size_t session_count;
    struct hp_shape *shapes;     /* one per session */
    struct hp_site_sums **mains; /* one per session: its main function, or NULL */
    struct hp_record **records;  /* by session, thread and offset */
    size_t record_count;
    struct hp_tree_node **nodes; /* all, parents before their children */
    size_t node_count;
    struct hp_tree_node *first_root;
};

/* By thread, the tree has the paths of each thread by themselves. False: no memory. */
bool hp_forest_build(struct hp_forest *forest, struct hp_arena *arena, const struct hp_run *run, bool is_by_thread);

/* Whether the sessions of `run`, read anew, still have the shape. */
bool hp_forest_is_of(const struct hp_forest *forest, const struct hp_run *run);

/* Takes back all numbers, and any order in which siblings were put. */
void hp_forest_forget(struct hp_forest *forest);

/* The record at a place, or NULL. */
struct hp_record *hp_forest_find(const struct hp_forest *forest, const struct hp_place *place);

#endif
