/*
 * Many functions on many threads, for a while, some of them with names that mean something to browsers and
 * terminals: usage: odd_names FUNCTIONS THREADS MILLISECONDS.
 */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const odd[] = {
    "</script><script>document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "<!--<script>",
    "a'b\"c\\d&amp;e",
    "turned \xe2\x80\xaeround\xe2\x81\xa6 here", /* U+202E, U+2066 */
    "line\nbreak\ttab",
    "${location}`x`",
    "\xc3\xa4\xc3\xb6\xc3\xbc \xe6\x97\xa5\xe6\x9c\xac",
};

static struct hotpath_site *sites;
static size_t site_count;
static double seconds;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *call_in_turn(void *number_of_thread)
{
    const double end = now() + seconds;
    for (size_t at = (size_t)(uintptr_t)number_of_thread; now() < end; at++) {
        struct hotpath_zone outer = {hotpath_open_(&outer, &sites[at % site_count])};
        struct hotpath_zone inner = {hotpath_open_(&inner, &sites[(at * 7 + 1) % site_count])};
        usleep(500);
        hotpath_close_(&inner);
        hotpath_close_(&outer);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    site_count = number(argc, argv, 1, 1000);
    const size_t thread_count = number(argc, argv, 2, 200);
    seconds = (double)number(argc, argv, 3, 1500) / 1000;
    pthread_t *threads = calloc(thread_count, sizeof *threads);
    char *names = calloc(site_count, 32);
    sites = calloc(site_count, sizeof *sites);
    MUST(sites != NULL && names != NULL && threads != NULL);
    for (size_t at = 0; at < site_count; at++) {
        snprintf(names + 32 * at, 32, "function %zu", at);
        sites[at] = (struct hotpath_site)HOTPATH_SITE_VALUE_(HOTPATH_KIND_BLOCK_, "", );
        sites[at].name = at < sizeof odd / sizeof odd[0] ? odd[at] : names + 32 * at;
    }
    for (size_t at = 0; at < thread_count; at++)
        MUST(pthread_create(&threads[at], NULL, call_in_turn, (void *)(uintptr_t)at) == 0);
    for (size_t at = 0; at < thread_count; at++)
        MUST(pthread_join(threads[at], NULL) == 0);
    return 0;
}
