/*
 * Slots that do not change any more, in a file of their own while a run goes on: the file of stacks is written
 * again and again (stack_file.h), and these would be most of it. What is new is added at the end; when slots are
 * merged, there is another file with another number. SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_SLOT_LOG_H
#define HP_NAMES_SLOT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack_slots.h"

#define HP_SLOT_LOG_NAME "stacks.slots"
#define HP_SLOT_LOG_DRAFT HP_SLOT_LOG_NAME ".new"
#define HP_SLOT_LOG_HEADER 16u /* bytes before the records */

/* Zeroed at first. */
struct hp_slot_log {
    uint64_t number; /* of the file; 0: there is none yet */
    uint64_t bytes;  /* so much of it is valid */
    /* Private. */
    uint64_t slot_ns, first_bytes;
    uint32_t logged[HP_SLOT_KINDS][HP_STACK_SLOTS]; /* how often a slot had changed when it was written */
};

/*
 * Adds the slots that ended before that time and have changed. All slots are settled. False, with errno: it cannot
 * be written, and there is no log.
 */
bool hp_slot_log_update(struct hp_slot_log *log, const char *folder, const struct hp_stack_slots *slots,
                        uint64_t before_ns);

/* Whether a slot is in it as it is now. */
static inline bool hp_slot_log_has(const struct hp_slot_log *log, const struct hp_stack_slots *slots,
                                   enum hp_slot_kind kind, uint32_t slot)
{
    return log->number != 0 && log->logged[kind][slot] == slots->all[kind][slot].changes;
}

/* Its records (slot_records.h), to be freed. NULL: it is not there, or another one is: errno is ESTALE then. */
char *hp_slot_log_read(const char *folder, uint64_t number, uint64_t bytes);
void hp_slot_log_remove(const char *folder);

#endif
