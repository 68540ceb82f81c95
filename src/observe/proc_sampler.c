/*
 * Sampling what threads wait for.
 *
 * The kernel's numbers for a thread (schedstat: time on a CPU, time ready to run, number of times it began to run)
 * are exact while it waits; while it runs, the first lags behind by up to a tick. The rest of the time it waited.
 * Waiting time is computed from the start, so that a lag at one sample is made up at the next, and is credited only
 * when the thread is found waiting. A thread that has not run since the last sample still waits for the same, in
 * the same zone: then only schedstat is read.
 *
 * Between two samples a thread may wait for many things. All of it is credited to the one that it is found in: what
 * takes long is found often. If there were only two, each gets half. SPDX-License-Identifier: MIT
 */
#include "proc_sampler.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arith.h"
#include "axis.h"
#include "clock.h"
#include "files.h"
#include "process.h"
#include "raw_call.h"

/* ----------------------------------------------------------------------------------------- where a thread waits */

/*
 * The innermost open zone of its record in the session, which another process may write at
 * the same time. Every offset is checked.
 */
/* The place of another thread: a node and its site, or zeros. */
struct hp_wait_place {
    uint32_t node, site;
};

#define MOST_RECORDS 65536u /* plausible maximum of threads in a session */
#define MOST_FRAMES (1u << 18)

/* False: outside of the session. */
static bool wait_place_read(struct hp_proc_sampler *sampler, uint64_t offset, void *to, size_t bytes)
{
    return offset >= HP_HEADER_BYTES && offset + bytes <= UINT32_MAX &&
           sampler->target.read(sampler->target.context, (uint32_t)offset, to, bytes);
}

static bool is_record_of(struct hp_proc_sampler *sampler, uint32_t offset, uint32_t tid,
                         struct hp_thread *ret_record)
{
    return offset != 0 && offset % 8 == 0 && wait_place_read(sampler, offset, ret_record, sizeof *ret_record) &&
           ret_record->tid == tid && ret_record->state == HP_THREAD_LIVE;
}

/*
 * False: the session is over. * The part of the header that is read at each sample. A record is linked before its
 * thread is counted, so the count is read first: then none of these is missed.
 */
static bool wait_place_read_header(struct hp_proc_sampler *sampler)
{
    struct hp_header header;
    const struct hp_proc_sampler_target *target = &sampler->target;
    uint32_t seen;
    if (!target->read(target->context, offsetof(struct hp_header, threads_seen), &seen, sizeof seen) ||
        !target->read(target->context, 0, &header, offsetof(struct hp_header, losses)) ||
        header.state != HP_STATE_LIVE)
        return false;
    sampler->threads_seen = seen;
    sampler->first_record = header.threads;
    return true;
}

/* Newer records come first, and a thread's record is older than those of its signal handlers. */
static bool find_record(struct hp_proc_sampler *sampler, struct hp_watched *thread, struct hp_thread *ret_record)
{
    struct hp_thread record;
    uint32_t steps = 0;
    if (is_record_of(sampler, thread->record, thread->tid, ret_record))
        return true;
    thread->record = 0;
    /* It may have started since the header was read. */
    if (thread->seen_without == sampler->threads_seen || !wait_place_read_header(sampler))
        return false;
    for (uint32_t at = sampler->first_record; at != 0 && at % 8 == 0 && steps < MOST_RECORDS; steps++) {
        if (!wait_place_read(sampler, at, &record, sizeof record))
            break;
        if (record.tid == thread->tid && record.state == HP_THREAD_LIVE) {
            thread->record = at;
            *ret_record = record;
        }
        at = record.next;
    }
    return thread->record != 0;
}

static struct hp_watched *thread_of(struct hp_proc_sampler *sampler, uint32_t tid)
{
    uint32_t at = 0;
    while (at < sampler->thread_count && sampler->threads[at].tid != tid)
        at++;
    return at < sampler->thread_count ? &sampler->threads[at] : NULL;
}

/* Finds the records of all threads at once, if there are new ones. As above, the older one counts. */
static void wait_place_find_records(struct hp_proc_sampler *sampler)
{
    struct hp_thread record;
    uint32_t steps = 0;
    if (sampler->records_seen == sampler->threads_seen || !wait_place_read_header(sampler))
        return;
    sampler->records_seen = sampler->threads_seen;
    for (uint32_t at = sampler->first_record; at != 0 && at % 8 == 0 && steps < MOST_RECORDS; steps++) {
        if (!wait_place_read(sampler, at, &record, sizeof record))
            return;
        struct hp_watched *thread = record.state == HP_THREAD_LIVE ? thread_of(sampler, record.tid) : NULL;
        if (thread != NULL)
            thread->record = at;
        at = record.next;
    }
}

/* The node of a frame; 0: not open. */
static uint32_t node_of_frame(struct hp_proc_sampler *sampler, const struct hp_thread *record, uint32_t index)
{
    struct hotpath_frame_ frame;
    const uint64_t offset = (uint64_t)record->frames + (uint64_t)index * sizeof frame;
    if (index >= record->frame_capacity || index >= MOST_FRAMES || record->frames % 8 != 0 ||
        !wait_place_read(sampler, offset, &frame, sizeof frame) || frame.zone == 0)
        return 0;
    return frame.node;
}

/* Open frames come first: their end is found by exponential search, then bisection. */
static uint32_t innermost_node(struct hp_proc_sampler *sampler, const struct hp_thread *record)
{
    uint32_t low = 0, high = 1, node = record->root;
    for (uint32_t found; (found = node_of_frame(sampler, record, high)) != 0; high *= 2) {
        low = high;
        node = found;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2, found = node_of_frame(sampler, record, middle);
        if (found != 0) {
            low = middle;
            node = found;
        } else {
            high = middle;
        }
    }
    return node;
}

