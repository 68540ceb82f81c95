/*
 * What sampling CPU time costs a program that only computes.
 *
 *   cpu_cost PAIRS [RATE]   pairs of equal pieces of work, one sampled and one not, in alternating order; prints
 *                           the median of the ratios and the cost of one sample
 *   cpu_cost --work N       only the work, N pieces without a session, for other profilers; prints the median time
 *                           of one
 *
 * Time is the thread's CPU time, which includes the handler and the kernel's part of a signal.
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hotpath.h>

#define STEPS 60000000u /* of a piece: about a tenth of a second */
#define CALLS 100u
#define MAX_PAIRS 1000

static uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static volatile uint32_t result;

static void compute(void)
{
    HOTPATH_MEASURE();
    uint32_t state = result | 1;
    for (uint32_t step = 0; step < STEPS / CALLS; step++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
    }
    result = state;
}

static uint64_t stretch_ns(void)
{
    const uint64_t start = thread_ns();
    for (uint32_t call = 0; call < CALLS; call++)
        compute();
    return thread_ns() - start;
}

static uint64_t samples; /* of the session that has just ended */

static void add_samples(const hotpath_section *section)
{
    struct hotpath_cell value;
    for (size_t column = 0; column < hotpath_section_columns(section); column++)
        if (strcmp(hotpath_section_column(section, column)->key, "samples") == 0)
            for (size_t row = 0; row < hotpath_section_rows(section); row++)
                if (hotpath_section_cell(section, row, column, &value) == HOTPATH_OK)
                    samples += value.count;
}

static void count_samples(const hotpath_results *results, void *context)
{
    (void)context;
    samples = 0;
    for (size_t at = 0; at < hotpath_results_sections(results); at++)
        if (strcmp(hotpath_section_name(hotpath_results_section(results, at)), "cpu") == 0)
            add_samples(hotpath_results_section(results, at));
}

static uint64_t session_ns(bool is_sampled, uint32_t rate)
{
    const struct hotpath_options options = {
        .size = sizeof options, .cpu = is_sampled, .cpu_rate = rate, .record = "timing"};
    if (hotpath_start(&options) != HOTPATH_OK) {
        fprintf(stderr, "cpu_cost: no session\n");
        exit(2);
    }
    compute(); /* sampling of a thread starts with its first zone */
    const uint64_t ns = stretch_ns();
    hotpath_stop();
    return ns;
}

static int compare(const void *left, const void *right)
{
    const double x = *(const double *)left, y = *(const double *)right;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static int compare_pairs(int pairs, uint32_t rate)
{
    static double ratios[MAX_PAIRS], costs[MAX_PAIRS];
    uint64_t taken = 0, busy_ns = 0;
    hotpath_set_reporter(count_samples, NULL);
    for (int pair = 0; pair < pairs; pair++) {
        uint64_t ns[2];
        for (int turn = 0; turn < 2; turn++) {
            const int is_sampled = turn ^ (pair & 1);
            ns[is_sampled] = session_ns(is_sampled, rate);
            if (is_sampled)
                taken += samples;
        }
        busy_ns += ns[1];
        ratios[pair] = (double)ns[1] / (double)ns[0];
        costs[pair] = ((double)ns[1] - (double)ns[0]) / ((double)ns[1] * rate / 1e9);
    }
    printf("ratio %.5f pairs %d cost %.0f ns rate %.0f of %u\n", median(ratios, pairs), pairs, median(costs, pairs),
           (double)taken * 1e9 / (double)busy_ns, rate);
    return 0;
}

static int only_work(int stretches)
{
    static double times[MAX_PAIRS];
    for (int at = 0; at < stretches; at++)
        times[at] = (double)stretch_ns();
    printf("work %.0f ns\n", median(times, stretches));
    return 0;
}

static int number(const char *text)
{
    const int value = atoi(text);
    if (value < 1 || value > MAX_PAIRS) {
        fprintf(stderr, "cpu_cost: '%s' is not a number from 1 to %d\n", text, MAX_PAIRS);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--work") == 0)
        return only_work(number(argv[2]));
    if (argc == 2 || argc == 3)
        return compare_pairs(number(argv[1]), argc == 3 ? (uint32_t)atoi(argv[2]) : 997);
    fprintf(stderr, "usage: cpu_cost PAIRS [RATE] | --work N\n");
    return 2;
}
