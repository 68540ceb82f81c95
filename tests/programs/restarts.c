/*
 * A session ends and the next starts while a thread is outside of zones, so that its head still has offsets far
 * into a file that was larger than the next one. Functions are compiler-instrumented.
 *     restarts note|function|again|end
 */
#include "support.h"

#include <pthread.h>

static int has_grown, has_restarted;

static HOTPATH_NO_MEASURE void dive(int depth)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("depth %d", depth);
    if (depth > 0)
        dive(depth - 1);
}

static __attribute__((noinline)) void measured(void) { HOTPATH_NOTE("measured"); }

static HOTPATH_NO_MEASURE void wait_for(int *flag)
{
    while (!is_raised(flag))
        ;
}

static HOTPATH_NO_MEASURE void restarted(void)
{
    raise_flag(&has_grown);
    wait_for(&has_restarted);
}

static HOTPATH_NO_MEASURE void *outlive(void *case_name)
{
    const int is_again = strcmp(case_name, "again") == 0;
    dive(10000); /* its frames are 512 KB or more */
    if (is_again)
        measured(); /* so that its hook knows it afterwards */
    if (strcmp(case_name, "end") == 0) {
        HOTPATH_BLOCK("across");
        restarted();
    } else {
        restarted();
    }
    if (strcmp(case_name, "note") == 0)
        HOTPATH_NOTE("nothing is open");
    if (is_again || strcmp(case_name, "function") == 0)
        measured();
    dive(1);
    return NULL;
}

HOTPATH_NO_MEASURE int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t roomy;
    MUST(argc == 2);
    hotpath_start(NULL);
    MUST(pthread_attr_init(&roomy) == 0 && pthread_attr_setstacksize(&roomy, 8 << 20) == 0); /* musl's are small */
    MUST(pthread_create(&thread, &roomy, outlive, argv[1]) == 0);
    wait_for(&has_grown);
    hotpath_stop();
    hotpath_start(NULL);
    raise_flag(&has_restarted);
    MUST(pthread_join(thread, NULL) == 0);
    hotpath_stop();
    puts("done");
    return 0;
}
