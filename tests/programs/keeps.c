/*
 * What a zone must not change: errno (also with the first zone of a thread, a deeper stack, a report), open
 * descriptors, the signal mask, and what children inherit.
 */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static int changes, descriptors;

static void check(void)
{
    if (errno != 4711)
        changes++;
    errno = 4711;
}

static void deep(int level)
{
    HOTPATH_MEASURE();
    check();
    if (level > 0)
        deep(level - 1);
    check();
}

static void *thread(void *unused)
{
    errno = 4711;
    {
        HOTPATH_BLOCK("first of a thread");
        check();
    }
    check();
    deep(500);
    return unused;
}

static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    MUST(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void same_mask(const sigset_t *before)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int signal = 1; signal < 65; signal++)
        if (sigismember(before, signal) != sigismember(&now, signal))
            changes++;
}

static void measured(void)
{
    errno = 4711;
    HOTPATH_MAIN();
    check();
    deep(300);
    pthread_t other;
    MUST(pthread_create(&other, NULL, thread, NULL) == 0);
    pthread_join(other, NULL);
    errno = 4711;
    hotpath_report();
    check();
    if (count_descriptors() != descriptors)
        printf("descriptors %d, before %d\n", count_descriptors(), descriptors);
}

int main(void)
{
    sigset_t before;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &before, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    descriptors = count_descriptors();
    measured();
    same_mask(&before);
    errno = 4711;
    hotpath_stop();
    check();
    same_mask(&before);
    printf("changes %d\n", changes);
    printf("descriptors %s\n", count_descriptors() == descriptors ? "as before" : "left open");
    fflush(stdout);
    /* A child by exec sees what it inherits; ls opens one of its own. */
    execl("/bin/sh", "sh", "-c", "ls /proc/self/fd | wc -l", (char *)NULL);
    return 1;
}
