/*
 * Wait sampling from the kernel's numbers of threads, sample by sample: numbers and time are made up, so the truth
 * is known to the nanosecond. (test_proc_sampler.c has real threads.) SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/syscall.h>

#include "event_queue.h"
#include "fake_kernel.h"
#include "lock_holders.h"
#include "proc_sampler.h"
#include "session_builder.h"

#define PID 4000u
#define PERIOD (10 * MS)

static struct session_builder session;
static struct hp_proc_sampler *watch;
static struct hp_waits *waits;
static uint32_t record, outer, inner;

/* ------------------------------------------------------------------------------------------ the listener */

/* What the listener was told. */
static struct {
    struct hp_wait_found taken;
    uint32_t zone;
    uint32_t kept, stretches, ended; /* how many */
    struct hp_wait_stretch stretch;  /* the last one */
    uint64_t ns, idle_ns;
    struct hp_wait_held held[4];
    uint32_t held_count;
} heard;

static void take(void *context, uint32_t pid, uint32_t tid, uint32_t zone, const struct hp_wait_found *found)
{
    (void)context;
    assert_int_equal(pid, PID);
    assert_true(tid >= PID);
    heard.taken = *found;
    heard.zone = zone;
}

static uint32_t keep(void *context)
{
    (void)context;
    return ++heard.kept;
}

static void add_to_wait(void *context, uint32_t wait, const struct hp_wait_stretch *stretch)
{
    (void)context;
    assert_true(wait > 0 && wait <= heard.kept);
    assert_true(stretch->from_ns <= stretch->to_ns);
    heard.stretch = *stretch;
    heard.stretches++;
    heard.ns += (uint64_t)stretch->ns;
    heard.idle_ns += (uint64_t)stretch->idle_ns;
}

static void end_of_wait(void *context, uint32_t wait)
{
    (void)context;
    assert_true(wait > 0 && wait <= heard.kept);
    heard.ended++;
}

static void held(void *context, const struct hp_wait_held *lock)
{
    (void)context;
    heard.held[heard.held_count++ % 4] = *lock;
    hp_lock_holders_add(lock);
}

static const struct hp_wait_listener listener = {
    .take = take, .keep = keep, .held = held, .add = add_to_wait, .end = end_of_wait};

/* ------------------------------------------------------------------------------------------ threads */

/* What the kernel has counted. */
struct task {
    uint32_t tid;
    char state;
    int32_t call; /* that it waits in */
    unsigned arguments[3];
    uint64_t ran, ready, slices, switches, start;
};

static void show(const struct task *task)
{
    char folder[64], path[80];
    snprintf(folder, sizeof folder, "%u/task/%u", PID, task->tid);
    fake_stat(folder, task->state, task->start);
    snprintf(path, sizeof path, "%s/schedstat", folder);
    fake_file(path, "%llu %llu %llu\n", (unsigned long long)task->ran, (unsigned long long)task->ready,
              (unsigned long long)task->slices);
    snprintf(path, sizeof path, "%s/status", folder);
    fake_file(path, "Name:\ta\nvoluntary_ctxt_switches:\t%llu\n", (unsigned long long)task->switches);
    snprintf(path, sizeof path, "%s/syscall", folder);
    if (task->state == 'R')
        fake_file(path, "running\n");
    else
        fake_file(path, "%d 0x%x 0x%x 0x%x 0x0 0x0 0x0 0x7ffc0000 0x550000\n", (int)task->call, task->arguments[0],
                  task->arguments[1], task->arguments[2]);
}

static struct task first_task(void)
{
    return (struct task){.tid = PID, .state = 'R', .call = SYS_clock_nanosleep, .slices = 1};
}

static void run_for(struct task *task, uint64_t ns)
{
    fake_ns += ns;
    task->ran += ns;
    task->state = 'R';
}

static void wait_for(struct task *task, uint64_t ns)
{
    fake_ns += ns;
    task->state = 'S';
    task->switches++;
}

/* The thread was woken, and gets the CPU that much later. */
static void be_ready_for(struct task *task, uint64_t ns)
{
    fake_ns += ns;
    task->ready += ns;
    task->slices++;
    task->state = 'R';
}

static void look(const struct task *task)
{
    show(task);
    assert_true(hp_proc_sample(watch));
}

/* -------------------------------------------------------------------------------------------- the session */

