/* CPU time per function: starting and stopping. How it works: sampler.h. SPDX-License-Identifier: MIT */
#include "sampler.h"

#include <errno.h>

#include "cpu_attribution.h"
#include "holding.h"
#include "hook_entries.h"
#include "memory.h"
#include "process.h"
#include "raw_call.h"
#include "sample_handler.h"
#include "sample_sources.h"
#include "thread_context.h"

/* ---------------------------------------------------------------------------------------------- the first zone */

/* CPU time since the thread got its record, all of it outside of zones. */
static void credit_outside(struct hp_thread_context *context)
{
    const struct hp_cpu_time before = context->sampler.counted;
    if (hp_context_is_paused(&context->hot)) {
        hp_cpu_attribute_skip_time(context);
        return;
    }
    hp_cpu_attribute_count_time(context);
    const uint64_t kernel_ns = context->sampler.counted.kernel_ns - before.kernel_ns;
    hp_cpu_attribute_give(context, context->record->root, context->sampler.counted.ns - before.ns - kernel_ns,
                          kernel_ns, 0);
}

static void begin_samples(struct hp_thread_context *context)
{
    struct hp_sampler *sampler = &context->sampler;
    hp_sources_begin_process(context);
    if (!sampler->has_begun) {
        sampler->has_begun = true;
        credit_outside(context);
        sampler->stacked_ns = sampler->counted.ns;
        hp_sample_stacks_begin_thread();
        hp_sources_judge(sampler);
    }
    hp_sources_start(context);
}

/* From now on by this signal. If the host blocks it, none would arrive; checked again with the next zone. */
static void sample_by(struct hp_thread_context *context, enum hp_private_signal which, const struct hp_stack *known,
                      const struct hp_signals *held)
{
    struct hp_sampler *sampler = &context->sampler;
    const bool is_blocked = held->before & UINT64_C(1) << (hp_private_signal_number(which) - 1);
    if (hp_sources_are_there(sampler) && sampler->signal != which)
        hp_sources_end(sampler);
    if (is_blocked || !hp_sample_take_signal(which))
        return;
    sampler->known = *known;
    sampler->signal = which;
    if (!hp_sources_are_there(sampler))
        begin_samples(context);
}

/* Half of the program's alternate stack is left for its own handlers. */
static bool is_roomy(uint64_t bytes) { return bytes >= 2 * (hp_alternate_least() + 4096); }

static void meet_on_own_stack(struct hp_thread_context *context, const struct hp_stack *own,
                              const struct hp_signals *held)
{
    uint64_t bytes;
    const bool is_hosts = hp_alternate_present(&bytes) == HP_ALTERNATE_HOSTS;
    const bool is_aside = is_hosts && is_roomy(bytes) && hp_alternate_is_usual();
    sample_by(context, is_aside ? HP_SIGNAL_ASIDE : HP_SIGNAL_HERE, is_aside ? &HP_EVERYWHERE : own, held);
    if (is_hosts && !is_roomy(bytes) && hp_sources_are_there(&context->sampler))
        hp_cpu_timer_pretend(hp_private_signal_number(context->sampler.signal),
                             hp_runtime); /* here: the next one may arrive there */
}

static void meet_on_other_stack(struct hp_thread_context *context, const struct hp_signals *held)
{
    struct hp_sampler *sampler = &context->sampler;
    uint64_t bytes;
    switch (hp_alternate_present(&bytes)) {
    case HP_ALTERNATE_IN_USE: /* a host's handler, which will end soon */
        return;
    case HP_ALTERNATE_HOSTS:
        hp_sources_give_up(context);
        return;
    case HP_ALTERNATE_NONE:
        if (!hp_alternate_make(&sampler->alternate)) {
            hp_sources_give_up(context);
            return;
        }
        break;
    case HP_ALTERNATE_OURS:
        break;
    }
    sample_by(context, HP_SIGNAL_ASIDE, &HP_EVERYWHERE, held);
}

static bool is_own(const struct hp_thread_context *context) { return context->thread_id == hp_sys_thread_id(); }

static void meet(struct hp_thread_context *context, uintptr_t here, const struct hp_signals *held)
{
    struct hp_stack own;
    if (hp_stack_is_own(here, hp_context_is_of_first_thread(context), hp_runtime->is_child, &own))
        meet_on_own_stack(context, &own, held);
    else
        meet_on_other_stack(context, held);
}

/* A vfork child has the context of its parent's thread, and must leave its signals alone. */
static void __attribute__((noinline)) look_at_stack(struct hp_thread_context *context, uintptr_t here)
{
    struct hp_signals held;
    if (!hp_calls_begin())
        return;
    hp_signals_hold(&held); /* first: there may be no room for a signal frame here */
    if (hp_sampler_hold(context) && is_own(context) && hp_spent_begin(context))
        meet(context, here, &held);
    hp_spent_end(context, HP_MOST_OF_BEGINNING, false);
    hp_sampler_let_go(context);
    hp_signals_release(&held);
    hp_calls_end();
}

