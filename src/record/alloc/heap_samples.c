/*
 * Sampled allocations.
 *
 * A sample is taken inside malloc: it copies registers and raw stack bytes into the ring, and does no unwinding,
 * lookup or allocation here. That makes system calls, so a sandbox gets no samples; frees need none and are
 * reported there, too.
 *
 * A block is in the table before its record is in the ring, and both happen before malloc returns. It leaves the
 * table before it is freed. So in the ring a number begins before it ends, on any threads.
 * SPDX-License-Identifier: MIT
 */
#include "heap_samples.h"

#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

#include "clock.h"
#include "memory.h"
#include "raw_call.h"
#include "sample_handler.h"
#include "thread_context.h"

/* -------------------------------------------------------------------------------------------------- live blocks */

/*
 * An address is in the table at most once: the thread that removes it owns the block, so no other thread can insert
 * it meanwhile. Slots are claimed by compare-and-swap. The release in `take` pairs with the acquire in `put`: the
 * next block's number is written only after the previous one was read.
 */

/*
 * A one in the byte of this set, within its word: not every CPU has atomic byte operations. No count gets near 256.
 */
static uint32_t one_of(uint32_t set)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return 1u << 8 * (set % 4);
#else
    return 1u << 8 * (3 - set % 4);
#endif
}

