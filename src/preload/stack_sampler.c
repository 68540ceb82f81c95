/* Stacks taken inside the process. How it works: stack_sampler.h. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include "stack_sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu.h"
#include "hook_entries.h"
#include "mutex.h"
#include "raw_call.h"
#include "signals.h"
#include "stack_ring.h"
#include "stacks.h"

/* ------------------------------------------------------------------------------------------------- process ring */

/*
 * The ring by which this process passes stacks to the `hotpath run` that started it. Made at first use, in the
 * directory of the run; a forked child makes its own and never writes into its parent's. Usable in signal handlers.
 *
 * The state of the ring is in memory that the kernel wipes in a forked child, however it was forked: the child has
 * no ring yet.
 */

#define PAGE 65536u /* the largest page of all supported platforms */
#define MOST_FOLDER 1200u

enum state { NOT_MADE, BEING_MADE, MADE, REFUSED };

struct page {
    struct hp_stack_ring ring;
    uint32_t state;
};

static struct {
    struct page *page; /* NULL: there is no run */
    uint64_t capacity, period_ns;
    char folder[MOST_FOLDER];
} process;

/* ----------------------------------------------------------------------------------------------------- its name */

static char *put_text(char *to, const char *text)
{
    while (*text != '\0')
        *to++ = *text++;
    return to;
}

