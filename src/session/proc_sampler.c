/*
 * Sampling what threads wait for.
 *
 * The kernel's numbers for a thread (schedstat: time on a CPU, time ready to run, number of times it began to run)
 * are exact while it waits; while it runs, the first lags behind by up to a tick. The rest of the time it waited.
 * Waiting time is computed from the start, so that a lag at one look is made up at the next, and is credited only
 * when the thread is found waiting. A thread that has not run since the last look still waits for the same, in the
 * same zone: then only schedstat is read.
 *
 * Between two looks a thread may wait for many things. All of it is credited to the one that it is found in: what
 * takes long is found often. SPDX-License-Identifier: MIT
 */
#include "proc_sampler.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "process.h"
#include "sys.h"
#include "task_files.h"

#define MOST_WHATS 24u      /* per call and place; further ones share an entry */
#define MOST_RECORDS 65536u /* plausible maximum of threads in a session */
#define MOST_FRAMES (1u << 18)
#define KERNEL_HZ 100u     /* unit of the kernel's start times of threads, on every machine */
#define RUNNING_WINDOW 16u /* looks */
#define NO_ENTRY (-1)
#define NO_PLACE (-2)

/* --------------------------------------------------------------------------------- the kernel's files */

/* A thread's schedstat. */
struct account {
    uint64_t ran, ready, slices;
};

static void keep_open(const struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    char path[HP_TASK_PATH];
    if (watch->target.files == NULL || *watch->target.files == 0)
        return;
    thread->file = hp_sys_open(hp_task_path(path, watch->target.pid, thread->tid, "schedstat"), O_RDONLY, 0);
    if (thread->file >= 0)
        --*watch->target.files;
}

static void let_close(const struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    if (thread->file < 0)
        return;
    hp_sys_close(thread->file);
    thread->file = -1;
    ++*watch->target.files;
}

static bool read_account(const struct hp_proc_sampler *watch, const struct hp_watched *thread,
                         struct account *ret_account)
{
    char text[96];
    if (thread->file >= 0) {
        const ssize_t length = hp_sys_pread(thread->file, text, sizeof text - 1, 0);
        if (length <= 0)
            return false;
        text[length] = '\0';
    } else if (!hp_task_read(watch->target.pid, thread->tid, "schedstat", text, sizeof text)) {
        return false;
    }
    const char *at = text;
    ret_account->ran = hp_task_number(&at);
    ret_account->ready = hp_task_number(&at);
    ret_account->slices = hp_task_number(&at);
    return true;
}

/* ---------------------------------------------------------------------------------------- place of a wait */

static bool read_session(struct hp_proc_sampler *watch, uint64_t offset, void *to, size_t bytes)
{
    return offset >= HP_HEADER_BYTES && offset + bytes <= UINT32_MAX &&
           watch->target.read(watch->target.context, (uint32_t)offset, to, bytes);
}

static bool is_record_of(struct hp_proc_sampler *watch, uint32_t offset, uint32_t tid, struct hp_thread *ret_record)
{
    return offset != 0 && offset % 8 == 0 && read_session(watch, offset, ret_record, sizeof *ret_record) &&
           ret_record->tid == tid && ret_record->state == HP_THREAD_LIVE;
}

/*
 * The part of the header that is read at each look. A record is linked before its thread is counted, so the count
 * is read first: then none of these is missed.
 */
static bool read_header(struct hp_proc_sampler *watch)
{
    struct hp_header header;
    const struct hp_proc_sampler_target *target = &watch->target;
    uint32_t seen;
    if (!target->read(target->context, offsetof(struct hp_header, threads_seen), &seen, sizeof seen) ||
        !target->read(target->context, 0, &header, offsetof(struct hp_header, losses)) ||
        header.state != HP_STATE_LIVE)
        return false;
    watch->threads_seen = seen;
    watch->first_record = header.threads;
    return true;
}

