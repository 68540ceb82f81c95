/*
 * The life of a session: how it begins (HOTPATH_MAIN, HOTPATH_SESSION, hotpath_start, HOTPATH=1, the first zone of a
 * forked child) and how it ends (the end of its scope, exit, SIGINT and SIGTERM, a time limit).
 *
 * What takes long is done without the lock: a session is made before it runs, and reported on when it does no more. Whose it is
 * meanwhile is in holders.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "holders.h"
#include "lives.h"
#include "memory.h"
#include "places.h"
#include "process.h"
#include "runtime.h"
#include "sampler.h"
#include "sys.h"
#include "task_files.h"
#include "waits.h"

#ifdef __clang__
#define HP_COMPILER __VERSION__
#else
#define HP_COMPILER "gcc " __VERSION__
#endif

/* ------------------------------------------------------------------------------------------- settings */

static const char *look_up(const char *name, void *context)
{
    (void)context;
    return hp_environment(name);
}

static void warn(const char *line, void *context)
{
    (void)context;
    hp_say(line);
}

/* Whether HOTPATH=1 alone began the session. Asked without the lock, too. */
static bool is_auto(void) { return __atomic_load_n(&hp_runtime->is_auto, __ATOMIC_RELAXED); }
static void set_auto(bool value) { __atomic_store_n(&hp_runtime->is_auto, value, __ATOMIC_RELAXED); }

/* Where messages and the report may go. Written only when it is another one: threads may be saying something. */
static void note_standard_error(void)
{
    if (!hp_file_is(2, &hp_runtime->standard_error))
        hp_runtime->standard_error = hp_file_identify(2);
}

static bool is_active(void) { return __atomic_load_n(&hp_runtime->gate, __ATOMIC_RELAXED) != 0; }

/* -------------------------------------------------------------------------------------------- beginning */

struct hp_clock_pair hp_session_touch(struct hp_store *store)
{
    struct hp_header *header = hp_store_header(store);
    struct hp_clock_pair now;
    if (hp_thread_is_blind())
        return header->clock_latest;
    hp_clock_pair(hp_runtime->counter, &now.ticks, &now.ns);
    hp_sampler_touch(header);
    __atomic_store_n(&header->clock_latest.ticks, now.ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&header->clock_latest.ns, now.ns, __ATOMIC_RELAXED);
    return now;
}

typedef void describe(char *text, size_t size);

static uint32_t described(struct hp_store *store, describe *fact)
{
    char text[1024];
    fact(text, sizeof text);
    return hp_store_text(store, text);
}

static enum hp_storage storage_of(const struct hp_store *store)
{
    if (!store->is_memory)
        return HP_STORAGE_FILE;
    return store->is_foreign ? HP_STORAGE_NO_FOLDER : HP_STORAGE_MEMORY;
}

static void fill_header(struct hp_session *session)
{
    struct hp_store *store = &session->store;
    struct hp_header *header = hp_store_header(store);
    header->features = HP_FEATURE_TIMING |
                       (__atomic_load_n(&hp_runtime->alloc_is_watched, __ATOMIC_RELAXED) ? HP_FEATURE_COUNTED : 0);
    header->state = HP_STATE_LIVE;
    header->storage = storage_of(store);
    header->pid = hp_sys_process_id();
    header->parent_pid = (uint32_t)getppid();
    header->process_start = hp_process_start_time(0);
    header->pid_namespace = hp_process_namespace();
    header->exec_count = store->number;
    header->main_site = HOTPATH_ID_NEW_;
    header->wall_start_ns = hp_clock_wall_ns();
    hp_process_boot_id(header->boot_id);
    header->clock_kind = hp_clock_kind_of(hp_runtime->counter);
    header->cores = hp_process_cores();
    header->command = described(store, hp_process_command);
    header->executable = described(store, hp_process_executable);
    header->host = described(store, hp_process_host);
    header->system = described(store, hp_process_system);
    header->label = hp_store_text(store, session->settings.record.label);
    header->metadata = hp_store_text(store, session->settings.record.metadata);
    header->time_period = session->settings.record.time_period;
    header->filter = hp_store_text(store, session->settings.record.filter);
    header->skip = hp_store_text(store, session->settings.record.skip);
    header->library = hp_store_text(store, "hotpath " HOTPATH_VERSION ", " HP_COMPILER);
}

static struct hp_session *make_session(const struct hp_settings *settings)
{
    struct hp_session *session = hp_session_make(settings);
    if (session != NULL)
        fill_header(session);
    return session;
}

