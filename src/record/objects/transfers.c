/*
 * Channels that the program does not report: pipes, sockets between processes, eventfds, message queues. The
 * library that `hotpath run` preloads interposes the functions that move data through them, and reports the start
 * and end of each such call.
 *
 * Nothing tells whether a call has waited, and asking the kernel would cost more than most calls. But waiting takes
 * two context switches, so a call that took longer than moving its bytes takes has waited, and counts as a wait
 * with all its time. Not if it never waits: then it was slow, or the thread lost its CPU.
 *
 * SPDX-License-Identifier: MIT
 */
#include "channel_kind.h"
#include "deferral.h"
#include "hook_entries.h"
#include "instances.h"
#include "tick_rate.h"

#define WAIT_NS 5000u        /* a call that took longer has waited ... */
#define WAIT_BYTES_PER_NS 2u /* ... unless it moved that many bytes */
#define NS_PER_MS UINT64_C(1000000)

static const struct hp_kind_type kinds[] = {
    [HOTPATH_QUEUE_] = {.name = "queue",
                        .title = "Queue",
                        .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE | HP_KIND_FOUND,
                        .goes_on = true,
                        HP_CHANNEL_FIELDS},
    [HOTPATH_PIPE_] = {.name = "pipe",
                       .title = "Pipe",
                       .flags =
                           HP_KIND_BY_NAME | HP_KIND_OWN_TABLE | HP_KIND_FOUND | HP_KIND_OF_RUN | HP_KIND_BYTES,
                       .goes_on = true,
                       HP_CHANNEL_FIELDS},
    [HOTPATH_MESSAGES_] = {.name = "messages",
                           .title = "Messages",
                           .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE | HP_KIND_FOUND | HP_KIND_OF_RUN,
                           .goes_on = true,
                           HP_CHANNEL_FIELDS},
};

/* Only while recording: this must not count as an unrecorded zone (unrecorded.c). */
static inline bool begin(const struct hotpath_transfer_ *transfer, struct hp_instance_use *ret_use)
{
    return hp_has_session() &&
           hp_instance_begin(transfer->site, &kinds[transfer->kind], transfer->channel, ret_use);
}

static inline void meet(struct hp_part *part, const struct hp_object_use *use)
{
    hp_part_meet(part, use->now);
    HOTPATH_PUT_(part->node, use->context->hot.top->node);
}

void hotpath_v1_transfer(struct hotpath_transfer_ *transfer)
{
    struct hp_instance_use use;
    transfer->since = 0;
    if (!begin(transfer, &use))
        return;
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
    hp_object_end(&use.class_);
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
static inline void count_items(struct hp_part *part, const struct hotpath_transfer_ *transfer, uint64_t items,
                               uint64_t bytes, uint64_t moment)
{
    const bool is_sending = transfer->is_sending;
    HOTPATH_ADD_(part->count[is_sending ? HP_CHANNEL_SENT : HP_CHANNEL_RECEIVED], items);
    HOTPATH_ADD_(part->count[is_sending ? HP_CHANNEL_SENT_BYTES : HP_CHANNEL_RECEIVED_BYTES], bytes);
    if (!(kinds[transfer->kind].flags & HP_KIND_BYTES))
        HOTPATH_ADD_(part->count[is_sending ? HP_CHANNEL_IN_TICKS : HP_CHANNEL_OUT_TICKS], moment * items);
}

/*
 * What is sent can be received before the call returns, so it counts as sent at the call's start; if the call had
 * to wait for room, at its end.
 */
void hotpath_v1_transferred(const struct hotpath_transfer_ *transfer, uint64_t items, uint64_t bytes,
                            int is_refused)
{
    struct hp_instance_use use;
    if (transfer->since == 0 || !begin_again(transfer, &use))
        return;
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
        count_items(part, transfer, items, bytes, transfer->is_sending && !is_wait ? transfer->since : now);
    if (__builtin_expect(is_refused, 0))
        HOTPATH_ADD_(part->count[HP_CHANNEL_REFUSED], 1);
    hp_part_changed(part, sequence);
    use.class_.context->transfer = 0;
    hp_object_end(&use.class_);
}

void hotpath_v1_transfer_over(struct hotpath_site *site, const void *channel, int kind, uint64_t ns)
{
    if (HOTPATH_GET_(hp_runtime->gate) != 0 && HOTPATH_GET_(site->log) != 0)
        hp_instance_ended(site, &kinds[kind], channel, ns);
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
