/* Sums of metrics as bytes. SPDX-License-Identifier: MIT */
#include "metric_bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define LONGEST_TEXT 4096u

/* More than sums can have. Who says so has made it up, and would have us take memory and time for it. */
#define MOST_NAMES 400000u
#define MOST_POINTS (HP_METRIC_SERIES_MOST / (HP_METRIC_BOUNDS + 3u) * HP_METRIC_BUCKETS + HP_METRIC_SERIES_MOST)

/* ------------------------------------------------------------------------------------------------------- pieces */

bool hp_metric_put_number(struct hp_body *body, uint64_t number)
{
    char bytes[10];
    size_t length = 0;
    do {
        bytes[length++] = (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        number >>= 7;
    } while (number > 0);
    return hp_body_add(body, bytes, length);
}

/* With its zero, so that it can be used where it lies. */
bool hp_metric_put_text(struct hp_body *body, const char *text)
{
    const size_t length = strlen(text);
    return hp_metric_put_number(body, length) && hp_body_add(body, text, length + 1);
}

/* Most are whole numbers. */
static bool put_real(struct hp_body *body, double number)
{
    const bool is_whole = number >= 0 && number < 0x1p62 && number == floor(number);
    return is_whole ? hp_metric_put_number(body, (uint64_t)number << 1)
                    : hp_metric_put_number(body, 1) && hp_body_add(body, (const char *)&number, sizeof number);
}

static const void *take_bytes(struct hp_metric_input *in, size_t length)
{
    const unsigned char *bytes = in->at;
    in->is_bad |= length > (size_t)(in->end - in->at);
    if (in->is_bad)
        return NULL;
    in->at += length;
    return bytes;
}

uint64_t hp_metric_take_number(struct hp_metric_input *in)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const unsigned char *byte = take_bytes(in, 1);
        if (byte == NULL)
            return 0;
        number |= (uint64_t)(*byte & 0x7f) << shift;
        if ((*byte & 0x80) == 0)
            return number;
    }
    in->is_bad = true;
    return 0;
}

static double take_real(struct hp_metric_input *in)
{
    const uint64_t number = hp_metric_take_number(in);
    double real = 0;
    if ((number & 1) == 0)
        return (double)(number >> 1);
    const void *bytes = take_bytes(in, sizeof real);
    if (bytes != NULL)
        memcpy(&real, bytes, sizeof real);
    in->is_bad |= !isfinite(real);
    return in->is_bad ? 0 : real;
}

size_t hp_metric_take_count(struct hp_metric_input *in)
{
    const uint64_t count = hp_metric_take_number(in);
    in->is_bad |= count > (uint64_t)(in->end - in->at);
    return in->is_bad ? 0 : (size_t)count;
}

const char *hp_metric_take_text(struct hp_metric_input *in)
{
    const size_t length = hp_metric_take_count(in);
    const char *text = take_bytes(in, length + 1);
    in->is_bad |= text == NULL || length > LONGEST_TEXT || text[length] != '\0' || strlen(text) != length;
    return in->is_bad ? "" : text;
}

/* A number below `most`. */
static uint32_t take_below(struct hp_metric_input *in, uint64_t most)
{
    const uint64_t number = hp_metric_take_number(in);
    in->is_bad |= number >= most;
    return in->is_bad ? 0 : (uint32_t)number;
}

static size_t take_count_below(struct hp_metric_input *in, size_t most)
{
    const size_t count = hp_metric_take_count(in);
    in->is_bad |= count >= most;
    return in->is_bad ? 0 : count;
}

/* ------------------------------------------------------------------------------------------------------- points */

/* They are in order. */
bool hp_metric_put_points(struct hp_body *body, const struct hp_metric_points *points)
{
    uint32_t before = 0;
    bool has_memory = hp_metric_put_number(body, points->count);
    for (size_t at = 0; at < points->count && has_memory; at++) {
        const struct hp_metric_point *point = &points->all[at];
        has_memory = hp_metric_put_number(body, point->series - before) &&
                     hp_metric_put_number(body, point->bucket) && put_real(body, point->value);
        before = point->series;
    }
    return has_memory;
}

