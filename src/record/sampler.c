/* Whose processor time. How it works is in sampler.h. SPDX-License-Identifier: MIT */
#include "sampler.h"

#include "arith.h"
#include "credits.h"
#include "memory.h"
#include "raw_call.h"
#include "samples.h"
#include "sys.h"
#include "thread_head.h"
#include "thread_space.h"

#define SECOND UINT64_C(1000000000)
#define MAX_DEPTH 512u /* frames that are looked through, and nodes up to the root */
#define MAX_FOLDED 32u /* different nodes among these */

/* With perf, timers are for kernel time only; a signal of theirs costs several times one of perf's. */
#define TIMER_PERIODS 10u

/* Switches for each second of processor time, above which a thread has no perf, and below which it has again. */
#define OFTEN_SWITCHED 5000u
#define SELDOM_SWITCHED 2500u
#define JUDGED_NS (SECOND / 100)        /* over so much, ... */
#define FIRST_JUDGED_NS (SECOND / 1000) /* ... or so little before perf is started for it */

/* That the first event of a thread is good for. */
#define FIRST_SAMPLES 64u

/* Signals of the timer that perf should have come before: its last one, after which it has to be started again, was lost. */
#define MOST_UNSEEN 8u
#define LEAST_UNSEEN 3u  /* periods before such a signal */
#define MOST_WITHOUT 64u /* the same without perf: what was refused once may be had now */

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

static const struct hp_stack everywhere = {0, UINTPTR_MAX};

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

static int signal_of(const struct hp_sampler *sampler) { return hp_private_signal_number(sampler->signal); }

static uint64_t timer_period(const struct hp_sampler *sampler)
{
    return (sampler->perf != NULL ? TIMER_PERIODS : 1) * hp_runtime->sampling.period_ns;
}

/*
 * A number around another, by chance: more or less by a twelfth to a third of it. Not the number itself: what people choose is round, as
 * what programs repeat in is.
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

/* Without perf ticks say when, and all of them are needed. */
static void set_timer(struct hp_sampler *sampler)
{
    const uint64_t period = timer_period(sampler);
    sampler->timer_ns = sampler->perf != NULL ? around(sampler, period) : period;
    if (sampler->has_timer)
        hp_cpu_timer_change(sampler->timer, sampler->timer_ns, period);
}

/* How far the first thread of the process has come that has met a zone. */
enum { NOT_BEGUN, UNDER_WAY, BEGUN };

static bool has_begun(void) { return __atomic_load_n(&hp_runtime->sampling.begun, __ATOMIC_ACQUIRE) == BEGUN; }

/* Few at first, so that a short run has more than one period, and then more: to start an event is not cheap. */
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

