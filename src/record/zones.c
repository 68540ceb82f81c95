/*
 * Zones out of line: everything hotpath_enter_ and hotpath_leave_ (hotpath.h) leave out. A thread comes here with its
 * first zone, the first time a path of calls is taken, when a duration needs a new octave, when the stack of zones grows,
 * when something odd happened to the host's stack, and from signal handlers that interrupted the inline part.
 *
 * The life of a zone:  enter: find the node of (innermost open node, site), push a frame, read the clock
 *                      leave: read the clock, add to the node, the site's stat and the parent's frame, pop
 *
 * Recursion folds: a site that is open already continues on its open node, so trees are as deep as there are sites, and
 * the count of open calls of a site tells inner calls from the outermost, whose time alone is the total.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "memory.h"
#include "runtime.h"

#define NODES_PER_CHUNK 16u
#define FIRST_NODES 8u
/* Slots that lead to a stat instead of a node have this in place of the parent: no node is there. */
#define STAT_OF 1u

/* What a late writer may still reach after a session ended is mapped, but empty; offsets there are zero. */
static struct hotpath_node_ *node_at(const struct hp_head *head, uint32_t offset)
{
    return (struct hotpath_node_ *)(void *)(head->hot.base + offset);
}

static struct hotpath_stat_ *stat_at(const struct hp_head *head, uint32_t offset)
{
    return (struct hotpath_stat_ *)(void *)(head->hot.base + offset);
}

static struct hotpath_frame_ *frame_zero(const struct hp_head *head)
{
    return (struct hotpath_frame_ *)(void *)(head->hot.base + head->record->frames);
}

static void lose(const struct hp_head *head, enum hp_loss loss) { hp_store_lose(head->store, loss, 1); }

/* ------------------------------------------------------------------------------------------- the index */

static uint64_t slot_key(uint32_t parent, uint32_t site) { return (uint64_t)parent << 32 | site; }

static uint32_t slot_total(const struct hotpath_head_ *hot)
{
    return hot->mask / (uint32_t)sizeof(struct hotpath_slot_) + 1;
}

static size_t slots_bytes(uint32_t total) { return (size_t)total * sizeof(struct hotpath_slot_); }

static void set_slots(struct hotpath_head_ *hot, struct hotpath_slot_ *slots, uint32_t total)
{
    hot->slots = slots;
    hot->mask = (total - 1) * (uint32_t)sizeof *slots;
}

static struct hotpath_slot_ *next_slot(const struct hotpath_head_ *hot, struct hotpath_slot_ *slot)
{
    return slot + 1 == hot->slots + slot_total(hot) ? hot->slots : slot + 1;
}

/*
 * The slot that has the key, or the empty one where it belongs; there always is an empty one. Slots of stats stay out of
 * the rows, since inline code does not look for them. A slot never becomes empty again, so a search that stops at an
 * empty one has not missed anything.
 */
static struct hotpath_slot_ *find_slot(const struct hotpath_head_ *hot, uint32_t parent, uint32_t site)
{
    const uint64_t key = slot_key(parent, site);
    struct hotpath_slot_ *slot = hotpath_slot_of_(hot, parent, site);
    if (parent != STAT_OF && (slot->key == 0 || slot->key == key))
        return slot;
    slot = hotpath_second_slot_of_(hot, key);
    while (slot->key != 0 && slot->key != key)
        slot = next_slot(hot, slot);
    return slot;
}

/* Copies what is in `slot` to another place where it is found just as well; false where there is none. */
static bool make_room(const struct hotpath_head_ *hot, const struct hotpath_slot_ *slot)
{
    struct hotpath_slot_ *other = hotpath_second_slot_of_(hot, slot->key);
    const bool is_stat = slot->key >> 32 == STAT_OF; /* found out of line wherever it is */
    while (is_stat && other->key != 0)
        other = next_slot(hot, other);
    if (other->key != 0)
        return false;
    *other = *slot;
    return true;
}

