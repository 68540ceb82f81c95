/*
 * Slow work on a stack of our own. The program may run on a stack with a few hundred bytes left: a coroutine, a
 * handler on a small alternate stack. So what needs more (reading /proc, creating a session, asking the dynamic
 * linker) does not run there. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_SCRATCH_STACK_H
#define HP_OS_SCRATCH_STACK_H

#include <stdbool.h>

#define HP_SCRATCH_BYTES 32768u

/* Whether this build can change stacks. Sanitizers keep their own account of them. */
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HP_SCRATCH_STACK_WORKS 0
#endif
#endif
#ifdef HP_SCRATCH_STACK_WORKS
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HP_SCRATCH_STACK_WORKS 0
#elif (defined __x86_64__ && defined __LP64__) || defined __aarch64__ || (defined __arm__ && __ARM_ARCH >= 7) ||   \
    (defined __riscv && __riscv_xlen == 64)
#define HP_SCRATCH_STACK_WORKS 1
#else
#define HP_SCRATCH_STACK_WORKS 0
#endif

typedef void hp_scratch_work(void *context);

/*
 * Calls `work` on a scratch stack, with all signals but faults blocked: no handler of the program runs there, and
 * no sample. Takes some 150 bytes of the caller's stack. Work that is on a scratch stack already runs in place, as
 * all does if HP_SCRATCH_STACK_WORKS is 0, and under valgrind, which takes a new stack pointer for an error.
 *
 * False: no memory; nothing was done. Makes system calls. Never waits: the caller may hold any lock of the host.
 * The work must return: no jump, no cancellation point. errno is preserved, unless the work changes it.
 */
bool hp_on_scratch_stack(hp_scratch_work *work, void *context);

#endif
