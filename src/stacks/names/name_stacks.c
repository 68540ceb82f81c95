/* Names stacks, as the program would have them without hotpath. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_PATH */
#include "name_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "debug_file.h"
#include "debug_package.h"
#include "fileless_code.h"
#include "files.h"
#include "function_role.h"
#include "growing_array.h"
#include "hash_index.h"
#include "plain_name.h"
#include "symbolizer.h"
#include "text.h"

/* ------------------------------------------------------------------------------------------------------- naming */

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
    struct hp_symbolizer *symbolizer;
    struct hp_generated_names generated;
    uint32_t kernel_image, generated_image; /* of functions that are in no file */
    size_t text_room, frame_room, function_room;
    struct hp_hash_index function_index; /* by name and image */
    struct hp_hash_index program_index;  /* by name and file */
    size_t program_room;
    char **libraries; /* by image: what it is called (hp_library_name); NULL: by its file */
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
        named->images[at].package = text_at(named, named->images[at].package);
    }
    for (size_t at = 0; at < named->function_count; at++) {
        named->functions[at].name = text_at(named, named->functions[at].name);
        named->functions[at].file = text_at(named, named->functions[at].file);
    }
    for (size_t at = 0; at < named->zone_count; at++)
        named->zones[at].name = text_at(named, named->zones[at].name);
    for (size_t at = 0; at < named->program_count; at++) {
        named->programs[at].name = text_at(named, named->programs[at].name);
        named->programs[at].file = text_at(named, named->programs[at].file);
    }
}

/* --------------------------------------------------------------------------------------------- functions */

/* Code without a name is called by its library, which a program names: "redis-server+0x3f20". */
static const char *nameless_name(const struct naming *naming, const char *linked, uint32_t image,
                                 char name[MOST_NAME])
{
    const char *library = image < naming->stacks->images.count ? naming->libraries[image] : NULL;
    if (library == NULL || !hp_is_nameless(linked))
        return linked;
    snprintf(name, MOST_NAME, "%s%s", library, strrchr(linked, '+'));
    return name;
}

/* Variants that have the same plain name in a library are one function. Generated code is called as it likes. */
static const char *plain_name(const struct naming *naming, const char *linked, uint32_t image, char name[MOST_NAME])
{
    const struct hp_named_stacks *named = naming->named;
    const bool is_generated = naming->generated.count > 0 && image == naming->generated_image;
    const char *path = image < named->image_count ? text_at(named, named->images[image].path) : "";
    const bool is_of_c_library = hp_is_c_library(path) || hp_text_begins(hp_text_base_name(path), "libm.so");
    if (is_generated)
        return linked;
    return hp_plain_name(linked, is_of_c_library, name, MOST_NAME) ? name
                                                                   : nameless_name(naming, linked, image, name);
}

static bool find_function(struct naming *naming, const struct hp_source_place *place, uint32_t image,
                          uint32_t *ret_function)
{
    char room[MOST_NAME];
    const char *name = plain_name(naming, place->function, image, room);
    struct hp_named_stacks *named = naming->named;
    struct hp_hash_index *index = &naming->function_index;
    if (!HP_MAKE_ROOM(named->functions, named->function_count + 1, naming->function_room) ||
        !hp_hash_make_room(index))
        return false;
    const uint32_t hash = hp_hash_with_text(index, image, name);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;) {
        const struct hp_named_function *function = &named->functions[number - 1];
        *ret_function = number - 1;
        if (function->image == image && strcmp(text_at(named, function->name), name) == 0)
            return true;
    }
    struct hp_named_function *function = &named->functions[named->function_count];
    function->image = image;
    if (!keep_text(naming, name, &function->name) || !keep_text(naming, place->file, &function->file))
        return false;
    *ret_function = (uint32_t)named->function_count++;
    hp_hash_put(index, slot, hash, *ret_function + 1);
    return true;
}

