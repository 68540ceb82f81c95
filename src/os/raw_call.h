/*
 * System calls without the C library: for the sampling signal handler, which may interrupt the host anywhere. The
 * dynamic linker does not bind anything on the first call, no sanitizer intercepts, and errno is not touched: a
 * failure is returned as -errno. Unknown machines go through `syscall`, and errno is restored.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_RAW_CALL_H
#define HP_OS_RAW_CALL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__ && defined __LP64__

static inline long hp_raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined __aarch64__

static inline long hp_raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long first __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    register long fifth __asm__("x4") = e;
    register long sixth __asm__("x5") = f;
    register long which __asm__("x8") = number;
    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth), "r"(which)
                     : "memory");
    return first;
}

#else

static inline long hp_raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    const int saved = errno;
    const long result = syscall(number, a, b, c, d, e, f);
    const int problem = errno;
    errno = saved;
    return result == -1 ? -(long)problem : result;
}

#endif

#define HP_RAW_(number, a, b, c, d, e, f, ...)                                                                     \
    hp_raw_call((long)(number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* hp_raw(SYS_name, up to six arguments) */
#ifdef __clang_analyzer__
long hp_raw_somehow(long number, ...); /* shows the analyzer that the kernel writes where the arguments point */
#define hp_raw(number, ...) hp_raw_somehow(number, __VA_ARGS__)
#else
#define hp_raw(number, ...) HP_RAW_(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#endif

/*
 * Reads a clock, in nanoseconds. 32-bit kernels have two such calls, with different time structs; not all C
 * libraries name the older one.
 */
static inline uint64_t hp_raw_clock(int clock)
{
#if defined SYS_clock_gettime || defined SYS_clock_gettime32
    struct {
        long seconds, nanoseconds;
    } now = {0, 0};
#else
    struct {
        int64_t seconds, nanoseconds;
    } now = {0, 0};
#endif
#if defined SYS_clock_gettime
    hp_raw(SYS_clock_gettime, clock, &now);
#elif defined SYS_clock_gettime32
    hp_raw(SYS_clock_gettime32, clock, &now);
#else
    hp_raw(SYS_clock_gettime64, clock, &now);
#endif
    return (uint64_t)now.seconds * UINT64_C(1000000000) + (uint64_t)now.nanoseconds;
}

/* A limit of the process, RLIMIT_something. UINT64_MAX: none. */
static inline uint64_t hp_raw_limit(int resource)
{
    uint64_t limits[2] = {UINT64_MAX, UINT64_MAX};
    return hp_raw(SYS_prlimit64, 0, resource, NULL, limits) == 0 ? limits[0] : UINT64_MAX;
}

/* Offsets here are below 4 GiB; with 32-bit registers the halves are passed separately. */
static inline long hp_raw_fallocate(int fd, uint64_t offset, uint64_t size)
{
#if UINTPTR_MAX > UINT32_MAX
    return hp_raw(SYS_fallocate, fd, 0, offset, size);
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return hp_raw(SYS_fallocate, fd, 0, (uint32_t)offset, 0, (uint32_t)size, 0);
#else
    return hp_raw(SYS_fallocate, fd, 0, 0, (uint32_t)offset, 0, (uint32_t)size);
#endif
}

#endif