/* The site of a node; that of <other> if it cannot be read. */
static uint32_t wait_place_site(struct hp_proc_sampler *sampler, uint32_t node)
{
    uint32_t site = HP_SITE_OTHER;
    if (node != 0 && node % 8 == 0)
        wait_place_read(sampler, (uint64_t)node + offsetof(struct hotpath_node_, site), &site, sizeof site);
    return site;
}

/* Sets the thread's node, 0 if it has none, and the node's site. */
static void wait_place_find(struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    struct hp_thread record;
    const uint32_t node = find_record(sampler, thread, &record) ? innermost_node(sampler, &record) : 0;
    if (node != thread->node)
        thread->site = wait_place_site(sampler, node);
    thread->node = node;
    thread->seen_without = node == 0 ? sampler->threads_seen : UINT32_MAX;
}

/* For the listener: the site plus 1; 0: no zone is open. */
static uint32_t wait_place_zone(const struct hp_watched *thread)
{
    return thread->node != 0 && thread->site < HP_MAX_SITES ? thread->site + 1 : 0;
}

/*
 * The place of the thread `tid` of the same process. Only remembers its record for the next time: the thread
 * itself is looked at in its turn.
 */
static struct hp_wait_place wait_place_of(struct hp_proc_sampler *sampler, uint32_t tid)
{
    for (uint32_t at = 0; tid != 0 && at < sampler->thread_count; at++) {
        struct hp_watched *thread = &sampler->threads[at];
        if (thread->tid != tid)
            continue;
        struct hp_watched there = *thread;
        wait_place_find(sampler, &there);
        thread->record = there.record;
        return (struct hp_wait_place){there.node, there.node != 0 ? there.site : 0};
    }
    return (struct hp_wait_place){0, 0};
}

/* ---------------------------------------------------------------------------------------------------- schedstat */

/*
 * The kernel's numbers for a thread: /proc/PID/task/TID/schedstat. Its file stays open while the budget of the
 * sampler allows it, which saves a path lookup per sample.
 */
struct hp_account {
    uint64_t ran, ready, slices;
};

static void account_keep_open(const struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    char path[HP_TASK_PATH];
    if (sampler->target.files == NULL || *sampler->target.files == 0)
        return;
    thread->file = hp_sys_open(hp_task_path(path, sampler->target.pid, thread->tid, "schedstat"), O_RDONLY, 0);
    if (thread->file >= 0)
        --*sampler->target.files;
}

static void account_close(const struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    if (thread->file < 0)
        return;
    hp_sys_close(thread->file);
    thread->file = -1;
    ++*sampler->target.files;
}

/* False: the thread has ended. */
static bool account_read(const struct hp_proc_sampler *sampler, const struct hp_watched *thread,
                         struct hp_account *ret_account)
{
    char text[96];
    if (thread->file >= 0) {
        const ssize_t length = hp_sys_pread(thread->file, text, sizeof text - 1, 0);
        if (length <= 0)
            return false;
        text[length] = '\0';
    } else if (!hp_task_read(sampler->target.pid, thread->tid, "schedstat", text, sizeof text)) {
        return false;
    }
    const char *at = text;
    ret_account->ran = hp_task_number(&at);
    ret_account->ready = hp_task_number(&at);
    ret_account->slices = hp_task_number(&at);
    return true;
}

/* ------------------------------------------------------------------------------------------- the table of waits */

/*
 * The sampler's table of waits: one entry per place, cause, system call and what it was for. Threads share entries.
 */
#define HP_NO_ENTRY (-1)
#define HP_NO_ROOM (-2)

#define MOST_WHATS 24u /* per call and place; further ones share an entry */

static bool is_entry(const struct hp_proc_sampler *sampler, uint32_t at, const struct hp_watched *thread,
                     const struct hp_wait_found *finding, struct hp_wait_place other)
{
    const struct hp_wait *entry = &sampler->entries[at];
    const bool is_there =
        thread->node == 0 ? entry->node == 0 : entry->node != 0 && sampler->sites[at] == thread->site;
    const bool is_for =
        other.node == 0 ? entry->other == 0 : entry->other != 0 && sampler->other_sites[at] == other.site;
    return is_there && is_for && entry->cause == finding->cause && entry->call == finding->call;
}

/*
 * The entry for this wait at the thread's place, made if missing. HP_NO_ROOM: all are taken. Beyond a number of
 * files they share one.
 */
static int32_t wait_entry_for(struct hp_proc_sampler *sampler, const struct hp_watched *thread,
                              const struct hp_wait_found *finding, struct hp_wait_place other)
{
    static const char others[sizeof finding->what] = "(others)";
    const char *what = finding->what;
    uint32_t whats = 0;
    for (uint32_t at = 0; at < sampler->sums.used; at++) {
        const struct hp_wait *entry = &sampler->entries[at];
        if (!is_entry(sampler, at, thread, finding, other))
            continue;
        if (memcmp(entry->what, what, sizeof entry->what) == 0)
            return (int32_t)at;
        if (++whats >= MOST_WHATS && memcmp(entry->what, others, sizeof entry->what) == 0)
            return (int32_t)at;
    }
    if (whats >= MOST_WHATS)
        what = others;
    if (sampler->sums.used >= sampler->capacity)
        return HP_NO_ROOM;
    struct hp_wait *entry = &sampler->entries[sampler->sums.used];
    *entry =
        (struct hp_wait){.node = thread->node, .cause = finding->cause, .call = finding->call, .other = other.node};
    memcpy(entry->what, what, sizeof entry->what);
    sampler->sites[sampler->sums.used] = thread->site;
    sampler->other_sites[sampler->sums.used] = other.site;
    sampler->is_changed[sampler->sums.used] = true;
    return (int32_t)sampler->sums.used++;
}

