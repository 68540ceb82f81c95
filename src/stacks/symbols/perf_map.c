/* Reads the names of generated code. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memrchr */
#include "perf_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "growing_array.h"
#include "process.h"

#define MOST_MAPS 256u /* each keeps a descriptor while its process lives */
#define MOST_BYTES_OF_ALL (UINT64_C(256) << 20)
#define PIECE 65536u
#define TAIL 64u
#define SLACK_S 1.0 /* of the clock by which the beginning of a process is known, and of that of files */

/* ------------------------------------------------------------------------------------------------ the process */

static double seconds_of(const struct timespec *time)
{
    return (double)time->tv_sec + 1e-9 * (double)time->tv_nsec;
}

static double clock_seconds(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return seconds_of(&now);
}

/* A process that is gone already began before this is called, but not long ago. */
static double begun_seconds(uint64_t start)
{
    const double now = clock_seconds(CLOCK_REALTIME);
    if (start == 0)
        return now;
    return now - clock_seconds(CLOCK_BOOTTIME) + (double)start / (double)sysconf(_SC_CLK_TCK);
}

/* The numbers of a line of /proc/PID/status; returns how many: 2 stands for the first and the last of more. */
static unsigned numbers_of(const char *status, const char *line, uint32_t *ret_first, uint32_t *ret_last)
{
    const char *at = strstr(status, line);
    unsigned count = 0;
    if (at == NULL)
        return 0;
    for (at += strlen(line); *at == '\t' || *at == ' ';) {
        const uint32_t number = (uint32_t)hp_task_number(&at);
        *(count == 0 ? ret_first : ret_last) = number;
        count = count == 0 ? 1 : 2;
    }
    return count;
}

/* In order: real, effective, saved, of files. The last one makes the file. */
static void read_status(struct hp_perf_map *map)
{
    char status[2048];
    uint32_t outer = map->pid, inner;
    map->pid_there = map->pid;
    map->users[0] = map->users[1] = geteuid();
    if (!hp_task_read(map->pid, 0, "status", status, sizeof status))
        return;
    if (numbers_of(status, "\nUid:", &map->users[0], &map->users[1]) < 2)
        map->users[1] = map->users[0];
    const unsigned pids = numbers_of(status, "\nNSpid:", &outer, &inner);
    map->pid_there = pids == 2 ? inner : pids == 1 ? outer : map->pid;
}

/*
 * Its /tmp. The descriptor keeps it: with a container its mounts go, too. Of a process that was gone already, ours.
 * Folder and name are looked up one by one, and neither may be a link, so the file is below that root.
 */
