/*
 * A clock that counts the instructions of the program. Two engines count:
 *
 *   qemu  `hotpath run --clock instructions` runs the program under qemu-user with our plugin (src/qemu). The
 *         library asks the plugin by a system call that no kernel has, so natively the answer is ENOSYS, and then
 *         reads the count as memory.
 *   pmu   the CPU counts (cpu_counter.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_INSTRUCTION_CLOCK_H
#define HP_OS_INSTRUCTION_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* ----------------------------------------------------------------------------- what library and plugin agree on */

#define HP_INSTRUCTION_CALL 0x08504943
#define HP_INSTRUCTION_MAGIC UINT64_C(0x31736e6974677068)

/* The first argument of the call points to it. */
struct hp_instruction_request {
    uint64_t magic;
    uint64_t own_begin, own_end; /* code of the library, which is not counted; 0: none */
    uint64_t flags;
    uint64_t cell; /* out: address of the count of the calling thread; 0: nobody counts */
};

#define HP_INSTRUCTION_THREADED 1u /* another thread is about to begin */
#define HP_INSTRUCTION_MEASURED 2u /* every function is measured: nothing else has to follow calls */

/* `hotpath run` tells the library what counts, in words, for the report; blanks at the end mean nothing. */
#define HP_RUN_ENGINE "HOTPATH_RUN_ENGINE"
/* The value of HOTPATH_CLOCK with which the CPU counts; with others that begin so, QEMU does. */
#define HP_CLOCK_BY_CPU "instructions:pmu"
#define HP_CLOCK_BY_QEMU "instructions"

/* --------------------------------------------------------------------------------------------- for the recorder */

/* Whether the instructions of this process are counted; by QEMU, from then on those of the library are not. */
bool hp_instruction_clock_begin(bool has_cpu);
/* Whether they are, as the last of these two calls found. Any thread. */
bool hp_instruction_clock_is_counting(void);
/* For each copy of the library in a process, with the value of HOTPATH_CLOCK, or NULL: the same for QEMU. */
void hp_instruction_clock_exclude_copy(const char *wish);
/* Whether this value means that the CPU is to count. */
bool hp_instruction_clock_is_by_cpu(const char *wish);
/* This thread is about to begin another one, if its own instructions are counted: each gets its own count. */
void hp_instruction_clock_expect_thread(void);
/* This thread is about to end, and reads its count no more. Signals are blocked. */
void hp_instruction_clock_end_thread(void);
/* Calls are followed by the library, which measures the functions that the compiler tells it of. */
void hp_instruction_clock_forgo_callers(void);
/*
 * The count of this thread. An odd address is none: HP_NO_CELL, not asked or nobody counts; or, with 1 added, what
 * is known of the CPU's counter. Hooks, which read no counts, have one for all threads. Libraries are to have few
 * bytes of such variables.
 */
#define HP_NO_CELL ((const volatile uint64_t *)1)
#ifdef HP_FOR_HOOKS
extern const volatile uint64_t *hp_instruction_cell;
#elif defined(__GLIBC__) && !(defined(HOTPATH_TLS_DYNAMIC) && HOTPATH_TLS_DYNAMIC) /* hotpath/inline.h says why */
extern __thread const volatile uint64_t *hp_instruction_cell __attribute__((tls_model("initial-exec")));
#else
extern __thread const volatile uint64_t *hp_instruction_cell;
#endif
uint64_t hp_instruction_clock_read_first(void);

static inline bool hp_instruction_cell_is_none(const volatile uint64_t *cell) { return ((uintptr_t)cell & 1) != 0; }

/* Instructions of the calling thread. May be used in a signal handler. Inline: each call of a zone needs it. */
static inline uint64_t hp_instruction_clock_read(void)
{
    const volatile uint64_t *const cell = hp_instruction_cell;
    return __builtin_expect(hp_instruction_cell_is_none(cell), 0) ? hp_instruction_clock_read_first() : *cell;
}

#endif
