/*
 * What threads wait for: its space in the session, and with HOTPATH_WAITS a library thread that samples it.
 *
 * The thread sees the process from outside, through /proc. It touches the session only with the recorder's lock
 * held and while it is the session it was started for; sessions end under that lock, so it never touches an ended
 * one, and it exits when it notices. It has no zones, so it is in no record, and it leaves itself out of what it
 * samples. A forked child does not have it: starting a thread there is not safe. SPDX-License-Identifier: MIT
 */
#include "lifecycle.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "allocations.h"
#include "clock.h"
#include "memory.h"
#include "proc_sampler.h"
#include "raw_call.h"
#include "runtime.h"

/* Missing in older headers; the number is the same on every machine. */
#define CLOSE_RANGE 436
#define CLOSE_RANGE_UNSHARED 2u
#define STACK_BYTES (256u << 10) /* includes the host's thread-local variables */

/* Release: a reader that sees the space sees its capacity. */
static void make_waits(struct hp_store *store)
{
    const uint32_t size = (uint32_t)(sizeof(struct hp_waits) + HP_WATCH_ENTRIES * sizeof(struct hp_wait));
    const uint32_t offset = hp_store_allocate(store, size, 64);
    if (offset == 0)
        return;
    ((struct hp_waits *)hp_store_at(store, offset))->capacity = HP_WATCH_ENTRIES;
    __atomic_store_n(&hp_store_header(store)->waits, offset, __ATOMIC_RELEASE);
}

/* As above. */
static void make_thread_usage(struct hp_store *store)
{
    const uint32_t size =
        (uint32_t)(sizeof(struct hp_thread_usage) + HP_THREAD_USAGE_ROWS * sizeof(struct hp_thread_usage_row));
    const uint32_t offset = hp_store_allocate(store, size, 64);
    if (offset == 0)
        return;
    ((struct hp_thread_usage *)hp_store_at(store, offset))->capacity = HP_THREAD_USAGE_ROWS;
    __atomic_store_n(&hp_store_header(store)->thread_usage, offset, __ATOMIC_RELEASE);
}

void hp_wait_thread_begin(void)
{
    const struct hp_record_settings *settings = &hp_runtime->settings.record;
    struct hp_store *store = hp_runtime->store;
    const bool is_to_be_watched = !settings->reserve && (settings->is_run || (settings->waits && !hp_is_child()));
    HOTPATH_PUT_(hp_runtime->live_settings.is_watched, is_to_be_watched);
    if (!is_to_be_watched || hp_store_header(store)->waits != 0)
        return;
    make_thread_usage(store); /* first: an observer starts when it finds the space for waits */
    make_waits(store);
}

/* ------------------------------------------------------------------------------------------- the thread */

/* State for one session. */
struct watching {
    uint32_t epoch;
    struct hp_proc_sampler watch;
};

/* Under the lock: whether it is still the same session. */
static bool is_there(const struct watching *watching, uint32_t offset, size_t bytes)
{
    return hp_runtime->gate != 0 && hp_epoch() == watching->epoch &&
           (uint64_t)offset + bytes <= __atomic_load_n(&hp_store_header(hp_runtime->store)->used, __ATOMIC_RELAXED);
}

/*
 * Word by word: others write meanwhile, and what is read is only as good as that. The lock orders the readings. Not
 * instrumented by ThreadSanitizer, which would report these reads; atomic loads it would always check.
 */
__attribute__((no_sanitize_thread)) static void copy_in(void *to, const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint32_t)) {
        const uint32_t word = *(const volatile uint32_t *)(const void *)(from + at);
        memcpy((char *)to + at, &word, sizeof word);
    }
}

/* The same for concurrent readers; 64-bit counters are written at once. */
static void copy_out(char *to, const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const char *)from + at, sizeof word);
        __atomic_store_n((uint64_t *)(void *)(to + at), word, __ATOMIC_RELEASE);
    }
}

static bool read_ours(void *context, uint32_t offset, void *to, size_t bytes)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return false;
    const bool is_readable = is_there(context, offset, bytes);
    if (is_readable)
        copy_in(to, hp_runtime->store->range.base + offset, bytes);
    hp_unlock(&held);
    return is_readable;
}

static bool write_ours(void *context, uint32_t offset, const void *from, size_t bytes)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return false;
    const bool is_writable = is_there(context, offset, bytes);
    if (is_writable)
        copy_out(hp_runtime->store->range.base + offset, from, bytes);
    hp_unlock(&held);
    return is_writable;
}

static void pause_us(uint32_t us) { hp_sleep_ns(us * UINT64_C(1000)); }

/*
 * Gives this thread its own descriptor table, empty at first. A program may rely on which descriptor is free next,
 * and must not see ours; files that it closes must not stay open here. A kernel without this (before 5.9) leaves
 * them shared.
 */
static void own_descriptors(void) { syscall(CLOSE_RANGE, 0u, ~0u, CLOSE_RANGE_UNSHARED); }

static void *watch(void *context)
{
    own_descriptors();
    struct watching *watching = context;
    const struct hp_proc_sampler_target target = {.pid = hp_sys_process_id(),
                                                  .left_out = hp_sys_thread_id(),
                                                  .read = read_ours,
                                                  .write = write_ours,
                                                  .context = watching};
    prctl(PR_SET_NAME, "hotpath", 0, 0, 0);
    const uint64_t began = hp_clock_monotonic_ns();
    uint64_t before = hp_clock_thread_ns();
    bool goes_on = hp_proc_sampler_begin(&watching->watch, &target);
    while (goes_on && hp_proc_sample(&watching->watch)) {
        const uint64_t now = hp_clock_thread_ns();
        hp_proc_sampler_note(&watching->watch, now - before);
        before = now;
        pause_us(hp_proc_sampler_period_us(now, hp_clock_monotonic_ns() - began));
        goes_on = hp_epoch() == watching->epoch;
    }
    hp_memory_unmap(watching, sizeof *watching);
    return NULL;
}

/* Signals of the host are for its own threads. Signals that the C library sends to all threads must get through. */
static bool start_thread(struct watching *watching)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    /* Not under the lock: the C library may wait for its own lock, whose owner waits for ours. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct hotpath_context_ *held = hp_allocations_take_over();
    const bool is_started = pthread_create(&thread, &attributes, watch, watching) == 0;
    hp_allocations_give_back(held);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return is_started;
}

void hp_wait_thread_start(const struct hp_record_settings *settings)
{
    if (!settings->waits || settings->is_run || settings->reserve)
        return;
    /* HOTPATH=1 may have started the session, and us, before the program did. */
    const uint32_t epoch = hp_epoch();
    if (__atomic_exchange_n(&hp_runtime->watched_epoch, epoch, __ATOMIC_RELAXED) == epoch)
        return;
    struct watching *watching = hp_memory_map(sizeof *watching);
    if (watching != NULL) {
        watching->epoch = epoch;
        if (start_thread(watching))
            return;
        hp_memory_unmap(watching, sizeof *watching);
    }
    hp_say("hotpath: HOTPATH_WAITS has no effect: no thread could be started");
}
