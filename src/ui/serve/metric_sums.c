/* Sums of metrics over many sessions. SPDX-License-Identifier: MIT */
#include "metric_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "labels.h"
#include "text.h"
#include "utf8.h"

#define LONGEST_NAME 200u  /* of a label, in bytes */
#define MOST_REFUSED 4096u /* names without series that are told apart, per kind and service ... */
#define MOST_NAMES 200000u /* ... as long as there are no more names in all */

/* ------------------------------------------------------------------------------------------------------ buckets */

const char *const hp_metric_bound_names[HP_METRIC_BOUNDS] = {"1e-06", "3e-06", "1e-05", "3e-05", "0.0001", "0.0003",
                                                             "0.001", "0.003", "0.01",  "0.03",  "0.1",    "0.3",
                                                             "1.0",   "3.0",   "10.0",  "30.0"};

static const double bounds[HP_METRIC_BOUNDS] = {1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3,
                                                1e-2, 3e-2, 0.1,  0.3,  1,    3,    10,   30};

uint32_t hp_metric_bound_of(double seconds)
{
    uint32_t at = 0;
    while (at < HP_METRIC_BOUNDS && seconds > bounds[at])
        at++;
    return HP_METRIC_FIRST_BOUND + at;
}

uint32_t hp_metric_power_of(double seconds)
{
    int power = seconds > 0 ? (int)ceil(8 * log2(seconds)) : HP_METRIC_LEAST_POWER;
    power = power < HP_METRIC_LEAST_POWER  ? HP_METRIC_LEAST_POWER
            : power > HP_METRIC_MOST_POWER ? HP_METRIC_MOST_POWER
                                           : power;
    return HP_METRIC_FIRST_POWER + (uint32_t)(power - HP_METRIC_LEAST_POWER);
}

/* ------------------------------------------------------------------------------------------------------- points */

/* Programs may have any values. Their sum has to be a number, too, from which each can be taken off again. */
#define MOST_VALUE 0x1p980

bool hp_metric_points_add(struct hp_metric_points *points, uint32_t series, uint32_t bucket, double value)
{
    value = fmax(-MOST_VALUE, fmin(value, MOST_VALUE));
    if (!HP_MAKE_ROOM(points->all, points->count + 1, points->room))
        return false;
    points->all[points->count++] = (struct hp_metric_point){series, bucket, value};
    return true;
}

void hp_metric_points_free(struct hp_metric_points *points)
{
    free(points->all);
    *points = (struct hp_metric_points){0};
}

static int compare_points(const void *a, const void *b)
{
    const struct hp_metric_point *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return x->bucket == y->bucket ? 0 : x->bucket < y->bucket ? -1 : 1;
}

/* In order, and one for each bucket: rows that share a series are added up. */
static void settle(struct hp_metric_points *points)
{
    size_t kept = 0;
    if (points->count > 1)
        qsort(points->all, points->count, sizeof *points->all, compare_points);
    for (size_t at = 0; at < points->count; at++) {
        if (kept > 0 && compare_points(&points->all[kept - 1], &points->all[at]) == 0)
            points->all[kept - 1].value += points->all[at].value;
        else
            points->all[kept++] = points->all[at];
    }
    points->count = kept;
}

/* -------------------------------------------------------------------------------------------------------- names */

void hp_metric_sums_free(struct hp_metric_sums *sums)
{
    for (size_t at = 0; at < sums->name_count; at++)
        free(sums->names[at].text);
    for (size_t at = 0; at < sums->series_count; at++)
        free(sums->series[at].buckets);
    free(sums->names);
    free(sums->services);
    free(sums->series);
    hp_hash_free(&sums->name_index);
    hp_hash_free(&sums->series_index);
    *sums = (struct hp_metric_sums){0};
}

#define SAFE_BYTES (8u * LONGEST_NAME)

/*
 * As it is served: invalid UTF-8 and control characters are replaced; a long one is cut, but stays unique. Names
 * that are the same then share a series, since a series must be unique.
 */
