/*
 * A function of known nature, `subject`: it computes, sleeps, allocates, waits for a disk, a pipe or a lock, or has
 * to share its CPU. It prints the kernel's numbers of its time: wall, on a CPU, ready to run.
 */
#include "rivals.h"
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 8
#define STEP_US 60000u

static uint64_t thread_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t ready_ns(void)
{
    unsigned long long ran = 0, ready = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    MUST(file != NULL && fscanf(file, "%llu %llu", &ran, &ready) == 2);
    fclose(file);
    return ready;
}

/* ----------------------------------------------------------------------------------------------- cases */

static void be_busy(void)
{
    const uint64_t until = thread_cpu_ns() + STEP_US * 1000;
    while (thread_cpu_ns() < until)
        for (volatile int i = 0; i < 100000; i++)
            ;
}

static void do_sleep(void) { sleep_us(STEP_US); }

/* A few at a time: it does nothing but allocate. */
static void do_allocate(void)
{
    void *volatile blocks[64];
    for (int round = 0; round < 50000; round++) {
        for (size_t i = 0; i < 64; i++)
            blocks[i] = malloc(16 + i);
        for (size_t i = 0; i < 64; i++)
            free(blocks[i]);
    }
}

static const char *path;

/* The file grows, so the file system has more to do than to write a block again. */
static void do_write(void)
{
    const char block[4096] = "x";
    const int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
    MUST(fd >= 0);
    for (int i = 0; i < 50; i++) {
        MUST(write(fd, block, sizeof block) == (ssize_t)sizeof block);
        MUST(fsync(fd) == 0);
    }
    close(fd);
}

static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_held;

static void *write_late(void *unused)
{
    sleep_us(STEP_US);
    MUST(write(ends[1], "x", 1) == 1);
    return unused;
}

static void read_pipe(void)
{
    char byte;
    MUST(read(ends[0], &byte, 1) == 1);
}

static void *hold(void *unused)
{
    pthread_mutex_lock(&mutex);
    raise_flag(&is_held);
    sleep_us(STEP_US);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void take_lock(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

/* ------------------------------------------------------------------------------------------------- main */

static const struct nature {
    const char *name;
    void (*run)(void);
    void *(*beside)(void *); /* on a thread of its own, which sees to it that there is something to wait for */
} natures[] = {{"busy", be_busy, NULL},   {"sleep", do_sleep, NULL}, {"alloc", do_allocate, NULL},
               {"disk", do_write, NULL},  {"lock", take_lock, hold}, {"pipe", read_pipe, write_late},
               {"starved", be_busy, NULL}};

static uint64_t wall, cpu, ready;

static void subject(const struct nature *nature)
{
    HOTPATH_MEASURE();
    const uint64_t ready_before = ready_ns(), cpu_before = thread_cpu_ns(), start = now_ns();
    nature->run();
    wall += now_ns() - start;
    cpu += thread_cpu_ns() - cpu_before;
    ready += ready_ns() - ready_before;
}

static void run(const struct nature *nature)
{
    pthread_t thread;
    is_held = 0;
    if (nature->beside != NULL)
        MUST(pthread_create(&thread, NULL, nature->beside, NULL) == 0);
    while (nature->beside == hold && !is_raised(&is_held))
        ;
    subject(nature);
    if (nature->beside != NULL)
        pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "busy";
    path = argc > 2 ? argv[2] : "natures.data";
    if (strcmp(name, "starved") == 0)
        bring_rivals(3);
    MUST(pipe(ends) == 0);
    {
        HOTPATH_SESSION(.label = name);
        for (size_t at = 0; at < sizeof natures / sizeof natures[0]; at++)
            for (int round = 0; round < ROUNDS && strcmp(name, natures[at].name) == 0; round++)
                run(&natures[at]);
    }
    end_rivals();
    tell_aside("wall", wall);
    tell_aside("cpu", cpu);
    tell_aside("ready", ready);
    return 0;
}
