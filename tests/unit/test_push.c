/* Rules of what is on its way to collectors, with a made-up network and clock. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "push.h"
#include "push_spool.h"
#include "push_sums.h"

#define SECOND UINT64_C(1000000000)
#define FOREVER UINT64_MAX

/* ------------------------------------------------------------------------------------------------------ network */

/* What it was given for each target, and how that ends. */
static struct network {
    const char *sending[HP_PUSH_TARGETS];
    unsigned status[HP_PUSH_TARGETS]; /* of the next answers; 1: none yet */
    uint64_t retry_after_ns;
    unsigned begun, cancelled, told;
    bool is_broken;                  /* nothing can be begun */
    char got[HP_PUSH_TARGETS][2048]; /* what targets have accepted */
} network;

static bool begin(void *context, size_t target, const char *bytes, size_t length)
{
    (void)context;
    assert_null(network.sending[target]);
    assert_int_equal(strnlen(bytes, length), length - 1);
    if (network.is_broken)
        return false;
    network.sending[target] = bytes;
    network.begun++;
    return true;
}

static bool go_on(void *context, struct hp_push_end *ret_end)
{
    (void)context;
    for (size_t at = 0; at < HP_PUSH_TARGETS; at++) {
        const char *bytes = network.sending[at];
        if (bytes == NULL || network.status[at] == 1)
            continue;
        if (network.status[at] == 200)
            strcat(network.got[at], bytes);
        network.sending[at] = NULL;
        *ret_end = (struct hp_push_end){
            .target = at, .status = network.status[at], .retry_after_ns = network.retry_after_ns};
        return true;
    }
    return false;
}

static void cancel(void *context, size_t target)
{
    (void)context;
    network.sending[target] = NULL;
    network.cancelled++;
}

static void tell(void *context, const struct hp_push_end *end, enum hp_push_result result)
{
    (void)context;
    (void)end;
    assert_int_not_equal(result, HP_PUSH_SENT);
    network.told++;
}

static const struct hp_push_transport transport = {.begin = begin, .go_on = go_on, .cancel = cancel};
static struct hp_push_spool spool;

static void set_up(size_t targets)
{
    network = (struct network){.begun = 0};
    for (size_t at = 0; at < HP_PUSH_TARGETS; at++)
        network.status[at] = 200;
    spool = (struct hp_push_spool){.transport = &transport, .tell = tell, .target_count = targets, .random = 7};
}

static void add(const char *text) { hp_push_spool_add(&spool, 0, text, strlen(text) + 1); }

/* ------------------------------------------------------------------------------------------------------ sending */

static void all_targets_get_all_in_order(void **state)
{
    (void)state;
    set_up(2);
    assert_int_equal(hp_push_spool_turn(&spool, 0), FOREVER);
    add("a");
    add("b");
    add("c");
    for (uint64_t now = 0; now < 8; now++)
        hp_push_spool_turn(&spool, now);
    assert_string_equal(network.got[0], "abc");
    assert_string_equal(network.got[1], "abc");
    assert_int_equal(spool.lines[0].results[HP_PUSH_SENT], 3);
    assert_true(hp_push_spool_is_empty(&spool));
    assert_int_equal(spool.bytes, 0);
    assert_int_equal(hp_push_spool_turn(&spool, 9), FOREVER);
    assert_int_equal(network.told, 0);
}

/* One at a time; what is under way is looked at soon, and later less often, but never in a busy loop. */
static void one_at_a_time(void **state)
{
    (void)state;
    set_up(1);
    network.status[0] = 1;
    add("a");
    add("b");
    assert_int_equal(hp_push_spool_turn(&spool, 0), 2000000);
    assert_int_equal(hp_push_spool_turn(&spool, SECOND / 10), SECOND / 10 + SECOND / 40);
    assert_int_equal(hp_push_spool_turn(&spool, 20 * SECOND), 20 * SECOND + SECOND / 10);
    assert_int_equal(network.begun, 1);
    hp_push_spool_free(&spool);
    assert_int_equal(network.cancelled, 1);
}