/* The slot for a new key: if at all possible one of the two where inline code looks. */
static struct hotpath_slot_ *slot_for(const struct hotpath_head_ *hot, uint32_t parent, uint32_t site)
{
    struct hotpath_slot_ *slot = find_slot(hot, parent, site);
    struct hotpath_slot_ *first = hotpath_slot_of_(hot, parent, site);
    struct hotpath_slot_ *second = hotpath_second_slot_of_(hot, slot_key(parent, site));
    if (parent == STAT_OF || slot == first || slot == second)
        return slot;
    return make_room(hot, first) ? first : make_room(hot, second) ? second : slot;
}

static bool grow_slots(struct hp_head *head)
{
    const uint32_t total = slot_total(&head->hot);
    struct hotpath_slot_ *old = head->hot.slots;
    struct hotpath_slot_ *bigger = hp_more_memory(slots_bytes(total * 4));
    if (bigger == NULL)
        return false;
    set_slots(&head->hot, bigger, total * 4);
    for (const struct hotpath_slot_ *slot = old; slot < old + total; slot++)
        if (slot->key != 0)
            *slot_for(&head->hot, (uint32_t)(slot->key >> 32), (uint32_t)slot->key) = *slot;
    hp_memory_unmap(old, slots_bytes(total));
    return true;
}

/* Loads above a quarter cost the inline part misses; above a half the index stops growing rather than fill up. */
static void add_slot(struct hp_head *head, uint32_t parent, uint32_t site, uint32_t offset, uint32_t stat)
{
    const uint32_t size = slot_total(&head->hot);
    if (head->slot_count + 1 > size / 4 && !grow_slots(head) && head->slot_count + 1 > size / 2) {
        head->index_is_complete = false;
        return;
    }
    struct hotpath_slot_ *slot = slot_for(&head->hot, parent, site);
    slot->node = offset;
    slot->stat = stat;
    slot->key = slot_key(parent, site);
    head->slot_count++;
}

static bool empty_slots(struct hp_head *head)
{
    struct hotpath_slot_ *slots = head->hot.slots;
    const uint32_t first = hp_runtime->settings.reserve ? HP_RESERVED_SLOTS : HP_FIRST_SLOTS;
    if (slots != NULL && slot_total(&head->hot) != first) {
        hp_memory_unmap(slots, slots_bytes(slot_total(&head->hot)));
        slots = NULL;
    }
    if (slots == NULL)
        slots = hp_more_memory(slots_bytes(first));
    else
        memset(slots, 0, slots_bytes(first));
    set_slots(&head->hot, slots, first);
    head->slot_count = 0;
    return slots != NULL;
}

/* -------------------------------------------------------------------------------------- stats and nodes */

static uint32_t new_stat(struct hp_head *head, uint32_t site)
{
    /* Aligned, so that what a short call needs of it is one cache line: extremes and the first octaves. */
    const uint32_t offset = hp_thread_allocate(head, sizeof(struct hotpath_stat_), 64);
    if (offset == 0)
        return 0;
    struct hotpath_stat_ *stat = hp_store_at(head->store, offset);
    stat->site = site;
    stat->min = UINT64_MAX;
    stat->next = head->record->stats;
    /* Release: who finds the stat finds it whole. The same for nodes below. */
    __atomic_store_n(&head->record->stats, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&head->record->stat_count, head->record->stat_count + 1, __ATOMIC_RELAXED);
    return offset;
}

static uint32_t listed_stat(const struct hp_head *head, uint32_t site)
{
    uint32_t offset = head->record->stats;
    while (offset != 0 && stat_at(head, offset)->site != site)
        offset = stat_at(head, offset)->next;
    return offset;
}

static uint32_t stat_of(struct hp_head *head, uint32_t site)
{
    const struct hotpath_slot_ *slot = find_slot(&head->hot, STAT_OF, site);
    if (slot->key != 0)
        return slot->node;
    uint32_t offset = head->index_is_complete ? 0 : listed_stat(head, site);
    if (offset == 0)
        offset = new_stat(head, site);
    if (offset != 0)
        add_slot(head, STAT_OF, site, offset, 0);
    return offset;
}

