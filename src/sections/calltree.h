/* The section `calltree`: who called whom, merged over threads. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_CALLTREE_H
#define HP_SECTIONS_CALLTREE_H

#include "section.h"

extern const struct hp_section_type hp_section_calltree;

#endif