static void start_perf(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    if (!has_begun())
        return; /* the first event takes ten milliseconds, and is under way */
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

/* Each takes a place that the host may need for a timer or a signal of its own: at least half of them are left to it. */
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

static void stop_sources(struct hp_sampler *sampler)
{
    if (hp_is_sealed())
        return; /* they end with the thread, or with the process */
    stop_timer(sampler);
    stop_perf(sampler);
}

/* Now and then: the C library may have put its own handler in the place of ours. */
static void look_after_signal(const struct hp_sampler *sampler);

/* It had an event, which could not be renewed. */
static bool has_lost_perf(const struct hp_sampler *sampler)
{
    return sampler->perf == NULL && sampler->has_had_perf && !sampler->is_switched_often;
}

/* An event is good for so many samples. */
static void renew_perf(struct hp_sampler *sampler)
{
    const uint64_t period = timer_period(sampler);
    if (sampler->perf == NULL && !has_lost_perf(sampler))
        return;
    look_after_signal(sampler);
    stop_perf(sampler);
    open_perf(sampler);
    if (timer_period(sampler) != period)
        set_timer(sampler);
}

/* Now and then: the host may have set a handler for SIGIO, which the kernel would call where there is no room for signals. */
static void look_after_io(struct hp_sampler *sampler)
{
    if (sampler->perf == NULL || hp_private_signal_guard_io())
        return;
    stop_perf(sampler);
    set_timer(sampler);
}

/* The event that never fires has the same price, for the thread that made it. */
static void drop_prepared(const struct hp_head *head)
{
    struct hp_sampling *sampling = &hp_runtime->sampling;
    if (HOTPATH_GET_(sampling->perf_thread) == head->thread_id)
        hp_cpu_perf_stop(__atomic_exchange_n(&sampling->perf, NULL, __ATOMIC_RELAXED));
}

/* Whether the thread is switched often, by its clocks since it was last asked. Over less than that it cannot be told. */
static void judge(struct hp_sampler *sampler, const struct hp_cpu_time *now, uint64_t least_ns)
{
    const uint64_t ns = hp_less(now->ns, sampler->judged.ns);
    const uint64_t switches = hp_less(now->switches, sampler->judged.switches);
    const uint64_t bound = sampler->is_switched_often ? SELDOM_SWITCHED : OFTEN_SWITCHED;
    if (ns < least_ns)
        return;
    sampler->is_switched_often = switches > ns / (SECOND / bound);
    sampler->judged = *now;
}

/* Its sources follow. The clocks were read just now. */
static void judge_and_adapt(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    const bool was_switched_often = sampler->is_switched_often;
    judge(sampler, &sampler->counted, sampler->perf_was_tried ? JUDGED_NS : FIRST_JUDGED_NS);
    if (sampler->is_switched_often == was_switched_often)
        return;
    if (!sampler->is_switched_often) {
        start_perf(head);
        return;
    }
    drop_prepared(head);
    stop_perf(sampler);
    set_timer(sampler);
}

static void take_perf_sample(struct hp_head *head, const struct hotpath_frame_ *frame)
{
    struct hp_sampler *sampler = &head->sampler;
    if (sampler->seen_count == HP_SAMPLER_SEEN)
        hp_credits_give_seen(head, !sampler->has_timer);
    sampler->seen[sampler->seen_count++] = frame->node;
    sampler->seen_ns += sampler->perf_ns;
    HOTPATH_ADD_(sampler->cpu->perf_samples, 1);
    uint32_t nodes[MAX_FOLDED], count = find_folded(head, frame, nodes);
    while (count > 0)
        remember_folded(head, nodes[--count]);
}

static uint64_t ticks_now(void) { return hp_clock_ticks_raw(hp_runtime->counter); }

/*
 * Once for a process, when it has run for a while: what the kernel does before it calls the handler costs more than all the rest,
 * and nobody but the thread that is interrupted can tell how much.
 */
#define NO_GAP_ZONES 10u
static void weigh_perf(const struct hp_head *head)
{
    struct hp_header *header = hp_store_header(head->store);
    const uint64_t zone = hp_zone_ticks();
    if (head->sampler.perf == NULL || __atomic_exchange_n(&hp_runtime->sampling.is_weighed, 1, __ATOMIC_RELAXED))
        return;
    const struct hp_cpu_perf_weight weight =
        hp_cpu_perf_weigh(hp_runtime->counter, NO_GAP_ZONES * (zone > 0 ? zone : 1));
    __atomic_store_n(&header->interrupt_ticks, weight.interrupt, __ATOMIC_RELAXED);
    __atomic_store_n(&header->pause_ticks, weight.pause, __ATOMIC_RELAXED);
}

/* Where that cannot be told, by what the kernel says of the time that has just passed. */
static bool is_in_kernel(const struct hp_sampler *sampler, const struct hp_cpu_time *before, enum hp_cpu_mode mode)
{
    if (mode != HP_CPU_MODE_UNKNOWN)
        return mode == HP_CPU_KERNEL;
    return 2 * (sampler->counted.kernel_ns - before->kernel_ns) > sampler->counted.ns - before->ns;
}

/*
 * What passed while nothing did. A thread that has a processor is interrupted by ticks, on which its timer is looked at: if that comes much
 * too late, and not because of a system call that took so long, the machine itself has stood still, as those do that share a processor
 * with others. perf has not come either then, and it is no time of the kernel's.
 */
#define LONGEST_TICK (SECOND / 80)
static uint64_t stalled_before(const struct hp_sampler *sampler, uint64_t now_ns)
{
    const uint64_t late_ns = hp_less(now_ns - sampler->ticked_ns, sampler->timer_ns);
    return late_ns > LONGEST_TICK && sampler->counted.waits == sampler->ticked_waits ? late_ns : 0;
}

static void take_timer_sample(struct hp_head *head, const struct hotpath_frame_ *frame, enum hp_cpu_mode mode)
{
    struct hp_sampler *sampler = &head->sampler;
    const struct hp_cpu_thread *cpu = sampler->cpu;
    const struct hp_cpu_time before = sampler->counted;
    const bool has_perf = sampler->perf != NULL;
    hp_credits_count_time(head);
    const bool is_kernels = is_in_kernel(sampler, &before, mode);
    const bool is_unseen = has_perf && !is_kernels && sampler->seen_count == 0 &&
                           cpu->waiting_ns > LEAST_UNSEEN * hp_runtime->sampling.period_ns;
    const uint64_t now_ns = cpu->user_ns + cpu->kernel_ns;
    const bool is_alone = !has_perf || is_unseen;
    uint32_t nodes[MAX_FOLDED], count = is_alone || is_kernels ? find_folded(head, frame, nodes) : 0;
    while (count > 0)
        hp_credits_give_beside(head, nodes[--count], is_alone ? cpu->waiting_ns : now_ns - sampler->ticked_ns, 1);
    if (is_alone)
        hp_credits_give_all(head, frame->node, is_kernels);
    else
        hp_credits_tick(head, frame->node, is_kernels, stalled_before(sampler, now_ns));
    sampler->ticked_ns = now_ns;
    sampler->ticked_waits = sampler->counted.waits;
    sampler->unseen = is_unseen || has_lost_perf(sampler) ? sampler->unseen + 1 : 0;
    if (sampler->unseen == (has_perf ? MOST_UNSEEN : MOST_WITHOUT))
        renew_perf(sampler);
    weigh_perf(head); /* before it may turn out that the thread does without */
    look_after_io(sampler);
    judge_and_adapt(head);
    if (!sampler->perf_was_tried)
        start_perf(head);
    else if (sampler->perf != NULL)
        set_timer(sampler);
}

static void take_sample(struct hp_head *head, enum hp_sample_kind kind, uintptr_t stack, enum hp_cpu_mode mode)
{
    struct hp_cpu_thread *cpu = head->sampler.cpu;
    const struct hotpath_frame_ *frame = present_frame(head, stack);
    const uint32_t node = frame->node;
    if (node == 0)
        return; /* as in place_of */
    if (kind == HP_SAMPLE_PERF)
        take_perf_sample(head, frame);
    else
        take_timer_sample(head, frame, mode);
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
 * False: the process is shut in, and system calls may be death. That and the gate are asked once we are known to be at work: from then
 * on nobody shuts it in, and a session that is there stays, until end_work().
 */
static bool begin_work(struct hp_head *head)
{
    HOTPATH_PUT_(head->sampler.is_at_work, 1);
    HOTPATH_ORDER_();
    return !hp_head_is_sandboxed(&head->hot);
}

static void end_work(struct hp_head *head)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(head->sampler.is_at_work, 0);
}

/* Whether the session that the thread works for is still there. At work. */
static bool enter(struct hp_head *head)
{
    const bool is_there = head->sampler.cpu != NULL && (HOTPATH_GATE_OF_(&head->hot) &
                                                        ~(HP_GATE_OUT_OF_LINE | HP_GATE_PAUSED)) == head->hot.epoch;
    head->sampler.since = is_there ? ticks_now() : 0;
    return is_there;
}

/* As long as so many zones: after that the thread has lost its processor, on the tick that the signal came with, say. */
#define MOST_OF_SAMPLE 1024u
#define MOST_OF_BEGINNING 262144u

static void leave(struct hp_head *head, uint64_t most_zones, bool is_by_perf)
{
    if (head->sampler.since != 0) {
        struct hp_cpu_thread *cpu = head->sampler.cpu;
        const uint64_t all = ticks_now() - head->sampler.since, most = most_zones * hp_zone_ticks();
        const uint64_t ticks = all < most ? all : most;
        HOTPATH_ADD_(cpu->spent_ticks, ticks);
        if (is_by_perf)
            HOTPATH_ADD_(cpu->perf_ticks, ticks);
    }
    head->sampler.since = 0;
}

static bool has_source(const struct hp_sampler *sampler) { return sampler->has_timer || sampler->perf != NULL; }

/* One that was on its way when its source was stopped would have all that comes after it shared out by it alone. */
static void sample(struct hp_head *head, enum hp_sample_kind kind, uintptr_t stack, const void *context)
{
    if (!enter(head))
        stop_sources(&head->sampler);
    else if (is_paused(head))
        hp_credits_skip_time(head);
    else if (has_source(&head->sampler))
        take_sample(head, kind, stack, kind == HP_SAMPLE_TIMER ? hp_cpu_mode_of(context) : HP_CPU_USER);
    leave(head, MOST_OF_SAMPLE, kind == HP_SAMPLE_PERF);
}

/* Also where no head is known. */
static bool is_confined(void) { return __atomic_load_n(&hp_runtime->confinements, __ATOMIC_RELAXED) != 0; }

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
    if (is_confined())
        return NULL;
    const uint32_t thread_id = (uint32_t)hp_raw(SYS_gettid, 0);
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
    if (source == HP_CPU_BY_OTHERS || source == HP_CPU_BY_TIMER)
        return source == HP_CPU_BY_TIMER;
    return head != NULL ? head->sampler.has_had_perf : hp_thread_is_over != 0 || is_confined();
}

