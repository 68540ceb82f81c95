/*
 * The call tree of a thread: which node a site leads to from where, and where its calls are counted.
 *
 * A node is a site below a parent; a stat is what the thread records about a site besides that. The index, a hash
 * table in the thread's private memory, maps (parent, site) to both, with flags for zones there (HOTPATH_FLAGS_).
 * Inline code reads it; everything else is done here.
 *
 * Recursion is folded: a site that is open already continues on its open node, so a tree is at most as deep as
 * there are sites. The count of open calls of a site tells inner calls from the outermost one, whose time alone is
 * the total. SPDX-License-Identifier: MIT
 */
#include "tree.h"

#include <string.h>

#include "memory.h"
#include "runtime.h"
#include "sites.h"
#include "thread_context.h"

#define MAX_NODES 65536u /* per thread; further paths go to <other> */
#define FIRST_SLOTS 256u
#define RESERVED_SLOTS 16384u /* with HOTPATH_RESERVE, when the index cannot grow */
#define FIRST_NODES 8u
#define MOST_NODES 512u /* per chunk */
/*
 * Private slots, which inline code does not look for. Those that lead to a stat have STAT_OF in place of the
 * parent. Those with KNOWN beside the parent lead to a node that is in the tree but was not called from there by
 * this thread, or that is a child of <other>.
 */
#define STAT_OF 1u
#define KNOWN 2u
#define IS_PRIVATE(parent) (((parent)&3u) != 0)
#define FOLDED 1u /* value of a node's is_folded */

/* ---------------------------------------------------------------------------------------- what is kept of calls */

static bool is_place(uint32_t site)
{
    return site != HP_SITE_ROOT && site != HP_SITE_OTHER && !hp_lane_is_suspended_site(site);
}

/* Not in handlers, which must be short. Not with time sampling: the trees of single calls would have holes. */
bool hp_call_log_may_follow(const struct hp_thread_context *context, uint32_t site)
{
    return is_place(site) && !context->is_handler && HOTPATH_GET_(hp_runtime->live_settings.time_period) <= 1 &&
           !hp_is_sealed();
}

/* What to keep of a site that is new to this thread. */
static uint32_t kept_from_start(const struct hp_thread_context *context, uint32_t site)
{
    if (!is_place(site))
        return 0;
    return (hp_site_is_logged(site) ? HP_KEEPS_LOG : 0) |
           (hp_call_log_may_follow(context, site) ? HP_KEEPS_SLOWEST : 0);
}

/* ------------------------------------------------------------------------------------------- the index */

static uint64_t slot_key(uint32_t parent, uint32_t site) { return (uint64_t)parent << 32 | site; }

/* The key without the bit that hides a slot from unsampled zones. */
static uint64_t plain_key(const struct hotpath_slot_ *slot) { return slot->key & ~HOTPATH_SAMPLED_KEY_; }

static uint32_t slot_total(const struct hotpath_context_ *hot)
{
    return hot->mask / (uint32_t)sizeof(struct hotpath_slot_) + 1;
}

static size_t slots_bytes(uint32_t total) { return (size_t)total * sizeof(struct hotpath_slot_); }

static void set_slots(struct hotpath_context_ *hot, struct hotpath_slot_ *slots, uint32_t total)
{
    hot->slots = slots;
    hot->mask = (total - 1) * (uint32_t)sizeof *slots;
}

static struct hotpath_slot_ *next_slot(const struct hotpath_context_ *hot, struct hotpath_slot_ *slot)
{
    return slot + 1 == hot->slots + slot_total(hot) ? hot->slots : slot + 1;
}

/*
 * The slot with the key, or the empty one where it belongs; there always is an empty one. Private slots stay out of
 * the rows, since inline code does not look for them. A slot never becomes empty again, so a search may stop at an
 * empty one.
 */
static struct hotpath_slot_ *find_slot(const struct hotpath_context_ *hot, uint32_t parent, uint32_t site)
{
    const uint64_t key = slot_key(parent, site);
    struct hotpath_slot_ *slot = hotpath_slot_of_(hot, parent, site);
    if (!IS_PRIVATE(parent) && (slot->key == 0 || plain_key(slot) == key))
        return slot;
    slot = hotpath_second_slot_of_(hot, key);
    while (slot->key != 0 && plain_key(slot) != key)
        slot = next_slot(hot, slot);
    return slot;
}

