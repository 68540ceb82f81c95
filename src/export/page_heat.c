/*
 * How the durations of each function's calls were distributed over time, for the page: counts by step and bucket,
 * only those that are not 0. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "arena.h"
#include "heat_map.h"
#include "page.h"
#include "units.h"

#define MOST_STEPS 96u
#define MOST_FUNCTIONS 200u
#define LEAST_STEP_NS HP_AXIS_FIRST_SLOT_NS

struct heat {
    struct hp_model *model;
    struct hp_run_steps steps;
    uint64_t moments[MOST_STEPS + 1];
    double (*calls)[HP_HEAT_BUCKETS];
    struct hp_page_column column;
};

static void set_steps(struct heat *heat)
{
    const uint64_t whole = hp_run_elapsed_ns(&heat->model->run), steps = whole / LEAST_STEP_NS;
    const size_t count = steps < 1 ? 1 : steps < MOST_STEPS ? (size_t)steps : MOST_STEPS;
    heat->steps = (struct hp_run_steps){.moments = heat->moments, .count = count};
    for (size_t at = 0; at <= count; at++)
        heat->moments[at] = (uint64_t)((double)whole * (double)at / (double)count);
}

/* The place of each count, as distance from the one before; then the counts. False: no memory. */
static bool put_counts(struct heat *heat, struct hp_json *json)
{
    const double *calls = heat->calls[0];
    const size_t places = heat->steps.count * HP_HEAT_BUCKETS;
    size_t count = 0, last = 0;
    for (size_t at = 0; at < places; at++)
        if (calls[at] >= 0.5) {
            hp_page_column_add(&heat->column, at - last);
            last = at;
            count++;
        }
    hp_json_put_u64(json, "count", count);
    bool has_memory = hp_page_column_put(&heat->column, json, "places");
    for (size_t at = 0; at < places; at++)
        if (calls[at] >= 0.5)
            hp_page_column_add(&heat->column, hp_units_round(calls[at]));
    return hp_page_column_put(&heat->column, json, "calls") && has_memory;
}

static bool put_function(struct heat *heat, struct hp_json *json, const struct hp_site_sums *site)
{
    memset(heat->calls, 0, heat->steps.count * sizeof *heat->calls);
    if (!hp_heat_map_add(heat->model->profile, site, &heat->steps, heat->calls))
        return true;
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", site->name);
    const bool has_memory = put_counts(heat, json);
    hp_json_end_object(json);
    return has_memory;
}

static void put_buckets(const struct heat *heat, struct hp_json *json)
{
    double from_ns, to_ns = 0;
    hp_json_key(json, "buckets_ns");
    hp_json_begin_array(json);
    for (uint32_t bucket = 0; bucket < HP_HEAT_BUCKETS; bucket++) {
        hp_heat_bucket_ns(&heat->model->run, bucket, &from_ns, &to_ns);
        hp_json_number(json, from_ns, 9);
    }
    hp_json_number(json, to_ns, 9);
    hp_json_end_array(json);
}

bool hp_page_put_heat(struct hp_json *json, struct hp_model *model)
{
    struct heat heat = {.model = model};
    const struct hp_profile *profile = model->profile;
    bool has_memory = true;
    if (profile->site_count == 0 || model->run.range != NULL) {
        hp_json_null(json);
        return true;
    }
    set_steps(&heat);
    heat.calls = hp_arena_take_array(model->arena, heat.steps.count, sizeof *heat.calls);
    if (heat.calls == NULL || !hp_page_column_begin(&heat.column, heat.steps.count * HP_HEAT_BUCKETS))
        return false;
    hp_json_begin_object(json);
    hp_json_put_u64(json, "steps", heat.steps.count);
    put_buckets(&heat, json);
    hp_json_key(json, "functions");
    hp_json_begin_array(json);
    for (size_t at = 0; at < profile->site_count && at < MOST_FUNCTIONS && has_memory; at++)
        has_memory = put_function(&heat, json, profile->sites[at]);
    hp_json_end_array(json);
    hp_json_end_object(json);
    hp_page_column_free(&heat.column);
    return has_memory;
}
