/*
 * HOTPATH_CHANNEL_SENT and its kin: what goes through queues, pipes and rings, whatever they are made of. Each use counts for
 * all channels of a label, and for the one at its address. SPDX-License-Identifier: MIT
 */
#include "instances.h"

enum counter { SENT, RECEIVED, INSIDE, SENT_BYTES, RECEIVED_BYTES, FULL, EMPTY, MOST_INSIDE };
enum { LENGTHS };

static const struct hp_kind_type channel = {
    .name = "channel",
    .title = "Channel",
    .flags = HP_KIND_BY_NAME,
    .counters = {[SENT] = {"sent", "Sent", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [RECEIVED] = {"received", "Received", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [INSIDE] = {"inside", "Inside", HOTPATH_UNIT_SIGNED_COUNT, HP_MERGE_SUM},
                 [SENT_BYTES] = {"sent_bytes", "Sent Bytes", HOTPATH_UNIT_BYTES, HP_MERGE_SUM},
                 [RECEIVED_BYTES] = {"received_bytes", "Received Bytes", HOTPATH_UNIT_BYTES, HP_MERGE_SUM},
                 [FULL] = {"full_ns", "Full", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [EMPTY] = {"empty_ns", "Empty", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [MOST_INSIDE] = {"max_length", "Max Length", HOTPATH_UNIT_COUNT, HP_MERGE_MOST}},
    .histograms = {[LENGTHS] = {"length", "Length", HOTPATH_UNIT_VALUE, HP_MERGE_SUM}},
};

/* What one use of a macro tells. */
struct event {
    uint64_t items, bytes;
    int64_t length;    /* below zero: not known */
    uint64_t since;    /* of a wait: when it began */
    enum counter side; /* SENT, RECEIVED, FULL, EMPTY */
};

static void pass(struct hp_part *part, const struct event *event)
{
    const bool is_sent = event->side == SENT;
    HOTPATH_ADD_(part->count[event->side], event->items);
    HOTPATH_ADD_(part->count[INSIDE], is_sent ? event->items : 0 - event->items);
    HOTPATH_ADD_(part->count[is_sent ? SENT_BYTES : RECEIVED_BYTES], event->bytes);
    if (event->length > 0 && (uint64_t)event->length > part->count[MOST_INSIDE])
        HOTPATH_PUT_(part->count[MOST_INSIDE], (uint64_t)event->length);
}

static void count(struct hp_part *part, const struct event *event, uint64_t now)
{
    if (part->first_tick == 0)
        HOTPATH_PUT_(part->first_tick, now);
    HOTPATH_PUT_(part->last_tick, now);
    if (event->side == SENT || event->side == RECEIVED)
        pass(part, event);
    else if (now > event->since)
        HOTPATH_ADD_(part->count[event->side], now - event->since);
}

static void record(struct hotpath_site *site, const void *address, const struct event *event)
{
    struct hp_instance_use use;
    if (!hp_instance_begin(site, &channel, address, &use))
        return;
    count(use.class_.part, event, use.class_.now);
    if (use.part != NULL)
        count(use.part, event, use.class_.now);
    if (event->length >= 0)
        hp_object_distribute(&use.class_, LENGTHS, (double)event->length);
    hp_object_end(&use.class_);
}

/* --------------------------------------------------------------------------------------------- what macros call */

void hotpath_v1_channel_sent(struct hotpath_site *site, const void *channel_, uint64_t items, uint64_t bytes,
                             int64_t length)
{
    record(site, channel_, &(struct event){.items = items, .bytes = bytes, .length = length, .side = SENT});
}

void hotpath_v1_channel_received(struct hotpath_site *site, const void *channel_, uint64_t items, uint64_t bytes,
                                 int64_t length)
{
    record(site, channel_, &(struct event){.items = items, .bytes = bytes, .length = length, .side = RECEIVED});
}

/* While nothing is recorded, `since` is 0, and the end of the wait is nothing, too. */
struct hotpath_channel_wait_ hotpath_v1_channel_wait(struct hotpath_site *site, const void *channel_, int is_full)
{
    struct hp_object_use use;
    struct hotpath_channel_wait_ wait = {site, channel_, 0, is_full ? FULL : EMPTY};
    if (hp_object_begin(site, &channel, &use)) {
        wait.since = use.now;
        hp_object_end(&use);
    }
    return wait;
}

void hotpath_v1_channel_waited(const struct hotpath_channel_wait_ *wait)
{
    if (wait->since != 0)
        record(wait->site, wait->channel,
               &(struct event){.since = wait->since, .length = -1, .side = (enum counter)wait->side});
}

void hotpath_v1_channel_end(struct hotpath_site *site, const void *channel_)
{
    hp_instance_end(site, &channel, channel_);
}