static void begin(void)
{
    const struct hp_proc_sampler_target target = {
        .pid = PID, .read = builder_read, .write = builder_write, .context = &session, .listener = &listener};
    memset(&heard, 0, sizeof heard);
    assert_true(hp_proc_sampler_begin(watch, &target));
}

static int set_up(void **state)
{
    (void)state;
    fake_kernel_begin();
    fake_link("4000/exe", "/opt/program");
    builder_init(&session, 1u << 20);
    record = builder_thread(&session);
    outer = builder_node(&session, record, 0, builder_site(&session, "outer", "a.c", 1));
    inner = builder_node(&session, record, outer, builder_site(&session, "inner", "a.c", 2));
    waits = builder_waits(&session, HP_WATCH_ENTRIES);
    waits->watcher = 0;
    struct hp_header *header = builder_header(&session);
    header->pid = PID;
    header->state = HP_STATE_LIVE;
    header->threads_seen = 1;
    struct hp_thread *thread = builder_at(&session, record);
    thread->state = HP_THREAD_LIVE;
    thread->tid = PID;
    watch = calloc(1, sizeof *watch);
    return watch == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    hp_lock_holders_free();
    free(watch);
    builder_free(&session);
    fake_kernel_end();
    return 0;
}

static const struct hp_wait *entry(uint32_t at) { return (const struct hp_wait *)(const void *)(waits + 1) + at; }

/* Time credited to a cause, at a node or (0) anywhere. */
static uint64_t credited(uint32_t cause, uint32_t node)
{
    uint64_t ns = 0;
    for (uint32_t at = 0; at < waits->used; at++)
        if (entry(at)->cause == cause && (node == 0 || entry(at)->node == node))
            ns += entry(at)->ns;
    return ns;
}

static uint64_t credited_to_all(void)
{
    uint64_t ns = 0;
    for (uint32_t at = 0; at < waits->used; at++)
        ns += entry(at)->ns;
    return ns;
}

/* -------------------------------------------------------------------------------------------------- tests */

static void wait_has_its_full_time(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    run_for(&task, 3 * MS);
    wait_for(&task, 7 * MS);
    look(&task);
    assert_int_equal(credited(HP_WAIT_SLEEP, 0), 7 * MS);
    for (int probes = 0; probes < 5; probes++) {
        fake_ns += PERIOD;
        look(&task);
    }
    assert_int_equal(credited(HP_WAIT_SLEEP, 0), 57 * MS);
    assert_int_equal(credited_to_all(), 57 * MS);
    assert_int_equal(waits->watched_ns, 60 * MS);
}

/* The session has what the thread did: 5 ms of work, 5 ms in a run queue, 30 ms for a disk, 20 ms for a timer. */
static void session_has_the_time_in_which_it_worked(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    run_for(&task, 5 * MS);
    be_ready_for(&task, 5 * MS);
    look(&task);
    task.call = SYS_fsync;
    wait_for(&task, 0);
    for (int probes = 0; probes < 3; probes++) {
        fake_ns += PERIOD;
        look(&task);
    }
    task.call = SYS_clock_nanosleep;
    task.slices++;
    wait_for(&task, 0);
    for (int probes = 0; probes < 2; probes++) {
        fake_ns += PERIOD;
        look(&task);
    }
    hp_proc_sampler_end(watch);
    const struct hp_work_times *work = &builder_header(&session)->work;
    assert_int_equal(work->covered_ns, 60 * MS);
    assert_int_equal(work->worked_ns, 10 * MS);
    assert_int_equal(work->blocked_ns, 30 * MS);
    assert_int_equal(work->socket_ns, 0);
}

/* A thread without a CPU is ready to run, but nothing is counted for it until it gets one. */
static void thread_without_a_cpu_works(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    for (int probes = 0; probes < 4; probes++) {
        fake_ns += PERIOD;
        look(&task);
    }
    assert_int_equal(hp_work_times(&watch->work).worked_ns, 40 * MS);
}

/*
 * The same for a listener: one wait is reported once, however many samples found it, with its time when it is over.
 */
