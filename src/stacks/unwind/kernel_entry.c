/*
 * Finds which system call a thread is in.
 *
 * On 64-bit Arm the register with the number is preserved. On x86-64 the kernel has overwritten it by then, and
 * perf samples lack orig_rax: so the number is read from the code. It is loaded right before the call, or with a
 * few other registers in between; other code is not recognised. SPDX-License-Identifier: MIT
 */
#include "kernel_entry.h"

#include <string.h>

#include "calls.h"

#define BEFORE 24u /* bytes of code that are read */
#define HIGHEST 1024
#define ARM_NUMBER 8u /* the register */

/*
 * The length of an instruction that loads another register than the one with the number; 0: it is something else.
 * These are "mov %rdi, %rsi" and "xor %edx, %edx", with or without a prefix, and "mov $1, %edi".
 */
static size_t other_load(const uint8_t *at, size_t left)
{
    const size_t prefix = left > 0 && (at[0] & 0xf0) == 0x40 ? 1 : 0;
    const uint8_t *code = at + prefix;
    if (left < prefix + 2)
        return 0;
    if ((code[0] == 0x89 || code[0] == 0x31) && code[1] >= 0xc0) {
        const bool is_number = (code[1] & 7) == 0 && (prefix == 0 || (at[0] & 1) == 0);
        return is_number ? 0 : prefix + 2;
    }
    const bool is_constant =
        code[0] >= 0xb8 && code[0] <= 0xbf && (code[0] != 0xb8 || (prefix == 1 && (at[0] & 1)));
    return is_constant && left >= prefix + 5 && (prefix == 0 || (at[0] & 8) == 0) ? prefix + 5 : 0;
}

/* Whether only such loads follow up to the end. */
static bool leads_to(const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        const size_t length = other_load(at, (size_t)(end - at));
        if (length == 0)
            return false;
        at += length;
    }
    return at == end;
}

/* "mov $1, %eax" or "xor %eax, %eax", the last one before the call. */
int32_t hp_kernel_entry_number(const uint8_t *bytes, size_t size)
{
    if (size < 2 || bytes[size - 2] != 0x0f || bytes[size - 1] != 0x05)
        return HP_NO_CALL;
    const uint8_t *end = bytes + size - 2;
    for (const uint8_t *at = end; at-- > bytes;) {
        int32_t number;
        if (end - at >= 2 && at[0] == 0x31 && at[1] == 0xc0 && leads_to(at + 2, end))
            return 0;
        if (end - at < 5 || at[0] != 0xb8 || !leads_to(at + 5, end))
            continue;
        memcpy(&number, at + 1, sizeof number);
        if (number >= 0 && number < HIGHEST)
            return number;
    }
    return HP_NO_CALL;
}

static int32_t call_on_arm(const uint8_t *code, const struct hp_registers *registers)
{
    static const uint8_t supervisor_call[] = {0x01, 0, 0, 0xd4};
    if (memcmp(code, supervisor_call, sizeof supervisor_call) != 0 ||
        !hp_register_is_known(registers, ARM_NUMBER) || registers->value[ARM_NUMBER] >= HIGHEST)
        return HP_NO_CALL;
    return (int32_t)registers->value[ARM_NUMBER];
}

int32_t hp_kernel_entry_call(const struct hp_space *space, const struct hp_machine *machine,
                             const struct hp_registers *registers)
{
    uint8_t code[BEFORE];
    const uint64_t pc = registers->value[machine->pc];
    if (machine->has_link_register)
        return hp_code_before(space, pc, code, 4) ? call_on_arm(code, registers) : HP_NO_CALL;
    return hp_code_before(space, pc, code, sizeof code) ? hp_kernel_entry_number(code, sizeof code) : HP_NO_CALL;
}
