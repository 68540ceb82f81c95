/*
 * Blocks with a row for each key. The count per key is known by construction, or printed by the program.
 */
#include "support.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define KEYS 100
#define CALLS 5000

static uint64_t told[THREADS][KEYS];

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Keys are built anew for each call, so it is their text that counts and not where it is. */
static void one_of_many(unsigned key)
{
    char text[16];
    snprintf(text, sizeof text, "k%u", key);
    HOTPATH_BLOCK_KEY("many", text);
    memset(text, 'x', sizeof text);
}

static pthread_barrier_t all_started;

/* First all in the same order, so that several threads meet a new key at the same time. */
static void *random_keys(void *own)
{
    uint64_t *counts = own;
    uint32_t state = (uint32_t)(counts - told[0]) + 1;
    pthread_barrier_wait(&all_started);
    for (unsigned key = 0; key < KEYS; key++) {
        one_of_many(key);
        counts[key]++;
    }
    for (int at = 0; at < CALLS; at++) {
        const unsigned key = draw(&state) % KEYS;
        one_of_many(key);
        counts[key]++;
    }
    return NULL;
}

static void threads(void)
{
    pthread_t started[THREADS];
    MUST(pthread_barrier_init(&all_started, NULL, THREADS) == 0);
    for (int at = 0; at < THREADS; at++)
        MUST(pthread_create(&started[at], NULL, random_keys, told[at]) == 0);
    for (int at = 0; at < THREADS; at++)
        pthread_join(started[at], NULL);
    for (int key = 0; key < KEYS; key++) {
        uint64_t sum = 0;
        for (int at = 0; at < THREADS; at++)
            sum += told[at][key];
        char name[32];
        snprintf(name, sizeof name, "many[k%d]", key);
        tell(name, sum);
    }
}

/* Key k is used k + 1 times, in this order. */
static void rising(unsigned count)
{
    for (unsigned key = 0; key < count; key++)
        for (unsigned at = 0; at <= key; at++)
            one_of_many(key);
}

static void odd_one(const char *key) { HOTPATH_BLOCK_KEY("odd", key); }

static void odd(void)
{
    static char lengthy[3][200];
    memset(lengthy[0], 'l', 199);
    memset(lengthy[1], 'l', 199);
    memset(lengthy[2], 'l', 119);
    lengthy[1][150] = 'm'; /* differs where it is cut off already */
    static const char *const keys[] = {NULL,       "",  "a\tb\nc\x1b[31m", "gr\303\274n \342\202\254",
                                       "\xff\xfe", "]", lengthy[0],        lengthy[1],
                                       lengthy[2]};
    for (size_t at = 0; at < sizeof keys / sizeof keys[0]; at++)
        odd_one(keys[at]);
    odd_one(NULL);
}

static void places(void)
{
    for (int at = 0; at < 3; at++) {
        HOTPATH_BLOCK_KEY("place", "same");
    }
    for (int at = 0; at < 5; at++) {
        HOTPATH_BLOCK_KEY("place", "same");
    }
    for (int at = 0; at < 7; at++) {
        HOTPATH_BLOCK_KEY("elsewhere", "same");
    }
}

static void forked(void)
{
    odd_one("parent");
    odd_one("both");
    const pid_t child = fork();
    MUST(child >= 0);
    for (int at = 0; at < (child == 0 ? 3 : 1); at++) {
        odd_one("both");
        odd_one(child == 0 ? "child" : "parent");
    }
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    tell("child", (uint64_t)child);
}

static void query(const char *table) { HOTPATH_BLOCK_KEY("query", table); }

static void request(const char *command)
{
    HOTPATH_BLOCK_KEY("request", command);
    query("users");
    if (command[0] == 'S')
        query("log");
    HOTPATH_BLOCK_KEY("again", command);
    if (command[0] == 'S')
        request("GET");
}

static void nested(void)
{
    for (int at = 0; at < 4; at++)
        request("GET");
    for (int at = 0; at < 2; at++)
        request("SET");
}

static unsigned evaluated;

/* Not used at all when compiled out. */
static __attribute__((unused)) const char *evaluate(void)
{
    evaluated++;
    return "evaluated";
}

static void evaluation(void)
{
    HOTPATH_BLOCK_KEY("once", evaluate());
    tell_aside("evaluated", evaluated);
}

/* Sessions that follow on one another know the keys of those before. */
static void sessions(void)
{
    for (int session = 0; session < 2; session++) {
        MUST(hotpath_start(NULL) == HOTPATH_OK);
        for (int at = 0; at < 2 + session; at++)
            odd_one("kept");
        odd_one(session == 0 ? "first" : "second");
        hotpath_stop();
    }
}

static void measured(int argc, char **argv)
{
    HOTPATH_MAIN();
    if (is_case(argc, argv, "threads"))
        threads();
    else if (is_case(argc, argv, "rising"))
        rising((unsigned)number(argc, argv, 2, 10));
    else if (is_case(argc, argv, "odd"))
        odd();
    else if (is_case(argc, argv, "places"))
        places();
    else if (is_case(argc, argv, "forked"))
        forked();
    else if (is_case(argc, argv, "nested"))
        nested();
    else if (is_case(argc, argv, "evaluation"))
        evaluation();
}

int main(int argc, char **argv)
{
    if (is_case(argc, argv, "sessions"))
        sessions();
    else
        measured(argc, argv);
    return 0;
}
