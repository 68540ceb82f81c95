/*
 * The first sentence of programs without measured functions: one test for each rule. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/syscall.h>

#include "arena.h"
#include "found_tree.h"
#include "lock_profile.h"
#include "model.h"
#include "report_fixture.h"

#define MS TREE_MS
#define SECOND (1000 * MS)

static struct found_tree tree;
static struct hp_arena model_arena;
static uint64_t elapsed;
static uint32_t next_thread;

/* A program that used so much CPU time, in a process of its own; NULL is the first one. */
static void add_program(struct session_builder *session, const char *file, uint64_t cpu_ns)
{
    struct hp_header *header = builder_header(session);
    header->executable = builder_text(session, file);
    header = builder_header(session);
    header->command = builder_text(session, file);
    header = builder_header(session);
    header->features |= HP_FEATURE_CPU;
    header->cores = 2;
    header->cpu_start_ns = 0;
    header->cpu_latest_ns = cpu_ns;
    builder_elapse(session, elapsed, 1);
    builder_thread_usage(session, 32);
}

static struct hp_thread_usage_row *add_thread(struct session_builder *session, const char *name, uint64_t cpu_ns)
{
    struct hp_thread_usage_row *row = builder_thread_usage_row(session, name, ++next_thread);
    row->user_ns = cpu_ns;
    row->lived_ns = elapsed;
    return row;
}

static void observe_work(uint64_t worked_ns, uint64_t blocked_ns, uint64_t idle_ns)
{
    struct hp_work_times *work = &builder_header(&builder)->work;
    work->covered_ns = worked_ns + blocked_ns + idle_ns;
    work->worked_ns = worked_ns;
    work->blocked_ns = blocked_ns;
}

static const struct hp_lock_profile *counted; /* NULL: no hooks counted locks */

static int set_up(void **state)
{
    fixture_set_up(state);
    elapsed = SECOND;
    next_thread = 7000;
    counted = NULL;
    tree_begin(&tree);
    tree_process(&tree, builder_header(&builder)->pid, "demo", "/usr/bin/demo");
    return 0;
}

static int tear_down(void **state)
{
    hp_arena_release(&model_arena);
    return fixture_tear_down(state);
}

static const char *sentence(void)
{
    static struct hp_model model;
    hp_arena_release(&model_arena);
    memset(&model, 0, sizeof model);
    assert_true(hp_model_build(&model, &model_arena, &model_arena, fixture_open(NULL)));
    model.functions = &tree.profile;
    model.locks = counted;
    const hotpath_results *made = hp_results_of_model(&model, &settings);
    assert_non_null(made);
    return hotpath_results_headline(made);
}

static void assert_said(const char *expected) { assert_string_equal(sentence(), expected); }

/* One process that computes. */
static void build_busy(void)
{
    add_program(&builder, "/usr/bin/demo", 980 * MS);
    add_thread(&builder, "demo", 980 * MS);
    tree_add(&tree, "main;encode;mix", 900);
    tree_add(&tree, "main;load", 80);
    observe_work(990 * MS, 0, 10 * MS);
}

static void one_thread_computes(void **state)
{
    (void)state;
    build_busy();
    assert_said("CPU-bound on one CPU: mix takes 92 % of the CPU time, called by encode");
}

/* Only where many calls of few bytes have much of the time. */
static void calls_of_few_bytes_are_said(void **state)
{
    (void)state;
    static const char plain[] =
        "CPU-bound on one CPU: emit takes 92 % of the CPU time, all of it in the system call write";
    const struct {
        uint64_t calls, bytes;
        const char *more;
    } truth[] = {{300000, 300000, "; a write is of 1 byte on average"},
                 {300000, 300000 * 63, "; a write is of 63 bytes on average"},
                 {300000, 300000 * 64, ""},
                 {9999, 9999, ""},
                 {0, 0, ""}};
    add_program(&builder, "/usr/bin/demo", 980 * MS);
    add_thread(&builder, "demo", 980 * MS);
    tree_add(&tree, "main;emit;write@libc.so.6;[kernel: write]@", 900);
    tree_add(&tree, "main;load", 80);
    observe_work(990 * MS, 0, 10 * MS);
    for (size_t at = 0; at < sizeof truth / sizeof truth[0]; at++) {
        char said[200];
        struct hp_thread_usage *usage = builder_at(&builder, builder_header(&builder)->thread_usage);
        usage->write_calls = truth[at].calls;
        usage->write_bytes = truth[at].bytes;
        usage->read_calls = 300000; /* which take no time */
        snprintf(said, sizeof said, "%s%s", plain, truth[at].more);
        assert_said(said);
    }
}

