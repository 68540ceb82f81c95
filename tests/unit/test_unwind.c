/*
 * The unwinder, on stacks of this program, in which each function has recorded its return address. One file: all
 * tests climb the same chains of functions. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <elf.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine.h"
#include "stack_chain.h"
#include "unwind.h"
#include "unwind_table.h"

#define MOST_FRAMES 512u
#define STACK_BYTES (1u << 20)
#define DEPTH 13

struct stack_truth stack_truth;

static struct hp_image_set images;
static struct hp_space space;
static struct hp_unwinder unwinder;
static char maps[1 << 18];

/* The stack found at the end of a chain. */
static struct found {
    struct hp_frame frames[MOST_FRAMES];
    size_t count;
    enum hp_unwind_end end;
    struct stack_truth truth;
} found;
static size_t stack_bytes; /* to copy at most */

/* ---------------------------------------------------------------------------------------------- capture */

static void read_maps(void)
{
    size_t length = 0, got;
    FILE *stream = fopen("/proc/self/maps", "r");
    assert_non_null(stream);
    while ((got = fread(maps + length, 1, sizeof maps - 1 - length, stream)) > 0)
        length += got;
    fclose(stream);
    maps[length] = '\0';
    assert_true(hp_space_add_maps(&space, &images, getpid(), maps));
}

/* How many bytes there are from an address to the end of its mapping. */
static size_t left_at(uintptr_t address)
{
    for (const char *line = maps; *line != '\0'; line += strcspn(line, "\n") + 1) {
        unsigned long long from, to;
        if (sscanf(line, "%llx-%llx", &from, &to) == 2 && address >= from && address < to)
            return (size_t)(to - address);
    }
    return 0;
}

__attribute__((no_sanitize("address", "thread"), noinline)) static void copy_stack(struct hp_stack_bytes *piece,
                                                                                   uintptr_t sp, char *bytes)
{
    const size_t left = left_at(sp);
    piece->address = sp;
    piece->size = left < stack_bytes ? left : stack_bytes;
    piece->bytes = bytes;
    for (size_t at = 0; at < piece->size; at++)
        bytes[at] = ((const volatile char *)sp)[at]; /* NOLINT(performance-no-int-to-ptr) */
}

static void unwind(const struct hp_registers *registers, const struct hp_stack_bytes *pieces, size_t count)
{
    const struct hp_stack_memory memory = {.pieces = pieces, .count = count};
    found.truth = stack_truth;
    found.count =
        hp_unwind(&unwinder, &space, hp_machine_here(), registers, &memory, found.frames, MOST_FRAMES, &found.end);
}

/* Registers as they are here: those that a function keeps for its caller. */
static inline __attribute__((always_inline)) void capture_registers(struct hp_registers *registers)
{
    uint64_t *value = registers->value;
#if defined(__x86_64__)
    __asm__ volatile("leaq 1f(%%rip), %%rax\n"
                     "1: movq %%rax, 128(%0)\n movq %%rbx, 24(%0)\n movq %%rbp, 48(%0)\n movq %%rsp, 56(%0)\n"
                     "movq %%r12, 96(%0)\n movq %%r13, 104(%0)\n movq %%r14, 112(%0)\n movq %%r15, 120(%0)"
                     :
                     : "r"(value)
                     : "rax", "memory");
    registers->known = 0x1f0c8;
#elif defined(__aarch64__)
    __asm__ volatile("adr x16, 1f\n 1: str x16, [%0, 256]\n mov x16, sp\n str x16, [%0, 248]\n"
                     "stp x19, x20, [%0, 152]\n stp x21, x22, [%0, 168]\n stp x23, x24, [%0, 184]\n"
                     "stp x25, x26, [%0, 200]\n stp x27, x28, [%0, 216]\n stp x29, x30, [%0, 232]"
                     :
                     : "r"(value)
                     : "x16", "memory");
    registers->known = UINT64_C(0x1fff80000);
#else
    (void)value;
    registers->known = 0;
#endif
}

