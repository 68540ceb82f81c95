/*
 * Where locks were held. Only few of the looks at a running owner coincide with a sample of it; those that do stand
 * for all of them. SPDX-License-Identifier: MIT
 */
#include "lock_holds.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

#define KEPT_NS UINT64_C(300000000) /* samples are kept for longer than what is pending */

/* ---------------------------------------------------------------------------------------------- samples */

/* Those of several processes come from several rings, so they may be out of order by some milliseconds. */
void hp_lock_holds_sample(struct hp_lock_holds *holds, uint64_t ns, uint32_t tid, uint32_t node)
{
    if (!HP_MAKE_ROOM(holds->samples, holds->sample_count + 1, holds->sample_room))
        return;
    size_t at = holds->sample_count++;
    for (; at > 0 && holds->samples[at - 1].ns > ns; at--)
        holds->samples[at] = holds->samples[at - 1];
    holds->samples[at] = (struct hp_recent_sample){ns, tid, node};
}

/* The first sample at a time, or after it. */
static size_t sample_from(const struct hp_lock_holds *holds, uint64_t ns)
{
    size_t low = 0, high = holds->sample_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const bool is_before = holds->samples[middle].ns < ns;
        *(is_before ? &low : &high) = is_before ? middle + 1 : middle;
    }
    return low;
}

static void forget_samples(struct hp_lock_holds *holds, uint64_t until_ns)
{
    const size_t gone = sample_from(holds, until_ns > KEPT_NS ? until_ns - KEPT_NS : 0);
    if (gone == 0 || gone < holds->sample_count / 2)
        return; /* moving the rest pays later */
    memmove(holds->samples, holds->samples + gone, (holds->sample_count - gone) * sizeof *holds->samples);
    holds->sample_count -= gone;
}

/* ---------------------------------------------------------------------------------------------- holds */

/* Its number in `all`; HP_NO_PAIR: no memory. */
static uint32_t hold_at(struct hp_lock_holds *holds, uint32_t waiter, uint32_t holder)
{
    if (!HP_MAKE_ROOM(holds->all, holds->count + 1, holds->room) ||
        !HP_MAKE_ZEROED_ROOM(holds->is_sampled, holds->count + 1, holds->sampled_room))
        return HP_NO_PAIR;
    const uint32_t number = hp_pair_table_put(&holds->pairs, waiter, holder);
    if (number == holds->count)
        holds->all[holds->count++] = (struct hp_lock_hold){.waiter = waiter, .holder = holder};
    return number;
}

bool hp_lock_holds_add(struct hp_lock_holds *holds, uint32_t waiter, uint32_t holder, uint64_t ns, uint64_t samples)
{
    const uint32_t number = hold_at(holds, waiter, holder);
    if (number == HP_NO_PAIR)
        return false;
    holds->all[number].ns += ns;
    holds->all[number].samples += samples;
    return true;
}

/* NULL: no memory. */
static struct hp_running_waiter *waiter_at(struct hp_lock_holds *holds, uint32_t node)
{
    if (!HP_MAKE_ZEROED_ROOM(holds->waiters, holds->waiter_nodes.count + 1, holds->waiter_room))
        return NULL;
    const uint32_t number = hp_pair_table_put(&holds->waiter_nodes, node, 0);
    return number != HP_NO_PAIR ? &holds->waiters[number] : NULL;
}

void hp_lock_holds_run(struct hp_lock_holds *holds, const struct hp_running_hold *hold)
{
    struct hp_running_waiter *waiter = waiter_at(holds, hold->waiter);
    if (waiter == NULL)
        return;
    waiter->ns += hold->ns;
    if (hold->from_ns < hold->to_ns && HP_MAKE_ROOM(holds->pending, holds->pending_count + 1, holds->pending_room))
        holds->pending[holds->pending_count++] = *hold;
}

static bool is_during(const struct hp_lock_holds *holds, size_t at, const struct hp_running_hold *hold)
{
    return at < holds->sample_count && holds->samples[at].ns <= hold->to_ns;
}

static void find_samples(struct hp_lock_holds *holds, const struct hp_running_hold *hold)
{
    const size_t first = sample_from(holds, hold->from_ns);
    struct hp_running_waiter *waiter = waiter_at(holds, hold->waiter);
    uint64_t found = 0;
    for (size_t at = first; is_during(holds, at, hold); at++)
        found += holds->samples[at].tid == hold->tid;
    for (size_t at = first; waiter != NULL && found > 0 && is_during(holds, at, hold); at++) {
        if (holds->samples[at].tid != hold->tid)
            continue;
        const uint32_t number = hold_at(holds, hold->waiter, holds->samples[at].node);
        if (number == HP_NO_PAIR)
            continue;
        holds->is_sampled[number] = true;
        holds->all[number].ns += hold->ns / found;
        holds->all[number].samples++;
        waiter->found_ns += hold->ns / found;
    }
}

void hp_lock_holds_settle(struct hp_lock_holds *holds, uint64_t until_ns)
{
    size_t kept = 0;
    for (size_t at = 0; at < holds->pending_count; at++)
        if (holds->pending[at].to_ns > until_ns)
            holds->pending[kept++] = holds->pending[at];
        else
            find_samples(holds, &holds->pending[at]);
    holds->pending_count = kept;
    forget_samples(holds, until_ns);
}

/* NULL: its owners did not run. */
static const struct hp_running_waiter *known_waiter(const struct hp_lock_holds *holds, uint32_t node)
{
    const uint32_t number = hp_pair_table_find(&holds->waiter_nodes, node, 0);
    return number != HP_NO_PAIR ? &holds->waiters[number] : NULL;
}

uint64_t hp_lock_hold_ns(const struct hp_lock_holds *holds, size_t number)
{
    const struct hp_lock_hold *hold = &holds->all[number];
    const struct hp_running_waiter *waiter =
        number < holds->sampled_room && holds->is_sampled[number] && !holds->is_ended
            ? known_waiter(holds, hold->waiter)
            : NULL;
    return waiter != NULL && waiter->found_ns > 0
               ? (uint64_t)((double)hold->ns * ((double)waiter->ns / (double)waiter->found_ns))
               : hold->ns;
}

void hp_lock_holds_end(struct hp_lock_holds *holds)
{
    hp_lock_holds_settle(holds, UINT64_MAX);
    for (size_t at = 0; at < holds->count; at++)
        holds->all[at].ns = hp_lock_hold_ns(holds, at);
    holds->is_ended = true;
}

void hp_lock_holds_free(struct hp_lock_holds *holds)
{
    free(holds->all);
    free(holds->pending);
    free(holds->samples);
    free(holds->waiters);
    free(holds->is_sampled);
    hp_pair_table_free(&holds->pairs);
    hp_pair_table_free(&holds->waiter_nodes);
    *holds = (struct hp_lock_holds){.count = 0};
}
