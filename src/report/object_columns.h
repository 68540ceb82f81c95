/*
 * Columns that the kinds of a session describe: one for each counter, and one for each percentile of a histogram.
 * Two kinds with a key in common share its column. Nothing in a session is trusted: an invalid key is not shown.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_OBJECT_COLUMNS_H
#define HP_REPORT_OBJECT_COLUMNS_H

#include "object_profile.h"
#include "section.h"
#include "value_profile.h"

struct hp_object_columns {
    struct hotpath_results *results;
    struct hotpath_section *section;
    size_t fixed; /* columns before these */
};

/* The section already has all its other columns. */
void hp_object_columns_begin(struct hp_object_columns *columns, struct hotpath_results *results,
                             struct hotpath_section *section);

/* Adds those of an object's kind. Call it before there are rows. False: no memory. */
bool hp_object_columns_add(const struct hp_object_columns *columns, const struct hp_object_record *record);

/* Sets a cell of an object's row; does nothing if there is no such column. */
void hp_object_columns_set(const struct hp_object_columns *columns, struct hp_row *row,
                           const struct hp_object_record *record, uint32_t counter, uint64_t count);
void hp_object_columns_set_percentiles(const struct hp_object_columns *columns, struct hp_row *row,
                                       const struct hp_object_record *record, uint32_t histogram,
                                       const struct hp_value_distribution *distribution);

#endif
