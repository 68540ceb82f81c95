/*
 * The CPU's counter of instructions, on machines that have none: pages with known numbers, a counter of CPU time in
 * its place, and pages of the test in place of the kernel's. One file: all of it is one protocol.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* unshare */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cpu_counter.h"
#include "sanitizer.h"

/* ------------------------------------------------------------------------------------------------------- a page */

static struct perf_event_mmap_page page;
static uint64_t in_cpu;
static uint32_t asked_for, readings;

static uint64_t read_known(uint32_t index)
{
    asked_for = index;
    readings++;
    return in_cpu;
}

/* Between the first two readings the thread loses its CPU: its counter is saved, and goes on in another place. */
static uint64_t read_and_switch(uint32_t index)
{
    if (readings++ > 0) {
        assert_int_equal(index, 4);
        return 7;
    }
    assert_int_equal(index, 2);
    page.lock += 2;
    page.index = 5;
    page.offset = 1600;
    return 500;
}

static uint64_t read_page(uint64_t (*read_cpu)(uint32_t), bool *ret_is_shared)
{
    readings = 0;
    return hp_counter_page_read(&page, read_cpu, ret_is_shared);
}

static void a_page_is_read_as_the_kernel_means_it(void **state)
{
    (void)state;
    static const struct {
        int64_t offset;
        uint64_t in_cpu;
        uint32_t index, width, may_read;
        uint64_t count;
    } pages[] = {
        {1000, 234, 3, 48, 1, 1234},
        {1000, 234, 0, 48, 1, 1000},                                /* not on the CPU now */
        {1000, 234, 3, 48, 0, 1000},                                /* not for us */
        {INT64_C(1) << 47, UINT64_C(0x800000000010), 3, 48, 1, 16}, /* counters begin far below zero */
        {5, UINT64_C(0xffffffffffff), 1, 48, 1, 4},
        {100, UINT64_C(0xabcd00000000002a), 1, 32, 1, 142}, /* further bits mean nothing */
        {100, UINT64_MAX, 1, 64, 1, 99},
        {0, 77, 32, 0, 1, 77},
    };
    for (size_t at = 0; at < sizeof pages / sizeof pages[0]; at++) {
        bool is_shared = true;
        page = (struct perf_event_mmap_page){.index = pages[at].index,
                                             .offset = pages[at].offset,
                                             .pmc_width = (uint16_t)pages[at].width,
                                             .cap_user_rdpmc = pages[at].may_read & 1,
                                             .time_enabled = 9,
                                             .time_running = 9};
        in_cpu = pages[at].in_cpu;
        assert_int_equal(read_page(read_known, &is_shared), pages[at].count);
        assert_false(is_shared);
        assert_int_equal(readings, pages[at].index != 0 && pages[at].may_read);
        if (readings > 0)
            assert_int_equal(asked_for, pages[at].index - 1);
    }
}

static void a_page_that_changes_is_read_again(void **state)
{
    (void)state;
    bool is_shared = false;
    page =
        (struct perf_event_mmap_page){.lock = 8, .index = 3, .offset = 1000, .pmc_width = 48, .cap_user_rdpmc = 1};
    assert_int_equal(read_page(read_and_switch, &is_shared), 1607);
    assert_int_equal(readings, 2);
}

static void a_counter_that_others_used_is_not_exact(void **state)
{
    (void)state;
    bool is_shared = false;
    page = (struct perf_event_mmap_page){.time_enabled = 2000, .time_running = 1000};
    read_page(read_known, &is_shared);
    assert_true(is_shared);
}

/* ------------------------------------------------------------------------ a process, with a counter of CPU time */

static struct hp_cpu_counters counters;
static __thread struct hp_counted_thread *own;
static struct hp_cpu_counter_source real;
static bool has_perf;

static void begin_with(const struct hp_cpu_counter_source *source)
{
    hp_cpu_counter_end_thread(&own);
    memset(&counters, 0, sizeof counters);
    hp_cpu_counters_use(&counters, NULL);
    hp_cpu_counter_source = *source;
    assert_true(hp_cpu_counter_begin(&own));
    assert_true(hp_cpu_counter_is_on());
}

/* The kernel counts it as it counts instructions, but it is not read from the CPU. */
static void begin_by_calls(void)
{
    const struct hp_cpu_counter_source source = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, real.map,
                                                 real.read_cpu};
    if (!has_perf)
        skip();
    begin_with(&source);
}

/* Descriptors of counters. */
static size_t find_counters(int *ret_one)
{
    size_t count = 0;
    char path[300], to[64];
    DIR *all = opendir("/proc/self/fd");
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        const ssize_t length = readlink(path, to, sizeof to - 1);
        to[length > 0 ? length : 0] = '\0';
        if (strcmp(to, "anon_inode:[perf_event]") == 0) {
            count++;
            *ret_one = atoi(entry->d_name);
        }
    }
    closedir(all);
    return count;
}

