/*
 * A program without hotpath that does almost nothing but call functions that `hotpath run` hooks:
 *     own_time WAYS MS   for each way MS of CPU time in a function of its own, on a thread of its own
 * Ways: a allocates() calls malloc and free, w writes() writes to a pipe and reads from it, p prints() calls fputc.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double limit_ms;

static double used_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void *allocates(void *unused)
{
    void *(*volatile take)(size_t) = malloc;
    while (used_ms() < limit_ms)
        for (int block = 0; block < 10000; block++)
            free(take(100));
    return unused;
}

static void *writes(void *unused)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        exit(1);
    while (used_ms() < limit_ms)
        for (int times = 0; times < 1000; times++)
            if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
                exit(1);
    return unused;
}

static void *prints(void *unused)
{
    int (*volatile put)(int, FILE *) = fputc;
    FILE *file = fopen("/dev/null", "w");
    if (file == NULL)
        exit(1);
    while (used_ms() < limit_ms)
        for (int byte = 0; byte < 10000; byte++)
            put('x', file);
    fclose(file);
    return unused;
}

int main(int count, char **words)
{
    limit_ms = count > 2 ? atof(words[2]) : 0;
    for (const char *way = words[1]; count > 2 && *way != '\0'; way++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL,
                           *way == 'a'   ? allocates
                           : *way == 'w' ? writes
                                         : prints,
                           NULL) != 0 ||
            pthread_join(thread, NULL) != 0)
            return 1;
    }
    return 0;
}