/* Moves the entry of `slot` to another place where it is found as well. False: there is none. */
static bool make_room(const struct hotpath_context_ *hot, const struct hotpath_slot_ *slot)
{
    struct hotpath_slot_ *other = hotpath_second_slot_of_(hot, plain_key(slot));
    const bool is_private = IS_PRIVATE((uint32_t)(slot->key >> 32)); /* found on the slow path wherever it is */
    while (is_private && other->key != 0)
        other = next_slot(hot, other);
    if (other->key != 0)
        return false;
    *other = *slot;
    return true;
}

/* The slot for a new key: if possible one of the two where inline code looks. */
static struct hotpath_slot_ *slot_for(const struct hotpath_context_ *hot, uint32_t parent, uint32_t site)
{
    struct hotpath_slot_ *slot = find_slot(hot, parent, site);
    struct hotpath_slot_ *first = hotpath_slot_of_(hot, parent, site);
    struct hotpath_slot_ *second = hotpath_second_slot_of_(hot, slot_key(parent, site));
    if (IS_PRIVATE(parent) || slot == first || slot == second)
        return slot;
    return make_room(hot, first) ? first : make_room(hot, second) ? second : slot;
}

static bool grow_slots(struct hp_thread_context *context)
{
    const uint32_t total = slot_total(&context->hot);
    struct hotpath_slot_ *old = context->hot.slots;
    struct hotpath_slot_ *bigger = hp_more_memory(slots_bytes(total * 4));
    if (bigger == NULL)
        return false;
    set_slots(&context->hot, bigger, total * 4);
    for (const struct hotpath_slot_ *slot = old; slot < old + total; slot++)
        if (slot->key != 0)
            *slot_for(&context->hot, (uint32_t)(slot->key >> 32), (uint32_t)plain_key(slot)) = *slot;
    hp_memory_unmap(old, slots_bytes(total));
    return true;
}

/*
 * Above a quarter full, inline code misses more often; above half full, the index stops taking entries rather than
 * filling up.
 */
static void add_slot(struct hp_thread_context *context, const struct hotpath_slot_ *added)
{
    const uint32_t parent = (uint32_t)(added->key >> 32), site = (uint32_t)plain_key(added);
    const uint32_t size = slot_total(&context->hot);
    if (context->slot_count + 1 > size / 4 && !grow_slots(context) && context->slot_count + 1 > size / 2) {
        context->index_is_complete = context->index_is_filled = false;
        return;
    }
    *slot_for(&context->hot, parent, site) = *added;
    context->slot_count++;
}

static bool empty_slots(struct hp_thread_context *context)
{
    struct hotpath_slot_ *slots = context->hot.slots;
    const uint32_t first = HOTPATH_GET_(hp_runtime->live_settings.reserve) ? RESERVED_SLOTS : FIRST_SLOTS;
    if (slots != NULL && slot_total(&context->hot) != first) {
        hp_memory_unmap(slots, slots_bytes(slot_total(&context->hot)));
        slots = NULL;
    }
    if (slots == NULL)
        slots = hp_more_memory(slots_bytes(first));
    else
        memset(slots, 0, slots_bytes(first));
    set_slots(&context->hot, slots, first);
    context->slot_count = 0;
    return slots != NULL;
}

/* -------------------------------------------------------------------------------------- stats and nodes */

static uint32_t new_stat(struct hp_thread_context *context, uint32_t site)
{
    /* Aligned, so that a short call needs one cache line of it: extremes and the first octaves. */
    const uint32_t offset = hp_thread_allocate(context, sizeof(struct hotpath_stat_), 64);
    if (offset == 0)
        return 0;
    struct hotpath_stat_ *stat = hp_store_at(context->store, offset);
    stat->site = site;
    stat->min = UINT64_MAX;
    stat->keeps = kept_from_start(context, site);
    const bool is_always_timed = stat->keeps & HP_KEEPS_LOG || hp_lane_is_suspended_site(site);
    stat->period = stat->countdown = is_always_timed ? 1 : HOTPATH_GET_(hp_runtime->live_settings.time_period);
    stat->next = context->record->stats;
    /* Release: a reader that finds the stat sees it complete. The same for nodes below. */
    __atomic_store_n(&context->record->stats, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&context->record->stat_count, context->record->stat_count + 1, __ATOMIC_RELAXED);
    return offset;
}

