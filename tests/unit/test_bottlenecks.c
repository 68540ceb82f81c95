/*
 * The section `bottlenecks`, from sessions with known numbers. One file: the rules of the verdict compete with each
 * other, and all tests vary the same program. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "object_layout.h"
#include "report_fixture.h"
#include "task_layout.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

static uint32_t thread, main_node, load, compute, make, tiny;

static const hotpath_section *bottlenecks(void)
{
    const hotpath_section *section = section_named("bottlenecks");
    assert_non_null(section);
    return section;
}

static uint32_t call_of(uint32_t in, uint32_t parent, const char *name, uint64_t ticks)
{
    const uint32_t node = builder_node(&builder, in, parent, builder_site(&builder, name, "src/demo.c", 7));
    builder_call(&builder, in, node, ticks, 0);
    return node;
}

/* Ten seconds of main: 6 s in load, 2.5 s in compute, 1 s in make, 1 ms in tiny, the rest is its own. */
static void build_times(void)
{
    thread = builder_thread(&builder);
    main_node = builder_node(&builder, thread, 0, builder_site(&builder, "main", "src/demo.c", 1));
    builder_header(&builder)->main_site = 0;
    load = call_of(thread, main_node, "load", 6 * SECOND);
    compute = call_of(thread, main_node, "compute", 2500 * MS);
    make = call_of(thread, main_node, "make", SECOND);
    tiny = call_of(thread, main_node, "tiny", MS);
    builder_call(&builder, thread, main_node, 10 * SECOND, 9501 * MS);
    builder_elapse(&builder, 10 * SECOND, 1);
}

static void build_cpu(void)
{
    builder_cpu(&builder, thread, load, 60, 50 * MS, 10 * MS);
    builder_cpu(&builder, thread, compute, 2450, 2400 * MS, 50 * MS);
    builder_cpu(&builder, thread, make, 950, 950 * MS, 0);
    builder_cpu(&builder, thread, main_node, 250, 250 * MS, 0);
    builder_cpu(&builder, thread, tiny, 1, MS, 0);
}

static void build_waits(void)
{
    struct hp_waits *waits = builder_waits(&builder, 16);
    waits->watched_ns = 10 * SECOND;
    waits->probes = 1000;
    builder_wait(&builder, load, HP_WAIT_DISK, SYS_read, "/data/small", 1 * SECOND)->probes = 100;
    builder_wait(&builder, load, HP_WAIT_DISK, SYS_read, "/data/large", 3 * SECOND)->probes = 300;
    builder_wait(&builder, load, HP_WAIT_LOCK, SYS_futex, "", 1500 * MS)->probes = 150;
    builder_wait(&builder, load, HP_WAIT_RUN_QUEUE, -1, "", 100 * MS)->probes = 10;
    builder_wait(&builder, main_node, HP_WAIT_RUN_QUEUE, -1, "", 200 * MS)->probes = 20;
    builder_wait(&builder, compute, HP_WAIT_RUN_QUEUE, -1, "", 200 * MS)->probes = 20; /* four times its time */
}

/* `make` asks for nine tenths of all bytes, in a million blocks. */
static void build_allocs(void)
{
    const struct builder_allocs many = {.measures = {9000000, 20000000, 9000000, 20000000, 9000000, 1}};
    const struct builder_allocs few = {.measures = {1000000, 1, 1000000, 1, 1000000, 1}};
    builder_alloc_call(&builder, make, &many);
    builder_alloc_call(&builder, compute, &few);
    struct hp_alloc_thread *alloc = builder_alloc_thread(&builder, thread);
    struct hp_alloc_frame *outside = builder_alloc_frame(&builder, thread, 0);
    alloc->bytes = outside->inner_bytes = 10000000;
    alloc->count = outside->inner_count = 20000001;
}

static void build_all(void)
{
    build_times();
    build_cpu();
    build_waits();
    build_allocs();
}

static void assert_row(size_t row, const char *name, const char *verdict, const char *why)
{
    assert_string_equal(cell_of(bottlenecks(), row, "name").text, name);
    assert_string_equal(cell_of(bottlenecks(), row, "verdict").text, verdict);
    assert_string_equal(cell_of(bottlenecks(), row, "why").text, why);
}

static void assert_number(size_t row, const char *key, double number)
{
    const struct hotpath_cell cell = cell_of(bottlenecks(), row, key);
    assert_true(cell.has_value);
    assert_float_equal(cell.number, number, 0.001);
}

static void assert_none(size_t row, const char *key) { assert_false(cell_of(bottlenecks(), row, key).has_value); }

static void verdict_weighs_all_measurements(void **state)
{
    (void)state;
    build_all();
    fixture_build();
    assert_string_equal(hotpath_section_name(hotpath_results_section(results, 0)), "bottlenecks");
    assert_string_equal(bottlenecks()->percent_of, "main");
    assert_int_equal(hotpath_section_rows(bottlenecks()), 5);
    assert_string_equal(bottlenecks()->summary, "The bottleneck is load: 60 % of the time, waiting (disk: "
                                                "/data/large); of the CPU time, 66 % is in compute");
    assert_row(0, "load", "waiting", "waiting for 5.94 s of its 6.00 s, 4.00 s of that for disk: /data/large");
    assert_row(1, "compute", "cpu-bound", "busy for 2.45 s of its 2.50 s, 98 % of that in user mode");
    assert_row(2, "make", "allocation-heavy",
               "20000000 allocations, 8.6 MB, taking 53 % of the 950.00 ms that it is busy");
    assert_row(3, "main", "starved",
               "ready to run, but without a CPU, for 200.00 ms of its 499.00 ms; busy for 250.00 ms");
    assert_row(4, "tiny", "too-short", "its 1.00 ms are too short for a verdict at 997 samples per second");
}

static void every_row_has_its_numbers(void **state)
{
    (void)state;
    build_all();
    fixture_build();
    assert_number(0, "percent_own", 60);
    assert_number(0, "percent_busy", 1);
    assert_number(0, "percent_waiting", 99);
    assert_number(0, "percent_alloc", 0);
    assert_number(0, "self_ns", 6e9);
    assert_number(0, "cpu_ns", 60e6);
    assert_number(0, "user_ns", 50e6);
    assert_number(0, "kernel_ns", 10e6);
    assert_number(0, "samples", 60);
    assert_number(0, "waiting_ns", 5.94e9);
    assert_number(0, "run_queue_ns", 100e6);
    assert_string_equal(cell_of(bottlenecks(), 0, "waits_for").text, "disk: /data/large");
    assert_number(0, "waits_for_ns", 4e9); /* all of that cause */
    assert_number(0, "looks", 400);
    assert_number(1, "waiting_ns", 50e6);
    assert_number(1, "run_queue_ns", 50e6);
    assert_number(1, "waits_for_ns", 50e6);
    assert_number(2, "own_bytes", 9000000);
    assert_number(2, "own_count", 20000000);
    assert_number(2, "percent_alloc", 90);
    /* Shares that a sample more would turn over are not given, the numbers are. */
    assert_none(4, "percent_busy");
    assert_none(4, "percent_waiting");
    assert_number(4, "cpu_ns", 1e6);
}

