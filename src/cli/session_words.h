/* A session in words, as lists of sessions have it. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_SESSION_WORDS_H
#define HP_CLI_SESSION_WORDS_H

#include "sessions.h"

#define HP_SESSION_PROCESSES_BYTES 112

/* The name without its suffix, which is enough to find the session again. */
void hp_session_put_name(char text[64], const struct hp_stored_session *session);

/* "running", "finished", "exit 3", "killed: SIGSEGV": how the program ended is known of a run. */
void hp_session_put_state(char text[32], const struct hp_stored_session *session);

/* "pid 1234", "pid 1234 and 2 more", "pid 1234 and 2 more, mostly xz" for a script */
void hp_session_put_processes(char text[HP_SESSION_PROCESSES_BYTES], const struct hp_stored_session *session);

#endif
