/*
 * Runs judged by a policy: which budgets are exceeded, and what has grown beyond its limit since the baseline.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COMPARE_GATES_H
#define HP_COMPARE_GATES_H

#include "comparison.h"
#include "policy.h"

enum hp_finding_kind {
    HP_FINDING_BROKEN,   /* a gate */
    HP_FINDING_UNJUDGED, /* the policy asks for what these runs cannot tell */
    HP_FINDING_ADVICE    /* a change that no gate limits, or what is not repeatable */
};

struct hp_finding {
    enum hp_finding_kind kind;
    const char *rule; /* "budget calls", "limit time" */
    const char *name; /* the function, or "" */
    const char *path; /* where it is in the sources, or "" */
    uint32_t line;
    const char *text; /* "calls 1200, budget 1000" */
};

struct hp_gates {
    struct hp_arena arena;
    struct hp_finding *findings; /* broken ones first */
    size_t count, room;
    size_t broken, unjudged, held; /* how many */
    bool has_no_memory;
};

/*
 * Judges the runs now by the policy, and against those before if they are a baseline; else both sides are the same
 * runs. `is_exact_only`: times are left out. False: no memory. Free it in either case.
 */
bool hp_gates_judge(struct hp_gates *gates, const struct hp_policy *policy, const struct hp_comparison *comparison,
                    bool has_baseline, bool is_exact_only);
void hp_gates_free(struct hp_gates *gates);

#endif
