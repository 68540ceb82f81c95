/* Functions with all kinds of stack frames. SPDX-License-Identifier: MIT */
#include "stack_chain.h"

#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline, noclone, used))

static KEPT void go_on(int depth, chain_end *end);

static volatile int sink;

/* Registers that it has to save. */
static KEPT int with_registers(int depth, chain_end *end)
{
    ENTER_TRUTH();
    int a = sink, b = sink, c = sink, d = sink, e = sink, f = sink;
    go_on(depth - 1, end);
    sink = a + b + c + d + e + f;
    LEAVE_TRUTH();
    return a;
}

/* A frame of a size that is not known at compile time. */
static KEPT int with_alloca(int depth, chain_end *end)
{
    ENTER_TRUTH();
    char *bytes = __builtin_alloca((size_t)(100 + 8 * depth));
    memset(bytes, depth, (size_t)(100 + 8 * depth));
    go_on(depth - 1, end);
    sink = bytes[depth];
    LEAVE_TRUTH();
    return bytes[0];
}

/* A stack pointer that is aligned anew. */
static KEPT int with_alignment(int depth, chain_end *end)
{
    ENTER_TRUTH();
    _Alignas(128) volatile char bytes[300];
    bytes[depth] = (char)depth;
    go_on(depth - 1, end);
    sink = bytes[depth] + ((uintptr_t)bytes % 128 != 0);
    LEAVE_TRUTH();
    return bytes[0];
}

static KEPT int with_large_frame(int depth, chain_end *end)
{
    ENTER_TRUTH();
    volatile char bytes[20000];
    bytes[depth] = (char)depth;
    go_on(depth - 1, end);
    sink = bytes[depth];
    LEAVE_TRUTH();
    return bytes[0];
}

/* A call that is the last instruction of a function, so that the return address belongs to the next one. */
static KEPT __attribute__((noreturn)) void without_return(chain_end *end)
{
    ENTER_TRUTH();
    end();
    abort();
}

static KEPT void go_on(int depth, chain_end *end)
{
    ENTER_TRUTH();
    if (depth == 0)
        end();
    else if (depth == -1000)
        without_return(end);
    else if (depth % 4 == 0)
        with_registers(depth, end);
    else if (depth % 4 == 1)
        with_alloca(depth, end);
    else if (depth % 4 == 2)
        with_alignment(depth, end);
    else
        with_large_frame(depth, end);
    sink++;
    LEAVE_TRUTH();
}

void CHAIN(int depth, chain_end *end)
{
    ENTER_TRUTH();
    go_on(depth, end);
    sink++;
    LEAVE_TRUTH();
}
