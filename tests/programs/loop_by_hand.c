/*
 * Event loops without a library, with every wait function: loop_by_hand epoll_wait|poll|... And difficult cases for
 * interposed functions: signals, cancellation, fork, threads, jumps. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "loop_truth.h"

/* ------------------------------------------------------------------------------------------------- waits */

typedef int wait_function(int file, int epoll);

static int by_epoll_wait(int file, int epoll)
{
    struct epoll_event event;
    (void)file;
    return epoll_wait(epoll, &event, 1, -1);
}

static int by_epoll_pwait(int file, int epoll)
{
    struct epoll_event event;
    (void)file;
    return epoll_pwait(epoll, &event, 1, -1, NULL);
}

static int by_poll(int file, int epoll)
{
    struct pollfd one = {.fd = file, .events = POLLIN};
    (void)epoll;
    return poll(&one, 1, -1);
}

static int by_ppoll(int file, int epoll)
{
    struct pollfd one = {.fd = file, .events = POLLIN};
    (void)epoll;
    return ppoll(&one, 1, NULL, NULL);
}

/* musl's FD_SET takes no int without a warning. */
static void set_of(int file, fd_set *ret_set)
{
    FD_ZERO(ret_set);
    FD_SET((unsigned)file, ret_set);
}

static int by_select(int file, int epoll)
{
    fd_set set;
    (void)epoll;
    set_of(file, &set);
    return select(file + 1, &set, NULL, NULL, NULL);
}

static int by_pselect(int file, int epoll)
{
    fd_set set;
    (void)epoll;
    set_of(file, &set);
    return pselect(file + 1, &set, NULL, NULL, NULL, NULL);
}

static const struct way {
    const char *name;
    wait_function *wait;
} ways[] = {{"epoll_wait", by_epoll_wait}, {"epoll_pwait", by_epoll_pwait}, {"poll", by_poll},
            {"ppoll", by_ppoll},           {"select", by_select},           {"pselect", by_pselect}};

/* ------------------------------------------------------------------------------------------------- loops */

static int make_epoll(int file)
{
    struct epoll_event event = {.events = EPOLLIN};
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event);
    return epoll;
}

static void run(struct truth *truth, wait_function *wait)
{
    truth_begin(truth);
    const int epoll = make_epoll(truth->file);
    do
        wait(truth->file, epoll);
    while (truth_callback(truth));
    close(epoll);
    close(truth->file);
}

static void *run_in_thread(void *truth)
{
    run(truth, by_epoll_wait);
    return NULL;
}

static void threads(void)
{
    struct truth truths[2] = {{0}};
    pthread_t thread[2];
    for (int at = 0; at < 2; at++)
        pthread_create(&thread[at], NULL, run_in_thread, &truths[at]);
    for (int at = 0; at < 2; at++)
        pthread_join(thread[at], NULL);
    printf("events %u\n", truths[0].callbacks + truths[1].callbacks);
}

/* A child goes on with a loop of its own. */
static void forks(void)
{
    struct truth truth = {0};
    run(&truth, by_poll);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        run(&truth, by_poll);
        _exit(truth.callbacks == 2 * EVENTS ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

/* ------------------------------------------------------------------------------------------------ interruptions */

static void ignore(int signal) { (void)signal; }

static void set_handler(void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART; /* which these functions do not heed */
    sigaction(SIGALRM, &action, NULL);
}

static void set_timer(long us)
{
    const struct itimerval every = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &every, NULL);
}

static void interrupted(void)
{
    struct truth truth = {.file = eventfd(0, EFD_CLOEXEC)};
    const int epoll = make_epoll(truth.file);
    set_handler(ignore);
    set_timer(1000);
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
        for (int at = 0; at < 5; at++) {
            errno = 0;
            const int result = ways[way].wait(truth.file, epoll), error = errno;
            printf("%s %d %s\n", ways[way].name, result, error == EINTR ? "EINTR" : strerror(error));
        }
}

static sigjmp_buf out;
static void jump(int signal)
{
    (void)signal;
    siglongjmp(out, 1);
}

static void jumps(void)
{
    struct truth truth = {.file = eventfd(0, EFD_CLOEXEC)};
    static volatile int times;
    set_handler(jump);
    set_timer(1000);
    if (sigsetjmp(out, 1) == 0 || ++times < 20)
        by_poll(truth.file, -1);
    set_timer(0);
    printf("times %d\n", times);
}

static void note_end(void *said) { *(bool *)said = true; }

static void *wait_for_ever(void *said)
{
    pthread_cleanup_push(note_end, said);
    const int file = eventfd(0, EFD_CLOEXEC);
    for (;;)
        by_poll(file, -1);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelled(void)
{
    bool said = false;
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, wait_for_ever, &said);
    truth_pause();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("%s %s\n", result == PTHREAD_CANCELED ? "cancelled" : "returned", said ? "cleaned" : "left");
}

/* Whatever it is not allowed is its death. */
static void confined(void)
{
    const struct timespec soon = {0, 1000000};
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ppoll, 3, 0),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    puts("confined");
    fflush(stdout);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    for (int at = 0; at < 100; at++)
        ppoll(NULL, 0, &soon, NULL);
    _exit(0);
}

/* ------------------------------------------------------------------------------------------------- others */

static void once(void)
{
    struct truth truth = {0};
    truth_begin(&truth);
    printf("%d\n", by_poll(truth.file, -1));
    printf("%d\n", by_poll(truth.file, -1));
}

/* Before main, and before libraries that are loaded later. */
__attribute__((constructor(101))) static void poll_early(void)
{
    struct pollfd none = {.fd = -1};
    if (poll(&none, 1, 0) != 0)
        puts("poll before main failed");
}

static const struct {
    const char *name;
    void (*run)(void);
} others[] = {{"threads", threads},     {"forks", forks}, {"interrupted", interrupted}, {"jumps", jumps},
              {"cancelled", cancelled}, {"once", once},   {"confined", confined}};

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    for (size_t at = 0; at < sizeof ways / sizeof ways[0]; at++)
        if (strcmp(name, ways[at].name) == 0) {
            struct truth truth = {0};
            run(&truth, ways[at].wait);
            truth_tell(&truth);
            return 0;
        }
    for (size_t at = 0; at < sizeof others / sizeof others[0]; at++)
        if (strcmp(name, others[at].name) == 0) {
            others[at].run();
            return 0;
        }
    return 2;
}
