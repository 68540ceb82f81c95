/*
 * How much processor time samples stand for. A timer that comes late leaves samples out, and a ring that is full loses some; but the
 * kernel also counts what all of them should add up to. So samples wait for the count of their processor, and share it.
 *
 *     struct hp_sample_window window = {0};
 *     hp_sample_window_add(&window, node, is_kernel);
 *     hp_sample_window_count(&window, ns, most_ns, put, context);      when so much more was counted
 *     hp_sample_window_end(&window, period_ns, put, context);          those that no count came for
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_SAMPLE_WEIGHTS_H
#define HP_STACKS_SAMPLE_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_SAMPLE_OF_NONE UINT32_MAX /* instead of a node: time that no sample stands for */

struct hp_waiting_sample {
    uint32_t node;
    bool is_kernel;
};

/* Of one processor. */
struct hp_sample_window {
    struct hp_waiting_sample *all;
    size_t count, room;
    uint64_t carried_ns; /* counted when there was no sample to have it */
};

typedef void hp_sample_put(void *context, const struct hp_waiting_sample *sample, uint64_t ns);

/* False: no memory; it is not among those that wait. */
bool hp_sample_window_add(struct hp_sample_window *window, uint32_t node, bool is_kernel);

/*
 * Each gets an equal part, but no more than `most_ns`; what is left then was nobody's. Without samples it is
 * kept for the next ones, if it is no more than one of them may have.
 */
void hp_sample_window_count(struct hp_sample_window *window, uint64_t ns, uint64_t most_ns, hp_sample_put *put,
                            void *context);

/* Each that is left gets `period_ns`, and what was kept was nobody's. Frees all. */
void hp_sample_window_end(struct hp_sample_window *window, uint64_t period_ns, hp_sample_put *put, void *context);

#endif
