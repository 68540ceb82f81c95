/* Weighted stacks. SPDX-License-Identifier: MIT */
#include "weighted.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "plain_name.h"
#include "utf8.h"

const struct hp_dimension_type hp_dimension_types[HP_DIMENSIONS] = {
    [HP_OF_CPU] = {"cpu", "CPU time", HP_WEIGHT_NS, "samples"},
    [HP_OF_WALL] = {"wall", "Wall-clock share of CPU time", HP_WEIGHT_NS, NULL},
    [HP_OF_WAITS] = {"waits", "Waiting", HP_WEIGHT_NS, "times"},
    [HP_OF_ALLOC] = {"alloc", "Bytes allocated", HP_WEIGHT_BYTES, "alloc-blocks"},
    [HP_OF_ALLOC_PEAK] = {"alloc-peak", "Bytes at the heap's peak", HP_WEIGHT_BYTES, "alloc-peak-blocks"},
    [HP_OF_ALLOC_LEFT] = {"alloc-left", "Bytes never freed", HP_WEIGHT_BYTES, "alloc-left-blocks"},
    [HP_OF_PATH] = {"path", "Critical path", HP_WEIGHT_NS, NULL},
    [HP_OF_ZONES] = {"zones", "Zones: time", HP_WEIGHT_NS, "calls"},
    [HP_OF_ZONE_CPU] = {"zone-cpu", "Zones: CPU time", HP_WEIGHT_NS, "zone-samples"},
    [HP_OF_ZONE_WAITS] = {"zone-waits", "Zones: waiting", HP_WEIGHT_NS, NULL},
    [HP_OF_ZONE_ALLOC] = {"zone-alloc", "Zones: bytes allocated", HP_WEIGHT_BYTES, "blocks"},
};

static const struct hp_dimension_type counted_types[HP_DIMENSIONS] = {
    [HP_OF_CPU] = {"instructions", "Instructions", HP_WEIGHT_INSTRUCTIONS, "executions"},
    [HP_OF_WALL] = {"wall", "Instructions", HP_WEIGHT_INSTRUCTIONS, NULL},
    [HP_OF_ZONES] = {"zones", "Zones: instructions", HP_WEIGHT_INSTRUCTIONS, "calls"},
};

const struct hp_dimension_type *hp_dimension_type_of(enum hp_dimension dimension, bool counts_instructions)
{
    const bool is_other = counts_instructions && counted_types[dimension].key != NULL;
    return is_other ? &counted_types[dimension] : &hp_dimension_types[dimension];
}

const char *hp_weighted_short_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* What identifies a file in another run, which may have been built in another folder. */
static const char *place_of(const struct hp_weighted *weighted, const char *path)
{
    return weighted->is_compared ? hp_weighted_short_path(path) : path;
}

static uint32_t fail(struct hp_weighted *weighted, uint32_t instead)
{
    weighted->lacks_memory = true;
    return instead;
}

/* ----------------------------------------------------------------------------------------------------- texts */

static bool is_harmless(const char *text)
{
    const char *const end = text + strlen(text);
    while (text < end) {
        const uint32_t c = hp_utf8_next(&text, end);
        if (c == HP_UTF8_INVALID || hp_utf8_is_harmful(c))
            return false;
    }
    return true;
}

#define LONGEST_ESCAPE 6u /* \u202e, for at least one byte */

static const char *harmless(struct hp_weighted *weighted, const char *text)
{
    struct hp_text safe;
    if (is_harmless(text))
        return text;
    const size_t most = LONGEST_ESCAPE * strlen(text) + 1;
    char *bytes = hp_arena_take(&weighted->texts, most);
    if (bytes == NULL) {
        fail(weighted, 0);
        return "?";
    }
    hp_text_init(&safe, bytes, most);
    hp_utf8_put_safe(&safe, text, strlen(text));
    return hp_text_end(&safe);
}

static const char *name_shown(struct hp_weighted *weighted, const char *name)
{
    char plain[256];
    const char *shown = weighted->hides_texts ? hp_without_key(name, plain, sizeof plain) : name;
    if (shown == plain)
        shown = hp_arena_copy(&weighted->texts, plain, strlen(plain));
    if (shown == NULL)
        fail(weighted, 0);
    return shown != NULL ? harmless(weighted, shown) : "?";
}

static const char *path_shown(struct hp_weighted *weighted, const char *path)
{
    return harmless(weighted, weighted->hides_texts ? hp_weighted_short_path(path) : path);
}

/* ------------------------------------------------------------------------------------ libraries, functions */

