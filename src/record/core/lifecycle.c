/*
 * The life of a session: how it starts (hotpath_start, HOTPATH=1, a scope of the program) and how it ends
 * (hotpath_stop, exit).
 *
 * Slow work is done without the lock: a session is made before it runs, and reported after it has stopped.
 * holding.h says who owns it meanwhile. SPDX-License-Identifier: MIT
 */
#include "lifecycle.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "allocations.h"
#include "holding.h"
#include "instruction_clock.h"
#include "lending.h"
#include "memory.h"
#include "no_session.h"
#include "process.h"
#include "raw_call.h"
#include "runtime.h"
#include "sampler.h"
#include "sites.h"
#include "text.h"
#include "threads.h"
#include "utf8.h"

/* ------------------------------------------------------------------------------------------- settings */

/*
 * Our variables, as they were when the library was loaded: "NAME=VALUE", each with its zero. A session that begins
 * late must not read the environment, which the program may be changing.
 */
static struct {
    char texts[4096];
    size_t used;
} kept;

/* False: too many of them, so the session cannot begin late. */
static bool keep_environment(void)
{
    for (char *const *at = hp_environment_all(); at != NULL && *at != NULL; at++) {
        if (!hp_text_begins(*at, "HOTPATH") && !hp_text_begins(*at, "NO_COLOR="))
            continue;
        const size_t bytes = strlen(*at) + 1;
        if (bytes > sizeof kept.texts - kept.used)
            return false;
        memcpy(kept.texts + kept.used, *at, bytes);
        kept.used += bytes;
    }
    return true;
}

