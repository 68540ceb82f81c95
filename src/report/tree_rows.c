/* Which rows of a tree are shown, and in which order. SPDX-License-Identifier: MIT */
#include "tree_rows.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "hotpath.h"
#include "sort.h"

static struct hp_tree_place *parent_of(const struct hp_tree_rows *rows, const struct hp_tree_place *place)
{
    return place->parent != HP_TREE_TOP ? &rows->places[place->parent] : NULL;
}

/* Visits children first, so a match has reached the parent when it is visited. */
static void mark_wanted(struct hp_tree_rows *rows)
{
    for (size_t at = rows->count; at-- > 0;) {
        struct hp_tree_place *parent = parent_of(rows, &rows->places[at]);
        if (rows->places[at].is_wanted && parent != NULL)
            parent->is_wanted = true;
        rows->wanted_count += rows->places[at].is_wanted;
    }
}

static void inherit(struct hp_tree_rows *rows)
{
    for (size_t at = 0; at < rows->count; at++) {
        struct hp_tree_place *place = &rows->places[at];
        const struct hp_tree_place *parent = parent_of(rows, place);
        if (parent == NULL)
            continue;
        place->depth = parent->depth + 1;
        place->is_small |= parent->is_small;
        if (parent->heat < place->heat)
            place->heat = parent->heat;
    }
}

static int by_place(const struct hp_tree_place *x, const struct hp_tree_place *y) { return x < y ? -1 : x > y; }

static int compare_heat(const void *a, const void *b)
{
    const struct hp_tree_place *x = a, *y = b;
    const int order = hp_by_number(y->heat, x->heat);
    return order != 0 ? order : by_place(x, y);
}

static void keep_hottest(struct hp_tree_rows *rows, struct hp_tree_place **places, uint32_t limit)
{
    size_t count = 0;
    for (size_t at = 0; at < rows->count; at++) {
        struct hp_tree_place *place = &rows->places[at];
        if (place->is_wanted && !place->is_small && place->depth < HP_TREE_DEEPEST)
            places[count++] = place;
    }
    if (limit != 0 && limit != HOTPATH_NO_LIMIT && count > limit) {
        hp_sort(places, count, compare_heat);
        count = limit;
    }
    for (size_t at = 0; at < count; at++)
        places[at]->is_kept = true;
    rows->row_count = count;
}

static int by_name(const struct hp_tree_place *x, const struct hp_tree_place *y)
{
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : by_place(x, y);
}

static int compare_names(const void *a, const void *b) { return by_name(a, b); }

static int compare_names_reversed(const void *a, const void *b) { return by_name(b, a); }

static int compare_ranks(const void *a, const void *b)
{
    const struct hp_tree_place *x = a, *y = b;
    int order = hp_by_number(y->rank, x->rank);
    if (order == 0)
        order = hp_by_number(y->size, x->size);
    return order != 0 ? order : by_name(x, y);
}

static hp_sort_compare *order_of(const struct hotpath_section *section)
{
    const struct hp_order *order = &section->order;
    if (strcmp(section->columns[order->column].shown.key, "name") != 0)
        return compare_ranks;
    return order->is_ascending ? compare_names : compare_names_reversed;
}

/* Sorts all kept places alike, and puts each before its siblings, the last one first. Returns the first row. */
static struct hp_tree_place *link_siblings(struct hp_tree_rows *rows, struct hp_tree_place **places,
                                           hp_sort_compare *compare)
{
    struct hp_tree_place *first = NULL;
    size_t count = 0;
    for (size_t at = 0; at < rows->count; at++)
        if (rows->places[at].is_kept)
            places[count++] = &rows->places[at];
    hp_sort(places, count, compare);
    while (count-- > 0) {
        struct hp_tree_place *parent = parent_of(rows, places[count]);
        struct hp_tree_place **front = parent != NULL ? &parent->first_child : &first;
        places[count]->next_sibling = *front;
        *front = places[count];
    }
    return first;
}

/* Parents first; without recursion, since files determine the depth. */
static const struct hp_tree_place *next_in_order(const struct hp_tree_rows *rows, const struct hp_tree_place *place)
{
    if (place->first_child != NULL)
        return place->first_child;
    while (place != NULL && place->next_sibling == NULL)
        place = parent_of(rows, place);
    return place != NULL ? place->next_sibling : NULL;
}

bool hp_tree_rows_arrange(struct hotpath_results *results, const struct hotpath_section *section,
                          struct hp_tree_rows *rows)
{
    struct hp_arena *arena = results->model->arena;
    struct hp_tree_place **places = hp_arena_take_array(arena, rows->count + 1, sizeof(void *));
    rows->order = hp_arena_take_array(arena, rows->count + 1, sizeof(void *));
    if (places == NULL || rows->order == NULL)
        return false;
    mark_wanted(rows);
    inherit(rows);
    keep_hottest(rows, places, results->settings->show.calltree_limit);
    const struct hp_tree_place *place = link_siblings(rows, places, order_of(section));
    for (size_t at = 0; place != NULL; place = next_in_order(rows, place))
        rows->order[at++] = place;
    return true;
}

bool hp_tree_rows_fill(struct hotpath_results *results, struct hotpath_section *section,
                       const struct hp_tree_rows *rows, void *view)
{
    section->total_rows = rows->wanted_count;
    if (!hp_section_make_rows(results, section, rows->row_count))
        return false;
    for (size_t at = 0; at < rows->row_count; at++) {
        section->rows[at].depth = rows->order[at]->depth;
        if (!hp_section_fill_row(results, section, &section->rows[at], view, rows->order[at]->entry))
            return false;
    }
    return true;
}