static void unmeasured_columns_are_empty(void **state)
{
    (void)state;
    build_times();
    build_cpu();
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The bottleneck is load: 60 % of the time, waiting (cause unknown, maybe for a CPU: set "
                        "HOTPATH_WAITS=1); of the CPU time, 66 % is in compute");
    assert_row(0, "load", "waiting", "waiting for 5.94 s of its 6.00 s; cause unknown: use 'hotpath run'");
    assert_row(2, "make", "cpu-bound", "busy for 950.00 ms of its 1.00 s, 100 % of that in user mode");
    assert_row(3, "main", "mixed",
               "busy for 250.00 ms of its 499.00 ms, waiting for 249.00 ms; cause unknown: use 'hotpath run'");
    assert_none(0, "waits_for");
    assert_none(0, "run_queue_ns");
    assert_none(0, "percent_alloc");
    assert_none(0, "own_bytes");
}

/* Without an observer, the time in the run queue is known as a sum: it belongs to those who use the CPU. */
static void run_queue_of_the_process_is_spread(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    load = call_of(thread, 0, "load", 3 * SECOND);
    compute = call_of(thread, 0, "compute", 6 * SECOND);
    tiny = call_of(thread, 0, "tiny", SECOND);
    builder_cpu(&builder, thread, load, 30, 30 * MS, 0);
    builder_cpu(&builder, thread, compute, 2000, 2000 * MS, 0);
    builder_cpu(&builder, thread, tiny, 970, 970 * MS, 0);
    builder_elapse(&builder, 10 * SECOND, 1);
    builder_header(&builder)->ready_ns = 4030 * MS;
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The bottleneck is compute: 60 % of the time, starved for CPU time");
    assert_row(0, "compute", "starved",
               "ready to run, but without a CPU, for 3.94 s of its 6.00 s; busy for 2.00 s");
    assert_number(2, "run_queue_ns", 30e6); /* no more than the rest of its time */
    assert_string_equal(cell_of(bottlenecks(), 0, "waits_for").text, "run queue");
    assert_string_equal(cell_of(bottlenecks(), 1, "verdict").text, "waiting");
    builder_header(&builder)->ready_ns = 0; /* a kernel that does not count it */
    fixture_build();
    assert_string_equal(cell_of(bottlenecks(), 0, "verdict").text, "waiting");
    assert_none(0, "run_queue_ns");
}

/* A thread is found where it waits, but was preempted where it computed. */
static void run_queue_beyond_a_wait_is_spread(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    load = call_of(thread, 0, "load", 4 * SECOND);
    compute = call_of(thread, 0, "compute", 6 * SECOND);
    builder_cpu(&builder, thread, compute, 3000, 3000 * MS, 0);
    builder_waits(&builder, 4)->watched_ns = 10 * SECOND;
    builder_wait(&builder, load, HP_WAIT_DISK, SYS_read, "/data", 3900 * MS);
    builder_wait(&builder, load, HP_WAIT_RUN_QUEUE, -1, "", 3100 * MS);
    builder_elapse(&builder, 10 * SECOND, 1);
    fixture_build();
    assert_row(0, "compute", "starved",
               "ready to run, but without a CPU, for 3.00 s of its 6.00 s; busy for 3.00 s");
    assert_row(1, "load", "waiting", "waiting for 4.00 s of its 4.00 s, 3.90 s of that for disk: /data (1 sample)");
}

static void verdict_from_waits_alone(void **state)
{
    (void)state;
    build_times();
    build_waits();
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The bottleneck is load: 60 % of the time, waiting (disk: /data/large)");
    assert_row(0, "load", "waiting", "waiting for 5.60 s of its 6.00 s, 4.00 s of that for disk: /data/large");
    assert_row(1, "compute", "cpu-bound", "not seen waiting for 2.30 s of its 2.50 s");
    assert_row(4, "tiny", "too-short", "its 1.00 ms are too short for a verdict at 100 samples per second");
    assert_none(0, "cpu_ns");
    assert_none(0, "percent_busy");
    assert_number(0, "percent_waiting", 100 * 5.6 / 6);
}

/* Another process was seen from outside only; no samples were taken. */
static void verdict_from_waits_beside_an_unmeasured_process(void **state)
{
    (void)state;
    build_times();
    build_waits();
    struct hp_header *header = builder_header(fixture_add_session());
    header->features |= HP_FEATURE_CPU;
    header->cpu_engine = HP_CPU_NONE;
    header->cpu_latest_ns = header->cpu_start_ns + 20 * SECOND;
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The bottleneck is load: 60 % of the time, waiting (disk: /data/large)");
    assert_row(1, "compute", "cpu-bound", "not seen waiting for 2.30 s of its 2.50 s");
    assert_none(0, "cpu_ns");
}

static void verdict_from_allocations_alone(void **state)
{
    (void)state;
    build_times();
    build_allocs();
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "Most of the time is spent in load: 60 % of the time; CPU time and waiting were not "
                        "measured");
    assert_row(0, "load", "unknown",
               "its 6.00 s may be CPU time or waiting: use HOTPATH_CPU=1 or 'hotpath run' to find out");
    assert_row(2, "make", "allocation-heavy", "20000000 allocations, 8.6 MB, taking 50 % of its 1.00 s");
    assert_none(2, "waiting_ns");
}

static void no_verdict_from_timing_alone(void **state)
{
    (void)state;
    build_times();
    fixture_build();
    assert_null(section_named("bottlenecks"));
    strcpy(settings.show.report, "all");
    fixture_build();
    assert_null(section_named("bottlenecks"));
    strcpy(settings.show.report, "bottlenecks");
    fixture_build();
    assert_int_equal(hotpath_section_rows(bottlenecks()), 0);
    assert_non_null(strstr(fixture_render(0, false), "\nonly time was measured: "));
}

/* Threads side by side: shares of what all of them took. */
static void threads_share_their_time(void **state)
{
    (void)state;
    build_times();
    for (unsigned at = 0; at < 3; at++) {
        const uint32_t other = builder_thread(&builder);
        const uint32_t node = builder_node(&builder, other, 0, 1); /* load */
        builder_call(&builder, other, node, 10 * SECOND, 0);
        builder_cpu(&builder, other, node, 10000, 10 * SECOND, 0);
    }
    fixture_build();
    assert_string_equal(bottlenecks()->percent_of, "threads");
    assert_number(0, "self_ns", 36e9);
    assert_number(0, "percent_own", 90);
    assert_number(0, "percent_busy", 100 * 30 / 36.0);
    assert_non_null(
        strstr(fixture_render(0, false), "\nOwn % is a share of the time of all threads together, Busy % "));
}

/* Without a main function, shares are of the run time, and most of that may be outside all functions. */
static void unmeasured_time_is_said_first(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    load = call_of(thread, 0, "load", SECOND);
    builder_cpu(&builder, thread, load, 990, 990 * MS, 0);
    builder_elapse(&builder, 10 * SECOND, 1);
    fixture_build();
    assert_string_equal(bottlenecks()->percent_of, "elapsed");
    assert_string_equal(bottlenecks()->summary, "90 % of the time is outside of all measured functions. The "
                                                "bottleneck is load: 10 % of the time, cpu-bound");
}