/* Newer records come first, and a thread's record is older than those of its signal handlers. */
static bool find_record(struct hp_proc_sampler *watch, struct hp_watched *thread, struct hp_thread *ret_record)
{
    struct hp_thread record;
    uint32_t steps = 0;
    if (is_record_of(watch, thread->record, thread->tid, ret_record))
        return true;
    thread->record = 0;
    /* It may have started since the header was read. */
    if (thread->seen_without == watch->threads_seen || !read_header(watch))
        return false;
    for (uint32_t at = watch->first_record; at != 0 && at % 8 == 0 && steps < MOST_RECORDS; steps++) {
        if (!read_session(watch, at, &record, sizeof record))
            break;
        if (record.tid == thread->tid && record.state == HP_THREAD_LIVE) {
            thread->record = at;
            *ret_record = record;
        }
        at = record.next;
    }
    return thread->record != 0;
}

static struct hp_watched *thread_of(struct hp_proc_sampler *watch, uint32_t tid)
{
    uint32_t at = 0;
    while (at < watch->thread_count && watch->threads[at].tid != tid)
        at++;
    return at < watch->thread_count ? &watch->threads[at] : NULL;
}

/* Finds the records of all threads at once; as above, the older one counts. */
static void find_records(struct hp_proc_sampler *watch)
{
    struct hp_thread record;
    uint32_t steps = 0;
    if (watch->records_seen == watch->threads_seen || !read_header(watch))
        return;
    watch->records_seen = watch->threads_seen;
    for (uint32_t at = watch->first_record; at != 0 && at % 8 == 0 && steps < MOST_RECORDS; steps++) {
        if (!read_session(watch, at, &record, sizeof record))
            return;
        struct hp_watched *thread = record.state == HP_THREAD_LIVE ? thread_of(watch, record.tid) : NULL;
        if (thread != NULL)
            thread->record = at;
        at = record.next;
    }
}

/* The node of a frame; 0: not open. */
static uint32_t node_of_frame(struct hp_proc_sampler *watch, const struct hp_thread *record, uint32_t index)
{
    struct hotpath_frame_ frame;
    const uint64_t offset = (uint64_t)record->frames + (uint64_t)index * sizeof frame;
    if (index >= record->frame_capacity || index >= MOST_FRAMES || record->frames % 8 != 0 ||
        !read_session(watch, offset, &frame, sizeof frame) || frame.zone == 0)
        return 0;
    return frame.node;
}

/* Open frames come first: their end is found by exponential search, then bisection. */
static uint32_t innermost_node(struct hp_proc_sampler *watch, const struct hp_thread *record)
{
    uint32_t low = 0, high = 1, node = record->root;
    for (uint32_t found; (found = node_of_frame(watch, record, high)) != 0; high *= 2) {
        low = high;
        node = found;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2, found = node_of_frame(watch, record, middle);
        if (found != 0) {
            low = middle;
            node = found;
        } else {
            high = middle;
        }
    }
    return node;
}

/* A node that cannot be read has the site of <other>. */
static uint32_t site_of(struct hp_proc_sampler *watch, uint32_t node)
{
    uint32_t site = HP_SITE_OTHER;
    if (node != 0 && node % 8 == 0)
        read_session(watch, (uint64_t)node + offsetof(struct hotpath_node_, site), &site, sizeof site);
    return site;
}

/* The thread's place by its session: sets its node, 0 if it has none, and the node's site. */
static void find_node(struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    struct hp_thread record;
    const uint32_t node = find_record(watch, thread, &record) ? innermost_node(watch, &record) : 0;
    if (node != thread->node)
        thread->site = site_of(watch, node);
    thread->node = node;
    thread->seen_without = node == 0 ? watch->threads_seen : UINT32_MAX;
}

/* For the listener. */
static uint32_t zone_of(const struct hp_watched *thread)
{
    return thread->node != 0 && thread->site < HP_MAX_SITES ? thread->site + 1 : 0;
}

/* The place of another thread: a node and its site, or zeros. */
struct place {
    uint32_t node, site;
};

/* Only remembers its record for the next time: the thread itself is looked at in its turn. */
static struct place place_of(struct hp_proc_sampler *watch, uint32_t tid)
{
    for (uint32_t at = 0; tid != 0 && at < watch->thread_count; at++) {
        struct hp_watched *thread = &watch->threads[at];
        if (thread->tid != tid)
            continue;
        struct hp_watched there = *thread;
        find_node(watch, &there);
        thread->record = there.record;
        return (struct place){there.node, there.node != 0 ? there.site : 0};
    }
    return (struct place){0, 0};
}

