/*
 * The locks of this process, for the hooks of `hotpath run --locks`: an entry per lock, found by its address
 * (lock_layout.h has what is stored). Nothing here takes a lock, allocates from the heap or waits.
 *
 *     struct hp_locks *locks = hp_locks_on();                                  NULL: nothing is recorded
 *     struct hp_lock_entry *entry = hp_lock_find(locks, lock, HP_LOCK_MUTEX);  NULL: not known yet, or no room
 *
 * Blame needs no time of acquisition. A thread that has to wait adds the time of its arrival to the sum S in
 * `waiting` and 1 to the number W. A holder that gives the lock up and sees that the word is not 0 has let others
 * wait for W * now - S: it charges itself for that and adds it to S. What is left of a wait when its thread has the
 * lock is the time it took to wake up. A thread that gives up takes `now` out of S instead of its own time, so that
 * the present holder is charged for it, too. Both are in one word, so each is one atomic instruction.
 *
 * In a forked child the table is empty, however it was forked: the kernel wipes it, and the first call makes a new
 * file. SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_LOCK_ENTRY_H
#define HP_PRELOAD_LOCK_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call_sites.h"
#include "lock_layout.h"
#include "runtime.h"

/* A program may look for a function that only glibc has: it must not find ours alone. */
#ifdef __GLIBC__
#define HP_PUBLIC_IN_GLIBC HP_PUBLIC
#else
#define HP_PUBLIC_IN_GLIBC __attribute__((visibility("hidden")))
#endif

/* musl waits without a limit then, and calls itself so: in static programs that comes by our hooks. */
#ifdef __GLIBC__
#define HP_LIMIT_IS_NONE(limit) false
#else
#define HP_LIMIT_IS_NONE(limit) ((limit) == NULL)
#endif
/* Else the C library refuses it even if it need not wait. */
#define HP_LIMIT_IS_VALID(limit)                                                                                   \
    (!HP_LIMIT_IS_NONE(limit) && (limit)->tv_nsec >= 0 && (limit)->tv_nsec < 1000000000)
/* A clock that does not exist is an error even for a lock that is free. */
#define HP_CLOCK_IS_USUAL(clock) ((clock) == CLOCK_REALTIME || (clock) == CLOCK_MONOTONIC)

/* -------------------------------------------------------------------------------------------------- the table */

#define HP_LOCK_BUCKETS 32768u
#define HP_LOCK_WAYS 4u
#define HP_LOCK_OTHER_ENTRIES 256u /* the first ones: for locks without an entry, one per group of threads */

/*
 * A slot that was used once keeps its entry. Memory that had a lock of one kind may have one of another without a
 * call that tells of it: so the kind is part of the key.
 */
struct hp_lock_slot {
    uintptr_t key; /* hp_lock_key; 0: free */
    struct hp_lock_entry *entry;
};

struct hp_lock_bucket {
    struct hp_lock_slot slots[HP_LOCK_WAYS];
} __attribute__((aligned(64)));

#define HP_LOCK_PAIR_INDEX (4 * HP_LOCK_MOST_PAIRS)
#define HP_LOCK_PLACE_INDEX (4 * HP_LOCK_MOST_PLACES)
#define HP_LOCK_RULES 4096u

/* In memory that is wiped in a forked child. */
struct hp_locks {
    struct hp_side_file file;
    uint32_t hold_mask; /* a hold is timed if none of these bits is set in the count of locks, ... */
    uint32_t long_hold; /* ... or if the mean is at least this many ticks */
    uint32_t is_full;   /* atomic: no lock was forgotten since one found no room */
    uint32_t pair_index[HP_LOCK_PAIR_INDEX]; /* numbers; 0: free */
    uint32_t place_index[HP_LOCK_PLACE_INDEX];
    struct hp_call_sites sites;
    /* Bits: a lock of this bucket found no room, and is, or was, in the next. */
    uint32_t crowded[HP_LOCK_BUCKETS / 32];
    struct hp_lock_bucket buckets[HP_LOCK_BUCKETS];
};

/* NULL: not wanted. */
extern struct hp_locks *hp_locks __attribute__((visibility("hidden")));

/* At process start, from the environment. */
void hp_locks_prepare(void);
/* Makes the file, if that was not done. NULL: it is not possible, or another thread is doing it. */
struct hp_locks *hp_locks_begin(void);

/*
 * Hooks that find a lock in the table need not ask whether there is one: as long as nothing is recorded, in a
 * forked child too, the table is empty.
 */
static inline __attribute__((always_inline)) struct hp_locks *hp_locks_on(void)
{
    struct hp_locks *locks = hp_locks;
    if (__builtin_expect(locks == NULL, 0))
        return NULL;
    return hp_side_on(&locks->file) ? locks : hp_locks_begin();
}

