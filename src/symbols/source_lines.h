/*
 * Sources by address: the line, and which functions were inlined there, from the debug information of a file. Read unit by unit,
 * when an address of it is first asked for. One thread at a time. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_SOURCE_LINES_H
#define HP_SYMBOLS_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_source_lines;

struct hp_source_place {
    const char *function; /* as the linker would know it, or as in the source; "" where it is not known */
    const char *file;     /* a path; "" where it is not known */
    uint32_t line;        /* 0: not known */
    bool is_inlined;      /* into the next one */
};

/* Whether debug information can be read here at all. */
bool hp_source_lines_can(void);

/* Keeps the descriptor in use. NULL: there is nothing to read, or nothing to read it with. */
struct hp_source_lines *hp_source_lines_open(int fd);
void hp_source_lines_close(struct hp_source_lines *lines);

/*
 * What is at an address, as linked: the innermost function first, each inlined into the next; of a chain that is longer than
 * `most`, the innermost. Returns how many, 0 where nothing is known. Texts stay valid.
 */
size_t hp_source_lines_find(struct hp_source_lines *lines, uint64_t linked, struct hp_source_place *places,
                            size_t most);

#endif
