/*
 * Metrics of a host over a day of made-up time: processes begin, count, end, are killed, and their files go, while
 * a collector asks once a minute. No counter falls, and sums are exact. SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "metrics.h"
#include "process.h"
#include "service_name.h"
#include "session_builder.h"

/* The linker redirects callers to this one (--wrap). */
static uint64_t now_ns;
__typeof__(hp_clock_monotonic_ns) __wrap_hp_clock_monotonic_ns;
uint64_t __wrap_hp_clock_monotonic_ns(void) { return now_ns; }

#define MINUTE UINT64_C(60000000000)
#define PROCESSES 6u /* at a time */

/* A process, or one that was: its file may be there yet. */
struct process {
    char path[64];
    struct session_builder builder;
    uint32_t thread, node;
    void *mapped; /* as long as it lives */
    bool has_file, is_hidden;
    uint64_t calls, seen; /* so far; when it was listed last */
};

static struct process processes[PROCESSES];
static char folder[] = "/tmp/hotpath-day-XXXXXX";
static uint64_t begun;     /* processes so far */
static uint64_t forgotten; /* calls of those whose place was taken, as seen */

static unsigned random_below(unsigned bound)
{
    static uint32_t state = 12345;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % bound;
}

static void save(const struct process *process)
{
    const int fd = open(process->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pwrite(fd, process->builder.bytes, process->builder.capacity, 0), process->builder.capacity);
    close(fd);
}