/* ---------------------------------------------------------------------------------------------- entries */

static bool is_entry(const struct hp_proc_sampler *watch, uint32_t at, const struct hp_watched *thread,
                     const struct hp_wait_found *finding, struct place other)
{
    const struct hp_wait *entry = &watch->entries[at];
    const bool is_there =
        thread->node == 0 ? entry->node == 0 : entry->node != 0 && watch->sites[at] == thread->site;
    const bool is_for =
        other.node == 0 ? entry->other == 0 : entry->other != 0 && watch->other_sites[at] == other.site;
    return is_there && is_for && entry->cause == finding->cause && entry->call == finding->call;
}

/*
 * The entry for this wait at the thread's place, made if missing; beyond a number of files they share one.
 * NO_PLACE: all are taken.
 */
static int32_t entry_for(struct hp_proc_sampler *watch, const struct hp_watched *thread,
                         const struct hp_wait_found *finding, struct place other)
{
    static const char others[sizeof finding->what] = "(others)";
    const char *what = finding->what;
    uint32_t whats = 0;
    for (uint32_t at = 0; at < watch->sums.used; at++) {
        const struct hp_wait *entry = &watch->entries[at];
        if (!is_entry(watch, at, thread, finding, other))
            continue;
        if (memcmp(entry->what, what, sizeof entry->what) == 0)
            return (int32_t)at;
        if (++whats >= MOST_WHATS && memcmp(entry->what, others, sizeof entry->what) == 0)
            return (int32_t)at;
    }
    if (whats >= MOST_WHATS)
        what = others;
    if (watch->sums.used >= watch->capacity)
        return NO_PLACE;
    struct hp_wait *entry = &watch->entries[watch->sums.used];
    *entry =
        (struct hp_wait){.node = thread->node, .cause = finding->cause, .call = finding->call, .other = other.node};
    memcpy(entry->what, what, sizeof entry->what);
    watch->sites[watch->sums.used] = thread->site;
    watch->other_sites[watch->sums.used] = other.site;
    watch->is_changed[watch->sums.used] = true;
    return (int32_t)watch->sums.used++;
}

static void add_to(uint64_t *sum, int64_t ns) { *sum = ns < 0 && (uint64_t)-ns > *sum ? 0 : *sum + (uint64_t)ns; }

/* Adds to an entry and to the waits of its thread; negative: takes back. */
static void credit(struct hp_proc_sampler *watch, struct hp_watched *thread, int32_t at, int64_t ns, uint32_t looks)
{
    if (at == NO_PLACE)
        add_to(&watch->sums.left_out_ns, ns);
    if (at < 0)
        return;
    struct hp_wait *entry = &watch->entries[at];
    add_to(&entry->ns, ns);
    entry->looks += looks;
    if (entry->beside_ns > entry->ns)
        entry->beside_ns = entry->ns;
    watch->is_changed[at] = true;
    hp_crew_wait(&thread->crew, entry->cause, ns);
}

/* -------------------------------------------------------------------------------------------- a thread */

/*
 * Its waiting time since it is observed. While it runs, this may be too large by what the kernel has not counted
 * yet.
 */
static int64_t waited(const struct hp_watched *thread)
{
    return (int64_t)(thread->looked_ns - thread->since_ns) - (int64_t)(thread->ran - thread->ran_before) -
           (int64_t)(thread->ready - thread->ready_before);
}

static bool has_idleness(const struct hp_proc_sampler *watch, const struct hp_watched *thread,
                         enum hp_idleness idleness)
{
    return thread->entry >= 0 && hp_wait_idleness(watch->entries[thread->entry].cause) == idleness;
}

/* For the listener, which is told when the wait is over. */
static void credit_listener(const struct hp_proc_sampler *watch, struct hp_watched *thread, int64_t ns)
{
    thread->wait_ns += ns;
    if (has_idleness(watch, thread, HP_IDLE_ALWAYS))
        thread->wait_idle_ns += ns;
}

