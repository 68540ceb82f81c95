/* Shared by the parts of `hooked`: lines of results, signals, cancelled threads and children around a call. */
#ifndef HOOKED_H
#define HOOKED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition)                                                                                            \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, strerror(errno));                  \
            _exit(99);                                                                                             \
        }                                                                                                          \
    } while (0)

/* No call sets errno to this: it was left alone. */
#define UNTOUCHED 7777

/* "read, end of file: 0 -" */
void hooked_tell(const char *function, const char *situation, long result, int error);
#define TELL(function, situation, ...)                                                                             \
    do {                                                                                                           \
        errno = UNTOUCHED;                                                                                         \
        const long result_ = (long)(__VA_ARGS__);                                                                  \
        hooked_tell(function, situation, result_, errno);                                                          \
    } while (0)

/* A timer that signals every millisecond until hooked_calm; `feed` >= 0: the fifth signal writes a byte there. */
void hooked_disturb(int flags, int feed);
void hooked_calm(void);

/* A call, with what it needs. */
struct hooked_call {
    long (*run)(const struct hooked_call *call);
    const void *what;
    int fd;
};
static inline long hooked_run(const struct hooked_call *call) { return call->run(call); }

/* The call waits for ever, on a thread that is cancelled. */
void hooked_tell_cancelled(const char *function, const struct hooked_call *call);
/* The call is made by a child, whose exit status is its result; a signal is its number negated. */
void hooked_tell_forked(const char *function, const char *situation, const struct hooked_call *call);
/* Four threads make it 50 times each, all at once: the sum of the results. */
void hooked_tell_together(const char *function, const struct hooked_call *call);

/* `is_crowd`: only on four threads at once. */
void hooked_transfers(bool is_crowd);
void hooked_waits(bool is_crowd);
void hooked_streams(bool is_crowd);

#endif
