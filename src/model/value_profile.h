/*
 * Values, gauges, counts and debugged expressions, over all threads and processes: objects with the counters of
 * enum hp_value_counter. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_VALUE_PROFILE_H
#define HP_MODEL_VALUE_PROFILE_H

#include "object_profile.h"

/* -------------------------------------------------------------------------------------------------- recent list */

/* The latest values or texts of an object, over all threads and processes. */

#define HP_RECENT_SHOWN 15u

struct hp_recent_list {
    struct hp_recent_copy all[HP_RECENT_SHOWN]; /* newest first */
    uint32_t count;
};

/* Adds those of one more part; the oldest are dropped if there is no room. */
void hp_recent_list_add(struct hp_recent_list *list, const struct hp_snapshot *session, const struct hp_part *part);

/* Those of all parts of a row. */
void hp_recent_list_of(const struct hp_object_record *row, struct hp_recent_list *ret_list);

/* A number, kept as an integer as long as possible. */
struct hp_value_number {
    double real;
    int64_t whole; /* the same, if `is_whole` */
    bool is_whole;
};

struct hp_value_sums {
    bool is_gauge, is_count;
    uint64_t updates;
    uint64_t numbers; /* updates that were numbers, which the following are about; 0: none */
    struct hp_value_number least, most, total, level;
    bool has_level; /* of a gauge: its current value */
    double mean;
    uint64_t first_tick, last_tick;
    uint32_t parts;  /* threads that updated it */
    bool is_sampled; /* of a gauge: extremes and percentiles are of some of its levels only */
    struct hp_recent_list recent;
};

/* Whether a kind is one of these. */
bool hp_is_value(const char *name, const struct hp_kind *kind);

void hp_value_sums_of(const struct hp_object_record *row, struct hp_value_sums *ret_sums);

/* The distribution of the numbers. Large: keep one and reuse it. */
struct hp_value_distribution {
    struct hp_magnitudes positive, negative;
};

void hp_value_distribution_of(const struct hp_object_record *row, struct hp_value_distribution *ret_distribution);
/* One histogram of any kind, whose numbers are not negative. */
void hp_object_distribution_of(const struct hp_object_record *row, uint32_t histogram,
                               struct hp_value_distribution *ret_distribution);

/* How many numbers there were. */
uint64_t hp_distribution_count(const struct hp_value_distribution *distribution);

/*
 * The nearest-rank percentile, within 0.8 %; integers up to 127 are exact. 0 and 100 are those of the smallest and
 * largest step. False: there were no numbers.
 */
bool hp_distribution_percentile(const struct hp_value_distribution *distribution, double percentile, bool is_whole,
                                double *ret_number);

/*
 * The nearest-rank percentile, within 0.8 %; integers up to 127, 0 and 100 are exact. False: there were no numbers.
 */
bool hp_value_percentile(const struct hp_value_sums *sums, const struct hp_value_distribution *distribution,
                         double percentile, struct hp_value_number *ret_number);

#endif