static uint64_t at_least_none(int64_t ns) { return ns > 0 ? (uint64_t)ns : 0; }

static void end_listening(const struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    const struct hp_wait_listener *listener = watch->target.listener;
    if (thread->wait != 0)
        listener->end(listener->context, thread->wait, at_least_none(thread->wait_ns),
                      at_least_none(thread->wait_idle_ns));
    thread->wait = 0;
    thread->wait_ns = thread->wait_idle_ns = 0;
}

static void credit_waiting(struct hp_proc_sampler *watch, struct hp_watched *thread, uint32_t looks)
{
    const int64_t pending = waited(thread) - thread->settled;
    const int64_t ns = pending > 0 ? pending : 0;
    credit(watch, thread, thread->entry, ns, looks);
    thread->settled += ns;
    thread->of_this_wait += ns;
    thread->of_this_look += ns;
    credit_listener(watch, thread, ns);
}

/*
 * What appeared to be waiting was time ready to run, which the kernel counts only when the thread begins to run: it
 * was woken before the last look.
 */
static void take_back(struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    const int64_t excess = thread->settled - waited(thread);
    const int64_t ns = excess < thread->of_this_wait ? excess : thread->of_this_wait;
    if (ns <= 0)
        return;
    credit(watch, thread, thread->entry, -ns, 0);
    thread->settled -= ns;
    thread->of_this_wait -= ns;
    credit_listener(watch, thread, -ns);
}

static bool has_been_ready(const struct hp_watched *thread)
{
    return thread->ready - thread->ready_before > thread->settled_ready;
}

static void credit_beside(struct hp_proc_sampler *watch, int32_t at, int64_t ns)
{
    if (at < 0)
        return;
    struct hp_wait *entry = &watch->entries[at];
    add_to(&entry->beside_ns, ns);
    if (entry->beside_ns > entry->ns)
        entry->beside_ns = entry->ns;
    watch->is_changed[at] = true;
}

/* Whether what it was found waiting for is idle. */
static bool is_idle(const struct hp_proc_sampler *watch, const struct hp_watched *thread)
{
    if (!thread->is_waiting || thread->entry < 0)
        return false;
    const enum hp_idleness idleness = hp_wait_idleness(watch->entries[thread->entry].cause);
    return idleness == HP_IDLE_ALWAYS || (idleness == HP_IDLE_BESIDE_WORK && thread->is_beside);
}

/* Time ready to run is credited to the thread's last known place. */
static void credit_ready(struct hp_proc_sampler *watch, struct hp_watched *thread, uint32_t looks)
{
    static const struct hp_wait_found finding = {.cause = HP_WAIT_RUN_QUEUE, .call = -1};
    const uint64_t ready = thread->ready - thread->ready_before;
    if (!has_been_ready(thread))
        return;
    const int64_t ns = (int64_t)(ready - thread->settled_ready);
    const int32_t at = entry_for(watch, thread, &finding, (struct place){0, 0});
    credit(watch, thread, at, ns, looks);
    if (is_idle(watch, thread))
        credit_beside(watch, at, ns);
    thread->settled_ready = ready;
}

/* For a thread that only runs, the rest is not waiting either, but time taken by interrupts or a hypervisor. */
static void settle_running(struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    const int64_t so_far = waited(thread);
    if (thread->running_looks++ == 0) {
        thread->running_floor = so_far;
        thread->running_switches = hp_task_switches(watch->target.pid, thread->tid);
    }
    if (so_far < thread->running_floor)
        thread->running_floor = so_far;
    if (thread->running_looks < RUNNING_WINDOW)
        return;
    if (thread->running_switches != UINT64_MAX &&
        hp_task_switches(watch->target.pid, thread->tid) == thread->running_switches &&
        thread->running_floor > thread->settled)
        thread->settled = thread->running_floor;
    thread->running_looks = 0;
}

static bool was_stopped(const struct hp_proc_sampler *watch, const struct hp_watched *thread)
{
    return thread->entry >= 0 && watch->entries[thread->entry].cause == HP_WAIT_STOPPED;
}