/* Readers may be at it. */
static void note_zone_cost(struct hp_header *header)
{
    const struct hp_zone_cost *cost = &hp_runtime->zone_cost;
    __atomic_store_n(&header->zone_cost_ps, cost->ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->zone_inner_ps, cost->inner_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->counted_cost_ps, cost->counted_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->function_cost_ps, cost->function_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->function_counted_ps, cost->function_counted_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->alloc_cost_ps, cost->alloc_ps, __ATOMIC_RELAXED);
}

/* Word by word: threads that record look at some of it. */
static void set_zone_cost(const struct hp_zone_cost *cost)
{
    const uint64_t *from = (const uint64_t *)(const void *)cost;
    uint64_t *to = (uint64_t *)(void *)&hp_runtime->zone_cost;
    for (size_t at = 0; at < sizeof *cost / sizeof *to; at++)
        HOTPATH_PUT_(to[at], from[at]);
}

/*
 * Once for all sessions of the process and for its children: they are on the same machine. Most processes of a run have no zones;
 * there it is done quickly, and again when the program turns out to use macros.
 */
static void calibrate(bool is_quick)
{
    struct hp_signals held;
    const uint32_t wanted = is_quick ? 1 : 2;
    if (__atomic_load_n(&hp_runtime->calibrated, __ATOMIC_RELAXED) >= wanted ||
        __atomic_exchange_n(&hp_runtime->calibrated, wanted, __ATOMIC_RELAXED) >= wanted)
        return;
    hp_signals_hold(&held);
    const struct hp_zone_cost cost = hp_zones_calibrate(is_quick);
    hp_signals_release(&held);
    if (!hp_lock(&held))
        return;
    set_zone_cost(&cost);
    if (is_active())
        note_zone_cost(hp_store_header(hp_runtime->store));
    hp_unlock(&held);
}

/* All that recording may ever ask the kernel for beside the store, so that from now on it need not. */
static void reserve_everything(void)
{
    hp_sites_reserve();
    hp_objects_reserve();
    hp_thread_reserve();
    hp_seal(true);
}

/*
 * To look through the folder takes longer than the rest. A program that forks makes many sessions in a short time, of which
 * every sixteenth looking is enough.
 */
static bool is_turn_to_prune(void) { return !hp_is_child() || hp_sys_process_id() % 16 == 0; }

/* The sessions of a run stay until its report is made, and who runs it sees to them. */
static void prune(struct hp_session *session)
{
    if (session->store.path[0] != '\0' && !session->settings.record.is_run && is_turn_to_prune())
        hp_store_prune(&session->store, session->settings.record.keep);
}

static void set_settings(const struct hp_settings *settings)
{
    struct hp_wishes *wishes = &hp_runtime->wishes;
    hp_settings_copy(&hp_runtime->settings, settings);
    HOTPATH_PUT_(wishes->record, settings->record.kinds);
    HOTPATH_PUT_(wishes->time_period, settings->record.time_period);
    HOTPATH_PUT_(wishes->measuring_bound, settings->record.measuring_bound);
    HOTPATH_PUT_(wishes->logs_limit, settings->record.logs_limit);
    HOTPATH_PUT_(wishes->reserve, settings->record.reserve);
}

/* The session that was made runs from now on. Under the lock, signals held. */
static void open_session(struct hp_session *session)
{
    struct hp_header *header = hp_store_header(&session->store);
    hp_seal(false);
    __atomic_store_n(&hp_runtime->epoch, hp_epoch() + 1, __ATOMIC_RELAXED);
    hp_runtime->store = &session->store;
    note_zone_cost(header);
    hp_clock_pair(hp_runtime->counter, &header->clock_start.ticks, &header->clock_start.ns);
    header->clock_latest = header->clock_start;
    hp_waits_begin();
    hp_sites_begin();
    hp_sampler_begin();
    if (hp_runtime->settings.record.reserve)
        hp_store_reserve_all(hp_runtime->store);
    header->gate = hp_epoch() | (hp_runtime->counter == HP_COUNTER_NONE ? HP_GATE_OUT_OF_LINE : 0);
    /* With its magic the file is a session; release, so that whoever sees it sees the rest. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(header->magic, HP_MAGIC, sizeof header->magic);
    hp_session_link(session); /* all is filled in: from now on anybody may hold it */
    __atomic_store_n(&hp_runtime->gate, hp_epoch(), __ATOMIC_RELEASE);
    hp_skip_zones(false);
    if (hp_runtime->settings.record.reserve)
        reserve_everything();
}

