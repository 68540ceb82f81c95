/*
 * The unwinder, at every single instruction of a program: in prologues and epilogues, in linker stubs, in the
 * dynamic linker during a lookup. The true callers are known from the executed calls and returns. x86-64 only,
 * whose calls are easy to recognize. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind.h"

#if defined(__x86_64__)

#define MOST_FRAMES 256u
#define STACK_BYTES 65536u
#define MOST_STEPS 200000u

static struct hp_image_set images;
static struct hp_space space;
static struct hp_unwinder unwinder;

struct truth {
    uint64_t callers[MOST_FRAMES]; /* the innermost last */
    size_t count;
};

/* ---------------------------------------------------------------------------------------------- the other */

static void get_registers(pid_t child, struct hp_registers *registers)
{
    struct user_regs_struct user;
    assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &user), 0);
    const uint64_t values[] = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi,
                               user.rbp, user.rsp, user.r8,  user.r9,  user.r10, user.r11,
                               user.r12, user.r13, user.r14, user.r15, user.rip};
    memcpy(registers->value, values, sizeof values);
    registers->known = 0x1ffff;
}

static size_t read_bytes(pid_t child, uint64_t address, void *bytes, size_t size)
{
    const struct iovec here = {bytes, size}, there = {(void *)(uintptr_t)address, size}; /* NOLINT */
    const ssize_t got = process_vm_readv(child, &here, 1, &there, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

/* Up to the end of the stack, which lies within a page that can be read. */
static size_t read_stack(pid_t child, uint64_t sp, char *bytes)
{
    size_t size = STACK_BYTES - sp % 4096, got = 0;
    while (size > 0 && (got = read_bytes(child, sp, bytes, size)) == 0)
        size -= 4096;
    return got;
}

static void read_maps(pid_t child)
{
    static char text[1 << 17];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    hp_space_free(&space);
    assert_true(hp_space_add_maps(&space, &images, child, text));
}

/* ------------------------------------------------------------------------------------------------ truth */

static size_t skip_prefixes(const uint8_t *code)
{
    size_t at = 0;
    while (at < 4 && (code[at] == 0x66 || code[at] == 0xf2 || code[at] == 0xf3 || code[at] == 0x2e ||
                      code[at] == 0x3e || (code[at] & 0xf0) == 0x40))
        at++;
    return at;
}

static bool is_call(const uint8_t *code)
{
    const size_t at = skip_prefixes(code);
    return code[at] == 0xe8 || (code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2);
}

static bool is_return(const uint8_t *code)
{
    const size_t at = skip_prefixes(code);
    return code[at] == 0xc3 || code[at] == 0xc2;
}

static void follow(struct truth *truth, pid_t child, const uint8_t *executed, const struct hp_registers *now)
{
    if (is_call(executed)) {
        assert_true(truth->count < MOST_FRAMES);
        assert_int_equal(read_bytes(child, now->value[7], &truth->callers[truth->count++], 8), 8);
    } else if (is_return(executed)) {
        assert_true(truth->count > 0);
        assert_int_equal(truth->callers[--truth->count], now->value[16]);
    }
}

/* -------------------------------------------------------------------------------------------- the test */

static size_t unwind(pid_t child, const struct hp_registers *registers, struct hp_frame *frames,
                     enum hp_unwind_end *ret_end)
{
    static char bytes[STACK_BYTES];
    const struct hp_stack_bytes piece = {registers->value[7], bytes, read_stack(child, registers->value[7], bytes)};
    const struct hp_stack_memory memory = {.pieces = &piece, .count = 1};
    return hp_unwind(&unwinder, &space, hp_machine_here(), registers, &memory, frames, MOST_FRAMES, ret_end);
}

static void compare(const char *program, const struct hp_registers *registers, const struct truth *truth,
                    const struct hp_frame *frames, size_t count, enum hp_unwind_end end)
{
    const struct hp_mapping *mapping = hp_space_find(&space, registers->value[16]);
    size_t at = 0;
    while (at < truth->count && at + 1 < count && frames[at + 1].pc == truth->callers[truth->count - 1 - at])
        at++;
    if (at < truth->count)
        fail_msg("%s at %#llx of %s: caller %zu of %zu is %#llx; it should be %#llx. End: %d", program,
                 (unsigned long long)(registers->value[16] + mapping->bias), mapping->image->path, at + 1,
                 truth->count, at + 1 < count ? (unsigned long long)frames[at + 1].pc : 0,
                 (unsigned long long)truth->callers[truth->count - 1 - at], (int)end);
    assert_int_equal(count, truth->count + 1);
    assert_int_equal(end, HP_UNWIND_START);
}

/* The stack at the stop is taken as true if it reaches the start. */
static void begin(struct truth *truth, const struct hp_frame *frames, size_t count, enum hp_unwind_end end)
{
    assert_int_equal(end, HP_UNWIND_START);
    assert_in_range(count, 3, 20);
    for (truth->count = 0; truth->count + 1 < count; truth->count++)
        truth->callers[truth->count] = frames[count - 1 - truth->count].pc;
}

static pid_t start(const char *program)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl(program, program, (char *)NULL);
        _exit(1);
    }
    return child;
}

static void step_through(const char *program)
{
    static struct truth truth;
    struct hp_frame frames[MOST_FRAMES];
    struct hp_registers registers;
    enum hp_unwind_end end;
    uint8_t code[16];
    int status;
    size_t steps = 0, depth = 0;
    const pid_t child = start(program);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFSTOPPED(status));
    ptrace(PTRACE_SETOPTIONS, child, NULL,
           (void *)(uintptr_t)PTRACE_O_EXITKILL); /* NOLINT(performance-no-int-to-ptr) */
    read_maps(child);
    get_registers(child, &registers);
    size_t count = unwind(child, &registers, frames, &end);
    begin(&truth, frames, count, end);
    for (; steps < MOST_STEPS; steps++) {
        read_bytes(child, registers.value[16], code, sizeof code);
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
            break;
        get_registers(child, &registers);
        follow(&truth, child, code, &registers);
        count = unwind(child, &registers, frames, &end);
        compare(program, &registers, &truth, frames, count, end);
        depth = count > depth ? count : depth;
    }
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_in_range(steps, 1000, MOST_STEPS - 1);
    assert_true(depth > 9);
}

static int tear_down(void **state)
{
    (void)state;
    hp_space_free(&space);
    hp_unwinder_free(&unwinder);
    hp_image_set_free(&images);
    return 0;
}

static void a_program_with_lazy_binding(void **state)
{
    (void)state;
    step_through(STEPPED "stepped_lazy");
}

static void a_static_program(void **state)
{
    (void)state;
    step_through(STEPPED "stepped_static");
}

static void a_program_at_a_fixed_place_without_symbols(void **state)
{
    (void)state;
    step_through(STEPPED "stepped_stripped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_program_with_lazy_binding, tear_down),
        cmocka_unit_test_teardown(a_static_program, tear_down),
        cmocka_unit_test_teardown(a_program_at_a_fixed_place_without_symbols, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 77; }

#endif
