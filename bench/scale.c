/*
 * One-time costs: a thread's first zone, a session, a report.
 *
 *   scale [SITES]     prints one line per case; SITES (default 10000) are in the reports
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <pthread.h>
#include <string.h>

#include "timing.h"

#define NOINLINE __attribute__((noinline))
#define HERE() __asm__ volatile("" ::: "memory")

static NOINLINE void zone_call(void)
{
    HOTPATH_MEASURE();
    HERE();
}

/* ----------------------------------------------------------------------------------------------- threads */

static void *plain_thread(void *context)
{
    HERE();
    return context;
}

static void *zone_thread(void *context)
{
    zone_call();
    return context;
}

static void run_threads(uint32_t passes, void *(*start)(void *))
{
    while (passes-- > 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, start, NULL) != 0)
            abort();
        pthread_join(thread, NULL);
    }
}

static void run_plain_threads(uint32_t passes) { run_threads(passes, plain_thread); }

static void run_zone_threads(uint32_t passes) { run_threads(passes, zone_thread); }

static struct bench_case thread_cases[] = {
    {.name = "thread", .run = run_plain_threads, .zones = 1},
    {.name = "thread_with_zone", .run = run_zone_threads, .zones = 1},
};

/* ------------------------------------------------------------------------------------- sessions, reports */

static void start(const char *format, const char *output_path)
{
    const struct hotpath_options options = {
        .size = sizeof options, .format = format, .output_path = output_path, .limit = HOTPATH_NO_LIMIT};
    const int status = hotpath_start(&options);
    if (status != HOTPATH_OK) {
        fprintf(stderr, "scale: no session: %s\n", hotpath_strerror(status));
        exit(1);
    }
}

static void run_sessions(uint32_t passes)
{
    while (passes-- > 0) {
        start("none", NULL);
        zone_call();
        hotpath_stop();
    }
}

static struct bench_case session_cases[] = {{.name = "session", .run = run_sessions, .zones = 1}};

/* What HOTPATH_BLOCK does, for sites created at run time instead of ten thousand written ones. */
static void call_site(struct hotpath_site *site)
{
    struct hotpath_zone zone = {hotpath_enter_(&zone, site)};
    hotpath_leave_(&zone);
}

static void call_sites(uint32_t count, const char *title)
{
    struct hotpath_site *sites = calloc(count, sizeof *sites);
    char(*names)[24] = calloc(count, sizeof *names);
    if (sites == NULL || names == NULL)
        abort();
    for (uint32_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "generated_%u", i);
        sites[i] = (struct hotpath_site){.id = HOTPATH_ID_NEW_,
                                         .kind = HOTPATH_KIND_FUNCTION_,
                                         .line = i + 1,
                                         .name = names[i],
                                         .function = names[i],
                                         .file = __FILE__};
    }
    const uint64_t from = bench_ns();
    for (uint32_t i = 0; i < count; i++)
        call_site(&sites[i]);
    printf("%-18s %12.2f us\n", title, (double)(bench_ns() - from) / 1e3 / count);
    free(names); /* the library has copied them */
    free(sites);
}

static void run_report(uint32_t passes)
{
    while (passes-- > 0)
        if (hotpath_report() != HOTPATH_OK)
            abort();
}

static void time_reports(const char *format)
{
    char name[32];
    double values[9];
    for (int i = 0; i < 9; i++) {
        const uint64_t from = bench_ns();
        run_report(1);
        values[i] = (double)(bench_ns() - from);
    }
    snprintf(name, sizeof name, "report_%s", format);
    printf("%-18s %12.2f us\n", name, bench_spread(values, 9).median / 1e3);
}

static void print_cases(struct bench_case *cases, uint32_t count, uint32_t rounds)
{
    bench_rounds(cases, count, rounds);
    for (uint32_t i = 0; i < count; i++)
        printf("%-18s %12.2f us\n", cases[i].name, bench_ratio(&cases[i], NULL, rounds).median / 1e3);
}

int main(int argc, char **argv)
{
    const uint32_t sites = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    print_cases(session_cases, 1, 50);
    start("none", NULL);
    print_cases(thread_cases, 2, 1000);
    hotpath_stop();
    start("json", "/dev/null");
    call_sites(sites, "first_call");
    time_reports("json");
    hotpath_stop();
    start("table", "/dev/null");
    call_sites(sites, "first_call_again");
    time_reports("table");
    hotpath_stop();
    return 0;
}
