/*
 * The end of a call that has allocated: sums, six histograms, and the peak that goes on to the zone around it (allocations.c). In
 * programs that allocate everywhere most zones end here, so the usual case is as short as it can be: one function that calls nobody,
 * where all that is to be counted has its place. SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "marks.h"
#include "runtime.h"

#ifdef __OPTIMIZE__
#define INLINED inline __attribute__((always_inline))
#else
#define INLINED inline /* each function that is part of another one there has its own room on the stack */
#endif
#define RARELY(condition) __builtin_expect(!!(condition), 0)

struct hp_alloc_sums hp_alloc_of_call(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    if (!hp_frame_is_marked(frame))
        return (struct hp_alloc_sums){0, 0};
    const struct hp_alloc_frame *begun = hp_frame_marks(head, frame);
    return (struct hp_alloc_sums){head->alloc->bytes - begun->bytes, head->alloc->count - begun->count};
}

/* -------------------------------------------------------------------------------------------------- histograms */

/* Values of a call for which there may be no counters yet. */
struct missing {
    uint32_t measures; /* a bit for each */
    uint64_t values[HP_ALLOC_MEASURES];
};

static INLINED void miss(struct missing *missing, enum hp_alloc_measure measure, uint64_t value)
{
    missing->measures |= 1u << measure;
    missing->values[measure] = value;
}

static INLINED void raise_max(struct hp_alloc_stat *stat, enum hp_alloc_measure measure, uint64_t value)
{
    if (RARELY(value > stat->max[measure]))
        HOTPATH_PUT_(stat->max[measure], value);
}

static INLINED void add_value(char *base, struct hp_alloc_stat *stat, enum hp_alloc_measure measure, uint64_t value,
                              struct missing *missing)
{
    const uint32_t octave = hotpath_octave_(value), origin = stat->octaves[measure][octave];
    if (RARELY(origin == 0))
        miss(missing, measure, value);
    else
        HOTPATH_ADD_(((uint64_t *)(void *)(base + origin))[value >> octave], 1);
    raise_max(stat, measure, value);
}

/* The same for numbers that are seldom beyond the first octave. */
static INLINED void add_number(char *base, struct hp_alloc_stat *stat, enum hp_alloc_measure measure,
                               uint64_t value, struct missing *missing)
{
    const uint32_t origin = stat->octaves[measure][0];
    if (RARELY(value >= 128 || origin == 0))
        miss(missing, measure, value);
    else
        HOTPATH_ADD_(((uint64_t *)(void *)(base + origin))[value], 1);
    raise_max(stat, measure, value);
}

/* Space in the session may take a system call. errno is kept here, so that the usual case need not mind it. */
static __attribute__((noinline, cold)) void add_missing(struct hp_head *head, struct hp_alloc_stat *stat,
                                                        const struct missing *missing)
{
    const int saved = errno;
    for (enum hp_alloc_measure at = 0; at < HP_ALLOC_MEASURES; at++) {
        if (!(missing->measures & 1u << at))
            continue;
        uint64_t *counter = hp_tree_counter(head, stat->octaves[at], missing->values[at]);
        if (counter != NULL)
            HOTPATH_ADD_(*counter, 1);
        else
            HOTPATH_ADD_(stat->missed, 1);
    }
    errno = saved;
}

/* ------------------------------------------------------------------------------------------------------ the call */

/* Gives the zone around it the higher of its own peak so far and the one of the zone that ends, which is returned. */
static INLINED uint64_t end_peak(int64_t *peak, int64_t around, int64_t at_begin)
{
    const int64_t height = *peak - at_begin;
    if (around > *peak)
        HOTPATH_PUT_(*peak, around);
    return height > 0 ? (uint64_t)height : 0;
}

static INLINED void close_call(struct hp_head *head, const struct hotpath_frame_ *frame, struct hp_alloc_stat *stat,
                               bool is_nested)
{
    struct hp_alloc_thread *thread = head->alloc;
    struct hp_alloc_frame *begun = hp_frame_marks(head, frame), *around = begun - 1;
    char *const base = head->hot.base;
    struct missing missing;
    missing.measures = 0;
    const uint64_t bytes = thread->bytes - begun->bytes, count = thread->count - begun->count;
    const uint64_t own_bytes = bytes - begun->inner_bytes, own_count = count - begun->inner_count;
    HOTPATH_ADD_(around->inner_bytes, bytes);
    HOTPATH_ADD_(around->inner_count, count);
    HOTPATH_ADD_(stat->calls, 1);
    HOTPATH_ADD_(stat->own_bytes, own_bytes);
    HOTPATH_ADD_(stat->own_count, own_count);
    if (!RARELY(is_nested)) {
        HOTPATH_ADD_(stat->all_bytes, bytes);
        HOTPATH_ADD_(stat->all_count, count);
        HOTPATH_ADD_(stat->net_bytes, hp_alloc_live(thread) - begun->live);
        HOTPATH_ADD_(stat->net_blocks, hp_alloc_live_blocks(thread) - begun->blocks);
    }
    add_value(base, stat, HP_ALLOC_OWN_BYTES, own_bytes, &missing);
    add_value(base, stat, HP_ALLOC_ALL_BYTES, bytes, &missing);
    add_number(base, stat, HP_ALLOC_OWN_COUNT, own_count, &missing);
    add_number(base, stat, HP_ALLOC_ALL_COUNT, count, &missing);
    const uint64_t peak_bytes = end_peak(&thread->peak_live, begun->peak_live, begun->live);
    add_value(base, stat, HP_ALLOC_PEAK_BYTES, peak_bytes, &missing);
    const uint64_t peak_blocks = end_peak(&thread->peak_blocks, begun->peak_blocks, begun->blocks);
    add_number(base, stat, HP_ALLOC_PEAK_BLOCKS, peak_blocks, &missing);
    if (RARELY(missing.measures != 0))
        add_missing(head, stat, &missing);
}

