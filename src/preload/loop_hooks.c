/*
 * Interposed functions by which event loops wait, in the library that `hotpath run` preloads. They report the start
 * and end of a wait to the recorder, and forward the call unchanged: results, errno, signals and cancellation are
 * those of the C library. A loop is identified by the calling function, the thread, and the epoll descriptor; or by
 * the loop that a library is running. Readers decide whether it is a loop at all: it must wait there repeatedly.
 * SPDX-License-Identifier: MIT
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

#include "hook_entries.h"
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

/* ------------------------------------------------------------------------- the loop that a library is running */

/* Waits called by that library meanwhile belong to this loop. */
struct loop_bounds {
    struct hotpath_loop_ loop;      /* without a site: no loop */
    uintptr_t stack;                /* stack address of the call: a jump may have left it */
    struct hp_loaded_range library; /* its code */
};

static __thread struct loop_bounds present_loop __attribute__((tls_model("initial-exec")));

/* Whether a wait called from there belongs to the loop. */
static inline bool is_within(const struct loop_bounds *bounds, const void *caller, uintptr_t stack)
{
    return bounds->loop.site != NULL && hp_loaded_has(&bounds->library, (uintptr_t)caller) && stack < bounds->stack;
}

/* ------------------------------------------------------------------------------------- the real functions */

/* clang-format off */
#ifdef __GLIBC__
#define FORTIFIED(DO) DO(__poll_chk) DO(__ppoll_chk)
#else
#define FORTIFIED(DO)
#endif
#define EACH(DO, AS)                                                                                               \
    DO(epoll_wait) DO(epoll_pwait) DO(epoll_pwait2) DO(poll) DO(ppoll) FORTIFIED(DO) DO(select) DO(pselect)
/* clang-format on */
HP_REAL_FUNCTIONS(EACH)

__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

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
    if (is_within(&present_loop, caller, stack))
        loop = &present_loop.loop;
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
    HP_NEED(name);                                                                                                 \
    if (is_recorded() && (loop = begin(text, __builtin_return_address(0), HP_STACK_PLACE(), which)) != NULL)       \
        copy = *loop;                                                                                              \
    const int result = HP_CALL(name, __VA_ARGS__);                                                                 \
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

/* --------------------------------------------------------------------------------- loops that libraries run */

/*
 * Interposed functions by which libraries run event loops, in the library that `hotpath run` preloads. They tell
 * when a loop begins and ends: what a program does between two runs is not a turn. They also give the loop its
 * name, and join all its waits into one loop, whichever function waits.
 *
 * A call goes to the function that its caller is bound to (real_functions.h).
 */

/* As in their headers, which are not needed to build us. */
HP_LIBRARY_HOOK(int, uv_run, (void *loop, int mode));
HP_LIBRARY_HOOK(int, event_base_loop, (void *base, int flags));
HP_LIBRARY_HOOK(int, event_base_dispatch, (void *base));
HP_LIBRARY_HOOK(int, ev_run, (void *loop, int flags));
HP_LIBRARY_HOOK(void, g_main_loop_run, (void *loop));
HP_LIBRARY_HOOK(int, g_main_context_iteration, (void *context, int may_block));

/* A function that runs loops. */
struct runner {
    struct hp_bound_function hooked;
    struct hotpath_site *site;
    bool is_one_turn; /* it waits first: what comes before that is not a turn */
};

#define SITE(name_, function_, library)                                                                            \
    {                                                                                                              \
        .id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_OBJECT_, .name = (name_), .function = (function_),             \
        .file = (library)                                                                                          \
    }

static struct hotpath_site libuv = SITE("libuv: uv_run", "uv_run", "libuv");
static struct hotpath_site libevent = SITE("libevent: event_base_loop", "event_base_loop", "libevent");
static struct hotpath_site libev = SITE("libev: ev_run", "ev_run", "libev");
static struct hotpath_site glib = SITE("glib: g_main_loop", "g_main_loop_run", "glib");
static struct hotpath_site glib_turns = SITE("glib: g_main_context_iteration", "g_main_context_iteration", "glib");

static struct runner hooked_uv_run = {{.name = "uv_run"}, &libuv, false};
static struct runner hooked_event_base_loop = {{.name = "event_base_loop"}, &libevent, false};
static struct runner hooked_event_base_dispatch = {{.name = "event_base_dispatch"}, &libevent, false};
static struct runner hooked_ev_run = {{.name = "ev_run"}, &libev, false};
static struct runner hooked_g_main_loop_run = {{.name = "g_main_loop_run"}, &glib, false};
static struct runner hooked_g_main_context_iteration = {{.name = "g_main_context_iteration"}, &glib_turns, true};

/* ------------------------------------------------------------------------------------------------- a run */

struct run {
    uintptr_t next; /* the real function; 0: none */
    bool is_inner;  /* one function calls the other: the loop runs already */
    struct hotpath_site *site;
    const void *loop;
    struct loop_bounds before; /* the enclosing loop */
};

static void begin_run(struct run *run, struct runner *runner, const void *loop, const void *caller, uintptr_t stack)
{
    struct loop_bounds *bounds = &present_loop;
    struct hp_loaded_function found;
    run->next = hp_bound_find(&runner->hooked, caller, loop, &found) ? found.address : 0;
    run->is_inner =
        run->next == 0 || (bounds->loop.site == runner->site && bounds->loop.loop == loop && stack < bounds->stack);
    if (run->is_inner)
        return;
    run->site = runner->site;
    run->loop = loop;
    run->before = *bounds;
    *bounds = (struct loop_bounds){{.site = runner->site, .loop = loop}, stack, found.library};
    if (!runner->is_one_turn)
        hotpath_v1_loop_begin(runner->site, loop);
}

static void end_run(const struct run *run)
{
    if (run->is_inner)
        return;
    hotpath_v1_loop_end(run->site, run->loop);
    present_loop = run->before;
}

/* A macro, so that the return address is the caller's. */
#define RUN(name, loop)                                                                                            \
    struct run run;                                                                                                \
    begin_run(&run, &hooked_##name, loop, __builtin_return_address(0), HP_STACK_PLACE())
#define NEXT(name) ((__typeof__(hook_##name) *)run.next)

int hook_uv_run(void *loop, int mode)
{
    RUN(uv_run, loop);
    const int result = run.next != 0 ? NEXT(uv_run)(loop, mode) : 0;
    end_run(&run);
    return result;
}

int hook_event_base_loop(void *base, int flags)
{
    RUN(event_base_loop, base);
    const int result = run.next != 0 ? NEXT(event_base_loop)(base, flags) : -1;
    end_run(&run);
    return result;
}

int hook_event_base_dispatch(void *base)
{
    RUN(event_base_dispatch, base);
    const int result = run.next != 0 ? NEXT(event_base_dispatch)(base) : -1;
    end_run(&run);
    return result;
}

int hook_ev_run(void *loop, int flags)
{
    RUN(ev_run, loop);
    const int result = run.next != 0 ? NEXT(ev_run)(loop, flags) : 0;
    end_run(&run);
    return result;
}

void hook_g_main_loop_run(void *loop)
{
    RUN(g_main_loop_run, loop);
    if (run.next != 0)
        NEXT(g_main_loop_run)(loop);
    end_run(&run);
}

int hook_g_main_context_iteration(void *context, int may_block)
{
    RUN(g_main_context_iteration, context);
    const int result = run.next != 0 ? NEXT(g_main_context_iteration)(context, may_block) : 0;
    end_run(&run);
    return result;
}
