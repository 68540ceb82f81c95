/* Shared by test programs: a clock, work of a known duration, and lines "key value" for the tests. */
#ifndef SUPPORT_H
#define SUPPORT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <hotpath.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Works, without sleeping, for this long. */
static inline void spin_ns(uint64_t ns)
{
    const uint64_t end = now_ns() + ns;
    while (now_ns() < end)
        ;
}

static inline void spin_us(uint64_t us) { spin_ns(us * 1000); }

static inline void tell(const char *key, uint64_t value) { printf("%s %llu\n", key, (unsigned long long)value); }

/* The same beside the output, for numbers that differ from run to run. */
static inline void tell_aside(const char *key, uint64_t value)
{
    fprintf(stderr, "%s %llu\n", key, (unsigned long long)value);
}

static inline void sleep_us(uint64_t us)
{
    struct timespec left = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    while (nanosleep(&left, &left) != 0)
        ;
}

/* A flag that one thread raises and others read. */
static inline void raise_flag(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

static inline int is_raised(const int *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }

/* argv[1] is `name`. */
static inline int is_case(int argc, char **argv, const char *name)
{
    return argc > 1 && strcmp(argv[1], name) == 0;
}

/* The n-th argument as a number, or the default. */
static inline unsigned long number(int argc, char **argv, int n, unsigned long usual)
{
    return argc > n ? strtoul(argv[n], NULL, 10) : usual;
}

/* Ends a program whose own preparation failed: 99 is no status any case ends with. */
#define MUST(condition)                                                                                            \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            printf("cannot: %s\n", #condition);                                                                    \
            fflush(stdout);                                                                                        \
            _Exit(99);                                                                                             \
        }                                                                                                          \
    } while (0)

#endif
