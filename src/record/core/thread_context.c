/* A thread's context. SPDX-License-Identifier: MIT */
#include "thread_context.h"

#include <string.h>

#include "cpu.h"
#include "layout.h"
#include "memory.h"
#include "process.h"
#include "runtime.h"

/* Threads and children inherit this from their creator without announcing it: ask the kernel. */
bool hp_thread_is_blind(void)
{
    const struct hp_thread_context *context = (const struct hp_thread_context *)(const void *)hotpath_v1_context;
    if (!__atomic_load_n(&hp_runtime->is_blinded, __ATOMIC_RELAXED))
        return false;
    return (&context->hot != &hp_no_context && context->is_blind) || hp_is_sealed() || !hp_clock_may_be_read();
}

/* ----------------------------------------------------------------------------------------------------- its name */

void hp_thread_set_name(struct hp_thread *record, const char *name)
{
    uint32_t words[sizeof record->name / sizeof(uint32_t)];
    memcpy(words, name, sizeof words);
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        __atomic_store_n((uint32_t *)(void *)record->name + at, words[at], __ATOMIC_RELAXED);
}

void hp_thread_note_name(struct hp_thread_context *context)
{
    char name[sizeof context->record->name];
    context->is_named_early = false;
    if (hp_is_sealed() || !hp_calls_begin())
        return;
    hp_process_thread_name(name);
    hp_calls_end();
    hp_thread_set_name(context->record, name);
}

/* ------------------------------------------------------------------------------------- its space in the session */

#define PIECE_BYTES 8192u
#define FIRST_PIECE_BYTES 4096u

/* A new piece of the session for a thread. */
struct piece {
    struct hp_store *store;
    uint32_t size, wanted; /* wanted: if there is not enough for `size` */
    uint32_t from;         /* the result; 0: no space */
};

static void take_piece(void *context)
{
    struct piece *piece = context;
    piece->from = hp_store_allocate(piece->store, piece->size, HP_APART);
    if (piece->from == 0 && piece->size > piece->wanted) {
        piece->size = piece->wanted;
        piece->from = hp_store_allocate(piece->store, piece->size, HP_APART);
    }
}

/* The session may have to grow for it. */
static __attribute__((noinline)) uint32_t next_piece(struct hp_thread_context *context, uint32_t size)
{
    const uint32_t usual = context->space == 0 ? FIRST_PIECE_BYTES : PIECE_BYTES;
    struct piece piece = {.store = context->store, .size = size > PIECE_BYTES ? size : usual, .wanted = size};
    if (!hp_aside(take_piece, &piece) || piece.from == 0)
        return 0;
    context->space_end = piece.from + piece.size;
    return piece.from;
}

uint32_t hp_thread_allocate(struct hp_thread_context *context, uint32_t size, uint32_t align)
{
    uint32_t from = (context->space + align - 1) & ~(align - 1);
    if (context->space == 0 || (uint64_t)from + size > context->space_end) {
        from = next_piece(context, size);
        if (from == 0)
            return 0;
    }
    context->space = from + size;
    return from;
}

/* --------------------------------------------------------------------------------------- the cost of slow paths */

/*
 * The cost of slow paths: calls that are kept or have allocated end on the slow path, and the first allocation in a
 * call marks it. Their cost depends on the data, so it cannot be measured beforehand; one in HP_SLOW_PERIOD is
 * timed where it happens.
 */

/* Limit, in zones: beyond it the thread was preempted, which is not our cost. */
#define MOST_ZONES 64u

/*
 * An empty zone lasts about as long as reading the clock, which is included in this time. Half of that is
 * subtracted; the other half stands for the calls to and from here, which are not included.
 */
void hp_slow_way_timed(struct hp_thread_context *context, uint64_t from)
{
    const uint64_t ticks = hp_now() - from, too_much = HOTPATH_GET_(hp_runtime->zone_cost.inner_ticks) / 2;
    if (ticks > too_much && ticks < MOST_ZONES * hp_zone_ticks())
        HOTPATH_ADD_(context->record->slow_ticks, ticks - too_much);
    HOTPATH_PUT_(context->record->slow_ways, context->record->slow_ways + HP_SLOW_PERIOD);
    context->slow_ways_left = HP_SLOW_PERIOD;
}

/* ----------------------------------------------------------------------------------------- its parts of objects */

#define FIRST_PARTS 64u

/* Where paths are followed, each event of a channel may also hand one over. */
static void set_ready(struct hp_thread_context *context)
{
    context->ready = HOTPATH_GET_(hp_runtime->live_settings.path) == 0 ? context->instances : NULL;
}

void hp_parts_forget(struct hp_thread_context *context)
{
    set_ready(context);
    if (context->parts != NULL)
        memset(context->parts, 0, context->part_places * sizeof *context->parts);
    if (context->instances != NULL)
        memset(context->instances, 0xff, HP_CACHED_INSTANCES * sizeof *context->instances);
}

