/*
 * The section `functions`: whose processor time it was by stacks, whether or not functions are measured. There where somebody took
 * stacks; the library does not. SPDX-License-Identifier: MIT
 */
#include "function_profile.h"

#include "arena.h"
#include "identity.h"
#include "order.h"
#include "section.h"
#include "shares.h"
#include "text.h"
#include "units.h"
#include "verdict.h"

struct columns {
    size_t name, library, samples, own, own_percent, user, kernel, total, total_percent, file;
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "Its name, or the place in the library where it has none."},
    {"library", "Library", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(library),
     "The program or library that it is in; null: none."},
    {"samples", "Samples", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(samples), "That found it running."},
    {"self_ns", "Self", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(own),
     "Processor time of its own: samples by their period."},
    {"percent_self", "% Self", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART,
     AT(own_percent)},
    {"user_ns", "User", HOTPATH_UNIT_NS, 0, AT(user)},
    {"kernel_ns", "Kernel", HOTPATH_UNIT_NS, 0, AT(kernel)},
    {"total_ns", "Total", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN, AT(total), "With all that it called."},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART,
     AT(total_percent)},
    {"file", "File", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(file), "Its source; null: not known."},
};

static const struct hp_column_spec total_table[] = {
    {.key = "cpu_ns", .unit = HOTPATH_UNIT_COUNT},
    {.key = "kernel_ns", .unit = HOTPATH_UNIT_COUNT},
    {.key = "samples", .unit = HOTPATH_UNIT_COUNT},
    {.key = "whole",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Samples whose stack was followed to the start of its thread."},
    {.key = "lost", .unit = HOTPATH_UNIT_COUNT, .about = "Samples for which there was no room."},
    {.key = "period_ns", .unit = HOTPATH_UNIT_COUNT, .about = "Of the samples."},
};

struct view {
    struct hotpath_results *results;
    const struct hp_function_profile *profile;
    struct columns columns;
};

static double share(const struct view *view, uint64_t ns)
{
    return view->profile->cpu_ns > 0 ? 100 * (double)ns / (double)view->profile->cpu_ns : 0;
}

static uint64_t own_ns(const struct hp_found_function *function) { return function->user_ns + function->kernel_ns; }

static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    const struct view *view = context;
    const struct hp_found_function *function = about;
    const struct columns *columns = &view->columns;
    hp_section_set_text(row, columns->name, function->name);
    row->id = hp_identity_with_text(hp_identity_with_text(0, function->name), function->library);
    row->id = hp_identity_with_text(row->id, function->file);
    if (function->library[0] != '\0')
        hp_section_set_text(row, columns->library, function->library);
    if (function->file[0] != '\0')
        hp_section_set_text(row, columns->file, function->file);
    hp_section_set_count(row, columns->samples, function->samples);
    hp_section_set_number(row, columns->own, (double)own_ns(function));
    hp_section_set_number(row, columns->own_percent, share(view, own_ns(function)));
    hp_section_set_number(row, columns->user, (double)function->user_ns);
    hp_section_set_number(row, columns->kernel, (double)function->kernel_ns);
    hp_section_set_number(row, columns->total, (double)function->total_ns);
    hp_section_set_number(row, columns->total_percent, share(view, function->total_ns));
    return true;
}

/* "Total: 1.20 s, 0.05 s of it in the kernel; 1197 samples, 99.8 % of them with their whole stack" */
static bool set_summary(const struct view *view, struct hotpath_section *section)
{
    char bytes[256];
    struct hp_text line;
    const struct hp_function_profile *profile = view->profile;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "Total: ");
    hp_units_ns(&line, (double)profile->cpu_ns);
    if (profile->has_kernel) {
        hp_text_string(&line, ", ");
        hp_units_ns(&line, (double)profile->kernel_ns);
        hp_text_string(&line, " of it in the kernel");
    }
    hp_text_string(&line, "; ");
    hp_text_u64(&line, profile->samples);
    hp_text_string(&line, profile->samples == 1 ? " sample" : " samples");
    if (profile->samples > 0) {
        hp_text_string(&line, ", ");
        hp_text_fixed(&line, 100 * (double)profile->whole / (double)profile->samples, 1);
        hp_text_string(&line, " % of them with their whole stack");
    }
    section->summary = hp_arena_copy(view->results->model->arena, line.bytes, line.length);
    return section->summary != NULL;
}

static void add_totals(struct hotpath_section *section, const struct hp_function_profile *profile)
{
    hp_section_add_total(section, "cpu_ns", profile->cpu_ns);
    hp_section_add_total(section, "kernel_ns", profile->kernel_ns);
    hp_section_add_total(section, "samples", profile->samples);
    hp_section_add_total(section, "whole", profile->whole);
    hp_section_add_total(section, "lost", profile->lost);
    hp_section_add_total(section, "period_ns", profile->period_ns);
}

/* Whose turn it was in a handful of samples is chance, and all that had called them would be a long list of nothing. */
static bool has_few_samples(const struct view *view) { return view->profile->samples < HP_VERDICT_LEAST_SAMPLES; }

static bool is_shown(const struct view *view, const struct hp_found_function *function)
{
    const struct hp_pattern_subject subject = {.names = {function->name},
                                               .files = {function->file, function->library}};
    return function->total_ns > 0 && (function->samples > 0 || !has_few_samples(view)) &&
           hp_results_show_subject(view->results, &subject) &&
           !hp_share_is_small(function->total_ns, view->profile->cpu_ns, &view->results->settings->show);
}

static bool add_rows(struct view *view, struct hotpath_section *section)
{
    const struct hp_function_profile *profile = view->profile;
    const void **shown = hp_arena_take_array(view->results->model->arena, profile->count + 1, sizeof *shown);
    size_t count = 0;
    for (size_t at = 0; shown != NULL && at < profile->count; at++)
        if (is_shown(view, &profile->all[at]))
            shown[count++] = &profile->all[at];
    section->total_rows = count;
    if (count > 0 && has_few_samples(view))
        hp_section_note(section, "too few samples to rank functions: here are those that were found running");
    return shown != NULL && hp_order_fill(view->results, section, view->results->settings->show.functions_limit,
                                          shown, count, fill_row, view);
}

static bool has_data(const struct hotpath_results *results)
{
    return results->model->functions != NULL && results->model->functions->samples > 0;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    static const struct hp_function_profile none;
    struct view view = {.results = results, .profile = results->model->functions};
    if (view.profile == NULL)
        view.profile = &none;
    section->description = "Processor time by function, from stacks.";
    section->percent_of = "rows";
    section->if_empty = view.profile == &none ? "nobody took stacks: 'hotpath run' does, where the kernel lets it"
                                              : "no function was found running";
    if (!hp_section_describe(results, section, 0, &view.columns) ||
        !hp_order_choose(results, section, view.columns.own, view.columns.own_percent))
        return false;
    add_totals(section, view.profile);
    return add_rows(&view, section) && (view.profile == &none || set_summary(&view, section));
}

const struct hp_section_type hp_section_functions = {
    .name = "functions",
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    HP_COLUMNS(column_table),
    HP_TOTALS(total_table),
    .about = "Processor time by function, from stacks, whether or not functions are measured.",
    .always = "percent_of|order|totals"};
