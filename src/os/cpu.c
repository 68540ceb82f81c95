/* CPU time, by system calls alone. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* registers in ucontext_t, F_SETSIG */
#include "cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>

#include "raw_call.h"

#define SECOND UINT64_C(1000000000)

/* ------------------------------------------------------------------------------------------------ clocks */

/* The kernel's structs, where the C library's are newer: on 32-bit machines 64-bit time is another system call. */
#if defined SYS_timer_settime
#define SET_TIMER SYS_timer_settime
typedef long kernel_word;
#elif defined SYS_timer_settime32
#define SET_TIMER SYS_timer_settime32
typedef long kernel_word;
#else
#define SET_TIMER SYS_timer_settime64
typedef int64_t kernel_word;
#endif

struct kernel_timespec {
    kernel_word seconds, nanoseconds;
};

struct kernel_timerspec {
    struct kernel_timespec interval, value;
};

/* The kernel's layout: two times and fourteen counters. */
struct kernel_usage {
    struct {
        long seconds, microseconds;
    } user, kernel;
    long counters[14];
};
enum { VOLUNTARY = 12, INVOLUNTARY = 13 };

static struct hp_cpu_time read_time(clockid_t clock, int who)
{
    struct kernel_usage usage;
    struct hp_cpu_time time = {.ns = hp_raw_clock(clock)};
    if (hp_raw(SYS_getrusage, who, &usage) == 0) {
        time.kernel_ns = (uint64_t)usage.kernel.seconds * SECOND + (uint64_t)usage.kernel.microseconds * 1000u;
        time.waits = (uint64_t)usage.counters[VOLUNTARY];
        time.switches = time.waits + (uint64_t)usage.counters[INVOLUNTARY];
    }
    if (time.kernel_ns > time.ns)
        time.kernel_ns = time.ns;
    return time;
}

struct hp_cpu_time hp_cpu_of_thread(void)
{
    const uint64_t wall_ns = hp_raw_clock(CLOCK_MONOTONIC);
    struct hp_cpu_time time = read_time(CLOCK_THREAD_CPUTIME_ID, RUSAGE_THREAD);
    time.wall_ns = wall_ns;
    return time;
}

struct hp_cpu_time hp_cpu_of_process(void) { return read_time(CLOCK_PROCESS_CPUTIME_ID, RUSAGE_SELF); }

/* ------------------------------------------------------------------------------------------------ timers */

/* The kernel's layout: C libraries name the last member differently. */
struct kernel_sigevent {
    union sigval value;
    int signal;
    int notify;
    int thread;
    char padding[64];
};

static struct kernel_timespec as_timespec(uint64_t ns)
{
    return (struct kernel_timespec){(kernel_word)(ns / SECOND), (kernel_word)(ns % SECOND)};
}

static bool set_timer(int timer, uint64_t first_ns, uint64_t period_ns)
{
    const struct kernel_timerspec when = {as_timespec(period_ns), as_timespec(first_ns > 0 ? first_ns : 1)};
    return hp_raw(SET_TIMER, timer, 0, &when, NULL) == 0;
}

bool hp_cpu_timer_start(int *ret_timer, int signal, void *owner, uint64_t first_ns, uint64_t period_ns)
{
    struct kernel_sigevent event = {.value.sival_ptr = owner,
                                    .signal = signal,
                                    .notify = SIGEV_THREAD_ID,
                                    .thread = (int)hp_raw(SYS_gettid, 0)};
    if (hp_raw(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, ret_timer) != 0)
        return false;
    if (set_timer(*ret_timer, first_ns, period_ns))
        return true;
    hp_cpu_timer_stop(*ret_timer);
    return false;
}

void hp_cpu_timer_change(int timer, uint64_t first_ns, uint64_t period_ns)
{
    set_timer(timer, first_ns, period_ns);
}

void hp_cpu_timer_pause(int timer)
{
    const struct kernel_timerspec never = {as_timespec(0), as_timespec(0)};
    hp_raw(SET_TIMER, timer, 0, &never, NULL);
}

void hp_cpu_timer_stop(int timer) { hp_raw(SYS_timer_delete, timer); }

/* -------------------------------------------------------------------------------------------------- perf */