static volatile unsigned sink;

static void compute(void)
{
    for (unsigned step = 0; step < 3000000; step++)
        sink += step;
}

/*
 * What it has counted is not less than what the thread has used, nor more than the time that has passed: the
 * kernel's clock of a thread leaves out what a machine around this one takes. Returns it.
 */
static uint64_t assert_counts(void)
{
    const uint64_t outer = hp_clock_monotonic_ns(), from = hp_cpu_counter_read(&own), inner = hp_clock_thread_ns();
    compute();
    const uint64_t least = hp_clock_thread_ns() - inner, counted = hp_cpu_counter_read(&own) - from,
                   most = hp_clock_monotonic_ns() - outer;
    assert_in_range(counted, least - least / 10, most + most / 10);
    return counted;
}

static void it_counts_what_the_thread_does(void **state)
{
    (void)state;
    int fd = -1;
    begin_by_calls();
    assert_counts();
    assert_int_equal(find_counters(&fd), 1);
    assert_true(fd >= 100);
    assert_int_equal(counters.doubts, 0);
    hp_cpu_counter_end_thread(&own);
    assert_int_equal(find_counters(&fd), 0);
}

static void *count_in_thread(void *context)
{
    uint64_t *counted = context;
    *counted += assert_counts();
    hp_cpu_counter_end_thread(&own);
    return NULL;
}

static void run_thread(void *(*body)(void *), void *context)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, context), 0);
    pthread_join(thread, NULL);
}

static void each_thread_has_its_own(void **state)
{
    (void)state;
    int fd = -1;
    begin_by_calls();
    uint64_t in_threads = 0;
    const uint64_t before = hp_cpu_counter_read(&own);
    for (int at = 0; at < 3; at++)
        run_thread(count_in_thread, &in_threads);
    assert_true(hp_cpu_counter_read(&own) - before < in_threads / 2); /* we only waited for them */
    assert_int_equal(find_counters(&fd), 1); /* those of threads that have ended are closed */
    assert_int_equal(counters.doubts, 0);
}

/* Ends the process, with what failed. */
static void in_child(uint64_t before)
{
    int fd = -1;
    const uint64_t first = hp_cpu_counter_read(&own);
    compute();
    const uint64_t second = hp_cpu_counter_read(&own);
    const bool is_one = find_counters(&fd) == 1;
    _exit((first < before ? 1 : 0) | (second <= first ? 2 : 0) | (is_one ? 0 : 4) | (counters.doubts ? 8 : 0));
}

static int status_of_child(uint64_t before)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        in_child(before);
    waitpid(child, &status, 0);
    return status;
}

static void *wait_for_end(void *context)
{
    hp_cpu_counter_read(&own);
    pthread_barrier_wait(context); /* the main thread forks */
    pthread_barrier_wait(context);
    hp_cpu_counter_end_thread(&own);
    return NULL;
}

/* It goes on from its parent's, and closes the descriptors of all threads of it. */
static void a_forked_child_has_its_own(void **state)
{
    (void)state;
    pthread_t thread;
    pthread_barrier_t barrier;
    begin_by_calls();
    compute();
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, wait_for_end, &barrier);
    pthread_barrier_wait(&barrier);
    assert_int_equal(status_of_child(hp_cpu_counter_read(&own)), 0);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    assert_counts();
}

/* The program's file in the counter's place is not read. */
static void a_counter_that_the_program_closed_stands_still(void **state)
{
    (void)state;
    int fd = -1, ends[2];
    char byte = 0;
    begin_by_calls();
    compute();
    assert_int_equal(find_counters(&fd), 1);
    const uint64_t before = hp_cpu_counter_read(&own);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    assert_int_equal(dup2(ends[0], fd), fd);
    compute();
    assert_int_equal(hp_cpu_counter_read(&own), before);
    assert_int_equal(counters.doubts, HP_COUNTER_IS_MISSING);
    assert_int_equal(read(fd, &byte, 1), 1);
    assert_int_equal(byte, 'a');
    hp_cpu_counter_end_thread(&own);
    assert_int_equal(read(fd, &byte, 1), 1); /* nor closed */
    close(fd);
    close(ends[0]);
    close(ends[1]);
}

static void *expect_none(void *context)
{
    (void)context;
    compute();
    assert_int_equal(hp_cpu_counter_read(&own), 0);
    hp_cpu_counter_end_thread(&own);
    return NULL;
}

