/*
 * HOTPATH_CHANNEL_SENT and its siblings: traffic through queues, pipes and rings. Each event counts for the channel
 * at its address, or for its label as a whole if the channel has no record.
 *
 * The time that items spend inside is not measured per item: the sum of all times at which items came out, minus
 * the sum of the times at which they went in, is the time that all of them spent inside, in any order and on any
 * threads. The sums wrap; the difference is still right. Only percentiles need single items, identified by an id:
 * the send times of some of them are kept in a table shared by all threads until they are received.
 *
 * SPDX-License-Identifier: MIT
 */

#include "channel_kind.h"
#include "guards.h"
#include "instances.h"
#include "objects.h"
#include "thread_space.h"
#include "tick_rate.h"

static const struct hp_kind_type channel = {
    .name = "channel",
    .title = "Channel",
    .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE,
    .goes_on = true,
    HP_CHANNEL_FIELDS,
};

#define STAMPS_PER_MS 10u      /* at most this many items per thread and channel have their delay measured */
#define OLDEST_STAMP_MS 10000u /* after this the item is taken for lost */

/* One use of a macro. */
struct event {
    uint64_t items, bytes;
    int64_t length; /* negative: unknown */
    uint64_t id;    /* 0: none */
    enum hp_channel_counter what;
};

/* ------------------------------------------------------------------------------------------------- delays */

static struct hp_channel_stamp *stamps_at(const struct hp_instance_use *use, uint64_t offset)
{
    return (struct hp_channel_stamp *)(void *)(use->class_.context->hot.base + offset);
}

