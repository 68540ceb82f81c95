/* Recognises call instructions, from their return addresses. x86-64 only. SPDX-License-Identifier: MIT */
#ifndef HP_UNWIND_CALLS_H
#define HP_UNWIND_CALLS_H

#include "space.h"

enum hp_call_kind { HP_CALL_NONE, HP_CALL_DIRECT, HP_CALL_INDIRECT };

/*
 * The kind of instruction before a return address, from the file mapped there. For a direct call the target is set.
 */
enum hp_call_kind hp_call_before(const struct hp_space *space, uint64_t address, uint64_t *ret_target);

/* The same from bytes; the last one is the byte before the address. */
enum hp_call_kind hp_call_at_end(const uint8_t *bytes, size_t size, int32_t *ret_distance);

/* Copies code of the file mapped there. False: none, or less of it. */
bool hp_code_before(const struct hp_space *space, uint64_t address, uint8_t *bytes, size_t size);

#endif
