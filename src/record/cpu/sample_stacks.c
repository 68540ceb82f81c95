/* Stacks of samples. How it works: sample_stacks.h. SPDX-License-Identifier: MIT */
#include "sample_stacks.h"

#include <time.h>

#include "cpu.h"
#include "hook_entries.h"
#include "raw_call.h"
#include "thread_context.h"

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
 * The first user makes the ring; others do without meanwhile. NULL: there is none, or nobody may write to it any
 * more.
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

void hp_sample_stack_put(struct hp_thread_context *context, uint32_t node, uint64_t ns, const void *machine_state)
{
    struct hp_stack_ring *ring = ns > 0 && may_copy() ? ring_of(context->store) : NULL;
    if (ring != NULL)
        put(ring, context, node, ns, machine_state);
}
