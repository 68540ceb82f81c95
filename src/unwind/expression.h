/* Expressions of DWARF, as call frame information has them. SPDX-License-Identifier: MIT */
#ifndef HP_UNWIND_EXPRESSION_H
#define HP_UNWIND_EXPRESSION_H

#include "machine.h"

/* Reads eight bytes at an address. False: they are not there. */
typedef bool hp_expression_load(const void *context, uint64_t address, uint64_t *ret_value);

/* False: it needs what is not known, or is none that makes sense. */
bool hp_expression_value(const uint8_t *bytes, size_t size, const struct hp_registers *registers,
                         hp_expression_load *load, const void *context, uint64_t *ret_value);

#endif
