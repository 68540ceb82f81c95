/*
 * Leaves hotpath's own code out of stacks.
 *
 * Our libraries call the C library and the code of the program, nothing else. A function of the C library with the
 * name of a hook is what the program asked for: our own work calls no function that is hooked.
 * SPDX-License-Identifier: MIT
 */
#include "program_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "fileless_code.h"
#include "function_role.h"
#include "growing_array.h"
#include "layout.h"
#include "symbol_tables.h"
#include "text.h"

/* ------------------------------------------------------------------------------------------------ hooks */

/* Of an image. */
struct our_image {
    bool is_met;
    bool is_ours;
    struct hp_elf_table table;    /* of ours: the names of hooks */
    bool is_read;                 /* whether the next is there */
    struct hp_range_index hooked; /* of the C library: functions that are hooked */
};

struct hp_our_images {
    struct our_image *all;
    size_t count, room;
    const char **hooks;
    size_t hook_count;
};

static bool is_our_library(const struct hp_image *image)
{
    return hp_text_begins(hp_text_base_name(image->path), "libhotpath");
}

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
static bool list_hooks(struct hp_our_images *images)
{
    size_t most = 0;
    for (size_t at = 0; at < images->count; at++)
        most += images->all[at].table.count;
    free(images->hooks);
    images->hook_count = 0;
    images->hooks = calloc(most + 1, sizeof *images->hooks);
    for (size_t at = 0; images->hooks != NULL && at < images->count; at++) {
        const struct hp_elf_table *table = &images->all[at].table;
        for (size_t symbol = 0; symbol < table->count; symbol++)
            if (is_exported_function(&table->symbols[symbol]))
                images->hooks[images->hook_count++] = hp_elf_name(table, &table->symbols[symbol]);
    }
    if (images->hooks != NULL)
        qsort(images->hooks, images->hook_count, sizeof *images->hooks, compare_names);
    return images->hooks != NULL;
}

static void forget_hooked(struct hp_our_images *images)
{
    for (size_t at = 0; at < images->count; at++) {
        hp_range_index_free(&images->all[at].hooked);
        images->all[at].is_read = false;
    }
}

/* Those that are new. What is hooked is known again when there are more hooks. */
static bool meet_images(struct hp_our_images *images, const struct hp_image_set *found)
{
    bool has_more_hooks = images->hooks == NULL;
    if (!HP_MAKE_ZEROED_ROOM(images->all, found->count + 1, images->room))
        return false;
    images->count = found->count;
    for (size_t at = 0; at < found->count; at++) {
        struct our_image *image = &images->all[at];
        if (image->is_met)
            continue;
        image->is_met = true;
        image->is_ours = is_our_library(found->all[at]);
        has_more_hooks |= image->is_ours;
        if (image->is_ours)
            read_exports(found->all[at], &image->table);
    }
    if (!has_more_hooks)
        return true;
    forget_hooked(images);
    return list_hooks(images);
}

static bool is_hook(const struct hp_our_images *images, const char *name)
{
    return bsearch(&name, images->hooks, images->hook_count, sizeof *images->hooks, compare_names) != NULL;
}

static void read_hooked(const struct hp_our_images *images, const struct hp_image *file, struct our_image *image)
{
    struct hp_elf_table table = {.count = 0};
    struct hp_ranges ranges = {.count = 0};
    read_exports(file, &table);
    for (size_t at = 0; at < table.count; at++) {
        const ElfW(Sym) *symbol = &table.symbols[at];
        if (is_exported_function(symbol) && is_hook(images, hp_elf_name(&table, symbol)))
            hp_ranges_add(&ranges, &(struct hp_range){hp_elf_start(symbol), hp_elf_start(symbol) + symbol->st_size,
                                                      (uint32_t)at, 0});
    }
    hp_range_index_make(&image->hooked, &ranges);
    free(ranges.all);
    hp_elf_free_table(&table);
    image->is_read = true;
}

static bool is_hooked(const struct hp_our_images *images, const struct hp_image *file, uint64_t place)
{
    struct our_image *image = &images->all[file->number];
    if (!image->is_read)
        read_hooked(images, file, image);
    return hp_range_index_find(&image->hooked, place) != HP_RANGE_NONE;
}

static void free_images(struct hp_our_images *images)
{
    if (images == NULL)
        return;
    forget_hooked(images);
    for (size_t at = 0; at < images->count; at++)
        hp_elf_free_table(&images->all[at].table);
    free(images->all);
    free(images->hooks);
    free(images);
}

/* ------------------------------------------------------------------------------------------------- nodes */

struct cleaning {
    const struct hp_stacks *from;
    struct hp_stacks *to;
    const struct hp_our_images *images;
    uint32_t *moved;   /* by node: the program's node there */
    uint32_t *process; /* by node: the program's node of its process or thread; the root: not known */
    bool *is_own;      /* by node: it is hotpath's work */
};

/*
 * pthread_join of glibc goes on by a jump in a function that is not exported, so its frame is not known as that of
 * a hooked function. We join no threads of the program.
 */
static bool is_join(const struct hp_stack_node *node)
{
    return node->image == HP_STACK_WAITING && node->place >> 32 == HP_WAIT_THREAD;
}

