/*
 * The section `streams`: what generators, iterators and readers yield, and whether the producer or the consumer
 * takes the time. docs/streams.md describes each number. SPDX-License-Identifier: MIT
 */
#include "arena.h"
#include "object_rows.h"
#include "recent_cell.h"
#include "section.h"
#include "stream_profile.h"
#include "users_cell.h"
#include "value_profile.h"

struct columns {
    struct hp_object_cells object;
    size_t items, bytes, rate, gap, produce, consume, produced, consumed, producers, recent;
    size_t percentiles[HP_MAX_PERCENTILES];
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Stream", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(object.name)},
    {"instance", "Instance", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(object.instance),
     HP_OBJECT_ABOUT_INSTANCE},
    {"state", "State", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(object.state),
     "producing: the producer is working; consuming: the consumer has an item; idle: neither; null: the row covers "
     "several streams.",
     .words = "producing|consuming|idle|ended"},
    {"items", "Items", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(items), "Items yielded."},
    {"item_bytes", "Bytes", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN, AT(bytes)},
    {"rate", "Rate/s", HOTPATH_UNIT_VALUE, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(rate),
     "Items per second, from the first yield to the last."},
    {"gap_mean_ns", "Avg Gap", HOTPATH_UNIT_NS, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(gap),
     "Time from one yield to the next."},
    {"_ns", "", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(percentiles),
     "A percentile of the gaps, over all streams of the label.", .before = "gap", .title_before = "Gap"},
    {"produce_mean_ns", "Producer", HOTPATH_UNIT_NS, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(produce), "Producer time per item: its scopes up to their last yield, and scopes that yield nothing."},
    {"consume_mean_ns", "Consumer", HOTPATH_UNIT_NS, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(consume), "Consumer time per item, until it asks for the next; the last item does not count."},
    {"produced_ns", "Produced", HOTPATH_UNIT_NS, 0, AT(produced), "Total time of the producer."},
    {"consumed_ns", "Consumed", HOTPATH_UNIT_NS, 0, AT(consumed), "Total time of the consumer."},
    {"producers", "Producers", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(producers), "The measured functions or blocks that yielded recently, the busiest first."},
    {"recent", "Recent", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE, AT(recent),
     "The latest texts of HOTPATH_STREAM_TEXT, newest first, if HOTPATH_LOG includes the label."},
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
};

static double ns_of(const struct view *view, double ticks)
{
    return ticks * view->rows.results->model->run.ns_per_tick;
}

static void set_time(const struct view *view, struct hp_row *row, size_t column, double ticks)
{
    if (ticks >= 0)
        hp_section_set_number(row, column, ns_of(view, ticks));
}

static void fill_numbers(const struct view *view, struct hp_row *row, const uint64_t *count,
                         const struct hp_stream *stream)
{
    const struct columns *columns = &view->columns;
    hp_section_set_count(row, columns->items, count[HP_STREAM_ITEMS]);
    hp_section_set_count(row, columns->bytes, count[HP_STREAM_BYTES]);
    set_time(view, row, columns->gap, stream->gap);
    set_time(view, row, columns->produce, stream->produce);
    set_time(view, row, columns->consume, stream->consume);
    set_time(view, row, columns->produced, (double)count[HP_STREAM_PRODUCED]);
    set_time(view, row, columns->consumed, (double)count[HP_STREAM_CONSUMED]);
    if (count[HP_STREAM_ITEMS] > 1 && stream->yield_ticks > 0)
        hp_section_set_value(row, columns->rate,
                             (double)(count[HP_STREAM_ITEMS] - 1) * 1e9 / ns_of(view, (double)stream->yield_ticks));
}

static bool fill_recent(const struct view *view, struct hp_row *row, const struct hp_object_record *record)
{
    struct hp_recent_list list;
    hp_recent_list_of(record, &list);
    return hp_recent_set(view->rows.results, row, view->columns.recent, &list);
}

static bool fill_row(void *of, struct hp_row *row, const void *what)
{
    const struct view *view = of;
    const struct hp_object_entry *entry = what;
    struct hp_object_users users;
    struct hp_stream stream;
    if (entry->is_other)
        hp_stream_of_rest(entry->sums.count, &stream);
    else
        hp_stream_of(entry->record, entry->sums.count, &stream);
    fill_numbers(view, row, entry->sums.count, &stream);
    if (!hp_object_rows_fill(&view->rows, row, &view->columns.object, entry))
        return false;
    if (entry->is_other)
        return true;
    if (stream.state != NULL)
        hp_section_set_text(row, view->columns.object.state, stream.state);
    if (!entry->is_instance)
        hp_object_set_percentiles(view->rows.results, row, view->columns.percentiles, entry->record,
                                  HP_STREAM_GAP_TIMES, view->distribution);
    hp_object_users_of(view->rows.results->model->arena, view->rows.results->model->profile, entry->record,
                       HP_STREAM_ITEMS, HP_STREAM_ITEMS, &users);
    return hp_users_set(view->rows.results, row, view->columns.producers, &users) &&
           (entry->is_instance || fill_recent(view, row, entry->record));
}

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_objects(&results->model->run, hp_is_stream);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    struct hp_value_distribution *distribution = hp_arena_take(results->model->arena, sizeof *distribution);
    if (view == NULL || distribution == NULL)
        return false;
    *view = (struct view){.distribution = distribution};
    section->description = "Generators, iterators and readers: items, and producer and consumer time.";
    section->if_empty = "no streams were recorded: record them with HOTPATH_STREAM_NEXT and HOTPATH_STREAM_ITEM";
    return hp_section_describe(results, section, 0, &view->columns) &&
           hp_object_rows_collect(&view->rows, results, hp_is_stream) &&
           hp_object_rows_show(&view->rows, section, view->columns.items, fill_row, view);
}

const struct hp_section_type hp_section_streams = {
    .name = "streams", .is_left_out_empty = true, .has_data = has_data, .fill = fill, HP_COLUMNS(column_table)};