static __attribute__((noinline)) void unwind_here(void)
{
    static struct hp_registers registers;
    static char bytes[STACK_BYTES];
    struct hp_stack_bytes piece;
    ENTER_TRUTH();
    capture_registers(&registers);
    copy_stack(&piece, (uintptr_t)registers.value[hp_machine_here()->sp], bytes);
    unwind(&registers, &piece, 1);
    LEAVE_TRUTH();
}

/* ---------------------------------------------------------------------------------------------- compare */

static bool is_own(uint64_t pc)
{
    const struct hp_mapping *own = hp_space_find(&space, (uintptr_t)is_own), *there = hp_space_find(&space, pc - 1);
    return there != NULL && there->image == own->image;
}

static size_t next_own(size_t at)
{
    while (at < found.count && !is_own(found.frames[at].pc))
        at++;
    return at;
}

/*
 * Frames of this program, but for `skipped` of the innermost, are those that were written down, as far as these go.
 */
static void assert_truth(const char *name, size_t skipped)
{
    size_t at = next_own(0);
    for (; skipped > 0; skipped--)
        at = next_own(at + 1);
    assert_true(found.truth.count > 0);
    for (size_t index = found.truth.count; index-- > 0;) {
        const uintptr_t truth = found.truth.all[index];
        if (!is_own(truth))
            continue;
        at = next_own(at);
        if (at == found.count || found.frames[at].pc != truth)
            fail_msg("%s: of %zu frames, the %zu. is at %#llx; it should be at %#llx. End: %d", name, found.count,
                     at, at < found.count ? (unsigned long long)found.frames[at].pc : 0, (unsigned long long)truth,
                     (int)found.end);
        at++;
    }
}

static bool has_how(enum hp_frame_how how)
{
    for (size_t at = 0; at < found.count; at++)
        if (found.frames[at].how == how)
            return true;
    return false;
}

static int set_up(void **state)
{
    (void)state;
    if (hp_machine_here() == NULL)
        return 0;
    stack_truth.count = 0;
    stack_bytes = STACK_BYTES;
    read_maps();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hp_space_free(&space);
    hp_unwinder_free(&unwinder);
    hp_image_set_free(&images);
    return 0;
}

#define NEED_MACHINE()                                                                                             \
    (void)state;                                                                                                   \
    if (hp_machine_here() == NULL)                                                                                 \
        skip();

/* ----------------------------------------------------------------------------------------------- stacks */

static void calls_are_found(void **state)
{
    NEED_MACHINE();
    static const struct {
        const char *name;
        void (*chain)(int depth, chain_end *end);
    } chains[] = {{"usual", chain_usual}, {"small", chain_small}, {"pointers", chain_pointers}};
    for (size_t at = 0; at < sizeof chains / sizeof chains[0]; at++) {
        chains[at].chain(DEPTH, unwind_here);
        assert_truth(chains[at].name, 1);
        assert_int_equal(found.frames[0].how, HP_FRAME_FIRST);
        assert_false(has_how(HP_FRAME_POINTER));
        assert_int_equal(found.end, HP_UNWIND_START);
    }
}

static bool is_x86(void) { return hp_machine_here()->elf_machine == EM_X86_64; }

static volatile size_t few = 100;

/*
 * As unwind_here, but its frame is found by the frame pointer alone, and the stack contains many values that
 * resemble return addresses.
 */
static __attribute__((noinline)) void unwind_from_unknown_frame(void)
{
    static struct hp_registers registers;
    static char bytes[STACK_BYTES];
    struct hp_stack_bytes piece;
    ENTER_TRUTH();
    volatile uintptr_t *words = __builtin_alloca(few * sizeof *words);
    for (size_t at = 0; at < few; at++)
        words[at] = stack_truth.all[at % stack_truth.count];
    capture_registers(&registers);
    registers.known = UINT64_C(1) << hp_machine_here()->sp | UINT64_C(1) << hp_machine_here()->pc;
    copy_stack(&piece, (uintptr_t)registers.value[hp_machine_here()->sp], bytes);
    unwind(&registers, &piece, 1);
    few = words[0] != 0 ? few : 0;
    LEAVE_TRUTH();
}

static __attribute__((noinline)) void call_directly(void)
{
    ENTER_TRUTH();
    unwind_from_unknown_frame();
    LEAVE_TRUTH();
}