static const char *look_up_kept(const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = kept.texts; at < kept.texts + kept.used; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* Whether the session begins late, so that the environment is the one that was kept. */
static bool is_late;

static const char *look_up(const char *name, void *context)
{
    (void)context;
    return __atomic_load_n(&is_late, __ATOMIC_RELAXED) ? look_up_kept(name) : hp_environment(name);
}

static void warn(const char *line, void *context)
{
    (void)context;
    hp_say(line);
}

static void leave_run(struct hp_record_settings *settings)
{
    settings->is_run = false;
    settings->dir[0] = '\0';
}

/* Whether HOTPATH=1 alone started the session. Also read without the lock. */
static bool is_auto(void) { return __atomic_load_n(&hp_runtime->is_auto, __ATOMIC_RELAXED); }
static void set_auto(bool value) { __atomic_store_n(&hp_runtime->is_auto, value, __ATOMIC_RELAXED); }

/*
 * Remembers which file stderr is, for messages and the report. Stored only if it changed: threads may be printing.
 */
static void note_standard_error(void)
{
    if (!hp_file_is(2, &hp_runtime->standard_error))
        hp_runtime->standard_error = hp_file_identify(2);
}

/* ------------------------------------------------------------------------- sandboxes that nothing told of */

static uint64_t confinement_of_run; /* hp_task_confinement of `hotpath run`; written when the library is loaded */

static void note_confinement_of_run(void)
{
    const char *around = hp_environment(HP_RUN_CONFINEMENT);
    confinement_of_run = around != NULL ? hp_task_number(&around) : 0;
}

/*
 * Whether the process is in a sandbox, other than one around the whole run: its rules are unknown. Reading files is
 * possible, or no program could be loaded there.
 */
static bool is_sandboxed_unseen(void)
{
    const bool is = hp_confinement() > confinement_of_run;
    if (is)
        __atomic_store_n(&hp_runtime->confinements, 1, __ATOMIC_RELAXED);
    return is;
}

/* --------------------------------------------------------------------------------------- after a fork */

/* The parent may have entered a sandbox, and the child with it. Its session is still mapped here. */
static bool may_make_system_calls(void)
{
    const struct hp_store *store = hp_runtime->store;
    return !__atomic_load_n(&hp_runtime->is_sealed, __ATOMIC_RELAXED) && store != NULL &&
           !hp_header_is_sandboxed(hp_store_header(store)) && hp_clock_may_be_read();
}

/*
 * Whether it is one that nothing told the parent of. An observer may have noticed it while the parent forked. If
 * not, asking for the mode first is 50 times as fast.
 */
static bool inherits_unseen_sandbox(void)
{
    const struct hp_store *store = hp_runtime->store;
    if (__atomic_load_n(&hp_runtime->is_sealed, __ATOMIC_RELAXED))
        return false;
    if (store == NULL || !hp_header_is_sandboxed(hp_store_header(store)))
        return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0 && is_sandboxed_unseen();
    __atomic_store_n(&hp_runtime->confinements, 1, __ATOMIC_RELAXED);
    return true;
}

static void begin_late(void);

/*
 * A child of a program that reports on itself starts its session at its first zone: most children have none and
 * exec something else. One of a run starts it at once, or later (no_session.h).
 */
static void follow_fork(void)
{
    const int saved = errno;
    const bool was_deferred = __atomic_load_n(&hp_runtime->deferral, __ATOMIC_RELAXED) != HP_NOT_DEFERRED;
    const bool is_of_run = hp_runtime->settings.record.is_run && hp_is_active();
    const bool is_sandboxed = (was_deferred || is_of_run) && inherits_unseen_sandbox();
    const bool is_followed = is_of_run && !is_sandboxed && may_make_system_calls();
    hp_allocations_forget_early();
    if (is_sandboxed)
        hp_deferral_end();
    else if (hp_runtime->defers && (was_deferred || is_followed))
        hp_deferral_set(begin_late, true);
    else if (is_followed)
        hp_thread_context_of_for_pools();
    errno = saved;
}

/* The C library reports children made by fork; other children are noticed at their first zone. */
static void in_child(void)
{
    hp_runtime_empty();
    follow_fork();
}

/* ------------------------------------------------------------------------------------------- requests */

/* A request to start a session, and its result. */
struct wish {
    struct hp_settings settings;
    struct hp_site_choice *choice; /* from the settings; afterwards, what is to be freed */
    struct hp_session *session;    /* made for it */
    bool is_quick;                 /* the program may not even use hotpath */
    bool is_new;                   /* it was started by this request */
    uint64_t began_ns;             /* by the thread's CPU clock */
};

/* Common to new and joined sessions. Under the lock. */
static void agree(const struct wish *wish)
{
    /* HOTPATH=1 may have started it before the program set this. */
    __atomic_store_n(&hp_store_header(hp_runtime->store)->time_period, wish->settings.record.time_period,
                     __ATOMIC_RELAXED);
    hp_sampler_begin_late();
    if (hp_runtime->sampling.engine != HP_CPU_NONE)
        hp_thread_begin(); /* so that CPU time before its first zone counts, too */
    hp_wait_thread_begin();
    set_auto(false);
}

/* Under the lock: joins the running session, or starts this one. */
static int begin_locked(struct wish *wish)
{
    const bool is_child = hp_is_forked_child();
    if (is_child)
        hp_session_leave_parents();
    if (hp_is_active() && !is_auto())
        return HOTPATH_E_ACTIVE;
    if (!hp_is_active() && wish->session == NULL)
        return HOTPATH_E_INACTIVE;
    wish->is_new = !hp_is_active();
    hp_session_use_settings(&wish->settings);
    __atomic_store_n(&hp_runtime->is_child, is_child && wish->settings.record.is_run, __ATOMIC_RELAXED);
    wish->choice = hp_sites_choose(wish->choice);
    if (wish->is_new) {
        hp_runtime->used_before_ns = wish->began_ns;
        hp_session_open(wish->session);
    } else
        hp_settings_copy(&hp_runtime->session->settings, &wish->settings);
    agree(wish);
    return HOTPATH_OK;
}

static int begin_once(struct wish *wish)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return HOTPATH_E_ACTIVE;
    const int status = begin_locked(wish);
    hp_unlock(&held);
    return status;
}

/* Checks first whether a session runs. If not, makes one without the lock; another thread may still be first. */
static int begin_or_join(struct wish *wish)
{
    const int status = begin_once(wish);
    if (status == HOTPATH_OK)
        hp_zone_cost_measure(false);
    if (status != HOTPATH_E_INACTIVE)
        return status;
    hp_zone_cost_measure(wish->is_quick);
    hp_sessions_tidy();
    wish->session = hp_session_prepare(&wish->settings);
    return wish->session != NULL ? begin_once(wish) : HOTPATH_E_SPACE;
}

/*
 * The program may change its working directory before the report, or before the session file is reopened to grow.
 */
static void make_absolute(char *path, size_t size)
{
    char whole[2048];
    if (path[0] == '\0' || path[0] == '/' || syscall(SYS_getcwd, whole, sizeof whole) <= 0)
        return;
    const size_t length = strlen(whole), more = strlen(path);
    if (length + 1 + more >= size)
        return;
    memmove(path + length + 1, path, more + 1);
    memcpy(path, whole, length);
    path[length] = '/';
}

static void say_unusable(const char *directory)
{
    char bytes[1400];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line,
                   "hotpath: the session is kept in memory and is lost when the process ends: the directory '");
    hp_utf8_put_safe(&line, directory, strlen(directory));
    hp_text_string(&line, "' cannot be used; it must belong to you, be writable only by you, and have 1 MB free");
    hp_say(hp_text_end(&line));
}

