/* Frames of weighted stacks. SPDX-License-Identifier: MIT */
#include "frame_table.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "hash_index.h"

/* --------------------------------------------------------------------------------------------------- text table */

/*
 * Numbers texts.
 */

uint32_t hp_text_table_put(struct hp_text_table *table, const char *text)
{
    struct hp_hash_index *index = &table->index;
    if (!HP_MAKE_ROOM(table->texts, table->count + 1, table->room) || !hp_hash_make_room(index)) {
        table->lacks_memory = true;
        return 0;
    }
    const uint32_t hash = hp_hash_with_text(index, 0, text);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;)
        if (strcmp(table->texts[number - 1], text) == 0)
            return number - 1;
    table->texts[table->count++] = text;
    hp_hash_put(index, slot, hash, (uint32_t)table->count);
    return (uint32_t)table->count - 1;
}

void hp_text_table_free(struct hp_text_table *table)
{
    free((void *)(uintptr_t)table->texts);
    hp_hash_free(&table->index);
    memset(table, 0, sizeof *table);
}

/* -------------------------------------------------------------------------------------------------- frame table */

struct making {
    struct hp_frame_table *table;
    struct hp_hash_index index;
    size_t room;
};

static bool is_same(const struct hp_frame *a, const struct hp_frame *b)
{
    return a->function == b->function && a->line == b->line && a->outer == b->outer;
}

/* 0: no memory. */
static uint32_t put(struct making *making, const struct hp_frame *frame)
{
    struct hp_frame_table *table = making->table;
    struct hp_hash_index *index = &making->index;
    if (!HP_MAKE_ROOM(table->frames, table->count + 1, making->room) || !hp_hash_make_room(index))
        return 0;
    const uint32_t hash = hp_hash_with(index, hp_hash_with(index, frame->line, frame->outer), frame->function);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;)
        if (is_same(&table->frames[number], frame))
            return number;
    table->frames[table->count] = *frame;
    hp_hash_put(index, slot, hash, (uint32_t)table->count);
    return (uint32_t)table->count++;
}

static bool make(struct making *making, const struct hp_weighted *weighted)
{
    struct hp_frame_table *table = making->table;
    table->of_node = calloc(weighted->node_count + 1, sizeof *table->of_node);
    table->frames = calloc(1, sizeof *table->frames);
    if (table->of_node == NULL || table->frames == NULL)
        return false;
    table->count = making->room = 1;
    for (size_t at = 1; at < weighted->node_count; at++) {
        const struct hp_weighted_node *node = &weighted->nodes[at];
        struct hp_frame frame = {.function = node->function, .line = node->line};
        if (node->is_inlined)
            frame.outer = table->of_node[node->parent];
        if (frame.outer != 0)
            frame.depth = table->frames[frame.outer].depth + 1;
        table->of_node[at] = put(making, &frame);
        if (table->of_node[at] == 0)
            return false;
    }
    return true;
}

bool hp_frame_table_make(struct hp_frame_table *table, const struct hp_weighted *weighted)
{
    struct making making = {.table = table};
    memset(table, 0, sizeof *table);
    const bool is_made = make(&making, weighted);
    hp_hash_free(&making.index);
    return is_made;
}

void hp_frame_table_free(struct hp_frame_table *table)
{
    free(table->frames);
    free(table->of_node);
    memset(table, 0, sizeof *table);
}
