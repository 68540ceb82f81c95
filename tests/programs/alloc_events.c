/*
 * Reports made-up allocations to the library: blocks of known sizes, at addresses in an array. So the expected
 * report is known to the byte, whatever the C library allocates.
 *
 * Every block has 8 usable bytes more than requested.
 *
 *     main       300 bytes in one block, which stays
 *     fill       1000 bytes in one block, freed again; 50 calls by main, 5 by the thread
 *     recurse    100 bytes each, 4 calls one inside the other, freed on the way out
 *     idle       nothing; 20 calls
 *     make       5000 bytes, which the thread frees in `take`
 *     outside    40 bytes before main's zone begins, 60 on the thread before its first zone
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook_entries.h"

/* The place on the stack: below all zones, also where a sanitizer keeps their guards elsewhere. */
#define ANYWHERE ((uintptr_t)0)

static char places[4096][16];
static unsigned next_place;

static __attribute__((noinline)) void *get(size_t asked)
{
    void *block = places[__atomic_fetch_add(&next_place, 1, __ATOMIC_RELAXED)];
    hotpath_v1_allocated(block, asked, asked + 8, ANYWHERE);
    return block;
}

static __attribute__((noinline)) void put_back(void *block, size_t asked)
{
    hotpath_v1_freed(block, asked + 8, ANYWHERE);
}

static void fill(void)
{
    HOTPATH_MEASURE(.log = 1);
    put_back(get(1000), 1000);
}

static void recurse(unsigned depth)
{
    HOTPATH_MEASURE();
    void *block = get(100);
    if (depth > 1)
        recurse(depth - 1);
    put_back(block, 100);
}

static void idle(void) { HOTPATH_MEASURE(); }

static void *make(void)
{
    HOTPATH_MEASURE();
    return get(5000);
}

static void take(void *block)
{
    HOTPATH_MEASURE();
    put_back(block, 5000);
    for (unsigned at = 0; at < 5; at++)
        fill();
}

static void *run_thread(void *block)
{
    {
        HOTPATH_BLOCK("first");
    }
    get(60);
    take(block);
    return NULL;
}

static void work(void)
{
    pthread_t thread;
    get(300);
    for (unsigned at = 0; at < 50; at++)
        fill();
    for (unsigned at = 0; at < 20; at++)
        idle();
    recurse(4);
    if (pthread_create(&thread, NULL, run_thread, make()) == 0)
        pthread_join(thread, NULL);
}

static int measured(const char *mode)
{
    HOTPATH_MEASURE_AS("main");
    work();
    if (strcmp(mode, "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            fill();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    if (strcmp(mode, "killed") == 0) {
        HOTPATH_BLOCK("stuck");
        get(77);
        fill();
        raise(SIGKILL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct hotpath_options options;
    options.size = sizeof options;
    if (argc < 2 || strcmp(argv[1], "unwatched") != 0)
        hotpath_v1_alloc_is_watched();
    if (hotpath_start(&options) != 0)
        return 1;
    if (argc >= 2 && strcmp(argv[1], "unwatched") == 0) {
        idle();
        return 0;
    }
    get(40);
    return measured(argc >= 2 ? argv[1] : "");
}