/* What is left of a run in the environment, and in the settings of a process that outlives it, means nothing then. */
static bool is_of_past_run(const struct hp_record_settings *settings)
{
    return settings->is_run && hp_place_is_of_past_run(settings->dir);
}

static void leave_run(struct hp_record_settings *settings)
{
    settings->is_run = false;
    settings->dir[0] = '\0';
}

/* A forked child has the parent's state but none of its threads. Under the lock. */
static void forget_parent(void)
{
    hp_page()->is_ours = 1;
    hp_page()->pid = hp_sys_process_id();
    __atomic_store_n(&hp_runtime->is_child, true, __ATOMIC_RELAXED);
    hp_runtime->owner = NULL;
    hotpath_v1_head = &hp_idle_head;
}

static void stay_closed(void)
{
    hp_runtime->gate = 0;
    hp_skip_zones(true);
}

bool hp_session_begin_child(void)
{
    struct hp_session *parent = hp_runtime->session;
    forget_parent();
    if (!is_active() || parent == NULL)
        return false;
    const bool is_wanted = !is_of_past_run(&hp_runtime->settings.record);
    struct hp_session *session = is_wanted ? make_session(&hp_runtime->settings) : NULL;
    /* A child that has left its parent's root or user keeps its session to itself, and says nothing at its end. */
    if (is_wanted && (session == NULL || (session->store.is_memory && !parent->store.is_memory)))
        hp_store_lose(&parent->store, HP_LOSS_CHILDREN, 1);
    hp_sessions_forget(session);
    if (session != NULL)
        open_session(session);
    else
        stay_closed();
    hp_runtime->has_to_prune = session != NULL;
    return session != NULL;
}

/* The parent may have shut itself in, and the child with it. Its session is still mapped here. */
static bool may_make_system_calls(void)
{
    const struct hp_store *store = hp_runtime->store;
    return !__atomic_load_n(&hp_runtime->is_sealed, __ATOMIC_RELAXED) && store != NULL &&
           !hp_header_is_sandboxed(hp_store_header(store)) && hp_clock_may_be_read();
}

/* Children of programs that report on themselves begin with their first zone: most of them have none and run something else. */
void hp_session_follow_fork(void)
{
    const int saved = errno;
    if (hp_runtime->settings.record.is_run && is_active() && may_make_system_calls())
        hp_thread_head_for_pools();
    errno = saved;
}

void hp_session_follow_up(void)
{
    if (!__atomic_load_n(&hp_runtime->has_to_prune, __ATOMIC_RELAXED) ||
        !__atomic_exchange_n(&hp_runtime->has_to_prune, false, __ATOMIC_RELAXED))
        return;
    struct hp_session *session = hp_session_hold();
    if (session == NULL)
        return;
    prune(session);
    hp_session_let_go(session);
}

/* ------------------------------------------------------------------------------------- what is asked for */

/* A session that somebody wants to begin, and what has become of it. */
struct wish {
    struct hp_settings settings;
    struct hp_site_choice *choice; /* of the settings; afterwards, what is not needed any more */
    struct hp_session *session;    /* made for it */
    bool is_quick;                 /* the program may not even know of us */
    bool is_new;                   /* and it runs now */
};

/* What is the same whether it is new or was there. Under the lock. */
static void agree(const struct wish *wish)
{
    /* HOTPATH=1 may have begun it before the program said how. */
    __atomic_store_n(&hp_store_header(hp_runtime->store)->time_period, wish->settings.record.time_period,
                     __ATOMIC_RELAXED);
    hp_sampler_begin_late();
    if (hp_runtime->sampling.engine != HP_CPU_NONE)
        hp_thread_begin(); /* what it uses before its first zone is counted, too */
    hp_waits_begin();
    set_auto(false);
}

