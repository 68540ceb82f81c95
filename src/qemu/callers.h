/*
 * Which function is called by which, and how many instructions each path of calls executed. x86-64 only.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_QEMU_CALLERS_H
#define HP_QEMU_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "instruction_blocks.h"
#include "qemu_api.h"

/* What paths are counted with, as long as the process lives. */
struct hp_callers_host {
    struct hp_instruction_blocks *blocks;
    bool (*make_room)(uint64_t paths);         /* in that file */
    const uint64_t *(*count_of)(unsigned cpu); /* of the instructions of a thread */
    const bool *is_threaded;
};

/* Once. Without it, or where callers cannot be known, the other functions do nothing. */
void hp_callers_begin(const struct hp_callers_host *host, const char *machine);
/* Where the function begins that has this address. 0: callers are not known. */
uint64_t hp_callers_function_of(uint64_t address);
/* From now on callers are not known. Code has to be translated again. False: nothing changed. */
bool hp_callers_end(void);
/* The next thread that has this number is another one. */
void hp_callers_begin_thread(unsigned cpu);
/* Observes a block that is being translated; `block`: its number, which has a function. */
void hp_callers_watch_block(const struct qemu_plugin_tb *code, uint64_t block);
/* The same for code of the library, which is in no path. */
void hp_callers_watch_own(const struct qemu_plugin_tb *code);
/* A system call begins, which may end the thread. */
void hp_callers_note_call(unsigned cpu, int64_t number);
/* In a forked child: nothing was executed by it yet. */
void hp_callers_leave_parent(void);

#endif