uint32_t hp_weighted_library(struct hp_weighted *weighted, const char *path, const char *build_id)
{
    struct hp_hash_index *index = &weighted->library_index;
    if (!HP_MAKE_ROOM(weighted->libraries, weighted->library_count + 1, weighted->library_room) ||
        !hp_hash_make_room(index))
        return fail(weighted, HP_NO_LIBRARY);
    path = path_shown(weighted, path);
    const uint32_t hash = hp_hash_with_text(index, 0, place_of(weighted, path));
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;)
        if (strcmp(place_of(weighted, weighted->libraries[number - 1].path), place_of(weighted, path)) == 0)
            return number - 1;
    weighted->libraries[weighted->library_count++] =
        (struct hp_weighted_library){path, harmless(weighted, build_id)};
    hp_hash_put(index, slot, hash, (uint32_t)weighted->library_count);
    return (uint32_t)weighted->library_count - 1;
}

static bool is_function(const struct hp_weighted *weighted, uint32_t number, const char *name, const char *file,
                        uint32_t library)
{
    const struct hp_weighted_function *function = &weighted->functions[number];
    return function->library == library && strcmp(function->name, name) == 0 &&
           strcmp(place_of(weighted, function->file), place_of(weighted, file)) == 0;
}

uint32_t hp_weighted_function(struct hp_weighted *weighted, const char *name, const char *file, uint32_t library)
{
    struct hp_hash_index *index = &weighted->function_index;
    if (!HP_MAKE_ROOM(weighted->functions, weighted->function_count + 1, weighted->function_room) ||
        !hp_hash_make_room(index))
        return fail(weighted, 0);
    name = name[0] != '\0' ? name_shown(weighted, name) : "?";
    file = path_shown(weighted, file);
    const uint32_t hash = hp_hash_with_text(index, hp_hash_with_text(index, hp_hash_with(index, 0, library), name),
                                            place_of(weighted, file));
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;)
        if (is_function(weighted, number - 1, name, file, library))
            return number - 1;
    weighted->functions[weighted->function_count++] = (struct hp_weighted_function){name, file, library};
    hp_hash_put(index, slot, hash, (uint32_t)weighted->function_count);
    return (uint32_t)weighted->function_count - 1;
}

const char *hp_weighted_library_name(const struct hp_weighted *weighted, uint32_t function)
{
    const uint32_t library = weighted->functions[function].library;
    return library < weighted->library_count ? hp_weighted_short_path(weighted->libraries[library].path) : "";
}

/* ----------------------------------------------------------------------------------------------------- nodes */

static bool is_same(const struct hp_weighted_node *a, const struct hp_weighted_node *b)
{
    return a->parent == b->parent && a->function == b->function && a->line == b->line &&
           a->is_inlined == b->is_inlined;
}

static bool make_room(struct hp_weighted *weighted)
{
    if (!HP_MAKE_ROOM(weighted->nodes, weighted->node_count + 2, weighted->node_room))
        return false;
    if (weighted->node_count == 0)
        weighted->nodes[weighted->node_count++] = (struct hp_weighted_node){0};
    return weighted->node_count < UINT32_MAX && hp_hash_make_room(&weighted->node_index);
}

/*
 * If lines do not count, neither does inlining: the same function may be inlined at some calls and not at others.
 */
uint32_t hp_weighted_below(struct hp_weighted *weighted, uint32_t parent, uint32_t function, uint32_t line,
                           bool is_inlined)
{
    const struct hp_weighted_node node = {parent, function, weighted->has_lines ? line : 0,
                                          weighted->has_lines && is_inlined};
    struct hp_hash_index *index = &weighted->node_index;
    if (function >= weighted->function_count || !make_room(weighted))
        return fail(weighted, parent);
    const uint32_t hash =
        hp_hash_with(index, hp_hash_with(index, node.is_inlined, (uint64_t)parent << 32 | function), node.line);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;)
        if (is_same(&weighted->nodes[number], &node))
            return number;
    weighted->nodes[weighted->node_count] = node;
    hp_hash_put(index, slot, hash, (uint32_t)weighted->node_count);
    return (uint32_t)weighted->node_count++;
}

/* --------------------------------------------------------------------------------------------------- weights */

static bool reaches(struct hp_weights *weights, uint32_t node)
{
    const size_t count = (size_t)node + 1;
    size_t own = weights->room, counts = weights->room;
    return HP_MAKE_ZEROED_ROOM(weights->own, count, own) && HP_MAKE_ZEROED_ROOM(weights->counts, count, counts) &&
           HP_MAKE_ZEROED_ROOM(weights->before, count, weights->room);
}

void hp_weighted_add(struct hp_weighted *weighted, enum hp_dimension dimension, uint32_t node, uint64_t weight,
                     uint64_t count)
{
    struct hp_weights *weights = &weighted->weights[dimension];
    if (weight == 0 && count == 0)
        return;
    if (!reaches(weights, node)) {
        fail(weighted, 0);
    } else if (weighted->is_before) {
        weights->before[node] += weight;
        weights->total_before += weight;
    } else {
        weights->own[node] += weight;
        weights->counts[node] += count;
        weights->total += weight;
        weights->counted += count;
    }
}

