/*
 * A bottleneck that is not in the program: three others are busy on the same processor, so it gets a quarter of the
 * time that it could use. Its own code is as fast as ever. The verdict is `starved`, as it is in a container with
 * too small a quota or on a machine with too much to do.
 *
 *     hotpath run -- build/release/examples/bottleneck_starved
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t result;

static void work(void)
{
    HOTPATH_MEASURE();
    for (uint64_t i = 0; i < 3000000; i++)
        result += i ^ result >> 3;
}

/* From now on, this process and its children have one processor among them: the first that it may use. */
static int share_one_processor(void)
{
    cpu_set_t all, one;
    size_t processor = 0;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return -1;
    while (!CPU_ISSET(processor, &all))
        processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    return sched_setaffinity(0, sizeof one, &one);
}

static pid_t start_neighbour(void)
{
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        result++;
}

int main(void)
{
    pid_t neighbours[3];
    const int status = share_one_processor();
    for (int i = 0; i < 3; i++)
        neighbours[i] = start_neighbour();
    {
        HOTPATH_SESSION(.cpu = 1);
        for (int i = 0; i < 30; i++)
            work();
    }
    for (int i = 0; i < 3; i++)
        if (neighbours[i] > 0) {
            kill(neighbours[i], SIGKILL);
            waitpid(neighbours[i], NULL, 0);
        }
    printf("%s\n", status == 0 ? "worked on one processor" : "worked");
    return 0;
}
