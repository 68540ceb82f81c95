/* What the host believes to have done about the signal in use. SPDX-License-Identifier: MIT */
#include "signal_view.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "runtime.h"

#ifdef HP_IN_FRONT_OF_SIGNALS
/* Other names of the C library's for the same. */
extern int __sigaction(int signal, const struct sigaction *action, struct sigaction *before);
extern hp_plain_handler *ssignal(int signal, hp_plain_handler *handler);
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

#ifdef HP_IN_FRONT_OF_SIGNALS

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

int hotpath_v1_sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    if (signal != HP_CPU_SIGNAL || !is_taken())
        return __sigaction(signal, action, before);
    exchange(action, before);
    return 0;
}

hp_plain_handler *hotpath_v1_signal(int signal, hp_plain_handler *handler)
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

HOTPATH_API_ int sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    return hotpath_v1_sigaction(signal, action, before);
}

HOTPATH_API_ hp_plain_handler *signal(int number, hp_plain_handler *handler)
{
    return hotpath_v1_signal(number, handler);
}

#endif
