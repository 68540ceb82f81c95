/*
 * Unusual uses of malloc: before main, in threads and their destructors, in children, in loaded libraries. The
 * output is the same with and without counting.
 */
#include "alloc_counts.h"

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *early; /* allocated before any constructor of a library that is not needed by all others */
static void *volatile hold;

static void allocate_early(int argc, char **argv, char **variables)
{
    (void)argc, (void)argv, (void)variables;
    early = strdup("early");
}

#ifdef __GLIBC__
__attribute__((section(".preinit_array"), used)) static void (*before_all)(int, char **, char **) = allocate_early;
#else
__attribute__((constructor(101))) static void before_main(void) { allocate_early(0, NULL, NULL); }
#endif

/* ----------------------------------------------------------------------------------------------------- threads */

static pthread_key_t key;
static __thread void *of_thread;

static void end_of_thread(void *block)
{
    free(block);
    free(of_thread);
    of_thread = NULL;
    for (int i = 0; i < 100; i++)
        free(hold = malloc(32));
}

static void *work(void *unused)
{
    (void)unused;
    void *blocks[64] = {NULL};
    pthread_setspecific(key, malloc(64));
    of_thread = calloc(1, 128);
    for (int i = 0; i < 20000; i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc((size_t)(i % 300 + 1));
        if (blocks[i % 64] != NULL)
            memset(blocks[i % 64], i, (size_t)(i % 300 + 1));
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
    return malloc(10);
}

static void threads(void)
{
    pthread_t all[8];
    pthread_key_create(&key, end_of_thread);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 8; i++)
            if (pthread_create(&all[i], NULL, work, NULL) != 0)
                abort();
        for (int i = 0; i < 8; i++) {
            void *block;
            pthread_join(all[i], &block);
            free(block);
        }
    }
    puts("threads: done");
}

/* ---------------------------------------------------------------------------------------------------- children */

static void forks(void)
{
    pthread_t other;
    void *block;
    pthread_key_create(&key, end_of_thread);
    pthread_create(&other, NULL, work, NULL);
    for (int i = 0; i < 20; i++) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            block = malloc(1000);
            free(early);
            free(block);
            exit(block != NULL ? i : 99);
        }
        int status = 0;
        waitpid(child, &status, 0);
        printf("child %d: %d\n", i, WEXITSTATUS(status));
    }
    pthread_join(other, &block);
    free(block);
}

/* The child of vfork has the memory of its parent, which waits. */
static void vforks(char **argv)
{
    for (int i = 0; i < 20; i++) {
        fflush(stdout);
        const pid_t child = vfork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], "hello", (char *)NULL);
            _exit(98);
        }
        int status = 0;
        waitpid(child, &status, 0);
        free(hold = malloc(100));
        printf("child: %d\n", WEXITSTATUS(status));
    }
}

/* Prints the variables that another program would get from us. */
static void show_environment(void)
{
    char *const command[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                             (char *)(uintptr_t) "echo \"preload <$LD_PRELOAD> <${LD_PRELOAD-unset}>\"; exec env",
                             NULL};
    pid_t child;
    int status;
    fflush(stdout);
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, command, environ) == 0)
        waitpid(child, &status, 0);
    printf("own <%s>\n", getenv("LD_PRELOAD") != NULL ? getenv("LD_PRELOAD") : "unset");
}

/* ------------------------------------------------------------------------------------------------------ plugins */

static void plugins(const char *path)
{
    for (int i = 0; i < 10; i++) {
        void *library = dlopen(path, RTLD_NOW);
        if (library == NULL) {
            puts(dlerror());
            return;
        }
        int (*is_fine)(void) = (int (*)(void))(uintptr_t)dlsym(library, "alloc_plugin_is_fine");
        printf("plugin: %s\n", is_fine() ? "fine" : "broken");
        dlclose(library);
    }
    printf("missing: %d %d\n", dlopen("/nowhere.so", RTLD_NOW) == NULL, dlerror() != NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    printf("%s, no error %d\n", early != NULL ? early : "nothing", dlerror() == NULL);
    if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "fork") == 0)
        forks();
    else if (strcmp(what, "vfork") == 0)
        vforks(argv);
    else if (strcmp(what, "environment") == 0)
        show_environment();
    else if (strcmp(what, "plugin") == 0)
        plugins(argv[2]);
    free(early);
    puts("end");
    return 0;
}
