/* Sources of samples for a thread: timers and perf. SPDX-License-Identifier: MIT */
#include "sample_sources.h"

#include <errno.h>

#include "arith.h"
#include "cpu.h"
#include "signals.h"
#include "thread_context.h"

/* With perf, timers are for kernel time only; a timer signal costs several times as much as one of perf. */
#define TIMER_PERIODS 10u

/*
 * Context switches per second of CPU time, above which a thread does without perf, and below which it gets it
 * again.
 */
#define OFTEN_SWITCHED 5000u
#define SELDOM_SWITCHED 2500u
#define JUDGED_NS (HP_SECOND_NS / 100)        /* measured over this much CPU time, ... */
#define FIRST_JUDGED_NS (HP_SECOND_NS / 1000) /* ... or this little before perf is started */

/* Samples of a thread's first perf event. */
#define FIRST_SAMPLES 64u

/* -------------------------------------------------------------------------------------- timers and perf */

static int signal_of(const struct hp_sampler *sampler) { return hp_private_signal_number(sampler->signal); }

static uint64_t timer_period(const struct hp_sampler *sampler)
{
    return (sampler->perf != NULL ? TIMER_PERIODS : 1) * hp_runtime->sampling.period_ns;
}

/*
 * A random number near `ns`: more or less by 1/12 to 1/3. Never exactly `ns`: people choose round periods, and
 * programs repeat in round periods, too.
 */
static uint64_t around(struct hp_sampler *sampler, uint64_t ns)
{
    uint64_t chance = sampler->chance;
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    sampler->chance = chance;
    const uint64_t off = ns / 12 + (chance >> 11) % (ns / 4 + 1);
    return chance & 1 ? ns + off : ns - off;
}

/* Without perf, the timer determines the samples, and every period is needed. */
static void set_timer(struct hp_sampler *sampler)
{
    const uint64_t period = timer_period(sampler);
    sampler->timer_ns = sampler->perf != NULL ? around(sampler, period) : period;
    if (sampler->has_timer)
        hp_cpu_timer_change(sampler->timer, sampler->timer_ns, period);
}

/* Progress of the first thread of the process that has entered a zone. */
enum { NOT_BEGUN, UNDER_WAY, BEGUN };

static bool has_begun(void) { return __atomic_load_n(&hp_runtime->sampling.begun, __ATOMIC_ACQUIRE) == BEGUN; }

/* Few at first, so that a short run has more than one period, then more: starting an event is not cheap. */
static uint32_t next_samples(struct hp_sampler *sampler)
{
    const uint32_t samples = sampler->perf_samples > 0 ? sampler->perf_samples : FIRST_SAMPLES;
    sampler->perf_samples = samples < HP_CPU_MOST_SAMPLES ? 2 * samples : samples;
    return samples;
}

static void open_perf(struct hp_sampler *sampler)
{
    int refusal;
    sampler->unseen = 0;
    if (!hp_private_signal_guard_io())
        return;
    sampler->perf_ns = around(sampler, hp_runtime->sampling.period_ns);
    sampler->perf = hp_cpu_perf_start(signal_of(sampler), sampler->perf_ns, next_samples(sampler), &refusal);
    sampler->has_had_perf |= sampler->perf != NULL;
}

static void start_perf(struct hp_thread_context *context)
{
    struct hp_sampler *sampler = &context->sampler;
    if (!has_begun())
        return; /* the first event takes ten milliseconds and is being made */
    sampler->perf_was_tried = true;
    if (hp_runtime->sampling.engine != HP_CPU_PERF || sampler->is_switched_often)
        return;
    open_perf(sampler);
    if (sampler->perf != NULL)
        set_timer(sampler);
}

static void stop_perf(struct hp_sampler *sampler)
{
    hp_cpu_perf_stop(sampler->perf);
    sampler->perf = NULL;
}

static uint32_t *timers_in_use(void) { return &hp_page()->timers; }

