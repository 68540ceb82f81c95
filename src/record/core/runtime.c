/* The recorder's lock and small services. SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <errno.h>
#include <string.h>

#include "hook_entries.h"
#include "instruction_clock.h"
#include "memory.h"
#include "process.h"
#include "raw_call.h"
#include "scratch_stack.h"
#include "session_dirs.h"

static struct hp_recorder own_state;
struct hp_recorder *hp_runtime = &own_state;

bool hp_library_owns_state(void) { return hp_runtime == &own_state; }

/* hotpath_v1_context of a thread points here before it registers and after it has exited. */
struct hotpath_context_ hp_no_context = {.skip = 1};

/* Compilers take the TLS model from the last declaration, so it is repeated here. */
__thread struct hotpath_context_ *hotpath_v1_context HOTPATH_TLS_ = &hp_no_context;
__thread uint32_t hp_thread_is_over HOTPATH_TLS_;

/* musl allocates from the heap for this, so there it is used on old kernels only. */
#ifdef __GLIBC__
#define HAS_CHEAP_ATFORK 1
#else
#define HAS_CHEAP_ATFORK 0
#endif

/*
 * Repeats what the kernel does for us: kernels before 4.14 cannot, and some emulators only claim to. If the kernel
 * did it, the page is empty already, and this changes nothing. Covers fork only.
 */
void hp_runtime_empty(void)
{
    struct hp_fork_page *page = hp_page();
    for (struct hp_thread_context *context = page->contexts, *next; context != NULL; context = next) {
        next = context->next;
        memset(context, 0, sizeof *context);
    }
    memset(page, 0, sizeof *page);
}

void hp_skip_idle(bool is_off)
{
    for (size_t copy = 0; copy < HP_COPIES && hp_runtime->no_contexts[copy] != NULL; copy++)
        HOTPATH_PUT_(hp_runtime->no_contexts[copy]->skip, is_off);
}

void hp_skip_zones(bool is_off)
{
    hp_skip_idle(is_off);
    struct hp_thread_context *context = hp_page() != NULL ? hp_page()->contexts : NULL;
    for (; context != NULL; context = context->next)
        HOTPATH_PUT_(context->hot.skip, is_off);
}

/* `hotpath run` speaks for its processes. */
static enum hp_counter counter_of(enum hp_clock_choice wished)
{
    if (wished == HP_CLOCK_OF_TIME)
        return hp_clock_counter();
    if (hp_instruction_clock_begin(wished == HP_CLOCK_OF_CPU_INSTRUCTIONS))
        return HP_COUNTER_INSTRUCTIONS;
    if (hp_environment("HOTPATH_RUN") == NULL)
        hp_print_line(wished == HP_CLOCK_OF_CPU_INSTRUCTIONS
                          ? "hotpath: instructions are not counted, but time: the kernel gives this process no "
                            "counter of the CPU; hotpath doctor says why"
                          : "hotpath: instructions are not counted, but time: HOTPATH_CLOCK=instructions needs "
                            "hotpath run --clock instructions");
    return hp_clock_counter();
}

/*
 * Runs once. Concurrent callers wait, but not forever, since one may be the child of a process whose first caller
 * was in here.
 */
