/*
 * Source lines by address: the line, and the functions inlined there, from the debug information of a file. Read
 * unit by unit, when one of its addresses is first requested. One thread at a time. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_SOURCE_LINES_H
#define HP_SYMBOLS_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_source_lines;

struct hp_source_place {
    const char *function; /* linkage name, or as in the source; "": unknown */
    const char *file;     /* a path; "": unknown */
    uint32_t line;        /* 0: unknown */
    bool is_inlined;      /* into the next one */
};

/* Whether debug information can be read here at all. */
bool hp_source_lines_can(void);

/* Uses the descriptor until it is closed. NULL: no debug information, or no libdw. */
struct hp_source_lines *hp_source_lines_open(int fd);
void hp_source_lines_close(struct hp_source_lines *lines);

/*
 * What is at a link-time address: the innermost function first, each inlined into the next; of a chain longer than
 * `most`, the innermost. Returns how many, 0: unknown. Texts stay valid.
 */
size_t hp_source_lines_find(struct hp_source_lines *lines, uint64_t linked, struct hp_source_place *places,
                            size_t most);

#endif
