/*
 * Functions that a program made at run time, from the list that it writes to /tmp/perf-PID.map: in each line an address, a
 * size and a name. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_PERF_MAP_H
#define HP_SYMBOLS_PERF_MAP_H

#include <sys/types.h>

#include "range_index.h"

struct hp_perf_map {
    char *text; /* the file, with a zero behind each name */
    const char **names;
    size_t count;
    struct hp_range_index index;
};

/* Reads the list of a process, if it wrote one. False: it did not. */
bool hp_perf_map_read(struct hp_perf_map *map, pid_t pid);
/* The same of a text, which is copied. */
bool hp_perf_map_parse(struct hp_perf_map *map, const char *text, size_t length);
void hp_perf_map_free(struct hp_perf_map *map);

/* NULL: no function of the list is there. */
const char *hp_perf_map_find(const struct hp_perf_map *map, uint64_t address);

#endif