/* A call for which there is no stat, for want of space: it is in no row, but in what is around it. */
static void lose_call(struct hp_head *head, const struct hotpath_frame_ *frame)
{
    struct hp_alloc_thread *thread = head->alloc;
    const struct hp_alloc_frame *begun = hp_frame_marks(head, frame);
    struct hp_alloc_frame *around = hp_frame_marks(head, frame - 1);
    HOTPATH_ADD_(around->inner_bytes, thread->bytes - begun->bytes);
    HOTPATH_ADD_(around->inner_count, thread->count - begun->count);
    end_peak(&thread->peak_live, begun->peak_live, begun->live);
    end_peak(&thread->peak_blocks, begun->peak_blocks, begun->blocks);
    hp_lose(head, HP_LOSS_ALLOCS);
}

static struct hp_alloc_stat *stat_of(struct hp_head *head, struct hotpath_stat_ *site)
{
    if (site->alloc == 0) {
        const uint32_t offset = hp_thread_allocate(head, sizeof(struct hp_alloc_stat), 64);
        if (offset == 0)
            return NULL;
        __atomic_store_n(&site->alloc, offset, __ATOMIC_RELEASE);
    }
    return hp_store_at(head->store, site->alloc);
}

void hp_alloc_close(struct hp_head *head, const struct hotpath_frame_ *frame, bool is_nested)
{
    struct hp_alloc_stat *stat = stat_of(head, hp_stat_at(head, hp_node_at(head, frame->node)->stat));
    if (stat != NULL)
        close_call(head, frame, stat, is_nested);
    else
        lose_call(head, frame);
}

/* ------------------------------------------------------------------------------------------------- the usual case */

/* The innermost zone, of a timed call that has all its places. With the head held. */
static INLINED void close_top(struct hp_head *head, struct hotpath_node_ *node, struct hotpath_stat_ *site,
                              uint64_t now)
{
    struct hotpath_frame_ *frame = head->hot.top;
    const uint64_t ticks = now - frame->start;
    const uint32_t octave = hotpath_octave_(ticks);
    char *const base = head->hot.base;
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    HOTPATH_ADD_(((uint64_t *)(void *)(base + site->octaves[octave]))[ticks >> octave], 1);
    const bool is_nested = hp_zone_count(frame, node, site, ticks);
    HOTPATH_PUT_(frame->child, now);
    head->hot.top = frame - 1;
    close_call(head, frame, (struct hp_alloc_stat *)(void *)(base + site->alloc), is_nested);
}

/* Calls that were not timed, or of which more is kept, take the other way. */
#define FLAGS (HOTPATH_ALLOCATES_ | HOTPATH_UNTIMED_ | HOTPATH_COUNTED_ | HOTPATH_KEPT_)

/* False: nothing was changed. */
static INLINED bool is_closed_as_usual(struct hp_head *head, uint64_t now)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    struct hotpath_node_ *node = hp_node_at(head, frame->node);
    struct hotpath_stat_ *site = hp_stat_at(head, node->stat);
    if (RARELY((frame->stat & FLAGS) != HOTPATH_ALLOCATES_) || RARELY(site->alloc == 0) ||
        RARELY(site->octaves[hotpath_octave_(now - frame->start)] == 0))
        return false;
    const uint64_t from = hp_slow_way_begin(head);
    close_top(head, node, site, now);
    hp_slow_way_end(head, from);
    return true;
}

bool hp_alloc_leave_site(uint32_t site, uint64_t now)
{
    struct hotpath_head_ *hot = hotpath_v1_head;
    struct hp_head *head = (struct hp_head *)(void *)hot;
    bool is_done = false;
    if (HOTPATH_GET_(hot->ready) != 0) {
        HOTPATH_PUT_(hot->ready, 0);
        HOTPATH_ORDER_();
        if (HOTPATH_GATE_OF_(hot) == hot->epoch && hp_node_at(head, hot->top->node)->site == site)
            is_done = is_closed_as_usual(head, now);
        hp_let_go(hot);
    }
    return is_done;
}

void hp_alloc_leave(struct hotpath_zone *zone, uint64_t now)
{
    struct hotpath_head_ *hot = hotpath_v1_head;
    bool is_done = false;
    if (HOTPATH_LIKELY_(HOTPATH_GET_(hot->ready) != 0)) {
        HOTPATH_PUT_(hot->ready, 0);
        HOTPATH_ORDER_();
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(hot) == hot->epoch && hot->top->zone == (uintptr_t)zone))
            is_done = is_closed_as_usual((struct hp_head *)(void *)hot, now);
        hp_let_go(hot);
    }
    if (RARELY(!is_done))
        hp_zone_leave(zone, now);
}
