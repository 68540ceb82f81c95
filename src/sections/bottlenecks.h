/* The section `bottlenecks`. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_BOTTLENECKS_H
#define HP_SECTIONS_BOTTLENECKS_H

#include "section.h"

extern const struct hp_section_type hp_section_bottlenecks;

#endif
