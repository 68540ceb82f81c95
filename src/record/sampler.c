/* Whose processor time. How it works is in sampler.h. SPDX-License-Identifier: MIT */
#include "sampler.h"

#include <errno.h>
#include <string.h>

#include "credits.h"
#include "runtime.h"
#include "samples.h"
#include "sys.h"

#define SECOND UINT64_C(1000000000)
#define MAX_DEPTH 512u /* frames that are looked through, and nodes up to the root */
#define MAX_FOLDED 32u /* different nodes among these */

/* With perf, timers are for kernel time only; a signal of theirs costs several times one of perf's. */
#define TIMER_PERIODS 10u

/* -------------------------------------------------------------------------------------------- recursion */

/*
 * The thread's own frame, the outermost. By its mark: the stack may be about to grow, and what the record says be of the old one
 * already or still. Nothing of a stack is in the header.
 */
static bool is_last(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    return frame->zone == UINT64_MAX ||
           (const unsigned char *)(frame - 1) < (const unsigned char *)head->hot.base + HP_HEADER_BYTES;
}

static uint32_t site_of(const struct hp_head *head, uint32_t node) { return hp_node_at(head, node)->site; }

/* The place of a node with that site, or `count`. */
static uint32_t find_site(const struct hp_head *head, const uint32_t *nodes, uint32_t count, uint32_t site)
{
    uint32_t at = 0;
    while (at < count && site_of(head, nodes[at]) != site)
        at++;
    return at;
}

/* To be credited when it is known how much time a sample stands for; where there is no place to remember that, as it should be. */
static void remember_folded(struct hp_head *head, uint32_t node)
{
    struct hp_sampler *sampler = &head->sampler;
    uint32_t at = 0;
    while (at < sampler->folded_count && sampler->folded[at].node != node)
        at++;
    if (at == HP_SAMPLER_FOLDED) {
        hp_credits_give_beside(head, node, hp_runtime->sampling.period_ns, 1);
        return;
    }
    if (at == sampler->folded_count)
        sampler->folded[sampler->folded_count++] = (struct hp_folded){node, 0};
    sampler->folded[at].samples++;
}

/*
 * Of calls inside one another a site may be on the stack and yet not above the innermost node, which was folded onto one
 * further out. These have their calls in progress, too: they are credited beside the tree. `nodes` has room for MAX_FOLDED.
 */
static uint32_t find_folded(const struct hp_head *head, const struct hotpath_frame_ *innermost, uint32_t *nodes)
{
    uint32_t count = 0, steps = 0;
    if (!(innermost->stat & HOTPATH_RECURSIVE_))
        return 0;
    for (const struct hotpath_frame_ *frame = innermost;
         !is_last(head, frame) && steps < MAX_DEPTH && count < MAX_FOLDED; frame--, steps++)
        if (find_site(head, nodes, count, site_of(head, frame->node)) == count)
            nodes[count++] = frame->node;
    steps = 0;
    for (uint32_t node = innermost->node; node != 0 && steps < MAX_DEPTH; steps++) {
        const uint32_t above = find_site(head, nodes, count, site_of(head, node));
        if (above < count)
            nodes[above] = nodes[--count];
        node = hp_node_at(head, node)->parent;
    }
    return count;
}

/* ------------------------------------------------------------------------------------------- the handler */

/* AddressSanitizer may have guards of the host in memory of its own, where their addresses say nothing. */
extern void *__asan_get_current_fake_stack(void) __attribute__((weak));

/* Zones below the stack are of calls that longjmp left, or that wait on another stack. */
static const struct hotpath_frame_ *present_frame(const struct hp_head *head, uintptr_t stack)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    if (__asan_get_current_fake_stack != NULL)
        return frame;
    for (uint32_t steps = 0; steps < MAX_DEPTH && !hp_zone_is_there(frame, stack) && !is_last(head, frame); steps++)
        frame--;
    return frame;
}

static void start_perf(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    sampler->perf_was_tried = true;
    if (hp_runtime->sampling.engine != HP_CPU_PERF)
        return;
    sampler->perf = hp_cpu_perf_start(hp_runtime->sampling.period_ns);
    sampler->has_had_perf |= sampler->perf != NULL;
    if (sampler->perf != NULL && sampler->has_timer)
        hp_cpu_timer_change(sampler->timer, TIMER_PERIODS * hp_runtime->sampling.period_ns);
}

static void stop_sources(struct hp_sampler *sampler)
{
    if (sampler->has_timer)
        hp_cpu_timer_stop(sampler->timer);
    hp_cpu_perf_stop(sampler->perf);
    sampler->has_timer = false;
    sampler->perf = NULL;
}

