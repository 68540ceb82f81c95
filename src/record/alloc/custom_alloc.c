/*
 * Custom allocators: memory that the program hands out itself, by label. The counters of a pool are in the session.
 * Its live blocks and their sizes are in a table of the process, so that they can be freed by address alone.
 *
 * The table is sharded; each shard has a lock that is held for a few instructions. Shards are in memory that the
 * kernel empties in a forked child, so that a child never waits for a thread that does not exist there; it starts
 * without blocks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "allocations.h"
#include "holding.h"
#include "memory.h"
#include "thread_context.h"
#include "threads.h"

#define SHARDS 64u
#define FIRST_BLOCKS 64u
#define MOST_POOLS 256u

struct block {
    uintptr_t address; /* 0: free; 1: deleted */
    uint64_t size;
    uint32_t pool; /* offset in the session */
    uint32_t epoch;
};
#define TAKEN_BACK ((uintptr_t)1)

struct shard {
    struct hp_mutex lock;
    uint32_t used;    /* slots that are not free, deleted ones included */
    uint32_t present; /* blocks; some may be of an earlier session */
    uint32_t reserved;
    size_t capacity;
    struct block *blocks;
    char apart[128 - 4 * sizeof(uint32_t) - sizeof(size_t) - sizeof(void *)];
};

static void *shards; /* see hp_memory_at */

/* ------------------------------------------------------------------------------------------------------- pools */

static struct hp_pool *pool_at(const struct hp_store *store, uint32_t offset) { return hp_store_at(store, offset); }

/* Labels are compared by text: the same label may be used at several places. */
static uint32_t find_pool(const struct hp_store *store, const char *label)
{
    const struct hp_header *header = hp_store_header(store);
    uint32_t offset = __atomic_load_n(&header->pools, __ATOMIC_ACQUIRE);
    for (uint32_t left = MOST_POOLS; offset != 0 && left > 0; left--) {
        const struct hp_pool *pool = pool_at(store, offset);
        const struct hp_string *name = hp_store_at(store, pool->name);
        if (strcmp(name->bytes, label) == 0)
            return offset;
        offset = pool->next;
    }
    return 0;
}

/* Under the lock. If there is no space, no pool is made, and its users count the loss. */
static void make_pool(struct hp_store *store, const char *label)
{
    struct hp_header *header = hp_store_header(store);
    uint32_t count = 0;
    for (uint32_t at = header->pools; at != 0; at = pool_at(store, at)->next)
        count++;
    const uint32_t name = count < MOST_POOLS ? hp_store_text(store, label) : 0;
    const uint32_t offset = name != 0 ? hp_store_allocate(store, sizeof(struct hp_pool), 64) : 0;
    if (offset == 0)
        return;
    pool_at(store, offset)->name = name;
    pool_at(store, offset)->next = header->pools;
    __atomic_store_n(&header->pools, offset, __ATOMIC_RELEASE);
}

static void need_pool(const char *label)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return;
    if (hp_runtime->gate != 0 && find_pool(hp_runtime->store, label) == 0)
        make_pool(hp_runtime->store, label);
    hp_unlock(&held);
}

static void count_allocation(struct hp_pool *pool, uint64_t size)
{
    const uint64_t count = __atomic_add_fetch(&pool->count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pool->bytes, size, __ATOMIC_RELAXED);
    hp_raise(&pool->peak_live, __atomic_add_fetch(&pool->live, (int64_t)size, __ATOMIC_RELAXED));
    hp_raise(&pool->peak_blocks, (int64_t)(count - __atomic_load_n(&pool->freed_count, __ATOMIC_RELAXED)));
}

