/*
 * The stacks of a run, unwound while it goes on: a thread takes the events (event_queue.h), tracks which process
 * has what mapped, and adds each stack to one tree. SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_COLLECTOR_H
#define HP_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "function_profile.h"
#include "image_set.h"
#include "lock_holds.h"
#include "path_shares.h"
#include "perf_map.h"
#include "sources.h"
#include "space_table.h"
#include "stack_slots.h"
#include "stack_tree.h"
#include "symbol_tables.h"

struct hp_stacks {
    struct hp_stack_tree tree;
    struct hp_image_set images;
    struct hp_stack_counts counts;
    struct hp_stack_slots *slots;         /* the weights of nodes by time; NULL: not known */
    uint32_t *slot_nodes;                 /* by the number of a node in slots: that in the tree; NULL: the same */
    struct hp_text_cache wait_texts;      /* what they wait for, by the places of nodes */
    struct hp_pair_table zones;           /* by session (event_queue.h) and site, plus 1 */
    struct hp_zone_shares shares;         /* of the tree, by these */
    struct hp_lock_holds holds;           /* of its waits */
    struct hp_path_shares paths;          /* what its stacks had in segments of critical paths */
    struct hp_perf_maps maps;             /* names of code in no file */
    const struct hp_kernel_names *kernel; /* while it is named; NULL: functions of the kernel have no names */
    const struct hp_process_program *programs; /* by number: the upper half of a process's place has it, plus 1 */
    size_t program_count;
};

/* Whether processes sample themselves. */
static inline bool hp_stacks_are_from_inside(enum hp_stack_source source)
{
    return source == HP_STACKS_BY_TIMERS || source == HP_STACKS_BY_PROGRAM;
}

/*
 * Starts with a process that does not run yet. Samples come from perf, unless the processes know better
 * (`from_inside`) or the kernel refuses: then from inside the processes, through rings in `folder`, if they are
 * told to make them (NULL: they are not). With a period of 0 there are no samples, but still stacks of waiting
 * threads. False: there will be nothing.
 */
bool hp_collector_begin(uint32_t pid, uint64_t period_ns, const char *folder, bool from_inside);

/* The source of samples. */
enum hp_stack_source hp_collector_source(void);

/*
 * Requests sampled allocations, too, of processes that have their sessions in that folder. Call it before the
 * start.
 */
void hp_collector_want_heap(const char *folder);

/*
 * The same for running processes and what they start. If the kernel refuses samples, those that the processes take
 * for the `hotpath run` that has them in `folder` (NULL: there is none) are read as well, as long as it reads them.
 * With or without samples, there can be stacks of waiting threads, until it is stopped. False: there are no samples
 * of the kernel.
 */
bool hp_collector_attach(const struct hp_attached *tasks, size_t count, uint64_t period_ns, const char *folder);

/*
 * Requests that stacks be kept apart by thread, each below a node of HP_STACK_THREAD. Call it before the start.
 */
void hp_collector_keep_threads(void);

/* Requests what stacks had in segments of critical paths. Call it before the start. */
void hp_collector_follow_paths(void);

/*
 * Somebody who looks at the stacks while they are collected: called by the collector's thread, some fifty times a
 * second. It may call hp_collector_look: what was collected so far, valid until it returns. Events wait meanwhile.
 * Call it before the start.
 */
typedef void hp_collector_viewer(void *context);
void hp_collector_show_to(hp_collector_viewer *view, void *context);
const struct hp_stacks *hp_collector_look(void);

/* Whether the collector is running. */
bool hp_collector_is_begun(void);

/* Stops it. Returns what was collected, or NULL: it was not started. Valid until hp_collector_free. */
const struct hp_stacks *hp_collector_end(void);
void hp_collector_free(void);

/* ------------------------------------------------------------------------------------------- weights of samples */

/*
 * How much CPU time samples stand for. Late timers skip samples, and full rings lose some; but the kernel also
 * counts what all samples should add up to. So samples wait for the count of their CPU, and divide it.
 *
 *     struct hp_sample_window window = {0};
 *     hp_sample_window_add(&window, &sample);
 *     hp_sample_window_count(&window, &counted, put, context);         when this much more was counted
 *     hp_sample_window_end(&window, &counted, put, context);           for samples without a count
 */

#define HP_SAMPLE_OF_NONE UINT32_MAX /* instead of a node: time without a sample */

struct hp_waiting_sample {
    uint32_t node;
    bool is_kernel;
    uint16_t running; /* threads of the run at that time (running_threads.h); 0: unknown */
    uint64_t at_ns;   /* when it was taken */
};

/* Of one CPU. */
struct hp_sample_window {
    struct hp_waiting_sample *all;
    size_t count, room;
    uint64_t carried_ns; /* counted while there was no sample */
};

typedef void hp_sample_put(void *context, const struct hp_waiting_sample *sample, uint64_t ns);

/* False: no memory; the sample is not added. */
bool hp_sample_window_add(struct hp_sample_window *window, const struct hp_waiting_sample *sample);

struct hp_sample_count {
    uint64_t ns;      /* of CPU time, since the last count */
    uint64_t most_ns; /* for a sample */
    uint64_t at_ns;   /* when it was counted; time without a sample was then */
};

/*
 * Each sample gets an equal part, but at most `most_ns`; the rest has no sample. Without samples it is kept for the
 * next ones, if it is at most what one of them may have.
 */
void hp_sample_window_count(struct hp_sample_window *window, const struct hp_sample_count *count,
                            hp_sample_put *put, void *context);

/* Each remaining sample gets `most_ns`; time that was kept has no sample. Frees all. */
void hp_sample_window_end(struct hp_sample_window *window, const struct hp_sample_count *count, hp_sample_put *put,
                          void *context);

#endif