/* The next free node, or 0. The count in the chunk is raised by the caller, once the node is filled in. */
static uint32_t free_node(struct hp_head *head, struct hp_node_chunk **ret_chunk)
{
    struct hp_thread *record = head->record;
    struct hp_node_chunk *chunk = record->node_chunks ? hp_store_at(head->store, record->node_chunks) : NULL;
    if (chunk == NULL || chunk->used == chunk->capacity) {
        const uint32_t capacity = chunk == NULL ? FIRST_NODES : NODES_PER_CHUNK;
        const uint32_t size = (uint32_t)(sizeof *chunk + capacity * sizeof(struct hotpath_node_));
        const uint32_t offset = hp_thread_allocate(head, size, 64);
        if (offset == 0)
            return 0;
        chunk = hp_store_at(head->store, offset);
        chunk->capacity = capacity;
        chunk->next = record->node_chunks;
        __atomic_store_n(&record->node_chunks, offset, __ATOMIC_RELEASE);
    }
    *ret_chunk = chunk;
    return (uint32_t)((char *)&chunk->nodes[chunk->used] - head->store->base);
}

static uint32_t new_node(struct hp_head *head, uint32_t parent, uint32_t site, uint32_t stat)
{
    struct hp_node_chunk *chunk;
    const uint32_t offset = stat != 0 ? free_node(head, &chunk) : 0;
    if (offset == 0)
        return 0;
    struct hotpath_node_ *node = hp_store_at(head->store, offset);
    node->site = site;
    node->parent = parent;
    node->stat = stat;
    if (parent != 0) {
        node->next_sibling = node_at(head, parent)->first_child;
        node_at(head, parent)->first_child = offset;
    }
    __atomic_store_n(&chunk->used, chunk->used + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&head->record->node_count, head->record->node_count + 1, __ATOMIC_RELAXED);
    return offset;
}

/* The node of `site` among `parent` and its ancestors: there the recursion goes on. */
static uint32_t ancestor_of(const struct hp_head *head, uint32_t parent, uint32_t site)
{
    while (parent != 0 && node_at(head, parent)->site != site)
        parent = node_at(head, parent)->parent;
    return parent;
}

static uint32_t child_of(const struct hp_head *head, uint32_t parent, uint32_t site)
{
    uint32_t child = node_at(head, parent)->first_child;
    while (child != 0 && node_at(head, child)->site != site)
        child = node_at(head, child)->next_sibling;
    return child;
}

/* A handler that interrupted the recorder runs on a thread that has a record of its own. */
static void count_thread(struct hp_head *head, struct hotpath_stat_ *stat)
{
    if (head->is_handler || stat->generation == head->generation)
        return;
    stat->generation = head->generation;
    HOTPATH_PUT_(stat->threads, stat->threads + 1);
}

/* --- recursion: see HOTPATH_RECURSIVE_ */

static bool is_below(const struct hp_head *head, uint32_t node, uint32_t ancestor)
{
    while (node != 0 && node != ancestor)
        node = node_at(head, node)->parent;
    return node != 0;
}

static bool is_recursive(const struct hp_head *head, uint32_t node)
{
    for (; node != 0; node = node_at(head, node)->parent)
        if (node_at(head, node)->is_folded)
            return true;
    return false;
}

/* Adds to the open calls of a site; how many there are then. */
static uint32_t count_open(const struct hp_head *head, uint32_t offset, int32_t change)
{
    struct hotpath_stat_ *stat = stat_at(head, offset & ~HOTPATH_RECURSIVE_);
    HOTPATH_PUT_(stat->open, stat->open + (uint32_t)change);
    return stat->open;
}

/* The first call that folds onto `node`: from now on open calls are counted of it and everything below it. */
static void begin_recursion(struct hp_head *head, uint32_t node)
{
    struct hotpath_slot_ *slots = head->hot.slots;
    if (is_recursive(head, node))
        return;
    node_at(head, node)->is_folded = 1;
    for (struct hotpath_slot_ *slot = slots; slot < slots + slot_total(&head->hot); slot++)
        if (slot->key != 0 && slot->stat != 0 && is_below(head, slot->node, node))
            slot->stat |= HOTPATH_RECURSIVE_;
    for (struct hotpath_frame_ *frame = frame_zero(head) + 1; frame <= head->hot.top; frame++)
        if (!(frame->stat & HOTPATH_RECURSIVE_) && is_below(head, frame->node, node)) {
            count_open(head, frame->stat, 1);
            HOTPATH_PUT_(frame->stat, frame->stat | HOTPATH_RECURSIVE_);
        }
}

