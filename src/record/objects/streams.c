/*
 * HOTPATH_STREAM_NEXT and its siblings: what a generator, iterator or reader yields, and who takes the time: the
 * producer, from the request to the yield, or the consumer, from then to the next request.
 *
 * A stream is used by one thread at a time, though not always the same one. So the times that the next step needs
 * are kept in the object, with relaxed accesses; the program must order its steps anyway.
 * SPDX-License-Identifier: MIT
 */
#include "arith.h"
#include "instances.h"
#include "logs.h"
#include "object_layout.h"
#include "objects.h"

static const struct hp_kind_type stream = {
    .name = "stream",
    .title = "Stream",
    .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE,
    .goes_on = true, /* only to forget: see forget() */
    .counters = {[HP_STREAM_ITEMS] = {"items", "Items", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_STREAM_BYTES] = {"item_bytes", "Bytes", HOTPATH_UNIT_BYTES, HP_MERGE_SUM},
                 [HP_STREAM_GAPS] = {"gaps", "Gaps", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_STREAM_GAP] = {"gap_ns", "Gap", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [HP_STREAM_PRODUCED] = {"produced_ns", "Produced", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [HP_STREAM_CONSUMED] = {"consumed_ns", "Consumed", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [HP_STREAM_CONSUMED_ITEMS] = {"consumed", "Consumed Items", HOTPATH_UNIT_COUNT, HP_MERGE_SUM}},
    .histograms = {[HP_STREAM_GAP_TIMES] = {"gap", "Gap", HOTPATH_UNIT_NS, HP_MERGE_SUM}},
};

/* A stored time of this stream, or 0: the record may have belonged to another one. */
static uint64_t moment(const struct hp_object *object, uint32_t which)
{
    const uint64_t tick = HOTPATH_GET_(object->shared[which]);
    return tick >= HOTPATH_GET_(object->born) ? tick : 0;
}

static inline uint64_t *moments_of(const struct hp_instance_use *use) { return hp_instance_object(use)->shared; }

/* ----------------------------------------------------------------------------------------------------- counting */

/* The consumer has finished with the last item and wants more. */
static inline __attribute__((always_inline)) void end_consuming(const struct hp_instance_use *use)
{
    struct hp_object *object = hp_instance_object(use);
    struct hp_part *part = use->part;
    const uint64_t handed = moment(object, HP_STREAM_HANDED);
    if (handed == 0)
        return;
    const uint32_t sequence = hp_part_change(part);
    HOTPATH_ADD_(part->count[HP_STREAM_CONSUMED], hp_less(use->class_.now, handed));
    HOTPATH_ADD_(part->count[HP_STREAM_CONSUMED_ITEMS], HOTPATH_GET_(object->shared[HP_STREAM_HANDED_ITEMS]));
    hp_part_changed(part, sequence);
    HOTPATH_PUT_(object->shared[HP_STREAM_HANDED], 0);
}

/* Work that yields nothing is work, too. */
static void end_work(const struct hp_instance_use *use)
{
    struct hp_object *object = hp_instance_object(use);
    const uint64_t begun = moment(object, HP_STREAM_BEGUN);
    if (begun != 0 && begun != HOTPATH_GET_(object->shared[HP_STREAM_HANDED]))
        HOTPATH_ADD_(use->part->count[HP_STREAM_PRODUCED], hp_less(use->class_.now, begun));
    HOTPATH_PUT_(object->shared[HP_STREAM_BEGUN], 0);
    HOTPATH_PUT_(object->shared[HP_STREAM_GUARD], 0);
}

/*
 * While recording is paused, nothing is counted, and what the next step would need is dropped: the next item after
 * the pause has no gap before it. Releases the context. False: recording is not paused.
 */
static bool forget(const struct hp_instance_use *use)
{
    uint64_t *const moments = moments_of(use);
    if (HOTPATH_LIKELY_(!hp_object_is_paused(&use->class_)))
        return false;
    HOTPATH_PUT_(moments[HP_STREAM_BEGUN], 0);
    HOTPATH_PUT_(moments[HP_STREAM_LATEST], 0);
    HOTPATH_PUT_(moments[HP_STREAM_HANDED], 0);
    hp_object_end(&use->class_);
    return true;
}

static void count_gap(const struct hp_instance_use *use, uint64_t gap)
{
    HOTPATH_ADD_(use->part->count[HP_STREAM_GAPS], 1);
    HOTPATH_ADD_(use->part->count[HP_STREAM_GAP], gap);
    hp_object_distribute(&use->class_, HP_STREAM_GAP_TIMES, (double)gap);
}

static inline void count_item(const struct hp_instance_use *use, uint64_t items, uint64_t bytes)
{
    struct hp_part *part = use->part;
    hp_part_meet(part, use->class_.now);
    HOTPATH_PUT_(part->node, use->class_.context->hot.top->node);
    HOTPATH_ADD_(part->count[HP_STREAM_ITEMS], items);
    HOTPATH_ADD_(part->count[HP_STREAM_BYTES], bytes);
}

/* What the next step needs. A producer that yields more than once in a scope is at work again. */
static inline void hand_over(uint64_t *moments, uint64_t now, uint64_t items)
{
    HOTPATH_PUT_(moments[HP_STREAM_HANDED_ITEMS], items);
    HOTPATH_PUT_(moments[HP_STREAM_HANDED], now);
    HOTPATH_PUT_(moments[HP_STREAM_LATEST], now);
    if (HOTPATH_GET_(moments[HP_STREAM_BEGUN]) != 0)
        HOTPATH_PUT_(moments[HP_STREAM_BEGUN], now);
}

/* The number of items that the consumer has not finished yet. */
static uint64_t count_still_handed(const struct hp_object *object)
{
    return moment(object, HP_STREAM_HANDED) != 0 ? HOTPATH_GET_(object->shared[HP_STREAM_HANDED_ITEMS]) : 0;
}

static __attribute__((noinline)) void distribute_gap(struct hp_thread_context *context, struct hp_part *class_,
                                                     uint64_t gap)
{
    hp_object_distribute(&(struct hp_object_use){context, class_, 0}, HP_STREAM_GAP_TIMES, (double)gap);
    hp_context_let_go(&context->hot);
}

/*
 * Fast path: an earlier item was yielded, then this one was requested, and now it is there. False: nothing was
 * changed. Otherwise releases the context.
 */
static inline __attribute__((always_inline)) bool record_quickly(const struct hp_instance_use *use, uint64_t items,
                                                                 uint64_t bytes)
{
    uint64_t *const moments = moments_of(use);
    struct hp_part *part = use->part;
    const uint64_t now = use->class_.now, begun = HOTPATH_GET_(moments[HP_STREAM_BEGUN]),
                   latest = HOTPATH_GET_(moments[HP_STREAM_LATEST]);
    if (!HOTPATH_LIKELY_(latest >= HOTPATH_GET_(hp_instance_object(use)->born) && begun >= latest && now >= begun &&
                         HOTPATH_GET_(moments[HP_STREAM_HANDED]) == 0))
        return false;
    const uint32_t sequence = hp_part_change(part);
    count_item(use, items, bytes);
    HOTPATH_ADD_(part->count[HP_STREAM_PRODUCED], now - begun);
    HOTPATH_ADD_(part->count[HP_STREAM_GAPS], 1);
    HOTPATH_ADD_(part->count[HP_STREAM_GAP], now - latest);
    hp_part_changed(part, sequence);
    HOTPATH_PUT_(moments[HP_STREAM_HANDED_ITEMS], items);
    HOTPATH_PUT_(moments[HP_STREAM_HANDED], now);
    HOTPATH_PUT_(moments[HP_STREAM_LATEST], now);
    HOTPATH_PUT_(moments[HP_STREAM_BEGUN], now);
    uint64_t *step = hp_object_step(&use->class_, HP_STREAM_GAP_TIMES, now - latest);
    if (__builtin_expect(step == NULL, 0)) {
        distribute_gap(use->class_.context, use->class_.part, now - latest);
        return true;
    }
    HOTPATH_ADD_(*step, 1);
    hp_object_end(&use->class_);
    return true;
}

static __attribute__((noinline)) void log_item(const struct hp_instance_use *use, const void *stream_,
                                               uint64_t items, uint64_t bytes)
{
    struct hp_thread_context *context = use->class_.context;
    struct hp_log *log = hp_log_chosen(context, &use->class_.part->log);
    const uint64_t latest = moment(hp_instance_object(use), HP_STREAM_LATEST);
    if (log != NULL)
        hp_log_put(
            context, log,
            &(struct hp_log_record){.what = HP_RECORD_ITEM,
                                    .tick = use->class_.now,
                                    .ticks = latest != 0 ? hp_less(use->class_.now, latest) : HP_UNKNOWN_TICKS,
                                    .key = (uintptr_t)stream_,
                                    .bytes = bytes,
                                    .count = items,
                                    .node = context->hot.top->node},
            NULL, 0);
}

/* Any item. Releases the context. What it needs is in registers, so that others can end with a jump to it. */
static __attribute__((noinline)) void record_any(struct hp_thread_context *context, struct hp_part *class_part,
                                                 struct hp_part *part, uint64_t now, uint64_t items, uint64_t bytes)
{
    const struct hp_instance_use use = {{context, class_part, now}, part};
    struct hp_object *object = hp_instance_object(&use);
    const uint64_t begun = moment(object, HP_STREAM_BEGUN), latest = moment(object, HP_STREAM_LATEST);
    const uint32_t sequence = hp_part_change(part);
    count_item(&use, items, bytes);
    if (begun != 0)
        HOTPATH_ADD_(part->count[HP_STREAM_PRODUCED], hp_less(now, begun));
    if (latest != 0)
        count_gap(&use, hp_less(now, latest));
    hp_part_changed(part, sequence);
    hand_over(object->shared, now, count_still_handed(object) + items);
    hp_object_end(&use.class_);
}

static __attribute__((noinline)) void record_otherwise(struct hotpath_site *site, const void *stream_,
                                                       uint64_t items, uint64_t bytes)
{
    struct hp_instance_use use;
    if (!hp_instance_begin_out_of_line(site, &stream, stream_, &use) || forget(&use))
        return;
    if (hp_object_is_logged(HOTPATH_GET_(site->log)))
        log_item(&use, stream_, items, bytes);
    if (!record_quickly(&use, items, bytes))
        record_any(use.class_.context, use.class_.part, use.part, use.class_.now, items, bytes);
}

/* --------------------------------------------------------------------------------------- entry points of macros */

/*
 * The guard of a scope is known by its address, which the stream keeps inverted: no other word of a session looks
 * like that.
 */
static inline uint64_t name_of(const struct hotpath_stream_next_ *next) { return ~(uint64_t)(uintptr_t)next; }

/* Releases the context. */
static inline __attribute__((always_inline)) uint64_t ask(const struct hp_instance_use *use,
                                                          const struct hotpath_stream_next_ *next)
{
    const uint64_t place = (uint64_t)use->class_.context->hot.epoch << 32 | use->part->object;
    end_consuming(use);
    HOTPATH_PUT_(moments_of(use)[HP_STREAM_BEGUN], use->class_.now);
    HOTPATH_PUT_(moments_of(use)[HP_STREAM_GUARD], name_of(next));
    hp_object_end(&use->class_);
    return place;
}

static __attribute__((noinline)) uint64_t ask_otherwise(const struct hotpath_stream_next_ *next,
                                                        struct hotpath_site *site, const void *stream_)
{
    struct hp_instance_use use;
    if (!hp_instance_begin_out_of_line(site, &stream, stream_, &use) || forget(&use))
        return 0;
    return ask(&use, next);
}

/* 0: not recorded; the end of the scope does nothing, either. */
uint64_t hotpath_v1_stream_next(struct hotpath_stream_next_ *next, struct hotpath_site *site, const void *stream_)
{
    struct hp_instance_use use;
    if (HOTPATH_LIKELY_(hp_instance_begin_cached(site, stream_, &use)))
        return ask(&use, next);
    return ask_otherwise(next, site, stream_);
}

/*
 * The stream whose scope this guard is. NULL: none; the guard was jumped over and contains anything, or its scope
 * has ended. The caller holds the context, and `place` is of its session.
 */
static inline struct hp_object *stream_of(const struct hp_thread_context *context,
                                          const struct hotpath_stream_next_ *next, uint64_t place)
{
    char *const base = context->hot.base;
    const uint64_t used = __atomic_load_n(&((const struct hp_header *)(const void *)base)->used, __ATOMIC_RELAXED);
    const uint64_t offset = (uint32_t)place;
    struct hp_object *object = (struct hp_object *)(void *)(base + offset);
    if (__builtin_expect(offset % 64 != 0 || offset < HP_HEADER_BYTES || offset + sizeof *object > used, 0))
        return NULL;
    return HOTPATH_GET_(object->shared[HP_STREAM_GUARD]) == name_of(next) ? object : NULL;
}

/* Ends a scope; the caller holds the context. After a yield nothing more is counted. False: there was none. */
static inline bool end_scope(struct hp_object *object)
{
    uint64_t *moments = object->shared;
    const uint64_t begun = HOTPATH_GET_(moments[HP_STREAM_BEGUN]);
    if (__builtin_expect(begun != 0 && begun != HOTPATH_GET_(moments[HP_STREAM_HANDED]), 0))
        return false;
    HOTPATH_PUT_(moments[HP_STREAM_BEGUN], 0);
    HOTPATH_PUT_(moments[HP_STREAM_GUARD], 0);
    return true;
}

static __attribute__((noinline)) void end_otherwise(const struct hotpath_stream_next_ *next)
{
    const uint64_t place = next->place;
    struct hp_thread_context *context = hp_objects_hold();
    if (context == NULL)
        return;
    struct hp_object *object = place >> 32 == context->hot.epoch ? stream_of(context, next, place) : NULL;
    if (object != NULL && !end_scope(object)) {
        struct hp_instance_use use = {{context, NULL, hp_object_now()}, hp_instance_part_at(context, place)};
        if (use.part != NULL)
            end_work(&use);
    }
    hp_context_let_go(&context->hot);
}

void hotpath_v1_stream_nexted(const struct hotpath_stream_next_ *next)
{
    const uint64_t place = next->place;
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (HOTPATH_LIKELY_(!hp_context_is_held(&context->hot))) {
        bool is_done = false;
        hp_context_hold(&context->hot);
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(&context->hot) == place >> 32 && context->hot.epoch == place >> 32)) {
            struct hp_object *object = stream_of(context, next, place);
            is_done = object == NULL || end_scope(object);
        }
        hp_context_let_go(&context->hot);
        if (HOTPATH_LIKELY_(is_done))
            return;
    }
    end_otherwise(next);
}

void hotpath_v1_stream_item(struct hotpath_site *site, const void *stream_, uint64_t items, uint64_t bytes)
{
    struct hp_instance_use use;
    if (!HOTPATH_LIKELY_(hp_instance_begin_cached(site, stream_, &use))) {
        record_otherwise(site, stream_, items, bytes);
        return;
    }
    if (!HOTPATH_LIKELY_(record_quickly(&use, items, bytes)))
        record_any(use.class_.context, use.class_.part, use.part, use.class_.now, items, bytes);
}

void hotpath_v1_stream_text(struct hotpath_site *site, const void *stream_, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hp_object_tell(site, &stream, stream_, format, arguments);
    va_end(arguments);
}

/* It may end inside its producer's scope, which is then over. */
void hotpath_v1_stream_end(struct hotpath_site *site, const void *stream_)
{
    struct hp_instance_use use;
    if (stream_ == NULL || !hp_object_begin(site, &stream, &use.class_)) /* this tells the site its class */
        return;
    hp_object_end(&use.class_);
    if (hp_instance_begin_known(site, stream_, &use)) {
        end_work(&use);
        hp_object_end(&use.class_);
    }
    hp_instance_ended(site, &stream, stream_, 0);
}