/* The other one goes on. */
static void a_target_that_is_gone_keeps_nobody(void **state)
{
    (void)state;
    set_up(2);
    network.status[0] = 0;
    add("a");
    add("b");
    for (uint64_t now = 0; now < 4; now++)
        hp_push_spool_turn(&spool, now);
    assert_string_equal(network.got[1], "ab");
    assert_string_equal(network.got[0], "");
    assert_false(hp_push_spool_is_empty(&spool));
    network.status[0] = 200;
    for (uint64_t now = 2 * SECOND; now < 2 * SECOND + 4; now++)
        hp_push_spool_turn(&spool, now);
    assert_string_equal(network.got[0], "ab");
    assert_true(hp_push_spool_is_empty(&spool));
    assert_int_equal(spool.lost[HP_PUSH_SPOOL_FULL] + spool.lost[HP_PUSH_REFUSED], 0);
}

/* -------------------------------------------------------------------------------------------------------- again */

/* From one second, doubled up to a minute; between half of it and all of it, and not always the same. */
static void pauses_double(void **state)
{
    (void)state;
    static const unsigned retried[] = {0, 429, 502, 503, 504};
    for (size_t at = 0; at < sizeof retried / sizeof retried[0]; at++) {
        uint64_t now = 1000 * SECOND, exact = 0;
        set_up(1);
        network.status[0] = retried[at];
        add("a");
        hp_push_spool_turn(&spool, now); /* begins */
        for (uint64_t pause = SECOND, tries = 0; tries < 10; tries++) {
            const uint64_t due = hp_push_spool_turn(&spool, now);
            assert_in_range(due - now, pause / 2, pause);
            exact += due - now == pause;
            assert_int_equal(hp_push_spool_turn(&spool, due - 1), due); /* not sooner */
            assert_int_equal(network.begun, tries + 1);
            now = due;
            hp_push_spool_turn(&spool, now);
            assert_int_equal(network.begun, tries + 2);
            pause = 2 * pause < 60 * SECOND ? 2 * pause : 60 * SECOND;
        }
        assert_true(exact < 3);
        assert_int_equal(spool.lines[0].results[HP_PUSH_RETRIED], 10);
        assert_int_equal(network.told, 1); /* once */
        network.status[0] = 200;
        hp_push_spool_turn(&spool, now);
        assert_string_equal(network.got[0], "a");
        assert_int_equal(spool.lines[0].pause_ns, 0); /* from the beginning the next time */
    }
}

static void a_target_says_when(void **state)
{
    (void)state;
    set_up(1);
    network.status[0] = 429;
    network.retry_after_ns = 7 * SECOND;
    add("a");
    hp_push_spool_turn(&spool, 0);
    assert_int_equal(hp_push_spool_turn(&spool, 1), 1 + 7 * SECOND);
    network.retry_after_ns = 1000000 * SECOND;
    hp_push_spool_turn(&spool, 1 + 7 * SECOND);
    assert_int_equal(hp_push_spool_turn(&spool, 8 * SECOND), 8 * SECOND + 3600 * SECOND); /* an hour at most */
    hp_push_spool_free(&spool);
}

static void what_is_refused_is_dropped(void **state)
{
    (void)state;
    static const unsigned refused[] = {400, 404, 415, 413, 401, 500, 302};
    for (size_t at = 0; at < sizeof refused / sizeof refused[0]; at++) {
        set_up(1);
        network.status[0] = refused[at];
        for (size_t times = 0; times < 3; times++) {
            add("a");
            hp_push_spool_turn(&spool, times);
            hp_push_spool_turn(&spool, times);
        }
        assert_true(hp_push_spool_is_empty(&spool));
        assert_int_equal(spool.lost[HP_PUSH_REFUSED], 3);
        assert_int_equal(spool.lines[0].results[HP_PUSH_REJECTED], 3);
        assert_int_equal(network.told, 1);
        assert_int_equal(network.begun, 3);
    }
}