bool hp_metric_take_points(struct hp_metric_input *in, const struct hp_metric_sums *sums,
                           const struct hp_metric_renumbered *renumbered, struct hp_metric_points *ret_points)
{
    uint64_t number = 0;
    const size_t count = hp_metric_take_count(in);
    bool has_memory = true;
    for (size_t at = 0; at < count && has_memory && !in->is_bad; at++) {
        number += hp_metric_take_number(in);
        const uint32_t bucket = take_below(in, HP_METRIC_BUCKETS);
        const double value = take_real(in);
        const uint32_t series = number > 0 && number <= renumbered->count ? renumbered->numbers[number - 1] : 0;
        in->is_bad |= series == 0 || (bucket > 0 && sums->series[series - 1].buckets == NULL);
        has_memory = in->is_bad || hp_metric_points_add(ret_points, series, bucket, value);
    }
    return has_memory && !in->is_bad;
}

/* ------------------------------------------------------------------------------------------------------ writing */

static bool put_services(const struct hp_metric_sums *sums, struct hp_body *body)
{
    const size_t count = sums->service_count > 0 ? sums->service_count - 1 : 0;
    bool has_memory = hp_metric_put_number(body, count);
    for (uint32_t at = 1; at <= count && has_memory; at++) {
        has_memory = hp_metric_put_text(body, hp_metric_service_name(sums, at));
        for (size_t kind = 0; kind < HP_METRIC_KINDS && has_memory; kind++)
            has_memory = hp_metric_put_number(body, sums->services[at].refused[kind]);
    }
    return has_memory;
}

/* One without series has only a zero: its number stays free. */
static bool put_names(const struct hp_metric_sums *sums, struct hp_body *body)
{
    bool has_memory = hp_metric_put_number(body, sums->name_count);
    for (size_t at = 0; at < sums->name_count && has_memory; at++) {
        const struct hp_metric_name *name = &sums->names[at];
        const bool is_served = name->text != NULL && name->service != 0;
        has_memory = hp_metric_put_number(body, is_served ? name->kind : HP_METRIC_NO_KIND) &&
                     (!is_served || hp_metric_put_text(body, name->text));
    }
    return has_memory;
}

static bool put_buckets(const struct hp_metric_series *series, struct hp_body *body)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < HP_METRIC_BUCKETS; at++)
        count += series->buckets[at] != 0;
    bool has_memory = hp_metric_put_number(body, count);
    for (uint32_t at = 0; at < HP_METRIC_BUCKETS && has_memory; at++)
        if (series->buckets[at] != 0)
            has_memory = hp_metric_put_number(body, at) && put_real(body, series->buckets[at]);
    return has_memory;
}

bool hp_metric_sums_put(const struct hp_metric_sums *sums, struct hp_body *body)
{
    bool has_memory =
        put_services(sums, body) && put_names(sums, body) && hp_metric_put_number(body, sums->series_count);
    for (size_t at = 0; at < sums->series_count && has_memory; at++) {
        const struct hp_metric_series *series = &sums->series[at];
        has_memory = hp_metric_put_number(body, series->family) && hp_metric_put_number(body, series->service);
        for (size_t label = 0; label < HP_METRIC_LABELS && has_memory; label++)
            has_memory = hp_metric_put_number(body, series->labels[label]);
        has_memory =
            has_memory && (series->buckets != NULL ? put_buckets(series, body) : put_real(body, series->value));
    }
    return has_memory;
}

/* ------------------------------------------------------------------------------------------------------ reading */

struct taken_name {
    const char *text; /* NULL: none */
    uint8_t kind;
};

struct taking {
    struct hp_metric_input *in;
    struct hp_metric_sums *sums;
    bool is_own;
    struct hp_metric_points *points;
    struct hp_metric_refusals *refusals;
    uint32_t *services; /* their numbers now */
    size_t service_count;
    struct taken_name *names;
    size_t name_count;
};

static void take_services(struct taking *taking)
{
    struct hp_metric_refusals *refusals = taking->refusals;
    const size_t count = take_count_below(taking->in, HP_METRIC_SERIES_MOST);
    taking->services = calloc(count + 1, sizeof *taking->services);
    taking->sums->is_out_of_memory |= taking->services == NULL;
    for (size_t at = 0; at < count && !taking->in->is_bad && !taking->sums->is_out_of_memory; at++) {
        const char *name = hp_metric_take_text(taking->in);
        if (taking->in->is_bad)
            return;
        taking->services[taking->service_count++] = hp_metric_sums_service(taking->sums, name);
        for (uint32_t kind = 0; kind < HP_METRIC_KINDS; kind++) {
            const uint32_t number = take_below(taking->in, UINT32_MAX);
            if (refusals == NULL || number == 0)
                continue;
            if (!HP_MAKE_ROOM(refusals->all, refusals->count + 1, refusals->room)) {
                taking->sums->is_out_of_memory = true;
                return;
            }
            refusals->all[refusals->count].service = taking->services[at];
            refusals->all[refusals->count].kind = kind;
            refusals->all[refusals->count++].count = number;
        }
    }
}

