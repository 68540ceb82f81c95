/*
 * hotpath record: observes a running process for a while, then prints one report.
 *
 * The process is observed from outside and not touched, so the report has only what stack samples and the kernel
 * say. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "attached.h"
#include "clock.h"
#include "collector.h"
#include "command.h"
#include "debug_servers.h"
#include "find_process.h"
#include "launch.h"
#include "live_stacks.h"
#include "process.h"
#include "process_table.h"
#include "report_output.h"
#include "run_folder.h"
#include "run_observer.h"
#include "sessions.h"
#include "units.h"

#define LOOK_NS UINT64_C(50000000)
#define MOST_EXISTING 1024u /* processes that are there when it begins */

struct recording {
    const struct hp_arguments *arguments;
    struct hp_settings settings;
    char folder[HP_RUN_FOLDER];
    uint32_t pid;
    uint64_t for_ns; /* 0: until interrupted */
    bool is_alone;   /* without the processes that it has started, or will start */
};

/* ---------------------------------------------------------------------------------------------- arguments */

/* "10s", "500ms", "2m"; without a unit, seconds. */
static bool read_duration(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"", 1e9}};
    const size_t length = strspn(text, "0123456789.");
    double number;
    if (!hp_number_decimal(text, length, &number))
        return false;
    for (size_t at = 0; at < sizeof units / sizeof units[0]; at++)
        if (strcmp(text + length, units[at].name) == 0) {
            *ret_ns = (uint64_t)(number * units[at].ns);
            return number > 0 && number * units[at].ns < 1e18;
        }
    return false;
}

/* -1: go on. */
static int read_arguments(struct recording *recording)
{
    const struct hp_arguments *arguments = recording->arguments;
    const char *pid = hp_arguments_flag(arguments, "pid"), *duration = hp_arguments_flag(arguments, "for");
    uint64_t number;
    if (pid == NULL)
        return hp_misuse(arguments->command, "missing process id: -p PID");
    if (!hp_number_unsigned(pid, strlen(pid), INT32_MAX, &number) || number == 0)
        return hp_misuse(arguments->command, "'%s' is not a process id", pid);
    if (duration != NULL && !read_duration(duration, &recording->for_ns))
        return hp_misuse(arguments->command, "--for '%s' is not a time such as 10s, 500ms or 2m", duration);
    recording->pid = (uint32_t)number;
    recording->is_alone = hp_arguments_flag(arguments, "no-children") != NULL;
    return -1;
}

/* ---------------------------------------------------------------------------------------------- permissions */

/* Whether the kernel shows where its threads wait. */
static bool shows_waiting(uint32_t pid)
{
    char text[256];
    return hp_task_read(pid, hp_task_spokesman(pid), "syscall", text, sizeof text);
}

/* False, with lines that say why: nothing of it can be observed. */
static bool explain(const struct recording *recording, bool has_samples, bool has_waiting)
{
    if (!has_samples && !has_waiting && hp_process_is_of_another_user(recording->pid)) {
        hp_fail("process %u belongs to another user: use sudo", (unsigned)recording->pid);
        return false;
    }
    if (!has_samples)
        hp_explain_refused_samples("CPU time is not sampled");
    if (!has_waiting)
        hp_explain_hidden_waits(recording->pid, "waits are not recorded");
    if (!has_samples && !has_waiting)
        hp_fail("nothing can be recorded about process %u", (unsigned)recording->pid);
    return has_samples || has_waiting;
}

/* --------------------------------------------------------------------------------------------- recording */

/* Until we are interrupted, the time is over or the process has ended. */
static void wait_for_end(const struct recording *recording)
{
    const uint64_t ending = hp_held_bit(SIGINT) | hp_held_bit(SIGTERM) | hp_held_bit(SIGHUP) | hp_held_bit(SIGQUIT);
    const uint64_t began = hp_clock_monotonic_ns();
    siginfo_t info;
    while (hp_attached_goes_on()) {
        const uint64_t passed = hp_clock_monotonic_ns() - began;
        const uint64_t left = recording->for_ns == 0       ? LOOK_NS
                              : passed < recording->for_ns ? recording->for_ns - passed
                                                           : 0;
        if (left == 0 || hp_held_take(ending, &info, left < LOOK_NS ? left : LOOK_NS) != 0)
            break;
    }
}

static int show(struct recording *recording)
{
    struct hp_sessions sessions = {0};
    int status = EXIT_FAILED;
    if (hp_sessions_in(&sessions, recording->folder) && sessions.count > 0)
        status = hp_show(&sessions, &recording->settings, stdout, true);
    hp_sessions_free(&sessions);
    return status;
}

static int give_up(const struct recording *recording)
{
    hp_collector_end();
    hp_attached_end();
    hp_run_remove(recording->folder);
    return EXIT_FAILED;
}

