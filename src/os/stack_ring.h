/*
 * Stacks on their way from a program to the `hotpath run` that unwinds them: a ring in a file that the program maps
 * and `hotpath` reads by offset (src/stacks/collect/ring_reader.h).
 *
 * Writers are signal handlers and malloc, on any threads at once. A writer reserves its piece by one
 * compare-and-swap, fills it, and publishes it by a release store. If the ring is full the record is dropped and
 * counted; no writer ever waits. Nothing here calls the C library, so all of it may be used in handlers.
 *
 *     struct hp_stack_ring ring;
 *     hp_stack_ring_make(&ring, &(struct hp_stack_ring_plan){.path = path, ...});
 *     struct hp_stack_registers registers;
 *     hp_stack_registers_of(context, &registers);       in a handler, or
 *     hp_stack_registers_here(&registers);              of the calling function
 *     hp_stack_ring_put(&ring, &(struct hp_stack_note){.kind = HP_STACK_CPU, ...}, &registers, &own);
 *
 * Positions are byte counts that never decrease; the place in the file is the position modulo the capacity. A
 * record never crosses the end of the file: one that would is preceded by a record of kind HP_STACK_SKIPPED. `mark`
 * is the record's own position, scrambled: leftovers, or the bytes of a stack, do not look like a published record
 * at this position. So a reader that meets a record that was never published, because its writer was killed, finds
 * the next one after it.
 *
 * Only machines whose stacks can be unwound have rings; on others hp_stack_ring_make refuses.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_STACK_RING_H
#define HP_OS_STACK_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lending.h"
#include "stacks.h"

/* ------------------------------------------------------------------------------------------------- in the file */

#define HP_STACK_RING_MAGIC UINT64_C(0x31676e6972706821)
#define HP_STACK_RING_HEADER_BYTES 4096u
#define HP_STACK_RING_SUFFIX ".ring"
#define HP_HEAP_RING_SUFFIX ".heap" /* ring of allocations */

/*
 * If a ring could not be made, a symbolic link is in its place. Its target is this text, the process id, a dash and
 * the errno.
 */
#define HP_RING_FAILED "failed-"

/* Set by `hotpath run` to make its programs sample themselves: the period, in nanoseconds of CPU time. */
#define HP_RUN_STACK_PERIOD "HOTPATH_RUN_STACK_PERIOD"

/* The first page. Fields of writers and of the reader are on different cache lines. */
struct hp_stack_ring_header {
    uint64_t magic;    /* written last */
    uint64_t capacity; /* bytes of records, after this page; a power of two */
    uint32_t pid, record_header_bytes;
    uint64_t period_ns; /* sampling period in CPU time; 0: no samples */
    uint64_t unused[4];
    uint64_t head;    /* by writers: everything before it is reserved */
    uint64_t lost;    /* records dropped for lack of room */
    uint64_t refused; /* threads that cannot be sampled: the program's alternate stack is too small */
    uint64_t unused_too[5];
    uint64_t tail;      /* by the reader: everything before it was read */
    uint64_t is_closed; /* enum hp_stack_ring_end */
};

/* What the reader tells the writers. */
enum hp_stack_ring_end {
    HP_RING_OPEN,
    HP_RING_UNREAD,  /* its reader is gone */
    HP_RING_CONFINED /* the process was seen in a sandbox: samples must not make system calls */
};

enum hp_stack_kind {
    HP_STACK_SKIPPED,    /* padding: the rest of the file */
    HP_STACK_CPU,        /* a sample of CPU time; weight: nanoseconds */
    HP_STACK_ALLOCATION, /* a sampled allocation: its number, its bytes, the mean distance of samples, the address
                          of the call of malloc, live bytes before, the least mean */
    HP_STACK_FREED       /* the number of a sampled block that is freed, live bytes before (0: unknown); no stack */
};

/* flags */
#define HP_STACK_IN_KERNEL 1u /* the thread was in the system call before its pc */

#define HP_STACK_MOST_WORDS 8u
#define HP_STACK_RECORD_ALIGN 16u

/*
 * One record: this header, `words` words of its kind, the registers whose bits are set in `known` in order of their
 * numbers, then the bytes of the stack from sp upwards.
 */
struct hp_stack_record {
    uint64_t mark;
    uint32_t bytes; /* of the whole record, as reserved */
    uint16_t kind;
    uint8_t words, flags;
    uint32_t thread_id;
    uint32_t zone; /* the thread's site, as numbered in its session, plus 1; 0: unknown */
    uint64_t ns;   /* CLOCK_MONOTONIC */
    uint64_t weight;
    uint64_t known;
    uint32_t stack_bytes;
    uint32_t unused;
};

static inline uint64_t hp_stack_mark(uint64_t position) { return position ^ HP_STACK_RING_MAGIC; }

/* --------------------------------------------------------------------------------------------------- registers */

/* DWARF numbers; on aarch64 the pc is 32. */
#define HP_STACK_REGISTERS 33u
struct hp_stack_registers {
    uint64_t value[HP_STACK_REGISTERS];
    uint64_t known; /* bit mask */
};

#if defined __x86_64__ && defined __LP64__
#define HP_STACK_RING_WORKS 1
#define HP_STACK_SP 7u
#define HP_STACK_PC 16u
#elif defined __aarch64__ && defined __LP64__
#define HP_STACK_RING_WORKS 1
#define HP_STACK_SP 31u
#define HP_STACK_PC 32u
#else
#define HP_STACK_RING_WORKS 0
#define HP_STACK_SP 0u
#define HP_STACK_PC 0u
#endif

/* The registers of the code that a signal interrupted (a ucontext_t). False: unknown on this machine. */
bool hp_stack_registers_of(const void *context, struct hp_stack_registers *ret_registers);