/* The function that was named is not the one that makes them. */
static void calls_of_few_bytes_of_another_function(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 980 * MS);
    add_thread(&builder, "demo", 980 * MS);
    tree_add(&tree, "main;compute", 520);
    tree_add(&tree, "main;emit;pwrite64@libc.so.6;[kernel: pwrite64]@", 370);
    tree_add(&tree, "main;save;pwrite64@libc.so.6;[kernel: pwrite64]@", 90);
    observe_work(990 * MS, 0, 10 * MS);
    struct hp_thread_usage *usage = builder_at(&builder, builder_header(&builder)->thread_usage);
    usage->write_calls = usage->write_bytes = 300000;
    assert_said(
        "CPU-bound on one CPU: compute takes 53 % of the CPU time, nearly all in its own code; a write is of 1 "
        "byte on average (in emit)");
}

static void threads_share_all_cpus(void **state)
{
    (void)state;
    build_busy();
    add_program(&builder, "/usr/bin/demo", 1960 * MS);
    add_thread(&builder, "worker", 980 * MS);
    tree_add(&tree, "main;encode;mix", 980);
    assert_said("CPU-bound on all 2 CPUs: mix takes 96 % of the CPU time, called by encode");
}

/* Half of the CPU time is in two threads that ran at once: a third of the time that anything ran. */
static void threads_at_once_share_the_time(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 1200 * MS);
    add_thread(&builder, "demo", 600 * MS);
    add_thread(&builder, "worker", 600 * MS);
    tree_add(&tree, "main;alone", 600);
    tree.nodes[tree.profile.node_count - 1].wall_ns = 600 * MS;
    tree_add(&tree, "main;at_once", 600);
    tree.nodes[tree.profile.node_count - 1].wall_ns = 300 * MS;
    tree.profile.wall_ns = 900 * MS;
    assert_said("CPU-bound, 1.2 of 2 CPUs: alone takes 67 % of the wall-clock time, nearly all in its own code");
}

/* A busy machine has the sentence of a quiet one, but for its beginning. */
static void a_machine_short_of_cpu(void **state)
{
    (void)state;
    elapsed = 4 * SECOND;
    add_program(&builder, "/usr/bin/demo", 980 * MS);
    add_thread(&builder, "demo", 980 * MS)->waited_ns[HP_WAIT_RUN_QUEUE] = 3000 * MS;
    tree_add(&tree, "main;encode;mix", 900);
    tree_add(&tree, "main;load", 80);
    observe_work(3990 * MS, 0, 10 * MS);
    assert_said("Short of CPU (ran 980.00 ms, queued 3.00 s): mix takes 92 % of the CPU time, called by encode");
}

static void few_samples_are_said(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 80 * MS);
    add_thread(&builder, "demo", 80 * MS);
    tree_add(&tree, "main;load", 80);
    assert_said("Ran 80.00 ms of 1.00 s: load takes 100 % of the CPU time, nearly all in its own code (only 80 "
                "samples)");
}

static void too_short_to_tell(void **state)
{
    (void)state;
    elapsed = 90 * MS;
    add_program(&builder, "/usr/bin/demo", 15 * MS);
    add_thread(&builder, "demo", 15 * MS);
    tree_add(&tree, "main;load", 15);
    assert_said("Too short to tell: 15 CPU samples (15.00 ms of CPU time in 90.00 ms)");
}

/* A thread in the background has waited a little longer: the one that serves is named. */
static void hardly_any_cpu_time_beside_the_background(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 4 * MS);
    add_thread(&builder, "demo", 3 * MS)->waited_ns[HP_WAIT_POLL] = 980 * MS;
    add_thread(&builder, "saver", MS)->waited_ns[HP_WAIT_CONDITION] = 998 * MS;
    tree_add(&tree, "main;load", 3);
    tree_wait(&tree, "save;pthread_cond_wait@libc.so.6", HP_WAIT_CONDITION, "condition", 998);
    tree_wait(&tree, "main;serve;epoll_wait@libc.so.6", HP_WAIT_POLL, "poll: epoll_wait", 980);
    assert_said("Idle: 3.00 ms of CPU time in 1.00 s; serve waits (poll: epoll_wait) for 98 % of the run");
}

