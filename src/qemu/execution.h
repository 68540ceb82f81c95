/*
 * Programs that the program executes: by QEMU with this plugin again, so that they are counted, too.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_QEMU_EXECUTION_H
#define HP_QEMU_EXECUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies memory of the program, which is our own, at an address that comes from it. False: that is wrong. */
bool hp_guest_copy(void *ours, uint64_t address, size_t size, bool is_write);

/* Remembers how QEMU was started. Once, at the beginning. */
void hp_execution_begin(void);
/* The arguments of execveat, which come from the program; those of execve with AT_FDCWD and no flags. */
struct hp_execution {
    int folder;
    uint64_t path, arguments, environment, flags;
};
/*
 * Executes QEMU in its place. Returns if that cannot be done; then the call is to be made as it is: the program
 * runs natively, after `note_native` was told why, or the call fails as it should.
 */
void hp_execution_take(const struct hp_execution *asked, void (*note_native)(const char *path, const char *why));

#endif