static void find_folder(struct hp_perf_map *map)
{
    char path[HP_TASK_PATH];
    const bool is_there = map->start != 0 && hp_process_start_time(map->pid) == map->start;
    const char *root = is_there ? hp_task_path(path, map->pid, 0, "root") : map->start == 0 ? "/" : NULL;
    const int above = root != NULL ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    const int folder = above >= 0 ? openat(above, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (above >= 0)
        close(above);
    if (folder < 0)
        return;
    if (map->folder >= 0)
        close(map->folder);
    map->folder = folder;
}

/* ------------------------------------------------------------------------------------------------ the file */

static bool is_its_file(const struct hp_perf_map *map, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    const bool is_of_user = status.st_uid == 0 || status.st_uid == map->users[0] || status.st_uid == map->users[1];
    return is_of_user && seconds_of(&status.st_mtim) >= map->begun_s - SLACK_S;
}

static int open_map(struct hp_perf_map *map)
{
    char name[48];
    find_folder(map);
    snprintf(name, sizeof name, "perf-%u.map", map->pid_there);
    const int fd = map->folder >= 0 ? hp_regular_open(map->folder, name, O_RDONLY | O_NOFOLLOW) : -1;
    if (fd < 0 || is_its_file(map, fd))
        return fd;
    close(fd);
    return -1;
}

/* Whether the last line that was read is still where it was; else the file was written anew. */
static bool goes_on(const struct hp_perf_map *map, int fd)
{
    char last[TAIL];
    const size_t size = map->read < TAIL ? (size_t)map->read : TAIL;
    return pread(fd, last, size, (off_t)(map->read - size)) == (ssize_t)size &&
           (size == 0 || memcmp(last, map->text + map->bytes - size, size) == 0);
}

static void read_piece(struct hp_perf_maps *maps, struct hp_perf_map *map)
{
    const int fd = map->is_over ? -1 : open_map(map);
    ssize_t got = fd >= 0;
    if (fd >= 0 && !goes_on(map, fd))
        map->read = 0;
    while (got > 0 && map->bytes < HP_PERF_MAP_MOST_BYTES && maps->bytes < MOST_BYTES_OF_ALL &&
           HP_MAKE_ROOM(map->text, map->bytes + PIECE, map->room)) {
        got = pread(fd, map->text + map->bytes, PIECE, (off_t)map->read);
        if (got > 0) {
            map->bytes += (size_t)got;
            map->read += (uint64_t)got;
            maps->bytes += (uint64_t)got;
        }
    }
    if (fd >= 0)
        close(fd);
}

/* ------------------------------------------------------------------------------------------------ all maps */

static struct hp_perf_map *current(struct hp_perf_maps *maps, uint32_t pid)
{
    for (size_t at = maps->count; at-- > 0;)
        if (maps->all[at].pid == pid && !maps->all[at].is_over)
            return &maps->all[at];
    return NULL;
}

void hp_perf_maps_expect(struct hp_perf_maps *maps, uint32_t pid, uint32_t parent)
{
    if (current(maps, pid) != NULL || maps->count >= MOST_MAPS ||
        !HP_MAKE_ROOM(maps->all, maps->count + 1, maps->room))
        return;
    struct hp_perf_map *map = &maps->all[maps->count++];
    const uint64_t start = hp_process_start_time(pid);
    *map = (struct hp_perf_map){
        .pid = pid, .parent = parent, .folder = -1, .start = start, .begun_s = begun_seconds(start)};
    read_status(map);
    find_folder(map);
}

void hp_perf_maps_read(struct hp_perf_maps *maps)
{
    for (size_t at = 0; at < maps->count; at++)
        read_piece(maps, &maps->all[at]);
}

static void close_map(struct hp_perf_map *map)
{
    if (map->folder >= 0)
        close(map->folder);
    map->folder = -1;
    map->is_over = true;
}

void hp_perf_maps_end(struct hp_perf_maps *maps, uint32_t pid)
{
    struct hp_perf_map *map = current(maps, pid);
    if (map == NULL)
        return;
    read_piece(maps, map);
    close_map(map);
}

void hp_perf_maps_free(struct hp_perf_maps *maps)
{
    for (size_t at = 0; at < maps->count; at++) {
        close_map(&maps->all[at]);
        free(maps->all[at].text);
    }
    free(maps->all);
    *maps = (struct hp_perf_maps){0};
}

/* ------------------------------------------------------------------------------------------------ lines */

/* "7f1200a4c0 1c0 LazyCompile:~parse app.js:12" */
struct map_line {
    uint64_t start, end;
    const char *name;
    size_t length;
};

static unsigned digit_of(char letter)
{
    return letter >= '0' && letter <= '9'   ? (unsigned)(letter - '0')
           : letter >= 'a' && letter <= 'f' ? (unsigned)(letter - 'a') + 10
           : letter >= 'A' && letter <= 'F' ? (unsigned)(letter - 'A') + 10
                                            : 16;
}

/* A number with a blank behind it. */
static bool read_number(const char **at, const char *end, uint64_t *ret_number)
{
    const char *digits = *at;
    *ret_number = 0;
    if (end - digits > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x')
        digits += 2;
    const char *to = digits;
    for (; to < end && digit_of(*to) < 16; to++)
        *ret_number = *ret_number << 4 | digit_of(*to);
    *at = to + 1;
    return to > digits && to - digits <= 16 && to < end && *to == ' ';
}

static bool read_line(const char *at, const char *end, struct map_line *ret_line)
{
    uint64_t size;
    if (!read_number(&at, end, &ret_line->start) || !read_number(&at, end, &size) || at >= end || size == 0)
        return false;
    ret_line->name = at;
    ret_line->length = (size_t)(end - at);
    return !__builtin_add_overflow(ret_line->start, size, &ret_line->end);
}

/* The first that is not below the address. */
static size_t first_from(const struct hp_generated_code *codes, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (codes[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of one that has a name: where to look for the next one that may have none. */
static size_t open_from(size_t *next, size_t at)
{
    while (next[at] != at) {
        next[at] = next[next[at]];
        at = next[at];
    }
    return at;
}

static void name_codes(const struct map_line *line, struct hp_generated_code *codes, size_t count, size_t *next)
{
    size_t at = open_from(next, first_from(codes, count, line->start));
    for (; at < count && codes[at].address < line->end; at = open_from(next, at)) {
        if (codes[at].name == NULL) {
            codes[at].name = line->name;
            codes[at].length = line->length;
        }
        next[at] = at + 1;
    }
}

/* From the last line to the first: what has a name keeps it. */
bool hp_perf_map_find(const char *text, size_t bytes, struct hp_generated_code *codes, size_t count)
{
    size_t *next = malloc((count + 1) * sizeof *next), left = bytes;
    if (next == NULL)
        return false;
    for (size_t at = 0; at <= count; at++)
        next[at] = at;
    const char *end = bytes > 0 ? memrchr(text, '\n', bytes) : NULL; /* what is behind it may be half a line */
    while (end != NULL) {
        struct map_line line;
        left = (size_t)(end - text);
        const char *before = left > 0 ? memrchr(text, '\n', left) : NULL;
        if (read_line(before != NULL ? before + 1 : text, end, &line))
            name_codes(&line, codes, count, next);
        end = before;
    }
    free(next);
    return true;
}
