/* The call tree of a thread: see tree.c. The caller holds the context. SPDX-License-Identifier: MIT */
#ifndef HP_ZONES_TREE_H
#define HP_ZONES_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

/* Makes an empty tree and index in a new record. False: no space. */
bool hp_tree_begin(struct hp_thread_context *context);
/* Makes an empty index for an existing tree. */
bool hp_tree_resume(struct hp_thread_context *context);
/* Makes a stat in which nothing is ever counted, for frames of calls that must end on the slow path. */
void hp_tree_need_blank_stat(struct hp_thread_context *context);
/* The counter of a value in a histogram; NULL: no space for its octave. */
uint64_t *hp_tree_counter(struct hp_thread_context *context, uint32_t octaves[HOTPATH_OCTAVES_], uint64_t value);
/* Where `site` leads from `parent`, made if missing; `spare` is used if the index is full. */
const struct hotpath_slot_ *hp_tree_slot(struct hp_thread_context *context, uint32_t parent, uint32_t site,
                                         struct hotpath_slot_ *spare);
/* Updates the flags of a node on the path from `parent`, after `keeps` or `period` of its stat has changed. */
void hp_tree_refresh(struct hp_thread_context *context, uint32_t parent, uint32_t node);
/* Whether open calls of a node are counted. */
bool hp_tree_is_recursive(const struct hp_thread_context *context, uint32_t node);
/* Recounts the open calls of the site of `frame`: a jump interrupted the counting. */
void hp_tree_recount(const struct hp_thread_context *context, const struct hotpath_frame_ *frame);

/* Calls too short to be timed each time. */

/* If measuring takes more than the bound's share, calls of this node are only counted, and timed now and then. */
void hp_tree_limit(struct hp_thread_context *context, uint32_t parent, uint32_t node);
/* Checks a timed call of such a node: if its calls have become long, all are timed again. */
void hp_tree_review(struct hp_thread_context *context, uint32_t node, uint64_t ticks);

/* ---------------------------------------------------------------------------------------- what is kept of calls */

/* What is kept of a site's calls besides numbers (call_log.h), as stored in `keeps` of a thread's stat. */

#define HP_KEEPS_LOG 1u        /* the latest calls */
#define HP_KEEPS_SLOWEST 2u    /* the slowest call, with everything inside it */
#define HP_KEEPS_NO_SLOWEST 4u /* never again: its calls were suspended, so not everything below them is theirs */
static inline uint32_t hp_stat_log(const struct hotpath_stat_ *stat)
{
    return stat->keeps & (HP_KEEPS_LOG | HP_KEEPS_SLOWEST);
}

/* Whether calls of the site may be followed on this thread. */
bool hp_call_log_may_follow(const struct hp_thread_context *context, uint32_t site);

#endif
