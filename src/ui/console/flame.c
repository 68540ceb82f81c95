/* Stacks as a flame graph. SPDX-License-Identifier: MIT */
#include "flame.h"

#include <stdlib.h>
#include <string.h>

#include "function_role.h"
#include "growing_array.h"
#include "identity.h"
#include "text.h"
#include "units.h"

#define NOWHERE UINT32_MAX /* above the chosen function, or too deep */
#define NO_NAME UINT32_MAX

/* ------------------------------------------------------------------------------------------------- measures */

static uint64_t weight_of(const struct hp_named_node *node, enum hp_measure measure)
{
    const uint64_t *weight = node->weight;
    const uint64_t cpu = weight[HP_STACK_USER_NS] + weight[HP_STACK_KERNEL_NS];
    const uint64_t waited = weight[HP_STACK_WAITED_NS] > weight[HP_STACK_IDLE_NS]
                                ? weight[HP_STACK_WAITED_NS] - weight[HP_STACK_IDLE_NS]
                                : 0;
    switch (measure) {
    case HP_MEASURE_WALL:
        return cpu + waited;
    case HP_MEASURE_CPU:
        return cpu;
    case HP_MEASURE_WAITING:
        return waited;
    default:
        return weight[HP_STACK_ALLOC_BYTES];
    }
}

/* ---------------------------------------------------------------------------------------------------- names */

/* The number of a name; NO_NAME: no memory. */
static uint32_t name_number(struct hp_flame *flame, const struct hp_flame_name *name)
{
    struct hp_hash_index *index = &flame->name_index;
    size_t slot = HP_HASH_BEGIN;
    if (!hp_hash_make_room(index) || !HP_MAKE_ROOM(flame->names, flame->name_count + 1, flame->name_room))
        return NO_NAME;
    const uint32_t hash = hp_hash_with(index, 0, name->id);
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;)
        if (flame->names[number - 1].id == name->id)
            return number - 1;
    flame->names[flame->name_count++] = *name;
    hp_hash_put(index, slot, hash, (uint32_t)flame->name_count);
    return (uint32_t)flame->name_count - 1;
}

static enum hp_flame_kind kind_of(const char *name, const char *library)
{
    if (hp_text_begins(name, HP_WAITING_NAME))
        return HP_FLAME_WAITING;
    if (strcmp(name, HP_OWN_NAME) == 0)
        return HP_FLAME_OTHER;
    switch (hp_function_role(name, library)) {
    case HP_ROLE_KERNEL:
        return HP_FLAME_KERNEL;
    case HP_ROLE_UNSEEN:
        return HP_FLAME_OTHER;
    default:
        return library[0] == '\0' || hp_is_program_file(library) ? HP_FLAME_CODE : HP_FLAME_LIBRARY;
    }
}

static bool is_start(const char *name, const char *library)
{
    return hp_function_role(name, library) == HP_ROLE_START && strcmp(name, HP_REST_OF_STACK) != 0;
}

/* What functions of some stacks are called in the graph, by their numbers; NO_NAME: they are left out. */
struct naming {
    const struct hp_named_stacks *stacks;
    uint32_t *names;
    bool has_programs; /* stacks begin with them */
};

static bool has_several_processes(const struct hp_named_stacks *stacks)
{
    size_t processes = 0;
    for (size_t at = 1; at < stacks->node_count; at++)
        processes += hp_is_process(&stacks->nodes[at]);
    return processes > 1;
}

/* False: no memory. */
static bool begin_naming(struct hp_flame *flame, const struct hp_found_part *part, bool has_programs,
                         struct naming *naming)
{
    const struct hp_named_stacks *stacks = &part->stacks;
    *naming = (struct naming){.stacks = stacks,
                              .names = calloc(stacks->function_count + 1, sizeof *naming->names),
                              .has_programs = has_programs};
    const char **shown = calloc(stacks->function_count + 1, sizeof *shown);
    bool is_done = naming->names != NULL && shown != NULL;
    for (size_t at = 0; is_done && at < part->functions.count; at++)
        if (part->functions.all[at].number < stacks->function_count)
            shown[part->functions.all[at].number] = part->functions.all[at].shown;
    for (size_t at = 0; is_done && at < stacks->function_count; at++) {
        const struct hp_named_function *function = &stacks->functions[at];
        const char *library = hp_library_name(stacks, function->image);
        naming->names[at] = NO_NAME;
        if (is_start(function->name, library))
            continue;
        naming->names[at] = name_number(
            flame, &(struct hp_flame_name){.id = hp_identity_of_found(function->name, library, function->file),
                                           .text = shown[at] != NULL ? shown[at] : function->name,
                                           .library = library,
                                           .kind = kind_of(function->name, library)});
        is_done = naming->names[at] != NO_NAME;
    }
    free(shown);
    return is_done;
}

