/*
 * hotpath doctor: what works on this machine, and for what does not, one line that fixes it. Every check is one
 * function and one line in the table. SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"
#include "command.h"
#include "cpu.h"
#include "cpu_profile.h"
#include "demangle.h"
#include "files.h"
#include "instruction_engine.h"
#include "layout.h"
#include "process.h"
#include "program_file.h"
#include "session_dirs.h"
#include "signals.h"
#include "text.h"
#include "trust.h"
#include "units.h"

enum health { GOOD, NOTE, BAD };

struct finding {
    enum health health;
    char fact[300];
    char remedy[300]; /* "" if there is nothing to do */
};

struct doctor {
    struct hp_settings settings;
    struct finding finding; /* of the running check */
};

static void find(struct doctor *doctor, enum health health, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void find(struct doctor *doctor, enum health health, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    doctor->finding.health = health;
    vsnprintf(doctor->finding.fact, sizeof doctor->finding.fact, format, values);
    va_end(values);
}

static void advise(struct doctor *doctor, const char *remedy)
{
    snprintf(doctor->finding.remedy, sizeof doctor->finding.remedy, "%s", remedy);
}

/* ----------------------------------------------------------------------------------------------- checks */

static void check_system(struct doctor *doctor)
{
    char system[200];
    hp_process_system(system, sizeof system);
    find(doctor, GOOD, "%s, %u cores", system, (unsigned)hp_process_cores());
}

static void check_instructions(struct doctor *doctor)
{
    char by_qemu[200], by_cpu[200];
    const bool has_qemu = hp_instruction_engine_is_there(by_qemu, sizeof by_qemu);
    hp_cpu_counter_explain(by_cpu, sizeof by_cpu);
    if (has_qemu)
        find(doctor, GOOD, "can be counted exactly (%s), and %s", by_qemu,
             by_cpu[0] == '\0' ? "by the CPU" : "not by the CPU");
    else if (by_cpu[0] == '\0')
        find(doctor, GOOD, "can be counted by the CPU, not exactly; not by QEMU: %s", by_qemu);
    else
        find(doctor, NOTE, "cannot be counted: %s; %s", by_qemu, by_cpu);
    if (!has_qemu)
        advise(doctor, "to count them exactly: apt-get install qemu-user");
}

static double counter_hz(enum hp_counter counter)
{
    uint64_t ticks[2], ns[2];
    hp_clock_pair(counter, &ticks[0], &ns[0]);
    usleep(20000);
    hp_clock_pair(counter, &ticks[1], &ns[1]);
    return ns[1] > ns[0] ? 1e9 * (double)(ticks[1] - ticks[0]) / (double)(ns[1] - ns[0]) : 0;
}

static void check_clock(struct doctor *doctor)
{
    const enum hp_counter counter = hp_clock_counter();
    char source[64] = "?", rate[32];
    struct hp_text text;
    hp_file_read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    source[strcspn(source, "\n")] = '\0';
    if (counter == HP_COUNTER_NONE) {
        find(doctor, NOTE,
             "the CPU's cycle counter is unreliable (kernel uses '%s'): zones use clock_gettime and cost more",
             source);
        advise(doctor, "if the hardware has an invariant counter, boot with: clocksource=tsc tsc=reliable");
        return;
    }
    hp_text_init(&text, rate, sizeof rate);
    hp_units_hz(&text, counter_hz(counter));
    hp_text_end(&text);
    find(doctor, GOOD, "%s at %s, reliable (kernel uses '%s')", hp_trust_clock_name(hp_clock_kind_of(counter)),
         rate, source);
}

/* The first folder in which a session could be created. */
static bool usable_place(const struct hp_settings *settings, char *place, size_t size)
{
    for (unsigned n = 0; hp_session_dir(&settings->record, n, place, size); n++)
        if (hp_session_dir_is_usable(place))
            return true;
    return false;
}

#define TMPFS 0x01021994
#define RAMFS 0x858458f6

static void check_sessions(struct doctor *doctor)
{
    char place[1200], room[32];
    struct statfs system;
    struct hp_text text;
    if (!usable_place(&doctor->settings, place, sizeof place)) {
        find(
            doctor, BAD,
            "no directory for sessions can be used: programs keep sessions in memory, where other processes cannot "
            "read them");
        advise(doctor, "mkdir -m 700 ~/.hotpath && export HOTPATH_DIR=~/.hotpath");
        return;
    }
    const uint64_t free_bytes = hp_file_free_bytes(place);
    hp_text_init(&text, room, sizeof room);
    hp_units_bytes(&text, free_bytes);
    hp_text_end(&text);
    const bool is_memory =
        statfs(place, &system) == 0 && (system.f_type == TMPFS || (uint32_t)system.f_type == RAMFS);
    find(doctor, is_memory && free_bytes > (4u << 20) ? GOOD : NOTE, "%s, %s, %s free", place,
         is_memory ? "in memory" : "on a disk", room);
    if (!is_memory && getenv("HOTPATH_DIR") != NULL)
        advise(doctor, "a directory in memory is faster: unset HOTPATH_DIR, or set it to one on tmpfs");
    else if (!is_memory)
        advise(doctor, "a directory in memory is faster: mount -t tmpfs tmpfs /dev/shm, or set HOTPATH_DIR to one");
    else if (free_bytes <= (4u << 20))
        advise(doctor, "hotpath clean");
}

static void check_library(struct doctor *doctor)
{
    char name[64];
    snprintf(name, sizeof name, "libhotpath.so.%d", HOTPATH_VERSION_MAJOR);
    unsetenv("HOTPATH"); /* or hotpath would start to record this process */
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    const char *(*version)(void) = NULL;
    if (library != NULL)
        *(void **)&version = dlsym(library, "hotpath_version");
    char path[PATH_MAX], remedy[sizeof doctor->finding.remedy];
    if (version == NULL && hp_installed_find(name, path, sizeof path)) {
        *strrchr(path, '/') = '\0';
        find(doctor, NOTE, "%s is not in the library path, but in %s", name, path);
        snprintf(remedy, sizeof remedy, "link programs with -Wl,-rpath,%.200s, or with libhotpath.a", path);
        advise(doctor, remedy);
    } else if (version == NULL) {
        find(doctor, NOTE, "%s is not in the library path", name);
        advise(doctor, "install it with ./dev install and run ldconfig, or link libhotpath.a");
    } else if (strcmp(version(), HOTPATH_VERSION) != 0) {
        find(doctor, NOTE, "%s is version %s, this program is version " HOTPATH_VERSION, name, version());
        advise(doctor, "install both from the same source");
    } else {
        find(doctor, GOOD, "%s, version " HOTPATH_VERSION, name);
    }
}

static void check_demangler(struct doctor *doctor)
{
    const char *library = hp_demangle_library();
    if (library != NULL) {
        find(doctor, GOOD, "C++ function names are demangled (%s)", library);
        return;
    }
    find(doctor, NOTE, "C++ names of functions instrumented by the compiler are not demangled");
    advise(doctor, "install libstdc++.so.6 (package libstdc++6) or libc++abi.so.1");
}

static void check_barrier(struct doctor *doctor)
{
#ifdef SYS_membarrier
    const long commands = syscall(SYS_membarrier, 0, 0, 0);
#else
    const long commands = -1;
#endif
    if (commands > 0)
        find(doctor, GOOD, "membarrier works: hotpath_stop can end a session while threads record");
    else
        find(doctor, NOTE, "the kernel has no membarrier: hotpath_stop cannot free the memory of a session");
}

/* --- CPU time: both sources of samples, tried out on this thread */

#define TRIED_RATE 997u
#define TRIED_NS UINT64_C(100000000)

static volatile sig_atomic_t samples[4]; /* by enum hp_cpu_source */
static char samples_mark[1];             /* identifies the signals of our timer */
static struct hp_taken_signal samples_signal;

static void count_sample(int signal, siginfo_t *info, void *context)
{
    const enum hp_cpu_source source = hp_cpu_source_of(info, samples_mark);
    if (source == HP_CPU_BY_OTHERS)
        hp_private_signal_pass_on(&samples_signal, signal, info, context);
    samples[source]++;
}

static void compute_a_while(void)
{
    const uint64_t until = hp_cpu_of_thread().ns + TRIED_NS;
    while (hp_cpu_of_thread().ns < until)
        for (volatile unsigned step = 0; step < 50000; step++)
            ;
}

static unsigned rate_of(enum hp_cpu_source source)
{
    return (unsigned)((uint64_t)samples[source] * UINT64_C(1000000000) / TRIED_NS);
}

/*
 * Counts samples in `samples`. `*ret_refusal`: the errno with which perf was refused, or 0. False: timers do not
 * work either.
 */
static bool try_sampling(int *ret_refusal)
{
    const int signal = hp_private_signal_number(HP_SIGNAL_HERE);
    int timer;
    hp_private_signal_take(&samples_signal, HP_SIGNAL_HERE, count_sample);
    hp_private_signal_guard_io();
    const bool has_timer =
        hp_cpu_timer_start(&timer, signal, samples_mark, 1000000000u / TRIED_RATE, 1000000000u / TRIED_RATE);
    void *perf = hp_cpu_perf_start(signal, 1000000000u / TRIED_RATE, HP_CPU_MOST_SAMPLES, ret_refusal);
    compute_a_while();
    hp_cpu_perf_stop(perf);
    if (has_timer)
        hp_cpu_timer_stop(timer);
    return has_timer || perf != NULL;
}

static void check_cpu(struct doctor *doctor)
{
    char paranoia[16] = "?";
    int refusal;
    hp_file_read_text("/proc/sys/kernel/perf_event_paranoid", paranoia, sizeof paranoia);
    paranoia[strcspn(paranoia, "\n")] = '\0';
    if (!try_sampling(&refusal)) {
        find(doctor, NOTE, "CPU time cannot be sampled: neither perf (%s) nor timers are allowed",
             strerror(refusal));
        advise(doctor, "allow timer_create and perf_event_open in the container");
    } else if (refusal == 0) {
        find(doctor, GOOD,
             "CPU time is sampled by perf (%u of %u samples per second, perf_event_paranoid %s) and timers (%u)",
             rate_of(HP_CPU_BY_PERF), TRIED_RATE, paranoia, rate_of(HP_CPU_BY_TIMER));
    } else {
        find(doctor, NOTE,
             "CPU time and stacks are sampled by timers only: %u of %u samples per second, on kernel ticks; perf: "
             "%s (perf_event_paranoid %s)",
             rate_of(HP_CPU_BY_TIMER), TRIED_RATE, strerror(refusal), paranoia);
        advise(doctor, hp_cpu_advice((uint32_t)refusal));
    }
}

/* --- waiting: what `hotpath run` may see of a child */

static pid_t start_sleeper(void)
{
    const pid_t child = fork();
    if (child == 0) {
        sleep(10);
        _exit(0);
    }
    return child;
}

/* Waits until the child sleeps. */
static void wait_for_sleep(pid_t child)
{
    uint64_t start;
    for (int tries = 0; tries < 100 && hp_task_state((uint32_t)child, 0, &start) != 'S'; tries++)
        usleep(1000);
}

static void check_waits(struct doctor *doctor)
{
    char call[128] = "", account[128] = "";
    const pid_t child = start_sleeper();
    if (child < 0) {
        find(doctor, NOTE, "cannot test whether waits are visible: %s", strerror(errno));
        return;
    }
    wait_for_sleep(child);
    const bool has_account = hp_task_read((uint32_t)child, 0, "schedstat", account, sizeof account);
    const bool has_call = hp_task_read((uint32_t)child, 0, "syscall", call, sizeof call) && call[0] != '\0';
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (!has_account) {
        find(doctor, NOTE, "waits cannot be recorded: this kernel has no schedstat");
        advise(doctor, "use a kernel with CONFIG_SCHED_INFO");
    } else if (!has_call) {
        find(doctor, NOTE, "waits can be recorded, but not the system calls that threads wait in");
        advise(doctor, "sysctl kernel.yama.ptrace_scope=1");
    } else {
        find(doctor, GOOD, "hotpath run records what programs wait for: system calls, files, the run queue");
    }
}

/* Whether a resource limit is below what a session needs. */
static bool is_below(int resource, uint64_t least, struct rlimit *ret_limit)
{
    return getrlimit(resource, ret_limit) == 0 && ret_limit->rlim_cur != RLIM_INFINITY &&
           ret_limit->rlim_cur < least;
}

static void check_limits(struct doctor *doctor)
{
    struct rlimit limit;
    if (is_below(RLIMIT_FSIZE, 64u << 20, &limit)) {
        find(doctor, NOTE, "files are limited to %llu bytes: sessions cannot grow beyond that",
             (unsigned long long)limit.rlim_cur);
        advise(doctor, "ulimit -f unlimited");
    } else if (is_below(RLIMIT_AS, 256u << 20, &limit)) {
        find(doctor, NOTE, "the address space is limited to %llu bytes: sessions cannot reach their usual size",
             (unsigned long long)limit.rlim_cur);
        advise(doctor, "ulimit -v unlimited");
    } else {
        find(doctor, GOOD, "file size and address space limits are high enough");
    }
}

static void check_proc(struct doctor *doctor)
{
    if (hp_process_start_time(0) != 0) {
        find(doctor, GOOD, "/proc shows which processes are running");
        return;
    }
    find(doctor, BAD, "cannot read /proc: running sessions cannot be distinguished from crashed ones");
    advise(doctor, "mount -t proc proc /proc");
}

static bool is_called(const char *variable, const char *name, size_t length)
{
    return variable != NULL && strlen(variable) == length && strncmp(variable, name, length) == 0;
}

/* A misspelt variable has no effect and causes no warning. */
static void check_environment(struct doctor *doctor)
{
    extern char **environ;
    char unknown[200] = "";
    size_t set = 0;
    for (char **at = environ; *at != NULL; at++) {
        const size_t length = strcspn(*at, "=");
        bool is_known = false;
        if (strncmp(*at, "HOTPATH", 7) != 0)
            continue;
        for (size_t option = 0; option < hp_option_count; option++)
            is_known |= is_called(hp_options[option].variable, *at, length) ||
                        is_called(hp_options[option].other_variable, *at, length);
        set++;
        if (!is_known && strlen(unknown) + length + 2 < sizeof unknown)
            snprintf(unknown + strlen(unknown), sizeof unknown - strlen(unknown), " %.*s", (int)length, *at);
    }
    if (unknown[0] != '\0') {
        find(doctor, NOTE, "unknown variables:%s", unknown);
        advise(doctor, "hotpath help environment");
    } else {
        find(doctor, GOOD, "%zu hotpath variable%s %s set", set, set == 1 ? "" : "s", set == 1 ? "is" : "are");
    }
}

/* ---------------------------------------------------------------------------------------------- command */

static const struct {
    const char *name;
    void (*check)(struct doctor *doctor);
} checks[] = {
    /* Before the library, whose check changes the environment. */
    {"system", check_system},   {"environment", check_environment},
    {"clock", check_clock},     {"sessions", check_sessions},
    {"library", check_library}, {"names", check_demangler},
    {"threads", check_barrier}, {"cpu", check_cpu},
    {"waits", check_waits},     {"instructions", check_instructions},
    {"limits", check_limits},   {"proc", check_proc},
};

static int examine(const struct hp_arguments *arguments)
{
    static struct doctor doctor;
    static const char *const words[] = {[GOOD] = "ok", [NOTE] = "note", [BAD] = "BAD"};
    int status = EXIT_DONE;
    hp_arguments_settle(arguments, &doctor.settings);
    for (size_t at = 0; at < sizeof checks / sizeof checks[0]; at++) {
        memset(&doctor.finding, 0, sizeof doctor.finding);
        checks[at].check(&doctor);
        printf("%-4s  %-12s %s\n", words[doctor.finding.health], checks[at].name, doctor.finding.fact);
        if (doctor.finding.remedy[0] != '\0')
            printf("%19sfix: %s\n", "", doctor.finding.remedy);
        if (doctor.finding.health == BAD)
            status = EXIT_FAILED;
    }
    return status;
}

const struct hp_command hp_command_doctor = {
    .name = "doctor",
    .group = HP_GROUP_CONTROL,
    .operands = "",
    .summary = "Checks what works on this machine and suggests fixes.",
    .details = "Exits with 1 if something essential does not work.\n",
    .scopes = HP_SCOPE_FOLDER,
    .run = examine,
};
