/*
 * Sums of metrics in the text formats of collectors: OpenMetrics 1.0, and the older one of Prometheus (0.0.4).
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_METRIC_TEXT_H
#define HP_SERVE_METRIC_TEXT_H

#include "metric_sums.h"
#include "text.h"

enum hp_metric_format { HP_METRIC_TEXT, HP_METRIC_OPENMETRICS, HP_METRIC_PROTOBUF };

/*
 * What a collector prefers, by the header Accept; NULL: there is none. Others than the text are for those that name
 * them.
 */
enum hp_metric_format hp_metric_format_of(const char *accept);

struct hp_metric_about;
typedef void hp_metric_say(void *context, const struct hp_metric_about *about);

/* Metrics about something else of the server; zeroed: there are none. */
struct hp_metric_more {
    void (*say_all)(void *source, hp_metric_say *say, void *context);
    void *source;
};

struct hp_metric_text {
    const struct hp_metric_sums *sums;
    uint32_t service; /* 0: all of them */
    bool is_of_one;   /* of one session: there is no label `service` */
    bool is_openmetrics;
    const char *program; /* of one session */
    size_t left_out;     /* sessions that were not read; not of one session */
    struct hp_metric_more more;
};

/* A label of a series with its value; NULL: there is no such label. */
struct hp_metric_pair {
    const char *name, *value;
};

#define HP_METRIC_PAIRS (HP_METRIC_LABELS + 1u)

void hp_metric_pairs_of(const struct hp_metric_text *metrics, const struct hp_metric_series *series,
                        struct hp_metric_pair ret_pairs[HP_METRIC_PAIRS]);

/* Nanoseconds are served as seconds. */
double hp_metric_scale_of(const struct hp_metric_family *family);

static inline bool hp_metric_is_written(const struct hp_metric_text *metrics, const struct hp_metric_series *series)
{
    return metrics->service == 0 || metrics->service == series->service;
}

/* What is said about the metrics themselves: a sample, whose family may have several, one after the other. */
struct hp_metric_about {
    const char *name, *help;
    bool is_info;
    bool is_counter; /* named without its _total; others are gauges */
    struct hp_metric_pair pairs[HP_METRIC_PAIRS];
    size_t pair_count;
    double number;
};

/* The end of the name of its samples. */
const char *hp_metric_suffix_of(const struct hp_metric_about *about);

void hp_metric_say_about(const struct hp_metric_text *metrics, hp_metric_say *say, void *context);

void hp_metric_text_write(const struct hp_metric_text *metrics, struct hp_text *out);

#endif
