/*
 * The section `channels`: what goes through queues, pipes and rings, how full they are, and which side waits for
 * the other. docs/channels.md describes each number. SPDX-License-Identifier: MIT
 */
#include "arena.h"
#include "channel_profile.h"
#include "object_rows.h"
#include "recent_cell.h"
#include "section.h"
#include "users_cell.h"
#include "value_profile.h"

struct columns {
    struct hp_object_cells object;
    size_t sent, received, queue, queue_bytes, capacity, average, most, delay, sent_bytes, received_bytes, rate;
    size_t delays, sampled, full, empty, full_percent, empty_percent, full_waits, empty_waits, refused, dropped,
        senders, receivers, recent;
    size_t percentiles[HP_MAX_PERCENTILES];
};

enum { PIPES = HP_FACT_OWN, QUEUES = HP_FACT_OWN << 1 }; /* byte channels, and others */

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Channel", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(object.name)},
    {"instance", "Instance", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(object.instance),
     HP_OBJECT_ABOUT_INSTANCE},
    {"state", "State", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(object.state),
     "closed: it has ended; full: a sender waits, or the queue is at its capacity; empty: the queue is empty; "
     "open: anything else.",
     .words = "open|closed|full|empty"},
    {"sent", "Sent", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(sent),
     "Items sent; for pipes and sockets, calls that wrote something. null: no sender was seen."},
    {"received", "Received", HOTPATH_UNIT_COUNT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(received),
     "Items received; for pipes and sockets, calls that read something. null: no receiver was seen."},
    {"sent_bytes", "Sent Bytes", HOTPATH_UNIT_BYTES, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(sent_bytes), .shown_by = PIPES},
    {"received_bytes", "Received Bytes", HOTPATH_UNIT_BYTES, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(received_bytes), .shown_by = PIPES},
    {"queue", "Queue", HOTPATH_UNIT_COUNT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(queue),
     "Items in the queue: sent minus received and dropped, never below 0. null: one side was not seen, or it is a "
     "pipe or socket.",
     .shown_by = QUEUES},
    {"queue_bytes", "Queue Bytes", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(queue_bytes),
     "For pipes and sockets: bytes in the queue, sent_bytes minus received_bytes. null: one side was not seen, or "
     "it is neither.",
     .shown_by = PIPES},
    {"queue_mean", "Avg Queue", HOTPATH_UNIT_VALUE, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(average),
     "Average queue length while the channel was in use.", .shown_by = QUEUES},
    {"queue_max", "Max Queue", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(most),
     "The longest queue length that was reported; null: none was.", .shown_by = QUEUES},
    {"capacity", "Capacity", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(capacity),
     "Capacity; of several channels the largest; null: it was not reported."},
    {"delay_mean_ns", "Avg Delay", HOTPATH_UNIT_NS, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(delay),
     "Average time that an item spent in the queue; items still in it count with their age.", .shown_by = QUEUES},
    {"_ns", "", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY | HP_COLUMN_SAMPLED,
     AT(percentiles),
     "A percentile of the time that items spent in the queue, for items with an id whose delay was measured.",
     .before = "delay", .title_before = "Delay", .shown_by = QUEUES},
    {"delays", "Delays", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(delays),
     "Items whose delay was measured, which percentiles are about; null: none, or the row has no percentiles."},
    {"sampled", "Sampled", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(sampled),
     "yes: fewer delays than items were measured, so that percentiles are estimates; null: none was.",
     .words = "yes|no"},
    {"rate", "Rate/s", HOTPATH_UNIT_VALUE, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(rate),
     "Items sent per second, between the senders' first and last use."},
    {"percent_full", "Full %", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_PART, AT(full_percent),
     "full_ns as a share of the time of all sending threads while the channel was in use."},
    {"percent_empty", "Empty %", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_PART, AT(empty_percent),
     "empty_ns as a share of the time of all receiving threads while the channel was in use."},
    {"full_ns", "Full", HOTPATH_UNIT_NS, 0, AT(full),
     "Total time that senders waited; unfinished waits count up to now."},
    {"empty_ns", "Empty", HOTPATH_UNIT_NS, 0, AT(empty),
     "Total time that receivers waited; unfinished waits count up to now."},
    {"full_waits", "Full Waits", HOTPATH_UNIT_COUNT, 0, AT(full_waits), "Finished waits of senders."},
    {"empty_waits", "Empty Waits", HOTPATH_UNIT_COUNT, 0, AT(empty_waits), "Finished waits of receivers."},
    {"refused", "Refused", HOTPATH_UNIT_COUNT, 0, AT(refused), "Items that were rejected."},
    {"dropped", "Dropped", HOTPATH_UNIT_COUNT, 0, AT(dropped), "Items that were accepted and then dropped."},
    {"senders", "Senders", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(senders),
     "The measured functions or blocks that sent recently, the busiest first."},
    {"receivers", "Receivers", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(receivers), "The measured functions or blocks that received recently, the busiest first."},
    {"recent", "Recent", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE, AT(recent),
     "The latest texts of HOTPATH_CHANNEL_TEXT, newest first, if HOTPATH_LOG includes the label."},
    {"instances", "Instances", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(object.instances),
     HP_OBJECT_ABOUT_INSTANCES},
    {"live", "Live", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(object.live), HP_OBJECT_ABOUT_LIVE},
    {"threads", "Threads", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(object.threads), HP_OBJECT_ABOUT_THREADS},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(object.location)},
};