#define HP_LOCK_OWN_KEY ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1)) /* no lock of others is there */

/*
 * All locks but a program's own are at multiples of 4. Those of the last kinds are always made by a call, which
 * forgets what was there.
 */
static inline uintptr_t hp_lock_key(const void *lock, enum hp_lock_kind kind)
{
    if (kind == HP_LOCK_OWN)
        return HP_LOCK_OWN_KEY | (uintptr_t)lock << 2 | 3;
    return (uintptr_t)lock | (kind == HP_LOCK_MUTEX       ? 0
                              : kind == HP_LOCK_CONDITION ? 1
                              : kind == HP_LOCK_RWLOCK    ? 2
                                                          : 3);
}

static inline uintptr_t hp_lock_of_key(uintptr_t key) { return key & ~(uintptr_t)3; }

/*
 * Names that the program gives (own_lock_hooks.c), known in forked children, too. A number from 1; 0: none. A lock
 * that is made or destroyed has no name any more.
 */
uint32_t hp_lock_name_of(const void *lock);
const char *hp_lock_name_text(uint32_t name);
void hp_lock_unname(const void *lock);
/* A lock in use has a name now. */
void hp_lock_rename(struct hp_locks *locks, const void *lock);
/* What the macros call. */
extern const struct hotpath_lock_hooks_ hp_own_lock_hooks __attribute__((visibility("hidden")));

/*
 * Locks that lie side by side are in neighbouring buckets: few pages are touched. Those within 2 MB are in
 * different ones, as far as they are in different cache lines.
 */
static inline uint32_t hp_lock_bucket_of(uintptr_t key)
{
    const uint64_t wide = key;
    return (uint32_t)((wide ^ wide >> 15) >> 6) & (HP_LOCK_BUCKETS - 1);
}

static inline struct hp_lock_entry *hp_lock_find_in(const struct hp_lock_bucket *bucket, uintptr_t key)
{
    for (unsigned way = 0; way < HP_LOCK_WAYS; way++)
        if (__atomic_load_n(&bucket->slots[way].key, __ATOMIC_RELAXED) == key)
            return __atomic_load_n(&bucket->slots[way].entry, __ATOMIC_ACQUIRE);
    return NULL;
}

static inline bool hp_lock_is_crowded(const struct hp_locks *locks, uint32_t bucket)
{
    return __atomic_load_n(&locks->crowded[bucket / 32], __ATOMIC_ACQUIRE) >> bucket % 32 & 1;
}

/* A lock that found no room in its bucket is in the next one. */
struct hp_lock_entry *hp_lock_find_further(struct hp_locks *locks, uint32_t bucket, uintptr_t key);

static inline __attribute__((always_inline)) struct hp_lock_entry *
hp_lock_find(struct hp_locks *locks, const void *lock, enum hp_lock_kind kind)
{
    const uintptr_t key = hp_lock_key(lock, kind);
    const uint32_t at = hp_lock_bucket_of(key);
    const struct hp_lock_slot *first = &locks->buckets[at].slots[0];
    if (__builtin_expect(__atomic_load_n(&first->key, __ATOMIC_RELAXED) == key, 1))
        return __atomic_load_n(&first->entry, __ATOMIC_ACQUIRE);
    return hp_lock_find_further(locks, at, key);
}

/*
 * The entry, if it is where nearly all are: first in its bucket. NULL: it is elsewhere, or there is none. A bucket
 * is found by the bytes to it, which takes two instructions less than by its number.
 */
static inline __attribute__((always_inline)) struct hp_lock_entry *
hp_lock_find_first(struct hp_locks *locks, const void *lock, enum hp_lock_kind kind)
{
    const uintptr_t key = hp_lock_key(lock, kind);
    const uint64_t wide = key;
    const size_t bytes = (wide ^ wide >> 15) & (HP_LOCK_BUCKETS - 1) * sizeof(struct hp_lock_bucket);
    const struct hp_lock_bucket *bucket = (const void *)((const char *)locks->buckets + bytes);
    if (__builtin_expect(__atomic_load_n(&bucket->slots[0].key, __ATOMIC_RELAXED) != key, 0))
        return NULL;
    return __atomic_load_n(&bucket->slots[0].entry, __ATOMIC_ACQUIRE);
}

static inline struct hp_locks_header *hp_locks_header(const struct hp_locks *locks)
{
    return (struct hp_locks_header *)(void *)locks->file.base;
}

/* The lock's entry, made now if it has none. NULL: no room. */
struct hp_lock_entry *hp_lock_meet(struct hp_locks *locks, const void *lock, enum hp_lock_kind kind,
                                   const struct hp_caller *caller, bool is_made);
