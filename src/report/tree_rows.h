/*
 * The rows of a tree: which are shown, and in which order.
 *
 *     struct hp_tree_rows rows = {.places = places, .count = count};     filled by the caller, parents first
 *     if (!hp_tree_rows_arrange(results, section, &rows) || !hp_tree_rows_fill(results, section, &rows, &view))
 *         return false;
 *
 * The limit keeps the hottest rows, not the first ones. A row is as hot as the coldest on its path, so parents of
 * rows that are kept are kept, too. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_TREE_ROWS_H
#define HP_REPORT_TREE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "section.h"

#define HP_TREE_TOP UINT32_MAX
#define HP_TREE_DEEPEST                                                                                            \
    200u /* deeper rows are left out and only counted: readers of nested JSON have limits, too */

struct hp_tree_place {
    const void *entry; /* what the row shows */
    const char *name;
    uint32_t parent; /* a lower index; HP_TREE_TOP: none */
    /* Among its siblings: the higher, the earlier; then by size, then by name. */
    uint64_t rank, size;
    uint64_t heat;  /* in the end, the smallest on its path */
    bool is_wanted; /* matches the focus; in the end, or a descendant does */
    bool is_small;  /* too small to be shown; in the end, or an ancestor is */
    /* Set by hp_tree_rows_arrange: */
    bool is_kept;
    uint32_t depth;
    struct hp_tree_place *first_child, *next_sibling; /* in the order of rows */
};

struct hp_tree_rows {
    struct hp_tree_place *places; /* parents first */
    size_t count;
    size_t wanted_count;                /* rows that match the focus, small ones included */
    const struct hp_tree_place **order; /* the rows to show, parents first */
    size_t row_count;
};

/* False: no memory. */
bool hp_tree_rows_arrange(struct hotpath_results *results, const struct hotpath_section *section,
                          struct hp_tree_rows *rows);

/* Makes the rows of the section, each from its entry. False: no memory. */
bool hp_tree_rows_fill(struct hotpath_results *results, struct hotpath_section *section,
                       const struct hp_tree_rows *rows, void *view);

#endif
