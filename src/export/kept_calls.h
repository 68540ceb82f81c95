/*
 * Single calls of measured functions whose moments are known: those that sessions have kept, which are the latest ones of functions whose
 * calls are logged, and the slowest one of every function, by each thread. All others are sums. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_KEPT_CALLS_H
#define HP_EXPORT_KEPT_CALLS_H

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
    bool is_slowest; /* and not among the latest, or they were not kept */
};

struct hp_export_calls {
    struct hp_export_call *all; /* in order of their start */
    size_t count;
    bool has_allocs; /* whether it is known what they allocated */
};

/* As long as the model stays. NULL: no memory. */
const struct hp_export_calls *hp_export_calls_make(struct hp_model *model);

#endif
