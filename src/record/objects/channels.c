/*
 * Channels: HOTPATH_CHANNEL_SENT and its siblings, for traffic through queues, pipes and rings, and channels that
 * the program does not report. Each event counts for the channel
 * at its address, or for its label as a whole if the channel has no record.
 *
 * The time that items spend inside is not measured per item: the sum of all times at which items came out, minus
 * the sum of the times at which they went in, is the time that all of them spent inside, in any order and on any
 * threads. The sums wrap; the difference is still right. Only percentiles need single items, identified by an id:
 * the send times of some of them are kept in a table shared by all threads until they are received.
 *
 * SPDX-License-Identifier: MIT
 */
#include "guards.h"
#include "hook_entries.h"
#include "instances.h"
#include "logs.h"
#include "no_session.h"
#include "object_layout.h"
#include "objects.h"
#include "paths.h"
#include "thread_context.h"

/* The counters of channels, reported by the program or found by interposition: see object_layout.h. */
#define CHANNEL_FIELDS                                                                                             \
    .counters = {[HP_CHANNEL_SENT] = {"sent", "Sent", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},                           \
                 [HP_CHANNEL_RECEIVED] = {"received", "Received", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},               \
                 [HP_CHANNEL_SENT_BYTES] = {"sent_bytes", "Sent Bytes", HOTPATH_UNIT_BYTES, HP_MERGE_SUM},         \
                 [HP_CHANNEL_RECEIVED_BYTES] = {"received_bytes", "Received Bytes", HOTPATH_UNIT_BYTES,            \
                                                HP_MERGE_SUM},                                                     \
                 [HP_CHANNEL_IN_TICKS] = {"in_ticks", "In", HOTPATH_UNIT_NS, HP_MERGE_SUM},                        \
                 [HP_CHANNEL_OUT_TICKS] = {"out_ticks", "Out", HOTPATH_UNIT_NS, HP_MERGE_SUM},                     \
                 [HP_CHANNEL_FULL] = {"full_ns", "Full", HOTPATH_UNIT_NS, HP_MERGE_SUM},                           \
                 [HP_CHANNEL_EMPTY] = {"empty_ns", "Empty", HOTPATH_UNIT_NS, HP_MERGE_SUM},                        \
                 [HP_CHANNEL_FULL_WAITS] = {"full_waits", "Full Waits", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},         \
                 [HP_CHANNEL_EMPTY_WAITS] = {"empty_waits", "Empty Waits", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},      \
                 [HP_CHANNEL_REFUSED] = {"refused", "Refused", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},                  \
                 [HP_CHANNEL_DROPPED] = {"dropped", "Dropped", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},                  \
                 [HP_CHANNEL_MOST_INSIDE] = {"max_queue", "Max Queue", HOTPATH_UNIT_COUNT, HP_MERGE_MOST},         \
                 [HP_CHANNEL_CAPACITY] = {"capacity", "Capacity", HOTPATH_UNIT_COUNT, HP_MERGE_MOST}},             \
    .histograms = {[HP_CHANNEL_DELAYS] = {"delay", "Delay", HOTPATH_UNIT_NS, HP_MERGE_SUM}}

