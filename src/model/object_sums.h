/*
 * The counters of an object over all threads and processes, combined as its kind says. Their meaning does not
 * matter here. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_OBJECT_SUMS_H
#define HP_MODEL_OBJECT_SUMS_H

#include "object_profile.h"

struct hp_object_sums {
    uint64_t count[HP_KIND_COUNTERS];
    uint64_t newest;  /* tick of the most recent part */
    uint32_t threads; /* records of threads that used it */
    uint32_t parts;   /* parts that were added */
};

void hp_object_sums_of(const struct hp_object_record *row, struct hp_object_sums *ret_sums);

/*
 * What remains of a class without its listed instances: the sum of instances without a row. Only counters that are
 * sums can be subtracted; the others are 0. False: nothing remains.
 */
bool hp_object_sums_left(const struct hp_object_record *row, const struct hp_object_sums *class_,
                         const struct hp_object_sums *instances, struct hp_object_sums *ret_left);

#endif
