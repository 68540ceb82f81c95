/*
 * Watches a run.
 *
 * Sessions are found by their files in the folder of the run, and read and written by offset: with a mapping,
 * truncating the file would raise SIGBUS in us. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* fallocate */
#include "run_observer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attached.h"
#include "axis_feed.h"
#include "clock.h"
#include "event_queue.h"
#include "files.h"
#include "free_cpus.h"
#include "lender.h"
#include "lock_holders.h"
#include "other_end.h"
#include "proc_sampler.h"
#include "process.h"
#include "process_table.h"
#include "quiet_thread.h"
#include "segment_feed.h"
#include "session_dirs.h"
#include "session_file.h"
#include "sources.h"
#include "text.h"
#include "wait_stacks.h"

/* ---------------------------------------------------------------------------------------------- the observer */

#define MOST_PROCESSES 128u /* at a time; further ones wait for a free place */
#define MOST_SEARCHED 64u   /* processes, for the other end of a pipe or socket */
#define MOST_FILES 256u     /* /proc files kept open */
#define SCAN_NS UINT64_C(100000000)
#define TICK_NS UINT64_C(10000000) /* the longest of any kernel */
#define PATIENCE_NS 200000000L
#define PAGE UINT64_C(4096)

struct process {
    int fd;            /* of its session */
    uint64_t began_ns; /* its session */
    bool is_sandboxed;
    uint32_t number; /* of its session, for the listener */
    struct hp_wait_listener listener;
    struct hp_proc_sampler watch;
    struct hp_axis_feed axis;
    struct hp_segment_feed segments;
};

/* Sessions already examined, by the hash of their names; open addressing, 0 is free. */
struct names {
    uint64_t *all;
    size_t count, capacity;
};

static struct {
    struct hp_quiet_thread thread;
    pthread_mutex_t lock;
    pthread_cond_t news;   /* wakes the thread */
    pthread_cond_t looked; /* signalled by the thread */
    bool is_started, is_over, is_asked;
    struct hp_run_observer_settings settings;
    char folder[1000];
    struct process *processes[MOST_PROCESSES];
    size_t count;
    uint32_t files;
    uint32_t at_work;    /* busy threads of the processes other than the one being sampled */
    struct hp_work work; /* of all processes */
    struct hp_other_ends ends;
    uint32_t living[MOST_PROCESSES]; /* for these */
    struct hp_work_times work_times;
    char latest[256]; /* name of the session found last */
    struct names known;
    struct timespec changed; /* mtime of the folder at the last scan */
    uint64_t scanned_ns;
    uint64_t noted_ns;    /* CPU time of the observer that sessions know of */
    bool is_recent;       /* it had changed just before that */
    bool is_unready;      /* a file was there that is not a session yet */
    uint64_t confinement; /* of this process */
    uint32_t pid_namespace;
} watcher = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --------------------------------------------------------------------------------------------- names */

static uint64_t hash_of(const char *name) { return hp_text_hash(name, strlen(name)) | 1; }

static uint64_t *place_of(const struct names *names, uint64_t hash)
{
    size_t at = (size_t)hash & (names->capacity - 1);
    while (names->all[at] != 0 && names->all[at] != hash)
        at = (at + 1) & (names->capacity - 1);
    return &names->all[at];
}

static bool is_known(const struct names *names, uint64_t hash)
{
    return names->capacity > 0 && *place_of(names, hash) == hash;
}

static bool grow(struct names *names)
{
    struct names larger = {.count = names->count, .capacity = names->capacity > 0 ? 2 * names->capacity : 256};
    larger.all = calloc(larger.capacity, sizeof *larger.all);
    if (larger.all == NULL)
        return false;
    for (size_t at = 0; at < names->capacity; at++)
        if (names->all[at] != 0)
            *place_of(&larger, names->all[at]) = names->all[at];
    free(names->all);
    *names = larger;
    return true;
}

static void remember(struct names *names, uint64_t hash)
{
    if (2 * names->count >= names->capacity && !grow(names))
        return;
    *place_of(names, hash) = hash;
    names->count++;
}

/* ------------------------------------------------------------------------------------------- sessions */

