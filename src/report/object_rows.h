/*
 * Rows of objects, common to the tables of all kinds: one for each class, then one for each instance with a record,
 * largest count first. The rest of a class, from instances whose records were reused or that never had one, is
 * <other>. A class with a single instance has one row, since the other would be the same.
 *
 *     hp_section_describe(results, section, view, 0)
 *     hp_object_rows_collect(&rows, results, is_wanted)
 *     hp_object_rows_show(&rows, section, "sent", view)      its fields have those of all such tables, see below
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_OBJECT_ROWS_H
#define HP_REPORT_OBJECT_ROWS_H

#include "object_profile.h"
#include "order.h"
#include "section.h"
#include "text.h"
#include "value_profile.h"

#define HP_OBJECT_OTHER "<other>"

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
    struct hp_value_distribution *distribution; /* room for one of the row being filled */
};

/* Collects the objects of the run whose kinds are wanted. False: no memory. */
bool hp_object_rows_collect(struct hp_object_rows *rows, struct hotpath_results *results, hp_wants_kind *is_wanted);

/* Applies the order and the limit of the settings. The section already has all its columns. False: no memory. */
bool hp_object_rows_show(const struct hp_object_rows *rows, struct hotpath_section *section, const char *usual,
                         void *view);

/* Fields of all such tables: which instance it is, and at the end how many there are and where. */
void hp_object_put_instance(struct hp_fields *to, const struct hp_object_entry *entry);
void hp_object_put_rest(struct hp_fields *to, const struct hp_object_entry *entry);
uint64_t hp_object_identity(const struct hp_object_entry *entry);
/* That of an instance, as in its record: "live", "ended"; NULL: the row covers several. */
const char *hp_object_state(const struct hp_object_entry *entry);

/* A percentile of a histogram of ticks, as nanoseconds. */
struct hp_cell hp_object_percentile(const struct hp_fields *to, const struct hp_value_distribution *distribution,
                                    double percentile);

/* "produce, refill, ...": who counts these; NULL: no function. */
const char *hp_object_list_users(struct hp_fields *to, const struct hp_object_record *record, uint32_t counter,
                                 uint32_t other);

/* The latest values, the newest first, separated by commas; NULL: none. Those of a record, or of a list. */
const char *hp_object_list_recent(struct hp_fields *to, const struct hp_object_record *record);
const char *hp_recent_list_text(struct hp_fields *to, const struct hp_recent_list *list);
/* Writes one of them. */
void hp_recent_put(struct hp_text *text, const struct hp_recent_copy *recent);

#endif
