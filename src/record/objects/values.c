/*
 * HOTPATH_VALUE, HOTPATH_GAUGE_SET, HOTPATH_GAUGE_ADD, HOTPATH_COUNT and HOTPATH_DEBUG: numbers from the program.
 *
 * A thread adds to its part: count, sum, extremes, a histogram, and a few recent values with their times. Integers
 * stay integers; a key that gets both integers and other numbers has doubles from then on.
 *
 * A gauge that is only set is the value set last. One that is added to is that value plus everything added since,
 * by any thread. No thread writes another's data: each keeps the sum of everything it ever added, and a thread that
 * sets the gauge subtracts these sums from the value it stores. So the level is always the stored value plus all
 * sums. Adding them up reads the parts of all threads; a thread that adds does so each time while it is alone, else
 * once in SAMPLED_ADDS times.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "objects.h"

#define SAMPLED_ADDS 16u

#define TYPED                                                                                                      \
    (1u << HP_VALUE_SUM | 1u << HP_VALUE_LEAST | 1u << HP_VALUE_MOST | 1u << HP_VALUE_ADDED | 1u << HP_VALUE_SET)
#define UPDATES                                                                                                    \
    {                                                                                                              \
        "updates", "Updates", HOTPATH_UNIT_COUNT, HP_MERGE_SUM                                                     \
    }
#define NUMBERS                                                                                                    \
    {                                                                                                              \
        "numbers", "Numbers", HOTPATH_UNIT_COUNT, HP_MERGE_SUM                                                     \
    }
#define LEAST                                                                                                      \
    {                                                                                                              \
        "min", "Min", HOTPATH_UNIT_NUMBER, HP_MERGE_LEAST                                                          \
    }
#define MOST                                                                                                       \
    {                                                                                                              \
        "max", "Max", HOTPATH_UNIT_NUMBER, HP_MERGE_MOST                                                           \
    }
#define REAL_SUM                                                                                                   \
    {                                                                                                              \
        "real_sum", "Sum", HOTPATH_UNIT_NUMBER, HP_MERGE_NONE                                                      \
    }
#define DISTRIBUTIONS                                                                                              \
    {                                                                                                              \
        {"value", "Value", HOTPATH_UNIT_NUMBER, HP_MERGE_SUM},                                                     \
        {                                                                                                          \
            "negative", "Below Zero", HOTPATH_UNIT_NUMBER, HP_MERGE_SUM                                            \
        }                                                                                                          \
    }
#define PLAIN_KIND(name_, title_, flags_)                                                                          \
    {                                                                                                              \
        .name = name_, .title = title_, .flags = HP_KIND_OWN_TABLE | (flags_),                                     \
        .typed = TYPED & ~(1u << HP_VALUE_ADDED | 1u << HP_VALUE_SET),                                             \
        .counters = {UPDATES, NUMBERS, {"total", "Total", HOTPATH_UNIT_NUMBER, HP_MERGE_SUM},                      \
                     LEAST,   MOST,    REAL_SUM},                                                                  \
        .histograms = DISTRIBUTIONS                                                                                \
    }

static const struct hp_kind_type kinds[] = {
    [HOTPATH_KIND_VALUE_ - HOTPATH_KIND_VALUE_] = PLAIN_KIND("value", "Value", HP_KIND_BY_NAME),
    [HOTPATH_KIND_GAUGE_ -
        HOTPATH_KIND_VALUE_] = {.name = "gauge",
                                .title = "Gauge",
                                .flags = HP_KIND_OWN_TABLE | HP_KIND_BY_NAME,
                                .goes_on = true,
                                .typed = TYPED & ~(1u << HP_VALUE_SUM),
                                .counters = {UPDATES,
                                             NUMBERS,
                                             {"set_tick", "Set At", HOTPATH_UNIT_NS, HP_MERGE_NONE},
                                             LEAST,
                                             MOST,
                                             REAL_SUM,
                                             {"added", "Added", HOTPATH_UNIT_NUMBER, HP_MERGE_SUM},
                                             {"set", "Set", HOTPATH_UNIT_NUMBER, HP_MERGE_NONE}},
                                .histograms = DISTRIBUTIONS},
    [HOTPATH_KIND_COUNT_ - HOTPATH_KIND_VALUE_] = PLAIN_KIND("count", "Count", HP_KIND_BY_NAME),
    [HOTPATH_KIND_DEBUG_ - HOTPATH_KIND_VALUE_] = PLAIN_KIND("debug", "Expression", 0),
};

static const struct hp_kind_type *kind_of(const struct hotpath_site *site)
{
    return &kinds[(site->kind & ~HOTPATH_KIND_CXX_) - HOTPATH_KIND_VALUE_];
}

/* ------------------------------------------------------------------------------------------------- numbers */