static void take_perf_sample(struct hp_head *head, const struct hotpath_frame_ *frame)
{
    struct hp_sampler *sampler = &head->sampler;
    if (sampler->seen_count == HP_SAMPLER_SEEN)
        hp_credits_give_seen(head, !sampler->has_timer);
    sampler->seen[sampler->seen_count++] = frame->node;
    HOTPATH_ADD_(sampler->cpu->perf_samples, 1);
    uint32_t nodes[MAX_FOLDED], count = find_folded(head, frame, nodes);
    while (count > 0)
        remember_folded(head, nodes[--count]);
}

static void take_timer_sample(struct hp_head *head, const struct hotpath_frame_ *frame)
{
    struct hp_sampler *sampler = &head->sampler;
    const struct hp_cpu_thread *cpu = sampler->cpu;
    const bool has_perf = sampler->perf != NULL;
    hp_credits_count_time(head);
    const uint64_t ns = cpu->waiting_kernel_ns + (has_perf ? 0 : cpu->waiting_user_ns);
    uint32_t nodes[MAX_FOLDED], count = find_folded(head, frame, nodes);
    while (count > 0)
        hp_credits_give_beside(head, nodes[--count], ns, 1);
    hp_credits_give_all(head, frame->node);
    if (!sampler->perf_was_tried)
        start_perf(head);
}

static void take_sample(struct hp_head *head, enum hp_sample_kind kind, uintptr_t stack)
{
    struct hp_cpu_thread *cpu = head->sampler.cpu;
    const struct hotpath_frame_ *frame = present_frame(head, stack);
    const uint32_t node = frame->node;
    if (node == 0)
        return; /* as in place_of */
    if (kind == HP_SAMPLE_PERF)
        take_perf_sample(head, frame);
    else
        take_timer_sample(head, frame);
    HOTPATH_ADD_(cpu->samples, 1);
    HOTPATH_PUT_(cpu->last_node, node);
    hp_samples_add(head, node, kind);
}

static bool is_paused(const struct hp_head *head) { return HOTPATH_GATE_OF_(&head->hot) & HP_GATE_PAUSED; }

/* All up to now, with no sample to come. */
static void settle(struct hp_head *head)
{
    if (is_paused(head))
        hp_credits_skip_time(head);
    else
        hp_credits_give_seen(head, true);
}

/*
 * Whether the session that the thread works for is still there. The gate is asked once we are known to be at work: from then on
 * it stays, until leave().
 */
static bool enter(struct hp_head *head)
{
    HOTPATH_PUT_(head->sampler.is_at_work, 1);
    HOTPATH_ORDER_();
    return head->sampler.cpu != NULL &&
           (HOTPATH_GATE_OF_(&head->hot) & ~(HP_GATE_OUT_OF_LINE | HP_GATE_PAUSED)) == head->hot.epoch;
}

static void leave(struct hp_head *head)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(head->sampler.is_at_work, 0);
}

static bool has_source(const struct hp_sampler *sampler) { return sampler->has_timer || sampler->perf != NULL; }

/* One that was on its way when its source was stopped would have all that comes after it shared out by it alone. */
static void sample(struct hp_head *head, enum hp_sample_kind kind, uintptr_t stack)
{
    if (!enter(head))
        stop_sources(&head->sampler);
    else if (is_paused(head))
        hp_credits_skip_time(head);
    else if (has_source(&head->sampler))
        take_sample(head, kind, stack);
    leave(head);
}

/* What is sent to a thread without sources waits for nobody. */
static void hold_off(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    stop_sources(sampler);
    if (enter(head))
        settle(head);
    leave(head);
    sampler->is_lent = false;
    sampler->is_held_off = true;
    hp_signal_view_drop_samples();
}

/* What is lent is asked for when the host has a handler by now, and goes back when the session has ended. */
static void return_if_due(struct hp_head *head, void *context)
{
    if (!head->sampler.is_lent || (has_source(&head->sampler) && !hp_signal_view_has_handler()))
        return;
    hold_off(head);
    hp_signal_view_block_in(context);
}

/*
 * The calling thread's head, or NULL. Another copy of the library may have registered it, with a variable of its own; and the
 * first look at a variable that a copy has not in the thread's static block may have the C library call malloc.
 */