/* CPU time that threads without measured functions use is said first, with the process if it is another. */
static void unmeasured_cpu_time_is_said_first(void **state)
{
    (void)state;
    build_times();
    build_cpu();
    const uint32_t unseen = builder_thread(&builder);
    builder_cpu(&builder, unseen, ((struct hp_thread *)builder_at(&builder, unseen))->root, 9000, 9 * SECOND, 0);
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The bottleneck is outside of all measured functions, with 71 % of the CPU time. Among "
                        "measured functions it is load: 60 % of the time, waiting (cause unknown, maybe for a CPU: "
                        "set HOTPATH_WAITS=1)");
    struct session_builder *other = fixture_add_session();
    const uint32_t its = builder_thread(other);
    builder_header(other)->executable = builder_text(other, "/usr/bin/sort");
    builder_cpu(other, its, ((struct hp_thread *)builder_at(other, its))->root, 90000, 90 * SECOND, 0);
    builder_elapse(other, 10 * SECOND, 1);
    fixture_build();
    assert_memory_equal(bottlenecks()->summary,
                        "The bottleneck is outside of all measured functions, in the process sort, with 96 % of ",
                        80);
}

/* Threads without zones that wait for most of the time are said first, whatever main does. */
static void waiting_outside_is_said_first(void **state)
{
    (void)state;
    build_times();
    build_waits();
    const uint32_t unseen = builder_thread(&builder);
    const uint32_t root = ((struct hp_thread *)builder_at(&builder, unseen))->root;
    builder_wait(&builder, root, HP_WAIT_SOCKET, SYS_read, "", 9 * SECOND);
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The bottleneck is load: 60 % of the time, waiting (disk: /data/large)");
    builder_wait(&builder, root, HP_WAIT_DISK, SYS_read, "/data/x", 2 * SECOND);
    fixture_build();
    assert_string_equal(
        bottlenecks()->summary,
        "The bottleneck is outside of all measured functions: threads waited there 11.00 s, mainly for "
        "socket. Among measured functions it is load: 60 % of the time, waiting (disk: /data/large)");
}

/* So is waiting in main that is in none of the functions it calls. */
static void waiting_in_main_is_outside_of_functions(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    main_node = builder_node(&builder, thread, 0, builder_site(&builder, "main", "src/demo.c", 1));
    builder_header(&builder)->main_site = 0;
    compute = call_of(thread, main_node, "compute", SECOND);
    builder_call(&builder, thread, main_node, 10 * SECOND, SECOND);
    builder_cpu(&builder, thread, compute, 1000, 990 * MS, 0);
    builder_elapse(&builder, 10 * SECOND, 1);
    fixture_build();
    assert_string_equal(
        bottlenecks()->summary,
        "90 % of the time is spent waiting outside of all measured functions, in main itself (cause "
        "unknown, maybe for a CPU: set HOTPATH_WAITS=1); of the CPU time, 100 % is in compute");
    builder_waits(&builder, 4)->watched_ns = 10 * SECOND;
    builder_wait(&builder, main_node, HP_WAIT_SLEEP, SYS_nanosleep, "", 9 * SECOND);
    fixture_build();
    assert_string_equal(
        bottlenecks()->summary,
        "90 % of the time is spent waiting outside of all measured functions, in main itself (sleep); of "
        "the CPU time, 100 % is in compute");
}

/* --- idle */

static uint32_t pop, serve;

/* Ten seconds: main waits for four threads that wait for work most of the time, which takes six seconds. */
static void build_pool(void)
{
    thread = builder_thread(&builder);
    main_node = builder_node(&builder, thread, 0, builder_site(&builder, "main", "src/demo.c", 1));
    builder_header(&builder)->main_site = 0;
    builder_call(&builder, thread, main_node, 10 * SECOND, 0);
    builder_elapse(&builder, 10 * SECOND, 1);
    const uint32_t pops = builder_site(&builder, "pop", "src/demo.c", 2);
    const uint32_t serves = builder_site(&builder, "serve", "src/demo.c", 3);
    for (unsigned at = 0; at < 4; at++) {
        const uint32_t worker = builder_thread(&builder);
        pop = builder_node(&builder, worker, 0, pops);
        serve = builder_node(&builder, worker, 0, serves);
        builder_call(&builder, worker, pop, 8500 * MS, 0);
        builder_call(&builder, worker, serve, 1500 * MS, 0);
        builder_cpu(&builder, worker, serve, 1500, 1500 * MS, 0);
    }
    struct hp_waits *waits = builder_waits(&builder, 16);
    waits->watched_ns = 50 * SECOND;
    waits->probes = 5000;
    builder_wait(&builder, main_node, HP_WAIT_THREAD, SYS_futex, "", 10 * SECOND)->other = serve;
    builder_wait(&builder, pop, HP_WAIT_CONDITION, SYS_futex, "", 34 * SECOND)->probes = 3400;
}

static void pool_verdict_names_the_job(void **state)
{
    (void)state;
    build_pool();
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The bottleneck is serve: 100 % of the time that is not idle, cpu-bound");
    assert_row(0, "serve", "cpu-bound", "busy for 6.00 s of its 6.00 s, 100 % of that in user mode");
    assert_row(1, "pop", "idle", "idle for 34.00 s of its 34.00 s, 34.00 s of that for condition");
    assert_row(2, "main", "idle",
               "idle for 10.00 s of its 10.00 s, 10.00 s of that for thread in serve (1 sample)");
    assert_number(0, "percent_own", 100);
    assert_number(1, "percent_own", 0);
    assert_number(1, "self_ns", 34e9);
    assert_number(1, "work_ns", 0);
    assert_number(1, "idle_ns", 34e9);
    assert_number(1, "percent_waiting", 100);
}

/* Waiting for a lock is not idle: the thread has something to do. */
static void waiting_for_a_lock_is_not_idle(void **state)
{
    (void)state;
    build_pool();
    const uint32_t worker = builder_thread(&builder);
    const uint32_t take = call_of(worker, 0, "take", 9 * SECOND);
    builder_wait(&builder, take, HP_WAIT_LOCK, SYS_futex, "", 9 * SECOND)->other = serve;
    fixture_build();
    assert_string_equal(bottlenecks()->summary, "The bottleneck is take: 60 % of the time that is not idle, "
                                                "waiting (lock held in serve); of the CPU time, 100 % is in serve");
}

/*
 * A thread that sleeps or reads from a pipe while others work is idle; if nothing else runs, that wait is the
 * verdict.
 */
static void sleep_beside_work_is_idle(void **state)
{
    (void)state;
    static const uint32_t causes[] = {HP_WAIT_SLEEP, HP_WAIT_PIPE, HP_WAIT_FUTEX};
    for (size_t at = 0; at < sizeof causes / sizeof causes[0]; at++) {
        fixture_tear_down(NULL);
        fixture_set_up(NULL);
        build_pool();
        const uint32_t other = builder_thread(&builder);
        const uint32_t nap = call_of(other, 0, "nap", 10 * SECOND);
        struct hp_wait *wait = builder_wait(&builder, nap, causes[at], -1, "", 10 * SECOND);
        fixture_build();
        assert_memory_equal(bottlenecks()->summary, "The bottleneck is nap: 63 % ", 28);
        wait->beside_ns = 10 * SECOND;
        fixture_build();
        assert_memory_equal(bottlenecks()->summary, "The bottleneck is serve: 100 % ", 31);
    }
}

