/*
 * A signal arrives in the middle of the recorder, while a zone that begins or ends holds a context of the thread.
 * The test itself holds the context that the next zone would use, so that this happens each time. The handler has
 * zones.
 *     jumps    it leaves by siglongjmp, again and again, within a function that continues; later zones are recorded
 *     thread   the same in a thread, without an enclosing zone, from deep down. Prints whether it was optimised: if
 *              not, functions leave much of their frames untouched, and with them old signal frames
 *     returns  it returns: on the thread's stack or an alternate one, in memory of any kind. The context is still
 *              held, since its holder will continue
 */
#include "support.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#ifdef HOTPATH
#include "runtime.h"

#define JUMPS 100
#define CALLS 1000
#define DEPTH 20

static sigjmp_buf back;
static int is_leaving;

static __attribute__((noinline)) void in_handler(void) { HOTPATH_MEASURE(); }

static void on_signal(int signal)
{
    (void)signal;
    in_handler();
    MUST(HOTPATH_IS_BUSY_(hotpath_v1_context));
    if (is_leaving)
        siglongjmp(back, 1);
}

static struct hp_thread_context *context_at_rest(void)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    while (context->handler != NULL && HOTPATH_IS_BUSY_(&context->hot))
        context = context->handler;
    return context;
}

static __attribute__((noinline)) void be_interrupted(void)
{
    struct hp_thread_context *context = context_at_rest();
    hotpath_set_busy_(&context->hot);
    raise(SIGUSR1);
    hotpath_set_idle_(&context->hot);
}

static __attribute__((noinline)) void dive(int depth)
{
    volatile char *room = alloca(1000);
    room[0] = 0;
    HOTPATH_MEASURE();
    if (depth > 0)
        dive(depth - 1);
    else
        be_interrupted();
}

static __attribute__((noinline)) void leaf(void) { HOTPATH_MEASURE(); }

static void handle(int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, NULL);
}

static void jump_often(void)
{
    leaf();
    for (volatile int i = 0; i < JUMPS; i++) {
        if (sigsetjmp(back, 1) == 0) {
            leaf();
            if (i % 2)
                dive(DEPTH);
            else
                be_interrupted();
        }
        leaf();
    }
    for (int i = 0; i < CALLS; i++)
        leaf();
}

static void *jump_in_thread(void *unused)
{
    jump_often();
    return unused;
}

static void return_from(void *stack, size_t bytes)
{
    const stack_t alternate = {.ss_sp = stack, .ss_size = bytes};
    const stack_t none = {.ss_flags = SS_DISABLE};
    handle(SA_ONSTACK);
    MUST(sigaltstack(stack != NULL ? &alternate : &none, NULL) == 0);
    dive(DEPTH);
    dive(0);
    MUST(sigaltstack(&none, NULL) == 0);
    leaf();
}

#define STACK_BYTES 65536
static char below[STACK_BYTES];

/* Guards are below the one on the stack, and above the one in static memory. */
static void return_often(void)
{
    char above[STACK_BYTES];
    return_from(NULL, 0);
    return_from(below, sizeof below);
    return_from(above, sizeof above);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    HOTPATH_MAIN();
#ifdef __OPTIMIZE__
    tell("optimised", 1);
#else
    tell("optimised", 0);
#endif
    handle(0);
    leaf();
    if (is_case(argc, argv, "returns")) {
        return_often();
        return 0;
    }
    is_leaving = 1;
    if (is_case(argc, argv, "jumps")) {
        jump_often();
        return 0;
    }
    MUST(pthread_create(&thread, NULL, jump_in_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    return 0;
}

#else
int main(void) { return 77; }
#endif
