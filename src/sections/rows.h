/*
 * Sets the parents of rows in a tree, and identities that are unique in a section. SPDX-License-Identifier: MIT
 */
#ifndef HP_SECTIONS_ROWS_H
#define HP_SECTIONS_ROWS_H

#include "section.h"

/*
 * Completes the rows of a filled section. A row without an identity gets one from its name; in a tree, combined
 * with those of its ancestors. Further rows with the same content are distinguished by their order. False: no
 * memory.
 */
bool hp_rows_identify(struct hotpath_results *results, struct hotpath_section *section);

#endif
