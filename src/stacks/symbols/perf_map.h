/*
 * Names that programs give to code that they generate at run time: they write them into /tmp/perf-PID.map, line by
 * line, "start size name" with numbers in hexadecimal.
 *
 *     struct hp_perf_maps maps = {0};
 *     hp_perf_maps_expect(&maps, pid, parent);  generated code was seen in that process
 *     hp_perf_maps_read(&maps);                 now and then: reads what was added
 *     hp_perf_maps_end(&maps, pid);             it has ended, or runs another program
 *     hp_perf_map_find(map->text, map->bytes, codes, count);
 *     hp_perf_maps_free(&maps);
 *
 * The file is that of the process, also in a container: the descriptor of its /tmp stays open, so what it writes at
 * its end is found. Nothing is followed that could lead elsewhere, and only a regular file of the user of
 * the process, or of root, is read, that was written since the process began. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_PERF_MAP_H
#define HP_SYMBOLS_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_PERF_MAP_MOST_BYTES (UINT64_C(64) << 20) /* of one process; what is beyond is not read */

/* That of a process, while it runs one program. */
struct hp_perf_map {
    uint32_t pid, parent; /* parent: which forked it; 0: unknown */
    char *text; /* all lines that were read; of a file that was written anew, those of before come first */
    size_t bytes;
    /* Private from here on. */
    size_t room;
    int folder; /* the process's /tmp; -1: there is none, or it has ended */
    bool is_over;
    uint64_t start;     /* when it began, in ticks of the kernel; 0: it was gone already */
    uint32_t pid_there; /* what the process takes for its pid */
    uint32_t users[2];  /* whose file it may be; or root's */
    double begun_s;     /* when the process began, by the clock of files */
    uint64_t read;      /* bytes of the file */
};

struct hp_perf_maps {
    struct hp_perf_map *all; /* in order of their beginning: of one pid, later ones count */
    size_t count, room;
    uint64_t bytes; /* of all */
};

/* Begins to read the map of a process, if that is not so already. */
void hp_perf_maps_expect(struct hp_perf_maps *maps, uint32_t pid, uint32_t parent);

/* Reads what was added to all maps. */
void hp_perf_maps_read(struct hp_perf_maps *maps);

/* Reads the rest of one. */
void hp_perf_maps_end(struct hp_perf_maps *maps, uint32_t pid);
void hp_perf_maps_free(struct hp_perf_maps *maps);

/* An address in generated code, and its name. */
struct hp_generated_code {
    uint64_t address;
    const char *name; /* in the text of the map, without a zero at its end; NULL: none was found yet */
    size_t length;
};

/*
 * Finds names for those that have none: that of the last line with the address. They are sorted by address. False:
 * no memory.
 */
bool hp_perf_map_find(const char *text, size_t bytes, struct hp_generated_code *codes, size_t count);

#endif
