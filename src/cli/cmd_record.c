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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "attached.h"
#include "clock.h"
#include "collector.h"
#include "command.h"
#include "debug_servers.h"
#include "files.h"
#include "launch.h"
#include "process.h"
#include "report_output.h"
#include "run_folder.h"
#include "run_observer.h"
#include "sessions.h"
#include "units.h"

#define LOOK_NS UINT64_C(50000000)

struct recording {
    const struct hp_arguments *arguments;
    struct hp_settings settings;
    char folder[HP_RUN_FOLDER];
    uint32_t pid;
    uint64_t for_ns; /* 0: until interrupted */
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
    return -1;
}

/* ---------------------------------------------------------------------------------------------- permissions */

static void read_setting(const char *path, char *text, size_t size)
{
    if (!hp_file_read_text(path, text, size))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static bool is_of_another_user(uint32_t pid)
{
    char path[HP_TASK_PATH];
    struct stat status;
    return geteuid() != 0 && stat(hp_task_path(path, pid, 0, "stat"), &status) == 0 && status.st_uid != geteuid();
}

/* Whether the kernel shows where its threads wait. */
static bool shows_waiting(uint32_t pid)
{
    char text[256];
    return hp_task_read(pid, hp_task_spokesman(pid), "syscall", text, sizeof text);
}

static void explain_no_samples(void)
{
    char paranoia[16];
    read_setting("/proc/sys/kernel/perf_event_paranoid", paranoia, sizeof paranoia);
    if (paranoia[0] != '\0' && strtol(paranoia, NULL, 10) > 2)
        hp_fail("CPU time is not sampled: kernel.perf_event_paranoid is %s; run 'sysctl "
                "kernel.perf_event_paranoid=2' as root, or use sudo",
                paranoia);
    else
        hp_fail("CPU time is not sampled: perf is not allowed, as in many containers, or the process has too many "
                "threads");
}

static void explain_no_waiting(void)
{
    char scope[16];
    read_setting("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    if (scope[0] != '\0' && scope[0] != '0')
        hp_fail("waits are not recorded: kernel.yama.ptrace_scope is %s; run 'sysctl "
                "kernel.yama.ptrace_scope=0' as root, or use sudo",
                scope);
    else
        hp_fail("waits are not recorded: the process has privileges that you do not have, or is not dumpable; use "
                "sudo");
}

/* False, with lines that say why: nothing of it can be observed. */
static bool explain(const struct recording *recording, bool has_samples, bool has_waiting)
{
    if (!has_samples && !has_waiting && is_of_another_user(recording->pid)) {
        hp_fail("process %u belongs to another user: use sudo", (unsigned)recording->pid);
        return false;
    }
    if (!has_samples)
        explain_no_samples();
    if (!has_waiting)
        explain_no_waiting();
    if (!has_samples && !has_waiting)
        hp_fail("nothing can be recorded about process %u", (unsigned)recording->pid);
    return has_samples || has_waiting;
}

/* --------------------------------------------------------------------------------------------- recording */

/* perf needs one descriptor per thread and CPU. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Until we are interrupted, the time is over or the process has ended. */
static void wait_for_end(const struct recording *recording)
{
    const uint64_t ending = hp_held_bit(SIGINT) | hp_held_bit(SIGTERM) | hp_held_bit(SIGHUP) | hp_held_bit(SIGQUIT);
    const uint64_t began = hp_clock_monotonic_ns();
    siginfo_t info;
    while (hp_attached_look()) {
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

static int record(struct recording *recording)
{
    if (!hp_run_folder_make(&recording->settings, recording->folder))
        return hp_fail("no directory for sessions can be used: %s; give one with --dir", strerror(errno));
    const uint64_t before = hp_held_begin();
    if (!hp_attached_begin(recording->folder, recording->pid)) {
        hp_fail("cannot store the recording in '%s': %s", recording->folder, strerror(errno));
        return give_up(recording);
    }
    const bool has_samples = hp_collector_attach(recording->pid, HP_STACK_PERIOD_NS);
    if (!explain(recording, has_samples, shows_waiting(recording->pid)))
        return give_up(recording);
    hp_run_observer_start(recording->folder,
                          &(struct hp_run_observer_settings){.has_waits = true,
                                                             .has_stacks = hp_collector_is_begun(),
                                                             .attached = recording->pid});
    if (recording->for_ns == 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "hotpath: recording process %u until Ctrl-C\n", (unsigned)recording->pid);
    wait_for_end(recording);
    hp_run_observer_end();
    hp_attached_end();
    hp_run_folder_keep_stacks(recording->folder);
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
    if (recording.settings.output.format == HP_FORMAT_NONE)
        recording.settings.output.format = HP_FORMAT_TABLE;
    if (kill((pid_t)recording.pid, 0) != 0 && errno == ESRCH)
        return hp_fail("there is no process %u", (unsigned)recording.pid);
    if (recording.pid == (uint32_t)getpid())
        return hp_fail("hotpath cannot record itself");
    allow_descriptors();
    return record(&recording);
}

static const struct hp_flag flags[] = {
    {"pid", 'p', "PID", "The process to record."},
    {"for", 0, "TIME", "How long: 10s, 500ms, 2m. Default: until Ctrl-C or the end of the process."},
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
               "functions use CPU time, which wait, and for what. Recording ends with Ctrl-C, after\n"
               "the time given by --for, or when the process ends. If the kernel does not permit\n"
               "some of this, a message says how to allow it.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_SHOW | HP_SCOPE_OUTPUT | HP_SCOPE_FOLDER | HP_SCOPE_NAMES,
    .run = start,
};
