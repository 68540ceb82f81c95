/* Numbered texts, each once, as many formats have them. SPDX-License-Identifier: MIT */
#ifndef HP_EXPORT_TEXT_TABLE_H
#define HP_EXPORT_TEXT_TABLE_H

#include "hash_index.h"

struct hp_text_table {
    const char **texts;
    size_t count;
    bool lacks_memory;
    size_t room; /* private from here on */
    struct hp_hash_index index;
};

/* Its number, from 0. The text must outlive the table. Without memory it is 0, and `lacks_memory` is set. */
uint32_t hp_text_table_put(struct hp_text_table *table, const char *text);
void hp_text_table_free(struct hp_text_table *table);

#endif