static size_t recovered_frames(void)
{
    size_t count = 0;
    for (size_t at = 0; at < found.count; at++)
        count += found.frames[at].how == HP_FRAME_RECOVERED;
    return count;
}

/* The frame pointer that is needed is found where the function left it; from there on all is known. */
static void calls_are_found_with_few_registers(void **state)
{
    NEED_MACHINE();
    if (!is_x86())
        skip();
    chain_pointers(DEPTH, call_directly);
    assert_truth("called directly", 1);
    assert_int_equal(recovered_frames(), 1);
    assert_int_equal(found.frames[1].how, HP_FRAME_RECOVERED);
    assert_int_equal(found.end, HP_UNWIND_START);
}

/* With all registers no search is needed. */
static void no_stack_search_with_all_registers(void **state)
{
    NEED_MACHINE();
    chain_pointers(DEPTH, unwind_here);
    assert_false(has_how(HP_FRAME_RECOVERED));
}

static void instructions_that_call(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[7];
        enum hp_call_kind kind;
    } cases[] = {{{0x90, 0x90, 0xe8, 0x10, 0, 0, 0}, HP_CALL_DIRECT},
                 {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, HP_CALL_INDIRECT}, /* call *%rax */
                 {{0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd5}, HP_CALL_INDIRECT}, /* call *%r13 */
                 {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x13}, HP_CALL_INDIRECT}, /* call *(%rbx) */
                 {{0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x18}, HP_CALL_INDIRECT}, /* call *24(%rax) */
                 {{0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08}, HP_CALL_INDIRECT}, /* call *8(%rsp) */
                 {{0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0xc8}, HP_CALL_INDIRECT}, /* call *(%rax,%rcx,8) */
                 {{0x90, 0xff, 0x15, 0x10, 0x20, 0, 0}, HP_CALL_INDIRECT},       /* call *somewhere(%rip) */
                 {{0x90, 0xff, 0x90, 0x10, 0x20, 0, 0}, HP_CALL_INDIRECT},       /* call *8208(%rax) */
                 {{0xff, 0x14, 0xc5, 0x10, 0x20, 0, 0}, HP_CALL_INDIRECT},       /* call *8208(,%rax,8) */
                 {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, HP_CALL_NONE},     /* jmp *%rax */
                 {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xc0}, HP_CALL_NONE},     /* inc %eax */
                 {{0x90, 0x90, 0xe9, 0x10, 0, 0, 0}, HP_CALL_NONE},              /* jmp */
                 {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, HP_CALL_NONE}};
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        int32_t distance = 0;
        assert_int_equal(hp_call_at_end(cases[at].bytes, sizeof cases[at].bytes, &distance), cases[at].kind);
        assert_int_equal(distance, cases[at].kind == HP_CALL_DIRECT ? 0x10 : 0);
    }
}

static void system_calls_by_the_code_before_them(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[16];
        int32_t number;
    } cases[] = {
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0xb8, 1, 0, 0, 0, 0x0f, 0x05}, 1},               /* mov $1, %eax */
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x31, 0xc0, 0x0f, 0x05}, 0},            /* xor %eax, %eax */
        {{0, 0, 0, 0, 0, 0, 0xb8, 0xe6, 0, 0, 0, 0x48, 0x89, 0xfe, 0x0f, 0x05}, 230}, /* mov %rdi, %rsi behind it */
        {{0, 0, 0, 0xb8, 0xca, 0, 0, 0, 0x45, 0x31, 0xd2, 0x4c, 0x89, 0xc6, 0x0f, 0x05}, 202}, /* two of them */
        {{0, 0, 0xb8, 0x3c, 0, 0, 0, 0x90, 0xbf, 1, 0, 0, 0, 0, 0x0f, 0x05}, HP_UNKNOWN_CALL}, /* between */
        {{0, 0, 0, 0, 0, 0, 0xb8, 1, 0, 0, 0, 0x48, 0x89, 0xf8, 0x0f, 0x05}, HP_UNKNOWN_CALL}, /* mov %rdi, %rax */
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0xb8, 1, 0, 0, 1, 0x0f, 0x05}, HP_UNKNOWN_CALL},          /* no such call */
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xb8, 1, 0, 0, 0, 0x90}, HP_NO_CALL},                  /* none at all */
    };
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++)
        assert_int_equal(hp_kernel_entry_number(cases[at].bytes, sizeof cases[at].bytes), cases[at].number);
}

