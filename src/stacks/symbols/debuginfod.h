/*
 * The debug file of a stripped file, from a debuginfod server, by the program debuginfod-find of elfutils, which
 * knows the protocol and has a cache. No server is asked unless it was allowed. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_DEBUGINFOD_H
#define HP_SYMBOLS_DEBUGINFOD_H

#include "image_file.h"

/* Allows asking the servers in DEBUGINFOD_URLS. */
void hp_debuginfod_allow(void);

/* By the build-id of a file. False: not allowed, not found, or the result belongs to another file. */
bool hp_debuginfod_open(const struct hp_image_file *file, struct hp_image_file *ret_debug);

/* Whether the user pressed Ctrl-C meanwhile: no more servers are asked, and nothing else changes. */
bool hp_debuginfod_is_cut_short(void);

#endif