/* A socket to another process of the run is as good as a pipe: that process does what is waited for. */
static void socket_to_another_process_is_idle_beside_work(void **state)
{
    (void)state;
    build_pool();
    const uint32_t other = builder_thread(&builder), pid = builder_header(&builder)->pid;
    const uint32_t ask = call_of(other, 0, "ask", 10 * SECOND);
    struct hp_wait *wait = builder_wait(&builder, ask, HP_WAIT_SOCKET, -1, "", 10 * SECOND);
    wait->beside_ns = 10 * SECOND;
    const uint32_t others[] = {0, pid}; /* outside of the run, or in the same process */
    for (size_t at = 0; at < sizeof others / sizeof others[0]; at++) {
        wait->peer = others[at];
        fixture_build();
        assert_memory_equal(bottlenecks()->summary, "The bottleneck is ask: 63 % ", 28);
    }
    wait->peer = pid + 1;
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, "The bottleneck is serve: 100 % ", 31);
    wait->beside_ns = 0; /* and that did nothing */
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, "The bottleneck is ask: 63 % ", 28);
}

/* Less than half a thread's work. The end of the chain is named, not the functions that wait for threads. */
static void idle_server_is_called_idle(void **state)
{
    (void)state;
    build_pool();
    const uint32_t listener = builder_thread(&builder);
    const uint32_t listen = call_of(listener, 0, "listen", 10 * SECOND);
    builder_wait(&builder, listen, HP_WAIT_POLL, SYS_ppoll, "", 10 * SECOND);
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, "The bottleneck is serve: 100 % ", 31);
    builder_elapse(&builder, 20 * SECOND, 1);
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The program is idle for 70 % of the time: listen waits (poll: ppoll). Otherwise, the "
                        "bottleneck is serve: 100 % of the time that is not idle, cpu-bound");
}

/* A task whose wall time is that; nothing is known of its polls. */
static void task_of(uint32_t on, const char *name, uint64_t ticks)
{
    struct hp_part *part =
        builder_at(&builder, builder_part(&builder, builder_object(&builder, "task", name, 1), on));
    part->count[HP_TASK_CREATED] = part->count[HP_TASK_READY] = 1;
    part->count[HP_TASK_BORN_TICKS] = BUILDER_START;
    part->count[HP_TASK_ENDED_TICKS] = BUILDER_START + ticks;
    part->first_tick = BUILDER_START;
    part->last_tick = BUILDER_START + ticks;
}

/* An idle program names the request that was open for most of that time. */
static void idle_program_names_the_request_it_waits_for(void **state)
{
    static const char
        before[] = "The program is idle for 70 % of the time: listen waits (poll: ppoll). Otherwise",
        after[] =
            "The program is idle for 70 % of the time: listen waits (poll: ppoll) for uv_read_start. Otherwise";
    (void)state;
    build_pool();
    const uint32_t listener = builder_thread(&builder);
    const uint32_t listen = call_of(listener, 0, "listen", 10 * SECOND);
    builder_wait(&builder, listen, HP_WAIT_POLL, SYS_ppoll, "", 10 * SECOND);
    builder_elapse(&builder, 20 * SECOND, 1);
    task_of(listener, "uv_timer_start", 6 * SECOND); /* the program idles for 14 */
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, before, sizeof before - 1);
    task_of(listener, "uv_read_start", 9 * SECOND);
    task_of(listener, "uv_listen", 8 * SECOND);
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, after, sizeof after - 1);
}

/*
 * A program without measured functions has one thread that computes for 9 s of 10 s and polls for the rest, and one
 * that sleeps. It is not idle, though its threads idle for longer than it ran.
 */
static void cpu_time_outside_of_functions_is_not_idle(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    const uint32_t root = ((struct hp_thread *)builder_at(&builder, thread))->root;
    struct hp_waits *waits = builder_waits(&builder, 8);
    waits->watched_ns = 20 * SECOND;
    builder_wait(&builder, root, HP_WAIT_POLL, SYS_ppoll, "", SECOND);
    builder_wait(&builder, root, HP_WAIT_SLEEP, SYS_nanosleep, "", 10 * SECOND)->beside_ns = 9 * SECOND;
    builder_elapse(&builder, 10 * SECOND, 1);
    fixture_build();
    assert_string_equal(bottlenecks()->summary, "The program waited 1.00 s, mainly for sleep");
    /* The same by the clock of the process, if the observer saw little of it. */
    waits->watched_ns = 11 * SECOND;
    struct hp_header *header = builder_header(&builder);
    header->features |= HP_FEATURE_CPU;
    header->cpu_engine = HP_CPU_NONE;
    header->cpu_latest_ns = header->cpu_start_ns + 9 * SECOND;
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The program used 9.00 s of CPU time and waited 1.00 s, mainly for sleep");
    header->cpu_latest_ns = header->cpu_start_ns + 2 * SECOND;
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, "The program is idle for 70 % of the time: ", 42);
}

/* Ten seconds: a loop waits for 8.5 s, work takes 1.4 s, and a task is open for most of the time. */
static uint32_t build_loop(void)
{
    thread = builder_thread(&builder);
    main_node = builder_node(&builder, thread, 0, builder_site(&builder, "main", "src/demo.c", 1));
    builder_header(&builder)->main_site = 0;
    const uint32_t loop = call_of(thread, main_node, "run_loop", 8500 * MS);
    compute = call_of(thread, main_node, "sync_work", 1490 * MS);
    builder_call(&builder, thread, main_node, 10 * SECOND, 9990 * MS);
    builder_cpu(&builder, thread, compute, 1400, 1400 * MS, 0);
    builder_cpu(&builder, thread, loop, 10, 10 * MS, 0);
    builder_elapse(&builder, 10 * SECOND, 1);
    return loop;
}

static void wait_in_loop(uint32_t loop, uint64_t ns)
{
    builder_waits(&builder, 4)->watched_ns = 10 * SECOND;
    builder_wait(&builder, loop, HP_WAIT_POLL, SYS_ppoll, "timer", ns)->probes = 800;
    builder_wait(&builder, loop, HP_WAIT_RUN_QUEUE, -1, "", 490 * MS)->beside_ns = 490 * MS;
}

/* A loop that waits while a task is open is not idle. The task is judged by its wall time. */
static void loop_waits_for_open_tasks(void **state)
{
    (void)state;
    const uint32_t loop = build_loop();
    wait_in_loop(loop, 8 * SECOND);
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, "The program is idle for 85 % of the time: run_loop waits", 56);
    task_of(thread, "uv_listen", 9900 * MS); /* a request of a library, for clients */
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, "The program is idle for 85 % of the time: run_loop waits", 56);
    task_of(thread, "async_sleep", 8400 * MS);
    fixture_build();
    assert_string_equal(bottlenecks()->summary, "The bottleneck is async_sleep: 85 % of the time, waiting (timer); "
                                                "of the CPU time, 99 % is in sync_work");
    assert_row(0, "async_sleep", "waiting", "waiting for 8.40 s of its 8.40 s, 8.40 s of that for timer");
    assert_row(2, "run_loop", "waiting", "waiting for 8.49 s of its 8.50 s, 8.40 s of that for async_sleep");
    assert_number(2, "idle_ns", 90e6);
    assert_number(2, "work_ns", 10e6);
    assert_string_equal(cell_of(bottlenecks(), 3, "name").text, "main");
    assert_none(3, "verdict"); /* it only calls others */
    assert_none(3, "why");
}