/* What is on its way would come on the stack that the thread has left. */
static void end_samples(struct hp_sampler *sampler)
{
    stop_sources(sampler);
    hp_private_signal_drop(sampler->signal);
}

/* There is no place for handlers that is known to be large enough. */
static void give_up(struct hp_head *head)
{
    end_samples(&head->sampler);
    head->sampler.known = everywhere;
    hp_lose(head, HP_LOSS_STACKS);
}

/* What handlers of the host are taken to need for themselves. */
#define HOSTS_ROOM 4096u

/*
 * By HERE, the frame comes where the thread is, and that may be in a handler of the host's on an alternate stack; which a host cannot
 * forbid, since sets of all signals are without ours. By ASIDE, the host may have set an alternate stack of its own after ours. Most
 * samples do not come there: of a stack that is too small for one the first of them tells us, and the rest do without. `here`: the
 * handler's own place.
 */
static bool may_fall_off(const struct hp_head *head, uintptr_t stack, uintptr_t here, const void *context)
{
    const struct hp_stack alternate = hp_cpu_alternate_of(context);
    const uint64_t bytes = alternate.high - alternate.low;
    if (head->sampler.signal == HP_SIGNAL_HERE)
        return bytes != 0 && stack > here && bytes < 2 * (uint64_t)(stack - here) + HOSTS_ROOM;
    if (!hp_stack_has(&alternate, here))
        return true; /* the host has taken it away */
    const uintptr_t from = hp_stack_has(&alternate, stack) ? stack : alternate.high;
    return bytes < 2 * (uint64_t)(from - here) + HOSTS_ROOM;
}