static void what_cannot_be_begun_waits(void **state)
{
    (void)state;
    set_up(1);
    network.is_broken = true;
    add("a");
    const uint64_t due = hp_push_spool_turn(&spool, 0);
    assert_in_range(due, SECOND / 2, SECOND);
    network.is_broken = false;
    hp_push_spool_turn(&spool, due);
    hp_push_spool_turn(&spool, due);
    assert_string_equal(network.got[0], "a");
}

/* ------------------------------------------------------------------------------------------------------- bounds */

/* The oldest goes first, under way or not; each target that it has not reached counts. */
static void the_spool_is_bounded(void **state)
{
    (void)state;
    char text[2] = "a";
    set_up(2);
    network.status[0] = 1;
    spool.most = 5 * 64;
    add("z"); /* reaches the second target only */
    hp_push_spool_turn(&spool, 0);
    hp_push_spool_turn(&spool, 0);
    assert_string_equal(network.got[1], "z");
    network.status[1] = 1;
    for (; text[0] < 'u'; text[0]++) {
        add(text);
        assert_in_range(spool.bytes, 1, spool.most);
    }
    assert_int_equal(network.cancelled, 1);
    network.status[0] = network.status[1] = 200;
    for (uint64_t now = 1; now < 50; now++)
        hp_push_spool_turn(&spool, now);
    const size_t kept = strlen(network.got[0]);
    assert_in_range(kept, 5, 15);
    assert_string_equal(network.got[0] + kept - 3, "rst"); /* the newest, to both */
    assert_string_equal(network.got[1] + 1, network.got[0]);
    assert_int_equal(spool.lost[HP_PUSH_SPOOL_FULL], 1 + 2 * (20 - kept));
    assert_int_equal(spool.bytes, 0);
}

/* Nor does one that has nothing there yet get the room of those that have less than it wants. */
static void no_source_takes_the_room_of_others(void **state)
{
    (void)state;
    char flood[200] = {0};
    set_up(1);
    network.status[0] = 1;
    spool.most = 10 * 64;
    memset(flood, '.', sizeof flood - 1);
    add("a");
    add("b");
    for (unsigned times = 0; times < 100; times++)
        hp_push_spool_add(&spool, 1, flood, sizeof flood);
    hp_push_spool_add(&spool, 2, "c", 2);
    assert_in_range(spool.bytes, sizeof flood, spool.most);
    const uint64_t lost = spool.lost[HP_PUSH_SPOOL_FULL];
    static char large[9 * 64];
    hp_push_spool_add(&spool, 3, large, sizeof large);
    assert_int_equal(spool.lost[HP_PUSH_SPOOL_FULL], lost + 1);
    network.status[0] = 200;
    for (uint64_t now = 1; now < 50; now++)
        hp_push_spool_turn(&spool, now);
    assert_memory_equal(network.got[0], "ab.", 3);
    assert_string_equal(strrchr(network.got[0], '.'), ".c");
    for (size_t at = 0; at < HP_PUSH_SOURCES; at++)
        assert_int_equal(spool.bytes_of[at], 0);
    assert_int_equal(spool.bytes, 0);
}

static void what_is_larger_than_the_spool_is_dropped(void **state)
{
    (void)state;
    static char large[HP_PUSH_SPOOL_MOST];
    set_up(2);
    add("a");
    hp_push_spool_add(&spool, 0, large, sizeof large);
    assert_int_equal(spool.lost[HP_PUSH_SPOOL_FULL], 2);
    hp_push_spool_turn(&spool, 0);
    hp_push_spool_turn(&spool, 0);
    assert_string_equal(network.got[0], "a");
    hp_push_spool_free(&spool);
}

