/* A line of /proc/PID/maps. May be read in a signal handler. SPDX-License-Identifier: MIT */
#ifndef HP_OS_MAP_LINE_H
#define HP_OS_MAP_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_map_line {
    uint64_t start, end; /* addresses */
    bool is_code;
    uint64_t offset; /* in the file */
    uint64_t inode;
};

/* Up to a newline or the end of the text. False: no such line, or its path is too long. */
bool hp_map_line_read(const char *text, struct hp_map_line *ret_line, char *path, size_t size);

#endif
