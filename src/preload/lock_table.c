/* The table of locks: its entries and places. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include "lock_entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hook_entries.h"
#include "memory.h"

struct hp_locks *hp_locks;
/* In glibc since 2.32. */
extern const char __libc_single_threaded __attribute__((weak));
static const char nobody_knows;
const char *hp_lock_alone = &nobody_knows;
__thread char hp_lock_thread;

/* ----------------------------------------------------------------------------------------------------- the file */

/* Ticks of a duration, as far as two close moments tell; the least long hold need not be exact. */
static uint32_t ticks_of_us(void)
{
    const uint64_t per_ms = HOTPATH_GET_(hp_runtime->ticks_per_ms);
    return per_ms != 0 ? (uint32_t)(per_ms / 1000 + 1) : 2500;
}

/* The first entries belong to no lock. */
static bool claim_others(struct hp_locks *locks)
{
    const uint32_t place = hp_side_claim(&locks->file, HP_LOCK_PLACES);
    if (place != 0)
        return false;
    struct hp_lock_place *others = hp_side_item(&locks->file, HP_LOCK_PLACES, place);
    others->kind = HP_LOCK_OTHERS;
    others->key = 1;
    for (uint32_t at = 0; at < HP_LOCK_OTHER_ENTRIES; at++) {
        const uint32_t number = hp_side_claim(&locks->file, HP_LOCK_ENTRIES);
        if (number != at)
            return false;
        ((struct hp_lock_entry *)hp_side_item(&locks->file, HP_LOCK_ENTRIES, number))->place = 1;
    }
    return true;
}

static bool fill_file(struct hp_side_file *file)
{
    struct hp_locks *locks = hp_locks;
    locks->hold_mask = hp_side_header(file)->flag ? 0 : 63;
    locks->long_hold = ticks_of_us();
    locks->sites.file = file;
    hp_sites_read_images(&locks->sites); /* before threads compete for their first locks */
    return claim_others(locks);
}

static struct hp_side_kind file_kind = {
    .suffix = HP_LOCKS_SUFFIX,
    .magic = HP_LOCKS_MAGIC,
    .version = HP_LOCKS_VERSION,
    .bytes = HP_LOCKS_BYTES,
    .table_count = HP_LOCK_TABLES,
    .tables = {HP_SIDE_COMMON_TABLES,
               [HP_LOCK_PAIRS] = {HP_LOCK_PAIRS_AT, sizeof(struct hp_lock_pair), HP_LOCK_MOST_PAIRS},
               [HP_LOCK_PLACES] = {HP_LOCK_PLACES_AT, sizeof(struct hp_lock_place), HP_LOCK_MOST_PLACES},
               [HP_LOCK_ENTRIES] = {HP_LOCK_ENTRIES_AT, sizeof(struct hp_lock_entry), HP_LOCK_MOST_ENTRIES}},
    .fill = fill_file,
    .is_for_sessions = true};

__attribute__((noinline, cold)) struct hp_locks *hp_locks_begin(void)
{
    struct hp_locks *locks = hp_locks;
    return hp_side_begin(&locks->file, &file_kind) ? locks : NULL;
}

