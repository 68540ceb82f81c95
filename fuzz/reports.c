/* Reports of sessions. SPDX-License-Identifier: MIT */
#include "reports.h"

#include <string.h>

const struct hp_clock_pair fuzz_now = {.ticks = UINT64_C(1) << 40, .ns = UINT64_C(1) << 39};

void fuzz_choose(struct hp_settings *settings, uint32_t format, bool is_exclusive)
{
    memset(settings, 0, sizeof *settings);
    settings->output.format = format;
    settings->show.time_exclusive = is_exclusive;
    settings->show.exclude_wrapper = is_exclusive;
    settings->show.alloc_cumulative = is_exclusive;
    settings->show.cpu_inclusive = !is_exclusive;
    settings->show.alloc_metric = is_exclusive ? HP_ALLOC_BYTES_TOTAL : HP_ALLOC_COUNT_MAX;
    settings->show.functions_limit = is_exclusive ? 3 : HOTPATH_NO_LIMIT;
    settings->show.calltree_limit = is_exclusive ? 5 : HOTPATH_NO_LIMIT;
    settings->record.logs_limit = is_exclusive ? 2 : HOTPATH_NO_LIMIT;
    settings->show.percentiles[0] = 0;
    settings->show.percentiles[1] = 99.9;
    settings->show.percentile_count = 2;
    strcpy(settings->show.report, "all");
    strcpy(settings->show.columns, "all");
    strcpy(settings->show.focus, is_exclusive ? "/[a-m]/" : "");
    strcpy(settings->show.slowest, is_exclusive ? "parse" : "/./");
    strcpy(settings->show.sort, is_exclusive ? "-avg" : "name");
    settings->show.by = is_exclusive ? HP_BY_FUNCTION : HP_BY_THREAD;
    settings->show.min_percent = is_exclusive ? 0.5 : 0;
}

void fuzz_render(const struct hp_snapshot *const *sessions, size_t count, const struct hp_settings *settings,
                 uint32_t width, struct fuzz_output *output)
{
    const struct hp_snapshots snapshots = {.all = sessions, .count = count};
    const struct hp_report_target target = {
        .sink = fuzz_collect, .context = output, .width = width, .color = width % 2 == 0};
    output->length = 0;
    REQUIRE(hp_report_render(&snapshots, settings, &target) == HOTPATH_OK);
}
