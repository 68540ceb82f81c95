/*
 * A program without hotpath, whose processes use a known amount of CPU time, in milliseconds:
 *     kin burn MS              uses it and leaves by _exit
 *     kin fork N MS            N children allocate 100 blocks of 1000 bytes, use it each and leave by _exit
 *     kin become MS FILE ...   uses it, and calls exec
 *     kin bare MS              closes all descriptors first
 *     kin clear FILE ...       calls exec with an empty environment
 *     kin orphan MS            a grandchild, in its own POSIX session, uses it after its parent has ended; the
 *                              program waits for it
 *     kin thread MS MORE       uses it, starts a thread that exits, uses more, and waits for its input to be closed
 *     kin lone MS              the first thread exits, another one uses it
 *     kin maps N               maps code N times, as a JIT compiler does
 *     kin stay                 leaves a child behind that waits for its input to be closed
 * With KIN_BEGINS_MS in the environment it sleeps so long before any library is initialised.
 * It can be more: time stolen by a hypervisor may count as the program's. Each process appends its pid, the CPU
 * time it was to use and the time it used to ./burned, if that file exists.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_first(int argc, char **argv, char **environment)
{
    static const char name[] = "KIN_BEGINS_MS=";
    (void)argc;
    (void)argv;
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, sizeof name - 1) == 0) {
            const long ms = strtol(*environment + sizeof name - 1, NULL, 10);
            nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
        }
}

static void (*const before_all[])(int, char **, char **)
    __attribute__((section(".preinit_array"), used)) = {sleep_first};

static double used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void tell(double ms, double burned)
{
    char line[64];
    const int fd = open("burned", O_WRONLY | O_APPEND),
              length = snprintf(line, sizeof line, "%d %.0f %.3f\n", (int)getpid(), ms, burned);
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

static void burn(double ms)
{
    const double begin = used();
    double now;
    do
        now = used();
    while (now < begin + ms);
    tell(ms, now - begin);
}

static void allocate(void)
{
    void *(*volatile take)(size_t) = malloc;
    for (int i = 0; i < 100; i++)
        free(take(1000));
}

static int fork_many(int count, double ms)
{
    for (int i = 0; i < count; i++)
        if (fork() == 0) {
            allocate();
            burn(ms);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    return 0;
}

/* The end of the grandchild is seen by the end of the pipe. */
static int orphan(double ms)
{
    int ends[2];
    char unused;
    if (pipe(ends) != 0)
        return 1;
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        close(ends[0]);
        burn(ms);
        _exit(0);
    }
    close(ends[1]);
    wait(NULL);
    return read(ends[0], &unused, 1) == 0 ? 0 : 1;
}

/* It goes on when the child runs. */
static int stay(void)
{
    int ends[2];
    char unused;
    if (pipe(ends) != 0)
        return 1;
    if (fork() != 0)
        return read(ends[0], &unused, 1) == 1 ? 0 : 1;
    close(1);
    close(2);
    if (write(ends[1], "", 1) != 1)
        return 1;
    return (int)read(0, &unused, 1);
}

static void *nothing(void *context) { return context; }

static int thread(double ms, double more)
{
    pthread_t one;
    char unused;
    burn(ms);
    if (pthread_create(&one, NULL, nothing, NULL) != 0 || pthread_join(one, NULL) != 0)
        return 1;
    burn(more);
    while (read(0, &unused, 1) > 0)
        ;
    _exit(0);
}

static void *burn_alone(void *ms)
{
    burn(*(const double *)ms);
    _exit(0);
}

static int lone(double ms)
{
    static double its;
    pthread_t one;
    its = ms;
    if (pthread_create(&one, NULL, burn_alone, &its) != 0)
        return 1;
    pthread_exit(NULL);
}

static int map_code(int count)
{
    for (int i = 0; i < count; i++) {
        void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (code == MAP_FAILED || munmap(code, 4096) != 0)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const double ms = argc > 2 ? atof(argv[2]) : 0;
    if (strcmp(what, "fork") == 0)
        return fork_many((int)ms, argc > 3 ? atof(argv[3]) : 0);
    if (strcmp(what, "orphan") == 0)
        return orphan(ms);
    if (strcmp(what, "stay") == 0)
        return stay();
    if (strcmp(what, "maps") == 0)
        return map_code((int)ms);
    if (strcmp(what, "lone") == 0)
        return lone(ms);
    if (strcmp(what, "thread") == 0)
        return thread(ms, argc > 3 ? atof(argv[3]) : 0);
    if (strcmp(what, "clear") == 0 && argc > 2) {
        clearenv();
        execv(argv[2], argv + 2);
        return 1;
    }
    for (int fd = 0; strcmp(what, "bare") == 0 && fd < 1024; fd++)
        close(fd);
    burn(ms);
    if (strcmp(what, "become") == 0 && argc > 3)
        execv(argv[3], argv + 3);
    _exit(0);
}
