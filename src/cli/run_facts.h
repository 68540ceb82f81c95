/* What the folder of a run says of it, for later readers. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_RUN_FACTS_H
#define HP_CLI_RUN_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------- how the program ended */

#define HP_RUN_ENDING_NAME "ending"

/* `status` is from waitpid. Failure to write is not reported. */
void hp_run_ending_write(const char *folder, int status);

/* "exit 3", "SIGSEGV". False: unknown. */
bool hp_run_ending_read(const char *folder, char *text, size_t size);

/* ----------------------------------------------------------------------------------------------- the sources */

#define HP_RUN_SOURCE_NAME "source"
#define HP_RUN_SOURCE 600u /* with the zero */

/* What source_facts.h knows of the sources that were run. */
void hp_run_source_write(const char *folder, const char *facts);
/* False: nothing is known. */
bool hp_run_source_read(const char *folder, char facts[HP_RUN_SOURCE]);
/* They are those of another program. */
void hp_run_source_forget(const char *folder);

/* --------------------------------------------------------------------------------------------------- natives */

#define HP_RUN_NATIVES_NAME "natives"
#define HP_RUN_NATIVES 2500u /* with the zero */

/* Programs whose instructions were not counted: a line each, of a reason, a tab and a path. */
void hp_run_natives_write(const char *folder, const char *lines);
/* False: there were none. */
bool hp_run_natives_read(const char *folder, char lines[HP_RUN_NATIVES]);

/* ---------------------------------------------------------------------------------------------- the terminal */

/*
 * In which terminal something was started: `hotpath report` prefers what was started where it is asked itself. A
 * terminal is known by its session (setsid(2)), which is its shell's: the process id of that and when it began. A
 * run has it in its folder; of a single session the process is asked, or its parent, as long as one of them lives.
 */

#define HP_RUN_TERMINAL_NAME "terminal"

/* Writes down in which terminal we are. A folder that takes no more is no reason to say something. */
void hp_run_terminal_write(const char *folder);

/* The folder is to go. */
void hp_run_terminal_forget(const char *folder);

/* Whether the run in that folder was started in the terminal that we are in, as far as that can be told. */
bool hp_run_is_of_this_terminal(const char *folder);

/* Whether a process that began at `latest_start` or before lives in the terminal that we are in. */
bool hp_process_is_of_this_terminal(uint32_t pid, uint64_t latest_start);

#endif