static void explain_place(const struct hp_settings *settings, const struct hp_store *store)
{
    if (!store->is_memory)
        return;
    if (settings->record.dir[0] != '\0')
        say_unusable(settings->record.dir);
    else if (store->is_foreign)
        hp_say("hotpath: the session is kept in memory and is lost when the process ends: a directory for sessions "
               "(hotpath-UID in /dev/shm or /tmp, or hotpath in XDG_RUNTIME_DIR) belongs to another user or is "
               "writable by others; remove it, or set HOTPATH_DIR");
}

static void explain(int status)
{
    if (status == HOTPATH_OK && (HOTPATH_GET_(hp_runtime->live_settings.record) & HP_RECORD_ALLOC))
        hp_allocations_explain();
    if (status == HOTPATH_E_SPACE)
        hp_say("hotpath: nothing is recorded: no memory or file space for a session; set HOTPATH_DIR to a "
               "directory with free space, or raise the address space limit");
    if (status == HOTPATH_E_OPTIONS)
        hp_say("hotpath: nothing is recorded: the size of struct hotpath_options is unknown to this version of the "
               "library; fill the struct with zeros and set its size");
}

/* Another thread may stop the session at any time, so it is held while in use. */
static void follow_up(struct hp_session *session, const struct wish *wish)
{
    explain_place(&wish->settings, &session->store);
    hp_prune(session);
    HOTPATH_PUT_(hp_store_header(&session->store)->session_ns, hp_clock_thread_ns() - wish->began_ns);
    hp_session_let_go(session);
}

static int begin_with(struct wish *wish, const struct hotpath_options *options)
{
    struct hp_settings *settings = &wish->settings;
    /* A session that HOTPATH=1 started has warned already. */
    hp_settings_resolve(settings, options, look_up, NULL, is_auto() ? NULL : warn, NULL);
    if (settings->record.is_off || settings->record.kinds == 0)
        return HOTPATH_E_OFF;
    if (hp_is_of_past_run(&settings->record))
        leave_run(&settings->record);
    wish->is_quick = settings->record.is_run && options == NULL;
    if (!is_auto() && !settings->record.is_run)
        hp_options_warn_unknown(hp_environment_all(), warn, NULL);
    if (!hp_runtime_prepare(hp_deferral_begin, in_child) || !hp_sites_prepare(&settings->record, &wish->choice))
        return HOTPATH_E_SPACE;
    hp_runtime_choose_counter(settings->record.clock);
    if (hp_runtime->counter == HP_COUNTER_INSTRUCTIONS)
        settings->record.kinds &= ~HP_RECORD_CPU; /* it would be in nanoseconds */
    make_absolute(settings->output.output_path, sizeof settings->output.output_path);
    make_absolute(settings->record.dir, sizeof settings->record.dir);
    const int status = begin_or_join(wish);
    hp_sites_drop(wish->choice);
    if (wish->session != NULL && !wish->is_new)
        hp_session_discard(wish->session);
    struct hp_session *session = wish->is_new ? hp_session_hold() : NULL;
    if (session != NULL)
        follow_up(session, wish);
    if (status == HOTPATH_OK) {
        hp_wait_thread_start(&settings->record);
        if ((settings->record.kinds & HP_RECORD_CPU) && settings->record.reserve)
            hp_say("hotpath: CPU time is not sampled, because HOTPATH_RESERVE excludes system calls");
    }
    return status;
}

/* When this copy is loaded. Constructors of other copies may have started a session by then. */
static void join(void)
{
    hp_library_join();
    hp_threads_set_child_session(hp_session_begin_child);
}

static int begin(const struct hotpath_options *options, struct hp_manners *ret_manners)
{
    join();
    hp_deferral_end();
    hp_unrecorded_forget();
    note_standard_error();
    if (hp_process_is_privileged() || hp_is_sandboxed())
        return HOTPATH_E_OFF;
    if (options != NULL && !hp_options_are_known(options))
        return HOTPATH_E_OPTIONS;
    const uint64_t began_ns = hp_clock_thread_ns();
    struct wish *wish = hp_memory_map(sizeof *wish);
    if (wish != NULL)
        wish->began_ns = began_ns;
    const int status = wish != NULL ? begin_with(wish, options) : HOTPATH_E_SPACE;
    if (status == HOTPATH_OK)
        *ret_manners = (struct hp_manners){wish->settings.record.leave_signals, wish->settings.record.shutdown_ms};
    hp_memory_unmap(wish, sizeof *wish);
    return status;
}

