/*
 * The section `channels`: what goes through queues, pipes and rings, how full they are, and which side waits for
 * the other. docs/channels.md describes each number. SPDX-License-Identifier: MIT
 */
#include "channel_profile.h"
#include "object_rows.h"
#include "section.h"
#include "value_profile.h"

enum { PIPES = HP_FACT_OWN, QUEUES = HP_FACT_OWN << 1 }; /* byte channels, and others */

struct view {
    struct hp_object_rows rows;
    struct hp_channel channel; /* of the row being filled */
    uint64_t delays;           /* of it; how many were measured */
    bool has_unseen;           /* bytes came out that were not seen to go in */
    bool has_excess;           /* the same for items */
};

static bool is_bytes(const struct hp_object_record *record) { return record->kind.flags & HP_KIND_BYTES; }

/* ------------------------------------------------------------------------------------------------- texts */

/* A process that has ended has no pipes or sockets open. */
static bool is_over(const struct hp_object_record *record)
{
    return record->kind.flags & HP_KIND_OF_RUN && !record->session->is_live;
}

static bool has_ended(const struct hp_object_entry *entry)
{
    uint64_t instances = 0, ended = 0;
    for (const struct hp_object_record *record = entry->record; record != NULL; record = record->next) {
        const bool is_end = entry->is_instance && record->object.state == HP_OBJECT_ENDED;
        const uint64_t its = entry->is_instance ? 1 : record->object.instances;
        instances += its;
        ended += is_over(record) ? its : entry->is_instance ? is_end : record->object.ended_count;
    }
    return instances > 0 && ended >= instances;
}

/* The total capacity of several channels is unknown. */
static const char *state_of(const struct hp_object_entry *entry, const struct hp_channel *channel)
{
    const uint64_t capacity = entry->sums.count[HP_CHANNEL_CAPACITY];
    const bool is_one = entry->is_instance || entry->record->members == NULL ||
                        (entry->record->next == NULL && entry->record->object.instances == 1);
    if (has_ended(entry))
        return "closed";
    if (channel->full.waiting > 0 || (is_one && capacity != 0 && channel->inside >= capacity))
        return "full";
    return channel->inside == 0 && channel->has_senders && channel->has_receivers ? "empty" : "open";
}

/* ------------------------------------------------------------------------------------------------- section */

static bool has_both_sides(const struct hp_channel *channel)
{
    return channel->has_senders && channel->has_receivers;
}

/* False: no memory. */
static bool begin_row(struct view *view, struct hp_row *row, const struct hp_object_entry *entry)
{
    const uint64_t *count = entry->sums.count;
    struct hp_channel *channel = &view->channel;
    if (entry->is_other)
        hp_channel_of_rest(entry->record, count, channel);
    else if (!hp_channel_of(view->rows.results->model->arena, entry->record, count, channel))
        return false;
    view->delays = 0;
    if (!entry->is_instance) {
        hp_object_distribution_of(entry->record, HP_CHANNEL_DELAYS, view->rows.distribution);
        view->delays = hp_distribution_count(view->rows.distribution);
    }
    view->has_unseen |= is_bytes(entry->record) && channel->has_senders && has_ended(entry) &&
                        count[HP_CHANNEL_RECEIVED_BYTES] > count[HP_CHANNEL_SENT_BYTES];
    view->has_excess |= channel->has_excess;
    row->id = hp_object_identity(entry);
    row->is_open = (channel->inside > 0 || channel->full.waiting > 0 || channel->empty.waiting > 0) &&
                   !(entry->record->kind.flags & HP_KIND_OF_RUN && has_ended(entry));
    row->is_sampled = view->delays > 0 && view->delays < count[HP_CHANNEL_RECEIVED];
    return true;
}