/* A loop that waits for a CPU most of the time does not wait for the task most of the time. */
static void starved_loop_waits_for_a_cpu(void **state)
{
    (void)state;
    const uint32_t loop = build_loop();
    builder_waits(&builder, 4)->watched_ns = 10 * SECOND;
    builder_wait(&builder, loop, HP_WAIT_POLL, SYS_ppoll, "", 4 * SECOND);
    builder_wait(&builder, loop, HP_WAIT_RUN_QUEUE, -1, "", 4400 * MS);
    task_of(thread, "async_sleep", 3900 * MS);
    fixture_build();
    assert_string_equal(cell_of(bottlenecks(), 0, "name").text, "run_loop");
    assert_string_equal(cell_of(bottlenecks(), 0, "verdict").text, "starved");
    assert_string_equal(cell_of(bottlenecks(), 0, "waits_for").text, "run queue");
}

/* The same without samples of waits: that a task was open explains the waiting of main. */
static void waiting_of_unknown_cause_is_for_open_tasks(void **state)
{
    (void)state;
    build_loop();
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, "The bottleneck is run_loop: 85 % of the time, waiting (cause ",
                        61);
    task_of(thread, "async_sleep", 8400 * MS);
    fixture_build();
    assert_string_equal(bottlenecks()->summary, "The bottleneck is async_sleep: 84 % of the time, waiting; of the "
                                                "CPU time, 99 % is in sync_work");
    assert_string_equal(cell_of(bottlenecks(), 2, "waits_for").text, "async_sleep");
}

/* Jobs that wait in a queue while others run: no loop waits for them. */
static void tasks_that_run_are_not_waited_for(void **state)
{
    (void)state;
    const uint32_t loop = build_loop();
    struct hp_part *part =
        builder_at(&builder, builder_part(&builder, builder_object(&builder, "task", "job", 1), thread));
    part->count[HP_TASK_CREATED] = part->count[HP_TASK_READY] = 10;
    part->count[HP_TASK_BORN_TICKS] = 10 * (uint64_t)BUILDER_START;
    part->count[HP_TASK_ENDED_TICKS] = 10 * BUILDER_START + 50 * SECOND;
    part->first_tick = BUILDER_START;
    part->last_tick = BUILDER_START + 5 * SECOND; /* ten side by side, for five seconds */
    wait_in_loop(loop, 8 * SECOND);
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, "The bottleneck is job: 77 % of the time that is not idle, ", 58);
    assert_number(0, "work_ns", 5e9);
}

/* On a busy machine, a thread that wakes up only to wait again spends most of the time in the run queue. */
static void run_queue_is_not_idle(void **state)
{
    (void)state;
    build_pool();
    const uint32_t listener = builder_thread(&builder);
    const uint32_t listen = call_of(listener, 0, "listen", 20 * SECOND);
    builder_wait(&builder, listen, HP_WAIT_POLL, SYS_ppoll, "", 6 * SECOND);
    builder_wait(&builder, listen, HP_WAIT_RUN_QUEUE, -1, "", 14 * SECOND)->beside_ns = 14 * SECOND;
    builder_elapse(&builder, 20 * SECOND, 1);
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The program is idle for 70 % of the time: listen waits (poll: ppoll). Otherwise, the "
                        "bottleneck is serve: 100 % of the time that is not idle, cpu-bound");
}

static void waiting_for_a_child_names_it(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    load = call_of(thread, 0, "load", SECOND);
    builder_cpu(&builder, thread, load, 20, 20 * MS, 0);
    builder_waits(&builder, 4)->watched_ns = SECOND;
    builder_wait(&builder, load, HP_WAIT_CHILD, SYS_wait4, "gzip", 300 * MS);
    builder_wait(&builder, load, HP_WAIT_CHILD, SYS_wait4, "gzip (busy)", 670 * MS);
    builder_elapse(&builder, SECOND, 1);
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "The program waits for a child for 98 % of the time: load waits (child: gzip (busy))");
}

/* Of a program without measured functions, waiting of threads side by side is not added up. */
static void many_threads_that_wait(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    const uint32_t root = ((struct hp_thread *)builder_at(&builder, thread))->root;
    builder_waits(&builder, 8)->watched_ns = 20 * SECOND;
    builder_wait(&builder, root, HP_WAIT_LOCK, SYS_futex, "", 15 * SECOND);
    builder_wait(&builder, root, HP_WAIT_CONDITION, SYS_futex, "", 4 * SECOND);
    builder_elapse(&builder, 2 * SECOND, 1);
    fixture_build();
    assert_string_equal(bottlenecks()->summary, "The program had 7.5 threads waiting on average, mainly for lock");
}

/* A wait is named by its cause, not by the run queue after it; with no other cause it is unknown. */
static void run_queue_is_not_a_cause_of_waiting(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    load = call_of(thread, 0, "load", SECOND);
    builder_cpu(&builder, thread, load, 10, 10 * MS, 0);
    builder_waits(&builder, 4)->period_us = 10000;
    builder_wait(&builder, load, HP_WAIT_RUN_QUEUE, -1, "", 240 * MS);
    builder_elapse(&builder, SECOND, 1);
    fixture_build();
    assert_row(0, "load", "waiting", "waiting for 990.00 ms of its 1.00 s; cause unknown");
    builder_wait(&builder, load, HP_WAIT_PIPE, SYS_read, "pipe:[77]", 250 * MS)->probes = 25;
    fixture_build();
    assert_row(0, "load", "waiting",
               "waiting for 990.00 ms of its 1.00 s, 250.00 ms of that for pipe: read (25 samples)");
}

/* A thousandth of the time, and a quarter of all waiting. */
static void minor_functions_and_causes_are_not_named(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    load = call_of(thread, 0, "load", 4 * SECOND);
    compute = call_of(thread, 0, "compute", 3 * SECOND);
    make = call_of(thread, 0, "make", 2 * SECOND);
    tiny = call_of(thread, 0, "tiny", MS);
    builder_cpu(&builder, thread, load, 2000, 2000 * MS, 0);
    builder_cpu(&builder, thread, compute, 2980, 2980 * MS, 0);
    builder_cpu(&builder, thread, make, 1999, 1999 * MS, 0);
    builder_waits(&builder, 8)->period_us = 10000;
    builder_wait(&builder, load, HP_WAIT_RUN_QUEUE, -1, "", 490 * MS)->probes = 49;
    builder_wait(&builder, compute, HP_WAIT_RUN_QUEUE, -1, "", 6 * MS);
    builder_wait(&builder, make, HP_WAIT_RUN_QUEUE, -1, "", MS);
    builder_wait(&builder, tiny, HP_WAIT_RUN_QUEUE, -1, "", MS);
    builder_elapse(&builder, 9 * SECOND, 1);
    fixture_build();
    assert_none(0, "waits_for");
    assert_number(0, "run_queue_ns", 490e6);
    assert_row(
        0, "load", "mixed",
        "busy for 2.00 s of its 4.00 s, waiting for 2.00 s; the cause is known for only 490.00 ms of that: run "
        "queue (49 samples)");
    assert_string_equal(cell_of(bottlenecks(), 1, "waits_for").text, "run queue");
    assert_none(2, "waits_for");
    assert_none(3, "waits_for");
}

