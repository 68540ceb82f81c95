/* How long a CPU was free. SPDX-License-Identifier: MIT */
#include "free_cpus.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "lock_layout.h"
#include "process.h"
#include "task_path.h"
#include "text.h"

#define STEP_NS UINT64_C(10000000)
#define SCAN_NS UINT64_C(100000000) /* for new processes, and for the CPUs that they may use */
#define COST_PART 100u
#define READINGS 8u
#define LEAST_READINGS 4u /* fewer are too close to each other for the kernel's ticks */
#define MOST_PROCESSES 128u
#define MOST_CPUS 1024u
#define STATUS_BYTES 8192u
#define STAT_BYTES 131072u

struct reading {
    uint64_t ns;
    uint32_t ticks[MOST_CPUS]; /* in which each CPU was idle, also while it waited for a disk */
};

struct process {
    uint64_t name; /* hash of its file's */
    int fd;
    uint32_t pid;
    uint64_t start;
    uint64_t cpus[MOST_CPUS / 64]; /* that it may use */
    uint64_t time_ns, free_ns;     /* as far as it was told */
};

static struct {
    char folder[1000]; /* "": nothing is to be told */
    uint64_t due_ns, scan_ns;
    uint64_t tick_ns;
    struct reading readings[READINGS];
    uint64_t count; /* of readings; the latest one is at (count - 1) % READINGS */
    struct process processes[MOST_PROCESSES];
    size_t process_count;
    char stat[STAT_BYTES];
} watch;

/* ---------------------------------------------------------------------------------------------------- processes */

/* "Cpus_allowed_list:	0-1,4" */
static void read_cpus(struct process *process)
{
    static const char key[] = "\nCpus_allowed_list:";
    char path[HP_TASK_PATH], text[STATUS_BYTES];
    const char *at = hp_file_read_text(hp_task_path(path, process->pid, 0, "status"), text, sizeof text)
                         ? strstr(text, key)
                         : NULL;
    if (at == NULL)
        return;
    memset(process->cpus, 0, sizeof process->cpus);
    for (at += strlen(key); *at != '\n' && *at != '\0'; at += *at == ',') {
        const uint64_t first = hp_task_number(&at);
        const uint64_t last = *at == '-' ? (at++, hp_task_number(&at)) : first;
        for (uint64_t cpu = first; cpu <= last && cpu < MOST_CPUS; cpu++)
            process->cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
        if (*at != ',')
            break;
    }
}

static bool is_alive(const struct process *process)
{
    return hp_process_start_time(process->pid) == process->start;
}

static bool is_known(uint64_t name)
{
    for (size_t at = 0; at < watch.process_count; at++)
        if (watch.processes[at].name == name)
            return true;
    return false;
}

/* A process in another namespace has another number there, and began at another time. */
static bool open_file(struct process *process, const char *name)
{
    struct hp_locks_header header;
    char path[sizeof watch.folder + 300];
    if (snprintf(path, sizeof path, "%s/%s", watch.folder, name) >= (int)sizeof path)
        return false;
    process->fd = hp_regular_open(AT_FDCWD, path, O_RDWR | O_NOFOLLOW);
    if (process->fd < 0)
        return false;
    if (pread(process->fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.side.magic, HP_LOCKS_MAGIC, sizeof header.side.magic) == 0 &&
        header.side.version == HP_LOCKS_VERSION && header.side.pid == process->pid &&
        header.side.process_start != 0) {
        process->start = header.side.process_start;
        if (is_alive(process))
            return true;
    }
    close(process->fd);
    return false;
}

static void meet(const char *name, void *unused)
{
    const char *at = name;
    uint64_t pid;
    (void)unused;
    if (!hp_text_has_suffix(name, HP_LOCKS_SUFFIX) || watch.process_count == MOST_PROCESSES ||
        is_known(hp_text_hash(name, strlen(name))) || !hp_task_digits(&at, 10, &pid))
        return;
    struct process *process = &watch.processes[watch.process_count];
    *process = (struct process){.name = hp_text_hash(name, strlen(name)), .pid = (uint32_t)pid};
    watch.process_count += open_file(process, name);
}

static void forget_ended(void)
{
    size_t kept = 0;
    for (size_t at = 0; at < watch.process_count; at++)
        if (is_alive(&watch.processes[at]))
            watch.processes[kept++] = watch.processes[at];
        else
            close(watch.processes[at].fd);
    watch.process_count = kept;
}

static void scan(void)
{
    forget_ended();
    hp_file_each(watch.folder, meet, NULL);
    for (size_t at = 0; at < watch.process_count; at++)
        read_cpus(&watch.processes[at]);
}

