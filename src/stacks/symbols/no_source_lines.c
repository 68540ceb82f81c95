/* Replaces source_lines.c in builds without libdw. SPDX-License-Identifier: MIT */
#include "source_lines.h"

bool hp_source_lines_can(void) { return false; }

struct hp_source_lines *hp_source_lines_open(int fd, uint64_t line_bytes)
{
    (void)fd;
    (void)line_bytes;
    return NULL;
}

void hp_source_lines_close(struct hp_source_lines *lines) { (void)lines; }

struct hp_line_unit *hp_source_lines_unit(struct hp_source_lines *lines, uint64_t linked)
{
    (void)lines;
    (void)linked;
    return NULL;
}

size_t hp_source_lines_find(struct hp_source_lines *lines, uint64_t linked, struct hp_source_place *places,
                            size_t most)
{
    (void)lines;
    (void)linked;
    (void)places;
    (void)most;
    return 0;
}