/* ------------------------------------------------------------------------------------------------------ targets */

static void targets_are_urls(void **state)
{
    (void)state;
    static struct hp_push_targets targets;
    char problem[1400];
    static const char *const wrong[] = {"http://h",
                                        "otlp=",
                                        "otlp=h:4318",
                                        "otlp=ftp://h",
                                        "otlp=http://",
                                        "otlp=file:///etc/passwd",
                                        "otlp=http:///path",
                                        "otlp=http://h/a b",
                                        "otlp=http://user:geheim@h/",
                                        "otlp=http://h\r\nX: 1"};
    static const char *const right[][3] = {
        {"otlp=http://h:4318", "http://h:4318/v1development/profiles", "http://h:4318"},
        {"otlp=https://h/", "https://h/v1development/profiles", "https://h"},
        {"otlp=https://h/otlp/p?x=a@b", "https://h/otlp/p?x=a@b", "https://h"},
        {"otlp=http://[::1]:1/x", "http://[::1]:1/x", "http://[::1]:1"}};
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        assert_false(hp_push_targets_add(&targets, wrong[at], problem, sizeof problem));
        assert_null(strstr(problem, "geheim"));
        assert_int_equal(targets.count, 0);
    }
    assert_false(hp_push_targets_add_header(&targets, "A: b", problem, sizeof problem));
    for (size_t at = 0; at < sizeof right / sizeof right[0]; at++) {
        assert_true(hp_push_targets_add(&targets, right[at][0], problem, sizeof problem));
        assert_string_equal(targets.all[at].url, right[at][1]);
        assert_string_equal(targets.all[at].name, right[at][2]);
    }
    for (size_t at = targets.count; at < HP_PUSH_TARGETS; at++)
        assert_true(hp_push_targets_add(&targets, "otlp=http://h", problem, sizeof problem));
    assert_false(hp_push_targets_add(&targets, "otlp=http://h", problem, sizeof problem));
    hp_push_targets_free(&targets);
}

/* They are for the target before them, and no secret is in what is said about them. */
static void headers_of_targets(void **state)
{
    (void)state;
    static struct hp_push_targets targets;
    char problem[1400], path[] = "/tmp/hotpath-headers-XXXXXX", at_path[64];
    static const char *const wrong[] = {"secret", ": secret", "A b: secret", "A: secret\nB: c", "@/nonexistent"};
    assert_true(hp_push_targets_add(&targets, "otlp=http://a", problem, sizeof problem));
    assert_true(hp_push_targets_add_header(&targets, "X-Scope-OrgID: one two", problem, sizeof problem));
    assert_true(hp_push_targets_add(&targets, "otlp=http://b", problem, sizeof problem));
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        assert_false(hp_push_targets_add_header(&targets, wrong[at], problem, sizeof problem));
        assert_null(strstr(problem, "secret"));
    }
    static const char lines[] = "Authorization: Bearer secret\r\n\nB: c";
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, lines, sizeof lines - 1), sizeof lines - 1);
    close(fd);
    snprintf(at_path, sizeof at_path, "@%s", path);
    assert_true(hp_push_targets_add_header(&targets, at_path, problem, sizeof problem));
    unlink(path);
    assert_int_equal(targets.all[0].header_count, 1);
    assert_string_equal(targets.all[0].headers[0], "X-Scope-OrgID: one two");
    assert_int_equal(targets.all[1].header_count, 2);
    assert_string_equal(targets.all[1].headers[0], "Authorization: Bearer secret");
    assert_string_equal(targets.all[1].headers[1], "B: c");
    hp_push_targets_free(&targets);
}

/* -------------------------------------------------------------------------------------------------------- sums */

