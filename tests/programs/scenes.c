/*
 * Small typical programs: pools, pipelines, servers, tools that start others. Each has one known bottleneck. Work
 * is measured by the thread's CPU clock, so that it is the same on a busy machine.
 */
#include "support.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_THREADS 8

static void work_us(uint64_t us)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const uint64_t until = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000 + us;
    do {
        for (volatile int i = 0; i < 2000; i++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000 < until);
}

/* ------------------------------------------------------------------------------------------------ threads */

static pthread_t threads[MOST_THREADS];

static void start(int count, void *(*run)(void *))
{
    for (int at = 0; at < count; at++)
        MUST(pthread_create(&threads[at], NULL, run, (void *)(uintptr_t)at) == 0);
}

static void join_all(int count)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < count; at++)
        pthread_join(threads[at], NULL);
}

/* ------------------------------------------------------------------------------------------------- queues */

/* Of a few numbers; below zero is the end. */
struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int items[4];
    int count, ends;
};

#define QUEUE                                                                                                      \
    {                                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                                    \
    }

static struct queue first = QUEUE, second = QUEUE;

static void queue_push(struct queue *queue, int item)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == 4)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    queue->items[queue->count++] = item;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

static void queue_end(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->ends = 1;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

static int queue_pop(struct queue *queue)
{
    HOTPATH_MEASURE();
    int item = -1;
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == 0 && !queue->ends)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    if (queue->count > 0)
        item = queue->items[--queue->count];
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    return item;
}

/* ----------------------------------------------------------------------------- a parser of logs with a pool */

static void parse_line(void)
{
    HOTPATH_MEASURE();
    work_us(5000);
}

static void *parse_lines(void *unused)
{
    while (queue_pop(&first) >= 0)
        parse_line();
    return unused;
}

static void parse_log(void)
{
    start(4, parse_lines);
    for (int line = 0; line < 120; line++)
        queue_push(&first, line);
    queue_end(&first);
    join_all(4);
}

/* ---------------------------------------------------------------- a pool with mostly idle threads */

static void render_page(void)
{
    HOTPATH_MEASURE();
    work_us(20000);
}

static void *render_pages(void *unused)
{
    while (queue_pop(&first) >= 0)
        render_page();
    return unused;
}

/* One page at a time: the next is known when the last is there. */
static void render_site(void)
{
    start(8, render_pages);
    for (int page = 0; page < 20; page++) {
        queue_push(&first, page);
        while (first.count > 0)
            sleep_us(1000);
    }
    queue_end(&first);
    join_all(8);
}

/* -------------------------------------------------------------------------------------------- a pipeline */

static int transform_us, store_us;

static void transform(void)
{
    HOTPATH_MEASURE();
    work_us((uint64_t)transform_us);
}

static void store(void)
{
    HOTPATH_MEASURE();
    work_us(200);
    sleep_us((uint64_t)store_us); /* a device that takes its time */
}

static void *transform_all(void *unused)
{
    for (int item; (item = queue_pop(&first)) >= 0;) {
        transform();
        queue_push(&second, item);
    }
    queue_end(&second);
    return unused;
}

static void *store_all(void *unused)
{
    while (queue_pop(&second) >= 0)
        store();
    return unused;
}

static void read_all(void)
{
    HOTPATH_MEASURE();
    for (int item = 0; item < 60; item++) {
        work_us(500);
        queue_push(&first, item);
    }
    queue_end(&first);
}

static void run_pipeline(int transform_takes, int store_takes)
{
    transform_us = transform_takes;
    store_us = store_takes;
    MUST(pthread_create(&threads[0], NULL, transform_all, NULL) == 0);
    MUST(pthread_create(&threads[1], NULL, store_all, NULL) == 0);
    read_all();
    join_all(2);
}

static void slow_transform(void) { run_pipeline(8000, 1000); }
static void slow_store(void) { run_pipeline(500, 8000); }

/* ----------------------------------------------------------------------------- a server with a slow lock */

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;

/* Asks another process while it holds the lock. */
static void ask_warehouse(void)
{
    HOTPATH_MEASURE();
    sleep_us(3000);
}

static void reserve_stock(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&stock);
    ask_warehouse();
    pthread_mutex_unlock(&stock);
}

static void *serve_orders(void *unused)
{
    HOTPATH_MEASURE();
    for (int order = 0; order < 25; order++) {
        reserve_stock();
        work_us(300);
    }
    return unused;
}

static void serve_shop(void)
{
    start(6, serve_orders);
    join_all(6);
}

/* -------------------------------------------------------------------------------------- an idle server */

static void answer(void)
{
    HOTPATH_MEASURE();
    work_us(3000);
}

static void wait_for_request(void)
{
    HOTPATH_MEASURE();
    poll(NULL, 0, 120);
}

static void *stand_by(void *unused)
{
    while (queue_pop(&first) >= 0)
        answer();
    return unused;
}

static void serve_few(void)
{
    start(4, stand_by);
    for (int request = 0; request < 5; request++) {
        wait_for_request();
        queue_push(&first, request);
    }
    queue_end(&first);
    join_all(4);
}

/* ------------------------------------------------------------------------------ a tool that starts others */