/* A program that hardly runs waits: for what is known even so. */
static void hardly_any_cpu_time(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 3 * MS);
    add_thread(&builder, "demo", 3 * MS)->waited_ns[HP_WAIT_POLL] = 980 * MS;
    tree_add(&tree, "main;load", 3);
    tree_wait(&tree, "main;serve;epoll_wait@libc.so.6", HP_WAIT_POLL, "poll: epoll_wait", 980);
    assert_said("Idle: 3.00 ms of CPU time in 1.00 s; serve waits (poll: epoll_wait) for 98 % of the run");
}

static void idle_most_of_the_time(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 200 * MS);
    add_thread(&builder, "demo", 200 * MS)->waited_ns[HP_WAIT_POLL] = 790 * MS;
    tree_add(&tree, "main;serve;answer", 200);
    tree_wait(&tree, "main;serve;epoll_wait@libc.so.6", HP_WAIT_POLL, "poll: epoll_wait", 790);
    observe_work(210 * MS, 0, 790 * MS);
    assert_said("Idle for 79 % of 1.00 s: serve waits (poll: epoll_wait). When it works, answer takes 100 % of the "
                "CPU time, called by serve");
    /* Idle time and CPU time are never more than the run. */
    observe_work(10 * MS, 0, 990 * MS);
    assert_memory_equal(sentence(), "Idle for 80 % of 1.00 s: ", 25);
}

/* A busy machine takes the program longer, but it waits for the same. */
static void idle_on_a_busy_machine(void **state)
{
    (void)state;
    elapsed = 2800 * MS;
    add_program(&builder, "/usr/bin/demo", 200 * MS);
    struct hp_thread_usage_row *thread = add_thread(&builder, "demo", 200 * MS);
    thread->waited_ns[HP_WAIT_SLEEP] = 800 * MS;
    thread->waited_ns[HP_WAIT_RUN_QUEUE] = 1800 * MS;
    tree_add(&tree, "main;draw", 200);
    tree_wait(&tree, "main;wait_for_tick;nanosleep@libc.so.6", HP_WAIT_SLEEP, "sleep", 800);
    observe_work(2000 * MS, 0, 800 * MS);
    assert_said("Idle for 29 % of 2.80 s: wait_for_tick waits (sleep). When it works, draw takes 100 % of the CPU "
                "time, nearly all in its own code");
}

static void busy_for_a_part(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 600 * MS);
    add_thread(&builder, "demo", 600 * MS)->waited_ns[HP_WAIT_SLEEP] = 390 * MS;
    tree_add(&tree, "main;serve;answer", 600);
    observe_work(600 * MS, 0, 400 * MS);
    assert_said("Busy for 60 % of 1.00 s: answer takes 100 % of the CPU time, called by serve");
}

static void the_disk_is_waited_for(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 200 * MS);
    struct hp_thread_usage_row *thread = add_thread(&builder, "demo", 200 * MS);
    thread->waited_ns[HP_WAIT_DISK] = 600 * MS;
    tree_add(&tree, "main;save", 200);
    tree_wait(&tree, "main;save;fsync@libc.so.6", HP_WAIT_DISK, "disk: /data/x.db", 600);
    observe_work(200 * MS, 600 * MS, 200 * MS);
    assert_said(
        "Waiting for the disk: save waits 75 % of its time for x.db (600.00 ms against 200.00 ms of CPU time)");
    thread->waited_ns[HP_WAIT_RUN_QUEUE] = 800 * MS;
    assert_said(
        "Waiting for the disk: save waits 75 % of its time for x.db (600.00 ms against 200.00 ms of CPU time)");
    thread->waited_ns[HP_WAIT_RUN_QUEUE] = 801 * MS; /* which explains most of the run */
    assert_said("Waiting for the disk: save waits 75 % of its time for x.db (600.00 ms against 200.00 ms of CPU "
                "time; ready without a free CPU for 801.00 ms)");
    thread->waited_ns[HP_WAIT_RUN_QUEUE] = 0;
    thread->waited_ns[HP_WAIT_DISK] = 290 * MS; /* hardly more than the CPU time */
    assert_memory_equal(sentence(), "Ran 200.00 ms of 1.00 s: save takes", 35);
}