struct view {
    struct hp_object_rows rows;
    struct columns columns;
    struct hp_value_distribution *distribution;
    bool has_unseen; /* bytes came out that were not seen to go in */
    bool has_excess; /* the same for items */
};

/* ------------------------------------------------------------------------------------------------- numbers */

static double ns_of(const struct view *view, double ticks)
{
    return ticks * view->rows.results->model->run.ns_per_tick;
}

static bool is_bytes(const struct hp_object_record *record) { return record->kind.flags & HP_KIND_BYTES; }

static void fill_counts(const struct view *view, struct hp_row *row, const struct hp_object_entry *entry,
                        const struct hp_channel *channel)
{
    const struct columns *columns = &view->columns;
    const uint64_t *count = entry->sums.count;
    if (channel->has_senders) {
        hp_section_set_count(row, columns->sent, count[HP_CHANNEL_SENT]);
        hp_section_set_count(row, columns->sent_bytes, count[HP_CHANNEL_SENT_BYTES]);
    }
    if (channel->has_receivers) {
        hp_section_set_count(row, columns->received, count[HP_CHANNEL_RECEIVED]);
        hp_section_set_count(row, columns->received_bytes, count[HP_CHANNEL_RECEIVED_BYTES]);
    }
    if (channel->has_senders && channel->has_receivers)
        hp_section_set_count(row, is_bytes(entry->record) ? columns->queue_bytes : columns->queue, channel->inside);
    hp_section_set_count(row, columns->full_waits, count[HP_CHANNEL_FULL_WAITS]);
    hp_section_set_count(row, columns->empty_waits, count[HP_CHANNEL_EMPTY_WAITS]);
    hp_section_set_count(row, columns->refused, count[HP_CHANNEL_REFUSED]);
    hp_section_set_count(row, columns->dropped, count[HP_CHANNEL_DROPPED]);
    if (count[HP_CHANNEL_CAPACITY] != 0)
        hp_section_set_count(row, columns->capacity, count[HP_CHANNEL_CAPACITY]);
    if (count[HP_CHANNEL_MOST_INSIDE] != 0)
        hp_section_set_count(row, columns->most, count[HP_CHANNEL_MOST_INSIDE]);
}

static void fill_times(const struct view *view, struct hp_row *row, const struct hp_object_entry *entry,
                       const struct hp_channel *channel)
{
    const struct columns *columns = &view->columns;
    const uint64_t sent = entry->sums.count[HP_CHANNEL_SENT];
    hp_section_set_number(row, columns->full, ns_of(view, (double)channel->full.blocked));
    hp_section_set_number(row, columns->empty, ns_of(view, (double)channel->empty.blocked));
    if (channel->has_area)
        hp_section_set_number(row, columns->delay, ns_of(view, channel->area / (double)sent));
    if (channel->has_area && channel->active > 0)
        hp_section_set_value(row, columns->average, channel->area / (double)channel->active);
    if (sent > 1 && channel->send_ticks > 0)
        hp_section_set_value(row, columns->rate,
                             (double)(sent - 1) * 1e9 / ns_of(view, (double)channel->send_ticks));
    if (channel->full.blocked_part >= 0)
        hp_section_set_number(row, columns->full_percent, 100 * channel->full.blocked_part);
    if (channel->empty.blocked_part >= 0)
        hp_section_set_number(row, columns->empty_percent, 100 * channel->empty.blocked_part);
}

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

static bool fill_users(const struct view *view, struct hp_row *row, const struct hp_object_record *record)
{
    const struct hp_profile *profile = view->rows.results->model->profile;
    struct hp_object_users users;
    hp_object_users_of(view->rows.results->model->arena, profile, record, HP_CHANNEL_SENT, HP_CHANNEL_REFUSED,
                       &users);
    if (!hp_users_set(view->rows.results, row, view->columns.senders, &users))
        return false;
    hp_object_users_of(view->rows.results->model->arena, profile, record, HP_CHANNEL_RECEIVED,
                       HP_CHANNEL_EMPTY_WAITS, &users);
    return hp_users_set(view->rows.results, row, view->columns.receivers, &users);
}

