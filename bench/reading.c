/*
 * What it costs to read sessions, and to read them again: as a live view does, with the percentiles of 30
 * functions.
 *
 *   reading ROUNDS SESSION...
 *
 * Time is the CPU time of this process. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "options.h"
#include "reader.h"
#include "section.h"

static double ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static const char *look_up(const char *name, void *context)
{
    (void)context;
    return strcmp(name, "HOTPATH_REPORT") == 0 ? "timing" : strcmp(name, "HOTPATH_LIMIT") == 0 ? "30" : NULL;
}

static struct hp_settings settings;

static void show(struct hp_reader *reader)
{
    const hotpath_results *results = NULL;
    if (hp_reader_refresh(reader))
        results = hp_results_of_model(hp_reader_model(reader), &settings);
    if (results == NULL) {
        fprintf(stderr, "reading: %s\n", reader->problem);
        exit(1);
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    struct hp_reader reader;
    const int rounds = argc > 2 ? atoi(argv[1]) : 0;
    double *times = calloc((size_t)(rounds > 0 ? rounds : 1), sizeof *times);
    if (rounds < 1 || times == NULL)
        return fprintf(stderr, "usage: reading ROUNDS SESSION...\n"), 2;
    hp_settings_resolve(&settings, NULL, look_up, NULL, NULL, NULL);
    const double begin = ms();
    hp_reader_open(&reader, NULL);
    for (int at = 2; at < argc; at++)
        if (!hp_reader_add(&reader, argv[at]))
            return fprintf(stderr, "reading: %s\n", reader.problem), 1;
    show(&reader);
    printf("open        %8.2f ms\n", ms() - begin);
    for (int round = 0; round < rounds; round++) {
        const double from = ms();
        show(&reader);
        times[round] = ms() - from;
    }
    const size_t mapped = reader.kept.mapped + reader.arena.mapped;
    qsort(times, (size_t)rounds, sizeof *times, compare);
    printf("refresh     %8.2f ms (middle of %d; %.2f at most)\n", times[rounds / 2], rounds, times[rounds - 1]);
    printf("memory      %8zu KiB\n", mapped >> 10);
    hp_reader_close(&reader);
    free(times);
    return 0;
}
