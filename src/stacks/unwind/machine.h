/*
 * Differences between the machines whose stacks can be unwound, which need not be the one that this runs on.
 * Registers are numbered as in DWARF. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_MACHINE_H
#define HP_UNWIND_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "space.h"

#define HP_REGISTERS 33u
#define HP_SAVED 12u /* registers that a function restores, including the return address */
#define HP_SAVED_FRAME 0u
#define HP_SAVED_RETURN 1u

/* The registers of a thread. A bit mask says which are known: for callers only some are. */
struct hp_registers {
    uint64_t value[HP_REGISTERS];
    uint64_t known;
};

struct hp_machine {
    uint16_t elf_machine;
    uint8_t pc, sp, fp;
    uint8_t saved[HP_SAVED]; /* their numbers: the frame pointer, the return address, all others */
    uint8_t saved_count;
    bool has_link_register; /* a call leaves the return address in a register */
    /* The signal frame when a handler returns: offset of each register from the stack pointer, or -1. */
    int16_t interrupted[HP_REGISTERS];
    uint8_t perf_order[HP_REGISTERS]; /* perf's register numbers, by ours; 255: none */
};

/* NULL: another machine. */
const struct hp_machine *hp_machine_of(uint16_t elf_machine);
/* The one that this program was compiled for. */
const struct hp_machine *hp_machine_here(void);

/* Its index among HP_SAVED, or HP_SAVED. */
unsigned hp_machine_saved_index(const struct hp_machine *machine, uint64_t number);

/*
 * The code that a handler returns to, which calls sigreturn: where the first one begins, and its length. `size`:
 * none.
 */
size_t hp_machine_signal_return(const struct hp_machine *machine, const uint8_t *code, size_t size,
                                size_t *ret_length);

/* Converts registers of perf samples: those of `mask`, one after the other, lowest bit first. */
void hp_registers_from_perf(const struct hp_machine *machine, uint64_t mask, const uint64_t *values,
                            struct hp_registers *ret_registers);

static inline bool hp_register_is_known(const struct hp_registers *registers, unsigned number)
{
    return registers->known >> number & 1;
}

static inline void hp_register_set(struct hp_registers *registers, unsigned number, uint64_t value)
{
    registers->value[number] = value;
    registers->known |= UINT64_C(1) << number;
}

/* ------------------------------------------------------------------------------------------------- instructions */

/* Recognises calls, from their return addresses (x86-64 only), and system calls, from the pc behind them. */

enum hp_call_kind { HP_CALL_NONE, HP_CALL_DIRECT, HP_CALL_INDIRECT };

/*
 * The kind of instruction before a return address, from the file mapped there. For a direct call the target is set.
 */
enum hp_call_kind hp_call_before(const struct hp_space *space, uint64_t address, uint64_t *ret_target);

/* The same from bytes; the last one is the byte before the address. */
enum hp_call_kind hp_call_at_end(const uint8_t *bytes, size_t size, int32_t *ret_distance);

#define HP_NO_CALL (-1)
#define HP_UNKNOWN_CALL (-2)

/*
 * The number of the system call made by the instruction before the pc. HP_NO_CALL: it is not a system call, as at a
 * page fault; HP_UNKNOWN_CALL: its number is unknown, or the code.
 */
int32_t hp_kernel_entry_call(const struct hp_space *space, const struct hp_machine *machine,
                             const struct hp_registers *registers);

/* The same on x86-64, from bytes; the last one is the byte before the pc. */
int32_t hp_kernel_entry_number(const uint8_t *bytes, size_t size);

#endif