static void listener_is_told_of_each_wait(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    wait_for(&task, 7 * MS);
    look(&task);
    assert_int_equal(heard.taken.sp, 0x7ffc0000);
    assert_int_equal(heard.taken.pc, 0x550000);
    assert_int_equal(heard.taken.cause, HP_WAIT_SLEEP);
    assert_int_equal(heard.zone, 0);
    fake_ns += PERIOD;
    look(&task);
    assert_int_equal(heard.kept, 1);
    assert_int_equal(heard.ended, 0);
    be_ready_for(&task, 1 * MS);
    run_for(&task, 2 * MS);
    task.call = SYS_wait4;
    wait_for(&task, 40 * MS);
    look(&task);
    assert_int_equal(heard.kept, 2);
    assert_int_equal(heard.ended, 1);
    assert_int_equal(heard.ns, 37 * MS); /* each of the two waits gets half of the time between the samples */
    assert_int_equal(heard.idle_ns, 0);
    hp_proc_sampler_end(watch);
    assert_int_equal(heard.ended, 2);
    assert_int_equal(heard.ns, 57 * MS);
    assert_int_equal(heard.idle_ns, 20 * MS); /* waiting for a child is idle */
    assert_int_equal(heard.ns, credited(HP_WAIT_SLEEP, 0) + credited(HP_WAIT_CHILD, 0));
}

/* It is told when the wait was, and of a long one before it is over. */
static void listener_is_told_of_waits_that_go_on(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    const uint64_t before = fake_ns;
    wait_for(&task, 7 * MS);
    look(&task);
    for (unsigned at = 0; at < 100; at++) {
        fake_ns += 10 * MS;
        look(&task);
    }
    assert_int_equal(heard.kept, 1);
    assert_int_equal(heard.ended, 0);
    assert_in_range(heard.stretches, 3, 4);
    assert_in_range(heard.ns, 750 * MS, 1007 * MS);
    assert_int_equal(heard.stretch.to_ns, before + heard.ns);
    assert_int_equal(heard.stretch.to_ns - heard.stretch.from_ns, heard.stretch.ns);
    const uint64_t slept_until = fake_ns;
    be_ready_for(&task, 1 * MS);
    for (unsigned at = 0; at < 100; at++) {
        run_for(&task, 10 * MS);
        look(&task);
    }
    task.call = SYS_wait4;
    wait_for(&task, 40 * MS);
    look(&task);
    assert_int_equal(heard.ended, 1);
    assert_int_equal(heard.ns, 1007 * MS);
    assert_in_range(heard.stretch.to_ns, slept_until, slept_until + 20 * MS); /* it has run since */
    hp_proc_sampler_end(watch);
}

/* The thread was woken but not scheduled: time that was credited as waiting is taken back. */
static void listener_is_told_of_corrections(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    wait_for(&task, 50 * MS);
    look(&task);
    fake_ns += 20 * MS;
    look(&task);
    fake_ns -= 20 * MS;
    be_ready_for(&task, 20 * MS);
    run_for(&task, 5 * MS);
    look(&task);
    hp_proc_sampler_end(watch);
    assert_int_equal(heard.ended, 1);
    assert_int_equal(heard.ns, 50 * MS);
}

/*
 * A thread that waits in `inner` is woken and has to wait for a CPU. That becomes known when it runs, in `outer`;
 * until then it seems to sleep.
 */
static void run_queue_time_after_a_wake_up_belongs_to_the_wait(void **state)
{
    (void)state;
    struct task task = first_task();
    builder_open(&session, record, outer, 0, 0);
    builder_open(&session, record, inner, 0, 0);
    begin();
    look(&task);
    wait_for(&task, 50 * MS);
    look(&task);
    assert_int_equal(credited(HP_WAIT_SLEEP, inner), 50 * MS);
    assert_int_equal(heard.zone, 2); /* the second site */
    fake_ns += 20 * MS;              /* it was woken at once */
    look(&task);
    fake_ns -= 20 * MS;
    be_ready_for(&task, 20 * MS);
    ((struct hotpath_frame_ *)builder_at(&session, ((struct hp_thread *)builder_at(&session, record))->frames))[2]
        .zone = 0;
    run_for(&task, 5 * MS);
    look(&task);
    assert_int_equal(credited(HP_WAIT_SLEEP, inner), 50 * MS);
    assert_int_equal(credited(HP_WAIT_RUN_QUEUE, inner), 20 * MS);
    assert_int_equal(credited_to_all(), 70 * MS);
}

