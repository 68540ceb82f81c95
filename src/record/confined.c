/*
 * Sandboxes that are announced. While they are being entered nothing is forbidden yet: sources of samples are stopped, and whatever
 * looks at hp_is_sandboxed finds that it is so. (Others are seen by who watches from outside, a moment late.)
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "runtime.h"

/* Under the lock. */
static void note_in_session(bool is_confined)
{
    if (hp_runtime->store == NULL || hp_is_forked_child())
        return; /* there it is the parent's */
    uint32_t *features = &hp_store_header(hp_runtime->store)->features;
    if (is_confined)
        __atomic_fetch_or(features, HP_FEATURE_SANDBOXED, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(features, ~HP_FEATURE_SANDBOXED, __ATOMIC_RELAXED);
}

static void set_confined(bool is_confined)
{
    __atomic_store_n(&hp_runtime->is_confined, is_confined, __ATOMIC_RELAXED);
    note_in_session(is_confined);
    hp_seal(is_confined || HOTPATH_GET_(hp_runtime->wishes.reserve));
}

/* Under the lock. */
static void shut_in(struct hp_head *head, int what)
{
    if (head != NULL && (what & HOTPATH_CONFINES_COUNTER_))
        hp_thread_blind(head);
    else if (head != NULL)
        hp_sampler_end_thread(head);
    if (what & HOTPATH_CONFINES_CALLS_)
        set_confined(true);
}

/* It was refused. Under the lock. */
static void let_out(struct hp_head *head)
{
    set_confined(false);
    if (head != NULL)
        hp_sampler_begin_thread(head);
}

void hotpath_v1_confine(int what)
{
    const int saved = errno;
    struct hp_signals held;
    if (hp_page() == NULL || !hp_lock(&held)) {
        errno = saved;
        return;
    }
    struct hp_head *head = !hp_is_forked_child() ? hp_thread_of_any_copy() : NULL;
    if (what != 0)
        shut_in(head, what);
    else
        let_out(head);
    hp_unlock(&held);
    if (head != NULL && what == 0)
        hp_sampler_meet_zone(head);
    errno = saved;
}
