/* Attribution of CPU time to nodes of the call tree. SPDX-License-Identifier: MIT */
#include "cpu_attribution.h"

#include "arith.h"
#include "thread_context.h"

#define FIRST_TABLE 16u

/* --------------------------------------------------------------------------------------------- the table */

static struct hp_cpu_table *table_of(const struct hp_thread_context *context)
{
    const uint32_t offset = context->sampler.cpu->table;
    return offset != 0 ? hp_store_at(context->store, offset) : NULL;
}

/*
 * The table may turn into zeros while we read it, if the thread that ended the session gave up on us (holding.c).
 */
static uint32_t place_of(const struct hp_cpu_table *table, uint32_t node)
{
    const uint32_t capacity = HOTPATH_GET_(table->capacity), mask = capacity > 0 ? capacity - 1 : 0;
    uint32_t place = (node / 64u * UINT32_C(2654435761)) >> 7;
    while (table->nodes[place & mask].node != node && table->nodes[place & mask].node != 0)
        place++;
    return place & mask;
}

/* The node's entry, made if missing; the table has room. */
static struct hp_cpu_node *enter_node(struct hp_cpu_table *table, uint32_t node)
{
    struct hp_cpu_node *entry = &table->nodes[place_of(table, node)];
    if (entry->node == 0) {
        HOTPATH_PUT_(table->used, table->used + 1);
        __atomic_store_n(&entry->node, node, __ATOMIC_RELEASE);
    }
    return entry;
}

/* A reader sees the old table or the new one, both complete. */
static struct hp_cpu_table *make_table(struct hp_thread_context *context, uint32_t capacity)
{
    const struct hp_cpu_table *before = table_of(context);
    const uint32_t bytes = (uint32_t)(sizeof *before + capacity * sizeof before->nodes[0]);
    const uint32_t offset = hp_store_allocate(context->store, bytes, 64);
    if (offset == 0)
        return NULL;
    struct hp_cpu_table *table = hp_store_at(context->store, offset);
    table->capacity = capacity;
    for (uint32_t at = 0; before != NULL && at < before->capacity; at++)
        if (before->nodes[at].node != 0)
            *enter_node(table, before->nodes[at].node) = before->nodes[at];
    enter_node(table, context->record->root);
    __atomic_store_n(&context->sampler.cpu->table, offset, __ATOMIC_RELEASE);
    return table;
}

/* The entry for a node's time; the root's if there is no space; NULL if there is not even that. */
static struct hp_cpu_node *credit_of(struct hp_thread_context *context, uint32_t node)
{
    struct hp_cpu_table *table = table_of(context);
    if (table == NULL)
        table = make_table(context, FIRST_TABLE);
    if (table == NULL)
        return NULL;
    if (table->nodes[place_of(table, node)].node == 0 && (table->used + 1) * 4 > table->capacity * 3) {
        struct hp_cpu_table *larger = make_table(context, table->capacity * 2);
        if (larger == NULL) {
            hp_lose(context, HP_LOSS_SAMPLES);
            node = context->record->root;
        } else {
            table = larger;
        }
    }
    return enter_node(table, node);
}

/* -------------------------------------------------------------------------------------------- the clocks */

/* Time off the CPU: if the thread blocked meanwhile, it counts as waited; otherwise the thread was preempted. */
static void count_absence(const struct hp_sampler *sampler, const struct hp_cpu_time *now)
{
    struct hp_cpu_thread *cpu = sampler->cpu;
    const struct hp_cpu_time *before = &sampler->counted;
    const uint64_t waits = hp_less(now->waits, before->waits), switches = hp_less(now->switches, before->switches);
    HOTPATH_ADD_(cpu->preempted, hp_less(switches, waits));
    if (waits > 0)
        HOTPATH_ADD_(cpu->waited_ns, hp_less(hp_less(now->wall_ns, before->wall_ns), hp_less(now->ns, before->ns)));
    if (sampler->perf != NULL)
        HOTPATH_ADD_(cpu->perf_switches, switches);
}

/*
 * CPU time since the last reading of the clocks. The kernel's system time may exceed the total over a short
 * interval; the excess is left for the next one.
 */
static struct hp_cpu_time take_passed(struct hp_sampler *sampler)
{
    const struct hp_cpu_time now = hp_cpu_of_thread(), before = sampler->counted;
    struct hp_cpu_time passed = {.ns = hp_less(now.ns, before.ns),
                                 .kernel_ns = hp_less(now.kernel_ns, before.kernel_ns)};
    if (passed.kernel_ns > passed.ns)
        passed.kernel_ns = passed.ns;
    count_absence(sampler, &now);
    sampler->counted.switches = now.switches;
    sampler->counted.waits = now.waits;
    sampler->counted.wall_ns = now.wall_ns;
    sampler->counted.ns += passed.ns;
    sampler->counted.kernel_ns += passed.kernel_ns;
    return passed;
}

void hp_cpu_attribute_count_time(struct hp_thread_context *context)
{
    struct hp_cpu_thread *cpu = context->sampler.cpu;
    const struct hp_cpu_time passed = take_passed(&context->sampler);
    HOTPATH_ADD_(cpu->kernel_ns, passed.kernel_ns);
    HOTPATH_ADD_(cpu->user_ns, passed.ns - passed.kernel_ns);
    HOTPATH_ADD_(cpu->waiting_ns, passed.ns);
}

