/*
 * A context that another thread of execution uses, too: clone(CLONE_VM) without CLONE_SETTLS gives a process its
 * parent's thread-local storage. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "holding.h"
#include "report_number.h"
#include "sanitizer.h"
#include "scratch_folder.h"

#define STACK_BYTES ((size_t)1 << 18)

static uint64_t lost(void) { return hp_store_header(hp_runtime->store)->losses[HP_LOSS_ZONES]; }

static int set_up(void **state)
{
    (void)state;
    struct hotpath_options options = {
        .size = sizeof options, .report = "timing", .limit = HOTPATH_NO_LIMIT, .dir = scratch_folder};
    hotpath_set_reporter(read_number, NULL);
    return hotpath_start(&options) != HOTPATH_OK;
}

static int tear_down(void **state)
{
    (void)state;
    hotpath_stop();
    return 0;
}

static void work(void) { HOTPATH_MEASURE(); }

static int work_three_times(void *context)
{
    (void)context;
    for (int at = 0; at < 3; at++)
        work();
    _exit(7);
}

/* While the parent is inside the recorder, the child finds the context held, and it is not the child's. */
static void child_of_clone(void **state)
{
    (void)state;
    int status;
    if (HP_CLANG_THREAD_SANITIZER)
        skip(); /* it puts itself in front of clone, and then CLONE_VM fails a check of its own */
    work();
    struct hotpath_context_ *context = hotpath_v1_context;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    hp_context_hold(context);
    const pid_t child = clone(work_three_times, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
    assert_int_equal(waitpid(child, &status, 0), child);
    hp_context_let_go(context);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(lost(), 3);
    work();
    assert_ptr_equal(hotpath_v1_context, context);
    assert_int_equal((int)number_of("timing", "work", "calls"), 2);
    munmap(stack, STACK_BYTES);
}

/* A handler that interrupted the recorder finds the same, and is recorded. */
static void handler_of_the_thread(void **state)
{
    (void)state;
    work();
    struct hotpath_context_ *context = hotpath_v1_context;
    hp_context_hold(context);
    work();
    hp_context_let_go(context);
    assert_int_equal(lost(), 0);
    assert_int_equal((int)number_of("timing", "work", "calls"), 2);
}

static bool is_over;

static void *use_too(void *context)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        hp_context_hold(context);
        for (int at = 0; at < 20; at++)
            HOTPATH_ORDER_();
        hp_context_let_go(context);
    }
    return NULL;
}

static void *share_context(void *context)
{
    pthread_t other;
    work();
    struct hotpath_context_ *own = hotpath_v1_context;
    assert_int_equal(pthread_create(&other, NULL, use_too, own), 0);
    for (int at = 0; at < 100000000 && hotpath_v1_context == own; at++)
        work();
    assert_ptr_not_equal(hotpath_v1_context, own);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    const uint64_t before = lost();
    for (int at = 0; at < 10; at++)
        work();
    assert_int_equal(lost(), before + 10);
    return context;
}

/* A mark that vanishes by itself is another's: from then on nothing is recorded there, and each zone is lost. */
static void both_at_once(void **state)
{
    (void)state;
    pthread_t thread;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip(); /* then there are no two at once */
    assert_int_equal(pthread_create(&thread, NULL, share_context, NULL), 0);
    pthread_join(thread, NULL);
    work();
    assert_true(number_of("timing", "work", "calls") >= 1); /* other threads are */
    assert_true(lost() >= 11);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(child_of_clone), TEST(handler_of_the_thread), TEST(both_at_once)};
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
