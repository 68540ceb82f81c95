/* Sessions as files. SPDX-License-Identifier: MIT */
#include "session_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"

#define LARGEST_FILE (UINT64_C(4) << 30)

/* ---------------------------------------------------------------------------------------------- now */

/* The counter that a session's ticks come from, if this machine has it. */
static bool counter_of(uint32_t clock_kind, enum hp_counter *ret_counter)
{
    *ret_counter = HP_COUNTER_NONE;
    switch (clock_kind) {
    case HP_CLOCK_MONOTONIC:
        return true;
    case HP_CLOCK_TSC:
        *ret_counter = HP_COUNTER_TSC;
        break;
    case HP_CLOCK_CNTVCT:
        *ret_counter = HP_COUNTER_CNTVCT;
        break;
    case HP_CLOCK_RDTIME:
        *ret_counter = HP_COUNTER_RDTIME;
        break;
    default:
        return false;
    }
    return hp_clock_counter() == *ret_counter;
}

static bool is_of_this_boot(const struct hp_header *header)
{
    unsigned char boot_id[16];
    hp_process_boot_id(boot_id);
    return memcmp(boot_id, header->boot_id, sizeof boot_id) == 0;
}

/* Whether the process has the file mapped. After exec the same process does not. Cannot be told: it has. */
static bool has_mapped(uint32_t pid, const char *path)
{
    char maps[64], line[4096];
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    snprintf(maps, sizeof maps, "/proc/%u/maps", (unsigned)pid);
    FILE *stream = fopen(maps, "re");
    if (stream == NULL)
        return true;
    bool is_mapped = false;
    while (!is_mapped && fgets(line, sizeof line, stream) != NULL)
        is_mapped = strstr(line, name) != NULL;
    fclose(stream);
    return is_mapped;
}

/* A process is the one that began the session if it was started then, since this boot. */
static bool is_running(const struct hp_header *header, const char *path)
{
    return header->state != HP_STATE_FINISHED && header->pid != 0 && header->process_start != 0 &&
           hp_process_start_time(header->pid) == header->process_start && has_mapped(header->pid, path);
}

/* The present moment in the session's ticks. False: its clock cannot be read here. */
static bool read_now(const struct hp_header *header, struct hp_clock_pair *ret_now)
{
    enum hp_counter counter;
    if (!is_of_this_boot(header) || !counter_of(header->clock_kind, &counter))
        return false;
    hp_clock_pair(counter, &ret_now->ticks, &ret_now->ns);
    return ret_now->ticks >= header->clock_start.ticks && ret_now->ns >= header->clock_start.ns;
}

/* -------------------------------------------------------------------------------------------- reading */

static bool fail(struct hp_session_file *file, const char *path, const char *why)
{
    snprintf(file->problem, sizeof file->problem, "cannot read '%.*s': %s", 120, path, why);
    return false;
}

/* Reads up to `size` bytes from the start; returns how many there were. -1: see errno. */
static ssize_t read_from_start(int fd, void *bytes, size_t size)
{
    size_t length = 0;
    while (length < size) {
        const ssize_t part = pread(fd, (char *)bytes + length, size - length, (off_t)length);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return -1;
        if (part == 0)
            break;
        length += (size_t)part;
    }
    return (ssize_t)length;
}

static bool read_all(struct hp_session_file *file, int fd, const char *path, size_t size)
{
    /* A little more, so that an empty file is no allocation of nothing. */
    file->bytes = calloc(1, size + 8);
    if (file->bytes == NULL)
        return fail(file, path, "not enough memory");
    const ssize_t length = read_from_start(fd, file->bytes, size);
    if (length < 0)
        return fail(file, path, strerror(errno));
    file->size = (size_t)length;
    return true;
}

static bool read_file(struct hp_session_file *file, int fd, const char *path)
{
    struct stat status;
    struct hp_header header;
    struct hp_clock_pair now;
    memset(&header, 0, sizeof header);
    if (fstat(fd, &status) != 0)
        return fail(file, path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return fail(file, path, strerror(EISDIR));
    if (!S_ISREG(status.st_mode))
        return fail(file, path, "not a regular file");
    if ((uint64_t)status.st_size > LARGEST_FILE || (uint64_t)status.st_size > SIZE_MAX / 2)
        return fail(file, path, "larger than any session (4 GiB)");
    if (read_from_start(fd, &header, sizeof header) < 0)
        return fail(file, path, strerror(errno));
    /* Before the rest is read: a zone that opens meanwhile counts as just begun. */
    const bool has_now = read_now(&header, &now), is_live = has_now && is_running(&header, path);
    if (!read_all(file, fd, path, (size_t)status.st_size))
        return false;
    const char *problem = hp_snapshot_open(&file->snapshot, file->bytes, file->size, is_live ? &now : NULL);
    if (problem != NULL)
        return fail(file, path, problem);
    if (has_now && !is_live && !file->snapshot.is_finished)
        hp_snapshot_use_rate(&file->snapshot, &now);
    return true;
}

bool hp_session_file_open(struct hp_session_file *file, const char *path)
{
    memset(file, 0, sizeof *file);
    /* Not blocking, so that a FIFO is refused instead of waited for. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail(file, path, strerror(errno));
    const bool is_open = read_file(file, fd, path);
    close(fd);
    return is_open;
}

void hp_session_file_close(struct hp_session_file *file)
{
    free(file->bytes);
    memset(file, 0, sizeof *file);
}

/* -------------------------------------------------------------------------------------------- finding */

struct newest {
    uint64_t began_ns;
    char *path;
    size_t size;
};

/* When a session began; 0 when the file is none. */
static uint64_t beginning_of(const char *path)
{
    struct hp_header header;
    memset(&header, 0, sizeof header);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return 0;
    const ssize_t length = read_from_start(fd, &header, sizeof header);
    close(fd);
    return length == (ssize_t)sizeof header && memcmp(header.magic, HP_MAGIC, sizeof header.magic) == 0
               ? header.wall_start_ns
               : 0;
}

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t length = strlen(name), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

/* A folder of somebody else is not looked into: his files could pretend to be ours. */
static bool is_ours(const char *folder)
{
    struct stat status;
    return stat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

static void look_into(struct newest *newest, const char *folder)
{
    DIR *listing = is_ours(folder) ? opendir(folder) : NULL;
    if (listing == NULL)
        return;
    char path[2048];
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (!has_suffix(entry->d_name, ".hotpath") ||
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path)
            continue;
        const uint64_t began_ns = beginning_of(path);
        if (began_ns > newest->began_ns && strlen(path) < newest->size) {
            newest->began_ns = began_ns;
            memcpy(newest->path, path, strlen(path) + 1);
        }
    }
    closedir(listing);
}

bool hp_session_file_newest(const struct hp_settings *settings, char *path, size_t size)
{
    struct newest newest = {.path = path, .size = size};
    char folder[1200];
    if (settings->dir[0] != '\0') {
        look_into(&newest, settings->dir);
        return newest.began_ns > 0;
    }
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime != NULL && runtime[0] == '/' &&
        (size_t)snprintf(folder, sizeof folder, "%s/hotpath", runtime) < sizeof folder)
        look_into(&newest, folder);
    snprintf(folder, sizeof folder, "/dev/shm/hotpath-%u", (unsigned)geteuid());
    look_into(&newest, folder);
    snprintf(folder, sizeof folder, "/tmp/hotpath-%u", (unsigned)geteuid());
    look_into(&newest, folder);
    return newest.began_ns > 0;
}