/* All of the time is not "for" one of them. */
static void many_files_are_not_named(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 200 * MS);
    add_thread(&builder, "demo", 200 * MS)->waited_ns[HP_WAIT_DISK] = 600 * MS;
    tree_add(&tree, "main;search", 200);
    tree_wait(&tree, "main;search;open@libc.so.6", HP_WAIT_DISK, "disk: /data/a", 280);
    tree_wait(&tree, "main;search;open@libc.so.6", HP_WAIT_DISK, "disk: /data/b", 200);
    tree_wait(&tree, "main;search;open@libc.so.6", HP_WAIT_DISK, "disk: /data/c", 120);
    observe_work(200 * MS, 600 * MS, 200 * MS);
    assert_said("Waiting for the disk: search waits 75 % of its time (600.00 ms against 200.00 ms of CPU time)");
}

/* Whoever answers is the bottleneck, if it works meanwhile. */
static void a_socket_is_waited_for(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 100 * MS);
    struct hp_thread_usage_row *thread = add_thread(&builder, "demo", 100 * MS);
    thread->waited_ns[HP_WAIT_SOCKET] = 800 * MS;
    tree_add(&tree, "main;ask", 100);
    tree_wait(&tree, "main;ask;recv@libc.so.6", HP_WAIT_SOCKET, "socket: 10.0.0.1:5432", 800);
    assert_said(
        "Waiting for a socket: ask waits 89 % of its time for 10.0.0.1:5432 (800.00 ms against 100.00 ms of CPU "
        "time)");
    struct session_builder *server = fixture_add_session();
    add_program(server, "/usr/bin/server", 700 * MS);
    add_thread(server, "server", 700 * MS);
    tree_process(&tree, builder_header(server)->pid, "server", "/usr/bin/server");
    tree_add(&tree, "main;query", 700);
    assert_said("CPU-bound on one CPU: server has 88 % of the CPU time of 2 processes; in it, query takes 100 % of "
                "its CPU time, nearly all in its own code");
}

static void threads_wait_for_a_lock(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 900 * MS);
    for (int at = 0; at < 3; at++)
        add_thread(&builder, "worker", 300 * MS)->waited_ns[HP_WAIT_LOCK] = 600 * MS;
    tree_add(&tree, "main;update", 900);
    tree_wait(&tree, "main;publish;pthread_mutex_lock@libc.so.6", HP_WAIT_LOCK, "lock", 1800);
    assert_said(
        "Lock contention: 3 threads wait 60 % of their time for a lock in publish; the holder was not recorded. "
        "Of what runs, update takes 100 % of the CPU time, nearly all in its own code");
}

/* The holder of a lock is short of CPU, and so others wait for it: on an idle machine they would not. */
static void locks_on_a_busy_machine(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 500 * MS);
    for (int at = 0; at < 2; at++) {
        struct hp_thread_usage_row *thread = add_thread(&builder, "worker", 250 * MS);
        thread->waited_ns[HP_WAIT_LOCK] = 200 * MS;
        thread->waited_ns[HP_WAIT_RUN_QUEUE] = 550 * MS;
    }
    tree_add(&tree, "main;update", 900);
    tree_wait(&tree, "main;publish;pthread_mutex_lock@libc.so.6", HP_WAIT_LOCK, "lock", 400);
    assert_said(
        "Short of CPU (ran 500.00 ms, queued 1.10 s): update takes 100 % of the CPU time, nearly all in its "
        "own code");
}

/* Each of many processes has too little CPU time for its waits to count, but one was always ready to run. */
static void short_processes_on_a_busy_machine(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 501 * MS);
    for (int at = 0; at < 25; at++)
        add_thread(&builder, "demo", 20 * MS)->waited_ns[HP_WAIT_RUN_QUEUE] = 30 * MS;
    tree_add(&tree, "main;encode", 500);
    observe_work(990 * MS, 0, 10 * MS);
    assert_said(
        "CPU-bound (ran 501.00 ms, queued 489.00 ms): encode takes 100 % of the CPU time, nearly all in its own "
        "code");
}