/* Under the lock: what it finds there, and makes of that. */
static int begin_locked(struct wish *wish)
{
    if (hp_is_forked_child()) {
        forget_parent();
        stay_closed();
        hp_sessions_forget(NULL);
    }
    if (is_active() && !is_auto())
        return HOTPATH_E_ACTIVE;
    if (!is_active() && wish->session == NULL)
        return HOTPATH_E_INACTIVE;
    wish->is_new = !is_active();
    set_settings(&wish->settings);
    __atomic_store_n(&hp_runtime->is_child, false, __ATOMIC_RELAXED);
    wish->choice = hp_sites_choose(wish->choice);
    if (wish->is_new)
        open_session(wish->session);
    else
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

/* Asked first whether there is one already. If not, it is made without the lock, and somebody else may be first after all. */
static int begin_or_join(struct wish *wish)
{
    const int status = begin_once(wish);
    if (status == HOTPATH_OK)
        calibrate(false);
    if (status != HOTPATH_E_INACTIVE)
        return status;
    calibrate(wish->is_quick);
    hp_sessions_tidy();
    wish->session = make_session(&wish->settings);
    return wish->session != NULL ? begin_once(wish) : HOTPATH_E_SPACE;
}

/* The program may change its folder before the report is due, or before the session is opened again to grow. */
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

static void explain_place(const struct hp_settings *settings, const struct hp_store *store)
{
    if (!store->is_memory)
        return;
    if (settings->record.dir[0] != '\0')
        hp_say("hotpath: the folder of HOTPATH_DIR cannot be used (it must be ours, writable by us alone, and have "
               "1 MB free); the session is kept in memory and ends with the process");
    else if (store->is_foreign)
        hp_say(
            "hotpath: a folder for sessions (hotpath-UID in /dev/shm or /tmp, or hotpath in XDG_RUNTIME_DIR) is "
            "not ours, "
            "or others can write to it; remove it, or set HOTPATH_DIR; the session is kept in memory and ends with "
            "the process");
}

static void explain(int status)
{
    if (status == HOTPATH_E_ACTIVE)
        hp_say("hotpath: a session is active already and goes on; stop it before starting another");
    if (status == HOTPATH_OK && (HOTPATH_GET_(hp_runtime->wishes.record) & HP_RECORD_ALLOC))
        hp_allocations_explain();
    if (status == HOTPATH_E_SPACE)
        hp_say("hotpath: nothing is recorded: no memory or file space for a session could be had; "
               "set HOTPATH_DIR to a folder with space, or raise the limit of the address space");
    if (status == HOTPATH_E_OPTIONS)
        hp_say("hotpath: nothing is recorded: the options are not of this version of the library; "
               "zero-fill struct hotpath_options and set its size");
}

/* The session may be stopped by another thread at any time: it is held while it is used. */
static void follow_up(struct hp_session *session, const struct hp_settings *settings)
{
    explain_place(settings, &session->store);
    prune(session);
    hp_session_let_go(session);
}

static int begin_with(struct wish *wish, const struct hotpath_options *options)
{
    struct hp_settings *settings = &wish->settings;
    /* What HOTPATH=1 began has warned already. */
    hp_settings_resolve(settings, options, look_up, NULL, is_auto() ? NULL : warn, NULL);
    if (settings->record.is_off || settings->record.kinds == 0)
        return HOTPATH_E_OFF;
    if (is_of_past_run(&settings->record))
        leave_run(&settings->record);
    wish->is_quick = settings->record.is_run && options == NULL;
    if (!is_auto() && !settings->record.is_run)
        hp_options_warn_unknown(hp_environment_all(), warn, NULL);
    if (!hp_runtime_prepare() || !hp_sites_prepare(&settings->record, &wish->choice))
        return HOTPATH_E_SPACE;
    make_absolute(settings->output.output_path, sizeof settings->output.output_path);
    make_absolute(settings->record.dir, sizeof settings->record.dir);
    const int status = begin_or_join(wish);
    hp_sites_drop(wish->choice);
    if (wish->session != NULL && !wish->is_new)
        hp_session_discard(wish->session);
    struct hp_session *session = wish->is_new ? hp_session_hold() : NULL;
    if (session != NULL)
        follow_up(session, settings);
    if (status == HOTPATH_OK) {
        hp_waits_start(&settings->record);
        if ((settings->record.kinds & HP_RECORD_CPU) && settings->record.reserve)
            hp_say("hotpath: processor time is not sampled: HOTPATH_RESERVE leaves it no system call");
    }
    return status;
}

/* What HOTPATH_MAIN does beyond. */
struct manners {
    bool leaves_signals;
    uint32_t shutdown_ms;
};

static int begin(const struct hotpath_options *options, struct manners *ret_manners)
{
    hp_copies_join();
    hp_unrecorded_forget();
    note_standard_error();
    if (hp_process_is_privileged() || hp_is_sandboxed())
        return HOTPATH_E_OFF;
    if (options != NULL && !hp_options_are_known(options))
        return HOTPATH_E_OPTIONS;
    struct wish *wish = hp_memory_map(sizeof *wish);
    const int status = wish != NULL ? begin_with(wish, options) : HOTPATH_E_SPACE;
    if (status == HOTPATH_OK)
        *ret_manners = (struct manners){wish->settings.record.leave_signals, wish->settings.record.shutdown_ms};
    hp_memory_unmap(wish, sizeof *wish);
    return status;
}

static int start(const struct hotpath_options *options, struct manners *ret_manners)
{
    const int saved = errno;
    const int status = begin(options, ret_manners);
    explain(status);
    errno = saved;
    return status;
}

int hotpath_start(const struct hotpath_options *options)
{
    struct manners unused;
    return start(options, &unused);
}

/* ------------------------------------------------------------------------------------------------ ending */

/* Under the lock: marks the file as whole and turns recording off. */
static void close_session(void)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    hp_sampler_end();
    hp_life_end_present();
    hp_session_touch(hp_runtime->store);
    __atomic_store_n(&hp_runtime->gate, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&header->gate, 0, __ATOMIC_RELAXED);
    hp_skip_zones(true);
    __atomic_store_n(&header->state, HP_STATE_FINISHED, __ATOMIC_RELEASE);
    hp_runtime->owner = NULL;
    hp_seal(false);
}

