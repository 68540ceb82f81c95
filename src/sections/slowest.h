/* The section `slowest`: the slowest call of a function, with what ran inside. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_SLOWEST_H
#define HP_SECTIONS_SLOWEST_H

#include "section.h"

extern const struct hp_section_type hp_section_slowest;

#endif
