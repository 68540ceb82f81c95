/*
 * How to get from a function to its caller, at one address. All saved registers are at fixed offsets from the
 * canonical frame address (CFA), the value of the stack pointer before the call. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_RULE_H
#define HP_UNWIND_RULE_H

#include <limits.h>

#include "machine.h"

enum hp_cfa_kind {
    HP_CFA_NONE,     /* nothing is known of this address */
    HP_CFA_REGISTER, /* a register plus an offset */
    HP_CFA_PLT, /* a PLT stub on x86-64: the stack pointer plus 8, or plus 16 from `cfa_offset` on, modulo 16 */
    HP_CFA_EXPRESSION, /* DWARF, at `cfa_offset` in the table's expressions */
    HP_CFA_SIGNAL,     /* sigreturn code: all registers are in the signal frame */
};

/* Instead of an offset. */
#define HP_SAVED_SAME INT32_MIN            /* still in the register */
#define HP_SAVED_UNDEFINED (INT32_MIN + 1) /* lost; for the return address: there is no caller */
#define HP_SAVED_ELSEWHERE (INT32_MIN + 2) /* in `other_register` */
#define HP_SAVED_FURTHEST (INT32_MAX / 2)  /* largest valid offset */

/* Without padding: rules are compared as bytes. */
struct hp_unwind_rule {
    uint8_t cfa_kind;
    uint8_t cfa_register;
    uint8_t other_register;
    uint8_t spare;
    int32_t cfa_offset;
    int32_t saved[HP_SAVED]; /* offsets from the CFA, in the order of the machine's registers */
};

#endif
