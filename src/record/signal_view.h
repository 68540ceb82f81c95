/*
 * The signal that samples come by is the host's as well. What the host sets for it is kept here and obeyed when such a
 * signal comes that is not ours; it never learns that its handler is not the one that is installed. That takes functions in
 * front of the C library's: `sigaction`, `signal` and its older kin, `pthread_sigmask` and `sigprocmask`, which do nothing of their
 * own for any other signal, nor for this one while nobody samples. They are in libhotpath, and once more in
 * libhotpath_alloc.so: of a library that is preloaded, those that it needs come behind the C library. They are weak, so that a host
 * may have functions of these names.
 *
 * Blocked. A thread that blocks the signal could not be sampled, and `sigwait` or a signalfd for all signals would find our
 * samples. Programs that leave all signals to one thread do that in all others, mostly without this one in mind. So where the host has no
 * handler for the signal, a thread that is sampled has it unblocked in truth: the host has lent it to us. When one comes that is not
 * ours, it is sent once more after the thread that found it has blocked it and given up its samples: it then finds the thread
 * that waits for it, or stays pending, as the host would have it. From then on nothing is borrowed. Where the host has a
 * handler, threads that block the signal have no source of samples until they let it through: `sigpending` would show them, and
 * `sigwait` or `ppoll` find them. What they use is counted all the same, as of where they were found last. A thread that has lent the
 * signal before the host set its handler gets it back with its next sample or change of its mask.
 *
 * Not ignored. While samples are taken the signal is caught. Where the host ignores it, as by default, one that somebody else
 * sends does nothing but can cut short what no handler lets go on: `nanosleep`, `poll` and their like. The kernel has no third
 * way: what is caught interrupts.
 *
 * A child made by vfork has its parent's memory and signals of its own: what it sets goes to the kernel alone.
 *
 * Not in front of musl's, which has no other names for what they hide, nor of a sanitizer's. There, a host that takes the
 * signal while samples are taken gets them. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_SIGNAL_VIEW_H
#define HP_RECORD_SIGNAL_VIEW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "hotpath.h"
#include "signals.h"

#ifdef HP_HAS_SANITIZER /* the build knows */
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || defined __SANITIZE_HWADDRESS__
#define HP_HAS_SANITIZER
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) ||      \
    __has_feature(hwaddress_sanitizer)
#define HP_HAS_SANITIZER
#endif
#endif

#if defined __GLIBC__ && !defined HP_HAS_SANITIZER
#define HP_IN_FRONT_OF_SIGNALS
#endif

struct hp_signal_view {
    bool is_taken;
    bool is_borrowed;   /* a thread may have the signal unblocked that the host believes to have blocked */
    bool is_given_back; /* nothing is borrowed any more */
    uint32_t process;   /* whose signals these are */
    void (*handler)(int, siginfo_t *, void *); /* that of the copy of the library that took it */
    struct sigaction action;                   /* the host's */
};

typedef void hp_signal_handler(int signal, siginfo_t *info, void *context);
/* Takes the signal for ourselves; what the host has set for it, or sets later, is kept. False: it cannot be had. Under the lock. */
bool hp_signal_view_take(hp_signal_handler *handler);
/* Lets the signal through once held signals are released, if they have it blocked and it may be borrowed. Under the lock. */
bool hp_signal_view_lend(struct hp_signals *held);
/* Whether held signals leave it blocked once they are released. */
bool hp_signal_view_is_blocked(const struct hp_signals *held);
/* Whether the host has a handler of its own: then nothing is borrowed. */
bool hp_signal_view_has_handler(void);
/* What a handler has interrupted goes on with the signal blocked. */
void hp_signal_view_block_in(void *context);
/* Takes away samples that wait for the calling thread; what others have sent stays. Signals are held. */
void hp_signal_view_drop_samples(void);
/* A signal that is not ours: what the host wants to happen. */
void hp_signal_view_pass_on(int signal, siginfo_t *info, void *context);

#ifdef HP_IN_FRONT_OF_SIGNALS
typedef void hp_plain_handler(int signal);
/* What stands in front does. */
HOTPATH_API_ int hotpath_v1_sigaction(int signal, const struct sigaction *action, struct sigaction *before);
HOTPATH_API_ hp_plain_handler *hotpath_v1_signal(int signal, hp_plain_handler *handler);
HOTPATH_API_ hp_plain_handler *hotpath_v1_sysv_signal(int signal, hp_plain_handler *handler);
HOTPATH_API_ int hotpath_v1_sigmask(int how, const sigset_t *set, sigset_t *before); /* 0, or an errno */

/* Defines what stands in front, in a library that has it. */
#define HP_SIGNALS_FRONT(type) __attribute__((weak)) HOTPATH_API_ type
#define HP_DEFINE_SIGNALS_FRONT                                                                                    \
    HP_SIGNALS_FRONT(int) sigaction(int signal, const struct sigaction *action, struct sigaction *before)          \
    {                                                                                                              \
        return hotpath_v1_sigaction(signal, action, before);                                                       \
    }                                                                                                              \
    HP_SIGNALS_FRONT(hp_plain_handler *) signal(int number, hp_plain_handler *handler)                             \
    {                                                                                                              \
        return hotpath_v1_signal(number, handler);                                                                 \
    }                                                                                                              \
    HP_SIGNALS_FRONT(hp_plain_handler *) bsd_signal(int number, hp_plain_handler *handler)                         \
    {                                                                                                              \
        return hotpath_v1_signal(number, handler);                                                                 \
    }                                                                                                              \
    /* What `signal` is in programs of plain C, such as with -std=c11. */                                          \
    HP_SIGNALS_FRONT(hp_plain_handler *) __sysv_signal(int number, hp_plain_handler *handler)                      \
    {                                                                                                              \
        return hotpath_v1_sysv_signal(number, handler);                                                            \
    }                                                                                                              \
    HP_SIGNALS_FRONT(hp_plain_handler *) sysv_signal(int number, hp_plain_handler *handler)                        \
    {                                                                                                              \
        return hotpath_v1_sysv_signal(number, handler);                                                            \
    }                                                                                                              \
    HP_SIGNALS_FRONT(int) pthread_sigmask(int how, const sigset_t *set, sigset_t *before)                          \
    {                                                                                                              \
        return hotpath_v1_sigmask(how, set, before);                                                               \
    }                                                                                                              \
    HP_SIGNALS_FRONT(int) sigprocmask(int how, const sigset_t *set, sigset_t *before)                              \
    {                                                                                                              \
        const int error = hotpath_v1_sigmask(how, set, before);                                                    \
        if (error != 0)                                                                                            \
            errno = error;                                                                                         \
        return error != 0 ? -1 : 0;                                                                                \
    }
/* NOLINTBEGIN(readability-redundant-declaration): only some standards have them */
extern hp_plain_handler *bsd_signal(int number, hp_plain_handler *handler);
extern hp_plain_handler *__sysv_signal(int number, hp_plain_handler *handler);
extern hp_plain_handler *sysv_signal(int number, hp_plain_handler *handler);
/* NOLINTEND(readability-redundant-declaration) */
#endif

#endif