bool hp_parts_make_cache(struct hp_thread_context *context)
{
    if (context->instances != NULL)
        return true;
    struct hp_cached_instance *instances = hp_more_memory(HP_CACHED_INSTANCES * sizeof *instances);
    if (instances == NULL)
        return false;
    memset(instances, 0xff, HP_CACHED_INSTANCES * sizeof *instances);
    context->instances = instances;
    set_ready(context);
    return true;
}

bool hp_parts_make_places(struct hp_thread_context *context, uint32_t number)
{
    uint32_t places = context->part_places != 0 ? context->part_places : FIRST_PARTS;
    while (places <= number)
        places *= 2;
    if (places == context->part_places)
        return true;
    uint32_t *parts = hp_more_memory(places * sizeof *parts);
    if (parts == NULL)
        return false;
    if (context->parts != NULL) {
        memcpy(parts, context->parts, context->part_places * sizeof *parts);
        hp_memory_unmap(context->parts, context->part_places * sizeof *parts);
    }
    context->parts = parts;
    context->part_places = places;
    return true;
}

void hp_parts_reserve(struct hp_thread_context *context)
{
    hp_parts_make_places(context, HP_OBJECTS_PER_CHUNK - 1);
}

/* ------------------------------------------------------------------------------------- the clock of its session */

/* The latest time of a session: readers convert ticks to time with it, and a process that is killed ends there. */

static void touch_cpu(struct hp_header *header)
{
    if (header->cpu_engine == HP_CPU_NONE)
        return;
    const struct hp_cpu_time now = hp_cpu_of_process();
    __atomic_store_n(&header->cpu_latest_ns, now.ns, __ATOMIC_RELAXED);
    __atomic_store_n(&header->cpu_latest_kernel_ns, now.kernel_ns, __ATOMIC_RELAXED);
}

struct hp_clock_pair hp_session_touch(struct hp_store *store)
{
    struct hp_header *header = hp_store_header(store);
    struct hp_clock_pair now;
    if (hp_thread_is_blind())
        return header->clock_latest;
    touch_cpu(header); /* first: what is used while it is read is in no time otherwise */
    hp_clock_pair(hp_runtime->counter, &now.ticks, &now.ns);
    __atomic_store_n(&header->clock_latest.ticks, now.ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&header->clock_latest.ns, now.ns, __ATOMIC_RELAXED);
    return now;
}

void hp_session_note_doubts(struct hp_store *store)
{
    const uint32_t doubts = __atomic_load_n(&hp_cpu_counters()->doubts, __ATOMIC_RELAXED);
    uint32_t *features = &hp_store_header(store)->features;
    if (doubts & HP_COUNTER_IS_SHARED)
        __atomic_fetch_or(features, HP_FEATURE_SHARED_COUNTER, __ATOMIC_RELAXED);
    if (doubts & HP_COUNTER_IS_MISSING)
        __atomic_fetch_or(features, HP_FEATURE_MISSING_COUNTER, __ATOMIC_RELAXED);
}

/* ---------------------------------------------------------------------------------------- ticks per millisecond */

#define LONG_ENOUGH_NS 2000000u /* two readings of both clocks agree within some ten nanoseconds */
#define CLOSE_TOGETHER 50u /* of a millisecond: a part of that. Reading a clock takes less, even if intercepted */
#define USUAL 2000000u     /* counters of CPUs run at one to five gigahertz, ... */
#define USUAL_ELSEWHERE 50000u /* ... but on arm64 and RISC-V at ten megahertz to one gigahertz */

static uint64_t guess(void)
{
    if (hp_counter_is_its_own_unit(hp_runtime->counter))
        return 1000000;
    return hp_runtime->counter == HP_COUNTER_TSC ? USUAL : USUAL_ELSEWHERE;
}

/*
 * Makes no system call, since a sandbox may forbid it, and takes little stack. If the thread was interrupted
 * between the readings, the next call tries again.
 */
uint64_t hp_tick_rate_measure(const struct hp_thread_context *context)
{
    const struct hp_clock_pair *start = &((const struct hp_header *)(const void *)context->hot.base)->clock_start;
    const uint64_t before = hp_clock_ticks(hp_runtime->counter), ns = hp_clock_monotonic_ns() - start->ns;
    const uint64_t ticks = hp_clock_ticks(hp_runtime->counter);
    if (ns < LONG_ENOUGH_NS || ticks - before > guess() / CLOSE_TOGETHER)
        return guess();
    const uint64_t middle = before + (ticks - before) / 2;
    const double per_ms = (double)(middle - start->ticks) * 1e6 / (double)ns;
    const uint64_t rate = per_ms >= 1 ? (uint64_t)(per_ms + 0.5) : 1;
    HOTPATH_PUT_(hp_runtime->ticks_per_ms, rate);
    return rate;
}
