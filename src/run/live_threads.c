/* Looks at threads once. SPDX-License-Identifier: MIT */
#include "live_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "collector.h"
#include "files.h"
#include "growing_array.h"
#include "other_end.h"
#include "process.h"
#include "wait_stacks.h"

#define MOST_PROCESSES 1024u
#define MOST_THREADS 20000u
#define PERIOD_NS UINT64_C(1003009) /* of CPU time, between samples: a prime, so that no period falls into step */
#define BURST_NS UINT64_C(20000000)
#define LONGEST_BURST_NS UINT64_C(100000000) /* if a thread that is ready has not got a CPU by then */
#define ENOUGH_NS (UINT64_C(2) * PERIOD_NS)  /* of CPU time for a sample */
#define STEP_NS 2000000L
#define MOST_TRIES 3u       /* to copy a stack of a thread that runs again and again */
#define MOST_SEARCHED 4096u /* processes that may have the other end of something */

/* ---------------------------------------------------------------------------------------------- which threads */

static bool add_thread(struct hp_live_threads *threads, uint32_t pid, uint32_t tid)
{
    if (threads->count >= MOST_THREADS || !HP_MAKE_ROOM(threads->all, threads->count + 1, threads->room))
        return false;
    threads->all[threads->count++] = (struct hp_live_thread){.pid = pid, .tid = tid, .is_readable = true};
    return true;
}

/* Iterates over the threads of a process. */
struct finding {
    struct hp_live_threads *threads;
    uint32_t pid;
    bool is_complete;
};

static void visit_thread(const char *name, void *context)
{
    struct finding *finding = context;
    const uint32_t tid = (uint32_t)hp_task_number(&name);
    if (tid != 0)
        finding->is_complete &= add_thread(finding->threads, finding->pid, tid);
}

static bool has_process(const struct hp_live_threads *threads, uint32_t pid)
{
    size_t at = 0;
    while (at < threads->pid_count && threads->pids[at] != pid)
        at++;
    return at < threads->pid_count;
}

static bool add_process(struct hp_live_threads *threads, uint32_t pid)
{
    char path[HP_TASK_PATH];
    struct finding finding = {threads, pid, true};
    if (has_process(threads, pid))
        return true;
    if (threads->pid_count >= MOST_PROCESSES ||
        !HP_MAKE_ROOM(threads->pids, threads->pid_count + 1, threads->pid_room))
        return false;
    threads->pids[threads->pid_count++] = pid;
    hp_file_each(hp_task_path(path, pid, 0, "task"), visit_thread, &finding);
    return finding.is_complete;
}

/* What one thread has started: a list of any length. */
static bool add_children(struct hp_live_threads *threads, uint32_t pid, uint32_t tid)
{
    char path[HP_TASK_PATH];
    unsigned child;
    bool is_complete = true;
    FILE *file = fopen(hp_task_path(path, pid, tid, "children"), "re");
    while (file != NULL && fscanf(file, "%u", &child) == 1)
        is_complete &= add_process(threads, (uint32_t)child);
    if (file != NULL)
        fclose(file);
    return is_complete;
}

bool hp_live_threads_find(struct hp_live_threads *threads, uint32_t pid, bool with_children)
{
    const size_t first = threads->count;
    bool is_complete = add_process(threads, pid);
    for (size_t at = first; with_children && at < threads->count; at++)
        is_complete &= add_children(threads, threads->all[at].pid, threads->all[at].tid);
    return is_complete;
}

/* ---------------------------------------------------------------------------------------------- one look */

/* False: it is gone. */
static bool read_runs(const struct hp_live_thread *thread, struct hp_thread_runs *ret_runs)
{
    char text[96];
    if (!hp_task_read(thread->pid, thread->tid, "schedstat", text, sizeof text))
        return false;
    const char *at = text;
    ret_runs->ran_ns = hp_task_number(&at);
    hp_task_number(&at); /* time ready to run */
    ret_runs->slices = hp_task_number(&at);
    return true;
}

static bool is_same(const struct hp_thread_runs *a, const struct hp_thread_runs *b)
{
    return a->ran_ns == b->ran_ns && a->slices == b->slices;
}

