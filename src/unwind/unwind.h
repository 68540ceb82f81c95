/*
 * The callers of a thread, from its registers and a copy of its stack. Nothing is read from the process itself, unless the
 * caller gives a way to do so.
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

/* Bytes that were copied from a stack. */
struct hp_stack_bytes {
    uint64_t address;
    const void *bytes;
    size_t size;
};

/* Stacks: that of the thread, and the one that it left for an alternate one. What none of them has is asked for, if anywhere. */
struct hp_stack_memory {
    const struct hp_stack_bytes *pieces;
    size_t count;
    bool (*read)(void *context, uint64_t address, uint64_t *ret_value); /* NULL: nowhere */
    void *context;
};

/* How a frame was found. */
enum hp_frame_how {
    HP_FRAME_FIRST,       /* it is where the thread was */
    HP_FRAME_TABLE,       /* by what the compiler wrote down */
    HP_FRAME_POINTER,     /* by a frame pointer, where nothing is written down */
    HP_FRAME_INTERRUPTED, /* by a signal, whose handler is the frame before */
    HP_FRAME_RECOVERED,   /* by a search of the stack, where a register that is needed is not known */
};

struct hp_frame {
    uint64_t pc;
    uint8_t how;
    bool
        is_exact; /* it was about to execute what is at pc; else pc is behind a call, and the line is that of pc - 1 */
    uint64_t sp; /* where its stack ended then: that of a caller is where the frame that it called began */
};

/* Why there are no more frames. */
enum hp_unwind_end {
    HP_UNWIND_START,   /* the last one is where the thread began */
    HP_UNWIND_CUT,     /* the rest of the stack was not copied */
    HP_UNWIND_UNKNOWN, /* nothing says how to get on from there */
    HP_UNWIND_BROKEN,  /* what is on the stack cannot be right */
    HP_UNWIND_FULL,    /* there is no room for more */
};

struct hp_unwinder {
    struct hp_unwind_table **tables; /* by number of the image; NULL: not made yet */
    size_t count;
};

/*
 * Returns how many frames there are, the innermost first; at least one, if there is room. Of a thread whose frame pointer is not known,
 * where that is needed a return address is searched for.
 */
size_t hp_unwind(struct hp_unwinder *unwinder, struct hp_space *space, const struct hp_machine *machine,
                 const struct hp_registers *registers, const struct hp_stack_memory *memory,
                 struct hp_frame *frames, size_t most, enum hp_unwind_end *ret_end);

/* The table of an image, made when it is first asked for. NULL: no memory. */
struct hp_unwind_table *hp_unwinder_table(struct hp_unwinder *unwinder, const struct hp_image *image);
void hp_unwinder_free(struct hp_unwinder *unwinder);

#endif
