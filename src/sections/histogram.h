/* Cells that are histograms. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_HISTOGRAM_H
#define HP_SECTIONS_HISTOGRAM_H

#include <stdint.h>

#include "hotpath.h"

struct hp_arena;
struct hp_durations;

/*
 * The counters of a distribution, four bars for each power of two, those without calls left out. Bounds are the same whatever
 * was counted, so that those of two readings can be compared; `scale` is what one tick is in `unit`. NULL: no memory.
 */
const struct hotpath_histogram *hp_histogram_of_durations(struct hp_arena *arena,
                                                          const struct hp_durations *durations, double scale,
                                                          enum hotpath_unit unit);

/* What was waited, by cause, the longest first. NULL: no memory. */
const struct hotpath_histogram *hp_histogram_of_waits(struct hp_arena *arena, const uint64_t *by_cause);

#endif