static void frame_pointers_are_the_last_resort(void **state)
{
    NEED_MACHINE();
    chain_only_pointers(DEPTH, unwind_here);
    assert_truth("only pointers", 1);
    assert_true(has_how(HP_FRAME_POINTER));
    assert_true(has_how(HP_FRAME_TABLE));
    assert_int_equal(found.end, HP_UNWIND_START);
}

static void debug_frame_is_read(void **state)
{
    NEED_MACHINE();
    chain_debug_frame(DEPTH, unwind_here);
    assert_truth("debug_frame", 1);
    assert_false(has_how(HP_FRAME_POINTER));
    assert_int_equal(found.end, HP_UNWIND_START);
}

static jmp_buf back;
static void unwind_and_jump(void)
{
    ENTER_TRUTH();
    unwind_here();
    longjmp(back, 1);
}

static void a_call_at_the_end_of_a_function(void **state)
{
    NEED_MACHINE();
    if (setjmp(back) == 0)
        chain_small(-1000, unwind_and_jump);
    assert_truth("noreturn", 1);
    assert_int_equal(found.end, HP_UNWIND_START);
}

static void *in_thread(void *context)
{
    (void)context;
    read_maps();
    chain_small(DEPTH, unwind_here);
    return NULL;
}

static void threads_have_a_start(void **state)
{
    NEED_MACHINE();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_truth("thread", 1);
    assert_int_equal(found.end, HP_UNWIND_START);
}

static void stack_ends_where_the_copy_ends(void **state)
{
    NEED_MACHINE();
    stack_bytes = 30000;
    chain_small(DEPTH, unwind_here);
    assert_int_equal(found.end, HP_UNWIND_CUT);
    assert_true(found.count > 3 && found.count < found.truth.count);
    for (size_t at = 1; at < found.count; at++)
        assert_int_equal(found.frames[at].pc, found.truth.all[found.truth.count - at]);
}

/* --------------------------------------------------------------------------------------------- signals */

static volatile uintptr_t interrupted_sp;
static bool has_both_stacks;

static void get_registers(const ucontext_t *context, struct hp_registers *registers)
{
#if defined(__x86_64__)
    static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    registers->known = 0;
    for (unsigned at = 0; at < sizeof order / sizeof order[0]; at++)
        hp_register_set(registers, at, (uint64_t)context->uc_mcontext.gregs[order[at]]);
#elif defined(__aarch64__)
    registers->known = 0;
    for (unsigned at = 0; at < 31; at++)
        hp_register_set(registers, at, context->uc_mcontext.regs[at]);
    hp_register_set(registers, 31, context->uc_mcontext.sp);
    hp_register_set(registers, 32, context->uc_mcontext.pc);
#else
    (void)context;
    registers->known = 0;
#endif
}

static __attribute__((noinline)) void unwind_in_handler(void)
{
    static struct hp_registers registers;
    static char bytes[2][STACK_BYTES];
    struct hp_stack_bytes pieces[2];
    capture_registers(&registers);
    copy_stack(&pieces[0], (uintptr_t)registers.value[hp_machine_here()->sp], bytes[0]);
    copy_stack(&pieces[1], interrupted_sp, bytes[1]);
    unwind(&registers, pieces, has_both_stacks ? 2 : 1);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct hp_registers registers = {0};
    (void)number;
    (void)info;
    get_registers(context, &registers);
    interrupted_sp = (uintptr_t)registers.value[hp_machine_here()->sp];
    unwind_in_handler();
    interrupted_sp = 0; /* so that the call above is no jump */
}

static void interrupt(void)
{
    ENTER_TRUTH();
    raise(SIGUSR1);
    LEAVE_TRUTH();
}

/* A handler that is interrupted itself. */
static void on_first(int number)
{
    (void)number;
    chain_small(3, interrupt);
}

static void handle(int signal_number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(signal_number, &action, NULL), 0);
}

