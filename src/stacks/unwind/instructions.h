/*
 * Recognises calls, from their return addresses (x86-64 only), and system calls, from the pc behind them.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_INSTRUCTIONS_H
#define HP_UNWIND_INSTRUCTIONS_H

#include "machine.h"
#include "space.h"

enum hp_call_kind { HP_CALL_NONE, HP_CALL_DIRECT, HP_CALL_INDIRECT };

/*
 * The kind of instruction before a return address, from the file mapped there. For a direct call the target is set.
 */
enum hp_call_kind hp_call_before(const struct hp_space *space, uint64_t address, uint64_t *ret_target);

/* The same from bytes; the last one is the byte before the address. */
enum hp_call_kind hp_call_at_end(const uint8_t *bytes, size_t size, int32_t *ret_distance);

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