static struct hp_head *head_of_thread(void)
{
#if !HOTPATH_TLS_DYNAMIC
    struct hp_head *own = (struct hp_head *)(void *)hotpath_v1_head;
    if (&own->hot != &hp_idle_head)
        return own->thread_id != 0 ? own : NULL;
#endif
    const struct hp_fork_page *page = hp_page();
    const uint32_t thread_id = hp_sys_thread_id();
    struct hp_head *head = page != NULL ? __atomic_load_n(&page->heads, __ATOMIC_ACQUIRE) : NULL;
    for (; head != NULL; head = head->next)
        if (__atomic_load_n(&head->thread_id, __ATOMIC_ACQUIRE) == thread_id && !head->is_handler)
            return head;
    return NULL;
}

/*
 * Whether a signal was sent by a source of ours. Those of perf bear no mark, so it is asked whether the thread has had it; one
 * may still be on its way when the thread has let go of its head.
 */
static bool is_ours(enum hp_cpu_source source, const struct hp_head *head)
{
    if (source != HP_CPU_BY_PERF)
        return source == HP_CPU_BY_TIMER;
    return head != NULL ? head->sampler.has_had_perf : hp_thread_is_over != 0;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    const int saved = errno;
    const enum hp_cpu_source source = hp_cpu_source_of(info, hp_runtime);
    struct hp_head *head = source != HP_CPU_BY_OTHERS ? head_of_thread() : NULL;
    const bool is_sample = is_ours(source, head);
    if (is_sample && head != NULL) {
        sample(head, source == HP_CPU_BY_PERF ? HP_SAMPLE_PERF : HP_SAMPLE_TIMER, hp_cpu_stack_of(context));
        return_if_due(head, context);
    }
    errno = saved;
    if (!is_sample)
        hp_signal_view_pass_on(signal, info, context);
}

/* ----------------------------------------------------------------------------------- beginning and ending */

static bool is_wanted(void)
{
    const struct hp_settings *settings = &hp_runtime->settings;
    return (settings->record & HP_RECORD_CPU) && !settings->reserve;
}

static enum hp_cpu_engine choose_engine(struct hp_sampling *sampling, uint32_t *ret_refusal)
{
    *ret_refusal = 0;
    if (!is_wanted() || !hp_signal_view_take(on_signal))
        return HP_CPU_NONE;
    if (hp_runtime->settings.cpu_engine == HP_CPU_ENGINE_TIMERS)
        return HP_CPU_TIMERS;
    *ret_refusal = (uint32_t)hp_cpu_perf_prepare(&sampling->perf);
    return *ret_refusal == 0 ? HP_CPU_PERF : HP_CPU_TIMERS;
}

void hp_sampler_touch(void)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    if (header->cpu_engine == HP_CPU_NONE)
        return;
    const struct hp_cpu_time now = hp_cpu_of_process();
    __atomic_store_n(&header->cpu_latest_ns, now.ns, __ATOMIC_RELAXED);
    __atomic_store_n(&header->cpu_latest_kernel_ns, now.kernel_ns, __ATOMIC_RELAXED);
}

void hp_sampler_begin(void)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    uint32_t refusal;
    struct hp_sampling sampling = {.period_ns = SECOND / hp_runtime->settings.cpu_rate};
    sampling.engine = choose_engine(&sampling, &refusal);
    hp_runtime->sampling = sampling;
    if (hp_runtime->sampling.engine == HP_CPU_NONE)
        return;
    const struct hp_cpu_time now = hp_cpu_of_process();
    header->features |= HP_FEATURE_CPU;
    header->cpu_engine = hp_runtime->sampling.engine;
    header->cpu_refusal = refusal;
    header->cpu_rate = hp_runtime->settings.cpu_rate;
    header->cpu_start_ns = header->cpu_latest_ns = now.ns;
    header->cpu_start_kernel_ns = header->cpu_latest_kernel_ns = now.kernel_ns;
}

static bool find_record(struct hp_head *head)
{
    struct hp_thread *record = head->record;
    if (record->cpu == 0) {
        const uint32_t offset = hp_thread_allocate(head, sizeof(struct hp_cpu_thread), 64);
        if (offset == 0)
            return false;
        __atomic_store_n(&record->cpu, offset, __ATOMIC_RELEASE);
    }
    head->sampler.cpu = hp_store_at(head->store, record->cpu);
    return true;
}

/* That of the process, which lives as long as it does. Where others have the processor on every tick, its timer comes late. */
static bool is_first(const struct hp_head *head) { return head->thread_id == hp_sys_process_id(); }

/* The sequence of samples goes on where the threads before it with this record left off. */
static uint64_t first_due(const struct hp_cpu_thread *cpu)
{
    const uint64_t period = hp_runtime->sampling.period_ns;
    const uint64_t waiting = cpu->waiting_user_ns + cpu->waiting_kernel_ns;
    return waiting < period ? period - waiting : 1;
}

