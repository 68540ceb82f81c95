/*
 * Work of several kinds, to be run with and without hotpath: the true cost of measuring, compared with what the
 * report says.
 *     trust_work KIND REPEATS
 * Prints the CPU time of the process and the elapsed time, in nanoseconds. SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hotpath.h>

#ifdef BY_COMPILER /* then the compiler measures these functions */
#define MEASURED() HOTPATH_NOTHING
#define HOTPATH_NOTHING (void)0
#else
#define MEASURED() HOTPATH_MEASURE()
#endif
#define UNMEASURED __attribute__((no_instrument_function))
#define APART __attribute__((noinline))

static uint64_t state = 88172645463325252;

/* ------------------------------------------------------------------------------------------ small functions */

/* Each step depends on the one before. */
APART static void chain(void)
{
    MEASURED();
    uint64_t x = state;
    for (int step = 0; step < 24; step++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    state = x;
}

/* Independent operations, which a CPU would overlap with what comes before and after. */
APART static void wide(void)
{
    MEASURED();
    static uint32_t values[128];
    for (uint32_t at = 0; at < 128; at++)
        values[at] = values[at] * 3 + at;
}

#define TABLE (1u << 20)
static uint32_t table[TABLE];

/* Memory that is in no near cache. */
APART static void memory(void)
{
    MEASURED();
    uint32_t at = (uint32_t)state % TABLE;
    for (int step = 0; step < 3; step++)
        at = (table[at] + at * 2654435761u) % TABLE;
    table[at]++;
    state += at;
}

static const char text[] =
    "The quick brown fox jumps over the lazy dog, and the dog does not mind; foxes come and go.";

/* Typical code: reads bytes, branches, counts. */
APART static uint32_t word_at(const char **ret_at)
{
    MEASURED();
    uint32_t hash = 5381;
    while (**ret_at != '\0' && **ret_at != ' ')
        hash = hash * 33 ^ (unsigned char)*(*ret_at)++;
    while (**ret_at == ' ')
        ++*ret_at;
    return hash;
}

APART static void words(void)
{
    MEASURED();
    for (const char *at = text; *at != '\0';)
        table[word_at(&at) % TABLE]++;
}

/* Too small to be worth measuring. */
APART static uint32_t tiny_step(uint32_t x)
{
    MEASURED();
    return x * 1664525u + 1013904223u;
}

APART static void tiny(void)
{
    MEASURED();
    uint32_t x = (uint32_t)state;
    for (int step = 0; step < 16; step++)
        x = tiny_step(x);
    state = x;
}

/* ----------------------------------------------------------------------------------------------- allocations */

static void *blocks[256];

APART static void pairs(void)
{
    MEASURED();
    for (int pair = 0; pair < 8; pair++) {
        state = state * 6364136223846793005u + 1;
        void **block = &blocks[state >> 56];
        free(*block);
        *block = malloc(16 + (state >> 40) % 256);
    }
}

APART static void one_pair(void)
{
    MEASURED();
    state = state * 6364136223846793005u + 1;
    void **block = &blocks[state >> 56];
    free(*block);
    *block = malloc(16 + (state >> 40) % 256);
}

/* --------------------------------------------------------------------------- macros other than those of zones */

/* About 100 ns of arithmetic beside each event. */
#define AROUND()                                                                                                   \
    for (int step = 0; step < 24; step++)                                                                          \
    state = (state ^ state << 13) * 5

UNMEASURED APART static void value(void)
{
    AROUND();
    HOTPATH_VALUE("value", state >> 50);
}

UNMEASURED APART static void counter(void)
{
    AROUND();
    HOTPATH_COUNT("count", 1);
}

UNMEASURED APART static void gauge(void)
{
    AROUND();
    HOTPATH_GAUGE_ADD("gauge", state & 1 ? 1 : -1);
}

UNMEASURED APART static void channel(void)
{
    AROUND();
    HOTPATH_CHANNEL_SENT("channel", &state, 1, 8, 1);
    HOTPATH_CHANNEL_RECEIVED("channel", &state, 1, 8, 0);
}

/* Delays are measured one by one. */
UNMEASURED APART static void channel_ids(void)
{
    static uint64_t id;
    AROUND();
    id++;
    HOTPATH_CHANNEL_SENT("channel", &state, 1, 8, 1, id);
    HOTPATH_CHANNEL_RECEIVED("channel", &state, 1, 8, 0, id);
}

/* A hundred items at once are one event. */
UNMEASURED APART static void channel_bulk(void)
{
    AROUND();
    HOTPATH_CHANNEL_SENT("channel", &state, 100, 800, 100);
    HOTPATH_CHANNEL_RECEIVED("channel", &state, 100, 800, 0);
}

UNMEASURED APART static void channel_waits(void)
{
    HOTPATH_CHANNEL_EMPTY("channel", &state);
    AROUND();
}

UNMEASURED APART static void stream(void)
{
    HOTPATH_STREAM_NEXT("stream", NULL);
    AROUND();
    HOTPATH_STREAM_ITEM("stream", NULL, 1, 8);
}

struct operation {
    uint64_t number;
    HOTPATH_FIELD(hotpath_task, task);
};

UNMEASURED APART static void task(void)
{
    struct operation operation;
    HOTPATH_TASK(operation.task, "task");
    AROUND();
    HOTPATH_TASK_READY(operation.task);
}

static struct operation polled;

UNMEASURED APART static void poll_task(void)
{
    HOTPATH_TASK_POLL(polled.task);
    AROUND();
}

/* A task that runs makes another, and waits for it. */
UNMEASURED APART static void await(void)
{
    struct operation operation;
    {
        HOTPATH_TASK_POLL(polled.task);
        HOTPATH_TASK(operation.task, "awaited");
        AROUND();
    }
    AROUND();
    HOTPATH_TASK_READY(operation.task);
}

UNMEASURED APART static void loop_wait(void)
{
    {
        HOTPATH_LOOP_WAIT("loop");
        AROUND();
    }
    AROUND();
}

/* ---------------------------------------------------------------------------------------------- long functions */

APART static void compute(void)
{
    MEASURED();
    uint64_t x = state;
    for (int step = 0; step < 200000; step++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    state = x;
}

static int there[2], back[2];

UNMEASURED static void *answer(void *repeats)
{
    HOTPATH_BLOCK("answer");
    char byte = 1;
    for (long at = *(long *)repeats; at > 0; at--)
        if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
            exit(2);
    return NULL;
}

/* Each thread switches with every byte. */
UNMEASURED static void switches(long repeats)
{
    HOTPATH_BLOCK("switches");
    pthread_t thread;
    char byte = 1;
    if (pipe(there) != 0 || pipe(back) != 0 || pthread_create(&thread, NULL, answer, &repeats) != 0)
        exit(2);
    for (long at = repeats; at > 0; at--)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            exit(2);
    pthread_join(thread, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {{"chain", chain},
             {"wide", wide},
             {"memory", memory},
             {"words", words},
             {"tiny", tiny},
             {"pairs", pairs},
             {"one_pair", one_pair},
             {"compute", compute},
             {"value", value},
             {"count", counter},
             {"gauge", gauge},
             {"channel", channel},
             {"channel_ids", channel_ids},
             {"channel_bulk", channel_bulk},
             {"channel_waits", channel_waits},
             {"stream", stream},
             {"task", task},
             {"poll", poll_task},
             {"await", await},
             {"loop", loop_wait}};

UNMEASURED static uint64_t ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

UNMEASURED static int run(const char *kind, long repeats)
{
    if (strcmp(kind, "switches") == 0) {
        switches(repeats);
        return 0;
    }
    for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++)
        if (strcmp(kind, kinds[at].name) == 0) {
            HOTPATH_TASK(polled.task, "polled");
            while (repeats-- > 0)
                kinds[at].run();
            HOTPATH_TASK_READY(polled.task);
            return 0;
        }
    return 2;
}

UNMEASURED int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    if (argc != 3)
        return 2;
    const uint64_t cpu = ns_of(CLOCK_PROCESS_CPUTIME_ID), wall = ns_of(CLOCK_MONOTONIC);
    const int status = run(argv[1], atol(argv[2]));
    printf("%llu %llu\n", (unsigned long long)(ns_of(CLOCK_PROCESS_CPUTIME_ID) - cpu),
           (unsigned long long)(ns_of(CLOCK_MONOTONIC) - wall));
    return status;
}