bool hp_live_thread_has_run(const struct hp_live_thread *thread)
{
    struct hp_thread_runs now;
    return !read_runs(thread, &now) || !is_same(&now, &thread->runs);
}

static void read_name(struct hp_live_thread *thread)
{
    struct hp_task_account account;
    if (hp_task_account(thread->pid, thread->tid, &account))
        memcpy(thread->name, account.name, sizeof thread->name);
}

static bool is_gone(char state) { return state == 'X' || state == 'Z'; }

/* Its stack goes to the collector if it has not run meanwhile. */
static void take_wait(struct hp_live_thread *thread, struct hp_wait_finder *finder)
{
    uint32_t no_session = 0;
    thread->is_waiting = hp_wait_find(finder, thread->tid, thread->state, &thread->wait);
    thread->is_readable = !thread->is_waiting || thread->wait.sp != 0 || thread->wait.cause == HP_WAIT_STOPPED;
    if (!thread->is_waiting || thread->wait.sp == 0)
        return;
    hp_wait_stacks.take(&no_session, thread->pid, thread->tid, 0, &thread->wait);
    thread->has_stack = !hp_live_thread_has_run(thread);
    thread->number = thread->has_stack ? hp_wait_stacks.keep(NULL) : 0;
}

static void look_at(struct hp_live_thread *thread, struct hp_wait_finder *finder)
{
    uint64_t start;
    thread->has_stack = thread->is_waiting = false;
    thread->number = 0;
    if (!read_runs(thread, &thread->runs)) {
        thread->state = 'X';
        return;
    }
    thread->state = hp_task_state(thread->pid, thread->tid, &start);
    if (!is_gone(thread->state) && thread->state != 'R')
        take_wait(thread, finder);
}

/* What a thread waits for is known by the sockets of its process. */
static void use_finder(struct hp_wait_finder *finder, uint32_t pid)
{
    if (finder->pid != pid)
        *finder = (struct hp_wait_finder){.pid = pid, .other_end = finder->other_end, .context = finder->context};
}

void hp_live_threads_look(struct hp_live_threads *threads)
{
    static struct hp_wait_finder finder;
    for (size_t at = 0; at < threads->count; at++) {
        struct hp_live_thread *thread = &threads->all[at];
        const bool is_new = thread->state == 0;
        if (is_new)
            read_name(thread);
        if (!is_new && (is_gone(thread->state) || !hp_live_thread_has_run(thread)))
            continue;
        use_finder(&finder, thread->pid);
        for (unsigned tries = 0; tries < MOST_TRIES; tries++) {
            look_at(thread, &finder);
            if (!thread->is_waiting || thread->has_stack || !thread->is_readable)
                break;
        }
    }
}

/* ---------------------------------------------------------------------------------------------- running threads */

static bool runs_now(const struct hp_live_thread *thread) { return !thread->is_waiting && !is_gone(thread->state); }

/* Whether a thread is ready to run, and has not run long enough for a sample. */
static bool lacks_any(const struct hp_live_threads *threads)
{
    struct hp_thread_runs now;
    for (size_t at = 0; at < threads->count; at++)
        if (runs_now(&threads->all[at]) && read_runs(&threads->all[at], &now) &&
            now.ran_ns - threads->all[at].first.ran_ns < ENOUGH_NS)
            return true;
    return false;
}

/* Only of running threads: to open and close events for hundreds of others takes longer than all the rest. */
static void begin_sampling(struct hp_live_threads *threads, const char *folder)
{
    struct hp_attached *tasks = calloc(threads->count + 1, sizeof *tasks);
    size_t count = 0;
    for (size_t at = 0; tasks != NULL && at < threads->count; at++)
        if (runs_now(&threads->all[at]))
            tasks[count++] = (struct hp_attached){threads->all[at].pid, threads->all[at].tid};
    hp_collector_keep_threads();
    threads->has_perf = hp_collector_attach(tasks, count, PERIOD_NS, count > 0 ? folder : NULL);
    threads->has_rings = hp_stacks_are_from_inside(hp_collector_source());
    threads->began_ns = hp_clock_monotonic_ns();
    for (size_t at = 0; at < threads->count; at++)
        read_runs(&threads->all[at], &threads->all[at].first);
    free(tasks);
}

