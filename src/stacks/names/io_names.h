/*
 * The I/O of a run, from the files that its processes left (io_layout.h), with names of functions past wrappers.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_IO_NAMES_H
#define HP_NAMES_IO_NAMES_H

#include "io_profile.h"

struct hp_io_names; /* private */

struct hp_named_io {
    struct hp_io_profile profile;
    struct hp_io_names *names;
};

/*
 * Reads all of them in the folder of a run; of these processes only, if there are any. Trusts nothing in the files.
 * False: there are none, or no memory. Free it in either case.
 */
bool hp_io_read(const char *folder, const uint32_t *pids, size_t pid_count, struct hp_named_io *ret_io);
void hp_named_io_free(struct hp_named_io *named);

#endif