static void begin(struct process *process)
{
    forgotten += process->seen;
    if (process->has_file)
        unlink(process->path);
    if (process->builder.bytes != NULL)
        builder_free(&process->builder);
    *process = (struct process){.has_file = true};
    /* Few names, which are used again. */
    snprintf(process->path, sizeof process->path, "%s/%u-%u-0.hotpath", folder, (unsigned)getpid(),
             (unsigned)(process - processes));
    builder_init(&process->builder, 1u << 16);
    struct hp_header *header = builder_header(&process->builder);
    header->state = HP_STATE_LIVE;
    header->pid = (uint32_t)getpid();
    header->process_start = hp_process_start_time(header->pid);
    header->pid_namespace = hp_process_namespace();
    header->wall_start_ns += ++begun * MINUTE;
    hp_process_boot_id(header->boot_id);
    process->thread = builder_thread(&process->builder);
    process->node =
        builder_node(&process->builder, process->thread, 0, builder_site(&process->builder, "work", "demo.c", 10));
    save(process);
    const int fd = open(process->path, O_RDONLY | O_CLOEXEC);
    process->mapped = mmap(NULL, process->builder.capacity, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(process->mapped, MAP_FAILED);
    close(fd);
}

static void end(struct process *process, bool is_killed)
{
    munmap(process->mapped, process->builder.capacity);
    process->mapped = NULL;
    if (!is_killed)
        builder_header(&process->builder)->state = HP_STATE_FINISHED;
}

static void go_on(struct process *process)
{
    for (unsigned calls = random_below(5); process->mapped != NULL && calls > 0; calls--, process->calls++)
        builder_call(&process->builder, process->thread, process->node, 1000 + random_below(100000), 0);
    if (process->mapped != NULL && random_below(20) == 0)
        end(process, random_below(2) == 0);
    if (process->has_file)
        save(process);
    if (process->has_file && random_below(process->mapped != NULL ? 200 : 10) == 0) {
        unlink(process->path);
        process->has_file = false;
    }
    process->is_hidden = random_below(50) == 0;
    if (process->mapped == NULL && random_below(30) == 0)
        begin(process);
}

/* --------------------------------------------------------------------------------------------------- the host */

static bool list(void *context, struct hp_sessions *sessions)
{
    (void)context;
    for (size_t at = 0; at < PROCESSES; at++) {
        struct process *process = &processes[at];
        struct hp_stored_session *stored;
        if (!process->has_file || process->is_hidden)
            continue;
        stored = hp_sessions_add(sessions);
        memcpy(stored->path, process->path, sizeof process->path);
        stored->began_ns = builder_header(&process->builder)->wall_start_ns;
        stored->state = process->mapped != NULL                                         ? HP_SESSION_LIVE
                        : builder_header(&process->builder)->state == HP_STATE_FINISHED ? HP_SESSION_FINISHED
                                                                                        : HP_SESSION_CRASHED;
        process->seen = process->calls;
    }
    return true;
}

static bool parts(struct hp_sessions *sessions, const char *path)
{
    struct hp_stored_session *stored = hp_sessions_add(sessions);
    memcpy(stored->path, path, strlen(path) + 1);
    return true;
}

static double value_of(const struct hp_metric_sums *sums, const char *family, double *ret_count)
{
    double sum = 0;
    for (size_t at = 0; at < sums->series_count; at++) {
        const struct hp_metric_series *series = &sums->series[at];
        if (strcmp(hp_metric_families[series->family].name, family) != 0)
            continue;
        sum += series->value;
        for (uint32_t bucket = HP_METRIC_FIRST_POWER; series->buckets != NULL && bucket < HP_METRIC_BUCKETS;
             bucket++)
            *ret_count += series->buckets[bucket];
    }
    return sum;
}

/* Every number of every series that is no gauge, which must be as long as the array before, or longer. */
static size_t remember(const struct hp_metric_sums *sums, double *before, size_t count, size_t room)
{
    size_t at = 0;
    for (size_t number = 0; number < sums->series_count; number++) {
        const struct hp_metric_series *series = &sums->series[number];
        const size_t values = series->buckets != NULL ? HP_METRIC_BUCKETS : 1;
        for (size_t value = 0; value < values; value++, at++) {
            const double is = series->buckets != NULL ? series->buckets[value] : series->value;
            assert_true(at < room);
            if (hp_metric_families[series->family].type != HP_METRIC_GAUGE && at < count)
                assert_true(is >= before[at]);
            before[at] = is;
        }
    }
    assert_true(at >= count);
    return at;
}

static void counters_never_fall_in_a_day(void **state)
{
    static struct hp_settings settings;
    static double before[8192];
    const struct hp_program_source source = {.list = list, .parts = parts};
    struct hp_host_metrics host = {0};
    size_t count = 0;
    (void)state;
    assert_non_null(mkdtemp(folder));
    now_ns = MINUTE;
    for (size_t at = 0; at < PROCESSES; at++)
        begin(&processes[at]);
    for (unsigned minute = 0; minute < 24 * 60; minute++, now_ns += MINUTE) {
        uint64_t calls = forgotten, running = 0;
        double durations = 0;
        assert_true(hp_host_metrics_refresh(&host, &source, &settings));
        assert_int_equal(host.left_out, 0);
        for (size_t at = 0; at < PROCESSES; at++) {
            calls += processes[at].seen;
            running += processes[at].mapped != NULL && processes[at].has_file && !processes[at].is_hidden;
        }
        assert_true(value_of(&host.sums, "hotpath_function_calls", NULL) == (double)calls);
        assert_true(value_of(&host.sums, "hotpath_running", NULL) == (double)running);
        value_of(&host.sums, "hotpath_function_duration_seconds", &durations);
        assert_true(durations == (double)calls);
        count = remember(&host.sums, before, count, sizeof before / sizeof before[0]);
        for (size_t at = 0; at < PROCESSES; at++)
            go_on(&processes[at]);
        calls = forgotten;
    }
    assert_true(begun > 100 && value_of(&host.sums, "hotpath_function_calls", NULL) > 1000);
    assert_true(host.sums.series_count < 100); /* the same series all day */
    hp_host_metrics_free(&host);
    for (size_t at = 0; at < PROCESSES; at++) {
        unlink(processes[at].path);
        if (processes[at].mapped != NULL)
            end(&processes[at], true);
        builder_free(&processes[at].builder);
    }
    rmdir(folder);
}

/* --------------------------------------------------------------------------------------------------- services */

static void services_are_named_by_units(void **state)
{
    static const char *const cases[][2] = {
        {"0::/system.slice/shop.service\n", "shop"},
        {"0::/system.slice/shop.service/workers\n", "shop"},
        {"0::/system.slice/system-worker.slice/worker@3.service\n", "worker"},
        {"0::/system.slice/my\\x2dshop.service\n", "my-shop"},
        {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/mail.service\n", "mail"},
        {"0::/machine.slice/machine-web\\x2d1.scope/payload/system.slice/nginx.service\n", "nginx"},
        {"0::/machine.slice/machine-web.scope/payload\n", "web"},
        {"0::/lxc.payload.build/init.scope\n", "build"},
        {"12:pids:/lxc/other\n1:name=systemd:/lxc/build\n", "build"},
        {"11:memory:/x.service\n1:name=systemd:/system.slice/cron.service\n0::/\n", "cron"},
        {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope\n", NULL},
        {"0::/user.slice/user-1000.slice/session-2.scope\n", NULL},
        {"0::/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", NULL},
        {"0::/system.slice/docker-0123456789abcdef.scope\n", NULL},
        {"0::/\n", NULL},
        {"0::", NULL},
        {"", NULL},
        {"\n\n:::///\n0::/.service\n0::/machine-.scope\n0::/@.service/lxc/", NULL},
    };
    char name[64];
    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        const bool is_named = hp_service_name_in(cases[at][0], name, sizeof name);
        assert_int_equal(is_named, cases[at][1] != NULL);
        if (is_named)
            assert_string_equal(name, cases[at][1]);
    }
    assert_true(hp_service_name_in("0::/a-very-long-name-of-a-service.service", name, 8)); /* it is cut */
    assert_int_equal(strlen(name), 7);
    assert_false(hp_service_name_of((uint32_t)getpid(), name, sizeof name)); /* that of this process says nothing */
}

/* A process in a unit, beside this one in another. */
static void units_are_read_of_processes(void **state)
{
    char root[] = "/tmp/hotpath-proc-XXXXXX", path[96], name[64];
    static const char *const units[] = {"shop", "test"};
    uint32_t pids[] = {77, (uint32_t)getpid()};
    (void)state;
    assert_non_null(mkdtemp(root));
    hp_task_root = root;
    for (size_t at = 0; at < 2; at++) {
        snprintf(path, sizeof path, "%s/%u", root, pids[at]);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/%u/cgroup", root, pids[at]);
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fprintf(file, "0::/system.slice/%s.service\n", units[at]);
        fclose(file);
    }
    assert_true(hp_service_name_of(77, name, sizeof name));
    assert_string_equal(name, "shop");
    assert_false(hp_service_name_of(pids[1], name, sizeof name));
    assert_false(hp_service_name_of(78, name, sizeof name));
    for (size_t at = 0; at < 2; at++) {
        unlink(hp_task_path(path, pids[at], 0, "cgroup"));
        snprintf(path, sizeof path, "%s/%u", root, pids[at]);
        rmdir(path);
    }
    rmdir(root);
    hp_task_root = "/proc";
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counters_never_fall_in_a_day),
                                       cmocka_unit_test(services_are_named_by_units),
                                       cmocka_unit_test(units_are_read_of_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
