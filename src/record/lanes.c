/*
 * Lanes. A thread works on one stack of zones (`frames` of its record, `top` and `last` of its head), and inline code knows nothing
 * else. To switch lanes is to point these elsewhere: zones of a coroutine then nest by themselves, whatever runs between its
 * stretches, and whichever thread it runs on.
 *
 * A thread's own lane is always there, below the others: while one of these runs, its innermost zone has that time as time of what it
 * has called. All others are suspended whenever they do not run, and a zone of the site <suspended> inside their innermost one says for
 * how long. So totals are wall time, and what is not in zones inside is time that was worked.
 *
 * Zones of a coroutine lie below the root of the tree of the thread that it is on. When it goes on on another thread, the path of its
 * open zones is looked up in that one's tree, and they count there when they end.
 *
 * Frames, and all of struct hp_lane, belong to the thread that the lane is on. `busy` of its place hands them over: taken with acquire,
 * given back with release, once the thread has nothing that leads there.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lanes.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define INLINED inline __attribute__((always_inline))
#define COLD __attribute__((noinline, cold))

#define FIRST_FRAMES 8u /* of a coroutine; there may be very many */
#define PLACES_PER_CHUNK 256u
#define SUSPENDED 1u /* in place of the address of a guard */
#define APART 128u   /* as in threads.c */

/* ------------------------------------------------------------------------------------------------------- places */

static INLINED struct hp_lane_place *place_at(uint32_t number)
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

/* NULL: the thread's own, or one that is no more. */
static INLINED struct hp_lane_place *find_place(hotpath_lane lane)
{
    struct hp_lane_place *place = lane != 0 ? place_at((uint32_t)lane) : NULL;
    const uint32_t generation = (uint32_t)(lane >> 32);
    return place != NULL && HOTPATH_GET_(place->generation) == generation && generation % 2 != 0 ? place : NULL;
}

/* Free places are a list that any thread takes from and adds to. What is above the number tells two states of it apart. */
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
    hp_copies_join();
    struct hp_lane_place *place = take_free_place();
    if (place == NULL)
        place = new_place();
    if (place != NULL)
        HOTPATH_PUT_(place->generation, HOTPATH_GET_(place->generation) + 1);
    errno = saved;
    return handle_of(place);
}