/*
 * It has run since the last look. Its waiting time before that is known only if the wait was all it did. A thread
 * that was found waiting became ready to run because that wait was over: this time belongs to the function that
 * waited, not to what came after.
 */
static void end_wait(struct hp_proc_sampler *watch, struct hp_watched *thread, bool is_running,
                     uint64_t slices_before)
{
    if (thread->is_waiting && ((is_running && thread->slices == slices_before + 1) || was_stopped(watch, thread)))
        credit_waiting(watch, thread, 0);
    take_back(watch, thread);
    if (thread->is_waiting)
        credit_ready(watch, thread, 0);
    thread->is_waiting = false;
}

static void look_at_running(struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    if (has_been_ready(thread)) {
        find_node(watch, thread);
        credit_ready(watch, thread, 1);
    }
    settle_running(watch, thread);
}

static void look_at_waiting(struct hp_proc_sampler *watch, struct hp_watched *thread, char state)
{
    struct hp_wait_found finding;
    struct account again;
    const bool is_found = hp_wait_find(&watch->finder, thread->tid, state, &finding);
    const struct hp_wait_listener *listener = watch->target.listener;
    if (is_found)
        find_node(watch, thread);
    if (is_found && listener != NULL)
        listener->take(listener->context, watch->target.pid, thread->tid, zone_of(thread), &finding);
    /* If it has run meanwhile, cause and place do not belong together. */
    if (!is_found || !read_account(watch, thread, &again) || again.slices != thread->slices)
        return;
    end_listening(watch, thread);
    if (listener != NULL)
        thread->wait = listener->keep(listener->context);
    thread->other = finding.thread;
    thread->entry = entry_for(watch, thread, &finding, place_of(watch, finding.thread));
    thread->of_this_wait = 0;
    thread->is_waiting = true;
    thread->running_looks = 0;
    credit_waiting(watch, thread, 1);
}

/* What an entry is about, besides its place. */
static struct hp_wait_found finding_of(const struct hp_wait *entry)
{
    struct hp_wait_found finding = {.cause = entry->cause, .call = entry->call};
    memcpy(finding.what, entry->what, sizeof finding.what);
    return finding;
}

/*
 * It still waits for the same, but its target moves: a thread to another function, a child to another program. From
 * here on it waits for that.
 */
static void follow(struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    struct hp_wait_found finding;
    if (thread->entry < 0)
        return;
    const bool is_for_child = watch->entries[thread->entry].cause == HP_WAIT_CHILD;
    if (thread->other == 0 && !is_for_child)
        return;
    if (!is_for_child)
        finding = finding_of(&watch->entries[thread->entry]);
    else if (!hp_wait_find(&watch->finder, thread->tid, 'S', &finding) || finding.cause != HP_WAIT_CHILD)
        return;
    const int32_t now = entry_for(watch, thread, &finding, place_of(watch, thread->other));
    if (now != thread->entry)
        thread->of_this_wait = 0;
    thread->entry = now;
}

/*
 * It still waits, and was not found in the session. If the session has seen more threads since, it may be among
 * them; as it has not run, it has been at that place during all of this wait.
 */
static void find_late(struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    const int32_t before = thread->entry;
    if (thread->node != 0 || thread->seen_without == watch->threads_seen || before < 0)
        return;
    find_node(watch, thread);
    if (thread->node == 0)
        return;
    const struct hp_wait_found finding = finding_of(&watch->entries[before]);
    thread->entry = entry_for(watch, thread, &finding, place_of(watch, thread->other));
    credit(watch, thread, before, -thread->of_this_wait, 0);
    credit(watch, thread, thread->entry, thread->of_this_wait, 0);
}

/* Its start by CLOCK_MONOTONIC; an upper bound, since the kernel's unit is coarse. */
static uint64_t began_ns(uint64_t start, uint64_t now)
{
    const uint64_t now_boot = hp_clock_boot_ns();
    const uint64_t latest = (start + 1) * (1000000000u / KERNEL_HZ);
    const uint64_t age = now_boot > latest ? now_boot - latest : 0;
    return age < now ? now - age : now;
}