/* Adds to a sum, which never becomes negative. */
static void wait_add(uint64_t *sum, int64_t ns) { *sum = ns < 0 && (uint64_t)-ns > *sum ? 0 : *sum + (uint64_t)ns; }

/* Adds to an entry and to the waits of its thread; negative: takes back. */
static void wait_credit(struct hp_proc_sampler *sampler, struct hp_watched *thread, int32_t at, int64_t ns,
                        uint32_t probes)
{
    if (at == HP_NO_ROOM)
        wait_add(&sampler->sums.left_out_ns, ns);
    if (at < 0)
        return;
    struct hp_wait *entry = &sampler->entries[at];
    wait_add(&entry->ns, ns);
    entry->probes += probes;
    if (entry->beside_ns > entry->ns)
        entry->beside_ns = entry->ns;
    sampler->is_changed[at] = true;
    hp_thread_usage_wait(&thread->usage, entry->cause, ns);
}

/* -------------------------------------------------------------------------------------------- a thread */

#define KERNEL_HZ 100u     /* unit of the kernel's start times of threads, on every machine */
#define RUNNING_WINDOW 16u /* samples */

/*
 * Its waiting time since it is observed. While it runs, this may be too large by what the kernel has not counted
 * yet.
 */
static int64_t waited(const struct hp_watched *thread)
{
    return (int64_t)(thread->looked_ns - thread->since_ns) - (int64_t)(thread->ran - thread->ran_before) -
           (int64_t)(thread->ready - thread->ready_before);
}

/* Of the entry of a thread. The thread that holds a lock is in the same process. */
static enum hp_idleness idleness_of(const struct hp_proc_sampler *sampler, const struct hp_watched *thread)
{
    const struct hp_wait *entry = &sampler->entries[thread->entry];
    return hp_wait_idleness_with(entry->cause, entry->peer != 0 && entry->peer != sampler->target.pid);
}

static bool has_idleness(const struct hp_proc_sampler *sampler, const struct hp_watched *thread,
                         enum hp_idleness idleness)
{
    return thread->entry >= 0 && idleness_of(sampler, thread) == idleness;
}

/*
 * For the listener. A thread that is found waiting has waited until then; what comes later follows that, and what
 * is taken back was at the end.
 */
static void credit_listener(const struct hp_proc_sampler *sampler, struct hp_watched *thread, int64_t ns)
{
    if (thread->wait_ns == 0 && ns > 0)
        thread->told_until_ns = thread->wait_until_ns = hp_less(thread->looked_ns, (uint64_t)ns);
    thread->wait_until_ns += (uint64_t)ns;
    thread->wait_ns += ns;
    if (has_idleness(sampler, thread, HP_IDLE_ALWAYS))
        thread->wait_idle_ns += ns;
}

static uint64_t at_least_none(int64_t ns) { return ns > 0 ? (uint64_t)ns : 0; }

/* What it was not told of yet. */
static void tell_listener(const struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    const struct hp_wait_listener *listener = sampler->target.listener;
    const uint64_t ns = at_least_none(thread->wait_ns), idle_ns = at_least_none(thread->wait_idle_ns);
    const uint64_t idle_part_ns = idle_ns < ns ? idle_ns : ns;
    const uint64_t from_ns =
        thread->told_until_ns < thread->wait_until_ns ? thread->told_until_ns : thread->wait_until_ns;
    const struct hp_wait_stretch stretch = {from_ns, thread->wait_until_ns, (int64_t)(ns - thread->told_ns),
                                            (int64_t)(idle_part_ns - thread->told_idle_ns)};
    if (stretch.ns != 0 || stretch.idle_ns != 0)
        listener->add(listener->context, thread->wait, &stretch);
    thread->told_ns = ns;
    thread->told_idle_ns = idle_part_ns;
    thread->told_until_ns = thread->wait_until_ns;
}

static void end_listening(const struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    const struct hp_wait_listener *listener = sampler->target.listener;
    if (thread->wait != 0) {
        tell_listener(sampler, thread);
        listener->end(listener->context, thread->wait);
    }
    thread->wait = 0;
    thread->wait_ns = thread->wait_idle_ns = 0;
    thread->told_ns = thread->told_idle_ns = 0;
}

#define TOLD_EVERY_NS HP_AXIS_FIRST_SLOT_NS

/* The listener should not have to wait for the end of a long wait. */
static void tell_of_long_waits(struct hp_proc_sampler *sampler)
{
    for (uint32_t at = 0; at < sampler->thread_count; at++) {
        struct hp_watched *thread = &sampler->threads[at];
        if (thread->wait != 0 && thread->is_waiting &&
            thread->wait_until_ns >= thread->told_until_ns + TOLD_EVERY_NS)
            tell_listener(sampler, thread);
    }
}

/* All that is not credited yet, or half of it. */
enum { ALL = 1, HALF };

static void credit_waiting(struct hp_proc_sampler *sampler, struct hp_watched *thread, uint32_t probes, int part)
{
    const int64_t pending = (waited(thread) - thread->settled) / part;
    const int64_t ns = pending > 0 ? pending : 0;
    wait_credit(sampler, thread, thread->entry, ns, probes);
    thread->settled += ns;
    thread->of_this_wait += ns;
    thread->of_this_look += ns;
    credit_listener(sampler, thread, ns);
}

/*
 * What appeared to be waiting was time ready to run, which the kernel counts only when the thread begins to run: it
 * was woken before the last sample.
 */