/* A thread that is preempted waits for the CPU in the zone where it worked. */
static void run_queue_time_of_a_running_thread_belongs_to_its_zone(void **state)
{
    (void)state;
    struct task task = first_task();
    builder_open(&session, record, outer, 0, 0);
    begin();
    look(&task);
    for (int probes = 0; probes < 10; probes++) {
        run_for(&task, 4 * MS);
        be_ready_for(&task, 6 * MS);
        look(&task);
    }
    assert_int_equal(credited(HP_WAIT_RUN_QUEUE, outer), 60 * MS);
    assert_int_equal(credited_to_all(), 60 * MS);
}

/* Time that a hypervisor takes from a thread that only runs is no waiting, also when it waits at last. */
static void stolen_time_is_not_waiting(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    for (int probes = 0; probes < 400; probes++) {
        run_for(&task, 8 * MS);
        fake_ns += 2 * MS;
        look(&task);
    }
    wait_for(&task, 10 * MS);
    look(&task);
    assert_true(credited_to_all() >= 10 * MS);
    assert_true(credited_to_all() <= 10 * MS + 2 * 16 * 2 * MS); /* the last samples may not have been judged yet */
}

/* The next number of a row that is the same each time. */
static uint32_t chance(uint32_t below)
{
    static uint32_t last = 1;
    last = last * 1664525u + 1013904223u;
    return (last >> 16) % below;
}

/*
 * Random lives, with samples at any moment and counters that lag by up to a tick while the thread runs: never more
 * is credited than the elapsed time, and in the end exactly that.
 */
static void waits_never_exceed_the_elapsed_time(void **state)
{
    (void)state;
    const uint64_t tick = 4 * MS;
    struct task task = first_task();
    uint64_t waited = 0, ready = 0;
    begin();
    look(&task);
    const uint64_t from = fake_ns;
    for (int step = 0; step < 600; step++) {
        const uint64_t ns = (1 + chance(20000)) * 1000;
        const uint32_t kind = chance(3);
        if (kind == 0) {
            run_for(&task, ns);
        } else if (kind == 1) {
            wait_for(&task, ns);
            waited += ns;
            if (chance(2)) {
                look(&task);
                assert_true(credited_to_all() <= fake_ns - from);
            }
            task.slices++; /* it runs again, at once */
            task.state = 'R';
        } else {
            be_ready_for(&task, ns);
            ready += ns;
        }
        if (task.state == 'R' && chance(4) == 0) {
            struct task shown = task;
            const uint64_t lag = chance((uint32_t)tick);
            shown.ran -= kind == 0 ? (lag < ns ? lag : ns) : 0;
            look(&shown);
            assert_true(credited_to_all() <= fake_ns - from);
            assert_true(credited(HP_WAIT_SLEEP, 0) <= waited + tick);
            assert_true(credited(HP_WAIT_RUN_QUEUE, 0) <= ready);
        }
    }
    wait_for(&task, PERIOD);
    waited += PERIOD;
    look(&task);
    assert_int_equal(credited(HP_WAIT_RUN_QUEUE, 0), ready);
    assert_in_range(credited(HP_WAIT_SLEEP, 0), waited - tick, waited);
    assert_int_equal(waits->watched_ns, fake_ns - from);
}

/*
 * A thread that started between two samples has waited since its start; one that existed before, since the first
 * sample.
 */
static void threads_are_sampled_from_their_start(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    task.state = 'S';
    fake_ns = 2000 * MS;
    look(&task);
    fake_ns += PERIOD;
    look(&task);
    assert_int_equal(credited_to_all(), PERIOD);
    fake_ns += 3 * PERIOD;
    /*
     * The kernel tells in hundredths of a second: at the latest, it began one of them before the end of this one.
     */
    const struct task late = {.tid = PID + 1,
                              .state = 'S',
                              .call = SYS_clock_nanosleep,
                              .ran = MS,
                              .slices = 1,
                              .start = fake_ns / PERIOD - 2};
    show(&late);
    look(&task);
    assert_int_equal(credited_to_all(), 4 * PERIOD + PERIOD - MS);
}

