/* Marks of zones that have allocated. SPDX-License-Identifier: MIT */
#include "marks.h"

#include <errno.h>
#include <string.h>

#include "heap_samples.h"
#include "thread_context.h"
#include "tree.h"

struct hp_alloc_sums hp_alloc_of_call(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    if (!hp_frame_is_marked(frame))
        return (struct hp_alloc_sums){0, 0};
    const struct hp_alloc_frame *begun = hp_frame_marks(context, frame);
    return (struct hp_alloc_sums){context->alloc->bytes - begun->bytes, context->alloc->count - begun->count};
}

int64_t hp_alloc_peak_of_thread(const struct hp_thread_context *context)
{
    int64_t peak = context->alloc->peak_live;
    for (const struct hotpath_frame_ *frame = hp_frame_zero(context) + 1;
         frame <= context->hot.top && hp_frame_is_marked(frame); frame++)
        if (hp_frame_marks(context, frame)->peak_live > peak)
            peak = hp_frame_marks(context, frame)->peak_live;
    return peak;
}

/* `frame_zero` is, or will be, the address of frame 0. */
static void use_frames(struct hp_thread_context *context, uint32_t frames, const struct hotpath_frame_ *frame_zero)
{
    context->alloc_frames = (uintptr_t)hp_store_at(context->store, frames) - 2 * (uintptr_t)frame_zero;
}

static uint32_t frames_bytes(uint32_t capacity) { return capacity * (uint32_t)sizeof(struct hp_alloc_frame); }

static bool begin(struct hp_thread_context *context)
{
    hp_tree_need_blank_stat(context);
    const uint32_t offset = hp_thread_allocate(context, sizeof(struct hp_alloc_thread), 64);
    const uint32_t frames = hp_thread_allocate(context, frames_bytes(context->record->frame_capacity), 64);
    const bool is_all = !hp_lane_is_other(context) || hp_alloc_begin_lane(context, context->own_lane);
    if (offset == 0 || frames == 0 || context->record->blank_stat == 0 || !is_all)
        return false;
    context->alloc = hp_store_at(context->store, offset);
    context->alloc->frames = frames;
    use_frames(context, frames, hp_frame_zero(context));
    HOTPATH_PUT_(hp_frame_zero(context)->stat, HOTPATH_ALLOCATES_);
    __atomic_store_n(&context->record->alloc, offset, __ATOMIC_RELEASE);
    hp_alloc_declare(hp_store_header(context->store));
    hp_heap_begin_thread(context);
    return true;
}

struct beginning {
    struct hp_thread_context *context;
    bool is_begun; /* the result */
};

static void begin_aside(void *context)
{
    struct beginning *beginning = context;
    beginning->is_begun = begin(beginning->context);
}

bool hp_alloc_begin(struct hp_thread_context *context)
{
    struct beginning beginning = {context, false};
    return hp_aside(begin_aside, &beginning) && beginning.is_begun;
}

bool hp_alloc_begin_lane(const struct hp_thread_context *context, struct hp_lane *lane)
{
    struct hotpath_frame_ *frames = hp_store_at(context->store, lane->frames);
    const uint32_t bytes = lane->frame_capacity * (uint32_t)sizeof(struct hp_alloc_frame);
    const uint32_t offset = hp_store_allocate(context->store, bytes, HP_APART);
    if (offset == 0)
        return false;
    HOTPATH_PUT_(frames[0].stat, HOTPATH_ALLOCATES_);
    __atomic_store_n(&lane->alloc_frames, offset, __ATOMIC_RELEASE);
    return true;
}

bool hp_alloc_grow(struct hp_thread_context *context, uint32_t capacity, const struct hotpath_frame_ *frame_zero)
{
    if (context->alloc == NULL)
        return true;
    const uint32_t frames = hp_thread_allocate(context, frames_bytes(capacity), 64);
    if (frames == 0)
        return false;
    memcpy(hp_store_at(context->store, frames), hp_store_at(context->store, context->alloc->frames),
           frames_bytes(context->record->frame_capacity));
    __atomic_store_n(&context->alloc->frames, frames, __ATOMIC_RELEASE);
    use_frames(context, frames, frame_zero);
    return true;
}

