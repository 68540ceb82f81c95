/*
 * Lanes. A thread works on one stack of zones (`frames` of its record, `top` and `last` of its context); inline
 * code knows nothing else. Switching lanes points these elsewhere: the zones of a coroutine then nest by
 * themselves, whatever runs in between, and on whichever thread.
 *
 * A thread's own lane is always there, below the others: while another lane runs, that time counts as time in a
 * callee of its innermost zone. Other lanes are suspended whenever they do not run; a zone of the site <suspended>
 * inside their innermost zone records for how long. So totals are wall time, and time outside of inner zones is
 * time spent working.
 *
 * Zones of a coroutine lie below the root of the tree of the thread it is on. When it resumes on another thread,
 * the path of its open zones is looked up in that thread's tree, and they count there when they end.
 *
 * Frames, and all of struct hp_lane, belong to the thread that the lane is on. `busy` of its slot passes them on:
 * taken with acquire, given back with release once the thread has no more references to them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "holding.h"
#include "marks.h"
#include "runtime.h"
#include "sites.h"
#include "thread_context.h"
#include "threads.h"
#include "zone_stack.h"

#define FIRST_FRAMES 8u /* per coroutine; there may be very many */
#define PLACES_PER_CHUNK 256u

/* ------------------------------------------------------------------------------------------------------- places */

static HP_LANE_INLINED struct hp_lane_place *place_at(uint32_t number)
{
    const uint32_t at = number - 1;
    if (at >= HP_LANE_CHUNKS * PLACES_PER_CHUNK)
        return NULL;
    struct hp_lane_place *chunk =
        __atomic_load_n((struct hp_lane_place **)&hp_runtime->lane_chunks[at / PLACES_PER_CHUNK], __ATOMIC_ACQUIRE);
    return chunk != NULL ? chunk + at % PLACES_PER_CHUNK : NULL;
}

static hotpath_lane handle_of(const struct hp_lane_place *place)
{
    return place != NULL ? (hotpath_lane)HOTPATH_GET_(place->generation) << 32 | place->number : 0;
}

/* NULL: the thread's own lane, or one that has ended. */
static HP_LANE_INLINED struct hp_lane_place *find_place(hotpath_lane lane)
{
    struct hp_lane_place *place = lane != 0 ? place_at((uint32_t)lane) : NULL;
    const uint32_t generation = (uint32_t)(lane >> 32);
    return place != NULL && HOTPATH_GET_(place->generation) == generation && generation % 2 != 0 ? place : NULL;
}

/* Free slots form a list that any thread takes from and adds to. The upper half is a version number against ABA. */
static uint64_t with_first(uint64_t list, uint32_t number) { return ((list >> 32) + 1) << 32 | number; }

static struct hp_lane_place *take_free_place(void)
{
    uint64_t list = __atomic_load_n(&hp_runtime->free_lanes, __ATOMIC_ACQUIRE);
    while ((uint32_t)list != 0) {
        struct hp_lane_place *place = place_at((uint32_t)list);
        const uint64_t rest = with_first(list, HOTPATH_GET_(place->next_free));
        if (__atomic_compare_exchange_n(&hp_runtime->free_lanes, &list, rest, true, __ATOMIC_ACQUIRE,
                                        __ATOMIC_ACQUIRE))
            return place;
    }
    return NULL;
}

