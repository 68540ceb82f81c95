/* Names stacks. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "growing_array.h"
#include "hash_index.h"
#include "named_stacks.h"
#include "program_stacks.h"
#include "symbolizer.h"
#include "system_calls.h"
#include "text.h"

#define MOST_INLINED 32u
#define MOST_NAME 300u

/* The weight of a wait or an allocation, relative to a sample. */
#define DEFAULT_PERIOD_NS 1000000u

/*
 * Texts are stored one after the other, each once. While the buffer grows, they are referred to by offset, since it
 * may move.
 */
struct naming {
    const struct hp_stacks *stacks;
    struct hp_named_stacks *named;
    struct hp_symbolizer symbolizer;
    size_t text_room, frame_room, function_room;
    struct hp_hash_index function_index; /* by name and image */
};

/* ------------------------------------------------------------------------------------------------ texts */

static bool keep_text(struct naming *naming, const char *text, const char **ret_place)
{
    struct hp_named_stacks *named = naming->named;
    const size_t bytes = strlen(text) + 1;
    if (!HP_MAKE_ROOM(named->texts, named->text_bytes + bytes, naming->text_room))
        return false;
    memcpy(named->texts + named->text_bytes, text, bytes);
    *ret_place = (const char *)(uintptr_t)named->text_bytes; /* until settle_texts */
    named->text_bytes += bytes;
    return true;
}

static const char *text_at(const struct hp_named_stacks *named, const char *place)
{
    return named->texts + (uintptr_t)place;
}

static void settle_texts(struct hp_named_stacks *named)
{
    for (size_t at = 0; at < named->image_count; at++) {
        named->images[at].path = text_at(named, named->images[at].path);
        named->images[at].build_id = text_at(named, named->images[at].build_id);
    }
    for (size_t at = 0; at < named->function_count; at++) {
        named->functions[at].name = text_at(named, named->functions[at].name);
        named->functions[at].file = text_at(named, named->functions[at].file);
    }
    for (size_t at = 0; at < named->zone_count; at++)
        named->zones[at].name = text_at(named, named->zones[at].name);
}

/* --------------------------------------------------------------------------------------------- functions */

static bool find_function(struct naming *naming, const struct hp_source_place *place, uint32_t image,
                          uint32_t *ret_function)
{
    struct hp_named_stacks *named = naming->named;
    struct hp_hash_index *index = &naming->function_index;
    if (!HP_MAKE_ROOM(named->functions, named->function_count + 1, naming->function_room) ||
        !hp_hash_make_room(index))
        return false;
    const uint32_t hash = hp_hash_with_text(index, image, place->function);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;) {
        const struct hp_named_function *function = &named->functions[number - 1];
        *ret_function = number - 1;
        if (function->image == image && strcmp(text_at(named, function->name), place->function) == 0)
            return true;
    }
    struct hp_named_function *function = &named->functions[named->function_count];
    function->image = image;
    if (!keep_text(naming, place->function, &function->name) || !keep_text(naming, place->file, &function->file))
        return false;
    *ret_function = (uint32_t)named->function_count++;
    hp_hash_put(index, slot, hash, *ret_function + 1);
    return true;
}

/* ------------------------------------------------------------------------------------------------- nodes */

static bool add_frame(struct naming *naming, const struct hp_source_place *place, uint32_t image)
{
    struct hp_named_stacks *named = naming->named;
    if (!HP_MAKE_ROOM(named->frames, named->frame_count + 1, naming->frame_room))
        return false;
    struct hp_named_frame *frame = &named->frames[named->frame_count];
    if (!find_function(naming, place, image, &frame->function))
        return false;
    frame->line = place->line;
    named->frame_count++;
    return true;
}

/* "[waiting: disk: /data/x.db]" */
static void name_waiting(const struct naming *naming, uint64_t place, char *name, size_t size)
{
    const char *text = hp_text_cache_find(&naming->stacks->wait_texts, place, 0);
    snprintf(name, size, HP_WAITING_NAME "%s]", text != NULL ? text : "other");
}

/* "[kernel: read]" */
static void name_kernel(uint64_t place, char *name, size_t size)
{
    const char *call = place > 0 ? hp_system_call_name((int32_t)(place - 1)) : NULL;
    if (call != NULL)
        snprintf(name, size, "[kernel: %s]", call);
    else
        snprintf(name, size, "[kernel]");
}

