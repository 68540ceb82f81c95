/*
 * The section `alloc-threads`: one row per thread, sorted by requested bytes; also shows threads that free what
 * others allocated. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "identity.h"
#include "order.h"
#include "sort.h"

#define NO_THREAD "<others>"

struct columns {
    size_t name, count, bytes, freed, live, peak, foreign_count, foreign_bytes, outside, freed_count, live_blocks,
        peak_blocks, tid, pid, threads;
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Thread", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "Name and number of the thread."},
    {"allocations", "Allocations", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(count)},
    {"allocated_bytes", "Allocated", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(bytes)},
    {"freed_usable_bytes", "Freed", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN, AT(freed)},
    {"live_usable_bytes", "Net", HOTPATH_UNIT_SIGNED_BYTES, HP_COLUMN_LATE | HP_COLUMN_SHOWN, AT(live),
     "Allocated minus freed by this thread; negative if it frees blocks of other threads."},
    {"peak_usable_bytes", "Peak", HOTPATH_UNIT_SIGNED_BYTES, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(peak)},
    {"foreign_freed_blocks", "Freed for Others", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(foreign_count),
     "Blocks freed here that other threads allocated."},
    {"foreign_freed_usable_bytes", "Bytes for Others", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN, AT(foreign_bytes)},
    {"outside_bytes", "Outside", HOTPATH_UNIT_BYTES, 0, AT(outside), "Allocated outside of measured functions."},
    {"freed_blocks", "Freed Blocks", HOTPATH_UNIT_COUNT, 0, AT(freed_count)},
    {"live_blocks", "Net Blocks", HOTPATH_UNIT_SIGNED_COUNT, 0, AT(live_blocks)},
    {"peak_blocks", "Peak Blocks", HOTPATH_UNIT_SIGNED_COUNT, HP_COLUMN_MAYBE, AT(peak_blocks)},
    {"tid", "TID", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(tid)},
    {"pid", "PID", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(pid), .shown_by = HP_FACT_PROCESSES},
    {"threads", "Threads", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(threads),
     "Number of threads in this row, which ran one after the other."},
};

/* Thread names may be equal, numbers are not. */
static int compare_threads(const void *a, const void *b)
{
    const struct hp_thread_allocs *x = a, *y = b;
    if (x->totals.bytes != y->totals.bytes)
        return x->totals.bytes > y->totals.bytes ? -1 : 1;
    return x == y ? 0 : x < y ? -1 : 1;
}

/* Threads without a record have no name and no peak. */
static bool fill_row(struct hotpath_results *results, struct hp_row *row, const struct columns *columns,
                     const struct hp_thread_allocs *thread)
{
    const struct hp_alloc_totals *totals = &thread->totals;
    hp_section_set_count(row, columns->count, totals->count);
    hp_section_set_count(row, columns->bytes, totals->bytes);
    hp_section_set_count(row, columns->freed, totals->freed_bytes);
    hp_section_set_signed(row, columns->live, totals->live_bytes);
    hp_section_set_count(row, columns->foreign_count, totals->foreign_count);
    hp_section_set_count(row, columns->foreign_bytes, totals->foreign_bytes);
    hp_section_set_count(row, columns->outside, thread->outside_bytes);
    hp_section_set_count(row, columns->freed_count, totals->freed_count);
    hp_section_set_signed(row, columns->live_blocks, totals->live_blocks);
    hp_section_set_count(row, columns->pid, thread->pid);
    row->id = thread->label != NULL ? hp_identity_with_thread(0, thread->label)
                                    : hp_identity_with_number(hp_identity_with_text(0, NO_THREAD), thread->pid);
    if (thread->label == NULL) {
        hp_section_set_text(row, columns->name, NO_THREAD);
        return true;
    }
    hp_section_set_signed(row, columns->peak, totals->peak_bytes);
    hp_section_set_signed(row, columns->peak_blocks, totals->peak_blocks);
    hp_section_set_count(row, columns->tid, thread->label->tid);
    hp_section_set_count(row, columns->threads, thread->label->threads);
    return hp_section_set_thread(results, row, columns->name, thread->label);
}

static void add_notes(struct hotpath_section *section, const struct hp_allocs *allocs)
{
    bool has_shared = false, has_others = false;
    for (size_t at = 0; at < allocs->thread_count; at++) {
        has_shared |= allocs->threads[at].label != NULL && allocs->threads[at].label->threads > 1;
        has_others |= allocs->threads[at].label == NULL;
    }
    if (section->row_count > 0)
        hp_section_note(section,
                        "Allocated is in requested bytes; Freed, Net (allocated minus freed) and Peak are in "
                        "usable bytes. Net is negative in a thread that frees blocks of other threads");
    if (has_shared)
        hp_section_note(section,
                        "(n threads): threads that ran one after another share a row, with the id of the last");
    if (has_others)
        hp_section_note(section,
                        NO_THREAD " has what threads allocated before their record existed or after it was closed");
}

static bool has_data(const struct hotpath_results *results) { return hp_run_has_allocs(&results->model->run); }

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_allocs *allocs = hp_model_allocs(results->model);
    if (allocs == NULL)
        return false;
    const struct hp_thread_allocs **order =
        hp_arena_take_array(results->model->arena, allocs->thread_count + 1, sizeof(void *));
    if (order == NULL)
        return false;
    struct columns columns = {0};
    section->description = "Allocations and frees per thread.";
    section->if_empty = HP_NO_ALLOCS;
    section->total_rows = allocs->thread_count;
    for (size_t at = 0; at < allocs->thread_count; at++)
        order[at] = &allocs->threads[at];
    hp_sort(order, allocs->thread_count, compare_threads);
    if (!hp_section_describe(results, section, 0, &columns) ||
        !hp_order_choose(results, section, columns.bytes, HP_MAX_COLUMNS) ||
        !hp_section_make_rows(results, section, allocs->thread_count))
        return false;
    for (size_t at = 0; at < allocs->thread_count; at++)
        if (!fill_row(results, &section->rows[at], &columns, order[at]))
            return false;
    if (!hp_order_apply(results, section, results->settings->show.functions_limit))
        return false;
    add_notes(section, allocs);
    return true;
}

const struct hp_section_type hp_section_alloc_threads = {
    .name = "alloc-threads",
    .is_on_request = true,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    HP_COLUMNS(column_table),
    .about_row =
        "A thread. The row <others> stands for the threads of a process that had no record yet, or no longer.",
    .always = "order"};
