/* The section `waits`. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_WAIT_TABLE_H
#define HP_SECTIONS_WAIT_TABLE_H

#include "section.h"

extern const struct hp_section_type hp_section_waits;

#endif
