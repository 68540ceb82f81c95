/*
 * The columns of the sections `alloc-bytes` and `alloc-count`. Both sections have two orders of columns: those of
 * HOTPATH_ALLOC_METRIC come first, then the rest. SPDX-License-Identifier: MIT
 */
#ifndef HP_SECTIONS_ALLOC_COLUMNS_H
#define HP_SECTIONS_ALLOC_COLUMNS_H

#include <stddef.h>

#include "columns.h"
#include "options.h"

/* Facts of these sections. */
enum {
    HP_ALLOC_TOTAL_FIRST = HP_FACT_OWN,
    HP_ALLOC_PEAK_FIRST = HP_FACT_OWN << 1,
    HP_ALLOC_HAS_PEAK_BLOCKS = HP_FACT_OWN << 2,
};

/* A group of columns, one of which comes first. */
struct hp_alloc_measured {
    size_t average;
    size_t percentiles[HP_MAX_PERCENTILES];
};

struct hp_alloc_columns {
    size_t name, thread, calls, total, percent, peak, net, own_bytes, all_bytes, own_count, all_count,
        peak_usable_bytes, peak_blocks, net_usable_bytes, net_blocks, location, open;
    struct hp_alloc_measured totals, peaks;
};

#define AT(column) .index = offsetof(struct hp_alloc_columns, column)

static const struct hp_column_spec hp_alloc_bytes_columns[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name)},
    {"thread", "Thread", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_THREAD | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(thread), .needs = HP_FACT_BY_THREAD},
    {"calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(calls)},
    {"avg_bytes", "Avg", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(totals.average),
     "total_bytes by calls.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"_bytes", "", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(totals.percentiles),
     "A percentile of what one call asked for, or of the peaks of calls.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"avg_peak_usable_bytes", "Avg Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peaks.average),
     "Of the peaks of all calls; within 0.8 percent.", .needs = HP_ALLOC_PEAK_FIRST},
    {"_peak_usable_bytes", " Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY,
     AT(peaks.percentiles), .needs = HP_ALLOC_PEAK_FIRST},
    {"total_bytes", "Total", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(total),
     "own_bytes or, when alloc is cumulative, all_bytes.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent), "Of all that the run allocated.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"peak_usable_bytes", "Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peak),
     "The most that lived at once during one call, beyond what lived when it began, functions inside included: the "
     "highest of all calls.",
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"peak_usable_bytes", "Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peak),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"total_bytes", "Total", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(total),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent), .needs = HP_ALLOC_PEAK_FIRST},
    {"net_usable_bytes", "Net", HOTPATH_UNIT_SIGNED_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(net),
     "What its calls left behind: allocated less freed, functions inside included; recursion counts once."},
    {"avg_peak_usable_bytes", "Avg Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE, AT(peaks.average),
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"_peak_usable_bytes", " Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(peaks.percentiles),
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"avg_bytes", "Avg", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE, AT(totals.average), .needs = HP_ALLOC_PEAK_FIRST},
    {"_bytes", "", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(totals.percentiles),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"own_bytes", "Own Bytes", HOTPATH_UNIT_BYTES, 0, AT(own_bytes),
     "Asked for by its calls themselves, not by measured functions inside. Of all rows together, exactly what the "
     "run asked for."},
    {"all_bytes", "All Bytes", HOTPATH_UNIT_BYTES, 0, AT(all_bytes),
     "With measured functions inside; recursion counts once."},
    {"own_count", "Own Allocs", HOTPATH_UNIT_COUNT, 0, AT(own_count)},
    {"all_count", "All Allocs", HOTPATH_UNIT_COUNT, 0, AT(all_count)},
    {"peak_usable_bytes", "Peak Bytes", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE, AT(peak_usable_bytes)},
    {"peak_blocks", "Peak Blocks", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(peak_blocks)},
    {"net_usable_bytes", "Net Bytes", HOTPATH_UNIT_SIGNED_BYTES, HP_COLUMN_MAYBE, AT(net_usable_bytes)},
    {"net_blocks", "Net Blocks", HOTPATH_UNIT_SIGNED_COUNT, HP_COLUMN_MAYBE, AT(net_blocks)},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
    {"open", "Open", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(open)},
};