/* -------------------------------------------------------------------------------------------- the end of a call */

/*
 * Taking space in the session may make a system call. errno is saved here, so that the usual case need not do it.
 */
__attribute__((noinline, cold)) void hp_alloc_add_missing(struct hp_thread_context *context,
                                                          struct hp_alloc_stat *stat,
                                                          const struct hp_alloc_missing *missing)
{
    const int saved = errno;
    for (enum hp_alloc_measure at = 0; at < HP_ALLOC_MEASURES; at++) {
        if (!(missing->measures & 1u << at))
            continue;
        uint64_t *counter = hp_tree_counter(context, stat->octaves[at], missing->values[at]);
        if (counter != NULL)
            HOTPATH_ADD_(*counter, 1);
        else
            HOTPATH_ADD_(stat->missed, 1);
    }
    errno = saved;
}

/* A call without a stat, for lack of space: it gets no row, but still counts for the enclosing calls. */
static void lose_call(struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    struct hp_alloc_thread *thread = context->alloc;
    const struct hp_alloc_frame *begun = hp_frame_marks(context, frame);
    struct hp_alloc_frame *around = hp_frame_marks(context, frame - 1);
    HOTPATH_ADD_(around->inner_bytes, thread->bytes - begun->bytes);
    HOTPATH_ADD_(around->inner_count, thread->count - begun->count);
    hp_alloc_end_peak(&thread->peak_live, begun->peak_live, begun->live);
    hp_alloc_end_peak(&thread->peak_blocks, begun->peak_blocks, begun->blocks);
    hp_lose(context, HP_LOSS_ALLOCS);
}

static struct hp_alloc_stat *stat_of(struct hp_thread_context *context, struct hotpath_stat_ *site)
{
    if (site->alloc == 0) {
        const uint32_t offset = hp_thread_allocate(context, sizeof(struct hp_alloc_stat), 64);
        if (offset == 0)
            return NULL;
        __atomic_store_n(&site->alloc, offset, __ATOMIC_RELEASE);
    }
    return hp_store_at(context->store, site->alloc);
}

void hp_alloc_close(struct hp_thread_context *context, const struct hotpath_frame_ *frame, bool is_nested)
{
    struct hp_alloc_stat *stat = stat_of(context, hp_stat_at(context, hp_node_at(context, frame->node)->stat));
    if (stat != NULL)
        hp_alloc_close_call(context, frame, stat, is_nested);
    else
        lose_call(context, frame);
}

/* ----------------------------------------------------------------------------------------------------- in lanes */

/*
 * Allocations of zones in lanes. The counters belong to the thread (allocations.c); marks are their values when a
 * zone started. While a lane is suspended, others allocate on its thread, and it may resume on another thread. So
 * it saves the counters when it stops, and when it resumes all its marks are shifted by what the counters have
 * gained since: as if nothing had happened meanwhile.
 *
 * Allocations inside zones are told from those outside of all zones per thread (`inner_bytes` of the thread's own
 * frame 0). So each stretch that a lane runs is added there, whether or not its zones end in it.
 *
 */

static struct hp_alloc_frame *marks_at(const struct hp_thread_context *context, uint32_t offset)
{
    return hp_store_at(context->store, offset);
}

void hp_lane_marks_publish(const struct hp_thread_context *context)
{
    struct hp_header *header = hp_store_header(context->store);
    const int64_t others =
        __atomic_load_n(&header->alloc_live, __ATOMIC_RELAXED) - hp_alloc_published(context->alloc);
    hp_raise(&header->alloc_peak, others + hp_alloc_peak_of_thread(context));
}

static struct hp_lane_allocs counters_of(const struct hp_alloc_thread *thread)
{
    return (struct hp_lane_allocs){.count = thread->count,
                                   .bytes = thread->bytes,
                                   .live = hp_alloc_live(thread),
                                   .blocks = hp_alloc_live_blocks(thread),
                                   .peak_live = thread->peak_live,
                                   .peak_blocks = thread->peak_blocks};
}

/*
 * Allocations in zones on this thread since the lane resumed: in zones that have ended, and in the outermost open
 * one.
 */
