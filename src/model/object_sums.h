/*
 * The counters of an object over all threads and processes, added up as its kind says. What they mean is not asked.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_OBJECT_SUMS_H
#define HP_MODEL_OBJECT_SUMS_H

#include "object_profile.h"

struct hp_object_sums {
    uint64_t count[HP_KIND_COUNTERS];
    uint64_t newest;  /* tick of the part that says what is newest */
    uint32_t threads; /* records of threads that used it */
    uint32_t parts;   /* that were added up */
};

void hp_object_sums_of(const struct hp_object_record *row, struct hp_object_sums *ret_sums);

/*
 * What is left of a class when what its instances counted is taken away: that of instances without a row. Only counters
 * that are sums can be taken away, the others are 0. False: nothing is left.
 */
bool hp_object_sums_left(const struct hp_object_record *row, const struct hp_object_sums *class_,
                         const struct hp_object_sums *instances, struct hp_object_sums *ret_left);

#endif