static void take_back(struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    const int64_t excess = thread->settled - waited(thread);
    const int64_t ns = excess < thread->of_this_wait ? excess : thread->of_this_wait;
    if (ns <= 0)
        return;
    wait_credit(sampler, thread, thread->entry, -ns, 0);
    thread->settled -= ns;
    thread->of_this_wait -= ns;
    credit_listener(sampler, thread, -ns);
}

static bool has_been_ready(const struct hp_watched *thread)
{
    return thread->ready - thread->ready_before > thread->settled_ready;
}

static void credit_beside(struct hp_proc_sampler *sampler, int32_t at, int64_t ns)
{
    if (at < 0)
        return;
    struct hp_wait *entry = &sampler->entries[at];
    wait_add(&entry->beside_ns, ns);
    if (entry->beside_ns > entry->ns)
        entry->beside_ns = entry->ns;
    sampler->is_changed[at] = true;
}

/* Whether what it was found waiting for is idle. */
static bool is_idle(const struct hp_proc_sampler *sampler, const struct hp_watched *thread)
{
    if (!thread->is_waiting || thread->entry < 0)
        return false;
    const enum hp_idleness idleness = idleness_of(sampler, thread);
    return idleness == HP_IDLE_ALWAYS || (idleness == HP_IDLE_BESIDE_WORK && thread->is_beside);
}

/* Time ready to run is credited to the thread's last known place. */
static void credit_ready(struct hp_proc_sampler *sampler, struct hp_watched *thread, uint32_t probes)
{
    static const struct hp_wait_found finding = {.cause = HP_WAIT_RUN_QUEUE, .call = -1};
    const uint64_t ready = thread->ready - thread->ready_before;
    if (!has_been_ready(thread))
        return;
    const int64_t ns = (int64_t)(ready - thread->settled_ready);
    const int32_t at = wait_entry_for(sampler, thread, &finding, (struct hp_wait_place){0, 0});
    wait_credit(sampler, thread, at, ns, probes);
    if (is_idle(sampler, thread)) {
        credit_beside(sampler, at, ns);
        hp_thread_usage_beside(&thread->usage, HP_PART_QUEUE, (uint64_t)ns);
    }
    thread->settled_ready = ready;
}

/* For a thread that only runs, the rest is not waiting either, but time taken by interrupts or a hypervisor. */
static void settle_running(struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    const int64_t so_far = waited(thread);
    if (thread->running_looks++ == 0) {
        thread->running_floor = so_far;
        thread->running_switches = hp_task_switches(sampler->target.pid, thread->tid);
    }
    if (so_far < thread->running_floor)
        thread->running_floor = so_far;
    if (thread->running_looks < RUNNING_WINDOW)
        return;
    if (thread->running_switches != UINT64_MAX &&
        hp_task_switches(sampler->target.pid, thread->tid) == thread->running_switches &&
        thread->running_floor > thread->settled)
        thread->settled = thread->running_floor;
    thread->running_looks = 0;
}

static bool was_stopped(const struct hp_proc_sampler *sampler, const struct hp_watched *thread)
{
    return thread->entry >= 0 && sampler->entries[thread->entry].cause == HP_WAIT_STOPPED;
}

/*
 * It has run since the last sample. Its waiting time before that is known only if the wait was all it did. If it
 * has run once and waits again, half of it belongs to either wait, on average. A thread that was found waiting
 * became ready to run because that wait was over: this time belongs to the function that waited, not to what came
 * after.
 */
static void end_wait(struct hp_proc_sampler *sampler, struct hp_watched *thread, bool is_running,
                     uint64_t slices_before)
{
    const bool was_all = is_running || was_stopped(sampler, thread);
    if (thread->is_waiting && (thread->slices == slices_before + 1 || was_stopped(sampler, thread)))
        credit_waiting(sampler, thread, 0, was_all ? ALL : HALF);
    take_back(sampler, thread);
    if (thread->is_waiting)
        credit_ready(sampler, thread, 0);
    thread->is_waiting = false;
}

static void look_at_running(struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    if (has_been_ready(thread)) {
        wait_place_find(sampler, thread);
        credit_ready(sampler, thread, 1);
    }
    settle_running(sampler, thread);
}

static void look_at_waiting(struct hp_proc_sampler *sampler, struct hp_watched *thread, char state)
{
    struct hp_wait_found finding;
    struct hp_account again;
    const bool is_found = hp_wait_find(&sampler->finder, thread->tid, state, &finding);
    const struct hp_wait_listener *listener = sampler->target.listener;
    if (is_found)
        wait_place_find(sampler, thread);
    if (is_found && listener != NULL)
        listener->take(listener->context, sampler->target.pid, thread->tid, wait_place_zone(thread), &finding);
    /* If it has run meanwhile, cause and place do not belong together. */
    if (!is_found || !account_read(sampler, thread, &again) || again.slices != thread->slices)
        return;
    end_listening(sampler, thread);
    if (listener != NULL)
        thread->wait = listener->keep(listener->context);
    thread->other = finding.thread;
    thread->lock = finding.lock;
    thread->entry = wait_entry_for(sampler, thread, &finding, wait_place_of(sampler, finding.thread));
    if (thread->entry >= 0 && finding.peer != 0)
        sampler->entries[thread->entry].peer = finding.peer;
    thread->of_this_wait = 0;
    thread->is_waiting = true;
    thread->running_looks = 0;
    credit_waiting(sampler, thread, 1, ALL);
}

/* What an entry is about, besides its place. */
static struct hp_wait_found finding_of(const struct hp_wait *entry)
{
    struct hp_wait_found finding = {.cause = entry->cause, .call = entry->call};
    memcpy(finding.what, entry->what, sizeof finding.what);
    return finding;
}