static void handlers_and_interrupted_functions(void **state)
{
    NEED_MACHINE();
    handle(SIGUSR1, on_signal, 0);
    has_both_stacks = false;
    chain_small(DEPTH, interrupt);
    assert_truth("signal", 3);
    assert_true(has_how(HP_FRAME_INTERRUPTED));
    assert_int_equal(found.end, HP_UNWIND_START);
    signal(SIGUSR2, on_first);
    stack_truth.count = 0;
    raise(SIGUSR2);
    assert_truth("nested", 3);
    assert_int_equal(found.end, HP_UNWIND_START);
}

static void alternate_stacks(void **state)
{
    NEED_MACHINE();
    static char alternate[1 << 17];
    const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    const stack_t none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    handle(SIGUSR1, on_signal, SA_ONSTACK);
    has_both_stacks = true;
    chain_small(DEPTH, interrupt);
    assert_truth("alternate", 3);
    assert_int_equal(found.end, HP_UNWIND_START);
    /* Without the other stack it ends at the interrupted frame, and says so. */
    has_both_stacks = false;
    chain_small(DEPTH, interrupt);
    assert_int_equal(found.end, HP_UNWIND_CUT);
    assert_true(found.frames[found.count - 1].how == HP_FRAME_INTERRUPTED);
    assert_true(found.frames[found.count - 1].is_exact);
    sigaltstack(&none, NULL);
}

/* Where a signal comes at any instruction: registers are those of the signal, and the stack is that of the work. */
static volatile sig_atomic_t samples, wrong;
static void on_sample(int number, siginfo_t *info, void *context)
{
    static struct hp_registers registers;
    static char bytes[STACK_BYTES];
    struct hp_stack_bytes piece;
    (void)number;
    (void)info;
    get_registers(context, &registers);
    copy_stack(&piece, (uintptr_t)registers.value[hp_machine_here()->sp], bytes);
    unwind(&registers, &piece, 1);
    samples++;
    wrong += found.end != HP_UNWIND_START;
}

static void raise_here(void)
{
    ENTER_TRUTH();
    raise(SIGUSR1);
    LEAVE_TRUTH();
}

static void registers_of_a_signal(void **state)
{
    NEED_MACHINE();
    handle(SIGUSR1, on_sample, 0);
    samples = wrong = 0;
    chain_small(DEPTH, raise_here);
    assert_int_equal(samples, 1);
    assert_int_equal(wrong, 0);
    assert_truth("sample", 1);
}

/* --------------------------------------------------------------------------------------------- bad input */

/* A frame pointer that leads to itself, one that leads back, and one that leads nowhere. */
static void invalid_frame_pointers(void **state)
{
    NEED_MACHINE();
    const struct hp_machine *machine = hp_machine_here();
    struct hp_space wild = {.count = 0};
    const struct hp_image_place anonymous = {.path = "", .start = 0x1000, .end = 0x2000};
    uint64_t stack[8] = {0x7000, 0x1500, 0x7010, 0x1600, 0x7000, 0x1700};
    const struct hp_stack_bytes piece = {0x7000, stack, sizeof stack};
    const struct hp_stack_memory memory = {.pieces = &piece, .count = 1};
    struct hp_registers registers = {.known = 0};
    struct hp_frame frames[8];
    enum hp_unwind_end end;
    assert_true(hp_space_add(&wild, &images, &anonymous, 0));
    hp_register_set(&registers, machine->pc, 0x1234);
    hp_register_set(&registers, machine->sp, 0x7000);
    hp_register_set(&registers, machine->fp, 0x7000); /* to itself */
    assert_int_equal(hp_unwind(&unwinder, &wild, machine, &registers, &memory, frames, 8, &end), 2);
    assert_int_equal(end, HP_UNWIND_UNKNOWN);
    assert_int_equal(frames[1].pc, 0x1500);
    assert_int_equal(frames[1].how, HP_FRAME_POINTER);
    hp_register_set(&registers, machine->fp, 0x7020); /* back */
    assert_int_equal(hp_unwind(&unwinder, &wild, machine, &registers, &memory, frames, 8, &end), 2);
    hp_register_set(&registers, machine->fp, 0x9000); /* nowhere */
    assert_int_equal(hp_unwind(&unwinder, &wild, machine, &registers, &memory, frames, 8, &end), 1);
    hp_register_set(&registers, machine->fp, 0); /* the end */
    assert_int_equal(hp_unwind(&unwinder, &wild, machine, &registers, &memory, frames, 8, &end), 1);
    assert_int_equal(end, HP_UNWIND_START);
    stack[1] = 0x3000; /* no code */
    hp_register_set(&registers, machine->fp, 0x7000);
    assert_int_equal(hp_unwind(&unwinder, &wild, machine, &registers, &memory, frames, 8, &end), 1);
    assert_int_equal(end, HP_UNWIND_BROKEN);
    hp_space_free(&wild);
}

