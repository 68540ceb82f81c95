/*
 * A few blocks are kept for the whole process, since slow work is short and rare. If all are taken, a further one
 * is mapped, and unmapped after use. A block that is taken when another thread forks stays taken in the child; a
 * vfork child shares the blocks, which are taken by compare-and-swap.
 *
 * The function that changes the stack pointer has a frame pointer, so unwinders find its caller on the other stack.
 * Shadow stacks are not affected: calls and returns are paired as usual. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "scratch_stack.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "process.h"
#include "signals.h"

/* --------------------------------------------------------------------------------------- changing the stack */

#if HP_SCRATCH_STACK_WORKS

/* gcc looks into functions for the registers that they leave alone, and does not see what `work` changes. */
#ifdef __has_attribute
#if __has_attribute(noipa)
#define OPAQUE __attribute__((noipa, noinline))
#endif
#endif
#ifndef OPAQUE
#define OPAQUE __attribute__((noinline))
#endif

/*
 * Calls work(context) with the stack pointer at `top`, and keeps the old one in a register that every function
 * preserves. Asking for the frame's address gives this function a frame pointer.
 */
#if defined __x86_64__
static OPAQUE void call_on(uintptr_t top, hp_scratch_work *work, void *context)
{
    register uintptr_t first __asm__("rdi") = (uintptr_t)context;
    register uintptr_t function __asm__("rax") = (uintptr_t)work;
    register uintptr_t stack __asm__("rdx") = top;
    __asm__ volatile("mov %%rsp, %%r12\n\t"
                     "mov %%rdx, %%rsp\n\t"
                     "call *%%rax\n\t"
                     "mov %%r12, %%rsp"
                     : "+r"(first), "+r"(function), "+r"(stack)
                     : "r"(__builtin_frame_address(0))
                     : "r12", "rcx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
}
#elif defined __aarch64__
static OPAQUE void call_on(uintptr_t top, hp_scratch_work *work, void *context)
{
    register uintptr_t first __asm__("x0") = (uintptr_t)context;
    register uintptr_t function __asm__("x1") = (uintptr_t)work;
    register uintptr_t stack __asm__("x2") = top;
    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, x2\n\t"
                     "blr x1\n\t"
                     "mov sp, x19"
                     : "+r"(first), "+r"(function), "+r"(stack)
                     : "r"(__builtin_frame_address(0))
                     : "x19", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "x30", "cc", "memory");
}
#elif defined __arm__
static OPAQUE void call_on(uintptr_t top, hp_scratch_work *work, void *context)
{
    register uintptr_t first __asm__("r0") = (uintptr_t)context;
    register uintptr_t function __asm__("r1") = (uintptr_t)work;
    register uintptr_t stack __asm__("r2") = top;
    __asm__ volatile("mov r8, sp\n\t"
                     "mov sp, r2\n\t"
                     "blx r1\n\t"
                     "mov sp, r8"
                     : "+r"(first), "+r"(function), "+r"(stack)
                     : "r"(__builtin_frame_address(0))
                     : "r8", "r3", "r12", "lr", "cc", "memory");
}
#elif defined __riscv
static OPAQUE void call_on(uintptr_t top, hp_scratch_work *work, void *context)
{
    register uintptr_t first __asm__("a0") = (uintptr_t)context;
    register uintptr_t function __asm__("a1") = (uintptr_t)work;
    register uintptr_t stack __asm__("a2") = top;
    __asm__ volatile("mv s2, sp\n\t"
                     "mv sp, a2\n\t"
                     "jalr a1\n\t"
                     "mv sp, s2"
                     : "+r"(first), "+r"(function), "+r"(stack)
                     : "r"(__builtin_frame_address(0))
                     : "s2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "ra",
                       "memory");
}
#endif

/* -------------------------------------------------------------------------------------------------- blocks */

#define BLOCKS 8u
#define TAKEN 1u

static uintptr_t blocks[BLOCKS]; /* atomic: the lowest address of each, TAKEN in its lowest bit; 0: none yet */

/* The largest page that the machine may have. */
#ifdef __aarch64__
#define GUARD_BYTES 65536u
#else
#define GUARD_BYTES 4096u
#endif
#define BLOCK_BYTES (GUARD_BYTES + HP_SCRATCH_BYTES)

static __attribute__((noinline)) uintptr_t map_block(void)
{
    const int saved = errno;
    void *const block =
        mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (block != MAP_FAILED)
        mprotect(block, GUARD_BYTES, PROT_NONE);
    errno = saved;
    return block != MAP_FAILED ? (uintptr_t)block : 0;
}

static void unmap_block(uintptr_t block)
{
    const int saved = errno;
    munmap((void *)block, BLOCK_BYTES);
    errno = saved;
}

static bool exchange(uintptr_t *slot, uintptr_t from, uintptr_t to)
{
    return __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The slot of a block that is now ours; NULL: none is free. */
static __attribute__((noinline)) uintptr_t *take_kept(void)
{
    for (size_t at = 0; at < BLOCKS; at++) {
        const uintptr_t block = __atomic_load_n(&blocks[at], __ATOMIC_RELAXED);
        if (block != 0 && !(block & TAKEN) && exchange(&blocks[at], block, block | TAKEN))
            return &blocks[at];
    }
    return NULL;
}

/* Unless there are enough. */
static void keep(uintptr_t block)
{
    for (size_t at = 0; at < BLOCKS; at++)
        if (__atomic_load_n(&blocks[at], __ATOMIC_RELAXED) == 0 && exchange(&blocks[at], 0, block | TAKEN))
            return;
}

/* Blocks beyond the kept ones are not recognised: further work takes another one. */
static bool is_on_block(uintptr_t here)
{
    for (size_t at = 0; at < BLOCKS; at++)
        if (here - (__atomic_load_n(&blocks[at], __ATOMIC_RELAXED) & ~(uintptr_t)TAKEN) < BLOCK_BYTES)
            return true;
    return false;
}

/* 0: no memory. Not inlined, as what follows: it takes no stack while the work runs. */
static __attribute__((noinline)) uintptr_t take_block(void)
{
    const uintptr_t *const slot = take_kept();
    if (slot != NULL)
        return *slot & ~(uintptr_t)TAKEN;
    const uintptr_t block = map_block();
    if (block != 0)
        keep(block);
    return block;
}

static __attribute__((noinline)) void give_back(uintptr_t block)
{
    for (size_t at = 0; at < BLOCKS; at++)
        if (__atomic_load_n(&blocks[at], __ATOMIC_RELAXED) == (block | TAKEN)) {
            __atomic_store_n(&blocks[at], block, __ATOMIC_RELEASE);
            return;
        }
    unmap_block(block);
}

static __attribute__((noinline)) bool is_to_run_here(uintptr_t here)
{
    return is_on_block(here) || hp_process_has_valgrind();
}

bool hp_on_scratch_stack(hp_scratch_work *work, void *context)
{
    struct hp_signals held;
    if (is_to_run_here((uintptr_t)&held)) {
        work(context);
        return true;
    }
    hp_signals_hold(&held); /* first: a handler that jumps away would keep the block */
    const uintptr_t block = take_block();
    if (block != 0) {
        call_on(block + BLOCK_BYTES, work, context);
        give_back(block);
    }
    hp_signals_release(&held);
    return block != 0;
}

#else

bool hp_on_scratch_stack(hp_scratch_work *work, void *context)
{
    work(context);
    return true;
}

#endif