/* One reading: what stacks 1 to 4 have, as CPU time and as waiting; a tenth of that is counted. */
static void read_sums(struct hp_push_sums *sums, const uint64_t cpu[4], const uint64_t waiting[4],
                      struct hp_push_reading *ret_new)
{
    *ret_new = (struct hp_push_reading){.count = 0};
    for (uint32_t at = 0; at < 4; at++)
        hp_push_reading_add(ret_new, at, 1000 - at,
                            (uint64_t[HP_PUSH_VALUES]){cpu[at], cpu[at] / 10, waiting[at], waiting[at] / 10});
    assert_true(hp_push_sums_take(sums, ret_new));
}

static uint64_t total_of(const struct hp_push_reading *reading, size_t value)
{
    uint64_t total = 0;
    for (size_t at = 0; at < reading->count; at++)
        total += reading->all[at].values[value];
    return total;
}

/* A stack that is new has all; one without anything is none. */
static void what_is_new_is_the_difference(void **state)
{
    (void)state;
    struct hp_push_sums sums = {.count = 0};
    struct hp_push_reading now;
    static const uint64_t cpu[][4] = {{100, 0, 30, 0}, {100, 50, 70, 0}},
                          waiting[][4] = {{0, 0, 20, 0}, {5, 0, 20, 0}};
    read_sums(&sums, cpu[0], waiting[0], &now);
    assert_int_equal(now.count, 2);
    assert_int_equal(now.all[1].values[HP_PUSH_CPU_NS], 30);
    assert_int_equal(now.all[1].values[HP_PUSH_WAITING_COUNT], 2);
    assert_int_equal(now.nodes[1], 2);
    hp_push_reading_free(&now);
    read_sums(&sums, cpu[1], waiting[1], &now);
    static const uint64_t expected[3][HP_PUSH_VALUES] = {{0, 0, 5, 0}, {50, 5, 0, 0}, {40, 4, 0, 0}};
    assert_int_equal(now.count, 3);
    for (size_t at = 0; at < 3; at++)
        assert_memory_equal(now.all[at].values, expected[at], sizeof expected[at]);
    hp_push_reading_free(&now);
    hp_push_sums_free(&sums);
}

/*
 * What was in one stack is in others later: these get less in proportion, so that the sum of all that was new is
 * that of the latest reading.
 */
static void what_moves_is_not_new(void **state)
{
    (void)state;
    struct hp_push_sums sums = {.count = 0};
    struct hp_push_reading now;
    static const uint64_t cpu[][4] = {{100, 0, 0, 0}, {40, 60, 33, 0}, {20, 60, 33, 0}, {0, 60, 60, 30}}, none[4];
    static const uint64_t new_ones[] = {100, 33, 0, 17};
    uint64_t all = 0;
    for (size_t round = 0; round < 4; round++) {
        read_sums(&sums, cpu[round], none, &now);
        assert_int_equal(total_of(&now, HP_PUSH_CPU_NS), new_ones[round]);
        all += new_ones[round];
        if (round == 1) { /* 33 of 93, by 60 and 33 */
            assert_in_range(now.all[1].values[HP_PUSH_CPU_NS], 21, 22);
            assert_int_equal(now.all[0].values[HP_PUSH_CPU_NS], 0);
        }
        hp_push_reading_free(&now);
    }
    assert_int_equal(all, 60 + 60 + 30);
    hp_push_sums_free(&sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_targets_get_all_in_order),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(a_target_that_is_gone_keeps_nobody),
        cmocka_unit_test(pauses_double),
        cmocka_unit_test(a_target_says_when),
        cmocka_unit_test(what_is_refused_is_dropped),
        cmocka_unit_test(what_cannot_be_begun_waits),
        cmocka_unit_test(the_spool_is_bounded),
        cmocka_unit_test(no_source_takes_the_room_of_others),
        cmocka_unit_test(what_is_larger_than_the_spool_is_dropped),
        cmocka_unit_test(targets_are_urls),
        cmocka_unit_test(headers_of_targets),
        cmocka_unit_test(what_is_new_is_the_difference),
        cmocka_unit_test(what_moves_is_not_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
