/*
 * The statistics of comparisons: against tables, and against 440 recorded runs of three programs on a busy machine,
 * in which one function was made slower by 5 and 20 %. A, A2: nothing changed; B5, B20: encode (zones), and the
 * comparison of records in sqlite, which is three functions to a sampler. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "comparison.h"
#include "judge.h"
#include "probability.h"
#include "sanitizer.h"

#define NEAR(a, b, most) assert_true(fabs((a) - (b)) <= (most))

/* -------------------------------------------------------------------------------------------------- probability */

static void knows_student(void **state)
{
    (void)state;
    NEAR(hp_student_limit(0.05, 1), 12.7062, 1e-3); /* from tables */
    NEAR(hp_student_limit(0.05, 8), 2.3060, 1e-4);
    NEAR(hp_student_limit(0.05, 18), 2.1009, 1e-4);
    NEAR(hp_student_limit(0.01, 30), 2.7500, 1e-4);
    NEAR(hp_student_p(2.1009, 18), 0.05, 1e-4);
    NEAR(hp_student_p(-2.1009, 18), 0.05, 1e-4);
    NEAR(hp_student_p(0, 18), 1, 1e-12);
    assert_true(hp_student_p(1e9, 18) < 1e-12);
}

static void knows_ranks(void **state)
{
    (void)state;
    const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10}, mixed[] = {1, 4, 5, 8, 9};
    const double same[] = {3, 3, 3, 3, 3}, other[] = {2, 3, 6, 7, 10};
    double many[100], more[100];
    NEAR(hp_rank_p(low, 5, high, 5), 2.0 / 252, 1e-12); /* 2 of the 10-choose-5 orders */
    NEAR(hp_rank_p(high, 5, low, 5), 2.0 / 252, 1e-12);
    NEAR(hp_rank_p(mixed, 5, other, 5), 1, 0.25);
    NEAR(hp_rank_p(same, 5, same, 5), 1, 1e-12);
    assert_int_equal(hp_rank_margin(5, 5), 2); /* critical values of U, two-sided 5 %, from tables */
    assert_int_equal(hp_rank_margin(10, 10), 23);
    assert_int_equal(hp_rank_margin(8, 12), 22);
    assert_int_equal(hp_rank_margin(3, 3), SIZE_MAX);
    for (size_t at = 0; at < 100; at++) {
        many[at] = (double)(at * 37 % 100);
        more[at] = (double)(at * 37 % 100) + 12;
    }
    NEAR(hp_rank_p(many, 100, many, 100), 1, 1e-9);
    NEAR(hp_rank_p(many, 100, more, 100), 0.0044, 0.002);
}

static void corrects_for_many(void **state)
{
    (void)state;
    const double p[] = {0.04, 0.01, 0.03, 0.5};
    double adjusted[4];
    size_t order[4];
    hp_holm_adjust(p, adjusted, order, 4);
    NEAR(adjusted[1], 0.04, 1e-12);
    NEAR(adjusted[2], 0.09, 1e-12);
    NEAR(adjusted[0], 0.09, 1e-12); /* never below one that is more likely */
    NEAR(adjusted[3], 0.5, 1e-12);
}

/* ------------------------------------------------------------------------------------------------ recorded runs */

#define MAX_ROWS 40u
#define MAX_ROUNDS 70u
enum { A, A2, B5, B20, VARIANTS };

struct recorded {
    char names[MAX_ROWS][64];
    size_t parents[MAX_ROWS]; /* of zones; MAX_ROWS: none */
    size_t rows, rounds;
    double values[VARIANTS][MAX_ROWS][MAX_ROUNDS];
    double cpu[VARIANTS][MAX_ROUNDS];
    double mean[MAX_ROWS], total;
    double grains[MAX_ROWS]; /* of zones: HP_TYPICAL_GRAIN, more where callees were subtracted */
};

static size_t read_words(FILE *file, char words[][64])
{
    static char line[8192];
    size_t count = 0;
    assert_non_null(fgets(line, sizeof line, file));
    strtok(line, " \n"); /* what it is */
    for (char *word; (word = strtok(NULL, " \n")) != NULL; count++) {
        assert_true(count < MAX_ROWS && strlen(word) < 64);
        strcpy(words[count], word);
    }
    return count;
}

