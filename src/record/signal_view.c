/* What the host believes to have done about the signal in use. SPDX-License-Identifier: MIT */
#include "signal_view.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "runtime.h"
#include "sys.h"

#ifdef HP_IN_FRONT_OF_SIGNALS
/* Other names of the C library's for the same. */
extern int __sigaction(int signal, const struct sigaction *action, struct sigaction *before);
/* NOLINTNEXTLINE(readability-redundant-declaration): only some standards have it */
extern hp_plain_handler *ssignal(int signal, hp_plain_handler *handler);
#define next_sigaction __sigaction
#else
#define next_sigaction sigaction
#endif

#define SIGNAL_BIT (UINT64_C(1) << (HP_CPU_SIGNAL - 1))

static struct hp_signal_view *view(void) { return &hp_runtime->signal_view; }

static bool is_taken(void) { return hp_runtime != NULL && __atomic_load_n(&view()->is_taken, __ATOMIC_ACQUIRE); }

/* Ignoring the signal is what is done by default. SA_SIGINFO may be set all the same. */
static bool has_handler(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static bool is_installed(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == view()->handler;
}

/*
 * Our handler, with all signals held in it, the C library's own included. Whether system calls go on after the host's signals, and
 * on which stack they are handled, is as the host has it.
 */
static bool install(hp_signal_handler *handler)
{
    const struct sigaction *host = &view()->action;
    const int usual = SA_RESTART | SA_ONSTACK;
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    ours.sa_sigaction = handler;
    ours.sa_flags = SA_SIGINFO | (has_handler(host) ? host->sa_flags & usual : usual);
    return next_sigaction(HP_CPU_SIGNAL, &ours, NULL) == 0;
}

bool hp_signal_view_take(hp_signal_handler *handler)
{
    struct sigaction before;
    if (next_sigaction(HP_CPU_SIGNAL, NULL, &before) != 0)
        return false;
    view()->process = hp_sys_process_id();
    if (is_taken() && is_installed(&before))
        return true;
    view()->action = before;
    view()->handler = handler;
    __atomic_store_n(&view()->is_taken, true, __ATOMIC_RELEASE);
    return install(handler);
}

/* ---------------------------------------------------------------------------------------------- a signal of others */

/* The mask that the host's handler expects: what was blocked before, what it asks for, and the signal itself. */
static void use_mask_of(const struct sigaction *action, int signal, const void *context)
{
    const ucontext_t *interrupted = context;
    uint64_t mask, more;
    memcpy(&mask, &interrupted->uc_sigmask, sizeof mask);
    memcpy(&more, &action->sa_mask, sizeof more);
    mask |= more;
    if (!(action->sa_flags & SA_NODEFER))
        mask |= UINT64_C(1) << (signal - 1);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
}

/* What the host wants to happen, which then has happened once. */
static struct sigaction next_action(void)
{
    struct hp_signals held;
    const bool is_locked = hp_lock(&held);
    const struct sigaction action = view()->action;
    if (has_handler(&action) && ((uint32_t)action.sa_flags & (uint32_t)SA_RESETHAND))
        view()->action.sa_handler = SIG_DFL;
    if (is_locked)
        hp_unlock(&held);
    return action;
}

/* Whether the host would not have this thread get the signal; of threads that were never asked, it may be. */
static bool is_borrowed(const struct sigaction *action)
{
    const struct hp_sampler *sampler = hp_sampler_of_thread();
    if (!HOTPATH_GET_(view()->is_borrowed))
        return false;
    return !has_handler(action) || (sampler != NULL && sampler->is_lent);
}

void hp_signal_view_block_in(void *context)
{
    ucontext_t *interrupted = context;
    uint64_t mask;
    memcpy(&mask, &interrupted->uc_sigmask, sizeof mask);
    mask |= SIGNAL_BIT;
    memcpy(&interrupted->uc_sigmask, &mask, sizeof mask);
}

static void send_again(siginfo_t *info)
{
    const uint32_t process = hp_sys_process_id();
    if (info->si_code == SI_TKILL)
        syscall(SYS_rt_tgsigqueueinfo, process, hp_sys_thread_id(), HP_CPU_SIGNAL, info);
    else if (syscall(SYS_rt_sigqueueinfo, process, HP_CPU_SIGNAL, info) != 0)
        syscall(SYS_kill, process,
                HP_CPU_SIGNAL); /* but for the first thread, the kernel lets nobody say who sent it */
}

/* Those of others that wait: one for the thread, one for the process, and what timers of the host's own have sent. */
#define MOST_OTHERS 8

void hp_signal_view_drop_samples(void)
{
    const uint64_t mask = SIGNAL_BIT;
    const struct timespec at_once = {0, 0};
    siginfo_t others[MOST_OTHERS];
    size_t count = 0;
    if (!(hp_signals_pending() & SIGNAL_BIT))
        return;
    while (count < MOST_OTHERS && syscall(SYS_rt_sigtimedwait, &mask, &others[count], &at_once, sizeof mask) > 0)
        if (!hp_sampler_is_source(&others[count]))
            count++;
    for (size_t at = 0; at < count; at++)
        send_again(&others[at]);
}

/* The thread has it blocked when it goes on; others come next. */
static void give_back(siginfo_t *info, void *context)
{
    HOTPATH_PUT_(view()->is_given_back, true);
    hp_sampler_hold_off();
    hp_signal_view_block_in(context);
    send_again(info);
}

void hp_signal_view_pass_on(int signal, siginfo_t *info, void *context)
{
    const int saved = errno;
    const struct sigaction present = view()->action;
    if (is_borrowed(&present)) {
        give_back(info, context);
        errno = saved;
        return;
    }
    const struct sigaction action = next_action();
    if (has_handler(&action))
        use_mask_of(&action, signal, context);
    errno = saved;
    if (!has_handler(&action))
        return;
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
}

/* --------------------------------------------------------------------------------------------------------- borrowing */

static bool may_borrow(void) { return !has_handler(&view()->action) && !HOTPATH_GET_(view()->is_given_back); }

bool hp_signal_view_has_handler(void) { return has_handler(&view()->action); }

bool hp_signal_view_is_blocked(const struct hp_signals *held) { return held->before & SIGNAL_BIT; }

bool hp_signal_view_lend(struct hp_signals *held)
{
    if (!hp_signal_view_is_blocked(held) || !may_borrow())
        return false;
    HOTPATH_PUT_(view()->is_borrowed, true);
    held->before &= ~SIGNAL_BIT;
    return true;
}

#ifdef HP_IN_FRONT_OF_SIGNALS

/* ------------------------------------------------------------------------------------- in front of the C library */

/* As the kernel would have it: with what the C library adds to all, and without what cannot be blocked. */
static struct sigaction as_kept(const struct sigaction *action)
{
    struct sigaction kept = *action, installed;
    memset(&installed, 0, sizeof installed);
    next_sigaction(HP_CPU_SIGNAL, NULL, &installed);
    kept.sa_flags |= installed.sa_flags & 0x04000000; /* SA_RESTORER, where there is one */
    kept.sa_restorer = installed.sa_restorer;
    sigdelset(&kept.sa_mask, SIGKILL);
    sigdelset(&kept.sa_mask, SIGSTOP);
    return kept;
}

/* What the calling thread has lent goes back at once if the host has a handler now; of others, later: signal_view.h. */
static void end_loan(struct hp_signals *held)
{
    const struct hp_sampler *sampler = hp_sampler_of_thread();
    if (sampler == NULL || !sampler->is_lent || !hp_signal_view_has_handler())
        return;
    hp_sampler_hold_off();
    held->before |= SIGNAL_BIT;
}

static void exchange(const struct sigaction *action, struct sigaction *ret_before)
{
    struct hp_signals held;
    const bool is_locked = hp_lock(&held);
    const struct sigaction before = view()->action;
    if (action != NULL) {
        view()->action = as_kept(action);
        install(view()->handler);
    }
    if (ret_before != NULL)
        *ret_before = before;
    if (is_locked && held.is_held)
        end_loan(&held);
    if (is_locked)
        hp_unlock(&held);
}

/* Whose signals are its own, though its memory may be ours. */
static bool is_child(void) { return view()->process != hp_sys_process_id(); }

static int exchange_in_child(const struct sigaction *action, struct sigaction *ret_before)
{
    struct sigaction before;
    if (next_sigaction(HP_CPU_SIGNAL, action, &before) != 0)
        return -1;
    if (ret_before != NULL)
        *ret_before = is_installed(&before) ? view()->action : before;
    return 0;
}

int hotpath_v1_sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    const int saved = errno;
    if (signal != HP_CPU_SIGNAL || !is_taken())
        return next_sigaction(signal, action, before);
    if (is_child())
        return exchange_in_child(action, before);
    exchange(action, before);
    errno = saved;
    return 0;
}

