/*
 * A program without hotpath, whose functions allocate known amounts. It prints them at its end: NAME BYTES,
 * NAME_blocks,
 * NAME_left and, where that is certain, NAME_peak.
 *     allocating plain       one thread, and another that frees
 *     allocating threads     the small blocks in four threads
 *     allocating forked      as plain, and a child that frees what its parent had, and allocates: the printed
 *                            numbers are of both
 *     allocating executed    as plain, in a child that becomes this program again
 *     allocating killed      as plain, and then SIGKILL
 * Blocks of LARGE bytes are always sampled if samples are 64 KB apart, so their numbers are exact.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "computing.h"

#define LARGE ((size_t)8 << 20)
#define SMALL_BYTES ((uint64_t)24 << 20) /* of each function that allocates small ones */
#define MOST 200000u

static void *kept[MOST], *handed_over[MOST];
static uint32_t kept_count, handed_count;

/* Samples are a thousand a second at most, but for the first ones: so it takes its time. */
static void rest(uint32_t number)
{
    const struct timespec pause = {0, 2000000};
    if (number % 512 == 0)
        nanosleep(&pause, NULL);
}

/* The compiler does not know what becomes of it. */
static void *use(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static void tell(const char *name, const char *what, uint64_t number)
{
    printf("%s%s %" PRIu64 "\n", name, what, number);
}

static void tell_all(const char *name, uint64_t bytes, uint64_t blocks, uint64_t left)
{
    tell(name, "", bytes);
    tell(name, "_blocks", blocks);
    tell(name, "_left", left);
}

/* --- large blocks */

APART static void *leak_large(void) { return use(malloc(LARGE)); }

APART static void hold_large(void)
{
    void *blocks[5];
    for (unsigned at = 0; at < 5; at++)
        blocks[at] = use(malloc(LARGE));
    for (unsigned at = 0; at < 5; at++)
        free(blocks[at]);
}

/* From 8 MB on: each step is one block less, and another one. */
APART static void grow_large(void)
{
    char *block = NULL;
    for (unsigned at = 1; at <= 4; at++) {
        char *larger = realloc(block, at * LARGE);
        if (larger == NULL)
            abort();
        block = use(larger);
    }
    free(block);
}

/* --- small ones */

APART static uint64_t churn_small(uint64_t bytes)
{
    uint64_t blocks = 0;
    for (uint64_t sum = 0; sum < bytes; sum += 240) {
        free(use(malloc(240)));
        rest((uint32_t)blocks++);
    }
    return blocks;
}

APART static void keep_small(void)
{
    for (uint64_t sum = 0; sum < SMALL_BYTES; sum += 480) {
        kept[kept_count] = use(calloc(3, 160));
        rest(kept_count++);
    }
}

APART static void hand_over(void)
{
    for (uint64_t sum = 0; sum < SMALL_BYTES; sum += 300) {
        handed_over[handed_count] = use(malloc(300));
        rest(handed_count++);
    }
}

static void *free_handed(void *unused)
{
    for (uint32_t at = 0; at < handed_count; at++)
        free(handed_over[at]);
    return unused;
}

APART static uint64_t copy_text(void)
{
    static char text[2000];
    uint64_t blocks = 0;
    memset(text, 'x', sizeof text - 1);
    for (uint64_t sum = 0; sum < SMALL_BYTES; sum += sizeof text, blocks++) {
        free(use(strdup(text)));
        rest((uint32_t)(8 * blocks));
    }
    return blocks;
}

/* --- the whole */

/* The C library allocates a little for each thread, and keeps it for the next one. */
APART static pthread_t begin_thread(void *(*body)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL) != 0)
        abort();
    return thread;
}

static void *churn_in_thread(void *unused)
{
    churn_small(SMALL_BYTES / 4);
    return unused;
}

static uint64_t churn(int has_threads)
{
    pthread_t threads[4];
    if (!has_threads)
        return churn_small(SMALL_BYTES);
    for (unsigned at = 0; at < 4; at++)
        threads[at] = begin_thread(churn_in_thread);
    for (unsigned at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
    return (SMALL_BYTES / 4 + 239) / 240 * 4;
}

static void fork_child(void)
{
    const pid_t child = fork();
    if (child == 0) {
        for (uint32_t at = 0; at < kept_count; at++)
            free(kept[at]);
        churn_small(SMALL_BYTES);
        hold_large();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

APART static void work(int has_threads, int has_child)
{
    keep_small();
    hold_large();
    hand_over();
    pthread_join(begin_thread(free_handed), NULL);
    if (has_child)
        fork_child();
    const uint64_t copied = copy_text();
    uint64_t churned = churn(has_threads), held = 5;
    if (has_child) {
        churned *= 2;
        held *= 2;
    }
    grow_large();
    void *volatile leaked[3];
    for (unsigned at = 0; at < 3; at++)
        leaked[at] = leak_large();
    (void)leaked[0];
    tell_all("leak_large", 3 * LARGE, 3, 3 * LARGE);
    tell_all("hold_large", held * LARGE, held, 0);
    tell_all("grow_large", 10 * LARGE, 4, 0);
    tell_all("churn_small", 240 * churned, churned, 0);
    tell_all("keep_small", (uint64_t)480 * kept_count, kept_count, (uint64_t)480 * kept_count);
    tell_all("hand_over", (uint64_t)300 * handed_count, handed_count, 0);
    tell_all("copy_text", (uint64_t)2000 * copied, copied, 0);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char output[1 << 12]; /* printf would allocate one */
    const char *what = argc > 1 ? argv[1] : "plain";
    setvbuf(stdout, output, _IOFBF, sizeof output);
    if (strcmp(what, "executed") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            execl(argv[0], argv[0], "plain", (char *)NULL);
            _exit(127);
        }
        waitpid(child, NULL, 0);
        return 0;
    }
    work(strcmp(what, "threads") == 0, strcmp(what, "forked") == 0);
    if (strcmp(what, "killed") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
