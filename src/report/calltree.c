/*
 * The section `calltree`: one row per call path, parents before children, siblings sorted by total time or by the
 * column that HOTPATH_SORT names. SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "arith.h"
#include "cpu_profile.h"
#include "function_profile.h"
#include "identity.h"
#include "order.h"
#include "profile.h"
#include "section.h"
#include "shares.h"
#include "sort.h"
#include "tree_rows.h"
#include "wait_profile.h"

/* --------------------------------------------------------------------------------------------------- tree costs */

/*
 * What is known of call tree nodes besides their time.
 */
struct hp_node_waits;

struct hp_tree_cost {
    uint64_t own_cpu_ns;
    uint64_t all_cpu_ns;               /* with descendants */
    uint64_t all_wall_ns;              /* the same as time on the clock (function_profile.h) */
    const struct hp_node_waits *waits; /* NULL: no waits were seen */
    uint64_t own_bytes;
    bool has_bytes; /* allocations are known per site: for a node only if it is the site's only one */
};

struct hp_tree_costs {
    struct hp_tree_cost *nodes; /* one per node of the profile, in the same order */
    bool has_cpu, has_waits, has_allocs, has_wall;
    uint64_t wall_ns; /* of the run */
};

/* Children come after their parents, so their sums are complete when they are added. */
static bool find_cpu(struct hotpath_results *results, struct hp_tree_costs *costs)
{
    const struct hp_profile *profile = results->model->profile;
    const struct hp_cpu *cpu = hp_model_cpu(results->model);
    if (cpu == NULL)
        return false;
    for (size_t at = profile->node_count; at-- > 0;) {
        const struct hp_tree_node *parent = profile->nodes[at]->parent;
        struct hp_tree_cost *cost = &costs->nodes[at];
        cost->own_cpu_ns = hp_cpu_ns(&cpu->nodes[at]);
        cost->all_cpu_ns += cost->own_cpu_ns;
        if (parent != NULL)
            costs->nodes[parent->index].all_cpu_ns += cost->all_cpu_ns;
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct hp_zone_time *)a)->name, ((const struct hp_zone_time *)b)->name);
}

/* How much of a site's CPU time is time on the clock, by its samples; all of the run's, where it has none. */
static double wall_part(const struct hp_function_profile *functions, struct hp_zone_time *const *zones,
                        const struct hp_site_sums *site)
{
    size_t from = 0, to = site != NULL ? functions->zone_time_count : 0;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const int order = strcmp(zones[middle]->name, site->name);
        if (order == 0 && zones[middle]->cpu_ns > 0)
            return (double)zones[middle]->wall_ns / (double)zones[middle]->cpu_ns;
        *(order < 0 ? &from : &to) = order < 0 ? middle + 1 : middle;
    }
    return (double)functions->wall_ns / (double)functions->cpu_ns;
}

/* Samples know the zone that they are in, and not its path: all paths of a zone have the part of the zone. */
static bool find_wall(struct hotpath_results *results, struct hp_tree_costs *costs)
{
    const struct hp_profile *profile = results->model->profile;
    const struct hp_function_profile *functions = results->model->functions;
    const struct hp_cpu *cpu = hp_model_cpu(results->model);
    struct hp_zone_time **zones =
        hp_arena_take_array(results->model->arena, functions->zone_time_count + 1, sizeof(void *));
    if (zones == NULL)
        return false;
    for (size_t at = 0; at < functions->zone_time_count; at++)
        zones[at] = &functions->zone_times[at];
    hp_sort(zones, functions->zone_time_count, by_name);
    costs->wall_ns = (uint64_t)((double)hp_cpu_ns(&cpu->outside) * wall_part(functions, zones, NULL));
    for (size_t at = profile->node_count; at-- > 0;) {
        const struct hp_tree_node *node = profile->nodes[at];
        struct hp_tree_cost *cost = &costs->nodes[at];
        const uint64_t own_ns = (uint64_t)((double)cost->own_cpu_ns * wall_part(functions, zones, node->site));
        cost->all_wall_ns += own_ns;
        costs->wall_ns += own_ns;
        if (node->parent != NULL)
            costs->nodes[node->parent->index].all_wall_ns += cost->all_wall_ns;
    }
    return true;
}