/* `here`: as above. */
static void handle_sample(struct hp_head *head, enum hp_cpu_source source, const void *context, uintptr_t here)
{
    const uintptr_t stack = hp_cpu_stack_of(context);
    sample(head, source == HP_CPU_BY_TIMER ? HP_SAMPLE_TIMER : HP_SAMPLE_PERF, stack, context);
    if (!has_source(&head->sampler))
        return;
    if (may_fall_off(head, stack, here, context))
        give_up(head);
    else if (source == HP_CPU_BY_ENDING_PERF)
        renew_perf(&head->sampler);
}

static enum hp_private_signal which_signal(int signal)
{
    return signal == hp_private_signal_number(HP_SIGNAL_HERE) ? HP_SIGNAL_HERE : HP_SIGNAL_ASIDE;
}

static void on_sample(int signal, siginfo_t *info, void *context)
{
    const enum hp_cpu_source source = hp_cpu_source_of(info, hp_runtime);
    struct hp_head *head = source != HP_CPU_BY_OTHERS ? head_of_thread() : NULL;
    if (!is_ours(source, head))
        hp_private_signal_pass_on(&hp_runtime->signals[which_signal(signal)], signal, info, context);
    else if (head != NULL) {
        if (begin_work(head))
            handle_sample(head, source, context, (uintptr_t)__builtin_frame_address(0));
        end_work(head);
    }
}