static hp_plain_handler *set_handler(int signal, hp_plain_handler *handler, int flags, bool is_masked)
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    if (is_masked)
        sigaddset(&action.sa_mask, signal);
    return hotpath_v1_sigaction(signal, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

hp_plain_handler *hotpath_v1_signal(int signal, hp_plain_handler *handler)
{
    if (signal != HP_CPU_SIGNAL || handler == SIG_ERR || !is_taken())
        return ssignal(signal, handler);
    return set_handler(signal, handler, SA_RESTART, true);
}

hp_plain_handler *hotpath_v1_sysv_signal(int signal, hp_plain_handler *handler)
{
    if (handler == SIG_ERR || signal < 1 || signal >= NSIG) {
        errno = EINVAL;
        return SIG_ERR;
    }
    return set_handler(signal, handler, (int)SA_RESETHAND | SA_NODEFER, false);
}

/* The C library keeps two for itself, and lets nobody block them. */
#define KEPT_BY_LIBC (UINT64_C(3) << 31)

static int set_mask(int how, const uint64_t *set, uint64_t *ret_before)
{
    const int saved = errno;
    const long status = syscall(SYS_rt_sigprocmask, how, set, ret_before, sizeof *set);
    const int error = status == 0 ? 0 : errno;
    errno = saved;
    return error;
}

static uint64_t mask_after(uint64_t before, int how, uint64_t set)
{
    return how == SIG_BLOCK ? before | set : how == SIG_UNBLOCK ? before & ~set : set;
}

/* The host blocks the signal: it is borrowed, or there are no more samples. */
static void begin_block(struct hp_sampler *sampler)
{
    if (!may_borrow()) {
        hp_sampler_hold_off();
        return;
    }
    HOTPATH_PUT_(view()->is_borrowed, true);
    sampler->is_lent = true;
}

static void end_block(struct hp_sampler *sampler)
{
    sampler->is_lent = false;
    hp_sampler_go_on();
}

/*
 * What is blocked without our knowledge, such as in handlers, will be let through so, too: only changes count. All signals are held
 * meanwhile, so that sources are stopped before the signal is blocked and started before it is let through.
 */
static uint64_t change_mask(struct hp_sampler *sampler, int how, uint64_t set)
{
    struct hp_signals held;
    hp_signals_hold(&held);
    const uint64_t seen = held.before | (sampler->is_lent ? SIGNAL_BIT : 0), next = mask_after(seen, how, set);
    if (next & ~seen & SIGNAL_BIT)
        begin_block(sampler);
    else if (seen & ~next & SIGNAL_BIT)
        end_block(sampler);
    else if (sampler->is_lent && hp_signal_view_has_handler())
        hp_sampler_hold_off();
    held.before = sampler->is_lent ? next & ~SIGNAL_BIT : next;
    hp_signals_release(&held);
    return seen;
}

/* Of a thread that is sampled: where the signal is to be blocked and can be borrowed, it is left out of what is blocked. */
static int set_mask_but_ours(struct hp_sampler *sampler, int how, const uint64_t *set, uint64_t *ret_before)
{
    const int saved = errno;
    const bool is_known = how == SIG_BLOCK || how == SIG_UNBLOCK || how == SIG_SETMASK;
    if (set != NULL && is_known && (how == SIG_SETMASK || (*set & SIGNAL_BIT))) {
        *ret_before = change_mask(sampler, how, *set);
        errno = saved;
        return 0;
    }
    const int error = set_mask(how, set, ret_before);
    if (sampler->is_lent)
        *ret_before |= SIGNAL_BIT;
    return error;
}

int hotpath_v1_sigmask(int how, const sigset_t *set, sigset_t *ret_before)
{
    uint64_t mask = 0, before = 0;
    if (set != NULL) {
        memcpy(&mask, set, sizeof mask);
        if (how != SIG_UNBLOCK)
            mask &= ~KEPT_BY_LIBC;
    }
    struct hp_sampler *sampler = is_taken() ? hp_sampler_of_thread() : NULL;
    if (sampler != NULL && is_child())
        sampler = NULL;
    const int error = sampler != NULL ? set_mask_but_ours(sampler, how, set != NULL ? &mask : NULL, &before)
                                      : set_mask(how, set != NULL ? &mask : NULL, &before);
    if (error == 0 && ret_before != NULL)
        memcpy(ret_before, &before, sizeof before);
    return error;
}

HP_DEFINE_SIGNALS_FRONT

#endif