/* ----------------------------------------------------------------------------------------------------- readings */

/* "cpu1 725727 185139 153025 227737 3147 ...": the fourth number and the fifth. False: there is no such line. */
static bool read_idle(struct reading *reading)
{
    char path[HP_TASK_PATH + 8];
    bool has_any = false;
    snprintf(path, sizeof path, "%s/stat", hp_task_root);
    if (!hp_file_read_text(path, watch.stat, sizeof watch.stat))
        return false;
    memset(reading->ticks, 0, sizeof reading->ticks);
    for (const char *at = strstr(watch.stat, "\ncpu"); at != NULL; at = strstr(at, "\ncpu")) {
        uint64_t cpu;
        at += strlen("\ncpu");
        if (!hp_task_digits(&at, 10, &cpu) || cpu >= MOST_CPUS)
            continue;
        for (int skipped = 0; skipped < 3; skipped++)
            hp_task_number(&at);
        reading->ticks[cpu] = (uint32_t)hp_task_number(&at);
        reading->ticks[cpu] += (uint32_t)hp_task_number(&at);
        has_any |= reading->ticks[cpu] != 0;
    }
    return has_any;
}

/* The part of the time from one reading to another in which a CPU was free for a process. */
static double free_part(const struct process *process, const struct reading *from, const struct reading *to)
{
    uint64_t ticks = 0;
    for (size_t cpu = 0; cpu < MOST_CPUS; cpu++)
        if (process->cpus[cpu / 64] >> cpu % 64 & 1 && to->ticks[cpu] > from->ticks[cpu])
            ticks += to->ticks[cpu] - from->ticks[cpu];
    const double part = (double)(ticks * watch.tick_ns) / (double)(to->ns - from->ns);
    return part < 1 ? part : 1;
}

static void tell(struct process *process, double part, uint64_t ns)
{
    process->time_ns += ns;
    process->free_ns += (uint64_t)(part * (double)ns);
    const struct hp_lock_free_cpus told = {
        .sum =
            (process->time_ns >> HP_LOCK_FREE_BITS | 1) << 32 | (uint32_t)(process->free_ns >> HP_LOCK_FREE_BITS),
        .part = (uint32_t)(part * HP_LOCK_FREE_WHOLE),
    };
    const ssize_t bytes =
        pwrite(process->fd, &told, sizeof told, (off_t)offsetof(struct hp_locks_header, free_cpus));
    (void)bytes; /* a full disk: the process does not know */
}

static void read_and_tell(uint64_t now_ns)
{
    struct reading *latest = &watch.readings[watch.count % READINGS];
    if (!read_idle(latest))
        return;
    latest->ns = now_ns;
    watch.count++;
    if (watch.count < LEAST_READINGS)
        return;
    const struct reading *before = &watch.readings[(watch.count - 2) % READINGS];
    const struct reading *first = &watch.readings[watch.count > READINGS ? watch.count % READINGS : 0];
    for (size_t at = 0; at < watch.process_count; at++)
        tell(&watch.processes[at], free_part(&watch.processes[at], first, latest), latest->ns - before->ns);
}

/* ---------------------------------------------------------------------------------------------------------- all */

void hp_free_cpus_begin(const char *folder)
{
    const long per_second = sysconf(_SC_CLK_TCK);
    if (strlen(folder) >= sizeof watch.folder || per_second <= 0)
        return;
    memcpy(watch.folder, folder, strlen(folder) + 1);
    watch.tick_ns = UINT64_C(1000000000) / (uint64_t)per_second;
    watch.due_ns = watch.scan_ns = watch.count = 0;
}

void hp_free_cpus_look(void)
{
    const uint64_t now_ns = hp_clock_monotonic_ns(), before_ns = hp_clock_thread_ns();
    if (watch.folder[0] == '\0' || now_ns < watch.due_ns)
        return;
    if (now_ns >= watch.scan_ns) {
        watch.scan_ns = now_ns + SCAN_NS;
        scan();
    }
    read_and_tell(now_ns);
    const uint64_t pause_ns = COST_PART * (hp_clock_thread_ns() - before_ns);
    watch.due_ns =
        now_ns + (pause_ns > STEP_NS ? pause_ns : STEP_NS * 9 / 10); /* the observer comes in such steps */
}

void hp_free_cpus_end(void)
{
    for (size_t at = 0; at < watch.process_count; at++)
        close(watch.processes[at].fd);
    watch.process_count = 0;
    watch.folder[0] = '\0';
}
