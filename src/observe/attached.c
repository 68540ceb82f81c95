/* Sessions for processes that hotpath is not loaded into. SPDX-License-Identifier: MIT */
#include "attached.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "growing_array.h"
#include "hotpath.h"
#include "layout.h"
#include "proc_sampler.h"
#include "process.h"
#include "session_dirs.h"
#include "task_events.h"
#include "thread_usage.h"

#define TEXT_BYTES 8192u

struct file {
    struct hp_header header;
    char texts[TEXT_BYTES]; /* where they are read with the header */
    struct hp_thread_usage usage;
    struct hp_thread_usage_row usage_rows[HP_THREAD_USAGE_ROWS];
    struct hp_waits waits;
    struct hp_wait wait_rows[HP_WATCH_ENTRIES];
};
_Static_assert(offsetof(struct file, usage) % 64 == 0 && offsetof(struct file, waits) % 8 == 0,
               "where they are found");

/* A process, and the program that it executes. */
struct entry {
    struct hp_header header; /* of its session */
    int fd;                  /* of that; -1: it is finished */
    uint64_t executable;     /* 0: unknown, as for a process that has ended */
    uint32_t number;         /* of its sessions */
};

#define MOST_SESSIONS 2000u
#define MOST_REFUSED 64u

static struct {
    struct file file; /* as it is made */
    size_t text_bytes;
    char folder[1000];
    struct entry *all; /* the first process first */
    size_t count, room, sessions, left_out;
    struct hp_attached_refused refused[MOST_REFUSED];
    size_t refused_count;
    uint64_t began_ticks; /* since boot, as the start times of processes */
    bool is_over;         /* atomic */
} attached;

static uint32_t put_text(const char *text)
{
    const uint32_t length = (uint32_t)strnlen(text, 1023);
    const size_t at = (attached.text_bytes + 7) & ~(size_t)7;
    if (length == 0 || at + sizeof length + length + 1 > TEXT_BYTES)
        return 0;
    memcpy(attached.file.texts + at, &length, sizeof length);
    memcpy(attached.file.texts + at + sizeof length, text, length);
    attached.text_bytes = at + sizeof length + length + 1;
    return (uint32_t)(offsetof(struct file, texts) + at);
}

static void describe(uint32_t pid)
{
    char text[1024] = "", path[HP_TASK_PATH];
    struct hp_header *header = &attached.file.header;
    hp_process_command_of(pid, 0, text, sizeof text);
    header->command = put_text(text);
    const ssize_t link = readlink(hp_task_path(path, pid, 0, "exe"), text, sizeof text - 1);
    text[link > 0 ? link : 0] = '\0';
    header->executable = put_text(text);
    hp_process_host(text, sizeof text);
    header->host = put_text(text);
    hp_process_system(text, sizeof text);
    header->system = put_text(text);
    header->library = put_text("hotpath " HOTPATH_VERSION);
}

static void note_time(struct hp_clock_pair *pair) { hp_clock_pair(hp_clock_counter(), &pair->ticks, &pair->ns); }

/* `is_new`: it began after us, and all of its CPU time counts. */
static void fill(uint32_t pid, bool is_new)
{
    struct hp_header *header = &attached.file.header;
    memset(&attached.file, 0, sizeof attached.file);
    attached.text_bytes = 0;
    memcpy(header->magic, HP_MAGIC, sizeof header->magic);
    header->byte_order = HP_BYTE_ORDER;
    header->version = HP_LAYOUT_VERSION;
    header->header_bytes = HP_HEADER_BYTES;
    header->features = HP_FEATURE_CPU | HP_FEATURE_RECORDED;
    header->state = HP_STATE_LIVE;
    header->pid = pid;
    header->process_start = hp_process_start_time(pid);
    header->main_site = HOTPATH_ID_NEW_;
    header->wall_start_ns = hp_clock_wall_ns();
    hp_process_boot_id(header->boot_id);
    header->pid_namespace = hp_process_namespace();
    header->clock_kind = hp_clock_kind_of(hp_clock_counter());
    header->cores = hp_process_cores();
    note_time(&header->clock_start);
    header->clock_latest = header->clock_start;
    header->cpu_latest_ns = hp_used_by(pid);
    header->cpu_start_ns = is_new ? 0 : header->cpu_latest_ns;
    header->parent_pid = hp_task_parent(pid);
    header->thread_usage = (uint32_t)offsetof(struct file, usage);
    header->waits = (uint32_t)offsetof(struct file, waits);
    attached.file.usage.capacity = HP_THREAD_USAGE_ROWS;
    attached.file.waits.capacity = HP_WATCH_ENTRIES;
    describe(pid);
    header->used = header->capacity = header->backed = sizeof attached.file;
}

static void write_fields(const struct entry *entry, size_t from, size_t to)
{
    (void)!pwrite(entry->fd, (const char *)&entry->header + from, to - from, (off_t)from);
}

/* Writes only the header fields; the data behind them, and the times of work among them, belong to the observer. */
static void write_header(const struct entry *entry)
{
    const size_t work = offsetof(struct hp_header, work);
    write_fields(entry, 0, work);
    write_fields(entry, work + sizeof entry->header.work, sizeof entry->header);
}

static void finish(struct entry *entry)
{
    if (entry->fd < 0)
        return;
    note_time(&entry->header.clock_latest);
    entry->header.state = HP_STATE_FINISHED;
    write_header(entry);
    close(entry->fd);
    entry->fd = -1;
}

