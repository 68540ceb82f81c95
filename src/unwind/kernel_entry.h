/* Which system call a thread is in, by where it came from into the kernel. SPDX-License-Identifier: MIT */
#ifndef HP_UNWIND_KERNEL_ENTRY_H
#define HP_UNWIND_KERNEL_ENTRY_H

#include "machine.h"
#include "space.h"

#define HP_NO_CALL (-1)

/*
 * The number of the call that the instruction before the pc has made; HP_NO_CALL: it is none, as where a page was missing, or its
 * number cannot be told.
 */
int32_t hp_kernel_entry_call(const struct hp_space *space, const struct hp_machine *machine,
                             const struct hp_registers *registers);

/* The same on x86-64, of bytes of which the last is the one before the pc. */
int32_t hp_kernel_entry_number(const uint8_t *bytes, size_t size);

#endif