static char *put_number(char *to, uint64_t number)
{
    char digits[20];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

/* DIRECTORY/PID-NANOSECONDS.ring: after exec the same process has another one. */
static void name_ring(char *path, uint32_t pid)
{
    path = put_number(put_text(put_text(path, process.folder), "/"), pid);
    path = put_number(put_text(path, "-"), hp_raw_clock(CLOCK_MONOTONIC));
    path = put_text(path, HP_STACK_RING_SUFFIX);
    *path = '\0';
}

/* ---------------------------------------------------------------------------------------------------- making it */

/* Static, since the handler's stack frames must be small; used once. */
static char path_of_ring[MOST_FOLDER + 64];

static void make(struct page *page)
{
    const uint32_t pid = (uint32_t)hp_raw(SYS_getpid, 0);
    name_ring(path_of_ring, pid);
    const struct hp_stack_ring_plan plan = {.path = path_of_ring,
                                            .capacity = process.capacity,
                                            .period_ns = process.period_ns,
                                            .pid = pid,
                                            .kind = HP_LOAN_PROCESS_RING};
    const bool is_made = hp_stack_ring_make(&page->ring, &plan);
    __atomic_store_n(&page->state, is_made ? MADE : REFUSED, __ATOMIC_RELEASE);
}

/* The same, without making it. */
static struct hp_stack_ring *process_ring_present(void)
{
    struct page *page = process.page;
    /* Acquire pairs with the release above. */
    return page != NULL && __atomic_load_n(&page->state, __ATOMIC_ACQUIRE) == MADE ? &page->ring : NULL;
}

/*
 * The ring, made now if needed. NULL: not available, or another thread is making it; try again later. The first
 * call makes system calls.
 */
static struct hp_stack_ring *process_ring(void)
{
    struct page *page = process.page;
    uint32_t not_made = NOT_MADE;
    if (page != NULL &&
        __atomic_compare_exchange_n(&page->state, &not_made, BEING_MADE, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        make(page);
    return process_ring_present();
}

/* Whether there is no point in trying again. */
static bool process_ring_is_refused(void)
{
    const struct page *page = process.page;
    return page == NULL || __atomic_load_n(&page->state, __ATOMIC_RELAXED) == REFUSED;
}

/*
 * Beside the session: if the recorder has none, because the run is over or a sandbox forbids it, there is no ring
 * either.
 */
static bool find_folder(void)
{
    const char *session = hotpath_session_path(), *slash = session != NULL ? strrchr(session, '/') : NULL;
    const size_t length = slash != NULL ? (size_t)(slash - session) : 0;
    if (length == 0 || length >= MOST_FOLDER || getenv("HOTPATH_RUN") == NULL)
        return false;
    memcpy(process.folder, session, length);
    process.folder[length] = '\0';
    return true;
}

static uint64_t confinement_of_run(void)
{
    const char *around = getenv(HP_RUN_CONFINEMENT);
    return around != NULL ? strtoull(around, NULL, 10) : 0;
}

/* At process start. `period_ns`: sampling period in CPU time, or 0. False: there is no run that reads rings. */
static bool process_ring_prepare(uint64_t period_ns)
{
    if (!HP_STACK_RING_WORKS || !find_folder())
        return false;
    struct page *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || madvise(page, PAGE, MADV_WIPEONFORK) != 0)
        return false; /* without it, a child could not be told from its parent */
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    process.capacity = hp_stack_ring_capacity(cores > 0 ? (uint64_t)cores : 1);
    process.period_ns = period_ns;
    hp_borrow_from(getenv(HP_RUN_LENDER), confinement_of_run());
    process.page = page;
    return true;
}

/* ------------------------------------------------------------------------------------------------ stack sampler */

#define MOST_TIMERS 1024u
#define TIMERS_BYTES 65536u /* whole pages on every machine */
#define MOST_PAUSES 2000u   /* for a handler on a thread that was preempted */
#define PAUSE_NS 500000u

/* -------------------------------------------------------------------------------------------------------- state */

/*
 * A thread's timer, for other threads that must stop it. In memory that is wiped in a forked child, which has no
 * timers.
 */
struct timer {
    uint32_t is_taken;
    uint32_t thread_id;
    int number;
    uint32_t is_at_work; /* its thread is in the handler */
};

struct timers {
    uint32_t pid; /* 0: in a forked child */
    struct timer all[MOST_TIMERS];
};

static struct {
    bool is_on;
    uint64_t period_ns;
    struct timers *timers;
    struct hp_taken_signal taken;
    pthread_key_t at_end; /* thread-exit destructor */
    uint32_t confinements;
} sampler;

/* State of the calling thread. */
struct self {
    struct timer *timer; /* NULL: not sampled */
    uint64_t counted_ns; /* CPU time counted so far */
    struct hp_stack own;
    struct hp_stack alternate; /* ours, until the thread ends: the program may set it again */
    bool is_refused;           /* no stack for the handler; counted */
    bool is_left;              /* left to the recorder, since it has zones */
};
static __thread struct self self __attribute__((tls_model("initial-exec")));

bool hp_stack_sampler_is_on(void) { return sampler.is_on; }

static bool is_confined(void) { return __atomic_load_n(&sampler.confinements, __ATOMIC_SEQ_CST) != 0; }

/* ------------------------------------------------------------------------------------------------------- timers */

/*
 * Each timer takes a slot of the program's limit for queued signals: at least half of these are left to the
 * program.
 */
static struct timer *free_timer(void)
{
    const uint64_t queue = hp_cpu_queue() / 2, most = queue < MOST_TIMERS ? queue : MOST_TIMERS;
    for (uint64_t at = 0; at < most; at++) {
        uint32_t is_taken = 0;
        if (__atomic_compare_exchange_n(&sampler.timers->all[at].is_taken, &is_taken, 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return &sampler.timers->all[at];
    }
    return NULL;
}

static void give_back(struct timer *timer)
{
    __atomic_store_n(&timer->number, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&timer->is_at_work, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&timer->is_taken, 0, __ATOMIC_RELEASE);
}

static void start_timer(void)
{
    struct timer *timer = free_timer();
    int number;
    if (timer == NULL)
        return;
    self.counted_ns = hp_raw_clock(CLOCK_THREAD_CPUTIME_ID);
    __atomic_store_n(&timer->number, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&timer->thread_id, (uint32_t)hp_raw(SYS_gettid, 0), __ATOMIC_RELAXED);
    self.timer = timer; /* before a signal can arrive */
    if (!hp_cpu_timer_start(&number, hp_private_signal_number(HP_SIGNAL_ASIDE), &sampler, sampler.period_ns,
                            sampler.period_ns)) {
        self.timer = NULL;
        give_back(timer);
        return;
    }
    __atomic_store_n(&timer->number, number, __ATOMIC_SEQ_CST);
    if (is_confined())
        hp_cpu_timer_pause(number); /* the thread that paused all timers may have missed this one */
}

/* In a forked child the timer is gone already, and its id may belong to another. */
static void stop_timer(void)
{
    struct timer *timer = self.timer;
    self.timer = NULL;
    if (timer == NULL || __atomic_load_n(&timer->is_taken, __ATOMIC_RELAXED) == 0)
        return;
    hp_cpu_timer_stop(timer->number);
    give_back(timer);
}

/* -------------------------------------------------------------------------------------------------- the handler */

static void put_sample(struct hp_stack_ring *ring, const void *context)
{
    struct hp_stack_registers registers;
    const uint64_t now_ns = hp_raw_clock(CLOCK_THREAD_CPUTIME_ID);
    const bool is_kernel = hp_cpu_mode_of(context) == HP_CPU_KERNEL;
    const struct hp_stack_note note = {.kind = HP_STACK_CPU,
                                       .flags = is_kernel ? HP_STACK_IN_KERNEL : 0,
                                       .thread_id = (uint32_t)hp_raw(SYS_gettid, 0),
                                       .ns = hp_raw_clock(CLOCK_MONOTONIC),
                                       .weight = now_ns - self.counted_ns};
    if (!hp_stack_registers_of(context, &registers))
        return;
    if (is_kernel)
        hp_stack_step_over_call(&registers);
    self.counted_ns = now_ns;
    hp_stack_ring_put(ring, &note, &registers, &self.own);
}

/*
 * The program may have set an alternate stack of its own by an instruction, which cannot be interposed: the first
 * sample finds out. `here`: the handler's own stack address.
 */
static bool is_on_ours(uintptr_t here) { return hp_stack_has(&self.alternate, here); }

/* Once per thread. */
static void count_refused(void)
{
    struct hp_stack_ring *ring = self.is_refused ? NULL : process_ring();
    if (ring != NULL)
        __atomic_fetch_add(&ring->header->refused, 1, __ATOMIC_RELAXED);
    self.is_refused = true;
}

static void take_sample(const void *context, uintptr_t here)
{
    struct hp_stack_ring *present = process_ring_present();
    if (present != NULL && hp_stack_ring_end(present) == HP_RING_CONFINED)
        return;
    struct hp_stack_ring *ring = process_ring();
    const bool is_unread = ring != NULL && hp_stack_ring_end(ring) == HP_RING_UNREAD;
    if (ring != NULL && !is_unread)
        put_sample(ring, context);
    const bool is_elsewhere = !is_on_ours(here);
    if (is_elsewhere)
        count_refused();
    if (is_elsewhere || is_unread || process_ring_is_refused())
        stop_timer();
}

/* Sets its mark before it checks for a sandbox: the thread that enters the sandbox waits for the mark. */
static void on_stack_sample(int signal, siginfo_t *info, void *context)
{
    struct timer *timer = self.timer;
    if (hp_cpu_source_of(info, &sampler) != HP_CPU_BY_TIMER) {
        hp_private_signal_pass_on(&sampler.taken, signal, info, context);
        return;
    }
    if (timer == NULL)
        return; /* it was pending when its timer was stopped */
    __atomic_store_n(&timer->is_at_work, 1, __ATOMIC_SEQ_CST);
    if (!is_confined())
        take_sample(context, (uintptr_t)__builtin_frame_address(0));
    if (self.timer != NULL)
        __atomic_store_n(&timer->is_at_work, 0, __ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------------------------------------------ threads */

/*
 * Whether samples are handled on our stack. That of the program is never used: its memory may be freed, unmapped or
 * used for something else while the kernel still has its address, which does no harm as long as no signal comes.
 */
static bool has_our_alternate(void)
{
    uint64_t bytes;
    if (hp_alternate_is(&self.alternate))
        return true;
    if (hp_alternate_present(&bytes) != HP_ALTERNATE_NONE)
        return false;
    if (self.alternate.high != 0)
        return hp_alternate_set(&self.alternate);
    return hp_alternate_make(&self.alternate);
}

/* `here`: an address on the stack that the thread is on. */
static void begin_thread(uintptr_t here, bool is_forked)
{
    const bool is_first = hp_raw(SYS_gettid, 0) == hp_raw(SYS_getpid, 0);
    if (!sampler.is_on || self.timer != NULL || self.is_left || is_confined() ||
        !hp_private_signal_take(&sampler.taken, HP_SIGNAL_ASIDE, on_stack_sample))
        return;
    if (!has_our_alternate()) {
        count_refused();
        return;
    }
    if (!hp_stack_is_own(here, is_first, is_forked, &self.own))
        self.own = (struct hp_stack){0, 0};
    pthread_setspecific(sampler.at_end, &self);
    start_timer();
}

void hp_stack_sampler_begin_thread(void)
{
    const int saved = errno;
    begin_thread((uintptr_t)__builtin_frame_address(0), false);
    errno = saved;
}

/* The alternate stack stays: only its user knows whether the thread is on it. */
static void leave_thread(void)
{
    self.is_left = true;
    if (!is_confined())
        stop_timer();
}

/* In a sandbox nothing is released. */
static void end_thread(void *unused)
{
    const int saved = errno;
    (void)unused;
    if (!is_confined()) {
        stop_timer();
        hp_alternate_end(&self.alternate, true);
    }
    errno = saved;
}

/* sigaltstack may be called on a small stack. */
static void do_aside(void (*work)(void *context), void *context)
{
    const int saved = errno;
    if (!is_confined() && !hotpath_v1_aside(work, context))
        work(context);
    errno = saved;
}

/* A sample may be pending, if the program blocks even the signals of the C library. */
static void stop_samples(void *unused)
{
    (void)unused;
    stop_timer();
    hp_private_signal_drop(HP_SIGNAL_ASIDE);
}

void hp_stack_sampler_change_alternate(void)
{
    if (self.timer != NULL)
        do_aside(stop_samples, NULL);
}

static void begin_again(void *here) { begin_thread((uintptr_t)here, false); }

void hp_stack_sampler_alternate_changed(void) { do_aside(begin_again, __builtin_frame_address(0)); }

/* Only the thread that forked exists there, with its alternate stack and without a timer. */
static void follow_fork(void)
{
    const int saved = errno;
    const bool was_sampled = self.timer != NULL || self.is_left;
    self.timer = NULL;
    self.is_refused = self.is_left = false;
    sampler.timers->pid = (uint32_t)getpid();
    sampler.taken.is_changing = 0;                /* set by a thread that does not exist here */
    if (was_sampled && !hotpath_v1_is_confined()) /* as the parent has found before the fork: sandbox_hooks.c */
        begin_thread((uintptr_t)__builtin_frame_address(0), true);
    errno = saved;
}

/* ---------------------------------------------------------------------------------------------------- sandboxes */

typedef void change_timer(int number);

static void change_all(change_timer *change)
{
    for (size_t at = 0; at < MOST_TIMERS; at++) {
        const int number = __atomic_load_n(&sampler.timers->all[at].number, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&sampler.timers->all[at].is_taken, __ATOMIC_RELAXED) != 0 && number >= 0)
            change(number);
    }
}

static void go_on(int number) { hp_cpu_timer_change(number, sampler.period_ns, sampler.period_ns); }

/* A signal set from a line of /proc/self/task/TID/status. */
static uint64_t signals_of(const char *status, const char *line)
{
    const char *at = strstr(status, line);
    return at != NULL ? strtoull(at + strlen(line), NULL, 16) : 0;
}

/*
 * Whether our signal is pending for a thread, or the thread is still in its handler: it blocks a signal that no
 * other code can block.
 */
static bool is_interrupted(uint32_t thread_id)
{
    char path[64], status[4096];
    const uint64_t ours = UINT64_C(1) << (hp_private_signal_number(HP_SIGNAL_ASIDE) - 1);
    snprintf(path, sizeof path, "/proc/self/task/%u/status", (unsigned)thread_id);
    const long fd = hp_raw(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    const long length = hp_raw(SYS_read, fd, status, sizeof status - 1);
    hp_raw(SYS_close, fd);
    status[length > 0 ? length : 0] = '\0';
    return ((signals_of(status, "\nSigPnd:") | signals_of(status, "\nSigBlk:")) & ours) != 0;
}

static bool is_busy(const struct timer *timer)
{
    return timer != self.timer && __atomic_load_n(&timer->is_taken, __ATOMIC_ACQUIRE) != 0 &&
           (__atomic_load_n(&timer->is_at_work, __ATOMIC_SEQ_CST) != 0 ||
            is_interrupted(__atomic_load_n(&timer->thread_id, __ATOMIC_RELAXED)));
}

/* A handler makes a system call to return, too. */
static void wait_for_handlers(void)
{
    for (uint32_t pauses = 0, at = 0; pauses < MOST_PAUSES && at < MOST_TIMERS;) {
        if (!is_busy(&sampler.timers->all[at])) {
            at++;
            continue;
        }
        hp_pause_ns(PAUSE_NS);
        pauses++;
    }
}

/* A vfork child shares its parent's memory; what it does to itself does not concern the parent. */
static bool is_parents(void)
{
    const uint32_t pid = sampler.timers->pid;
    return !is_confined() && pid != 0 && pid != (uint32_t)hp_raw(SYS_getpid, 0);
}

void hp_stack_sampler_confine(void)
{
    const int saved = errno;
    if (!sampler.is_on || is_parents() || __atomic_fetch_add(&sampler.confinements, 1, __ATOMIC_SEQ_CST) != 0)
        return;
    change_all(hp_cpu_timer_pause);
    wait_for_handlers();
    errno = saved;
}

void hp_stack_sampler_release(void)
{
    if (sampler.is_on && is_confined() && __atomic_fetch_sub(&sampler.confinements, 1, __ATOMIC_SEQ_CST) == 1)
        change_all(go_on);
}

/* ---------------------------------------------------------------------------------------------------- beginning */

/* The period that `hotpath run` wants; 0: none. */
static uint64_t wanted_period(void)
{
    const char *period = getenv(HP_RUN_STACK_PERIOD);
    return period != NULL ? strtoull(period, NULL, 10) : 0;
}

static bool make_timers(void)
{
    _Static_assert(sizeof(struct timers) <= TIMERS_BYTES, "they fit");
    void *memory = mmap(NULL, TIMERS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, TIMERS_BYTES, MADV_WIPEONFORK) != 0)
        return false;
    sampler.timers = memory;
    sampler.timers->pid = (uint32_t)getpid();
    return true;
}

/*
 * A program linked with libhotpath_alloc.so gets this file a second time from `hotpath run`. The copy in front of
 * the other samples, and counts transfers: its hooks are the ones that the program calls.
 */
HOTPATH_API_ const char hotpath_v1_stack_sampler = 1;
extern const char own_sampler __attribute__((alias("hotpath_v1_stack_sampler"), visibility("hidden")));

bool hp_stack_sampler_is_in_front(void)
{
    const char *first = &hotpath_v1_stack_sampler;
    __asm__("" : "+r"(first)); /* as the dynamic linker found it, not as the compiler knows it */
    return first == &own_sampler;
}

/* After the lookup of malloc (malloc_counter.c), and after the recorder. */
__attribute__((constructor(103))) static void begin_sampling(void)
{
    const int saved = errno;
    sampler.period_ns = wanted_period();
    sampler.is_on = sampler.period_ns > 0 && hp_stack_sampler_is_in_front() && hp_cpu_timers_are_harmless() &&
                    process_ring_prepare(sampler.period_ns) && make_timers() &&
                    pthread_key_create(&sampler.at_end, end_thread) == 0 &&
                    pthread_atfork(NULL, NULL, follow_fork) == 0;
    hp_stack_sampler_begin_thread();
    if (sampler.is_on)
        hotpath_v1_stacks_switch(leave_thread);
    errno = saved;
}
