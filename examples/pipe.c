/*
 * A pipe to a child: one channel, whose ends are in two processes. An address would be that of one process, so
 * there is none (NULL). The report at the end is that of the process itself, which only sends; `hotpath run` makes
 * one of both, with delays.
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBERS 200

static void add_up(int from)
{
    HOTPATH_MEASURE();
    uint64_t number, sum = 0;
    while (read(from, &number, sizeof number) == (ssize_t)sizeof number) {
        HOTPATH_CHANNEL_RECEIVED("numbers", NULL, 1, sizeof number, -1, number);
        sum += number;
    }
    printf("%llu\n", (unsigned long long)sum);
    fflush(stdout);
}

static int send_all(int to)
{
    HOTPATH_MEASURE();
    for (uint64_t number = 1; number <= NUMBERS; number++) {
        HOTPATH_CHANNEL_SENT("numbers", NULL, 1, sizeof number, -1, number); /* before: after it, it may be out */
        if (write(to, &number, sizeof number) != (ssize_t)sizeof number)
            return 1;
    }
    return 0;
}

int main(void)
{
    HOTPATH_MAIN();
    int ends[2], status = 1;
    if (pipe(ends) != 0)
        return 1;
    const pid_t child = fork();
    if (child < 0)
        return 1;
    if (child == 0) {
        close(ends[1]);
        add_up(ends[0]);
        return 0;
    }
    close(ends[0]);
    const int result = send_all(ends[1]);
    close(ends[1]);
    waitpid(child, &status, 0);
    return result != 0 || status != 0;
}
