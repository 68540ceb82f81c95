/* Sums of metrics as protobuf messages. SPDX-License-Identifier: MIT */
#include "metric_protobuf.h"

#include <stdio.h>
#include <string.h>

#include "protobuf.h"

/* Fields, as numbered in io/prometheus/client/metrics.proto. */
enum { FAMILY_NAME = 1, FAMILY_HELP, FAMILY_TYPE, FAMILY_METRIC };
enum { METRIC_LABEL = 1, METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM = 7 };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { NUMBER_VALUE = 1 };
enum { HISTOGRAM_COUNT = 1, HISTOGRAM_SUM, HISTOGRAM_SCHEMA = 5, HISTOGRAM_THRESHOLD, HISTOGRAM_ZEROES };
enum { HISTOGRAM_SPAN = 12, HISTOGRAM_DELTA };
enum { SPAN_OFFSET = 1, SPAN_LENGTH };
enum { TYPE_COUNTER = 0, TYPE_GAUGE = 1, TYPE_HISTOGRAM = 4 };

#define SCHEMA 3u                /* eight buckets per power of two */
#define LEAST_THRESHOLD 0x1p-128 /* says that it is a native histogram, even without a bucket */

/* ------------------------------------------------------------------------------------------------------ writing */

static uint64_t zigzag(int64_t number) { return ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0); }

static double native_count(const struct hp_metric_series *series, uint32_t at)
{
    return series->buckets[HP_METRIC_FIRST_POWER + at];
}

#define POWERS (HP_METRIC_BUCKETS - HP_METRIC_FIRST_POWER)

/* Runs of buckets that are not empty: how far each is from the one before, and its length. */
static void put_spans(struct hp_proto *proto, const struct hp_metric_series *series)
{
    int64_t next = 0; /* the bucket after the span before */
    for (uint32_t at = 0; at < POWERS;) {
        uint32_t end = at;
        while (end < POWERS && native_count(series, end) > 0)
            end++;
        if (end == at) {
            at++;
            continue;
        }
        const int64_t first = (int64_t)at + HP_METRIC_LEAST_POWER;
        const size_t span = hp_proto_begin(proto, HISTOGRAM_SPAN);
        hp_proto_u64(proto, SPAN_OFFSET, zigzag(first - next));
        hp_proto_u64(proto, SPAN_LENGTH, end - at);
        hp_proto_end(proto, span);
        next = first + (end - at);
        at = end;
    }
}

static void put_histogram(struct hp_proto *proto, const struct hp_metric_series *series, double scale)
{
    uint64_t count = 0;
    int64_t before = 0;
    for (uint32_t at = 0; at < POWERS; at++)
        count += (uint64_t)native_count(series, at);
    const size_t histogram = hp_proto_begin(proto, METRIC_HISTOGRAM);
    hp_proto_u64(proto, HISTOGRAM_COUNT, count);
    hp_proto_double(proto, HISTOGRAM_SUM, series->buckets[0] * scale);
    hp_proto_u64(proto, HISTOGRAM_SCHEMA, zigzag(SCHEMA));
    hp_proto_double(proto, HISTOGRAM_THRESHOLD, LEAST_THRESHOLD);
    hp_proto_u64(proto, HISTOGRAM_ZEROES, 0);
    put_spans(proto, series);
    const size_t deltas = hp_proto_begin(proto, HISTOGRAM_DELTA);
    for (uint32_t at = 0; at < POWERS; at++) {
        const int64_t now = (int64_t)native_count(series, at);
        if (now > 0)
            hp_proto_packed(proto, zigzag(now - before));
        before = now > 0 ? now : before;
    }
    hp_proto_end(proto, deltas);
    hp_proto_end(proto, histogram);
}

static void put_labels(struct hp_proto *proto, const struct hp_metric_pair *pairs, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        if (pairs[at].value == NULL)
            continue;
        const size_t label = hp_proto_begin(proto, METRIC_LABEL);
        hp_proto_string(proto, LABEL_NAME, pairs[at].name);
        hp_proto_string(proto, LABEL_VALUE, pairs[at].value);
        hp_proto_end(proto, label);
    }
}

