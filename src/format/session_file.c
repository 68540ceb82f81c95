/* Sessions as files. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* F_GET_SEALS */
#include "session_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "process.h"
#include "text.h"

/* -------------------------------------------------------------------------------------------------- mapped file */

/*
 * Files mapped to look at.
 */

#define MOST_FILES 64u

static uintptr_t page_bytes; /* set before the handler can run, which then need not ask */
static struct {
    uintptr_t from, to;
} files[MOST_FILES];

/* From the page that is missing to the end, since what is behind it is missing, too. */
static bool fill_up(uintptr_t missing)
{
    for (size_t at = 0; at < MOST_FILES; at++)
        if (missing >= files[at].from && missing < files[at].to) {
            const uintptr_t page = missing & ~(page_bytes - 1);
            return mmap((void *)page, files[at].to - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                        0) != MAP_FAILED;
        }
    return false;
}

/* A fault elsewhere ends the program, as it would without us. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (!fill_up((uintptr_t)info->si_addr))
        signal(number, SIG_DFL);
}

static void be_ready(void)
{
    static bool is_ready;
    struct sigaction action;
    if (is_ready)
        return;
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    is_ready = sigaction(SIGBUS, &action, NULL) == 0;
}

void *hp_mapped_file_open(int fd, size_t size)
{
    size_t at = 0;
    while (at < MOST_FILES && files[at].to != 0)
        at++;
    void *bytes = at < MOST_FILES ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED)
        return NULL;
    be_ready();
    files[at].from = (uintptr_t)bytes;
    files[at].to = (uintptr_t)bytes + ((size + page_bytes - 1) & ~(page_bytes - 1));
    return bytes;
}

void hp_mapped_file_close(void *bytes, size_t size)
{
    for (size_t at = 0; at < MOST_FILES; at++)
        if (bytes != NULL && files[at].from == (uintptr_t)bytes)
            files[at].from = files[at].to = 0;
    if (bytes != NULL)
        munmap(bytes, size);
}

/* ------------------------------------------------------------------------------------------------- session file */

#define LARGEST_FILE (UINT64_C(4) << 30)
#define MOST_OPEN_FILES 512          /* of live processes at a time; of further ones no single calls are shown */
#define PEEK_BYTES (64u << 10)       /* the header, and the texts it names: they are written first */
#define LARGE_FILE ((size_t)4 << 20) /* from here on it is read as it is needed */
#define PAGE_BYTES ((size_t)4096)

/* ---------------------------------------------------------------------------------------------- now */

static bool is_of_this_boot(const struct hp_header *header)
{
    unsigned char boot_id[16];
    hp_process_boot_id(boot_id);
    return memcmp(boot_id, header->boot_id, sizeof boot_id) == 0;
}

/* -1: it has no memory that could be seen. */
static int is_in_list(uint32_t pid, uint32_t tid, const char *name)
{
    char path[HP_TASK_PATH], *line = NULL;
    size_t size = 0;
    int is_found = -1;
    FILE *maps = fopen(hp_task_path(path, pid, tid, "maps"), "re");
    if (maps == NULL)
        return 1;
    while (is_found <= 0 && getline(&line, &size, maps) > 0)
        is_found = strstr(line, name) != NULL;
    free(line);
    fclose(maps);
    return is_found;
}

bool hp_session_is_in_memory(uint32_t pid, const char *name)
{
    const int is_found = is_in_list(pid, 0, name);
    const uint32_t other = is_found < 0 ? hp_task_spokesman(pid) : 0;
    return is_found > 0 || (other != 0 && is_in_list(pid, other, name) > 0);
}

/* The process of "/proc/123/root/...", by which files of a container are reached; 0: it is another path. */
static uint32_t process_in_path(const char *path)
{
    static const char proc[] = "/proc/", root[] = "/root/";
    if (strncmp(path, proc, sizeof proc - 1) != 0)
        return 0;
    uint64_t pid = 0;
    const char *at = path + sizeof proc - 1;
    for (; *at >= '0' && *at <= '9' && pid < UINT32_MAX / 10; at++)
        pid = 10 * pid + (uint64_t)(*at - '0');
    return strncmp(at, root, sizeof root - 1) == 0 ? (uint32_t)pid : 0;
}

