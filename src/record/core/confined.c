/*
 * Announced sandboxes. While a thread enters one, nothing is forbidden yet: sample sources are stopped, and
 * everything that checks hp_is_sandboxed sees it. (An observer outside the process notices other sandboxes, a
 * moment late.) Inside a sandbox the library makes no system call, not even here: another sandbox may be announced
 * there, and be refused. SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "hook_entries.h"
#include "no_session.h"
#include "sampler.h"
#include "thread_context.h"
#include "threads.h"

#define RESERVE_BYTES (UINT64_C(64) << 10) /* for what is called only in the sandbox, where the file cannot grow */

/* Under the lock. */
static void note_in_session(bool is_confined)
{
    if (hp_runtime->store == NULL || hp_is_forked_child())
        return; /* in a forked child the session is still the parent's */
    uint32_t *features = &hp_store_header(hp_runtime->store)->features;
    if (is_confined)
        __atomic_fetch_or(features, HP_FEATURE_SANDBOXED, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(features, ~HP_FEATURE_SANDBOXED, __ATOMIC_RELAXED);
}

static void set_confinements(uint32_t count)
{
    __atomic_store_n(&hp_runtime->confinements, count, __ATOMIC_RELAXED);
    note_in_session(count > 0);
    hp_seal(count > 0 || HOTPATH_GET_(hp_runtime->live_settings.reserve));
}

/* One that was noticed from outside is counted here, where forked children find it. */
int hotpath_v1_is_confined(void)
{
    const bool is_inside = hp_is_sandboxed();
    uint32_t none = 0;
    if (is_inside)
        __atomic_compare_exchange_n(&hp_runtime->confinements, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return is_inside;
}

/* A seccomp filter may apply to all threads, and applies to all threads created later. Under the lock. */
static void shut_calls_in(struct hp_thread_context *context)
{
    if (hotpath_v1_is_confined()) {
        set_confinements(hp_runtime->confinements + 1);
        return;
    }
    if (context != NULL)
        hp_sampler_end_thread(context);
    if (hp_runtime->store != NULL && !hp_is_forked_child())
        hp_store_reserve(hp_runtime->store, RESERVE_BYTES);
    set_confinements(1);
    if (!hp_is_forked_child())
        hp_sampler_stop_others(context);
}

/* Under the lock. */
static void sandboxed(struct hp_thread_context *context, int what)
{
    if (what & HOTPATH_CONFINES_COUNTER_) {
        __atomic_store_n(&hp_runtime->is_blinded, true, __ATOMIC_RELAXED);
        if (context != NULL)
            hp_thread_blind(context);
    }
    if (what & HOTPATH_CONFINES_CALLS_)
        shut_calls_in(context);
}

#define MOST_PAUSES 1000u /* for threads that were preempted meanwhile */
#define PAUSE_NS UINT64_C(50000)

/* Other threads may be on their way to the lock or back from it. Not under the lock, which they wait for. */
static void wait_for_calls(void)
{
    for (uint32_t pauses = 0; pauses < MOST_PAUSES; pauses++) {
        if (__atomic_load_n(&hp_page()->callers, __ATOMIC_SEQ_CST) == 0)
            return;
        hp_pause_ns(PAUSE_NS);
    }
}

/* The kernel refused the last announced sandbox; earlier ones stay in force. Under the lock. */
static void take_back(int what)
{
    if ((what & HOTPATH_CONFINES_CALLS_) && hp_runtime->confinements > 0)
        set_confinements(hp_runtime->confinements - 1);
}

/* Under the lock. */
static void let_out(struct hp_thread_context *context, int what)
{
    if (hp_is_sandboxed())
        return;
    if ((what & HOTPATH_CONFINES_CALLS_) && !hp_is_forked_child())
        hp_sampler_go_on_with_others(context);
    if (context != NULL) {
        const struct hp_cpu_time used = hp_cpu_of_thread();
        context->is_blind = false;
        hp_sampler_begin_thread(context, &used);
    }
}

/* Outside of a sandbox the kernel is asked which thread this is; only it knows for certain. */
static struct hp_thread_context *context_here(void)
{
    if (hp_is_forked_child())
        return NULL;
    return hp_is_sandboxed() ? hp_thread_present() : hp_thread_of_any_copy();
}

/* A vfork child shares its parent's memory; the parent itself is suspended. */
static bool is_parents(void) { return !hp_is_sandboxed() && !hp_is_forked_child() && !hp_is_own_process(); }

int hotpath_v1_confine(int what)
{
    const int saved = errno;
    struct hp_signals held;
    if (what > 0)
        hp_deferral_begin(); /* later it could not */
    const bool is_own = hp_page() == NULL || !is_parents();
    if (hp_page() == NULL || !is_own || !hp_lock(&held)) {
        errno = saved;
        return is_own;
    }
    const bool was_free = !hp_is_sandboxed();
    if (what < 0)
        take_back(-what);
    struct hp_thread_context *context = context_here();
    if (what < 0)
        let_out(context, -what);
    else
        sandboxed(context, what);
    hp_unlock(&held);
    if (was_free && hp_is_sandboxed())
        wait_for_calls();
    if (what < 0 && context != NULL && !hp_is_sandboxed())
        hp_sampler_meet_zone(context);
    errno = saved;
    return true;
}
