/*
 * Two threads that pass a byte back and forth, so that each switches constantly; their zones are sampled on
 * request. Timed by the caller.
 *     switches ROUNDS
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <hotpath.h>

static int there[2], back[2];
static long rounds;

static void pass(int from, int to)
{
    char byte = 1;
    if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
        exit(2);
}

static void *answer(void *unused)
{
    HOTPATH_MEASURE();
    for (long round = 0; round < rounds; round++)
        pass(there[0], back[1]);
    return unused;
}

static void ask(void)
{
    HOTPATH_MEASURE();
    for (long round = 0; round < rounds; round++) {
        char byte = 1;
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            exit(2);
    }
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    pthread_t thread;
    rounds = argc > 1 ? atol(argv[1]) : 60000;
    if (pipe(there) != 0 || pipe(back) != 0 || pthread_create(&thread, NULL, answer, NULL) != 0)
        return 2;
    ask();
    pthread_join(thread, NULL);
    return 0;
}
