/* Sums of metrics as text. SPDX-License-Identifier: MIT */
#include "metric_text.h"

#include <stdlib.h>
#include <string.h>

#include "hotpath.h"

/* ------------------------------------------------------------------------------------------------------- accept */

static const char *parameter_of(const char *range, size_t length, const char *name)
{
    for (const char *at = range; at < range + length; at++)
        if (*at == ';') {
            at += 1 + strspn(at + 1, " \t");
            if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '=')
                return at + strlen(name) + 1;
            at--;
        }
    return NULL;
}

static bool has_parameter(const char *range, size_t length, const char *name, const char *value)
{
    const char *found = parameter_of(range, length, name);
    return found != NULL && strncmp(found, value, strlen(value)) == 0;
}

/* Of one range of Accept: how much it is wanted, if it is that type; else 0. */
static double quality_of(const char *range, size_t length, const char *type)
{
    const size_t named = strlen(type);
    const char *quality = parameter_of(range, length, "q");
    if (length < named || strncmp(range, type, named) != 0 || strchr("; \t,", range[named]) == NULL)
        return 0;
    return quality != NULL ? strtod(quality, NULL) : 1;
}

static void raise_to(double *most, double quality) { *most = quality > *most ? quality : *most; }

enum hp_metric_format hp_metric_format_of(const char *accept)
{
    double text = 0, openmetrics = 0, protobuf = 0;
    for (const char *at = accept; at != NULL && *at != '\0';) {
        at += strspn(at, ", \t");
        const size_t length = strcspn(at, ",");
        raise_to(&text, quality_of(at, length, "text/plain"));
        raise_to(&openmetrics, quality_of(at, length, "application/openmetrics-text"));
        if (has_parameter(at, length, "proto", "io.prometheus.client.MetricFamily") &&
            has_parameter(at, length, "encoding", "delimited"))
            raise_to(&protobuf, quality_of(at, length, "application/vnd.google.protobuf"));
        at += length;
    }
    if (protobuf > 0 && protobuf >= openmetrics && protobuf >= text)
        return HP_METRIC_PROTOBUF;
    return openmetrics > 0 && openmetrics >= text ? HP_METRIC_OPENMETRICS : HP_METRIC_TEXT;
}

/* ------------------------------------------------------------------------------------------------------ samples */

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

struct saying {
    const struct hp_metric_text *metrics;
    hp_metric_say *say;
    void *context;
};

static void say_which(const struct saying *saying)
{
    const struct hp_metric_text *metrics = saying->metrics;
    struct hp_metric_about about = {.name = "hotpath_build",
                                    .help = "The version of hotpath that serves this.",
                                    .is_info = true,
                                    .pairs = {{"version", HOTPATH_VERSION}},
                                    .pair_count = 1,
                                    .number = 1};
    if (metrics->is_of_one) {
        about.name = "hotpath_session";
        about.help = "The program that is measured.";
        about.pairs[1] = about.pairs[0];
        about.pairs[0] = (struct hp_metric_pair){"program", metrics->program};
        about.pair_count = 2;
    }
    saying->say(saying->context, &about);
}

static void say_number(const struct saying *saying, const char *name, const char *help, double number)
{
    saying->say(saying->context, &(struct hp_metric_about){.name = name, .help = help, .number = number});
}

static void say_nameless(const struct saying *saying, const char *service, enum hp_metric_kind kind,
                         uint32_t number)
{
    const struct hp_metric_about about = {
        .name = "hotpath_names_without_metrics",
        .help = "Names without series of their own, because too many have some already.",
        .pairs = {{"service", service}, {"kind", hp_metric_kind_name(kind)}},
        .pair_count = 2,
        .number = number};
    saying->say(saying->context, &about);
}

/* How many names of a service have no series; those of functions always. */
static void say_nameless_of(const struct saying *saying, uint32_t service)
{
    const uint32_t *refused = saying->metrics->sums->services[service].refused;
    const char *name = saying->metrics->is_of_one ? NULL : hp_metric_service_name(saying->metrics->sums, service);
    for (uint32_t kind = HP_METRIC_FUNCTION; kind < HP_METRIC_KINDS; kind++)
        if (kind == HP_METRIC_FUNCTION || refused[kind] > 0)
            say_nameless(saying, name, (enum hp_metric_kind)kind, refused[kind]);
}

void hp_metric_say_about(const struct hp_metric_text *metrics, hp_metric_say *say, void *context)
{
    const struct saying saying = {metrics, say, context};
    const struct hp_metric_sums *sums = metrics->sums;
    say_which(&saying);
    if (!metrics->is_of_one)
        say_nameless(&saying, NULL, HP_METRIC_SERVICE,
                     sums->service_count > 0 ? sums->services[0].refused[HP_METRIC_SERVICE] : 0);
    for (uint32_t service = 1; service < sums->service_count; service++)
        if (metrics->service == 0 || metrics->service == service)
            say_nameless_of(&saying, service);
    if (metrics->is_of_one) {
        say_number(&saying, "hotpath_functions_without_metrics",
                   "Functions without metrics, because too many have metrics already.",
                   sums->services[1].refused[HP_METRIC_FUNCTION]);
        say_number(&saying, "hotpath_locks_without_metrics",
                   "Locks without metrics, because too many have metrics already.",
                   sums->services[1].refused[HP_METRIC_LOCK]);
    } else {
        say_number(&saying, "hotpath_sessions_without_metrics",
                   "Sessions that were not read: there are too many, or they cannot be read.",
                   (double)metrics->left_out);
    }
    if (metrics->more.say_all != NULL)
        metrics->more.say_all(metrics->more.source, say, context);
}

const char *hp_metric_suffix_of(const struct hp_metric_about *about)
{
    return about->is_info ? "_info" : about->is_counter ? "_total" : "";
}

struct written {
    const struct hp_metric_text *metrics;
    struct hp_text *out;
    const char *last_name;
};

static void put_about(void *context, const struct hp_metric_about *about)
{
    struct written *written = context;
    if (strcmp(written->last_name, about->name) != 0)
        put_head(written->metrics, written->out, about->name,
                 about->is_info      ? "info"
                 : about->is_counter ? "counter"
                                     : "gauge",
                 NULL, about->help);
    written->last_name = about->name;
    put_sample(written->out, about->name, hp_metric_suffix_of(about), about->pairs, about->pair_count,
               about->number);
}

void hp_metric_text_write(const struct hp_metric_text *metrics, struct hp_text *out)
{
    struct written written = {metrics, out, ""};
    const char *last_name = "";
    hp_metric_say_about(metrics, put_about, &written);
    for (uint32_t at = 0; at < hp_metric_family_count; at++)
        put_family(metrics, out, at, &last_name);
    if (metrics->is_openmetrics)
        hp_text_string(out, "# EOF\n");
}
