/* Names stacks, as the program would have them without hotpath. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_PATH */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"
#include "debug_package.h"
#include "elf_file.h"
#include "fileless_code.h"
#include "files.h"
#include "function_role.h"
#include "growing_array.h"
#include "hash_index.h"
#include "named_stacks.h"
#include "symbol_tables.h"
#include "symbolizer.h"
#include "text.h"

/* ---------------------------------------------------------------------------------------------- without hotpath */

/*
 * Leaves hotpath's own code out of stacks.
 *
 * Our libraries call the C library and the code of the program, nothing else. A function of the C library with the
 * name of a hook is what the program asked for: our own work calls no function that is hooked.
 */

struct cleaning {
    const struct hp_stacks *from;
    struct hp_stacks *to;
    uint32_t *moved;   /* by node: the program's node there */
    uint32_t *process; /* by node: the program's node of its process; the root: not known */
    bool *is_own;      /* by node: it is hotpath's work */
    const char **hooks;
    size_t hook_count;
    struct hp_elf_table *tables;   /* by image, of ours: they have the names of hooks */
    struct hp_range_index *hooked; /* by image, of the C library: functions that are hooked */
    bool *is_read;                 /* whether the last is there */
};

static bool is_our_library(const struct hp_stacks *stacks, uint32_t image)
{
    return image < stacks->images.count &&
           hp_text_begins(hp_text_base_name(stacks->images.all[image]->path), "libhotpath");
}

/* ------------------------------------------------------------------------------------------------ hooks */

static void read_exports(const struct hp_image *image, struct hp_elf_table *table)
{
    ElfW(Shdr) symbols, names;
    if (image->is_readable && hp_image_file_section(&image->file, ".dynsym", &symbols) &&
        hp_image_file_section(&image->file, ".dynstr", &names))
        hp_elf_copy_table(table, image->file.fd, &symbols, &names);
}

static bool is_exported_function(const ElfW(Sym) * symbol)
{
    return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 0xf) == STT_FUNC;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What our libraries export: hooks, and functions that no other library has. */
static bool find_hooks(struct cleaning *cleaning)
{
    const struct hp_image_set *images = &cleaning->from->images;
    size_t most = 0;
    for (uint32_t at = 0; at < images->count; at++)
        if (is_our_library(cleaning->from, at)) {
            read_exports(images->all[at], &cleaning->tables[at]);
            most += cleaning->tables[at].count;
        }
    cleaning->hooks = calloc(most + 1, sizeof *cleaning->hooks);
    for (uint32_t at = 0; cleaning->hooks != NULL && at < images->count; at++)
        for (size_t symbol = 0; symbol < cleaning->tables[at].count; symbol++)
            if (is_exported_function(&cleaning->tables[at].symbols[symbol]))
                cleaning->hooks[cleaning->hook_count++] =
                    hp_elf_name(&cleaning->tables[at], &cleaning->tables[at].symbols[symbol]);
    if (cleaning->hooks != NULL)
        qsort(cleaning->hooks, cleaning->hook_count, sizeof *cleaning->hooks, compare_names);
    return cleaning->hooks != NULL;
}

static void read_hooked(struct cleaning *cleaning, uint32_t image)
{
    struct hp_elf_table table = {.count = 0};
    struct hp_ranges ranges = {.count = 0};
    read_exports(cleaning->from->images.all[image], &table);
    for (size_t at = 0; at < table.count; at++) {
        const ElfW(Sym) *symbol = &table.symbols[at];
        const char *name = hp_elf_name(&table, symbol);
        if (is_exported_function(symbol) &&
            bsearch(&name, cleaning->hooks, cleaning->hook_count, sizeof *cleaning->hooks, compare_names) != NULL)
            hp_ranges_add(&ranges, &(struct hp_range){hp_elf_start(symbol), hp_elf_start(symbol) + symbol->st_size,
                                                      (uint32_t)at, 0});
    }
    hp_range_index_make(&cleaning->hooked[image], &ranges);
    free(ranges.all);
    hp_elf_free_table(&table);
    cleaning->is_read[image] = true;
}

static bool is_hooked(struct cleaning *cleaning, uint32_t image, uint64_t place)
{
    if (!cleaning->is_read[image])
        read_hooked(cleaning, image);
    return hp_range_index_find(&cleaning->hooked[image], place) != HP_RANGE_NONE;
}

/* ------------------------------------------------------------------------------------------------- nodes */

