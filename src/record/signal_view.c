/*
 * The signal that samples come by is the host's as well. What the host sets for it is kept here and obeyed when such a
 * signal comes that is not ours; it never learns that its handler is not the one that is installed. That takes functions in
 * front of the C library's: `sigaction` and `signal`, which do nothing of their own for any other signal, nor for this one while
 * nobody samples.
 *
 * Not in front of musl's, which has no other names for what they hide, nor of a sanitizer's. There, a host that takes the signal while
 * samples are taken gets them. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* sighandler_t */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "runtime.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HP_HAS_SANITIZER
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HP_HAS_SANITIZER
#endif
#endif

#if defined __GLIBC__ && !defined HP_HAS_SANITIZER
#define HP_IN_FRONT
extern int __sigaction(int signal, const struct sigaction *action, struct sigaction *before);
extern sighandler_t ssignal(int signal, sighandler_t handler);
#define next_sigaction __sigaction
#else
#define next_sigaction sigaction
#endif

static struct hp_signal_view *view(void) { return &hp_runtime->signal_view; }

static bool is_taken(void) { return hp_runtime != NULL && __atomic_load_n(&view()->is_taken, __ATOMIC_ACQUIRE); }

static struct sigaction current_action(void)
{
    return view()->actions[__atomic_load_n(&view()->current, __ATOMIC_ACQUIRE) & 1];
}

/* Written beside, then made current: a handler that reads meanwhile has the one before, whole. */
static void set_action(const struct sigaction *action)
{
    const uint32_t next = (view()->current + 1) & 1;
    view()->actions[next] = *action;
    __atomic_store_n(&view()->current, next, __ATOMIC_RELEASE);
}

bool hp_signal_view_take(hp_signal_handler *handler)
{
    struct sigaction ours, before;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handler;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    if (next_sigaction(HP_CPU_SIGNAL, NULL, &before) != 0)
        return false;
    if (is_taken() && (before.sa_flags & SA_SIGINFO) && before.sa_sigaction == view()->handler)
        return true;
    set_action(&before);
    if (next_sigaction(HP_CPU_SIGNAL, &ours, NULL) != 0)
        return false;
    view()->handler = handler;
    __atomic_store_n(&view()->is_taken, true, __ATOMIC_RELEASE);
    return true;
}

/* The mask that the host's handler expects: what was blocked before, what it asks for, and the signal itself. */
static void use_mask_of(const struct sigaction *action, int signal, const void *context)
{
    const ucontext_t *interrupted = context;
    sigset_t mask = interrupted->uc_sigmask;
    for (int each = 1; each < 65; each++)
        if (sigismember(&action->sa_mask, each) == 1)
            sigaddset(&mask, each);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, signal);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void hp_signal_view_pass_on(int signal, siginfo_t *info, void *context)
{
    const struct sigaction action = current_action();
    if (!(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN))
        return; /* which are the same for this signal */
    if ((uint32_t)action.sa_flags & (uint32_t)SA_RESETHAND) {
        struct sigaction usual;
        memset(&usual, 0, sizeof usual);
        usual.sa_handler = SIG_DFL;
        set_action(&usual);
    }
    use_mask_of(&action, signal, context);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
}

#ifdef HP_IN_FRONT

/* ------------------------------------------------------------------------------------- in front of the C library */

static void exchange(const struct sigaction *action, struct sigaction *ret_before)
{
    struct hp_signals held;
    const bool is_locked = hp_lock(&held);
    const struct sigaction before = current_action();
    if (action != NULL)
        set_action(action);
    if (ret_before != NULL)
        *ret_before = before;
    if (is_locked)
        hp_unlock(&held);
}

__attribute__((visibility("default"))) int sigaction(int signal, const struct sigaction *action,
                                                     struct sigaction *before)
{
    if (signal != HP_CPU_SIGNAL || !is_taken())
        return __sigaction(signal, action, before);
    exchange(action, before);
    return 0;
}

__attribute__((visibility("default"))) sighandler_t signal(int signal, sighandler_t handler)
{
    struct sigaction action, before;
    if (signal != HP_CPU_SIGNAL || handler == SIG_ERR || !is_taken())
        return ssignal(signal, handler);
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    exchange(&action, &before);
    return before.sa_handler;
}

#endif