static uint32_t name_of_program(struct hp_flame *flame, const struct naming *naming,
                                const struct hp_named_node *node)
{
    const char *program = hp_process_program_name(naming->stacks, node);
    program = program[0] != '\0' ? program : "unknown program";
    return name_number(flame, &(struct hp_flame_name){.id = hp_identity_with_text(1, program),
                                                      .text = program,
                                                      .library = "",
                                                      .kind = HP_FLAME_OTHER});
}

/* -------------------------------------------------------------------------------------------------- merging */

/* The frame of a name below another one. False: no memory. */
static bool step_down(struct hp_flame *flame, uint32_t name, uint32_t *place)
{
    if (*place != 0 && flame->calls.all[*place - 1].second == name)
        return true;
    const uint32_t pair = hp_pair_table_put(&flame->calls, *place, name);
    *place = pair + 1;
    return pair != HP_NO_PAIR;
}

/* Below which frame the stacks of a node end. False: no memory. */
static bool place_of(struct hp_flame *flame, const struct naming *naming, const struct hp_named_node *node,
                     uint32_t *place)
{
    const struct hp_named_stacks *stacks = naming->stacks;
    if (hp_is_process(node) && naming->has_programs && flame->only == 0) {
        const uint32_t name = name_of_program(flame, naming, node);
        return name != NO_NAME && step_down(flame, name, place);
    }
    for (uint32_t at = node->frame_count; at-- > 0;) {
        const uint32_t name = naming->names[stacks->frames[node->first_frame + at].function];
        if (name == NO_NAME)
            continue;
        if (*place == NOWHERE && flame->names[name].id != flame->only)
            continue;
        if (*place == NOWHERE)
            *place = 0;
        if (!step_down(flame, name, place))
            return false;
    }
    return true;
}

/* The places of all nodes of stacks, to be freed. NULL: no memory. */
static uint32_t *merge(struct hp_flame *flame, const struct hp_found_part *part, bool has_programs)
{
    const struct hp_named_stacks *stacks = &part->stacks;
    struct naming naming;
    uint32_t *places = calloc(stacks->node_count + 1, sizeof *places);
    bool is_done = begin_naming(flame, part, has_programs, &naming) && places != NULL;
    if (is_done)
        places[0] = flame->only != 0 ? NOWHERE : 0;
    for (size_t at = 1; is_done && at < stacks->node_count; at++) {
        places[at] = places[stacks->nodes[at].parent];
        is_done = place_of(flame, &naming, &stacks->nodes[at], &places[at]);
    }
    free(naming.names);
    if (!is_done) {
        free(places);
        return NULL;
    }
    return places;
}

/* Of the window before it, times `scale`, since that may be shorter or longer. */
static void add_own(struct hp_flame *flame, const struct hp_named_stacks *stacks, const uint32_t *places,
                    bool is_before, double scale)
{
    uint64_t *whole = is_before ? flame->whole_before : flame->whole;
    for (size_t at = 0; places != NULL && at < stacks->node_count; at++)
        for (unsigned measure = 0; measure < HP_MEASURES; measure++) {
            const uint64_t weight =
                hp_units_round(scale * (double)weight_of(&stacks->nodes[at], (enum hp_measure)measure));
            struct hp_flame_node *node = places[at] != NOWHERE ? &flame->nodes[places[at]] : NULL;
            whole[measure] += weight;
            if (node != NULL)
                *(is_before ? &node->before[measure] : &node->now[measure]) += weight;
        }
}

static void add_callees(struct hp_flame *flame)
{
    for (size_t at = flame->node_count; at-- > 1;) {
        const struct hp_flame_node *node = &flame->nodes[at];
        struct hp_flame_node *caller = &flame->nodes[node->caller];
        for (unsigned measure = 0; measure < HP_MEASURES; measure++) {
            caller->now[measure] += node->now[measure];
            caller->before[measure] += node->before[measure];
        }
    }
}

static int by_name(const struct hp_flame *flame, uint32_t one, uint32_t other)
{
    return strcmp(flame->names[flame->nodes[one].name].text, flame->names[flame->nodes[other].name].text);
}