/* A lane that is on a thread of an earlier session, or of the process that this one was forked from, is on none. */
static INLINED bool take(struct hp_lane_place *place, uint32_t epoch)
{
    uint32_t before = __atomic_load_n(&place->busy, __ATOMIC_RELAXED);
    return before != epoch &&
           __atomic_compare_exchange_n(&place->busy, &before, epoch, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void give_back(struct hp_lane_place *place) { __atomic_store_n(&place->busy, 0, __ATOMIC_RELEASE); }

/* ------------------------------------------------------------------------------------------------ in the session */

static struct hotpath_frame_ *frames_of(const struct hp_head *head, const struct hp_lane *lane)
{
    return hp_store_at(head->store, lane->frames);
}

/* Anybody may add to the list. Release pairs with the reader's walk. */
static void link_lane(const struct hp_head *head, struct hp_lane *lane)
{
    struct hp_header *header = hp_store_header(head->store);
    const uint32_t offset = (uint32_t)((char *)lane - head->store->range.base);
    uint32_t first = __atomic_load_n(&header->lanes, __ATOMIC_RELAXED);
    do
        lane->next = first;
    while (!__atomic_compare_exchange_n(&header->lanes, &first, offset, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Shared by no line with another, since each may be on a thread of its own. */
static struct hp_lane *new_lane(const struct hp_head *head, uint32_t frame_bytes)
{
    const uint32_t offset = hp_store_allocate(head->store, (uint32_t)sizeof(struct hp_lane) + frame_bytes, APART);
    if (offset == 0)
        return NULL;
    struct hp_lane *lane = hp_store_at(head->store, offset);
    lane->thread = head->record_offset;
    lane->frames = frame_bytes > 0 ? offset + (uint32_t)sizeof *lane : 0;
    return lane;
}

static struct hp_lane *new_coroutine(const struct hp_head *head)
{
    struct hp_lane *lane = new_lane(head, FIRST_FRAMES * (uint32_t)sizeof(struct hotpath_frame_));
    if (lane == NULL)
        return NULL;
    lane->frame_capacity = FIRST_FRAMES;
    frames_of(head, lane)->zone = UINT64_MAX;
    frames_of(head, lane)->node = head->record->root;
    link_lane(head, lane);
    return lane;
}

/* From the first switch on a thread has lanes; its own has the frames that it had all along. */
static bool need_own_lane(struct hp_head *head)
{
    if (head->own_lane != NULL)
        return true;
    struct hp_lane *lane = new_lane(head, 0);
    if (lane == NULL)
        return false;
    lane->frames = head->record->frames;
    lane->frame_capacity = head->record->frame_capacity;
    link_lane(head, lane);
    __atomic_store_n(&head->record->own_lane, (uint32_t)((char *)lane - head->store->range.base), __ATOMIC_RELEASE);
    head->own_lane = head->running = lane;
    /* What lives in lanes adds up, so the peak of the process is kept as where there are several threads. */
    if (head->alloc != NULL)
        hp_lane_marks_publish(head);
    __atomic_store_n(&head->is_one_of_many, true, __ATOMIC_RELAXED);
    return true;
}

void hp_lane_use_frames(const struct hp_head *head, uint32_t frames, uint32_t capacity)
{
    if (head->running == NULL)
        return;
    HOTPATH_PUT_(head->running->frames, frames);
    HOTPATH_PUT_(head->running->frame_capacity, capacity);
}

void hp_lane_forget(struct hp_head *head)
{
    head->lane = NULL;
    head->running = head->own_lane = NULL;
    head->folds = 0;
}

/* ------------------------------------------------------------------------------------------------------ recursion */

/* Open calls of a site are those of the lane that runs. */
static void count_open(const struct hp_head *head, uint32_t change)
{
    for (const struct hotpath_frame_ *frame = hp_frame_zero(head) + 1; frame <= head->hot.top; frame++)
        if (frame->stat & HOTPATH_RECURSIVE_) {
            struct hotpath_stat_ *stat = hp_stat_at(head, hp_node_at(head, frame->node)->stat);
            HOTPATH_PUT_(stat->open, stat->open + change);
        }
}

static bool is_suspension(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    return hp_lane_is_suspended_site(hp_node_at(head, frame->node)->site);
}

/* Recursion that was found while a lane did not run holds for its zones, too. */
static void learn_of_recursion(const struct hp_head *head)
{
    for (struct hotpath_frame_ *frame = hp_frame_zero(head) + 1; frame <= head->hot.top; frame++)
        if (hp_tree_is_recursive(head, frame->node) && !is_suspension(head, frame))
            HOTPATH_PUT_(frame->stat, frame->stat | HOTPATH_RECURSIVE_);
}

/* ------------------------------------------------------------------------------------------------------- stopping */

static void disregard_all(struct hp_head *head)
{
    for (const struct hotpath_frame_ *frame = hp_frame_zero(head) + 1; frame <= head->hot.top; frame++)
        if (frame->stat & HOTPATH_KEPT_)
            hp_kept_disregard(head, frame);
}

/* It is inside of no other one, so nobody counts how many are open. */
static INLINED void set_suspension(struct hotpath_frame_ *frame, const struct hotpath_slot_ *slot)
{
    HOTPATH_PUT_(frame->node, slot->node);
    HOTPATH_PUT_(frame->stat, slot->stat & ~(HOTPATH_RECURSIVE_ | HOTPATH_UNTIMED_));
}

static INLINED void push_suspension(struct hp_head *head, const struct hotpath_slot_ *slot, uint64_t now)
{
    struct hotpath_frame_ *frame = head->hot.top + 1;
    HOTPATH_PUT_(frame->start, now);
    HOTPATH_PUT_(frame->child, 0);
    set_suspension(frame, slot);
    HOTPATH_PUT_(frame->zone, SUSPENDED);
    head->hot.top = frame;
}

/* The site was made before the first switch; where there is no space for its zones, they are missing. */
static COLD void suspend_with_care(struct hp_head *head, uint32_t site, uint64_t now)
{
    struct hotpath_slot_ spare;
    if (site >= HOTPATH_READY_ || (head->hot.top == head->hot.last && !hp_zone_make_room(head)))
        return;
    push_suspension(head, hp_tree_slot(head, head->hot.top->node, site, &spare), now);
}

static INLINED void suspend(struct hp_head *head, uint64_t now)
{
    const uint32_t site = __atomic_load_n(&hp_runtime->suspended_site, __ATOMIC_RELAXED) - 1;
    const uint32_t parent = head->hot.top->node;
    const struct hotpath_slot_ *slot = hotpath_slot_of_(&head->hot, parent, site);
    if (HOTPATH_LIKELY_(slot->key == ((uint64_t)parent << 32 | site) && head->hot.top != head->hot.last))
        push_suspension(head, slot, now);
    else
        suspend_with_care(head, site, now);
}

static INLINED uint32_t flags_of_frames(const struct hp_head *head)
{
    uint32_t flags = 0;
    for (const struct hotpath_frame_ *frame = head->hot.top; frame->zone != UINT64_MAX; frame--)
        flags |= frame->stat;
    return flags & HOTPATH_FLAGS_;
}

/* Calls inside one another, and calls of which more is kept than numbers. */
static COLD void mind_calls(struct hp_head *head, uint32_t flags, bool is_own)
{
    if (flags & HOTPATH_RECURSIVE_)
        count_open(head, UINT32_MAX);
    if ((flags & HOTPATH_KEPT_) && !is_own)
        disregard_all(head);
}

/* The lane that runs stops, for a time that is worth a zone or for none. */
static INLINED void stop(struct hp_head *head, uint64_t now, bool is_for_none)
{
    struct hp_lane *lane = head->running;
    const bool is_own = lane == head->own_lane;
    const uint32_t flags = flags_of_frames(head);
    if (__builtin_expect(flags & (HOTPATH_RECURSIVE_ | HOTPATH_KEPT_), 0))
        mind_calls(head, flags, is_own);
    if (!is_own && !is_for_none && head->hot.top->zone != UINT64_MAX)
        suspend(head, now);
    if (head->alloc != NULL)
        hp_lane_marks_stop(head, lane);
    HOTPATH_PUT_(lane->has_flags, flags);
    HOTPATH_PUT_(lane->folds, head->folds);
    HOTPATH_PUT_(lane->stopped, now);
    HOTPATH_PUT_(lane->depth, (uint32_t)(head->hot.top - hp_frame_zero(head)));
    /* Release: who finds it suspended finds all of its frames. */
    __atomic_store_n(&lane->state, is_own ? HP_LANE_BELOW : HP_LANE_SUSPENDED, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------------------------------------------- going on */

_Static_assert(offsetof(struct hp_thread, frames) % 8 == 0 &&
                   offsetof(struct hp_thread, frame_capacity) == offsetof(struct hp_thread, frames) + 4,
               "one word");

/* Both at once, since somebody may be reading. */
static INLINED void use_frames(struct hp_head *head, const struct hp_lane *lane)
{
    const uint32_t both[2] = {lane->frames, lane->frame_capacity};
    struct hotpath_frame_ *frames = frames_of(head, lane);
    uint64_t word;
    memcpy(&word, both, sizeof word);
    __atomic_store_n((uint64_t *)(void *)&head->record->frames, word, __ATOMIC_RELEASE);
    head->hot.last = frames + lane->frame_capacity - 1;
    head->hot.top = frames + lane->depth;
}

/* Whether a call is timed, and has a mark, was decided where it began. */
#define FLAGS_OF_CALL (HOTPATH_UNTIMED_ | HOTPATH_CHOSEN_ | HOTPATH_ALLOCATES_ | HOTPATH_COUNTED_)

static void place_call(const struct hp_head *head, struct hotpath_frame_ *frame, const struct hotpath_slot_ *slot)
{
    const uint32_t flags = (frame->stat & FLAGS_OF_CALL) | (slot->stat & (HOTPATH_RECURSIVE_ | HOTPATH_KEPT_));
    const uint32_t stat = flags & HOTPATH_ALLOCATES_ ? head->record->blank_stat : slot->stat & ~HOTPATH_FLAGS_;
    struct hotpath_stat_ *counted = hp_stat_at(head, hp_node_at(head, slot->node)->stat);
    HOTPATH_PUT_(frame->node, slot->node);
    HOTPATH_PUT_(frame->stat, stat | flags);
    if (flags & HOTPATH_RECURSIVE_)
        HOTPATH_PUT_(counted->open, counted->open + 1);
}

/* One open call of a lane, below the call around it. */
static void move_call(struct hp_head *head, struct hotpath_frame_ *frame)
{
    struct hotpath_slot_ spare;
    const uint32_t site = hp_node_at(head, frame->node)->site;
    const struct hotpath_slot_ *slot = hp_tree_slot(head, frame[-1].node, site, &spare);
    if (hp_lane_is_suspended_site(site))
        set_suspension(frame, slot);
    else
        place_call(head, frame, slot);
    head->hot.top = frame;
    if (frame->stat & HOTPATH_KEPT_)
        hp_kept_disregard(head, frame);
}

/* The lane has come from another thread. Its frames are the head's already. */
static void move_calls(struct hp_head *head, struct hp_lane *lane)
{
    struct hotpath_frame_ *zero = hp_frame_zero(head), *const innermost = head->hot.top;
    HOTPATH_PUT_(zero->node, head->record->root);
    head->hot.top = zero;
    for (struct hotpath_frame_ *frame = zero + 1; frame <= innermost; frame++)
        move_call(head, frame);
    HOTPATH_PUT_(lane->thread, head->record_offset);
}

/* The lane has come from another thread, or recursion was found, in it or meanwhile. */
static COLD void find_calls(struct hp_head *head, struct hp_lane *lane)
{
    if (lane->thread != head->record_offset) {
        move_calls(head, lane);
        return;
    }
    if (lane->folds != head->folds)
        learn_of_recursion(head);
    count_open(head, 1);
}

/* What another lane took is no time of the zone's own. When a call that is not timed began is not known. */
static INLINED void add_child_time(const struct hp_head *head, uint64_t ticks)
{
    struct hotpath_frame_ *frame = head->hot.top;
    if (!(frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_)) && (int64_t)ticks > 0)
        HOTPATH_ADD_(frame->child, ticks);
}

/* The usual case of hp_zone_close_top. */
static INLINED void end_suspension(struct hp_head *head, struct hotpath_frame_ *frame, uint64_t now)
{
    struct hotpath_node_ *node = hp_node_at(head, frame->node);
    struct hotpath_stat_ *stat = hp_stat_at(head, node->stat);
    const uint64_t ticks = now - frame->start;
    const uint32_t octave = hotpath_octave_(ticks), origin = stat->octaves[octave];
    if (__builtin_expect(origin == 0, 0)) {
        hp_zone_close_top(head, now);
        return;
    }
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    HOTPATH_ADD_(((uint64_t *)(void *)(head->hot.base + origin))[ticks >> octave], 1);
    hp_zone_count(frame, node, stat, ticks);
    HOTPATH_PUT_(frame->child, now);
    head->hot.top = frame - 1;
}

static INLINED void go_on(struct hp_head *head, struct hp_lane *lane, uint64_t now)
{
    __atomic_store_n(&lane->state, HP_LANE_RUNNING, __ATOMIC_RELAXED);
    HOTPATH_ORDER_();
    use_frames(head, lane);
    if (head->alloc != NULL)
        hp_lane_marks_go_on(head, lane);
    if (__builtin_expect(lane->thread != head->record_offset || (lane->has_flags & HOTPATH_RECURSIVE_) ||
                             lane->folds != head->folds,
                         0))
        find_calls(head, lane);
    if (lane == head->own_lane)
        add_child_time(head, now - lane->stopped);
    else if (head->hot.top->zone == SUSPENDED)
        end_suspension(head, head->hot.top, now);
    head->running = lane;
}

/* ------------------------------------------------------------------------------------------------------ switching */

/* Calls that hooks could not record are those of a stack. */
static COLD void exchange_skips(struct hp_head *head, struct hp_skip_run *skips, uint32_t *runs)
{
    for (uint32_t at = 0; at < HP_SKIP_RUNS; at++) {
        const struct hp_skip_run run = head->skips[at];
        head->skips[at] = skips[at];
        skips[at] = run;
    }
    const uint32_t count = head->skip_runs;
    head->skip_runs = *runs;
    *runs = count;
}

/* The place has what the lane below had while its own are at work. */
static INLINED void keep_skips(struct hp_head *head, struct hp_lane_place *place)
{
    if (place != NULL && __builtin_expect((head->skip_runs | place->skip_runs) != 0, 0))
        exchange_skips(head, place->skips, &place->skip_runs);
}

/* Both are ready for it, and the lane is taken. */
static INLINED void switch_to(struct hp_head *head, struct hp_lane_place *to, uint64_t now)
{
    struct hp_lane_place *from = head->lane;
    stop(head, now, false);
    keep_skips(head, from);
    go_on(head, to != NULL ? to->lane : head->own_lane, now);
    keep_skips(head, to);
    head->lane = to;
    if (from != NULL)
        give_back(from);
}

/* Whether nothing has to be made before the thread can go on there; the lane is taken. */
static inline bool is_prepared(const struct hp_head *head, const struct hp_lane_place *to)
{
    if (head->own_lane == NULL || (to != NULL && to->epoch != head->hot.epoch))
        return false;
    const struct hp_lane *lane = to != NULL ? to->lane : head->own_lane;
    return head->alloc != NULL ? head->own_lane->alloc_frames != 0 && lane->alloc_frames != 0
                               : !(lane->has_flags & HOTPATH_ALLOCATES_);
}

/* Counters, if the lane has marks; marks, if there are counters. What is at work has its own. */
static bool prepare_marks(struct hp_head *head, struct hp_lane *lane)
{
    if (head->alloc == NULL && (lane->has_flags & HOTPATH_ALLOCATES_) && !hp_alloc_begin(head))
        return false;
    if (head->alloc == NULL)
        return true;
    if (head->own_lane == head->running)
        head->own_lane->alloc_frames = head->alloc->frames;
    return (head->own_lane->alloc_frames != 0 || hp_lane_marks_begin(head, head->own_lane)) &&
           (lane == head->running || lane->alloc_frames != 0 || hp_lane_marks_begin(head, lane));
}

/* Makes all that is missing. False: there is no space for it. */
static bool prepare(struct hp_head *head, struct hp_lane_place *to)
{
    if (!need_own_lane(head))
        return false;
    if (to != NULL && to->epoch != head->hot.epoch) {
        struct hp_lane *lane = new_coroutine(head);
        if (lane == NULL)
            return false;
        to->lane = lane;
        to->epoch = head->hot.epoch;
        to->skip_runs = 0;
    }
    return prepare_marks(head, to != NULL ? to->lane : head->own_lane);
}

static void make_suspended_site(void)
{
    struct hotpath_site site = {
        .id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_SUSPENDED_, .name = "<suspended>", .function = "", .file = ""};
    if (HOTPATH_GET_(hp_runtime->suspended_site) == 0 && hp_site_id(&site) < HOTPATH_READY_)
        __atomic_store_n(&hp_runtime->suspended_site, site.id + 1, __ATOMIC_RELAXED);
}

/* The head is held. A lane that cannot be had leaves the thread on its own. */
static void switch_with_care(struct hp_head *head, struct hp_lane_place *to)
{
    bool is_taken = to == NULL || take(to, head->hot.epoch);
    if (is_taken && !prepare(head, to)) {
        if (to != NULL)
            give_back(to);
        is_taken = false;
    }
    if (!is_taken) {
        hp_lose(head, HP_LOSS_LANES);
        to = NULL;
    }
    if (to != head->lane)
        switch_to(head, to, hp_now());
}

/* The head of the thread, registered now if need be; not for a thread that is on its own lane as long as it has none. */
static struct hp_head *head_for(const struct hp_lane_place *to)
{
    struct hp_head *head = hp_page() != NULL ? hp_thread_present() : NULL;
    if (head != NULL || to == NULL || hp_page() == NULL)
        return head;
    return hp_thread_head();
}

static COLD hotpath_lane switch_slowly(hotpath_lane lane)
{
    struct hp_lane_place *to = find_place(lane), *from = NULL;
    if (HOTPATH_GET_(hotpath_v1_head->skip) != 0 || head_for(to) == NULL)
        return 0;
    make_suspended_site();
    struct hp_head *head = hp_thread_hold(); /* NULL, too, in a handler that has interrupted the recorder */
    if (head == NULL)
        return 0;
    from = head->lane;
    if (to == NULL && lane != 0)
        hp_lose(head, HP_LOSS_LANES); /* it has ended, or never begun */
    if (to != from)
        switch_with_care(head, to);
    hp_let_go(&head->hot);
    return handle_of(from);
}

/* False: something is missing, or is not as usual, and nothing was done. */
static INLINED bool has_switched(struct hp_head *head, hotpath_lane lane, uint64_t now)
{
    struct hp_lane_place *to = find_place(lane);
    if (__builtin_expect((to == NULL && lane != 0) || to == head->lane, 0))
        return false;
    if (to != NULL && !take(to, head->hot.epoch))
        return false;
    if (__builtin_expect(!is_prepared(head, to), 0)) {
        if (to != NULL)
            give_back(to);
        return false;
    }
    switch_to(head, to, now);
    return true;
}

/*
 * Never inlined, as by a linker that sees all of the program: on most machines compilers keep the address of a thread's variable across
 * calls, and whoever calls us may be on another thread afterwards.
 */
__attribute__((noinline)) hotpath_lane hotpath_switch(hotpath_lane to)
{
    struct hotpath_head_ *hot = hotpath_v1_head;
    struct hp_head *head = (struct hp_head *)(void *)hot;
    if (HOTPATH_LIKELY_(HOTPATH_GET_(hot->ready) != 0)) {
        HOTPATH_PUT_(hot->ready, 0);
        HOTPATH_ORDER_();
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(hot) == hot->epoch)) {
            const uint64_t now = hotpath_ticks_(); /* first: what follows need not wait for it */
            struct hp_lane_place *from = head->lane;
            if (HOTPATH_LIKELY_(has_switched(head, to, now))) {
                hp_let_go(hot);
                return handle_of(from);
            }
        }
        hp_let_go(hot);
    }
    const int saved = errno;
    const hotpath_lane from = switch_slowly(to);
    errno = saved;
    return from;
}

/* --------------------------------------------------------------------------------------------------------- ending */

const struct hotpath_frame_ *hp_lane_own_frames(const struct hp_head *head, const struct hotpath_frame_ **ret_top)
{
    const struct hotpath_frame_ *frames = frames_of(head, head->own_lane);
    *ret_top = frames + head->own_lane->depth;
    return frames;
}

/* There are marks for it: see hp_alloc_begin. */
__attribute__((noinline)) void hp_lane_return(struct hp_head *head, uint64_t now)
{
    if (head->lane != NULL)
        switch_to(head, NULL, now);
}

void hp_lane_end_thread(struct hp_head *head, uint64_t now)
{
    while (head->lane != NULL && head->hot.top > hp_frame_zero(head))
        hp_zone_close_top(head, now);
    hp_lane_return(head, now);
}

/* The time of its suspension is nobody's, and the last sign of the zone around it. */
static void drop_suspension(const struct hp_head *head, struct hp_lane *lane)
{
    struct hotpath_frame_ *innermost = frames_of(head, lane) + lane->depth;
    if (lane->depth == 0 || innermost->zone != SUSPENDED)
        return;
    HOTPATH_PUT_(innermost->zone, 0);
    HOTPATH_PUT_(innermost->child, lane->stopped);
    HOTPATH_PUT_(lane->depth, lane->depth - 1);
}

/* Zones that are open in a lane that is taken, and on no thread, are abandoned: the head goes there and comes back. */
static void abandon_zones(struct hp_head *head, struct hp_lane *lane)
{
    struct hp_lane *from = head->running;
    const uint64_t now = hp_now();
    drop_suspension(head, lane);
    stop(head, now, true);
    go_on(head, lane, now);
    while (head->hot.top > hp_frame_zero(head))
        hp_zone_abandon_top(head);
    stop(head, now, true);
    go_on(head, from, now);
}

/* False: it is on another thread. Where zones cannot be closed, for want of space, whoever has its place next begins anew. */
static bool is_ended(struct hp_head *head, struct hp_lane_place *place)
{
    if (head->lane == place)
        hp_lane_return(head, hp_now());
    if (!take(place, head->hot.epoch))
        return false;
    if (place->epoch == head->hot.epoch && place->lane->depth > 0) {
        if (prepare(head, place))
            abandon_zones(head, place->lane);
        else
            place->epoch = 0;
    }
    give_back(place);
    return true;
}

/* Without a head of the session that runs. */
static bool is_dropped(struct hp_lane_place *place)
{
    if (!take(place, hp_epoch()))
        return false;
    place->epoch = 0;
    give_back(place);
    return true;
}

/* A lane that is on another thread goes on there, and its place is not given out again. */
void hotpath_lane_end(hotpath_lane lane)
{
    const int saved = errno;
    struct hp_lane_place *place = find_place(lane);
    struct hp_head *head = place != NULL && head_for(place) != NULL ? hp_thread_hold() : NULL;
    if (place != NULL && (head != NULL ? is_ended(head, place) : is_dropped(place))) {
        HOTPATH_PUT_(place->generation, HOTPATH_GET_(place->generation) + 1);
        free_place(place);
    } else if (head != NULL) {
        hp_lose(head, HP_LOSS_LANES);
    }
    if (head != NULL)
        hp_let_go(&head->hot);
    errno = saved;
}
