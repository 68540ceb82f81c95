/* Sums of metrics as text. SPDX-License-Identifier: MIT */
#include "metric_text.h"

#include <string.h>

#include "hotpath.h"

/* The head of a family. In OpenMetrics the name of a counter lacks the _total of its samples. */
static void put_head(const struct hp_metric_text *metrics, struct hp_text *out, const char *name, const char *type,
                     const char *unit, const char *help)
{
    const bool is_counter = strcmp(type, "counter") == 0, is_info = strcmp(type, "info") == 0;
    const char *suffix = metrics->is_openmetrics ? "" : is_counter ? "_total" : is_info ? "_info" : "";
    const char *const lines[][2] = {
        {"HELP", help}, {"TYPE", is_info && !metrics->is_openmetrics ? "gauge" : type}, {"UNIT", unit}};
    for (size_t at = 0; at < (metrics->is_openmetrics && unit != NULL ? 3 : 2); at++)
        hp_text_format(out, "# %s %s%s %s\n", lines[at][0], name, suffix, lines[at][1]);
}

static void put_sample(struct hp_text *out, const char *name, const char *suffix,
                       const struct hp_metric_pair *labels, size_t count, double number)
{
    char before = '{';
    hp_text_string(out, name);
    hp_text_string(out, suffix);
    for (size_t at = 0; at < count; at++) {
        if (labels[at].value == NULL)
            continue;
        hp_text_char(out, before);
        hp_text_format(out, "%s=\"", labels[at].name);
        for (const char *byte = labels[at].value; *byte != '\0'; byte++) {
            if (*byte == '"' || *byte == '\\')
                hp_text_char(out, '\\');
            hp_text_char(out, *byte);
        }
        hp_text_char(out, '"');
        before = ',';
    }
    if (before == ',')
        hp_text_char(out, '}');
    hp_text_char(out, ' ');
    hp_text_real(out, number, 15);
    hp_text_char(out, '\n');
}

double hp_metric_scale_of(const struct hp_metric_family *family)
{
    return family->unit != NULL && strcmp(family->unit, "seconds") == 0 ? 1e-9 : 1;
}

void hp_metric_pairs_of(const struct hp_metric_text *metrics, const struct hp_metric_series *series,
                        struct hp_metric_pair ret_pairs[HP_METRIC_PAIRS])
{
    const struct hp_metric_sums *sums = metrics->sums;
    const char *service = metrics->is_of_one ? NULL : hp_metric_service_name(sums, series->service);
    ret_pairs[0] = (struct hp_metric_pair){"service", service};
    for (size_t at = 0; at < HP_METRIC_LABELS; at++)
        ret_pairs[1 + at] =
            (struct hp_metric_pair){hp_metric_families[series->family].labels[at].name,
                                    series->labels[at] != 0 ? sums->names[series->labels[at] - 1].text : NULL};
}

#define MOST_LABELS (HP_METRIC_LABELS + 2u)

static void put_histogram(struct hp_text *out, const struct hp_metric_family *family,
                          const struct hp_metric_series *series, struct hp_metric_pair labels[MOST_LABELS],
                          size_t count)
{
    double below = 0;
    for (uint32_t at = 0; at <= HP_METRIC_BOUNDS; at++) {
        below += series->buckets[HP_METRIC_FIRST_BOUND + at];
        labels[count] = (struct hp_metric_pair){"le", at < HP_METRIC_BOUNDS ? hp_metric_bound_names[at] : "+Inf"};
        put_sample(out, family->name, "_bucket", labels, count + 1, below);
    }
    put_sample(out, family->name, "_sum", labels, count, series->buckets[0] * hp_metric_scale_of(family));
    put_sample(out, family->name, "_count", labels, count, below);
}

static void put_series(const struct hp_metric_text *metrics, struct hp_text *out,
                       const struct hp_metric_series *series)
{
    const struct hp_metric_family *family = &hp_metric_families[series->family];
    struct hp_metric_pair labels[MOST_LABELS];
    hp_metric_pairs_of(metrics, series, labels);
    if (series->buckets != NULL)
        put_histogram(out, family, series, labels, 1 + HP_METRIC_LABELS);
    else
        put_sample(out, family->name, family->type == HP_METRIC_COUNTER ? "_total" : "", labels,
                   1 + HP_METRIC_LABELS, series->value * hp_metric_scale_of(family));
}