/* Callees are in the order of their names, so that frames stay where they are while numbers change. */
static void link_callees(struct hp_flame *flame)
{
    for (uint32_t at = 1; at < flame->node_count; at++) {
        struct hp_flame_node *node = &flame->nodes[at];
        uint32_t *link = &flame->nodes[node->caller].first;
        while (*link != 0 && by_name(flame, *link, at) < 0)
            link = &flame->nodes[*link].next;
        node->next = *link;
        *link = at;
    }
}

/* False: no memory. */
static bool make_nodes(struct hp_flame *flame)
{
    flame->node_count = flame->calls.count + 1;
    flame->nodes = calloc(flame->node_count, sizeof *flame->nodes);
    for (size_t at = 1; flame->nodes != NULL && at < flame->node_count; at++) {
        const struct hp_pair *pair = &flame->calls.all[at - 1];
        flame->nodes[at].caller = pair->first;
        flame->nodes[at].name = pair->second;
        flame->nodes[at].depth = flame->nodes[pair->first].depth + 1;
    }
    return flame->nodes != NULL;
}

static double length_of(const struct hp_found_part *part)
{
    return part->to_ns > part->from_ns ? (double)(part->to_ns - part->from_ns) : 1;
}

static bool make(struct hp_flame *flame, const struct hp_found_part *now, const struct hp_found_part *before)
{
    const bool has_before = before != NULL && before->is_known;
    /* Of both alike: one of them may have a single process of those that come and go. */
    const bool has_programs =
        has_several_processes(&now->stacks) || (has_before && has_several_processes(&before->stacks));
    uint32_t *places = merge(flame, now, has_programs);
    uint32_t *places_before = has_before ? merge(flame, before, has_programs) : NULL;
    const bool is_done = places != NULL && (!has_before || places_before != NULL) && make_nodes(flame);
    if (is_done) {
        flame->has_before = has_before;
        add_own(flame, &now->stacks, places, false, 1);
        if (has_before)
            add_own(flame, &before->stacks, places_before, true, length_of(now) / length_of(before));
        add_callees(flame);
        link_callees(flame);
    }
    free(places);
    free(places_before);
    return is_done;
}

/* ------------------------------------------------------------------------------------ what the user has chosen */

static void find_path(const struct hp_flame *flame, uint32_t node, struct hp_flame_path *path)
{
    path->count = 0;
    if (node >= flame->node_count || flame->nodes[node].depth > HP_FLAME_DEEPEST)
        return;
    path->count = flame->nodes[node].depth;
    for (uint32_t at = path->count; at-- > 0; node = flame->nodes[node].caller)
        path->ids[at] = flame->names[flame->nodes[node].name].id;
}

/* The frame at the end of a path, or the last one of it that is still there. */
static uint32_t frame_at(const struct hp_flame *flame, const struct hp_flame_path *path)
{
    uint32_t node = 0;
    for (uint32_t at = 0; at < path->count; at++) {
        uint32_t next = flame->nodes[node].first;
        while (next != 0 && flame->names[flame->nodes[next].name].id != path->ids[at])
            next = flame->nodes[next].next;
        if (next == 0)
            break;
        node = next;
    }
    return node;
}

bool hp_flame_make_only(struct hp_flame *flame, const struct hp_found_part *now, const struct hp_found_part *before,
                        uint64_t only)
{
    hp_flame_free(flame);
    flame->only = only;
    if (now != NULL && now->stacks.node_count > 0 && make(flame, now, before))
        return true;
    hp_flame_free(flame);
    return false;
}

bool hp_flame_make(struct hp_flame *flame, const struct hp_found_part *now, const struct hp_found_part *before)
{
    struct hp_flame_path zoomed, cursor;
    const bool has_cursor = flame->cursor != 0;
    find_path(flame, flame->zoomed, &zoomed);
    find_path(flame, flame->cursor, &cursor);
    if (!hp_flame_make_only(flame, now, before, flame->only))
        return false;
    flame->zoomed = frame_at(flame, &zoomed);
    flame->cursor = has_cursor ? frame_at(flame, &cursor) : 0;
    return true;
}

void hp_flame_free(struct hp_flame *flame)
{
    hp_pair_table_free(&flame->calls);
    hp_hash_free(&flame->name_index);
    free(flame->names);
    free(flame->nodes);
    *flame = (struct hp_flame){0};
}

uint32_t hp_flame_root(const struct hp_flame *flame)
{
    if (flame->zoomed != 0)
        return flame->zoomed;
    /* The chosen function is the only one below the root. */
    return flame->only != 0 && flame->node_count > 1 ? 1 : 0;
}

