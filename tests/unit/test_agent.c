/* What the agent believes of its readers, and how often it asks them. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent.h"
#include "agent_link.h"
#include "metric_bytes.h"

static uint32_t family_of(const char *name)
{
    for (uint32_t at = 0; at < hp_metric_family_count; at++)
        if (strcmp(hp_metric_families[at].name, name) == 0)
            return at;
    fail_msg("there is no %s", name);
    return 0;
}

/* ------------------------------------------------------------------------------------------------------- bytes */

/* Two services, names that need care, a gauge below zero, a histogram, numbers that are not whole. */
static void fill(struct hp_metric_sums *sums, struct hp_metric_points *points)
{
    static const char *const functions[] = {"main", "a\x1b[31m\n", "[other]", "grün"};
    for (unsigned at = 0; at < 2; at++) {
        const uint32_t service = hp_metric_sums_service(sums, at == 0 ? "shop" : "bank \"1\"");
        const uint32_t none[HP_METRIC_LABELS] = {0};
        const uint32_t gauge[HP_METRIC_LABELS] = {hp_metric_sums_name(sums, service, HP_METRIC_VALUE, "level")};
        for (size_t name = 0; name < sizeof functions / sizeof functions[0]; name++) {
            const uint32_t labels[HP_METRIC_LABELS] = {
                hp_metric_sums_name(sums, service, HP_METRIC_FUNCTION, functions[name])};
            hp_metric_points_add(points,
                                 hp_metric_sums_series(sums, family_of("hotpath_function_calls"), service, labels),
                                 0, 1e9 + (double)name);
            const uint32_t durations =
                hp_metric_sums_series(sums, family_of("hotpath_function_duration_seconds"), service, labels);
            for (uint32_t bucket = 0; bucket < HP_METRIC_BUCKETS; bucket += 50)
                hp_metric_points_add(points, durations, bucket, bucket + 0.25);
        }
        hp_metric_points_add(points, hp_metric_sums_series(sums, family_of("hotpath_value"), service, gauge), 0,
                             -1.5);
        hp_metric_points_add(points, hp_metric_sums_series(sums, family_of("hotpath_lost_records"), service, none),
                             0, at);
    }
}

static void make(struct hp_body *body, struct hp_metric_sums *sums)
{
    struct hp_metric_points known = {0}, fresh = {0};
    fill(sums, &fresh);
    assert_true(hp_metric_sums_update(sums, &known, &fresh));
    sums->services[1].refused[HP_METRIC_LOCK] = 7;
    assert_true(hp_metric_sums_put(sums, body));
    hp_metric_points_free(&known);
    hp_metric_points_free(&fresh);
}

/* Of a series with the same service and names in other sums. */
static double value_in(const struct hp_metric_sums *sums, const struct hp_metric_sums *of, size_t at,
                       uint32_t bucket)
{
    const struct hp_metric_series *wanted = &of->series[at];
    for (size_t other = 0; other < sums->series_count; other++) {
        const struct hp_metric_series *series = &sums->series[other];
        bool is_it = series->family == wanted->family && strcmp(hp_metric_service_name(sums, series->service),
                                                                hp_metric_service_name(of, wanted->service)) == 0;
        for (size_t label = 0; label < HP_METRIC_LABELS && is_it; label++)
            is_it = (series->labels[label] == 0) == (wanted->labels[label] == 0) &&
                    (series->labels[label] == 0 || strcmp(sums->names[series->labels[label] - 1].text,
                                                          of->names[wanted->labels[label] - 1].text) == 0);
        if (is_it)
            return series->buckets != NULL ? series->buckets[bucket] : series->value;
    }
    fail_msg("a series is missing");
    return 0;
}