/* A thread that was not there at the last look is observed from its start, any other from now on. */
static void begin_thread(const struct hp_proc_sampler *watch, struct hp_watched *thread, uint64_t start,
                         const struct account *account, uint64_t now)
{
    const uint64_t began = began_ns(start, now);
    thread->began_ns = account->ran < now && began > now - account->ran ? now - account->ran : began;
    thread->since_ns = now;
    thread->ran_before = account->ran;
    thread->ready_before = account->ready;
    if (watch->round > 1 && began >= watch->round_ns) {
        const uint64_t busy = account->ran + account->ready;
        thread->since_ns = began + busy > now && busy < now ? now - busy : began;
        thread->ran_before = thread->ready_before = 0;
    }
    thread->looked_ns = thread->since_ns;
}

/* False: it is gone. */
static bool look_at(struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    struct account account;
    uint64_t start = 0;
    if (!read_account(watch, thread, &account))
        return false;
    const uint64_t now = hp_clock_monotonic_ns();
    const bool is_new = thread->since_ns == 0;
    const bool is_still = thread->is_waiting && account.slices == thread->slices && account.ran == thread->ran;
    const char state = is_still ? 'S' : hp_task_state(watch->target.pid, thread->tid, &start);
    if (state == 'X' || state == 'Z')
        return false;
    if (is_new)
        begin_thread(watch, thread, start, &account, now);
    const uint64_t slices_before = thread->slices, passed = now - thread->looked_ns;
    const bool is_busy = state == 'R' || 2 * (account.ran - thread->ran) > passed;
    watch->sums.looks++;
    watch->sums.latest_ns = now;
    watch->sums.watched_ns += passed;
    thread->looked_ns = now;
    thread->of_this_look = 0;
    thread->is_at_work = is_new ? state == 'R' : is_busy;
    thread->ran = account.ran;
    thread->ready = account.ready;
    thread->slices = account.slices;
    if (is_still) {
        find_late(watch, thread);
        follow(watch, thread);
        credit_waiting(watch, thread, 1);
        return true;
    }
    end_wait(watch, thread, state == 'R', slices_before);
    if (state == 'R')
        look_at_running(watch, thread);
    else
        look_at_waiting(watch, thread, state);
    return true;
}

/* Its readings besides waiting. */
static struct hp_crew_seen seen_of(const struct hp_watched *thread)
{
    return (struct hp_crew_seen){thread->tid, thread->ran, thread->slices, thread->began_ns, thread->looked_ns};
}

/* Credits the rest to its last known place. */
static void end_thread(struct hp_proc_sampler *watch, struct hp_watched *thread)
{
    const struct hp_crew_seen seen = seen_of(thread);
    if (thread->since_ns != 0) {
        take_back(watch, thread);
        credit_waiting(watch, thread, 0);
        credit_ready(watch, thread, 0);
    }
    hp_crew_part(&watch->crew, &thread->crew, &seen);
    end_listening(watch, thread);
    let_close(watch, thread);
}

/* --------------------------------------------------------------------------------------------- a process */

/* Threads come in the same order each time, so the next one is at the same index as before, or after it. */
static struct hp_watched *watched(struct hp_proc_sampler *watch, uint32_t tid)
{
    for (uint32_t step = 0; step < watch->thread_count; step++) {
        const uint32_t at = (watch->hint + step) % watch->thread_count;
        if (watch->threads[at].tid == tid) {
            watch->hint = at + 1;
            return &watch->threads[at];
        }
    }
    if (watch->thread_count == HP_WATCH_THREADS) {
        watch->left_alone++;
        return NULL;
    }
    struct hp_watched *thread = &watch->threads[watch->thread_count++];
    *thread = (struct hp_watched){.tid = tid, .file = -1, .entry = NO_ENTRY, .seen_without = UINT32_MAX};
    keep_open(watch, thread);
    return thread;
}

static void visit_task(const char *name, void *context)
{
    struct hp_proc_sampler *watch = context;
    const uint64_t tid = hp_task_number(&name);
    if (tid == 0 || tid > INT32_MAX || tid == watch->target.left_out)
        return;
    struct hp_watched *thread = watched(watch, (uint32_t)tid);
    if (thread != NULL)
        thread->round = watch->round;
}