/*
 * A path that has no room in the tree: its site directly below <other>, or if even that fails <other> itself. What is
 * there has lost its callers, so it may be open elsewhere, and from then on everything counts its open calls.
 */
static uint32_t node_under_other(struct hp_head *head, uint32_t site, uint32_t stat)
{
    const uint32_t other = head->record->other;
    uint32_t node = child_of(head, other, site);
    lose(head, HP_LOSS_NODES);
    begin_recursion(head, head->record->root);
    if (node == 0)
        node = new_node(head, other, site, stat);
    return node != 0 ? node : other;
}

/* The node where `site` leads from `parent`; made if it is not there. In the worst case it is <other>. */
static uint32_t find_node(struct hp_head *head, uint32_t parent, uint32_t site)
{
    const uint32_t stat = stat_of(head, site);
    if (stat != 0)
        count_thread(head, stat_at(head, stat));
    uint32_t node = ancestor_of(head, parent, site);
    if (node != 0) {
        begin_recursion(head, node);
        return node;
    }
    if (!head->index_is_complete)
        node = child_of(head, parent, site);
    if (node == 0 && head->record->node_count < HP_MAX_NODES)
        node = new_node(head, parent, site, stat);
    return node != 0 ? node : node_under_other(head, site, stat);
}

/* The slot of (`parent`, `site`), made if it is not there; `spare` stands in when the index is full. */
static const struct hotpath_slot_ *slot_of(struct hp_head *head, uint32_t parent, uint32_t site,
                                           struct hotpath_slot_ *spare)
{
    const struct hotpath_slot_ *slot = find_slot(&head->hot, parent, site);
    if (slot->key != 0)
        return slot;
    spare->node = find_node(head, parent, site);
    spare->stat = node_at(head, spare->node)->stat;
    if (is_recursive(head, spare->node))
        spare->stat |= HOTPATH_RECURSIVE_;
    add_slot(head, parent, site, spare->node, spare->stat);
    return spare;
}

/* ------------------------------------------------------------------------------------- the stack of zones */

static void use_frames(struct hp_head *head, uint32_t offset, uint32_t capacity, uint32_t depth)
{
    struct hotpath_frame_ *frames = hp_store_at(head->store, offset);
    head->hot.top = frames + depth;
    head->hot.last = frames + capacity - 1;
    __atomic_store_n(&head->record->frames, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&head->record->frame_capacity, capacity, __ATOMIC_RELAXED);
}

static bool grow_frames(struct hp_head *head)
{
    const uint32_t capacity = head->record->frame_capacity;
    const uint32_t size = (uint32_t)sizeof(struct hotpath_frame_);
    if (capacity >= HP_MAX_FRAMES)
        return false;
    const uint32_t offset = hp_thread_allocate(head, capacity * 2 * size, 64);
    if (offset == 0)
        return false;
    memcpy(hp_store_at(head->store, offset), frame_zero(head), (size_t)capacity * size);
    use_frames(head, offset, capacity * 2, (uint32_t)(head->hot.top - frame_zero(head)));
    return true;
}

/* The frame of a guard among the `reach` innermost, or NULL. Frame 0 is the thread's own and has no guard. */
static struct hotpath_frame_ *find_frame(const struct hp_head *head, const struct hotpath_zone *zone, size_t reach)
{
    struct hotpath_frame_ *frame = head->hot.top;
    for (; frame > frame_zero(head) && reach > 0; frame--, reach--)
        if (frame->zone == (uintptr_t)zone)
            return frame;
    return NULL;
}

/* Takes one open call off the site; how many are left. */
static uint32_t close_call(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    return frame->stat & HOTPATH_RECURSIVE_ ? count_open(head, frame->stat, -1) : 0;
}

static void pop(struct hp_head *head, struct hotpath_frame_ *frame) { head->hot.top = frame - 1; }

