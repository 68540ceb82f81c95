/* How the program of a run ended, in the folder of the run: for whoever reads it later. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_RUN_ENDING_H
#define HP_CLI_RUN_ENDING_H

#include <stdbool.h>
#include <stddef.h>

#define HP_RUN_ENDING_NAME "ending"

/* `status` is as waitpid gives it. A folder that takes no more is no reason to say something. */
void hp_run_ending_write(const char *folder, int status);

/* "exit 3", "SIGSEGV". False: it is not known. */
bool hp_run_ending_read(const char *folder, char *text, size_t size);

#endif