bool hp_heap_blocks_put(struct hp_heap_blocks *blocks, const void *block, uint32_t number)
{
    const uint32_t set = hp_heap_set_of(block);
    /* Count first, so that the thread that frees the block finds it. */
    __atomic_fetch_add(&blocks->filter_words[set / 4], one_of(set), __ATOMIC_RELAXED);
    for (unsigned way = 0; way < HP_HEAP_WAYS; way++) {
        struct hp_heap_block *place = &blocks->sets[set][way];
        uintptr_t none = 0;
        if (__atomic_load_n(&place->address, __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&place->address, &none, (uintptr_t)block, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&place->number, number, __ATOMIC_RELAXED);
        __atomic_fetch_add(&blocks->live, 1, __ATOMIC_RELAXED);
        return true;
    }
    __atomic_fetch_sub(&blocks->filter_words[set / 4], one_of(set), __ATOMIC_RELAXED);
    return false;
}

uint32_t hp_heap_blocks_take(struct hp_heap_blocks *blocks, const void *block)
{
    const uint32_t set = hp_heap_set_of(block);
    for (unsigned way = 0; way < HP_HEAP_WAYS; way++) {
        struct hp_heap_block *place = &blocks->sets[set][way];
        uintptr_t its = (uintptr_t)block;
        if (__atomic_load_n(&place->address, __ATOMIC_RELAXED) != its)
            continue;
        const uint32_t number = __atomic_load_n(&place->number, __ATOMIC_RELAXED);
        if (!__atomic_compare_exchange_n(&place->address, &its, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return 0; /* the program frees a block twice, on two threads */
        __atomic_fetch_sub(&blocks->filter_words[set / 4], one_of(set), __ATOMIC_RELAXED);
        __atomic_fetch_sub(&blocks->live, 1, __ATOMIC_RELAXED);
        return number;
    }
    return 0;
}

#define RING_BYTES (UINT64_C(1) << 21)
#define SURE_BYTES ((uintptr_t)16 << 10) /* so near to its end the stack is surely the thread's: see os/stacks.c */
#define SURE_BYTES_OF_FIRST ((uintptr_t)1 << 20)

enum ring_state { RING_NONE, RING_IN_THE_MAKING, RING_THERE, RING_REFUSED };

/* -------------------------------------------------------------------------------------------------- its file */

/* False: not possible, and `hotpath run` is told. */
static bool make_file(struct hp_stack_ring *ring, const struct hp_store *store, uint32_t pid)
{
    char path[sizeof store->path + sizeof HP_HEAP_RING_SUFFIX];
    const size_t length = strlen(store->path);
    memcpy(path, store->path, length);
    memcpy(path + length, HP_HEAP_RING_SUFFIX, sizeof HP_HEAP_RING_SUFFIX);
    const bool is_made = hp_stack_ring_make(ring, &(struct hp_stack_ring_plan){.path = path,
                                                                               .capacity = RING_BYTES,
                                                                               .pid = pid,
                                                                               .kind = HP_LOAN_HEAP_RING,
                                                                               .session = store->number,
                                                                               .beside = sizeof(struct hp_heap)});
    if (ring->is_untold)
        hp_header_note(hp_store_header(store), HP_FEATURE_UNPASSED);
    return is_made;
}

/* Not in a limited address space. Tells of it once. */
static bool has_room(const struct hp_store *store, uint32_t pid)
{
    static uint32_t told; /* atomic: by this process */
    struct hp_stack_ring refused;
    if (sizeof(struct hp_heap) + HP_STACK_RING_HEADER_BYTES + RING_BYTES <= hp_memory_allowance())
        return true;
    if (__atomic_exchange_n(&told, pid, __ATOMIC_RELAXED) != pid && make_file(&refused, store, pid))
        hp_stack_ring_unmap(&refused); /* the limit was raised meanwhile */
    return false;
}

/* ---------------------------------------------------------------------------------------------------- beginning */

/* For a process that has none yet, or for a child that has its parent's, empty or not. */
static struct hp_heap *make_heap(struct hp_heap *before, uint32_t pid, uint64_t mean)
{
    struct hp_heap *heap = hp_more_memory(sizeof *heap);
    if (heap == NULL || !hp_memory_wipe_on_fork(heap, sizeof *heap))
        return NULL; /* without this, a child would write to its parent's ring */
    heap->pid = pid;
    hp_heap_pace_begin(&heap->pace, mean, hp_clock_monotonic_ns());
    if (__atomic_compare_exchange_n(&hp_runtime->heap, &before, heap, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
        return heap;
    hp_memory_unmap(heap, sizeof *heap);
    return before; /* another thread was first */
}

static uint64_t seed_of(const struct hp_thread_context *context)
{
    return hp_clock_monotonic_ns() ^ (uint64_t)context->thread_id << 32 ^ (uintptr_t)context;
}

void hp_heap_begin_thread(struct hp_thread_context *context)
{
    const uint64_t mean = HOTPATH_GET_(hp_runtime->live_settings.alloc_stacks);
    context->heap = NULL;
    if (!HP_STACK_RING_WORKS || mean == 0 || context->store->path[0] == '\0' || !hp_calls_begin())
        return;
    const uint32_t pid = hp_sys_process_id();
    struct hp_heap *heap = __atomic_load_n(&hp_runtime->heap, __ATOMIC_ACQUIRE);
    if (heap == NULL || heap->pid != pid)
        heap = has_room(context->store, pid) ? make_heap(heap, pid, mean) : NULL;
    if (heap != NULL) {
        hp_heap_countdown_begin(&context->heap_countdown, &heap->pace, seed_of(context), context->alloc->bytes);
        context->heap = heap;
    }
    hp_calls_end();
}

/* --------------------------------------------------------------------------------------------------------- ring */

/* What the ring is made for. */
struct owner {
    struct hp_heap *heap;
    const struct hp_store *store;
};

static void make_ring(void *context)
{
    const struct owner *owner = context;
    struct hp_heap *heap = owner->heap;
    struct hp_stack_ring ring;
    const bool is_made = make_file(&ring, owner->store, heap->pid);
    if (is_made)
        heap->ring = ring;
    __atomic_store_n(&heap->ring_state, is_made ? RING_THERE : RING_REFUSED, __ATOMIC_RELEASE);
}

/* The first user makes the ring; others do without meanwhile. */
static bool has_ring(struct hp_heap *heap, const struct hp_store *store)
{
    uint32_t none = RING_NONE;
    if (__atomic_compare_exchange_n(&heap->ring_state, &none, RING_IN_THE_MAKING, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) &&
        !hp_aside(make_ring, &(struct owner){heap, store}))
        __atomic_store_n(&heap->ring_state, RING_NONE, __ATOMIC_RELAXED);
    return __atomic_load_n(&heap->ring_state, __ATOMIC_ACQUIRE) == RING_THERE;
}

/* ------------------------------------------------------------------------------------------------------ the end */

static bool tell_freed(struct hp_heap *heap, uint32_t number, uint64_t live)
{
    const uint64_t words[] = {number, live};
    return hp_stack_ring_put(
        &heap->ring, &(struct hp_stack_note){.kind = HP_STACK_FREED, .words = words, .word_count = 2}, NULL, 0);
}

/* Kept until the ring has room again. If there is no room here either, the block appears as never freed. */
static void keep_untold(struct hp_heap *heap, uint32_t number)
{
    for (unsigned at = 0; at < HP_HEAP_UNTOLD; at++) {
        uint32_t none = 0;
        if (__atomic_compare_exchange_n(&heap->untold[at], &none, number, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&heap->untold_count, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

static void tell_untold(struct hp_heap *heap)
{
    if (__atomic_load_n(&heap->untold_count, __ATOMIC_RELAXED) == 0)
        return;
    for (unsigned at = 0; at < HP_HEAP_UNTOLD; at++) {
        const uint32_t number = __atomic_exchange_n(&heap->untold[at], 0, __ATOMIC_RELAXED);
        if (number == 0)
            continue;
        __atomic_fetch_sub(&heap->untold_count, 1, __ATOMIC_RELAXED);
        if (tell_freed(heap, number, 0))
            continue;
        keep_untold(heap, number);
        return;
    }
}

/* `live`: live bytes before this free; 0: unknown. */
static void end_sample(struct hp_heap *heap, const void *block, uint64_t live)
{
    const uint32_t number = hp_heap_blocks_take(&heap->blocks, block);
    if (number == 0 || __atomic_load_n(&heap->ring_state, __ATOMIC_ACQUIRE) != RING_THERE ||
        hp_stack_ring_end(&heap->ring) == HP_RING_UNREAD)
        return;
    tell_untold(heap);
    if (!tell_freed(heap, number, live))
        keep_untold(heap, number);
}

void hp_heap_forget(const void *block)
{
    struct hp_heap *heap = __atomic_load_n(&hp_runtime->heap, __ATOMIC_ACQUIRE);
    if (heap != NULL && hp_heap_may_have(&heap->blocks, block))
        end_sample(heap, block, 0);
}

/* ----------------------------------------------------------------------------------------------------- a sample */

/*
 * The approximate extent of the stack. The C library keeps its thread data at the end of a thread's stack; at the
 * end of the first thread's stack are random bytes from the kernel. The end is the nearer of the two above `sp`. If
 * it is near, everything up to it is stack; otherwise nothing is certain.
 */
static struct hp_stack stack_above(uintptr_t sp)
{
    const uintptr_t self = (uintptr_t)pthread_self(), first = (uintptr_t)getauxval(AT_RANDOM);
    const uintptr_t high = self - sp < first - sp ? self : first;
    const uintptr_t sure = high == first ? SURE_BYTES_OF_FIRST : SURE_BYTES;
    return (struct hp_stack){high - sp < sure ? sp : high, high};
}

/* The innermost zone around the call of malloc, as stored in records; there may be none. */
static uint32_t zone_around(const struct hp_thread_context *context, uintptr_t stack)
{
    const uint32_t node = hp_sample_frame(context, stack)->node;
    return node != 0 ? hp_node_at(context, node)->site + 1 : 0; /* 0 for the root */
}

/* Records the registers of this very function, so it must not be inlined. */
static __attribute__((noinline)) bool put_sample(struct hp_heap *heap, struct hp_thread_context *context,
                                                 uint64_t now, uint32_t zone, const uint64_t *words, uint8_t count)
{
    struct hp_stack_registers *registers = &context->registers;
    registers->known = 0; /* stays so on other machines */
    hp_stack_registers_here(registers);
    const struct hp_stack above = stack_above((uintptr_t)registers->value[HP_STACK_SP]);
    return hp_stack_ring_put(&heap->ring,
                             &(struct hp_stack_note){.kind = HP_STACK_ALLOCATION,
                                                     .thread_id = context->thread_id,
                                                     .zone = zone,
                                                     .ns = now,
                                                     .words = words,
                                                     .word_count = count},
                             registers, &above);
}

/*
 * Live bytes of the process before an event that is counted already; without what threads have not published yet.
 */
static uint64_t live_before(const struct hp_thread_context *context, uint64_t freed_bytes, uint64_t asked)
{
    const int64_t told = __atomic_load_n(&hp_store_header(context->store)->alloc_live, __ATOMIC_RELAXED);
    const int64_t now = told + hp_alloc_live(context->alloc) - hp_alloc_published(context->alloc);
    const int64_t before = now + (int64_t)freed_bytes - (int64_t)asked;
    return before > 0 ? (uint64_t)before : 0;
}

static void begin_sample(struct hp_heap *heap, struct hp_thread_context *context, uint64_t now, const void *block,
                         uint64_t asked, uintptr_t stack)
{
    uint32_t number = __atomic_add_fetch(&heap->numbers, 1, __ATOMIC_RELAXED);
    if (!hp_heap_blocks_put(&heap->blocks, block, number))
        number = 0; /* its free will not be noticed */
    const uint64_t words[] = {
        number, asked, context->heap_countdown.mean, stack, live_before(context, 0, asked), heap->pace.least_mean};
    tell_untold(heap);
    if (!put_sample(heap, context, now, zone_around(context, stack), words, sizeof words / sizeof words[0]))
        hp_heap_blocks_take(&heap->blocks, block);
}

static void sample(struct hp_thread_context *context, const void *block, uint64_t asked, uintptr_t stack)
{
    struct hp_heap *heap = context->heap;
    if (hp_heap_may_have(&heap->blocks, block))
        end_sample(heap, block, 0); /* it was freed while recording was off */
    if (hp_calls_begin()) {
        const uint64_t now = hp_clock_monotonic_ns();
        const bool is_taken = has_ring(heap, context->store) && hp_stack_ring_end(&heap->ring) == HP_RING_OPEN;
        if (is_taken)
            begin_sample(heap, context, now, block, asked, stack);
        hp_heap_pace_count(&heap->pace, __atomic_load_n(&heap->blocks.live, __ATOMIC_RELAXED), now);
        hp_calls_end();
    }
}

/* The ring is mapped memory: no system call. */
static void look_for_a_crowd(struct hp_heap *heap)
{
    const bool is_read = __atomic_load_n(&heap->ring_state, __ATOMIC_ACQUIRE) == RING_THERE &&
                         hp_stack_ring_end(&heap->ring) == HP_RING_OPEN;
    hp_heap_pace_crowd(&heap->pace, is_read ? hp_stack_ring_used(&heap->ring) : 0, RING_BYTES);
}

void hp_heap_take(struct hp_thread_context *context, const void *allocated, uint64_t asked, const void *freed,
                  uint64_t freed_bytes, uintptr_t stack)
{
    if (freed != NULL)
        end_sample(context->heap, freed, live_before(context, freed_bytes, asked));
    if (allocated == NULL || context->alloc->bytes < context->heap_countdown.due_at)
        return;
    if (context->alloc->bytes >= context->heap_countdown.sample_at)
        sample(context, allocated, asked, stack);
    look_for_a_crowd(context->heap);
    /* Whether or not the sample was taken, schedule the next one. */
    hp_heap_countdown_next(&context->heap_countdown, &context->heap->pace, context->alloc->bytes);
}
