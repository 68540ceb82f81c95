/* What is known of call tree nodes besides their time. SPDX-License-Identifier: MIT */
#include "tree_costs.h"

#include "alloc_profile.h"
#include "arena.h"
#include "arith.h"
#include "cpu_profile.h"
#include "profile.h"
#include "sort.h"
#include "wait_profile.h"

/* Children come after their parents, so their sums are complete when they are added. */
static bool find_cpu(struct hotpath_results *results, struct hp_tree_costs *costs)
{
    const struct hp_profile *profile = results->model->profile;
    const struct hp_cpu *cpu = hp_model_cpu(results->model);
    if (cpu == NULL)
        return false;
    for (size_t at = profile->node_count; at-- > 0;) {
        const struct hp_tree_node *parent = profile->nodes[at]->parent;
        struct hp_tree_cost *cost = &costs->nodes[at];
        cost->own_cpu_ns = hp_cpu_ns(&cpu->nodes[at]);
        cost->all_cpu_ns += cost->own_cpu_ns;
        if (parent != NULL)
            costs->nodes[parent->index].all_cpu_ns += cost->all_cpu_ns;
    }
    return true;
}

static bool find_waits(struct hotpath_results *results, struct hp_tree_costs *costs)
{
    const struct hp_run_waits *waits = hp_model_waits(results->model);
    for (size_t at = 0; waits != NULL && at < results->model->profile->node_count; at++)
        costs->nodes[at].waits = waits->nodes[at];
    return waits != NULL;
}

static int compare_sites(const void *a, const void *b)
{
    const struct hp_tree_node *x = a, *y = b;
    return hp_by_number(hp_site_number(x->site), hp_site_number(y->site));
}

static bool is_same(const struct hp_tree_node *const *nodes, size_t one, size_t other)
{
    return compare_sites(nodes[one], nodes[other]) == 0;
}

static bool find_bytes(struct hotpath_results *results, struct hp_tree_costs *costs)
{
    const struct hp_profile *profile = results->model->profile;
    const size_t count = profile->node_count;
    const struct hp_tree_node **nodes = hp_arena_take_array(results->model->arena, count + 1, sizeof(void *));
    struct hp_site_allocs allocs;
    if (nodes == NULL)
        return false;
    for (size_t at = 0; at < count; at++)
        nodes[at] = profile->nodes[at];
    hp_sort(nodes, count, compare_sites);
    for (size_t at = 0; at < count; at++) {
        if ((at > 0 && is_same(nodes, at, at - 1)) || (at + 1 < count && is_same(nodes, at, at + 1)) ||
            hp_allocs_of_site_are_unknown(&results->model->run, nodes[at]->site))
            continue;
        hp_allocs_of_site(nodes[at]->site, &allocs);
        costs->nodes[nodes[at]->index].own_bytes = allocs.own_bytes;
        costs->nodes[nodes[at]->index].has_bytes = true;
    }
    return true;
}

bool hp_tree_costs_find(struct hotpath_results *results, struct hp_tree_costs *ret_costs)
{
    const struct hp_run *run = &results->model->run;
    *ret_costs = (struct hp_tree_costs){
        .has_cpu = hp_run_has_cpu(run), .has_waits = hp_run_has_waits(run), .has_allocs = hp_run_has_allocs(run)};
    ret_costs->nodes = hp_arena_take_array(results->model->arena, results->model->profile->node_count + 1,
                                           sizeof *ret_costs->nodes);
    return ret_costs->nodes != NULL && (!ret_costs->has_cpu || find_cpu(results, ret_costs)) &&
           (!ret_costs->has_waits || find_waits(results, ret_costs)) &&
           (!ret_costs->has_allocs || find_bytes(results, ret_costs));
}