static size_t row_named(const struct recorded *recorded, const char *name)
{
    size_t row = 0;
    while (row < recorded->rows && strcmp(recorded->names[row], name) != 0)
        row++;
    return row;
}

/*
 * Zones have calls, the typical call, and the measured self time of each function. What is compared is the typical
 * call times calls, without callees; of functions that are called a few times, the measured self time.
 */
static void read_zones(FILE *file, struct recorded *recorded, double values[MAX_ROWS])
{
    double calls[MAX_ROWS], typical[MAX_ROWS], self[MAX_ROWS];
    for (size_t row = 0; row < recorded->rows; row++) {
        assert_int_equal(fscanf(file, "%lf %lf %lf", &calls[row], &typical[row], &self[row]), 3);
        values[row] = calls[row] * typical[row];
    }
    for (size_t row = 0; row < recorded->rows; row++)
        if (recorded->parents[row] < recorded->rows)
            values[recorded->parents[row]] -= calls[row] * typical[row];
    for (size_t row = 0; row < recorded->rows; row++)
        if (calls[row] < 20) {
            values[row] = self[row];
            recorded->grains[row] = 0;
        } else {
            recorded->grains[row] = HP_TYPICAL_GRAIN * calls[row] * typical[row] / values[row];
        }
}

static void read_samples(FILE *file, struct recorded *recorded, double values[MAX_ROWS])
{
    for (size_t row = 0; row < recorded->rows; row++)
        assert_int_equal(fscanf(file, "%lf", &values[row]), 1);
}

