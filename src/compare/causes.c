/* Of functions that have changed, callees come before their callers. SPDX-License-Identifier: MIT */
#include "causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PART 0.5 /* of a caller's change, for a callee to come before it */
#define MOST_PASSES 8  /* functions that call each other would be raised for ever */

/* Functions that have changed, and who of them calls whom, directly or not. They are few, calls may be many. */
struct graph {
    double *weights;
    size_t count;     /* of all functions */
    size_t *first;    /* place of each function's callees; one more, for the end of the last */
    size_t *callees;  /* of all functions */
    size_t *reached;  /* by one function, in the order in which they were found */
    bool *is_reached; /* of each function */
    size_t *changed;  /* functions */
    size_t changed_count;
    bool *does_call; /* [changed][changed] */
};

static void free_graph(struct graph *graph)
{
    free(graph->first);
    free(graph->is_reached);
    free(graph->does_call);
}

static bool make_graph(struct graph *graph, size_t call_count)
{
    for (size_t at = 0; at < graph->count; at++)
        graph->changed_count += graph->weights[at] > 0;
    graph->first = calloc(3 * graph->count + call_count + 2, sizeof *graph->first);
    graph->is_reached = calloc(graph->count + 1, sizeof *graph->is_reached);
    graph->does_call = calloc(graph->changed_count * graph->changed_count + 1, sizeof *graph->does_call);
    if (graph->first == NULL || graph->is_reached == NULL || graph->does_call == NULL) {
        free_graph(graph);
        return false;
    }
    graph->reached = graph->first + graph->count + 1;
    graph->changed = graph->reached + graph->count;
    graph->callees = graph->changed + graph->count;
    for (size_t at = 0, number = 0; at < graph->count; at++)
        if (graph->weights[at] > 0)
            graph->changed[number++] = at;
    return true;
}

/* By caller: where callees end, and when all are in their places, where they begin. */
static void sort_calls(struct graph *graph, const struct hp_cause_call *calls, size_t call_count)
{
    for (size_t at = 0; at < call_count; at++)
        graph->first[calls[at].caller]++;
    for (size_t at = 1; at <= graph->count; at++)
        graph->first[at] += graph->first[at - 1];
    for (size_t at = 0; at < call_count; at++)
        graph->callees[--graph->first[calls[at].caller]] = calls[at].callee;
}

/* Finds all that a function calls, directly or not. */
static void reach(struct graph *graph, size_t function)
{
    size_t count = 1;
    memset(graph->is_reached, 0, graph->count * sizeof *graph->is_reached);
    graph->reached[0] = function;
    graph->is_reached[function] = true;
    for (size_t at = 0; at < count; at++)
        for (size_t place = graph->first[graph->reached[at]]; place < graph->first[graph->reached[at] + 1];
             place++) {
            const size_t callee = graph->callees[place];
            if (!graph->is_reached[callee])
                graph->reached[count++] = callee;
            graph->is_reached[callee] = true;
        }
    graph->is_reached[function] = false;
}

static void find_callees(struct graph *graph)
{
    for (size_t caller = 0; caller < graph->changed_count; caller++) {
        bool *does_call = graph->does_call + caller * graph->changed_count;
        reach(graph, graph->changed[caller]);
        for (size_t callee = 0; callee < graph->changed_count; callee++)
            does_call[callee] = graph->is_reached[graph->changed[callee]];
    }
}

static bool raise_callees(struct graph *graph, size_t caller)
{
    const double weight = graph->weights[graph->changed[caller]];
    bool is_raised = false;
    for (size_t callee = 0; callee < graph->changed_count; callee++) {
        double *of_callee = &graph->weights[graph->changed[callee]];
        if (graph->does_call[caller * graph->changed_count + callee] && *of_callee <= weight &&
            *of_callee >= LEAST_PART * weight) {
            *of_callee = nextafter(weight, INFINITY);
            is_raised = true;
        }
    }
    return is_raised;
}

bool hp_causes_put_deepest_first(double *weights, size_t count, const struct hp_cause_call *calls,
                                 size_t call_count)
{
    struct graph graph = {.weights = weights, .count = count};
    bool is_raised = true;
    if (!make_graph(&graph, call_count))
        return false;
    sort_calls(&graph, calls, call_count);
    find_callees(&graph);
    for (size_t pass = 0; pass < MOST_PASSES && is_raised; pass++) {
        is_raised = false;
        for (size_t caller = 0; caller < graph.changed_count; caller++)
            is_raised = raise_callees(&graph, caller) || is_raised;
    }
    free_graph(&graph);
    return true;
}
