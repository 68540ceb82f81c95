/*
 * The stacks of a run in a file next to its sessions, for later use, when programs and libraries may have been
 * replaced. One header, then tables, texts, and slots of time; in the machine's byte order.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_STACK_FILE_H
#define HP_NAMES_STACK_FILE_H

#include "named_stacks.h"
#include "slot_log.h"

#define HP_STACK_FILE_NAME "stacks"
#define HP_STACK_FILE_DRAFT HP_STACK_FILE_NAME ".new" /* until it is complete */

/* Writes it into the folder of a run, replacing an old one. False: errno says why. */
bool hp_stack_file_write(const char *folder, const struct hp_named_stacks *stacks);

/*
 * The same while the run goes on: slots that have not changed for a while are in the log. It is without meaning as
 * soon as the whole is written.
 */
bool hp_stack_file_write_live(const char *folder, const struct hp_named_stacks *stacks, struct hp_slot_log *log);

/*
 * Reads it and trusts nothing: the result is valid, whatever is in the file. False: there is none (errno ENOENT),
 * it cannot be read, it is not such a file (EINVAL) or has another version (EPROTO).
 */
bool hp_stack_file_read(const char *folder, struct hp_named_stacks *ret_stacks);

/* The same from bytes in memory; what is in a log is left out. */
bool hp_stack_file_parse(const void *bytes, size_t size, struct hp_named_stacks *ret_stacks);

#endif
