/*
 * How much CPU time samples stand for. Late timers skip samples, and full rings lose some; but the kernel also
 * counts what all samples should add up to. So samples wait for the count of their CPU, and divide it.
 *
 *     struct hp_sample_window window = {0};
 *     hp_sample_window_add(&window, node, is_kernel);
 *     hp_sample_window_count(&window, ns, most_ns, put, context);      when this much more was counted
 *     hp_sample_window_end(&window, period_ns, put, context);          for samples without a count
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_SAMPLE_WEIGHTS_H
#define HP_COLLECT_SAMPLE_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_SAMPLE_OF_NONE UINT32_MAX /* instead of a node: time without a sample */

struct hp_waiting_sample {
    uint32_t node;
    bool is_kernel;
};

/* Of one CPU. */
struct hp_sample_window {
    struct hp_waiting_sample *all;
    size_t count, room;
    uint64_t carried_ns; /* counted while there was no sample */
};

typedef void hp_sample_put(void *context, const struct hp_waiting_sample *sample, uint64_t ns);

/* False: no memory; the sample is not added. */
bool hp_sample_window_add(struct hp_sample_window *window, uint32_t node, bool is_kernel);

/*
 * Each sample gets an equal part, but at most `most_ns`; the rest has no sample. Without samples it is kept for the
 * next ones, if it is at most what one of them may have.
 */
void hp_sample_window_count(struct hp_sample_window *window, uint64_t ns, uint64_t most_ns, hp_sample_put *put,
                            void *context);

/* Each remaining sample gets `period_ns`; time that was kept has no sample. Frees all. */
void hp_sample_window_end(struct hp_sample_window *window, uint64_t period_ns, hp_sample_put *put, void *context);

#endif
