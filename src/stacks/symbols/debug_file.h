/*
 * Finds the separate debug file of a stripped file: symbols, lines, call frame information. Looks by build-id and
 * by debug link, where distributions put such files, and on servers if that is allowed.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_DEBUG_FILE_H
#define HP_SYMBOLS_DEBUG_FILE_H

#include "image_file.h"

/*
 * `path` is that of the file; `sysroot` is put before all paths, or is NULL. False: there is none that belongs to
 * it.
 */
bool hp_debug_file_open(const struct hp_image_file *file, const char *path, const char *sysroot,
                        struct hp_image_file *ret_debug);

/* ------------------------------------------------------------------------------------- debug files from servers */

/*
 * By the program debuginfod-find of elfutils, which knows the protocol and has a cache. No server is asked unless
 * it was allowed.
 */

/* Allows asking the servers in DEBUGINFOD_URLS. */
void hp_debuginfod_allow(void);

/* Not for now: what can wait asks later. */
void hp_debuginfod_hold(bool is_held);

/* By the build-id of a file. False: not allowed, not found, or the result belongs to another file. */
bool hp_debuginfod_open(const struct hp_image_file *file, struct hp_image_file *ret_debug);

/* Whether the user pressed Ctrl-C meanwhile: no more servers are asked, and nothing else changes. */
bool hp_debuginfod_is_cut_short(void);

#endif
