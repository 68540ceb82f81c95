/*
 * An ordinary program with a bit of everything: nested zones, recursion, threads, 400 further sites. The tests run
 * it without disk space, memory, descriptors or permissions. It also keeps its own files, and prints their
 * contents, so that a report or a session written into them would be noticed.
 *     workload [CASE]   see `prepare`
 */
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ONE(n)                                                                                                     \
    static void f##n(void) { HOTPATH_MEASURE(); }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define CENT(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define ALL CENT(_0) CENT(_1) CENT(_2) CENT(_3)
ALL
#undef ONE
#define ONE(n) f##n,
    static void (*const functions[])(void) = {ALL};

#define FUNCTIONS (sizeof functions / sizeof functions[0])

static unsigned fib(unsigned n)
{
    HOTPATH_MEASURE();
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void *work(void *unused)
{
    HOTPATH_MEASURE();
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < FUNCTIONS; i++) {
            HOTPATH_BLOCK("each");
            functions[i]();
        }
    return unused;
}

static void run(void)
{
    pthread_t threads[4];
    int started = 0;
    HOTPATH_MEASURE();
    for (int i = 0; i < 4; i++) /* under tight limits there may be no threads: both builds then do without */
        if (pthread_create(&threads[started], NULL, work, NULL) == 0)
            started++;
    work(NULL);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    printf("fib %u\n", fib(15));
}

static int own_files[3];

static void open_own_files(const char *folder)
{
    char path[512];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/own-%d", folder, i);
        own_files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (own_files[i] >= 0 && write(own_files[i], "mine\n", 5) != 5)
            printf("cannot write\n");
    }
}

static void say_own_files(void)
{
    for (int i = 0; i < 3; i++) {
        struct stat status;
        if (own_files[i] > 0 && fstat(own_files[i], &status) == 0)
            printf("own file %d: descriptor %d, %lld bytes\n", i, own_files[i], (long long)status.st_size);
    }
}

/* Restricts the process, after the session began or ("early-...") before. */
static void prepare(const char *name, const char *folder)
{
    if (strcmp(name, "closefrom") == 0) {
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        open_own_files(folder);
    } else if (strcmp(name, "closeall") == 0) {
        for (int fd = 2; fd < 64; fd++)
            close(fd);
        open_own_files(folder); /* the first becomes descriptor 2 */
    } else if (strcmp(name, "stderr-to-file") == 0) {
        open_own_files(folder);
        MUST(own_files[0] >= 0 && dup2(own_files[0], 2) == 2);
    } else if (strcmp(name, "stderr-closed") == 0) {
        close(2);
    } else if (strcmp(name, "chroot") == 0) {
        MUST(chroot(folder) == 0 && chdir("/") == 0);
    } else if (strcmp(name, "stderr-nonblocking") == 0) {
        MUST(fcntl(2, F_SETFL, O_NONBLOCK) == 0);
    } else if (strcmp(name, "fsize") == 0) {
        const struct rlimit limit = {150 << 10, 150 << 10};
        MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    } else if (strcmp(name, "address-space") == 0) {
        const struct rlimit limit = {64 << 20, 64 << 20};
        MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    } else if (strcmp(name, "descriptors") == 0) {
        const struct rlimit limit = {3, 3};
        MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    }
}

int main(int argc, char **argv)
{
    const int is_early = argc > 2 && strncmp(argv[1], "early-", 6) == 0;
    if (is_early)
        prepare(argv[1] + 6, argv[2]);
    HOTPATH_MAIN();
    if (argc > 2 && !is_early)
        prepare(argv[1], argv[2]);
    run();
    say_own_files();
    printf("end\n");
    return 42;
}
