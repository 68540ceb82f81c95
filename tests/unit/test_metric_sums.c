/* Sums of metrics: what stays, what falls, and what has no series. SPDX-License-Identifier: MIT */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "metric_sums.h"

static const uint32_t no_labels[HP_METRIC_LABELS];

/* The number of a family, by its name. */
static uint32_t family_of(const char *name)
{
    for (uint32_t at = 0; at < hp_metric_family_count; at++)
        if (strcmp(hp_metric_families[at].name, name) == 0)
            return at;
    fail_msg("there is no %s", name);
    return 0;
}

static uint32_t series_of(struct hp_metric_sums *sums, const char *family, uint32_t name)
{
    const uint32_t labels[HP_METRIC_LABELS] = {name};
    return hp_metric_sums_series(sums, family_of(family), hp_metric_sums_service(sums, "shop"),
                                 name != 0 ? labels : no_labels);
}

static void update(struct hp_metric_sums *sums, struct hp_metric_points *known, uint32_t series, double value)
{
    struct hp_metric_points fresh = {0};
    assert_true(hp_metric_points_add(&fresh, series, 0, value));
    assert_true(hp_metric_sums_update(sums, known, &fresh));
    hp_metric_points_free(&fresh);
}

static void counters_never_fall(void **state)
{
    struct hp_metric_sums sums = {0};
    struct hp_metric_points first = {0}, second = {0}, nothing = {0};
    (void)state;
    const uint32_t lost = series_of(&sums, "hotpath_lost_records", 0);
    const double *value = &sums.series[lost - 1].value;
    update(&sums, &first, lost, 100);
    update(&sums, &second, lost, 7);
    assert_float_equal(*value, 107, 0);
    update(&sums, &first, lost, 90); /* read while it changed */
    assert_float_equal(*value, 107, 0);
    update(&sums, &first, lost, 101);
    assert_float_equal(*value, 108, 0);
    hp_metric_sums_end(&sums, &first);
    hp_metric_points_free(&first); /* its file is gone */
    assert_float_equal(*value, 108, 0);
    assert_true(hp_metric_sums_update(&sums, &second, &nothing)); /* a row is missing */
    update(&sums, &second, lost, 8);
    assert_float_equal(*value, 109, 0);
    hp_metric_points_free(&second);
    hp_metric_sums_free(&sums);
}

static void gauges_are_those_of_what_goes_on(void **state)
{
    struct hp_metric_sums sums = {0};
    struct hp_metric_points first = {0}, second = {0};
    (void)state;
    const uint32_t threads = series_of(&sums, "hotpath_threads", 0);
    const double *value = &sums.series[threads - 1].value;
    update(&sums, &first, threads, 5);
    update(&sums, &second, threads, 3);
    update(&sums, &first, threads, 2);
    assert_float_equal(*value, 5, 0);
    hp_metric_sums_end(&sums, &first);
    assert_float_equal(*value, 3, 0);
    update(&sums, &first, threads, 4); /* it was only not to be read */
    assert_float_equal(*value, 7, 0);
    hp_metric_points_free(&first);
    hp_metric_points_free(&second);
    hp_metric_sums_free(&sums);
}

static void the_largest_values_have_a_sum(void **state)
{
    struct hp_metric_sums sums = {0};
    struct hp_metric_points first = {0}, second = {0};
    (void)state;
    const uint32_t threads = series_of(&sums, "hotpath_threads", 0);
    const double *value = &sums.series[threads - 1].value;
    update(&sums, &first, threads, DBL_MAX);
    update(&sums, &second, threads, DBL_MAX);
    assert_true(*value > 1e295 && *value <= DBL_MAX);
    update(&sums, &first, threads, -DBL_MAX);
    update(&sums, &second, threads, -DBL_MAX);
    assert_true(*value < -1e295 && *value >= -DBL_MAX);
    hp_metric_sums_end(&sums, &first);
    hp_metric_sums_end(&sums, &second);
    assert_float_equal(*value, 0, 0);
    hp_metric_points_free(&first);
    hp_metric_points_free(&second);
    hp_metric_sums_free(&sums);
}

static void rows_of_a_series_are_added_up(void **state)
{
    struct hp_metric_sums sums = {0};
    struct hp_metric_points known = {0}, fresh = {0};
    (void)state;
    const uint32_t lost = series_of(&sums, "hotpath_lost_records", 0);
    for (int round = 0; round < 2; round++) {
        for (int row = 1; row <= 4; row++)
            assert_true(hp_metric_points_add(&fresh, lost, 0, row));
        assert_true(hp_metric_sums_update(&sums, &known, &fresh));
        assert_int_equal(fresh.count, 0);
        assert_float_equal(sums.series[lost - 1].value, 10, 0);
    }
    hp_metric_points_free(&known);
    hp_metric_points_free(&fresh);
    hp_metric_sums_free(&sums);
}