static void put_number(struct hp_proto *proto, uint32_t field, double number)
{
    const size_t begun = hp_proto_begin(proto, field);
    hp_proto_double(proto, NUMBER_VALUE, number);
    hp_proto_end(proto, begun);
}

static void put_series(const struct hp_metric_text *metrics, struct hp_proto *proto,
                       const struct hp_metric_series *series)
{
    const struct hp_metric_family *family = &hp_metric_families[series->family];
    const double scale = hp_metric_scale_of(family);
    struct hp_metric_pair pairs[HP_METRIC_PAIRS];
    hp_metric_pairs_of(metrics, series, pairs);
    const size_t metric = hp_proto_begin(proto, FAMILY_METRIC);
    put_labels(proto, pairs, HP_METRIC_PAIRS);
    if (series->buckets != NULL)
        put_histogram(proto, series, scale);
    else
        put_number(proto, family->type == HP_METRIC_COUNTER ? METRIC_COUNTER : METRIC_GAUGE, series->value * scale);
    hp_proto_end(proto, metric);
}

static void put_head(struct hp_proto *proto, const char *name, const char *suffix, const char *help, uint32_t type)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s%s", name, suffix);
    hp_proto_string(proto, FAMILY_NAME, whole);
    hp_proto_string(proto, FAMILY_HELP, help);
    hp_proto_u64(proto, FAMILY_TYPE, type);
}

static void put_family_head(struct hp_proto *proto, const struct hp_metric_family *family)
{
    static const uint8_t types[] = {
        [HP_METRIC_COUNTER] = TYPE_COUNTER, [HP_METRIC_GAUGE] = TYPE_GAUGE, [HP_METRIC_HISTOGRAM] = TYPE_HISTOGRAM};
    put_head(proto, family->name, family->type == HP_METRIC_COUNTER ? "_total" : "", family->help,
             types[family->type]);
}

/* Its length, and then the message; nothing without series. */
static bool end_family(struct hp_proto *proto, struct hp_text *out)
{
    struct hp_proto length = {0};
    hp_proto_packed(&length, proto->length);
    const bool has_memory = !proto->lacks_memory && !length.lacks_memory;
    if (proto->length > 0) {
        hp_proto_flush(&length, out);
        hp_proto_flush(proto, out);
    }
    hp_proto_free(&length);
    return has_memory;
}

struct written {
    struct hp_proto proto;
    struct hp_text *out;
    const char *last_name;
    bool has_memory;
};

static void put_about(void *context, const struct hp_metric_about *about)
{
    struct written *written = context;
    if (strcmp(written->last_name, about->name) != 0) {
        written->has_memory &= end_family(&written->proto, written->out);
        put_head(&written->proto, about->name, hp_metric_suffix_of(about), about->help,
                 about->is_counter ? TYPE_COUNTER : TYPE_GAUGE);
    }
    written->last_name = about->name;
    const size_t metric = hp_proto_begin(&written->proto, FAMILY_METRIC);
    put_labels(&written->proto, about->pairs, about->pair_count);
    put_number(&written->proto, about->is_counter ? METRIC_COUNTER : METRIC_GAUGE, about->number);
    hp_proto_end(&written->proto, metric);
}

bool hp_metric_protobuf_write(const struct hp_metric_text *metrics, struct hp_text *out)
{
    struct written written = {.out = out, .last_name = "", .has_memory = true};
    struct hp_proto *proto = &written.proto;
    hp_metric_say_about(metrics, put_about, &written);
    bool has_memory = written.has_memory & end_family(proto, out);
    for (uint32_t number = 0; number < hp_metric_family_count; number++) {
        const struct hp_metric_family *family = &hp_metric_families[number];
        for (size_t at = 0; at < metrics->sums->series_count; at++) {
            const struct hp_metric_series *series = &metrics->sums->series[at];
            if (series->family != number || !hp_metric_is_written(metrics, series))
                continue;
            if (proto->length == 0)
                put_family_head(proto, family);
            put_series(metrics, proto, series);
        }
        /* Rows of the same family are one message. */
        if (number + 1 == hp_metric_family_count || strcmp(family->name, hp_metric_families[number + 1].name) != 0)
            has_memory &= end_family(proto, out);
    }
    hp_proto_free(proto);
    return has_memory;
}
