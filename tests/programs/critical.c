/*
 * Programs of which it is known what decides how long they take: critical NAME compute|sleep [killed]. (The server
 * kills itself halfway.)
 *
 *   fork_join  four workers with one job each; that of the third is long_job, eight times as long as short_job
 *   pipeline2  produce is slow, consume waits for it
 *   pipeline5  five stages; the third one, stage_c, takes four times as long as the others
 *   convoy     six threads take turns with one lock, and rebuild with the lock held; prepare outside of it is short
 *   readers    readers look up under a read lock; write_all holds it for writing most of the time
 *   server     main sends requests to a server thread, which asks a slow dependency: query_database
 *
 * "sleep": all work is sleeping. Queues are mutex and condition, with channel macros, so that the same source is
 * also a program with zones and an unmodified one (critical_off).
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hotpath.h"

static bool sleeps, is_killed;

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* CPU time, so that a busy machine does not make the work smaller; or a sleep. */
static void work(int ms)
{
    if (sleeps) {
        struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
        while (nanosleep(&left, &left) != 0 && errno == EINTR)
            continue;
        return;
    }
    const int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000LL;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        continue;
}

/* ------------------------------------------------------------------------------------------------------- queues */

#define ROOM 4

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int items[ROOM];
    int count;
};

#define QUEUE                                                                                                      \
    {                                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0                                                \
    }

static void put(struct queue *queue, int item)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->count == ROOM) {
        HOTPATH_CHANNEL_FULL("jobs", queue);
        while (queue->count == ROOM)
            pthread_cond_wait(&queue->changed, &queue->mutex);
    }
    queue->items[queue->count++] = item;
    HOTPATH_CHANNEL_SENT("jobs", queue, 1, 0, -1); /* all queues have one label: whose length is that? */
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

static int get(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->count == 0) {
        HOTPATH_CHANNEL_EMPTY("jobs", queue);
        while (queue->count == 0)
            pthread_cond_wait(&queue->changed, &queue->mutex);
    }
    const int item = queue->items[0];
    memmove(queue->items, queue->items + 1, sizeof queue->items - sizeof queue->items[0]);
    queue->count--;
    HOTPATH_CHANNEL_RECEIVED("jobs", queue, 1, 0, -1);
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    return item;
}

/* ------------------------------------------------------------------------------------------------------ threads */

#define MOST_THREADS 8
static pthread_t threads[MOST_THREADS];
static int started;

static void start(void *(*run)(void *), int number, const char *name)
{
    char text[16];
    if (pthread_create(&threads[started], NULL, run, (void *)(intptr_t)number) != 0)
        abort();
    snprintf(text, sizeof text, "%s %d", name, number);
    pthread_setname_np(threads[started++], text);
}

static void join_all(void)
{
    for (int at = 0; at < started; at++)
        pthread_join(threads[at], NULL);
}

/* ---------------------------------------------------------------------------------------------------- fork_join */

#define SHORT_JOBS 3
static int ended; /* short jobs */

static void short_job(void)
{
    HOTPATH_MEASURE();
    work(50);
}

/* On a busy machine another worker may get no CPU for a second: the long job ends last, whatever happens. */
static void long_job(void)
{
    HOTPATH_MEASURE();
    do
        work(400);
    while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < SHORT_JOBS);
}