static void name_without_image(const struct naming *naming, const struct hp_stack_node *node, char *name,
                               size_t size)
{
    if (node->image == HP_STACK_WAITING)
        name_waiting(naming, node->place, name, size);
    else if (node->image == HP_STACK_KERNEL)
        name_kernel(node->place, name, size);
    else
        snprintf(name, size, "%s",
                 node->image == HP_STACK_NOT_SAMPLED  ? "<not sampled>"
                 : node->image == HP_STACK_OWN        ? HP_OWN_NAME
                 : node->image == HP_STACK_INCOMPLETE ? "[rest of the stack unknown]"
                                                      : "[code in no file]");
}

static bool name_node(struct naming *naming, size_t number)
{
    struct hp_source_place found[MOST_INLINED];
    const struct hp_stack_node *node = &naming->stacks->tree.nodes[number];
    const bool has_image = node->image < naming->stacks->images.count, is_process = node->image == HP_STACK_PROCESS;
    struct hp_named_node *named = &naming->named->nodes[number];
    char name[MOST_NAME] = "";
    size_t count = is_process ? 0 : 1;
    if (has_image)
        count = hp_symbolizer_find(&naming->symbolizer, naming->stacks->images.all[node->image], node->place, found,
                                   MOST_INLINED);
    else
        name_without_image(naming, node, name, sizeof name);
    if (!has_image)
        found[0] = (struct hp_source_place){.function = name, .file = ""};
    *named = (struct hp_named_node){.parent = node->parent,
                                    .image = node->image,
                                    .place = node->place,
                                    .first_frame = (uint32_t)naming->named->frame_count,
                                    .frame_count = (uint16_t)count,
                                    .flags = (uint16_t)node->flags};
    memcpy(named->weight, node->weight, sizeof named->weight);
    for (size_t at = 0; at < count; at++)
        if (!add_frame(naming, &found[at], has_image ? node->image : HP_STACK_NO_IMAGE))
            return false;
    return true;
}

static bool name_nodes(struct naming *naming)
{
    const size_t count = naming->stacks->tree.count;
    naming->named->nodes = calloc(count + 1, sizeof *naming->named->nodes);
    if (naming->named->nodes == NULL)
        return false;
    naming->named->node_count = count > 0 ? count : 1; /* the root always exists */
    for (size_t at = 1; at < count; at++)
        if (!name_node(naming, at))
            return false;
    return true;
}

static bool name_image(struct naming *naming, const struct hp_image *image, struct hp_named_image *named)
{
    char id[HP_BUILD_ID_TEXT];
    hp_build_id_put(&image->file.build_id, id);
    return keep_text(naming, image->path, &named->path) && keep_text(naming, id, &named->build_id);
}

static bool name_images(struct naming *naming)
{
    const struct hp_image_set *images = &naming->stacks->images;
    naming->named->images = calloc(images->count + 1, sizeof *naming->named->images);
    if (naming->named->images == NULL)
        return false;
    for (; naming->named->image_count < images->count; naming->named->image_count++)
        if (!name_image(naming, images->all[naming->named->image_count],
                        &naming->named->images[naming->named->image_count]))
            return false;
    return true;
}

/* ------------------------------------------------------------------------------------------------- zones */

/* One zone per name: equal names in other processes are the same zone. Its number; HP_NO_PAIR: it has none. */
static uint32_t name_zone(struct naming *naming, const struct hp_zone_namer *namer, const struct hp_pair *zone)
{
    struct hp_named_stacks *named = naming->named;
    const char *name = namer->name(namer->context, zone->first, zone->second - 1);
    if (name == NULL)
        return HP_NO_PAIR;
    for (size_t at = 0; at < named->zone_count; at++)
        if (strcmp(text_at(named, named->zones[at].name), name) == 0)
            return (uint32_t)at;
    if (!keep_text(naming, name, &named->zones[named->zone_count].name))
        return HP_NO_PAIR;
    return (uint32_t)named->zone_count++;
}