static void put_family(const struct hp_metric_text *metrics, struct hp_text *out, uint32_t number,
                       const char **last_name)
{
    static const char *const types[] = {
        [HP_METRIC_COUNTER] = "counter", [HP_METRIC_GAUGE] = "gauge", [HP_METRIC_HISTOGRAM] = "histogram"};
    const struct hp_metric_family *family = &hp_metric_families[number];
    for (size_t at = 0; at < metrics->sums->series_count; at++) {
        const struct hp_metric_series *series = &metrics->sums->series[at];
        if (series->family != number || !hp_metric_is_written(metrics, series))
            continue;
        if (strcmp(*last_name, family->name) != 0)
            put_head(metrics, out, family->name, types[family->type], family->unit, family->help);
        *last_name = family->name;
        put_series(metrics, out, series);
    }
}

/* ------------------------------------------------------------------------------------------ about the metrics */

static void put_about(const struct hp_metric_text *metrics, struct hp_text *out)
{
    const struct hp_metric_pair one[] = {{"program", metrics->program}, {"version", HOTPATH_VERSION}};
    const char *name = metrics->is_of_one ? "hotpath_session" : "hotpath_build";
    put_head(metrics, out, name, "info", NULL,
             metrics->is_of_one ? "The program that is measured." : "The version of hotpath that serves this.");
    put_sample(out, name, "_info", metrics->is_of_one ? one : one + 1, metrics->is_of_one ? 2 : 1, 1);
}

static void put_number(const struct hp_metric_text *metrics, struct hp_text *out, const char *name,
                       const char *help, double number)
{
    put_head(metrics, out, name, "gauge", NULL, help);
    put_sample(out, name, "", NULL, 0, number);
}

/* How many names of a service have no series; those of functions always. */
static void put_nameless(const struct hp_metric_text *metrics, struct hp_text *out, uint32_t service)
{
    const uint32_t *refused = metrics->sums->services[service].refused;
    const char *name = metrics->is_of_one ? NULL : hp_metric_service_name(metrics->sums, service);
    for (uint32_t kind = HP_METRIC_FUNCTION; kind < HP_METRIC_KINDS; kind++) {
        const struct hp_metric_pair labels[] = {{"service", name},
                                                {"kind", hp_metric_kind_name((enum hp_metric_kind)kind)}};
        if (kind == HP_METRIC_FUNCTION || refused[kind] > 0)
            put_sample(out, "hotpath_names_without_metrics", "", labels, 2, refused[kind]);
    }
}

static void put_left_out(const struct hp_metric_text *metrics, struct hp_text *out)
{
    static const struct hp_metric_pair services[] = {{"kind", "service"}};
    const struct hp_metric_sums *sums = metrics->sums;
    put_head(metrics, out, "hotpath_names_without_metrics", "gauge", NULL,
             "Names without series of their own, because too many have some already.");
    if (!metrics->is_of_one)
        put_sample(out, "hotpath_names_without_metrics", "", services, 1,
                   sums->service_count > 0 ? sums->services[0].refused[HP_METRIC_SERVICE] : 0);
    for (uint32_t service = 1; service < sums->service_count; service++)
        if (metrics->service == 0 || metrics->service == service)
            put_nameless(metrics, out, service);
    if (metrics->is_of_one) {
        put_number(metrics, out, "hotpath_functions_without_metrics",
                   "Functions without metrics, because too many have metrics already.",
                   sums->services[1].refused[HP_METRIC_FUNCTION]);
        put_number(metrics, out, "hotpath_locks_without_metrics",
                   "Locks without metrics, because too many have metrics already.",
                   sums->services[1].refused[HP_METRIC_LOCK]);
    } else {
        put_number(metrics, out, "hotpath_sessions_without_metrics",
                   "Sessions that were not read: there are too many, or they cannot be read.",
                   (double)metrics->left_out);
    }
}

void hp_metric_text_write(const struct hp_metric_text *metrics, struct hp_text *out)
{
    const char *last_name = "";
    put_about(metrics, out);
    for (uint32_t at = 0; at < hp_metric_family_count; at++)
        put_family(metrics, out, at, &last_name);
    put_left_out(metrics, out);
    if (metrics->is_openmetrics)
        hp_text_string(out, "# EOF\n");
}
