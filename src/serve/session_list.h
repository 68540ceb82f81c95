/* The page with the list of sessions. SPDX-License-Identifier: MIT */
#ifndef HP_SERVE_SESSION_LIST_H
#define HP_SERVE_SESSION_LIST_H

#include "programs.h"
#include "text.h"

/* Links lead to the pages of the sessions, with that token. */
void hp_session_list_write(const struct hp_programs *programs, const char *token, struct hp_text *out);

#endif
