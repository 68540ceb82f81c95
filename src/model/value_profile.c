/* Values and gauges of a run. SPDX-License-Identifier: MIT */
#include "value_profile.h"

#include <string.h>

#include "durations.h"
#include "object_profile.h"

/* -------------------------------------------------------------------------------------------------- recent list */

/*
 * The latest values of objects.
 */

/* Newest first; the oldest are dropped. */
static void add(struct hp_recent_list *list, const struct hp_recent_copy *recent)
{
    uint32_t at = list->count;
    while (at > 0 && list->all[at - 1].value.tick < recent->value.tick)
        at--;
    if (at == HP_RECENT_SHOWN)
        return;
    const uint32_t kept = list->count < HP_RECENT_SHOWN ? list->count : HP_RECENT_SHOWN - 1;
    memmove(&list->all[at + 1], &list->all[at], (kept - at) * sizeof list->all[0]);
    list->all[at] = *recent;
    list->count = kept + 1;
}

void hp_recent_list_add(struct hp_recent_list *list, const struct hp_snapshot *session, const struct hp_part *part)
{
    struct hp_recent_copy recent;
    struct hp_walk walk = {0};
    while (hp_snapshot_next_recent(session, part, &walk, &recent))
        add(list, &recent);
}

void hp_recent_list_of(const struct hp_object_record *row, struct hp_recent_list *ret_list)
{
    ret_list->count = 0;
    for (; row != NULL; row = row->next)
        for (const struct hp_object_part *at = row->parts; at != NULL; at = at->next)
            hp_recent_list_add(ret_list, row->session, &at->part);
}

/* ------------------------------------------------------------------------------------------------ value profile */

static const char *const names[] = {"value", "gauge", "count", "debug"};

/* A kind of that name with another layout is another kind. */
bool hp_is_value(const char *name, const struct hp_kind *kind)
{
    if (!(kind->flags & HP_KIND_OWN_TABLE) || kind->counter_count <= HP_VALUE_REAL_SUM)
        return false;
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        if (strcmp(name, names[at]) == 0)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------- numbers */

static double real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real - real == 0 ? real : 0; /* a session may contain infinities and NaN */
}

static struct hp_value_number number_of(uint32_t type, uint64_t bits)
{
    if (type == HP_VALUE_REAL)
        return (struct hp_value_number){.real = real_of(bits)};
    if (type == HP_VALUE_UNSIGNED)
        return (struct hp_value_number){.real = (double)bits};
    return (struct hp_value_number){(double)(int64_t)bits, (int64_t)bits, true};
}

static struct hp_value_number sum_of(struct hp_value_number a, struct hp_value_number b)
{
    struct hp_value_number sum = {.real = a.real + b.real};
    sum.is_whole = a.is_whole && b.is_whole && !__builtin_add_overflow(a.whole, b.whole, &sum.whole);
    return sum;
}

static bool is_less(const struct hp_value_number *a, const struct hp_value_number *b)
{
    return a->is_whole && b->is_whole ? a->whole < b->whole : a->real < b->real;
}

/* ------------------------------------------------------------------------------------------------- sums */

/* What the parts of one process say of a gauge. */
struct gauge {
    struct hp_value_number added, set;
    uint64_t set_tick, last_tick;
};

static void add_to_gauge(struct gauge *gauge, const struct hp_part *part)
{
    gauge->added = sum_of(gauge->added, number_of(part->type, part->count[HP_VALUE_ADDED]));
    if (part->last_tick > gauge->last_tick)
        gauge->last_tick = part->last_tick;
    if (part->count[HP_VALUE_SET_TICK] > gauge->set_tick) {
        gauge->set_tick = part->count[HP_VALUE_SET_TICK];
        gauge->set = number_of(part->type, part->count[HP_VALUE_SET]);
    }
}