/* The same for one in use; quickly, if there is no room. */
static inline struct hp_lock_entry *hp_lock_find_or_meet(struct hp_locks *locks, const void *lock,
                                                         enum hp_lock_kind kind, const struct hp_caller *caller)
{
    struct hp_lock_entry *entry = hp_lock_find(locks, lock, kind);
    if (entry != NULL || __atomic_load_n(&locks->is_full, __ATOMIC_RELAXED) != 0)
        return entry;
    return hp_lock_meet(locks, lock, kind, caller, false);
}
/* What was there is gone, of any kind: its numbers are added to its place. */
void hp_lock_forget(struct hp_locks *locks, const void *lock);
/* After a lock was made or destroyed with this result, which is returned: 0 is success. */
int hp_lock_made(int result, const void *lock, enum hp_lock_kind kind, const struct hp_caller *caller);
int hp_lock_gone(int result, const void *lock);

/* NULL: unknown. */
static inline struct hp_lock_place *hp_lock_place_at(const struct hp_locks *locks, uint32_t number)
{
    return number != 0 ? (struct hp_lock_place *)(void *)(locks->file.base + HP_LOCK_PLACES_AT) + (number - 1)
                       : NULL;
}

/* Counts what a holder did to those who waited, or a signal for those whom it woke. */
void hp_lock_pair(struct hp_locks *locks, uint32_t place, uint32_t waiter, uint32_t holder, uint64_t ticks);

/* ----------------------------------------------------------------------------------------------------- a thread */

/* Whether the C library knows that this is the only thread. */
extern const char *hp_lock_alone __attribute__((visibility("hidden"))); /* that of the C library, or a zero */
static inline bool hp_lock_is_alone(void) { return HOTPATH_GET_(*hp_lock_alone) != 0; }

/*
 * What tells threads apart that exist at the same time: not 0, and its lowest 16 bits are. The thread pointer,
 * where it takes one instruction.
 */
extern __thread char hp_lock_thread __attribute__((tls_model("initial-exec"), visibility("hidden"), aligned(16)));
static inline uint64_t hp_lock_self(void)
{
#if defined __x86_64__ && defined __LP64__
    uint64_t self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self << 12;
#else
    return (uint64_t)(uintptr_t)&hp_lock_thread << 12;
#endif
}

/* ------------------------------------------------------------------------------------------------------ a lock */

#define HP_LOCK_WAITERS ((UINT64_C(1) << HP_LOCK_WAITERS_BITS) - 1)
/*
 * In `held`, below its thread: how often that has the lock; that this hold is timed, or who wakes up wants to know
 * when it ends; and, also while nobody has the lock, that it is held for long on average, so every hold is timed.
 * So one comparison finds all that is unusual.
 */
#define HP_LOCK_DEPTH UINT64_C(0x3fff)
#define HP_LOCK_LONG UINT64_C(0x4000)
#define HP_LOCK_STAMP UINT64_C(0x8000)
static inline uint64_t hp_lock_holder(uint64_t held) { return held & ~UINT64_C(0xffff); }

static inline bool hp_lock_is_own(const struct hp_lock_entry *entry)
{
    return hp_lock_holder(HOTPATH_GET_(entry->held)) == hp_lock_self();
}

/* Once more, or of a thread that has not told us that it gave it up. */
void hp_lock_taken_again(struct hp_lock_entry *entry);

/* The calling thread has the lock now. */
static inline void hp_lock_taken(const struct hp_locks *locks, struct hp_lock_entry *entry)
{
    const uint64_t locked = entry->locked, held = HOTPATH_GET_(entry->held);
    HOTPATH_PUT_(entry->locked, locked + 1);
    if (__builtin_expect(hp_lock_holder(held) != 0, 0)) {
        hp_lock_taken_again(entry);
        return;
    }
    const bool is_timed = (locked & locks->hold_mask) == 0 || held == HP_LOCK_LONG;
    if (is_timed)
        HOTPATH_PUT_(entry->since, hp_side_now(&locks->file));
    HOTPATH_PUT_(entry->held, hp_lock_self() | (is_timed ? HP_LOCK_STAMP : 0) | 1);
}

/*
 * The usual case of both, without a call, so that the hook needs no registers to be saved. False: nothing was done;
 * the whole rest of the hook is needed.
 */
static inline __attribute__((always_inline)) bool hp_lock_take_fast(struct hp_locks *locks, const void *lock,
                                                                    enum hp_lock_kind kind)
{
    struct hp_lock_entry *entry = hp_lock_find_first(locks, lock, kind);
    if (__builtin_expect(entry == NULL, 0))
        return false;
    const uint64_t locked = entry->locked;
    if (__builtin_expect(HOTPATH_GET_(entry->held) != 0 || (locked & locks->hold_mask) == 0, 0))
        return false;
    HOTPATH_PUT_(entry->locked, locked + 1);
    HOTPATH_PUT_(entry->held, hp_lock_self() | 1);
    return true;
}