/* The histogram counter for a duration, or NULL when there is no space for its octave. */
static uint64_t *counter_of(struct hp_head *head, struct hotpath_stat_ *stat, uint64_t ticks)
{
    const uint32_t octave = hotpath_octave_(ticks);
    if (stat->octaves[octave] == 0) {
        const uint32_t missing = octave == 0 ? 0 : 64 * sizeof(uint64_t);
        const uint32_t fresh = hp_thread_allocate(head, (octave == 0 ? 128 : 64) * sizeof(uint64_t), 64);
        if (fresh == 0)
            return NULL;
        __atomic_store_n(&stat->octaves[octave], fresh - missing, __ATOMIC_RELEASE);
    }
    return (uint64_t *)(void *)(head->hot.base + stat->octaves[octave]) + (ticks >> octave);
}

static void close_top(struct hp_head *head, uint64_t now)
{
    struct hotpath_frame_ *frame = head->hot.top;
    struct hotpath_node_ *node = node_at(head, frame->node);
    struct hotpath_stat_ *stat = stat_at(head, node->stat);
    uint64_t ticks = now - frame->start;
    if ((int64_t)ticks < 0) {
        lose(head, HP_LOSS_CLOCK);
        ticks = 0;
    }
    uint64_t *counter = counter_of(head, stat, ticks);
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    if (counter != NULL) {
        HOTPATH_ADD_(*counter, 1);
    } else {
        HOTPATH_ADD_(stat->missed, 1);
        lose(head, HP_LOSS_BUCKETS);
    }
    HOTPATH_ADD_(node->calls, 1);
    HOTPATH_ADD_(node->total, ticks);
    if (close_call(head, frame) != 0)
        HOTPATH_ADD_(node->nested, ticks);
    HOTPATH_ADD_(node->self, ticks - frame->child);
    HOTPATH_ADD_(frame[-1].child, ticks);
    if (ticks < stat->min)
        HOTPATH_PUT_(stat->min, ticks);
    if (ticks > stat->max)
        HOTPATH_PUT_(stat->max, ticks);
    HOTPATH_PUT_(frame->child, now);
    pop(head, frame);
}

/*
 * A zone whose end nobody announced. It ran at least until its last sign: when it began, or when the last zone inside it
 * ended, which stands in the frame above. So much is counted; what it did after that is the parent's.
 */
static void abandon_top(struct hp_head *head)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    uint64_t last_sign = frame->start;
    if (frame != head->hot.last && frame[1].zone == 0 && (int64_t)(frame[1].child - last_sign) > 0)
        last_sign = frame[1].child;
    close_top(head, last_sign);
    lose(head, HP_LOSS_ABANDONED);
}

/*
 * Two live guards cannot have one address: if this one is on the stack already, all from there up are dead. What
 * longjmp has just left is near the top; further down there may be thousands of suspended coroutines, and to look
 * through them all with every zone would cost more than a guard that is noticed later, when a zone around it ends.
 */
#define STALE_REACH 64u

static void drop_stale(struct hp_head *head, const struct hotpath_zone *zone)
{
    const struct hotpath_frame_ *stale = find_frame(head, zone, STALE_REACH);
    while (stale != NULL && head->hot.top >= stale)
        abandon_top(head);
}

void hp_zones_close_all(struct hp_head *head, uint64_t now)
{
    head->hot.ready = 0;
    HOTPATH_ORDER_();
    while (head->hot.top > frame_zero(head))
        close_top(head, now);
}

/* -------------------------------------------------------------------------------- beginning and resuming */

static void set_frame_zero(struct hp_head *head)
{
    struct hotpath_frame_ *zero = frame_zero(head);
    zero->zone = UINT64_MAX; /* every guard is below it */
    zero->start = hp_now();
    zero->child = 0;
    zero->node = head->record->root;
    head->hot.top = zero;
    head->skip_runs = 0;
}