static void drop_gone(struct hp_proc_sampler *watch)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < watch->thread_count; at++) {
        struct hp_watched *thread = &watch->threads[at];
        if (thread->round != watch->round || !look_at(watch, thread))
            end_thread(watch, thread);
        else
            watch->threads[kept++] = *thread;
    }
    watch->thread_count = kept;
}

/* Waits that nobody in the run could shorten. */
static bool waits_for_outsiders(const struct hp_proc_sampler *watch, const struct hp_watched *thread)
{
    if (!thread->is_waiting || thread->entry < 0)
        return false;
    switch (watch->entries[thread->entry].cause) {
    case HP_WAIT_DISK:
    case HP_WAIT_SOCKET:
    case HP_WAIT_FAULT:
        return true;
    default:
        return false;
    }
}

/* After all threads were looked at: marks those that waited while another thread worked. */
static void note_work(struct hp_proc_sampler *watch)
{
    uint32_t at_work = 0;
    for (uint32_t at = 0; at < watch->thread_count; at++) {
        struct hp_watched *thread = &watch->threads[at];
        thread->is_at_work |= waits_for_outsiders(watch, thread);
        at_work += thread->is_at_work;
    }
    watch->at_work = at_work;
    at_work += watch->target.at_work != NULL ? *watch->target.at_work : 0;
    for (uint32_t at = 0; at < watch->thread_count; at++) {
        struct hp_watched *thread = &watch->threads[at];
        thread->is_beside = at_work > thread->is_at_work;
        if (thread->is_waiting && thread->is_beside && thread->of_this_look > 0)
            credit_beside(watch, thread->entry, thread->of_this_look);
        if (thread->is_waiting && thread->is_beside && has_idleness(watch, thread, HP_IDLE_BESIDE_WORK))
            thread->wait_idle_ns += thread->of_this_look;
    }
}

/* Whether a record must be looked for: the thread is new, or has none yet. */
static bool lacks_record(const struct hp_proc_sampler *watch, const struct hp_watched *thread)
{
    return thread->record == 0 && hp_crew_wants(&watch->crew, &thread->crew);
}

/* What threads use, if that is due. */
static bool look_at_crew(struct hp_proc_sampler *watch, uint64_t now)
{
    bool lacks_any = false;
    hp_crew_look_begin(&watch->crew, now);
    for (uint32_t at = 0; at < watch->thread_count; at++)
        lacks_any |= lacks_record(watch, &watch->threads[at]);
    if (lacks_any)
        find_records(watch);
    for (uint32_t at = 0; at < watch->thread_count; at++) {
        struct hp_watched *thread = &watch->threads[at];
        const struct hp_crew_seen seen = seen_of(thread);
        hp_crew_look_at(&watch->crew, &thread->crew, &seen, thread->record);
    }
    return hp_crew_look_end(&watch->crew, watch->thread_count + watch->left_alone, now);
}

/* Writes changes into the session: entries first, then their number. */
static bool write_back(struct hp_proc_sampler *watch)
{
    const struct hp_proc_sampler_target *target = &watch->target;
    for (uint32_t at = 0; at < watch->sums.used; at++) {
        if (!watch->is_changed[at])
            continue;
        const size_t offset = watch->at + sizeof(struct hp_waits) + at * sizeof(struct hp_wait);
        if (!target->write(target->context, (uint32_t)offset, &watch->entries[at], sizeof watch->entries[at]))
            return false;
        watch->is_changed[at] = false;
    }
    return target->write(target->context, watch->at, &watch->sums, sizeof watch->sums);
}

/* After exec. Unknown for a process that has changed its privileges. */
static bool is_another_program(const struct hp_proc_sampler *watch)
{
    const uint64_t executable = hp_task_executable(watch->target.pid);
    return executable != 0 && executable != watch->executable;
}

/* The mean time between two looks. */
static void note_period(struct hp_proc_sampler *watch, uint64_t now)
{
    if (watch->round == 1)
        watch->first_ns = now;
    else
        watch->sums.period_us = (uint32_t)((now - watch->first_ns) / 1000 / (watch->round - 1));
}

