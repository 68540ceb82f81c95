/* Recognises calls and system calls by their instructions. SPDX-License-Identifier: MIT */
#include "instructions.h"

#include <string.h>

#define LONGEST 7u

/* Copies code of the file mapped there. False: none, or less of it. */
static bool code_before(const struct hp_space *space, uint64_t address, uint8_t *bytes, size_t size)
{
    const struct hp_mapping *mapping = hp_space_find(space, address - 1);
    if (mapping == NULL || mapping->image == NULL || !mapping->has_bias || !mapping->image->is_readable)
        return false;
    const struct hp_elf *elf = &mapping->image->file.elf;
    const uint64_t first = address - size + mapping->bias;
    for (size_t at = 0; at < elf->part_count; at++) {
        const struct hp_elf_part *part = &elf->parts[at];
        if (part->is_code && first >= part->linked && first - part->linked <= part->size &&
            size <= part->size - (first - part->linked))
            return hp_elf_read_at(mapping->image->file.fd, part->offset + (first - part->linked), bytes, size);
    }
    return false;
}

/*
 * "call *%rax", "call *8(%rbx)", "call *table(,%rax,8)": the opcode is ff, with 2 in the middle of the next byte.
 */
static bool is_indirect(const uint8_t *bytes, size_t size)
{
    static const struct {
        uint8_t length, mode; /* mode: the upper two bits of the byte after the opcode */
        bool has_index;       /* and one more byte follows */
    } ways[] = {{2, 3, false}, {2, 0, false}, {3, 1, false}, {6, 2, false},
                {3, 0, true},  {4, 1, true},  {7, 2, true}};
    for (size_t at = 0; at < sizeof ways / sizeof ways[0]; at++) {
        const uint8_t *call = size >= ways[at].length ? bytes + size - ways[at].length : NULL;
        if (call == NULL || call[0] != 0xff || (call[1] >> 3 & 7) != 2 || call[1] >> 6 != ways[at].mode)
            continue;
        const bool has_index = ways[at].mode != 3 && (call[1] & 7) == 4;
        const bool is_absolute = ways[at].mode == 0 && (call[1] & 7) == 5; /* that one is longer */
        if (has_index == ways[at].has_index && !is_absolute)
            return true;
    }
    /* "call *somewhere(%rip)" and "call *table(,%rax,8)" */
    return (size >= 6 && bytes[size - 6] == 0xff && bytes[size - 5] == 0x15) ||
           (size >= 7 && bytes[size - 7] == 0xff && bytes[size - 6] == 0x14);
}

enum hp_call_kind hp_call_at_end(const uint8_t *bytes, size_t size, int32_t *ret_distance)
{
    if (size >= 5 && bytes[size - 5] == 0xe8) {
        memcpy(ret_distance, bytes + size - 4, sizeof *ret_distance);
        return HP_CALL_DIRECT;
    }
    return is_indirect(bytes, size) ? HP_CALL_INDIRECT : HP_CALL_NONE;
}

enum hp_call_kind hp_call_before(const struct hp_space *space, uint64_t address, uint64_t *ret_target)
{
    uint8_t bytes[LONGEST];
    int32_t distance = 0;
    if (!code_before(space, address, bytes, sizeof bytes))
        return HP_CALL_NONE;
    const enum hp_call_kind kind = hp_call_at_end(bytes, sizeof bytes, &distance);
    *ret_target = address + (uint64_t)(int64_t)distance;
    return kind;
}

/* ------------------------------------------------------------------------------------------------- system calls */

/*
 * On 64-bit Arm the register with the number is preserved. On x86-64 the kernel has overwritten it by then, and
 * perf samples lack orig_rax: so the number is read from the code. It is loaded right before the call, or with a
 * few other registers in between; other code is not recognised.
 */

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
        return code_before(space, pc, code, 4) ? call_on_arm(code, registers) : HP_NO_CALL;
    return code_before(space, pc, code, sizeof code) ? hp_kernel_entry_number(code, sizeof code) : HP_NO_CALL;
}
