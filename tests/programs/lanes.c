/*
 * Coroutines that keep zones open while others run: on one thread or on whichever is free, ended midway, left by
 * jumps, killed. The calls and allocations of each zone are known. First argument: what to do; second: "ucontext",
 * "asm" or "libco".
 */
#include "switcher.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int uses_ucontext = 1;

/* -------------------------------------------------------------------------------------- many on several threads */

#define THREADS 4
#define COROUTINES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct coroutine *first, **last = &first;
static long left, steps;

static void enqueue(struct coroutine *coroutine)
{
    pthread_mutex_lock(&lock);
    coroutine->next = NULL;
    *last = coroutine;
    last = &coroutine->next;
    pthread_mutex_unlock(&lock);
}

static struct coroutine *dequeue(void)
{
    pthread_mutex_lock(&lock);
    struct coroutine *taken = first;
    if (taken != NULL) {
        first = taken->next;
        if (first == NULL)
            last = &first;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

static long descend(struct coroutine *self, long depth)
{
    HOTPATH_MEASURE();
    if (depth == 0) {
        yield(self);
        return 1;
    }
    return 1 + descend(self, depth - 1);
}

static void step(struct coroutine *self)
{
    HOTPATH_MEASURE();
    char *kept = malloc(1000);
    MUST(kept != NULL);
    memset(kept, 1, 1000);
    {
        HOTPATH_BLOCK("before");
        char *short_lived = malloc(300);
        MUST(short_lived != NULL);
        memset(short_lived, 2, 300);
        yield(self);
        free(short_lived);
    }
    self->number += descend(self, 2);
    {
        HOTPATH_BLOCK("after");
        self->number++;
    }
    free(kept);
}

static void task(struct coroutine *self)
{
    HOTPATH_MEASURE();
    for (long i = 0; i < steps; i++)
        step(self);
    yield(self);
}

static void *work(void *argument)
{
    HOTPATH_MEASURE();
    long resumed = 0;
    (void)argument;
    while (__atomic_load_n(&left, __ATOMIC_ACQUIRE) > 0) {
        struct coroutine *coroutine = dequeue();
        if (coroutine == NULL) {
            sched_yield();
            continue;
        }
        {
            HOTPATH_BLOCK("poll");
            resume(coroutine);
        }
        resumed++;
        if (coroutine->is_done)
            __atomic_sub_fetch(&left, 1, __ATOMIC_ACQ_REL);
        else
            enqueue(coroutine);
    }
    return (void *)resumed;
}

static void pool(long threads, long coroutines)
{
    struct coroutine *all = calloc((size_t)coroutines, sizeof *all);
    pthread_t workers[THREADS];
    long resumed = 0, sum = 0;
    MUST(all != NULL && threads <= THREADS);
    left = coroutines;
    for (long i = 0; i < coroutines; i++) {
        coroutine_make(&all[i], task);
        enqueue(&all[i]);
    }
    for (long i = 0; i < threads; i++)
        MUST(pthread_create(&workers[i], NULL, work, NULL) == 0);
    for (long i = 0; i < threads; i++) {
        void *result;
        pthread_join(workers[i], &result);
        resumed += (long)result;
    }
    for (long i = 0; i < coroutines; i++) {
        sum += all[i].number;
        coroutine_drop(&all[i]);
    }
    free(all);
    tell("resumed", (uint64_t)resumed);
    tell("sum", (uint64_t)sum);
}

/* ---------------------------------------------------------------------------------------------- a libco of ours */

/* As in libco: every stack can switch to every other, and the library knows which one runs. */
typedef struct coroutine *cothread;
static struct coroutine main_cothread;
static cothread active = &main_cothread;

static void co_switch(cothread to)
{
    cothread from = active;
    active = to;
    hotpath_switch(to->lane);
    change_stack(&from->self, &to->self, 0);
}

static cothread ring[3];
static long turns_left;

static void in_ring(struct coroutine *self)
{
    if (main_cothread.self.bottom == NULL) { /* the first switch from there records where that is */
        main_cothread.self.bottom = self->caller.bottom;
        main_cothread.self.size = self->caller.size;
    }
    HOTPATH_BLOCK("in ring");
    for (;;) {
        HOTPATH_BLOCK("turn");
        self->number++;
        if (--turns_left <= 0)
            co_switch(&main_cothread);
        co_switch(ring[(self->more == NULL ? 0 : (uintptr_t)self->more) % 3]);
    }
}

/* Each of three continues with the next, and none ever returns to its predecessor. */
static void libco(void)
{
    static struct coroutine all[3];
    for (uintptr_t i = 0; i < 3; i++) {
        coroutine_make(&all[i], in_ring);
        all[i].more = (void *)(i + 1);
        ring[i] = &all[i];
    }
    turns_left = 3000;
    {
        HOTPATH_BLOCK("around");
        co_switch(ring[0]);
    }
    tell("sum", (uint64_t)(all[0].number + all[1].number + all[2].number));
    for (int i = 0; i < 3; i++)
        coroutine_drop(&all[i]);
}

/* -------------------------------------------------------------------------------------------------------- times */

static uint64_t busy_ns, away_ns;

static void timed(struct coroutine *self)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 5; i++) {
        const uint64_t begun = now_ns();
        spin_us(2000);
        const uint64_t stopped = now_ns();
        yield(self);
        busy_ns += stopped - begun;
    }
}