static bool take_signal(enum hp_private_signal which)
{
    return hp_private_signal_take(&hp_runtime->signals[which], which, on_sample);
}

static void look_after_signal(const struct hp_sampler *sampler) { take_signal(sampler->signal); }

/* ---------------------------------------------------------------------------------------------- the first zone */

/* 0, or why there is no perf. */
static int prepare_perf(void **ret_perf)
{
    return hp_private_signal_guard_io() ? hp_cpu_perf_prepare(ret_perf) : EBUSY;
}

/*
 * For the first thread that has met a zone: whether there is perf, and an event so that the next ones are there quickly. Others have
 * their timers meanwhile.
 */
static void begin_process(const struct hp_head *head)
{
    struct hp_sampling *sampling = &hp_runtime->sampling;
    struct hp_header *header = hp_store_header(head->store);
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
    HOTPATH_PUT_(sampling->perf_thread, head->thread_id);
    __atomic_store_n(&sampling->perf, perf, __ATOMIC_RELAXED);
    __atomic_store_n(&sampling->begun, BEGUN, __ATOMIC_RELEASE);
}

/* That of the process, which lives as long as it does. Where others have the processor on every tick, its timer comes late. */
static bool is_first(const struct hp_head *head) { return head->thread_id == hp_sys_process_id(); }

/* The sequence of samples goes on where the threads before it with this record left off. */
static uint64_t first_due(const struct hp_cpu_thread *cpu)
{
    const uint64_t period = hp_runtime->sampling.period_ns;
    return cpu->waiting_ns < period ? period - cpu->waiting_ns : 1;
}

static void start_sources(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    start_timer(sampler, first_due(sampler->cpu));
    sampler->perf_was_tried = false;
    if (!sampler->has_timer || is_first(head))
        start_perf(head);
}

/* What the thread has used since it has its record, all of it outside of zones. */
static void credit_outside(struct hp_head *head)
{
    const struct hp_cpu_time before = head->sampler.counted;
    if (is_paused(head)) {
        hp_credits_skip_time(head);
        return;
    }
    hp_credits_count_time(head);
    const uint64_t kernel_ns = head->sampler.counted.kernel_ns - before.kernel_ns;
    hp_credits_give(head, head->record->root, head->sampler.counted.ns - before.ns - kernel_ns, kernel_ns, 0);
}

static void begin_samples(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    begin_process(head);
    if (!sampler->has_begun) {
        sampler->has_begun = true;
        credit_outside(head);
        judge(sampler, &sampler->counted, JUDGED_NS);
    }
    start_sources(head);
}

/* From now on by that signal. Where the host blocks it none would come, and it is asked again with the next zone. */
static void sample_by(struct hp_head *head, enum hp_private_signal which, const struct hp_stack *known,
                      const struct hp_signals *held)
{
    struct hp_sampler *sampler = &head->sampler;
    const bool is_blocked = held->before & UINT64_C(1) << (hp_private_signal_number(which) - 1);
    if (has_source(sampler) && sampler->signal != which)
        end_samples(sampler);
    if (is_blocked || !take_signal(which))
        return;
    sampler->known = *known;
    sampler->signal = which;
    if (!has_source(sampler))
        begin_samples(head);
}

/* Of the program's alternate stack, half is left for its own handlers. */
static bool is_roomy(uint64_t bytes) { return bytes >= 2 * (hp_alternate_least() + 4096); }

static void meet_on_own_stack(struct hp_head *head, const struct hp_stack *own, const struct hp_signals *held)
{
    uint64_t bytes;
    const bool is_hosts = hp_alternate_present(&bytes) == HP_ALTERNATE_HOSTS;
    const bool is_aside = is_hosts && is_roomy(bytes) && hp_alternate_is_usual();
    sample_by(head, is_aside ? HP_SIGNAL_ASIDE : HP_SIGNAL_HERE, is_aside ? &everywhere : own, held);
    if (is_hosts && !is_roomy(bytes) && has_source(&head->sampler))
        hp_cpu_timer_pretend(signal_of(&head->sampler), hp_runtime); /* here: the next may come there */
}