static void without_room_for_descriptors_a_thread_is_not_counted(void **state)
{
    (void)state;
    struct rlimit limit, none;
    begin_by_calls();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 1, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    run_thread(expect_none, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(counters.doubts, HP_COUNTER_IS_MISSING);
    assert_counts(); /* ours goes on */
}

static bool is_allowed;
static bool may_call(void) { return is_allowed; }

static void where_calls_are_forbidden_it_makes_none(void **state)
{
    (void)state;
    begin_by_calls();
    is_allowed = false;
    hp_cpu_counters_use(&counters, may_call);
    const uint64_t before = hp_cpu_counter_read(&own);
    compute();
    assert_int_equal(hp_cpu_counter_read(&own), before);
    run_thread(expect_none, NULL);
    is_allowed = true;
    compute();
    assert_true(hp_cpu_counter_read(&own) > before);
}

/* A filter that ends the process at any call but the end of it. */
static bool enter_sandbox(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL)};
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define NOT_HERE 77

/* Ends the process: the thread goes on, as after a fork; then another one reads for the first time, and ends. */
static void read_in_sandbox(uint64_t before)
{
    if (!enter_sandbox())
        _exit(NOT_HERE);
    const bool is_kept = hp_cpu_counter_read(&own) == before;
    hp_cpu_counter_end_thread(&own);
    own = NULL;
    const int status = is_kept && hp_cpu_counter_read(&own) == 0 ? 0 : 1;
    syscall(SYS_exit_group, status); /* before _exit, the address sanitizer makes a call of its own */
}

/* Which thread or process this is would take a call, too. */
static void not_even_to_learn_who_reads(void **state)
{
    (void)state;
    int status = -1;
    begin_by_calls();
    const uint64_t before = hp_cpu_counter_read(&own);
    is_allowed = false;
    hp_cpu_counters_use(&counters, may_call);
    const pid_t child = fork();
    if (child == 0)
        read_in_sandbox(before);
    waitpid(child, &status, 0);
    is_allowed = true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
        skip();
    assert_int_equal(status, 0);
}

static volatile uint64_t in_handler;
static volatile sig_atomic_t has_fallen, handled;

static void read_in_handler(int signal)
{
    (void)signal;
    const uint64_t count = hp_cpu_counter_read(&own);
    has_fallen = has_fallen || count < in_handler;
    in_handler = count;
    handled++;
}