static void add_numbers(struct hp_value_sums *sums, const struct hp_part *part)
{
    const struct hp_value_number least = number_of(part->type, part->count[HP_VALUE_LEAST]),
                                 most = number_of(part->type, part->count[HP_VALUE_MOST]);
    if (sums->numbers == 0 || is_less(&least, &sums->least))
        sums->least = least;
    if (sums->numbers == 0 || is_less(&sums->most, &most))
        sums->most = most;
    sums->numbers += part->count[HP_VALUE_NUMBERS];
    sums->mean += real_of(part->count[HP_VALUE_REAL_SUM]); /* the sum, for now */
    struct hp_value_number total = number_of(part->type, part->count[HP_VALUE_SUM]);
    /* The integer sum may have wrapped; doubles do not. */
    const double real = real_of(part->count[HP_VALUE_REAL_SUM]);
    total.is_whole &= real < 0x1p62 && real > -0x1p62;
    total.real = real;
    sums->total = sum_of(sums->total, total);
}

static void add_part(struct hp_value_sums *sums, const struct hp_snapshot *session, const struct hp_part *part)
{
    if (part->count[HP_VALUE_UPDATES] == 0)
        return;
    sums->parts++;
    sums->updates += part->count[HP_VALUE_UPDATES];
    sums->is_sampled |= (part->flags & HP_PART_SAMPLED) != 0;
    if (part->count[HP_VALUE_NUMBERS] > 0)
        add_numbers(sums, part);
    if (part->first_tick < sums->first_tick)
        sums->first_tick = part->first_tick;
    if (part->last_tick > sums->last_tick)
        sums->last_tick = part->last_tick;
    hp_recent_list_add(&sums->recent, session, part);
}

/*
 * The level of the process that updated it last, among those that have set the gauge; if none has, the sum of what
 * all added.
 */
static void add_level(struct hp_value_sums *sums, const struct gauge *gauge, struct gauge *newest)
{
    if (gauge->last_tick == 0)
        return;
    sums->has_level = true;
    if (gauge->set_tick == 0) {
        if (newest->set_tick == 0)
            sums->level = sum_of(sums->level, gauge->added);
    } else if (newest->set_tick == 0 || gauge->last_tick > newest->last_tick) {
        sums->level = sum_of(gauge->set, gauge->added);
        *newest = *gauge;
    }
}

void hp_value_sums_of(const struct hp_object_record *row, struct hp_value_sums *ret_sums)
{
    const struct hp_value_number zero = {.is_whole = true};
    struct gauge newest = {0};
    memset(ret_sums, 0, sizeof *ret_sums);
    ret_sums->first_tick = UINT64_MAX;
    ret_sums->total = ret_sums->level = zero;
    ret_sums->is_gauge = strcmp(row->kind_name, "gauge") == 0;
    ret_sums->is_count = strcmp(row->kind_name, "count") == 0;
    for (const struct hp_object_record *record = row; record != NULL; record = record->next) {
        struct gauge gauge = {.added = zero, .set = zero};
        for (const struct hp_object_part *at = record->parts; at != NULL; at = at->next) {
            add_part(ret_sums, record->session, &at->part);
            add_to_gauge(&gauge, &at->part);
        }
        if (ret_sums->is_gauge)
            add_level(ret_sums, &gauge, &newest);
    }
    /* The integer sum is exact, if it did not wrap. */
    if (!ret_sums->is_gauge && ret_sums->total.is_whole)
        ret_sums->mean = (double)ret_sums->total.whole;
    if (ret_sums->numbers > 0)
        ret_sums->mean /= (double)ret_sums->numbers;
}

/* ------------------------------------------------------------------------------------------------- percentiles */

void hp_value_distribution_of(const struct hp_object_record *row, struct hp_value_distribution *ret_distribution)
{
    memset(ret_distribution, 0, sizeof *ret_distribution);
    for (; row != NULL; row = row->next)
        for (const struct hp_object_part *at = row->parts; at != NULL; at = at->next) {
            hp_snapshot_add_magnitudes(row->session, at->part.histograms[0], &ret_distribution->positive);
            hp_snapshot_add_magnitudes(row->session, at->part.histograms[1], &ret_distribution->negative);
        }
}

void hp_object_distribution_of(const struct hp_object_record *row, uint32_t histogram,
                               struct hp_value_distribution *ret_distribution)
{
    memset(ret_distribution, 0, sizeof *ret_distribution);
    for (; row != NULL; row = row->next)
        for (const struct hp_object_part *at = row->parts; at != NULL; at = at->next)
            hp_snapshot_add_magnitudes(row->session, at->part.histograms[histogram], &ret_distribution->positive);
}

