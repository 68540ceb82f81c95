/* What a zone costs on this machine, measured when a session begins. SPDX-License-Identifier: MIT */
#include <string.h>

#include "runtime.h"

#define CALIBRATION_ZONES 100u
#define CALIBRATION_ROUNDS 24

/* A session in miniature, private to the measurement. Offsets count from its start. */
struct miniature {
    unsigned char unused[HOTPATH_GATE_];
    uint32_t gate;
    uint32_t also_unused[3];
    struct hotpath_node_ root, node;
    struct hotpath_stat_ stat;
    uint64_t octave[256];
    struct hotpath_frame_ frames[4];
    struct hotpath_slot_ slots[4];
    struct hotpath_head_ head;
    struct hotpath_site site;
};

#define OFFSET(member) ((uint32_t)offsetof(struct miniature, member))
_Static_assert(OFFSET(stat) % 64 == 0, "flags stand beside offsets of stats");

static void build(struct miniature *mini)
{
    memset(mini, 0, sizeof *mini);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        mini->stat.octaves[octave] = OFFSET(octave); /* where it is counted does not matter */
    mini->frames[0].zone = UINT64_MAX;
    mini->frames[0].node = OFFSET(root);
    mini->gate = 1;
    mini->head = (struct hotpath_head_){.ready = HOTPATH_READY_,
                                        .epoch = 1,
                                        .top = mini->frames,
                                        .last = mini->frames + 3,
                                        .slots = mini->slots,
                                        .base = (char *)mini,
                                        .mask = 3 * sizeof(struct hotpath_slot_)};
    struct hotpath_slot_ *slot = hotpath_slot_of_(&mini->head, OFFSET(root), 0);
    slot->key = (uint64_t)OFFSET(root) << 32;
    slot->node = OFFSET(node);
    slot->stat = OFFSET(stat);
}

/* Runs zones on the miniature; the time they took by the monotonic clock, and what they say of themselves in ticks. */
static void run_zones(struct miniature *mini, uint64_t *ret_ns, uint64_t *ret_ticks)
{
    mini->node.total = 0;
    const uint64_t from_ns = hp_clock_monotonic_ns();
    const uint64_t from = hotpath_ticks_();
    for (uint32_t zones = 0; zones < CALIBRATION_ZONES; zones++) {
        struct hotpath_zone zone = {hotpath_open_(&zone, &mini->site)};
        hotpath_close_(&zone);
    }
    *ret_ticks = hotpath_ticks_() - from;
    *ret_ns = hp_clock_monotonic_ns() - from_ns;
}

/* Zones that may not use the CPU's counter read the slower clock, twice each. */
static uint64_t extra_clock_ps(void)
{
    if (hp_runtime->counter != HP_COUNTER_NONE)
        return 0;
    const uint64_t from = hp_clock_monotonic_ns();
    for (int reads = 0; reads < 100; reads++)
        hp_clock_monotonic_ns();
    return (hp_clock_monotonic_ns() - from) * 1000 / 100;
}

/* Best of a few rounds, so that a page fault or a preempted round does not make every zone look dear. */
struct hp_zone_cost hp_zones_calibrate(void)
{
    struct miniature mini;
    struct hotpath_head_ *before = hotpath_v1_head;
    struct hp_zone_cost cost = {0};
    build(&mini);
    hotpath_v1_head = &mini.head;
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < CALIBRATION_ROUNDS; round++) {
        uint64_t ns, ticks;
        run_zones(&mini, &ns, &ticks);
        if (ns >= best || ticks == 0)
            continue;
        best = ns;
        cost.ticks = ticks / CALIBRATION_ZONES;
        cost.inner_ticks = mini.node.total / CALIBRATION_ZONES;
        cost.inner_ps = (uint64_t)((double)mini.node.total * (double)ns / (double)ticks * 1000 / CALIBRATION_ZONES);
    }
    hotpath_v1_head = before;
    cost.ps = best * 1000 / CALIBRATION_ZONES + 2 * extra_clock_ps();
    cost.inner_ps += extra_clock_ps();
    return cost;
}
