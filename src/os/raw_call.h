/*
 * System calls that no function of the host can replace.
 *
 * hp_raw...: without the C library, for the sampling signal handler, which may interrupt the host anywhere. The
 * dynamic linker does not bind anything on the first call, no sanitizer intercepts, and errno is not touched: a
 * failure is returned as -errno. Unknown machines go through `syscall`, and errno is restored.
 *
 * hp_sys_...: for the recorder, with errno.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_RAW_CALL_H
#define HP_OS_RAW_CALL_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
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

/* 32-bit kernels have these calls under other names. Memory is mapped from offset 0 here, in both. */
#ifdef SYS_mmap2
#define HP_SYS_MMAP SYS_mmap2
#else
#define HP_SYS_MMAP SYS_mmap
#endif
#ifdef SYS_fcntl64
#define HP_SYS_FCNTL SYS_fcntl64
#else
#define HP_SYS_FCNTL SYS_fcntl
#endif

/* Whether the result of a call that returns an address is -errno. */
static inline bool hp_raw_is_error(long result) { return result < 0 && result > -4096; }

/*
 * Whether the rest of the page at an address can be read; code may be executable only. The kernel reads the given
 * action before it finds that signal 0 does not exist, and reports whether it could.
 */
#define HP_LEAST_PAGE 4096u
static inline bool hp_raw_can_read(uintptr_t address)
{
    const uintptr_t last = (address | (HP_LEAST_PAGE - 1)) + 1 - sizeof(long) * 4;
    return hp_raw(SYS_rt_sigaction, 0, address < last ? address : last, NULL, sizeof(uint64_t)) == -EINVAL;
}

/* The first page of an event of perf, or -errno. If pages are larger, the kernel maps a whole one. */
static inline long hp_raw_map_event(long fd)
{
    return hp_raw(HP_SYS_MMAP, NULL, HP_LEAST_PAGE, PROT_READ, MAP_SHARED, fd, 0);
}

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

/* -------------------------------------------------------------------------------------------- for the recorder */

/*
 * System calls for the recorder: never a cancellation point (a thread that is being cancelled must not unwind out
 * of the recorder; blocking signals does not prevent that: a thread that was cancelled before ends at the next
 * such point), never through a function that the host may have replaced. Each returns the kernel's result, -1
 * with errno on failure; entry points of the library save and restore errno around all of it.
 *
 * Calls that are not cancellation points in any libc (fstat, mmap, mkdir, unlinkat, ...) are used directly.
 */

/* 32-bit machines open no larger files without it. Its plain name is there only with some feature macros. */
#if defined __O_LARGEFILE
#define HP_ANY_LENGTH_ __O_LARGEFILE
#elif defined O_LARGEFILE
#define HP_ANY_LENGTH_ O_LARGEFILE
#else
#define HP_ANY_LENGTH_ 0
#endif

static inline int hp_sys_openat(int folder, const char *path, int flags, unsigned mode)
{
    return (int)syscall(SYS_openat, folder, path, flags | O_CLOEXEC | HP_ANY_LENGTH_, mode);
}

static inline int hp_sys_open(const char *path, int flags, unsigned mode)
{
    return hp_sys_openat(AT_FDCWD, path, flags, mode);
}

static inline int hp_sys_close(int fd) { return (int)syscall(SYS_close, fd); }

static inline ssize_t hp_sys_read(int fd, void *bytes, size_t size)
{
    return (ssize_t)syscall(SYS_read, fd, bytes, size);
}

/* Uses the call with a split offset on every machine, so that 32-bit ones need no special case. */
static inline ssize_t hp_sys_pread(int fd, void *bytes, size_t size, uint64_t offset)
{
    const struct iovec to = {bytes, size};
    return (ssize_t)syscall(SYS_preadv, fd, &to, 1, (unsigned long)offset, (unsigned long)(offset >> 32));
}

static inline ssize_t hp_sys_pwrite(int fd, const void *bytes, size_t size, uint64_t offset)
{
    const struct iovec from = {(void *)(uintptr_t)bytes, size};
    return (ssize_t)syscall(SYS_pwritev, fd, &from, 1, (unsigned long)offset, (unsigned long)(offset >> 32));
}

static inline ssize_t hp_sys_write(int fd, const void *bytes, size_t size)
{
    return (ssize_t)syscall(SYS_write, fd, bytes, size);
}

/* These two cannot fail, and are called on the program's stack, which may be small: not by the C library. */
static inline uint32_t hp_sys_thread_id(void) { return (uint32_t)hp_raw(SYS_gettid, 0); }

static inline uint32_t hp_sys_process_id(void) { return (uint32_t)hp_raw(SYS_getpid, 0); }

#endif