/* ---------------------------------------------------------------------------------------------- programs */

/* Finds it again if another process ran it. */
static bool find_program(struct naming *naming, const char *name, const char *file, uint32_t *ret_program)
{
    struct hp_named_stacks *named = naming->named;
    struct hp_hash_index *index = &naming->program_index;
    if (!HP_MAKE_ROOM(named->programs, named->program_count + 1, naming->program_room) || !hp_hash_make_room(index))
        return false;
    const uint32_t hash = hp_hash_with_text(index, hp_hash_with_text(index, 0, name), file);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;) {
        const struct hp_named_program *program = &named->programs[number - 1];
        *ret_program = number - 1;
        if (strcmp(text_at(named, program->name), name) == 0 && strcmp(text_at(named, program->file), file) == 0)
            return true;
    }
    struct hp_named_program *program = &named->programs[named->program_count];
    if (!keep_text(naming, name, &program->name) || !keep_text(naming, file, &program->file))
        return false;
    *ret_program = (uint32_t)named->program_count++;
    hp_hash_put(index, slot, hash, *ret_program + 1);
    return true;
}

/* The collector has one program for each time that one was executed; here, equal ones have one number. */
static bool name_process(struct naming *naming, struct hp_named_node *named)
{
    const struct hp_stacks *stacks = naming->stacks;
    const uint32_t number = hp_process_program(named);
    const struct hp_process_program *program = number < stacks->program_count ? &stacks->programs[number] : NULL;
    const char *file = program != NULL && program->file != NULL ? program->file : "";
    uint32_t found = HP_NO_PROGRAM;
    if (program != NULL && !find_program(naming, hp_program_name(program->comm, file), file, &found))
        return false;
    named->place = (uint64_t)(found + 1) << 32 | hp_process_pid(named);
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

static void name_without_image(const struct naming *naming, const struct hp_stack_node *node, char *name,
                               size_t size)
{
    if (node->image == HP_STACK_WAITING)
        name_waiting(naming, node->place, name, size);
    else if (node->image == HP_STACK_KERNEL)
        hp_kernel_reason_name(node->place, name, size);
    else if (node->image == HP_STACK_NOT_SAMPLED)
        hp_not_sampled_name(&naming->stacks->counts, name, size);
    else
        snprintf(name, size, "%s",
                 node->image == HP_STACK_OWN          ? HP_OWN_NAME
                 : node->image == HP_STACK_INCOMPLETE ? HP_REST_OF_STACK
                                                      : "[code in no file]");
}

/* Its functions, and in which image they are. `name` is room for one. */
static size_t find_functions(struct naming *naming, size_t number, char *name, size_t size,
                             struct hp_source_place *found, uint32_t *ret_image)
{
    const struct hp_stack_node *node = &naming->stacks->tree.nodes[number];
    *ret_image = node->image;
    if (node->image < naming->stacks->images.count)
        return hp_symbolizer_find(naming->symbolizer, naming->stacks->images.all[node->image], node->place, found,
                                  MOST_INLINED);
    *ret_image = HP_STACK_NO_IMAGE;
    found[0] = (struct hp_source_place){.function = name, .file = ""};
    if (naming->generated.by_node[number] != NULL) {
        found[0].function = naming->generated.by_node[number];
        *ret_image = naming->generated_image;
    } else if (node->image == HP_STACK_KERNEL_CODE && naming->stacks->kernel != NULL) {
        found[0].function = hp_kernel_name(naming->stacks->kernel, (size_t)node->place);
        *ret_image = naming->kernel_image;
    } else {
        name_without_image(naming, node, name, size);
    }
    return node->image != HP_STACK_PROCESS && node->image != HP_STACK_THREAD;
}

static bool name_node(struct naming *naming, size_t number)
{
    struct hp_source_place found[MOST_INLINED];
    const struct hp_stack_node *node = &naming->stacks->tree.nodes[number];
    struct hp_named_node *named = &naming->named->nodes[number];
    char name[MOST_NAME] = "";
    uint32_t image;
    const size_t count = find_functions(naming, number, name, sizeof name, found, &image);
    *named = (struct hp_named_node){.parent = node->parent,
                                    .image = node->image,
                                    .place = node->place,
                                    .first_frame = (uint32_t)naming->named->frame_count,
                                    .frame_count = (uint16_t)count,
                                    .flags = (uint16_t)node->flags};
    memcpy(named->weight, node->weight, sizeof named->weight);
    if (node->image == HP_STACK_PROCESS)
        return name_process(naming, named);
    for (size_t at = 0; at < count; at++)
        if (!add_frame(naming, &found[at], image))
            return false;
    return true;
}

static bool name_nodes_of(struct naming *naming, bool are_processes)
{
    for (size_t at = 1; at < naming->stacks->tree.count; at++)
        if ((naming->stacks->tree.nodes[at].image == HP_STACK_PROCESS) == are_processes && !name_node(naming, at))
            return false;
    return true;
}

static bool name_libraries(struct naming *naming);

/* Processes first: their programs say what files are called. */
static bool name_nodes(struct naming *naming)
{
    const size_t count = naming->stacks->tree.count;
    naming->named->nodes = calloc(count + 1, sizeof *naming->named->nodes);
    if (naming->named->nodes == NULL)
        return false;
    naming->named->node_count = count > 0 ? count : 1; /* the root always exists */
    return name_nodes_of(naming, true) && name_libraries(naming) && name_nodes_of(naming, false);
}

static bool name_image(struct naming *naming, const struct hp_image *image, struct hp_named_image *named)
{
    char id[HP_BUILD_ID_TEXT];
    hp_build_id_put(&image->file.build_id, id);
    return keep_text(naming, image->path, &named->path) && keep_text(naming, id, &named->build_id) &&
           keep_text(naming, "", &named->package);
}

/* Of what is in no file, but has functions. */
static bool add_library(struct naming *naming, bool is_needed, const char *name, uint32_t *ret_image)
{
    struct hp_named_stacks *named = naming->named;
    struct hp_named_image *image = &named->images[named->image_count];
    *ret_image = HP_STACK_NO_IMAGE;
    if (!is_needed)
        return true;
    *ret_image = (uint32_t)named->image_count++;
    return keep_text(naming, name, &image->path) && keep_text(naming, "", &image->build_id) &&
           keep_text(naming, "", &image->package);
}

static bool name_images(struct naming *naming)
{
    const struct hp_image_set *images = &naming->stacks->images;
    naming->named->images = calloc(images->count + 3, sizeof *naming->named->images);
    if (naming->named->images == NULL)
        return false;
    for (; naming->named->image_count < images->count; naming->named->image_count++)
        if (!name_image(naming, images->all[naming->named->image_count],
                        &naming->named->images[naming->named->image_count]))
            return false;
    return add_library(naming, naming->stacks->kernel != NULL, HP_KERNEL_LIBRARY, &naming->kernel_image) &&
           add_library(naming, naming->generated.count > 0, HP_JIT_LIBRARY, &naming->generated_image);
}

/* Texts move while names are kept: so this works on a copy of the tables. False: no memory. */
static bool name_libraries(struct naming *naming)
{
    struct hp_named_stacks known = {.image_count = naming->stacks->images.count,
                                    .program_count = naming->named->program_count};
    bool is_done;
    naming->libraries = calloc(known.image_count + 1, sizeof *naming->libraries);
    known.images = calloc(known.image_count + 1, sizeof *known.images);
    known.programs = calloc(known.program_count + 1, sizeof *known.programs);
    is_done = naming->libraries != NULL && known.images != NULL && known.programs != NULL;
    for (size_t at = 0; is_done && at < known.program_count; at++)
        known.programs[at] =
            (struct hp_named_program){.name = text_at(naming->named, naming->named->programs[at].name),
                                      .file = text_at(naming->named, naming->named->programs[at].file)};
    for (size_t at = 0; is_done && at < known.image_count; at++)
        known.images[at].path = text_at(naming->named, naming->named->images[at].path);
    for (uint32_t at = 0; is_done && at < known.image_count; at++) {
        const char *library = hp_library_name(&known, at), *file = hp_text_base_name(known.images[at].path);
        if (strcmp(library, file) != 0)
            is_done = (naming->libraries[at] = strdup(library)) != NULL;
    }
    free(known.images);
    free(known.programs);
    return is_done;
}

static void free_libraries(struct naming *naming)
{
    for (size_t at = 0; naming->libraries != NULL && at < naming->stacks->images.count; at++)
        free(naming->libraries[at]);
    free(naming->libraries);
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

/* A copy of an array, never NULL for an empty one. NULL: no memory. */
static void *copy_of(const void *all, size_t count, size_t size)
{
    void *copy = calloc(count + 1, size);
    if (copy != NULL && count > 0)
        memcpy(copy, all, count * size);
    return copy;
}

/* Nodes keep their numbers. */
static bool copy_paths_and_holds(struct naming *naming)
{
    const struct hp_path_shares *paths = &naming->stacks->paths;
    const struct hp_lock_holds *holds = &naming->stacks->holds;
    struct hp_named_stacks *named = naming->named;
    named->paths = copy_of(paths->all, paths->count, sizeof *named->paths);
    named->holds = copy_of(holds->all, holds->count, sizeof *named->holds);
    if (named->paths == NULL || named->holds == NULL)
        return false;
    named->path_count = paths->count;
    named->hold_count = holds->count;
    return true;
}

/* ------------------------------------------------------------------------------------------------- packages */

/* Where much time has no names, the package that has them is worth a search: of the file with the most of it. */
#define NAMELESS_PART 20u /* one part in this many of all CPU time */
#define NAMELESS_LEAST_NS UINT64_C(50000000)

/* By image, the CPU time of functions without a name, themselves. Returns all CPU time. */
static uint64_t sum_nameless(const struct hp_named_stacks *named, uint64_t *nameless_ns)
{
    uint64_t all_ns = 0;
    for (size_t at = 1; at < named->node_count; at++) {
        const struct hp_named_node *node = &named->nodes[at];
        const uint64_t ns = node->weight[HP_STACK_USER_NS] + node->weight[HP_STACK_KERNEL_NS];
        all_ns += ns;
        if (ns == 0 || node->frame_count == 0)
            continue;
        const struct hp_named_function *function = &named->functions[named->frames[node->first_frame].function];
        if (function->image < named->image_count && hp_is_nameless(text_at(named, function->name)))
            nameless_ns[function->image] += ns;
    }
    return all_ns;
}

/* Whether it is the file that is installed here, and not that of a container. */
static bool is_installed_here(const struct hp_image *image)
{
    const struct hp_file_identity identity = hp_file_identify(image->file.fd);
    const int here = identity.is_known ? open(image->path, O_PATH | O_CLOEXEC) : -1;
    const bool is_same = here >= 0 && hp_file_is(here, &identity);
    if (here >= 0)
        close(here);
    return is_same;
}

static bool name_package(struct naming *naming)
{
    struct hp_named_stacks *named = naming->named;
    const struct hp_image_set *images = &naming->stacks->images;
    char package[MOST_NAME];
    uint64_t *nameless_ns = calloc(named->image_count + 1, sizeof *nameless_ns);
    if (nameless_ns == NULL)
        return false;
    const uint64_t all_ns = sum_nameless(named, nameless_ns);
    size_t most = 0;
    for (size_t at = 1; at < images->count; at++)
        most = nameless_ns[at] > nameless_ns[most] ? at : most;
    const bool pays = nameless_ns[most] >= NAMELESS_LEAST_NS && nameless_ns[most] >= all_ns / NAMELESS_PART;
    free(nameless_ns);
    if (!pays || !is_installed_here(images->all[most]) ||
        !hp_debug_package(HP_DPKG_LISTS, images->all[most]->path, package, sizeof package))
        return true;
    return keep_text(naming, package, &named->images[most].package);
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

static bool name_all(struct naming *naming, const struct hp_zone_namer *zones, bool is_last)
{
    struct hp_named_stacks *named = naming->named;
    *named = (struct hp_named_stacks){.counts = naming->stacks->counts};
    const bool is_done = hp_generated_names_make(naming->stacks, &naming->generated) && name_images(naming) &&
                         name_nodes(naming) && name_zones(naming, zones) && copy_paths_and_holds(naming) &&
                         (!is_last || name_package(naming));
    hp_generated_names_free(&naming->generated);
    if (is_done)
        settle_texts(named);
    free_libraries(naming);
    hp_hash_free(&naming->function_index);
    hp_hash_free(&naming->program_index);
    if (!is_done)
        hp_named_stacks_free(named);
    return is_done;
}

static void take_slots(struct hp_stacks *program, size_t nodes, struct hp_named_stacks *named)
{
    if (program->slots == NULL)
        return;
    named->slots = program->slots;
    named->began_ns = program->slots->start_ns;
    named->slot_nodes = program->slot_nodes;
    named->slot_node_count = nodes;
    program->slot_nodes = NULL;
}

/* ------------------------------------------------------------------------------------------------- the namer */

#define CHOICE_GROWTH 8u /* lines are chosen again when so much more time was seen */

/* NULL: no memory. */
static struct hp_event_code *seen_code(const struct hp_stacks *stacks)
{
    struct hp_event_code *event = calloc(stacks->tree.count + 1, sizeof *event);
    if (event != NULL)
        fill_in_seen(stacks, event);
    return event;
}

static uint64_t time_seen(const struct hp_stack_counts *counts)
{
    return (counts->samples + counts->waits + counts->allocs) *
           (counts->period_ns > 0 ? counts->period_ns : DEFAULT_PERIOD_NS);
}

/* Without memory, all lines are read. */
static void begin_symbols(struct hp_stack_namer *namer, const struct hp_stacks *found)
{
    struct hp_event_code *event = seen_code(found);
    hp_symbolizer_free(&namer->symbolizer);
    if (event != NULL)
        hp_symbolizer_weigh(&namer->symbolizer, event, found->tree.count);
    free(event);
    namer->chosen_ns = time_seen(&found->counts) + 1;
    namer->loaded = namer->prepared = 0;
    namer->has_chosen = false;
}

static void choose_lines(struct hp_stack_namer *namer, const struct hp_stacks *found)
{
    struct hp_event_code *event = seen_code(found);
    if (event != NULL)
        hp_symbolizer_choose_lines(&namer->symbolizer, event, found->tree.count);
    free(event);
    namer->has_chosen = true;
}

static const struct hp_image *image_of(const struct hp_stacks *stacks, size_t node)
{
    const uint32_t image = stacks->tree.nodes[node].image;
    return image < stacks->images.count ? stacks->images.all[image] : NULL;
}

/* Returns false when the time is over. */
static bool load_files(struct hp_stack_namer *namer, const struct hp_stacks *found, uint64_t until_ns)
{
    for (; namer->loaded < found->tree.count; namer->loaded++) {
        const struct hp_image *image = image_of(found, namer->loaded);
        if (image == NULL || !hp_symbolizer_load(&namer->symbolizer, image))
            continue;
        if (hp_clock_monotonic_ns() >= until_ns)
            return false;
    }
    return true;
}

#define LOOKUPS_AT_ONCE 32u

static bool look_up(struct hp_stack_namer *namer, const struct hp_stacks *found, uint64_t until_ns)
{
    struct hp_source_place places[MOST_INLINED];
    for (; namer->prepared < found->tree.count; namer->prepared++) {
        const struct hp_image *image = image_of(found, namer->prepared);
        if (image != NULL)
            hp_symbolizer_find(&namer->symbolizer, image, found->tree.nodes[namer->prepared].place, places,
                               MOST_INLINED);
        if (namer->prepared % LOOKUPS_AT_ONCE == 0 && hp_clock_monotonic_ns() >= until_ns)
            return false;
    }
    return true;
}

/* No server is asked while the program runs. */
bool hp_stack_namer_prepare(struct hp_stack_namer *namer, const struct hp_stacks *found, uint64_t most_ns)
{
    const uint64_t until_ns = hp_clock_monotonic_ns() + most_ns;
    if (namer->chosen_ns == 0 || time_seen(&found->counts) / CHOICE_GROWTH > namer->chosen_ns)
        begin_symbols(namer, found);
    hp_debuginfod_hold(true);
    bool is_done = load_files(namer, found, until_ns);
    if (is_done && !namer->has_chosen)
        choose_lines(namer, found);
    is_done = is_done && look_up(namer, found, until_ns);
    hp_debuginfod_hold(false);
    return is_done;
}

/* The kernel's names are read once. */
static void find_kernel(struct hp_stack_namer *namer, struct hp_stacks *found)
{
    if (!hp_kernel_names_pay(found))
        return;
    if (!namer->has_read_kernel)
        namer->has_kernel = hp_kernel_names_read(&namer->kernel, HP_KERNEL_SYMBOLS);
    namer->has_read_kernel = true;
    found->kernel = namer->has_kernel ? &namer->kernel : NULL;
    found->counts.hides_kernel = !namer->has_kernel;
}

static bool name(struct hp_stack_namer *namer, const struct hp_stacks *found, const struct hp_zone_namer *zones,
                 bool is_last, struct hp_named_stacks *ret_named)
{
    struct hp_stacks with = *found;
    struct hp_stacks *program = &namer->program.stacks;
    struct naming naming = {.stacks = program, .named = ret_named, .symbolizer = &namer->symbolizer};
    find_kernel(namer, &with);
    *ret_named = (struct hp_named_stacks){.counts = with.counts};
    if (!hp_program_stacks_make(&namer->program, &with))
        return false;
    if (is_last) {
        begin_symbols(namer, program);
        choose_lines(namer, program);
    }
    const bool is_done = name_all(&naming, zones, is_last);
    if (is_done)
        take_slots(program, found->tree.count, ret_named);
    program->kernel = NULL;
    return is_done;
}

bool hp_stack_namer_name(struct hp_stack_namer *namer, const struct hp_stacks *found,
                         const struct hp_zone_namer *zones, struct hp_named_stacks *ret_named)
{
    hp_debuginfod_hold(true);
    const bool is_done = name(namer, found, zones, false, ret_named);
    hp_debuginfod_hold(false);
    return is_done;
}

bool hp_stack_namer_finish(struct hp_stack_namer *namer, const struct hp_stacks *found,
                           const struct hp_zone_namer *zones, struct hp_named_stacks *ret_named)
{
    return name(namer, found, zones, true, ret_named);
}

void hp_stack_namer_free(struct hp_stack_namer *namer)
{
    hp_program_stacks_free(&namer->program);
    hp_symbolizer_free(&namer->symbolizer);
    hp_kernel_names_free(&namer->kernel);
    *namer = (struct hp_stack_namer){.chosen_ns = 0};
}

bool hp_name_stacks(const struct hp_stacks *found, const struct hp_zone_namer *zones,
                    struct hp_named_stacks *ret_named)
{
    struct hp_stack_namer namer = {.chosen_ns = 0};
    const bool is_done = hp_stack_namer_finish(&namer, found, zones, ret_named);
    hp_stack_namer_free(&namer);
    return is_done;
}
