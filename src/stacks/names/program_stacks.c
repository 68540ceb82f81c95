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
#include "named_stacks.h"
#include "range_index.h"
#include "text.h"

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

static void move_node(struct cleaning *cleaning, uint32_t number)
{
    struct hp_stack_tree *tree = &cleaning->to->tree;
    const struct hp_stack_node *node = &cleaning->from->tree.nodes[number];
    cleaning->is_own[number] = is_our_library(cleaning->from, node->image) ||
                               (cleaning->is_own[node->parent] && !is_for_program(cleaning, node));
    cleaning->process[number] = cleaning->process[node->parent];
    cleaning->moved[number] = cleaning->is_own[number] ? cleaning->moved[node->parent]
                                                       : hp_stack_tree_below(tree, cleaning->moved[node->parent],
                                                                             node->image, node->place);
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