static bool knows_wall(const struct hotpath_results *results)
{
    const struct hp_function_profile *functions = results->model->functions;
    return functions != NULL && functions->zone_time_count > 0 && hp_found_has_wall(functions);
}

static bool find_waits(struct hotpath_results *results, struct hp_tree_costs *costs)
{
    const struct hp_run_waits *waits = hp_model_waits(results->model);
    for (size_t at = 0; waits != NULL && at < results->model->profile->node_count; at++)
        costs->nodes[at].waits = waits->nodes[at];
    return waits != NULL;
}

static int compare_sites(const void *a, const void *b)
{
    const struct hp_tree_node *x = a, *y = b;
    return hp_by_number(hp_site_number(x->site), hp_site_number(y->site));
}

static bool is_same(const struct hp_tree_node *const *nodes, size_t one, size_t other)
{
    return compare_sites(nodes[one], nodes[other]) == 0;
}

static bool find_bytes(struct hotpath_results *results, struct hp_tree_costs *costs)
{
    const struct hp_profile *profile = results->model->profile;
    const size_t count = profile->node_count;
    const struct hp_tree_node **nodes = hp_arena_take_array(results->model->arena, count + 1, sizeof(void *));
    struct hp_site_allocs allocs;
    if (nodes == NULL)
        return false;
    for (size_t at = 0; at < count; at++)
        nodes[at] = profile->nodes[at];
    hp_sort(nodes, count, compare_sites);
    for (size_t at = 0; at < count; at++) {
        if ((at > 0 && is_same(nodes, at, at - 1)) || (at + 1 < count && is_same(nodes, at, at + 1)) ||
            hp_allocs_of_site_are_unknown(&results->model->run, nodes[at]->site))
            continue;
        hp_allocs_of_site(nodes[at]->site, &allocs);
        costs->nodes[nodes[at]->index].own_bytes = allocs.own_bytes;
        costs->nodes[nodes[at]->index].has_bytes = true;
    }
    return true;
}

/* False: no memory. */
static bool tree_costs_find(struct hotpath_results *results, struct hp_tree_costs *ret_costs)
{
    const struct hp_run *run = &results->model->run;
    *ret_costs = (struct hp_tree_costs){
        .has_cpu = hp_run_has_cpu(run), .has_waits = hp_run_has_waits(run), .has_allocs = hp_run_has_allocs(run)};
    ret_costs->has_wall = ret_costs->has_cpu && knows_wall(results);
    ret_costs->nodes = hp_arena_take_array(results->model->arena, results->model->profile->node_count + 1,
                                           sizeof *ret_costs->nodes);
    return ret_costs->nodes != NULL && (!ret_costs->has_cpu || find_cpu(results, ret_costs)) &&
           (!ret_costs->has_wall || find_wall(results, ret_costs)) &&
           (!ret_costs->has_waits || find_waits(results, ret_costs)) &&
           (!ret_costs->has_allocs || find_bytes(results, ret_costs));
}

/* ----------------------------------------------------------------------------------------------------- calltree */

/* Facts of this section. */
enum {
    HAS_CPU = HP_FACT_OWN,
    HAS_WAITS = HP_FACT_OWN << 1,
    HAS_POLLS = HP_FACT_OWN << 2,
    HAS_WALL = HP_FACT_OWN << 3
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    uint64_t whole;
    struct hp_tree_costs costs;
};

static const struct hp_tree_cost *costs_of(const struct view *view, const struct hp_tree_node *node)
{
    return &view->costs.nodes[node->index];
}

static const struct hp_node_waits *waits_of(const struct view *view, const struct hp_tree_node *node)
{
    static const struct hp_node_waits none;
    return costs_of(view, node)->waits != NULL ? costs_of(view, node)->waits : &none;
}

static bool is_sorted_by(const struct view *view, const char *key)
{
    return strcmp(view->section->columns[view->section->order.column].shown.key, key) == 0;
}