/*
 * It still waits for the same, but its target moves: a thread to another function, a lock to another thread, a
 * child to another program. From here on it waits for that. The holder of a lock is read at each sample; one that
 * was read before may hold it no longer.
 */
static void follow(struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    if (thread->entry < 0)
        return;
    struct hp_wait_found found, finding = finding_of(&sampler->entries[thread->entry]);
    if (finding.cause == HP_WAIT_LOCK || finding.cause == HP_WAIT_CHILD) {
        const bool is_same =
            hp_wait_find(&sampler->finder, thread->tid, 'S', &found) && found.cause == finding.cause;
        if (is_same)
            finding = found;
        thread->other = is_same ? found.thread : 0;
        thread->lock = is_same ? found.lock : 0;
    } else if (thread->other == 0) {
        return;
    }
    const int32_t now = wait_entry_for(sampler, thread, &finding, wait_place_of(sampler, thread->other));
    if (now != thread->entry)
        thread->of_this_wait = 0;
    thread->entry = now;
}

/*
 * It still waits, and was not found in the session. If the session has seen more threads since, it may be among
 * them; as it has not run, it has been at that place during all of this wait.
 */
static void find_late(struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    const int32_t before = thread->entry;
    if (thread->node != 0 || thread->seen_without == sampler->threads_seen || before < 0)
        return;
    wait_place_find(sampler, thread);
    if (thread->node == 0)
        return;
    const struct hp_wait_found finding = finding_of(&sampler->entries[before]);
    thread->entry = wait_entry_for(sampler, thread, &finding, wait_place_of(sampler, thread->other));
    wait_credit(sampler, thread, before, -thread->of_this_wait, 0);
    wait_credit(sampler, thread, thread->entry, thread->of_this_wait, 0);
}

/* Its start by CLOCK_MONOTONIC; an upper bound, since the kernel's unit is coarse. */
static uint64_t began_ns(uint64_t start, uint64_t now)
{
    const uint64_t now_boot = hp_clock_boot_ns();
    const uint64_t latest = (start + 1) * (1000000000u / KERNEL_HZ);
    const uint64_t age = now_boot > latest ? now_boot - latest : 0;
    return age < now ? now - age : now;
}

/*
 * A thread that was not there at the last sample is observed from its start, any other from `now` on: before its
 * account was read, so that it does not run for longer than it is observed, however late we go on after reading.
 */
static void begin_thread(const struct hp_proc_sampler *sampler, struct hp_watched *thread, uint64_t start,
                         const struct hp_account *account, uint64_t now)
{
    const uint64_t began = began_ns(start, now);
    thread->began_ns = account->ran < now && began > now - account->ran ? now - account->ran : began;
    thread->since_ns = now;
    thread->ran_before = account->ran;
    thread->ready_before = account->ready;
    if (sampler->round > 1 && began >= sampler->round_ns) {
        const uint64_t busy = account->ran + account->ready;
        thread->since_ns = began + busy > now && busy < now ? now - busy : began;
        thread->ran_before = thread->ready_before = 0;
        if (thread->since_ns < thread->began_ns)
            thread->began_ns = thread->since_ns;
    }
    thread->looked_ns = thread->since_ns;
}

/*
 * Before its numbers become those of this sample. One that is ready to run since before the last sample has not
 * begun to run since. The first sample of a thread counts what it has done since it began, but no more than since
 * the one before.
 */
static void note_working(struct hp_proc_sampler *sampler, const struct hp_watched *thread,
                         const struct hp_account *account, char state)
{
    const bool is_new = thread->slices == 0 && thread->ran == 0 && thread->ready == 0;
    const uint64_t ran = account->ran - (is_new ? thread->ran_before : thread->ran);
    const uint64_t ready = account->ready - (is_new ? thread->ready_before : thread->ready);
    const bool is_queued = state == 'R' && account->slices == thread->slices && ran == 0;
    const struct hp_work_found found = {.sum_ns = ran + ready,
                                        .ran_ns = ran,
                                        .longest_ns = ran + ready,
                                        .is_working = state == 'R',
                                        .is_queued = is_queued && !is_new};
    hp_work_join(&sampler->found, &found);
}

/*
 * The kernel counts the time in the run queue when it ends, so that of the first look may have begun before it. The
 * thread cannot have run and been ready for longer than it has been observed.
 */
static void leave_out_past(struct hp_watched *thread)
{
    const uint64_t ready = thread->ready - thread->ready_before, busy = thread->ran - thread->ran_before + ready;
    const uint64_t past = hp_less(busy, thread->looked_ns - thread->since_ns);
    if (!thread->may_be_queued || ready == 0)
        return;
    thread->ready_before += past < ready ? past : ready;
    thread->may_be_queued = false;
}