/* A session that 'hotpath record' writes is not in the memory of its process; the writer holds a lock on it. */
static bool is_being_recorded(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
        return errno == EWOULDBLOCK;
    flock(fd, LOCK_UN);
    return false;
}

/* Does the process of a session run, which began since this boot? */
static enum hp_life life_of(const struct hp_header *header, int fd, const char *path)
{
    const uint32_t process = process_in_path(path);
    if (header->state == HP_STATE_FINISHED)
        return HP_LIFE_OVER;
    if (process != 0)
        return hp_session_is_in_memory(process, hp_text_base_name(path)) ? HP_LIFE_LIVE : HP_LIFE_OVER;
    const enum hp_life life = hp_process_life(header->pid, header->process_start, header->pid_namespace);
    const bool has_ended = life == HP_LIFE_LIVE && !hp_session_is_in_memory(header->pid, hp_text_base_name(path)) &&
                           !is_being_recorded(fd);
    return has_ended ? HP_LIFE_OVER : life;
}

/* The present moment in the ticks of a session of this boot. False: its clock cannot be read here. */
static bool read_now(const struct hp_header *header, struct hp_clock_pair *ret_now)
{
    const bool is_monotonic = header->clock_kind == HP_CLOCK_MONOTONIC;
    const enum hp_counter counter = is_monotonic ? HP_COUNTER_NONE : hp_clock_counter();
    if (hp_clock_kind_of(counter) != header->clock_kind)
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

/* Reads up to `size` bytes at an offset; returns how many there were. -1: see errno. */
static ssize_t read_at(int fd, uint32_t offset, void *bytes, size_t size)
{
    size_t length = 0;
    while (length < size) {
        const ssize_t part = pread(fd, (char *)bytes + length, size - length, (off_t)offset + (off_t)length);
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

static bool read_anew(void *context, uint32_t offset, void *to, size_t bytes)
{
    const struct hp_session_file *file = context;
    return file->fd >= 0 && read_at(file->fd, offset, to, bytes) == (ssize_t)bytes;
}

/* Pages from `page` to `end`, all missing. What is behind the end of the file stays empty. */
static bool read_pages(struct hp_session_file *file, size_t page, size_t end)
{
    const size_t from = page * PAGE_BYTES, to = end * PAGE_BYTES < file->size ? end * PAGE_BYTES : file->size;
    if (read_at(file->fd, (uint32_t)from, (char *)file->bytes + from, to - from) < 0)
        return false;
    for (; page < end; page++)
        file->readings[page] = file->reading;
    return true;
}

static bool fetch(void *context, uint64_t offset, size_t bytes)
{
    struct hp_session_file *file = context;
    const size_t end = ((size_t)offset + bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    for (size_t page = (size_t)offset / PAGE_BYTES, missing; page < end; page = missing) {
        missing = page;
        while (missing < end && file->readings[missing] != file->reading)
            missing++;
        if (missing > page && !read_pages(file, page, missing))
            return false;
        missing += missing == page;
    }
    return true;
}

/* Memory for a file that may grow; only what is written to takes any. */
static bool make_room(struct hp_session_file *file, const char *path, size_t room)
{
    void *bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        return fail(file, path, "not enough memory");
    if (file->bytes != NULL)
        munmap(file->bytes, file->room);
    file->bytes = bytes;
    file->room = room;
    free(file->readings);
    file->readings = NULL;
    return true;
}

/* As far as it can become; without, histograms are copied like the rest. */
static void map_numbers(struct hp_session_file *file)
{
    if (file->mapped >= file->size)
        return;
    hp_mapped_file_close(file->numbers, file->mapped);
    file->numbers = hp_mapped_file_open(file->fd, file->room);
    file->mapped = file->numbers != NULL ? file->room : 0;
}

/* The header at once, the rest when it is asked for. */
static bool begin_piecemeal(struct hp_session_file *file, const char *path)
{
    map_numbers(file);
    if (file->readings == NULL)
        file->readings = calloc(file->room / PAGE_BYTES + 1, sizeof *file->readings);
    if (file->readings == NULL)
        return fail(file, path, "not enough memory");
    file->reading++;
    return read_pages(file, 0, 1) || fail(file, path, strerror(errno));
}

static bool read_all(struct hp_session_file *file, int fd, const char *path)
{
    const ssize_t length = read_at(fd, 0, file->bytes, file->size);
    if (length < 0)
        return fail(file, path, strerror(errno));
    if ((size_t)length < file->size)
        memset((char *)file->bytes + length, 0, file->size - (size_t)length);
    file->size = (size_t)length;
    return true;
}

/* Another user's session is private, and could be forged to look like ours. Root may read everything. */
static bool is_foreign(const struct stat *status) { return status->st_uid != geteuid() && geteuid() != 0; }

static bool fail_foreign(struct hp_session_file *file, const char *path, uid_t owner)
{
    char why[128];
    const struct passwd *user = getpwuid(owner);
    snprintf(why, sizeof why, "it belongs to user %.40s (%u); only root may read the sessions of others",
             user ? user->pw_name : "?", (unsigned)owner);
    return fail(file, path, why);
}

static bool is_session(const struct hp_header *header)
{
    return memcmp(header->magic, HP_MAGIC, sizeof header->magic) == 0;
}

/* Of a large file only what a session says it has; of something else enough to say that it is none. */
static size_t bytes_wanted(const struct hp_header *header, uint64_t file_bytes, size_t most)
{
    const uint64_t said = is_session(header) ? header->backed : sizeof *header;
    const uint64_t wanted = said < file_bytes ? said : file_bytes;
    return wanted < most ? (size_t)wanted : most;
}

/* A session that goes on may become as large as its file, where there are addresses to spare. */
static size_t room_wanted(const struct hp_session_file *file, uint64_t file_bytes, size_t most)
{
    const bool is_growing = file->life == HP_LIFE_LIVE && sizeof(void *) > 4 && most == SIZE_MAX;
    const size_t bytes = is_growing && file_bytes > file->size ? (size_t)file_bytes : file->size;
    return (bytes + 8 + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1); /* a little more: texts end in a zero */
}

/* What is asked of a file before it is read: `most` bytes of it. */
struct reading {
    const char *path;
    size_t most;
    struct stat status;
    struct hp_clock_pair now;
    bool has_now;
    bool is_live;
};

static bool look_at(struct hp_session_file *file, int fd, struct reading *reading)
{
    struct hp_header header;
    const char *path = reading->path;
    memset(&header, 0, sizeof header);
    if (fstat(fd, &reading->status) != 0)
        return fail(file, path, strerror(errno));
    const uint64_t file_bytes = (uint64_t)reading->status.st_size;
    if (is_foreign(&reading->status))
        return fail_foreign(file, path, reading->status.st_uid);
    if (file_bytes > LARGEST_FILE || file_bytes > SIZE_MAX / 2)
        return fail(file, path, "larger than any session (4 GiB)");
    if (read_at(fd, 0, &header, sizeof header) < 0)
        return fail(file, path, strerror(errno));
    /* Before the rest is read: a zone that opens meanwhile counts as just begun. */
    const bool is_recent = is_session(&header) && is_of_this_boot(&header);
    reading->has_now = is_recent && read_now(&header, &reading->now);
    file->life = is_recent ? life_of(&header, fd, path) : HP_LIFE_OVER;
    reading->is_live = reading->has_now && file->life == HP_LIFE_LIVE;
    file->disk_bytes = (uint64_t)reading->status.st_blocks * 512;
    file->size = bytes_wanted(&header, file_bytes, reading->most);
    return true;
}

static bool is_piecemeal(const struct hp_session_file *file, int fd)
{
    return file->size >= LARGE_FILE && fd < MOST_OPEN_FILES;
}

static bool read_file(struct hp_session_file *file, int fd, struct reading *reading)
{
    const char *path = reading->path;
    if (!look_at(file, fd, reading))
        return false;
    if (file->size + 8 > file->room &&
        !make_room(file, path, room_wanted(file, (uint64_t)reading->status.st_size, reading->most)))
        return false;
    const struct hp_clock_pair *now = reading->is_live ? &reading->now : NULL;
    const bool is_whole = !is_piecemeal(file, fd);
    file->fd = fd;
    if (!(is_whole ? read_all(file, fd, path) : begin_piecemeal(file, path)))
        return false;
    const struct hp_snapshot_pieces pieces = {fetch, file, file->numbers}, none = {.fetch = NULL};
    const char *problem =
        hp_snapshot_open_pieces(&file->snapshot, file->bytes, file->size, now, is_whole ? &none : &pieces);
    if (problem != NULL)
        return fail(file, path, problem);
    if (reading->has_now && !reading->is_live && !file->snapshot.is_finished)
        hp_snapshot_use_rate(&file->snapshot, &reading->now);
    if (reading->is_live && fd < MOST_OPEN_FILES) {
        file->snapshot.read_anew = read_anew;
        file->snapshot.read_context = file;
    }
    return true;
}

static void stay_open_if_needed(struct hp_session_file *file, int fd)
{
    if (file->snapshot.fetch != NULL || file->snapshot.read_anew != NULL)
        return;
    close(fd);
    file->fd = -1;
}

static bool open_with(struct hp_session_file *file, int fd, const char *path, size_t most)
{
    struct reading reading = {.path = path, .most = most};
    memset(file, 0, sizeof *file);
    file->fd = -1;
    if (fd < 0)
        return fail(file, path,
                    errno == ELOOP    ? "it is a symbolic link, which is not followed here"
                    : errno == EINVAL ? "not a regular file"
                                      : strerror(errno));
    const bool is_open = read_file(file, fd, &reading);
    stay_open_if_needed(file, fd);
    return is_open;
}

/* Only memory whose length its lender has fixed. */
static bool is_lent(int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) && (seals & F_SEAL_GROW);
}

static int open_lent(int folder, const char *name, int flags)
{
    char target[64];
    unsigned pid, number;
    int length = 0;
    const ssize_t got = readlinkat(folder, name, target, sizeof target - 1);
    target[got > 0 ? got : 0] = '\0';
    errno = ELOOP;
    if (sscanf(target, "/proc/%u/fd/%u%n", &pid, &number, &length) != 2 || target[length] != '\0')
        return -1;
    const int fd = hp_regular_open(AT_FDCWD, target, flags);
    if (fd < 0 || is_lent(fd))
        return fd;
    close(fd);
    errno = ELOOP;
    return -1;
}

int hp_session_file_descriptor(int folder, const char *name, int flags)
{
    const int fd = hp_regular_open(folder, name, flags | O_NOFOLLOW);
    return fd >= 0 || errno != ELOOP ? fd : open_lent(folder, name, flags);
}

bool hp_session_file_refresh(struct hp_session_file *file, const char *path, bool *ret_has_moved)
{
    struct reading reading = {.path = path, .most = SIZE_MAX};
    const void *const before = file->bytes;
    *ret_has_moved = false;
    if (file->fd < 0 || file->snapshot.is_finished)
        return true; /* it has no writer any more */
    const bool is_read = read_file(file, file->fd, &reading);
    *ret_has_moved = file->bytes != before;
    return is_read;
}

bool hp_session_file_open(struct hp_session_file *file, const char *path)
{
    return open_with(file, hp_regular_open(AT_FDCWD, path, O_RDONLY), path, SIZE_MAX);
}

bool hp_session_file_peek(struct hp_session_file *file, int folder, const char *name)
{
    return open_with(file, hp_session_file_descriptor(folder, name, O_RDONLY), name, PEEK_BYTES);
}

void hp_session_file_close(struct hp_session_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->bytes != NULL)
        munmap(file->bytes, file->room);
    hp_mapped_file_close(file->numbers, file->mapped);
    free(file->readings);
    memset(file, 0, sizeof *file);
    file->fd = -1;
}
