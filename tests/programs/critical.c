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
 * and, closer to real ones:
 *
 *   handover   three threads use a table under one lock, which changes hands while they wait: scan_table has it
 *              longest; open_table and use_table are short
 *   housekeeper  main has a worker compress its blocks; a third thread sleeps, and sweeps now and then
 *   pool       four workers idle, since fetch is slow; main collects what they render
 *   dependency main has a server thread ask a child process, over a socket, which is slow: look_up_price
 *   log        six threads write to a log in the working directory, one at a time: flush_log has the lock while it
 *              waits for the disk
 *
 * "sleep": all work is sleeping. Queues are mutex and condition, with channel macros, so that the same source is
 * also a program with zones and an unmodified one (critical_off).
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* ----------------------------------------------------------------------------------------------------- handover */

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static void open_table(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&open_lock);
    work(3);
    pthread_mutex_unlock(&open_lock);
}

static void scan_table(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&open_lock);
    work(16);
    pthread_mutex_unlock(&open_lock);
}

static void use_table(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&open_lock);
    work(1);
    pthread_mutex_unlock(&open_lock);
}

static void *run_user(void *number)
{
    for (int turn = 0; turn < 25; turn++)
        (intptr_t) number == 1 ? open_table() : (intptr_t)number == 2 ? scan_table() : use_table();
    return NULL;
}

static void handover(void)
{
    for (int at = 1; at <= 3; at++)
        start(run_user, at, "user");
    join_all();
}

/* -------------------------------------------------------------------------------------------------- housekeeper */

static bool is_closing;

static void compress(void)
{
    HOTPATH_MEASURE();
    work(12);
}

static void sweep(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&open_lock);
    pthread_mutex_unlock(&open_lock);
}

static void *run_housekeeper(void *number)
{
    (void)number;
    while (!__atomic_load_n(&is_closing, __ATOMIC_RELAXED)) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        sweep();
    }
    return NULL;
}

static void *run_compressor(void *number)
{
    int block;
    (void)number;
    while ((block = get(&requests)) < ITEMS) {
        compress();
        put(&answers, block);
    }
    return NULL;
}

static void housekeeper(void)
{
    start(run_compressor, 1, "compressor");
    start(run_housekeeper, 1, "housekeeper");
    for (int block = 0; block < ITEMS; block++) {
        work(1);
        put(&requests, block);
        get(&answers);
    }
    put(&requests, ITEMS);
    __atomic_store_n(&is_closing, true, __ATOMIC_RELAXED);
    join_all();
}

/* --------------------------------------------------------------------------------------------------------- pool */

#define WORKERS 4

static void fetch(void)
{
    HOTPATH_MEASURE();
    work(12);
}

static void render(void)
{
    HOTPATH_MEASURE();
    work(2);
}

static void *run_fetcher(void *number)
{
    (void)number;
    for (int page = 0; page < ITEMS; page++) {
        fetch();
        put(&requests, page);
    }
    for (int at = 0; at < WORKERS; at++)
        put(&requests, ITEMS);
    return NULL;
}

static void *run_pool_worker(void *number)
{
    int page;
    (void)number;
    while ((page = get(&requests)) < ITEMS) {
        render();
        put(&answers, page);
    }
    return NULL;
}

static void pool(void)
{
    start(run_fetcher, 1, "fetcher");
    for (int at = 1; at <= WORKERS; at++)
        start(run_pool_worker, at, "renderer");
    for (int page = 0; page < ITEMS; page++)
        get(&answers);
    join_all();
}

/* --------------------------------------------------------------------------------------------------- dependency */

static int prices; /* the parent's end of the socket */

static void look_up_price(void)
{
    HOTPATH_MEASURE();
    work(12);
}

static void run_prices(int socket)
{
    char item;
    while (read(socket, &item, 1) == 1) {
        look_up_price();
        if (write(socket, &item, 1) != 1)
            abort();
    }
}

static void ask_price(void)
{
    HOTPATH_MEASURE();
    char item = 1;
    work(1);
    if (write(prices, &item, 1) != 1 || read(prices, &item, 1) != 1)
        abort();
}

static void *run_shop(void *number)
{
    int request;
    (void)number;
    while ((request = get(&requests)) < ITEMS) {
        ask_price();
        put(&answers, request);
    }
    return NULL;
}

static void dependency(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        abort();
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_prices(ends[1]);
        exit(0);
    }
    close(ends[1]);
    prices = ends[0];
    start(run_shop, 1, "shop");
    for (int request = 0; request < ITEMS; request++) {
        put(&requests, request);
        get(&answers);
    }
    put(&requests, ITEMS);
    join_all();
    close(prices);
    waitpid(child, NULL, 0);
}

/* ---------------------------------------------------------------------------------------------------------- log */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file;

/* However fast the disk is, it takes 5 ms. */
static void flush_log(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&log_lock);
    const int64_t end = now_ns(CLOCK_MONOTONIC) + 5000000;
    do {
        if (write(log_file, "entry\n", 6) != 6 || fdatasync(log_file) != 0)
            abort();
    } while (now_ns(CLOCK_MONOTONIC) < end);
    pthread_mutex_unlock(&log_lock);
}

static void *run_logger(void *number)
{
    (void)number;
    for (int turn = 0; turn < 15; turn++)
        flush_log();
    return NULL;
}

static void write_log(void)
{
    log_file = open("critical.log", O_CREAT | O_WRONLY | O_APPEND, 0600);
    for (int at = 1; at <= 6; at++)
        start(run_logger, at, "logger");
    join_all();
    unlink("critical.log");
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {{"fork_join", fork_join}, {"pipeline2", pipeline2},
                    {"pipeline5", pipeline5}, {"convoy", convoy},
                    {"readers", readers},     {"server", server},
                    {"handover", handover},   {"housekeeper", housekeeper},
                    {"pool", pool},           {"dependency", dependency},
                    {"log", write_log}};
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
