/* What the numbers of a comparison are called, and how they are written. SPDX-License-Identifier: MIT */
#ifndef HP_COMPARE_METRIC_TYPES_H
#define HP_COMPARE_METRIC_TYPES_H

#include "measured_run.h"
#include "text.h"

extern const struct hp_metric_type {
    const char *key, *name;
    bool is_bytes, is_time;
    bool is_exact; /* it does not depend on the machine */
} hp_metric_types[HP_METRICS];

void hp_metric_put(struct hp_text *text, enum hp_metric metric, double value);

#endif
