/*
 * Measured functions as weighted stacks. What is outside all of them is a stack of its own, so that totals match
 * the report. SPDX-License-Identifier: MIT
 */
#include "zone_weights.h"

#include <stdlib.h>

#include "alloc_profile.h"
#include "arena.h"
#include "cpu_profile.h"
#include "labels.h"
#include "profile.h"
#include "text.h"
#include "units.h"
#include "wait_profile.h"

#define SEVERAL_CALLERS "<several callers>"

struct zones {
    struct hp_weighted *weighted;
    struct hp_model *model;
    uint32_t *nodes; /* one per node of the call tree */
};

/* The node of each function, by number, if it has only one; ROOT: it has several. */
struct places {
    uint32_t *all;
    size_t count;
};

static uint64_t ns_of(const struct zones *zones, uint64_t ticks)
{
    return hp_units_round(hp_run_ns(&zones->model->run, ticks));
}

static uint32_t function_of(const struct zones *zones, const struct hp_site_sums *site)
{
    return hp_weighted_function(zones->weighted, site->name, site->location.file != NULL ? site->location.file : "",
                                HP_NO_LIBRARY);
}

/* A node that is not a call. */
static uint32_t label_below(const struct zones *zones, uint32_t parent, const char *label)
{
    const uint32_t function = hp_weighted_function(zones->weighted, label, "", HP_NO_LIBRARY);
    return hp_weighted_below(zones->weighted, parent, function, 0, false);
}

/* ------------------------------------------------------------------------------------------------------ time */

static void add_time(const struct zones *zones)
{
    const struct hp_profile *profile = zones->model->profile;
    for (size_t at = 0; at < profile->node_count; at++) {
        const struct hp_tree_node *node = profile->nodes[at];
        const uint32_t parent = node->parent != NULL ? zones->nodes[node->parent->index] : HP_WEIGHTED_ROOT;
        zones->nodes[at] = hp_weighted_below(zones->weighted, parent, function_of(zones, node->site),
                                             node->site->location.line, false);
        hp_weighted_add(zones->weighted, HP_OF_ZONES, zones->nodes[at], ns_of(zones, hp_sums_self(&node->sums)),
                        node->sums.calls);
    }
}

/* -------------------------------------------------------------------------------------------------- CPU time */

static void add_cpu_of(const struct zones *zones, uint32_t node, const struct hp_cpu_sums *sums)
{
    hp_weighted_add(zones->weighted, HP_OF_ZONE_CPU, node, hp_cpu_ns(sums), sums->samples);
}

static bool add_cpu(const struct zones *zones)
{
    const struct hp_cpu *cpu = hp_model_cpu(zones->model);
    if (cpu == NULL)
        return false;
    for (size_t at = 0; at < zones->model->profile->node_count; at++)
        add_cpu_of(zones, zones->nodes[at], &cpu->nodes[at]);
    add_cpu_of(zones, label_below(zones, HP_WEIGHTED_ROOT, HP_OUTSIDE), &cpu->outside);
    add_cpu_of(zones, label_below(zones, HP_WEIGHTED_ROOT, HP_STARTUP), &cpu->startup);
    return true;
}

/* ----------------------------------------------------------------------------------------------------- waits */

/* The wait cause is on top of the waiting function. */
static bool add_wait(const struct zones *zones, uint32_t node, uint32_t cause, uint64_t ns)
{
    char bytes[80];
    struct hp_text label;
    if (ns == 0)
        return true;
    hp_text_init(&label, bytes, sizeof bytes);
    hp_text_format(&label, "[waiting: %s]", hp_wait_cause_name(cause));
    const char *kept = hp_arena_copy(zones->model->arena, label.bytes, label.length);
    if (kept != NULL)
        hp_weighted_add(zones->weighted, HP_OF_ZONE_WAITS, label_below(zones, node, kept), ns, 0);
    return kept != NULL;
}

