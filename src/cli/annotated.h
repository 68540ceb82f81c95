/*
 * Lines of text with what was found at them: of a source, or of code. Those that have something are shown with a few around them.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_ANNOTATED_H
#define HP_CLI_ANNOTATED_H

#include "line_sums.h"

struct hp_annotated_line {
    const char *text;
    uint64_t at; /* its number, or its address */
};

struct hp_annotated {
    struct hp_annotated_line *all;
    size_t count, room;
    char *bytes; /* that the lines are in */
};

/* Puts a line behind the others. False: no memory. */
bool hp_annotated_add(struct hp_annotated *text, const char *line, uint64_t at);
void hp_annotated_free(struct hp_annotated *text);

/* Prints to standard output, in percent of the function's time. `is_code`: lines are instructions, and known by their addresses. */
void hp_annotated_print(const struct hp_annotated *text, const struct hp_line_sums *sums, bool is_code);

/* All bytes of a file, with a zero behind them, as lines of their own. NULL: errno says why. */
char *hp_annotated_read(int fd);

#endif
