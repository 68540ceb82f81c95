/*
 * Interposed functions by which event loops wait, in the library that `hotpath run` preloads. They report the start
 * and end of a wait to the recorder, and forward the call unchanged: results, errno, signals and cancellation are
 * those of the C library. A loop is identified by the calling function, the thread, and the epoll descriptor; or by
 * the loop that a library is running (loop_bounds.h). Readers decide whether it is a loop at all: it must wait
 * there repeatedly. SPDX-License-Identifier: MIT
 */
#undef _FORTIFY_SOURCE /* it has its own poll */
#define _GNU_SOURCE 1
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "bound_function.h"
#include "hook_entries.h"
#include "loop_bounds.h"
#include "real_functions.h"

#define INLINED inline __attribute__((always_inline))

/* Missing in some headers: glibc's before 2.35, and musl's. */
#if !defined(__GLIBC__) || __GLIBC__ * 100 + __GLIBC_MINOR__ < 235
HP_PUBLIC int epoll_pwait2(int epoll, struct epoll_event *events, int most, const struct timespec *timeout,
                           const sigset_t *mask);
#endif
HP_PUBLIC int __poll_chk(struct pollfd *files, nfds_t count, int timeout, size_t size);
HP_PUBLIC int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                          size_t size);

/* ------------------------------------------------------------------------------------- the real functions */

static struct {
    HP_BEHIND_US(epoll_wait);
    HP_BEHIND_US(epoll_pwait);
    HP_BEHIND_US(epoll_pwait2);
    HP_BEHIND_US(poll);
    HP_BEHIND_US(ppoll);
    HP_BEHIND_US(__poll_chk);
    HP_BEHIND_US(__ppoll_chk);
    HP_BEHIND_US(select);
    HP_BEHIND_US(pselect);
} next;

static void find_each(void)
{
    HP_FIND(epoll_wait);
    HP_FIND(epoll_pwait);
    HP_FIND(epoll_pwait2);
    HP_FIND(poll);
    HP_FIND(ppoll);
    HP_FIND(select);
    HP_FIND(pselect);
#ifdef __GLIBC__
    HP_FIND(__poll_chk);
    HP_FIND(__ppoll_chk);
#endif
}

__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

#define CALL(name, ...) (HP_IS_THERE(name) ? next.name(__VA_ARGS__) : hp_no_such_function())

/* ------------------------------------------------------------------------------------------------- a wait */

/* The last loop that the thread waited for, and its caller. */
struct latest {
    const void *caller;
    uint32_t closed; /* libraries that had been closed by then */
    struct hotpath_loop_ loop;
};
static __thread struct latest latest __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) void find_loop(struct latest *found, const char *name, const void *caller,
                                                const void *which)
{
    *found = (struct latest){
        caller, HOTPATH_GET_(hp_closed_libraries), {.site = hotpath_v1_loop_site(name, caller), .loop = which}};
    if (found->loop.site == NULL)
        found->caller = NULL; /* looked up again next time */
}

/* The loop that begins to wait; NULL: not recorded. */
static struct hotpath_loop_ *begin(const char *name, const void *caller, uintptr_t stack, const void *which)
{
    struct hotpath_loop_ *loop = &latest.loop;
    if (hp_loop_has(&hp_loop_bounds, caller, stack))
        loop = &hp_loop_bounds.loop;
    else if (__builtin_expect(latest.caller != caller || latest.loop.loop != which ||
                                  latest.closed != HOTPATH_GET_(hp_closed_libraries),
                              0))
        find_loop(&latest, name, caller, which);
    return loop->site != NULL && hotpath_v1_loop_waits(loop) ? loop : NULL;
}

static INLINED bool is_recorded(void) { return HOTPATH_GET_(hotpath_v1_context->skip) == 0; }

/* A macro, so that the return address is in the program's code. A copy, since a handler may wait meanwhile. */
#define WAIT_AS(text, name, which, ...)                                                                            \
    struct hotpath_loop_ *loop = NULL, copy;                                                                       \
    if (__builtin_expect(!HP_IS_THERE(name), 0))                                                                   \
        find_next();                                                                                               \
    if (is_recorded() && (loop = begin(text, __builtin_return_address(0), HP_STACK_PLACE(), which)) != NULL)       \
        copy = *loop;                                                                                              \
    const int result = CALL(name, __VA_ARGS__);                                                                    \
    if (loop != NULL)                                                                                              \
        hotpath_v1_loop_woke(&copy, result > 0 ? (uint64_t)result : 0);                                            \
    return result
#define WAIT(name, ...) WAIT_AS(#name, name, __VA_ARGS__)

/* Neither NULL nor an address. */
static INLINED const void *loop_of(int epoll) { return (const void *)((uintptr_t)(unsigned)epoll + 1); }

/* ------------------------------------------------------------------------------------------------- epoll */

HP_PUBLIC int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    WAIT(epoll_wait, loop_of(epoll), epoll, events, most, timeout);
}

HP_PUBLIC int epoll_pwait(int epoll, struct epoll_event *events, int most, int timeout, const sigset_t *mask)
{
    WAIT(epoll_pwait, loop_of(epoll), epoll, events, most, timeout, mask);
}

