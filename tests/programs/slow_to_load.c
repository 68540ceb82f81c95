/*
 * A library to preload that takes SLOW_MS of CPU time to load. The dynamic linker calls the resolver of an indirect
 * function while it relocates the library, before any constructor. It may not use what is not relocated yet, so it
 * asks the kernel. SPDX-License-Identifier: MIT
 */
#include <sys/syscall.h>
#include <time.h>

static long read_clock(long clock, struct timespec *now)
{
#if defined __x86_64__
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(SYS_clock_gettime), "D"(clock), "S"(now)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long number __asm__("x8") = SYS_clock_gettime, first __asm__("x0") = clock;
    register struct timespec *second __asm__("x1") = now;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(second) : "memory");
    return first;
#endif
}

static long used_ns(void)
{
    struct timespec now = {0, 0};
    read_clock(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void nothing(void) {}

static void (*resolve(void))(void)
{
    const long end = used_ns() + SLOW_MS * 1000000L;
    while (used_ns() < end)
        ;
    return nothing;
}

void slow_to_load(void) __attribute__((ifunc("resolve")));
void (*slow_to_load_is_used)(void) = slow_to_load;