/* A sleep while another thread works is counted separately. */
static void waiting_beside_work(void **state)
{
    (void)state;
    struct task sleeper = first_task(), worker = first_task();
    worker.tid = PID + 1;
    begin();
    show(&worker);
    look(&sleeper);
    wait_for(&sleeper, PERIOD);
    worker.ran += PERIOD;
    show(&worker);
    look(&sleeper);
    assert_int_equal(entry(0)->ns, PERIOD);
    assert_int_equal(entry(0)->beside_ns, PERIOD);
    worker.state = 'S'; /* for a socket, say: nothing in the run could shorten that */
    worker.call = SYS_clock_nanosleep;
    worker.switches++;
    fake_ns += PERIOD;
    show(&worker);
    look(&sleeper);
    assert_true(entry(0)->beside_ns < entry(0)->ns);
}

/* If the child is a shell that waits itself, its child is named; whether that is busy is part of the name. */
static void waiting_for_a_child_names_it(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    fake_file("4000/task/4000/children", "4001 ");
    fake_stat("4001", 'S', 1);
    fake_file("4001/comm", "sh\n");
    fake_file("4001/task/4001/children", "4002 ");
    fake_stat("4002", 'R', 1);
    fake_file("4002/comm", "kin\n");
    task.call = SYS_wait4;
    wait_for(&task, PERIOD);
    look(&task);
    assert_int_equal(entry(0)->cause, HP_WAIT_CHILD);
    assert_string_equal(entry(0)->what, "kin (busy)");
    fake_stat("4002", 'S', 1);
    fake_ns += PERIOD;
    look(&task);
    assert_string_equal(entry(1)->what, "kin");
    assert_int_equal(entry(0)->ns, PERIOD);
    assert_int_equal(entry(1)->ns, PERIOD);
}

/* ---------------------------------------------------------------------------------------- what memory tells */

#define ADDRESS 0x40u /* in the memory of the process */
#define FUTEX_WAIT_PRIVATE 128u

/* Words of memory from ADDRESS on; what is before them fits no rule. */
static void show_memory(uint32_t first, uint32_t third)
{
    fake_file("4000/mem", "%064d%c%c%c%c%s%c%c%c%c%s", 0, (int)(first & 255), (int)(first >> 8 & 255),
              (int)(first >> 16 & 255), (int)(first >> 24), "abcd", (int)(third & 255), (int)(third >> 8 & 255),
              (int)(third >> 16 & 255), (int)(third >> 24), "abcdabcdabcd");
}

/* A thread in a zone of its own; the node of that. */
static uint32_t thread_in(uint32_t tid, const char *zone)
{
    char path[64];
    const uint32_t its_record = builder_thread(&session);
    const uint32_t node = builder_node(&session, its_record, 0, builder_site(&session, zone, "a.c", tid));
    builder_open(&session, its_record, node, 0, 0);
    ((struct hp_thread *)builder_at(&session, its_record))->tid = tid;
    snprintf(path, sizeof path, "4000/task/%u/comm", tid);
    fake_file(path, "a\n");
    const struct task task = {.tid = tid, .state = 'R', .slices = 1};
    show(&task);
    return node;
}

/* A lock changes hands while a thread waits for it: the time goes to who holds it at each sample. */
static void holder_of_a_lock_is_read_at_each_sample(void **state)
{
    (void)state;
    struct task task = first_task();
    const uint32_t one = thread_in(PID + 1, "one"), other = thread_in(PID + 2, "other");
    task.call = SYS_futex;
    task.arguments[0] = ADDRESS;
    task.arguments[1] = FUTEX_WAIT_PRIVATE;
    task.arguments[2] = 2;
    begin();
    look(&task);
    show_memory(2, PID + 1);
    wait_for(&task, PERIOD);
    look(&task);
    show_memory(2, PID + 2);
    fake_ns += 3 * PERIOD;
    look(&task);
    show_memory(2, 0); /* between two holders */
    fake_ns += 2 * PERIOD;
    look(&task);
    const struct {
        uint32_t other;
        uint64_t ns;
    } truth[] = {{one, PERIOD}, {other, 3 * PERIOD}, {0, 2 * PERIOD}};
    for (uint32_t at = 0; at < 3; at++) {
        assert_int_equal(entry(at)->cause, HP_WAIT_LOCK);
        assert_int_equal(entry(at)->other, truth[at].other);
        assert_int_equal(entry(at)->ns, truth[at].ns);
    }
}

/* ---------------------------------------------------------------------------------------- who holds a lock */