static void compile(void)
{
    HOTPATH_MEASURE();
    const pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        execlp("sh", "sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done", (char *)NULL);
        _exit(127);
    }
    MUST(waitpid(pid, NULL, 0) == pid);
}

static void build(void)
{
    for (int file = 0; file < 4; file++) {
        work_us(1000);
        compile();
    }
}

/* ------------------------------------------------------------------------- a batch by children of its own */

static void resize(void)
{
    HOTPATH_MEASURE();
    work_us(5000);
}

static void wait_for_children(void)
{
    HOTPATH_MEASURE();
    while (wait(NULL) > 0)
        ;
}

static void batch(void)
{
    for (int child = 0; child < 2; child++) {
        const pid_t pid = fork();
        MUST(pid >= 0);
        for (int image = 0; pid == 0 && image < 60; image++)
            resize();
        if (pid == 0)
            _exit(0);
    }
    wait_for_children();
}

/* ------------------------------------------------------------------------------- a client of a slow server */

static void fetch(int fd)
{
    HOTPATH_MEASURE();
    char byte = 1;
    MUST(write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1);
}

static void be_client(void)
{
    int ends[2];
    char byte;
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        while (read(ends[1], &byte, 1) == 1) {
            const struct timespec pause = {0, 20000000};
            nanosleep(&pause, NULL);
            if (write(ends[1], &byte, 1) != 1)
                break;
        }
        _exit(0);
    }
    close(ends[1]);
    for (int request = 0; request < 20; request++) {
        fetch(ends[0]);
        work_us(1000);
    }
    close(ends[0]);
    MUST(waitpid(pid, NULL, 0) == pid);
}

/* --------------------------------------------------------------------------------- a filter with slow input */

static int input[2];

static void read_line(void)
{
    HOTPATH_MEASURE();
    char byte;
    MUST(read(input[0], &byte, 1) == 1);
}

static void filter(void)
{
    MUST(pipe(input) == 0);
    const pid_t pid = fork();
    MUST(pid >= 0);
    for (int line = 0; pid == 0 && line < 30; line++) {
        const struct timespec pause = {0, 15000000};
        nanosleep(&pause, NULL);
        if (write(input[1], "x", 1) != 1)
            _exit(1);
    }
    if (pid == 0)
        _exit(0);
    for (int line = 0; line < 30; line++) {
        read_line();
        work_us(500);
    }
    MUST(waitpid(pid, NULL, 0) == pid);
}

/* -------------------------------------------------------------------- a simulation, one part of it too large */

static pthread_barrier_t step;

static void move_particles(uint64_t us)
{
    HOTPATH_MEASURE();
    work_us(us);
}

static void meet(void)
{
    HOTPATH_MEASURE();
    pthread_barrier_wait(&step);
}

static void *simulate(void *about)
{
    for (int round = 0; round < 20; round++) {
        move_particles((uintptr_t)about == 0 ? 20000 : 1000);
        meet();
    }
    return NULL;
}

static void simulation(void)
{
    MUST(pthread_barrier_init(&step, NULL, 4) == 0);
    start(4, simulate);
    join_all(4);
}

/* ------------------------------------------------------------------------------- downloads, two at a time */

static sem_t lines;

static void download(void)
{
    HOTPATH_MEASURE();
    sleep_us(12000);
}

static void take_line(void)
{
    HOTPATH_MEASURE();
    while (sem_wait(&lines) != 0)
        ;
}

static void *download_some(void *unused)
{
    for (int file = 0; file < 10; file++) {
        take_line();
        download();
        sem_post(&lines);
    }
    return unused;
}

static void downloads(void)
{
    MUST(sem_init(&lines, 0, 2) == 0);
    start(8, download_some);
    join_all(8);
}

/* --------------------------------------------------------------------- a computation with a ticker beside it */

static int is_over;

static void tick(void)
{
    HOTPATH_MEASURE();
    sleep_us(5000);
}

static void *ticker(void *unused)
{
    while (!is_raised(&is_over))
        tick();
    return unused;
}

static void compute(void)
{
    HOTPATH_MEASURE();
    work_us(10000);
}

static void computation(void)
{
    start(2, ticker);
    for (int round = 0; round < 40; round++)
        compute();
    raise_flag(&is_over);
    join_all(2);
}

/* -------------------------------------------------------------------------- unmeasured work */

static void note(void)
{
    HOTPATH_MEASURE();
    work_us(100);
}

static void *work_unseen(void *unused)
{
    work_us(200000);
    return unused;
}

static void unmeasured(void)
{
    start(2, work_unseen);
    for (int at = 0; at < 100; at++)
        note();
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], NULL);
}

/* ------------------------------------------------------------------------------------------------- main */

static const struct {
    const char *name;
    void (*run)(void);
} scenes[] = {{"log", parse_log},      {"pages", render_site},     {"transform", slow_transform},
              {"store", slow_store},   {"shop", serve_shop},       {"idle", serve_few},
              {"build", build},        {"batch", batch},           {"client", be_client},
              {"filter", filter},      {"simulation", simulation}, {"downloads", downloads},
              {"ticker", computation}, {"unmeasured", unmeasured}};

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    for (size_t at = 0; at < sizeof scenes / sizeof scenes[0]; at++)
        if (is_case(argc, argv, scenes[at].name))
            scenes[at].run();
    return 0;
}