static uint64_t counted(const struct hp_magnitudes *magnitudes)
{
    uint64_t sum = 0;
    for (size_t octave = 0; octave < HP_MAGNITUDES; octave++)
        for (size_t step = 0; step < HP_MAGNITUDE_STEPS; step++)
            sum += magnitudes->steps[octave][step];
    return sum;
}

/* Where step `number` begins, counted from the smallest magnitude. */
static double begin_of(uint32_t number)
{
    double begin = 1 + (double)(number % HP_MAGNITUDE_STEPS) / HP_MAGNITUDE_STEPS;
    uint32_t octave = number / HP_MAGNITUDE_STEPS;
    for (; octave > HP_MAGNITUDE_ONE; octave--)
        begin *= 2;
    for (; octave < HP_MAGNITUDE_ONE; octave++)
        begin /= 2;
    return begin;
}

static double round_up(double number)
{
    if (number >= 0x1p53)
        return number;
    const double whole = (double)(uint64_t)number;
    return whole < number ? whole + 1 : whole;
}

/* The middle of a counter's range; for integers, the middle of those in it. */
static double middle_of(uint32_t number, bool is_whole)
{
    const double begin = begin_of(number), end = begin_of(number + 1);
    if (is_whole && end < 0x1p53)
        return (round_up(begin) + round_up(end) - 1) / 2;
    return (begin + end) / 2;
}

/* The magnitude below which the smallest `left` values are. */
static double find(const struct hp_magnitudes *magnitudes, uint64_t left, bool is_whole)
{
    const uint32_t all = HP_MAGNITUDES * HP_MAGNITUDE_STEPS;
    uint32_t number = 0;
    for (; number < all; number++) {
        const uint64_t here = magnitudes->steps[number / HP_MAGNITUDE_STEPS][number % HP_MAGNITUDE_STEPS];
        if (left <= here)
            break;
        left -= here;
    }
    return middle_of(number < all ? number : all - 1, is_whole);
}

static double clamp(double number, const struct hp_value_sums *sums)
{
    return number < sums->least.real ? sums->least.real : number > sums->most.real ? sums->most.real : number;
}

static struct hp_value_number as_number(double real, bool is_whole)
{
    const bool fits = is_whole && real > -0x1p53 && real < 0x1p53 && (double)(int64_t)real == real;
    return (struct hp_value_number){real, fits ? (int64_t)real : 0, fits};
}

uint64_t hp_distribution_count(const struct hp_value_distribution *distribution)
{
    return counted(&distribution->negative) + counted(&distribution->positive) + distribution->positive.zeros +
           distribution->negative.zeros;
}

bool hp_distribution_percentile(const struct hp_value_distribution *distribution, double percentile, bool is_whole,
                                double *ret_number)
{
    const uint64_t below = counted(&distribution->negative), above = counted(&distribution->positive);
    const uint64_t zeros = distribution->positive.zeros + distribution->negative.zeros;
    if (below + zeros + above == 0)
        return false;
    const uint64_t rank = hp_durations_rank(percentile, below + zeros + above);
    *ret_number = 0;
    if (rank <= below) /* the lowest values have the largest magnitudes */
        *ret_number = -find(&distribution->negative, below - rank + 1, is_whole);
    else if (rank > below + zeros)
        *ret_number = find(&distribution->positive, rank - below - zeros, is_whole);
    return true;
}

bool hp_value_percentile(const struct hp_value_sums *sums, const struct hp_value_distribution *distribution,
                         double percentile, struct hp_value_number *ret_number)
{
    if (sums->numbers == 0)
        return false;
    if (percentile <= 0 || percentile >= 100) {
        *ret_number = percentile <= 0 ? sums->least : sums->most;
        return true;
    }
    const bool is_whole = sums->least.is_whole && sums->most.is_whole;
    double number;
    if (!hp_distribution_percentile(distribution, percentile, is_whole, &number))
        return false;
    *ret_number = as_number(clamp(number, sums), is_whole);
    return true;
}