/* The file is not made now, in forked children either. As long as there is none, nobody finds anything here. */
static bool yield(void)
{
    uint32_t none = HP_SIDE_NONE;
    if (hp_locks == NULL || !__atomic_compare_exchange_n(&hp_locks->file.state, &none, HP_SIDE_REFUSED, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&hp_locks, NULL, __ATOMIC_RELAXED);
    return true;
}

/*
 * Hooks that are linked with a program pass calls on to those that `hotpath run` preloads, or the other way round:
 * one of them counts. Of two libraries, the one that is called first is loaded first, and prepared last. Hooks in
 * the program itself are prepared last, too, but do not see the calls of libraries.
 */
static bool is_counted_by_another(void)
{
    bool (*const other)(void) = __atomic_load_n(&hp_runtime->yield_locks, __ATOMIC_ACQUIRE);
#ifdef HOTPATH_LOCKS_WRAP
    return other != NULL;
#else
    return other != NULL && !other();
#endif
}

void hp_locks_prepare(void)
{
    if (hp_locks != NULL || !hp_side_prepare(&file_kind, "HOTPATH_LOCKS", sizeof(struct hp_locks)) ||
        is_counted_by_another())
        return;
    if (&__libc_single_threaded != NULL)
        hp_lock_alone = &__libc_single_threaded;
    file_kind.flag = hp_side_is_set("HOTPATH_LOCK_HOLDS");
    struct hp_locks *locks = hp_memory_map(sizeof *locks);
    if (locks == NULL || !hp_memory_wipe_on_fork(locks, sizeof *locks))
        return;
    __atomic_store_n(&hp_locks, locks, __ATOMIC_RELEASE);
    __atomic_store_n(&hp_runtime->lock_hooks, &hp_own_lock_hooks, __ATOMIC_RELEASE);
    __atomic_store_n(&hp_runtime->yield_locks, yield, __ATOMIC_RELEASE);
}

__attribute__((destructor)) static void note_end(void)
{
    if (hp_locks != NULL)
        hp_side_note_end(&hp_locks->file);
}

/* ------------------------------------------------------------------------------------------------------- places */

struct wanted_place {
    uint32_t kind, site, is_made;
    uint32_t name;   /* by the program; 0: none */
    uint32_t number; /* of the one that was found */
    uint64_t address;
    uint64_t key;
};

static bool is_place(uint32_t number, const void *wanted_)
{
    const struct wanted_place *wanted = wanted_;
    const struct hp_lock_place *place = hp_side_item(&hp_locks->file, HP_LOCK_PLACES, number - 1);
    if (wanted->name != 0)
        return place->key == wanted->key && place->kind == wanted->kind &&
               strncmp(place->name, hp_lock_name_text(wanted->name), sizeof place->name - 1) == 0;
    return place->key == wanted->key && place->kind == wanted->kind && place->address == wanted->address &&
           (place->address != 0 || (place->site == wanted->site && place->is_made == wanted->is_made));
}

static uint32_t find_place(struct hp_locks *locks, const struct wanted_place *wanted, uint32_t **ret_free)
{
    return hp_side_find(locks->place_index, HP_LOCK_PLACE_INDEX, wanted->key, is_place, wanted, ret_free);
}

static uint32_t make_place(struct hp_locks *locks, const struct wanted_place *wanted)
{
    uint32_t *free;
    uint32_t number = find_place(locks, wanted, &free);
    if (number != 0 || free == NULL)
        return number;
    const uint32_t made_ = hp_side_claim(&locks->file, HP_LOCK_PLACES);
    if (made_ == HP_SIDE_NO_ITEM)
        return 0;
    struct hp_lock_place *place = hp_side_item(&locks->file, HP_LOCK_PLACES, made_);
    place->kind = wanted->kind;
    place->site = wanted->site;
    place->is_made = wanted->is_made;
    place->address = wanted->address;
    if (wanted->name != 0)
        strncpy(place->name, hp_lock_name_text(wanted->name), sizeof place->name - 1);
    __atomic_store_n(&place->key, wanted->key, __ATOMIC_RELEASE);
    uint32_t none = 0;
    while (free != NULL &&
           !__atomic_compare_exchange_n(free, &none, made_ + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        number = find_place(locks, wanted, &free);
        if (number != 0)
            return number;
        none = 0;
    }
    return free != NULL ? made_ + 1 : 0;
}

static void make_place_aside(void *context)
{
    struct wanted_place *wanted = context;
    wanted->number = make_place(hp_locks, wanted);
}

static __attribute__((noinline)) uint32_t choose_place(struct hp_locks *locks, const void *lock,
                                                       enum hp_lock_kind kind, uint32_t site, bool is_made)
{
    struct wanted_place wanted = {.kind = kind, .site = site, .is_made = is_made};
    uint32_t *free;
    const int saved = errno;
    wanted.name = hp_lock_name_of(lock);
    if (wanted.name == 0 && hp_sites_is_static(&locks->sites, (uintptr_t)lock))
        wanted.address = (uintptr_t)lock;
    wanted.key = wanted.name != 0      ? hp_side_hash(kind, wanted.name, 0)
                 : wanted.address != 0 ? hp_side_hash(kind, wanted.address, 1)
                                       : hp_side_hash(kind, wanted.site, 2 + wanted.is_made);
    wanted.key |= wanted.key == 0;
    wanted.number = find_place(locks, &wanted, &free);
    if (wanted.number == 0 && free != NULL)
        hp_aside(make_place_aside, &wanted);
    errno = saved;
    if (wanted.number == 0)
        hp_side_lose(&locks->file, HP_LOCK_LOST_PLACES);
    return wanted.number != 0 ? wanted.number : 1;
}

/* ------------------------------------------------------------------------------------------------------ entries */

__attribute__((noinline)) struct hp_lock_entry *hp_lock_find_further(struct hp_locks *locks, uint32_t bucket,
                                                                     uintptr_t key)
{
    struct hp_lock_entry *entry = hp_lock_find_in(&locks->buckets[bucket], key);
    if (entry != NULL || !hp_lock_is_crowded(locks, bucket))
        return entry;
    return hp_lock_find_in(&locks->buckets[bucket ^ 1], key);
}

/* Several threads may share one of these, but few do. */
void hp_lock_taken_among_others(struct hp_locks *locks)
{
    struct hp_lock_entry *others =
        hp_side_item(&locks->file, HP_LOCK_ENTRIES, (hp_lock_self() >> 24) % HP_LOCK_OTHER_ENTRIES);
    if (hp_lock_is_alone())
        HOTPATH_PUT_(others->locked, others->locked + 1);
    else
        __atomic_fetch_add(&others->locked, 1, __ATOMIC_RELAXED);
}

/* Another thread has just claimed the slot, and gives it an entry. */
static struct hp_lock_entry *entry_soon(struct hp_lock_slot *slot, uintptr_t key)
{
    for (unsigned tries = 0; tries < 1000; tries++) {
        struct hp_lock_entry *entry = __atomic_load_n(&slot->entry, __ATOMIC_ACQUIRE);
        if (entry != NULL || __atomic_load_n(&slot->key, __ATOMIC_RELAXED) != key)
            return entry;
    }
    return NULL;
}

static bool give_entry(struct hp_locks *locks, struct hp_lock_slot *slot, uint32_t place)
{
    struct hp_lock_entry *entry = __atomic_load_n(&slot->entry, __ATOMIC_ACQUIRE);
    if (entry == NULL) {
        const uint32_t number = hp_side_claim(&locks->file, HP_LOCK_ENTRIES);
        if (number == HP_SIDE_NO_ITEM)
            return false;
        entry = hp_side_item(&locks->file, HP_LOCK_ENTRIES, number);
    }
    HOTPATH_PUT_(entry->place, place);
    __atomic_store_n(&slot->entry, entry, __ATOMIC_RELEASE);
    struct hp_lock_place *its = hp_lock_place_at(locks, entry->place);
    if (its != NULL)
        __atomic_fetch_add(&its->instances, 1, __ATOMIC_RELAXED);
    return true;
}

/* Whether a lock could find room there. */
static bool has_room(const struct hp_locks *locks, const struct hp_lock_bucket *bucket)
{
    const bool are_all =
        HOTPATH_GET_(hp_side_header(&locks->file)->counts[HP_LOCK_ENTRIES]) >= HP_LOCK_MOST_ENTRIES;
    for (unsigned way = 0; way < HP_LOCK_WAYS; way++)
        if (HOTPATH_GET_(bucket->slots[way].key) == 0 && (!are_all || bucket->slots[way].entry != NULL))
            return true;
    return false;
}

static struct hp_lock_entry *put_in(struct hp_locks *locks, struct hp_lock_bucket *bucket, uintptr_t key,
                                    uint32_t place)
{
    for (unsigned way = 0; way < HP_LOCK_WAYS; way++) {
        struct hp_lock_slot *slot = &bucket->slots[way];
        uintptr_t found = 0;
        if (__atomic_compare_exchange_n(&slot->key, &found, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            if (give_entry(locks, slot, place))
                return slot->entry;
            __atomic_store_n(&slot->key, 0, __ATOMIC_RELEASE);
            return NULL;
        }
        if (found == key)
            return entry_soon(slot, key);
    }
    return NULL;
}

static void add(uint64_t *to, uint64_t number)
{
    if (number != 0)
        __atomic_fetch_add(to, number, __ATOMIC_RELAXED);
}

/* Its lock is gone, so no other thread uses it. */
static void fold(struct hp_locks *locks, struct hp_lock_entry *entry)
{
    struct hp_lock_place *place = hp_lock_place_at(locks, entry->place);
    const struct hp_lock_entry gone = *entry;
    memset(entry, 0, sizeof *entry);
    if (place == NULL)
        return;
    add(&place->locked, gone.locked);
    add(&place->holds, gone.holds);
    add(&place->hold_ticks, gone.hold_ticks);
}

/* A condition may be destroyed while those whom it woke are still about to count: then the entry stays. */
static __attribute__((noinline)) void forget_but(struct hp_locks *locks, const void *lock, uintptr_t kept)
{
    const uint32_t at = hp_lock_bucket_of((uintptr_t)lock);
    for (unsigned slot = 0; slot < 2 * HP_LOCK_WAYS; slot++) {
        struct hp_lock_slot *its = &locks->buckets[at ^ slot / HP_LOCK_WAYS].slots[slot % HP_LOCK_WAYS];
        const uintptr_t key = __atomic_load_n(&its->key, __ATOMIC_RELAXED);
        if (hp_lock_of_key(key) != (uintptr_t)lock || key == kept || its->entry == NULL ||
            hp_lock_is_awaited(its->entry))
            continue;
        fold(locks, its->entry);
        __atomic_store_n(&its->key, 0, __ATOMIC_RELEASE);
        if (__atomic_load_n(&locks->is_full, __ATOMIC_RELAXED) != 0)
            __atomic_store_n(&locks->is_full, 0, __ATOMIC_RELAXED);
    }
}

static __attribute__((noinline)) bool is_room_for(struct hp_locks *locks, uintptr_t key)
{
    const uint32_t at = hp_lock_bucket_of(key);
    if (has_room(locks, &locks->buckets[at]) || has_room(locks, &locks->buckets[at ^ 1]))
        return true;
    const bool are_all =
        HOTPATH_GET_(hp_side_header(&locks->file)->counts[HP_LOCK_ENTRIES]) >= HP_LOCK_MOST_ENTRIES;
    __atomic_store_n(&locks->is_full, are_all, __ATOMIC_RELAXED);
    return false;
}

static __attribute__((noinline)) struct hp_lock_entry *put(struct hp_locks *locks, uintptr_t key, uint32_t place)
{
    const uint32_t at = hp_lock_bucket_of(key);
    struct hp_lock_entry *entry = put_in(locks, &locks->buckets[at], key, place);
    if (entry != NULL)
        return entry;
    __atomic_fetch_or(&locks->crowded[at / 32], 1u << at % 32, __ATOMIC_RELEASE);
    return put_in(locks, &locks->buckets[at ^ 1], key, place);
}

/* One thing after another, each with the stack for itself. */
__attribute__((noinline)) struct hp_lock_entry *hp_lock_meet(struct hp_locks *locks, const void *lock,
                                                             enum hp_lock_kind kind, const struct hp_caller *caller,
                                                             bool is_made)
{
    struct hp_lock_entry *entry = hp_lock_find(locks, lock, kind);
    const uintptr_t key = hp_lock_key(lock, kind);
    if (entry != NULL)
        return entry;
    if (!is_room_for(locks, key))
        return NULL;
    forget_but(locks, lock, key); /* of another kind */
    const uint32_t site = hp_sites_number(&locks->sites, caller);
    return put(locks, key, choose_place(locks, lock, kind, site, is_made));
}

void hp_lock_forget(struct hp_locks *locks, const void *lock)
{
    forget_but(locks, lock, 0);
    hp_lock_unname(lock);
}

void hp_lock_rename(struct hp_locks *locks, const void *lock)
{
    static const enum hp_lock_kind kinds[] = {HP_LOCK_MUTEX, HP_LOCK_CONDITION, HP_LOCK_RWLOCK, HP_LOCK_SPIN,
                                              HP_LOCK_OWN}; /* SPIN: also for the others of its key */
    for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++) {
        struct hp_lock_entry *entry = hp_lock_find(locks, lock, kinds[at]);
        struct hp_lock_place *before = entry != NULL ? hp_lock_place_at(locks, HOTPATH_GET_(entry->place)) : NULL;
        if (before == NULL)
            continue;
        const uint32_t number = choose_place(locks, lock, before->kind, before->site, before->is_made != 0);
        __atomic_fetch_sub(&before->instances, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&hp_lock_place_at(locks, number)->instances, 1, __ATOMIC_RELAXED);
        HOTPATH_PUT_(entry->place, number);
    }
}

/* Many are made and never used: these do not take the last room. */
int hp_lock_made(int result, const void *lock, enum hp_lock_kind kind, const struct hp_caller *caller)
{
    struct hp_locks *locks = result == 0 ? hp_locks_on() : NULL;
    if (locks == NULL)
        return result;
    hp_lock_forget(locks, lock);
    if (HOTPATH_GET_(hp_side_header(&locks->file)->counts[HP_LOCK_ENTRIES]) < HP_LOCK_MOST_ENTRIES / 4 * 3)
        hp_lock_meet(locks, lock, kind, caller, true);
    return result;
}

int hp_lock_gone(int result, const void *lock)
{
    struct hp_locks *locks = result == 0 ? hp_locks_on() : NULL;
    if (locks != NULL)
        hp_lock_forget(locks, lock);
    return result;
}

/* -------------------------------------------------------------------------------------------------------- pairs */

struct wanted_pair {
    uint32_t place, waiter, holder;
    uint32_t *free;            /* where to put a new one in the index */
    struct hp_lock_pair *made; /* NULL: no room */
};

static bool is_pair(uint32_t number, const void *wanted_)
{
    const struct wanted_pair *wanted = wanted_;
    const struct hp_lock_pair *pair = hp_side_item(&hp_locks->file, HP_LOCK_PAIRS, number - 1);
    return pair->place == wanted->place && pair->waiter == wanted->waiter && pair->holder == wanted->holder;
}

static void make_pair_aside(void *context)
{
    struct wanted_pair *wanted = context;
    const uint32_t number = hp_side_claim(&hp_locks->file, HP_LOCK_PAIRS);
    uint32_t none = 0;
    if (number == HP_SIDE_NO_ITEM)
        return;
    wanted->made = hp_side_item(&hp_locks->file, HP_LOCK_PAIRS, number);
    wanted->made->waiter = wanted->waiter;
    wanted->made->holder = wanted->holder;
    __atomic_store_n(&wanted->made->place, wanted->place, __ATOMIC_RELEASE);
    /* If another thread was first there, this one counts beside it: the report adds up equal pairs. */
    __atomic_compare_exchange_n(wanted->free, &none, number + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static struct hp_lock_pair *pair_of(struct hp_locks *locks, struct wanted_pair *wanted)
{
    const uint64_t hash = hp_side_hash(wanted->place, wanted->waiter, wanted->holder);
    const int saved = errno;
    const uint32_t number =
        hp_side_find(locks->pair_index, HP_LOCK_PAIR_INDEX, hash, is_pair, wanted, &wanted->free);
    if (number != 0)
        return hp_side_item(&locks->file, HP_LOCK_PAIRS, number - 1);
    if (wanted->free != NULL)
        hp_aside(make_pair_aside, wanted);
    errno = saved;
    return wanted->made;
}

void hp_lock_pair(struct hp_locks *locks, uint32_t place, uint32_t waiter, uint32_t holder, uint64_t ticks)
{
    struct hp_lock_place *its = hp_lock_place_at(locks, place);
    if (its == NULL)
        return;
    add(&its->blame_ticks, ticks);
    struct hp_lock_pair *pair =
        pair_of(locks, &(struct wanted_pair){.place = place, .waiter = waiter, .holder = holder});
    if (pair == NULL) {
        hp_side_lose(&locks->file, HP_LOCK_LOST_PAIRS);
        return;
    }
    add(&pair->count, 1);
    add(&pair->ticks, ticks);
    hp_side_raise(&pair->longest, ticks);
}
