/*
 * Threads that exchange blocks, while sessions start and end. Each block has its allocating thread in its first
 * bytes, so the program knows how many were freed by another one.
 */
#include "support.h"

#include <malloc.h>
#include <pthread.h>

enum { THREADS = 4, PLACES = 64 };

struct block {
    uint32_t owner;
    char rest[60];
};

static struct block *places[PLACES];
static uint64_t foreign, foreign_bytes, allocations, pooled;

static void add(uint64_t *counter, uint64_t value) { __atomic_fetch_add(counter, value, __ATOMIC_RELAXED); }

static void note_owner(const struct block *block, uint32_t me)
{
    if (block == NULL || block->owner == me)
        return;
    add(&foreign, 1);
    add(&foreign_bytes, malloc_usable_size((void *)(uintptr_t)block));
}

/* One in three is made larger first, by the thread that has it. */
static void handle(struct block *block, uint32_t me, uint32_t chance)
{
    HOTPATH_MEASURE();
    if (block != NULL && chance % 3 == 0) {
        note_owner(block, me);
        block = realloc(block, 64 + chance % 5000);
        MUST(block != NULL);
        add(&allocations, 1);
        block->owner = me;
    }
    note_owner(block, me);
    free(block);
}

static void *exchange(void *number)
{
    const uint32_t me = (uint32_t)(uintptr_t)number;
    uint32_t chance = me * 7919;
    for (int at = 0; at < 20000; at++) {
        chance = chance * 1664525u + 1013904223u;
        struct block *block = malloc(sizeof *block + (chance >> 8) % 300);
        MUST(block != NULL);
        add(&allocations, 1);
        block->owner = me;
        handle(__atomic_exchange_n(&places[(chance >> 20) % PLACES], block, __ATOMIC_ACQ_REL), me, chance >> 4);
    }
    return NULL;
}

/* --- pools, from several threads at once */

static char cells[THREADS][512];

static void *pool(void *number)
{
    char *own = cells[(uintptr_t)number % THREADS];
    for (int at = 0; at < 20000; at++) {
        hotpath_alloc_event("cells", own + at % 512, 3);
        hotpath_free_event("cells", own + at % 512);
    }
    add(&pooled, 20000);
    return NULL;
}

/* The first thread takes part: there is less to write down about its blocks. */
static void at_once(void *(*work)(void *))
{
    pthread_t started[THREADS - 1];
    for (uintptr_t at = 0; at < THREADS - 1; at++)
        MUST(pthread_create(&started[at], NULL, work, (void *)(at + 1)) == 0);
    work((void *)(uintptr_t)THREADS);
    for (int at = 0; at < THREADS - 1; at++)
        pthread_join(started[at], NULL);
}

/* --- sessions that come and go, while threads do all of it */

static int is_over;

static void *restless(void *number)
{
    while (!is_raised(&is_over)) {
        exchange(number);
        pool(number);
    }
    return NULL;
}

static void sessions(unsigned long count)
{
    pthread_t started[THREADS];
    for (uintptr_t at = 0; at < THREADS; at++)
        MUST(pthread_create(&started[at], NULL, restless, (void *)(at + 1)) == 0);
    for (unsigned long at = 0; at < count; at++) {
        MUST(hotpath_start(NULL) == HOTPATH_OK);
        sleep_us(at % 3 * 500);
        MUST(hotpath_stop() == HOTPATH_OK);
    }
    raise_flag(&is_over);
    for (int at = 0; at < THREADS; at++)
        pthread_join(started[at], NULL);
    tell("sessions", count);
}

int main(int argc, char **argv)
{
    if (is_case(argc, argv, "sessions")) {
        sessions(number(argc, argv, 2, 200));
        return 0;
    }
    MUST(hotpath_start(NULL) == HOTPATH_OK);
    at_once(is_case(argc, argv, "pools") ? pool : exchange);
    MUST(hotpath_stop() == HOTPATH_OK);
    tell("foreign", foreign);
    tell("foreign_bytes", foreign_bytes);
    tell("allocations", allocations);
    tell("pooled", pooled);
    return 0;
}