/* Not in the list: it counts nothing. Without space for it, nothing is kept of calls. */
void hp_tree_need_blank_stat(struct hp_thread_context *context)
{
    if (context->record->blank_stat != 0)
        return;
    const uint32_t offset = hp_thread_allocate(context, sizeof(struct hotpath_stat_), 64);
    __atomic_store_n(&context->record->blank_stat, offset, __ATOMIC_RELAXED);
}

uint64_t *hp_tree_counter(struct hp_thread_context *context, uint32_t octaves[HOTPATH_OCTAVES_], uint64_t value)
{
    const uint32_t octave = hotpath_octave_(value);
    if (octaves[octave] == 0) {
        const uint32_t missing = octave == 0 ? 0 : 64 * sizeof(uint64_t);
        const uint32_t fresh = hp_thread_allocate(context, (octave == 0 ? 128 : 64) * sizeof(uint64_t), 64);
        if (fresh == 0)
            return NULL;
        __atomic_store_n(&octaves[octave], fresh - missing, __ATOMIC_RELEASE);
    }
    return (uint64_t *)(void *)(context->hot.base + octaves[octave]) + (value >> octave);
}

static uint32_t listed_stat(struct hp_thread_context *context, uint32_t site)
{
    uint32_t offset = context->record->stats;
    for (; offset != 0 && hp_stat_at(context, offset)->site != site; context->steps++)
        offset = hp_stat_at(context, offset)->next;
    return offset;
}

static uint32_t stat_of(struct hp_thread_context *context, uint32_t site)
{
    const struct hotpath_slot_ *slot = find_slot(&context->hot, STAT_OF, site);
    if (slot->key != 0)
        return slot->node;
    uint32_t offset = context->index_is_complete || context->index_is_filled ? 0 : listed_stat(context, site);
    if (offset == 0)
        offset = new_stat(context, site);
    if (offset != 0 && hp_stat_log(hp_stat_at(context, offset)) != 0)
        hp_tree_need_blank_stat(context);
    if (offset != 0)
        add_slot(context, &(struct hotpath_slot_){.key = slot_key(STAT_OF, site), .node = offset});
    return offset;
}

static uint32_t new_chunk(struct hp_thread_context *context, uint32_t capacity)
{
    const uint32_t size = (uint32_t)(sizeof(struct hp_node_chunk) + capacity * sizeof(struct hotpath_node_));
    const uint32_t offset = hp_thread_allocate(context, size, 64);
    if (offset != 0)
        ((struct hp_node_chunk *)hp_store_at(context->store, offset))->capacity = capacity;
    return offset;
}

/*
 * Each chunk is twice as large as the one before, since readers scan large trees again and again and want nodes
 * side by side; smaller if little space is left. 0: no space.
 */
static uint32_t next_chunk(struct hp_thread_context *context, const struct hp_node_chunk *latest)
{
    const uint32_t capacity = latest == NULL                  ? FIRST_NODES
                              : latest->capacity < MOST_NODES ? 2 * latest->capacity
                                                              : MOST_NODES;
    const uint32_t offset = new_chunk(context, capacity);
    return offset != 0 || capacity == FIRST_NODES ? offset : new_chunk(context, FIRST_NODES);
}

/* The next free node, or 0. The caller raises the count in the chunk once the node is filled in. */
static uint32_t free_node(struct hp_thread_context *context, struct hp_node_chunk **ret_chunk)
{
    struct hp_thread *record = context->record;
    struct hp_node_chunk *chunk = record->node_chunks ? hp_store_at(context->store, record->node_chunks) : NULL;
    if (chunk == NULL || chunk->used == chunk->capacity) {
        const uint32_t offset = next_chunk(context, chunk);
        if (offset == 0)
            return 0;
        chunk = hp_store_at(context->store, offset);
        chunk->next = record->node_chunks;
        __atomic_store_n(&record->node_chunks, offset, __ATOMIC_RELEASE);
    }
    *ret_chunk = chunk;
    return (uint32_t)((char *)&chunk->nodes[chunk->used] - context->store->range.base);
}

static uint32_t new_node(struct hp_thread_context *context, uint32_t parent, uint32_t site, uint32_t stat)
{
    struct hp_node_chunk *chunk;
    const uint32_t offset = stat != 0 ? free_node(context, &chunk) : 0;
    if (offset == 0)
        return 0;
    struct hotpath_node_ *node = hp_store_at(context->store, offset);
    node->site = site;
    node->parent = parent;
    node->stat = stat;
    if (parent != 0) {
        node->next_sibling = hp_node_at(context, parent)->first_child;
        hp_node_at(context, parent)->first_child = offset;
    }
    __atomic_store_n(&chunk->used, chunk->used + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&context->record->node_count, context->record->node_count + 1, __ATOMIC_RELAXED);
    return offset;
}

