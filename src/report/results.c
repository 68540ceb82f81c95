/*
 * Results: the requested sections of a report, and the public functions that read them.
 *
 * The grammar of HOTPATH_SECTIONS: "auto" (everything that has data and is not on request only), "short" (the same,
 * but text for people is shortened), "all", names (exactly those), "-name" (without it; alone or first it means
 * auto without it). The order of the items does not matter: the report has a fixed order. HOTPATH_SLOWEST adds its
 * section. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "cxxname.h"
#include "function_profile.h"
#include "identity.h"
#include "profile.h"
#include "section.h"
#include "shares.h"
#include "text.h"
#include "time_range.h"
#include "trust_line.h"
#include "units.h"
#include "verdict.h"

/* --------------------------------------------------------------------------------------------------------- rows */

/*
 * Sets the parents of rows in a tree, and identities that are unique in a section.
 *
 * Parents and identities of rows.
 */

/* An identity, and the number of rows with it. */
struct seen {
    uint64_t id; /* 0: a free slot */
    uint64_t rows;
};

struct seen_table {
    struct seen *places; /* open addressing, from the lowest bits */
    size_t mask;
};

static bool make_table(struct hp_arena *arena, size_t rows, struct seen_table *ret_table)
{
    size_t size = 16;
    while (size < 2 * rows)
        size *= 2;
    ret_table->places = hp_arena_take_array(arena, size, sizeof *ret_table->places);
    ret_table->mask = size - 1;
    return ret_table->places != NULL;
}

static struct seen *find(const struct seen_table *table, uint64_t id)
{
    size_t at = (size_t)id & table->mask;
    while (table->places[at].id != 0 && table->places[at].id != id)
        at = (at + 1) & table->mask;
    return &table->places[at];
}

/* The identity, or one derived from it if it is taken. */
static uint64_t alone(const struct seen_table *table, uint64_t id)
{
    struct seen *seen = find(table, id);
    const uint64_t content = id;
    while (seen->id != 0) {
        id = hp_identity_with_number(content, find(table, content)->rows++);
        seen = find(table, id);
    }
    *seen = (struct seen){.id = id, .rows = 1};
    return id;
}

/* Rows come parent first, so the parent is above, and all rows in between are its descendants. */
static uint32_t parent_of(const struct hotpath_section *section, size_t row)
{
    uint32_t above = (uint32_t)row;
    while (above > 0 && section->rows[above - 1].depth >= section->rows[row].depth)
        above = section->rows[above - 1].parent;
    return above;
}

/* Derived from its name, if the section set none. */
static uint64_t content_of(const struct hotpath_section *section, const struct hp_row *row)
{
    size_t name = 0;
    while (name < section->column_count && !(section->columns[name].traits & HP_COLUMN_NAME))
        name++;
    const char *text = name < section->column_count ? row->cells[name].text : NULL;
    return row->id != 0 ? row->id : hp_identity_with_text(0, text != NULL ? text : "");
}

/*
 * Completes the rows of a filled section. A row without an identity gets one from its name; in a tree, combined
 * with those of its ancestors. Further rows with the same content are distinguished by their order. False: no
 * memory.
 */