/* The sort key of siblings; equal for text columns. */
static uint64_t rank_of(const struct view *view, const struct hp_tree_node *node)
{
    const struct hp_sums *sums = &node->sums;
    const struct hp_tree_cost *cost = costs_of(view, node);
    const uint64_t number = is_sorted_by(view, "name")         ? 0
                            : is_sorted_by(view, "calls")      ? sums->calls
                            : is_sorted_by(view, "self_ns")    ? hp_sums_self(sums)
                            : is_sorted_by(view, "open")       ? sums->open
                            : is_sorted_by(view, "own_cpu_ns") ? cost->own_cpu_ns
                            : is_sorted_by(view, "all_cpu_ns") ? cost->all_cpu_ns
                            : is_sorted_by(view, "total_wall_ns") || is_sorted_by(view, "percent_wall")
                                ? cost->all_wall_ns
                            : is_sorted_by(view, "own_bytes") ? cost->own_bytes
                            : is_sorted_by(view, "waited_ns") ? waits_of(view, node)->ns
                                                              : sums->total;
    return view->section->order.is_ascending ? ~number : number;
}

static bool is_small(const struct view *view, const struct hp_tree_node *node)
{
    const struct hotpath_results *results = view->results;
    return node->site != results->model->profile->main &&
           hp_share_is_small(node->sums.total, view->whole, &results->settings->show);
}

static struct hp_tree_place place_of(const struct view *view, const struct hp_tree_node *node)
{
    return (struct hp_tree_place){
        .entry = node,
        .name = node->site->name,
        .parent = node->parent != NULL ? node->parent->index : HP_TREE_TOP,
        .rank = rank_of(view, node),
        .size = node->sums.total,
        .heat = node->sums.total,
        .is_wanted = node->sums.calls > 0 && hp_results_show(view->results, node->site),
        .is_small = is_small(view, node),
    };
}

/* False: no memory. */
static bool arrange(const struct view *view, struct hp_tree_rows *rows)
{
    const struct hotpath_results *results = view->results;
    const struct hp_profile *profile = results->model->profile;
    rows->count = profile->node_count;
    rows->places = hp_arena_take_array(results->model->arena, rows->count + 1, sizeof *rows->places);
    if (rows->places == NULL)
        return false;
    for (size_t at = 0; at < rows->count; at++)
        rows->places[at] = place_of(view, profile->nodes[at]);
    return hp_tree_rows_arrange(view->results, view->section, rows);
}

static void mark_row(const struct hotpath_results *results, struct hp_row *row, const struct hp_tree_node *node)
{
    row->id = hp_identity_of_site(node->site);
    row->is_open = node->sums.open > 0;
    row->is_main = node->site == results->model->profile->main;
    row->is_sampled = node->sums.untimed > 0;
    row->is_self_sampled = row->is_sampled || node->is_self_scaled;
}

/* Without the main function in the 100 %, it has no share. */
static struct hp_cell share_of(const struct view *view, const struct hp_tree_node *node)
{
    const bool is_wrapper = view->results->settings->show.exclude_wrapper && node->site->is_main;
    return hp_percent_of(node->sums.total, is_wrapper ? 0 : view->whole);
}

