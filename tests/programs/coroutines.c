/*
 * Coroutines by ucontext: suspended in the middle of zones while others run, resumed on another thread, and
 * abandoned mid-zone with their stacks unmapped (so a late access crashes) or reused at once by the next one.
 */
#include "support.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK (64u << 10)

struct coroutine {
    ucontext_t context, caller;
    char *stack;
    int steps;
    int is_done;
};

static __thread struct coroutine *running;

/* Volatile access: a compiler may keep a thread's address of a variable across a switch. */
static struct coroutine *volatile entering;

static void suspend(struct coroutine *self) { swapcontext(&self->context, &self->caller); }

static void step(struct coroutine *self)
{
    HOTPATH_MEASURE();
    {
        HOTPATH_BLOCK("before the switch");
        self->steps++;
    }
    suspend(self);
    {
        HOTPATH_BLOCK("after the switch");
        self->steps++;
    }
}

static void body(void)
{
    struct coroutine *self = entering;
    {
        HOTPATH_BLOCK("body");
        for (int i = 0; i < 3; i++)
            step(self);
    }
    self->is_done = 1;
    suspend(self);
}

static void resume(struct coroutine *coroutine)
{
    HOTPATH_MEASURE();
    running = coroutine;
    entering = coroutine;
    swapcontext(&coroutine->caller, &coroutine->context);
}

static void make(struct coroutine *coroutine)
{
    memset(coroutine, 0, sizeof *coroutine);
    coroutine->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(coroutine->stack != MAP_FAILED && getcontext(&coroutine->context) == 0);
    coroutine->context.uc_stack.ss_sp = coroutine->stack;
    coroutine->context.uc_stack.ss_size = STACK;
    makecontext(&coroutine->context, body, 0);
}

static void drop(struct coroutine *coroutine) { munmap(coroutine->stack, STACK); }

/* Two coroutines in turn: the zones of one are open while those of the other open and close. */
static int in_turn(void)
{
    HOTPATH_MEASURE();
    struct coroutine one, two;
    make(&one);
    make(&two);
    while (!one.is_done || !two.is_done) {
        if (!one.is_done)
            resume(&one);
        if (!two.is_done)
            resume(&two);
    }
    drop(&one);
    drop(&two);
    return one.steps + two.steps;
}

static void *resume_elsewhere(void *coroutine)
{
    HOTPATH_MEASURE();
    while (!((struct coroutine *)coroutine)->is_done)
        resume(coroutine);
    return NULL;
}

/* Begun here, ended on another thread. */
static int elsewhere(void)
{
    HOTPATH_MEASURE();
    struct coroutine one;
    pthread_t thread;
    make(&one);
    resume(&one);
    MUST(pthread_create(&thread, NULL, resume_elsewhere, &one) == 0);
    pthread_join(thread, NULL);
    drop(&one);
    return one.steps;
}

static int abandoned(void)
{
    HOTPATH_MEASURE();
    struct coroutine one;
    make(&one);
    resume(&one);
    drop(&one);
    return one.steps;
}

/* The stack of an abandoned coroutine is the stack of the next: guards of both have the same addresses. */
static int reused(void)
{
    HOTPATH_MEASURE();
    struct coroutine one;
    volatile int steps = 0;
    make(&one);
    for (int i = 0; i < 10; i++) {
        resume(&one);
        steps += one.steps;
        one.steps = 0;
        one.is_done = 0;
        MUST(getcontext(&one.context) == 0);
        one.context.uc_stack.ss_sp = one.stack;
        one.context.uc_stack.ss_size = STACK;
        makecontext(&one.context, body, 0);
    }
    drop(&one);
    return steps;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    int (*run)(void) = is_case(argc, argv, "turn")        ? in_turn
                       : is_case(argc, argv, "elsewhere") ? elsewhere
                       : is_case(argc, argv, "abandoned") ? abandoned
                                                          : reused;
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += run();
    for (int i = 0; i < 50; i++) {
        HOTPATH_BLOCK("after");
        sum++;
    }
    printf("sum %d\n", sum);
    return 0;
}
