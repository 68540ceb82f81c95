/*
 * The signal that samples come by is the host's as well. What the host sets for it is kept here and obeyed when such a
 * signal comes that is not ours; it never learns that its handler is not the one that is installed. That takes functions in
 * front of the C library's: `sigaction` and `signal`, which do nothing of their own for any other signal, nor for this one while
 * nobody samples. They are in libhotpath, and once more in libhotpath_alloc.so: of a library that is preloaded, those that it needs
 * come behind the C library.
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

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HP_HAS_SANITIZER
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HP_HAS_SANITIZER
#endif
#endif

#if defined __GLIBC__ && !defined HP_HAS_SANITIZER
#define HP_IN_FRONT_OF_SIGNALS
#endif

struct hp_signal_view {
    bool is_taken;
    void (*handler)(int, siginfo_t *, void *); /* that of the copy of the library that took it */
    uint32_t current; /* which of the two actions: a handler may be reading the other one */
    struct sigaction actions[2];
};

typedef void hp_signal_handler(int signal, siginfo_t *info, void *context);
/* Takes the signal for ourselves; what the host has set for it, or sets later, is kept. False: it cannot be had. */
bool hp_signal_view_take(hp_signal_handler *handler);
/* A signal that is not ours: what the host wants to happen. */
void hp_signal_view_pass_on(int signal, siginfo_t *info, void *context);

#ifdef HP_IN_FRONT_OF_SIGNALS
typedef void hp_plain_handler(int signal);
/* What stands in front does. */
HOTPATH_API_ int hotpath_v1_sigaction(int signal, const struct sigaction *action, struct sigaction *before);
HOTPATH_API_ hp_plain_handler *hotpath_v1_signal(int signal, hp_plain_handler *handler);
#endif

#endif
