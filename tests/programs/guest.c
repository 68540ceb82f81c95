/*
 * A guest of `hotpath run`: what passes through it, and what it leaves. Every case calls work() a known number of
 * times.
 *     ends HOW        return, exit, _exit, abort, segv, kill: 3 calls, then that end (status 7 where there is one)
 *     copy            stdin to stdout, one call per line
 *     family N        N children by fork, child i calls work() i + 1 times; one more is started by exec, with 5
 *                     calls
 *     crowd N         N children one after the other, each with one call
 *     daemon PATH     a double-forked daemon calls work() until PATH is gone; the parent returns at once
 *     closes          closes all descriptors but 0 to 2
 *     jails PATH      changes the root to PATH after the first call, then forks a child
 *     drops UID       changes the user after the first call, then forks a child
 *     hears           prints the signals that arrive, ends with SIGUSR2
 *     stops           stops itself, then goes on
 *     terminal        what it knows about its terminal, then reads a line
 *     reports         asks for a report of its own in the middle
 *     threads N       N threads with 100 calls each
 *     lone PATH       the same on a second thread, when the first has ended
 *     waits PATH      calls work() until PATH is gone, then prints how often
 */
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static __attribute__((noinline)) void work(void)
{
    HOTPATH_MEASURE();
    spin_us(20);
}

static void work_times(unsigned long times)
{
    while (times-- > 0)
        work();
}

static int ends(const char *how)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    work_times(3);
    printf("ends by %s\n", how);
    fflush(stdout);
    if (strcmp(how, "exit") == 0)
        exit(7);
    if (strcmp(how, "_exit") == 0)
        _exit(7);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    return 7;
}

static int copy(void)
{
    char line[1000];
    while (fgets(line, sizeof line, stdin) != NULL) {
        work();
        fputs(line, stdout);
    }
    return 0;
}

static void wait_for_all(void)
{
    while (wait(NULL) > 0)
        ;
}

static int family(char **argv, unsigned long size)
{
    static char five[] = "five";
    char *again[] = {argv[0], five, NULL};
    pid_t pid;
    for (unsigned long child = 0; child < size; child++)
        if (fork() == 0) {
            work_times(child + 1);
            exit(0);
        }
    MUST(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, again, environ) == 0);
    wait_for_all();
    work();
    return 0;
}

static int crowd(unsigned long size)
{
    for (unsigned long child = 0; child < size; child++) {
        if (fork() == 0) {
            work();
            exit(0);
        }
        wait_for_all();
    }
    return 0;
}

static int daemonise(const char *path)
{
    int ends_of_pipe[2];
    char byte;
    work();
    fflush(stdout);
    MUST(pipe(ends_of_pipe) == 0);
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        work();
        MUST(write(ends_of_pipe[1], "d", 1) == 1);
        for (int fd = 0; fd < 10; fd++)
            close(fd);
        while (access(path, F_OK) == 0)
            sleep_us(1000);
        work();
        exit(0);
    }
    MUST(read(ends_of_pipe[0], &byte, 1) == 1);
    wait_for_all();
    return 0;
}

static int closes(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    const int fd = open("/dev/null", O_RDONLY);
    printf("first free %d\n", fd);
    work_times(4);
    return 0;
}

/* What a process may still do that can no longer reach the folder of sessions. */
static int go_on(void)
{
    work_times(2);
    fflush(stdout);
    if (fork() == 0) {
        work_times(5);
        spin_us(30000); /* long enough to be missed */
        exit(0);
    }
    wait_for_all();
    puts("done");
    return 0;
}

static void hear(int signal)
{
    char text[] = "signal 00\n";
    text[7] = (char)('0' + signal / 10);
    text[8] = (char)('0' + signal % 10);
    MUST(write(1, text, 10) == 10);
    if (signal == SIGUSR2)
        _exit(5);
}

static _Noreturn void hears(void)
{
    const int heard[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    for (size_t at = 0; at < sizeof heard / sizeof heard[0]; at++)
        signal(heard[at], hear);
    work();
    puts("listening");
    fflush(stdout);
    for (;;)
        pause();
}

static int stops(void)
{
    work();
    puts("stopping");
    fflush(stdout);
    raise(SIGSTOP);
    work();
    puts("going on");
    return 0;
}

static int look_at_terminal(void)
{
    char line[100];
    work();
    printf("terminal %d %d, foreground %d, leader of session %d\n", isatty(0), isatty(1), tcgetpgrp(0) == getpgrp(),
           getsid(0) == getpid());
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) != NULL)
        printf("read %s", line);
    return 0;
}

static void *hundred(void *unused)
{
    work_times(100);
    return unused;
}

static int threads(unsigned long count)
{
    pthread_t all[64];
    for (unsigned long at = 0; at < count && at < 64; at++)
        MUST(pthread_create(&all[at], NULL, hundred, NULL) == 0);
    for (unsigned long at = 0; at < count && at < 64; at++)
        pthread_join(all[at], NULL);
    return 0;
}

static int waits(const char *path)
{
    unsigned long calls = 0;
    puts("waiting");
    fflush(stdout);
    for (; access(path, F_OK) == 0; calls++) {
        work();
        sleep_us(100);
    }
    tell("calls", calls);
    return 0;
}

static void *wait_alone(void *path) { exit(waits(path)); }

static int lone(char *path)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, wait_alone, path) == 0);
    pthread_exit(NULL);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const char *second = argc > 2 ? argv[2] : "";
    if (is_case(argc, argv, "ends"))
        return ends(second);
    if (is_case(argc, argv, "copy"))
        return copy();
    if (is_case(argc, argv, "family"))
        return family(argv, number(argc, argv, 2, 3));
    if (is_case(argc, argv, "crowd"))
        return crowd(number(argc, argv, 2, 3));
    if (is_case(argc, argv, "five"))
        work_times(5);
    if (is_case(argc, argv, "daemon"))
        return daemonise(second);
    if (is_case(argc, argv, "closes"))
        return closes();
    if (is_case(argc, argv, "jails")) {
        work();
        MUST(chroot(second) == 0 && chdir("/") == 0);
        return go_on();
    }
    if (is_case(argc, argv, "drops")) {
        work();
        MUST(setgid((gid_t)number(argc, argv, 2, 65534)) == 0 && setuid((uid_t)number(argc, argv, 2, 65534)) == 0);
        return go_on();
    }
    if (is_case(argc, argv, "hears"))
        hears();
    if (is_case(argc, argv, "stops"))
        return stops();
    if (is_case(argc, argv, "terminal"))
        return look_at_terminal();
    if (is_case(argc, argv, "reports")) {
        work();
        printf("report %d\n", hotpath_report());
        work();
    }
    if (is_case(argc, argv, "threads"))
        return threads(number(argc, argv, 2, 4));
    if (is_case(argc, argv, "lone"))
        return lone(argv[2]);
    if (is_case(argc, argv, "waits"))
        return waits(second);
    return 0;
}