static bool add_shares(const struct hp_zone_shares *from, const uint32_t *numbers, struct hp_zone_shares *shares)
{
    for (size_t at = 0; at < from->count; at++) {
        const struct hp_zone_share *share = &from->all[at];
        if (numbers[share->zone] == HP_NO_PAIR)
            continue;
        struct hp_zone_share *to = hp_zone_shares_at(shares, share->node, numbers[share->zone]);
        if (to == NULL)
            return false;
        for (size_t weight = 0; weight < HP_STACK_WEIGHTS; weight++)
            to->weight[weight] += share->weight[weight];
    }
    return true;
}

static bool name_zones(struct naming *naming, const struct hp_zone_namer *namer)
{
    const struct hp_stacks *stacks = naming->stacks;
    struct hp_named_stacks *named = naming->named;
    struct hp_zone_shares shares = {0};
    if (namer == NULL || stacks->zones.count == 0)
        return true;
    uint32_t *numbers = calloc(stacks->zones.count, sizeof *numbers);
    named->zones = calloc(stacks->zones.count, sizeof *named->zones);
    bool is_done = numbers != NULL && named->zones != NULL;
    for (size_t at = 0; is_done && at < stacks->zones.count; at++)
        numbers[at] = name_zone(naming, namer, &stacks->zones.all[at]);
    is_done = is_done && add_shares(&stacks->shares, numbers, &shares);
    named->shares = shares.all;
    named->share_count = shares.count;
    shares.all = NULL;
    hp_zone_shares_free(&shares);
    free(numbers);
    return is_done;
}

/* ------------------------------------------------------------------------------------------------- all */

/*
 * The C library is below everything that a program does, and its lines say nothing there: for it, only samples that
 * ended in it count.
 */
static void fill_in_seen(const struct hp_stacks *stacks, struct hp_event_code *event)
{
    const struct hp_stack_tree *tree = &stacks->tree;
    const uint64_t period_ns = stacks->counts.period_ns > 0 ? stacks->counts.period_ns : DEFAULT_PERIOD_NS;
    for (size_t at = tree->count; at-- > 1;) {
        const struct hp_stack_node *node = &tree->nodes[at];
        const uint64_t samples =
            node->weight[HP_STACK_SAMPLES] + node->weight[HP_STACK_WAITS] + node->weight[HP_STACK_ALLOC_SAMPLES];
        event[at].self_ns = samples * period_ns;
        event[at].ns += event[at].self_ns;
        event[node->parent].ns += event[at].ns;
        event[at].caller = node->parent;
        event[at].linked = node->place;
        event[at].image = node->image < stacks->images.count ? stacks->images.all[node->image] : NULL;
        if (event[at].image != NULL && hp_is_system_path(event[at].image->path)) {
            event[at].ns = event[at].self_ns = node->weight[HP_STACK_SAMPLES] * period_ns;
            event[at].caller = HP_STACK_ROOT;
        }
    }
}

static void choose_lines(struct naming *naming)
{
    const size_t count = naming->stacks->tree.count;
    struct hp_event_code *event = calloc(count + 1, sizeof *event);
    if (event == NULL)
        return;
    fill_in_seen(naming->stacks, event);
    hp_symbolizer_choose_lines(&naming->symbolizer, event, count);
    free(event);
}

static bool name_all(const struct hp_stacks *stacks, const struct hp_zone_namer *namer,
                     struct hp_named_stacks *ret_named)
{
    struct naming naming = {.stacks = stacks, .named = ret_named};
    *ret_named = (struct hp_named_stacks){.counts = stacks->counts};
    choose_lines(&naming);
    const bool is_done = name_images(&naming) && name_nodes(&naming) && name_zones(&naming, namer);
    hp_hash_free(&naming.function_index);
    hp_symbolizer_free(&naming.symbolizer);
    if (is_done)
        settle_texts(ret_named);
    else
        hp_named_stacks_free(ret_named);
    return is_done;
}

bool hp_name_stacks(const struct hp_stacks *stacks, const struct hp_zone_namer *namer,
                    struct hp_named_stacks *ret_named)
{
    struct hp_stacks program;
    if (!hp_program_stacks_make(stacks, &program))
        return false;
    const bool is_done = name_all(&program, namer, ret_named);
    hp_program_stacks_free(&program);
    return is_done;
}
