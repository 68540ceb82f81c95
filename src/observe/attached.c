/* Sessions for processes that hotpath is not loaded into. SPDX-License-Identifier: MIT */
#include "attached.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
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
    struct hp_thread_usage usage;
    struct hp_thread_usage_row usage_rows[HP_THREAD_USAGE_ROWS];
    struct hp_waits waits;
    struct hp_wait wait_rows[HP_WATCH_ENTRIES];
    char texts[TEXT_BYTES];
};
_Static_assert(offsetof(struct file, usage) % 64 == 0 && offsetof(struct file, waits) % 8 == 0,
               "where they are found");

static struct {
    struct file file;
    int fd;
    uint64_t executable;
    size_t text_bytes;
} attached = {.fd = -1};

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
    const int fd = open(hp_task_path(path, pid, 0, "cmdline"), O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    for (ssize_t at = 0; at + 1 < length; at++)
        text[at] = text[at] == '\0' ? ' ' : text[at];
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

static void fill(uint32_t pid)
{
    struct hp_header *header = &attached.file.header;
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
    header->cpu_start_ns = header->cpu_latest_ns = hp_used_by(pid);
    header->thread_usage = (uint32_t)offsetof(struct file, usage);
    header->waits = (uint32_t)offsetof(struct file, waits);
    attached.file.usage.capacity = HP_THREAD_USAGE_ROWS;
    attached.file.waits.capacity = HP_WATCH_ENTRIES;
    describe(pid);
    header->used = header->capacity = header->backed = sizeof attached.file;
}

bool hp_attached_begin(const char *folder, uint32_t pid)
{
    char path[1200];
    fill(pid);
    attached.executable = hp_task_executable(pid);
    snprintf(path, sizeof path, "%s/%u-%llu-1%s", folder, (unsigned)pid,
             (unsigned long long)attached.file.header.process_start, HP_SESSION_SUFFIX);
    attached.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    /* The lock tells readers that it is being written (src/format/session_file.c). */
    return attached.fd >= 0 && flock(attached.fd, LOCK_EX) == 0 &&
           hp_file_write(attached.fd, (const char *)&attached.file, sizeof attached.file);
}

/* Writes only the header fields; the data behind them belongs to the observer. */
static void write_header(void)
{
    (void)!pwrite(attached.fd, &attached.file.header, sizeof attached.file.header, 0);
}

bool hp_attached_look(void)
{
    struct hp_header *header = &attached.file.header;
    const uint64_t used_ns = hp_used_by(header->pid);
    if (used_ns > header->cpu_latest_ns)
        header->cpu_latest_ns = used_ns;
    note_time(&header->clock_latest);
    write_header();
    return hp_process_life(header->pid, header->process_start, header->pid_namespace) == HP_LIFE_LIVE &&
           hp_task_executable(header->pid) == attached.executable;
}

void hp_attached_end(void)
{
    struct hp_header *header = &attached.file.header;
    note_time(&header->clock_latest);
    header->state = HP_STATE_FINISHED;
    if (attached.fd >= 0) {
        write_header();
        close(attached.fd);
        attached.fd = -1;
    }
}