/* Of the program that the process executes now. False: see errno. */
static bool create(struct entry *entry, uint32_t pid, bool is_new)
{
    char path[1200];
    fill(pid, is_new);
    entry->executable = hp_task_executable(pid);
    snprintf(path, sizeof path, "%s/%u-%llu-%u%s", attached.folder, (unsigned)pid,
             (unsigned long long)attached.file.header.process_start, (unsigned)++entry->number, HP_SESSION_SUFFIX);
    entry->header = attached.file.header;
    entry->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    attached.sessions++;
    /* The lock tells readers that it is being written (src/format/session_file.c). */
    return entry->fd >= 0 && flock(entry->fd, LOCK_EX) == 0 &&
           hp_file_write(entry->fd, (const char *)&attached.file, sizeof attached.file);
}

static struct entry *add(void)
{
    if (!HP_MAKE_ROOM(attached.all, attached.count + 1, attached.room))
        return NULL;
    attached.all[attached.count] = (struct entry){.fd = -1};
    return &attached.all[attached.count++];
}

/* As the kernel counts it for processes. */
static uint64_t ticks_since_boot(void)
{
    struct timespec now;
    const uint64_t rate = (uint64_t)sysconf(_SC_CLK_TCK);
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * rate + (uint64_t)now.tv_nsec / (UINT64_C(1000000000) / rate);
}

bool hp_attached_begin(const char *folder, uint32_t pid)
{
    struct entry *first;
    errno = ENAMETOOLONG;
    if (strlen(folder) >= sizeof attached.folder)
        return false;
    memcpy(attached.folder, folder, strlen(folder) + 1);
    attached.began_ticks = ticks_since_boot();
    errno = ENOMEM;
    return (first = add()) != NULL && create(first, pid, false);
}

/* --------------------------------------------------------------------------------------- other processes */

static bool is_of_another_user(uint32_t pid)
{
    char path[HP_TASK_PATH];
    struct stat status;
    return geteuid() != 0 && stat(hp_task_path(path, pid, 0, "stat"), &status) == 0 && status.st_uid != geteuid();
}

static void refuse(uint32_t pid)
{
    char name[32] = "";
    size_t at = 0;
    while (at < attached.refused_count && attached.refused[at].pid != pid)
        at++;
    if (at < attached.refused_count || at == MOST_REFUSED)
        return;
    struct hp_attached_refused *refused = &attached.refused[attached.refused_count++];
    hp_task_read(pid, 0, "comm", name, sizeof name);
    refused->pid = pid;
    snprintf(refused->name, sizeof refused->name, "%.*s", (int)strcspn(name, "\n") % 16, name);
}

/* The newest with that pid, which another process may have had before. */
static const struct entry *find(uint32_t pid)
{
    for (size_t at = attached.count; at-- > 0;)
        if (attached.all[at].header.pid == pid)
            return &attached.all[at];
    return NULL;
}

bool hp_attached_meet(uint32_t pid)
{
    const struct entry *known = find(pid);
    const uint64_t start = hp_process_start_time(pid);
    if (known != NULL && known->header.process_start == start)
        return true;
    if (start == 0 || is_of_another_user(pid)) {
        if (start != 0)
            refuse(pid);
        return false;
    }
    struct entry *entry = attached.sessions < MOST_SESSIONS ? add() : NULL;
    if (entry != NULL && create(entry, pid, start >= attached.began_ticks))
        return true;
    attached.left_out++;
    return false;
}

/* ------------------------------------------------------------------------------------------------- looking */

/* After exec it has another session, which goes on where this one ends. */
static void follow_exec(struct entry *entry)
{
    const uint64_t executable = hp_task_executable(entry->header.pid);
    const uint64_t used_ns = entry->header.cpu_latest_ns;
    if (executable == 0 || executable == entry->executable)
        return;
    finish(entry);
    entry->executable = executable;
    if (attached.sessions >= MOST_SESSIONS || !create(entry, entry->header.pid, true)) {
        attached.left_out++;
        return;
    }
    entry->header.cpu_start_ns = used_ns;
    entry->header.exec_count = entry->number - 1;
    write_header(entry);
}

/* A zombie has ended, too; and another process may have its number. */
static bool has_ended(const struct hp_header *header)
{
    uint64_t start;
    const char state = hp_task_state(header->pid, 0, &start);
    return state == 'X' || state == 'Z' || start != header->process_start;
}

static void look_at(struct entry *entry)
{
    struct hp_header *header = &entry->header;
    if (has_ended(header)) {
        finish(entry);
        return;
    }
    const uint64_t used_ns = hp_used_by(header->pid);
    if (used_ns > header->cpu_latest_ns)
        header->cpu_latest_ns = used_ns;
    note_time(&header->clock_latest);
    write_header(entry);
    follow_exec(entry);
}

void hp_attached_look(void)
{
    for (size_t at = 0; at < attached.count; at++)
        if (attached.all[at].fd >= 0)
            look_at(&attached.all[at]);
    /* Relaxed: nothing else is learnt from it. */
    __atomic_store_n(&attached.is_over, attached.count == 0 || attached.all[0].fd < 0, __ATOMIC_RELAXED);
}

bool hp_attached_goes_on(void) { return !__atomic_load_n(&attached.is_over, __ATOMIC_RELAXED); }

void hp_attached_end(void)
{
    for (size_t at = 0; at < attached.count; at++)
        finish(&attached.all[at]);
}

const struct hp_attached_refused *hp_attached_refused(size_t *ret_count)
{
    *ret_count = attached.refused_count;
    return attached.refused;
}

size_t hp_attached_left_out(void) { return attached.left_out; }