/* What its holder did was recorded: nothing else is said of what runs. */
static void holder_of_a_lock_is_told(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 900 * MS);
    builder_waits(&builder, 4);
    struct hp_wait *wait = builder_wait(&builder, 0, HP_WAIT_LOCK, SYS_futex, "", 1800 * MS);
    memcpy(wait->holder, "worker", 6);
    wait->held_working = 4;
    for (int at = 0; at < 3; at++)
        add_thread(&builder, "worker", 300 * MS)->waited_ns[HP_WAIT_LOCK] = 600 * MS;
    tree_add(&tree, "main;count", 600);
    tree_add(&tree, "main;update;mix", 300);
    tree_wait(&tree, "main;publish;pthread_mutex_lock@libc.so.6", HP_WAIT_LOCK, "lock", 1800);
    tree_hold(&tree, "publish", "main;update;mix", 1000, 3);
    tree_hold(&tree, "publish", "main;count", 100, 1);
    assert_said(
        "Lock contention: 3 threads wait 60 % of their time for a lock in publish; its holder (worker) works "
        "meanwhile. Of what runs, count takes 67 % of the CPU time, nearly all in its own code");
    tree_hold(&tree, "publish", "main;update;mix", 100, 1);
    assert_said(
        "Lock contention: 3 threads wait 60 % of their time for a lock in publish; its holder (worker) works "
        "meanwhile: mix takes 92 % of that time, called by update");
    wait->held_waiting = 5;
    wait->held_cause = HP_WAIT_DISK;
    assert_said(
        "Lock contention: 3 threads wait 60 % of their time for a lock in publish; its holder (worker) waits "
        "meanwhile (disk): mix takes 92 % of that time, called by update");
}

/* What hooks counted stands in place of what samples found. */
static void counted_locks_are_named(void **state)
{
    (void)state;
    struct hp_lock_row lock = {.name = "index_lock", .kind = HP_LOCK_MUTEX, .wait_ns = 1.8e9, .blame_ns = 1.71e9};
    struct hp_lock_row other = {.name = "log_lock", .kind = HP_LOCK_MUTEX, .wait_ns = 4e8, .blame_ns = 4e8};
    struct hp_lock_block blocks[] = {{.lock = &lock, .waiter = "publish", .holder = "update", .ns = 1.71e9},
                                     {.lock = &other, .waiter = "publish", .holder = "note", .ns = 4e8}};
    struct hp_lock_row *rows[] = {&lock, &other};
    const struct hp_lock_profile profile = {.rows = rows, .row_count = 2, .blocks = blocks, .block_count = 2};
    lock.worst = &blocks[0];
    lock.holds = 10;
    lock.hold_ns = 3e7;
    holder_of_a_lock_is_told(state);
    counted = &profile;
    assert_said(
        "Lock contention: 3 threads wait 60 % of their time for index_lock in publish, held by update (95 % of "
        "that, 3.00 ms at a time): mix takes 92 % of that time, called by update");
    blocks[0].holder = "mix"; /* stacks add nothing to that */
    assert_said(
        "Lock contention: 3 threads wait 60 % of their time for index_lock in publish, held by mix (95 % of "
        "that, 3.00 ms at a time). Of what runs, count takes 67 % of the CPU time, nearly all in its own "
        "code");
    blocks[0].holder = "count";
    blocks[0].waiter = NULL; /* several */
    lock.holds = 0;
    assert_said(
        "Lock contention: 3 threads wait 60 % of their time for index_lock, held by count (95 % of that). Of "
        "what runs, count takes 67 % of the CPU time, nearly all in its own code");
    other.wait_ns = 1.7e9;
    lock.worst = NULL;
    lock.kind = HP_LOCK_OWN;
    rows[1] = &(struct hp_lock_row){.name = "a", .kind = HP_LOCK_RWLOCK, .wait_ns = 1.9e9};
    assert_said(
        "Lock contention: 3 threads wait 60 % of their time for a. Of what runs, count takes 67 % of the CPU "
        "time, nearly all in its own code");
    lock.wait_ns = 8e8; /* with the other, less than half: the rest is waiting for locks that are not seen */
    lock.kind = HP_LOCK_CONDITION;
    rows[1] = &other;
    other.wait_ns = 8e8;
    assert_string_not_equal(sentence(), "");
    assert_null(strstr(sentence(), "index_lock"));
    assert_null(strstr(sentence(), "log_lock"));
}

