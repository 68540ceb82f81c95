/* Cells that are histograms. SPDX-License-Identifier: MIT */
#include "histogram.h"

#include "arena.h"
#include "durations.h"
#include "wait_profile.h"

/* Counters of a line that become one bar. */
#define STEPS 16u
#define BARS (HP_DURATION_LINES * 64u / STEPS)

struct bars {
    double from[BARS], to[BARS];
    uint64_t amounts[BARS];
    size_t count;
};

static uint64_t amount_of(const hp_duration_line line, size_t first)
{
    uint64_t amount = 0;
    for (size_t step = first; step < first + STEPS; step++)
        amount += line[step];
    return amount;
}

/* Counters of the first line count one value each, those of every further line twice as many as the line before. */
static double bound_of(size_t line, size_t step)
{
    const uint64_t width = line > 0 ? UINT64_C(1) << (line - 1) : 1;
    return (double)(line > 0 ? 64 + step : step) * (double)width;
}

static void gather(const struct hp_durations *durations, double scale, struct bars *bars)
{
    for (size_t line = 0; line < HP_DURATION_LINES; line++)
        for (size_t step = 0; step < 64; step += STEPS) {
            const uint64_t amount = amount_of(durations->lines[line], step);
            if (amount == 0)
                continue;
            bars->from[bars->count] = bound_of(line, step) * scale;
            bars->to[bars->count] = bound_of(line, step + STEPS) * scale;
            bars->amounts[bars->count++] = amount;
        }
}

const struct hotpath_histogram *hp_histogram_of_durations(struct hp_arena *arena,
                                                          const struct hp_durations *durations, double scale,
                                                          enum hotpath_unit unit)
{
    struct bars bars = {.count = 0};
    gather(durations, scale, &bars);
    struct hotpath_histogram *histogram = hp_arena_take(arena, sizeof *histogram);
    double *bounds = hp_arena_take_array(arena, 2 * bars.count + 1, sizeof *bounds);
    uint64_t *amounts = hp_arena_take_array(arena, bars.count + 1, sizeof *amounts);
    if (histogram == NULL || bounds == NULL || amounts == NULL)
        return NULL;
    for (size_t at = 0; at < bars.count; at++) {
        bounds[at] = bars.from[at];
        bounds[bars.count + at] = bars.to[at];
        amounts[at] = bars.amounts[at];
    }
    *histogram = (struct hotpath_histogram){.bars = bars.count,
                                            .unit = unit,
                                            .amount_unit = HOTPATH_UNIT_COUNT,
                                            .from = bounds,
                                            .to = bounds + bars.count,
                                            .amounts = amounts};
    return histogram;
}

const struct hotpath_histogram *hp_histogram_of_waits(struct hp_arena *arena, const uint64_t *by_cause)
{
    struct hotpath_histogram *histogram = hp_arena_take(arena, sizeof *histogram);
    const char **labels = hp_arena_take_array(arena, HP_WAIT_CAUSES, sizeof *labels);
    uint64_t *amounts = hp_arena_take_array(arena, HP_WAIT_CAUSES, sizeof *amounts);
    if (histogram == NULL || labels == NULL || amounts == NULL)
        return NULL;
    size_t count = 0;
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++) {
        size_t at = count;
        if (by_cause[cause] == 0)
            continue;
        for (; at > 0 && amounts[at - 1] < by_cause[cause]; at--) {
            amounts[at] = amounts[at - 1];
            labels[at] = labels[at - 1];
        }
        amounts[at] = by_cause[cause];
        labels[at] = hp_wait_cause_name(cause);
        count++;
    }
    *histogram = (struct hotpath_histogram){.bars = count,
                                            .unit = HOTPATH_UNIT_TEXT,
                                            .amount_unit = HOTPATH_UNIT_NS,
                                            .amounts = amounts,
                                            .labels = labels};
    return histogram;
}
