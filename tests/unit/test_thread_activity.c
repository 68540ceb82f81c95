/*
 * What threads did over time: a process whose threads do one thing after another by a made-up /proc and clock, its
 * sampler, its time axis, and the numbers read from that. All are exact. SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "arena.h"
#include "axis_feed.h"
#include "fake_kernel.h"
#include "proc_sampler.h"
#include "scratch_folder.h"
#include "session_builder.h"
#include "snapshot.h"
#include "thread_activity.h"

#define PID 4000u
#define TICK (10 * MS) /* of the kernel's times */
#define SLOT HP_AXIS_FIRST_SLOT_NS

static struct session_builder session;
static struct hp_proc_sampler *sampler;
static struct hp_axis_feed *feed;
static struct hp_snapshot snapshot;
static struct hp_arena arena;
static struct hp_run run;
static struct hp_run_axis axis;
static struct hp_thread_activity threads[HP_AXIS_THREADS];
static size_t thread_count;
static uint64_t began_ns;

/* ------------------------------------------------------------------------------------------ threads */

struct task {
    uint32_t tid;
    const char *name;
    char state;
    int32_t call;
    uint64_t ran, kernel, ready, slices;
};

static void show(const struct task *task)
{
    char folder[64], path[80];
    snprintf(folder, sizeof folder, "%u/task/%u", PID, task->tid);
    snprintf(path, sizeof path, "%s/stat", folder);
    fake_file(path, "1 (%s) %c 1 1 1 0 -1 0 0 0 0 0 %llu %llu 0 0 20 0 1 0 0 0\n", task->name, task->state,
              (unsigned long long)((task->ran - task->kernel) / TICK), (unsigned long long)(task->kernel / TICK));
    snprintf(path, sizeof path, "%s/schedstat", folder);
    fake_file(path, "%llu %llu %llu\n", (unsigned long long)task->ran, (unsigned long long)task->ready,
              (unsigned long long)task->slices);
    snprintf(path, sizeof path, "%s/syscall", folder);
    if (task->state == 'R')
        fake_file(path, "running\n");
    else
        fake_file(path, "%d 0x1 0x2 0x0 0x0 0x0 0x0 0x7ffc0000 0x550000\n", (int)task->call);
}

/* What a thread does until the next sample. */
static void compute(struct task *task, uint64_t ns, uint64_t kernel)
{
    task->slices += task->state != 'R';
    task->state = 'R';
    task->ran += ns;
    task->kernel += kernel;
}

static void wait_in(struct task *task, int32_t call)
{
    task->state = 'S';
    task->call = call;
}

static void be_ready(struct task *task, uint64_t ns)
{
    task->state = 'R';
    task->ready += ns;
    task->slices++;
}

static void pass(uint64_t ns)
{
    fake_ns += ns;
    assert_true(hp_proc_sample(sampler));
    hp_axis_feed_look(feed, sampler);
}

/* -------------------------------------------------------------------------------------------- the session */

