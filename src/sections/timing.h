/* The section `timing`: where the time went, one row per site. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_TIMING_H
#define HP_SECTIONS_TIMING_H

#include "section.h"

extern const struct hp_section_type hp_section_timing;

#endif
