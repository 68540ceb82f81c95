/*
 * A file mapped to look at, which others may make shorter meanwhile. What is not there any more reads as zero,
 * instead of ending the program by SIGBUS. For the program alone: a library has no business with its host's
 * signals. SPDX-License-Identifier: MIT
 */
#ifndef HP_READER_MAPPED_FILE_H
#define HP_READER_MAPPED_FILE_H

#include <stddef.h>

/* NULL: it cannot be mapped, or too many are. */
void *hp_mapped_file_open(int fd, size_t size);
void hp_mapped_file_close(void *bytes, size_t size);

#endif
