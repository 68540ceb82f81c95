/*
 * Programs that the program executes: by QEMU with this plugin again, so that they are counted, too.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_QEMU_EXECUTION_H
#define HP_QEMU_EXECUTION_H

#include <stdint.h>

/* Remembers how QEMU was started. Once, at the beginning. */
void hp_execution_begin(void);
/*
 * Takes the arguments of execve, which come from the program, and executes QEMU in its place. Returns if that
 * cannot be done; then the call is to be made as it is: the program runs natively, or the call fails as it should.
 */
void hp_execution_take(uint64_t path, uint64_t arguments, uint64_t environment);

#endif
