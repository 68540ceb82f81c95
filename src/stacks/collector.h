/*
 * The stacks of a run, unwound while it goes on: a thread takes what was seen (seen.h), keeps account of which process has what
 * mapped, and puts each stack into one tree. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_COLLECTOR_H
#define HP_STACKS_COLLECTOR_H

#include "function_profile.h"
#include "image_set.h"
#include "stack_tree.h"
#include "text_cache.h"
#include "zone_shares.h"

struct hp_stacks {
    struct hp_stack_tree tree;
    struct hp_image_set images;
    uint64_t period_ns;
    enum hp_stack_source source; /* of samples */
    bool has_kernel;             /* samples come from the kernel, too */
    uint64_t samples, lost;
    uint64_t refused; /* threads that could not be sampled */
    struct hp_unmade unmade;
    uint64_t whole;                  /* samples whose stack was followed to the start of its thread */
    uint64_t waits, waits_whole;     /* the same of threads that were found waiting ... */
    uint64_t waits_recovered;        /* ... and those of which a caller was found by a search of the stack */
    uint64_t allocs, allocs_whole;   /* the same of sampled allocations ... */
    uint64_t allocs_lost;            /* ... those that are in no sum */
    uint64_t alloc_mean;             /* bytes between them, as it was asked for */
    struct hp_text_cache wait_texts; /* what they wait for, by the places of nodes */
    struct hp_pair_table zones;      /* by session (session_numbers.h) and site, plus 1 */
    struct hp_zone_shares shares;    /* of the tree, by these */
};

/* Whether processes sample themselves. */
static inline bool hp_stacks_are_from_inside(enum hp_stack_source source)
{
    return source == HP_STACKS_BY_TIMERS || source == HP_STACKS_BY_PROGRAM;
}

/*
 * Begins with a process that has not begun to run yet. Samples come from perf, but where the processes know better (`from_inside`), or the
 * kernel does not let us: then from inside the processes, by rings in `folder`, if these are told to make them (NULL: they are not). Where the period is 0 there are no samples, and
 * stacks of threads that wait all the same. False: there will be nothing.
 */
bool hp_collector_begin(uint32_t pid, uint64_t period_ns, const char *folder, bool from_inside);

/* Where samples come from. */
enum hp_stack_source hp_collector_source(void);

/* Sampled allocations, too: of processes that have their sessions in that folder. Before it is begun. */
void hp_collector_want_heap(const char *folder);

/*
 * The same with a process that runs already, all its threads and what they start. Whether there are samples or not, there can be stacks of
 * threads that wait, until it is ended. False: there are no samples.
 */
bool hp_collector_attach(uint32_t pid, uint64_t period_ns);

/* Whether anybody takes what is seen. */
bool hp_collector_is_begun(void);

/* Ends it. What was collected, or NULL: it was not begun. It stays until hp_collector_free. */
const struct hp_stacks *hp_collector_end(void);
void hp_collector_free(void);

#endif
