/*
 * What the macros of locks do (hotpath.h): names for locks of any kind, and locks that a program makes itself of
 * atomics or futexes, which are counted like those of pthread.
 *
 * Names are not in the table of locks, which is empty in a forked child. The index has the address of each lock
 * that has a name; it is searched only when a lock is met for the first time. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "hook_entries.h"
#include "lock_entry.h"

/* -------------------------------------------------------------------------------------------------------- names */

#define MOST_NAMES 512u
#define MOST_NAMED 16384u
#define MOST_STEPS 32u
#define GONE 1u /* instead of an address: a lock that had a name */

static struct {
    char texts[MOST_NAMES][HP_LOCK_NAME_BYTES]; /* the first is unused */
    uint32_t count;                             /* atomic: of names, and of those being added */
    uint32_t named_count;                       /* atomic: locks that have, or had, a name */
    struct {
        uintptr_t lock; /* atomic */
        uint32_t name;  /* atomic; 0: not yet */
    } named[MOST_NAMED];
} names;

const char *hp_lock_name_text(uint32_t name) { return names.texts[name < MOST_NAMES ? name : 0]; }

/* Equal names added at once by two threads are two names of one text. 0: no room. */
static uint32_t number_of(const char *text)
{
    const uint32_t count = __atomic_load_n(&names.count, __ATOMIC_ACQUIRE);
    for (uint32_t name = 1; name <= count && name < MOST_NAMES; name++)
        if (strncmp(names.texts[name], text, HP_LOCK_NAME_BYTES - 1) == 0)
            return name;
    if (text[0] == '\0' || count + 1 >= MOST_NAMES)
        return 0;
    const uint32_t name = __atomic_add_fetch(&names.count, 1, __ATOMIC_ACQ_REL);
    if (name >= MOST_NAMES)
        return 0;
    strncpy(names.texts[name], text, HP_LOCK_NAME_BYTES - 1);
    return name;
}

/* NULL: it has no name. */
static uint32_t *find_name(const void *lock)
{
    const uint64_t hash = hp_side_hash((uintptr_t)lock, 0, 0);
    for (uint32_t step = 0; step < MOST_STEPS; step++) {
        const size_t at = (hash + step) % MOST_NAMED;
        const uintptr_t found = __atomic_load_n(&names.named[at].lock, __ATOMIC_ACQUIRE);
        if (found == (uintptr_t)lock)
            return &names.named[at].name;
        if (found == 0)
            return NULL;
    }
    return NULL;
}