static int set_up(void **state)
{
    (void)state;
    fake_kernel_begin();
    fake_link("4000/exe", "/opt/program");
    builder_init(&session, 1u << 20);
    builder_waits(&session, HP_WATCH_ENTRIES)->watcher = 0;
    builder_thread_usage(&session, HP_THREAD_USAGE_ROWS)->samples = 0;
    sampler = calloc(1, sizeof *sampler);
    feed = calloc(1, sizeof *feed);
    struct hp_header *header = builder_header(&session);
    header->pid = PID;
    header->state = HP_STATE_LIVE;
    header->clock_start.ns = header->clock_start.ticks = began_ns = fake_ns;
    snprintf(feed->path, sizeof feed->path, "%s/1.hotpath", scratch_folder);
    feed->session = open(feed->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    const struct hp_proc_sampler_target target = {
        .pid = PID, .read = builder_read, .write = builder_write, .context = &session};
    return !(feed->session >= 0 && write(feed->session, session.bytes, builder_size(&session)) > 0 &&
             hp_proc_sampler_begin(sampler, &target));
}

static int tear_down(void **state)
{
    char command[120];
    (void)state;
    free(sampler);
    close(feed->session);
    free(feed);
    builder_free(&session);
    hp_arena_release(&arena);
    fake_kernel_end();
    snprintf(command, sizeof command, "rm -f %s/*", scratch_folder);
    return system(command); /* NOLINT(cert-env33-c): the words are our own */
}

static void read_all(void)
{
    static char path[sizeof feed->path];
    const struct hp_snapshot *all[] = {&snapshot};
    const struct hp_snapshots snapshots = {.all = all, .count = 1};
    struct hp_header *header = builder_header(&session);
    snprintf(path, sizeof path, "%s", feed->path);
    hp_proc_sampler_end(sampler);
    hp_axis_feed_end(feed, sampler);
    header->state = HP_STATE_FINISHED;
    header->clock_latest.ns = header->clock_latest.ticks = fake_ns;
    assert_null(hp_snapshot_open(&snapshot, session.bytes, builder_size(&session), NULL));
    snapshot.path = path;
    hp_arena_release(&arena);
    void *bytes = hp_arena_take(&arena, HP_AXIS_BYTES);
    assert_true(hp_run_init(&run, &arena, &snapshots) && hp_run_axis_read(&axis, &run, 0, bytes));
    thread_count = hp_thread_activities(&axis, threads);
}

static const struct hp_thread_activity *thread_of(uint32_t tid)
{
    for (size_t at = 0; at < thread_count; at++)
        if (threads[at].tid == tid)
            return &threads[at];
    return NULL;
}

/* Between two samples the thread did this, all times in ms. */
static void assert_did(uint32_t tid, uint64_t from, uint64_t to, const uint64_t truth[HP_ALL_PARTS])
{
    uint64_t ns[HP_ALL_PARTS];
    assert_non_null(thread_of(tid));
    hp_thread_activity_in(&axis, thread_of(tid), from * MS, to * MS, ns);
    for (unsigned part = 0; part < HP_ALL_PARTS; part++)
        assert_int_equal(ns[part], truth[part] * MS);
}

#define DID(...) ((const uint64_t[HP_ALL_PARTS]){__VA_ARGS__})

/* -------------------------------------------------------------------------------------------------- tests */

/*
 * A second of sleep, one of computing, half of one in the run queue, one for a lock, and, after more computing, one
 * for a disk.
 */
static void step_of_the_worker(struct task *task, unsigned step)
{
    if (step < 4)
        wait_in(task, SYS_clock_nanosleep);
    else if (step < 8)
        compute(task, SLOT, 100 * MS);
    else if (step < 10)
        be_ready(task, SLOT);
    else if (step < 14)
        wait_in(task, SYS_flock);
    else if (step < 15)
        compute(task, SLOT, 0);
    else
        wait_in(task, SYS_fsync);
}

static void groups_of_a_thread_are_exact(void **state)
{
    (void)state;
    struct task task = {.tid = PID, .name = "worker", .state = 'R', .slices = 1};
    show(&task);
    pass(0);
    for (unsigned step = 0; step < 19; step++) {
        step_of_the_worker(&task, step);
        show(&task);
        pass(SLOT);
    }
    read_all();
    assert_int_equal(thread_count, 1);
    assert_string_equal(threads[0].name, "worker");
    assert_did(PID, 0, 1000, DID([HP_PART_SLEEP] = 1000));
    assert_did(PID, 250, 500, DID([HP_PART_SLEEP] = 250));
    assert_did(PID, 1000, 2000, DID([HP_PART_USER] = 600, [HP_PART_KERNEL] = 400));
    assert_did(PID, 2000, 2500, DID([HP_PART_QUEUE] = 500));
    assert_did(PID, 2500, 3500, DID([HP_PART_LOCK] = 1000));
    assert_did(PID, 3500, 3750, DID([HP_PART_USER] = 250));
    assert_did(PID, 3750, 4750, DID([HP_PART_DISK] = 1000));
    assert_did(PID, 0, 4750,
               DID([HP_PART_USER] = 850, [HP_PART_KERNEL] = 400, [HP_PART_QUEUE] = 500, [HP_PART_SLEEP] = 1000,
                   [HP_PART_LOCK] = 1000, [HP_PART_DISK] = 1000));
    assert_did(PID, 750, 1250, DID([HP_PART_SLEEP] = 250, [HP_PART_USER] = 150, [HP_PART_KERNEL] = 100));
    assert_did(PID, 1100, 1150, DID([HP_PART_USER] = 30, [HP_PART_KERNEL] = 20)); /* within a slot */
}

/* The kernel counts the time in the queue at its end: 250 ms of these 450 were before the first sample. */
static void the_queue_before_the_first_sample(void **state)
{
    (void)state;
    struct task task = {.tid = PID, .name = "worker", .state = 'R', .slices = 1};
    show(&task);
    pass(0);
    be_ready(&task, 450 * MS);
    task.ran += 50 * MS;
    show(&task);
    pass(SLOT);
    compute(&task, SLOT, 0);
    show(&task);
    pass(SLOT);
    read_all();
    assert_did(PID, 0, 500, DID([HP_PART_USER] = 300, [HP_PART_QUEUE] = 200));
}

/* The same in the steps of a picture. */
static void groups_in_steps(void **state)
{
    (void)state;
    struct task task = {.tid = PID, .name = "worker", .state = 'R', .slices = 1};
    uint64_t moments[9];
    double locks[8] = {0};
    for (unsigned at = 0; at < 9; at++)
        moments[at] = at * 2 * SLOT;
    const struct hp_run_steps steps = {.moments = moments, .count = 8};
    show(&task);
    pass(0);
    for (unsigned step = 0; step < 19; step++) {
        step_of_the_worker(&task, step);
        show(&task);
        pass(SLOT);
    }
    read_all();
    assert_true(hp_thread_activity_add(&axis, &threads[0], HP_PART_LOCK, &steps, 1e-6, locks));
    for (unsigned at = 0; at < 8; at++)
        assert_int_equal((uint64_t)(locks[at] + 0.5), at == 5 || at == 6 ? 500 : 0);
    assert_false(hp_thread_activity_add(&axis, &threads[0], HP_PART_NETWORK, &steps, 1, locks));
}

/* 200 s of work, then 200 s for a lock: more than there are slots. */
static void groups_after_slots_were_merged(void **state)
{
    (void)state;
    struct task task = {.tid = PID, .name = "worker", .state = 'R', .slices = 1};
    show(&task);
    pass(0);
    for (unsigned step = 0; step < 1600; step++) {
        if (step < 800)
            compute(&task, SLOT, 0);
        else
            wait_in(&task, SYS_flock);
        show(&task);
        pass(SLOT);
    }
    read_all();
    assert_int_equal(axis.axis.header.slot_ns, 4 * SLOT);
    /* The last samples of slots are exact. */
    assert_did(PID, 0, 199750, DID([HP_PART_USER] = 199750));
    assert_did(PID, 199750, 200750, DID([HP_PART_USER] = 250, [HP_PART_LOCK] = 750));
    assert_did(PID, 200750, 400000, DID([HP_PART_LOCK] = 199250));
}

/* A thread that waits for clients is idle, and so is one that sleeps while another works. */
static void idle_waits_are_in_no_other_group(void **state)
{
    (void)state;
    struct task worker = {.tid = PID, .name = "worker", .state = 'R', .slices = 1},
                server = {.tid = PID + 1, .name = "server", .state = 'S', .call = SYS_accept, .slices = 1},
                sleeper = {.tid = PID + 2, .name = "sleeper", .state = 'S', .slices = 1};
    sleeper.call = SYS_clock_nanosleep;
    for (unsigned step = 0; step <= 12; step++) {
        if (step > 0 && step <= 4) {
            compute(&server, SLOT, 0);
            compute(&worker, SLOT, 0);
        } else if (step > 4 && step <= 8) {
            wait_in(&server, SYS_accept);
            compute(&worker, SLOT, 0);
        } else {
            wait_in(&worker, SYS_clock_nanosleep);
        }
        show(&worker);
        show(&server);
        show(&sleeper);
        pass(step > 0 ? SLOT : 0);
    }
    read_all();
    assert_did(PID, 0, 3000, DID([HP_PART_USER] = 2000, [HP_PART_SLEEP] = 1000));
    assert_did(PID + 1, 0, 3000, DID([HP_PART_USER] = 1000, [HP_PART_IDLE] = 2000));
    assert_did(PID + 2, 2000, 3000, DID([HP_PART_SLEEP] = 1000));
}

/* A thread that begins later has no time before; what it did since the last sample counts. */
static void late_thread(void **state)
{
    (void)state;
    struct task first = {.tid = PID, .name = "first", .state = 'R', .slices = 1},
                late = {.tid = PID + 1, .name = "late", .state = 'R', .slices = 1};
    show(&first);
    pass(0);
    for (unsigned step = 0; step < 8; step++) {
        compute(&first, SLOT, 0);
        if (step >= 4)
            compute(&late, SLOT, 0);
        show(&first);
        if (step >= 4)
            show(&late);
        pass(SLOT);
    }
    read_all();
    assert_did(PID + 1, 0, 1000, DID(0));
    assert_did(PID + 1, 1000, 1250, DID([HP_PART_USER] = 250));
    assert_did(PID + 1, 1000, 2000, DID([HP_PART_USER] = 1000));
}

/* A process that begins a second after its run has no level before, and neither after its end. */
static void levels_of_a_late_process(void **state)
{
    (void)state;
    struct task task = {.tid = PID, .name = "late", .state = 'R', .slices = 1};
    uint64_t moments[15];
    double live[14] = {0};
    for (unsigned at = 0; at < 15; at++)
        moments[at] = at * SLOT;
    const struct hp_run_steps steps = {.moments = moments, .count = 14};
    show(&task);
    pass(0);
    for (unsigned step = 0; step < 8; step++) {
        compute(&task, SLOT, 0);
        show(&task);
        pass(SLOT);
    }
    read_all();
    axis.run_start_ns -= 4 * SLOT;
    axis.end_ns += 4 * SLOT;
    assert_true(hp_run_axis_add(&axis, hp_axis_find(&axis.axis, HP_AXIS_LIVE, 0), &steps, 1, live));
    for (unsigned at = 0; at < 14; at++)
        assert_int_equal((int)live[at], at >= 4 && at < 12 ? 1 : 0);
}

/* Of more threads than there are places, those that do most are kept. */
static void most_active_threads_are_kept(void **state)
{
    (void)state;
    struct task all[HP_AXIS_THREADS + 1];
    for (uint32_t at = 0; at <= HP_AXIS_THREADS; at++) {
        all[at] = (struct task){.tid = PID + at, .name = "a", .state = 'R', .slices = 1};
        show(&all[at]);
    }
    pass(0);
    for (unsigned step = 0; step < 4; step++) {
        for (uint32_t at = 0; at <= HP_AXIS_THREADS; at++) {
            compute(&all[at], at == 3 ? SLOT / 10 : at == HP_AXIS_THREADS ? SLOT : SLOT / 2, 0);
            show(&all[at]);
        }
        pass(SLOT);
    }
    read_all();
    assert_int_equal(thread_count, HP_AXIS_THREADS);
    assert_null(thread_of(PID + 3));
    assert_non_null(thread_of(PID + HP_AXIS_THREADS));
    assert_did(PID + 1, 0, 1000, DID([HP_PART_USER] = 500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_of_a_thread_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_queue_before_the_first_sample, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_in_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_after_slots_were_merged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(idle_waits_are_in_no_other_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(late_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(levels_of_a_late_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(most_active_threads_are_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
