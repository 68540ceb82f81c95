/* Files that users name for output. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_OUTPUT_FILE_H
#define HP_CLI_OUTPUT_FILE_H

#include <stdio.h>

/*
 * Opens it for writing, with the folders above it. A FIFO that nobody reads is an error, not a wait; one that is read may keep us
 * waiting, as any output may. NULL, with one line on stderr: it cannot be written.
 */
FILE *hp_output_open(const char *path);

#endif