static const struct hp_column_spec hp_alloc_count_columns[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name)},
    {"thread", "Thread", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_THREAD | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(thread), .needs = HP_FACT_BY_THREAD},
    {"calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(calls)},
    {"avg_count", "Avg", HOTPATH_UNIT_NUMBER, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(totals.average),
     "total_count by calls.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"_count", "", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(totals.percentiles),
     "A percentile of how often one call allocated.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"avg_peak_blocks", "Avg Peak", HOTPATH_UNIT_NUMBER, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peaks.average),
     "Of the peaks of all calls; within 0.8 percent.", .needs = HP_ALLOC_PEAK_FIRST},
    {"_peak_blocks", " Peak", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY,
     AT(peaks.percentiles), .needs = HP_ALLOC_PEAK_FIRST},
    {"total_count", "Total", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(total),
     "own_count or, when alloc is cumulative, all_count.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent), "Of all that the run allocated.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"peak_blocks", "Peak", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peak),
     "The most that lived at once during one call, beyond what lived when it began, functions inside included: the "
     "highest of all calls.",
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"peak_blocks", "Peak", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peak),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"total_count", "Total", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(total),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent), .needs = HP_ALLOC_PEAK_FIRST},
    {"net_blocks", "Net", HOTPATH_UNIT_SIGNED_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(net),
     "What its calls left behind: allocated less freed, functions inside included; recursion counts once."},
    {"avg_peak_blocks", "Avg Peak", HOTPATH_UNIT_NUMBER, HP_COLUMN_MAYBE, AT(peaks.average),
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"_peak_blocks", " Peak", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(peaks.percentiles),
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"avg_count", "Avg", HOTPATH_UNIT_NUMBER, HP_COLUMN_MAYBE, AT(totals.average), .needs = HP_ALLOC_PEAK_FIRST},
    {"_count", "", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(totals.percentiles),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"own_bytes", "Own Bytes", HOTPATH_UNIT_BYTES, 0, AT(own_bytes),
     "Asked for by its calls themselves, not by measured functions inside. Of all rows together, exactly what the "
     "run asked for."},
    {"all_bytes", "All Bytes", HOTPATH_UNIT_BYTES, 0, AT(all_bytes),
     "With measured functions inside; recursion counts once."},
    {"own_count", "Own Allocs", HOTPATH_UNIT_COUNT, 0, AT(own_count)},
    {"all_count", "All Allocs", HOTPATH_UNIT_COUNT, 0, AT(all_count)},
    {"peak_usable_bytes", "Peak Bytes", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE, AT(peak_usable_bytes)},
    {"peak_blocks", "Peak Blocks", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(peak_blocks)},
    {"net_usable_bytes", "Net Bytes", HOTPATH_UNIT_SIGNED_BYTES, HP_COLUMN_MAYBE, AT(net_usable_bytes)},
    {"net_blocks", "Net Blocks", HOTPATH_UNIT_SIGNED_COUNT, HP_COLUMN_MAYBE, AT(net_blocks)},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
    {"open", "Open", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(open)},
};

static const struct hp_column_spec hp_alloc_totals_table[] = {
    {.key = "requested_bytes", .unit = HOTPATH_UNIT_BYTES},
    {.key = "allocations", .unit = HOTPATH_UNIT_COUNT},
    {.key = "freed_usable_bytes", .unit = HOTPATH_UNIT_BYTES},
    {.key = "freed_blocks", .unit = HOTPATH_UNIT_COUNT},
    {.key = "live_usable_bytes",
     .unit = HOTPATH_UNIT_SIGNED_BYTES,
     .about = "Allocated less freed, and never less than nothing; what was allocated before the session and freed "
              "in it makes it less."},
    {.key = "live_blocks", .unit = HOTPATH_UNIT_SIGNED_COUNT},
    {.key = "peak_usable_bytes",
     .unit = HOTPATH_UNIT_SIGNED_BYTES,
     .about = "The most that lived at once in a process; of several, the highest."},
    {.key = "peak_error_bytes",
     .unit = HOTPATH_UNIT_BYTES,
     .about = "By how much the peak may be off: 0 when one thread allocated, else 32 KB for each."},
    {.key = "peak_blocks",
     .unit = HOTPATH_UNIT_SIGNED_COUNT,
     .about = "Absent when several threads allocated.",
     .needs = HP_ALLOC_HAS_PEAK_BLOCKS},
    {.key = "foreign_freed_usable_bytes",
     .unit = HOTPATH_UNIT_BYTES,
     .about = "Freed by another thread than the one that had allocated it."},
    {.key = "foreign_freed_blocks", .unit = HOTPATH_UNIT_COUNT},
    {.key = "earlier_freed_usable_bytes",
     .unit = HOTPATH_UNIT_BYTES,
     .about = "Freed beyond what was allocated: from before the session, at least."},
    {.key = "earlier_freed_blocks", .unit = HOTPATH_UNIT_COUNT},
    {.key = "failed", .unit = HOTPATH_UNIT_COUNT, .about = "Allocations that were refused; in no other number."},
};

#undef AT

#endif