/* A number of one of the types of sums. */
struct number {
    uint32_t type;
    uint64_t bits;
};

static inline uint64_t bits_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static inline double real_of(uint32_t type, uint64_t bits)
{
    double real;
    if (type == HP_VALUE_SIGNED)
        return (double)(int64_t)bits;
    if (type == HP_VALUE_UNSIGNED)
        return (double)bits;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* Converts a value to a number. False: it is none, or cannot be added to others. */
static inline bool number_of(struct hotpath_scalar_ value, struct number *ret_number)
{
    ret_number->bits = value.bits;
    switch (value.type) {
    case HP_VALUE_SIGNED:
    case HP_VALUE_BOOL:
        ret_number->type = HP_VALUE_SIGNED;
        return true;
    case HP_VALUE_UNSIGNED:
        ret_number->type = value.bits > INT64_MAX ? HP_VALUE_UNSIGNED : HP_VALUE_SIGNED;
        return true;
    case HP_VALUE_REAL:
        ret_number->type = HP_VALUE_REAL;
        return (value.bits >> 52 & 0x7ff) != 0x7ff;
    default:
        return false;
    }
}

static inline bool is_less(uint32_t type, uint64_t a, uint64_t b)
{
    if (type == HP_VALUE_SIGNED)
        return (int64_t)a < (int64_t)b;
    return type == HP_VALUE_UNSIGNED ? a < b : real_of(type, a) < real_of(type, b);
}

static uint64_t plus(uint32_t type, uint64_t a, uint64_t b)
{
    return type == HP_VALUE_REAL ? bits_of(real_of(type, a) + real_of(type, b)) : a + b;
}

static struct number as_real(struct number number)
{
    return (struct number){HP_VALUE_REAL, bits_of(real_of(number.type, number.bits))};
}

/* Converts all numbers of the part to doubles, for good. */
static void make_real(struct hp_part *part, const struct hp_kind_type *kind)
{
    for (uint32_t at = 0; at < HP_KIND_COUNTERS; at++)
        if (kind->typed >> at & 1)
            HOTPATH_PUT_(part->count[at], bits_of(real_of(part->type, part->count[at])));
    HOTPATH_PUT_(part->type, HP_VALUE_REAL);
}

/* The number in the type of the part, which may change because of it. */
static inline struct number fit(struct hp_part *part, const struct hp_kind_type *kind, struct number number)
{
    if (HOTPATH_LIKELY_(part->type == number.type))
        return number;
    if (part->type == HP_VALUE_NONE) {
        HOTPATH_PUT_(part->type, number.type);
        return number;
    }
    if (part->type != HP_VALUE_REAL)
        make_real(part, kind);
    return as_real(number);
}

/* ------------------------------------------------------------------------------------------------- values */

static inline void count_update(const struct hp_object_use *use)
{
    if (HOTPATH_LIKELY_(!hp_object_is_paused(use)))
        HOTPATH_ADD_(use->part->count[HP_VALUE_UPDATES], 1);
    hp_part_meet(use->part, use->now);
}

/* Most are integers above zero: then existing counters are found without floating-point arithmetic. */
static inline void distribute(const struct hp_object_use *use, struct number number, double real)
{
    uint64_t *step =
        number.type == HP_VALUE_SIGNED && (int64_t)number.bits > 0 ? hp_object_step(use, 0, number.bits) : NULL;
    if (HOTPATH_LIKELY_(step != NULL))
        HOTPATH_ADD_(*step, 1);
    else
        hp_object_distribute(use, real < 0, real < 0 ? -real : real);
}

/* In the part's type. */
static inline void add_number(const struct hp_object_use *use, struct number number)
{
    struct hp_part *part = use->part;
    const double real = real_of(number.type, number.bits);
    const bool is_first = part->count[HP_VALUE_NUMBERS] == 0;
    HOTPATH_PUT_(part->count[HP_VALUE_REAL_SUM],
                 bits_of(real_of(HP_VALUE_REAL, part->count[HP_VALUE_REAL_SUM]) + real));
    if (is_first || is_less(number.type, number.bits, part->count[HP_VALUE_LEAST]))
        HOTPATH_PUT_(part->count[HP_VALUE_LEAST], number.bits);
    if (is_first || is_less(number.type, part->count[HP_VALUE_MOST], number.bits))
        HOTPATH_PUT_(part->count[HP_VALUE_MOST], number.bits);
    HOTPATH_ADD_(part->count[HP_VALUE_NUMBERS], 1);
    distribute(use, number, real);
    HOTPATH_PUT_(part->last, number.bits);
}

static void remember(const struct hp_object_use *use, struct hotpath_scalar_ value)
{
    const char *text = NULL;
    if (value.type == HP_VALUE_TEXT) {
        text = value.bits != 0 ? (const char *)(uintptr_t)value.bits : "(null)";
        value.bits = strnlen(text, HP_LOG_TEXT);
    }
    hp_object_remember(use, value.bits, value.type, text);
}

static void record(const struct hp_object_use *use, const struct hp_kind_type *kind, struct hotpath_scalar_ value)
{
    struct number number;
    if (HOTPATH_LIKELY_(number_of(value, &number))) {
        number = fit(use->part, kind, number);
        if (kind != &kinds[HOTPATH_KIND_GAUGE_ - HOTPATH_KIND_VALUE_])
            HOTPATH_PUT_(use->part->count[HP_VALUE_SUM],
                         plus(number.type, use->part->count[HP_VALUE_SUM], number.bits));
        add_number(use, number);
    }
    remember(use, value);
}

/* ------------------------------------------------------------------------------------------------- gauges */

/* A sum over the parts of a gauge: an integer as long as all of them are. */
struct level {
    bool is_real;
    uint64_t whole;
    double real;
};

static void lift(struct level *level, uint32_t type, uint64_t bits)
{
    level->is_real |= type == HP_VALUE_REAL;
    level->whole += bits;
    level->real += real_of(type, bits);
}

static const struct hp_part *next_part(const struct hp_object_use *use, const struct hp_part *part)
{
    const uint32_t offset =
        part == NULL ? __atomic_load_n(&hp_object_of(use)->parts, __ATOMIC_ACQUIRE) : part->sibling;
    return offset != 0 ? (const struct hp_part *)(const void *)(use->context->hot.base + offset) : NULL;
}

/* Everything that all threads ever added. */
static struct level sum_of_added(const struct hp_object_use *use)
{
    struct level level = {0};
    for (const struct hp_part *part = NULL; (part = next_part(use, part)) != NULL;)
        lift(&level, HOTPATH_GET_(part->type), HOTPATH_GET_(part->count[HP_VALUE_ADDED]));
    return level;
}

static struct hotpath_scalar_ scalar_of(const struct level *level)
{
    if (level->is_real)
        return (struct hotpath_scalar_){HP_VALUE_REAL, bits_of(level->real)};
    return (struct hotpath_scalar_){HP_VALUE_SIGNED, level->whole};
}

/* The value set last by any thread, plus everything added. */
static struct hotpath_scalar_ level_of(const struct hp_object_use *use)
{
    struct level level = sum_of_added(use);
    const struct hp_part *newest = NULL;
    uint64_t tick = 0;
    for (const struct hp_part *part = NULL; (part = next_part(use, part)) != NULL;)
        if (HOTPATH_GET_(part->count[HP_VALUE_SET_TICK]) > tick) {
            tick = HOTPATH_GET_(part->count[HP_VALUE_SET_TICK]);
            newest = part;
        }
    if (newest != NULL)
        lift(&level, HOTPATH_GET_(newest->type), HOTPATH_GET_(newest->count[HP_VALUE_SET]));
    return scalar_of(&level);
}

/* The value to store for a gauge set to `number`: that, minus everything added so far. */
static struct number less_added(const struct hp_object_use *use, struct number number)
{
    if (__atomic_load_n(&hp_object_of(use)->is_added, __ATOMIC_RELAXED) == 0)
        return number;
    const struct level added = sum_of_added(use);
    if (!added.is_real && number.type != HP_VALUE_REAL)
        return (struct number){number.type, number.bits - added.whole};
    return (struct number){HP_VALUE_REAL, bits_of(real_of(number.type, number.bits) - added.real)};
}

static void set_gauge(const struct hp_object_use *use, const struct hp_kind_type *kind,
                      struct hotpath_scalar_ value)
{
    struct number number;
    if (number_of(value, &number)) {
        number = fit(use->part, kind, less_added(use, number));
        HOTPATH_PUT_(use->part->count[HP_VALUE_SET], number.bits);
        HOTPATH_PUT_(use->part->count[HP_VALUE_SET_TICK], use->now);
    }
    if (HOTPATH_LIKELY_(!hp_object_is_paused(use)))
        record(use, kind, value);
}

static bool is_alone(const struct hp_object_use *use)
{
    return use->part->sibling == 0 && (const char *)use->part - use->context->hot.base ==
                                          (ptrdiff_t)__atomic_load_n(&hp_object_of(use)->parts, __ATOMIC_RELAXED);
}

/* The same for a thread that is alone. A gauge never set is 0. */
static struct hotpath_scalar_ own_level(const struct hp_part *part)
{
    return (struct hotpath_scalar_){part->type,
                                    plus(part->type, part->count[HP_VALUE_SET], part->count[HP_VALUE_ADDED])};
}

/* An integer is in the part's type already. */
static inline void record_level(const struct hp_object_use *use, const struct hp_kind_type *kind,
                                struct hotpath_scalar_ level)
{
    if (HOTPATH_LIKELY_(level.type == HP_VALUE_SIGNED)) {
        add_number(use, (struct number){level.type, level.bits});
        remember(use, level);
    } else
        record(use, kind, level);
}

static void add_to_gauge(const struct hp_object_use *use, const struct hp_kind_type *kind,
                         struct hotpath_scalar_ value)
{
    struct hp_part *part = use->part;
    struct number number;
    if (!number_of(value, &number))
        return;
    number = fit(part, kind, number);
    HOTPATH_PUT_(part->count[HP_VALUE_ADDED], plus(number.type, part->count[HP_VALUE_ADDED], number.bits));
    if (__atomic_load_n(&hp_object_of(use)->is_added, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&hp_object_of(use)->is_added, 1, __ATOMIC_RELAXED);
    if (__builtin_expect(hp_object_is_paused(use), 0))
        return; /* its level goes on, its statistics do not */
    if (HOTPATH_LIKELY_(is_alone(use))) {
        record_level(use, kind, own_level(part));
        return;
    }
    if (!(part->flags & HP_PART_SAMPLED))
        HOTPATH_PUT_(part->flags, part->flags | HP_PART_SAMPLED);
    if (part->count[HP_VALUE_UPDATES] % SAMPLED_ADDS == 1)
        record(use, kind, level_of(use));
}

/* --------------------------------------------------------------------------------------- entry points of macros */

void hotpath_v1_value(struct hotpath_site *site, struct hotpath_scalar_ value)
{
    const struct hp_kind_type *kind = kind_of(site);
    struct hp_object_use use;
    if (HOTPATH_LIKELY_(hp_object_begin(site, kind, &use))) {
        count_update(&use);
        if (kind == &kinds[HOTPATH_KIND_GAUGE_ - HOTPATH_KIND_VALUE_])
            set_gauge(&use, kind, value);
        else
            record(&use, kind, value);
        hp_object_end(&use);
    }
}

void hotpath_v1_gauge_add(struct hotpath_site *site, struct hotpath_scalar_ value)
{
    const struct hp_kind_type *kind = kind_of(site);
    struct hp_object_use use;
    if (HOTPATH_LIKELY_(hp_object_begin(site, kind, &use))) {
        count_update(&use);
        add_to_gauge(&use, kind, value);
        hp_object_end(&use);
    }
}
