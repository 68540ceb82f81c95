/* Functions that a program generated at run time. SPDX-License-Identifier: MIT */
#include "perf_map.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "regular_file.h"

#define LARGEST_MAP (256u << 20)

static bool read_line(char *line, struct hp_range *range, const char **ret_name)
{
    char *end;
    range->start = strtoull(line, &end, 16);
    if (end == line || *end != ' ')
        return false;
    line = end + 1;
    const uint64_t size = strtoull(line, &end, 16);
    if (end == line || *end != ' ' || size > UINT64_MAX - range->start)
        return false;
    range->end = range->start + size;
    *ret_name = end + 1;
    return true;
}

/* New code may replace older code: of two functions at one address the later counts. */
static bool read_lines(struct hp_perf_map *map, struct hp_ranges *ranges)
{
    size_t room = 0;
    for (char *line = map->text, *next; *line != '\0'; line = next) {
        struct hp_range range = {.value = (uint32_t)map->count, .rank = (uint32_t)map->count};
        const char *name;
        next = line + strcspn(line, "\n");
        if (*next != '\0')
            *next++ = '\0';
        if (!read_line(line, &range, &name))
            continue;
        const char **larger = hp_grown(map->names, map->count, &room, sizeof *larger);
        if (larger == NULL || map->count + 1 >= HP_RANGE_NONE || !hp_ranges_add(ranges, &range)) {
            map->names = larger != NULL ? larger : map->names;
            return false;
        }
        map->names = larger;
        map->names[map->count++] = name;
    }
    return true;
}

static bool take_text(struct hp_perf_map *map, char *text)
{
    struct hp_ranges ranges = {.count = 0};
    *map = (struct hp_perf_map){.text = text};
    const bool is_good = text != NULL && read_lines(map, &ranges) && hp_range_index_make(&map->index, &ranges);
    free(ranges.all);
    if (!is_good)
        hp_perf_map_free(map);
    return is_good;
}

bool hp_perf_map_parse(struct hp_perf_map *map, const char *text, size_t length)
{
    return take_text(map, strndup(text, length));
}

/* In the mount namespace of the process first, which may have its own /tmp. */
static int open_map(pid_t pid)
{
    char path[100];
    snprintf(path, sizeof path, "/proc/%ld/root/tmp/perf-%ld.map", (long)pid, (long)pid);
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)pid);
    return hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
}

bool hp_perf_map_read(struct hp_perf_map *map, pid_t pid)
{
    struct stat status;
    const int fd = open_map(pid);
    char *text = NULL;
    *map = (struct hp_perf_map){.count = 0};
    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && (uint64_t)status.st_size <= LARGEST_MAP)
        text = malloc((size_t)status.st_size + 1);
    if (text != NULL) {
        size_t length = 0;
        ssize_t got;
        while (length < (size_t)status.st_size &&
               (got = read(fd, text + length, (size_t)status.st_size - length)) > 0)
            length += (size_t)got;
        text[length] = '\0';
    }
    close(fd);
    return text != NULL && take_text(map, text);
}

void hp_perf_map_free(struct hp_perf_map *map)
{
    free(map->text);
    free(map->names);
    hp_range_index_free(&map->index);
    *map = (struct hp_perf_map){.count = 0};
}

const char *hp_perf_map_find(const struct hp_perf_map *map, uint64_t address)
{
    const uint32_t number = hp_range_index_find(&map->index, address);
    return number != HP_RANGE_NONE ? map->names[number] : NULL;
}
