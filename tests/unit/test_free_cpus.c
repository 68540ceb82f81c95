/*
 * What processes are told of free CPUs: with a fake kernel, so that the truth is known.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "clock.h"
#include "fake_kernel.h"
#include "free_cpus.h"
#include "layout.h"
#include "lock_layout.h"
#include "scratch_folder.h"

#define PID 700u
#define START UINT64_C(1234)
#define STEPS 100

static unsigned ticks[4]; /* in which each CPU was idle */

/* Looks cost next to nothing (--wrap): how often they come depends on their cost. */
__typeof__(hp_clock_thread_ns) __wrap_hp_clock_thread_ns;
uint64_t __wrap_hp_clock_thread_ns(void) { return fake_ns; }

static void path_of(char path[300], uint32_t pid) { snprintf(path, 300, "%s/%u-5.locks", scratch_folder, pid); }

static int set_up(void **state)
{
    (void)state;
    fake_kernel_begin();
    fake_ns = 1000 * MS;
    memcpy(ticks, (const unsigned[4]){100, 200, 300, 400}, sizeof ticks);
    hp_free_cpus_begin(scratch_folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hp_free_cpus_end();
    for (uint32_t pid = PID; pid < PID + 4; pid++) {
        char path[300];
        path_of(path, pid);
        unlink(path);
    }
    fake_kernel_end();
    return 0;
}

static void make_process(uint32_t pid, const char *cpus, uint64_t start)
{
    struct hp_locks_header header = {.side = {.magic = HP_LOCKS_MAGIC,
                                              .byte_order = HP_BYTE_ORDER,
                                              .version = HP_LOCKS_VERSION,
                                              .pid = pid,
                                              .process_start = START}};
    char path[300], folder[40], status[60];
    path_of(path, pid);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(pwrite(fd, &header, sizeof header, 0), sizeof header);
    close(fd);
    snprintf(folder, sizeof folder, "%u", pid);
    fake_stat(folder, 'S', start);
    snprintf(status, sizeof status, "%u/status", pid);
    fake_file(status, "Name:\tdemo\nCpus_allowed:\tf\nCpus_allowed_list:\t%s\nMems_allowed:\t1\n", cpus);
}

static struct hp_lock_free_cpus told(uint32_t pid)
{
    struct hp_locks_header header;
    char path[300];
    path_of(path, pid);
    const int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    close(fd);
    return header.free_cpus;
}

/* In percent of the time that went by, which is returned in milliseconds. */
static unsigned part_of(uint32_t pid, unsigned *ret_ms)
{
    const struct hp_lock_free_cpus now = told(pid);
    const uint64_t time = now.sum >> 32, free = (uint32_t)now.sum;
    *ret_ms = (unsigned)((time << HP_LOCK_FREE_BITS) / MS);
    return time != 0 ? (unsigned)((free * 100 + time / 2) / time) : 0;
}

/* Each CPU is idle for some of every ten steps; the last one waits for a disk then. */
static void go_by(const unsigned idle[4])
{
    for (int step = 0; step < STEPS; step++) {
        for (int cpu = 0; cpu < 4; cpu++)
            ticks[cpu] += (unsigned)step * idle[cpu] / 10 != (unsigned)(step + 1) * idle[cpu] / 10;
        fake_file(
            "stat",
            "cpu  9 9 9 9 9 0 0 0 0 0\ncpu0 1 2 3 %u 5 0 0 0 0 0\ncpu1 1 2 3 %u 5 0 0 0 0 0\ncpu2 1 2 3 %u 5 0 0 "
            "0 0 0\ncpu3 1 2 3 5 %u 0 0 0 0 0\nintr 5 6\n",
            ticks[0], ticks[1], ticks[2], ticks[3]);
        hp_free_cpus_look();
        fake_ns += 10 * MS;
    }
}

static void assert_part(uint32_t pid, unsigned percent)
{
    unsigned ms;
    const unsigned part = part_of(pid, &ms);
    assert_in_range(ms, 10 * STEPS - 60, 10 * STEPS);
    assert_in_range(part, percent > 2 ? percent - 2 : 0, percent + 2);
}

static void free_time_of_the_cpus_that_a_process_may_use(void **state)
{
    (void)state;
    make_process(PID, "0-3", START);
    make_process(PID + 1, "0", START);
    make_process(PID + 2, "1", START);
    make_process(PID + 3, "2-3", START);
    go_by((const unsigned[4]){0, 10, 2, 3});
    assert_part(PID, 100); /* together more than the time */
    assert_part(PID + 1, 0);
    assert_part(PID + 2, 100);
    assert_part(PID + 3, 50);
    assert_in_range(told(PID + 2).part, HP_LOCK_FREE_WHOLE * 9 / 10, HP_LOCK_FREE_WHOLE);
    assert_int_equal(told(PID + 1).part, 0);
}

static void nothing_is_told_to_others(void **state)
{
    (void)state;
    make_process(PID, "0-3", START + 1); /* a later process with the same number */
    make_process(PID + 1, "0-3", START);
    go_by((const unsigned[4]){10, 10, 10, 10});
    assert_int_equal(told(PID).sum, 0);
    assert_int_not_equal(told(PID + 1).sum, 0);
}

static void a_kernel_that_hides_its_cpus(void **state)
{
    (void)state;
    make_process(PID, "0-3", START);
    for (int step = 0; step < STEPS; step++, fake_ns += 10 * MS) {
        fake_file("stat", "cpu  0 0 0 0 0 0 0 0 0 0\nintr 0\n");
        hp_free_cpus_look();
    }
    assert_int_equal(told(PID).sum, 0);
}

/* A process may begin late, and be moved to other CPUs. */
static void cpus_change(void **state)
{
    (void)state;
    go_by((const unsigned[4]){10, 0, 0, 0});
    make_process(PID, "1", START);
    go_by((const unsigned[4]){10, 0, 0, 0});
    assert_part(PID, 0);
    fake_file("700/status", "Name:\tdemo\nCpus_allowed_list:\t0\n");
    go_by((const unsigned[4]){10, 0, 0, 0});
    unsigned ms;
    assert_in_range(part_of(PID, &ms), 40, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(free_time_of_the_cpus_that_a_process_may_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_told_to_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kernel_that_hides_its_cpus, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cpus_change, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
