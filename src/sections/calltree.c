/*
 * The section `calltree`: one row per path of calls, parents before children, siblings by total time.
 *
 * The limit keeps the hottest rows, not the first ones: a row counts as hot as the coldest on its path, so that
 * whoever is kept keeps its parents. SPDX-License-Identifier: MIT
 */
#include "calltree.h"

#include <string.h>

#include "arena.h"
#include "profile.h"
#include "sort.h"

/* Deeper paths are left out and show in the row counts: readers of nested JSON have limits, too. */
#define DEEPEST 200u

struct place {
    struct hp_tree_node *node;
    uint64_t heat;  /* the smallest total on the way here */
    bool is_wanted; /* it, or something below it, matches the focus */
    bool is_kept;
};

struct columns {
    size_t name, calls, total, percent, self, open;
};

struct view {
    struct hotpath_results *results;
    struct place *places; /* by index of the node: parents first */
    struct place **kept;  /* the hottest first, then in order of the tree */
    size_t kept_count;
    size_t wanted_count;
};

static struct place *place_of(const struct view *view, const struct hp_tree_node *node)
{
    return &view->places[node->index];
}

/* Children come first, so a match has reached the parent when the parent's turn comes. */
static void mark_wanted(struct view *view)
{
    const struct hp_profile *profile = view->results->profile;
    for (size_t at = profile->node_count; at-- > 0;) {
        struct hp_tree_node *node = profile->nodes[at];
        struct place *place = &view->places[at];
        place->node = node;
        if (node->sums.calls > 0 && hp_results_show(view->results, node->site))
            place->is_wanted = true;
        if (place->is_wanted && node->parent != NULL)
            place_of(view, node->parent)->is_wanted = true;
    }
}

static void collect_wanted(struct view *view)
{
    for (size_t at = 0; at < view->results->profile->node_count; at++) {
        struct place *place = &view->places[at];
        const struct hp_tree_node *parent = place->node->parent;
        place->heat = place->node->sums.total;
        if (parent != NULL && place_of(view, parent)->heat < place->heat)
            place->heat = place_of(view, parent)->heat;
        view->wanted_count += place->is_wanted;
        if (place->is_wanted && place->node->depth < DEEPEST)
            view->kept[view->kept_count++] = place;
    }
}

static int compare_heat(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->heat != y->heat)
        return x->heat > y->heat ? -1 : 1;
    return x->node->index == y->node->index ? 0 : x->node->index < y->node->index ? -1 : 1;
}

static void keep_hottest(struct view *view)
{
    const uint32_t limit = view->results->settings->calltree_limit;
    if (limit != 0 && limit != HOTPATH_NO_LIMIT && view->kept_count > limit) {
        hp_sort(view->kept, view->kept_count, compare_heat);
        view->kept_count = limit;
    }
    for (size_t at = 0; at < view->kept_count; at++)
        view->kept[at]->is_kept = true;
}

static int compare_siblings(const void *a, const void *b)
{
    const struct hp_tree_node *x = a, *y = b;
    if (x->sums.total != y->sums.total)
        return x->sums.total > y->sums.total ? -1 : 1;
    const int order = strcmp(x->site->name, y->site->name);
    return order != 0 ? order : x->index == y->index ? 0 : x->index < y->index ? -1 : 1;
}

/* Puts a list of siblings in order, by way of an array that has room for all nodes. */
static struct hp_tree_node *sort_siblings(struct hp_tree_node *first, struct hp_tree_node **scratch)
{
    size_t count = 0;
    for (struct hp_tree_node *node = first; node != NULL; node = node->next_sibling)
        scratch[count++] = node;
    hp_sort(scratch, count, compare_siblings);
    for (size_t at = 0; at < count; at++)
        scratch[at]->next_sibling = at + 1 < count ? scratch[at + 1] : NULL;
    return count > 0 ? scratch[0] : NULL;
}

static bool sort_tree(struct view *view)
{
    struct hp_profile *profile = view->results->profile;
    struct hp_tree_node **scratch =
        hp_arena_take_array(view->results->arena, profile->node_count + 1, sizeof(void *));
    if (scratch == NULL)
        return false;
    profile->first_root = sort_siblings(profile->first_root, scratch);
    for (size_t at = 0; at < profile->node_count; at++)
        profile->nodes[at]->first_child = sort_siblings(profile->nodes[at]->first_child, scratch);
    return true;
}

