/*
 * With instructions.c and the library: the CPU counts, but nanoseconds of CPU time, since few machines that run
 * tests have a counter of instructions. All else is as with that. HOTPATH_CLOCK=instructions:pmu;
 * COUNTED_DESCRIPTORS: how many descriptors there may be.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "cpu_counter.h"

static void replace_counter(void)
{
    hp_cpu_counter_source.type = PERF_TYPE_SOFTWARE;
    hp_cpu_counter_source.config = PERF_COUNT_SW_TASK_CLOCK;
}

/* Before the library looks for it. */
__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = replace_counter;

/* The first thread has its counter by now. */
__attribute__((constructor)) static void limit_descriptors(void)
{
    const char *most = getenv("COUNTED_DESCRIPTORS");
    struct rlimit limit;
    if (most == NULL || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = strtoul(most, NULL, 10);
    setrlimit(RLIMIT_NOFILE, &limit);
}