/* The channel's table, made by the first caller. NULL: no space. */
static struct hp_channel_stamp *stamps_of(const struct hp_instance_use *use)
{
    uint64_t *place = &hp_instance_object(use)->shared[HP_CHANNEL_STAMPS];
    uint64_t offset = __atomic_load_n(place, __ATOMIC_ACQUIRE), none = 0;
    if (__builtin_expect(offset == 0, 0)) {
        offset = hp_thread_allocate(use->class_.context, HP_STAMPS * sizeof(struct hp_channel_stamp), 64);
        if (offset == 0)
            return NULL;
        if (!__atomic_compare_exchange_n(place, &none, offset, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            offset = none; /* another thread was first */
    }
    return stamps_at(use, offset);
}

/* Valid keys are neither 0 (a free slot) nor BUSY. */
#define BUSY 1u
static uint64_t key_of(uint64_t id) { return id * UINT64_C(0x9e3779b97f4a7c15) | 2; }

static struct hp_channel_stamp *place_of(struct hp_channel_stamp *stamps, uint64_t key)
{
    return &stamps[key >> 32 & (HP_STAMPS - 1)];
}

/* The record may have belonged to another channel, whose items will not be received here. */
static bool is_of_another(const struct hp_instance_use *use, uint64_t sent)
{
    return sent < HOTPATH_GET_(hp_instance_object(use)->born);
}

/* A stamp that still waits for its item stays, unless it is very old: then the item was lost. */
static void put_stamp(const struct hp_instance_use *use, uint64_t id)
{
    struct hp_channel_stamp *stamps = stamps_of(use);
    if (stamps == NULL)
        return;
    const uint64_t key = key_of(id), now = use->class_.now;
    struct hp_channel_stamp *place = place_of(stamps, key);
    uint64_t found = HOTPATH_GET_(place->key);
    const uint64_t sent = HOTPATH_GET_(place->sent);
    if (found == BUSY || (found != 0 && !is_of_another(use, sent) &&
                          now - sent < OLDEST_STAMP_MS * hp_ticks_per_ms(use->class_.context)))
        return;
    if (!__atomic_compare_exchange_n(&place->key, &found, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    HOTPATH_PUT_(place->sent, now);
    __atomic_store_n(&place->key, key, __ATOMIC_RELEASE); /* pairs with take_stamp */
}

/* Whether the delay of an item sent now may be measured. */
static inline bool may_be_stamped(const struct hp_instance_use *use)
{
    return (use->class_.now - use->part->own) * STAMPS_PER_MS >= HOTPATH_GET_(hp_runtime->ticks_per_ms);
}

/* Rare cases get values, not the address of `use`, so that `use` stays in registers. Releases the context. */
static __attribute__((noinline)) void stamp_sent(struct hp_thread_context *context, struct hp_part *part,
                                                 uint64_t now, uint64_t id)
{
    if ((now - part->own) * STAMPS_PER_MS >= hp_ticks_per_ms(context)) {
        HOTPATH_PUT_(part->own, now);
        put_stamp(&(struct hp_instance_use){{context, NULL, now}, part}, id);
    }
    hp_context_let_go(&context->hot);
}

/* The stamp of an item, or NULL. */
static inline struct hp_channel_stamp *find_stamp(const struct hp_instance_use *use, uint64_t id)
{
    const uint64_t offset = __atomic_load_n(&hp_instance_object(use)->shared[HP_CHANNEL_STAMPS], __ATOMIC_ACQUIRE);
    if (offset == 0)
        return NULL;
    struct hp_channel_stamp *place = place_of(stamps_at(use, offset), key_of(id));
    return __atomic_load_n(&place->key, __ATOMIC_ACQUIRE) == key_of(id) ? place : NULL;
}

/* Releases the context. */
static __attribute__((noinline)) void take_stamp(struct hp_thread_context *context, struct hp_part *class_,
                                                 struct hp_part *part, uint64_t now, struct hp_channel_stamp *place,
                                                 uint64_t id)
{
    const struct hp_instance_use use = {{context, class_, now}, part};
    const uint64_t sent = HOTPATH_GET_(place->sent);
    uint64_t key = key_of(id);
    if (__atomic_compare_exchange_n(&place->key, &key, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        !is_of_another(&use, sent))
        hp_object_distribute(&use.class_, HP_CHANNEL_DELAYS, now > sent ? (double)(now - sent) : 0);
    hp_context_let_go(&context->hot);
}

/* ------------------------------------------------------------------------------------------------ counting */

static inline void count_out(struct hp_part *part, const struct event *event, uint64_t now)
{
    HOTPATH_ADD_(part->count[HP_CHANNEL_OUT_TICKS], now * event->items);
}

static inline __attribute__((always_inline)) void count_items(struct hp_part *part, const struct event *event,
                                                              uint64_t now)
{
    HOTPATH_ADD_(part->count[event->what], event->items);
    switch (event->what) {
    case HP_CHANNEL_SENT:
        HOTPATH_ADD_(part->count[HP_CHANNEL_SENT_BYTES], event->bytes);
        HOTPATH_ADD_(part->count[HP_CHANNEL_IN_TICKS], now * event->items);
        break;
    case HP_CHANNEL_RECEIVED:
        HOTPATH_ADD_(part->count[HP_CHANNEL_RECEIVED_BYTES], event->bytes);
        count_out(part, event, now);
        break;
    case HP_CHANNEL_DROPPED:
        count_out(part, event, now);
        break;
    default:
        break;
    }
    if (event->length > 0 && (uint64_t)event->length > part->count[HP_CHANNEL_MOST_INSIDE])
        HOTPATH_PUT_(part->count[HP_CHANNEL_MOST_INSIDE], (uint64_t)event->length);
}

static inline void meet(struct hp_part *part, const struct hp_object_use *use)
{
    hp_part_meet(part, use->now);
    HOTPATH_PUT_(part->node, use->context->hot.top->node);
}

/* Releases the context. */
static inline __attribute__((always_inline)) void record(const struct hp_instance_use *use,
                                                         const struct event *event)
{
    struct hp_part *part = use->part;
    const uint32_t sequence = hp_part_change(part);
    meet(part, &use->class_);
    HOTPATH_PUT_(part->last, 0); /* a thread that sends or receives no longer waits, however it left its wait */
    count_items(part, event, use->class_.now);
    hp_part_changed(part, sequence);
    const struct hp_object_use *class_ = &use->class_;
    if (event->id != 0 && event->what == HP_CHANNEL_SENT && __builtin_expect(may_be_stamped(use), 0)) {
        stamp_sent(class_->context, part, class_->now, event->id);
        return;
    }
    if (event->id != 0 && event->what == HP_CHANNEL_RECEIVED) {
        struct hp_channel_stamp *stamp = find_stamp(use, event->id);
        if (__builtin_expect(stamp != NULL, 0)) {
            take_stamp(class_->context, class_->part, part, class_->now, stamp, event->id);
            return;
        }
    }
    hp_object_end(class_);
}

static __attribute__((noinline)) void record_otherwise(struct hotpath_site *site, const void *address,
                                                       const struct event *event)
{
    struct hp_instance_use use;
    if (hp_instance_begin_out_of_line(site, &channel, address, &use))
        record(&use, event);
}

static __attribute__((noinline)) void send_otherwise(struct hotpath_site *site, const void *channel_,
                                                     uint64_t items, uint64_t bytes, int64_t length, uint64_t id)
{
    record_otherwise(site, channel_, &(struct event){items, bytes, length, id, HP_CHANNEL_SENT});
}

static __attribute__((noinline)) void receive_otherwise(struct hotpath_site *site, const void *channel_,
                                                        uint64_t items, uint64_t bytes, int64_t length, uint64_t id)
{
    record_otherwise(site, channel_, &(struct event){items, bytes, length, id, HP_CHANNEL_RECEIVED});
}

/* --------------------------------------------------------------------------------------- entry points of macros */

void hotpath_v1_channel_sent(struct hotpath_site *site, const void *channel_, uint64_t items, uint64_t bytes,
                             int64_t length, uint64_t id)
{
    struct hp_instance_use use;
    if (HOTPATH_LIKELY_(hp_instance_begin_cached(site, channel_, &use)))
        record(&use, &(struct event){items, bytes, length, id, HP_CHANNEL_SENT});
    else
        send_otherwise(site, channel_, items, bytes, length, id);
}

void hotpath_v1_channel_received(struct hotpath_site *site, const void *channel_, uint64_t items, uint64_t bytes,
                                 int64_t length, uint64_t id)
{
    struct hp_instance_use use;
    if (HOTPATH_LIKELY_(hp_instance_begin_cached(site, channel_, &use)))
        record(&use, &(struct event){items, bytes, length, id, HP_CHANNEL_RECEIVED});
    else
        receive_otherwise(site, channel_, items, bytes, length, id);
}

void hotpath_v1_channel_lost(struct hotpath_site *site, const void *channel_, uint64_t items, int was_inside)
{
    record_otherwise(site, channel_,
                     &(struct event){items, 0, -1, 0, was_inside ? HP_CHANNEL_DROPPED : HP_CHANNEL_REFUSED});
}

void hotpath_v1_channel_capacity(struct hotpath_site *site, const void *channel_, uint64_t capacity)
{
    struct hp_instance_use use;
    if (!hp_instance_begin(site, &channel, channel_, &use))
        return;
    HOTPATH_PUT_(use.part->count[HP_CHANNEL_CAPACITY], capacity);
    hp_object_end(&use.class_);
}

void hotpath_v1_channel_text(struct hotpath_site *site, const void *channel_, const char *format, ...)
{
    va_list arguments;
    (void)channel_;
    va_start(arguments, format);
    hp_object_tell(site, &channel, format, arguments);
    va_end(arguments);
}

/* If nothing is recorded, `since` stays 0, and the end of the wait does nothing. */
void hotpath_v1_channel_wait(struct hotpath_channel_wait_ *ret_wait, struct hotpath_site *site,
                             const void *channel_, int is_full)
{
    struct hp_instance_use use;
    if (!hp_instance_begin(site, &channel, channel_, &use))
        return;
    if (HOTPATH_LIKELY_(!hp_object_is_paused(&use.class_))) {
        const uint64_t now = use.class_.now;
        const uint32_t side = is_full ? HP_CHANNEL_FULL : HP_CHANNEL_EMPTY;
        *ret_wait = (struct hotpath_channel_wait_){site, channel_, now, side};
        hp_guard_open(ret_wait, now);
        const uint32_t sequence = hp_part_change(use.part);
        meet(use.part, &use.class_);
        HOTPATH_PUT_(use.part->flags, side);
        HOTPATH_PUT_(use.part->last, now);
        hp_part_changed(use.part, sequence);
    }
    hp_object_end(&use.class_);
}

void hotpath_v1_channel_waited(const struct hotpath_channel_wait_ *wait)
{
    struct hp_instance_use use;
    if (!hp_guard_close(wait, wait->since) || !hp_instance_begin(wait->site, &channel, wait->channel, &use))
        return;
    const bool is_full = wait->side == HP_CHANNEL_FULL;
    const uint64_t now = use.class_.now;
    const uint32_t sequence = hp_part_change(use.part);
    meet(use.part, &use.class_);
    HOTPATH_PUT_(use.part->last, 0);
    HOTPATH_ADD_(use.part->count[is_full ? HP_CHANNEL_FULL : HP_CHANNEL_EMPTY],
                 now > wait->since ? now - wait->since : 0);
    HOTPATH_ADD_(use.part->count[is_full ? HP_CHANNEL_FULL_WAITS : HP_CHANNEL_EMPTY_WAITS], 1);
    hp_part_changed(use.part, sequence);
    hp_object_end(&use.class_);
}

void hotpath_v1_channel_end(struct hotpath_site *site, const void *channel_)
{
    hp_instance_ended(site, &channel, channel_, 0);
}