/* Two threads that wait for a lock, and the one that has it. */
static struct {
    struct task first, second, holder;
} trio;

static void show_trio(void)
{
    heard.held_count = 0;
    show(&trio.holder);
    show(&trio.second);
    look(&trio.first);
}

/* Both were found waiting a period ago; the holder runs, unless it waits for a disk. */
static void begin_trio(bool is_holder_waiting)
{
    trio.first = first_task();
    trio.holder = (struct task){.tid = PID + 1, .state = 'R', .slices = 1, .call = SYS_fsync};
    thread_in(PID + 1, "one");
    thread_in(PID + 2, "two");
    begin();
    trio.second = trio.first;
    trio.second.tid = PID + 2;
    show_trio();
    trio.first.call = trio.second.call = SYS_futex;
    for (struct task *task = &trio.first;; task = &trio.second) {
        task->arguments[0] = ADDRESS;
        task->arguments[1] = FUTEX_WAIT_PRIVATE;
        task->arguments[2] = 2;
        task->state = 'S';
        if (task == &trio.second)
            break;
    }
    trio.holder.state = is_holder_waiting ? 'S' : 'R';
    trio.holder.slices = 2;
    show_memory(2, PID + 1);
    show_trio();
    fake_ns += PERIOD;
    trio.holder.ran += is_holder_waiting ? 0 : PERIOD;
    hp_lock_holders_look();
    for (struct hp_event *event = hp_event_take(UINT64_MAX), *next; event != NULL; event = next) {
        next = event->next;
        free(event);
    }
    show_trio();
}

/* What the second look tells the collector: how many waits, and since when the holder is known to hold the lock. */
static uint32_t look_again(uint64_t *ret_since_ns, uint32_t *ret_holder_wait)
{
    uint32_t count = 0;
    show(&trio.holder);
    show(&trio.second);
    show(&trio.first);
    fake_ns += MS / 10;
    hp_lock_holders_look();
    for (struct hp_event *event = hp_event_take(UINT64_MAX), *next; event != NULL; event = next, count++) {
        next = event->next;
        assert_int_equal(event->kind, HP_EVENT_HELD);
        assert_int_equal(event->tid, PID + 1);
        assert_int_equal(event->waited_ns, PERIOD);
        *ret_since_ns = event->held_ns;
        *ret_holder_wait = event->holder_wait;
        free(event);
    }
    return count;
}

static void lock_that_was_kept_is_held(void **state)
{
    (void)state;
    uint64_t since_ns = 0;
    uint32_t holder_wait;
    begin_trio(false);
    const uint64_t looked_ns = fake_ns;
    assert_int_equal(heard.held_count, 2);
    assert_int_equal(heard.held[0].lock, ADDRESS);
    assert_int_equal(heard.held[0].holder, PID + 1);
    assert_int_equal(heard.held[0].holder_wait, 0);
    assert_int_equal(heard.held[0].ns, PERIOD);
    assert_true(hp_lock_holders_pause_ns() > 0);
    assert_int_equal(look_again(&since_ns, &holder_wait), 2);
    assert_int_equal(since_ns, looked_ns);
    assert_int_equal(holder_wait, 0);
    assert_int_equal(hp_lock_holders_pause_ns(), 0); /* nothing is left to look at */
}

/* Each of these says that the lock was given up: the holder is known at the first look only. */
static void lock_that_was_given_up_is_not_held(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        uint64_t since_ns = UINT64_MAX;
        uint32_t holder_wait;
        if (way > 0) {
            tear_down(state);
            set_up(state);
        }
        begin_trio(false);
        if (way == 0)
            trio.second.state = 'R'; /* it was woken */
        else if (way == 1)
            trio.first.slices++; /* it was, and waits again */
        else if (way == 2)
            show_memory(2, PID + 2);
        else
            show_memory(2, 0);
        assert_int_equal(look_again(&since_ns, &holder_wait), 2);
        assert_int_equal(since_ns, 0);
    }
}

static void holder_that_waits_has_its_wait(void **state)
{
    (void)state;
    uint64_t since_ns = 0;
    uint32_t holder_wait = 0;
    begin_trio(true);
    assert_int_equal(hp_lock_holders_pause_ns(), 0); /* its stack is known already */
    assert_int_equal(look_again(&since_ns, &holder_wait), 2);
    assert_true(holder_wait > 0);
    assert_int_equal(holder_wait, heard.held[0].holder_wait);
    fake_ns += PERIOD - MS / 10;
    show_trio();
    trio.holder.slices++; /* the wait is over */
    assert_int_equal(look_again(&since_ns, &holder_wait), 0);
}

