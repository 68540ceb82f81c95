/*
 * A program that would run on, measured for half a second: then the report is made and the process ends with
 * status 0. The same from outside, without touching the source:
 *
 *     HOTPATH_SHUTDOWN_MS=500 ./server
 */
#include <hotpath.h>

#include <time.h>

static void serve_request(void)
{
    HOTPATH_MEASURE();
    const struct timespec five_ms = {0, 5 * 1000 * 1000};
    nanosleep(&five_ms, NULL);
}

int main(void)
{
    HOTPATH_MAIN(.shutdown_ms = 500);
    /* Without hotpath it ends as well, after some three seconds. */
    for (int request = 0; request < 600; request++)
        serve_request();
    return 0;
}