static void fields(struct hp_fields *to, void *of, const void *what)
{
    struct view *view = of;
    const struct hp_object_entry *entry = what;
    to->is_out_of_memory |= to->row != NULL && !begin_row(view, to->row, entry);
    if (to->is_out_of_memory)
        return;
    HP_FIELD(to, entry->record->name, "name", "Channel", TEXT, HP_COLUMN_FIRST);
    hp_object_put_instance(to, entry);
    HP_FIELD(to, entry->is_other ? NULL : state_of(entry, &view->channel), "state", "State", TEXT,
             HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "closed: it has ended; full: a sender waits, or the queue is at its capacity; empty: the queue is "
             "empty; open: anything else.",
             .words = "open|closed|full|empty");
    HP_FIELD_IF(to, view->channel.has_senders, entry->sums.count[HP_CHANNEL_SENT], "sent", "Sent", COUNT,
                HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
                "Items sent; for pipes and sockets, calls that wrote something. null: no sender was seen.");
    HP_FIELD_IF(to, view->channel.has_receivers, entry->sums.count[HP_CHANNEL_RECEIVED], "received", "Received",
                COUNT, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
                "Items received; for pipes and sockets, calls that read something. null: no receiver was seen.");
    HP_FIELD_IF(to, view->channel.has_senders, entry->sums.count[HP_CHANNEL_SENT_BYTES], "sent_bytes", "Sent Bytes",
                BYTES, HP_COLUMN_LATE | HP_COLUMN_SHOWN, .shown_by = PIPES);
    HP_FIELD_IF(to, view->channel.has_receivers, entry->sums.count[HP_CHANNEL_RECEIVED_BYTES], "received_bytes",
                "Received Bytes", BYTES, HP_COLUMN_LATE | HP_COLUMN_SHOWN, .shown_by = PIPES);
    HP_FIELD_IF(to, has_both_sides(&view->channel) && !is_bytes(entry->record), view->channel.inside, "queue",
                "Queue", COUNT, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
                "Items in the queue: sent minus received and dropped, never below 0. null: one side was not seen, "
                "or it is a pipe or socket.",
                .shown_by = QUEUES);
    HP_FIELD_IF(to, has_both_sides(&view->channel) && is_bytes(entry->record), view->channel.inside, "queue_bytes",
                "Queue Bytes", BYTES, HP_COLUMN_SHOWN,
                "For pipes and sockets: bytes in the queue, sent_bytes minus received_bytes. null: one side was "
                "not seen, or it is neither.",
                .shown_by = PIPES);
    HP_FIELD_IF(to, view->channel.has_area && view->channel.active > 0,
                view->channel.area / (double)view->channel.active, "queue_mean", "Avg Queue", VALUE,
                HP_COLUMN_SHOWN,
                "Average queue length while the channel was in use; of several channels, of all together.",
                .shown_by = QUEUES);
    HP_FIELD_IF(to, entry->sums.count[HP_CHANNEL_MOST_INSIDE] != 0, entry->sums.count[HP_CHANNEL_MOST_INSIDE],
                "queue_max", "Max Queue", COUNT, HP_COLUMN_SHOWN,
                "The longest queue length that was reported, of one channel; null: none was.", .shown_by = QUEUES);
    HP_FIELD_IF(to, entry->sums.count[HP_CHANNEL_CAPACITY] != 0, entry->sums.count[HP_CHANNEL_CAPACITY], "capacity",
                "Capacity", COUNT, 0, "Capacity; of several channels the largest; null: it was not reported.");
    HP_FIELD_IF(to, view->channel.has_area,
                view->channel.area / (double)entry->sums.count[HP_CHANNEL_SENT] *
                    to->results->model->run.ns_per_tick,
                "delay_mean_ns", "Avg Delay", NS, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
                "Average time that an item spent in the queue; items still in it count with their age.",
                .shown_by = QUEUES);
    HP_FIELD_FAMILY(
        to, percentile, !entry->is_instance, hp_object_percentile(to, view->rows.distribution, percentile), "_ns",
        "", NS, HP_COLUMN_SHOWN | HP_COLUMN_SAMPLED,
        "A percentile of the time that items spent in the queue, for items with an id whose delay was measured.",
        .before = "delay", .title_before = "Delay", .shown_by = QUEUES);
    HP_FIELD_IF(to, view->delays > 0, hp_histogram_of_magnitudes(to->results, &view->rows.distribution->positive),
                "delay_histogram_ns", "Delays", HISTOGRAM, 0,
                "Distribution of the delays that were measured: [from, below, items]; null as for delays.");
    HP_FIELD_IF(
        to, view->delays > 0, view->delays, "delays", "Delays", COUNT, 0,
        "Items whose delay was measured, which percentiles are about; null: none, or the row has no percentiles.");
    HP_FIELD(to, view->delays > 0 ? to->row->is_sampled ? "yes" : "no" : NULL, "sampled", "Sampled", TEXT,
             HP_COLUMN_MAYBE,
             "yes: fewer delays than items were measured, so that percentiles are estimates; null: none was.",
             .words = "yes|no");
    HP_FIELD_IF(to, entry->sums.count[HP_CHANNEL_SENT] > 1 && view->channel.send_ticks > 0,
                (double)(entry->sums.count[HP_CHANNEL_SENT] - 1) * 1e9 / hp_fields_ns(to, view->channel.send_ticks),
                "rate", "Rate/s", VALUE, HP_COLUMN_SHOWN,
                "Items sent per second, between the senders' first and last use.");
    HP_FIELD_IF(to, view->channel.full.blocked_part >= 0, 100 * view->channel.full.blocked_part, "percent_full",
                "Full %", PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART,
                "full_ns as a share of the time of all sending threads while the channel was in use.");
    HP_FIELD_IF(to, view->channel.empty.blocked_part >= 0, 100 * view->channel.empty.blocked_part, "percent_empty",
                "Empty %", PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART,
                "empty_ns as a share of the time of all receiving threads while the channel was in use.");
    HP_FIELD(to, hp_fields_ns(to, view->channel.full.blocked), "full_ns", "Full", NS, 0,
             "Total time that senders waited; unfinished waits count up to now.");
    HP_FIELD(to, hp_fields_ns(to, view->channel.empty.blocked), "empty_ns", "Empty", NS, 0,
             "Total time that receivers waited; unfinished waits count up to now.");
    HP_FIELD(to, entry->sums.count[HP_CHANNEL_FULL_WAITS], "full_waits", "Full Waits", COUNT, 0,
             "Finished waits of senders.");
    HP_FIELD(to, entry->sums.count[HP_CHANNEL_EMPTY_WAITS], "empty_waits", "Empty Waits", COUNT, 0,
             "Finished waits of receivers.");
    HP_FIELD(to, entry->sums.count[HP_CHANNEL_REFUSED], "refused", "Refused", COUNT, 0,
             "Items that were rejected.");
    HP_FIELD(to, entry->sums.count[HP_CHANNEL_DROPPED], "dropped", "Dropped", COUNT, 0,
             "Items that were accepted and then dropped.");
    HP_FIELD(to,
             entry->is_other ? NULL : hp_object_list_users(to, entry->record, HP_CHANNEL_SENT, HP_CHANNEL_REFUSED),
             "senders", "Senders", TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The measured functions or blocks that sent recently, the busiest first.");
    HP_FIELD(to,
             entry->is_other ? NULL
                             : hp_object_list_users(to, entry->record, HP_CHANNEL_RECEIVED, HP_CHANNEL_EMPTY_WAITS),
             "receivers", "Receivers", TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The measured functions or blocks that received recently, the busiest first.");
    HP_FIELD(to, entry->is_instance ? NULL : hp_object_list_recent(to, entry->record), "recent", "Recent", TEXT,
             HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE,
             "The latest texts of HOTPATH_CHANNEL_TEXT, newest first, if HOTPATH_LOG includes the label.");
    hp_object_put_rest(to, entry);
}

static void add_notes(const struct view *view, struct hotpath_section *section)
{
    const struct hp_row any = hp_section_marks_of_rows(section);
    if (any.is_sampled)
        hp_section_note(section,
                        "^ delays were measured for only some of the items, and percentiles are about these");
    if (view->has_unseen)
        hp_section_note(section, "more was received than sent: what the C library writes by itself, as at exit, "
                                 "is not seen, and neither are system calls without it");
    if (view->has_excess)
        hp_section_note(section, "more was received than sent: delays and averages of such a channel are unknown");
    if (any.is_open)
        hp_section_note(section, "* items are still queued, or a thread waits: counted up to now");
}

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_objects(&results->model->run, hp_is_channel);
}

static bool is_pipe(const char *name, const struct hp_kind *kind)
{
    return hp_is_channel(name, kind) && kind->flags & HP_KIND_BYTES;
}

static bool is_queue(const char *name, const struct hp_kind *kind)
{
    return hp_is_channel(name, kind) && !(kind->flags & HP_KIND_BYTES);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {0};
    section->description = "Queues, pipes and rings: items, delays, and who waits for whom.";
    section->if_empty =
        "no channels were recorded: record them with HOTPATH_CHANNEL_SENT and HOTPATH_CHANNEL_RECEIVED";
    const struct hp_run *run = &results->model->run;
    const uint32_t facts =
        (hp_run_has_objects(run, is_pipe) ? PIPES : 0u) | (hp_run_has_objects(run, is_queue) ? QUEUES : 0u);
    if (!hp_section_describe(results, section, &view, facts) ||
        !hp_object_rows_collect(&view.rows, results, hp_is_channel) ||
        !hp_object_rows_show(&view.rows, section, "sent", &view))
        return false;
    add_notes(&view, section);
    return true;
}

const struct hp_section_type hp_section_channels = {.name = "channels",
                                                    .is_of_ticks = true,
                                                    .is_left_out_empty = true,
                                                    .has_data = has_data,
                                                    .fill = fill,
                                                    .fields = fields};