/* The node of `site` among `parent` and its ancestors: the recursion continues there. */
static uint32_t ancestor_of(const struct hp_thread_context *context, uint32_t parent, uint32_t site)
{
    while (parent != 0 && hp_node_at(context, parent)->site != site)
        parent = hp_node_at(context, parent)->parent;
    return parent;
}

static uint32_t listed_child(struct hp_thread_context *context, uint32_t parent, uint32_t site)
{
    uint32_t child = hp_node_at(context, parent)->first_child;
    for (; child != 0 && hp_node_at(context, child)->site != site; context->steps++)
        child = hp_node_at(context, child)->next_sibling;
    return child;
}

/* An existing node that is not in a slot where inline code would find it. */
static uint32_t child_of(struct hp_thread_context *context, uint32_t parent, uint32_t site)
{
    const struct hotpath_slot_ *slot = find_slot(&context->hot, parent | KNOWN, site);
    if (slot->key != 0)
        return slot->node;
    return context->index_is_complete || context->index_is_filled ? 0 : listed_child(context, parent, site);
}

static void add_known(struct hp_thread_context *context, uint32_t parent, uint32_t site, uint32_t node)
{
    if (find_slot(&context->hot, parent, site)->key == 0)
        add_slot(context, &(struct hotpath_slot_){.key = slot_key(parent, site), .node = node});
}

/*
 * A thread that reuses another's record has an empty index, and finds nodes by walking lists. These may be long, so
 * after as many steps as there are nodes it puts all of them into the index at once, which takes no longer.
 */
static void fill_index(struct hp_thread_context *context)
{
    const struct hp_thread *record = context->record;
    context->steps = 0;
    context->index_is_filled = true;
    for (uint32_t at = record->stats; at != 0 && context->index_is_filled; at = hp_stat_at(context, at)->next)
        add_known(context, STAT_OF, hp_stat_at(context, at)->site, at);
    for (uint32_t at = record->node_chunks; at != 0 && context->index_is_filled;) {
        const struct hp_node_chunk *chunk = hp_store_at(context->store, at);
        for (uint32_t index = 0; index < chunk->used && context->index_is_filled; index++) {
            const struct hotpath_node_ *node = &chunk->nodes[index];
            if (node->parent != 0 && node->site != HP_SITE_OTHER)
                add_known(context, node->parent | KNOWN, node->site,
                          (uint32_t)((const char *)node - context->store->range.base));
        }
        at = chunk->next;
    }
}

/* A handler that interrupted the recorder runs on a thread that has its own record. */
static void count_thread(struct hp_thread_context *context, struct hotpath_stat_ *stat)
{
    if (context->is_handler || stat->generation == context->generation)
        return;
    stat->generation = context->generation;
    HOTPATH_PUT_(stat->threads, stat->threads + 1);
}

/* --- recursion: see HOTPATH_RECURSIVE_ */

static bool is_below(const struct hp_thread_context *context, uint32_t node, uint32_t ancestor)
{
    while (node != 0 && node != ancestor)
        node = hp_node_at(context, node)->parent;
    return node != 0;
}

bool hp_tree_is_recursive(const struct hp_thread_context *context, uint32_t node)
{
    for (; node != 0; node = hp_node_at(context, node)->parent)
        if (hp_node_at(context, node)->is_folded == FOLDED)
            return true;
    return false;
}

void hp_tree_recount(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    const uint32_t offset = hp_node_at(context, frame->node)->stat;
    uint32_t open = 0;
    for (const struct hotpath_frame_ *at = hp_frame_zero(context) + 1; at <= context->hot.top; at++)
        open += (at->stat & HOTPATH_RECURSIVE_) && hp_node_at(context, at->node)->stat == offset;
    HOTPATH_PUT_(hp_stat_at(context, offset)->open, open);
}

