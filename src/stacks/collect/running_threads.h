/*
 * How many threads of a run were running at a time. CPU time that is divided by that number is time on the clock,
 * in which anything of the run ran. Threads that wait for a free CPU do not count.
 *
 * Where the kernel samples, it also tells when a thread of the run gets a CPU and when it leaves it. Elsewhere a
 * thread is taken to have run for the time that its sample stands for, before the sample.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_RUNNING_THREADS_H
#define HP_COLLECT_RUNNING_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf_ring.h"

/* Of CPU time, that part of the time on the clock. */
static inline uint64_t hp_wall_part(uint64_t ns, uint32_t running) { return running > 1 ? ns / running : ns; }

/* ------------------------------------------------------------------------------------------------- by switches */

/* Of one CPU: the times at which a thread of the run got it (odd) and left it (even), twice their value. */
struct hp_switch_line {
    uint64_t *all;
    size_t count, room, taken;
    bool is_running; /* after those that were taken */
};

/*
 *     struct hp_switches switches = {.lock = PTHREAD_MUTEX_INITIALIZER};
 *     hp_switches_put(&switches, processor, ns, true);       in order of time for each CPU; from any thread
 *     hp_switches_running(&switches, processor, ns);         in order of time
 */
struct hp_switches {
    pthread_mutex_t lock;
    struct hp_switch_line lines[HP_PERF_PROCESSORS];
    size_t line_count; /* CPUs that had a switch or a sample */
};

void hp_switches_put(struct hp_switches *switches, size_t processor, uint64_t ns, bool is_running);

/* How many threads were running when a sample found one of them on that CPU: at least that one. */
uint32_t hp_switches_running(struct hp_switches *switches, size_t processor, uint64_t ns);

/* There will be no samples before that time. */
void hp_switches_forget(struct hp_switches *switches, uint64_t ns);
void hp_switches_free(struct hp_switches *switches);

/* -------------------------------------------------------------------------------------------------- by samples */

#define HP_LONGEST_SAMPLE_NS UINT64_C(10000000) /* what a sample stands for is taken to have been in this time */

/* A sample that does not know yet what ran beside it: `ns` of CPU time until then. */
struct hp_timed_sample {
    uint64_t end_ns, ns;
    uint32_t node, zone; /* as the collector numbers them */
    bool is_done;
};

struct hp_timed_samples {
    struct hp_timed_sample *all;
    uint64_t *begins; /* room for a time per sample */
    size_t count, room, begin_room;
    uint32_t processors; /* at most so many threads run; 0: any number */
};

typedef void hp_timed_put(void *context, const struct hp_timed_sample *sample, uint32_t running);

/* In any order. False: no memory. */
bool hp_timed_samples_add(struct hp_timed_samples *samples, const struct hp_timed_sample *sample);

/* All samples that end until then have been added: gives each that is followed by what could have run beside it. */
void hp_timed_samples_take(struct hp_timed_samples *samples, uint64_t until_ns, hp_timed_put *put, void *context);
void hp_timed_samples_free(struct hp_timed_samples *samples);

#endif
