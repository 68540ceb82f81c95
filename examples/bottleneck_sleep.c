/*
 * A bottleneck that waits: the program asks again and again whether an answer has come, and pauses in between. No
 * processor is busy with that, so a profiler that samples processors does not see it. The verdict is `waiting`, for
 * `sleep`.
 *
 *     hotpath run -- build/release/examples/bottleneck_sleep
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>
#include <time.h>

static volatile uint64_t answer;

/* Too long: the answer may have come long before it ends. */
static void pause_a_little(void)
{
    HOTPATH_MEASURE();
    const struct timespec pause = {0, 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

static void work(void)
{
    HOTPATH_MEASURE();
    for (uint64_t i = 0; i < 200000; i++)
        answer += i ^ answer >> 3;
}

int main(void)
{
    HOTPATH_MAIN(.cpu = 1);
    for (int i = 0; i < 30; i++) {
        work();
        pause_a_little();
    }
    printf("%s\n", answer != 0 ? "answered" : "no answer");
    return 0;
}
