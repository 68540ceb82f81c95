/* Finds a live process by what the user calls it. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_FIND_PROCESS_H
#define HP_CLI_FIND_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "options.h"

/*
 * A process id; or the name of a measured program that runs (the newest), or of the only process that the kernel
 * knows by it; NULL: the process of the newest live session. Returns EXIT_DONE, or the status to exit with, with
 * lines on stderr that say why.
 */
int hp_process_choose(const struct hp_command *command, const struct hp_settings *settings, const char *name,
                      uint32_t *ret_pid);

/* Whether it belongs to another user, and we are not root. */
bool hp_process_is_of_another_user(uint32_t pid);

/* Says why the kernel does not show where the threads of a process wait. */
void hp_explain_hidden_waits(uint32_t pid, const char *what);

/* Says why samples of CPU time are refused. */
void hp_explain_refused_samples(const char *what);

#endif
