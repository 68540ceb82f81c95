/*
 * Sums of metrics over many sessions, some of which have ended. A session is read to points: what each series has
 * in it. Its points replace those of its reading before, and only the difference is added, so that
 *
 *   counters never fall: what a session had counted stays when it has ended, or cannot be read any more;
 *   gauges are those of the sessions that go on.
 *
 * Names of labels are limited, for each kind and service; what a name without series has is in the series of
 * "[other]". A name that has series keeps them. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_METRIC_SUMS_H
#define HP_SERVE_METRIC_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash_index.h"
#include "metric_families.h"

#define HP_METRIC_OTHER "[other]"
#define HP_METRIC_SERIES_MOST 20000u /* of all services, buckets included ... */
#define HP_METRIC_NAMED_MOST 16000u  /* ... and without those of what is left out */

/* ------------------------------------------------------------------------------------------------------ buckets */

/*
 * A histogram has its sum in bucket 0, then a bucket per bound of `le` (without those up to the bound before),
 * one for what is above all of them, and then the exponential ones: bucket `first` + k has what is above
 * 2^((k - 1) / 8) seconds, up to 2^(k / 8). Everything else has one number, in bucket 0.
 */
#define HP_METRIC_BOUNDS 16u
#define HP_METRIC_FIRST_BOUND 1u
#define HP_METRIC_FIRST_POWER (HP_METRIC_FIRST_BOUND + HP_METRIC_BOUNDS + 1u)
#define HP_METRIC_LEAST_POWER (-240) /* a nanosecond */
#define HP_METRIC_MOST_POWER 160     /* 12 days */
#define HP_METRIC_BUCKETS (HP_METRIC_FIRST_POWER + (uint32_t)(HP_METRIC_MOST_POWER - HP_METRIC_LEAST_POWER) + 1u)

/* As in the text of `le`. */
extern const char *const hp_metric_bound_names[HP_METRIC_BOUNDS];

/* The buckets of a duration. */
uint32_t hp_metric_bound_of(double seconds);
uint32_t hp_metric_power_of(double seconds);

/* ------------------------------------------------------------------------------------------------------- points */

struct hp_metric_point {
    uint32_t series, bucket;
    double value;
};

struct hp_metric_points {
    struct hp_metric_point *all;
    size_t count, room;
};

/* False: no memory. */
bool hp_metric_points_add(struct hp_metric_points *points, uint32_t series, uint32_t bucket, double value);
void hp_metric_points_free(struct hp_metric_points *points);

/* --------------------------------------------------------------------------------------------------------- sums */

struct hp_metric_name {
    char *text; /* NULL: it has no series */
    uint64_t hash;
    uint32_t service; /* number of the service, from 1 */
    uint8_t kind;     /* enum hp_metric_kind */
    bool is_left_out; /* it lacks a series */
};

struct hp_metric_service {
    uint32_t name; /* number of its name */
    uint32_t named[HP_METRIC_KINDS], refused[HP_METRIC_KINDS];
};

struct hp_metric_series {
    uint32_t family; /* index in hp_metric_families */
    uint32_t service;
    uint32_t labels[HP_METRIC_LABELS]; /* numbers of names; 0: none */
    double value;                      /* of bucket 0 */
    double *buckets;                   /* of a histogram, with bucket 0; NULL: of everything else */
};

/* Zeroed at first. All numbers of names, services and series are from 1. */
struct hp_metric_sums {
    struct hp_metric_name *names;
    size_t name_count, name_room;
    struct hp_metric_service *services; /* the first is that of services themselves */
    size_t service_count, service_room;
    struct hp_metric_series *series;
    size_t series_count, series_room;
    struct hp_hash_index name_index, series_index;
    size_t shown; /* series with their buckets */
    bool is_out_of_memory;
};

void hp_metric_sums_free(struct hp_metric_sums *sums);

/* Its number, from 1; all of those that are too many share one. 0: no memory. */
uint32_t hp_metric_sums_service(struct hp_metric_sums *sums, const char *name);

/* The same for another name: of a function, ... `text` may be any bytes. */
uint32_t hp_metric_sums_name(struct hp_metric_sums *sums, uint32_t service, enum hp_metric_kind kind,
                             const char *text);

/* The same for a name as these sums have it. */
uint32_t hp_metric_sums_safe_name(struct hp_metric_sums *sums, uint32_t service, enum hp_metric_kind kind,
                                  const char *safe);

/*
 * Its number, from 1. Where it would be one too many, it is that of "[other]" of the service, and at last that of
 * "[other]" of all services. 0: no memory.
 */
uint32_t hp_metric_sums_series(struct hp_metric_sums *sums, uint32_t family, uint32_t service,
                               const uint32_t labels[HP_METRIC_LABELS]);

/* The name of a service. */
const char *hp_metric_service_name(const struct hp_metric_sums *sums, uint32_t service);

/*
 * Adds what is new in `fresh` since `known`, of the same session. `known` is what was read of it then; `fresh` is
 * empty then. False: no memory, and nothing has changed.
 */
bool hp_metric_sums_update(struct hp_metric_sums *sums, struct hp_metric_points *known,
                           struct hp_metric_points *fresh);

/* The session does not go on: its gauges are taken out. It may be updated again. */
void hp_metric_sums_end(struct hp_metric_sums *sums, struct hp_metric_points *known);

#endif
