/* DWARF expressions in call frame information. SPDX-License-Identifier: MIT */
#ifndef HP_UNWIND_EXPRESSION_H
#define HP_UNWIND_EXPRESSION_H

#include "machine.h"

/* Reads eight bytes at an address. False: not available. */
typedef bool hp_expression_load(const void *context, uint64_t address, uint64_t *ret_value);

/* False: it needs an unknown value, or is invalid. */
bool hp_expression_value(const uint8_t *bytes, size_t size, const struct hp_registers *registers,
                         hp_expression_load *load, const void *context, uint64_t *ret_value);

#endif