int hp_lifecycle_start(const struct hotpath_options *options, struct hp_manners *ret_manners)
{
    const int saved = errno;
    const int status = begin(options, ret_manners);
    explain(status);
    errno = saved;
    return status;
}

int hotpath_start(const struct hotpath_options *options)
{
    struct hp_manners unused;
    const int status = hp_lifecycle_start(options, &unused);
    if (status == HOTPATH_E_ACTIVE)
        hp_say("hotpath: a session is already active and continues; stop it before starting another");
    return status;
}

/* ------------------------------------------------------------------------------------------------ ending */

/*
 * Closes this process's session, if any, and hands it to the caller. A process that only shares memory (vfork) has
 * none.
 */
static struct hp_session *close_if_active(bool (*lock)(struct hp_signals *held))
{
    struct hp_signals held;
    struct hp_session *session = NULL;
    if (hp_page() == NULL || hp_is_forked_child() || !hp_is_active() || !hp_is_own_process() || !lock(&held))
        return NULL;
    if (hp_is_active()) {
        hp_session_close();
        session = hp_session_unlink();
    }
    hp_unlock(&held);
    return session;
}

int hotpath_stop(void)
{
    const int saved = errno;
    struct hp_session *session = close_if_active(hp_lock);
    if (session == NULL)
        return HOTPATH_E_INACTIVE;
    hp_session_settle(session); /* calls that are just being counted belong to it */
    const int status = hp_exit_report(session, false);
    hp_session_end(session);
    hp_sessions_tidy();
    errno = saved;
    return status;
}

/* A forked child prints nothing by itself: the parent's report is the one that was asked for. */
static bool is_silent_child(const struct hp_session *session)
{
    return hp_is_child() && strstr(session->settings.output.output_path, "%p") == NULL;
}

void hp_lifecycle_finish(bool is_in_handler)
{
    struct hp_session *session = close_if_active(hp_lock_at_exit);
    if (session != NULL && !is_silent_child(session))
        hp_exit_report(session, is_in_handler);
}

/* Also if no thread has a context that would know. */
static bool is_sandboxed(void)
{
    struct hp_session *session = hp_session_hold();
    bool is_noted = false;
    if (session != NULL) {
        is_noted = hp_header_is_sandboxed(hp_store_header(&session->store));
        hp_session_let_go(session);
    }
    return is_noted || hp_is_sandboxed();
}

/* Priority 101: runs after all destructors of the program, so that zones in those are in the report. */
__attribute__((destructor(101))) static void at_exit(void)
{
    const int saved = errno;
    /*
     * A process that ends before its session has nothing to close. If system calls would be fatal, nothing is
     * closed: everything recorded is in the file.
     */
    if (!hp_is_deferred() && hp_library_owns_state() && !is_sandboxed() && hp_clock_may_be_read()) {
        hp_lifecycle_finish(false);
        hp_unrecorded_explain();
    }
    errno = saved;
}

/* Whether HOTPATH is set, to whatever. */
static bool is_set(void)
{
    const char *wish = hp_environment("HOTPATH");
    return wish != NULL && wish[0] != '\0' && !hp_process_is_privileged();
}

/* Whether the environment alone requests a session. */
static bool is_asked_for(void)
{
    struct hp_settings *settings = hp_memory_map(sizeof *settings);
    if (settings == NULL)
        return false;
    hp_settings_resolve(settings, NULL, look_up, NULL, NULL, NULL);
    /* In this order: in a sandbox, looking for the run may be forbidden. */
    const bool is = settings->record.is_set && !(settings->record.is_run && is_sandboxed_unseen()) &&
                    !hp_is_of_past_run(&settings->record);
    hp_memory_unmap(settings, sizeof *settings);
    return is;
}

/* With system calls only, and no more memory than they give: anything may have been interrupted. */
static void begin_late(void)
{
    struct hp_manners unused;
    __atomic_store_n(&is_late, true, __ATOMIC_RELAXED);
    if (hp_is_forked_child() && hp_is_active()) {
        if (!is_sandboxed_unseen())
            hp_thread_context_of_for_pools();
    } else if (is_asked_for() && begin(NULL, &unused) == HOTPATH_OK) {
        set_auto(true);
    }
    __atomic_store_n(&is_late, false, __ATOMIC_RELAXED);
    hp_deferral_end();
    if (hp_is_active())
        hp_allocations_keep_early();
    hp_skip_idle(!hp_is_active());
    hp_allocations_switch();
}

