/*
 * Call frame information, as compilers write it into .eh_frame and .debug_frame: for each function a small program,
 * whose execution gives a rule for each address. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_CFI_H
#define HP_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rules.h"

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

static inline uint64_t hp_bytes_uleb(struct hp_bytes *bytes)
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
    return number;
}

static inline int64_t hp_bytes_sleb(struct hp_bytes *bytes)
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
    if (shift < 64 && (byte & 64))
        number |= ~UINT64_C(0) << shift;
    return (int64_t)number;
}

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