static void meet_on_other_stack(struct hp_head *head, const struct hp_signals *held)
{
    struct hp_sampler *sampler = &head->sampler;
    uint64_t bytes;
    switch (hp_alternate_present(&bytes)) {
    case HP_ALTERNATE_IN_USE: /* a handler of the host's, which is soon over */
        return;
    case HP_ALTERNATE_HOSTS:
        give_up(head);
        return;
    case HP_ALTERNATE_NONE:
        sampler->alternate = hp_alternate_make();
        if (sampler->alternate == NULL) {
            give_up(head);
            return;
        }
        break;
    case HP_ALTERNATE_OURS:
        break;
    }
    sample_by(head, HP_SIGNAL_ASIDE, &everywhere, held);
}

static bool is_own(const struct hp_head *head) { return head->thread_id == hp_sys_thread_id(); }

static void meet(struct hp_head *head, uintptr_t here, const struct hp_signals *held)
{
    struct hp_stack own;
    if (hp_stack_is_own(here, is_first(head), hp_runtime->is_child, &own))
        meet_on_own_stack(head, &own, held);
    else
        meet_on_other_stack(head, held);
}

/* A child made by vfork has the head of its parent's thread, and no business with its signals. */
static void __attribute__((noinline)) look_at_stack(struct hp_head *head, uintptr_t here)
{
    struct hp_signals held;
    if (!hp_calls_begin())
        return;
    hp_signals_hold(&held); /* before anything else: there may be no room for one here */
    if (begin_work(head) && is_own(head) && enter(head))
        meet(head, here, &held);
    leave(head, MOST_OF_BEGINNING, false);
    end_work(head);
    hp_signals_release(&held);
    hp_calls_end();
}

void hp_sampler_meet_zone(struct hp_head *head)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (head->sampler.cpu != NULL && !hp_stack_has(&head->sampler.known, here))
        look_at_stack(head, here);
}

/* ----------------------------------------------------------------------------------- beginning and ending */

/* ThreadSanitizer is not made to be interrupted: where it is in this very file, there are no samples. */
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

/* Whether the kernel has perf for us turns out with the first zone. */
static enum hp_cpu_engine choose_engine(void)
{
    if (!is_wanted())
        return HP_CPU_NONE;
    return hp_runtime->settings.record.cpu_engine == HP_CPU_ENGINE_TIMERS ? HP_CPU_TIMERS : HP_CPU_PERF;
}

void hp_sampler_begin(void)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    hp_runtime->sampling =
        (struct hp_sampling){.engine = choose_engine(), .period_ns = SECOND / hp_runtime->settings.record.cpu_rate};
    for (size_t at = 0; hp_runtime->is_child && at < HP_PRIVATE_SIGNALS; at++)
        hp_runtime->signals[at].is_changing = 0; /* by a thread that is not here */
    if (hp_runtime->sampling.engine == HP_CPU_NONE)
        return;
    const struct hp_cpu_time now = hp_cpu_of_process();
    /* Others have bits there, too. */
    __atomic_fetch_or(&header->features, HP_FEATURE_CPU | (hp_runtime->settings.record.is_run ? HP_FEATURE_RUN : 0),
                      __ATOMIC_RELAXED);
    header->cpu_engine = hp_runtime->sampling.engine;
    header->cpu_refusal = 0;
    header->cpu_rate = hp_runtime->settings.record.cpu_rate;
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

/* What it has of an earlier session: a stack, and signals on their way. */
void hp_sampler_begin_thread(struct hp_head *head, const struct hp_cpu_time *used)
{
    struct hp_sampler *sampler = &head->sampler;
    stop_sources(sampler);
    *sampler = (struct hp_sampler){.has_had_perf = sampler->has_had_perf, .alternate = sampler->alternate};
    sampler->chance = (hp_clock_ticks_raw(hp_runtime->counter) ^ (uint64_t)head->thread_id << 32) | 1;
    if (hp_runtime->sampling.engine == HP_CPU_NONE || !find_record(head))
        return;
    sampler->counted = *used;
    sampler->ticked_ns = sampler->cpu->user_ns + sampler->cpu->kernel_ns;
    sampler->ticked_waits = sampler->counted.waits;
}

