/* CPU time of other processes. SPDX-License-Identifier: MIT */
#include "used_time.h"

#include <sys/resource.h>
#include <time.h>

uint64_t hp_used_by(uint32_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid((pid_t)pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

uint64_t hp_used_by_children(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_CHILDREN, &usage) == 0 ? ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime) : 0;
}
