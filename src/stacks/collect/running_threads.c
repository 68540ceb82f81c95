/* Counts the threads that were running. SPDX-License-Identifier: MIT */
#include "running_threads.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

/* ------------------------------------------------------------------------------------------------- by switches */

#define MOST_SWITCHES (UINT32_C(1) << 20) /* of a CPU; if nobody takes them, they start anew */

/* False: no memory. */
static bool make_room(struct hp_switch_line *line)
{
    if (line->taken == line->count || line->count - line->taken >= MOST_SWITCHES)
        line->taken = line->count = 0;
    if (line->taken > line->count / 2) {
        line->count -= line->taken;
        memmove(line->all, line->all + line->taken, line->count * sizeof *line->all);
        line->taken = 0;
    }
    return HP_MAKE_ROOM(line->all, line->count + 1, line->room);
}

static void meet_line(struct hp_switches *switches, size_t processor)
{
    if (switches->line_count <= processor)
        switches->line_count = processor + 1;
}

void hp_switches_put(struct hp_switches *switches, size_t processor, uint64_t ns, bool is_running)
{
    if (processor >= HP_PERF_PROCESSORS)
        return;
    struct hp_switch_line *line = &switches->lines[processor];
    pthread_mutex_lock(&switches->lock);
    meet_line(switches, processor);
    if (make_room(line))
        line->all[line->count++] = ns << 1 | is_running;
    pthread_mutex_unlock(&switches->lock);
}

static void take_until(struct hp_switches *switches, uint64_t ns)
{
    for (size_t at = 0; at < switches->line_count; at++) {
        struct hp_switch_line *line = &switches->lines[at];
        for (; line->taken < line->count && line->all[line->taken] >> 1 <= ns; line->taken++)
            line->is_running = line->all[line->taken] & 1;
    }
}

uint32_t hp_switches_running(struct hp_switches *switches, size_t processor, uint64_t ns)
{
    uint32_t running = 0;
    if (processor >= HP_PERF_PROCESSORS)
        return 1;
    pthread_mutex_lock(&switches->lock);
    meet_line(switches, processor);
    take_until(switches, ns);
    switches->lines[processor].is_running = true; /* it ran before it was watched, or a switch was lost */
    for (size_t at = 0; at < switches->line_count; at++)
        running += switches->lines[at].is_running;
    pthread_mutex_unlock(&switches->lock);
    return running;
}

void hp_switches_forget(struct hp_switches *switches, uint64_t ns)
{
    pthread_mutex_lock(&switches->lock);
    take_until(switches, ns);
    pthread_mutex_unlock(&switches->lock);
}

void hp_switches_free(struct hp_switches *switches)
{
    for (size_t at = 0; at < switches->line_count; at++)
        free(switches->lines[at].all);
    memset(switches->lines, 0, sizeof switches->lines);
    switches->line_count = 0;
}

/* -------------------------------------------------------------------------------------------------- by samples */

static uint64_t begin_of(const struct hp_timed_sample *sample)
{
    const uint64_t ns = sample->ns < HP_LONGEST_SAMPLE_NS ? sample->ns : HP_LONGEST_SAMPLE_NS;
    return sample->end_ns > ns ? sample->end_ns - ns : 0;
}

bool hp_timed_samples_add(struct hp_timed_samples *samples, const struct hp_timed_sample *sample)
{
    if (!HP_MAKE_ROOM(samples->all, samples->count + 1, samples->room) ||
        !HP_MAKE_ROOM(samples->begins, samples->count + 1, samples->begin_room))
        return false;
    samples->all[samples->count++] = *sample;
    return true;
}

static int by_end(const void *a, const void *b)
{
    const struct hp_timed_sample *x = a, *y = b;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int by_time(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t begun_until(const struct hp_timed_samples *samples, uint64_t ns)
{
    size_t low = 0, high = samples->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const bool has_begun = samples->begins[middle] <= ns;
        *(has_begun ? &low : &high) = has_begun ? middle + 1 : middle;
    }
    return low;
}

static size_t ended_until(const struct hp_timed_samples *samples, uint64_t ns)
{
    size_t low = 0, high = samples->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const bool has_ended = samples->all[middle].end_ns <= ns;
        *(has_ended ? &low : &high) = has_ended ? middle + 1 : middle;
    }
    return low;
}

/* In the middle of what it stands for: at its ends the samples of one thread touch. */
static uint32_t running_beside(const struct hp_timed_samples *samples, const struct hp_timed_sample *sample)
{
    const uint64_t begin = begin_of(sample), middle = begin + (sample->end_ns - begin) / 2;
    const size_t begun = begun_until(samples, middle), ended = ended_until(samples, middle);
    const size_t running = begun > ended ? begun - ended : 1;
    return (uint32_t)(samples->processors > 0 && running > samples->processors ? samples->processors : running);
}

/* Keeps what may have run beside later ones. */
static void leave_done_out(struct hp_timed_samples *samples, uint64_t until_ns)
{
    size_t count = 0;
    for (size_t at = 0; at < samples->count; at++)
        if (!samples->all[at].is_done || samples->all[at].end_ns + 2 * HP_LONGEST_SAMPLE_NS > until_ns)
            samples->all[count++] = samples->all[at];
    samples->count = count;
}

void hp_timed_samples_take(struct hp_timed_samples *samples, uint64_t until_ns, hp_timed_put *put, void *context)
{
    if (samples->count == 0)
        return;
    qsort(samples->all, samples->count, sizeof *samples->all, by_end);
    for (size_t at = 0; at < samples->count; at++)
        samples->begins[at] = begin_of(&samples->all[at]);
    qsort(samples->begins, samples->count, sizeof *samples->begins, by_time);
    for (size_t at = 0; at < samples->count; at++) {
        struct hp_timed_sample *sample = &samples->all[at];
        if (sample->is_done || sample->end_ns > until_ns || until_ns - sample->end_ns < HP_LONGEST_SAMPLE_NS)
            continue;
        put(context, sample, running_beside(samples, sample));
        sample->is_done = true;
    }
    leave_done_out(samples, until_ns);
}

void hp_timed_samples_free(struct hp_timed_samples *samples)
{
    free(samples->all);
    free(samples->begins);
    *samples = (struct hp_timed_samples){.count = 0};
}