/*
 * Each timer takes a slot of the host's limit for timers and queued signals: at least half of these are left to the
 * host.
 */
static void start_timer(struct hp_sampler *sampler, uint64_t first_ns)
{
    const uint32_t others = __atomic_fetch_add(timers_in_use(), 1, __ATOMIC_RELAXED);
    sampler->has_timer =
        others < hp_cpu_queue() / 2 && hp_cpu_timer_start(&sampler->timer, signal_of(sampler), hp_runtime, first_ns,
                                                          hp_runtime->sampling.period_ns);
    if (!sampler->has_timer)
        __atomic_fetch_sub(timers_in_use(), 1, __ATOMIC_RELAXED);
}

static void stop_timer(struct hp_sampler *sampler)
{
    if (!sampler->has_timer)
        return;
    hp_cpu_timer_stop(sampler->timer);
    sampler->has_timer = false;
    __atomic_fetch_sub(timers_in_use(), 1, __ATOMIC_RELAXED);
}

void hp_sources_stop(struct hp_sampler *sampler)
{
    if (hp_is_sealed())
        return; /* they end with the thread or the process */
    stop_timer(sampler);
    stop_perf(sampler);
}

void hp_sources_renew(struct hp_sampler *sampler)
{
    const uint64_t period = timer_period(sampler);
    stop_perf(sampler);
    open_perf(sampler);
    if (timer_period(sampler) != period)
        set_timer(sampler);
}

/* ------------------------------------------------------------------------------------- choice of sources */

/*
 * Now and then: the host may have set a handler for SIGIO, which the kernel would send if the signal queue is full.
 */
static void look_after_io(struct hp_sampler *sampler)
{
    if (sampler->perf == NULL || hp_private_signal_guard_io())
        return;
    stop_perf(sampler);
    set_timer(sampler);
}

/* The event that never fires costs its thread as much as a live one. */
static void drop_prepared(const struct hp_thread_context *context)
{
    struct hp_sampling *sampling = &hp_runtime->sampling;
    if (HOTPATH_GET_(sampling->perf_thread) == context->thread_id)
        hp_cpu_perf_stop(__atomic_exchange_n(&sampling->perf, NULL, __ATOMIC_RELAXED));
}

/* Whether the thread switches often, by its clocks since the last check. Needs at least this much CPU time. */
static void judge(struct hp_sampler *sampler, const struct hp_cpu_time *now, uint64_t least_ns)
{
    const uint64_t ns = hp_less(now->ns, sampler->judged.ns);
    const uint64_t switches = hp_less(now->switches, sampler->judged.switches);
    const uint64_t bound = sampler->is_switched_often ? SELDOM_SWITCHED : OFTEN_SWITCHED;
    if (ns < least_ns)
        return;
    sampler->is_switched_often = switches > ns / (HP_SECOND_NS / bound);
    sampler->judged = *now;
}

/* Adapts its sources to that. The clocks were just read. */
static void judge_and_adapt(struct hp_thread_context *context)
{
    struct hp_sampler *sampler = &context->sampler;
    const bool was_switched_often = sampler->is_switched_often;
    judge(sampler, &sampler->counted, sampler->perf_was_tried ? JUDGED_NS : FIRST_JUDGED_NS);
    if (sampler->is_switched_often == was_switched_often)
        return;
    if (!sampler->is_switched_often) {
        start_perf(context);
        return;
    }
    drop_prepared(context);
    stop_perf(sampler);
    set_timer(sampler);
}

/*
 * Once per process, after it has run for a while: the kernel's work before the handler costs more than everything
 * else, and only the interrupted thread can measure it.
 */
