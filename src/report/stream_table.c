/*
 * The section `streams`: what generators, iterators and readers yield, and whether the producer or the consumer
 * takes the time. docs/streams.md describes each number. SPDX-License-Identifier: MIT
 */
#include "object_rows.h"
#include "section.h"
#include "stream_profile.h"

struct view {
    struct hp_object_rows rows;
    struct hp_stream stream; /* of the row being filled */
};

/* Negative: unknown. */
static struct hp_cell time_of(const struct hp_fields *to, double ticks)
{
    return (struct hp_cell){.has_value = ticks >= 0, .number = ticks * to->results->model->run.ns_per_tick};
}

static const char *state_of(const struct hp_object_entry *entry, const struct hp_stream *stream)
{
    return stream->state != NULL && !entry->is_other ? stream->state : hp_object_state(entry);
}

static void begin_row(struct view *view, struct hp_row *row, const struct hp_object_entry *entry)
{
    row->id = hp_object_identity(entry);
    if (entry->is_other)
        hp_stream_of_rest(entry->sums.count, &view->stream);
    else
        hp_stream_of(entry->record, entry->sums.count, &view->stream);
    if (!entry->is_instance)
        hp_object_distribution_of(entry->record, HP_STREAM_GAP_TIMES, view->rows.distribution);
}

static void fields(struct hp_fields *to, void *of, const void *what)
{
    struct view *view = of;
    const struct hp_object_entry *entry = what;
    if (to->row != NULL)
        begin_row(view, to->row, entry);
    HP_FIELD(to, entry->record->name, "name", "Stream", TEXT, HP_COLUMN_FIRST);
    hp_object_put_instance(to, entry);
    HP_FIELD(to, state_of(entry, &view->stream), "state", "State", TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "producing: the producer is working; consuming: the consumer has an item; idle: neither; null: the "
             "row covers several streams.",
             .words = "producing|consuming|idle|ended");
    HP_FIELD(to, entry->sums.count[HP_STREAM_ITEMS], "items", "Items", COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Items yielded.");
    HP_FIELD(to, entry->sums.count[HP_STREAM_BYTES], "item_bytes", "Bytes", BYTES, HP_COLUMN_SHOWN);
    HP_FIELD_IF(to, entry->sums.count[HP_STREAM_ITEMS] > 1 && view->stream.yield_ticks > 0,
                (double)(entry->sums.count[HP_STREAM_ITEMS] - 1) * 1e9 / hp_fields_ns(to, view->stream.yield_ticks),
                "rate", "Rate/s", VALUE, HP_COLUMN_SHOWN, "Items per second, from the first yield to the last.");
    HP_FIELD(to, time_of(to, view->stream.gap), "gap_mean_ns", "Avg Gap", NS,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, "Time from one yield to the next.");
    HP_FIELD_FAMILY(to, percentile, !entry->is_instance,
                    hp_object_percentile(to, view->rows.distribution, percentile), "_ns", "", NS, HP_COLUMN_SHOWN,
                    "A percentile of the gaps, over all streams of the label.", .before = "gap",
                    .title_before = "Gap");
    HP_FIELD(to, time_of(to, view->stream.produce), "produce_mean_ns", "Producer", NS,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "Producer time per item: its scopes up to their last yield, and scopes that yield nothing.");
    HP_FIELD(to, time_of(to, view->stream.consume), "consume_mean_ns", "Consumer", NS,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "Consumer time per item, until it asks for the next; the last item does not count.");
    HP_FIELD(to, hp_fields_ns(to, entry->sums.count[HP_STREAM_PRODUCED]), "produced_ns", "Produced", NS, 0,
             "Total time of the producer.");
    HP_FIELD(to, hp_fields_ns(to, entry->sums.count[HP_STREAM_CONSUMED]), "consumed_ns", "Consumed", NS, 0,
             "Total time of the consumer.");
    HP_FIELD(to, entry->is_other ? NULL : hp_object_list_users(to, entry->record, HP_STREAM_ITEMS, HP_STREAM_ITEMS),
             "producers", "Producers", TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The measured functions or blocks that yielded recently, the busiest first.");
    HP_FIELD(to, entry->is_instance ? NULL : hp_object_list_recent(to, entry->record), "recent", "Recent", TEXT,
             HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE,
             "The latest texts of HOTPATH_STREAM_TEXT, newest first, if HOTPATH_LOG includes the label.");
    hp_object_put_rest(to, entry);
}

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_objects(&results->model->run, hp_is_stream);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {0};
    section->description = "Generators, iterators and readers: items, and producer and consumer time.";
    section->if_empty = "no streams were recorded: record them with HOTPATH_STREAM_NEXT and HOTPATH_STREAM_ITEM";
    return hp_section_describe(results, section, &view, 0) &&
           hp_object_rows_collect(&view.rows, results, hp_is_stream) &&
           hp_object_rows_show(&view.rows, section, "items", &view);
}

const struct hp_section_type hp_section_streams = {.name = "streams",
                                                   .is_of_ticks = true,
                                                   .is_left_out_empty = true,
                                                   .has_data = has_data,
                                                   .fill = fill,
                                                   .fields = fields};
