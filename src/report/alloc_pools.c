/*
 * The section `alloc-pools`: custom allocators of the program, one row per name. Pools of several processes with
 * the same name are one row; its peak is the highest of any process. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <string.h>

#include "arena.h"
#include "order.h"
#include "sort.h"

struct pool {
    struct pool *next; /* in order of arrival */
    const char *name;
    struct hp_pool sums;
};

struct view {
    struct hotpath_results *results;
    struct pool *first;
    struct pool **all;
    size_t count;
};

/* -------------------------------------------------------------------------------------------- gather */

static bool add_pool(struct view *view, const struct hp_snapshot *session, const struct hp_pool *stored)
{
    struct pool *pool = hp_arena_take(view->results->model->arena, sizeof *pool);
    const char *name = hp_snapshot_text(session, stored->name);
    if (pool == NULL)
        return false;
    *pool = (struct pool){.next = view->first, .name = name[0] != '\0' ? name : "<unknown>", .sums = *stored};
    view->first = pool;
    view->count++;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct pool *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static int64_t higher(int64_t a, int64_t b) { return a > b ? a : b; }

static void merge(struct hp_pool *to, const struct hp_pool *from)
{
    to->count += from->count;
    to->bytes += from->bytes;
    to->freed_count += from->freed_count;
    to->freed_bytes += from->freed_bytes;
    to->live = plus(to->live, from->live);
    to->peak_live = higher(to->peak_live, from->peak_live);
    to->peak_blocks = higher(to->peak_blocks, from->peak_blocks);
}

static int compare_bytes(const void *a, const void *b)
{
    const struct pool *x = a, *y = b;
    if (x->sums.bytes != y->sums.bytes)
        return x->sums.bytes > y->sums.bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool gather(struct view *view)
{
    const struct hp_run *run = &view->results->model->run;
    struct hp_pool stored;
    for (size_t at = 0; at < run->count; at++) {
        struct hp_walk walk = {0};
        while (hp_snapshot_next_pool(run->sessions[at], &walk, &stored))
            if (!add_pool(view, run->sessions[at], &stored))
                return false;
    }
    view->all = hp_arena_take_array(view->results->model->arena, view->count + 1, sizeof(void *));
    if (view->all == NULL)
        return false;
    size_t count = 0, kept = 0;
    for (struct pool *pool = view->first; pool != NULL; pool = pool->next)
        view->all[count++] = pool;
    hp_sort(view->all, count, compare_names);
    for (size_t at = 0; at < count; at++)
        if (kept > 0 && strcmp(view->all[kept - 1]->name, view->all[at]->name) == 0)
            merge(&view->all[kept - 1]->sums, &view->all[at]->sums);
        else
            view->all[kept++] = view->all[at];
    view->count = kept;
    hp_sort(view->all, kept, compare_bytes);
    return true;
}

/* ---------------------------------------------------------------------------------------------- rows */

static void fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct pool *pool = entry;
    (void)view;
    HP_FIELD(to, pool->name, "name", "Pool", TEXT, HP_COLUMN_FIRST);
    HP_FIELD(to, pool->sums.count, "allocations", "Allocations", COUNT, HP_COLUMN_SHOWN);
    HP_FIELD(to, pool->sums.bytes, "allocated_bytes", "Bytes", BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN);
    HP_FIELD(to, pool->sums.freed_bytes, "freed_bytes", "Freed", BYTES, HP_COLUMN_SHOWN);
    HP_FIELD(to, pool->sums.live, "live_bytes", "Live", SIGNED_BYTES, HP_COLUMN_LATE | HP_COLUMN_SHOWN);
    HP_FIELD(to, pool->sums.peak_live, "peak_bytes", "Peak", SIGNED_BYTES, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
             "Of several processes, the highest.");
    HP_FIELD(to, pool->sums.freed_count, "freed_blocks", "Freed Blocks", COUNT, 0);
    HP_FIELD(to, (int64_t)(pool->sums.count - pool->sums.freed_count), "live_blocks", "Live Blocks", SIGNED_COUNT,
             0);
    HP_FIELD(to, pool->sums.peak_blocks, "peak_blocks", "Peak Blocks", SIGNED_COUNT, 0);
}

static bool has_data(const struct hotpath_results *results)
{
    for (size_t at = 0; at < results->model->run.count; at++)
        if (results->model->run.sessions[at]->header.pools != 0)
            return true;
    return false;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results};
    section->description = "Memory pools of the program itself.";
    section->if_empty = "the program has registered no pools";
    return gather(&view) && hp_section_begin(results, section, NULL, 0, "allocated_bytes", NULL) &&
           hp_section_fill_rows(results, section, (const void *const *)view.all, view.count, NULL);
}

const struct hp_section_type hp_section_alloc_pools = {.name = "alloc-pools",
                                                       .is_left_out_empty = true,
                                                       .has_data = has_data,
                                                       .fill = fill,
                                                       .fields = fields,
                                                       .about = "Memory pools of the program itself, by name.",
                                                       .always = "order"};