static uint32_t *add_name(const void *lock)
{
    const uint64_t hash = hp_side_hash((uintptr_t)lock, 0, 0);
    for (uint32_t step = 0; step < MOST_STEPS; step++) {
        const size_t at = (hash + step) % MOST_NAMED;
        uintptr_t found = __atomic_load_n(&names.named[at].lock, __ATOMIC_ACQUIRE);
        if (found <= GONE && __atomic_compare_exchange_n(&names.named[at].lock, &found, (uintptr_t)lock, false,
                                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            __atomic_fetch_add(&names.named_count, 1, __ATOMIC_RELEASE);
            return &names.named[at].name;
        }
        if (found == (uintptr_t)lock)
            return &names.named[at].name;
    }
    return NULL;
}

uint32_t hp_lock_name_of(const void *lock)
{
    uint32_t *name = __atomic_load_n(&names.named_count, __ATOMIC_ACQUIRE) != 0 ? find_name(lock) : NULL;
    return name != NULL ? __atomic_load_n(name, __ATOMIC_ACQUIRE) : 0;
}

/* A lock may be there twice, but not behind an empty place: what was taken once is GONE, and not empty again. */
void hp_lock_unname(const void *lock)
{
    const uint64_t hash = hp_side_hash((uintptr_t)lock, 0, 0);
    if (__atomic_load_n(&names.named_count, __ATOMIC_ACQUIRE) == 0)
        return;
    for (uint32_t step = 0; step < MOST_STEPS; step++) {
        const size_t at = (hash + step) % MOST_NAMED;
        const uintptr_t found = __atomic_load_n(&names.named[at].lock, __ATOMIC_ACQUIRE);
        if (found == 0)
            return;
        if (found != (uintptr_t)lock)
            continue;
        __atomic_store_n(&names.named[at].name, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&names.named[at].lock, GONE, __ATOMIC_RELEASE);
    }
}

static void give_name(const void *lock, const char *text)
{
    const uint32_t present = hp_lock_name_of(lock);
    if (lock == NULL || text == NULL ||
        (present != 0 && strncmp(hp_lock_name_text(present), text, HP_LOCK_NAME_BYTES - 1) == 0))
        return;
    const uint32_t name = number_of(text);
    uint32_t *its = name != 0 ? add_name(lock) : NULL;
    if (its == NULL)
        return;
    __atomic_store_n(its, name, __ATOMIC_RELEASE);
    struct hp_locks *locks = hp_locks_on();
    if (locks != NULL)
        hp_lock_rename(locks, lock);
}

/* ---------------------------------------------------------------------------------------------------- own locks */

/* The wait of this thread. */
static __thread struct {
    const void *lock; /* NULL: none */
    struct hp_lock_entry *entry;
    struct hp_lock_wait wait;
} waiting __attribute__((tls_model("initial-exec")));

static struct hp_caller caller_of(const struct hotpath_lock_caller_ *caller)
{
    return (struct hp_caller){caller->pc, caller->stack, caller->frame};
}

static void end_wait(struct hp_locks *locks, enum hp_lock_outcome outcome)
{
    waiting.lock = NULL;
    if (!hp_lock_is_same_process(locks, waiting.wait.pid))
        return; /* this is a forked child, and the wait that of its parent */
    if (waiting.entry != NULL)
        hp_lock_waited(locks, waiting.entry, &waiting.wait, outcome);
    else
        hp_lock_waited_among_others(locks, &waiting.wait, outcome);
}

static void wait_for(const void *lock, const char *name, const struct hotpath_lock_caller_ *from)
{
    const struct hp_caller caller = caller_of(from);
    struct hp_locks *locks = hp_locks_on();
    if (locks == NULL)
        return;
    if (name != NULL && name[0] != '\0')
        give_name(lock, name);
    if (waiting.lock == lock && hp_lock_is_same_process(locks, waiting.wait.pid))
        return; /* still the same wait */
    if (waiting.lock != NULL)
        end_wait(locks, HP_LOCK_TIMED_OUT);
    waiting.entry = hp_lock_meet(locks, lock, HP_LOCK_OWN, &caller, false);
    /* What the program calls to wait may be hooked, too, from the same place on the stack. */
    hp_lock_wait_at(locks, waiting.entry, &caller, caller.stack + 1, &waiting.wait);
    waiting.lock = lock;
}

static void take(const void *lock, const struct hotpath_lock_caller_ *from)
{
    struct hp_locks *locks = hp_locks_on();
    struct hp_lock_entry *entry = locks != NULL ? hp_lock_find(locks, lock, HP_LOCK_OWN) : NULL;
    if (locks == NULL)
        return;
    if (waiting.lock == lock)
        end_wait(locks, HP_LOCK_GOT);
    if (entry == NULL) {
        const struct hp_caller caller = caller_of(from);
        entry = hp_lock_find_or_meet(locks, lock, HP_LOCK_OWN, &caller);
    }
    if (entry != NULL)
        hp_lock_taken(locks, entry);
    else
        hp_lock_taken_among_others(locks);
}

static void release(const void *lock, const struct hotpath_lock_caller_ *from)
{
    const struct hp_caller caller = caller_of(from);
    struct hp_locks *locks = hp_locks_on();
    struct hp_lock_entry *entry = locks != NULL ? hp_lock_find(locks, lock, HP_LOCK_OWN) : NULL;
    struct hp_lock_charge charge;
    if (locks != NULL && waiting.lock == lock)
        end_wait(locks, HP_LOCK_TIMED_OUT);
    else if (entry != NULL && hp_lock_released(entry, lock, HP_LOCK_OWN)) {
        hp_lock_release(locks, entry, &caller, &charge);
        hp_lock_charge(locks, &charge, &caller);
    }
}

const struct hotpath_lock_hooks_ hp_own_lock_hooks = {give_name, wait_for, take, release};
