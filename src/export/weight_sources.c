/* Converts stacks to weighted stacks. SPDX-License-Identifier: MIT */
#include "weight_sources.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "arith.h"
#include "cpu_profile.h"
#include "function_profile.h"
#include "function_role.h"
#include "labels.h"
#include "path_processes.h"
#include "profile.h"
#include "text.h"
#include "units.h"
#include "wait_profile.h"

/* ---------------------------------------------------------------------------------------- measured functions */

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

/* A wait for a cause is on top of the function that waits. False: no memory. */
static bool wait_below(const struct zones *zones, uint32_t parent, const char *cause, uint32_t *ret_node)
{
    char label[80];
    const int length = snprintf(label, sizeof label, "[waiting: %s]", cause);
    const char *kept = hp_arena_copy(zones->model->arena, label, (size_t)length);
    if (kept != NULL)
        *ret_node = label_below(zones, parent, kept);
    return kept != NULL;
}

static bool add_wait(const struct zones *zones, uint32_t node, uint32_t cause, uint64_t ns)
{
    if (ns == 0)
        return true;
    if (!wait_below(zones, node, hp_wait_cause_name(cause), &node))
        return false;
    hp_weighted_add(zones->weighted, HP_OF_ZONE_WAITS, node, ns, 0);
    return true;
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

/* ---------------------------------------------------------------------------------------------- critical path */

static uint32_t path_frame(const struct zones *zones, uint32_t parent, const char *name, const char *file)
{
    return hp_weighted_below(zones->weighted, parent,
                             hp_weighted_function(zones->weighted, name, file, HP_NO_LIBRARY), 0, false);
}

/* What is no function, and functions whose callers are not known. */
static bool add_path_rows(const struct zones *zones, const struct hp_run_path *path)
{
    bool has_memory = true;
    for (size_t at = 0; has_memory && at < path->function_count; at++) {
        const struct hp_path_function *function = path->functions[at];
        if (function->found != NULL || function->time == HP_PATH_IDLE)
            continue;
        const char *file =
            function->site != NULL && function->site->location.file != NULL ? function->site->location.file : "";
        uint32_t place = path_frame(zones, HP_WEIGHTED_ROOT, hp_path_function_name(function), file);
        if (function->time == HP_PATH_WAITING && function->cause != NULL)
            has_memory = wait_below(zones, place, function->cause, &place);
        hp_weighted_add(zones->weighted, HP_OF_PATH, place, ns_of(zones, function->ticks), 0);
    }
    return has_memory;
}

/* Parents come before their callees. What starts threads says nothing. */
static bool add_path_stacks(const struct zones *zones, const struct hp_run_path *path)
{
    const struct hp_function_profile *functions = zones->model->functions;
    bool has_memory = true;
    for (size_t at = 1; has_memory && at < functions->node_count; at++) {
        const struct hp_found_node *node = &functions->nodes[at];
        const struct hp_found_function *function =
            node->function != HP_NO_FOUND ? &functions->all[node->function] : NULL;
        uint32_t place = zones->nodes[node->parent];
        if (function != NULL && hp_function_role(function->name, function->library) != HP_ROLE_START)
            place = path_frame(zones, place, function->shown, function->file);
        zones->nodes[at] = place;
        if (path->node_ns[at] == 0)
            continue;
        if (node->waits.text != NULL)
            has_memory = wait_below(zones, place, hp_wait_cause_name(node->cause), &place);
        hp_weighted_add(zones->weighted, HP_OF_PATH, place, path->node_ns[at], 0);
    }
    return has_memory;
}

bool hp_path_weights_add(struct hp_weighted *weighted, struct hp_model *model)
{
    struct zones zones = {.weighted = weighted, .model = model};
    const struct hp_run_path *path = hp_run_has_path(&model->run) ? hp_model_path(model) : NULL;
    if (path == NULL || !path->is_followed)
        return !hp_run_has_path(&model->run) || path != NULL;
    if (!add_path_rows(&zones, path))
        return false;
    zones.nodes = path->node_ns != NULL ? calloc(model->functions->node_count + 1, sizeof *zones.nodes) : NULL;
    const bool has_memory = path->node_ns == NULL || (zones.nodes != NULL && add_path_stacks(&zones, path));
    free(zones.nodes);
    return has_memory && !weighted->lacks_memory;
}

/* ---------------------------------------------------------------------------------------------------- stacks */

#define NO_WEIGHT HP_STACK_WEIGHTS

/* Which weights of a stack make a dimension. */
static const struct {
    enum hp_dimension dimension;
    enum hp_stack_weight parts[2];
    enum hp_stack_weight count;
} rows[] = {
    {HP_OF_CPU, {HP_STACK_USER_NS, HP_STACK_KERNEL_NS}, HP_STACK_SAMPLES},
    {HP_OF_WALL, {HP_STACK_WALL_NS, NO_WEIGHT}, NO_WEIGHT},
    {HP_OF_WAITS, {HP_STACK_WAITED_NS, NO_WEIGHT}, HP_STACK_WAITS},
    {HP_OF_ALLOC, {HP_STACK_ALLOC_BYTES, NO_WEIGHT}, HP_STACK_ALLOC_BLOCKS},
    {HP_OF_ALLOC_PEAK, {HP_STACK_PEAK_BYTES, NO_WEIGHT}, HP_STACK_PEAK_BLOCKS},
    {HP_OF_ALLOC_LEFT, {HP_STACK_LEFT_BYTES, NO_WEIGHT}, HP_STACK_LEFT_BLOCKS},
};

/* Maps numbers in the stacks to numbers here. */
struct numbers {
    uint32_t *libraries, *functions, *nodes;
    uint32_t *way;             /* from a node to the root */
    struct hp_zone_share *own; /* per node: the part in no zone */
    bool *is_start;            /* per function: it starts programs or threads */
    bool *is_nameless;         /* per function */
    uint32_t *processes;       /* per program: how many processes ran it */
    bool has_programs;         /* several */
};

#define ROWS (sizeof rows / sizeof rows[0])

static uint64_t sum_of(const uint64_t *weight, size_t row)
{
    const enum hp_stack_weight second = rows[row].parts[1];
    return weight[rows[row].parts[0]] + (second != NO_WEIGHT ? weight[second] : 0);
}

static uint64_t count_of(const uint64_t *weight, size_t row)
{
    return rows[row].count != NO_WEIGHT ? weight[rows[row].count] : 0;
}

static void add_weights(struct hp_weighted *weighted, uint32_t place, const uint64_t *weight)
{
    for (size_t row = 0; row < ROWS; row++)
        hp_weighted_add(weighted, rows[row].dimension, place, sum_of(weight, row), count_of(weight, row));
}

static bool has_weight(const uint64_t *weight)
{
    for (size_t row = 0; row < ROWS; row++)
        if (sum_of(weight, row) > 0 || count_of(weight, row) > 0)
            return true;
    return false;
}

/* "inflate (libz.so.1)" */
static const char *name_with_library(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                                     const struct hp_named_function *function)
{
    if (!weighted->has_library_names || function->image >= stacks->image_count)
        return function->name;
    const char *library = hp_library_name(stacks, function->image);
    const size_t size = strlen(function->name) + strlen(library) + sizeof " ()";
    char *name = hp_arena_take(&weighted->texts, size);
    if (name == NULL) {
        weighted->lacks_memory = true;
        return function->name;
    }
    snprintf(name, size, "%s (%s)", function->name, library);
    return name;
}

/* All functions without names of a library, as one: "libz.so.1 [no symbols]" */
static uint32_t nameless_function(struct hp_weighted *weighted, const char *name_of_library, uint32_t library)
{
    const size_t size = strlen(name_of_library) + sizeof " [no symbols]";
    char *name = hp_arena_take(&weighted->texts, size);
    if (name == NULL) {
        weighted->lacks_memory = true;
        return 0;
    }
    snprintf(name, size, "%s [no symbols]", name_of_library);
    return hp_weighted_function(weighted, name, "", library);
}

static void add_functions(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                          struct numbers *numbers)
{
    for (size_t at = 0; at < stacks->image_count; at++)
        numbers->libraries[at] =
            hp_weighted_library(weighted, stacks->images[at].path, stacks->images[at].build_id);
    for (size_t at = 0; at < stacks->function_count; at++) {
        const struct hp_named_function *function = &stacks->functions[at];
        const uint32_t library =
            function->image < stacks->image_count ? numbers->libraries[function->image] : HP_NO_LIBRARY;
        const char *path = library != HP_NO_LIBRARY ? stacks->images[function->image].path : "";
        numbers->is_start[at] = hp_function_role(function->name, hp_text_base_name(path)) == HP_ROLE_START;
        numbers->is_nameless[at] = hp_is_nameless(function->name);
        if (weighted->is_for_people && numbers->is_nameless[at])
            numbers->functions[at] = nameless_function(weighted, hp_library_name(stacks, function->image), library);
        else
            numbers->functions[at] = hp_weighted_function(weighted, name_with_library(weighted, stacks, function),
                                                          function->file, library);
    }
}

/* ---------------------------------------------------------------------------------------------- processes */

static uint32_t put_below(struct hp_weighted *weighted, uint32_t place, const char *name)
{
    return hp_weighted_below(weighted, place, hp_weighted_function(weighted, name, "", HP_NO_LIBRARY), 0, false);
}

/* "cc1 4242" */
static const char *name_process(struct hp_weighted *weighted, const char *program, uint32_t pid)
{
    const size_t size = strlen(program) + sizeof " 4294967295";
    char *name = hp_arena_take(&weighted->texts, size);
    if (name == NULL) {
        weighted->lacks_memory = true;
        return program;
    }
    snprintf(name, size, "%s %" PRIu32, program, pid);
    return name;
}

/* What two processes in one program have in common. */
static uint32_t processes_of(const struct hp_named_stacks *stacks, const struct numbers *numbers,
                             const struct hp_named_node *node)
{
    const uint32_t program = hp_process_program(node);
    return program < stacks->program_count ? numbers->processes[program] : 0;
}

static uint32_t add_process(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                            const struct numbers *numbers, const struct hp_named_node *node, uint32_t place)
{
    const enum hp_process_frames how = weighted->processes;
    const char *program = hp_process_program_name(stacks, node);
    const bool has_program = how != HP_FRAMES_ALL_MERGED && how != HP_FRAMES_BY_PROCESS && numbers->has_programs;
    const bool has_process =
        how == HP_FRAMES_BY_PROCESS || (how == HP_FRAMES_BY_BOTH && processes_of(stacks, numbers, node) > 1);
    if (program[0] == '\0')
        program = "[process]";
    if (has_program)
        place = put_below(weighted, place, program);
    return has_process ? put_below(weighted, place, name_process(weighted, program, hp_process_pid(node))) : place;
}

/* Whether stacks of more than one program have a weight. One that is unknown may be the same. */
static bool has_programs(const struct hp_named_stacks *stacks, uint32_t *process)
{
    const char *first = NULL;
    for (uint32_t at = 1; at < stacks->node_count; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        process[at] = hp_is_process(node) ? at : process[node->parent];
        if (process[at] == HP_STACK_ROOT || !has_weight(node->weight))
            continue;
        const char *program = hp_process_program_name(stacks, &stacks->nodes[process[at]]);
        if (program[0] == '\0')
            continue;
        if (first != NULL && strcmp(first, program) != 0)
            return true;
        first = program;
    }
    return false;
}

static void count_processes(const struct hp_named_stacks *stacks, struct numbers *numbers)
{
    for (size_t at = 1; at < stacks->node_count; at++)
        if (hp_is_process(&stacks->nodes[at]) && hp_process_program(&stacks->nodes[at]) < stacks->program_count)
            numbers->processes[hp_process_program(&stacks->nodes[at])]++;
}

/* ------------------------------------------------------------------------------------------------- frames */

/* Nothing of the program is on a stack yet: only frames of processes, which are in no library. */
static bool is_top(const struct hp_weighted *weighted, uint32_t place)
{
    return place == HP_WEIGHTED_ROOT ||
           weighted->functions[weighted->nodes[place].function].library == HP_NO_LIBRARY;
}

/* Where it has no symbols, the C library's own start of a program has no name. */
static bool says_nothing(const struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                         const struct numbers *numbers, uint32_t function, uint32_t place)
{
    const struct hp_named_function *named = &stacks->functions[function];
    const bool is_nameless = numbers->is_nameless[function];
    if (is_nameless && place != HP_WEIGHTED_ROOT && weighted->nodes[place].function == numbers->functions[function])
        return true; /* code without a name that calls such code: one frame */
    if (!is_top(weighted, place) || named->name[0] == '[')
        return false;
    return numbers->is_start[function] || (is_nameless && named->image < stacks->image_count &&
                                           hp_is_c_library(stacks->images[named->image].path));
}

/* The outermost function of a place is the one that was called; the others are inlined into it. */
static uint32_t add_frames(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                           const struct numbers *numbers, const struct hp_named_node *node, uint32_t place)
{
    if (hp_is_process(node))
        return add_process(weighted, stacks, numbers, node, place);
    for (uint32_t at = node->frame_count; at-- > 0;) {
        const struct hp_named_frame *frame = &stacks->frames[node->first_frame + at];
        if (!weighted->is_for_people || !says_nothing(weighted, stacks, numbers, frame->function, place))
            place = hp_weighted_below(weighted, place, numbers->functions[frame->function], frame->line,
                                      at + 1 < node->frame_count);
    }
    return place;
}

/* -------------------------------------------------------------------------------------------------- by zone */

#define IN_NO_ZONE "[in no zone]"

/* Adds the same stack again, below the node of a zone. */
static uint32_t add_below(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                          const struct numbers *numbers, uint32_t node, uint32_t place)
{
    size_t length = 0;
    for (uint32_t at = node; at != HP_STACK_ROOT; at = stacks->nodes[at].parent)
        numbers->way[length++] = at;
    while (length-- > 0)
        place = add_frames(weighted, stacks, numbers, &stacks->nodes[numbers->way[length]], place);
    return place;
}

/* "[zone: parse]" */
static uint32_t place_of_zone(struct hp_weighted *weighted, const char *zone)
{
    const size_t size = strlen(zone) + sizeof "[zone: ]";
    char *name = hp_arena_take(&weighted->texts, size);
    if (name == NULL) {
        weighted->lacks_memory = true;
        return HP_WEIGHTED_ROOT;
    }
    snprintf(name, size, "[zone: %s]", zone);
    return hp_weighted_below(weighted, HP_WEIGHTED_ROOT, hp_weighted_function(weighted, name, "", HP_NO_LIBRARY), 0,
                             false);
}

/* The part in no zone goes below a node of its own. */
static void add_rest_by_zone(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                             const struct numbers *numbers, uint32_t node)
{
    const uint64_t *weight = numbers->own[node].weight;
    if (!has_weight(weight))
        return;
    const uint32_t none = hp_weighted_below(
        weighted, HP_WEIGHTED_ROOT, hp_weighted_function(weighted, IN_NO_ZONE, "", HP_NO_LIBRARY), 0, false);
    add_weights(weighted, add_below(weighted, stacks, numbers, node, none), weight);
}

static void add_shares(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                       const struct numbers *numbers)
{
    for (size_t at = 0; at < stacks->share_count && !weighted->lacks_memory; at++) {
        const struct hp_zone_share *share = &stacks->shares[at];
        const char *zone = stacks->zones[share->zone].name;
        uint32_t node = numbers->nodes[share->node];
        if (weighted->is_by_zone) {
            node = add_below(weighted, stacks, numbers, share->node, place_of_zone(weighted, zone));
            add_weights(weighted, node, share->weight);
        }
        for (size_t row = 0; row < ROWS; row++)
            hp_weighted_share(weighted, rows[row].dimension, node, zone, sum_of(share->weight, row),
                              count_of(share->weight, row));
    }
}

static void find_rest(const struct hp_named_stacks *stacks, struct hp_zone_share *own)
{
    for (size_t at = 0; at < stacks->node_count; at++)
        memcpy(own[at].weight, stacks->nodes[at].weight, sizeof own[at].weight);
    for (size_t at = 0; at < stacks->share_count; at++) {
        const struct hp_zone_share *share = &stacks->shares[at];
        uint64_t *rest = own[share->node].weight;
        for (size_t weight = 0; weight < HP_STACK_WEIGHTS; weight++)
            rest[weight] = hp_less(rest[weight], share->weight[weight]);
    }
}

/* --------------------------------------------------------------------------------------------------------- all */

static void add_nodes(struct hp_weighted *weighted, const struct hp_named_stacks *stacks, struct numbers *numbers)
{
    numbers->nodes[HP_STACK_ROOT] = HP_WEIGHTED_ROOT;
    for (size_t at = 1; at < stacks->node_count && !weighted->lacks_memory; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        numbers->nodes[at] = add_frames(weighted, stacks, numbers, node, numbers->nodes[node->parent]);
        if (weighted->is_by_zone)
            add_rest_by_zone(weighted, stacks, numbers, (uint32_t)at);
        else
            add_weights(weighted, numbers->nodes[at], node->weight);
    }
}

static void keep_places(struct hp_weighted *weighted, const struct hp_named_stacks *stacks, struct numbers *numbers)
{
    if (!weighted->has_places)
        return;
    free(weighted->places);
    weighted->places = numbers->nodes;
    weighted->place_count = stacks->node_count;
    numbers->nodes = NULL;
}

bool hp_stack_weights_add(struct hp_weighted *weighted, const struct hp_named_stacks *stacks)
{
    struct numbers numbers = {.libraries = calloc(stacks->image_count + 1, sizeof *numbers.libraries),
                              .functions = calloc(stacks->function_count + 1, sizeof *numbers.functions),
                              .nodes = calloc(stacks->node_count + 1, sizeof *numbers.nodes),
                              .way = calloc(stacks->node_count + 1, sizeof *numbers.way),
                              .own = calloc(stacks->node_count + 1, sizeof *numbers.own),
                              .is_start = calloc(stacks->function_count + 1, sizeof(bool)),
                              .is_nameless = calloc(stacks->function_count + 1, sizeof(bool)),
                              .processes = calloc(stacks->program_count + 1, sizeof *numbers.processes)};
    const bool has_room = numbers.libraries != NULL && numbers.functions != NULL && numbers.nodes != NULL &&
                          numbers.way != NULL && numbers.own != NULL && numbers.is_start != NULL &&
                          numbers.is_nameless != NULL && numbers.processes != NULL;
    if (has_room) {
        numbers.has_programs = has_programs(stacks, numbers.way);
        count_processes(stacks, &numbers);
        add_functions(weighted, stacks, &numbers);
        find_rest(stacks, numbers.own);
        add_nodes(weighted, stacks, &numbers);
        add_shares(weighted, stacks, &numbers);
        keep_places(weighted, stacks, &numbers);
    }
    free(numbers.libraries);
    free(numbers.functions);
    free(numbers.nodes);
    free(numbers.way);
    free(numbers.own);
    free(numbers.is_start);
    free(numbers.is_nameless);
    free(numbers.processes);
    return has_room && !weighted->lacks_memory;
}
