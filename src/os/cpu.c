/* Processor time, by system calls alone. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* registers in ucontext_t, F_SETSIG */
#include "cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <ucontext.h>

#include "sys.h"

#define SECOND UINT64_C(1000000000)

/* ------------------------------------------------------------------------------------------------ clocks */

/* As the kernel has them where the C library's are newer: 64 bits of time on machines of 32 are another system call. */
struct kernel_timespec {
    long seconds, nanoseconds;
};

struct kernel_timerspec {
    struct kernel_timespec interval, value;
};

#ifdef SYS_clock_gettime
#define READ_CLOCK SYS_clock_gettime
#define SET_TIMER SYS_timer_settime
#else
#define READ_CLOCK SYS_clock_gettime64
#define SET_TIMER SYS_timer_settime64
#endif

static uint64_t read_clock(clockid_t clock)
{
    struct kernel_timespec now = {0, 0};
    syscall(READ_CLOCK, clock, &now);
    return (uint64_t)now.seconds * SECOND + (uint64_t)now.nanoseconds;
}

static struct hp_cpu_time read_time(clockid_t clock, int who)
{
    struct rusage usage;
    struct hp_cpu_time time = {.ns = read_clock(clock)};
    if (getrusage(who, &usage) == 0)
        time.kernel_ns = (uint64_t)usage.ru_stime.tv_sec * SECOND + (uint64_t)usage.ru_stime.tv_usec * 1000u;
    if (time.kernel_ns > time.ns)
        time.kernel_ns = time.ns;
    return time;
}

struct hp_cpu_time hp_cpu_of_thread(void) { return read_time(CLOCK_THREAD_CPUTIME_ID, RUSAGE_THREAD); }

struct hp_cpu_time hp_cpu_of_process(void) { return read_time(CLOCK_PROCESS_CPUTIME_ID, RUSAGE_SELF); }

/* ------------------------------------------------------------------------------------------------ timers */

/* The kernel's own: the C library's names for the last member differ. */
struct kernel_sigevent {
    union sigval value;
    int signal;
    int notify;
    int thread;
    char padding[64];
};

static struct kernel_timespec as_timespec(uint64_t ns)
{
    return (struct kernel_timespec){(long)(ns / SECOND), (long)(ns % SECOND)};
}

static bool set_timer(int timer, uint64_t first_ns, uint64_t period_ns)
{
    const struct kernel_timerspec when = {as_timespec(period_ns), as_timespec(first_ns > 0 ? first_ns : 1)};
    return syscall(SET_TIMER, timer, 0, &when, NULL) == 0;
}

bool hp_cpu_timer_start(int *ret_timer, void *owner, uint64_t first_ns, uint64_t period_ns)
{
    struct kernel_sigevent event;
    memset(&event, 0, sizeof event);
    event.value.sival_ptr = owner;
    event.signal = HP_CPU_SIGNAL;
    event.notify = SIGEV_THREAD_ID;
    event.thread = (int)hp_sys_thread_id();
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, ret_timer) != 0)
        return false;
    if (set_timer(*ret_timer, first_ns, period_ns))
        return true;
    hp_cpu_timer_stop(*ret_timer);
    return false;
}

void hp_cpu_timer_change(int timer, uint64_t period_ns) { set_timer(timer, period_ns, period_ns); }

void hp_cpu_timer_stop(int timer) { syscall(SYS_timer_delete, timer); }

/* -------------------------------------------------------------------------------------------------- perf */

/* User mode only, even where more is allowed: a signal that comes due in the kernel can cut a sleep short. */
static int open_event(uint64_t period_ns, bool is_idle)
{
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_CPU_CLOCK;
    event.sample_period = period_ns;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    event.wakeup_events = 1;
    event.disabled = is_idle;
    return (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool send_signals(int fd)
{
    const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)hp_sys_thread_id()};
    return fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETSIG, HP_CPU_SIGNAL) == 0 &&
           fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
}

static size_t page_size(void)
{
    const long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

static void *start_event(uint64_t period_ns, bool is_idle)
{
    const int fd = open_event(period_ns, is_idle);
    if (fd < 0)
        return NULL;
    void *mapping = send_signals(fd) ? mmap(NULL, page_size(), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    const int problem = errno;
    hp_sys_close(fd);
    errno = problem;
    return mapping == MAP_FAILED ? NULL : mapping;
}

void *hp_cpu_perf_start(uint64_t period_ns) { return start_event(period_ns, false); }

void hp_cpu_perf_stop(void *mapping)
{
    if (mapping != NULL)
        munmap(mapping, page_size());
}

int hp_cpu_perf_prepare(void **ret_mapping)
{
    *ret_mapping = start_event(SECOND, true);
    return *ret_mapping != NULL ? 0 : errno;
}

/* ----------------------------------------------------------------------------------------------- signals */

void hp_cpu_signal_unblock(void)
{
    const uint64_t mask = UINT64_C(1) << (HP_CPU_SIGNAL - 1);
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof mask);
}

enum hp_cpu_source hp_cpu_source_of(const void *info, const void *owner)
{
    const siginfo_t *sent = info;
    if (sent->si_code == SI_TIMER)
        return sent->si_value.sival_ptr == owner ? HP_CPU_BY_TIMER : HP_CPU_BY_OTHERS;
    return sent->si_code == POLL_IN ? HP_CPU_BY_PERF : HP_CPU_BY_OTHERS;
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
