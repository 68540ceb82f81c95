/* What functions waited for at locks. SPDX-License-Identifier: MIT */
#include "lock_causes.h"

#include <string.h>

#include "layout.h"
#include "text.h"
#include "utf8.h"
#include "wait_profile.h"

#define EXPLAINED_PART 0.5 /* of what samples found: the rest may be locks of the C library */
#define NEARLY_ALL_PART 0.8
#define LEAST_UNSEEN 5u /* probes: fewer may have found any lock of the C library */

bool hp_lock_is_for(uint32_t kind, uint32_t cause)
{
    switch (cause) {
    case HP_WAIT_LOCK:
        return kind == HP_LOCK_MUTEX || kind == HP_LOCK_RWLOCK || kind == HP_LOCK_SPIN || kind == HP_LOCK_OWN;
    case HP_WAIT_CONDITION:
        return kind == HP_LOCK_CONDITION;
    case HP_WAIT_SEMAPHORE:
        return kind == HP_LOCK_SEMAPHORE;
    case HP_WAIT_BARRIER:
        return kind == HP_LOCK_BARRIER;
    case HP_WAIT_FUTEX: /* too little was seen to tell */
        return kind != HP_LOCK_OTHERS && kind != HP_LOCK_NONE;
    default:
        return false;
    }
}

bool hp_lock_is_function(const char *a, const char *b)
{
    static const char after[] = "(. ";
    const size_t length = strcspn(a, after);
    return length > 0 && length == strcspn(b, after) && memcmp(a, b, length) == 0;
}

/* With waking up, which belongs to it in the same share as to the whole lock. */
static double waited_ns(const struct hp_lock_block *block)
{
    return block->lock->blame_ns > 0 ? block->ns * block->lock->wait_ns / block->lock->blame_ns : 0;
}

const struct hp_lock_row *hp_lock_longest(const struct hp_lock_profile *profile, uint32_t cause, double *ret_all_ns)
{
    const struct hp_lock_row *longest = NULL;
    *ret_all_ns = 0;
    for (size_t at = 0; profile != NULL && at < profile->row_count; at++) {
        const struct hp_lock_row *row = profile->rows[at];
        if (!hp_lock_is_for(row->kind, cause) || row->wait_ns <= 0)
            continue;
        *ret_all_ns += row->wait_ns;
        if (longest == NULL || row->wait_ns > longest->wait_ns)
            longest = row;
    }
    return longest;
}

const struct hp_lock_block *hp_lock_awaited(const struct hp_lock_profile *profile, const char *function,
                                            uint32_t cause, double ns)
{
    const struct hp_lock_block *first = NULL;
    double all_ns = 0;
    for (size_t at = 0; profile != NULL && function != NULL && at < profile->block_count; at++) {
        const struct hp_lock_block *block = &profile->blocks[at];
        if (block->waiter == NULL || !hp_lock_is_for(block->lock->kind, cause) ||
            !hp_lock_is_function(block->waiter, function))
            continue;
        first = first != NULL ? first : block;
        all_ns += waited_ns(block);
    }
    if (first != NULL)
        return all_ns >= EXPLAINED_PART * ns ? first : NULL;
    const struct hp_lock_row *longest = hp_lock_longest(profile, cause, &all_ns);
    return longest != NULL && longest->wait_ns >= NEARLY_ALL_PART * all_ns &&
                   longest->wait_ns >= EXPLAINED_PART * ns
               ? longest->worst
               : NULL;
}

double hp_lock_held_ns(const struct hp_lock_profile *profile, const struct hp_lock_row *lock, const char *holder)
{
    double ns = 0;
    for (size_t at = 0; at < profile->block_count; at++) {
        const struct hp_lock_block *block = &profile->blocks[at];
        if (block->lock == lock && block->holder != NULL && strcmp(block->holder, holder) == 0)
            ns += block->ns;
    }
    return ns;
}

static bool is_of_lock(uint32_t cause) { return cause == HP_WAIT_LOCK; }
static bool is_of_futex(uint32_t cause) { return cause == HP_WAIT_FUTEX; }
static bool is_of_other(uint32_t cause)
{
    return cause == HP_WAIT_CONDITION || cause == HP_WAIT_SEMAPHORE || cause == HP_WAIT_BARRIER;
}

static double sampled_ns(const struct hp_run_waits *waits, bool (*is_it)(uint32_t cause), uint64_t *probes)
{
    double ns = 0;
    for (size_t at = 0; at < waits->count; at++) {
        if (!is_it(waits->all[at]->cause))
            continue;
        ns += (double)waits->all[at]->ns;
        *probes += waits->all[at]->probes;
    }
    return ns;
}

static double more(double a, double b) { return a > b ? a - b : 0; }

/* A futex that is not known may also be a condition and the like, as far as these were not seen to be such. */
uint64_t hp_lock_unseen_ns(const struct hp_lock_profile *profile, const struct hp_run_waits *waits)
{
    double of_locks = 0, of_others = 0;
    uint64_t probes = 0, others = 0;
    for (size_t at = 0; at < profile->row_count; at++) {
        const struct hp_lock_row *row = profile->rows[at];
        *(hp_lock_is_for(row->kind, HP_WAIT_LOCK) ? &of_locks : &of_others) += row->wait_ns;
    }
    const double locks = sampled_ns(waits, is_of_lock, &probes), futexes = sampled_ns(waits, is_of_futex, &probes);
    const double counted = more(of_locks, locks) + more(of_others, sampled_ns(waits, is_of_other, &others));
    const double unseen = more(locks, of_locks) + more(futexes, counted);
    return probes >= LEAST_UNSEEN && unseen > EXPLAINED_PART * (locks + futexes) ? (uint64_t)unseen : 0;
}

const char *hp_lock_held_words(uint32_t kind)
{
    return kind == HP_LOCK_CONDITION   ? "signaled in "
           : kind == HP_LOCK_SEMAPHORE ? "posted in "
           : kind == HP_LOCK_BARRIER   ? "completed in "
                                       : "held in ";
}

void hp_lock_put_block(struct hp_text *text, const struct hp_lock_block *block, const char *between)
{
    hp_utf8_put_safe(text, block->lock->name, strlen(block->lock->name));
    if (block->holder == NULL)
        return;
    hp_text_string(text, between);
    hp_text_string(text, hp_lock_held_words(block->lock->kind));
    hp_utf8_put_safe(text, block->holder, strlen(block->holder));
}
