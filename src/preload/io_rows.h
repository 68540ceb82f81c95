/*
 * What the descriptors of this process lead to, as rows of the report: files by path, connections by the address of
 * the other end. Which row a descriptor has is kept beside the table of descriptors, and forgotten with its entry
 * there. SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_IO_ROWS_H
#define HP_PRELOAD_IO_ROWS_H

#include <stdint.h>

#include "descriptors.h"
#include "io_layout.h"
#include "side_file.h"

#define HP_IO_ROW_INDEX (4 * 1024u)
#define HP_IO_ROW_OF_OTHERS 1u

/* In memory that is wiped in a forked child. */
struct hp_io_rows {
    struct hp_side_file *file;
    uint64_t of_descriptors[HP_DESCRIPTORS]; /* atomic: generation of the descriptor << 32 | row */
    uint32_t index[HP_IO_ROW_INDEX];
};

/* The row of all others: the first one. False: no room. */
bool hp_io_rows_begin(struct hp_io_rows *rows, struct hp_side_file *file);

/* Of a descriptor that is not known yet. */
uint32_t hp_io_row_look(struct hp_io_rows *rows, int number);
uint32_t hp_io_row_named(struct hp_io_rows *rows, enum hp_io_kind kind, const char *name);

/* 0: it was not looked up yet, or is none of the table. */
static inline __attribute__((always_inline)) uint32_t hp_io_row_known(const struct hp_io_rows *rows, int number)
{
    if (__builtin_expect((unsigned)number >= HP_DESCRIPTORS, 0))
        return 0;
    const uint64_t known = __atomic_load_n(&rows->of_descriptors[number], __ATOMIC_RELAXED);
    return known >> 32 == hp_descriptor_generation(hp_descriptor_entry(number)) ? (uint32_t)known : 0;
}

static inline uint32_t hp_io_row_of(struct hp_io_rows *rows, int number)
{
    if ((unsigned)number >= HP_DESCRIPTORS)
        return HP_IO_ROW_OF_OTHERS;
    const uint32_t row = hp_io_row_known(rows, number);
    return row != 0 ? row : hp_io_row_look(rows, number);
}

/* The row of an address, as if a socket were connected to it. */
uint32_t hp_io_row_of_address(struct hp_io_rows *rows, const void *address, uint32_t size);
/* The descriptor leads elsewhere now. A label stays: then this is its row, else 0. */
uint32_t hp_io_row_forget(struct hp_io_rows *rows, int number);
/* A label for a descriptor, until it is closed. */
void hp_io_row_label(struct hp_io_rows *rows, int number, const char *label);

#endif
