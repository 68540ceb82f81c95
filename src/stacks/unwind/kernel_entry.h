/* Finds which system call a thread is in, from its registers at the kernel entry. SPDX-License-Identifier: MIT */
#ifndef HP_UNWIND_KERNEL_ENTRY_H
#define HP_UNWIND_KERNEL_ENTRY_H

#include "machine.h"
#include "space.h"

#define HP_NO_CALL (-1)

/*
 * The number of the system call made by the instruction before the pc; HP_NO_CALL: it is not a system call, as at a
 * page fault, or its number is unknown.
 */
int32_t hp_kernel_entry_call(const struct hp_space *space, const struct hp_machine *machine,
                             const struct hp_registers *registers);

/* The same on x86-64, from bytes; the last one is the byte before the pc. */
int32_t hp_kernel_entry_number(const uint8_t *bytes, size_t size);

#endif
