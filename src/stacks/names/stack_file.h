/*
 * The stacks of a run in a file next to its sessions, for later use, when programs and libraries may have been
 * replaced. One header, then tables, then texts; in the machine's byte order. SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_STACK_FILE_H
#define HP_NAMES_STACK_FILE_H

#include "named_stacks.h"

#define HP_STACK_FILE_NAME "stacks"
#define HP_STACK_FILE_DRAFT HP_STACK_FILE_NAME ".new" /* until it is complete */

/* Writes it into the folder of a run, replacing an old one. False: errno says why. */
bool hp_stack_file_write(const char *folder, const struct hp_named_stacks *stacks);

/*
 * Reads it and trusts nothing: the result is valid, whatever is in the file. False: there is none (errno ENOENT),
 * it cannot be read, it is not such a file (EINVAL) or has another version (EPROTO).
 */
bool hp_stack_file_read(const char *folder, struct hp_named_stacks *ret_stacks);

/* The same from bytes in memory. */
bool hp_stack_file_parse(const void *bytes, size_t size, struct hp_named_stacks *ret_stacks);

#endif
