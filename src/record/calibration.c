/* Measures the cost of measuring on this machine, when a session starts. SPDX-License-Identifier: MIT */
#include "calibration.h"

#include <string.h>

#include "arith.h"
#include "functions.h"

#define PASSES 64u
#define ROUNDS 9
#define QUICK_ROUNDS 3

/* A tiny session, private to the measurement. Offsets are relative to its start. */
struct miniature {
    unsigned char unused[HOTPATH_GATE_];
    uint32_t gate;
    uint32_t also_unused[3];
    struct hotpath_node_ root, node;
    struct hotpath_stat_ stat;
    uint64_t octave[256];
    struct hotpath_frame_ frames[4];
    struct hotpath_slot_ slots[4];
    struct hp_alloc_thread alloc;
    struct hp_thread_context context;
    struct hotpath_site site;
    uint64_t chain;
    int rounds; /* at most ROUNDS */
};

#define OFFSET(member) ((uint32_t)offsetof(struct miniature, member))
_Static_assert(OFFSET(stat) % 64 == 0, "flags stand beside offsets of stats");

static void build(struct miniature *mini)
{
    memset(mini, 0, sizeof *mini);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        mini->stat.octaves[octave] = OFFSET(octave); /* any place will do */
    mini->frames[0].zone = UINT64_MAX;
    mini->frames[0].node = OFFSET(root);
    mini->frames[0].stat = HOTPATH_ALLOCATES_;
    mini->gate = 1;
    mini->context.alloc = &mini->alloc;
    mini->context.hot = (struct hotpath_context_){.id_limit = HOTPATH_IDS_,
                                                  .epoch = 1,
                                                  .top = mini->frames,
                                                  .last = mini->frames + 3,
                                                  .slots = mini->slots,
                                                  .base = (char *)mini,
                                                  .mask = 3 * sizeof(struct hotpath_slot_)};
}

/*
 * Files the first child of the root under its usual key, or under the key of sampled sites, none of whose calls is
 * timed here.
 */
static void choose_key(struct miniature *mini, bool is_timed)
{
    struct hotpath_slot_ *slot = hotpath_slot_of_(&mini->context.hot, OFFSET(root), 0);
    slot->key = (uint64_t)OFFSET(root) << 32 | (is_timed ? 0 : HOTPATH_SAMPLED_KEY_);
    slot->node = OFFSET(node);
    slot->stat = OFFSET(stat) | (is_timed ? 0 : HOTPATH_UNTIMED_);
    mini->stat.period = mini->stat.countdown = UINT32_MAX;
    mini->node.calls = mini->node.total = 0;
}

/* --------------------------------------------------------------------------------------------- what is measured */

static void try_zones(struct miniature *mini)
{
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        struct hotpath_zone zone = {hotpath_open_(&zone, &mini->site)};
        hotpath_close_(&zone);
    }
}

/*
 * Each step depends on the one before, so a CPU has time for other things meanwhile. Longer than a zone, and
 * without a loop: the CPU would have to learn when it ends.
 */
#define STEP (x ^= x << 13, x ^= x >> 7, x ^= x << 17)
#define STEPS (STEP, STEP, STEP, STEP, STEP, STEP, STEP, STEP)

static uint64_t compute(uint64_t x)
{
    STEPS;
    STEPS;
    STEPS;
    return x;
}

static void try_zones_with_work(struct miniature *mini)
{
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        struct hotpath_zone zone = {hotpath_open_(&zone, &mini->site)};
        mini->chain = compute(mini->chain);
        hotpath_close_(&zone);
    }
}

static void try_work(struct miniature *mini)
{
    for (uint32_t pass = 0; pass < PASSES; pass++)
        mini->chain = compute(mini->chain);
}

static void try_functions(struct miniature *mini) { hp_functions_rehearse(&mini->site, PASSES); }

/* Called as from malloc and free, which are in another library. */
static void try_allocations(struct miniature *mini)
{
    __typeof__(hotpath_v1_allocated) *volatile allocated = hotpath_v1_allocated;
    __typeof__(hotpath_v1_freed) *volatile freed = hotpath_v1_freed;
    const uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        allocated(mini, 1, 1, stack);
        freed(mini, 1, stack);
    }
}