static bool read_session(void *context, uint32_t offset, void *to, size_t bytes)
{
    const struct process *process = context;
    return pread(process->fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* Writes only over existing bytes: a truncated file stays as it is. */
static bool write_at(int fd, uint32_t offset, const void *from, size_t bytes)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (uint64_t)status.st_size >= (uint64_t)offset + bytes &&
           pwrite(fd, from, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool write_session(void *context, uint32_t offset, const void *from, size_t bytes)
{
    const struct process *process = context;
    return write_at(process->fd, offset, from, bytes);
}

static bool is_over(const struct hp_header *header)
{
    return header->state == HP_STATE_FINISHED ||
           hp_process_life(header->pid, header->process_start, header->pid_namespace) == HP_LIFE_OVER;
}

/*
 * A run can have thousands of processes, and a session reserves more memory than it has used. The file keeps its
 * length: another process may still have it mapped.
 */
static void give_space_back(int fd)
{
    struct stat status;
    struct hp_header header;
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || fstat(fd, &status) != 0)
        return;
    const off_t from =
        header.used < (uint64_t)status.st_size ? (off_t)((header.used + PAGE - 1) & ~(PAGE - 1)) : status.st_size;
    if (is_over(&header) && from < status.st_size)
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, status.st_size - from);
}

/* Tells reports why a session has no waits. */
static void note_unwatched(int fd, uint32_t waits, enum hp_unwatched reason)
{
    const uint32_t why = reason, at = waits + (uint32_t)offsetof(struct hp_waits, why);
    uint32_t before;
    if (waits % 8 == 0 && waits >= HP_HEADER_BYTES && at > waits &&
        pread(fd, &before, sizeof before, (off_t)at) == (ssize_t)sizeof before && before == 0)
        write_at(fd, at, &why, sizeof why);
}

static void look_at_segments(struct process *process)
{
    if (watcher.settings.has_stacks && watcher.settings.follows_paths)
        hp_segment_feed_look(&process->segments, process->fd);
}

static void end_process(size_t at)
{
    struct process *process = watcher.processes[at];
    look_at_segments(process);
    hp_lock_holders_forget(process->watch.target.pid);
    hp_proc_sampler_end(&process->watch);
    if (process->watch.sums.probes == 0)
        note_unwatched(process->fd, process->watch.at, HP_UNWATCHED_BRIEF);
    hp_axis_feed_end(&process->axis, &process->watch);
    give_space_back(process->fd);
    close(process->fd);
    hp_lender_settle(hp_text_base_name(process->axis.path));
    free(process);
    watcher.processes[at] = watcher.processes[--watcher.count];
}

/* After exec the same process has another session. */
static void end_earlier(uint32_t pid)
{
    for (size_t at = 0; at < watcher.count; at++)
        if (watcher.processes[at]->watch.target.pid == pid) {
            end_process(at);
            return;
        }
}

static bool is_ready(int fd, struct hp_header *ret_header)
{
    return pread(fd, ret_header, sizeof *ret_header, 0) == (ssize_t)sizeof *ret_header &&
           memcmp(ret_header->magic, HP_MAGIC, sizeof ret_header->magic) == 0;
}

static bool is_watchable(const struct hp_header *header)
{
    return header->version == HP_LAYOUT_VERSION && header->byte_order == HP_BYTE_ORDER &&
           header->state == HP_STATE_LIVE && header->waits != 0 &&
           hp_process_life(header->pid, header->process_start, header->pid_namespace) == HP_LIFE_LIVE;
}

static uint32_t other_end(void *ends, uint32_t pid, uint32_t descriptor, const char *what)
{
    return hp_other_end(ends, pid, descriptor, what);
}

static bool is_sampled(uint32_t pid)
{
    for (size_t at = 0; at < watcher.count; at++)
        if (watcher.processes[at]->watch.target.pid == pid)
            return true;
    return false;
}

/*
 * Takes over the descriptor. A place is free, or taken by an earlier session of the process. After exec both
 * sessions look alive, and may be found in any order: that of the program before it is not in the memory of the
 * process.
 */
static void begin_process(int fd, const struct hp_header *header, const char *name)
{
    struct process *process = calloc(1, sizeof *process);
    if (process == NULL) {
        close(fd);
        return;
    }
    const struct hp_proc_sampler_target target = {.pid = header->pid,
                                                  .read = read_session,
                                                  .write = write_session,
                                                  .context = process,
                                                  .files = &watcher.files,
                                                  .at_work = &watcher.at_work,
                                                  .other_end = other_end,
                                                  .ends = &watcher.ends,
                                                  .work = &watcher.work_times,
                                                  .listener =
                                                      watcher.settings.has_stacks ? &process->listener : NULL};
    process->began_ns = header->clock_start.ns;
    process->number = hp_session_number(name);
    process->listener = hp_wait_stacks;
    process->listener.context = &process->number;
    process->fd = process->axis.session = fd;
    if (snprintf(process->axis.path, sizeof process->axis.path, "%s/%s", watcher.folder, name) >=
        (int)sizeof process->axis.path)
        process->axis.path[0] = '\0';
    /* In this order: if the process executes another program in between, that is noticed later. */
    const bool is_begun = hp_proc_sampler_begin(&process->watch, &target);
    if (is_begun && (watcher.settings.is_attached || hp_session_is_in_memory(header->pid, name))) {
        end_earlier(header->pid);
        hp_wait_source_meet(header->pid);
        watcher.processes[watcher.count++] = process;
        return;
    }
    note_unwatched(fd, header->waits, is_begun ? HP_UNWATCHED_BRIEF : HP_UNWATCHED_ANOTHER);
    close(fd);
    free(process);
}

/* Marks it for the report. It is tried again when a place may be free. */
static void leave_unwatched(int fd, const struct hp_header *header)
{
    const uint32_t one = 1, offset = header->waits + (uint32_t)offsetof(struct hp_waits, unwatched);
    if (header->waits % 8 == 0 && header->waits >= HP_HEADER_BYTES && offset > header->waits)
        write_at(fd, offset, &one, sizeof one);
    note_unwatched(fd, header->waits, HP_UNWATCHED_MANY);
    close(fd);
}

/*
 * A finished session has its end. For one that is not, the end of the process lies anywhere between its last update
 * and now.
 */
static uint64_t end_of(const struct hp_header *header)
{
    if (header->state == HP_STATE_FINISHED)
        return header->clock_latest.ns;
    return is_over(header) ? hp_clock_monotonic_ns() : 0;
}

static void tell_process_table(const struct hp_header *header)
{
    if (header->version != HP_LAYOUT_VERSION || header->byte_order != HP_BYTE_ORDER ||
        (header->pid_namespace != 0 && header->pid_namespace != watcher.pid_namespace))
        return;
    const uint64_t began = header->clock_start.ns, latest = header->clock_latest.ns;
    hp_process_table_meet(&(struct hp_process){.pid = header->pid,
                                               .parent = header->parent_pid,
                                               .began_ns = began,
                                               .ended_ns = end_of(header),
                                               .seen_cpu_ns = header->cpu_latest_ns,
                                               .seen_ns = latest > began ? latest : began});
}

static void visit_file(const char *name, void *context)
{
    const int folder = *(const int *)context;
    struct hp_header header;
    const uint64_t hash = hash_of(name);
    if (!hp_text_has_suffix(name, HP_SESSION_SUFFIX) || is_known(&watcher.known, hash))
        return;
    const int fd = hp_session_file_descriptor(folder, name, O_RDWR);
    if (fd < 0)
        return;
    const bool is_session = is_ready(fd, &header);
    watcher.is_unready |= !is_session;
    const bool is_to_be_watched = is_session && is_watchable(&header);
    if (is_session)
        tell_process_table(&header);
    if (is_to_be_watched && watcher.count == MOST_PROCESSES && !is_sampled(header.pid)) {
        leave_unwatched(fd, &header);
        return;
    }
    if (is_session) {
        remember(&watcher.known, hash);
        snprintf(watcher.latest, sizeof watcher.latest, "%s", name);
    }
    if (is_to_be_watched) {
        begin_process(fd, &header, name);
        return;
    }
    if (is_session) {
        note_unwatched(fd, header.waits, HP_UNWATCHED_BRIEF);
        give_space_back(fd);
    }
    close(fd);
    if (is_session && is_over(&header))
        hp_lender_settle(name);
}

/* File systems count time in ticks: what comes in the same tick as the last change does not show. */
static bool is_recent(const struct timespec *changed)
{
    const uint64_t ns = (uint64_t)changed->tv_sec * 1000000000u + (uint64_t)changed->tv_nsec;
    return hp_clock_wall_ns() < ns + TICK_NS;
}

/* Looks for new sessions, where there may be some. */
static void scan(void)
{
    struct stat status;
    const uint64_t now = hp_clock_monotonic_ns();
    if (stat(watcher.folder, &status) != 0)
        return;
    const bool is_same =
        status.st_mtim.tv_sec == watcher.changed.tv_sec && status.st_mtim.tv_nsec == watcher.changed.tv_nsec;
    if (is_same && !watcher.is_unready && !watcher.is_recent && now - watcher.scanned_ns < SCAN_NS)
        return;
    watcher.changed = status.st_mtim;
    watcher.is_recent = is_recent(&status.st_mtim);
    watcher.scanned_ns = now;
    watcher.is_unready = false;
    int folder = open(watcher.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    hp_file_each(watcher.folder, visit_file, &folder);
    close(folder);
}

/* ------------------------------------------------------------------------------------------ sandboxes */

/*
 * The process cannot check this itself, since the check takes system calls. A sandbox that we are in as well (a
 * container) was there before it began. Only the byte reserved for us is written.
 */
static void note_sandbox(struct process *process)
{
    const uint32_t offset = (uint32_t)offsetof(struct hp_header, features);
    const uint32_t features = HP_FEATURE_SANDBOXED;
    const uint32_t place = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 3 : 0;
    if (process->is_sandboxed || hp_task_confinement(process->watch.target.pid) <= watcher.confinement)
        return;
    process->is_sandboxed = write_at(process->fd, offset + place, (const char *)&features + place, 1);
}

/* --------------------------------------------------------------------------------------------- thread */

/* Busy threads of all other processes, by their latest samples. */
static uint32_t at_work_beside(size_t process)
{
    uint32_t threads = 0;
    for (size_t at = 0; at < watcher.count; at++)
        threads += at != process ? watcher.processes[at]->watch.at_work : 0;
    return threads;
}

static bool is_of_no_interest(uint32_t pid)
{
    (void)pid;
    return true;
}

/* After all were looked at. Of processes that are not sampled only the table knows. */
static void note_work(const struct hp_work_found *sampled)
{
    const struct hp_work_found by_clocks =
        hp_process_table_found(sampled->is_working ? is_of_no_interest : is_sampled);
    const uint64_t ran_ns = by_clocks.sum_ns;
    struct hp_work_found found = *sampled;
    hp_work_join(&found, &by_clocks);
    /* Those that are sampled are in both. Only samples know of time ready to run. */
    found.sum_ns = sampled->sum_ns > ran_ns ? sampled->sum_ns : ran_ns + (sampled->sum_ns - sampled->ran_ns);
    hp_work_add(&watcher.work, &found, hp_clock_monotonic_ns());
    watcher.work_times = hp_work_times(&watcher.work);
}

/* Processes whose sessions have ended may have been the last ones. */
static void write_work(void)
{
    const int folder = open(watcher.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int fd =
        folder >= 0 && watcher.latest[0] != '\0' ? hp_session_file_descriptor(folder, watcher.latest, O_RDWR) : -1;
    if (fd >= 0)
        write_at(fd, (uint32_t)offsetof(struct hp_header, work), &watcher.work_times, sizeof watcher.work_times);
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
}

/* Their sessions are made here, and found as all others. */
static void follow_attached(void)
{
    uint32_t generation;
    const size_t count = hp_process_table_living(watcher.living, MOST_PROCESSES, &generation);
    for (size_t at = 0; at < count; at++)
        hp_attached_meet(watcher.living[at]);
    hp_attached_look();
}

/*
 * Told by the kernel: a program may execute its own file again, and it takes a while until the new one has a
 * session. Sessions of attached processes are ended where they are made.
 */
static bool has_executed(const struct process *process)
{
    if (watcher.settings.is_attached || !hp_process_table_is_exact())
        return false;
    const struct hp_process *known = hp_process_table_find(process->watch.target.pid);
    return known != NULL && known->image_count > 0 &&
           known->images[known->image_count - 1].began_ns > process->began_ns;
}

/* Samples all processes once. */
static void look_at_all(void)
{
    struct hp_work_found found = {0};
    hp_process_table_look();
    if (!watcher.settings.has_waits)
        return;
    if (watcher.settings.is_attached)
        follow_attached();
    scan();
    watcher.ends.count = hp_process_table_living(watcher.living, MOST_PROCESSES, &watcher.ends.generation);
    watcher.ends.pids = watcher.living;
    watcher.ends.most_searched = MOST_SEARCHED;
    for (size_t at = 0; at < watcher.count;) {
        if (has_executed(watcher.processes[at])) {
            end_process(at);
            continue;
        }
        struct hp_proc_sampler *watch = &watcher.processes[at]->watch;
        watcher.at_work = at_work_beside(at);
        note_sandbox(watcher.processes[at]);
        const bool goes_on = hp_proc_sample(watch);
        hp_work_join(&found, &watch->found);
        if (!goes_on) {
            end_process(at);
            continue;
        }
        hp_axis_feed_look(&watcher.processes[at]->axis, watch);
        look_at_segments(watcher.processes[at]);
        const uint64_t now = hp_clock_thread_ns();
        hp_proc_sampler_note(watch, now - watcher.noted_ns);
        watcher.noted_ns = now;
        at++;
    }
    note_work(&found);
}

/* What holders of locks do until then is what threads wait for. */
static void look_at_holders(void)
{
    const uint64_t ns = hp_lock_holders_pause_ns();
    if (ns > 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
    hp_lock_holders_look();
}

/* Called with the lock held; releases it while waiting. */
static void pause_until(uint32_t period_us)
{
    const uint64_t until = hp_clock_monotonic_ns() + period_us * UINT64_C(1000);
    const struct timespec limit = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    while (!watcher.is_over && !watcher.is_asked)
        if (pthread_cond_timedwait(&watcher.news, &watcher.lock, &limit) == ETIMEDOUT)
            break;
}

static void *watch_run(void *context)
{
    (void)context;
    const uint64_t began = hp_clock_monotonic_ns();
    hp_work_begin(&watcher.work, began);
    pthread_mutex_lock(&watcher.lock);
    while (!watcher.is_over) {
        watcher.is_asked = false;
        pthread_mutex_unlock(&watcher.lock);
        hp_free_cpus_look();
        look_at_all();
        look_at_holders();
        pthread_mutex_lock(&watcher.lock);
        pthread_cond_broadcast(&watcher.looked);
        pause_until(hp_proc_sampler_period_us(hp_clock_thread_ns(), hp_clock_monotonic_ns() - began));
    }
    pthread_mutex_unlock(&watcher.lock);
    if (watcher.settings.has_waits) {
        scan(); /* for those that came after the last scan */
        hp_process_table_look();
        note_work(&(struct hp_work_found){0});
        write_work();
    }
    while (watcher.count > 0)
        end_process(watcher.count - 1);
    hp_lock_holders_free();
    hp_free_cpus_end();
    return NULL;
}

static bool prepare(void)
{
    pthread_condattr_t monotonic;
    const bool is_ready =
        pthread_condattr_init(&monotonic) == 0 && pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
        pthread_cond_init(&watcher.news, &monotonic) == 0 && pthread_cond_init(&watcher.looked, &monotonic) == 0;
    watcher.files = MOST_FILES;
    watcher.pid_namespace = hp_process_namespace();
    watcher.confinement = hp_task_confinement((uint32_t)getpid());
    return is_ready;
}

/* All signals are blocked here: they are for the thread that waits for the program. */
void hp_run_observer_start(const char *folder, const struct hp_run_observer_settings *settings)
{
    if (strlen(folder) >= sizeof watcher.folder || !prepare())
        return;
    memcpy(watcher.folder, folder, strlen(folder) + 1);
    watcher.settings = *settings;
    if (settings->has_locks)
        hp_free_cpus_begin(folder);
    watcher.is_started = hp_quiet_thread_start(&watcher.thread, watch_run);
}

void hp_run_observer_sample_now(void)
{
    if (!watcher.is_started)
        return;
    const uint64_t until = hp_clock_monotonic_ns() + PATIENCE_NS;
    const struct timespec limit = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_mutex_lock(&watcher.lock);
    watcher.is_asked = true;
    pthread_cond_signal(&watcher.news);
    /* The sampling round under way may have begun too early: the round after it clears the request. */
    while (watcher.is_asked && pthread_cond_timedwait(&watcher.looked, &watcher.lock, &limit) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&watcher.lock);
}

void hp_run_observer_end(void)
{
    if (!watcher.is_started)
        return;
    pthread_mutex_lock(&watcher.lock);
    watcher.is_over = true;
    pthread_cond_signal(&watcher.news);
    pthread_mutex_unlock(&watcher.lock);
    hp_quiet_thread_stop(&watcher.thread);
    watcher.is_started = false;
}
