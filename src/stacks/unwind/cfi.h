/*
 * Call frame information, as compilers write it into .eh_frame and .debug_frame: for each function a small program,
 * whose execution gives a rule for each address. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_CFI_H
#define HP_UNWIND_CFI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hash_index.h"
#include "machine.h"

/* -------------------------------------------------------------------------------------------------------- rules */

/*
 * Rules: how to get from a function to its caller, at one address. All saved registers are at fixed offsets from
 * the canonical frame address (CFA), the value of the stack pointer before the call.
 */

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

/* ----------------------------------------------------------------------------------------------------- rule set */

/*
 * The distinct rules of an image. There are hundreds of thousands of addresses and some hundred rules, so each row
 * has the number of its rule. Rules are added on demand and never move: callers may keep their addresses.
 */

#define HP_RULE_BLOCK 64u

struct hp_rule_set {
    struct hp_unwind_rule **blocks; /* HP_RULE_BLOCK rules each */
    size_t block_count, block_room;
    size_t count;
    struct hp_hash_index index;
    uint8_t *expressions; /* each with its length before it, in two bytes */
    size_t expressions_size, expressions_room;
};

/* Into a zeroed struct: the first rule, number 0, means unknown. False: no memory. */
bool hp_rule_set_begin(struct hp_rule_set *set);
void hp_rule_set_free(struct hp_rule_set *set);

/* The number of a rule, added if it is new. 0 for unknown rules, and if there are too many. */
uint16_t hp_rule_set_number(struct hp_rule_set *set, const struct hp_unwind_rule *rule);

/* The offset of an expression, added if it is new. Negative: there are too many. */
int32_t hp_rule_set_add_expression(struct hp_rule_set *set, const uint8_t *bytes, size_t size);

/* The bytes of an expression, until the next one is added. */
const uint8_t *hp_rule_set_expression(const struct hp_rule_set *set, int32_t at, size_t *ret_size);

static inline const struct hp_unwind_rule *hp_rule_set_at(const struct hp_rule_set *set, size_t number)
{
    return &set->blocks[number / HP_RULE_BLOCK][number % HP_RULE_BLOCK];
}

/* ------------------------------------------------------------------------------------------- bytes of a section */

/*
 * A cursor over bytes of a DWARF section. Reads beyond the end return zero and set a flag, so that a reader checks
 * only once, at the end of each entry. Little-endian.
 */

struct hp_bytes {
    const uint8_t *at, *end;
    bool is_short; /* a read went beyond the end */
};

static inline size_t hp_bytes_left(const struct hp_bytes *bytes) { return (size_t)(bytes->end - bytes->at); }

static inline bool hp_bytes_take(struct hp_bytes *bytes, size_t size, const uint8_t **ret_at)
{
    if (size > hp_bytes_left(bytes)) {
        bytes->is_short = true;
        bytes->at = bytes->end;
        return false;
    }
    *ret_at = bytes->at;
    bytes->at += size;
    return true;
}

/* Of 1 to 8 bytes. */
static inline uint64_t hp_bytes_number(struct hp_bytes *bytes, unsigned size)
{
    const uint8_t *at;
    uint64_t number = 0;
    if (!hp_bytes_take(bytes, size, &at))
        return 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&number, at, size);
#else
    for (unsigned byte = 0; byte < size; byte++)
        number |= (uint64_t)at[byte] << 8 * byte;
#endif
    return number;
}

static inline int64_t hp_bytes_signed(struct hp_bytes *bytes, unsigned size)
{
    const uint64_t number = hp_bytes_number(bytes, size), sign = UINT64_C(1) << (8 * size - 1);
    return (int64_t)((number ^ sign) - sign);
}

static inline uint8_t hp_bytes_u8(struct hp_bytes *bytes)
{
    if (bytes->at == bytes->end) {
        bytes->is_short = true;
        return 0;
    }
    return *bytes->at++;
}

/* LEB128: seven bits per byte, the lowest first. `is_signed`: the highest one is the sign. */
static inline uint64_t hp_bytes_leb(struct hp_bytes *bytes, bool is_signed)
{
    uint64_t number = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = hp_bytes_u8(bytes);
        if (shift < 64)
            number |= (uint64_t)(byte & 127) << shift;
        shift += 7;
    } while (byte & 128);
    if (is_signed && shift < 64 && (byte & 64))
        number |= ~UINT64_C(0) << shift;
    return number;
}

static inline uint64_t hp_bytes_uleb(struct hp_bytes *bytes) { return hp_bytes_leb(bytes, false); }

static inline int64_t hp_bytes_sleb(struct hp_bytes *bytes) { return (int64_t)hp_bytes_leb(bytes, true); }

/* ------------------------------------------------------------------------------------------------- its programs */

struct hp_cfi {
    const struct hp_machine *machine;
    const uint8_t *bytes;
    size_t size;
    uint64_t linked;   /* link-time address of the first byte */
    uint64_t executed; /* program bytes executed so far */
    bool is_debug;     /* .debug_frame */
};

/* A function, and the offset of its FDE. False: stop. */
typedef bool hp_cfi_function(void *context, uint64_t start, uint64_t end, size_t at);

/* Lists all functions, in the order of the section, without their programs. Invalid entries are left out. */
void hp_cfi_list(const struct hp_cfi *cfi, hp_cfi_function *tell, void *context);

/* Receives the results. */
struct hp_cfi_visitor {
    void *context;
    /* From this offset in the function on, the rule is this one. Offsets ascend. False: stop. */
    bool (*row)(void *context, uint64_t place, const struct hp_unwind_rule *rule);
    /* Stores an expression; rules refer to it by the result. Negative: it cannot be stored. */
    int32_t (*expression)(void *context, const uint8_t *bytes, size_t size);
};

/* Executes the program of one of the listed functions, which gives at least one row. */
void hp_cfi_rows(struct hp_cfi *cfi, size_t at, const struct hp_cfi_visitor *visitor);

#endif