/* The longer locks are held, the longer the pause. */
static void pause_follows_the_locks(void **state)
{
    (void)state;
    uint64_t since_ns = 0, before = 0;
    uint32_t holder_wait;
    begin_trio(false);
    for (int probes = 0; probes < 12; probes++) {
        const uint64_t pause_ns = hp_lock_holders_pause_ns();
        assert_true(pause_ns >= before);
        before = pause_ns;
        look_again(&since_ns, &holder_wait);
        fake_ns += PERIOD - MS / 10;
        trio.holder.ran += PERIOD;
        show_trio();
    }
    assert_int_equal(before, 2 * MS);
    for (int probes = 0; probes < 12; probes++) {
        trio.second.slices++;
        before = hp_lock_holders_pause_ns();
        show(&trio.second);
        hp_lock_holders_look();
        fake_ns += PERIOD;
        trio.holder.ran += PERIOD;
        show_trio();
    }
    assert_int_equal(before, MS / 20);
}

/* The holder runs, then waits for a disk; then none is in the lock, and none is named. */
static void holder_is_named_with_what_it_did(void **state)
{
    (void)state;
    struct task task = first_task(), holder = {.tid = PID + 1, .state = 'R', .slices = 1};
    thread_in(PID + 1, "one");
    fake_file("4000/task/4001/comm", "a long name of it\n");
    task.call = SYS_futex;
    task.arguments[0] = ADDRESS;
    task.arguments[1] = FUTEX_WAIT_PRIVATE;
    task.arguments[2] = 2;
    begin();
    look(&task);
    show_memory(2, PID + 1);
    wait_for(&task, PERIOD);
    for (int probes = 0; probes < 2; probes++) {
        holder.ran += PERIOD;
        show(&holder);
        fake_ns += PERIOD;
        look(&task);
    }
    holder.state = 'S';
    holder.call = SYS_fsync;
    holder.slices++;
    show(&holder);
    for (int probes = 0; probes < 3; probes++) {
        fake_ns += PERIOD;
        look(&task);
    }
    const struct hp_wait expected = *entry(0);
    assert_int_equal(expected.cause, HP_WAIT_LOCK);
    assert_int_equal(expected.peer, PID + 1);
    assert_string_equal(expected.holder, "a long name of ");
    assert_int_equal(expected.held_working, 2);
    assert_int_equal(expected.held_waiting, 3);
    assert_int_equal(expected.held_cause, HP_WAIT_DISK);
    show_memory(2, 0);
    fake_ns += PERIOD;
    look(&task);
    for (uint32_t at = 1; at < waits->used; at++)
        assert_int_equal(entry(at)->held_working + entry(at)->held_waiting, 0);
    assert_int_equal(entry(0)->held_waiting, 3);
}

/* Who has the other end is asked once for each wait, and only of pipes and sockets. */
static unsigned asked;
static uint32_t answer(void *context, uint32_t pid, uint32_t descriptor, const char *what)
{
    assert_string_equal(what, "pipe:[12]");
    assert_ptr_equal(context, &asked);
    assert_int_equal(pid, PID);
    assert_int_equal(descriptor, 7);
    asked++;
    return 4711;
}

static void other_end_of_a_pipe_is_kept(void **state)
{
    (void)state;
    struct task task = first_task();
    const struct hp_proc_sampler_target target = {.pid = PID,
                                                  .read = builder_read,
                                                  .write = builder_write,
                                                  .context = &session,
                                                  .other_end = answer,
                                                  .ends = &asked};
    asked = 0;
    assert_true(hp_proc_sampler_begin(watch, &target));
    look(&task);
    task.call = SYS_read;
    task.arguments[0] = 7;
    fake_link("4000/fd/7", "pipe:[12]");
    for (int probes = 0; probes < 3; probes++) {
        wait_for(&task, PERIOD);
        look(&task);
    }
    assert_int_equal(entry(0)->cause, HP_WAIT_PIPE);
    assert_int_equal(entry(0)->peer, 4711);
    assert_int_equal(asked, 1);
    task.call = SYS_clock_nanosleep;
    task.slices++;
    wait_for(&task, PERIOD);
    look(&task);
    assert_int_equal(entry(1)->peer, 0);
    assert_int_equal(asked, 1);
}