static void names_are_limited_and_keep_what_they_have(void **state)
{
    struct hp_metric_sums sums = {0};
    char name[32];
    (void)state;
    const uint32_t shop = hp_metric_sums_service(&sums, "shop"), mail = hp_metric_sums_service(&sums, "mail");
    const uint32_t most = hp_metric_kind_limit(HP_METRIC_FUNCTION);
    uint32_t numbers[1000];
    for (unsigned at = 0; at < 1000; at++) {
        snprintf(name, sizeof name, "f%u", at);
        numbers[at] = hp_metric_sums_name(&sums, shop, HP_METRIC_FUNCTION, name);
        assert_string_equal(sums.names[numbers[at] - 1].text, at < most ? name : HP_METRIC_OTHER);
    }
    for (unsigned at = 0; at < 1000; at++) {
        snprintf(name, sizeof name, "f%u", at);
        assert_int_equal(hp_metric_sums_name(&sums, shop, HP_METRIC_FUNCTION, name), numbers[at]);
    }
    assert_int_equal(sums.services[shop].refused[HP_METRIC_FUNCTION], 1000 - most);
    /* Each service and each kind has a limit of its own. */
    const uint32_t other = hp_metric_sums_name(&sums, mail, HP_METRIC_FUNCTION, "f999");
    assert_string_equal(sums.names[other - 1].text, "f999");
    assert_string_equal(sums.names[hp_metric_sums_name(&sums, shop, HP_METRIC_TASK, "f999") - 1].text, "f999");
    hp_metric_sums_free(&sums);
}

static void services_are_limited(void **state)
{
    struct hp_metric_sums sums = {0};
    char name[32];
    (void)state;
    const uint32_t most = hp_metric_kind_limit(HP_METRIC_SERVICE);
    for (unsigned at = 0; at < 2 * most; at++) {
        snprintf(name, sizeof name, "service %u", at);
        const uint32_t service = hp_metric_sums_service(&sums, name);
        assert_int_equal(service, hp_metric_sums_service(&sums, name));
        assert_string_equal(hp_metric_service_name(&sums, service), at < most ? name : HP_METRIC_OTHER);
    }
    assert_int_equal(sums.services[0].refused[HP_METRIC_SERVICE], most);
    hp_metric_sums_free(&sums);
}

static double sum_of(const struct hp_metric_sums *sums, uint32_t family)
{
    double sum = 0;
    for (size_t at = 0; at < sums->series_count; at++) {
        const struct hp_metric_series *series = &sums->series[at];
        sum += series->family != family ? 0 : series->buckets != NULL ? series->buckets[0] : series->value;
    }
    return sum;
}

static size_t lines_of(const struct hp_metric_sums *sums)
{
    size_t lines = 0;
    for (size_t at = 0; at < sums->series_count; at++)
        lines += sums->series[at].buckets != NULL ? HP_METRIC_BOUNDS + 3 : 1;
    return lines;
}

static bool are_served_alike(const struct hp_metric_sums *sums, const struct hp_metric_series *a,
                             const struct hp_metric_series *b)
{
    bool are = strcmp(hp_metric_families[a->family].name, hp_metric_families[b->family].name) == 0;
    for (size_t at = 0; at < HP_METRIC_LABELS && are; at++)
        are = (a->labels[at] == 0) == (b->labels[at] == 0) &&
              (a->labels[at] == 0 ||
               strcmp(sums->names[a->labels[at] - 1].text, sums->names[b->labels[at] - 1].text) == 0);
    return are;
}

/* Families of one name differ in their labels; so do they where all services are left out. */
static void check_others(const struct hp_metric_sums *sums)
{
    for (size_t at = 0; at < sums->series_count; at++) {
        if (strcmp(hp_metric_service_name(sums, sums->series[at].service), HP_METRIC_OTHER) != 0)
            continue;
        for (size_t other = 0; other < at; other++)
            if (sums->series[at].service == sums->series[other].service)
                assert_false(are_served_alike(sums, &sums->series[at], &sums->series[other]));
    }
}

/* Sessions of `services` services, with names of all kinds; one of each family and name is counted. */
static void fill(struct hp_metric_sums *sums, struct hp_metric_points *known, unsigned services, unsigned names)
{
    struct hp_metric_points fresh = {0};
    char name[32];
    for (unsigned at = 0; at < services; at++) {
        snprintf(name, sizeof name, "service %u", at);
        const uint32_t service = hp_metric_sums_service(sums, name);
        for (unsigned row = 0; row < names; row++)
            for (uint32_t family = 0; family < hp_metric_family_count; family++) {
                uint32_t labels[HP_METRIC_LABELS] = {0};
                for (size_t label = 0; label < HP_METRIC_LABELS; label++) {
                    const struct hp_metric_label *is = &hp_metric_families[family].labels[label];
                    snprintf(name, sizeof name, "name %c%c", 'a' + row / 26, 'a' + row % 26);
                    if (is->kind != HP_METRIC_NO_KIND)
                        labels[label] = hp_metric_sums_name(sums, service, (enum hp_metric_kind)is->kind,
                                                            is->always != NULL ? is->always : name);
                }
                const uint32_t series = hp_metric_sums_series(sums, family, service, labels);
                assert_int_not_equal(series, 0);
                assert_true(hp_metric_points_add(&fresh, series, 0, 1));
            }
    }
    assert_true(hp_metric_sums_update(sums, known, &fresh));
    hp_metric_points_free(&fresh);
}

