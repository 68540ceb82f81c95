/*
 * Space in a session: allocating from it, and extending the file when it runs out. Also called by the sampling
 * signal handler, which may interrupt the host anywhere: nothing here is the C library's.
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>

#include "files.h"
#include "raw_call.h"
#include "signals.h"
#include "store.h"

#define GROW_AT_LEAST (64u << 10)
#define GROW_AT_MOST (512u << 10) /* allocating it takes a tenth of a millisecond, perhaps under the lock */

/* A full disk stays full for a while: asking again costs the host system calls, so most requests fail at once. */
#define ASK_AGAIN 4096u

static bool is_worth_asking(struct hp_store *store)
{
    const uint32_t refusals = __atomic_load_n(&store->refusals, __ATOMIC_RELAXED);
    if (hp_header_is_sandboxed(hp_store_header(store)))
        return false;
    if (refusals != 0)
        __atomic_store_n(&store->refusals, refusals + 1, __ATOMIC_RELAXED);
    return refusals % ASK_AGAIN == 0;
}

/* Extends the file by reopening it, as long as that is possible. */
static enum hp_refusal reserve_by_path(const struct hp_store *store, uint64_t from, uint64_t to)
{
    const int fd =
        (int)hp_raw(SYS_openat, AT_FDCWD, store->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    enum hp_refusal refusal = HP_REFUSAL_FILE;
    if (fd >= 0 && hp_file_is(fd, &store->file))
        refusal = hp_file_reserve(fd, from, to) ? HP_REFUSAL_NONE : HP_REFUSAL_SPACE;
    if (fd >= 0)
        hp_raw(SYS_close, fd);
    return refusal;
}

/* Maps and allocates bytes up to `to`. */
static enum hp_refusal extend(struct hp_store *store, uint64_t from, uint64_t to)
{
    if (!hp_range_grow(&store->range, to))
        return HP_REFUSAL_ADDRESSES;
    const enum hp_fill fill = store->is_full_length ? hp_range_fill(&store->range, from, to) : HP_FILL_UNKNOWN;
    if (fill == HP_FILL_NO_SPACE)
        return HP_REFUSAL_SPACE;
    if (fill == HP_FILL_DONE || store->is_memory || store->is_lent)
        return HP_REFUSAL_NONE;
    return reserve_by_path(store, from, to);
}

/* As far as needed, and a good deal further if possible. */
static bool grow_locked(struct hp_store *store, uint64_t to)
{
    struct hp_header *header = hp_store_header(store);
    const uint64_t backed = __atomic_load_n(&header->backed, __ATOMIC_RELAXED);
    if (backed >= to)
        return true; /* another thread has done it meanwhile */
    uint64_t step = backed / 2;
    step = step < GROW_AT_LEAST ? GROW_AT_LEAST : step > GROW_AT_MOST ? GROW_AT_MOST : step;
    const uint64_t exact = (to + 4095) & ~UINT64_C(4095);
    uint64_t end = exact + step < store->capacity ? exact + step : store->capacity;
    enum hp_refusal refusal = extend(store, backed, end);
    if (refusal != HP_REFUSAL_NONE && end > exact)
        refusal = extend(store, backed, end = exact);
    const bool has_grown = refusal == HP_REFUSAL_NONE;
    if (has_grown)
        __atomic_store_n(&header->backed, end, __ATOMIC_RELAXED);
    else
        __atomic_store_n(&header->refusal, refusal, __ATOMIC_RELAXED);
    __atomic_store_n(&store->refusals, has_grown ? 0 : 1, __ATOMIC_RELAXED);
    return has_grown;
}

/* Signals are blocked: a handler that got here, too, would wait for the code it interrupted. */
static bool grow(struct hp_store *store, uint64_t to)
{
    struct hp_signals held;
    if (!is_worth_asking(store))
        return false;
    hp_signals_hold(&held);
    hp_mutex_take(&store->growing);
    const bool has_grown = grow_locked(store, to);
    hp_mutex_give(&store->growing);
    hp_signals_release(&held);
    return has_grown;
}

void hp_store_reserve(struct hp_store *store, uint64_t bytes)
{
    const struct hp_header *header = hp_store_header(store);
    const uint64_t wanted = __atomic_load_n(&header->used, __ATOMIC_RELAXED) + bytes;
    const uint64_t to = wanted < store->capacity ? wanted : store->capacity;
    if (to > __atomic_load_n(&header->backed, __ATOMIC_RELAXED))
        grow(store, to);
}

bool hp_store_reserve_all(struct hp_store *store)
{
    struct hp_header *header = hp_store_header(store);
    const bool is_all = header->backed >= store->capacity || grow(store, store->capacity);
    /* No more is requested later, whatever the answer would be. */
    store->capacity = header->capacity = header->backed;
    return is_all;
}

uint32_t hp_store_allocate(struct hp_store *store, uint32_t size, uint32_t align)
{
    struct hp_header *header = hp_store_header(store);
    uint64_t used = __atomic_load_n(&header->used, __ATOMIC_RELAXED);
    for (;;) {
        const uint64_t from = (used + align - 1) & ~(uint64_t)(align - 1);
        const uint64_t to = from + size;
        if (to > store->capacity) {
            __atomic_store_n(&header->refusal, HP_REFUSAL_CAPACITY, __ATOMIC_RELAXED);
            return 0;
        }
        if (to > __atomic_load_n(&header->backed, __ATOMIC_RELAXED) && !grow(store, to))
            return 0;
        if (__atomic_compare_exchange_n(&header->used, &used, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return (uint32_t)from;
    }
}

void hp_store_lose(struct hp_store *store, enum hp_loss loss, uint64_t count)
{
    __atomic_fetch_add(&hp_store_header(store)->losses[loss], count, __ATOMIC_RELAXED);
}