static const struct hp_kind_type channel = {
    .name = "channel",
    .title = "Channel",
    .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE,
    .goes_on = true,
    CHANNEL_FIELDS,
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

/* One of the channel's tables, made by the first caller. NULL: no space. */
static struct hp_channel_stamp *stamps_of(const struct hp_instance_use *use, uint32_t which, uint32_t count)
{
    uint64_t *place = &hp_instance_object(use)->shared[which];
    uint64_t offset = __atomic_load_n(place, __ATOMIC_ACQUIRE), none = 0;
    if (__builtin_expect(offset == 0, 0)) {
        offset = hp_thread_allocate(use->class_.context, count * sizeof(struct hp_channel_stamp), 64);
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
    struct hp_channel_stamp *stamps = stamps_of(use, HP_CHANNEL_STAMPS, HP_STAMPS);
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

/* ---------------------------------------------------------------------------------------------- critical paths */

/* Who waits for items, or for room, is woken by what is sent or received: docs/critical-path.md. */

/* A channel without an address is the class: its number, which cannot be an address. */
static uint64_t path_object(const struct hotpath_site *site, const void *address, enum hp_path_place place)
{
    return hp_path_object(address != NULL ? address : (const void *)(uintptr_t)HOTPATH_GET_(site->log), place);
}

/* After an event, with the context held. */
static __attribute__((noinline)) void leave_path(struct hp_thread_context *context, const struct hotpath_site *site,
                                                 const void *address, enum hp_channel_counter what, uint64_t now)
{
    const bool is_sent = what == HP_CHANNEL_SENT;
    hp_path_leave_if_awaited(context, path_object(site, address, is_sent ? HP_PATH_CHANNEL : HP_PATH_CHANNEL_ROOM),
                             now);
}

/* A wait has ended. */
static __attribute__((noinline)) void take_path(struct hp_thread_context *context, const struct hotpath_site *site,
                                                uint64_t object, uint64_t since, uint64_t now)
{
    hp_path_awaited(context, object);
    hp_path_take(context, &(struct hp_path_end){.object = object,
                                                .since = since,
                                                .now = now,
                                                .kind = HOTPATH_PATH_CHANNEL_,
                                                .name = site->name != NULL ? site->name : ""});
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

/* ----------------------------------------------------------------------------------------------------- logging */

/*
 * The delay of each message of a logged label. Send times are in a table of the class, by id and channel, in sets
 * of WAYS: when more messages are inside than there is room for, the oldest are forgotten, and have no delay in the
 * log.
 */
#define LOG_STAMPS 4096u
#define WAYS 8u

static uint64_t log_key_of(uint64_t id, const void *address)
{
    return key_of(id ^ (uint64_t)(uintptr_t)address * UINT64_C(0xd6e8feb86659fd93));
}

/* The first place of a set. NULL: no space. */
static struct hp_channel_stamp *stamp_set(const struct hp_object_use *class_, uint64_t key)
{
    const struct hp_instance_use of_class = {*class_, class_->part};
    struct hp_channel_stamp *stamps = stamps_of(&of_class, HP_CHANNEL_LOG_STAMPS, LOG_STAMPS);
    return stamps != NULL ? &stamps[(key >> 32) % (LOG_STAMPS / WAYS) * WAYS] : NULL;
}

/* What is taken first: a free place, then the oldest message; never what is being written. */
static uint64_t rank_of(const struct hp_channel_stamp *place)
{
    const uint64_t key = HOTPATH_GET_(place->key);
    return key == 0 ? 0 : key == BUSY ? UINT64_MAX : HOTPATH_GET_(place->sent);
}

/* The place of this message, if it has one. */
static struct hp_channel_stamp *choose_place(struct hp_channel_stamp *set, uint64_t key)
{
    struct hp_channel_stamp *best = set;
    for (struct hp_channel_stamp *at = set; at < set + WAYS; at++) {
        if (HOTPATH_GET_(at->key) == key)
            return at;
        if (rank_of(at) < rank_of(best))
            best = at;
    }
    return best;
}

static void put_log_stamp(const struct hp_object_use *class_, uint64_t key)
{
    struct hp_channel_stamp *set = stamp_set(class_, key);
    struct hp_channel_stamp *place = set != NULL ? choose_place(set, key) : NULL;
    uint64_t found = place != NULL ? HOTPATH_GET_(place->key) : BUSY;
    if (found == BUSY ||
        !__atomic_compare_exchange_n(&place->key, &found, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    HOTPATH_PUT_(place->sent, class_->now);
    __atomic_store_n(&place->key, key, __ATOMIC_RELEASE); /* pairs with take_log_stamp */
}

/* The message's delay, once. */
static uint64_t take_log_stamp(const struct hp_object_use *class_, uint64_t key)
{
    struct hp_channel_stamp *set = stamp_set(class_, key);
    for (struct hp_channel_stamp *at = set; set != NULL && at < set + WAYS; at++) {
        uint64_t found = __atomic_load_n(&at->key, __ATOMIC_ACQUIRE);
        if (found != key)
            continue;
        const uint64_t sent = HOTPATH_GET_(at->sent);
        if (__atomic_compare_exchange_n(&at->key, &found, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return class_->now > sent ? class_->now - sent : 0;
    }
    return HP_UNKNOWN_TICKS;
}

static uint64_t delay_of(const struct hp_object_use *class_, const void *address, const struct event *event)
{
    if (event->id == 0)
        return HP_UNKNOWN_TICKS;
    const uint64_t key = log_key_of(event->id, address);
    if (event->what == HP_CHANNEL_RECEIVED || event->what == HP_CHANNEL_DROPPED)
        return take_log_stamp(class_, key);
    if (event->what == HP_CHANNEL_SENT)
        put_log_stamp(class_, key);
    return HP_UNKNOWN_TICKS;
}

static enum hp_record_what record_of(const struct event *event)
{
    switch (event->what) {
    case HP_CHANNEL_SENT:
        return HP_RECORD_SENT;
    case HP_CHANNEL_RECEIVED:
        return HP_RECORD_RECEIVED;
    case HP_CHANNEL_DROPPED:
        return HP_RECORD_DROPPED;
    default:
        return HP_RECORD_REFUSED;
    }
}

static __attribute__((noinline)) void log_event(const struct hp_object_use *class_, const void *address,
                                                const struct event *event)
{
    struct hp_log *log = hp_log_chosen(class_->context, &class_->part->log);
    const uint64_t delay = delay_of(class_, address, event);
    if (log != NULL)
        hp_log_put(class_->context, log,
                   &(struct hp_log_record){.what = (uint16_t)record_of(event),
                                           .tick = class_->now,
                                           .ticks = delay,
                                           .id = event->id,
                                           .key = (uintptr_t)address,
                                           .bytes = event->bytes,
                                           .count = event->items,
                                           .node = class_->context->hot.top->node},
                   NULL, 0);
}

/* Also wherever paths are followed: `ready` of a context. And what is logged: remember() of instances.c. */
static __attribute__((noinline)) void record_otherwise(struct hotpath_site *site, const void *address,
                                                       const struct event *event)
{
    struct hp_instance_use use;
    if (!hp_instance_begin_out_of_line(site, &channel, address, &use))
        return;
    if (hp_paths_are_on() && (event->what == HP_CHANNEL_SENT || event->what == HP_CHANNEL_RECEIVED))
        leave_path(use.class_.context, site, address, event->what, use.class_.now);
    if (hp_object_is_logged(HOTPATH_GET_(site->log)) && !hp_object_is_paused(&use.class_))
        log_event(&use.class_, address, event);
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
    va_start(arguments, format);
    hp_object_tell(site, &channel, channel_, format, arguments);
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
        if (hp_paths_are_on())
            hp_path_await(use.class_.context,
                          path_object(site, channel_, is_full ? HP_PATH_CHANNEL_ROOM : HP_PATH_CHANNEL));
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
    if (hp_paths_are_on())
        take_path(use.class_.context, wait->site,
                  path_object(wait->site, wait->channel, is_full ? HP_PATH_CHANNEL_ROOM : HP_PATH_CHANNEL),
                  wait->since, now);
    hp_object_end(&use.class_);
}

void hotpath_v1_channel_end(struct hotpath_site *site, const void *channel_)
{
    hp_instance_ended(site, &channel, channel_, 0);
}

/* -------------------------------------------------------------------- channels that the program does not report */

/*
 * Pipes, sockets between processes, eventfds, message queues. The
 * library that `hotpath run` preloads interposes the functions that move data through them, and reports the start
 * and end of each such call.
 *
 * Nothing tells whether a call has waited, and asking the kernel would cost more than most calls. But waiting takes
 * two context switches, so a call that took longer than moving its bytes takes has waited, and counts as a wait
 * with all its time. Not if it never waits: then it was slow, or the thread lost its CPU.
 */

#define WAIT_NS 5000u        /* a call that took longer has waited ... */
#define WAIT_BYTES_PER_NS 2u /* ... unless it moved that many bytes */
#define NS_PER_MS UINT64_C(1000000)

static const struct hp_kind_type kinds[] = {
    [HOTPATH_QUEUE_] = {.name = "queue",
                        .title = "Queue",
                        .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE | HP_KIND_FOUND,
                        .goes_on = true,
                        CHANNEL_FIELDS},
    [HOTPATH_PIPE_] = {.name = "pipe",
                       .title = "Pipe",
                       .flags =
                           HP_KIND_BY_NAME | HP_KIND_OWN_TABLE | HP_KIND_FOUND | HP_KIND_OF_RUN | HP_KIND_BYTES,
                       .goes_on = true,
                       CHANNEL_FIELDS},
    [HOTPATH_MESSAGES_] = {.name = "messages",
                           .title = "Messages",
                           .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE | HP_KIND_FOUND | HP_KIND_OF_RUN,
                           .goes_on = true,
                           CHANNEL_FIELDS},
};

/* Only while recording: this must not count as an unrecorded zone (no_session.c). */
static inline bool begin(const struct hotpath_transfer_ *transfer, struct hp_instance_use *ret_use)
{
    return hp_has_session() &&
           hp_instance_begin(transfer->site, &kinds[transfer->kind], transfer->channel, ret_use);
}

static uint64_t transfer_object(const struct hotpath_transfer_ *transfer, bool is_room)
{
    return path_object(transfer->site, transfer->channel, is_room ? HP_PATH_TRANSFER_ROOM : HP_PATH_TRANSFER);
}

/* What takes hundreds of bytes of stack, where threads wait for each other: not for the stack of the program. */
struct transfer_path {
    struct hp_thread_context *context;
    const struct hotpath_transfer_ *transfer;
    uint64_t now;
};

static void leave_aside(void *path)
{
    const struct transfer_path *leaving = path;
    const struct hotpath_transfer_ *transfer = leaving->transfer;
    hp_path_leave_if_awaited(leaving->context, transfer_object(transfer, !transfer->is_sending), leaving->now);
}

static void take_aside(void *path)
{
    const struct transfer_path *taking = path;
    const struct hotpath_transfer_ *transfer = taking->transfer;
    take_path(taking->context, transfer->site, transfer_object(transfer, transfer->is_sending), transfer->since,
              taking->now);
}

static __attribute__((noinline)) void leave_transfer(struct hp_thread_context *context,
                                                     const struct hotpath_transfer_ *transfer)
{
    hp_aside(leave_aside, &(struct transfer_path){context, transfer, transfer->since});
}

/* What the other side waits for is there soon after this, and before the call returns. Releases the context. */
static __attribute__((noinline)) void begin_on_path(struct hp_thread_context *context,
                                                    const struct hotpath_transfer_ *transfer)
{
    if (hp_path_is_awaited_by_others(context, transfer_object(transfer, !transfer->is_sending)))
        leave_transfer(context, transfer);
    if (!transfer->never_waits)
        hp_path_await(context, transfer_object(transfer, transfer->is_sending));
    hp_context_let_go(&context->hot);
}

/* The call has waited until then; 0: not at all. Releases the context. */
static __attribute__((noinline)) void end_on_path(struct hp_thread_context *context,
                                                  const struct hotpath_transfer_ *transfer, uint64_t waited_until)
{
    if (waited_until != 0)
        hp_aside(take_aside, &(struct transfer_path){context, transfer, waited_until});
    else if (!transfer->never_waits)
        hp_path_awaited(context, transfer_object(transfer, transfer->is_sending));
    hp_context_let_go(&context->hot);
}

/* The context, still held. NULL: nothing is recorded. */
static inline __attribute__((always_inline)) struct hp_thread_context *
begin_transfer(struct hotpath_transfer_ *transfer)
{
    struct hp_instance_use use;
    transfer->since = 0;
    if (!begin(transfer, &use))
        return NULL;
    transfer->since = use.class_.now;
    transfer->context = use.class_.context;
    transfer->epoch = use.class_.context->hot.epoch;
    transfer->part = (uint32_t)((const char *)use.part - use.class_.context->hot.base);
    const uint32_t sequence = hp_part_change(use.part);
    meet(use.part, &use.class_);
    if (!transfer->never_waits) {
        HOTPATH_PUT_(use.part->flags, transfer->is_sending ? HP_CHANNEL_FULL : HP_CHANNEL_EMPTY);
        HOTPATH_PUT_(use.part->last, transfer->since);
        use.class_.context->transfer = transfer->part;
    }
    hp_part_changed(use.part, sequence);
    return use.class_.context;
}

/* The stack of what is apart is free again while the path is left. */
static __attribute__((noinline)) struct hp_thread_context *begin_transfer_apart(struct hotpath_transfer_ *transfer)
{
    return begin_transfer(transfer);
}

static __attribute__((noinline)) void transfer_on_path(struct hotpath_transfer_ *transfer)
{
    struct hp_thread_context *context = begin_transfer_apart(transfer);
    if (context != NULL)
        begin_on_path(context, transfer); /* a jump */
}

void hotpath_v1_transfer(struct hotpath_transfer_ *transfer)
{
    if (hp_paths_are_on()) {
        transfer_on_path(transfer);
        return;
    }
    struct hp_thread_context *context = begin_transfer(transfer);
    if (context != NULL)
        hp_context_let_go(&context->hot);
}

/* Where it began, unless the session or the owner of the instance's record has changed. */
static inline bool begin_again(const struct hotpath_transfer_ *transfer, struct hp_instance_use *ret_use)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (HOTPATH_LIKELY_(context == transfer->context && !hp_context_is_held(&context->hot))) {
        hp_context_hold(&context->hot);
        if (HOTPATH_LIKELY_(hp_context_has_session(&context->hot) && context->hot.epoch == transfer->epoch)) {
            const uint64_t now = hp_object_now();
            struct hp_part *part = (struct hp_part *)(void *)(context->hot.base + transfer->part);
            *ret_use = (struct hp_instance_use){{context, part, now}, part};
            if (HOTPATH_LIKELY_(HOTPATH_GET_(hp_instance_object(ret_use)->generation) == part->generation))
                return true;
        }
        hp_context_let_go(&context->hot);
    }
    return begin(transfer, ret_use);
}

static inline bool has_waited(const struct hp_object_use *use, uint64_t took, uint64_t bytes)
{
    return took > (WAIT_NS + bytes / WAIT_BYTES_PER_NS) * hp_ticks_per_ms(use->context) / NS_PER_MS;
}

static void count_wait(struct hp_part *part, bool is_sending, uint64_t took)
{
    HOTPATH_ADD_(part->count[is_sending ? HP_CHANNEL_FULL : HP_CHANNEL_EMPTY], took);
    HOTPATH_ADD_(part->count[is_sending ? HP_CHANNEL_FULL_WAITS : HP_CHANNEL_EMPTY_WAITS], 1);
}

/* No times for bytes: those of one call may go in one by one, and come out in other calls. */
static inline void count_transfer(struct hp_part *part, const struct hotpath_transfer_ *transfer, uint64_t items,
                                  uint64_t bytes, uint64_t moment)
{
    const bool is_sending = transfer->is_sending;
    HOTPATH_ADD_(part->count[is_sending ? HP_CHANNEL_SENT : HP_CHANNEL_RECEIVED], items);
    HOTPATH_ADD_(part->count[is_sending ? HP_CHANNEL_SENT_BYTES : HP_CHANNEL_RECEIVED_BYTES], bytes);
    if (!(kinds[transfer->kind].flags & HP_KIND_BYTES))
        HOTPATH_ADD_(part->count[is_sending ? HP_CHANNEL_IN_TICKS : HP_CHANNEL_OUT_TICKS], moment * items);
}

/* A transfer that was counted: its context, still held (NULL: it was not), and until when it waited, else 0. */
struct counted_transfer {
    struct hp_thread_context *context;
    uint64_t waited_until;
};

/*
 * What is sent can be received before the call returns, so it counts as sent at the call's start; if the call had
 * to wait for room, at its end.
 */
static inline __attribute__((always_inline)) struct counted_transfer
count_ended(const struct hotpath_transfer_ *transfer, uint64_t items, uint64_t bytes, int is_refused)
{
    struct hp_instance_use use;
    if (transfer->since == 0 || !begin_again(transfer, &use))
        return (struct counted_transfer){NULL, 0};
    struct hp_part *part = use.part;
    const uint64_t now = use.class_.now, took = now > transfer->since ? now - transfer->since : 0;
    const bool is_wait =
        !transfer->never_waits && has_waited(&use.class_, took, bytes) && !hp_object_is_paused(&use.class_);
    const uint32_t sequence = hp_part_change(part);
    meet(part, &use.class_);
    HOTPATH_PUT_(part->last, 0);
    if (__builtin_expect(is_wait, 0))
        count_wait(part, transfer->is_sending, took);
    if (items != 0)
        count_transfer(part, transfer, items, bytes, transfer->is_sending && !is_wait ? transfer->since : now);
    if (__builtin_expect(is_refused, 0))
        HOTPATH_ADD_(part->count[HP_CHANNEL_REFUSED], 1);
    hp_part_changed(part, sequence);
    use.class_.context->transfer = 0;
    return (struct counted_transfer){use.class_.context, is_wait ? now : 0};
}

static __attribute__((noinline)) struct counted_transfer
count_ended_apart(const struct hotpath_transfer_ *transfer, uint64_t items, uint64_t bytes, int is_refused)
{
    return count_ended(transfer, items, bytes, is_refused);
}

static __attribute__((noinline)) void transferred_on_path(const struct hotpath_transfer_ *transfer, uint64_t items,
                                                          uint64_t bytes, int is_refused)
{
    const struct counted_transfer counted = count_ended_apart(transfer, items, bytes, is_refused);
    if (counted.context != NULL)
        end_on_path(counted.context, transfer, counted.waited_until); /* a jump */
}

void hotpath_v1_transferred(const struct hotpath_transfer_ *transfer, uint64_t items, uint64_t bytes,
                            int is_refused)
{
    if (hp_paths_are_on()) {
        transferred_on_path(transfer, items, bytes, is_refused);
        return;
    }
    const struct counted_transfer counted = count_ended(transfer, items, bytes, is_refused);
    if (counted.context != NULL)
        hp_context_let_go(&counted.context->hot);
}

void hotpath_v1_transfer_over(struct hotpath_site *site, const void *channel_, int kind, uint64_t ns)
{
    if (HOTPATH_GET_(hp_runtime->gate) != 0 && HOTPATH_GET_(site->log) != 0)
        hp_instance_ended(site, &kinds[kind], channel_, ns);
}

int hotpath_v1_transfer_has_session(void) { return HOTPATH_GET_(hp_runtime->gate) != 0; }

void hotpath_v1_transfer_prepare(const struct hotpath_transfer_ *transfer)
{
    struct hp_instance_use use;
    if (hotpath_v1_transfer_has_session() && begin(transfer, &use))
        hp_object_end(&use.class_);
}

/* Takes no lock: the recorder itself may be active. A vfork child has its own descriptors, but our memory. */
int hotpath_v1_transfer_may_look(void)
{
    return (HOTPATH_GET_(hp_runtime->gate) != 0 || hp_is_deferred()) && !hp_is_sealed() && hp_is_own_process();
}
