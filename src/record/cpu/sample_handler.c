/*
 * The signal handler for samples: finds the thread, what the sample stands for, and the node to credit. It calls
 * nothing of the C library: tools/check_handler.py. SPDX-License-Identifier: MIT
 */
#include "sample_handler.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "arith.h"
#include "cpu.h"
#include "cpu_attribution.h"
#include "holding.h"
#include "hook_entries.h"
#include "layout.h"
#include "raw_call.h"
#include "runtime.h"
#include "sample_sources.h"
#include "thread_context.h"

/* ----------------------------------------------------------------------------------------- the zone of a sample */

#define FOLDED 32u     /* different nodes to look for */
#define MAX_DEPTH 512u /* frames to search, and nodes up to the root */

/*
 * The thread's own frame, the outermost. Recognized by its mark: the stack may be growing, and the record may refer
 * to the old or the new one. The header contains no stacks.
 */
static bool is_last(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    return frame->zone == UINT64_MAX ||
           (const unsigned char *)(frame - 1) < (const unsigned char *)context->hot.base + HP_HEADER_BYTES;
}

static uint32_t site_of(const struct hp_thread_context *context, uint32_t node)
{
    return hp_node_at(context, node)->site;
}

/* The index of a node with that site, or `count`. */
static uint32_t find_site(const struct hp_thread_context *context, const uint32_t *nodes, uint32_t count,
                          uint32_t site)
{
    uint32_t at = 0;
    while (at < count && site_of(context, nodes[at]) != site)
        at++;
    return at;
}

/*
 * In a recursion a site may be on the stack but not above the innermost node, which was folded onto an outer one.
 * Its calls are in progress, too, so it is credited beside the tree. Returns the number of such nodes.
 */
static uint32_t sample_find_folded(const struct hp_thread_context *context, const struct hotpath_frame_ *innermost,
                                   uint32_t nodes[FOLDED])
{
    uint32_t count = 0, steps = 0;
    if (!(innermost->stat & HOTPATH_RECURSIVE_))
        return 0;
    for (const struct hotpath_frame_ *frame = innermost;
         !is_last(context, frame) && steps < MAX_DEPTH && count < FOLDED; frame--, steps++)
        if (find_site(context, nodes, count, site_of(context, frame->node)) == count)
            nodes[count++] = frame->node;
    steps = 0;
    for (uint32_t node = innermost->node; node != 0 && steps < MAX_DEPTH; steps++) {
        const uint32_t above = find_site(context, nodes, count, site_of(context, node));
        if (above < count)
            nodes[above] = nodes[--count];
        node = hp_node_at(context, node)->parent;
    }
    return count;
}

/* AddressSanitizer may keep guards of the host in its own memory, where their addresses say nothing. */
extern void *__asan_get_current_fake_stack(void) __attribute__((weak));

const struct hotpath_frame_ *hp_sample_frame(const struct hp_thread_context *context, uintptr_t stack)
{
    const struct hotpath_frame_ *frame = context->hot.top;
    if (__asan_get_current_fake_stack != NULL)
        return frame;
    for (uint32_t steps = 0; steps < MAX_DEPTH && !hp_zone_is_there(frame, stack) && !is_last(context, frame);
         steps++)
        frame--;
    return frame;
}

/* ---------------------------------------------------------------------------------------------------- its stack */

enum ring_state { RING_NONE, RING_IN_THE_MAKING, RING_THERE, RING_REFUSED };

bool hp_sample_stacks_are_wanted(void)
{
    const struct hp_record_settings *settings = &hp_runtime->settings.record;
    return HP_STACK_RING_WORKS && settings->is_run && settings->stack_period > 0 &&
           hp_runtime->store->path[0] != '\0';
}

/* ---------------------------------------------------------------------------------------- threads without zones */

void hotpath_v1_stacks_switch(void (*leave_thread)(void))
{
    __atomic_store_n(&hp_runtime->leave_stacks, leave_thread, __ATOMIC_RELEASE);
    const struct hp_thread_context *context = hp_thread_present();
    if (context != NULL && context->sampler.has_begun && hp_runtime->sampling.has_stacks)
        leave_thread();
}

void hp_sample_stacks_begin_thread(void)
{
    void (*const leave_thread)(void) = __atomic_load_n(&hp_runtime->leave_stacks, __ATOMIC_ACQUIRE);
    if (hp_runtime->sampling.has_stacks && leave_thread != NULL)
        leave_thread();
}

