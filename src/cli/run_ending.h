/*
 * How the program of a run ended, stored in the folder of the run for later readers. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_RUN_ENDING_H
#define HP_CLI_RUN_ENDING_H

#include <stdbool.h>
#include <stddef.h>

#define HP_RUN_ENDING_NAME "ending"

/* `status` is from waitpid. Failure to write is not reported. */
void hp_run_ending_write(const char *folder, int status);

/* "exit 3", "SIGSEGV". False: unknown. */
bool hp_run_ending_read(const char *folder, char *text, size_t size);

#endif
