/* The sections `alloc-bytes` and `alloc-count`. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_ALLOC_TABLE_H
#define HP_SECTIONS_ALLOC_TABLE_H

#include "section.h"

extern const struct hp_section_type hp_section_alloc_bytes;
extern const struct hp_section_type hp_section_alloc_count;

#endif