/* False: it is gone. */
static bool look_at(struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    struct hp_account account;
    uint64_t start = 0;
    const bool is_new = thread->since_ns == 0;
    const uint64_t before = is_new ? hp_clock_monotonic_ns() : 0;
    if (!account_read(sampler, thread, &account))
        return false;
    const uint64_t now = hp_clock_monotonic_ns();
    const bool is_still = thread->is_waiting && account.slices == thread->slices && account.ran == thread->ran;
    const char state = is_still ? 'S' : hp_task_state(sampler->target.pid, thread->tid, &start);
    if (state == 'X' || state == 'Z')
        return false;
    if (is_new)
        begin_thread(sampler, thread, start, &account, before);
    const uint64_t slices_before = thread->slices, passed = now - thread->looked_ns;
    const bool is_busy = state == 'R' || 2 * (account.ran - thread->ran) > passed;
    sampler->sums.probes++;
    sampler->sums.latest_ns = now;
    sampler->sums.watched_ns += passed;
    note_working(sampler, thread, &account, state);
    thread->looked_ns = now;
    thread->of_this_look = 0;
    thread->is_at_work = is_new ? state == 'R' : is_busy;
    thread->ran = account.ran;
    thread->ready = account.ready;
    thread->slices = account.slices;
    thread->may_be_queued |= is_new && state == 'R';
    leave_out_past(thread);
    if (is_still) {
        find_late(sampler, thread);
        follow(sampler, thread);
        credit_waiting(sampler, thread, 1, ALL);
        return true;
    }
    end_wait(sampler, thread, state == 'R', slices_before);
    if (state == 'R')
        look_at_running(sampler, thread);
    else
        look_at_waiting(sampler, thread, state);
    return true;
}

/* Its readings besides waiting. */
static struct hp_thread_usage_seen seen_of(const struct hp_watched *thread)
{
    return (struct hp_thread_usage_seen){thread->tid, thread->ran, thread->slices, thread->began_ns,
                                         thread->looked_ns};
}

/* Credits the rest to its last known place. */
static void end_thread(struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    const struct hp_thread_usage_seen seen = seen_of(thread);
    if (thread->since_ns != 0) {
        take_back(sampler, thread);
        credit_waiting(sampler, thread, 0, ALL);
        credit_ready(sampler, thread, 0);
    }
    hp_thread_usage_part(&sampler->usage, &thread->usage, &seen);
    end_listening(sampler, thread);
    account_close(sampler, thread);
}

/* --------------------------------------------------------------------------------------------- a process */

/* Threads come in the same order each time, so the next one is at the same index as before, or after it. */
static struct hp_watched *watched(struct hp_proc_sampler *sampler, uint32_t tid)
{
    for (uint32_t step = 0; step < sampler->thread_count; step++) {
        const uint32_t at = (sampler->hint + step) % sampler->thread_count;
        if (sampler->threads[at].tid == tid) {
            sampler->hint = at + 1;
            return &sampler->threads[at];
        }
    }
    if (sampler->thread_count == HP_WATCH_THREADS) {
        sampler->left_alone++;
        return NULL;
    }
    struct hp_watched *thread = &sampler->threads[sampler->thread_count++];
    *thread = (struct hp_watched){.tid = tid, .file = -1, .entry = HP_NO_ENTRY, .seen_without = UINT32_MAX};
    account_keep_open(sampler, thread);
    return thread;
}

static void visit_task(const char *name, void *context)
{
    struct hp_proc_sampler *sampler = context;
    const uint64_t tid = hp_task_number(&name);
    if (tid == 0 || tid > INT32_MAX || tid == sampler->target.left_out)
        return;
    struct hp_watched *thread = watched(sampler, (uint32_t)tid);
    if (thread != NULL)
        thread->round = sampler->round;
}

static void drop_gone(struct hp_proc_sampler *sampler)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < sampler->thread_count; at++) {
        struct hp_watched *thread = &sampler->threads[at];
        if (thread->round != sampler->round || !look_at(sampler, thread))
            end_thread(sampler, thread);
        else
            sampler->threads[kept++] = *thread;
    }
    sampler->thread_count = kept;
}

/* Waits that no process of the run could shorten. */
static bool waits_for_outsiders(const struct hp_proc_sampler *sampler, const struct hp_watched *thread)
{
    if (!thread->is_waiting || thread->entry < 0)
        return false;
    const uint32_t cause = sampler->entries[thread->entry].cause;
    return cause == HP_WAIT_DISK || cause == HP_WAIT_FAULT ||
           (cause == HP_WAIT_SOCKET && idleness_of(sampler, thread) == HP_IDLE_NEVER);
}

static bool waits_at_socket(const struct hp_proc_sampler *sampler, const struct hp_watched *thread)
{
    return thread->is_waiting && thread->entry >= 0 && sampler->entries[thread->entry].cause == HP_WAIT_SOCKET;
}

/* A child that has just been created is known from its parent first. */
static bool waits_for_busy_child(const struct hp_proc_sampler *sampler, const struct hp_watched *thread)
{
    if (!thread->is_waiting || thread->entry < 0 || sampler->entries[thread->entry].cause != HP_WAIT_CHILD)
        return false;
    const char *what = sampler->entries[thread->entry].what;
    return strstr(what, "(busy)") != NULL;
}

static void note_blocked(struct hp_proc_sampler *sampler, const struct hp_watched *thread)
{
    if (waits_for_busy_child(sampler, thread))
        sampler->found.is_working = sampler->found.is_queued = true;
    if (waits_at_socket(sampler, thread))
        sampler->found.is_at_socket = true;
    else if (waits_for_outsiders(sampler, thread))
        sampler->found.is_blocked = true;
}

static void note_holder_name(struct hp_proc_sampler *sampler, struct hp_wait *entry, uint32_t tid)
{
    char name[32] = "";
    if (entry->peer == tid)
        return;
    entry->peer = tid;
    hp_task_read(sampler->target.pid, tid, "comm", name, sizeof name);
    memset(entry->holder, 0, sizeof entry->holder);
    const size_t length = strcspn(name, "\n");
    memcpy(entry->holder, name, length < sizeof entry->holder ? length : sizeof entry->holder - 1);
}

/* The holder was looked at earlier, or later: it may have got the lock since. */
static bool waits_with_lock(const struct hp_watched *thread, const struct hp_watched *holder)
{
    return holder->is_waiting && holder->entry >= 0 && holder->lock != thread->lock;
}

