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

/*
 * What the compiler made at a time, of one source file. It is read as a whole, which takes time: the caller of
 * hp_source_lines_find may leave units out.
 */
struct hp_line_unit {
    uint64_t bytes;   /* of its line table: the time to read the unit is in proportion */
    uint64_t seen_ns; /* for the caller: how long code of it was seen, */
    uint64_t self_ns; /* and of that, without callees */
    bool is_left_out; /* its places are unknown */
};

/*
 * Uses the descriptor until it is closed. `line_bytes` is the size of all line tables. NULL: no debug information,
 * or no libdw.
 */
struct hp_source_lines *hp_source_lines_open(int fd, uint64_t line_bytes);
void hp_source_lines_close(struct hp_source_lines *lines);

/* The unit that has a link-time address; NULL: none. */
struct hp_line_unit *hp_source_lines_unit(struct hp_source_lines *lines, uint64_t linked);

/*
 * What is at a link-time address: the innermost function first, each inlined into the next; of a chain longer than
 * `most`, the innermost. Returns how many, 0: unknown. Texts stay valid.
 */
size_t hp_source_lines_find(struct hp_source_lines *lines, uint64_t linked, struct hp_source_place *places,
                            size_t most);

#endif
