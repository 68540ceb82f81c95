/* The folder of a run, for its sessions and stacks. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_RUN_FOLDER_H
#define HP_CLI_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

#define HP_RUN_FOLDER 1000u /* the limit of HOTPATH_DIR */

/*
 * Interval between stack samples, of CPU time: HOTPATH_CPU_RATE. By default 997 per second, a prime, so that
 * sampling does not fall into step with periodic work.
 */
uint64_t hp_stack_period_ns(const struct hp_settings *settings);

/* If the user has asked for more samples than usual, says on stderr what they cost. */
void hp_stack_cost_say(const struct hp_settings *settings);

/* Creates one and holds its lock as long as we live. False, with errno: not possible, and the text is empty. */
bool hp_run_folder_make(const struct hp_settings *settings, char folder[HP_RUN_FOLDER]);

/* Removes it where nothing was recorded. */
void hp_run_folder_drop(const char *folder);

/*
 * Stops the collector and saves its stacks in the folder, with names: resolved now, while the programs and
 * libraries are unchanged. `pid`: only those of this process; 0: all. False: there are no stacks, or errno is not 0
 * and one line says why they are not saved.
 */
bool hp_run_folder_keep_stacks(const char *folder, uint32_t pid);

/* Names programs that were executed without the emulator, for where no report for people does it. */
void hp_run_folder_name_natives(const char *folder);
/* The same for exact counts of instructions that the plugin of QEMU left in the folder. */
bool hp_run_folder_keep_counts(const char *folder);

#endif
