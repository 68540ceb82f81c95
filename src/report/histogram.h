/* Cells that are histograms. SPDX-License-Identifier: MIT */
#ifndef HP_REPORT_HISTOGRAM_H
#define HP_REPORT_HISTOGRAM_H

#include <stdint.h>

#include "hotpath.h"

struct hp_arena;
struct hp_durations;

/*
 * Converts a distribution to bars, four per power of two; empty ones are left out. Bounds do not depend on the
 * data, so that two readings can be compared; `scale` is one tick in `unit`. NULL: no memory.
 */
const struct hotpath_histogram *hp_histogram_of_durations(struct hp_arena *arena,
                                                          const struct hp_durations *durations, double scale,
                                                          enum hotpath_unit unit);

/* Waiting time by cause, the longest first. NULL: no memory. */
const struct hotpath_histogram *hp_histogram_of_waits(struct hp_arena *arena, const uint64_t *by_cause);

#endif