static struct recorded *read_recorded(const char *name, bool has_parents)
{
    static const char *const variants[] = {"A", "A2", "B5", "B20"};
    struct recorded *recorded = calloc(1, sizeof *recorded);
    char path[1024], variant[8], parents[MAX_ROWS][64];
    size_t round, runs = 0;
    double cpu, values[MAX_ROWS];
    snprintf(path, sizeof path, "%s/%s.txt", RECORDED, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    recorded->rows = read_words(file, recorded->names);
    if (has_parents)
        assert_int_equal(read_words(file, parents), recorded->rows);
    for (size_t row = 0; has_parents && row < recorded->rows; row++)
        recorded->parents[row] = row_named(recorded, parents[row]);
    for (; fscanf(file, "%7s %zu %lf", variant, &round, &cpu) == 3; runs++) {
        size_t which = 0;
        while (which < VARIANTS && strcmp(variants[which], variant) != 0)
            which++;
        assert_true(which < VARIANTS && round < MAX_ROUNDS);
        (has_parents ? read_zones : read_samples)(file, recorded, values);
        recorded->cpu[which][round] = cpu;
        recorded->rounds = round + 1 > recorded->rounds ? round + 1 : recorded->rounds;
        for (size_t row = 0; row < recorded->rows; row++) {
            recorded->values[which][row][round] = values[row];
            recorded->mean[row] += which == A ? values[row] : 0;
            recorded->total += which == A ? values[row] : 0;
        }
    }
    fclose(file);
    assert_int_equal(runs, 4 * recorded->rounds);
    return recorded;
}

static bool is_long(void) { return getenv("HOTPATH_TEST_LONG") != NULL; }

/*
 * How comparisons of neighbouring rounds went: in long tests of all windows there are, so that no choice of them
 * can please, else of every fourth, which overlap as well, or twelfth, where memory is watched.
 */
struct score {
    unsigned windows;
    unsigned alarms; /* comparisons with a verdict about a function that did not change */
    unsigned found, first, totals;
    double estimate;
};

static double weight(const struct hp_judged_row *row)
{
    return row->verdict > HP_VERDICT_SAME ? fabs(row->change) * row->share : 0;
}

static void score_one(const struct recorded *recorded, const struct hp_judgement *judgement,
                      const size_t numbers[MAX_ROWS], const char *planted, struct score *score)
{
    size_t first = 0, others = 0, found = 0;
    for (size_t at = 0; at < judgement->row_count; at++) {
        const struct hp_judged_row *row = &judgement->rows[at];
        const bool is_planted = planted != NULL && strstr(planted, recorded->names[numbers[at]]) != NULL;
        first = weight(row) > weight(&judgement->rows[first]) ? at : first;
        others += row->verdict > HP_VERDICT_SAME && !is_planted;
        found += row->verdict == HP_VERDICT_SLOWER && is_planted;
        score->estimate += is_planted ? hp_percent_of_change(row->change) : 0;
    }
    score->found += found > 0;
    score->alarms += others > 0;
    score->first += planted != NULL && weight(&judgement->rows[first]) > 0 &&
                    strstr(planted, recorded->names[numbers[first]]) != NULL;
}

static struct score compare_windows(const struct recorded *recorded, size_t runs, unsigned variant,
                                    bool (*judge)(struct hp_judgement *), const char *planted)
{
    struct score score = {0};
    for (size_t from = 0; from + runs <= recorded->rounds; from += is_long() ? 1 : HP_ADDRESS_SANITIZER ? 12 : 4) {
        struct hp_judged_row rows[MAX_ROWS];
        size_t numbers[MAX_ROWS], count = 0;
        for (size_t row = 0; row < recorded->rows; row++) {
            const double share = recorded->mean[row] / recorded->total;
            if (share < HP_JUDGE_LEAST_SHARE)
                continue;
            numbers[count] = row;
            rows[count++] = (struct hp_judged_row){.before = recorded->values[A][row] + from,
                                                   .now = recorded->values[variant][row] + from,
                                                   .share = share,
                                                   .grain = fabs(recorded->grains[row])};
        }
        struct hp_judgement judgement = {.rows = rows, .row_count = count, .before_count = runs, .now_count = runs};
        struct hp_judged_row total = {.before = recorded->cpu[A] + from, .now = recorded->cpu[variant] + from};
        assert_true(judge(&judgement) && hp_judge_total(&total, runs, runs));
        score_one(recorded, &judgement, numbers, planted, &score);
        score.totals += total.verdict > HP_VERDICT_SAME;
        score.windows++;
    }
    score.estimate /= score.windows;
    print_message("%2zu runs, variant %u: %u windows, %u alarms, %u found, %u first, %.2f %%, %u totals\n", runs,
                  variant, score.windows, score.alarms, score.found, score.first, score.estimate, score.totals);
    return score;
}

static void finds_what_was_planted_in_zones(void **state)
{
    (void)state;
    struct recorded *zones = read_recorded("zones", true);
    for (size_t runs = 5; runs <= 20; runs *= 2) {
        const struct score same = compare_windows(zones, runs, A2, hp_judge_timed, NULL);
        const struct score five = compare_windows(zones, runs, B5, hp_judge_timed, "encode");
        const struct score twenty = compare_windows(zones, runs, B20, hp_judge_timed, "encode");
        assert_true(same.alarms <= 1 && five.alarms <= 1 && twenty.alarms <= 1);
        assert_int_equal(five.first, five.windows);
        assert_int_equal(twenty.first, twenty.windows);
        assert_true(fabs(five.estimate - 5) < 0.5 && fabs(twenty.estimate - 20) < 1);
        assert_true(same.totals <= 1);
    }
    free(zones);
}

/* Alarms of overlapping windows come together: in 40 comparisons two are allowed. */
static void raises_no_alarm_by_samples(void **state)
{
    (void)state;
    static const char *const programs[] = {"sqlite", "perl"};
    for (size_t at = 0; at < 2; at++) {
        struct recorded *recorded = read_recorded(programs[at], false);
        for (size_t runs = 5; runs <= 10; runs += 5) {
            const struct score same = compare_windows(recorded, runs, A2, hp_judge_sampled, NULL);
            assert_true(20 * same.alarms <= same.windows && 20 * same.totals <= same.windows);
        }
        free(recorded);
    }
}

static void finds_a_fifth_by_samples(void **state)
{
    (void)state;
    struct recorded *sqlite = read_recorded("sqlite", false);
    const struct score twenty = compare_windows(sqlite, 20, B20, hp_judge_sampled,
                                                "vdbeRCS_body@sq vdbeRecordCompareString@sq "
                                                "__memcmp_evex_movbe@libc.so.6");
    assert_int_equal(twenty.found, twenty.windows);
    assert_true(20 * twenty.alarms <= twenty.windows);
    free(sqlite);
}

/* ------------------------------------------------------------------------------------------- without any change */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Rounds by chance, from the whole recording, and by chance which run of a round is the one before. */
static void deal(const struct recorded *recorded, size_t runs, uint64_t *state, size_t rounds[], bool swapped[])
{
    size_t order[MAX_ROUNDS];
    for (size_t at = 0; at < recorded->rounds; at++) {
        const size_t other = (size_t)(next_random(state) % (at + 1));
        order[at] = order[other];
        order[other] = at;
    }
    for (size_t at = 0; at < runs; at++) {
        rounds[at] = order[at];
        swapped[at] = (next_random(state) & 1) != 0;
    }
}

static void pick(const double of_a[], const double of_a2[], size_t runs, const size_t rounds[],
                 const bool swapped[], double before[], double now[])
{
    for (size_t at = 0; at < runs; at++) {
        before[at] = (swapped[at] ? of_a2 : of_a)[rounds[at]];
        now[at] = (swapped[at] ? of_a : of_a2)[rounds[at]];
    }
}

/* docs/compare.md has what 2000 give. */
static unsigned how_often(void) { return is_long() ? 2000 : HP_ADDRESS_SANITIZER ? 40 : 60; }

/* How many comparisons of a program with itself name a function, the total, or what all have in common. */
static void deal_often(const char *name, bool is_timed, size_t runs)
{
    static double before[MAX_ROWS + 1][MAX_ROUNDS], now[MAX_ROWS + 1][MAX_ROUNDS];
    struct recorded *recorded = read_recorded(name, is_timed);
    unsigned alarms = 0, totals = 0, commons = 0;
    const unsigned deals = how_often();
    uint64_t state = runs;
    for (unsigned trial = 0; trial < deals; trial++) {
        struct hp_judged_row rows[MAX_ROWS];
        size_t rounds[MAX_ROUNDS], count = 0;
        bool swapped[MAX_ROUNDS], is_alarm = false;
        deal(recorded, runs, &state, rounds, swapped);
        for (size_t row = 0; row < recorded->rows; row++) {
            const double share = recorded->mean[row] / recorded->total;
            if (share < HP_JUDGE_LEAST_SHARE)
                continue;
            pick(recorded->values[A][row], recorded->values[A2][row], runs, rounds, swapped, before[count],
                 now[count]);
            rows[count] = (struct hp_judged_row){
                .before = before[count], .now = now[count], .share = share, .grain = fabs(recorded->grains[row])};
            count++;
        }
        pick(recorded->cpu[A], recorded->cpu[A2], runs, rounds, swapped, before[MAX_ROWS], now[MAX_ROWS]);
        struct hp_judgement judgement = {.rows = rows, .row_count = count, .before_count = runs, .now_count = runs};
        struct hp_judged_row total = {.before = before[MAX_ROWS], .now = now[MAX_ROWS]};
        assert_true((is_timed ? hp_judge_timed : hp_judge_sampled)(&judgement) &&
                    hp_judge_total(&total, runs, runs));
        for (size_t row = 0; row < count; row++)
            is_alarm = is_alarm || rows[row].verdict > HP_VERDICT_SAME;
        alarms += is_alarm;
        totals += total.verdict > HP_VERDICT_SAME;
        commons += judgement.has_common && judgement.common.verdict > HP_VERDICT_SAME;
    }
    print_message("%s, %zu runs: of %u comparisons without a change %u name a function, %u the total, %u all\n",
                  name, runs, deals, alarms, totals, commons);
    free(recorded);
    assert_true(alarms <= deals / 40 && totals <= deals / 10 && commons <= deals / 10);
}

static void says_no_change_where_there_is_none(void **state)
{
    (void)state;
    for (size_t runs = 5; runs <= 10; runs *= 2) {
        deal_often("zones", true, runs);
        deal_often("sqlite", false, runs);
        deal_often("perl", false, runs);
    }
}

/* A row with most of the time is not what all have in common; of one row alone, nothing is. */
static void names_a_function_with_most_of_the_time(void **state)
{
    (void)state;
    static const double before[] = {100, 101, 99, 100, 102}, slower[] = {125, 126, 124, 125, 127};
    struct hp_judged_row rows[5];
    for (size_t at = 0; at < 5; at++)
        rows[at] = (struct hp_judged_row){
            .before = before, .now = at == 0 ? slower : before, .share = at == 0 ? 0.8 : 0.05};
    struct hp_judgement judgement = {.rows = rows, .row_count = 5, .before_count = 5, .now_count = 5};
    for (; judgement.row_count > 0; judgement.row_count--) {
        assert_true(hp_judge_timed(&judgement));
        assert_int_equal(rows[0].verdict, HP_VERDICT_SLOWER);
        for (size_t at = 1; at < judgement.row_count; at++)
            assert_int_equal(rows[at].verdict, HP_VERDICT_SAME);
        assert_true(judgement.has_common == (judgement.row_count >= HP_JUDGE_COMMON_ROWS));
    }
}

/* Sums of self time scatter by half on a busy machine. Where most rows are such, a quiet one is still found. */
static void finds_a_change_among_noisy_sums(void **state)
{
    (void)state;
    static const double before[] = {100, 100.3, 99.8, 100.1, 99.9, 100.2},
                        same[] = {100.2, 99.9, 100, 100.3, 99.8, 100.1};
    static const double slower[] = {105.2, 104.9, 105, 105.3, 104.8, 105.1};
    static const double noise[] = {100, 180, 130, 90, 220, 150}, other[] = {150, 95, 200, 110, 170, 105};
    struct hp_judged_row rows[9];
    for (size_t at = 0; at < 9; at++)
        rows[at] = (struct hp_judged_row){.before = at < 4 ? before : noise,
                                          .now = at == 0  ? slower
                                                 : at < 4 ? same
                                                          : other,
                                          .share = 0.1,
                                          .is_sum = at >= 4};
    struct hp_judgement judgement = {.rows = rows, .row_count = 9, .before_count = 6, .now_count = 6};
    assert_true(hp_judge_timed(&judgement));
    assert_int_equal(rows[0].verdict, HP_VERDICT_SLOWER);
    for (size_t at = 1; at < 9; at++)
        assert_int_equal(rows[at].verdict, HP_VERDICT_SAME);
}

/* Without a change, one of fifty comparisons of such sums differs by chance, one of a hundred thousand by more. */
static void asks_more_of_sums(void **state)
{
    (void)state;
    static const double before[10] = {100, 180, 130, 90, 220, 150, 110, 170, 140, 120};
    static const double chance[10] = {210, 133, 280, 154, 238, 147, 175, 259, 196, 161};
    static const double slower[10] = {375, 238, 500, 275, 425, 262, 312, 462, 350, 288};
    struct hp_judged_row row = {.before = before, .now = chance, .share = 0.5, .is_sum = true};
    struct hp_judgement judgement = {.rows = &row, .row_count = 1, .before_count = 10, .now_count = 10};
    assert_true(hp_judge_timed(&judgement));
    assert_int_equal(row.verdict, HP_VERDICT_SAME);
    row.now = slower;
    assert_true(hp_judge_timed(&judgement));
    assert_int_equal(row.verdict, HP_VERDICT_SLOWER);
}

/*
 * A machine whose CPUs share a core has two states: what waits for memory takes twice as long in one of them.
 * Typical calls of an SQLite program in ten pairs of runs, in nanoseconds; `rate` was made 5 % slower.
 */
enum { RATE, PACK, INSERT, FIND, TWO_STATES_ROWS, TWO_STATES_RUNS = 10 };

static const double two_states[][2][TWO_STATES_ROWS][TWO_STATES_RUNS] = {
    {{{1599, 2073, 1593, 1654, 2303, 2355, 2303, 1612, 1881, 1593},
      {15257, 19865, 15155, 15769, 22015, 22937, 22015, 15257, 18227, 15155},
      {1894, 4044, 1945, 2367, 3839, 3993, 3788, 1932, 3635, 1919},
      {630, 1311, 627, 785, 1241, 1286, 1235, 633, 1209, 627}},
     {{1727, 1689, 1715, 1804, 1715, 2367, 1791, 1702, 1689, 1830},
      {15564, 15155, 15359, 16179, 15462, 21401, 16076, 15257, 15257, 16588},
      {2303, 1919, 1919, 2585, 1932, 3686, 2719, 1881, 1894, 3007},
      {753, 630, 630, 868, 630, 1171, 894, 611, 636, 998}}},
    {{{1740, 1689, 1676, 1727, 1676, 1689, 1727, 1804, 1587, 1718},
      {16486, 16179, 16076, 16486, 15974, 15974, 16383, 17407, 15155, 16179},
      {3404, 3379, 3353, 3404, 3135, 3212, 3347, 3385, 1868, 2719},
      {1107, 1087, 1068, 1100, 1017, 1055, 1081, 1081, 620, 894}},
     {{1804, 1791, 1715, 1689, 1715, 1791, 1791, 1727, 1689, 1715},
      {16179, 15974, 15359, 15359, 15359, 16076, 16076, 15462, 15155, 15359},
      {3353, 3308, 1894, 1907, 1932, 3180, 3155, 1983, 1894, 2073},
      {1081, 1055, 627, 639, 617, 1023, 1017, 662, 627, 652}}}};

static struct hp_judged_row *judge_two_states(size_t which)
{
    static const double shares[] = {[RATE] = 0.2, [PACK] = 0.1, [INSERT] = 0.35, [FIND] = 0.12};
    static struct hp_judged_row rows[TWO_STATES_ROWS];
    for (size_t row = 0; row < TWO_STATES_ROWS; row++)
        rows[row] = (struct hp_judged_row){.before = two_states[which][0][row],
                                           .now = two_states[which][1][row],
                                           .share = shares[row],
                                           .grain = HP_TYPICAL_GRAIN};
    struct hp_judgement judgement = {
        .rows = rows, .row_count = TWO_STATES_ROWS, .before_count = TWO_STATES_RUNS, .now_count = TWO_STATES_RUNS};
    assert_true(hp_judge_timed(&judgement));
    assert_true(!judgement.has_common || judgement.common.verdict == HP_VERDICT_SAME);
    return rows;
}

static void sees_through_states_of_the_machine(void **state)
{
    (void)state;
    for (size_t which = 0; which < 2; which++) {
        const struct hp_judged_row *rows = judge_two_states(which);
        for (size_t row = 0; row < TWO_STATES_ROWS; row++)
            assert_true(rows[row].verdict == HP_VERDICT_SAME ||
                        (row == RATE && rows[row].verdict == HP_VERDICT_SLOWER));
        assert_in_range(hp_percent_of_change(rows[RATE].change), 2, 8);
    }
}

/* At the third minute at the latest; before, when the total is known within one per cent by enough runs. */
static void knows_when_auto_has_enough(void **state)
{
    (void)state;
    const uint64_t second = UINT64_C(1000000000);
    assert_false(hp_judge_has_enough(4, 20 * second, 0.001));
    assert_true(hp_judge_has_enough(5, 20 * second, 0.019));
    assert_false(hp_judge_has_enough(5, 20 * second, 0.021));
    assert_false(hp_judge_has_enough(900, 179 * second, INFINITY));
    assert_true(hp_judge_has_enough(1, 180 * second, INFINITY));
    assert_true(hp_judge_has_enough(1000, 20 * second, INFINITY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_student),
        cmocka_unit_test(knows_ranks),
        cmocka_unit_test(corrects_for_many),
        cmocka_unit_test(finds_what_was_planted_in_zones),
        cmocka_unit_test(says_no_change_where_there_is_none),
        cmocka_unit_test(names_a_function_with_most_of_the_time),
        cmocka_unit_test(finds_a_change_among_noisy_sums),
        cmocka_unit_test(asks_more_of_sums),
        cmocka_unit_test(sees_through_states_of_the_machine),
        cmocka_unit_test(raises_no_alarm_by_samples),
        cmocka_unit_test(finds_a_fifth_by_samples),
        cmocka_unit_test(knows_when_auto_has_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