/* Of a node that our code called: a call that is passed on, or a function of the program, such as a handler. */
static bool is_for_program(struct cleaning *cleaning, const struct hp_stack_node *node)
{
    const struct hp_image_set *images = &cleaning->from->images;
    if (node->image >= images->count)
        return node->image == HP_STACK_NO_IMAGE;
    return !hp_is_c_library(images->all[node->image]->path) || is_hooked(cleaning, node->image, node->place);
}

static void add_weights(uint64_t *to, const uint64_t *from)
{
    for (size_t weight = 0; weight < HP_STACK_WEIGHTS; weight++)
        to[weight] += from[weight];
}

static bool has_weight(const struct hp_stack_node *node)
{
    uint64_t any = 0;
    for (size_t weight = 0; weight < HP_STACK_WEIGHTS; weight++)
        any |= node->weight[weight];
    return any != 0;
}

/* The node that gets the weights of another one. */
static uint32_t target_of(struct cleaning *cleaning, uint32_t number)
{
    struct hp_stack_tree *tree = &cleaning->to->tree;
    const struct hp_stack_node *node = &cleaning->from->tree.nodes[number];
    if (!cleaning->is_own[number])
        return cleaning->moved[number];
    const uint32_t own = hp_stack_tree_below(tree, cleaning->process[number], HP_STACK_OWN, 0);
    return node->image == HP_STACK_WAITING ? hp_stack_tree_below(tree, own, node->image, node->place) : own;
}

/* A function of the kernel, by its number. Without names there are none, only what the program called. */
static uint32_t moved_kernel(struct cleaning *cleaning, const struct hp_stack_node *node)
{
    struct hp_stack_tree *tree = &cleaning->to->tree;
    const size_t function = hp_kernel_function_of(cleaning->from, node);
    const struct hp_stack_node *above = &cleaning->from->tree.nodes[node->parent];
    uint32_t parent = cleaning->moved[node->parent];
    if (function == HP_NO_KERNEL_FUNCTION)
        return parent;
    if (above->image == HP_STACK_KERNEL)
        parent = hp_stack_tree_below(tree, cleaning->moved[above->parent], HP_STACK_KERNEL,
                                     hp_kernel_reason(cleaning->from->kernel, function, above->place));
    return hp_stack_tree_below(tree, parent, HP_STACK_KERNEL_CODE, function);
}

static uint32_t moved_of(struct cleaning *cleaning, const struct hp_stack_node *node, bool is_own)
{
    const uint32_t parent = cleaning->moved[node->parent];
    if (is_own)
        return parent;
    return node->image == HP_STACK_KERNEL_CODE
               ? moved_kernel(cleaning, node)
               : hp_stack_tree_below(&cleaning->to->tree, parent, node->image, node->place);
}

static void move_node(struct cleaning *cleaning, uint32_t number)
{
    struct hp_stack_tree *tree = &cleaning->to->tree;
    const struct hp_stack_node *node = &cleaning->from->tree.nodes[number];
    cleaning->is_own[number] = is_our_library(cleaning->from, node->image) ||
                               (cleaning->is_own[node->parent] && !is_for_program(cleaning, node));
    cleaning->process[number] = cleaning->process[node->parent];
    cleaning->moved[number] = moved_of(cleaning, node, cleaning->is_own[number]);
    if (!cleaning->is_own[number])
        tree->nodes[cleaning->moved[number]].flags |= node->flags;
    if (node->image == HP_STACK_PROCESS)
        cleaning->process[number] = cleaning->moved[number];
    if (has_weight(node)) {
        const uint32_t target = target_of(cleaning, number);
        add_weights(tree->nodes[target].weight, node->weight);
    }
}

static bool move_shares(struct cleaning *cleaning)
{
    const struct hp_zone_shares *from = &cleaning->from->shares;
    for (size_t at = 0; at < from->count; at++) {
        struct hp_zone_share *share =
            hp_zone_shares_at(&cleaning->to->shares, target_of(cleaning, from->all[at].node), from->all[at].zone);
        if (share == NULL)
            return false;
        add_weights(share->weight, from->all[at].weight);
    }
    return true;
}

/* -------------------------------------------------------------------------------------------------- all */

