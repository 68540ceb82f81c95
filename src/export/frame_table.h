/*
 * The frames of weighted stacks, each once: a function at a line and, if it is inlined, the frame that it is
 * inlined into. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_FRAME_TABLE_H
#define HP_EXPORT_FRAME_TABLE_H

#include "hash_index.h"
#include "weighted.h"

struct hp_frame {
    uint32_t function;
    uint32_t line;  /* 0: unknown */
    uint32_t outer; /* number of the frame that it is inlined into, which is lower; 0: none */
    uint32_t depth; /* length of that chain */
};

struct hp_frame_table {
    struct hp_frame *frames; /* numbers begin with 1; the first entry is unused */
    size_t count;
    uint32_t *of_node; /* by the number of a node; 0 for the root */
};

/* False: no memory. Free it in either case. */
bool hp_frame_table_make(struct hp_frame_table *table, const struct hp_weighted *weighted);
void hp_frame_table_free(struct hp_frame_table *table);

/* --------------------------------------------------------------------------------------------------- text table */

/* Numbered texts, each once, as many formats have them. */

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