static bool rows_identify(struct hotpath_results *results, struct hotpath_section *section)
{
    struct seen_table table;
    if (!make_table(results->model->arena, section->row_count, &table))
        return false;
    for (size_t at = 0; at < section->row_count; at++) {
        struct hp_row *row = &section->rows[at];
        row->parent = section->is_tree ? parent_of(section, at) : 0;
        uint64_t content = content_of(section, row);
        if (row->parent > 0)
            content = hp_identity_with_number(section->rows[row->parent - 1].id, content);
        row->id = alone(&table, content);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------ results */

#define MOST_PIDS 8u /* named in one line */

/* --------------------------------------------------------------------------------- choosing sections */

static bool is_same(const char *name, size_t length, const char *other)
{
    return other != NULL && hp_text_equal_nocase(name, length, other);
}

static bool answers_to(const struct hp_section_type *type, const char *name, size_t length)
{
    return is_same(name, length, type->name) || is_same(name, length, type->alias) ||
           is_same(name, length, type->group);
}

static bool is_available(const struct hp_section_type *type)
{
    return type->is_available == NULL || type->is_available();
}

bool hp_results_is_short(const struct hotpath_results *results)
{
    const char *asked = results->settings->show.report;
    return hp_text_equal_nocase(asked, strlen(asked), "short");
}

static bool has_data(const struct hotpath_results *results, const struct hp_section_type *type)
{
    return type->has_data == NULL || type->has_data(results);
}

/* No function was measured, but stacks show functions; a handful of samples would say too little. */
static bool have_stacks_alone(const struct hotpath_results *results)
{
    const struct hp_function_profile *functions = results->model->functions;
    return results->model->profile->site_count == 0 && functions != NULL &&
           (double)functions->counts.samples >= HP_VERDICT_LEAST_SAMPLES;
}

/* One section, or all of a group. */
static bool set_named(struct hotpath_results *results, bool *chosen, const char *name, size_t length, bool value)
{
    bool has_found = false;
    for (size_t at = 0; at < hp_section_type_count; at++)
        if (answers_to(hp_section_types[at], name, length)) {
            chosen[at] = value && is_available(hp_section_types[at]);
            if (value && !chosen[at])
                hp_results_warn(results, "the section", name, length, hp_section_types[at]->elsewhere);
            has_found = true;
        }
    return has_found;
}

static void set_auto(const struct hotpath_results *results, bool *chosen)
{
    for (size_t at = 0; at < hp_section_type_count; at++) {
        const struct hp_section_type *type = hp_section_types[at];
        chosen[at] |= !type->is_on_request && !(type->is_of_measured && have_stacks_alone(results)) &&
                      (type->is_usual == NULL || type->is_usual(results->settings)) && is_available(type) &&
                      has_data(results, type);
    }
}

static void set_all(const struct hotpath_results *results, bool *chosen, bool value)
{
    for (size_t at = 0; at < hp_section_type_count; at++) {
        const struct hp_section_type *type = hp_section_types[at];
        chosen[at] = value && is_available(type) && (!type->is_left_out_empty || has_data(results, type));
    }
}

static void warn_unknown(struct hotpath_results *results, const char *name, size_t length)
{
    char bytes[400];
    struct hp_text known;
    hp_text_init(&known, bytes, sizeof bytes);
    hp_text_string(&known, ": known sections are short, auto, all, tree");
    for (size_t at = 0; at < hp_section_type_count; at++) {
        hp_text_format(&known, ", %s", hp_section_types[at]->name);
    }
    hp_results_warn(results, "unknown section", name, length, hp_text_end(&known));
}

/* Whether the list names a section to show; if it only has exclusions, they apply to auto. */
static bool has_plain_item(const char *spec)
{
    size_t length;
    for (const char *item; (item = hp_text_next_item(&spec, &length)) != NULL;)
        if (item[0] != '-')
            return true;
    return false;
}

/* The call tree: of measured functions if there are some, else of stacks. */
static void set_tree(struct hotpath_results *results, bool *chosen, bool value)
{
    const bool is_of_stacks = results->model->profile->site_count == 0 && has_data(results, &hp_section_stacktree);
    for (size_t at = 0; at < hp_section_type_count; at++)
        if (hp_section_types[at] == (is_of_stacks ? &hp_section_stacktree : &hp_section_calltree))
            chosen[at] = value;
}

static bool set_item(struct hotpath_results *results, bool *chosen, const char *item, size_t length, bool value)
{
    if (hp_text_equal_nocase(item, length, "auto") || hp_text_equal_nocase(item, length, "short")) {
        set_auto(results, chosen);
        return true;
    }
    if (hp_text_equal_nocase(item, length, "all")) {
        set_all(results, chosen, value);
        return true;
    }
    if (hp_text_equal_nocase(item, length, "tree")) {
        set_tree(results, chosen, value);
        return true;
    }
    return set_named(results, chosen, item, length, value);
}

/* Sections are added first and excluded afterwards, so that "-timing,all" and "all,-timing" mean the same. */
static void choose(struct hotpath_results *results, bool *chosen)
{
    const char *spec = results->settings->show.report;
    size_t length;
    bool has_known = false;
    for (const char *rest = spec, *item; (item = hp_text_next_item(&rest, &length)) != NULL;)
        if (item[0] != '-') {
            if (set_item(results, chosen, item, length, true))
                has_known = true;
            else
                warn_unknown(results, item, length);
        }
    if (!has_plain_item(spec) || !has_known)
        set_auto(results, chosen);
    if (results->settings->show.slowest[0] != '\0')
        set_named(results, chosen, "slowest", sizeof "slowest" - 1, true);
    for (const char *rest = spec, *item; (item = hp_text_next_item(&rest, &length)) != NULL;)
        if (item[0] == '-' && !set_item(results, chosen, item + 1, length - 1, false))
            warn_unknown(results, item + 1, length - 1);
}

static bool has_linked_names(const struct hotpath_section *section)
{
    const size_t column = hp_section_name_column(section);
    for (size_t row = 0; column < section->column_count && row < section->row_count; row++) {
        const char *name = section->rows[row].cells[column].text;
        if (name != NULL && hp_cxx_is_mangled(name))
            return true;
    }
    return false;
}

static void note_linked_names(const struct hotpath_results *results, struct hotpath_section *section)
{
    if (has_linked_names(section))
        hp_section_note(section,
                        results->model->run.read_name == NULL
                            ? "_Z... is a mangled C++ name: 'hotpath report' demangles it"
                            : "_Z... is a mangled C++ name: 'hotpath doctor' shows what is needed to demangle it");
}

static bool has_history(const struct hotpath_results *results, const struct hp_section_type *type)
{
    return type->has_history || (type->is_of_stacks && results->model->functions != NULL);
}

/* In a time range of the run. One line names them all. */
static void leave_out_without_history(struct hotpath_results *results, bool *chosen)
{
    char bytes[256];
    struct hp_text names;
    hp_text_init(&names, bytes, sizeof bytes);
    for (size_t at = 0; at < hp_section_type_count; at++)
        if (chosen[at] && !has_history(results, hp_section_types[at])) {
            hp_text_format(&names, "%s%s", names.length > 0 ? ", " : "", hp_section_types[at]->name);
            chosen[at] = false;
        }
    if (names.length > 0)
        hp_results_warn(results, "no history for", bytes, names.length, ": these sections cover only whole runs");
}

static bool fill_chosen(struct hotpath_results *results)
{
    bool chosen[HP_MAX_SECTIONS] = {false};
    choose(results, chosen);
    if (results->model->run.range != NULL)
        leave_out_without_history(results, chosen);
    for (size_t at = 0; at < hp_section_type_count; at++) {
        if (!chosen[at])
            continue;
        struct hotpath_section *section = hp_arena_take(results->model->arena, sizeof *section);
        if (section == NULL)
            return false;
        section->type = hp_section_types[at];
        section->name = section->type->name;
        section->group = section->type->group != NULL ? section->type->group : section->name;
        section->description = section->if_empty = "";
        section->is_tree = section->type->is_tree;
        if (!section->type->fill(results, section) || !rows_identify(results, section))
            return false;
        note_linked_names(results, section);
        results->sections[results->section_count++] = section;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ building */

/* What the reader of the report requested takes precedence over what was recorded. */
static const char *first_text(const char *asked, const char *recorded)
{
    return asked[0] != '\0' ? asked : recorded;
}

static void warn_without_history(struct hotpath_results *results)
{
    const struct hp_time_range *range = results->model->run.range;
    char bytes[120];
    struct hp_text line;
    if (range == NULL || range->unknown == 0)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "%zu%s", range->unknown,
                   range->unknown == 1 ? " function is left out, because it has no history"
                                       : " functions are left out, because they have no history");
    const char *copy = hp_arena_copy(results->model->arena, line.bytes, line.length);
    if (copy != NULL)
        hp_results_warn_line(results, copy);
}

/* Unwatched malloc is no error, unless allocations were requested. */
static void warn_no_allocs(struct hotpath_results *results)
{
    if (results->settings->record.alloc_is_asked && !hp_run_has_allocs(&results->model->run))
        hp_results_warn_line(results,
                             "HOTPATH includes alloc, but no allocations were recorded: malloc is watched in "
                             "programs that are linked with -lhotpath_alloc or started by 'hotpath run'");
}

/* Functions and blocks, except the one with HOTPATH_MAIN. */
static bool has_called(const struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->site_count; at++)
        if (!profile->sites[at]->is_main)
            return true;
    return false;
}

/* A filter that matches nothing is probably misspelt. */
static void warn_no_match(struct hotpath_results *results)
{
    const char *filter = results->settings->record.filter;
    if (filter[0] != '\0' && !has_called(results->model->profile))
        hp_results_warn(results, "no called function matches the filter", filter, strlen(filter), "");
}

static bool has_column(const struct hotpath_results *results, const char *name, size_t length)
{
    if (hp_text_equal_nocase(name, length, "all"))
        return true;
    for (size_t at = 0; at < results->section_count; at++)
        if (hp_section_has_column(results->sections[at], name, length))
            return true;
    return results->section_count == 0;
}

static void warn_unknown_columns(struct hotpath_results *results)
{
    size_t length;
    for (const char *rest = results->settings->show.columns, *item;
         (item = hp_text_next_item(&rest, &length)) != NULL;)
        if (!has_column(results, item, length))
            hp_results_warn(results, "unknown column", item, length, ": no section of this report has it");
}

static void warn_unknown_order(struct hotpath_results *results)
{
    const char *sort = results->settings->show.sort;
    const char *name = sort + (sort[0] == '-');
    for (size_t at = 0; at < results->section_count; at++)
        if (hp_section_has_column(results->sections[at], name, strlen(name)))
            return;
    if (sort[0] != '\0' && results->section_count > 0)
        hp_results_warn(results, "unknown column", name, strlen(name),
                        " to sort by: no section of this report has it; rows are in their default order");
}

/* False: no memory. */
static bool set_focus(struct hotpath_results *results)
{
    const char *focus = results->settings->show.focus;
    char bytes[256];
    struct hp_text after;
    results->focus = focus[0] != '\0' ? hp_arena_take(results->model->arena, sizeof *results->focus) : NULL;
    if (results->focus == NULL)
        return focus[0] == '\0';
    hp_text_init(&after, bytes, sizeof bytes);
    hp_text_string(&after, ": ");
    if (hp_pattern_list_compile(results->focus, focus, false, &after))
        return true;
    hp_text_string(&after, "; all rows are shown");
    hp_results_warn(results, "the focus is not a list of patterns:", focus, strlen(focus), hp_text_end(&after));
    return true;
}

const struct hp_profile *hp_results_profile_of_rows(struct hotpath_results *results)
{
    return results->settings->show.by == HP_BY_THREAD ? hp_model_by_thread(results->model)
                                                      : results->model->profile;
}

void hp_section_note_sites(const struct hotpath_results *results, struct hotpath_section *section,
                           const char *of_sites, const char *outside)
{
    const size_t column = hp_section_column(section, of_sites);
    bool has_open = false, has_outside = false;
    for (size_t at = 0; at < section->row_count; at++) {
        has_open |= section->rows[at].is_open;
        has_outside |= !section->rows[at].cells[column].has_value;
    }
    if (has_open)
        hp_section_note(section, hp_share_open_note(results->model->profile));
    if (has_outside)
        hp_section_note(section, outside);
}

bool hp_results_show(const struct hotpath_results *results, const struct hp_site_sums *site)
{
    char other[256];
    if (results->focus == NULL)
        return true;
    if (hp_cxx_qualified_name(site->plain_name, other, sizeof other) == 0)
        hp_cxx_bare_name(site->plain_name, other, sizeof other);
    const struct hp_pattern_subject subject = {.names = {site->name, site->plain_name, other},
                                               .files = {site->location.file}};
    return hp_results_show_subject(results, &subject);
}

bool hp_results_show_subject(const struct hotpath_results *results, const struct hp_pattern_subject *subject)
{
    return results->focus == NULL || hp_pattern_list_chooses(results->focus, subject);
}

bool hp_results_show_object(const struct hotpath_results *results, const struct hp_object_record *object)
{
    const struct hp_pattern_subject subject = {.names = {object->name}, .files = {object->location.file}};
    return hp_results_show_subject(results, &subject);
}

/* Names processes that are left out for one reason, in one line. */
static void warn_left_out(struct hotpath_results *results, bool is_same_boot, const char *one, const char *many)
{
    char bytes[200];
    struct hp_text pids;
    size_t count = 0;
    hp_text_init(&pids, bytes, sizeof bytes);
    for (size_t at = 0; at < results->model->run.left_out_count; at++) {
        const struct hp_snapshot *session = results->model->run.left_out[at];
        if (hp_snapshot_has_same_boot(session, results->model->run.sessions[0]) != is_same_boot)
            continue;
        if (count++ < MOST_PIDS) {
            hp_text_format(&pids, "%s%u", count > 1 ? ", " : "", session->header.pid);
        }
    }
    if (count > MOST_PIDS) {
        hp_text_format(&pids, " and %zu more", count - MOST_PIDS);
    }
    if (count > 0)
        hp_results_warn(results, count == 1 ? "process" : "processes", bytes, pids.length, count == 1 ? one : many);
}

static void warn_all_left_out(struct hotpath_results *results)
{
    if (hp_run_counts_instructions(&results->model->run))
        warn_left_out(results, true, " is left out: it measured its time, and its instructions were not counted",
                      " are left out: they measured their times, and their instructions were not counted");
    else
        warn_left_out(results, true,
                      " is left out: its clock is of a different kind than that of the first process",
                      " are left out: their clocks are of a different kind than that of the first process");
    warn_left_out(results, false, " is left out: it ran on another machine, or before a reboot",
                  " are left out: they ran on another machine, or before a reboot");
}

static bool overlap(const struct hp_run *run, const struct hp_snapshot *a, const struct hp_snapshot *b)
{
    const uint64_t start_a = hp_run_started_ns(run, a), start_b = hp_run_started_ns(run, b);
    return start_a < start_b + hp_snapshot_elapsed_ns(b) && start_b < start_a + hp_snapshot_elapsed_ns(a);
}

/* Programs that `hotpath run --clock instructions` could not run under the emulator. */
static void warn_uncounted(struct hotpath_results *results)
{
    const char *line = results->model->natives;
    for (const char *end; line != NULL && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char why[120];
        struct hp_text text;
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        if (tab == NULL)
            continue;
        hp_text_init(&text, why, sizeof why);
        hp_text_string(&text, ", which the program executed, are not counted: ");
        hp_text_bytes(&text, line, (size_t)(tab - line));
        hp_text_end(&text);
        if (tab == line)
            hp_results_warn(results, "nor those of other programs, executed", tab + 1, (size_t)(end - tab) - 1,
                            " times");
        else
            hp_results_warn(results, "instructions of", tab + 1, (size_t)(end - tab) - 1, why);
    }
}

/* Copies of the library with different layouts do not share a session, and each has the whole process. */
static void warn_of_two_versions(struct hotpath_results *results)
{
    const struct hp_run *run = &results->model->run;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_snapshot *session = run->sessions[at];
        const struct hp_snapshot *other = run->before[at] != 0 ? run->sessions[run->before[at] - 1] : NULL;
        if (other == NULL || !overlap(run, session, other))
            continue;
        hp_results_warn_line(results,
                             "a program contains another version of the library than that of 'hotpath run': "
                             "its CPU time and waiting count twice. Build it with this version");
        return;
    }
}

const hotpath_results *hp_results_build(struct hp_arena *arena, const struct hp_snapshots *snapshots,
                                        const struct hp_settings *settings)
{
    struct hp_model *model = hp_arena_take(arena, sizeof *model);
    return model != NULL && hp_model_build(model, arena, arena, snapshots) ? hp_results_of_model(model, settings)
                                                                           : NULL;
}

/* Without a verdict, which says it. */
static void warn_distorted(struct hotpath_results *results)
{
    const struct hp_profile *profile = results->model->profile;
    const struct hp_site_sums *first = NULL;
    double whole = 0;
    char bytes[400];
    struct hp_text text;
    struct hp_name_place name;
    for (size_t at = 0; at < profile->site_count; at++) {
        const struct hp_site_sums *site = profile->sites[at];
        whole += (double)hp_sums_self(&site->sums);
        if (first == NULL || hp_sums_self(&site->sums) > hp_sums_self(&first->sums))
            first = site;
    }
    if (results->headline != NULL || first == NULL)
        return;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_trust_put_distortion(results->trust, profile, first, hp_run_ns(profile->run, hp_sums_self(&first->sums)),
                            hp_run_ns(profile->run, 1) * whole, &text);
    hp_name_marks_take(&text, &name, 1);
    const char *line = text.length > 2 ? hp_arena_copy(results->model->arena, bytes, text.length - 2) : NULL;
    if (line != NULL)
        hp_results_warn_line(results, line); /* without its ". " */
}

const hotpath_results *hp_results_of_model(struct hp_model *model, const struct hp_settings *settings)
{
    const struct hp_snapshot *primary = model->run.sessions[0];
    struct hotpath_results *results = hp_arena_take(model->arena, sizeof *results);
    if (results == NULL)
        return NULL;
    results->model = model;
    results->settings = settings;
    results->label = first_text(settings->record.label, hp_snapshot_text(primary, primary->header.label));
    results->metadata = first_text(settings->record.metadata, hp_snapshot_text(primary, primary->header.metadata));
    results->trust = hp_model_trust(model);
    if (results->trust == NULL)
        return NULL;
    warn_all_left_out(results);
    warn_uncounted(results);
    warn_of_two_versions(results);
    warn_no_allocs(results);
    warn_without_history(results);
    if (!set_focus(results) || !fill_chosen(results))
        return NULL;
    warn_distorted(results);
    warn_unknown_columns(results);
    warn_unknown_order(results);
    warn_no_match(results);
    return results;
}

/* ---------------------------------------------------------------------------------- public functions */

uint64_t hotpath_results_elapsed_ns(const hotpath_results *results)
{
    return hp_run_elapsed_ns(&results->model->run);
}

const char *hotpath_results_headline(const hotpath_results *results)
{
    return results->headline != NULL ? results->headline : "";
}

const char *hotpath_results_label(const hotpath_results *results) { return results->label; }

size_t hotpath_results_sections(const hotpath_results *results) { return results->section_count; }

const hotpath_section *hotpath_results_section(const hotpath_results *results, size_t index)
{
    return index < results->section_count ? results->sections[index] : NULL;
}

const char *hotpath_section_name(const hotpath_section *section) { return section->name; }

const char *hotpath_section_description(const hotpath_section *section) { return section->description; }

size_t hotpath_section_columns(const hotpath_section *section) { return section->column_count; }

const struct hotpath_column *hotpath_section_column(const hotpath_section *section, size_t index)
{
    return index < section->column_count ? &section->columns[index].shown : NULL;
}

size_t hotpath_section_rows(const hotpath_section *section) { return section->row_count; }

size_t hotpath_section_total_rows(const hotpath_section *section) { return section->total_rows; }

/* Out of range: HOTPATH_E_OPTIONS and an empty cell. */
int hotpath_section_cell(const hotpath_section *section, size_t row, size_t column, struct hotpath_cell *ret_cell)
{
    if (row >= section->row_count || column >= section->column_count) {
        *ret_cell = (struct hotpath_cell){0};
        return HOTPATH_E_OPTIONS;
    }
    const struct hp_cell *cell = &section->rows[row].cells[column];
    const uint32_t unit = section->columns[column].shown.unit;
    *ret_cell = (struct hotpath_cell){
        .unit = unit,
        .has_value = cell->has_value,
        .count = hp_unit_is_whole(unit) ? cell->count : hp_units_round(cell->number),
        .number = hp_cell_number(cell, unit),
        .text = hp_unit_is_text(unit) ? (cell->text != NULL ? cell->text : "") : NULL,
    };
    return HOTPATH_OK;
}

/*
 * Copies as much of a struct that begins with its size as the caller knows; fields that we do not know are set to
 * 0.
 */
static int hand_over(void *to, size_t size, const void *from, size_t known)
{
    if (size < sizeof size)
        return HOTPATH_E_OPTIONS;
    memset(to, 0, size);
    memcpy(to, from, size < known ? size : known);
    memcpy(to, &size, sizeof size);
    return HOTPATH_OK;
}

static uint32_t flags_of(const struct hp_row *row)
{
    return (row->is_open ? HOTPATH_ROW_OPEN : 0u) | (row->is_main ? HOTPATH_ROW_MAIN : 0u) |
           (row->is_rough ? HOTPATH_ROW_ROUGH : 0u) | (row->is_sampled ? HOTPATH_ROW_SCALED : 0u) |
           (row->is_self_sampled ? HOTPATH_ROW_SELF_SCALED : 0u);
}

int hotpath_section_row(const hotpath_section *section, size_t row, struct hotpath_row *ret_row)
{
    struct hotpath_row known = {0};
    if (row < section->row_count) {
        const struct hp_row *its = &section->rows[row];
        known = (struct hotpath_row){.id = its->id, .depth = its->depth, .flags = flags_of(its)};
        known.parent = its->parent > 0 ? section->rows[its->parent - 1].id : 0;
    }
    const int status = hand_over(ret_row, ret_row->size, &known, sizeof known);
    return row < section->row_count ? status : HOTPATH_E_OPTIONS;
}

/* NULL: there is no such cell, or it holds something else. */
static const struct hp_cell *cell_with(const hotpath_section *section, size_t row, size_t column, uint32_t unit)
{
    if (row >= section->row_count || column >= section->column_count || section->columns[column].shown.unit != unit)
        return NULL;
    return &section->rows[row].cells[column];
}

int hotpath_section_histogram(const hotpath_section *section, size_t row, size_t column,
                              struct hotpath_histogram *ret_histogram)
{
    const struct hp_cell *cell = cell_with(section, row, column, HOTPATH_UNIT_HISTOGRAM);
    const struct hotpath_histogram none = {0};
    const int status = hand_over(ret_histogram, ret_histogram->size,
                                 cell != NULL && cell->has_value ? cell->histogram : &none, sizeof none);
    return cell != NULL ? status : HOTPATH_E_OPTIONS;
}

int hotpath_section_series(const hotpath_section *section, size_t row, size_t column,
                           struct hotpath_series *ret_series)
{
    const struct hp_cell *cell = cell_with(section, row, column, HOTPATH_UNIT_SERIES);
    const struct hotpath_series none = {0};
    const int status = hand_over(ret_series, ret_series->size,
                                 cell != NULL && cell->has_value ? cell->series : &none, sizeof none);
    return cell != NULL ? status : HOTPATH_E_OPTIONS;
}
