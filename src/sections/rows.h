/*
 * What makes rows more than a list: their parents in a tree, and identities that no two of a section share.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SECTIONS_ROWS_H
#define HP_SECTIONS_ROWS_H

#include "section.h"

/*
 * Finishes the rows of a section that is filled. Those to which it gave no identity get that of their name; in a tree each counts
 * together with those above it. Of rows with one content, the second and those after it are told apart by their order.
 * False: no memory.
 */
bool hp_rows_identify(struct hotpath_results *results, struct hotpath_section *section);

#endif
