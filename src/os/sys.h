/*
 * System calls for the recorder: never a cancellation point (a thread that is being cancelled must not unwind out
 * of the recorder), never through a function that the host may have replaced. Each returns the kernel's result, -1
 * with errno on failure; entry points of the library save and restore errno around all of it.
 *
 * Calls that are not cancellation points in any libc (fstat, mmap, mkdir, unlinkat, ...) are used directly.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_SYS_H
#define HP_OS_SYS_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "raw_call.h"

static inline int hp_sys_open(const char *path, int flags, unsigned mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
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

static inline ssize_t hp_sys_write(int fd, const void *bytes, size_t size)
{
    return (ssize_t)syscall(SYS_write, fd, bytes, size);
}

/* These two cannot fail, and are called on the program's stack, which may be small: not by the C library. */
static inline uint32_t hp_sys_thread_id(void) { return (uint32_t)hp_raw(SYS_gettid, 0); }

static inline uint32_t hp_sys_process_id(void) { return (uint32_t)hp_raw(SYS_getpid, 0); }

#endif
