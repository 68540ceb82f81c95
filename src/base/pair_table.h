/*
 * Numbers pairs of integers: a new pair gets the next number. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_PAIR_TABLE_H
#define HP_BASE_PAIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define HP_NO_PAIR UINT32_MAX

struct hp_pair {
    uint32_t first, second;
};

struct hp_pair_table {
    struct hp_pair *all; /* by number */
    size_t count, room;
    uint32_t *index; /* by hash; 0: free, else the number plus 1 */
    size_t index_size;
};

/* Its number. HP_NO_PAIR: no memory. */
uint32_t hp_pair_table_put(struct hp_pair_table *table, uint32_t first, uint32_t second);
void hp_pair_table_free(struct hp_pair_table *table);

#endif
