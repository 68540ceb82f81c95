/* Functions that wait until a descriptor is ready: see hooked.c. */
#include "hooked.h"

#include <sys/epoll.h>
#include <sys/select.h>

/* Waits for a descriptor to be readable, or for none (-1). `ms` < 0: for ever. `mask`: of signals, or NULL. */
typedef long wait_function(int fd, int ms, const sigset_t *mask);

static struct timespec *time_of(int ms, struct timespec *time)
{
    *time = (struct timespec){ms / 1000, ms % 1000 * 1000000};
    return ms < 0 ? NULL : time;
}

static long by_poll(int fd, int ms, const sigset_t *mask)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    (void)mask;
    const long ready = poll(&wanted, fd >= 0, ms);
    return ready > 0 ? 100 + wanted.revents : ready;
}

static long by_ppoll(int fd, int ms, const sigset_t *mask)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    struct timespec time;
    const long ready = ppoll(&wanted, fd >= 0, time_of(ms, &time), mask);
    return ready > 0 ? 100 + wanted.revents : ready;
}

#ifdef __GLIBC__
extern int __poll_chk(struct pollfd *wanted, nfds_t count, int ms, size_t room);
extern int __ppoll_chk(struct pollfd *wanted, nfds_t count, const struct timespec *time, const sigset_t *mask,
                       size_t room);

static long by_poll_chk(int fd, int ms, const sigset_t *mask)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    (void)mask;
    const long ready = __poll_chk(&wanted, fd >= 0, ms, sizeof wanted);
    return ready > 0 ? 100 + wanted.revents : ready;
}

static long by_ppoll_chk(int fd, int ms, const sigset_t *mask)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    struct timespec time;
    const long ready = __ppoll_chk(&wanted, fd >= 0, time_of(ms, &time), mask, sizeof wanted);
    return ready > 0 ? 100 + wanted.revents : ready;
}
#endif

static long by_select(int fd, int ms, const sigset_t *mask)
{
    fd_set wanted;
    struct timeval time = {ms / 1000, ms % 1000 * 1000};
    (void)mask;
    FD_ZERO(&wanted);
    if (fd >= 0)
        FD_SET((unsigned)fd, &wanted);
    const long ready = select(fd + 1, &wanted, NULL, NULL, ms < 0 ? NULL : &time);
    const bool is_over = ms >= 0 && time.tv_sec == 0 && time.tv_usec == 0; /* the kernel says how much is left */
    return ready > 0 ? 100 + (FD_ISSET((unsigned)fd, &wanted) != 0) : ready == 0 ? 10 + is_over : ready;
}

static long by_pselect(int fd, int ms, const sigset_t *mask)
{
    fd_set wanted;
    struct timespec time;
    FD_ZERO(&wanted);
    if (fd >= 0)
        FD_SET((unsigned)fd, &wanted);
    const long ready = pselect(fd + 1, &wanted, NULL, NULL, time_of(ms, &time), mask);
    return ready > 0 ? 100 + (FD_ISSET((unsigned)fd, &wanted) != 0) : ready;
}

enum way { WAIT, PWAIT, PWAIT2 };

static long by_epoll(int fd, int ms, const sigset_t *mask, enum way way)
{
    struct epoll_event wanted = {.events = EPOLLIN, .data.u64 = 77}, found = {.events = 0};
    struct timespec time;
    const int set = epoll_create1(EPOLL_CLOEXEC);
    long ready = 0;
    MUST(set >= 0);
    if (fd < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &wanted) == 0) {
        errno = UNTOUCHED;
#ifdef __GLIBC__
        if (way == PWAIT2)
            ready = epoll_pwait2(set, &found, 1, time_of(ms, &time), mask);
#endif
        if (way == PWAIT)
            ready = epoll_pwait(set, &found, 1, ms, mask);
        if (way == WAIT)
            ready = epoll_wait(set, &found, 1, ms);
    } else
        ready = -2;
    (void)time;
    const int saved = errno;
    close(set);
    errno = saved;
    return ready > 0 ? 100 + (found.data.u64 == 77) : ready;
}

static long by_epoll_wait(int fd, int ms, const sigset_t *mask) { return by_epoll(fd, ms, mask, WAIT); }
static long by_epoll_pwait(int fd, int ms, const sigset_t *mask) { return by_epoll(fd, ms, mask, PWAIT); }
#ifdef __GLIBC__
static long by_epoll_pwait2(int fd, int ms, const sigset_t *mask) { return by_epoll(fd, ms, mask, PWAIT2); }
#endif