/* Of a node that our code called: a call that is passed on, or a function of the program, such as a handler. */
static bool is_for_program(struct cleaning *cleaning, const struct hp_stack_node *node)
{
    const struct hp_image_set *images = &cleaning->from->images;
    if (node->image >= images->count)
        return node->image == HP_STACK_NO_IMAGE;
    return !hp_is_c_library(images->all[node->image]->path) ||
           is_hooked(cleaning->images, images->all[node->image], node->place);
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

static bool is_in_our_library(const struct cleaning *cleaning, const struct hp_stack_node *node)
{
    return node->image < cleaning->images->count && cleaning->images->all[node->image].is_ours;
}

static void move_node(struct cleaning *cleaning, uint32_t number)
{
    struct hp_stack_tree *tree = &cleaning->to->tree;
    const struct hp_stack_node *node = &cleaning->from->tree.nodes[number];
    cleaning->is_own[number] =
        is_in_our_library(cleaning, node) ||
        (cleaning->is_own[node->parent] && !is_for_program(cleaning, node) && !is_join(node));
    cleaning->process[number] = cleaning->process[node->parent];
    cleaning->moved[number] = moved_of(cleaning, node, cleaning->is_own[number]);
    if (!cleaning->is_own[number])
        tree->nodes[cleaning->moved[number]].flags |= node->flags;
    if (node->image == HP_STACK_PROCESS || node->image == HP_STACK_THREAD)
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

static bool move_holds(struct cleaning *cleaning)
{
    const struct hp_lock_holds *from = &cleaning->from->holds;
    for (size_t at = 0; at < from->count; at++) {
        const struct hp_lock_hold *hold = &from->all[at];
        if (!hp_lock_holds_add(&cleaning->to->holds, target_of(cleaning, hold->waiter),
                               target_of(cleaning, hold->holder), hp_lock_hold_ns(from, at), hold->samples))
            return false;
    }
    return true;
}

static bool move_paths(struct cleaning *cleaning)
{
    const struct hp_path_shares *from = &cleaning->from->paths;
    for (size_t at = 0; at < from->count; at++) {
        struct hp_path_share share = from->all[at];
        share.node = target_of(cleaning, share.node);
        if (!hp_path_shares_add(&cleaning->to->paths, &share))
            return false;
    }
    return true;
}

/* Slots have the nodes that were found. */
static bool move_slots(struct cleaning *cleaning)
{
    const struct hp_stack_tree *tree = &cleaning->from->tree;
    uint32_t *nodes = malloc((tree->count + 1) * sizeof *nodes);
    if (nodes == NULL)
        return false;
    for (uint32_t at = 0; at < tree->count; at++)
        nodes[at] = has_weight(&tree->nodes[at]) ? target_of(cleaning, at) : cleaning->moved[at];
    cleaning->to->slot_nodes = nodes;
    return true;
}

/* -------------------------------------------------------------------------------------------------- all */

static bool begin(struct cleaning *cleaning)
{
    const size_t nodes = cleaning->from->tree.count + 1;
    cleaning->moved = calloc(nodes, sizeof *cleaning->moved);
    cleaning->process = calloc(nodes, sizeof *cleaning->process);
    cleaning->is_own = calloc(nodes, sizeof *cleaning->is_own);
    return cleaning->moved != NULL && cleaning->process != NULL && cleaning->is_own != NULL;
}

static void end(struct cleaning *cleaning)
{
    free(cleaning->moved);
    free(cleaning->process);
    free(cleaning->is_own);
}

static void free_shares(struct hp_stacks *stacks)
{
    hp_zone_shares_free(&stacks->shares);
    hp_lock_holds_free(&stacks->holds);
    hp_path_shares_free(&stacks->paths);
    free(stacks->slot_nodes);
    stacks->slot_nodes = NULL;
}

/* The tree stays, without weights: what is found again gets the same numbers. */
static void begin_again(struct hp_stacks *stacks, const struct hp_stacks *found)
{
    const struct hp_stack_tree tree = stacks->tree;
    free_shares(stacks);
    for (size_t at = 0; at < tree.count; at++)
        memset(tree.nodes[at].weight, 0, sizeof tree.nodes[at].weight);
    *stacks = *found;
    stacks->tree = tree;
    memset(&stacks->shares, 0, sizeof stacks->shares);
    memset(&stacks->holds, 0, sizeof stacks->holds);
    memset(&stacks->paths, 0, sizeof stacks->paths);
    stacks->slot_nodes = NULL;
}

bool hp_program_stacks_make(struct hp_program_stacks *program, const struct hp_stacks *found)
{
    if (program->images == NULL)
        program->images = calloc(1, sizeof *program->images);
    if (program->images == NULL || !meet_images(program->images, &found->images))
        return false;
    begin_again(&program->stacks, found);
    struct cleaning cleaning = {.from = found, .to = &program->stacks, .images = program->images};
    bool is_done = begin(&cleaning);
    for (size_t at = 1; is_done && at < found->tree.count; at++)
        move_node(&cleaning, (uint32_t)at);
    is_done = is_done && move_shares(&cleaning) && move_holds(&cleaning) && move_paths(&cleaning) &&
              move_slots(&cleaning);
    end(&cleaning);
    return is_done;
}

void hp_program_stacks_free(struct hp_program_stacks *program)
{
    hp_stack_tree_free(&program->stacks.tree);
    free_shares(&program->stacks);
    free_images(program->images);
    *program = (struct hp_program_stacks){.images = NULL};
}