bool hp_zones_begin(struct hp_head *head)
{
    struct hp_thread *record = head->record;
    head->hot.base = head->store->base;
    if (!empty_slots(head))
        return false;
    const uint32_t frames = hp_thread_allocate(head, HP_FIRST_FRAMES * (uint32_t)sizeof(struct hotpath_frame_), 64);
    if (frames == 0)
        return false;
    use_frames(head, frames, HP_FIRST_FRAMES, 0);
    head->index_is_complete = true;
    record->root = new_node(head, 0, HP_SITE_ROOT, new_stat(head, HP_SITE_ROOT));
    record->other = record->root ? new_node(head, record->root, HP_SITE_OTHER, new_stat(head, HP_SITE_OTHER)) : 0;
    if (record->other == 0)
        return false;
    set_frame_zero(head);
    return true;
}

bool hp_zones_resume(struct hp_head *head)
{
    if (!empty_slots(head))
        return false;
    head->index_is_complete = false;
    set_frame_zero(head);
    return true;
}

/* -------------------------------------------------------------------------------------- entering, leaving */

static bool is_on(const struct hp_head *head)
{
    return (HOTPATH_GATE_OF_(&head->hot) & ~HP_GATE_OUT_OF_LINE) == head->hot.epoch;
}

/* Zones that were open when recording was paused still end. */
static bool is_on_or_paused(const struct hp_head *head)
{
    return (HOTPATH_GATE_OF_(&head->hot) & ~(HP_GATE_OUT_OF_LINE | HP_GATE_PAUSED)) == head->hot.epoch;
}

static uintptr_t enter(struct hp_head *head, struct hotpath_zone *zone, uint32_t site)
{
    struct hotpath_head_ *hot = &head->hot;
    if ((uintptr_t)zone >= hot->top->zone)
        drop_stale(head, zone);
    if (hot->top == hot->last && !grow_frames(head)) {
        lose(head, HP_LOSS_DEPTH);
        return HOTPATH_SKIPPED_;
    }
    struct hotpath_slot_ spare;
    const struct hotpath_slot_ *slot = slot_of(head, hot->top->node, site, &spare);
    struct hotpath_frame_ *frame = hot->top + 1;
    if (slot->stat & HOTPATH_RECURSIVE_)
        count_open(head, slot->stat, 1);
    HOTPATH_PUT_(frame->child, 0);
    HOTPATH_PUT_(frame->node, slot->node);
    HOTPATH_PUT_(frame->stat, slot->stat);
    HOTPATH_PUT_(frame->start, hp_now());
    HOTPATH_PUT_(frame->zone, (uint64_t)(uintptr_t)zone);
    hot->top = frame;
    HOTPATH_PUT_(frame->start, hp_now());
    return (uintptr_t)hot;
}

/* The first head of this thread that nobody is working on: we may be in a handler that interrupted its owner. */
static struct hp_head *head_at_rest(struct hp_head *thread)
{
    struct hp_head *head = thread;
    for (int depth = 0; HOTPATH_GET_(head->hot.ready) == 0; depth++) {
        head = depth < HP_HANDLER_DEPTH ? hp_thread_handler_head(head) : NULL;
        if (head == NULL) {
            lose(thread, HP_LOSS_ZONES);
            return NULL;
        }
    }
    return head;
}

static uintptr_t enter_out_of_line(struct hotpath_zone *zone, struct hotpath_site *site)
{
    struct hp_head *head = hp_page() ? hp_thread_head() : NULL;
    if (head == NULL || !is_on(head))
        return HOTPATH_SKIPPED_;
    const uint32_t id = hp_site_id(site);
    if (id >= HOTPATH_READY_)
        return HOTPATH_SKIPPED_;
    head = head_at_rest(head);
    if (head == NULL)
        return HOTPATH_SKIPPED_;
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    uintptr_t state = HOTPATH_SKIPPED_;
    if (is_on(head))
        state = enter(head, zone, id);
    HOTPATH_ORDER_();
    HOTPATH_PUT_(head->hot.ready, HOTPATH_READY_);
    return state;
}

uintptr_t hotpath_v1_enter(struct hotpath_zone *zone, struct hotpath_site *site)
{
    const int saved = errno;
    const uintptr_t state = enter_out_of_line(zone, site);
    errno = saved;
    return state;
}