static void make_safe(char safe[SAFE_BYTES], enum hp_metric_kind kind, const char *name)
{
    struct hp_text text;
    char plain[64];
    if (kind == HP_METRIC_THREAD) { /* the kernel's names have at most 15 bytes */
        size_t used = 0;
        for (const char *at = name; *at != '\0' && used + 1 < sizeof plain; at++)
            if (*at < '0' || *at > '9')
                plain[used++] = *at;
        while (used > 0 && strchr(" -_:/#.", plain[used - 1]) != NULL)
            used--;
        plain[used] = '\0';
        name = used > 0 ? plain : name;
    }
    const bool is_long = strlen(name) > LONGEST_NAME;
    size_t length = is_long ? LONGEST_NAME - 10 : strlen(name);
    while (is_long && length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
        length--; /* not inside a character */
    hp_text_init(&text, safe, SAFE_BYTES);
    hp_utf8_put_safe(&text, name, length);
    if (is_long) {
        hp_text_char(&text, '~');
        hp_text_hex(&text, (uint32_t)hp_text_hash(name, strlen(name)), 8);
    }
    hp_text_end(&text);
}

/* Words are few, and tell families of one name apart. */
static bool has_room(const struct hp_metric_sums *sums, uint32_t service, enum hp_metric_kind kind)
{
    return sums->services[service].named[kind] < hp_metric_kind_limit(kind) &&
           (kind == HP_METRIC_WORD || sums->shown < HP_METRIC_NAMED_MOST);
}

/* Rows beside those of functions, and what is left out. */
static bool is_own_name(const char *safe)
{
    return strcmp(safe, HP_OUTSIDE) == 0 || strcmp(safe, HP_STARTUP) == 0 || strcmp(safe, HP_METRIC_OTHER) == 0;
}

static uint32_t no_memory(struct hp_metric_sums *sums)
{
    sums->is_out_of_memory = true;
    return 0;
}

/*
 * The number of a name that is safe. A new one is put in if there is room for it, or if it `is_needed`; otherwise
 * it is only counted, once. 0: it has no series.
 */
static uint32_t find_name(struct hp_metric_sums *sums, uint32_t service, enum hp_metric_kind kind, const char *safe,
                          bool is_needed)
{
    struct hp_metric_service *owner = &sums->services[service];
    if (!hp_hash_make_room(&sums->name_index) || !HP_MAKE_ROOM(sums->names, sums->name_count + 1, sums->name_room))
        return no_memory(sums);
    const uint64_t hash = hp_text_hash(safe, strlen(safe));
    const uint32_t key =
        hp_hash_with(&sums->name_index, hp_hash_with(&sums->name_index, (uint32_t)kind, service), hash);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&sums->name_index, key, &slot)) != 0;) {
        const struct hp_metric_name *name = &sums->names[number - 1];
        if (name->hash != hash || name->service != service || name->kind != kind)
            continue;
        if (name->text == NULL)
            return 0;
        if (strcmp(name->text, safe) == 0)
            return number;
    }
    const bool is_named = is_needed || has_room(sums, service, kind);
    if (!is_named && (owner->refused[kind] >= MOST_REFUSED || sums->name_count >= MOST_NAMES))
        return 0;
    char *text = is_named ? strdup(safe) : NULL;
    if (is_named && text == NULL)
        return no_memory(sums);
    *(is_named ? &owner->named[kind] : &owner->refused[kind]) += !is_needed;
    sums->names[sums->name_count++] =
        (struct hp_metric_name){.text = text, .hash = hash, .service = service, .kind = (uint8_t)kind};
    hp_hash_put(&sums->name_index, slot, key, (uint32_t)sums->name_count);
    return is_named ? (uint32_t)sums->name_count : 0;
}

