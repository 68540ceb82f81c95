/* Differences between machines. SPDX-License-Identifier: MIT */
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
