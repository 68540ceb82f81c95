/*
 * The life of a session: how it begins (HOTPATH_MAIN, HOTPATH_SESSION, hotpath_start, HOTPATH=1, the first zone of a
 * forked child) and how it ends (the end of its scope, exit, SIGINT and SIGTERM, a time limit).
 *
 * Ending while other threads run. Stop closes the gate, makes every thread pass a barrier and waits until none
 * is inside the recorder. From then on no thread can touch the session: each looks at the gate after it has set
 * `ready` to 0 and before it touches anything. (The barrier pairs with that store and load, which are relaxed.) Where
 * the wait does not succeed, the address range is given up instead of being used again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"
#include "process.h"
#include "runtime.h"
#include "sys.h"
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

struct hp_clock_pair hp_session_touch(void)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    struct hp_clock_pair now;
    hp_clock_pair(hp_runtime->counter, &now.ticks, &now.ns);
    hp_sampler_touch();
    __atomic_store_n(&header->clock_latest.ticks, now.ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&header->clock_latest.ns, now.ns, __ATOMIC_RELAXED);
    return now;
}

typedef void describe(char *text, size_t size);

static uint32_t described(describe *fact)
{
    char text[1024];
    fact(text, sizeof text);
    return hp_store_text(hp_runtime->store, text);
}

static void fill_header(void)
{
    struct hp_store *store = hp_runtime->store;
    struct hp_header *header = hp_store_header(store);
    header->features = HP_FEATURE_TIMING;
    header->state = HP_STATE_LIVE;
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
    header->command = described(hp_process_command);
    header->executable = described(hp_process_executable);
    header->host = described(hp_process_host);
    header->system = described(hp_process_system);
    header->label = hp_store_text(store, hp_runtime->settings.label);
    header->metadata = hp_store_text(store, hp_runtime->settings.metadata);
    header->time_period = hp_runtime->settings.time_period;
    header->filter = hp_store_text(store, hp_runtime->settings.filter);
    header->skip = hp_store_text(store, hp_runtime->settings.skip);
    header->library = hp_store_text(store, "hotpath " HOTPATH_VERSION ", " HP_COMPILER);
    if (!hp_runtime->is_child || hp_runtime->zone_cost.ps == 0) /* a child is on the same machine */
        hp_runtime->zone_cost = hp_zones_calibrate();
    header->zone_cost_ps = hp_runtime->zone_cost.ps;
    header->zone_inner_ps = hp_runtime->zone_cost.inner_ps;
    hp_clock_pair(hp_runtime->counter, &header->clock_start.ticks, &header->clock_start.ns);
    header->clock_latest = header->clock_start;
}

/* All that recording may ever ask the kernel for, so that from now on it need not. */
static void reserve_everything(void)
{
    hp_store_reserve_all(hp_runtime->store);
    hp_sites_reserve();
    hp_thread_reserve();
    hp_seal(true);
}

/*
 * To look through the folder takes longer than the rest. A program that forks makes many sessions in a short time, of which
 * every sixteenth looking is enough.
 */
static bool is_turn_to_prune(void) { return !hp_runtime->is_child || hp_sys_process_id() % 16 == 0; }