void hp_sampler_begin_thread(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    stop_sources(sampler);
    *sampler = (struct hp_sampler){.has_had_perf = sampler->has_had_perf, .is_lent = sampler->is_lent};
    if (hp_runtime->sampling.engine == HP_CPU_NONE || !find_record(head))
        return;
    sampler->counted = hp_cpu_of_thread();
    sampler->ticked_ns = sampler->cpu->user_ns + sampler->cpu->kernel_ns;
}

static void start_timer(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    sampler->has_timer =
        hp_cpu_timer_start(&sampler->timer, hp_runtime, first_due(sampler->cpu), hp_runtime->sampling.period_ns);
}

void hp_sampler_let_through(struct hp_head *head, struct hp_signals *held)
{
    if (head == NULL || head->sampler.cpu == NULL || has_source(&head->sampler))
        return;
    struct hp_sampler *sampler = &head->sampler;
    if (held->is_held)
        sampler->is_lent |= hp_signal_view_lend(held);
    sampler->is_held_off = held->is_held && hp_signal_view_is_blocked(held);
    if (sampler->is_held_off)
        return;
    start_timer(head);
    if (!sampler->has_timer || is_first(head))
        start_perf(head);
}

void hp_sampler_hold_off(void)
{
    struct hp_head *head = head_of_thread();
    if (head != NULL)
        hold_off(head);
}

/* What the thread has used since it was held off goes to where it was found last, as it would without this. */
static void credit_unseen(struct hp_head *head)
{
    const struct hp_cpu_thread *cpu = head->sampler.cpu;
    settle(head);
    if (cpu->last_node == 0)
        return;
    hp_credits_give(head, cpu->last_node, cpu->waiting_user_ns, cpu->waiting_kernel_ns, 0);
    hp_credits_tick(head, cpu->last_node);
}

void hp_sampler_go_on(void)
{
    struct hp_head *head = head_of_thread();
    if (head == NULL || !head->sampler.is_held_off)
        return;
    head->sampler.is_held_off = false;
    head->sampler.perf_was_tried = false;
    if (enter(head) && !has_source(&head->sampler)) {
        credit_unseen(head);
        start_timer(head);
        if (!head->sampler.has_timer)
            start_perf(head);
    }
    leave(head);
}

struct hp_sampler *hp_sampler_of_thread(void)
{
    struct hp_head *head = head_of_thread();
    const bool is_known =
        head != NULL && (has_source(&head->sampler) || head->sampler.is_lent || head->sampler.is_held_off);
    return is_known ? &head->sampler : NULL;
}

bool hp_sampler_is_source(const void *info)
{
    return is_ours(hp_cpu_source_of(info, hp_runtime), head_of_thread());
}

static bool is_own(const struct hp_head *head) { return head->thread_id == hp_sys_thread_id(); }

/* A record of which no sample was ever taken: its outermost zone is all that is known of where its time went. */
static void guess_node(struct hp_head *head)
{
    const struct hotpath_frame_ *outermost = hp_frame_zero(head) + 1;
    const bool is_of_this_thread = (int64_t)(outermost->start - head->record->first_tick) >= 0;
    if (head->sampler.cpu->last_node == 0 && outermost->node != 0 && is_of_this_thread)
        HOTPATH_PUT_(head->sampler.cpu->last_node, outermost->node);
}

static void settle_for_good(struct hp_head *head)
{
    settle(head);
    guess_node(head);
}

/* Where it has not ended without a word. */
void hp_sampler_end_thread(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    if (sampler->cpu != NULL && head->hot.epoch == hp_epoch() && hp_runtime->gate != 0 && is_own(head))
        settle_for_good(head);
    stop_sources(sampler);
    sampler->is_lent = sampler->is_held_off = false;
    sampler->cpu = NULL;
}

void hp_sampler_begin_late(void)
{
    struct hp_head *head = hp_thread_present();
    if (hp_runtime->sampling.engine != HP_CPU_NONE || !is_wanted())
        return;
    hp_sampler_begin();
    if (head != NULL)
        hp_sampler_begin_thread(head);
}

void hp_sampler_end(void)
{
    struct hp_head *head = hp_thread_present();
    if (head != NULL && head->sampler.cpu != NULL)
        settle_for_good(head);
    hp_cpu_perf_stop(hp_runtime->sampling.perf);
    hp_runtime->sampling.perf = NULL;
}
