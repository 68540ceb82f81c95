/*
 * The columns of the sections `alloc-bytes` and `alloc-count`. Both sections have two orders of columns: those of
 * HOTPATH_ALLOC_METRIC come first, then the rest. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_ALLOC_COLUMNS_H
#define HP_REPORT_ALLOC_COLUMNS_H

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
     "total_bytes divided by calls.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"_bytes", "", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(totals.percentiles),
     "A percentile of the bytes that one call requested.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"avg_peak_usable_bytes", "Avg Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peaks.average),
     "Average peak over all calls; within 0.8 percent.", .needs = HP_ALLOC_PEAK_FIRST},
    {"_peak_usable_bytes", " Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY,
     AT(peaks.percentiles), .needs = HP_ALLOC_PEAK_FIRST},
    {"total_bytes", "Total", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(total),
     "own_bytes or, if alloc is cumulative, all_bytes.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent), "Percent of all bytes that the run allocated.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"peak_usable_bytes", "Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peak),
     "The highest peak of any call: the most bytes live at once, callees included, beyond those live when the call "
     "began.",
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"peak_usable_bytes", "Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peak),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"total_bytes", "Total", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(total),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent), .needs = HP_ALLOC_PEAK_FIRST},
    {"net_usable_bytes", "Net", HOTPATH_UNIT_SIGNED_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(net),
     "Bytes that its calls left behind: allocated minus freed, callees included; recursive calls count once."},
    {"avg_peak_usable_bytes", "Avg Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE, AT(peaks.average),
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"_peak_usable_bytes", " Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(peaks.percentiles),
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"avg_bytes", "Avg", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE, AT(totals.average), .needs = HP_ALLOC_PEAK_FIRST},
    {"_bytes", "", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(totals.percentiles),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"own_bytes", "Own Bytes", HOTPATH_UNIT_BYTES, 0, AT(own_bytes),
     "Requested by the function itself, not by measured callees. All rows add up exactly to the total of the run."},
    {"all_bytes", "All Bytes", HOTPATH_UNIT_BYTES, 0, AT(all_bytes),
     "Including measured callees; recursive calls count once."},
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
     "total_count divided by calls.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"_count", "", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(totals.percentiles),
     "A percentile of the number of allocations of one call.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"avg_peak_blocks", "Avg Peak", HOTPATH_UNIT_NUMBER, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peaks.average),
     "Average peak over all calls; within 0.8 percent.", .needs = HP_ALLOC_PEAK_FIRST},
    {"_peak_blocks", " Peak", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY,
     AT(peaks.percentiles), .needs = HP_ALLOC_PEAK_FIRST},
    {"total_count", "Total", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(total),
     "own_count or, if alloc is cumulative, all_count.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent), "Percent of all allocations of the run.", .needs = HP_ALLOC_TOTAL_FIRST},
    {"peak_blocks", "Peak", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peak),
     "The highest peak of any call: the most blocks live at once, callees included, beyond those live when the "
     "call began.",
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"peak_blocks", "Peak", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(peak),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"total_count", "Total", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(total),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent), .needs = HP_ALLOC_PEAK_FIRST},
    {"net_blocks", "Net", HOTPATH_UNIT_SIGNED_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(net),
     "Blocks that its calls left behind: allocated minus freed, callees included; recursive calls count once."},
    {"avg_peak_blocks", "Avg Peak", HOTPATH_UNIT_NUMBER, HP_COLUMN_MAYBE, AT(peaks.average),
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"_peak_blocks", " Peak", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(peaks.percentiles),
     .needs = HP_ALLOC_TOTAL_FIRST},
    {"avg_count", "Avg", HOTPATH_UNIT_NUMBER, HP_COLUMN_MAYBE, AT(totals.average), .needs = HP_ALLOC_PEAK_FIRST},
    {"_count", "", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(totals.percentiles),
     .needs = HP_ALLOC_PEAK_FIRST},
    {"own_bytes", "Own Bytes", HOTPATH_UNIT_BYTES, 0, AT(own_bytes),
     "Requested by the function itself, not by measured callees. All rows add up exactly to the total of the run."},
    {"all_bytes", "All Bytes", HOTPATH_UNIT_BYTES, 0, AT(all_bytes),
     "Including measured callees; recursive calls count once."},
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
     .about = "Allocated minus freed, never below zero. Freeing a block allocated before the session reduces it."},
    {.key = "live_blocks", .unit = HOTPATH_UNIT_SIGNED_COUNT},
    {.key = "peak_usable_bytes",
     .unit = HOTPATH_UNIT_SIGNED_BYTES,
     .about = "The most bytes live at once in one process; of several processes, the highest."},
    {.key = "peak_error_bytes",
     .unit = HOTPATH_UNIT_BYTES,
     .about = "Possible error of the peak: 0 if only one thread allocated, else 32 KB per thread."},
    {.key = "peak_blocks",
     .unit = HOTPATH_UNIT_SIGNED_COUNT,
     .about = "Absent if several threads allocated.",
     .needs = HP_ALLOC_HAS_PEAK_BLOCKS},
    {.key = "foreign_freed_usable_bytes",
     .unit = HOTPATH_UNIT_BYTES,
     .about = "Freed by a thread other than the one that allocated it."},
    {.key = "foreign_freed_blocks", .unit = HOTPATH_UNIT_COUNT},
    {.key = "earlier_freed_usable_bytes",
     .unit = HOTPATH_UNIT_BYTES,
     .about = "Freed in excess of what was allocated: a lower bound for blocks allocated before the session."},
    {.key = "earlier_freed_blocks", .unit = HOTPATH_UNIT_COUNT},
    {.key = "failed", .unit = HOTPATH_UNIT_COUNT, .about = "Failed allocations; not part of any other number."},
};

#undef AT

#endif