static bool fill_recent(const struct view *view, struct hp_row *row, const struct hp_object_record *record)
{
    struct hp_recent_list list;
    hp_recent_list_of(record, &list);
    return hp_recent_set(view->rows.results, row, view->columns.recent, &list);
}

/* ------------------------------------------------------------------------------------------------- section */

static void fill_delays(const struct view *view, struct hp_row *row, const struct hp_object_entry *entry)
{
    hp_object_set_percentiles(view->rows.results, row, view->columns.percentiles, entry->record, HP_CHANNEL_DELAYS,
                              view->distribution);
    const uint64_t measured = hp_distribution_count(view->distribution);
    if (measured == 0)
        return;
    row->is_sampled = measured < entry->sums.count[HP_CHANNEL_RECEIVED];
    hp_section_set_count(row, view->columns.delays, measured);
    hp_section_set_text(row, view->columns.sampled, row->is_sampled ? "yes" : "no");
}

static bool fill_row(void *of, struct hp_row *row, const void *what)
{
    struct view *view = of;
    const struct hp_object_entry *entry = what;
    const uint64_t *count = entry->sums.count;
    struct hp_channel channel;
    if (entry->is_other)
        hp_channel_of_rest(entry->record, entry->sums.count, &channel);
    else if (!hp_channel_of(view->rows.results->model->arena, entry->record, entry->sums.count, &channel))
        return false;
    fill_counts(view, row, entry, &channel);
    fill_times(view, row, entry, &channel);
    view->has_unseen |= is_bytes(entry->record) && channel.has_senders && has_ended(entry) &&
                        count[HP_CHANNEL_RECEIVED_BYTES] > count[HP_CHANNEL_SENT_BYTES];
    view->has_excess |= channel.has_excess;
    row->is_open = (channel.inside > 0 || channel.full.waiting > 0 || channel.empty.waiting > 0) &&
                   !(entry->record->kind.flags & HP_KIND_OF_RUN && has_ended(entry));
    if (!hp_object_rows_fill(&view->rows, row, &view->columns.object, entry))
        return false;
    if (entry->is_other)
        return true;
    hp_section_set_text(row, view->columns.object.state, state_of(entry, &channel));
    if (!entry->is_instance)
        fill_delays(view, row, entry);
    return fill_users(view, row, entry->record) && (entry->is_instance || fill_recent(view, row, entry->record));
}

static void add_notes(const struct view *view, struct hotpath_section *section)
{
    bool has_sampled = false;
    for (size_t at = 0; at < section->row_count; at++)
        has_sampled |= section->rows[at].is_sampled;
    if (has_sampled)
        hp_section_note(section,
                        "^ delays were measured for only some of the items, and percentiles are about these");
    if (view->has_unseen)
        hp_section_note(section, "more was received than sent: what the C library writes by itself, as at exit, "
                                 "is not seen, and neither are system calls without it");
    if (view->has_excess)
        hp_section_note(section, "more was received than sent: delays and averages of such a channel are unknown");
    for (size_t at = 0; at < section->row_count; at++)
        if (section->rows[at].is_open) {
            hp_section_note(section, "* items are still queued, or a thread waits: counted up to now");
            return;
        }
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
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    struct hp_value_distribution *distribution = hp_arena_take(results->model->arena, sizeof *distribution);
    if (view == NULL || distribution == NULL)
        return false;
    *view = (struct view){.distribution = distribution};
    section->description = "Queues, pipes and rings: items, delays, and who waits for whom.";
    section->if_empty =
        "no channels were recorded: record them with HOTPATH_CHANNEL_SENT and HOTPATH_CHANNEL_RECEIVED";
    const struct hp_run *run = &results->model->run;
    const uint32_t facts =
        (hp_run_has_objects(run, is_pipe) ? PIPES : 0u) | (hp_run_has_objects(run, is_queue) ? QUEUES : 0u);
    if (!hp_section_describe(results, section, facts, &view->columns) ||
        !hp_object_rows_collect(&view->rows, results, hp_is_channel) ||
        !hp_object_rows_show(&view->rows, section, view->columns.sent, fill_row, view))
        return false;
    add_notes(view, section);
    return true;
}

const struct hp_section_type hp_section_channels = {
    .name = "channels", .is_left_out_empty = true, .has_data = has_data, .fill = fill, HP_COLUMNS(column_table)};
