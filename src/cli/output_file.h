/* Output files that users name. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_OUTPUT_FILE_H
#define HP_CLI_OUTPUT_FILE_H

#include <stdio.h>

/*
 * Opens a file for writing and creates the folders above it. A FIFO without a reader is an error, not a wait; with
 * a reader, writing may block, as for any output. NULL, with one line on stderr: it cannot be written.
 * What the file has is replaced by what is written, and stays if nothing is.
 */
FILE *hp_output_open(const char *path);

/* Closes it. Returns `status`, or EXIT_FAILED with one line on stderr: not everything could be written. */
int hp_output_close(FILE *stream, const char *path, int status);

#endif