/* All files together are waited for longer than the run queue, but no single one is. */
static void a_program_without_functions_waits_for_the_largest_cause(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    const uint32_t root = ((struct hp_thread *)builder_at(&builder, thread))->root;
    builder_waits(&builder, 8)->watched_ns = SECOND;
    builder_wait(&builder, root, HP_WAIT_DISK, SYS_read, "/data/a", 40 * MS);
    builder_wait(&builder, root, HP_WAIT_RUN_QUEUE, -1, "", 50 * MS);
    builder_wait(&builder, root, HP_WAIT_DISK, SYS_read, "/data/b", 30 * MS);
    builder_elapse(&builder, SECOND, 1);
    fixture_build();
    assert_string_equal(bottlenecks()->summary, "The program waited 120.00 ms, mainly for disk");
}

/* "run queue" is a name for a column; in a sentence it is the CPU that the program waits for. */
static void a_program_without_functions_waits_for_a_cpu(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    const uint32_t root = ((struct hp_thread *)builder_at(&builder, thread))->root;
    builder_waits(&builder, 8)->watched_ns = SECOND;
    builder_wait(&builder, root, HP_WAIT_RUN_QUEUE, -1, "", 50 * MS);
    builder_elapse(&builder, SECOND, 1);
    fixture_build();
    assert_string_equal(bottlenecks()->summary, "The program waited 50.00 ms, mainly for a free CPU (run queue)");
}

/* Threads that end before they are sampled or watched: the clock of the process has their time. */
static void a_program_of_brief_threads_is_not_idle_while_they_run(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    const uint32_t root = ((struct hp_thread *)builder_at(&builder, thread))->root;
    builder_waits(&builder, 8)->watched_ns = SECOND;
    builder_wait(&builder, root, HP_WAIT_THREAD, SYS_futex, "", 940 * MS);
    builder_wait(&builder, root, HP_WAIT_DISK, SYS_read, "", 10 * MS);
    builder_cpu(&builder, thread, root, 0, 300 * MS, 0);
    builder_elapse(&builder, SECOND, 1);
    fixture_build();
    assert_string_equal(
        bottlenecks()->summary,
        "The program is idle for 69 % of the time: it waits (thread). The program used 300.00 ms of "
        "CPU time and waited 10.00 ms, mainly for disk");
}

/* CPU time without samples belongs to no function, but that does not make all functions wait. */
static void cpu_time_is_unknown_without_samples(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    load = call_of(thread, 0, "load", SECOND);
    builder_cpu(&builder, thread, load, 19, 19 * MS, 0);
    builder_elapse(&builder, SECOND, 1);
    fixture_build();
    assert_string_equal(cell_of(bottlenecks(), 0, "verdict").text, "waiting");
    builder_cpu(&builder, thread, load, 0, 23 * MS, 0);
    fixture_build();
    assert_string_equal(cell_of(bottlenecks(), 0, "verdict").text, "unknown");
    assert_none(0, "cpu_ns");
    assert_non_null(strstr(fixture_render(0, false), "\nCPU time is not shown: too few samples"));
    builder_cpu(&builder, thread, load, 1, 0, 0);
    fixture_build();
    assert_string_equal(cell_of(bottlenecks(), 0, "verdict").text, "waiting");
}

static void rows_are_chosen_and_ordered(void **state)
{
    (void)state;
    char name[16];
    build_all();
    for (unsigned at = 0; at < 20; at++) {
        snprintf(name, sizeof name, "f%u", at);
        call_of(thread, main_node, name, 1000);
    }
    /* No sort column was requested. */
    fixture_build();
    assert_int_equal(hotpath_section_rows(bottlenecks()), 5);
    assert_int_equal(hotpath_section_total_rows(bottlenecks()), 25);
    settings.show.functions_limit_is_given = true;
    settings.show.functions_limit = 2;
    fixture_build();
    assert_int_equal(hotpath_section_rows(bottlenecks()), 2);
    settings.show.functions_limit = 15;
    fixture_build();
    assert_int_equal(hotpath_section_rows(bottlenecks()), 15);
    settings.show.functions_limit = 7;
    fixture_build();
    assert_int_equal(hotpath_section_rows(bottlenecks()), 7);
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    fixture_build();
    assert_int_equal(hotpath_section_rows(bottlenecks()), 25);
    settings.show.min_percent = 10;
    fixture_build();
    assert_int_equal(hotpath_section_rows(bottlenecks()), 3);
    settings.show.min_percent = 0;
    settings.show.functions_limit = 2;
    strcpy(settings.show.sort, "cpu_ns");
    fixture_build();
    assert_string_equal(cell_of(bottlenecks(), 0, "name").text, "compute");
    assert_string_equal(cell_of(bottlenecks(), 1, "name").text, "make");
    assert_memory_equal(bottlenecks()->summary, "The bottleneck is load: ", 24);
    settings.show.exclude_wrapper = true;
    settings.show.sort[0] = '\0';
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    fixture_build();
    assert_int_equal(hotpath_section_rows(bottlenecks()), 24);
    assert_string_equal(bottlenecks()->percent_of, "rows");
}