static void fields(struct hp_fields *to, void *of, const void *entry)
{
    const struct view *view = of;
    const struct hp_tree_node *node = entry;
    if (to->row != NULL)
        mark_row(to->results, to->row, node);
    HP_FIELD(to, node->site->name, "name", "Function", TEXT, HP_COLUMN_FIRST);
    HP_FIELD_IF(to, !hp_site_is_task(node->site), node->sums.calls, "calls", "Calls", COUNT,
                HP_COLUMN_KEEP | HP_COLUMN_SHOWN, "null for tasks: see polls.");
    HP_FIELD_IF(to, hp_site_is_task(node->site), node->sums.calls, "polls", "Polls", COUNT, HP_COLUMN_SHOWN,
                "How often tasks ran here; null: not a task.", .shown_by = HAS_POLLS);
    HP_FIELD(to, hp_fields_ns(to, node->sums.total), "total_ns", "Total", NS,
             HP_COLUMN_KEEP | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN, "Recursive calls count once.");
    HP_FIELD(to, hp_fields_ns(to, hp_sums_self(&node->sums)), "self_ns", "Self", NS,
             HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN, "Without measured callees.");
    HP_FIELD(to, share_of(view, node), "percent_total", "% Total", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE);
    HP_FIELD(to, node->sums.open, "open", "Open", COUNT, 0);
    HP_FIELD(to, costs_of(view, node)->own_cpu_ns, "own_cpu_ns", "Own CPU", NS, 0,
             "CPU time used here, without callees; absent if CPU time was not sampled.", .needs = HAS_CPU);
    HP_FIELD(to, costs_of(view, node)->all_cpu_ns, "all_cpu_ns", "All CPU", NS, 0,
             "CPU time including everything below.", .needs = HAS_CPU);
    HP_FIELD(to, costs_of(view, node)->all_wall_ns, "total_wall_ns", "Total Wall", NS, 0,
             "all_cpu_ns, each sample divided by the number of threads of the run that ran at that time; absent if "
             "only one thread ran at a time, or without stacks.",
             .needs = HAS_WALL);
    HP_FIELD(to, hp_percent_of(costs_of(view, node)->all_wall_ns, view->costs.wall_ns), "percent_wall", "% Wall",
             PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "total_wall_ns of the time in which any thread of the run ran.", .needs = HAS_WALL);
    HP_FIELD(to, waits_of(view, node)->ns, "waited_ns", "Waited", NS, 0,
             "Waiting seen here, without callees; absent if waits were not recorded.", .needs = HAS_WAITS);
    HP_FIELD(to, hp_histogram_of_waits(to->results->model->arena, waits_of(view, node)->by_cause), "waits_ns",
             "Waits", HISTOGRAM, 0, "Waiting by cause, the longest first.", .words = HP_WAIT_CAUSE_WORDS,
             .needs = HAS_WAITS);
    HP_FIELD_IF(to, costs_of(view, node)->has_bytes, costs_of(view, node)->own_bytes, "own_bytes", "Own Bytes",
                BYTES, 0,
                "Bytes requested by these calls themselves; null if the function is elsewhere in the tree too: "
                "then only their sum is known. Absent if no allocations were recorded.",
                .needs = HP_FACT_ALLOCS);
    HP_FIELD(to, hp_share_scaled_name(to->row->is_sampled, to->row->is_self_sampled), "scaled", "Scaled", TEXT, 0,
             HP_ABOUT_SCALED, .words = HP_SCALED_WORDS);
}

/* The note on shares of several processes is below the functions. */
static void add_notes(const struct view *view, struct hotpath_section *section)
{
    const struct hp_row any = hp_section_marks_of_rows(section);
    const struct hp_profile *profile = view->results->model->profile;
    if (any.is_open)
        hp_section_note(section, hp_share_open_note(profile));
    if (any.is_self_sampled)
        hp_share_note_scaled(profile, section);
    if (profile->run->count > 1)
        hp_section_note(section, hp_share_note(profile, section->percent_of));
}

static bool describe(struct view *view)
{
    const bool has_polls = hp_run_has_objects(&view->results->model->run, hp_is_task_kind);
    const uint32_t facts = (view->costs.has_cpu ? HAS_CPU : 0u) | (view->costs.has_waits ? HAS_WAITS : 0u) |
                           (has_polls ? HAS_POLLS : 0u) | (view->costs.has_wall ? HAS_WALL : 0u);
    return hp_section_begin(view->results, view->section, view, facts, "total_ns", "percent_total");
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_profile *profile = results->model->profile;
    struct view view = {.results = results, .section = section};
    struct hp_tree_rows rows = {0};
    section->description = "Who called whom.";
    section->main = profile->main != NULL ? profile->main->name : NULL;
    if (!tree_costs_find(results, &view.costs) || !describe(&view))
        return false;
    section->if_empty = profile->site_count > 0 ? "no function matches the focus" : "nothing was measured";
    view.whole = hp_share_whole(profile, NULL, &results->settings->show, &section->percent_of);
    if (!arrange(&view, &rows))
        return false;
    if (rows.row_count == 0 && rows.wanted_count > 0)
        section->if_empty = "every path has a smaller share than HOTPATH_MIN_PERCENT";
    if (!hp_tree_rows_fill(results, section, &rows, &view))
        return false;
    add_notes(&view, section);
    return true;
}

static bool has_data(const struct hotpath_results *results) { return results->model->profile->node_count > 0; }

const struct hp_section_type hp_section_calltree = {.name = "calltree",
                                                    .is_of_ticks = true,
                                                    .is_on_request = true,
                                                    .has_data = has_data,
                                                    .fill = fill,
                                                    .is_tree = true,
                                                    .fields = fields,
                                                    .about_row = "A path of calls.",
                                                    .always = "percent_of|order"};