/* The stat of a node's calls, with the flags that apply to all of them now. */
static uint32_t slot_stat(const struct hp_thread_context *context, uint32_t offset)
{
    const struct hotpath_node_ *node = hp_node_at(context, offset);
    const struct hotpath_stat_ *stat = hp_stat_at(context, node->stat);
    const uint32_t blank = hp_stat_log(stat) != 0 ? context->record->blank_stat : 0;
    return (blank != 0 ? blank | HOTPATH_KEPT_ : node->stat) |
           (hp_tree_is_recursive(context, offset) ? HOTPATH_RECURSIVE_ : 0);
}

/* The longest call, by the clock, for which measuring takes more than the bound's share. */
static uint64_t longest_short_call(void)
{
    const uint64_t bound = HOTPATH_GET_(hp_runtime->live_settings.measuring_bound);
    const uint64_t inner = HOTPATH_GET_(hp_runtime->zone_cost.inner_ticks);
    return bound == 0 ? 0 : inner + hp_zone_ticks() * (100 - bound) / bound;
}

/*
 * Whether calls of a node are about that short; the same site may take longer elsewhere. Leaves room for some calls
 * during which the thread was preempted.
 */
#define FAR_LONGER 16u
static bool is_short_path(const struct hotpath_node_ *node)
{
    const uint64_t timed = node->calls - node->untimed;
    return timed == 0 || node->total / timed <= FAR_LONGER * longest_short_call();
}

/*
 * Not if calls are kept: those are timed, and the stat beside such a key must be the site's own. Nor on a path
 * where calls are longer than on the one for which the site was limited.
 */
static bool is_sampled(const struct hp_thread_context *context, uint32_t offset)
{
    const struct hotpath_node_ *node = hp_node_at(context, offset);
    const struct hotpath_stat_ *stat = hp_stat_at(context, node->stat);
    return stat->period > 1 && hp_stat_log(stat) == 0 && (stat->typical == 0 || is_short_path(node));
}

/* Sets the flags of a slot that has its node already. */
static void set_flags(const struct hp_thread_context *context, struct hotpath_slot_ *slot)
{
    const bool is = is_sampled(context, slot->node);
    slot->stat = slot_stat(context, slot->node) | (is ? HOTPATH_UNTIMED_ : 0);
    slot->key = plain_key(slot) | (is ? HOTPATH_SAMPLED_KEY_ : 0);
}

/* The first call that folds onto `node`: from now on open calls are counted for it and everything below it. */
static void begin_recursion(struct hp_thread_context *context, uint32_t node)
{
    struct hotpath_slot_ *slots = context->hot.slots;
    if (hp_tree_is_recursive(context, node))
        return;
    HOTPATH_PUT_(hp_node_at(context, node)->is_folded, FOLDED);
    context->folds++;
    for (struct hotpath_slot_ *slot = slots; slot < slots + slot_total(&context->hot); slot++)
        if (slot->key != 0 && slot->stat != 0 && is_below(context, slot->node, node))
            slot->stat |= HOTPATH_RECURSIVE_;
    for (struct hotpath_frame_ *frame = hp_frame_zero(context) + 1; frame <= context->hot.top; frame++)
        if (!(frame->stat & HOTPATH_RECURSIVE_) && is_below(context, frame->node, node)) {
            struct hotpath_stat_ *stat = hp_stat_at(context, hp_node_at(context, frame->node)->stat);
            HOTPATH_PUT_(stat->open, stat->open + 1);
            HOTPATH_PUT_(frame->stat, frame->stat | HOTPATH_RECURSIVE_);
        }
}

/*
 * For a path that does not fit into the tree: its site directly below <other>, or if even that fails <other>
 * itself. It has lost its callers, so it may be open elsewhere, and from then on all open calls are counted.
 */
static uint32_t node_under_other(struct hp_thread_context *context, uint32_t site, uint32_t stat)
{
    const uint32_t other = context->record->other;
    uint32_t node = child_of(context, other, site);
    hp_lose(context, HP_LOSS_NODES);
    begin_recursion(context, context->record->root);
    if (node == 0)
        node = new_node(context, other, site, stat);
    if (node != 0)
        add_known(context, other | KNOWN, site, node);
    return node != 0 ? node : other;
}

/* The node that `site` leads to from `parent`; made if missing. In the worst case it is <other>. */
static uint32_t find_node(struct hp_thread_context *context, uint32_t parent, uint32_t site)
{
    const uint32_t stat = stat_of(context, site);
    if (stat != 0)
        count_thread(context, hp_stat_at(context, stat));
    uint32_t node = ancestor_of(context, parent, site);
    if (node != 0) {
        begin_recursion(context, node);
        return node;
    }
    if (!context->index_is_complete)
        node = child_of(context, parent, site);
    if (node == 0 && context->record->node_count < MAX_NODES)
        node = new_node(context, parent, site, stat);
    return node != 0 ? node : node_under_other(context, site, stat);
}