static void series_of_the_host_are_limited(void **state)
{
    /* One service that has most by far, and many of which even what is left out has no room. */
    static const unsigned cases[][2] = {{1, 400}, {3, 250}, {40, 9}, {100, 60}, {300, 3}};
    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        struct hp_metric_sums sums = {0};
        struct hp_metric_points known = {0};
        for (int round = 0; round < 2; round++) { /* names keep what they have */
            fill(&sums, &known, cases[at][0], cases[at][1]);
            for (uint32_t family = 0; family < hp_metric_family_count; family++)
                assert_true(sum_of(&sums, family) == cases[at][0] * cases[at][1]);
            assert_in_range(lines_of(&sums), 1000, HP_METRIC_SERIES_MOST);
        }
        check_others(&sums);
        hp_metric_points_free(&known);
        hp_metric_sums_free(&sums);
    }
}

static void names_that_are_served_alike_share_a_series(void **state)
{
    struct hp_metric_sums sums = {0};
    char first[400], second[400];
    (void)state;
    const uint32_t shop = hp_metric_sums_service(&sums, "shop");
    assert_int_equal(hp_metric_sums_name(&sums, shop, HP_METRIC_FUNCTION, "a\xff"),
                     hp_metric_sums_name(&sums, shop, HP_METRIC_FUNCTION, "a\xfe"));
    assert_int_equal(hp_metric_sums_name(&sums, shop, HP_METRIC_THREAD, "worker-3"),
                     hp_metric_sums_name(&sums, shop, HP_METRIC_THREAD, "worker-12"));
    const uint32_t digits = hp_metric_sums_name(&sums, shop, HP_METRIC_THREAD, "42");
    assert_string_equal(sums.names[digits - 1].text, "42");
    memset(first, 'x', sizeof first);
    memset(second, 'x', sizeof second);
    first[399] = second[399] = '\0';
    second[398] = 'y';
    const uint32_t one = hp_metric_sums_name(&sums, shop, HP_METRIC_FUNCTION, first);
    assert_int_not_equal(one, hp_metric_sums_name(&sums, shop, HP_METRIC_FUNCTION, second));
    assert_in_range(strlen(sums.names[one - 1].text), 100, 200);
    hp_metric_sums_free(&sums);
}

static void buckets_hold_what_their_bounds_say(void **state)
{
    (void)state;
    assert_int_equal(hp_metric_bound_of(0), HP_METRIC_FIRST_BOUND);
    assert_int_equal(hp_metric_bound_of(1e-6), HP_METRIC_FIRST_BOUND);
    assert_int_equal(hp_metric_bound_of(1.1e-6), HP_METRIC_FIRST_BOUND + 1);
    assert_int_equal(hp_metric_bound_of(1), HP_METRIC_FIRST_BOUND + 12);
    assert_int_equal(hp_metric_bound_of(31), HP_METRIC_FIRST_BOUND + HP_METRIC_BOUNDS);
    const uint32_t second = hp_metric_power_of(1); /* (2^-(1/8), 1] */
    assert_int_equal(second, HP_METRIC_FIRST_POWER + (uint32_t)-HP_METRIC_LEAST_POWER);
    assert_int_equal(hp_metric_power_of(0.92), second);
    assert_int_equal(hp_metric_power_of(0.91), second - 1);
    assert_int_equal(hp_metric_power_of(2), second + 8);
    assert_int_equal(hp_metric_power_of(0), HP_METRIC_FIRST_POWER);
    assert_int_equal(hp_metric_power_of(1e300), HP_METRIC_BUCKETS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_never_fall),
        cmocka_unit_test(gauges_are_those_of_what_goes_on),
        cmocka_unit_test(the_largest_values_have_a_sum),
        cmocka_unit_test(rows_of_a_series_are_added_up),
        cmocka_unit_test(names_are_limited_and_keep_what_they_have),
        cmocka_unit_test(services_are_limited),
        cmocka_unit_test(series_of_the_host_are_limited),
        cmocka_unit_test(names_that_are_served_alike_share_a_series),
        cmocka_unit_test(buckets_hold_what_their_bounds_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