static inline __attribute__((always_inline)) bool hp_lock_release_fast(struct hp_locks *locks, const void *lock,
                                                                       enum hp_lock_kind kind)
{
    struct hp_lock_entry *entry = hp_lock_find_first(locks, lock, kind);
    if (__builtin_expect(entry == NULL || HOTPATH_GET_(entry->held) != (hp_lock_self() | 1), 0))
        return false;
    if (__builtin_expect(__atomic_load_n(&entry->waiting, __ATOMIC_RELAXED) != 0, 0))
        return false;
    HOTPATH_PUT_(entry->held, 0);
    return true;
}

/* The lock was had several times, or by another thread, or is awaited by those whom a signal woke. */
bool hp_lock_released_slowly(struct hp_lock_entry *entry, const void *lock, enum hp_lock_kind kind);

/*
 * The calling thread gives the lock up, while it still has it. True: there is more to do, by hp_lock_release and
 * hp_lock_charge.
 */
static inline bool hp_lock_released(struct hp_lock_entry *entry, const void *lock, enum hp_lock_kind kind)
{
    if (__builtin_expect(HOTPATH_GET_(entry->held) != (hp_lock_self() | 1), 0))
        return hp_lock_released_slowly(entry, lock, kind);
    HOTPATH_PUT_(entry->held, 0);
    return __builtin_expect(__atomic_load_n(&entry->waiting, __ATOMIC_RELAXED) != 0, 0);
}

struct hp_lock_charge {
    uint32_t pid;    /* the process that counts it */
    uint32_t place;  /* of the lock, which may be gone as soon as it is given up */
    uint32_t waiter; /* site of those who waited */
    uint64_t ticks;  /* 0: nobody */
};

/* The rest of that: before the lock is given up, and after that. */
void hp_lock_release(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_caller *caller,
                     struct hp_lock_charge *ret_charge);
void hp_lock_charge(struct hp_locks *locks, const struct hp_lock_charge *charge, const struct hp_caller *caller);
/* The same for a lock that several may hold: one of them gives it up. */
void hp_lock_release_shared(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_caller *caller,
                            struct hp_lock_charge *ret_charge);

/* A wait. */
struct hp_lock_wait {
    uint64_t since; /* 0: not recorded */
    uint32_t place; /* of the lock or condition, which may be gone when its thread wakes up */
    uint32_t site;  /* that waits for a lock; 0: unknown */
    uint32_t pid;   /* in which it began: a handler may fork meanwhile, and in the child the table is another one */
    bool is_foreign; /* nobody in this process was known to have the lock */
    bool is_open;    /* known to its thread as one that it is in */
};
/* Whether all that a hook knew before it waited is still so. */
static inline bool hp_lock_is_same_process(const struct hp_locks *locks, uint32_t pid)
{
    return HOTPATH_GET_(locks->file.pid) == pid;
}
void hp_lock_wait(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_caller *caller,
                  struct hp_lock_wait *ret_wait);
/* The same where `ret_wait` is not on the stack: the wait lasts at most until the stack is popped up to `frame`. */
void hp_lock_wait_at(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_caller *caller,
                     uintptr_t frame, struct hp_lock_wait *ret_wait);
enum hp_lock_outcome { HP_LOCK_GOT, HP_LOCK_TIMED_OUT, HP_LOCK_FAILED };
void hp_lock_waited(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_lock_wait *wait,
                    enum hp_lock_outcome outcome);
/* The same for a lock without an entry. */
void hp_lock_waited_among_others(struct hp_locks *locks, const struct hp_lock_wait *wait,
                                 enum hp_lock_outcome outcome);
void hp_lock_taken_among_others(struct hp_locks *locks);

/* ------------------------------------------------------------------------- conditions, semaphores and barriers */

/* Who waits here does not know the holder, but is woken by a signal. `mutex`: the entry of its mutex, or NULL. */
void hp_lock_sleep(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_lock_entry *mutex,
                   struct hp_lock_wait *ret_wait);
void hp_lock_slept(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_lock_entry *mutex,
                   const struct hp_caller *caller, const struct hp_lock_wait *wait, enum hp_lock_outcome outcome);
/* After that, if a signal has ended the wait: apart, since each of both takes stack. */
void hp_lock_slept_path(struct hp_locks *locks, const struct hp_lock_entry *entry,
                        const struct hp_lock_entry *mutex, const struct hp_caller *caller,
                        const struct hp_lock_wait *wait);
/* Before a signal that somebody waits for. */
void hp_lock_signal(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_caller *caller);
static inline bool hp_lock_is_awaited(const struct hp_lock_entry *entry)
{
    return (__atomic_load_n(&entry->waiting, __ATOMIC_ACQUIRE) & HP_LOCK_WAITERS) != 0;
}

#endif