static void a_pipeline(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 900 * MS);
    add_thread(&builder, "demo", 900 * MS);
    tree_add(&tree, "main;encode;mix", 900);
    struct session_builder *sum = fixture_add_session();
    add_program(sum, "/usr/bin/md5sum", 30 * MS);
    add_thread(sum, "md5sum", 30 * MS)->waited_ns[HP_WAIT_PIPE] = 950 * MS;
    assert_said(
        "CPU-bound on one CPU: demo has 97 % of the CPU time of 2 processes: mix takes 100 % of the CPU time, "
        "called by encode"); /* nothing says who writes to its pipe */
    builder_waits(sum, 4);
    struct hp_wait *wait = builder_wait(sum, 0, HP_WAIT_PIPE, SYS_read, "pipe:[7]", 950 * MS);
    wait->peer = builder_header(&builder)->pid;
    assert_said(
        "CPU-bound on one CPU: demo has 97 % of the CPU time of 2 processes: mix takes 100 % of the CPU time, "
        "called by encode; md5sum waits for it");
    wait->peer = builder_header(sum)->pid; /* its own */
    assert_said(
        "CPU-bound on one CPU: demo has 97 % of the CPU time of 2 processes: mix takes 100 % of the CPU time, "
        "called by encode");
}

static struct session_builder *add_stage(const char *program, uint32_t peer)
{
    struct session_builder *stage = fixture_add_session();
    add_program(stage, program, 10 * MS);
    builder_header(stage)->pid = next_thread;
    add_thread(stage, "stage", 10 * MS)->waited_ns[HP_WAIT_PIPE] = 950 * MS;
    builder_waits(stage, 4);
    builder_wait(stage, 0, HP_WAIT_PIPE, SYS_read, "pipe:[7]", 950 * MS)->peer = peer;
    return stage;
}

/* A stage that waits for one that waits for the busy one waits for that; two that wait for each other do not. */
static void a_pipeline_of_many(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 900 * MS);
    add_thread(&builder, "demo", 900 * MS);
    tree_add(&tree, "main;encode;mix", 900);
    const uint32_t cut = builder_header(add_stage("/usr/bin/cut", builder_header(&builder)->pid))->pid;
    add_stage("/usr/bin/uniq", cut);
    struct session_builder *one = add_stage("/usr/bin/one", 1);
    struct session_builder *other = add_stage("/usr/bin/other", builder_header(one)->pid);
    ((struct hp_wait *)((struct hp_waits *)builder_at(one, builder_header(one)->waits) + 1))->peer =
        builder_header(other)->pid;
    assert_said(
        "CPU-bound on one CPU: demo has 96 % of the CPU time of 5 processes: mix takes 100 % of the CPU time, "
        "called by encode; cut and uniq wait for it");
}

/* What an idle program waits for, if another one has the other end. */
static void other_end_of_an_idle_wait(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 3 * MS);
    add_thread(&builder, "demo", 3 * MS)->waited_ns[HP_WAIT_PIPE] = 980 * MS;
    tree_add(&tree, "main;load", 3);
    tree_wait(&tree, "main;serve;read@libc.so.6", HP_WAIT_PIPE, "pipe", 980);
    struct session_builder *source = fixture_add_session();
    add_program(source, "/usr/bin/source", 1 * MS);
    builder_waits(&builder, 4);
    builder_wait(&builder, 0, HP_WAIT_PIPE, SYS_read, "pipe:[7]", 980 * MS)->peer = builder_header(source)->pid;
    assert_said("Idle: 3.00 ms of CPU time in 1.00 s; serve waits (pipe from source) for 98 % of the run");
    builder_wait(&builder, 0, HP_WAIT_PIPE, SYS_write, "pipe:[8]", 990 * MS)->peer = builder_header(source)->pid;
    assert_said("Idle: 3.00 ms of CPU time in 1.00 s; serve waits (pipe to source) for 98 % of the run");
}

static void programs_share_the_cpu_time(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 500 * MS);
    add_thread(&builder, "demo", 500 * MS);
    tree_add(&tree, "main;ask", 500);
    struct session_builder *server = fixture_add_session();
    add_program(server, "/usr/bin/server", 400 * MS);
    add_thread(server, "server", 400 * MS);
    tree_process(&tree, builder_header(server)->pid, "server", "/usr/bin/server");
    tree_add(&tree, "main;query", 400);
    assert_said(
        "CPU-bound, 0.9 of 2 CPUs: demo (56 %) and server (44 %) share the CPU time; in demo, ask takes 100 % "
        "of its CPU time, nearly all in its own code");
}

