/*
 * Finds stored sessions (programs.h), also by what the user calls them, and removes them. Only folders that we own
 * and that other users cannot write to are read, and links are not followed: files elsewhere could be forged.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SESSIONS_H
#define HP_CLI_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "programs.h"

/* Processes that live. One that has executed other programs has a session for each. */
size_t hp_sessions_alive(const struct hp_sessions *sessions);

/* The last part of its path: the name in `hotpath ls` and for `hotpath report`. */
const char *hp_session_name(const struct hp_stored_session *session);

/*
 * Adds the sessions in the session folders, newest first; those inside runs too if `with_parts`. An unsafe folder
 * costs one line on stderr. False: the list is incomplete, for want of memory or descriptors.
 */
bool hp_sessions_find(struct hp_sessions *sessions, const struct hp_record_settings *settings, bool with_parts);

/* The same without runs in which nothing is measured. */
bool hp_sessions_measured(struct hp_sessions *sessions, const struct hp_record_settings *settings);

/* The same of these folders. */
bool hp_sessions_measured_in(struct hp_sessions *sessions, const char *const *folders, size_t count);

/*
 * Adds leftovers that cannot be read (truncated, of another version, never finished): our own files in these
 * folders that have the name of a session, whose process has ended and that have not changed for an hour. False as
 * above.
 */
bool hp_sessions_find_leftovers(struct hp_sessions *sessions, const struct hp_record_settings *settings);

/* Adds the sessions of one folder, oldest first. False, with one line on stderr: it cannot be read. */
bool hp_sessions_in(struct hp_sessions *sessions, const char *folder);

/* Adds whatever is at a path: a folder of sessions, or a file that is checked when it is read. */
bool hp_sessions_at(struct hp_sessions *sessions, const char *path);

/* Removes all but the newest `keep` runs next to the run in `folder`, which does not count; live runs stay. */
void hp_runs_forget(const char *folder, uint32_t keep);

/*
 * Removes a run with all its sessions. False: see errno. Files that are not sessions stay, and then so does the
 * folder.
 */
bool hp_run_remove(const char *folder);

/* Removes a session, or a run with all its sessions. False, with one line on stderr: it still exists. */
bool hp_session_remove(const struct hp_stored_session *session);

/* ----------------------------------------------------------------------------------------------------- choosing */

/*
 * The latest session or run of a program, by its name; one that lives is preferred. If several live, one line on
 * stderr says which it is. The program's own file is often in the current folder, so this is tried before paths.
 * False: none, without a message.
 */
bool hp_program_find(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name);

/*
 * Finds the session of that name, process, program or path, or all sessions in a folder; NULL: the newest session,
 * or those of the newest run. False, with one line on stderr: none. Free the sessions in either case.
 */
bool hp_session_choose(struct hp_sessions *parts, const struct hp_settings *settings, const char *name);

/*
 * The same as one session or run, not split into its parts. False: none, without a message. For a path, no other
 * field is filled in.
 */
bool hp_session_find(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name);

/*
 * The same for a name from elsewhere, such as a client of `hotpath mcp`: never a path, and only sessions in the
 * user's own folders. NULL: the newest measured one, whichever terminal it is of.
 */
bool hp_session_find_stored(struct hp_stored_session *ret_session, const struct hp_settings *settings,
                            const char *name);

/*
 * The session of a live process, by what it has in its memory, or by the stored ones. False: it has none, without a
 * message.
 */
bool hp_session_of_live_process(struct hp_stored_session *ret_session, const struct hp_settings *settings,
                                const char *pid);

#endif