void hp_sampler_meet_zone(struct hp_thread_context *context)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (context->sampler.cpu != NULL && !hp_stack_has(&context->sampler.known, here))
        look_at_stack(context, here);
}

/* At once: the first sample there might be one too many for it. */
void hotpath_v1_alternate_changed(void)
{
    const int saved = errno;
    struct hp_thread_context *context = hp_page() != NULL ? hp_sample_context_of_thread() : NULL;
    if (context != NULL && hp_sources_are_there(&context->sampler))
        look_at_stack(context, (uintptr_t)__builtin_frame_address(0));
    errno = saved;
}

/* ----------------------------------------------------------------------------------- beginning and ending */

/* Credits all time so far, with no more samples to come. */
static void settle(struct hp_thread_context *context)
{
    if (hp_context_is_paused(&context->hot))
        hp_cpu_attribute_skip_time(context);
    else
        hp_cpu_attribute_give_seen(context, true);
}

/* ThreadSanitizer does not cope with such signals: if this file is built with it, there are no samples. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#if defined __SANITIZE_THREAD__ && !defined IS_SANITIZED
#define IS_SANITIZED true
#elif !defined IS_SANITIZED
#define IS_SANITIZED false
#endif

static bool is_wanted(void)
{
    const struct hp_record_settings *settings = &hp_runtime->settings.record;
    return (settings->kinds & HP_RECORD_CPU) && !settings->reserve && !IS_SANITIZED;
}

/* Whether the kernel grants perf shows at the first zone. */
static enum hp_cpu_engine choose_engine(void)
{
    if (!is_wanted())
        return HP_CPU_NONE;
    return hp_runtime->settings.record.cpu_engine == HP_CPU_ENGINE_TIMERS ? HP_CPU_TIMERS : HP_CPU_PERF;
}

void hp_sampler_begin(void)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    hp_runtime->sampling = (struct hp_sampling){.engine = choose_engine(),
                                                .has_stacks = hp_sample_stacks_are_wanted(),
                                                .period_ns = HP_SECOND_NS / hp_runtime->settings.record.cpu_rate};
    for (size_t at = 0; hp_runtime->is_child && at < HP_PRIVATE_SIGNALS; at++)
        hp_runtime->signals[at].is_changing = 0; /* set by a thread that does not exist here */
    if (hp_runtime->sampling.engine == HP_CPU_NONE)
        return;
    const struct hp_cpu_time now = hp_cpu_of_process();
    /* Atomic: others set bits there, too. */
    __atomic_fetch_or(&header->features, HP_FEATURE_CPU | (hp_runtime->settings.record.is_run ? HP_FEATURE_RUN : 0),
                      __ATOMIC_RELAXED);
    header->cpu_engine = hp_runtime->sampling.engine;
    header->cpu_refusal = 0;
    header->cpu_rate = hp_runtime->settings.record.cpu_rate;
    header->cpu_start_ns = header->cpu_latest_ns = now.ns;
    header->cpu_start_kernel_ns = header->cpu_latest_kernel_ns = now.kernel_ns;
}

static bool find_record(struct hp_thread_context *context)
{
    struct hp_thread *record = context->record;
    if (record->cpu == 0) {
        const uint32_t offset = hp_thread_allocate(context, sizeof(struct hp_cpu_thread), 64);
        if (offset == 0)
            return false;
        __atomic_store_n(&record->cpu, offset, __ATOMIC_RELEASE);
    }
    context->sampler.cpu = hp_store_at(context->store, record->cpu);
    return true;
}

/* It may have a stack and pending signals from an earlier session. */
void hp_sampler_begin_thread(struct hp_thread_context *context, const struct hp_cpu_time *used)
{
    struct hp_sampler *sampler = &context->sampler;
    hp_sources_stop(sampler);
    *sampler = (struct hp_sampler){.has_had_perf = sampler->has_had_perf, .alternate = sampler->alternate};
    sampler->chance = (hp_clock_ticks_raw(hp_runtime->counter) ^ (uint64_t)context->thread_id << 32) | 1;
    if (hp_runtime->sampling.engine == HP_CPU_NONE || !find_record(context))
        return;
    sampler->counted = *used;
    sampler->ticked_ns = sampler->cpu->user_ns + sampler->cpu->kernel_ns;
    sampler->ticked_waits = sampler->counted.waits;
}

/* For a record without any sample: its outermost zone is all that is known about its time. */
static void guess_node(struct hp_thread_context *context)
{
    const struct hotpath_frame_ *outermost = hp_frame_zero(context) + 1;
    const bool is_of_this_thread = !(outermost->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_)) &&
                                   (int64_t)(outermost->start - context->record->first_tick) >= 0;
    if (context->sampler.cpu->last_node == 0 && outermost->node != 0 && is_of_this_thread)
        HOTPATH_PUT_(context->sampler.cpu->last_node, outermost->node);
}