static const struct function {
    const char *name;
    wait_function *run;
    bool has_mask;
} functions[] = {
    {"poll", by_poll, false},
    {"ppoll", by_ppoll, true},
    {"select", by_select, false},
    {"pselect", by_pselect, true},
    {"epoll_wait", by_epoll_wait, false},
    {"epoll_pwait", by_epoll_pwait, true},
#ifdef __GLIBC__
    {"epoll_pwait2", by_epoll_pwait2, true},
    {"__poll_chk", by_poll_chk, false},
    {"__ppoll_chk", by_ppoll_chk, true},
#endif
};

static volatile sig_atomic_t handled;

static void on_usr1(int number)
{
    (void)number;
    handled++;
}

/* A signal is pending and blocked; it arrives in the call, whose mask lets it. */
static void tell_mask(const struct function *function, int fd)
{
    const struct sigaction action = {.sa_handler = on_usr1};
    sigset_t some, none, now;
    sigemptyset(&none);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    handled = 0;
    MUST(sigaction(SIGUSR1, &action, NULL) == 0 && sigprocmask(SIG_BLOCK, &some, NULL) == 0);
    MUST(raise(SIGUSR1) == 0);
    TELL(function->name, "a pending signal that its mask lets through", function->run(fd, 1000, &none));
    TELL(function->name, "was handled", handled);
    MUST(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
    TELL(function->name, "the mask is as before", sigismember(&now, SIGUSR1));
    MUST(sigprocmask(SIG_UNBLOCK, &some, NULL) == 0);
}

static long wait_call(const struct hooked_call *call)
{
    const struct function *function = call->what;
    return function->run(call->fd, -1, NULL);
}

/* Ready at once. */
static long wait_for_own(const struct hooked_call *call)
{
    const struct function *function = call->what;
    int ends[2];
    MUST(pipe(ends) == 0 && syscall(SYS_write, ends[1], "x", 1) == 1);
    const long result = function->run(ends[0], -1, NULL);
    close(ends[0]);
    close(ends[1]);
    return result > 100;
}

static void tell_errors(void)
{
    struct epoll_event event;
    struct timespec bad = {0, -1};
    struct timeval late = {0, -1};
    void *volatile nowhere = (void *)8;
    TELL("poll", "a bad address", poll((struct pollfd *)nowhere, 1, 0));
    TELL("ppoll", "a bad time", ppoll(NULL, 0, &bad, NULL));
    TELL("select", "a bad time", select(0, NULL, NULL, NULL, &late));
    TELL("select", "a bad count", select(-1, NULL, NULL, NULL, NULL));
    TELL("pselect", "a bad time", pselect(0, NULL, NULL, NULL, &bad, NULL));
    TELL("epoll_wait", "no descriptor", epoll_wait(-1, &event, 1, 0));
    TELL("epoll_wait", "not such a descriptor", epoll_wait(0, &event, 1, 0));
    TELL("epoll_pwait", "no descriptor", epoll_pwait(-1, &event, 1, 0, NULL));
}

static void tell_one(const struct function *function)
{
    int ends[2], other[2];
    MUST(pipe(ends) == 0 && pipe(other) == 0);
    const struct hooked_call wait = {.run = wait_call, .what = function, .fd = ends[0]};
    TELL(function->name, "nothing, at once", function->run(-1, 0, NULL));
    TELL(function->name, "not ready, at once", function->run(ends[0], 0, NULL));
    TELL(function->name, "not ready in time", function->run(ends[0], 3, NULL));
    hooked_tell_cancelled(function->name, &wait);
    hooked_disturb(0, -1);
    TELL(function->name, "interrupted", function->run(ends[0], -1, NULL));
    hooked_calm();
    hooked_disturb(SA_RESTART, ends[1]);
    TELL(function->name, "interrupted, even if others restart", function->run(ends[0], -1, NULL));
    hooked_calm();
    if (function->has_mask)
        tell_mask(function, other[0]);
    MUST(syscall(SYS_write, ends[1], "x", 1) == 1);
    TELL(function->name, "ready", function->run(ends[0], -1, NULL));
    close(ends[1]);
    close(other[1]);
    TELL(function->name, "the other end is closed", function->run(other[0], -1, NULL));
    close(ends[0]);
    close(other[0]);
    TELL(function->name, "closed", function->run(ends[0], 0, NULL));
}

void hooked_waits(bool is_crowd)
{
    if (!is_crowd)
        tell_errors();
    for (size_t at = 0; at < sizeof functions / sizeof functions[0]; at++) {
        const struct hooked_call own = {.run = wait_for_own, .what = &functions[at]};
        if (!is_crowd) {
            tell_one(&functions[at]);
            hooked_tell_forked(functions[at].name, "in a child", &own);
        }
        hooked_tell_together(functions[at].name, &own);
    }
}