void hp_runtime_choose_counter(enum hp_clock_choice wished)
{
    enum { NOT_YET, UNDER_WAY, DONE };
    uint32_t none = NOT_YET, *state = &hp_runtime->counter_state;
    if (__atomic_compare_exchange_n(state, &none, UNDER_WAY, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        hp_runtime->counter = counter_of(wished);
        __atomic_store_n(state, DONE, __ATOMIC_RELEASE);
        return;
    }
    for (uint32_t tries = 0; __atomic_load_n(state, __ATOMIC_ACQUIRE) != DONE; tries++) {
        if (tries == 1000) {
            hp_runtime->counter = counter_of(wished);
            return;
        }
        hp_pause_ns(100000);
    }
}

bool hp_runtime_prepare(void (*before_fork)(void), void (*in_child)(void))
{
    if (hp_page() != NULL)
        return true;
    struct hp_fork_page *page = hp_memory_map(sizeof *page);
    if (page == NULL)
        return false;
    const bool is_wiped = hp_memory_wipe_on_fork(page, sizeof *page);
    page->is_ours = 1;
    page->pid = hp_sys_process_id();
    struct hp_fork_page *none = NULL;
    if (!__atomic_compare_exchange_n(&hp_runtime->fork_page, &none, page, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        hp_memory_unmap(page, sizeof *page); /* another thread was first */
    else if (!is_wiped || HAS_CHEAP_ATFORK)
        pthread_atfork(before_fork, NULL, in_child);
    return true;
}

/*
 * If the host runs under ThreadSanitizer but this library was built without it, these tell it about the lock by
 * which contexts pass between threads.
 */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

/* Increment first, then check: a caller that the sealing thread does not count sees the seal. */
bool hp_calls_begin(void)
{
    __atomic_fetch_add(&hp_page()->callers, 1, __ATOMIC_SEQ_CST);
    if (!hp_is_sealed())
        return true;
    hp_calls_end();
    return false;
}

void hp_calls_end(void) { __atomic_fetch_sub(&hp_page()->callers, 1, __ATOMIC_RELEASE); }

/* Before the first session there is no page to count in. */
static inline bool is_aside(void (*work)(void *context), void *context, bool *ret_is_done)
{
    const bool is_counted = hp_page() != NULL;
    if (is_counted ? !hp_calls_begin() : hp_is_sealed())
        return false;
    *ret_is_done = hp_on_scratch_stack(work, context);
    if (is_counted)
        hp_calls_end();
    return true;
}

bool hp_aside(void (*work)(void *context), void *context)
{
    bool is_done = true;
    if (!is_aside(work, context, &is_done))
        work(context);
    return is_done;
}

int hotpath_v1_aside(void (*work)(void *context), void *context)
{
    bool is_done = false;
    return is_aside(work, context, &is_done) && is_done;
}

/*
 * For when no system call is allowed. The owner may have been a handler left by siglongjmp, so this does not spin
 * forever.
 */
static bool spin(struct hp_mutex *lock)
{
    for (uint32_t spins = 0; !hp_mutex_try(lock); spins++)
        if (spins == 1u << 20)
            return false;
    return true;
}

static void let_signals_go(const struct hp_signals *held)
{
    if (!held->is_held)
        return;
    hp_signals_release(held);
    hp_calls_end();
}

/*
 * The lock is held for microseconds, by slow paths only. Signals are blocked while it is held, so its owner is
 * never interrupted by code that wants it, too.
 */
static bool take_lock(struct hp_signals *held, uint64_t patience)
{
    struct hp_fork_page *page = hp_page();
    const uintptr_t us = (uintptr_t)&hotpath_v1_context;
    held->is_held = false;
    if (hp_calls_begin())
        hp_signals_hold(held);
    if (__atomic_load_n(&page->lock_holder, __ATOMIC_RELAXED) == us ||
        !(held->is_held ? hp_mutex_take_within(&page->lock, patience) : spin(&page->lock))) {
        let_signals_go(held);
        return false;
    }
    __atomic_store_n(&page->lock_holder, us, __ATOMIC_RELAXED);
    if (__tsan_acquire != NULL)
        __tsan_acquire(&page->lock);
    return true;
}

/* Long enough for an owner that was preempted for some time slices. */
#define SHORT_PATIENCE_NS UINT64_C(100000000)
#define EXIT_PATIENCE_NS UINT64_C(2000000000)

bool hp_lock(struct hp_signals *held) { return take_lock(held, UINT64_MAX); }
bool hp_lock_soon(struct hp_signals *held) { return take_lock(held, SHORT_PATIENCE_NS); }
bool hp_lock_at_exit(struct hp_signals *held) { return take_lock(held, EXIT_PATIENCE_NS); }

void hp_unlock(const struct hp_signals *held)
{
    struct hp_fork_page *page = hp_page();
    if (__tsan_release != NULL)
        __tsan_release(&page->lock);
    __atomic_store_n(&page->lock_holder, 0, __ATOMIC_RELAXED);
    hp_mutex_give(&page->lock);
    let_signals_go(held);
}

void *hp_more_memory(size_t size) { return hp_is_sealed() ? NULL : hp_memory_map(size); }

void *hp_memory_at(void **place, size_t size, bool is_emptied_by_fork)
{
    void *present = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (present != NULL)
        return present;
    void *fresh = hp_more_memory(size);
    if (fresh == NULL)
        return NULL;
    if (is_emptied_by_fork)
        hp_memory_wipe_on_fork(fresh, size);
    /* Release pairs with the acquire of a thread that finds it. */
    if (__atomic_compare_exchange_n(place, &present, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    hp_memory_unmap(fresh, size);
    return present;
}

bool hp_is_forked_child(void)
{
    const struct hp_fork_page *page = hp_page();
    return page != NULL && __atomic_load_n(&page->is_ours, __ATOMIC_RELAXED) == 0;
}

bool hp_is_own_process(void)
{
    const struct hp_fork_page *page = hp_page();
    return page != NULL && __atomic_load_n(&page->pid, __ATOMIC_RELAXED) == hp_sys_process_id();
}

uint64_t hp_now(void) { return hp_clock_ticks(hp_runtime->counter); }

uint64_t hotpath_v1_clock(void) { return hp_clock_monotonic_ns(); }

void hp_print_line(const char *line)
{
    if (!hp_file_is(2, &hp_runtime->standard_error))
        return;
    char whole[600];
    size_t length = strnlen(line, sizeof whole - 1);
    memcpy(whole, line, length);
    whole[length++] = '\n';
    /* If stderr has no reader, the write would block the program forever. */
    if (hp_is_sandboxed() || hp_file_takes_line(2))
        hp_file_write(2, whole, length);
}

static char run_folder[1024]; /* of the `hotpath run` that this process belongs to; written when loaded */

void hp_note_run(void)
{
    const char *run = hp_environment("HOTPATH_RUN"), *folder = hp_environment("HOTPATH_DIR");
    if (run != NULL && run[0] == '1' && folder != NULL && hp_session_dir_is_of_run(folder) &&
        strlen(folder) < sizeof run_folder)
        memcpy(run_folder, folder, strlen(folder) + 1);
}

/* Variables of a run that is over mean nothing. */
static bool is_of_run(void) { return run_folder[0] != '\0' && !hp_session_dir_is_of_past_run(run_folder); }

void hp_say(const char *line)
{
    if (!is_of_run())
        hp_print_line(line);
}
