/* Command lines as reports show them. SPDX-License-Identifier: MIT */
#ifndef HP_BASE_COMMAND_LINE_H
#define HP_BASE_COMMAND_LINE_H

#include <stddef.h>

/*
 * Makes one line of arguments that each end with a zero, as in /proc/PID/cmdline, in place: blanks between them,
 * and asterisks for what seems to be a secret (docs/production.md, "Secrets"). `length` may include zeros at the
 * end. The line ends with a zero: there must be room for one more byte. Returns its length, at most `length`.
 */
size_t hp_command_line(char *arguments, size_t length);

#endif