static uint32_t other_pid;
static uint32_t answer_of_socket(void *context, uint32_t pid, uint32_t descriptor, const char *what)
{
    (void)context;
    (void)what;
    assert_int_equal(pid + descriptor, PID + 7);
    return other_pid;
}

/* A socket is waited for without need only if another process of the run has the other end, and something works. */
static void socket_to_another_process_is_idle(void **state)
{
    (void)state;
    const struct {
        uint32_t peer, at_work;
        bool is_idle;
    } truth[] = {{0, 1, false}, {PID, 1, false}, {4711, 0, false}, {4711, 1, true}};
    for (size_t at = 0; at < sizeof truth / sizeof truth[0]; at++) {
        struct task task = first_task();
        const struct hp_proc_sampler_target target = {.pid = PID,
                                                      .read = builder_read,
                                                      .write = builder_write,
                                                      .context = &session,
                                                      .listener = &listener,
                                                      .at_work = &truth[at].at_work,
                                                      .other_end = answer_of_socket};
        if (at > 0) {
            tear_down(state);
            set_up(state);
        }
        memset(&heard, 0, sizeof heard);
        other_pid = truth[at].peer;
        assert_true(hp_proc_sampler_begin(watch, &target));
        look(&task);
        task.call = SYS_read;
        task.arguments[0] = 7;
        fake_link("4000/fd/7", "socket:[12]");
        wait_for(&task, PERIOD);
        look(&task);
        fake_ns += PERIOD;
        look(&task);
        hp_proc_sampler_end(watch);
        assert_int_equal(credited(HP_WAIT_SOCKET, 0), 2 * PERIOD);
        assert_int_equal(heard.idle_ns, truth[at].is_idle ? 2 * PERIOD : 0);
    }
}

/* A poll of one descriptor, which is a timer. Others say no more than the call. */
static void poll_of_a_timer_is_named(void **state)
{
    (void)state;
    struct task task = first_task();
    task.call = SYS_ppoll;
    task.arguments[0] = ADDRESS;
    task.arguments[1] = 1;
    begin();
    look(&task);
    show_memory(7, 0);
    fake_link("4000/fd/7", "anon_inode:[timerfd]");
    wait_for(&task, PERIOD);
    look(&task);
    assert_int_equal(entry(0)->cause, HP_WAIT_POLL);
    assert_string_equal(entry(0)->what, "timer");
    be_ready_for(&task, 0);
    task.arguments[1] = 2;
    wait_for(&task, PERIOD);
    look(&task);
    assert_string_equal(entry(1)->what, "");
}

static void process_after_exec_is_not_sampled(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    fake_link("4000/exe", "/opt/another");
    assert_false(hp_proc_sample(watch));
}

static void ended_thread_keeps_its_sums(void **state)
{
    (void)state;
    struct task task = first_task();
    begin();
    look(&task);
    wait_for(&task, PERIOD);
    look(&task);
    fake_remove("4000/task/4000");
    fake_ns += PERIOD;
    assert_false(hp_proc_sample(watch));
    hp_proc_sampler_end(watch);
    assert_int_equal(credited_to_all(), PERIOD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wait_has_its_full_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(run_queue_time_after_a_wake_up_belongs_to_the_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(run_queue_time_of_a_running_thread_belongs_to_its_zone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stolen_time_is_not_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_never_exceed_the_elapsed_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_are_sampled_from_their_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waiting_beside_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waiting_for_a_child_names_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holder_of_a_lock_is_read_at_each_sample, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holder_is_named_with_what_it_did, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lock_that_was_kept_is_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lock_that_was_given_up_is_not_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holder_that_waits_has_its_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pause_follows_the_locks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_end_of_a_pipe_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(socket_to_another_process_is_idle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(poll_of_a_timer_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_after_exec_is_not_sampled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ended_thread_keeps_its_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(session_has_the_time_in_which_it_worked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(thread_without_a_cpu_works, set_up, tear_down),
        cmocka_unit_test_setup_teardown(listener_is_told_of_each_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(listener_is_told_of_waits_that_go_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(listener_is_told_of_corrections, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