/* A record of which no sample was ever taken: its outermost zone is all that is known of where its time went. */
static void guess_node(struct hp_head *head)
{
    const struct hotpath_frame_ *outermost = hp_frame_zero(head) + 1;
    const bool is_of_this_thread = !(outermost->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_)) &&
                                   (int64_t)(outermost->start - head->record->first_tick) >= 0;
    if (head->sampler.cpu->last_node == 0 && outermost->node != 0 && is_of_this_thread)
        HOTPATH_PUT_(head->sampler.cpu->last_node, outermost->node);
}

static void settle_for_good(struct hp_head *head)
{
    settle(head);
    guess_node(head);
}

static void end_alternate(struct hp_head *head)
{
    if (head->sampler.alternate != NULL)
        hp_alternate_end(head->sampler.alternate, is_own(head));
    head->sampler.alternate = NULL;
}

/* Where it has not ended without a word. In a sandbox sources are stopped already, and the kernel is not asked for the last clocks. */
void hp_sampler_end_thread(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    if (hp_head_is_sandboxed(&head->hot)) {
        sampler->cpu = NULL;
        return;
    }
    if (sampler->cpu != NULL && head->hot.epoch == hp_epoch() && hp_runtime->gate != 0 && is_own(head))
        settle_for_good(head);
    stop_sources(sampler);
    end_alternate(head);
    sampler->cpu = NULL;
}

void hp_sampler_part(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    struct hp_signals held;
    if (sampler->cpu == NULL || !hp_calls_begin())
        return;
    hp_signals_hold(&held);
    if (begin_work(head) && is_own(head)) {
        if (enter(head))
            settle_for_good(head);
        leave(head, MOST_OF_BEGINNING, false);
        stop_sources(sampler);
        end_alternate(head);
        sampler->cpu = NULL;
    }
    end_work(head);
    hp_signals_release(&held);
    hp_calls_end();
}

/* ----------------------------------------------------------------------------------- other threads' sources */

#define MOST_PAUSES 1000u /* for a thread that has lost its processor meanwhile */
#define PAUSE_NS UINT64_C(50000)

typedef void change_sources(struct hp_sampler *sampler);

static void change_others(const struct hp_head *own, change_sources *change)
{
    for (struct hp_head *head = hp_page()->heads; head != NULL; head = head->next)
        if (head != own && head->thread_id != 0 && !head->is_handler && head->sampler.cpu != NULL)
            change(&head->sampler);
}

static void wait_for(struct hp_sampler *sampler)
{
    for (uint32_t pauses = 0; pauses < MOST_PAUSES && HOTPATH_GET_(sampler->is_at_work) != 0; pauses++)
        hp_pause_ns(PAUSE_NS);
}

/* What the kernel has lent for perf cannot be had back later; a timer can. */
static void pause_sources(struct hp_sampler *sampler)
{
    if (sampler->has_timer)
        hp_cpu_timer_pause(sampler->timer);
    stop_perf(sampler);
}

/* By timers; these see to it that perf comes back. */
static void resume_sources(struct hp_sampler *sampler)
{
    if (sampler->perf == NULL)
        set_timer(sampler);
}

static bool has_others(const struct hp_head *own)
{
    const struct hp_head *head = hp_page()->heads;
    while (head != NULL && (head == own || head->thread_id == 0 || head->is_handler))
        head = head->next;
    return head != NULL;
}

/* As with the end of a session: who is seen at rest after the barrier finds that the process is shut in. */
void hp_sampler_stop_others(const struct hp_head *own)
{
    if (!has_others(own))
        return;
    hp_memory_barrier_everywhere();
    change_others(own, wait_for);
    change_others(own, pause_sources);
}

void hp_sampler_go_on_with_others(const struct hp_head *own) { change_others(own, resume_sources); }

void hp_sampler_begin_late(void)
{
    struct hp_head *head = hp_thread_present();
    if (hp_runtime->sampling.engine != HP_CPU_NONE || !is_wanted())
        return;
    hp_sampler_begin();
    if (head != NULL) {
        const struct hp_cpu_time used = hp_cpu_of_thread();
        hp_sampler_begin_thread(head, &used);
    }
}

void hp_sampler_end(void)
{
    struct hp_head *head = hp_thread_present();
    if (head != NULL && head->sampler.cpu != NULL)
        settle_for_good(head);
    hp_cpu_perf_stop(__atomic_exchange_n(&hp_runtime->sampling.perf, NULL, __ATOMIC_RELAXED));
}
