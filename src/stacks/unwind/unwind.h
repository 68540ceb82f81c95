/*
 * Finds the callers of a thread, from its registers and a copy of its stack. Nothing is read from the process
 * itself, unless the caller provides a function for it.
 *
 *     struct hp_unwinder unwinder = {0};
 *     count = hp_unwind(&unwinder, &space, &registers, &memory, frames, MOST, &end);
 *     hp_unwinder_free(&unwinder);
 *
 * One thread at a time. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_UNWIND_H
#define HP_UNWIND_UNWIND_H

#include "machine.h"
#include "space.h"

/* Bytes copied from a stack. */
struct hp_stack_bytes {
    uint64_t address;
    const void *bytes;
    size_t size;
};

/*
 * Stacks: that of the thread, and the one that it left for an alternate one. What neither has is read with `read`.
 */
struct hp_stack_memory {
    const struct hp_stack_bytes *pieces;
    size_t count;
    bool (*read)(void *context, uint64_t address, uint64_t *ret_value); /* NULL: not possible */
    void *context;
};

/* How a frame was found. */
enum hp_frame_how {
    HP_FRAME_FIRST,       /* where the thread was */
    HP_FRAME_TABLE,       /* by call frame information */
    HP_FRAME_POINTER,     /* by a frame pointer, without call frame information */
    HP_FRAME_INTERRUPTED, /* by a signal, whose handler is the frame before */
    HP_FRAME_RECOVERED,   /* by searching the stack, because a needed register is unknown */
};

struct hp_frame {
    uint64_t pc;
    uint8_t how;
    bool is_exact; /* pc is the next instruction; else pc is after a call, and the line is that of pc - 1 */
    uint64_t sp;   /* its stack pointer: for a caller, where the frame of its callee began */
};

/* Why there are no more frames. */
enum hp_unwind_end {
    HP_UNWIND_START,   /* the last one is the start of the thread */
    HP_UNWIND_CUT,     /* the rest of the stack was not copied */
    HP_UNWIND_UNKNOWN, /* no unwind information there */
    HP_UNWIND_BROKEN,  /* the stack is corrupt */
    HP_UNWIND_FULL,    /* no room for more frames */
};

struct hp_unwinder {
    struct hp_unwind_table **tables; /* by number of the image; NULL: not made yet */
    size_t count;
};

/*
 * Returns the number of frames, the innermost first; at least one, if there is room. If a needed frame pointer is
 * unknown, a return address is searched on the stack.
 */
size_t hp_unwind(struct hp_unwinder *unwinder, struct hp_space *space, const struct hp_machine *machine,
                 const struct hp_registers *registers, const struct hp_stack_memory *memory,
                 struct hp_frame *frames, size_t most, enum hp_unwind_end *ret_end);

/* The table of an image, made on first use. NULL: no memory. */
struct hp_unwind_table *hp_unwinder_table(struct hp_unwinder *unwinder, const struct hp_image *image);
void hp_unwinder_free(struct hp_unwinder *unwinder);

/* --------------------------------------------------------------------------------------------------- expression */

/* DWARF expressions in call frame information. */

/* Reads eight bytes at an address. False: not available. */
typedef bool hp_expression_load(const void *context, uint64_t address, uint64_t *ret_value);

/* False: it needs an unknown value, or is invalid. */
bool hp_expression_value(const uint8_t *bytes, size_t size, const struct hp_registers *registers,
                         hp_expression_load *load, const void *context, uint64_t *ret_value);

#endif
