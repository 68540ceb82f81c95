/*
 * The section `alloc-functions`: which functions allocate, measured or not, by sampled allocations with their
 * stacks; how much of it was live when the heap was at its largest, and how much was never freed. Present if stacks
 * were sampled; the library does not do that. SPDX-License-Identifier: MIT
 */
#include "function_profile.h"

#include <inttypes.h>

#include "arena.h"
#include "found_rows.h"
#include "order.h"
#include "section.h"
#include "shares.h"
#include "sort.h"
#include "text.h"
#include "units.h"

struct columns {
    size_t name, library, samples, own, own_percent, blocks, total, total_percent, peak, total_peak, left,
        total_left, total_blocks, peak_blocks, left_blocks, zones, zone, zone_bytes, file;
};

#define AT(column) .index = offsetof(struct columns, column)

/* Facts of this section. */
enum { HAS_ZONES = HP_FACT_OWN };

#define ESTIMATE (HP_COLUMN_ESTIMATE | HP_COLUMN_MAYBE)

static const struct hp_column_spec column_table[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "Its name, or its address in the library if it has none."},
    {"library", "Library", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(library),
     "The program or library that contains it; null: none."},
    {"samples", "Samples", HOTPATH_UNIT_COUNT, 0, AT(samples),
     "Samples of its own allocations, on which the numbers are based."},
    {"self_bytes", "Self", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | ESTIMATE, AT(own),
     "Bytes that it allocated itself, or through the C library; null, here and in other columns: no sample."},
    {"percent_self", "% Self", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART | HP_COLUMN_MAYBE, AT(own_percent)},
    {"blocks", "Blocks", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | ESTIMATE, AT(blocks),
     "Number of these allocations."},
    {"total_bytes", "Total", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | ESTIMATE, AT(total), "Including callees."},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART,
     AT(total_percent)},
    {"peak_bytes", "At Peak", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | ESTIMATE, AT(peak),
     "The part of self_bytes that was live when the heap of its process was largest."},
    {"total_peak_bytes", "All At Peak", HOTPATH_UNIT_BYTES, ESTIMATE, AT(total_peak), "Including callees."},
    {"left_bytes", "Never Freed", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | ESTIMATE, AT(left),
     "The part of self_bytes that was live when its process ended."},
    {"total_left_bytes", "All Never Freed", HOTPATH_UNIT_BYTES, ESTIMATE, AT(total_left), "Including callees."},
    {"total_blocks", "All Blocks", HOTPATH_UNIT_COUNT, ESTIMATE, AT(total_blocks), "Including callees."},
    {"peak_blocks", "Blocks At Peak", HOTPATH_UNIT_COUNT, ESTIMATE, AT(peak_blocks)},
    {"left_blocks", "Blocks Never Freed", HOTPATH_UNIT_COUNT, ESTIMATE, AT(left_blocks)},
    {"zones", "In", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(zones),
     "The innermost measured functions in which it allocated, with their shares of total_bytes; null: none, or "
     "unknown.",
     .shown_by = HAS_ZONES},
    {"zone", "Zone", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(zone),
     "The measured function with the largest share; null: none."},
    {"zone_bytes", "Zone Bytes", HOTPATH_UNIT_BYTES, ESTIMATE, AT(zone_bytes),
     "The part of total_bytes allocated in that zone."},
    {"file", "File", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(file), "Its source file; null: unknown."},
};

static const struct hp_column_spec total_table[] = {
    {.key = "bytes",
     .unit = HOTPATH_UNIT_COUNT,
     .traits = ESTIMATE,
     .about = "Allocated, estimated from samples; the other sections have exact counts."},
    {.key = "blocks", .unit = HOTPATH_UNIT_COUNT, .traits = ESTIMATE},
    {.key = "peak_bytes",
     .unit = HOTPATH_UNIT_COUNT,
     .traits = ESTIMATE,
     .about = "Live when the heap of each process was largest; null: no sample."},
    {.key = "left_bytes", .unit = HOTPATH_UNIT_COUNT, .traits = ESTIMATE, .about = "Never freed; null: no sample."},
    {.key = "samples", .unit = HOTPATH_UNIT_COUNT},
    {.key = "whole",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Samples whose stack was unwound to the start of the thread."},
    {.key = "lost", .unit = HOTPATH_UNIT_COUNT, .about = "Samples dropped for lack of space."},
    {.key = "mean_bytes",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Average between two samples; larger in programs that allocate quickly."},
};

struct view {
    struct hotpath_results *results;
    const struct hp_function_profile *profile;
    struct columns columns;
};

static double share(const struct view *view, uint64_t bytes)
{
    return view->profile->heap.bytes > 0 ? 100 * (double)bytes / (double)view->profile->heap.bytes : 0;
}

static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    const struct view *view = context;
    const struct hp_found_function *function = about;
    const struct hp_found_heap *own = &function->heap, *total = &function->total_heap;
    const struct columns *columns = &view->columns;
    hp_found_row_name(row, function, columns->name, columns->library, columns->file);
    hp_section_set_count(row, columns->samples, function->alloc_samples);
    hp_section_set_estimate(row, columns->own, own->bytes);
    if (own->bytes > 0)
        hp_section_set_number(row, columns->own_percent, share(view, own->bytes));
    hp_section_set_estimate(row, columns->blocks, own->blocks);
    hp_section_set_estimate(row, columns->total, total->bytes);
    hp_section_set_number(row, columns->total_percent, share(view, total->bytes));
    hp_section_set_estimate(row, columns->peak, own->peak_bytes);
    hp_section_set_estimate(row, columns->total_peak, total->peak_bytes);
    hp_section_set_estimate(row, columns->left, own->left_bytes);
    hp_section_set_estimate(row, columns->total_left, total->left_bytes);
    hp_section_set_estimate(row, columns->total_blocks, total->blocks);
    hp_section_set_estimate(row, columns->peak_blocks, own->peak_blocks);
    hp_section_set_estimate(row, columns->left_blocks, own->left_blocks);
    const struct hp_found_zones *zones = &function->zones[HP_ZONES_OF_HEAP];
    hp_section_set_estimate(row, columns->zone_bytes, hp_found_most(zones));
    return hp_found_row_zones(row, view->results->model->arena, zones, total->bytes, columns->zones, columns->zone);
}

/* No sample does not mean that there was nothing. */
static void put_bytes(struct hp_text *line, uint64_t bytes)
{
    if (bytes > 0)
        hp_units_bytes(line, bytes);
    else
        hp_text_string(line, "-");
}

/* "Estimated: 1.2 GB in about 31 k allocations, 12.0 MB at the peak, - never freed; 24 samples" */
static bool set_summary(const struct view *view, struct hotpath_section *section)
{
    char bytes[512];
    struct hp_text line;
    const struct hp_function_profile *profile = view->profile;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "Estimated: ");
    hp_units_bytes(&line, profile->heap.bytes);
    hp_text_string(&line, " in ");
    hp_units_about(&line, profile->heap.blocks);
    hp_text_string(&line, " allocations, ");
    put_bytes(&line, profile->heap.peak_bytes);
    hp_text_string(&line, " at the peak, ");
    put_bytes(&line, profile->heap.left_bytes);
    hp_text_format(&line, " never freed; %" PRIu64 "%s", profile->allocs,
                   profile->allocs == 1 ? " sample" : " samples");
    if (profile->allocs_lost > 0) {
        hp_text_format(&line, ", %" PRIu64 " lost", profile->allocs_lost);
    }
    section->summary = hp_arena_copy(view->results->model->arena, line.bytes, line.length);
    return section->summary != NULL;
}

