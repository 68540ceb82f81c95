/* The call tree of a thread: see tree.c. With the head held. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_TREE_H
#define HP_RECORD_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

/* An empty tree and index in a new record; false without space. */
bool hp_tree_begin(struct hp_head *head);
/* An empty index for a tree that is there. */
bool hp_tree_resume(struct hp_head *head);
/* A stat in which nothing is ever counted, for frames of calls that have to end out of line. */
void hp_tree_need_blank_stat(struct hp_head *head);
/* The counter of a value in a histogram, or NULL when there is no space for its octave. */
uint64_t *hp_tree_counter(struct hp_head *head, uint32_t octaves[HOTPATH_OCTAVES_], uint64_t value);
/* Where `site` leads from `parent`, made if it is not there; `spare` stands in when the index is full. */
const struct hotpath_slot_ *hp_tree_slot(struct hp_head *head, uint32_t parent, uint32_t site,
                                         struct hotpath_slot_ *spare);
/* What zones of a node have to mind has changed (`keeps` or `period` of its stat), on the way there from `parent`. */
void hp_tree_refresh(struct hp_head *head, uint32_t parent, uint32_t node);
/* Whether open calls of a node are counted. */
bool hp_tree_is_recursive(const struct hp_head *head, uint32_t node);
/* Counts the open calls of the site of `frame` anew: somebody was left by a jump while he did. */
void hp_tree_recount(const struct hp_head *head, const struct hotpath_frame_ *frame);

/* --- for short_calls.c */
/* The longest call, by the clock, of whose time measuring is more than the bound. */
uint64_t hp_tree_longest_short_call(void);
/* Whether calls of a node are about that short; the same site may be called for more elsewhere. */
bool hp_tree_is_short_path(const struct hotpath_node_ *node);

#endif
