/* Which session is meant by what was typed, for all commands that look at one. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_SESSION_CHOICE_H
#define HP_CLI_SESSION_CHOICE_H

#include <stdbool.h>

#include "options.h"
#include "sessions.h"

/*
 * The session of that name, process or path, or all that are in a folder; NULL: the newest, or those of the newest run. False, with
 * one line on stderr: there is none. Free the sessions in either case.
 */
bool hp_session_choose(struct hp_sessions *parts, const struct hp_settings *settings, const char *name);

/*
 * The same as one session or run, by its path, not by its parts. False: there is none, and nothing is said. Of a path nothing else is filled in.
 */
bool hp_session_find(struct hp_session *ret_session, const struct hp_settings *settings, const char *name);

#endif