/* Closes the session, if this process has one, and hands it to the caller. A process that only shares its memory has none. */
static struct hp_session *close_if_active(void)
{
    struct hp_signals held;
    struct hp_session *session = NULL;
    if (hp_page() == NULL || hp_is_forked_child() || !is_active() || !hp_is_own_process() || !hp_lock(&held))
        return NULL;
    if (is_active()) {
        close_session();
        session = hp_session_unlink();
    }
    hp_unlock(&held);
    return session;
}

int hotpath_stop(void)
{
    const int saved = errno;
    struct hp_session *session = close_if_active();
    if (session == NULL)
        return HOTPATH_E_INACTIVE;
    hp_session_settle(session); /* calls that are being counted right now belong to it */
    const int status = hp_exit_report(session, false);
    hp_session_end(session);
    hp_sessions_tidy();
    errno = saved;
    return status;
}

/* A child that was forked says nothing by itself: its parent's report is the one that was asked for. */
static bool is_silent_child(const struct hp_session *session)
{
    return hp_is_child() && strstr(session->settings.output.output_path, "%p") == NULL;
}

/* The process ends: report, and leave everything in place, since other threads may still run. */
static void finish(bool is_in_handler)
{
    struct hp_session *session = close_if_active();
    if (session != NULL && !is_silent_child(session))
        hp_exit_report(session, is_in_handler);
}

/* Also where no thread has a head, which would know. */
static bool is_shut_in(void)
{
    struct hp_session *session = hp_session_hold();
    bool is_noted = false;
    if (session != NULL) {
        is_noted = hp_header_is_sandboxed(hp_store_header(&session->store));
        hp_session_let_go(session);
    }
    return is_noted || hp_is_sandboxed();
}

/* Priority 101: after all destructors of the program, so that zones in those are still in the report. */
__attribute__((destructor(101))) static void at_exit(void)
{
    const int saved = errno;
    /* Where that would be death, nothing is ended: what is recorded is in the file. */
    if (hp_copy_owns_state() && !is_shut_in() && hp_clock_may_be_read()) {
        finish(false);
        hp_unrecorded_explain();
    }
    errno = saved;
}

/*
 * A program that was started in a sandbox, but for the one that the whole run is in: what may be done there nobody can tell. To read
 * may, or the program would not have been loaded.
 */
static bool was_shut_in(void)
{
    const char *around = hp_environment(HP_RUN_CONFINEMENT);
    const uint64_t expected = around != NULL ? hp_task_number(&around) : 0;
    const bool is = hp_task_confinement(0) > expected;
    if (is)
        __atomic_store_n(&hp_runtime->confinements, 1, __ATOMIC_RELAXED);
    return is;
}

