/*
 * Single calls of measured functions with known times: the latest calls of functions whose calls are logged, and
 * the slowest call of every function, per thread. All others are only in sums. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_LOGGED_CALLS_H
#define HP_EXPORT_LOGGED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_model;

struct hp_export_call {
    const char *name;   /* of the function */
    const char *thread; /* "worker 4243" */
    const char *note;   /* NULL: none */
    double start_ns;    /* since the run began */
    double ns;
    uint64_t alloc_bytes, alloc_count;
    bool is_slowest; /* and not among the latest, or these were not logged */
};

struct hp_export_calls {
    struct hp_export_call *all; /* sorted by start */
    size_t count;
    bool has_allocs; /* their allocations are known */
};

/* Valid as long as the model. NULL: no memory. */
const struct hp_export_calls *hp_export_calls_make(struct hp_model *model);

#endif