uint32_t hp_metric_sums_safe_name(struct hp_metric_sums *sums, uint32_t service, enum hp_metric_kind kind,
                                  const char *safe)
{
    const uint32_t number = find_name(sums, service, kind, safe, is_own_name(safe));
    return number != 0 || sums->is_out_of_memory ? number : find_name(sums, service, kind, HP_METRIC_OTHER, true);
}

uint32_t hp_metric_sums_name(struct hp_metric_sums *sums, uint32_t service, enum hp_metric_kind kind,
                             const char *text)
{
    char safe[SAFE_BYTES];
    make_safe(safe, kind, text);
    return hp_metric_sums_safe_name(sums, service, kind, safe);
}

uint32_t hp_metric_sums_service(struct hp_metric_sums *sums, const char *name)
{
    if (!HP_MAKE_ZEROED_ROOM(sums->services, sums->service_count + 2, sums->service_room))
        return no_memory(sums);
    sums->service_count += sums->service_count == 0;
    const uint32_t number = hp_metric_sums_name(sums, 0, HP_METRIC_SERVICE, name);
    if (number == 0)
        return 0;
    for (uint32_t at = 1; at < sums->service_count; at++)
        if (sums->services[at].name == number)
            return at;
    sums->services[sums->service_count].name = number;
    return (uint32_t)sums->service_count++;
}

const char *hp_metric_service_name(const struct hp_metric_sums *sums, uint32_t service)
{
    return sums->names[sums->services[service].name - 1].text;
}

/* ------------------------------------------------------------------------------------------------------- series */

/* A histogram has a line per bound and three more. */
static size_t lines_of(uint32_t family)
{
    return hp_metric_families[family].type == HP_METRIC_HISTOGRAM ? HP_METRIC_BOUNDS + 3 : 1;
}

/* Room for one series of each family: that of all that has none of its own. */
static size_t last_resort(void)
{
    size_t lines = 0;
    for (uint32_t family = 0; family < hp_metric_family_count; family++)
        lines += lines_of(family);
    return lines;
}

/* One that exists, or a new one if `most` series are not exceeded by it. 0: it would be too many. */
static uint32_t take_series(struct hp_metric_sums *sums, struct hp_metric_series wanted, size_t most)
{
    if (!hp_hash_make_room(&sums->series_index) ||
        !HP_MAKE_ROOM(sums->series, sums->series_count + 1, sums->series_room))
        return no_memory(sums);
    uint32_t key = hp_hash_with(&sums->series_index, wanted.service, wanted.family);
    for (size_t at = 0; at < HP_METRIC_LABELS; at++)
        key = hp_hash_with(&sums->series_index, key, wanted.labels[at]);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&sums->series_index, key, &slot)) != 0;) {
        const struct hp_metric_series *series = &sums->series[number - 1];
        if (series->family == wanted.family && series->service == wanted.service &&
            memcmp(series->labels, wanted.labels, sizeof wanted.labels) == 0)
            return number;
    }
    if (sums->shown + lines_of(wanted.family) > most)
        return 0;
    if (hp_metric_families[wanted.family].type == HP_METRIC_HISTOGRAM) {
        wanted.buckets = calloc(HP_METRIC_BUCKETS, sizeof *wanted.buckets);
        if (wanted.buckets == NULL)
            return no_memory(sums);
    }
    sums->shown += lines_of(wanted.family);
    sums->series[sums->series_count++] = wanted;
    hp_hash_put(&sums->series_index, slot, key, (uint32_t)sums->series_count);
    return (uint32_t)sums->series_count;
}

/* A name that lacks one of its series counts as one that has none. */
static void leave_out(struct hp_metric_sums *sums, uint32_t number)
{
    struct hp_metric_name *name = &sums->names[number - 1];
    if (!name->is_left_out && strcmp(name->text, HP_METRIC_OTHER) != 0)
        sums->services[name->service].refused[name->kind]++;
    name->is_left_out = true;
}

