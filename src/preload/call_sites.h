/*
 * Where hooks are called: places in the code, with up to two callers, and the programs and libraries that they are
 * in. They are in a file beside the session (side_file.h). SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_CALL_SITES_H
#define HP_PRELOAD_CALL_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "side_file.h"

/* A program or library in memory. */
struct hp_loaded_code {
    uintptr_t start, end;     /* of its code */
    uintptr_t data, data_end; /* its variables; malloc of musl uses what is left of their pages */
    const uint8_t *frames;    /* .eh_frame_hdr; NULL: none */
};

struct hp_loaded_list {
    uint32_t count;
    struct hp_loaded_code all[HP_SIDE_MOST_IMAGES];
};

/* How to get from a return address to the caller. */
struct hp_caller_rule {
    uintptr_t pc; /* 0: free */
    int32_t cfa;  /* offset from the register; 0: unknown */
    union {
        struct {
            int16_t saved_frame; /* offset from the CFA of the caller's frame register; 0: it is still there */
            uint8_t is_by_frame; /* the register: the frame pointer, else the stack pointer */
            uint8_t sequence;    /* odd: being written */
        };
        uint32_t word; /* all three: not every machine can exchange one byte */
    };
};

#define HP_SITE_INDEX (4 * HP_SIDE_MOST_SITES)
#define HP_CALLER_RULES 4096u
#define HP_MOST_FRAME 1048576u /* bytes of a frame on the stack */

/* In memory that is wiped in a forked child. */
struct hp_call_sites {
    struct hp_side_file *file;
    uint32_t is_reading_images;     /* atomic */
    uint32_t readings;              /* of the list of images */
    uint32_t closed;                /* libraries that had been closed then */
    struct hp_loaded_list lists[2]; /* of images: that in use and the next one */
    struct hp_loaded_list *images;  /* atomic: that in use; NULL: not known now */
    uint32_t index[HP_SITE_INDEX];  /* numbers; 0: free */
    struct hp_caller_rule rules[HP_CALLER_RULES];
};

/* Reads what is loaded now, unless another thread is doing it. */
void hp_sites_read_images(struct hp_call_sites *sites);
/* Whether an address is in the data of a program or library. */
bool hp_sites_is_static(const struct hp_call_sites *sites, uintptr_t address);

/* Where the program has called us: the registers of the calling function. */
struct hp_caller {
    uintptr_t pc, stack, frame;
};

/*
 * Those of the function that calls this macro, which the program has called, or a hook by a jump at its end.
 */
#define HP_CALLER()                                                                                                \
    ((struct hp_caller){(uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),                  \
                        *(const uintptr_t *)__builtin_frame_address(0)})

/* Numbers of sites from 1; 0: no room. */
uint32_t hp_sites_number(struct hp_call_sites *sites, const struct hp_caller *caller);

/*
 * A site with all that is needed to know it again: where its return addresses are on the stack. For hooks that are
 * called much more often than a site costs to find.
 */
#define HP_CALL_STEPS (HP_CALL_FRAMES - 1)
struct hp_known_site {
    uintptr_t pc[HP_CALL_FRAMES]; /* as in its site; the first one 0: nothing is known */
    uint32_t closed;              /* libraries that had been closed then */
    bool is_near;                 /* its return addresses are at fixed distances from the stack pointer: */
    int32_t at[HP_CALL_STEPS];
    struct hp_caller_rule rules[HP_CALL_STEPS];
    uint32_t number;
};
/* The same as hp_sites_number. What is not found again so easily leaves `ret_known` empty. */
uint32_t hp_sites_know(struct hp_call_sites *sites, const struct hp_caller *caller,
                       struct hp_known_site *ret_known);

extern uint32_t hp_closed_libraries __attribute__((visibility("hidden")));

static inline __attribute__((always_inline)) bool hp_site_is_known(const struct hp_known_site *known,
                                                                   const struct hp_caller *caller)
{
    uintptr_t stack = caller->stack, frame = caller->frame;
    if (known->pc[0] != caller->pc || known->closed != __atomic_load_n(&hp_closed_libraries, __ATOMIC_RELAXED))
        return false;
    if (__builtin_expect(known->is_near, 1))
        return *(const uintptr_t *)(stack + (uintptr_t)(intptr_t)known->at[0]) == known->pc[1] &&
               *(const uintptr_t *)(stack + (uintptr_t)(intptr_t)known->at[1]) == known->pc[2];
    for (unsigned step = 0; step < HP_CALL_STEPS && known->pc[step + 1] != 0; step++) {
        const struct hp_caller_rule *rule = &known->rules[step];
        const uintptr_t cfa = (rule->is_by_frame ? frame : stack) + (uintptr_t)rule->cfa;
        if (cfa - stack - 1 >= HP_MOST_FRAME || cfa % sizeof(uintptr_t) != 0 ||
            *(const uintptr_t *)(cfa - sizeof(uintptr_t)) != known->pc[step + 1])
            return false;
        if (rule->saved_frame != 0)
            frame = *(const uintptr_t *)(cfa + (uintptr_t)(intptr_t)rule->saved_frame);
        stack = cfa;
    }
    return true;
}

#endif
