/*
 * What threads did in the segments of critical paths. Samples wait until the end of their segment is known, however
 * long that takes: if there are many, one of two goes, and the other one counts for both.
 * SPDX-License-Identifier: MIT
 */
#include "path_shares.h"

#include <stdlib.h>

#include "growing_array.h"

#define MOST_PENDING 8192u /* samples of a thread; an even number */

struct pending {
    uint64_t ns;
    uint32_t node;
    int64_t cpu_ns, waited_ns;
};

struct end {
    uint64_t ns;
    uint32_t key;
};

/* Both in order of time. */
struct hp_path_thread_samples {
    struct pending *samples;
    struct end *ends;
    size_t count, room, end_count, end_room;
    uint32_t group, in_group; /* how many are joined in one; so many are in the last one, unless it is full: 0 */
};

bool hp_path_shares_add(struct hp_path_shares *shares, const struct hp_path_share *share)
{
    const uint32_t key = hp_pair_table_put(&shares->keys, share->pid, share->key);
    if (key == HP_NO_PAIR || !HP_MAKE_ROOM(shares->all, shares->count + 1, shares->room))
        return false;
    const uint32_t number = hp_pair_table_put(&shares->pairs, share->node, key);
    if (number == HP_NO_PAIR)
        return false;
    if (number == shares->count)
        shares->all[shares->count++] =
            (struct hp_path_share){.node = share->node, .pid = share->pid, .key = share->key};
    shares->all[number].cpu_ns += share->cpu_ns;
    shares->all[number].waited_ns += share->waited_ns;
    return true;
}

/* NULL: no memory. */
static struct hp_path_thread_samples *thread_of(struct hp_path_shares *shares, uint32_t pid, uint32_t tid)
{
    if (!HP_MAKE_ZEROED_ROOM(shares->threads, shares->tids.count + 1, shares->thread_room))
        return NULL;
    const uint32_t number = hp_pair_table_put(&shares->tids, pid, tid);
    return number != HP_NO_PAIR ? &shares->threads[number] : NULL;
}

/* One of the two has the weight of both: the second with a chance of one in `of`. */
static void join(struct hp_path_shares *shares, struct pending *first, const struct pending *second, uint32_t of)
{
    const int64_t cpu_ns = first->cpu_ns + second->cpu_ns, waited_ns = first->waited_ns + second->waited_ns;
    shares->seed = shares->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if ((shares->seed >> 33) % of == 0)
        *first = *second;
    first->cpu_ns = cpu_ns;
    first->waited_ns = waited_ns;
}

/* All remaining ones stand for equally many. */
static void thin(struct hp_path_shares *shares, struct hp_path_thread_samples *thread)
{
    size_t kept = 0;
    for (size_t at = 0; at + 1 < thread->count; at += 2) {
        join(shares, &thread->samples[at], &thread->samples[at + 1], 2);
        thread->samples[kept++] = thread->samples[at];
    }
    thread->count = kept;
    thread->group *= 2;
    thread->in_group = 0;
}

static void insert(struct hp_path_thread_samples *thread, const struct pending *sample)
{
    size_t at = thread->count++;
    for (; at > 0 && thread->samples[at - 1].ns > sample->ns; at--)
        thread->samples[at] = thread->samples[at - 1];
    thread->samples[at] = *sample;
}

void hp_path_shares_sample(struct hp_path_shares *shares, const struct hp_path_sample *sample)
{
    const struct pending pending = {sample->ns, sample->node, sample->cpu_ns, sample->waited_ns};
    struct hp_path_thread_samples *thread = thread_of(shares, sample->pid, sample->tid);
    if (thread == NULL || !HP_MAKE_ROOM(thread->samples, thread->count + 1, thread->room))
        return;
    if (thread->count == 0) {
        thread->group = 1;
        thread->in_group = 0;
    }
    if (thread->count == MOST_PENDING && thread->in_group == 0)
        thin(shares, thread);
    if (thread->in_group == 0)
        insert(thread, &pending);
    else
        join(shares, &thread->samples[thread->count - 1], &pending, thread->in_group + 1);
    thread->in_group = (thread->in_group + 1) % thread->group;
}

void hp_path_shares_end(struct hp_path_shares *shares, uint32_t pid, uint32_t tid, uint32_t key, uint64_t ns)
{
    struct hp_path_thread_samples *thread = thread_of(shares, pid, tid);
    if (thread == NULL || !HP_MAKE_ROOM(thread->ends, thread->end_count + 1, thread->end_room))
        return;
    size_t at = thread->end_count++;
    for (; at > 0 && thread->ends[at - 1].ns > ns; at--)
        thread->ends[at] = thread->ends[at - 1];
    thread->ends[at] = (struct end){ns, key};
}

static void add(struct hp_path_shares *shares, const struct pending *sample, uint32_t pid, uint32_t key)
{
    hp_path_shares_add(shares, &(struct hp_path_share){.node = sample->node,
                                                       .pid = pid,
                                                       .key = key,
                                                       .cpu_ns = sample->cpu_ns,
                                                       .waited_ns = sample->waited_ns});
}

/* A run may have very many threads, one after the other. */
static void forget(struct hp_path_thread_samples *thread)
{
    free(thread->samples);
    free(thread->ends);
    *thread = (struct hp_path_thread_samples){.count = 0};
}

static void settle(struct hp_path_shares *shares, struct hp_path_thread_samples *thread, uint32_t pid,
                   uint64_t until_ns)
{
    size_t taken = 0, end = 0;
    for (; end < thread->end_count && thread->ends[end].ns <= until_ns; end++)
        while (taken < thread->count && thread->samples[taken].ns <= thread->ends[end].ns)
            add(shares, &thread->samples[taken++], pid, thread->ends[end].key);
    for (size_t at = taken; at < thread->count && taken > 0; at++)
        thread->samples[at - taken] = thread->samples[at];
    for (size_t at = end; at < thread->end_count && end > 0; at++)
        thread->ends[at - end] = thread->ends[at];
    thread->count -= taken;
    thread->end_count -= end;
    if (thread->count == 0 && thread->end_count == 0)
        forget(thread);
}

void hp_path_shares_settle(struct hp_path_shares *shares, uint64_t until_ns)
{
    for (size_t at = 0; at < shares->tids.count; at++)
        settle(shares, &shares->threads[at], shares->tids.all[at].first, until_ns);
}

/* The path ends with the first thread; what others did last is on none. */
void hp_path_shares_finish(struct hp_path_shares *shares)
{
    hp_path_shares_settle(shares, UINT64_MAX);
    for (size_t at = 0; at < shares->tids.count; at++) {
        struct hp_path_thread_samples *thread = &shares->threads[at];
        const struct hp_pair *of = &shares->tids.all[at];
        for (size_t sample = 0; sample < thread->count && of->first == of->second; sample++)
            add(shares, &thread->samples[sample], of->first, HP_PATH_OPEN);
        thread->count = 0;
    }
}

void hp_path_shares_free(struct hp_path_shares *shares)
{
    for (size_t at = 0; shares->threads != NULL && at < shares->tids.count; at++)
        forget(&shares->threads[at]);
    free(shares->threads);
    free(shares->all);
    hp_pair_table_free(&shares->keys);
    hp_pair_table_free(&shares->pairs);
    hp_pair_table_free(&shares->tids);
    *shares = (struct hp_path_shares){.count = 0};
}
