/* Durations of the calls in the last seconds. SPDX-License-Identifier: MIT */
#include "recent_durations.h"

#include <stdlib.h>
#include <string.h>

#include "arith.h"

#define STEP_NS UINT64_C(900000000)
#define STEPS 64u

static void forget_moment(struct hp_recent_moment *moment)
{
    free(moment->amounts);
    *moment = (struct hp_recent_moment){0};
}

static void forget_site(struct hp_recent_site *site)
{
    for (unsigned at = 0; at < site->count; at++)
        forget_moment(&site->moments[at]);
    *site = (struct hp_recent_site){0};
}

void hp_recent_free(struct hp_recent_durations *recent)
{
    for (unsigned at = 0; at < HP_RECENT_SITES; at++)
        forget_site(&recent->sites[at]);
}

/* Its slot, or that of the function not visible for the longest time. */
static struct hp_recent_site *site_of(struct hp_recent_durations *recent, uint64_t id)
{
    struct hp_recent_site *oldest = &recent->sites[0];
    for (unsigned at = 0; at < HP_RECENT_SITES; at++) {
        struct hp_recent_site *site = &recent->sites[at];
        if (site->id == id)
            return site;
        if (site->used_ns < oldest->used_ns)
            oldest = site;
    }
    forget_site(oldest);
    oldest->id = id;
    return oldest;
}

static bool copy_moment(struct hp_recent_moment *moment, uint64_t elapsed_ns, const struct hp_durations *durations)
{
    uint32_t count = 0;
    for (unsigned at = 0; at < HP_DURATION_LINES * STEPS; at++)
        count += durations->lines[at / STEPS][at % STEPS] > 0;
    *moment = (struct hp_recent_moment){.elapsed_ns = elapsed_ns, .count = count};
    moment->amounts = malloc((count + 1) * (sizeof *moment->amounts + sizeof *moment->places));
    if (moment->amounts == NULL)
        return false;
    moment->places = (uint16_t *)(moment->amounts + count + 1);
    uint32_t used = 0;
    for (unsigned at = 0; at < HP_DURATION_LINES * STEPS; at++)
        if (durations->lines[at / STEPS][at % STEPS] > 0) {
            moment->places[used] = (uint16_t)at;
            moment->amounts[used++] = durations->lines[at / STEPS][at % STEPS];
        }
    return true;
}

static void keep(struct hp_recent_site *site, uint64_t elapsed_ns, const struct hp_durations *durations)
{
    struct hp_recent_moment moment;
    if (site->count > 0 && elapsed_ns < site->moments[site->count - 1].elapsed_ns + STEP_NS)
        return;
    if (!copy_moment(&moment, elapsed_ns, durations))
        return;
    if (site->count == HP_RECENT_MOMENTS) {
        forget_moment(&site->moments[0]);
        memmove(&site->moments[0], &site->moments[1], (HP_RECENT_MOMENTS - 1) * sizeof site->moments[0]);
        site->count--;
    }
    site->moments[site->count++] = moment;
}

/* The latest copy that is old enough, else the oldest. */
static const struct hp_recent_moment *before(const struct hp_recent_site *site, uint64_t from_ns,
                                             uint64_t elapsed_ns)
{
    const struct hp_recent_moment *best = site->count > 0 ? &site->moments[0] : NULL;
    for (unsigned at = 1; at < site->count && site->moments[at].elapsed_ns <= from_ns; at++)
        best = &site->moments[at];
    return best != NULL && best->elapsed_ns + STEP_NS <= elapsed_ns ? best : NULL;
}

/* The highest remaining counter tells the longest call approximately. */
static void find_most(struct hp_durations *durations)
{
    for (unsigned at = HP_DURATION_LINES * STEPS; at-- > 0;) {
        const unsigned line = at / STEPS, step = at % STEPS;
        if (durations->lines[line][step] == 0)
            continue;
        const uint64_t width = line > 0 ? UINT64_C(1) << (line - 1) : 1;
        const uint64_t bound = line > 0 ? (UINT64_C(32) << line) + width * (step + 1) - 1 : step;
        if (bound < durations->max)
            durations->max = bound;
        return;
    }
}

bool hp_recent_cut(struct hp_recent_durations *recent, uint64_t id, uint64_t elapsed_ns, uint64_t from_ns,
                   struct hp_durations *durations)
{
    struct hp_recent_site *site = site_of(recent, id);
    site->used_ns = elapsed_ns;
    keep(site, elapsed_ns, durations);
    const struct hp_recent_moment *base = before(site, from_ns, elapsed_ns);
    if (base == NULL)
        return false;
    for (uint32_t at = 0; at < base->count; at++) {
        uint64_t *counter = &durations->lines[base->places[at] / STEPS][base->places[at] % STEPS];
        *counter = hp_less(*counter, base->amounts[at]);
    }
    durations->counted = 0;
    for (unsigned at = 0; at < HP_DURATION_LINES * STEPS; at++)
        durations->counted += durations->lines[at / STEPS][at % STEPS];
    durations->timed = durations->counted;
    hp_durations_find_min(durations);
    find_most(durations);
    return true;
}