/* If a system call is to be restarted, the pc is before its instruction: moves it behind. */
static inline void hp_stack_step_over_call(struct hp_stack_registers *registers)
{
#if defined __x86_64__ && defined __LP64__
    if (registers->value[2] == registers->value[HP_STACK_PC] + 2) /* rcx, set by the instruction */
        registers->value[HP_STACK_PC] += 2;
#else
    (void)registers;
#endif
}

/*
 * The callee-saved registers of the calling function; the rest is unknown. Must be used in a function that is not
 * inlined.
 */
static inline __attribute__((always_inline)) void hp_stack_registers_here(struct hp_stack_registers *ret_registers)
{
#if defined __x86_64__ && defined __LP64__
    uint64_t *value = ret_registers->value;
    __asm__ volatile("mov %%rbx, 24(%0)\n\t"
                     "mov %%rbp, 48(%0)\n\t"
                     "mov %%rsp, 56(%0)\n\t"
                     "mov %%r12, 96(%0)\n\t"
                     "mov %%r13, 104(%0)\n\t"
                     "mov %%r14, 112(%0)\n\t"
                     "mov %%r15, 120(%0)\n\t"
                     "lea 1f(%%rip), %%rax\n\t"
                     "mov %%rax, 128(%0)\n"
                     "1:"
                     :
                     : "r"(value)
                     : "rax", "memory");
    ret_registers->known = UINT64_C(1) << 3 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 | 1 << 16;
#elif defined __aarch64__
    uint64_t *value = ret_registers->value;
    __asm__ volatile("stp x19, x20, [%0, #152]\n\t"
                     "stp x21, x22, [%0, #168]\n\t"
                     "stp x23, x24, [%0, #184]\n\t"
                     "stp x25, x26, [%0, #200]\n\t"
                     "stp x27, x28, [%0, #216]\n\t"
                     "stp x29, x30, [%0, #232]\n\t"
                     "mov x16, sp\n\t"
                     "adr x17, 1f\n\t"
                     "stp x16, x17, [%0, #248]\n"
                     "1:"
                     :
                     : "r"(value)
                     : "x16", "x17", "memory");
    ret_registers->known = UINT64_C(0x1fff80000); /* 19 to 32 */
#else
    ret_registers->known = 0;
#endif
}

/* ------------------------------------------------------------------------------------------------------ writing */

struct hp_stack_ring {
    struct hp_stack_ring_header *header; /* NULL: none */
    unsigned char *records;
    uint64_t capacity;
    bool is_untold; /* it could not be made, and the reader does not know that */
};

#define HP_STACK_RING_LEAST (UINT64_C(1) << 17)

/* For a process that runs on this many CPUs at once. */
uint64_t hp_stack_ring_capacity(uint64_t cores);

struct hp_stack_ring_plan {
    const char *path;   /* of its file, which must not exist */
    uint64_t capacity;  /* bytes of records, a power of two */
    uint64_t period_ns; /* as in its header */
    uint32_t pid;
    enum hp_loan_kind kind; /* if the file cannot be made, because the process has changed its user or root */
    uint32_t session;       /* a ring beside a session: its number */
    uint64_t beside;        /* bytes of memory that are needed besides, if there is to be a ring */
};

static inline bool hp_stack_ring_is_possible(uint64_t capacity)
{
    return capacity >= HP_STACK_RING_LEAST && (capacity & (capacity - 1)) == 0;
}

/*
 * Makes the file, or borrows memory from `hotpath run`. All of it is allocated, so that writing cannot fail. No
 * descriptor stays open. False: not possible, and the reader is told (HP_RING_FAILED) if it can be.
 */
bool hp_stack_ring_make(struct hp_stack_ring *ring, const struct hp_stack_ring_plan *plan);

/* Unmaps the ring; the file stays. No other thread may be writing. */
void hp_stack_ring_unmap(struct hp_stack_ring *ring);

/* Data about a stack, besides the stack itself. */
struct hp_stack_note {
    enum hp_stack_kind kind;
    uint8_t flags;
    uint32_t thread_id, zone;
    uint64_t ns, weight;
    const uint64_t *words; /* of its kind */
    uint8_t word_count;    /* up to HP_STACK_MOST_WORDS */
};

#define HP_STACK_MOST_BYTES 63488u    /* of a stack, as in perf's samples */
#define HP_STACK_UNKNOWN_BYTES 16384u /* if its extent is unknown */
#define HP_STACK_FARTHEST (1ul << 28) /* stacks are not larger */

/*
 * Puts a record with the stack from the sp of `registers` upwards, at most HP_STACK_MOST_BYTES. `own`: the part of
 * the thread's own stack that is known to be readable above the stack pointer; the stack may extend below that.
 * What cannot be read is left out: the copy never faults. Without registers (NULL) there is no stack. False: there
 * was no room, which is counted.
 */
bool hp_stack_ring_put(struct hp_stack_ring *ring, const struct hp_stack_note *note,
                       const struct hp_stack_registers *registers, const struct hp_stack *own);

/* Check before a sample makes system calls. */
static inline enum hp_stack_ring_end hp_stack_ring_end(const struct hp_stack_ring *ring)
{
    return (enum hp_stack_ring_end)__atomic_load_n(&ring->header->is_closed, __ATOMIC_RELAXED);
}

/* Bytes of records not read yet. */
static inline uint64_t hp_stack_ring_used(const struct hp_stack_ring *ring)
{
    return __atomic_load_n(&ring->header->head, __ATOMIC_RELAXED) -
           __atomic_load_n(&ring->header->tail, __ATOMIC_RELAXED);
}

#endif
