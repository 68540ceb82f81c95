/* What the numbers of a comparison are called. SPDX-License-Identifier: MIT */
#include "metric_types.h"

#include "units.h"

const struct hp_metric_type hp_metric_types[HP_METRICS] = {
    [HP_METRIC_CALLS] = {"calls", "calls", .is_exact = true},
    [HP_METRIC_TYPICAL] = {"typical_ns", "typical call", .is_time = true},
    [HP_METRIC_QUARTER] = {"quarter_ns", "fastest quarter", .is_time = true},
    [HP_METRIC_P50] = {"p50_ns", "P50", .is_time = true},
    [HP_METRIC_P90] = {"p90_ns", "P90", .is_time = true},
    [HP_METRIC_P95] = {"p95_ns", "P95", .is_time = true},
    [HP_METRIC_P99] = {"p99_ns", "P99", .is_time = true},
    [HP_METRIC_P99_9] = {"p99_9_ns", "P99.9", .is_time = true},
    [HP_METRIC_MAX] = {"max_ns", "longest call", .is_time = true},
    [HP_METRIC_SELF] = {"self_ns", "self time", .is_time = true},
    [HP_METRIC_TOTAL] = {"total_ns", "total time", .is_time = true},
    [HP_METRIC_CPU] = {"own_cpu_ns", "CPU time", .is_time = true},
    [HP_METRIC_WAITING] = {"waited_ns", "waiting", .is_time = true},
    [HP_METRIC_LOCKS] = {"lock_ns", "waiting for locks", .is_time = true},
    [HP_METRIC_ALLOCATIONS] = {"own_count", "allocations", .is_exact = true},
    [HP_METRIC_BYTES] = {"own_bytes", "allocated bytes", .is_bytes = true, .is_exact = true},
    [HP_METRIC_PEAK] = {"peak_usable_bytes", "peak", .is_bytes = true, .is_exact = true},
    [HP_METRIC_INSTRUCTIONS] = {"self_instructions", "instructions", .is_exact = true},
    [HP_METRIC_SAMPLES] = {.key = "samples", .name = "samples"},
};

void hp_metric_put(struct hp_text *text, enum hp_metric metric, double value)
{
    if (hp_metric_types[metric].is_bytes)
        hp_units_bytes(text, hp_units_round(value));
    else if (hp_metric_types[metric].is_time)
        hp_units_ns(text, value);
    else
        hp_text_u64(text, hp_units_round(value));
}