/* Also in handlers that interrupt a reading, or the opening. */
static void it_never_falls(void **state)
{
    (void)state;
    uint64_t latest = 0;
    struct sigaction before, action = {.sa_handler = read_in_handler, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    begin_by_calls();
    in_handler = 0;
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    while (handled < 200) {
        const uint64_t count = hp_cpu_counter_read(&own);
        assert_true(count >= latest);
        latest = count;
        if (handled % 16 != 0)
            continue;
        sigprocmask(SIG_BLOCK, &alarm, NULL);
        hp_cpu_counter_end_thread(&own);
        latest = in_handler = 0;
        sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_false(has_fallen);
}

/* ------------------------------------------------------------------------------- pages in place of the kernel's */

static struct perf_event_mmap_page *given; /* the latest */

/* As the kernel's: a forked child does not have it. */
static long give_page(long fd)
{
    (void)fd;
    given = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(given != MAP_FAILED);
    madvise(given, 4096, MADV_DONTFORK);
    given->index = 2;
    given->pmc_width = 48;
    given->cap_user_rdpmc = 1;
    given->offset = 1000;
    return (long)given;
}

static bool is_mapped(const void *address)
{
    unsigned char here;
    return mincore((void *)(uintptr_t)address, 4096, &here) == 0;
}

static void begin_by_pages(void)
{
    const struct hp_cpu_counter_source source = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, give_page,
                                                 read_known};
    if (!has_perf)
        skip();
    in_cpu = 5;
    begin_with(&source);
}

static void a_counter_that_can_be_read_keeps_no_descriptor(void **state)
{
    (void)state;
    int fd = -1;
    begin_by_pages();
    assert_int_equal(find_counters(&fd), 0);
    assert_int_equal(hp_cpu_counter_read(&own), 1005);
    in_cpu = 6;
    assert_int_equal(hp_cpu_counter_read(&own), 1006);
    given->offset = 900; /* it never falls */
    assert_int_equal(hp_cpu_counter_read(&own), 1006);
    given->offset = 2000;
    given->time_enabled = 1;
    assert_int_equal(hp_cpu_counter_read(&own), 2006);
    assert_int_equal(counters.doubts, HP_COUNTER_IS_SHARED);
    assert_true(is_mapped(given));
    hp_cpu_counter_end_thread(&own);
    assert_false(is_mapped(given));
}

static void a_forked_child_has_no_page_of_its_parent(void **state)
{
    (void)state;
    int status = -1;
    begin_by_pages();
    assert_int_equal(hp_cpu_counter_read(&own), 1005);
    const struct perf_event_mmap_page *const ours = given;
    const pid_t child = fork();
    if (child == 0) {
        const uint64_t count = hp_cpu_counter_read(&own);
        _exit(count == 2010 && given != NULL && !is_mapped(given == ours ? NULL : ours) ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(hp_cpu_counter_read(&own), 1005);
}

/* The status of a child that does this; the first child after `unshare` is number 1. */
static int status_of(int (*body)(void))
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        _exit(body());
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

static int read_as_child(void)
{
    const uint64_t count = hp_cpu_counter_read(&own);
    return getpid() != 1 ? NOT_HERE : count == 2010 ? 0 : 1;
}

static int be_parent(void)
{
    own = NULL; /* of the process outside */
    begin_by_pages();
    hp_cpu_counter_read(&own);
    return getpid() != 1 || unshare(CLONE_NEWPID) != 0 ? NOT_HERE : status_of(read_as_child);
}

static int be_outside(void) { return unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 ? status_of(be_parent) : NOT_HERE; }

/* In PID namespaces of their own. */
static void a_child_with_the_number_of_its_parent_has_its_own(void **state)
{
    (void)state;
    if (!has_perf)
        skip();
    const int status = status_of(be_outside);
    if (status == NOT_HERE)
        skip();
    assert_int_equal(status, 0);
}

static uint64_t again_in_vfork;

static void a_vfork_child_counts_for_its_parent(void **state)
{
    (void)state;
    int status = -1;
    begin_by_pages();
    if (HP_THREAD_SANITIZER)
        skip(); /* which makes it a fork */
    hp_cpu_counter_read(&own);
    const struct perf_event_mmap_page *const ours = given;
    const pid_t child = vfork();
    if (child == 0) {
        again_in_vfork = hp_cpu_counter_read(&own);
        hp_cpu_counter_end_thread(&own);
        _exit(0);
    }
    waitpid(child, &status, 0);
    assert_int_equal(again_in_vfork, 1005);
    assert_ptr_equal(given, ours);
    assert_true(is_mapped(ours));
    assert_int_equal(hp_cpu_counter_read(&own), 1005);
}

/* ------------------------------------------------------------------------------------------ where there is none */

static void a_machine_without_it_says_so(void **state)
{
    (void)state;
    const struct hp_cpu_counter_source none = {PERF_TYPE_HARDWARE, 12345, real.map, real.read_cpu};
    hp_cpu_counter_end_thread(&own);
    memset(&counters, 0, sizeof counters);
    hp_cpu_counters_use(&counters, NULL);
    hp_cpu_counter_source = none;
    assert_int_not_equal(hp_cpu_counter_obstacle(), 0);
    assert_false(hp_cpu_counter_begin(&own));
    assert_false(hp_cpu_counter_is_on());
}

static int look_for_perf(void **state)
{
    (void)state;
    real = hp_cpu_counter_source;
    assert_int_equal(real.type, PERF_TYPE_HARDWARE);
    assert_int_equal(real.config, PERF_COUNT_HW_INSTRUCTIONS);
    hp_cpu_counter_source.type = PERF_TYPE_SOFTWARE;
    hp_cpu_counter_source.config = PERF_COUNT_SW_TASK_CLOCK;
    has_perf = hp_cpu_counter_obstacle() == 0;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_read_as_the_kernel_means_it),
        cmocka_unit_test(a_page_that_changes_is_read_again),
        cmocka_unit_test(a_counter_that_others_used_is_not_exact),
        cmocka_unit_test(it_counts_what_the_thread_does),
        cmocka_unit_test(each_thread_has_its_own),
        cmocka_unit_test(a_forked_child_has_its_own),
        cmocka_unit_test(a_counter_that_the_program_closed_stands_still),
        cmocka_unit_test(without_room_for_descriptors_a_thread_is_not_counted),
        cmocka_unit_test(where_calls_are_forbidden_it_makes_none),
        cmocka_unit_test(not_even_to_learn_who_reads),
        cmocka_unit_test(it_never_falls),
        cmocka_unit_test(a_counter_that_can_be_read_keeps_no_descriptor),
        cmocka_unit_test(a_forked_child_has_no_page_of_its_parent),
        cmocka_unit_test(a_child_with_the_number_of_its_parent_has_its_own),
        cmocka_unit_test(a_vfork_child_counts_for_its_parent),
        cmocka_unit_test(a_machine_without_it_says_so),
    };
    return cmocka_run_group_tests_name("cpu_counter", tests, look_for_perf, NULL);
}
