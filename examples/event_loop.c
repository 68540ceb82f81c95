/*
 * An event loop that waits for readable pipes and calls a function for each. One of the calls takes long, and
 * everybody else has to wait for its end: the section `loops` has the longest turn, and how long an event has to
 * wait that comes at a random moment.
 *
 * Under `hotpath run` loops over poll, select and epoll need no macro; HOTPATH_LOOP_WAIT is for those that wait in
 * another way.
 */
#include <hotpath.h>

#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS 100
#define SLOW 42

static void work(long ms)
{
    HOTPATH_MEASURE();
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
}

static int wait_for_request(int file)
{
    struct pollfd one = {.fd = file, .events = POLLIN};
    HOTPATH_LOOP_WAIT("requests"); /* around the wait only */
    return poll(&one, 1, -1);
}

int main(void)
{
    HOTPATH_MAIN();
    int ends[2], handled = 0;
    char request = 0;
    if (pipe(ends) != 0 || write(ends[1], &request, 1) != 1)
        return 1;
    while (handled < REQUESTS && wait_for_request(ends[0]) == 1) {
        if (read(ends[0], &request, 1) != 1 || write(ends[1], &request, 1) != 1)
            return 1;
        work(++handled == SLOW ? 30 : 0);
    }
    HOTPATH_LOOP_END("requests"); /* what comes now is no turn */
    printf("%d\n", handled);
    return 0;
}