/* The series of all names of the service, or of all services, which has room always. */
static uint32_t take_other(struct hp_metric_sums *sums, struct hp_metric_series wanted)
{
    const struct hp_metric_label *labels = hp_metric_families[wanted.family].labels;
    if (wanted.labels[0] != 0) {
        leave_out(sums, wanted.labels[0]);
        wanted.labels[0] =
            hp_metric_sums_name(sums, wanted.service, (enum hp_metric_kind)labels[0].kind, HP_METRIC_OTHER);
    }
    const uint32_t number = take_series(sums, wanted, HP_METRIC_SERIES_MOST - last_resort());
    if (number != 0 || sums->is_out_of_memory)
        return number;
    leave_out(sums, sums->services[wanted.service].name);
    wanted.service = hp_metric_sums_service(sums, HP_METRIC_OTHER);
    for (size_t at = 0; at < HP_METRIC_LABELS && wanted.service != 0; at++)
        if (wanted.labels[at] != 0)
            wanted.labels[at] =
                hp_metric_sums_name(sums, wanted.service, (enum hp_metric_kind)labels[at].kind,
                                    labels[at].always != NULL ? labels[at].always : HP_METRIC_OTHER);
    return sums->is_out_of_memory ? 0 : take_series(sums, wanted, HP_METRIC_SERIES_MOST);
}

uint32_t hp_metric_sums_series(struct hp_metric_sums *sums, uint32_t family, uint32_t service,
                               const uint32_t labels[HP_METRIC_LABELS])
{
    struct hp_metric_series wanted = {.family = family, .service = service};
    memcpy(wanted.labels, labels, sizeof wanted.labels);
    const uint32_t number = take_series(sums, wanted, HP_METRIC_NAMED_MOST);
    return number != 0 || sums->is_out_of_memory ? number : take_other(sums, wanted);
}

static void add(struct hp_metric_sums *sums, const struct hp_metric_point *point, double more)
{
    struct hp_metric_series *series = &sums->series[point->series - 1];
    *(series->buckets != NULL ? &series->buckets[point->bucket] : &series->value) += more;
}

static bool is_gauge(const struct hp_metric_sums *sums, const struct hp_metric_point *point)
{
    return hp_metric_families[sums->series[point->series - 1].family].type == HP_METRIC_GAUGE;
}

/* ------------------------------------------------------------------------------------------------------ updates */

bool hp_metric_sums_update(struct hp_metric_sums *sums, struct hp_metric_points *known,
                           struct hp_metric_points *fresh)
{
    struct hp_metric_points merged = {0};
    settle(fresh);
    if (!HP_MAKE_ROOM(merged.all, known->count + fresh->count, merged.room))
        return false;
    for (size_t old = 0, new = 0; old < known->count || new < fresh->count;) {
        const struct hp_metric_point *was = old < known->count ? &known->all[old] : NULL;
        const struct hp_metric_point *is = new < fresh->count ? &fresh->all[new] : NULL;
        const int order = was == NULL ? 1 : is == NULL ? -1 : compare_points(was, is);
        struct hp_metric_point point = order <= 0 ? *was : *is;
        const double before = order <= 0 ? was->value : 0, now = order >= 0 ? is->value : 0;
        point.value = is_gauge(sums, &point) || now > before ? now : before;
        add(sums, &point, point.value - before);
        old += order <= 0;
        new += order >= 0;
        if (order >= 0 || !is_gauge(sums, &point))
            merged.all[merged.count++] = point;
    }
    hp_metric_points_free(known);
    *known = merged;
    fresh->count = 0;
    return true;
}

void hp_metric_sums_end(struct hp_metric_sums *sums, struct hp_metric_points *known)
{
    size_t kept = 0;
    for (size_t at = 0; at < known->count; at++) {
        if (is_gauge(sums, &known->all[at]))
            add(sums, &known->all[at], -known->all[at].value);
        else
            known->all[kept++] = known->all[at];
    }
    known->count = kept;
}