/* Printed times are measured strictly inside the measured zones, so they are smaller on any machine. */
static void times(void)
{
    static struct coroutine one;
    coroutine_make(&one, timed);
    const uint64_t begun = now_ns();
    {
        HOTPATH_BLOCK("loop");
        while (!one.is_done) {
            resume(&one);
            const uint64_t back = now_ns();
            spin_us(3000);
            if (!one.is_done)
                away_ns += now_ns() - back;
        }
    }
    tell_aside("all_ns", now_ns() - begun);
    tell_aside("busy_ns", busy_ns);
    tell_aside("away_ns", away_ns);
    coroutine_drop(&one);
}

/* ---------------------------------------------------------------------------------------------- unusual endings */

static void midway(struct coroutine *self)
{
    HOTPATH_BLOCK("outer");
    HOTPATH_BLOCK("inner");
    free(malloc(500));
    yield(self);
    self->number++;
}

/* Dropped with zones open, again and again in the same place. */
static void dropped(long count)
{
    HOTPATH_MEASURE();
    for (long i = 0; i < count; i++) {
        struct coroutine one;
        coroutine_make(&one, midway);
        resume(&one);
        coroutine_drop(&one);
        HOTPATH_BLOCK("next");
    }
}

/* By one that runs itself. */
static struct coroutine *victim;

static void dropper(struct coroutine *self)
{
    HOTPATH_BLOCK("dropper");
    coroutine_drop(victim);
    {
        HOTPATH_BLOCK("in dropper");
        yield(self);
    }
}

static void dropped_inside(long count)
{
    for (long i = 0; i < count; i++) {
        struct coroutine one, two;
        coroutine_make(&one, midway);
        coroutine_make(&two, dropper);
        victim = &one;
        resume(&one);
        while (!two.is_done)
            resume(&two);
        coroutine_drop(&two);
    }
}

static jmp_buf out;

static void jumper(struct coroutine *self)
{
    HOTPATH_BLOCK("jumper");
    (void)self;
    longjmp(out, 1);
}

/* Left for the stack below without a report to the library. */
static void jumped(long count)
{
    static struct coroutine one;
    for (volatile long i = 0; i < count; i++) {
        coroutine_make(&one, jumper);
        {
            HOTPATH_BLOCK("catcher");
            if (setjmp(out) == 0)
                resume(&one);
        }
        {
            HOTPATH_BLOCK("next");
        }
        coroutine_drop(&one);
    }
}

static void ends_thread(struct coroutine *self)
{
    HOTPATH_BLOCK("outer");
    HOTPATH_BLOCK("inner");
    (void)self;
    pthread_exit(NULL);
}

static void *run_to_the_end(void *coroutine)
{
    HOTPATH_BLOCK("thread");
    resume(coroutine);
    return NULL;
}

static void ended_thread(long count)
{
    for (long i = 0; i < count; i++) {
        static struct coroutine one;
        pthread_t thread;
        coroutine_make(&one, ends_thread);
        MUST(pthread_create(&thread, NULL, run_to_the_end, &one) == 0);
        pthread_join(thread, NULL);
        coroutine_drop(&one);
    }
}

/* Ten are suspended, one of them elsewhere; then the process is gone. */
static void *run_one(void *coroutine)
{
    resume(coroutine);
    return NULL;
}

static void killed(void)
{
    static struct coroutine all[10];
    pthread_t thread;
    for (int i = 0; i < 10; i++)
        coroutine_make(&all[i], midway);
    for (int i = 0; i < 9; i++)
        resume(&all[i]);
    MUST(pthread_create(&thread, NULL, run_one, &all[9]) == 0);
    pthread_join(thread, NULL);
    HOTPATH_BLOCK("at the end");
    kill(getpid(), SIGKILL);
}