static void take_names(struct taking *taking)
{
    const size_t count = take_count_below(taking->in, MOST_NAMES);
    taking->names = calloc(count + 1, sizeof *taking->names);
    taking->sums->is_out_of_memory |= taking->names == NULL;
    for (; taking->name_count < count && !taking->in->is_bad && taking->names != NULL; taking->name_count++) {
        struct taken_name *name = &taking->names[taking->name_count];
        name->kind = (uint8_t)take_below(taking->in, HP_METRIC_KINDS);
        if (name->kind != HP_METRIC_NO_KIND)
            name->text = hp_metric_take_text(taking->in);
    }
}

/* Its number now; 0: it has no such label, or is bad. */
static uint32_t take_label(struct taking *taking, uint32_t service, const struct hp_metric_label *label)
{
    const uint64_t number = hp_metric_take_number(taking->in);
    if (number == 0)
        return 0;
    const struct taken_name *name = number <= taking->name_count ? &taking->names[number - 1] : NULL;
    taking->in->is_bad |= name == NULL || name->text == NULL || name->kind != label->kind;
    if (taking->in->is_bad)
        return 0;
    const enum hp_metric_kind kind = (enum hp_metric_kind)name->kind;
    return taking->is_own ? hp_metric_sums_safe_name(taking->sums, service, kind, name->text)
                          : hp_metric_sums_name(taking->sums, service, kind, name->text);
}

static void take_values(struct taking *taking, uint32_t series, enum hp_metric_type type)
{
    const bool is_histogram = type == HP_METRIC_HISTOGRAM;
    const size_t count = is_histogram ? hp_metric_take_count(taking->in) : 1;
    taking->in->is_bad |= taking->points->count + count > MOST_POINTS;
    for (size_t at = 0; at < count && !taking->in->is_bad; at++) {
        const uint32_t bucket = is_histogram ? take_below(taking->in, HP_METRIC_BUCKETS) : 0;
        const double value = take_real(taking->in);
        taking->in->is_bad |= value < 0 && type != HP_METRIC_GAUGE;
        if (!taking->in->is_bad && !hp_metric_points_add(taking->points, series, bucket, value))
            taking->sums->is_out_of_memory = true;
    }
}

static void take_series(struct taking *taking, struct hp_metric_renumbered *renumbered)
{
    const size_t count = take_count_below(taking->in, HP_METRIC_SERIES_MOST + 1);
    if (renumbered != NULL) {
        renumbered->numbers = calloc(count + 1, sizeof *renumbered->numbers);
        taking->sums->is_out_of_memory |= renumbered->numbers == NULL;
    }
    for (size_t at = 0; at < count && !taking->in->is_bad && !taking->sums->is_out_of_memory; at++) {
        uint32_t labels[HP_METRIC_LABELS] = {0};
        const uint32_t family = take_below(taking->in, hp_metric_family_count);
        const uint32_t service = take_below(taking->in, taking->service_count + 1);
        taking->in->is_bad |= service == 0;
        if (taking->in->is_bad)
            return;
        const uint32_t owner = taking->services[service - 1];
        for (size_t label = 0; label < HP_METRIC_LABELS; label++)
            labels[label] = take_label(taking, owner, &hp_metric_families[family].labels[label]);
        const uint32_t series = taking->in->is_bad || taking->sums->is_out_of_memory
                                    ? 0
                                    : hp_metric_sums_series(taking->sums, family, owner, labels);
        if (series == 0)
            return;
        take_values(taking, series, (enum hp_metric_type)hp_metric_families[family].type);
        if (renumbered != NULL)
            renumbered->numbers[renumbered->count++] = series;
    }
}

bool hp_metric_sums_take(struct hp_metric_input *in, struct hp_metric_sums *sums, bool is_own,
                         struct hp_metric_points *ret_points, struct hp_metric_renumbered *ret_renumbered,
                         struct hp_metric_refusals *ret_refusals)
{
    struct taking taking = {
        .in = in, .sums = sums, .is_own = is_own, .points = ret_points, .refusals = ret_refusals};
    sums->is_out_of_memory = false;
    ret_points->count = 0;
    take_services(&taking);
    if (!in->is_bad && !sums->is_out_of_memory)
        take_names(&taking);
    if (!in->is_bad && !sums->is_out_of_memory)
        take_series(&taking, ret_renumbered);
    free(taking.services);
    free(taking.names);
    return !in->is_bad && !sums->is_out_of_memory;
}
