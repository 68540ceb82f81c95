/*
 * Memory of the program, which is our own: addresses that come from it may be wrong, so the kernel copies.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_QEMU_GUEST_MEMORY_H
#define HP_QEMU_GUEST_MEMORY_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Where a sandbox refuses the calls made for it. Opened each time: a forked child has another one. */
static inline bool hp_guest_copy_by_file(const struct iovec *here, uint64_t address, bool is_write)
{
    const int fd = open("/proc/self/mem", (is_write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t done = -1;
    if (lseek(fd, (off_t)address, SEEK_SET) == (off_t)address)
        done = is_write ? writev(fd, here, 1) : readv(fd, here, 1);
    close(fd);
    return done == (ssize_t)here->iov_len;
}

static inline bool hp_guest_copy(void *ours, uint64_t address, size_t size, bool is_write)
{
    const struct iovec here = {ours, size}, there = {(void *)(uintptr_t)address, size};
    const ssize_t done = is_write ? process_vm_writev(getpid(), &here, 1, &there, 1, 0)
                                  : process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (done >= 0 || errno == EFAULT)
        return done == (ssize_t)size;
    return hp_guest_copy_by_file(&here, address, is_write);
}

#endif
