/*
 * Without hotpath: functions of known work that call each other in ways that are hard to follow, each in a mode of
 * its own. Work is counted in units of a thousand instructions.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define UNTIL_HERE __asm__ volatile("") /* so that the call before is none of the kind that jumps */
#define ROUNDS 20

/* Two instructions each time. */
static inline __attribute__((always_inline)) void work(unsigned long units)
{
    unsigned long left = units * 500;
    __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(left)::"cc");
}

/* ------------------------------------------------------------------------------------------------- plain calls */

APART static void leaf(void) { work(30); }

APART static void inner(void)
{
    work(20);
    leaf();
    UNTIL_HERE;
}

APART static void outer(void)
{
    work(10);
    inner();
    leaf();
    UNTIL_HERE;
}

static void (*volatile indirect)(void) = outer;

APART static void call_plainly(void)
{
    for (int round = 0; round < ROUNDS; round++)
        indirect();
}

APART static void replaced_by(void) { work(40); }

APART static void replaces_itself(void)
{
    work(10);
    replaced_by();
}

APART static void call_tail(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        replaces_itself();
        leaf();
    }
}

/* ----------------------------------------------------------------------------------------------------- longjmp */

static jmp_buf back;
static volatile int deepest = 3;

APART static void deeper(int depth)
{
    work(5);
    if (depth < deepest)
        deeper(depth + 1);
    else
        longjmp(back, 1);
    UNTIL_HERE;
}

APART static void after_jump(void) { work(50); }

APART static void jump_back(void)
{
    for (volatile int round = 0; round < ROUNDS; round++) {
        if (setjmp(back) == 0)
            deeper(0);
        work(10);
        after_jump();
    }
}

/* -------------------------------------------------------------------------------------------------- coroutines */

static ucontext_t driver, coroutines[2];
static char memory[2][64 << 10];
static int running;

APART static void yield(void)
{
    work(1);
    swapcontext(&coroutines[running], &driver);
    UNTIL_HERE;
}

APART static void step_of_first(void)
{
    work(10);
    yield();
    UNTIL_HERE;
}

APART static void step_of_second(void)
{
    work(30);
    yield();
    UNTIL_HERE;
}

static void first(void)
{
    for (;;)
        step_of_first();
}

static void second(void)
{
    for (;;)
        step_of_second();
}

APART static void resume(int number)
{
    work(2);
    running = number;
    swapcontext(&driver, &coroutines[number]);
    UNTIL_HERE;
}

APART static void drive(void)
{
    for (int at = 0; at < 2; at++) {
        getcontext(&coroutines[at]);
        coroutines[at].uc_stack.ss_sp = memory[at];
        coroutines[at].uc_stack.ss_size = sizeof memory[at];
        makecontext(&coroutines[at], at == 0 ? first : second, 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        resume(round % 2);
        resume(round % 3 == 0);
    }
}

/* ----------------------------------------------------------------------------------------------------- signals */

APART static void in_handler(void) { work(20); }

static void handle(int number)
{
    (void)number;
    work(10);
    in_handler();
    UNTIL_HERE;
}

APART static void interrupted(void)
{
    work(5);
    kill(getpid(), SIGUSR1);
    work(5);
    leaf();
    UNTIL_HERE;
}

APART static void be_interrupted(int flags)
{
    static char other[64 << 10];
    const stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (int round = 0; round < ROUNDS; round++)
        interrupted();
}

/* --------------------------------------------------------------------------------------- threads and processes */

static void *job(void *unused)
{
    call_plainly();
    return unused;
}

APART static void run_threads(void)
{
    pthread_t threads[3];
    for (int at = 0; at < 3; at++)
        pthread_create(&threads[at], NULL, job, NULL);
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], NULL);
}

APART static void run_child(void)
{
    if (fork() == 0) {
        call_plainly();
        exit(0);
    }
    wait(NULL);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    if (strcmp(mode, "calls") == 0)
        call_plainly();
    else if (strcmp(mode, "tail") == 0)
        call_tail();
    else if (strcmp(mode, "longjmp") == 0)
        jump_back();
    else if (strcmp(mode, "coroutines") == 0)
        drive();
    else if (strcmp(mode, "signals") == 0)
        be_interrupted(0);
    else if (strcmp(mode, "other stack") == 0)
        be_interrupted(SA_ONSTACK);
    else if (strcmp(mode, "threads") == 0)
        run_threads();
    else if (strcmp(mode, "fork") == 0)
        run_child();
    else
        return 2;
    return 0;
}