/* Whether the environment asks for a session by itself. */
static bool is_asked_for(void)
{
    const char *wish = hp_environment("HOTPATH");
    if (wish == NULL || wish[0] == '\0' || hp_process_is_privileged())
        return false;
    struct hp_settings *settings = hp_memory_map(sizeof *settings);
    if (settings == NULL)
        return false;
    hp_settings_resolve(settings, NULL, look_up, NULL, NULL, NULL);
    /* In this order: in a sandbox, to look for the run may be forbidden. */
    const bool is_set = settings->record.is_set && !(settings->record.is_run && was_shut_in()) &&
                        !is_of_past_run(&settings->record);
    hp_memory_unmap(settings, sizeof *settings);
    return is_set;
}

/* A library in somebody's program, or a program without HOTPATH_MAIN: HOTPATH=1 records it all the same. */
__attribute__((constructor(101))) static void at_load(void)
{
    const int saved = errno;
    hp_copies_join();
    hp_thread_exit_hook(); /* early: of keys after the first 32 the C library keeps the values on the heap */
    if (hp_page() == NULL)
        note_standard_error();
    struct manners unused;
    if (hp_page() == NULL && is_asked_for() && begin(NULL, &unused) == HOTPATH_OK)
        set_auto(true);
    if (hp_epoch() == 0)
        hp_unrecorded_listen();
    errno = saved;
}

/* ------------------------------------------------------------------------------------- signals and time */

static void on_signal(int signal, siginfo_t *info, void *context);

static bool is_default(int signal, struct sigaction *present)
{
    return sigaction(signal, NULL, present) == 0 && !(present->sa_flags & SA_SIGINFO) &&
           present->sa_handler == SIG_DFL;
}

/*
 * The report may be for somebody who does not read it: whoever wants the program to end says so again, and it does. Only where that
 * is the default or ours, and the host has not blocked it: `before` is the mask that we have interrupted.
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
    finish(true);
    errno = saved;
    hp_signals_raise_now(signal);
}

/* Only where the program left them alone; a handler it installs later replaces ours, as it should. */
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

/* -------------------------------------------------------------------------------------- HOTPATH_MAIN & co */

static void set_main_site(struct hotpath_site *site)
{
    const uint32_t id = hp_site_id(site);
    struct hp_session *session = id < HOTPATH_READY_ ? hp_session_hold() : NULL;
    if (session == NULL)
        return;
    __atomic_store_n(&hp_store_header(&session->store)->main_site, id, __ATOMIC_RELAXED);
    hp_session_let_go(session);
}

/* Without HOTPATH_MAIN, the function of that name is the one to compare with. Under the lock. */
void hp_session_suggest_main(uint32_t site)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    if (site < HOTPATH_READY_ && header->main_site == HOTPATH_ID_NEW_)
        __atomic_store_n(&header->main_site, site, __ATOMIC_RELAXED);
}

uintptr_t hotpath_v1_main(struct hotpath_zone *zone, struct hotpath_site *site,
                          const struct hotpath_options *options)
{
    const int saved = errno;
    struct manners manners;
    if (start(options, &manners) == HOTPATH_OK) {
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

/* ------------------------------------------------------------------------------------------ small answers */

const char *hotpath_strerror(int status)
{
    switch (status) {
    case HOTPATH_OK:
        return "done";
    case HOTPATH_E_ACTIVE:
        return "a session is active already";
    case HOTPATH_E_INACTIVE:
        return "no session is active";
    case HOTPATH_E_OFF:
        return "recording is switched off";
    case HOTPATH_E_OPTIONS:
        return "the options are not of this version of the library";
    case HOTPATH_E_SPACE:
        return "no memory or file space for a session";
    case HOTPATH_E_OUTPUT:
        return "the report could not be written";
    default:
        return "unknown status";
    }
}

const char *hotpath_version(void) { return HOTPATH_VERSION; }

/* A child has the parent's state until its first zone, and no session of its own before. */
static bool is_active_here(void) { return hp_page() != NULL && !hp_is_forked_child() && is_active(); }

/* The record stays where it is; what is in it changes when it is used again. */
const char *hotpath_session_path(void)
{
    struct hp_session *session = is_active_here() ? hp_session_hold() : NULL;
    if (session == NULL)
        return "";
    hp_session_let_go(session);
    return session->store.path;
}

void hotpath_set_reporter(hotpath_reporter *reporter, void *context)
{
    const int saved = errno;
    struct hp_signals held;
    const bool is_locked = hp_runtime_prepare() && hp_lock(&held);
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
    struct hp_session *session = is_active_here() ? hp_session_hold() : NULL;
    if (session != NULL) {
        status = hp_exit_report(session, false);
        hp_session_let_go(session);
    }
    errno = saved;
    return status;
}
