/*
 * A timer's handler leaves by siglongjmp at any instruction, also in the middle of the recorder, again and again.
 * Zones around and after it must still be recorded.
 */
#include "support.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile unsigned jumps;

static void on_alarm(int signal)
{
    HOTPATH_MEASURE();
    (void)signal;
    jumps++;
    siglongjmp(back, 1);
}

static void tiny(void) { HOTPATH_MEASURE(); }

static void nest(int depth)
{
    HOTPATH_MEASURE();
    tiny();
    if (depth > 0)
        nest(depth - 1);
}

static void arm(long us)
{
    const struct itimerval once = {{0, 0}, {0, us}};
    setitimer(ITIMER_REAL, &once, NULL);
}

static void round_trip(void)
{
    HOTPATH_BLOCK("round");
    if (sigsetjmp(back, 1) == 0) {
        arm(50 + (long)(jumps % 97));
        for (;;)
            nest(5);
    }
}

int main(void)
{
    HOTPATH_MAIN();
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < 3000; i++)
        round_trip();
    for (int i = 0; i < 1000; i++) {
        HOTPATH_BLOCK("after");
    }
    printf("jumps %u\n", jumps);
    return 0;
}
