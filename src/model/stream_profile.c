/* Derives the numbers of streams from their counters. SPDX-License-Identifier: MIT */
#include "stream_profile.h"

#include <string.h>

/* A kind of that name with another layout is another kind. */
bool hp_is_stream(const char *name, const struct hp_kind *kind)
{
    return strcmp(name, "stream") == 0 && kind->flags & HP_KIND_OWN_TABLE &&
           kind->counter_count > HP_STREAM_CONSUMED_ITEMS && kind->histogram_count > HP_STREAM_GAP_TIMES;
}

struct span {
    uint64_t first, last;
};

static void extend(void *context, const struct hp_object_record *record, const struct hp_part *part)
{
    struct span *span = context;
    (void)record;
    if (part->first_tick != 0 && (span->first == 0 || part->first_tick < span->first))
        span->first = part->first_tick;
    if (part->last_tick > span->last)
        span->last = part->last_tick;
}

static double mean(uint64_t sum, uint64_t count) { return count > 0 ? (double)sum / (double)count : -1; }

void hp_stream_of_rest(const uint64_t *count, struct hp_stream *ret_stream)
{
    const uint64_t items = count[HP_STREAM_ITEMS];
    *ret_stream =
        (struct hp_stream){.gap = mean(count[HP_STREAM_GAP], count[HP_STREAM_GAPS]),
                           .produce = count[HP_STREAM_PRODUCED] != 0 ? mean(count[HP_STREAM_PRODUCED], items) : -1,
                           .consume = mean(count[HP_STREAM_CONSUMED], count[HP_STREAM_CONSUMED_ITEMS])};
}

static const char *state_of_object(const struct hp_object *object)
{
    if (object->state == HP_OBJECT_ENDED)
        return "ended";
    if (object->shared[HP_STREAM_BEGUN] >= object->born)
        return "producing";
    return object->shared[HP_STREAM_HANDED] >= object->born ? "consuming" : "idle";
}

/* For several streams it is known if all have ended. */
static const char *state_of(const struct hp_object_record *row)
{
    uint64_t instances = 0, ended = 0;
    if (row->object.class_ != 0 || (row->members == NULL && row->next == NULL))
        return state_of_object(&row->object);
    if (row->next == NULL && row->object.instances == 1)
        return state_of_object(&row->members->object);
    for (; row != NULL; row = row->next) {
        instances += row->object.instances;
        ended += row->object.ended_count;
    }
    return instances > 0 && ended >= instances ? "ended" : NULL;
}

void hp_stream_of(const struct hp_object_record *row, const uint64_t *count, struct hp_stream *ret_stream)
{
    struct span span = {0};
    hp_object_visit_parts(row, extend, &span);
    hp_stream_of_rest(count, ret_stream);
    ret_stream->yield_ticks = span.first != 0 && span.last > span.first ? span.last - span.first : 0;
    ret_stream->state = state_of(row);
}