HP_PUBLIC int epoll_pwait2(int epoll, struct epoll_event *events, int most, const struct timespec *timeout,
                           const sigset_t *mask)
{
    WAIT(epoll_pwait2, loop_of(epoll), epoll, events, most, timeout, mask);
}

/* ------------------------------------------------------------------------------------------------- poll */

HP_PUBLIC int poll(struct pollfd *files, nfds_t count, int timeout) { WAIT(poll, NULL, files, count, timeout); }

HP_PUBLIC int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    WAIT(ppoll, NULL, files, count, timeout, mask);
}

#ifdef __GLIBC__
HP_PUBLIC int __poll_chk(struct pollfd *files, nfds_t count, int timeout, size_t size)
{
    WAIT_AS("poll", __poll_chk, NULL, files, count, timeout, size);
}

HP_PUBLIC int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                          size_t size)
{
    WAIT_AS("ppoll", __ppoll_chk, NULL, files, count, timeout, mask, size);
}
#endif

/* ------------------------------------------------------------------------------------------------- select */

HP_PUBLIC int select(int count, fd_set *readable, fd_set *writable, fd_set *other, struct timeval *timeout)
{
    WAIT(select, NULL, count, readable, writable, other, timeout);
}

HP_PUBLIC int pselect(int count, fd_set *readable, fd_set *writable, fd_set *other, const struct timespec *timeout,
                      const sigset_t *mask)
{
    WAIT(pselect, NULL, count, readable, writable, other, timeout, mask);
}

/* ------------------------------------------------------------------------------------------------- io_uring */

/*
 * Functions of liburing, which is not part of the C library: it may be missing, or be loaded and unloaded later.
 * io_uring_wait_cqe and its siblings are inline, and call the first of these if nothing has completed yet. A
 * request that does not block is not a wait. They return negative error codes and leave errno alone; the ring
 * identifies the loop.
 */
HP_LIBRARY_HOOK(int, __io_uring_get_cqe,
                (void *ring, void **completion, unsigned submitted, unsigned count, sigset_t *mask));
HP_LIBRARY_HOOK(int, io_uring_wait_cqes,
                (void *ring, void **completion, unsigned count, void *timeout, sigset_t *mask));
HP_LIBRARY_HOOK(int, io_uring_wait_cqe_timeout, (void *ring, void **completion, void *timeout));
HP_LIBRARY_HOOK(int, io_uring_submit_and_wait, (void *ring, unsigned count));
HP_LIBRARY_HOOK(int, io_uring_submit_and_wait_timeout,
                (void *ring, void **completion, unsigned count, void *timeout, sigset_t *mask));

/* A macro, as above. */
#define RING_WAIT(text, name, count, ...)                                                                          \
    static struct hp_bound_function hooked = HP_BOUND(#name);                                                      \
    struct hotpath_loop_ *loop = NULL, copy;                                                                       \
    struct hp_loaded_function found;                                                                               \
    const bool is_there = hp_bound_find(&hooked, __builtin_return_address(0), ring, &found);                       \
    if ((count) > 0 && is_recorded() &&                                                                            \
        (loop = begin(text, __builtin_return_address(0), HP_STACK_PLACE(), ring)) != NULL)                         \
        copy = *loop;                                                                                              \
    const int result = is_there ? ((__typeof__(hook_##name) *)found.address)(__VA_ARGS__) : -ENOSYS;               \
    if (loop != NULL)                                                                                              \
        hotpath_v1_loop_woke(&copy, result >= 0 ? (count) : 0);                                                    \
    return result

int hook___io_uring_get_cqe(void *ring, void **completion, unsigned submitted, unsigned count, sigset_t *mask)
{
    RING_WAIT("io_uring_wait_cqe", __io_uring_get_cqe, count, ring, completion, submitted, count, mask);
}

int hook_io_uring_wait_cqes(void *ring, void **completion, unsigned count, void *timeout, sigset_t *mask)
{
    RING_WAIT("io_uring_wait_cqes", io_uring_wait_cqes, count, ring, completion, count, timeout, mask);
}

int hook_io_uring_wait_cqe_timeout(void *ring, void **completion, void *timeout)
{
    RING_WAIT("io_uring_wait_cqe_timeout", io_uring_wait_cqe_timeout, 1u, ring, completion, timeout);
}

int hook_io_uring_submit_and_wait(void *ring, unsigned count)
{
    RING_WAIT("io_uring_submit_and_wait", io_uring_submit_and_wait, count, ring, count);
}

int hook_io_uring_submit_and_wait_timeout(void *ring, void **completion, unsigned count, void *timeout,
                                          sigset_t *mask)
{
    RING_WAIT("io_uring_submit_and_wait_timeout", io_uring_submit_and_wait_timeout, count, ring, completion, count,
              timeout, mask);
}

HP_LIBRARY_HOOK_TOO(__io_uring_get_cqe, "LIBURING_2.0");
HP_LIBRARY_HOOK_TOO(io_uring_wait_cqes, "LIBURING_2.0");
HP_LIBRARY_HOOK_TOO(io_uring_wait_cqe_timeout, "LIBURING_2.0");
HP_LIBRARY_HOOK_TOO(io_uring_submit_and_wait, "LIBURING_2.0");
HP_LIBRARY_HOOK_TOO(io_uring_submit_and_wait_timeout, "LIBURING_2.2");
