/*
 * Whether the files of a checkout are those of its commit, as far as git's index tells without reading them.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_GIT_INDEX_H
#define HP_CLI_GIT_INDEX_H

#include <stddef.h>

enum hp_git_state {
    HP_GIT_UNKNOWN, /* no index, one that is split or newer than we know, or so many files that it takes too long */
    HP_GIT_CLEAN,
    HP_GIT_DIRTY /* a file that git knows was written, removed or staged since; files unknown to git do not count */
};

/* `git` is its folder, `root` that of the files; names of objects are `hash_bytes` long. */
enum hp_git_state hp_git_index_compare(const char *git, const char *root, size_t hash_bytes);

#endif