/* ----------------------------------------------------------------------------------------------------- the ring */

static uint64_t cores(void)
{
    uint64_t set[16], count = 0;
    const long bytes = hp_raw(SYS_sched_getaffinity, 0, sizeof set, set);
    for (long at = 0; at < bytes / (long)sizeof set[0]; at++)
        count += (uint64_t)__builtin_popcountll(set[at]);
    return count;
}

/* Static, since the handler's stack frames must be small; used once. Copied without a function of the C library. */
static char path_of_ring[sizeof((struct hp_store *)0)->path + sizeof HP_STACK_RING_SUFFIX];

static volatile char *put_text(volatile char *to, const char *text)
{
    while (*text != '\0')
        *to++ = *text++;
    *to = '\0';
    return to;
}

static __attribute__((noinline)) void make_ring(struct hp_store *store)
{
    const uint32_t pid = (uint32_t)hp_raw(SYS_getpid, 0);
    struct hp_stack_ring ring;
    put_text(put_text(path_of_ring, store->path), HP_STACK_RING_SUFFIX);
    const struct hp_stack_ring_plan plan = {.path = path_of_ring,
                                            .capacity = hp_stack_ring_capacity(cores()),
                                            .period_ns = hp_runtime->sampling.period_ns,
                                            .pid = pid,
                                            .kind = HP_LOAN_ZONE_RING,
                                            .session = store->number};
    const bool is_made = hp_stack_ring_make(&ring, &plan);
    if (is_made)
        store->stacks = ring;
    if (ring.is_untold)
        hp_header_note(hp_store_header(store), HP_FEATURE_UNPASSED);
    __atomic_store_n(&store->stacks_state, is_made ? RING_THERE : RING_REFUSED, __ATOMIC_RELEASE);
}

/*
 * The first user makes the ring; others do without meanwhile. NULL: there is none, or writing to it has
 * ended.
 */
