/* Finds the session that the user named, for all commands that read one. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_SESSION_CHOICE_H
#define HP_CLI_SESSION_CHOICE_H

#include <stdbool.h>

#include "options.h"
#include "sessions.h"

/*
 * Finds the session of that name, process or path, or all sessions in a folder; NULL: the newest session, or those
 * of the newest run. False, with one line on stderr: none. Free the sessions in either case.
 */
bool hp_session_choose(struct hp_sessions *parts, const struct hp_settings *settings, const char *name);

/*
 * The same as one session or run, not split into its parts. False: none, without a message. For a path, no other
 * field is filled in.
 */
bool hp_session_find(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name);

#endif
