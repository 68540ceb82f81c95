/* Lists the sessions as programs that the console can show. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_PROGRAM_LIST_H
#define HP_CLI_PROGRAM_LIST_H

#include "options.h"
#include "programs.h"
#include "sessions.h"

/* The settings must outlive the source. */
struct hp_program_source hp_program_source_of(const struct hp_settings *settings);

/* The newest session or run of a program of that name; live ones first. False: none. */
bool hp_program_find(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name);

#endif