/* In characters: a shortened text has an ellipsis of three bytes. */
static size_t widest_line(const char *text)
{
    size_t widest = 0, width = 0;
    for (; *text != '\0'; text++) {
        width = *text == '\n' ? 0 : width + (((unsigned char)*text & 0xc0u) != 0x80u);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void sentences_are_printed_below_the_table(void **state)
{
    (void)state;
    build_all();
    strcpy(settings.show.report, "bottlenecks");
    const char *text = fixture_render(0, false);
    assert_null(strstr(text, "| Why"));
    assert_non_null(strstr(
        text, "| load     | waiting          | 60.00% |  1.00% |    99.00% | disk: /data/large |   0.00% |\n"));
    assert_non_null(strstr(text, "+\nload: waiting for 5.94 s of its 6.00 s, 4.00 s of that for disk: /data/large\n"
                                 "compute: busy for 2.45 s of its 2.50 s, 98 % of that in user mode\n"));
    assert_non_null(strstr(text,
                           "\nOwn % is a share of the run, Busy % and Waiting % are shares of the function's own "
                           "time, Alloc % is a share of all allocated bytes\n"));
    text = fixture_render(80, false);
    assert_true(widest_line(text) <= 80);
    assert_non_null(strstr(text, "| Function | Verdict          |  Own % | Busy % | Waiting % | For "));
    text = fixture_render(50, false);
    assert_true(widest_line(text) <= 50);
    assert_non_null(strstr(text, "| Function | Verdict          |  Own % |"));
    assert_non_null(
        strstr(text, "\nload: waiting for 5.94 s of its 6.00 s, 4.00 s of\nthat for disk: /data/large\n"));
}

/* The note, which is wrapped, says what the percentages are of: those that the table has, and no others. */
static void check_note(const char *text)
{
    static const char *const titles[] = {"Own %", "Busy %", "Waiting %", "Alloc %"};
    const char *heading = strstr(text, "+\n| F"), *note = strstr(text, "\nOwn %");
    char named[2000], columns[400], title[16];
    assert_non_null(heading);
    snprintf(columns, sizeof columns, "%.*s", (int)strcspn(heading + 2, "\n"), heading + 2);
    assert_non_null(note);
    snprintf(named, sizeof named, "%s", note + 1);
    for (char *at = named; *at != '\0'; at++)
        *at = *at == '\n' ? ' ' : *at;
    for (size_t at = 0; at < sizeof titles / sizeof titles[0]; at++) {
        snprintf(title, sizeof title, "%s ", titles[at]);
        assert_int_equal(strstr(columns, title) != NULL, strstr(named, title) != NULL);
    }
    assert_true(strstr(named, "Busy % is") == NULL || strstr(columns, "Waiting %") == NULL);
    assert_true(strstr(named, "Busy % and Waiting % are") != NULL || strstr(columns, "Waiting %") == NULL);
}

static void a_note_names_only_columns_that_are_shown(void **state)
{
    bool has_dropped = false, has_all = false;
    (void)state;
    build_all();
    for (unsigned is_short = 0; is_short < 2; is_short++) {
        strcpy(settings.show.report, is_short ? "short" : "bottlenecks");
        for (uint32_t width = 40; width < 160; width++) {
            const char *text = fixture_render(width, false);
            check_note(text);
            has_all |= strstr(text, "Alloc %") != NULL;
            has_dropped |= strstr(text, "Busy % is a share of the") != NULL;
        }
    }
    assert_true(has_all && has_dropped);
}

/* ----------------------------------------------------------------------------------------- the short report */

/* So many functions that no other section has room for a table. */
static void build_a_full_screen(void)
{
    char name[16];
    build_times();
    build_cpu();
    for (unsigned at = 0; at < 40; at++) {
        snprintf(name, sizeof name, "function_%u", at);
        call_of(thread, 0, name, SECOND);
    }
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    strcpy(settings.show.report, "short");
}

/* Several calls of one function are rows of `calls`. */
static void a_line_has_each_name_once(void **state)
{
    (void)state;
    build_a_full_screen();
    builder_log(&builder, thread, 1, 4); /* the site of load */
    builder_log(&builder, thread, 2, 4); /* the site of compute */
    builder_logged_call(&builder, load, 5, 100, 4242, NULL);
    builder_logged_call(&builder, compute, 6, 100, 4242, NULL);
    builder_logged_call(&builder, load, 7, 100, 4242, NULL);
    const char *text = fixture_render(0, false);
    assert_non_null(strstr(text, "\ncalls: load, compute\n"));
}

/* If every function is measured, those with the most time in total only call others. */
static void build_wrappers(void)
{
    char name[16];
    thread = builder_thread(&builder);
    main_node = builder_node(&builder, thread, 0, builder_site(&builder, "main", "src/demo.c", 1));
    builder_header(&builder)->main_site = 0;
    uint32_t node = main_node;
    for (unsigned at = 0; at < 20; at++) {
        snprintf(name, sizeof name, "wrapper_%u", at);
        node = builder_node(&builder, thread, node, builder_site(&builder, name, "src/demo.c", 10 + at));
        builder_call(&builder, thread, node, 8400 * MS + 20 - at, 8400 * MS + 19 - at);
    }
    for (unsigned at = 0; at < 20; at++) {
        snprintf(name, sizeof name, "worker_%u", at);
        compute = call_of(thread, node, name, (at + 1) * 40 * MS);
    }
    builder_call(&builder, thread, main_node, 8400 * MS + 21, 8400 * MS + 20);
    builder_elapse(&builder, 8400 * MS + 21, 1);
}

static size_t count_of_lines(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

static void short_table_has_the_functions_of_the_verdict(void **state)
{
    (void)state;
    build_wrappers();
    builder_cpu(&builder, thread, compute, 800, 800 * MS, 0);
    strcpy(settings.show.report, "short");
    settings.show.functions_limit = 15;
    const char *text = fixture_render(0, false);
    assert_non_null(strstr(text, "\nThe bottleneck is worker_19: 10 % of the time, cpu-bound\n"));
    assert_int_equal(count_of_lines(text, "\n| wrapper_"), 0);
    assert_int_equal(count_of_lines(text, "\n| worker_"), 14);
    assert_int_equal(count_of_lines(text, "\n| main "), 1);
    assert_non_null(strstr(text, "| worker_6  |")); /* the last of them, with its columns */
    assert_int_equal(count_of_lines(text, "| waiting   |"), 13);
}

/* The same with time alone: the verdict is where own time is spent. */
static void compiled_functions_have_a_verdict_from_timing_alone(void **state)
{
    (void)state;
    build_wrappers();
    strcpy(settings.show.report, "short");
    settings.show.functions_limit = 15;
    assert_null(strstr(fixture_render(0, false), "The function with the most time is "));
    ((struct hp_site *)builder_at(&builder, builder_header(&builder)->site_chunks[0]))[21].image = 1;
    const char *text = fixture_render(0, false);
    assert_non_null(strstr(text,
                           "\nThe function with the most time is worker_19: 10 % of the time; CPU time and waiting "
                           "were not measured\n"));
    assert_int_equal(count_of_lines(text, "\n| worker_"), 14);
}

static void a_column_of_both_tables_is_shown_once(void **state)
{
    (void)state;
    build_times();
    build_cpu();
    strcpy(settings.show.report, "short");
    strcpy(settings.show.columns, "self");
    const char *text = fixture_render(0, false), *self = strstr(text, " Self |");
    assert_non_null(self);
    assert_null(strstr(self + 1, " Self |"));
}

/* It is only there because the user has named a function. */
static void the_slowest_call_is_a_table_on_a_full_screen(void **state)
{
    (void)state;
    build_a_full_screen();
    builder_slow_call(&builder, load, 5, 100, 90, 0, 0);
    strcpy(settings.show.slowest, "load");
    const char *text = fixture_render(0, false);
    assert_non_null(strstr(text, "\nslowest - "));
    assert_null(strstr(text, "\nslowest: "));
}

/* ------------------------------------------------------------------------------------------------- channels */

/* One thread's use of a channel from the first second to the tenth: blocked for so long, in a node, on one side. */
static void use_channel(const char *label, uint32_t of, uint32_t node, bool is_sender, uint64_t blocked)
{
    static uint32_t channel;
    static const char *last;
    if (last == NULL || strcmp(last, label) != 0 || is_sender)
        channel = builder_object(&builder, "channel", label, 3);
    last = label;
    struct hp_part *part = builder_at(&builder, builder_part(&builder, channel, of));
    part->node = node;
    part->first_tick = BUILDER_START;
    part->last_tick = BUILDER_START + 10 * SECOND;
    part->count[is_sender ? HP_CHANNEL_SENT : HP_CHANNEL_RECEIVED] = 100;
    part->count[is_sender ? HP_CHANNEL_FULL : HP_CHANNEL_EMPTY] = blocked;
    part->count[is_sender ? HP_CHANNEL_FULL_WAITS : HP_CHANNEL_EMPTY_WAITS] = 1;
}

static void a_full_channel_names_its_consumer(void **state)
{
    (void)state;
    build_times();
    build_cpu();
    const uint32_t producer = builder_thread(&builder);
    const uint32_t consumer = builder_thread(&builder);
    const uint32_t encode = call_of(consumer, 0, "encode", 2 * SECOND);
    use_channel("jobs", producer, 0, true, 9300 * MS);
    use_channel("jobs", consumer, encode, false, 0);
    use_channel("less", producer, 0, true, 8 * SECOND);
    use_channel("less", thread, load, false, 0);
    fixture_build();
    assert_string_equal(
        bottlenecks()->summary,
        "Senders of jobs were blocked 93 % of their time: the consumer encode is the bottleneck. "
        "The function with the most time of its own is load: 50 % of the time, waiting (cause unknown, "
        "maybe for a CPU: set HOTPATH_WAITS=1)");
}

/*
 * Its threads receive in a function of the queue, wait there for 4 of its 5 seconds, and have their work beside it.
 */
static void function_that_only_dequeues_is_not_the_consumer(void **state)
{
    (void)state;
    build_times();
    build_cpu();
    const uint32_t producer = builder_thread(&builder), consumer = builder_thread(&builder);
    const uint32_t take = call_of(consumer, 0, "take", 5 * SECOND);
    const uint32_t handle = call_of(consumer, 0, "handle", 4 * SECOND);
    call_of(consumer, handle, "inside", 3 * SECOND);
    call_of(consumer, 0, "answer", SECOND / 2);
    use_channel("jobs", producer, 0, true, 9300 * MS);
    use_channel("jobs", consumer, take, false, 4 * SECOND);
    fixture_build();
    assert_non_null(strstr(bottlenecks()->summary, "the consumer handle is the bottleneck"));
}

static void channel_that_is_not_full_names_no_consumer(void **state)
{
    (void)state;
    build_times();
    build_cpu();
    use_channel("jobs", builder_thread(&builder), 0, true, 5 * SECOND); /* half of the time is not more than that */
    use_channel("jobs", thread, compute, false, 9 * SECOND);            /* and it is known what else goes on */
    fixture_build();
    assert_memory_equal(bottlenecks()->summary, "The bottleneck is load: ", 24);
}

static void empty_channel_names_its_producer_if_nothing_else_is_known(void **state)
{
    (void)state;
    build_times();
    build_allocs();
    use_channel("jobs", builder_thread(&builder), 0, true, 0);
    use_channel("jobs", thread, compute, false, 9 * SECOND);
    fixture_build();
    assert_string_equal(bottlenecks()->summary,
                        "Receivers of jobs were blocked 90 % of their time: the producer is the bottleneck");
}

/* 8 s of 10 s are 80 million zones inside load. Of its 6 s, 5.6 s belong to them, so 0.4 s of 2 s are left. */
static void a_distorted_picture_is_named_first(void **state)
{
    (void)state;
    build_times();
    build_cpu();
    struct hp_header *header = builder_header(&builder);
    header->cores = 1;
    header->zone_cost_ps = 100000;
    header->zone_inner_ps = 30000;
    const uint32_t leaf = builder_node(&builder, thread, load, builder_site(&builder, "leaf", "src/demo.c", 9));
    ((struct hotpath_node_ *)builder_at(&builder, leaf))->calls = 80000000;
    fixture_build();
    const char *said = "Measuring distorts the picture: it took about 80 % of the run. load has 60 % of the time "
                       "measured, about 20 % alone. ";
    assert_memory_equal(bottlenecks()->summary, said, strlen(said));
}

/* Without CPU time, waits or allocations there is no verdict. */
static void a_distorted_picture_is_a_warning_without_a_verdict(void **state)
{
    (void)state;
    build_times();
    struct hp_header *header = builder_header(&builder);
    header->cores = 1;
    header->zone_cost_ps = 100000;
    header->zone_inner_ps = 30000;
    const uint32_t leaf = builder_node(&builder, thread, load, builder_site(&builder, "leaf", "src/demo.c", 9));
    ((struct hotpath_node_ *)builder_at(&builder, leaf))->calls = 80000000;
    fixture_build();
    assert_int_equal(results->warning_count, 1);
    assert_string_equal(results->warnings[0], "Measuring distorts the picture: it took about 80 % of the run. load "
                                              "has 60 % of the time measured, about 20 % alone");
}

static void a_little_measuring_is_not_a_distortion(void **state)
{
    (void)state;
    build_times();
    build_cpu();
    builder_header(&builder)->cores = 1;
    builder_header(&builder)->zone_cost_ps = 100000;
    const uint32_t leaf = builder_node(&builder, thread, load, builder_site(&builder, "leaf", "src/demo.c", 9));
    ((struct hotpath_node_ *)builder_at(&builder, leaf))->calls = 24000000;
    fixture_build();
    assert_null(strstr(bottlenecks()->summary, "distorts"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(verdict_weighs_all_measurements, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(every_row_has_its_numbers, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(unmeasured_columns_are_empty, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(run_queue_of_the_process_is_spread, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(run_queue_beyond_a_wait_is_spread, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(verdict_from_waits_alone, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(verdict_from_waits_beside_an_unmeasured_process, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(verdict_from_allocations_alone, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(waiting_outside_is_said_first, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(waiting_in_main_is_outside_of_functions, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(unmeasured_cpu_time_is_said_first, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(pool_verdict_names_the_job, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(waiting_for_a_lock_is_not_idle, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(sleep_beside_work_is_idle, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(socket_to_another_process_is_idle_beside_work, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(idle_server_is_called_idle, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(idle_program_names_the_request_it_waits_for, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(cpu_time_outside_of_functions_is_not_idle, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(loop_waits_for_open_tasks, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(starved_loop_waits_for_a_cpu, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(waiting_of_unknown_cause_is_for_open_tasks, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(tasks_that_run_are_not_waited_for, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(run_queue_is_not_idle, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(waiting_for_a_child_names_it, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(many_threads_that_wait, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(no_verdict_from_timing_alone, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(threads_share_their_time, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(unmeasured_time_is_said_first, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(run_queue_is_not_a_cause_of_waiting, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(minor_functions_and_causes_are_not_named, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_program_without_functions_waits_for_the_largest_cause, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_program_without_functions_waits_for_a_cpu, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_program_of_brief_threads_is_not_idle_while_they_run, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(cpu_time_is_unknown_without_samples, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(rows_are_chosen_and_ordered, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(sentences_are_printed_below_the_table, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_note_names_only_columns_that_are_shown, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_line_has_each_name_once, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(short_table_has_the_functions_of_the_verdict, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(compiled_functions_have_a_verdict_from_timing_alone, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_column_of_both_tables_is_shown_once, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_slowest_call_is_a_table_on_a_full_screen, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_distorted_picture_is_named_first, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_distorted_picture_is_a_warning_without_a_verdict, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_little_measuring_is_not_a_distortion, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_full_channel_names_its_consumer, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(function_that_only_dequeues_is_not_the_consumer, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(channel_that_is_not_full_names_no_consumer, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(empty_channel_names_its_producer_if_nothing_else_is_known, fixture_set_up,
                                        fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
