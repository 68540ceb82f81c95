/* The instructions that call, seen from where they return to. x86-64 alone. SPDX-License-Identifier: MIT */
#ifndef HP_UNWIND_CALLS_H
#define HP_UNWIND_CALLS_H

#include "space.h"

enum hp_call_kind { HP_CALL_NONE, HP_CALL_DIRECT, HP_CALL_INDIRECT };

/* What is in front of a return address, by the file that is mapped there. Of a direct one the target is set. */
enum hp_call_kind hp_call_before(const struct hp_space *space, uint64_t address, uint64_t *ret_target);

/* The same of bytes, the last of which is the one before the address. */
enum hp_call_kind hp_call_at_end(const uint8_t *bytes, size_t size, int32_t *ret_distance);

/* Copies code of the file that is mapped there. False: there is none, or less of it. */
bool hp_code_before(const struct hp_space *space, uint64_t address, uint8_t *bytes, size_t size);

#endif