/* Under the lock, signals held. */
static bool open_session(void)
{
    hp_seal(false);
    if (hp_store_create(hp_runtime->store, &hp_runtime->settings, hp_sys_process_id()) != NULL)
        return false;
    struct hp_header *header = hp_store_header(hp_runtime->store);
    __atomic_store_n(&hp_runtime->epoch, hp_epoch() + 1, __ATOMIC_RELAXED);
    fill_header();
    hp_waits_begin();
    hp_sites_begin();
    hp_sampler_begin();
    /* The sessions of a run stay until its report is made, and who runs it sees to them. */
    if (hp_runtime->store->path[0] != '\0' && !hp_runtime->settings.is_run && is_turn_to_prune())
        hp_store_prune(hp_runtime->store, hp_runtime->settings.keep);
    header->gate = hp_epoch() | (hp_runtime->counter == HP_COUNTER_NONE ? HP_GATE_OUT_OF_LINE : 0);
    /* With its magic the file is a session; release, so that whoever sees it sees the rest. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(header->magic, HP_MAGIC, sizeof header->magic);
    __atomic_store_n(&hp_runtime->gate, hp_epoch(), __ATOMIC_RELEASE);
    hp_skip_zones(false);
    if (hp_runtime->settings.reserve)
        reserve_everything();
    return true;
}

/* A forked child has the parent's state but none of its threads. Under the lock. */
static void forget_parent(void)
{
    hp_page()->is_ours = 1;
    hp_runtime->is_child = true;
    hp_runtime->owner = NULL;
    hotpath_v1_head = &hp_idle_head;
}

bool hp_session_begin_child(void)
{
    struct hp_store parent = *hp_runtime->store;
    forget_parent();
    if (!is_active())
        return false;
    memset(hp_runtime->store, 0, sizeof *hp_runtime->store);
    const bool has_begun = open_session();
    if (!has_begun) {
        hp_runtime->gate = 0;
        hp_skip_zones(true);
    }
    /* A child that has left its parent's root or user keeps its session to itself, and says nothing at its end. */
    if (!has_begun || (hp_runtime->store->is_memory && !parent.is_memory))
        hp_store_lose(&parent, HP_LOSS_CHILDREN, 1);
    hp_store_forget(&parent);
    return has_begun;
}

static void set_settings(const struct hp_settings *settings)
{
    struct hp_wishes *wishes = &hp_runtime->wishes;
    hp_runtime->settings = *settings;
    HOTPATH_PUT_(wishes->record, settings->record);
    HOTPATH_PUT_(wishes->time_period, settings->time_period);
    HOTPATH_PUT_(wishes->measuring_bound, settings->measuring_bound);
    HOTPATH_PUT_(wishes->logs_limit, settings->logs_limit);
}

static int begin_locked(const struct hp_settings *settings)
{
    if (hp_is_forked_child()) {
        forget_parent();
        hp_runtime->gate = 0;
        hp_skip_zones(true);
        hp_store_forget(hp_runtime->store);
    }
    if (is_active() && !is_auto())
        return HOTPATH_E_ACTIVE;
    set_settings(settings);
    hp_runtime->is_child = false;
    if (!hp_sites_choose() || (!is_active() && !open_session()))
        return HOTPATH_E_SPACE;
    /* HOTPATH=1 may have begun it before the program said how. */
    __atomic_store_n(&hp_store_header(hp_runtime->store)->time_period, settings->time_period, __ATOMIC_RELAXED);
    hp_sampler_begin_late();
    if (hp_runtime->sampling.engine != HP_CPU_NONE)
        hp_thread_begin(); /* what it uses before its first zone is counted, too */
    hp_waits_begin();
    set_auto(false);
    return HOTPATH_OK;
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

static void explain(int status)
{
    if (status == HOTPATH_E_ACTIVE)
        hp_say("hotpath: a session is active already and goes on; stop it before starting another");
    if (status == HOTPATH_OK && hp_runtime->settings.dir[0] != '\0' && hp_runtime->store->is_memory)
        hp_say("hotpath: the folder of HOTPATH_DIR cannot be used (it must be ours, writable by us alone, and have "
               "1 MB free); the session is kept in memory and ends with the process");
    if (status == HOTPATH_OK && (hp_runtime->settings.record & HP_RECORD_CPU) && hp_runtime->settings.reserve)
        hp_say("hotpath: processor time is not sampled: HOTPATH_RESERVE leaves it no system call");
    if (status == HOTPATH_OK)
        hp_allocations_explain();
    if (status == HOTPATH_E_SPACE)
        hp_say("hotpath: nothing is recorded: no memory or file space for a session could be had; "
               "set HOTPATH_DIR to a folder with space, or raise the limit of the address space");
    if (status == HOTPATH_E_OPTIONS)
        hp_say("hotpath: nothing is recorded: the options are not of this version of the library; "
               "zero-fill struct hotpath_options and set its size");
}

static int begin_with(struct hp_settings *settings, const struct hotpath_options *options)
{
    struct hp_signals held;
    /* What HOTPATH=1 began has warned already. */
    hp_settings_resolve(settings, options, look_up, NULL, is_auto() ? NULL : warn, NULL);
    if (settings->record_is_off || settings->record == 0)
        return HOTPATH_E_OFF;
    if (!is_auto() && !settings->is_run)
        hp_options_warn_unknown(hp_environment_all(), warn, NULL);
    if (!hp_runtime_prepare())
        return HOTPATH_E_SPACE;
    make_absolute(settings->output_path, sizeof settings->output_path);
    make_absolute(settings->dir, sizeof settings->dir);
    if (!hp_lock(&held))
        return HOTPATH_E_ACTIVE;
    const int status = begin_locked(settings);
    hp_unlock(&held);
    if (status == HOTPATH_OK)
        hp_waits_start();
    return status;
}

static int begin(const struct hotpath_options *options)
{
    hp_copies_join();
    note_standard_error();
    if (hp_process_is_privileged())
        return HOTPATH_E_OFF;
    if (options != NULL && !hp_options_are_known(options))
        return HOTPATH_E_OPTIONS;
    struct hp_settings *settings = hp_memory_map(sizeof *settings);
    const int status = settings != NULL ? begin_with(settings, options) : HOTPATH_E_SPACE;
    hp_memory_unmap(settings, sizeof *settings);
    return status;
}

int hotpath_start(const struct hotpath_options *options)
{
    const int saved = errno;
    const int status = begin(options);
    explain(status);
    errno = saved;
    return status;
}

/* ------------------------------------------------------------------------------------------------ ending */

static bool is_at_rest(const struct hp_head *head)
{
    return (head->hot.base == NULL || HOTPATH_GET_(head->hot.ready) != 0) &&
           HOTPATH_GET_(head->sampler.is_at_work) == 0;
}

#define PATIENCE_NS UINT64_C(50000000)

static bool wait_until_quiet(void)
{
    if (!hp_memory_barrier_everywhere())
        return false;
    const uint64_t until = hp_clock_monotonic_ns() + PATIENCE_NS;
    for (const struct hp_head *head = hp_page()->heads; head != NULL; head = head->next)
        while (head->thread_id != 0 && !is_at_rest(head)) {
            if (hp_clock_monotonic_ns() > until)
                return false;
            sched_yield();
        }
    return true;
}

/* Under the lock: marks the file as whole and turns recording off. */
static void close_session(void)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    hp_sampler_end();
    hp_session_touch();
    __atomic_store_n(&hp_runtime->gate, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&header->gate, 0, __ATOMIC_RELAXED);
    hp_skip_zones(true);
    __atomic_store_n(&header->state, HP_STATE_FINISHED, __ATOMIC_RELEASE);
    hp_runtime->owner = NULL;
    hp_seal(false);
}

/* A store that somebody may still be writing to is left to him for good. */
static void retire_store(void)
{
    const bool is_quiet = wait_until_quiet();
    struct hp_store *next = is_quiet ? hp_runtime->store : hp_memory_map(sizeof *next);
    hp_store_retire(hp_runtime->store, is_quiet);
    if (next != NULL)
        hp_runtime->store = next;
}

/* Closes the session if this process has one; the caller reports on it. */
static bool close_if_active(void)
{
    struct hp_signals held;
    if (hp_page() == NULL || hp_is_forked_child() || !hp_lock(&held))
        return false;
    const bool was_active = is_active();
    if (was_active)
        close_session();
    hp_unlock(&held);
    return was_active;
}

int hotpath_stop(void)
{
    const int saved = errno;
    struct hp_signals held;
    if (!close_if_active())
        return HOTPATH_E_INACTIVE;
    if (hp_lock(&held)) { /* calls that are being counted right now belong to it */
        wait_until_quiet();
        hp_unlock(&held);
    }
    const int status = hp_exit_report(false);
    if (hp_lock(&held)) {
        if (!is_active())
            retire_store();
        hp_unlock(&held);
    }
    errno = saved;
    return status;
}

/* A child that was forked says nothing by itself: its parent's report is the one that was asked for. */
static bool is_silent_child(void)
{
    return hp_runtime->is_child && strstr(hp_runtime->settings.output_path, "%p") == NULL;
}

/* The process ends: report, and leave everything in place, since other threads may still run. */
static void finish(bool is_in_handler)
{
    if (close_if_active() && !is_silent_child())
        hp_exit_report(is_in_handler);
}

/* Priority 101: after all destructors of the program, so that zones in those are still in the report. */
__attribute__((destructor(101))) static void at_exit(void)
{
    const int saved = errno;
    if (hp_copy_owns_state() && !hp_is_sandboxed()) /* what is recorded is in the file */
        finish(false);
    errno = saved;
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
    const bool is_set = settings->record_is_set;
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
    if (hp_page() == NULL && is_asked_for() && begin(NULL) == HOTPATH_OK)
        set_auto(true);
    errno = saved;
}

/* ------------------------------------------------------------------------------------- signals and time */

static void on_signal(int signal)
{
    const int saved = errno;
    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    finish(true);
    sigaction(signal, &usual, NULL);
    errno = saved;
    hp_signals_raise_now(signal);
}

/* Only where the program left them alone; a handler it installs later replaces ours, as it should. */
static void watch_signal(int signal)
{
    struct sigaction present, ours;
    if (sigaction(signal, NULL, &present) != 0 || (present.sa_flags & SA_SIGINFO) || present.sa_handler != SIG_DFL)
        return;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;
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
    if (id < HOTPATH_READY_)
        __atomic_store_n(&hp_store_header(hp_runtime->store)->main_site, id, __ATOMIC_RELAXED);
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
    if (hotpath_start(options) == HOTPATH_OK) {
        set_main_site(site);
        if (!hp_runtime->settings.leave_signals) {
            watch_signal(SIGINT);
            watch_signal(SIGTERM);
        }
        watch_time(hp_runtime->settings.shutdown_ms);
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

const char *hotpath_session_path(void) { return is_active_here() ? hp_runtime->store->path : ""; }

void hotpath_set_reporter(hotpath_reporter *reporter, void *context)
{
    hp_runtime->reporter_context = context;
    hp_runtime->reporter = reporter;
}

int hotpath_report(void)
{
    const int saved = errno;
    int status = HOTPATH_E_INACTIVE;
    if (is_active_here())
        status = hp_exit_report(false);
    errno = saved;
    return status;
}
