/*
 * How to get from a function to its caller, at one place in its code. All that is saved lies at fixed distances from the
 * canonical frame address (CFA), which is what the stack pointer was before the call. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_RULE_H
#define HP_UNWIND_RULE_H

#include <limits.h>

#include "machine.h"

enum hp_cfa_kind {
    HP_CFA_NONE,     /* nothing is known of this place */
    HP_CFA_REGISTER, /* a register and a distance */
    HP_CFA_PLT, /* a stub of the linker on x86-64: the stack pointer and 8, or 16 from `cfa_offset` on, modulo 16 */
    HP_CFA_EXPRESSION, /* of DWARF, at `cfa_offset` in the table's expressions */
    HP_CFA_SIGNAL,     /* where a handler returns to: all registers are on the stack, where the kernel puts them */
};

/* In place of a distance. */
#define HP_SAVED_SAME INT32_MIN            /* still in the register */
#define HP_SAVED_UNDEFINED (INT32_MIN + 1) /* lost; of the return address: there is no caller */
#define HP_SAVED_ELSEWHERE (INT32_MIN + 2) /* in `other_register` */
#define HP_SAVED_FURTHEST (INT32_MAX / 2)  /* what is taken for a distance */

/* Without gaps: rules are compared as bytes. */
struct hp_unwind_rule {
    uint8_t cfa_kind;
    uint8_t cfa_register;
    uint8_t other_register;
    uint8_t spare;
    int32_t cfa_offset;
    int32_t saved[HP_SAVED]; /* distances from the CFA, in the order of the machine's registers */
};

#endif
