/* Of functions that have changed, callees come before their callers. SPDX-License-Identifier: MIT */
#include "causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PART 0.5 /* of a caller's change, for a callee to come before it */
#define MOST_PASSES 8  /* functions that call each other would be raised for ever */

struct graph {
    double *weights;
    size_t count;
    const struct hp_cause_call *calls;
    size_t call_count;
    bool *marks; /* of functions that are called by one */
};

/* Marks all that a function calls, directly or not. */
static void mark_callees(struct graph *graph, size_t function)
{
    bool is_more = true;
    memset(graph->marks, 0, graph->count * sizeof *graph->marks);
    while (is_more) {
        is_more = false;
        for (size_t at = 0; at < graph->call_count; at++) {
            const struct hp_cause_call *call = &graph->calls[at];
            if ((call->caller == function || graph->marks[call->caller]) && !graph->marks[call->callee])
                is_more = graph->marks[call->callee] = true;
        }
    }
    graph->marks[function] = false;
}

static bool raise_callees(struct graph *graph, size_t caller)
{
    const double weight = graph->weights[caller];
    bool is_raised = false;
    mark_callees(graph, caller);
    for (size_t at = 0; at < graph->count; at++)
        if (graph->marks[at] && graph->weights[at] <= weight && graph->weights[at] >= LEAST_PART * weight) {
            graph->weights[at] = nextafter(weight, INFINITY);
            is_raised = true;
        }
    return is_raised;
}

bool hp_causes_put_deepest_first(double *weights, size_t count, const struct hp_cause_call *calls,
                                 size_t call_count)
{
    struct graph graph = {weights, count, calls, call_count, calloc(count + 1, sizeof *graph.marks)};
    bool is_raised = graph.marks != NULL;
    for (size_t pass = 0; pass < MOST_PASSES && is_raised; pass++) {
        is_raised = false;
        for (size_t at = 0; at < count; at++)
            if (weights[at] > 0)
                is_raised = raise_callees(&graph, at) || is_raised;
    }
    free(graph.marks);
    return graph.marks != NULL;
}
