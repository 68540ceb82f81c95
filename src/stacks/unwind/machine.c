/* Differences between machines, and their instructions for calls. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* memmem */
#include "machine.h"

#include <elf.h>
#include <string.h>

/*
 * x86-64: on return from a handler the stack pointer is at the struct ucontext; its registers begin after flags,
 * link and the alternate stack, 40 bytes, in the order r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
 */
static const struct hp_machine x86_64 = {
    .elf_machine = EM_X86_64,
    .pc = 16,
    .sp = 7,
    .fp = 6,
    .saved = {6, 16, 3, 12, 13, 14, 15},
    .saved_count = 7,
    .interrupted = {144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168,
                    -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1, -1, -1, -1, -1, -1, -1, -1},
    .perf_order = {0,   3,   2,   1,   4,   5,   6,   7,   16,  17,  18,  19,  20,  21,  22,  23, 8,
                   255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
};

/*
 * aarch64: the stack pointer is at the siginfo, 128 bytes; in the struct ucontext after it, flags, link, alternate
 * stack and signals take 176, the fault address 8; then come x0 to x30, sp, pc. We number the pc 32, since DWARF
 * has no number for it.
 */
#define X(n) (128 + 176 + 8 + 8 * (n))
static const struct hp_machine aarch64 = {
    .elf_machine = EM_AARCH64,
    .pc = 32,
    .sp = 31,
    .fp = 29,
    .saved = {29, 30, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28},
    .saved_count = 12,
    .has_link_register = true,
    .interrupted = {X(0),  X(1),  X(2),  X(3),  X(4),  X(5),  X(6),  X(7),  X(8),  X(9),  X(10),
                    X(11), X(12), X(13), X(14), X(15), X(16), X(17), X(18), X(19), X(20), X(21),
                    X(22), X(23), X(24), X(25), X(26), X(27), X(28), X(29), X(30), X(31), X(32)},
    .perf_order = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                   17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32},
};
#undef X

const struct hp_machine *hp_machine_of(uint16_t elf_machine)
{
    return elf_machine == EM_X86_64 ? &x86_64 : elf_machine == EM_AARCH64 ? &aarch64 : NULL;
}

const struct hp_machine *hp_machine_here(void)
{
#if defined(__x86_64__)
    return &x86_64;
#elif defined(__aarch64__)
    return &aarch64;
#else
    return NULL;
#endif
}

unsigned hp_machine_saved_index(const struct hp_machine *machine, uint64_t number)
{
    for (unsigned at = 0; at < machine->saved_count; at++)
        if (machine->saved[at] == number)
            return at;
    return HP_SAVED;
}

/* "mov $15, %rax; syscall", as in glibc, Go and musl; "mov x8, 139; svc 0". */
static size_t find(const uint8_t *code, size_t from, size_t size, const uint8_t *wanted, size_t bytes)
{
    const uint8_t *found = from < size ? memmem(code + from, size - from, wanted, bytes) : NULL;
    return found != NULL ? (size_t)(found - code) : size;
}

/* mov x8, #139; svc #0 */
static size_t find_arm_return(const uint8_t *code, size_t size, size_t *ret_length)
{
    static const uint8_t wanted[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
    size_t at = find(code, 0, size, wanted, sizeof wanted);
    while (at < size && at % 4 != 0)
        at = find(code, at + 1, size, wanted, sizeof wanted);
    *ret_length = sizeof wanted;
    return at;
}

static bool comes_before(const uint8_t *code, size_t at, const uint8_t *wanted, size_t bytes)
{
    return at >= bytes && memcmp(code + at - bytes, wanted, bytes) == 0;
}

/* mov $15, %rax or %eax, which begin differently; syscall */
static size_t find_x86_return(const uint8_t *code, size_t size, size_t *ret_length)
{
    static const uint8_t long_move[] = {0x48, 0xc7, 0xc0}, short_move[] = {0xb8};
    static const uint8_t rest[] = {0x0f, 0, 0, 0, 0x0f, 0x05};
    for (size_t at = find(code, 0, size, rest, sizeof rest); at < size;
         at = find(code, at + 1, size, rest, sizeof rest)) {
        const size_t before = comes_before(code, at, long_move, sizeof long_move)     ? sizeof long_move
                              : comes_before(code, at, short_move, sizeof short_move) ? sizeof short_move
                                                                                      : 0;
        *ret_length = before + sizeof rest;
        if (before > 0)
            return at - before;
    }
    return size;
}

size_t hp_machine_signal_return(const struct hp_machine *machine, const uint8_t *code, size_t size,
                                size_t *ret_length)
{
    return machine == &aarch64 ? find_arm_return(code, size, ret_length) : find_x86_return(code, size, ret_length);
}

void hp_registers_from_perf(const struct hp_machine *machine, uint64_t mask, const uint64_t *values,
                            struct hp_registers *ret_registers)
{
    ret_registers->known = 0;
    for (unsigned number = 0; number < HP_REGISTERS; number++) {
        const unsigned bit = machine->perf_order[number];
        if (bit < 64 && (mask >> bit & 1))
            hp_register_set(ret_registers, number, values[__builtin_popcountll(mask & ((UINT64_C(1) << bit) - 1))]);
    }
}

/* ------------------------------------------------------------------------------------------------- instructions */

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
    return HP_UNKNOWN_CALL;
}

static int32_t call_on_arm(const uint8_t *code, const struct hp_registers *registers)
{
    static const uint8_t supervisor_call[] = {0x01, 0, 0, 0xd4};
    if (memcmp(code, supervisor_call, sizeof supervisor_call) != 0)
        return HP_NO_CALL;
    if (!hp_register_is_known(registers, ARM_NUMBER) || registers->value[ARM_NUMBER] >= HIGHEST)
        return HP_UNKNOWN_CALL;
    return (int32_t)registers->value[ARM_NUMBER];
}

int32_t hp_kernel_entry_call(const struct hp_space *space, const struct hp_machine *machine,
                             const struct hp_registers *registers)
{
    uint8_t code[BEFORE];
    const uint64_t pc = registers->value[machine->pc];
    if (machine->has_link_register)
        return code_before(space, pc, code, 4) ? call_on_arm(code, registers) : HP_UNKNOWN_CALL;
    return code_before(space, pc, code, sizeof code) ? hp_kernel_entry_number(code, sizeof code) : HP_UNKNOWN_CALL;
}