const struct hp_flame_name *hp_flame_name(const struct hp_flame *flame, uint32_t node)
{
    static const struct hp_flame_name all = {.text = "all", .library = "", .kind = HP_FLAME_OTHER};
    return node == 0 ? &all : &flame->names[flame->nodes[node].name];
}

/* ------------------------------------------------------------------------------------------------- neighbours */

/* Frames to visit, in the order in which a reader goes through an outline. */
struct outline {
    const struct hp_flame *flame;
    enum hp_measure measure;
    uint64_t least;
};

/* This frame, or one after it, that is visited; 0: none. */
static uint32_t visited(const struct outline *outline, uint32_t node)
{
    while (node != 0 && outline->flame->nodes[node].now[outline->measure] < outline->least)
        node = outline->flame->nodes[node].next;
    return node;
}

static uint32_t after(const struct outline *outline, uint32_t node)
{
    const struct hp_flame *flame = outline->flame;
    const uint32_t root = hp_flame_root(flame);
    uint32_t next = visited(outline, flame->nodes[node].first);
    for (; next == 0 && node != root; node = flame->nodes[node].caller)
        next = visited(outline, flame->nodes[node].next);
    return next;
}

uint32_t hp_flame_neighbour(const struct hp_flame *flame, uint32_t node, enum hp_measure measure, uint64_t least,
                            bool is_back)
{
    const struct outline outline = {flame, measure, least > 0 ? least : 1};
    const uint32_t root = hp_flame_root(flame);
    if (flame->node_count == 0)
        return 0;
    if (!is_back)
        return after(&outline, node != 0 ? node : root);
    uint32_t before = 0;
    for (uint32_t at = after(&outline, root); at != 0 && at != node; at = after(&outline, at))
        before = at;
    return before;
}

/* ---------------------------------------------------------------------------------------------------- changes */

#define LEAST_CHANGE 0.002 /* of all stacks */

/* More than can be expected of samples: their numbers vary by the roots of what is expected. */
static bool is_significant(double now, double before, double period)
{
    const double change = now - before, samples = period > 0 ? (now + before) / period : 0;
    return samples > 0 && change * change > 4 * samples * period * period;
}

double hp_flame_change(const struct hp_flame *flame, uint32_t node, enum hp_measure measure, double period_ns)
{
    const double now = (double)flame->nodes[node].now[measure], before = (double)flame->nodes[node].before[measure];
    const double whole = (double)flame->whole[measure], whole_before = (double)flame->whole_before[measure];
    const double all = whole > whole_before ? whole : whole_before;
    if (!flame->has_before || all <= 0 || !is_significant(now, before, period_ns))
        return 0;
    const double change = (now - before) / all;
    return change > LEAST_CHANGE || change < -LEAST_CHANGE ? change : 0;
}

/* The callee with the largest change in the same direction; 0: none. */
static uint32_t changed_callee(const struct hp_flame *flame, uint32_t node, enum hp_measure measure, double period,
                               double sign)
{
    uint32_t most = 0;
    double largest = 0;
    for (uint32_t at = flame->nodes[node].first; at != 0; at = flame->nodes[at].next) {
        const double change = sign * hp_flame_change(flame, at, measure, period);
        most = change > largest ? at : most;
        largest = change > largest ? change : largest;
    }
    return most;
}

#define MOST_OF_IT 0.7 /* of the change of its caller */

/* The way down from the root by what has most of the change of its caller. */
static uint32_t follow_change(const struct hp_flame *flame, enum hp_measure measure, double period, double sign)
{
    uint32_t named = 0;
    double above = 0;
    for (uint32_t at = 0; (at = changed_callee(flame, at, measure, period, sign)) != 0;) {
        const double change = sign * hp_flame_change(flame, at, measure, period);
        if (change < MOST_OF_IT * above)
            break;
        above = change;
        if (hp_function_role(hp_flame_name(flame, at)->text, hp_flame_name(flame, at)->library) == HP_ROLE_CODE)
            named = at;
    }
    return named;
}

uint32_t hp_flame_changed(const struct hp_flame *flame, enum hp_measure measure, double period_ns)
{
    if (!flame->has_before || flame->only != 0)
        return 0;
    const uint32_t more = follow_change(flame, measure, period_ns, 1),
                   less = follow_change(flame, measure, period_ns, -1);
    const double rise = hp_flame_change(flame, more, measure, period_ns),
                 fall = -hp_flame_change(flame, less, measure, period_ns);
    return more != 0 && (less == 0 || rise >= fall) ? more : less;
}
