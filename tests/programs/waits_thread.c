/* Unusual actions of a program while a library thread observes it (HOTPATH_WAITS=1). */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void nap(void)
{
    HOTPATH_MEASURE();
    sleep_us(15000);
}

static unsigned threads_here(void)
{
    DIR *folder = opendir("/proc/self/task");
    unsigned count = 0;
    MUST(folder != NULL);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void wait_until_alone(void)
{
    for (unsigned tries = 0; threads_here() > 1 && tries < 2000; tries++)
        sleep_us(5000);
}

/* Sessions come and go, each with a thread that has to notice. */
static void restart(unsigned long times)
{
    const struct hotpath_options options = {.size = sizeof options, .waits = 1, .format = "none"};
    for (unsigned long n = 0; n < times; n++) {
        MUST(hotpath_start(&options) == HOTPATH_OK);
        if (n % 3 != 0)
            nap();
        MUST(hotpath_stop() == HOTPATH_OK);
    }
    wait_until_alone();
    tell("left", threads_here());
}

/* Children have no such thread, and children of busy threads must not hang. */
static void fork_often(unsigned long times)
{
    for (unsigned long n = 0; n < times; n++) {
        const pid_t pid = fork();
        MUST(pid >= 0);
        if (pid == 0) {
            nap();
            _exit(threads_here() == 1 ? 7 : 8);
        }
        int status;
        MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        MUST(WEXITSTATUS(status) == 7);
    }
    tell("children", times);
}

static void *worker(void *flag)
{
    while (!is_raised(flag))
        nap();
    return NULL;
}

/* The C library has every thread do its part, also ours. */
static void change_user(void)
{
    pthread_t thread;
    int is_over = 0;
    MUST(pthread_create(&thread, NULL, worker, &is_over) == 0);
    for (int n = 0; n < 20; n++) {
        MUST(setuid(getuid()) == 0);
        nap();
    }
    raise_flag(&is_over);
    pthread_join(thread, NULL);
    tell("changed", 20);
}

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
    (void)signal;
    caught++;
}

/* A signal to the process comes to a thread of the program: sleep is interrupted once for each. */
static void take_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    MUST(sigaction(SIGUSR2, &action, NULL) == 0);
    for (int n = 0; n < 50; n++) {
        const int before = caught;
        nap();
        MUST(kill(getpid(), SIGUSR2) == 0);
        MUST(caught == before + 1);
    }
    tell("caught", (uint64_t)caught);
}

#define OURS 300

static int is_watcher(const char *tid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", tid);
    FILE *file = fopen(path, "r");
    const int is_read = file != NULL && fgets(name, sizeof name, file) != NULL;
    if (file != NULL)
        fclose(file);
    return is_read && strcmp(name, "hotpath\n") == 0;
}

/* How many threads there are that watch; and how many of them have a file open that we have. */
static unsigned find_watchers(unsigned *ret_sharing)
{
    DIR *folder = opendir("/proc/self/task");
    unsigned count = 0;
    char path[64];
    MUST(folder != NULL);
    *ret_sharing = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.' || !is_watcher(entry->d_name))
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%.16s/fd/%d", entry->d_name, OURS);
        *ret_sharing += access(path, F_OK) == 0;
        count++;
    }
    closedir(folder);
    return count;
}

/*
 * It shares no descriptor with us: neither does it take one that is free here, nor does it keep one open that we
 * close.
 */
static void share_no_files(void)
{
    unsigned watchers = 0, sharing = 0;
    MUST(dup2(2, OURS) == OURS);
    for (unsigned tries = 0; watchers == 0 && tries < 2000; tries++) {
        nap();
        watchers = find_watchers(&sharing);
    }
    MUST(access("/proc/thread-self/fd/300", F_OK) == 0);
    tell("watchers", watchers);
    tell("sharing", sharing);
}

int main(int argc, char **argv)
{
    if (is_case(argc, argv, "restart")) {
        restart(number(argc, argv, 2, 40));
        return 0;
    }
    HOTPATH_MAIN();
    nap();
    if (is_case(argc, argv, "fork"))
        fork_often(number(argc, argv, 2, 20));
    if (is_case(argc, argv, "user"))
        change_user();
    if (is_case(argc, argv, "files"))
        share_no_files();
    if (is_case(argc, argv, "signals"))
        take_signals();
    for (int n = 0; is_case(argc, argv, "naps") && n < 100; n++)
        nap();
    return 0;
}