/*
 * Closes the zone if it is on this head's stack. A head that is being worked on is not ours to touch, with one
 * exception: a guard that is on its stack belongs to the code the handler interrupted, so whoever closes it is past the
 * handler, which must have been left by siglongjmp. Then nobody is working on the head any more.
 */
static bool leave(struct hp_head *head, const struct hotpath_zone *zone, uint64_t now)
{
    const struct hotpath_frame_ *frame = find_frame(head, zone, SIZE_MAX);
    if (frame == NULL)
        return false;
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    if (is_on_or_paused(head)) { /* asked again: the session may have ended since the frame was found */
        while (head->hot.top > frame)
            abandon_top(head);
        close_top(head, now);
    }
    HOTPATH_ORDER_();
    HOTPATH_PUT_(head->hot.ready, HOTPATH_READY_);
    return true;
}

static void leave_out_of_line(const struct hotpath_zone *zone, uint64_t now)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    /* A guard of another session, of the parent before fork, or never initialised: nothing to close here. */
    if (&head->hot == &hp_idle_head || head->thread_id == 0 || head->hot.epoch != hp_epoch() ||
        HOTPATH_GATE_OF_(&head->hot) == 0)
        return;
    for (struct hp_head *at = head; at != NULL; at = at->handler)
        if (at->record != NULL && at->hot.epoch == hp_epoch() && leave(at, zone, now))
            return;
    if (hp_thread_has_head(zone->state))
        lose(head, HP_LOSS_FOREIGN);
}

/* --- calls that hooks could not record: see struct hp_skip_run */

static struct hp_head *own_head(void)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    const bool is_ours = &head->hot != &hp_idle_head && head->thread_id != 0 && head->record != NULL &&
                         head->hot.epoch == hp_epoch() && HOTPATH_GET_(head->hot.ready) != 0;
    return is_ours ? head : NULL;
}

/* Forgets those that longjmp has left. */
static uint32_t settled_depth(struct hp_head *head)
{
    const uint32_t depth = (uint32_t)(head->hot.top - frame_zero(head));
    while (head->skip_runs > 0 && head->skips[head->skip_runs - 1].depth > depth)
        head->skip_runs--;
    return depth;
}

void hp_zone_skip(void)
{
    struct hp_head *head = own_head();
    if (head == NULL)
        return;
    const uint32_t depth = settled_depth(head);
    if (head->skip_runs > 0 && head->skips[head->skip_runs - 1].depth == depth)
        head->skips[head->skip_runs - 1].count++;
    else if (head->skip_runs < HP_SKIP_RUNS)
        head->skips[head->skip_runs++] = (struct hp_skip_run){depth, 1};
}

bool hp_zone_was_skipped(void)
{
    struct hp_head *head = own_head();
    if (head == NULL)
        return false;
    const uint32_t depth = settled_depth(head);
    if (head->skip_runs == 0 || head->skips[head->skip_runs - 1].depth != depth)
        return false;
    if (--head->skips[head->skip_runs - 1].count == 0)
        head->skip_runs--;
    return true;
}

/* A call that found no place at all is counted at <other>, which is nobody's. */
static const struct hotpath_frame_ *find_frame_of(const struct hp_head *head, uint32_t site)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    while (frame > frame_zero(head) && node_at(head, frame->node)->site != site &&
           frame->node != head->record->other)
        frame--;
    return frame > frame_zero(head) ? frame : NULL;
}

static bool leave_site(struct hp_head *head, uint32_t site, uint64_t now)
{
    if (HOTPATH_GET_(head->hot.ready) == 0)
        return false;
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    const struct hotpath_frame_ *frame = is_on_or_paused(head) ? find_frame_of(head, site) : NULL;
    if (frame != NULL) {
        while (head->hot.top > frame)
            abandon_top(head);
        close_top(head, now);
    }
    HOTPATH_ORDER_();
    HOTPATH_PUT_(head->hot.ready, HOTPATH_READY_);
    return frame != NULL;
}

void hp_zone_leave_site(uint32_t site, uint64_t now)
{
    const int saved = errno;
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    if (&head->hot != &hp_idle_head && head->thread_id != 0)
        for (struct hp_head *at = head; at != NULL; at = at->handler)
            if (at->record != NULL && at->hot.epoch == hp_epoch() && leave_site(at, site, now))
                break;
    errno = saved;
}

