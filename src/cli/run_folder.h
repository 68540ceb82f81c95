/* The folder of a run: one of its own, into which sessions and stacks go. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_RUN_FOLDER_H
#define HP_CLI_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

#define HP_RUN_FOLDER 1000u /* as long as HOTPATH_DIR can be */

/* Samples of stacks are so far apart: 997 a second, in step with nothing that is done so many times a second. */
#define HP_STACK_PERIOD_NS UINT64_C(1003009)

/* Makes one, and holds it as long as we live. False, with errno: there is none, and the text is empty. */
bool hp_run_folder_make(const struct hp_settings *settings, char folder[HP_RUN_FOLDER]);

/*
 * Ends the collector and keeps what it has in the folder, with names: now, while programs and libraries are what they were.
 * False: there are no stacks, or a line says why they are not kept.
 */
bool hp_run_folder_keep_stacks(const char *folder);

#endif