static bool add_waits(const struct zones *zones)
{
    const struct hp_run_waits *waits = hp_model_waits(zones->model);
    bool has_memory = waits != NULL;
    for (size_t at = 0; has_memory && at < zones->model->profile->node_count; at++)
        for (uint32_t cause = 0; waits->nodes[at] != NULL && cause < HP_WAIT_CAUSES; cause++)
            has_memory &= add_wait(zones, zones->nodes[at], cause, waits->nodes[at]->by_cause[cause]);
    for (size_t at = 0; has_memory && at < waits->count; at++)
        if (waits->all[at]->site == NULL)
            has_memory &= add_wait(zones, label_below(zones, HP_WEIGHTED_ROOT, HP_OUTSIDE), waits->all[at]->cause,
                                   waits->all[at]->ns);
    return has_memory;
}

/* ----------------------------------------------------------------------------------------------- allocations */

static bool find_places(const struct zones *zones, struct places *ret_places)
{
    const size_t count = zones->weighted->function_count;
    uint32_t *places = calloc(count + 1, sizeof *places);
    bool *is_seen = calloc(count + 1, sizeof *is_seen);
    for (size_t at = 0; places != NULL && is_seen != NULL && at < zones->model->profile->node_count; at++) {
        const uint32_t node = zones->nodes[at], function = zones->weighted->nodes[node].function;
        places[function] = is_seen[function] && places[function] != node ? HP_WEIGHTED_ROOT : node;
        is_seen[function] = true;
    }
    *ret_places = (struct places){places, count};
    const bool has_memory = places != NULL && is_seen != NULL;
    free(is_seen);
    return has_memory;
}

/* Allocations are known per function, not per call path. */
static uint32_t place_of(const struct zones *zones, const struct places *places, const struct hp_site_sums *site)
{
    const uint32_t function = function_of(zones, site);
    if (function < places->count && places->all[function] != HP_WEIGHTED_ROOT)
        return places->all[function];
    return hp_weighted_below(zones->weighted, label_below(zones, HP_WEIGHTED_ROOT, SEVERAL_CALLERS), function,
                             site->location.line, false);
}

static void add_allocs_of(const struct zones *zones, const struct places *places, const struct hp_site_sums *site)
{
    struct hp_site_allocs allocs;
    hp_allocs_of_site(site, &allocs);
    if (allocs.own_bytes > 0 || allocs.own_count > 0)
        hp_weighted_add(zones->weighted, HP_OF_ZONE_ALLOC, place_of(zones, places, site), allocs.own_bytes,
                        allocs.own_count);
}

static bool add_allocs(const struct zones *zones)
{
    const struct hp_profile *profile = zones->model->profile;
    const struct hp_allocs *allocs = hp_model_allocs(zones->model);
    struct places places = {0};
    const bool has_memory = allocs != NULL && find_places(zones, &places);
    for (size_t at = 0; has_memory && at < profile->site_count; at++)
        add_allocs_of(zones, &places, profile->sites[at]);
    for (size_t at = 0; has_memory && at < allocs->thread_count; at++)
        hp_weighted_add(zones->weighted, HP_OF_ZONE_ALLOC, label_below(zones, HP_WEIGHTED_ROOT, HP_OUTSIDE),
                        allocs->threads[at].outside_bytes, allocs->threads[at].outside_count);
    free(places.all);
    return has_memory;
}

bool hp_zone_weights_add(struct hp_weighted *weighted, struct hp_model *model)
{
    struct zones zones = {.weighted = weighted, .model = model};
    const struct hp_run *run = &model->run;
    if (model->profile->site_count == 0) /* none was called: everything would be outside */
        return true;
    zones.nodes = calloc(model->profile->node_count, sizeof *zones.nodes);
    if (zones.nodes == NULL)
        return false;
    add_time(&zones);
    const bool has_memory = !weighted->lacks_memory && (!hp_run_has_cpu(run) || add_cpu(&zones)) &&
                            (!hp_run_has_waits(run) || add_waits(&zones)) &&
                            (!hp_run_has_allocs(run) || add_allocs(&zones));
    free(zones.nodes);
    return has_memory && !weighted->lacks_memory;
}