static void count_free(struct hp_pool *pool, uint64_t size)
{
    __atomic_fetch_add(&pool->freed_count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pool->freed_bytes, size, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&pool->live, (int64_t)size, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------------------------------------ blocks */

static struct shard *all_shards(void) { return hp_memory_at(&shards, SHARDS * sizeof(struct shard), true); }

static uint64_t hash_of(const void *block) { return (uint64_t)(uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15); }

/*
 * The owner of this lock also holds its thread's context, so we cannot have interrupted it: a handler finds that
 * context held and does not get here.
 */
static void lock_shard(struct shard *shard)
{
    if (!hp_is_sealed())
        hp_mutex_take(&shard->lock);
    else
        while (!hp_mutex_try(&shard->lock)) /* spin: no system call allowed */
            ;
}

static void unlock_shard(struct shard *shard) { hp_mutex_give(&shard->lock); }

/* The slot of a block, or the free one where the search ends. */
static struct block *place_of(struct block *blocks, size_t capacity, const void *block)
{
    size_t at = (size_t)(hash_of(block) >> 32) & (capacity - 1);
    while (blocks[at].address != 0 && blocks[at].address != (uintptr_t)block)
        at = (at + 1) & (capacity - 1);
    return &blocks[at];
}

/* Whether the block is of the session with number `epoch`. */
static bool is_present(const struct block *block, uint32_t epoch)
{
    return block->address > TAKEN_BACK && block->epoch == epoch;
}

/* Written under the lock, but read without it. */
static void set_used(struct shard *shard, uint32_t used) { __atomic_store_n(&shard->used, used, __ATOMIC_RELAXED); }

/* Twice the room needed for the blocks still there. */
static bool make_room(struct shard *shard, uint32_t epoch)
{
    size_t present = 0;
    if (shard->capacity > 0 && ((size_t)shard->used + 1) * 4 <= shard->capacity * 3)
        return true;
    for (size_t at = 0; at < shard->capacity; at++)
        present += is_present(&shard->blocks[at], epoch);
    size_t capacity = FIRST_BLOCKS;
    while (capacity < (present + 1) * 2)
        capacity *= 2;
    struct block *fresh = hp_more_memory(capacity * sizeof *fresh);
    if (fresh == NULL)
        return false;
    for (size_t at = 0; at < shard->capacity; at++)
        if (is_present(&shard->blocks[at], epoch))
            *place_of(fresh, capacity, (const void *)shard->blocks[at].address) = shard->blocks[at];
    hp_memory_unmap(shard->blocks, shard->capacity * sizeof *fresh);
    shard->blocks = fresh;
    shard->capacity = capacity;
    shard->present = (uint32_t)present;
    set_used(shard, (uint32_t)present);
    return true;
}

/* An event being recorded. The pool is in the session, which stays mapped while the context is held. */
struct on_the_way {
    struct hp_thread_context *context;
    uint32_t pool;
    struct shard *shards;
};

static struct hp_pool *pool_of(const struct on_the_way *event, uint32_t offset)
{
    return pool_at(event->context->store, offset);
}

static bool is_of_event(const struct on_the_way *event, const struct block *block)
{
    return is_present(block, event->context->hot.epoch);
}

/* Replaces an entry at the same address whose block was never freed. */
static bool remember(const struct on_the_way *event, struct shard *shard, const void *block, uint64_t size)
{
    if (!make_room(shard, event->context->hot.epoch))
        return false;
    struct block *place = place_of(shard->blocks, shard->capacity, block);
    if (is_of_event(event, place))
        count_free(pool_of(event, place->pool), place->size);
    if (place->address == 0) {
        set_used(shard, shard->used + 1);
        shard->present++;
    }
    *place = (struct block){(uintptr_t)block, size, event->pool, event->context->hot.epoch};
    return true;
}

static void take_back(const struct on_the_way *event, struct shard *shard, struct block *block)
{
    count_free(pool_of(event, block->pool), block->size);
    block->address = TAKEN_BACK;
    shard->present--;
}

static void take_back_all(const struct on_the_way *event, struct shard *shard)
{
    for (size_t at = 0; at < shard->capacity && shard->present > 0; at++)
        if (is_of_event(event, &shard->blocks[at]) && shard->blocks[at].pool == event->pool)
            take_back(event, shard, &shard->blocks[at]);
    if (shard->present == 0 && shard->used > 0) {
        memset(shard->blocks, 0, shard->capacity * sizeof *shard->blocks);
        set_used(shard, 0);
    }
}

/* ------------------------------------------------------------------------------------------------------ events */

/*
 * Holds the context and finds the label's pool; both or none. The lookup comes after holding: before that, the
 * session may go away.
 */
static bool hold_pool(const char *label, struct on_the_way *event)
{
    event->context = hp_thread_hold();
    event->pool = event->context != NULL ? find_pool(event->context->store, label) : 0;
    if (event->context != NULL && event->pool == 0)
        hp_context_let_go(&event->context->hot);
    return event->pool != 0;
}

/* Starts a forked child's session, as a zone does. False: nothing is counted, or it cannot be. */
static bool begin_event(const char *label, struct on_the_way *event)
{
    if (!hp_records_allocations() || label == NULL)
        return false;
    event->shards = hp_thread_context_of_for_pools() != NULL ? all_shards() : NULL;
    if (event->shards != NULL && !hold_pool(label, event)) {
        need_pool(label);
        if (!hold_pool(label, event))
            event->shards = NULL;
    }
    if (event->shards == NULL)
        hp_session_lose(HP_LOSS_ALLOCS);
    return event->shards != NULL;
}

/* The shard of a block, locked. */
static struct shard *locked_shard(const struct on_the_way *event, const void *block)
{
    struct shard *shard = &event->shards[hash_of(block) >> 58];
    lock_shard(shard);
    return shard;
}

void hotpath_alloc_event(const char *label, const void *block, size_t size)
{
    const int saved = errno;
    struct on_the_way event;
    if (block != NULL && begin_event(label, &event)) {
        struct shard *shard = locked_shard(&event, block);
        if (remember(&event, shard, block, size))
            count_allocation(pool_of(&event, event.pool), size);
        else
            hp_lose(event.context, HP_LOSS_ALLOCS);
        unlock_shard(shard);
        hp_context_let_go(&event.context->hot);
    }
    errno = saved;
}

void hotpath_free_event(const char *label, const void *block)
{
    const int saved = errno;
    struct on_the_way event;
    if (block != NULL && begin_event(label, &event)) {
        struct shard *shard = locked_shard(&event, block);
        struct block *place = shard->capacity > 0 ? place_of(shard->blocks, shard->capacity, block) : NULL;
        if (place != NULL && is_of_event(&event, place) && place->pool == event.pool)
            take_back(&event, shard, place);
        unlock_shard(shard);
        hp_context_let_go(&event.context->hot);
    }
    errno = saved;
}

void hotpath_free_all_event(const char *label)
{
    const int saved = errno;
    struct on_the_way event;
    if (begin_event(label, &event)) {
        for (struct shard *shard = event.shards; shard < event.shards + SHARDS; shard++) {
            if (__atomic_load_n(&shard->used, __ATOMIC_RELAXED) == 0)
                continue;
            lock_shard(shard);
            take_back_all(&event, shard);
            unlock_shard(shard);
        }
        hp_context_let_go(&event.context->hot);
    }
    errno = saved;
}