/* Whether sessions of this run begin late; and whether this process is the program itself, whose does not. */
static bool is_of_deferring_run(bool *ret_is_program)
{
    const char *program = hp_environment("HOTPATH_RUN") != NULL ? hp_environment(HP_RUN_PROGRAM) : NULL;
    *ret_is_program = program != NULL && hp_task_number(&program) == hp_sys_process_id();
    return program != NULL;
}

/* HOTPATH=1 also records a program without HOTPATH_MAIN that links or loads the library. */
static void begin_by_environment(void)
{
    struct hp_manners unused;
    bool is_program;
    hp_runtime->defers = is_of_deferring_run(&is_program);
    if (hp_runtime->defers && !is_program && is_sandboxed_unseen())
        return; /* in a sandbox that nothing told of: even to defer would take system calls */
    if (hp_runtime->defers && !is_program && hp_clock_may_be_read() && keep_environment() &&
        hp_runtime_prepare(hp_deferral_begin, in_child))
        hp_deferral_set(begin_late, false);
    else if (is_asked_for() && begin(NULL, &unused) == HOTPATH_OK)
        set_auto(true);
}

/*
 * The CPU counts for limits of instructions, also without a session. Not with the rights of another user; and in a
 * sandbox that a program of a run has entered before, the kernel may end a process that asks for a counter.
 */
static void begin_to_count(void)
{
    if (hp_instruction_clock_is_by_cpu(hp_environment("HOTPATH_CLOCK")) && !hp_process_is_privileged() &&
        !(hp_environment("HOTPATH_RUN") != NULL && is_sandboxed_unseen()))
        hp_instruction_clock_begin(true);
}

__attribute__((constructor(101))) static void at_load(void)
{
    const int saved = errno;
    join();
    hp_note_run();
    note_confinement_of_run();
    begin_to_count();
    hp_borrow_from(hp_environment(HP_RUN_LENDER), confinement_of_run);
    hp_thread_exit_hook(); /* early: the C library keeps the values of keys beyond the first 32 on the heap */
    if (hp_page() == NULL)
        note_standard_error();
    if (hp_page() == NULL && is_set())
        begin_by_environment();
    if (hp_epoch() == 0)
        hp_unrecorded_listen();
    errno = saved;
}

/* ------------------------------------------------------------------------------------------- queries */

const char *hotpath_strerror(int status)
{
    switch (status) {
    case HOTPATH_OK:
        return "done";
    case HOTPATH_E_ACTIVE:
        return "a session is already active";
    case HOTPATH_E_INACTIVE:
        return "no session is active";
    case HOTPATH_E_OFF:
        return "recording is switched off";
    case HOTPATH_E_OPTIONS:
        return "a struct has an unknown size, or there is no such cell";
    case HOTPATH_E_SPACE:
        return "no memory or file space for a session";
    case HOTPATH_E_OUTPUT:
        return "the report could not be written";
    default:
        return "unknown status";
    }
}

const char *hotpath_version(void) { return HOTPATH_VERSION; }

/* Until its first zone a child has its parent's state and no session of its own. */
bool hp_is_active_here(void) { return hp_page() != NULL && !hp_is_forked_child() && hp_is_active(); }

/* The record stays mapped; its contents change when it is reused. */
const char *hotpath_session_path(void)
{
    struct hp_session *session = hp_is_active_here() ? hp_session_hold() : NULL;
    if (session == NULL)
        return "";
    hp_session_let_go(session);
    return session->store.path;
}

void hotpath_set_reporter(hotpath_reporter *reporter, void *context)
{
    const int saved = errno;
    struct hp_signals held;
    const bool is_locked = hp_runtime_prepare(hp_deferral_begin, in_child) && hp_lock(&held);
    hp_runtime->reporter_context = context;
    hp_runtime->reporter = reporter;
    if (is_locked)
        hp_unlock(&held);
    errno = saved;
}

int hotpath_report(void)
{
    const int saved = errno;
    int status = HOTPATH_E_INACTIVE;
    struct hp_session *session = hp_is_active_here() ? hp_session_hold() : NULL;
    if (session != NULL) {
        status = hp_exit_report(session, false);
        hp_session_let_go(session);
    }
    errno = saved;
    return status;
}

/* ------------------------------------------------------------------------------------------------------- scopes */

/*
 * HOTPATH_MAIN and HOTPATH_SESSION: sessions that begin and end with a scope of the program. HOTPATH_MAIN also
 * makes SIGINT, SIGTERM and a time limit end the program with a report.
 */

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
    hp_sleep_ns(milliseconds * UINT64_C(1000000));
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