bool hp_proc_sample(struct hp_proc_sampler *watch)
{
    char path[HP_TASK_PATH];
    const uint64_t now = hp_clock_monotonic_ns();
    watch->round++;
    watch->hint = 0;
    watch->left_alone = 0;
    if (!read_header(watch) || is_another_program(watch))
        return false;
    hp_file_each(hp_task_path(path, watch->target.pid, 0, "task"), visit_task, watch);
    if (watch->left_alone > watch->sums.unwatched)
        watch->sums.unwatched = watch->left_alone;
    drop_gone(watch);
    note_work(watch);
    note_period(watch, now);
    watch->round_ns = now;
    return watch->thread_count > 0 && look_at_crew(watch, now) && write_back(watch);
}

static bool is_watched_by_another(uint32_t watcher)
{
    return watcher != 0 && watcher != hp_sys_process_id() && hp_process_exists(watcher);
}

/* Continues what an earlier observer left. */
static bool read_entries(struct hp_proc_sampler *watch)
{
    const uint64_t end = (uint64_t)watch->at + sizeof watch->sums;
    if (watch->sums.used > watch->capacity)
        return false;
    if (watch->sums.used > 0 &&
        !read_session(watch, end, watch->entries, watch->sums.used * sizeof watch->entries[0]))
        return false;
    for (uint32_t at = 0; at < watch->sums.used; at++) {
        watch->sites[at] = site_of(watch, watch->entries[at].node);
        watch->other_sites[at] = site_of(watch, watch->entries[at].other);
    }
    return true;
}

bool hp_proc_sampler_begin(struct hp_proc_sampler *watch, const struct hp_proc_sampler_target *target)
{
    struct hp_header header;
    memset(watch, 0, sizeof *watch);
    watch->target = *target;
    watch->finder.pid = target->pid;
    if (!target->read(target->context, 0, &header, sizeof header) || header.pid != target->pid ||
        header.waits == 0 || header.waits % 8 != 0 ||
        !read_session(watch, header.waits, &watch->sums, sizeof watch->sums) || watch->sums.capacity == 0 ||
        is_watched_by_another(watch->sums.watcher))
        return false;
    watch->at = header.waits;
    watch->capacity = watch->sums.capacity < HP_WATCH_ENTRIES ? watch->sums.capacity : HP_WATCH_ENTRIES;
    const uint64_t end = (uint64_t)watch->at + sizeof watch->sums + watch->capacity * sizeof watch->entries[0];
    if (end > UINT32_MAX || !read_entries(watch))
        return false;
    watch->executable = hp_task_executable(target->pid);
    watch->sums.watcher = hp_sys_process_id();
    watch->sums.period_us = HP_WATCH_PERIOD_US;
    watch->crew.pid = target->pid;
    watch->crew.read = target->read;
    watch->crew.write = target->write;
    watch->crew.context = target->context;
    hp_crew_begin(&watch->crew, header.crew);
    return true;
}

void hp_proc_sampler_end(struct hp_proc_sampler *watch)
{
    for (uint32_t at = 0; at < watch->thread_count; at++)
        end_thread(watch, &watch->threads[at]);
    watch->thread_count = 0;
    hp_crew_write(&watch->crew);
    write_back(watch);
}

uint32_t hp_proc_sampler_period_us(uint64_t spent_ns, uint64_t elapsed_ns)
{
    const uint64_t counted_ns = spent_ns > HP_WATCH_HEAD_START_NS ? spent_ns - HP_WATCH_HEAD_START_NS : 0;
    const uint64_t wanted_us = counted_ns / 10; /* of which it is 1/100 */
    const uint64_t elapsed_us = elapsed_ns / 1000;
    const uint64_t missing_us = wanted_us > elapsed_us ? wanted_us - elapsed_us : 0;
    if (missing_us >= HP_WATCH_LONGEST_PERIOD_US)
        return HP_WATCH_LONGEST_PERIOD_US;
    return missing_us > HP_WATCH_PERIOD_US ? (uint32_t)missing_us : HP_WATCH_PERIOD_US;
}

void hp_proc_sampler_note(struct hp_proc_sampler *watch, uint64_t look_ns) { watch->sums.watcher_ns += look_ns; }