void hp_cpu_attribute_skip_time(struct hp_thread_context *context)
{
    struct hp_sampler *sampler = &context->sampler;
    const struct hp_cpu_time passed = take_passed(sampler);
    HOTPATH_ADD_(sampler->cpu->skipped_ns, passed.ns);
    HOTPATH_ADD_(sampler->cpu->skipped_kernel_ns, passed.kernel_ns);
    sampler->stacked_ns = sampler->counted.ns;
    sampler->seen_count = sampler->folded_count = 0;
    sampler->seen_ns = 0;
}

/* --------------------------------------------------------------------------------------------- crediting */

void hp_cpu_attribute_give(struct hp_thread_context *context, uint32_t node, uint64_t user_ns, uint64_t kernel_ns,
                           uint64_t samples)
{
    struct hp_cpu_thread *cpu = context->sampler.cpu;
    struct hp_cpu_node *to = credit_of(context, node);
    if (to == NULL)
        return;
    HOTPATH_ADD_(to->samples, samples);
    HOTPATH_ADD_(to->user_ns, user_ns);
    HOTPATH_ADD_(to->kernel_ns, kernel_ns);
    HOTPATH_PUT_(cpu->waiting_ns, cpu->waiting_ns - user_ns - kernel_ns);
}

void hp_cpu_attribute_give_beside(struct hp_thread_context *context, uint32_t node, uint64_t ns, uint64_t samples)
{
    struct hp_cpu_node *to = credit_of(context, node);
    if (to == NULL)
        return;
    HOTPATH_ADD_(to->also_samples, samples);
    HOTPATH_ADD_(to->also_ns, ns);
}

/* Moves unseen time back to waiting time, so that a sample just behind the clock gets its whole period. */
static void take_back_unseen(struct hp_cpu_thread *cpu, uint64_t wanted_ns)
{
    const uint64_t missing_ns = hp_less(wanted_ns, cpu->waiting_ns);
    const uint64_t ns = missing_ns < cpu->unseen_ns ? missing_ns : cpu->unseen_ns;
    HOTPATH_PUT_(cpu->unseen_ns, cpu->unseen_ns - ns);
    HOTPATH_ADD_(cpu->waiting_ns, ns);
}

static void leave_unseen(struct hp_cpu_thread *cpu)
{
    HOTPATH_ADD_(cpu->unseen_ns, cpu->waiting_ns);
    HOTPATH_PUT_(cpu->waiting_ns, 0);
}

/* Each perf sample stands for one period of user time; never gives more than there is. */
static void share_out(struct hp_thread_context *context)
{
    struct hp_sampler *sampler = &context->sampler;
    struct hp_cpu_thread *cpu = sampler->cpu;
    take_back_unseen(cpu, sampler->seen_ns);
    const uint64_t ns = sampler->seen_ns < cpu->waiting_ns ? sampler->seen_ns : cpu->waiting_ns;
    const uint64_t part = sampler->seen_count > 0 ? ns / sampler->seen_count : 0;
    for (uint32_t at = 0; at < sampler->folded_count; at++) {
        const struct hp_folded *folded = &sampler->folded[at];
        hp_cpu_attribute_give_beside(context, folded->node, part * folded->samples, folded->samples);
    }
    sampler->folded_count = 0;
    for (uint32_t left = sampler->seen_count; left > 0; left--)
        hp_cpu_attribute_give(context, sampler->seen[left - 1], part, 0, 1);
    sampler->seen_count = 0;
    sampler->seen_ns = 0;
}

void hp_cpu_attribute_give_all(struct hp_thread_context *context, uint32_t node, bool is_in_kernel)
{
    const uint64_t ns = context->sampler.cpu->waiting_ns;
    hp_cpu_attribute_give(context, node, is_in_kernel ? 0 : ns, is_in_kernel ? ns : 0, 1);
}

void hp_cpu_attribute_tick(struct hp_thread_context *context, uint32_t node, bool is_in_kernel, uint64_t stalled_ns)
{
    struct hp_cpu_thread *cpu = context->sampler.cpu;
    struct hp_cpu_node *to = is_in_kernel ? credit_of(context, node) : NULL;
    share_out(context);
    if (!is_in_kernel && stalled_ns > 0)
        hp_cpu_attribute_give(context, node, stalled_ns < cpu->waiting_ns ? stalled_ns : cpu->waiting_ns, 0, 0);
    leave_unseen(cpu);
    if (to == NULL)
        return;
    HOTPATH_ADD_(to->samples, 1);
    HOTPATH_ADD_(to->ticked_ns, cpu->user_ns + cpu->kernel_ns - context->sampler.ticked_ns);
}

void hp_cpu_attribute_give_seen(struct hp_thread_context *context, bool is_last)
{
    struct hp_cpu_thread *cpu = context->sampler.cpu;
    hp_cpu_attribute_count_time(context);
    share_out(context);
    if (is_last && cpu->perf_samples > 0)
        leave_unseen(cpu);
}
