/* One report from one or several session files, to a stream or a file. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_SHOW_H
#define HP_CLI_SHOW_H

#include <stdio.h>

#include "options.h"
#include "sessions.h"

/*
 * Shows all of `sessions` as one, the first as the principal one. To the file of the settings if they name one, else to
 * `stream`; above a table stands which program it is when `is_named`. Returns an exit status; what is wrong is said in one line.
 */
int hp_show(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream, bool is_named);

#endif