/* Of any wait for a lock; `holder` may be NULL. */
static void tell_holder(const struct hp_proc_sampler *sampler, const struct hp_watched *thread,
                        const struct hp_watched *holder)
{
    const struct hp_wait_listener *listener = sampler->target.listener;
    if (listener == NULL || listener->held == NULL || thread->wait == 0)
        return;
    struct hp_wait_held held = {.pid = sampler->target.pid,
                                .tid = thread->tid,
                                .slices = thread->slices,
                                .lock = thread->lock,
                                .wait = thread->wait,
                                .ns = at_least_none(thread->of_this_look)};
    const bool waits = holder != NULL && waits_with_lock(thread, holder);
    if (holder != NULL && (!waits || holder->wait != 0)) {
        held.holder = holder->tid;
        held.holder_wait = waits ? holder->wait : 0;
        held.holder_slices = holder->slices;
    }
    listener->held(listener->context, &held);
}

/* What the thread does that was read from the lock at this look, as that was found at the same look. */
static void note_holder(struct hp_proc_sampler *sampler, const struct hp_watched *thread)
{
    if (!thread->is_waiting || thread->entry < 0 || sampler->entries[thread->entry].cause != HP_WAIT_LOCK)
        return;
    const struct hp_watched *holder = thread->other != 0 ? thread_of(sampler, thread->other) : NULL;
    struct hp_wait *entry = &sampler->entries[thread->entry];
    tell_holder(sampler, thread, holder);
    if (holder == NULL)
        return;
    note_holder_name(sampler, entry, holder->tid);
    if (waits_with_lock(thread, holder)) {
        entry->held_waiting++;
        entry->held_cause = sampler->entries[holder->entry].cause;
    } else {
        entry->held_working++;
    }
    sampler->is_changed[thread->entry] = true;
}

static void note_idle_beside(const struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    thread->wait_idle_ns += thread->of_this_look;
    hp_thread_usage_beside(&thread->usage, hp_part_of_cause(sampler->entries[thread->entry].cause),
                           at_least_none(thread->of_this_look));
}

/* After all threads were looked at: marks those that waited while another thread worked. */
static void note_work(struct hp_proc_sampler *sampler)
{
    uint32_t at_work = 0;
    for (uint32_t at = 0; at < sampler->thread_count; at++) {
        struct hp_watched *thread = &sampler->threads[at];
        thread->is_at_work |= waits_for_outsiders(sampler, thread);
        note_blocked(sampler, thread);
        note_holder(sampler, thread);
        at_work += thread->is_at_work;
    }
    sampler->at_work = at_work;
    at_work += sampler->target.at_work != NULL ? *sampler->target.at_work : 0;
    for (uint32_t at = 0; at < sampler->thread_count; at++) {
        struct hp_watched *thread = &sampler->threads[at];
        thread->is_beside = at_work > thread->is_at_work;
        if (thread->is_waiting && thread->is_beside && thread->of_this_look > 0)
            credit_beside(sampler, thread->entry, thread->of_this_look);
        if (thread->is_waiting && thread->is_beside && has_idleness(sampler, thread, HP_IDLE_BESIDE_WORK))
            note_idle_beside(sampler, thread);
    }
}

/* Whether a record must be looked for: the thread is new, or has none yet. */
static bool lacks_record(const struct hp_proc_sampler *sampler, const struct hp_watched *thread)
{
    return thread->record == 0 && hp_thread_usage_wants(&sampler->usage, &thread->usage);
}

/* What threads use, if that is due. */
static bool look_at_thread_usage(struct hp_proc_sampler *sampler, uint64_t now)
{
    bool lacks_any = false;
    hp_thread_usage_probe_begin(&sampler->usage, now);
    for (uint32_t at = 0; at < sampler->thread_count; at++)
        lacks_any |= lacks_record(sampler, &sampler->threads[at]);
    if (lacks_any)
        wait_place_find_records(sampler);
    for (uint32_t at = 0; at < sampler->thread_count; at++) {
        struct hp_watched *thread = &sampler->threads[at];
        const struct hp_thread_usage_seen seen = seen_of(thread);
        hp_thread_usage_probe(&sampler->usage, &thread->usage, &seen, thread->record);
    }
    return hp_thread_usage_probe_end(&sampler->usage, sampler->thread_count + sampler->left_alone, now);
}

/* Writes changes into the session: entries first, then their number. */
static bool write_back(struct hp_proc_sampler *sampler)
{
    const struct hp_proc_sampler_target *target = &sampler->target;
    for (uint32_t at = 0; at < sampler->sums.used; at++) {
        if (!sampler->is_changed[at])
            continue;
        const size_t offset = sampler->at + sizeof(struct hp_waits) + at * sizeof(struct hp_wait);
        if (!target->write(target->context, (uint32_t)offset, &sampler->entries[at], sizeof sampler->entries[at]))
            return false;
        sampler->is_changed[at] = false;
    }
    return target->write(target->context, sampler->at, &sampler->sums, sizeof sampler->sums);
}

/* With what threads use: not at each sample. */
static bool write_work(const struct hp_proc_sampler *sampler)
{
    const struct hp_proc_sampler_target *target = &sampler->target;
    const struct hp_work_times own = hp_work_times(&sampler->work);
    const struct hp_work_times *work = target->work != NULL ? target->work : &own;
    return !sampler->usage.is_due ||
           target->write(target->context, (uint32_t)offsetof(struct hp_header, work), work, sizeof *work);
}

/* After exec. Unknown for a process that has changed its privileges. */
static bool is_another_program(const struct hp_proc_sampler *sampler)
{
    const uint64_t executable = hp_task_executable(sampler->target.pid);
    return executable != 0 && executable != sampler->executable;
}