static void sums_are_the_same_elsewhere(void **state)
{
    (void)state;
    for (int is_own = 0; is_own < 2; is_own++) {
        struct hp_body body = {0};
        struct hp_metric_sums sums = {0}, other = {0};
        struct hp_metric_points points = {0}, known = {0};
        struct hp_metric_renumbered renumbered = {0};
        struct hp_metric_refusals refusals = {0};
        make(&body, &sums);
        hp_metric_sums_service(&other, "another"); /* so that numbers are others there */
        struct hp_metric_input in = hp_metric_input_of(body.bytes, body.length);
        assert_true(hp_metric_sums_take(&in, &other, is_own != 0, &points, &renumbered, &refusals));
        assert_true(in.at == in.end && renumbered.count == sums.series_count);
        assert_true(refusals.count == 1 && refusals.all[0].count == 7 && refusals.all[0].kind == HP_METRIC_LOCK);
        assert_string_equal(hp_metric_service_name(&other, refusals.all[0].service), "shop");
        assert_true(hp_metric_sums_update(&other, &known, &points));
        assert_int_equal(other.series_count, sums.series_count);
        for (size_t at = 0; at < sums.series_count; at++)
            for (uint32_t bucket = 0; bucket < (sums.series[at].buckets != NULL ? HP_METRIC_BUCKETS : 1);
                 bucket++) {
                const double *buckets = sums.series[at].buckets;
                const double expected = buckets != NULL ? buckets[bucket] : sums.series[at].value;
                assert_true(value_in(&other, &sums, at, bucket) == expected);
            }
        hp_body_free(&body);
        hp_metric_points_free(&points);
        hp_metric_points_free(&known);
        free(renumbered.numbers);
        free(refusals.all);
        hp_metric_sums_free(&sums);
        hp_metric_sums_free(&other);
    }
}

/* Returns whether they were believed. */
static bool take(const char *bytes, size_t length)
{
    struct hp_metric_sums sums = {0};
    struct hp_metric_points points = {0};
    struct hp_metric_renumbered renumbered = {0};
    char *copy = malloc(length + 1); /* of that size: reading beyond it is noticed by tools */
    assert_non_null(copy);
    char *exact = realloc(copy, length > 0 ? length : 1);
    memcpy(exact, bytes, length);
    struct hp_metric_input in = hp_metric_input_of(exact, length);
    const bool is_taken = hp_metric_sums_take(&in, &sums, false, &points, &renumbered, NULL);
    for (size_t at = 0; at < points.count && is_taken; at++)
        assert_true(points.all[at].series > 0 && points.all[at].series <= sums.series_count &&
                    points.all[at].bucket < HP_METRIC_BUCKETS &&
                    (points.all[at].bucket == 0 || sums.series[points.all[at].series - 1].buckets != NULL));
    hp_metric_points_free(&points);
    hp_metric_sums_free(&sums);
    free(renumbered.numbers);
    free(exact);
    return is_taken;
}

static void damaged_bytes_are_refused_or_harmless(void **state)
{
    struct hp_body body = {0};
    struct hp_metric_sums sums = {0};
    (void)state;
    make(&body, &sums);
    assert_true(take(body.bytes, body.length));
    for (size_t length = 0; length < body.length; length++)
        assert_false(take(body.bytes, length));
    uint32_t random = 1;
    for (unsigned round = 0; round < 3000; round++) {
        random = random * 1664525u + 1013904223u;
        char *byte = &body.bytes[(random >> 8) % body.length], before = *byte;
        *byte = (char)(random >> 3);
        take(body.bytes, body.length);
        if (round % 7 != 0) /* some faults stay, and others are added */
            *byte = before;
    }
    hp_body_free(&body);
    hp_metric_sums_free(&sums);
}

static void a_count_is_never_more_than_there_is(void **state)
{
    struct hp_body body = {0};
    (void)state;
    assert_true(hp_metric_put_number(&body, UINT64_MAX));
    assert_false(take(body.bytes, body.length)); /* and no memory is asked for */
    hp_body_free(&body);
}

/* ---------------------------------------------------------------------------------------------------- messages */

