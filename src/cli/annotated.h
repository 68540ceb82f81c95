/*
 * Lines of a source or of disassembly with the samples found at them. Lines with samples are printed with a few
 * lines of context. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_ANNOTATED_H
#define HP_CLI_ANNOTATED_H

#include "line_sums.h"

struct hp_annotated_line {
    const char *text;
    uint64_t at; /* line number or address */
};

struct hp_annotated {
    struct hp_annotated_line *all;
    size_t count, room;
    char *bytes; /* storage of the lines */
};

/* Appends a line. False: no memory. */
bool hp_annotated_add(struct hp_annotated *text, const char *line, uint64_t at);
void hp_annotated_free(struct hp_annotated *text);

/*
 * Prints to standard output, in percent of the function's time. `is_code`: lines are instructions, identified by
 * address.
 */
void hp_annotated_print(const struct hp_annotated *text, const struct hp_line_sums *sums, bool is_code);

/* Reads a whole file and adds a terminating zero. NULL: errno says why. */
char *hp_annotated_read(int fd);

#endif