static void add_totals(struct hotpath_section *section, const struct hp_function_profile *profile)
{
    hp_section_add_total(section, "bytes", profile->heap.bytes);
    hp_section_add_total(section, "blocks", profile->heap.blocks);
    hp_section_add_total(section, "peak_bytes", profile->heap.peak_bytes);
    hp_section_add_total(section, "left_bytes", profile->heap.left_bytes);
    hp_section_add_total(section, "samples", profile->allocs);
    hp_section_add_total(section, "whole", profile->allocs_whole);
    hp_section_add_total(section, "lost", profile->allocs_lost);
    hp_section_add_total(section, "mean_bytes", profile->alloc_mean);
}

static bool is_shown(const struct view *view, const struct hp_found_function *function)
{
    const struct hp_pattern_subject subject = {.names = {function->shown, function->name},
                                               .files = {function->file, function->library}};
    return function->total_heap.bytes > 0 &&
           !hp_share_is_small(function->total_heap.bytes, view->profile->heap.bytes,
                              &view->results->settings->show) &&
           hp_results_show_subject(view->results, &subject);
}

static int by_own_bytes(const void *a, const void *b)
{
    const struct hp_found_function *x = a, *y = b;
    if (x->heap.bytes != y->heap.bytes)
        return x->heap.bytes < y->heap.bytes ? 1 : -1;
    if (x->total_heap.bytes != y->total_heap.bytes)
        return x->total_heap.bytes < y->total_heap.bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

static bool add_rows(struct view *view, struct hotpath_section *section)
{
    const struct hp_function_profile *profile = view->profile;
    const void **shown = hp_arena_take_array(view->results->model->arena, profile->count + 1, sizeof *shown);
    size_t count = 0;
    for (size_t at = 0; shown != NULL && at < profile->count; at++)
        if (is_shown(view, &profile->all[at]))
            shown[count++] = &profile->all[at];
    if (shown != NULL)
        hp_sort(shown, count, by_own_bytes);
    section->total_rows = count;
    return shown != NULL && hp_order_fill(view->results, section, view->results->settings->show.functions_limit,
                                          shown, count, fill_row, view);
}

static bool has_data(const struct hotpath_results *results)
{
    const struct hp_function_profile *functions = results->model->functions;
    return functions != NULL && functions->allocs > 0;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    static const struct hp_function_profile none;
    struct view view = {.results = results, .profile = results->model->functions};
    if (view.profile == NULL)
        view.profile = &none;
    section->description = "Allocated bytes by function, from sampled allocations with their stacks.";
    section->percent_of = "rows";
    section->if_empty = view.profile->allocs == 0 ? "no allocation samples: 'hotpath run' takes them where it can"
                                                  : "no allocating function was sampled";
    const uint32_t facts = view.profile->zones[HP_ZONES_OF_HEAP].count > 0 ? HAS_ZONES : 0u;
    if (!hp_section_describe(results, section, facts, &view.columns) ||
        !hp_order_choose(results, section, view.columns.own, HP_MAX_COLUMNS))
        return false;
    add_totals(section, view.profile);
    return add_rows(&view, section) && (view.profile->allocs == 0 || set_summary(&view, section));
}

const struct hp_section_type hp_section_alloc_functions = {
    .name = "alloc-functions",
    .in_brief = HP_BRIEF_UNMEASURED,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    HP_COLUMNS(column_table),
    HP_TOTALS(total_table),
    .about = "Allocated bytes by function, from sampled allocations with their stacks. Works without measured "
             "functions.",
    .always = "percent_of|order|totals"};
