/*
 * If threads are sampled from inside (stack_sampler.h), the library that `hotpath run` preloads interposes the
 * functions that create threads, so that each thread has its timer from the start, and sigaltstack, since samples
 * are handled on alternate stacks. If the critical path is followed, threads know the path of their creator, and
 * those that join them take theirs. Otherwise calls are only forwarded. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

#include "hook_entries.h"
#include "instruction_clock.h"
#include "real_functions.h"
#include "resolve.h"
#include "stack_sampler.h"

#define PUBLIC __attribute__((visibility("default")))
#define MOST_STARTS 256u

typedef void *start_routine(void *argument);

/* A thread that was requested and has not started: its function and argument. */
struct start {
    uint32_t is_taken;
    union {
        start_routine *by_pthread;
        thrd_start_t by_thrd;
    } routine;
    void *argument;
    uint32_t path; /* of hotpath_v1_path_create */
};
static struct start starts[MOST_STARTS];

typedef int create_thread(pthread_t *thread, const pthread_attr_t *attributes, start_routine *routine,
                          void *argument);
typedef int create_thrd(thrd_t *thread, thrd_start_t routine, void *argument);
typedef int join_thread(pthread_t thread, void **result);
typedef int join_thrd(thrd_t thread, int *result);
typedef int set_alternate(const stack_t *wanted, stack_t *before);
static create_thread *next_create;
static create_thrd *next_thrd;
static join_thread *next_join;
static join_thrd *next_thrd_join;
static set_alternate *next_alternate;

/* With the first constructors of ours: what ran of this library before is a few instructions. */
__attribute__((constructor(102))) static void leave_ourselves_out(void)
{
    hp_instruction_clock_exclude_copy(getenv("HOTPATH_CLOCK"));
}

/* Early: the dynamic linker may hold a lock that a forked child would wait for forever. */
__attribute__((constructor)) static void find_next(void)
{
    next_create = (create_thread *)(uintptr_t)hp_resolve_symbol("pthread_create");
    next_thrd = (create_thrd *)(uintptr_t)hp_resolve_symbol("thrd_create");
    next_join = (join_thread *)(uintptr_t)hp_resolve_symbol("pthread_join");
    next_thrd_join = (join_thrd *)(uintptr_t)hp_resolve_symbol("thrd_join");
    next_alternate = (set_alternate *)(uintptr_t)hp_resolve_symbol("sigaltstack");
}

static struct start *free_start(void)
{
    for (size_t at = 0; at < MOST_STARTS; at++) {
        uint32_t is_taken = 0;
        if (__atomic_compare_exchange_n(&starts[at].is_taken, &is_taken, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return &starts[at];
    }
    return NULL;
}

static void give_back(struct start *start) { __atomic_store_n(&start->is_taken, 0, __ATOMIC_RELEASE); }

static void begin_thread(uint32_t path)
{
    if (path != 0)
        hotpath_v1_path_begin(path);
    if (hp_stack_sampler_is_on())
        hp_stack_sampler_begin_thread();
}

/* What is to be known in the new thread; NULL: nothing. */
static struct start *start_of_thread(void *argument)
{
    const uint32_t path = hotpath_v1_path_is_on() ? hotpath_v1_path_create() : 0;
    struct start *start = hp_stack_sampler_is_on() || path != 0 ? free_start() : NULL;
    if (start == NULL && path != 0)
        hotpath_v1_path_drop(path);
    if (start != NULL) {
        start->argument = argument;
        start->path = path;
    }
    return start;
}

static void give_up(struct start *start)
{
    if (start->path != 0)
        hotpath_v1_path_drop(start->path);
    give_back(start);
}

/* A tail call: the thread's stack looks as without us. */
static void *begin_pthread(void *context)
{
    struct start *start = context;
    start_routine *routine = start->routine.by_pthread;
    void *argument = start->argument;
    const uint32_t path = start->path;
    give_back(start);
    begin_thread(path);
    return routine(argument);
}

static int begin_thrd(void *context)
{
    struct start *start = context;
    const thrd_start_t routine = start->routine.by_thrd;
    void *argument = start->argument;
    const uint32_t path = start->path;
    give_back(start);
    begin_thread(path);
    return routine(argument);
}

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, start_routine *routine,
                          void *argument)
{
    if (next_create == NULL)
        find_next();
    if (next_create == NULL)
        return ENOSYS;
    hotpath_v1_begin(); /* a process with threads is not short */
    hp_instruction_clock_expect_thread();
    hp_begin_early();
    struct start *start = start_of_thread(argument);
    if (start == NULL)
        return next_create(thread, attributes, routine, argument);
    start->routine.by_pthread = routine;
    const int status = next_create(thread, attributes, begin_pthread, start);
    if (status != 0)
        give_up(start);
    return status;
}

PUBLIC int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
    if (next_thrd == NULL)
        find_next();
    if (next_thrd == NULL)
        return thrd_error;
    hotpath_v1_begin();
    hp_instruction_clock_expect_thread();
    hp_begin_early();
    struct start *start = start_of_thread(argument);
    if (start == NULL)
        return next_thrd(thread, routine, argument);
    start->routine.by_thrd = routine;
    const int status = next_thrd(thread, begin_thrd, start);
    if (status != thrd_success)
        give_up(start);
    return status;
}

/* The thread has ended: what it did is on the path of the one that waited for that. */
static void take_path(uintptr_t thread, uint64_t since)
{
    if (since != 0)
        hotpath_v1_path_take(&(struct hotpath_path_wait_){
            .object = (const void *)thread, .since = since, .kind = HOTPATH_PATH_THREAD_});
}

PUBLIC int pthread_join(pthread_t thread, void **result)
{
    if (next_join == NULL)
        find_next();
    if (next_join == NULL)
        return ENOSYS;
    if (!hotpath_v1_path_is_on())
        return next_join(thread, result);
    const uint64_t since = hotpath_v1_path_clock();
    const int status = next_join(thread, result);
    if (status == 0)
        take_path((uintptr_t)thread, since);
    return status;
}

PUBLIC int thrd_join(thrd_t thread, int *result)
{
    if (next_thrd_join == NULL)
        find_next();
    if (next_thrd_join == NULL)
        return thrd_error;
    if (!hotpath_v1_path_is_on())
        return next_thrd_join(thread, result);
    const uint64_t since = hotpath_v1_path_clock();
    const int status = next_thrd_join(thread, result);
    if (status == thrd_success)
        take_path((uintptr_t)thread, since);
    return status;
}

/* No sample may come to a stack of the program, so the sampler must know before. */
PUBLIC int sigaltstack(const stack_t *wanted, stack_t *before)
{
    if (next_alternate == NULL)
        find_next();
    if (next_alternate == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (wanted == NULL)
        return next_alternate(wanted, before);
    const bool is_sampled_here = hp_stack_sampler_is_on();
    if (is_sampled_here)
        hp_stack_sampler_change_alternate();
    const int status = next_alternate(wanted, before);
    if (is_sampled_here)
        hp_stack_sampler_alternate_changed();
    hotpath_v1_alternate_changed();
    return status;
}