/* ---------------------------------------------------------------------------------------------------- measuring */

typedef void try_things(struct miniature *mini);

struct taken {
    uint64_t ns, ticks;
    uint64_t inside; /* ticks that the zones themselves recorded */
};

static struct taken take_once(struct miniature *mini, try_things *things, bool is_timed)
{
    choose_key(mini, is_timed);
    const uint64_t from_ns = hp_clock_monotonic_ns();
    const uint64_t from = hotpath_ticks_();
    things(mini);
    const uint64_t ticks = hotpath_ticks_() - from;
    return (struct taken){hp_clock_monotonic_ns() - from_ns, ticks, mini->node.total};
}

/*
 * The median of a few rounds, so that a page fault or a preempted round does not inflate the cost. The minimum
 * would be the cost on an otherwise idle core, which is not how programs run.
 */
static struct taken take_median(struct miniature *mini, try_things *things, bool is_timed)
{
    struct taken sorted[ROUNDS];
    for (int round = 0; round < mini->rounds; round++) {
        const struct taken taken = take_once(mini, things, is_timed);
        int at = round;
        for (; at > 0 && sorted[at - 1].ns > taken.ns; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = taken;
    }
    return sorted[mini->rounds / 2];
}

static uint64_t median_ps(struct miniature *mini, try_things *things, bool is_timed)
{
    return take_median(mini, things, is_timed).ns * 1000 / PASSES;
}

/* In twentieths. What a disturbed round says is more. */
#define MOST_HIDDEN 11u

/* By how much a zone is cheaper around work that leaves the CPU time for it. No zone is free. */
static uint64_t hidden_ps(struct miniature *mini, uint64_t zone_ps)
{
    mini->chain = 1;
    const uint64_t both = median_ps(mini, try_zones_with_work, true), work = median_ps(mini, try_work, true);
    const uint64_t hidden = hp_less(zone_ps, hp_less(both, work));
    return hidden < zone_ps / 20 * MOST_HIDDEN ? hidden : zone_ps / 20 * MOST_HIDDEN;
}

/* Zones that cannot use the time stamp counter read the slower clock twice each. */
static uint64_t extra_clock_ps(void)
{
    if (hp_runtime->counter != HP_COUNTER_NONE)
        return 0;
    const uint64_t from = hp_clock_monotonic_ns();
    for (int reads = 0; reads < 100; reads++)
        hp_clock_monotonic_ns();
    return (hp_clock_monotonic_ns() - from) * 1000 / 100;
}

static struct hp_zone_cost zone_cost(struct miniature *mini)
{
    const struct taken median = take_median(mini, try_zones, true);
    const uint64_t extra_ps = extra_clock_ps();
    const double ns_per_tick = median.ticks > 0 ? (double)median.ns / (double)median.ticks : 0;
    return (struct hp_zone_cost){
        .ps = median.ns * 1000 / PASSES + 2 * extra_ps,
        .inner_ps = (uint64_t)((double)median.inside * ns_per_tick * 1000 / PASSES) + extra_ps,
        .ticks = median.ticks / PASSES,
        .inner_ticks = median.inside / PASSES,
        .hidden_ps = hidden_ps(mini, median.ns * 1000 / PASSES),
        .counted_ps = median_ps(mini, try_zones, false),
        .function_ps = median_ps(mini, try_functions, true) + 2 * extra_ps,
        .function_counted_ps = median_ps(mini, try_functions, false),
        .alloc_ps = median_ps(mini, try_allocations, true),
    };
}

struct hp_zone_cost hp_zones_calibrate(bool is_quick)
{
    struct miniature mini;
    struct hotpath_context_ *before = hotpath_v1_context;
    build(&mini);
    mini.rounds = is_quick ? QUICK_ROUNDS : ROUNDS;
    hotpath_v1_context = &mini.context.hot;
    const struct hp_zone_cost cost = zone_cost(&mini);
    hotpath_v1_context = before;
    return cost;
}
