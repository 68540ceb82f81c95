/*
 * What was stripped off a file, from a server of debug files (debuginfod), by the program debuginfod-find of elfutils, which knows the
 * protocol and keeps what it has fetched. Nothing is asked of anybody unless it was allowed. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_DEBUGINFOD_H
#define HP_SYMBOLS_DEBUGINFOD_H

#include "image_file.h"

/* From now on servers may be asked: those that DEBUGINFOD_URLS names. */
void hp_debuginfod_allow(void);

/* By the build-id of a file. False: it is not allowed, there is none, or what came belongs to another file. */
bool hp_debuginfod_open(const struct hp_image_file *file, struct hp_image_file *ret_debug);

/* Somebody has pressed Ctrl-C meanwhile: that has ended the asking, for good, and nothing else. */
bool hp_debuginfod_is_cut_short(void);

#endif