static void only_sealed_memory_is_read(void **state)
{
    int ends[2], fd;
    struct hp_agent_memory memory;
    struct hp_agent_message message = {.kind = HP_AGENT_METRICS, .number = 5}, got;
    (void)state;
    assert_true(hp_agent_link_open(ends));
    assert_int_equal(hp_agent_link_receive(ends[1], &got, &fd), HP_AGENT_NOTHING);
    const int made = hp_agent_memory_make("abc", 3);
    assert_true(made >= 0 && hp_agent_link_send(ends[0], &message, made));
    close(made);
    assert_int_equal(hp_agent_link_receive(ends[1], &got, &fd), HP_AGENT_RECEIVED);
    assert_memory_equal(&got, &message, sizeof got);
    assert_true(hp_agent_memory_open(&memory, fd) && memory.length == 3 && memcmp(memory.bytes, "abc", 3) == 0);
    assert_int_equal(write(fd, "d", 1), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    hp_agent_memory_close(&memory);
    close(fd);
    /* A file can be made shorter while it is read, and a pipe has no end. */
    char path[] = "/tmp/hotpath-agent-XXXXXX";
    int pipes[2];
    const int file = mkstemp(path);
    assert_true(file >= 0 && write(file, "abc", 3) == 3 && pipe(pipes) == 0);
    unlink(path);
    assert_false(hp_agent_memory_open(&memory, file));
    assert_false(hp_agent_memory_open(&memory, pipes[0]));
    assert_false(hp_agent_memory_open(&memory, -1));
    close(file);
    close(pipes[0]);
    close(pipes[1]);
    /* Texts without an end, messages of another size, and the end. */
    memset(message.service, 'x', sizeof message.service);
    assert_true(hp_agent_link_send(ends[0], &message, -1));
    assert_int_equal(hp_agent_link_receive(ends[1], &got, &fd), HP_AGENT_GONE);
    assert_int_equal(write(ends[0], "short", 5), 5);
    assert_int_equal(hp_agent_link_receive(ends[1], &got, &fd), HP_AGENT_GONE);
    close(ends[0]);
    assert_int_equal(hp_agent_link_receive(ends[1], &got, &fd), HP_AGENT_GONE);
    close(ends[1]);
}

/* ---------------------------------------------------------------------------------------------------- interval */

#define SECOND UINT64_C(1000000000)

static void the_interval_follows_the_cost(void **state)
{
    (void)state;
    assert_int_equal(hp_agent_interval(SECOND, SECOND / 10, 15 * SECOND), SECOND);    /* 0.67 % */
    assert_int_equal(hp_agent_interval(SECOND, SECOND / 5, 15 * SECOND), 2 * SECOND); /* 1.33 % */
    assert_int_equal(hp_agent_interval(2 * SECOND, SECOND / 10, 15 * SECOND), 2 * SECOND);
    assert_int_equal(hp_agent_interval(2 * SECOND, SECOND / 100, 15 * SECOND), SECOND);
    assert_int_equal(hp_agent_interval(SECOND, 0, 15 * SECOND), SECOND);
    assert_int_equal(hp_agent_interval(100 * SECOND, 100 * SECOND, 15 * SECOND), 120 * SECOND);
    assert_int_equal(hp_agent_interval(120 * SECOND, 100 * SECOND, 15 * SECOND), 120 * SECOND);
    /* A scrape a second that takes 50 ms: it settles where it takes at most 1 %. */
    uint64_t interval = SECOND;
    for (unsigned at = 0; at < 20; at++)
        interval = hp_agent_interval(interval, SECOND / 20, interval);
    assert_int_equal(interval, 8 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_the_same_elsewhere),
        cmocka_unit_test(damaged_bytes_are_refused_or_harmless),
        cmocka_unit_test(a_count_is_never_more_than_there_is),
        cmocka_unit_test(only_sealed_memory_is_read),
        cmocka_unit_test(the_interval_follows_the_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