#define NO_GAP_ZONES 10u
static void weigh_perf(const struct hp_thread_context *context)
{
    struct hp_header *header = hp_store_header(context->store);
    const uint64_t zone = hp_zone_ticks();
    if (context->sampler.perf == NULL || __atomic_exchange_n(&hp_runtime->sampling.is_weighed, 1, __ATOMIC_RELAXED))
        return;
    const struct hp_cpu_perf_weight weight =
        hp_cpu_perf_weigh(hp_runtime->counter, NO_GAP_ZONES * (zone > 0 ? zone : 1));
    __atomic_store_n(&header->interrupt_ticks, weight.interrupt, __ATOMIC_RELAXED);
    __atomic_store_n(&header->pause_ticks, weight.pause, __ATOMIC_RELAXED);
}

void hp_sources_look_after(struct hp_thread_context *context)
{
    struct hp_sampler *sampler = &context->sampler;
    weigh_perf(context); /* before the thread may lose perf */
    look_after_io(sampler);
    judge_and_adapt(context);
    if (!sampler->perf_was_tried)
        start_perf(context);
    else if (sampler->perf != NULL)
        set_timer(sampler);
}

/* ------------------------------------------------------------------------------------------- beginning */

/* 0, or the reason for the lack of perf. */
static int prepare_perf(void **ret_perf)
{
    return hp_private_signal_guard_io() ? hp_cpu_perf_prepare(ret_perf) : EBUSY;
}

/* Other threads use timers meanwhile. */
void hp_sources_begin_process(const struct hp_thread_context *context)
{
    struct hp_sampling *sampling = &hp_runtime->sampling;
    struct hp_header *header = hp_store_header(context->store);
    uint32_t not_begun = NOT_BEGUN;
    void *perf = NULL;
    if (!__atomic_compare_exchange_n(&sampling->begun, &not_begun, UNDER_WAY, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    const int refusal = sampling->engine == HP_CPU_PERF ? prepare_perf(&perf) : 0;
    if (refusal != 0) {
        sampling->engine = HP_CPU_TIMERS;
        HOTPATH_PUT_(header->cpu_engine, HP_CPU_TIMERS);
        HOTPATH_PUT_(header->cpu_refusal, (uint32_t)refusal);
    }
    HOTPATH_PUT_(sampling->perf_thread, context->thread_id);
    __atomic_store_n(&sampling->perf, perf, __ATOMIC_RELAXED);
    __atomic_store_n(&sampling->begun, BEGUN, __ATOMIC_RELEASE);
}

void hp_sources_end_process(void)
{
    hp_cpu_perf_stop(__atomic_exchange_n(&hp_runtime->sampling.perf, NULL, __ATOMIC_RELAXED));
}

void hp_sources_judge(struct hp_sampler *sampler) { judge(sampler, &sampler->counted, JUDGED_NS); }

/* Continues the sequence of samples where earlier threads with this record left off. */
static uint64_t first_due(const struct hp_cpu_thread *cpu)
{
    const uint64_t period = hp_runtime->sampling.period_ns;
    return cpu->waiting_ns < period ? period - cpu->waiting_ns : 1;
}

void hp_sources_start(struct hp_thread_context *context)
{
    struct hp_sampler *sampler = &context->sampler;
    start_timer(sampler, first_due(sampler->cpu));
    sampler->perf_was_tried = false;
    if (!sampler->has_timer || hp_context_is_of_first_thread(context))
        start_perf(context);
}

/* ---------------------------------------------------------------------------------------------- ending */

void hp_sources_end(struct hp_sampler *sampler)
{
    hp_sources_stop(sampler);
    hp_private_signal_drop(sampler->signal);
}

void hp_sources_give_up(struct hp_thread_context *context)
{
    hp_sources_end(&context->sampler);
    context->sampler.known = HP_EVERYWHERE;
    hp_lose(context, HP_LOSS_STACKS);
}

/* What the kernel lent for perf could not be had again later; a timer can. */
void hp_sources_pause(struct hp_sampler *sampler)
{
    if (sampler->has_timer)
        hp_cpu_timer_pause(sampler->timer);
    stop_perf(sampler);
}

/* Restarts timers, which bring perf back. */
void hp_sources_resume(struct hp_sampler *sampler)
{
    if (sampler->perf == NULL)
        set_timer(sampler);
}