static void *run_job(void *number)
{
    if ((intptr_t)number == 3) {
        long_job();
    } else {
        short_job();
        __atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void fork_join(void)
{
    for (int at = 1; at <= 4; at++)
        start(run_job, at, "worker");
    join_all();
}

/* ---------------------------------------------------------------------------------------------------- pipelines */

#define ITEMS 40
static struct queue queues[4] = {QUEUE, QUEUE, QUEUE, QUEUE};

static void produce(void)
{
    HOTPATH_MEASURE();
    work(10);
}

static void consume(void)
{
    HOTPATH_MEASURE();
    work(1);
}

static void *run_producer(void *number)
{
    (void)number;
    for (int item = 0; item <= ITEMS; item++) {
        if (item < ITEMS)
            produce();
        put(&queues[0], item);
    }
    return NULL;
}

static void pipeline2(void)
{
    start(run_producer, 1, "producer");
    while (get(&queues[0]) < ITEMS)
        consume();
    join_all();
}

static void stage_a(void)
{
    HOTPATH_MEASURE();
    work(2);
}

static void stage_b(void)
{
    HOTPATH_MEASURE();
    work(2);
}

static void stage_c(void)
{
    HOTPATH_MEASURE();
    work(9);
}

static void stage_d(void)
{
    HOTPATH_MEASURE();
    work(2);
}

static void stage_e(void)
{
    HOTPATH_MEASURE();
    work(2);
}

static void (*const stages[])(void) = {stage_a, stage_b, stage_c, stage_d, stage_e};

static void *run_stage(void *context)
{
    const int number = (int)(intptr_t)context;
    for (int next = 0; next <= ITEMS; next++) {
        const int item = number == 0 ? next : get(&queues[number - 1]);
        if (item < ITEMS)
            stages[number]();
        if (number < 4)
            put(&queues[number], item);
    }
    return NULL;
}

static void pipeline5(void)
{
    for (int at = 0; at < 5; at++)
        start(run_stage, at, "stage");
    join_all();
}

/* -------------------------------------------------------------------------------------------------------- locks */

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

static void prepare(void)
{
    HOTPATH_MEASURE();
    work(1);
}

static void rebuild(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&cache_lock);
    work(5);
    pthread_mutex_unlock(&cache_lock);
}

static void *run_convoy(void *number)
{
    (void)number;
    for (int turn = 0; turn < 15; turn++) {
        prepare();
        rebuild();
    }
    return NULL;
}

static void convoy(void)
{
    for (int at = 1; at <= 6; at++)
        start(run_convoy, at, "worker");
    join_all();
}

static int table[1];

static void look_up(void)
{
    HOTPATH_MEASURE();
    pthread_rwlock_rdlock(&table_lock); /* for a moment: many readers would keep the writer out forever */
    const int entry = table[0];
    pthread_rwlock_unlock(&table_lock);
    work(1 + entry);
}

static void write_all(void)
{
    HOTPATH_MEASURE();
    pthread_rwlock_wrlock(&table_lock);
    work(20);
    pthread_rwlock_unlock(&table_lock);
}

static bool is_written;

static void *run_reader(void *number)
{
    (void)number;
    while (!__atomic_load_n(&is_written, __ATOMIC_RELAXED))
        look_up();
    return NULL;
}

static void *run_writer(void *number)
{
    (void)number;
    for (int turn = 0; turn < 25; turn++) {
        write_all();
        work(1);
    }
    __atomic_store_n(&is_written, true, __ATOMIC_RELAXED);
    return NULL;
}

static void readers(void)
{
    start(run_writer, 1, "writer");
    for (int at = 1; at <= 3; at++)
        start(run_reader, at, "reader");
    join_all();
}

/* ------------------------------------------------------------------------------------------------------- server */

static struct queue requests = QUEUE, answers = QUEUE, questions = QUEUE, results = QUEUE;

static void query_database(void)
{
    HOTPATH_MEASURE();
    work(12);
}

static void handle_request(int request)
{
    HOTPATH_MEASURE();
    work(1);
    put(&questions, request);
    get(&results);
    work(1);
}

static void *run_database(void *number)
{
    (void)number;
    while (get(&questions) < ITEMS) {
        query_database();
        put(&results, 0);
    }
    return NULL;
}

static void *run_server(void *number)
{
    int request;
    (void)number;
    while ((request = get(&requests)) < ITEMS) {
        handle_request(request);
        put(&answers, request);
    }
    put(&questions, ITEMS);
    return NULL;
}

static void server(void)
{
    start(run_server, 1, "server");
    start(run_database, 1, "database");
    for (int request = 0; request < ITEMS; request++) {
        if (is_killed && request == ITEMS / 2)
            raise(SIGKILL);
        work(1);
        put(&requests, request);
        get(&answers);
    }
    put(&requests, ITEMS);
    join_all();
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {{"fork_join", fork_join}, {"pipeline2", pipeline2}, {"pipeline5", pipeline5},
                    {"convoy", convoy},       {"readers", readers},     {"server", server}};
    HOTPATH_MAIN();
    sleeps = count > 2 && strcmp(arguments[2], "sleep") == 0;
    is_killed = count > 3 && strcmp(arguments[3], "killed") == 0;
    for (size_t at = 0; at < sizeof programs / sizeof programs[0]; at++)
        if (count > 1 && strcmp(arguments[1], programs[at].name) == 0) {
            programs[at].run();
            return 0;
        }
    return 2;
}