#define MOST_ASKED 512u /* threads, at the end of a session */

/*
 * How long the thread was ready to run, which is not waiting. The kernel is asked once, at the end: asking at the
 * start, too, would cost short programs more than it tells. An observer reads it anyway.
 */
static void count_ready(const struct hp_thread_context *context)
{
    char text[96];
    if (HOTPATH_GET_(hp_runtime->live_settings.is_watched) != 0 || !hp_calls_begin())
        return;
    if (hp_task_read(0, context->thread_id, "schedstat", text, sizeof text)) {
        const char *at = text;
        hp_task_number(&at); /* the time that it ran */
        __atomic_fetch_add(&hp_store_header(context->store)->ready_ns, hp_task_number(&at), __ATOMIC_RELAXED);
    }
    hp_calls_end();
}

static void settle_for_good(struct hp_thread_context *context)
{
    settle(context);
    guess_node(context);
}

static void end_alternate(struct hp_thread_context *context)
{
    if (context->sampler.alternate.high != 0)
        hp_alternate_end(&context->sampler.alternate, is_own(context));
}

/*
 * Unless it exited unnoticed. In a sandbox the sources are stopped already, and the kernel is not asked for the
 * final clocks.
 */
void hp_sampler_end_thread(struct hp_thread_context *context)
{
    struct hp_sampler *sampler = &context->sampler;
    if (hp_context_is_sandboxed(&context->hot)) {
        sampler->cpu = NULL;
        return;
    }
    if (sampler->cpu != NULL && context->hot.epoch == hp_epoch() && hp_runtime->gate != 0 && is_own(context))
        settle_for_good(context);
    hp_sources_stop(sampler);
    end_alternate(context);
    sampler->cpu = NULL;
}

void hp_sampler_part(struct hp_thread_context *context)
{
    struct hp_sampler *sampler = &context->sampler;
    struct hp_signals held;
    if (sampler->cpu == NULL || !hp_calls_begin())
        return;
    hp_signals_hold(&held);
    if (hp_sampler_hold(context) && is_own(context)) {
        if (hp_spent_begin(context)) {
            settle_for_good(context);
            count_ready(context);
        }
        hp_spent_end(context, HP_MOST_OF_BEGINNING, false);
        hp_sources_stop(sampler);
        end_alternate(context);
        sampler->cpu = NULL;
    }
    hp_sampler_let_go(context);
    hp_signals_release(&held);
    hp_calls_end();
}

/* -------------------------------------------------------------------------------- sources of other threads */

#define MOST_PAUSES 1000u /* for a thread that was preempted */
#define PAUSE_NS UINT64_C(50000)

typedef void change_sources(struct hp_sampler *sampler);

static void change_others(const struct hp_thread_context *own, change_sources *change)
{
    for (struct hp_thread_context *context = hp_page()->contexts; context != NULL; context = context->next)
        if (context != own && context->thread_id != 0 && !context->is_handler && context->sampler.cpu != NULL)
            change(&context->sampler);
}

static void wait_for(struct hp_sampler *sampler)
{
    for (uint32_t pauses = 0; pauses < MOST_PAUSES && HOTPATH_GET_(sampler->is_at_work) != 0; pauses++)
        hp_pause_ns(PAUSE_NS);
}

static bool has_others(const struct hp_thread_context *own)
{
    const struct hp_thread_context *context = hp_page()->contexts;
    while (context != NULL && (context == own || context->thread_id == 0 || context->is_handler))
        context = context->next;
    return context != NULL;
}

/* As at the end of a session: a thread seen idle after the barrier sees that the process is sandboxed. */
void hp_sampler_stop_others(const struct hp_thread_context *own)
{
    if (!has_others(own))
        return;
    hp_memory_barrier_everywhere();
    change_others(own, wait_for);
    change_others(own, hp_sources_pause);
}

void hp_sampler_go_on_with_others(const struct hp_thread_context *own) { change_others(own, hp_sources_resume); }

void hp_sampler_begin_late(void)
{
    struct hp_thread_context *context = hp_thread_present();
    if (hp_runtime->sampling.engine != HP_CPU_NONE || !is_wanted())
        return;
    hp_sampler_begin();
    if (context != NULL) {
        const struct hp_cpu_time used = hp_cpu_of_thread();
        hp_sampler_begin_thread(context, &used);
    }
}

void hp_sampler_end(void)
{
    struct hp_thread_context *present = hp_thread_present();
    if (present != NULL && present->sampler.cpu != NULL)
        settle_for_good(present);
    uint32_t count = 0;
    for (const struct hp_thread_context *context = hp_page()->contexts; context != NULL; context = context->next)
        if (context->thread_id != 0 && !context->is_handler && context->sampler.cpu != NULL && count++ < MOST_ASKED)
            count_ready(context);
    hp_sources_end_process();
}
