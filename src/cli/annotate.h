/* The lines of a function with their samples, for others than the command. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_ANNOTATE_H
#define HP_CLI_ANNOTATE_H

#include <stdio.h>

#include "options.h"

/*
 * What `hotpath annotate FUNCTION SESSION` prints, to a stream. Returns an exit status; an error costs one line on
 * stderr.
 */
int hp_annotate_to(FILE *stream, const struct hp_settings *settings, const char *function, const char *session);

#endif