/*
 * With the processes that it has started already: the kernel and the observer follow those that come later. Samples
 * begin first, at once after the list is made: what is started between the two has none.
 */
static bool attach(const struct recording *recording)
{
    uint32_t pids[MOST_EXISTING] = {recording->pid}, generation;
    struct hp_attached tasks[MOST_EXISTING];
    size_t count = 1, kept = 0;
    if (!recording->is_alone) {
        hp_process_table_attach(recording->pid);
        count = hp_process_table_living(pids, MOST_EXISTING, &generation);
    }
    for (size_t at = 0; at < count; at++)
        if (!hp_process_is_of_another_user(pids[at]))
            tasks[kept++] = (struct hp_attached){.pid = pids[at]};
    hp_live_stacks_begin(recording->folder, recording->is_alone ? recording->pid : 0);
    const bool has_samples = hp_collector_attach(tasks, kept, hp_stack_period_ns(&recording->settings), NULL);
    for (size_t at = 0; at < count; at++)
        hp_attached_meet(pids[at]);
    return has_samples;
}

static void name_missing(void)
{
    size_t count;
    const struct hp_attached_refused *refused = hp_attached_refused(&count);
    for (size_t at = 0; at < count; at++)
        hp_fail("process %u (%s) is not recorded: it belongs to another user; use sudo", (unsigned)refused[at].pid,
                refused[at].name);
    if (hp_attached_left_out() > 0)
        hp_fail("%zu processes are not recorded: there were too many", hp_attached_left_out());
}

static int record(struct recording *recording)
{
    if (!hp_run_folder_make(&recording->settings, recording->folder))
        return hp_fail("no directory for sessions can be used: %s; give one with --dir", strerror(errno));
    const uint64_t before = hp_held_begin();
    if (!hp_attached_begin(recording->folder, recording->pid)) {
        hp_fail("cannot store the recording in '%s': %s", recording->folder, strerror(errno));
        return give_up(recording);
    }
    const bool has_samples = attach(recording);
    if (!explain(recording, has_samples, shows_waiting(recording->pid)))
        return give_up(recording);
    hp_run_observer_start(recording->folder,
                          &(struct hp_run_observer_settings){
                              .has_waits = true, .has_stacks = hp_collector_is_begun(), .is_attached = true});
    if (recording->for_ns == 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "hotpath: recording process %u until Ctrl-C\n", (unsigned)recording->pid);
    wait_for_end(recording);
    hp_run_observer_end();
    hp_attached_end();
    hp_run_folder_keep_stacks(recording->folder, recording->is_alone ? recording->pid : 0);
    name_missing();
    hp_held_end(before & ~(hp_held_bit(SIGINT) | hp_held_bit(SIGTERM)));
    const int status = show(recording);
    hp_runs_forget(recording->folder,
                   recording->settings.record.keep > 0 ? recording->settings.record.keep - 1 : 0);
    return status;
}

static int start(const struct hp_arguments *arguments)
{
    static struct recording recording;
    recording.arguments = arguments;
    const int status = read_arguments(&recording);
    if (status >= 0)
        return status;
    hp_arguments_settle(arguments, &recording.settings);
    hp_debug_servers_allow(&recording.settings);
    hp_stack_cost_say(&recording.settings);
    if (recording.settings.output.format == HP_FORMAT_NONE)
        recording.settings.output.format = HP_FORMAT_TABLE;
    if (kill((pid_t)recording.pid, 0) != 0 && errno == ESRCH)
        return hp_fail("there is no process %u", (unsigned)recording.pid);
    if (recording.pid == (uint32_t)getpid())
        return hp_fail("hotpath cannot record itself");
    hp_raise_descriptor_limit();
    return record(&recording);
}

static const struct hp_flag flags[] = {
    {"pid", 'p', "PID", "The process to record."},
    {"for", 0, "TIME", "How long: 10s, 500ms, 2m. Default: until Ctrl-C or the end of the process."},
    {"no-children", 0, NULL, "Leave out the processes that it has started or will start."},
    {"verbose", 'v', NULL, "Show all sections that have data, with all notes, instead of the short report."},
    {"tree", 't', NULL, "Also show the call tree."},
};

const struct hp_command hp_command_record = {
    .name = "record",
    .group = HP_GROUP_RECORD,
    .operands = "-p PID",
    .operand = HP_OPERAND_NONE,
    .summary = "Records a running process and prints a report.",
    .details = "Stacks are sampled from outside; the process is not modified. The report shows which\n"
               "functions use CPU time, which wait, and for what, in this process and all that descend\n"
               "from it, also later. Recording ends with Ctrl-C, after the time given by --for, or when\n"
               "the process ends. If the kernel does not permit some of this, a message says how to\n"
               "allow it.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_SHOW | HP_SCOPE_OUTPUT | HP_SCOPE_FOLDER | HP_SCOPE_NAMES,
    .run = start,
};