void hotpath_v1_leave(struct hotpath_zone *zone, uint64_t now)
{
    const int saved = errno;
    if (hp_runtime->counter == HP_COUNTER_NONE)
        now = hp_now();
    leave_out_of_line(zone, now);
    errno = saved;
}

/* ---------------------------------------------------------------------------------------- what a zone costs */

#define CALIBRATION_ZONES 100u
#define CALIBRATION_ROUNDS 24

/* A session in miniature, private to the measurement. Offsets count from its start. */
struct miniature {
    unsigned char unused[HOTPATH_GATE_];
    uint32_t gate;
    uint32_t also_unused[3];
    struct hotpath_node_ root, node;
    struct hotpath_stat_ stat;
    uint64_t octave[256];
    struct hotpath_frame_ frames[4];
    struct hotpath_slot_ slots[4];
    struct hotpath_head_ head;
    struct hotpath_site site;
};

#define OFFSET(member) ((uint32_t)offsetof(struct miniature, member))

static void build(struct miniature *mini)
{
    memset(mini, 0, sizeof *mini);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        mini->stat.octaves[octave] = OFFSET(octave); /* where it is counted does not matter */
    mini->frames[0].zone = UINT64_MAX;
    mini->frames[0].node = OFFSET(root);
    mini->gate = 1;
    mini->head = (struct hotpath_head_){.ready = HOTPATH_READY_,
                                        .epoch = 1,
                                        .top = mini->frames,
                                        .last = mini->frames + 3,
                                        .slots = mini->slots,
                                        .base = (char *)mini,
                                        .mask = 3 * sizeof(struct hotpath_slot_)};
    struct hotpath_slot_ *slot = hotpath_slot_of_(&mini->head, OFFSET(root), 0);
    slot->key = slot_key(OFFSET(root), 0);
    slot->node = OFFSET(node);
    slot->stat = OFFSET(stat);
}

/* Runs zones on the miniature; the time they took by the monotonic clock, and what they say of themselves in ticks. */
static void run_zones(struct miniature *mini, uint64_t *ret_ns, uint64_t *ret_ticks)
{
    mini->node.total = 0;
    const uint64_t from_ns = hp_clock_monotonic_ns();
    const uint64_t from = hotpath_ticks_();
    for (uint32_t zones = 0; zones < CALIBRATION_ZONES; zones++) {
        struct hotpath_zone zone = {hotpath_open_(&zone, &mini->site)};
        hotpath_close_(&zone);
    }
    *ret_ticks = hotpath_ticks_() - from;
    *ret_ns = hp_clock_monotonic_ns() - from_ns;
}

/* Zones that may not use the CPU's counter read the slower clock, twice each. */
static uint64_t extra_clock_ps(void)
{
    if (hp_runtime->counter != HP_COUNTER_NONE)
        return 0;
    const uint64_t from = hp_clock_monotonic_ns();
    for (int reads = 0; reads < 100; reads++)
        hp_clock_monotonic_ns();
    return (hp_clock_monotonic_ns() - from) * 1000 / 100;
}

/* Best of a few rounds, so that a page fault or a preempted round does not make every zone look dear. */
void hp_zones_calibrate(uint64_t *ret_cost_ps, uint64_t *ret_inner_ps)
{
    struct miniature mini;
    struct hotpath_head_ *before = hotpath_v1_head;
    build(&mini);
    hotpath_v1_head = &mini.head;
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < CALIBRATION_ROUNDS; round++) {
        uint64_t ns, ticks;
        run_zones(&mini, &ns, &ticks);
        if (ns >= best || ticks == 0)
            continue;
        best = ns;
        *ret_inner_ps = (uint64_t)((double)mini.node.total * (double)ns / (double)ticks * 1000 / CALIBRATION_ZONES);
    }
    hotpath_v1_head = before;
    *ret_cost_ps = best * 1000 / CALIBRATION_ZONES + 2 * extra_clock_ps();
    *ret_inner_ps += extra_clock_ps();
}