static bool begin(struct cleaning *cleaning)
{
    const size_t nodes = cleaning->from->tree.count + 1, images = cleaning->from->images.count + 1;
    cleaning->moved = calloc(nodes, sizeof *cleaning->moved);
    cleaning->process = calloc(nodes, sizeof *cleaning->process);
    cleaning->is_own = calloc(nodes, sizeof *cleaning->is_own);
    cleaning->tables = calloc(images, sizeof *cleaning->tables);
    cleaning->hooked = calloc(images, sizeof *cleaning->hooked);
    cleaning->is_read = calloc(images, sizeof *cleaning->is_read);
    return cleaning->moved != NULL && cleaning->process != NULL && cleaning->is_own != NULL &&
           cleaning->tables != NULL && cleaning->hooked != NULL && cleaning->is_read != NULL &&
           find_hooks(cleaning);
}

static void end(struct cleaning *cleaning)
{
    for (size_t at = 0; at < cleaning->from->images.count; at++) {
        if (cleaning->tables != NULL)
            hp_elf_free_table(&cleaning->tables[at]);
        if (cleaning->hooked != NULL)
            hp_range_index_free(&cleaning->hooked[at]);
    }
    free(cleaning->moved);
    free(cleaning->process);
    free(cleaning->is_own);
    free(cleaning->hooks);
    free(cleaning->tables);
    free(cleaning->hooked);
    free(cleaning->is_read);
}

bool hp_program_stacks_make(const struct hp_stacks *stacks, struct hp_stacks *ret_program)
{
    struct cleaning cleaning = {.from = stacks, .to = ret_program};
    *ret_program = *stacks;
    memset(&ret_program->tree, 0, sizeof ret_program->tree);
    memset(&ret_program->shares, 0, sizeof ret_program->shares);
    bool is_done = begin(&cleaning);
    for (size_t at = 1; is_done && at < stacks->tree.count; at++)
        move_node(&cleaning, (uint32_t)at);
    is_done = is_done && move_shares(&cleaning);
    end(&cleaning);
    if (!is_done)
        hp_program_stacks_free(ret_program);
    return is_done;
}

void hp_program_stacks_free(struct hp_stacks *program)
{
    hp_stack_tree_free(&program->tree);
    hp_zone_shares_free(&program->shares);
}

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
    struct hp_symbolizer symbolizer;
    struct hp_generated_names generated;
    uint32_t kernel_image, generated_image; /* of functions that are in no file */
    size_t text_room, frame_room, function_room;
    struct hp_hash_index function_index; /* by name and image */
    struct hp_hash_index program_index;  /* by name and file */
    size_t program_room;
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
                 : node->image == HP_STACK_INCOMPLETE ? "[rest of the stack unknown]"
                                                      : "[code in no file]");
}

/* Its functions, and in which image they are. `name` is room for one. */
static size_t find_functions(struct naming *naming, size_t number, char *name, size_t size,
                             struct hp_source_place *found, uint32_t *ret_image)
{
    const struct hp_stack_node *node = &naming->stacks->tree.nodes[number];
    *ret_image = node->image;
    if (node->image < naming->stacks->images.count)
        return hp_symbolizer_find(&naming->symbolizer, naming->stacks->images.all[node->image], node->place, found,
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
    return node->image != HP_STACK_PROCESS;
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
        if (function->image < named->image_count &&
            hp_is_nameless(text_at(named, function->name), text_at(named, named->images[function->image].path)))
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
    const bool is_done = hp_generated_names_make(stacks, &naming.generated) && name_images(&naming) &&
                         name_nodes(&naming) && name_zones(&naming, namer) && name_package(&naming);
    hp_generated_names_free(&naming.generated);
    if (is_done)
        settle_texts(ret_named);
    hp_hash_free(&naming.function_index);
    hp_hash_free(&naming.program_index);
    hp_symbolizer_free(&naming.symbolizer);
    if (!is_done)
        hp_named_stacks_free(ret_named);
    return is_done;
}

bool hp_name_stacks(const struct hp_stacks *stacks, const struct hp_zone_namer *namer,
                    struct hp_named_stacks *ret_named)
{
    struct hp_stacks program, with = *stacks;
    struct hp_kernel_names kernel = {.count = 0};
    if (hp_kernel_names_pay(stacks)) {
        const bool is_read = hp_kernel_names_read(&kernel, HP_KERNEL_SYMBOLS);
        with.kernel = is_read ? &kernel : NULL;
        with.counts.hides_kernel = !is_read;
    }
    bool is_done = hp_program_stacks_make(&with, &program);
    if (is_done) {
        is_done = name_all(&program, namer, ret_named);
        hp_program_stacks_free(&program);
    }
    hp_kernel_names_free(&kernel);
    return is_done;
}