static void credit_stretch(const struct hp_thread_context *context, struct hp_lane *lane)
{
    const struct hotpath_frame_ *first = hp_frame_zero(context) + 1;
    struct hp_alloc_frame *marks = hp_frame_marks(context, first - 1);
    struct hp_alloc_frame *outside = marks_at(context, context->own_lane->alloc_frames);
    const bool is_open = first <= context->hot.top && hp_frame_is_marked(first);
    const uint64_t bytes = is_open ? context->alloc->bytes - marks[1].bytes : 0;
    const uint64_t count = is_open ? context->alloc->count - marks[1].count : 0;
    HOTPATH_ADD_(outside->inner_bytes, marks->inner_bytes + bytes - lane->held_bytes);
    HOTPATH_ADD_(outside->inner_count, marks->inner_count + count - lane->held_count);
    HOTPATH_PUT_(marks->inner_bytes, 0);
    HOTPATH_PUT_(marks->inner_count, 0);
    HOTPATH_PUT_(lane->held_bytes, bytes);
    HOTPATH_PUT_(lane->held_count, count);
}

void hp_lane_marks_stop(struct hp_thread_context *context, struct hp_lane *lane)
{
    if (lane != context->own_lane)
        credit_stretch(context, lane);
    const struct hp_lane_allocs now = counters_of(context->alloc);
    HOTPATH_PUT_(lane->alloc_frames, context->alloc->frames);
    HOTPATH_PUT_(lane->allocs.count, now.count);
    HOTPATH_PUT_(lane->allocs.bytes, now.bytes);
    HOTPATH_PUT_(lane->allocs.live, now.live);
    HOTPATH_PUT_(lane->allocs.blocks, now.blocks);
    HOTPATH_PUT_(lane->allocs.peak_live, now.peak_live);
    HOTPATH_PUT_(lane->allocs.peak_blocks, now.peak_blocks);
}

/* The marked zones are the outermost ones, up to the first without a mark. */
static void move_marks(const struct hp_thread_context *context, const struct hp_lane_allocs *gained)
{
    for (const struct hotpath_frame_ *frame = hp_frame_zero(context) + 1;
         frame <= context->hot.top && hp_frame_is_marked(frame); frame++) {
        struct hp_alloc_frame *mark = hp_frame_marks(context, frame);
        HOTPATH_ADD_(mark->count, gained->count);
        HOTPATH_ADD_(mark->bytes, gained->bytes);
        HOTPATH_PUT_(mark->live, mark->live + gained->live);
        HOTPATH_PUT_(mark->blocks, mark->blocks + gained->blocks);
        HOTPATH_PUT_(mark->peak_live, mark->peak_live + gained->live);
        HOTPATH_PUT_(mark->peak_blocks, mark->peak_blocks + gained->blocks);
    }
}

/* Allocations of inner zones stay as they are: they are a sum, not counter values. */
void hp_lane_marks_go_on(struct hp_thread_context *context, struct hp_lane *lane)
{
    struct hp_alloc_thread *thread = context->alloc;
    const struct hp_lane_allocs *then = &lane->allocs;
    const struct hp_lane_allocs gained = {.count = thread->count - then->count,
                                          .bytes = thread->bytes - then->bytes,
                                          .live = hp_alloc_live(thread) - then->live,
                                          .blocks = hp_alloc_live_blocks(thread) - then->blocks};
    __atomic_store_n(&thread->frames, lane->alloc_frames, __ATOMIC_RELEASE);
    context->alloc_frames =
        (uintptr_t)marks_at(context, lane->alloc_frames) - 2 * (uintptr_t)hp_frame_zero(context);
    const bool has_gained = (gained.count | gained.bytes | (uint64_t)gained.live | (uint64_t)gained.blocks) != 0;
    if ((lane->has_flags & HOTPATH_ALLOCATES_) && has_gained)
        move_marks(context, &gained);
    HOTPATH_PUT_(thread->peak_live, then->peak_live + gained.live);
    HOTPATH_PUT_(thread->peak_blocks, then->peak_blocks + gained.blocks);
}
