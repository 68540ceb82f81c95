/*
 * The smallest useful program: one measured function, one measured block, and the percentiles to show.
 * Percentile 0 is the minimum and 100 the maximum.
 */
#include <hotpath.h>

#include <stdint.h>
#include <time.h>

static volatile uint64_t sink;

static void sleep_us(long microseconds)
{
    const struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

static void sync_function(int round)
{
    HOTPATH_MEASURE();
    sleep_us(round);
}

int main(void)
{
    HOTPATH_MAIN(.percentiles = "0,99,100");
    for (int round = 0; round < 100; round++) {
        sync_function(round);
        {
            HOTPATH_BLOCK("custom_block"); /* up to the closing brace */
            for (int i = 0; i < 1000 * round; i++)
                sink = sink + 1;
        }
    }
    return 0;
}