void hp_live_threads_sample(struct hp_live_threads *threads, const char *folder)
{
    static struct hp_wait_finder finder;
    begin_sampling(threads, folder);
    if (!threads->has_perf && !threads->has_rings)
        return;
    for (;;) {
        const uint64_t passed = hp_clock_monotonic_ns() - threads->began_ns;
        if (passed >= LONGEST_BURST_NS || (passed >= BURST_NS && !lacks_any(threads)))
            break;
        nanosleep(&(const struct timespec){.tv_nsec = STEP_NS}, NULL);
    }
    for (size_t at = 0; at < threads->count; at++)
        if (runs_now(&threads->all[at])) {
            struct hp_live_thread then = threads->all[at];
            use_finder(&finder, then.pid);
            look_at(&then, &finder);
            /* It was found running, and has been sampled: that is what it did. */
            if (is_gone(then.state) || then.runs.ran_ns - then.first.ran_ns < ENOUGH_NS)
                threads->all[at] = then;
        }
}

/* ---------------------------------------------------------------------------------------------- other ends */

/* Processes that may have them: those that are shown first, then all others, the newest first. */
struct candidates {
    uint32_t *all;
    size_t count;
};

static void visit_process(const char *name, void *context)
{
    struct candidates *candidates = context;
    const uint32_t pid = (uint32_t)hp_task_number(&name);
    if (pid != 0 && candidates->count < MOST_SEARCHED)
        candidates->all[candidates->count++] = pid;
}

static int newest_first(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

static bool waits_for_other_end(const struct hp_live_thread *thread)
{
    return thread->is_waiting && (thread->wait.cause == HP_WAIT_PIPE || thread->wait.cause == HP_WAIT_SOCKET);
}

static uint32_t other_end(void *ends, uint32_t pid, uint32_t descriptor, const char *what)
{
    return hp_other_end(ends, pid, descriptor, what);
}

static void find_end(struct hp_live_thread *thread, struct hp_wait_finder *finder)
{
    struct hp_wait_found found;
    use_finder(finder, thread->pid);
    if (waits_for_other_end(thread) && hp_wait_find(finder, thread->tid, thread->state, &found) &&
        !hp_live_thread_has_run(thread))
        thread->wait.peer = found.peer;
}

void hp_live_threads_find_ends(struct hp_live_threads *threads)
{
    static struct hp_other_ends ends;
    static struct hp_wait_finder finder = {.other_end = other_end, .context = &ends};
    struct candidates candidates = {calloc(threads->pid_count + MOST_SEARCHED, sizeof *candidates.all), 0};
    size_t waiting = 0;
    while (waiting < threads->count && !waits_for_other_end(&threads->all[waiting]))
        waiting++;
    if (candidates.all == NULL || waiting == threads->count) {
        free(candidates.all);
        return;
    }
    memcpy(candidates.all, threads->pids, threads->pid_count * sizeof *candidates.all);
    candidates.count = threads->pid_count;
    hp_file_each(hp_task_root, visit_process, &candidates);
    qsort(candidates.all + threads->pid_count, candidates.count - threads->pid_count, sizeof *candidates.all,
          newest_first);
    ends = (struct hp_other_ends){
        .pids = candidates.all, .count = candidates.count, .most_searched = candidates.count, .generation = 1};
    for (size_t at = waiting; at < threads->count; at++)
        find_end(&threads->all[at], &finder);
    free(candidates.all);
}

/* ---------------------------------------------------------------------------------------------- the end */

/* A stack that counts gets a time, so that it can be told from those that were copied in vain. */
void hp_live_threads_end(struct hp_live_threads *threads)
{
    const uint64_t now_ns = hp_clock_monotonic_ns();
    const struct hp_wait_stretch stretch = {.from_ns = now_ns, .to_ns = now_ns, .ns = 1};
    for (size_t at = 0; at < threads->count; at++)
        if (threads->all[at].number != 0) {
            hp_wait_stacks.add(NULL, threads->all[at].number, &stretch);
            hp_wait_stacks.end(NULL, threads->all[at].number);
        }
}

void hp_live_threads_free(struct hp_live_threads *threads)
{
    free(threads->all);
    free(threads->pids);
    *threads = (struct hp_live_threads){0};
}