const struct hotpath_slot_ *hp_tree_slot(struct hp_thread_context *context, uint32_t parent, uint32_t site,
                                         struct hotpath_slot_ *spare)
{
    /* With `reserve` the index cannot grow. */
    if (context->steps > context->record->node_count && !HOTPATH_GET_(hp_runtime->live_settings.reserve))
        fill_index(context);
    const struct hotpath_slot_ *slot = find_slot(&context->hot, parent, site);
    if (slot->key != 0)
        return slot;
    if (__builtin_expect(context->is_named_early, 0))
        hp_thread_note_name(context);
    spare->node = find_node(context, parent, site);
    spare->key = slot_key(parent, site);
    set_flags(context, spare);
    add_slot(context, spare);
    /* The first call on a path is timed. */
    HOTPATH_PUT_(hp_stat_at(context, hp_node_at(context, spare->node)->stat)->countdown, 1);
    return spare;
}

void hp_tree_refresh(struct hp_thread_context *context, uint32_t parent, uint32_t node)
{
    struct hotpath_slot_ *slot = find_slot(&context->hot, parent, hp_node_at(context, node)->site);
    if (slot->key == 0)
        return;
    set_flags(context, slot);
}

/* ------------------------------------------------------------------------------------------- beginning */

bool hp_tree_begin(struct hp_thread_context *context)
{
    struct hp_thread *record = context->record;
    if (!empty_slots(context))
        return false;
    context->index_is_complete = true;
    context->index_is_filled = false;
    context->steps = 0;
    record->root = new_node(context, 0, HP_SITE_ROOT, new_stat(context, HP_SITE_ROOT));
    record->other =
        record->root ? new_node(context, record->root, HP_SITE_OTHER, new_stat(context, HP_SITE_OTHER)) : 0;
    return record->other != 0;
}

bool hp_tree_resume(struct hp_thread_context *context)
{
    context->index_is_complete = context->index_is_filled = false;
    context->steps = 0;
    return empty_slots(context);
}

/* -------------------------------------------------------------------------------------------------- short calls */

/*
 * Calls too short to be timed each time. If measuring takes more than the bound's share of a function's calls, they
 * are counted, and one is timed now and then; if these get long, all calls are timed again.
 */

/* One call in this many is timed, so that the report has a basis. */
#define LIMITED_PERIOD 256u
/*
 * If a call appears longer than this many short ones, too little would remain after subtracting the cost of
 * measuring to be sure.
 */
#define MOST_MEASURING 5u

static const uint64_t *counters_of(const struct hp_thread_context *context, const struct hotpath_stat_ *stat,
                                   uint32_t octave)
{
    return (const uint64_t *)(const void *)(context->hot.base + stat->octaves[octave]);
}

static uint64_t duration_count(const struct hp_thread_context *context, const struct hotpath_stat_ *stat)
{
    uint64_t count = 0;
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        for (uint32_t at = octave == 0 ? 0 : 64; stat->octaves[octave] != 0 && at < 128; at++)
            count += counters_of(context, stat, octave)[at];
    return count;
}

/*
 * The mean duration of the site's calls, in 1/256 ticks, as timed by this thread. Leaves out the longest in 64: a
 * few calls during which the thread was preempted would make all of them long.
 */
#define LEFT_OUT 64u
static uint64_t usual_call(const struct hp_thread_context *context, const struct hotpath_stat_ *stat)
{
    const uint64_t all = duration_count(context, stat), most = all - all / LEFT_OUT;
    uint64_t count = 0, ticks = 0;
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        for (uint64_t at = octave == 0 ? 0 : 64; stat->octaves[octave] != 0 && at < 128; at++) {
            const uint64_t here = counters_of(context, stat, octave)[at],
                           taken = here < most - count ? here : most - count;
            count += taken;
            ticks += taken * ((at << octave) + (UINT64_C(1) << octave) / 2);
        }
    return count > 0 ? ticks * 256 / count : UINT64_MAX;
}

/*
 * The cost of measuring inside a call, in 1/256 ticks: so far, and the part of it that is saved from now on, since
 * less is timed.
 */
