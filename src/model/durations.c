/* Distributions of durations. SPDX-License-Identifier: MIT */
#include "durations.h"

#include <string.h>

#include "floors.h"

void hp_durations_add(struct hp_durations *durations, uint64_t ticks)
{
    uint32_t line, step;
    hp_duration_place(ticks, &line, &step);
    durations->lines[line][step]++;
    durations->timed++;
    durations->counted++;
}

/* Stats of a site that are read in one batch. */
#define TOGETHER 8u
struct batch {
    struct hotpath_stat_ stats[TOGETHER];
    const struct hp_snapshot *sessions[TOGETHER];
    size_t count;
};

/* Returns the first link that did not fit. */
static const struct hp_stat_link *read_batch(struct batch *batch, const struct hp_stat_link *link)
{
    const struct hp_stat_link *ahead = link;
    for (size_t at = 0; at < TOGETHER && ahead != NULL; at++, ahead = ahead->next)
        hp_snapshot_foresee_stat(ahead->session, ahead->offset);
    batch->count = 0;
    for (; link != ahead; link = link->next)
        if (hp_snapshot_stat(link->session, link->offset, &batch->stats[batch->count]))
            batch->sessions[batch->count++] = link->session;
    return ahead;
}

static void add_batch(const struct batch *batch, struct hp_durations *durations)
{
    for (size_t at = 0; at < batch->count; at++)
        hp_snapshot_foresee_durations(batch->sessions[at], &batch->stats[at]);
    for (size_t at = 0; at < batch->count; at++) {
        durations->timed += batch->stats[at].missed;
        hp_snapshot_add_durations(batch->sessions[at], &batch->stats[at], durations->lines);
    }
}

void hp_durations_of_site(const struct hp_site_sums *site, struct hp_durations *ret_durations)
{
    struct hp_site_details details;
    struct batch batch;
    memset(ret_durations, 0, sizeof *ret_durations);
    hp_site_details_begin(&details);
    for (const struct hp_stat_link *link = site->stats; link != NULL;) {
        link = read_batch(&batch, link);
        for (size_t at = 0; at < batch.count; at++)
            hp_site_details_add(&details, &batch.stats[at]);
        add_batch(&batch, ret_durations);
    }
    hp_site_details_end(&details, site);
    ret_durations->min = details.min;
    ret_durations->max = details.max;
    ret_durations->threads = details.threads;
    for (size_t line = 0; line < HP_DURATION_LINES; line++)
        for (size_t step = 0; step < 64; step++)
            ret_durations->counted += ret_durations->lines[line][step];
    ret_durations->timed += ret_durations->counted;
    for (const struct hp_open_link *link = site->opens; link != NULL; link = link->next)
        if (link->is_timed)
            hp_durations_add(ret_durations, link->ticks);
    if (site->said != NULL)
        hp_floor(&ret_durations->timed, &site->said->timed);
}

/* The middle of a counter's range. Counters of the first two lines hold one value each. */
static double middle_of(uint32_t line, uint32_t step)
{
    if (line == 0)
        return step;
    const uint64_t width = UINT64_C(1) << (line - 1);
    return (double)((64 + (uint64_t)step) * width) + (double)(width - 1) / 2;
}

double hp_durations_mean(const struct hp_durations *durations)
{
    const double least = (double)durations->min, most = (double)durations->max;
    double sum = 0, count = 0;
    for (uint32_t line = 0; line < HP_DURATION_LINES; line++)
        for (uint32_t step = 0; step < 64; step++) {
            if (durations->lines[line][step] == 0)
                continue;
            const double middle = middle_of(line, step), calls = (double)durations->lines[line][step];
            sum += calls * (middle < least ? least : middle > most ? most : middle);
            count += calls;
        }
    return count > 0 ? sum / count : 0;
}

void hp_durations_find_min(struct hp_durations *durations)
{
    uint32_t line = 0, step = 0;
    while (line < HP_DURATION_LINES && durations->lines[line][step] == 0) {
        step = (step + 1) % 64;
        line += step == 0;
    }
    const double least = line < HP_DURATION_LINES ? middle_of(line, step) : 0;
    durations->min = least < (double)durations->max ? (uint64_t)least : durations->max;
}

static uint64_t calls_of(const hp_duration_line line)
{
    uint64_t calls = 0;
    for (uint32_t step = 0; step < 64; step++)
        calls += line[step];
    return calls;
}

/* The 99.9th percentile of 1000 is the 999th, though 99.9 / 100 * 1000 is slightly above 999 in binary. */
uint64_t hp_durations_rank(double percentile, uint64_t count)
{
    const double exact = percentile / 100 * (double)count;
    uint64_t rank = exact >= 0x1p63 ? count : exact > 0 ? (uint64_t)exact : 0;
    if (exact - (double)rank > 1e-9 * exact)
        rank++;
    return rank < 1 ? 1 : rank > count ? count : rank;
}

bool hp_durations_percentile(const struct hp_durations *durations, double percentile, double *ret_ticks)
{
    if (durations->timed == 0 || durations->min > durations->max)
        return false;
    const double least = (double)durations->min, most = (double)durations->max;
    if (percentile <= 0 || percentile >= 100) {
        *ret_ticks = percentile <= 0 ? least : most;
        return true;
    }
    if (durations->counted == 0)
        return false;
    uint64_t left = hp_durations_rank(percentile, durations->counted), here;
    uint32_t line = 0, step = 0;
    for (; line < HP_DURATION_LINES && left > (here = calls_of(durations->lines[line])); line++)
        left -= here;
    while (line < HP_DURATION_LINES && left > durations->lines[line][step]) {
        left -= durations->lines[line][step];
        step = (step + 1) % 64;
        line += step == 0;
    }
    const double middle = line < HP_DURATION_LINES ? middle_of(line, step) : most;
    *ret_ticks = middle < least ? least : middle > most ? most : middle;
    return true;
}

uint32_t hp_steps_find(const uint64_t *steps, uint32_t count, double part)
{
    uint64_t all = 0, below = 0;
    uint32_t found = 0;
    for (uint32_t at = 0; at < count; at++)
        all += steps[at];
    const double wanted = (double)all * part;
    for (uint32_t at = 0; at < count; at++) {
        if (steps[at] == 0)
            continue;
        found = at;
        below += steps[at];
        if ((double)below >= wanted)
            break;
    }
    return found;
}