/* ------------------------------------------------------------------------------------------ the space */

static const struct hp_mapping *at(const struct hp_space *where, uint64_t address)
{
    return hp_space_find(where, address);
}

static void mappings_replace_older_ones(void **state)
{
    (void)state;
    struct hp_space made = {.count = 0}, copy = {.count = 0};
    const struct hp_image_place whole = {.path = "", .start = 0x1000, .end = 0x9000},
                                middle = {.path = "[vdso]", .start = 0x3000, .end = 0x4000},
                                across = {.path = "", .start = 0x3800, .end = 0x6000};
    assert_true(hp_space_add(&made, &images, &whole, 0));
    assert_true(hp_space_add(&made, &images, &middle, 0));
    assert_int_equal(made.count, 3);
    assert_null(at(&made, 0xfff));
    assert_null(at(&made, 0x2fff)->image);
    assert_non_null(at(&made, 0x3000)->image);
    assert_non_null(at(&made, 0x3fff)->image);
    assert_null(at(&made, 0x4000)->image);
    assert_true(hp_space_add(&made, &images, &across, 0));
    assert_int_equal(at(&made, 0x37ff)->end, 0x3800);
    assert_int_equal(at(&made, 0x3800)->end, 0x6000);
    assert_int_equal(at(&made, 0x6000)->end, 0x9000);
    assert_int_equal(made.count, 4);
    assert_null(at(&made, 0x9000));
    assert_true(hp_space_copy(&copy, &made));
    hp_space_free(&made);
    assert_int_equal(at(&copy, 0x3800)->end, 0x6000);
    hp_space_free(&copy);
}

/* Files that are gone or are others are not read; the same file is read once. */
static void files_are_identified_by_inode_and_build_id(void **state)
{
    NEED_MACHINE();
    const struct hp_mapping *own = at(&space, (uintptr_t)is_own);
    struct hp_image_place place = {.path = "/proc/self/exe"};
    assert_true(own->image->is_readable);
    if (own->image->file.build_id.size > 0)
        assert_ptr_equal(hp_image_set_find(&images, &place), own->image);
    place.path = "/nowhere/at/all";
    assert_false(hp_image_set_find(&images, &place)->is_readable);
    place.path = "/proc/self/exe (deleted)";
    assert_false(hp_image_set_find(&images, &place)->is_readable);
    place.build_id = own->image->file.build_id;
    if (place.build_id.size > 0)
        assert_true(hp_image_set_find(&images, &place)->is_readable);
    place.path = "/proc/self/exe";
    place.build_id = (struct hp_build_id){.bytes = {1, 2, 3}, .size = 20};
    assert_false(hp_image_set_find(&images, &place)->is_readable);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(calls_are_found),
        TEST(calls_are_found_with_few_registers),
        TEST(no_stack_search_with_all_registers),
        cmocka_unit_test(instructions_that_call),
        cmocka_unit_test(system_calls_by_the_code_before_them),
        TEST(frame_pointers_are_the_last_resort),
        TEST(debug_frame_is_read),
        TEST(a_call_at_the_end_of_a_function),
        TEST(threads_have_a_start),
        TEST(stack_ends_where_the_copy_ends),
        TEST(handlers_and_interrupted_functions),
        TEST(alternate_stacks),
        TEST(registers_of_a_signal),
        TEST(invalid_frame_pointers),
        TEST(mappings_replace_older_ones),
        TEST(files_are_identified_by_inode_and_build_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