struct inside {
    uint64_t cost, saved;
};

static uint64_t function_price(uint64_t ps)
{
    const struct hp_zone_cost *cost = &hp_runtime->zone_cost;
    return HOTPATH_GET_(cost->ps) > 0 ? ps * 256 * HOTPATH_GET_(cost->ticks) / HOTPATH_GET_(cost->ps) : 0;
}

static uint32_t next_below(const struct hp_thread_context *context, uint32_t top, uint32_t at)
{
    if (hp_node_at(context, at)->first_child != 0)
        return hp_node_at(context, at)->first_child;
    while (at != top && hp_node_at(context, at)->next_sibling == 0)
        at = hp_node_at(context, at)->parent;
    return at != top ? hp_node_at(context, at)->next_sibling : 0;
}

/*
 * A short call has little inside. If there may be more, the cost inside counts as zero, and the call as long as it
 * appears.
 */
#define NODES_INSIDE 64u
static struct inside look_inside(const struct hp_thread_context *context, uint32_t top)
{
    const uint64_t timed_price = function_price(HOTPATH_GET_(hp_runtime->zone_cost.function_ps));
    const uint64_t price = function_price(HOTPATH_GET_(hp_runtime->zone_cost.function_counted_ps));
    const uint64_t calls = hp_node_at(context, top)->calls;
    struct inside sum = {0, 0};
    uint32_t nodes = 0;
    for (uint32_t at = next_below(context, top, top); at != 0; at = next_below(context, top, at)) {
        const struct hotpath_node_ *node = hp_node_at(context, at);
        const uint64_t timed = node->calls - node->untimed;
        if (++nodes > NODES_INSIDE || node->is_folded)
            return (struct inside){0, 0};
        sum.cost += timed * timed_price + node->untimed * price;
        if (hp_stat_at(context, node->stat)->period > 1 && timed_price > price)
            sum.saved += timed * (timed_price - price);
    }
    return (struct inside){sum.cost / calls, sum.saved / calls};
}

/*
 * Compares the cost of measuring with the duration of a call without the cost inside it, which may be most of it.
 * From then on untimed calls count as `typical`.
 */
void hp_tree_limit(struct hp_thread_context *context, uint32_t parent, uint32_t node)
{
    const struct hotpath_node_ *counted = hp_node_at(context, node);
    struct hotpath_stat_ *stat = hp_stat_at(context, counted->stat);
    const struct hp_live_settings *live_settings = &hp_runtime->live_settings;
    const bool is_bound =
        HOTPATH_GET_(live_settings->measuring_bound) != 0 && HOTPATH_GET_(live_settings->time_period) <= 1;
    if (!is_bound || hp_stat_log(stat) != 0 || !is_short_path(counted))
        return;
    if (stat->period <= 1) {
        const uint64_t usual = usual_call(context, stat), most = longest_short_call() * 256;
        if (usual > MOST_MEASURING * most)
            return;
        const struct inside inside = counted->is_folded ? (struct inside){0, 0} : look_inside(context, node);
        if (usual > most + inside.cost)
            return;
        HOTPATH_PUT_(stat->typical, (uint32_t)(usual > inside.saved ? usual - inside.saved : 0) + 1);
        HOTPATH_PUT_(stat->period, LIMITED_PERIOD);
        HOTPATH_PUT_(stat->countdown, hotpath_until_timed_(counted->calls, LIMITED_PERIOD));
    }
    hp_tree_refresh(context, parent, node);
}

/*
 * One long call may be an accident, so the next one is timed, too; three in a row are not. A call is long if it
 * takes many zones' cost more than a call did when it was found to be short, including the measuring inside it.
 */
#define LONG_CALLS 3u
#define LONG_ZONES 8u

void hp_tree_review(struct hp_thread_context *context, uint32_t node, uint64_t ticks)
{
    struct hotpath_stat_ *stat = hp_stat_at(context, hp_node_at(context, node)->stat);
    if (stat->typical == 0 || stat->period <= 1)
        return;
    const uint64_t most = LONG_ZONES * hp_zone_ticks() + stat->typical / 256;
    stat->long_calls = ticks > most ? stat->long_calls + 1 : 0;
    if (stat->long_calls > 0)
        HOTPATH_PUT_(stat->countdown, 1);
    if (stat->long_calls >= LONG_CALLS)
        HOTPATH_PUT_(stat->period, 1);
}