void hp_weighted_share(struct hp_weighted *weighted, enum hp_dimension dimension, uint32_t node, const char *zone,
                       uint64_t weight, uint64_t count)
{
    if (weighted->is_before || (weight == 0 && count == 0))
        return;
    if (!HP_MAKE_ROOM(weighted->shares, weighted->share_count + 1, weighted->share_room)) {
        fail(weighted, 0);
        return;
    }
    weighted->shares[weighted->share_count++] =
        (struct hp_weighted_share){dimension, node, name_shown(weighted, zone), weight, count};
}

bool hp_weighted_has(const struct hp_weighted *weighted, enum hp_dimension dimension)
{
    return weighted->weights[dimension].total > 0 || weighted->weights[dimension].total_before > 0;
}

bool hp_weighted_is_new(const struct hp_weighted *weighted, enum hp_dimension dimension)
{
    const struct hp_weights *weights = weighted->weights;
    return hp_weighted_has(weighted, dimension) &&
           (dimension != HP_OF_WALL || weights[HP_OF_WALL].total < weights[HP_OF_CPU].total);
}

void hp_weighted_free(struct hp_weighted *weighted)
{
    for (size_t at = 0; at < HP_DIMENSIONS; at++) {
        free(weighted->weights[at].own);
        free(weighted->weights[at].counts);
        free(weighted->weights[at].before);
    }
    hp_arena_release(&weighted->texts);
    free(weighted->libraries);
    free(weighted->functions);
    free(weighted->nodes);
    free(weighted->shares);
    free(weighted->places);
    hp_hash_free(&weighted->library_index);
    hp_hash_free(&weighted->function_index);
    hp_hash_free(&weighted->node_index);
    memset(weighted, 0, sizeof *weighted);
}

/* ----------------------------------------------------------------------------------------------------- walks */

struct place {
    uint64_t inside;
    uint32_t node;
};

/* Ties are broken by number, so that the same run gives the same file. */
static int lightest_first(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->inside != y->inside)
        return x->inside < y->inside ? -1 : 1;
    return x->node < y->node ? 1 : -1;
}

/* Later ones are put in front. */
static void link_nodes(struct hp_weight_walk *walk, struct place *places, size_t count)
{
    qsort(places, count, sizeof *places, lightest_first);
    for (size_t at = 0; at < count; at++) {
        const uint32_t node = places[at].node, parent = walk->weighted->nodes[node].parent;
        walk->sibling[node] = walk->first_child[parent];
        walk->first_child[parent] = node;
    }
}

static bool link_all(struct hp_weight_walk *walk)
{
    struct place *places = calloc(walk->weighted->node_count + 1, sizeof *places);
    size_t count = 0;
    if (places == NULL)
        return false;
    for (size_t node = 1; node < walk->weighted->node_count; node++)
        if (walk->inside[node] > 0)
            places[count++] = (struct place){walk->inside[node], (uint32_t)node};
    link_nodes(walk, places, count);
    free(places);
    return true;
}

bool hp_walk_begin(struct hp_weight_walk *walk, const struct hp_weighted *weighted,
                   const struct hp_weights *weights)
{
    const size_t count = weighted->node_count + 1;
    *walk = (struct hp_weight_walk){.weighted = weighted,
                                    .weights = weights,
                                    .inside = calloc(count, sizeof *walk->inside),
                                    .first_child = calloc(count, sizeof *walk->first_child),
                                    .sibling = calloc(count, sizeof *walk->sibling)};
    if (walk->inside == NULL || walk->first_child == NULL || walk->sibling == NULL)
        return false;
    for (size_t node = weighted->node_count; node-- > 1;) {
        walk->inside[node] += hp_weight_own(weights, node);
        walk->inside[weighted->nodes[node].parent] += walk->inside[node];
    }
    return link_all(walk);
}

void hp_walk_end(struct hp_weight_walk *walk)
{
    free(walk->inside);
    free(walk->first_child);
    free(walk->sibling);
    memset(walk, 0, sizeof *walk);
}

/* A node's own weight comes after those of its children; where it ends, its next sibling begins. */
void hp_walk_through(const struct hp_weight_walk *walk, hp_walk_visit *enter, hp_walk_visit *leave, void *context)
{
    const struct hp_weighted_node *nodes = walk->weighted->nodes;
    uint32_t at = walk->first_child[HP_WEIGHTED_ROOT];
    uint64_t start = 0;
    size_t depth = 0;
    while (at != 0) {
        enter(context, at, start, depth);
        if (walk->first_child[at] != 0) {
            at = walk->first_child[at];
            depth++;
            continue;
        }
        for (;; at = nodes[at].parent, depth--) {
            start += hp_weight_own(walk->weights, at);
            leave(context, at, start, depth);
            if (walk->sibling[at] != 0 || nodes[at].parent == HP_WEIGHTED_ROOT)
                break;
        }
        at = walk->sibling[at];
    }
}