static void free_place(struct hp_lane_place *place)
{
    uint64_t list = __atomic_load_n(&hp_runtime->free_lanes, __ATOMIC_RELAXED);
    uint64_t longer;
    do {
        HOTPATH_PUT_(place->next_free, (uint32_t)list);
        longer = with_first(list, place->number);
    } while (!__atomic_compare_exchange_n(&hp_runtime->free_lanes, &list, longer, true, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
}

static struct hp_lane_place *new_place(void)
{
    const uint32_t at =
        __atomic_load_n(&hp_runtime->lane_count, __ATOMIC_RELAXED) < HP_LANE_CHUNKS * PLACES_PER_CHUNK
            ? __atomic_fetch_add(&hp_runtime->lane_count, 1, __ATOMIC_RELAXED)
            : UINT32_MAX;
    if (at >= HP_LANE_CHUNKS * PLACES_PER_CHUNK ||
        hp_memory_at(&hp_runtime->lane_chunks[at / PLACES_PER_CHUNK],
                     PLACES_PER_CHUNK * sizeof(struct hp_lane_place), false) == NULL)
        return NULL;
    struct hp_lane_place *place = place_at(at + 1);
    place->number = at + 1;
    return place;
}

hotpath_lane hotpath_lane_begin(void)
{
    const int saved = errno;
    hp_library_join();
    struct hp_lane_place *place = take_free_place();
    if (place == NULL)
        place = new_place();
    if (place != NULL)
        HOTPATH_PUT_(place->generation, HOTPATH_GET_(place->generation) + 1);
    errno = saved;
    return handle_of(place);
}

/* A lane on a thread of an earlier session, or of the parent process, is on no thread. */
static HP_LANE_INLINED bool take(struct hp_lane_place *place, uint32_t epoch)
{
    uint32_t before = __atomic_load_n(&place->busy, __ATOMIC_RELAXED);
    return before != epoch &&
           __atomic_compare_exchange_n(&place->busy, &before, epoch, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* ----------------------------------------------------------------------------------------------- in the session */

/* Any thread may add to the list. Release pairs with the reader's walk. */
static void link_lane(const struct hp_thread_context *context, struct hp_lane *lane)
{
    struct hp_header *header = hp_store_header(context->store);
    const uint32_t offset = (uint32_t)((char *)lane - context->store->range.base);
    uint32_t first = __atomic_load_n(&header->lanes, __ATOMIC_RELAXED);
    do
        lane->next = first;
    while (!__atomic_compare_exchange_n(&header->lanes, &first, offset, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* On its own cache lines, since each lane may be on a different thread. */
static struct hp_lane *new_lane(const struct hp_thread_context *context, uint32_t frame_bytes)
{
    const uint32_t offset =
        hp_store_allocate(context->store, (uint32_t)sizeof(struct hp_lane) + frame_bytes, HP_APART);
    if (offset == 0)
        return NULL;
    struct hp_lane *lane = hp_store_at(context->store, offset);
    lane->thread = context->record_offset;
    lane->frames = frame_bytes > 0 ? offset + (uint32_t)sizeof *lane : 0;
    return lane;
}

static struct hp_lane *new_coroutine(const struct hp_thread_context *context)
{
    struct hp_lane *lane = new_lane(context, FIRST_FRAMES * (uint32_t)sizeof(struct hotpath_frame_));
    if (lane == NULL)
        return NULL;
    lane->frame_capacity = FIRST_FRAMES;
    hp_lane_frames(context, lane)->zone = UINT64_MAX;
    hp_lane_frames(context, lane)->node = context->record->root;
    link_lane(context, lane);
    return lane;
}

/* From the first switch on a thread has lanes; its own one uses the frames it always had. */
static bool need_own_lane(struct hp_thread_context *context)
{
    if (context->own_lane != NULL)
        return true;
    struct hp_lane *lane = new_lane(context, 0);
    if (lane == NULL)
        return false;
    lane->frames = context->record->frames;
    lane->frame_capacity = context->record->frame_capacity;
    link_lane(context, lane);
    __atomic_store_n(&context->record->own_lane, (uint32_t)((char *)lane - context->store->range.base),
                     __ATOMIC_RELEASE);
    context->own_lane = context->running = lane;
    /* Live bytes of lanes add up, so the process's peak is kept as with several threads. */
    if (context->alloc != NULL)
        hp_lane_marks_publish(context);
    __atomic_store_n(&context->is_one_of_many, true, __ATOMIC_RELAXED);
    return true;
}

/* ---------------------------------------------------------------------------------------------------- switching */

/* Whether the thread can switch there without preparation; the lane is taken. */
static inline bool is_prepared(const struct hp_thread_context *context, const struct hp_lane_place *to)
{
    if (context->own_lane == NULL || (to != NULL && to->epoch != context->hot.epoch))
        return false;
    const struct hp_lane *lane = to != NULL ? to->lane : context->own_lane;
    return context->alloc != NULL ? context->own_lane->alloc_frames != 0 && lane->alloc_frames != 0
                                  : !(lane->has_flags & HOTPATH_ALLOCATES_);
}

/* Makes counters if the lane has marks, and marks if there are counters. The running lane has its own. */
static bool prepare_marks(struct hp_thread_context *context, struct hp_lane *lane)
{
    if (context->alloc == NULL && (lane->has_flags & HOTPATH_ALLOCATES_) && !hp_alloc_begin(context))
        return false;
    if (context->alloc == NULL)
        return true;
    if (context->own_lane == context->running)
        context->own_lane->alloc_frames = context->alloc->frames;
    return (context->own_lane->alloc_frames != 0 || hp_alloc_begin_lane(context, context->own_lane)) &&
           (lane == context->running || lane->alloc_frames != 0 || hp_alloc_begin_lane(context, lane));
}

/* Makes everything that is missing. False: no space. */
static bool prepare(struct hp_thread_context *context, struct hp_lane_place *to)
{
    if (!need_own_lane(context))
        return false;
    if (to != NULL && to->epoch != context->hot.epoch) {
        struct hp_lane *lane = new_coroutine(context);
        if (lane == NULL)
            return false;
        to->lane = lane;
        to->epoch = context->hot.epoch;
        to->skip_runs = 0;
    }
    return prepare_marks(context, to != NULL ? to->lane : context->own_lane);
}

static void make_suspended_site(void)
{
    struct hotpath_site site = {
        .id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_SUSPENDED_, .name = "<suspended>", .function = "", .file = ""};
    if (HOTPATH_GET_(hp_runtime->suspended_site) == 0 && hp_site_id(&site) < HOTPATH_IDS_)
        __atomic_store_n(&hp_runtime->suspended_site, site.id + 1, __ATOMIC_RELAXED);
}

/* The context is held. If the lane is not available, the thread stays on its own. */
static void switch_with_care(struct hp_thread_context *context, struct hp_lane_place *to)
{
    bool is_taken = to == NULL || take(to, context->hot.epoch);
    if (is_taken && !prepare(context, to)) {
        if (to != NULL)
            hp_lane_give_back(to);
        is_taken = false;
    }
    if (!is_taken) {
        hp_lose(context, HP_LOSS_LANES);
        to = NULL;
    }
    if (to != context->lane)
        hp_lane_switch_to(context, to, hp_now());
}

/* The thread's context, registered now if needed; but not to switch a thread without a context to its own lane. */
static struct hp_thread_context *context_for(const struct hp_lane_place *to)
{
    struct hp_thread_context *context = hp_page() != NULL ? hp_thread_present() : NULL;
    if (context != NULL || to == NULL || hp_page() == NULL)
        return context;
    return hp_thread_context_of();
}

static HP_LANE_COLD hotpath_lane switch_slowly(hotpath_lane lane)
{
    struct hp_lane_place *to = find_place(lane), *from = NULL;
    if (HOTPATH_GET_(hotpath_v1_context->skip) != 0 || context_for(to) == NULL)
        return 0;
    make_suspended_site();
    struct hp_thread_context *context = hp_thread_hold(); /* also NULL in a handler that interrupted the recorder */
    if (context == NULL)
        return 0;
    from = context->lane;
    if (to == NULL && lane != 0)
        hp_lose(context, HP_LOSS_LANES); /* it has ended, or never began */
    if (to != from)
        switch_with_care(context, to);
    hp_context_let_go(&context->hot);
    return handle_of(from);
}

/* False: something is missing or unusual, and nothing was done. */
static HP_LANE_INLINED bool has_switched(struct hp_thread_context *context, hotpath_lane lane, uint64_t now)
{
    struct hp_lane_place *to = find_place(lane);
    if (__builtin_expect((to == NULL && lane != 0) || to == context->lane, 0))
        return false;
    if (to != NULL && !take(to, context->hot.epoch))
        return false;
    if (__builtin_expect(!is_prepared(context, to), 0)) {
        if (to != NULL)
            hp_lane_give_back(to);
        return false;
    }
    hp_lane_switch_to(context, to, now);
    return true;
}

/*
 * Must not be inlined, not even at link time: on most machines compilers keep the address of a thread-local
 * variable across calls, and our caller may be on another thread afterwards.
 */
__attribute__((noinline)) hotpath_lane hotpath_switch(hotpath_lane to)
{
    struct hotpath_context_ *hot = hotpath_v1_context;
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hot;
    if (HOTPATH_LIKELY_(!hp_context_is_held(hot))) {
        hp_context_hold(hot);
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(hot) == hot->epoch)) {
            const uint64_t now = hotpath_ticks_(); /* first, so that the following code need not wait for it */
            struct hp_lane_place *from = context->lane;
            if (HOTPATH_LIKELY_(has_switched(context, to, now))) {
                hp_context_let_go(hot);
                return handle_of(from);
            }
        }
        hp_context_let_go(hot);
    }
    const int saved = errno;
    const hotpath_lane from = switch_slowly(to);
    errno = saved;
    return from;
}

/* ------------------------------------------------------------------------------------------------------- ending */

/* Counts the time of this suspension for nothing: the enclosing zone was last active when the lane stopped. */
static void drop_suspension(const struct hp_thread_context *context, struct hp_lane *lane)
{
    struct hotpath_frame_ *innermost = hp_lane_frames(context, lane) + lane->depth;
    if (lane->depth == 0 || innermost->zone != HP_SUSPENSION)
        return;
    HOTPATH_PUT_(innermost->zone, 0);
    HOTPATH_PUT_(innermost->child, lane->stopped);
    HOTPATH_PUT_(lane->depth, lane->depth - 1);
}

/* Abandons the open zones of a lane that is taken and on no thread: switches the context there and back. */
static void abandon_zones(struct hp_thread_context *context, struct hp_lane *lane)
{
    struct hp_lane *from = context->running;
    const uint64_t now = hp_now();
    drop_suspension(context, lane);
    hp_lane_stop(context, now, true);
    hp_lane_go_on(context, lane, now);
    while (context->hot.top > hp_frame_zero(context))
        hp_zone_abandon_top(context);
    hp_lane_stop(context, now, true);
    hp_lane_go_on(context, from, now);
}

/*
 * False: it is on another thread. If zones cannot be closed for lack of space, the next user of the slot starts
 * over.
 */
static bool is_ended(struct hp_thread_context *context, struct hp_lane_place *place)
{
    if (context->lane == place)
        hp_lane_return(context, hp_now());
    if (!take(place, context->hot.epoch))
        return false;
    if (place->epoch == context->hot.epoch && place->lane->depth > 0) {
        if (prepare(context, place))
            abandon_zones(context, place->lane);
        else
            place->epoch = 0;
    }
    hp_lane_give_back(place);
    return true;
}

/* Without a context of the running session. */
static bool is_dropped(struct hp_lane_place *place)
{
    if (!take(place, hp_epoch()))
        return false;
    place->epoch = 0;
    hp_lane_give_back(place);
    return true;
}

/* A lane that is on another thread continues there, and its slot is not reused. */
void hotpath_lane_end(hotpath_lane lane)
{
    const int saved = errno;
    struct hp_lane_place *place = find_place(lane);
    struct hp_thread_context *context = place != NULL && context_for(place) != NULL ? hp_thread_hold() : NULL;
    if (place != NULL && (context != NULL ? is_ended(context, place) : is_dropped(place))) {
        HOTPATH_PUT_(place->generation, HOTPATH_GET_(place->generation) + 1);
        free_place(place);
    } else if (context != NULL) {
        hp_lose(context, HP_LOSS_LANES);
    }
    if (context != NULL)
        hp_context_let_go(&context->hot);
    errno = saved;
}
