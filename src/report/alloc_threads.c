/*
 * The section `alloc-threads`: one row per thread, sorted by requested bytes; also shows threads that free what
 * others allocated. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include "alloc_profile.h"
#include "arena.h"
#include "identity.h"
#include "order.h"
#include "sort.h"

#define NO_THREAD "<others>"

/* Thread names may be equal, numbers are not. */
static int compare_threads(const void *a, const void *b)
{
    const struct hp_thread_allocs *x = a, *y = b;
    if (x->totals.bytes != y->totals.bytes)
        return x->totals.bytes > y->totals.bytes ? -1 : 1;
    return x == y ? 0 : x < y ? -1 : 1;
}

static uint64_t identity_of(const struct hp_thread_allocs *thread)
{
    return thread->label != NULL ? hp_identity_with_thread(0, thread->label)
                                 : hp_identity_with_number(hp_identity_with_text(0, NO_THREAD), thread->pid);
}

/* Threads without a record have no name and no peak. */
static void fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct hp_thread_allocs *thread = entry;
    (void)view;
    if (to->row != NULL)
        to->row->id = identity_of(thread);
    HP_FIELD(to, thread->label != NULL ? hp_fields_name_thread(to, thread->label) : NO_THREAD, "name", "Thread",
             TEXT, HP_COLUMN_FIRST, "Name and number of the thread.");
    HP_FIELD(to, thread->totals.count, "allocations", "Allocations", COUNT, HP_COLUMN_SHOWN);
    HP_FIELD(to, thread->totals.bytes, "allocated_bytes", "Allocated", BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN);
    HP_FIELD(to, thread->totals.freed_bytes, "freed_usable_bytes", "Freed", BYTES, HP_COLUMN_SHOWN);
    HP_FIELD(to, thread->totals.live_bytes, "live_usable_bytes", "Net", SIGNED_BYTES,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN,
             "Usable bytes of what it allocated, minus Freed; negative if it frees blocks of other threads.");
    HP_FIELD_IF(to, thread->label != NULL, thread->totals.peak_bytes, "peak_usable_bytes", "Peak", SIGNED_BYTES,
                HP_COLUMN_LATE | HP_COLUMN_SHOWN);
    HP_FIELD(to, thread->totals.foreign_count, "foreign_freed_blocks", "Freed for Others", COUNT, HP_COLUMN_SHOWN,
             "Blocks freed here that other threads allocated.");
    HP_FIELD(to, thread->totals.foreign_bytes, "foreign_freed_usable_bytes", "Bytes for Others", BYTES,
             HP_COLUMN_SHOWN);
    HP_FIELD(to, thread->outside_bytes, "outside_bytes", "Outside", BYTES, 0,
             "Allocated outside of measured functions.");
    HP_FIELD(to, thread->totals.freed_count, "freed_blocks", "Freed Blocks", COUNT, 0);
    HP_FIELD(to, thread->totals.live_blocks, "live_blocks", "Net Blocks", SIGNED_COUNT, 0);
    HP_FIELD_IF(to, thread->label != NULL, thread->totals.peak_blocks, "peak_blocks", "Peak Blocks", SIGNED_COUNT,
                0);
    HP_FIELD_IF(to, thread->label != NULL, thread->label->tid, "tid", "TID", COUNT, 0);
    HP_FIELD(to, thread->pid, "pid", "PID", COUNT, HP_COLUMN_SHOWN, .shown_by = HP_FACT_PROCESSES);
    HP_FIELD_IF(to, thread->label != NULL, thread->label->threads, "threads", "Threads", COUNT, 0,
                "Number of threads in this row, which ran one after the other.");
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
    section->description = "Allocations and frees per thread.";
    section->if_empty = HP_NO_ALLOCS;
    for (size_t at = 0; at < allocs->thread_count; at++)
        order[at] = &allocs->threads[at];
    hp_sort(order, allocs->thread_count, compare_threads);
    if (!hp_section_begin(results, section, NULL, 0, "allocated_bytes", NULL) ||
        !hp_section_fill_rows(results, section, (const void *const *)order, allocs->thread_count, NULL))
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
    .fields = fields,
    .about_row =
        "A thread. The row <others> stands for the threads of a process that had no record yet, or no longer.",
    .always = "order"};