static void starting_processes_is_the_cost(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/sh", 10 * MS);
    for (int at = 0; at < 30; at++)
        add_program(fixture_add_session(), "/usr/bin/true", 3 * MS);
    tree_add(&tree, "[kernel: execve]@", 40);
    tree_add(&tree, "[kernel: page faults]@", 20);
    tree_add(&tree, "main;load", 40);
    assert_memory_equal(sentence(),
                        "Starting processes is the cost: 31 processes in 1.00 s, 3.23 ms of CPU time each; "
                        "60 % of the CPU time is in fork, exec, exit, page faults and the dynamic linker",
                        160);
}

static void most_processes_are_too_short(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/sh", 10 * MS);
    for (int at = 0; at < 30; at++)
        add_program(fixture_add_session(), "/usr/bin/true", 3 * MS);
    tree_add(&tree, "main;load", 60);
    tree.process = 0;
    tree_add(&tree, "<not sampled: too brief>@", 40);
    assert_said(
        "Starting processes is the cost: 31 processes in 1.00 s, 3.23 ms of CPU time each; 40 % of the CPU time "
        "is in processes too short to sample");
    builder_header(&builder)->cpu_latest_ns = 300 * MS;
    assert_said("40 % of the CPU time is in processes too short to sample: 31 processes in 1.00 s");
}

static void hotpath_itself_is_said(void **state)
{
    (void)state;
    build_busy();
    tree_add(&tree, "<hotpath>@", 300);
    assert_non_null(strstr(sentence(), ". 23 % of the CPU time is hotpath itself"));
}

static void waits_that_were_not_seen(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/demo", 300 * MS);
    builder_header(&builder)->work.covered_ns = 0;
    tree_add(&tree, "main;load", 300);
    assert_said(
        "Ran 300.00 ms of 1.00 s, waits not seen: load takes 100 % of the CPU time, nearly all in its own code");
}

/* What people call it is what they started, which may be a link to the file. */
static void a_program_has_the_name_that_was_started(void **state)
{
    (void)state;
    add_program(&builder, "/usr/bin/sh", 10 * MS);
    struct session_builder *server = fixture_add_session();
    add_program(server, "/usr/bin/redis-check-rdb", 950 * MS);
    builder_header(server)->command = builder_text(server, "redis-server: *:6379");
    add_thread(server, "redis-server", 950 * MS);
    tree_process(&tree, builder_header(server)->pid, "redis-check-rdb", "/usr/bin/redis-check-rdb");
    tree_add(&tree, "main;answer", 950);
    assert_said(
        "CPU-bound on one CPU: redis-server: answer takes 100 % of the CPU time, nearly all in its own code");
}

static void debug_symbols_are_the_next_step(void **state)
{
    (void)state;
    build_busy();
    tree_add(&tree, "main;save;deflate@libz.so.1;libz.so.1+0x10@libz.so.1", 3000);
    assert_non_null(strstr(sentence(), ": deflate in libz takes 75 % of the CPU time, called by save. Install "
                                       "debug symbols for libz, or use --debuginfod"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_thread_computes),
        TEST(calls_of_few_bytes_are_said),
        TEST(calls_of_few_bytes_of_another_function),
        TEST(threads_share_all_cpus),
        TEST(threads_at_once_share_the_time),
        TEST(a_machine_short_of_cpu),
        TEST(few_samples_are_said),
        TEST(too_short_to_tell),
        TEST(hardly_any_cpu_time),
        TEST(hardly_any_cpu_time_beside_the_background),
        TEST(idle_most_of_the_time),
        TEST(idle_on_a_busy_machine),
        TEST(busy_for_a_part),
        TEST(the_disk_is_waited_for),
        TEST(many_files_are_not_named),
        TEST(a_socket_is_waited_for),
        TEST(threads_wait_for_a_lock),
        TEST(locks_on_a_busy_machine),
        TEST(short_processes_on_a_busy_machine),
        TEST(holder_of_a_lock_is_told),
        TEST(counted_locks_are_named),
        TEST(a_pipeline),
        TEST(a_pipeline_of_many),
        TEST(other_end_of_an_idle_wait),
        TEST(programs_share_the_cpu_time),
        TEST(starting_processes_is_the_cost),
        TEST(most_processes_are_too_short),
        TEST(hotpath_itself_is_said),
        TEST(waits_that_were_not_seen),
        TEST(a_program_has_the_name_that_was_started),
        TEST(debug_symbols_are_the_next_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
