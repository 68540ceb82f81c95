/* The section `cpu`. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_CPU_TABLE_H
#define HP_SECTIONS_CPU_TABLE_H

#include "section.h"

extern const struct hp_section_type hp_section_cpu;

#endif