static struct hp_stack_ring *ring_of(struct hp_store *store)
{
    uint32_t none = RING_NONE;
    if (__atomic_compare_exchange_n(&store->stacks_state, &none, RING_IN_THE_MAKING, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        make_ring(store);
    /* Acquire pairs with the release above. */
    return __atomic_load_n(&store->stacks_state, __ATOMIC_ACQUIRE) == RING_THERE &&
                   hp_stack_ring_end(&store->stacks) == HP_RING_OPEN
               ? &store->stacks
               : NULL;
}

/* --------------------------------------------------------------------------------------------------- a sample */

/* The stack above the stack pointer, if zones were seen there; unknown if samples are taken on any stack. */
static struct hp_stack known_stack(const struct hp_sampler *sampler)
{
    return sampler->known.high != UINTPTR_MAX ? sampler->known : (struct hp_stack){0, 0};
}

static __attribute__((noinline)) void put(struct hp_stack_ring *ring, const struct hp_thread_context *context,
                                          uint32_t node, uint64_t ns, const void *machine_state)
{
    const bool is_kernel = hp_cpu_mode_of(machine_state) == HP_CPU_KERNEL;
    const struct hp_stack own = known_stack(&context->sampler);
    struct hp_stack_registers registers;
    if (!hp_stack_registers_of(machine_state, &registers))
        return;
    if (is_kernel)
        hp_stack_step_over_call(&registers);
    hp_stack_ring_put(ring,
                      &(struct hp_stack_note){.kind = HP_STACK_CPU,
                                              .flags = is_kernel ? HP_STACK_IN_KERNEL : 0,
                                              .thread_id = context->thread_id,
                                              .zone = hp_node_at(context, node)->site + 1, /* 0 for the root */
                                              .ns = hp_raw_clock(CLOCK_MONOTONIC),
                                              .weight = ns},
                      &registers, &own);
}

/*
 * The copy is made by a system call, so sandboxes must be announced (confined.c), which the preloaded library does.
 */
static bool may_copy(void)
{
    return hp_runtime->sampling.has_stacks && __atomic_load_n(&hp_runtime->leave_stacks, __ATOMIC_RELAXED) != NULL;
}

/* Puts the stack of a sample found at a node of the tree. In the handler. */
static void sample_stack_put(struct hp_thread_context *context, uint32_t node, uint64_t ns,
                             const void *machine_state)
{
    struct hp_stack_ring *ring = ns > 0 && may_copy() ? ring_of(context->store) : NULL;
    if (ring != NULL)
        put(ring, context, node, ns, machine_state);
}

/* ----------------------------------------------------------------------------------------------------- its cost */

static uint64_t ticks_now(void) { return hp_clock_ticks_raw(hp_runtime->counter); }

bool hp_spent_begin(struct hp_thread_context *context)
{
    const bool is_there = context->sampler.cpu != NULL && hp_context_has_session(&context->hot);
    context->sampler.since = is_there ? ticks_now() : 0;
    return is_there;
}

void hp_spent_end(struct hp_thread_context *context, uint64_t most_zones, bool is_by_perf)
{
    if (context->sampler.since != 0) {
        struct hp_cpu_thread *cpu = context->sampler.cpu;
        const uint64_t all = ticks_now() - context->sampler.since, most = most_zones * hp_zone_ticks();
        const uint64_t ticks = all < most ? all : most;
        HOTPATH_ADD_(cpu->spent_ticks, ticks);
        if (is_by_perf)
            HOTPATH_ADD_(cpu->perf_ticks, ticks);
    }
    context->sampler.since = 0;
}

/* ------------------------------------------------------------------------------------------- the latest samples */

/*
 * The latest samples of a thread, in a ring of chunks in the session: they survive however the process ends. Called
 * by the thread itself, in the handler.
 */

#define CHUNK_SAMPLES 256u
#define MAX_CHUNKS 64u

/* A new chunk, or the oldest one again. Other data needs the space more than samples do. */
static struct hp_sample_chunk *next_chunk(struct hp_thread_context *context, struct hp_sample_chunk *full)
{
    struct hp_cpu_thread *cpu = context->sampler.cpu;
    const struct hp_header *header = hp_store_header(context->store);
    const uint32_t bytes = (uint32_t)(sizeof *full + CHUNK_SAMPLES * sizeof full->samples[0]);
    const bool is_enough =
        cpu->chunk_count >= MAX_CHUNKS || __atomic_load_n(&header->used, __ATOMIC_RELAXED) > header->capacity / 2;
    uint32_t offset = is_enough ? 0 : hp_store_allocate(context->store, bytes, 64);
    struct hp_sample_chunk *chunk = NULL;
    if (offset != 0) {
        chunk = hp_store_at(context->store, offset);
        chunk->capacity = CHUNK_SAMPLES;
        chunk->next = full != NULL ? full->next : offset;
        HOTPATH_PUT_(cpu->chunk_count, cpu->chunk_count + 1);
    } else if (full != NULL && full->next != 0) {
        offset = full->next;
        chunk = hp_store_at(context->store, offset);
        __atomic_store_n(&chunk->used, 0, __ATOMIC_RELEASE);
    }
    if (chunk == NULL)
        return NULL;
    HOTPATH_PUT_(chunk->first, cpu->recorded);
    if (full != NULL)
        __atomic_store_n(&full->next, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&cpu->chunk, offset, __ATOMIC_RELEASE);
    return chunk;
}

/* Overwrites the oldest if there is no space for more; keeps nothing if there is no space at all. */
static void sample_ring_add(struct hp_thread_context *context, uint32_t node, enum hp_sample_kind kind)
{
    struct hp_cpu_thread *cpu = context->sampler.cpu;
    struct hp_sample_chunk *chunk = cpu->chunk != 0 ? hp_store_at(context->store, cpu->chunk) : NULL;
    if (chunk == NULL || chunk->used == chunk->capacity)
        chunk = next_chunk(context, chunk);
    if (chunk == NULL)
        return;
    chunk->samples[chunk->used] = (struct hp_sample){
        .ticks = hp_clock_ticks_raw(hp_runtime->counter), .node = node, .tid = context->thread_id, .kind = kind};
    __atomic_store_n(&chunk->used, chunk->used + 1, __ATOMIC_RELEASE);
    HOTPATH_ADD_(cpu->recorded, 1);
}

/* -------------------------------------------------------------------------------------------------- the handler */

/*
 * So many timer signals without a perf sample in between: perf's last signal, after which it must be restarted, was
 * lost.
 */
#define MOST_UNSEEN 8u
#define LEAST_UNSEEN 3u  /* minimum periods before such a signal */
#define MOST_WITHOUT 64u /* the same without perf: what was refused once may be available now */

/* ------------------------------------------------------------------------------------- what a sample stands for */

/* CPU time of the thread, as last read, that no stack stands for yet. */
static uint64_t unstacked_ns(const struct hp_sampler *sampler)
{
    return sampler->counted.ns > sampler->stacked_ns ? sampler->counted.ns - sampler->stacked_ns : 0;
}

/* Adds this much to what stacks stand for. */
static uint64_t stacks_stand_for(struct hp_sampler *sampler, uint64_t ns)
{
    sampler->stacked_ns += ns;
    return ns;
}

/*
 * Stores the node until it is known how much time a sample stands for; if the buffer is full, credits it at the
 * nominal period.
 */
static void remember(struct hp_thread_context *context, uint32_t node)
{
    struct hp_sampler *sampler = &context->sampler;
    uint32_t at = 0;
    while (at < sampler->folded_count && sampler->folded[at].node != node)
        at++;
    if (at == HP_SAMPLER_FOLDED) {
        hp_cpu_attribute_give_beside(context, node, hp_runtime->sampling.period_ns, 1);
        return;
    }
    if (at == sampler->folded_count)
        sampler->folded[sampler->folded_count++] = (struct hp_folded){node, 0};
    sampler->folded[at].samples++;
}

/*
 * Nodes folded away by recursion: each gets a perf sample stored, or `ns` of a timer sample. Not inlined, so that
 * their list is not on the stack in other cases.
 */
static __attribute__((noinline)) void credit_folded(struct hp_thread_context *context,
                                                    const struct hotpath_frame_ *frame, enum hp_sample_kind kind,
                                                    uint64_t ns)
{
    uint32_t nodes[FOLDED], count = sample_find_folded(context, frame, nodes);
    while (count-- > 0)
        if (kind == HP_SAMPLE_PERF)
            remember(context, nodes[count]);
        else
            hp_cpu_attribute_give_beside(context, nodes[count], ns, 1);
}

static uint64_t take_perf_sample(struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    struct hp_sampler *sampler = &context->sampler;
    if (sampler->seen_count == HP_SAMPLER_SEEN)
        hp_cpu_attribute_give_seen(context, !sampler->has_timer);
    sampler->seen[sampler->seen_count++] = frame->node;
    sampler->seen_ns += sampler->perf_ns;
    HOTPATH_ADD_(sampler->cpu->perf_samples, 1);
    credit_folded(context, frame, HP_SAMPLE_PERF, 0);
    return stacks_stand_for(sampler, sampler->perf_ns);
}

/* Now and then: the C library may have replaced our handler by its own. */
static void renew_perf(struct hp_sampler *sampler)
{
    if (!hp_sources_can_renew(sampler))
        return;
    hp_sample_take_signal(sampler->signal);
    hp_sources_renew(sampler);
}

/* If the registers do not tell, goes by the kernel time that has just passed. */
static bool is_in_kernel(const struct hp_sampler *sampler, const struct hp_cpu_time *before, enum hp_cpu_mode mode)
{
    if (mode != HP_CPU_MODE_UNKNOWN)
        return mode == HP_CPU_KERNEL;
    return 2 * (sampler->counted.kernel_ns - before->kernel_ns) > sampler->counted.ns - before->ns;
}

/*
 * Time in which the machine stood still. A running thread is interrupted by ticks, at which its timer is checked.
 * If the timer is far too late, and not because of a long system call, the machine itself was stopped, as virtual
 * machines with shared CPUs are. perf did not sample then either, and it is not kernel time.
 */
#define LONGEST_TICK (HP_SECOND_NS / 80)
static uint64_t stalled_before(const struct hp_sampler *sampler, uint64_t now_ns)
{
    const uint64_t late_ns = hp_less(now_ns - sampler->ticked_ns, sampler->timer_ns);
    return late_ns > LONGEST_TICK && sampler->counted.waits == sampler->ticked_waits ? late_ns : 0;
}

/* What the stack of a timer signal stands for: sample_handler.h. The clocks were just read. */
static uint64_t stacked_by_timer(struct hp_sampler *sampler, bool is_alone, bool is_kernels, uint64_t now_ns)
{
    const uint64_t left = unstacked_ns(sampler);
    const uint64_t most = is_alone     ? left
                          : is_kernels ? 2 * (now_ns - sampler->ticked_ns)
                                       : stalled_before(sampler, now_ns);
    return stacks_stand_for(sampler, left < most ? left : most);
}

static uint64_t take_timer_sample(struct hp_thread_context *context, const struct hotpath_frame_ *frame,
                                  enum hp_cpu_mode mode)
{
    struct hp_sampler *sampler = &context->sampler;
    const struct hp_cpu_thread *cpu = sampler->cpu;
    const struct hp_cpu_time before = sampler->counted;
    const bool has_perf = sampler->perf != NULL;
    hp_cpu_attribute_count_time(context);
    const bool is_kernels = is_in_kernel(sampler, &before, mode);
    const bool is_unseen = has_perf && !is_kernels && sampler->seen_count == 0 &&
                           cpu->waiting_ns > LEAST_UNSEEN * hp_runtime->sampling.period_ns;
    const uint64_t now_ns = cpu->user_ns + cpu->kernel_ns;
    const bool is_alone = !has_perf || is_unseen;
    if (is_alone || is_kernels)
        credit_folded(context, frame, HP_SAMPLE_TIMER, is_alone ? cpu->waiting_ns : now_ns - sampler->ticked_ns);
    if (is_alone)
        hp_cpu_attribute_give_all(context, frame->node, is_kernels);
    else
        hp_cpu_attribute_tick(context, frame->node, is_kernels, stalled_before(sampler, now_ns));
    const uint64_t stacked_ns = stacked_by_timer(sampler, is_alone, is_kernels, now_ns);
    sampler->ticked_ns = now_ns;
    sampler->ticked_waits = sampler->counted.waits;
    sampler->unseen = is_unseen || hp_sources_have_lost_perf(sampler) ? sampler->unseen + 1 : 0;
    if (sampler->unseen == (has_perf ? MOST_UNSEEN : MOST_WITHOUT))
        renew_perf(sampler);
    hp_sources_look_after(context);
    return stacked_ns;
}

/* A sample that is credited. */
struct taken {
    uint32_t node;       /* 0: not credited */
    uint64_t stacked_ns; /* time that its stack stands for */
};

static struct taken take_sample(struct hp_thread_context *context, enum hp_sample_kind kind, uintptr_t stack,
                                enum hp_cpu_mode mode)
{
    struct hp_cpu_thread *cpu = context->sampler.cpu;
    const struct hotpath_frame_ *frame = hp_sample_frame(context, stack);
    const uint32_t node = frame->node;
    if (node == 0)
        return (struct taken){.node = 0}; /* as in place_of */
    const uint64_t stacked_ns =
        kind == HP_SAMPLE_PERF ? take_perf_sample(context, frame) : take_timer_sample(context, frame, mode);
    HOTPATH_ADD_(cpu->samples, 1);
    HOTPATH_PUT_(cpu->last_node, node);
    sample_ring_add(context, node, kind);
    return (struct taken){node, stacked_ns};
}

/* ------------------------------------------------------------------------------------------------- the signal */

/* A signal still on its way when its source was stopped is dropped: it would get all of the time that follows. */
static void sample(struct hp_thread_context *context, enum hp_sample_kind kind, uintptr_t stack,
                   const void *machine_state)
{
    if (!hp_spent_begin(context))
        hp_sources_stop(&context->sampler);
    else if (hp_context_is_paused(&context->hot))
        hp_cpu_attribute_skip_time(context);
    else if (hp_sources_are_there(&context->sampler)) {
        const struct taken taken = take_sample(
            context, kind, stack, kind == HP_SAMPLE_TIMER ? hp_cpu_mode_of(machine_state) : HP_CPU_USER);
        if (taken.node != 0 && hp_runtime->sampling.has_stacks) {
            /* The kernel's cost is estimated from the handler's. Copying a stack says nothing about it. */
            hp_spent_end(context, HP_MOST_OF_SAMPLE, kind == HP_SAMPLE_PERF);
            hp_spent_begin(context);
            sample_stack_put(context, taken.node, taken.stacked_ns, machine_state);
            kind = HP_SAMPLE_TIMER;
        }
    }
    hp_spent_end(context, HP_MOST_OF_SAMPLE, kind == HP_SAMPLE_PERF);
}

/* Also if no context is known. */
static bool is_confined(void) { return __atomic_load_n(&hp_runtime->confinements, __ATOMIC_RELAXED) != 0; }

/* The first access to a variable outside the static TLS block may make the C library call malloc. */
struct hp_thread_context *hp_sample_context_of_thread(void)
{
#if !HOTPATH_TLS_DYNAMIC
    struct hp_thread_context *own = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (&own->hot != &hp_no_context)
        return own->thread_id != 0 ? own : NULL;
#endif
    const struct hp_fork_page *page = hp_page();
    if (is_confined())
        return NULL;
    const uint32_t thread_id = (uint32_t)hp_raw(SYS_gettid, 0);
    struct hp_thread_context *context = page != NULL ? __atomic_load_n(&page->contexts, __ATOMIC_ACQUIRE) : NULL;
    for (; context != NULL; context = context->next)
        if (__atomic_load_n(&context->thread_id, __ATOMIC_ACQUIRE) == thread_id && !context->is_handler)
            return context;
    return NULL;
}

/*
 * Whether one of our sources sent the signal. perf signals carry no mark, so this checks whether the thread has had
 * perf; a signal may still arrive after the thread has released its context.
 */
static bool is_ours(enum hp_cpu_source source, const struct hp_thread_context *context)
{
    if (source == HP_CPU_BY_OTHERS || source == HP_CPU_BY_TIMER)
        return source == HP_CPU_BY_TIMER;
    return context != NULL ? context->sampler.has_had_perf : hp_thread_is_over != 0 || is_confined();
}

/* Stack space reserved for handlers of the host. */
#define HOSTS_ROOM 4096u

/*
 * With HERE, the frame lies on the thread's current stack, which may be the alternate stack of a host's handler;
 * the host cannot block our signal, since sigfillset leaves it out. With ASIDE, the host may have set its own
 * alternate stack after ours. Few samples get there: the first one finds that a stack is too small, and the rest
 * are skipped. `here`: the handler's own stack address.
 */
static bool may_fall_off(const struct hp_thread_context *context, uintptr_t stack, uintptr_t here,
                         const void *machine_state)
{
    const struct hp_stack alternate = hp_cpu_alternate_of(machine_state);
    const uint64_t bytes = alternate.high - alternate.low;
    if (context->sampler.signal == HP_SIGNAL_HERE)
        return bytes != 0 && stack > here && bytes < 2 * (uint64_t)(stack - here) + HOSTS_ROOM;
    if (!hp_stack_has(&alternate, here))
        return true; /* the host has removed it */
    const uintptr_t from = hp_stack_has(&alternate, stack) ? stack : alternate.high;
    return bytes < 2 * (uint64_t)(from - here) + HOSTS_ROOM;
}

/* `here`: as above. */
static void handle_sample(struct hp_thread_context *context, enum hp_cpu_source source, const void *machine_state,
                          uintptr_t here)
{
    const uintptr_t stack = hp_cpu_stack_of(machine_state);
    sample(context, source == HP_CPU_BY_TIMER ? HP_SAMPLE_TIMER : HP_SAMPLE_PERF, stack, machine_state);
    if (!hp_sources_are_there(&context->sampler))
        return;
    if (may_fall_off(context, stack, here, machine_state))
        hp_sources_give_up(context);
    else if (source == HP_CPU_BY_ENDING_PERF)
        renew_perf(&context->sampler);
}

static enum hp_private_signal which_signal(int signal)
{
    return signal == hp_private_signal_number(HP_SIGNAL_HERE) ? HP_SIGNAL_HERE : HP_SIGNAL_ASIDE;
}

static void on_sample(int signal, siginfo_t *info, void *machine_state)
{
    const enum hp_cpu_source source = hp_cpu_source_of(info, hp_runtime);
    struct hp_thread_context *context = source != HP_CPU_BY_OTHERS ? hp_sample_context_of_thread() : NULL;
    if (!is_ours(source, context))
        hp_private_signal_pass_on(&hp_runtime->signals[which_signal(signal)], signal, info, machine_state);
    else if (context != NULL) {
        if (hp_sampler_hold(context))
            handle_sample(context, source, machine_state, (uintptr_t)__builtin_frame_address(0));
        hp_sampler_let_go(context);
    }
}

bool hp_sample_take_signal(enum hp_private_signal which)
{
    return hp_private_signal_take(&hp_runtime->signals[which], which, on_sample);
}
