/* Numbers texts. SPDX-License-Identifier: MIT */
#include "text_table.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

uint32_t hp_text_table_put(struct hp_text_table *table, const char *text)
{
    struct hp_hash_index *index = &table->index;
    const char **grown = hp_grown((void *)(uintptr_t)table->texts, table->count, &table->room, sizeof *grown);
    if (grown != NULL)
        table->texts = grown;
    if (grown == NULL || !hp_hash_make_room(index)) {
        table->lacks_memory = true;
        return 0;
    }
    const uint32_t hash = hp_hash_with_text(index, 0, text);
    size_t slot = hp_hash_first(index, hash);
    for (; index->slots[slot].number != 0; slot = hp_hash_next(index, slot))
        if (index->slots[slot].hash == hash && strcmp(grown[index->slots[slot].number - 1], text) == 0)
            return index->slots[slot].number - 1;
    grown[table->count++] = text;
    hp_hash_put(index, slot, hash, (uint32_t)table->count);
    return (uint32_t)table->count - 1;
}

void hp_text_table_free(struct hp_text_table *table)
{
    free((void *)(uintptr_t)table->texts);
    hp_hash_free(&table->index);
    memset(table, 0, sizeof *table);
}
