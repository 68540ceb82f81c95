/*
 * Functions that a program generated at run time, from /tmp/perf-PID.map, which it writes: each line has an
 * address, a size and a name. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_PERF_MAP_H
#define HP_SYMBOLS_PERF_MAP_H

#include <sys/types.h>

#include "range_index.h"

struct hp_perf_map {
    char *text; /* the file, with a zero after each name */
    const char **names;
    size_t count;
    struct hp_range_index index;
};

/* Reads the map of a process. False: it has none. */
bool hp_perf_map_read(struct hp_perf_map *map, pid_t pid);
/* The same from a text, which is copied. */
bool hp_perf_map_parse(struct hp_perf_map *map, const char *text, size_t length);
void hp_perf_map_free(struct hp_perf_map *map);

/* NULL: no function of the map is there. */
const char *hp_perf_map_find(const struct hp_perf_map *map, uint64_t address);

#endif
