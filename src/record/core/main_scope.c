/*
 * HOTPATH_MAIN and HOTPATH_SESSION: sessions that begin and end with a scope of the program. HOTPATH_MAIN also
 * makes SIGINT, SIGTERM and a time limit end the program with a report. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "holding.h"
#include "lifecycle.h"
#include "runtime.h"
#include "sites.h"
#include "text.h"
#include "utf8.h"

/* ------------------------------------------------------------------------------------- signals and time */

static void on_signal(int signal, siginfo_t *info, void *context);

static bool is_default(int signal, struct sigaction *present)
{
    return sigaction(signal, NULL, present) == 0 && !(present->sa_flags & SA_SIGINFO) &&
           present->sa_handler == SIG_DFL;
}

/*
 * The reader of the report may be stuck, so a second signal must end the program. Only if the signal's disposition
 * is the default or ours, and the host has not blocked it: `before` is the mask that we interrupted.
 */
static void let_through(int signal, const sigset_t *before)
{
    struct sigaction present;
    sigset_t one;
    const bool is_harmless =
        is_default(signal, &present) || ((present.sa_flags & SA_SIGINFO) && present.sa_sigaction == on_signal);
    if (!is_harmless || sigismember(before, signal) == 1)
        return;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    const int saved = errno;
    const ucontext_t *interrupted = context;
    struct sigaction usual;
    (void)info;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigaction(signal, &usual, NULL);
    let_through(SIGINT, &interrupted->uc_sigmask);
    let_through(SIGTERM, &interrupted->uc_sigmask);
    hp_lifecycle_finish(true);
    errno = saved;
    hp_signals_raise_now(signal);
}

/* Only if the program left the signal alone; a handler that it installs later replaces ours, as it should. */
static void watch_signal(int signal)
{
    struct sigaction present, ours;
    if (!is_default(signal, &present))
        return;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_signal;
    ours.sa_flags = SA_RESTART | SA_SIGINFO;
    sigfillset(&ours.sa_mask);
    sigaction(signal, &ours, NULL);
}

static void *end_after_time(void *context)
{
    const uint32_t milliseconds = (uint32_t)(uintptr_t)context;
    struct timespec left = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    exit(0);
}

static void watch_time(uint32_t milliseconds)
{
    pthread_t thread;
    struct hp_signals held;
    if (milliseconds == 0)
        return;
    hp_signals_hold(&held);
    if (pthread_create(&thread, NULL, end_after_time, (void *)(uintptr_t)milliseconds) == 0)
        pthread_detach(thread);
    else
        hp_say("hotpath: HOTPATH_SHUTDOWN_MS has no effect: no thread could be started");
    hp_signals_release(&held);
}

/* -------------------------------------------------------------------------------------- the scopes */

static void set_main_site(struct hotpath_site *site)
{
    const uint32_t id = hp_site_id(site);
    struct hp_session *session = id < HOTPATH_IDS_ ? hp_session_hold() : NULL;
    if (session == NULL)
        return;
    __atomic_store_n(&hp_store_header(&session->store)->main_site, id, __ATOMIC_RELAXED);
    hp_session_let_go(session);
}

/* Once: it may be in a function that is called often. */
static void explain_again(const struct hotpath_site *site)
{
    static uint32_t is_said;
    char bytes[512];
    struct hp_text line;
    if (__atomic_exchange_n(&is_said, 1, __ATOMIC_RELAXED) != 0)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "hotpath: HOTPATH_MAIN() in ");
    hp_utf8_put_safe(&line, site->function, strlen(site->function));
    hp_text_string(&line, " (");
    hp_utf8_put_safe(&line, site->file, strlen(site->file));
    hp_text_format(&line,
                   ":%u) begins no session: one is already active and continues. Call it once, first in "
                   "main; functions have HOTPATH_MEASURE()",
                   site->line);
    hp_say(hp_text_end(&line));
}

uintptr_t hotpath_v1_main(struct hotpath_zone *zone, struct hotpath_site *site,
                          const struct hotpath_options *options)
{
    const int saved = errno;
    struct hp_manners manners;
    const int status = hp_lifecycle_start(options, &manners);
    if (status == HOTPATH_E_ACTIVE)
        explain_again(site);
    if (status == HOTPATH_OK) {
        set_main_site(site);
        if (!manners.leaves_signals) {
            watch_signal(SIGINT);
            watch_signal(SIGTERM);
        }
        watch_time(manners.shutdown_ms);
    }
    errno = saved;
    return hotpath_open_(zone, site);
}

uintptr_t hotpath_v1_session(struct hotpath_zone *zone, struct hotpath_site *site,
                             const struct hotpath_options *options)
{
    const int saved = errno;
    if (hotpath_start(options) == HOTPATH_OK) {
        set_main_site(site);
        hp_runtime->owner = zone;
    }
    errno = saved;
    return hotpath_open_(zone, site);
}

void hotpath_v1_session_end(struct hotpath_zone *zone)
{
    hotpath_close_(zone);
    if (hp_runtime->owner == zone)
        hotpath_stop();
}
