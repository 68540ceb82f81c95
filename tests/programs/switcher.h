/*
 * Coroutines with their own stacks, in two ways: by ucontext, and by a few instructions that save the callee-saved
 * registers and change the stack pointer. resume() and yield() tell hotpath, and the sanitizers, which stack comes
 * next.
 *
 *     struct coroutine one;
 *     coroutine_make(&one, body);    body(&one) runs until it returns; it calls yield(&one)
 *     while (!one.is_done) resume(&one);
 *     coroutine_drop(&one);
 */
#ifndef SWITCHER_H
#define SWITCHER_H

#include "support.h"

#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES (256u << 10)

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif

#ifdef HAS_ASAN
void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom, size_t *size);
#endif
#ifdef HAS_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

/* A place to go on from: a stack pointer, or a context. */
struct place {
    void *stack_pointer;
    ucontext_t context;
    void *fake_stack; /* of AddressSanitizer */
    const void *bottom;
    size_t size;
    void *fiber; /* of ThreadSanitizer */
};

struct coroutine {
    struct place self, caller;
    char *stack;
    void (*body)(struct coroutine *self);
    int is_done;
    hotpath_lane lane, below; /* its own, and that of the stack that resumed it */
    struct coroutine *next;   /* for queues */
    long number;
    void *more;
};

extern int uses_ucontext;

/* ---------------------------------------------------------------------------------------- by a few instructions */

#if defined(__x86_64__)
#define HAS_SWITCH 1
#define SAVED_WORDS 6
__asm__(".text\n.type switch_stack, @function\nswitch_stack:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size switch_stack, .-switch_stack\n"
        ".type begin_stack, @function\nbegin_stack:\n"
        "mov %rbx, %rdi\ncall *%r12\nud2\n"
        ".size begin_stack, .-begin_stack\n");
#elif defined(__aarch64__)
#define HAS_SWITCH 1
#define SAVED_WORDS 20
__asm__(".text\n.hidden switch_stack\n.globl switch_stack\n.type switch_stack, %function\nswitch_stack:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\n"
        "stp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\nstp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\n"
        "ldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\nldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\nret\n"
        ".size switch_stack, .-switch_stack\n"
        ".hidden begin_stack\n.globl begin_stack\n.type begin_stack, %function\nbegin_stack:\n"
        "mov x0, x19\nblr x20\nbrk #1\n"
        ".size begin_stack, .-begin_stack\n");
#else
#define HAS_SWITCH 0
#endif

#if HAS_SWITCH
void switch_stack(void **save, void *go_on) __asm__("switch_stack");
void begin_stack(void) __asm__("begin_stack");

/* As if switch_stack had been called there, with the function to call in registers that it restores. */
static inline void *first_stack_pointer(char *stack, void (*entry)(void *), void *argument)
{
    void **top = (void **)(void *)(stack + STACK_BYTES - 64);
#if defined(__x86_64__)
    *--top = (void *)(uintptr_t)begin_stack;
    top -= SAVED_WORDS; /* r15 r14 r13 r12 rbx rbp */
    top[3] = (void *)(uintptr_t)entry;
    top[4] = argument;
#else
    top -= SAVED_WORDS; /* x19 x20 ... x30 */
    top[0] = argument;
    top[1] = (void *)(uintptr_t)entry;
    top[11] = (void *)(uintptr_t)begin_stack;
#endif
    return top;
}
#endif

/* ---------------------------------------------------------------------------------------------------- switching */

/* Calls that the sanitizers need before and after. */
static inline void about_to_switch(struct place *from, struct place *to, int is_last)
{
#ifdef HAS_ASAN
    __sanitizer_start_switch_fiber(is_last ? NULL : &from->fake_stack, to->bottom, to->size);
#endif
#ifdef HAS_TSAN
    from->fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
    (void)from, (void)to, (void)is_last;
}

static inline void has_switched(struct place *here, struct place *from)
{
#ifdef HAS_ASAN
    __sanitizer_finish_switch_fiber(here->fake_stack, &from->bottom, &from->size);
#endif
    (void)here, (void)from;
}

/* Not inlined: what a compiler knows of a thread's variables must not be kept across it. */
static __attribute__((noinline, unused)) void change_stack(struct place *from, struct place *to, int is_last)
{
    about_to_switch(from, to, is_last);
#if HAS_SWITCH
    if (!uses_ucontext)
        switch_stack(&from->stack_pointer, to->stack_pointer);
    else
#endif
        swapcontext(&from->context, &to->context);
    has_switched(from, to);
}

static __attribute__((noinline, unused)) void resume(struct coroutine *coroutine)
{
    coroutine->below = hotpath_switch(coroutine->lane);
    change_stack(&coroutine->caller, &coroutine->self, 0);
}

static __attribute__((noinline, unused)) void yield(struct coroutine *coroutine)
{
    hotpath_switch(coroutine->below);
    change_stack(&coroutine->self, &coroutine->caller, 0);
}

/* ---------------------------------------------------------------------------------------------------- lifetimes */

static __attribute__((unused)) void coroutine_run(void *argument)
{
    struct coroutine *coroutine = argument;
    has_switched(&coroutine->self, &coroutine->caller);
    coroutine->body(coroutine);
    coroutine->is_done = 1;
    hotpath_switch(coroutine->below);
    change_stack(&coroutine->self, &coroutine->caller, 1);
}

static __attribute__((unused)) void coroutine_run_halves(unsigned low, unsigned high)
{
    coroutine_run((void *)(uintptr_t)((uint64_t)high << 32 | low));
}

static __attribute__((unused)) void coroutine_make(struct coroutine *coroutine,
                                                   void (*body)(struct coroutine *self))
{
    memset(coroutine, 0, sizeof *coroutine);
    coroutine->body = body;
    coroutine->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(coroutine->stack != MAP_FAILED && getcontext(&coroutine->self.context) == 0);
    coroutine->self.bottom = coroutine->stack;
    coroutine->self.size = STACK_BYTES;
#ifdef HAS_TSAN
    coroutine->self.fiber = __tsan_create_fiber(0);
#endif
    coroutine->self.context.uc_stack.ss_sp = coroutine->stack;
    coroutine->self.context.uc_stack.ss_size = STACK_BYTES;
    const uint64_t address = (uintptr_t)coroutine;
    makecontext(&coroutine->self.context, (void (*)(void))(uintptr_t)coroutine_run_halves, 2, (unsigned)address,
                (unsigned)(address >> 32));
#if HAS_SWITCH
    coroutine->self.stack_pointer = first_stack_pointer(coroutine->stack, coroutine_run, coroutine);
#endif
    coroutine->lane = hotpath_lane_begin();
}

static __attribute__((unused)) void coroutine_drop(struct coroutine *coroutine)
{
    hotpath_lane_end(coroutine->lane);
#ifdef HAS_TSAN
    __tsan_destroy_fiber(coroutine->self.fiber);
#endif
    munmap(coroutine->stack, STACK_BYTES);
}

#endif