/* The next node in tree order, parents first; without recursion, since the depth is the file's choice. */
static const struct hp_tree_node *next_in_order(const struct view *view, const struct hp_tree_node *node)
{
    if (node->first_child != NULL && place_of(view, node)->is_kept)
        return node->first_child;
    while (node != NULL && node->next_sibling == NULL)
        node = node->parent;
    return node != NULL ? node->next_sibling : NULL;
}

static struct columns describe(struct hotpath_section *section)
{
    struct columns columns;
    columns.name = hp_section_add_column(section, "name", "Function", HOTPATH_UNIT_TEXT,
                                         HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns.calls = hp_section_add_column(section, "calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP, true);
    columns.total = hp_section_add_column(section, "total_ns", "Total", HOTPATH_UNIT_NS, HP_COLUMN_KEEP, true);
    columns.self = hp_section_add_column(section, "self_ns", "Self", HOTPATH_UNIT_NS, 0, true);
    columns.percent =
        hp_section_add_column(section, "percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE, true);
    columns.open = hp_section_add_column(section, "open", "Open", HOTPATH_UNIT_COUNT, 0, false);
    return columns;
}

static void fill_row(const struct view *view, const struct columns *columns, struct hp_row *row,
                     const struct hp_tree_node *node, uint64_t whole)
{
    const struct hp_run *run = &view->results->run;
    hp_section_set_text(row, columns->name, node->site->name);
    hp_section_set_count(row, columns->calls, node->sums.calls);
    hp_section_set_number(row, columns->total, hp_run_ns(run, node->sums.total));
    hp_section_set_number(row, columns->self, hp_run_ns(run, hp_sums_self(&node->sums)));
    if (whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)node->sums.total / (double)whole);
    hp_section_set_count(row, columns->open, node->sums.open);
    row->depth = node->depth;
    row->is_open = node->sums.open > 0;
    row->is_main = node->site == view->results->profile->main;
}

/* What is to be said of shares of one process stands below the functions. */
static void add_notes(const struct view *view, struct hotpath_section *section, bool has_open)
{
    const struct hp_profile *profile = view->results->profile;
    const char *share_note = hp_profile_share_note(profile, section->percent_of);
    if (has_open)
        hp_section_note(section, hp_profile_open_note(profile));
    if (share_note != NULL && profile->run->count > 1)
        hp_section_note(section, share_note);
}

static bool fill_rows(struct view *view, struct hotpath_section *section)
{
    const uint64_t whole = hp_profile_whole(view->results->profile, view->results->settings, &section->percent_of);
    const struct columns columns = describe(section);
    hp_section_show_columns(view->results, section);
    section->total_rows = view->wanted_count;
    if (!hp_section_make_rows(view->results, section, view->kept_count))
        return false;
    size_t at = 0;
    bool has_open = false;
    for (const struct hp_tree_node *node = view->results->profile->first_root; node != NULL;
         node = next_in_order(view, node))
        if (place_of(view, node)->is_kept && at < section->row_count) {
            fill_row(view, &columns, &section->rows[at], node, whole);
            has_open |= section->rows[at++].is_open;
        }
    section->row_count = at;
    add_notes(view, section, has_open);
    return true;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_profile *profile = results->profile;
    struct view view = {.results = results};
    section->description = "Who called whom.";
    section->main = profile->main != NULL ? profile->main->name : NULL;
    section->is_tree = true;
    section->if_empty = profile->node_count > 0 ? "no function matches the focus" : "nothing was measured";
    view.places = hp_arena_take_array(results->arena, profile->node_count + 1, sizeof *view.places);
    view.kept = hp_arena_take_array(results->arena, profile->node_count + 1, sizeof(void *));
    if (view.places == NULL || view.kept == NULL || !sort_tree(&view))
        return false;
    mark_wanted(&view);
    collect_wanted(&view);
    keep_hottest(&view);
    return fill_rows(&view, section);
}

static bool has_data(const struct hotpath_results *results) { return results->profile->node_count > 0; }

const struct hp_section_type hp_section_calltree = {
    .name = "calltree", .is_on_request = true, .has_data = has_data, .fill = fill};