static void kills(struct coroutine *self)
{
    HOTPATH_BLOCK("last");
    (void)self;
    kill(getpid(), SIGKILL);
}

static void killed_inside(void)
{
    static struct coroutine one, two;
    coroutine_make(&one, midway);
    coroutine_make(&two, kills);
    HOTPATH_BLOCK("around");
    resume(&one);
    resume(&two);
}

/* ------------------------------------------------------------------------------------------ sessions, processes */

static void in_turns(struct coroutine *self)
{
    for (int i = 0; i < 4; i++) {
        HOTPATH_BLOCK("part");
        yield(self);
    }
}

/* Some begin before there is a session, some go on in the next one. */
static void sessions(void)
{
    static struct coroutine all[4];
    for (int i = 0; i < 4; i++)
        coroutine_make(&all[i], in_turns);
    for (int round = 0; !all[3].is_done; round++) {
        MUST(hotpath_start(NULL) == HOTPATH_OK);
        for (int i = 0; i < 4; i++)
            resume(&all[i]);
        {
            HOTPATH_BLOCK("round");
        }
        MUST(hotpath_stop() == HOTPATH_OK);
    }
    for (int i = 0; i < 4; i++)
        coroutine_drop(&all[i]);
}

/* The child goes on with coroutines of its parent, and with its own. */
static void forked(void)
{
    static struct coroutine one, two;
    coroutine_make(&one, in_turns);
    resume(&one);
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        coroutine_make(&two, in_turns);
        while (!one.is_done || !two.is_done) {
            if (!one.is_done)
                resume(&one);
            if (!two.is_done)
                resume(&two);
        }
        coroutine_drop(&two);
        exit(0);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
    while (!one.is_done)
        resume(&one);
    coroutine_drop(&one);
}

/* ------------------------------------------------------------------------------------------------------- misuse */

static hotpath_lane shared;
static int is_inside, may_leave;

static void *go_there_too(void *argument)
{
    while (!is_raised(&is_inside))
        sched_yield();
    tell("second was on", hotpath_switch(shared));
    {
        HOTPATH_BLOCK("second");
    }
    tell("second left", hotpath_switch(0));
    raise_flag(&may_leave);
    return argument;
}

/* On two threads at once, ended while it is used, used after its end, made up. */
static void misused(void)
{
    pthread_t thread;
    shared = hotpath_lane_begin();
    MUST(pthread_create(&thread, NULL, go_there_too, NULL) == 0);
    hotpath_switch(shared);
    {
        HOTPATH_BLOCK("first");
        raise_flag(&is_inside);
        while (!is_raised(&may_leave))
            sched_yield();
    }
    hotpath_lane_end(shared);
    {
        HOTPATH_BLOCK("own");
    }
    pthread_join(thread, NULL);
    hotpath_lane_end(shared);
    hotpath_switch(shared);
    hotpath_switch(UINT64_C(0x123456789abcdef1));
    hotpath_switch(UINT64_C(0xffffffff));
    hotpath_lane_end(UINT64_C(0x100000001) + 77);
    hotpath_switch(0);
}

int main(int argc, char **argv)
{
    if (is_case(argc, argv, "sessions")) {
        sessions();
        return 0;
    }
    HOTPATH_MAIN();
    uses_ucontext = argc < 3 || strcmp(argv[2], "asm") != 0;
    steps = (long)number(argc, argv, 3, 100);
    if (is_case(argc, argv, "pool"))
        pool((long)number(argc, argv, 4, THREADS), (long)number(argc, argv, 5, COROUTINES));
    else if (is_case(argc, argv, "libco"))
        libco();
    else if (is_case(argc, argv, "times"))
        times();
    else if (is_case(argc, argv, "dropped"))
        dropped(steps);
    else if (is_case(argc, argv, "dropped_inside"))
        dropped_inside(steps);
    else if (is_case(argc, argv, "jumped"))
        jumped(steps);
    else if (is_case(argc, argv, "thread"))
        ended_thread(steps);
    else if (is_case(argc, argv, "killed"))
        killed();
    else if (is_case(argc, argv, "killed_inside"))
        killed_inside();
    else if (is_case(argc, argv, "forked"))
        forked();
    else if (is_case(argc, argv, "misused"))
        misused();
    return 0;
}