/* User mode only, even if more is allowed: a signal raised in the kernel can interrupt a sleep. */
static long open_event(uint64_t period_ns)
{
    const struct perf_event_attr event = {.size = sizeof event,
                                          .type = PERF_TYPE_SOFTWARE,
                                          .config = PERF_COUNT_SW_CPU_CLOCK,
                                          .sample_period = period_ns,
                                          .exclude_kernel = 1,
                                          .exclude_hv = 1,
                                          .wakeup_events = 1,
                                          .disabled = 1};
    return hp_raw(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static long send_signals(long fd, int signal)
{
    const struct {
        int type, id;
    } owner = {F_OWNER_TID, (int)hp_raw(SYS_gettid, 0)};
    long status = hp_raw(HP_SYS_FCNTL, fd, F_SETOWN_EX, &owner);
    if (status == 0)
        status = hp_raw(HP_SYS_FCNTL, fd, F_SETSIG, signal);
    return status == 0 ? hp_raw(HP_SYS_FCNTL, fd, F_SETFL, O_ASYNC | O_NONBLOCK) : status;
}

/*
 * If few signals may be queued, the kernel would send others instead (signals.h). Timers preallocate theirs.
 */
#define LEAST_QUEUE 16u

uint64_t hp_cpu_queue(void) { return hp_raw_limit(RLIMIT_SIGPENDING); }

/* `samples` 0: it never fires. */
static void *start_event(int signal, uint64_t period_ns, long samples, int *ret_refusal)
{
    const long fd = open_event(period_ns);
    long mapping = fd < 0 ? fd : signal != 0 ? send_signals(fd, signal) : 0;
    if (mapping == 0)
        mapping = hp_raw_map_event(fd);
    if (samples > 0 && !hp_raw_is_error(mapping))
        hp_raw(SYS_ioctl, fd, PERF_EVENT_IOC_REFRESH, samples);
    if (fd >= 0)
        hp_raw(SYS_close, fd);
    *ret_refusal = hp_raw_is_error(mapping) ? (int)-mapping : 0;
    return hp_raw_is_error(mapping) ? NULL : (void *)mapping;
}

void *hp_cpu_perf_start(int signal, uint64_t period_ns, uint32_t samples, int *ret_refusal)
{
    if (hp_cpu_queue() >= LEAST_QUEUE)
        return start_event(signal, period_ns, (long)(samples < HP_CPU_MOST_SAMPLES ? samples : HP_CPU_MOST_SAMPLES),
                           ret_refusal);
    *ret_refusal = EAGAIN;
    return NULL;
}

void hp_cpu_perf_stop(void *mapping)
{
    if (mapping != NULL)
        hp_raw(SYS_munmap, mapping, HP_LEAST_PAGE);
}

#define WEIGHED 5u
#define WEIGHED_NS 12000u       /* between two interrupts */
#define WEIGHED_READINGS 20000u /* at most, if none arrive */
#define PAUSED_NS 60000u        /* later than any pause, and earlier than other events of the kernel's clock */

static void sort_in(uint64_t *sorted, uint32_t count, uint64_t value)
{
    while (count > 0 && sorted[count - 1] > value) {
        sorted[count] = sorted[count - 1];
        count--;
    }
    sorted[count] = value;
}

static uint64_t weigh_interrupt(enum hp_counter counter, uint64_t step)
{
    uint64_t gaps[WEIGHED];
    uint32_t count = 0;
    const long fd = open_event(WEIGHED_NS);
    if (fd < 0)
        return 0;
    hp_raw(SYS_ioctl, fd, PERF_EVENT_IOC_REFRESH, 2 * WEIGHED);
    uint64_t before = hp_clock_ticks_raw(counter);
    for (uint32_t readings = 0; readings < WEIGHED_READINGS && count < WEIGHED; readings++) {
        const uint64_t now = hp_clock_ticks_raw(counter);
        if (now - before > step)
            sort_in(gaps, count++, now - before);
        before = now;
    }
    hp_raw(SYS_close, fd);
    return count == WEIGHED ? gaps[WEIGHED / 2] : 0;
}

/* To start an event, the kernel stops and restarts all events of the thread: two pauses. */
static uint64_t weigh_pause(enum hp_counter counter)
{
    uint64_t pauses[WEIGHED];
    const long fd = open_event(PAUSED_NS);
    if (fd < 0)
        return 0;
    hp_raw(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
    for (uint32_t count = 0; count < WEIGHED; count++) {
        const uint64_t before = hp_clock_ticks_raw(counter);
        hp_raw(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0);
        hp_raw(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
        sort_in(pauses, count, hp_clock_ticks_raw(counter) - before);
    }
    hp_raw(SYS_close, fd);
    return pauses[WEIGHED / 2] / 2;
}

struct hp_cpu_perf_weight hp_cpu_perf_weigh(enum hp_counter counter, uint64_t step)
{
    const uint64_t interrupt = weigh_interrupt(counter, step);
    return (struct hp_cpu_perf_weight){.interrupt = interrupt, .pause = interrupt > 0 ? weigh_pause(counter) : 0};
}

int hp_cpu_perf_prepare(void **ret_mapping)
{
    int refusal;
    *ret_mapping = start_event(0, SECOND, 0, &refusal);
    return refusal;
}

/* ----------------------------------------------------------------------------------------------- signals */

void hp_cpu_timer_pretend(int signal, void *owner)
{
    siginfo_t info = {.si_signo = signal, .si_code = SI_TIMER};
    info.si_value.sival_ptr = owner;
    hp_raw(SYS_rt_tgsigqueueinfo, hp_raw(SYS_getpid, 0), hp_raw(SYS_gettid, 0), signal, &info);
}

enum hp_cpu_source hp_cpu_source_of(const void *info, const void *owner)
{
    const siginfo_t *sent = info;
    switch (sent->si_code) {
    case SI_TIMER:
        return sent->si_value.sival_ptr == owner ? HP_CPU_BY_TIMER : HP_CPU_BY_OTHERS;
    case POLL_IN:
        return HP_CPU_BY_PERF;
    case POLL_HUP:
        return HP_CPU_BY_ENDING_PERF;
    default:
        return HP_CPU_BY_OTHERS;
    }
}

uintptr_t hp_cpu_stack_of(const void *context)
{
    const ucontext_t *interrupted = context;
#if defined __x86_64__
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RSP];
#elif defined __i386__
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_ESP];
#elif defined __aarch64__
    return (uintptr_t)interrupted->uc_mcontext.sp;
#elif defined __arm__
    return (uintptr_t)interrupted->uc_mcontext.arm_sp;
#elif defined __riscv
    return (uintptr_t)interrupted->uc_mcontext.__gregs[REG_SP];
#else
    (void)interrupted;
    return 0;
#endif
}

/* The next instruction of the interrupted thread; 0: unknown on this machine. */
static uintptr_t instruction_of(const ucontext_t *interrupted)
{
#if defined __x86_64__
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
#elif defined __i386__
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_EIP];
#elif defined __aarch64__
    return (uintptr_t)interrupted->uc_mcontext.pc;
#elif defined __riscv
    return (uintptr_t)interrupted->uc_mcontext.__gregs[REG_PC];
#else
    (void)interrupted;
    return 0;
#endif
}

/* The encoding of instructions that enter the kernel. */
#if defined __x86_64__ || defined __i386__
#define CALL_BYTES 2u
static bool is_call(const unsigned char *bytes)
{
    const bool is_syscall = bytes[0] == 0x0f && (bytes[1] == 0x05 || bytes[1] == 0x34);
    return is_syscall || (bytes[0] == 0xcd && bytes[1] == 0x80); /* syscall, sysenter, int 0x80 */
}
#elif defined __aarch64__
#define CALL_BYTES 4u
static bool is_call(const unsigned char *bytes)
{
    return bytes[0] == 0x01 && bytes[1] == 0x00 && bytes[2] == 0x00 && bytes[3] == 0xd4; /* svc 0 */
}
#elif defined __riscv
#define CALL_BYTES 4u
static bool is_call(const unsigned char *bytes)
{
    return bytes[0] == 0x73 && bytes[1] == 0x00 && bytes[2] == 0x00 && bytes[3] == 0x00; /* ecall */
}
#else
#define CALL_BYTES 1u
static bool is_call(const unsigned char *bytes)
{
    (void)bytes;
    return false;
}
#endif

/*
 * `syscall` leaves the address after it in rcx, and flags in r11. If a call is to be restarted, the address is
 * before it.
 */
static bool is_behind_call(const ucontext_t *interrupted, uintptr_t next)
{
#if defined __x86_64__
    const uintptr_t behind = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RCX];
    if ((behind == next || behind == next + CALL_BYTES) &&
        interrupted->uc_mcontext.gregs[REG_R11] == interrupted->uc_mcontext.gregs[REG_EFL])
        return true;
#else
    (void)interrupted;
#endif
    const uintptr_t before = next - CALL_BYTES;
    const bool is_one_page = (before & (HP_LEAST_PAGE - 1)) + CALL_BYTES <= HP_LEAST_PAGE;
    return is_one_page && hp_raw_can_read(before) && is_call((const unsigned char *)before);
}

enum hp_cpu_mode hp_cpu_mode_of(const void *context)
{
    const uintptr_t next = instruction_of(context);
    if (next == 0)
        return HP_CPU_MODE_UNKNOWN;
    return is_behind_call(context, next) ? HP_CPU_KERNEL : HP_CPU_USER;
}

struct hp_stack hp_cpu_alternate_of(const void *context)
{
    const stack_t *set = &((const ucontext_t *)context)->uc_stack;
    const uintptr_t low = (uintptr_t)set->ss_sp;
    return set->ss_flags & SS_DISABLE ? (struct hp_stack){0, 0} : (struct hp_stack){low, low + set->ss_size};
}

/* Since then a timer that fires during a system call does not interrupt it: the signal is delivered on return. */
#if defined __aarch64__
enum { LEAST_MAJOR = 6, LEAST_MINOR = 1 };
#else
enum { LEAST_MAJOR = 5, LEAST_MINOR = 10 };
#endif

bool hp_cpu_timers_are_harmless(void)
{
    struct utsname system;
    char *end;
    if (uname(&system) != 0)
        return false;
    const unsigned long major = strtoul(system.release, &end, 10),
                        minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > LEAST_MAJOR || (major == LEAST_MAJOR && minor >= LEAST_MINOR);
}
