/*
 * Rows of objects, common to the tables of all kinds: one for each class, then one for each instance with a record,
 * largest count first. The rest of a class, from instances whose records were reused or that never had one, is
 * <other>. A class with a single instance has one row, since the other would be the same.
 *
 *     struct columns {
 *         struct hp_object_cells object;
 *         size_t sent;
 *     };
 *     hp_section_describe(results, section, 0, &columns)         its table has AT(object.name) and the others
 *     hp_object_rows_collect(&rows, results, is_wanted)
 *     hp_object_rows_show(&rows, section, fill_row, view)        fill_row calls hp_object_rows_fill
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_OBJECT_ROWS_H
#define HP_REPORT_OBJECT_ROWS_H

#include "object_profile.h"
#include "order.h"
#include "section.h"
#include "value_profile.h"

#define HP_OBJECT_OTHER "<other>"

/* Columns of all such tables. */
struct hp_object_cells {
    size_t name, instance, state, instances, live, threads, location;
};

/*
 * Their lines in the tables of columns. `state` is that of the record: a kind that knows better sets the cell
 * again.
 */
#define HP_OBJECT_ABOUT_INSTANCE                                                                                   \
    "The address of an instance; " HP_OBJECT_OTHER                                                                 \
    ": all instances without a row of their own; null: the row covers all instances."
#define HP_OBJECT_ABOUT_INSTANCES                                                                                  \
    "Instances that had a record, including ended ones; null in the row of one instance."
#define HP_OBJECT_ABOUT_LIVE "Instances that have not ended."
#define HP_OBJECT_ABOUT_THREADS "Thread records that used it."

/* A future row. */
struct hp_object_entry {
    const struct hp_object_record *record; /* for <other>, that of its class */
    struct hp_object_sums sums;
    size_t class_; /* rank among classes */
    bool is_instance;
    bool is_other; /* the sum of instances without a record */
};

struct hp_object_rows {
    struct hotpath_results *results;
    const struct hp_object_entry **entries; /* in the default order */
    size_t count;
};

/* Collects the objects of the run whose kinds are wanted. False: no memory. */
bool hp_object_rows_collect(struct hp_object_rows *rows, struct hotpath_results *results, hp_wants_kind *is_wanted);

/*
 * Applies the order and the limit of the settings, and calls `fill` for each. The section already has all its
 * columns. False: no memory.
 */
bool hp_object_rows_show(const struct hp_object_rows *rows, struct hotpath_section *section, size_t usual,
                         hp_fill_row *fill, void *view);

/*
 * Sets the requested percentiles of a histogram of ticks, in a family of columns. `distribution` holds the
 * histogram afterwards.
 */
void hp_object_set_percentiles(const struct hotpath_results *results, struct hp_row *row, const size_t *columns,
                               const struct hp_object_record *record, uint32_t histogram,
                               struct hp_value_distribution *distribution);

/* Sets all of `cells` and the identity of the row. False: no memory. */
bool hp_object_rows_fill(const struct hp_object_rows *rows, struct hp_row *row, const struct hp_object_cells *cells,
                         const struct hp_object_entry *entry);

#endif