/* The mean time between two samples. */
static void note_period(struct hp_proc_sampler *sampler, uint64_t now)
{
    if (sampler->round == 1)
        sampler->first_ns = now;
    else
        sampler->sums.period_us = (uint32_t)((now - sampler->first_ns) / 1000 / (sampler->round - 1));
}

bool hp_proc_sample(struct hp_proc_sampler *sampler)
{
    char path[HP_TASK_PATH];
    const uint64_t now = hp_clock_monotonic_ns();
    sampler->round++;
    sampler->hint = 0;
    sampler->left_alone = 0;
    sampler->found = (struct hp_work_found){0};
    if (!wait_place_read_header(sampler) || is_another_program(sampler))
        return false;
    hp_file_each(hp_task_path(path, sampler->target.pid, 0, "task"), visit_task, sampler);
    if (sampler->left_alone > sampler->sums.unwatched)
        sampler->sums.unwatched = sampler->left_alone;
    drop_gone(sampler);
    note_work(sampler);
    tell_of_long_waits(sampler);
    note_period(sampler, now);
    sampler->round_ns = now;
    hp_work_add(&sampler->work, &sampler->found, now);
    return sampler->thread_count > 0 && look_at_thread_usage(sampler, now) && write_work(sampler) &&
           write_back(sampler);
}

static bool is_watched_by_another(uint32_t watcher)
{
    return watcher != 0 && watcher != hp_sys_process_id() && hp_process_exists(watcher);
}

/* Continues what an earlier observer left. */
static bool read_entries(struct hp_proc_sampler *sampler)
{
    const uint64_t end = (uint64_t)sampler->at + sizeof sampler->sums;
    if (sampler->sums.used > sampler->capacity)
        return false;
    if (sampler->sums.used > 0 &&
        !wait_place_read(sampler, end, sampler->entries, sampler->sums.used * sizeof sampler->entries[0]))
        return false;
    for (uint32_t at = 0; at < sampler->sums.used; at++) {
        sampler->sites[at] = wait_place_site(sampler, sampler->entries[at].node);
        sampler->other_sites[at] = wait_place_site(sampler, sampler->entries[at].other);
    }
    return true;
}

bool hp_proc_sampler_begin(struct hp_proc_sampler *sampler, const struct hp_proc_sampler_target *target)
{
    struct hp_header header;
    memset(sampler, 0, sizeof *sampler);
    sampler->target = *target;
    sampler->finder =
        (struct hp_wait_finder){.pid = target->pid, .other_end = target->other_end, .context = target->ends};
    if (!target->read(target->context, 0, &header, sizeof header) || header.pid != target->pid ||
        header.waits == 0 || header.waits % 8 != 0 ||
        !wait_place_read(sampler, header.waits, &sampler->sums, sizeof sampler->sums) ||
        sampler->sums.capacity == 0 || is_watched_by_another(sampler->sums.watcher))
        return false;
    sampler->at = header.waits;
    sampler->capacity = sampler->sums.capacity < HP_WATCH_ENTRIES ? sampler->sums.capacity : HP_WATCH_ENTRIES;
    const uint64_t end =
        (uint64_t)sampler->at + sizeof sampler->sums + sampler->capacity * sizeof sampler->entries[0];
    if (end > UINT32_MAX || !read_entries(sampler))
        return false;
    sampler->executable = hp_task_executable(target->pid);
    sampler->sums.watcher = hp_sys_process_id();
    sampler->sums.period_us = HP_WATCH_PERIOD_US;
    sampler->usage.pid = target->pid;
    sampler->usage.has_past = header.exec_count > 0 || (header.features & HP_FEATURE_RECORDED) != 0;
    sampler->usage.is_joined = (header.features & HP_FEATURE_RECORDED) != 0;
    sampler->usage.read = target->read;
    sampler->usage.write = target->write;
    sampler->usage.context = target->context;
    hp_thread_usage_begin(&sampler->usage, header.thread_usage);
    hp_work_begin(&sampler->work, hp_clock_monotonic_ns());
    return true;
}

void hp_proc_sampler_end(struct hp_proc_sampler *sampler)
{
    for (uint32_t at = 0; at < sampler->thread_count; at++)
        end_thread(sampler, &sampler->threads[at]);
    sampler->thread_count = 0;
    hp_thread_usage_write(&sampler->usage);
    sampler->usage.is_due = true;
    write_work(sampler);
    write_back(sampler);
}

uint32_t hp_proc_sampler_period_us(uint64_t spent_ns, uint64_t elapsed_ns)
{
    const uint64_t counted_ns = spent_ns > HP_WATCH_HEAD_START_NS ? spent_ns - HP_WATCH_HEAD_START_NS : 0;
    const uint64_t wanted_us = counted_ns / 10; /* of which it is 1/100 */
    const uint64_t elapsed_us = elapsed_ns / 1000;
    const uint64_t missing_us = wanted_us > elapsed_us ? wanted_us - elapsed_us : 0;
    /* Early in a run one slow sample would else cause a pause in which short processes begin and end. */
    const uint64_t most_us =
        elapsed_us / 2 < HP_WATCH_LONGEST_PERIOD_US ? elapsed_us / 2 : HP_WATCH_LONGEST_PERIOD_US;
    const uint64_t pause_us = missing_us < most_us ? missing_us : most_us;
    return pause_us > HP_WATCH_PERIOD_US ? (uint32_t)pause_us : HP_WATCH_PERIOD_US;
}

void hp_proc_sampler_note(struct hp_proc_sampler *sampler, uint64_t look_ns)
{
    sampler->sums.watcher_ns += look_ns;
}
