/* Work on a stack of our own: where it runs, what interrupts it, who may run it. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "scratch_stack.h"

#define NEAR ((uintptr_t)1 << 16)

struct seen {
    uintptr_t outside; /* stack address of the caller */
    uintptr_t place;   /* of the work */
    uintptr_t nested;  /* of work inside that work */
    sigset_t mask;
};

static bool is_near(uintptr_t one, uintptr_t other) { return one - other < NEAR || other - one < NEAR; }

/* valgrind follows no change of stacks, so work runs in place there. */
static bool is_at_work(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return HP_SCRATCH_STACK_WORKS && (preloaded == NULL || strstr(preloaded, "/vgpreload_") == NULL);
}

static void see_nested(void *context) { ((struct seen *)context)->nested = (uintptr_t)__builtin_frame_address(0); }

static void see(void *context)
{
    struct seen *seen = context;
    seen->place = (uintptr_t)__builtin_frame_address(0);
    pthread_sigmask(SIG_BLOCK, NULL, &seen->mask);
    assert_true(hp_on_scratch_stack(see_nested, seen));
}

static struct seen look(void)
{
    struct seen seen = {.outside = (uintptr_t)__builtin_frame_address(0)};
    assert_true(hp_on_scratch_stack(see, &seen));
    return seen;
}

static void test_it_is_another_stack(void **state)
{
    (void)state;
    const struct seen seen = look();
    assert_int_equal(is_near(seen.place, seen.outside), !is_at_work());
    assert_true(is_near(seen.nested, seen.place));                   /* in place */
    assert_true(is_near(look().place, seen.place) || !is_at_work()); /* the same again */
}

static void test_signals_wait(void **state)
{
    sigset_t after;
    (void)state;
    const struct seen seen = look();
    if (is_at_work()) {
        assert_true(sigismember(&seen.mask, SIGUSR1) == 1 && sigismember(&seen.mask, SIGPROF) == 1);
        assert_true(sigismember(&seen.mask, SIGSEGV) == 0 && sigismember(&seen.mask, SIGABRT) == 0);
    }
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGUSR1), 0);
}

/* Uses most of the stack, and registers of floating point. */
static void work_hard(void *context)
{
    volatile char room[HP_SCRATCH_BYTES - 8192];
    volatile double sum = 0;
    for (size_t at = 0; at < sizeof room; at += 64)
        room[at] = (char)(at >> 6);
    for (size_t at = 0; at < sizeof room; at += 64)
        sum = sum + room[at] * 0.5;
    *(double *)context = sum;
}

static void test_there_is_room(void **state)
{
    double first = 0, second = 1;
    (void)state;
    assert_true(hp_on_scratch_stack(work_hard, &first));
    work_hard(&second);
    assert_true(first == second);
}

static void leave_errno(void *context) { (void)context; }

static void test_errno_is_preserved(void **state)
{
    (void)state;
    errno = ERANGE;
    assert_true(hp_on_scratch_stack(leave_errno, NULL));
    assert_int_equal(errno, ERANGE);
}

/* ----------------------------------------------------------------------------------------------- many threads */

enum { THREADS = 24 }; /* more than there are kept stacks */
static pthread_barrier_t all_there;
static uintptr_t places[THREADS];

static void meet_others(void *context)
{
    volatile unsigned char bytes[1024];
    const size_t number = (size_t)((uintptr_t *)context - places);
    memset((void *)(uintptr_t)bytes, (int)number, sizeof bytes);
    places[number] = (uintptr_t)bytes;
    pthread_barrier_wait(&all_there); /* all hold their stacks at once: nobody waits for another */
    for (size_t at = 0; at < sizeof bytes; at++)
        if (bytes[at] != number)
            places[number] = 0;
    pthread_barrier_wait(&all_there);
}

static void *run_thread(void *place)
{
    for (int round = 0; round < 20; round++)
        if (!hp_on_scratch_stack(meet_others, place))
            return NULL;
    return place;
}

static void test_threads_do_not_share(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (size_t at = 0; at < THREADS; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, run_thread, &places[at]), 0);
    for (size_t at = 0; at < THREADS; at++) {
        void *result;
        pthread_join(threads[at], &result);
        assert_ptr_equal(result, &places[at]);
        assert_int_not_equal(places[at], 0);
    }
    for (size_t at = 0; at < THREADS; at++)
        for (size_t other = 0; other < at; other++)
            assert_int_not_equal(places[at], places[other]);
    pthread_barrier_destroy(&all_there);
}

/* ------------------------------------------------------------------------------------------------- processes */

static void test_children_have_stacks(void **state)
{
    int status;
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        struct seen seen = {0};
        _exit(hp_on_scratch_stack(see, &seen) && seen.place != 0 ? 3 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

/* ------------------------------------------------------------------------------------------------- unwinding */

#ifdef __GLIBC__ /* the unwinder of Debian's gcc needs a function of it */
struct walk {
    uintptr_t wanted; /* the start of a function */
    bool is_found;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *frame, void *context)
{
    struct walk *walk = context;
    walk->is_found |= (uintptr_t)_Unwind_GetIP(frame) - walk->wanted < 256;
    return _URC_NO_REASON;
}

static void walk_up(void *context) { _Unwind_Backtrace(step, context); }

static __attribute__((noinline)) bool is_seen_from_there(void)
{
    struct walk walk = {(uintptr_t)is_seen_from_there, false};
    hp_on_scratch_stack(walk_up, &walk);
    __asm__ volatile("" ::: "memory"); /* no tail call */
    return walk.is_found;
}

static void test_unwinders_pass(void **state)
{
    (void)state;
    assert_true(is_seen_from_there());
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_another_stack),  cmocka_unit_test(test_signals_wait),
        cmocka_unit_test(test_there_is_room),        cmocka_unit_test(test_errno_is_preserved),
        cmocka_unit_test(test_threads_do_not_share), cmocka_unit_test(test_children_have_stacks),
#ifdef __GLIBC__
        cmocka_unit_test(test_unwinders_pass),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
