/* The section `alloc-pools`. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_ALLOC_POOLS_H
#define HP_SECTIONS_ALLOC_POOLS_H

#include "section.h"

extern const struct hp_section_type hp_section_alloc_pools;

#endif
