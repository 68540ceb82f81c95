/*
 * Several processes: a server that forks its workers beforehand. Each process records for itself. Run alone, the
 * parent reports about itself only; run by `hotpath run`, all of them are in one report, with a table of processes:
 *
 *     hotpath run build/release/examples/prefork
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 4
#define REQUESTS 200

static uint64_t parse(unsigned char request)
{
    HOTPATH_MEASURE();
    uint64_t hash = request;
    for (int i = 0; i < 20000; i++)
        hash = (hash ^ (hash >> 29)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return hash;
}

static uint64_t handle(unsigned char request)
{
    HOTPATH_MEASURE();
    const uint64_t parsed = parse(request);
    HOTPATH_BLOCK("database");
    usleep(500);
    return parsed;
}

/* Whoever is free takes the next request. */
static int serve(int requests)
{
    unsigned char request;
    uint64_t answers = 0;
    while (read(requests, &request, 1) == 1)
        answers += handle(request);
    return answers == 1 ? 1 : 0;
}

static void accept_requests(int requests)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < REQUESTS; i++)
        if (write(requests, "?", 1) != 1)
            perror("write");
}

int main(void)
{
    HOTPATH_MAIN();
    int queue[2];
    if (pipe(queue) != 0)
        return 1;
    for (int i = 0; i < WORKERS; i++)
        if (fork() == 0) {
            close(queue[1]);
            return serve(queue[0]);
        }
    accept_requests(queue[1]);
    close(queue[1]);
    HOTPATH_BLOCK("wait for workers");
    while (wait(NULL) > 0)
        ;
    return 0;
}
